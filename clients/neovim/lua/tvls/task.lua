---Flows that ask the server and the person, one step after the other, as coroutines.
local M = {}

---What the server answered instead of a result. `data.kind` says what to do about it.
---@class tvls.Failure
---@field code integer
---@field message string
---@field data? tvls.ErrorData

---Thrown by a flow that the person left; nothing is said about it.
M.CANCELLED = setmetatable({}, {
  __tostring = function()
    return 'cancelled'
  end,
})

---@param text string
---@param level? integer
function M.notify(text, level)
  vim.notify(text, level or vim.log.levels.INFO, { title = 'TensorViz' })
end

---@param failure any
---@return string
function M.describe(failure)
  if type(failure) ~= 'table' or not failure.message then
    return tostring(failure)
  end
  local next_step = failure.data and failure.data.nextStep
  return next_step and not failure.message:find(next_step, 1, true) and failure.message .. ' ' .. next_step
    or failure.message
end

---@param failure any
---@return string? kind of an error of the protocol
function M.kind(failure)
  return type(failure) == 'table' and failure.data and failure.data.kind or nil
end

---Runs a flow. What it throws is told to the person, or given to `failed`.
---@param flow async fun()
---@param failed? fun(failure: any)
function M.run(flow, failed)
  local thread = coroutine.create(function()
    local ok, failure = xpcall(flow, function(fault)
      return type(fault) == 'string' and debug.traceback(fault, 2) or fault
    end)
    if ok or failure == M.CANCELLED then
      return
    end
    if failed then
      failed(failure)
    else
      M.notify(M.describe(failure), vim.log.levels.ERROR)
    end
  end)
  assert(coroutine.resume(thread))
end

---Waits until `start` calls what it is given; what it is called with comes back.
---@async
---@param start fun(resume: fun(...))
---@return any ...
function M.await(start)
  local thread = assert(coroutine.running(), 'outside of a flow')
  local results, waiting ---@type table?, boolean?
  start(function(...)
    if results then
      return
    end
    results = vim.F.pack_len(...)
    if waiting then
      vim.schedule(function()
        assert(coroutine.resume(thread))
      end)
    end
  end)
  if not results then
    waiting = true
    coroutine.yield()
  end
  return vim.F.unpack_len(assert(results))
end

---Asks the server. Throws a `tvls.Failure`.
---@async
---@param client vim.lsp.Client
---@param method tvls.Method|string
---@param params table
---@param started? fun(id: integer) gets the id of the request, to cancel it by
---@return any result
function M.request(client, method, params, started)
  if next(params) == nil then
    params = vim.empty_dict()
  end
  local failure, result = M.await(function(resume)
    ---@diagnostic disable-next-line: param-type-mismatch (methods of our own)
    local sent, id = client:request(method, params, function(err, answer)
      resume(err, answer)
    end)
    if not sent then
      resume({ code = 0, message = 'The TensorViz server is not running. :checkhealth tvls tells more.' })
    elseif started and id then
      started(id)
    end
  end)
  if failure then
    error(failure, 0)
  end
  return result
end

---@async
---@generic T
---@param items T[]
---@param prompt string
---@param format? fun(item: T): string
---@return T? chosen nil where the person chose nothing
function M.select(items, prompt, format)
  return M.await(function(resume)
    vim.ui.select(items, { prompt = prompt, format_item = format, kind = 'tvls' }, function(item)
      resume(item)
    end)
  end)
end

---@async
---@param prompt string
---@param default? string
---@param completion? string
---@return string? text nil where the person left the prompt
function M.input(prompt, default, completion)
  return M.await(function(resume)
    vim.ui.input({ prompt = prompt, default = default, completion = completion }, function(text)
      resume(text)
    end)
  end)
end

---Ends the flow without a word.
function M.cancel()
  error(M.CANCELLED, 0)
end

return M
