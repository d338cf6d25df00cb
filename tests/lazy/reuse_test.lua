--- reuse_test.lua (under tsan with --long, starts first): arrays that nobody can ask for any more share memory: how
-- much is live at the peak of a region.
--
-- Sizes are powers of two, so that a block is as large as its array, and everything is waited for, so that peaks are
-- exact.
--
--     NEAP_TEST_STEPS=500000 …        steps of the training loop (2000 in a release build); so many take about an hour
local check = require "tests.lib.check"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
local full = release or os.getenv "NEAP_TEST_LONG"
local N = full and 512 or 256
local MATRIX = N * N * 4 -- bytes: memory is counted in matrices of N × N floats
local STEPS = tonumber(os.getenv "NEAP_TEST_STEPS" or (release and 2000 or 60))
local LONG = full and 30 or 10 -- products of a long chain

local function settle()
    np.wait_all()
    np.memory.trim()
end

--- The highest number of matrices that were live beyond what was before, while f(…) ran and its results were made.
-- Other results of f are dropped.
local function peak(f, ...)
    settle()
    np.memory.reset_peak()
    local before = np.memory().live
    local results = { f(...) }
    np.wait_all()
    local highest = (np.memory().peak - before) / MATRIX
    for k = #results, 1, -1 do results[k] = nil end
    return highest
end

--- The peak of a jitted function that was called before.
local function jitted_peak(f, ...)
    local jitted = np.jit(f)
    local first = { jitted(...) }
    np.wait_all()
    for k = #first, 1, -1 do first[k] = nil end
    return peak(jitted, ...)
end

local x = (np.arange(N * N, { dtype = "f32" }):reshape(N, N) / (N * N) - 0.5):wait()
local w = (np.arange(N * N, { dtype = "f32" }):reshape(N, N):transpose() / (N * N) - 0.3):wait()

check.test("a chain of products takes two buffers, however long it is", function()
    for _, length in ipairs { 2, 3, 10, LONG + 10 } do
        check.equal(jitted_peak(function(a, b)
            for _ = 1, length do a = a:matmul(b) end
            return a
        end, x, w), 2, length .. " products")
    end
end)

check.test("in a loop's body, a map or an update writes over what it reads last", function()
    local function loop(f)
        return jitted_peak(function(a, b)
            return np.fori_loop(0, 3, function(_, c) return np.sort(f(c, b)) end, a)
        end, x, w)
    end
    local product = loop(function(c, b) return c:matmul(b) end)
    check.equal(loop(function(c, b) return np.tanh(c:matmul(b)) * 2 end), product, "a map")
    check.equal(loop(function(c, b) return c:matmul(b):at { 1 }:set(0):at { 5 }:add(1) end), product, "updates")
    check.equal(loop(function(c, b)
        for _ = 1, 6 do c = np.tanh(c:matmul(b)) + 1 end
        return c
    end), product + 1, "a chain")
end)

check.test("a map writes over what it reads last", function()
    local function f(a, b)
        return np.tanh(a:matmul(b)) * 2
    end
    check.equal(jitted_peak(f, x, w), 1)
    check.equal(jitted_peak(function(a, b)
        for _ = 1, 5 do a = f(a, b) end
        return a
    end, x, w), 2)
    local product = x:matmul(w)
    check.equal(np.jit(f)(x, w):totable(), (np.tanh(product) * 2):totable())
end)

check.test("not where it reads at other places, or elements of another size", function()
    check.equal(jitted_peak(function(a, b) return a:matmul(b):transpose() + 1 end, x, w), 2)
    check.equal(jitted_peak(function(a, b) return a:matmul(b)[{ {}, { N, nil, -1 } }] * 1 end, x, w), 2, "flipped")
    check.equal(jitted_peak(function(a, b) return a:matmul(b):astype "f64" end, x, w), 3)
    check.equal(jitted_peak(function(a, b) return a:matmul(b):gt(0) end, x, w), 1.25)
    check.equal(jitted_peak(function(a, b)
        local product = a:matmul(b)
        return product + product:transpose()
    end, x, w), 2)
end)

check.test("outputs keep their memory", function()
    local f = np.jit(function(a, b)
        local first = a:matmul(b)
        local second = np.tanh(first)
        return first, second, second:matmul(first)
    end)
    local first, second, third = f(x, w)
    local product = x:matmul(w)
    check.equal(first:totable(), product:totable())
    check.equal(second:totable(), np.tanh(product):totable())
    check.equal(third:totable(), np.tanh(product):matmul(product):totable())
    check.equal(peak(f, x, w), 3)
end)

