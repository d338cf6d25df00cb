--- follow.lua: columns made of the rows before each row: table:shift, diff, pct_change, cumsum, cumprod, cummax,
-- cummin.
local ffi = require "ffi"
local core = require "neap.core"
local tables = require "neap.tables"
local columns = require "neap.tables.columns"
local group = require "neap.tables.group"

local np, methods = core.np, tables.methods
local raise = core.raise

--- A column in the order of groups, and its rows n before (behind, if negative) in the same group.
local function shifted(name, t, key, n, given)
    local o = core.options(name, given, { by = true })
    n = core.integer(name, 2, "n", n == nil and 1 or n, -2 ^ 31, 2 ^ 31)
    local values = tables.column(t, name, key)
    local laid = group.laid(t, name, o.by)
    local rows = columns.map(values, function(x) return np.take(x, laid.order) end)
    local first, last = group.ends(laid.codes)
    local source = np.arange(#laid.order, { dtype = "i64" }) - n
    source = np.where(np.logical_or(np.less(source, first), np.greater(source, last)), -1, source)
    return laid, rows, columns.take_or_none(rows, source)
end

local function check_numbers(t, name, key)
    local values = tables.column(t, name, key)
    if columns.storage(values) ~= values then
        raise(name, "column '%s' must have numbers, got %s", key, values.dtype)
    end
    return values
end

--- table:shift(name, n, {by=…}) -> column: the values of n rows before, of rows behind if n is negative; n is 1 without
-- it. Where there is no such row, the value is missing: NaN, for which integers and bools become f64, or no text.
--- by: the column, or a list of columns, by whose values rows are grouped: values stay in a group
--- > t = np.table({{"city", {"Rome", "Bern", "Rome"}}, {"price", {1, 2, 4}}})
--- > t:shift "price", t:shift("city", -1), t:shift("price", 1, {by="city"})
-- [nan  1.  2.]
-- {"Bern", "Rome", none}
-- [nan nan  1.]
function methods.shift(t, key, n, given)
    local laid, _, before = shifted("table.shift", t, key, n, given)
    return group.back(laid, before)
end

--- table:diff(name, n, {by=…}): how much greater the values of a column of numbers are than n rows before; n is 1
-- without it. Integers and bools become f64; where there is no such row, or a value is missing, the result is NaN.
--- by: the column, or a list of columns, by whose values rows are grouped
--- > np.table{price = {1, 2, 6}}:diff "price"
-- [nan  1.  4.]
function methods.diff(t, key, n, given)
    check_numbers(t, "table.diff", key)
    local laid, rows, before = shifted("table.diff", t, key, n, given)
    return group.back(laid, columns.with_holes(rows) - before)
end

--- table:pct_change(name, n, {by=…}): by which part of what they were n rows before the values of a column of numbers
-- have grown: 0.5 is a half. n is 1 without it; as table:diff else.
--- by: the column, or a list of columns, by whose values rows are grouped
--- > np.table{price = {1, 2, 3}}:pct_change "price"
-- [nan 1.  0.5]
function methods.pct_change(t, key, n, given)
    check_numbers(t, "table.pct_change", key)
    local laid, rows, before = shifted("table.pct_change", t, key, n, given)
    return group.back(laid, columns.with_holes(rows) / before - 1)
end

-- ---- Running totals -------------------------------------------------------------------------------------------------

local STEPS = {
    cumsum = function(a, b) return a + b end, cumprod = function(a, b) return a * b end,
    cummin = function(a, b) return b < a and b or a end, cummax = function(a, b) return b > a and b or a end,
}

--- Runs through x, in memory of a type: totals begin anew with each number in codes, and leave out what is not there.
local function run(step, x, there, codes, n, out)
    local total, own, begun = x[0], -1, false
    for k = 0, n - 1 do
        if codes[k] ~= own then own, begun = codes[k], false end
        if there[k] ~= 0 then
            if begun then total = step(total, x[k]) else total = x[k] end
            begun = true
        end
        out[k] = total
    end
end

--- The dtype in which totals are taken, and that of the result.
local function dtypes_of(method, values)
    local dtype = core.dtype_of(values)
    local wide = dtype.kind == "f" and "f64" or dtype.kind == "u" and "u64" or "i64"
    local same = dtype.kind == "f" or method == "cummin" or method == "cummax"
    return wide, same and dtype.name or wide
end

local function cumulated(method, t, key, given)
    local name = "table." .. method
    local laid = group.laid(t, name, core.options(name, given, { by = true }).by)
    local values = check_numbers(t, name, key)
    if core.dtype_of(values).kind == "c" then
        raise(name, "column '%s' must have real numbers, got %s", key, values.dtype)
    end
    values = np.take(values, laid.order)
    if #laid.order == 0 then return group.back(laid, values) end
    local there = columns.present(values) or np.ones({ #laid.order }, { dtype = "bool" })
    local wide, dtype = dtypes_of(method, values)
    local x = np.where(there, values, 0):astype(wide)
    local pointer = core.dtypes[core.dtype_codes[wide]].pointer
    local memory
    core.read(x, function(data, n)
        core.read(there, function(flags)
            core.read(laid.codes, function(codes)
                memory = ffi.new("char[?]", 8 * n)
                run(STEPS[method], data, flags, codes, n, ffi.cast(pointer, memory))
            end)
        end)
    end)
    local totals = core.fill(core.dtype_codes[wide], { #x }, function(out) ffi.copy(out, memory, 8 * #x) end,
                             "char *", name)
    if columns.none(values) ~= nil then totals = np.where(there, totals, np.nan) end
    return group.back(laid, totals:astype(dtype))
end

--- table:cumsum(name, {by=…}), table:cumprod(name, {by=…}), table:cummin(name, {by=…}), table:cummax(name, {by=…}): the
-- sum of a column's values up to each row, the product, the least and the greatest one. What is missing stays so and
-- counts in none. Sums and products of integers and bools are i64 (u64 of unsigned ones), and wrap around as
-- np.cumsum's do; those of floats are taken in f64 and keep the dtype. Waits.
--- by: the column, or a list of columns, by whose values rows are grouped
--- > t = np.table({{"city", {"Rome", "Bern", "Rome"}}, {"price", {1, 2, 4}}})
--- > t:cumsum "price", t:cummax("price", {by="city"})
-- [1 3 7]
-- [1 2 4]
function methods.cumsum(t, key, given) return cumulated("cumsum", t, key, given) end

function methods.cumprod(t, key, given) return cumulated("cumprod", t, key, given) end

function methods.cummin(t, key, given) return cumulated("cummin", t, key, given) end

function methods.cummax(t, key, given) return cumulated("cummax", t, key, given) end

jit.off(cumulated)

return methods
