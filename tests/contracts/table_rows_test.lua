--- table_rows_test.lua: contracts of np.table's methods about single rows, against pandas: missing values, counts,
-- ranks, intervals, samples.
-- (sanitized with --long)
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local seeds = require "tests.lib.seeds"
local of, finish, _, _, held = require "tests.lib.contracts" "table_rows"

--- A column of few values, of which some are missing: what rows are grouped and ranked by.
local function keys(random, dims, dtype)
    local kind, list = dtypes.by_name[dtype].kind, {}
    for k = 1, dims[1] do
        local value = random(3) - (kind == "u" and 1 or 2)
        if kind == "b" then value = value > 0 end
        list[k] = kind == "f" and random(5) == 1 and 0 / 0 or value
    end
    return cases.array(list, dims, dtype)
end

local WAITS = "it waits for values, which np.jit, programs and np.vmap do not have; the columns of tables are arrays"
local function without(more)
    local list = { jit = WAITS, programs = WAITS, vmap = WAITS, derivatives = WAITS, numbers = "a number is no column" }
    for way, reason in pairs(more or {}) do list[way] = reason end
    return list
end
local DRAWN = "the values are drawn from few, so that some are equal"
local REAL = "floats ints bool"
local SHAPES = { { { 8 }, { 8 } }, { { 1 }, { 1 } }, { { 0 }, { 0 } }, { { 30 }, { 30 } } }

local function same(dtype) return dtype end

local function real(dtype) return dtype == "f32" and "f32" or "f64" end

local function frame(k, v) return np.table { { "k", k }, { "v", v } } end

local function given(o) return next(o) and o or nil end

of("table.agg", {
    args = { { "k", make = keys }, "v" }, accepts = REAL, special = false,
    within = { f64 = "rel 1e-13", f32 = "rel 1e-6", f16 = "ulp 1", bf16 = "ulp 1" },
    shapes = { { { 8 }, { 8 } }, { { 2 }, { 2 } }, { { 40 }, { 40 } } },
    call = function(_, o, k, v)
        local t = frame(k, v)
        local a = t:agg({ v = { "median", "nunique", "first", "last", "25%", "99.5%", "mean" } }, given(o))
        local g = t:group("k", { v = { "median", "90%" } })
        return a.v_median, a.v_nunique, a.v_first, a.v_last, a:column "v_25%", a:column "v_99.5%", a.v_mean, g.v_median,
               g:column "v_90%"
    end,
    oracle = "(lambda s, f, g: [one(f.median()), one(s.nunique()), one(s[0]), one(s[len(s) - 1]), "
        .. "one(f.quantile(.25)), one(f.quantile(.995)), one(f.mean()), g.median(), g.quantile(.9)])(pd.Series(v), "
        .. "pd.Series(v.astype(float)), pd.Series(v.astype(float)).groupby(k))",
    gives = { real, "i64", same, same, real, real, real, real, real },
    without = without { special = "infinities have their own test: between two of them pandas gives NaN" },
    refuses = {
        { "nothing is asked for", function() np.table({ a = { 1 } }):agg {} end },
        { "there is no column 'b' %(is it 'a'%?%)", function() np.table({ a = { 1 } }):agg { b = "sum" } end },
        { "has texts, of which there is no median", function() np.table({ a = { "x" } }):agg { a = "median" } end },
        { "complex numbers have no order", function() np.table({ a = np.array { 1i, 2 } }):agg { a = "median" } end },
    },
    also = { infinities = function()
        local t = np.table { { "x", np.array({ -1 / 0, 1, 2, 1 / 0, 0 / 0 }, { dtype = "f64" }) } }
        check.equal(t:agg({ x = { "median", "0%", "100%", "10%" } }):row(0),
                    { x_median = 1.5, ["x_0%"] = -1 / 0, ["x_100%"] = 1 / 0, ["x_10%"] = -1 / 0 })
        check.equal(t:tail(1):agg({ x = { "median", "nunique", "first", "sum", "min" } }):row(0),
                    { x_median = 0 / 0, x_nunique = 0, x_first = 0 / 0, x_sum = 0, x_min = 0 / 0 })
    end, ["no rows"] = function()
        local nan = 0 / 0
        for _, dtype in ipairs { "i64", "u64", "i8", "u8", "bool", "f32", "f16" } do
            local x = np.zeros({ 0 }, { dtype = dtype })
            local row = np.table({ x = x }):agg { x = { "min", "max", "first", "last", "count", "nunique" } }
            check.equal(row:row(0), { x_min = nan, x_max = nan, x_first = nan, x_last = nan, x_count = 0,
                                      x_nunique = 0 }, dtype)
            check.equal(row.x_min.dtype, dtype:sub(1, 1) == "f" and dtype or "f64", dtype)
        end
        local t = np.table({ { "x", np.array({ 1, 2 }, { dtype = "i64" }) } })
        check.equal(t:agg({ x = { "min", "last" } }).x_last.dtype, "i64") -- with rows it keeps its dtype
    end },
})

