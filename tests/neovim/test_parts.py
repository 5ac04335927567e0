"""What the Neovim plugin does besides the one flow: health, bodies, large graphs, comparing, choices, help."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.neovim.editor import PLUGIN, Editor, editor
from tvls.settings import LimitSettings, Settings

SERVE = [sys.executable, "-m", "tvls", "serve"]
SCAN = """\
import jax
import jax.numpy as jnp


@jax.jit
def rnn(xs: jax.Array):
    def step(h, x):
        h = jnp.tanh(h + x)
        return h, h

    h, ys = jax.lax.scan(step, jnp.zeros(xs.shape[1:]), xs)
    return ys * 2
"""
SLEEPS = """\
pathlib.Path(__file__).with_name("began").touch()
time.sleep(100)

"""
LARGE = """\
import jax
import jax.numpy as jnp


def block(x, at):
    for step in range(100 + at):
        x = jnp.sin(x) + step
    return x


@jax.jit
def large(x: jax.Array):
    for at in range(40):
        with jax.named_scope(f"block{at}"):
            x = block(x, at)
    return x
"""
SETUP = """\
version = 1

[profiles.rnn]
kind = "model"
framework = "jax"
model = "scan:rnn"
inputs = { args = [{ kind = "tensor", shape = [5, 3, 4], dtype = "float32" }] }

[profiles.large]
kind = "model"
framework = "jax"
model = "large:large"
inputs = { args = [{ kind = "tensor", shape = [8], dtype = "float32" }] }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "scan.py").write_text(SCAN)
    (folder / "large.py").write_text(LARGE)
    (folder / "tensorviz.toml").write_text(SETUP)
    return folder


@pytest.fixture
def nvim(nvim_path: str, tmp_path: Path, models_python: str) -> Iterator[Editor]:
    with editor(nvim_path, tmp_path / "home", SERVE, {"interpreter": models_python}) as started:
        yield started


def start(nvim: Editor, path: Path) -> None:
    nvim.edit(path)
    nvim.wait("vim.lsp.get_clients({ name = 'tvls' })[1] and vim.lsp.get_clients({ name = 'tvls' })[1].initialized")


def open_at(nvim: Editor, path: Path, text: str) -> None:
    start(nvim, path)
    nvim.goto(text)
    nvim.answer("Do you trust", "Trust this folder")
    nvim.command("Tvls open")
    nvim.wait("vim.bo.filetype == 'tvlsoutline'")


def test_nothing_is_loaded_before_it_is_needed(nvim: Editor, folder: Path, tmp_path: Path) -> None:
    assert nvim.lua("return vim.fn.exists(':Tvls')") == 2
    loaded = "vim.iter(vim.tbl_keys(package.loaded)):filter(function(n) return vim.startswith(n, 'tvls') end):totable()"
    assert nvim.lua(f"return {loaded}") == []
    other = tmp_path / "Cargo.toml"
    other.write_text("[package]\n")
    nvim.edit(other)
    nvim.edit(tmp_path / "text.txt")
    assert nvim.lua(f"return {loaded}") == []
    assert nvim.lua("return #vim.lsp.get_clients()") == 0
    start(nvim, folder / "tensorviz.toml")
    assert nvim.lua("return vim.lsp.get_clients()[1].config.root_dir") == str(folder)


