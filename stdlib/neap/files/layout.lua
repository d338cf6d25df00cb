--- layout.lua: places for the nodes of a directed graph, in layers from top to bottom (K. Sugiyama, S. Tagawa, M. Toda,
-- Methods for visual understanding of hierarchical system structures, 1981):
--
--     ranks      a node stands below all of its sources; a node without sources just above its first reader
--     dummies    an edge over several layers gets a dummy in each layer between, so that all edges join neighbours
--     order      sweeps down and up put each item at the mean place of its neighbours; the order with the fewest
--                intersections is kept
--     places     sweeps move each item towards the mean of its neighbours, as near as the order and the gaps allow
--                (isotonic regression by pooling neighbours)
--
-- The same graph gets the same places.
local layout = {}

local SWEEPS, GAP, LAYER_GAP, DUMMY = 12, 18, 30, 8
local STRAIGHT = 4 -- the weight of a dummy: long edges are to be straight
local SHIFT = 1e-5 -- of a place in the order for each pixel that an edge's end is off the middle of its node

-- ---- Ranks ----------------------------------------------------------------------------------------------------------

--- Edges out of and into each node, without those that would close a cycle.
local function adjacent(nodes, edges)
    local out, into, degree, ready = {}, {}, {}, {}
    for _, node in ipairs(nodes) do out[node], into[node], degree[node] = {}, {}, 0 end
    for _, edge in ipairs(edges) do degree[edge.to] = degree[edge.to] + 1 end
    for _, edge in ipairs(edges) do table.insert(out[edge.from], edge) end
    for _, node in ipairs(nodes) do
        if degree[node] == 0 then ready[#ready + 1] = node end
    end
    local order, at = {}, 1
    while #order < #nodes do
        local node = ready[at]
        if not node then -- a cycle: it is opened at its first node
            for _, other in ipairs(nodes) do
                if not order[other] then
                    node = other
                    break
                end
            end
        else
            at = at + 1
        end
        if not order[node] then
            order[#order + 1] = node
            order[node] = #order
            for _, edge in ipairs(out[node]) do
                degree[edge.to] = degree[edge.to] - 1
                if degree[edge.to] == 0 then ready[#ready + 1] = edge.to end
            end
        end
    end
    local kept = {}
    for _, node in ipairs(nodes) do out[node] = {} end
    for _, edge in ipairs(edges) do
        if order[edge.from] < order[edge.to] then
            kept[#kept + 1] = edge
            table.insert(out[edge.from], edge)
            table.insert(into[edge.to], edge)
        end
    end
    return order, out, into, kept
end

--- Gives each node a rank, from 0. node.first: at the top, alone with others of that kind; node.last: at the bottom.
local function rank(order, out, into)
    local has_first, most = false, 0
    for _, node in ipairs(order) do has_first = has_first or node.first end
    for _, node in ipairs(order) do
        node.rank = has_first and not node.first and 1 or 0
        for _, edge in ipairs(into[node]) do node.rank = math.max(node.rank, edge.from.rank + 1) end
    end
    for k = #order, 1, -1 do
        local node, least = order[k], math.huge
        for _, edge in ipairs(out[node]) do least = math.min(least, edge.to.rank) end
        if #into[node] == 0 and least < math.huge and not node.first then node.rank = least - 1 end
        if not node.last then most = math.max(most, node.rank) end
    end
    for _, node in ipairs(order) do
        if node.last then node.rank = most + 1 end
    end
end

-- ---- Layers ---------------------------------------------------------------------------------------------------------

--- An item of a layer: a node, or a dummy; up and down: its neighbours, { item, own offset, its offset }.
local function item_of(node)
    return { node = node, w = node and node.w or DUMMY, weight = node and 1 or STRAIGHT, up = {}, down = {} }
end

local function join(upper, lower, upper_offset, lower_offset)
    table.insert(upper.down, { lower, upper_offset, lower_offset })
    table.insert(lower.up, { upper, lower_offset, upper_offset })
end

--- Lists of items by rank, from 0. Each edge gets its items.
local function layers_of(order, edges)
    local layers, items, most = {}, {}, 0
    for _, node in ipairs(order) do most = math.max(most, node.rank) end
    for r = 0, most do layers[r] = {} end
    for _, node in ipairs(order) do
        items[node] = item_of(node)
        table.insert(layers[node.rank], items[node])
    end
    for _, edge in ipairs(edges) do
        local before, offset = items[edge.from], edge.from_dx or 0
        edge.items = { before }
        for r = edge.from.rank + 1, edge.to.rank - 1 do
            local dummy = item_of(nil)
            table.insert(layers[r], dummy)
            join(before, dummy, offset, 0)
            before, offset = dummy, 0
            table.insert(edge.items, dummy)
        end
        join(before, items[edge.to], offset, edge.to_dx or 0)
        table.insert(edge.items, items[edge.to])
    end
    return layers, most
end

-- ---- Order ----------------------------------------------------------------------------------------------------------

local function number(layer)
    for k, item in ipairs(layer) do item.at = k end
end

--- Intersections between a layer and the one below.
local function intersections(layer)
    local ends, count = {}, 0
    for _, item in ipairs(layer) do
        for _, link in ipairs(item.down) do
            local upper, lower = item.at + link[2] * SHIFT, link[1].at + link[3] * SHIFT
            for _, other in ipairs(ends) do
                if (other[1] - upper) * (other[2] - lower) < 0 then count = count + 1 end
            end
            ends[#ends + 1] = { upper, lower }
        end
    end
    return count
end

local function all_intersections(layers, most)
    local count = 0
    for r = 0, most - 1 do count = count + intersections(layers[r]) end
    return count
end

--- Sorts a layer by the mean places of the neighbours on a side; an item without neighbours stays. node.slot gives a
-- node's place.
local function sort_by(layer, side)
    for k, item in ipairs(layer) do
        local sum = 0
        for _, link in ipairs(item[side]) do sum = sum + link[1].at + link[3] * SHIFT end
        item.key, item.at = #item[side] > 0 and sum / #item[side] or k, k
        if item.node and item.node.slot then item.key = item.node.slot end
    end
    table.sort(layer, function(a, b)
        if a.key ~= b.key then return a.key < b.key end
        return a.at < b.at
    end)
    number(layer)
end

local function order_layers(layers, most)
    for r = 0, most do
        number(layers[r])
        if layers[r][1].node and layers[r][1].node.slot then sort_by(layers[r], "up") end
    end
    local best, least = nil, math.huge
    for sweep = 0, SWEEPS do
        if sweep % 2 == 1 then
            for r = 1, most do sort_by(layers[r], "up") end
        elseif sweep > 0 then
            for r = most - 1, 0, -1 do sort_by(layers[r], "down") end
        end
        local count = all_intersections(layers, most)
        if count < least then
            least, best = count, {}
            for r = 0, most do
                best[r] = {}
                for k, item in ipairs(layers[r]) do best[r][k] = item end
            end
        end
    end
    for r = 0, most do
        layers[r] = best[r]
        number(layers[r])
    end
end

-- ---- Places ---------------------------------------------------------------------------------------------------------

--- Moves the items of a layer as near to item.wish as their order and gaps allow: least squares, by pooling.
local function settle(layer)
    local blocks, offset = {}, 0
    for k, item in ipairs(layer) do
        if k > 1 then offset = offset + (layer[k - 1].w + item.w) / 2 + GAP end
        item.offset = offset
        local block = { sum = item.weight * (item.wish - offset), weight = item.weight, from = k, to = k }
        while #blocks > 0 and blocks[#blocks].sum / blocks[#blocks].weight > block.sum / block.weight do
            local last = table.remove(blocks)
            block = { sum = last.sum + block.sum, weight = last.weight + block.weight, from = last.from, to = k }
        end
        blocks[#blocks + 1] = block
    end
    for _, block in ipairs(blocks) do
        for k = block.from, block.to do layer[k].x = block.sum / block.weight + layer[k].offset end
    end
end

local function wish(layer, sides)
    for _, item in ipairs(layer) do
        local sum, weight = 0, 0
        for _, side in ipairs(sides) do
            for _, link in ipairs(item[side]) do
                local other = link[1]
                local heavy = not item.node and not other.node and STRAIGHT or 1
                sum, weight = sum + heavy * (other.x + link[3] - link[2]), weight + heavy
            end
        end
        item.wish = weight > 0 and sum / weight or item.x
    end
    settle(layer)
end

local BOTH, UP, DOWN = { "up", "down" }, { "up" }, { "down" }

--- Sets item.x of all, and item.y, which is one for a layer. Returns width and height.
local function place(layers, most)
    for r = 0, most do
        local x = 0
        for _, item in ipairs(layers[r]) do
            item.x = x + item.w / 2
            x = x + item.w + GAP
        end
    end
    for sweep = 1, SWEEPS do
        local sides = sweep > SWEEPS - 2 and BOTH or nil
        for r = 1, most do wish(layers[r], sides or UP) end
        for r = most - 1, 0, -1 do wish(layers[r], sides or DOWN) end
    end
    local left, right, y = math.huge, -math.huge, 0
    for r = 0, most do
        local height = 0
        for _, item in ipairs(layers[r]) do
            height = math.max(height, item.node and item.node.h or 0)
            left, right = math.min(left, item.x - item.w / 2), math.max(right, item.x + item.w / 2)
        end
        for _, item in ipairs(layers[r]) do item.y, item.height = y + height / 2, height end
        y = y + height + LAYER_GAP
    end
    for r = 0, most do
        for _, item in ipairs(layers[r]) do item.x = item.x - left end
    end
    return right - left, y - LAYER_GAP
end

--- The points of an edge, from the lower side of a node to the upper side of another.
local function points_of(edge)
    local items, points = edge.items, {}
    local first, last = items[1], items[#items]
    points[1] = { first.x + (edge.from_dx or 0), first.y + first.node.h / 2 }
    for k = 2, #items - 1 do
        points[#points + 1] = { items[k].x, items[k].y - items[k].height / 2 }
        if items[k].height > 0 then points[#points + 1] = { items[k].x, items[k].y + items[k].height / 2 } end
    end
    points[#points + 1] = { last.x + (edge.to_dx or 0), last.y - last.node.h / 2 }
    return points
end

--- Places nodes { w, h, first, last, slot } and edges { from, to = nodes, from_dx, to_dx = offsets of the ends }: sets
-- x and y, of the centre, and edge.points. Returns width and height. An edge that closes a cycle gets no points.
function layout.layered(nodes, edges)
    if #nodes == 0 then return 0, 0 end
    local order, out, into, kept = adjacent(nodes, edges)
    rank(order, out, into)
    local layers, most = layers_of(order, kept)
    order_layers(layers, most)
    local width, height = place(layers, most)
    for r = 0, most do
        for _, item in ipairs(layers[r]) do
            if item.node then item.node.x, item.node.y = item.x, item.y end
        end
    end
    for _, edge in ipairs(kept) do
        edge.points = points_of(edge)
        edge.items = nil
    end
    return width, height
end

return layout
