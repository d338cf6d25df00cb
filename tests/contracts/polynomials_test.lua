--- polynomials_test.lua: contracts of polynomials (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local of, finish = require "tests.lib.contracts" "polynomials"

--- What stands behind all arguments where a way tries an option that is not there.
local function surplus(o) return o.nonsense and o or nil end

local function complex_of(dtype)
    local real = np.result_type(dtype, 0.5)
    return (real == "f64" or real == "c128") and "c128" or "c64"
end

local NEAR = { f64 = "scaled 1e-14", f32 = "scaled 1e-6", f16 = "scaled 5e-4", bf16 = "scaled 4e-3" }

of("np.polyval", {
    args = { "p", "x" },
    shapes = { { { 3 }, {} }, { { 4 }, { 5 } }, { { 1 }, { 2, 3 } }, { { 2 }, { 0 } }, { { 0 }, { 2 } } },
    accepts = "floats ints complex",
    oracle = "np.polyval(p, x)",
    gives = "same",
    within = NEAR,
})
for _, name in ipairs { "polyadd", "polysub" } do
    of("np." .. name, {
        args = { "p", "q" },
        shapes = { { { 3 }, { 3 } }, { { 2 }, { 4 } }, { { 4 }, {} }, { { 0 }, { 2 } } },
        accepts = "floats ints complex",
        oracle = ("np.%s(np.atleast_1d(p), np.atleast_1d(q))"):format(name),
        gives = "same",
        within = { f64 = "exact", f32 = "ulp 0.51", f16 = "ulp 0.51", bf16 = "ulp 0.51" },
    })
end
of("np.polymul", {
    args = { { "p" }, { "q" } },
    shapes = { { { 3 }, { 3 } }, { { 2 }, { 4 } }, { { 4 }, {} } },
    accepts = "floats ints complex",
    oracle = "slid(np.atleast_1d(p), np.atleast_1d(q), 'full', True)",
    gives = "same",
    within = NEAR,
})
of("np.polydiv", {
    args = { "u", { "v", from = 1, to = 4 } },
    shapes = { { { 5 }, { 3 } }, { { 3 }, { 1 } }, { { 2 }, { 4 } }, { { 3 }, {} } },
    accepts = "floats ints complex",
    oracle = "polydiv_of(u, v)",
    gives = function(dtype) return np.result_type(dtype, 0.5) end,
    within = { f64 = "scaled 1e-13", f32 = "scaled 2e-5", f16 = "ulp 1", bf16 = "ulp 1", c64 = "scaled 1e-5",
               c128 = "scaled 1e-13" },
    special = false,
    without = { special = "NumPy cuts what counts as 0 by comparing, which no array of one shape can be" },
})
of("np.roots", {
    args = { { "p", from = 1, to = 6 } },
    shapes = { { { 4 } }, { { 3 } }, { { 2 } }, { { 1 } } },
    accepts = "floats ints complex",
    options = { { strip_zeros = false } },
    oracle = "np.roots(p).astype(complex)",
    gives = complex_of,
    within = { c128 = "scaled 1e-11", c64 = "scaled 1e-4" },
    divided = "scaled 1e-4",
    vmapped = "scaled 1e-4",
    slope = 1e-5,
    special = false,
    without = { special = "NumPy refuses what is not finite" },
    also = {
        ["np.roots: zeros at both ends"] = function()
            require "tests.lib.check".equal(np.roots { 0, 0, 1, -2, 0 }.shape, { 2 })
        end,
    },
})
of("np.poly", {
    args = { "roots" },
    shapes = { { { 3 } }, { { 2, 2 } }, { { 1 } }, { {} }, { { 0 } } },
    accepts = "floats ints complex",
    oracle = "np.atleast_1d(np.poly(np.atleast_1d(roots)))",
    within = { f64 = "scaled 1e-13", f32 = "scaled 1e-5", f16 = "scaled 1e-3", bf16 = "scaled 1e-2",
               c64 = "scaled 1e-5", c128 = "scaled 1e-13" },
    special = false,
    vmapped = "scaled 1e-5",
    divided = "scaled 1e-5",
    without = { special = "NumPy's numbers come by a table of products, in another order" },
})
of("np.polyder", {
    args = { "p" },
    shapes = { { { 4 } }, { { 1 } }, { { 6 } }, { { 0 } } },
    accepts = "floats ints complex",
    options = { {}, { m = 2 }, { m = 0 }, { m = 9 } },
    call = function(f, o, p) return f(p, o.m, surplus(o)) end,
    oracle = "polyder(p, o.get('m', 1))",
    gives = "same",
    within = { f64 = "ulp 1", f32 = "ulp 1" },
})
of("np.polyint", {
    args = { "p" },
    shapes = { { { 4 } }, { { 1 } }, { { 0 } } },
    accepts = "floats ints complex",
    options = { {}, { m = 2 }, { m = 0 }, { m = 2, k = { 5, 0.3 } }, { m = 1, k = 7 } },
    call = function(f, o, p) return f(p, o.m, o.k, surplus(o)) end,
    oracle = "np.polyint(p, o.get('m', 1), o.get('k'))",
    within = { f64 = "ulp 1", f32 = "ulp 1" },
    also = {
        ["np.polyint: constants keep their digits"] = function()
            local p = np.array({ 2, 2 }, { dtype = "f64" })
            require "tests.lib.check".equal(np.polyint(p, 1, 0.1):totable(), { 1, 2, 0.1 })
            require "tests.lib.check".equal(np.polyint(p, 2, { 0.1, 0.3 })[3]:item(), 0.3)
        end,
    },
})
of("np.polyfit", {
    args = { { "at", make = function(random, dims, dtype)
        local list, last = {}, -4
        for k = 1, dims[1] do
            last = last + random(2)
            list[k] = last
        end
        return np.array(list, { dtype = dtype:match "^u" and "i32" or dtype })
    end, grad = false }, "y", { "w", from = 1, to = 3, grad = false } },
    shapes = { { { 6 }, { 6 }, { 6 } }, { { 6 }, { 6, 2 }, { 6 } } },
    accepts = "f64 f32 i32 f16",
    options = { { w = 1 }, {}, { degree = 1 }, { degree = 3, rcond = 1e-3 } },
    call = function(f, o, at, y, w)
        return f(at, y, o.degree or 2, { w = o.w and w, rcond = o.rcond, nonsense = o.nonsense })
    end,
    oracle = "np.polyfit(at, y, o.get('degree', 2), w=w if 'w' in o else None, rcond=o.get('rcond'))",
    within = { f64 = "scaled 1e-11", f32 = "scaled 1e-4", f16 = "scaled 1e-3" },
    vmapped = "scaled 1e-4",
    divided = "scaled 1e-4",
    special = false,
    without = { special = "NumPy refuses what is not finite" },
    refuses = {
        { "option 'w' must be an array or a number",
          function() np.polyfit(np.arange(4), np.arange(4), 1, { w = "x" }) end },
    },
})

finish()
