---What a buffer of the server gets, and what happens when the server dies.
local task = require('tvls.task')

local M = {}

---As other clients have it: a server that dies more often than this is left dead.
local RESTARTS, WITHIN_SECONDS = 4, 180

---@type table<integer, { config: vim.lsp.ClientConfig, buffers: table<integer, true> }> by client
local attached = {}
---@type integer[] seconds of restarts
local restarts = {}

---@param client vim.lsp.Client
---@param bufnr integer
function M.on_attach(client, bufnr)
  local entry = attached[client.id] or { config = client.config, buffers = {} }
  attached[client.id] = entry
  entry.buffers[bufnr] = true
  require('tvls.lens').attach(bufnr)
  require('tvls.outline.follow').attach(client, bufnr)
end

---@param code integer
---@param signal integer
---@param client_id integer
function M.on_exit(code, signal, client_id)
  local entry = attached[client_id]
  attached[client_id] = nil
  vim.schedule(function()
    -- Asked to end, by `shutdown` or SIGTERM, or together with the editor: that is no crash.
    if not entry or vim.v.exiting ~= vim.NIL or (code == 0 and signal == 0) or signal == 15 then
      return
    end
    M.restart(entry.config, entry.buffers, ('exit code %d, signal %d'):format(code, signal))
  end)
end

---@param config vim.lsp.ClientConfig
---@param buffers table<integer, true>
---@param why string
function M.restart(config, buffers, why)
  local now = os.time()
  restarts = vim.tbl_filter(function(at)
    return now - at < WITHIN_SECONDS
  end, restarts)
  if #restarts >= RESTARTS then
    task.notify(
      ('The TensorViz server died %d times in a short while (%s). :Tvls log tells more; :edit starts it again.'):format(
        #restarts + 1,
        why
      ),
      vim.log.levels.ERROR
    )
    return
  end
  restarts[#restarts + 1] = now
  for bufnr in pairs(buffers) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      vim.lsp.start(config, { bufnr = bufnr })
    end
  end
  task.notify(('The TensorViz server died (%s) and was started again.'):format(why), vim.log.levels.WARN)
  require('tvls.outline').on_restart()
end

return M
