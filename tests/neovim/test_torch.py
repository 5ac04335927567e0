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
        assert "not reported as executed" not in nvim.outline()
        nvim.goto("addmm")

        nvim.goto("relu")
        nvim.keys("K")
        assert "NaN" not in nvim.wait("floats()"), "nothing is measured that nobody asked for"
        nvim.command("fclose")
        nvim.answer("^Measure", "activation statistics: measured on request")
        nvim.command("Tvls measure")
        nvim.said("Measured: activation statistics.")
        assert "measured on request: activation statistics" in nvim.outline()
        nvim.goto("relu")
        nvim.keys("K")
        details = nvim.wait("floats()")
        assert "NaN 0 · infinite 0 of 16" in details
        assert "from linear in up" in details
        assert "op:" not in details

        # What was asked for once is measured again after an edit.
        nvim.command("fclose")
        nvim.command("wincmd p")
        nvim.goto("nn.Linear(4, 8)")
        nvim.nvim.current.line = nvim.line().replace("8", "9")
        nvim.command("silent write")
        nvim.wait_outline("result  f32[2,9]")
        assert "measured on request: activation statistics" in nvim.outline()


LAYERS = """\
import torch
from torch import nn
from torch.distributions import Normal


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        policy = Normal(x.tanh(), torch.ones(2))
        scaled = [part * 2 for part in x]
        return policy.mean, scaled[0]


def make():
    return Agent()


model = make()
"""


def test_a_model_that_is_named_or_made(nvim_path: str, tmp_path: Path, torch_python: str) -> None:  # R10, R25
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "agent.py").write_text(LAYERS)
    with editor(nvim_path, tmp_path / "home", SERVE, {"interpreter": torch_python}) as nvim:
        nvim.edit(folder / "agent.py")
        nvim.goto("return Agent()")
        nvim.answer("^make was not found to be a model", "Agent  torch.module")
        nvim.answer("Do you trust", "Trust this folder")
        nvim.answer("^x%.shape %(shape of float32; such as 2, 3%)", "3, 4")
        nvim.answer("^Setup of", "Cancel")
        nvim.command("Tvls open")
        nvim.wait("vim.iter(_G.asked):any(function(text) return text:find('^Setup of') end)")
        offered = nvim.lua("return _G.offered")
        assert "make  all the same" in offered
        assert "x.dtype = float32  (assumed)" in offered
        assert not [text for text in offered if text.startswith(("init.", "inputs."))]

        # There already: no lens stands at it, and no profile has its name; the object tells what it is called with.
        nvim.answer("^x%.shape", "2, 4")
        nvim.answer("^Setup of agent:model", "Save as the profile")
        nvim.command("Tvls open model")
        nvim.wait_outline("fresh · measured")
        assert 'model = "agent:model"' in (folder / "tensorviz.toml").read_text()
        nvim.command("wincmd p")

        # What a line ends with is of the names that it assigns, never of what a library made below it.
        shapes = nvim.wait("next(shapes_of('agent.py')) and shapes_of('agent.py')")
        assert shapes["x = layer(x)"][0] == "x: float32[2, 8] +1"
        assert "policy = Normal(x.tanh(), torch.ones(2))" not in shapes
        assert shapes["scaled = [part * 2 for part in x]"][0] == "scaled: [float32[2], float32[2]]"

        # PyTorch is all that these models need.
        nvim.command("checkhealth tvls")
        report = "\n".join(nvim.lines())
        assert "has what PyTorch modules need" in report
        assert "WARNING Python" not in report
