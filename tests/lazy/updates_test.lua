--- updates_test.lua (under tsan with --long): x:at{…}:set(v) and its kin touch what they write: chains of updates,
-- donated arrays, carries of loops. Bytes are counted (np.debug.counters().written), never times. Values are compared
-- with a mirror in Lua tables and with the same ops where each is waited for.
local check = require "tests.lib.check"
local np = require "neap"

local ROWS, WIDE = 20000, 8
local BYTES = ROWS * WIDE * 4

-- So many nodes may be pending: past that all of them are flushed.
local PENDING = 1024

--- The bytes that f makes kernels, calls and loops write.
local function written(f)
    np.wait_all()
    local before = np.debug.counters().written
    f()
    np.wait_all()
    return np.debug.counters().written - before
end

local function table_of() return np.zeros({ ROWS, WIDE }):wait() end
local function int(value) return np.array(value, { dtype = "i32" }) end
local row = (np.arange(WIDE, { dtype = "f32" }) + 1):wait()

-- ---- Chains ---------------------------------------------------------------------------------------------------------

check.test("a chain of updates copies what it updates once", function()
    local b = table_of()
    for _, n in ipairs { 1, 300, 900 } do
        local last
        local bytes = written(function()
            last = b
            for k = 1, n do last = last:at{ k * 7 % ROWS }:set(row * k) end
            last:wait()
        end)
        local flushes = math.ceil(2 * n / PENDING) -- of nodes: the value and the update
        check.ok(bytes < flushes * BYTES + n * 200, ("%d updates wrote %d bytes"):format(n, bytes))
        check.equal(last[{ n * 7, 3 }]:item(), 4 * n)
        check.equal(last[n * 7 % ROWS]:totable(), (row * n):totable())
    end
    check.equal(b:sum():item(), 0)
end)

check.test("3000 updates: a copy for each flush of what is pending", function()
    local last = table_of()
    local bytes = written(function()
        for k = 0, 2999 do last = last:at{ k, k % WIDE }:add(k) end
        last:wait()
    end)
    check.ok(bytes < math.ceil(3 * 3000 / PENDING) * BYTES + 3000 * 200, bytes)
    check.equal(last:sum():item(), 2999 * 3000 / 2)
end)

--- The elements of an array in order.
local function elements(x) return np.ravel(x):totable() end

--- Writes a number, or an array, over the part of x at integers, which are within it, and compares with a list.
local function try_set(x, place, value)
    local dims, want, first, inner = x.shape, elements(x), 0, 1
    for k = 1, #dims do
        local at = place[k] or 0
        first = first * dims[k] + (at < 0 and at + dims[k] or at)
        if k > #place then inner = inner * dims[k] end
    end
    local new = type(value) ~= "table" and type(value) ~= "number" and elements(value) or nil
    for k = 1, inner do want[first + k] = new and new[k] or not new and value end
    local before = elements(x)
    local result = x:at(place):set(value)
    check.equal(result.dtype, x.dtype)
    check.equal(result.shape, x.shape)
    check.equal(elements(result), want)
    check.equal(elements(x), before)
end

check.test("places at integers, for all dtypes", function()
    local shapes = { { 40 }, { 20, 3 }, { 8, 4, 5 }, { 1 }, { 4 }, { 3, 1 }, { 2, 2, 2 } }
    for _, dtype in ipairs { "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64" } do
        for _, dims in ipairs(shapes) do
            local size = 1
            for k = 1, #dims do size = size * dims[k] end
            local x = np.astype(np.arange(size):reshape(dims) % 50, dtype):wait()
            for _, pending in ipairs { false, true } do
                if pending then x = x + 1 end
                local place = {}
                for k = 1, #dims do
                    place[k] = dims[k] - 1
                    try_set(x, place, 7)
                    place[k] = -dims[k]
                    try_set(x, place, 0)
                    local part = x[place]
                    try_set(x, place, np.astype(np.zeros(part.shape) + 9, dtype))
                    try_set(x, place, part + part)
                end
            end
        end
    end
    local bools = np.zeros({ 9 }, { dtype = "bool" }):at{ 4 }:set(true):at{ -1 }:set(2)
    check.equal(bools:totable(), { false, false, false, false, true, false, false, false, true })
    local odd = np.zeros({ 9 }):at{ 3 }:set(0 / 0):at{ 4 }:set(math.huge):at{ 5 }:set(-0.0)
    check.ok(odd[3]:item() ~= odd[3]:item() and odd[4]:item() == math.huge and 1 / odd[5]:item() == -math.huge)
end)

