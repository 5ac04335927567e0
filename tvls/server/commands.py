"""`workspace/executeCommand`: every action, for editors that have nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec
from lsprotocol import types as lsp

from tvls.canvas import files
from tvls.canvas.outcome import Outcome, failed
from tvls.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from tvls.protocol import types as t
from tvls.protocol import types_environment as te
from tvls.protocol import types_page as p
from tvls.protocol import types_setup as ts
from tvls.protocol.errors import TvlsError
from tvls.server import environments, requests
from tvls.server.canvas import Showing, mark, told_in_the_page
from tvls.server.code_action import REFRESH_GRAPH, REVEAL_IN_GRAPH
from tvls.server.code_lens import OPEN_GRAPH
from tvls.server.draft import draft_setup
from tvls.server.show import show_outline
from tvls.server.state import Server
from tvls.uris import to_uri

Token = int | str | None
Argument = TypeVar("Argument")


class OpenArgument(t.Wire, frozen=True, kw_only=True):
    """Argument of `openGraph`, `refreshGraph` and `showOutline`: a model, as the lens names it, or a profile."""

    uri: str | None = None
    name: str | None = None
    profile: str | None = None
    folder: str | None = None
    setup: t.InlineSetup | None = None
    capture_id: str | None = None
    """`showOutline` only: a capture that is open already."""


class PlaceArgument(t.Wire, frozen=True, kw_only=True):
    """Argument of `revealInGraph`: a place of a text document, as in LSP."""

    uri: str
    line: int
    character: int


class FolderArgument(t.Wire, frozen=True, kw_only=True):
    folder: str


class Done(t.Wire, frozen=True, kw_only=True):
    done: bool = True


async def execute(server: Server, params: lsp.ExecuteCommandParams) -> Any:
    run = COMMANDS.get(params.command)
    if run is None:
        raise RpcError(INVALID_PARAMS, f"unknown command {params.command}")
    try:
        return await run(server, list(params.arguments or []), params.work_done_token)
    except TvlsError as error:
        message = error.told
        if environments.can_be_mended(error.data) and not server.features.own_canvas:
            # Not awaited: the editor may wait for this answer.
            offer = environments.offer_installation(server, error.message, error.data)
            server.protocol.run_in_background(offer, "offering an installation")
        elif params.command in (OPEN_GRAPH, REFRESH_GRAPH) and told_in_the_page(server, error):
            pass  # the form that opens says it
        elif not server.features.shows_failed_commands:
            server.show(lsp.MessageType.Error, message)
        raise RpcError(error.code, message, error.data) from error


async def open_graph(server: Server, arguments: list[Any], token: Token) -> t.OpenResult:
    return await _open(server, arguments, token)


async def refresh_graph(server: Server, arguments: list[Any], token: Token) -> t.OpenResult:
    return await _open(server, arguments, token, refresh=True)


async def open_in_browser(server: Server, arguments: list[Any], token: Token) -> t.OpenResult:
    """As `openGraph`, and the browser shows it whatever else the client has: for its own command to do so."""
    if not files.is_built():
        raise RpcError(INTERNAL_ERROR, f"The canvas is not built: {files.STATIC} is empty. Run `make canvas`.")
    return await _open(server, arguments, token, browser=True)


async def _open(
    server: Server, arguments: list[Any], token: Token, *, refresh: bool = False, browser: bool = False
) -> t.OpenResult:
    params = _open_params(_one(arguments, OpenArgument), refresh, token)
    showing = Showing(server, params, browser=browser)
    try:
        result = await requests.open_graph(server, params, showing.entered)
    except TvlsError as error:
        showing.ended(failed(error), error)
        raise
    except BaseException:  # cancelled, or a fault of ours: the page must not wait for more
        showing.cancelled()
        raise
    showing.ended(Outcome(capture=result.capture))
    return result


def _open_params(argument: OpenArgument, refresh: bool, token: Token) -> t.OpenParams:
    target = None
    if argument.uri is not None and argument.name is not None:
        target = t.TargetRef(uri=argument.uri, name=argument.name)
    elif argument.profile is None:
        raise RpcError(INVALID_PARAMS, "the argument needs `uri` and `name`, or `profile`")
    return t.OpenParams(
        target=target,
        profile=argument.profile,
        folder=argument.folder,
        setup=argument.setup,
        refresh=refresh,
        work_done_token=token,
    )


async def show_outline_command(server: Server, arguments: list[Any], token: Token) -> t.CaptureInfo:
    argument = _one(arguments, OpenArgument)
    if argument.capture_id is not None:
        capture = server.session.info(t.CaptureParams(capture_id=argument.capture_id))
    else:
        capture = (await requests.open_graph(server, _open_params(argument, False, token))).capture
    server.protocol.run_in_background(show_outline(server, capture), "showing an outline")
    return capture


async def reveal_in_graph(server: Server, arguments: list[Any], token: Token) -> p.MarkResult:
    """Marks the nodes of a place in the graphs that the browser shows."""
    argument = _one(arguments, PlaceArgument)
    place = t.Position(line=argument.line, character=argument.character)
    result = mark(server, p.MarkParams(text_document=t.TextDocument(uri=argument.uri), position=place))
    if not result.pages:
        server.show(lsp.MessageType.Info, "No graph in your browser has an operation from this place.")
    return result


async def draft_setup_command(server: Server, arguments: list[Any], token: Token) -> ts.SetupSaved:
    argument = _one(arguments, OpenArgument)
    target = _open_params(argument, False, token).target
    if target is None:
        raise RpcError(INVALID_PARAMS, "the argument needs `uri` and `name`")
    return await draft_setup(server, target, argument.profile)


async def trust_folder(server: Server, arguments: list[Any], token: Token) -> t.TrustResult:
    return await _trust(server, arguments, server.session.trust_grant)


async def untrust_folder(server: Server, arguments: list[Any], token: Token) -> t.TrustResult:
    return await _trust(server, arguments, server.session.trust_revoke)


async def _trust(
    server: Server, arguments: list[Any], change: Callable[[t.TrustParams], Awaitable[t.TrustResult]]
) -> t.TrustResult:
    """The folder is the argument (a URI, or a table with `folder`); without one, the only folder of the workspace."""
    if not arguments:
        folders = server.session.folders
        if len(folders) != 1:
            raise RpcError(INVALID_PARAMS, f"the workspace has {len(folders)} folders: name one as the argument")
        uri = to_uri(folders[0])
    elif len(arguments) == 1 and isinstance(arguments[0], str):
        uri = arguments[0]
    else:
        uri = _one(arguments, FolderArgument).folder
    result = await change(t.TrustParams(folder=uri))
    server.show(lsp.MessageType.Info, f"{uri} is {'trusted' if result.trusted else 'not trusted'} now.")
    return result


async def select_interpreter(server: Server, arguments: list[Any], token: Token) -> te.EnvironmentListResult:
    return await environments.select_command(server, _one_or_none(arguments, environments.SelectArgument))


async def show_environment(server: Server, arguments: list[Any], token: Token) -> te.EnvironmentInfo:
    return await environments.show_command(server, _one_or_none(arguments, environments.FolderArgument), token)


async def install_libraries(server: Server, arguments: list[Any], token: Token) -> Any:
    return await environments.install_command(server, _one_or_none(arguments, environments.InstallArgument), token)


async def restart_workers(server: Server, arguments: list[Any], token: Token) -> Done:
    await server.session.restart_workers()
    return Done()


async def debug_info(server: Server, arguments: list[Any], token: Token) -> t.DebugInfoResult:
    result = server.session.debug_info(t.StatusParams())
    server.log(lsp.MessageType.Info, result.text)
    return result


def _one_or_none(arguments: list[Any], kind: type[Argument]) -> Argument:
    """An argument whose fields all have defaults may be left out."""
    return _one(arguments or [{}], kind)


def _one(arguments: list[Any], kind: type[Argument]) -> Argument:
    if len(arguments) != 1:
        raise RpcError(INVALID_PARAMS, f"expected one argument, got {len(arguments)} - at `$.arguments`")
    try:
        return msgspec.convert(arguments[0], kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"{error} (in `$.arguments[0]`)") from error


COMMANDS: Final[dict[str, Callable[[Server, list[Any], Token], Awaitable[Any]]]] = {
    OPEN_GRAPH: open_graph,
    REFRESH_GRAPH: refresh_graph,
    REVEAL_IN_GRAPH: reveal_in_graph,
    "tvls.server.openInBrowser": open_in_browser,
    "tvls.server.trustFolder": trust_folder,
    "tvls.server.untrustFolder": untrust_folder,
    "tvls.server.showOutline": show_outline_command,
    "tvls.server.selectInterpreter": select_interpreter,
    "tvls.server.showEnvironment": show_environment,
    environments.INSTALL: install_libraries,
    "tvls.server.draftSetup": draft_setup_command,
    "tvls.server.restartWorkers": restart_workers,
    "tvls.server.debugInfo": debug_info,
}
