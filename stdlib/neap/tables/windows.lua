--- windows.lua: aggregates of the rows around each row: table:rolling and table:expanding.
--
-- Ends of windows only ever move on. So a window is a queue of two stacks: behind `middle` the state of what came in,
-- before it the states from each element up to there, made anew when all of them have left. Each element is joined
-- twice at most, whatever the width, and nothing is ever taken away from a sum: neither digits nor an infinity stay
-- behind.
local ffi = require "ffi"
local core = require "neap.core"
local tables = require "neap.tables"
local aggregates = require "neap.tables.aggregates"
local columns = require "neap.tables.columns"
local group = require "neap.tables.group"
local shape = require "neap.arrays.shape"

local np, methods = core.np, tables.methods
local raise = core.raise
local NAN = core.NAN

-- By name: the state of two windows together, from how many values each has and two numbers of each, and what is asked
-- of it. The state of one value x is x, 0.
local function add(_, a, _, _, c) return a + c, 0 end

--- Means and sums of squares of distances from them. (Chan, Golub, LeVeque, Updating Formulae and a Pairwise Algorithm
-- for Computing Sample Variances, 1979.)
local function join_squares(n, a, b, m, c, d)
    local away = c - a
    return a + away * (m / (n + m)), b + d + away * away * (n * m / (n + m))
end

local function variance(n, _, b) return n > 1 and b / (n - 1) or NAN end

local KINDS = {
    sum = { add, function(_, a) return a end },
    mean = { add, function(n, a) return n > 0 and a / n or NAN end },
    count = { add, function(n) return n end },
    min = { function(_, a, _, _, c) return math.min(a, c), 0 end, function(n, a) return n > 0 and a or NAN end },
    max = { function(_, a, _, _, c) return math.max(a, c), 0 end, function(n, a) return n > 0 and a or NAN end },
    var = { join_squares, variance },
    std = { join_squares, function(n, a, b) return math.sqrt(variance(n, a, b)) end },
}

--- Writes to out what is asked of the windows of n rows of x, of which `there` tells which have a value.
local function sweep(kind, x, there, windows, n, least, out)
    local join, value, from, to = kind[1], kind[2], windows.from, windows.to
    -- of each element of [base, middle) the state up to the middle: count, a, b; windows that only grow need none
    local states, base = ffi.new("double[?]", 3 * math.min(windows.width or 0, n) + 3), 0
    local middle, high = 0, 0 -- [middle, high) are together in count, a, b
    local count, a, b = 0, 0, 0
    for k = 0, n - 1 do
        local first, last = from[k], to[k]
        if first >= high then
            middle, high, count, a, b = first, first, 0, 0, 0
        end
        while high < last do
            if there[high] ~= 0 then
                if count == 0 then a, b = x[high], 0 else a, b = join(count, a, b, 1, x[high], 0) end
                count = count + 1
            end
            high = high + 1
        end
        if first > middle then
            count, a, b = 0, 0, 0
            for j = high - 1, first, -1 do
                if there[j] ~= 0 then
                    if count == 0 then a, b = x[j], 0 else a, b = join(1, x[j], 0, count, a, b) end
                    count = count + 1
                end
                local at = 3 * (j - first)
                states[at], states[at + 1], states[at + 2] = count, a, b
            end
            base, middle, count, a, b = first, high, 0, 0, 0
        end
        local all, c, d = count, a, b
        if first < middle then
            local at = 3 * (first - base)
            local before = states[at]
            if count == 0 then
                c, d = states[at + 1], states[at + 2]
            elseif before > 0 then
                c, d = join(before, states[at + 1], states[at + 2], count, a, b)
            end
            all = all + before
        end
        out[k] = all >= least and value(all, c, d) or NAN
    end
end

--- Where the windows of n rows begin and end, and their width. In `laid` (group.laid) the rows lie group by group.
local function windows_of(laid, n, width, ahead)
    local from, to = ffi.new("int32_t[?]", n + 1), ffi.new("int32_t[?]", n + 1)
    local function fill(begin, stop)
        for k = begin, stop - 1 do
            to[k] = math.min(k + 1 + ahead, stop)
            from[k] = width and math.max(k + 1 + ahead - width, begin) or begin
        end
    end
    if not laid.by or n == 0 then
        fill(0, n)
        return { from = from, to = to, width = width }
    end
    local begins = np.nonzero(group.changes(laid.codes)):totable()
    for g, begin in ipairs(begins) do fill(begin, begins[g + 1] or n) end
    return { from = from, to = to, width = width }
end

--- The place of a value among n numbers in order, or where it would be.
local function place_of(sorted, n, value)
    local low, high = 0, n
    while low < high do
        local middle = math.floor((low + high) / 2)
        if sorted[middle] < value then low = middle + 1 else high = middle end
    end
    return low
end

--- Puts a value among `size` numbers in order, in which nothing stands at a place.
local function put(sorted, size, place, value)
    while place > 0 and sorted[place - 1] > value do
        sorted[place] = sorted[place - 1]
        place = place - 1
    end
    while place < size - 1 and sorted[place + 1] < value do
        sorted[place] = sorted[place + 1]
        place = place + 1
    end
    sorted[place] = value
end

