---`:Tvls`: what each subcommand does, and its completion.
local client_of = require('tvls.client')
local task = require('tvls.task')

local M = {}

---@class tvls.Subcommand
---@field run async fun(args: string[], bang: boolean)
---@field complete? fun(lead: string): string[]

---@return integer
local function here()
  return vim.api.nvim_get_current_buf()
end

---The model that is meant, and the server that knows it.
---@async
---@param name? string
---@return vim.lsp.Client
---@return tvls.Wanted
local function chosen(name)
  local client = client_of.get(here())
  return client, require('tvls.target').choose(client, here(), name)
end

---@async
---@return vim.lsp.Client
---@return string folder URI
local function folder()
  local client = client_of.get(here())
  local outline = require('tvls.outline').of_buffer(here())
  local file = vim.api.nvim_buf_get_name(0)
  local uri = not outline and vim.bo.buftype == '' and file ~= '' and vim.uri_from_bufnr(0) or nil
  return client, outline and outline.folder or require('tvls.target').folder(client, { uri = uri })
end

---@return string[]
local function names()
  local client = client_of.find(here())
  return client and require('tvls.target').names(client, here()) or {}
end

---@async
---@param refresh boolean
local function open(args, refresh)
  local client, what = chosen(args[1])
  require('tvls.open').show(client, what, { bufnr = here(), refresh = refresh })
end

---@async
---@param path? string
local function export(path)
  local outline = require('tvls.outline').current()
  if not path then
    local suggested = outline:ask('tvls/graph/export', { format = 'outline' }).suggestedName:gsub('%.txt$', '.json')
    path = task.input('Export to (.json: graph file, .txt: outline): ', suggested, 'file')
    if not path or path == '' then
      return
    end
  end
  path = vim.fs.abspath(vim.fs.normalize(path))
  if vim.fn.getftype(path) ~= '' and task.select({ 'Overwrite', 'Cancel' }, path .. ' exists.') ~= 'Overwrite' then
    return
  end
  local format = path:match('%.txt$') and 'outline' or 'json'
  local result = outline:ask('tvls/graph/export', { format = format }) ---@type tvls.ExportResult
  local file, fault = io.open(path, 'w')
  if not file then
    error({ message = ('%s cannot be written: %s'):format(path, fault) }, 0)
  end
  local written, why = file:write(result.text)
  local closed, late = file:close()
  if not written or not closed then
    error({ message = ('%s cannot be written: %s'):format(path, why or late) }, 0)
  end
  task.notify('Wrote ' .. path)
end

---@param changes tvls.NodeChange[]?
---@param sign string
---@return string[]
local function change_lines(changes, sign)
  return vim.tbl_map(function(change)
    local text = table.concat(change.text or {}, '; ')
    return vim.trim(('%s %s  %s'):format(sign, change.node, text))
  end, changes or {})
end

---@async
local function compare()
  local outline = require('tvls.outline').current()
  local info = outline:ask('tvls/graph/info', {}) ---@type tvls.CaptureInfo
  if not info.previous then
    error({ message = 'There is no earlier graph of this model: edit it and open it again.' }, 0)
  end
  local result = outline:compare_with(info.previous)
  outline:draw()
  local lines = { ('%s: %s'):format(info.name, result.same and 'nothing changed' or result.summary), '' }
  vim.list_extend(lines, change_lines(result.added, '+'))
  vim.list_extend(lines, change_lines(result.removed, '-'))
  vim.list_extend(lines, change_lines(result.changed, '~'))
  require('tvls.scratch').show('compare', lines, 'diff')
end

---@async
local function reveal()
  local outline = require('tvls.outline').of_buffer(here())
  if outline then
    require('tvls.outline.keys').source(outline)
    return
  end
  local client = client_of.get(here())
  local uri, position = vim.uri_from_bufnr(0), client_of.cursor(client)
  local found = task.request(client, 'tvls/graph/nodesAt', { textDocument = { uri = uri }, position = position })
  local marked = task.request(client, 'tvls/canvas/mark', { textDocument = { uri = uri }, position = position })
  for _, hit in ipairs(found.nodes) do
    for _, other in ipairs(require('tvls.outline').all()) do
      if other.capture.captureId == hit.captureId then
        require('tvls.outline').focus(other)
        require('tvls.outline.follow').mark(client, other, uri, position, true)
        return
      end
    end
  end
  if marked.pages == 0 then
    task.notify('No open graph has an operation from this line.')
  end
