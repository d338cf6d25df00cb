--- debug_check_test.lua: np.debug.check: which condition fails, with its line and values, eager and in jitted
-- functions, loops, branches, derivatives, batches, programs in files and on meshes; that nothing else changes.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(2, "tests/stdlib/debug_check_test.lua")

local x = np.array { 4, -1, 9 }
local HERE = "debug_check_test.lua"

local function line() return debug.getinfo(2, "l").currentline end

--- All digits of an array's elements.
local function digits(v)
    local texts = {}
    for k, element in ipairs(np.ravel(v):totable()) do texts[k] = ("%a"):format(element) end
    return table.concat(texts, " ")
end

--- f() raises an error with this text, plain.
local function tells(f, text, what)
    local ok, problem = pcall(f)
    check.equal(ok, false, what)
    check.equal(tostring(problem):find(text, 1, true) ~= nil, true,
                ("%s: %s, and not %s"):format(what or "", tostring(problem), text))
end

local function positive(v)
    return np.debug.check(v, v:gt(0), "min {}", v:min())
end

check.test("the message, with its values and the line, however late somebody asks", function()
    local at = line() + 1
    local y = np.debug.check(x, x:gt(0), "min {:.2f} of {}", x:min(), x)
    local text = ("%s:%d: check: min -1.00 of [ 4. -1.  9.]"):format(HERE, at)
    local z = (y * 2):sum()
    tells(function() return z:item() end, text)
    tells(function() return y:totable() end, text)
    check.equal((x * 2):totable(), { 8, -2, 18 }, "nothing else has failed")
    tells(function() return np.debug.check(x, false, "no field"):wait() end, "check: no field")
    tells(function() return np.debug.check(x, false, ""):wait() end, HERE)
end)

check.test("fields: numbers, texts, tables, names, positions, braces", function()
    local i = np.arange(3)
    local function told(...)
        local given = { n = select("#", ...), ... }
        return function() return np.debug.check(x, i:lt(0), unpack(given, 1, given.n)):wait() end
    end
    tells(told("{1} and {0}", i, "text"), "check: text and [0 1 2]")
    tells(told("{n:>4}|{{}}|{x}", { n = i[2], x = np.array(true) }), "check:    2|{}|True")
    tells(told("{}, {}", 3, { a = i[1], 2 }), "check: 3, {2, a = 1}")
    tells(told("{}{}{}", i[0], i[1], i[2]), "check: 012")
    tells(told("a\0b {}", np.array(1 + 2i)), "check: a\\0b (1+2j)")
    for _, dtype in ipairs { "f16", "bf16", "f64", "i8", "u64" } do
        tells(told("{}", np.full({}, 2, { dtype = dtype })), "check: 2", dtype)
    end
end)

check.test("what passes has the same bits, whatever it is", function()
    local yes = np.array(true)
    for _, dtype in ipairs { "bool", "i8", "i64", "u64", "f16", "bf16", "f32", "f64", "c64", "c128" } do
        local v = np.array({ 0, 1, 1 }, { dtype = dtype })
        local got = np.debug.check(v, yes, "no")
        check.equal(got.dtype, dtype)
        check.equal(got:totable(), v:totable(), dtype)
    end
    local weak = np.debug.check(np.where(np.array { true }, 1, 0), yes, "no")
    check.equal((weak + np.array({ 1 }, { dtype = "i8" })).dtype, "i8", "elements without a dtype of their own")
    local odd = np.array { -0.0, np.nan, math.huge }
    check.equal(digits(np.debug.check(odd, yes, "no")), digits(odd))
    local tree = np.debug.check({ a = x, list = { np.ones { 2, 2 }, 3, "text" } }, true, "no")
    check.equal({ tree.a:totable(), tree.list[1]:totable(), tree.list[2], tree.list[3] },
                { { 4, -1, 9 }, { { 1, 1 }, { 1, 1 } }, 3, "text" })
    local all = np.debug.check(np.ones(0), np.ones { 0 }:gt(1), "all of nothing holds")
    check.equal(all:totable(), {})
end)

check.test("of a tree every array fails, and no other one", function()
    local tree = np.debug.check({ a = x, b = np.ones(2) }, x:gt(0), "bad")
    tells(function() return tree.a:wait() end, "check: bad")
    tells(function() return tree.b:wait() end, "check: bad")
end)

