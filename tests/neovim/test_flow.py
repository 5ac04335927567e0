"""The Neovim plugin in a real Neovim, against the real daemon with real JAX: what a person does, first to last."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neovim.editor import Editor, editor

SERVE = [sys.executable, "-m", "tvls", "serve"]
MODEL = """\
import pathlib

import jax
from flax import linen as nn

pathlib.Path(__file__).with_name("it-ran").touch()


class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        h = nn.Dense(self.width)(x)
        return nn.relu(h)


class Net(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x: jax.Array):
        h = Block(self.width)(x)
        for _ in range(3):
            h = Block(self.width)(h)
        return nn.Dense(4)(h)
"""

BLOCK = "h = Block(self.width)(x)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work space"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'net'\n")
    (folder / "model.py").write_text(MODEL)
    return folder


@pytest.fixture
def nvim(nvim_path: str, tmp_path: Path, models_python: str) -> Iterator[Editor]:
    with editor(nvim_path, tmp_path / "home", SERVE, {"interpreter": models_python}) as started:
        yield started


def open_net(nvim: Editor, folder: Path) -> None:
    """From the untrusted folder to the outline, by the lens."""
    nvim.edit(folder / "model.py")
    nvim.wait("lenses() == 'Open as Graph|Open as Graph'")
    assert not (folder / "it-ran").exists()
    nvim.goto("class Net")
    nvim.answer("Do you trust this folder", "Trust this folder")
    nvim.answer("^width", "16")
    nvim.answer("shape", "2, 3")
    nvim.answer("^Setup of", "Save as the profile")
    nvim.lua("vim.lsp.codelens.run()")
    nvim.wait("vim.bo.filetype == 'tvlsoutline'")


def test_nothing_runs_before_trust(nvim: Editor, folder: Path) -> None:  # R4, R5
    nvim.edit(folder / "model.py")
    nvim.goto("class Net")
    nvim.answer("Do you trust this folder", "Not now")
    nvim.command("Tvls open")  # at once, while the server is still starting
    nvim.said("Nothing was run")
    nvim.wait("lenses() == 'Open as Graph|Open as Graph'")
    assert nvim.lua("return #_G.asked") == 1
    assert not (folder / "it-ran").exists()


def test_from_a_file_to_a_graph_that_follows_edits(nvim: Editor, folder: Path) -> None:  # R4, R10, R25, R26, R27
    open_net(nvim, folder)
    assert (folder / "it-ran").exists()
    assert 'model = "model:Net"' in (folder / "tensorviz.toml").read_text()

    # The outline: scopes, shapes, repeated blocks once, sources.
    nvim.wait_outline("fresh · inferred · coverage complete")
    text = "\n".join(nvim.lines())
    assert "x  f32[2,3]  input" in text
    assert "Block_1 … Block_3 \u00d73" in text
    assert "dot_general  f32[2,16]" in text
    assert "kernel f32[3,16]" in text
    model = nvim.lua("return vim.fn.bufnr('model.py')")

    # <CR> goes to the line that made it, K tells of it.
    nvim.goto("Block_0")
    nvim.keys("<CR>")
    nvim.wait("vim.api.nvim_get_current_buf() == arg", model)
    assert nvim.line() == "        h = Block(self.width)(x)"
    nvim.command("wincmd p")
    nvim.goto("dot_general")
    nvim.keys("K")
    details = nvim.wait("floats()")
    assert "dimension_numbers" in details
    assert "f32[2,3]" in details
    nvim.command("fclose")

    # Hover in the code says the shape, as Neovim does it; beside the code it stands, too.
    nvim.command("wincmd p")
    nvim.goto("        return nn.relu(h)", "h)")
    nvim.lua("vim.lsp.buf.hover()")
    assert "float32[2, 16]" in nvim.wait("floats()")
    nvim.command("fclose!")
    shapes = nvim.wait("next(shapes()) and shapes()")
    assert shapes["h = nn.Dense(self.width)(x)"] == ["h: float32[2, 16]", "TvlsShape"]
    assert shapes["h = Block(self.width)(h)"] == ["h: float32[2, 16]", "TvlsShape"]
    assert "return nn.Dense(4)(h)" not in shapes, "a line end is of names that the line assigns"

    # Edit and save: stale at once, traced again by the save, with what changed.
    edit(nvim, "nn.Dense(4)", "nn.Dense(8)")
    nvim.wait_outline("stale: model.py changed since the trace")
    nvim.wait("vim.deep_equal(shapes()[arg], { 'h: float32[2, 16] (stale)', 'TvlsStaleShape' })", BLOCK)
    nvim.command("silent write")
    nvim.wait_outline("changed: ")
    nvim.wait_outline("result  f32[2,8]")
    nvim.wait_outline("fresh · ")
    nvim.wait("vim.deep_equal(shapes()[arg], { 'h: float32[2, 16]', 'TvlsShape' })", BLOCK)

    # A shape that does not fit: a diagnostic at the line; undone, everything is as it was.
    edit(nvim, "return nn.relu(h)", "return nn.relu(h) + jax.numpy.ones((5, 7))")
    nvim.command("silent write")
    nvim.wait_outline("failed: ")
    message = nvim.wait("#vim.diagnostic.get(arg) > 0 and vim.diagnostic.get(arg)[1].message", model)
    assert "(5, 7)" in message
    nvim.command("silent undo")
    nvim.command("silent write")
    nvim.wait("#vim.diagnostic.get(arg) == 0", model)
    nvim.wait_outline("fresh · ")
    nvim.wait("not failed()")


def test_the_graph_is_walked_without_a_browser(nvim: Editor, folder: Path) -> None:  # R26, R28, R29
    open_net(nvim, folder)
    nvim.command("normal! zR")

    # Uses and definitions.
    nvim.goto("dot_general")
    nvim.keys("[[")
    assert nvim.line().startswith("x  f32[2,3]")
    nvim.keys("]]")
    assert "dot_general" in nvim.line()

    # Another of the repeated blocks.
    nvim.goto("\u00d73")
    nvim.keys("]x")
    nvim.wait_outline("\u00d73 (showing 2)")
    nvim.keys("[x")
    nvim.wait("not vim.fn.getline('.'):find('showing')")

    # Folds are Vim's own, and stay when the outline is drawn again.
    nvim.goto("Block_0")
    nvim.command("normal! zc")
    closed = nvim.lua("return vim.fn.foldclosedend('.') - vim.fn.foldclosed('.')")
    assert closed > 2
    nvim.lua("require('tvls.outline').current():draw()")
    assert nvim.lua("return vim.fn.foldclosedend('.') - vim.fn.foldclosed('.')") == closed

    # Search as the server has it, into the location list.
    nvim.command("Tvls search dot_general f32[*,16]")
    nvim.wait("#vim.fn.getloclist(0) >= 2")
    assert "dot_general" in nvim.line()

    # The cursor in the code marks its rows, and the other way round.
    nvim.command("wincmd p")
    nvim.goto("return nn.Dense(4)(h)", "nn.Dense")
    nvim.wait("row_key():find('Dense_0') and not row_key():find('Block')")
    nvim.command("wincmd p")
    nvim.goto("Block_0")
    nvim.wait("highlights() > 0")

    # From code to row, by command.
    nvim.command("wincmd p")
    nvim.goto("h = nn.Dense(self.width)(x)", "nn.Dense")
    nvim.command("Tvls reveal")
    nvim.wait("vim.bo.filetype == 'tvlsoutline'")

    # A file to keep, and the browser.
    target = folder / "net.json"
    nvim.command(f"Tvls export {nvim.nvim.funcs.fnameescape(str(target))}")
    nvim.said("Wrote ")
    assert '"captureId"' in target.read_text()
    nvim.command("Tvls browser")
    assert nvim.wait("_G.opened").startswith("http://127.0.0.1:")

    nvim.command("Tvls status")
    nvim.said("graphs open")


def test_a_daemon_that_dies_is_started_again(nvim: Editor, folder: Path) -> None:  # R22
    open_net(nvim, folder)
    nvim.wait_outline("fresh · ")
    pid = nvim.lua(
        "for _, p in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do "
        "local info = vim.api.nvim_get_proc(p) if info then return p end end"
    )
    first = nvim.lua("return vim.lsp.get_clients({ name = 'tvls' })[1].id")
    os.kill(pid, signal.SIGSTOP)
    nvim.lua("require('tvls.lens').refresh(vim.fn.bufnr('model.py'))")  # a question that is never answered
    os.kill(pid, signal.SIGKILL)
    nvim.said("was started again")
    nvim.wait(
        "vim.iter(vim.lsp.get_clients({ name = 'tvls' })):any(function(c) return c.initialized and c.id ~= arg end)",
        first,
    )
    assert "result  f32[2,4]" in nvim.outline()  # what was loaded can be read
    nvim.command("wincmd p")
    nvim.command("silent write")
    nvim.wait("not failed()")
    nvim.wait_outline("fresh · ")
    nvim.wait("lenses():find('fresh')")
    nvim.command("wincmd p")
    nvim.goto("dot_general")
    nvim.keys("r")
    nvim.keys("K")
    assert "dimension_numbers" in nvim.wait("floats()")


def test_a_setup_as_text(nvim: Editor, folder: Path) -> None:  # R10
    nvim.edit(folder / "model.py")
    nvim.wait("lenses() ~= ''")
    nvim.goto("class Net")
    nvim.command("Tvls! setup")
    nvim.wait("vim.bo.filetype == 'toml' and vim.bo.buftype == 'acwrite'")
    bufnr = nvim.nvim.current.buffer.number
    assert nvim.wait("#vim.diagnostic.get(arg) > 0 and #vim.diagnostic.get(arg)", bufnr) >= 2  # what is missing
    draft = nvim.lines()
    assert any(line.startswith("# missing: init.kwargs.width (int)") for line in draft)
    kept = [line for line in draft if line.startswith(("kind", "framework", "model"))]
    nvim.nvim.current.buffer[:] = [*kept, "init = { kwargs = "]
    nvim.command("write")
    nvim.said("not valid TOML")
    nvim.nvim.current.buffer[:] = [
        *kept,
        "init = { kwargs = { width = 16 } }",
        'inputs = { args = [{ kind = "tensor", shape = [2, 3], dtype = "float3" }] }',
    ]
    nvim.command("write")
    nvim.wait("vim.iter(vim.diagnostic.get(arg)):any(function(d) return d.message:find('dtype') ~= nil end)", bufnr)
    assert nvim.wait("vim.diagnostic.get(arg)[1].lnum", bufnr) == len(kept) + 1
    assert not (folder / "tensorviz.toml").exists()
    nvim.lua("vim.cmd('%s/float3\"/float32\"/')")
    nvim.command("write")
    nvim.wait("not vim.bo.modified")
    assert "width = 16" in (folder / "tensorviz.toml").read_text()
    assert nvim.wait("#vim.diagnostic.get(arg)", bufnr) == 0
    assert not (folder / "it-ran").exists()


def edit(nvim: Editor, old: str, new: str) -> None:
    """In the code, which becomes the current window."""
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('model.py'))[1])")
    nvim.goto(old)
    line = nvim.line()
    nvim.nvim.current.line = line.replace(old, new)