check.test("what is no place at integers goes another way, or is refused", function()
    local x, ints = np.zeros({ 20, 3 }):wait(), np.zeros({ 20 }, { dtype = "i32" }):wait()
    check.raises(function() return x:at{ 20 } end, "index 20 is out of range for axis 0 of extent 20")
    check.raises(function() return x:at{ 0, -4 } end, "index %-4 is out of range for axis 1 of extent 3")
    check.raises(function() return x:at{ 0, 0, 0 } end, "3 indices for an array of 2 axes")
    check.raises(function() return x:at{ 0.5 } end, "array index")
    check.raises(function() return x:at{ 0 / 0 } end, "array index")
    check.raises(function() return x:at{ 1 }:set(np.ones({ 2 })) end, "does not broadcast")
    check.raises(function() return x:at{ 1 }:set("a") end, "must be a number")
    check.raises(function() return ints:at{ 1 }:set(2.5) end, "does not fit into dtype i32")
    check.raises(function() return ints:at{ 1 }:set(2 ^ 31) end, "does not fit into dtype i32")
    check.raises(function() return ints:at{ 1 }:set(0 / 0) end, "does not fit into dtype i32")
    check.equal(ints:at{ 3 }:set(np.array(2.75))[3]:item(), 2) -- cast, as ever
    check.equal(x:at{ 3 }:set(np.array { 5 })[3]:totable(), { 5, 5, 5 })
    local place = x:at{ 2, 1 }
    check.equal({ place:get():item(), place:set(4)[{ 2, 1 }]:item(), place:add(3)[{ 2, 1 }]:item(),
                  place:set(1):sum():item() }, { 0, 4, 3, 1 })
    local list = { 2, 1 }
    local kept = x:at(list)
    list[1] = 7 -- a place is what it was when it was named
    check.equal(kept:set(6)[{ 2, 1 }]:item(), 6)
    check.equal(tostring(kept), "the place x:at{…} of an array of shape (20, 3)")
    check.equal(np.vmap(function(one) return one:at{ 1 }:set(8) end)(x):sum():item(), 160)
    check.equal(np.grad(function(a) return (a:at{ 1 }:set(8) * 2):sum() end)(np.ones({ 9 })):totable(),
                { 2, 0, 2, 2, 2, 2, 2, 2, 2 })
    check.equal(np.grad(function(v) return (np.ones({ 9 }):at{ 1 }:set(v) * 2):sum() end)(np.array(3.0)):item(), 2)
    check.equal(np.jit(function(a) return np.ones({ 9 }):at{ 2 }:set(5) + a end)(1):totable(),
                { 2, 2, 6, 2, 2, 2, 2, 2, 2 })
    local gone = np.zeros({ 9 }):wait()
    gone:delete()
    check.raises(function() return gone:at{ 1 }:set(1) end, "deleted")
end)

--- Runs f where cycles of Lua's collector are taken to be short, so that what happens does not depend on times.
local function with_short_cycles(f)
    np.debug.collector { cycle_ns = 1 }
    local ok, problem = pcall(f)
    np.debug.collector {}
    if not ok then error(problem, 0) end
end

check.test("a loop that waits for each version copies hardly any", function()
    local n, turns = 500000, 40
    local loops = {
        wait = function(x)
            for k = 1, turns do
                x = x:at{ k }:set(k)
                x:wait()
            end
            return x
        end,
        item = function(x)
            for k = 1, turns do
                x = x:at{ k }:set(k)
                check.equal(x[k]:item(), k)
            end
            return x
        end,
        several = function(x)
            for k = 1, turns do
                for j = 0, 4 do x = x:at{ k + j }:set(k) end
                x = x:at{ { k + 1, k + 5 } }:set(0)
                x:wait()
            end
            return x
        end,
    }
    with_short_cycles(function()
        for name, loop in pairs(loops) do
            local last
            local bytes = written(function() last = loop(np.zeros({ n }):wait()) end)
            check.ok(bytes < 12 * 4 * n, ("%s: %d bytes"):format(name, bytes)) -- collectors look at old stacks, too
            check.equal(last:sum():item(), turns * (turns + 1) / 2)
        end
    end)
end)

