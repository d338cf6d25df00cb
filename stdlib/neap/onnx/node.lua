--- node.lua: the nodes of a graph, as the functions of operators get them: `n.attr.axis`, `n:axis(x, …)`, `n:fail(…)`.
--
--     n.op, n.name, n.opset   the operator, the node's name, the version of the operators of its domain
--     n.attr                  attributes by name: numbers, strings, lists of them; graphs; tensors as arrays
--     n.inputs, n.outputs     names; "" is none
--     n.inner                 true of a node of a loop or a branch
--
-- Shapes may hold size values, so shapes are computed by the arithmetic of size values here.
local core = require "neap.core"
local hosts = require "neap.onnx.hosts"
local tensor = require "neap.onnx.tensor"

local np = core.np
local node = {}
local methods = {}
node.meta = { __index = methods }

--- A node's name for messages.
function methods:title()
    local named = self.name ~= "" and ("node '%s'"):format(self.name) or ("the node of '%s'"):format(self.outputs[1])
    local domain = self.domain ~= "" and self.domain .. " " or ""
    return ("%s (%s, %sopset %d)"):format(named, self.op, domain, self.opset)
end

--- Raises an error of a node, while the graph is read or run.
function methods:fail(format, ...)
    error({ problem = ("%s: %s"):format(self:title(), format:format(...)) }, 0)
end

--- The number of outputs that somebody may read.
function methods:wants(k)
    return self.outputs[k] ~= nil and self.outputs[k] ~= ""
end

--- A value as a host tensor: waits for an array; raises where an array has no value yet.
function methods:host(value, what)
    if value == nil or hosts.is(value) then return value end
    if core.info(value).traced ~= 0 then
        self:fail("%s decides about shapes, and is not known while the graph is recorded", what or "an input")
    end
    return hosts.read(value)
end

--- A list of integers, or nil: an attribute, or, in later opsets, an input.
function methods:integers(name, input)
    if input ~= nil then
        local list = {}
        for k = 1, #input do list[k] = input[k] end
        return list
    end
    local value = self.attr[name]
    if type(value) == "number" then return { value } end
    return value
end

--- A number: an attribute, or an input.
function methods:number(name, input, default)
    if input ~= nil then
        if #input < 1 then self:fail("its input for '%s' has no element", name) end
        return input[1]
    end
    local value = self.attr[name]
    if value == nil then return default end
    return value
end

--- An axis of n, from 0 up; n itself only where `ends` says so.
function methods:axis(axis, n, ends)
    if type(axis) ~= "number" then self:fail("it needs an axis") end
    local from = axis < 0 and axis + n or axis
    if from < 0 or from >= n + (ends and 1 or 0) then self:fail("axis %d of %d axes", axis, n) end
    return from
end

--- A list of axes of x, from 0 up.
function methods:axes(list, n)
    local axes = {}
    for k = 1, #list do axes[k] = self:axis(list[k], n) end
    return axes
end

--- The dtype that an attribute names; the default without such an attribute.
function methods:dtype_attribute(name, default)
    local number = self.attr[name]
    if number == nil and default then return default end
    local dtype, absent = tensor.dtype(number)
    if not dtype then self:fail("the dtype %s, which np does not have", absent) end
    return dtype
end

-- ---- Shapes ---------------------------------------------------------------------------------------------------------

--- The shape for Reshape: 0 stands for the extent of before, -1 for all that is left.
function methods:reshaped(dims, wanted)
    local shape, unknown, rest = {}, nil, 1
    for k = 1, #dims do rest = rest * dims[k] end
    local product = 1
    for k = 1, #wanted do
        local n = wanted[k]
        local is_size = core.is_size(n)
        if not is_size and n == 0 and self.attr.allowzero ~= 1 then
            n = dims[k]
            if n == nil then self:fail("0 for axis %d, which its input does not have", k - 1) end
        end
        if not is_size and n == -1 then
            if unknown then self:fail("-1 for two axes") end
            unknown = k
        elseif not is_size and not core.is_size(n) and n < 0 then
            self:fail("the extent %d", n)
        else
            product = product * n
        end
        shape[k] = n
    end
    if unknown then
        if not core.is_size(product) and product == 0 then self:fail("-1 beside an axis of no elements") end
        shape[unknown] = rest / product
        if not core.is_size(shape[unknown]) and shape[unknown] % 1 ~= 0 then
            self:fail("no whole number of elements for -1")
        end
    end
    return shape