def test_starting_costs_less_than_a_millisecond(nvim_path: str, tmp_path: Path) -> None:
    """Of what is ours: Neovim's own part of `vim.lsp.enable` is none of it. The best of three counts."""
    init = tmp_path / "init.lua"
    init.write_text(f"vim.opt.runtimepath:append([[{PLUGIN}]])\nvim.lsp.enable('tvls')\n")
    costs: list[float] = []
    for number in range(3):
        log = tmp_path / f"{number}.log"
        command = [nvim_path, "--headless", "-i", "NONE", "-u", str(init), "--startuptime", str(log), "-c", "qall"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        (line,) = [line for line in log.read_text().splitlines() if str(PLUGIN) in line]
        costs.append(float(line.split()[2].rstrip(":")))
    assert min(costs) < 1


def test_bodies_of_a_scan(nvim: Editor, folder: Path) -> None:  # R17, R28
    open_at(nvim, folder / "tensorviz.toml", "[profiles.rnn]")
    nvim.command("normal! zR")
    text = nvim.outline()
    assert "coverage partial" in text
    assert re.search(r"scan  .*  opaque  .*scan\.py:11", text)
    assert re.search(r"\n +.*not reported as executed", text)
    nvim.goto("tanh")
    nvim.keys("K")
    details = nvim.wait("floats()")
    assert "f32[3,4]" in details
    nvim.command("fclose")
    nvim.keys("[[")
    assert "add" in nvim.line()
    nvim.answer("Go to", "step")
    nvim.keys("gs")
    nvim.wait("vim.api.nvim_buf_get_name(0):find('scan.py')")
    nvim.wait("vim.api.nvim_get_current_line():find('jnp.tanh')")


def test_a_large_graph_is_loaded_as_it_is_opened(nvim: Editor, folder: Path) -> None:  # R29
    open_at(nvim, folder / "large.py", "def large")
    assert "9560 operations" in nvim.outline()
    before = len(nvim.lines())
    assert before < 4000
    nvim.command("normal! zR")
    closed = next(line for line in nvim.lines() if "\u22ef" in line)
    nvim.goto(closed)
    nvim.keys("zo")
    nvim.wait("vim.api.nvim_buf_line_count(0) > arg", before)
    assert "\u22ef" not in nvim.line()
    assert "sin  f32[8]" in "\n".join(nvim.lines())
    # A hit in what is not loaded loads what hides it.
    nvim.command("Tvls search block39 sin")
    nvim.wait("#vim.fn.getloclist(0) > 0")
    assert "sin" in nvim.line()


def test_unsaved_sources_are_saved_first_and_graphs_are_compared(nvim: Editor, folder: Path) -> None:  # R5, R38
    open_at(nvim, folder / "scan.py", "def rnn")
    nvim.command("Tvls compare")
    nvim.said("There is no earlier graph")
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('scan.py'))[1])")
    nvim.goto("ys * 2")
    nvim.nvim.current.line = "    return jnp.exp(ys) * 2"
    nvim.wait_outline("stale: scan.py changed")
    nvim.answer("Save%?", "Save")
    nvim.command("Tvls open")
    nvim.wait("outlines():find('changed: ')")
    assert not nvim.lua("return vim.bo[vim.fn.bufnr('scan.py')].modified")
    assert "exp  f32[5,3,4]" in nvim.outline()
    nvim.command("Tvls compare")
    nvim.wait("vim.api.nvim_buf_get_name(0):find('tvls://compare')")
    assert any(re.match(r"\+ op:.*exp", line) for line in nvim.lines())


def test_interpreters_and_trust(nvim_path: str, folder: Path, tmp_path: Path, models_python: str) -> None:  # R4
    with editor(nvim_path, tmp_path / "home", SERVE, {}) as nvim:
        start(nvim, folder / "scan.py")
        nvim.answer("Trace with", "Enter a path")
        nvim.answer("^Python", models_python)
        nvim.command("Tvls interpreter")  # may be chosen before trust, and is not run
        nvim.said("Graphs of this folder are traced with")
        nvim.answer("Do you trust", "Show what would run")
        nvim.answer("Do you trust", "Trust this folder")
        nvim.command("Tvls trust")
        nvim.said("is trusted.")
        assert "\n  " + models_python in "\n" + "\n".join(nvim.lines())
        nvim.command("close")
        nvim.answer("Trace with", models_python.rpartition("/")[0])
        nvim.command("Tvls interpreter")
        nvim.said("has what JAX functions")
        nvim.command("Tvls open rnn")
        nvim.wait("vim.bo.filetype == 'tvlsoutline'")
        nvim.command("Tvls untrust")
        nvim.said("is not trusted any more")
        nvim.command("wincmd p")
        nvim.answer("Do you trust", "Not now")
        nvim.command("Tvls refresh rnn")
        nvim.said("Nothing was run")
    with editor(nvim_path, tmp_path / "home", SERVE, {"interpreter": sys.executable}) as nvim:
        start(nvim, folder / "scan.py")
        nvim.answer("Trace with", "Enter a path")
        nvim.answer("^Python", models_python)
        nvim.command("Tvls interpreter")
        nvim.said("the setting `tvls.interpreter` comes first")


