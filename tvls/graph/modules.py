"""What a capture knows of the modules of a class, and of those that an attribute of it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tvls.capture.document import Scope
from tvls.graph.index import Graph, GraphIndex
from tvls.graph.text import plural

_NUMBERED: Final = re.compile(r"(.+?)_?\d+")
"""A module in a list of Flax: `layers_0`."""


def modules_of_class(index: GraphIndex, path: str, qualname: str) -> list[Scope]:
    """Scopes of the modules of a class of the file at `path`, one of each module."""
    found = {
        scope.get("path", ""): scope
        for located in index.graphs
        for scope in located.graph.scopes
        if _is_class(scope, path, qualname)
    }
    return list(found.values())


def modules_at(index: GraphIndex, path: str, qualname: str, attribute: str) -> list[Scope]:
    """Scopes of the modules that are this attribute of modules of a class, or in it."""
    found: dict[str, Scope] = {}
    for located in index.graphs:
        graph = located.graph
        for at, scope in enumerate(graph.scopes):
            around = _module_around(graph, at)
            if scope["kind"] != "module" or around is None or not _is_class(around, path, qualname):
                continue
            below = scope.get("path", "").removeprefix(around.get("path", "")).lstrip("./")
            name = re.split(r"[./]", below)[0]
            numbered = _NUMBERED.fullmatch(name)
            if name == attribute or (numbered and numbered[1] == attribute):
                found[scope.get("path", "")] = scope
    return list(found.values())


def modules_text(modules: list[Scope]) -> tuple[str, str]:
    """Their class, and how many parameters they have: `Linear` and `3 modules, 20 parameters each`."""
    names = dict.fromkeys(module.get("class", "").rpartition(".")[2] for module in modules)
    told = plural(len(modules), "module")
    counts = [module["parameters"]["count"] for module in modules if "parameters" in module]
    if len(counts) == len(modules):
        low, high = min(counts), max(counts)
        each = " each" if len(modules) > 1 else ""
        told += f", {plural(low, 'parameter')}{each}" if low == high else f", {low:,} to {high:,} parameters each"
    return " | ".join(names), told


def _module_around(graph: Graph, scope: int) -> Scope | None:
    return next(_modules_around(graph, scope), None)


def _modules_around(graph: Graph, scope: int) -> Iterator[Scope]:
    parent = graph.scopes[scope]["parent"]
    while parent is not None:
        if graph.scopes[parent]["kind"] == "module":
            yield graph.scopes[parent]
        parent = graph.scopes[parent]["parent"]


def _is_class(scope: Scope, path: str, qualname: str) -> bool:
    found = scope.get("class")
    if found is None or scope["kind"] != "module" or not found.endswith(f".{qualname}"):
        return False
    module = "." + found.removesuffix(f".{qualname}")
    file = "/" + path.removesuffix(".py").removesuffix("/__init__")
    return file.replace("/", ".").endswith(module)
