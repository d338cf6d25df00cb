--- indexing.lua: operators that read and write elements by index.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np = core.np
local cast = node.cast
local ops = {}

--- Indices of which negative ones count from the end.
local function counted(indices, extent)
    return np.where(np.less(indices, 0), indices + extent, indices)
end

ops.Gather = {
    attrs = "axis", least = 2,
    run = function(n, x, indices)
        local axis = n:axis(n.attr.axis or 0, core.ndim(x))
        return np.take(x, indices, { axis = axis })
    end,
}

ops.GatherElements = {
    attrs = "axis", least = 2,
    run = function(n, x, indices)
        local axis = n:axis(n.attr.axis or 0, core.ndim(x))
        for k, extent in ipairs(indices.shape) do
            local own = x.shape[k]
            if k ~= axis + 1 and extent ~= own then -- fewer places are asked for than there are
                x = np.take(x, np.arange(extent, { dtype = "i32" }), { axis = k - 1 })
            end
        end
        return np.take_along_axis(x, indices, { axis = axis })
    end,
}

--- The columns of indices (their last axis) as a list of arrays.
local function columns(indices)
    local list, last = {}, core.ndim(indices) - 1
    for k = 0, indices.shape[last + 1] - 1 do
        list[k + 1] = np.squeeze(np.take(indices, np.array({ k }, { dtype = "i32" }), { axis = last }), last)
    end
    return list
end

ops.GatherND = {
    attrs = "batch_dims", least = 2,
    run = function(n, x, indices)
        local batch = n.attr.batch_dims or 0
        local function one(values, index) return values[columns(index)] end
        for _ = 1, batch do one = np.vmap(one) end
        return one(x, indices)
    end,
}

local REDUCE = { none = "set", add = "add", mul = "mul", min = "min", max = "max" }

local function reduction_of(n)
    return REDUCE[n.attr.reduction or "none"] or n:fail("the reduction '%s'", n.attr.reduction)
end

local function scatter_elements(n, x, indices, updates)
    local axis, how = n:axis(n.attr.axis or 0, core.ndim(x)), reduction_of(n)
    local places = {}
    for k, extent in ipairs(indices.shape) do
        local shape = {}
        for j = 1, #indices.shape do shape[j] = j == k and extent or 1 end
        places[k] = np.reshape(np.arange(extent, { dtype = "i32" }), shape)
    end
    places[axis + 1] = counted(indices, x.shape[axis + 1])
    local place = x:at(places)
    return place[how](place, updates)
end

ops.ScatterElements = { attrs = "axis reduction", least = 3, run = scatter_elements }
ops.Scatter = { attrs = "axis", least = 3, run = scatter_elements }

ops.ScatterND = {
    attrs = "reduction", least = 3,
    run = function(n, x, indices, updates)
        local place = x:at(columns(indices))
        return place[reduction_of(n)](place, updates)
    end,
}

ops.OneHot = {
    attrs = "axis", least = 3, host = { 2 },
    run = function(n, indices, depth, values)
        local rank = core.ndim(indices)
        local axis, count = n:axis(n.attr.axis or -1, rank + 1), depth[1]
        indices = cast(indices, "i64")
        local shape = {}
        for k = 1, rank + 1 do shape[k] = k == axis + 1 and count or 1 end
        local places = np.reshape(np.arange(count, { dtype = "i64" }), shape)
        local hit = np.equal(np.expand_dims(counted(indices, count), axis), places)
        return np.where(hit, np.take(values, 1, { axis = 0 }), np.take(values, 0, { axis = 0 }))
    end,
}

ops.Compress = {
    attrs = "axis", least = 2, reads = true,
    run = function(n, x, condition)
        if n.attr.axis == nil then return np.compress(condition, np.ravel(x)) end
        return np.compress(condition, x, { axis = n.attr.axis })
    end,
}

ops.NonZero = {
    reads = true,
    run = function(_, x)
        local parts = { np.nonzero(x) }
        for k = 1, #parts do parts[k] = cast(parts[k], "i64") end
        return np.stack(parts)
    end,
}

ops.TopK = {
    attrs = "k axis largest sorted", host = { 2 },
    run = function(n, x, k)
        local count = n:number("k", k)
        if not count then n:fail("it needs k") end
        local values, places = np.top_k(x, count, { axis = n.attr.axis or -1, largest = n.attr.largest ~= 0 })
        return values, cast(places, "i64")
    end,
}

ops.ReverseSequence = {
    attrs = "batch_axis time_axis", least = 2,
    run = function(n, x, lengths)
        local batch, time = n.attr.batch_axis or 1, n.attr.time_axis or 0
        local y = np.moveaxis(x, { batch, time }, { 0, 1 })
        local count = y.shape[2]
        local at = np.reshape(np.arange(count, { dtype = "i64" }), { 1, count })
        lengths = np.reshape(cast(lengths, "i64"), { -1, 1 })
        local from = np.where(np.less(at, lengths), lengths - 1 - at, at)
        for _ = 3, core.ndim(y) do from = np.expand_dims(from, -1) end
        return np.moveaxis(np.take_along_axis(y, from, { axis = 1 }), { 0, 1 }, { batch, time })
    end,
}

ops.Unique = {
    attrs = "axis sorted", reads = true,
    run = function(n, x)
        local axis = n.attr.axis
        local values, first, inverse, counts = np.unique(x, { axis = axis, return_index = true, return_inverse = true,
                                                              return_counts = true })
        inverse = np.ravel(inverse)
        if n.attr.sorted == 0 then
            local order = np.argsort(first)
            values = np.take(values, order, { axis = axis or 0 })
            first, counts = np.take(first, order), np.take(counts, order)
            inverse = np.take(np.argsort(order), inverse)
        end
        return values, cast(first, "i64"), cast(inverse, "i64"), cast(counts, "i64")
    end,
}

return ops
