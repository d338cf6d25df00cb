--- staged.lua: np.staged: a block that runs at once as one program.
--
-- A block is a closure, made anew each time that control comes by, so what was recorded is kept by its prototype, the
-- code that all such closures share. The variables around it are its arguments:
--
--      for … do
--          w, loss = np.staged(function() return step(w, x), cost(w) end)   recorded once, if shapes stay the same
--      end
--
-- A *cell* is an upvalue of the block, or of a function of the user that the block reaches through its cells: which
-- of these share a cell, and their prototypes, are part of the key too. Values in cells are seen in three ways: arrays,
-- and tables of arrays (a tree that holds at least one array, and nothing but arrays, numbers, strings and booleans),
-- are inputs; numbers, strings and booleans count by value; all else by identity, tables also by the fields that the
-- block names (guards.lua). While the block is recorded its cells hold stand-ins. What it reaches in other ways is as
-- in np.jit.
local axes = require "neap.tracing.axes"
local core = require "neap.core"
local jits = require "neap.programs.jit"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"
local util = require "jit.util"

local np = core.np
local is_array, raise = core.is_array, core.raise
local getupvalue, setupvalue, upvalueid = debug.getupvalue, debug.setupvalue, debug.upvalueid
local type, pairs, unpack = type, pairs, unpack

local MOST_PROTOTYPES = 256 -- more than that start afresh
local MOST_DEPTH, MOST_LEAVES = 50, 10000

-- By the mesh at hand (axes.key), then by prototype; there are not more of these than of places in the source.
local states, count = {}, 0

-- ---- Cells ----------------------------------------------------------------------------------------------------------

--- Whether a value is a tree of arrays and constants with an array in it.
local function is_tree(value)
    local leaves, arrays = 0, 0
    local function visit(item, depth)
        leaves = leaves + 1
        if is_array(item) then
            arrays = arrays + 1
            return true
        end
        local kind = type(item)
        if kind == "number" or kind == "string" or kind == "boolean" then return true end
        if not trees.is_node(item) or depth > MOST_DEPTH or leaves > MOST_LEAVES then return false end
        local list = #item
        for key, inner in pairs(item) do
            local sound = type(key) == "string" or type(key) == "number" and key >= 1 and key <= list and key % 1 == 0
            if not sound or not visit(inner, depth + 1) then return false end
        end
        return true
    end
    return trees.is_node(value) and visit(value, 0) and arrays > 0
end

