--- hosts.lua: small tensors that are known while a graph is traced: shapes, and results of arithmetic on shapes.
--
-- A graph reshapes to Concat(Gather(Shape(x), 0), …): a trace has to know these numbers. Such tensors are Lua tables,
--
--     { host = true, dtype = "i64", shape = {2}, 3, -1 }       elements row-major
--
-- whose elements are numbers, or size values where sizes are declared; so a program for every size can be recorded.
-- Ops of host tensors compute as np would: integers divide towards zero, f32 rounds after each op, bools are 0 and 1.
local ffi = require "ffi"
local core = require "neap.core"

local np, dtypes, codes = core.np, core.dtypes, core.dtype_codes
local hosts = {}

hosts.MOST = 4096 -- elements; larger tensors are arrays

function hosts.is(value)
    return type(value) == "table" and value.host == true
end

function hosts.volume(shape)
    local count = 1
    for k = 1, #shape do count = count * shape[k] end
    return count
end
local volume = hosts.volume

--- Makes a list of elements a host tensor.
function hosts.new(dtype, shape, list)
    list.host, list.dtype, list.shape = true, dtype, shape
    return list
end
local new = hosts.new

--- A list of integers as a tensor of one axis.
function hosts.integers(list)
    local copy = {}
    for k = 1, #list do copy[k] = list[k] end
    return new("i64", { #copy }, copy)
end

--- An array that has a value (waits) as a host tensor.
function hosts.read(x)
    local dtype, list = core.dtype_of(x), {}
    local element = core.reader(ffi.cast(dtype.const_pointer, core.data(x)), dtype)
    for k = 1, x.size do
        local value = element(k - 1)
        list[k] = type(value) == "cdata" and tonumber(value) or value
    end
    list.array = x
    return new(dtype.name, core.copy_list(x.shape), list)
end

--- Whether an element depends on declared sizes.
local function has_sizes(h)
    for k = 1, #h do
        if core.is_size(h[k]) then return true end
    end
    return false
end
hosts.has_sizes = has_sizes

--- A host tensor as an array.
function hosts.array(h)
    if h.array then return h.array end
    local dtype = dtypes[codes[h.dtype]]
    if has_sizes(h) then
        local parts = {}
        for k = 1, #h do parts[k] = core.number(h[k], dtype.code) end
        if #h.shape == 0 then return parts[1] end
        return np.reshape(np.stack(parts), h.shape)
    end
    if #h == 0 then return np.zeros(h.shape, { dtype = h.dtype }) end
    if dtype.kind == "i" and dtype.bits == 64 then
        h.array = core.fill(dtype.code, h.shape, function(out)
            for k = 1, #h do out[k - 1] = h[k] >= 2 ^ 63 and 0x7fffffffffffffffLL or h[k] end
        end, "int64_t *", "io.load_onnx")
        return h.array
    end
    local list = {}
    for k = 1, #h do
        list[k] = h[k]
        if dtype.kind == "b" then list[k] = h[k] ~= 0 end
    end
    return np.reshape(np.array(list, { dtype = h.dtype }), h.shape)
end

-- ---- Elements -------------------------------------------------------------------------------------------------------

local single = ffi.new "float[1]"

local function truncated(value)
    if core.is_size(value) or value >= 0 then return math.floor(value) end
    return math.ceil(value)
end

--- A result rounded to a dtype; nil where no Lua number has the value.
local function rounded(value, dtype)
    if core.is_size(value) or dtype == "f64" then return value end
    if dtype == "f32" then
        if value ~= value then return value end
        single[0] = value
        return tonumber(single[0])
    end
    if dtype == "bool" then return value end
    local facts = dtypes[codes[dtype]]
    if facts.kind ~= "i" and facts.kind ~= "u" or value ~= value then return nil end
    if math.abs(value) > 2 ^ 53 and facts.bits == 64 then return math.abs(value) <= 2 ^ 63 and value or nil end
    if facts.bits < 64 and (value < facts.lowest or value > facts.highest) then return nil end
    return value
end

local function is_integral(dtype)
    local kind = dtypes[codes[dtype]].kind
    return kind == "i" or kind == "u"
end

local binary, compare, unary = {}, {}, {}

function binary.Add(a, b) return a + b end
function binary.Sub(a, b) return a - b end
function binary.Mul(a, b) return a * b end
function binary.Min(a, b) return math.min(a, b) end
function binary.Max(a, b) return math.max(a, b) end

function binary.Div(a, b, integral)
    if not integral then return a / b end
    if not core.is_size(b) and b == 0 then return nil end
    return truncated(a / b)
end

function binary.Mod(a, b, integral)
    if not integral or not core.is_size(b) and b == 0 then return nil end
    return a % b
end

function compare.Equal(a, b) return a == b end
function compare.Less(a, b) return a < b end
function compare.LessOrEqual(a, b) return a <= b end
function compare.Greater(a, b) return a > b end
function compare.GreaterOrEqual(a, b) return a >= b end
function compare.And(a, b) return a ~= 0 and b ~= 0 end
function compare.Or(a, b) return a ~= 0 or b ~= 0 end
function compare.Xor(a, b) return (a ~= 0) ~= (b ~= 0) end

function unary.Neg(a) return -a end
function unary.Floor(a) return math.floor(a) end
function unary.Ceil(a) return math.ceil(a) end
function unary.Not(a) return a == 0 and 1 or 0 end
function unary.Abs(a) return math.max(a, -a) end
function unary.Sqrt(a) return math.sqrt(a) end

-- ---- Places ---------------------------------------------------------------------------------------------------------

local function strides_of(shape)
    local strides, step = {}, 1
    for k = #shape, 1, -1 do strides[k], step = step, step * shape[k] end
    return strides
end

--- The list of elements of a tensor of a shape whose element [i, j, …] stands at start + i * strides[1] + … of `h`.
local function pick(h, shape, strides, start)
    local list, count = {}, volume(shape)
    for k = 0, count - 1 do
        local at, rest = start or 1, k
        for axis = #shape, 1, -1 do
            local n = shape[axis]
            at, rest = at + (rest % n) * strides[axis], math.floor(rest / n)
        end
        list[k + 1] = h[at]
    end
    return list
end
hosts.pick, hosts.strides_of = pick, strides_of

--- The extent to which two extents broadcast, or nil. Sizes are compared last: each comparison may be a condition.
local function extent_of(i, j)
    if not core.is_size(i) and i == 1 then return j end
    if not core.is_size(j) and j == 1 or i == j then return i end
    return i == 1 and j or j == 1 and i or nil
end

--- The shape to which two shapes broadcast, or nil.
local function broadcast(a, b)
    local n, shape = math.max(#a, #b), {}
    for k = 0, n - 1 do
        shape[n - k] = extent_of(a[#a - k] or 1, b[#b - k] or 1)
        if shape[n - k] == nil then return nil end
    end
    return shape
end
hosts.broadcast = broadcast

--- The elements of h broadcast to a shape; nil where the shape is too large or does not fit.
function hosts.expand(h, shape)
    local own, strides, gap = strides_of(h.shape), {}, #shape - #h.shape
    if gap < 0 or volume(shape) > hosts.MOST then return nil end
    for k = 1, #shape do
        local extent = k > gap and h.shape[k - gap] or 1
        if extent ~= 1 and extent ~= shape[k] then return nil end
        strides[k] = extent == 1 and 0 or own[k - gap]
    end
    return pick(h, shape, strides)
end

--- An operator of two host tensors, element by element.
local function of_two(f, gives_bool)
    return function(_, a, b)
        local shape = broadcast(a.shape, b.shape)
        local x, y = shape and hosts.expand(a, shape), shape and hosts.expand(b, shape)
        if not x or not y then return nil end
        local list, dtype = {}, gives_bool and "bool" or a.dtype
        local integral = is_integral(a.dtype)
        for k = 1, #x do
            local value = f(x[k], y[k], integral)
            if gives_bool then value = value and 1 or 0 end
            if value ~= nil then value = rounded(value, dtype) end
            if value == nil then return nil end
            list[k] = value
        end
        return new(dtype, shape, list)
    end
end

hosts.ops = {}
local ops = hosts.ops

for name, f in pairs(binary) do ops[name] = of_two(f) end
for name, f in pairs(compare) do ops[name] = of_two(f, true) end
for name, f in pairs(unary) do
    ops[name] = function(_, a)
        local list = {}
        for k = 1, #a do
            list[k] = rounded(f(a[k]), a.dtype)
            if list[k] == nil then return nil end
        end
        return new(a.dtype, a.shape, list)
    end
end

for _, name in ipairs { "Min", "Max" } do -- of any number
    local two = ops[name]
    ops[name] = function(n, a, ...)
        for k = 1, select("#", ...) do a = a and two(n, a, (select(k, ...))) end
        return a
    end
end

return hosts
