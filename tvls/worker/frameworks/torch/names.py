"""Names of functions, operators and their parameters, as PyTorch's documentation has them."""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, NamedTuple, Tuple

from tvls.worker.frameworks.torch import libraries as lib

_GETTER = ".__get__"
_SETTER = ".__set__"


_CONTROL = frozenset(("associative_scan", "cond", "invoke_subgraph", "map_impl", "scan", "strict_mode", "while_loop"))
"""Operators of control flow: what ran of the functions that they are given is the program, and they are not seen."""


class FunctionName(NamedTuple):
    full: str
    """`torch.nn.functional.linear`, `torch.Tensor.view`."""
    is_attribute: bool
    """Whether it reads or sets an attribute of a tensor."""
    is_setter: bool = False
    is_control: bool = False
    """Whether it is an operator of control flow."""

    @staticmethod
    def of(function: Any) -> "FunctionName":
        try:
            return _names[function]
        except KeyError:
            name = _names[function] = _name(function)
            return name
        except TypeError:  # not hashable
            return _name(function)


_FACTORIES = {
    **{name: ["size"] for name in ("zeros", "ones", "empty", "rand", "randn")},
    "full": ["size", "fill_value"],
    "tensor": ["data"],
    "as_tensor": ["data"],
    "eye": ["n", "m"],
    "linspace": ["start", "end", "steps"],
    **{f"Tensor.new_{name}": ["self", "size"] for name in ("empty", "zeros", "ones")},
}
"""Names of the parameters of functions of `torch` whose signature nothing of PyTorch tells."""

_names: Dict[Any, FunctionName] = {}
_operators: Dict[Any, str] = {}
_parameters: Dict[Any, List[str]] = {}


def _name(function: Any) -> FunctionName:
    if hasattr(function, "_schema"):
        return FunctionName(operator_name(function), False)
    if isinstance(function, lib.torch._ops.HigherOrderOperator):
        return FunctionName(f"torch.ops.higher_order.{function.name()}", False, is_control=function.name() in _CONTROL)
    try:
        full: Any = lib.torch.overrides.resolve_name(function)
    except Exception:  # noqa: BLE001  (not every callable has what it asks for)
        full = None
    if not isinstance(full, str):
        module: Any = getattr(function, "__module__", None)
        name: Any = getattr(function, "__qualname__", getattr(function, "__name__", type(function).__name__))
        full = f"{module}.{name}" if isinstance(module, str) and module else str(name)
    full = full.replace("._VariableFunctionsClass.", ".")  # what holds the functions of `torch`
    for ending in (_GETTER, _SETTER):
        if full.endswith(ending):
            return FunctionName(full[: -len(ending)], True, ending is _SETTER)
    return FunctionName(full, False)


def operator_name(operator: Any) -> str:
    """`aten.addmm` of `aten::addmm.default`."""
    name = _operators.get(operator)
    if name is None:
        schema: Any = getattr(operator, "_schema", None)
        name = _operators[operator] = str(schema.name if schema is not None else operator).replace("::", ".")
    return name


def parameter_names(function: Any) -> List[str]:
    """Names of the positional parameters; empty where they are not known."""
    try:
        found = _parameters.get(function)
    except TypeError:
        return []
    if found is None:
        found = _parameters[function] = _parameter_names(function)
    return found


def _parameter_names(function: Any) -> List[str]:
    schema: Any = getattr(function, "_schema", None)
    if schema is not None:
        return [str(argument.name) for argument in schema.arguments]
    try:
        named: Any = lib.signatures.get(function, function)
        signature = inspect.signature(named)
    except (TypeError, ValueError):
        return _FACTORIES.get(FunctionName.of(function).full.replace("torch.", "", 1), [])
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]


def named_arguments(names: List[str], args: Tuple[Any, ...]) -> List[Tuple[str, Any]]:
    """Positional arguments by name. Sizes that are written one by one, as in `x.view(2, 3)`, are those of the last."""
    given = len(names)
    if 0 < given < len(args) and all(type(value) is int for value in args[given - 1 :]):
        args = (*args[: given - 1], list(args[given - 1 :]))
    return [(names[at] if at < given else f"arg{at}", value) for at, value in enumerate(args)]
