"""`tvls discover` as a shell sees it: what it says of files that are no models, and how it prints odd names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

NET = "import jax.numpy as jnp\ndef net(x): return jnp.sin(x)\n"


def discover(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tvls", "discover", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONSAFEPATH": "1"} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_a_named_file_that_is_no_python(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import jax\n\ndef net(x:\n")
    (tmp_path / "unrelated.py").write_text("print 'hello'\n")
    (tmp_path / "ok.py").write_text(NET)
    done = discover(tmp_path, "bad.py")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"bad.py:3: not valid Python: ")
    assert discover(tmp_path, "unrelated.py").returncode == 1  # though nothing in it could be a model
    done = discover(tmp_path, "ok.py", "bad.py", "--json")
    assert (done.returncode, len(json.loads(done.stdout))) == (1, 1)
    assert b"bad.py:3:" in done.stderr
    # among other files of a folder it is told, and no failure
    done = discover(tmp_path, ".")
    assert done.returncode == 0
    assert b"ok.py:2" in done.stdout
    assert b"bad.py:3: not valid Python: " in done.stderr
    assert discover(tmp_path, "ok.py").stderr == b""


def test_a_named_path_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.py")
    done = discover(tmp_path, "fifo.py")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"fifo.py: the path is no regular file" in done.stderr


def test_names_cannot_command_the_terminal(tmp_path: Path) -> None:
    names = ["\x1b[2Jred.py", "line\nbreak.py", "c1\x9b31m.py", "\u202eyp_txt.py"]
    for name in names:
        (tmp_path / name).write_text(NET)
        (tmp_path / f"bad{name}").write_text("import jax\n(")
    done = discover(tmp_path, ".", PYTHONIOENCODING="utf-8")
    for output in (done.stdout.decode(), done.stderr.decode()):
        assert not any(character in output for character in "\x1b\x9b\u202e")
        assert len(output.splitlines()) == len(names)
    assert {row["path"] for row in json.loads(discover(tmp_path, ".", "--json").stdout)} == set(names)
    done = discover(tmp_path, "gone\x1b[2J.py")
    assert done.returncode == 2
    assert b"\x1b" not in done.stderr


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_names_that_the_terminal_cannot_show(encoding: str, tmp_path: Path) -> None:
    names = ["größe.py", "変数.py"]
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.py")).write_text(NET)
        names.append(os.fsdecode(b"n\xff.py"))
    except OSError:
        pass  # this file system takes valid names only
    for name in names[:2]:
        (tmp_path / name).write_text(NET.replace("net", name.removesuffix(".py")))
    done = discover(tmp_path, ".", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == len(names)
    rows = json.loads(discover(tmp_path, ".", "--json", PYTHONIOENCODING=encoding).stdout.decode(encoding))
    assert {row["path"] for row in rows} == set(names)
