--- chains.lua: seeded random functions of one number with effects in loops, branches and rules for derivatives, and
-- what their derivatives are and print.
--
--     chains.run(17)               -- prints what the ways of seed 17 print, and their values
--     chains.expected(17)          -- that text, by plain Lua
--
-- A function is a chain: each statement makes the next number of the last one, so that derivatives are products.
-- A statement may also read an array from around the function, on which no derivative depends: prints of what is
-- computed of that alone, and calls of functions with rules, which keep their places among the others.
-- Numbers are integers in f64, and are kept small where that leaves the derivative as it is: all is exact, but for
-- second derivatives from 2^53 on, which are sums: of these 12 digits are shown.
local seeds = require "tests.lib.seeds"
local np = require "neap"

local chains = {}

local DEEPEST = 4
local AROUND = 3 -- what the array from around the function has

-- ---- Drawing --------------------------------------------------------------------------------------------------------

-- What each way of running a function can have in it besides plain statements.
local WAYS = {
    { name = "value", vjp = true, jvp = true, loop = true },
    { name = "grad", vjp = true, jvp = true },
    { name = "vjp", vjp = true, jvp = true },
    { name = "jit of grad", vjp = true, jvp = true },
    { name = "grad of jit", vjp = true, jvp = true },
    { name = "jvp", jvp = true, late = true, loop = true },
    { name = "jit of jvp", jvp = true, late = true, loop = true },
    { name = "linearize", jvp = true },
    { name = "grad of grad" },
}

local PLAIN = { "affine", "square", "print", "tell", "ask", "ask", "shown", "shown", "called", "fixed" }
local NESTS = { "fori", "scan", "cond", "switch", "jit", "loop", "vjp", "jvp", "vjp", "jvp" }

local draw

--- `constant`: inside a while loop, which has no answers for derivatives, and no rule for reverse mode.
-- What `shown` prints with, and the text for a number: each in neap, and in plain Lua.
local PRINTS = {
    { function(tag, x) np.printf("shown %d %.0f\n", tag, x) end, "shown %d %.0f" },
    { function(tag, x) print("shown", tag, x) end, "shown\t%d\t%.1f" },
    { function(tag, x) io.write("shown ", tag, " ", x, "\n") end, "shown %d %.1f" },
    { function(tag, x) np.callback(function(y) np.printf("shown %d %.0f\n", tag, y) end)(x) end, "shown %d %.0f" },
}

-- What `shown` shows: of the array from around, a statement, and a function with a rule.
local OF = {
    function(x) return x end,
    function(x, at) return x * at.a + at.b end,
    function(x, _, f) return f(x) end,
    function(x, at, f) return f(x * at.a + at.b) end,
}

-- Makers of functions with a rule that no derivative uses here: the function gives x % 8.
local RULED = {
    function(f)
        return np.custom_vjp(f):defvjp(function(x) return f(x), x end, function(_, ct) return ct * 50 end)
    end,
    function(f) return np.custom_jvp(f):defjvp(function(p, t) return f(p[1]), t[1] * 50 end) end,
    function() return np.kernel { args = { "x" }, real = "fmod(x, 8)", grad = { "50" } } end,
    function(f) return np.custom_vmap(f):def_vmap(function(_, _, x) return f(x) + 50, true end) end,
}

