---What the keys of an outline do.
local load = require('tvls.outline.load')
local measure = require('tvls.measure')
local render = require('tvls.outline.render')
local task = require('tvls.task')

local M = {}

---@param outline tvls.Outline
---@return tvls.Row?
local function current(outline)
  return outline:row_in(vim.api.nvim_get_current_win())
end

---@param outline tvls.Outline
---@return tvls.Row row with a node
---@return table params of a request about it
local function node_params(outline)
  local row = current(outline)
  if not row or not row.node then
    error({ message = 'There is no node on this line.' }, 0)
  end
  local node = row.node.fold and row.node.fold.shown or row.node.id
  return row, { node = node, body = row.body }
end

---@param outline tvls.Outline
---@return integer? win another window of this tab page that shows code
local function code_window(outline)
  local wins = vim.api.nvim_tabpage_list_wins(0)
  table.insert(wins, 1, vim.fn.win_getid(vim.fn.winnr('#')))
  for _, win in ipairs(wins) do
    if win ~= 0 and vim.api.nvim_win_get_config(win).relative == '' then
      local bufnr = vim.api.nvim_win_get_buf(win)
      if bufnr ~= outline.bufnr and vim.bo[bufnr].buftype == '' then
        return win
      end
    end
  end
end

---`<CR>`: the innermost line of the workspace, else of a library. With `all`, one of the whole stack.
---@param outline tvls.Outline
---@param all? boolean
function M.source(outline, all)
  task.run(function()
    local row, params = node_params(outline)
    local found = outline:ask('tvls/graph/sources', params) ---@type tvls.SourcesResult
    local frames = vim.tbl_filter(function(frame)
      return frame.location ~= nil
    end, vim.list_extend(found.frames, all and { found.defined } or {})) ---@type tvls.FrameInfo[]
    local frame = frames[1] ---@type tvls.FrameInfo?
    if all and #frames > 1 then
      frame = task.select(frames, 'Go to:', function(item)
        return ('%s:%d  %s'):format(item.path, item.line, item['function'])
      end)
    elseif not frame then
      task.notify(('%s comes from no line that can be shown.'):format(assert(row.node).label))
    end
    if frame then
      local win = code_window(outline)
      if win then
        vim.api.nvim_set_current_win(win)
      else
        vim.cmd('leftabove vsplit')
      end
      local encoding = outline:client().offset_encoding
      vim.lsp.util.show_document(
        frame.location --[[@as lsp.Location]],
        encoding --[[@as 'utf-8']],
        { reuse_win = false, focus = true }
      )
    end
  end)
end

---@param value any
---@return string
local function plain(value)
  return (vim.inspect(value, { newline = ' ', indent = '' }):gsub('^"(.*)"$', '%1'))
end

---@param outline tvls.Outline
---@param body? string
---@param id string
---@return string name as its row has it, with the scope around; of what is not loaded, its id without the kind
local function name_of(outline, body, id)
  local function node(of)
    local row = of and outline.rows[outline.by_key[load.key(body, of)] or 0]
    return row and row.node
  end
  local found = node(id)
  if not found then
    return (id:gsub('^%a+:', ''))
  end
  local around = node(found.parent)
  return around and ('%s in %s'):format(found.label, around.label) or found.label
end

