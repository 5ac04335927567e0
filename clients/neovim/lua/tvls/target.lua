---Which model is meant: the one named, the one around the cursor, the profile of a setup file, or the one chosen.
local client_of = require('tvls.client')
local task = require('tvls.task')

local M = {}

---What a lens names, and what `tvls/graph/open` takes after it.
---@class tvls.Wanted
---@field uri? string
---@field name? string
---@field profile? string
---@field folder? string

---@param target tvls.TargetInfo
---@return tvls.Wanted
local function wanted(target)
  return { uri = target.uri, name = target.name }
end

---The innermost model around a line.
---@param targets tvls.TargetInfo[]
---@param line integer 0-based
---@return tvls.TargetInfo?
local function around(targets, line)
  local best ---@type tvls.TargetInfo?
  for _, target in ipairs(targets) do
    local body = target.body or target.range
    if body.start.line <= line and line <= body['end'].line then
      if not best or target.range.start.line > best.range.start.line then
        best = target
      end
    end
  end
  return best
end

---@param bufnr integer
---@return string? profile whose table the cursor is in
local function profile_at_cursor(bufnr)
  for line = vim.fn.line('.'), 1, -1 do
    local text = vim.api.nvim_buf_get_lines(bufnr, line - 1, line, false)[1] or ''
    local name = text:match('^%s*%[%s*profiles%s*%.%s*"([^"]+)"') or text:match('^%s*%[%s*profiles%s*%.%s*([%w_-]+)')
    if name then
      return name
    end
  end
end

---@param target tvls.TargetInfo
---@return string
local function title(target)
  local path = vim.fn.fnamemodify(vim.uri_to_fname(target.uri), ':.')
  return ('%s  %s  %s:%d'):format(target.name, target.kind, path, target.range.start.line + 1)
end

---@param bufnr integer
---@return string? name of the function or class of the module that the cursor is in
local function definition_at_cursor(bufnr)
  for line = vim.fn.line('.'), 1, -1 do
    local text = vim.api.nvim_buf_get_lines(bufnr, line - 1, line, false)[1] or ''
    if text:find('^[^%s#)]') then
      return text:match('^def%s+([%w_]+)') or text:match('^async%s+def%s+([%w_]+)') or text:match('^class%s+([%w_]+)')
    end
  end
end

---@async
---@param client vim.lsp.Client
---@param name string
---@param folder? string URI
---@return boolean
local function is_profile(client, name, folder)
  local _, failure = pcall(task.request, client, 'tvls/setup/draft', { profile = name, folder = folder })
  if task.kind(failure) ~= 'setupRequired' then
    return true
  end
  local data = (failure --[[@as tvls.Failure]]).data
  return vim.list_contains(data and data.profiles or {}, name)
end

---Ends the flow where nothing is chosen.
---@async
---@param client vim.lsp.Client
---@param bufnr integer
---@param name? string
---@return tvls.Wanted
function M.choose(client, bufnr, name)
  local outline = require('tvls.outline').of_buffer(bufnr)
  if outline and not name then
    return outline.wanted
  end
  local file = vim.api.nvim_buf_get_name(bufnr)
  local uri = vim.uri_from_bufnr(bufnr)
  local folder = file ~= '' and client_of.folder_of(client, uri) or nil
  if vim.fs.basename(file) == 'tensorviz.toml' then
    local profile = name or profile_at_cursor(bufnr)
    if profile then
      return { profile = profile, folder = folder }
    end
  end
  local here = {} ---@type tvls.TargetInfo[]
  if vim.bo[bufnr].filetype == 'python' and file ~= '' then
    here = task.request(client, 'tvls/targets/list', { textDocument = { uri = uri } }).targets
  end
  if not name then
    local found = around(here, vim.fn.line('.') - 1)
    if found then
      return wanted(found)
    end
  end
  local targets = here
  if #targets == 0 or name then
    targets = task.request(client, 'tvls/targets/list', {}).targets
    vim.list_extend(targets, here)
  end
  if name then
    for _, target in ipairs(vim.list_extend(vim.list_slice(here), targets)) do
      if target.name == name then
        return wanted(target)
      end
    end
    if vim.bo[bufnr].filetype == 'python' and file ~= '' and not is_profile(client, name, folder) then
      return { uri = uri, name = name } -- such as a module that is there already, which no lens stands at
    end
    return { profile = name, folder = folder }
  end
  local defined = vim.bo[bufnr].filetype == 'python' and file ~= '' and definition_at_cursor(bufnr) or nil
  if #targets == 0 and not defined then
    error({ message = 'No JAX function and no Flax or PyTorch module was found here.' }, 0)
  end
  local choices = vim.list_extend(defined and { defined } or {}, targets) ---@type (tvls.TargetInfo|string)[]
  local prompt = defined and ('%s was not found to be a model. Open as graph:'):format(defined) or 'Open as graph:'
  local chosen = task.select(choices, prompt, function(item)
    if type(item) == 'string' then
      return item .. '  all the same'
    end
    return title(item)
  end)
  if not chosen then
    task.cancel()
  elseif chosen == defined then
    return { uri = uri, name = defined }
  end
  return wanted(chosen --[[@as tvls.TargetInfo]])
end

---Names for completion: models of the buffer, and the profiles that name them.
---@param client vim.lsp.Client
---@param bufnr integer
---@return string[]
function M.names(client, bufnr)
  local params = vim.empty_dict() ---@type table
  if vim.bo[bufnr].filetype == 'python' then
    params = { textDocument = { uri = vim.uri_from_bufnr(bufnr) } }
  end
  ---@diagnostic disable-next-line: param-type-mismatch
  local answer = client:request_sync('tvls/targets/list', params, 1000, bufnr)
  local names = {} ---@type string[]
  for _, target in ipairs(answer and answer.result and answer.result.targets or {}) do
    names[#names + 1] = target.name
    vim.list_extend(names, target.profiles or {})
  end
  return names
end

---@param client vim.lsp.Client
---@param what tvls.Wanted
---@return string folder URI
function M.folder(client, what)
  local folder = what.folder or (what.uri and client_of.folder_of(client, what.uri))
  folder = folder or (client.workspace_folders and client.workspace_folders[1] and client.workspace_folders[1].uri)
  if not folder then
    error({ message = 'This file is in no workspace folder.' }, 0)
  end
  return folder
end

---@param what tvls.Wanted
---@return tvls.OpenParams
function M.open_params(what)
  local target = what.uri and what.name and { uri = what.uri, name = what.name } or nil
  return { target = target, profile = what.profile, folder = what.folder }
end

return M
