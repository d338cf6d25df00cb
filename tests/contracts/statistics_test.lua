--- statistics_test.lua: contracts of weighted means, covariances, quantiles, histograms, and of what labels name.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local of, finish = require "tests.lib.contracts" "statistics"

local NAN, INF = 0 / 0, math.huge
local CONSTANT = "a count or a place has no slope"

local function real(dtype)
    return dtypes.by_name[dtype].lowest and np.result_type(dtype, 0.5) or dtype == "bool" and "f32" or dtype
end

--- Special values of floats and complex numbers; integers have theirs.
local function of_floats(list)
    return function(dtype) return not dtypes.by_name[dtype].lowest and dtype ~= "bool" and list or nil end
end

--- The options of a case but for some, with others in their place.
local function given(o, without, instead)
    local options = {}
    for key, value in pairs(o) do
        if not without:find(key, 1, true) then options[key] = value end
    end
    for key, value in pairs(instead or {}) do options[key] = value end
    return next(options) and options
end

local SHAPES = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } }, { {} }, { { 1 } }, { { 0 } } }
local FULL = { unpack(SHAPES, 1, 5) }
local MIXED = { f64 = "mixed 2e-14", f32 = "mixed 4e-6" }

-- ---- Counts, ranges, means ------------------------------------------------------------------------------------------

of("np.count_nonzero", {
    args = { "x" }, accepts = "floats ints bool complex", shapes = SHAPES, gives = "i32",
    oracle = "np.count_nonzero(x, **o)", options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true } },
    without = { derivatives = CONSTANT },
})

of("np.ptp", {
    args = { "x" }, accepts = "floats ints", shapes = FULL, gives = "same", oracle = "np.ptp(x, **o)",
    options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true } },
    derivative = "jnp.ptp(x)", uneven = true, points = { { { 1, 1, 3, 3 } }, { { 1, NAN, 3 } }, { { 2, 2 } } },
    refuses = { { "nothing to take it of", function() np.ptp(np.zeros(0)) end } },
})

--- How many axes an array or a table of one has.
local function axes_of(x)
    if np.is_array(x) then return x.ndim end
    return type(x) == "table" and 1 + axes_of(x[1]) or 0
end

of("np.average", {
    args = { { "x", special = of_floats { NAN, INF, 7 } },
             { "w", from = 0.5, to = 4, special = of_floats { NAN, INF, 7 } } },
    accepts = "floats ints complex", shapes = { { { 2, 3 }, { 2, 3 } }, { { 2, 3 }, { 2 } }, { { 5 }, { 5 } } },
    gives = function(dtype) return real(dtype) end,
    call = function(f, o, x, w)
        local rows = axes_of(w) < axes_of(x)
        return f(x, given(o, "weights axis",
                          { weights = (o.weights or rows) and w or nil, axis = rows and 0 or o.axis }))
    end,
    oracle = "weighted(x, w, o)",
    options = { { weights = true }, {}, { axis = -1, keepdims = true }, { weights = true, axis = 0, returned = true } },
    within = MIXED,
    divided = { f64 = "mixed 2e-14", f32 = "mixed 4e-6", f16 = "ulp 1", bf16 = "ulp 1", c64 = "scaled 1e-5",
                                c128 = "scaled 1e-13" },
    also = {
        ["halves do not overflow"] = function()
            local x = np.full({ 300, 300 }, 300, { dtype = "f16" })
            check.equal(np.average(x, { weights = np.full({ 300, 300 }, 2, { dtype = "f16" }) }):item(), 300)
        end,
    },
})

-- ---- Covariances ----------------------------------------------------------------------------------------------------

local COVARIANCE = { f64 = "scaled 1e-13", f32 = "scaled 1e-5", c64 = "scaled 1e-5", c128 = "scaled 1e-13" }

