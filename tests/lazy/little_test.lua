--- little_test.lua (under tsan with --long): of a large array of which little is read, only that is computed and
-- stored: past the limit of pending bytes too, on a mesh, and however often it is read. Counted in bytes of memory, at
-- sizes far past the limit.
local check = require "tests.lib.check"
local np = require "neap"
local programs = require "tests.lib.programs"

require "tests.lib.devices" (4, "tests/lazy/little_test.lua")

local P = np.P
local line, square = np.mesh({ 4 }, { "i" }), np.mesh({ 2, 2 }, { "i", "j" })
local N, SIDE = 4000000, 2000
local LITTLE = 64 * 1024 -- bytes; the arrays have 16 MB
np.debug.limits { nodes = 1024, bytes = 2 ^ 20 }

--- The bytes that memory grew by, at most, while f ran; what was live before stays. What is pending stays that, which
-- np.wait_all would compute.
local function grown(f)
    for _ = 1, 2 do np.memory.trim() end
    np.memory.reset_peak()
    local before = np.memory().live
    f()
    return tonumber(np.memory().peak - before)
end

local function chain(x)
    for _ = 1, 20 do x = np.sin(x) + 1 end
    return x
end

--- make() gives an array; index(x, k) reads little of it, for k from 1 on, as an array that is looked at.
local function reads_little(name, make, index, expected)
    check.test("little is stored to read " .. name, function()
        local x
        check.ok(grown(function() x = make() end) < LITTLE, "making it stores nothing")
        for k = 1, 4 do
            local bytes = grown(function()
                local part = index(x, k)
                check.equal(tostring(part:astype "f64"), tostring(expected(k):astype "f64"))
            end)
            check.ok(bytes < LITTLE, ("read %d stored %d bytes"):format(k, bytes))
        end
    end)
end

local function ends(x, k) return np.stack { x[k], x[-k], x[x.shape[1] / 2] } end
local function numbers(f)
    return function(k) return np.stack { np.array(f(k)), np.array(f(N - k)), np.array(f(N / 2)) } end
end
local function lines(f)
    return function(make, ...)
        local args = { ... }
        return function() return f(make(unpack(args))) end
    end
end
local whole = lines(function(x) return x end)
local over_mesh = lines(function(x) return np.device_put(x, line, P "i") end)
local function same(k) return k end

reads_little("arange", whole(np.arange, N), ends, numbers(same))
reads_little("arange on a mesh", over_mesh(np.arange, N), ends, numbers(same))
reads_little("arange on every device", lines(function(x) return np.device_put(x, line, P()) end)(np.arange, N), ends,
             numbers(same))
reads_little("a map of arange", lines(function(x) return x * 2 + 1 end)(np.arange, N), ends,
             numbers(function(k) return 2 * k + 1 end))
reads_little("a map of arange on a mesh", lines(function(x) return np.device_put(x, line, P "i") + 1 end)(np.arange, N),
             ends, numbers(function(k) return k + 1 end))

local function chained(k) return chain(np.array({ k }, { dtype = "f32" }))[0]:item() end
local function chained_part(k) return np.array({ chained(k), chained(N - k), chained(N / 2) }, { dtype = "f32" }) end
reads_little("a long chain of maps", lines(chain)(np.arange, N, { dtype = "f32" }), ends, chained_part)
reads_little("a long chain of maps on a mesh",
             lines(function(x) return chain(np.device_put(x, line, P "i")) end)(np.arange, N, { dtype = "f32" }), ends,
             chained_part)

local function corner(x, k) return x[{ { k, k + 2 }, { k, k + 3 } }] end
local function squares(f)
    return function(k)
        local rows = {}
        for i = 1, 2 do
            rows[i] = {}
            for j = 1, 3 do rows[i][j] = f(k + i - 1, k + j - 1) end
        end
        return np.array(rows)
    end
end
local function delta(i, j) return i == j and 1 or 0 end
local over_square = lines(function(x) return np.device_put(x, square, P("i", "j")) end)
reads_little("eye", whole(np.eye, SIDE), corner, squares(delta))
reads_little("eye on a mesh", over_square(np.eye, SIDE), corner, squares(delta))
reads_little("a map of eye on a mesh", lines(function(x) return np.device_put(x, square, P("i", "j")) * 3 end)(np.eye,
             SIDE), corner, squares(function(i, j) return 3 * delta(i, j) end))
