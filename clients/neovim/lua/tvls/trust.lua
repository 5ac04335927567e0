---Tracing runs the code of a folder. The person decides, here; the server keeps the decision.
local task = require('tvls.task')

local M = {}

local TRUST, LOOK, NOT_NOW = 'Trust this folder', 'Show what would run', 'Not now'

---@async
---@param client vim.lsp.Client
---@param folder string URI
---@return string[] command of the Python that would run
local function interpreter(client, folder)
  local found = task.request(client, 'tvls/environment/list', { folder = folder }) ---@type tvls.EnvironmentListResult
  for _, item in ipairs(found.interpreters) do
    if item.selected then
      return item.command
    end
  end
  return found.interpreters[1] and found.interpreters[1].command or { '(no Python was found)' }
end

---Ends the flow where the folder is not trusted and the person does not trust it.
---@async
---@param client vim.lsp.Client
---@param folder string URI
function M.ensure(client, folder)
  local known = task.request(client, 'tvls/trust/get', { folder = folder }) ---@type tvls.TrustResult
  if not known.trusted and not M.ask(client, folder) then
    task.notify('Nothing was run. :Tvls trust asks again.', vim.log.levels.WARN)
    task.cancel()
  end
end

---@async
---@param client vim.lsp.Client
---@param folder string URI
---@return boolean trusted
function M.ask(client, folder)
  local path = vim.uri_to_fname(folder)
  local python = table.concat(interpreter(client, folder), ' ')
  local question = ('Opening a graph runs Python code of %s with %s. Do you trust this folder?'):format(path, python)
  local answer = task.select({ TRUST, LOOK, NOT_NOW }, question)
  if answer == LOOK then
    require('tvls.scratch').show('trust', {
      'Opening a graph imports the module of the model and traces it, in a process of its own, with',
      '  ' .. python,
      'with your rights: what the modules of ' .. path,
      'do when they are imported, they do.',
      '',
      'The decision is kept in your state directory, not in the folder. :Tvls untrust takes it back.',
    })
    vim.cmd.redraw()
    answer = task.select({ TRUST, NOT_NOW }, question)
  end
  if answer ~= TRUST then
    return false
  end
  local result = task.request(client, 'tvls/trust/grant', { folder = folder }) ---@type tvls.TrustResult
  return result.trusted
end

---@async
---@param client vim.lsp.Client
---@param folder string URI
function M.revoke(client, folder)
  task.request(client, 'tvls/trust/revoke', { folder = folder })
  task.notify(vim.uri_to_fname(folder) .. ' is not trusted any more; its workers have ended.')
end

return M
