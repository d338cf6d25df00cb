--- staged_test.lua: np.staged: what is recorded anew and what is not, captures, effects, gradients, errors.
local np = require "neap"
local check = require "tests.lib.check"

--- How many programs f() records.
local function recorded(f)
    local before = np.debug.counters().programs
    f()
    return np.debug.counters().programs - before
end

check.test("a block in a loop is recorded once", function()
    local x, runs = np.ones(3):wait(), { n = 0 }
    check.equal(recorded(function()
        for k = 1, 20 do
            local y = (x * 0 + k):wait()
            local function helper(z) return z + y end
            x = np.staged(function()
                runs.n = runs.n + 1
                return helper(x)
            end)
        end
    end), 1)
    check.equal({ runs.n, x:totable() }, { 1, { 211, 211, 211 } })
end)

check.test("what changes around a block", function()
    local function run(w, scale, how, t)
        return np.staged(function()
            local y = how == "sum" and w:sum() or w * 2
            return y * scale, { t.a + 1, n = t.n }
        end)
    end
    local function results(...)
        local y, t = run(...)
        return { y:totable(), t[1]:totable(), t.n }
    end
    local w, t = np.array { 1, 2 }, { a = np.array { 5 }, n = 3 }
    check.equal(recorded(function()
        for _ = 1, 5 do check.equal(results(w, 2, "sum", t), { 6, { 6 }, 3 }) end
    end), 1)
    check.equal(results(w, 2, "twice", t), { { 4, 8 }, { 6 }, 3 })
    check.equal(results(w, 3, "twice", t), { { 6, 12 }, { 6 }, 3 })
    check.equal(results(w, 3, "twice", { a = np.array { 7 }, n = 3 }), { { 6, 12 }, { 8 }, 3 })
    check.equal(results(w, 3, "twice", { a = np.array { 7 }, n = 4 }), { { 6, 12 }, { 8 }, 4 })
    check.equal(results(np.array { 1, 2, 3 }, 3, "sum", t), { 18, { 6 }, 3 })
    t.a = np.array { 10 }
    check.equal(recorded(function() check.equal(results(w, 2, "sum", t), { 6, { 11 }, 3 }) end), 0)
end)

check.test("functions count by their code and what they capture, not by identity", function()
    local function scaled(by) return function(x) return x * by end end
    local double, triple, x = scaled(np.array(2)), scaled(np.array(3)), np.array { 1, 2 }
    local function run(f) return np.staged(function() return f(x) end):totable() end
    check.equal(recorded(function()
        check.equal({ run(double), run(triple), run(scaled(np.array(4))) }, { { 2, 4 }, { 3, 6 }, { 4, 8 } })
    end), 1)
    check.equal(run(scaled(5)), { 5, 10 })
    check.equal(run(scaled(6)), { 6, 12 })
    check.equal(run(np.exp), np.exp(x):totable())
    check.equal(run(np.negative), { -1, -2 })
end)

check.test("functions that share a variable, and those that do not", function()
    local function pair(shared)
        local a, b = np.array { 1 }, np.array { 10 }
        local function first() return a end
        local function second() return shared and a or b end
        local function other() return b end
        return first, shared and first or other, second
    end
    local function run(f, g, h) return np.staged(function() return f() + g() * 100 + h() * 1000 end):totable() end
    check.equal(run(pair(true)), { 1101 })
    check.equal(run(pair(false)), { 11001 })
    check.equal(run(pair(true)), { 1101 })
end)

check.test("results, nesting and transformations", function()
    local a, b = np.staged(function() return 1, "two" end)
    check.equal({ a, b }, { 1, "two" })
    check.equal(select("#", np.staged(function() end)), 0)
    local x = np.array { 1, 2 }
    local function loss(w)
        local half = np.staged(function() return w * w / 2 end)
        return np.staged(function() return half:sum() end)
    end
    check.equal(np.grad(loss)(x):totable(), { 1, 2 })
    check.equal(np.jit(np.grad(loss))(x):totable(), { 1, 2 })
    check.equal(np.grad(function(y) return np.grad(loss)(y * y):sum() end)(x):totable(), { 2, 4 })
    local g = np.staged(function() return np.grad(loss)(x) end)
    check.equal(g:totable(), { 1, 2 })
    local f = np.jit(function(y) return np.staged(function() return y + x end) end)
    check.equal(f(x):totable(), { 2, 4 })
end)

