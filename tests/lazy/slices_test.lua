-- slices_test.lua (under tsan with --long): where a slice begins is told at each run: slices of an array that begin
-- elsewhere share a plan, and the bits are those of copies.
local check = require "tests.lib.check"
local np = require "neap"
local programs = require "tests.lib.programs"

local x = programs.leaf("f32", 3, { 64, 96 })
local w = programs.leaf("f32", 5, { 64, 96 })
local square = programs.leaf("f32", 7, { 8, 8 })

local function plans() return tonumber(np.debug.counters().plans) end
--- Work is counted where devices share the memory of the host: elsewhere each place has a plan, and slices that are
--- arguments are copied.
local counts = not os.getenv "NEAP_DEVICE"
local function counted(got, most, what) check.ok(not counts or got <= most, what or got) end
local function copy(y) return y:copy():wait() end

-- What reads a slice of x that begins at k, and what it reads of a copy.
local readers = {
    { "a row", function(k) return x[k] end, function(a) return a * 2 + 1 end },
    { "rows", function(k) return x[{ { k, k + 8 } }] end, function(a) return np.sin(a):sum { axis = 0 } end },
    { "a column", function(k) return x[{ {}, k }] end, function(a) return a:cumsum() end },
    { "every third row, backwards", function(k) return x[{ { k + 24, k, -3 } }] end, function(a) return -a end },
    { "a block, transposed", function(k) return x[{ { k, k + 8 }, { 2 * k, 2 * k + 8 } }]:transpose() end,
        function(a) return np.softmax(a) end },
    { "a row that is broadcast", function(k) return np.broadcast_to(x[{ k, { 0, 8 } }], { 5, 8 }) end,
        function(a) return a + np.arange(8) end },
    { "a product", function(k) return x[{ { k, k + 8 }, { 0, 8 } }] end, function(a) return a:matmul(square) end },
    { "a sort", function(k) return x[{ { k, k + 8 } }] end, function(a) return np.sort(a) end },
    { "a table", function(k) return x[{ { k, k + 8 } }] end,
        function(a) return np.take(a, np.array({ 7, 0, 3 }, { dtype = "i32" }), { axis = 0 }) end },
    { "a piece", function(k) return x[{ { k, k + 8 } }] end,
        function(a) return np.concatenate({ a, np.zeros({ 2, 96 }) }) * 3 end },
    { "the slice itself", function(k) return x[{ { k, k + 8 } }] end, function(a) return a end },
    { "as it lies", function(k) return x[{ k, { 1, 9 } }]:reshape(2, 2, 2) end,
        function(a) return np.flip(a, 1) + a end },
}

for _, reader in ipairs(readers) do
    check.test(reader[1] .. ": one plan for all places", function()
        local name, slice, read = reader[1], reader[2], reader[3]
        read(slice(1)):wait()
        local before = plans()
        for k = 2, 30 do read(slice(k)):wait() end
        counted(plans() - before, 0, name)
        for k = 0, 30, 3 do
            check.equal(programs.hash(read(slice(k))), programs.hash(read(copy(slice(k)))), name .. " at " .. k)
        end
    end)
end

check.test("several slices of an array: by the distances between them", function()
    local function f(k) return x[k] * x[k + 1] - x[k + 3] end
    f(2):wait()
    local before = plans()
    for k = 3, 40 do f(k):wait() end
    counted(plans() - before, 0)
    for k = 0, 40, 8 do
        check.equal(programs.hash(f(k)), programs.hash(copy(x[k]) * copy(x[k + 1]) - copy(x[k + 3])))
    end
    local function g(k, l) return x[k] - x[l] end -- the first one may be the later one
    for _, pair in ipairs { { 5, 2 }, { 63, 0 }, { 0, 63 }, { 7, 7 }, { 9, 6 } } do
        local k, l = pair[1], pair[2]
        check.equal(programs.hash(g(k, l)), programs.hash(copy(x[k]) - copy(x[l])))
    end
end)

check.test("slices of several arrays", function()
    local function f(k, l) return x[k] * w[l] + np.sin(x[{ k, { 0, 96 } }]) end
    f(2, 3):wait()
    local before = plans()
    for k = 0, 30 do f(k, 63 - 2 * k):wait() end
    counted(plans() - before, 0)
    for k = 0, 30, 5 do
        local a, b = copy(x[k]), copy(w[63 - 2 * k])
        check.equal(programs.hash(f(k, 63 - 2 * k)), programs.hash(a * b + np.sin(a)))
    end
end)

