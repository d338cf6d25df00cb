--- check_grads_test.lua (sanitized with --long): np.check_grads: what passes, and which element of which argument and
-- result it names where a derivative is wrong. tests/golden/checks_test.lua compares with JAX.
local check = require "tests.lib.check"
local np = require "neap"

local function f64(t) return np.array(t, { dtype = "f64" }) end

check.test("right derivatives pass: trees, several results, integers among them, numbers, empty arrays", function()
    local function f(p, s)
        return { p.w * s, count = np.arange(3) }, p.list[1]:sum() * s
    end
    local point = { { w = f64 { 1, 2 }, list = { f64 { { 0.5 }, { -1 } } } }, 3 }
    for _, given in ipairs { {}, { order = 2 }, { order = 3, modes = "rev" }, { modes = { "fwd" } } } do
        check.equal(select("#", np.check_grads(f, point, given)), 0)
    end
    np.check_grads(function(x) return x:sum() end, { np.zeros(0) })
    np.check_grads(function() return 3 end, { np.zeros(2) })
    np.check_grads(np.jit(function(x) return np.tanh(x) end), { f64 { 1, 2 } }, { order = 2 })
end)

check.test("every dtype, with the steps and tolerances of its own", function()
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64", "c64", "c128" } do
        local x = np.array({ 0.5, 1, 2 }, { dtype = dtype })
        np.check_grads(function(v) return np.sin(v) * v end, { x }, { order = 2 })
    end
    np.check_grads(function(z) return np.abs(z):sum() end, { np.array({ 1 + 2i, -0.5i }):astype "c128" })
    np.check_grads(function(x) return np.exp(np.array(1i):astype "c128" * x) end, { f64 { 0.5, 2 } })
end)

--- x y by reverse mode; the cotangent of y is `factor` times as large at one element.
local function product_with(place, factor)
    return np.custom_vjp(function(x, y) return x * y end):defvjp(function(x, y) return x * y, { x, y } end,
        function(saved, ct) return ct * saved[2], (ct * saved[1]):at(place):mul(factor) end)
end

check.test("the one wrong element is named, of an argument and of a result, and by how much", function()
    local x, y = np.arange(12, { dtype = "f64" }):reshape(3, 4) + 1, np.ones({ 3, 4 }, { dtype = "f64" })
    for _, place in ipairs { { 0, 0 }, { 1, 2 }, { 2, 3 } } do
        local f = product_with(place, 3)
        local value = place[1] * 4 + place[2] + 1
        local _, problem = pcall(np.check_grads, function(p) return { a = f(x, p.w), b = p.w } end, { { w = y } },
                                 { modes = "rev" })
        local at = ("element {%d, %d}"):format(place[1], place[2])
        check.equal(problem:find(at .. " of argument 1 at w: the derivative of " .. at .. " of result 1 at a is "
                                 .. ("%d, and differences give "):format(3 * value), 1, true) ~= nil, true, problem)
        local found, off = problem:match "differences give ([^,]+), off by ([^,]+)$"
        check.close(tonumber(found), value, 1e-6)
        check.close(tonumber(off), 2 * value, 1e-2)
        check.raises(function() np.check_grads(f, { x, y }, { modes = "rev" }) end, at .. " of argument 2")
    end
end)

check.test("both modes, the second order, wrong values and NaN", function()
    local function cubed(slope) -- x^3, whose second derivative is wrong
        return np.custom_jvp(function(x) return x ^ 3 end):defjvp(function(primals, tangents)
            return primals[1] ^ 3, np.stop_gradient(3 * primals[1] ^ 2) * slope * tangents[1]
        end)
    end
    local x = f64 { 1, 2 }
    np.check_grads(cubed(1), { x })
    for pattern, case in pairs {
        ["forward mode of forward mode of f is off by"] = { 1, 2, "fwd" },
        ["reverse mode of reverse mode of f is off by"] = { 1, 2, "rev" },
        ["forward mode of f is off by .* is 24"] = { 2, 1, "fwd" },
        ["reverse mode of f is off by .* is 24"] = { 2, 1, "rev" },
    } do
        local given = { order = case[2], modes = case[3] }
        check.raises(function() np.check_grads(cubed(case[1]), { x }, given) end, pattern)
    end
    local shifted = np.custom_jvp(function(v) return v * v end):defjvp(function(p, t)
        return (p[1] * p[1]):at { 1 }:add(0.5), 2 * p[1] * t[1]
    end)
    check.raises(function() np.check_grads(shifted, { x }) end,
                 "another value than the function: element {1} of result 1 is 4.5, and 4 without it, off by 0.5")
    for place = 0, 4 do
        local zero = (f64 { 4, 1, 2, 3, 4 }):at { place }:set(0)
        local where = ("by element {%d} of argument 1: the derivative of element {%d}"):format(place, place)
        for _, mode in ipairs { "fwd", "rev" } do
            check.raises(function() np.check_grads(np.sqrt, { zero }, { modes = mode }) end, where)
        end
    end
end)

check.test("tolerances and steps are the user's, too", function()
    local f = np.custom_jvp(function(x) return x * 1 end):defjvp(function(p, t) return p[1] * 1, t[1] * 1.001 end)
    check.raises(function() np.check_grads(f, { f64 { 1 } }) end, "off by")
    np.check_grads(f, { f64 { 1 } }, { rtol = 2e-3 })
    np.check_grads(f, { f64 { 1 } }, { atol = 1e-2 })
    local function bent(x) return np.where(x:gt(1.05), x * 2, x) end -- a longer step meets the bend
    np.check_grads(bent, { f64 { 1 } })
    check.raises(function() np.check_grads(bent, { f64 { 1 } }, { eps = 1 }) end, "off by")
end)

check.test("mistakes are told", function()
    for pattern, f in pairs {
        ["argument 1 %(f%) must be a function"] = function() np.check_grads(1, { 1 }) end,
        ["argument 2 %(args%) must be a table of one value for each argument of f"] = function()
            np.check_grads(np.sin, np.ones(2))
        end,
        ["argument 2 %(args%) must be a table"] = function() np.check_grads(np.sin, {}) end,
        ["the table of args"] = function() np.check_grads(np.sin, { 1, x = 2 }) end,
        ["argument 1 must be an array of floats, got dtype i32"] = function()
            np.check_grads(np.sin, { np.arange(2) })
        end,
        ["argument 1 at a must be an array of floats, got the string"] = function()
            np.check_grads(np.sin, { { a = "x" } })
        end,
        ["option 'order' must be an integer from 1 up"] = function() np.check_grads(np.sin, { 1 }, { order = 0 }) end,
        ['the modes are "fwd" and "rev"'] = function() np.check_grads(np.sin, { 1 }, { modes = { "lin" } }) end,
        ["option 'modes' must be a table"] = function() np.check_grads(np.sin, { 1 }, { modes = {} }) end,
        ["option 'eps' must be a number above 0"] = function() np.check_grads(np.sin, { 1 }, { eps = 0 }) end,
        ["option 'rtol' must be a number from 0 up"] = function() np.check_grads(np.sin, { 1 }, { rtol = -1 }) end,
        ["unknown option 'tol'"] = function() np.check_grads(np.sin, { 1 }, { tol = 1 }) end,
    } do
        check.raises(f, pattern)
    end
end)

check.done()
