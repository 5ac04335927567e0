"""The worker pool with real processes: answers, gates of time and size, crashes, and what is left behind (nothing)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import tvls
from tests.tracing.workers import (
    FAKE_WORKER,
    environment_of,
    marked_processes,
    marked_sessions,
    request_for,
    traces_of,
    wait_until,
)
from tvls.environments.probe import Environment
from tvls.protocol.errors import TvlsError
from tvls.tracing.pool import WorkerPool


def write_model(workspace: Path, text: str) -> None:
    (workspace / "model.py").write_text(textwrap.dedent(text))


def ignore(phase: str) -> None:
    pass


async def trace(pool: WorkerPool, environment: Environment, request: dict[str, Any]) -> Any:
    return await pool.trace(environment, request, on_progress=ignore)


async def error_of(pool: WorkerPool, environment: Environment, request: dict[str, Any]) -> TvlsError:
    with pytest.raises(TvlsError) as raised:
        await trace(pool, environment, request)
    return raised.value


async def test_a_second_trace_is_forked_from_the_same_warm_worker(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    # R31
    write_model(workspace, "import os\n\ndef net():\n    return [os.getpid(), os.getppid()]\n")
    first = (await trace(pool, environment, request_for(workspace)))["outputs"]["static"]
    second = (await trace(pool, environment, request_for(workspace)))["outputs"]["static"]
    assert first[0] != second[0]
    assert first[1] == second[1] == pool.status()[0].pid
    assert pool.status()[0].state == "warm"


async def test_equal_sources_and_setup_give_the_equal_capture_in_every_kind_of_worker(
    pool: WorkerPool, environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(
        workspace,
        "import random\n\ndef net():\n    return [random.random(), sorted({'a', 'b'})[0], *{'p', 'q', 'r'}]\n",
    )
    warm = await trace(pool, environment, request_for(workspace))
    monkeypatch.setenv("FAKE_PRELOAD", "threads")
    other = WorkerPool(script=FAKE_WORKER)
    cold = await trace(other, environment, request_for(workspace))
    assert other.status()[0].state == "cold"
    await other.aclose()
    assert warm["captureId"] == cold["captureId"]


async def test_a_trace_does_not_tell_whether_it_was_forked_ahead(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    # R31
    write_model(workspace, "import time\n\ndef net():\n    time.sleep(0.3)\n    return [*{'p', 'q', 'r'}]\n")
    await pool.prewarm(environment, "jax")
    answers = await asyncio.gather(*(trace(pool, environment, request_for(workspace)) for _ in range(3)))
    assert len({answer["captureId"] for answer in answers}) == 1


async def test_a_fork_ahead_that_was_killed_fails_no_trace(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    # R31
    write_model(workspace, "import os\n\ndef net():\n    return os.getppid()\n")
    await pool.prewarm(environment, "jax")
    worker = pool.status()[0].pid
    assert worker is not None
    await wait_until(lambda: len(psutil.Process(worker).children()) == 1)
    psutil.Process(worker).children()[0].kill()
    for _ in range(2):
        assert (await trace(pool, environment, request_for(workspace)))["outputs"]["static"] == worker


async def test_progress_tells_the_phases_in_order(pool: WorkerPool, environment: Environment, workspace: Path) -> None:
    write_model(workspace, "def net():\n    pass\n")
    phases: list[str] = []
    await pool.trace(environment, request_for(workspace), on_progress=phases.append)
    assert phases == ["start", "import", "trace"]


async def test_concurrent_requests_share_one_start(pool: WorkerPool, environment: Environment, workspace: Path) -> None:
    write_model(workspace, "import os\n\ndef net():\n    return os.getppid()\n")
    answers = await asyncio.gather(*(trace(pool, environment, request_for(workspace)) for _ in range(6)))
    assert len({answer["outputs"]["static"] for answer in answers}) == 1


async def test_prewarm_makes_the_worker_ready(pool: WorkerPool, environment: Environment) -> None:
    # R31
    await pool.prewarm(environment, "jax")
    assert [status.state for status in pool.status()] == ["warm"]


async def test_the_deadline_ends_the_trace_and_what_it_started(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    # R5, R22
    write_model(
        workspace,
        """
        import os, subprocess, time
        def net():
            subprocess.Popen(["sleep", "1000"])
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.setsid()
                time.sleep(1000)
            while True:
                pass
        """,
    )
    await pool.prewarm(environment, "jax")
    began = time.monotonic()
    error = await error_of(pool, environment, request_for(workspace, limits={"seconds": 0.7}))
    assert time.monotonic() - began < 5
    assert (error.kind, error.data.phase) == ("traceTimeout", "trace")
    worker = pool.status()[0].pid
    assert worker is not None
    await wait_until(lambda: not traces_of(worker))
    assert marked_sessions() == {os.getsid(worker)}


async def test_start_of_the_worker_is_not_counted_against_the_deadline(
    environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PRELOAD", "slow")
    write_model(workspace, "def net():\n    return 1\n")
    pool = WorkerPool(script=FAKE_WORKER)
    answer = await trace(pool, environment, request_for(workspace, limits={"seconds": 0.9}))
    await pool.aclose()
    assert answer["outputs"] == {"static": 1}


async def test_cancelling_ends_the_trace_at_once(pool: WorkerPool, environment: Environment, workspace: Path) -> None:
    # R22
    write_model(
        workspace,
        """
        import pathlib, signal, subprocess, time
        def net():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            pathlib.Path("started").touch()
            time.sleep(1000)
        """,
    )
    task = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    await wait_until((workspace / "started").exists, 20)
    worker = pool.status()[0].pid
    assert worker is not None
    assert len(traces_of(worker)) == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until(lambda: not traces_of(worker), 2)
    assert pool.running == 0
    assert pool.status()[0].state == "warm"


async def test_cancelling_the_first_of_two_waiters_keeps_the_start_for_the_other(
    environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PRELOAD", "slow")
    write_model(workspace, "def net():\n    return 1\n")
    pool = WorkerPool(script=FAKE_WORKER)
    first = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    second = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    await asyncio.sleep(0.3)
    first.cancel()
    assert (await second)["outputs"] == {"static": 1}
    await pool.aclose()


CRASHES = {
    "abort": ("import os\ndef net():\n    print('last words')\n    os.abort()\n", "SIGABRT"),
    "segfault": (
        "import os, signal\ndef net():\n    print('last words')\n    os.kill(os.getpid(), signal.SIGSEGV)\n",
        "SIGSEGV",
    ),
    "exit": ("import os\ndef net():\n    print('last words', flush=True)\n    os._exit(7)\n", "exit code 7"),
    "exit 0": ("import os\ndef net():\n    os.system('echo last words')\n    os._exit(0)\n", "exit code 0"),
    "closed descriptors": (
        "import os\ndef net():\n    os.write(1, b'last words')\n    os.closerange(3, 4096)\n",
        "exit code 1",
    ),
    "its group": (
        "import os, signal\ndef net():\n    os.write(2, b'last words')\n    os.killpg(0, signal.SIGKILL)\n",
        "SIGKILL",
    ),
}


@pytest.mark.parametrize("how", CRASHES)
async def test_a_crash_is_told_with_its_signal_and_the_last_output(
    pool: WorkerPool, environment: Environment, workspace: Path, how: str
) -> None:
    # R22
    text, named = CRASHES[how]
    write_model(workspace, text)
    error = await error_of(pool, environment, request_for(workspace))
    assert error.kind == "workerCrashed"
    assert named in error.message
    assert "last words" in (error.data.stderr or "")
    assert error.data.phase == "trace"
    write_model(workspace, "def net():\n    return 1\n")
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 1}


async def test_closed_descriptors_taken_by_a_file_of_the_users_keep_the_answer_out_of_it(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(
        workspace,
        """
        import os
        def net():
            os.closerange(3, 256)
            for number in range(20):
                os.open(f"mine{number}", os.O_CREAT | os.O_RDWR)
        """,
    )
    error = await error_of(pool, environment, request_for(workspace))
    assert error.kind == "workerCrashed"
    assert {path.stat().st_size for path in workspace.glob("mine*")} == {0}  # noqa: ASYNC240


@pytest.mark.parametrize("number", ["SIGKILL", "SIGTERM"])
async def test_killing_the_warm_worker_fails_that_trace_and_the_next_starts_it_again(
    pool: WorkerPool, environment: Environment, workspace: Path, number: str
) -> None:
    write_model(
        workspace,
        f"""
        import os, signal, subprocess, time
        def net():
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            os.killpg(os.getpgid(os.getppid()), signal.{number})
            time.sleep(1000)
        """,
    )
    error = await error_of(pool, environment, request_for(workspace))
    assert error.kind == "workerCrashed"
    await wait_until(lambda: not marked_processes())
    assert pool.status()[0].state == "broken"
    write_model(workspace, "def net():\n    return 1\n")
    assert not marked_processes(), "a worker came back without being asked for"
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 1}
    assert pool.status()[0].state == "warm"


async def test_a_stopped_warm_worker_does_not_hold_up_a_cancel(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(
        workspace,
        """
        import os, signal, time
        def net():
            os.kill(os.getppid(), signal.SIGSTOP)
            time.sleep(1000)
        """,
    )
    error = await error_of(pool, environment, request_for(workspace, limits={"seconds": 0.5}))
    assert error.kind == "traceTimeout"
    await wait_until(lambda: not marked_processes(), 8)


async def test_code_that_forks_and_returns_twice_gives_one_answer(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(workspace, "import os\n\ndef net():\n    return 'child' if os.fork() == 0 else 'parent'\n")
    for _ in range(5):
        assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": "parent"}
    worker = pool.status()[0].pid
    assert worker is not None
    await wait_until(lambda: not traces_of(worker))


async def test_processes_and_threads_left_behind_hold_up_nothing(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(
        workspace,
        """
        import atexit, os, threading, time
        def net():
            for fd in os.listdir("/proc/self/fd"):
                try:
                    os.set_inheritable(int(fd), True)
                except OSError:
                    pass
            if os.fork() == 0:
                os.setsid()
                os.execvp("sleep", ["sleep", "1000"])
            threading.Thread(target=time.sleep, args=(1000,)).start()
            atexit.register(time.sleep, 1000)
            return 1
        """,
    )
    began = time.monotonic()
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 1}
    assert time.monotonic() - began < 10
    worker = pool.status()[0].pid
    assert worker is not None
    await wait_until(lambda: not traces_of(worker))


async def test_endless_output_is_cut_to_its_end_and_leaves_the_loop_free(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(workspace, "import os\n\ndef net():\n    while True:\n        os.write(2, b'x' * 65536 + b'\\n')\n")
    await pool.prewarm(environment, "jax")
    task = asyncio.create_task(error_of(pool, environment, request_for(workspace, limits={"seconds": 1.0})))
    slowest = 0.0
    while not task.done():
        began = time.monotonic()
        await asyncio.sleep(0.01)
        slowest = max(slowest, time.monotonic() - began)
    error = task.result()
    assert error.kind == "traceTimeout"
    assert error.data.stderr is not None
    assert 0 < len(error.data.stderr) <= 4000
    assert slowest < 0.5


async def test_reading_standard_input_meets_its_end(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(
        workspace, "import sys\n\ndef net():\n    return [sys.stdin.read(), len(open(0, closefd=False).read())]\n"
    )
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": ["", 0]}


async def test_an_answer_over_the_size_limit_is_an_error_of_its_own(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    # R22
    write_model(workspace, "def net():\n    return 'x' * 100_000\n")
    answer = await trace(pool, environment, request_for(workspace, limits={"encoded_bytes": 50_000}))
    assert (answer["failure"]["kind"], answer["failure"]["limit"]) == ("limit", "encoded_bytes")
    assert "encoded bytes; the limit is 50,000" in answer["failure"]["message"]


async def test_a_worker_that_ignores_the_size_limit_is_stopped(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    # R22
    write_model(
        workspace,
        """
        import gc, tvls.worker.channel as channel
        def net():
            line = next(thing for thing in gc.get_objects() if isinstance(thing, channel.Channel))
            line.send(b"D", b"x" * 100_000)
        """,
    )
    error = await error_of(pool, environment, request_for(workspace, limits={"encoded_bytes": 50_000}))
    assert (error.kind, error.data.limit) == ("limitExceeded", "encoded_bytes")


async def test_an_answer_that_is_no_document_is_a_crash(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(
        workspace,
        """
        import gc, tvls.worker.channel as channel
        def net():
            line = next(thing for thing in gc.get_objects() if isinstance(thing, channel.Channel))
            line.send(b"D", b'{"backend": 3}')
        """,
    )
    assert (await error_of(pool, environment, request_for(workspace))).kind == "workerCrashed"


async def test_the_memory_limit_is_a_failure_with_its_name(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    # R22
    write_model(workspace, "def net():\n    blocks = []\n    while True:\n        blocks.append(bytearray(1 << 24))\n")
    answer = await trace(pool, environment, request_for(workspace, limits={"memory_bytes": 300 << 20}))
    assert (answer["failure"]["kind"], answer["failure"]["limit"]) == ("limit", "memory_bytes")
    assert answer["failure"]["frames"][0]["line"] == 4


@pytest.mark.parametrize("preload", ["threads", "broken"])
async def test_without_a_warm_worker_a_cold_one_answers(
    environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch, preload: str
) -> None:
    write_model(workspace, "import os\n\ndef net():\n    return 1\n")
    monkeypatch.setenv("FAKE_PRELOAD", preload)
    pool = WorkerPool(script=FAKE_WORKER)
    answer = await trace(pool, environment, request_for(workspace))
    [status] = pool.status()
    if preload == "threads":
        assert answer["outputs"] == {"static": 1}
        assert status.state == "cold"
        assert "1 threads" in (status.message or "")
    else:
        assert answer["failure"]["kind"] == "environment"
        assert status.state == "broken"
        assert "libfake.so is missing" in (status.message or "")
    await pool.aclose()
    assert not marked_processes()


@pytest.mark.parametrize("how", ["abort", "exit", "cancel", "deadline"])
async def test_a_cold_worker_ends_as_completely_as_a_warm_one(
    environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    ends = {"abort": "os.abort()", "exit": "os._exit(9)", "cancel": "time.sleep(1000)", "deadline": "time.sleep(1000)"}
    write_model(
        workspace,
        f"""
        import os, pathlib, subprocess, time
        def net():
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            pathlib.Path("started").touch()
            {ends[how]}
        """,
    )
    monkeypatch.setenv("FAKE_PRELOAD", "threads")
    pool = WorkerPool(script=FAKE_WORKER)
    seconds = 1.0 if how == "deadline" else 60.0
    task = asyncio.create_task(trace(pool, environment, request_for(workspace, limits={"seconds": seconds})))
    await wait_until((workspace / "started").exists, 30)
    if how == "cancel":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        with pytest.raises(TvlsError) as raised:
            await task
        named = {"abort": "SIGABRT", "exit": "exit code 9", "deadline": "1 s"}[how]
        assert named in raised.value.message
    await wait_until(lambda: not marked_processes())
    await pool.aclose()


async def test_a_workspace_that_provides_what_is_preloaded_is_traced_cold(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    # R27: a warm worker would keep the library as it was when it was imported
    write_model(workspace, "import psutil\n\ndef net():\n    return psutil.__file__\n")
    (workspace / "fakearrays.py").write_text("class Array: pass\n")
    (workspace / "model.py").write_text("import os, fakearrays\n\ndef net():\n    return os.getppid()\n")
    answer = await trace(pool, environment, request_for(workspace))
    assert answer["outputs"]["static"] != pool.status()[0].pid


async def test_the_warm_worker_ends_when_packages_change(pool: WorkerPool, workspace: Path, tmp_path: Path) -> None:
    # R27
    site = tmp_path / "site-packages"
    site.mkdir()
    plain = environment_of(sys.executable, workspace)
    fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
    environment = Environment(**{**fields, "paths": (str(site),)})
    write_model(workspace, "def net():\n    return 1\n")
    await trace(pool, environment, request_for(workspace))
    before = pool.status()[0].pid
    assert before is not None
    (site / "numpy-9.dist-info").mkdir()
    await trace(pool, environment, request_for(workspace))
    assert pool.status()[0].pid != before
    await wait_until(lambda: not psutil.pid_exists(before))


async def test_an_idle_warm_worker_ends(environment: Environment, workspace: Path) -> None:
    pool = WorkerPool(script=FAKE_WORKER, idle_seconds=0.3)
    write_model(workspace, "import time\n\ndef net():\n    time.sleep(1)\n    return 1\n")
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 1}
    await wait_until(lambda: not marked_processes())
    assert pool.status() == []
    await pool.aclose()


async def test_aclose_ends_running_traces(pool: WorkerPool, environment: Environment, workspace: Path) -> None:
    write_model(
        workspace, "import pathlib, time\n\ndef net():\n    pathlib.Path('started').touch()\n    time.sleep(1000)\n"
    )
    task = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    await wait_until((workspace / "started").exists, 20)
    await pool.aclose()
    assert not marked_processes()
    with pytest.raises(TvlsError):
        await task


@pytest.mark.parametrize("how", ["eof", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("mode", ["warm", "cold"])
async def test_workers_end_with_the_daemon_under_every_exit(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, mode: str
) -> None:
    # R31: workers, forks and what user code forked and moved to sessions of its own
    write_model(
        workspace,
        """
        import os, pathlib, subprocess, time
        def net():
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            if os.fork() == 0:
                os.setsid()
                if os.fork() != 0:
                    os._exit(0)
                time.sleep(1000)
            pathlib.Path("started").touch()
            time.sleep(1000)
        """,
    )
    if mode == "cold":
        monkeypatch.setenv("FAKE_PRELOAD", "threads")
    daemon = await asyncio.create_subprocess_exec(
        sys.executable, str(Path(__file__).with_name("small_daemon.py")), str(workspace), stdin=asyncio.subprocess.PIPE
    )
    await wait_until((workspace / "started").exists, 30)
    await wait_until(lambda: len(marked_processes()) >= 4)
    if how == "eof":
        assert daemon.stdin is not None
        daemon.stdin.close()
    else:
        os.kill(daemon.pid, getattr(signal, how))
    await asyncio.wait_for(daemon.wait(), 10)
    await wait_until(lambda: not marked_processes())


# --- workers that are killed, stopped or restarted -------------------------------------------------------------------


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
async def test_an_idle_warm_worker_that_was_killed_or_stopped_fails_no_trace(
    pool: WorkerPool, environment: Environment, workspace: Path, number: str
) -> None:
    # R31: nothing of the user's had run
    write_model(workspace, "import os\n\ndef net():\n    return os.getppid()\n")
    await pool.prewarm(environment, "jax")
    for _ in range(2):
        worker = pool.status()[0].pid
        assert worker is not None
        os.kill(worker, getattr(signal, number))
        answer = await trace(pool, environment, request_for(workspace))
        assert answer["outputs"]["static"] == pool.status()[0].pid != worker
    await wait_until(lambda: len(marked_sessions()) == 1)


async def test_a_model_that_stops_the_warm_worker_fails_no_other(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(workspace, "import os, signal\n\ndef net():\n    os.kill(os.getppid(), signal.SIGSTOP)\n    return 1\n")
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 1}
    write_model(workspace, "def net():\n    return 2\n")
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 2}


async def test_a_trace_that_had_begun_is_not_run_again(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(
        workspace,
        "import os, signal\nopen('ran', 'a').write('x')\nos.kill(os.getppid(), signal.SIGKILL)\nsignal.pause()\n",
    )
    assert (await error_of(pool, environment, request_for(workspace))).kind == "workerCrashed"
    assert (workspace / "ran").read_text() == "x"


async def test_a_warm_worker_that_dies_once_while_starting_is_started_again(
    pool: WorkerPool, environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # R31
    monkeypatch.setenv("FAKE_PRELOAD", "slow")
    write_model(workspace, "import os\n\ndef net():\n    return os.getppid()\n")
    task = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    await wait_until(lambda: bool(marked_processes()))
    marked_processes()[0].kill()
    answer = await task
    assert pool.status()[0].state == "warm"
    assert answer["outputs"]["static"] == pool.status()[0].pid


async def test_a_warm_worker_that_goes_on_dying_is_left_alone_for_longer_and_longer(
    pool: WorkerPool, environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    monkeypatch.setenv("FAKE_PRELOAD", f"dying:{starts}")
    monkeypatch.setattr("tvls.tracing.pool._FIRST_RETRY_SECONDS", 3.0)
    write_model(workspace, "def net():\n    return 1\n")

    async def tried() -> int:
        """Warm starts so far, of a trace that is answered all the same."""
        assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 1}
        return len(starts.read_text())

    assert await tried() == 2
    assert pool.status()[0].state == "broken"
    assert await tried() == 2
    await asyncio.sleep(3.1)
    assert await tried() == 3
    await asyncio.sleep(3.1)
    assert await tried() == 3


TICKING = """
import os, pathlib, subprocess, time
subprocess.Popen(["sh", "-c", "while :; do echo >> ticks; sleep 0.05; done"], start_new_session=True)
pathlib.Path("started").touch()
while True:
    with open("ticks", "a") as file:
        file.write("x")
    time.sleep(0.02)
