"""From the name of a model, a factory or a class in `tensorviz.toml` to its source."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types as lsp

from tvls.analysis.types import FoundTarget
from tvls.protocol import types as t
from tvls.server.diagnostics import to_lsp_range
from tvls.server.setup_file import setup_document
from tvls.server.state import Server
from tvls.setup.language.definition import Class, Target
from tvls.setup.language.definition import definition as find
from tvls.setup.language.python_file import read_python


async def definition(server: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    document = setup_document(server, params.text_document.uri)
    if document is None:
        return None
    found = find(document.around, document.offset(params.position), await document.workspace())
    if found is None:
        return None
    if isinstance(found, Target):
        target = found.target
        if not isinstance(target, FoundTarget):
            return None
        return _location(server, Path(target.path), target.name_line, target.column, target.end_column)
    if isinstance(found, Class):
        path = Path(found.path)
        text = server.documents.text_at(path)
        python = None if text is None else read_python(text.text)
        name = None if python is None else python.find(found.qualname.partition(".")[0])
    else:
        path, name = document.folder / found.file, found.definition
    if name is None:
        return _location(server, path, 1, 0, 0)
    return _location(server, path, name.line, name.column, name.end_column)


def _location(server: Server, path: Path, line: int, column: int, end_column: int) -> lsp.Location:
    found: t.Location = server.documents.location(path, line, column, line, end_column)
    return lsp.Location(uri=found.uri, range=to_lsp_range(found.range))
