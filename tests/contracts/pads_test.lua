--- pads_test.lua: the contract of np.pad, mode by mode.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "pads"
local moves = require "tests.lib.contract_moves"

of("np.pad", {
    args = { "x" }, accepts = "floats complex ints bool", gives = "same", special = "together",
    shapes = { { { 3, 4 } }, { { 2, 1 } }, { { 5 } } },
    options = {
        { width = 1 }, { width = { 2, 0 }, value = 9 }, { width = { { 1, 0 }, { 0, 2 } }, constant_values = { { 1, 2 },
            { 3, 4 } } },
        { width = { 1, 2 }, mode = "edge" }, { width = 1, mode = "reflect" }, { width = { 0, 5 }, mode = "symmetric" },
        { width = { 5, 1 }, mode = "wrap" }, { width = { 2, 3 }, mode = "linear_ramp", end_values = { 5, -4 } },
        { width = 1, mode = "mean" }, { width = { 1, 2 }, mode = "maximum", stat_length = 2 },
        { width = 1, mode = "minimum", stat_length = { { 1, 2 }, { 3, 1 } } },
        { width = { 2, 1 }, mode = "mean", stat_length = 2 }, { width = { 7, 9 }, mode = "reflect" },
    },
    call = function(f, o, x)
        local o2 = moves.rest(o, "width")
        if x.dtype:find "c" and (o.mode == "maximum" or o.mode == "minimum") then o2.mode = "mean" end
        return f(x, o.width, o2)
    end,
    oracle = "pad(x, **o)",
    within = { f64 = "scaled 1e-15", f32 = "scaled 3e-7", c64 = "scaled 1e-6", c128 = "scaled 1e-14" },
    also = {
        ["derivatives at ties of extrema are shared"] = function()
            local x = np.array({ 1, 2, 2 }, { dtype = "f64" })
            check.equal(np.grad(function(z) return np.pad(z, 1, "maximum"):sum() end)(x):totable(), { 1, 2, 2 })
        end,
        ["numbers that f64 has not"] = function()
            local x = np.array({ 1 }, { dtype = "i64" })
            for _, value in ipairs { np.iinfo("i64").min, 2LL ^ 53 + 1 } do
                check.equal(tostring(np.pad(x, { 1, 0 }, { value = value })[0]:item()), tostring(value))
                check.equal(tostring(np.pad(x, { 1, 0 }, { value = { value, 0 } })[0]:item()), tostring(value))
            end
            local u = np.pad(np.array({ 1 }, { dtype = "u64" }), 1, { value = -1ULL })
            check.equal(tostring(u[0]:item()), tostring(-1ULL))
        end,
        ["complex values"] = function()
            local z = np.pad(np.array { 1i }, { 1, 2 }, { value = 2 + 3i })
            check.equal(z.imag:totable(), { 3, 1, 3, 3 })
            check.equal(np.pad(np.array { 1i }, { 1, 1 }, { value = { 2i, 3 } }).imag:totable(), { 2, 1, 0 })
        end,
    },
    refuses = { { "300", function() np.pad(np.zeros(2, { dtype = "u8" }), 1, { value = 300 }) end },
                { "2.7", function() np.pad(np.arange(2), 1, { value = 2.7 }) end },
                { "2.7", function() np.pad(np.arange(2), 1, { value = { 1, 2.7 } }) end },
                { "complex number", function() np.pad(np.ones(2), 1, { value = 1i }) end } },
})

finish()