of("table.value_counts", {
    args = { { "k", make = keys } }, accepts = REAL, special = false, within = { f64 = "rel 1e-15" },
    shapes = { { { 9 } }, { { 1 } }, { { 0 } }, { { 40 } } },
    options = { {}, { normalize = true }, { ascending = true }, { sort = false } },
    call = function(_, o, k)
        local c = np.table({ { "k", k } }):value_counts("k", given(o))
        return c.k, c:column(o.normalize and "proportion" or "count")
    end,
    oracle = "(lambda s: [s.index.to_numpy(k.dtype), s / max(s.sum(), 1) if o.get('normalize') else s])((lambda c: c "
        .. "if not o.get('sort', True) else c.sort_values(ascending=o.get('ascending', False), kind='stable'))("
        .. "pd.DataFrame({'k': k}).groupby('k').size()))",
    gives = { same, function(_, o) return o.normalize and "f64" or "i64" end },
    without = without { special = DRAWN },
    also = { texts = function()
        local t = np.table { { "s", { "b", false, "a", "b" } }, { "n", { 1, 1, 2, 1 } } }
        check.equal(t:value_counts("s"):totable(), { s = { "b", "a" }, count = { 2, 1 } })
        check.equal(t:value_counts({ "s", "n" }):totable(), { s = { "b", "a" }, n = { 1, 2 }, count = { 2, 1 } })
    end, ["differences that their dtype, or a float, has not"] = function()
        local function counts(x, by)
            local c = np.table({ { "k", x }, { "j", np.zeros_like(x) } }):value_counts(by, { sort = false })
            return { c.k:totable(), c.count:totable() }
        end
        for _, by in ipairs { { "k" }, { "k", "j" } } do
            local narrow = np.tile(np.array({ -100, 100, 27 }, { dtype = "i8" }), 100)
            check.equal(counts(narrow, by), { { -100, 27, 100 }, { 100, 100, 100 } })
            local far = np.array({ 2 ^ 53 + 2, 2 ^ 53, 2 ^ 53 + 2 }, { dtype = "i64" }) - 1
            check.equal(counts(far, by), { { far[1]:item(), far[0]:item() }, { 1, 2 } })
            local ends = np.array({ -2147483648, 2147483647 }, { dtype = "i32" })
            check.equal(counts(ends, by), { ends:totable(), { 1, 1 } })
        end
    end },
})

of("table.drop_duplicates", {
    args = { { "k", make = keys }, { "j", make = keys }, "v" }, accepts = REAL, gives = "same",
    shapes = { { { 9 }, { 9 }, { 9 } }, { { 1 }, { 1 }, { 1 } }, { { 0 }, { 0 }, { 0 } } },
    options = { {}, { keep = "first" }, { keep = "last" }, { keep = false } },
    call = function(_, o, k, j, v)
        local t = np.table { { "k", k }, { "j", j }, { "v", v } }
        return t:drop_duplicates({ "k", "j" }, given(o)).v, t:drop_duplicates("k", given(o)).v,
               t:select({ "k", "j" }):drop_duplicates(nil, given(o)).j
    end,
    oracle = "(lambda t, keep: [t.drop_duplicates(['k', 'j'], keep=keep).v, t.drop_duplicates('k', keep=keep).v, "
        .. "t.drop_duplicates(['k', 'j'], keep=keep).j])(pd.DataFrame({'k': k, 'j': j, 'v': v}), "
        .. "o.get('keep', 'first'))",
    without = without(),
    refuses = { { '"first", "last" or false', function()
        np.table({ a = { 1 } }):drop_duplicates("a", { keep = 1 })
    end } },
})

-- ---- Missing values -------------------------------------------------------------------------------------------------

