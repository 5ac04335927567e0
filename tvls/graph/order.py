"""The order in which a program reads: scopes in one piece wherever that puts no value before what makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tvls.capture.document import Operation, Scope


@dataclass(eq=False, slots=True)
class Part:
    """Operations of one scope that are read together. A scope has several only where its values make that necessary."""

    scope: int
    """By its index among the scopes of the capture, then among those of the `Graph`, where each part has its own."""
    parent: Part | None = None
    slot: int = 0
    """Position among the items of the parent."""
    continued: bool = False
    """Whether the scope has an earlier part in the same parent."""
    items: list[int | Part] = field(default_factory=list["int | Part"])
    """Operations by index, and the parts inside."""
    count: int = 0
    """Operations inside, however deep."""
    latest: dict[int, Part] = field(default_factory=dict[int, "Part"])
    """Scope → its last part among the items."""


def reading_order(operations: Sequence[Operation], scopes: Sequence[Scope], producer: Sequence[int]) -> list[Part]:
    """Parts of a graph, the root first, each before those inside it.

    An operation joins what there is of its scope where everything that it reads is made by then; otherwise its scope is
    continued further down. So each operation follows those whose values it reads, for any order of the operations that
    the program itself allows. Scopes without operations come last in their parent. `producer`: value → the operation
    that makes it, or -1.
    """
    root = Part(0)
    parts = [root]
    homes: list[Part] = []  # of each operation, its part and the position there
    slots: list[int] = []
    chains: dict[int, list[int]] = {}

    def add_part(parent: Part, scope: int) -> Part:
        part = Part(scope, parent, len(parent.items), scope in parent.latest)
        parent.items.append(part)
        parent.latest[scope] = part
        parts.append(part)
        return part

    def chain_of(scope: int) -> list[int]:
        chain: list[int] = []
        while scope:
            chain.append(scope)
            scope = scopes[scope]["parent"] or 0
        chain.reverse()
        return chain

    def made_by(part: Part, made: list[int], slot: int) -> bool:
        """Whether all that is made inside `part` is made by the end of its item at `slot`."""
        for operation in made:
            home: Part | None = homes[operation]
            at = slots[operation]
            while home is not None and home is not part:
                at, home = home.slot, home.parent
            if home is part and at > slot:
                return False
        return True

    here = root
    at_end = True  # `here` and all around it are the last items where they stand
    for index, operation in enumerate(operations):
        scope = operation["scope"]
        if not (at_end and scope == here.scope):
            chain = chains.get(scope)
            if chain is None:
                chain = chains[scope] = chain_of(scope)
            made = [by for o in operation["inputs"] if (v := o.get("value")) is not None and (by := producer[v]) >= 0]
            here, at_end = root, True
            for inner in chain:
                known = here.latest.get(inner)
                if known is not None and known.slot != len(here.items) - 1:
                    at_end = False
                    if not made_by(here, made, known.slot):
                        known = None
                if known is None:
                    known = add_part(here, inner)
                here = known
        homes.append(here)
        slots.append(len(here.items))
        here.items.append(index)
    seen = {part.scope for part in parts}
    for scope in range(1, len(scopes)):
        if scope not in seen:
            at = root
            for inner in chain_of(scope):
                at = at.latest.get(inner) or add_part(at, inner)
    for part in reversed(parts):
        part.count += sum(type(item) is int for item in part.items)
        if part.parent is not None:
            part.parent.count += part.count
    return parts


def operations_of(part: Part) -> Iterator[int]:
    """Operations inside a part in the order they are read."""
    pending = [iter(part.items)]
    while pending:
        item = next(pending[-1], None)
        if item is None:
            pending.pop()
        elif isinstance(item, Part):
            pending.append(iter(item.items))
        else:
            yield item