of("np.cov", {
    args = { { "x", special = of_floats { NAN, INF, 7 } }, { "y", special = of_floats { NAN, INF, 7 } },
             { "f", dtype = "i32", from = 1, to = 3 }, { "a", dtype = "f64", from = 0.5, to = 2 } },
    accepts = "floats ints bool complex",
    shapes = { { { 2, 4 }, { 1, 4 }, { 4 }, { 4 } }, { { 4, 4 }, { 4, 4 }, { 4 }, { 4 } },
               { { 5 }, { 5 }, { 5 }, { 5 } } },
    call = function(g, o, x, y, f, a)
        if o.rowvar == false then x, y = np.transpose(x), np.transpose(y) end
        local options = given(o, "both fweights aweights", { fweights = o.fweights and f or nil,
                                                             aweights = o.aweights and a or nil })
        if o.both then return g(x, y, options) end
        return g(x, options)
    end,
    oracle = "covariance(x, y, f, a, o)",
    options = { { both = true, fweights = true, aweights = true }, { both = true }, {}, { bias = true }, { ddof = 0 },
                { fweights = true }, { aweights = true, ddof = 2 }, { rowvar = false, both = true } },
    complex_slopes = true, gives = real, within = COVARIANCE, divided = COVARIANCE, vmapped = COVARIANCE,
    also = {
        ["halves do not overflow"] = function()
            local x = np.array({ 1000, 1001, 999 }, { dtype = "f16" })
            check.equal(np.cov(x):item(), 1)
        end,
    },
    slope = 1e-5,
})

of("np.corrcoef", {
    args = { { "x", special = of_floats { NAN, 7 } }, { "y", special = of_floats { NAN, 7 } } },
    accepts = "floats i32 u8 i64 complex",
    shapes = { { { 2, 6 }, { 1, 6 } }, { { 4, 6 }, { 2, 6 } }, { { 5 }, { 5 } } },
    call = function(g, o, x, y)
        if o.rowvar == false then return g(np.transpose(x), np.transpose(y), o) end
        return g(x, y, given(o, ""))
    end,
    oracle = "np.corrcoef(x, y)", options = { {}, { rowvar = false } },
    complex_slopes = true, gives = real, within = COVARIANCE, divided = COVARIANCE, vmapped = COVARIANCE,
    also = {
        ["halves do not overflow"] = function()
            local c = np.corrcoef(np.array({ 1000, -1000, 0 }, { dtype = "f16" }))
            check.equal(c:item(), 1)
        end,
    },
    slope = 1e-5,
})

-- ---- Quantiles ------------------------------------------------------------------------------------------------------

local METHODS = { "linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased",
                  "normal_unbiased", "interpolated_inverted_cdf", "inverted_cdf", "averaged_inverted_cdf",
                  "closest_observation" }

for _, name in ipairs { "quantile", "nanquantile", "percentile", "nanpercentile" } do
    local whole = name:find "percentile" and 100 or 1
    local nan = name:find "nan"
    local options = { { q = 0.3 }, { q = 0.75, axis = 0 }, { q = { 0, 0.5, 1 }, axis = { -1, 0 }, keepdims = true },
                      { q = { { 0.1, 0.9 } }, axis = -1 } }
    for _, method in ipairs(METHODS) do options[#options + 1] = { q = { 0.25, 0.5, 0.8 }, axis = -1,
                                                                  method = method } end
    of("np." .. name, {
        args = { "x" }, accepts = "floats ints bool",
        shapes = { { { 2, 4 } }, { { 2, 2, 3 } }, { { 5 } }, { {} }, { { 1 } } },
        call = function(f, o, x)
            local q = o.q
            if type(q) == "number" then q = q * whole else q = np.tree.map(function(v) return v * whole end, q) end
            return f(x, q, given(o, "q"))
        end,
        unseen = {}, oracle = ("quantiles('%s', x, o)"):format(name), options = options,
        derivative = ("jnp.%s(x, o['q'] * %d)"):format(name, whole), uneven = true,
        points = { { { 2, 2 } }, { { 1, 2, 2, 2, 3 } }, { { 1, 2, 2, 3, 3 }, o = { q = 0.75 } },
                   { { 5, 5, 5, 5 }, o = { q = 0.5 } }, nan and { { 1, NAN, 2, 2 }, o = { q = 0.5 } } },
        within = { f64 = "mixed 1e-14", f32 = "mixed 1e-6" },
        also = {
            ["between infinities, and of nothing"] = function()
                local x = np.array({ 1, 2, INF, INF }, { dtype = "f64" })
                check.equal(np[name](x, 0.75 * whole):item(), INF)
                check.equal(np[name](x, 0.5 * whole):item(), INF)
                check.equal(np[name](x, 0.25 * whole):item(), 1.75)
                check.equal(np[name](-x, 0.5 * whole, { method = "higher" }):item(), -2)
                local none = np[name](np.zeros(0), 0.5 * whole):item()
                check.ok(none ~= none, "of nothing: NaN")
                local wide = np.array({ -65504, 65504 }, { dtype = "f16" })
                check.equal(np[name](wide, 0.5 * whole):item(), 0)
            end,
        },
        refuses = { { "argument 1 is complex", function() np[name](np.array { 1i, 2 }, 0.5) end } },
    })
