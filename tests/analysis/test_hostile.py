"""Files that are no source, that hang or end the process, or that cost more than they are worth."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from tvls.analysis.client import Analysis, AnalysisError
from tvls.analysis.types import FoundTarget
from tvls.reading import LARGEST

from .workspace_files import write

NET = "import jax.numpy as jnp\nfrom flax import linen as nn\ndef net(x): return jnp.sin(x)\n"
SLOW = b"# coding: punycode\nimport jax\n" + b"-" + b"a" * 1_000_000
"""Decoding it takes minutes, by the rules of the codec."""
DEADLINE = 3.0


@pytest_asyncio.fixture
async def hasty() -> AsyncIterator[Analysis]:
    """A client that does not wait long."""
    client = Analysis(deadline=DEADLINE)
    yield client
    await client.aclose()


def found(targets: list[FoundTarget]) -> list[tuple[str, str]]:
    return [(Path(t.path).name, t.name) for t in targets]


async def error_of(analysis: Analysis, path: Path, text: str | None = None) -> str:
    answer = await analysis.targets(path, text, roots=[path.parent])
    assert (answer.targets, answer.parsed) == ([], False)
    assert answer.error is not None
    return answer.error.message


# --- what is read ----------------------------------------------------------------------------------------------------


async def test_only_regular_files_are_read(analysis: Analysis, tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text(NET)
    os.mkfifo(tmp_path / "fifo.py")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "itself.py").symlink_to("itself.py")
    (tmp_path / "package").mkdir()
    os.mkfifo(tmp_path / "package" / "__init__.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.py"))
        for name in ("fifo", "zero", "socket"):
            assert "no regular file" in await error_of(analysis, tmp_path / f"{name}.py")
            # neither is it opened for the sake of an import, where the file says nothing itself and where it does
            user = tmp_path / "user.py"
            user.write_text(f"import {name}, package\nfrom {name} import *\nclass A({name}.Base): pass\n")
            assert (await analysis.targets(user, roots=[tmp_path])).targets == []
            user.write_text(f"import {name}\nfrom {name} import *\nfrom package import *\n{NET}")
            assert found((await analysis.targets(user, roots=[tmp_path])).targets) == [("user.py", "net")]
        survey = await analysis.survey([tmp_path])
    assert found(survey.targets) == [("ok.py", "net"), ("user.py", "net")]
    assert survey.errors == []  # an index is about files: what is none is passed over


async def test_a_file_that_becomes_a_fifo_below_a_broken_buffer(analysis: Analysis, tmp_path: Path) -> None:  # R8
    os.mkfifo(tmp_path / "m.py")
    answer = await analysis.targets(tmp_path / "m.py", NET + "(", roots=[tmp_path])
    assert (answer.targets, answer.parsed) == ([], False)


async def test_huge_files_are_not_read(analysis: Analysis, tmp_path: Path) -> None:
    huge, large = tmp_path / "huge.py", tmp_path / "large.py"
    huge.write_text(NET)
    os.truncate(huge, 1 << 40)  # without its blocks
    large.write_text(NET + "#" * (LARGEST - len(NET)))
    assert "larger than 16 MB" in await error_of(analysis, huge)
    assert "longer than 16 million" in await error_of(analysis, tmp_path / "buffer.py", NET + "#" * LARGEST)
    assert found((await analysis.targets(large, roots=[tmp_path])).targets) == [("large.py", "net")]
    large.write_text(NET + "#" * (LARGEST - len(NET) + 1))
    assert "larger than 16 MB" in await error_of(analysis, large)


async def test_a_file_that_cannot_be_read_or_decoded_is_told(analysis: Analysis, tmp_path: Path) -> None:
    write(f"=== ok.py\n{NET}=== bad.py\nimport jax\nx = (\n=== plain.py\nx = (\n", tmp_path)
    (tmp_path / "latin.py").write_bytes(b"# jax \xe9\n")
    survey = await analysis.survey([tmp_path])
    assert found(survey.targets) == [("ok.py", "net")]
    errors = {Path(item.path).name: item.error for item in survey.errors}
    # `plain.py` cannot reach a framework, so that nobody needs to know whether it is valid
    assert [(name, e.line, e.syntax) for name, e in errors.items()] == [("bad.py", 2, True), ("latin.py", 0, False)]
    named = await analysis.survey([tmp_path], only=[tmp_path / "plain.py"])
    assert [(item.error.line, item.error.syntax) for item in named.errors] == [(1, True)]


# --- what hangs or dies ----------------------------------------------------------------------------------------------


async def test_a_file_that_hangs_is_left_out(hasty: Analysis, tmp_path: Path) -> None:
    slow, ok = tmp_path / "a_slow.py", tmp_path / "ok.py"
    slow.write_bytes(SLOW)
    ok.write_text(NET)
    await hasty.targets(ok, roots=[tmp_path])
    first = hasty.pid
    start = time.monotonic()
    hung = asyncio.create_task(error_of(hasty, slow))
    others = [asyncio.create_task(hasty.targets(ok, roots=[tmp_path])) for _ in range(3)]
    index = asyncio.create_task(hasty.survey([tmp_path]))
    assert "given up" in await hung
    for other in others:
        assert found((await other).targets) == [("ok.py", "net")]
    survey = await index
    assert found(survey.targets) == [("ok.py", "net")]
    assert [Path(item.path).name for item in survey.errors] == ["a_slow.py"]
    assert time.monotonic() - start < 4 * DEADLINE

    # it is known from now on, with this content; files that import it are none the worse
    second = hasty.pid
    assert second != first
    (tmp_path / "user.py").write_text("from a_slow import *\n" + NET)
    assert found(await hasty.index([tmp_path])) == [("ok.py", "net"), ("user.py", "net")]
    slow.write_text(NET)
    assert len(await hasty.index([tmp_path])) == 3
    slow.write_bytes(SLOW)
    assert "given up" in await error_of(hasty, slow)
    assert hasty.pid == second


async def test_a_hang_is_noticed_though_every_request_is_cancelled(hasty: Analysis, tmp_path: Path) -> None:
    """As by an editor, in which somebody types: no request waits for as long as the deadline."""
    (tmp_path / "slow.py").write_bytes(SLOW)
    await hasty.targets(tmp_path / "ok.py", NET)
    first = hasty.pid
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(hasty.targets(tmp_path / "slow.py", roots=[tmp_path]), 0.2)
    end = time.monotonic() + 4 * DEADLINE
    while hasty.pid == first and time.monotonic() < end:
        with suppress(TimeoutError):
            await asyncio.wait_for(hasty.targets(tmp_path / "ok.py", NET), 0.6)
    assert hasty.pid != first
    assert found((await hasty.targets(tmp_path / "ok.py", NET)).targets) == [("ok.py", "net")]


async def test_a_file_that_ends_the_process_twice_is_left_out(hasty: Analysis, tmp_path: Path) -> None:
    """Kills the process whenever it is at the slow file, as a fault in a parser would."""
    (tmp_path / "slow.py").write_bytes(SLOW)
    (tmp_path / "ok.py").write_text(NET)
    killed: list[int] = []
    index = asyncio.create_task(hasty.survey([tmp_path]))
    while not index.done():
        await asyncio.sleep(0.05)
        pid = hasty.pid
        if pid is not None and pid not in killed and psutil.Process(pid).cpu_times().user > 0.6:
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)
    survey = await index
    assert found(survey.targets) == [("ok.py", "net")]
    assert [Path(item.path).name for item in survey.errors] == ["slow.py"]
    assert len(killed) == 2


@pytest.mark.parametrize("busy", [False, True])
async def test_a_stopped_process_is_replaced(busy: bool, hasty: Analysis, tmp_path: Path) -> None:
    write("".join(f"=== m{i}.py\n{NET}" + "def f(x): return x + 1\n" * 300 for i in range(60)), tmp_path)
    await hasty.targets(tmp_path / "ok.py", NET)
    pid = hasty.pid
    assert pid is not None
    index = asyncio.create_task(hasty.survey([tmp_path]))
    if busy:
        await asyncio.sleep(0.1)
    os.kill(pid, signal.SIGSTOP)
    survey = await index
    assert len(survey.targets) == 60
    assert survey.errors == []  # no file is blamed
    assert hasty.pid != pid
    await hasty.aclose()
    assert not psutil.pid_exists(pid)


async def test_a_process_that_is_always_stopped_is_not_tried_for_ever(tmp_path: Path) -> None:
    hasty = Analysis(deadline=0.5)
    stopped: set[int] = set()
    asked = asyncio.create_task(hasty.targets(tmp_path / "ok.py", NET))
    while not asked.done():
        if (pid := hasty.pid) is not None and pid not in stopped:
            stopped.add(pid)
            os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(0.001)
    with pytest.raises(AnalysisError, match="ended twice"):
        await asked
    assert len(stopped) == 2
    await hasty.aclose()
    assert not any(psutil.pid_exists(pid) for pid in stopped)


async def test_closing_does_not_wait_for_a_stopped_process(tmp_path: Path) -> None:
    analysis = Analysis()
    await analysis.targets(tmp_path / "ok.py", NET)
    pid = analysis.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    asked = asyncio.create_task(analysis.targets(tmp_path / "ok.py", NET))
    await asyncio.sleep(0)
    await asyncio.wait_for(analysis.aclose(), 10)
    with pytest.raises(AnalysisError, match="closed"):
        await asked
    assert not psutil.pid_exists(pid)


# --- what costs too much ---------------------------------------------------------------------------------------------

COSTLY: dict[str, tuple[str, int | None]] = {
    # text before a target, and how many targets there are; None: the file is refused
    "dotted import": ("from " + "a." * 50_000 + "b import c\n", None),
    "dotted import, second": ("import jax, " + "a." * 50_000 + "b as c\n", None),
    "dotted import over lines": ("if 1: import jax; import " + "a \\\n . " * 50_000 + "b\n", None),
    "dotted import after blanks": ("from" + " " * 50_000 + "a." * 50_000 + "b import c\n", None),
    "dotted name in a string": ("s = '" + "a." * 50_000 + "'\nt = 'import " + "a." * 90 + "'\n", 1),
    "dotted name in an expression": ("s = jnp" + ".b" * 3_000 + "\n", 1),
    "attributes of a call": ("def g(): return k()" + ".b" * 3_000 + "\n", 1),
    "methods of a long name": (
        f"class {'A' * 500_000}(nn.Module):\n" + "".join(f"    def f{i}(self): pass\n" for i in range(5_000)),
        1,
    ),
    "a long module": (
        f"from {'m' * 200_000} import {', '.join(f'x{i}' for i in range(5_000))}\n"
        f"def g(x): return {'+'.join(f'x{i}' for i in range(5_000))}\n",
        1,
    ),
    "aliases": ("from a import (" + "".join(f"x as x{i},\n" for i in range(30_000)) + ")\n", 1),
    "a long __all__": ("__all__ = [" + "'a'," * 50_000 + "]\n" + "__all__ += ['net']\n" * 20_000, 1),
    "star imports": ("".join(f"from s{i} import *\na{i} = gone.a\n" for i in range(10_000)), 1),
    "alternatives that double": ("M = nn.Module\n" + "M = M or M\n" * 80 + "class A(M): pass\n", 2),
    "alternatives that grow": ("if a: M = g()\n" * 5_000, 1),
    "branches": ("".join(f"if a:\n    n{i} = 1\n" for i in range(8_000)), 1),
    "diamonds": (
        "class A0(nn.Module): pass\nclass B0(nn.Module): pass\n"
        + "".join(
            f"class A{i}(A{i - 1}, B{i - 1}): pass\nclass B{i}(A{i - 1}, B{i - 1}): pass\n" for i in range(1, 40)
        ),
        81,
    ),
    "a long line of classes": (
        "class A0(nn.Module): pass\n" + "".join(f"class A{i}(A{i - 1}): pass\n" for i in range(1, 1_000)),
        1001,
    ),
}


@pytest.mark.parametrize("name", COSTLY)
async def test_the_cost_of_a_file_is_bounded(name: str, analysis: Analysis, tmp_path: Path) -> None:
    text, count = COSTLY[name]
    path = tmp_path / "m.py"
    path.write_text(NET.replace("def net", text + "def net"))
    await analysis.targets(tmp_path / "ok.py", NET)
    pid = analysis.pid
    assert pid is not None
    answer = await analysis.targets(path, roots=[tmp_path])
    assert analysis.pid == pid
    assert (len(answer.targets) if answer.error is None else None) == count
    assert answer.error is None or "too long" in answer.error.message
    used = psutil.Process(pid)
    assert used.cpu_times().user < 8
    assert used.memory_info().rss < 250_000_000


async def test_modules_that_all_star_import_each_other(analysis: Analysis, tmp_path: Path) -> None:
    stars = "".join(f"from s{i} import *\n" for i in range(30))
    write("".join(f"=== s{i}.py\n{stars}" for i in range(30)), tmp_path)
    (tmp_path / "s17.py").write_text(stars + NET + "Base = nn.Module\n")
    user = tmp_path / "user.py"
    user.write_text(
        "from s3 import *\nclass A(Base): pass\nclass B(Nowhere): pass\ndef f(x): return jnp.sin(gone(x))\n"
    )
    answer = await analysis.targets(user, roots=[tmp_path])
    assert [t.name for t in answer.targets] == ["A", "f"]
    assert analysis.pid is not None
    assert psutil.Process(analysis.pid).cpu_times().user < 8


async def test_a_text_that_looks_like_imports_costs_little(analysis: Analysis, tmp_path: Path) -> None:
    """Files that name no framework are searched for imports by their look."""
    path = tmp_path / "m.py"
    for text in (
        "from" + " " * 300_000,
        "from a import (\n" * 20_000,
        "import " + "a, " * 100_000,
        "from " + "a." * 99_999,
    ):
        path.write_text(text)
        answer = await analysis.targets(path, roots=[tmp_path])
        assert answer.targets == []
    assert analysis.pid is not None
    assert psutil.Process(analysis.pid).cpu_times().user < 8


async def test_a_file_that_is_too_deep_to_follow_fails_alone(analysis: Analysis, tmp_path: Path) -> None:
    count = 6_000
    write("".join(f"=== s{i}.py\nfrom s{i + 1} import *\n" for i in range(count)), tmp_path)
    write(f"=== s{count}.py\n{NET}=== s.py\nfrom s0 import *\ndef f(x): return jnp.sin(x)\n=== z.py\n{NET}", tmp_path)
    survey = await analysis.survey([tmp_path], only=[tmp_path / "s.py", tmp_path / "z.py"])
    assert ("z.py", "net") in found(survey.targets)
    # either it is followed to its end, or the file is told as one that was not
    assert (("s.py", "f") in found(survey.targets)) != (str(tmp_path / "s.py") in {e.path for e in survey.errors})


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def odd_folder(tmp_path: Path) -> Path:
    """A folder whose name is not valid UTF-8, with a file of such a name."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/fold\xe9r"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the file system takes valid names only")
    Path(os.fsdecode(os.fsencode(folder) + b"/n\xff\xfe.py")).write_text(NET)
    (folder / "m.py").write_text("from base import Net\nclass A(Net): pass\n")
    (folder / "base.py").write_text(NET + "class Net(nn.Module): pass\n")
    (folder / "z.py").write_text("import jax\n(")
    return folder


