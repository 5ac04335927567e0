"""`tvls setup`: a profile from a terminal or a script."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

MODEL = """\
import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float


class MLP(nn.Module):
    width: int
    act: str = "relu"

    @nn.compact
    def __call__(self, x: Float[Array, "batch 784"], train: bool):
        return nn.Dense(self.width)(x)


@jax.jit
def net(x, y=None):
    return jax.nn.relu(x @ jnp.ones((3, 4)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tvls", "setup", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def profiles(folder: Path) -> dict[str, dict[str, object]]:
    return tomllib.loads((folder / "tensorviz.toml").read_text())["profiles"]


def test_a_script_states_values_by_name(folder: Path) -> None:  # R10
    done = run(folder, "model.py:MLP", "--set", "width=16", "--set", "batch=4", "--set", "train=false")
    assert done.returncode == 0, done.stderr
    assert "tvls open model.py:MLP --profile mlp" in done.stdout
    saved = profiles(folder)["mlp"]
    assert saved["init"] == {"args": [], "kwargs": {"width": 16}}
    assert saved["inputs"] == {
        "args": [{"kind": "tensor", "shape": [4, 784], "dtype": "float32"}, False],
        "kwargs": {},
    }


def test_an_edit_changes_the_profile_that_is_there(folder: Path) -> None:  # R9
    run(folder, "model.py:net", "--set", "x=int8[2,3]")
    file = folder / "tensorviz.toml"
    file.write_text(file.read_text().replace("seed = 0", "seed = 0 # why not"))
    assert run(folder, "model.py:net", "--set", "x.shape=5,3", "--set", "seed=4").returncode == 0
    assert "seed = 4 # why not" in file.read_text()
    assert '{ kind = "tensor", shape = [5, 3], dtype = "int8" }' in file.read_text()
    assert run(folder, "model.py:net", "--new", "--profile", "wide", "--set", "x=int8[9]").returncode == 0
    assert list(profiles(folder)) == ["net", "wide"]


def test_what_lacks_is_listed_and_nothing_is_saved(folder: Path) -> None:  # R10
    done = run(folder, "model.py:MLP")
    assert done.returncode == 3
    for text in ("init.kwargs.width", "width: int", "inputs.args[1]", "dimensions.batch"):
        assert text in done.stderr
    assert not (folder / "tensorviz.toml").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("width=wide", "whole number"),
        ("depth=1", "there is no 'depth'; there are width, act, x, train, batch"),
        ("x.dtype=flaot32", "float32"),
        ("widht=1", "did you mean 'width'?"),
        ("width.0=5", "width is a whole number, which has nothing named '0'"),
        ("width[0]=5", "width has no items to change"),
        ("act.name=relu", "act is text, which has nothing named 'name'"),
        ("width", "is not NAME=VALUE"),
    ],
)
def test_a_wrong_value_is_wrong_usage(folder: Path, option: str, message: str) -> None:
    done = run(folder, "model.py:MLP", "--set", option)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (folder / "tensorviz.toml").exists()


def test_a_function_that_is_no_target_is_asked_for_its_arguments(folder: Path) -> None:  # R10
    (folder / "loss.py").write_text(
        "import dataclasses\nimport optax\n\n\n"
        "@dataclasses.dataclass\nclass Weights:\n    decay: float\n    scale: float = 1.0\n\n\n"
        "class Plain:\n    pass\n\n\n"
        "def loss_fn(params, weights: Weights, batch):\n    return optax.l2_loss(params, batch)\n"
    )
    lacks = run(folder, "loss.py:loss_fn")
    assert lacks.returncode == 3
    for text in ("inputs.args[0]", "fields.decay", "inputs.args[2]"):
        assert text in lacks.stderr
    assert not (folder / "tensorviz.toml").exists()
    stated = ("--set", "params=float32[2]", "--set", "weights.decay=0.5", "--set", "batch=float32[2]")
    assert run(folder, "loss.py:loss_fn", *stated).returncode == 0
    weights = {"kind": "object", "class": "loss:Weights", "fields": {"decay": 0.5}}
    array = {"kind": "tensor", "shape": [2], "dtype": "float32"}
    assert profiles(folder)["loss_fn"]["inputs"] == {"args": [array, weights, array], "kwargs": {}}
    for name in ("Plain", "Weights"):
        refused = run(folder, f"loss.py:{name}", "--set", "seed=1")
        assert refused.returncode == 2
        assert f"{name} is a class, and no module" in refused.stderr
    assert list(profiles(folder)) == ["loss_fn"]


def test_json_prints_the_form_and_saves_nothing(folder: Path) -> None:
    done = run(folder, "model.py:MLP", "--set", "width=16", "--json")
    form = json.loads(done.stdout)
    fields = {field["key"]: field for field in form["fields"]}
    assert fields["init.kwargs.width"]["value"] == 16
    assert fields["inputs.args[0].shape"]["value"] == ["?batch", 784]
    assert form["complete"] is False
    assert not (folder / "tensorviz.toml").exists()


