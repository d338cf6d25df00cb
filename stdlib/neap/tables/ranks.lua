--- ranks.lua: where the values of a column stand among the others: table:rank; and between which edges: cut, qcut.
local core = require "neap.core"
local tables = require "neap.tables"
local columns = require "neap.tables.columns"
local group = require "neap.tables.group"
local text = require "neap.tables.text"

local np, methods = core.np, tables.methods
local raise, bad_argument = core.raise, core.bad_argument

-- By name the rank of elements in order, from 0 over all groups; of the places of the first and of the last equal one,
-- and of their own.
local RANKS = {
    average = function(first, last) return (first + last):astype "f64" * 0.5 end,
    min = function(first) return first:astype "f64" end,
    max = function(_, last) return last:astype "f64" end,
    first = function(_, _, place) return place:astype "f64" end,
}

--- The ranks of a column's storage x, without what is missing, in groups with numbers: an f64 array.
local function ranked(x, codes, method, ascending, pct)
    local order = np.argsort(x, { descending = not ascending })
    order = np.take(order, np.argsort(np.take(codes, order)))
    x, codes = np.take(x, order), np.take(codes, order)
    local begins, n = group.changes(x, codes), #x
    local place, equals = np.arange(n, { dtype = "i64" }), np.cumsum(begins:astype "i64")
    local from, to = group.ends(codes)
    local result, count
    if method == "dense" then
        local base = np.take(equals, from)
        result, count = (equals - base + 1):astype "f64", np.take(equals, to) - base + 1
    else
        local first, last = group.ends(equals)
        result, count = RANKS[method](first, last, place) - from:astype "f64" + 1, to - from + 1
    end
    if pct then result = result / count:astype "f64" end
    return np.zeros({ n }, { dtype = "f64" }):at { order }:set(result)
end

--- table:rank(name, {method="average", ascending=true, pct=false, by=…}): the ranks of a column's values, from 1, as an
-- f64 array; NaN where a value is missing.
--- method: the rank of equal values: "average", "min", "max", "first" (in the order of the rows), or "dense": as "min",
-- and the next one is greater by 1
--- ascending: false gives the greatest the rank 1
--- pct: true divides by how many there are
--- by: the column, or a list of columns, by whose values rows are grouped: ranks are those in each group
--- > t = np.table({{"city", {"Rome", "Bern", "Rome", "Bern"}}, {"price", {3, 1, 3, 2}}})
--- > t:rank "price", t:rank("price", {by="city", method="min", ascending=false})
-- [3.5 1.  3.5 2. ]
-- [1. 2. 1. 1.]
function methods.rank(t, key, given)
    local name = "table.rank"
    local o = core.options(name, given, { method = true, ascending = true, pct = true, by = true })
    local method = o.method or "average"
    if method ~= "dense" and not RANKS[method] then
        bad_argument(name, nil, "method", '"average", "min", "max", "first" or "dense"', method)
    end
    local laid, values = group.laid(t, name, o.by), tables.column(t, name, key)
    local there, rows = columns.present(values), laid.order
    local codes = laid.codes
    if there then
        local places = np.nonzero(np.take(there, rows))
        rows, codes = np.take(rows, places), np.take(codes, places)
    end
    local result = np.full({ t._rows }, np.nan, { dtype = "f64" })
    if #rows == 0 then return result end
    local found = ranked(np.take(columns.storage(values), rows), codes, method, o.ascending ~= false, o.pct)
    return result:at { rows }:set(found)
end

-- ---- Intervals ------------------------------------------------------------------------------------------------------

--- The column of real numbers that is cut, as an f64 array.
local function numbers_of(t, name, key)
    local values = tables.column(t, name, key)
    if columns.storage(values) ~= values or core.dtype_of(values).kind == "c" then
        raise(name, "column '%s' must have real numbers, got %s", key, values.dtype)
    end
    return values:astype "f64"
end

