"""The profiles of `tensorviz.toml` for an editor's outline."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from tvls.server.setup_file import SetupDocument, setup_document
from tvls.server.state import Server
from tvls.setup.language.outline import Symbol, outline


def document_symbol(
    server: Server, params: lsp.DocumentSymbolParams
) -> list[lsp.DocumentSymbol] | list[lsp.SymbolInformation] | None:
    document = setup_document(server, params.text_document.uri)
    if document is None:
        return None
    symbols = outline(document.around)
    if server.features.nested_symbols:
        return [_nested(document, symbol) for symbol in symbols]
    return list(_flat(document, symbols, params.text_document.uri, None))


def _nested(document: SetupDocument, symbol: Symbol) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        name=symbol.name or '""',
        detail=symbol.detail or None,
        kind=_kind(symbol),
        range=document.range(symbol.start, symbol.end),
        selection_range=document.range(symbol.part.start, symbol.part.end),
        children=[_nested(document, child) for child in symbol.children],
    )


def _flat(
    document: SetupDocument, symbols: list[Symbol], uri: str, within: str | None
) -> Iterator[lsp.SymbolInformation]:
    for symbol in symbols:
        location = lsp.Location(uri=uri, range=document.range(symbol.start, symbol.end))
        yield lsp.SymbolInformation(
            name=symbol.name or '""', kind=_kind(symbol), location=location, container_name=within
        )
        yield from _flat(document, symbol.children, uri, symbol.name)


def _kind(symbol: Symbol) -> lsp.SymbolKind:
    if len(symbol.path) == 2 and symbol.path[0] == "profiles":
        return lsp.SymbolKind.Object
    return lsp.SymbolKind.Module if symbol.children else lsp.SymbolKind.Property
