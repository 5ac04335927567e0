"""What an annotation says about the values that a parameter takes. Reads source text; imports nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import EllipsisType
from typing import Any, Final, Literal, cast

import msgspec

from tvls.analysis.types import Enumeration, NamedType, Record
from tvls.setup.kinds import ParameterLike, value_kind
from tvls.setup.placeholders import UNKNOWN

HintType = Literal[
    "integer", "number", "boolean", "string", "choice", "tensor", "list", "tuple", "table", "object", "value"
]


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """What can be told of a parameter."""

    type: HintType = "value"
    options: tuple[Any, ...] = ()
    """Of a choice."""
    optional: bool = False
    """None is a value of it."""
    shape: tuple[int | str, ...] | None = None
    """Dimensions of a tensor; `"?batch"` for a named one, `"?"` for one without a name. None: unknown rank."""
    dtype: str | None = None
    only_factory: str | None = None
    """Why no setup value can be given: a function, an object of a class."""
    items: tuple[Hint, ...] = ()
    """Of a tuple, by position; of a list, the one of every item."""
    classes: tuple[str, ...] = ()
    """Of an object or a member of an enumeration: the classes that it may be of."""
    alternatives: tuple[Hint, ...] = ()
    """Parts of a union that have nothing in common, as in `int | tuple[int, int]`."""

    def allows(self, value: object) -> bool:
        """Whether a value is one of the options; `true` is not `1`."""
        return any(type(option) is type(value) and option == value for option in self.options)

    def of_item(self, part: str | int) -> Hint:
        """Of one item of a container."""
        if self.type == "tuple" and isinstance(part, int) and len(self.items) > 1:
            return self.items[part] if part < len(self.items) else Hint()
        return self.items[0] if self.items else Hint()


_DTYPES: Final = {
    "Bool": "bool",
    "Key": "key<fry>",
    "BFloat16": "bfloat16",
    "Complex64": "complex64",
    "Complex128": "complex128",
}
"""jaxtyping's names of one dtype each, beside `Float32` and the like."""
_EXACT: Final = re.compile(r"(Float|Int|UInt)(2|4|8|16|32|64)")
_WIDE: Final = re.compile(r"Float|Int|UInt|Integer|Complex|Inexact|Real|Num|Shaped|Float8\w+")
_USUAL: Final = {"Int": "int32", "Integer": "int32", "UInt": "uint32", "Complex": "complex64"}
_ARRAYS: Final = frozenset(
    {"Array", "ArrayLike", "ndarray", "Tensor", "NDArray", "ArrayImpl", "Tracer", "ShapeDtypeStruct", "Variable"}
)
_TYPED_ARRAYS: Final = {
    "FloatTensor": "float32",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "BoolTensor": "bool",
}
_KEYS: Final = frozenset({"PRNGKeyArray", "KeyArray", "PRNGKey"})
_PLAIN: Final[dict[str, HintType]] = {
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "LiteralString": "string",
}
_LISTS: Final = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "MutableSequence"})
_TABLES: Final = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "FrozenDict"})
_THROUGH: Final = frozenset({"Annotated", "Final", "InitVar", "Required", "NotRequired", "ReadOnly"})
_CALLABLES: Final = frozenset({"Callable", "Initializer", "FunctionType"})