check.test("sizes that differ share memory where little of it is wasted", function()
    local narrow = w[{ {}, { 0, N / 2 } }]:wait() -- N × N/2
    -- The narrow products have 30 tiles; each copies its 36 rows, 256 columns at a time, in a block of 40 KiB, of which
    -- there are as many as workers; the last rows are 8, in a block of 10 KiB. No number of these is as large as arrays
    -- of this test. The baseline's tiles have 32 rows, so that blocks and arrays are not told apart there.
    local wide = pcall(np.debug.kernels, { isa = "avx2" })
    np.debug.kernels {}
    local highest = jitted_peak(function(a, b, c)
        local half = a:matmul(c)                  -- 0.5
        local whole = half:matmul(c:transpose())  -- 1
        local again = whole:matmul(c)             -- 0.5, over `half`
        return again:matmul(c:transpose()):matmul(b)
    end, x, w, narrow)
    local copies = (highest - 2) * MATRIX / (40 * 1024)
    check.ok(copies >= 0 and copies <= 30 and (copies * 4 % 1 == 0 or not wide), copies .. " copies of tiles beside "
             .. "the arrays")
    local row = w[{ { 0, 4 }, {} }]:wait()        -- a result never keeps much more than its size
    check.equal(jitted_peak(function(a, b, c) return c:matmul(a:matmul(b)):matmul(b) end, x, w, row), 1 + 2 * 4 / N)
end)

check.test("a training step in one program", function()
    local params = {}
    for k = 1, 6 do params[k] = ((w * (0.1 * k) + 0.01) / N):wait() end
    local function loss(p, inputs)
        local h = inputs
        for k = 1, #p do h = np.tanh(h:matmul(p[k])) end
        return (h * h):mean()
    end
    local function step(p, inputs)
        local value, grads = np.value_and_grad(loss)(p, inputs)
        local new = {}
        for k = 1, #p do new[k] = p[k] - 0.1 * grads[k] end
        return new, value
    end
    -- Six activations, a cotangent and a gradient; the six results take over the memory of activations.
    check.equal(math.floor(jitted_peak(step, params, x)), 8)
    local new, value = np.jit(step)(params, x)
    local plain, expected = step(params, x)
    check.equal(value:item(), expected:item())
    for k = 1, #new do check.equal(new[k]:totable(), plain[k]:totable()) end
end)

