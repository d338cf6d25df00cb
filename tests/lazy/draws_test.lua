--- draws_test.lua (sanitized with --long): of a large draw of which little is read, only that is drawn: by views,
-- gathers, maps and reductions of it, eager, in programs and batches, on a mesh; with the bits of the whole draw.
-- Sizes past all memory are compared with threefry written in Lua.
local check = require "tests.lib.check"
local np = require "neap"
local bit = require "bit"

require "tests.lib.devices" (4, "tests/lazy/draws_test.lua")

local random, P = np.random, np.P
local LITTLE = 64 * 1024 -- bytes

--- The bytes that memory grew by, at most, while f ran.
local function grown(f)
    for _ = 1, 2 do np.memory.trim() end
    np.memory.reset_peak()
    local before = np.memory().live
    f()
    return tonumber(np.memory().peak - before)
end

local function same(a, b, what)
    check.equal(a.dtype, b.dtype, what)
    check.equal(a.shape, b.shape, what)
    check.ok(np.all(np.equal(a, b)):item(), what)
end

-- ---- Every draw ----------------------------------------------------------------------------------------------------

local key = random.split(random.key(17), 5)[3]
local DRAWS = {
    bits = function(dims) return random.bits(key, dims) end,
    bernoulli = function(dims) return random.bernoulli(key, 0.3, dims) end,
    ["complex normal"] = function(dims) return random.normal(key, dims, { dtype = "c64" }) end,
    ["uniform between numbers"] = function(dims) return random.uniform(key, dims, { minval = -3, maxval = 5 }) end,
    logistic = function(dims) return np.log(random.uniform(key, dims)) * 2 - 1 end,
    ["of keys"] = function(dims)
        return np.vmap(function(k) return random.normal(k, { dims[2] }) end)(random.split(random.key(5), dims[1]))
    end,
    ["integers of keys"] = function(dims)
        return np.vmap(function(k) return random.randint(k, { dims[2] }, -7, 90) end)(random.split(random.key(5),
                                                                                                 dims[1]))
    end,
    ["integers below arrays"] = function(dims)
        return random.randint(key, dims, 0, np.arange(1, dims[2] + 1))
    end,
}
for _, name in ipairs { "uniform", "normal", "exponential", "gumbel" } do
    for _, dtype in ipairs { "f32", "f64", "f16", "bf16" } do
        DRAWS[name .. " " .. dtype] = function(dims) return random[name](key, dims, { dtype = dtype }) end
    end
end
for _, dtype in ipairs { "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64" } do
    local low = dtype:find "i" == 1 and -100 or 3
    DRAWS["randint " .. dtype] = function(dims) return random.randint(key, dims, low, 101, { dtype = dtype }) end
end
DRAWS["randint of all numbers"] = function(dims)
    return random.randint(key, dims, -2 ^ 31, 2 ^ 31, { dtype = "i32" })
end

local seed = tonumber(os.getenv "NEAP_TEST_SEED") or 11
local state = seed
local function below(n)
    state = (state * 1103515245 + 12345) % 2 ^ 31
    return math.floor(state / 2 ^ 31 * n)
end

local function places(list) return np.array(list, { dtype = "i32" }) end

--- A view, or a gather, of few elements of an array of two axes, as a function of it.
local VIEWS = {
    function(m, n)
        local i, j = below(m), below(n)
        return function(x) return x[{ i, j }] end
    end,
    function(m)
        local i = below(m)
        return function(x) return x[{ i }] end
    end,
    function(m, n)
        local i, j, step = below(m - 20), below(n), 1 + below(3)
        return function(x) return x[{ { i, i + 20, step }, j }] end
    end,
    function(m, n)
        local i, j = below(m - 9), below(n - 7)
        return function(x) return x.T[{ { j, j + 7 }, { i, i + 9 } }] end
    end,
    function(m, n)
        local at, count = below(m * n - 90), 1 + below(90)
        return function(x) return np.flip(x:reshape(-1)[{ { at, at + count } }]) end
    end,
    function(m, n)
        local i, j = below(m), below(n - 6)
        return function(x) return np.broadcast_to(x[{ i, { j, j + 6 } }], { 3, 6 }) end
    end,
    function(m)
        local rows = places { below(m), -1 - below(m), m + below(9), -m - 5 }
        return function(x) return x:take(rows, { axis = 0 }) end
    end,
    function(_, n)
        local columns = np.array({ below(n), n - 1, below(n) }, { dtype = "u8" })
        return function(x) return x:take(columns, { axis = 1 }) end
    end,
    function(m, n)
        local at = places { below(m * n), -1, below(m * n), below(m * n) }
        return function(x) return x:reshape(-1):take(at) end
    end,
    function(m, n)
        local j, rows = below(n - 20), places { { below(m), 0 }, { below(m), -3 } }
        return function(x) return x[{ {}, { j, j + 20, 3 } }]:take(rows, { axis = 0 }) end
    end,
    function(m)
        local i = below(m)
        return function(x) return x[{ { i, i + 1 } }]:sum { axis = 1 } end
    end,
}

