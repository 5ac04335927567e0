"""Shapes of local arrays, line by line, while workspace code runs under a trace.

Only workspace code pays: `sys.monitoring` sends line events of its code objects (Python 3.12 and newer), and before
that, or where a module is long, it is compiled with recording calls (see `rewrite`). A local counts at the line that
ran when it appeared or was bound anew, an argument where it is written, what is returned as the name `return`. A local
that a line reads counts there with what it is when the line begins.
"""

from __future__ import annotations

import ast
import builtins
import opcode
import sys
from bisect import bisect_right
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from tvls.capture.document import ArrayIn, Observation, Seen, Structure
from tvls.worker.places import Places
from tvls.worker.rewrite import SAW, Site, every_argument, rewrite
from tvls.worker.structures import Describe, Structures, What

_monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
MONITORING = _monitoring is not None
_frame_at: Callable[[int], FrameType] = getattr(sys, "_getframe")  # noqa: B009  (no public name has it)

Text = Callable[[str], Optional[bytes]]

_Where = Tuple[str, str, int, str, bool]  # path, function, line, name, whether it was read there
_Counts = Dict[Optional[What], int]  # None: no array

RETURN = "return"
_LONG = 2000
"""Lines of a module from which on it is rewritten on every Python."""
_OPTIMIZED = 0x1  # function bodies; module and class bodies do not have the flag
_VARARGS, _VARKEYWORDS = 0x4, 0x8
_UNBOUND = object()
_EXTENDED = opcode.opmap["EXTENDED_ARG"]
_CACHE, _HANDLER, _BORROW = (opcode.opmap.get(name, -1) for name in ("CACHE", "PUSH_EXC_INFO", "LOAD_FAST_AND_CLEAR"))
_NEXT = opcode.opmap["FOR_ITER"]
_BACKWARD = opcode.opmap.get("JUMP_BACKWARD", -1)
_FORWARD = frozenset(number for number in opcode.hasjrel if "BACKWARD" not in opcode.opname[number])
# What an instruction does with locals: read or bind. Two of them share its argument, four bits each.
_USES = {
    opcode.opmap[name]: kinds
    for name, kinds in (
        ("LOAD_FAST", "r"),
        ("LOAD_FAST_CHECK", "r"),
        ("LOAD_FAST_BORROW", "r"),
        ("LOAD_DEREF", "r"),
        ("STORE_FAST", "b"),
        ("STORE_DEREF", "b"),
        ("DELETE_FAST", "b"),
        ("DELETE_DEREF", "b"),
        ("STORE_FAST_STORE_FAST", "bb"),
        ("STORE_FAST_LOAD_FAST", "br"),
        ("LOAD_FAST_LOAD_FAST", "rr"),
        ("LOAD_FAST_BORROW_LOAD_FAST_BORROW", "rr"),
    )
    if name in opcode.opmap
}
_READING_CELL = opcode.opmap["LOAD_DEREF"]
_PLAIN = frozenset(
    {
        int,
        float,
        bool,
        str,
        bytes,
        type(None),
        type,
        set,
        slice,
        range,
        FunctionType,
        BuiltinFunctionType,
    }
)


class Seeing(NamedTuple):
    """What locals held, as a document has it."""

    observations: List[Observation]
    """When a line had bound them."""
    reads: List[Observation]
    """When a line read them."""
    structures: List[Structure]


