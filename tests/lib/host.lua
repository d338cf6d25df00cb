--- host.lua: the view language interpreted on the host, element by element: the reference for what neap makes of it.
--
-- An expression is a list of steps, the first a constructor, the others rearrangements of what the steps before give:
--
--     { { "iota", 12 }, { "reshape", { 3, 4 } }, { "transpose", { 1, 0 } } }
--
-- There are two interpreters with the same functions: `host.steps`, over plain tables { dims, at }, where at(index) is
-- the element at a list of indices from 0; and `host.neap`, over arrays. Nothing here knows of strides or of offsets:
-- an index is led back through the steps one by one. Elements are integers.
local np = require "neap"

local host = { steps = {}, neap = {} }
local steps, arrays = host.steps, host.neap

local function size_of(dims)
    local size = 1
    for k = 1, #dims do size = size * dims[k] end
    return size
end
host.size_of = size_of

-- ---- Constructors ---------------------------------------------------------------------------------------------------

function steps.data(list)
    return { dims = { #list }, at = function(index) return list[index[1] + 1] end }
end
function arrays.data(list) return np.array(list, { dtype = "i32" }) end

function steps.iota(n)
    return { dims = { n }, at = function(index) return index[1] end }
end
function arrays.iota(n) return np.arange(n) end

function steps.full(dims, value)
    return { dims = dims, at = function() return value end }
end
function arrays.full(dims, value) return np.full(dims, value, { dtype = "i32" }) end

function steps.eye(n, m, k)
    return { dims = { n, m }, at = function(index) return index[2] - index[1] == k and 1 or 0 end }
end
function arrays.eye(n, m, k) return np.eye(n, m, k, { dtype = "i32" }) end

function steps.tri(n, m, k)
    return { dims = { n, m }, at = function(index) return index[2] - index[1] <= k and 1 or 0 end }
end
function arrays.tri(n, m, k) return np.tri(n, m, k, { dtype = "i32" }) end

function steps.delta(dims, axes)
    return { dims = dims, at = function(index)
        for k = 2, #axes do
            if index[axes[k] + 1] ~= index[axes[1] + 1] then return 0 end
        end
        return 1
    end }
end
function arrays.delta(dims, axes) return np.delta(dims, { axes = axes, dtype = "i32" }) end

-- ---- Rearrangements -------------------------------------------------------------------------------------------------

--- The same element, by its row-major number.
function steps.reshape(x, dims)
    return { dims = dims, at = function(index)
        local number, inner = 0, {}
        for k = 1, #dims do number = number * dims[k] + index[k] end
        for k = #x.dims, 1, -1 do
            inner[k] = number % x.dims[k]
            number = (number - inner[k]) / x.dims[k]
        end
        return x.at(inner)
    end }
end
function arrays.reshape(x, dims) return x:reshape(dims) end

--- Axis k of the result is axis axes[k] of x.
function steps.transpose(x, axes)
    local dims = {}
    for k = 1, #axes do dims[k] = x.dims[axes[k] + 1] end
    return { dims = dims, at = function(index)
        local inner = {}
        for k = 1, #axes do inner[axes[k] + 1] = index[k] end
        return x.at(inner)
    end }
end
function arrays.transpose(x, axes) return np.permute_dims(x, axes) end

--- Counted from the last axis, an axis of 1 or a missing one is repeated.
function steps.broadcast(x, dims)
    local lead = #dims - #x.dims
    return { dims = dims, at = function(index)
        local inner = {}
        for k = 1, #x.dims do inner[k] = x.dims[k] == 1 and 0 or index[lead + k] end
        return x.at(inner)
    end }
end
function arrays.broadcast(x, dims) return np.broadcast_to(x, dims) end

--- Every step-th element of an axis, `count` of them, from `first` on.
function steps.slice(x, axis, first, step, count)
    local dims = { unpack(x.dims) }
    dims[axis + 1] = count
    return { dims = dims, at = function(index)
        local inner = { unpack(index, 1, #dims) }
        inner[axis + 1] = first + index[axis + 1] * step
        return x.at(inner)
    end }
end
function arrays.slice(x, axis, first, step, count)
    local items, stop = {}, first + count * step
    for k = 1, axis do items[k] = {} end
    items[axis + 1] = { first, stop >= 0 and stop or false, step }
    return x[items]
end

function steps.flip(x, axis)
    return steps.slice(x, axis, x.dims[axis + 1] - 1, -1, x.dims[axis + 1])
end
function arrays.flip(x, axis) return np.flip(x, { axis = axis }) end

--- A new axis of extent 1.
function steps.expand(x, axis)
    local dims = { unpack(x.dims) }
    table.insert(dims, axis + 1, 1)
    return { dims = dims, at = function(index)
        local inner = { unpack(index, 1, #dims) }
        table.remove(inner, axis + 1)
        return x.at(inner)
    end }
end
function arrays.expand(x, axis) return np.expand_dims(x, axis) end

--- Index `at` of an axis, which goes away.
function steps.pick(x, axis, at)
    local dims = { unpack(x.dims) }
    table.remove(dims, axis + 1)
    return { dims = dims, at = function(index)
        local inner = { unpack(index, 1, #dims) }
        table.insert(inner, axis + 1, at)
        return x.at(inner)
    end }
end
function arrays.pick(x, axis, at)
    local items = {}
    for k = 1, axis do items[k] = {} end
    items[axis + 1] = at
    return x[items]
end

-- ---- Interpreting ---------------------------------------------------------------------------------------------------

--- What an expression is to an interpreter. `base`, if given, takes the place of the first step.
function host.run(expression, interpreter, base)
    local first = expression[1]
    local x = base or interpreter[first[1]](unpack(first, 2))
    for k = 2, #expression do
        local step = expression[k]
        x = interpreter[step[1]](x, unpack(step, 2))
    end
    return x
end

--- All elements of a host array, row-major.
function host.elements(x)
    local list, index, size = {}, {}, size_of(x.dims)
    for k = 1, #x.dims do index[k] = 0 end
    for number = 1, size do
        list[number] = x.at(index)
        for k = #x.dims, 1, -1 do
            index[k] = (index[k] + 1) % x.dims[k]
            if index[k] ~= 0 then break end
        end
    end
    return list
end

-- ---- Random expressions ---------------------------------------------------------------------------------------------

local MOST = 120 -- elements

--- A random expression; random(n) gives an integer from 1 to n. Extents may be 0 after a slice.
function host.draw(random)
    local n, m, k = random(6), random(6), random(5) - 3
    local list = {}
    for i = 1, n * m do list[i] = random(1000) end
    local cube = { random(3), random(3), random(3) }
    local constructors = {
        { "data", list }, { "data", list }, { "iota", n * m }, { "full", { n, m }, k }, { "eye", n, m, k },
        { "tri", n, m, k }, { "delta", cube, ({ { 0, 1 }, { 1, 2 }, { 0, 2 }, { 2, 0, 1 } })[random(4)] },
    }
    local expression = { constructors[random(#constructors)] }
    local function dims_now() return host.run(expression, steps).dims end
    local draws = {
        function(dims)
            local size = size_of(dims)
            local divisor = random(6)
            if size == 0 then return { "reshape", { 0, 3 } } end
            return { "reshape", size % divisor == 0 and { divisor, size / divisor } or { size } }
        end,
        function(dims)
            local order = {}
            for axis = 1, #dims do table.insert(order, random(axis), axis - 1) end
            return { "transpose", order }
        end,
        function(dims)
            local wide = { unpack(dims) }
            for axis = 1, #dims do wide[axis] = dims[axis] == 1 and random(3) or dims[axis] end
            if #dims < 4 then table.insert(wide, 1, random(3)) end
            return size_of(wide) <= MOST and { "broadcast", wide } or nil
        end,
        function(dims)
            local axis = random(#dims) - 1
            local extent, step = dims[axis + 1], random(3)
            if extent == 0 then return nil end
            local first = random(extent) - 1
            if random(2) == 1 then return { "slice", axis, first, -step, math.floor(first / step) + 1 } end
            local count = math.floor((extent - 1 - first) / step) + 1
            return { "slice", axis, first, step, random(8) == 1 and 0 or count }
        end,
        function(dims) return { "flip", random(#dims) - 1 } end,
        function(dims) return #dims < 4 and { "expand", random(#dims + 1) - 1 } or nil end,
        function(dims)
            local axis = random(#dims) - 1
            return dims[axis + 1] > 0 and { "pick", axis, random(dims[axis + 1]) - 1 } or nil
        end,
    }
    for _ = 1, 1 + random(6) do
        local dims = dims_now()
        local step = #dims > 0 and draws[random(#draws)](dims) or { "expand", 0 }
        if step then expression[#expression + 1] = step end
    end
    return expression
end

return host
