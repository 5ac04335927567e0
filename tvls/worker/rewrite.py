"""Recording calls in the functions of a module, for Pythons without `sys.monitoring`.

`sys.settrace` would see the same without touching the code, and doubles the time of a trace: it is asked about every
call inside the framework as well. Here each statement that binds a local name is followed by a call that records the
names just bound, the first of the expressions on a line that read one is inside a call that records it, and lambdas
record their arguments and their result. Positions of the user's own code stay what they were; nothing else of it
changes.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, cast

SAW = "__tvls_saw__"
"""Built-in that the inserted calls name: `SAW(site, value, ...)`, which answers its last value."""

Name = Tuple[str, int]  # a local and the line that binds it

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_RETURN = "return"
_OWNERS = frozenset(["self", "cls"])
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_COMPREHENSION = ("generators", "elt", "key", "value")  # in the order in which they run
# Fields whose expressions do not always run; of lists, from an index on.
_SOMETIMES: "Dict[type, Tuple[Tuple[str, ...], int]]" = {
    ast.IfExp: (("body", "orelse"), 0),
    ast.BoolOp: (("values",), 1),
    ast.Compare: (("comparators",), 1),
    **dict.fromkeys(_COMPREHENSIONS, (_COMPREHENSION, 0)),
}
_UNSEEN = frozenset(["annotation", "ctx", "op", "ops", "pattern"])


@dataclass(frozen=True)
class Site:
    """What one inserted call records."""

    function: str
    names: Tuple[Name, ...]
    read: bool = False
    """Whether the names are read there, not bound."""


@dataclass(frozen=True)
class _Rules:
    add_site: Callable[[Site], int]
    reads: List["_Read"]
    names: Set[str]
    """What functions of the module bind: what they read of others is no local."""


class _Place(NamedTuple):
    """Where an expression stands."""

    parent: ast.AST
    field: str
    at: Optional[int]
    """Index, where the field is a list."""

    def put(self, expression: ast.expr) -> None:
        if self.at is None:
            setattr(self.parent, self.field, expression)
        else:
            getattr(self.parent, self.field)[self.at] = expression


class _Read(NamedTuple):
    """A name that is read."""

    function: "_Function"
    name: ast.Name
    place: _Place


def rewrite(tree: ast.Module, add_site: Callable[[Site], int], *, lambdas: Sequence[int] = ()) -> None:
    """Insert the calls in place. `add_site` answers the number by which a call names its site. `lambdas` are the
    lines, in order, on which there may be lambdas."""
    rules = _Rules(add_site, [], set())
    if lambdas:
        _lambdas(tree, rules, lambdas)
    _definitions(tree.body, "", rules)
    for read in rules.reads:
        if read.name.id in rules.names:
            read.place.put(read.function.reading(read.name))


def _definitions(body: Sequence[ast.stmt], prefix: str, rules: _Rules) -> None:
    """Find function definitions in statements that are not a function's own."""
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            _definitions(statement.body, f"{prefix}{statement.name}.", rules)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _Function(f"{prefix}{statement.name}", rules).rewrite(statement)
        else:
            for inner in _inner_bodies(statement):
                _definitions(inner, prefix, rules)


def _lambdas(tree: ast.Module, rules: _Rules, lines: Sequence[int]) -> None:
    """Let the body of every lambda record the arguments, and then its value."""
    rest: List[Tuple[ast.AST, str]] = [(tree, "")]  # with the prefix of what is defined in the node
    while rest:
        node, prefix = rest.pop()
        if isinstance(node, ast.stmt):
            at = bisect_left(lines, node.lineno)
            if at == len(lines) or lines[at] > (node.end_lineno or node.lineno):
                continue
        inside, inner = _inside(node, prefix)
        for field, value in ast.iter_fields(node):
            children = cast("List[object]", value) if isinstance(value, list) else [value]
            within = inner if field in inside else prefix
            rest += [(child, within) for child in children if isinstance(child, ast.AST)]
        if isinstance(node, ast.Lambda):
            _record_lambda(node, prefix, rules)


