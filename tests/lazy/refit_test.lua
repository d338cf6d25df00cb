--- refit_test.lua (under tsan with --long): programs called with arrays of other shapes, dtypes and devices than those
-- with which they were recorded, and loaded ones: the results of the function itself, bit by bit, or an error that
-- says what does not fit.
local check = require "tests.lib.check"
local np = require "neap"
local programs = require "tests.lib.programs"

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

--- f recorded for arrays of `was`, called with arrays of `now`: as f itself, also after loading. Lists of shapes, or of
-- {shape, dtype}.
local function follows(f, was, now)
    local function arrays(list)
        local made = {}
        for k, one in ipairs(list) do
            made[k] = type(one[1]) == "table" and numbers(one[1], one[2]) or numbers(one)
        end
        return unpack(made)
    end
    local program = np.trace(f)(arrays(was))
    local loaded = reloaded(program)
    local expected = bits(f(arrays(now)))
    check.equal(bits(program(arrays(now))), expected)
    check.equal(bits(loaded(arrays(now))), expected)
    check.equal(bits(program(arrays(was))), bits(f(arrays(was)))) -- and still as it was
    return program
end

local function refuses(f, was, now, pattern)
    local program = np.trace(f)(numbers(was))
    for _, one in ipairs { program, reloaded(program) } do
        check.raises(function() return one(numbers(now)) end, "the arguments do not fit the program: .*" .. pattern)
    end
end

-- ---- Sizes ----------------------------------------------------------------------------------------------------------

check.test("maps, reductions, products", function()
    follows(function(x, w, b) return np.tanh(x:matmul(w) + b):sum(0), (x * 2):max { axis = 1, keepdims = true } end,
            { { 7, 3 }, { 3, 5 }, { 5 } }, { { 11, 3 }, { 3, 5 }, { 5 } })
    follows(function(x, w) return x:matmul(w) end, { { 7, 3 }, { 3, 5 } }, { { 1, 3 }, { 3, 5 } })
    follows(function(x) return np.einsum("ij,kj->ik", x, x), np.sort(x, { axis = 0 }), np.argmax(x, { axis = 0 }) end,
            { { 7, 3 } }, { { 13, 3 } })
    follows(function(x, y) return np.concatenate({ x, y }, { axis = 0 }), np.stack { x, x } end,
            { { 7, 3 }, { 5, 3 } }, { { 2, 3 }, { 9, 3 } })
end)

check.test("a mean counts anew, and what is made of means", function()
    for _, now in ipairs { { 11, 3 }, { 1, 3 }, { 640, 3 } } do
        follows(function(x)
            return np.mean(x), np.mean(x, { axis = 0 }), np.var(x), np.std(x, { axis = 0 }),
                   np.softmax(x, { axis = 0 }), np.logsumexp(x, { axis = 0 })
        end, { { 7, 3 } }, { now })
    end
    follows(function(x) return np.var(x, { correction = 1 }) end, { { 7, 3 } }, { { 11, 3 } })
end)

check.test("reshapes: axes that are kept, merged, left", function()
    follows(function(x) return x:reshape(x:dim(0), 12), np.ravel(x), x:reshape(-1), x:reshape(-1, 4),
                               x:transpose():reshape(4, -1) end,
            { { 7, 3, 4 } }, { { 5, 3, 4 } })
    local program = np.trace(function(x) return x:reshape(7, 3, 4) end)(numbers { 7, 12 })
    check.equal(program(numbers { 5, 12 }).shape, { 5, 3, 4 })
    follows(function(x) return x[{ np.ellipsis, np.newaxis }] * 2, x:reshape(-1, 2) end, { { 14 } }, { { 6 } })
    refuses(function(x) return x:reshape(4, 5) end, { 20 }, { 40 }, "reshape: %(20,%) became %(4, 5%).*as %-1")
end)

