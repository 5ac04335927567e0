---Cursor in the code and row in the outline keep in step; the outline follows saved edits.
local load = require('tvls.outline.load')
local task = require('tvls.task')

local M = {}

local group = vim.api.nvim_create_augroup('tvls.follow', {})
local namespace = vim.api.nvim_create_namespace('tvls.follow')
---The cursor rests.
local REST_MS = 80

---@return fun(run: fun()) delayed runs the last of what it was given, once nothing more comes
local function debounce()
  local timer = assert((vim.uv --[[@as any]]).new_timer())
  return function(run)
    timer:start(REST_MS, 0, vim.schedule_wrap(run))
  end
end

local code_rests, outline_rests = debounce(), debounce()

---@return tvls.Outline[] outlines that are on the screen
local function visible()
  return vim.tbl_filter(function(outline)
    return outline:window() ~= nil
  end, require('tvls.outline').all())
end

---Marks the rows that come from a position of the code, and scrolls to the closest one.
---@async
---@param client vim.lsp.Client
---@param outline tvls.Outline
---@param uri string
---@param position lsp.Position
---@param uncover? boolean load what hides it
---@return integer total
function M.mark(client, outline, uri, position, uncover)
  local found = task.request(client, 'tvls/graph/nodesAt', {
    textDocument = { uri = uri },
    position = position,
    captureId = outline.capture.captureId,
  }) ---@type tvls.NodesAtResult
  if not vim.api.nvim_buf_is_valid(outline.bufnr) then
    return 0
  end
  if uncover and found.nodes[1] then
    outline:uncover(found.nodes[1])
  end
  vim.api.nvim_buf_clear_namespace(outline.bufnr, namespace, 0, -1)
  local first ---@type string?
  for _, hit in ipairs(found.nodes) do
    local at ---@type integer?
    -- What is not loaded is marked at the scope that hides it.
    local ids = vim.list_extend(vim.list_slice(hit.scopes or {}), { hit.node })
    for inner = #ids, 1, -1 do
      at = at or outline.by_key[load.key(hit.body, assert(ids[inner]))]
    end
    if at then
      first = first or assert(outline.rows[at]).key
      vim.api.nvim_buf_set_extmark(outline.bufnr, namespace, at + outline.height - 1, 0, {
        line_hl_group = 'TvlsHere',
      })
    end
  end
  local win = outline:window()
  if first and win and (uncover or win ~= vim.api.nvim_get_current_win()) then
    outline:go_to(first, win)
  end
  return found.total
end

---@param client vim.lsp.Client
---@param bufnr integer
local function code_moved(client, bufnr)
  if vim.api.nvim_get_current_buf() ~= bufnr or client:is_stopped() then
    return
  end
  local outlines = visible()
  local position = require('tvls.client').cursor(client)
  local uri = vim.uri_from_bufnr(bufnr)
  task.run(function()
    for _, outline in ipairs(outlines) do
      M.mark(client, outline, uri, position)
    end
    -- Pages in the browser mark it, too; without one this does nothing.
    task.request(client, 'tvls/canvas/mark', { textDocument = { uri = uri }, position = position })
  end, function(failure)
    if task.kind(failure) ~= 'captureGone' then
      vim.lsp.log.warn('tvls', 'marking the cursor:', task.describe(failure))
    end
  end)
end

---Highlights where a row comes from, in windows that show it; the cursor there moves only to bring it into view.
---@param outline tvls.Outline
local function outline_moved(outline)
  if vim.api.nvim_get_current_buf() ~= outline.bufnr then
    return
  end
  local row = outline:row_in(vim.api.nvim_get_current_win())
  task.run(function()
    local location ---@type tvls.Location?
    if row and row.node and row.node.source then
      local node = row.node.fold and row.node.fold.shown or row.node.id
      local found = task.request(outline:client(), 'tvls/graph/sources', {
        captureId = outline.capture.captureId,
        node = node,
        body = row.body,
      }) ---@type tvls.SourcesResult
      location = found.frames[1] and found.frames[1].location
    end
    M.highlight(location, outline:client().offset_encoding)
  end, function(failure)
    if task.kind(failure) ~= 'captureGone' then
      vim.lsp.log.warn('tvls', 'showing the source of a row:', task.describe(failure))
    end
  end)
end

---@type integer? buffer with the highlight
local highlighted

---@param location? tvls.Location
---@param encoding string
function M.highlight(location, encoding)
  if highlighted and vim.api.nvim_buf_is_valid(highlighted) then
    vim.api.nvim_buf_clear_namespace(highlighted, namespace, 0, -1)
  end
  highlighted = nil
  local bufnr = location and vim.fn.bufnr(vim.uri_to_fname(location.uri)) or -1
  if not location or bufnr == -1 or not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  highlighted = bufnr
  local range = location.range
  local first = range.start.line
  local last = math.min(range['end'].line, vim.api.nvim_buf_line_count(bufnr) - 1)
  ---@param position tvls.Position
  ---@return integer byte
  local function byte(position)
    local text = vim.api.nvim_buf_get_lines(bufnr, position.line, position.line + 1, false)[1] or ''
    return vim.str_byteindex(text, encoding --[[@as 'utf-8'|'utf-16'|'utf-32']], position.character, false)
  end
  vim.hl.range(bufnr, namespace, 'TvlsHere', { first, byte(range.start) }, { last, byte(range['end']) })
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    if last + 1 < vim.fn.line('w0', win) or first + 1 > vim.fn.line('w$', win) then
      vim.api.nvim_win_set_cursor(win, { first + 1, 0 })
    end
  end
end

---Traces again what a saved file made stale, where the person sees it.
function M.saved()
  for _, outline in ipairs(visible()) do
    task.run(function()
      local asked = { captureId = outline.capture.captureId }
      local ok, info = pcall(task.request, outline:client(), 'tvls/graph/info', asked)
      if not ok and task.kind(info) ~= 'captureGone' then
        error(info, 0)
      elseif not ok or info.freshness == 'stale' or outline.failure then
        outline:reopen({ quiet = true })
      end
    end)
  end
end

---@param client vim.lsp.Client
---@param bufnr integer
function M.attach(client, bufnr)
  require('tvls.outline.shapes').refresh()
  vim.api.nvim_clear_autocmds({ group = group, buffer = bufnr })
  vim.api.nvim_create_autocmd('CursorMoved', {
    group = group,
    buffer = bufnr,
    desc = 'The outline follows the cursor',
    callback = function()
      code_rests(function()
        code_moved(client, bufnr)
      end)
    end,
  })
  vim.api.nvim_create_autocmd('BufWritePost', {
    group = group,
    buffer = bufnr,
    desc = 'The outline follows edits',
    callback = M.saved,
  })
end

---@param outline tvls.Outline
function M.attach_outline(outline)
  vim.api.nvim_create_autocmd('CursorMoved', {
    group = group,
    buffer = outline.bufnr,
    desc = 'The code follows the outline',
    callback = function()
      outline_rests(function()
        outline_moved(outline)
      end)
    end,
  })
  vim.api.nvim_create_autocmd('BufLeave', {
    group = group,
    buffer = outline.bufnr,
    callback = function()
      M.highlight(nil, 'utf-8')
    end,
  })
end

return M
