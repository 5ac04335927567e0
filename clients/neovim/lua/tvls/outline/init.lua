---The graph as an outline: one buffer for a model and its profile, for as long as the editor runs.
local load = require('tvls.outline.load')
local render = require('tvls.outline.render')
local task = require('tvls.task')

local M = {}

---@class tvls.Outline
---@field bufnr integer
---@field name string
---@field wanted tvls.Wanted what to open again
---@field folder string URI
---@field capture tvls.CaptureInfo
---@field client_id integer
---@field expanded table<string, boolean> by key; absent: load it where there is room
---@field instances table<string, integer>
---@field rows tvls.Row[]
---@field edges table<string, tvls.Edge[]>
---@field by_key table<string, integer>
---@field room number operations that may still be loaded without being asked for
---@field height integer lines of the header
---@field drawn? tvls.Row[]
---@field failure? string why the last trace failed
---@field changes? string what the last trace changed
---@field marked? table<string, string> by key: `+` or `~`
local Outline = {}
Outline.__index = Outline

---@type table<string, tvls.Outline> by name
local outlines = {}

M.namespace = vim.api.nvim_create_namespace('tvls.outline')

---@return vim.lsp.Client
function Outline:client()
  local client = vim.lsp.get_client_by_id(self.client_id)
  if client and not client:is_stopped() then
    return client
  end
  for _, other in ipairs(vim.lsp.get_clients({ name = 'tvls' })) do
    for _, folder in ipairs(other.workspace_folders or {}) do
      if folder.uri == self.folder then
        self.client_id = other.id
        return other
      end
    end
  end
  error({ message = 'No TensorViz server runs for this graph: open a file of its folder.' }, 0)
end

---Asks about the capture. One that the server has let go of is traced again.
---@async
---@param method tvls.Method
---@param params table
---@return any result
function Outline:ask(method, params)
  local ok, result = pcall(task.request, self:client(), method, self:with_capture(params))
  if ok then
    return result
  elseif task.kind(result) ~= 'captureGone' then
    error(result, 0)
  end
  self:reopen({})
  return task.request(self:client(), method, self:with_capture(params))
end

---@param params table
---@return table
function Outline:with_capture(params)
  return vim.tbl_extend('force', params, { captureId = self.capture.captureId })
end

---Loads and draws. A capture that the server has let go of is traced again, once.
---@async
function Outline:reload()
  local ok, failure = pcall(load.load, self)
  if not ok then
    if task.kind(failure) ~= 'captureGone' then
      error(failure, 0)
    end
    self.capture = require('tvls.open').open(self:client(), vim.deepcopy(self.wanted), {}).capture
    load.load(self)
  end
  self:draw()
end

---Draws what is loaded.
function Outline:draw()
  render.render(self)
  local ns = M.namespace
  vim.api.nvim_buf_clear_namespace(self.bufnr, ns, 0, -1)
  for key, sign in pairs(self.marked or {}) do
    local at = self.by_key[key]
    if at then
      vim.api.nvim_buf_set_extmark(self.bufnr, ns, at + self.height - 1, 0, {
        sign_text = sign,
        sign_hl_group = sign == '+' and 'Added' or 'Changed',
      })
    end
  end
end

---@return integer? win window of this tab page
function Outline:window()
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(win) == self.bufnr then
      return win
    end
  end
end

---@param win integer
---@return tvls.Row?
function Outline:row_in(win)
  return self.rows[vim.fn.line('.', win) - self.height]
end

---Goes to a row, and opens the folds around it.
---@param key string
---@param win? integer
---@return boolean found
function Outline:go_to(key, win)
  local at = self.by_key[key]
  win = win or self:window()
  if not at or not win then
    return false
  end
  vim.api.nvim_win_call(win, function()
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(win, { at + self.height, 0 })
    vim.cmd('normal! zv')
  end)
  return true
end

---Makes a hit visible, loading what hides it.
---@async
---@param hit tvls.NodeHit|tvls.NodeChange
---@return string key
function Outline:uncover(hit)
  if load.want(self, hit) then
    self:reload()
  end
  return load.key(hit.body, hit.node)
end

---@async
---@param capture tvls.CaptureInfo
function Outline:take(capture)
  local before = self.capture.captureId
  self.capture, self.failure = capture, nil
  if before ~= capture.captureId then
    self.marked, self.changes = nil, nil
    if capture.previous == before then
      self:compare_with(before)
    end
  end
  self:reload()
end

---@async
---@param before string capture id
---@return tvls.CompareResult
function Outline:compare_with(before)
  local result = task.request(self:client(), 'tvls/graph/compare', { before = before, after = self.capture.captureId })
  self.marked = {}
  for _, change in ipairs(result.added or {}) do
    self.marked[load.key(change.body, change.node)] = '+'
  end
  for _, change in ipairs(result.changed or {}) do
    self.marked[load.key(change.body, change.node)] = '~'
  end
  self.changes = not result.same and result.summary or nil
  return result
