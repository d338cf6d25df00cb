--- applied_test.lua: contracts of functions that apply functions of Lua to parts of arrays.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "applied"
local moves = require "tests.lib.contract_moves"

local rest = moves.rest
local function moving(name, fields) of(name, moves.contract(fields)) end

moving("np.apply_along_axis", {
    args = { "x" }, shapes = { { { 3, 4 } }, { { 2, 3, 2 } }, { { 4 } } },
    options = { { axis = 0 }, { axis = -1, what = "last" }, { axis = 0, what = "outer" } },
    call = function(f, o, x)
        assert(o.nonsense == nil, "nonsense: further arguments are those of the function")
        if o.what == "last" then return f(function(row, k) return row[k] end, o.axis, x, -1) end
        if o.what == "outer" then return f(function(row) return np.stack { row, np.flip(row) } end, o.axis, x) end
        return f(np.flip, o.axis, x)
    end,
    oracle = "np.apply_along_axis({'last': lambda r: r[-1], 'outer': lambda r: np.stack([r, r[::-1]])}"
        .. ".get(o.get('what'), lambda r: r[::-1]), o['axis'], x)",
})
local SUM = { f64 = "scaled 1e-15", f32 = "scaled 1e-6", f16 = "scaled 2e-3", bf16 = "scaled 2e-2", c64 = "scaled 1e-6",
              c128 = "scaled 1e-14" }
of("np.apply_over_axes", {
    args = { "x" }, accepts = "floats complex", gives = "same", shapes = { { { 3, 4 } }, { { 2, 3, 2 } } },
    options = { { axes = { 0, 1 } }, { axes = 0 }, { axes = { -1 }, keeps = true } },
    call = function(f, o, x)
        local function sum(y, given) return np.sum(y, { axis = given.axis, keepdims = o.keeps }) end
        assert(o.nonsense == nil, "nonsense: it has no options")
        return f(sum, x, o.axes)
    end,
    oracle = "np.apply_over_axes(np.sum, x, list(o['axes']) if isinstance(o['axes'], tuple) else o['axes'])",
    within = SUM, divided = SUM,
})
of("np.vectorize", {
    args = { "x", "y" }, accepts = "floats ints",
    options = { {}, { dtype = "f64" } }, gives = function(dtype, o) return o.dtype or np.result_type(dtype, 0.5) end,
    call = function(f, o, x, y)
        return f(function(a, b) if a > b then return a end return b end, rest(o, ""))(x, y)
    end,
    oracle = "np.where(x > y, x, y)", within = "exact",
    waits = function() return true end,
    without = { jit = "it waits for its arguments", programs = "it waits for its arguments",
                vmap = "it waits for its arguments", derivatives = "f is a function of numbers of Lua",
                special = "comparisons of numbers of Lua are Lua's" },
    also = {
        ["several results, bools, and integers"] = function()
            local sum, less = np.vectorize(function(a, b) return a + b, a < b end)(np.array({ 0.1 }, { dtype = "f64" }),
                0.2)
            check.equal({ sum.dtype, sum[0]:item(), less.dtype, less[0]:item() }, { "f64", 0.1 + 0.2, "bool", true })
            local i = np.vectorize(function(a) return a end, { dtype = "i64" })(np.array({ 2 ^ 53 - 1 },
                { dtype = "i64" }))
            check.equal({ i.dtype, i[0]:item() }, { "i64", 2 ^ 53 - 1 })
            check.raises(function() np.vectorize(function() return 300 end, { dtype = "u8" })(1) end, "300")
        end,
    },
})

finish()