of("table.isna", {
    args = { { "k", make = keys }, "v" }, accepts = REAL, gives = "bool", shapes = SHAPES,
    call = function(_, o, k, v)
        local t = frame(k, v)
        return t:isna("k", given(o)), t:isna().v, t:isna():to_array()
    end,
    oracle = "[pd.isna(k), pd.isna(v), np.stack([pd.isna(k), pd.isna(v)], 1)]",
    without = { numbers = "a number is no column", derivatives = "its results are bools", jit = WAITS, programs = WAITS,
                vmap = WAITS },
})

of("table.dropna", {
    args = { { "k", make = keys }, { "j", make = keys } }, accepts = "floats i32 bool", gives = "same", special = false,
    shapes = SHAPES, options = { {}, { how = "any" }, { how = "all" } },
    call = function(_, o, k, j)
        local t = frame(k, j)
        local d = t:dropna(nil, given(o))
        return d.k, d.v, t:dropna("k", given(o)).v
    end,
    oracle = "(lambda t, d: [d.k, d.v, t.dropna(subset=['k'], how=o.get('how', 'any')).v])(*(lambda t: [t, "
        .. "t.dropna(how=o.get('how', 'any'))])(pd.DataFrame({'k': k, 'v': j})))",
    without = without { special = DRAWN },
    also = { texts = function()
        local t = np.table { { "s", { "a", false, false } }, { "n", { 1, 2, 3 } }, { "x", { 1, 0 / 0, 3 } } }
        check.equal({ #t:dropna(), #t:dropna { "s", "x" }, #t:dropna({ "s", "x" }, { how = "all" }), #t:dropna("n") },
                    { 1, 1, 2, 3 })
    end },
})

of("table.fillna", {
    args = { { "k", make = keys }, { "j", make = keys } }, accepts = REAL, gives = "same", special = false,
    shapes = SHAPES,
    call = function(_, o, k, j)
        local t = frame(k, j)
        local value = dtypes.by_name[k.dtype].kind == "b" and true or 7
        return t:fillna(7, given(o)).k, t:fillna({ k = value }).k, t:fillna({ k = j }).k
    end,
    oracle = "[pd.Series(k).fillna(7).to_numpy(k.dtype)] * 2 + [pd.Series(k).fillna(pd.Series(j))]",
    without = without { special = DRAWN },
    refuses = {
        { "column 's' of text cannot be filled with the number 1", function()
            np.table({ s = { "a", false } }):fillna { s = 1 }
        end },
        { "column 'x' of f32 cannot be filled with the string", function()
            np.table({ x = { 1, 0.5 } }):fillna { x = "a" }
        end },
        { "column 'x' has 2 rows, and what fills it the shape %(3,%)", function()
            np.table({ x = { 1, 0.5 } }):fillna { x = np.ones(3) }
        end },
        { "argument 1 %(value%) must be a number", function() np.table({ x = { 1, 0.5 } }):fillna(print) end },
    },
    also = { texts = function()
        local t = np.table { { "s", { "a", false, "c" } }, { "u", { "x", "y", false } }, { "n", { 1, 2, 3 } } }
        check.equal(t:fillna("?"):totable(), { s = { "a", "?", "c" }, u = { "x", "y", "?" }, n = { 1, 2, 3 } })
        check.equal(t:fillna({ s = t.u, u = "c" }):totable(),
                    { s = { "a", "y", "c" }, u = { "x", "y", "c" }, n = { 1, 2, 3 } })
        check.equal(t:fillna(1):totable().s, { "a", false, "c" })
    end },
})

for _, way in ipairs { "ffill", "bfill" } do
    of("table." .. way, {
        args = { { "k", make = keys }, { "j", make = keys } }, accepts = "floats i32 bool", gives = "same",
        special = false, shapes = SHAPES, options = { {}, { by = "v" } },
        call = function(_, o, k, j)
            local t = frame(k, j)
            return t[way](t, "k", given(o)).k, t[way](t, nil, given(o)).k
        end,
        oracle = ("[carried(k, j, o, '%s')] * 2"):format(way),
        without = without { special = DRAWN },
        also = { texts = function()
            local t = np.table { { "s", { false, "b", false, "a" } } }
            check.equal(t[way](t).s:totable(), way == "ffill" and { false, "b", "b", "a" } or { "b", "b", "a", "a" })
        end },
    })
end

-- ---- Ranks and intervals --------------------------------------------------------------------------------------------

of("table.rank", {
    args = { { "k", make = keys }, { "v", from = -2, to = 2 } }, accepts = REAL, gives = "f64", shapes = SHAPES,
    options = { {}, { method = "min" }, { method = "max" }, { method = "first" }, { method = "dense" },
                { ascending = false, by = "k" }, { pct = true, by = "k" }, { pct = true, method = "dense" },
                { ascending = false, method = "first" } },
    within = { f64 = "rel 1e-15" },
    call = function(_, o, k, v) return frame(k, v):rank("v", given(o)) end,
    oracle = "ranked(k, v, o)",
    without = without(),
    also = { texts = function()
        local t = np.table { { "s", { "b", false, "a", "b" } } }
        check.equal(t:rank("s"):totable(), { 2.5, 0 / 0, 1, 2.5 })
    end },
})

of("table.cut", {
    args = { { "v", from = -3, to = 3 } }, accepts = "floats ints", special = false,
    shapes = { { { 9 } }, { { 1 } }, { { 30 } } },
    options = { {}, { right = false }, { include_lowest = true }, { labels = { "a", "b", "c" } } },
    call = function(_, o, v)
        local t = np.table { { "v", v } }
        local fixed, even = t:cut("v", { -2, 0.5, 1, 2 }, given(o)), t:cut("v", 3, given(o))
        return fixed.codes, table.concat(fixed.levels, " "), even.codes, table.concat(even.levels, " ")
    end,
    oracle = "intervals(pd.cut(v, [-2, .5, 1, 2], right=o.get('right', True), labels=o.get('labels'), "
        .. "include_lowest=o.get('include_lowest', False))) + intervals(pd.cut(v, 3, right=o.get('right', True), "
        .. "labels=o.get('labels'), include_lowest=o.get('include_lowest', False)))",
    gives = { "i32", "i32", "i32", "i32" },
    without = without { special = "between infinities there are no edges, which has its own test" },
    refuses = {
        { "item 2", function() np.table({ a = { 1 } }):cut("a", { 2, 1 }) end },
        { "a list of 2 strings, one for each interval", function()
            np.table({ a = { 1 } }):cut("a", 2, { labels = { "x" } })
        end },
        { "must hold different strings", function()
            np.table({ a = { 1 } }):cut("a", 2, { labels = { "x", "x" } })
        end },
        { "column 'a' must have real numbers, got text", function() np.table({ a = { "x" } }):cut("a", 2) end },
        { "has infinities", function() np.table({ a = { 1, 1 / 0 } }):cut("a", 2) end },
        { "has no values", function() np.table({ a = { 0 / 0 } }):cut("a", 2) end },
        { "bins", function() np.table({ a = { 1 } }):cut("a", 0) end },
    },
    also = { order = function()
        local t = np.table { { "x", { 30, 5, 0 / 0, 200, -1 } } }
        local c = t:cut("x", { 0, 10, 100 })
        check.equal(c:totable(), { "(10, 100]", "(0, 10]", false, false, false })
        check.equal(t:with({ c = c }):sort("c").x:totable(), { 5, 30, 0 / 0, 200, -1 })
        check.equal(c:eq("(10, 100]"):totable(), { true, false, false, false, false })
        check.equal(t:with({ c = c }):concat(t:with({ c = c })):value_counts("c", { sort = false }).c:totable(),
                    { "(0, 10]", "(10, 100]" })
    end },
})

of("table.qcut", {
    args = { { "v", from = -3, to = 3 } }, accepts = "floats", special = false, shapes = { { { 9 } }, { { 30 } } },
    options = { { duplicates = "drop" }, { labels = { "a", "b", "c" } } },
    call = function(_, o, v)
        local t = np.table { { "v", v } }
        local c, d = t:qcut("v", 3, o), t:qcut("v", { 0, 0.1, 0.9, 1 }, o)
        return c.codes, table.concat(c.levels, " "), d.codes, table.concat(d.levels, " ")
    end,
    oracle = "intervals(pd.qcut(v, 3, labels=o.get('labels'), duplicates=o.get('duplicates', 'raise'))) + intervals("
        .. "pd.qcut(v, [0, .1, .9, 1], labels=o.get('labels'), duplicates=o.get('duplicates', 'raise')))",
    gives = { "i32", "i32", "i32", "i32" },
    without = without { special = "between infinities there are no edges, which has its own test" },
    refuses = {
        { 'two edges are 1, since so many values of column \'a\' are equal; {duplicates="drop"}', function()
            np.table({ a = { 1, 1, 1, 2 } }):qcut("a", 4)
        end },
        { "all edges are 1", function() np.table({ a = { 1, 1 } }):qcut("a", 2, { duplicates = "drop" }) end },
        { "from 0 to 1", function() np.table({ a = { 1, 1 } }):qcut("a", { 0, 2 }) end },
    },
})

-- ---- Samples and categories -----------------------------------------------------------------------------------------

local function test_sample()
    local random = seeds.generator(7)
    for n = 0, 12 do
        local t = np.table { { "n", np.arange(n, { dtype = "i64" }) }, { "weight", np.arange(n) } }
        local key = np.random.key(random(1000))
        for size = 0, n do
            local drawn, seen = t:sample(key, size).n:totable(), {}
            check.equal(#drawn, size)
            for _, row in ipairs(drawn) do
                check.ok(not seen[row] and row >= 0 and row < n, row)
                seen[row] = true
            end
        end
        if n > 1 then
            local heavy = t:sample(key, 50, { replace = true, weights = "weight" }).n
            check.ok(#heavy == 50 and heavy:min():item() > 0, "a row of weight 0 is never drawn")
        end
        check.equal(t:sample(key, nil, { frac = 1 }):sort("n").n:totable(), t.n:totable())
        check.equal(#t:sample(key, nil, { frac = 0.5 }), math.floor(n / 2 + 0.5))
        check.equal(t:sample(key, n).n:totable(), t:sample(key, n).n:totable())
    end
end

local function test_sample_mistakes()
    local t, key = np.table { a = { 1, 2 }, w = { -1, 2 }, s = { "x", "y" } }, np.random.key(0)
    for _, case in ipairs {
        { "3 of 2 rows cannot be drawn once each", 3 }, { "one of them", nil }, { "one of them", 1, { frac = 1 } },
        { "frac", nil, { frac = -1 } }, { "weights must be from 0 up", 1, { weights = "w" } },
        { "must have real numbers, got text", 1, { weights = "s" } }, { "no column 'z'", 1, { weights = "z" } },
        { "n%)", -1 }, { "unknown option 'axis'", 1, { axis = 0 } },
    } do check.raises(function() t:sample(key, case[2], case[3]) end, "np%.table%.sample: .*" .. case[1]) end
    check.raises(function() t:head(0):sample(key, 1, { replace = true }) end, "no rows")
end

held("table.sample", "what a draw of rows is", { values = test_sample, options = test_sample_mistakes })

held("text.set_categories", "the order of a list", {
    values = function()
        local t = np.table { { "size", { "small", "large", false, "small", "medium" } }, { "n", np.arange(5) } }
        local order = { "small", "medium", "large", "huge" }
        local s = t.size:set_categories(order)
        check.equal({ s:totable(), s.levels, s:unique() }, { t.size:totable(), order, { "small", "medium", "large" } })
        local u = t:with { size = s }
        check.equal(u:sort("size").n:totable(), { 0, 3, 4, 1, 2 })
        check.equal(u:sort("size", { descending = true }).n:totable(), { 1, 4, 0, 3, 2 })
        check.equal(u:group("size", { n = "sum" }):totable(),
                    { size = { "small", "medium", "large" }, count = { 2, 1, 1 }, n_sum = { 3, 4, 1 } })
        check.equal(u:agg({ size = { "min", "max" } }):row(0), { size_min = "small", size_max = "large" })
        for k, level in ipairs { "small", "large", "huge", "none" } do
            local mask = {}
            for j, own in ipairs(t.size:totable()) do mask[j] = own == level end
            check.equal(s:eq(level):totable(), mask, k)
        end
        check.equal(u:concat(u).size.levels, order)
        check.equal(u:concat(t).size.levels, { "huge", "large", "medium", "small" })
        check.equal(u:concat(t).size:totable()[10], "medium")
    end,
    refusals = function()
        local s = np.table({ s = { "a", "b" } }).s
        check.raises(function() s:set_categories { "a" } end, '"b" is not among the categories')
        check.raises(function() s:set_categories { "a", "b", "a" } end, '"a" stands twice')
        check.raises(function() s:set_categories { "a", "b", 1 } end, "item 3 must be a string")
        check.raises(function() s:set_categories(s) end, "argument 1")
    end,
})

finish()
