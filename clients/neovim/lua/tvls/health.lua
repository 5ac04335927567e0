---`:checkhealth tvls`: what is missing, and how to mend it.
local M = {}

local health = vim.health

---@param method string
---@param params table
---@param client vim.lsp.Client
---@return any? result
---@return string? fault
local function ask(client, method, params)
  ---@diagnostic disable-next-line: param-type-mismatch
  local answer, fault = client:request_sync(method, params, 60000)
  if not answer then
    return nil, fault or 'no answer'
  end
  return answer.result, answer.err and require('tvls.task').describe(answer.err) or nil
end

---@return boolean ok
local function check_server()
  health.start('tvls: server')
  local config = (vim.lsp.config --[[@as table<string, vim.lsp.Config>]])['tvls']
  if not config then
    health.error('Neovim has no configuration of tvls', { 'put clients/neovim on the runtimepath (lsp/tvls.lua)' })
    return false
  end
  local cmd = config.cmd
  if type(cmd) ~= 'table' then
    health.info('the server is started by a function')
    return true
  end
  local path = vim.fn.exepath(cmd[1] or '')
  if path == '' then
    health.error(('`%s` is not on the PATH'):format(cmd[1]), {
      'install it from the folder that this plugin is in: `pipx install /path/to/tvls`, or `uv tool install /path/to/tvls`',
      "or say where it is: vim.lsp.config('tvls', { cmd = { '/path/to/tvls', 'serve' } })",
    })
    return false
  end
  local command = vim.list_slice(cmd, 1, #cmd - (cmd[#cmd] == 'serve' and 1 or 0)) ---@type string[]
  command[#command + 1] = '--version'
  local ok, process = pcall(vim.system, command, { text = true })
  local done = ok and process:wait(20000) or nil
  if not done or done.code ~= 0 then
    health.error(
      ('`%s` failed: %s'):format(table.concat(command, ' '), done and vim.trim(done.stderr or '') or tostring(process)),
      {
        'install the server again: `pipx reinstall tvls`',
      }
    )
    return false
  end
  health.ok(('%s: %s'):format(path, vim.trim(done.stdout or '')))
  return true
end

---@return string
function M.version()
  local version = (vim.version --[[@as any]])() ---@type vim.Version
  return ('%d.%d.%d'):format(version.major, version.minor, version.patch)
end

local function check_editor()
  health.start('tvls: Neovim')
  if vim.fn.has('nvim-0.11') == 0 then
    health.error('Neovim is older than 0.11', { 'install Neovim 0.11 or newer' })
    return
  end
  health.ok('Neovim ' .. M.version())
  local enabled = vim.lsp.is_enabled and vim.lsp.is_enabled('tvls') or #vim.lsp.get_clients({ name = 'tvls' }) > 0
  if enabled then
    health.ok("vim.lsp.enable('tvls') was called")
  else
    health.error('the server is not enabled', { "call vim.lsp.enable('tvls') in your init.lua" })
  end
  if vim.env.SSH_CONNECTION then
    health.info('over SSH the address of the browser canvas comes as a message, with the tunnel that it needs')
  else
    local opener ---@type string?
    for _, name in ipairs({ 'open', 'xdg-open', 'wslview', 'explorer.exe', 'lemonade' }) do
      opener = opener or (vim.fn.executable(name) == 1 and name or nil)
    end
    if opener then
      health.ok('browser: opened with ' .. opener)
    else
      health.warn('nothing that opens a browser was found', {
        'install xdg-utils, for `:Tvls browser`; the outline works without it',
      })
    end
  end
end

---Why models of the folder cannot be opened with its Python; where it has none, nothing is lacking.
---@param client vim.lsp.Client
---@param folder lsp.WorkspaceFolder
---@param info tvls.EnvironmentInfo
---@return string[]
local function lacks(client, folder, info)
  local found = ask(client, 'tvls/targets/list', vim.empty_dict()) ---@type tvls.TargetsListResult?
  local reasons = {} ---@type string[]
  for _, target in ipairs(found and found.targets or {}) do
    local reason = (info.unusable or {})[target.kind]
    if
      reason
      and require('tvls.client').folder_of(client, target.uri) == folder.uri
      and not vim.list_contains(reasons, reason)
    then
      reasons[#reasons + 1] = reason
    end
  end
  return reasons
end

---@param client vim.lsp.Client
---@param folder lsp.WorkspaceFolder
local function check_folder(client, folder)
  health.start('tvls: ' .. vim.uri_to_fname(folder.uri))
  local params = { folder = folder.uri }
  local found, fault = ask(client, 'tvls/environment/list', params)
  if not found then
    health.error('interpreters cannot be listed: ' .. tostring(fault))
    return
  end
  local selected = found.interpreters[1]
  for _, item in ipairs(found.interpreters) do
    if item.selected then
      selected = item
    end
  end
  if not selected then
    health.error('no Python was found for this folder', {
      'create an environment: `python3 -m venv .venv`, and install the library of your models in it',
      'or choose one: `:Tvls interpreter`',
    })
    return
  end
  health.ok(('interpreter: %s (%s)'):format(table.concat(selected.command, ' '), selected.why))
  if not found.trusted then
    health.warn('the folder is not trusted: nothing of it is run', { '`:Tvls trust` asks; opening a graph asks, too' })
    return
  end
  health.ok('the folder is trusted')
  local info, broken = ask(client, 'tvls/environment/probe', params) ---@type tvls.EnvironmentInfo?, string?
  if not info then
    health.error('the interpreter does not work: ' .. tostring(broken), { 'choose another: `:Tvls interpreter`' })
    return
  end
  local libraries = {} ---@type string[]
  for _, library in ipairs(info.libraries) do
    if library.state == 'ok' then
      libraries[#libraries + 1] = library.name .. ' ' .. library.version
    elseif library.state ~= 'missing' then
      health.error(library.message or library.name, { '`:Tvls install` shows what mends it, and asks' })
    end
  end
  local lacking = lacks(client, folder, info)
  if #lacking > 0 then
    health.warn(table.concat(lacking, ' '), {
      '`:Tvls install` shows what installing what the models of this folder need would change, and asks',
      'or choose another interpreter: `:Tvls interpreter`',
    })
  else
    health.ok(info.verdict)
  end
  if #libraries > 0 then
    health.info('libraries: ' .. table.concat(libraries, ', '))
  end
end

function M.check()
  check_editor()
  if not check_server() then
    return
  end
  local clients = vim.lsp.get_clients({ name = 'tvls' })
  if #clients == 0 then
    health.start('tvls: workspace')
    health.info('the server does not run: it starts with the first Python file or tensorviz.toml')
  end
  for _, client in ipairs(clients) do
    local status, fault = ask(client, 'tvls/server/status', vim.empty_dict())
    if status then
      health.ok(('running, version %s, %s, %d graphs open'):format(status.version, status.health, status.captures or 0))
    else
      health.error('the server does not answer: ' .. tostring(fault), { '`:edit` starts it again; see `:Tvls log`' })
    end
    for _, folder in ipairs(client.workspace_folders or {}) do
      check_folder(client, folder)
    end
  end
end

return M
