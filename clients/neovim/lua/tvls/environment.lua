---Which Python graphs are traced with, and what is installed in it.
local task = require('tvls.task')

local M = {}

---@param command string[]
---@return string
local function shown(command)
  return vim.fn.fnamemodify(table.concat(command, ' '), ':~')
end

---@async
---@param client vim.lsp.Client
---@param folder string URI
function M.choose(client, folder)
  local found = task.request(client, 'tvls/environment/list', { folder = folder }) ---@type tvls.EnvironmentListResult
  local choices = vim.list_extend({}, found.interpreters) ---@type (tvls.InterpreterInfo|string)[]
  choices[#choices + 1] = 'Enter a path or a command …'
  local chosen = task.select(choices, 'Trace with:', function(item)
    if type(item) == 'string' then
      return item
    end
    local version = item.python and (' (Python ' .. item.python .. ')') or ''
    return ('%s %s%s  %s'):format(item.selected and '*' or ' ', shown(item.command), version, item.why)
  end)
  if not chosen then
    return
  end
  local command ---@type string[]
  if type(chosen) == 'table' then
    command = chosen.command
  else
    local text = vim.trim(task.input('Python: ', nil, 'file') or '')
    if text == '' then
      return
    end
    local path = vim.fs.normalize(text)
    command = vim.fn.filereadable(path) == 1 and { path } or vim.split(text, '%s+')
  end
  local params = { folder = folder, command = command }
  local selected = task.request(client, 'tvls/environment/select', params) ---@type tvls.EnvironmentListResult
  for _, item in ipairs(selected.interpreters) do
    if item.selected and not vim.deep_equal(item.command, command) then
      task.notify(
        ('Your choice is kept, but %s comes first: %s.'):format(item.why, shown(item.command)),
        vim.log.levels.WARN
      )
      return
    end
  end
  if not found.trusted then -- it may not be run yet, not even for its version
    task.notify(('Graphs of this folder are traced with %s.'):format(shown(command)))
    return
  end
  local info = task.request(client, 'tvls/environment/probe', params) ---@type tvls.EnvironmentInfo
  task.notify(('%s: %s'):format(shown(command), info.verdict))
end

---Plans, shows the plan, and carries it out when the person approves. Ends the flow where they do not.
---@async
---@param client vim.lsp.Client
---@param params tvls.EnvironmentPlanParams
function M.install(client, params)
  local plan = task.request(client, 'tvls/environment/plan', params) ---@type tvls.EnvironmentPlan
  if #plan.changes == 0 then
    task.notify('Everything that is needed is installed.')
    return
  end
  local before = vim.api.nvim_get_current_win()
  local bufnr = require('tvls.scratch').show('installation', plan.text)
  vim.cmd.redraw()
  local question = ('Install %d packages into %s?'):format(#plan.changes, plan.interpreter)
  local answer = task.select({ 'Approve', 'Not now' }, question)
  local win = vim.fn.bufwinid(bufnr)
  if win ~= -1 then
    vim.api.nvim_win_close(win, true)
  end
  if vim.api.nvim_win_is_valid(before) then
    vim.api.nvim_set_current_win(before)
  end
  if answer ~= 'Approve' then
    task.cancel()
  end
  local done = task.request(client, 'tvls/environment/install', { planId = plan.planId })
  task.notify(done.message)
end

return M