end

for _, name in ipairs { "median", "nanmedian" } do
    of("np." .. name, {
        args = { "x" }, accepts = "floats ints bool", shapes = SHAPES,
        refuses = { { "argument 1 is complex", function() np[name](np.array { 1i, 2 }) end } },
        oracle = ("middle(np.%s, x, o)"):format(name),
        options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true } },
        derivative = ("jnp.%s(x)"):format(name), uneven = true,
        points = { { { 1, 2, 2, 3 } }, { { 2, 2 } }, { { 2, 2, 2 } }, { { 3, 1, 1, 1, 3 } } },
        also = {
            ["beside infinities"] = function()
                for _, case in ipairs { { { 1, INF }, INF }, { { 1, 2, INF, INF }, INF }, { { -INF, 1 }, -INF },
                                        { { -INF, INF }, NAN }, { { INF, INF }, INF },
                                        { { -INF, -INF, 1, 2 }, -INF } } do
                    local got = np[name](np.array(case[1], { dtype = "f64" })):item()
                    check.ok(got == case[2] or got ~= got and case[2] ~= case[2], name .. " gives " .. got)
                end
            end,
        },
    })
end

of("np.mode", {
    args = { { "x", from = 0, to = 3, make = function(random, dims, dtype)
        local list = {}
        local n = 1
        for _, d in ipairs(dims) do n = n * d end
        for k = 1, n do list[k] = dtype == "bool" and random(2) == 1 or dtype ~= "bool" and random(3) - 1 end
        return np.array(list, { dtype = dtype }):reshape(dims)
    end } },
    accepts = "floats ints bool", shapes = { { { 3, 5 } }, { { 2, 2, 5 } }, { { 5 } }, { {} }, { { 1 } } },
    oracle = "most_frequent(x, o)", gives = { "same", "i32" },
    options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true } },
    without = { derivatives = "the element that is there most often among drawn ones is a step",
                special = "ties and NaN stand in a test of their own" },
    also = {
        ["NaN"] = function()
            local value, count = np.mode(np.array { NAN, NAN, 3 })
            check.equal(value:item(), 3)
            check.equal(count:item(), 1)
        end,
    },
})

-- ---- Histograms -----------------------------------------------------------------------------------------------------

--- The dtype of counts, which is i32 without weights; of densities; of edges.
local function counted(dtype, o)
    if o.density then return o.weights and real(dtype) or real(dtype) == "f64" and "f64" or "f32" end
    return o.weights and dtype or "i32"
end
local function edged(dtype, o)
    return type(o.bins) == "table" and type(o.bins[1]) == "table" and dtype or real(dtype)
end

of("np.histogram", {
    args = { { "x", from = 0, to = 4, special = of_floats { NAN, 7, -1, 2 } },
             { "w", from = 1, to = 4, special = false } },
    accepts = "floats ints",
    shapes = { { { 12 }, { 12 } }, { { 3, 5 }, { 3, 5 } }, { { 1 }, { 1 } }, { { 0 }, { 0 } } },
    call = function(f, o, x, w)
        return f(x, o.bins, given(o, "bins weights", { weights = o.weights and w or nil }))
    end,
    oracle = "histogram(x, w, o)",
    options = { { bins = 4, range = { 0, 4 } }, { bins = 8, range = { 0, 4 }, weights = true },
                { bins = { 0, 1, 2.5, 4 }, density = true } },
    gives = { counted, edged },
    refuses = { { "edges must ascend, got 1 behind 2", function() np.histogram(np.ones(3), { 0, 2, 1 }) end },
                { "edges must ascend", function() np.histogram2d(np.ones(3), np.ones(3), { { 1, 0 }, 2 }) end } },
    without = { derivatives = "counts are steps; sums of weights are linear in them (np.bincount)",
                numbers = "elements and weights of one shape: the tables are held by the test of digits" },
    also = {
        ["tables keep digits"] = function()
            local x = np.array({ 0.1, 0.15 }, { dtype = "f64" })
            check.equal(tostring((np.histogram(x, { 0.1, 0.2 }))), "[2]")
            local n = np.array({ 16777217 }, { dtype = "i32" })
            check.equal(tostring((np.histogram(n, { 16777216, 16777217, 16777218 }))), "[0 1]")
            local wide = np.array({ 2LL ^ 53 + 1 }, { dtype = "i64" })
            check.equal(tostring((np.histogram(wide, { 9007199254740992LL, 9007199254740993LL, 9007199254740995LL }))),
                        "[0 1]")
            local sum = np.histogram(x, { 0, 1 }, { weights = { 0.1, 0.2 } })
            check.equal(("%.17g"):format(sum[0]:item()), ("%.17g"):format(0.1 + 0.2), "weights")
        end,
        ["rules"] = function()
            local x = np.arange(9)
            check.equal(np.histogram_bin_edges(x, { bins = "auto" }).size, 6)
        end,
    },
})