--- Appends the cells that a function reaches to `cells`, and what tells it from other functions to `parts`.
local function find_cells(f, cells, parts, seen)
    if seen[f] then
        parts[#parts + 1] = seen[f]
        return
    end
    seen.n = seen.n + 1
    seen[f] = seen.n
    parts[#parts + 1] = util.funcinfo(f).proto
    for index = 1, 60 do
        local name, value = getupvalue(f, index)
        if not name then break end
        local id = upvalueid(f, index)
        if cells.of[id] then
            parts[#parts + 1] = cells.of[id]
        elseif type(value) == "function" and debug.getinfo(value, "S").what ~= "C" and not core.is_library(value) then
            cells.of[id] = 0
            find_cells(value, cells, parts, seen)
        else
            cells[#cells + 1] = { f = f, index = index, name = name, value = value }
            cells.of[id] = #cells
            parts[#parts + 1] = #cells
        end
    end
end

--- Puts values into the cells that are inputs.
local function put_values(cells, values)
    for k, cell in ipairs(cells) do
        if cell.is_input then setupvalue(cell.f, cell.index, values[k]) end
    end
end

--- Whether a tree holds just what another one does.
local function same_tree(a, b)
    if not trees.is_node(a) or not trees.is_node(b) then return rawequal(a, b) end
    for key, item in pairs(a) do
        if not same_tree(item, b[key]) then return false end
    end
    for key in pairs(b) do
        if a[key] == nil then return false end
    end
    return true
end

--- Arrays must not be assigned to variables outside, nor be put into tables that stand in for those of arrays.
local function check_cells(cells, given)
    for k, cell in ipairs(cells) do
        local _, now = getupvalue(cell.f, cell.index)
        local changed = not rawequal(now, given[k])
        if changed and is_array(now) then setupvalue(cell.f, cell.index, cell.value) end
        if changed and (is_array(now) or cell.is_input) or cell.is_input and not same_tree(now, cell.copy) then
            raise("staged", "the block assigned to '%s', which is outside of it: return the array instead", cell.name)
        end
    end
end

--- Runs the block with stand-ins in its cells. A callback that runs meanwhile sees them as they were.
local function run_block(block, cells, ...)
    local given, values = { ... }, {}
    for k, cell in ipairs(cells) do
        values[k] = cell.value
        if cell.is_input then cell.copy = trees.rebuild("staged", given[k], function(leaf) return leaf end) end
    end
    local swaps = core.frame().swaps
    swaps[#swaps + 1] = { suspend = function() put_values(cells, values) end,
                          resume = function() put_values(cells, given) end }
    put_values(cells, given)
    local results = staging.pack(pcall(block))
    local ok, problem = pcall(check_cells, cells, given)
    put_values(cells, values)
    swaps[#swaps] = nil
    if not results[1] then error(results[2], 0) end
    if not ok then error(problem, 0) end
    return unpack(results, 2, results.n)
end

-- ---- Calls ----------------------------------------------------------------------------------------------------------

--- What is kept for a block's prototype.
local function state_of(block)
    local proto, key = util.funcinfo(block).proto, axes.key() or ""
    local state = states[key] and states[key][proto]
    if not state then
        if count >= MOST_PROTOTYPES then states, count = {}, 0 end
        states[key] = states[key] or {}
        state = jits.new("staged", nil, { is_static = {}, static_names = {}, is_donated = {}, is_kept = {} })
        state.fixes_numbers, state.key = true, key
        states[key][proto], count = state, count + 1
    end
    return state
end

local FIELDS = { "user_function", "is_static", "labels", "owns", "cells", "body" }

--- Calls with these fields of the state, which then are again what they were: it must keep no block alive.
local function call_with_fields(state, fields, ...)
    local held = {}
    for _, name in ipairs(FIELDS) do held[name], state[name] = state[name], fields[name] end
    local results = staging.pack(pcall(state.slow, ...))
    for _, name in ipairs(FIELDS) do state[name] = held[name] end
    if not results[1] then error(results[2], 0) end
    return unpack(results, 2, results.n)
end

--- np.staged(block) -> results: runs a function without arguments at once, as one program, and returns its results.
-- What was recorded is used again when control comes by with arrays of the same shapes in the variables around the
-- block; its body runs only when something has changed: np.explain tells why, for np.jit(block). Numbers around the
-- block are part of what is recorded; one that changes is better a 0-d array. The block may print; it may not assign
-- to variables outside, nor look at values. Gradients go through it.
--- > x = np.arange(3)
--- > np.staged(function() return x * 2 + 1 end)
-- [1 3 5]
function np.staged(block)
    if type(block) ~= "function" or debug.getinfo(block, "S").what == "C" or core.is_library(block) then
        core.bad_argument("staged", 1, "block", "a function written in Lua", block)
    end
    if core.sized() then return block() end -- a program of its own would be for the sizes of now
    local cells, parts = { of = {} }, {}
    find_cells(block, cells, parts, { n = 0 })
    local state = state_of(block)
    local values, is_static, labels, by_identity, n = {}, {}, {}, {}, #cells
    for k, cell in ipairs(cells) do
        values[k], labels[k] = cell.value, ("the variable '%s'"):format(cell.name)
        cell.is_input = is_array(cell.value) or is_tree(cell.value)
        is_static[k] = not cell.is_input
        by_identity[k] = is_static[k] and type(cell.value) == "table" and cell.value or nil
    end
    for k = 1, #parts do -- how functions share cells, and their code, are static arguments behind the cells
        values[n + k], is_static[n + k], labels[n + k] = parts[k], true, "a function around the block"
    end
    return call_with_fields(state, {
        user_function = block, is_static = is_static, labels = labels,
        owns = function(place) return place.index and cells.of[upvalueid(place.f, place.index)] end,
        cells = by_identity,
        body = function(...) return run_block(block, cells, ...) end,
    }, unpack(values, 1, n + #parts))
end

for _, f in ipairs { np.staged, call_with_fields, run_block, check_cells, find_cells, is_tree } do jit.off(f) end
