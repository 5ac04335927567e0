"""Failed traces on the lines of people's files, and mistakes in `tensorviz.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from tvls.capture.document import Frame
from tvls.protocol import types as t
from tvls.protocol.errors import TvlsError
from tvls.server.state import Server
from tvls.setup.positions import Span
from tvls.setup.read import SETUP_FILE, Problem

if TYPE_CHECKING:
    from tvls.failures import FailureReport

SOURCE: Final = "tvls"
_EARLIER: Final = "That was before the latest changes. Open the graph again to see whether it still fails."


async def publish(server: Server) -> None:
    """Sends the diagnostics of each file whose diagnostics changed; an empty list clears them."""
    now: dict[Path, list[lsp.Diagnostic]] = {}
    for path in _files(server):
        found = [_of_failure(server, report) for report in server.session.failures(path)]
        if found:
            now[path] = found
    for folder in server.session.folders:
        problems = await _setup_problems(server, folder)
        if problems:
            now[folder / SETUP_FILE] = [_of_problem(server, folder / SETUP_FILE, problem) for problem in problems]
    for path in now.keys() | server.shown.diagnostics.keys():
        if now.get(path) != server.shown.diagnostics.get(path):
            server.client.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri=server.documents.uri(path), diagnostics=now.get(path, []))
            )
    server.shown.diagnostics = now


async def _setup_problems(server: Server, folder: Path) -> list[Problem]:
    try:
        return await server.session.setup_problems(folder)
    except TvlsError as error:  # models cannot be looked for: the mistakes of the file itself stay
        server.log(lsp.MessageType.Warning, error.message)
        return server.session.setup(folder).problems


def _files(server: Server) -> set[Path]:
    """Files that can have a failure: those on the stack of a failed trace, open or not."""
    return {
        failed.origin.folder / frame["path"]
        for failed in server.session.tools.captures.failures()
        for frame in failed.failure["failure"]["frames"]
        if frame["workspace"]
    }


def _of_failure(server: Server, report: FailureReport) -> lsp.Diagnostic:
    related = [
        lsp.DiagnosticRelatedInformation(
            location=_lsp_location(_frame_location(server, path, frame)), message=f"called from {frame['function']}"
        )
        for path, frame in report.callers
    ]
    what = report.target if report.profile is None else f"{report.target} ({report.profile})"
    message = f"{what}: {report.message}"
    return lsp.Diagnostic(
        range=_lsp_location(_frame_location(server, report.path, report.frame)).range,
        severity=lsp.DiagnosticSeverity.Error if report.current else lsp.DiagnosticSeverity.Information,
        source=SOURCE,
        code=report.kind,
        message=message if report.current else f"{message}\n{_EARLIER}",
        related_information=related if related and server.features.related_information else None,
    )


def _frame_location(server: Server, path: Path, frame: Frame) -> t.Location:
    return server.documents.location(
        path, frame["line"], frame.get("column"), frame.get("endLine"), frame.get("endColumn")
    )


def _of_problem(server: Server, path: Path, problem: Problem) -> lsp.Diagnostic:
    span = problem.span or Span(0, 0, 0, 0)
    location = server.documents.location(path, span.line + 1, span.column, span.end_line + 1, span.end_column)
    return lsp.Diagnostic(
        range=_lsp_location(location).range,
        severity=lsp.DiagnosticSeverity.Error if problem.severity == "error" else lsp.DiagnosticSeverity.Warning,
        source=SOURCE,
        code="setupInvalid",
        message=f"{problem.key}: {problem.message}" if problem.key else problem.message,
    )


def _lsp_location(location: t.Location) -> lsp.Location:
    return lsp.Location(uri=location.uri, range=to_lsp_range(location.range))


def to_lsp_range(span: t.Range) -> lsp.Range:
    return lsp.Range(
        start=lsp.Position(line=span.start.line, character=span.start.character),
        end=lsp.Position(line=span.end.line, character=span.end.character),
    )
