--- table_dates_test.lua: contracts of columns of dates against pandas, of the years 1 to 9999; texts of dates both
-- ways.
-- (sanitized with --long)
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local of, finish, _, _, held = require "tests.lib.contracts" "table_dates"

local FIRST, LAST = -62135596800, 253402300799 -- seconds of the years 1 to 9999

--- Seconds since 1970, or days: near to it, in all years, at ends of years and days.
local function numbers(from, to)
    return function(random, dims, dtype)
        local list = {}
        for k = 1, dims[1] do
            local way = random(3)
            local value = math.floor(from + (to - from) * (random(2 ^ 26) - 1) / 2 ^ 26)
            if way == 2 then value = math.floor(value / 86400) * 86400 - random(2) + 1 end
            if way == 3 then value = random(2e6) - 1e6 end
            list[k] = math.min(math.max(value, from), to)
        end
        return cases.array(list, dims, dtype)
    end
end

local WAITS = "it waits for values, which np.jit, programs and np.vmap do not have"
local DATES = "dates are whole ticks, which have no derivative"
local NUMBERS = "numbers are drawn among those that are dates"
local function without(more)
    local list = { jit = WAITS, programs = WAITS, vmap = WAITS, derivatives = DATES, numbers = "a number is no column",
                   special = NUMBERS }
    for way, reason in pairs(more or {}) do list[way] = reason end
    return list
end

local SHAPES = { { { 12 } }, { { 1 } }, { { 0 } }, { { 40 } } }
local SECONDS = { "n", make = numbers(FIRST, LAST) }

local function dates(n) return np.to_datetime(n, { unit = "s" }) end

-- ---- Texts ----------------------------------------------------------------------------------------------------------

local function test_texts()
    for text, want in pairs {
        ["1970-01-01"] = 0, ["1970-01-02T00:00:01Z"] = 86401e6, ["2000-02-29 23:59:59.999999"] = 951868799999999,
        ["1969-12-31T23:59:59.5"] = -500000, ["1970-01-01T02:00+02:00"] = 0, ["1970-01-01 00:00-0130"] = 5400e6,
        ["19700102"] = 86400e6, ["19700101T0102"] = 3720e6, ["1970-02"] = 31 * 86400e6, [" 1970-01-01 "] = 0,
        ["1970-01-01T00:00:00,25"] = 250000, ["1970-01-01 00:00:00.1234567899"] = 123456,
        ["1970-01-01t01:00:00+01"] = 0, ["0001-01-01"] = FIRST * 1e6, ["9999-12-31"] = (LAST - 86399) * 1e6,
    } do
        check.equal(np.to_datetime({ text }).ticks:totable(), np.array({ want }, { dtype = "i64" }):totable(), text)
    end
    for _, text in ipairs {
        "", "x", "2024", "2024-13-01", "2024-00-10", "2024-02-30", "1900-02-29", "2024-1-5", "24-01-05", "0000-01-01",
        "2024-01-05 24:00", "2024-01-05 10:60", "2024-01-05 10:00:60", "2024-01-05T", "2024-01-05 10", "-2024-01-05",
        "2024-01-05 10:00:00.", "2024-01-05 10:00 x", "2024-01-05 10:00+25:00", "2024-01-05\0", "２０２４-01-05",
        "2024-01-05 10:00:00+1",
    } do
        check.raises(function() np.to_datetime { text } end, "np%.to_datetime: .* is no date as ISO 8601 has it")
        check.equal(np.to_datetime({ text }, { errors = "coerce" }):totable(), { false })
    end
    for _, case in ipairs {
        { "5.1.2024", "%d.%m.%Y", "2024-01-05" }, { "Jan 05, 69", "%b %d, %y", "1969-01-05" },
        { "january 5 68", "%B %d %y", "2068-01-05" }, { "12:30 AM 060 2024", "%I:%M %p %j %Y", "2024-02-29 00:30:00" },
        { "Fri 2024-01-05 10:00:00.25 +0100", "%a %F %T.%f %z", "2024-01-05 09:00:00.250000" },
        { "100%05/01/24", "100%%%D", "2024-05-01" }, { "2024  3", "%Y %m", "2024-03-01" },
    } do check.equal(np.to_datetime({ case[1] }, { format = case[2] })[0], case[3]) end
    for _, case in ipairs {
        { "2024-01-05x", "%F" }, { "13 2024", "%m %Y" }, { "366 2023", "%j %Y" }, { "13 PM 2024", "%I %p %Y" },
        { "Jux", "%b" }, { "10", "%d" }, { "2024-02-30", "%Y-%m-%d" }, { "", "%Y" },
    } do
        check.raises(function() np.to_datetime({ case[1] }, { format = case[2] }) end, "is no date of the format")
    end
    check.raises(function() np.to_datetime({ "1" }, { format = "%Q" }) end,
                 "option 'format': %%Q is no conversion; there are")
    check.raises(function() np.to_datetime({ "1" }, { format = "%" }) end, "option 'format'")
    check.raises(function() np.to_datetime { 1, 2 } end, "item 1 of a column of texts must be a string")
    check.raises(function() np.to_datetime(np.ones(2)) end, "unit")
    check.raises(function() np.to_datetime(np.array { 1e30 }, { unit = "s" }) end, "not in the years 1 to 9999")
    check.raises(function() np.to_datetime(np.array { np.inf }, { unit = "s" }) end, "not in the years 1 to 9999")
    check.equal(np.to_datetime(np.array { np.nan, 0.5 }, { unit = "s" }):totable(),
                { false, "1970-01-01 00:00:00.500000" })