async def test_names_that_are_not_utf_8(analysis: Analysis, tmp_path: Path, odd_folder: Path) -> None:
    folder = odd_folder
    odd = folder / os.fsdecode(b"n\xff\xfe.py")
    survey = await analysis.survey([tmp_path])
    assert [(Path(t.path), t.name) for t in survey.targets] == [
        (folder / "base.py", "net"),
        (folder / "base.py", "Net"),
        (folder / "m.py", "A"),
        (odd, "net"),
    ]
    assert [item.path for item in survey.errors] == [str(folder / "z.py")]
    assert {t.root for t in survey.targets} == {str(folder)}
    for target in survey.targets:
        target.module.encode()  # it goes into messages
    one = (await analysis.targets(odd, roots=[folder])).targets
    assert [(t.path, t.name, t.root) for t in one] == [(str(odd), "net", str(folder))]
    assert [t.name for t in (await analysis.targets(odd, NET.replace("net", "other"), [folder])).targets] == ["other"]
    analysis.forget(odd)
    assert [t.name for t in (await analysis.targets(odd, roots=[folder])).targets] == ["net"]
    assert len(await analysis.index([folder], only=[odd, folder])) == 4


async def test_a_buffer_with_surrogates(analysis: Analysis, tmp_path: Path) -> None:
    answer = await analysis.targets(tmp_path / "m.py", NET + "s = '\ud800'\n")
    assert (answer.targets, answer.parsed) == ([], False)
    assert [t.name for t in (await analysis.targets(tmp_path / "m.py", NET)).targets] == ["net"]


