--- fft_test.lua (not under tsan, sanitized with --long): np.fft: values as NumPy's (fft.txt, make_fft.py), of any
-- length, in both precisions; derivatives, jit, batches; the same bits whatever the number of rows. All of it twice:
-- with FFTW, if it is there, and in a process that leaves it alone.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local reader = require "tests.lib.golden_reader"

local ok, equal = check.ok, check.equal
local alone = os.getenv "NEAP_FFTW" == "0" -- our own code transforms

local function array(text, is_complex)
    local x = reader.build(text, "f64")
    return is_complex and np.complex(x"..., 0", x"..., 1") or x
end

--- The largest distance of elements, in eps of the largest element.
local function off(got, want, eps)
    if want.size == 0 then return 0 end
    local scale = math.max(want:abs():max():item(), 1e-30)
    return (got:astype(want.dtype) - want):abs():max():item() / scale / eps
end

local collector = reader.collector()
for _, record in ipairs(reader.records "fft") do
    local name, options = record[1], reader.options(record[2])
    collector.add(name, function()
        local x, given = array(record[3], options.kind == "complex"), {}
        for key, value in pairs(options) do if key ~= "kind" then given[key] = value end end
        local real = name:find "irfft" or name == "hfft"
        local want = array(record[4], not real)
        for dtype, eps in pairs { f32 = 2 ^ -23, f64 = 2 ^ -52 } do
            local narrow = options.kind == "complex" and (dtype == "f32" and "c64" or "c128") or dtype
            local got = np.fft[name](x:astype(narrow), next(given) and given or nil)
            equal(got.dtype, real and dtype or dtype == "f32" and "c64" or "c128")
            equal(got.shape, want.shape, record[2])
            local size = off(got, want, eps)
            if size > 4 then return ("%s: %.3g eps off"):format(dtype, size) end
        end
    end, record[2] .. " " .. record[3]:match "^%S+")
end

local function noise(seed, n, dtype)
    local a, b = np.random.key(seed), np.random.key(seed + 1)
    return np.complex(np.random.normal(a, { n }, { dtype = dtype }), np.random.normal(b, { n }, { dtype = dtype }))
end

--- The sums that define a transform.
local function slow(x, n)
    local k = np.arange(n, { dtype = "f64" })
    local angle = np.remainder(np.outer(k, k), n) * (-2 * math.pi / n)
    return np.complex(np.cos(angle), np.sin(angle)):matmul(x)
end

collector.add("lengths", function()
    for _, n in ipairs { 1, 2, 3, 4, 9, 25, 31, 37, 49, 64, 101, 120, 127, 210, 256, 331 } do
        local x = noise(n, n, "f64")
        local y = np.fft.fft(x)
        ok(off(y, slow(x, n), 2 ^ -52) < 40, "length " .. n) -- of which most is in the angles of the slow one
        ok(off(np.fft.ifft(y), x, 2 ^ -52) < 10, "and back, length " .. n)
    end
end, "of all kinds")

collector.add("large", function()
    for _, n in ipairs { 65536, 30030, 10007 } do
        for dtype, eps in pairs { f32 = 2 ^ -23, f64 = 2 ^ -52 } do
            local x = noise(n, n, dtype)
            ok(off(np.fft.ifft(np.fft.fft(x)), x, eps) < (dtype == "f32" and 4 or 12), dtype .. " " .. n)
        end
        local x = noise(n, n, "f32")
        local exact = np.fft.fft(x:astype "c128")
        -- our own code rounds once, FFTW in each pass
        local size = off(np.fft.fft(x):astype "c128", exact, 2 ^ -23)
        ok(size <= (alone and 0.5 or 4), "rounded: " .. size)
    end
end, "of f32 and f64")

collector.add("rows", function()
    local x = noise(1, 300 * 90, "f32"):reshape(300, 90)
    local all = np.fft.fft(x)
    for _, k in ipairs { 0, 7, 299 } do ok(np.all(np.equal(np.fft.fft(x[k]), all[k])):item(), "row " .. k) end
    ok(np.all(np.equal(np.fft.fft(x.T, { axis = 0 }), all.T)):item(), "columns")
    ok(np.all(np.equal(np.vmap(np.fft.fft)(x), all)):item(), "vmap")
    ok(np.all(np.equal(np.jit(function(a) return np.fft.fft(a) end)(x), all)):item(), "jit")
end, "the same bits by themselves, batched and jitted")

