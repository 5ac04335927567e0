"""Interpreters: found without being run, probed with errors that say what to do, watched for changed packages."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import psutil
import pytest

from tvls.environments.find import Selected, find
from tvls.environments.probe import Environment, fingerprint, probe, require
from tvls.protocol.errors import TvlsError


def make_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


async def ended(pids: Iterable[int], seconds: float = 10.0) -> None:
    """Killed is not ended: the kernel takes its time on a busy machine."""
    left = list(pids)
    deadline = time.monotonic() + seconds
    while left := [pid for pid in left if psutil.pid_exists(pid) and not is_zombie(pid)]:
        assert time.monotonic() < deadline, f"{left} live on"
        await asyncio.sleep(0.02)


def is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def fake_venv(prefix: Path, canary: Path, config: str = "version = 3.11.7\n") -> Path:
    """A virtual environment whose interpreter tells that it was run."""
    program = make_program(prefix / "bin" / "python", f"#!/bin/sh\ntouch '{canary}'\n")
    (prefix / "pyvenv.cfg").write_text(config)
    return program


def test_finding_runs_nothing_and_reads_versions_from_files(tmp_path: Path) -> None:
    # R4
    canary = tmp_path / "ran"
    folder = tmp_path / "work"
    own = fake_venv(folder / ".venv", canary)
    second = fake_venv(folder / "venv", canary, "home = /usr\nversion_info = 3.12.1.final.0\n")
    active = fake_venv(tmp_path / "active", canary, "home = /usr\n")
    conda = make_program(tmp_path / "conda" / "bin" / "python", f"#!/bin/sh\ntouch '{canary}'\n")
    (tmp_path / "conda" / "conda-meta").mkdir()
    (tmp_path / "conda" / "conda-meta" / "python-3.10.4-h12debd9_0.json").write_text("{}")
    (tmp_path / "conda" / "conda-meta" / "python-dateutil-2.9.0.json").write_text("{}")
    on_path = make_program(tmp_path / "bin" / "python3", f"#!/bin/sh\ntouch '{canary}'\n")
    environ = {
        "VIRTUAL_ENV": str(tmp_path / "active"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
        "PATH": f"relative{os.pathsep}{tmp_path / 'bin'}",
    }
    found = find(folder, [Selected(("tools/../bin/python",), "configured")], environ)
    assert [(i.command[0], i.origin, i.python, i.inside) for i in found] == [
        (str(folder / "bin" / "python"), "configured", None, True),
        (str(own), "folder", "3.11.7", True),
        (str(second), "folder", "3.12.1", True),
        (str(active), "VIRTUAL_ENV", None, False),
        (str(conda), "CONDA_PREFIX", "3.10.4", False),
        (str(on_path), "path", None, False),
    ]
    assert [i.prefix for i in found] == [
        None,
        str(folder / ".venv"),
        str(folder / "venv"),
        str(tmp_path / "active"),
        str(tmp_path / "conda"),
        None,
    ]
    assert not canary.exists()


def test_what_makes_no_sense_is_not_offered(tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    folder = tmp_path / "work"
    (folder / "env" / "bin").mkdir(parents=True)  # a folder of another kind that is called env
    (folder / "env" / "bin" / "python").write_text("")
    fake_venv(folder / "venv", canary).unlink()
    (folder / "venv" / "bin" / "python").symlink_to(tmp_path / "gone")  # its base was removed
    base = make_program(tmp_path / "conda" / "bin" / "python", "")
    (tmp_path / "conda" / "conda-meta").mkdir()
    environ = {
        "VIRTUAL_ENV": str(tmp_path / "deleted"),
        "CONDA_PREFIX": str(base.parent.parent),
        "CONDA_DEFAULT_ENV": "base",
        "PATH": "",
    }
    assert find(folder, [], environ) == []


def test_a_wrapper_is_kept_as_it_is_and_a_link_is_not_resolved(tmp_path: Path) -> None:
    fake_venv(tmp_path / ".venv", tmp_path / "ran").unlink()
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    found = find(tmp_path, [Selected(("uv", "run", "python"), "configured")], {"VIRTUAL_ENV": str(tmp_path / ".venv")})
    assert [i.command for i in found] == [("uv", "run", "python"), (str(tmp_path / ".venv" / "bin" / "python"),)]
    assert [i.prefix for i in found] == [None, str(tmp_path / ".venv")]
    [configured, _] = find(
        tmp_path,
        [Selected((".venv/bin/python",), "configured")],
        {"VIRTUAL_ENV": "", "PATH": str(Path(sys.executable).parent)},
    )
    assert configured.prefix == str(tmp_path / ".venv")


async def error_of(*command: str, folder: Path, seconds: float = 30.0) -> TvlsError:
    with pytest.raises(TvlsError) as raised:
        await probe(command, str(folder), seconds=seconds)
    assert raised.value.kind == "environmentInvalid"
    assert raised.value.data.next_step
    return raised.value


async def test_probing_tells_what_an_environment_is(models_python: str, tmp_path: Path) -> None:
    # R2, R30
    environment = await probe([models_python], str(tmp_path))
    assert environment.executable == models_python
    assert Path(environment.prefix) == Path(models_python).parent.parent
    assert {"jax", "jaxlib", "flax", "numpy"} <= set(environment.libraries)
    require(environment, "flax.linen")
    with pytest.raises(TvlsError, match="no torch") as raised:
        require(environment, "torch.module")
    assert raised.value.data.requirements == ["torch>=2.3"]
    assert raised.value.data.interpreter == [models_python]


async def test_the_servers_own_environment_is_said_to_be_that(tmp_path: Path) -> None:  # R12
    environment = await probe([sys.executable], str(tmp_path))
    with pytest.raises(TvlsError) as raised:
        require(environment, "torch.module")
    assert raised.value.data.next_step.startswith("That is tvls's own environment: select the Python of your models")


async def test_a_wrapper_command_is_probed_through(tmp_path: Path) -> None:
    wrapper = make_program(tmp_path / "run", f"#!/bin/sh\necho wrapping\nshift\nexec '{sys.executable}' \"$@\"\n")
    environment = await probe([str(wrapper), "python"], str(tmp_path))
    assert environment.command == (str(wrapper), "python")
    assert environment.executable == sys.executable


async def test_each_fault_of_an_interpreter_is_named(tmp_path: Path) -> None:
    silent = make_program(tmp_path / "silent", "#!/bin/sh\necho 'bad interpreter' >&2\nexit 4\n")
    talking = make_program(tmp_path / "talking", "#!/bin/sh\necho hello\n")
    plain = tmp_path / "plain"
    plain.write_text("")
    hanging = make_program(tmp_path / "hanging", "#!/bin/sh\nsleep 1000 & sleep 1000\n")
    assert "does not exist" in (await error_of(str(tmp_path / "missing"), folder=tmp_path)).message
    assert "not found on PATH" in (await error_of("no-such-python", folder=tmp_path)).message
    assert "Permission denied" in (await error_of(str(plain), folder=tmp_path)).message
    failed = await error_of(str(silent), folder=tmp_path)
    assert "exit code 4" in failed.message
    assert failed.data.stderr == "bad interpreter"
    assert "does not behave like Python" in (await error_of(str(talking), folder=tmp_path)).message
    began = time.monotonic()
    assert "did not say within 0.5 s" in (await error_of(str(hanging), folder=tmp_path, seconds=0.5)).message
    assert time.monotonic() - began < 5
    assert "does not exist" in (await error_of(sys.executable, folder=tmp_path / "nowhere")).message
    await error_of(folder=tmp_path)


PROBING = """
import asyncio, sys
from tvls.environments.probe import probe
asyncio.run(probe([sys.argv[1]], sys.argv[2]))
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_an_interpreter_that_hangs_ends_with_the_daemon(tmp_path: Path, how: str) -> None:
    # nothing of ours runs in it that could see the end of the daemon
    number = secrets.randbelow(10**6) + 10**6
    hanging = make_program(tmp_path / "hanging", f"#!/bin/sh\nsleep {number} & sleep {number}\n")
    daemon = subprocess.Popen([sys.executable, "-c", PROBING, str(hanging), str(tmp_path)])

    def hung() -> int:
        return sum(str(number) in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))

    def wait_for(count: int) -> None:
        deadline = time.monotonic() + 10
        while hung() != count:
            assert time.monotonic() < deadline, f"{hung()} processes instead of {count}"
            time.sleep(0.02)

    wait_for(2)
    daemon.send_signal(getattr(signal, how))
    daemon.wait(10)
    wait_for(0)