check.test("indices: from the front, from the end, up to the end", function()
    follows(function(x) return x[0], x[-1], x[-2], x[{ 1 }], x[{ { 1, -1 } }], x[{ { 2 } }], x[{ { -3 } }],
                               x[{ { 0, 2 } }], x[{ { nil, nil, -1 } }], x[{ { 1, nil, 2 } }],
                               np.flip(x), np.diff(x, { axis = 0 }) end,
            { { 7, 3 } }, { { 11, 3 } })
    refuses(function(x) return x[6] end, { 7, 3 }, { 9, 3 }, "slice: of axis 0, which had 7 elements and has 9 now")
    refuses(function(x)
        local h = 0
        for k = 0, x:dim(0) - 1 do h = h + x[k] end
        return h
    end, { 7, 3 }, { 9, 3 }, "slice")
    refuses(function(x) return x[5] end, { 7, 3 }, { 5, 3 }, "slice")
    refuses(function(x) return np.split(x, 2)[2] end, { 14, 3 }, { 8, 3 }, "slice")
end)

check.test("lines along lines follow both", function()
    follows(function(x, y) return np.convolve(x, y), np.convolve(x, y, "same"), np.correlate(x, y) end,
            { { 17 }, { 4 } }, { { 31 }, { 6 } })
    follows(function(x, y)
        return np.grad(function(a, b)
            return np.sum(np.convolve(a, b) ^ 2) + np.sum(np.correlate(a, b) ^ 2)
        end, { argnums = { 1, 2 } })(x, y)
    end, { { 17 }, { 4 } }, { { 31 }, { 6 } })
    refuses(function(x) return np.convolve(x, np.ones(4), "valid") end, { 7 }, { 3 }, "convolve")
end)

check.test("constructors of a size follow it", function()
    follows(function(x) return x + np.arange(x:dim(0)):astype "f32"[{ {}, np.newaxis }], x * np.ones(x.shape),
                               np.zeros_like(x) + x, np.tril(x:matmul(x.T)) end, { { 7, 3 } }, { { 11, 3 } })
    local x = numbers { 7, 3 }
    local y = np.deferred(function() return x + np.random.uniform(np.random.key(1), x.shape) end)
    local program = np.export { inputs = { x = x }, outputs = { y = y } }
    for _, one in ipairs { program, reloaded(program) } do
        check.equal(bits(one(numbers { 11, 3 })),
                    bits(numbers { 11, 3 } + np.random.uniform(np.random.key(1), { 11, 3 })))
    end
end)

check.test("gradients follow", function()
    follows(function(w, x, y)
        return np.grad(function(v) return np.mean((np.tanh(x:matmul(v)) - y) ^ 2) end)(w)
    end, { { 3, 5 }, { 7, 3 }, { 7, 5 } }, { { 3, 5 }, { 11, 3 }, { 11, 5 } })
    follows(function(x) return np.grad(function(v) return (v[-1] * v[0]):sum() + (v[{ { 1 } }] ^ 2):sum() end)(x) end,
            { { 7, 3 } }, { { 9, 3 } })
    local program = np.trace(function(x) return np.mean(x * x) end)(numbers { 7, 3 })
    check.equal(np.grad(program)(np.ones { 4, 3 }):totable()[1][1], np.array(1 / 6):item())
end)

check.test("loops and branches get bodies of the new sizes", function()
    follows(function(xs) return np.scan(function(c, x) return c + np.mean(x), x * c end, 0, xs) end, { { 7, 5 } },
            { { 4, 5 } })
    follows(function(x)
        return np.cond(np.greater(x:sum(), 0), function(v) return v * 2 end, function(v) return v - 1 end, x),
               np.while_loop(function(v) return np.less(v:sum(), 100) end, function(v) return v * v + 1 end, x),
               np.checkpoint(function(v) return np.mean(v) end)(x)
    end, { { 7, 3 } }, { { 5, 3 } })
    local f = np.custom_vjp(function(x) return (x * x):sum() end):defvjp(
        function(x) return (x * x):sum(), x end, function(x, ct) return 3 * x * ct end)
    follows(function(x) return f(x) end, { { 7, 3 } }, { { 5, 3 } })
    local program = np.trace(function(x) return f(x) end)(numbers { 7, 3 })
    check.equal(np.grad(program)(np.ones { 2, 3 }):totable(), { { 3, 3, 3 }, { 3, 3, 3 } })
    refuses(function(x) return np.fori_loop(0, 7, function(_, s) return s + x:sum() end, 0) end, { 7, 3 }, { 5, 3 },
            "may be the size of an axis")
end)

