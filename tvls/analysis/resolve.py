"""Bindings to what they denote, over files: a library name, a module of the workspace, a class or a function in it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tvls.analysis import known
from tvls.analysis.facts import Dotted, FunctionFact
from tvls.analysis.modules import Files, SearchPath, find_module, find_relative, full_name, home, search_path, submodule
from tvls.analysis.scopes import (
    Assigned,
    Binding,
    Bindings,
    Called,
    Class,
    Function,
    Imported,
    Member,
    Scope,
    local_imports,
)
from tvls.capture.document import TargetKind


@dataclass(slots=True, frozen=True)
class Library:
    """Something outside the workspace, by its dotted name."""

    name: str


@dataclass(slots=True, frozen=True)
class Module:
    """A module of the workspace: a file, or a folder for a namespace package."""

    path: str


_LONGEST_NAME = 1000
"""Characters of a library's dotted name; no library has longer ones, and building them costs their square."""

_MOST_BASES = 200
"""Classes of the workspace that one class is followed to."""

_MOST_IMPORTS = 100
"""Imports that the name of a type is followed through."""

Denotation = Library | Module | Class | Function | Called | Assigned


class Resolver:
    """Answers for one state of the workspace. Throw it away when a file changes.

    `scope` gives the scope of a workspace file, `None` where there is none; `roots` are the workspace folders.
    """

    def __init__(self, files: Files, roots: Sequence[str], scope: Callable[[str], Scope | None]) -> None:
        self.files = files
        self.roots = roots
        self.scope = scope
        self.asked: dict[str, set[str]] = {}
        """For each file, the paths that its answers depend on directly."""
        self._memo: dict[int, list[Denotation]] = {}
        self._kept: list[Binding] = []
        self._values: list[Called | Assigned] = []
        self._kinds: dict[int, TargetKind | None] = {}
        self._search: dict[str, SearchPath] = {}
        self._homes: dict[str, tuple[str, str]] = {}
        self._ancestries: dict[int, list[Class]] = {}
        self._full_names: dict[str, str] = {}
        self._stars: dict[tuple[int, str], tuple[tuple[Imported, ...], list[Denotation]]] = {}

    # --- names ---

    def denotations(self, bindings: Iterable[Binding]) -> Iterator[Denotation]:
        for binding in bindings:
            yield from self._resolve(binding)

    def _resolve(self, binding: Binding) -> list[Denotation]:
        key = id(binding)
        if (found := self._memo.get(key)) is not None:
            return found
        self._memo[key] = []  # a cycle of imports denotes nothing
        self._kept.append(binding)  # ids stay unique while the object lives
        result: list[Denotation]
        match binding:
            case Imported():
                result = self._import(binding)
            case Member():
                result = self._member(binding)
            case Assigned() if binding.original:
                result = list(self.denotations(binding.original))
            case Function() | Class() | Called() | Assigned():
                result = [binding]
        self._memo[key] = result
        return result

    def _member(self, binding: Member) -> list[Denotation]:
        if binding.owner is not None:
            found = list(self.denotations(binding.owner))
        else:
            found = self._starred(binding.stars, binding.name)
        for attribute in binding.attributes:
            if not found:
                break
            found = [d for owner in found for d in self.attribute(owner, attribute, binding.path)]
        return found

    def attribute(self, owner: Denotation, name: str, path: str, seen: set[str] | None = None) -> list[Denotation]:
        """What `owner.name` denotes; `path` is the file that asks, `seen` the modules that were asked for the name."""
        match owner:
            case Library():
                return [Library(f"{owner.name}.{name}")] if len(owner.name) < _LONGEST_NAME else []
            case Class():
                return list(self.denotations(owner.members.get(name, ())))
            case Module():
                scope = self.scope(owner.path) if owner.path.endswith(".py") else None
                self._depends(path, owner.path)
                if scope is not None:
                    bound = scope.names.get(name)
                    if bound is not None:
                        found = list(self.denotations(bound))
                        # `from package import part` in the package itself means the submodule.
                        if found or not any(isinstance(b, Imported) for b in bound):
                            return found
                    elif found := self._starred(scope.stars, name, seen):
                        return found
                inner = submodule(self.files, owner.path, name, self._asked(path))
                return [Module(inner)] if inner else []
            case _:
                return []

    def _starred(self, stars: tuple[Imported, ...], name: str, seen: set[str] | None = None) -> list[Denotation]:
        """What a name denotes that star imports may bind. Modules star-import each other: each is asked once."""
        if not stars:
            return []
        if seen is not None:
            return self._ask_stars(stars, name, seen)
        key = (id(stars), name)
        if (held := self._stars.get(key)) is None:
            # Only a whole search is kept: what is found on the way depends on the modules seen before.
            held = self._stars[key] = (stars, self._ask_stars(stars, name, set()))
        return held[1]

    def _ask_stars(self, stars: tuple[Imported, ...], name: str, seen: set[str]) -> list[Denotation]:
        guess: list[Denotation] = []
        for star in reversed(stars):
            for module in self._resolve(star):
                if isinstance(module, Library):
                    if known.star_exports(module.name, name):
                        guess = guess or [Library(f"{module.name}.{name}")]
                elif isinstance(module, Module) and module.path not in seen:
                    seen.add(module.path)
                    scope = self.scope(module.path) if module.path.endswith(".py") else None
                    hidden = (
                        name.startswith("_") if scope is None or scope.exports is None else name not in scope.exports
                    )
                    if not hidden and (found := self.attribute(module, name, star.path, seen)):
                        return found
        return guess

    def _import(self, binding: Imported) -> list[Denotation]:
        asked = self._asked(binding.path)
        if binding.level:
            found = find_relative(self.files, binding.path, self.roots, binding.level, binding.module, asked)
            if found is None:
                return []
        else:
            search = self._search.get(binding.path)
            if search is None:
                search = self._search[binding.path] = search_path(self.files, binding.path, self.roots)
            found, local = find_module(self.files, search, binding.module, asked)
            if found is None:
                name = binding.module if binding.name is None else f"{binding.module}.{binding.name}"
                return [] if local else [Library(name)]
        module = Module(found)
        self._depends(binding.path, found)
        return [module] if binding.name is None else self.attribute(module, binding.name, binding.path)

    def _asked(self, path: str) -> set[str]:
        return self.asked.setdefault(path, set())

    def _depends(self, path: str, on: str) -> None:
        self._asked(path).add(on)

    # --- files ---

    def home(self, path: str) -> tuple[str, str]:
        if (found := self._homes.get(path)) is None:
            scope = self.scope(path)
            found = self._homes[path] = home(self.files, path, self.roots, scope.imports if scope else ())
        return found

    # --- types ---

    def type_places(self, name: Dotted, path: str) -> Iterator[tuple[str, str]]:
        """Where the name of a type is assigned, by file and name, as the file at `path` sees it: through imports."""
        yield from self._type_places(name, path, set())

    def _type_places(self, name: Dotted, path: str, seen: set[tuple[str, Dotted]]) -> Iterator[tuple[str, str]]:
        followed = (path, name) not in seen and len(seen) < _MOST_IMPORTS and path.endswith(".py")
        scope = self.scope(path) if followed else None
        if scope is None:
            return
        seen.add((path, name))
        first, *rest = name
        bound = scope.names.get(first)
        if not rest and first in scope.types:
            yield path, first
        for binding in bound or ():
            if not isinstance(binding, Imported):
                continue
            source = Imported(binding.path, binding.module, None, binding.level)
            inner = tuple(rest) if binding.name is None else (binding.name, *rest)
            yield from self._type_places_in(source, inner, path, seen)
            if binding.name is not None and rest:  # a submodule
                yield from self._type_places_in(binding, tuple(rest), path, seen)
        for star in reversed(scope.stars if bound is None else ()):
            yield from self._type_places_in(star, name, path, seen)

    def _type_places_in(
        self, source: Imported, name: Dotted, path: str, seen: set[tuple[str, Dotted]]
    ) -> Iterator[tuple[str, str]]:
        for module in self._resolve(source) if name else ():
            if isinstance(module, Module):
                self._depends(path, module.path)
                yield from self._type_places(name, module.path, seen)

    # --- classes ---

    def canonical(self, binding: Class | Function) -> str:
        """Dotted name of a definition, in the package around the workspace folder too: `flax/linen` may be open."""
        path = binding.path
        if (name := self._full_names.get(path)) is None:
            scope = self.scope(path)
            name = full_name(self.files, path, self.roots, scope.imports if scope else ())
            self._full_names[path] = name
        return f"{name}.{binding.qualname}"

    def kind(self, binding: Class) -> TargetKind | None:
        """Kind of module that a class of the workspace is, by the first base that is one."""
        key = id(binding)
        if key in self._kinds:
            return self._kinds[key]
        self._kinds[key] = None  # a cycle of bases is no module
        self._kept.append(binding)
        kind = self.root_kind(binding) or self._base_kind(binding.bases)
        self._kinds[key] = kind
        return kind

    def root_kind(self, binding: Class) -> TargetKind | None:
        """The kind whose base class this is: Flax's or PyTorch's own source is the workspace."""
        if binding.qualname != "Module" or not binding.path.endswith("module.py"):
            return None
        return known.ROOT_CLASSES.get(self.canonical(binding))

    def _base_kind(self, bases: Iterable[Bindings]) -> TargetKind | None:
        for base in bases:
            for found in self.denotations(base):
                if kind := self.kind_of(found):
                    return kind
        return None

    def kind_of(self, found: Denotation) -> TargetKind | None:
        if isinstance(found, Called | Assigned):
            key = id(found)
            if key not in self._kinds:
                self._kinds[key] = None  # a cycle of values is no module
                self._values.append(found)
                self._kinds[key] = self._made_kind(found)
            return self._kinds[key]
        match found:
            case Class():
                return self.kind(found)
            case Library():
                return known.class_kind(found.name)
            case _:
                return None

    def _made_kind(self, found: Called | Assigned) -> TargetKind | None:
        match found:
            case Called():
                # `with_metaclass(Meta, Base)`, `nn.remat(Block)`: a class made from a class
                for function in self.denotations(found.function):
                    name = self.library_name(function)
                    if known.is_transform(name) or name.endswith("with_metaclass"):
                        return self._base_kind(found.arguments)
                return None
            case Assigned():
                return self._base_kind([found.value])

    def ancestry(self, binding: Class) -> list[Class]:
        """The class and its bases in the workspace, nearest first; each before all of its own bases, as in Python.

        At most `_MOST_BASES` of them.
        """
        key = id(binding)
        if (held := self._ancestries.get(key)) is not None:
            return held
        self._kept.append(binding)
        order: list[Class] = []
        seen: set[int] = set()

        def visit(current: Class, depth: int = 1) -> None:
            seen.add(id(current))
            found = [f for base in current.bases for f in self.denotations(base) if isinstance(f, Class)]
            for base in reversed(found):
                if id(base) not in seen and depth < _MOST_BASES:
                    visit(base, depth + 1)
            order.append(current)

        visit(binding)
        self._ancestries[key] = order = order[::-1][:_MOST_BASES]
        return order

    def has_outside_base(self, binding: Class) -> bool:
        """Whether a base is neither in the workspace nor known to declare nothing, or there are too many of them."""
        if len(self.ancestry(binding)) == _MOST_BASES:
            return True
        bases = [found for owner in self.ancestry(binding) for base in owner.bases for found in self.denotations(base)]
        return any(
            not isinstance(found, Class)
            and not (
                isinstance(found, Library) and (found.name in known.ROOT_CLASSES or found.name in known.BARE_BASES)
            )
            for found in bases
        )

    def method(self, binding: Class, name: str) -> tuple[Class, FunctionFact] | None:
        """A method and the class that has it."""
        for owner in self.ancestry(binding):
            for found in owner.members.get(name, ()):
                if isinstance(found, Function) and found.path == owner.path:
                    return owner, found.fact
        return None

    def has_base(self, binding: Class, names: Container[str]) -> bool:
        """Whether one of these classes of libraries is among the bases of a class of the workspace."""
        bases = (base for owner in self.ancestry(binding) for base in owner.bases)
        return any(
            isinstance(found, Library) and found.name in names for base in bases for found in self.denotations(base)
        )

    def is_dataclass(self, binding: Class) -> bool:
        names = {d.name for b in binding.decorators for d in self._heads(b) if isinstance(d, Library)}
        return any(name.rpartition(".")[2] in {"dataclass", "define", "frozen", "attrs"} for name in names)

    # --- functions ---

    def _heads(self, decorator: Bindings) -> Iterator[Denotation]:
        """A decorator, and what its call is made of: `partial(jax.jit, ...)` has `partial` and `jax.jit`."""
        seen: set[int] = set()
        stack = [decorator]
        while stack:
            for found in self.denotations(stack.pop()):
                yield found
                if id(found) in seen:
                    continue
                seen.add(id(found))
                if isinstance(found, Called):
                    stack += [found.function, *found.arguments]
                elif isinstance(found, Assigned):
                    stack.append(found.value)

    def library_name(self, found: Denotation) -> str:
        """Dotted name of something of a library, empty for anything else.

        Where the library's own source is the workspace, its functions still mean what they mean.
        """
        match found:
            case Library():
                return found.name
            case Function() | Class():
                name = self.canonical(found)
                return name if name.startswith(("flax.", "jax.")) else ""
            case _:
                return ""

    def is_program(self, binding: Function) -> bool:
        """Does a function carry a JAX decorator, or does its own body use an imported JAX operation?"""
        if not binding.fact.traceable:
            return False
        for decorator in binding.decorators:
            for found in self._heads(decorator):
                if known.decorates(self.library_name(found)):
                    return True
        scope = self.scope(binding.path)
        if scope is None:
            return False
        local = local_imports(binding.path, binding.fact.imports)
        return any(
            known.is_operation(self.library_name(found), called)
            for name, called in binding.fact.uses
            for found in self.named(name, local, scope, binding.path)
        )

    def named(self, name: Dotted, local: Mapping[str, Bindings], scope: Scope, path: str) -> list[Denotation]:
        """What a dotted name denotes; `local` are names that hide those of the module."""
        first, *rest = name
        bindings = local.get(first)
        if bindings is None:
            bindings = scope.names.get(first)
        found = list(self.denotations(bindings)) if bindings is not None else self._starred(scope.stars, first)
        for attribute in rest:
            if not found or not isinstance(found[0], Library | Module | Class):
                return []
            found = [d for owner in found for d in self.attribute(owner, attribute, path)]
        return found
