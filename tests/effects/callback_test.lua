--- callback_test.lua: np.callback: arguments, results, failures, what a callback may do, its place among other effects,
-- callbacks inside jit and gradients, and that nothing of them is lost, doubled or kept.
local dtypes = require "tests.lib.dtypes"
local np = require "neap"
local callees = require "tests.lib.callees"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local output = process.output

--- What a program prints to stdout and stderr, as one text, and its status. The script has a name of its own.
local function all_output(code)
    local path = process.file(code)
    local pipe = assert(io.popen(("'%s' %s 2>&1; echo status $?"):format(process.neap, path)))
    local text = pipe:read "*a"
    pipe:close()
    return (text:gsub(path:gsub("%p", "%%%0"), "script.lua"))
end

-- ---- Arguments and results ------------------------------------------------------------------------------------------

check.test("arguments keep their form", function()
    local got
    local table_with_method = setmetatable({}, {})
    np.callback(function(...) got = { n = select("#", ...), ... } end)(
        np.arange(3), { np.ones(2), k = { np.zeros(1), "text" } }, "s", true, nil, 2.5, table_with_method, nil)
    np.effects_barrier()
    check.equal(got.n, 8)
    check.equal(got[1]:totable(), { 0, 1, 2 })
    check.equal(got[2][1]:totable(), { 1, 1 })
    check.equal(got[2].k[1]:totable(), { 0 })
    check.equal({ got[2].k[2], got[3], got[4], got[6] }, { "text", "s", true, 2.5 })
    check.ok(got[5] == nil and rawequal(got[7], table_with_method))
end)

check.test("arguments are there: nothing waits for them", function()
    local deferred
    np.callback(function(x) deferred = x:is_deferred() end)(np.debug.sleep(np.ones(3), 50) + 1)
    np.effects_barrier()
    check.equal(deferred, false)
end)

check.test("views arrive as arrays of their own", function()
    local x, got = np.arange(12):reshape(3, 4), {}
    x:wait()
    np.callback(function(...) got = { ... } end)(
        x.T, x[{ { 1, 3 }, { 1, 3 } }], x[1], np.broadcast_to(x[0], { 2, 4 }), x)
    np.effects_barrier()
    check.equal(got[1]:totable(), { { 0, 4, 8 }, { 1, 5, 9 }, { 2, 6, 10 }, { 3, 7, 11 } })
    check.equal(got[2]:totable(), { { 5, 6 }, { 9, 10 } })
    check.equal(got[3]:totable(), { 4, 5, 6, 7 })
    check.equal(got[4]:totable(), { { 0, 1, 2, 3 }, { 0, 1, 2, 3 } })
    check.equal(got[5].shape, { 3, 4 })
end)

check.test("results by specification and by example", function()
    local twice = np.callback(function(x) return x * 2 end, { result = { shape = { 3 }, dtype = "i32" } })
    local y = twice(np.arange(3))
    check.equal({ y.shape, y.dtype }, { { 3 }, "i32" })
    check.equal((y + 1):totable(), { 1, 3, 5 })
    local like = np.callback(function(x) return x + 0.5 end, { result = np.zeros { 2, 2 } })
    check.equal(like(np.ones { 2, 2 }):totable(), { { 1.5, 1.5 }, { 1.5, 1.5 } })
end)

check.test("results of every dtype, empty ones too", function()
    for _, dtype in ipairs(dtypes.names) do
        local x = np.array { 1, 0, 1 }:astype(dtype)
        local same = np.callback(function(v) return { v, v[{ { 0, 0 } }], v[1] } end,
                                 { result = { x, { shape = { 0 }, dtype = dtype }, { shape = {}, dtype = dtype } } })(x)
        check.equal(same[1].dtype, dtype)
        check.equal(same[1]:totable(), x:totable())
        check.equal(same[2].shape, { 0 })
        check.equal(same[3]:item(), x[1]:item())
    end
end)