--- Each row of f(x) has the bits that it has alone, along another axis, in a batch and in views of other places.
local function same_bits(f, x, what)
    local all = f(x)
    local function same(got, want, how) ok(np.array_equal(got, want), what .. " " .. how) end
    for _, k in ipairs { 0, 1, 6, 15, 16 } do same(f(x[k]), all[k], "row " .. k) end
    same(f(np.copy(x.T), { axis = 0 }), all.T, "columns")
    local turned = np.copy(np.moveaxis(np.stack { x, x"::-1" }, 0, -1)) -- [17, n, 2]
    same(f(turned, { axis = 1 }), np.stack({ all, all"::-1" }, -1), "between other axes")
    same(f(x"::-1"), all"::-1", "rows backwards")
    same(f(np.concatenate({ x[0][{ { 0, 1 } }], x[1] })"1:"), all[1], "behind one element")
    same(f(np.broadcast_to(x[3], { 4, x.shape[2] })), np.broadcast_to(all[3], { 4, all.shape[2] }), "broadcast")
    same(np.vmap(f)(x), all, "vmap")
    same(np.jit(function(a) return f(a) end)(x), all, "jit")
end

collector.add("bits", function()
    for _, n in ipairs { 1, 2, 5, 9, 19, 32, 37, 63, 64, 65 } do
        local z = noise(n, 17 * n, n % 2 == 0 and "f64" or "f32"):reshape(17, n)
        same_bits(np.fft.fft, z, "fft of " .. n)
        same_bits(np.fft.ifft, z, "ifft of " .. n)
        same_bits(np.fft.rfft, z.real, "rfft of " .. n)
        for m = math.max(2 * n - 2, 1), 2 * n - 1 do
            same_bits(function(x, o) return np.fft.irfft(x, { n = m, axis = o and o.axis }) end, z, "irfft to " .. m)
        end
    end
end, "of a row alone, among others, along another axis, in views")

--- The transform of x by those of every f-th element, which are shorter.
local function by_parts(f, x, n, inverse)
    local part = x:reshape(n / f, f)
    part = inverse and np.conj(np.fft.fft(np.conj(part), { axis = 0 })) or np.fft.fft(part, { axis = 0 })
    local k, sum = np.arange(n, { dtype = "f64" }), np.zeros({ n }, { dtype = "c128" })
    for j = 0, f - 1 do
        local angle = np.remainder(k * j, n) * ((inverse and 2 or -2) * math.pi / n)
        sum = sum + np.tile(part.T[j], { f }) * np.complex(np.cos(angle), np.sin(angle))
    end
    return sum
end

collector.add("long", function()
    local lengths = {
        f32 = { 2 ^ 13, 2 ^ 14, 3 * 2 ^ 14, 3 ^ 12, 10 ^ 6 },
        f64 = { 2 ^ 13, 2 ^ 14, 2 ^ 17, 3 ^ 12, 3 ^ 13 }
    }
    for dtype, eps in pairs { f32 = 2 ^ -23, f64 = 2 ^ -52 } do
        for _, n in ipairs(lengths[dtype]) do
            local x, f = noise(n, n, dtype), n % 2 == 0 and 8 or 9
            for _, inverse in ipairs { false, true } do
                local got = inverse and np.fft.ifft(x, { norm = "forward" }) or np.fft.fft(x)
                local size = off(got:astype "c128", by_parts(f, x:astype "c128", n, inverse), eps)
                ok(size < 4, ("%s of %d, %s: %.3g"):format(dtype, n, inverse and "inverse" or "forward", size))
            end
        end
    end
end, "rows, split into short ones, on both sides of the limits")

collector.add("long bits", function()
    for dtype, n in pairs { f32 = 2 ^ 14, f64 = 3 * 2 ^ 15 } do
        local x = noise(3, 3 * n, dtype):reshape(3, n)
        local all = np.fft.fft(x)
        local function same(got, want, how) ok(np.array_equal(got, want), how .. " " .. dtype) end
        for k = 0, 2 do same(np.fft.fft(x[k]), all[k], "row") end
        same(np.fft.fft(np.copy(x.T), { axis = 0 }), all.T, "columns")
        same(np.fft.fft(np.concatenate({ x[0][{ { 0, 1 } }], x[1] })"1:"), all[1], "behind one element")
        same(np.vmap(np.fft.fft)(x), all, "vmap")
    end
end, "of a long row")

