"""The twin of the lens, for editors that have none (Helix, Emacs eglot): at the model that the cursor is in."""

from __future__ import annotations

from typing import Final

import msgspec
from lsprotocol import types as lsp

from tvls.protocol import types as t
from tvls.server import environments
from tvls.server.code_lens import open_command
from tvls.server.state import Server
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
    commands: list[tuple[str, lsp.Command]] = []
    target = target_at(await server.session.targets(path), params.range.start.line)
    if target is not None and OPEN_KIND in kinds:
        commands.append((OPEN_KIND, open_command(server, uri, target, f"Open {target.name} as Graph")))
    if target is not None and REFRESH_KIND in kinds and target.state in ("fresh", "stale", "failed"):
        arguments = [{"uri": uri, "name": target.name}]
        again = lsp.Command(title=f"Trace {target.name} again", command=REFRESH_GRAPH, arguments=arguments)
        commands.append((REFRESH_KIND, again))
    if REVEAL_KIND in kinds and server.canvas is not None and server.canvas.shows(path):
        place = {"uri": uri, "line": params.range.start.line, "character": params.range.start.character}
        commands.append(
            (REVEAL_KIND, lsp.Command(title="Show in the open graph", command=REVEAL_IN_GRAPH, arguments=[place]))
        )
    lacking = next((data for folder, data in server.shown.lacking.items() if path.is_relative_to(folder)), None)
    if target is not None and INSTALL_KIND in kinds and lacking is not None:
        argument = msgspec.to_builtins(environments.lacking_argument(lacking))
        title = f"Show what installing {', '.join(lacking.requirements or [])} would change"
        commands.append((INSTALL_KIND, lsp.Command(title=title, command=environments.INSTALL, arguments=[argument])))
    if not server.features.code_action_literals:
        return [command for _, command in commands]
    return [lsp.CodeAction(title=command.title, kind=kind, command=command) for kind, command in commands]


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