local function broadcast() return np.broadcast_to(np.arange(SIDE, { dtype = "f32" }), { SIDE, SIDE }) end
reads_little("broadcast", broadcast, corner, squares(function(_, j) return j end))
reads_little("broadcast on a mesh", over_square(broadcast), corner, squares(function(_, j) return j end))
reads_little("an outer product", function()
    local x = np.arange(SIDE, { dtype = "f32" })
    return x[{ {}, np.newaxis }] * x[{ np.newaxis, {} }]
end, corner, squares(function(i, j) return i * j end))

-- ---- Of data -------------------------------------------------------------------------------------------------------

local data = (np.arange(N, { dtype = "f32" }) % 1000 + 0.5):wait()
local shared_out = (np.device_put(data, line, P "i") + 1):wait()

check.test("a slice of a map of data is read before the map, which is past the limit, has started", function()
    local x
    local bytes = grown(function()
        x = np.sqrt(data)
        check.equal(x[7]:item(), np.sqrt(np.array({ 7.5 }, { dtype = "f32" }))[0]:item())
        check.equal(tostring(x[{ { 3, 5 } }]), tostring(np.sqrt(np.array({ 3.5, 4.5 }, { dtype = "f32" }))))
    end)
    check.ok(bytes < LITTLE, bytes)
    local s, t = x[1], np.sqrt(data)[2] -- several that only slices read
    check.ok(grown(function() s, t = s:item(), t:item() end) < LITTLE)
    check.ok(grown(function() np.force(x) end) >= 4 * N, "what is asked for is stored")
end)

check.test("a slice of a divided array, and of a map of it", function()
    local bytes = grown(function()
        check.equal(tostring(ends(shared_out, 1)), "[   2.5 1000.5    1.5]")
        check.equal(tostring((shared_out * 2)[{ { 0, 2 } }]), "[3. 5.]")
    end)
    check.ok(bytes < LITTLE, bytes)
end)

check.test("what is past the limit and was followed by other work starts", function()
    local x = np.sqrt(data)
    local before = np.memory().allocations
    local y = np.exp(data)
    check.ok(np.memory().allocations > before, "sqrt has started, as exp was recorded")
    check.close(x[0]:item(), math.sqrt(0.5), 1e-6)
    check.close(y[0]:item(), math.exp(0.5), 1e-6)
end)

-- ---- Read again ----------------------------------------------------------------------------------------------------

check.test("work is shared once half of the elements were asked for", function()
    local x = np.log(data) * 2
    local quarter = N / 4
    check.close(x[0]:item(), 2 * math.log(0.5), 1e-6)
    local function stored(k)
        return grown(function() x[{ { k * quarter, (k + 1) * quarter - 1 } }]:sum():wait() end)
    end
    check.ok(stored(0) < 4 * quarter)
    check.ok(stored(1) < 4 * N, "less than half was read")
    check.ok(stored(2) >= 4 * N, "now more than half is: it is stored")
    check.ok(stored(3) < 4 * quarter, "and read from there")
end)

check.test("what is asked for again is stored, and not each step of the way to it", function()
    local x = data
    for _ = 1, 10 do x = np.sqrt(x) + 1 end
    local before = np.debug.counters().launches
    x:sum():wait()
    local bytes = grown(function() x:max():wait() end)
    check.ok(bytes >= 4 * N and bytes < 8 * N, bytes)
    check.equal(tonumber(np.debug.counters().launches - before), 2)
    check.ok(grown(function() x:min():wait() end) < LITTLE)
end)

check.test("results and bits are those of storing everything", function()
    local function program(x, keep)
        local a = keep(np.sqrt(x))
        local b = keep(a * 2 + np.sin(a))
        return { b[{ { 3, 9 } }], a[{ { 0, 5 } }] + b[{ { 1, 6 } }], b[-1], keep(b:sum()) }
    end
    local fused = program(data, function(x) return x end)
    local apart = program(data, function(x) return x:wait() end)
    for k = 1, #fused do check.equal(programs.hash(fused[k]), programs.hash(apart[k])) end
end)

check.done()