async def test_a_file_that_no_import_can_name_has_no_targets(analysis: Analysis, tmp_path: Path) -> None:
    names = ["a.b.py", ".hidden.py", ".py", "v1.0/m.py", "my-model.py", "v2.0/__init__.py", "v2.0/m.py"]
    write("".join(f"=== {name}\n{NET}" for name in names), tmp_path)
    targets = await analysis.index([tmp_path])
    # a folder with a dot is no package: what is in it is imported from it
    assert [(Path(t.path).relative_to(tmp_path).as_posix(), t.module) for t in targets] == [
        ("my-model.py", "my-model"),
        ("v1.0/m.py", "m"),
        ("v2.0/__init__.py", "__init__"),
        ("v2.0/m.py", "m"),
    ]
    assert [t.root for t in targets] == [str(tmp_path / p) for p in (".", "v1.0", "v2.0", "v2.0")]


# --- the folder that is trusted --------------------------------------------------------------------------------------


async def test_nothing_is_imported_from_outside_the_workspace_folder(analysis: Analysis, tmp_path: Path) -> None:  # R4
    write(
        f"""=== outer/__init__.py
=== outer/base.py
{NET}class Base(nn.Module): pass
=== outer/inner/__init__.py
{NET}
=== outer/inner/m.py
{NET}from .local import Local
class A(Local): pass
=== outer/inner/local.py
{NET}class Local(nn.Module): pass
=== outer/inner/sub/__init__.py
=== outer/inner/sub/n.py
{NET}from ..local import Local
class B(Local): pass
=== outer/inner/leaves.py
from ..base import Base
class C(Base): pass
=== outer/inner/sub/leaves.py
from ...base import Base
from outer.base import Base as Other
class D(Base): pass
class E(Other): pass
""",
        tmp_path,
    )
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    for roots in ([inner], [tmp_path, inner], [outer, inner], [inner, outer, tmp_path]):
        targets = await analysis.index(roots, only=[inner])
        assert {t.root for t in targets} == {str(inner)}, roots
        modules = {t.name: t.module for t in targets}
        assert modules["A"] == "m"
        assert modules["B"] == "sub.n"
        # what the dots of C and D mean lies outside; E can be imported where its folder is open too
        assert "C" not in modules
        assert "D" not in modules
        assert ("E" in modules) == (len(roots) > 1 and tmp_path in roots)
    for path in inner.rglob("*.py"):
        for target in (await analysis.targets(path, roots=[inner])).targets:
            assert target.root == str(inner)
    # with the outer folder open, it is the package that it was
    whole = {t.name: (t.root, t.module) for t in await analysis.index([tmp_path])}
    assert whole["A"] == (str(tmp_path), "outer.inner.m")
    assert whole["C"] == (str(tmp_path), "outer.inner.leaves")
    assert {"D", "E"} <= set(whole)
