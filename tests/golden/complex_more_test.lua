--- complex_more_test.lua (under tsan with --long): complex numbers in order, cumulative products, roots of polynomials,
-- functions of matrices and random numbers (complex_more.txt, make_complex_more.py); derivatives, files, named axes.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local ok, equal = check.ok, check.equal
local L = np.linalg

local function complex(text)
    local x = reader.build(text, "f64")
    return np.complex(x"..., 0", x"..., 1")
end

--- Both parts as texts: NaN is itself there.
local function text(x) return tostring(np.real(x)) .. tostring(np.imag(x)) end

--- The largest distance of elements, in eps of the largest element.
local function off(got, want, eps)
    local scale = math.max(want:abs():max():item(), 1e-30)
    return (got:astype "c128" - want):abs():max():item() / scale / eps
end

local function among(x) return x"::2" end
local real = { -- what gives no complex numbers
    argsort = np.argsort, isin = function(x) return np.isin(x, among(x)) end,
    searchsorted_left = function(x) return np.searchsorted(np.sort(among(x)), x) end,
    searchsorted_right = function(x) return np.searchsorted(np.sort(among(x)), x, { side = "right" }) end,
}
local computed = {
    cumprod = function(x) return np.cumprod(x, { axis = 1 }) end,
    cumsum = function(x) return np.cumsum(x, { axis = 1 }) end,
    roots = function(x) return np.sort(np.roots(x)) end, poly = np.poly, sqrtm = L.sqrtm, logm = L.logm, expm = L.expm,
    lstsq = function(x) return (L.lstsq(x[{ {}, { 0, 3 } }], x[{ {}, { 3, 5 } }])) end,
}
local MOST = { roots = 400, poly = 100, expm = 60, lstsq = 60 } -- eps; others 30

local collector = reader.collector()
for _, record in ipairs(reader.records "complex_more") do
    local name = record[1]
    collector.add(name, function()
        if real[name] then
            for _, dtype in ipairs { "c64", "c128" } do
                local got = real[name](complex(record[2]):astype(dtype))
                ok(np.array_equal(got, reader.build(record[3], got.dtype)), dtype)
            end
            return
        end
        local want = complex(record[3])
        if name == "normal" then
            local got = np.random.normal(np.random.key(3), { 8 }, { dtype = record[2] })
            equal(got.dtype, record[2])
            ok(off(got, want, record[2] == "c64" and 2 ^ -23 or 2 ^ -52) < 16) -- JAX is as far from the exact numbers
            return
        end
        local x = complex(record[2])
        if not computed[name] then
            local got = np[name](x)
            ok(text(got) == text(want))
            return
        end
        for dtype, eps in pairs { c64 = 2 ^ -23, c128 = 2 ^ -52 } do
            local got = computed[name](x:astype(dtype))
            equal(got.dtype, dtype)
            equal(got.shape, want.shape)
            local size = off(got, want, eps)
            if size ~= size or size >= (MOST[name] or 30) then return ("%s: %.3g eps off"):format(dtype, size) end
        end
    end, record[2]:sub(1, 60))
end

local function noise(seed, dims)
    return np.random.normal(np.random.key(seed), dims, { dtype = "c128" })
end

local function weigh(y) return np.sum(np.real(y)) + np.sum(np.imag(y)) * 2 end

check.test("derivatives are those of differences", function()
    local x, e, h = noise(1, { 3, 3 }), noise(2, { 3, 3 }), 1e-6
    for name, f in pairs {
        logm = L.logm, sqrtm = L.sqrtm, expm = L.expm, cumprod = function(y) return np.cumprod(y, { axis = 0 }) end,
        sort = function(y) return np.sort(y, { axis = 1 }) end,
    } do
        local _, tangent = np.jvp(f, { x }, { e })
        local slope = (f(x + e * h) - f(x - e * h)) / (2 * h)
        ok(np.allclose(tangent, slope, { rtol = 1e-6, atol = 1e-6 }), "jvp of " .. name)
        local g = np.grad(function(y) return weigh(f(y)) end)(x)
        ok(np.allclose(np.real((g * e):sum()), weigh(tangent), { rtol = 1e-9, atol = 1e-9 }), "gradient of " .. name)
    end
end)