def test_a_trace_is_cancelled(nvim: Editor, folder: Path) -> None:  # R5
    (folder / "scan.py").write_text(f"import pathlib\nimport time\n\nimport jax\n\n{SLEEPS}{SCAN}")
    start(nvim, folder / "scan.py")
    nvim.goto("def rnn")
    nvim.answer("Do you trust", "Trust this folder")
    nvim.command("Tvls open")
    nvim.wait("vim.uv.fs_stat(arg) ~= nil", str(folder / "began"))
    nvim.command("Tvls status")
    nvim.said("0 graphs open, 1 being traced")
    nvim.command("Tvls cancel")
    nvim.said("Cancelled 1.")
    nvim.wait("vim.tbl_isempty(require('tvls.client').find(0).requests)")
    nvim.command("Tvls status")
    nvim.said("0 graphs open, 0 being traced")
    assert nvim.lua("return #require('tvls.outline').all()") == 0


def test_inlay_hints_take_the_place_of_shapes(
    nvim_path: str, folder: Path, tmp_path: Path, models_python: str
) -> None:  # R25
    with editor(nvim_path, tmp_path / "home", SERVE, {"interpreter": models_python}) as nvim:
        nvim.lua("vim.lsp.inlay_hint.enable()")
        open_at(nvim, folder / "scan.py", "def rnn")
        nvim.command("wincmd p")
        nvim.wait("vim.inspect(vim.lsp.inlay_hint.get({ bufnr = 0 })):find('float32%[5, 3, 4%]')")
        assert nvim.lua("return shapes_of('scan.py')") == {}
        nvim.lua("vim.lsp.inlay_hint.enable(false)")
        nvim.command("Tvls open")
        shapes = nvim.wait("next(shapes_of('scan.py')) and shapes_of('scan.py')")
        assert shapes["def step(h, x):"][0] == "h: float32[3, 4], x: float32[3, 4]"


def health(nvim: Editor) -> str:
    nvim.command("checkhealth tvls")
    return "\n".join(nvim.lines())


def test_health_names_what_is_missing(nvim_path: str, folder: Path, tmp_path: Path) -> None:
    with editor(nvim_path, tmp_path / "a", ["no-such-tvls", "serve"], {}) as nvim:
        report = health(nvim)
        assert "`no-such-tvls` is not on the PATH" in report
        assert "pipx install /path/to/tvls" in report
    with editor(nvim_path, tmp_path / "b", SERVE, {"interpreter": sys.executable}) as nvim:
        assert "the server does not run" in health(nvim)
        start(nvim, folder / "scan.py")
        report = health(nvim)
        assert re.search(r"OK .*: tvls \d", report)
        assert "the folder is not trusted" in report
        assert ":Tvls trust" in report
        nvim.edit(folder / "scan.py")
        nvim.answer("Do you trust", "Trust this folder")
        nvim.command("Tvls trust")
        nvim.said("is trusted.")
        report = health(nvim)
        assert ":Tvls install" in report
        assert "jax" in report
    with editor(nvim_path, tmp_path / "c", SERVE, {}) as nvim:
        nvim.lua("vim.lsp.enable('tvls', false)")
        assert "vim.lsp.enable('tvls') in your init.lua" in health(nvim)


def test_every_subcommand_is_completed_and_documented(nvim: Editor, folder: Path) -> None:
    names = nvim.lua("local n = vim.tbl_keys(require('tvls.command').subcommands) table.sort(n) return n")
    assert nvim.nvim.funcs.getcompletion("Tvls ", "cmdline") == names
    text = (PLUGIN / "doc" / "tvls.txt").read_text()
    tags = set(re.findall(r"\*(\S+)\*(?:\s|$)", text))
    assert {f":Tvls-{name}" for name in names} <= tags
    assert set(re.findall(r"\|(tvls[\w-]*|:Tvls[\w-]*)\|", text)) <= tags
    settings = text.split("*tvls-settings*")[1].split("*tvls-highlights*")[0]
    fields = [*msgspec.structs.fields(Settings), *msgspec.structs.fields(LimitSettings)]
    assert {field.encode_name for field in fields} <= set(re.findall(r"\w+", settings))
    groups = set(re.findall(r"'(Tvls\w+)'", "".join(path.read_text() for path in PLUGIN.rglob("*.lua"))))
    assert groups <= set(re.findall(r"\w+", text.split("*tvls-highlights*")[1]))
    start(nvim, folder / "scan.py")
    nvim.wait("lenses_of('scan.py') == 'Open as Graph'")
    assert nvim.nvim.funcs.getcompletion("Tvls open r", "cmdline") == ["rnn"]
    nvim.command("Tvls nonsense")
    nvim.said(':Tvls has no "nonsense"')
