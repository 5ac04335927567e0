"""A PyTorch model in a real Neovim: operators below a function, and measurements with what they cost."""

from __future__ import annotations

from pathlib import Path

from tests.neovim.editor import editor
from tests.neovim.test_flow import SERVE
from tests.torch_model import MODEL

SETUP = """\
version = 1

[profiles.net]
kind = "model"
model = "model:Net"
inputs = { args = [{ kind = "tensor", shape = [2, 4], dtype = "float32" }] }
"""


def test_operators_and_measurements_on_request(nvim_path: str, tmp_path: Path, torch_python: str) -> None:  # R24
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "tensorviz.toml").write_text(SETUP)
    with editor(nvim_path, tmp_path / "home", SERVE, {"interpreter": torch_python}) as nvim:
        nvim.edit(folder / "model.py")
        nvim.goto("class Net")
        nvim.answer("Do you trust", "Trust this folder")
        nvim.command("Tvls open")
        nvim.wait_outline("fresh · measured · coverage complete")
        nvim.goto("linear: operators that ran")
        nvim.goto("addmm")

        nvim.goto("relu")
        nvim.keys("K")
        assert "NaN" not in nvim.wait("floats()"), "nothing is measured that nobody asked for"
        nvim.command("fclose")
        nvim.answer("^Measure", "activation statistics: measured on request")
        nvim.command("Tvls measure")
        nvim.wait("require('tvls.outline').current().capture.unavailable.activation_statistics == nil")
        nvim.goto("relu")
        nvim.keys("K")
        assert "NaN 0 · infinite 0 of 16" in nvim.wait("floats()")