check.test("an array and its slices", function()
    local function f(k) return x - x[k], (x:transpose() + x[{ k, { 0, 64 } }]):sum { axis = 1 } end
    for k = 0, 63, 9 do
        local a, b = f(k)
        local row = copy(x[k])
        check.equal(programs.hash(a), programs.hash(x - row))
        check.equal(programs.hash(b), programs.hash((copy(x:transpose()) + copy(row[{ { 0, 64 } }])):sum { axis = 1 }))
    end
end)

check.test("an accumulation over rows", function()
    local total, other = np.zeros(96), np.zeros(96)
    local before = plans()
    for k = 0, 63 do total = (total + x[k]):wait() end
    counted(plans() - before, 2)
    for k = 0, 63 do other = (other + copy(x[k])):wait() end
    check.equal(programs.hash(total), programs.hash(other))
end)

check.test("what dies is not written over where a slice of it is read", function()
    local SIDE = 256 -- from 64 KiB on, memory is used again
    for _, from in ipairs { 0, 1, 7, 32 } do
        local big = programs.leaf("f32", 11, { SIDE + 32, SIDE })
        local want = programs.hash(np.sin(copy(big[{ { from, from + SIDE } }])) * 2)
        local y = np.sin(big[{ { from, from + SIDE } }]) * 2
        big:delete()
        check.equal(programs.hash(y), want, from)
        local b
        do
            local z = programs.leaf("f32", 11, { SIDE + 32, SIDE })
            b = (np.sort(z[{ { from, from + SIDE } }]) + z[{ { 32 - from, 32 - from + SIDE } }]) * 0.5
        end
        collectgarbage()
        local again = programs.leaf("f32", 11, { SIDE + 32, SIDE })
        check.equal(programs.hash(b), programs.hash((np.sort(copy(again[{ { from, from + SIDE } }])) +
            copy(again[{ { 32 - from, 32 - from + SIDE } }])) * 0.5), from)
    end
end)

check.test("callbacks and scans read slices", function()
    for k = 0, 12, 4 do
        local seen
        np.callback(function(y) seen = y:sum():item() end)(x[k])
        np.effects_barrier()
        check.equal(seen, copy(x[k]):sum():item())
        local carry = np.scan(function(c, row) return c * 0.5 + row, c end, np.zeros(96), x[{ { k, k + 5 } }])
        local same = np.scan(function(c, row) return c * 0.5 + row, c end, np.zeros(96), copy(x[{ { k, k + 5 } }]))
        check.equal(programs.hash(carry), programs.hash(same))
    end
end)

check.test("slices of what is on its way, and of what failed", function()
    for k = 0, 5 do
        local pending = np.sort(x + k)
        check.equal(programs.hash(pending[k] * 2), programs.hash(copy(np.sort(x + k))[k] * 2))
    end
end)

check.test("gradients of what reads slices", function()
    local before
    for k = 0, 9 do
        local g = np.grad(function(a) return (a * x[k]):sum() end)(w[k])
        check.equal(programs.hash(g), programs.hash(x[k] * 1))
        before = before or plans()
    end
    counted(plans() - before, 2)
end)

check.test("random slices", function()
    math.randomseed(5)
    local function range(n)
        local a, b = math.random(0, n - 1), math.random(0, n - 1)
        local step = math.random(3)
        if a > b then return { a, b > 0 and b or nil, -step } end
        return { a, b + 1, step }
    end
    for _ = 1, 200 do
        local a = x[{ range(64), range(96) }]
        if math.random(2) == 1 then a = a:transpose() end
        local b = math.random(2) == 1 and a[{ { nil, nil, -1 } }] or a * x[{ 0, 0 }]
        local way = math.random(3)
        local function read(u, v)
            if way == 1 then return (u * 2 - v):sum { axis = 0 } end
            if way == 2 then return np.cumsum(u + 1, 0) * v end
            return np.maximum(u, v)
        end
        check.equal(programs.hash(read(a, b)), programs.hash(read(copy(a), copy(b))))
    end
end)

-- ---- Arguments of programs ----------------------------------------------------------------------------------------
local function launches() return tonumber(np.debug.counters().launches) end

