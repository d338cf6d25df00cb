--- operands.lua: what composite functions do with their arguments before their first op, so that a number, a table, a
-- half or an integer counts in all of their ops as in one: local operands = require "neap.arrays.operands".
--
-- Two ideas: values *meet*, and a function *counts* in a dtype that is wider than that of its result.
--
--     x, y = operands.meet("xlogy", 2, x, y)         -- numbers and tables take the dtype of the arrays that they meet
--     x = operands.real("median", 1, x)              -- a number becomes an array, bool and integers floats
--     x, half = operands.wide(x)                     -- halves as f32 …
--     return operands.narrow(result, half)           -- … and the result rounded once
--
-- | of              | one array | several               |
-- |-----------------|-----------|-----------------------|
-- | halves f32      | wide      | wide_all              |
-- | … integers real | floats    | floats_all, which meet |
local core = require "neap.core"

local np, C, is_array, dtypes = core.np, core.C, core.is_array, core.dtypes

local operands = {}

-- ---- Numbers and tables that meet arrays ----------------------------------------------------------------------------

--- Calls f with each leaf of nested tables, or with the value itself.
local function each_leaf(value, f)
    if type(value) ~= "table" then return f(value) end
    for k = 1, #value do each_leaf(value[k], f) end
end

--- Whether a value is a plain list, which np.array takes: no table of options, which stands where an argument should.
local function is_data(value)
    return type(value) == "table" and getmetatable(value) == nil and (value[1] ~= nil or next(value) == nil)
end

--- Whether a value is a number, a complex number, a 64-bit integer or a table.
local function is_literal(value)
    return type(value) == "number" or is_data(value) or core.complex.is(value) or core.integer64(value)
        or core.is_size(value)
end

--- The 64-bit integers of a value as the other one of i64 and u64, if that is met and has them.
local function wide_beside(value, dtype, met)
    if met.name ~= "u64" and met.kind ~= "i" or met.kind == dtype.kind then return dtype.name end
    local fits = true
    each_leaf(value, function(leaf)
        if core.integer64(leaf) then fits = fits and leaf >= 0 and tonumber(leaf) < 2 ^ 63 end
    end)
    return fits and (met.name == "u64" and "u64" or "i64") or dtype.name
end

--- The dtype that a number or the numbers of a table take where they meet arrays whose common dtype is `met`, by
-- np.result_type's rules; nil: as np.array makes one. compared: they are only compared with elements, and may be
-- numbers that `met` has not.
local function dtype_beside(name, value, met, compared)
    local fraction, complex, wide, only_bools, has_array, beyond = false, false, nil, true, false, nil
    local lowest = met.lowest or met.kind == "b" and dtypes[core.dtype_codes.i32].lowest
    local highest = met.highest or met.kind == "b" and dtypes[core.dtype_codes.i32].highest
    each_leaf(value, function(leaf)
        if type(leaf) == "number" or core.is_size(leaf) then
            only_bools = false
            fraction = fraction or leaf ~= math.floor(leaf) or leaf ~= leaf or leaf == math.huge or leaf == -math.huge
            if lowest and (leaf < lowest or leaf > highest) then beyond = leaf end
        elseif is_array(leaf) then
            has_array = true
        elseif type(leaf) ~= "boolean" then
            only_bools = false
            complex = complex or core.complex.is(leaf)
            wide = wide or core.integer64(leaf)
        end
    end)
    if has_array then return nil end
    if only_bools then return "bool" end
    if complex then return np.result_type(met.name, 1i) end
    if compared and lowest and (fraction or beyond) then
        local exact = not fraction and beyond > -2 ^ 53 and beyond < 2 ^ 53 and met.name ~= "u64"
        return exact and "i64" or "f64"
    end
    if wide then return np.promote_types(met.name, wide_beside(value, dtypes[wide], met)) end
    if fraction then return np.result_type(met.name, 0.5) end
    if met.kind == "b" then return np.result_type(met.name, 0) end
    if beyond then
        core.raise(name, "the number %s is not a value of the array's dtype %s, which whole numbers take that meet it; "
                   .. "cast the array first, as in x:astype(\"f32\")", core.is_size(beyond) and tostring(beyond)
                   or ("%.14g"):format(beyond), met.name)
    end
    return met.name
end

--- Argument `position` of np.name as an array that stands beside one of the dtype `met`, a row of core.dtypes. Beside
-- none a number stays weak. `inputs`: all arguments, as core.coerce takes them.
function operands.beside(name, position, value, met, inputs, compared)
    if is_array(value) then return value end
    local number = type(value) == "number" or core.complex.is(value) or core.integer64(value) or core.is_size(value)
    if number and not met or not number and not is_data(value) then
        return core.coerce(name, position, value, inputs)
    end
    local dtype = met and dtype_beside(name, value, met, compared)
    return np.array(value, dtype and { dtype = dtype } or nil)
end

--- The dtype, a row of core.dtypes, in which the arrays among n values meet, but for number arguments and weak ones,
-- which take that of others; nil: there is none. And whether all are arrays, and no number arguments.
local function met_dtype(values, n)
    local met, all = nil, true
    for k = 1, n do
        local known = is_array(values[k]) and core.info(values[k])
        if not known or known.weak ~= 0 then
            all = false
        elseif known.yields == 0 then
            met = met and dtypes[C.neap_dtype_promote(met.code, known.dtype)] or dtypes[known.dtype]
        end
    end
    return met, all