class Probe:
    """Collects while started. `describe` answers shape and dtype of an array and None for anything else."""

    def __init__(self, places: Places, describe: Describe, text: Text) -> None:
        self.places = places
        self.text = text
        self._structures = Structures(describe, _PLAIN)
        self.phase = "import"
        self._seen: Dict[str, Dict[_Where, _Counts]] = {}
        self._stop: Optional[Callable[[], None]] = None
        self._sites: List[Tuple[str, Site]] = []
        self._active = False
        self._rewritten: set[str] = set()
        setattr(builtins, SAW, self._saw)
        self._codes: List[CodeType] = []  # also keeps alive what the keys of _bindings are the identity of
        self._bindings: Dict[int, Bindings] = {}

    def add_code(self, code: CodeType) -> None:
        """A workspace module was compiled: its functions are to be watched."""
        if not MONITORING or self.places.workspace_path(code.co_filename) in self._rewritten:
            return
        self._codes.append(code)
        if self._stop is not None:
            _watch_code(self._tool, code)

    def start(self) -> None:
        if self._stop is None:
            self._active = True
            self._stop = self._start_monitoring() if MONITORING else lambda: None

    def stop(self) -> None:
        if self._stop is not None:
            stop, self._stop = self._stop, None
            self._active = False
            try:
                stop()
            except Exception as fault:  # noqa: BLE001 - reported there
                self._fault(fault)

    def seeing(self) -> Seeing:
        """In order of path, line and name. A function seen in the current phase counts with that phase alone: the
        initialisation and the trace of one module run the same lines, and each would count."""
        chosen: Dict[_Where, _Counts] = {}
        functions: set[Tuple[str, str]] = set()
        for phase in [self.phase, *(p for p in ("trace", "init", "inputs", "import") if p != self.phase)]:
            found = {where: seen for where, seen in self._seen.get(phase, {}).items() if where[:2] not in functions}
            functions.update(where[:2] for where in found)
            for where, seen in found.items():
                chosen[where] = dict(seen)
        lines = _DefLines(self.text)
        merged: Dict[_Where, _Counts] = {}
        for (path, function, line, name, read), seen in chosen.items():
            where = (path, function, lines.find(path, -line, name) if line < 0 else line, name, read)
            counts = merged.setdefault(where, {})
            for what, count in seen.items():
                counts[what] = counts.get(what, 0) + count
        result = Seeing([], [], [])
        table: Dict[What, int] = {}
        for where in sorted(merged, key=lambda where: (where[0], where[2], where[3], where[1])):
            counts = merged[where]
            if all(what is None for what in counts):
                continue
            path, function, line, name, read = where
            seen_here = [_seen(what, count, table) for what, count in counts.items()]
            found_here: Observation = {"path": path, "line": line, "name": name, "seen": seen_here}
            found_here["function"] = function
            (result.reads if read else result.observations).append(found_here)
        result.structures.extend(map(_structure, table))
        return result

    # --- what the hooks call ------------------------------------------------------------------------------------------

    def _record(self, path: str, function: str, line: int, name: str, value: object, read: bool = False) -> None:
        counts = self._seen.setdefault(self.phase, {}).setdefault((path, function, line, name, read), {})
        what = self._structures.of(value)
        counts[what] = counts.get(what, 0) + 1

    def _enter(self, frame: FrameType, path: str) -> "_Locals":
        code = frame.f_code
        function: str = getattr(code, "co_qualname", code.co_name)
        bindings = self._bindings.get(id(code))
        if bindings is None:
            bindings = self._bindings[id(code)] = Bindings(code)
        locals_ = _Locals(path, function, bindings, frame.f_lineno, frame.f_lasti)
        # Negative: the line of the first decorator or of `def`; told apart when the observations are read.
        first = -code.co_firstlineno
        locals_.pending = dict.fromkeys(_arguments(code), (first, False))
        self._look(frame, locals_)
        return locals_

    def _again(self, frame: FrameType, locals_: "_Locals", to: int) -> None:
        """A loop on one line goes on at the instruction `to`, which is no event of a line."""
        if locals_.bindings.line_of(to) != locals_.line:
            return
        values = frame.f_locals
        turn = [
            *locals_.turn,
            *((n, values[n]) for n in locals_.bindings.borrowed.get(locals_.line, ()) if n in values),
        ]
        for name, value in turn:
            self._record(locals_.path, locals_.function, locals_.line, name, value, True)
        self._line(frame, locals_, locals_.line, to)

    def _line(self, frame: FrameType, locals_: "_Locals", line: int, at: Optional[int] = None) -> None:
        """`line` is about to run, and the line before it has."""
        self._ran(frame, locals_)
        if at is not None:
            for name in locals_.bindings.borrowed.get(line, ()):
                locals_.pending.pop(name, None)
        locals_.line, locals_.at = line, frame.f_lasti if at is None else at
        reads, locals_.turn = locals_.bindings.read(locals_.at), []
        if at is not None and reads and locals_.bindings.may_end(at):
            values = frame.f_locals
            locals_.turn = [(name, values[name]) for name in reads if name in values]
            reads = ()
        if locals_.pending or reads:
            self._look(frame, locals_, reads)

    def _ran(self, frame: FrameType, locals_: "_Locals", *, raised: bool = False) -> None:
        """Note what the line that has been running may have bound."""
        bindings, at = locals_.bindings, frame.f_lasti
        names = bindings.by_line.get(locals_.line)
        if names:
            ran = {} if raised or at in bindings.handlers else bindings.ran(locals_.at)
            for name in names:
                store, limit = ran.get(name, (at, at))
                locals_.pending[name] = locals_.line, limit is None or store < at < limit

    def _look(self, frame: FrameType, locals_: "_Locals", reads: Tuple[str, ...] = ()) -> None:
        """Record the pending names that were bound for sure, or hold another object than before; and what is read."""
        values, known = frame.f_locals, locals_.values
        for name, (line, sure) in locals_.pending.items():
            value = values.get(name, _UNBOUND)
            if value is _UNBOUND:
                known.pop(name, None)
            elif (sure or known.get(name, _UNBOUND) is not value) and not name.startswith("."):
                known[name] = value
                self._record(locals_.path, locals_.function, line, name, value)
        locals_.pending = {}
        for name in reads:
            value = values.get(name, _UNBOUND)
            if value is not _UNBOUND:
                self._record(locals_.path, locals_.function, locals_.line, name, value, True)

    def _unwind(self, frame: FrameType, locals_: "_Locals", *, raised: bool = True) -> None:
        self._ran(frame, locals_, raised=raised)
        self._look(frame, locals_)

    def _leave(self, frame: FrameType, locals_: "_Locals", value: object) -> None:
        self._unwind(frame, locals_, raised=False)
        self._record(locals_.path, locals_.function, locals_.line, RETURN, value)

    def _fault(self, fault: Exception) -> None:
        """A hook must never raise into the user's code; what is known so far stays."""
        sys.stderr.write(f"tvls: shapes of locals are incomplete: {type(fault).__name__}: {fault}\n")
        self.stop()

    # --- recording calls ----------------------------------------------------------------------------------------------

    def instrument(self, path: str, text: bytes) -> Optional[Callable[[ast.Module], None]]:
        """What inserts recording calls into the tree of a workspace module; None where it is watched from outside."""
        # For each line event Python may read the function's whole line table: endless for a very long function.
        if MONITORING and text.count(b"\n") <= _LONG:
            return None
        self._rewritten.add(path)

        def add_site(site: Site) -> int:
            self._sites.append((path, site))
            return len(self._sites) - 1

        lines = [number for number, line in enumerate(text.split(b"\n"), 1) if b"lambda" in line]
        return lambda tree: rewrite(tree, add_site, lambdas=lines)

    def _saw(self, number: int, *values: object) -> object:
        if self._active:
            try:
                path, site = self._sites[number]
                for (name, line), value in zip(site.names, values, strict=True):
                    self._record(path, site.function, line, name, value, site.read)
            except Exception as fault:  # noqa: BLE001 - reported there
                self._fault(fault)
        return values[-1]

    # --- Python 3.12 and newer ----------------------------------------------------------------------------------------

    _tool = -1

    def _start_monitoring(self) -> Callable[[], None]:
        monitoring = _monitoring
        events = monitoring.events
        free = [tool for tool in (4, 3, 5, 2, 1, 0) if monitoring.get_tool(tool) is None]
        if not free:
            sys.stderr.write("tvls: shapes of locals are not recorded: no monitoring tool is free\n")
            return lambda: None
        tool = self._tool = free[0]
        monitoring.use_tool_id(tool, "tvls")
        live: Dict[FrameType, _Locals] = {}
        find = self.places.workspace_path

        def guarded(hook: Callable[..., None]) -> Callable[..., None]:
            def guard(*arguments: Any) -> None:
                try:
                    hook(_frame_at(1), *arguments)
                except Exception as fault:  # noqa: BLE001 - reported there
                    self._fault(fault)

            return guard

        def on_start(frame: FrameType, code: CodeType, offset: int) -> None:
            path = find(code.co_filename)
            if path is not None:
                live[frame] = self._enter(frame, path)

        def on_line(frame: FrameType, code: CodeType, line: int) -> None:
            locals_ = live.get(frame)
            if locals_ is not None:
                self._line(frame, locals_, line)

        def on_jump(frame: FrameType, code: CodeType, offset: int, to: int) -> None:
            locals_ = live.get(frame) if to < offset else None
            if locals_ is not None:
                self._again(frame, locals_, to)

        def on_return(frame: FrameType, code: CodeType, offset: int, value: object) -> None:
            locals_ = live.pop(frame, None)
            if locals_ is not None:
                self._leave(frame, locals_, value)

        def on_unwind(frame: FrameType, code: CodeType, offset: int, exception: object) -> None:
            locals_ = live.pop(frame, None)
            if locals_ is not None:
                self._unwind(frame, locals_)

        monitoring.register_callback(tool, events.PY_START, guarded(on_start))
        monitoring.register_callback(tool, events.LINE, guarded(on_line))
        monitoring.register_callback(tool, events.JUMP, guarded(on_jump))
        monitoring.register_callback(tool, events.PY_RETURN, guarded(on_return))
        monitoring.register_callback(tool, events.PY_UNWIND, guarded(on_unwind))
        monitoring.set_events(tool, events.PY_UNWIND)  # cannot be asked for by code object; fires on exceptions only
        for code in self._codes:
            _watch_code(tool, code)

        def stop() -> None:
            monitoring.set_events(tool, 0)
            for event in (events.PY_START, events.LINE, events.JUMP, events.PY_RETURN, events.PY_UNWIND):
                monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)
            for frame, locals_ in live.items():  # generators that nobody finished
                self._unwind(frame, locals_)
            live.clear()

        return stop


