"""The call of a target: what the setup or an inputs factory gives, in the places that the target needs it in."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, cast

from tvls.worker.job import Job, SetupFault, type_name
from tvls.worker.values import Budget, Call, MakeTensor, Making, build_call


@dataclass
class Given(Call):
    """The call of a target. `places` tells where in the setup each positional argument stands."""

    places: List[str]


def read_call(job: Job, target: object, tensor: MakeTensor, by_position: bool = False) -> Given:
    """The saved inputs as Python values, named ones in the position that the target needs them in.

    `tensor` makes the arrays that are described. `by_position`: everything that has a position takes it.
    Raises SetupFault (`inputs`, `dtype`, `limit`).
    """
    saved: Dict[str, Any] = job.setup.get("inputs") or {}
    if "factory" in saved:
        call = _factory_call(job.load_factory(saved["factory"]), target)
    else:
        call = build_call(saved, "inputs", Making(Budget(job.limits), tensor, job.find_class))
    given = _bound(call, target, by_position)
    lacking = _lacking(target, given)
    if lacking:
        key = "inputs.factory" if "factory" in saved else "inputs"
        raise SetupFault("inputs", f"{job.name} needs inputs that nothing gives: {', '.join(lacking)}", key)
    return given


_FORMS = 'return {"args": (x, y), "kwargs": {"flag": True}}, or a mapping of named inputs such as {"x": x, "y": y}'


def _factory_call(made: object, target: object) -> Call:
    if not isinstance(made, Mapping):
        message = f"an inputs factory returns a mapping of named inputs or of args and kwargs, not {_type(made)}"
        raise SetupFault("inputs", message, "inputs.factory", hint=_FORMS)
    items = dict(cast("Mapping[Any, Any]", made))
    own = {parameter.name for parameter in _parameters(target) if parameter.kind not in _VARIADIC}
    reserved = {"args", "kwargs"} & set(items)
    if reserved:
        problem = _malformed(items)
        if problem is None:
            return Call(list(items.get("args", ())), dict(items.get("kwargs", {})))
        if not reserved <= own:  # and they are not names of the function's own parameters
            raise SetupFault("inputs", problem, "inputs.factory", hint=_FORMS)
    wrong = [key for key in items if not isinstance(key, str)]
    if wrong:
        message = f"the names of inputs are strings, but the factory returned {type_name(wrong[0])}"
        raise SetupFault("inputs", message, "inputs.factory", hint=_FORMS)
    return Call([], items)


def _type(value: object) -> str:
    return type_name(value).replace("builtins.", "")


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _malformed(items: Dict[Any, Any]) -> Optional[str]:
    """What keeps a mapping with `args` or `kwargs` in it from being the arguments of a call, or None."""
    more = [key for key in items if key not in ("args", "kwargs")]
    if more:
        return f"the inputs factory returned {more[0]!r} beside {' and '.join(key for key in items if key not in more)}"
    args, kwargs = items.get("args", ()), items.get("kwargs", {})
    if not isinstance(args, (list, tuple)):
        return f"the args that the inputs factory returned must be a list or tuple, not {_type(args)}"
    if not isinstance(kwargs, Mapping):
        return f"the kwargs that the inputs factory returned must be a mapping, not {_type(kwargs)}"
    wrong: List[Any] = [key for key in cast("Mapping[Any, Any]", kwargs) if not isinstance(key, str)]
    return f"the names of kwargs are strings, but the inputs factory returned {type_name(wrong[0])}" if wrong else None


def _bound(call: Call, target: object, by_position: bool) -> Given:
    """Named inputs of positional-only parameters become positional, as only that can reach them."""
    only = _moved(call, target, (inspect.Parameter.POSITIONAL_ONLY,))
    if not by_position:
        return only
    both = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    moved = _moved(call, target, both)
    return moved if _takes(target, moved) else only


def _moved(call: Call, target: object, kinds: Tuple[Any, ...]) -> Given:
    args, kwargs = list(call.args), dict(call.kwargs)
    places = [f"inputs.args[{index}]" for index in range(len(args))]
    for parameter in _parameters(target)[len(args) :]:
        if parameter.kind not in kinds or parameter.name not in kwargs:
            break
        args.append(kwargs.pop(parameter.name))
        places.append(f"inputs.kwargs.{parameter.name}")
    return Given(args, kwargs, places)


def _takes(target: object, call: Call) -> bool:
    """Whether the outermost wrapper, whatever it is around, has parameters for these arguments."""
    signature = _outer_signature(target)
    if signature is None:
        return True
    try:
        signature.bind(*call.args, **call.kwargs)
    except TypeError:
        return False
    return True


def _lacking(target: object, call: Call) -> List[str]:
    """Parameters of the outermost wrapper that must have a value, and have none."""
    signature = _outer_signature(target)
    if signature is None:
        return []
    try:
        bound = signature.bind_partial(*call.args, **call.kwargs).arguments
    except TypeError:  # more than it takes: the call itself says that best
        return []
    return [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind not in _VARIADIC
        and parameter.name not in bound
    ]


def _outer_signature(target: object) -> Optional[inspect.Signature]:
    try:
        return inspect.signature(cast("Callable[..., Any]", target), follow_wrapped=False)
    except (TypeError, ValueError):  # not every callable has a signature
        return None


def _parameters(target: object) -> List[inspect.Parameter]:
    try:
        return list(inspect.signature(cast("Callable[..., Any]", target)).parameters.values())
    except (TypeError, ValueError):  # not every callable has a signature
        return []


def argument_names(target: object, count: int) -> List[str]:
    """Names of the first `count` positional arguments of a call: those of the parameters, as far as it has them."""
    names: List[str] = []
    for parameter in _parameters(target):
        if len(names) == count:
            break
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{index}]" for index in range(count - len(names))]
    return names + [f"args[{index}]" for index in range(len(names), count)]