check.test("programs of any kind and size read slices of neighbours where they lie", function()
    local bodies = {
        function(a) return a * 2 + 1 end,
        function(a) return np.softmax(a), a:sum() end,
        function(a) return np.sort(a):matmul(a:transpose()) end,
        function(a) return np.take(a, np.array({ 7, 0, 3 }, { dtype = "i32" }), { axis = 0 }), np.cumsum(a, 1) end,
        function(a) return a[{ { 1, 5 } }] - a[{ { 3, 7 } }], np.concatenate({ a, a * 2 }) end,
        function(a)
            for k = 1, 100 do a = np.sin(a) * k + a:cumsum(1) end
            return a
        end,
    }
    for n, body in ipairs(bodies) do
        local f = np.jit(body)
        local want, first = {}, nil
        for k = 0, 50, 10 do
            local a = copy(x[{ { k, k + 8 } }])
            f(a):wait()
            np.effects_barrier()
            local before = launches()
            want[k] = { f(a) }
            first = launches() - before
            for i, result in ipairs(want[k]) do want[k][i] = programs.hash(result) end
        end
        local before = plans()
        for k = 0, 50, 10 do
            local had = launches()
            local got = { f(x[{ { k, k + 8 } }]) }
            counted(launches() - had, first, "launches of body " .. n)
            for i, result in ipairs(got) do check.equal(programs.hash(result), want[k][i], "body " .. n) end
        end
        counted(plans() - before, 1) -- for the hash
        check.ok(tostring(np.jit_cache(f)):find("recorded 1 time", 1, true))
    end
end)

check.test("programs copy other slices, and what they cannot read from its middle", function()
    local f = np.jit(function(a) return a * 3 end)
    for k = 0, 20, 5 do
        local parts = { x[{ {}, { k, k + 5 } }], x[{ { k + 10, k, -2 } }], x[k]:reshape(96, 1), x[k]:reshape(8, 12) }
        for _, part in ipairs(parts) do check.equal(programs.hash(f(part)), programs.hash(f(copy(part)))) end
    end
    local same = np.jit(function(a, b) return a, b + 1 end)
    local scan = np.jit(function(a) return (np.scan(function(c, r) return c + r * 2, c end, np.zeros(96), a)) end)
    local seen
    local called = np.jit(function(a)
        np.callback(function(b) seen = b:sum():item() end)(a)
        return a + 1
    end)
    for k = 0, 40, 8 do
        local part, want = x[{ { k, k + 8 } }], copy(x[{ { k, k + 8 } }])
        local a, b = same(part, x[k])
        check.equal({ programs.hash(a), programs.hash(b) }, { programs.hash(want), programs.hash(copy(x[k]) + 1) })
        a:delete()
        check.equal(programs.hash(scan(x[{ { k, k + 8 } }])), programs.hash(scan(want)))
        check.equal(programs.hash(called(x[{ { k, k + 8 } }])), programs.hash(want + 1))
        np.effects_barrier()
        check.equal(seen, want:sum():item())
    end
end)

check.test("an array and slices of it, in one call", function()
    local f = np.jit(function(a, b, c) return (a - b) * c:sum() end)
    for k = 0, 60, 20 do
        check.equal(programs.hash(f(x[k], x[k + 1], x)), programs.hash(f(copy(x[k]), copy(x[k + 1]), copy(x))))
    end
end)

check.test("donated arrays beside slices, of others and of themselves", function()
    local step = np.jit(function(p, a) return p * 0.5 + a:sum { axis = 0 } end, { donate = { 1 } })
    local big = programs.leaf("f32", 13, { 128, 32768 })
    local p, q = np.zeros(32768):wait(), np.zeros(32768):wait()
    for k = 0, 100, 20 do
        p = step(p, big[{ { k, k + 8 } }])
        q = step(q, copy(big[{ { k, k + 8 } }]))
    end
    check.equal(programs.hash(p), programs.hash(q))
    local add = np.jit(function(a, b) return a + b end, { donate = { 1 } })
    for k = 0, 3 do
        local a = programs.leaf("f32", 17, { 4, 32768 })
        local b = copy(a)
        check.equal(programs.hash(add(a, a[k])), programs.hash(b + b[k]))
        local c = programs.leaf("f32", 17, { 4, 32768 })
        check.equal(programs.hash(add(c[k], c[3 - k])), programs.hash(copy(b[k]) + copy(b[3 - k])))
        check.equal(programs.hash(c), programs.hash(b))
    end
end)

check.test("what the slice is of may go while the program runs", function()
    local f = np.jit(function(a) return np.sort(np.sin(a)) end)
    local want = {}
    for k = 0, 3 do want[k] = programs.hash(f(copy(programs.leaf("f32", 19, { 8, 32768 })[k]))) end
    for k = 0, 3 do
        local base = programs.leaf("f32", 19, { 8, 32768 })
        local y = f(base[k])
        base:delete()
        check.equal(programs.hash(y), want[k])
    end
end)

check.done()