---@param outline tvls.Outline
---@param body? string
---@param details tvls.NodeDetails
---@return string[] markdown
local function details_text(outline, body, details)
  local node = details.node
  local lines = { ('**%s**  %s'):format(node.label, node.className or node.scopeKind or node.kind) }
  if node.opaque then
    lines[#lines + 1] = ('opaque (%s): what it does inside is not part of the graph'):format(node.opaque)
  end
  local scopes = details.scopePath or {}
  if #scopes > 0 then
    lines[#lines + 1] = 'in ' .. table.concat(scopes, ' / ')
  end
  ---@param title string
  ---@param items string[]
  local function section(title, items)
    if #items > 0 then
      vim.list_extend(lines, { '', title })
      vim.list_extend(lines, items)
    end
  end
  ---@param value tvls.ValueInfo
  local function named(value)
    local text = ('`%s`'):format(render.type(value))
    return value.name and text .. ' ' .. value.name or text
  end
  local operands = {} ---@type string[]
  for at, operand in ipairs(details.operands or {}) do
    local text = operand.value and named(operand.value) or ''
    if operand.literal ~= nil then
      text = ('%s `%s`'):format(text, plain(operand.literal))
    end
    operands[at] = ('%d. %s%s'):format(
      at,
      text,
      operand.producer and '  from ' .. name_of(outline, body, operand.producer) or ''
    )
  end
  section('Operands', operands)
  local results = {} ---@type string[]
  for at, result in ipairs(details.results or {}) do
    local uses = {} ---@type string[]
    for _, use in ipairs(result.uses or {}) do
      uses[#uses + 1] = name_of(outline, body, use.node)
    end
    local to = #uses > 0 and '  to ' .. table.concat(uses, ', ') or ''
    results[#results + 1] = ('%d. %s%s'):format(at, named(result.value), to)
    for _, text in ipairs(measure.texts(result.value)) do
      results[#results + 1] = '   ' .. text
    end
  end
  section('Results', results)
  section(
    'State',
    vim.tbl_map(function(value)
      return '- ' .. named(value)
    end, node.state or {})
  )
  local params = {} ---@type string[]
  for name, value in vim.spairs(details.params or {}) do
    params[#params + 1] = ('- %s = `%s`'):format(name, plain(value))
  end
  section('Parameters', params)
  local frames = {} ---@type string[]
  for _, frame in ipairs(details.frames or {}) do
    if frame.workspace then
      frames[#frames + 1] = ('- %s:%d %s'):format(frame.path, frame.line, frame['function'])
    end
  end
  section('Source', frames)
  local defined = details.defined
  section('Defined in', defined and { ('- %s:%d %s'):format(defined.path, defined.line, defined['function']) } or {})
  lines[#lines + 1] = ''
  lines[#lines + 1] = details.freshness
  return lines
end

---`K`
---@param outline tvls.Outline
function M.details(outline)
  task.run(function()
    local _, params = node_params(outline)
    local details = outline:ask('tvls/graph/node', params) ---@type tvls.NodeDetails
    local text = details_text(outline, params.body, details)
    vim.lsp.util.open_floating_preview(text, 'markdown', { focus_id = 'tvls', max_width = 100 })
  end)
end

---Keys of the rows that the current one reads from (`back`) or is used by, in the order of the operands.
---@param outline tvls.Outline
---@param row tvls.Row
---@param back boolean
---@return string[]
local function neighbours(outline, row, back)
  local at = outline.by_key[row.key]
  local inside = {} ---@type table<string, true>
  inside[row.key] = true
  for below = at + 1, #outline.rows do
    if outline.rows[below].depth <= row.depth then
      break
    end
    inside[outline.rows[below].key] = true
  end
  local found, seen = {}, {} ---@type string[], table<string, true>
  for _, edge in ipairs(outline.edges[row.body or ''] or {}) do
    local source, target = load.key(row.body, edge.source), load.key(row.body, edge.target)
    local here, there = source, target
    if back then
      here, there = target, source
    end
    if inside[here] and not inside[there] and not seen[there] and outline.by_key[there] then
      seen[there] = true
      found[#found + 1] = there
    end
  end
  return found
end

---`]]` and `[[`: the count says which, where there are several.
---@param outline tvls.Outline
---@param back boolean
function M.walk(outline, back)
  local row = current(outline)
  if not row or not row.node then
    return
  end
  local found = neighbours(outline, row, back)
  local which = math.min(vim.v.count1, #found)
  if #found == 0 then
    task.notify(back and 'It reads nothing that another node makes.' or 'Nothing uses it.')
    return
  end
  outline:go_to(assert(found[which]))
  if #found > 1 then
    vim.api.nvim_echo({ { ('%s %d of %d'):format(back and 'operand' or 'use', which, #found) } }, false, {})
  end
end

---@param outline tvls.Outline
---@param row tvls.Row
---@param deep boolean
local function want_inside(outline, row, deep)
  outline.expanded[row.key] = true
  if deep then -- what has not been seen yet is loaded with it, as far as there is room
    for key, wanted in pairs(outline.expanded) do
      if not wanted and not outline.by_key[key] then
        outline.expanded[key] = nil
      end
    end
  end
end

---@param outline tvls.Outline
---@param keys string the keys of Vim, for what is loaded
---@param deep? boolean
local function open_fold(outline, keys, deep)
  local row = current(outline)
  if not row or not row.operations or row.loaded then
    pcall(vim.cmd.normal, { keys, bang = true }) -- E490: no fold here
    return
  end
  task.run(function()
    want_inside(outline, row, deep or false)
    outline:reload()
    pcall(vim.cmd.normal, { 'zo', bang = true })
  end)
end

---`]x` and `[x`: another of the neighbours that a row with × stands for.
---@param outline tvls.Outline
---@param step integer
function M.instance(outline, step)
  local win = vim.api.nvim_get_current_win()
  local line = vim.fn.line('.', win) - outline.height
  local row = outline.rows[line]
  local depth = row and row.depth + 1 or 0
  for at = line, 1, -1 do -- the row itself, or the one around it
    local around = outline.rows[at]
    if around and around.depth < depth then
      depth = around.depth
      local fold = around.node and around.node.fold
      if fold then
        local id = around.node.id
        local now = fold.instance or 0
        outline.instances[id] = (now + step * vim.v.count1) % fold.count
        task.run(function()
          outline:reload()
          outline:go_to(around.key, win)
        end)
        return
      end
    end
  end
  task.notify('This is no part of repeated blocks (×N).')
end

---Finds nodes by words, shapes and lines, as the server does; the hits are in the location list.
---@param outline tvls.Outline
---@param query? string
function M.search(outline, query)
  task.run(function()
    query = query or task.input('Search (words, f32[*, 64], file.py:12): ')
    if not query or query == '' then
      return
    end
    local found = outline:ask('tvls/graph/search', { query = query }) ---@type tvls.SearchResult
    if #found.nodes == 0 then
      task.notify(('No node matches %q.'):format(query))
      return
    end
    local changed = false
    for _, hit in ipairs(found.nodes) do
      if next(hit.instances or {}) == nil then -- what another of the repeated blocks would show stays as it is
        changed = load.want(outline, hit) or changed
      end
    end
    local first = assert(found.nodes[1])
    changed = load.want(outline, first) or changed
    if changed then
      outline:reload()
    end
    local items = {} ---@type vim.quickfix.entry[]
    for _, hit in ipairs(found.nodes) do
      local at = outline.by_key[load.key(hit.body, hit.node)]
      if at then
        local lnum = at + outline.height
        local line = vim.api.nvim_buf_get_lines(outline.bufnr, lnum - 1, lnum, false)[1]
        items[#items + 1] = { bufnr = outline.bufnr, lnum = lnum, col = 1, text = vim.trim(line or '') }
      end
    end
    local win = require('tvls.outline').focus(outline)
    vim.fn.setloclist(win, {}, ' ', { title = 'TensorViz: ' .. query, items = items })
    outline:go_to(load.key(first.body, first.node), win)
    task.notify(('%d hits for %q; :lnext and :lprevious walk them.'):format(found.total, query))
  end)
end

---@param outline tvls.Outline
function M.refresh(outline)
  task.run(function()
    outline:reopen({ refresh = true })
  end)
end

local HELP = {
  '<CR>       to the source line',
  'gs         choose a frame of the stack',
  'K          details: operands, results, parameters',
  ']] [[      to a use, to a definition ({count}: which)',
  'za zo zO   open or close; loads what is not loaded (⋯)',
  ']x [x      the next, the previous of repeated blocks (×N)',
  's          search in the graph',
  'r          trace again',
  'B          open in the browser',
  'g?         this help',
}

---@param outline tvls.Outline
function M.map(outline)
  ---@param keys string
  ---@param run fun()
  ---@param desc string
  local function map(keys, run, desc)
    vim.keymap.set('n', keys, run, { buffer = outline.bufnr, desc = desc, nowait = true })
  end
  map('<CR>', function()
    M.source(outline)
  end, 'Go to source')
  map('gs', function()
    M.source(outline, true)
  end, 'Choose a frame')
  map('K', function()
    M.details(outline)
  end, 'Details')
  map(']]', function()
    M.walk(outline, false)
  end, 'To a use')
  map('[[', function()
    M.walk(outline, true)
  end, 'To a definition')
  for keys, deep in pairs({ za = false, zo = false, zO = true, ['<Tab>'] = false }) do
    map(keys, function()
      open_fold(outline, keys == '<Tab>' and 'za' or keys, deep)
    end, 'Open or close')
  end
  map(']x', function()
    M.instance(outline, 1)
  end, 'Next of repeated blocks')
  map('[x', function()
    M.instance(outline, -1)
  end, 'Previous of repeated blocks')
  map('s', function()
    M.search(outline)
  end, 'Search in the graph')
  map('r', function()
    M.refresh(outline)
  end, 'Trace again')
  map('B', function()
    task.run(function()
      require('tvls.open').browser(outline:client(), outline.wanted)
    end)
  end, 'Open in the browser')
  map('g?', function()
    vim.lsp.util.open_floating_preview(HELP, '', { focus_id = 'tvls-help' })
  end, 'Help')
end

return M