def read_annotation(
    text: str | None, names: Mapping[str, str] | None = None, types: Mapping[str, NamedType] | None = None
) -> Hint:
    """What the annotation `text` says; an empty hint where it says nothing that is understood.

    `names` are the names in it that mean one of `types`.
    """
    if text is None:
        return Hint()
    try:
        return _Reader(names or {}, types or {}).read(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return Hint()


def hint_of(parameter: ParameterLike, types: Mapping[str, NamedType]) -> Hint:
    """What annotation, default and name say of a parameter; `types` are those of the workspace that it may name."""
    hint = read_annotation(parameter.annotation, parameter.names, types)
    default = literal(parameter.default)
    if parameter.annotation is None:
        match default:
            case bool():
                hint = Hint(type="boolean")
            case int():
                hint = Hint(type="integer")
            case float():
                hint = Hint(type="number")
            case str():
                hint = Hint(type="string")
            case {"kind": "tuple"}:
                hint = Hint(type="tuple")
            case list():
                hint = Hint(type="list")
            case _:
                made = _made(parameter) or assumed_class(parameter)
                hint = Hint(type="object", classes=(made,)) if isinstance(types.get(made), Record) else hint
    if hint.type == "value" and not hint.only_factory and value_kind(parameter) == "tensor":
        hint = msgspec.structs.replace(hint, type="tensor")
    optional = hint.optional or default == {"kind": "none"}
    return msgspec.structs.replace(hint, optional=optional)


def assumed_class(parameter: ParameterLike) -> str:
    """The class of the workspace that a parameter is likely to take, where neither annotation nor default says it."""
    names = list(parameter.names.values())
    return names[0] if names and parameter.annotation is None and parameter.default is None else ""


def _made(parameter: ParameterLike) -> str:
    """The class of the workspace that the default makes an object of."""
    return parameter.names.get((parameter.default or "").partition("(")[0].strip(), "")


class _Reader:
    def __init__(self, names: Mapping[str, str], types: Mapping[str, NamedType]) -> None:
        self.names = names
        self.types = types

    def read(self, node: ast.expr) -> Hint:
        match node:
            case ast.Constant(value=None):
                return Hint(optional=True)
            case ast.Constant(value=str() as text):
                return self.read(ast.parse(text.strip(), mode="eval").body)
            case ast.BinOp(op=ast.BitOr()):
                return self.union(_operands(node))
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return self.of_workspace(ast.unparse(node)) or self.name(name)
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name) as generic, slice=inner):
                parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
                return self.of_workspace(ast.unparse(generic)) or self.subscript(name, parts)
            case _:
                return Hint()

    def union(self, parts: list[ast.expr]) -> Hint:
        hints = [self.read(part) for part in parts]
        optional = any(hint.optional for hint in hints)
        told = [hint for hint in hints if not (hint.optional and hint == Hint(optional=True))]
        if told and all(hint.type == told[0].type for hint in told) and told[0].type in ("choice", "object"):
            options = tuple(option for hint in told for option in hint.options)
            classes = tuple(name for hint in told for name in hint.classes)
            return Hint(type=told[0].type, options=options, classes=classes, optional=optional)
        tensor = next((hint for hint in told if hint.type == "tensor"), None)
        if tensor is not None:  # `Array | float`: a shape can be stated
            return msgspec.structs.replace(tensor, optional=optional)
        if {hint.type for hint in told} == {"integer", "number"}:
            return Hint(type="number", optional=optional)
        if len(told) == 1:
            return msgspec.structs.replace(told[0], optional=optional)
        if told and all(hint.only_factory for hint in told):
            return Hint(optional=optional, only_factory=told[0].only_factory)
        options = tuple(option for hint in told for option in hint.options)
        return Hint(optional=optional, options=options, alternatives=tuple(told))  # `Activation | str`

    def name(self, name: str) -> Hint:
        if name in _PLAIN:
            return Hint(type=_PLAIN[name])
        if name in _KEYS:
            return Hint(type="tensor", shape=(), dtype="key<fry>")
        if name == "Scalar":
            return Hint(type="tensor", shape=())
        if name in _ARRAYS or name in _TYPED_ARRAYS:
            return Hint(type="tensor", dtype=_TYPED_ARRAYS.get(name))
        if name in _LISTS:
            return Hint(type="list")
        if name in {"tuple", "Tuple"}:
            return Hint(type="tuple")
        if name in _TABLES:
            return Hint(type="table")
        if name in _CALLABLES:
            return Hint(only_factory="a function")
        return Hint(only_factory=f"an object of {name}") if _is_class(name) else Hint()

    def subscript(self, name: str, parts: list[ast.expr]) -> Hint:
        if name == "Literal":
            values = [_constant(part) for part in parts]
            options = tuple(value for value in values if value is not None and value is not ...)
            # What is not understood may be an option, too.
            return Hint(type="value" if ... in values else "choice", options=options, optional=None in values)
        if name == "Optional":
            return self.union([*parts, ast.Constant(None)])
        if name == "Union":
            return self.union(parts)
        if name in _THROUGH:
            return self.read(parts[0])
        exact = _EXACT.fullmatch(name)
        if name in _DTYPES or exact or _WIDE.fullmatch(name):
            dtype = _DTYPES.get(name) or (name.lower() if exact else None)
            return Hint(type="tensor", shape=_dimensions(parts), dtype=dtype or _USUAL.get(name))
        if name in _ARRAYS:
            return Hint(type="tensor")
        if name in _LISTS:
            return Hint(type="list", items=(self.read(parts[0]),))
        if name in {"tuple", "Tuple"}:
            match parts:
                case [item, ast.Constant(value=value)] if value is ...:
                    return Hint(type="tuple", items=(self.read(item),))
                case _:
                    return Hint(type="tuple", items=tuple(self.read(part) for part in parts))
        if name in _TABLES:
            return Hint(type="table", items=(self.read(parts[-1]),))
        return Hint(only_factory="a function") if name in _CALLABLES else Hint()

    def of_workspace(self, word: str) -> Hint | None:
        """Of a dataclass, named tuple or enumeration of the workspace."""
        name = self.names.get(word, "")
        match self.types.get(name):
            case None:
                return None
            case Enumeration(members=members):
                options = tuple({"kind": "enum", "class": name, "member": member} for member in members)
                return Hint(type="choice", options=options, classes=(name,))
            case _:
                return Hint(type="object", classes=(name,))


