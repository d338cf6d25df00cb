--- half_test.lua (sanitized with --long): f16 and bf16: every bit pattern, every map against that of f32, roundings at
-- every tie, fused and jitted code against op by op, sums and products through f32.
local check = require "tests.lib.check"
local values = require "tests.lib.values"
local np = require "neap"

local HALVES = { "f16", "bf16" }

--- Runs f for both dtypes.
local function test(name, f)
    for _, half in ipairs(HALVES) do
        check.test(half .. ": " .. name, function() f(half, np.finfo(half)) end)
    end
end

--- All numbers of the dtype, by their bits.
local function all_of(half) return np.arange(65536, { dtype = "u16" }):view(half) end

local same
function same(x, y)
    if x.dtype ~= y.dtype then return false end
    if np.iscomplexobj(x) then return same(x.real, y.real) and same(x.imag, y.imag) end
    local equal = np.logical_or(np.equal(x, y), np.logical_and(np.isnan(x), np.isnan(y)))
    return np.all(np.logical_and(equal, np.logical_or(np.equal(np.signbit(x), np.signbit(y)), np.isnan(x)))):item()
end

test("norms do not leave the range by squares", function(half)
    local x = np.full({ 3, 4 }, 1000, { dtype = half })
    for _, norm in ipairs { np.linalg.norm(x), np.linalg.vector_norm(x), np.linalg.matrix_norm(x) } do
        check.equal({ norm.dtype, norm:item() }, { half, np.array(3464.1016):astype(half):item() })
    end
    check.equal(np.linalg.norm(x, { axis = 1 }):totable(), { 2000, 2000, 2000 })
end)

check.test("a text is read as a half that is rounded once", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("a\n1.00048828218\n") -- next to 1 + 2^-11, the tie that f32 makes of it
    file:close()
    local table = np.io.read_csv(path, { dtype = "f16" })
    os.remove(path)
    check.equal({ table.a.dtype, table.a:totable() }, { "f16", { 1.0009765625 } })
end)

test("as f32 and f64 and back each pattern is itself", function(half)
    local x = all_of(half)
    for _, wide in ipairs { "f32", "f64" } do check.ok(same(x:astype(wide):astype(half), x), wide) end
    local bits, list = np.arange(65536, { dtype = "u16" }), x:totable()
    check.ok(same(np.array(list), x:astype "f32"), "Lua reads what casts give")
    local back = np.where(np.isnan(x), bits, x:view "u16")
    check.ok(np.all(np.equal(back, bits)):item(), "bits")
end)

test("numbers between two neighbours round once, to the nearer one, ties to the even one", function(half, limits)
    local bits = np.arange(0, limits.max == 65504 and 0x7bff or 0x7f7f, 1, { dtype = "u16" })
    local low, high = bits:view(half), (bits + 1):view(half)
    local a, b = low:astype "f64", high:astype "f64"
    local middle = (a + b) / 2
    local even = np.where(np.equal(np.bitwise_and(bits, 1), 0), low, high)
    for sign = -1, 1, 2 do
        local function rounds(x, to) return same((x * sign):astype(half), to * sign) end
        check.ok(rounds(middle, even), "ties")
        -- Closer to the tie than f32 can say: what was rounded to that first would be a tie.
        check.ok(rounds(middle * (1 - 2 ^ -40), low), "below ties")
        check.ok(rounds(middle * (1 + 2 ^ -40), high), "above ties")
        check.ok(rounds(a + (b - a) * 0.25, low) and rounds(a + (b - a) * 0.75, high), "quarters")
        local f = middle:astype "f32"
        check.ok(same((f * sign):astype(half), even * sign), "ties of f32")
    end
end)

test("what is too large is infinite, what is too small zero", function(half, limits)
    local tie = limits.max * (1 + limits.eps / 2 / (2 - limits.eps)) -- with what would be the next number
    for _, wide in ipairs { "f32", "f64" } do
        local x = np.array({ limits.max, tie * (1 - 2 ^ -20), tie, 1e300, -1e300 }, { dtype = wide })
        if wide == "f64" or half == "f16" then
            check.equal(x:astype(half):totable(), { limits.max, limits.max, math.huge, math.huge, -math.huge }, wide)
        end
        local tiny = limits.smallest_subnormal
        x = np.array({ tiny, tiny / 2, tiny * 0.75, -tiny / 4, 1e-300 }, { dtype = "f64" })
        check.equal(x:astype(half):totable(), { tiny, 0, tiny, -0.0, 0 }, "small")
        check.equal(np.signbit(x:astype(half)):totable(), { false, false, false, true, false }, "signs")
    end
end)