check.test("slices of data follow along the axes that they have whole", function()
    local place = np.array(-1, { dtype = "i32" }):wait()
    for _, now in ipairs { { 13, 19 }, { 29, 17 }, { 17, 31 } } do
        follows(function(x)
            return np.dynamic_slice_in_dim(x, place, 2), np.dynamic_index_in_dim(x, place, { axis = 1 }),
                   np.vmap(function(row) return np.dynamic_slice_in_dim(row, place, 3) end)(x)
        end, { { 17, 29 } }, { now })
    end
end)

check.test("gradients of slices in steps have the size of what is sliced", function()
    local gradient = np.grad(function(x) return np.tanh(x[{ { 0, nil, 2 } }]):sum() end)
    for _, n in ipairs { 16, 17, 34, 35 } do follows(gradient, { { 17, 3 } }, { { n, 3 } }) end
end)

check.test("ends that count from the end are kept in batches and tangents", function()
    local function f(x) return np.tanh(x[{ { 0, -1 } }]) * 2 end
    for _, now in ipairs { { 4, 9 }, { 4, 5 } } do
        follows(np.vmap(f), { { 4, 7 } }, { now })
        follows(np.vmap(np.vmap(function(row) return row[{ { 1, -1 } }], row[{ { -3 } }] end)), { { 2, 4, 7 } },
                { { 2, 4, now[2] } })
    end
    follows(function(x) return select(2, np.jvp(f, { x }, { x * 3 })) end, { { 7, 4 } }, { { 11, 4 } })
    follows(np.vmap(function(x) return x:reshape(-1, 2) end), { { 4, 6, 4 } }, { { 4, 10, 4 } })
end)

check.test("axes that change places, of as many elements together", function()
    follows(function(x)
        return np.roll(x, 3), np.grad(function(a) return (a:reshape(-1)[{ { 2 } }] ^ 2):sum() end)(x)
    end, { { 7, 11 } }, { { 11, 7 } })
end)

check.test("what was made of sizes is refused for others", function()
    for _, now in ipairs { { 23, 31 }, { 29, 17 }, { 17, 31 }, { 17, 13 } } do
        refuses(function(x) return np.diag(x) end, { 17, 29 }, now, "reshape: what was recorded is for")
        refuses(function(x) return np.diagonal(x) end, { 17, 29 }, now, "reshape: what was recorded is for")
    end
    follows(function(x)                                         -- but not along other axes
        return np.diagonal(x, { axis1 = 1, axis2 = 2 }), np.einsum("ijj->ij", x)
    end, { { 7, 5, 5 } }, { { 11, 5, 5 } })
    refuses(function(x) return np.fori_loop(1, x:dim(0), function(i, sum) return sum + x[i] end, x[0]) end,
            { 17, 3 }, { 19, 3 }, "16 turns may be the size of an axis that is another now, or one less")
end)

check.test("what would broadcast now, and did not then, is refused", function()
    local z = numbers { 7, 3 }
    refuses(function(x) return x + z end, { 7, 3 }, { 1, 3 }, "add: axis 0 of its operands had 7 elements")
    refuses(function(x) return x + z end, { 7, 3 }, { 5, 3 }, "add: axis 0 of its operands had 7 elements")
    refuses(function(x) return np.where(np.greater(x, 0), z, 0) end, { 7, 3 }, { 1, 3 }, "axis 0")
end)

