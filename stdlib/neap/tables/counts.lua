--- counts.lua: how often there are which rows: table:value_counts, drop_duplicates; and some of them by chance, sample.
local core = require "neap.core"
local tables = require "neap.tables"
local columns = require "neap.tables.columns"
local group = require "neap.tables.group"

local np, methods = core.np, tables.methods

--- table:value_counts(by, {normalize=false, ascending=false, sort=true}) -> table: the different values of a column, or
-- of several together, and how many rows have each, as `count` (i64), the most frequent first; equally frequent ones
-- are in the order of their values. Rows with a missing value are left out. Waits.
--- normalize: true gives the part of the rows, as `proportion` (f64)
--- ascending: true puts the least frequent first
--- sort: false keeps the order of the values
--- > t = np.table({{"city", {"Rome", "Bern", "Rome"}}})
--- > t:value_counts("city")
-- city  count
-- text    i64
-- Rome      2
-- Bern      1
-- [2 rows, 2 columns]
function methods.value_counts(t, by, given)
    local name = "table.value_counts"
    local o = core.options(name, given, { normalize = true, ascending = true, sort = true })
    by = tables.names(t, name, by)
    local groups = group.tally(t, name, by) or group.of(t, name, by)
    local counts, label = groups.counts, o.normalize and "proportion" or "count"
    local found = o.normalize and counts:astype "f64" / math.max(groups.table._rows, 1) or counts
    local result = group.result(groups, by, { { label, found } })
    if o.sort == false then return result end
    return methods.sort(result, label, { descending = not o.ascending })
end

--- table:drop_duplicates(names, {keep="first"}) -> table: of rows that are equal in some columns, in all without names,
-- one; they stay in their order. Missing values count as equal. Waits.
--- keep: which one, "first" or "last"; false leaves out all that are not unique
--- > t = np.table({{"city", {"Rome", "Bern", "Rome"}}, {"price", {1, 2, 3}}})
--- > t:drop_duplicates("city").price, t:drop_duplicates("city", {keep="last"}).price
-- [1 2]
-- [2 3]
function methods.drop_duplicates(t, names, given)
    local name = "table.drop_duplicates"
    local keep = core.options(name, given, { keep = true }).keep
    if keep == nil then keep = "first" end
    if keep ~= "first" and keep ~= "last" and keep ~= false then
        core.bad_argument(name, nil, "keep", '"first", "last" or false', keep)
    end
    names = names == nil and t._names or tables.names(t, name, names)
    if t._rows == 0 or #names == 0 then return t end
    local list = {}
    for k, key in ipairs(names) do list[k] = t._columns[key] end
    local codes = group.numbers(list)
    local order = np.argsort(codes)
    local first, last = group.ends(np.take(codes, order))
    local place = np.arange(t._rows, { dtype = "i64" })
    local kept
    if keep == false then
        kept = np.equal(first, last)
    else
        kept = np.equal(place, keep == "first" and first or last)
    end
    local rows = np.sort(np.take(order, np.nonzero(kept)))
    return tables.rows(t, function(x) return np.take(x, rows) end, #rows)
end

--- table:sample(key, n, {frac=…, replace=false, weights=…}) -> table: n of the rows, drawn by a key (np.random.key), in
-- the order in which they are drawn. n is nil where `frac` is given.
--- frac: which part of the rows, in place of n: 1 gives all rows in another order
--- replace: true may draw a row more than once
--- weights: the name of a column of numbers, in whose proportion rows are drawn
--- > t = np.table{a = {1, 2, 3, 4}}
--- > t:sample(np.random.key(1), 2).a
-- [4 3]
function methods.sample(t, key, n, given)
    local name = "table.sample"
    local o = core.options(name, given, { frac = true, replace = true, weights = true })
    if (n == nil) == (o.frac == nil) then core.raise(name, "takes n, or nil and the option 'frac': one of them") end
    if o.frac ~= nil then
        if type(o.frac) ~= "number" or not (o.frac >= 0 and o.frac < math.huge) then
            core.bad_argument(name, nil, "frac", "a number from 0 up", o.frac)
        end
        n = math.floor(o.frac * t._rows + 0.5)
    end
    n = core.integer(name, 2, "n", n, 0)
    if not o.replace and n > t._rows then
        core.raise(name, "%d of %d rows cannot be drawn once each; {replace=true} may draw one again", n, t._rows)
    end
    if n > 0 and t._rows == 0 then core.raise(name, "there are no rows to draw from") end
    local p
    if o.weights ~= nil then
        p = tables.column(t, name, o.weights)
        if columns.storage(p) ~= p or core.dtype_of(p).kind == "c" then
            core.raise(name, "the column '%s' of weights must have real numbers, got %s", o.weights, p.dtype)
        end
        p = p:astype "f64"
        local total = p:sum():item()
        if not (total > 0 and total < math.huge and p:min():item() >= 0) then
            core.raise(name, "the weights must be from 0 up, with a sum above 0, got a sum of %g", total)
        end
        p = p / total
    end
    local picks = n == 0 and np.zeros({ 0 }, { dtype = "i32" })
        or np.random.choice(key, t._rows, { n }, { replace = o.replace or false, p = p })
    return tables.rows(t, function(x) return np.take(x, picks) end, n)
end

return methods
