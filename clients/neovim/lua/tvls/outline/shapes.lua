---Shapes beside the code, while an outline is open: the server's inlay hints at the ends of their lines, so that no code
---moves. Where the person has turned on Neovim's own inlay hints, those show them in their places instead.
local M = {}

M.namespace = vim.api.nvim_create_namespace('tvls.shapes')

---@type table<integer, true>
local watched = {}

---A line that is edited says nothing any more.
---@param bufnr integer
local function watch(bufnr)
  if watched[bufnr] then
    return
  end
  watched[bufnr] = vim.api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, changed, _, first, _, last)
      vim.api.nvim_buf_clear_namespace(changed, M.namespace, first, last)
    end,
    on_detach = function()
      watched[bufnr] = nil
    end,
  }) or nil
end

---@param bufnr integer
---@param hints tvls.Hint[]
local function draw(bufnr, hints)
  vim.api.nvim_buf_clear_namespace(bufnr, M.namespace, 0, -1)
  watch(bufnr)
  local lines = {} ---@type table<integer, tvls.Hint[]>
  for _, hint in ipairs(hints) do
    local line = hint.position.line
    lines[line] = lines[line] or {}
    table.insert(lines[line], hint)
  end
  for line, of_line in pairs(lines) do
    local texts, stale = {}, false ---@type string[], boolean
    for _, hint in ipairs(of_line) do
      texts[#texts + 1] = hint.data.name .. hint.label
      stale = stale or hint.data.freshness == 'stale'
    end
    local text = '  ' .. table.concat(texts, ', ') .. (stale and ' (stale)' or '')
    vim.api.nvim_buf_set_extmark(bufnr, M.namespace, line, 0, {
      virt_text = { { text, stale and 'TvlsStaleShape' or 'TvlsShape' } },
      hl_mode = 'combine',
    })
  end
end

---@class tvls.Hint: lsp.InlayHint
---@field label string
---@field data { name: string, freshness: 'fresh'|'stale' }

---@param client vim.lsp.Client
---@param bufnr integer
local function ask(client, bufnr)
  local tick = vim.api.nvim_buf_get_changedtick(bufnr)
  client:request('textDocument/inlayHint', {
    textDocument = { uri = vim.uri_from_bufnr(bufnr) },
    range = {
      start = { line = 0, character = 0 },
      ['end'] = { line = vim.api.nvim_buf_line_count(bufnr), character = 0 },
    },
  }, function(_, hints)
    if not hints or not vim.api.nvim_buf_is_loaded(bufnr) then
      return
    elseif vim.api.nvim_buf_get_changedtick(bufnr) ~= tick then
      ask(client, bufnr)
    else
      draw(bufnr, hints)
    end
  end, bufnr)
end

---Asks again, or shows nothing any more, in every buffer of a server.
function M.refresh()
  local wanted = #require('tvls.outline').all() > 0
  for _, client in ipairs(vim.lsp.get_clients({ name = 'tvls', method = 'textDocument/inlayHint' })) do
    for bufnr in pairs(client.attached_buffers) do
      if wanted and not vim.lsp.inlay_hint.is_enabled({ bufnr = bufnr }) then
        ask(client, bufnr)
      else
        vim.api.nvim_buf_clear_namespace(bufnr, M.namespace, 0, -1)
      end
    end
  end
end

---`workspace/inlayHint/refresh`: a trace, or an edit, changed what is known.
---@return any
function M.on_refresh(...)
  M.refresh()
  return vim.lsp.handlers['workspace/inlayHint/refresh'](...)
end

return M
