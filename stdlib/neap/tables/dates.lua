--- dates.lua: columns of dates and times: np.to_datetime, np.date_range, and what a column of dates can do. It holds an
-- i64 array of ticks (calendar.lua): microseconds since 1970, and the least i64 where there is no date. So comparing,
-- sorting and grouping are work on arrays.
local core = require "neap.core"
local calendar = require "neap.tables.calendar"
local columns = require "neap.tables.columns"
local text = require "neap.tables.text"

local np = core.np
local is_array, raise, fail, describe = core.is_array, core.raise, core.fail, core.describe
local DAY = calendar.DAY

local dates, methods, fields = {}, {}, {}

local prototype, states = newproxy(true), setmetatable({}, { __mode = "k" })
local Dates = getmetatable(prototype)

local NONE = -9223372036854775807LL - 1LL
local MOST = 9223372036854775807LL
dates.NONE = NONE

--- Whether a value is a column of dates.
function dates.is_dates(value) return getmetatable(value) == Dates end

--- A column of ticks, an i64 array.
function dates.new(ticks)
    local column = newproxy(prototype)
    states[column] = ticks
    return column
end

local function missing(column) return np.equal(states[column], NONE) end

--- The texts that a function of days and microseconds gives of ticks, an i64 array of dates, as a list.
local function written(ticks, write)
    local days = np.floor_divide(ticks, DAY)
    return core.read(days:astype "f64", function(numbers, n)
        return core.read((ticks - days * DAY):astype "f64", function(micro)
            local list = {}
            for k = 0, n - 1 do list[k + 1] = write(numbers[k], micro[k]) end
            return list
        end)
    end)
end

--- The texts of rows as a list, all as fine as one of them has to be; false: none.
local function texts_of(column)
    local absent = missing(column)
    local ticks = np.where(absent, 0, states[column])
    local fineness = np.any(np.not_equal(np.remainder(ticks, 1e6), 0)):item() and "micro"
        or np.any(np.not_equal(np.remainder(ticks, DAY), 0)):item() and "second" or "day"
    local list = written(ticks, calendar.ISO[fineness])
    core.read(absent, function(flags, n)
        for k = 0, n - 1 do
            if flags[k] ~= 0 then list[k + 1] = false end
        end
    end)
    return list
end

columns.add_kind(Dates, {
    storage = function(column) return states[column] end,
    like = function(_, ticks) return dates.new(ticks) end,
    sortable = function(column, descending)
        if descending then return states[column] end
        return np.where(missing(column), MOST, states[column])
    end,
    texts = texts_of,
    none = NONE,
})

local FIRST = calendar.tick(calendar.parse "0001-01-01")
local LAST = calendar.tick(calendar.parse "9999-12-31T23:59:59.999999")

--- A column of ticks, which must be of the years 1 to 9999.
local function checked(name, ticks)
    if #ticks > 0 then
        local there = np.not_equal(ticks, NONE)
        local outside = np.logical_and(there, np.logical_or(np.less(ticks, FIRST), np.greater(ticks, LAST)))
        if outside:any():item() then raise(name, "a date is not in the years 1 to 9999") end
    end
    return dates.new(ticks)
end
dates.checked = checked

-- ---- Making columns -------------------------------------------------------------------------------------------------

--- The dates of a column of texts: each different text that a row has is read once. place: words for messages.
function dates.of_texts(name, column, o, place)
    local read = calendar.parse
    if o.format ~= nil then
        if type(o.format) ~= "string" then core.bad_argument(name, nil, "format", "a string", o.format) end
        local problem
        read, problem = calendar.parser(o.format)
        if not read then raise(name, "option 'format': %s", problem) end
    end
    local used, levels, n = text.used(column), column.levels, #column.levels
    local days, micro, known = {}, {}, {}
    for k = 1, n do
        local day, rest
        if used[k] ~= 0 then day, rest = read(levels[k]) end
        if used[k] ~= 0 and not day and o.errors ~= "coerce" then
            raise(name, "%q%s is no date%s", levels[k], place or "", o.format and (" of the format %q"):format(o.format)
                      or " as ISO 8601 has it; a format is an option")
        end
        days[k], micro[k], known[k] = day or 0, rest or 0, day ~= nil
    end
    days[n + 1], micro[n + 1], known[n + 1] = 0, 0, false
    local function array(list, dtype) return np.array(list, { dtype = dtype }) end
    local ticks = array(days, "f64"):astype "i64" * DAY + array(micro, "f64"):astype "i64"
    local numbers = np.where(np.less(column.codes, 0), n, column.codes):astype "i32"
    return checked(name, np.take(np.where(array(known, "bool"), ticks, NONE), numbers))
