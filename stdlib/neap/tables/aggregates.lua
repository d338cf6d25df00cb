--- aggregates.lua: what is taken of the values of each group of rows of a column: sums, quantiles, a user's function.
--
-- A part is the rows of a column that have a value: { values, codes = the number of each row's group (i32), n = how
-- many groups there are, counts = how many rows each has (i64), rows = how many there are together, full = whether each
-- group is known to have rows of the table }. Sums are taken in f64 (of integers in their 64 bits) in the order of the
-- rows, and rounded once. A group without a value gives what is missing: NaN, or no text; unless groups are full,
-- integers and bools become f64, which has NaN.
local core = require "neap.core"
local columns = require "neap.tables.columns"
local text = require "neap.tables.text"
local shape = require "neap.arrays.shape"

local np = core.np
local raise = core.raise
local aggregates = {}

local function is_complex(values) return core.dtype_of(values).kind == "c" end

local function summed(values, part, dtype)
    return np.zeros({ part.n }, { dtype = dtype }):at { part.codes }:add(values:astype(dtype))
end

--- How many rows each of n groups has.
function aggregates.counts(codes, n)
    if #codes < 2 ^ 31 then return np.bincount(codes, { length = n }):astype "i64" end
    return np.zeros({ n }, { dtype = "i64" }):at { codes }:add(np.ones({ #codes }, { dtype = "i64" }))
end

--- The part of a column whose rows have numbers of groups; full: each group has rows.
function aggregates.part(values, codes, n, full)
    local there = columns.present(values)
    if there then
        local places = np.nonzero(there)
        if #places < #codes then
            local function pick(x) return np.take(x, places) end
            values, codes = columns.map(values, pick), pick(codes)
        end
    end
    return { values = values, codes = codes, n = n, counts = aggregates.counts(codes, n), rows = #codes, full = full }
end

-- ---- Places ---------------------------------------------------------------------------------------------------------

--- The rows of a part group by group, each in the order of its values.
local function in_order(part)
    if not part.order then
        local order = np.argsort(columns.storage(part.values))
        part.order = np.take(order, np.argsort(np.take(part.codes, order)))
    end
    return part.order
end

local function firsts(part) return np.cumsum(part.counts) - part.counts end

--- The values at one place of each group in an order of the rows.
local function picked(part, order, place)
    local values, rows = part.values, part.rows
    if not part.full then values = columns.with_holes(values) end
    local none = columns.none(values)
    return columns.map(values, function(x)
        local chosen = rows == 0 and np.zeros({ part.n }, { dtype = x.dtype })
            or np.take(np.take(x, order), np.clip(place, 0, rows - 1))
        if none == nil then return chosen end
        return np.where(np.equal(part.counts, 0), none, chosen):astype(x.dtype)
    end)
end

-- ---- Named aggregates: f(part) -> a column of n rows ----------------------------------------------------------------

local named = {}

function named.count(part) return part.counts end

function named.first(part) return picked(part, np.argsort(part.codes), firsts(part)) end

function named.last(part) return picked(part, np.argsort(part.codes), np.cumsum(part.counts) - 1) end

--- The least or the greatest values by a segment function of numbers; nil: they need an order.
local function extremes(part, f)
    local values = part.values
    if columns.storage(values) ~= values or is_complex(values) or values.dtype == "bool" then return nil end
    if not part.full then values = columns.with_holes(values) end
    local none, found = columns.none(values), f(values, part.codes, part.n)
    if none == nil then return found end
    return np.where(np.equal(part.counts, 0), none, found):astype(values.dtype)
end

function named.min(part)
    return extremes(part, np.segment_min) or picked(part, in_order(part), firsts(part))
end

function named.max(part)
    return extremes(part, np.segment_max) or picked(part, in_order(part), np.cumsum(part.counts) - 1)
end

function named.nunique(part)
    if part.rows == 0 then return part.counts end
    local order = in_order(part)
    local x, codes = np.take(columns.storage(part.values), order), np.take(part.codes, order)
    local function changes(y) return np.not_equal(shape.cut(y, 0, 1, part.rows), shape.cut(y, 0, 0, part.rows - 1)) end
    local new = np.concatenate { np.ones({ 1 }, { dtype = "bool" }), np.logical_or(changes(x), changes(codes)) }
    return np.zeros({ part.n }, { dtype = "i64" }):at { codes }:add(new:astype "i64")
end

local OF_ALL = { count = true, first = true, last = true, min = true, max = true, nunique = true }

local function sum_dtype(values)
    local dtype = core.dtype_of(values)
    return dtype.kind == "f" and "f64" or dtype.kind == "c" and "c128" or dtype.kind == "u" and "u64" or "i64"
end

local function result_dtype(values)
    return (values.dtype == "f32" or values.dtype == "c64") and "f32" or "f64"
end

function named.sum(part)
    local total = summed(part.values, part, sum_dtype(part.values))
    return core.dtype_of(part.values).inexact and total:astype(part.values.dtype) or total
end

function named.mean(part)
    local counts = part.counts:astype "f64"
    if is_complex(part.values) then
        return (summed(part.values, part, "c128") / counts):astype(part.values.dtype)
    end
    return (summed(part.values, part, "f64") / counts):astype(result_dtype(part.values))
end

--- The sum of squares of distances from the mean over n - 1.
local function variance(part)
    local wide = is_complex(part.values) and "c128" or "f64"
    local x, counts = part.values:astype(wide), part.counts:astype "f64"
    local mean = summed(x, part, wide) / counts
    local away = x - np.take(mean, part.codes)
    local squares = wide == "c128" and np.square(np.real(away)) + np.square(np.imag(away)) or np.square(away)
    return np.where(np.less(counts, 2), np.nan, summed(squares, part, "f64") / np.maximum(counts - 1, 1))
end

function named.var(part) return variance(part):astype(result_dtype(part.values)) end

function named.std(part) return np.sqrt(variance(part)):astype(result_dtype(part.values)) end

--- What lies a part q of the way through the values of each group in order, on the line between its neighbours.
local function quantile(part, q, name)
    if is_complex(part.values) then raise(name, "complex numbers have no order, and so no median and no quantile") end
    if part.rows == 0 then return np.full({ part.n }, np.nan, { dtype = result_dtype(part.values) }) end
    local sorted, first = np.take(part.values:astype "f64", in_order(part)), firsts(part)
    local last = np.maximum(part.counts - 1, 0)
    local place = last:astype "f64" * q
    local low = np.floor(place)
    local weight = place - low
    local function at(offset)
        return np.take(sorted, np.clip(first + np.minimum(offset:astype "i64", last), 0, part.rows - 1))
    end
    local a, b = at(low), at(low + 1)
    local gap = b - a
    local between = np.where(np.isfinite(gap), a + gap * weight, a * (1 - weight) + b * weight)
    between = np.where(np.logical_or(np.equal(a, b), np.equal(weight, 0)), a, between)
    return np.where(np.equal(part.counts, 0), np.nan, between):astype(result_dtype(part.values))
end

function named.median(part, name) return quantile(part, 0.5, name) end

-- ---- Functions of users ---------------------------------------------------------------------------------------------

local function bad_result(name, key, value)
    raise(name, "the function for column '%s' must return a number, a boolean or a string, got %s", key,
          core.describe(value))
end

--- A value that a user's function gave, and its dtype: "bool", "text" or that of a number. Lua numbers are f64, since a
-- whole one may stand among others that are not.
local function result_of(name, key, value)
    if core.is_array(value) then
        if core.size_of(value) ~= 1 then bad_result(name, key, value) end
        return core.item(value), value.dtype
    end
    local kind = type(value)
    if kind == "number" then return value, "f64" end
    if kind == "boolean" then return value, "bool" end
    if kind == "string" then return value, "text" end
    if core.integer64(value) then return value, core.dtypes[core.integer64(value)].name end
    if core.complex.is(value) then return value, "c128" end
    bad_result(name, key, value)
end

--- The dtype of results of two dtypes; nil: there is none. Of strings, false means that there is none.
local function both(a, b)
    if a == b or not a then return b end
    if a == "text" or b == "text" then return (a == "bool" or b == "bool") and "text" or nil end
    if a == "bool" or b == "bool" then return nil end
    return np.promote_types(a, b)
end

--- A column of n results of a user's function; NOTHING: it was not called, since there was no value.
local NOTHING = {}
function aggregates.column_of(name, key, results, n)
    local dtype, holes = nil, false
    local values = {}
    for k = 1, n do
        if results[k] == NOTHING then
            holes = true
        else
            local own
            values[k], own = result_of(name, key, results[k])
            local new = both(dtype, own)
            if not new then
                raise(name, "the function for column '%s' returns results of dtype %s and of %s", key, dtype, own)
            end
            dtype = new
        end
    end
    if dtype == "text" then
        for k = 1, n do
            if values[k] == true then bad_result(name, key, true) end
        end
        return text.of_list(name, values, n)
    end
    dtype = dtype or "f64"
    if not holes then return np.array(values, { dtype = dtype }) end
    if not core.dtypes[core.dtype_codes[dtype]].inexact then dtype = "f64" end
    for k = 1, n do
        if type(values[k]) == "boolean" then values[k] = values[k] and 1 or 0 end
        if values[k] == nil then values[k] = core.NAN end
    end
    return np.array(values, { dtype = dtype })
end

--- What a user's function gives of the values of each group.
local function own(part, f, name, key)
    local order, counts = np.argsort(part.codes), part.counts:totable()
    local values = columns.map(part.values, function(x) return np.take(x, order) end)
    local results, from = {}, 0
    for k = 1, part.n do
        local to = from + counts[k]
        results[k] = from == to and NOTHING
            or f(columns.map(values, function(x) return shape.cut(x, 0, from, to) end))
        from = to
    end
    return aggregates.column_of(name, key, results, part.n)
end

-- ---- What users ask for ---------------------------------------------------------------------------------------------

local function names_text()
    local list = {}
    for name in pairs(named) do list[#list + 1] = name end
    table.sort(list)
    return table.concat(list, ", ") .. ", a quantile as \"90%\""
end

--- The function part → column of an aggregate by its name; of texts there are few.
local function by_name(name, key, values, asked)
    local f = named[asked]
    if not f then
        local percent = asked:match "^(%d+%.?%d*)%%$"
        local q = percent and tonumber(percent)
        if not q or q > 100 then
            raise(name, "there is no aggregate %s; there are %s, and functions", core.describe(asked), names_text())
        end
        f = function(part) return quantile(part, q / 100, name) end
    end
    if columns.storage(values) ~= values and not OF_ALL[asked] then
        raise(name, "column '%s' has %ss, of which there is no %s", key, values.dtype, asked)
    end
    return f
end

--- What is asked of a column, as a list of { name of the result, f(part) }: "mean", a function, or a table of names and
-- of functions by name.
local function asked_of(name, key, values, how)
    if type(how) == "string" then how = { how } end
    if type(how) == "function" then
        return { { key, function(part) return own(part, how, name, key) end } }
    end
    if type(how) ~= "table" or getmetatable(how) ~= nil or next(how) == nil then
        raise(name, "what is asked of column '%s' must be one of %s, a function, or a table of them, got %s", key,
              names_text(), core.describe(how))
    end
    local list, functions = {}, {}
    for k, asked in pairs(how) do
        if type(k) == "string" and type(asked) == "function" then
            functions[#functions + 1] = k
        elseif type(k) ~= "number" or type(asked) ~= "string" then
            raise(name, "the table for column '%s' must hold names of aggregates, and functions by name as {range = "
                      .. "f}, got %s = %s", key, tostring(k), core.describe(asked))
        end
    end
    for _, asked in ipairs(how) do
        list[#list + 1] = { key .. "_" .. asked, by_name(name, key, values, asked) }
    end
    table.sort(functions)
    for _, k in ipairs(functions) do
        list[#list + 1] = { key .. "_" .. k, function(part) return own(part, how[k], name, key) end }
    end
    return list
end

--- The columns that are asked of a column whose rows are in n groups, each with rows if `full`: a list of { name,
-- column }.
function aggregates.of(name, key, values, how, codes, n, full)
    local list = asked_of(name, key, values, how)
    local part = aggregates.part(values, codes, n, full)
    for k, pair in ipairs(list) do list[k] = { pair[1], pair[2](part, name) } end
    return list
end

--- One aggregate of a column, by name or as a function; groups as aggregates.of takes them.
function aggregates.one(name, key, values, how, codes, n, full)
    if type(how) ~= "string" and type(how) ~= "function" then
        raise(name, "the aggregate must be one of %s, or a function, got %s", names_text(), core.describe(how))
    end
    return aggregates.of(name, key, values, how, codes, n, full)[1][2]
end

for _, f in ipairs { own, aggregates.column_of } do jit.off(f) end

return aggregates
