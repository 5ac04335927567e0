---Shapes beside the code: at the end of each line, what was last made there.
local render = require('tvls.outline.render')

local M = {}

---@type table<integer, table<integer, true>> buffer → namespaces of marks in it
local marked = {}

---A namespace for each outline: two graphs may share a file.
---@param outline tvls.Outline
---@return integer
function M.namespace(outline)
  return vim.api.nvim_create_namespace('tvls.shapes.' .. outline.name)
end

---@param outline tvls.Outline
---@return table<integer, table<integer, string>> bufnr → 0-based line → text
local function shapes(outline)
  local root = vim.uri_to_fname(outline.folder)
  local found = {} ---@type table<integer, table<integer, string>>
  local buffers = {} ---@type table<string, integer|false>
  for _, row in ipairs(outline.rows) do
    local node = row.node
    local path, line = (node and node.source or ''):match('^(.+):(%d+)$')
    if node and path and node.outputs and #node.outputs > 0 then
      if buffers[path] == nil then
        local bufnr = vim.fn.bufnr(vim.fs.joinpath(root, path))
        buffers[path] = bufnr ~= -1 and vim.api.nvim_buf_is_loaded(bufnr) and bufnr or false
      end
      local bufnr = buffers[path]
      if bufnr then
        found[bufnr] = found[bufnr] or {}
        found[bufnr][math.floor(assert(tonumber(line))) - 1] = render.types(node.outputs, node.outputsTotal)
      end
    end
  end
  return found
end

---A line that is edited says nothing any more.
---@param bufnr integer
local function watch(bufnr)
  if marked[bufnr] then
    return
  end
  marked[bufnr] = {}
  vim.api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, changed, _, first, _, last)
      for namespace in pairs(marked[changed] or {}) do
        vim.api.nvim_buf_clear_namespace(changed, namespace, first, last)
      end
    end,
    on_detach = function()
      marked[bufnr] = nil
    end,
  })
end

---@param outline tvls.Outline
local function show_age(outline)
  local namespace = M.namespace(outline)
  for bufnr in pairs(marked) do
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(bufnr, namespace, 0, -1, { details = true })) do
      local text = mark[4].virt_text[1][1]:gsub(' %(stale%)$', '')
      vim.api.nvim_buf_set_extmark(bufnr, namespace, mark[2], 0, {
        id = mark[1],
        virt_text = { { text .. ' (stale)', 'TvlsStaleShape' } },
        hl_mode = 'combine',
      })
    end
  end
end

---Inlay hints, where the person has turned them on, say the same and more.
---@param outline tvls.Outline
---@param bufnr integer
---@return boolean
local function has_hints(outline, bufnr)
  local client = vim.lsp.get_client_by_id(outline.client_id)
  return vim.lsp.inlay_hint.is_enabled({ bufnr = bufnr })
    and vim.tbl_get(client and client.settings or {}, 'tvls', 'inlayHints') == true
end

---@param outline tvls.Outline
function M.show(outline)
  if outline.capture.freshness ~= 'fresh' then
    show_age(outline) -- the marks have moved with their lines; the numbers of the trace have not
    return
  end
  M.clear(outline)
  local namespace = M.namespace(outline)
  for bufnr, lines in pairs(shapes(outline)) do
    watch(bufnr)
    marked[bufnr][namespace] = true
    local count = has_hints(outline, bufnr) and 0 or vim.api.nvim_buf_line_count(bufnr)
    for line, text in pairs(lines) do
      if line < count then
        vim.api.nvim_buf_set_extmark(bufnr, namespace, line, 0, {
          virt_text = { { '  ' .. text, 'TvlsShape' } },
          hl_mode = 'combine',
        })
      end
    end
  end
end

---@param outline tvls.Outline
function M.clear(outline)
  for bufnr in pairs(marked) do
    if vim.api.nvim_buf_is_valid(bufnr) then
      vim.api.nvim_buf_clear_namespace(bufnr, M.namespace(outline), 0, -1)
    end
  end
end

return M