end

--- Ticks of numbers of a unit of time since 1970.
local function of_numbers(name, x, o)
    local length = type(o.unit) == "string" and calendar.LENGTHS[o.unit]
    if not length then
        core.bad_argument(name, nil, "unit", 'one of "us", "ms", "s", "min", "h", "D", "W", for numbers', o.unit)
    end
    local kind = core.dtype_of(x).kind
    if core.ndim(x) ~= 1 or kind == "b" or kind == "c" then
        raise(name, "numbers must be a column of integers or floats, got %s", describe(x))
    end
    local near = x:astype "f64" * length
    local far = np.logical_not(np.less(np.abs(near), 4e17))
    if kind == "f" then far = np.logical_and(far, np.logical_not(np.isnan(near))) end
    if np.any(far):item() then raise(name, "a date is not in the years 1 to 9999") end
    if kind ~= "f" then return checked(name, x:astype "i64" * length) end
    local there = np.logical_not(np.isnan(near))
    return checked(name, np.where(there, np.round(np.where(there, near, 0)):astype "i64", NONE))
end

--- np.to_datetime(x, {format=…, unit=…, errors="raise"}) -> column: a column of dates of one of texts, of a list of
-- strings (false: none), or of numbers. Texts are as ISO 8601 has them ("2024-05-01", "2024-05-01T13:30:00.25",
-- "20240501", "2024-05"), or as `format` says. A date is a time in microseconds, of the years 1 to 9999, without a
-- zone: one that a text has ("Z", "+02:00") is taken away, which leaves UTC. Further digits of a second are cut off.
-- Waits.
--- format: conversions as strptime has them: %Y %m %d %H %M %S %f (parts of a second), %y (1969 to 2068), %b %B %a %A
-- (English names), %I %p, %j, %z, %F, %T, %%
--- unit: of numbers since 1970-01-01: "us", "ms", "s", "min", "h", "D" or "W"
--- errors: "coerce" takes a text that is no date for a missing one, which raises else
--- > day = np.to_datetime{"2024-02-28", "2024-03-01"}
--- > day, day.weekday
-- {2024-02-28, 2024-03-01}
-- [2 4]
--- > np.to_datetime({"1.3.2024", "31.12.2024"}, {format="%d.%m.%Y"})
-- {2024-03-01, 2024-12-31}
function np.to_datetime(x, given)
    local name = "to_datetime"
    local o = core.options(name, given, { format = true, unit = true, errors = true })
    if o.errors ~= nil and o.errors ~= "raise" and o.errors ~= "coerce" then
        core.bad_argument(name, nil, "errors", '"raise" or "coerce"', o.errors)
    end
    if dates.is_dates(x) then return x end
    if type(x) == "table" and getmetatable(x) == nil then
        x = text.of_list(name, core.list(name, "the list of texts", x), #x)
    end
    if text.is_text(x) then return dates.of_texts(name, x, o) end
    if not is_array(x) then
        core.bad_argument(name, 1, "x", "a column of texts, a list of strings or an array of numbers", x)
    end
    return of_numbers(name, x, o)
end

--- The tick of a date that a user gives as a text, or an array of those of a column of `rows` dates.
function dates.operand(name, position, what, value, rows)
    if dates.is_dates(value) then
        if rows and #value ~= rows then raise(name, "columns of %d and %d dates", rows, #value) end
        return states[value]
    end
    local days, micro
    if type(value) == "string" then days, micro = calendar.parse(value) end
    if not days then
        core.bad_argument(name, position, what, 'a date such as "2024-05-01", or a column of dates', value)
    end
    return calendar.tick(days, micro)
end

--- A tick moved by months: to the last day of the month where it has no such day.
local function moved(ticks, months)
    local days = np.floor_divide(ticks, DAY)
    local year, month, day = calendar.civil(days, np.floor_divide)
    local count = year * 12 + month - 1 + months
    local new_year = np.floor_divide(count, 12)
    local new_month = count - new_year * 12 + 1
    local first = calendar.days(new_year, new_month, 1, np.floor_divide)
    local behind = np.floor_divide(count + 1, 12)
    local last = calendar.days(behind, count + 1 - behind * 12 + 1, 1, np.floor_divide) - first
    return (first + np.minimum(day, last) - 1) * DAY + (ticks - days * DAY)
end

local MOST_DATES = 2 ^ 27

--- A step of a range: microseconds, or months.
local function step_of(name, freq)
    local count, unit = tostring(freq):match "^(%d*)(%a+)$"
    local n = tonumber(count == "" and 1 or count)
    local length, months = calendar.LENGTHS[unit], calendar.MONTHS_OF[unit]
    if type(freq) ~= "string" or not n or n < 1 or n > 1e6 or not (length or months) then
        core.bad_argument(name, nil, "freq", 'a unit such as "D", "15min", "2W" or "M"', freq)
    end
    return length and length * n, months and months * n
end

--- np.date_range(start, stop, {freq="D", periods=…}) -> column: dates from one to another, both inside, or, with stop
-- nil, so many of them. Start and stop are texts as ISO 8601 has them.
--- freq: the step: "us", "ms", "s", "min", "h", "D", "W", "M" (months), "Q", "Y", or a number of them, as "15min". A
-- month that has no such day gives its last one
--- periods: how many dates
--- > np.date_range("2024-01-30", "2024-02-02")
-- {2024-01-30, 2024-01-31, 2024-02-01, 2024-02-02}
--- > np.date_range("2024-01-31", nil, {freq="M", periods=3})
-- {2024-01-31, 2024-02-29, 2024-03-31}
function np.date_range(start, stop, given)
    local name = "date_range"
    local o = core.options(name, given, { freq = true, periods = true })
    if type(start) ~= "string" then core.bad_argument(name, 1, "start", 'a date such as "2024-05-01"', start) end
    local first = dates.operand(name, 1, "start", start)
    local length, months = step_of(name, o.freq == nil and "D" or o.freq)
    if (stop == nil) == (o.periods == nil) then
        raise(name, "takes stop, or nil and the option 'periods': one of them")
    end
    local n, last
    if stop == nil then
        n = core.integer(name, nil, "periods", o.periods, 0, MOST_DATES)
    else
        if type(stop) ~= "string" then core.bad_argument(name, 2, "stop", 'a date such as "2024-05-01"', stop) end
        last = dates.operand(name, 2, "stop", stop)
        local span = tonumber(last - first)
        n = math.max(math.floor(span / (length or months * 28 * DAY)) + 1, 0) -- of months no fewer than there are
        if n > MOST_DATES then raise(name, "there would be %.0f dates", n) end
    end
    local steps = np.arange(n, { dtype = "i64" })
    if length and n * length > 4e17 or months and n * months > 2e5 then raise(name, "a date is after the year 9999") end
    local ticks = length and steps * length + first or moved(np.full({ n }, first, { dtype = "i64" }), steps * months)
    if last then
        local inside = #np.nonzero(np.less_equal(ticks, last))
        ticks = ticks[{ { 0, inside } }]
    end
    return checked(name, ticks)
end

-- ---- Parts ----------------------------------------------------------------------------------------------------------

--- Integers of each date: i64, or f64 with NaN where there is none.
local function part(column, f)
    local absent = missing(column)
    local value = f(np.where(absent, 0, states[column]))
    if not np.any(absent):item() then return value end
    return np.where(absent, np.nan, value:astype "f64")
end

local function days_of(ticks) return np.floor_divide(ticks, DAY) end

--- A field that is a part of the calendar: f(year, month, day, days).
local function of_calendar(f)
    return function(column)
        return part(column, function(ticks)
            local days = days_of(ticks)
            local year, month, day = calendar.civil(days, np.floor_divide)
            return f(year, month, day, days)
        end)
    end
end

--- A field that counts units of a length, up to so many.
local function of_clock(length, count)
    return function(column)
        return part(column, function(ticks) return np.remainder(np.floor_divide(ticks, length), count) end)
    end
end

--- dates.year, dates.month, dates.day, dates.hour, dates.minute, dates.second, dates.microsecond: parts of the dates of
-- a column: i64 arrays, or f64 with NaN where there is no date. Waits.
--- > day = np.to_datetime{"2024-05-01 13:30", "1969-12-31"}
--- > day.year, day.hour
-- [2024 1969]
-- [13  0]

--- dates.weekday, dates.dayofyear, dates.quarter: the day of the week, from 0 for Monday to 6, of the year, from 1, and
-- the quarter, from 1; as dates.year else.
--- > np.to_datetime{"2024-05-01"}.weekday, np.to_datetime{"2024-05-01"}.dayofyear
-- [2]
-- [122]

--- dates.ticks: the microseconds since 1970-01-01, an i64 array; the least i64 where there is no date.
--- > np.to_datetime{"1970-01-02"}.ticks
-- [86400000000]
fields.year = of_calendar(function(year) return year end)
fields.month = of_calendar(function(_, month) return month end)
fields.day = of_calendar(function(_, _, day) return day end)
fields.quarter = of_calendar(function(_, month) return np.floor_divide(month + 2, 3) end)
fields.dayofyear = of_calendar(function(year, _, _, days)
    return days - calendar.days(year, 1, 1, np.floor_divide) + 1
end)
fields.weekday = of_calendar(function(_, _, _, days) return np.remainder(days + 3, 7) end)
fields.hour, fields.minute = of_clock(3.6e9, 24), of_clock(6e7, 60)
fields.second, fields.microsecond = of_clock(1e6, 60), of_clock(1, 1e6)
function fields.ticks(column) return states[column] end

function fields.dtype() return "date" end

function fields.size(column) return #column end

-- ---- Methods --------------------------------------------------------------------------------------------------------

--- dates:isnan(): which rows of a column have no date, an array of bool.
methods.isnan = missing

--- dates:totable(): the dates of a column as texts, in a Lua table; false where there is none.
methods.totable = texts_of

--- dates:eq(d), dates:ne(d), dates:lt(d), dates:le(d), dates:gt(d), dates:ge(d): arrays of bool: which dates of a
-- column are equal to one, are not, are before it, not after it, after it, not before it: to a text as ISO 8601 has it,
-- or row by row to those of another column. A row without a date is like NaN: `ne` alone is true of it.
--- > np.date_range("2024-01-30", "2024-02-02"):ge "2024-02-01"
-- [False False  True  True]
for method, op in pairs { eq = "equal", ne = "not_equal", lt = "less", le = "less_equal", gt = "greater",
                          ge = "greater_equal" } do
    methods[method] = function(column, value)
        local other = dates.operand("dates." .. method, 1, "d", value, #column)
        local absent = missing(column)
        if is_array(other) then absent = np.logical_or(absent, np.equal(other, NONE)) end
        return np.where(absent, method == "ne", np[op](states[column], other))
    end
end

--- dates:min(), dates:max() -> string: the first and the last date of a column as a text; nil where there is none.
--- > np.date_range("2024-01-30", "2024-02-02"):max()
-- 2024-02-02
for method, reduce in pairs { min = "min", max = "max" } do
    methods[method] = function(column)
        local ticks = np.take(states[column], np.nonzero(np.logical_not(missing(column))))
        if #ticks == 0 then return nil end
        return dates.new(np[reduce](ticks):reshape { 1 })[0]
    end
end

--- dates:strftime(format): a column of texts of dates, as `format` says: conversions as np.to_datetime has them,
-- without %z.
--- > np.to_datetime{"2024-05-01 13:30"}:strftime "%A, %d %B, %I:%M %p"
-- {"Wednesday, 01 May, 01:30 PM"}
function methods.strftime(column, format)
    if type(format) ~= "string" then core.bad_argument("dates.strftime", 1, "format", "a string", format) end
    local write, letters = calendar.formatter(format)
    if not write then raise("dates.strftime", "argument 1 (format): %s", letters) end
    local grain, absent = calendar.grain(letters), missing(column)
    local ticks = np.where(absent, 0, states[column])
    ticks = calendar.begin(calendar.number(ticks, grain, np.floor_divide), grain, np.floor_divide)
    local different = np.unique(ticks) -- each is written once
    local numbers = np.where(absent, -1, np.searchsorted(different, ticks)):astype "i32"
    return text.of_numbers(numbers, #different, written(different, write))
end

--- The period that a user names.
function dates.period(name, position, freq)
    local period = type(freq) == "string" and calendar.period(freq)
    if not period then
        core.bad_argument(name, position, "freq",
                          '"s", "min", "h", "D", "W", "M", "Q", "Y", or as many seconds, minutes '
                              .. 'or hours as make up a day, as "15min"', freq)
    end
    return period
end

--- dates:floor(freq): the dates with which the periods begin in which a column's dates lie: "s", "min", "h", "D"
-- (days), "W" (weeks from Monday), "M" (months), "Q", "Y", or as many seconds, minutes or hours as make up a day, as
-- "15min".
--- > np.to_datetime{"2024-05-15", "2024-05-31"}:floor "M", np.to_datetime{"2024-05-15 13:40"}:floor "15min"
-- {2024-05-01, 2024-05-01}
-- {2024-05-15 13:30:00}
function methods.floor(column, freq)
    local period = dates.period("dates.floor", 1, freq)
    local absent = missing(column)
    local number = calendar.number(np.where(absent, 0, states[column]), period, np.floor_divide)
    return checked("dates.floor", np.where(absent, NONE, calendar.begin(number, period, np.floor_divide)))
end

--- dates:add(n, unit): dates n units later, earlier if negative: "us", "ms", "s", "min", "h", "D", "W", "M", "Q" or
-- "Y"; n is an integer, or an array of one for each row. A month that has no such day gives its last one.
--- > np.to_datetime{"2024-01-31"}:add(1, "M"), np.to_datetime{"2024-01-31"}:add(-36, "h")
-- {2024-02-29}
-- {2024-01-29 12:00:00}
function methods.add(column, n, unit)
    local name = "dates.add"
    local length, months = calendar.LENGTHS[unit], calendar.MONTHS_OF[unit]
    if not length and not months then
        core.bad_argument(name, 2, "unit", '"us", "ms", "s", "min", "h", "D", "W", "M", "Q" or "Y"', unit)
    end
    local most = math.floor(length and 4e17 / length or 2e5)
    if is_array(n) then
        local kind = core.dtype_of(n).kind
        if kind ~= "i" and kind ~= "u" or core.ndim(n) ~= 1 or #n ~= #column then
            core.bad_argument(name, 1, "n", ("an integer, or an array of %d of them"):format(#column), n)
        end
        if #n > 0 and np.any(np.logical_or(np.greater(n, most), np.less(n, -most))):item() then
            raise(name, "a date is not in the years 1 to 9999")
        end
        n = n:astype "i64"
    else
        n = core.integer(name, 1, "n", n, -most, most)
    end
    local absent = missing(column)
    local ticks = np.where(absent, 0, states[column])
    ticks = length and ticks + n * length or moved(ticks, n * months)
    return checked(name, np.where(absent, NONE, ticks))
end

--- dates:since(other, {unit="s"}): how much later the dates of a column are than one, or row by row than those of
-- another column, an f64 array; NaN where one of them is missing.
--- unit: "us", "ms", "s", "min", "h", "D" or "W"
--- > np.to_datetime{"2024-03-01", "2024-03-08 12:00"}:since("2024-02-28", {unit="D"})
-- [2.  9.5]
function methods.since(column, other, given)
    local name = "dates.since"
    local unit = core.options(name, given, { unit = true }).unit or "s"
    local length = calendar.LENGTHS[unit]
    if not length then core.bad_argument(name, nil, "unit", '"us", "ms", "s", "min", "h", "D" or "W"', unit) end
    local from = dates.operand(name, 1, "other", other, #column)
    local absent = missing(column)
    if is_array(from) then
        absent = np.logical_or(absent, np.equal(from, NONE))
        from = np.where(absent, 0, from)
    end
    local gap = np.where(absent, 0, states[column]) - from
    return np.where(absent, np.nan, gap:astype "f64" / length)
end

-- ---- The metatable --------------------------------------------------------------------------------------------------

for name, f in pairs(methods) do methods[name] = text.strict("dates." .. name, f, dates.is_dates) end

local function names_text()
    local names = {}
    for _, list in ipairs { methods, fields } do
        for name in pairs(list) do names[#names + 1] = name end
    end
    table.sort(names)
    return table.concat(names, ", ")
end

--- Whether columns of dates have a method or field of this name.
function dates.has(name) return methods[name] ~= nil or fields[name] ~= nil end

function Dates.__index(column, key)
    if type(key) == "number" then
        local n = #column
        if key % 1 ~= 0 or key < -n or key >= n then fail("index %s is out of range for %d dates", tostring(key), n) end
        if key < 0 then key = key + n end
        return texts_of(dates.new(states[column][{ { key, key + 1 } }]))[1] or nil
    end
    if is_array(key) then return columns.map(column, function(x) return x[key] end) end
    if fields[key] then return fields[key](column) end
    if methods[key] then return methods[key] end
    fail("a column of dates has no '%s' (it has %s)", tostring(key), names_text())
end

function Dates.__newindex() fail("a column of dates cannot be changed") end

function Dates.__len(column) return #states[column] end

function Dates.__tostring(column)
    local n = #column
    local shown = column
    if n > 1000 then
        shown = columns.map(column, function(x) return np.concatenate { x[{ { 0, 3 } }], x[{ { n - 3, n } }] } end)
    end
    local list = texts_of(shown)
    for k = 1, #list do list[k] = list[k] or "none" end
    if n > 1000 then table.insert(list, 4, "...") end
    return "{" .. table.concat(list, ", ") .. "}"
end

function Dates.__describe(column) return ("a column of %d dates"):format(#column) end

function Dates.__members() return fields, methods, "dates." end

return dates