check.test("versions that somebody holds are kept, and are not looked for at each turn", function()
    with_short_cycles(function()
        local x, versions = np.zeros({ 500000 }):wait(), {}
        versions[0] = x
        for k = 1, 20 do
            x = x:at{ k }:set(k)
            versions[k] = x
            x:wait()
        end
        for k = 0, 20 do check.equal(versions[k]:sum():item(), k * (k + 1) / 2) end
        local kept, view = x, x[{ { 1, 21 } }]
        for _ = 1, 9 do
            x = x:at{ 0 }:add(1)
            x:wait()
        end
        check.equal({ kept[0]:item(), x[0]:item(), view:sum():item() }, { 0, 9, 210 })
    end)
end)

check.test("one chain of each kind of place", function()
    local places = {
        function(k) return { k } end,
        function(k) return { { k, k + 3 } } end,
        function(k) return { {}, k % WIDE } end,
        function(k) return { { k, k + 8, 3 }, { 1, 4 } } end,
        function(k) return { { k + 3, k, -1 } } end,
        function(k) return { int(k) } end,
        function(k) return { int { k, k + 2 } } end,
        function(k) return { int(k), int(k % WIDE) } end,
        function(k) return { int { k, k + 1 }, { 2, 5 } } end,
    }
    for number, place in ipairs(places) do
        local last = table_of()
        local bytes = written(function()
            for k = 1, 60 do last = last:at(place(k)):add(1) end
            last:wait()
        end)
        local part = np.zeros({ ROWS, WIDE })[place(1)].size * 4
        check.ok(bytes < BYTES + 60 * (6 * part + 400), ("kind %d: %d bytes"):format(number, bytes))
    end
end)

check.test("dynamic programming: each value is made of those before it", function()
    local d = np.zeros({ ROWS }):at{ 1 }:set(1)
    local bytes = written(function()
        for k = 2, 250 do d = d:at{ k }:set((d[k - 1] + d[k - 2]) % 1000) end
        d:wait()
    end)
    check.ok(bytes < 2 * ROWS * 4 + 250 * 100, bytes)
    local a, b = 0, 1
    for _ = 2, 250 do a, b = b, (a + b) % 1000 end
    check.equal(d[250]:item(), b)
end)

check.test("a ring of rows, written one by one, with minibatches between", function()
    local ring, sums = table_of(), {}
    local bytes = written(function()
        for k = 0, 99 do
            ring = ring:at{ k % 50 }:set(row * k)
            sums[k] = ring[int { k % 50, (k + 7) % 50 }]:sum()
        end
        np.force(unpack(sums, 0, 99))
    end)
    check.ok(bytes < 2 * BYTES + 100 * 500, bytes)
    check.equal(sums[60]:item(), row:sum():item() * (60 + 17))
end)

-- ---- Old versions ---------------------------------------------------------------------------------------------------

check.test("versions that somebody reads keep their values", function()
    local x = np.arange(ROWS, { dtype = "f32" }):wait()
    local a = x:at{ 0 }:set(-1)
    local b = a:at{ 1 }:set(-2)
    local sum = a[{ { 0, 3 } }] * 2 -- read where b is made already
    check.equal((b[{ { 0, 3 } }] + sum):totable(), { -3, 0, 6 })
    local c = b:at{ 2 }:set(-3)
    local both = np.where(np.array{ true, false, true }, a[{ { 0, 3 } }], c[{ { 0, 3 } }])
    check.equal(both:totable(), { -1, -2, 2 })
    check.equal(a[{ { 0, 3 } }]:totable(), { -1, 1, 2 })
    check.equal(b[{ { 0, 3 } }]:totable(), { -1, -2, 2 })
    check.equal(x[{ { 0, 3 } }]:totable(), { 0, 1, 2 })
    local left, right = c:at{ 3 }:set(7), c:at{ 3 }:set(8)
    local joined = left[{ { 0, 5 } }] * 10 + right[{ { 0, 5 } }]
    check.equal(joined:totable(), { -11, -22, -33, 78, 44 })
end)