check.test("jitted functions, again and again", function()
    local f = np.jit(function(v, k) return np.sqrt(positive(v)) * k end)
    for _ = 1, 3 do
        check.equal(f(np.array { 4, 9 }, 2):totable(), { 4, 6 })
        tells(function() return f(x, 2):totable() end, "check: min -1.0")
    end
    local unused = np.jit(function(v)
        positive(v)
        return v + 1
    end)
    check.equal(unused(x):totable(), { 5, 0, 10 }, "what is not used is not checked")
end)

check.test("loops and branches", function()
    local function down(n)
        return function(v) return np.fori_loop(0, n, function(k, c)
            return np.debug.check(c - 1, c:gt(0), "turn {}: {}", k, c)
        end, v) end
    end
    for _, wrap in ipairs { np.jit, function(f) return f end } do
        check.equal(wrap(down(3))(np.array(3)):item(), 0)
        tells(function() return wrap(down(5))(np.array(3)):item() end, "check: turn 3: 0.0")
    end
    local function scanned(v)
        local _, ys = np.scan(function(c, e) return c + e, positive(e) end, np.array(0.0), v)
        return ys
    end
    check.equal(scanned(np.array { 1, 2 }):totable(), { 1, 2 })
    tells(function() return scanned(x):totable() end, "check: min -1.0")
    local function whiled(v) return np.while_loop(function(c) return c:gt(-2) end, function(c)
        return np.debug.check(c, c:ne(0), "came to {}", c) - 1
    end, v) end
    tells(function() return whiled(np.array(2)):item() end, "check: came to 0.0")
    local function branched(v)
        return np.cond(v:gt(0), function(u) return np.log(positive(u)) end, function(u) return u end, v)
    end
    check.equal({ branched(np.array(1)):item(), branched(np.array(-1)):item() }, { 0, -1 })
end)

check.test("batches name the example", function()
    local f = np.vmap(function(v) return positive(v) * 2 end)
    check.equal(f(np.array { { 1, 2 }, { 3, 4 } }):totable(), { { 2, 4 }, { 6, 8 } })
    tells(function() return f(np.array { { 1, 2 }, { 3, -4 }, { -1, 0 } }):wait() end, "check: min -4.0, in example 1")
    local twice = np.vmap(np.vmap(positive))
    tells(function() return twice(np.array { { 1, 2, 3 }, { 1, 2, -3 } }):wait() end,
          "check: min -3.0, in example (1, 2)")
    local shared = np.vmap(function(v) return np.debug.check(v, v:lt(x:sum()), "{} of {}", v, x[{ { 0, 2 } }]) end)
    tells(function() return shared(np.array { 1, 20 }):wait() end, "check: 20.0 of [ 4. -1.], in example 1")
    check.equal(shared(np.array { 1, 2 }):totable(), { 1, 2 })
end)

check.test("branches and loops of a batch are checked for the examples in them", function()
    local no = np.array(false)
    local branched = np.vmap(function(v)
        return np.cond(v:gt(0), function(u) return np.log(positive(u)) end, function(u) return u * 2 end, v)
    end)
    check.equal(branched(np.array { 1, -1 }):totable(), { 0, -2 })
    local refused = np.vmap(function(v)
        return np.cond(v:gt(0), function(u) return np.debug.check(u, u:lt(5), "{}", u) end, function(u) return u end, v)
    end)
    tells(function() return refused(np.array { -7, 7, 1 }):wait() end, "check: 7.0, in example 1")
    -- A condition, or a whole loop, that does not depend on the example, in a branch that none takes.
    local never = np.vmap(function(v)
        return np.cond(v:gt(100), function(u)
            return np.fori_loop(0, 2, function(_, c) return np.debug.check(c, no, "never") end, np.array(1.0)) + u
        end, function(u) return np.cond(u:gt(50), function(w) return np.debug.check(w, no, "never") end,
                                        function(w) return w end, u) end, v)
    end)
    check.equal(never(np.array { 1, 2 }):totable(), { 1, 2 })
    tells(function() return never(np.array { 1, 200 }):wait() end, "check: never, in example 1")
    tells(function() return never(np.array { 60, 2 }):wait() end, "check: never, in example 0")
    -- Examples that are done stay at 0, where the condition is false.
    local whiled = np.vmap(function(v)
        return np.while_loop(function(c) return c:gt(0) end, function(c)
            return np.debug.check(c - 1, c:gt(0), "{} is done", c)
        end, v)
    end)
    check.equal(whiled(np.array { 1, 3, 0 }):totable(), { 0, 0, 0 })
end)