check.test("a tree of results", function()
    local f = np.callback(function(x)
        return { loss = x:sum(), grads = { x * 2, b = 3 } }
    end, { result = { loss = { shape = {} }, grads = { np.zeros(2), b = { shape = {}, dtype = "i32" } } } })
    local r = f(np.ones(2))
    check.equal({ r.loss:item(), r.grads[1]:totable(), r.grads.b:item() }, { 2, { 2, 2 }, 3 })
end)

check.test("specifications that cannot be read", function()
    local function with(result, expected)
        check.raises(function() np.callback(print, { result = result }) end, expected)
    end
    with(3, "option 'result' must hold arrays or tables")
    with({ a = "x" }, "option 'result%.a' must hold arrays")
    with({ shape = { -1 } }, "a shape is a table of integers from 0 up")
    with({ shape = { 2 }, dtype = "f16x" }, "no dtype the string \"f16x\"")
    with({ shape = { 2 }, dytpe = "f32" }, "has also 'dytpe'")
    check.raises(function() np.callback(3) end, "argument 1 %(f%) must be a function")
    check.raises(function() np.callback(print, { order = true }) end, "unknown option 'order'")
    check.raises(function() np.callback(print, { kind = "prints" }) end, "no kind of effects is called 'prints'")
    check.raises(function() np.callback(print, { ordered = 1 }) end, "must be a boolean")
end)

--- The error of reading the results of a callback that returns `value`.
local function mismatch(result, value)
    local r = np.callback(function() return value end, { result = result })()
    while not np.is_array(r) do r = select(2, next(r)) end
    local ok, text = pcall(r.wait, r)
    check.equal(ok, false)
    return text
end

check.test("results are compared with what was asked for", function()
    local vector = { shape = { 3 }, dtype = "f32" }
    local line = debug.getinfo(1, "l").currentline
    local text = mismatch(vector, np.ones(2))
    check.ok(text:find("result: expected shape (3,) and dtype f32, got shape (2,) and dtype f32", 1, true), text)
    check.ok(text:find("callback_test.lua:%d+: callback: result") and line, text)
    text = mismatch(vector, np.arange(3))
    check.ok(text:find("expected shape (3,) and dtype f32, got shape (3,) and dtype i32", 1, true), text)
    text = mismatch({ a = { b = vector } }, { a = { b = "x" } })
    check.ok(text:find("result.a.b: expected shape (3,) and dtype f32, got the string \"x\"", 1, true), text)
    text = mismatch({ vector, vector }, { np.ones(3) })
    check.ok(text:find("result[2]: expected shape (3,) and dtype f32, got nothing (nil)", 1, true), text)
    text = mismatch({ vector }, { np.ones(3), more = 1 })
    check.ok(text:find("result: nothing was expected at 'more'", 1, true), text)
    text = mismatch({ shape = {}, dtype = "i32" }, 1.5)
    check.ok(text:find("expected shape () and dtype i32, got the number 1.5", 1, true), text)
    text = mismatch({ vector }, 5)
    check.ok(text:find("result: expected a table, got the number 5", 1, true), text)
end)

check.test("an error is the failure of the results, with the line of the call", function()
    local text = all_output [[
local f = np.callback(function() error "boom" end, {result = np.ones(1)})
local r = f()
print(r)
print(pcall(function() return r:item() end))
print(pcall(function() return (r + 1):sum():item() end))
]]
    check.equal(text, [[
<error: script.lua:2: callback: script.lua:1: boom>
false	script.lua:4: script.lua:2: callback: script.lua:1: boom
false	script.lua:5: script.lua:2: callback: script.lua:1: boom
status 1
]])
end)

check.test("without results it is told in its place, once", function()
    check.equal(all_output [[
local f = np.callback(function(k) if k % 2 == 0 then error("even " .. k, 0) end print("odd", k) end)
for k = 1, 4 do f(k) print("after", k) end
np.wait_all()
np.effects_barrier()
np.callback(function() error(setmetatable({}, {__tostring = function() error "worse" end})) end)()
np.callback(function() error({}) end)
]], [[
odd	1
after	1
script.lua:2: callback: even 2
after	2
odd	3
after	3
script.lua:2: callback: even 4
after	4
script.lua:5: callback: an error without a text
status 1
]])
end)

