"""Settings: from `initializationOptions`, then from the section `tvls` of the client's configuration."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from lsprotocol import types as lsp

from tvls.server.state import Server
from tvls.settings import Settings

SECTION = "tvls"
_FIELDS = {field.encode_name: field.name for field in msgspec.structs.fields(Settings)}


def read_settings(value: object, base: Settings) -> tuple[Settings, list[str]]:
    """`base` with the keys of `value` laid over it, and what is wrong with the others. Null and {} change nothing."""
    if value is None:
        return base, []
    if not isinstance(value, dict):
        return base, [f"the settings must be a table, not {type(value).__name__}"]
    good: dict[str, Any] = {}
    problems: list[str] = []
    for key, item in cast("dict[str, object]", value).items():
        name = _FIELDS.get(key)
        if name is None:
            problems.append(f"`{SECTION}.{key}` is no setting")
            continue
        if item is None:
            continue
        try:
            good[name] = getattr(msgspec.convert({key: item}, Settings), name)
        except msgspec.ValidationError as error:
            problems.append(f"`{SECTION}.{key}`: {error}")
    return msgspec.structs.replace(base, **good), problems


def report(server: Server, problems: list[str]) -> None:
    if problems:
        text = "TensorViz ignores a part of its settings: " + "; ".join(problems)
        server.show(lsp.MessageType.Warning, text)


async def pull(server: Server) -> None:
    """Asks the client for the section `tvls`, where it can be asked."""
    if not server.features.configuration:
        return
    answer = await server.client.workspace_configuration_async(
        lsp.ConfigurationParams(items=[lsp.ConfigurationItem(section=SECTION)])
    )
    apply(server, answer[0] if answer else None)


def apply(server: Server, value: object) -> None:
    """Lays configuration over the initial settings. It may come from files of the workspace: it cannot give trust."""
    refused: list[str] = []
    section = value
    if isinstance(value, dict) and "trustedFolders" in value:
        table = cast("dict[str, object]", value)
        section = {key: item for key, item in table.items() if key != "trustedFolders"}
        refused = [f"`{SECTION}.trustedFolders` counts in initializationOptions only"]
    settings, problems = read_settings(section, server.initial_settings)
    report(server, refused + problems)
    if settings != server.settings:
        hints_changed = settings.inlay_hints != server.settings.inlay_hints
        server.settings = settings
        server.session.set_settings(settings)
        if hints_changed and server.features.hint_refresh:
            server.client.workspace_inlay_hint_refresh(None)


def on_change(server: Server, params: lsp.DidChangeConfigurationParams) -> Any:
    """Pulls where the client can be asked; else takes what it pushed."""
    if server.features.configuration:
        return pull(server)
    pushed = params.settings
    if isinstance(pushed, dict) and SECTION in pushed:
        apply(server, cast("dict[str, object]", pushed)[SECTION])
    return None
