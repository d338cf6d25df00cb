--- array.lua: what an array is in Lua: fields, operators, methods, and reading its values.
--
-- Every function np.name(x, …) that takes an array first is also the method x:name(…): `core.define` enters it into
-- both tables. Fields are computed when asked for. Arrays are immutable; reading values waits, nothing else here does.

--- {dtype}: the dtype of the result, a name such as "f64"; what it is without the option stands in the text
--- {axis}: an axis, counted from 0 or, if negative, from the end
--- {device}: where the result is to be: a name such as "cpu:0" or an element of np.devices()
--- {keepdims}: true keeps the axes that go as axes of extent 1

local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"
core.complex = require "neap.core.complex"

local C, ctx = core.C, core.ctx
local is_array, raise, fail, array_info, coerce = core.is_array, core.raise, core.fail, core.info, core.coerce
local shape_of = core.shape_of
local tonumber, type, floor = tonumber, type, core.floor_of_number
local new_table = require "table.new"

local np, methods, fields = {}, {}, {}
core.np, core.methods, core.fields = np, methods, fields

--- Makes f the function np.name and the method x:name.
function core.define(name, f)
    methods[name] = f
    np[name] = f
end
local define = core.define

-- ---- Dtypes ---------------------------------------------------------------------------------------------------------

-- By dtype number: its facts (tools/gen/dtypes.lua lists them), and pointers to its elements.
local dtypes, dtype_codes = require "neap.dtypes_gen", {}
for code = 0, C.NEAP_DTYPE_COUNT - 1 do
    local dtype = dtypes[code]
    dtype.inexact = dtype.kind == "f" or dtype.kind == "c" -- what has derivatives
    dtype.pointer, dtype.const_pointer = dtype.ctype .. " *", "const " .. dtype.ctype .. " *"
    dtype_codes[dtype.name] = code
end
-- Other names for them, those of NumPy, JAX and PyTorch that mean one dtype everywhere.
for name, of in pairs {
    bool_ = "bool", boolean = "bool", int8 = "i8", int16 = "i16", int32 = "i32", int64 = "i64", uint8 = "u8",
    uint16 = "u16", uint32 = "u32", uint64 = "u64", float16 = "f16", half = "f16", bfloat16 = "bf16", float32 = "f32",
    single = "f32", float64 = "f64", double = "f64", complex64 = "c64", complex128 = "c128", cfloat = "c64",
    cdouble = "c128",
} do dtype_codes[name] = dtype_codes[of] end
core.dtypes, core.dtype_codes = dtypes, dtype_codes

--- The number of a dtype given by name; `fallback` when it is nil.
function core.dtype(name, value, fallback)
    if value == nil then return fallback end
    local code = type(value) == "string" and dtype_codes[value]
    if not code then
        local list = {}
        for k = 0, #dtypes do list[#list + 1] = dtypes[k].name end
        raise(name, "dtype must be one of %s, got %s%s", table.concat(list, ", "), core.describe(value),
              require("neap.core.hints").dtype(value))
    end
    return code
end

--- The description of an array's dtype: {name, code, kind, bytes, …}.
local function dtype_of(x)
    return dtypes[array_info(x).dtype]
end
core.dtype_of = dtype_of

--- x:astype(dtype, {copy=true, device=…}), np.astype(x, dtype): the same values in another dtype, one of bool, u8, u16,
-- u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64, c64, c128, which other libraries' names stand for, too: "float32",
-- "bfloat16", np.complex64. A complex array becomes no real one: x.real says what is meant.
--- copy: makes no difference: arrays do not change, so x itself will do where it has the dtype
--- > np.array{1.7, -1.7, 300}:astype "i32"
-- [  1  -1 300]
--- > np.astype(np.arange(2), "f32", {device="cpu:0"}).dtype
-- f32
define("astype", function(x, dtype, given)
    x = coerce("astype", 1, x)
    if given ~= nil then
        return core.placed("astype", np.astype(x, dtype),
                           core.options("astype", given, { copy = true, device = true }).device)
    end
    local code = core.dtype("astype", dtype)
    if not code then core.bad_argument("astype", 2, "dtype", 'a dtype name such as "f32"', dtype) end
    local known = array_info(x)
    if known.dtype == code and known.weak == 0 and known.yields == 0 then return x end
    core.attrs[0] = code
    return core.record1(core.ids.astype, x, 1)
end)

