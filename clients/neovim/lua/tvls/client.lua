---Which server a buffer has, and which folder of it a file is in.
local task = require('tvls.task')

local M = {}

---A server that was just started needs a moment, on a slow machine more than one.
local START_MS, POLL_MS = 30000, 50

---@param bufnr? integer default: the current one
---@return vim.lsp.Client? client of this buffer, else the only one that runs
function M.find(bufnr)
  local here = vim.lsp.get_clients({ name = 'tvls', bufnr = bufnr or 0 })[1]
  if here then
    return here
  end
  local all = vim.lsp.get_clients({ name = 'tvls' })
  return #all == 1 and all[1] or nil
end

---@param bufnr integer
---@return boolean whether a server for the buffer is on its way
local function is_starting(bufnr)
  local config = (vim.lsp.config --[[@as table<string, vim.lsp.Config>]])['tvls']
  local cmd = config and config.cmd
  return vim.lsp.is_enabled('tvls')
    and vim.api.nvim_buf_is_valid(bufnr)
    and vim.bo[bufnr].buftype == ''
    and vim.tbl_contains(config.filetypes or {}, vim.bo[bufnr].filetype)
    and (type(cmd) ~= 'table' or vim.fn.executable(cmd[1] or '') == 1)
end

---Waits for a server that is being started. Throws where there is none, with what to do about it.
---@async
---@param bufnr? integer
---@return vim.lsp.Client
function M.get(bufnr)
  bufnr = (bufnr and bufnr ~= 0) and bufnr or vim.api.nvim_get_current_buf()
  local client = M.find(bufnr)
  local waited = 0
  while not client and waited < START_MS and is_starting(bufnr) do
    task.await(function(resume)
      vim.defer_fn(resume, POLL_MS)
    end)
    waited = waited + POLL_MS
    client = M.find(bufnr)
  end
  if client then
    return client
  end
  if #vim.lsp.get_clients({ name = 'tvls' }) > 1 then
    error({ message = 'Several TensorViz servers run: go to a file of the project that is meant.' }, 0)
  end
  error({ message = 'No TensorViz server runs for this buffer. :checkhealth tvls says what is missing.' }, 0)
end

---@param client vim.lsp.Client
---@param uri string
---@return string? folder URI of the workspace folder that a file is in
function M.folder_of(client, uri)
  local best ---@type string?
  local path = vim.uri_to_fname(uri)
  for _, folder in ipairs(client.workspace_folders or {}) do
    local root = vim.uri_to_fname(folder.uri)
    if vim.fs.relpath(root, path) and (not best or #folder.uri > #best) then
      best = folder.uri
    end
  end
  return best
end

---@param client vim.lsp.Client
---@return lsp.Position
function M.cursor(client)
  return vim.lsp.util.make_position_params(0, client.offset_encoding --[[@as 'utf-8']]).position
end

return M
