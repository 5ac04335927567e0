---What the server says in its log, kept for `:Tvls log`.
local M = {}

local KEPT = 2000
local LEVELS = { 'error', 'warning', 'info', 'log', 'debug' }

---@type string[]
local lines = {}

---@param err? lsp.ResponseError
---@param params lsp.LogMessageParams
---@param ctx lsp.HandlerContext
---@param ... any
function M.on_message(err, params, ctx, ...)
  local head = ('%s %s: '):format(os.date('%H:%M:%S'), LEVELS[
    params.type --[[@as integer]]
  ] or 'log')
  for _, line in ipairs(vim.split(params.message, '\n', { plain = true })) do
    lines[#lines + 1] = head .. line
  end
  while #lines > KEPT do
    table.remove(lines, 1)
  end
  return vim.lsp.handlers['window/logMessage'](err, params, ctx, ...)
end

function M.show()
  local text = { 'What the server prints besides is in ' .. vim.lsp.log.get_filename(), '' }
  vim.list_extend(text, lines)
  require('tvls.scratch').show('log', text)
  vim.cmd.normal({ 'G', bang = true })
end

return M