check.test("derivatives: the same values, and the failure", function()
    local function f(v) return (np.sin(positive(v)) * v):sum() end
    local function plain(v) return (np.sin(v) * v):sum() end
    local good = np.array { 0.5, 2 }
    for _, way in ipairs { np.grad, np.hessian, function(g) return np.grad(np.checkpoint(g)) end,
                           function(g) return np.jit(np.grad(g)) end,
                           function(g) return function(v) return select(2, np.jvp(g, { v }, { v })) end end } do
        check.equal(digits(way(f)(good)), digits(way(plain)(good)))
        tells(function() return tostring(way(f)(x)) end, "check: min -1.0")
    end
    tells(function() return np.grad(function(v) return positive(v):sum() end)(x):wait() end, "check: min -1.0",
          "a gradient that reads no value")
    local looped = np.grad(function(v)
        return np.fori_loop(0, 3, function(_, c) return np.debug.check(c * 2, c:lt(3), "{}", c) end, v)
    end)
    check.equal(looped(np.array(0.5)):item(), 8)
    tells(function() return looped(np.array(1)):item() end, "check: 4.0")
    tells(function() return np.vmap(np.grad(function(v) return positive(v) ^ 2 end))(x):wait() end, "in example 1")
end)

check.test("programs, their text, and files", function()
    local program = np.trace(function(v) return positive(v) * 2 end)(np.ones(3))
    check.ok(tostring(program):find(": bool[] = check ", 1, true), tostring(program))
    local path = os.tmpname()
    program:save(path)
    local loaded = np.load_program(path)
    os.remove(path)
    check.equal(loaded(np.array { 1, 2, 3 }):totable(), { 2, 4, 6 })
    tells(function() return loaded(x):wait() end, "check: min -1.0")
end)

check.test("meshes: a block that fails, and arrays that are divided", function()
    local mesh = np.mesh({ 2 }, { "i" })
    local spec = np.P "i"
    local f = np.shard_map(function(v)
        return np.debug.check(v, v:gt(0), "device {}: {}", np.axis_index "i", v) * np.psum(v, "i")
    end, { mesh = mesh, in_specs = spec, out_specs = spec })
    check.equal(f(np.array { 1, 2 }):totable(), { 3, 6 })
    tells(function() return f(np.array { 1, -2 }):totable() end, "check: device 1: [-2.]")
    local divided = np.device_put(np.array { 1, 2, 3, -4 }, np.NamedSharding(mesh, spec))
    tells(function() return positive(divided):totable() end, "check: min -4.0")
    check.equal(positive(divided + 5):totable(), { 6, 7, 8, 1 })
end)

check.test("what is refused", function()
    local function refused(pattern, ...)
        local given = { n = select("#", ...), ... }
        check.raises(function() np.debug.check(unpack(given, 1, given.n)) end, pattern)
    end
    refused("np.debug.check: argument 1 %(tree%)", 3, true, "text")
    refused("np.debug.check: argument 1 %(tree%)", { "text" }, true, "text")
    refused("np.debug.check: argument 2 %(condition%)", x, x, "text")
    refused("np.debug.check: argument 2 %(condition%)", x, 1, "text")
    refused("np.debug.check: argument 2 %(condition%)", x)
    refused("np.debug.check: argument 3 %(message%)", x, true)
    refused("np.debug.check: no argument for field 1", x, true, "{}")
    refused("np.debug.check: 1 arguments for 0 fields", x, true, "text", 1)
    refused("np.debug.check: cannot read the message", x, true, "{a b}")
    refused("np.debug.check: argument 4 at byte 1 of the message", x, true, "{:.2f}", x)
    refused("at most 62", x, true, ("{}"):rep(63), unpack((function()
        local list = {}
        for k = 1, 63 do list[k] = x end
        return list
    end)()))
end)

check.done()
