--- special_test.lua (not under tsan): np.special against mpmath's values and derivatives (special.txt, made by
-- make_special.py), and what the functions refuse.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()

--- The arguments of a record: arrays, or numbers that belong to the function.
local function arguments_of(record)
    local list = {}
    for k = 5, reader.position(record, "=") - 1 do
        list[#list + 1] = tonumber(record[k]) or reader.build(record[k])
    end
    return list
end

for _, record in ipairs(reader.records "special") do
    local what, name, argument, tolerance = unpack(record, 1, 4)
    local f, inputs = np.special[name], arguments_of(record)
    collector.add(what == "slope" and "the derivative of " .. name or name, function()
        local got
        if what == "slope" then
            got = np.grad(function(...) return f(...):sum() end, { argnums = tonumber(argument) })(unpack(inputs))
        else
            got = f(unpack(inputs))
        end
        return reader.difference(got, record[#record], tolerance)
    end, table.concat(record, " ", 3, 5))
end

check.test("sinc has its derivatives at 0", function()
    local zero = np.array({ 0 }, { dtype = "f64" })
    local function slope(f) return function(x) return np.grad(function(t) return f(t):sum() end)(x) end end
    check.equal(slope(np.sinc)(zero):totable(), { 0 })
    check.close(slope(slope(np.sinc))(zero):totable(), { -math.pi ^ 2 / 3 }, 1e-14)
    check.close(slope(slope(slope(slope(np.sinc))))(zero):totable(), { math.pi ^ 4 / 5 }, 1e-12)
end)

check.test("what is 0 times an infinite logarithm has a derivative", function()
    local x, y = np.zeros(1), np.zeros(1)
    check.equal(np.grad(function(b) return np.special.xlogy(x, b):sum() end)(y):totable(), { 0 })
    check.equal(np.grad(function(b) return np.special.rel_entr(x, b):sum() end)(y):totable(), { 0 })
end)

check.test("derivatives that nobody knows raise", function()
    local two = np.full({ 2 }, 2)
    check.raises(function() np.grad(function(s) return np.special.zeta(s, two):sum() end)(two) end,
                 "zeta has no derivative with respect to s")
    check.raises(function() np.grad(function(a) return np.special.betainc(a, two, two / 4):sum() end)(two) end,
                 "betainc has no derivative with respect to a")
    check.raises(function()
        local function slope(a) return np.grad(function(t) return np.special.gammainc(t, two):sum() end)(a) end
        np.grad(function(a) return slope(a):sum() end)(two)
    end, "no derivative with respect to a")
end)

check.test("dtypes, shapes, batches and programs", function()
    local special = np.special
    check.equal(special.gamma(np.array({ 5 }, { dtype = "i32" })).dtype, "f32")
    check.equal(special.xlogy(np.array({ 2 }, { dtype = "i32" }), np.array({ 3 }, { dtype = "f64" })).dtype, "f64")
    check.equal(special.gammasgn(np.ones(2)).dtype, "f32")
    check.equal(special.polygamma(np.array { 1, 2 }, np.ones { 3, 1 }).shape, { 3, 2 })
    check.equal(special.betainc(np.ones { 2, 1 }, 2, np.zeros { 1, 0 }).shape, { 2, 0 })
    local x = np.linspace(0.5, 3, 6):reshape(2, 3)
    for _, name in ipairs { "beta", "gammainc", "kl_div", "zeta" } do
        local f = special[name]
        local plain = f(x, x + 1)
        check.equal(np.vmap(f)(x, x + 1):totable(), plain:totable(), name .. " of a batch")
        check.equal(np.jit(f)(x, x + 1):totable(), plain:totable(), name .. " in a program")
    end
end)

check.test("arguments are checked", function()
    local special = np.special
    check.raises(function() special.gamma(np.ones(1), 2) end, "special.gamma: takes 1 argument, got also the number 2")
    check.raises(function() special.polygamma(1.5, np.ones(1)) end, "argument 1 %(n%) must be an integer from 0 up")
    check.raises(function() special.multigammaln(np.ones(1), 0) end,
                 "argument 2 %(d%) must be an integer from 1 to 1048576")
    check.raises(function() special.comb("a", 1) end, "np.special.comb: argument 1")
    check.raises(function() special.xlogy(1, 2, {}) end, "np.special.xlogy: takes 2 arguments")
    check.raises(function() return special.gama end, "gamma")
end)

collector.finish(check)