def _constant(node: ast.expr) -> str | int | float | EllipsisType | None:
    """A part of `Literal[…]`; `...` for one that is not written out, such as a member of an enumeration."""
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    value = literal(ast.unparse(node))
    return value if isinstance(value, str | int | float) else ...


def _operands(node: ast.expr) -> list[ast.expr]:
    found: list[ast.expr] = []
    work = [node]
    while work:
        match work.pop():
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                work += [right, left]
            case other:
                found.append(other)
    return found


def _is_class(name: str) -> bool:
    """Whether a name is one of a class of settings or of modules, by its form: such as `GPTConfig`, `Module`."""
    return bool(re.search(r"(Config|Configuration|Module|Settings|Hyperparameters|HParams|Args)$", name))


def _dimensions(parts: list[ast.expr]) -> tuple[int | str, ...] | None:
    """Dimensions of `Float[Array, "batch 784"]`; None where they do not fix the rank."""
    match parts:
        case [_, ast.Constant(value=str() as text)]:
            return read_dimensions(text)
        case _:
            return None


def read_dimensions(text: str) -> tuple[int | str, ...] | None:
    """Dimensions as jaxtyping writes them: `"batch #heads 784 dim=3 _ n-1"`; None for `...` and `*rest`."""
    dims: list[int | str] = []
    for word in text.split():
        name = word.lstrip("#?")
        if name.startswith("*") or name == "...":
            return None
        name, _, number = name.partition("=") if "==" not in name else (name, "", "")
        stated = number or name
        if stated.isdecimal():
            dims.append(int(stated))
        elif name.startswith(("_", "{")) or not _is_arithmetic(stated):
            dims.append(UNKNOWN)
        else:
            dims.append(f"{UNKNOWN}{stated}")
    return tuple(dims)


def _is_arithmetic(text: str) -> bool:
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return False
    allowed = (ast.Expression, ast.Name, ast.Load, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Constant)
    return all(isinstance(node, allowed) for node in ast.walk(tree))


def literal(text: str | None) -> Any:
    """The value of a default that is written out, as a setup has it; `...` where it is none."""
    if text is None:
        return ...
    try:
        value = ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return ...
    return _as_setup(value)


def _as_setup(value: object) -> Any:
    match value:
        case None:
            return {"kind": "none"}
        case bool() | int() | float() | str():
            return value
        case tuple():
            items = [_as_setup(item) for item in cast("tuple[object, ...]", value)]
            return ... if ... in items else {"kind": "tuple", "items": items}
        case list():
            items = [_as_setup(item) for item in cast("list[object]", value)]
            return ... if ... in items else items
        case dict():
            table = {name: _as_setup(item) for name, item in cast("dict[object, object]", value).items()}
            sound = ... not in table.values() and all(isinstance(name, str) for name in table)
            return table if sound else ...
        case _:
            return ...
