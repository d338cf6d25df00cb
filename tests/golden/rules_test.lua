--- rules_test.lua (not under tsan, sanitized with --long): derivatives of functions with rules of their own equal
-- JAX's, in all orders, places and ways (rules.txt; make_rules.py has the same functions, places and ways).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector "custom rules"

local function vjp_rule(f, forward, backward) return np.custom_vjp(f):defvjp(forward, backward) end

local function jvp_rule(f, rule)
    return np.custom_jvp(f):defjvp(function(primals, tangents) return rule(primals[1], tangents[1]) end)
end

local functions = {
    cube_vjp = vjp_rule(function(x) return x ^ 3 end, function(x) return x ^ 3, x end,
                        function(_, ct) return ct * 3 end),
    other_value_vjp = vjp_rule(function(x) return x end, function(x) return x * x * 0.5, nil end,
                               function(_, ct) return ct * 3 end),
    saved_vjp = vjp_rule(np.sin, function(x) return np.sin(x), np.cos(x) end,
                         function(c, ct) return ct * c * 2 end),
    cube_jvp = jvp_rule(function(x) return x ^ 3 end, function(x, t) return x ^ 3, t * 3 end),
    other_value_jvp = jvp_rule(function(x) return x end, function(x, t) return x * x * 0.5, t * x * 3 end),
}
functions.again_vjp = vjp_rule(function(x) return x * x end,
                               function(x) return functions.again_vjp(x), x end,
                               function(x, ct) return ct * functions.again_vjp(x) * 2 end)
functions.again_jvp = jvp_rule(function(x) return x ^ 3 end, function(x, t)
    return functions.again_jvp(x), (functions.again_jvp(x) + x) * t
end)
functions.nested = vjp_rule(function(x) return functions.cube_vjp(x) * x end,
                            function(x) return functions.cube_vjp(x) * x, x end,
                            function(x, ct) return ct * functions.cube_jvp(x) end)

local function summed_over_two(f)
    return function(x) return np.vmap(f)(np.stack { x, x * 0.5 }):sum() end
end

local factors = np.array({ 0.5, 1.25 }, { dtype = "f64" })
local function scanned(f)
    return function(x) return (np.scan(function(c, e) return f(c) * e end, x, factors)) end
end

local function branched(f)
    return function(x)
        return np.cond(x:gt(0), function(y) return f(y) * 2 end, function(y) return y end, x)
    end
end

local places = {
    plain = function(f) return f end,
    jit = np.jit,
    checkpoint = np.checkpoint,
    vmap = summed_over_two,
    scan = scanned,
    cond = branched,
    ["while"] = function(f)
        return function(x)
            local carry = np.while_loop(function(c) return c.turn:lt(2) end,
                                        function(c) return { turn = c.turn + 1, x = f(c.x) * 0.5 } end,
                                        { turn = np.array(0, { dtype = "i32" }), x = x })
            return carry.x
        end
    end,
    ["scan of cond"] = function(f) return scanned(branched(f)) end,
}

local grad, jit = np.grad, np.jit

local function primal(f) return function(x) return (np.jvp(f, { x }, { np.full_like(x, 0.5) })) end end
local function tangent(f) return function(x) return (select(2, np.jvp(f, { x }, { np.full_like(x, 1.5) }))) end end
local function pulled(f) return function(x) return (select(2, np.vjp(f, x)))(np.cos(x)) end end
local function pushed(f) return function(x) return (select(2, np.linearize(f, x)))(np.cos(x)) end end
local function value_of_grad(f) return function(x) return (np.value_and_grad(f)(x)) end end

local ways = {
    ["value of grad"] = value_of_grad,
    grad = grad,
    ["grad grad"] = function(f) return grad(grad(f)) end,
    ["grad grad grad"] = function(f) return grad(grad(grad(f))) end,
    ["jit grad grad"] = function(f) return jit(grad(grad(f))) end,
    ["grad jit grad"] = function(f) return grad(jit(grad(f))) end,
    ["grad jit grad jit grad"] = function(f) return grad(jit(grad(jit(grad(f))))) end,
    ["tangent grad"] = function(f) return tangent(grad(f)) end,
    ["tangent jit grad"] = function(f) return tangent(jit(grad(f))) end,
    ["grad checkpoint grad"] = function(f) return grad(np.checkpoint(grad(f))) end,
    ["grad pulled"] = function(f) return grad(pulled(f)) end,
    ["pulled pulled"] = function(f) return pulled(pulled(f)) end,
    hessian = np.hessian,
    ["grad of value of grad"] = function(f) return grad(value_of_grad(f)) end,
    ["grad vmap grad"] = function(f) return grad(summed_over_two(grad(f))) end,
    ["grad scan grad"] = function(f) return grad(scanned(grad(f))) end,
    ["value of tangent"] = primal,
    tangent = tangent,
    ["tangent tangent"] = function(f) return tangent(tangent(f)) end,
    ["tangent of value of tangent"] = function(f) return tangent(primal(f)) end,
    ["grad of value of tangent"] = function(f) return grad(primal(f)) end,
    ["grad tangent"] = function(f) return grad(tangent(f)) end,
    ["grad pushed"] = function(f) return grad(pushed(f)) end,
}

for _, record in ipairs(reader.records "rules") do
    local name, place, way = unpack(record)
    collector.add(name, function()
        local placed = places[place](functions[name])
        local value = ways[way](function(x) return np.sin(placed(x)) * x end)(reader.build(record[4]))
        return reader.difference(value, record[5], "scaled 1e-12")
    end, place .. ", " .. way)
end
collector.finish(check)