-- ---- Fields ---------------------------------------------------------------------------------------------------------

--- The number of axes.
function core.ndim(x)
    return array_info(x).ndim
end

local shapes = setmetatable({}, { __mode = "k" })
core.shapes = shapes -- the tables that are shapes, which print shows: they are plain, so that trees can have them

local function shown_shape(x)
    local shape = shape_of(x)
    shapes[shape] = true
    return shape
end

--- x.shape -> table: the extents of the axes, a Lua table counted from 1. print shows them.
--- > #np.zeros{2, 3}.shape, np.zeros{2, 3}.shape[2]
-- 2
-- 3
fields.shape = shown_shape
--- x.static_shape -> table: what x.shape is; known when an op is recorded, as all sizes are.
--- > np.zeros{2, 3}.static_shape[1]
-- 2
fields.static_shape = shown_shape -- known when an op is recorded: there are no other sizes
--- x.ndim -> integer: the number of axes.
--- > np.zeros{2, 3}.ndim
-- 2
function fields.ndim(x) return array_info(x).ndim end
--- x.size -> integer: the number of elements.
--- > np.zeros{2, 3}.size
-- 6
function fields.size(x) return (core.size_of(x)) end
--- x.itemsize -> integer: the bytes of an element.
--- > np.ones{2, 3}.itemsize
-- 4
function fields.itemsize(x) return dtype_of(x).bytes end
--- x.nbytes -> integer: the bytes of all elements.
--- > np.ones{2, 3}.nbytes
-- 24
function fields.nbytes(x) return core.size_of(x) * dtype_of(x).bytes end
--- x.dtype -> string: the name of the dtype of the elements.
--- > np.ones(2).dtype, np.arange(2).dtype, np.array{true}.dtype
-- f32
-- i32
-- bool
function fields.dtype(x)
    local dtype = dtype_of(x)
    if array_info(x).weak == 0 then return dtype.name end
    return dtype.kind == "c" and "c64" or "f32"
end

--- x.weak -> boolean: whether x was computed of numbers alone, as np.where(mask, 1, 0) is: then it takes the dtype of
-- the arrays that it meets, as numbers do. x:astype "f32" has it no more.
--- > mask = np.array{true, false}
--- > np.where(mask, 1, 0).weak, (np.where(mask, 1, 0) * np.arange(2)).dtype, np.ones(2).weak
-- true
-- i32
-- false
function fields.weak(x)
    local known = array_info(x)
    return known.weak ~= 0 or known.yields ~= 0
end

--- x.device: the device that holds x, with fields as in np.devices(); nil for an array on a mesh: x.sharding:devices()
-- are those.
--- > np.ones(2).device.kind
-- cpu
function fields.device(x)
    local known = array_info(x)
    if known.sharding ~= 0 then return nil end
    return core.device_numbered(known.device)
end

--- How many axes, in words.
function core.axes_text(n)
    return n == 1 and "1 axis" or ("%d axes"):format(n)
end

--- An axis in [-ndim, ndim) as one in [0, ndim).
function core.axis(name, axis, ndim)
    axis = core.plain(axis)
    if type(axis) ~= "number" or axis ~= floor(axis) then
        raise(name, "axis must be an integer, got %s", core.describe(axis))
    end
    if axis < -ndim or axis >= ndim then
        raise(name, "axis %d is out of range for an array of %s", axis, core.axes_text(ndim))
    end
    return axis < 0 and axis + ndim or axis
end

--- x:dim(axis), np.dim(x, axis) -> integer: the extent of one axis; negative axes count from the end.
--- > np.zeros{2, 3}:dim(-1)
-- 3
define("dim", function(x, axis)
    x = coerce("dim", 1, x)
    local known = array_info(x)
    return (core.extent(x, core.axis("dim", axis, known.ndim), known))
end)