check.test("recorded work without a handle shares memory, other work does not", function()
    local function chain(length, kept)
        np.debug.limits { nodes = 0, bytes = 0 }
        local h, handles = x, {}
        for k = 1, length do
            h = h:matmul(w)
            handles[k] = kept and h
        end
        return h, handles
    end
    for _, kept in ipairs { true, false } do
        settle()
        np.memory.reset_peak()
        local before = np.memory().live
        local last, handles = chain(8, kept)
        np.memory.trim() -- collects handles
        np.wait_all()
        local highest = (np.memory().peak - before) / MATRIX
        check.equal(highest, kept and 8 or 2, kept and "kept" or "not kept")
        if kept then check.equal(handles[2]:totable(), x:matmul(w):matmul(w):totable()) end
        check.equal(#handles, 8)
        last:wait()
    end
    np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
end)

check.test("an array that nobody holds any more is overwritten by its last reader", function()
    np.debug.limits { nodes = 0, bytes = 0 }
    local function double(keep)
        local a = (x + 1):wait()
        local b = a * 2
        return b, keep and a
    end
    for _, keep in ipairs { true, false } do
        settle()
        local before = np.memory().live
        local b, a = double(keep)
        np.memory.trim()
        np.memory.reset_peak()
        b:wait()
        check.equal((np.memory().peak - before) / MATRIX, keep and 2 or 1)
        check.equal(b:totable(), ((x + 1) * 2):totable())
        if keep then check.equal(a:totable(), (x + 1):totable()) end
    end
    np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
end)

check.test("a failure stays with what it belongs to", function()
    local f = np.jit(function(a, b)
        local failed = np.debug.fail(a:matmul(b))
        local lost = failed:matmul(b)
        local sum = lost:sum()
        local h = b
        for _ = 1, LONG do h = h:matmul(a) end -- takes over the memory of what failed
        return sum, h
    end)
    local sum, h = f(x, w)
    local expected = w
    for _ = 1, LONG do expected = expected:matmul(x) end
    check.equal(h:totable(), expected:totable())
    check.raises(function() sum:item() end, "debug_fail")
    pcall(np.wait_all)
end)

check.test("what a callback was given is its own", function()
    local seen
    local f = np.jit(function(a, b)
        local h = a:matmul(b)
        np.callback(function(given) seen = given end)(h)
        for _ = 1, LONG do h = h:matmul(b) end
        return h
    end)
    f(x, w)
    np.effects_barrier()
    np.wait_all()
    check.equal(seen:totable(), x:matmul(w):totable())
end)

--- A sum that reads a product for the last time and waits for a callback, and a longer chain of products that does not:
-- none of these may write where that product lies before the callback has run, as its function may ask for the chain.
local function late_and_long(a, b, c)
    local late = np.sum(np.exp(np.sin(a:matmul(b) * c)))
    local long = a
    for _ = 1, 8 do long = long:matmul(b) end
    return late, long:max()
end

local function check_late(run)
    local expected, long = late_and_long(x, w, np.array(1):wait()):item(), nil
    local call = np.callback(function() return long and long:item() * 0 + 1 or 1 end, { result = { shape = {} } })
    local slow = x -- so that `long` is known when the callback's turn comes
    for _ = 1, 8 do slow = slow:matmul(w) end
    local late, chain = run(call, slow:sum())
    long = chain
    check.close(late:item(), expected)
end

check.test("what a callback may ask for does not wait for what waits for that callback, in a program", function()
    check_late(function(call, given)
        return np.jit(function(a, b, c) return late_and_long(a, b, call(c)) end)(x, w, given)
    end)
end)

check.test("what a callback may ask for does not wait for what waits for that callback", function()
    np.debug.limits { nodes = 0, bytes = 0 }
    check_late(function(call, given)
        local late, long = late_and_long(x, w, call(given))
        np.memory.trim() -- lets go of what is between
        return np.force(late, long)
    end)
    np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
end)

check.test("a shortage of memory leaves everything as it was", function()
    settle()
    np.debug.limits { nodes = 0, bytes = 0 }
    local function record()
        local a = (x + 1):wait()
        return (a * 3):matmul(w):matmul(w)
    end
    local expected, result = record():wait(), record()
    np.memory.trim()
    np.debug.memory_limit(np.memory().live + 1000)
    local ok, problem = pcall(np.wait, result)
    np.debug.memory_limit(0)
    check.ok(not ok and problem:find("out of memory", 1, true), tostring(problem))
    check.equal(result:totable(), expected:totable())
    np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
end)

check.test("a training loop stays at the peak of its first steps, and asks the system for nothing more", function()
    -- Large enough that products copy no operands: how many workers do that at once is chance.
    local small = x[{ { 0, 192 }, { 0, 192 } }]:wait()
    local params = { (small * 0.5):wait(), (small + 0.1):wait() }
    local step = np.jit(function(p, inputs)
        local value, grads = np.value_and_grad(function(q)
            return (np.tanh(inputs:matmul(q[1])):matmul(q[2]) ^ 2):mean()
        end)(p)
        return { p[1] - 0.01 * grads[1], p[2] - 0.01 * grads[2] }, value
    end)
    local early
    settle()
    np.memory.reset_peak()
    for k = 1, STEPS do
        local new, value = step(params, small)
        np.wait_all()
        for j = 1, #params do params[j]:delete() end
        value:delete()
        params = new
        if k == 50 then early = np.memory() end
    end
    local late = np.memory()
    check.equal(late.peak, early.peak)
    check.equal(late.live, early.live)
    check.equal(late.made, early.made)
end)

check.test("a single element is read before a kernel with several sinks writes over it", function()
    np.debug.reuse(1)
    local function f(a, b)
        local both = a + b[3]
        local picked = np.where(np.greater(np.full({ 64, 20 }, 0.5), 0), 0.5, a:max())
        return a:mean() + both:mean() + picked[0]:mean()
    end
    local of_a, of_b = np.grad(f, { argnums = { 1, 2 } })(np.array(-4.0), np.ones { 5, 1 })
    check.equal(of_a:item(), 2)
    check.equal(of_b:sum():item(), 1)
    np.debug.reuse(0)
end)

check.test("an array without elements is shared by kernels, and written by none", function()
    np.debug.reuse(1)
    local empty = np.ones { 2, 0, 3 } % np.array(2)
    check.equal(tostring(x:matmul(w):matmul(w):sum() * 0 + empty:var()), "nan")
    check.equal(empty:totable(), { {}, {} })
    np.debug.reuse(0)
end)

check.done()
