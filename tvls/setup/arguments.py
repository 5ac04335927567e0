"""Arguments as they are typed on a command line, each as its annotation takes it: `x=float32[2,3]`, `pool=MAX`,
`config.width=2`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

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

NAMED: Final = re.compile(r"\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*)\s*=(?!=)(.*)", re.DOTALL)
"""NAME=VALUE, where a text is that and no value alone."""


def parse_inputs(
    texts: Iterable[str], parameters: Sequence[ParameterLike] = (), types: Types | None = None, option: str = "input"
) -> CallSetup:
    """All arguments of a call of these parameters; positional ones in their order. `option` is what messages call one.

    Raises TvlsError, `setupInvalid`; also for a name given twice.
    """
    call = _Call(parameters, types or {})
    for text in texts:
        match = NAMED.fullmatch(text)
        name, source = (match[1], match[2].strip()) if match else (None, text.strip())
        try:
            call.add(name, source)
        except TextError as fault:
            problem = SetupProblem(key=option if name is None else f"{option} {name}", message=fault.message)
            raise TvlsError(
                "setupInvalid", f"--{option} {text!r}: {fault.message}.", fault.next_step, problems=[problem]
            ) from fault
    return CallSetup(args=call.args, kwargs=call.kwargs)


def parse_inits(
    texts: Iterable[str], parameters: Sequence[ParameterLike] = (), types: Types | None = None
) -> CallSetup:
    """As `parse_inputs`, for the arguments of a constructor."""
    return parse_inputs(texts, parameters, types, "init")


class _Call:
    def __init__(self, parameters: Sequence[ParameterLike], types: Types) -> None:
        self.positional = [p for p in parameters if p.kind in {"positional_only", "positional_or_keyword"}]
        self.by_name = {p.name: p for p in parameters}
        self.types = types
        self.args: list[Any] = []
        self.kwargs: dict[str, Any] = {}
        self.given: set[str] = set()

    def add(self, name: str | None, source: str) -> None:
        """Raises TextError."""
        if name is None:
            place = len(self.args)
            hint = self.hint(self.positional[place] if place < len(self.positional) else None)
            self.args.append(self.value(source, hint))
            return
        first, *inside = name.split(".")
        around = [".".join([first, *inside[:length]]) for length in range(len(inside) + 1)]
        if self.given.intersection(around) or any(other.startswith(f"{name}.") for other in self.given):
            raise TextError(f"{name!r} is given twice", "Give each argument once.")
        self.given.add(name)
        self.put(self.kwargs, first, inside, self.by_name.get(first), self.hint(self.by_name.get(first)), source)

    def put(
        self,
        table: dict[str, Any],
        name: str,
        inside: list[str],
        parameter: ParameterLike | None,
        hint: Hint,
        source: str,
    ) -> None:
        """Puts the value at `name`, or at the names `inside` of that: of an object by its fields, else a dictionary."""
        if not inside:
            table[name] = self.value(source, hint)
        elif hint.type == "object":
            known = {field.name: field for field in fields_of(self.types, hint.classes[0])}
            field = known.get(inside[0])
            if field is None:
                of = hint.classes[0].partition(":")[2]
                raise TextError(
                    f"{of} has no field {inside[0]!r}{did_you_mean(inside[0], known)}", f"It has {', '.join(known)}."
                )
            if name not in table:
                given = (default_fields(parameter, hint, self.types) if parameter else None) or {}
                table[name] = make_object(hint.classes[0], {part: literal(text) for part, text in given.items()})
            self.put(table[name]["fields"], inside[0], inside[1:], field, self.hint(field), source)
        else:
            self.put(table.setdefault(name, {}), inside[0], inside[1:], None, hint.of_item(inside[0]), source)

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