check.test("failed arguments", function()
    check.equal(all_output [[
local bad = np.debug.fail(np.ones(1))
local r = np.callback(function(x) print "called" return x end, {result = bad})(bad)
print(pcall(function() return r:item() end))
np.callback(function() print "called" end)(bad)
print "on"
]], [[
false	script.lua:3: script.lua:1: debug_fail: failed on purpose
script.lua:4: callback: script.lua:1: debug_fail: failed on purpose
on
status 1
]])
end)

-- ---- Order ----------------------------------------------------------------------------------------------------------

check.test("a callback has the place of its call", function()
    check.equal(output [[
        local slow = np.debug.sleep(np.ones(1), 100)
        print("a", slow)
        np.callback(function(x) io.write("called with ", x, "\n") end)(slow)
        np.printf("%d\n", slow)
        np.callback(print)("b")
        io.write("end\n")
    ]], "a\t[1.]\ncalled with [1.]\n1\nb\nend\n")
end)

check.test("it does not wait", function()
    check.equal(output [[
        local called = false
        np.callback(function() called = true end)(np.debug.sleep(np.ones(1), 200))
        local before = called
        np.effects_barrier()
        print(before, called)
    ]], "false\ttrue\n")
end)

check.test("unordered: as soon as the arguments are there", function()
    check.equal(output [[
        local f = np.callback(print, {ordered = false})
        f("slow", np.debug.sleep(np.ones(1), 2000))
        f("fast")
        np.effects_barrier()
        print "end"
    ]], "fast\nslow\t[1.]\nend\n")
end)

