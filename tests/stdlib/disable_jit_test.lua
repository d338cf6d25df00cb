--- disable_jit_test.lua (sanitized with --long): np.disable_jit and np.debug.jit: jitted functions run as they were
-- written, with the same results, and are what they were afterwards.
local check = require "tests.lib.check"
local np = require "neap"
local process = require "tests.lib.process"

local function same(a, b, what) check.equal(a:totable(), b:totable(), what) end

local x = np.array { 1, -2, 3 }

check.test("values are seen, each call runs the function, and nothing is recorded", function()
    local calls, seen = 0, nil
    local f = np.jit(function(v)
        calls = calls + 1
        if not np.is_array(v) then error "no array" end
        return v * 2 + 1
    end)
    local g = np.jit(function(v)
        seen = v:sum():item()
        return v
    end)
    same(f(x), x * 2 + 1)
    for _ = 1, 3 do same(np.disable_jit(f)(x), x * 2 + 1) end
    check.equal(calls, 4)
    check.equal(np.jit_cache(f).traces, 1)
    same(f(x), x * 2 + 1)
    check.equal(calls, 4, "afterwards it is recorded as before")
    same(np.disable_jit(g)(x), x)
    check.equal(seen, 2)
    check.raises(function() g(x) end, "the value of a traced array is not known")
end)

check.test("jitted functions inside of others, in derivatives and batches", function()
    local values = {}
    local inner = np.jit(function(v)
        values[#values + 1] = v:item()
        return v * v
    end)
    local outer = np.jit(function(v) return inner(v) + 1 end)
    check.equal(np.disable_jit(function() return outer(np.array(3)):item() end)(), 10)
    check.equal(np.disable_jit(np.grad(outer))(np.array(3)):item(), 6)
    check.equal(values, { 3, 3 })
    local plain = np.jit(function(v) return v * v end)
    same(np.disable_jit(np.vmap(plain))(x), x * x)
    same(np.disable_jit(np.jit(np.grad(function(v) return plain(v):sum() end)))(x), x * 2)
end)

check.test("numbers, static and donated arguments, devices, results", function()
    local f = np.jit(function(v, n, t) return v * n, t.mode, n end, { static = { "mode" }, donate = { 1 } })
    local kept = np.array { 1, 2 }
    local a, mode, n = f(kept * 1, 3, { mode = "m" })
    local b, mode_off, n_off = np.disable_jit(f)(kept, 3, { mode = "m" })
    same(a, b)
    check.equal({ mode_off, np.is_array(n_off), n_off:item() }, { mode, np.is_array(n), n:item() })
    same(kept, np.array { 1, 2 })
    check.raises(function() np.disable_jit(f)() end, "option 'donate' names argument 1, but the call has 0")
    local put = np.jit(function(v) return v + 1 end, { device = "cpu:0" })
    check.equal(tostring(np.disable_jit(put)(x).device), tostring(put(x).device))
    local sized = np.jit(function(v) return v:sum() end, { sizes = { { "n" } } })
    same(np.disable_jit(sized)(x), x:sum())
end)

check.test("results and errors pass; jit is on again after an error, and as it was inside of each other", function()
    local jitted = np.jit(function(v) return v:item() end)
    check.equal({ np.disable_jit(function(...) return ... end)(1, nil, 3) }, { 1, nil, 3 })
    check.raises(function() np.disable_jit(function() error "mine" end)() end, "mine")
    check.raises(function() jitted(np.array(1)) end, "not known while tracing")
    np.disable_jit(function()
        np.disable_jit(jitted)(np.array(1))
        check.equal(jitted(np.array(2)), 2)
    end)()
    np.debug.jit(false)
    check.equal(jitted(np.array(2)), 2)
    np.debug.jit(true)
    check.raises(function() jitted(np.array(1)) end, "not known while tracing")
    check.raises(function() np.debug.jit(1) end, "argument 1 %(on%) must be a boolean")
    check.raises(function() np.disable_jit(1) end, "argument 1 %(f%) must be a function")
end)

check.test("effects keep their order, and an error names its line", function()
    local code = [[local np = require "neap"
local f = np.jit(function(v)
    print("in", v)
    local y = v + 1
    if y:item() > 3 then error("too large") end
    return y
end)
print(pcall(np.disable_jit(function() print "a" print("out", f(np.array(1))) print "b" f(np.array(5)) end)))]]
    check.equal(process.output(code), "a\nin\t1.0\nout\t2.0\nb\nin\t5.0\nfalse\t(command line):5: too large\n")
end)

check.done()
