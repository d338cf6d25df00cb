--- complex_test.lua (under tsan with --long): complex numbers: functions, gradients and text as NumPy's and JAX's
-- (complex.txt; make_complex.py has the same functions), in both dtypes; and what holds of all dtypes: movement,
-- views, jit, batches, files.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local test, ok, equal = check.test, check.ok, check.equal
local EPS = { c64 = 2 ^ -23, c128 = 2 ^ -52 }

--- A golden array whose last axis has two parts, as a complex array.
local function complex(text, dtype)
    local x = reader.build(text, "f64")
    return np.complex(x"..., 0", x"..., 1"):astype(dtype)
end

--- The largest distance of two arrays, in eps of the expected elements' sizes; parts that are equal count as 0.
local function distance(got, want, eps)
    local a, b = got:reshape(-1):totable(), want:reshape(-1):totable()
    local worst = 0
    for k = 1, #b do
        local u, v = a[k] + 0i, b[k] + 0i
        if u ~= v then
            local off, size = u - v, math.sqrt(v.re * v.re + v.im * v.im)
            local part = math.sqrt(off.re * off.re + off.im * off.im) / math.max(size, 1e-30) / eps
            worst = part == part and math.max(worst, part) or math.huge
        end
    end
    return worst
end

-- What a function may be off in c128, in eps of the result's size; those of c64 are c128's, rounded.
local BOUND = { default = 3, exp2 = 64, log1p = 6, asin = 8, acos = 8, asinh = 8, acosh = 8, atanh = 8, atan = 8,
                tan = 6, tanh = 6, expm1 = 6, pow = 256 }

local gradients = {
    product = function(a, b) return a * b * a:conj() end,
    quotient = function(a, b) return a / b end,
    power = function(a, b) return a ^ b end,
    size = function(a, b) return a:abs() * b:angle() end,
    functions = function(a, b) return np.exp(a) + np.log(b) + np.sqrt(a) + np.sin(b) + np.tanh(a) end,
    parts = function(a, b) return np.complex(a.real * b.imag, b.real) end,
    sums = function(a, b) return a:sum() * b:prod() + a:mean() + b:var() end,
    matmul = function(a, b) return a:reshape(2, 3):matmul(b:reshape(3, 2)) end,
    chosen = function(a, b) return np.where(a.real:gt(0), a, b * b) * a.real end,
}

