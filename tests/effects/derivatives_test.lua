--- derivatives_test.lua: effects in loops, branches and rules for derivatives, of what is differentiated: each happens
-- once, in its order, and callbacks with results are asked once; with the derivatives compared with plain Lua's.
-- Functions drawn at random.
local np = require "neap"
local chains = require "tests.lib.chains"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local process = require "tests.lib.process"

local COUNT = 300
local AT_ONCE = 50 -- functions in a process

for from in seeds.each(COUNT, AT_ONCE) do
    check.test("functions from " .. from, function()
        local code = ("for seed = %d, %d do require 'tests.lib.chains'.run(seed) end"):format(from, from + AT_ONCE - 1)
        local status, out, err = process.run_neap { "-e", code }
        check.equal({ status, err }, { 0, "" })
        for seed = from, from + AT_ONCE - 1 do
            local got = out:match("^.-seed " .. seed .. " [^\n]*\n") or out
            check.equal(got, chains.expected(seed), "seed " .. seed)
            out = out:sub(#got + 1)
        end
    end)
end

local calls = 0
local double = np.callback(function(v)
    calls = calls + 1
    return v * 2
end, { result = { shape = {} } })

--- The derivative, and how often `double` was called for it.
local function counted(f, x)
    np.effects_barrier()
    calls = 0
    local value = f(np.array(x)):item()
    np.effects_barrier()
    return { value, calls }
end

check.test("a callback inside of a checkpoint is asked once", function()
    local f = np.checkpoint(function(x)
        return x * np.callback(function(v)
            calls = calls + 1
            return v * 2
        end, { result = { shape = {} }, ordered = false })(np.stop_gradient(x))
    end)
    check.equal(counted(np.grad(f), 3), { 6, 1 })
    check.equal(counted(np.grad(function(x)
        return (np.scan(function(c) return f(c), nil end, x, nil, { length = 2 }))
    end), 3), { 216, 2 })
end)

check.test("answers are stacked with what else a scan gives, and read by the turn that asked", function()
    local function f(x)
        local c, ys = np.scan(function(c, v)
            local answer = double(np.stop_gradient(c + v))
            return c * v, c * answer
        end, x, np.array { 1, 2, 3 })
        return c + ys:sum()
    end
    -- c: 2 2 4, v: 1 2 3; answers 6 8 14; c = 6 x, ys = 6 x, 8 x, 28 x
    check.equal(counted(np.grad(f), 2), { 48, 3 })
    check.equal(counted(np.jit(np.grad(f)), 2), { 48, 3 })
    check.equal(counted(function(x) return select(2, np.jvp(f, { x }, { np.array(1) })) end, 2), { 48, 3 })
end)

check.test("a loop of unknown length is an answer itself where it is constant", function()
    local function f(x)
        return (np.scan(function(c)
            return c * np.while_loop(function(s) return s:lt(100) end, double, np.stop_gradient(c)), nil
        end, x, nil, { length = 2 }))
    end
    -- 3 doubles six times to 192, then 576 none
    check.equal(counted(np.grad(f), 3), { 192 * 576, 6 })
    local function grows(x)
        return np.while_loop(function(s) return s:lt(100) end,
                             function(s) return s * double(np.stop_gradient(s)) end, x)
    end
    check.raises(function() np.jvp(grows, { np.array(3) }, { np.array(1) }) end, "nobody knows how many answers")
end)

check.test("what is asked must be constant, however it comes to depend on an argument", function()
    local refused = "the results of the function at .* cannot be differentiated; give it np.stop_gradient"
    local function scan(x)
        local out = np.scan(function(c) -- the third carry depends on x from the third turn on
            return { c[1], c[1], c[2] + 0 * double(c[3]) }, nil
        end, { x, np.array(0), np.array(0) }, nil, { length = 3 })
        return out[3]
    end
    local function cond(x)
        return np.cond(true, function(v) return v * double(v) end, function(v) return v end, x)
    end
    for _, f in ipairs { scan, cond } do
        check.raises(function() np.grad(f)(np.array(3)) end, refused)
        check.raises(function() np.jvp(f, { np.array(3) }, { np.array(1) }) end, refused)
        check.raises(function() np.grad(np.jit(f))(np.array(3)) end, refused)
    end
    local other = function(x) -- a carry that never depends on x
        return np.scan(function(c) return { c[1] * double(c[2]), c[2] + 1 }, nil end, { x, np.array(1) }, nil,
                       { length = 2 })[1]
    end
    check.equal(counted(np.grad(other), 3), { 8, 2 })
end)

check.test("a rule for forward mode with effects, in reverse mode", function()
    check.equal(process.output [[
        local square = np.custom_jvp(function(x) return x * x end):defjvp(function(p, t)
            print("rule", p[1])
            return p[1] * p[1], 2 * p[1] * t[1]
        end)
        print(np.grad(function(x) print("before") local y = square(x) print("after") return y end)(np.array(2)))
        print(np.hessian(square)(np.array(2)))]], "before\nrule\t2.0\nafter\n4.0\nrule\t2.0\n2.0\n")
    local tells = np.custom_jvp(function(x) return x end):defjvp(function(p, t)
        print(t[1])
        return p[1], t[1]
    end)
    check.raises(function() np.grad(tells)(np.array(2)) end, "effects that read its tangents")
    local mixed = np.custom_jvp(function(x) return x end):defjvp(function(p, t)
        print(p[1])
        return p[1] + 0 * t[1], t[1]
    end)
    check.raises(function() np.grad(mixed)(np.array(2)) end, "must compute its results apart from the tangents")
end)

check.test("a rule for forward mode that calls functions with rules which ask", function()
    local f, g
    f = np.custom_jvp(function(x) return double(np.stop_gradient(x)) * x end)
    f:defjvp(function(at, along) return f(at[1]), double(np.stop_gradient(at[1] + 1)) * along[1] end)
    g = np.custom_jvp(function(x) return f(x) end)
    g:defjvp(function(at, along)
        local y = f(at[1])
        return y, y * double(np.stop_gradient(at[1])) * along[1]
    end)
    local function twice(h)
        return function(x) return (np.scan(function(c) return h(c), nil end, x, np.zeros(2))) end
    end
    check.equal(counted(np.grad(f), 2)[1], 6)
    check.equal(counted(np.jit(np.grad(f)), 2)[1], 6)
    check.equal(counted(function(x) return (select(2, np.jvp(f, { x }, { np.ones {} }))) end, 2)[1], 6)
    check.equal(counted(np.grad(np.grad(f)), 2)[1], 0)
    check.equal(counted(np.grad(twice(f)), 2)[1], 6 * 18)
    check.equal(counted(np.grad(g), 2)[1], 8 * 4)
    check.equal(counted(np.grad(twice(g)), 2)[1], 32 * (128 * 16))
end)

process.cleanup()
check.done()