async def test_probing_leaves_no_process(tmp_path: Path) -> None:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    await probe([str(make_program(tmp_path / "py", f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n"))], str(tmp_path))
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before


LIARS = {
    "nothing": "{}",
    "no place": '{"python": "3.11.7", "executable": "", "prefix": "", "paths": []}',
    "a NUL": r'{"python": "3.11.7", "executable": "/x", "prefix": "/x", "paths": ["/x\u0000"]}',
    "brackets": "[" * 100_000,
}


@pytest.mark.parametrize("answer", LIARS.values(), ids=LIARS)
async def test_a_program_that_lies_is_no_python(tmp_path: Path, answer: str) -> None:  # R4
    (tmp_path / "answer").write_text(answer + "\n")
    program = make_program(tmp_path / "liar", f"#!/bin/sh\ncat '{tmp_path / 'answer'}'\n")
    assert "does not behave like Python" in (await error_of(str(program), folder=tmp_path)).message


@pytest.mark.parametrize("where", ["", ">&2"])
async def test_a_program_that_prints_without_end_is_ended(tmp_path: Path, where: str) -> None:
    program = make_program(tmp_path / "endless", f"#!/bin/sh\nwhile :; do cat /bin/sh; done {where}\n")
    assert "prints without end" in (await error_of(str(program), folder=tmp_path)).message
    await ended(p.pid for p in psutil.process_iter(["cmdline"]) if str(program) in (p.info["cmdline"] or []))


async def test_what_is_printed_after_the_answer_is_no_answer(tmp_path: Path) -> None:
    """A wrapper's last words, or those of a hook that runs when Python ends."""
    program = make_program(
        tmp_path / "wrapper", f'#!/bin/sh\n"{sys.executable}" "$@"\necho \'{{"elapsed": 3}}\' >&2\necho bye\n'
    )
    assert (await probe([str(program)], str(tmp_path))).python == platform.python_version()


@pytest.mark.parametrize("start", ["", "setsid "])
async def test_what_a_program_leaves_behind_is_ended(tmp_path: Path, start: str) -> None:
    """It has ended itself, and a process that it started holds its output."""
    left = tmp_path / "left"
    program = make_program(tmp_path / "leaving", f"#!/bin/sh\n{start}sleep 600 &\necho $! > '{left}'\n")
    with pytest.raises(TvlsError, match="did not say"):
        await probe([str(program)], str(tmp_path), seconds=1)
    await ended([int(left.read_text())])


async def test_a_python_that_is_too_old_says_so(tmp_path: Path) -> None:
    # R30
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    old = [str(python) for version in ("2.7", "3.6", "3.9") for python in root.glob(f"{version}.*/bin/python")]
    # Machines without old Pythons still check the answer that the worker's first lines give.
    old = old or [str(make_program(tmp_path / "old", '#!/bin/sh\necho \'{"tooOld": "3.9.18"}\'\n'))]
    for python in old:
        error = await error_of(python, folder=tmp_path)
        assert "the oldest that can be captured with is 3.10" in error.message


def environment_with(libraries: dict[str, str], paths: tuple[str, ...] = ()) -> Environment:
    return Environment(
        command=("p",),
        folder="/",
        executable="/p",
        prefix="/",
        python="3.11.7",
        libraries=libraries,
        paths=paths,
        fingerprint="",
    )


@pytest.mark.parametrize(
    ("kind", "libraries", "said"),
    [
        ("jax.function", {}, "no jax"),
        ("jax.function", {"jax": "0.6.0"}, "jax 0.6.0; the oldest"),
        ("jax.function", {"jax": "0.4.38"}, "jax 0.4.38; the oldest"),
        ("flax.linen", {"jax": "0.6.1"}, "no flax"),
        ("flax.nnx", {"jax": "0.10.2", "flax": "0.10.2"}, "flax 0.10.2; the oldest"),
        ("torch.module", {"jax": "0.6.1"}, "no torch"),
    ],
)
def test_missing_and_old_libraries_are_named_with_what_to_do(kind: str, libraries: dict[str, str], said: str) -> None:
    # R2, R30
    with pytest.raises(TvlsError, match=said) as raised:
        require(environment_with(libraries), kind)
    assert "tvls env install" in raised.value.data.next_step
    assert raised.value.data.requirements


def test_new_enough_libraries_pass() -> None:
    # R2: JAX needs no Torch and the reverse
    require(environment_with({"jax": "0.6.1"}), "jax.function")
    require(environment_with({"jax": "0.10.2.dev20260101", "flax": "0.12.8"}), "flax.nnx")
    require(environment_with({"torch": "2.9.0+cu128"}), "torch.module")


def test_the_fingerprint_follows_what_is_installed(tmp_path: Path) -> None:
    # R27
    site = tmp_path / "site-packages"
    (site / "jax-0.10.2.dist-info").mkdir(parents=True)
    environment = environment_with({}, (str(site), str(tmp_path / "missing")))
    seen = [fingerprint(environment)]
    assert fingerprint(environment) == seen[0]
    (site / "jax-0.10.2.dist-info").rename(site / "jax-0.10.3.dist-info")
    seen.append(fingerprint(environment))
    os.utime(site / "jax-0.10.3.dist-info", ns=(1, 1))  # installed again
    seen.append(fingerprint(environment))
    (site / "__editable__.mine.pth").write_text("/somewhere")
    seen.append(fingerprint(environment))
    shutil.rmtree(site)
    seen.append(fingerprint(environment))
    assert len(set(seen)) == len(seen)


async def test_probing_again_asks_only_what_has_changed(tmp_path: Path) -> None:
    count = tmp_path / "count"
    wrapper = make_program(tmp_path / "py", f"#!/bin/sh\necho x >> '{count}'\nexec '{sys.executable}' \"$@\"\n")
    first = await probe([str(wrapper)], str(tmp_path))
    assert await probe([str(wrapper)], str(tmp_path)) is first
    assert len(count.read_text().split()) == 1
    await asyncio.to_thread(os.utime, wrapper)
    assert msgspec.structs.replace(
        await probe([str(wrapper)], str(tmp_path)), fingerprint=""
    ) == msgspec.structs.replace(first, fingerprint="")
    assert len(count.read_text().split()) == 2