check.test("equal updates are made once", function()
    local x, starts = np.zeros({ ROWS }):wait(), np.array({ 0 }, { dtype = "i64" }):wait()
    local five, six = np.array({ 5 }):wait(), np.array({ 6 }):wait() -- a Lua number is equal to none
    local function put(y, v) return np.dynamic_update_slice(y, v, starts) end
    local both
    local bytes = written(function()
        local a, b = put(x, five), put(x, five)
        both = put(a, six)[{ { 0, 2 } }] + put(b, six)[{ { 0, 2 } }]
        both:wait()
    end)
    check.equal(both:totable(), { 12, 0 })
    check.ok(bytes < ROWS * 4 + 500, bytes)
    local a, b = put(x, five), put(x, five)
    local c = put(a, six)
    np.force(c, b)
    check.equal({ a[0]:item(), b[0]:item(), c[0]:item(), x[0]:item() }, { 5, 5, 6, 0 })
end)

check.test("all versions of a chain, asked for later, and in any order", function()
    local versions = { [0] = np.zeros({ 64 }) }
    for k = 1, 40 do versions[k] = versions[k - 1]:at{ k }:set(k) end
    versions[40]:wait()
    for k = 1, 40 do
        local at = k * 17 % 41
        check.equal(versions[at]:sum():item(), at * (at + 1) / 2)
    end
    local more = { [0] = np.zeros({ 64 }) }
    for k = 1, 40 do more[k] = more[k - 1]:at{ k }:set(more[k - 1][k - 1] + 1) end
    np.force(more[13], more[40], more[27])
    for k = 40, 0, -1 do check.equal(more[k]:sum():item(), k * (k + 1) / 2) end
end)

check.test("a callback that reads a version may ask for the next", function()
    local seen
    local a = np.zeros({ ROWS }):at{ 0 }:set(1)
    local b = a:at{ 0 }:set(2)
    np.callback(function(value) seen = { value[0]:item(), b[0]:item() } end)(a)
    np.effects_barrier()
    check.equal(seen, { 1, 2 })
    check.equal(a[0]:item(), 1)
    local step = np.jit(function(x)
        local first = x:at{ 0 }:set(5)
        np.callback(function(value) seen = { value[0]:item(), b and b[0]:item() or 6 } end)(first)
        return first:at{ 0 }:set(6)
    end)
    b = nil -- the function may be called before there is a result, or after
    b = step(np.zeros({ ROWS }))
    np.effects_barrier()
    check.equal(seen, { 5, 6 })
    check.equal(b[0]:item(), 6)
end)

check.test("a failure reaches the versions that are made of it, and no others", function()
    local x = np.zeros({ ROWS }):wait()
    local a = x:at{ 0 }:set(1)
    local bad = np.callback(function() error "broken" end, { result = { shape = {}, dtype = "f32" } })()
    local b = a:at{ 1 }:set(bad)
    local c = b:at{ 2 }:set(3)
    check.raises(function() return c[5]:item() end, "broken")
    check.equal(a[{ { 0, 3 } }]:totable(), { 1, 0, 0 })
    check.equal(x[0]:item(), 0)
    pcall(np.wait_all)
end)

-- ---- Against a mirror -----------------------------------------------------------------------------------------------

local apply = {
    set = function(_, new) return new end,
    add = function(old, new) return old + new end,
    mul = function(old, new) return old * new end,
    min = math.min,
    max = math.max,
}

