"""The twin of the lens, for editors that have none (Helix, Emacs eglot): at the model or profile under the cursor."""

from __future__ import annotations

from typing import Final

import msgspec
from lsprotocol import types as lsp

from tvls.protocol import types as t
from tvls.server import environments, openings
from tvls.server.code_lens import open_command
from tvls.server.openings import Opening
from tvls.server.setup_file import setup_document
from tvls.server.state import Server
from tvls.setup.language.outline import profiles
from tvls.uris import to_path

OPEN_KIND: Final = "source.tvls.openGraph"
REFRESH_KIND: Final = "source.tvls.refresh"
REVEAL_KIND: Final = "source.tvls.revealInGraph"
INSTALL_KIND: Final = "source.tvls.installLibraries"
KINDS: Final = (OPEN_KIND, REFRESH_KIND, REVEAL_KIND, INSTALL_KIND)
REFRESH_GRAPH: Final = "tvls.server.refreshGraph"
REVEAL_IN_GRAPH: Final = "tvls.server.revealInGraph"


async def code_action(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command]:
    only = [_kind(kind) for kind in params.context.only or [""]]
    kinds = [kind for kind in KINDS if any(_includes(wanted, kind) for wanted in only)]
    if not kinds:
        return []
    uri = params.text_document.uri
    path = to_path(uri)
    here = await _openings(server, uri, params.range.start.line)
    commands = [
        (OPEN_KIND, open_command(server, opening, f"Open {opening.name} as Graph{opening.which}")) for opening in here
    ]
    commands += [(REFRESH_KIND, _again(opening)) for opening in here if opening.traced]
    commands = [(kind, command) for kind, command in commands if kind in kinds]
    if REVEAL_KIND in kinds and server.canvas is not None and server.canvas.shows(path):
        place = {"uri": uri, "line": params.range.start.line, "character": params.range.start.character}
        commands.append(
            (REVEAL_KIND, lsp.Command(title="Show in the open graph", command=REVEAL_IN_GRAPH, arguments=[place]))
        )
    lacking = next((data for folder, data in server.shown.lacking.items() if path.is_relative_to(folder)), None)
    if here and INSTALL_KIND in kinds and lacking is not None:
        argument = msgspec.to_builtins(environments.lacking_argument(lacking))
        title = f"Show what installing {', '.join(lacking.requirements or [])} would change"
        commands.append((INSTALL_KIND, lsp.Command(title=title, command=environments.INSTALL, arguments=[argument])))
    if not server.features.code_action_literals:
        return [command for _, command in commands]
    return [lsp.CodeAction(title=command.title, kind=kind, command=command) for kind, command in commands]


async def _openings(server: Server, uri: str, line: int) -> list[Opening]:
    """Of the model, or the profile of a setup file, that a 0-based line is in."""
    document = setup_document(server, uri)
    if document is None:
        target = target_at(await server.session.targets(to_path(uri)), line)
        return openings.of_target(server, uri, target) if target is not None else []
    spans = [(symbol, document.range(symbol.start, symbol.end)) for symbol in profiles(document.around)]
    around = [symbol for symbol, span in spans if span.start.line <= line <= span.end.line]
    return [openings.of_profile(server, document, symbol) for symbol in around]


def _again(opening: Opening) -> lsp.Command:
    title = f"Trace {opening.name} again{opening.which}"
    return lsp.Command(title=title, command=REFRESH_GRAPH, arguments=[opening.argument])


def _kind(kind: lsp.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, lsp.CodeActionKind) else kind


def _includes(wanted: str, kind: str) -> bool:
    """Kinds are hierarchical: `source` includes `source.tvls.openGraph`; `source.tv` does not."""
    return wanted in ("", kind) or kind.startswith(f"{wanted}.")


def target_at(targets: list[t.TargetInfo], line: int) -> t.TargetInfo | None:
    """The innermost model around a 0-based line."""
    around = [target for target in targets if target.body is not None and _contains(target.body, line)]
    return max(around, key=lambda target: target.range.start.line, default=None)


def _contains(span: t.Range, line: int) -> bool:
    return span.start.line <= line <= span.end.line