class _Locals:
    """What is known of a frame's locals."""

    __slots__ = ("at", "bindings", "function", "line", "path", "pending", "turn", "values")

    def __init__(self, path: str, function: str, bindings: "Bindings", line: int, at: int) -> None:
        self.path = path
        self.function = function
        self.bindings = bindings
        self.line = line
        """The line that has been running since the last event."""
        self.at = at
        """The instruction that it began with."""
        self.values: Dict[str, object] = {}
        """What each local was when it was last looked at."""
        self.pending: Dict[str, Tuple[int, bool]] = {}
        """Locals that may have been bound since then: the line that did it, and whether it did for sure."""
        self.turn: List[Tuple[str, object]] = []
        """What the next turn of a loop on one line reads, if there is one."""


def _arguments(code: CodeType) -> Tuple[str, ...]:
    flags = bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + flags]


_Ran = Dict[str, Tuple[int, Optional[int]]]


class Bindings:
    """Where a function binds its locals, from its bytecode. For Python 3.12 and newer."""

    def __init__(self, code: CodeType) -> None:
        self.by_line: Dict[int, Tuple[str, ...]] = {}
        """Locals that each line binds or unbinds."""
        self.handlers: Set[int] = set()
        """Instructions that the lines of exception handlers begin with."""
        self._starts: List[int] = []
        self._lines: List[Optional[int]] = []
        self._stores: List[List[Tuple[str, int, Optional[int]]]] = []
        self._ran: Dict[int, _Ran] = {}
        self._uses: List[List[Tuple[str, int, bool]]] = []
        """Where locals are read (True) and bound, in the order of the code."""
        self._read: Dict[int, Tuple[str, ...]] = {}
        self._turns: Set[int] = set()
        self.borrowed: Dict[Optional[int], Set[str]] = {}
        """Lines with a comprehension, and the names that it has, too, and puts back."""
        by_line: Dict[int, Dict[str, None]] = {}
        local = code.co_varnames
        local = (*local, *(name for name in code.co_cellvars if name not in local), *code.co_freevars)
        cells = {*code.co_cellvars, *code.co_freevars}  # loaded as cells for a function that is made
        instructions, before, handler, target = code.co_code, None, False, -1
        for start, end, line in code.co_lines():
            if line != before or not self._starts:
                before, target = line, -1
                self._starts.append(start)
                self._lines.append(line)
                self._stores.append([])
                self._uses.append([])
            stores, uses, extended = self._stores[-1], self._uses[-1], 0
            for at in range(start, end, 2):
                operation, argument = instructions[at], extended | instructions[at + 1]
                extended = argument << 8 if operation == _EXTENDED else 0
                handler = handler or operation == _HANDLER
                if line is None:
                    continue
                if handler:
                    self.handlers.add(at)
                    handler = False
                if operation == _NEXT:
                    self._turns.add(at)
                kinds = _USES.get(operation)
                if kinds is None:
                    if operation == _BORROW:
                        self.borrowed.setdefault(line, set()).add(local[argument])
                    elif operation in _FORWARD:
                        following = at + 2
                        while following < len(instructions) and instructions[following] == _CACHE:
                            following += 2
                        target = max(target, following + 2 * argument)
                    continue
                indices = (argument,) if len(kinds) == 1 else (argument >> 4, argument & 15)
                for kind, index in zip(kinds, indices, strict=True):
                    name = local[index]
                    if kind == "b":
                        by_line.setdefault(line, {})[name] = None
                        stores.append((name, at, target if target > at else None))
                        uses.append((name, at, False))
                    elif operation == _READING_CELL or name not in cells:
                        uses.append((name, at, True))
        self.by_line.update((line, tuple(names)) for line, names in by_line.items())

    def ran(self, start: int) -> _Ran:
        """What the line that began with the instruction `start` binds: by name the instruction that does it and, where
        a jump may have left that out, where such a jump leads. From between the two it was not left out."""
        found = self._ran.get(start)
        if found is None:
            number = bisect_right(self._starts, start) - 1
            borrowed = self.borrowed.get(self._lines[number], ())
            found = self._ran[start] = {
                name: (at, at if name in borrowed else limit) for name, at, limit in self._stores[number] if at >= start
            }
        return found

    def line_of(self, instruction: int) -> Optional[int]:
        return self._lines[bisect_right(self._starts, instruction) - 1]

    def may_end(self, instruction: int) -> bool:
        """Whether a loop asks there for the next item, which there may not be."""
        return any(instruction + 2 * at in self._turns for at in range(4))  # after what extends its argument

    def read(self, start: int) -> Tuple[str, ...]:
        """Locals that the line that begins with the instruction `start` reads as they are then."""
        found = self._read.get(start)
        if found is None:
            names: Dict[str, bool] = {}
            for name, at, reads in self._uses[bisect_right(self._starts, start) - 1]:
                if at >= start:
                    names.setdefault(name, reads)
            found = self._read[start] = tuple(name for name, reads in names.items() if reads and name[0] != ".")
        return found


