--- graph.lua: reads graphs in as much of the language of Graphviz's dot as the core writes (lazy/explain/dot.c,
-- lazy/program/print.c): one statement a line, attributes in brackets, clusters of nodes.
--
--     { nodes = { { id, label, shape, … , cluster = a cluster or nil }, … },
--       edges = { { from = a node, to = a node, label, style, … }, … },
--       clusters = { { id, label, tooltip }, … } }
local graph = {}

local ESCAPES = { n = "\n", l = "\n", r = "\n" }

--- A quoted text's content, without escapes.
local function plain(text)
    return (text:gsub("\\(.)", function(letter) return ESCAPES[letter] or letter end):gsub("\n$", ""))
end

--- Attributes: name="text", name=word, … .
local function attributes_of(text)
    local list, at = {}, 1
    while true do
        local name, behind = text:match("^[%s,;]*([%w_]+)=()", at)
        if not name then return list end
        local word, next_at = text:match("^([^\"%s,;%]]+)()", behind)
        if not word then
            local last = behind + 1
            while text:sub(last, last) ~= '"' and last <= #text do
                last = last + (text:sub(last, last) == "\\" and 2 or 1)
            end
            word, next_at = plain(text:sub(behind + 1, last - 1)), last + 1
        end
        list[name], at = word, next_at
    end
end

local DEFAULTS = { graph = true, node = true, edge = true }

--- Reads a graph.
function graph.read(text)
    local read, by_id, cluster = { nodes = {}, edges = {}, clusters = {} }, {}, nil
    local function node_of(id)
        if not by_id[id] then
            by_id[id] = { id = id, label = id }
            read.nodes[#read.nodes + 1] = by_id[id]
        end
        return by_id[id]
    end
    for line in text:gmatch "[^\n]+" do
        local from, to, more = line:match "^%s*([%w_]+) %-> ([%w_]+)(.*)$"
        local id, inside = line:match "^%s*([%w_]+) (%b[]);$"
        local set = line:match "^%s+[%w_]+=.*$"
        if from then
            local edge = attributes_of(more:match "%[(.*)%]" or "")
            edge.from, edge.to = node_of(from), node_of(to)
            read.edges[#read.edges + 1] = edge
        elseif line:find "^%s*subgraph " then
            cluster = { id = line:match "subgraph ([%w_]+)", label = "" }
            read.clusters[#read.clusters + 1] = cluster
        elseif line:find "^%s*}" then
            cluster = nil
        elseif set and cluster then
            for name, value in pairs(attributes_of(set)) do cluster[name] = value end
        elseif not id then
            id, inside = line:match "^%s*([%w_]+) (%[.*%]);$" -- brackets in a text need not be pairs
        end
        if id and not DEFAULTS[id] then
            local node = node_of(id)
            for name, value in pairs(attributes_of(inside:sub(2, -2))) do node[name] = value end
            node.cluster = cluster
        end
    end
    return read
end

return graph
