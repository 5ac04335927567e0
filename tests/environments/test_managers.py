"""Environments that managers keep elsewhere, choices that are remembered, and what the selected Python offers.

The folders are named as Hatch 1.18, Poetry 2.5 and Pipenv 2026.10 name them: seen in environments that these made.
"""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.environments.test_environments import fake_venv, make_program
from tests.lsp.client import LspClient
from tvls.environments.find import Selected, eligible, explain, find


def digest(text: str, length: int = 32) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:length]).decode()[:8]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    return folder


def found_in(folder: Path, home: Path, **environ: str) -> list[tuple[str, str, str | None]]:
    found = find(folder, [], {"HOME": str(home), "PATH": "", **environ})
    return [(candidate.command[0], candidate.origin, candidate.python) for candidate in found]


def test_poetry_pipenv_and_hatch(folder: Path, home: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (folder / "Pipfile").write_text("")
    poetry = home / ".cache/pypoetry/virtualenvs"
    name = f"net-{digest(os.path.realpath(folder))}"
    newest = fake_venv(poetry / f"{name}-py3.13", ran, "version = 3.13.0\n")
    active = fake_venv(poetry / f"{name}-py3.11", ran)
    fake_venv(poetry / f"other-{digest('/other')}-py3.11", ran)
    (poetry / "envs.toml").write_text(f'[{name}]\nminor = "3.11"\npatch = "3.11.7"\n')
    pipenv = fake_venv(home / f".local/share/virtualenvs/work-{digest(str(folder / 'Pipfile'), 6)}", ran)
    hatch = home / ".local/share/hatch/env/virtual/net" / digest(str(folder))
    docs = fake_venv(hatch / "docs", ran)
    default = fake_venv(hatch / "net", ran)
    assert found_in(folder, home) == [
        (str(active), "poetry", "3.11.7"),
        (str(newest), "poetry", "3.13.0"),
        (str(pipenv), "pipenv", "3.11.7"),
        (str(default), "hatch", "3.11.7"),
        (str(docs), "hatch", "3.11.7"),
    ]
    (poetry / "envs.toml").write_text("broken [")
    assert found_in(folder, home)[0][0] == str(newest)
    moved = tmp_path / "poetry"
    poetry.rename(moved)
    assert found_in(folder, home, POETRY_VIRTUALENVS_PATH=str(moved))[0][1] == "poetry"
    assert not ran.exists()


def test_a_member_of_a_uv_workspace(folder: Path, home: Path, tmp_path: Path) -> None:
    shared = fake_venv(tmp_path / ".venv", tmp_path / "ran")
    named = fake_venv(tmp_path / "elsewhere", tmp_path / "ran")
    assert found_in(folder, home) == []
    (tmp_path / "uv.lock").write_text("")
    assert found_in(folder, home) == [(str(shared), "uv", "3.11.7")]
    assert found_in(folder, home, UV_PROJECT_ENVIRONMENT="elsewhere")[0][0] == str(named)


def test_pyenv(folder: Path, home: Path, tmp_path: Path) -> None:
    versions = home / ".pyenv/versions"
    for version in ("3.11.9", "3.11.10", "3.12.1"):
        make_program(versions / version / "bin" / "python", "")
    mine = fake_venv(versions / "3.12.1/envs/mine", tmp_path / "ran")
    outside = make_program(home / "evil" / "bin" / "python", "")
    assert outside.is_file()
    for text, wanted in (
        ("3.12.1\n", ["3.12.1"]),
        ("3.11\n3.12.1", ["3.11.10", "3.12.1"]),
        ("../../evil\n", []),
        ("system\n3.9\n", []),
    ):
        (folder / ".python-version").write_text(text)
        assert [python for _, origin, python in found_in(folder, home) if origin == "pyenv"] == wanted
    (folder / ".python-version").write_text("3.12.1/envs/mine")
    assert found_in(folder, home) == [(str(mine), "pyenv", "3.11.7")]
    (folder / ".python-version").rename(tmp_path / ".python-version")  # one above counts, too
    assert found_in(folder, home) == [(str(mine), "pyenv", "3.11.7")]
    assert found_in(folder, home, PYENV_VERSION="3.11.9")[0][2] == "3.11.9"


def test_conda_environments_are_taken_by_name_or_by_choice(folder: Path, home: Path, tmp_path: Path) -> None:
    for name in ("ml", "web"):
        make_program(tmp_path / "conda" / name / "bin" / "python", "")
        (tmp_path / "conda" / name / "conda-meta").mkdir()
    (home / ".conda").mkdir(parents=True)
    listed = [str(tmp_path / "conda" / name) for name in ("web", "ml", "gone")]
    (home / ".conda" / "environments.txt").write_text("\n".join(listed) + "\n")
    environ = {"HOME": str(home), "PATH": ""}
    assert [(i.prefix, i.automatic) for i in find(folder, [], environ)] == [(listed[0], False), (listed[1], False)]
    assert eligible(find(folder, [], environ)) == []
    (folder / "environment.yml").write_text("channels: [x]\nname: ml  # here\n")
    [taken] = eligible(find(folder, [], environ))
    assert (taken.prefix, explain(taken, folder)) == (listed[1], "the Conda environment 'ml'")


def test_any_environment_in_the_folder_counts_and_a_selected_one_alone(
    folder: Path, home: Path, tmp_path: Path
) -> None:
    usual = fake_venv(folder / ".venv", tmp_path / "ran")
    other = fake_venv(folder / "py311-jax", tmp_path / "ran")
    environ = {"HOME": str(home), "PATH": ""}
    assert [i.command[0] for i in eligible(find(folder, [], environ))] == [str(usual), str(other)]
    found = find(folder, [Selected(("hatch", "-e", "x", "run", "python"), "chosen")], environ)
    assert [i.command for i in eligible(found)] == [("hatch", "-e", "x", "run", "python")]
    assert explain(found[0], folder) == "your choice for this folder"
    assert explain(found[2], folder) == "`py311-jax` in the folder"


async def selected_of(client: LspClient) -> tuple[list[str], str]:
    listed = await client.request("tvls/environment/list", {})
    (one,) = [interpreter for interpreter in listed["interpreters"] if interpreter.get("selected")]
    return one["command"], one["origin"]


async def test_a_choice_is_remembered_outside_the_workspace(folder: Path, tmp_path: Path) -> None:
    first = fake_venv(folder / ".venv", tmp_path / "ran")
    link = folder / "link"
    link.symlink_to(fake_venv(tmp_path / "elsewhere", tmp_path / "ran"))
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    before = sorted(os.listdir(folder))
    async with LspClient.start(env=env) as client:
        await client.initialize({}, [folder])
        assert await selected_of(client) == ([str(first)], "folder")
        editor = {"folder": folder.as_uri(), "command": ["/usr/bin/python3"], "by": "editor"}
        await client.request("tvls/environment/select", editor)
        assert await selected_of(client) == (["/usr/bin/python3"], "editor")
        await client.request("tvls/environment/select", {"command": ["./link"]})  # relative to the folder, not resolved
        assert await selected_of(client) == ([str(link)], "chosen")
        await client.shut_down()
    async with LspClient.start(env=env) as client:
        await client.initialize({}, [folder])
        assert await selected_of(client) == ([str(link)], "chosen")
        await client.request("tvls/environment/select", {})
        assert await selected_of(client) == ([str(first)], "folder")
        error = await client.ask("tvls/environment/select", {"folder": tmp_path.as_uri(), "command": ["x"]}).error()
        assert error.data["kind"] == "noWorkspace"
        await client.shut_down()
    assert sorted(os.listdir(folder)) == before
    assert not (tmp_path / "ran").exists()  # R4


async def test_the_setting_comes_before_the_choice(folder: Path, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    async with LspClient.start(env=env) as client:
        await client.initialize({}, [folder], {"interpreter": ["uv", "run", "python"]})
        await client.request("tvls/environment/select", {"command": ["/usr/bin/python3"]})
        assert await selected_of(client) == (["uv", "run", "python"], "configured")
        await client.wait_for("window/logMessage", lambda params: "comes before the choice" in params["message"])
        await client.shut_down()


async def test_another_choice_makes_captures_stale(folder: Path, tmp_path: Path, models_python: str) -> None:  # R27
    (folder / "model.py").write_text("import jax.numpy as jnp\n\n\ndef net(x):\n    return jnp.sin(x)\n")
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    async with LspClient.start(env=env) as client:
        await client.initialize({}, [folder], {"trustedFolders": [folder.as_uri()]})
        await client.request("tvls/environment/select", {"command": [models_python]})
        inputs = {"args": [{"kind": "tensor", "shape": [3], "dtype": "float32"}]}
        params = {"target": {"uri": (folder / "model.py").as_uri(), "name": "net"}, "setup": {"inputs": inputs}}
        capture = (await client.ask("tvls/graph/open", params).result(120))["capture"]
        asked = {"captureId": capture["captureId"]}
        await client.request("tvls/environment/select", {"command": ["/usr/bin/python3"]})
        info = await client.request("tvls/graph/info", asked)
        assert info["stale"]["interpreter"] is True
        await client.request("tvls/environment/select", {"command": [models_python]})
        assert (await client.request("tvls/graph/info", asked))["freshness"] == "fresh"
        await client.shut_down()


def offered(choices: list[dict[str, Any]]) -> set[str]:
    return {choice["value"] for choice in choices if "reason" not in choice}


@pytest.mark.parametrize("wide", [False, True])
async def test_devices_and_dtypes_are_those_of_the_environment(
    folder: Path, tmp_path: Path, models_python: str, wide: bool
) -> None:  # R13, R21
    canary = f"open({str(tmp_path / 'canary')!r}, 'w').close()\n"
    for name in ("jax.py", "sitecustomize.py", "model.py"):  # nothing of the workspace is imported
        (folder / name).write_text(canary)
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "JAX_ENABLE_X64": "1" if wide else "0"}
    async with LspClient.start(env=env) as client:
        await client.initialize({}, [folder], {"interpreter": models_python, "trustedFolders": [folder.as_uri()]})
        info = await client.ask("tvls/environment/probe", {}).result(120)
        await client.shut_down()
    jax, torch = info["frameworks"]
    assert offered(jax["devices"]) == {"cpu"}
    (cuda,) = [choice for choice in jax["devices"] if choice["value"] == "cuda:0"]
    assert "CUDA build of jaxlib" in cuda["reason"]
    assert {"float32", "bfloat16", "int32", "bool", "key<fry>"} <= offered(jax["dtypes"])
    assert ("float64" in offered(jax["dtypes"])) is wide
    assert jax.get("wide", False) is wide
    if not wide:
        (double,) = [choice for choice in jax["dtypes"] if choice["value"] == "float64"]
        assert "JAX_ENABLE_X64=1" in double["reason"]
    assert torch["reason"] == "torch is not installed."
    assert "JAX functions, Flax Linen modules, Flax NNX modules" in info["verdict"]
    assert not (tmp_path / "canary").exists()
