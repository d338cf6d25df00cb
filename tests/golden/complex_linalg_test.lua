--- complex_linalg_test.lua (under tsan with --long): np.linalg of complex matrices: values and gradients as NumPy's and
-- JAX's (complex_linalg.txt; make_complex_linalg.py has the same functions), what factors are, and np.linalg.eig.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local test, ok, equal = check.test, check.ok, check.equal
local L = np.linalg

local function adjoint(x) return np.conj(np.swapaxes(x, -1, -2)) end
local function complex(text)
    local x = reader.build(text, "f64")
    return np.complex(x"..., 0", x"..., 1")
end

local values = {
    solve = L.solve, inv = L.inv, det = L.det, norm = L.norm,
    sign = function(a) return (L.slogdet(a)) end, logdet = function(a) return (select(2, L.slogdet(a))) end,
    cholesky = function(a) return L.cholesky(a:matmul(adjoint(a))) end,
    eigvalsh = function(a) return L.eigvalsh(a + adjoint(a)) end,
    svdvals = function(_, b) return L.svdvals(b) end, pinv = function(_, b) return L.pinv(b) end,
    norm1 = function(a) return L.norm(a, { ord = 1 }) end, norm2 = function(_, b) return L.norm(b, { ord = 2 }) end,
    power = function(a) return L.matrix_power(a, 3) end,
    rank = function(_, b) return L.matrix_rank(b):astype "f64" end,
}
local gradients = {
    solve = values.solve, inv = values.inv, det = values.det, logdet = values.logdet, sign = values.sign,
    norm = values.norm, svdvals = function(a) return L.svdvals(a) end,
    cholesky = function(a) return L.cholesky(a:matmul(adjoint(a)) + np.eye(3, { dtype = "f64" })) end,
    eigvalsh = function(a) return values.eigvalsh(a) * np.array({ 1, 2, 3 }, { dtype = "f64" }) end,
    qr_r = function(a) return np.abs((select(2, L.qr(a)))) end, qr_q = function(a) return np.abs((L.qr(a))) end,
    eigh_vectors = function(a) return np.square(np.abs((select(2, L.eigh(a + adjoint(a)))))) end,
}
for _, name in ipairs { "inv", "det", "norm" } do -- of a alone
    local f = values[name]
    values[name] = function(a) return f(a) end
    gradients[name] = values[name]
end

for _, record in ipairs(reader.records "complex_linalg") do
    local kind, name = record[1], record[2]
    test(kind .. " " .. name, function()
        local a, b = complex(record[3]), complex(record[4])
        for dtype, eps in pairs { c64 = 2 ^ -23, c128 = 2 ^ -52 } do
            local got, want
            if kind == "value" then
                got = values[name](a:astype(dtype), b:astype(dtype))
                local shape = reader.array(record[5]).shape
                want = #shape > got.ndim and complex(record[5]) or reader.build(record[5], "f64")
            else
                got = np.grad(function(x)
                    local y = gradients[name](x, b:astype(dtype))
                    return np.real(y):sum() + np.imag(y):sum() * 2
                end)(a:astype(dtype))
                want = complex(record[5])
            end
            equal(got.shape, want.shape)
            local scale = 1 + np.abs(want):max():item()
            local off = np.abs(got:astype(want.dtype) - want):max():item() / scale / eps
            ok(off < 400, ("%s: %.3g eps off"):format(dtype, off))
        end
    end)
end

local function noise(seed, ...)
    local a, b = np.random.key(seed), np.random.key(seed + 100)
    return np.complex(np.random.normal(a, { ... }, { dtype = "f64" }), np.random.normal(b, { ... }, { dtype = "f64" }))
end
local function same(got, want, what)
    equal(got.shape, want.shape, what)
    ok(np.abs(got - want):max():item() < 1e-12 * (1 + np.abs(want):max():item()), what)
end

