--- table_shapes_test.lua: contracts of np.table's methods that turn tables around and that look along rows, against
-- pandas: pivots, windows, shifts, running totals.
-- (sanitized with --long)
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local seeds = require "tests.lib.seeds"
local of, finish = require "tests.lib.contracts" "table_shapes"

--- A column of few values, of which some are missing: what rows are grouped by.
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
local REAL = "floats ints bool"
local SHAPES = { { { 9 }, { 9 } }, { { 1 }, { 1 } }, { { 0 }, { 0 } }, { { 30 }, { 30 } } }

local function given(o) return next(o) and o or nil end

local function with_holes(dtype) return dtypes.by_name[dtype].kind == "f" and dtype or "f64" end

-- ---- Pivots ---------------------------------------------------------------------------------------------------------

--- The names of a table's columns and its cells as f64.
local function cells(t)
    local list = {}
    for k, name in ipairs(t.columns) do list[k] = t:column(name):astype "f64" end
    return table.concat(t.columns, " "), np.stack(list, { axis = 1 })
end

local THREE = { { { 9 }, { 9 }, { 9 } }, { { 3 }, { 3 }, { 3 } }, { { 30 }, { 30 }, { 30 } } }

of("table.pivot", {
    args = { { "k", make = keys }, { "j", make = keys }, "v" }, accepts = "f64 f32 i32 u8", gives = { "", "f64" },
    shapes = THREE, special = false,
    options = { { index = "k", columns = "j", values = "v" }, { index = { "k" }, columns = "j", values = { "v" } } },
    call = function(_, o, k, j, v)
        local t = np.table { { "k", k }, { "j", j }, { "v", v } }
        return cells(t:drop_duplicates({ "k", "j" }):dropna({ "k", "j" }):pivot(o))
    end,
    oracle = "cells(pd.DataFrame({'k': k, 'j': j, 'v': v}).drop_duplicates(['k', 'j']).dropna(subset=['k', 'j'])"
        .. ".pivot(index='k', columns='j', values='v').reset_index())",
    without = without { special = "values only move" },
    refuses = {
        { "two rows have the same values in the columns of 'index' and 'b'; t:pivot_table takes", function()
            np.table({ a = { 1, 1 }, b = { 1, 1 }, c = { 1, 2 } }):pivot { index = "a", columns = "b", values = "c" }
        end },
        { "the column 'a' is named twice", function()
            np.table({ a = { 1, 1 }, b = { 1, 1 } }):pivot { index = "a", columns = "b", values = "a" }
        end },
        { "option 'index' must be the name of a column", function() np.table({ a = { 1 } }):pivot {} end },
        { "takes {index=…", function() np.table({ a = { 1 } }):pivot() end },
        { "two columns 'a'", function()
            np.table({ { "a", { 1, 1 } }, { "b", { "a", "x" } }, { "c", { 1, 2 } } }):pivot {
                index = "a", columns = "b", values = "c" }
        end },
    },
    also = { ["of several columns and texts"] = function()
        local t = np.table { { "d", { 2, 1, 1 } }, { "c", { "x", "y", "x" } }, { "n", { 1, 2, 3 } },
                             { "s", { "p", "q", "r" } } }
        local p = t:pivot { index = "d", columns = "c", values = { "n", "s" } }
        check.equal(p.columns, { "d", "n_x", "n_y", "s_x", "s_y" })
        check.equal(p:totable(), { d = { 1, 2 }, n_x = { 3, 1 }, n_y = { 2, 0 / 0 }, s_x = { "r", "p" },
                                   s_y = { "q", false } })
        check.equal({ p.n_x.dtype, t:head(1):pivot({ index = "d", columns = "c", values = "n" }).x.dtype },
                    { "f64", "i64" })
        check.equal(#t:head(0):pivot { index = "d", columns = "c", values = "n" }, 0)
    end },
})

of("table.pivot_table", {
    args = { { "k", make = keys }, { "j", make = keys }, { "v", from = 1, to = 4 } }, accepts = "f64 f32 i32 u8",
    gives = { "", "f64" }, special = false, shapes = THREE, within = { f64 = "rel 1e-6" },
    options = { { index = "k", columns = "j", values = "v" },
                { index = "k", columns = "j", values = "v", aggfunc = "sum", fill_value = 0 },
                { index = "k", columns = "j", values = "v", aggfunc = "max" },
                { index = { "k" }, columns = "j", values = "v", aggfunc = "count" } },
    call = function(_, o, k, j, v)
        local copy = {}
        for key, value in pairs(o) do copy[key] = value end
        return cells(np.table({ { "k", k }, { "j", j }, { "v", v } }):pivot_table(copy))
    end,
    oracle = "cells(pd.DataFrame({'k': k, 'j': j, 'v': v.astype(float)}).pivot_table(index='k', columns='j', "
        .. "values='v', aggfunc=o.get('aggfunc', 'mean'), fill_value=o.get('fill_value')).reset_index())",
    without = without { special = "aggregates have their own contract" },
    refuses = {
        { "there is no aggregate the string \"avg\"", function()
            np.table({ a = { 1 }, b = { 1 }, c = { 1 } }):pivot_table { index = "a", columns = "b", values = "c",
                                                                        aggfunc = "avg" }
        end },
        { "option 'fill_value' must be a number", function()
            np.table({ a = { 1 }, b = { 1 }, c = { 1 } }):pivot_table { index = "a", columns = "b", values = "c",
                                                                        fill_value = "x" }
        end },
    },
    also = { functions = function()
        local t = np.table { { "d", { 2, 1, 1 } }, { "c", { "x", "y", "y" } }, { "n", { 1, 2, 5 } } }
        local p = t:pivot_table { index = "d", columns = "c", values = "n", aggfunc = function(x)
            return x:max() - x:min()
        end }
        check.equal(p:totable(), { d = { 1, 2 }, x = { 0 / 0, 0 }, y = { 3, 0 / 0 } })
    end },
})

of("table.melt", {
    args = { { "k", make = keys }, "v" }, accepts = REAL, gives = { "same", "same", "" }, shapes = SHAPES,
    special = false, options = { { id_vars = "k" }, { id_vars = { "k" }, value_vars = "v", var_name = "m",
                                                          value_name = "w" } },
    call = function(_, o, k, v)
        local m = np.table({ { "k", k }, { "v", v }, { "u", v } }):melt(o)
        return m.k, m:column(o.value_name or "value"),
               table.concat(m:column(o.var_name or "variable"):totable(), " ") .. " " .. table.concat(m.columns, " ")
    end,
    oracle = "(lambda m: [m.k, m[o.get('value_name', 'value')], ' '.join(m[o.get('var_name', 'variable')]) + ' ' + "
        .. "' '.join(m.columns)])(pd.DataFrame({'k': k, 'v': v, 'u': v}).melt(**{k: list(v) if isinstance(v, tuple) "
        .. "else v for k, v in o.items()}))",
    without = { special = "values only move", numbers = "a number is no column", jit = WAITS, programs = WAITS,
                vmap = WAITS, derivatives = WAITS },
    refuses = {
        { "column 'a' would have i64 and text", function() np.table({ a = { 1 }, b = { "x" } }):melt() end },
        { "option 'id_vars' names all columns", function() np.table({ a = { 1 } }):melt { id_vars = "a" } end },
        { "two columns 'a'", function() np.table({ a = { 1 }, b = { 2 } }):melt { id_vars = "a", var_name = "a" } end },
    },
})

-- ---- Windows --------------------------------------------------------------------------------------------------------

local HOW = { {}, { how = "sum" }, { how = "min", min_periods = 1 }, { how = "max", by = "k" },
              { how = "std", min_periods = 2 },
              { how = "var", by = "k" }, { how = "median", min_periods = 1 }, { how = "count" },
              { how = "mean", by = "k", min_periods = 1 }, { how = "median", by = "k" } }
local CENTERED = { { center = true }, { center = true, how = "max", min_periods = 1 } }
for _, options in ipairs(HOW) do CENTERED[#CENTERED + 1] = options end
local NEAR_64 = { f64 = "mixed 1e-12" }
local NO_INFINITY = "pandas takes infinities for missing values, here they count: a test of their own"

--- A window by a loop: `from` to `to` of a list, its sum, or what f says.
local function test_windows(window)
    local random = seeds.generator(11 + (window or 0))
    local list = {}
    for k = 1, 60 do list[k] = random(6) == 1 and 0 / 0 or random(9) == 1 and 1 / 0 or random(100) / 7 end
    local t = np.table { { "x", np.array(list, { dtype = "f64" }) } }
    local sums, most = {}, {}
    for k = 1, #list do
        local sum, max, n = 0, -1 / 0, 0
        for j = window and math.max(k - window + 1, 1) or 1, k do
            if list[j] == list[j] then sum, max, n = sum + list[j], math.max(max, list[j]), n + 1 end
        end
        sums[k], most[k] = sum, n > 0 and max or 0 / 0
    end
    local function over(o)
        if window then return t:rolling("x", window, o) end
        return t:expanding("x", o)
    end
    for k, got in ipairs(over({ how = "sum", min_periods = 0 }):totable()) do
        check.ok(got == sums[k] or math.abs(got - sums[k]) < 1e-11,
                 ("%d: %.17g, expected %.17g"):format(k, got, sums[k]))
    end
    check.equal(over({ how = "max", min_periods = 1 }):totable(), most)
    check.equal(over({ how = function(x) return x:max() end, min_periods = 1 }):totable(), most)
end

of("table.rolling", {
    args = { { "k", make = keys }, "v" }, accepts = REAL, gives = "f64", shapes = SHAPES, special = false,
    options = CENTERED,
    within = NEAR_64,
    call = function(_, o, k, v)
        local t = np.table { { "k", k }, { "v", v } }
        return t:rolling("v", 3, given(o)), t:rolling("k", 4, given(o))
    end,
    oracle = "[rolled(k, v, o, 3), rolled(k, k, o, 4)]", without = without { special = NO_INFINITY },
    refuses = {
        { "window%) must be an integer from 1", function() np.table({ a = { 1 } }):rolling("a", 0) end },
        { "'min_periods' must be an integer from 0 to 2", function()
            np.table({ a = { 1 } }):rolling("a", 2, { min_periods = 3 })
        end },
        { "'how' must be one of count, max, mean, median, min, std, sum, var, or a function", function()
            np.table({ a = { 1 } }):rolling("a", 2, { how = "last" })
        end },
        { "column 's' must have real numbers, got text", function() np.table({ s = { "x" } }):rolling("s", 2) end },
    },
    also = { infinities = function()
        for _, window in ipairs { 1, 2, 7, 100 } do test_windows(window) end
    end },
})

of("table.expanding", {
    args = { { "k", make = keys }, "v" }, accepts = REAL, gives = "f64", shapes = SHAPES, special = false,
    options = HOW,
    within = NEAR_64,
    call = function(_, o, k, v) return np.table({ { "k", k }, { "v", v } }):expanding("v", given(o)) end,
    oracle = "rolled(k, v, o, None)", without = without { special = NO_INFINITY },
    also = { infinities = function() test_windows() end },
})

-- ---- Rows before ----------------------------------------------------------------------------------------------------

local BY = { {}, { by = "k" } }
local SERIES = "pd.Series(v.astype(float))"

--- The contract of a method of the rows before.
local function before(name, call, oracle, more)
    local contract = more or {}
    contract.args, contract.accepts, contract.shapes = { { "k", make = keys }, "v" }, REAL, SHAPES
    contract.options, contract.gives = BY, contract.gives or with_holes
    contract.call = function(_, o, k, v) return call(np.table { { "k", k }, { "v", v } }, given(o)) end
    contract.oracle, contract.without = oracle, without(contract.without)
    of(name, contract)
end

before("table.shift", function(t, o) return t:shift("v", 1, o), t:shift("v", -2, o), t:shift("v", 50, o) end,
       "[in_groups(k, " .. SERIES .. ", o, lambda s: s.shift(n)) for n in (1, -2, 50)]", {
    refuses = { { "n%) must be an integer", function() np.table({ a = { 1 } }):shift("a", 0.5) end } },
})
before("table.diff", function(t, o) return t:diff("v", 1, o), t:diff("v", -2, o) end,
       "[in_groups(k, " .. SERIES .. ", o, lambda s: s.diff(n)) for n in (1, -2)]", {
    refuses = { { "column 's' must have numbers, got text", function() np.table({ s = { "x" } }):diff "s" end } },
    special = false, without = { special = "differences are np.subtract's, which is held to them" },
})
before("table.pct_change", function(t, o) return t:pct_change("v", 1, o), t:pct_change("v", 3, o) end,
       "[in_groups(k, " .. SERIES .. ", o, lambda s: s.pct_change(n, fill_method=None)) for n in (1, 3)]", {
    refuses = { { "column 's' must have numbers, got text", function() np.table({ s = { "x" } }):pct_change "s" end } },
    special = false, without = { special = "quotients are np.divide's, which is held to them" },
    within = { f64 = "mixed 1e-14", f32 = "mixed 2e-6", f16 = "mixed 0.01", bf16 = "mixed 0.1" },
})

for _, method in ipairs { "cumsum", "cumprod", "cummin", "cummax" } do
    before("table." .. method, function(t, o) return t[method](t, "v", o) end,
           ("running(k, v, o, '%s')"):format(method), {
        gives = function(dtype)
            local kind = dtypes.by_name[dtype].kind
            if kind == "f" or method:find "m[ai]" then return dtype end
            return kind == "u" and "u64" or "i64"
        end,
        within = { f64 = "rel 1e-13", f32 = "rel 1e-6", f16 = "ulp 1", bf16 = "ulp 1" },
        refuses = { { "must have real numbers, got c64", function()
            local t = np.table { z = np.array { 1i } }
            t[method](t, "z")
        end } },
    })
end

finish()