of("np.histogram_bin_edges", {
    args = { { "x", from = 0, to = 4, special = false } }, accepts = "f64 f32 i32 u8",
    shapes = { { { 12 } }, { { 3, 5 } } },
    oracle = "np.histogram_bin_edges(x, o['bins'], range=o.get('range'))",
    options = { { bins = 4 }, { bins = 3, range = { 0, 4 } }, { bins = "auto" }, { bins = "fd" }, { bins = "sturges" },
                { bins = "doane" }, { bins = "scott" }, { bins = "stone" }, { bins = "rice" }, { bins = "sqrt" } },
    call = function(f, o, x) return f(x, o) end,
    unseen = { weights = "edges of a number of bins do not depend on weights, and rules refuse them" },
    within = { f64 = "mixed 1e-14", f32 = "mixed 1e-6" },
    without = { special = "the edges of NaN are NaN", derivatives = "rules wait for elements, and edges are ends",
                jit = "rules wait for elements; numbers of bins are held by np.histogram's contract",
                programs = "rules wait for elements; numbers of bins are held by np.histogram's contract",
                vmap = "rules wait for elements; numbers of bins are held by np.histogram's contract" },
})

of("np.histogram2d", {
    args = { { "x", from = 0, to = 4, special = of_floats { NAN, 7 } },
             { "y", from = 0, to = 4, special = of_floats { NAN, 2 } },
             { "w", from = 1, to = 4, special = false } },
    accepts = "floats ints", shapes = { { { 12 }, { 12 }, { 12 } }, { { 3 }, { 3 }, { 3 } } },
    call = function(f, o, x, y, w)
        return f(x, y, o.bins, given(o, "bins weights", { weights = o.weights and w or nil }))
    end,
    oracle = "histogram2d(x, y, w, o)",
    options = { { bins = 4, range = { { 0, 4 }, { 0, 4 } } },
                { bins = { 4, 2 }, range = { { 0, 4 }, { 0, 4 } }, weights = true },
                { bins = { { 0, 1, 4 }, { 0, 2, 3, 4 } }, density = true } },
    gives = { counted, edged, edged },
    without = { derivatives = "counts are steps; sums of weights are linear in them (np.bincount)",
                numbers = "coordinates and weights of one length" },
})

of("np.histogramdd", {
    args = { { "x", from = 0, to = 4, special = of_floats { NAN, 7 } }, { "w", from = 1, to = 4, special = false } },
    accepts = "floats ints", shapes = { { { 12, 2 }, { 12 } }, { { 4, 1 }, { 4 } } },
    call = function(f, o, x, w)
        local bins, range = o.bins, o.range
        if x:dim(1) == 1 and type(bins) == "table" then bins = { bins[1] } end
        if x:dim(1) == 1 and range then range = { range[1] } end
        return f(x, bins, given(o, "bins weights range", { range = range, weights = o.weights and w or nil }))
    end,
    oracle = "histogramdd(x, w, o)",
    options = { { bins = 4, range = { { 0, 4 }, { 0, 4 } } },
                { bins = { 4, 2 }, range = { { 0, 4 }, { 0, 4 } }, weights = true },
                { bins = { { 0, 1, 4 }, { 0, 2, 3, 4 } }, density = true } },
    gives = { counted, edged, edged },
    without = { derivatives = "counts are steps; sums of weights are linear in them (np.bincount)",
                numbers = "points and weights of one length" },
})