-- ---- Reading --------------------------------------------------------------------------------------------------------

--- Calls `f(pointer, size, dtype)` with the row-major values of x, after waiting for them. f must not call into neap.
function core.read(x, f)
    local data = core.data(x)
    local dtype, size = dtype_of(x), tonumber(array_info(x).size)
    local result = f(ffi.cast(dtype.const_pointer, data), size, dtype)
    array_info(x) -- keeps x alive until here
    return result
end

--- x:item(), np.item(x) -> number | boolean: the value of an array of one element, of a complex one a complex number
-- of Lua, as 1+2i is, with the fields re and im. Waits. Raises if there are more elements, and while tracing. Integers
-- beyond 2^53 are LuaJIT's own 64-bit integers, with all of their digits.
--- > np.array{1, 2, 3}:sum():item() + 1
-- 7
define("item", core.item)

local MOST_TABLES = 2 ^ 26 -- some gigabytes

--- Raises if the values in nested tables would be too many tables: an array of no elements may have any number of rows.
local function check_tables(shape)
    local tables, rows = 1, 1
    for k = 1, #shape - 1 do
        rows = rows * shape[k]
        tables = tables + rows
    end
    if tables > MOST_TABLES then
        raise("totable", "an array of shape %s would be %.0f tables, more than %d", core.shape_text(shape), tables,
              MOST_TABLES)
    end
end

--- x:totable(), np.totable(x) -> table: the values as nested Lua tables, counted from 1; a number or boolean for a 0-d
-- array. Waits.
--- > np.array{{1, 2}, {3, 4}}:totable()[2][1]
-- 3
define("totable", function(x)
    x = coerce("totable", 1, x)
    local shape = shape_of(x)
    local ndim = #shape
    check_tables(shape)
    return core.read(x, function(data, _, dtype)
        local is_bool, position, element = dtype.kind == "b", 0, core.reader(data, dtype)
        if ndim == 0 then
            if is_bool then return element(0) ~= 0 end
            return element(0)
        end
        local function level(axis)
            local n = shape[axis]
            local list = new_table(n, 0)
            if axis < ndim then
                for k = 1, n do list[k] = level(axis + 1) end
            elseif is_bool then
                for k = 1, n do list[k] = data[position + k - 1] ~= 0 end
                position = position + n
            else
                for k = 1, n do list[k] = element(position + k - 1) end
                position = position + n
            end
            return list
        end
        return level(1)
    end)
end)

local function text_of(x)
    return core.text("tostring", function(text, capacity, bytes)
        return C.neap_array_text(ctx, x._id, text, capacity, bytes)
    end)
end

--- x:tostring() -> string: the text that tostring(x) gives. Waits.
--- > np.arange(3):tostring() .. "!"
-- [0 1 2]!
function methods.tostring(x) return text_of(core.coerce("tostring", 1, x)) end

-- ---- The metatable --------------------------------------------------------------------------------------------------

local meta = {}
core.metatable = meta

function meta.__index(x, key)
    if type(key) == "string" then
        local method = methods[key]
        if method ~= nil then return method end
        local field = fields[key]
        if field ~= nil then return (field(x)) end
        if key:find "[^%w_]" or key:find "^%d" then return core.index(x, key) end -- no name: x["1:3, ::-1"]
        fail("%s", require("neap.core.hints").member(key, methods, fields))
    end
    if key == nil then
        local name = require("neap.core.hints").nil_index()
        fail("array index: the index is nil%s", name and (" ('%s' has no value: is it misspelt?)"):format(name)
             or "; a new axis is np.newaxis")
    end
    return type(key) == "number" and core.part(x, key) or core.index(x, key)
end

function meta.__newindex(_, key)
    if type(key) == "string" then
        fail("the field '%s' of an array cannot be set%s", key, key == "shape" and "; x:reshape(3, 1) has another shape"
             or key == "dtype" and "; x:astype(\"f64\") has another dtype" or "")
    end
    fail("arrays are immutable; %s", require("neap.core.hints").changed_part())
