--- statistics_test.lua (under tsan with --long): what golden values do not say of statistics, histograms and sets:
-- jitted and batched they give the same bits, dtypes, identities between functions, errors.
local np = require "neap"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"

local function i32(list) return np.array(list, { dtype = "i32" }) end

local key = np.random.key(11)
local x = np.round(np.random.normal(key, { 4, 3, 7 }) * 6):wait() / 2
local holes = np.where(np.random.bernoulli(np.random.fold_in(key, 1), 0.2, { 4, 3, 7 }), np.nan, x):wait()

--- Functions of one array that give arrays of known shape.
local functions = {
    nansum = np.nansum, nanmean = function(v) return np.nanmean(v, 0) end, nanstd = function(v) return np.nanstd(v) end,
    nanmax = function(v) return np.nanmax(v, -1) end, nanargmin = np.nanargmin,
    nancumsum = function(v) return np.nancumsum(v, { axis = 1 }) end,
    median = function(v) return np.median(v, { axis = 0 }) end, nanmedian = np.nanmedian,
    quantile = function(v) return np.quantile(v, { 0.1, 0.5 }, { axis = 1, method = "nearest" }) end,
    nanquantile = function(v) return np.nanquantile(v, 0.3, { axis = 0 }) end, ptp = np.ptp,
    mode = function(v) return (np.mode(v)) end, average = np.average, count_nonzero = np.count_nonzero,
    logcumsumexp = function(v) return np.logcumsumexp(v, { axis = 1 }) end,
    gradient = function(v) return (np.gradient(v)) end, trapezoid = np.trapezoid, nan_to_num = np.nan_to_num,
    convolve = function(v) return np.convolve(v[0], v[1]) end, cov = np.cov,
    histogram = function(v) return (np.histogram(v, 5)) end,
    histogram_edges = function(v) return (np.histogram(v, { -1, 0, 0.5, 2 }, { density = true })) end,
    digitize = function(v) return np.digitize(v, { -1, 0, 1 }) end,
    unique = function(v) return (np.unique(v, { size = 9 })) end,
    unique_counts = function(v) return (select(2, np.unique_counts(v, { size = 9 }))) end,
    isin = function(v) return np.isin(v, { 0.5, 1, -2 }) end,
    nonzero = function(v) return (select(2, np.nonzero(v, { size = 6 }))) end,
    segment_max = function(v) return np.segment_max(v, i32 { 1, 0, 1 }, 2) end,
    segment_prod = function(v) return np.segment_prod(v, i32 { 1, 0, 1 }, 2) end,
    select = function(v) return np.select({ v:lt(0), v:gt(1) }, { v * 2, -v }, 5) end,
    put = function(v) return np.put(v, { 0, 3, -1 }, { 7, 8 }) end,
    mul = function(v) return v:at { i32 { 0, 5, 0 }, i32 { 1, 1, 1 } }:mul(3) end,
    take = function(v) return np.take(v, i32 { 1, 9 }, { axis = 1, mode = "fill" }) end,
}

local function bits(a) return a:tostring() .. a.dtype .. #a.shape end

-- What is jitted waits for nothing: that would raise.
check.test("jitted and batched, bits are the same", function()
    for name, f in pairs(functions) do
        for _, data in ipairs { x, holes } do
            local batched, jitted = np.vmap(f)(data), np.jit(f)
            for k = 0, 3 do
                local plain = f(data[k])
                check.equal(bits(jitted(data[k])), bits(plain), name .. " jitted")
                check.equal(bits(batched[k]), bits(plain), name .. " batched")
            end
        end
    end
end)