class _DefLines:
    """From the first line of a code object, which is that of the first decorator, to where a parameter is written."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.by_path: Dict[str, Dict[Tuple[int, str], int]] = {}

    def find(self, path: str, first: int, name: str) -> int:
        lines = self.by_path.get(path)
        if lines is None:
            data = self.text(path)
            lines = self.by_path[path] = {} if data is None else dict(_parameters(data))
        return lines.get((first, name), first)


def _parameters(data: bytes) -> Iterator[Tuple[Tuple[int, str], int]]:
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            for parameter in every_argument(node.args):
                if parameter.lineno != first:
                    yield (first, parameter.arg), parameter.lineno


def _seen(what: Optional[What], count: int, table: Dict[What, int]) -> Seen:
    if what is None:
        return {"count": count}
    if what.type:
        return {"structure": table.setdefault(what, len(table)), "count": count}
    ((_, shape, dtype),) = what.arrays
    return {"shape": list(shape), "dtype": dtype, "count": count}


def _structure(what: What) -> Structure:
    arrays: List[ArrayIn] = [
        {"path": list(path), "shape": list(shape), "dtype": dtype} for path, shape, dtype in what.arrays
    ]
    found: Structure = {"type": what.type, "arrays": arrays}
    return {**found, "cut": True} if what.cut else found


def _watch_code(tool: int, code: CodeType) -> None:
    """Ask for events in every function body inside `code`."""
    events = _monitoring.events
    if code.co_flags & _OPTIMIZED:
        jumps = events.JUMP if _BACKWARD in code.co_code[::2] else 0
        _monitoring.set_local_events(tool, code, events.PY_START | events.LINE | events.PY_RETURN | jumps)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _watch_code(tool, constant)
