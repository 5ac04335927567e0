---What a buffer of the server gets, and what happens when the server dies.
local task = require('tvls.task')

local M = {}

---As other clients have it: a server that dies more often than this is left dead.
local RESTARTS, WITHIN_SECONDS = 4, 180

---@type table<integer, table<integer, true>> client → buffers
local attached = {}
---@type integer[] seconds of restarts
local restarts = {}

---@param client vim.lsp.Client
---@param bufnr integer
function M.on_attach(client, bufnr)
  attached[client.id] = attached[client.id] or {}
  attached[client.id][bufnr] = true
  require('tvls.lens').attach(bufnr)
  require('tvls.outline.follow').attach(client, bufnr)
end

---@param code integer
---@param signal integer
---@param client_id integer
function M.on_exit(code, signal, client_id)
  local buffers = attached[client_id] or {}
  attached[client_id] = nil
  vim.schedule(function()
    -- Asked to end, by `shutdown` or SIGTERM, or together with the editor: that is no crash.
    if vim.v.exiting ~= vim.NIL or (code == 0 and signal == 0) or signal == 15 then
      return
    end
    M.restart(buffers, ('exit code %d, signal %d'):format(code, signal))
  end)
end

---@param buffers table<integer, true>
---@param why string
function M.restart(buffers, why)
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
  local config = vim.lsp.config.tvls
  for bufnr in pairs(buffers) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      config.root_dir(bufnr, function(root)
        vim.lsp.start(vim.tbl_extend('force', config, { root_dir = root }), { bufnr = bufnr })
      end)
    end
  end
  task.notify(('The TensorViz server died (%s) and was started again.'):format(why), vim.log.levels.WARN)
  require('tvls.outline').on_restart()
end

return M
