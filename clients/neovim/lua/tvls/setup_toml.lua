---A model's setup as text: a buffer with the profile's TOML, checked and saved by `:write`.
local target = require('tvls.target')
local task = require('tvls.task')

local M = {}

local namespace = vim.api.nvim_create_namespace('tvls.setup')

---The line of a buffer that a key such as `inputs.args[0].shape` is about: that of its longest part that is written.
---@param bufnr integer
---@param key string
---@return integer lnum 0-based
local function line_of(bufnr, key)
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  local parts = vim.split(key, '[%.%[]')
  for at = #parts, 1, -1 do
    local name = assert(parts[at]):gsub('%]$', '')
    if name ~= '' and not name:match('^%d+$') then
      for lnum, line in ipairs(lines) do
        if line:find('%f[%w_]' .. vim.pesc(name) .. '%f[^%w_]%s*=') or line:match('^%s*%[.*' .. vim.pesc(name)) then
          return lnum - 1
        end
      end
    end
  end
  return 0
end

---@param bufnr integer
---@param form tvls.SetupForm
local function show_problems(bufnr, form)
  local found = {} ---@type any[]
  ---@param key string
  ---@param message string
  local function add(key, message)
    found[#found + 1] = {
      lnum = line_of(bufnr, key),
      col = 0,
      message = key .. ': ' .. message,
      severity = vim.diagnostic.severity.ERROR,
      source = 'tvls',
    }
  end
  for _, field in ipairs(form.fields) do
    if field.error then
      add(field.key, field.error)
    elseif field.required and field.value == nil and not field.parts then
      add(field.key, 'a value is missing' .. (field.annotation and (' (' .. field.annotation .. ')') or ''))
    end
  end
  for _, problem in ipairs(form.problems or {}) do
    add(problem.key, problem.message)
  end
  vim.diagnostic.set(namespace, bufnr, found)
end

---@param form tvls.SetupForm
---@return string[]
local function text_of(form)
  local lines = { ('# Setup of %s, the profile %q. :write checks and saves it.'):format(form.model, form.profile) }
  for _, field in ipairs(form.fields) do
    if field.required and field.value == nil and not field.parts then
      lines[#lines + 1] = ('# missing: %s (%s)'):format(field.key, field.annotation or field.type)
    end
  end
  lines[#lines + 1] = ''
  vim.list_extend(lines, vim.split(vim.trim(form.toml), '\n', { plain = true }))
  return lines
end

---@param client vim.lsp.Client
---@param what tvls.Wanted
---@param form tvls.SetupForm
---@return integer bufnr
function M.edit(client, what, form)
  local name = ('tvls://setup/%s/%s.toml'):format(vim.fs.basename(vim.uri_to_fname(form.folder)), form.profile)
  local bufnr = vim.fn.bufadd(name)
  vim.fn.bufload(bufnr)
  vim.bo[bufnr].buftype = 'acwrite'
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].swapfile = false
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, text_of(form))
  vim.bo[bufnr].filetype = 'toml'
  vim.bo[bufnr].modified = false
  show_problems(bufnr, form)
  vim.cmd.sbuffer({ bufnr, mods = { split = 'botright' } })

  local place = target.open_params(vim.tbl_extend('force', what, { profile = form.profile }))
  local version = form.version
  vim.api.nvim_clear_autocmds({ event = 'BufWriteCmd', buffer = bufnr })
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = bufnr,
    callback = function()
      local toml = table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n') .. '\n'
      task.run(function()
        local params = vim.tbl_extend('force', place, { toml = toml })
        local checked = task.request(client, 'tvls/setup/validate', params) ---@type tvls.SetupForm
        show_problems(bufnr, checked)
        if not checked.complete then
          task.notify('The setup is not complete; see the marked lines.', vim.log.levels.WARN)
          return
        end
        params.version = version
        local saved = require('tvls.setup').save(client, params, form.uri)
        version = saved.version
        vim.bo[bufnr].modified = false
        task.notify(('Saved the profile %q in tensorviz.toml. :Tvls open opens the graph.'):format(saved.profile))
      end, function(failure)
        if task.kind(failure) == 'setupInvalid' then
          local problem = (failure.data.problems or {})[1]
          vim.diagnostic.set(namespace, bufnr, {
            {
              lnum = problem and problem.line or 0,
              col = 0,
              message = problem and problem.message or failure.message,
              severity = vim.diagnostic.severity.ERROR,
              source = 'tvls',
            },
          })
        end
        task.notify(task.describe(failure), vim.log.levels.ERROR)
      end)
    end,
  })
  return bufnr
end

return M