-- ---- Labels ---------------------------------------------------------------------------------------------------------

of("np.bincount", {
    args = { { "labels", dtype = "i32", from = 0, to = 4 }, { "w", special = of_floats { NAN, INF } } },
    accepts = "floats ints", shapes = { { { 12 }, { 12 } }, { { 3 }, { 3 } }, { { 0 }, { 0 } } },
    call = function(f, o, labels, w)
        return f(labels, given(o, "weights", { weights = o.weights and w or nil }))
    end,
    oracle = "binned(labels, w, o)",
    options = { { weights = true, length = 6 }, { length = 3 }, { length = 7, weights = true } },
    unseen = { minlength = "without a length it waits: a test of its own" },
    gives = function(dtype, o) return o.weights and dtype or "i32" end,
    within = { f64 = "mixed 1e-14", f32 = "mixed 1e-6", f16 = "mixed 1e-2", bf16 = "mixed 1e-1" },
    without = { numbers = "weights of one length with the labels, of their own dtype" },
    also = {
        ["minlength"] = function()
            check.equal(tostring(np.bincount({ 0, 2, 2 }, { minlength = 5 })), "[1 0 2 0 0]")
            check.raises(function() np.bincount(np.array({ -1 }, { dtype = "i32" })) end, "from 0 up")
        end,
    },
})

of("np.digitize", {
    args = { { "x", from = -1, to = 5 }, { "bins", from = 0, to = 4, sorted = true, special = false } },
    accepts = "floats ints",
    shapes = { { { 12 }, { 4 } }, { { 3, 2 }, { 2 } }, { {}, { 3 } }, { { 0 }, { 1 } }, { { 2 }, { 0 } } },
    oracle = "np.digitize(x, bins, **o)", options = { {}, { right = true } }, gives = "i32",
    without = { derivatives = CONSTANT },
    also = {
        ["descending edges and tables keep digits"] = function()
            check.equal(tostring(np.digitize(np.array { 0.5, 1, 9 }, { 2, 1, 0 })), "[2 1 0]")
            check.equal(tostring(np.digitize(np.array({ 0.1 }, { dtype = "f64" }), { 0.1, 0.3 })), "[1]")
            check.equal(tostring(np.digitize(np.array({ 16777217 }, { dtype = "i32" }), { 16777216, 16777217 })), "[2]")
            check.equal(tostring(np.digitize(0.1, np.array({ 0.1, 0.3 }, { dtype = "f64" }))), "1")
        end,
    },
})

--- Labels of which each from 0 to 3 is there, and -1.
local function every_label(random, dims)
    local list = {}
    for k = 1, dims[1] do list[k] = k <= 4 and k - 1 or random(5) - 2 end
    return dims[1] > 0 and np.array(list, { dtype = "i32" }) or np.zeros({ 0 }, { dtype = "i32" })
end

for _, how in ipairs { "sum", "prod", "max", "min" } do
    of("np.segment_" .. how, {
        args = { { "x", special = of_floats { NAN, INF } }, { "labels", dtype = "i32", make = every_label } },
        accepts = "floats ints", shapes = { { { 6 }, { 6 } }, { { 4, 2 }, { 4 } }, { { 0 }, { 0 } } },
        call = function(f, o, x, labels) return f(x, labels, o) end,
        oracle = ("segments(jax.ops.segment_%s, x, labels, o)"):format(how),
        options = { { num_segments = 4 }, { num_segments = 2 } },
        gives = function(dtype)
            local facts = dtypes.by_name[dtype]
            if how == "max" or how == "min" or not facts.lowest or facts.bits >= 32 then return dtype end
            return facts.kind == "i" and "i32" or "u32"
        end,
        within = { f64 = "mixed 1e-14", f32 = "mixed 1e-6", f16 = "mixed 4e-3", bf16 = "mixed 3e-2" },
        derivative = how == "prod" and "jnp.stack([jnp.prod(jnp.where(labels == k, x, 1)) for k in (0, 1)])"
            or ("jax.ops.segment_%s(x, labels.astype(int), 2)"):format(how), uneven = true,
        points = { { { 2, 2, 2 }, { 0, 0, 1 }, o = { num_segments = 2 } },
                   { { 0, 0, 2 }, { 0, 0, 1 }, o = { num_segments = 2 } } },
        without = { numbers = "rows and labels of one length" },
    })
end

finish()
