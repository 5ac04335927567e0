"""The plugin against a server that answers from the protocol's examples: what a client must be able to read."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.neovim.editor import Editor, editor

FIXTURES = REPOSITORY / "protocol" / "fixtures"
SERVE = """
import sys
from pathlib import Path
from tvls.protocol.conformance.fake import serve
sys.exit(serve(Path(sys.argv[1]), None, sys.stdin.buffer, sys.stdout.buffer))
"""
MODEL = """\
from flax import linen as nn


class MLP(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.width)(x) * 2.0
"""


@contextlib.contextmanager
def plugin(nvim_path: str, tmp_path: Path, **cases: str) -> Iterator[Editor]:
    """In the examples' folder. `cases` says, by the last word of a method, which of its examples is the answer."""
    fixtures = tmp_path / "fixtures"
    shutil.copytree(FIXTURES, fixtures)
    for method, case in cases.items():
        (found,) = fixtures.glob(f"*.{method}/result-valid-{case}.json")
        found.replace(found.with_name("result-valid-example.json"))
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "pyproject.toml").write_text("")
    with editor(nvim_path, tmp_path / "home", [sys.executable, "-c", SERVE, str(fixtures)], {}) as nvim:
        nvim.edit(folder / "model.py")
        nvim.wait("lenses() == 'Open as Graph'")
        nvim.goto("class MLP")
        nvim.answer("Do you trust", "Trust this folder")
        nvim.command("Tvls open")
        nvim.wait("vim.bo.filetype == 'tvlsoutline'")
        nvim.command("normal! zR")
        yield nvim


def rows(nvim: Editor) -> list[str]:
    """Of the outline, below its header."""
    lines = nvim.lines()
    return [re.sub(r" {2,}", "  ", line.strip()) for line in lines[lines.index("") + 1 :]]


def test_a_view(nvim_path: str, tmp_path: Path) -> None:
    with plugin(nvim_path, tmp_path) as nvim:
        assert nvim.lines()[0] == "MLP  flax.linen  profile mlp  jax 0.10.2, flax 0.12.8"
        assert nvim.lines()[1] == "fresh · inferred · coverage complete · 6 operations"
        assert rows(nvim) == [
            "x  f32[2,3]  input",
            "Dense_0  Dense, 1 operation  model.py:8",
            "dot_general  f32[2,8]  ← kernel f32[3,8]  model.py:8",
            "result  f32[2,8]  output",
        ]

        nvim.goto("dot_general")
        nvim.keys("]]")
        assert nvim.line().startswith("result")
        nvim.keys("[[")
        nvim.keys("K")
        details = nvim.wait("floats()")
        assert "`f32[]` `2`" in details
        assert 'fun = `{ opaque = "builtins.function" }`' in details
        assert "model.py:9 MLP.__call__" in details
        nvim.command("fclose")
        nvim.keys("<CR>")
        nvim.wait("vim.api.nvim_get_current_line():find('nn.Dense')")


def test_folds_and_segments(nvim_path: str, tmp_path: Path) -> None:
    with plugin(nvim_path, tmp_path, view="folded", info="measured") as nvim:
        assert rows(nvim) == [
            "layers_2 \u2026 layers_3 \u00d72 (showing 2)  module, 2 \u00d7 82 operations",
            "mul  f32[2,8,32]",
            "f  jit, 1 operation \u22ef",
        ]


def test_bodies(nvim_path: str, tmp_path: Path) -> None:
    with plugin(nvim_path, tmp_path, view="boundary") as nvim:
        assert rows(nvim) == [
            "scan  f32[]*  opaque",
            "scan body (body, one iteration; not reported as executed)  5 operations",
        ]


def test_details_of_literals_and_a_node_without_a_source(nvim_path: str, tmp_path: Path) -> None:
    with plugin(nvim_path, tmp_path, node="literals", sources="none") as nvim:
        nvim.goto("dot_general")
        nvim.keys("<CR>")
        nvim.said("dot_general comes from no line that can be shown.")
        nvim.keys("K")
        details = nvim.wait("floats()")
        assert "1.  `nan`\n2.  `{ 1, -1 }`\n3.  `false`\n4.  `0`" in details


def test_every_command(nvim_path: str, tmp_path: Path) -> None:
    """What each says of the examples; a request that does not fit the protocol would be refused, and told."""
    with plugin(nvim_path, tmp_path) as nvim:
        nvim.command("Tvls search mul")
        nvim.said('41 hits for "mul"')
        nvim.answer("Do you trust", "Trust this folder")
        nvim.command("Tvls refresh")
        nvim.wait_outline("fresh · ")
        nvim.command("Tvls compare")
        nvim.said("There is no earlier graph")
        nvim.command(f"Tvls export {tmp_path / 'MLP.txt'}")
        nvim.said("Wrote ")
        assert (tmp_path / "MLP.txt").read_text().startswith("model:MLP")
        nvim.command("wincmd p")
        nvim.command("Tvls reveal")
        nvim.wait("vim.bo.filetype == 'tvlsoutline'")
        nvim.command("Tvls status")
        nvim.said("jax worker of /home/ada/net/.venv/bin/python: warm")
        nvim.answer("Trace with", "ml/bin/python")
        nvim.command("Tvls interpreter")
        nvim.said("Your choice is kept, but your choice for this folder comes first: uv run python")
        nvim.answer("Do you trust", "Trust this folder")
        nvim.answer("Install 3 packages into /home/ada/net/.venv/bin/python", "Approve")
        nvim.command("Tvls install")
        nvim.said("Installed flax 0.12.8 and 2 more")
        nvim.answer("^width", "16")
        nvim.answer("^x%.shape", "32, 784")
        nvim.command("Tvls setup")
        nvim.wait("table.concat(_G.asked, '\\n'):find('width')")
        nvim.command("Tvls! setup")
        nvim.wait("vim.bo.buftype == 'acwrite'")
        nvim.command("close")
        nvim.answer("Do you trust", "Trust this folder")
        nvim.command("Tvls browser")
        nvim.wait("_G.opened")
        nvim.command("Tvls cancel")
        nvim.said("No graph is being traced")
        nvim.command("Tvls untrust")
        nvim.said("is not trusted any more")
        nvim.command("Tvls log")
        nvim.wait("vim.api.nvim_buf_get_name(0):find('tvls://log')")
        assert not nvim.lua("return table.concat(_G.said, '\\n'):find('traceback') ~= nil")
