"""Shapes under the cursor."""

from __future__ import annotations

import re

from lsprotocol import types as lsp

from tvls.server.positions import from_byte_column, to_byte_column
from tvls.server.state import Server
from tvls.uris import to_path

_FENCE = re.compile(r"^```\w*\n?", re.MULTILINE)
_MARKS = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)"
    r"|\*\*(?P<strong>\S.*?)\*\*"
    r"|(?<!\w)(?P<mark>[*_])(?P<emphasis>\S.*?)(?P=mark)(?!\w)"
    r"|\\(?P<escaped>[*_`\[\]\\])"
)


def hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    path, line = to_path(params.text_document.uri), params.position.line
    text = server.documents.text_at(path)
    if text is None or line >= text.line_count:
        return None
    content, encoding = text.line(line), server.documents.encoding
    found = server.session.hover(path, line + 1, to_byte_column(content, params.position.character, encoding), content)
    if found is None:
        return None
    kind = lsp.MarkupKind.Markdown if server.features.markdown else lsp.MarkupKind.PlainText
    value = found.markdown if server.features.markdown else plain(found.markdown)
    return lsp.Hover(
        contents=lsp.MarkupContent(kind=kind, value=value),
        range=lsp.Range(
            start=lsp.Position(line=line, character=from_byte_column(content, found.start, encoding)),
            end=lsp.Position(line=line, character=from_byte_column(content, found.end, encoding)),
        ),
    )


def plain(markdown: str) -> str:
    """Markdown for a client that shows text only: the marks of code and emphasis go, the words stay."""

    def words(match: re.Match[str]) -> str:
        return match["code"] or match["strong"] or match["emphasis"] or match["escaped"]

    return _MARKS.sub(words, _FENCE.sub("", markdown))
