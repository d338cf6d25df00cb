--- fft_test.lua: np.fft: values as NumPy's (fft.txt, make_fft.py), of any length, in both precisions; derivatives, jit,
-- batches; the same bits whatever the number of rows.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local ok, equal = check.ok, check.equal

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
        ok(off(np.fft.fft(x):astype "c128", exact, 2 ^ -23) <= 0.5, "rounded once")
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
    check.raises(function() np.fft.fft(np.ones(3), { n = 0 }) end, "at least 1")
    check.raises(function() np.fft.fft(np.ones(3), { norm = "none" }) end, "ortho")
    check.raises(function() np.fft.rfft(np.ones({ 3 }, { dtype = "c64" })) end, "x.real")
    check.raises(function() np.fft.fft(np.ones(3), { axis = 2 }) end, "axis")
    check.raises(function() np.fft.fft(np.array(1)) end, "0-d")
    check.raises(function() np.fft.fft2(np.ones(3)) end, "axis")
    check.raises(function() np.fft.fftn(np.ones { 2, 2 }, { s = { 2 }, axes = { 0, 1 } }) end, "extents")
    check.raises(function() np.fft.fft(np.zeros { 2, 0 }) end, "at least 1")
    equal(np.fft.fft(np.zeros { 0, 4 }).shape, { 0, 4 })
    equal(np.fft.fft(np.arange(3), 5).shape, { 5 })
end, "that name what is wrong")

collector.finish(check)