end

local WALK = "for k = 0, #x - 1 do local v = x[k] … end walks along axis 0, and x:totable() gives Lua's tables"

-- x"1:3, ::-1"
function meta.__call(x, key, ...)
    if type(key) == "string" then return core.index(x, key) end
    local is_loop = key == nil and select("#", ...) > 0 -- for calls with two
    if is_loop then fail("an array is no function and no iterator: %s", WALK) end
    if key == nil or is_array(key) or type(key) == "userdata" then
        fail("an array is no function; a field that is one, as x.T, is read without parentheses")
    end
    fail("an array is called only with an index in text form, x\"1:3\"; got %s%s", core.describe(key),
         type(key) == "number" and ("; an element is x[%.14g]"):format(key)
         or type(key) == "table" and "; indices stand in brackets: x[{1, 2}]" or "")
end

function meta.__ipairs() fail("ipairs takes no array, whose elements count from 0: %s", WALK) end
function meta.__pairs() fail("pairs takes no array: %s", WALK) end

function meta.__len(x)
    local known = array_info(x)
    if known.ndim == 0 then fail("a 0-d array has no length") end
    if core.sized() then -- LuaJIT wants a number of `#`
        local n = core.extent(x, 0)
        if core.is_size(n) then fail("#x must be a number for Lua, and here it is %s; use x.shape[1]", tostring(n)) end
    end
    return tonumber(known.shape[0])
end

meta.__tostring = text_of

--- A string or number with an array, as text.
function meta.__concat(a, b)
    local other = is_array(a) and b or a
    if type(other) ~= "string" and type(other) ~= "number" and not is_array(other) then
        fail("'..' joins the text of an array with a string, a number or an array, got %s%s", core.describe(other),
             type(other) == "table" and "; np.concatenate{x, y} joins arrays" or "")
    end
    return tostring(a) .. tostring(b)
end

local function refuse(method, a, b)
    fail("%s", require("neap.core.hints").comparison(method, a, b))
end

function meta.__lt(a, b) refuse("lt", a, b) end
function meta.__le(a, b) refuse("le", a, b) end

-- Lua calls this for every comparison with an array, also for `x == nil`. Only an array or a number could have been
-- meant by elements; the same handle is the same array.
function meta.__eq(a, b)
    if is_array(a) and is_array(b) then
        if a._id == b._id then return true end
    elseif type(a) ~= "number" and type(b) ~= "number" then
        return false
    end
    refuse("eq", a, b)
end

-- ---- Elementwise functions ------------------------------------------------------------------------------------------

-- A row of class map without attributes is a function of its arrays, and needs nothing else.
local operators = {} -- op name → metamethod
for _, row in ipairs(core.rows) do
    if row.class == "map" and not row.hidden and #row.attrs == 0 then
        if row.arity == 1 then
            define(row.name, core.unary(row.id, row.name))
        elseif row.arity == 2 then
            local f, operator = core.binary(row.id, row.name)
            define(row.name, f)
            operators[row.name] = operator
        else
            define(row.name, core.nary(row.id, row.name, row.arity))
        end
    end
end

local stop_gradient = np.stop_gradient

-- Apart from np.stop_gradient: a function that may make a closure of its own variables is not compiled.
local function stop_gradients(tree)
    return trees.rebuild("stop_gradient", tree, function(leaf)
        return is_array(leaf) and stop_gradient(leaf) or leaf
    end)
end

--- np.stop_gradient(x): x itself, but differentiation takes it for a constant. x may be a tree: a nested table of
-- arrays, and of what is no array, which stays as it is.
--- > np.grad(function(x) return x * np.stop_gradient(x) end)(np.array(3))
-- 3.0
define("stop_gradient", function(x, extra)
    if type(x) == "table" then return stop_gradients(x) end
    return (stop_gradient(x, extra))
end)

