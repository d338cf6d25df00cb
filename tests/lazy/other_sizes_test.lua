--- other_sizes_test.lua (under tsan with --long): programs called with arrays of other shapes, dtypes and places than
-- those with which they were recorded: for declared sizes the results of the function itself, bit by bit; else an error
-- that says what does not fit; wherever they lie.
require "tests.lib.devices" (2, "tests/lazy/other_sizes_test.lua")
local check = require "tests.lib.check"
local declared = require "neap.tracing.declared"
local np = require "neap"
local programs = require "tests.lib.programs"
local seeds = require "tests.lib.seeds"

local path = os.tmpname()

local function bits(...)
    local parts = {}
    for k = 1, select("#", ...) do
        local leaf = select(k, ...)
        parts[k] = np.is_array(leaf)
            and leaf.dtype .. " " .. table.concat(leaf.shape, ",") .. " " .. tostring(programs.hash(leaf:wait()))
            or tostring(leaf)
    end
    return table.concat(parts, "; ")
end

local function numbers(shape, dtype)
    return np.random.normal(np.random.key(#shape + shape[1]), shape):astype(dtype or "f32")
end

local function reloaded(program)
    program:save(path)
    return np.load_program(path)
end

--- Arrays with these extents, which are numbers, or texts for sizes by name.
local function arrays(sizes, known)
    local made = {}
    for k, extents in ipairs(sizes) do
        local shape = {}
        for axis, want in ipairs(extents) do
            shape[axis] = type(want) == "string" and setfenv(load("return " .. want), known)() or want
        end
        made[k] = numbers(shape)
    end
    return unpack(made)
end

--- f recorded for declared sizes, {{"n", 3}}, and called for each of `places`, sizes by name, of which the first are
-- those when it is recorded: as f itself.
local function follows(f, sizes, places)
    local program = np.trace(f, { sizes = sizes })(arrays(sizes, places[1]))
    for round = 1, 2 do
        for k = 1, #places do
            local known = places[round == 1 and #places + 1 - k or k]
            check.equal(bits(program(arrays(sizes, known))), bits(f(arrays(sizes, known))))
        end
    end
end

-- ---- Declared sizes -------------------------------------------------------------------------------------------------

local SEVEN = { { n = 7 }, { n = 11 }, { n = 1 }, { n = 640 } }

check.test("maps, reductions, products", function()
    follows(function(x, w, b) return np.tanh(x:matmul(w) + b):sum(0), (x * 2):max { axis = 1, keepdims = true } end,
            { { "n", 3 }, { 3, "m" }, { "m" } }, { { n = 7, m = 5 }, { n = 11, m = 5 }, { n = 1, m = 1 },
                                                    { n = 64, m = 2 } })
    follows(function(x) return np.einsum("ij,kj->ik", x, x) end, { { "n", 3 } }, { { n = 7 }, { n = 13 } })
    follows(function(x) return np.sort(x, { axis = 0 }), np.argmax(x, { axis = 0 }) end, { { "n", 3 } }, SEVEN)
    follows(function(x, y) return np.concatenate({ x, y }, { axis = 0 }), np.stack { x, x } end,
            { { "n", 3 }, { "m", 3 } }, { { n = 7, m = 5 }, { n = 2, m = 9 } })
    follows(function(x, w) return x:matmul(w), np.mean(x:matmul(w), { axis = 0 }) end, -- sizes that are alike
            { { "n", 5 }, { 5, 5 } }, { { n = 5 }, { n = 7 } })
end)

check.test("a mean counts anew, and what is made of means", function()
    follows(function(x)
        return np.mean(x), np.mean(x, { axis = 0 }), np.var(x), np.std(x, { axis = 0 }), np.softmax(x, { axis = 0 }),
               np.logsumexp(x, { axis = 0 }), np.var(x, { correction = 1 })
    end, { { "n", 3 } }, SEVEN)
end)

check.test("reshapes: axes that are kept, merged, left", function()
    follows(function(x) return x:reshape(x:dim(0), 12), np.ravel(x), x:reshape(-1), x:reshape(-1, 4),
                               x:transpose():reshape(4, -1) end, { { "n", 3, 4 } }, SEVEN)
    follows(function(x) return x[{ np.ellipsis, np.newaxis }] * 2, x:reshape(-1, 2) end, { { "2*n" } }, SEVEN)
end)

check.test("indices: from the front, from the end, up to the end", function()
    follows(function(x) return x[0], x[-1], x[-2], x[{ 1 }], x[{ { 1, -1 } }], x[{ { 2 } }], x[{ { -3 } }],
                               x[{ { 0, 2 } }], x[{ { nil, nil, -1 } }], x[{ { 1, nil, 2 } }],
                               np.flip(x), np.diff(x, { axis = 0 }) end,
            { { "n", 3 } }, { { n = 7 }, { n = 11 } })
    follows(function(x) return x[6] end, { { "n", 3 } }, { { n = 7 }, { n = 9 } })
    follows(np.grad(function(x) return np.tanh(x[{ { 0, nil, 2 } }]):sum() end), { { "n", 3 } },
            { { n = 17 }, { n = 16 }, { n = 34 }, { n = 35 } })
    follows(function(x)
        return np.roll(x, 3), np.grad(function(a) return (a:reshape(-1)[{ { 2 } }] ^ 2):sum() end)(x)
    end, { { "n", "m" } }, { { n = 7, m = 11 }, { n = 11, m = 7 } })
end)

check.test("lines along lines", function()
    local places = { { n = 17, m = 4 }, { n = 31, m = 6 } }
    follows(function(x, y) return np.convolve(x, y), np.convolve(x, y, "same"), np.correlate(x, y) end,
            { { "n" }, { "m" } }, places)
    follows(function(x, y)
        return np.grad(function(a, b)
            return np.sum(np.convolve(a, b) ^ 2) + np.sum(np.correlate(a, b) ^ 2)
        end, { argnums = { 1, 2 } })(x, y)
    end, { { "n" }, { "m" } }, places)
end)

check.test("constructors and numbers that are made of sizes", function()
    follows(function(x)
        return x * np.ones(x.shape), np.zeros_like(x) + x, np.tril(x:matmul(x.T)),
               x + np.random.uniform(np.random.key(1), x.shape)
    end, { { "n", 3 } }, SEVEN)
    follows(function(x) return x:sum() / x:dim(0), x:sum() * (1 / x.size), x / math.sqrt(x:dim(0)) end,
            { { "n", 3 } }, SEVEN)
    follows(function(x)
        local flat, pair = x:reshape(-1), np.stack { x, x }
        return flat:sum() / flat.size, pair:sum() / pair.size, x * 0.5 + 3, x:sum() / 4
    end, { { "n", 3 } }, SEVEN)
    for size = 2, 7 do
        follows(function(x) return (x * 2 + 0.5 - 1):sum() end, { { "n" } }, { { n = size }, { n = 9 } })
    end
end)

check.test("gradients, batches, tangents", function()
    follows(function(w, x, y)
        return np.grad(function(v) return np.mean((np.tanh(x:matmul(v)) - y) ^ 2) end)(w)
    end, { { 3, 5 }, { "n", 3 }, { "n", 5 } }, { { n = 7 }, { n = 11 } })
    follows(function(x) return np.grad(function(v) return (v[-1] * v[0]):sum() + (v[{ { 1 } }] ^ 2):sum() end)(x) end,
            { { "n", 3 } }, { { n = 7 }, { n = 9 } })
    local function f(x) return np.tanh(x[{ { 0, -1 } }]) * 2 end
    local places = { { n = 7 }, { n = 9 }, { n = 5 } }
    follows(np.vmap(f), { { 4, "n" } }, places)
    follows(np.vmap(np.vmap(function(row) return row[{ { 1, -1 } }], row[{ { -3 } }] end)), { { 2, 4, "n" } }, places)
    follows(function(x) return select(2, np.jvp(f, { x }, { x * 3 })) end, { { "n", 4 } }, places)
    follows(np.vmap(function(x) return x:reshape(-1, 2) end), { { 4, "2*n", 4 } }, { { n = 3 }, { n = 5 } })
    local program = np.trace(function(x) return np.mean(x * x) end, { sizes = { { "n", 3 } } })(numbers { 7, 3 })
    check.equal(np.grad(program)(np.ones { 4, 3 }):totable()[1][1], np.array(1 / 6):item())
end)

check.test("loops and branches", function()
    follows(function(xs) return np.scan(function(c, x) return c + np.mean(x), x * c end, 0, xs) end, { { "n", "m" } },
            { { n = 7, m = 5 }, { n = 4, m = 5 }, { n = 1, m = 9 } })
    follows(function(x)
        return np.cond(np.greater(x:sum(), 0), function(v) return v * 2 end, function(v) return v - 1 end, x),
               np.while_loop(function(v) return np.less(v:sum(), 100) end, function(v) return v * v + 1 end, x),
               np.checkpoint(function(v) return np.mean(v) end)(x)
    end, { { "n", 3 } }, { { n = 7 }, { n = 5 } })
    local f = np.custom_vjp(function(x) return (x * x):mean() end):defvjp(
        function(x) return (x * x):mean(), x end, function(x, ct) return 3 * x * ct / x:dim(0) end)
    follows(f, { { "n", 3 } }, SEVEN)
    follows(np.grad(f), { { "n", 3 } }, SEVEN)
end)

check.test("a diagonal is as long as the shorter axis where it was recorded along that", function()
    follows(function(x)
        return np.diagonal(x, { axis1 = 1, axis2 = 2 }), np.einsum("ijj->ij", x)
    end, { { "n", 5, 5 } }, { { n = 7 }, { n = 11 } })
end)

-- ---- Refusals -------------------------------------------------------------------------------------------------------

local function refuses(program, pattern, ...)
    local given = { ... }
    for _, one in ipairs(program.declared and { program } or { program, reloaded(program) }) do
        check.raises(function() return one(unpack(given)) end, "np.program: " .. pattern)
    end
end

check.test("sizes that are not declared are refused, and the error shows how to declare them", function()
    local function text_of(extents)
        return "; sizes that may differ are declared where it is made: np.trace%(f, {sizes=" .. extents .. "}%)$"
    end
    local program = np.trace(function(x, t, y) return x:matmul(t.w) + y, t.list[2] end)(
        numbers { 5, 3 }, { w = numbers { 3, 2 }, list = { np.ones(4), np.ones(6) } }, numbers { 2 })
    local t = { w = numbers { 3, 2 }, list = { np.ones(4), np.ones(6) } }
    refuses(program, "x: expected f32%[5,3%], got f32%[7,3%]" .. text_of '{{"n", 3}}', numbers { 7, 3 }, t,
            numbers { 2 })
    refuses(program, "y: expected f32%[2%], got f32%[1%]" .. text_of '{{}, {}, {"n"}}', numbers { 5, 3 }, t,
            numbers { 1 })
    refuses(program, "x: expected f32%[5,3%], got f32%[5,4%]" .. text_of '{{5, "n"}, {w={"n", 2}}}', numbers { 5, 4 },
            { w = numbers { 4, 2 }, list = t.list }, numbers { 2 })
    refuses(program, "t%.list%[2%]: expected f32%[6%], got f32%[8%]" .. text_of '{{}, {list={{}, {"n"}}}}',
            numbers { 5, 3 }, { w = t.w, list = { np.ones(4), np.ones(8) } }, numbers { 2 })
    refuses(program, "x: expected f32%[5,3%], got f32%[0,3%]$", numbers { 5, 3 }[{ { 0, 0 } }], t, numbers { 2 })
    refuses(program, "x: expected f32%[5,3%], got f32%[5,3,1%]; the number of axes", numbers { 5, 3, 1 }, t,
            numbers { 2 })
    refuses(np.trace(function(x) return x * 2 end)(numbers { 1, 3 }), "x: expected f32%[1,3%], got f32%[5,3%]",
            numbers { 5, 3 })
end)

check.test("sizes that do not fit what is declared are refused, which is named", function()
    local program = np.trace(function(x, w) return x:matmul(w) end, { sizes = { { "n", 3 }, { 3, "2*m" } } })(
        numbers { 5, 3 }, numbers { 3, 4 })
    check.equal(program(numbers { 9, 3 }, numbers { 3, 2 }).shape, { 9, 2 })
    refuses(program, "x: expected f32%[n,3%], got i32%[7,3%]; cast it, or record it for i32", numbers({ 7, 3 }, "i32"),
            numbers { 3, 4 })
    refuses(program, 'x: expected f32%[n,3%], got f32%[7,4%]; .* {sizes={{"n", "k"}, {"k", "2%*m"}}}%)$',
            numbers { 7, 4 }, numbers { 4, 4 })
    refuses(program, "size m must be an integer", numbers { 7, 3 }, numbers { 3, 3 })
    local around = np.trace(function(x) return program(x, numbers { 3, 2 }) end, { sizes = { { "k", 3 } } })
    check.equal(around(numbers { 4, 3 })(numbers { 9, 3 }).shape, { 9, 2 }, "its size n is the size k of another")
end)

check.test("other dtypes are refused", function()
    local program = np.trace(function(x) return x * 0.1 + 2 end)(numbers { 7, 3 })
    refuses(program, "x: expected f32%[7,3%], got f64%[7,3%]; cast it, or record it for f64", numbers({ 7, 3 }, "f64"))
    refuses(program, "x: expected f32%[7,3%], got i32%[7,3%]; cast it, or record it for i32", numbers({ 7, 3 }, "i32"))
end)

-- ---- Devices --------------------------------------------------------------------------------------------------------

check.test("devices: where the inputs are", function()
    local function there(x) return np.device_put(x, "cpu:1") end
    local f = function(x) return np.tanh(x * 2) end
    local program, sized = np.trace(f)(numbers { 7, 3 }), np.trace(f, { sizes = { { "n", 3 } } })(numbers { 7, 3 })
    for _, one in ipairs { program, reloaded(program), sized } do
        local y = one(there(numbers { 7, 3 }))
        check.equal(y.device.index, 1)
        check.equal(bits(y), bits(f(numbers { 7, 3 })))
        check.equal(np.jit(one)(there(numbers { 7, 3 })).device.index, 1)
    end
    check.equal(sized(there(numbers { 5, 3 })).device.index, 1)
    local w = np.device_put(numbers { 3 }, "cpu:0")
    local held = np.trace(function(x) return { y = x + w, z = np.device_put(x * 2, "cpu:0"), s = "s" } end)(
        np.device_put(numbers { 7, 3 }, "cpu:0"))
    local got = held(there(numbers { 7, 3 }))
    check.equal({ got.y.device.index, got.z.device.index, got.s }, { 1, 1, "s" })
    check.equal(bits(got.y), bits(numbers { 7, 3 } + numbers { 3 }))
    check.equal(held(np.device_put(numbers { 7, 3 }, "cpu:0")).y.device.index, 0)
end)

check.test("numbers and weak arrays are what they were, wherever the program runs", function()
    local x = np.arange(3, { dtype = "i32" })
    local program = np.trace(function(a, n) return a * n end)(x, 3)
    local there = np.device_put(x, "cpu:1")
    check.equal(bits(program(there, 5)), bits(x * 5))
    check.raises(function() return program(there, 2.5) end, "the number 2.5 meets an array of integers")
    local half = np.trace(function(a, n) return a * n end)(x, 0.5)
    check.equal(bits(half(there, 3)), bits(half(x, 3)))
end)

-- ---- Calls ----------------------------------------------------------------------------------------------------------

check.test("np.jit and np.vmap of a program", function()
    local f = function(x, w) return np.mean(x * w, { axis = 0 }) end
    local program = np.trace(f, { sizes = { { "n", 3 } } })(numbers { 7, 3 }, numbers { 3 })
    check.equal(bits(np.jit(program)(numbers { 5, 3 }, numbers { 3 })), bits(f(numbers { 5, 3 }, numbers { 3 })))
    check.equal(np.vmap(program, { in_axes = { 0, false } })(numbers { 4, 5, 3 }, numbers { 3 }).shape, { 4, 3 })
end)

check.test("a program for each size is recorded once, and 64 of them are kept", function()
    local program = np.trace(function(x) return np.mean(x) end, { sizes = { { "n", 3 } } })(numbers { 7, 3 })
    program(np.ones { 5, 3 })
    local before = np.debug.counters().programs
    for _ = 1, 5 do program(np.ones { 5, 3 }) end
    check.equal(np.debug.counters().programs, before)
    for n = 1, 200 do check.equal(program(np.ones { n, 3 }):item(), 1) end
    local kept = 0
    for _ in pairs(program.entries) do kept = kept + 1 end
    check.equal(kept, 64)
end)

check.test("sizes are solved once for the extents of a call", function()
    local program = np.trace(function(x, y) return np.mean(x) + y:sum() end, { sizes = { { "n", 3 }, { "2*n*m" } } })(
        numbers { 7, 3 }, numbers { 28 })
    local solve, solved = declared.solve, 0
    declared.solve = function(...)
        solved = solved + 1
        return solve(...)
    end
    for _ = 1, 5 do
        for n = 1, 4 do
            for m = 1, 3 do program(np.ones { n, 3 }, np.ones(2 * n * m)) end
        end
    end
    declared.solve = solve
    check.equal(solved, 12)
end)

check.test("calls in any order, some of which do not fit: as the function itself, or an error each time", function()
    local draw = seeds.generator(23)
    local function f(x, t, k)
        if x.shape[2] % 2 == 1 then x = x * 3 end
        return x * k, t.y:sum(0) / t.y.shape[1], x:reshape(-1)[{ { 1 } }]
    end
    local function ask(one, x, t, k)
        local ok, problem = pcall(function() return bits(one(x, t, k)) end)
        return ok and problem or "error"
    end
    local sizes = { { "n", "m" }, { y = { "2*n + p", "p" } } }
    local program = np.trace(f, { sizes = sizes })(numbers { 4, 2 }, { y = numbers { 9, 1 } }, 2)
    local jitted = np.jit(f, { sizes = sizes })
    for _ = 1, os.getenv "NEAP_TEST_LONG" and 20000 or 600 do
        local n, m, p = draw(4), draw(4), draw(2)
        if draw(4) == 1 then n = draw(90) end -- more than are kept
        local way, k = draw(8), draw(2) == 1 and draw(9) or draw(9) / 2
        local x, y = numbers { n, m }, numbers { 2 * n + p + (way == 1 and draw(3) - 2 or 0), p }
        local fits, expected = y.shape[1] == 2 * n + p, ask(f, x, { y = y }, k)
        if way == 2 then x = x:astype "f64" end
        if way == 3 then x, y = np.device_put(x, "cpu:1"), np.device_put(y, "cpu:1") end
        if way == 2 then expected = ask(f, x, { y = y }, k) end
        check.equal(ask(jitted, x, { y = y }, k), fits and expected or "error")
        check.equal(ask(program, x, { y = y }, k), fits and m % 2 == 0 and way ~= 2 and expected or "error")
    end
end)

check.test("a program for each place is recorded once", function()
    local program, x = np.trace(function(x) return np.mean(x) end)(np.ones { 7, 3 }), np.ones { 7, 3 }
    local y = np.device_put(x, "cpu:1")
    np.named_scope("there", function() return program(y) end)()
    local before = np.debug.counters().programs
    for _ = 1, 5 do check.equal({ program(y):item(), program(x):item() }, { 1, 1 }) end
    check.equal(np.debug.counters().programs, before)
end)

check.test("by position, by name, one by one", function()
    local f = function(params, x, _) return (x * params.w + params.b):sum() end
    local program = np.trace(f)({ w = numbers { 3 }, b = numbers { 3 } }, numbers { 7, 3 }, "fast")
    local params, x = { w = np.ones(3), b = np.zeros(3) }, np.ones { 7, 3 }
    for _, one in ipairs { program, reloaded(program) } do
        check.equal({ one(params, x, "fast"):item(), one { params = params, x = x }:item(),
                      one { params = params, x = x, _ = "fast" }:item(), one(params.b, params.w, x):item() },
                    { 21, 21, 21, 21 })
        check.raises(function() return one { params = params } end, "input 'x': expected an array, got nothing")
        check.raises(function() return one { params = params, x = x, y = x } end,
                     "has no input 'y' %(inputs: params, x, _%)")
        check.raises(function() return one({ w = np.ones(5), b = params.b }, x, "fast") end,
                     "params.w: expected f32%[3%], got f32%[5%]")
    end
    local single = np.trace(function(tree) return tree.w * 2 end)({ w = np.ones(2) })
    check.equal(single({ w = np.ones(2) }):totable(), { 2, 2 })
    check.equal(single({ tree = { w = np.ones(2) } }):totable(), { 2, 2 })
    local y = np.deferred(function() return x * params.w end)
    local exported = np.export { inputs = { params = { w = params.w }, x = x }, outputs = { y = y } }
    for _, one in ipairs { exported, reloaded(exported) } do
        check.equal(one({ w = np.ones(3) }, x):totable()[7], { 1, 1, 1 })
        check.equal(one { params = { w = np.ones(3) }, x = x }.shape, { 7, 3 })
        check.equal(one(np.ones(3), x).shape, { 7, 3 })
    end
end)

os.remove(path)
check.done()
