--- tables_test.lua: contracts of np.table's methods against pandas; columns of texts against plain Lua.
-- (sanitized with --long)
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local hostile = require "tests.lib.hostile"
local seeds = require "tests.lib.seeds"
local of, finish, _, elsewhere, held = require "tests.lib.contracts" "tables"

local random_of_texts = seeds.generator(tonumber(os.getenv "NEAP_CONTRACT_SEED" or "1") * 15485863)

--- A column of few values, of which some are missing: what rows are grouped, joined and sorted by.
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
local PLACES = "rows are chosen by values; what moves with them is np.take, which has its own contract"
local function without(more)
    local list = { jit = WAITS, programs = WAITS, vmap = WAITS, derivatives = WAITS,
                   numbers = "a number is no column", strided = nil }
    for way, reason in pairs(more or {}) do list[way] = reason end
    return list
end

local REAL = "floats ints bool"
local function sum_dtype(dtype)
    local kind = dtypes.by_name[dtype].kind
    return kind == "f" and dtype or kind == "u" and "u64" or "i64"
end
local function mean_dtype(dtype) return dtype == "f32" and "f32" or "f64" end
local function column_dtype(dtype) return dtype end

--- The dtypes of results, one function of the dtype for each.
local function gives(list)
    for k, dtype in ipairs(list) do list[k] = type(dtype) == "string" and function() return dtype end or dtype end
    return list
end

--- Keys of two dtypes are equal where they are as numbers.
local function test_key_dtypes()
    local function matches(a, b, left, right)
        local t = np.table { { "k", np.array(a, { dtype = left }) } }
        return #t:join(np.table { { "k", np.array(b, { dtype = right }) } }, { on = "k" })
    end
    local DTYPES = { { "u64", "i64" }, { "u64", "i32" }, { "i64", "f64" }, { "i32", "f32" }, { "i64", "f32" } }
    for _, names in ipairs(DTYPES) do
        for turn = 1, 2 do
            local left, right = names[turn], names[3 - turn]
            local odd = left:find "f32" and 2 ^ 24 or 2 ^ 24 + 1
            local equal = left:find "f32" and 2 or 1
            check.equal(matches({ odd, 3 }, { 2 ^ 24, 3, 5 }, left, right), equal, left .. " " .. right)
        end
    end
    check.equal(matches({ -1ULL, 2 }, { -1, 2 }, "u64", "i64"), 1)
    check.equal(matches({ 9223372036854775807ULL }, { 9223372036854775807LL }, "u64", "i64"), 1)
    local ends = { 9223372036854775807LL, -9223372036854775807LL - 1 }
    check.equal(matches({ 9223372036854775808ULL }, ends, "u64", "i64"), 0)
end

--- Between equal elements a quartile is that element, also between infinities.
local function test_quartiles()
    local x = np.array({ 1, 2, 1 / 0, 1 / 0 }, { dtype = "f64" })
    check.equal(np.table({ { "v", x } }):describe().v:totable(), { 4, 1 / 0, 0 / 0, 1, 1.75, 1 / 0, 1 / 0, 1 / 0 })
end