test("factors make the matrix", function()
    local x, tall, wide = noise(1, 2, 5, 5), noise(2, 6, 3), noise(3, 3, 6)
    for _, a in ipairs { x, tall, wide } do
        local q, r = L.qr(a)
        same(q:matmul(r), a, "qr")
        same(np.triu(r), r, "r")
        for _, full in ipairs { true, false } do
            local u, s, vh = L.svd(a, { full_matrices = full })
            equal(s.dtype, "f64")
            local k = s.shape[#s.shape]
            local scaled = full and np.take(u, np.arange(k), { axis = -1 }) or u
            local rows = full and np.take(vh, np.arange(k), { axis = -2 }) or vh
            same((scaled * np.expand_dims(s, -2)):matmul(rows), a, "svd")
            same(adjoint(u):matmul(u), np.broadcast_to(np.eye(u.shape[#u.shape], { dtype = "f64" }),
                                                       adjoint(u):matmul(u).shape), "u")
        end
        same(a:matmul(L.pinv(a)):matmul(a), a, "pinv")
    end
    local h = x + adjoint(x)
    local w, v = L.eigh(h)
    equal(w.dtype, "f64")
    same(h:matmul(v), v * np.expand_dims(w, -2), "eigh")
    local p = x:matmul(adjoint(x))
    local low = L.cholesky(p)
    same(low:matmul(adjoint(low)), p, "cholesky")
    same(L.cholesky(p, { upper = true }), adjoint(low), "upper")
    local b = noise(9, 5, 2)
    same(low[0]:matmul(L.solve_triangular(low[0], b, { lower = true })), b, "a triangular system")
end)

test("eigenvalues of any matrix", function()
    for _, a in ipairs { noise(4, 2, 4, 4), np.random.normal(np.random.key(5), { 6, 6 }, { dtype = "f64" }) } do
        local w, v = L.eig(a)
        equal({ w.dtype, v.dtype }, { "c128", "c128" })
        same(np.matmul(a, v), v * np.expand_dims(w, -2), "eig")
        same(L.eigvals(a):sum { axis = -1 }, np.sum(w, { axis = -1 }), "eigvals")
        same(np.prod(w, { axis = -1 }), L.det(a) + 0i, "det")
    end
    equal(L.eigvals(np.eye(3)).dtype, "c64")
    ok(np.all(np.isnan(L.eigvals(np.array { { 0 / 0, 1 }, { 1, 2 } }))):item(), "NaN")
    equal(L.eigvals(np.zeros { 0, 0 }).shape, { 0 })
end)

test("eigenvalues of real matrices come in conjugate pairs, and their vectors", function()
    for n = 1, 7 do
        local a = np.random.normal(np.random.key(n), { n, n }, { dtype = "f64" })
        local w, v = L.eig(a)
        same(np.matmul(a, v), v * w, "eig of " .. n)
        same(np.sum(np.square(np.abs(v)), { axis = 0 }), np.ones(n), "lengths of " .. n)
        for _, dtype in ipairs { "f32", "f64" } do
            local found, vectors = L.eig(a:astype(dtype))
            ok(np.array_equal(np.sort(found), np.sort(np.conj(found))), "values of " .. n)
            local order, mirrored = np.argsort(found), np.argsort(np.conj(found))
            ok(np.array_equal(np.take(vectors, order, { axis = 1 }),
                              np.conj(np.take(vectors, mirrored, { axis = 1 }))), "vectors of " .. n)
        end
    end
    equal(L.eigvals(np.array { { 0, -1 }, { 1, 0 } }):eq(np.array { 1i, -1i }):all():item(), true)
end)

test("derivatives of eigenvalues", function()
    local a, d = noise(6, 4, 4), noise(7, 4, 4)
    local weights = noise(8, 4)
    local function f(x) return np.real(np.sum(L.eigvals(x) ^ 2 * weights[0])):sum() end
    local step = 1e-6
    local slope = (f(a + d * step) - f(a - d * step)):item() / (2 * step)
    local along = np.real(np.sum(np.grad(f)(a) * d)):item()
    ok(math.abs(slope - along) < 1e-6 * (1 + math.abs(slope)), "grad")
    local _, tangent = np.jvp(f, { a }, { d })
    ok(math.abs(tangent:item() - along) < 1e-10 * (1 + math.abs(along)), "jvp")
    local function g(x) -- does not depend on lengths and phases of vectors
        local w, v = L.eig(x)
        local projector = v:matmul(np.expand_dims(w * w, -1) * L.inv(v))
        return np.real(np.sum(projector * d)):sum()
    end
    same(np.grad(g)(a), np.grad(function(x) return np.real(np.sum(x:matmul(x) * d)):sum() end)(a), "vectors")
end)

test("what has no derivative says so", function()
    check.raises(function()
        np.grad(function(x) return np.abs((L.svd(x))):sum() end)(noise(1, 2, 2))
    end, "no derivative")
end)

check.done()
