---Texts to read, each in a buffer of its own that is made again when it is shown again.
local M = {}

---@param name string the buffer is `tvls://NAME`
---@param text string|string[]
---@param filetype? string
---@return integer bufnr
function M.show(name, text, filetype)
  local lines = type(text) == 'table' and text or vim.split(text --[[@as string]], '\n', { plain = true })
  local full = 'tvls://' .. name
  local bufnr = vim.fn.bufadd(full)
  vim.fn.bufload(bufnr)
  vim.bo[bufnr].buftype = 'nofile'
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].swapfile = false
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].modified = false
  if filetype then
    vim.bo[bufnr].filetype = filetype
  end
  local win = vim.fn.bufwinid(bufnr)
  if win ~= -1 then
    vim.api.nvim_set_current_win(win)
  else
    vim.cmd.sbuffer({ bufnr, mods = { split = 'botright' } })
  end
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, desc = 'Close' })
  return bufnr
end

return M