--- np.lt(a, b), np.le, np.gt, np.ge, np.eq, np.ne: short names of np.less, np.less_equal, np.greater, np.greater_equal,
-- np.equal and np.not_equal: comparisons of elements, which give arrays of bool. The operators <, <=, ==, … cannot,
-- since Lua makes one boolean of their result.
--- > np.array{1, 2, 3}:lt(2), np.array{1, 2, 3}:ge(2)
-- [ True False False]
-- [False  True  True]
--- > np.le(1, 2), np.gt(1, 2), np.eq(1, 2), np.ne(1, 2)
-- True
-- False
-- False
-- True
for short, name in pairs { lt = "less", le = "less_equal", gt = "greater", ge = "greater_equal", eq = "equal",
                           ne = "not_equal" } do
    define(short, np[name])
end

meta.__add, meta.__sub, meta.__mul = operators.add, operators.subtract, operators.multiply
meta.__div, meta.__mod = operators.divide, operators.remainder
local negative = np.negative
function meta.__unm(x) return negative(x) end -- Lua passes the operand twice

--- np.pow(a, b, {keep_base=false}), np.power(a, b, {keep_base=false}): … also x ^ y. A square is a product, as in
-- NumPy: rounded once, and cheap.
--- keep_base: true gives the dtype of a, whatever that of b: powers of integers with a real exponent are computed in
-- f64 and lose their fraction
--- > np.array{1, 2, 3} ^ 2
-- [1. 4. 9.]
--- > np.pow(np.array({4, 10}, {dtype="i32"}), np.array{0.5, 1.5}, {keep_base=true})
-- [ 2 31]
--- > np.pow(2, np.array{0, 0.5, -1}), np.power(np.arange(3), 3)
-- [1.        1.4142135 0.5      ]
-- [0 1 8]
local pow, multiply = np.pow, np.multiply
local function keeping_base(x, y)
    x, y = coerce("pow", 1, x), coerce("pow", 2, y)
    local base = core.dtype_of(x)
    if not base.inexact and core.dtype_of(y).inexact then x = np.astype(x, "f64") end
    return np.astype(pow(x, y), base.name)
end
local function raised(x, y, given, extra)
    if extra ~= nil then core.too_many("pow", 3, extra) end
    if given ~= nil then
        if core.options("pow", given, { keep_base = true }).keep_base then return keeping_base(x, y) end
    end
    if type(y) == "number" and y == 2 then return multiply(x, x) end
    return pow(x, y)
end
define("pow", raised)
define("power", raised)
function meta.__pow(x, y) return raised(x, y) end

local divide, floor_divide = np.divide, np.floor_divide

--- The quotient of two arrays, rounded towards zero; of integers one of integers.
local function truncated(x, y)
    if core.dtype_of(x).inexact or core.dtype_of(y).inexact then return np.trunc(divide(x, y)) end
    local quotient, rest = floor_divide(x, y), np.remainder(x, y)
    local up = np.logical_and(np.not_equal(rest, 0), np.not_equal(np.less(x, 0), np.less(y, 0)))
    return quotient + np.astype(up, core.dtype_of(quotient).name)
end

--- np.divide(a, b, {rounding_mode=…}): … also x / y.
--- rounding_mode: "trunc" rounds the quotient towards zero, "floor" down, as np.floor_divide does: then that of
-- integers is one of their dtype, and 0 where b is 0
--- > np.divide(np.array{1, 2}, 4), np.divide(np.array({-7, 7}, {dtype="i32"}), 2, {rounding_mode="trunc"})
-- [0.25 0.5 ]
-- [-3  3]
define("divide", function(x, y, given, extra)
    if given == nil and extra == nil then return divide(x, y) end
    if extra ~= nil then core.too_many("divide", 3, extra) end
    local mode = core.options("divide", given, { rounding_mode = true }).rounding_mode
    if mode == nil then return divide(x, y) end
    if mode == "floor" then return floor_divide(x, y) end
    if mode ~= "trunc" then core.bad_argument("divide", nil, "rounding_mode", '"trunc" or "floor"', mode) end
    return truncated(require "neap.arrays.operands".meet("divide", 2, x, y))
end)

ffi.metatype(core.Handle, meta)

for _, f in ipairs { core.read, text_of } do jit.off(f) end

return np
