---What is measured of a PyTorch model while it runs, on request: what it would cost is told before.
local task = require('tvls.task')

local M = {}

---@alias tvls.Measurement "activation_statistics"|"output_bytes"|"storage_aliases"

---@type tvls.Measurement[]
M.words = { 'output_bytes', 'storage_aliases', 'activation_statistics' }

---@param word tvls.Measurement|string
---@return string
function M.in_words(word)
  return (tostring(word):gsub('_', ' '))
end

---@param capture tvls.CaptureInfo
---@return tvls.Measurement[] what was measured on request
function M.measured(capture)
  local costs = capture.unavailable or {}
  return vim.tbl_filter(function(known)
    return capture.framework == 'torch' and costs[known] == nil
  end, M.words)
end

---What was measured of a value, one line each.
---@param value tvls.ValueInfo
---@return string[]
function M.texts(value)
  local lines = {} ---@type string[]
  if value.bytes then
    lines[#lines + 1] = ('%d bytes'):format(value.bytes)
  end
  if value.storage then
    lines[#lines + 1] = ('memory %d'):format(value.storage)
  end
  local statistics = value.statistics
  if statistics then
    local numbers = {} ---@type string[]
    for _, name in ipairs({ 'min', 'max', 'mean', 'std' }) do
      if statistics[name] then
        numbers[#numbers + 1] = ('%s %.4g'):format(name, statistics[name])
      end
    end
    if #numbers > 0 then
      lines[#lines + 1] = table.concat(numbers, ' · ')
    end
    lines[#lines + 1] = ('zeros %d · NaN %d · infinite %d of %d'):format(
      statistics.zeros,
      statistics.nan,
      statistics.infinite,
      statistics.elements
    )
  end
  return lines
end

---Opens the current outline with one measurement more; asks which, with what each costs.
---@async
---@param word? string
function M.run(word)
  local outline = require('tvls.outline').current()
  local info = outline:ask('tvls/graph/info', {}) ---@type tvls.CaptureInfo
  if info.framework ~= 'torch' then
    error({ message = 'Only a PyTorch model is run: of others there is nothing to measure.' }, 0)
  end
  local costs = info.unavailable or {}
  local missing = vim.tbl_filter(function(known)
    return costs[known] ~= nil
  end, M.words)
  if word and not vim.list_contains(M.words, word) then
    error({ message = ('%q is none of %s.'):format(word, table.concat(M.words, ', ')) }, 0)
  elseif #missing == 0 or (word and not vim.list_contains(missing, word)) then
    error({ message = 'That is measured: K on an operation shows it.' }, 0)
  elseif info.evidence ~= 'measured' then
    error({ message = costs[word or missing[1]] }, 0)
  end
  if not word then
    word = task.select(missing, 'Measure:', function(known)
      return ('%s: %s'):format(M.in_words(known), costs[known])
    end)
    if not word then
      return task.cancel()
    end
  end
  local measure = vim.list_extend(M.measured(info), { word })
  require('tvls.open').show(outline:client(), outline.wanted, { measure = measure })
  task.notify(('Measured: %s. K on an operation shows it.'):format(M.in_words(tostring(word))))
end

return M
