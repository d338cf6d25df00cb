--- host_shapes.lua: adds to hosts.ops the ops that move elements of host tensors, or make new tensors. An op with
-- nothing to say (too many elements, counts that depend on declared sizes) returns nil: np computes the op then.
local core = require "neap.core"
local hosts = require "neap.onnx.hosts"

local ops, new, volume, pick, strides_of = hosts.ops, hosts.new, hosts.volume, hosts.pick, hosts.strides_of

--- A table that is a list with the same elements.
local function elements(h)
    local list = {}
    for k = 1, #h do list[k] = h[k] end
    return list
end

local function axis_of(axis, n)
    if axis < 0 then axis = axis + n end
    if axis < 0 or axis >= n then return nil end
    return axis + 1
end

function ops.Identity(_, a) return a end

function ops.Cast(n, a)
    local to = n:dtype_attribute "to"
    local list, whole = {}, to:find "^[iu]" ~= nil
    if to ~= "f32" and to ~= "f64" and to ~= "i64" and to ~= "i32" and to ~= "bool" then return nil end
    for k = 1, #a do
        local value = a[k]
        if core.is_size(value) and to == "bool" then return nil end
        if to == "bool" then
            value = value ~= 0 and 1 or 0
        elseif whole and not core.is_size(value) then
            if value ~= value or math.abs(value) >= (to == "i32" and 2 ^ 31 or 2 ^ 63) then return nil end
            value = value >= 0 and math.floor(value) or math.ceil(value)
        elseif whole then
            value = math.floor(value)
        end
        list[k] = value
    end
    if to == "f32" then
        for k = 1, #list do
            if not core.is_size(list[k]) and math.abs(list[k]) > 2 ^ 24 and a.dtype ~= "f32" then return nil end
        end
        if a.dtype == "f64" then return nil end
    end
    return new(to, a.shape, list)
end

function ops.Reshape(n, a, shape)
    local dims = n:reshaped(a.shape, shape)
    if hosts.has_sizes(dims) or volume(dims) ~= #a then return nil end
    return new(a.dtype, dims, elements(a))
end

function ops.Unsqueeze(n, a, axes)
    return new(a.dtype, n:unsqueezed(a.shape, n:integers("axes", axes)), elements(a))
end

function ops.Squeeze(n, a, axes)
    return new(a.dtype, n:squeezed(a.shape, n:integers("axes", axes)), elements(a))
end

