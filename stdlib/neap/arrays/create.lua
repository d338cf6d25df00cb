--- create.lua: new arrays, from Lua values and from formulas.
--
-- Arrays of a formula (zeros, arange, eye, …) are expressions over numbers and iota: they hold no memory until needed.
-- Default dtypes: f32; bool for tables of booleans; i32 for arange of integers.
local ffi = require "ffi"
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"

local np, define, C, ctx = core.np, core.define, core.C, core.ctx
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local dtypes, dtype_codes, shape_of = core.dtypes, core.dtype_codes, core.shape_of
local is_array, is_size, is_same, type, floor = core.is_array, core.is_size, core.is_same, type, math.floor
local F32, F64, I32, I64 = dtype_codes.f32, dtype_codes.f64, dtype_codes.i32, dtype_codes.i64
local BOOL, C64 = dtype_codes.bool, dtype_codes.c64

local create = {}

-- ---- From Lua values ------------------------------------------------------------------------------------------------

--- No table is nested deeper than this, least of all one that contains itself.
local function check_depth(depth)
    if depth > core.MAX_DIMS then
        raise("array", "at most %d axes, got tables that are nested deeper (does one contain itself?)", core.MAX_DIMS)
    end
end

--- Where nested tables end: their shape, whether a leaf is an array, and the dtype that the leaves ask for: bool if all
-- are booleans, c64 if one is complex, i64 if there are LuaJIT's 64-bit integers, u64 if these are all unsigned.
local function examine(data)
    local dims, has_array, all_bool, wide, complex = {}, false, true, nil, false
    local level = data
    while type(level) == "table" do
        dims[#dims + 1] = #level
        check_depth(#dims)
        level = level[1]
    end
    local function visit(value, depth)
        if is_array(value) then
            has_array = true
        elseif type(value) == "table" then
            check_depth(depth + 1)
            for k = 1, #value do
                local item = value[k]
                if type(item) == "number" then
                    all_bool = false
                elseif type(item) ~= "boolean" then
                    visit(item, depth + 1)
                end
            end
        elseif type(value) ~= "boolean" then
            all_bool, has_array = false, has_array or is_size(value) -- as an array of no axes
            complex = complex or core.complex.is(value)
            local code = core.integer64(value)
            wide = code == I64 and code or wide or code
        end
    end
    visit(data, 0)
    return dims, has_array, complex and C64 or wide or all_bool and level ~= nil and BOOL or F32
end

--- Raises if an integer dtype does not hold a 64-bit integer of LuaJIT.
local function check_wide(name, value, dtype)
    if not dtype.lowest then return end
    local unsigned = core.integer64(value) ~= I64
    local fits
    if dtype.bits == 64 then
        fits = (dtype.kind == "u") == unsigned or ffi.cast("int64_t", value) >= 0
    else
        local n = tonumber(value)
        fits = n >= dtype.lowest and n <= dtype.highest
    end
    if not fits then raise(name, "%s does not fit into dtype %s", tostring(value), dtype.name) end
end

--- Raises if an integer dtype does not hold a number.
local function check_number(value, dtype)
    if not dtype.lowest then return end
    if value ~= value then raise("array", "NaN does not fit into dtype %s", dtype.name) end
    if value ~= floor(value) then
        raise("array", "%.14g is not an integer, dtype is %s (use :astype to truncate)", value, dtype.name)
    elseif value < dtype.lowest or value > dtype.highest then
        raise("array", "%.14g does not fit into dtype %s", value, dtype.name)
    end
end

local function is_item(key, n)
    return type(key) == "number" and key >= 1 and key <= n and key == floor(key)
end

--- Whether a list of n items, of which #list tells, has no other keys: #list is less than was meant if there is a hole.
local function has_items_alone(list, n)
    if next(list, n > 0 and n or nil) == nil then return true end
    for key in pairs(list) do
        if not is_item(key, n) then return false end
    end
    return true
end

local function check_keys(list, n, path)
    if has_items_alone(list, n) then return end
    for key in pairs(list) do
        if type(key) == "number" and key > n then
            raise("array", "item%s[%d] is nil, and the table goes on behind it (is a name misspelt?)", path, n + 1)
        elseif not is_item(key, n) then
            raise("array", "%s has the key %s beside its items 1, 2, …", path == "" and "the table" or "item" .. path,
                  type(key) == "string" and ("%q"):format(key) or tostring(key))
        end
    end
end

--- Raises for the first leaf in order that is in the wrong place, or is nothing that an array of this dtype holds.
local function check_each(data, dims, dtype)
    local function visit(value, depth, path)
        if depth > #dims then
            if type(value) == "table" then raise("array", "item%s is a table, where others are numbers", path) end
            local kind = type(value)
            if core.complex.is(value) then
                if dtype.kind == "c" then return end
                raise("array", "item%s is the complex number %s, dtype is %s", path, tostring(value), dtype.name)
            end
            local is_number = kind == "cdata" and tonumber(value) and not core.is_ctype(value) -- 5LL and its like
            if kind ~= "number" and kind ~= "boolean" and not is_number then
                raise("array", "item%s must be a number or a boolean, got %s", path, core.describe(value))
            end
            if kind == "number" then check_number(value, dtype) end
            if is_number then check_wide("array", value, dtype) end
            return
        end
        if type(value) ~= "table" then
            raise("array", "item%s is %s, where others are tables", path, core.describe(value))
        end
        if #value ~= dims[depth] then
            check_keys(value, #value, path)
            raise("array", "item%s has %d entries, where others have %d", path, #value, dims[depth])
        end
        check_keys(value, #value, path)
        for k = 1, #value do visit(value[k], depth + 1, path .. "[" .. k .. "]") end
    end
    visit(data, 1, "")
end

--- Whether a list is n numbers or booleans that the dtype holds: nearly all are, and then no leaf is looked at again.
local function is_plain(list, n, dtype)
    local lowest, highest = dtype.lowest, dtype.highest -- of integers
    if type(list) ~= "table" or #list ~= n or not has_items_alone(list, n) then return false end
    for k = 1, n do
        local value = list[k]
        if type(value) == "number" then
            if lowest and not (value >= lowest and value <= highest and value == floor(value)) then return false end
        elseif type(value) ~= "boolean" then
            return false
        end
    end
    return true
end

--- The tables in tables of n entries each, in order; false where some are not.
local function next_level(tables, n)
    local inner, at = {}, 0
    for k = 1, #tables do
        local list = tables[k]
        if type(list) ~= "table" or #list ~= n or not has_items_alone(list, n) then return false end
        for j = 1, n do inner[at + j] = list[j] end
        at = at + n
    end
    return inner
end

--- The innermost tables in order, after checking that they and what they hold are as `dims` and the dtype say.
local function rows_of(data, dims, dtype)
    local rows, n = { data }, dims[#dims]
    for depth = 1, #dims - 1 do rows = rows and next_level(rows, dims[depth]) end
    local plain = rows and n
    for k = 1, plain and #rows or 0 do plain = plain and is_plain(rows[k], n, dtype) end
    if not plain then check_each(data, dims, dtype) end
    return n and rows or { { data } }
end

--- Writes n leaves, booleans as 0 and 1.
local function write_row(pointer, row, n, to_bool)
    for k = 1, n do
        local value = row[k]
        if type(value) == "boolean" then
            value = value and 1 or 0
        elseif to_bool then
            value = value ~= 0 and 1 or 0
        elseif value ~= value and type(value) == "number" then
            value = core.NAN
        end
        pointer[k - 1] = value
    end
end

--- An array of values that the script spells out. In deferred mode it is part of what is recorded, as numbers are.
function create.literal(x)
    C.neap_array_literal(ctx, x._id)
    return x
end
local literal = create.literal

--- np.array(data, {dtype=…, copy=…, device=…}), np.asarray: an array of nested Lua tables of numbers or booleans (all
-- of one length on each level), of a number or boolean (0-d), or of tables of arrays, which are stacked. An array is
-- returned as it is, or cast. f32 without a dtype; of booleans alone, bool; c64 where a number is complex, as Lua
-- writes them: 2i; with LuaJIT's 64-bit integers i64, or u64.
--- copy: false raises where new elements have to be made: of Lua values and by casts. true makes no difference: arrays
-- do not change
--- > np.array{{1, 2}, {3, 4}}
-- [[1. 2.]
--  [3. 4.]]
--- > np.array({1, 2}, {dtype="i32"}):sum(), np.asarray(7)
-- 3
-- 7.0
--- > np.array{1, 2i}
-- [1.+0.j 0.+2.j]
function np.array(data, given, extra)
    local o = options("array", given, { dtype = true, copy = true, device = true })
    local code = core.dtype("array", o.dtype)
    if extra ~= nil then core.too_many("array", 2, extra) end
    if o.device ~= nil then
        return core.placed("array", np.array(data, { dtype = o.dtype, copy = o.copy }), o.device)
    end
    if o.copy == false and not (is_array(data) and (code == nil or code == core.dtype_of(data).code)) then
        raise("array", "copy=false, but an array of %s needs elements of its own",
              is_array(data) and "another dtype" or "Lua values")
    end
    if is_array(data) then return code and np.astype(data, dtypes[code].name) or data end
    if is_size(data) then return create.value("array", data, code) end
    if type(data) == "string" then
        raise("array", "%s", require("neap.core.hints").text(data))
    end
    if type(data) == "function" or data == nil then
        bad_argument("array", 1, "data", "a number, a boolean, an array or nested tables of them", data)
    end
    local dims, has_array, natural = examine(data)
    if has_array then
        check_keys(data, #data, "")
        local parts = {}
        for k = 1, #data do parts[k] = np.array(data[k], given) end
        return np.stack(parts)
    end
    local dtype = dtypes[code or natural]
    local rows, n = rows_of(data, dims, dtype), dims[#dims] or 1
    local written = dtype.half and dtypes[F64] or dtype -- no C type of LuaJIT has halves
    local x = literal(core.fill(written.code, dims, function(pointer)
        for k = 1, #rows do write_row(pointer + (k - 1) * n, rows[k], n, dtype.kind == "b") end
    end, written.pointer))
    return dtype.half and np.astype(x, dtype.name) or x
end
np.asarray = np.array

--- Argument `position` of np.name as an array, which may also be a Lua table of what np.array takes.
function create.operand(name, position, value)
    if type(value) == "table" and getmetatable(value) == nil then return np.array(value) end
    return coerce(name, position, value)
end

--- An i32 array of a flat Lua table of integers; with `wide` an i64 array.
function create.integers(list, dims, wide)
    for k = 1, #list do
        if core.is_size(list[k]) then
            local items = {}
            for j = 1, #list do items[j] = core.number(list[j], wide and I64 or I32) end
            return shape.reshape(np.stack(items), dims or { #list })
        end
    end
    return literal(core.fill(wide and I64 or I32, dims or { #list }, function(pointer)
        for k = 1, #list do pointer[k - 1] = list[k] end
    end, wide and "int64_t *" or "int32_t *"))
end

-- ---- From formulas --------------------------------------------------------------------------------------------------

--- 0, 1, …, n-1.
local function iota(n, code)
    core.attrs[0], core.attrs[1] = core.put(0, n), code
    return core.recordn(core.ids.iota, {}, 0, 2)
end
create.iota = iota

local function filled(name, dims, value, code)
    if #dims > core.MAX_DIMS then raise(name, "at most %d axes, got %d", core.MAX_DIMS, #dims) end
    if shape.product(dims) > 2 ^ 59 then raise(name, "the result would have more than 2^59 elements") end
    return shape.broadcast_to(core.number(value, code), dims)
end

--- np.zeros({2, 3}, {dtype="f32", device=…}), np.zeros(2, 3): an array whose elements are all 0. It holds no memory
-- until something needs it stored.
--- > np.zeros(2, 3)
-- [[0. 0. 0.]
--  [0. 0. 0.]]

--- np.ones({2, 3}, {dtype="f32", device=…}), np.ones(2, 3): an array whose elements are all 1. It holds no memory until
-- something needs it stored.
--- > np.ones({2}, {dtype="i32"})
-- [1 1]

--- np.empty({2, 3}, {dtype="f32", device=…}), np.empty(2, 3): an array to be filled, which is np.zeros here: nothing is
-- read that was not written.
--- > np.empty(2)
-- [0. 0.]

for name, value in pairs { zeros = 0, ones = 1, empty = 0 } do
    np[name] = function(...)
        local dims, given = shape.arguments(name, ...)
        given = options(name, given, { dtype = true, device = true })
        return core.placed(name, filled(name, dims, value, core.dtype(name, given.dtype, F32)), given.device)
    end
end

local function number_text(value)
    return type(value) == "number" and ("%.14g"):format(value) or tostring(value)
end

--- A value given to np.name as an array of a dtype: a number as one of no axes, a table, or an array, which is cast.
-- What the dtype has not raises. The second argument of full, at{…}:set and their like.
local function fill_value(name, value, code)
    if is_array(value) then
        if code then value = np.astype(value, dtypes[code].name) end
        return value
    end
    if core.complex.is(value) then
        if code and dtypes[code].kind ~= "c" then
            raise(name, "the complex number %s does not fit into dtype %s", tostring(value), dtypes[code].name)
        end
        return np.astype(core.complex.array(value), dtypes[code or C64].name)
    end
    local wide = core.integer64(value)
    if wide then
        if code and dtypes[code].kind == "b" then return core.number(value ~= 0 and 1 or 0, code) end
        check_wide(name, value, dtypes[code or wide])
        return np.array(value, { dtype = dtypes[code or wide].name })
    end
    if type(value) == "table" and getmetatable(value) == nil then
        return np.array(value, { dtype = code and dtypes[code].name })
    end
    local is_number = type(value) == "number" or is_size(value)
    if code and dtypes[code].kind == "b" and is_number then value = value ~= 0 end
    if type(value) == "boolean" then return core.number(value and 1 or 0, code or BOOL) end
    if not is_number then bad_argument(name, 2, "value", "a number, a boolean or an array", value) end
    local dtype = code and dtypes[code]
    if dtype and dtype.lowest and (value ~= floor(value) or value < dtype.lowest or value > dtype.highest) then
        raise(name, "%s does not fit into dtype %s", number_text(value), dtype.name)
    end
    return core.number(value, code or F32)
end
create.value = fill_value

--- np.full({2, 3}, 7, {dtype=…, device=…}): all elements `value`, a number, a boolean, or an array or table that
-- broadcasts to the shape.
--- > np.full({2, 2}, 7)
-- [[7. 7.]
--  [7. 7.]]
function np.full(dims, value, given)
    dims = shape.argument("full", dims)
    given = options("full", given, { dtype = true, device = true })
    local code = core.dtype("full", given.dtype)
    return core.placed("full", np.broadcast_to(fill_value("full", value, code), dims), given.device)
end

for name, value in pairs { zeros_like = 0, ones_like = 1, empty_like = 0 } do
    --- np.zeros_like(x, {dtype=…, device=…}), np.ones_like(x), np.empty_like(x): zeros, ones, or zeros again, of x's
    -- shape and dtype.
    --- > np.zeros_like(np.arange(3)), np.ones_like(np.arange(3)), np.empty_like(np.ones(2))
    -- [0 0 0]
    -- [1 1 1]
    -- [0. 0.]
    define(name, function(x, given)
        x = coerce(name, 1, x)
        given = options(name, given, { dtype = true, device = true })
        local code = core.dtype(name, given.dtype, core.dtype_of(x).code)
        return core.placed(name, filled(name, shape_of(x), value, code), given.device)
    end)
end

--- np.full_like(x, value, {dtype=…, device=…}): all elements `value`, of x's shape and dtype.
--- > np.full_like(np.arange(3), 7)
-- [7 7 7]
define("full_like", function(x, value, given)
    x = coerce("full_like", 1, x)
    given = options("full_like", given, { dtype = true, device = true })
    local code = core.dtype("full_like", given.dtype, core.dtype_of(x).code)
    return core.placed("full_like", np.broadcast_to(fill_value("full_like", value, code), shape_of(x)), given.device)
end)

--- offset + scale * iota(n) in a dtype. Real numbers are computed in f64 and rounded once.
local function ramp(n, offset, scale, code)
    local kind = dtypes[code].kind
    if kind == "f" or kind == "c" then
        local x = iota(n, F64)
        if not is_same(scale, 1) then x = x * scale end
        if not is_same(offset, 0) then x = x + offset end
        return np.astype(x, dtypes[code].name)
    end
    local x = iota(n, (code == I32 or code == I64) and code or I64)
    if not is_same(scale, 1) then x = x * scale end
    if not is_same(offset, 0) then x = x + offset end
    return np.astype(x, dtypes[code].name)
end

--- The range of integers beyond 2^53, in 64 bits: `code` is the dtype that they ask for.
local function long_range(start, stop, step, code, asked)
    local int64 = ffi.typeof(code == I64 and "int64_t" or "uint64_t")
    local list = { start, stop, step }
    for k, value in ipairs(list) do
        if type(value) == "number" and value ~= floor(value) then
            raise("arange", "beside 64-bit integers beyond 2^53 all must be integers, got %.14g", value)
        end
        list[k] = np.array(type(value) == "number" and int64(value) or value, { dtype = dtypes[code].name })
    end
    local up = code == dtype_codes.u64 or int64(step) > 0
    local first, behind, by = int64(start), int64(stop), up and int64(step) or -int64(step)
    local gap = ffi.cast("uint64_t", up and behind - first or first - behind)
    local empty = (up and behind <= first) or (not up and behind >= first)
    local count = empty and 0 or tonumber((gap - 1) / ffi.cast("uint64_t", by)) + 1
    if count >= 2 ^ 53 then
        raise("arange", "cannot count from %s to %s by %s", tostring(start), tostring(stop), tostring(step))
    end
    local x = np.astype(iota(count, I64), dtypes[code].name) * list[3] + list[1]
    local result = dtypes[core.dtype("arange", asked, code)]
    if result.kind == "b" then raise("arange", "dtype must be one of numbers, got bool") end
    if count > 0 then
        check_wide("arange", first, result)
        check_wide("arange", first + (count - 1) * int64(step), result)
    end
    return np.astype(x, result.name)
end

--- How many numbers np.arange gives. Of integers that are sizes the quotient is rounded up without a real one.
local function count_between(start, stop, step, integral)
    local span = stop - start
    if integral and (is_size(span) or is_size(step)) then
        return (math.max(0, floor((span + step - (step > 0 and 1 or -1)) / step)))
    end
    return (math.max(0, math.ceil(span / step)))
end

--- np.arange(stop), np.arange(start, stop, step, {dtype=…, device=…}): the numbers start, start + step, … up to, not
-- including, stop. i32 when all are integers, i64 (u64) when one is a 64-bit integer of LuaJIT, else f32.
--- > np.arange(5), np.arange(1, 2, 0.25)
-- [0 1 2 3 4]
-- [1.   1.25 1.5  1.75]
function np.arange(...)
    local numbers, given, wide, long = {}, nil, nil, false
    for k = 1, select("#", ...) do
        local value = select(k, ...)
        local plain = core.plain(value)
        local code = core.integer64(value)
        wide = code == I64 and code or wide or code
        if type(value) == "table" and k == select("#", ...) then
            given = value
        elseif is_size(value) then
            numbers[#numbers + 1] = value
        elseif code or type(value) == "number" then
            long = long or type(plain) ~= "number" -- beyond 2^53
            numbers[#numbers + 1] = plain
        elseif value ~= nil then
            bad_argument("arange", k, "start, stop or step", "a number", value)
        end
    end
    if #numbers == 0 or #numbers > 3 then raise("arange", "takes 1 to 3 numbers, got %d", #numbers) end
    local start, stop, step = 0, numbers[1], numbers[3] or 1
    if #numbers > 1 then start, stop = numbers[1], numbers[2] end
    if step == 0 then raise("arange", "step must not be 0") end
    given = options("arange", given, { dtype = true, device = true })
    if long then return core.placed("arange", long_range(start, stop, step, wide, given.dtype), given.device) end
    local integral = start == floor(start) and stop == floor(stop) and step == floor(step)
    local code = core.dtype("arange", given.dtype, integral and (wide or I32) or F32)
    local count = count_between(start, stop, step, integral)
    local sized = is_size(count)
    if not sized and (count ~= count or count >= 2 ^ 53) then
        raise("arange", "cannot count from %.14g to %.14g by %.14g", start, stop, step)
    end
    local dtype, last = dtypes[code], start + math.max(0, count - 1) * step
    if dtype.kind == "b" then raise("arange", "dtype must be one of numbers, got bool") end
    if dtype.lowest and (sized or count > 0) then
        if not integral then raise("arange", "dtype %s needs integers", dtype.name) end
        if math.min(start, last) < dtype.lowest or math.max(start, last) > dtype.highest then
            raise("arange", "%s to %s does not fit into dtype %s", number_text(start), number_text(last), dtype.name)
        end
    end
    return core.placed("arange", ramp(count, start, step, code), given.device)
end

--- n numbers between the arrays start and stop, along axis `axis` of a result of one more axis than these have, with
-- `gaps` gaps. Halves are computed in f32, integers as floats; all in the dtype that was asked for, if that is wider.
local function spread_between(start, stop, n, gaps, exact_end, axis, asked)
    start, stop = np.broadcast_arrays(start, stop)
    local name = dtypes[C.neap_dtype_promote(core.dtype_of(start).code, core.dtype_of(stop).code)].real
    if asked and dtypes[asked].inexact then name = np.promote_types(name, dtypes[asked].name) end
    local half = dtypes[dtype_codes[name]].half and name
    if half then name = "f32" end
    start, stop = np.astype(start, name), np.astype(stop, name)
    local dims = shape_of(start)
    axis = core.axis("linspace", axis == nil and 0 or axis, #dims + 1)
    local wide, own = {}, {}
    for k = 1, #dims + 1 do
        wide[k] = k == axis + 1 and 1 or dims[k > axis and k - 1 or k]
        own[k] = k == axis + 1 and n or 1
    end
    start, stop = shape.reshape(start, wide), shape.reshape(stop, wide)
    local i = shape.reshape(iota(n, I32), own)
    local x, single
    if is_size(gaps) then -- of one number, start itself
        single, gaps = np.less(core.number(gaps, F64), 1), math.max(gaps, 1)
    end
    if single or gaps > 0 then
        local gap = stop - start
        local t = np.astype(i, name) / gaps
        x = np.astype(i, name) * (gap / gaps) + start
        if dtypes[dtype_codes[name]].kind == "f" then -- a gap beyond the largest number
            local far = np.logical_and(np.isinf(gap), np.logical_and(np.isfinite(start), np.isfinite(stop)))
            x = np.where(far, start * (1 - t) + stop * t, x)
        end
    else
        for k = 1, #dims + 1 do own[k] = k == axis + 1 and n or wide[k] end
        x = shape.broadcast_to(start, own)
    end
    if exact_end then x = np.where(np.equal(i, single and gaps or n - 1), stop, x) end
    if single then x = np.where(single, start, x) end
    return half and np.astype(x, half) or x
end

--- A bound of np.linspace as a number or an array, and whether it is an array.
local function spread_bound(name, position, what, value)
    if type(value) == "number" or is_size(value) then return value, false end
    local number = core.integer64(value) and tonumber(value)
    if number and number == value and math.abs(number) < 2 ^ 63 then return number, false end
    local kind = type(value)
    if is_array(value) or core.complex.is(value) or kind == "boolean" or kind == "table"
        and not getmetatable(value) then
        return value, true
    end
    bad_argument(name, position, what, "a number or an array", value)
end

local function is_infinite(number) return number == math.huge or number == -math.huge end

--- A spacing in the dtype that was asked for, which of integers has the next lower ones.
local function spread_as(x, dtype)
    if not dtype then return x end
    local row = dtypes[dtype_codes[dtype]]
    if row.lowest and core.dtype_of(x).kind == "f" then x = np.floor(x) end
    return np.astype(x, dtype)
end

--- np.linspace(start, stop, n, {endpoint=true, dtype=…, axis=0, device=…}): n evenly spaced numbers (50 without n); the
-- last is exactly stop. start and stop may be arrays, which broadcast: then the numbers lie along a new axis, in the
-- dtype that these have as real numbers.
-- Of an integer dtype these are the next lower integers, as in NumPy and JAX. Numbers and tables beside arrays take
-- their dtype.
--- endpoint: false leaves stop out: then the gaps are (stop - start) / n
--- axis: the axis of the result that counts the numbers, for arrays
--- > np.linspace(0, 1, 5)
-- [0.   0.25 0.5  0.75 1.  ]
--- > np.linspace(0, 1, 4, {endpoint=false})
-- [0.   0.25 0.5  0.75]
--- > np.linspace(np.array{0, 10}, 20, 3)
-- [[ 0. 10.]
--  [10. 15.]
--  [20. 20.]]
np.linspace = function(start, stop, n, given)
    if type(n) == "table" and given == nil then n, given = nil, n end
    if n == nil then n = 50 end
    given = options("linspace", given, { endpoint = true, dtype = true, axis = true, device = true })
    local of_start, of_stop
    start, of_start = spread_bound("linspace", 1, "start", start)
    stop, of_stop = spread_bound("linspace", 2, "stop", stop)
    local array = of_start or of_stop
    n = core.integer("linspace", 3, "n", n)
    if n < 0 then bad_argument("linspace", 3, "n", "an integer from 0 up", n) end
    local sized = is_size(n)
    local code = core.dtype("linspace", given.dtype, not array and F32 or nil)
    local dtype = code and dtypes[code].name
    local gaps, exact_end = given.endpoint == false and n or n - 1, given.endpoint ~= false and (sized or n > 1)
    if array then
        start, stop = operands.meet("linspace", 2, start, stop)
        local x = spread_as(spread_between(start, stop, n, gaps, exact_end, given.axis, code), dtype)
        return core.placed("linspace", x, given.device)
    end
    core.axis("linspace", given.axis == nil and 0 or given.axis, 1)
    local i, gap = iota(n, F64), stop - start
    local x
    if sized and gap - gap == 0 then -- of one number, the slope is 0
        local most = math.max(gaps, 1)
        x, gaps = i * (gap / most * math.min(gaps, 1) + 0) + start, most
    elseif is_infinite(gap) and gaps > 0 and not is_infinite(start) and not is_infinite(stop) then
        x = start * (1 - i / gaps) + stop * (i / gaps)
    else
        x = i * (gaps > 0 and gap / gaps or 0) + start
    end
    if exact_end then x = np.where(np.equal(i, sized and gaps or n - 1), stop, x) end
    return core.placed("linspace", spread_as(x, dtype), given.device)
end

--- Row numbers plus k as a column, and column numbers as a row: for masks of matrices.
local function grid(rows, columns, k)
    local i, j = iota(rows, I32), iota(columns, I32)
    k = math.max(-rows, math.min(columns, k)) -- beyond these no diagonal is another
    if not is_same(k, 0) then i = i + k end
    return shape.reshape(i, { rows, 1 }), shape.reshape(j, { 1, columns })
end

--- Arguments (n, m, k, options) of eye and tri, all but n optional; m and k may stand among the options.
local function matrix_arguments(name, n, m, k, given)
    if type(m) == "table" then m, given = nil, m end
    if type(k) == "table" then k, given = nil, k end
    given = options(name, given, { m = true, k = true, dtype = true, device = true })
    if m == nil then m = given.m end
    if k == nil then k = given.k end
    n = core.integer(name, 1, "n", n)
    if n < 0 then bad_argument(name, 1, "n", "an integer from 0 up", n) end
    m = core.integer(name, 2, "m", m == nil and n or m)
    if m < 0 then bad_argument(name, 2, "m", "an integer from 0 up", m) end
    k = core.integer(name, 3, "k", k == nil and 0 or k)
    return n, m, k, dtypes[core.dtype(name, given.dtype, F32)].name, given.device
end

--- np.eye(n, m, k, {m=…, k=…, dtype=…, device=…}): ones on the k-th diagonal (0, the main one, by default; above for
-- positive k) of an n by m matrix, zeros elsewhere.
--- m: the number of columns; n without it
--- k: which diagonal; 0, the main one, without it
--- > np.eye(2, 3), np.eye(3, {k=1})
-- [[1. 0. 0.]
--  [0. 1. 0.]]
-- [[0. 1. 0.]
--  [0. 0. 1.]
--  [0. 0. 0.]]
function np.eye(n, m, k, given)
    local rows, columns, diagonal, dtype, device = matrix_arguments("eye", n, m, k, given)
    local i, j = grid(rows, columns, diagonal)
    return core.placed("eye", np.astype(np.equal(i, j), dtype), device)
end

--- np.tri(n, m, k, {m=…, k=…, dtype=…, device=…}): ones on and below the k-th diagonal.
--- m: the number of columns; n without it
--- k: which diagonal; 0, the main one, without it
--- > np.tri(3)
-- [[1. 0. 0.]
--  [1. 1. 0.]
--  [1. 1. 1.]]
function np.tri(n, m, k, given)
    local rows, columns, diagonal, dtype, device = matrix_arguments("tri", n, m, k, given)
    local i, j = grid(rows, columns, diagonal)
    return core.placed("tri", np.astype(np.greater_equal(i, j), dtype), device)
end

--- np.delta({3, 4, 3}, {axes={0, 2}, dtype=…}): ones where the indices along the axes (all by default) are the same,
-- zeros elsewhere.
--- axes: a table of the axes; all without it
--- > np.delta{2, 2}
-- [[1. 0.]
--  [0. 1.]]
function np.delta(...)
    local dims, given = shape.arguments("delta", ...)
    given = options("delta", given, { axes = true, dtype = true })
    local code, axes = core.dtype("delta", given.dtype, F32), {}
    for k = 1, #dims do axes[k] = k - 1 end
    if given.axes ~= nil then axes = shape.axes("delta", given.axes, #dims) end
    local same, before
    for k = 1, #axes do
        local narrow = {}
        for axis = 1, #dims do narrow[axis] = axis == axes[k] + 1 and dims[axis] or 1 end
        local i = shape.reshape(iota(dims[axes[k] + 1], I32), narrow)
        local equal = before and np.equal(before, i)
        same, before = same and equal and np.logical_and(same, equal) or equal or same, i
    end
    return shape.broadcast_to(same and np.astype(same, dtypes[code].name) or core.number(1, code), dims)
end

local function triangle(name, compare)
    define(name, function(x, k)
        x = coerce(name, 1, x)
        if type(k) == "table" then k = options(name, k, { k = true }).k end
        k = core.integer(name, 2, "k", k == nil and 0 or k)
        local dims = shape_of(x)
        if #dims == 0 then raise(name, "needs at least 1 axis, got shape ()") end
        local i, j = grid(dims[#dims - 1] or dims[1], dims[#dims], k)
        return np.where(compare(i, j), x, core.number(0, core.dtype_of(x).code))
    end)
end
--- np.tril(x, k), np.tril(x, {k=0}), np.triu(x, k): the elements on and below the k-th diagonal (0 without k) of the
-- last two axes, zeros elsewhere; np.triu: on and above. A 1-d x is every row of a square matrix.
--- k: which diagonal; 0, the main one, without it
--- > np.tril(np.ones{3, 3}), np.triu(np.ones{3, 3}, {k=1})
-- [[1. 0. 0.]
--  [1. 1. 0.]
--  [1. 1. 1.]]
-- [[0. 1. 1.]
--  [0. 0. 1.]
--  [0. 0. 0.]]
triangle("tril", np.greater_equal)
triangle("triu", np.less_equal)

--- np.diag(x, k): of 1-d x, a matrix with x on its k-th diagonal; of 2-d x, that diagonal.
--- > np.diag(np.array{1, 2}), np.diag(np.array{{1, 2}, {3, 4}})
-- [[1. 0.]
--  [0. 2.]]
-- [1. 4.]
define("diag", function(x, k)
    x = coerce("diag", 1, x)
    k = core.integer("diag", 2, "k", k == nil and 0 or k)
    local dims = shape_of(x)
    if #dims == 1 then
        local n = dims[1] + math.max(k, -k)
        local lo = math.max(-k, 0) -- x[i] stands in row i + lo, column i + lo + k
        local zero = core.number(0, core.dtype_of(x).code)
        local column = shape.reshape(shape.pad(x, zero, { lo }, { n - dims[1] - lo }, { 0 }), { n, 1 })
        local i, j = grid(n, n, k)
        return np.where(np.equal(i, j), column, zero)
    elseif #dims == 2 then
        local rows, columns = dims[1], dims[2]
        local first = k >= 0 and k or -k * columns
        local count = math.max(0, math.min(rows + math.min(k, 0), columns - math.max(k, 0)))
        x = shape.reshape(x, { rows * columns })
        return shape.slice(x, { math.min(first, rows * columns) }, { columns + 1 }, { count })
    end
    raise("diag", "needs 1 or 2 axes, got shape %s", core.shape_text(x))
end)

return create