def answer(folder: Path, target: str, *answers: str) -> tuple[int, str]:
    """The exit code and all that a terminal showed; an answer of one control character is a key, without Enter."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "tvls", "setup", target])  # noqa: S606
    shown = b""
    left = list(answers)
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, shown.decode()
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the end, on Linux
            break
        if not data:
            break
        shown += data
        if shown.endswith(b": ") and left:
            text = left.pop(0)
            os.write(terminal, (text if text < " " and text else f"{text}\n").encode())
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()


def test_a_terminal_is_asked_until_the_form_is_complete(folder: Path) -> None:  # R10
    # two of them wrong; an empty one keeps what is assumed
    code, text = answer(folder, "model.py:MLP", "x", "16", "", "maybe", "true", "32")
    assert code == 0, text
    assert "whole number" in text
    assert "true or false" in text
    saved = profiles(folder)["mlp"]
    assert saved["init"] == {"args": [], "kwargs": {"width": 16}}
    assert saved["inputs"] == {
        "args": [{"kind": "tensor", "shape": [32, 784], "dtype": "float32"}, True],
        "kwargs": {},
    }


def test_what_has_a_default_is_told(folder: Path) -> None:  # R10
    (folder / "gpt.py").write_text(
        "from dataclasses import dataclass\nfrom torch import nn\n\n\n@dataclass\nclass GPTConfig:\n"
        "    width: int = 8\n\n\n"
        "class GPT(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n\n"
        "    def forward(self, idx, targets=None):\n        return idx\n"
    )
    code, text = answer(folder, "gpt.py:GPT", "int64[2, 8]")
    assert code == 0, text
    assert "Not asked for, as the program has a default: config.width, targets. --set NAME=VALUE states one." in text
    saved = profiles(folder)["gpt"]
    assert saved["init"]["kwargs"] == {"config": {"kind": "object", "class": "gpt:GPTConfig", "fields": {}}}
    assert saved["inputs"]["args"] == [{"kind": "tensor", "shape": [2, 8], "dtype": "int64"}]


def test_an_interrupt_ends_the_questions_at_once(folder: Path) -> None:
    code, text = answer(folder, "model.py:MLP", "16", "\x03")
    assert code == 130, text
    assert not (folder / "tensorviz.toml").exists()


@pytest.mark.parametrize("left_open", ["?", ""])
def test_an_answer_may_be_left_open(folder: Path, left_open: str) -> None:  # R10
    code, text = answer(folder, "model.py:net", left_open)
    assert code == 0, text
    assert "inputs.args[0].shape" in text
    assert profiles(folder)["net"]["inputs"] == {
        "args": [{"kind": "tensor", "shape": "?", "dtype": "float32"}],
        "kwargs": {},
    }


def test_what_cannot_be_typed_comes_from_a_factory(folder: Path) -> None:  # R10
    (folder / "train.py").write_text("import jax\n\n\n@jax.jit\ndef step(params, x):\n    return x @ params['w']\n")
    code, text = answer(folder, "train.py:step", "factory", "setups.py", "example")
    assert code == 0, text
    assert '{"params": …, "x": …}' in text  # how to write one
    assert profiles(folder)["step"]["inputs"] == {"factory": {"file": "setups.py", "callable": "example"}}


@pytest.mark.parametrize("by", ["--set", "a prompt"])
def test_a_factory_is_named_as_commands_name_functions(folder: Path, by: str) -> None:  # R10, R12
    if by == "--set":
        done = run(folder, "model.py:net", "--set", "inputs.factory=model.py:example")
        code, text = done.returncode, done.stderr
    else:
        code, text = answer(folder, "model.py:net", "factory", "model.py:example")
    assert code == 0, text
    factory = {"file": "model.py", "callable": "example"}
    assert profiles(folder)["net"]["inputs"] == {"factory": factory}


def test_a_factory_can_be_taken_back(folder: Path) -> None:  # R10
    code, text = answer(folder, "model.py:net", "factory", "", "2, 3")
    assert code == 0, text
    array = {"kind": "tensor", "shape": [2, 3], "dtype": "float32"}
    assert profiles(folder)["net"]["inputs"]["args"] == [array]  # type: ignore[index]


def test_a_named_dimension_is_asked_for_at_once(folder: Path) -> None:  # R10
    code, text = answer(folder, "model.py:net", "nonsense", "", "2, n", "long", "7")
    assert code == 0, text
    assert "nonsense is a named dimension" in text
    assert "whole number" in text
    args = [{"kind": "tensor", "shape": [2, 7], "dtype": "float32"}]
    assert profiles(folder)["net"]["inputs"] == {"args": args, "kwargs": {}}


def test_a_setup_file_that_is_a_link_out_of_the_folder_is_not_written(folder: Path, tmp_path: Path) -> None:  # R9
    outside = tmp_path.parent / f"{tmp_path.name}.toml"
    outside.write_text("version = 1\n")
    (folder / "tensorviz.toml").symlink_to(outside)
    done = run(folder, "model.py:net", "--set", "x=float32[2,3]")
    assert done.returncode == 3
    assert f"it is a link to {outside}, outside of the folder" in done.stderr
    assert "Put a file in the place of the link" in done.stderr
    assert outside.read_text() == "version = 1\n"
