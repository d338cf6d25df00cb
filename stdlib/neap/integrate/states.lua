--- states.lua: what a differential equation is about, as one 1-d array: local states = require
-- "neap.integrate.states".
--
-- The state of an equation is a tree of arrays; a method steps a flat array of one dtype of floats. A *problem* has
-- both: the field of flat arrays calls the user's function with trees.
local core = require "neap.core"
local trees = require "neap.core.trees"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, shape_of, is_array, type = core.raise, core.shape_of, core.is_array, type

local states = {}

--- Whether a value is nested lists of numbers alone, which stand for an array.
local function is_numbers(value)
    if not trees.is_node(value) or value[1] == nil then return false end
    local numbers = true
    for key, item in pairs(value) do
        numbers = numbers and type(key) == "number" and (type(item) == "number" or is_numbers(item))
    end
    return numbers
end

--- The leaves of a state as arrays and numbers, in order.
local function leaves_of(name, state)
    local list = {}
    if is_numbers(state) then return { state } end
    trees.walk(name, state, function(leaf, path)
        if not is_array(leaf) and not core.is_number(leaf) then
            raise(name, "the state%s must be an array, a number or a tree of them, got %s",
                  path == "" and "" or " at " .. path, core.describe(leaf))
        end
        list[#list + 1] = leaf
    end, "")
    if #list == 0 then raise(name, "the state has no arrays") end
    return list
end

--- Arrays in a list as one 1-d array.
local function flat(list, dtype)
    for k = 1, #list do list[k] = shape.reshape(np.astype(list[k], dtype), { core.size_of(list[k]) }) end
    return #list == 1 and list[1] or shape.join(list, 0)
end

--- The dtype in which a state and times are counted, and the half, if the result has one.
local function counted(name, list)
    local dtype = core.dtypes[core.dtype_codes[np.result_type(unpack(list))]]
    if dtype.kind == "c" then
        raise(name, "is of real states, got dtype %s: np.real and np.imag are two", dtype.name)
    end
    if dtype.half then return "f32", dtype.name end
    return dtype.inexact and dtype.name or dtype.real, nil
end

--- The text of a shape.
local function text_of(dims)
    local parts = {}
    for k, n in ipairs(dims) do parts[k] = tostring(n) end
    return "(" .. table.concat(parts, ",") .. (#dims == 1 and ",)" or ")")
end

--- The derivatives that a function gives as a flat array: a tree of the state's form; of one 1-d array a list of its
-- elements, too.
local function slopes_of(name, problem, value)
    local single = #problem.dims == 1 and not problem.is_tree
    if single and trees.is_node(value) then
        local elements = {}
        for k = 1, #value do
            elements[k] = is_array(value[k]) and value[k] or np.array(value[k], { dtype = problem.dtype })
        end
        if #value == 0 then
            raise(name, "%s must return %s of the state, got an empty table", problem.who, problem.what)
        end
        value = np.stack(elements)
    end
    local list = {}
    trees.walk(name, value, function(leaf)
        if core.is_number(leaf) then leaf = np.full({}, leaf, { dtype = problem.dtype }) end
        if not is_array(leaf) then
            raise(name, "%s must return %s of the state, got %s", problem.who, problem.what, core.describe(leaf))
        end
        list[#list + 1] = leaf
    end)
    if #list ~= #problem.dims then
        raise(name, "%s returns %d arrays for a state of %d", problem.who, #list, #problem.dims)
    end
    for k, dims in ipairs(problem.dims) do
        if not shape.same(shape_of(list[k]), dims) then
            raise(name, "%s returns %s of shape %s for a state of shape %s", problem.who, problem.what,
                  core.shape_text(list[k]), text_of(dims))
        end
        local given = core.dtype_of(list[k])
        if np.result_type(list[k], np.zeros({}, { dtype = problem.dtype })) ~= problem.dtype then
            raise(name, "%s returns dtype %s for a state of %s: cast the state, as in y0:astype(\"f64\")",
                  problem.who, given.name, problem.dtype)
        end
    end
    return flat(list, problem.dtype)
end

--- A problem: y0, an array, a number or a tree of them; call(t, y, values): the user's function; times: arrays, numbers
-- or lists that the dtype depends on, as it does on the floats among values; who, what: what messages call the function
-- and what it returns ("the function", "derivatives"). Has
--
--     y, times       the flat state, and the times as arrays of its dtype
--     dtype, half    what is counted in, and the half of results
--     field(t, y, values)  the flat derivatives
--     tree(y)        the tree of a flat state, or of rows of them, whose first axis stays
function states.problem(name, y0, times, values, call, who, what)
    local list = leaves_of(name, y0)
    local n = #list
    for k = 1, #times do list[n + k] = times[k] end
    for k = 1, #values do list[n + #times + k] = values[k] end
    list = core.copy_list(operands.meet_list(name, #list, list))
    local problem = { dims = {}, is_tree = trees.is_node(y0) and not is_numbers(y0), times = {},
                      who = who or "the function", what = what or "derivatives" }
    problem.dtype, problem.half = counted(name, list)
    local own = {}
    for k = 1, n do problem.dims[k], own[k] = shape_of(list[k]), list[k] end
    problem.y = flat(own, problem.dtype)
    for k = 1, #times do problem.times[k] = np.astype(list[n + k], problem.dtype) end
    function problem.tree(y)
        local front, at, places = core.ndim(y) - 1, 0, {}
        for k, dims in ipairs(problem.dims) do
            local whole = { unpack(shape_of(y), 1, front) }
            local size = shape.product(dims)
            for axis = 1, #dims do whole[front + axis] = dims[axis] end
            places[k] = shape.reshape(shape.cut(y, front, at, at + size), whole)
            at = at + size
        end
        if not problem.is_tree then return places[1] end
        local used = 0
        return trees.rebuild(name, y0, function()
            used = used + 1
            return places[used]
        end)
    end
    function problem.field(t, y, given)
        return slopes_of(name, problem, call(t, problem.tree(y), given))
    end
    for _, f in ipairs { problem.tree, problem.field } do jit.off(f) end
    return problem
end

--- The arguments that stand in {args}: the arrays of floats among them in a list, which are differentiated, and
-- with(list): all of them, with others in their places.
function states.arguments(name, args)
    if args == nil then return {}, function() return {} end end
    if not trees.is_node(args) then core.bad_argument(name, nil, "args", "a table of arguments", args) end
    core.list(name, "option 'args'", args)
    local arrays = {}
    local function is_float(leaf) return is_array(leaf) and core.dtype_of(leaf).kind == "f" end
    trees.walk(name, args, function(leaf) if is_float(leaf) then arrays[#arrays + 1] = leaf end end)
    return arrays, function(list)
        local used = 0
        return trees.rebuild(name, args, function(leaf)
            if not is_float(leaf) then return leaf end
            used = used + 1
            return list[used]
        end)
    end
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { slopes_of, states.problem, states.arguments } do jit.off(f) end

return states