end

--- Dates as texts and back, of all forms.
local function test_both_ways()
    local random = seeds.generator(5)
    local list = numbers(FIRST, LAST)(random, { 60 }, "i64")
    local d = np.to_datetime(np.concatenate { list * 1000000 + np.arange(60) * 7, list * 1000000 }, { unit = "us" })
    for _, format in ipairs { "%F %T.%f", "%d/%m/%Y %I:%M:%S.%f %p", "%j %Y %H %M %S %f",
                              "%A, %d. %B %Y %H:%M:%S.%f" } do
        local texts = d:strftime(format)
        check.ok(np.array_equal(np.to_datetime(texts, { format = format }).ticks, d.ticks), format)
    end
    check.ok(np.array_equal(np.to_datetime(d:totable()).ticks, d.ticks))
    check.equal(np.to_datetime({ false, "2024-01-05" }):strftime("%d"):totable(), { false, "05" })
    check.raises(function() d:strftime "%z" end, "%%z is no conversion")
end

local PARTS = { "year", "month", "day", "hour", "minute", "second", "microsecond", "weekday", "dayofyear", "quarter" }

of("np.to_datetime", {
    args = { SECONDS }, accepts = "i64", gives = "i64", special = false, shapes = SHAPES,
    options = { { unit = "s" } }, unseen = { format = "a test of texts has it", errors = "a test of texts has it" },
    call = function(f, o, n)
        local d = f(n, o)
        local list = { d.ticks }
        for k, name in ipairs(PARTS) do list[k + 1] = d[name] end
        return list
    end,
    oracle = "(lambda s: [of_dates(s)] + [getattr(s.dt, part).to_numpy(int) for part in PARTS])(ticks(n, o['unit']))",
    without = without(), also = { texts = test_texts, ["both ways"] = test_both_ways },
})

