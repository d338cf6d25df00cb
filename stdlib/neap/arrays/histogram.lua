--- histogram.lua: how many elements fall between edges, in one dimension or several.
--
-- An element belongs to the bin [edge, next edge), the last one of which has both its ends. Between even edges the bin
-- is computed and then compared with the edges, so that it is the one that they say. Elements outside, and NaN, get a
-- place behind all bins, where nothing is written.

--- {range}: the ends {low, high} of the bins; the smallest and the greatest element without it
--- {weights}: what each element counts, of x's shape; 1 without it
--- {density}: true divides by the total and by the sizes of the bins, so that the integral is 1

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local reduces = require "neap.arrays.reduce"

local np, define = core.np, core.define
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local operand = create.operand

-- ---- Numbers of bins by rules ---------------------------------------------------------------------------------------

--- The width of bins by rules that NumPy has too; n: how many elements, at least one.
local WIDTHS = {
    sqrt = function(x, n) return np.ptp(x):item() / math.sqrt(n) end,
    sturges = function(x, n) return np.ptp(x):item() / (math.log(n) / math.log(2) + 1) end,
    rice = function(x, n) return np.ptp(x):item() / (2 * n ^ (1 / 3)) end,
    scott = function(x, n) return (24 * math.sqrt(math.pi) / n) ^ (1 / 3) * np.std(x):item() end,
    fd = function(x, n)
        local quartiles = np.percentile(x, { 25, 75 }):totable()
        return 2 * (quartiles[2] - quartiles[1]) / n ^ (1 / 3)
    end,
}

function WIDTHS.doane(x, n)
    local sigma = np.std(x):item()
    if n < 3 or sigma == 0 then return 0 end
    local skew = math.abs(np.mean(((x - np.mean(x)) / sigma) ^ 3):item())
    local sg1 = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return np.ptp(x):item() / (1 + math.log(n) / math.log(2) + math.log(1 + skew / sg1) / math.log(2))
end

function WIDTHS.auto(x, n)
    local width, sturges = WIDTHS.fd(x, n), WIDTHS.sturges(x, n)
    return width > 0 and math.min(width, sturges) or sturges
end

--- Stone's rule: the number of bins, up to 100 or the root of n, with the least estimated error by leaving one out.
function WIDTHS.stone(x, n, given)
    local whole = np.ptp(x):item()
    if n <= 1 or whole == 0 then return 0 end
    local losses = {}
    for bins = 1, math.max(100, math.floor(math.sqrt(n))) do
        local shares = np.astype(np.histogram(x, bins, { range = given }), "f64") / n
        losses[bins] = (2 - np.vecdot(shares, shares) * (n + 1)) * bins
    end
    return whole / (np.argmin(np.stack(losses)):item() + 1)
end