def _inside(node: ast.AST, prefix: str) -> Tuple[Tuple[str, ...], str]:
    """The fields of a node that are a scope of their own, and the prefix there."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return ("body",), f"{prefix}{node.name}.<locals>."
    if isinstance(node, ast.ClassDef):
        return ("body",), f"{prefix}{node.name}."
    if isinstance(node, ast.Lambda):
        return ("body",), f"{prefix}<lambda>.<locals>."
    if isinstance(node, ast.GeneratorExp):
        return ("elt", "generators"), f"{prefix}<genexpr>."
    return (), prefix


def _record_lambda(node: ast.Lambda, prefix: str, rules: _Rules) -> None:
    function = _Function(f"{prefix}<lambda>", rules)
    names = [(argument.arg, node.lineno) for argument in every_argument(node.args)]
    rules.names.update(name for name, _ in names)
    value = node.body
    node.body = function.recorded([(_RETURN, value.lineno)], value)
    function.expressions(node.body)
    if names:  # before the value, which may not come to be
        parts = [function.call(names, [ast.Name(name, ast.Load()) for name, _ in names]), node.body]
        both = ast.Subscript(ast.Tuple(parts, ast.Load()), ast.Constant(1), ast.Load())
        for part in (both, both.value, both.slice, *ast.walk(parts[0])):
            ast.copy_location(part, value)
        node.body = both


def every_argument(arguments: ast.arguments) -> List[ast.arg]:
    """Parameters of every kind."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return every + [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]


def _inner_bodies(statement: ast.AST) -> List[List[ast.stmt]]:
    bodies: List[List[ast.stmt]] = []
    for field in _BODIES:
        for_field = getattr(statement, field, [])
        if for_field and isinstance(for_field[0], ast.stmt):
            bodies.append(for_field)
        else:  # exception handlers and match cases
            for part in for_field:
                bodies += _inner_bodies(part)
    return bodies


