"""The `tvls` command as a shell sees it: output, exit codes, and what it leaves alone."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import REPOSITORY
from tests.environments.stand_ins import environ_of, installed_in, make_index, make_template

NET = """\
import jax
import jax.numpy as jnp


@jax.jit
def net(x):
    return jax.nn.relu(x @ jnp.ones((3, 4)))


def add(x, y, *, scale):
    return jnp.add(x, y) * scale
"""


class Shell:
    """Runs `tvls` in a folder with a home of its own."""

    def __init__(self, root: Path, python: str) -> None:
        self.folder = root / "project"
        self.folder.mkdir()
        (self.folder / "model.py").write_text(NET)
        (self.folder / "pyproject.toml").write_text("")
        self.python = python
        kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
        self.env = kept | {
            "HOME": str(root),
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_CACHE_HOME": str(root / "cache"),
        }

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tvls", *arguments]
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, env=self.env, text=True, **(pipes | options))

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=170)
        assert process.returncode == code, err or out
        return out, err

    def trace(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        return self.run("trace", "--python", self.python, "--trust", *arguments, code=code)


@pytest.fixture
def shell(tmp_path: Path, models_python: str) -> Shell:
    return Shell(tmp_path, models_python)


def test_discover(shell: Shell) -> None:  # R3, R6
    rows = json.loads(shell.run("discover", "--json")[0])
    assert json.loads(shell.run("discover", ".", "--json")[0]) == rows
    assert rows == [
        {"path": "model.py", "kind": "jax.function", "name": "net", "line": 6},
        {"path": "model.py", "kind": "jax.function", "name": "add", "line": 10},
    ]
    assert "model.py:6" in shell.run("discover", "model.py")[0]
    assert "absent.py" in shell.run("discover", "absent.py", code=2)[1]


def test_trace_with_inputs_of_the_command_line(shell: Shell) -> None:  # R14, R15
    out, _ = shell.trace("model.py:net", "--input", "x=float32[2,3]", "-o", "net.json")
    assert "net.json" in out
    capture = json.loads((shell.folder / "net.json").read_text())
    assert [operation["primitive"] for operation in capture["operations"]] == ["broadcast_in_dim", "dot_general", "max"]
    assert (capture["backend"], capture["evidence"], capture["coverage"]["scope"]) == (
        "jaxpr",
        "inferred",
        "traced_program",
    )
    outline, _ = shell.run("show", "net.json")
    assert "dot_general  f32[2,3] · f32[3,4] → f32[2,4]" in outline
    assert shell.run("show", "net.json", "--json")[0].encode() == (shell.folder / "net.json").read_bytes()
    printed = shell.trace("model.py:net", "--input", "f32[2,3]", "--json")[0]
    assert json.loads(printed)["operations"] == capture["operations"]


def test_missing_and_wrong_inputs_are_named(shell: Shell) -> None:  # R10
    err = shell.trace("model.py:add", "--input", "x=f32[2]", code=3)[1]
    assert "inputs.kwargs.y" in err
    assert "scale" in err
    err = shell.trace("model.py:net", "--input", "z=f32[2]", code=3)[1]
    assert "z" in err
    assert "model.py:net" not in shell.trace("model.py:net", "--input", "x=float23[2]", code=2)[1].split("\n")[0]
    assert "float32" in shell.trace("model.py:net", "--input", "x=float23[2]", code=2)[1]
    assert "net" in shell.trace("model.py:nett", "--input", "x=f32[2,3]", code=2)[1]


def test_a_function_that_is_no_target_names_the_inputs_that_lack(shell: Shell) -> None:  # R10
    (shell.folder / "loss.py").write_text(
        "def loss(params, batch, *, scale):\n    return (params * batch * scale).sum()\n"
    )
    err = shell.trace("loss.py:loss", "--input", "params=f32[2]", code=3)[1]
    assert "loss needs inputs that nothing gives: batch, scale" in err
    shell.trace("loss.py:loss", "--input", "params=f32[2]", "--input", "batch=f32[2]", "--input", "scale=2.0")


def test_what_lacks_is_stated_with_options(shell: Shell) -> None:  # R10
    err = shell.trace("model.py:add", code=3)[1]
    assert "--input NAME=VALUE" in err
    assert "tvls setup model.py:add" in err
    assert "form" not in err


def test_a_python_without_jax_is_told_with_the_values_that_lack(shell: Shell) -> None:  # R2, R10
    err = shell.run("trace", "model.py:net", "--trust", "--python", sys.executable, code=3)[1]
    assert "inputs.args[0]" in err
    assert "has no jax" in err
    assert "tvls env install" in err


def test_a_missing_package_has_one_next_step_in_text_and_json(shell: Shell) -> None:  # R22
    (shell.folder / "model.py").write_text(f"import absent_package\n{NET}")
    trace = ("model.py:net", "--input", "x=f32[2,3]")
    step = json.loads(shell.trace(*trace, "--json", code=1)[0])["error"]["data"]["nextStep"]
    assert "absent_package" in step
    assert step in shell.trace(*trace, code=1)[1]


def test_a_failed_trace_names_the_line(shell: Shell) -> None:  # R22
    err = shell.trace("model.py:net", "--input", "x=f32[2,5]", code=1)[1]
    assert "model.py:7" in err
    assert "dot_general" in err


@pytest.mark.parametrize("where", ["model", "interpreter"])
def test_nothing_runs_without_trust(shell: Shell, where: str) -> None:  # R4
    canary = shell.folder / "canary"
    if where == "model":
        (shell.folder / "model.py").write_text(f"open({str(canary)!r}, 'w').close()\n" + NET)
        command = ["--python", shell.python]
    else:
        fake = shell.folder / ".venv" / "bin" / "python"
        fake.parent.mkdir(parents=True)
        fake.write_text(f'#!/bin/sh\ntouch {str(canary)!r}\nexec {shell.python} "$@"\n')
        fake.chmod(0o755)
        (shell.folder / ".venv" / "pyvenv.cfg").write_text("version = 3.11.7\n")
        command = []
    err = shell.run("trace", "model.py:net", "--input", "x=f32[2,3]", *command, code=3)[1]
    assert "not trusted" in err
    shell.run("doctor")
    shell.run("discover", ".")
    assert not canary.exists()
    shell.run("trace", "model.py:net", "--input", "x=f32[2,3]", "--trust", *command)
    assert canary.exists()  # the canary sings


def test_trust_of_one_run_is_not_remembered(shell: Shell) -> None:  # R4
    shell.trace("model.py:net", "--input", "x=f32[2,3]")
    shell.run("trace", "model.py:net", "--input", "x=f32[2,3]", "--python", shell.python, code=3)


def test_usage_errors(shell: Shell) -> None:
    for arguments in (
        [],
        ["model.py"],
        ["absent.py:net"],
        ["model.py:net", "--max-lines", "0"],
        ["--input", "x=f32[1]"],
    ):
        shell.trace(*arguments, code=2)
    shell.run("show", "absent.json", code=2)
    (shell.folder / "broken.json").write_text('{"formatVersion": 1, "captureId": "x"')
    assert shell.run("show", "broken.json", code=1)[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "absent.py:net"],
        ["trace", "model.py:absent"],
        ["trace", "model.py:net", "--input", "x=foo"],
        ["trace", "model.py:net", "-o", "absent/net.json"],
        ["show", "absent.json"],
        ["discover", "absent"],
        ["doctor", "--folder", "absent"],
        ["env", "list", "--folder", "absent"],
        ["env", "use"],
    ],
)
def test_wrong_usage_is_told_as_json_too(shell: Shell, arguments: list[str]) -> None:
    out, err = shell.run(*arguments, "--json", code=2)
    assert json.loads(out)["error"]["message"]
    assert err == ""


def test_a_broken_graph_file_is_told_as_json_too(shell: Shell) -> None:
    (shell.folder / "broken.json").write_text("{")
    out, _ = shell.run("show", "broken.json", "--json", code=1)
    assert json.loads(out)["error"]["data"]["kind"] == "captureInvalid"


def test_doctor_says_what_to_do(shell: Shell) -> None:
    (shell.folder / "tensorviz.toml").write_text('version = 1\n[profiles.a]\nmodel = "model:net"\nframewrok = "jax"\n')
    out, _ = shell.run("doctor", "--python", shell.python, "--trust")
    assert "framewrok" in out
    assert "jax 0." in out
    out, _ = shell.run("doctor", "--python", sys.executable, "--trust", code=3)
    assert "jax is not installed" in out
    findings = json.loads(shell.run("doctor", "--python", sys.executable, "--trust", "--json", code=3)[0])
    assert any(finding["state"] == "missing" and finding["next_step"] for finding in findings)


def test_doctor_asks_for_what_the_models_of_the_folder_need(shell: Shell, torch_python: str) -> None:
    (shell.folder / "model.py").write_text("from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n")
    out, _ = shell.run("doctor", "--python", torch_python, "--trust")
    assert "MISSING" not in out
    (shell.folder / "net.py").write_text(NET)
    out, _ = shell.run("doctor", "--python", torch_python, "--trust")  # models of one framework open
    assert "note    " in next(line for line in out.splitlines() if "jax is not installed" in line)
    assert "The folder's JAX models cannot be opened with it" in out
    (shell.folder / "model.py").write_text("from flax import linen as nn\n\n\nclass Net(nn.Module):\n    pass\n")
    lines = shell.run("doctor", "--python", torch_python, "--trust", code=3)[0].splitlines()
    assert [line.partition(": ")[2] for line in lines if line.startswith("MISSING")] == [
        "jax is not installed.",
        "flax is not installed.",
    ]


def test_profile_of_an_installed_package(shell: Shell) -> None:  # R1, R12, R20, R32
    for name in ("gpt2.py", "tensorviz.toml"):
        shutil.copy(REPOSITORY / "examples" / name, shell.folder)
    outline, _ = shell.trace("--profile", "gpt2", "--max-lines", "70")
    assert "freshly initialised" in outline
    assert "result.logits  f32[1,64,50257]" in outline
    assert "h (FlaxGPT2BlockCollection" in outline
    assert "more operations left out" in outline


def test_a_closed_pipe_is_no_error(shell: Shell) -> None:
    shell.trace("model.py:net", "--input", "x=f32[2,3]", "-o", "net.json")
    reader, writer = os.pipe()
    os.close(reader)
    process = shell.start("show", "net.json", stdout=writer)
    os.close(writer)
    assert "Traceback" not in process.communicate(timeout=60)[1]


def test_an_interrupt_leaves_nothing_behind(shell: Shell) -> None:  # R5
    (shell.folder / "model.py").write_text(
        NET.replace("    return jax.nn", "    import time; time.sleep(600)\n    return jax.nn")
    )
    process = shell.start("trace", "model.py:net", "--input", "x=f32[2,3]", "--python", shell.python, "--trust")
    family: list[psutil.Process] = []
    deadline = time.monotonic() + 60
    while len(family) < 2 and time.monotonic() < deadline:
        family = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.05)
    assert family
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive, alive


def test_trust_is_remembered_listed_and_withdrawn(shell: Shell) -> None:  # R4
    assert shell.run("trust")[0] == ""
    shell.run("trust", ".")
    assert shell.run("trust")[0].strip() == str(shell.folder.resolve())
    shell.run("trace", "model.py:net", "--input", "x=f32[2,3]", "--python", shell.python)
    shell.run("trust", ".", "--revoke")
    assert shell.run("trust")[0] == ""
    assert not list(shell.folder.rglob("*trust*"))
    err = shell.run("trace", "model.py:net", "--input", "x=f32[2,3]", "--python", shell.python, code=3)[1]
    assert "--trust" in err


def test_a_folder_that_cannot_be_trusted(shell: Shell) -> None:  # R4
    for wrong, says in (
        ("absent", "there is no folder absent"),
        ("model.py", "no folder model.py"),
        ("/", "as a whole"),
    ):
        err = shell.run("trust", wrong, code=2)[1]
        assert says in err
        assert "--trust" not in err
    assert shell.run("trust")[0] == ""
    shell.run("trust", "absent", "--revoke")  # it may be gone by now


def test_limits_and_errors_for_scripts(shell: Shell) -> None:  # R13, R22
    out = shell.trace("model.py:net", "--input", "x=f32[4194305]", "--json", code=1)[0]
    assert json.loads(out)["error"]["data"]["kind"] == "limitExceeded"
    err = shell.trace("model.py:net", "--input", "x=f32[2,3]", "--limit", "operations=2", code=1)[1]
    assert "tvls.limits.operations" in err
    shell.trace("model.py:net", "--input", "x=f32[2,3]", "--limit", "operations=none", code=2)
    shell.trace("model.py:net", "--input", "x=f32[2,3]", "-o", "absent/net.json", code=2)


def test_an_odd_key_of_the_setup_is_told(shell: Shell) -> None:  # R9
    (shell.folder / "tensorviz.toml").write_text(
        'version = 1\n[profiles.a]\nmodel = "model:net"\nframework = "jax"\n'
        'inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32", shpae = 1 }] }\n'
    )
    err = shell.trace("model.py:net")[1]
    assert "tensorviz.toml:5" in err
    assert "shpae" in err


def test_mistakes_in_profiles_of_other_models_are_not_told(shell: Shell) -> None:  # R9
    array = '{ kind = "tensor", shape = [2, 3], dtype = "float32" }'
    framework = 'framework = "jax"\nmodel = "model:'
    (shell.folder / "tensorviz.toml").write_text(
        f'version = 1\n[profiles.net]\n{framework}net"\ninputs = {{ args = [{array}] }}\n'
        f'[profiles.other]\n{framework}add"\ninputs = {{ args = ["?"] }}\nodd = 1\n'
    )
    for arguments in (["model.py:net"], ["--profile", "net"]):
        assert shell.trace(*arguments)[1] == ""
    assert "odd" in shell.trace("model.py:add", code=3)[1]
    assert "profiles.other" in shell.run("doctor")[0]


def test_options_are_laid_over_a_profile_that_is_named_and_else_make_a_setup(shell: Shell) -> None:  # R10
    array = '{ kind = "tensor", shape = [2, 3], dtype = "float32" }'
    (shell.folder / "tensorviz.toml").write_text(
        'version = 1\n[profiles.sum]\nframework = "jax"\nmodel = "model:add"\n'
        f"inputs = {{ args = [{array}, {array}], kwargs = {{ scale = 2.0 }} }}\n"
    )
    shell.trace("model.py:add")
    err = shell.trace("model.py:add", "--input", "scale=3.0", code=3)[1]
    assert "the profile 'sum' is not used" in err
    assert "lay these options over the profile: --profile sum" in err
    out, err = shell.trace("model.py:add", "--profile", "sum", "--input", "scale=3.0", "--seed", "5")
    assert err == ""
    assert "f32[2,3]" in out
    assert "seed 5" in out
    first = shell.trace("model.py:add", "--profile", "sum", "--input", "float32[1,3]")[0]
    assert "f32[1,3]" in first
    assert "f32[2,3]" in first
    err = shell.trace("model.py:add", "--profile", "sum", "--input", "other=1", code=2)[1]
    assert "--input 'other=1': there is no 'other'" in err
    assert "Name one of them: sum." in shell.trace("model.py:add", "--profile", "no", "--seed", "1", code=2)[1]


def test_no_other_profile_takes_the_place_of_a_broken_one(shell: Shell) -> None:  # R9
    inputs = 'inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float32" }] }\n'
    profile = f'framework = "jax"\nmodel = "model:net"\n{inputs}'
    file = shell.folder / "tensorviz.toml"
    file.write_text(f'version = 1\n[profiles.a]\nmode = "train"\n{profile}[profiles.b]\n{profile}')
    out, err = shell.trace("model.py:net", code=3)
    assert out == ""
    assert "'a' has a mistake" in err
    assert "tensorviz.toml:3" in err
    assert "b" in err.rpartition("name another profile: ")[2]
    assert "dot_general" in shell.trace("model.py:net", "--profile", "b")[0]
    file.write_text(f"version = 1\n[profiles.a\n{profile}")
    assert "tensorviz.toml:2" in shell.trace("model.py:net", code=3)[1]
    assert "dot_general" in shell.trace("model.py:net", "--input", "x=f32[2,3]")[0]  # a setup of its own


def test_odd_streams_and_places(shell: Shell) -> None:
    shell.trace("model.py:net", "--input", "x=f32[2,3]", "-o", "net.json")
    with Path("/dev/full").open("w") as full:
        assert "No space left" in shell.start("show", "net.json", stdout=full).communicate(timeout=60)[1]
    shell.env["PYTHONIOENCODING"] = "ascii"
    assert "dot_general" in shell.run("show", "net.json")[0]
    for redirection, code in (("2>&-", 3), (">&-", 3), ("<&-", 3)):
        script = (
            f"{sys.executable} -m tvls trace model.py:net --input z=1 --trust --python {shell.python} {redirection}"
        )
        assert subprocess.run(["/bin/sh", "-c", script], cwd=shell.folder, env=shell.env).returncode == code
    assert "quotation" in shell.run("doctor", "--python", '"', code=2)[1]
    shell.run("doctor", "--folder", "absent", code=2)
    shell.trace("model.py:net", "--folder", "model.py", code=2)
    (shell.folder / "sub").mkdir()
    shell.trace("sub/../model.py:net", "--folder", "sub/..", "--input", "x=f32[2,3]")


def test_control_characters_do_not_reach_the_terminal(shell: Shell) -> None:
    (shell.folder / "model.py").write_text(
        "import jax\n\n"
        "def net(x):\n    with jax.named_scope('\\x1b[31mred'):\n        return jax.numpy.sin(x)\n\n"
        "def bad(x):\n    raise ValueError('\\x1b[31m' + str(jax.numpy.sin(x).shape))\n"
    )
    out, err = shell.trace("model.py:net", "--input", "f32[2]")
    assert "\x1b" not in out + err
    assert "\\x1b[31mred" in out
    out, err = shell.trace("model.py:bad", "--input", "f32[2]", code=1)
    assert "\x1b" not in out + err
    assert "\\x1b[31m(2,)" in err


def test_what_the_model_prints_is_shown(shell: Shell) -> None:
    (shell.folder / "model.py").write_text(
        NET.replace("    return jax.nn", "    print('spotted', x.shape)\n    return jax.nn")
    )
    out, err = shell.trace("model.py:net", "--input", "x=f32[2,3]", "--json")
    assert "spotted (2, 3)" in err
    assert "spotted" not in out


def test_env_list_and_use(shell: Shell) -> None:  # R4
    canary = shell.folder / "canary"
    program = shell.folder / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch '{canary}'\n")
    program.chmod(0o755)
    (shell.folder / ".venv" / "pyvenv.cfg").write_text("version = 3.12.4\n")
    line = shell.run("env", "list")[0].splitlines()[0]
    assert line.startswith(f"* {program}  Python 3.12.4")
    assert "`.venv` in the folder" in line
    hatch = shell.folder / "tools" / "hatch"
    hatch.parent.mkdir()
    hatch.write_text(f"#!/bin/sh\ntouch '{canary}'\n")
    hatch.chmod(0o755)
    shell.env["PATH"] = f"{hatch.parent}:{shell.env['PATH']}"
    assert "your choice" in shell.run("env", "use", "hatch", "-e", "x", "run", "python")[0]
    listed = json.loads(shell.run("env", "list", "--json")[0])
    assert listed["interpreters"][0]["command"] == ["hatch", "-e", "x", "run", "python"]
    assert str(program) in shell.run("env", "use", ".venv")[0]  # the folder of an environment
    assert shell.run("env", "list")[0].splitlines()[0] == f"* {program}  Python 3.12.4   your choice for this folder"
    assert "`.venv` in the folder" in shell.run("env", "use", "--forget")[0]
    assert "name a Python" in shell.run("env", "use", code=2)[1]
    assert not canary.exists()


def test_what_is_no_python_is_not_chosen(shell: Shell) -> None:  # R4
    (shell.folder / "data").mkdir()
    for wrong, message in (
        ("/nope/python", "/nope/python does not exist"),
        ("/etc/passwd", "/etc/passwd is no program"),
        ("data", f"{shell.folder / 'data'} is a folder, and no environment"),
        ("nopython", "no program nopython on PATH"),
    ):
        assert message in shell.run("env", "use", wrong, code=3)[1]
    refused = json.loads(shell.run("env", "use", "/nope/python", "--json", code=3)[0])
    assert refused["error"]["message"] == "/nope/python does not exist."
    assert "your choice" not in shell.run("env", "list")[0]
    assert "whether it is a Python" in shell.run("env", "use", "/bin/ls")[1]  # nothing is started before trust
    (found,) = [line for line in shell.run("doctor")[0].splitlines() if "/bin/ls" in line]
    assert found.startswith("note ")
    assert "says that it is a Python" in found
    shell.run("trust", ".")
    shell.run("env", "use", "--forget")
    assert "/bin/ls" in shell.run("env", "use", "/bin/ls", code=3)[1]
    assert "your choice" not in shell.run("env", "list")[0]
    listed = json.loads(shell.run("env", "use", sys.executable, "--folder", ".", "--json")[0])
    assert listed["interpreters"][0]["command"] == [sys.executable]
    out, _ = shell.run("doctor", "--python", "/nope/python", "--trust", code=3)
    assert [line for line in out.splitlines() if "/nope" in line] == [
        "MISSING capture Python: /nope/python (the setting `tvls.interpreter`): /nope/python does not exist."
    ]
    assert not [name for name in os.listdir(shell.folder) if "interpreters" in name]


def test_env_plan_and_install(shell: Shell, tmp_path: Path) -> None:  # R2
    index = make_index(tmp_path / "index")
    shell.env |= environ_of(index)
    prefix = make_template(shell.folder / ".venv")
    assert "not trusted" in shell.run("env", "plan", code=3)[1]
    plan = json.loads(shell.run("env", "plan", "--trust", "--json")[0])
    assert plan["requirements"] == ["jax>=0.6.1"]  # what the models of the folder need
    out, err = shell.run("env", "install", "--trust", "jax", code=3)
    assert "jax     0.10.2" in out
    assert "--yes" in err
    assert installed_in(prefix) == set()
    ours, theirs = pty.openpty()
    process = shell.start("env", "install", "--trust", "--yes", "jax", stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end, on Linux
        while data := os.read(ours, 4096):
            shown += data
    os.close(ours)
    assert "Installed jax 0.10.2 and 2 more" in process.communicate(timeout=60)[0]
    assert shown.decode().count("Installing collected packages") == 1  # each line of the installer once
    assert installed_in(prefix) == {"jax-0.10.2", "jaxlib-0.10.2", "numpy-2.2.0"}
    refused = json.loads(shell.run("env", "install", "--trust", "--yes", "--json", "numpy<2", code=1)[0])
    assert refused["error"]["data"]["reason"] == "holdsBroken"
    out, _ = shell.run("env", "plan", "--trust", "jax")
    assert "there is nothing to do" in out


def test_an_interrupted_installation_says_what_there_is(shell: Shell, tmp_path: Path) -> None:  # R2
    shell.env |= environ_of(make_index(tmp_path / "index"))
    prefix = make_template(shell.folder / ".venv")
    (site,) = prefix.glob("lib/python*/site-packages")
    begun = tmp_path / "begun"
    slow = f"import sys, time; 'pinned.txt' in sys.orig_argv and (open({str(begun)!r}, 'w').close(), time.sleep(100))"
    (site / "slow.pth").write_text(slow + "\n")
    process = shell.start("env", "install", "--trust", "--yes", "filelock")
    deadline = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "cancelled" in err
    assert "as it was before" in err
