"""Arguments as they are typed on a command line, each as its annotation takes it: `x=float32[2,3]`, `pool=MAX`,
`config.width=2`, `layers[0].w=float32[2,3]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from tvls.analysis.types import NamedType
from tvls.protocol.errors import TvlsError
from tvls.protocol.types import CallSetup, SetupProblem
from tvls.setup.annotations import Hint, hint_of, literal
from tvls.setup.findings import did_you_mean
from tvls.setup.kinds import ParameterLike
from tvls.setup.objects import default_fields, fields_of, make_object
from tvls.setup.shorthand import WORD, TextError, parse_value
from tvls.setup.written import as_annotated, option_name, option_of

Types = Mapping[str, NamedType]

NAMED: Final = re.compile(r"\s*([^\W\d]\w*(?:\.\w+|\[\d+\])*)\s*=(?!=)(.*)", re.DOTALL)
"""NAME=VALUE, where a text is that and no value alone."""
_STEP: Final = re.compile(r"\.?([^\W\d]\w*)|\[(\d+)\]|\.(\w+)")

Step = str | int
"""A name of an entry or field, or the number of an item."""
Path = tuple[Step, ...]


def parse_inputs(
    texts: Iterable[str], parameters: Sequence[ParameterLike] = (), types: Types | None = None, option: str = "input"
) -> CallSetup:
    """All arguments of a call of these parameters; positional ones in their order. `option` is what messages call one.

    Raises TvlsError, `setupInvalid`; also for a name given twice.
    """
    call = _Call(parameters, types or {})
    name, text = None, ""
    try:
        for text in texts:
            match = NAMED.fullmatch(text)
            name, source = (match[1], match[2].strip()) if match else (None, text.strip())
            call.add(name, source)
        return CallSetup(args=call.args, kwargs=_whole(call.kwargs))
    except TextError as fault:
        problem = SetupProblem(key=option if name is None else f"{option} {name}", message=fault.message)
        raise TvlsError(
            "setupInvalid", f"--{option} {text!r}: {fault.message}.", fault.next_step, problems=[problem]
        ) from fault


def parse_inits(
    texts: Iterable[str], parameters: Sequence[ParameterLike] = (), types: Types | None = None
) -> CallSetup:
    """As `parse_inputs`, for the arguments of a constructor."""
    return parse_inputs(texts, parameters, types, "init")


class _Items(dict[int, Any]):
    """Items of a list or tuple by their numbers, until all of them are known; first those of a default."""

    def __init__(self, path: Path, known: Any, annotated: Callable[[list[Any]], Any]) -> None:
        items = cast("dict[str, Any]", known).get("items") if isinstance(known, dict) else known
        super().__init__(enumerate(cast("list[Any]", items or [])))
        self.path = path
        self.annotated = annotated

    def whole(self) -> Any:
        """Raises TextError where one lacks."""
        lacking = next((at for at in range(len(self)) if at not in self), None)
        if lacking is not None:
            raise TextError(
                f"{_shown(self.path)} has an item {max(self)} and no item {lacking}",
                f"Give it as {_shown((*self.path, lacking))}=VALUE.",
            )
        return self.annotated([_whole(self[at]) for at in range(len(self))])


def _whole(value: Any) -> Any:
    """The value with lists in place of their items. Raises TextError where an item lacks."""
    if isinstance(value, _Items):
        return value.whole()
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in cast("dict[Any, Any]", value).items()}
    return value


def _shown(path: Path) -> str:
    """As it is typed: `layers[0].w`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _path(name: str) -> Path:
    """`layers[0].w` → `("layers", 0, "w")`. Raises TextError for `layers.0`."""
    path: list[Step] = []
    for part, item, wrong in _STEP.findall(name):
        if wrong:
            right = re.sub(r"\.(\d+)(?=[.\[]|$)", r"[\1]", name)
            raise TextError(f"{wrong!r} is no name", f"An item of a list or tuple is written as {right}=VALUE.")
        path.append(part or int(item))
    return tuple(path)


class _Call:
    def __init__(self, parameters: Sequence[ParameterLike], types: Types) -> None:
        self.positional = [p for p in parameters if p.kind in {"positional_only", "positional_or_keyword"}]
        self.by_name = {p.name: p for p in parameters}
        self.types = types
        self.args: list[Any] = []
        self.kwargs: dict[str, Any] = {}
        self.given: set[Path] = set()

    def add(self, name: str | None, source: str) -> None:
        """Raises TextError."""
        if name is None:
            place = len(self.args)
            hint = self.hint(self.positional[place] if place < len(self.positional) else None)
            self.args.append(self.value(source, hint))
            return
        path = _path(name)
        if any(path == other[: len(path)] or other == path[: len(other)] for other in self.given):
            raise TextError(f"{name!r} is given twice", "Give each argument once.")
        self.given.add(path)
        parameter = self.by_name.get(str(path[0]))
        self.put(self.kwargs, path, 0, parameter, self.hint(parameter), source)

    def put(
        self, table: dict[Any, Any], path: Path, at: int, parameter: ParameterLike | None, hint: Hint, source: str
    ) -> None:
        """Puts the value at the step `at` of a path, or inside of that by the next: of an object by its fields, else of
        a dictionary by names, of a list or tuple by numbers."""
        name, step = path[at], path[at + 1] if at + 1 < len(path) else None
        if step is None:
            table[name] = self.value(source, hint)
        elif hint.type == "object":
            known = {field.name: field for field in fields_of(self.types, hint.classes[0])}
            field = known.get(str(step))
            if field is None:
                of = hint.classes[0].partition(":")[2]
                raise TextError(
                    f"{of} has no field {step!r}{did_you_mean(str(step), known)}", f"It has {', '.join(known)}."
                )
            if name not in table:
                given = (default_fields(parameter, hint, self.types) if parameter else None) or {}
                table[name] = make_object(hint.classes[0], {part: literal(text) for part, text in given.items()})
            self.put(table[name]["fields"], path, at + 1, field, self.hint(field), source)
        else:
            self.put(self.inside(table, path[: at + 1], step, hint), path, at + 1, None, hint.of_item(step), source)

    def inside(self, table: dict[Any, Any], path: Path, step: Step, hint: Hint) -> dict[Any, Any]:
        """What holds the parts of the value at a path, the last step of which is in `table`."""
        known = table.get(path[-1])
        if not isinstance(step, int):
            if isinstance(known, _Items):
                raise TextError(f"{_shown(path)} has items, and no names", f"Write {_shown((*path, 0))}=VALUE.")
            return table.setdefault(path[-1], {})
        if isinstance(known, _Items):
            return known
        if isinstance(known, dict) and "items" not in known:
            raise TextError(f"{_shown(path)} has names, and no items", f"Write {_shown((*path, 'NAME'))}=VALUE.")
        items = table[path[-1]] = _Items(path, known, lambda items: as_annotated(items, hint, self.types))
        return items

    def hint(self, parameter: ParameterLike | None) -> Hint:
        return Hint() if parameter is None else hint_of(parameter, self.types)

    def value(self, source: str, hint: Hint) -> Any:
        """What is no value may be the name of a member or, where the annotation says so, text without quotes."""
        try:
            return as_annotated(parse_value(source), hint, self.types)
        except TextError:
            option = option_of(source, hint, self.types)
            if option is not ...:
                return option
            if hint.type == "string" and WORD.fullmatch(source):
                return source
            if hint.type == "choice" and WORD.fullmatch(source):
                names = ", ".join(map(option_name, hint.options))
                raise TextError(f"this is one of {names}, not {source!r}", "Choose one of them.") from None
            raise
