"""A real headless Neovim with the plugin, driven as a person does: keys, commands, and answers to questions."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvim

from tests.conftest import REPOSITORY

PLUGIN = REPOSITORY / "clients" / "neovim"
SECONDS = 60.0
"""How long a wait takes at most; nothing is measured."""

INIT = """
local python, settings = ...
vim.opt.runtimepath:prepend(vim.env.TVLS_PLUGIN)
vim.cmd.runtime('plugin/tvls.lua')
vim.o.swapfile = false
vim.o.hidden = true
vim.lsp.config('tvls', { cmd = python, settings = { tvls = settings } })
vim.lsp.enable('tvls')

-- The person: questions are kept, and answered by the first pattern that fits; none is left open.
_G.asked, _G.said, _G.answers, _G.offered = {}, {}, {}, {}
local function answer(prompt)
  table.insert(_G.asked, prompt)
  for at, entry in ipairs(_G.answers) do
    if prompt:find(entry[1]) then
      table.remove(_G.answers, at)
      return entry[2]
    end
  end
end
vim.ui.select = function(items, opts, chosen)
  local wanted = answer(opts.prompt)
  vim.schedule(function()
    local texts = vim.tbl_map(opts.format_item or tostring, items)
    vim.list_extend(_G.offered, texts)
    for at, item in ipairs(items) do
      local text = texts[at]
      if wanted and text:find(wanted, 1, true) then
        return chosen(item, at)
      end
    end
    chosen(nil)
  end)
end
vim.ui.input = function(opts, typed)
  local wanted = answer(opts.prompt)
  vim.schedule(function() typed(wanted) end)
end
vim.notify = function(text, level)
  table.insert(_G.said, text)
end
vim.ui.open = function(uri)
  _G.opened = uri
  return { wait = function() return { code = 0 } end }
end

-- What is on the screen.
function _G.floats()
  local found = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(win).relative ~= '' then
      vim.list_extend(found, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false))
    end
  end
  return #found > 0 and table.concat(found, '\\n')
end
function _G.outlines()
  local found = {}
  for _, outline in ipairs(require('tvls.outline').all()) do
    vim.list_extend(found, vim.api.nvim_buf_get_lines(outline.bufnr, 0, -1, false))
  end
  return table.concat(found, '\\n')
end
function _G.lenses()
  return lenses_of('model.py')
end
function _G.lenses_of(file)
  local titles, bufnr = {}, vim.fn.bufnr(file)
  local found = vim.lsp.codelens.enable and vim.lsp.codelens.get({ bufnr = bufnr }) or vim.lsp.codelens.get(bufnr)
  for _, item in ipairs(found) do
    table.insert(titles, (item.lens or item).command.title) -- Neovim 0.12 says which client a lens is of
  end
  return table.concat(titles, '|')
end
function _G.failed()
  return vim.iter(require('tvls.outline').all()):any(function(o) return o.failure ~= nil end)
end
function _G.row_key()
  local outline = require('tvls.outline').all()[1]
  local row = outline:row_in(outline:window())
  return row and row.key or ''
end
function _G.highlights()
  local ns = vim.api.nvim_create_namespace('tvls.follow')
  return #vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('model.py'), ns, 0, -1, {})
end
function _G.shapes()
  return shapes_of('model.py')
end
function _G.shapes_of(file)
  local bufnr, found = vim.fn.bufnr(file), vim.empty_dict()
  local ns = require('tvls.outline.shapes').namespace
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(bufnr, ns, 0, -1, { details = true })) do
    local line = vim.api.nvim_buf_get_lines(bufnr, mark[2], mark[2] + 1, false)[1]
    found[vim.trim(line)] = { vim.trim(mark[4].virt_text[1][1]), mark[4].virt_text[1][2] }
  end
  return found
end
"""


class Editor:
    def __init__(self, nvim: pynvim.Nvim) -> None:
        self.nvim = nvim

    def lua(self, code: str, *args: Any) -> Any:
        return self.nvim.exec_lua(code, *args)

    def command(self, text: str) -> None:
        self.nvim.command(text)

    def keys(self, text: str) -> None:
        """Types keys, mappings included."""
        self.nvim.feedkeys(self.nvim.replace_termcodes(text, True, True, True), "mtx")

    def edit(self, path: Path) -> None:
        self.command(f"edit {self.nvim.funcs.fnameescape(str(path))}")

    def answer(self, pattern: str, answer: str) -> None:
        """The next question that fits the Lua pattern gets this answer: a part of a choice, or a text."""
        self.lua("table.insert(_G.answers, {...})", pattern, answer)

    def wait(self, code: str, *args: Any) -> Any:
        """What a Lua expression gives, once it is neither nil nor false; `arg` is the first of `args` in it."""
        end = time.monotonic() + SECONDS
        while True:
            found = self.lua(f"local arg = ... return {code}", *args)
            if found is not None and found is not False:
                return found
            if time.monotonic() > end:
                state = self.lua("return vim.inspect({asked = _G.asked, said = _G.said})")
                messages = self.nvim.command_output("messages")
                raise AssertionError(f"never came: {code}\n{state}\n{messages}\n{self.screen()}")
            time.sleep(0.02)

    def said(self, text: str) -> None:
        """Waits for a message with this text."""
        self.wait("table.concat(_G.said, '\\n'):find(arg, 1, true)", text)

    def screen(self) -> str:
        return "\n".join(f"== {buffer.name}\n" + "\n".join(buffer[:]) for buffer in self.nvim.buffers if buffer.name)

    def lines(self) -> list[str]:
        return list(self.nvim.current.buffer[:])

    def line(self) -> str:
        return self.nvim.current.line

    def goto(self, text: str, column_of: str = "") -> None:
        """Puts the cursor on the first line with a text."""
        at = next(number for number, line in enumerate(self.lines(), 1) if text in line)
        self.nvim.current.window.cursor = (at, max(self.lines()[at - 1].find(column_of or text), 0))
        self.command("doautocmd CursorMoved")

    def outline(self) -> str:
        """Text of all outlines."""
        return self.lua("return outlines()")

    def wait_outline(self, text: str) -> None:
        """Until an outline has this text."""
        self.wait("outlines():find(arg, 1, true)", text)


@contextlib.contextmanager
def editor(
    nvim_path: str, home: Path, server: list[str], settings: dict[str, Any], env: dict[str, str] | None = None
) -> Iterator[Editor]:
    """A Neovim whose user has nothing but the plugin."""
    for name in ("config", "data", "state", "cache"):
        (home / name).mkdir(parents=True, exist_ok=True)
    variables = {
        "TVLS_PLUGIN": str(PLUGIN),
        "PYTHONPATH": str(REPOSITORY),
        "SSH_CONNECTION": "",
        **{f"XDG_{name.upper()}_HOME": str(home / name) for name in ("config", "data", "state", "cache")},
        **(env or {}),
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)  # pynvim starts its child with these
    try:
        nvim = pynvim.attach("child", argv=[nvim_path, "--clean", "--embed", "--headless"])
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    try:
        nvim.exec_lua(INIT, server, settings)
        nvim.ui_attach(120, 40, rgb=True)
        yield Editor(nvim)
    finally:
        with contextlib.suppress(OSError, EOFError, pynvim.NvimError):
            nvim.command("qall!")
        nvim.close()