--- Random effects and what they must print: rounds of prints, writes, callbacks (nested, failing), logs and jitted
-- functions, some of them with values that take time. What they must print goes to the file PATH.
local MIXTURE = [[
    local model = {}
    local function expect(text) model[#model + 1] = text end
    local function value(k)
        local v = np.array(k):astype "i32"
        return k % 61 == 0 and np.debug.sleep(v, 2) or v
    end
    local log = np.effects.logger(setmetatable({}, {__newindex = function(_, _, line) print("log " .. line) end}))
    local both = np.jit(function(x)
        print("staged", x)
        local y = np.callback(function(v) print("host", v) return v end, {result = x})(x)
        print("staged again", y)
        np.callback(function(v) print("host again", v) np.callback(print)("nested", v) end)(y)
        io.write("staged end ", y, "\n")
        return y
    end)
    local last
    local kinds = {
        function(k) print(k, value(k)) expect(k .. "\t" .. k) end,
        function(k) np.printf("%d!\n", value(k)) expect(k .. "!") end,
        function(k) io.write("w ", value(k), "\n") expect("w " .. k) end,
        function(k) np.debug.print({ordered = true}, "{:d}?", value(k)) expect(k .. "?") end,
        function(k) log("%d", value(k)) expect("log " .. k) end,
        function(k)
            np.callback(function(v) print("c", v) end)(value(k))
            expect("c\t" .. k)
        end,
        function(k)
            np.callback(function(v)
                print("in", v)
                np.callback(function(u) print("deep", u:item()) end)(v + 1)
                print("out", (v * 2):item())
            end)(value(k))
            expect("in\t" .. k) expect("deep\t" .. k + 1) expect("out\t" .. 2 * k)
        end,
        function(k)
            last = np.callback(function(v) return v * 2 end, {result = value(1)})(value(k))
            print("r", last + 1)
            expect("r\t" .. 2 * k + 1)
        end,
        function(k)
            local r = np.callback(function() error("no", 0) end, {result = value(1)})()
            print("f", r)
            expect("f\t<error: (command line):" .. debug.getinfo(1, "l").currentline - 2 .. ": callback: no>")
        end,
        function(k)
            both(value(k))
            expect("staged\t" .. k) expect("host\t" .. k) expect("staged again\t" .. k)
            expect("host again\t" .. k) expect("nested\t" .. k) expect("staged end " .. k)
        end,
        function() np.effects_barrier() end,
        function() if last then last:item() end end,
    }
    local seed = SEED
    for k = 1, ROUNDS do
        seed = seed * 16807 % 2147483647
        kinds[seed % #kinds + 1](k)
    end
    np.effects_barrier()
    local file = io.open(PATH, "w")
    file:write(table.concat(model, "\n"), "\n")
    file:close()
]]

check.test("random mixtures of effects come in the order of the program", function()
    local rounds = os.getenv "NEAP_TEST_BUILD" == "release" and 4000 or 300
    for seed = 1, 3 do
        local path = process.file ""
        local text = output(("SEED, ROUNDS, PATH = %d, %d, %q "):format(seed, rounds, path) .. MIXTURE, 1)
        local file = assert(io.open(path))
        local expected = file:read "*a"
        file:close()
        if text ~= expected then
            local a, b, line = text:gmatch "[^\n]*\n", expected:gmatch "[^\n]*\n", 0
            repeat
                local got, want = a(), b()
                line = line + 1
                check.equal(got, want, ("seed %d, line %d"):format(seed, line))
            until not got
        end
    end
end)

local RECURSION = [[
    local spec = { shape = {}, dtype = "f32" }
    local function call(k)
        return np.callback(function(v)
            if k == 0 then return v end
            local below = call(k - 1)(v + 1)
            return below:item()
        end, { result = spec })
    end
]]

check.test("callbacks that wait for callbacks inside them", function()
    check.equal(output(RECURSION .. "print(call(10)(np.array(0.0)), call(150)(np.array(0.0)))"), "10.0\t150.0\n")
end)

check.test("callbacks that call themselves without end are nested too deep, and the program goes on", function()
    local text = output(RECURSION .. [[
        local bad = call(1e9)(np.array(0.0))
        local good, problem = pcall(bad.item, bad)
        print(good, problem:match "np%.callback: .*")
        print(call(150)(np.array(0.0)))
    ]])
    check.equal(text, "false\tnp.callback: callbacks are nested too deep: there are 200 inside each other\n150.0\n")
    check.equal(all_output [[
        local n, tell = 0
        tell = np.callback(function() n = n + 1 tell() end)
        tell()
        np.effects_barrier()
        print(n)
    ]], "script.lua:2: callback: script.lua:2: np.callback: callbacks are nested too deep: there are 200 inside each "
        .. "other\n200\nstatus 1\n")
end)

check.test("callbacks inside each other need room on Lua's stack", function()
    local text = output [[
        local spec, f = { shape = {}, dtype = "f32" }
        local function deep(n, v) -- frames that lie between one callback and the next one
            if n == 0 then return f(v):item() end
            local below = deep(n - 1, v)
            return below
        end
        f = np.callback(function(v) return deep(200, v) end, { result = spec })
        local bad = f(np.array(0.0))
        print(pcall(bad.item, bad))
        print "on"
    ]]
    check.ok(text:find "^false\t" and text:find "nested too deep" or text:find "stack overflow", text)
    check.ok(text:find "\non\n$", text)
end)

check.test("a kind and an order of its own", function()
    check.equal(output [[
        np.effects.order("callback", "own")
        local print_later = np.callback(print)
        print(np.debug.sleep(np.ones(1), 2000))
        print_later("own order")
        np.callback(print, {kind = "print"})("with prints")
        np.effects_barrier()
    ]], "own order\n[1.]\nwith prints\n")
end)

check.test("nothing is lost at the end, nor after an error, nor in os.exit", function()
    check.equal(output "np.callback(print)(np.debug.sleep(np.ones(1), 100))", "[1.]\n")
    check.equal(output "np.callback(print)(np.debug.sleep(np.ones(1), 100)) os.exit(0)", "[1.]\n")
    check.equal(output "np.callback(print, {ordered = false})(np.debug.sleep(np.ones(1), 100))", "[1.]\n")
    check.equal(all_output [[
np.callback(function(x) print("first", x) np.callback(print)("nested") end)(np.debug.sleep(np.ones(1), 100))
error "stop"]], "first\t[1.]\nnested\nneap: script.lua:2: stop\n   2 | error \"stop\"\n     | ^^^^^\nstatus 1\n")
    check.equal(all_output "np.callback(function() print 'in' os.exit(3) end)() print 'never'", "in\nstatus 3\n")
end)

-- ---- What a callback may do -----------------------------------------------------------------------------------------

check.test("it may call neap", function()
    check.equal(output [[
        local w = np.ones(2)
        np.callback(function(x)
            print("sum", (x * 2):sum():item(), x:totable()[3])
            print("grad", np.grad(function(v) return (v * v):sum() end)(x))
            local f = np.jit(function(v) print("jit", v) return v + w:sum() end)
            print(f(x), f(x))
            print("tostring " .. x)
        end)(np.arange(3):astype("f32"))
        print "after"
    ]], "sum\t6\t2\ngrad\t[0. 2. 4.]\njit\t[0. 1. 2.]\njit\t[0. 1. 2.]\n[2. 3. 4.]\t[2. 3. 4.]\n"
        .. "tostring [0. 1. 2.]\nafter\n")
end)

check.test("callbacks inside callbacks have their place there", function()
    check.equal(output [[
        local function down(n)
            print("enter", n)
            if n > 0 then
                local r = np.callback(function() down(n - 1) return n end, {result = {shape = {}, dtype = "i32"}})()
                print("between", n)
                if n % 2 == 0 then print("result", r:item()) end
                np.effects_barrier()
            end
            print("leave", n)
        end
        np.callback(down)(4)
        print "end"
    ]], "enter\t4\nenter\t3\nenter\t2\nenter\t1\nenter\t0\nleave\t0\nbetween\t1\nleave\t1\nbetween\t2\nresult\t2\n"
        .. "leave\t2\nbetween\t3\nleave\t3\nbetween\t4\nresult\t4\nleave\t4\nend\n")
end)

check.test("callbacks that wait, deep inside each other", function()
    local calls = 0
    local function nest(n)
        calls = calls + 1
        if n == 0 then return end
        np.callback(nest)(n - 1)
        np.effects_barrier()
    end
    nest(55)
    check.equal(calls, 56)
end)

check.test("waiting for everything, and yielding, are refused", function()
    local text, yields
    np.callback(function() text = select(2, pcall(np.wait_all)) end)()
    local thread = coroutine.wrap(function()
        np.callback(function() yields = select(2, pcall(coroutine.yield)) end)()
        np.effects_barrier()
        coroutine.yield "came through"
    end)
    check.equal(thread(), "came through")
    check.ok(text:find("a callback cannot wait for everything", 1, true), text)
    check.ok(yields:find("a coroutine cannot yield while a gradient, a trace or a callback", 1, true), yields)
end)

check.test("unordered callbacks that wait do not begin inside of earlier ones", function()
    check.equal(output [[
        local depth, deepest, sum = 0, 0, 0
        local f = np.callback(function(x)
            depth = depth + 1
            deepest = math.max(deepest, depth)
            local value = np.debug.sleep(x, 20):item()
            sum = sum + value
            depth = depth - 1
        end, {ordered = false})
        local program = np.trace(function(x) for k = 1, 200 do f(x) end return x end)(np.ones(1))
        program(np.ones(1))
        np.effects_barrier()
        print(sum, deepest)
    ]], "200\t1\n")
end)

-- ---- In programs ----------------------------------------------------------------------------------------------------

check.test("inside a jitted function", function()
    check.equal(output [[
        local f = np.jit(function(x, k)
            print("start", x)
            local y = np.callback(function(v, n) print("host", v, n) return v * n end, {result = x})(x * 2, k)
            print("got", y)
            np.callback(function(v) print("last", v) end)(y + x)
        end)
        f(np.ones(2), 3)
        print "between"
        f(np.zeros(2) + 2, 0.5)
    ]], "start\t[1. 1.]\nhost\t[2. 2.]\t3\ngot\t[6. 6.]\nlast\t[7. 7.]\nbetween\n"
        .. "start\t[2. 2.]\nhost\t[4. 4.]\t0.5\ngot\t[2. 2.]\nlast\t[4. 4.]\n")
end)

check.test("the function is traced once, the callback called at each run", function()
    local traced, called = 0, 0
    local f = np.jit(function(x)
        traced = traced + 1
        np.callback(function() called = called + 1 end)()
        return x + 1
    end)
    for _ = 1, 5 do f(np.ones(2)) end
    np.effects_barrier()
    check.equal({ traced, called }, { 1, 5 })
end)

check.test("programs inside each other keep the order", function()
    local code = [[
        local inner = np.jit(function(x)
            print "inner starts"
            local y = np.callback(function(v) print("inner host", v) return v + 1 end, {result = x})(x)
            print("inner ends", y)
            return y
        end)
        local bare = np.jit(function() print "bare" np.callback(print)("bare host") return np.ones(1) end)
        local function outer(x)
            print("outer starts")
            local y = inner(x)
            bare()
            np.callback(print)("outer host", y)
            return inner(y * 2)
        end
        %s
    ]]
    local once = "outer starts\ninner starts\ninner host\t[1.]\ninner ends\t[2.]\nbare\nbare host\nouter host\t[2.]\n"
        .. "inner starts\ninner host\t[4.]\ninner ends\t[5.]\n"
    check.equal(output(code:format "print(outer(np.ones(1)))"), once .. "[5.]\n")
    check.equal(output(code:format "local f = np.jit(outer) f(np.ones(1)) print(f(np.ones(1)))"),
                once .. once .. "[5.]\n")
    check.equal(output(code:format "print(np.jit(np.jit(outer))(np.ones(1)))"), once .. "[5.]\n")
end)

check.test("a program shows its effects by name, with their order", function()
    local f = function() end
    local text = tostring(np.trace(function(x)
        print(x)
        np.callback(f)(x)
        local y = np.callback(f, { result = x, ordered = false, kind = "log" })(x, x)
        print(y)
        return y
    end)(np.ones(2)))
    local place = "tests/effects/callback_test.lua:" .. debug.getinfo(f, "S").linedefined
    check.equal(text, ([[
program(x: f32[2]) -> (out: f32[2]) {
  #1: token = print[ordered] #0 x "\n"
  #2, a: u8[1] = callback[ordered] PLACE #1 x
  b: u8[64] = callback[log unordered] PLACE x x
  c: f32[2] = callback_part[place=0 dtype=f32 shape=2] b
  #3: token = print[ordered] #2 c "\n"
  return c
}]]):gsub("PLACE", (place:gsub("%%", "%%%%"))))
end)

check.test("under a gradient", function()
    local seen = {}
    local function loss(w)
        np.callback(function(x) seen[#seen + 1] = x:totable() end)(w * 2)
        return (w * w):sum()
    end
    check.equal(np.grad(loss)(np.ones(2)):totable(), { 2, 2 })
    check.equal(np.grad(np.jit(loss))(np.ones(2)):totable(), { 2, 2 })
    check.equal(np.jit(np.grad(loss))(np.ones(2)):totable(), { 2, 2 })
    np.effects_barrier()
    check.equal(seen, { { 2, 2 }, { 2, 2 }, { 2, 2 } })
    -- What does not depend on the arguments of the gradient may have results.
    local constant = np.callback(function(x) return x * 3 end, { result = np.ones(2) })
    check.equal(np.grad(function(w) return (w * constant(np.ones(2))):sum() end)(np.ones(2)):totable(), { 3, 3 })
    local function stopped(w) return (w * constant(np.stop_gradient(w))):sum() end
    check.equal(np.grad(stopped)(np.ones(2)):totable(), { 3, 3 })
end)

check.test("results under a gradient are refused, with both lines", function()
    local expected = "np%.[%w_]+: .*the results of the function at tests/effects/callback_test.lua:%d+, called at "
        .. "tests/effects/callback_test.lua:%d+, cannot be differentiated; give it np%.stop_gradient"
    local function loss(w) return np.callback(function(x) return x end, { result = w })(w):sum() end
    check.raises(function() np.grad(loss)(np.ones(2)) end, expected)
    check.raises(function() np.jit(np.grad(loss))(np.ones(2)) end, expected)
    check.raises(function() np.grad(np.jit(loss))(np.ones(2)) end, expected)
end)

check.test("other refusals", function()
    local kept
    np.jit(function(x) kept = { x } return x end)(np.ones(1))
    check.raises(function() np.callback(print)(kept[1]) end, "argument 1 belongs to a trace that has ended")
    local many = {}
    for k = 1, 65 do many[k] = np.ones(1) end
    check.raises(function() np.callback(print)(many) end, "at most 64 arrays among the arguments, got 65")
    check.raises(function() np.jit(function(x) return x:item() end)(np.ones(1)) end, "not known while tracing")
end)

check.test("a callback that runs while a trace waits is outside of it", function()
    check.equal(output [[
        w = np.ones(1)
        local slow = np.debug.sleep(np.ones(1), 100)
        local r = np.callback(function(x) print("host", w) w = w + 1 return x end, {result = slow})(slow)
        local outside = {r}
        local f = np.jit(function(x)
            local k = outside[1]:item() -- runs the callback
            print("traced", w)
            return x * k * w
        end)
        local ok, text = pcall(f, np.ones(1))
        print(ok, text:match("around the function changed"))
        print(w)
        print(f(np.ones(1)))
    ]], "host\t[1.]\nfalse\taround the function changed\n[2.]\ntraced\t[2.]\n[2.]\n")
end)

-- ---- Numbers and memory ---------------------------------------------------------------------------------------------

check.test("effects never change a program's numbers", function()
    local function program(look)
        return function(x, w)
            local h = np.tanh(x:matmul(w) * 0.37 + 1e-3)
            look(h)
            local p = np.exp(h - h:max { axis = 1, keepdims = true })
            look(p)
            p = p / p:sum { axis = 1, keepdims = true }
            look(p)
            return (p * np.log(p + 1e-7)):sum(), p
        end
    end
    local key = np.random.key(3)
    local x, w = np.random.normal(key, { 65, 33 }), np.random.normal(key, { 33, 17 })
    local looks = {
        function() end, function(v) np.callback(function() end)(v) end,
        function(v) np.callback(function() end, { ordered = false })(v[{ {}, { 1, 3 } }], v.T) end,
        function(v) np.effects.logger({})("%s", v) end,
    }
    local bits
    for k, look in ipairs(looks) do
        for _, run in ipairs { program(look), np.jit(program(look)) } do
            local loss, p = run(x, w)
            local now = { loss:item(), p:totable() }
            bits = bits or now
            check.equal(now, bits, "look " .. k)
        end
    end
end)

check.test("functions are forgotten once nobody can call them", function()
    local before = callees(0)
    for k = 1, 500 do
        local r = np.callback(function(x) return x + k end, { result = np.ones(1) })(np.ones(1))
        if k % 50 == 0 then check.equal(r:item(), 1 + k) end
    end
    check.equal(callees(before), before)
    for k = 1, 200 do
        local f = np.jit(function(x) np.callback(function() return k end)(x) return x + k end)
        f(np.ones(1))
        f(np.ones(2))
    end
    check.equal(callees(before), before)
    local plans = np.debug.counters().plans
    for k = 1, 50 do np.callback(function() return k end)(np.ones(3)) end
    check.ok(np.debug.counters().plans - plans <= 1, "a fresh closure needs no plan of its own")
end)

check.test("results in loops", function()
    local step = np.callback(function(x) return x + 1 end, { result = { shape = {} } })
    local x = np.zeros {}
    for _ = 1, 2000 do x = step(x) * 1 end
    check.equal(x:item(), 2000)
end)

check.test("who takes a donated array's memory waits for no callback, whose function may ask for the result", function()
    local text = output [[
        local N, z = 2 ^ 16
        local double = np.jit(function(x) return x * 2 end, { donate = { 1 } })
        local ask = np.callback(function(v) print("asked", z and z[0]:item() or 6) return v end,
                                { result = { shape = { N }, dtype = "f32" } })
        local function try(read)
            local x = (np.ones(N) * 3):wait()
            z = nil
            local late = ask(np.debug.sleep(np.ones(N), 50))
            local y = np.force(read(x, late))
            z = np.force(double(x))
            np.effects_barrier()
            print(y[0]:item(), z[0]:item())
        end
        try(function(x, late) return x + late end)
        try(function(x, late) return np.fori_loop(0, 2, function(_, c) return c + late end, x) end)
        try(function(x) return np.fori_loop(0, 2, function(i, c) print("turn", i) return c + 1 end, x) end)
        try(function(x)
            local host = np.callback(function(c) return c + 1 end, { result = { shape = { N }, dtype = "f32" } })
            return np.fori_loop(0, 2, function(_, c) return host(c) end, x)
        end)
    ]]
    check.equal(text, "asked\t6\n4\t6\nasked\t6\n5\t6\nasked\t6\nturn\t0\nturn\t1\n5\t6\nasked\t6\n5\t6\n")
end)

check.test("what waits for a callback holds up nothing that was started with it", function()
    local text = output [[
        local N, z = 2 ^ 14
        local one, x = np.force(np.ones(N) * 1, np.ones(N) * 3)
        local ask = np.callback(function(v) print("asked", z and z[1]:item() or 5) return v end,
                                { result = { shape = { N }, dtype = "f32" } })
        local function try(start)
            z = nil
            local all = { start(ask(np.debug.sleep(one, 50))) }
            z = all[#all]
            np.force(all)
            np.effects_barrier()
            print(all[1][1]:item(), z[1]:item())
        end
        try(function(late)
            local y = np.maximum(late, one)
            return y, y:at{ 0 }:set(7), x + 2
        end)
        local function turn(_, c) return (c:sort():cumsum() * 0 + c) + 1 end
        local function loop(v) return np.fori_loop(0, 2, turn, v) end
        try(function(late) return np.deferred(function() return loop(late), loop(x) end) end)
    ]]
    check.equal(text, "asked\t5\n1\t5\nasked\t5\n3\t5\n")
end)

check.test("a callback's result that is there is given as others are", function()
    local step = np.callback(function(x) return x + 1 end, { result = { shape = { 4 } } })
    local double = np.jit(function(x) return x * 2 end, { donate = { 1 } })
    for k = 1, 3 do
        local x = step(np.ones(4)):wait()
        check.equal(double(x):totable(), { 4, 4, 4, 4 })
        check.equal(np.jit_cache(double).entries[1].used_up, k, np.jit_cache(double).entries[1].kept)
    end
end)

-- ---- Interrupts -----------------------------------------------------------------------------------------------------

if os.getenv "NEAP_TEST_BUILD" == "tsan" or not process.has_hook_checks() then
    check.skip("Ctrl-C in a callback", "the interrupt cannot reach compiled code here")
else
    check.test("Ctrl-C in a callback stops it, and the session lives on", function()
        local terminal = process.terminal({}, {})
        terminal:expect "> "
        terminal:send "np.callback(function() print 'in' while true do end end)() np.effects_barrier()\n"
        terminal:expect "in\r\n"
        process.sleep(0.2)
        terminal:send "\3"
        terminal:expect "interrupted"
        terminal:expect "> "
        terminal:send "np.callback(function(x) print('again', x:sum():item()) end)(np.arange(4)) print 'end'\n"
        terminal:expect "again\t6\r\nend\r\n"
        terminal:expect "> "
        terminal:send "\4"
        check.equal(terminal:finish(), 0)
    end)
end

process.cleanup()
check.done()
