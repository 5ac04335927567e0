---Lenses as Neovim shows them, kept up to date.
local M = {}

---Neovim 0.12: it asks for lenses by itself.
local enable = (vim.lsp.codelens --[[@as any]]).enable ---@type fun(on: boolean, filter: { bufnr: integer })?

local group = vim.api.nvim_create_augroup('tvls.lens', {})

---Asks the server itself, for `vim.lsp.codelens.refresh` waits for the answer to an earlier question: for ever, where
---the server died over it.
---@param bufnr integer
function M.refresh(bufnr)
  if enable or not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = 'tvls', bufnr = bufnr, method = 'textDocument/codeLens' })) do
    local params = { textDocument = { uri = vim.uri_from_bufnr(bufnr) } }
    client:request('textDocument/codeLens', params, vim.lsp.codelens.on_codelens, bufnr)
  end
end

---@param bufnr integer
function M.attach(bufnr)
  if enable then
    enable(true, { bufnr = bufnr })
    return
  end
  M.refresh(bufnr)
  vim.api.nvim_clear_autocmds({ group = group, buffer = bufnr })
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged', 'BufWritePost' }, {
    group = group,
    buffer = bufnr,
    desc = 'Lenses of TensorViz',
    callback = function()
      M.refresh(bufnr)
    end,
  })
end

---The server says that lenses have changed.
---@param err? lsp.ResponseError
---@param params any
---@param ctx lsp.HandlerContext
function M.on_refresh(err, params, ctx)
  local built_in = vim.lsp.handlers['workspace/codeLens/refresh']
  if built_in then
    return built_in(err, params, ctx)
  end
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  for bufnr in pairs(client.attached_buffers) do
    M.refresh(bufnr)
  end
  return vim.NIL
end

---The command of a lens or code action.
---@param command lsp.Command
---@param ctx { bufnr: integer, client_id: integer }
function M.open(command, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local what = (command --[[@as any]]).arguments[1] ---@type tvls.Wanted
  require('tvls.open').start(client, what, { bufnr = ctx.bufnr })
end

return M