--- A number rounded to so many digits behind the point, or, below 1, to so many that count.
local function rounded(x, digits)
    local whole, part = math.modf(x)
    if part == 0 or part ~= part then return x end
    if whole == 0 then digits = digits - 1 - math.floor(math.log10(math.abs(part))) end
    local scaled = x * 10 ^ digits
    if digits > 99 or math.abs(scaled) > 2 ^ 52 then return x end
    local near = math.floor(scaled + 0.5)
    if near - scaled == 0.5 and near % 2 == 1 then near = near - 1 end -- of two equally near ones the even one
    return near / 10 ^ digits
end

--- Texts of edges with the fewest digits, from three on, that tell them apart.
local function edge_texts(edges, lowest)
    local whole = true
    for _, edge in ipairs(edges) do whole = whole and edge % 1 == 0 end
    if whole and not lowest then
        local texts = {}
        for k, edge in ipairs(edges) do texts[k] = ("%.14g"):format(edge) end
        return texts
    end
    for digits = 3, 17 do
        local texts, apart = {}, true
        for k, edge in ipairs(edges) do
            local shown = rounded(edge, digits)
            if k == 1 and lowest then shown = rounded(shown - 10 ^ -digits, digits) end
            texts[k] = ("%.15g"):format(shown)
            if texts[k]:find "^-?%d+$" then texts[k] = texts[k] .. ".0" end
            apart = apart and texts[k] ~= texts[k - 1]
        end
        if apart or digits == 17 then return texts end
    end
end

--- The labels of n intervals that a user gives, or those of their edges.
local function labels_of(name, given, edges, right, lowest)
    local n = #edges - 1
    if given ~= nil then
        if type(given) ~= "table" or #given ~= n then
            bad_argument(name, nil, "labels", ("a list of %d strings, one for each interval"):format(n), given)
        end
        local seen, labels = {}, {}
        for k, label in ipairs(core.list(name, "option 'labels'", given)) do
            if type(label) ~= "string" or seen[label] then
                raise(name, "option 'labels' must hold different strings, got %s as item %d", core.describe(label), k)
            end
            seen[label], labels[k] = true, label
        end
        return labels
    end
    local texts, labels = edge_texts(edges, lowest and right), {}
    for k = 1, n do
        labels[k] = (right and "(%s, %s]" or "[%s, %s)"):format(texts[k], texts[k + 1])
    end
    return labels
end