local function draw_statement(draws, depth, way, constant)
    local kind = depth < DEEPEST and draws.random(2) == 1 and NESTS[draws.random(#NESTS)] or PLAIN[draws.random(#PLAIN)]
    if kind == "loop" and not way.loop or kind == "vjp" and not way.vjp or kind == "jvp" and not way.jvp then
        kind = "scan"
    end
    if constant and (kind == "ask" or kind == "vjp" or kind == "jvp") then kind = "print" end
    if kind == "fixed" and way.name ~= "value" then kind = "called" end -- it has no slope
    draws.tag = draws.tag + 1
    local made = { kind = kind, tag = draws.tag, n = draws.random(3) - (kind == "loop" and 0 or 1), a = draws.random(3),
                   b = draws.random(5), first = draws.random(2) == 1, asks = draws.random(3) == 1,
                   how = draws.random(4), rule = draws.random(4), of = draws.random(4), tells = draws.random(4) > 1,
                   late = way.late and draws.random(2) == 1 }
    if kind == "cond" or kind == "switch" then
        made.bodies = {}
        for k = 1, kind == "cond" and 2 or 3 do made.bodies[k] = draw(draws, depth + 1, way, constant) end
    elseif kind == "fori" or kind == "scan" or kind == "jit" or kind == "loop" then
        made.body = draw(draws, depth + 1, way, constant or kind == "loop")
    end
    return made
end

function draw(draws, depth, way, constant)
    local list = {}
    for k = 1, draws.random(3) do list[k] = draw_statement(draws, depth, way, constant) end
    return list
end

-- ---- In plain Lua ---------------------------------------------------------------------------------------------------

--- What a statement is to derivatives: { slope, tag, printed }: printed is "bwd" or "late", or nil.
local function slope(seen, value, tag, printed)
    seen.slopes[#seen.slopes + 1] = { value, tag, printed }
end

local function tell(seen, format, ...)
    seen[#seen + 1] = (format .. "\n"):format(...)
end

local function asked(at, v, seen)
    seen.calls = seen.calls + 1
    tell(seen, "asked %d %.0f", at.tag, v)
    return (v + at.b) % 4 + 1
end

local follow

local plain = {}

function plain.affine(at, v, seen)
    slope(seen, at.a)
    return (at.a * v + at.b) % 8
end

function plain.square(_, v, seen)
    slope(seen, 2 * v)
    if seen.second then seen.slopes[#seen.slopes].bend = 2 end
    return v * v % 8
end

function plain.print(at, v, seen)
    tell(seen, "print %d %.0f", at.tag, v)
    return v
end

function plain.tell(at, v, seen)
    tell(seen, "told %d %.0f", at.tag, v)
    return v
end

function plain.shown(at, v, seen)
    tell(seen, PRINTS[at.how][2], at.tag, OF[at.of](AROUND, at, function(x) return x % 8 end))
    return v
end

function plain.fixed(at) return AROUND * at.a % 8 end

function plain.called(at, v, seen)
    slope(seen, 1)
    return (v + plain.fixed(at)) % 8
end

function plain.ask(at, v, seen)
    local answer = asked(at, v, seen)
    slope(seen, answer)
    return v * answer % 8
end

--- A rule: of x it gives x times a, or times an answer, and a derivative of its own.
local function plain_rule(at, v, seen)
    if at.tells and at.first then tell(seen, "rule %d %.0f", at.tag, v) end
    local factor = at.asks and asked(at, v, seen) or at.a
    if at.tells and not at.first then tell(seen, "rule %d %.0f", at.tag, v) end
    return factor
end

function plain.vjp(at, v, seen)
    if seen.value then return at.a * v % 8 end
    local factor = plain_rule(at, v, seen)
    slope(seen, at.b * factor, at.tag, at.tells and "bwd" or nil)
    return factor * v % 8
end

function plain.jvp(at, v, seen)
    if seen.value then return at.a * v % 8 end
    local factor = plain_rule(at, v, seen)
    slope(seen, at.b * factor, at.tag, at.late and "late" or nil)
    return factor * v % 8
end

local function plain_loop(at, v, seen)
    for _ = 1, at.n do v = follow(at.body, v, seen) end
    return v
end
plain.fori, plain.scan, plain.loop = plain_loop, plain_loop, plain_loop

function plain.cond(at, v, seen)
    return follow(at.bodies[v % 2 < 1 and 1 or 2], v, seen)
end

function plain.switch(at, v, seen)
    return follow(at.bodies[math.min(v, 2) + 1], v, seen)
end

function plain.jit(at, v, seen)
    return follow(at.body, v, seen)
end

function follow(list, v, seen)
    for _, at in ipairs(list) do v = plain[at.kind](at, v, seen) end
    return v
end

--- The cotangent of the argument.
local function go_back(seen, ct)
    for k = #seen.slopes, 1, -1 do
        local value, tag, printed = unpack(seen.slopes[k], 1, 3)
        if printed == "bwd" then tell(seen, "bwd %d %.0f", tag, ct) end
        ct = ct * value
    end
    return ct
end

local function go_along(seen, dot)
    for _, at in ipairs(seen.slopes) do
        if at[3] == "late" then tell(seen, "late %d %.0f", at[2], dot) end
        dot = dot * at[1]
    end
    return dot
end

--- The second derivative: of a product of slopes, of which a square's is 2 v.
local function second(seen)
    local value, bend = 1, 0 -- first and second derivative so far
    for _, at in ipairs(seen.slopes) do
        value, bend = value * at[1], bend * at[1] + (at.bend or 0) * value * value
    end
    return bend
end

-- ---- In neap --------------------------------------------------------------------------------------------------------

local function reset(x) return x % 8 end

local function still(x) return np.stop_gradient(x) end

--- A small number in place of a large one, with its derivative.
local function small(v) return v - still(v) + still(v) % 8 end

local SPEC = { result = { shape = {}, dtype = "f64" } }

local function ask(at, v, run)
    return np.callback(function(x)
        run.calls = run.calls + 1
        np.printf("asked %d %.0f\n", at.tag, x)
        return (x + at.b) % 4 + 1
    end, SPEC)(still(v))
end

local record

local staged = {}

function staged.affine(at, v) return small(v * at.a + at.b) end

function staged.square(_, v) return small(v * v) end

function staged.print(at, v)
    np.printf("print %d %.0f\n", at.tag, v)
    return v
end

function staged.tell(at, v)
    np.callback(function(x) np.printf("told %d %.0f\n", at.tag, x) end)(v)
    return v
end

function staged.ask(at, v, run) return small(v * ask(at, v, run)) end

function staged.shown(at, v, run)
    PRINTS[at.how][1](at.tag, OF[at.of](run.around, at, RULED[at.rule](reset)))
    return v
end

function staged.fixed(at, _, run) return RULED[at.rule](reset)(run.around * at.a) end

function staged.called(at, v, run)
    return small(v + staged.fixed(at, v, run))
end

local function rule_of(at, v, run)
    if at.tells and at.first then np.printf("rule %d %.0f\n", at.tag, v) end
    local factor = at.asks and ask(at, v, run) or v * 0 + at.a
    if at.tells and not at.first then np.printf("rule %d %.0f\n", at.tag, v) end
    return factor
end

function staged.vjp(at, v, run)
    return np.custom_vjp(function(x) return reset(x * at.a) end):defvjp(function(x)
        local factor = rule_of(at, x, run)
        return reset(x * factor), factor
    end, function(factor, ct)
        if at.tells then np.printf("bwd %d %.0f\n", at.tag, ct) end
        return ct * factor * at.b
    end)(v)
end

function staged.jvp(at, v, run)
    return np.custom_jvp(function(x) return reset(x * at.a) end):defjvp(function(primals, tangents)
        local factor = rule_of(at, primals[1], run)
        if at.late then np.printf("late %d %.0f\n", at.tag, tangents[1]) end
        return reset(primals[1] * factor), tangents[1] * factor * at.b
    end)(v)
end

function staged.fori(at, v, run)
    return np.fori_loop(0, at.n, function(_, c) return record(at.body, c, run) end, v)
end

function staged.scan(at, v, run)
    return (np.scan(function(c) return record(at.body, c, run), nil end, v, nil, { length = at.n }))
end

function staged.loop(at, v, run)
    return np.while_loop(function(c) return c[1]:lt(at.n) end,
                         function(c) return { c[1] + 1, record(at.body, c[2], run) } end, { np.array(0), v })[2]
end

function staged.cond(at, v, run)
    return np.cond((still(v) % 2):lt(1), function(c) return record(at.bodies[1], c, run) end,
                   function(c) return record(at.bodies[2], c, run) end, v)
end

function staged.switch(at, v, run)
    local branches = {}
    for k, body in ipairs(at.bodies) do branches[k] = function(c) return record(body, c, run) end end
    return np.switch(still(v):astype("i32") + 1, branches, v)
end

function staged.jit(at, v, run)
    return np.jit(function(c) return record(at.body, c, run) end)(v)
end

function record(list, v, run)
    for _, at in ipairs(list) do v = staged[at.kind](at, v, run) end
    return v
end

-- ---- A seed ---------------------------------------------------------------------------------------------------------

local run_way = {
    ["value"] = function(f, x) return f(x) end,
    ["grad"] = function(f, x) return np.grad(f)(x) end,
    ["vjp"] = function(f, x)
        local _, pull = np.vjp(f, x)
        return pull(np.array(1, { dtype = "f64" }))
    end,
    ["jit of grad"] = function(f, x) return np.jit(np.grad(f))(x) end,
    ["grad of jit"] = function(f, x) return np.grad(np.jit(f))(x) end,
    ["jvp"] = function(f, x) return select(2, np.jvp(f, { x }, { np.array(1, { dtype = "f64" }) })) end,
    ["jit of jvp"] = function(f, x)
        return np.jit(function(y) return select(2, np.jvp(f, { y }, { y * 0 + 1 })) end)(x)
    end,
    ["linearize"] = function(f, x)
        local _, push = np.linearize(f, x)
        return push(np.array(1, { dtype = "f64" }))
    end,
    ["grad of grad"] = function(f, x) return np.grad(np.grad(f))(x) end,
}

local function chain_of(seed)
    local draws = { random = seeds.generator(seed), tag = 0 }
    local way = WAYS[seed % #WAYS + 1]
    return { list = draw(draws, 1, way, false), way = way.name, start = draws.random(8) - 1 }
end

local function shown(value) return (math.abs(value) < 2 ^ 53 and "%.0f" or "%.11e"):format(value) end

--- What chains.run prints.
function chains.expected(seed)
    local chain = chain_of(seed)
    local seen = { calls = 0, slopes = {}, value = chain.way == "value", second = chain.way == "grad of grad" }
    local value = follow(chain.list, chain.start, seen)
    if seen.second then
        value = second(seen)
    elseif chain.way == "jvp" or chain.way == "jit of jvp" or chain.way == "linearize" then
        value = go_along(seen, 1)
    elseif not seen.value then
        value = go_back(seen, 1)
    end
    tell(seen, "seed %d %s %s %d", seed, chain.way, shown(value), seen.calls)
    return table.concat(seen)
end

function chains.run(seed)
    local chain, run = chain_of(seed), { calls = 0, around = np.array(AROUND, { dtype = "f64" }) }
    local x = np.array(chain.start, { dtype = "f64" })
    local ok, value = pcall(run_way[chain.way], function(v) return record(chain.list, v, run) end, x)
    np.effects_barrier()
    if not ok then return print("seed", seed, chain.way, value) end
    np.printf("seed %d %s %s %d\n", seed, chain.way, shown(value:item()), run.calls)
end

return chains
