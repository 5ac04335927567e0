"""Shapes under the cursor, and what the keys and values of a setup file mean."""

from __future__ import annotations

import re

from lsprotocol import types as lsp

from tvls.server.positions import from_byte_column, to_byte_column
from tvls.server.setup_file import SetupDocument, setup_document
from tvls.server.state import Server
from tvls.setup.language.hover import hover as setup_hover
from tvls.uris import to_path

_FENCE = re.compile(r"^```\w*\n?", re.MULTILINE)
_MARKS = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)"
    r"|\*\*(?P<strong>\S.*?)\*\*"
    r"|(?<!\w)(?P<mark>[*_])(?P<emphasis>\S.*?)(?P=mark)(?!\w)"
    r"|\\(?P<escaped>[*_`\[\]\\])"
)


async def hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    document = setup_document(server, params.text_document.uri)
    return _shapes(server, params) if document is None else await _of_setup(server, document, params.position)


async def _of_setup(server: Server, document: SetupDocument, position: lsp.Position) -> lsp.Hover | None:
    found = setup_hover(document.around, document.offset(position), await document.workspace())
    if found is None:
        return None
    contents = markup(found.markdown, server.features.markdown)
    return lsp.Hover(contents=contents, range=document.range(found.start, found.end))


def markup(markdown: str, takes_markdown: bool) -> lsp.MarkupContent:
    """Text in the form that the client shows."""
    if takes_markdown:
        return lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=markdown)
    return lsp.MarkupContent(kind=lsp.MarkupKind.PlainText, value=plain(markdown))


def _shapes(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    path, line = to_path(params.text_document.uri), params.position.line
    text = server.documents.text_at(path)
    if text is None or line >= text.line_count:
        return None
    content, encoding = text.line(line), server.documents.encoding
    found = server.session.hover(path, line + 1, to_byte_column(content, params.position.character, encoding), content)
    if found is None:
        return None
    return lsp.Hover(
        contents=markup(found.markdown, server.features.markdown),
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
