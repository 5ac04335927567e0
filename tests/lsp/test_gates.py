"""The gates of opening under odd circumstances: whose code runs, and whose graph is answered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import LspClient, ResponseError

INPUT = {"inputs": {"args": [{"kind": "tensor", "shape": [3], "dtype": "float32"}]}}


def model(path: Path, body: str = "return jnp.sin(x)", before: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"import jax.numpy as jnp\n{before}\n\ndef net(x):\n    {body}\n")
    return path


def target(path: Path) -> dict[str, Any]:
    return {"target": {"uri": path.as_uri(), "name": "net"}, "setup": INPUT}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[LspClient]:
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    async with LspClient.start(env=env) as connected:
        yield connected
        await connected.shut_down()


async def test_an_interpreter_of_another_untrusted_folder_does_not_run(
    client: LspClient, tmp_path: Path, models_python: str
) -> None:  # R4
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    file = model(mine / "model.py")
    python = theirs / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ntouch '{tmp_path}/canary'\nexec '{models_python}' \"$@\"\n")
    python.chmod(0o755)
    options = {"interpreter": str(python), "trustedFolders": [mine.as_uri()]}
    await client.initialize({}, [mine, theirs], options)
    with pytest.raises(ResponseError) as refused:
        await client.request("tvls/graph/open", target(file))
    assert refused.value.data["kind"] == "notTrusted"
    assert refused.value.data["folder"] == theirs.as_uri()
    assert not (tmp_path / "canary").exists()
    await client.request("tvls/trust/grant", {"folder": theirs.as_uri()})
    await client.request("tvls/graph/open", target(file))
    assert (tmp_path / "canary").exists()


async def test_a_link_does_not_widen_trust(client: LspClient, tmp_path: Path, models_python: str) -> None:  # R4
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    model(theirs / "model.py", before=f"open({str(tmp_path / 'canary')!r}, 'w').close()")
    (mine / "link").symlink_to(theirs)
    await client.initialize({}, [mine], {"interpreter": models_python, "trustedFolders": [mine.as_uri()]})
    with pytest.raises(ResponseError) as refused:
        await client.request("tvls/graph/open", target(mine / "link" / "model.py"))
    assert refused.value.data["kind"] == "notTrusted"
    assert not (tmp_path / "canary").exists()


async def test_packages_above_do_not_run(client: LspClient, tmp_path: Path, models_python: str) -> None:  # R4
    inner = tmp_path / "outer" / "inner"
    file = model(inner / "model.py")
    (inner / "__init__.py").write_text("")
    (tmp_path / "outer" / "__init__.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').close()\n")
    await client.initialize({}, [inner], {"interpreter": models_python, "trustedFolders": [inner.as_uri()]})
    await client.request("tvls/graph/open", target(file))
    assert not (tmp_path / "canary").exists()


async def test_withdrawn_trust_ends_a_trace(client: LspClient, tmp_path: Path, models_python: str) -> None:  # R4
    ticks = tmp_path / "ticks"
    slow = (
        f"import time\n    for _ in range(600):\n        open({str(ticks)!r}, 'a').write('.')\n        time.sleep(0.05)"
    )
    file = model(tmp_path / "w" / "model.py", f"{slow}\n    return jnp.sin(x)")
    folder = file.parent
    await client.initialize({}, [folder], {"interpreter": models_python, "trustedFolders": [folder.as_uri()]})
    opening = client.ask("tvls/graph/open", target(file))
    for _ in range(600):
        if ticks.exists():
            break
        await asyncio.sleep(0.05)
    await client.request("tvls/trust/revoke", {"folder": folder.as_uri()})
    refused = await opening.error()
    assert refused.data["kind"] == "notTrusted"
    size = ticks.stat().st_size
    await asyncio.sleep(0.5)
    assert ticks.stat().st_size == size


async def test_each_of_two_equal_names_gets_its_own_graph(
    client: LspClient, tmp_path: Path, models_python: str
) -> None:  # R1
    one = model(tmp_path / "w" / "a" / "model.py")
    two = model(tmp_path / "w" / "b" / "model.py", "return jnp.cos(jnp.sin(x))")
    folder = tmp_path / "w"
    await client.initialize({}, [folder], {"interpreter": models_python, "trustedFolders": [folder.as_uri()]})
    first, second = await asyncio.gather(
        client.request("tvls/graph/open", target(one)), client.request("tvls/graph/open", target(two))
    )
    assert (first["capture"]["uri"], first["capture"]["operations"]) == (one.as_uri(), 1)
    assert (second["capture"]["uri"], second["capture"]["operations"]) == (two.as_uri(), 2)


async def test_a_refresh_is_a_trace_of_its_own(client: LspClient, tmp_path: Path, models_python: str) -> None:  # R27
    file = model(tmp_path / "w" / "model.py", "import time; time.sleep(8)\n    return jnp.sin(x)")
    folder = file.parent
    await client.initialize({}, [folder], {"interpreter": models_python, "trustedFolders": [folder.as_uri()]})
    old = client.ask("tvls/graph/open", target(file))
    await asyncio.sleep(3.5)  # it has read the file by then, and sleeps
    model(file, "return jnp.cos(jnp.sin(x))")
    new = await client.request("tvls/graph/open", target(file) | {"refresh": True})
    assert (new["capture"]["operations"], new["capture"]["freshness"]) == (2, "fresh")
    await old.result()


async def test_equal_profiles_stay_two(client: LspClient, tmp_path: Path, models_python: str) -> None:  # R27
    file = model(tmp_path / "w" / "model.py")
    folder = file.parent
    inputs = '{ args = [{ kind = "tensor", shape = [3], dtype = "float32" }] }'
    profile = f'framework = "jax"\nmodel = "model:net"\ninputs = {inputs}\n'
    text = f"version = 1\n[profiles.a]\n{profile}[profiles.b]\n{profile}"
    (folder / "tensorviz.toml").write_text(text)
    await client.initialize({}, [folder], {"interpreter": models_python, "trustedFolders": [folder.as_uri()]})
    opened = [
        (await client.request("tvls/graph/open", {"profile": name, "folder": folder.as_uri()}))["capture"]
        for name in ("a", "b")
    ]
    assert [capture["profile"] for capture in opened] == ["a", "b"]
    (folder / "tensorviz.toml").write_text(text.replace("shape = [3]", "shape = [4]", 1))
    states = [(await client.request("tvls/graph/info", {"captureId": c["captureId"]}))["freshness"] for c in opened]
    assert states == ["stale", "fresh"]


async def test_a_folder_that_cannot_be(client: LspClient, tmp_path: Path) -> None:
    await client.initialize({}, [tmp_path])
    for folder in (f"file:///{'x' * 5000}", "file:///%00", "untitled:x", "", os.devnull):
        with pytest.raises(ResponseError) as refused:
            await client.request("tvls/trust/grant", {"folder": folder})
        assert refused.value.code != -32603, folder