--- How many bins a rule gives. Waits.
local function count_by_rule(name, rule, x, given, weights)
    local width_of = WIDTHS[rule]
    if not width_of then
        local list = {}
        for known in pairs(WIDTHS) do list[#list + 1] = ("%q"):format(known) end
        table.sort(list)
        bad_argument(name, nil, "bins", "a number of bins, an array of edges, or one of " .. table.concat(list, ", "),
                     rule)
    end
    if weights ~= nil then raise(name, "a rule for bins, %q, knows no weights", rule) end
    x = np.astype(np.ravel(x), "f64")
    if given then
        x = x[np.logical_and(np.greater_equal(x, given[1]), np.less_equal(x, given[2]))]
    end
    if x.size == 0 then return 1 end
    local low, high = given and given[1] or np.min(x):item(), given and given[2] or np.max(x):item()
    local width = width_of(x, x.size, given)
    local count = width > 0 and math.ceil((high - low) / width) or 1
    return count >= 1 and count <= 2 ^ 24 and count or 1
end

-- ---- Edges ----------------------------------------------------------------------------------------------------------

--- {low, high} of an option, checked.
local function check_range(name, range)
    if range == nil then return nil end
    local low, high = type(range) == "table" and core.plain(range[1]), type(range) == "table" and core.plain(range[2])
    local gap = core.is_number(low) and core.is_number(high) and high - low
    if not gap or gap ~= gap or gap < 0 or gap == math.huge then
        bad_argument(name, nil, "range", "two finite numbers {low, high}, the lower one first", range)
    end
    return { low, high }
end

--- Even edges of n bins, of x's dtype as a real one. Where all elements are the same, bins are 1 around it.
local function even_edges(x, n, range)
    local low, high
    if range then
        low, high = range[1], range[2]
        if low == high then low, high = low - 0.5, high + 0.5 end
    elseif x.size == 0 then
        low, high = 0, 1
    else
        x = reduces.real(x)
        low, high = np.astype(np.min(x), "f64"), np.astype(np.max(x), "f64")
        local half = np.where(np.equal(low, high), 0.5, 0)
        low, high = low - half, high + half
    end
    local i = create.iota(n + 1, core.dtype_codes.f64)
    local edges = np.where(np.equal(i, n), high, i * ((high - low) / n) + low)
    return np.astype(edges, reduces.real(x).dtype)
end

--- Raises for edges in a table that are out of order; those of arrays are not looked at.
local function check_ascending(name, edges)
    for k = 2, type(edges) == "table" and #edges or 0 do
        if type(edges[k]) == "number" and type(edges[k - 1]) == "number" and edges[k] < edges[k - 1] then
            raise(name, "edges must ascend, got %.14g behind %.14g", edges[k], edges[k - 1])
        end
    end
end

--- The edges that the argument `bins` means, and how many even bins they make, if it was a number.
local function edges_of(name, x, bins, range, weights)
    range = check_range(name, range)
    if type(bins) == "string" then bins = count_by_rule(name, bins, x, range, weights) end
    bins = core.plain(bins == nil and 10 or bins)
    if core.is_number(bins) then
        bins = core.integer(name, nil, "bins", bins, 1, 2 ^ 30)
        return even_edges(x, bins, range), bins
    end
    check_ascending(name, bins)
    local edges = operands.beside(name, 2, bins, core.dtype_of(x))
    if core.ndim(edges) ~= 1 or edges.size < 2 then
        raise(name, "edges must have 1 axis and at least 2 elements, got shape %s", core.shape_text(edges))
    end
    return edges, nil
end

--- The bin (i32) of each element of x; the number of bins, n, for those outside. even: the edges are even.
local function bins_of(x, edges, n, even)
    local inside
    local first, last = edges[0], edges[-1]
    if even then
        x = reduces.real(x)
        inside = np.logical_and(np.greater_equal(x, first), np.less_equal(x, last))
        local place = np.floor((x - first) * (n / (last - first)))
        place = np.astype(np.clip(np.where(inside, place, 0), 0, n - 1), "i32")
        place = place - np.astype(np.less(x, np.take(edges, place)), "i32")
        local above = np.logical_and(np.greater_equal(x, np.take(edges, place + 1)), np.less(place, n - 1))
        return np.where(inside, place + np.astype(above, "i32"), n)
    end
    local place = np.searchsorted(edges, x, { side = "right" }) - 1
    place = np.where(np.equal(x, last), n - 1, place)
    inside = np.logical_and(np.greater_equal(x, first), np.less_equal(x, last))
    return np.where(inside, place, n)
end

--- How many places, or what weights, fall on each of 0 … n - 1; those at n and behind fall on nothing. Nor do negative
-- ones, which weights must not have.
local function counts(places, n, weights)
    if not weights then
        core.attrs[0], core.attrs[1] = 0, core.put(1, n)
        return core.record1(core.ids.counts, places, 2)
    end
    local zeros = shape.broadcast_to(core.number(0, core.dtype_of(weights).code), { n })
    local inputs = { zeros, places, weights }
    core.attrs[0] = 0
    return core.recordn(core.ids.put_add, inputs, 3, 1)
end

--- Weights of elements, an option, flattened; sums of them have their dtype.
local function weights_of(name, weights, x)
    if weights == nil then return nil end
    weights = operands.beside(name, 2, weights,
                              core.dtypes[core.dtype_codes[reduces.real(x).dtype == "f64" and "f64" or "f32"]])
    if weights.size ~= x.size then
        raise(name, "weights of shape %s do not fit the elements of shape %s", core.shape_text(weights),
              core.shape_text(x))
    end
    if core.dtype_of(weights).kind == "b" then weights = np.astype(weights, "i32") end
    return np.ravel(weights)
end

--- Counts, or sums of weights, divided by the sizes of the bins and by their total.
local function density(found, edges)
    local half
    found, half = operands.wide(reduces.real(found))
    local sum, n = np.sum(found), #edges
    for k = 1, n do
        local dims = {}
        for d = 1, n do dims[d] = d == k and edges[k].size - 1 or 1 end
        found = found / shape.reshape(np.diff((operands.wide(edges[k]))), dims)
    end
    return operands.narrow(found / sum, half)
end

local histogram_options = { bins = true, range = true, weights = true, density = true }

--- The arguments (x, bins, options), of which bins may be among the options.
local function with_bins(name, bins, given, extra, known)
    if type(bins) == "table" and bins[1] == nil then bins, given, extra = nil, bins, given or extra end
    if extra ~= nil then core.too_many(name, 3, extra) end
    local o = options(name, given, known)
    if bins == nil then bins = o.bins end
    return bins, o
end

--- np.histogram(x, bins, {bins=10, range=…, weights=…, density=false}) -> counts, edges: two results: how many elements
-- lie between neighbouring edges (i32; sums of weights in their dtype), and the edges. Each bin has its lower edge, the
-- last one both. NaN lies in no bin, and without a range makes edges NaN, as in JAX. Lazy, unless bins is the name of
-- a rule.
--- bins: a number of even bins; edges, 1-d and ascending; or a rule by which their number is found from the elements,
-- which waits for them: "auto", "sturges", "fd", "doane", "scott", "stone", "rice", "sqrt"
--- > np.histogram(np.array{1, 2, 2, 5}, 4)
-- [1 2 0 1]
-- [1. 2. 3. 4. 5.]
--- > np.histogram(np.array{1, 2, 2, 5}, {0, 2, 6}, {density=true})
-- [0.125  0.1875]
-- [0. 2. 6.]
define("histogram", function(x, bins, given, extra)
    local o
    bins, o = with_bins("histogram", bins, given, extra, histogram_options)
    x = operands.beside("histogram", 1, x, core.is_array(bins) and core.dtype_of(bins) or nil)
    local edges, even = edges_of("histogram", x, bins, o.range, o.weights)
    local n, weights = edges.size - 1, weights_of("histogram", o.weights, x)
    local found = counts(bins_of(np.ravel(x), edges, n, even ~= nil), n, weights)
    return o.density and density(found, { edges }) or found, edges
end)

--- np.histogram_bin_edges(x, bins, {bins=10, range=…, weights=…}): the edges that np.histogram would use.
--- bins: as in np.histogram
--- > np.histogram_bin_edges(np.array{1, 2, 5}, 4), np.histogram_bin_edges(np.arange(9), {bins="auto"})
-- [1. 2. 3. 4. 5.]
-- [0.  1.6 3.2 4.8 6.4 8. ]
define("histogram_bin_edges", function(x, bins, given, extra)
    local o
    bins, o = with_bins("histogram_bin_edges", bins, given, extra, { bins = true, range = true, weights = true })
    x = operand("histogram_bin_edges", 1, x)
    return (edges_of("histogram_bin_edges", x, bins, o.range, o.weights))
end)

-- ---- Several dimensions ---------------------------------------------------------------------------------------------

--- The histogram of coordinates, a list of 1-d arrays of one length, with `bins` and `range` a list each: counts, and
-- the list of edges.
local function histogram_of(name, columns, bins, o)
    local dims, edges, place, total = {}, {}, nil, 1
    for k, x in ipairs(columns) do
        local even
        edges[k], even = edges_of(name, x, bins[k], o.range and o.range[k], o.weights)
        local n = edges[k].size - 1
        local own = bins_of(x, edges[k], n, even ~= nil)
        dims[k] = n
        if place then
            local outside = np.logical_or(np.equal(place, total), np.equal(own, n))
            total = total * n
            if total >= 2 ^ 31 then raise(name, "more than 2^31 bins") end
            place = np.where(outside, total, place * n + own)
        else
            place, total = own, n
        end
    end
    local found = shape.reshape(counts(place, total, weights_of(name, o.weights, columns[1])), dims)
    return o.density and density(found, edges) or found, edges
end

--- For each of n dimensions its bins: a table of n, or one for all.
local function each_bins(name, bins, n)
    if type(bins) == "string" then raise(name, "takes no rule for bins, got %q", bins) end
    local each = {}
    local single = type(bins) ~= "table" or type(bins[1]) == "number" and #bins ~= n
    if type(bins) == "table" then core.list(name, "the table of bins", bins) end
    if not single and #bins ~= n then raise(name, "%d bins for %d dimensions", #bins, n) end
    for k = 1, n do
        if single then each[k] = bins else each[k] = bins[k] end
        if type(each[k]) == "string" then raise(name, "takes no rule for bins, got %q", each[k]) end
        if each[k] == nil then each[k] = 10 end
    end
    return each
end

local function check_ranges(name, range, n)
    if range ~= nil and (type(range) ~= "table" or #range ~= n) then
        bad_argument(name, nil, "range", ("a table of %d ranges {low, high}"):format(n), range)
    end
    if range ~= nil then core.list(name, "option 'range'", range) end
end

--- np.histogram2d(x, y, bins, {bins=10, range=…, weights=…, density=false}) -> counts, x_edges, y_edges: three results:
-- the histogram of points with the coordinates x and y, 1-d.
--- bins: as in np.histogram, for both; or a table of two
--- range: the ends of both, {{low, high}, {low, high}}
--- > np.histogram2d(np.array{0, 1, 1}, np.array{0, 0, 1}, 2)
-- [[1 0]
--  [1 1]]
-- [0.  0.5 1. ]
-- [0.  0.5 1. ]
define("histogram2d", function(x, y, bins, given, extra)
    local o
    bins, o = with_bins("histogram2d", bins, given, extra, histogram_options)
    x, y = operand("histogram2d", 1, x), operand("histogram2d", 2, y)
    if core.ndim(x) ~= 1 or core.ndim(y) ~= 1 or x.size ~= y.size then
        raise("histogram2d", "arguments 1 and 2 must be 1-d of one length, got shapes %s and %s", core.shape_text(x),
              core.shape_text(y))
    end
    check_ranges("histogram2d", o.range, 2)
    local found, edges = histogram_of("histogram2d", { x, y }, each_bins("histogram2d", bins, 2), o)
    return found, edges[1], edges[2]
end)

--- np.histogramdd(x, bins, {bins=10, range=…, weights=…, density=false}) -> counts, edges: the histogram of points,
-- the rows of x, with an axis for each of its columns; and a Lua table of the edges.
--- bins: as in np.histogram, for all columns; or a table of one for each
--- range: a table of the ends {low, high} for each column
--- > counts, edges = np.histogramdd(np.array{{0, 0}, {1, 0}, {1, 1}}, {2, 1})
--- > counts, edges[1]
-- [[1]
--  [2]]
-- [0.  0.5 1. ]
define("histogramdd", function(sample, bins, given, extra)
    local o
    bins, o = with_bins("histogramdd", bins, given, extra, histogram_options)
    sample = operand("histogramdd", 1, sample)
    if core.ndim(sample) == 1 then sample = shape.reshape(sample, { sample.size, 1 }) end
    if core.ndim(sample) ~= 2 then
        raise("histogramdd", "argument 1 must have 2 axes, points and coordinates, got shape %s",
              core.shape_text(sample))
    end
    local dims, columns = core.shape_of(sample), {}
    if dims[2] == 0 then raise("histogramdd", "points must have coordinates, got shape %s", core.shape_text(dims)) end
    if dims[2] > core.MAX_DIMS then
        raise("histogramdd", "at most %d coordinates, got %d", core.MAX_DIMS, dims[2])
    end
    for k = 1, dims[2] do columns[k] = shape.reshape(shape.cut(sample, 1, k - 1, k), { dims[1] }) end
    check_ranges("histogramdd", o.range, dims[2])
    return histogram_of("histogramdd", columns, each_bins("histogramdd", bins, dims[2]), o)
end)

return { counts = counts }
