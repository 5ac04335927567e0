---Which server a buffer has, and which folder of it a file is in.
local M = {}

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

---Throws where there is none, with what to do about it.
---@param bufnr? integer
---@return vim.lsp.Client
function M.get(bufnr)
  local client = M.find(bufnr)
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
