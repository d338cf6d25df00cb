--- sizes_test.lua: programs with declared sizes, line by line of docs/sizes.md: what is right, what is refused, and how
-- it is said. Names in texts are drawn at random; random functions are in sizes_random_test.lua, the library's in the
-- contracts.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local np = require "neap"

local function same(program, f, ...)
    local got, want = { program(...) }, { f(...) }
    for k = 1, #want do
        check.equal(got[k].dtype, want[k].dtype, "dtype of result " .. k)
        check.equal(got[k].shape, want[k].shape, "shape of result " .. k)
        check.equal(got[k]:totable(), want[k]:totable(), "result " .. k)
    end
end

local function ramp(...)
    local size = 1
    for _, n in ipairs { ... } do size = size * n end
    return (np.arange(size) / 2):reshape(...)
end

-- ---- Declarations ---------------------------------------------------------------------------------------------------

check.test("sizes are declared of arrays, of shapes without data, by name and by expression", function()
    local function f(x, y) return x:sum { axis = 0 } + y[{ { 0, x.shape[2] } }] * x.shape[1] end
    for _, program in ipairs {
        np.trace(f, { sizes = { { "n", "m" }, { "2*m + 1" } } })(ramp(4, 3), ramp(7)),
        np.trace(f, { sizes = { { "n", "m" }, { "m + (m + 1)" } } })({ shape = { 4, 3 } }, { shape = { 7 } }),
        np.trace(f)({ shape = { "n", "m" } }, { shape = { "2*m + 1" }, dtype = "f32" }),
    } do
        for _, s in ipairs { { 1, 1 }, { 2, 5 }, { 6, 2 } } do
            same(program, f, ramp(s[1], s[2]), ramp(2 * s[2] + 1))
        end
        check.raises(function() program(ramp(2, 3), ramp(8)) end, "axis 0 has 8 elements")
        check.raises(function() program(ramp(2, 3), ramp(7):astype "i32") end, "got i32")
        check.raises(function() program(ramp(2), ramp(7)) end, "got f32%[2%]")
    end
end)

check.test("a size that stands in an expression alone is found by it", function()
    local program = np.trace(function(x) return x * 2 end, { sizes = { { "2*n + 1" } } })(ramp(7))
    same(program, function(x) return x * 2 end, ramp(9))
    check.raises(function() program(ramp(8)) end, "size n must be an integer of at least 1, got 3.5")
    check.raises(function() program(ramp(1)) end, "size n must be an integer of at least 1, got 0")
end)

check.test("arguments in tables, numbers and fixed arrays", function()
    local function f(p, x, k) return (x * p.w + p.b) * k end
    local program = np.trace(f, { sizes = { {}, { "n", 3 } } })({ w = ramp(3), b = ramp(3) }, ramp(2, 3), 2)
    same(program, f, { w = ramp(3), b = ramp(3) }, ramp(5, 3), 4)
    local declared = { { w = { "n" }, b = { "n" } }, { 2, "n" } }
    program = np.trace(f, { sizes = declared })({ w = ramp(3), b = ramp(3) }, ramp(2, 3), 2)
    same(program, f, { w = ramp(4), b = ramp(4) }, ramp(2, 4), 3)
end)

check.test("declarations that say nothing, or wrong things, are refused where they stand", function()
    local function trace(sizes, ...) return np.trace(function(x) return x end, { sizes = sizes })(...) end
    check.raises(function() trace({ { "n" } }, ramp(2, 3)) end, "expected 2 extents.*2 axes, got 1")
    check.raises(function() trace({ { "n +" } }, ramp(2)) end, "expected a name or an integer at column")
    check.raises(function() trace({ { "n n" } }, ramp(2)) end, "expected an operator")
    check.raises(function() trace({ { 1.5 } }, ramp(2)) end, "an extent is an integer or a text")
    check.raises(function() trace({ {}, { "n" } }, ramp(2)) end, "there are 1 arguments")
    check.raises(function() trace({ { "n", 4 } }, ramp(2, 3)) end, "axis 1 has 3 elements; 4 is declared")
    check.raises(function() trace({ { "n" } }, np.zeros { 0 }) end, "at least 1, got 0")
    check.raises(function() trace("n", ramp(2)) end, "sizes")
end)