held("dates.year dates.month dates.day dates.hour dates.minute dates.second dates.microsecond dates.weekday "
     .. "dates.dayofyear dates.quarter dates.ticks", "pandas, in the contract of np.to_datetime", {
    values = function()
        local d = np.to_datetime { "2024-05-01 13:30:05.25", false }
        local want = { 2024, 5, 1, 13, 30, 5, 250000, 2, 122, 2 }
        for k, name in ipairs(PARTS) do check.equal(d[name]:totable(), { want[k], 0 / 0 }, name) end
        check.equal({ d.dtype, d.year.dtype, d.ticks.dtype, #d, d.size }, { "date", "f64", "i64", 2, 2 })
        check.raises(function() return d.years end, "a column of dates has no 'years' %(it has add, day, dayofyear")
        check.raises(function() d.year = 1 end, "cannot be changed")
        check.raises(function() return d[2] end, "index 2 is out of range for 2 dates")
    end,
})

held("dates.totable dates.isnan dates.strftime", "texts that are known", {
    values = function()
        local d = np.to_datetime { "2024-05-01", false, "2024-05-02" }
        check.equal(d:totable(), { "2024-05-01", false, "2024-05-02" })
        check.equal(d:isnan():totable(), { false, true, false })
        check.equal(tostring(d), "{2024-05-01, none, 2024-05-02}")
        check.equal(np.to_datetime({ "2024-05-01", "2024-05-02 01:00" }):totable(),
                    { "2024-05-01 00:00:00", "2024-05-02 01:00:00" })
        check.equal({ d[0], d[-1], d[1] }, { "2024-05-01", "2024-05-02", nil })
        check.equal(tostring(np.date_range("2024-01-01", nil, { periods = 1001 })),
                    "{2024-01-01, 2024-01-02, 2024-01-03, ..., 2026-09-25, 2026-09-26, 2026-09-27}")
        check.equal(d:strftime("%a %d"):totable(), { "Wed 01", false, "Thu 02" })
    end,
})

for _, method in ipairs { "eq", "ne", "lt", "le", "gt", "ge" } do
    of("dates." .. method, {
        args = { SECONDS, { "m", make = numbers(-1e5, 1e5) } }, accepts = "i64", gives = "bool", special = false,
        shapes = { { { 12 }, { 12 } }, { { 1 }, { 1 } }, { { 0 }, { 0 } } },
        call = function(_, o, n, m)
            local d = dates(n)
            return d[method](d, dates(m), next(o) and o or nil), d[method](d, "1970-01-01"), d[method](d, d)
        end,
        oracle = ("(lambda s, t: [s.%s(t), s.%s(pd.Timestamp('1970-01-01')), s.%s(s)])(ticks(n), ticks(m))"):format(
            method, method, method),
        without = without(),
        refuses = { { "d%) must be a date such as", function()
            local d = np.to_datetime { "2024-05-01" }
            d[method](d, "x")
        end }, { "columns of 1 and 2 dates", function()
            local d = np.to_datetime { "2024-05-01" }
            d[method](d, d[np.array({ 0, 0 }, { dtype = "i32" })])
        end } },
        also = { missing = function()
            local d = np.to_datetime { false, "2024-05-01" }
            local equal = method == "eq" or method == "le" or method == "ge"
            check.equal(d[method](d, d):totable(), { method == "ne", equal })
            check.equal(d[method](d, "2024-05-01"):totable(), { method == "ne", equal })
            check.equal(d[method](d, d).dtype, "bool")
        end },
    })
end

held("dates.min dates.max", "the first and the last in order", {
    values = function()
        local d = np.to_datetime { "2024-05-01", false, "1969-05-01", "2024-05-01 00:00:01" }
        check.equal({ d:min(), d:max() }, { "1969-05-01", "2024-05-01 00:00:01" })
        check.equal({ np.to_datetime({ false }):min(), np.to_datetime({ false }):max() }, {})
    end,
})

-- ---- Arithmetic -----------------------------------------------------------------------------------------------------

of("dates.floor", {
    args = { { "n", make = numbers(-6e10, 2.4e11) } }, accepts = "i64", gives = "i64", special = false, shapes = SHAPES,
    call = function(_, o, n)
        local list = {}
        for k, freq in ipairs { "s", "min", "15min", "h", "6h", "D", "W", "M", "Q", "Y" } do
            list[k] = dates(n):floor(freq, next(o) and o or nil).ticks
        end
        return list
    end,
    oracle = "[floored(ticks(n), freq) for freq in ('s', 'min', '15min', 'h', '6h', 'D', 'W', 'M', 'Q', 'Y')]",
    without = without(),
    refuses = {
        { "freq%) must be", function() np.to_datetime({ "2024-05-01" }):floor "x" end },
        { "freq%) must be", function() np.to_datetime({ "2024-05-01" }):floor "7h" end },
        { "freq%) must be", function() np.to_datetime({ "2024-05-01" }):floor "2D" end },
        { "freq%) must be", function() np.to_datetime({ "2024-05-01" }):floor(1) end },
    },
})

of("dates.add", {
    args = { { "n", make = numbers(-5e9, 2e11) } }, accepts = "i64", gives = "i64", special = false, within = "exact",
    shapes = { { { 12 } }, { { 1 } }, { { 0 } } },
    call = function(_, o, n)
        local d, list = dates(n), {}
        for k, unit in ipairs { "us", "s", "h", "D", "W", "M", "Q", "Y" } do
            list[k] = d:add(k % 2 == 0 and 11 or -13, unit, next(o) and o or nil).ticks
        end
        list[#list + 1] = d:add(np.arange(#n, { dtype = "i64" }) - 3, "M").ticks
        return list
    end,
    oracle = "[moved(ticks(n), -13 if k % 2 else 11, u) for k, u in enumerate('us s h D W M Q Y'.split(), 1)]"
        .. " + [np.array([moved(ticks(n[k:k + 1]), k - 3, 'M')[0] for k in range(len(n))], int)]",
    without = without(),
    refuses = {
        { "not in the years 1 to 9999", function() np.to_datetime({ "9999-12-01" }):add(1, "M") end },
        { "n%) must be an integer from", function() np.to_datetime({ "2024-05-01" }):add(2 ^ 50, "D") end },
        { "unit%) must be", function() np.to_datetime({ "2024-05-01" }):add(1, "month") end },
        { "n%) must be an integer, or an array of 1", function()
            np.to_datetime({ "2024-05-01" }):add(np.ones(1), "D")
        end },
    },
})

of("dates.since", {
    args = { SECONDS, { "m", make = numbers(-1e9, 1e9) } }, accepts = "i64", gives = "f64", special = false,
    shapes = { { { 12 }, { 12 } }, { { 1 }, { 1 } }, { { 0 }, { 0 } } },
    options = { {}, { unit = "D" }, { unit = "us" }, { unit = "W" } },
    call = function(_, o, n, m)
        o = next(o) and o or nil
        return dates(n):since(dates(m), o), dates(n):since("1970-01-02", o)
    end,
    oracle = "[(of_dates(ticks(n)) - t) / LENGTHS[o.get('unit', 's')] for t in (of_dates(ticks(m)), 86400 * 10**6)]",
    without = without(),
    refuses = { { "unit", function() np.to_datetime({ "2024-05-01" }):since("2024-05-01", { unit = "M" }) end } },
    also = { missing = function()
        local d = np.to_datetime { "2024-05-01", false }
        check.equal(d:since(d[np.array({ 1, 0 }, { dtype = "i32" })]):totable(), { 0 / 0, 0 / 0 })
    end },
})

local RANGES = { { freq = "D", periods = 40 }, { freq = "M", periods = 26 }, { freq = "15min", periods = 7 },
                 { freq = "2W", periods = 5 },
                 { freq = "3M", periods = 9 }, { freq = "Y", periods = 6 }, { periods = 0 } }

of("np.date_range", {
    args = { { "n", dtype = "i64", from = 0, to = 0 } }, accepts = "i64", gives = "i64", special = false,
    shapes = { { { 1 } } }, options = RANGES,
    call = function(f, o)
        local list = {}
        for k, first in ipairs { "2024-01-31", "1968-02-29 10:30" } do list[k] = f(first, nil, o).ticks end
        return list
    end,
    oracle = "[stepped(first, o['periods'], o.get('freq', 'D')) for first in ('2024-01-31', '1968-02-29 10:30')]",
    without = without { strided = "its arguments are texts", mesh = "its arguments are texts" },
    refuses = {
        { "takes stop, or nil and the option 'periods'", function() np.date_range "2024-01-01" end },
        { "takes stop, or nil and the option 'periods'", function()
            np.date_range("2024-01-01", "2024-01-02", { periods = 2 })
        end },
        { "start%) must be a date", function() np.date_range("x", "2024-01-02") end },
        { "freq", function() np.date_range("2024-01-01", "2024-01-02", { freq = "month" }) end },
        { "there would be", function() np.date_range("0001-01-01", "9999-01-02", { freq = "us" }) end },
        { "after the year 9999", function() np.date_range("2024-01-01", nil, { freq = "Y", periods = 1e6 }) end },
    },
    also = { stop = function()
        check.equal(np.date_range("2024-02-27", "2024-03-01"):totable(),
                    { "2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01" })
        check.equal(#np.date_range("2024-02-27", "2024-02-26"), 0)
        for _, freq in ipairs { "M", "Q", "Y", "5M", "7D" } do
            local d = np.date_range("2023-10-31", "2031-10-31", { freq = freq })
            local more = np.date_range("2023-10-31", nil, { freq = freq, periods = #d + 1 })
            check.ok(d:max() <= "2031-10-31" and more[-1] > "2031-10-31", freq)
        end
    end },
})

-- ---- Tables ---------------------------------------------------------------------------------------------------------

local KINDS, RESULTS = { "i64", "i64", "f64", "f64", "f64", "f64", "f64", "i64" }, {}
for k = 0, 5 * #KINDS - 1 do RESULTS[k + 1] = KINDS[k % #KINDS + 1] end

of("table.resample", {
    args = { { "n", make = numbers(1.6e9, 1.62e9) }, "v" }, accepts = "f64 i64", special = false,
    shapes = { { { 12 }, { 12 } }, { { 1 }, { 1 } }, { { 40 }, { 40 } } },
    gives = RESULTS, within = { f64 = "rel 1e-12" },
    call = function(_, o, n, v)
        local list, t = {}, np.table { { "n", dates(np.maximum(n, 1.6e9)) }, { "v", v:astype "f64" } }
        for _, freq in ipairs { "D", "W", "M", "Q", "Y" } do
            local r = t:resample("n", freq, { v = { "sum", "mean", "min", "last", "median", "nunique" } },
                                 next(o) and o or nil)
            for _, name in ipairs(r.columns) do list[#list + 1] = name == "n" and r.n.ticks or r:column(name) end
        end
        return list
    end,
    oracle = "[x for freq in ('D', 'W', 'M', 'Q', 'Y') for x in resampled(np.maximum(n, 1600000000), v, freq)]",
    without = without(),
    refuses = {
        { "column 'a' must have dates, got i64; np.to_datetime makes", function()
            np.table({ a = { 1 } }):resample("a", "D")
        end },
        { "freq%) must be", function() np.table({ a = np.to_datetime { "2024-01-01" } }):resample("a", "x") end },
        { "from 0001%-01%-01 to 9999%-12%-31 there are", function()
            np.table({ a = np.to_datetime { "0001-01-01", "9999-12-31" } }):resample("a", "s")
        end },
        { "argument 3", function() np.table({ a = np.to_datetime { "2024-01-01" } }):resample("a", "D", "mean") end },
    },
    also = { gaps = function()
        local t = np.table { { "d", np.to_datetime { "2024-03-01", false, "2024-01-05" } }, { "n", { 1, 2, 3 } },
                             { "s", { "a", "b", "c" } }, { "e", np.to_datetime { "2024-03-01", false, "2024-01-05" } } }
        local r = t:resample("d", "M", { n = { "sum", "max", big = function(x) return x:max() end }, s = "first",
                                         e = "min" })
        check.equal(r:totable(), { d = { "2024-01-01", "2024-02-01", "2024-03-01" }, count = { 1, 0, 1 },
                                   n_sum = { 3, 0, 1 }, n_max = { 3, 0 / 0, 1 }, n_big = { 3, 0 / 0, 1 },
                                       s_first = { "c", false, "a" },
                                   e_min = { "2024-01-05", false, "2024-03-01" } })
        check.equal({ #t:head(0):resample("d", "D"), r.n_sum.dtype, r.n_max.dtype }, { 0, "i64", "f64" })
    end, ["other methods"] = function()
        local t = np.table { { "d", np.to_datetime { "2024-03-01", false, "2024-01-05", "2024-03-01" } },
                             { "n", { 1, 2, 3, 4 } } }
        check.equal(t:sort("d").n:totable(), { 3, 1, 4, 2 })
        check.equal(t:sort("d", { descending = true }).n:totable(), { 1, 4, 3, 2 })
        check.equal(t:group("d", { n = "sum" }):totable(), { d = { "2024-01-05", "2024-03-01" }, count = { 1, 2 },
                                                             n_sum = { 3, 5 } })
        check.equal(t:drop_duplicates("d").n:totable(), { 1, 2, 3 })
        check.equal(t:isna("d"):totable(), { false, true, false, false })
        check.equal({ #t:dropna(), t:fillna({ d = "2000-01-01" }).d[1], t:ffill().d[1] },
                    { 3, "2000-01-01", "2024-03-01" })
        check.equal(t:join(t:head(3), { on = "d", how = "outer" }):totable().n_right, { 1, 2, 3, 1 })
        check.equal(t:concat(t:tail(1)).d:totable()[5], "2024-03-01")
        check.equal(t:shift("d"):totable(), { false, "2024-03-01", false, "2024-01-05" })
        check.equal(t:rank("d"):totable(), { 2.5, 0 / 0, 1, 2.5 })
        check.equal(t:row(0), { d = "2024-03-01", n = 1 })
        check.equal(t:value_counts("d").d:totable(), { "2024-03-01", "2024-01-05" })
        check.equal(t:dropna():with({ v = { 1, 2, 3 } }):pivot({ index = "n", columns = "d", values = "v" }).columns,
                    { "n", "2024-01-05", "2024-03-01" })
        check.raises(function() t:to_array() end, "column 'd' has dates; .* its ticks")
        check.raises(function() t:fillna { d = 1 } end, "value' must be a date")
        check.raises(function() t:agg { d = "mean" } end, "column 'd' has dates, of which there is no mean")
        check.raises(function() t:diff "d" end, "must have numbers, got date")
        local lines = {}
        for line in tostring(t):gmatch "[^\n]+" do lines[#lines + 1] = line end
        check.equal(lines, { "d             n", "date        i64", "2024-03-01    1", "-             2",
                             "2024-01-05    3", "2024-03-01    4", "[4 rows, 2 columns]" })
    end },
})

finish()
