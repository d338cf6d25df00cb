--- interpolate_test.lua: contracts of np.interpolate (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "interpolate"

elsewhere("np.interpolate", "tests/contracts/interpolate_test.lua", "the table of the functions that this file holds")

elsewhere("p.derivative p.integrate p.antiderivative", "tests/contracts/interpolate_test.lua",
          "methods of functions between points, of which each contract compares values")

--- Points that rise, from 0 on.
local function rising(random, dims, dtype)
    local list, last = {}, 0
    for k = 1, dims[1] do
        list[k] = last
        last = last + random(2)
    end
    return np.array(list, { dtype = dtype })
end

local PLACES = { -0.4, 0.3, 1.7, 2.2, 3.6, 9.8 }
local LOUD = "a value that is no number makes the polynomials near it, or all, none"
local NEAR = { f64 = "mixed 1e-11", f32 = "mixed 2e-4", f16 = "mixed 2e-3", bf16 = "mixed 2e-2",
               c128 = "mixed 1e-11", c64 = "mixed 2e-4" }

--- The contract of a function of points.
local function points(name, oracle, accepts, options)
    local make = np.interpolate[name]
    of("np.interpolate." .. name, {
        args = { { "x", make = rising }, { "y", from = -3, to = 3 } },
        shapes = { { { 5 }, { 5 } }, { { 5 }, { 5, 2 } }, { { 2 }, { 2 } }, { { 3 }, { 3 } }, { { 4 }, { 4, 2 } } },
        accepts = accepts,
        options = options,
        call = function(f, o, x, y)
            if o.bc_type == "periodic" then y = y:at { -1 }:set(y[0]) end
            local p, list = f(x, o.axis and np.moveaxis(y, 0, -1) or y, o), {}
            for k, value in ipairs { p(PLACES), p:derivative()(PLACES), p:derivative(2)(PLACES[1]),
                                     p:integrate(-0.6, 4.3) } do
                list[k] = np.where(np.isnan(value), -7, value) -- so that differences are numbers
            end
            return unpack(list)
        end,
        oracle = oracle,
        within = NEAR,
        vmapped = "scaled 1e-5",
        divided = "scaled 1e-12",
        smooth = 1,
        special = false,
        without = { special = LOUD, numbers = "values of points are an array" },
        refuses = {
            { "must rise", function() make(np.array { 0, 2, 1 }, np.ones(3)) end },
            { "must rise", function() make(np.array { 0, 1, np.nan }, np.ones(3)) end },
            { "at least 2 points", function() make(np.ones(1), np.ones(1)) end },
            { "3 points do not fit axis 0", function() make(np.arange(3), np.ones(4)) end },
            { "must be 1%-d", function() make(np.ones { 2, 2 }, np.ones { 2, 2 }) end },
            { "extrapolate", function() make(np.arange(3), np.ones(3), { extrapolate = "linear" }) end },
            { "0%-d arrays", function() make(np.arange(3), np.ones(3)):integrate(0, np.ones(2)) end },
        },
        also = {
            ["np.interpolate." .. name .. ": while tracing, points that do not rise give NaN"] = function()
                local f = np.jit(function(x) return make(x, np.ones(3))(0.5) end)
                check.ok(np.isnan(f(np.array { 0, 2, 1 })):item())
                check.equal(f(np.array { 0, 1, 2 }):item(), 1)
            end,
        },
    })
end

points("cubic_spline", "cubic_of(x, y, o)", "floats i32 u8 complex",
       { {}, { bc_type = "natural" }, { bc_type = "clamped", extrapolate = false }, { bc_type = "periodic" },
         { bc_type = { { 2, 0.5 }, { 1, -1.5 } }, extrapolate = true },
         { bc_type = { "not-a-knot", "natural" }, axis = -1 } })
points("pchip", "between(scipy.interpolate.PchipInterpolator, x, y, o)", "floats i32 u8",
       { {}, { extrapolate = false }, { extrapolate = true, axis = -1 } })
points("akima", "between(scipy.interpolate.Akima1DInterpolator, x, y, o)", "floats i32 u8",
       { { extrapolate = true }, {}, { method = "makima", extrapolate = true, axis = -1 } })

-- ---- B-splines ------------------------------------------------------------------------------------------------------

--- Values, derivatives and integrals of a B-spline; -7 for NaN, so that differences are numbers.
local function spline_values(p)
    local list = {}
    for k, value in ipairs { p(PLACES), (p.k > 0 and p:derivative() or p)(PLACES),
                             p:antiderivative()({ PLACES[2], PLACES[3], PLACES[4] }), p:integrate(-0.6, 4.3) } do
        list[k] = np.where(np.isnan(value), -7, value)
    end
    return unpack(list)
end

--- Options without those of the test alone; nil where none are left.
local function given_of(o, own)
    local given = {}
    for key, value in pairs(o) do
        if not own[key] then given[key] = value end
    end
    return next(given) and given or nil
end

local B = { within = NEAR, vmapped = "scaled 1e-5", divided = "scaled 1e-12", smooth = 1, special = false }
local QUICK = { special = LOUD, numbers = "values of points are an array" }

--- A contract with the fields that all of B-splines share.
local function spline(name, contract)
    for key, value in pairs(B) do
        if contract[key] == nil then contract[key] = value end
    end
    contract.without = contract.without or QUICK
    of("np.interpolate." .. name, contract)
end

spline("BSpline", {
    args = { { "t", make = rising }, { "c", from = -3, to = 3 } }, accepts = "f64 f32 f16 i32 c128",
    shapes = { { { 9 }, { 8 } }, { { 9 }, { 8, 2 } } },
    options = { { k = 3 }, { k = 2, extrapolate = false }, { k = 1, extrapolate = "periodic" },
                { k = 3, extrapolate = true, axis = -1 }, { k = 0, extrapolate = "periodic" } },
    call = function(_, o, t, c)
        return spline_values(np.interpolate.BSpline(t, o.axis and np.moveaxis(c, 0, -1) or c, o.k,
                                                    given_of(o, { k = true })))
    end,
    oracle = "b_spline(t, c, o)",
    refuses = {
        { "knots must not fall", function() np.interpolate.BSpline({ 0, 0, 2, 1 }, np.ones(2), 1) end },
        { "knot 1 must be below knot 2", function() np.interpolate.BSpline({ 0, 1, 1, 2 }, np.ones(2), 1) end },
        { "at least 8 knots, got 4", function() np.interpolate.BSpline({ 0, 0, 1, 2 }, np.ones(2), 3) end },
        { "take 3 coefficients, got 2", function() np.interpolate.BSpline({ 0, 0, 1, 2, 2 }, np.ones(2), 1) end },
        { "must be 1%-d", function() np.interpolate.BSpline(np.ones { 4, 4 }, np.ones(2), 1) end },
        { "argument 3 %(k%)", function() np.interpolate.BSpline({ 0, 0, 1, 1 }, np.ones(2), -1) end },
        { "extrapolate", function() np.interpolate.BSpline({ 0, 1 }, np.ones(1), 0, { extrapolate = "no" }) end },
        { "from 0 to 1", function() np.interpolate.BSpline({ 0, 0, 1, 1 }, np.ones(2), 1):derivative(2) end },
        { "0%-d arrays", function() np.interpolate.BSpline({ 0, 1 }, np.ones(1), 0):integrate(0, np.ones(2)) end },
    },
})

spline("make_interp_spline", {
    args = { { "x", make = rising }, { "y", from = -3, to = 3 } }, accepts = "f64 f32 c128",
    shapes = { { { 8 }, { 8 } }, { { 8 }, { 8, 2 } } },
    options = { {}, { k = 1 }, { k = 5 }, { k = 2, knots = true }, { k = 4, axis = -1 },
                { bc_type = { "natural", { { 1, 0.5 } } } },
                { k = 5, bc_type = { { { 1, 0.5 }, { 2, 0 } }, { { 1, -1 }, { 2, 0 } } } } },
    call = function(f, o, x, y)
        local given = given_of(o, { knots = true })
        if o.knots then
            local first, last = x[{ { 0, 1 } }], x[{ { 7, 8 } }]
            given.t = np.concatenate { first, first, first, (x[{ { 1, 6 } }] + x[{ { 2, 7 } }]) / 2, last, last, last }
        end
        return spline_values(f(x, o.axis and np.moveaxis(y, 0, -1) or y, given))
    end,
    oracle = "through_points(x, y, o)", unseen = { t = "a case makes them of x" },
    refuses = {
        { "must rise", function() np.interpolate.make_interp_spline({ 0, 1, 1, 2 }, np.ones(4)) end },
        { "at least 4 points, got 3", function() np.interpolate.make_interp_spline({ 0, 1, 2 }, np.ones(3)) end },
        { "has 1 conditions, a spline of degree 3 takes 2", function()
            np.interpolate.make_interp_spline(np.arange(5), np.ones(5), { bc_type = { "natural", {} } })
        end },
        { "option 'bc_type' must be \"not%-a%-knot\"", function()
            np.interpolate.make_interp_spline(np.arange(5), np.ones(5), { bc_type = "periodic" })
        end },
        { "from 1 to 3", function()
            np.interpolate.make_interp_spline(np.arange(5), np.ones(5), { bc_type = { { 4, 0 }, "natural" } })
        end },
        { "conditions {order, derivative}", function()
            np.interpolate.make_interp_spline(np.arange(5), np.ones(5), { bc_type = { { 1 }, "natural" } })
        end },
        { "option 't' must have 9 knots", function()
            np.interpolate.make_interp_spline(np.arange(5), np.ones(5), { t = np.arange(8) })
        end },
        { "do not determine", function() -- two points to the left of where the second coefficient counts
            np.interpolate.make_interp_spline({ 0, 0.1, 0.2, 3 }, np.arange(4), { k = 1, t = { 0, 0, 1, 2, 3, 3 } })
        end },
        { "must lie from knot", function()
            np.interpolate.make_interp_spline(np.arange(4), np.arange(4), { k = 1, t = { 0, 0, 1, 2, 2.5, 2.5 } })
        end },
    },
})

local KNOTS = { [2] = { -1, -1, -1, 6.5, 23, 23, 23 }, [3] = { -1, -1, -1, -1, 5.25, 23, 23, 23, 23 } }
spline("make_lsq_spline", {
    args = { { "x", make = rising }, { "y", from = -3, to = 3 }, { "w", from = 0.5, to = 2 } },
    accepts = "f64 f32", shapes = { { { 12 }, { 12 }, { 12 } }, { { 12 }, { 12, 2 }, { 12 } } },
    options = { {}, { k = 2, w = true }, { w = true, axis = -1 } },
    call = function(f, o, x, y, w)
        local given = given_of(o, {})
        if o.w then given.w = w end
        return spline_values(f(x, o.axis and np.moveaxis(y, 0, -1) or y, KNOTS[tonumber(o.k or 3)], given))
    end,
    oracle = "near_points(x, y, w, o)", divided = { f64 = "scaled 1e-12", f32 = "scaled 1e-5" },
    without = { special = LOUD, numbers = QUICK.numbers, sizes = "the knots are given" },
    refuses = {
        { "3 points are fewer than the 4 coefficients", function()
            np.interpolate.make_lsq_spline({ 0, 1, 2 }, np.ones(3), { 0, 0, 0, 0, 2, 2, 2, 2 })
        end },
        { "option 'w' must have shape", function()
            np.interpolate.make_lsq_spline(np.arange(3), np.ones(3), { 0, 0, 2, 2 }, { k = 1, w = np.ones(2) })
        end },
        { "must lie from knot", function()
            np.interpolate.make_lsq_spline(np.arange(3), np.ones(3), { 0, 0, 1, 1 }, { k = 1 })
        end },
        { "at least 4 knots, got 3", function()
            np.interpolate.make_lsq_spline(np.arange(3), np.ones(3), { 0, 1, 2 }, { k = 1 })
        end },
        { "do not determine", function()
            np.interpolate.make_lsq_spline({ 0, 0.1, 0.2, 0.3, 4 }, np.ones(5), { 0, 0, 1, 2, 3, 4, 4 }, { k = 1 })
        end },
    },
})

--- A spline whose lam generalized cross-validation chooses has derivatives at a given lam: no test compares those of
-- f32 with differences.
spline("make_smoothing_spline", {
    args = { { "x", make = rising }, { "y", from = -3, to = 3 }, { "w", from = 0.5, to = 2 },
             { "lam", from = 0.1, to = 4 } },
    accepts = "f64 f32 f16 i32",
    shapes = { { { 8 }, { 8 }, { 8 }, {} }, { { 12 }, { 12, 2 }, { 12 }, {} }, { { 5 }, { 5 }, { 5 }, {} } },
    options = { {}, { w = true }, { w = true, axis = -1 }, { gcv = true }, { gcv = true, w = true, axis = -1 } },
    call = function(f, o, x, y, w, lam)
        local given = given_of(o, { w = true, gcv = true }) or {}
        given.w, given.lam = o.w and w or nil, not o.gcv and lam or nil
        local list = { spline_values(f(x, o.axis and np.moveaxis(y, 0, -1) or y, given)) }
        if o.gcv then
            for k, value in ipairs(list) do list[k] = value.dtype == "f64" and np.astype(value, "f32") or value end
        end
        return unpack(list)
    end,
    oracle = "smoothed(x, y, w, lam, o)", unseen = { lam = "an argument stands for it" },
    gives = function(dtype, o) return (o.gcv and dtype == "f64" or dtype == "i32") and "f32" or dtype end,
    refuses = {
        { "must rise", function() np.interpolate.make_smoothing_spline({ 0, 1, 1, 2, 3 }, np.ones(5)) end },
        { "at least 5 points, got 4", function() np.interpolate.make_smoothing_spline(np.arange(4), np.ones(4)) end },
        { "do not fit axis 0", function() np.interpolate.make_smoothing_spline(np.arange(5), np.ones(6)) end },
        { "real values, got dtype c64", function()
            np.interpolate.make_smoothing_spline(np.arange(5), np.ones({ 5 }, { dtype = "c64" }))
        end },
        { "option 'w' must have shape", function()
            np.interpolate.make_smoothing_spline(np.arange(5), np.ones(5), { w = np.ones(4) })
        end },
        { "weights must be above 0, got 0", function()
            np.interpolate.make_smoothing_spline(np.arange(5), np.ones(5), { w = { 1, 1, 0, 1, 1 } })
        end },
        { "option 'lam' must be finite and at least 0, got %-1", function()
            np.interpolate.make_smoothing_spline(np.arange(5), np.ones(5), { lam = -1 })
        end },
        { "option 'lam' must be finite", function()
            np.interpolate.make_smoothing_spline(np.arange(5), np.ones(5), { lam = math.huge })
        end },
        { "option 'lam' must be a number or a 0%-d array", function()
            np.interpolate.make_smoothing_spline(np.arange(5), np.ones(5), { lam = { 1, 2 } })
        end },
        { "option 'lam'", function()
            np.interpolate.make_smoothing_spline(np.arange(5), np.ones(5), { lam = "gcv" })
        end },
    },
    also = {
        ["np.interpolate.make_smoothing_spline: lam = 0 passes through the points, a large one is a line"] = function()
            local x = np.array({ 0, 1, 2.5, 3, 4, 6 }, { dtype = "f64" })
            local y = np.array({ 1, 3, -2, 0, 5, 4 }, { dtype = "f64" })
            local through = np.interpolate.make_smoothing_spline(x, y, { lam = 0 })
            local natural = np.interpolate.cubic_spline(x, y, { bc_type = "natural" })
            check.ok(np.allclose(through(PLACES), natural(PLACES), { rtol = 1e-12, atol = 1e-12 }))
            local line = np.polyfit(x, y, 1)
            local smooth = np.interpolate.make_smoothing_spline(x, y, { lam = 1e12 })
            check.ok(np.allclose(smooth(x), line[0] * x + line[1], { rtol = 1e-8, atol = 1e-8 }))
        end,
        ["np.interpolate.make_smoothing_spline: cross-validation follows the units of x"] = function()
            local x = np.linspace(0, 9, 60, { dtype = "f64" })
            local y = np.sin(x) + 0.2 * np.random.normal(np.random.key(3), { 60 }, { dtype = "f64" })
            local at = np.array({ 0.3, 4.4, 8.9 }, { dtype = "f64" })
            local one = np.interpolate.make_smoothing_spline(x, y)(at)
            check.ok(np.abs(one - np.sin(at)):max():item() < 0.2)
            for _, unit in ipairs { 1e-4, 1e4 } do
                local other = np.interpolate.make_smoothing_spline(x * unit, y)(at * unit)
                check.ok(np.allclose(other, one, { rtol = 1e-5, atol = 1e-5 }))
            end
        end,
        ["np.interpolate.make_smoothing_spline: while tracing, weights and lam that are none give NaN"] = function()
            local f = np.jit(function(w, lam)
                return np.interpolate.make_smoothing_spline(np.arange(5), np.ones(5), { w = w, lam = lam })(0.5)
            end)
            local w = np.ones(5)
            check.equal(f(w, np.array(1)):item(), 1)
            check.ok(np.isnan(f(w, np.array(-1))):item() and np.isnan(f(w - 1, np.array(1))):item())
        end,
        ["np.interpolate.make_smoothing_spline: f32 is as near as f64 where points are many"] = function()
            local x = np.arange(2000)
            local y = np.sin(x / 300) + 0.3 * np.random.normal(np.random.key(4), { 2000 })
            local p = np.interpolate.make_smoothing_spline(x, y)
            check.equal(p(0).dtype, "f32")
            check.ok(np.abs(p(x) - np.sin(x / 300)):max():item() < 0.2)
        end,
    },
})

of("np.interpolate.interpn", {
    args = { "values", { "xi", from = -0.3, to = 2.3 } },
    shapes = { { { 3, 4 }, { 5, 2 } }, { { 3, 4, 2 }, { 2, 3, 2 } }, { { 3, 4 }, { 2 } } },
    accepts = "floats i32 u8",
    options = { { bounds_error = false }, { bounds_error = false, method = "nearest", fill_value = 0.5 },
                { bounds_error = false, fill_value = false } },
    call = function(f, o, values, xi)
        local result = f({ { 0, 1, 2 }, { 0, 0.5, 1.5, 2 } }, values, xi, o)
        return np.where(np.isnan(result), -7, result)
    end,
    oracle = "gridded(values, xi, o)",
    within = NEAR,
    divided = "scaled 1e-12",
    special = false,
    without = { special = "a place that is no number gives none, which a test below reads",
                sizes = "the points are given" },
    refuses = {
        { "lies outside", function() np.interpolate.interpn({ { 0, 1 } }, np.ones(2), { { 1.5 } }) end },
        { "must rise", function() np.interpolate.interpn({ { 0, 1, 1 } }, np.ones(3), { { 0.5 } }) end },
        { "do not fit axis 0", function() np.interpolate.interpn({ { 0, 1, 2 } }, np.ones(2), { { 0.5 } }) end },
        { "must have 1 coordinates", function() np.interpolate.interpn({ { 0, 1 } }, np.ones(2), { 0.5, 0.5 }) end },
        { "points for each axis", function() np.interpolate.interpn({}, np.ones(2), { 0.5 }) end },
        { "method", function() np.interpolate.interpn({ { 0, 1 } }, np.ones(2), { 0.5 }, { method = "cubic" }) end },
    },
    also = {
        ["np.interpolate.interpn: NaN stays, and points that do not rise give it while tracing"] = function()
            for _, method in ipairs { "linear", "nearest" } do
                local given = { method = method, bounds_error = false, fill_value = 5 }
                local y = np.interpolate.interpn({ { 0, 1 } }, np.ones(2), { { np.nan }, { 0.5 }, { 3 } }, given)
                check.equal(np.where(np.isnan(y), -7, y):totable(), { -7, 1, 5 })
                local f = np.jit(function(x) return np.interpolate.interpn({ x }, np.ones(3), { { 0.5 } }, given) end)
                check.ok(np.isnan(f(np.array { 0, 2, 1 })):item())
            end
        end,
    },
})

of("np.interpolate.map_coordinates", {
    args = { "x", { "t", from = -2.4, to = 5.2 } },
    shapes = { { { 4, 3 }, { 2, 5 } }, { { 4 }, { 1, 2, 3 } }, { { 1, 3 }, { 2 } } },
    accepts = "floats i32 u8",
    options = { { order = 1 }, { order = 0, mode = "constant" }, { order = 1, mode = "nearest", cval = 0 },
                { order = 1, mode = "wrap" }, { order = 1, mode = "mirror" }, { order = 0, mode = "reflect" },
                { order = 1, mode = "constant", cval = 2 }, { order = 2, mode = "mirror" },
                { order = 3, mode = "constant", cval = 1 }, { order = 3, mode = "wrap" },
                { order = 4, mode = "reflect" }, { order = 5, mode = "nearest" }, { order = 5, mode = "mirror" } },
    call = function(f, o, x, t)
        local given = { mode = o.mode, cval = o.cval, nonsense = o.nonsense }
        if next(given) then return f(x, t, o.order, given) end
        return f(x, t, o.order)
    end,
    oracle = "mapped(x, t, o)",
    gives = "same",
    within = NEAR,
    divided = "scaled 1e-12",
    special = false,
    without = { special = "a place that is no number gives none, which a test below reads",
                sizes = "how many coordinates there are is the number of axes" },
    refuses = {
        { "must have 2 of them", function() np.interpolate.map_coordinates(np.ones { 2, 2 }, np.ones { 3, 4 }, 1) end },
        { "not a value of the array's dtype u8", function()
            np.interpolate.map_coordinates(np.ones({ 2 }, { dtype = "u8" }), np.ones { 1, 4 }, 1, { cval = -1 })
        end },
        { "order", function() np.interpolate.map_coordinates(np.ones(2), np.ones { 1, 4 }, 6) end },
        { "mode", function() np.interpolate.map_coordinates(np.ones(2), np.ones { 1, 4 }, 1, { mode = "edge" }) end },
    },
    also = {
        ["np.interpolate.map_coordinates: NaN stays"] = function()
            for _, order in ipairs { 0, 1, 2, 3 } do
                local y = np.interpolate.map_coordinates(np.ones(3), { { np.nan, 1 } }, order, { mode = "nearest" })
                check.equal(np.isnan(y):totable(), { true, false })
            end
        end,
        ["np.interpolate.map_coordinates: periods beyond 2^31 elements are whole"] = function()
            local x = np.array({ 1, 5, 2, 8, 3 }, { dtype = "f64" })
            local near = np.array({ { -1.75, 0.25, 3.5, 6.25 } }, { dtype = "f64" })
            for mode, period in pairs { wrap = 5, mirror = 8, reflect = 10 } do
                for order = 1, 5 do
                    local function at(t) return np.interpolate.map_coordinates(x, t, order, { mode = mode }) end
                    for _, count in ipairs { -2 ^ 33, 2 ^ 28, 2 ^ 33 } do
                        check.equal(at(near + period * count):totable(), at(near):totable(), mode .. " " .. order)
                    end
                end
            end
        end,
        ["np.interpolate.map_coordinates: far beyond the ends nearest has the last elements"] = function()
            local x, places = np.array({ 1, 5, 2, 8, 3 }, { dtype = "f64" }), { { -1e6, -30, -12, 16, 40, 1e6 } }
            local ends = np.array({ 1, 1, 1, 3, 3, 3 }, { dtype = "f64" })
            for order = 0, 5 do
                local y = np.interpolate.map_coordinates(x, places, order, { mode = "nearest" })
                check.ok(np.max(np.abs(y - ends)):item() < 1e-12, order .. ": " .. tostring(y))
            end
        end,
    },
})

finish()