for name, draw in pairs(DRAWS) do
    check.test(("parts of %s (seed %d)"):format(name, seed), function()
        local dims = { 130, 131 }
        local whole = draw(dims)
        np.force(whole)
        for k, make in ipairs(VIEWS) do
            local view = make(dims[1], dims[2])
            same(view(draw(dims)), view(whole), ("view %d"):format(k))
        end
    end)
end

-- ---- Past all memory -----------------------------------------------------------------------------------------------

local function add(a, b) return bit.tobit(a + b) end
local function unsigned(word) return word % 2 ^ 32 end

--- threefry-2x32 with 20 rounds, as Salmon and others describe it: of a key and a counter, words of 32 bits.
local function threefry(k1, k2, x, y)
    local turns = { { 13, 15, 26, 6 }, { 17, 29, 16, 24 } }
    local keys = { [0] = bit.tobit(k1), bit.tobit(k2), bit.bxor(k1, k2, 0x1BD11BDA) }
    x, y = add(bit.tobit(x), keys[0]), add(bit.tobit(y), keys[1])
    for group = 1, 5 do
        for _, turn in ipairs(turns[(group - 1) % 2 + 1]) do
            x = add(x, y)
            y = bit.bxor(bit.rol(y, turn), x)
        end
        x, y = add(x, keys[group % 3]), add(add(y, keys[(group + 1) % 3]), group)
    end
    return unsigned(x), unsigned(y)
end

local HIGH, LOW = 123456789, 4000000000
local own = np.array({ HIGH, LOW }, { dtype = "u32" })
local N = 100000 -- rows and columns: 10^10 elements

--- The words that places of the draw hash to, exclusive or.
local function words(list)
    local out = {}
    for k, place in ipairs(list) do
        local i, j = place[1], place[2]
        local counter = i * N + j
        local hi, lo = threefry(HIGH, LOW, math.floor(counter / 2 ^ 32), counter % 2 ^ 32)
        out[k] = unsigned(bit.bxor(hi, lo))
    end
    return np.array(out, { dtype = "u32" })
end

local PLACES = { { 0, 0 }, { 1, 7 }, { 42949, 67295 }, { 42949, 67296 }, { 70001, 3 }, { N - 1, N - 1 } }
local function read(x)
    local parts = {}
    for k, place in ipairs(PLACES) do parts[k] = x[{ place[1], place[2] }] end
    return np.stack(parts)
end
local function little(name, f)
    check.test(name, function()
        local bytes = grown(f)
        check.ok(bytes < LITTLE, ("%d bytes"):format(bytes))
    end)
end

little("10^10 bits", function() same(read(random.bits(own, { N, N })), words(PLACES)) end)

little("10^10 uniform numbers, and maps of them", function()
    local x = random.uniform(own, { N, N })
    local expected = np.astype(np.bitwise_right_shift(words(PLACES), 9), "f32") * 2 ^ -23
    same(read(x), expected)
    same(read(x * 2 - 1), expected * 2 - 1)
    same(read(np.exp(x) + x), np.exp(expected) + expected)
    same(read(random.bernoulli(own, 0.25, { N, N })), np.less(expected, 0.25))
end)

little("10^10 normal numbers", function()
    local u = np.astype(np.bitwise_right_shift(words(PLACES), 9), "f32") * 2 ^ -23
    local low = np.nextafter(np.array(-1, { dtype = "f32" }), np.array(0, { dtype = "f32" }))
    local one, root = np.array(1, { dtype = "f32" }), np.array(math.sqrt(2), { dtype = "f32" })
    local expected = np.erf_inv(np.maximum(u * (one - low) + low, low)) * root
    local x = random.normal(own, { N, N })
    check.ok(np.array({ 1, 2 }):sum():item() == 3, "other work does not start it")
    same(read(x), expected)
    same(read(x + 1), expected + 1)
    same(x:take(places { N - 1 }, { axis = 0 })[{ 0, N - 1 }], expected[5])
end)