--- Functions of users get the values of each group that are there, in the order of the rows.
local function test_functions()
    local t = np.table { { "k", { 2, 1, 2, 1, 3 } }, { "v", { 1, 2, np.nan, 8, np.nan } },
                         { "s", { "a", "b", false, "a", "c" } } }
    local g = t:group("k", {
        v = { "sum", range = function(x) return x:max() - x:min() end, n = function(x) return #x end },
        s = function(s) return s[0] end,
    })
    check.equal(t.columns, { "k", "v", "s" })
    check.equal({ g.v_n:totable(), g.v_n.dtype, g.s:totable() }, { { 2, 1, 0 / 0 }, "f64", { "b", "a", "c" } })
    check.equal({ g.v_range:totable(), g.v_range.dtype, g.v_sum:totable() }, { { 6, 0, 0 / 0 }, "f32", { 10, 1, 0 } })
    check.equal(t:group("k", { v = function(x) return #x > 1 end }).v:totable(), { 1, 0, 0 / 0 })
    check.equal(t:dropna("v"):group("k", { v = function(x) return #x > 1 end }).v:totable(), { true, false })
    check.equal(t:group("k", { s = function(s) return #s > 1 and s[1] end }).s:totable(), { "a", false, false })
    check.equal(t:group("s", { v = { "50%", "median" } }):totable()["v_50%"], { 4.5, 2, 0 / 0 })
end

local NEAR = { f64 = "rel 1e-13", f32 = "rel 1e-6", f16 = "ulp 1", bf16 = "ulp 1" }
local FRAME = "pd.DataFrame({'k': k, 'v': v})"

of("table.group", {
    args = { { "k", make = keys }, "v" }, accepts = REAL, within = NEAR,
    shapes = { { { 8 }, { 8 } }, { { 2 }, { 2 } }, { { 0 }, { 0 } }, { { 40 }, { 40 } } },
    call = function(_, o, k, v)
        local t = np.table { { "k", k }, { "v", v } }
        local g = t:group("k", { v = { "count", "sum", "mean", "min", "max", "var", "std", "nunique", "first",
                                          "last" } }, next(o) and o or nil)
        return g.k, g.count, g.v_count, g.v_sum, g.v_mean, g.v_min, g.v_max, g.v_var, g.v_std, g.v_nunique, g.v_first,
               g.v_last
    end,
    oracle = "(lambda g, f: [g.v.size().index.to_numpy(k.dtype), g.v.size(), g.v.count(), g.v.sum(), f.v.mean(), "
        .. "g.v.min(), g.v.max(), f.v.var(), f.v.std(), g.v.nunique(), g.v.first(), g.v.last()])(" .. FRAME
            .. ".groupby('k'), "
        .. "pd.DataFrame({'k': k, 'v': v.astype(float)}).groupby('k'))",
    gives = gives { column_dtype, "i64", "i64", sum_dtype, mean_dtype, column_dtype, column_dtype, mean_dtype,
                    mean_dtype, "i64", column_dtype, column_dtype },
    without = without(), also = { functions = test_functions },
    refuses = {
        { "there is no aggregate the string \"avg\"; there are count, first, last, max, mean, median",
          function() np.table({ a = { 1 } }):group("a", { a = "avg" }) end },
        { "there is no aggregate the string \"101%%\"", function() np.table({ a = { 1 } }):agg { a = "101%" } end },
        { "must return a number, a boolean or a string, got nothing", function()
            np.table({ a = { 1 }, b = { 1 } }):group("a", { b = function() end })
        end },
        { "returns results of dtype f64 and of text", function()
            np.table({ a = { 1, 2 }, b = { 1, 2 } }):group("a", { b = function(x)
                return x:sum():item() == 1 and 1 or "x"
            end })
        end },
        { "option 'on' must be", function() np.table({ a = { 1 } }):join(np.table { a = { 1 } }, {}) end },
    },
})

of("table.describe", {
    args = { "v" }, accepts = "floats ints", within = { f64 = "rel 1e-12" }, gives = "f64",
    shapes = { { { 7 } }, { { 1 } }, { { 2 } }, { { 12 } } },
    call = function(_, o, v) return np.table({ { "v", v } }):describe(unpack { next(o) and o or nil }).v end,
    oracle = "pd.Series(v.astype(float)).describe().to_numpy()",
    without = without(), also = { quartiles = test_quartiles },
})

of("table.sort", {
    args = { { "k", make = keys }, "v" }, accepts = REAL, gives = "same",
    shapes = { { { 9 }, { 9 } }, { { 1 }, { 1 } }, { { 0 }, { 0 } } },
    options = { {}, { descending = true }, { descending = false } },
    call = function(_, o, k, v)
        local t = np.table { { "k", k }, { "v", v } }
        return t:sort("k", o).v, t:sort({ "v", "k" }, o).k
    end,
    oracle = "[" .. FRAME .. ".sort_values(by, ascending=not o.get('descending', False), kind='stable', "
        .. "na_position='last')[of] for by, of in ((['k'], 'v'), (['v', 'k'], 'k'))]",
    without = without(),
})

of("table.join", {
    args = { { "k", make = keys }, "v", { "j", make = keys } }, accepts = REAL,
    shapes = { { { 6 }, { 6 }, { 4 } }, { { 3 }, { 3 }, { 0 } }, { { 0 }, { 0 }, { 3 } }, { { 1 }, { 1 }, { 1 } } },
    options = { { on = "k" }, { on = "k", how = "left", suffix = "_other" }, { on = { "k" }, how = "inner" },
                { on = "k", how = "right" }, { on = "k", how = "outer" }, { on = "k", how = "semi" },
                { on = "k", how = "anti" } },
    call = function(_, o, k, v, j)
        local t = np.table { { "k", k }, { "v", v } }
        local joined = t:join(np.table { { "k", j }, { "v", np.arange(#j, { dtype = "i64" }) } }, o)
        local alone = o.how == "semi" or o.how == "anti"
        return joined.k, joined.v:astype(o.how and "f64" or v.dtype),
               alone and np.arange(#joined, { dtype = "f64" })
                   or joined:column("v" .. (o.suffix or "_right")):astype "f64"
    end,
    oracle = "joined(" .. FRAME .. ", pd.DataFrame({'k': j, 'w': np.arange(len(j))}), o.get('how'))",
    gives = gives { column_dtype, function(dtype, o) return o.how and "f64" or dtype end, "f64" },
    without = without(), also = { ["keys of two dtypes"] = test_key_dtypes },
})

-- ---- Rows and columns -----------------------------------------------------------------------------------------------

local SOME = "f64 f32 bf16 i64 u8 bool c64"
local MOVES = "it only moves elements"

--- A contract of what only chooses rows and columns of a table of k and v: call(t, o, k, v) → results.
local function moves(name, call, oracle, more)
    local contract = more or {}
    contract.args, contract.accepts, contract.gives = { { "k", from = -1, to = 1 }, "v" }, SOME, "same"
    contract.shapes = { { { 6 }, { 6 } }, { { 1 }, { 1 } }, { { 8 }, { 8 } } }
    contract.special, contract.oracle = false, oracle
    contract.call = function(_, o, k, v)
        local t = np.table { { "k", k }, { "v", v } }
        if next(o) then return call(t, k, v, o) end
        return call(t, k, v)
    end
    local reasons = contract.without or {}
    reasons.special, reasons.numbers, reasons.refusals = MOVES, "a number is no column", "it takes tables of names"
    contract.without = reasons
    of(name, contract)
end

moves("table.column", function(t) return t:column "v", t:column "k" end, "[v, k]")
moves("table.select", function(t) local s = t:select { "v" } return s.v, s:to_array() end, "[v, v[:, None]]")
moves("table.drop", function(t) local s = t:drop { "k" } return s.v, s:to_array() end, "[v, v[:, None]]")
moves("table.rename", function(t) local s = t:rename { k = "z" } return s.z, s.v, s:to_array() end,
      "[k, v, np.stack([k, v], 1)]")
moves("table.with", function(t, k, v) local s = t:with { k = v, z = k } return s.k, s.v, s.z, s:to_array() end,
      "[v, v, k, np.stack([v, v, k], 1)]")
moves("table.to_array", function(t) return t:to_array(), t:to_array { "v", "k" } end,
      "[np.stack([k, v], 1), np.stack([v, k], 1)]")
moves("table.head", function(t) return t:head().v, t:head(0).v, t:head(3).k end, "[v[:5], v[:0], k[:3]]")
moves("table.tail", function(t) return t:tail().v, t:tail(0).v, t:tail(3).k end, "[v[-5:], v[:0], k[-3:]]")
moves("table.take", function(t) return t:take({ 0, -1, 0 }).v, t[np.array({ -1, 0 }, { dtype = "i32" })].k end,
      "[v[[0, -1, 0]], k[[-1, 0]]]")
moves("table.concat", function(t) return t:concat(t:head(1), t:select { "v", "k" }).v end,
      "np.concatenate([v, v[:1], v])",
          { unseen = { join = "columns that are not everywhere: tests/stdlib/tables_test.lua" } })
moves("table.filter", function(t, k)
    local mask = np.not_equal(k, k[0])
    return t:filter(mask).v, t[mask].k
end, "[v[k != k[0]], k[k != k[0]]]", {
    without = { jit = WAITS, programs = WAITS, vmap = WAITS, derivatives = PLACES },
})

-- ---- Tables of Lua values, and columns of texts ---------------------------------------------------------------------

--- A list of texts, of which few are different and some missing, and its column.
local function draw_texts()
    local random, few, list = random_of_texts, {}, {}
    for k = 1, random(5) do few[k] = hostile.text(random) end
    for k = 1, random(12) do list[k] = random(5) > 1 and few[random(#few)] end
    list[#list + 1] = few[1]
    return list, np.table({ { "s", list } }).s
end

local function sorted_texts(list)
    local seen, different = {}, {}
    for _, value in ipairs(list) do
        if value and not seen[value] then
            seen[value] = true
            different[#different + 1] = value
        end
    end
    table.sort(different)
    return different, seen
end

local function mask_of(list, f)
    local mask = {}
    for k, value in ipairs(list) do mask[k] = value and f(value) or false end
    return mask
end

local function test_texts()
    for _ = 1, os.getenv "NEAP_TEST_LONG" and 2000 or 40 do
        local list, column = draw_texts()
        check.equal(column:totable(), list)
        local different = sorted_texts(list)
        check.equal(column:unique(), different)
        local one, other = list[#list], hostile.text(random_of_texts)
        check.equal(column:eq(one):totable(), mask_of(list, function(s) return s == one end))
        check.equal(column:eq(other):totable(), mask_of(list, function(s) return s == other end))
        check.equal(column:isin({ one, other }):totable(), mask_of(list, function(s) return s == one or s == other end))
        local missing, differ = {}, {}
        for k, value in ipairs(list) do missing[k], differ[k] = not value, value ~= one end
        check.equal(column:isnan():totable(), missing)
        check.equal(column:ne(one):totable(), differ)
        check.equal(column:ne(one):totable(), np.logical_not(column:eq(one)):totable())
        for k = 1, #list do check.equal(column[k - 1] or false, list[k]) end
    end
end

--- Rows with texts: sorted, grouped and joined as Lua's loops do it.
local function test_text_rows()
    for _ = 1, os.getenv "NEAP_TEST_LONG" and 1000 or 20 do
        local list = draw_texts()
        local t = np.table { { "s", list }, { "n", np.arange(#list, { dtype = "i64" }) } }
        local different = sorted_texts(list)
        local rows, counts = {}, {}
        for _, value in ipairs(different) do
            local n = 0
            for k, own in ipairs(list) do
                if own == value then rows[#rows + 1], n = k - 1, n + 1 end
            end
            counts[#counts + 1] = n
        end
        for k, own in ipairs(list) do
            if not own then rows[#rows + 1] = k - 1 end
        end
        check.equal(t:sort("s").n:totable(), rows)
        local g = t:group("s", { n = "min" })
        check.equal({ g.s:totable(), g.count:totable() }, { different, counts })
        local pairs_of = {}
        for k, own in ipairs(list) do
            for j, value in ipairs(different) do
                if own == value then pairs_of[#pairs_of + 1] = { k - 1, j - 1 } end
            end
        end
        local u = np.table { { "s", different }, { "m", np.arange(#different, { dtype = "i64" }) } }
        local joined = t:join(u, { on = "s" })
        check.equal(joined:to_array({ "n", "m" }):totable(), pairs_of)
        local twice = {}
        for turn = 0, 1 do
            for k, own in ipairs(list) do twice[turn * #list + k] = own end
        end
        check.equal(t:concat(t).s:totable(), twice)
    end
end

held("text.totable text.eq text.ne text.isin text.isnan text.unique", "loops over the texts", { values = test_texts })
held("np.table table.row table.totable", "the lists of which a table is made", {
    values = function()
        local x = np.array({ 1, 2, 3 }, { dtype = "i64" })
        local t = np.table({ b = x, a = { 1.5, 2, 2.5 }, c = { "x", false, "y" }, d = { true, false, true } })
        check.equal(t.columns, { "a", "b", "c", "d" })
        check.equal(t:totable(), { a = { 1.5, 2, 2.5 }, b = { 1, 2, 3 }, c = { "x", false, "y" },
                                   d = { true, false, true } })
        check.equal({ t.a.dtype, t.b.dtype, t.c.dtype, t.d.dtype }, { "f32", "i64", "text", "bool" })
        check.equal(t:row(-1), { a = 2.5, b = 3, c = "y", d = true })
        check.equal(t:row(1), { a = 2, b = 2, d = false })
        check.equal(np.table({ b = x, a = x }, { columns = { "b", "a" } }).columns, { "b", "a" })
        check.equal(np.table(np.eye(2), { columns = { "u", "v" } }).v:totable(), { 0, 1 })
        local wide = np.table { n = { 9007199254740993LL, 1 }, z = { 1i, 2 } }
        check.equal({ wide.n.dtype, tostring(wide.n[0]), wide.z.dtype }, { "i64", "9007199254740993", "c64" })
    end,
    options = test_text_rows,
})
elsewhere("table.tostring", "tests/stdlib/tables_test.lua", "its text, test by test: \"text of a table\"")

finish()