check.test("all dtypes", function()
    for _, name in ipairs(dtypes.names) do
        local v = i32 { 1, 0, 1, 1 }:astype(name)
        check.equal(np.unique(v):astype("f64"):totable(), { 0, 1 }, name)
        check.equal(np.unique(v).dtype, name)
        check.equal(np.median(v):item(), 1, name)
        check.equal(np.count_nonzero(v):item(), 3, name)
        check.equal(np.isin(v, v:at { 0 }:get()):totable(), { true, false, true, true }, name)
        check.equal(np.histogram(v, 2):totable(), { 1, 3 }, name)
        check.equal(np.nanmax(v):astype("f64"):item(), 1, name)
        check.equal(np.nansum(v):astype("f64"):item(), 3, name)
        check.equal(np.segment_max(v, i32 { 0, 0, 1, 1 }, 2):astype("f64"):totable(), { 1, 1 }, name)
        check.equal(np.select({ i32 { 1, 0, 0, 0 } }, { v }, 0):astype("f64"):totable(), { 1, 0, 0, 0 }, name)
        check.equal(np.lexsort { v, v }:totable(), { 1, 0, 2, 3 }, name)
        check.equal(v:sum({ where = v:astype("bool") }):astype("f64"):item(), 3, name)
        if name ~= "bool" then
            check.equal(np.convolve(v, v).dtype, name)
            check.equal(np.convolve(v, v):astype("f64"):totable(), { 1, 0, 2, 2, 1, 2, 1 }, name)
        end
    end
end)

check.test("extrema that are not NaN, of all axes, views and lengths", function()
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
        local wide = np.astype(np.where(np.random.bernoulli(key, 0.3, { 5, 70, 33 }), np.nan,
                                        np.random.normal(key, { 5, 70, 33 })), dtype)
        wide = np.where(np.equal(np.arange(33), 7), np.astype(np.nan, dtype), wide):wait()
        for _, v in ipairs { wide, wide:transpose(2, 0, 1), np.flip(wide)":, ::3", np.ravel(wide) } do
            for axis = -1, v.ndim - 1 do
                local o = { axis = axis >= 0 and axis or nil, keepdims = axis == 1 }
                local low = np.min(np.where(np.isnan(v), math.huge, v), o)
                local high = np.max(np.where(np.isnan(v), -math.huge, v), o)
                check.equal(np.nanmin(v, o).dtype, dtype)
                check.ok(np.array_equal(np.nanmin(v, o), np.where(np.isinf(low), np.nan, low), { equal_nan = true }))
                check.ok(np.array_equal(np.nanmax(v, o), np.where(np.isinf(high), np.nan, high), { equal_nan = true }))
            end
        end
    end
    check.equal(1 / np.nanmax(np.array { -0.0, 0.0, np.nan }):item(), math.huge)
    check.equal(1 / np.nanmin(np.array { np.nan, 0.0, -0.0 }):item(), -math.huge)
    check.equal(np.nanmax(np.zeros { 0, 2 }, 1).shape, { 0 })
    check.equal(np.grad(np.nanmax)(np.array { 1, np.nan, 3, 3 }):totable(), { 0, 0, 0.5, 0.5 })
end)

check.test("infinities and NaN reach only the places that have them", function()
    local inf = math.huge
    for _, dtype in ipairs { "f32", "f64", "f16" } do
        local function row(...) return np.array({ ... }, { dtype = dtype }) end
        check.equal(np.convolve(row(1, inf, 2), row(1, 1)):totable(), { 1, inf, inf, 2 })
        check.equal(np.convolve(row(1, 2, 3), row(inf, 1)):totable(), { inf, inf, inf, 3 })
        local found = np.correlate(row(1, 0 / 0, 2, 3, 4), row(1, 1))
        check.equal(np.isnan(found):totable(), { true, true, false, false })
        check.equal(found[{ { 2, 4 } }]:totable(), { 5, 7 })
    end
    local long = np.arange(1000) -- of blocks of results, whole ones and parts of them
    for _, m in ipairs { 1, 63, 64, 257, 1000 } do
        local ones = np.ones(m, { dtype = "i32" })
        local sums = np.concatenate { np.zeros({ 1 }, { dtype = "i32" }), np.cumsum(long) }
        local k = np.arange(1000 + m - 1)
        local want = sums[np.minimum(k + 1, 1000)] - sums[np.maximum(k + 1 - m, 0)]
        check.ok(np.array_equal(np.convolve(long, ones), want), m .. " taps")
        check.ok(np.array_equal(np.convolve(ones, long:astype("f64")):astype("i32"), want), m .. " taps in front")
    end
end)