end

---@async
local function status()
  local client = client_of.get(here())
  local state = task.request(client, 'tvls/server/status', {}) ---@type tvls.StatusResult
  local lines = {
    ('tvls %s: %s%s'):format(state.version, state.health, state.message and ', ' .. state.message or ''),
    ('%d graphs open, %d being traced'):format(state.captures or 0, state.tracesRunning or 0),
  }
  for _, worker in ipairs(state.workers or {}) do
    lines[#lines + 1] = ('%s worker of %s: %s'):format(worker.framework, worker.interpreter, worker.state)
  end
  for _, root in ipairs(client.workspace_folders or {}) do
    local trust = task.request(client, 'tvls/trust/get', { folder = root.uri }) ---@type tvls.TrustResult
    lines[#lines + 1] = ('%s: %s'):format(vim.uri_to_fname(root.uri), trust.trusted and 'trusted' or 'not trusted')
  end
  task.notify(table.concat(lines, '\n'))
end

---@type table<string, tvls.Subcommand>
M.subcommands = {
  open = {
    run = function(args)
      open(args, false)
    end,
    complete = names,
  },
  refresh = {
    run = function(args)
      open(args, true)
    end,
    complete = names,
  },
  browser = {
    run = function(args)
      local client, what = chosen(args[1])
      require('tvls.open').browser(client, what)
    end,
    complete = names,
  },
  setup = {
    run = function(args, bang)
      local client, what = chosen(args[1])
      if bang then
        local place = require('tvls.target').open_params(what)
        local form = task.request(client, 'tvls/setup/draft', place) ---@type tvls.SetupForm
        require('tvls.setup_toml').edit(client, what, form)
        return
      end
      local profile = require('tvls.setup').ask(client, what)
      task.notify(('Saved the profile %q in tensorviz.toml.'):format(profile))
    end,
    complete = names,
  },
  interpreter = {
    run = function()
      require('tvls.environment').choose(folder())
    end,
  },
  install = {
    run = function(args)
      local client, root = folder()
      require('tvls.trust').ensure(client, root)
      require('tvls.environment').install(client, { folder = root, requirements = #args > 0 and args or nil })
    end,
  },
  reveal = { run = reveal },
  compare = { run = compare },
  measure = {
    run = function(args)
      require('tvls.measure').run(args[1])
    end,
    complete = function()
      return vim.list_slice(require('tvls.measure').words)
    end,
  },
  export = {
    run = function(args)
      export(args[1])
    end,
    complete = function(lead)
      return vim.fn.getcompletion(lead, 'file')
    end,
  },
  search = {
    run = function(args)
      local query = table.concat(args, ' ')
      require('tvls.outline.keys').search(require('tvls.outline').current(), query ~= '' and query or nil)
    end,
  },
  trust = {
    run = function()
      local client, root = folder()
      local trusted = require('tvls.trust').ask(client, root)
      task.notify(vim.uri_to_fname(root) .. (trusted and ' is trusted.' or ' is not trusted.'))
    end,
  },
  untrust = {
    run = function()
      require('tvls.trust').revoke(folder())
    end,
  },
  cancel = {
    run = function()
      require('tvls.open').cancel()
    end,
  },
  status = { run = status },
  log = {
    run = function()
      require('tvls.log').show()
    end,
  },
}

---@param args vim.api.keyset.create_user_command.command_args
function M.run(args)
  local words = vim.list_slice(args.fargs, 2)
  local name = args.fargs[1] or 'open'
  local subcommand = M.subcommands[name]
  if not subcommand then
    local known = vim.tbl_keys(M.subcommands)
    table.sort(known)
    task.notify((':Tvls has no %q. It has: %s.'):format(name, table.concat(known, ', ')), vim.log.levels.ERROR)
    return
  end
  task.run(function()
    subcommand.run(words, args.bang)
  end)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local before = line:sub(1, #line - #lead)
  local name = before:match('Tvls!?%s+(%S+)%s')
  local offered ---@type string[]
  if not name then
    offered = vim.tbl_keys(M.subcommands)
  else
    local subcommand = M.subcommands[name]
    offered = subcommand and subcommand.complete and subcommand.complete(lead) or {}
  end
  offered = vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, offered)
  table.sort(offered)
  return vim.fn.uniq(offered) --[[@as string[] ]]
end

return M
