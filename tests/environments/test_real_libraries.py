"""Real PyTorch and real JAX: what is approved comes from the registry, and the rest of an environment stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from tests.environments.stand_ins import installed_in, make_template
from tests.lsp.client import LspClient

pytestmark = pytest.mark.timeout(600)
_BIG = 65_536
_FILES = {
    "wave.py": "import jax.numpy as jnp\n\n\ndef wave(x):\n    return jnp.sin(x) * 2\n",
    "layer.py": "import torch\n\n\nclass Layer(torch.nn.Module):\n    def forward(self, x):\n        return x.relu()\n",
}
_X = {"inputs": {"args": [{"kind": "tensor", "shape": [2, 3], "dtype": "float32"}]}}


def copy_environment(source: Path, target: Path) -> Path:
    """A copy, with links to large files: an installer puts new files in their place, and writes into none."""

    def put(one: str, other: str) -> object:
        if os.stat(one).st_size < _BIG:
            return shutil.copy2(one, other)
        try:
            return os.link(one, other)
        except OSError:  # another file system
            return shutil.copy2(one, other)

    shutil.copytree(source, target, symlinks=True, copy_function=put)
    return target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    return folder


def state_of(tmp_path: Path) -> dict[str, str]:
    """A state of its own, and what pip has downloaded before."""
    pip = os.environ.get("PIP_CACHE_DIR", platformdirs.user_cache_dir("pip"))
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PIP_CACHE_DIR": pip}


async def test_jax_beside_pytorch(tmp_path: Path, folder: Path, torch_python: str) -> None:  # R2
    prefix = copy_environment(Path(torch_python).parent.parent, folder / ".venv")
    before = installed_in(prefix)
    held = {name for name in before if name.startswith(("torch-", "numpy-"))}
    assert len(held) == 2

    async with LspClient.start(env=state_of(tmp_path)) as client:
        await client.initialize({}, [folder], {"trustedFolders": [folder.as_uri()]})

        async def opened(file: str, name: str) -> tuple[str, bool]:
            params = {"target": {"uri": (folder / file).as_uri(), "name": name}, "setup": _X}
            result = await client.ask("tvls/graph/open", params).result(300)
            return result["capture"]["captureId"], result.get("reused", False)

        layer, _ = await opened("layer.py", "Layer")
        params = {"target": {"uri": (folder / "wave.py").as_uri(), "name": "wave"}, "setup": _X}
        error = await client.ask("tvls/graph/open", params).error()
        assert error.data["kind"] == "environmentInvalid"
        plan = await client.ask("tvls/environment/plan", {"kind": "jax.function"}).result(300)
        assert {f"{name}-{version}" for name, version in plan["held"].items()} >= held
        added = {f"{change['name']}-{change['version']}" for change in plan["changes"] if change["change"] == "install"}
        assert {change["name"] for change in plan["changes"]} >= {"jax", "jaxlib"}
        assert installed_in(prefix) == before
        await client.ask("tvls/environment/install", {"planId": plan["planId"]}).result(300)
        # One server through all of it: the workers that knew the environment as it was are gone.
        await opened("wave.py", "wave")
        assert await opened("layer.py", "Layer") == (layer, False)
    after = installed_in(prefix)
    assert held <= after
    assert {name.replace("_", "-") for name in after - before} == {name.replace("_", "-") for name in added}


def test_jax_where_there_is_nothing(tmp_path: Path, folder: Path) -> None:  # R2
    make_template(folder / ".venv")

    def run(*arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "tvls", *arguments]
        env = os.environ | state_of(tmp_path)
        ran = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout if code == 0 else ran.stderr

    trace = ("trace", "wave.py:wave", "--input", "x=float32[2,3]", "--trust")
    assert "`tvls env install`" in run(*trace, code=3)
    plan = json.loads(run("env", "plan", "jax", "--trust", "--json"))
    assert {change["name"] for change in plan["changes"]} >= {"jax", "jaxlib", "numpy"}
    assert installed_in(folder / ".venv") == set()
    run("env", "install", "jax", "--trust", "--yes")
    assert "sin  f32[2,3]" in run(*trace)