collector.add("real", function()
    for _, n in ipairs { 1, 2, 3, 8, 15, 16, 101, 202, 1009 } do
        for dtype, eps in pairs { f32 = 2 ^ -23, f64 = 2 ^ -52 } do
            local x = noise(n, n, dtype).real
            local all, half = np.fft.fft(x), np.fft.rfft(x)
            equal(half.shape, { math.floor(n / 2) + 1 })
            ok(off(half, all[{ { 0, half.size } }], eps) < 4, "half of " .. n)
            ok(off(np.fft.irfft(half, n), x, eps) < 4, "and back")
            ok(off(np.fft.hfft(np.fft.ihfft(x), n), x, eps) < 4, "the other way")
            -- numbers that are their own conjugates count as real
            local turned = half + np.complex(0, np.where(np.remainder(2 * np.arange(half.size), n):eq(0), 5, 0))
            ok(np.array_equal(np.fft.irfft(turned, n), np.fft.irfft(half, n)), "real ends of " .. n)
        end
    end
    equal(np.fft.rfft(np.arange(4):astype "u8").dtype, "c64")
    equal(np.fft.rfft(np.arange(4):astype "i64").dtype, np.fft.fft(np.arange(4):astype "i64").dtype)
    equal(np.fft.rfft(np.arange(4):astype "f16").dtype, "c64")
end, "numbers, odd and even lengths")

