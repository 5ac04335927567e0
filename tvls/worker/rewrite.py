"""Recording calls in the functions of a module, for Pythons without `sys.monitoring`.

`sys.settrace` would see the same without touching the code, and doubles the time of a trace: it is asked about every
call inside the framework as well. Here each statement that binds a local name is followed by a call that records the
names just bound, and lambdas record their arguments and their result. Positions of the user's own code stay what they
were; nothing else of it changes.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence, Tuple, cast

SAW = "__tvls_saw__"
"""Built-in that the inserted calls name: `SAW(site, value, ...)`, which answers its last value."""

Name = Tuple[str, int]  # a local and the line that binds it

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_RETURN = "return"


@dataclass(frozen=True)
class Site:
    """What one inserted call records."""

    function: str
    names: Tuple[Name, ...]


@dataclass(frozen=True)
class _Rules:
    add_site: Callable[[Site], int]
    walruses: bool


def rewrite(
    tree: ast.Module, add_site: Callable[[Site], int], *, walruses: bool = True, lambdas: Sequence[int] = ()
) -> None:
    """Insert the calls in place. `add_site` answers the number by which a call names its site. Without `walruses` no
    expression is searched for `name := value`, which is most of the work; `lambdas` are the lines, in order, on which
    there may be lambdas."""
    if lambdas:
        _lambdas(tree, _Rules(add_site, walruses), lambdas)
    _definitions(tree.body, "", _Rules(add_site, walruses))


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
    names = [(argument.arg, node.lineno) for argument in _every(node.args)]
    value = node.body
    node.body = function.recorded([(_RETURN, value.lineno)], value)
    if names:  # before the value, which may not come to be
        parts = [function.call(names, [ast.Name(name, ast.Load()) for name, _ in names]), node.body]
        both = ast.Subscript(ast.Tuple(parts, ast.Load()), ast.Constant(1), ast.Load())
        for part in (both, both.value, both.slice, *ast.walk(parts[0])):
            ast.copy_location(part, value)
        node.body = both


def _every(arguments: ast.arguments) -> List[ast.arg]:
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
        names = [(argument.arg, function.lineno) for argument in _every(function.args)]
        has_docstring = ast.get_docstring(function, clean=False) is not None
        at = function.body[0]
        function.body[has_docstring:has_docstring] = self._recording(names, at)

    def _block(self, body: List[ast.stmt]) -> None:
        result: List[ast.stmt] = []
        for statement in body:
            if isinstance(statement, _DEFINITIONS):
                _definitions([statement], f"{self.qualname}.<locals>.", self.rules)
                result.append(statement)
                continue
            if self.rules.walruses:
                self._walruses(statement)
            if isinstance(statement, ast.Return) and statement.value is not None:
                value = statement.value
                statement.value = self.recorded([(_RETURN, statement.lineno)], value)
            for inner in _inner_bodies(statement):
                self._block(inner)
            if isinstance(statement, (ast.For, ast.AsyncFor)):
                statement.body[:0] = self._recording(_bound(statement.target), statement.body[0])
            elif isinstance(statement, (ast.With, ast.AsyncWith)):
                names = [name for item in statement.items for name in _bound(item.optional_vars)]
                statement.body[:0] = self._recording(names, statement.body[0])
            elif isinstance(statement, ast.Match):
                for case in statement.cases:
                    case.body[:0] = self._recording(_captured(case.pattern), case.body[0])
            result.append(statement)
            if isinstance(statement, ast.Assign):
                names = [name for target in statement.targets for name in _bound(target)]
                result += self._recording(names, statement)
            elif isinstance(statement, ast.AugAssign) or (isinstance(statement, ast.AnnAssign) and statement.value):
                result += self._recording(_bound(statement.target), statement)
        body[:] = result

    def _walruses(self, statement: ast.stmt) -> None:
        """Record `name := value` where it stands: in the statement's own expressions."""
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr) and any(isinstance(node, ast.NamedExpr) for node in ast.walk(child)):
                _Walruses(self).visit(statement)
                return
            if isinstance(child, ast.withitem):
                self._walruses_in_item(child)

    def _walruses_in_item(self, item: ast.withitem) -> None:
        if any(isinstance(node, ast.NamedExpr) for node in ast.walk(item)):
            _Walruses(self).visit(item)

    def _recording(self, names: List[Name], at: ast.AST) -> List[ast.stmt]:
        """A statement that records `names`, standing where `at` does; none for no names."""
        if not names:
            return []
        values: List[ast.expr] = [ast.Name(name, ast.Load()) for name, _ in names]
        return [_placed(ast.Expr(self.call(names, values)), at)]

    def recorded(self, names: List[Name], value: ast.expr) -> ast.expr:
        call = self.call(names, [value])
        ast.copy_location(call, value)
        for part in (call.func, call.args[0]):
            ast.copy_location(part, value)
        return call

    def call(self, names: List[Name], values: List[ast.expr]) -> ast.Call:
        site = self.rules.add_site(Site(self.qualname, tuple(names)))
        return ast.Call(ast.Name(SAW, ast.Load()), [ast.Constant(site), *values], [])


class _Walruses(ast.NodeTransformer):
    def __init__(self, function: _Function) -> None:
        self.function = function

    def visit(self, node: ast.AST) -> ast.AST:
        # Statements inside have a turn of their own; a lambda's locals are not this function's.
        if isinstance(node, ast.Lambda):
            return node
        for field, value in ast.iter_fields(node):
            if field in _BODIES and isinstance(node, ast.stmt):
                continue
            if isinstance(value, list):
                items = cast("List[object]", value)
                items[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in items]
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        if isinstance(node, ast.NamedExpr):
            return self.function.recorded([(node.target.id, node.target.lineno)], node)
        return node


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
