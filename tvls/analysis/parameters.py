"""Parameters of functions and constructors, and the types of the workspace that their annotations name."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping

from tvls.analysis import known
from tvls.analysis.facts import Assign, FieldFact, FunctionFact, ParameterFact, Span
from tvls.analysis.resolve import Resolver
from tvls.analysis.scopes import Bindings, Class
from tvls.analysis.types import Enumeration, NamedType, Parameter, ParameterKind, Record
from tvls.capture.document import TargetKind

CALL_METHOD: dict[TargetKind, str] = {
    "jax.function": "__call__",  # of an Equinox module
    "flax.linen": "__call__",
    "flax.nnx": "__call__",
    "torch.module": "forward",
}

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_CONFIGURATION = re.compile(r"(?:.*_)?(?:config|cfg|conf|args|options|hparams|params|settings)")
_CONFIGURATION_CLASS = re.compile(r"\w*(?:Config|Cfg|Conf|Args|Arguments|Options|H?[Pp]arams|Settings)")
_LONGEST = 2000
"""Characters of an annotation with its aliases written out."""
_MOST_TYPES = 200
"""Types that one target leads to."""


class Texts:
    """Source text of spans, over files."""

    def __init__(self, resolver: Resolver, lines: Callable[[str], list[str]]) -> None:
        self.resolver = resolver
        self.lines = lines
        self.types = _Types(self)

    def span(self, path: str, offset: int, span: Span | None) -> str | None:
        if span is None:
            return None
        lines = self.lines(path)
        first, start, last, end = span
        if first == last:
            return _cut(lines[first + offset], start, end)
        parts = [_cut(lines[first + offset], start, None)]
        parts += lines[first + offset + 1 : last + offset]
        parts.append(_cut(lines[last + offset], 0, end))
        return " ".join(part.strip() for part in parts)


def _cut(line: str, start: int, end: int | None) -> str:
    return (
        line[start:end] if line.isascii() else line.encode(errors="surrogatepass")[start:end].decode(errors="replace")
    )


# --- parameters ---


def parameters(
    path: str, offset: int, facts: Iterable[ParameterFact], texts: Texts, owner: Class | None = None
) -> list[Parameter]:
    """Parameters of a function; `owner` is the class that it is a method of."""
    return [
        _parameter(f.name, f.kind, path, owner, texts.span(path, offset, f.annotation), default, texts)
        for f in facts
        for default in (texts.span(path, offset, f.default),)
    ]


def _parameter(
    name: str,
    kind: ParameterKind,
    path: str,
    owner: Class | None,
    annotation: str | None,
    default: str | None,
    texts: Texts,
) -> Parameter:
    annotation, names = texts.types.read(path, owner, annotation)
    if default is not None and default.endswith(")"):  # `config=Config()`
        names = texts.types.named(path, owner, default) | names
    elif annotation is None and default is None and _CONFIGURATION.fullmatch(name):
        names = texts.types.configuration(path)
    return Parameter(name, kind, annotation, default, names)


def _without_self(fact: FunctionFact) -> tuple[ParameterFact, ...]:
    first = fact.parameters[:1]
    return fact.parameters[1:] if first and first[0].kind.startswith("positional") else fact.parameters


def method_parameters(binding: Class, name: str, resolver: Resolver, texts: Texts) -> list[Parameter]:
    if (found := resolver.method(binding, name)) is None:
        return []
    owner, fact = found
    return parameters(owner.path, owner.line, _without_self(fact), texts, owner)


def init_parameters(binding: Class, kind: TargetKind | None, resolver: Resolver, texts: Texts) -> list[Parameter]:
    """Parameters of the constructor; `kind` is None for a class that is no module."""
    if kind == "flax.linen":
        return _fields(binding, resolver, texts, own_only_of_dataclasses=False)
    for owner in resolver.ancestry(binding):
        if "__init__" in owner.members:
            return method_parameters(owner, "__init__", resolver, texts)
        if _has_fields(owner, resolver):
            return _fields(owner, resolver, texts, own_only_of_dataclasses=True)
    if kind == "jax.function":  # every Equinox module is a dataclass
        return _fields(binding, resolver, texts, own_only_of_dataclasses=False)
    return []


def _has_fields(binding: Class, resolver: Resolver) -> bool:
    return resolver.is_dataclass(binding) or resolver.has_base(binding, known.RECORDS)


def _fields(binding: Class, resolver: Resolver, texts: Texts, own_only_of_dataclasses: bool) -> list[Parameter]:
    """Dataclass fields, inherited ones first; a field that is declared again keeps its first place."""
    fields: dict[str, tuple[Class, FieldFact]] = {}
    for owner in reversed(resolver.ancestry(binding)):
        if own_only_of_dataclasses and not _has_fields(owner, resolver):
            continue
        if not own_only_of_dataclasses and resolver.kind(owner) is None and not resolver.is_dataclass(owner):
            continue  # annotations of a plain mixin make no fields
        if resolver.root_kind(owner) is not None:
            continue
        for fact in owner.fact.fields:
            if fact.class_variable:
                fields.pop(fact.name, None)
            else:
                fields[fact.name] = (owner, fact)
    linen = resolver.kind(binding) == "flax.linen"
    return [
        _parameter(
            fact.name,
            "keyword_only" if fact.keyword_only or owner.fact.keyword_only else "positional_or_keyword",
            owner.path,
            owner,
            texts.span(owner.path, owner.line, fact.annotation),
            _default(fact, texts.span(owner.path, owner.line, fact.default)),
            texts,
        )
        for owner, fact in fields.values()
        if not linen or fact.name not in {"parent", "name"}
    ]


def _default(fact: FieldFact, text: str | None) -> str | None:
    if text is None or not fact.factory:
        return text
    made = re.fullmatch(r"lambda\s*:\s*(.*)", text, re.DOTALL)
    return made[1] if made else f"{text}()"


# --- types -----------------------------------------------------------------------------------------------------------


class _Types:
    """Types of the workspace that annotations name."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.resolver = texts.resolver
        self.found: dict[str, NamedType] = {}
        """By `module:qualname`; only those that `reachable` was asked for."""
        self._classes: dict[str, Class] = {}
        self._names: dict[tuple[str, int, str], str | None] = {}
        self._aliases: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._configurations: dict[str, dict[str, str]] = {}

    def read(self, path: str, owner: Class | None, annotation: str | None) -> tuple[str | None, dict[str, str]]:
        """An annotation with the aliases of the workspace written out, and the classes of the workspace in it."""
        if annotation is None:
            return None, {}
        names = self.named(path, owner, annotation)
        words = set(_NAME.findall(annotation)) - names.keys()
        if not any(self.alias(path, word) for word in words):
            return annotation, names
        try:
            tree = ast.parse(annotation.strip().strip("\"'"), mode="eval").body
            writer = _Writer(self, path, names)
            written = ast.unparse(writer.visit(tree))
        except (SyntaxError, ValueError, RecursionError):
            return annotation, names
        return (written, writer.names) if writer.changed and len(written) <= _LONGEST else (annotation, names)

    def named(self, path: str, owner: Class | None, text: str) -> dict[str, str]:
        found = ((word, self._class(path, owner, word)) for word in _NAME.findall(text))
        return {word: name for word, name in found if name is not None}

    def configuration(self, path: str) -> dict[str, str]:
        """The one class that a file has for its configuration, where nothing says what a parameter takes."""
        if (held := self._configurations.get(path)) is None:
            scope = self.resolver.scope(path)
            words = [word for word in scope.names if _CONFIGURATION_CLASS.fullmatch(word)] if scope else []
            found = {word: name for word in words if (name := self._class(path, None, word)) is not None}
            records = {word: name for word, name in found.items() if not self._is_enumeration(name)}
            held = self._configurations[path] = records if len(set(records.values())) == 1 else {}
        return held

    def reachable(self, parameters: Iterable[Parameter]) -> dict[str, NamedType]:
        """All that the parameters name, and what that names in turn."""
        reached: dict[str, NamedType] = {}
        pending = [name for parameter in parameters for name in parameter.names.values()]
        while pending and len(reached) < _MOST_TYPES:
            name = pending.pop()
            if name in reached:
                continue
            if (found := self.found.get(name)) is None:
                found = self.found[name] = self._read(self._classes[name])
            reached[name] = found
            if isinstance(found, Record):
                pending += [inner for parameter in found.parameters for inner in parameter.names.values()]
        return reached

    def _is_enumeration(self, name: str) -> bool:
        return self.resolver.has_base(self._classes[name], known.ENUMERATIONS)

    def _read(self, binding: Class) -> NamedType:
        if self.resolver.has_base(binding, known.ENUMERATIONS):
            assigned = {
                name: self.texts.span(binding.path, binding.line, op.type)
                for op in binding.fact.body
                if isinstance(op, Assign)
                for name in op.names
                if not name.startswith("_")
            }
            return Enumeration(list(assigned), _values(assigned), binding.path)
        return Record(init_parameters(binding, None, self.resolver, self.texts), binding.path)

    def _class(self, path: str, owner: Class | None, word: str) -> str | None:
        """`module:qualname` of the dataclass, named tuple or enumeration of the workspace that a name denotes."""
        key = (path, id(owner), word)
        if key not in self._names:
            self._names[key] = self._find_class(path, owner, word)
        return self._names[key]

    def _find_class(self, path: str, owner: Class | None, word: str) -> str | None:
        resolver = self.resolver
        if (scope := resolver.scope(path)) is None:
            return None
        local: Mapping[str, Bindings] = {} if owner is None else owner.members
        for found in resolver.named(tuple(word.split(".")), local, scope, path):
            if isinstance(found, Class) and resolver.kind(found) is None and self._holds_values(found):
                name = f"{resolver.home(found.path)[1]}:{found.qualname}"
                self._classes[name] = found
                return name
        return None

    def _holds_values(self, binding: Class) -> bool:
        resolver = self.resolver
        if resolver.has_base(binding, known.ENUMERATIONS):
            return True
        return any(_has_fields(owner, resolver) for owner in resolver.ancestry(binding))

    def alias(self, path: str, word: str) -> tuple[str, str] | None:
        """File and text of the expression that a name is assigned."""
        key = (path, word)
        if key not in self._aliases:
            self._aliases[key] = None
            for place, name in self.resolver.type_places(tuple(word.split(".")), path):
                scope = self.resolver.scope(place)
                line, span = scope.types[name] if scope else (0, (0, 0, 0, 0))
                text = self.texts.span(place, line, span)
                if text and text != word:
                    self._aliases[key] = (place, text)
                    break
        return self._aliases[key]


def _values(texts: Mapping[str, str | None]) -> dict[str, str | int | float]:
    values: dict[str, str | int | float] = {}
    for name, text in texts.items():
        try:
            value = None if text is None else ast.literal_eval(text)
        except (SyntaxError, ValueError):  # a span of several lines
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            values[name] = value
    return values


class _Writer(ast.NodeTransformer):
    """Writes aliases out."""

    def __init__(self, types: _Types, path: str, names: dict[str, str]) -> None:
        self.types = types
        self.path = path
        self.names = names
        self.changed = False
        self.written = 0
        self.inside: set[tuple[str, str]] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._visit_name(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._visit_name(node)

    def _visit_name(self, node: ast.Name | ast.Attribute) -> ast.expr:
        word = ast.unparse(node)
        alias = self.types.alias(self.path, word)
        if word in self.names or alias is None or alias in self.inside:
            return node
        self.written += len(alias[1])
        if self.written > _LONGEST:
            raise ValueError("too long")
        self.changed = True
        self.inside.add(alias)
        outer, self.path = self.path, alias[0]
        self.names = self.types.named(alias[0], None, alias[1]) | self.names
        found = self.visit(ast.parse(alias[1], mode="eval").body)
        self.path = outer
        self.inside.discard(alias)
        return found