end

---Opens again, and measures again what was measured. With `quiet`, a failure becomes a line of the header instead of a message.
---@async
---@param options tvls.OpenOptions
function Outline:reopen(options)
  local open = require('tvls.open')
  local measured = require('tvls.measure').measured(self.capture)
  options = vim.tbl_extend('force', options, { measure = #measured > 0 and measured or nil })
  local ok, result = pcall(open.open, self:client(), vim.deepcopy(self.wanted), options)
  if ok then
    self:take(result.capture)
    return
  end
  if result ~= task.CANCELLED and vim.api.nvim_buf_is_valid(self.bufnr) then
    self.failure = task.describe(result)
    self:draw()
  end
  if not options.quiet then
    error(result, 0)
  end
end

---@param bufnr integer
---@return tvls.Outline?
function M.of_buffer(bufnr)
  for _, outline in pairs(outlines) do
    if outline.bufnr == bufnr then
      return outline
    end
  end
end

---@return tvls.Outline[]
function M.all()
  return vim.tbl_values(outlines)
end

---The outline of the current buffer, else one that is on the screen, else any.
---@return tvls.Outline
function M.current()
  local here = M.of_buffer(vim.api.nvim_get_current_buf())
  if here then
    return here
  end
  for _, outline in pairs(outlines) do
    if outline:window() then
      return outline
    end
  end
  local _, any = next(outlines)
  if not any then
    error({ message = 'No graph is open: :Tvls open opens one.' }, 0)
  end
  return any
end

---@param outline tvls.Outline
---@return integer win
function M.focus(outline)
  local win = outline:window()
  if win then
    vim.api.nvim_set_current_win(win)
    return win
  end
  vim.cmd.sbuffer({ outline.bufnr, mods = { vertical = true, split = 'botright' } })
  win = vim.api.nvim_get_current_win()
  for option, value in pairs({
    number = false,
    relativenumber = false,
    wrap = false,
    cursorline = true,
    foldmethod = 'expr',
    foldexpr = "v:lua.require'tvls.outline.render'.fold()",
    foldtext = '',
    foldcolumn = '1',
    signcolumn = 'auto',
  }) do
    vim.wo[win][0][option] = value
  end
  vim.wo[win][0].foldlevel = render.fitting_level(outline, vim.api.nvim_win_get_height(win))
  return win
end

---@param name string
---@return integer bufnr
local function buffer(name)
  local bufnr = vim.fn.bufadd(name)
  vim.fn.bufload(bufnr)
  vim.bo[bufnr].buftype = 'nofile'
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].buflisted = true
  vim.bo[bufnr].swapfile = false
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].filetype = 'tvlsoutline'
  return bufnr
end

---Shows a capture in its outline, and goes there.
---@async
---@param client vim.lsp.Client
---@param wanted tvls.Wanted
---@param capture tvls.CaptureInfo
---@return tvls.Outline
function M.show(client, wanted, capture)
  local folder = require('tvls.target').folder(client, wanted)
  local place = vim.uri_to_fname(capture.uri or folder)
  local profile = capture.profile and '@' .. capture.profile or ''
  local name = ('tvls://%s/%s%s'):format(place, capture.name, profile)
  local outline = outlines[name]
  if outline and vim.api.nvim_buf_is_valid(outline.bufnr) then
    outline.client_id, outline.wanted = client.id, wanted
    outline:take(capture)
  else
    outline = setmetatable({
      bufnr = buffer(name),
      name = name,
      wanted = wanted,
      folder = folder,
      capture = capture,
      client_id = client.id,
      expanded = {},
      instances = {},
      rows = {},
      edges = {},
      by_key = {},
      room = 0,
      height = 0,
    }, Outline)
    outlines[name] = outline
    require('tvls.outline.keys').map(outline)
    require('tvls.outline.follow').attach_outline(outline)
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = outline.bufnr,
      callback = function()
        outlines[name] = nil
        require('tvls.outline.shapes').refresh()
      end,
    })
    outline:reload()
  end
  local first = not outline:window()
  local win = M.focus(outline)
  if first then
    vim.api.nvim_win_set_cursor(win, { outline.height + 1, 0 })
  end
  require('tvls.outline.shapes').refresh()
  return outline
end

---`$/tvls/captureState`: a capture became stale, or fresh again.
---@param _ any
---@param info tvls.CaptureInfo
function M.on_capture_state(_, info)
  for _, outline in pairs(outlines) do
    if outline.capture.captureId == info.captureId and vim.api.nvim_buf_is_valid(outline.bufnr) then
      outline.capture = info
      if info.freshness == 'fresh' then
        outline.failure = nil
      end
      outline:draw()
    end
  end
end

---The server began anew: its captures are gone, what is loaded stays readable.
function M.on_restart()
  for _, outline in pairs(outlines) do
    outline.failure = 'the server was started again; r traces again'
    outline:draw()
  end
end

return M