class _Function:
    def __init__(self, qualname: str, rules: _Rules) -> None:
        self.qualname = qualname
        self.rules = rules

    def rewrite(self, function: "ast.FunctionDef | ast.AsyncFunctionDef") -> None:
        self._block(function.body)
        names = [(argument.arg, argument.lineno) for argument in every_argument(function.args)]
        has_docstring = ast.get_docstring(function, clean=False) is not None
        self.rules.names.update(name for name, _ in names)
        at = function.body[0]
        function.body[has_docstring:has_docstring] = self._recording(names, at)

    def _block(self, body: List[ast.stmt]) -> None:
        result: List[ast.stmt] = []
        for statement in body:
            if isinstance(statement, _DEFINITIONS):
                _definitions([statement], f"{self.qualname}.<locals>.", self.rules)
                result.append(statement)
                continue
            if isinstance(statement, ast.Return) and statement.value is not None:
                value = statement.value
                statement.value = self.recorded([(_RETURN, statement.lineno)], value)
            self.expressions(statement)
            for inner in _inner_bodies(statement):
                self._block(inner)
            if isinstance(statement, (ast.For, ast.AsyncFor)):
                statement.body[:0] = self._recording(_bound(statement.target), statement.body[0])
            elif isinstance(statement, (ast.With, ast.AsyncWith)):
                names = [name for item in statement.items for name in _bound(item.optional_vars)]
                statement.body[:0] = self._recording(names, statement.body[0])
            elif isinstance(statement, ast.Match):
                for case in statement.cases:
                    captured = _captured(case.pattern)
                    self.rules.names.update(name for name, _ in captured)
                    case.body[:0] = self._recording(captured, case.body[0])
            result.append(statement)
            if isinstance(statement, ast.Assign):
                names = [name for target in statement.targets for name in _bound(target)]
                result += self._recording(names, statement)
            elif isinstance(statement, ast.AugAssign) or (isinstance(statement, ast.AnnAssign) and statement.value):
                result += self._recording(_bound(statement.target), statement)
        body[:] = result

    def expressions(self, node: ast.AST) -> None:
        """In the own expressions of a statement, or in the body of a lambda: record `name := value` where it stands,
        and note what is read. Statements inside have a turn of their own, and so have lambdas."""
        # The first read of a name on a line is noted, and those that stand where it may be left out.
        noted: Set[Name] = set()
        rest = list(_children(node, noted))
        while rest:
            child, place, noted = rest.pop()
            if isinstance(child, ast.Name):
                if isinstance(child.ctx, ast.Store):
                    self.rules.names.add(child.id)
                elif (child.id, child.lineno) not in noted and _is_read(child, place):
                    noted.add((child.id, child.lineno))
                    self.rules.reads.append(_Read(self, child, place))
            elif not isinstance(child, ast.Lambda):
                if isinstance(child, ast.NamedExpr):
                    place.put(self.recorded([(child.target.id, child.target.lineno)], child))
                rest += _children(child, noted)

    def _recording(self, names: List[Name], at: ast.AST) -> List[ast.stmt]:
        """A statement that records `names`, standing where `at` does; none for no names."""
        if not names:
            return []
        values: List[ast.expr] = [ast.Name(name, ast.Load()) for name, _ in names]
        return [_placed(ast.Expr(self.call(names, values)), at)]

    def reading(self, name: ast.Name) -> ast.expr:
        return self._around(self.call([(name.id, name.lineno)], [name], read=True), name)

    def recorded(self, names: List[Name], value: ast.expr) -> ast.expr:
        return self._around(self.call(names, [value]), value)

    @staticmethod
    def _around(call: ast.Call, value: ast.expr) -> ast.expr:
        ast.copy_location(call, value)
        for part in (call.func, call.args[0]):
            ast.copy_location(part, value)
        return call

    def call(self, names: List[Name], values: List[ast.expr], *, read: bool = False) -> ast.Call:
        site = self.rules.add_site(Site(self.qualname, tuple(names), read))
        return ast.Call(ast.Name(SAW, ast.Load()), [ast.Constant(site), *values], [])


def _is_read(name: ast.Name, place: _Place) -> bool:
    return isinstance(name.ctx, ast.Load) and place.field != "func" and name.id not in _OWNERS


def _children(node: ast.AST, noted: Set[Name]) -> Iterator[Tuple[ast.AST, _Place, Set[Name]]]:
    """Expressions directly in a node, the last first, with what was noted before them."""
    fields = _COMPREHENSION if isinstance(node, _COMPREHENSIONS) else node._fields
    sometimes, always = _SOMETIMES.get(type(node), ((), 0))
    for name in reversed(fields):
        if name in _UNSEEN or (name in _BODIES and isinstance(node, (ast.stmt, ast.Lambda))):
            continue
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            yield value, _Place(node, name, None), set(noted) if name in sometimes else noted
        elif isinstance(value, list):
            items = cast("List[object]", value)
            for at in range(len(items) - 1, -1, -1):
                item = items[at]
                if isinstance(item, ast.AST):
                    yield item, _Place(node, name, at), set(noted) if name in sometimes and at >= always else noted


def _bound(target: Optional[ast.expr]) -> List[Name]:
    """Names that an assignment to `target` binds."""
    if isinstance(target, ast.Name):
        return [(target.id, target.lineno)]
    if isinstance(target, ast.Starred):
        return _bound(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for element in target.elts for name in _bound(element)]
    return []  # an attribute or an item


def _captured(pattern: ast.pattern) -> List[Name]:
    """Names that a match pattern binds; an alternative binds the same names in each of its branches."""
    names: List[Name] = []
    for node in ast.walk(pattern):
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
            names.append((node.name, node.lineno))
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            names.append((node.rest, node.lineno))
    return list({name: (name, line) for name, line in names}.values())


def _placed(statement: ast.stmt, at: ast.AST) -> ast.stmt:
    for node in ast.walk(statement):
        ast.copy_location(node, at)
    return statement