function ops.Concat(n, ...)
    local parts, first = { ... }, (...)
    local axis = axis_of(n.attr.axis, #first.shape)
    if not axis then return nil end
    local shape, list, outer = core.copy_list(first.shape), {}, 1
    shape[axis] = 0
    for k = 1, axis - 1 do outer = outer * shape[k] end
    for _, part in ipairs(parts) do
        if #part.shape ~= #shape then return nil end
        shape[axis] = shape[axis] + part.shape[axis]
    end
    for row = 0, volume(shape) > 0 and outer - 1 or -1 do
        for _, part in ipairs(parts) do
            local width = #part / outer
            for k = row * width + 1, (row + 1) * width do list[#list + 1] = part[k] end
        end
    end
    if #list ~= volume(shape) or #list > hosts.MOST then return nil end
    return new(first.dtype, shape, list)
end

function ops.Gather(n, a, indices)
    local axis = axis_of(n.attr.axis or 0, #a.shape)
    if not axis then return nil end
    local extent, inner, outer, shape, list = a.shape[axis], 1, 1, {}, {}
    for k = 1, #a.shape do
        if k < axis then outer = outer * a.shape[k] end
        if k > axis then inner = inner * a.shape[k] end
        if k ~= axis then shape[#shape + 1] = a.shape[k] end
    end
    for k = #indices.shape, 1, -1 do table.insert(shape, axis, indices.shape[k]) end
    if volume(shape) > hosts.MOST then return nil end
    for row = 0, volume(shape) > 0 and outer - 1 or -1 do
        for _, index in ipairs(elements(indices)) do
            if core.is_size(index) then return nil end
            if index < 0 then index = index + extent end
            if index < 0 or index >= extent then n:fail("index %d of an axis of %d", index, extent) end
            for k = 1, inner do list[#list + 1] = a[(row * extent + index) * inner + k] end
        end
    end
    return new(a.dtype, shape, list)
end

function ops.Slice(n, a, starts, ends, axes, steps)
    local from, shape, step = n:sliced(a.shape, starts, ends, axes, steps)
    if hosts.has_sizes(from) or hosts.has_sizes(shape) then return nil end
    local strides, start = strides_of(a.shape), 1
    for k = 1, #shape do
        start = start + from[k] * strides[k]
        strides[k] = strides[k] * step[k]
    end
    return new(a.dtype, shape, pick(a, shape, strides, start))
end

function ops.Transpose(n, a)
    local own, shape, strides, perm = strides_of(a.shape), {}, {}, n.attr.perm
    for k = 1, #a.shape do
        local from = perm and (perm[k] or -1) + 1 or #a.shape + 1 - k
        shape[k], strides[k] = a.shape[from], own[from]
        if not shape[k] then return nil end
    end
    return new(a.dtype, shape, pick(a, shape, strides))
end

function ops.Expand(_, a, shape)
    if hosts.has_sizes(shape) then return nil end
    local dims = hosts.broadcast(a.shape, elements(shape))
    local list = dims and hosts.expand(a, dims)
    return list and new(a.dtype, dims, list)
end

function ops.Where(_, condition, a, b)
    local shape = hosts.broadcast(condition.shape, a.shape)
    shape = shape and hosts.broadcast(shape, b.shape)
    local c, x, y = shape and hosts.expand(condition, shape), shape and hosts.expand(a, shape),
                    shape and hosts.expand(b, shape)
    if not (c and x and y) then return nil end
    for k = 1, #c do c[k] = c[k] ~= 0 and x[k] or y[k] end
    return new(a.dtype, shape, c)
end

function ops.Range(_, start, limit, delta)
    local from, to, by = start[1], limit[1], delta[1]
    if core.is_size(from) or core.is_size(to) or core.is_size(by) or by == 0 or not start.dtype:find "^i" then
        return nil
    end
    local count = math.max(math.ceil((to - from) / by), 0)
    if count ~= count or count > hosts.MOST then return nil end
    local list = {}
    for k = 1, count do list[k] = from + (k - 1) * by end
    return new(start.dtype, { count }, list)
end

function ops.ConstantOfShape(n, shape)
    local dims = elements(shape)
    if hosts.has_sizes(dims) or volume(dims) > hosts.MOST then return nil end
    for k = 1, #dims do
        if dims[k] < 0 then return nil end
    end
    local value, list = n.attr.value, {}
    value = value and n:host(value) or new("f32", { 1 }, { 0 })
    for k = 1, volume(dims) do list[k] = value[1] end
    return new(value.dtype, dims, list)
end

--- A reduction over all elements: of a tensor of one axis, or of none.
local function reduction(first, f)
    return function(n, a, axes)
        local over = n:integers("axes", axes)
        if #a.shape > 1 or over and #over ~= 1 or first == nil and #a == 0 then return nil end
        local value = first or a[1]
        for k = first == nil and 2 or 1, #a do value = f(value, a[k]) end
        if not a.dtype:find "^[iu]" then return nil end
        return new(a.dtype, (n.attr.keepdims or 1) ~= 0 and #a.shape == 1 and { 1 } or {}, { value })
    end
end

ops.ReduceProd = reduction(1, function(x, y) return x * y end)
ops.ReduceSum = reduction(0, function(x, y) return x + y end)
ops.ReduceMax = reduction(nil, function(x, y) return math.max(x, y) end)
ops.ReduceMin = reduction(nil, function(x, y) return math.min(x, y) end)

function ops.NonZero(_, a)
    if #a.shape ~= 1 or hosts.has_sizes(a) then return nil end
    local list = {}
    for k = 1, #a do
        if a[k] ~= 0 then list[#list + 1] = k - 1 end
    end
    return new("i64", { 1, #list }, list)
end

function ops.Split(n, a, split)
    local axis = axis_of(n.attr.axis or 0, #a.shape)
    if axis ~= 1 or #a.shape ~= 1 then return nil end
    local results, at = {}, 0
    for k, size in ipairs(n:parts(#a, split)) do
        local list = {}
        for j = 1, size do list[j] = a[at + j] end
        results[k], at = new(a.dtype, { size }, list), at + size
    end
    return unpack(results)
end

function ops.Tile(_, a, repeats)
    if #a.shape ~= 1 or #a == 0 or core.is_size(repeats[1]) or #a * repeats[1] > hosts.MOST then return nil end
    local list = {}
    for _ = 1, repeats[1] do
        for k = 1, #a do list[#list + 1] = a[k] end
    end
    return new(a.dtype, { #list }, list)
end

return ops
