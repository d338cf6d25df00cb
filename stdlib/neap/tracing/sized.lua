--- sized.lua: recording a function with declared sizes (declared.lua), for np.trace and np.jit.
local core = require "neap.core"
local declared = require "neap.tracing.declared"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local is_array, array_info = core.is_array, core.info
local type = type

local sized = {}

local DEFAULTS = { 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47 } -- of sizes that no array has yet

--- The extents of a leaf, of which a Spec may have texts; nil: it is a number, or no leaf.
local function shape_of_leaf(value)
    if is_array(value) then return array_info(value).weak == 0 and core.shape_of(value) or nil end
    return getmetatable(value) == staging.Spec and value.shape or nil
end

--- Packed arguments with f(leaf, number) in place of each leaf: arrays, Specs and numbers, in order. Those that are
-- static stay as they are.
local function replace_leaves(name, given, is_static, f)
    local n, copy = 0, { n = given.n }
    for k = 1, given.n do
        copy[k] = is_static[k] and given[k] or trees.rebuild(name, given[k], function(leaf)
            if not staging.is_input(leaf) then return leaf end
            n = n + 1
            return f(leaf, n)
        end)
    end
    return copy
end

--- The shapes of the leaves, by number; false: it has none, or one with texts.
local function shapes_of(name, given, is_static)
    local shapes = {}
    replace_leaves(name, given, is_static, function(leaf, k)
        local shape = shape_of_leaf(leaf)
        for axis = 1, shape and #shape or 0 do
            if type(shape[axis]) == "string" then
                shape = nil
                break
            end
        end
        shapes[k] = shape or false
        return leaf
    end)
    return shapes
end

--- What is declared of packed arguments: a list of extents, names, and the sizes of now by name. No names: nothing is.
local function declared_sizes(name, given, wanted, is_static, defaults)
    local list, names = declared.collect(name, given, wanted, shape_of_leaf, is_static)
    if #names == 0 then return list, names, {} end
    return list, names, declared.solve(name, list, names, shapes_of(name, given, is_static), defaults)
end

--- Raises where packed arguments do not fit what is declared; their extents may be size values of an open recording.
function sized.check(name, given, wanted, is_static)
    declared_sizes(name, given, wanted, is_static)
end

--- Records trace(arguments), packed arguments in which declared extents are size values. Returns what it returns, and
-- what was declared: { transcript, names, list, known = the sizes of now by name }; nil: nothing was.
function sized.trace(name, given, wanted, trace, is_static)
    is_static = is_static or {}
    local list, names, known = declared_sizes(name, given, wanted, is_static, core.copy_list(DEFAULTS))
    if #names == 0 then return trace(given) end
    local transcript, entry = declared.record(name, names, known, function(values)
        return trace(replace_leaves(name, given, is_static, function(leaf, k)
            return list[k] and staging.sized_spec(leaf, declared.extents(list[k], values)) or leaf
        end))
    end)
    return entry, { transcript = transcript, names = names, list = list, known = known }
end

--- The program of what was declared for leaves of these shapes, as an entry like the one that was recorded.
function sized.play(name, of, shapes, entry)
    local known = declared.solve(name, of.list, of.names, shapes)
    return { program = declared.play(name, of.transcript, of.names, known), template = entry.template, n = entry.n,
             outputs = entry.outputs, captures = entry.captures, lifted = {} }, known
end

for _, f in ipairs { replace_leaves, shapes_of, declared_sizes, sized.trace, sized.play } do jit.off(f) end

sized.shapes_of = shapes_of

return sized