"""


@pytest.mark.parametrize("preload", ["", "threads"])
async def test_restart_ends_what_was_started_before_and_nothing_after(
    pool: WorkerPool, environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch, preload: str
) -> None:
    # R4: trust was taken back
    monkeypatch.setenv("FAKE_PRELOAD", preload)
    write_model(workspace, TICKING)
    task = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    await wait_until((workspace / "started").exists, 20)
    await pool.restart()
    ticks = (workspace / "ticks").stat().st_size
    assert not marked_processes()
    with pytest.raises(TvlsError, match="workers were restarted") as raised:
        await task
    assert raised.value.kind == "workerCrashed"
    await asyncio.sleep(0.2)
    assert (workspace / "ticks").stat().st_size == ticks
    write_model(workspace, "def net():\n    return 1\n")
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 1}


@pytest.mark.parametrize("preload", ["", "threads"])
@pytest.mark.parametrize("warmed", [False, True])
async def test_restart_ends_a_trace_wherever_it_has_come_to(
    environment: Environment, workspace: Path, monkeypatch: pytest.MonkeyPatch, preload: str, warmed: bool
) -> None:
    # R4: between any two steps of a trace that is about to begin
    monkeypatch.setenv("FAKE_PRELOAD", preload)
    write_model(workspace, "open('ran', 'a').write('x')\ndef net():\n    return 1\n")
    pool = WorkerPool(script=FAKE_WORKER, concurrent=1)
    try:
        if warmed:
            await pool.prewarm(environment, "jax")
        for steps in [*range(1, 12), 20, 40, 80]:
            first, second = (asyncio.create_task(trace(pool, environment, request_for(workspace))) for _ in range(2))
            for _ in range(steps):
                await asyncio.sleep(0 if steps < 20 else 0.001)
            await pool.restart()
            ran = (workspace / "ran").exists() and (workspace / "ran").stat().st_size
            results = await asyncio.gather(first, second, return_exceptions=True)
            assert all(isinstance(r, dict) or (isinstance(r, TvlsError) and "restarted" in r.message) for r in results)
            assert steps >= 20 or isinstance(results[1], TvlsError), "the one that waited for its turn went on"
            await asyncio.sleep(0.05)
            assert ran == ((workspace / "ran").exists() and (workspace / "ran").stat().st_size)
            assert not marked_processes()
            assert pool.running == 0
    finally:
        await pool.aclose()


async def test_restart_of_a_folder_leaves_the_traces_of_others(
    pool: WorkerPool, environment: Environment, workspace: Path, tmp_path: Path
) -> None:
    # R4
    other = tmp_path / "other"
    other.mkdir()
    write_model(workspace, TICKING)
    write_model(
        other,
        "import pathlib, time\npathlib.Path('started').touch()\n"
        "while not pathlib.Path('go').exists():\n    time.sleep(0.01)\ndef net():\n    return 1\n",
    )
    ended = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    kept = asyncio.create_task(trace(pool, environment, request_for(other)))
    await wait_until(lambda: (workspace / "started").exists() and (other / "started").exists(), 20)
    await pool.restart(workspace)
    ticks = (workspace / "ticks").stat().st_size
    with pytest.raises(TvlsError, match="workers were restarted"):
        await ended
    (other / "go").touch()
    assert (await kept)["outputs"] == {"static": 1}
    assert (workspace / "ticks").stat().st_size == ticks
    assert pool.status()[0].state == "warm"


async def test_restart_of_a_folder_ends_the_warm_worker_of_its_own_interpreter(
    pool: WorkerPool, workspace: Path, tmp_path: Path
) -> None:
    # R4
    python = workspace / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (workspace / ".venv" / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    await pool.prewarm(environment_of(str(python), workspace), "jax")
    await pool.prewarm(environment_of(sys.executable, workspace), "jax")
    assert len(pool.status()) == 2
    await pool.restart(tmp_path / "elsewhere")
    assert len(pool.status()) == 2
    await pool.restart(workspace)
    assert [status.interpreter for status in pool.status()] == [sys.executable]
    assert len(marked_sessions()) == 1


async def test_a_start_that_is_dropped_for_another_trace_ends_no_trace(
    pool: WorkerPool, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # R27: packages were installed while the worker was starting
    site = tmp_path / "site-packages"
    site.mkdir()
    plain = environment_of(sys.executable, workspace)
    environment = Environment(**{**{n: getattr(plain, n) for n in plain.__struct_fields__}, "paths": (str(site),)})
    monkeypatch.setenv("FAKE_PRELOAD", "slow")
    write_model(workspace, "def net():\n    return 1\n")
    first = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    await wait_until(lambda: bool(marked_processes()))
    (site / "numpy-9.dist-info").mkdir()
    second = asyncio.create_task(trace(pool, environment, request_for(workspace)))
    assert (await first)["outputs"] == (await second)["outputs"] == {"static": 1}


# --- answers that are none -------------------------------------------------------------------------------------------

FORGED = {
    "no JSON": "line.send(b'P', b'pwn')",
    "no UTF-8": "line.send(b'P', b'\\xff\\xfe')",
    "no object": "line.send(b'P', b'[]')",
    "deep": "line.send(b'P', b'[' * 60000)",
    "no phase": "line.send(b'P', b'{}')",
    "another phase": "line.send(b'P', b'{\"phase\": [\"x\"]}')",
    "another kind": "line.send(b'X', b'{}')",
    "long": "line.send(b'P', b'x' * 70000)",
    "of a warm worker": "line.send(b'C', b'{\"module\": \"x\"}')",
    "half": "os.write(line.write_fd, b'P' + bytes(7) + b'\\x05{')",
    "document": "line.send(b'D', b'pwn')",
    "deep document": "line.send(b'D', b'{\"values\":' + b'[' * 200000)",
    "other document": "line.send(b'D', b'{\"failure\": {}}')",
}


@pytest.mark.parametrize("how", FORGED)
async def test_whatever_comes_in_place_of_an_answer_is_a_crash(
    pool: WorkerPool, environment: Environment, workspace: Path, how: str
) -> None:
    write_model(
        workspace,
        f"""
        import gc, os, tvls.worker.channel as channel
        def net():
            line = next(thing for thing in gc.get_objects() if isinstance(thing, channel.Channel))
            print("last words")
            {FORGED[how]}
            os._exit(0)
        """,
    )
    error = await error_of(pool, environment, request_for(workspace))
    assert error.kind == "workerCrashed"
    assert error.data.stderr == "last words"
    assert error.data.next_step


REPLACED = {
    "json.dumps": "import json\njson.dumps = lambda *a, **k: 'pwn'",
    "json.loads": "import json\njson.loads = None",
    "os.write": "import os\nos.write = lambda *a: 0",
    "os.fstat": "import os\nos.fstat = os.getpid = None",
    "os._exit": "import os\nos._exit = lambda code: None",
    "len": "import builtins\nbuiltins.len = lambda *a: 0",
}


@pytest.mark.parametrize("what", REPLACED)
async def test_code_that_replaces_what_the_worker_needs_gets_a_document_or_a_clear_error(
    pool: WorkerPool, environment: Environment, workspace: Path, what: str
) -> None:
    write_model(workspace, REPLACED[what] + "\ndef net():\n    return 1\n")
    try:
        document = await trace(pool, environment, request_for(workspace))
        assert "failure" in document or document["outputs"] == {"static": 1}
    except TvlsError as error:
        assert error.kind == "workerCrashed"
        assert what in ("json.dumps", "len")
    write_model(workspace, "def net():\n    return 2\n")
    assert (await trace(pool, environment, request_for(workspace)))["outputs"] == {"static": 2}
    await wait_until(lambda: len(marked_sessions()) == 1)


# --- what was printed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preload", ["", "threads"])
@pytest.mark.parametrize("last", ["return 1", "raise ValueError"])
async def test_what_a_finished_trace_printed_is_handed_on_once(
    pool: WorkerPool,
    environment: Environment,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    preload: str,
    last: str,
) -> None:
    monkeypatch.setenv("FAKE_PRELOAD", preload)
    write_model(
        workspace,
        f"""
        import sys
        print("imported")
        def net(n):
            for i in range(n):
                print("line", i, file=sys.stderr)
            {last}
        """,
    )
    for lines in (1, 1, 50_000, 0):
        said: list[str] = []
        request = request_for(workspace, args=[lines])
        await pool.trace(environment, request, on_progress=ignore, on_output=said.append)
        [text] = said
        assert text.splitlines()[-1] == (f"line {lines - 1}" if lines else "imported")
        assert len(text) <= 16_000
    write_model(workspace, "def net():\n    return 1\n")
    silent: list[str] = []
    await pool.trace(environment, request_for(workspace), on_progress=ignore, on_output=silent.append)
    assert silent == []


async def test_errors_name_no_place_of_the_workers_own_files(
    pool: WorkerPool, environment: Environment, workspace: Path
) -> None:
    write_model(workspace, "import os\ndef net():\n    os.closerange(3, 4096)\n")
    error = await error_of(pool, environment, request_for(workspace))
    stderr = error.data.stderr or ""
    assert 'File "tvls/worker/channel.py"' in stderr
    assert str(Path(tvls.__file__).parent) not in stderr
