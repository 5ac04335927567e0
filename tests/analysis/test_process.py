"""The analysis process: isolation, order, crash, end; and that nothing of the workspace is ever imported."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from tvls.analysis.client import Analysis, AnalysisError
from tvls.analysis.discover import discover

from .workspace_files import write

NET = "from flax import linen as nn\nclass Net(nn.Module): ...\n"
LONG = NET + "def f(x): return x + 1\n" * 500


async def names(analysis: Analysis, path: Path, text: str | None = None) -> list[str]:
    return [t.name for t in (await analysis.targets(path, text, roots=[path.parent])).targets]


async def test_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # R3
    canary = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    names_of_ours = [
        "msgspec",
        "libcst",
        "ast",
        "queue",
        "sitecustomize",
        "usercustomize",
        "tvls",
        "jax",
        "flax",
        "torch",
    ]
    for name in names_of_ours:
        (tmp_path / f"{name}.py").write_text(canary)
    (tmp_path / "conftest.py").write_text(canary)
    newer = "type X = int\n"  # makes the process import libcst
    (tmp_path / "model.py").write_text(canary + newer + "import jax.numpy as jnp, base\ndef f(x): return jnp.sin(x)\n")
    (tmp_path / "base.py").write_text(canary + "from model import f\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    analysis = Analysis()
    try:
        answer = await analysis.targets(tmp_path / "model.py", roots=[tmp_path])
        assert answer.parsed
        await analysis.index([tmp_path])
    finally:
        await analysis.aclose()
    await discover([tmp_path])
    assert not (tmp_path / "ran").exists()


def test_the_daemon_side_has_no_parser_and_no_framework() -> None:  # R3
    code = (
        "import sys, tvls.analysis.client, tvls.analysis.discover\n"
        "print({'libcst', 'jax', 'flax', 'torch'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


async def test_a_killed_process_is_replaced(analysis: Analysis, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    other = tmp_path / "base.py"
    assert await names(analysis, other, NET) == ["Net"]
    assert await names(analysis, path, "from base import Net\nclass Mine(Net): ...\n") == ["Mine"]
    first = analysis.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    # the unsaved buffers of before are known to the new process
    assert await names(analysis, path) == ["Mine"]
    assert analysis.pid not in (None, first)


async def test_a_request_that_kills_the_process_is_tried_once_more(analysis: Analysis, tmp_path: Path) -> None:
    """Kills the process whenever it runs, so that no attempt can succeed."""
    write("".join(f"=== m{i}.py\n{NET * 200}" for i in range(300)), tmp_path)
    pids: set[int] = set()
    index = asyncio.create_task(analysis.index([tmp_path]))
    while not index.done():
        if (pid := analysis.pid) is not None and pid not in pids:
            pids.add(pid)
            os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.001)
    with pytest.raises(AnalysisError, match="ended twice"):
        await index
    assert len(pids) == 2
    assert await names(analysis, tmp_path / "ok.py", NET) == ["Net"]


async def test_a_lens_does_not_wait_for_an_index(analysis: Analysis, tmp_path: Path) -> None:
    write("".join(f"=== m{i}.py\n{LONG}" for i in range(400)), tmp_path)
    await names(analysis, tmp_path / "ok.py", NET)
    index = asyncio.create_task(analysis.index([tmp_path]))
    await asyncio.sleep(0.05)
    for number in range(5):
        assert await names(analysis, tmp_path / "ok.py", NET + f"# {number}\n") == ["Net"]
    assert not index.done()
    assert len(await index) == 400


async def test_a_cancelled_index_stops(analysis: Analysis, tmp_path: Path) -> None:
    write("".join(f"=== m{i}.py\n{LONG}" for i in range(400)), tmp_path)
    index = asyncio.create_task(analysis.index([tmp_path]))
    await asyncio.sleep(0.5)
    index.cancel()
    with pytest.raises(asyncio.CancelledError):
        await index
    assert await names(analysis, tmp_path / "ok.py", NET) == ["Net"]
    assert analysis.pid is not None
    process = psutil.Process(analysis.pid)
    before = process.cpu_times().user
    await asyncio.sleep(0.3)
    assert process.cpu_times().user - before < 0.1


async def test_many_requests_at_once_get_their_own_answers(analysis: Analysis, tmp_path: Path) -> None:
    async def one(number: int) -> list[str]:
        return await names(analysis, tmp_path / f"m{number}.py", NET.replace("Net", f"Net{number}"))

    assert await asyncio.gather(*(one(n) for n in range(50))) == [[f"Net{n}"] for n in range(50)]


def test_it_ends_with_the_daemon() -> None:
    code = textwrap.dedent("""
        import asyncio, sys, pathlib
        from tvls.analysis.client import Analysis
        async def main():
            analysis = Analysis()
            await analysis.targets(pathlib.Path("m.py"), "x = 1")
            print(analysis.pid, flush=True)
            await asyncio.sleep(60)
        asyncio.run(main())
    """)
    daemon = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert daemon.stdout is not None
    child = psutil.Process(int(daemon.stdout.readline()))
    daemon.kill()
    daemon.wait()
    child.wait(10)


async def test_closed_is_closed(tmp_path: Path) -> None:
    analysis = Analysis()
    await names(analysis, tmp_path / "m.py", NET)
    pid = analysis.pid
    await analysis.aclose()
    assert pid is not None
    assert not psutil.pid_exists(pid)
    with pytest.raises(AnalysisError, match="closed"):
        await names(analysis, tmp_path / "m.py", NET)


async def test_buffers_and_the_disk(analysis: Analysis, tmp_path: Path) -> None:
    base, user = tmp_path / "base.py", tmp_path / "user.py"
    user.write_text("from base import Base\nclass Mine(Base): ...\n")
    assert await names(analysis, user) == []
    base.write_text("from flax import linen as nn\nclass Base(nn.Module): ...\n")  # appears
    assert await names(analysis, user) == ["Mine"]
    assert await names(analysis, base, "class Base: ...\n") == []  # an unsaved buffer hides it
    assert await names(analysis, user) == []
    analysis.forget(base)  # closed without saving
    assert await names(analysis, user) == ["Mine"]
    base.write_text("class Base: ...\n")  # changes on disk
    assert await names(analysis, user) == []
    base.unlink()
    package = tmp_path / "base"
    package.mkdir()
    (package / "__init__.py").write_text("from torch.nn import Module as Base\n")
    assert await names(analysis, user) == ["Mine"]
    assert [t.name for t in await analysis.index([tmp_path])] == ["Mine"]
    user.unlink()
    assert await names(analysis, user) == []


async def test_an_index_leaves_out_what_is_no_source_of_the_workspace(analysis: Analysis, tmp_path: Path) -> None:
    left_out = [
        ".git/a.py",
        ".hidden/a.py",
        "env/lib/a.py",
        "node_modules/a.py",
        "lib/site-packages/a.py",
        "__pycache__/a.py",
    ]
    write("".join(f"=== {name}\n{NET}" for name in [*left_out, "kept/a.py", "kept.py"]), tmp_path)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "folder.py").mkdir()
    found = [Path(t.path).relative_to(tmp_path).as_posix() for t in await analysis.index([tmp_path])]
    assert sorted(found) == ["kept.py", "kept/a.py"]


async def test_discover(tmp_path: Path) -> None:
    write(
        f"=== pyproject.toml\n=== src/lib/base.py\n{NET}"
        "=== tools/use.py\nfrom lib.base import Net\nclass Mine(Net): ...\n",
        tmp_path,
    )
    # a base outside the path that was asked for is followed, and not reported
    found = await discover([tmp_path / "tools"])
    assert [(t.name, t.kind, t.line) for t in found.targets] == [("Mine", "flax.linen", 2)]
    assert [t.name for t in (await discover([tmp_path / "tools" / "use.py", tmp_path / "src"])).targets] == [
        "Mine",
        "Net",
    ]
    with pytest.raises(FileNotFoundError):
        await discover([tmp_path / "nowhere"])