check.test("a number that may come from a size is refused", function()
    refuses(function(x) return x:sum() / x:dim(0) end, { 7, 3 }, { 5, 3 },
            "the number 7 may have been computed from a size")
    refuses(function(x) return x:sum() * (1 / x.size) end, { 7, 3 }, { 5, 3 }, "the number 0.047619")
    refuses(function(x) local h = x:reshape(-1) return h:sum() / h.size end, { 7, 3 }, { 5, 3 }, "the number 21")
    refuses(function(x) local h = np.stack { x, x } return h:sum() / h.size end, { 7, 3 }, { 5, 3 }, "the number 42")
    refuses(function(x) return x / math.sqrt(x:dim(0)) end, { 7, 3 }, { 5, 3 }, "may have been computed")
    follows(function(x) return np.cumsum(x, { axis = 1 }), np.vmap(np.cumprod)(x), np.sort(x, { axis = 0 }) end,
            { { 7, 3 } }, { { 5, 8 } })
    follows(function(x) return np.searchsorted(x, 0.5) end, { { 7 } }, { { 5 } })
    follows(function(x) return x * 0.5 + 3, x:sum() / 4 end, { { 7, 3 } }, { { 5, 3 } })
end)

check.test("axes of one element, and the number of axes, stay", function()
    refuses(function(x) return x * 2 end, { 1, 3 }, { 5, 3 }, "recorded with 1 along an axis")
    refuses(function(x) return x * 2 end, { 7, 3 }, { 7, 3, 2 }, "the number of axes")
end)

check.test("sizes that are alike are refused where it matters", function()
    follows(function(x, w) return x:matmul(w) end, { { 5, 5 }, { 5, 5 } }, { { 7, 5 }, { 5, 5 } })
    local f = function(x, w) return np.mean(x:matmul(w), { axis = 0 }) end
    local program = np.trace(f)(numbers { 5, 5 }, numbers { 5, 5 })
    check.raises(function() return program(numbers { 7, 5 }, numbers { 5, 5 }) end,
                 "x: expected f32%[5,5%], got f32%[7,5%]: a mean: its size 5 was that")
end)

check.test("errors name the op, its line and the input", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local y = function(x, params) return (x:matmul(params.w1)) end
    local program = np.trace(y)(numbers { 7, 3 }, { w1 = numbers { 3, 5 } })
    local text = check.raises(function() return program(numbers { 7, 3 }, { w1 = numbers { 4, 5 } }) end, "matmul")
    check.ok(text:find("params.w1: expected f32[3,5], got f32[4,5]", 1, true), text)
    check.ok(text:find("refit_test.lua:" .. line, 1, true), text)
end)

-- ---- Dtypes, devices ------------------------------------------------------------------------------------------------

check.test("other dtypes: numbers and casts are those of the new dtype", function()
    follows(function(x) return x * 0.1 + 2, np.mean(x), np.where(np.greater(x, 0), x, -1), np.sqrt(x * x) end,
            { { 7, 3 } }, { { { 5, 3 }, "f64" } })
    follows(function(x) return x * 3 + 2, np.where(np.greater(x, 0), x, -1), np.sqrt(x * x) end, { { 7, 3 } },
            { { { 5, 3 }, "i32" } })
    follows(function(x, y) return x[0] + y[0], x:matmul(y) end, { { { 7, 3 }, "i32" }, { 3, 3 } },
            { { { 7, 3 }, "f64" }, { { 3, 3 }, "f64" } })
    follows(function(x) return x:astype "f32" * 2 end, { { { 7, 3 }, "u8" } }, { { { 5, 3 }, "f32" } })
    local program = np.trace(function(x) return x:astype "f32" * 2 end)(np.zeros({ 7 }, { dtype = "u8" }))
    check.raises(function() return program(np.zeros({ 7 }, { dtype = "f64" })) end, "would take digits from f64")
end)

