-- How Neovim starts and talks to the TensorViz language server: `vim.lsp.enable('tvls')`.
-- Read when a Python file is opened; what needs more is required where it is needed.

local MARKERS = { 'tensorviz.toml', 'pyproject.toml', 'setup.py', 'setup.cfg', '.git' }

---@param name string
---@return fun(command: lsp.Command, ctx: table)
local function command(name)
  return function(...)
    require('tvls.lens')[name](...)
  end
end

---@type vim.lsp.Config
return {
  cmd = { 'tvls', 'serve' },
  filetypes = { 'python', 'toml' },
  -- A file outside any project belongs to its own folder; of TOML files only the setup is ours.
  root_dir = function(bufnr, on_dir)
    local file = vim.api.nvim_buf_get_name(bufnr)
    if file == '' or (vim.bo[bufnr].filetype == 'toml' and vim.fs.basename(file) ~= 'tensorviz.toml') then
      return
    end
    on_dir(vim.fs.root(bufnr, MARKERS) or vim.fs.dirname(file))
  end,
  capabilities = {
    workspace = { codeLens = { refreshSupport = true } },
    experimental = { tvls = { captureState = true }, commands = { 'tvls.openGraph' } },
  },
  settings = { tvls = { inlayHints = true } }, -- Neovim shows none by itself; the ends of lines are made of them
  commands = { ['tvls.openGraph'] = command('open') },
  handlers = {
    ['$/tvls/captureState'] = function(...)
      require('tvls.outline').on_capture_state(...)
    end,
    ['workspace/codeLens/refresh'] = function(...)
      return require('tvls.lens').on_refresh(...)
    end,
    ['workspace/inlayHint/refresh'] = function(...)
      return require('tvls.outline.shapes').on_refresh(...)
    end,
    ['window/logMessage'] = function(...)
      return require('tvls.log').on_message(...)
    end,
  },
  on_attach = function(client, bufnr)
    require('tvls.attach').on_attach(client, bufnr)
  end,
  on_exit = function(code, signal, client_id)
    require('tvls.attach').on_exit(code, signal, client_id)
  end,
}
