"""What can be written next in `tensorviz.toml`."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from tvls.server.hover import markup
from tvls.server.setup_file import setup_document
from tvls.server.state import Server
from tvls.setup.language.completion import Item, ItemKind, complete

TRIGGERS: Final = ['"', "'", ".", ":", "=", "[", "{", ",", " "]

_KINDS: Final[dict[ItemKind, lsp.CompletionItemKind]] = {
    "key": lsp.CompletionItemKind.Property,
    "table": lsp.CompletionItemKind.Module,
    "value": lsp.CompletionItemKind.Value,
    "model": lsp.CompletionItemKind.Class,
    "file": lsp.CompletionItemKind.File,
    "function": lsp.CompletionItemKind.Function,
    "parameter": lsp.CompletionItemKind.Field,
    "snippet": lsp.CompletionItemKind.Snippet,
}


async def completion(server: Server, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    document = setup_document(server, params.text_document.uri)
    if document is None:
        return None
    found = complete(document.around, document.offset(params.position), await document.workspace())
    if found is None:
        return None
    span = document.range(found.start, found.end)
    items = [_item(server, item, span, index) for index, item in enumerate(found.items)]
    return lsp.CompletionList(is_incomplete=False, items=items)


def _item(server: Server, item: Item, span: lsp.Range, index: int) -> lsp.CompletionItem:
    snippets = server.features.snippets
    return lsp.CompletionItem(
        label=item.label,
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        documentation=markup(item.help, server.features.completion_markdown) if item.help else None,
        sort_text=f"{index:04}",
        filter_text=item.label,
        insert_text_format=lsp.InsertTextFormat.Snippet if snippets else lsp.InsertTextFormat.PlainText,
        text_edit=lsp.TextEdit(range=span, new_text=item.snippet if snippets else item.plain),
    )