collector.add("many", function()
    local rows, alone_each = {}, {}
    for n = 20, 49 do rows[#rows + 1] = noise(n, n, n % 3 == 0 and "f64" or "f32"):wait() end
    for k, x in ipairs(rows) do alone_each[k] = np.fft.fft(x):wait() end
    for _ = 1, 3 do
        local together = {}
        for k, x in ipairs(rows) do together[k] = np.fft.fft(x) end
        for k in ipairs(rows) do ok(np.array_equal(together[k], alone_each[k]), "length " .. k + 19) end
    end
end, "lengths at once, more than plans are kept")

collector.add("memory", function()
    local x = noise(1, 2 ^ 20, "f64"):wait()
    np.memory.trim()
    np.debug.memory_limit(np.memory().live + 2 ^ 16)
    check.raises(function() np.fft.fft(x):wait() end, "memory")
    np.debug.memory_limit(0)
    ok(off(np.fft.ifft(np.fft.fft(x)), x, 2 ^ -52) < 12)
end, "that is short")

collector.add("meshes", function()
    local mesh, x = np.mesh({ 1 }, { "d" }), noise(2, 24, "f32"):reshape(4, 6)
    local put = np.device_put(x, np.NamedSharding(mesh, np.P("d")))
    ok(np.all(np.equal(np.fft.fft2(put), np.fft.fft2(x))):item())
end, "of one device")

collector.add("derivatives", function()
    local x = np.random.normal(np.random.key(3), { 12 }, { dtype = "f64" })
    local w = np.random.normal(np.random.key(4), { 7 }, { dtype = "f64" })
    local function power(a) return (np.square(np.fft.rfft(a):abs()) * w):sum() end
    local found, step = np.grad(power)(x), 1e-5
    for k = 0, 11 do
        local e = np.zeros({ 12 }, { dtype = "f64" }):at { k }:set(step)
        local slope = ((power(x + e) - power(x - e)) / (2 * step)):item()
        ok(math.abs(found[k]:item() - slope) < 1e-6 * (1 + math.abs(slope)), "element " .. k)
    end
    local z, t = noise(5, 9, "f64"), noise(8, 9, "f64")
    local _, tangent = np.jvp(np.fft.ifft, { z }, { t })
    ok(off(tangent, np.fft.ifft(t), 2 ^ -52) < 4, "a tangent")
    local inverse = np.grad(function(a) return np.square(np.fft.irfft(a)):sum() end)(np.fft.rfft(x))
    equal(inverse.dtype, "c128")
end, "of rfft, ifft and irfft")

--- Of a linear function f of x, complex or not: by JAX's convention df/dx - i df/dy of each x + iy.
collector.add("gradients", function()
    local function hold(f, x, what)
        local w
        local function sum(a)
            local y = f(a)
            w = w or noise(9, y.size, "f64"):reshape(y.shape)
            return np.real(y * w):sum()
        end
        local found, n = np.grad(sum)(x), x.size
        local complex = x.dtype == "c128"
        for k = 0, n - 1 do
            local e = np.zeros({ n }, { dtype = "f64" }):at { k }:set(1):reshape(x.shape)
            local want = sum(complex and np.complex(e, 0) or e)
            if complex then want = np.complex(want, -sum(np.complex(0, e))) end
            ok(np.abs(found:reshape(n)[k] - want):item() < 1e-12, what .. " of " .. n .. ", element " .. k)
        end
    end
    for n = 1, 6 do
        local z = noise(n, n, "f64")
        hold(np.fft.fft, z, "fft")
        hold(np.fft.rfft, z.real, "rfft")
        hold(np.fft.ihfft, z.real, "ihfft")
        hold(function(a) return np.fft.irfft(a, 2 * n - 1) end, z, "irfft, odd")
        hold(function(a) return np.fft.hfft(a, 2 * n - 1) end, z, "hfft, odd")
        if n > 1 then hold(np.fft.irfft, z, "irfft") end
    end
    hold(np.fft.rfft2, noise(1, 6, "f64").real:reshape(2, 3), "rfft2")
    hold(np.fft.irfft2, noise(1, 6, "f64"):reshape(2, 3), "irfft2")
    -- the second derivative of a linear function's square is constant
    local function square(a) return np.square(np.fft.rfft(a):abs()):sum() end
    local x, t = noise(3, 5, "f64").real, noise(4, 5, "f64").real
    local _, second = np.jvp(np.grad(square), { x }, { t })
    ok(off(second, np.grad(square)(t), 2 ^ -52) < 8)
end, "of linear functions, element by element")

collector.add("shifts", function()
    for n = 1, 6 do
        local x = np.fft.fftfreq(n, 0.5)
        ok(np.all(np.equal(np.fft.ifftshift(np.fft.fftshift(x)), x)):item())
    end
    equal(tostring(np.fft.fftshift(np.arange(6):reshape(2, 3), 1)), "[[2 0 1]\n [5 3 4]]")
    equal(tostring(np.fft.fftfreq(5, 0.1)), "[ 0.  2.  4. -4. -2.]")
    equal(tostring(np.fft.rfftfreq(5)), "[0.  0.2 0.4]")
end, "of frequencies")

collector.add("errors", function()
    check.raises(function() np.fft.fft(np.ones(3), { n = 0 }) end, "an integer from 1 up")
    check.raises(function() np.fft.fft(np.ones(3), { norm = "none" }) end, "ortho")
    check.raises(function() np.fft.rfft(np.ones({ 3 }, { dtype = "c64" })) end, "x.real")
    check.raises(function() np.fft.fft(np.ones(3), { axis = 2 }) end, "axis")
    check.raises(function() np.fft.fft(np.array(1)) end, "0-d")
    check.raises(function() np.fft.fft2(np.ones(3)) end, "axis")
    check.raises(function() np.fft.fftn(np.ones { 2, 2 }, { s = { 2 }, axes = { 0, 1 } }) end, "extents")
    check.raises(function() np.fft.fft(np.zeros { 2, 0 }) end, "an integer from 1 up")
    equal(np.fft.fft(np.zeros { 0, 4 }).shape, { 0, 4 })
    equal(np.fft.rfft(np.zeros { 0, 5 }).shape, { 0, 3 })
    equal(np.fft.irfft(np.zeros { 0, 3 }).shape, { 0, 4 })
    equal(np.fft.fft2(np.zeros { 0, 3, 2 }).shape, { 0, 3, 2 })
    check.raises(function() np.fft.rfft(np.zeros { 2, 0 }) end, "an integer from 1 up")
    equal(np.fft.fft(np.arange(3), 5).shape, { 5 })
end, "that name what is wrong")

collector.add("NEAP_FFTW=0", function()
    if alone then return end
    local own = { "env", "NEAP_FFTW=0", process.neap }
    local _, report = process.run { own[1], own[2], own[3], "doctor" }
    ok(report:find "\nFourier +neap's own", report)
    own[4] = "tests/golden/fft_test.lua"
    local status, out, err = process.run(own)
    equal({ status, err }, { 0, "" })
    ok(out:find "%d+ passed, 0 failed", out)
    process.cleanup()
end, "the same by our own code")

collector.finish(check)