little("rows, columns and gathers of 10^10 integers", function()
    local x = random.randint(own, { N, N }, 0, 1000)
    local row = x[{ 70001, { 0, 5 } }]
    check.equal(tostring(row), tostring(x.T[{ { 0, 5 }, 70001 }]))
    check.equal(row[3]:item(), x:reshape(-1)[70001 * N + 3]:item())
    check.equal(row[3]:item(), x[{ { 70001, 70003 } }]:take(places { 0 }, { axis = 0 })[{ 0, 3 }]:item())
end)

little("a key of 10^10", function()
    local hi, lo = threefry(HIGH, LOW, 1, 5)
    check.equal(tostring(random.split(own, 10 ^ 10)[2 ^ 32 + 5]),
                tostring(np.array({ hi, lo }, { dtype = "u32" })))
end)

-- ---- In programs, batches, derivatives, on a mesh ------------------------------------------------------------------

little("jit, vmap, grad and loops of parts of 10^10", function()
    local function element(k, i) return random.normal(k, { N, N })[{ i, 3 }] end
    local expected = element(own, 77)
    same(np.jit(function(k) return element(k, 77) end)(own), expected)
    local keys = np.stack { own, random.key(3) }
    local batched = np.vmap(function(k) return element(k, 77) end)(keys)
    same(batched[0], expected)
    same(batched[1], element(random.key(3), 77))
    local slope = np.grad(function(w) return w * element(own, 77) end)(np.array(2.5))
    same(slope, expected)
    local taken = np.jit(function(k, i) return random.normal(k, { N, N }):take(i, { axis = 0 })[{ 0, 3 }] end)
    same(taken(own, places { 77 }), expected)
    local sum = np.fori_loop(0, 3, function(_, s) return s + element(own, 77) end, np.array(0))
    same(sum, expected + expected + expected)
end)

check.test("a program with part of a draw is saved and read again", function()
    local path = os.tmpname()
    np.trace(function(k) return random.normal(k, { N, N })[{ 5, { 2, 9 } }] end)(own):save(path)
    local program = np.load_program(path)
    check.ok(np.debug.verify(program))
    same(program(own), random.normal(own, { N, N })[{ 5, { 2, 9 } }])
end)

check.test("on every device of a mesh each draws its own part", function()
    local mesh = np.mesh({ 4 }, { "i" })
    local body = np.shard_map(function(x)
        local row = random.normal(own, { N, N }):take(np.axis_index "i":reshape(1), { axis = 0 })
        return x + row[{ 0, { 0, 2 } }]
    end, { mesh = mesh, in_specs = P "i", out_specs = P "i" })
    local out
    check.ok(grown(function() out = body(np.zeros(8)):wait() end) < LITTLE)
    same(out:reshape(4, 2), random.normal(own, { N, N })[{ { 0, 4 }, { 0, 2 } }])
end)

-- ---- Of what more is read ------------------------------------------------------------------------------------------

local function launches(f)
    local before = np.debug.counters().launches
    f()
    return np.debug.counters().launches - before
end

check.test("where half of it is asked for, all of it is drawn, once", function()
    local x = random.normal(own, { 200, 200 })
    local head, rest = x[{ { 0, 120 } }], x[{ { 120, 200 } }]
    local expected = random.normal(own, { 200, 200 })
    np.force(expected)
    same(head, expected[{ { 0, 120 } }])
    check.ok(grown(function() check.equal(rest[{ 0, 0 }]:item(), expected[{ 120, 0 }]:item()) end) < LITTLE)
    x = random.normal(own, { 200, 200 })
    for k = 0, 199 do same(x[{ k }], expected[{ k }]) end
    check.ok(launches(function() x[{ 7 }]:wait() end) <= 1)
end)

check.test("part and whole in one expression", function()
    local x, expected = random.uniform(own, { 200, 200 }), random.uniform(own, { 200, 200 })
    np.force(expected)
    same(x - x[{ 3 }], expected - expected[{ 3 }])
    local y, z = random.uniform(own, { 200, 200 }), random.uniform(own, { 200, 200 })
    same(y[{ 3, 4 }] + z, expected[{ 3, 4 }] + expected)
    same(np.sort(random.uniform(own, { 200, 200 })[{ 9 }]), np.sort(expected[{ 9 }]))
    same(random.uniform(own, { 200, 200 }):take(np.arange(199), { axis = 0 }), expected[{ { 0, 199 } }])
end)

check.test("np.explain shows what is drawn", function()
    local text = tostring(np.explain(random.normal(own, { N, N })[{ 0, 0 }] * 2))
    check.ok(text:find("random_hash", 1, true) and text:find("writes 4 B", 1, true), text)
end)

check.done()