check.test("complex lines: each place is the sum of its products, with the conjugate in correlate", function()
    local a, v = np.array { 1, 2i, 3, 4 - 1i, -2 }, np.array { 1, 1i, 0.5 - 2i } -- products and sums are exact
    local n, m = a.size, v.size
    local full = 0
    for j = 0, m - 1 do full = full + np.pad(a * v[j], { { j, m - 1 - j } }) end
    check.ok(np.array_equal(np.convolve(a, v), full))
    check.ok(np.array_equal(np.convolve(v, a, "valid"), full[{ { m - 1, n } }]))
    check.ok(np.array_equal(np.correlate(a, v, "full"), np.convolve(a, np.flip(np.conj(v)))))
    check.ok(np.array_equal(np.correlate(v, a, "full"), np.flip(np.conj(np.correlate(a, v, "full")))))
    check.equal(np.convolve(a, np.array({ 1, 2 }, { dtype = "f64" })).dtype, "c128")
end)

check.test("identities", function()
    local values, index, inverse, counts = np.unique_all(x)
    check.ok(np.array_equal(values[inverse], x))
    check.ok(np.array_equal(np.ravel(x)[index], values))
    check.equal(counts:sum():item(), x.size)
    check.ok(np.array_equal(np.histogram(x, 9):sum(), np.array(x.size):astype("i32")))
    check.ok(np.array_equal(np.quantile(x, 0.5), np.median(x)))
    check.ok(np.array_equal(np.nanmedian(x), np.median(x)))
    local a, b = x[0], x[1]
    check.ok(np.array_equal(np.union1d(a, b), np.unique(np.concatenate { np.ravel(a), np.ravel(b) })))
    check.ok(np.array_equal(np.union1d(np.setxor1d(a, b), np.intersect1d(a, b)), np.union1d(a, b)))
    check.ok(np.array_equal(np.sum(x, { where = x:gt(0) }), np.sum(np.where(x:gt(0), x, 0))))
    local edges = np.linspace(-3, 3, 7)
    check.ok(np.array_equal((np.histogram(x, edges)), (np.histogram(x, 6, { range = { -3, 3 } }))))
    local places = np.argwhere(x:gt(1))
    check.ok(np.array_equal(x[{ places":, 0", places":, 1", places":, 2" }], np.extract(x:gt(1), x)))
end)

check.test("nothing at all", function()
    local none = np.zeros { 0, 3 }
    check.equal(np.nansum(none):item(), 0)
    check.equal(np.nanmean(none, 0):totable(), { 0 / 0, 0 / 0, 0 / 0 })
    check.equal(np.histogram(none, 2):totable(), { 0, 0 })
    check.equal({ select("#", np.unique_all(none)), np.unique(none).size }, { 4, 0 })
    check.equal(np.bincount(i32 {}, { minlength = 2 }):totable(), { 0, 0 })
    check.equal(np.segment_min(none, i32 {}, 1):totable(), { { 1 / 0, 1 / 0, 1 / 0 } })
    check.equal(np.max(none, { axis = 0, initial = 4 }):totable(), { 4, 4, 4 })
    check.equal(np.intersect1d(none, x).size, 0)
    for _, f in ipairs { np.ptp, np.nanargmax, np.mode, np.max } do
        check.raises(function() f(none) end, "nothing to take it of: shape %(0, 3%)")
    end
end)