check.test("effects happen at each run", function()
    local seen = {}
    local note = np.callback(function(x) seen[#seen + 1] = x:item() end, { ordered = true })
    for k = 1, 3 do
        local x = np.array { k }
        np.staged(function() note(x * 2) end)
    end
    np.effects_barrier()
    check.equal(seen, { 2, 4, 6 })
end)

check.test("a training loop of blocks", function()
    local w, x, y = np.zeros(2), np.array { { 1, 0 }, { 0, 1 } }, np.array { 1, 2 }
    local function loss(p) return ((x:matmul(p) - y) ^ 2):sum() end
    check.equal(recorded(function()
        for _ = 1, 40 do
            w = np.staged(function() return w - np.grad(loss)(w) * 0.25 end)
        end
    end), 1)
    check.close(w:totable(), { 1, 2 }, 1e-5)
end)

check.test("blocks keep nothing alive", function()
    local function run(x) return np.staged(function() return x:sum() end) end
    run(np.ones(70000):wait()):wait()
    np.memory.trim()
    local live = np.memory().live
    run((np.ones(70000) * 2):wait()):wait()
    pcall(run, 3)
    np.memory.trim()
    check.equal(np.memory().live, live)
end)

check.test("blocks of one code that reach different variables", function()
    local function block(f, a) return np.staged(function() return f(a) end) end
    local w, x = np.array { 1, 2 }, np.ones(2)
    local wrapped = np.checkpoint(function(a) return a * w end)
    check.equal(block(wrapped, x):totable(), { 1, 2 })
    check.equal(block(function(a) return a + 1 end, x):totable(), { 2, 2 }, "w is not reached")
    check.equal(w:totable(), { 1, 2 }, "w has its value")
    check.equal(block(function(a) return a - w end, x):totable(), { 0, -1 }, "w is a variable of the block")
    check.raises(function() block(function() error("mine") end, x) end, "mine")
    check.equal(w:totable(), { 1, 2 }, "w has its value after an error")
    w = np.array { 5, 6 }
    check.equal(block(wrapped, x):totable(), { 5, 6 })
end)

check.test("variables of blocks that are gone do not pile up", function()
    local x, least = np.ones(2), math.huge
    for turn = 1, 150 do
        local w = np.full({ 2 }, turn) + 0
        local wrapped = np.checkpoint(function(a) return a * w end)
        check.equal(np.staged(function() return wrapped(x) end):totable()[1], turn)
        collectgarbage()
        least = turn > 120 and math.min(least, np.memory().live) or least
    end
    check.ok(least < 100 * 64, least)
end)

check.test("errors", function()
    check.raises(function() np.staged(3) end, "argument 1 .block. must be a function")
    check.raises(function() np.staged(print) end, "must be a function written in Lua")
    check.raises(function() np.staged(function() error("mine") end) end, "mine")
    local x, t = np.ones(2), { a = np.ones(2) }
    check.raises(function() np.staged(function() x = x + 1 end) end, "the block assigned to 'x', which is outside")
    check.equal(x:totable(), { 1, 1 })
    check.raises(function() np.staged(function() t.a = t.a + 1 end) end, "the block assigned to 't'")
    check.equal(t.a:totable(), { 1, 1 })
    local text = check.raises(function() np.staged(function() return x:sum():item() end) end, "while tracing")
    check.ok(text:find("staged_test.lua", 1, true), text)
    check.equal(np.staged(function() return x + 1 end):totable(), { 2, 2 })
end)

check.done()
