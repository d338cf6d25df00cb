--- resample.lua: rows by the periods in which their dates lie: table:resample.
local core = require "neap.core"
local tables = require "neap.tables"
local calendar = require "neap.tables.calendar"
local columns = require "neap.tables.columns"
local aggregates = require "neap.tables.aggregates"
local dates = require "neap.tables.dates"
local group = require "neap.tables.group"

local np, methods = core.np, tables.methods
local raise = core.raise
local MOST_PERIODS = 2 ^ 24

--- table:resample(name, freq, {other = "mean", …}) -> table: a row for each period from the first to the last date of a
-- column, also for those in which there is none: the date with which it begins, `count`, the number of rows (i64), and
-- what is asked of other columns, as table:group takes it. Periods are those of dates:floor: "D", "W" (weeks from
-- Monday), "M", "Q", "Y", "h", "15min", … In one without rows a sum is 0, a mean, a least value and their like are
-- missing, for which integers become f64. `first` and `last` are those by date. Rows without a date are left out.
-- Waits.
--- > t = np.table({{"day", np.to_datetime{"2024-01-05", "2024-01-20", "2024-03-01"}}, {"price", {1, 3, 5}}})
--- > t:resample("day", "M", {price = {"sum", "mean"}})
-- day         count  price_sum  price_mean
-- date          i64        i64         f64
-- 2024-01-01      2          4         2.0
-- 2024-02-01      0          0         nan
-- 2024-03-01      1          5         5.0
-- [3 rows, 4 columns]
function methods.resample(t, key, freq, asked)
    local name = "table.resample"
    local values = tables.column(t, name, key)
    if not dates.is_dates(values) then
        raise(name, "column '%s' must have dates, got %s; np.to_datetime makes them of texts and numbers", key,
              values.dtype)
    end
    local period = dates.period(name, 2, freq)
    if asked ~= nil then group.check_asked(name, 3, asked) end
    local there = columns.present(values)
    t = methods.sort(methods.filter(t, there), key)
    local number = calendar.number(t._columns[key].ticks, period, np.floor_divide)
    local first, n = 0, 0
    if t._rows > 0 then
        first = number:min():item()
        n = number:max():item() - first + 1
    end
    if n > MOST_PERIODS then raise(name, "from %s to %s there are %.0f periods", values:min(), values:max(), n) end
    local codes = (number - first):astype "i32"
    local begins = calendar.begin(np.arange(n, { dtype = "i64" }) + first, period, np.floor_divide)
    local list = { { key, dates.new(begins) }, { "count", aggregates.counts(codes, n) } }
    group.add_asked(list, name, t, asked or {}, codes, n)
    return group.result({ name = name, n = n, keys = {} }, {}, list)
end

return methods