local records = reader.records "complex"
for _, record in ipairs(records) do
    local kind, name = record[1], record[2]
    if kind == "function" then
        test("function " .. name, function()
            for dtype, eps in pairs(EPS) do
                local inputs = {}
                for k = 3, #record - 1 do inputs[k - 2] = complex(record[k], dtype) end
                local got = np[name](unpack(inputs))
                local shape = reader.array(record[#record]).shape
                local want = #shape == 2 and complex(record[#record], "c128") or reader.build(record[#record], "f64")
                equal(got.dtype, #shape == 2 and dtype or dtype == "c64" and "f32" or "f64")
                local off = distance(got, want:astype(got.dtype), eps)
                local bound = dtype == "c64" and (name == "divide" and 3 or 2) or BOUND[name] or BOUND.default
                ok(off <= bound, ("%s of %s is %.3g eps off, more than %g"):format(name, dtype, off, bound))
            end
        end)
    elseif kind == "gradient" then
        test("gradient " .. name, function()
            for dtype, eps in pairs(EPS) do
                local function weighed(a, b)
                    local y = gradients[name](a, b)
                    return np.real(y):sum() + np.imag(y):sum() * 2
                end
                local a, b = complex(record[3], dtype), complex(record[4], dtype)
                local found = { np.grad(weighed, { argnums = { 1, 2 } })(a, b) }
                local jitted = { np.jit(np.grad(weighed, { argnums = { 1, 2 } }))(a, b) }
                for k = 1, 2 do
                    local want = complex(record[4 + k], "c128")
                    equal(found[k].dtype, dtype)
                    local scale = 1 + want:abs():max():item()
                    local off = (found[k]:astype "c128" - want):abs():max():item() / scale / eps
                    ok(off <= 64, ("argument %d, %s: %.3g eps off"):format(k, dtype, off))
                    ok((jitted[k] - found[k]):abs():max():item() <= 64 * eps * scale, "jitted")
                end
            end
        end)
    else
        test("text " .. name .. " " .. record[4], function()
            equal(complex(record[3], name):tostring(), (record[4]:sub(2, -2):gsub("\\n", "\n")))
        end)
    end
end

-- ---- Forward mode ---------------------------------------------------------------------------------------------------

test("tangents agree with gradients", function()
    local a, b = np.array({ 1+2i, 0.5-1i, -0.25+1i, 2-0.5i, 1i+1, 0.75 }, { dtype = "c128" }),
        np.array({ 1+1i, -0.5+0.25i, 0.75-0.5i, 0.25+0.5i, -1-0.75i, 1.5+0.5i }, { dtype = "c128" })
    local da, db = b * 0.25i, a:conj() * 0.5
    for name, f in pairs(gradients) do
        local function weighed(x, y)
            local z = f(x, y)
            return np.real(z):sum() + np.imag(z):sum() * 2
        end
        local _, tangent = np.jvp(weighed, { a, b }, { da, db })
        local ga, gb = np.grad(weighed, { argnums = { 1, 2 } })(a, b)
        local along = ((ga * da):sum() + (gb * db):sum()).real
        ok(math.abs((tangent - along):item()) <= 1e-12 * (1 + math.abs(along:item())), name)
    end
end)

test("derivatives of functions that have complex ones", function()
    local z = np.array(0.5+0.75i, { dtype = "c128" })
    local cube = np.grad(function(x) return x * x * x end, { holomorphic = true })(z)
    ok(((cube - z * z * 3):abs() .. "") + 0 < 1e-15)
    check.raises(function() np.grad(function(x) return x * x end)(z) end, "holomorphic")
    check.raises(function() np.grad(function(x) return x:abs() end, { holomorphic = true })(z) end, "complex")
end)

-- ---- Numbers and dtypes ---------------------------------------------------------------------------------------------

test("promotion", function()
    local c64 = np.array { 1i }
    for dtype, want in pairs { bool = "c64", i8 = "c64", i64 = "c64", f32 = "c64", f64 = "c128" } do
        equal((c64 * np.ones({ 1 }, { dtype = dtype })).dtype, want, dtype)
        equal((np.ones({ 1 }, { dtype = dtype }) * np.ones({ 1 }, { dtype = "c128" })).dtype, "c128", dtype)
    end
end)

test("complex numbers of Lua are weak", function()
    for dtype, want in pairs { f32 = "c64", f64 = "c128", i32 = "c64", i64 = "c128", c64 = "c64", c128 = "c128" } do
        local x = np.ones({ 2 }, { dtype = dtype })
        equal((x * 1i).dtype, want, dtype)
        equal((x * 2).dtype == (x * 1i).dtype, want == dtype)
        equal(((0.1+0.2i) * x)[1]:item() == (0.1+0.2i), want == "c128", dtype)
    end
    equal(tostring(np.array { 1, 2 } + 1i), "[1.+1.j 2.+1.j]")
end)

test("complex numbers of Lua have arithmetic", function()
    ok((1+2i) * (3-1i) == 5+5i and 1i * 1i == -1 and (4+2i) / 2i == 1-2i and 2 - 1i == -(1i - 2))
    ok((3-4i) / (1+2i) == (-1-2i) and 1i ~= 1 and 2i ~= nil and (2+0i) == 2)
    ok(math.abs(((1+1i) ^ 2 - 2i).re) < 1e-15)
    check.raises(function() return 1i + {} end, "arithmetic on a complex number")
end)

test("items and tables", function()
    local x = np.array { { 1, 2i }, { 3-4i, 0 } }
    local z = x[1][0]:item()
    equal(z.re, 3)
    equal(z.im, -4)
    equal(x:totable()[1][2].im, 2)
    equal(x.imag:totable(), { { 0, 2 }, { -4, 0 } })
    check.raises(function() x:real() end, "a field that is one, as x.T, is read without parentheses")
    equal(tostring(np.array(x:totable())), tostring(x))
    check.raises(function() np.array({ 1i }, { dtype = "f32" }) end, "complex number")
    check.raises(function() x:astype "f32" end, "x.real")
    equal(tostring(x:astype "bool"), "[[ True  True]\n [ True False]]")
end)

test("what has no order is refused", function()
    local x = np.array { 1, 2i }
    for _, name in ipairs { "max", "argmin", "floor", "cummax" } do
        check.raises(function() np[name](x) end, "got dtype c64", name)
    end
    for _, name in ipairs { "less", "greater_equal", "maximum" } do
        check.raises(function() np[name](x, x) end, "got dtype c64", name)
    end
    equal(tostring(np.eq(x, 2i)), "[False  True]")
end)

test("infinities and NaN", function()
    local inf, nan = math.huge, 0 / 0
    local x = np.complex(np.array { inf, nan, 1, -inf }, np.array { 1, 0, inf, nan })
    equal(tostring(np.isnan(x)), "[False  True False  True]")
    equal(tostring(np.isinf(x)), "[ True False  True  True]")
    equal(tostring(np.isfinite(x)), "[False False False False]")
    equal(tostring(np.array { 1+1i } / 0), "[inf+infj]")
    equal(tostring(np.exp(np.complex(np.array { -inf }, np.array { nan }))), "[0.+0.j]")
    equal(np.abs(np.complex(np.array { 3e38 }, np.array { 3e38 })):item(), inf)
    equal(np.sqrt(np.complex(np.array({ 3e307 }, { dtype = "f64" }), 4e307))[0]:item().re > 1e153, true)
end)

-- ---- Movement, sums, transforms -------------------------------------------------------------------------------------

--- The same of real and imaginary parts, put together.
local function by_parts(f, x)
    return np.complex(f(x.real), f(x.imag))
end

for _, dtype in ipairs { "c64", "c128" } do
    local count = np.arange(240, { dtype = "f32" })
    local x = np.complex(count, count * -0.5 + 7):astype(dtype):reshape(6, 5, 8)
    local index = np.array({ 4, 0, 4, -1 }, { dtype = "i32" })
    local function same(a, b, what)
        equal(a.dtype, b.dtype, what)
        ok(np.all(np.equal(a, b)):item(), what)
    end
    test("movement of " .. dtype, function()
        for name, f in pairs {
            transpose = function(a) return a:transpose(2, 0, 1) + 0 end,
            flip = function(a) return a"::-1, :, ::-2" + 0 end,
            reshape = function(a) return a:transpose(1, 0, 2):reshape(10, 24) end,
            take = function(a) return a[index] end,
            take_columns = function(a) return np.take(a, index, { axis = 1 }) end,
            concatenate = function(a) return np.concatenate({ a, a[{ { 0, 2 } }] }) end,
            pad = function(a) return np.pad(a, 1) end,
            roll = function(a) return np.roll(a, 3) end,
            tile = function(a) return np.tile(a, { 1, 2, 1 }) end,
            set = function(a) return a:at { 2 }:set(0) end,
            set_rows = function(a) return a:at { index }:set(0) end,
            broadcast = function(a) return np.broadcast_to(a[0], { 3, 5, 8 }) + 0 end,
            nothing = function(a) return a"0:0" end,
        } do
            same(f(x), by_parts(f, x), name)
        end
        same(np.where(x.real:gt(100), x, 1i), np.complex(np.where(x.real:gt(100), x.real, 0),
                                                          np.where(x.real:gt(100), x.imag, 1)), "where")
        same(x:at { index }:add(2i)[4], x[4] + 4i, "add")
    end)
    test("sums of " .. dtype, function()
        for _, axis in ipairs { 0, 1, 2, { 0, 2 }, { 0, 1, 2 } } do
            same(np.sum(x, { axis = axis }), by_parts(function(a) return np.sum(a, { axis = axis }) end, x), "sum")
        end
        same(np.mean(x, { axis = 1 }), by_parts(function(a) return np.mean(a, { axis = 1 }) end, x), "mean")
        local long = np.complex(np.sin(np.arange(30000)), np.cos(np.arange(30000))):astype(dtype)
        same(long:sum(), by_parts(np.sum, long), "a long sum")
        same(long:reshape(300, 100):transpose():sum { axis = 1 },
             by_parts(function(a) return a:reshape(300, 100):transpose():sum { axis = 1 } end, long), "columns")
        same(np.cumsum(x, { axis = 0 }), by_parts(function(a) return np.cumsum(a, { axis = 0 }) end, x), "cumsum")
        same(np.zeros({ 0 }, { dtype = dtype }):sum(), np.zeros({}, { dtype = dtype }), "of nothing")
        same(np.zeros({ 0 }, { dtype = dtype }):prod(), np.ones({}, { dtype = dtype }), "product of nothing")
        equal(np.var(x).dtype, dtype == "c64" and "f32" or "f64")
    end)
    test("products of " .. dtype, function()
        local a, b = x[0], x[1]:transpose()
        local function real_product(u, v)
            return np.complex(u.real:matmul(v.real) - u.imag:matmul(v.imag),
                              u.real:matmul(v.imag) + u.imag:matmul(v.real))
        end
        same(a:matmul(b), real_product(a, b), "matrices")
        same(a:transpose():matmul(b:transpose()), real_product(a:transpose(), b:transpose()), "transposed")
        same(x:matmul(b), real_product(x, np.broadcast_to(b, { 6, 8, 5 }) + 0), "a batch")
        same(a:matmul(b[np.newaxis]), real_product(a, b)[np.newaxis], "broadcast")
        same(a:matmul(b"..., 0"), real_product(a, b)"..., 0", "a vector")
        same(np.einsum("ij,kj->ik", a, b:transpose()), real_product(a, b), "einsum")
        same(np.vdot(a, a), (a * a:conj()):sum(), "vdot")
        same(np.zeros({ 3, 0 }, { dtype = dtype }):matmul(np.zeros({ 0, 2 }, { dtype = dtype })),
             np.zeros({ 3, 2 }, { dtype = dtype }), "of nothing")
    end)
    test("transforms of " .. dtype, function()
        local function f(a, b) return np.exp(a * 0.01i) * b:conj() + 2i end
        local a, b = x[0], x[1]
        same(np.jit(f)(a, b), f(a, b), "jit")
        same(np.vmap(f)(a, b), f(a, b), "vmap")
        local carry, ys = np.scan(function(c, y) return c * 0.5i + y, c end, a[0], a)
        equal(carry.dtype, dtype)
        same(ys[1], a[0] * 0.5i + a[0], "scan")
        same(np.cond(true, function() return a end, function() return b end), a, "cond")
        local program = np.trace(f)(a, b)
        ok(tostring(program):find(dtype, 1, true), "the text of a program")
    end)
    test("files of " .. dtype, function()
        local name = os.tmpname()
        np.io.save(name .. ".npy", x)
        same(np.io.load(name .. ".npy"), x, "npy")
        np.io.savez(name .. ".npz", { a = x, b = x.real })
        same(np.io.load(name .. ".npz").a, x, "npz")
        for _, ending in ipairs { "", ".npy", ".npz" } do os.remove(name .. ending) end
    end)
    test("shards of " .. dtype, function()
        local mesh = np.mesh({ 1 }, { "d" })
        local put = np.device_put(x, np.NamedSharding(mesh, np.P("d")))
        same(put * 2i + put:sum(), x * 2i + x:sum(), "on a mesh")
    end)
end

check.done()
