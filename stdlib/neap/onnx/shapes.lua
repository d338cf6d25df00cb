--- shapes.lua: operators that make arrays, and that move elements.
local core = require "neap.core"
local hosts = require "neap.onnx.hosts"

local np = core.np
local ops = {}

-- ---- Shapes as values -----------------------------------------------------------------------------------------------

local function shape_of(x)
    return hosts.is(x) and x.shape or x.shape
end

ops.Shape = {
    attrs = "start end", any = true,
    run = function(n, x)
        local dims, list = shape_of(x), {}
        local count = #dims
        local from, to = n.attr.start or 0, n.attr["end"] or count
        if from < 0 then from = from + count end
        if to < 0 then to = to + count end
        for k = math.max(from, 0) + 1, math.min(to, count) do list[#list + 1] = dims[k] end
        return hosts.integers(list)
    end,
}
ops.Size = { any = true, run = function(_, x) return hosts.new("i64", {}, { hosts.volume(shape_of(x)) }) end }

ops.Constant = {
    attrs = "value value_float value_floats value_int value_ints", least = 0,
    run = function(n)
        local a = n.attr
        if a.value ~= nil then return a.value end
        if a.value_int then return hosts.new("i64", {}, { a.value_int }) end
        if a.value_ints then return hosts.integers(a.value_ints) end
        if a.value_float then return hosts.new("f32", {}, { a.value_float }) end
        if a.value_floats then return hosts.new("f32", { #a.value_floats }, core.copy_list(a.value_floats)) end
        n:fail("it has no value")
    end,
}

ops.ConstantOfShape = {
    attrs = "value", host = { 1 },
    run = function(n, shape)
        local value = n.attr.value and n:host(n.attr.value) or hosts.new("f32", { 1 }, { 0 })
        local dims = n:integers("shape", shape)
        return np.broadcast_to(np.reshape(hosts.array(value), {}), dims)
    end,
}

ops.EyeLike = {
    attrs = "dtype k",
    run = function(n, x)
        local dims = x.shape
        if #dims ~= 2 then n:fail("a matrix is needed, not shape %s", core.shape_text(x)) end
        return np.eye(dims[1], dims[2], n.attr.k or 0, { dtype = n:dtype_attribute("dtype", x.dtype) })
    end,
}

ops.Range = {
    least = 3, host = { 1, 2, 3 },
    run = function(_, start, limit, delta)
        return np.arange(start[1], limit[1], delta[1], { dtype = start.dtype })
    end,
}

-- ---- Shapes ---------------------------------------------------------------------------------------------------------

ops.Reshape = {
    attrs = "shape allowzero", host = { 2 },
    run = function(n, x, shape) return np.reshape(x, n:reshaped(x.shape, n:integers("shape", shape))) end,
}

ops.Flatten = {
    attrs = "axis",
    run = function(n, x)
        local dims, rows, columns = x.shape, 1, 1
        local axis = n:axis(n.attr.axis or 1, #dims, true)
        for k = 1, #dims do
            if k <= axis then rows = rows * dims[k] else columns = columns * dims[k] end
        end
        return np.reshape(x, { rows, columns })
    end,
}

ops.Squeeze = {
    attrs = "axes", host = { 2 },
    run = function(n, x, axes) return np.reshape(x, n:squeezed(x.shape, n:integers("axes", axes))) end,
}
ops.Unsqueeze = {
    attrs = "axes", host = { 2 },
    run = function(n, x, axes) return np.reshape(x, n:unsqueezed(x.shape, n:integers("axes", axes))) end,
}

ops.Transpose = {
    attrs = "perm",
    run = function(n, x)
        if n.attr.perm then return np.transpose(x, n.attr.perm) end
        return np.transpose(x)
    end,
}

ops.Expand = {
    least = 2, host = { 2 },
    run = function(n, x, shape)
        local dims = hosts.broadcast(x.shape, n:integers("shape", shape))
        if not dims then n:fail("shape %s does not broadcast to what is asked for", core.shape_text(x)) end
        return np.broadcast_to(x, dims)
    end,
}

ops.Tile = {
    least = 2, host = { 2 },
    run = function(n, x, repeats) return np.tile(x, n:integers("repeats", repeats)) end,
}

ops.Concat = {
    attrs = "axis", images = math.huge,
    run = function(n, ...) return np.concatenate({ ... }, { axis = n.attr.axis or 1 }) end,
    last = function(n, ...)
        local rank = core.ndim((...))
        local axis = n:axis(n.attr.axis or 1, rank)
        return np.concatenate({ ... }, { axis = axis == 1 and rank - 1 or math.max(axis - 1, 0) })
    end,
}

--- x from place `from` on along an axis, `count` places.
local function cut(x, axis, from, count)
    return np.take(x, np.arange(from, from + count, { dtype = "i32" }), { axis = axis })
end

ops.Split = {
    attrs = "axis split num_outputs", host = { 2 },
    run = function(n, x, split)
        local axis = n:axis(n.attr.axis or 0, core.ndim(x))
        local parts, at = {}, 0
        for k, size in ipairs(n:parts(x.shape[axis + 1], split)) do
            local index = {}
            for j = 1, axis do index[j] = {} end
            index[axis + 1] = { at, at + size }
            parts[k], at = x[index], at + size
        end
        return unpack(parts)
    end,
}

ops.Slice = {
    attrs = "starts ends axes", host = { 2, 3, 4, 5 },
    run = function(n, x, starts, ends, axes, steps)
        local a = n.attr
        starts, ends, axes = starts or a.starts, ends or a.ends, axes or a.axes
        if not starts or not ends then n:fail("it needs starts and ends") end
        local from, shape, step = n:sliced(x.shape, starts, ends, axes, steps)
        for k = 1, #shape do
            if step[k] < 0 then
                x = np.take(x, from[k] + np.arange(shape[k], { dtype = "i32" }) * step[k], { axis = k - 1 })
                from[k], step[k] = 0, 1
            end
        end
        local index = {}
        for k = 1, #shape do
            local to = from[k] + shape[k] * step[k]
            index[k] = step[k] == 1 and { from[k], to } or { from[k], math.min(to, x.shape[k]), step[k] }
        end
        if #index == 0 then return x end
        return x[index]
    end,
}

-- ---- Padding --------------------------------------------------------------------------------------------------------

--- x cut at the axes whose padding `low` before or `high` behind is negative.
local function cropped(x, low, high)
    for k = 1, #low do
        local before, behind = math.max(-low[k], 0), math.max(-high[k], 0)
        if before > 0 or behind > 0 then
            x = cut(x, k - 1, before, math.max(x.shape[k] - before - behind, 0))
        end
    end
    return x
end

ops.Pad = {
    attrs = "mode pads paddings value", host = { 2, 4 },
    run = function(n, x, pads, value, axes)
        local list, rank = n:integers("pads", pads) or n.attr.paddings, core.ndim(x)
        if not list then n:fail("it needs pads") end
        local over = axes and n:axes(axes, rank)
        local count = over and #over or rank
        if #list ~= 2 * count then n:fail("%d pads for %d axes", #list, count) end
        local low, high, width = {}, {}, {}
        for k = 1, rank do low[k], high[k] = 0, 0 end
        for k = 1, count do
            local axis = over and over[k] + 1 or k
            low[axis], high[axis] = list[k], list[k + count]
        end
        x = cropped(x, low, high)
        for k = 1, rank do width[k] = { math.max(low[k], 0), math.max(high[k], 0) } end
        local mode = n.attr.mode or "constant"
        if mode == "constant" then
            local filling = value and np.reshape(value, {}) or n.attr.value or 0
            return np.pad(x, width, { mode = "constant", value = filling })
        end
        if mode ~= "edge" and mode ~= "reflect" and mode ~= "wrap" then n:fail("the mode '%s'", mode) end
        return np.pad(x, width, { mode = mode })
    end,
}

ops.CenterCropPad = {
    attrs = "axes", host = { 2 }, least = 2,
    run = function(n, x, shape)
        local rank = core.ndim(x)
        local axes = n.attr.axes and n:axes(n.attr.axes, rank)
        local width = {}
        for k = 1, rank do width[k] = { 0, 0 } end
        for k = 1, #shape do
            local axis = (axes and axes[k] or k - 1)
            local extent, wanted = x.shape[axis + 1], shape[k]
            if wanted < extent then
                x = cut(x, axis, math.floor((extent - wanted) / 2), wanted)
            else
                local before = math.floor((wanted - extent) / 2)
                width[axis + 1] = { before, wanted - extent - before }
            end
        end
        return np.pad(x, width)
    end,
}

-- ---- Depth and space ------------------------------------------------------------------------------------------------

ops.DepthToSpace = {
    attrs = "blocksize mode",
    run = function(n, x)
        local b, dims = n.attr.blocksize, x.shape
        local size = dims[2] / (b * b)
        if n.attr.mode == "CRD" then
            x = np.transpose(np.reshape(x, { dims[1], size, b, b, dims[3], dims[4] }), { 0, 1, 4, 2, 5, 3 })
        else
            x = np.transpose(np.reshape(x, { dims[1], b, b, size, dims[3], dims[4] }), { 0, 3, 4, 1, 5, 2 })
        end
        return np.reshape(x, { dims[1], size, dims[3] * b, dims[4] * b })
    end,
}

ops.SpaceToDepth = {
    attrs = "blocksize mode",
    run = function(n, x)
        local b, dims = n.attr.blocksize, x.shape
        local high, wide = dims[3] / b, dims[4] / b
        local order = n.attr.mode == "CRD" and { 0, 1, 3, 5, 2, 4 } or { 0, 3, 5, 1, 2, 4 }
        x = np.transpose(np.reshape(x, { dims[1], dims[2], high, b, wide, b }), order)
        return np.reshape(x, { dims[1], dims[2] * b * b, high, wide })
    end,
}

ops.Trilu = {
    attrs = "upper", host = { 2 },
    run = function(n, x, k)
        return (n.attr.upper == 0 and np.tril or np.triu)(x, k and k[1] or 0)
    end,
}

return ops