-- ---- Size values ----------------------------------------------------------------------------------------------------

check.test("size values are operands, shapes, bounds, counts and lengths", function()
    local function f(x)
        local n, m = x.shape[1], x:dim(1)
        local rows = np.fori_loop(0, n - 1, function(i, c) return c + i end, 0)
        return x * n, x / (n - 1), x + math.floor(n / 2), np.zeros { n, 2 }, x[{ { 1, n }, { 0, math.max(1, m - 1) } }],
            x:reshape(n * m), np.repeat_(x, 2, { axis = 0 }), np.arange(x.size), n * x:sum(), rows, np.minimum(x, n),
            np.where(x:gt(m), x, n), x:at { n - 1 }:set(0), np.full({ m }, n)
    end
    local program = np.trace(f, { sizes = { { "n", "m" } } })(ramp(4, 3))
    for _, s in ipairs { { 2, 1 }, { 2, 2 }, { 5, 3 }, { 9, 7 } } do same(program, f, ramp(s[1], s[2])) end
end)

check.test("a branch of Lua is a condition, with its line", function()
    local function f(x)
        if x.shape[1] % 2 == 1 then x = np.concatenate { x, np.zeros(1) } end
        return x:reshape(2, -1)
    end
    local program = np.trace(f, { sizes = { { "n" } } })(ramp(6))
    same(program, f, ramp(8))
    check.raises(function() program(ramp(5)) end,
                 "not for n = 5: it was recorded for n %% 2 ~= 1 %(.*sizes_test.lua:%d+%)")
    check.ok(program:text():find("\nfor n % 2 ~= 1 (", 1, true), "the text tells it")
end)