--- As sweep: the medians of windows, whose values are kept in order. What comes takes the place of what leaves.
local function sweep_medians(x, there, windows, n, least, out)
    local from, to, sorted, size = windows.from, windows.to, ffi.new("double[?]", n + 1), 0
    local low, high = 0, 0
    for k = 0, n - 1 do
        local first, last = from[k], to[k]
        if first >= high then low, high, size = first, first, 0 end
        for j = high, last - 1 do
            if there[j] ~= 0 then
                while low < first and there[low] == 0 do low = low + 1 end
                if low < first then
                    put(sorted, size, place_of(sorted, size, x[low]), x[j])
                    low = low + 1
                else
                    size = size + 1
                    put(sorted, size, size - 1, x[j])
                end
            end
        end
        for j = low, first - 1 do
            if there[j] ~= 0 then
                size = size - 1
                for i = place_of(sorted, size + 1, x[j]), size - 1 do sorted[i] = sorted[i + 1] end
            end
        end
        low, high = first, math.max(high, last)
        if size == 0 or size < least then
            out[k] = NAN
        else
            local a, b = sorted[math.floor((size - 1) / 2)], sorted[math.floor(size / 2)]
            out[k] = a == b and a or a * 0.5 + b * 0.5
        end
    end
end

--- What a user's function of windows' values gives.
local function called(name, key, x, there, windows, how, least)
    local from, to, n = windows.from, windows.to, #x
    local values = np.take(x, np.nonzero(there))
    local before = np.concatenate { np.zeros({ 1 }, { dtype = "i64" }), np.cumsum(there:astype "i64") }:totable()
    local results = {}
    for k = 0, n - 1 do
        local first, last = before[from[k] + 1], before[to[k] + 1]
        results[k + 1] = last - first < least and NAN or how(shape.cut(values, 0, first, last))
    end
    return aggregates.column_of(name, key, results, n)
end

local function how_text()
    local list = { "median" }
    for known in pairs(KINDS) do list[#list + 1] = known end
    table.sort(list)
    return "one of " .. table.concat(list, ", ") .. ", or a function"
end

--- A column of what is asked of the windows of each row. width: nil, from the first row on; ahead: how many rows behind
-- each one are in its window.
local function over(name, t, key, o, width, ahead)
    local how = o.how == nil and "mean" or o.how
    if type(how) ~= "function" and not KINDS[how] and how ~= "median" then
        core.bad_argument(name, nil, "how", how_text(), how)
    end
    local values = tables.column(t, name, key)
    if columns.storage(values) ~= values or core.dtype_of(values).kind == "c" then
        raise(name, "column '%s' must have real numbers, got %s", key, values.dtype)
    end
    local least = o.min_periods
    if least == nil then least = how == "count" and 0 or width or 1 end
    least = core.integer(name, nil, "min_periods", least, 0, width)
    local laid = group.laid(t, name, o.by)
    local x = np.astype(laid.by and np.take(values, laid.order) or values, "f64")
    local there = np.logical_not(np.isnan(x))
    x = np.where(there, x, 0) -- so that no NaN's bits become a Lua number
    local n = #x
    local windows = windows_of(laid, n, width, ahead)
    if type(how) == "function" then return group.back(laid, called(name, key, x, there, windows, how, least)) end
    local data, flags = ffi.cast("const double *", core.data(x)), ffi.cast("const uint8_t *", core.data(there))
    local result = core.fill(core.dtype_codes.f64, { n }, function(out)
        if how == "median" then
            sweep_medians(data, flags, windows, n, least, out)
        else
            sweep(KINDS[how], data, flags, windows, n, least, out)
        end
    end, "double *", name)
    core.info(x); core.info(there) -- keep both alive until here
    return group.back(laid, result)
end

--- table:rolling(name, window, {how="mean", min_periods=…, center=false, by=…}): of each row of a column of numbers an
-- aggregate of it and of the rows before, `window` together, as an f64 array. Missing values are left out; where fewer
-- than `min_periods` are there, the result is NaN. Waits.
--- how: "mean", "sum", "min", "max", "std" and "var" (by n - 1), "median", "count", or a function of the values, an f64
-- array
--- min_periods: how many values a window needs; `window` without it, and 0 for "count"
--- center: true takes rows on both sides, of an even number one more before than behind
--- by: the column, or a list of columns, by whose values rows are grouped: windows stay in a group
--- > t = np.table{price = {1, 2, 6, 4}}
--- > t:rolling("price", 2), t:rolling("price", 3, {how="max", min_periods=1, center=true})
-- [nan 1.5 4.  5. ]
-- [2. 6. 6. 6.]
function methods.rolling(t, key, window, given)
    local name = "table.rolling"
    local o = core.options(name, given, { how = true, min_periods = true, center = true, by = true })
    window = core.integer(name, 2, "window", window, 1, 2 ^ 30)
    return over(name, t, key, o, window, o.center and math.floor((window - 1) / 2) or 0)
end

--- table:expanding(name, {how="mean", min_periods=1, by=…}): of each row of a column of numbers an aggregate of it and
-- of all rows before, as an f64 array; else as table:rolling. Waits.
--- how: "mean", "sum", "min", "max", "std" and "var" (by n - 1), "median", "count", or a function of the values, an f64
-- array
--- min_periods: how many values there must be; 0 for "count"
--- by: the column, or a list of columns, by whose values rows are grouped
--- > np.table{price = {1, 2, 6, 4}}:expanding("price", {how="max"})
-- [1. 2. 6. 6.]
function methods.expanding(t, key, given)
    local name = "table.expanding"
    local o = core.options(name, given, { how = true, min_periods = true, by = true })
    return over(name, t, key, o, nil, 0)
end

for _, f in ipairs { called, windows_of, over } do jit.off(f) end

return methods
