---Opening a graph: trust, saved sources, values, an interpreter with the libraries; each is asked for when it lacks.
local target = require('tvls.target')
local task = require('tvls.task')
local trust = require('tvls.trust')

local M = {}

---@class tvls.OpenOptions
---@field bufnr? integer buffer that it was asked for in
---@field refresh? boolean trace again although a fresh graph is there
---@field measure? tvls.Measurement[] what to measure while the model runs
---@field quiet? boolean ask nothing, as after a save: what fails is thrown

---@type table<integer, vim.lsp.Client> requests that trace now
local running = {}

---@param uri string
---@return integer? bufnr loaded buffer of a document
local function buffer_of(uri)
  local bufnr = vim.fn.bufnr(vim.uri_to_fname(uri))
  return bufnr ~= -1 and vim.api.nvim_buf_is_loaded(bufnr) and bufnr or nil
end

---@async
---@param folder string URI
---@param files string[] relative to the folder, as the error names them, or absolute
---@return boolean saved
local function offer_to_save(folder, files)
  local root = vim.uri_to_fname(folder)
  local buffers = {} ---@type integer[]
  for _, file in ipairs(files) do
    local path = file:match('^%w+:/') and vim.uri_to_fname(file) or file
    path = vim.startswith(path, '/') and path or vim.fs.joinpath(root, path)
    local bufnr = buffer_of(vim.uri_from_fname(path))
    if bufnr and vim.bo[bufnr].modified then
      buffers[#buffers + 1] = bufnr
    end
  end
  if #buffers == 0 then
    return false
  end
  local names = table.concat(files, ', ')
  if task.select({ 'Save', 'Cancel' }, ('%s: traces read saved files. Save?'):format(names)) ~= 'Save' then
    task.cancel()
  end
  for _, bufnr in ipairs(buffers) do
    vim.api.nvim_buf_call(bufnr, function()
      vim.cmd.write()
    end)
  end
  return true
end

---@async
---@param client vim.lsp.Client
---@param params tvls.OpenParams
---@return tvls.OpenResult
local function trace(client, params)
  local id ---@type integer?
  local ok, result = pcall(task.request, client, 'tvls/graph/open', params, function(started)
    id = started
    running[started] = client
  end)
  if id then
    running[id] = nil
  end
  if not ok then
    error(result, 0)
  end
  return result --[[@as tvls.OpenResult]]
end

---Opens and answers what came of it; asks the person for what lacks. Ends the flow where they do not give it.
---@async
---@param client vim.lsp.Client
---@param what tvls.Wanted
---@param options tvls.OpenOptions
---@return tvls.OpenResult
function M.open(client, what, options)
  local folder = target.folder(client, what)
  if options.quiet then
    local known = task.request(client, 'tvls/trust/get', { folder = folder }) ---@type tvls.TrustResult
    if not known.trusted then -- the server would ask
      error({ message = 'The folder is not trusted any more.', data = { kind = 'notTrusted' } }, 0)
    end
    return trace(
      client,
      vim.tbl_extend('force', target.open_params(what), { refresh = options.refresh, measure = options.measure })
    )
  end
  trust.ensure(client, folder)
  local mended = {} ---@type table<string, true>
  while true do
    local params =
      vim.tbl_extend('force', target.open_params(what), { refresh = options.refresh, measure = options.measure })
    local ok, result = pcall(trace, client, params)
    if ok then
      return result --[[@as tvls.OpenResult]]
    end
    local kind = task.kind(result)
    local data = type(result) == 'table' and result.data or {} ---@type tvls.ErrorData
    if not kind or mended[kind] then -- what was mended once and lacks again is an error to read
      error(result, 0)
    elseif kind == 'unsavedSource' and offer_to_save(folder, data.files or {}) then
      mended[kind] = true
    elseif kind == 'setupRequired' and (what.uri or what.profile) then
      what.profile = require('tvls.setup').ask(client, what)
      mended[kind] = true
    elseif kind == 'setupInvalid' and data.phase == 'inputs' and (what.uri or what.profile) then
      -- Only the object itself told what it is called with, as a module does that is there already.
      task.notify(task.describe(result), vim.log.levels.WARN)
      what.profile = require('tvls.setup').ask(client, what)
      mended[kind] = true
    elseif kind == 'environmentInvalid' and data.requirements then
      task.notify(task.describe(result), vim.log.levels.WARN)
      require('tvls.environment').install(client, {
        folder = data.folder,
        command = data.interpreter,
        requirements = data.requirements,
      })
      mended[kind] = true
    else
      error(result, 0)
    end
  end
end

---Opens and shows the outline.
---@async
---@param client vim.lsp.Client
---@param what tvls.Wanted
---@param options tvls.OpenOptions
function M.show(client, what, options)
  what = vim.deepcopy(what)
  local result = M.open(client, what, options)
  require('tvls.outline').show(client, what, result.capture)
end

---@param client vim.lsp.Client
---@param what tvls.Wanted
---@param options tvls.OpenOptions
function M.start(client, what, options)
  task.run(function()
    M.show(client, what, options)
  end, function(failure)
    task.notify(task.describe(failure), vim.log.levels.ERROR)
    if options.bufnr then
      require('tvls.lens').refresh(options.bufnr)
    end
  end)
end

---@async
---@param client vim.lsp.Client
---@param what tvls.Wanted
function M.browser(client, what)
  what = vim.deepcopy(what)
  M.open(client, what, {})
  task.request(client, 'workspace/executeCommand', {
    command = 'tvls.server.openInBrowser',
    arguments = { what },
  })
end

---Ends every trace that runs.
function M.cancel()
  local count = vim.tbl_count(running)
  for id, client in pairs(running) do
    client:cancel_request(id)
  end
  task.notify(count == 0 and 'No graph is being traced.' or ('Cancelled %d.'):format(count))
end

return M
