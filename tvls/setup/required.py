"""Does a setup fit the signature of its target: what is missing, and what does not belong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from tvls.analysis.types import NamedType
from tvls.capture.document import TargetKind
from tvls.protocol.types import MissingValue, SetupProblem
from tvls.setup.findings import Finding, did_you_mean
from tvls.setup.keys import Key, show_key
from tvls.setup.kinds import ParameterLike, value_kind
from tvls.setup.objects import declared_hint, fit_value
from tvls.setup.profile import Call, Framework, Profile, incomplete_values
from tvls.setup.read import SetupFile, to_problems


class TargetLike(Protocol):
    """A target as the analysis finds it, without `self`; `name` is its qualified name in `module`."""

    @property
    def kind(self) -> TargetKind: ...
    @property
    def module(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Sequence[ParameterLike]: ...
    @property
    def init_parameters(self) -> Sequence[ParameterLike]: ...
    @property
    def more_init_parameters(self) -> bool: ...
    @property
    def types(self) -> Mapping[str, NamedType]: ...
    @property
    def discovered(self) -> bool: ...


_KINDS: Final[dict[str, str]] = {
    "jax.function": "a JAX function",
    "flax.linen": "a Flax Linen module",
    "flax.nnx": "a Flax NNX module",
    "torch.module": "a PyTorch module",
}


def framework_of(kind: TargetKind) -> Framework:
    return "torch" if kind == "torch.module" else "jax"


def missing(
    target: TargetLike | None, profile: Profile | None, setup_file: SetupFile | None = None
) -> tuple[list[MissingValue], list[SetupProblem]]:
    """What `profile` lacks for `target`, and what in it `target` cannot take. Keys are relative to the profile.

    Parameters with a default are listed with `required=False`: a trace can do without them, a form may show them.
    Without a profile everything is missing; without a target (a model of an installed library) only tensors can be
    incomplete. `setup_file`, where the profile comes from one, gives the problems their lines.
    """
    wanted, found = fit(target, profile)
    name = profile.name if profile else None
    return wanted, [problem.to_wire() for problem in to_problems(found, setup_file if name else None, name)]


def fit(target: TargetLike | None, profile: Profile | None) -> tuple[list[MissingValue], list[Finding]]:
    """As `missing`, with what does not belong by its full key in the setup file."""
    wanted: list[MissingValue] = []
    found: list[Finding] = []
    if target and profile and not target.discovered and profile.framework != framework_of(target.kind):
        target = None  # the profile knows better what the object is
    if target is not None:
        init = profile.init if profile else Call()
        inputs = profile.inputs if profile else Call()
        if profile is not None and profile.framework != framework_of(target.kind):
            right = framework_of(target.kind)
            message = (
                f"{target.name} is {_KINDS[target.kind]}, which framework = '{right}' traces, not '{profile.framework}'"
            )
            found.append(Finding(("framework",), message))
        if target.kind == "jax.function" and not target.init_parameters:  # which an Equinox module may have
            if init.args or init.kwargs:
                found.append(Finding(("init",), "a function has no constructor; its arguments belong in inputs"))
        else:
            _bind(target.init_parameters, init, ("init",), target, wanted, found)
        # A factory returns an object whose call may differ from what the source says only for plain functions.
        if not (target.kind == "jax.function" and init.factory is not None):
            _bind(target.parameters, inputs, ("inputs",), target, wanted, found)
    if profile is not None:
        wanted += [
            MissingValue(key=show_key(key), parameter=_parameter_at(key, target), kind="value", annotation=None)
            for key in incomplete_values(profile)
        ]
    at = profile.key if profile else ()
    return wanted, [Finding((*at, *finding.key), finding.message, finding.severity, finding.on) for finding in found]


def _bind(
    parameters: Sequence[ParameterLike],
    call: Call,
    at: Key,
    target: TargetLike,
    wanted: list[MissingValue],
    found: list[Finding],
) -> None:
    """Python's rules for binding arguments, applied without a function object."""
    if call.factory is not None:
        return
    if not parameters and target.kind != "jax.function":
        return  # a signature that an installed base class gives is not in the source: the trace itself will tell
    positional = [p for p in parameters if p.kind in {"positional_only", "positional_or_keyword"}]
    by_name = {p.name: p for p in parameters if p.kind in {"positional_or_keyword", "keyword_only"}}
    more = at == ("init",) and target.more_init_parameters
    takes_more = more or any(p.kind == "var_positional" for p in parameters)
    takes_any = more or any(p.kind == "var_keyword" for p in parameters)
    what = target.name if at == ("init",) or target.kind == "jax.function" else f"calling {target.name}"
    if len(call.args) > len(positional) and not takes_more:
        count = f"{len(positional) or 'no'} positional argument{'' if len(positional) == 1 else 's'}"
        found.append(Finding((*at, "args", len(positional)), f"{what} takes {count}, and this is one more"))
    given = {p.name for p in positional[: len(call.args)]}
    # A positional-only name does not clash with a keyword of the same name that **kwargs takes.
    taken = {p.name for p in positional[: len(call.args)] if p.kind == "positional_or_keyword"}
    for name in call.kwargs:
        key = (*at, "kwargs", name)
        if name in taken:
            found.append(
                Finding(key, f"{name!r} is given twice: it is also argument {_index(positional, name)} of args")
            )
        elif name in by_name:
            given.add(name)
        elif not takes_any and not _always_accepted(name, at, target):
            hint = did_you_mean(name, by_name)
            names = ", ".join(by_name) or "no named argument"
            found.append(Finding(key, f"{what} has no parameter {name!r}{hint or f' (it takes {names})'}", on="key"))
    for index, value in enumerate(call.args[: len(positional)]):
        _fit(positional[index], value, (*at, "args", index), target, wanted, found)
    for name, value in call.kwargs.items():
        if name in by_name:
            _fit(by_name[name], value, (*at, "kwargs", name), target, wanted, found)
    by_position = len(call.args)
    for parameter in parameters:
        if parameter.kind in {"var_positional", "var_keyword"} or parameter.name in given:
            continue
        if is_supplied(parameter, at, target):
            continue
        index = next((i for i, p in enumerate(positional) if p is parameter), None)
        required = parameter.default is None
        # As an element of `args` only where everything before it is one, too.
        in_args = index is not None and index == by_position and at == ("inputs",) and required
        if in_args or (index is not None and parameter.kind == "positional_only"):
            key: Key = (*at, "args", index if index is not None else by_position)
            by_position += 1
        else:
            key = (*at, "kwargs", parameter.name)
        wanted.append(
            MissingValue(
                key=show_key(key),
                parameter=parameter.name,
                kind=value_kind(parameter),
                annotation=parameter.annotation,
                default=parameter.default,
                required=required,
            )
        )