check.test("indices out of range", function()
    local v, far = np.arange(5), i32 { 7, 1, -9 }
    check.equal(v:at { far }:set(9):totable(), { 0, 9, 2, 3, 4 })
    check.equal(np.jit(function(i) return v:at { i }:add(9) end)(far):totable(), { 0, 10, 2, 3, 4 })
    check.equal(v:at { far }:get { mode = "fill", fill_value = -1 }:totable(), { -1, 1, -1 })
    check.equal(v[far]:totable(), { 4, 1, 0 })
    check.raises(function() v:at { far }:set(1, { mode = "raise" }) end, "index 7 is out of range for extent 5")
    check.raises(function() v:at { far }:get { mode = "raise" } end, "index 7 is out of range for extent 5")
    check.raises(function() np.take(v, far, { mode = "raise" }) end, "index 7 is out of range for extent 5")
    check.raises(function() v:at { far }:set(1, { mode = "fill" }) end, "'mode' must be \"drop\"")
    check.raises(function() v:at { far }:set(1, { mod = "clip" }) end, "unknown option 'mod'")
    check.raises(function() v:at { far }:get { fill_value = 1, mode = "clip" } end, "goes with mode")
end)

check.test("errors name what is wrong", function()
    local cases = {
        { "option 'where' of shape %(2,%)", function() x:sum { where = np.array { true, false } } end },
        { "option 'where' must be a bool array", function() x:sum { where = 1 } end },
        { "needs the option 'initial'", function() x:max { where = x:gt(0) } end },
        { "from 0 to 1, got the number 2", function() np.quantile(x, 2) end },
        { "from 0 to 100, got the number %-1", function() np.percentile(x, { 5, -1 }) end },
        { "option 'method' must be one of", function() np.quantile(x, 0.5, { method = "best" }) end },
        { "elements must be from 0 up, got %-1", function() np.bincount(i32 { 1, -1 }) end },
        { "integers, got dtype f32", function() np.bincount(x) end },
        { "elements are at most 2147483647, got 9223372036854775807",
          function() np.bincount(np.array({ 1, 0x7fffffffffffffffLL }, { dtype = "i64" })) end },
        { "elements must be from 0 up, got %-9223372036854775807",
          function() np.bincount(np.array({ 1, -0x7fffffffffffffffLL }, { dtype = "i64" })) end },
        { "labels are at most 2147483647, got 18446744073709551615",
          function() np.segment_sum(np.ones(1), np.array({ 0xffffffffffffffffULL }, { dtype = "u64" })) end },
        { "index 9223372036854775807 is out of range for extent 3",
          function()
              local far = np.array({ 0x7fffffffffffffffLL }, { dtype = "i64" })
              np.take(np.arange(3), far, { mode = "raise" })
          end },
        { "counts must be from 0 up, got %-9223372036854775807",
          function() np.repeat_(np.arange(1), np.array({ -0x7fffffffffffffffLL }, { dtype = "i64" })) end },
        { "edges must have 1 axis", function() np.histogram(x, x) end },
        { "two finite numbers", function() np.histogram(x, 3, { range = { 2, 1 } }) end },
        { "\"auto\", \"doane\"", function() np.histogram(x, "many") end },
        { "needs at least 3", function() np.gradient(np.ones(2), { edge_order = 2 }) end },
        { "\"full\", \"same\" or \"valid\"", function() np.convolve(x[{ 0, 0 }], x[{ 0, 0 }], { mode = "all" }) end },
        { "needs the option 'axis'", function() np.cumulative_sum(x) end },
        { "weights of shape", function() np.average(x, { weights = { 1, 2 } }) end },
        { "takes 2 arguments, got also", function() np.nansum(x, {}, 3) end },
        { "takes 1 argument, got also", function() np.linalg.det(np.eye(2), 1) end },
        { "'fill_value' goes with 'size'", function() np.unique(x, { fill_value = 1 }) end },
        { "2 conditions need a table of as many choices", function() np.select({ x, x }, { x }) end },
    }
    for _, case in ipairs(cases) do check.raises(case[2], case[1]) end
end)

check.done()
