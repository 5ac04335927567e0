"""Which scopes an equation may join so that the picture stays acyclic.

A scope that is left and entered again, such as that of a shared layer, is one node only where nothing that reads from
it feeds it. Otherwise, drawn as one node, it would stand both before and after what lies between, and it has to become
two. It is enough to keep the children of each scope acyclic: a cycle over several levels is one among the children of
the innermost scope around it.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

_LARGEST_SEARCH = 4096
_ALL_SEARCHES = 4_000_000
"""Nodes that one question, and all of one graph, may visit. Beyond them a new scope is opened, always rightly."""


class Order:
    """The operations and scopes of one graph, with a topological order among the children of every scope.

    A node is a scope's index, or the complement (`~index`) of an operation's.
    """

    def __init__(self) -> None:
        self._chains: List[Tuple[int, ...]] = [(0,)]
        """For each scope, itself and what is around it, outermost first."""
        self._homes: List[int] = []
        """Scope of each operation."""
        self._position: Dict[int, int] = {0: 0}
        self._next = 1
        self._readers: Dict[int, List[int]] = {}
        """Siblings that read what a node makes."""
        self._left = _ALL_SEARCHES
        self._parting: Dict[Tuple[int, int], Tuple[int, Optional[int], Optional[int]]] = {}

    def add_scope(self, parent: int) -> None:
        """The next scope, a child of `parent`; it stands last among its siblings."""
        chain = self._chains[parent]
        index = len(self._chains)
        self._chains.append((*chain, index))
        self._position[index] = self._next
        self._next += 1

    def add_operation(self, scope: int, producers: Sequence[int]) -> None:
        """The next operation, in `scope`, which reads what the operations `producers` made."""
        node = ~len(self._homes)
        self._homes.append(scope)
        self._position[node] = self._next
        self._next += 1
        for producer in producers:
            _, source, reader = self._parted(self._homes[producer], scope)
            source = ~producer if source is None else source
            readers = self._readers.get(source)
            if readers is None:
                self._readers[source] = [node if reader is None else reader]
            elif readers[-1] != (node if reader is None else reader):
                readers.append(node if reader is None else reader)

    def depth(self, scope: int) -> int:
        return len(self._chains[scope]) - 1

    def joinable(self, scope: int, producers: Sequence[int]) -> int:
        """How far down the way from the root to `scope` an equation that reads from `producers` may go: a depth."""
        depth = len(self._chains[scope]) - 1
        for producer in producers:
            level, source, reader = self._parted(self._homes[producer], scope)
            if reader is None or level >= depth:
                continue
            source = ~producer if source is None else source
            if self._position[source] > self._position[reader] and not self._move_behind(reader, source):
                depth = level
        return depth

    def _parted(self, producer: int, consumer: int) -> Tuple[int, Optional[int], Optional[int]]:
        """Depth of the innermost scope around two scopes, and its child on the way to each; None for itself."""
        key = (producer, consumer)
        found = self._parting.get(key)
        if found is None:
            first, second = self._chains[producer], self._chains[consumer]
            shared = 0
            for one, other in zip(first, second):  # noqa: B905 - until the shorter one ends
                if one != other:
                    break
                shared += 1
            source = first[shared] if shared < len(first) else None
            reader = second[shared] if shared < len(second) else None
            found = self._parting[key] = (shared - 1, source, reader)
        return found

    def _move_behind(self, node: int, source: int) -> bool:
        """Put a node, and all that reads from it, behind `source`; False where `source` itself reads from it."""
        seen: Set[int] = {node}
        pending = [node]
        while pending:
            for reader in self._readers.get(pending.pop(), ()):
                if reader == source:
                    self._left -= len(seen)
                    return False
                if reader not in seen:
                    if len(seen) >= min(_LARGEST_SEARCH, self._left):
                        self._left -= len(seen)
                        return False
                    seen.add(reader)
                    pending.append(reader)
        self._left -= len(seen)
        for moved in sorted(seen, key=self._position.__getitem__):
            self._position[moved] = self._next
            self._next += 1
        return True