def _fit(
    parameter: ParameterLike,
    value: Any,
    at: Key,
    target: TargetLike,
    wanted: list[MissingValue],
    found: list[Finding],
) -> None:
    for item in fit_value(value, declared_hint(parameter, target.types), target.types, at, parameter.name):
        if isinstance(item, Finding):
            found.append(item)
        else:
            wanted.append(item)


def _index(positional: list[ParameterLike], name: str) -> int:
    return next(i for i, p in enumerate(positional) if p.name == name)


def _always_accepted(name: str, at: Key, target: TargetLike) -> bool:
    """Every Linen module takes these two beside its own fields."""
    return at == ("init",) and target.kind == "flax.linen" and name in {"name", "parent"}


def is_supplied(parameter: ParameterLike, at: Key, target: TargetLike) -> bool:
    """`nnx.Rngs` of a constructor is made from the profile's seed, and so is the `key` of an Equinox module."""
    if at == ("init",) and target.kind == "jax.function":
        return parameter.name == "key"
    if at != ("init",) or target.kind != "flax.nnx":
        return False
    return parameter.name == "rngs" or (parameter.annotation or "").strip("\"' ").split(".")[-1] == "Rngs"


def _parameter_at(key: Key, target: TargetLike | None) -> str:
    """Name of the parameter that the argument at `key` goes to, as far as it is known."""
    part, place, which = key[0], key[1] if len(key) > 1 else "", key[2] if len(key) > 2 else ""
    if target is not None and place == "args" and isinstance(which, int):
        parameters = target.parameters if part == "inputs" else target.init_parameters
        names = [p.name for p in parameters if p.kind in {"positional_only", "positional_or_keyword"}]
        if which < len(names):
            return names[which]
    return str(which)
