---A model's setup by prompts: what is missing is asked for, everything else can be changed before it is saved.
local target = require('tvls.target')
local task = require('tvls.task')

local M = {}

---What the server takes as text, by type of field.
local EXAMPLES = {
  shape = 'such as 2, 3',
  tensor = 'such as float32[2, 3]',
  value = 'such as float32[2, 3] or 0.5',
}

---What a person calls a field, as on the command line: `config.n_layer`, `x.shape`.
---@param field tvls.SetupField
---@param form tvls.SetupForm
---@return string
local function name_of(field, form)
  local by_key, alike = {}, false ---@type table<string, tvls.SetupField>, boolean
  for _, other in ipairs(form.fields) do
    by_key[other.key] = other
    alike = alike or (other.key ~= field.key and other.label == field.label and other.parent == field.parent)
  end
  local name, around = field.label, by_key[field.parent or ''] ---@type string, tvls.SetupField?
  while around do
    name, around = around.label .. '.' .. name, by_key[around.parent or '']
  end
  for _, group in ipairs(alike and form.groups or {}) do
    if group.id == field.group then
      return ('%s (%s)'):format(name, group.title:lower())
    end
  end
  return name
end

---@param field tvls.SetupField
---@param form tvls.SetupForm
---@return string
local function prompt_of(field, form)
  local label = name_of(field, form)
  local kind = field.annotation or field.type
  for _, other in ipairs(form.fields) do
    if
      field.type == 'shape'
      and other.type == 'dtype'
      and other.parent == field.parent
      and (other.text or '') ~= ''
    then
      kind = kind .. ' of ' .. other.text
    end
  end
  local default = field.default and (', default ' .. field.default) or ''
  local head = field.error and (field.error .. '\n') or ''
  local example = EXAMPLES[field.type] and '; ' .. EXAMPLES[field.type] or ''
  return ('%s%s (%s%s%s): '):format(head, label, kind, default, example)
end

---@param field tvls.SetupField
---@return boolean
local function is_question(field)
  return (field.error ~= nil or (field.required == true and field.value == nil)) and not field.parts
end

---@async
---@param field tvls.SetupField
---@param form tvls.SetupForm
---@return string? text nil where the person left the prompt
local function ask_field(field, form)
  local prompt = prompt_of(field, form)
  if field.type == 'choice' or field.type == 'dtype' then
    local options = vim.deepcopy(field.options or {})
    if #options > 0 then
      if field.type == 'dtype' then
        options[#options + 1] = { text = 'another …' }
      end
      local chosen = task.select(options, prompt, function(option)
        return option.help and option.help ~= '' and option.text .. '  ' .. option.help or option.text
      end)
      if not chosen or chosen.value ~= nil then
        return chosen and chosen.text
      end
    end
  elseif field.suggestions and #field.suggestions > 0 then
    local offered = vim.list_extend({}, field.suggestions)
    offered[#offered + 1] = { text = 'another …', source = '' }
    local chosen = task.select(offered, prompt, function(item)
      return item.source ~= '' and ('%s  (%s)'):format(item.text, item.source) or item.text
    end)
    if not chosen then
      return nil
    elseif chosen.source ~= '' then
      return chosen.text
    end
  end
  return task.input(prompt, field.text)
end

---@param field tvls.SetupField
---@param form tvls.SetupForm
---@return string
local function row(field, form)
  local value = field.text and field.text ~= '' and field.text
    or (field.default and 'default ' .. field.default or '–')
  local marks = (field.assumed and '  (assumed)' or '') .. (field.error and ('  ! ' .. field.error) or '')
  return ('%s = %s%s'):format(name_of(field, form), value, marks)
end

---@param uri string
---@return integer? bufnr
local function buffer_of(uri)
  local bufnr = vim.fn.bufnr(vim.uri_to_fname(uri))
  return bufnr ~= -1 and vim.api.nvim_buf_is_loaded(bufnr) and bufnr or nil
end

---Saves a profile. Where `tensorviz.toml` is open with unsaved changes of the person's, they save it first.
---@async
---@param client vim.lsp.Client
---@param params tvls.SetupSaveParams
---@param uri string of tensorviz.toml
---@return tvls.SetupSaved
function M.save(client, params, uri)
  local open = buffer_of(uri)
  if open and vim.bo[open].modified then
    error({ message = 'tensorviz.toml has unsaved changes: save it, then save the setup again.' }, 0)
  end
  local saved = task.request(client, 'tvls/setup/save', params) ---@type tvls.SetupSaved
  if saved.unsaved then
    local bufnr = assert(buffer_of(saved.uri) or open)
    vim.api.nvim_buf_call(bufnr, function()
      vim.cmd('silent write')
    end)
  end
  return saved
end

---Asks for what is missing, then shows all of it to be changed or saved. Ends the flow where the person leaves.
---@async
---@param client vim.lsp.Client
---@param what tvls.Wanted
---@return string profile that was saved
function M.ask(client, what)
  local place = target.open_params(what)
  local changes = {} ---@type tvls.SetupChange[]
  local form = task.request(client, 'tvls/setup/draft', place) ---@type tvls.SetupForm

  ---@async
  ---@param field tvls.SetupField
  ---@return boolean changed
  local function change(field)
    local text = ask_field(field, form)
    if not text then
      return false
    end
    changes[#changes + 1] = { key = field.key, text = text ~= '' and text or nil }
    form = task.request(client, 'tvls/setup/validate', vim.tbl_extend('force', place, { changes = changes }))
    return true
  end

  local function next_question()
    for _, field in ipairs(form.fields) do
      if is_question(field) then
        return field
      end
    end
  end

  while true do
    local question = next_question()
    while question do
      if not change(question) then
        break
      end
      question = next_question()
    end
    local save = ('Save as the profile %q and go on'):format(form.profile)
    local choices = {} ---@type (string|tvls.SetupField)[]
    if form.complete then
      choices[#choices + 1] = save
    end
    vim.list_extend(choices, { 'Edit as TOML', 'Cancel' })
    for _, field in ipairs(form.fields) do
      if not field.parts then
        choices[#choices + 1] = field
      end
    end
    local problems = vim.tbl_map(function(problem)
      return problem.key .. ': ' .. problem.message
    end, form.problems or {})
    local title = #problems > 0 and table.concat(problems, '; ') or 'Setup of ' .. form.model
    local chosen = task.select(choices, title, function(item)
      return type(item) == 'string' and item or row(item, form)
    end)
    if chosen == save then
      local saving = vim.tbl_extend('force', place, { version = form.version })
      if #changes > 0 then
        saving.changes = changes
      end
      return M.save(client, saving, form.uri).profile
    elseif chosen == 'Edit as TOML' then
      require('tvls.setup_toml').edit(client, what, form)
      task.cancel()
    elseif chosen == nil or chosen == 'Cancel' then
      task.cancel()
    else
      change(chosen --[[@as tvls.SetupField]])
    end
  end
end

return M
