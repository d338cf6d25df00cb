--- expressions.lua: the interpreter of the golden expressions' language (make_expressions.py defines it).
--
--     local x = expressions.run "Lf:17,2,3 neg:0 add:0,1"     -- a neap array, lazy
local np = require "neap"

local DTYPES = { f = "f32", d = "f64", i = "i32", b = "bool" }

local build = {} -- by instruction: function(registers, parameters…) → array

local function is_float(x)
    return x.dtype == "f32" or x.dtype == "f64"
end

local function size_of(shape)
    local size = 1
    for k = 1, #shape do size = size * shape[k] end
    return size
end

--- Values of a host table.
local function table_leaf(kind, seed, shape)
    local values, state = {}, seed
    for k = 1, size_of(shape) do
        state = state * 16807 % 2147483647
        values[k] = kind == "b" and state % 2 or state % 65 - 32
        if kind == "f" or kind == "d" then values[k] = values[k] / 8 end
    end
    if #values == 0 then return np.zeros(shape, { dtype = DTYPES[kind] }) end
    return np.array(values, { dtype = DTYPES[kind] }):reshape(shape)
end

for kind, dtype in pairs(DTYPES) do
    local options = { dtype = dtype }
    local scale = (kind == "f" or kind == "d") and 1 / 8 or 1
    build["L" .. kind] = function(_, seed, ...)
        return table_leaf(kind, seed, { ... })
    end
    build["A" .. kind] = function(_, step, start, ...)
        local shape = { ... }
        return (np.arange(size_of(shape), options) * (step * scale) + start * scale):reshape(shape)
    end
    build["F" .. kind] = function(_, value, ...)
        return np.full({ ... }, value * scale, options)
    end
    build["cast" .. kind] = function(r, a) return r[a]:astype(dtype) end
end

function build.add(r, a, b) return r[a] + r[b] end
function build.sub(r, a, b) return r[a] - r[b] end
function build.mul(r, a, b) return r[a] * r[b] end
function build.div(r, a, b) return r[a] / r[b] end
function build.max(r, a, b) return np.maximum(r[a], r[b]) end
function build.min(r, a, b) return np.minimum(r[a], r[b]) end
function build.lt(r, a, b) return r[a]:lt(r[b]) end
function build.gt(r, a, b) return r[a]:gt(r[b]) end
function build.eq(r, a, b) return r[a]:eq(r[b]) end
function build.where(r, c, a, b) return np.where(r[c], r[a], r[b]) end
function build.neg(r, a) return -r[a] end
function build.abs(r, a) return r[a]:abs() end
function build.exp(r, a) return r[a]:exp() end
function build.tanh(r, a) return r[a]:tanh() end
function build.log1p(r, a) return r[a]:log1p() end
function build.sqrt(r, a) return r[a]:sqrt() end

--- The number k stands for beside array x.
local function beside(x, k)
    return is_float(x) and k / 8 or k
end

function build.addn(r, a, k) return r[a] + beside(r[a], k) end
function build.muln(r, a, k) return beside(r[a], k) * r[a] end
function build.rsubn(r, a, k) return beside(r[a], k) - r[a] end
function build.fdivn(r, a, k) return r[a]:floor_divide(k) end
function build.modn(r, a, k) return r[a] % k end

for name, method in pairs { sum = "sum", mean = "mean", amax = "max", amin = "min" } do
    build[name] = function(r, a, keep, ...)
        local axes = { ... }
        if #axes == 0 then axes = nil elseif #axes == 1 then axes = axes[1] end
        return np[method](r[a], { axis = axes, keepdims = keep == 1 })
    end
end

function build.reshape(r, a, ...) return r[a]:reshape { ... } end
function build.bcast(r, a, ...) return np.broadcast_to(r[a], { ... }) end
function build.perm(r, a, ...) return np.permute_dims(r[a], { ... }) end
function build.flip(r, a, axis) return np.flip(r[a], { axis = axis }) end
function build.newaxis(r, a, axis) return np.expand_dims(r[a], axis) end
function build.squeeze(r, a, axis) return np.squeeze(r[a], { axis = axis }) end
function build.matmul(r, a, b) return r[a]:matmul(r[b]) end
function build.take(r, a, at, axis) return np.take(r[a], r[at], { axis = axis }) end

local function parts(r, ...)
    local list = { ... }
    for k = 1, #list do list[k] = r[list[k]] end
    return list
end

function build.cat(r, axis, ...) return np.concatenate(parts(r, ...), { axis = axis }) end
function build.stack(r, axis, ...) return np.stack(parts(r, ...), { axis = axis }) end

--- Both spellings of an index take turns: x"1:3, ::-1" and x[{ {1, 3}, {false, false, -1} }].
local turn = 0
local function slice(x, spelled)
    turn = turn + 1
    if turn % 2 == 0 then return x(spelled) end
    local items = {}
    for part in (spelled .. ","):gmatch("([^,]*),") do
        local from, to, step = part:match("^([^:]*):([^:]*):?([^:]*)$")
        items[#items + 1] = from and { tonumber(from) or false, tonumber(to) or false, tonumber(step) or false }
            or tonumber(part)
    end
    return x[items]
end

local expressions = {}

--- The result of a program. Nothing is computed here; `visit`, if given, is called with each register.
function expressions.run(program, visit)
    local r, count = {}, 0
    for instruction in program:gmatch("%S+") do
        local name, text = instruction:match("^(%w+):(.*)$")
        local value
        if name == "slice" then
            local a, spelled = text:match("^(%d+),(.*)$")
            value = slice(r[tonumber(a)], spelled)
        else
            local parameters = {}
            for part in text:gmatch("[^,]+") do parameters[#parameters + 1] = tonumber(part) end
            value = build[name](r, unpack(parameters))
        end
        r[count] = value
        if visit then visit(value) end
        count = count + 1
    end
    return r[count - 1]
end

return expressions