check.test("in the text no value has the name of a size", function()
    local words = { "a", "b", "c", "d", "e", "x", "y", "n", "out", "a1", "b1", "x_2" }
    for seed in seeds.each(40) do
        local draw = seeds.generator(seed)
        local n, m, first, second = words[draw(12)], words[draw(11)], words[draw(12)], words[draw(11)]
        m, second = m == n and words[12] or m, second == first and words[12] or second
        local function body(x, y)
            for k = 1, draw(30) do x = x * y.shape[1] + k end
            return np.fori_loop(0, x.shape[1], function(i, c) return c * i + y:sum() end, x), y
        end
        local f = loadstring(("local body = ... return function(%s, %s) return body(%s, %s) end"):format(
            first, second, first, second))(body)
        local program = np.trace(f, { sizes = { { n, m }, { m } } })(ramp(3, 2), ramp(2))
        local text = program:text()
        local at = ("seed %d: %s"):format(seed, text)
        check.ok(text:find(("f32[%s,%s]"):format(n, m), 1, true), at)
        local names = {}
        for name in text:gmatch "([^%s(]+): [%w]+[%[,)]" do -- of arguments and results, and inside of loops
            check.ok(name ~= n and name ~= m, at)
            names[#names + 1] = name
        end
        for k, name in ipairs { first, second } do
            local taken = name == n or name == m
            check.ok(taken and names[k]:find("^" .. name .. "_%d$") or names[k] == name, at)
        end
        check.ok(#names > 8 and names[1] ~= names[2], at)
        check.equal(program:list_inputs(), { first, second })
    end
end)

check.test("what is the same for all sizes is no condition", function()
    local program = np.trace(function(x)
        local n = x.shape[1]
        if n >= 1 and n + n == 2 * n and n > n - 1 and math.min(n, 2 * n) == n then return x * 2 end
        return x
    end, { sizes = { { "n" } } })(ramp(6))
    check.ok(not program:text():find "\nfor ", program:text())
    same(program, function(x) return x * 2 end, ramp(1))
end)

check.test("what cannot be a size value is refused, with the remedy", function()
    local function refused(f, pattern)
        check.raises(function() np.trace(f, { sizes = { { "n" } } })(ramp(4)) end, pattern)
    end
    refused(function(x) for _ = 1, x.shape[1] do x = x + 1 end return x end, "np.fori_loop")
    refused(function(x) return x * math.min(x.shape[1], nil) end, "the least of a size and nothing")
    refused(function(x) return x * math.max(4, nil) end, "number expected")
    refused(function(x) return x * #x end, "x.shape%[1%]")
    refused(function(x) return x * string.rep("a", x.shape[1]) end, "test.lua:%d+: a size value cannot stand here")
    refused(function(x) return x * np.arange(x.shape[1]):sum():item() end, "depends on declared sizes")
    refused(function(x) return x * (np.zeros { x.shape[1] } + 1):totable()[1] end, "depends on declared sizes")
    refused(function(x) return tostring(np.ones { x.shape[1] }) and x end, "depends on declared sizes")
end)

check.test("a constant may be read", function()
    local program = np.trace(function(x) return x * np.arange(3):sum():item() end, { sizes = { { "n" } } })(ramp(4))
    same(program, function(x) return x * 3 end, ramp(2))
end)

check.test("a failure that was caught has to come again", function()
    local function f(x)
        local ok, part = pcall(function() return x[4] end)
        return ok and part * 2 or x
    end
    local program = np.trace(f, { sizes = { { "n" } } })(ramp(3))
    same(program, f, ramp(2))
    check.raises(function() program(ramp(8)) end, "works now, and failed when it was recorded")
end)

check.test("sizes of a call that failed are for no other call", function()
    local function f(x)
        local ok = pcall(function() return np.broadcast_to(x, { x.shape[1], 3 }) end)
        return np.zeros { 4 } + (ok and 1 or 0), np.ones { 4, 3 }
    end
    local program = np.trace(f, { sizes = { { "n" } } })(ramp(4))
    same(program, f, ramp(6))
    same(program, f, ramp(9))
    check.raises(function() program(ramp(3)) end, "not for n = 3")
end)

check.test("a size that is no integer stands in no shape", function()
    local uses = {
        function(x, n) return x:reshape(n, 3) end,
        function(_, n) return np.zeros(n) end,
        function(_, n) return np.ones { 2, n } end,
        function(x, n) return x[{ { n } }] end,
        function(x, n) return np.pad(x, n) end,
    }
    for _, use in ipairs(uses) do
        local function f(x) return use(x, x.shape[1] / 3) end
        check.raises(function() np.trace(f, { sizes = { { "n" } } })(ramp(10)) end, "integers, and .*n / 3.* is 3.33")
        local program = np.trace(f, { sizes = { { "n" } } })(ramp(9))
        same(program, f, ramp(6))
        check.raises(function() program(ramp(10)) end, "not for n = 10: .*integers, and .*n / 3.* is 3.33")
    end
end)

check.test("an op that gives its operand for the sizes of now gives another array for others", function()
    local function f(x, y)
        local wide = np.broadcast_to(y, x.shape)
        return wide + x, y:sum()
    end
    local program = np.trace(f, { sizes = { { "n", "m" }, { "m" } } })(ramp(1, 3), ramp(3))
    same(program, f, ramp(4, 2), ramp(2))
    local function g(x) return x:reshape(x.shape[1], 1):sum { axis = 1 }, x:astype "f32" end
    same(np.trace(g, { sizes = { { "n" } } })(ramp(1)), g, ramp(5))
end)

check.test("equal sizes of now are two sizes", function()
    local function f(x, y) return x:sum() + y:sum() * y.shape[1], np.concatenate { x, y } end
    local program = np.trace(f, { sizes = { { "n" }, { "m" } } })(ramp(4), ramp(4))
    same(program, f, ramp(2), ramp(7))
    local added = np.trace(function(x, y) return x + y end, { sizes = { { "n" }, { "m" } } })(ramp(4), ramp(4))
    same(added, function(x, y) return x + y end, ramp(3), ramp(3))
    check.raises(function() added(ramp(3), ramp(4)) end, "n = 3, m = 4")
end)

-- ---- What is in programs --------------------------------------------------------------------------------------------

check.test("gradients, loops, batches and prints follow", function()
    local f = np.grad(function(x)
        local c = np.scan(function(c, row)
            return c * 0.5 + np.vmap(function(e) return e * e / x.shape[1] end)(row):sum(), c
        end, 0.0, x)
        return c
    end)
    local program = np.trace(f, { sizes = { { "n", "m" } } })(ramp(4, 3))
    same(program, f, ramp(2, 5))
    same(program, f, ramp(7, 1))
    local told = np.trace(function(x)
        np.debug.print("{} of {}", x:sum(), x.shape[1])
        return x
    end, { sizes = { { "n" } } })
    check.ok(told(ramp(3)) ~= nil)
end)

check.test("callbacks are called by each run", function()
    local seen = {}
    local function f(x)
        np.callback(function(a) seen[#seen + 1] = a.shape[1] end)(x)
        local result = { shape = {}, dtype = "f32" }
        return np.callback(function(a) return a:sum() end, { result = result })(x * 2) / x.shape[1]
    end
    local program = np.trace(f, { sizes = { { "n" } } })(ramp(3))
    check.equal(program(ramp(5)):item(), 2)
    np.wait_all()
    check.equal(seen, { 5 })
    check.raises(function()
        np.trace(function(x)
            return np.callback(function(a) return a end, { result = { shape = x.shape, dtype = "f32" } })(x)
        end, { sizes = { { "n" } } })(ramp(3))
    end, "size")
end)

check.test("arrays around the function are data, or made again", function()
    local w, zeros = np.array { 1, 2, 3 } * 1.5, np.zeros(3)
    w:wait()
    local function f(x) return x * w + zeros + np.arange(3) end
    local program = np.trace(f, { sizes = { { "n", 3 } } })(ramp(2, 3))
    zeros:wait()
    same(program, f, ramp(4, 3))
end)

check.test("its text has expressions", function()
    local program = np.trace(function(x) return x[{ { 1 } }] / x.shape[1] end, { sizes = { { "n", 3 } } })(ramp(4, 3))
    local text = program:text()
    check.ok(text:find("f32[n,3]", 1, true) and text:find("f32[n - 1,3]", 1, true), text)
    check.ok(text:find("divide %l n\n"), text)
end)

check.test("a program for given sizes is one like others", function()
    local program = np.trace(function(x) return x * x.shape[1] end, { sizes = { { "n", "m" } } })(ramp(4, 3))
    local fixed = program:with_sizes { n = 2, m = 5 }
    same(fixed, function(x) return x * 2 end, ramp(2, 5))
    check.equal(fixed:inputs()[1].shape, { 2, 5 })
    check.equal(fixed:cost().ops[1].flops, 10)
    check.raises(function() fixed(ramp(4, 3)) end, "expected f32%[2,5%]")
    check.raises(function() program:with_sizes { n = 2 } end, "size 'm' is missing")
    check.raises(function() program:with_sizes { n = 2, m = 2, k = 1 } end, "no size 'k'")
    check.raises(function() program:with_sizes { n = 0, m = 2 } end, "at least 1, got 0")
    check.raises(function() fixed:with_sizes { n = 2 } end, "no size 'n'")
end)

-- ---- Other ways to make one -----------------------------------------------------------------------------------------

check.test("np.jit records once for all sizes", function()
    local w = np.array { 0.5, 1, 2 }
    local f = function(x, p) return (x * w + p.b):sum { axis = 0 } / x.shape[1] end
    local jitted = np.jit(f, { sizes = { { "n", 3 } } })
    for n = 1, 6 do same(jitted, f, ramp(n, 3), { b = ramp(3) }) end
    check.equal(np.jit_cache(jitted).traces, 1)
    w = np.array { 3, 4, 5 }
    same(jitted, f, ramp(2, 3), { b = ramp(3) })
    check.equal(np.jit_cache(jitted).traces, 1, "the array around it is read anew")
    local branches = function(x) return x.shape[1] > 3 and x * 2 or x end
    local two = np.jit(branches, { sizes = { { "n" } } })
    for n = 1, 6 do same(two, branches, ramp(n)) end
    check.equal(np.jit_cache(two).traces, 2, "one for each answer")
end)

check.test("block:export and np.export take sizes", function()
    local block = np.nn.Sequential { np.nn.Dense(4), np.nn.Dense(2) }
    local params = block:init(np.random.key(0), ramp(3, 5))
    local program = block:export(params, ramp(3, 5), { sizes = { {}, { "n", 5 } } })
    same(program, function(p, x) return block(p, x) end, params, ramp(7, 5))
    local export = np.export { inputs = { x = ramp(2, 3), k = ramp(3) }, sizes = { x = { "n", 3 } },
                               outputs = function(inputs) return { y = inputs.x / inputs.x.shape[1] + inputs.k } end }
    check.equal(export { x = ramp(4, 3), k = ramp(3) }.y:totable(), (ramp(4, 3) / 4 + ramp(3)):totable())
    check.raises(function()
        np.export { inputs = { x = ramp(2) }, outputs = { y = ramp(2) }, sizes = { x = { "n" } } }
    end, "'outputs' is a function")
    check.raises(function()
        np.export { inputs = { x = ramp(2) }, outputs = function(i) return { y = i.x } end, sizes = { z = { "n" } } }
    end, "there is no input 'z'")
end)

check.test("programs inside of programs: their sizes are expressions of those around", function()
    local function mean(x)
        local n = x.shape[1]
        return x:sum() / n + np.zeros(n + 1):sum(), x[{ { math.floor(n / 2) } }] * n
    end
    local w = (np.arange(3) * 1.5):wait()
    local odd = np.trace(mean, { sizes = { { "2*n + 1" } } })(ramp(5))
    local any = np.trace(mean, { sizes = { { "n" } } })(ramp(4))
    local rows = np.trace(function(x) return (x * w):sum { axis = 0 } / x.shape[1] end, { sizes = { { "n", 3 } } })
    rows = rows(ramp(2, 3))
    local path = os.tmpname()
    any:save(path)
    local loaded = np.load_program(path)
    os.remove(path)
    local block = np.nn.Sequential { np.nn.Dense(4), np.nn.Dense(2) }
    local params = block:init(np.random.key(0), ramp(3, 3))
    local exported = block:export(params, ramp(3, 3), { sizes = { {}, { "n", 3 } } })
    local jitted = np.jit(mean, { sizes = { { "n" } } })
    for _, inner in ipairs { odd, any, loaded, jitted } do
        local function f(x, g)
            local y = np.concatenate { x, x, np.ones(1) }
            local a, b = g(y)
            return a, b, b * a + x.shape[1], np.grad(function(v) return (g(v)) end)(y)
        end
        local program = np.trace(function(x) return f(x, inner) end, { sizes = { { "k" } } })(ramp(3))
        for k = 1, 6 do same(program, function(x) return f(x, mean) end, ramp(k)) end
    end
    local function g(x) return rows(x) * 2, exported(params, x), np.vmap(rows)(np.stack { x, x + 1 }) end
    local program = np.trace(g, { sizes = { { "k + 1", 3 } } })(ramp(3, 3))
    for k = 2, 5 do same(program, g, ramp(k, 3)) end
    check.raises(function() program(ramp(1, 3)) end, "size k must be an integer of at least 1, got 0")
    check.raises(function() np.trace(g, { sizes = { { "k", 2 } } })(ramp(3, 2)) end, "expected f32%[n,3%]")
end)

check.test("conditions of a program inside are conditions around", function()
    local even = np.trace(function(x) return x.shape[1] % 2 == 0 and x * 2 or x end, { sizes = { { "n" } } })(ramp(4))
    local around = np.trace(function(x) return even(np.concatenate { x, x }), even(x[{ { 1 } }]) end,
                            { sizes = { { "k" } } })(ramp(5))
    same(around, function(x) return np.concatenate { x, x } * 2, x[{ { 1 } }] * 2 end, ramp(3))
    check.raises(function() around(ramp(4)) end, "not for k = 4: it was recorded for %(k %+ 1%) %% 2 == 0")
    check.raises(function() np.trace(even, { sizes = { { "k" } } })(ramp(5)) end,
                 "not for n = k %(now 5%): it was recorded for n %% 2 == 0")
    local twice = np.trace(even, { sizes = { { "2*n" } } })(ramp(4))
    check.raises(function() np.trace(twice, { sizes = { { "k" } } })(ramp(5)) end,
                 "size n must be an integer of at least 1, got k / 2 %(now 2.5%)")
    -- who catches a refusal and goes on may have done something else for other sizes
    check.raises(function()
        np.trace(function(x) return pcall(even, x) and x or x * 3 end, { sizes = { { "k" } } })(ramp(5))
    end, "a program inside was not for its sizes, and the function went on")
    local fixed = np.trace(function(x) return x * even(ramp(4)):sum() end, { sizes = { { "k" } } })(ramp(3))
    same(fixed, function(x) return x * 6 end, ramp(2))
end)

check.test("a jitted function with declared sizes refuses around what it refuses alone", function()
    local f = np.jit(function(x) return x * 2 end, { sizes = { { "n", 3 } } })
    local program = np.trace(f, { sizes = { { "k", 3 } } })(ramp(2, 3))
    same(program, function(x) return x * 2 end, ramp(4, 3))
    check.raises(function() np.trace(f, { sizes = { { "k", 4 } } })(ramp(2, 4)) end,
                 "axis 1 has 4 elements; 3 is declared")
end)

check.test("rows that are as many as a size are not taken for it, nor the other way round", function()
    local function stacked(x, rows)
        local _, ys = np.scan(function(c, t) return c * t, { c, t } end, x, rows)
        return ys[1] * ys[2]:reshape(-1, 1)
    end
    local function fixed(x) return stacked(x, np.arange(3, { dtype = "f32" })) end
    local function turned(x) return stacked(np.ones(3), x) end
    local function both(x, y) return stacked(x, y) end
    for _, n in ipairs { 2, 3, 4 } do
        local p = np.trace(fixed, { sizes = { { "n" } } })(ramp(n))
        local q = np.trace(turned, { sizes = { { "n" } } })(ramp(n))
        local r = np.trace(both, { sizes = { { "n" }, { "m" } } })(ramp(n), ramp(3))
        for _, m in ipairs { 1, 2, 3, 6 } do
            same(p, fixed, ramp(m))
            same(q, turned, ramp(m))
            same(r, both, ramp(m), ramp(4))
        end
    end
end)

check.test("a size belongs to the recording that declared it", function()
    local kept
    np.trace(function(x)
        kept = x.shape[1]
        return x
    end, { sizes = { { "n" } } })(ramp(3))
    check.raises(function() np.trace(function(x) return x * kept end, { sizes = { { "n" } } })(ramp(3)) end,
                 "belongs to another trace")
end)

check.test("sizes are declared once at a time, and a failed recording leaves nothing behind", function()
    check.raises(function()
        np.trace(function(x)
            return np.trace(function(y) return y end, { sizes = { { "m" } } })(ramp(2)) and x
        end, { sizes = { { "n" } } })(ramp(3))
    end, "declared already")
    check.raises(function() np.trace(function() error "no" end, { sizes = { { "n" } } })(ramp(3)) end, "no")
    check.equal(ramp(3).shape, { 3 })
    same(np.trace(function(x) return x * x.shape[1] end, { sizes = { { "n" } } })(ramp(3)),
         function(x) return x * x.shape[1] end, ramp(4))
    check.equal(math.floor(2.5), 2)
end)

check.done()