--- A column of the intervals in which values lie, in their order; no text outside of all.
local function placed(name, values, edges, o, right, lowest)
    local labels = labels_of(name, o.labels, edges, right, lowest)
    local bounds = np.array(edges, { dtype = "f64" })
    local numbers = np.searchsorted(bounds, values, { side = right and "left" or "right" }) - 1
    if lowest then numbers = np.where(np.equal(values, edges[1]), 0, numbers) end
    local outside = np.logical_or(np.isnan(values), np.logical_or(np.less(numbers, 0),
                                                                  np.greater_equal(numbers, #labels)))
    return text.new(labels, np.where(outside, -1, numbers):astype "i32", true)
end

--- The finite least and greatest value of an array; raises where there is none.
local function range_of(name, key, values)
    local there = np.take(values, np.nonzero(np.logical_not(np.isnan(values))))
    if #there == 0 then raise(name, "column '%s' has no values, so there are no edges", key) end
    local least, most = there:min():item(), there:max():item()
    if least == -math.huge or most == math.huge then
        raise(name, "column '%s' has infinities, between which there are no edges; give a list of them", key)
    end
    return least, most, there
end

--- Edges of n intervals of one width from the least to the greatest value, which is inside: so the outer edge on the
-- open side lies a little beyond.
local function even_edges(name, key, values, n, right)
    local least, most = range_of(name, key, values)
    local margin = (most - least) * 0.001
    if least == most then
        local by = least ~= 0 and 0.001 * math.abs(least) or 0.001
        least, most, margin = least - by, most + by, 0
    end
    local edges = np.linspace(least, most, n + 1, { dtype = "f64" }):totable()
    if right then edges[1] = edges[1] - margin else edges[n + 1] = edges[n + 1] + margin end
    return edges
end

--- A list of numbers that a user gives, each at least as great as the one before, from `low` to `high`.
local function rising(name, position, what, list, low, high, strictly)
    if core.is_array(list) then list = list:totable() end
    if type(list) ~= "table" or getmetatable(list) ~= nil or #list < 2 then
        bad_argument(name, position, what, "an integer from 1 up, or a list of at least two numbers", list)
    end
    local edges = {}
    for k, edge in ipairs(core.list(name, "the list of " .. what, list)) do
        edge = core.plain(edge)
        if type(edge) ~= "number" or not (edge >= low and edge <= high)
            or k > 1 and not (edge > edges[k - 1] or not strictly and edge == edges[k - 1]) then
            raise(name, "%s must be numbers%s that rise, got %s as item %d", what,
                  high < math.huge and (" from %g to %g"):format(low, high) or "", core.describe(edge), k)
        end
        edges[k] = edge
    end
    return edges
end

--- table:cut(name, bins, {labels=…, right=true, include_lowest=false}) -> column: between which edges the values of a
-- column of numbers lie: texts such as "(0, 10]", which are sorted and grouped in the order of the edges. `bins` are
-- the edges, which rise, or how many intervals of one width there are from the least to the greatest value. A value
-- outside of all, or NaN, gives no text. Waits.
--- labels: a list of strings, one for each interval, in place of texts of their edges
--- right: false makes intervals that begin with their left edge, "[0, 10)"
--- include_lowest: true lets the first interval have its left edge too
--- > t = np.table{age = {3, 40, 18, 70}}
--- > t:cut("age", {0, 18, 65, 120}, {labels={"child", "adult", "old"}})
-- {"child", "adult", "child", "old"}
--- > t:cut("age", {0, 18, 65, 120}, {right=false})
-- {"[0, 18)", "[18, 65)", "[18, 65)", "[65, 120)"}
function methods.cut(t, key, bins, given)
    local name = "table.cut"
    local o = core.options(name, given, { labels = true, right = true, include_lowest = true })
    local values, right = numbers_of(t, name, key), o.right ~= false
    local count = core.plain(bins)
    local edges
    if type(count) == "number" then
        edges = even_edges(name, key, values, core.integer(name, 2, "bins", count, 1, 2 ^ 20), right)
    else
        edges = rising(name, 2, "bins", bins, -math.huge, math.huge, true)
    end
    return placed(name, values, edges, o, right, o.include_lowest and right)
end

--- table:qcut(name, q, {labels=…, duplicates="raise"}) -> column: as table:cut, with quantiles as edges: between them
-- lie equally many values. q is how many intervals there are, or a list of numbers from 0 to 1. The first interval has
-- its left edge too. Waits.
--- labels: a list of strings, one for each interval, in place of texts of their edges
--- duplicates: "drop" leaves out an edge that equals the one before, which raises else
--- > np.table{x = {1, 2, 3, 4, 50}}:qcut("x", 2)
-- {"(0.999, 3.0]", "(0.999, 3.0]", "(0.999, 3.0]", "(3.0, 50.0]", "(3.0, 50.0]"}
function methods.qcut(t, key, q, given)
    local name = "table.qcut"
    local o = core.options(name, given, { labels = true, duplicates = true })
    local duplicates = o.duplicates or "raise"
    if duplicates ~= "raise" and duplicates ~= "drop" then
        bad_argument(name, nil, "duplicates", '"raise" or "drop"', duplicates)
    end
    local values = numbers_of(t, name, key)
    local count = core.plain(q)
    local fractions
    if type(count) == "number" then
        count, fractions = core.integer(name, 2, "q", count, 1, 2 ^ 20), {}
        for k = 0, count do fractions[k + 1] = k / count end
    else
        fractions = rising(name, 2, "q", q, 0, 1, true)
    end
    local _, _, there = range_of(name, key, values)
    local edges = {}
    for k, edge in ipairs(np.quantile(there, np.array(fractions, { dtype = "f64" })):totable()) do
        if k == 1 or edge ~= edges[#edges] then
            edges[#edges + 1] = edge
        elseif duplicates == "raise" then
            raise(name, "two edges are %g, since so many values of column '%s' are equal; {duplicates=\"drop\"} leaves "
                      .. "one out", edge, key)
        end
    end
    if #edges < 2 then raise(name, "all edges are %g, between which there is no interval", edges[1]) end
    return placed(name, values, edges, o, true, true)
end

return methods
