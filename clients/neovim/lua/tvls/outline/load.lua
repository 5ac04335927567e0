---From views of the server to rows: what is expanded is loaded, everything else is one row that can be.
local task = require('tvls.task')

local M = {}

local PAGE = 2000
---Rows that are loaded without being asked for.
local BUDGET = 3000

---One line of an outline below its header.
---@class tvls.Row
---@field key string the same for the same node after a new trace
---@field depth integer
---@field node? tvls.Node
---@field body? string the body that the node is in, or that the row stands for
---@field heading? tvls.BodyInfo set where the row stands for a body
---@field loaded boolean its inside are the rows below it
---@field operations? integer inside

---@param body? string
---@param id string
---@return string
function M.key(body, id)
  return body and body .. '\0' .. id or id
end

---@async
---@param outline tvls.Outline
---@param body? string
---@param expanded string[]
---@return tvls.Node[] nodes
---@return tvls.Edge[] edges
local function view(outline, body, expanded)
  local nodes, edges = {}, {} ---@type tvls.Node[], tvls.Edge[]
  local cursor ---@type string?
  repeat
    local page = task.request(outline:client(), 'tvls/graph/view', {
      captureId = outline.capture.captureId,
      body = body,
      expanded = #expanded > 0 and expanded or nil,
      instances = next(outline.instances) and outline.instances or nil,
      fold = true,
      limit = PAGE,
      cursor = cursor,
    }) ---@type tvls.GraphViewResult
    vim.list_extend(nodes, page.nodes)
    vim.list_extend(edges, page.edges)
    cursor = page.nextCursor
  until not cursor
  return nodes, edges
end

---Nodes of the program or of a body, with all the scopes expanded that are wanted.
---A scope is seen closed before it is opened: only then does its node say what comes out of it.
---@async
---@param outline tvls.Outline
---@param body? string
---@return tvls.Node[] nodes
---@return tvls.Edge[] edges
local function settle(outline, body)
  local expanded = {} ---@type string[]
  local closed = {} ---@type table<string, tvls.Node>
  local asked = {} ---@type table<string, true> what stays closed all the same is not asked for again
  while true do
    local nodes, edges = view(outline, body, expanded)
    local more = {} ---@type string[]
    for _, node in ipairs(nodes) do
      if node.kind == 'scope' then
        if not node.expanded then
          closed[node.id] = node
          local key = M.key(body, node.id)
          local wanted = outline.expanded[key]
          if wanted == nil and outline.room >= (node.operations or 0) then
            wanted = true
            outline.room = outline.room - (node.operations or 0)
          end
          outline.expanded[key] = wanted or false
          if wanted and not asked[node.id] then
            asked[node.id] = true
            more[#more + 1] = node.id
          end
        elseif closed[node.id] then
          node.outputs = closed[node.id].outputs
          node.state = closed[node.id].state
        end
      end
    end
    if #more == 0 then
      return nodes, edges
    end
    vim.list_extend(expanded, more)
  end
end

---@async
---@param outline tvls.Outline
---@param rows tvls.Row[]
---@param edges table<string, tvls.Edge[]> by key of body
---@param body? string
---@param base integer
local function add(outline, rows, edges, body, base)
  local nodes ---@type tvls.Node[]
  nodes, edges[body or ''] = settle(outline, body)
  local depths = {} ---@type table<string, integer>
  for _, node in ipairs(nodes) do
    local around = node.parent and depths[node.parent]
    local depth = around and around + 1 or base
    depths[node.id] = depth
    rows[#rows + 1] = {
      key = M.key(body, node.id),
      depth = depth,
      node = node,
      body = body,
      loaded = node.expanded == true,
      operations = node.operations,
    }
    for _, heading in ipairs(node.bodies or {}) do
      local key = M.key(heading.id, '')
      if outline.expanded[key] == nil then
        outline.expanded[key] = outline.room >= heading.operations
        if outline.expanded[key] then
          outline.room = outline.room - heading.operations
        end
      end
      rows[#rows + 1] = {
        key = key,
        depth = depth + 1,
        body = heading.id,
        heading = heading,
        loaded = outline.expanded[key],
        operations = heading.operations,
      }
      if outline.expanded[key] then
        add(outline, rows, edges, heading.id, depth + 2)
      end
    end
  end
end

---Loads all rows. `outline.expanded` says what is wanted; what it does not name is loaded while it is not too much.
---@async
---@param outline tvls.Outline
function M.load(outline)
  local rows, edges = {}, {} ---@type tvls.Row[], table<string, tvls.Edge[]>
  outline.room = BUDGET
  add(outline, rows, edges, nil, 0)
  outline.rows, outline.edges = rows, edges
  outline.by_key = {}
  for at, row in ipairs(rows) do
    outline.by_key[row.key] = at
  end
end

---Marks what has to be expanded to see a hit.
---@param outline tvls.Outline
---@param hit tvls.NodeHit|tvls.NodeChange
---@return boolean changed something has to be loaded
function M.want(outline, hit)
  local changed = false
  ---@param key string
  local function want(key)
    if not outline.expanded[key] then
      outline.expanded[key] = true
      changed = true
    end
  end
  for _, scope in ipairs(hit.scopes or {}) do
    want(M.key(hit.body, scope))
  end
  if hit.body then
    want(M.key(hit.body, ''))
  end
  for node, instance in pairs(hit.instances or {}) do
    if (outline.instances[node] or 0) ~= instance then
      outline.instances[node] = instance
      changed = true
    end
  end
  return changed
end

return M
