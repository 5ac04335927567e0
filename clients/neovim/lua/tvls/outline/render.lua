---Rows as lines of a buffer, with folds.
local M = {}

local SHORT = { { '^bfloat', 'bf' }, { '^float', 'f' }, { '^uint', 'u' }, { '^int', 'i' }, { '^complex', 'c' } }
local LISTED = 3

---As in a jaxpr: `f32[2,16]`.
---@param value tvls.ValueInfo
---@return string
function M.type(value)
  local dtype = value.dtype
  for _, short in ipairs(SHORT) do
    local text, count = dtype:gsub(short[1] .. '%f[%d]', short[2])
    if count > 0 then
      dtype = text
      break
    end
  end
  return ('%s[%s]%s'):format(dtype, table.concat(value.shape, ','), value.weakType and '*' or '')
end

---The first values, and how many are left.
---@param values tvls.ValueInfo[]
---@param total? integer
---@param text fun(value: tvls.ValueInfo): string
---@return string
local function listed(values, total, text)
  local shown = vim.tbl_map(text, vim.list_slice(values, 1, LISTED)) ---@type string[]
  local left = (total or #values) - #shown
  return table.concat(shown, ', ') .. (left > 0 and (', … %d more'):format(left) or '')
end

---@param values? tvls.ValueInfo[]
---@param total? integer
---@return string
function M.types(values, total)
  return listed(values or {}, total, M.type)
end

---@param value tvls.ValueInfo
---@return string
local function state(value)
  return ('%s %s'):format((value.name or '?'):match('[^/]+$') or '?', M.type(value))
end

---@param count integer
---@return string
local function operations(count)
  return count == 1 and '1 operation' or ('%d operations'):format(count)
end

---What a body stands for. PyTorch's are of a run; of others nothing tells whether, or how often, they ran.
---@param body tvls.BodyInfo
---@return string
local function role(body)
  if body.role == 'aten' then
    return ''
  end
  local loop = body.label:find('^scan') or body.label:find('^while')
  local what = vim.startswith(body.role, 'branch') and 'one branch'
    or loop and body.role == 'body' and 'body, one iteration'
    or loop and body.role == 'cond' and 'condition, one evaluation'
    or 'body'
  return (' (%s; not reported as executed)'):format(what)
end

---@param row tvls.Row
---@return string
function M.line(row)
  local indent = ('  '):rep(row.depth)
  if row.heading then
    return ('%s%s%s  %s%s'):format(
      indent,
      row.heading.label,
      role(row.heading),
      operations(row.heading.operations),
      row.loaded and '' or ' ⋯'
    )
  end
  local node = assert(row.node)
  local parts = { indent .. node.label }
  if node.fold then
    parts[1] = ('%s%s … %s ×%d'):format(indent, node.fold.first, node.fold.last, node.fold.count)
    if (node.fold.instance or 0) > 0 then
      parts[1] = parts[1] .. (' (showing %d)'):format((node.fold.instance or 0) + 1)
    end
  end
  local types = M.types(node.outputs, node.outputsTotal)
  if types ~= '' then
    parts[#parts + 1] = types
  end
  if node.kind == 'input' or node.kind == 'output' or node.kind == 'constant' then
    parts[#parts + 1] = node.kind
  elseif node.kind == 'scope' then
    local what = node.className and node.className:match('[^.]+$') or node.scopeKind or 'scope'
    local times = node.fold and node.fold.count .. ' × ' or ''
    parts[#parts + 1] = ('%s, %s%s%s'):format(
      what,
      times,
      operations(node.operations or 0),
      row.loaded and '' or ' ⋯'
    )
  end
  if node.opaque then
    parts[#parts + 1] = 'opaque'
  end
  if node.state and #node.state > 0 then
    parts[#parts + 1] = '← ' .. listed(node.state, node.stateTotal, state)
  end
  if node.source then
    parts[#parts + 1] = node.source
  end
  return table.concat(parts, '  ')
end

---@param outline tvls.Outline
---@return string[]
function M.header(outline)
  local capture = outline.capture
  local versions = {} ---@type string[]
  for _, name in ipairs({ 'jax', 'flax', 'torch' }) do
    if capture.versions[name] then
      versions[#versions + 1] = name .. ' ' .. capture.versions[name]
    end
  end
  local lines = {
    ('%s  %s%s  %s'):format(
      capture.name,
      capture.kind,
      capture.profile and '  profile ' .. capture.profile or '',
      table.concat(versions, ', ')
    ),
    ('%s · %s · coverage %s · %s'):format(
      capture.freshness,
      capture.evidence,
      capture.coverage.status,
      operations(capture.operations)
    ),
  }
  local measure = require('tvls.measure')
  local measured = vim.tbl_map(measure.in_words, measure.measured(capture))
  if #measured > 0 then
    lines[#lines + 1] = 'measured on request: ' .. table.concat(measured, ', ') .. '; K shows it'
  end
  if #capture.coverage.reasons > 0 then
    lines[#lines + 1] = 'partial: ' .. table.concat(capture.coverage.reasons, ', ')
  end
  local stale = capture.freshness == 'stale' and capture.stale
  if stale then
    local why = vim.list_extend({}, stale.files or {})
    if stale.profile then
      why[#why + 1] = 'the profile'
    end
    if stale.interpreter then
      why[#why + 1] = 'the interpreter'
    end
    vim.list_extend(why, stale.libraries or {})
    lines[#lines + 1] = ('stale: %s changed since the trace; r traces again'):format(table.concat(why, ', '))
  end
  if outline.failure then
    lines[#lines + 1] = 'failed: ' .. outline.failure:gsub('%s*\n%s*', ' ')
  end
  if outline.changes then
    lines[#lines + 1] = 'changed: ' .. outline.changes
  end
  lines[#lines + 1] = ''
  return lines
end

---Replaces what is different alone, so that folds and marks of the rest stay.
---@param bufnr integer
---@param lines string[]
local function replace(bufnr, lines)
  local old = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  local head = 0
  while head < #old and head < #lines and old[head + 1] == lines[head + 1] do
    head = head + 1
  end
  local tail = 0
  while tail < #old - head and tail < #lines - head and old[#old - tail] == lines[#lines - tail] do
    tail = tail + 1
  end
  if head == #old and head == #lines then
    return
  end
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, head, #old - tail, false, vim.list_slice(lines, head + 1, #lines - tail))
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].modified = false
end

---@param outline tvls.Outline
function M.render(outline)
  local lines = M.header(outline)
  local keys = {} ---@type table<integer, { key?: string, offset: integer }>
  for _, win in ipairs(vim.fn.win_findbuf(outline.bufnr)) do
    local at = vim.fn.line('.', win)
    local row = outline.drawn and outline.drawn[at - outline.height]
    keys[win] = { key = row and row.key, offset = at }
  end
  outline.height = #lines
  for _, row in ipairs(outline.rows) do
    lines[#lines + 1] = M.line(row)
  end
  replace(outline.bufnr, lines)
  outline.drawn = outline.rows
  for win, at in pairs(keys) do
    local row = at.key and outline.by_key[at.key]
    local line = row and row + outline.height or math.min(at.offset, #lines)
    if vim.api.nvim_win_get_cursor(win)[1] ~= line then
      vim.api.nvim_win_set_cursor(win, { line, 0 })
    end
  end
end

---`foldexpr`: a row with rows inside it begins a fold.
---@return string
function M.fold()
  local outline = require('tvls.outline').of_buffer(vim.api.nvim_get_current_buf())
  if not outline then
    return '0'
  end
  local at = vim.v.lnum - outline.height
  local row = outline.rows[at]
  if not row then
    return '0'
  end
  local below = outline.rows[at + 1]
  return below and below.depth > row.depth and '>' .. (row.depth + 1) or tostring(row.depth)
end

---The deepest `foldlevel` with which the outline still is about one screen.
---@param outline tvls.Outline
---@param height integer
---@return integer
function M.fitting_level(outline, height)
  local counts = {} ---@type table<integer, integer>
  local deepest = 0
  for _, row in ipairs(outline.rows) do
    counts[row.depth] = (counts[row.depth] or 0) + 1
    deepest = math.max(deepest, row.depth)
  end
  local shown = 0
  for depth = 0, deepest do
    shown = shown + (counts[depth] or 0)
    if depth > 0 and shown > height then
      return depth - 1
    end
  end
  return deepest + 1
end

return M
