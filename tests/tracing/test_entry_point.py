"""The worker script as a process of its own: its modes, its imports, its descriptors."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tracing.workers import request_for
from tvls.environments.launch import WORKER_SCRIPT, worker_environment

IMPORTS = """
import builtins, json, sys
def net():
    import types, tvls
    names = sorted(name for name in sys.modules if name.partition(".")[0] in ("tvls", "msgspec", "pygls", "libcst"))
    try:
        import tvls.protocol
    except ImportError:
        names.append("no tvls.protocol")
    return [types.__file__, tvls.__file__, *names]
"""


def answer_of(stdout: bytes) -> list[tuple[bytes, bytes]]:
    frames = []
    while stdout:
        size = int.from_bytes(stdout[1:9], "big")
        frames.append((stdout[:1], stdout[9 : 9 + size]))
        stdout = stdout[9 + size :]
    return frames


def run_trace(workspace: Path, script: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-B", "-u", str(script), *(arguments or ("trace",))],
        input=json.dumps(request_for(workspace)).encode() + b"\n",
        capture_output=True,
        timeout=60,
        cwd=workspace,
    )


def test_one_request_on_standard_input_one_answer_on_standard_output(workspace: Path) -> None:
    (workspace / "model.py").write_text(
        "import os, subprocess\n"
        "def net():\n"
        "    print('printed')\n"
        "    os.write(1, b'written\\n')\n"
        "    subprocess.run(['echo', 'echoed'])\n"
        "    return 1\n"
    )
    done = run_trace(workspace, Path(__file__).with_name("fake_worker.py"))
    frames = answer_of(done.stdout)
    assert [kind for kind, _ in frames] == [b"P", b"P", b"P", b"D"]
    assert json.loads(frames[-1][1])["outputs"] == {"static": 1}
    assert done.stderr.decode().split() == ["printed", "written", "echoed"]
    assert done.returncode == 0


def test_the_worker_imports_nothing_of_ours_but_worker_and_capture(workspace: Path) -> None:
    # R30; `-m` and an installed tvls put more within reach than the finder serves
    (workspace / "model.py").write_text(IMPORTS)
    done = run_trace(workspace, Path(__file__).with_name("fake_worker.py"))
    types, package, *names = json.loads(answer_of(done.stdout)[-1][1])["outputs"]["static"]
    assert Path(types).parent == Path(json.__file__).parent.parent
    assert Path(package) == WORKER_SCRIPT.parent.parent / "__init__.py"
    modules = {name for name in names if name.startswith("tvls")}
    assert {name.split(".")[1] for name in modules if "." in name} == {"worker", "capture"}
    assert "no tvls.protocol" in names
    assert not {"msgspec", "pygls", "libcst"} & set(names)


def test_a_warm_worker_whose_daemon_has_gone_already_imports_nothing(tmp_path: Path) -> None:
    # R31: the daemon was killed while this Python was starting, too early for the kernel to tell it
    imported = tmp_path / "imported"
    ours, theirs = socket.socketpair()
    ours.close()
    done = subprocess.run(
        [sys.executable, "-B", str(Path(__file__).with_name("fake_worker.py")), "warm", "jax"],
        stdin=theirs,
        capture_output=True,
        timeout=30,
        env={**os.environ, "FAKE_PRELOAD": f"dying:{imported}"},
    )
    assert done.returncode == 1
    assert not imported.exists()


def test_a_wrong_command_line_is_told() -> None:
    done = subprocess.run([sys.executable, str(WORKER_SCRIPT), "dance"], capture_output=True, timeout=30)
    assert done.returncode == 2
    assert b"usage" in done.stderr


def test_a_request_that_is_none_ends_with_a_reason(workspace: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", str(WORKER_SCRIPT), "trace"],
        input=b"{}\n",
        capture_output=True,
        timeout=30,
        cwd=workspace,
    )
    assert done.returncode == 1
    assert b"KeyError" in done.stderr
    assert done.stdout == b""


def test_the_environment_of_a_worker_is_the_users_with_named_changes() -> None:
    user = {
        "PATH": "/bin",
        "PYTHONPATH": "x",
        "JAX_ENABLE_X64": "1",
        "OMP_NUM_THREADS": "8",
        "__PYVENV_LAUNCHER__": "y",
    }
    assert worker_environment(user, "m") == {
        "PATH": "/bin",
        "PYTHONPATH": "x",
        "JAX_ENABLE_X64": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "VECLIB_MAXIMUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "TVLS_WORKER": "m",
    }
    kept = worker_environment({"PYTHONHASHSEED": "7", "XLA_PYTHON_CLIENT_PREALLOCATE": "true"}, "m")
    assert (kept["PYTHONHASHSEED"], kept["XLA_PYTHON_CLIENT_PREALLOCATE"]) == ("7", "true")


@pytest.mark.parametrize("missing", [False, True])
def test_no_bytecode_appears_beside_the_worker(workspace: Path, missing: bool) -> None:
    (workspace / "model.py").write_text("def net():\n    return 1\n" if not missing else "import nothing_there\n")
    before = {path: path.stat().st_mtime_ns for path in WORKER_SCRIPT.parent.rglob("*.pyc")}
    done = run_trace(workspace, Path(__file__).with_name("fake_worker.py"))
    document = json.loads(answer_of(done.stdout)[-1][1])
    assert ("failure" in document) is missing
    assert {path: path.stat().st_mtime_ns for path in WORKER_SCRIPT.parent.rglob("*.pyc")} == before