--- One random update, as {how, place, value}, and the flat indices (from 0) that it writes, of an array (n, m).
local function draw(random, n, m)
    local hows, kind = { "set", "add", "mul", "min", "max" }, random(6)
    local how, value = hows[random(5)], random(3)
    local i, j, flat = random(0, n - 1), random(0, m - 1), {}
    local place
    if kind == 1 then
        place, flat = { i, j }, { i * m + j }
    elseif kind == 2 then
        place = { i - n }
        for k = 0, m - 1 do flat[#flat + 1] = i * m + k end
    elseif kind == 3 then
        local from, step = random(0, 1), random(1, 2)
        place = { { from, n, step }, j }
        for k = from, n - 1, step do flat[#flat + 1] = k * m + j end
    elseif kind == 4 then
        place = { int(i - (random(2) - 1) * n), int(j) }
        flat = { i * m + j }
    elseif kind == 5 then
        place = { { nil, i, -1 }, { j } }
        for k = n - 1, i + 1, -1 do
            for l = j, m - 1 do flat[#flat + 1] = k * m + l end
        end
    else
        if how == "mul" then how = "add" end
        place = { {}, int { j, (j + 1) % m } }
        for k = 0, n - 1 do
            flat[#flat + 1] = k * m + j
            flat[#flat + 1] = k * m + (j + 1) % m
        end
    end
    return how, place, value, flat
end

local function generator(seed)
    local state = seed
    return function(low, high)
        if not high then low, high = 1, low end
        state = (state * 1103515245 + 12345) % 2 ^ 31
        return low + math.floor(state / 2 ^ 16) % (high - low + 1)
    end
end

--- Random updates of small arrays, with old versions kept, read and waited for now and then.
local function compare_with_mirror(dtype, seed, eagerly)
    local random = generator(seed)
    local n, m = random(1, 9), random(1, 9)
    local x, mirror, versions = np.zeros({ n, m }, { dtype = dtype }), {}, {}
    for k = 0, n * m - 1 do mirror[k] = 0 end
    for _ = 1, 25 do
        local how, place, value, flat = draw(random, n, m)
        if dtype == "bool" then how, value = "set", value % 2 end
        x = x:at(place)[how](x:at(place), dtype == "bool" and value == 1 or value)
        local new = {}
        for k = 0, n * m - 1 do new[k] = mirror[k] end
        for _, k in ipairs(flat) do new[k] = math.min(apply[how](new[k], value), 100) end
        x, mirror = dtype == "bool" and x or np.minimum(x, 100), new
        if dtype ~= "bool" and random(4) > 1 then x = x:at{ 0, 0 }:add(0) end
        if random(5) == 1 then versions[#versions + 1] = { x, mirror } end
        if eagerly or random(9) == 1 then x:wait() end
    end
    versions[#versions + 1] = { x, mirror }
    for k = #versions, 1, -1 do
        local got, want = versions[k][1]:ravel():totable(), versions[k][2]
        for e = 1, n * m do
            local value = got[e]
            if dtype == "bool" then value = value and 1 or 0 end
            if value ~= want[e - 1] then
                return ("%s, seed %d: version %d, element %d: %s, not %s"):format(dtype, seed, k, e - 1, value,
                                                                                 want[e - 1])
            end
        end
    end
end

for _, dtype in ipairs { "bool", "u8", "i8", "i16", "i32", "i64", "u32", "u64", "f32", "f64" } do
    check.test("random updates of " .. dtype, function()
        for seed = 1, 12 do
            check.equal(compare_with_mirror(dtype, seed, false), nil)
            check.equal(compare_with_mirror(dtype, seed, true), nil)
        end
    end)
end

-- ---- Donation -------------------------------------------------------------------------------------------------------

check.test("a donated array is written in place", function()
    local put = np.jit(function(b, i, v) return b:at{ i }:set(v) end, { donate = { 1 } })
    local b = put(table_of(), 0, row)
    local bytes = written(function()
        for k = 1, 20 do b = put(b, k, row) end
    end)
    check.ok(bytes < 20 * 200, bytes)
    check.equal(b:sum():item(), 21 * row:sum():item())
    local keep = b[3]
    bytes = written(function() b = put(b, 3, row * 2) end)
    check.ok(bytes >= BYTES, "a view of it was there: " .. bytes)
    check.equal({ keep[0]:item(), b[{ 3, 0 }]:item() }, { 1, 2 })
end)

check.test("an array that was deleted is written in place, if nothing else refers to it", function()
    local b = table_of()
    local bytes = written(function()
        for k = 0, 19 do
            local old = b
            b = b:at{ k }:set(row)
            old:delete()
            b:wait()
        end
    end)
    check.ok(bytes < 20 * 300, bytes)
    check.equal(b:sum():item(), 20 * row:sum():item())
    local view, old, twice = b[0], b, b * 2
    b = b:at{ 0 }:set(0)
    old:delete()
    check.equal({ b[{ 0, 0 }]:item(), view[0]:item(), twice[{ 0, 0 }]:item() }, { 0, 1, 2 })
    local again = b:at{ 1 }:set(0)
    local sum = b:sum() -- pending, of the array that goes
    b:delete()
    check.equal({ again[{ 1, 0 }]:item(), sum:item() }, { 0, 19 * row:sum():item() })
end)

check.test("what was read before, or is read in the same call, is right", function()
    local step = np.jit(function(cache, k, q)
        local longer = cache:at{ k }:set(q + cache[k])
        return longer, (longer * q):sum{ axis = 1 }[{ { 0, 3 } }]
    end, { donate = { 1 } })
    local cache = table_of()
    local before = cache * 3 + 1
    local longer, scores = step(cache, 1, row)
    check.equal(scores:totable(), { 0, (row * row):sum():item(), 0 })
    check.equal(before[1]:totable(), np.ones({ WIDE }):totable())
    check.equal(longer[1]:totable(), row:totable())
    check.raises(function() return cache:sum() end, "donated")
    local old = np.jit(function(b, k) return b:at{ k }:set(7), b:sum() end, { donate = { 1 } })
    local new, sum = old(longer, 0)
    check.equal({ new[{ 0, 0 }]:item(), sum:item() }, { 7, row:sum():item() })
end)

-- ---- Loops ----------------------------------------------------------------------------------------------------------

--- Bytes that a loop writes beyond what it writes in no turn at all.
local function per_turn(turns, loop)
    local function run(n) return written(function() loop(n):wait() end) end
    return (run(turns + 2) - run(2)) / turns
end

check.test("carries that turns update are written in place", function()
    local b = table_of()
    local loops = {
        fori = function(n) return np.fori_loop(0, n, function(i, c) return c:at{ i }:set(row * i) end, b) end,
        add = function(n) return np.fori_loop(0, n, function(i, c) return c:at{ i }:add(row) end, b) end,
        reads = function(n) return np.fori_loop(1, n + 1, function(i, c) return c:at{ i }:set(c[i - 1] + 1) end, b) end,
        element = function(n)
            return np.fori_loop(0, n, function(i, c) return c:at{ i, i % WIDE }:mul(3):at{ i, 0 }:max(1) end, b)
        end,
        slice = function(n)
            return np.fori_loop(0, n, function(i, c)
                return np.dynamic_update_slice_in_dim(c, row:reshape(1, WIDE), i)
            end, b)
        end,
        column = function(n)
            return np.fori_loop(0, n, function(i, c) return c:at{ { 5, 9 }, i % WIDE }:set(i) end, b)
        end,
        ["while"] = function(n)
            return np.while_loop(function(s) return s[1]:lt(n) end,
                                 function(s) return { s[1] + 1, s[2]:at{ s[1] }:set(s[2][s[1]] + row) } end,
                                 { int(0), b })[2]
        end,
        scan = function(n)
            return (np.scan(function(c, i) return c:at{ i }:set(row), c[i]:sum() end, b, np.arange(n)))
        end,
    }
    for name, loop in pairs(loops) do
        local bytes = per_turn(100, loop)
        check.ok(bytes < 600, ("%s: %d bytes a turn"):format(name, bytes))
    end
    check.equal(loops.reads(9)[{ {}, 0 }][{ { 0, 11 } }]:totable(), { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0 })
    check.equal(loops.element(9):sum():item(), 9)
    check.equal(b:sum():item(), 0)
end)

check.test("what a loop ends with is its carry, copied once", function()
    for _, n in ipairs { 1, 100, 4095, 4096, 4097, 8191, 100000, 300001 } do
        local x = np.arange(n, { dtype = "f32" }):wait()
        local run = np.jit(function(t, turns)
            return np.fori_loop(0, 2, function(i, c) return c:at{ i * (n - 1) }:add(turns) end, t)
        end)
        run(x, 1):wait()
        local result
        local bytes = written(function() result = run(x, 3) end)
        check.ok(n < 1e4 or bytes < 4 * n + 1000, ("%d elements: %d bytes"):format(n, bytes))
        check.ok((result - x):sum():item() == 6, n)
        check.equal({ result[0]:item(), result[-1]:item() }, n > 1 and { 3, n + 2 } or { 6, 6 })
        check.ok((result[{ { 1, -1 } }] - x[{ { 1, -1 } }]):abs():sum():item() == 0, n)
        check.equal(x[-1]:item(), n - 1)
        local doubled = np.jit(function(t) -- what is behind the loop writes over what it made, not over x
            return np.fori_loop(0, 2, function(_, c) return c:at{ 0 }:add(1) end, t) * 2
        end)(x)
        check.equal({ doubled[0]:item(), doubled[-1]:item() }, { 4, n > 1 and 2 * n - 2 or 4 })
    end
end)

check.test("carries that turns read after the update, swap or hand out are right", function()
    local x = np.arange(6, { dtype = "f32" }):wait()
    local old = np.fori_loop(0, 3, function(i, c)
        local new = c[1]:at{ i }:set(9)
        return { new, c[1] + 0 * new }
    end, { x, x })
    check.equal({ old[1]:totable(), old[2]:totable() }, { { 9, 9, 9, 3, 4, 5 }, { 9, 9, 2, 3, 4, 5 } })
    local shifted = np.fori_loop(0, 3, function(i, c) return { c[1]:at{ i }:set(9), c[1] } end, { x, x })
    check.equal({ shifted[1]:totable(), shifted[2]:totable() }, { { 9, 9, 9, 3, 4, 5 }, { 9, 9, 2, 3, 4, 5 } })
    local swapped = np.fori_loop(0, 3, function(i, c) return { c[2]:at{ i }:set(9), c[1] } end, { x, x * 2 })
    check.equal({ swapped[1]:totable(), swapped[2]:totable() }, { { 9, 2, 9, 6, 8, 10 }, { 0, 9, 2, 3, 4, 5 } })
    local last, all = np.scan(function(c, i) return c:at{ i }:set(-1), c end, x, np.arange(3))
    check.equal(last:totable(), { -1, -1, -1, 3, 4, 5 })
    check.equal(all:totable(), { { 0, 1, 2, 3, 4, 5 }, { -1, 1, 2, 3, 4, 5 }, { -1, -1, 2, 3, 4, 5 } })
    for turns = 0, 3 do
        check.equal(np.fori_loop(0, turns, function(i, c) return c:at{ i }:add(10) end, x):sum():item(),
                    15 + 10 * turns)
    end
    local twice = np.fori_loop(0, 2, function(i, c)
        local new = c[1]:at{ i }:set(7)
        return { new, new }
    end, { x, x })
    check.equal({ twice[1]:totable(), twice[2]:totable() }, { { 7, 7, 2, 3, 4, 5 }, { 7, 7, 2, 3, 4, 5 } })
end)

check.test("loops inside of loops, and branches inside of them", function()
    local n = 12
    local grid = np.fori_loop(0, n, function(i, d)
        return np.fori_loop(0, n, function(j, e) return e:at{ i, j }:set(i * 100 + j) end, d)
    end, np.zeros({ n, n }))
    local want = np.arange(n):reshape(n, 1) * 100 + np.arange(n)
    check.equal(grid:totable(), want:totable())
    local odd = np.fori_loop(0, n, function(i, d)
        return np.cond((i % 2):equal(1), function() return d:at{ i }:set(1) end, function() return d end)
    end, np.zeros({ n }))
    check.equal(odd:sum():item(), n / 2)
end)

--- The distance between two texts, by a table that is filled row by row.
local function edit_distance(a, b)
    local first, second = int { a:byte(1, -1) }, int { b:byte(1, -1) }
    local n, m = #a, #b
    local start = np.zeros({ n + 1, m + 1 }, { dtype = "i32" }):at{ 0 }:set(np.arange(m + 1))
    local filled = np.fori_loop(1, n + 1, function(i, d)
        local above = d[i - 1]
        local cost = np.astype(second:not_equal(first[i - 1]), "i32")
        local best = np.minimum(above[{ { 1 } }] + 1, above[{ { 0, m } }] + cost)
        local whole = np.concatenate { i:reshape(1), best } - np.arange(m + 1)
        return d:at{ i }:set(-np.cummax(-whole) + np.arange(m + 1))
    end, start)
    return filled[{ n, m }]:item()
end

check.test("edit distance", function()
    check.equal(edit_distance("kitten", "sitting"), 3)
    check.equal(edit_distance("saturday", "sunday"), 3)
    check.equal(edit_distance("a", "bbbb"), 4)
end)

check.test("decoding with a cache: in a loop, and step by step with a donated one", function()
    local T, D = 2048, 32
    local tokens = (np.arange(T * D, { dtype = "f32" }):reshape(T, D) % 7 / 7):wait()
    local function attend(cache, t, q)
        local longer = cache:at{ t }:set(q)
        local scores = longer:matmul(q:reshape(D, 1)):reshape(T)
        local seen = np.where(np.arange(T):less_equal(t), scores, -1e9)
        return longer, np.softmax(seen):reshape(1, T):matmul(longer):reshape(D)
    end
    local cache = np.zeros({ T, D }):wait()
    local bytes = per_turn(8, function(n)
        return np.fori_loop(0, n, function(t, c)
            local longer, out = attend(c[1], t, tokens[t])
            return { longer, out }
        end, { cache, np.zeros({ D }) })[2]
    end)
    check.ok(bytes < T * D * 4 / 2, bytes) -- the scores, but no cache
    local step = np.jit(attend, { donate = { 1 } })
    local out
    cache = step(cache, 0, tokens[0])
    bytes = written(function()
        for t = 1, 8 do cache, out = step(cache, t, tokens[t]) end
    end)
    check.ok(bytes < 8 * T * D * 4 / 2, bytes)
    local looped = np.fori_loop(0, 9, function(t, c)
        local longer, result = attend(c[1], t, tokens[t])
        return { longer, result }
    end, { np.zeros({ T, D }), np.zeros({ D }) })
    check.equal(looped[1]:equal(cache):all():item(), true)
    check.equal(looped[2]:equal(out):all():item(), true)
end)

-- ---- Derivatives and batches ----------------------------------------------------------------------------------------

check.test("gradients of chains, eager and jitted, and in loops", function()
    local function chain(x, v)
        local y = x
        for k = 0, 4 do y = y:at{ k }:set(v[k] * y[k + 1]) end
        return (y * y):sum()
    end
    local function plain(x, v)
        local parts = {}
        for k = 0, 4 do parts[k + 1] = (v[k] * x[k + 1]):reshape(1) end
        parts[6] = x[{ { 5 } }]
        local y = np.concatenate(parts)
        return (y * y):sum()
    end
    local x, v = np.arange(8, { dtype = "f32" }) + 1, np.arange(5, { dtype = "f32" }) / 4 + 1
    local want = { np.grad(plain, { argnums = { 1, 2 } })(x, v) }
    for _, f in ipairs { np.grad(chain, { argnums = { 1, 2 } }), np.jit(np.grad(chain, { argnums = { 1, 2 } })) } do
        local got = { f(x, v) }
        check.equal({ got[1]:totable(), got[2]:totable() }, { want[1]:totable(), want[2]:totable() })
    end
    local function looped(a)
        return np.fori_loop(0, 5, function(i, c) return c:at{ i }:set(c[i] * c[i + 1]) end, a):sum()
    end
    local function unrolled(a)
        for k = 0, 4 do a = a:at{ k }:set(a[k] * a[k + 1]) end
        return a:sum()
    end
    check.equal(np.grad(looped)(x):totable(), np.grad(unrolled)(x):totable())
end)

check.test("batches of updates", function()
    local x = np.arange(24, { dtype = "f32" }):reshape(4, 6)
    local places, values = int { 0, 5, 2, -1 }, np.array { 10, 20, 30, 40 }
    local f = function(a, i, v) return a:at{ i }:set(v):at{ 1 }:add(v) end
    local got = np.vmap(f)(x, places, values)
    for k = 0, 3 do check.equal(got[k]:totable(), f(x[k], places[k], values[k]):totable()) end
    local loop = function(a, v) return np.fori_loop(0, 4, function(i, c) return c:at{ i }:set(v + c[i + 1]) end, a) end
    got = np.vmap(loop)(x, values)
    for k = 0, 3 do check.equal(got[k]:totable(), loop(x[k], values[k]):totable()) end
end)

check.test("nothing stays pending, and memory does not grow", function()
    local z, t = np.zeros({ 1000 }):wait(), np.ones({ 200000 }):wait()
    local places = (np.arange(200000) * 7):wait()
    local most = 0
    np.wait_all()
    for turn = 1, 40 do
        z:at{ places % 1000 }:add(t):wait()
        check.equal(np.debug.counters().pending, 0)
        if turn > 5 then most = math.max(most, tonumber(np.memory().live)) end
    end
    collectgarbage()
    collectgarbage()
    check.ok(most < tonumber(np.memory().live) + 64 * 2 ^ 20, most)
end)

check.done()