end

--- The n values of a list, arguments of np.name, as operands.meet makes them: a list; the same one if all are arrays.
function operands.meet_list(name, n, values, compared)
    local met, all = met_dtype(values, n)
    if all then return values end
    local list = {}
    for k = 1, n do
        local value = values[k]
        if not is_array(value) then
            value = operands.beside(name, k, value, met, values, compared)
        elseif met and core.info(value).weak ~= 0 then -- a number argument: as one op takes it
            value = core.record2(core.ids.multiply, value, core.number(1, met.code), 0)
        end
        list[k] = value
    end
    return list
end

--- The n arguments of np.name as arrays: numbers, complex numbers, 64-bit integers and tables of them as arrays of the
-- dtype that numbers take beside the arrays, all their digits kept; without an array among them, as np.array does.
function operands.meet(name, n, ...)
    local values = { ... }
    local list = operands.meet_list(name, n, values)
    if list == values then return ... end
    return unpack(list, 1, n)
end

--- A list of n arguments of np.name, from argument `first` on, in which numbers and tables have become arrays that meet
-- the arrays; all else is as it was.
function operands.literals(name, first, list, n)
    local met = met_dtype(list, n)
    for k = 1, n do
        if is_literal(list[k]) then list[k] = operands.beside(name, first + k - 1, list[k], met) end
    end
    return list
end

--- operands.meet for arguments of which elements are only compared: numbers that the arrays' dtype has not become such
-- of one that has them, f64 at last.
function operands.compared(name, n, ...)
    local values = { ... }
    local list = operands.meet_list(name, n, values, true)
    if list == values then return ... end
    return unpack(list, 1, n)
end

-- ---- Integers and halves --------------------------------------------------------------------------------------------

--- x, of which real results are made: bool and integers as the floats that one op makes of them, f64 of the 64-bit ones
-- and f32 of others.
function operands.float(x)
    local dtype = core.dtype_of(x)
    return dtype.inexact and x or np.astype(x, dtype.real)
end

--- Argument `position` of np.name, an array, a number or a table, as an array of floats.
function operands.real(name, position, value)
    if is_data(value) then value = np.array(value) end
    return operands.float(core.coerce(name, position, value))
end

--- Halves as f32, and the name of their dtype, which operands.narrow takes: sums and squares of several ops are rounded
-- to the half once, at their end. Others as they are, and nil.
function operands.wide(x)
    local dtype = core.dtype_of(x)
    if not dtype.half then return x, nil end
    return np.astype(x, "f32"), dtype.name
end

--- Argument `position` of np.name, an array or a number, as operands.float and operands.wide give it, and the half.
function operands.floats(name, position, value)
    local x = core.coerce(name, position, value)
    local dtype = core.dtype_of(x)
    if dtype.half then return np.astype(x, "f32"), dtype.name end
    if not dtype.inexact then x = np.astype(x, dtype.real) end
    return x, nil
end

--- Whether n ≤ 3 arguments are arrays of one dtype of floats, no half and not narrower than `least`.
local function are_alike(least, n, a, b, c)
    if not is_array(a) or n > 1 and not is_array(b) or n > 2 and not is_array(c) then return false end
    local dtype = core.dtype_of(a)
    return dtype.inexact and not dtype.half and (not least or dtype.name ~= "f32")
           and (n < 2 or core.dtype_of(b) == dtype) and (n < 3 or core.dtype_of(c) == dtype)
end

--- The n arguments of np.name in a list for a function of several ops that gives real results: operands.meet, all of
-- one dtype of floats, f32 at least (f64 for `least` "f64"), behind the name of the dtype that operands.narrow makes of
-- the result.
function operands.floats_list(name, least, n, list)
    local values = operands.meet_list(name, n, list)
    local dtype = met_dtype(values, n)
    if not dtype then return nil, values end -- numbers alone stay weak
    local result = dtype.inexact and dtype.name or dtype.real
    local target = (dtype.half or result == "f32") and (least or "f32") or result
    for k = 1, n do
        if core.dtype_of(values[k]).name ~= target then values[k] = np.astype(values[k], target) end
    end
    return result ~= target and result or nil, values
end

--- The same of n ≤ 3 arguments, which stand behind the name.
function operands.floats_all(name, least, n, a, b, c)
    if are_alike(least, n, a, b, c) then return nil, a, b, c end -- mostly
    local narrow, values = operands.floats_list(name, least, n, { a, b, c })
    return narrow, unpack(values, 1, n)
end

--- The squares of the sizes of elements: of complex ones the sums of both squares.
function operands.squares(x)
    if core.dtype_of(x).kind ~= "c" then return x * x end
    return np.square(np.real(x)) + np.square(np.imag(x))
end

--- A list of arrays that meet as operands.wide makes them: halves as f32, and the name of the half that is the dtype of
-- all together; nil if that is none.
function operands.wide_all(list)
    local met = met_dtype(list, #list)
    if not met or not met.half then return list, nil end
    local wide = {}
    for k = 1, #list do wide[k] = np.astype(list[k], "f32") end
    return wide, met.name
end

--- A result as the half that operands.wide told.
function operands.narrow(x, half)
    return half and np.astype(x, half) or x
end

return operands
