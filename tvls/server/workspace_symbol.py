"""The models of the workspace by name, for an editor's search."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from tvls.analysis.types import FoundTarget
from tvls.server.diagnostics import to_lsp_range
from tvls.server.state import Server

_MOST: Final = 1_000
"""Models in one answer: columns are counted in the text of their files, which are read for it."""


async def workspace_symbol(server: Server, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """The closest matches first; any model for an empty query."""
    query = params.query.casefold()
    found = await server.session.found_targets()
    ranked = [(rank, target) for target in found if (rank := _rank(query, target)) is not None]
    ranked.sort(key=lambda item: item[0])
    return [_symbol(server, target) for _, target in ranked[:_MOST]]


def _rank(query: str, target: FoundTarget) -> int | None:
    """How far a model is from what was typed; None where it is not meant."""
    name = target.name.rpartition(".")[2].casefold()
    whole = f"{target.module}.{target.name}".casefold()
    ranks = (name == query, name.startswith(query), query in name, query in whole, _in_order(query, whole))
    return next((rank for rank, fits in enumerate(ranks) if fits), None)


def _in_order(query: str, text: str) -> bool:
    """Whether the characters come in this order, with others between them: how editors search as one types."""
    rest = iter(text)
    return all(character in rest for character in query)


def _symbol(server: Server, target: FoundTarget) -> lsp.WorkspaceSymbol:
    around, _, name = target.name.rpartition(".")
    place = server.documents.location(
        Path(target.path), target.name_line, target.column, target.name_line, target.end_column
    )
    return lsp.WorkspaceSymbol(
        name=name,
        kind=lsp.SymbolKind.Function if target.kind == "jax.function" else lsp.SymbolKind.Class,
        container_name=f"{target.module}.{around}" if around else target.module,
        location=lsp.Location(uri=place.uri, range=to_lsp_range(place.range)),
    )