end

function methods:unsqueezed(dims, axes)
    if not axes then self:fail("it needs axes") end
    local n, is_new, shape = #dims + #axes, {}, {}
    for _, axis in ipairs(axes) do
        axis = self:axis(axis, n)
        if is_new[axis] then self:fail("axis %d twice", axis) end
        is_new[axis] = true
    end
    local at = 0
    for k = 0, n - 1 do
        if not is_new[k] then at = at + 1 end
        shape[k + 1] = is_new[k] and 1 or dims[at]
    end
    return shape
end

function methods:squeezed(dims, axes)
    local gone, shape = {}, {}
    for _, axis in ipairs(axes or {}) do
        axis = self:axis(axis, #dims)
        if dims[axis + 1] ~= 1 then self:fail("axis %d has %s elements, not 1", axis, tostring(dims[axis + 1])) end
        gone[axis + 1] = true
    end
    for k = 1, #dims do
        if not axes then gone[k] = not core.is_size(dims[k]) and dims[k] == 1 end
        if not gone[k] then shape[#shape + 1] = dims[k] end
    end
    return shape
end

--- A bound of a slice in 0 … n.
local function bound(at, n, least, most)
    if not core.is_size(at) and at < 0 then at = math.max(at, -2 ^ 53) + n end
    if not core.is_size(at) and at >= 2 ^ 53 then return most end
    return math.max(math.min(at, most), least)
end

--- Of a slice, for each axis: the first place, the number of places, and the step.
function methods:sliced(dims, starts, ends, axes, steps)
    local from, shape, step = {}, {}, {}
    for k = 1, #dims do from[k], shape[k], step[k] = 0, dims[k], 1 end
    if #starts ~= #ends or axes and #axes ~= #starts or steps and #steps ~= #starts then
        self:fail("%d starts, %d ends, and other numbers of axes or steps", #starts, #ends)
    end
    for k = 1, #starts do
        local axis = self:axis(axes and axes[k] or k - 1, #dims) + 1
        local n, by = dims[axis], steps and steps[k] or 1
        if core.is_size(by) or by == 0 then self:fail("a step of %s", tostring(by)) end
        if by > 0 then
            from[axis] = bound(starts[k], n, 0, n)
            shape[axis] = math.max(math.ceil((bound(ends[k], n, 0, n) - from[axis]) / by), 0)
        else
            from[axis] = bound(starts[k], n, 0, n - 1)
            shape[axis] = math.max(math.ceil((from[axis] - bound(ends[k], n, -1, n - 1)) / -by), 0)
        end
        if core.is_same(n, 0) then from[axis], shape[axis], by = 0, 0, 1 end
        step[axis] = by
    end
    return from, shape, step
end

--- The extents of the parts of n elements.
function methods:parts(n, split)
    local sizes = self:integers("split", split)
    if not sizes then
        local count = #self.outputs
        if (self.attr.num_outputs or count) ~= count then self:fail("%d outputs", count) end
        local each = math.ceil(n / count)
        sizes = {}
        for k = 1, count do sizes[k] = math.max(math.min(each, n - (k - 1) * each), 0) end
    end
    local sum = 0
    for _, size in ipairs(sizes) do sum = sum + size end
    if sum ~= n or #sizes < #self.outputs then self:fail("parts of %s elements of %s", tostring(sum), tostring(n)) end
    return sizes
end

-- ---- Arrays ---------------------------------------------------------------------------------------------------------

--- A number as a 0-d array of x's dtype.
function node.like(x, number)
    return core.number(number, core.dtype_of(x).code)
end

--- An array with a dtype.
function node.cast(x, dtype)
    if x.dtype == dtype then return x end
    return np.astype(x, dtype)
end

return node