check.test("descending order, axes, jit, batches", function()
    local x = noise(3, { 4, 5 })
    ok(np.array_equal(np.sort(x, { axis = 0, descending = true }), np.flip(np.sort(x, { axis = 0 }), 0)))
    ok(np.array_equal(np.jit(np.sort)(x), np.sort(x)))
    local line = np.sort(np.ravel(x))
    ok(np.array_equal(np.jit(np.searchsorted)(line, x), np.searchsorted(line, x)))
    ok(np.array_equal(np.vmap(function(v) return np.searchsorted(line, v) end)(x), np.searchsorted(line, x)))
    equal(np.searchsorted(line, np.zeros({ 2, 0 }, { dtype = "c64" })).shape, { 2, 0 })
    equal(np.searchsorted(line[{ { 0, 0 } }], np.array { 1i, 2 }):totable(), { 0, 0 })
    equal(np.searchsorted(np.array { 1, 2 }, np.array { 1 + 1i }):totable(), { 1 })
    check.raises(function() np.digitize(x, np.arange(3)) end, "np.digitize: argument 1 is complex")
    local row = np.ravel(x)
    ok(np.array_equal((np.top_k(row, 2)), np.sort(row, { descending = true })[{ { 0, 2 } }]))
    ok(np.array_equal(np.vmap(np.sort)(x), np.sort(x)))
    local many = noise(7, { 3, 4, 4 })
    ok(np.array_equal(np.vmap(L.logm)(many), L.logm(many)))
    ok(np.array_equal(np.vmap(L.sqrtm)(many), np.stack { L.sqrtm(many[0]), L.sqrtm(many[1]), L.sqrtm(many[2]) }))
    ok(np.array_equal(np.jit(np.cumprod)(x), np.cumprod(x)))
    ok(np.array_equal(np.vmap(function(y) return np.cumprod(y) end)(x), np.cumprod(x, { axis = 1 })))
    local all = { return_index = true, return_inverse = true, return_counts = true }
    local values, index, inverse, counts = np.unique(np.array { 1i, 2, 1i }, all)
    equal(text(values), text(np.array { 1i, 2 }))
    equal({ index:totable(), inverse:totable(), counts:totable() }, { { 0, 1 }, { 0, 1, 0 }, { 2, 1 } })
end)

check.test("sums over a named axis", function()
    local x = noise(4, { 3, 2 })
    local sums = np.vmap(function(y) return np.psum(y, "i") end, { axis_name = "i" })(x)
    ok(np.allclose(sums[0], x:sum { axis = 0 }))
end)

check.test("files keep all bits", function()
    local path = os.tmpname()
    for _, dtype in ipairs { "c64", "c128" } do
        local x = noise(5, { 3, 2 }):astype(dtype)
        np.io.save(path, x)
        ok(np.array_equal(np.io.load(path), x), "npy " .. dtype)
        np.io.savez(path, { x = x })
        ok(np.array_equal(np.io.load(path).x, x), "npz " .. dtype)
    end
    local x = noise(6, { 3, 2 }):astype "c64"
    np.io.save_safetensors(path, { x = x })
    ok(np.array_equal(np.io.load_safetensors(path).x, x), "safetensors")
    -- A big-endian file: the parts have their bytes the other way round, and keep their places.
    local file = assert(io.open(path, "wb"))
    local header = "{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }"
    header = header .. (" "):rep(117 - #header) .. "\n"
    file:write("\147NUMPY\1\0", string.char(#header % 256, math.floor(#header / 256)), header,
               "\63\128\0\0", "\192\0\0\0")
    file:close()
    equal(text(np.io.load(path)), text(np.array { 1-2i }))
    os.remove(path)
end)

check.test("text files", function()
    local path = os.tmpname()
    np.io.write_csv(path, np.table { z = np.array { 1+2i, -0.1i } })
    local file = assert(io.open(path))
    equal(file:read "*a", "z\n(1+2j)\n(0-0.100000001j)\n")
    file:close()
    equal(text(np.io.read_csv(path, { dtype = "c64" }).z), text(np.array { 1+2i, -0.1i }))
    check.raises(function() np.io.savetxt(path, np.array { 1i }) end, "takes real numbers, got dtype c64")
    os.remove(path)
end)

check.test("numbers for NaN and infinities, in both parts", function()
    local x = np.complex(np.array { np.nan, 1 }, np.array { np.inf, -np.inf })
    equal(text(np.nan_to_num(x, { nan = 5, posinf = 6, neginf = 7 })), text(np.array { 5+6i, 1+7i }))
end)

check.test("what has no order says so", function()
    for _, f in ipairs { np.max, np.argmin, np.median, np.cummax } do
        check.raises(function() f(np.array { 1i }) end, "c64")
    end
end)

collector.finish(check)
