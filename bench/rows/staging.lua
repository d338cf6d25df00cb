--- staging.lua: what np.jit costs besides the work: recording, a call of what is recorded, a function's first call.
--
-- "cached call": a jitted function adds up n arrays of 10 elements and doubles the sum; the call returns without
-- waiting, and its small kernel runs in it. Compiled: in a loop that LuaJIT compiles. Interpreted: with the compiler
-- off. 1000 arguments come as a table; "a draw inside" adds random numbers of a constant key to the argument. "in
-- turn": a function is called with arguments of 600 shapes, one after the other. "declared sizes": a call for sizes
-- that were there before, in turn with one of the same function without declared sizes. "trace": recording a chain of
-- 1000 ops as a program, for one op. "first call": making a jitted function, its first call, and reading the result.
-- Other systems do the same (bench/staging.py; PyTorch without compiling). Goals: 10 arguments in 1 us compiled and
-- 3 us interpreted, a fifth of JAX's time; with declared sizes 1.1 of the time without; a first call in a twentieth of
-- JAX's.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"
local peers = require "bench.peer"

local CALLS, OPS, ELEMENTS = 300, 1000, 10
local COUNTS = { 1, 10, 100, 1000 }
local SHAPES = 600
local MOST = { compiled = 1000, interpreted = 3000 } -- ns, for 10 arguments

--- By row name: system → ns.
local function peer_times()
    local times = {}
    for _, system in ipairs(measure.quick and {} or { "jax jit", "torch" }) do
        for name, ns in peers.output("bench/staging.py", system):gmatch "([^\n\t]+)\t([%d.e+]+)\n" do
            times[name] = times[name] or {}
            times[name][system] = tonumber(ns)
        end
    end
    return times
end

--- Median and best ns of one of `count` runs that f(count) makes.
local function timed(f, count)
    local times = {}
    for round = 1, 3 + measure.rounds do
        local start = measure.now()
        f(count)
        if round > 3 then times[#times + 1] = (measure.now() - start) / count end
        np.wait_all()
    end
    return measure.median(times), measure.min(times)
end

local function row(name, median, best, checks, others)
    measure.row { name = name, value = median, best = best, unit = "ns", checks = checks, peers = others }
end

--- A check against JAX, if it was measured.
local function against(checks, best, others, share)
    local jax = others and others["jax jit"]
    if jax then checks[#checks + 1] = { name = "jax jit", ratio = best / jax, goal = 1 / share } end
    return checks
end

--- A loop of calls f(a1, …, an), or f(t) for many arguments, as a script would have it.
local function loop_of(n)
    local arguments, names = {}, {}
    for k = 1, n do arguments[k], names[k] = np.ones(ELEMENTS):wait(), "a" .. k end
    local list = n <= 100 and table.concat(names, ", ") or "a"
    local code = "local f, a = ... return function(count) local %s = %s for _ = 1, count do f(%s) end end"
    local f = np.jit(n <= 100 and function(...)
        local sum = (...)
        for k = 2, select("#", ...) do sum = sum + select(k, ...) end
        return sum * 2
    end or function(t)
        local sum = t[1]
        for k = 2, #t do sum = sum + t[k] end
        return sum * 2
    end)
    return assert(loadstring(code:format(list, n <= 100 and "unpack(a)" or "a", list)))(f, arguments)
end

local function cached_calls(mode, times)
    for _, n in ipairs(COUNTS) do
        local others = times["cached call, " .. n]
        local median, best = timed(loop_of(n), math.max(3, math.floor(CALLS / n)))
        local checks = against({}, best, others, 5)
        if n == 10 then table.insert(checks, 1, { name = "goal", ratio = best / MOST[mode], goal = 1 }) end
        row(("cached call, %d argument%s, %s"):format(n, n == 1 and "" or "s", mode), median, best, checks, others)
    end
end

local function shapes_in_turn()
    local f, inputs, next_input = np.jit(function(x) return x * 2 end), {}, 0
    for k = 1, SHAPES do
        inputs[k] = np.ones(k):wait()
        f(inputs[k])
    end
    local median, best = timed(function(count)
        for _ = 1, count do
            next_input = next_input % SHAPES + 1
            f(inputs[next_input])
        end
    end, SHAPES)
    row(("cached call, %d shapes in turn"):format(SHAPES), median, best, {})
end

--- In turn, a call of what `record` makes of a function without declared sizes, and with them.
local function declared_sizes(name, record)
    local x, calls, times = np.ones(ELEMENTS):wait(), {}, { {}, {} }
    for k, options in ipairs { {}, { sizes = { { "n" } } } } do
        calls[k] = assert(loadstring "local f, x = ... return function(count) for _ = 1, count do f(x) end end")(
            record(function(y) return y * 2 + 1 end, options, x), x)
    end
    for round = 1, 3 + measure.rounds do
        for k, call in ipairs(calls) do
            local start = measure.now()
            call(CALLS)
            if round > 3 then times[k][round - 3] = (measure.now() - start) / CALLS end
            np.wait_all()
        end
    end
    local best = measure.min(times[2])
    row("cached call, declared sizes, " .. name, measure.median(times[2]), best,
        { { name = "without", ratio = best / measure.min(times[1]), goal = 1.1 } })
end

local times = peer_times()
cached_calls("compiled", times)
shapes_in_turn()
declared_sizes("np.jit", function(f, options) return np.jit(f, options) end)
declared_sizes("program", function(f, options, x) return np.trace(f, options)(x) end)

local x = np.ones(ELEMENTS):wait()
local draws = np.jit(function(y) return y + np.random.normal(np.random.key(0), ELEMENTS) end)
local median, best = timed(function(count)
    for _ = 1, count do draws(x) end
end, CALLS)
row("cached call, a draw inside", median, best, {})

median, best = timed(function(count)
    for _ = 1, count do
        np.trace(function(y)
            for _ = 1, OPS do y = y * 0.5 end
            return y
        end)(x)
    end
end, 1)
row("trace, an op", median / OPS, best / OPS, {}, times.trace)

median, best = timed(function(count)
    for _ = 1, count do np.jit(function(y) return np.tanh(y * 2 + 1):sum() end)(x):item() end
end, 1)
row("first call of a new function", median, best, against({}, best, times["first call"], 20), times["first call"])

jit.flush()
jit.off()
cached_calls("interpreted", times)
os.exit(0)