check.test("devices: where the inputs are", function()
    if #np.devices() < 2 then return end
    local program = np.trace(function(x) return np.tanh(x * 2) end)(numbers { 7, 3 })
    check.equal(program(np.device_put(numbers { 5, 3 }, "cpu:1")).device, "cpu:1")
    check.equal(np.jit(program)(np.device_put(numbers { 5, 3 }, "cpu:1")).device, "cpu:1")
    local w = np.device_put(numbers { 3 }, "cpu:0")
    local held = np.trace(function(x) return x + w end)(np.device_put(numbers { 7, 3 }, "cpu:0"))
    check.equal(held(np.device_put(numbers { 5, 3 }, "cpu:1")).device, "cpu:1")
end)

-- ---- Calls ----------------------------------------------------------------------------------------------------------

check.test("np.jit and np.vmap of a program", function()
    local f = function(x, w) return np.mean(x * w, { axis = 0 }) end
    local program = np.trace(f)(numbers { 7, 3 }, numbers { 3 })
    check.equal(bits(np.jit(program)(numbers { 5, 3 }, numbers { 3 })), bits(f(numbers { 5, 3 }, numbers { 3 })))
    check.equal(np.vmap(program, { in_axes = { 0, false } })(numbers { 4, 5, 3 }, numbers { 3 }).shape, { 4, 3 })
end)

check.test("a program for each shape is recorded once, and 64 of them are kept", function()
    local program = np.trace(function(x) return np.mean(x) end)(numbers { 7, 3 })
    program(np.ones { 5, 3 })
    local before = np.debug.counters().programs
    for _ = 1, 5 do program(np.ones { 5, 3 }) end
    check.equal(np.debug.counters().programs, before)
    for n = 2, 200 do check.equal(program(np.ones { n, 3 }):item(), 1) end
    local kept = 0
    for _ in pairs(program.refits) do kept = kept + 1 end
    check.equal(kept, 64)
end)

check.test("by position, by name, one by one", function()
    local f = function(params, x, _) return (x * params.w + params.b):sum() end
    local program = np.trace(f)({ w = numbers { 3 }, b = numbers { 3 } }, numbers { 7, 3 }, "fast")
    local params, x = { w = np.ones(3), b = np.zeros(3) }, np.ones { 5, 3 }
    for _, one in ipairs { program, reloaded(program) } do
        check.equal({ one(params, x, "fast"):item(), one { params = params, x = x }:item(),
                      one { params = params, x = x, _ = "fast" }:item(), one(params.b, params.w, x):item() },
                    { 15, 15, 15, 15 })
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
        check.equal(one({ w = np.ones(3) }, np.ones { 2, 3 }):totable(), { { 1, 1, 1 }, { 1, 1, 1 } })
        check.equal(one { params = { w = np.ones(3) }, x = np.ones { 2, 3 } }.shape, { 2, 3 })
        check.equal(one(np.ones(3), np.ones { 2, 3 }).shape, { 2, 3 })
    end
end)

os.remove(path)

check.test("what a program computes in f32 whatever its inputs are is refused for f64", function()
    for name, f in pairs {
        ["a gradient's seed"] = function(x) return np.grad(function(y) return y:sum() end)(x) end,
        ["a gradient of max"] = function(x) return np.grad(function(y) return y:max() end)(x) end,
        ["a cast of the script"] = function(x) return x:gt(0):astype "f32" / 3 * x end,
        ["a constructor"] = function(x) return x + np.ones(11) / 3 end,
    } do
        local program = np.trace(f)(numbers { 7, 11 })
        check.raises(function() return program(numbers({ 7, 11 }, "f64")) end,
                     "computes some of this in f32 whatever its inputs are", name)
        check.equal(program(numbers { 5, 11 }).dtype, "f32")
    end
end)

check.test("everyday numbers beside small sizes are numbers", function()
    for size = 2, 7 do
        local program = np.trace(function(x) return (x * 2 + 0.5 - 1):sum() end)(np.ones(size))
        check.equal(program(np.arange(9, { dtype = "f32" })):item(), 72 - 4.5)
    end
    for _, size in ipairs { 3, 7, 16 } do
        local program = np.trace(function(x) return x:sum() / x:dim(0) end)(np.ones(size))
        check.raises(function() return program(np.ones(9)) end, "may have been computed from a size of " .. size)
    end
end)

check.done()
