"""Graph files on the command line: compared, opened without a trace; and files that have one model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

import pytest

from tests.graph.captures import encoded, mlp

TVLS = (sys.executable, "-m", "tvls")


def run(folder: Path, *arguments: str, code: int = 0, **env: str) -> tuple[str, str]:
    done = subprocess.run(
        [*TVLS, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "TMPDIR": str(folder), "SSH_CONNECTION": "", **env},
    )
    assert done.returncode == code, done.stderr or done.stdout
    return done.stdout, done.stderr


def wider() -> dict[str, Any]:
    found = mlp()
    for at in (9, 10):
        found["values"][at]["shape"] = [2, 5]
    del found["operations"][3]
    found["operations"][3]["inputs"][0] = {"value": 7}
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "before.json").write_bytes(encoded(mlp()))
    (tmp_path / "after.json").write_bytes(encoded(wider()))
    return tmp_path


def test_what_differs_is_listed_and_told_by_the_exit_code(folder: Path) -> None:  # R38
    out, _ = run(folder, "compare", "before.json", "after.json", code=1)
    assert out.splitlines() == [
        "1 removed, 3 changed (3 shape, 1 operands)",
        "- net/mul.0",
        "~ net/Dense_1/dot_general.0",
        "    f32[2,4] → f32[2,5]",
        "    operand 1: net/mul.0 → net/relu/max.0",
        "~ net/Dense_1/neg.0",
        "    f32[2,4]* → f32[2,5]*",
        "~ output result.logits",
        "    f32[2,4]* → f32[2,5]*",
    ]
    assert run(folder, "compare", "before.json", "before.json")[0] == "no difference\n"
    answer = json.loads(run(folder, "compare", "before.json", "after.json", "--json", code=1)[0])
    assert ("same" in answer, answer["removedTotal"], answer["changed"][0]["what"]) == (False, 1, ["shape", "operands"])
    assert json.loads(run(folder, "compare", "after.json", "after.json", "--json")[0])["same"] is True


def test_what_cannot_be_compared_is_no_difference(folder: Path) -> None:  # R38
    (folder / "other.json").write_text("{}")
    failure = {"kind": "exception", "type": "E", "message": "no", "frames": [], "phase": "trace"}
    kept = {
        name: mlp()[name] for name in ("formatVersion", "framework", "versions", "target", "sources", "observations")
    }
    (folder / "failed.json").write_text(json.dumps({**kept, "failure": failure}))
    for wrong, says in (("nowhere.json", "cannot be read"), ("other.json", "readable"), ("failed.json", "failed")):
        err = run(folder, "compare", "before.json", wrong, code=2)[1]
        assert wrong in err
        assert says in err
        assert "error" in json.loads(run(folder, "compare", wrong, "before.json", "--json", code=2)[0])
    assert "failed while tracing the call" in run(folder, "open", "failed.json", code=1)[0]


def test_a_graph_file_opens_without_a_trace(folder: Path) -> None:  # R29, R4
    opened = folder / "opened.json"
    browser = folder / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport json, sys\nopen({str(opened)!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
    )
    browser.chmod(0o755)
    out, _ = run(folder, "open", "before.json", BROWSER=str(browser))
    assert json.loads(opened.read_text()) == [out.strip()]
    page = Path(url2pathname(out.strip().removeprefix("file://")))
    assert page.name == "before.html"
    run(folder, "show", "before.json", "--html", "shown.html")
    assert page.read_bytes() == (folder / "shown.html").read_bytes()


def test_options_for_a_model_are_none_for_a_graph(folder: Path) -> None:
    err = run(folder, "open", "before.json", "--input", "x=float32[2]", "--python", "python3", code=2)[1]
    assert "--input, --python would be for a model" in err
    assert "cannot be read" in run(folder, "open", "nowhere.json", code=2)[1]


ONE = "import jax\n\n\n@jax.jit\ndef net(x):\n    return x\n"


def test_the_only_model_of_a_file_needs_no_name(folder: Path, models_python: str) -> None:  # R3
    (folder / "one.py").write_text(ONE)
    trace = ("trace", "--python", models_python, "--trust")
    assert "one:net  (jax.function)" in run(folder, *trace, "one.py", "--input", "x=float32[2]")[0]
    assert json.loads(run(folder, "setup", "one.py", "--json")[0])["target"]["name"] == "net"


def test_where_a_file_has_another_number_of_models_they_are_named(folder: Path) -> None:
    (folder / "two.py").write_text(ONE + "\n\n@jax.jit\ndef other(x):\n    return x\n")
    (folder / "none.py").write_text("x = 1\n")
    (folder / "wrong.py").write_text("x = (\n")
    for command in ("trace", "open", "setup"):
        assert "two.py has 2 models; name one: two.py:net, two.py:other" in run(folder, command, "two.py", code=2)[1]
    assert "no model is found in none.py" in run(folder, "trace", "none.py", code=2)[1]
    assert "wrong.py:1: not valid Python" in run(folder, "trace", "wrong.py", code=2)[1]