test("integers round once", function(half, limits)
    local ulp = limits.eps -- of 1
    local wide = 2 ^ 24 * (1 + ulp / 2) -- a tie
    for _, dtype in ipairs { "i32", "u32", "i64", "u64" } do
        local x = np.array({ wide, wide + 1, wide - 1, 257, 2049 }, { dtype = dtype })
        check.ok(same(x:astype(half), x:astype("f64"):astype(half)), dtype)
    end
    local far = np.array({ 0x4040000000000000LL, 0x4040000000000001LL, 0x403fffffffffffffLL, -0x4040000000000001LL },
                         { dtype = "i64" })
    if half == "bf16" then
        check.equal((far:astype(half):astype "f64" / 2 ^ 55):totable(), { 128, 129, 128, -129 })
    end
    local all = all_of(half)
    for _, to in ipairs { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool" } do
        check.ok(np.array_equal(all:astype(to), all:astype("f32"):astype(to)), to)
        check.ok(same(np.arange(100):astype(to):astype(half), np.arange(100):astype(to):astype("f32"):astype(half)),
                 "from " .. to)
    end
end)

test("each map is that of f32, rounded", function(half)
    local x = all_of(half)
    local y = np.roll(x, 4711)
    local z = np.roll(x, 13)
    for _, row in ipairs(values.rows) do
        local real = false
        for _, kind in ipairs(row.types) do real = real or kind == "real" end
        -- The neighbours of a half are further away than those of an f32.
        if row.class == "map" and real and row.name ~= "astype" and row.name ~= "nextafter" then
            local given, wide = { x, y, z }, {}
            if row.name == "where" then given[1] = np.greater(x, y) end
            for k = 1, row.arity do wide[k] = k == 1 and row.name == "where" and given[1] or given[k]:astype "f32" end
            local got, want = np[row.name](unpack(given, 1, row.arity)), np[row.name](unpack(wide, 1, row.arity))
            if want.dtype == "f32" then want = want:astype(half) end
            check.ok(same(got, want), row.name)
        end
    end
end)

test("numbers are weak, and dtypes meet as in JAX", function(half)
    local x = np.ones({ 2 }, { dtype = half })
    check.equal((x * 0.1).dtype, half)
    check.equal((x + np.arange(2)).dtype, half)
    check.equal((x + np.array { true, false }).dtype, half)
    check.equal((x + np.ones(2)).dtype, "f32")
    check.equal((x + np.ones({ 2 }, { dtype = "f64" })).dtype, "f64")
    check.equal((np.ones({ 2 }, { dtype = "f16" }) + np.ones({ 2 }, { dtype = "bf16" })).dtype, "f32")
    check.ok(same(x * 0.1, np.full({ 2 }, 0.1, { dtype = half })))
end)

test("chains round after each op: fused, jitted, and one by one", function(half)
    local key = np.random.key(3)
    local a = np.random.normal(key, { 3000 }, { dtype = half })
    local b = np.random.uniform(key, { 3000 }, { dtype = half })
    local function chain(p, q) return np.tanh(p * q + p) / (q + 1.5) - p * p end
    local function one_by_one(p, q)
        local pq = (p * q):wait()
        local sum = (pq + p):wait()
        local t = np.tanh(sum):wait()
        local down = (q + 1.5):wait()
        local quotient = (t / down):wait()
        local square = (p * p):wait()
        return quotient - square
    end
    local want = one_by_one(a, b)
    check.ok(same(chain(a, b), want), "fused")
    check.ok(same(np.jit(chain)(a, b), want), "jitted")
    check.ok(same(np.vmap(chain)(a:reshape(30, 100), b:reshape(30, 100)):reshape(-1), want), "batched")
    local step = (a:astype "f32" * b:astype "f32"):astype(half)
    check.ok(same(a * b, step), "a product")
end)

test("sums and their kin go through f32, and round once", function(half)
    local x = np.random.normal(np.random.key(1), { 40, 300 }, { dtype = half })
    local wide = x:astype "f32"
    for _, name in ipairs { "sum", "prod", "max", "min", "mean", "var", "std", "cumsum", "cumprod", "cummax", "sort",
                            "logsumexp", "softmax" } do
        local got = np[name](x, { axis = 1 })
        check.equal(got.dtype, half, name)
        check.ok(same(got, np[name](wide, { axis = 1 }):astype(half)), name)
    end
    for _, name in ipairs { "argmax", "argmin", "argsort" } do
        check.ok(np.array_equal(np[name](x, { axis = 1 }), np[name](wide, { axis = 1 })), name)
    end
    check.equal(np.ones({ 3000 }, { dtype = half }):sum():item(), half == "f16" and 3000 or 3008)
    local sorted = np.sort(x:reshape(-1))
    local places = np.searchsorted(sorted:astype "f32", wide[0])
    check.ok(np.array_equal(np.searchsorted(sorted, x[0]), places), "searchsorted")
    check.ok(same(x:at { 3 }:add(0.5), np.where(np.equal(np.arange(40), 3):reshape(40, 1), x + 0.5, x)), "at add")
end)

test("products go through f32", function(half)
    local k1, k2 = np.random.split(np.random.key(2)):unpack()
    local a = np.random.normal(k1, { 4, 9, 70 }, { dtype = half })
    local b = np.random.normal(k2, { 4, 70, 5 }, { dtype = half })
    local p, q = a:astype "f32", b:astype "f32"
    check.ok(same(np.matmul(a, b), np.matmul(p, q):astype(half)), "batched")
    check.ok(same(np.matmul(a[0], b[0]), np.matmul(p[0], q[0]):astype(half)), "one")
    check.ok(same(np.vecdot(a[0], a[1]), np.vecdot(p[0], p[1]):astype(half)), "vecdot")
    check.equal(np.matmul(a[0], np.ones { 70 }).dtype, "f32")
    check.equal(np.matmul(a[0], np.ones({ 70 }, { dtype = "i32" })).dtype, half)
    local image, kernel = a:reshape(1, 36, 70, 1), b:reshape(5, 7, 1, 40)
    check.ok(same(np.nn.conv(image, kernel), np.nn.conv(image:astype "f32", kernel:astype "f32"):astype(half)), "conv")
    local square = np.matmul(a[0], a[0].T) + np.eye(9, { dtype = half })
    check.equal(np.linalg.det(square).dtype, half)
end)

test("elements move as they are", function(half)
    local x = all_of(half):reshape(256, 256)
    local bits = np.arange(65536, { dtype = "u16" }):reshape(256, 256)
    local index = np.random.permutation(np.random.key(0), 256)
    local function moved(v)
        local y = np.concatenate({ v.T, np.flip(v, 0) }, { axis = 1 })
        return y[index]:at { 5 }:set(y[7])
    end
    check.ok(np.array_equal(moved(x):view "u16", moved(bits)))
    local first = np.greater(bits, 7)
    check.ok(np.array_equal(np.where(first, x, x.T):view "u16", np.where(first, bits, bits.T)))
end)

test("derivatives have the dtype", function(half)
    local x = np.array({ 0.5, -1.25, 3 }, { dtype = half })
    local function f(v) return (np.tanh(v) * v):sum() end
    local g = np.grad(f)(x)
    check.equal(g.dtype, half)
    local exact = np.grad(f)(x:astype "f32")
    check.ok(np.abs(g:astype "f32" - exact):max():item() < 0.02)
    check.ok(same(np.jit(np.grad(f))(x), g))
    local w = np.array({ { 0.5, 1 }, { 2, -1 } }, { dtype = half })
    local gw = np.grad(function(m) return np.matmul(m, m):sum() end)(w)
    check.equal(gw.dtype, half)
    local wide = np.grad(function(m) return np.matmul(m, m):sum() end)(w:astype "f32")
    check.ok(same(gw, wide:astype(half)), "of a product")
    local _, tangent = np.jvp(f, { x }, { np.ones_like(x) })
    check.equal(tangent.dtype, half)
end)

test("loops and branches carry them", function(half)
    local x = np.ones({ 3 }, { dtype = half })
    local y = np.fori_loop(0, 5, function(_, v) return v * 1.5 end, x)
    check.equal(y.dtype, half)
    check.equal(y:totable()[1], (x * 1.5 * 1.5 * 1.5 * 1.5 * 1.5):totable()[1])
    local z = np.cond(np.array(true), function(v) return v + 1 end, function(v) return v end, x)
    check.equal(z:totable(), { 2, 2, 2 })
end)

check.test("what is written is NumPy's text", function()
    local function text(list, half) return tostring(np.array(list, { dtype = half or "f16" })) end
    check.equal(text { 1, 65504 }, "[1.00e+00 6.55e+04]")
    check.equal(text { 0.1, 999 }, "[1.00e-01 9.99e+02]")
    check.equal(text { 0.1, 1 / 3 }, "[0.1    0.3333]")
    check.equal(text { 1.5, 1000 }, "[1.5e+00 1.0e+03]")
    check.equal(text { 1e-4 }, "[0.0001]")
    check.equal(text(2049), "2.048e+03")
    check.equal(text(100.5), "100.5")
    check.equal(text({ 0.1, 3 }, "bf16"), "[0.1 3. ]")
end)

check.done()
