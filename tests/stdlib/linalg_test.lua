--- linalg_test.lua (under tsan with --long): np.linalg and np.nn.conv at their edges: arguments that do not fit, empty
-- and singular matrices, batches, vmap. Values are in tests/golden/linalg_test.lua and conv_test.lua.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local L, nn = np.linalg, np.nn
local nan, inf = np.nan, math.huge

local function isnan(x) return np.all(np.isnan(x)):item() end
local function random(seed, ...)
    return np.random.normal(np.random.key(seed), { ... }, { dtype = "f64" })
end
local function same(a, b, what) check.equal(a:totable(), b:totable(), what) end

check.test("arguments that do not fit are named", function()
    local a, tall = np.ones(2, 3, 3), np.ones(4, 3)
    for _, name in ipairs { "cholesky", "inv", "det", "slogdet", "eigh", "eigvalsh" } do
        check.raises(function() L[name](tall) end, "np%.linalg%." .. name .. ": argument 1 must be square.*%(4, 3%)")
        check.raises(function() L[name](np.ones(3)) end, "argument 1 must be matrices.*%(3,%)")
        check.raises(function() L[name] "x" end, "argument 1 must be an array")
    end
    check.raises(function() L.matrix_power(tall, 2) end, "square")
    check.raises(function() L.matrix_power(a, 0.5) end, "argument 2 %(n%) must be an integer")
    check.raises(function() L.solve(a, np.ones(4)) end, "argument 2 must have 3 rows.*%(2, 3, 3%).*got shape %(4,%)")
    check.raises(function() L.solve(a, np.ones(5, 3, 1)) end, "do not broadcast")
    check.raises(function() L.solve(a, 1) end, "argument 2 must have 3 rows")
    check.raises(function() L.solve_triangular(tall, tall) end, "np%.linalg%.solve_triangular: argument 1")
    check.raises(function() L.qr(a, { mode = "full" }) end, "option 'mode' must be")
    check.raises(function() L.eigh(a, { UPLO = "X" }) end, "option 'UPLO' must be")
    check.raises(function() L.svd(a, { full = true }) end, "unknown option 'full'")
    check.raises(function() L.norm(a, { ord = "fro" }) end, "needs 1 or 2 axes")
    check.raises(function() L.norm(a, { axis = { 0, 1, 2 } }) end, "1 or 2 axes, got 3")
    check.raises(function() L.matrix_norm(a, { ord = 3 }) end, "option 'ord' of a matrix")
    check.raises(function() L.vector_norm(a, { ord = "fro" }) end, "option 'ord' must be a number")
    check.raises(function() L.lstsq(tall, a) end, "shapes %(…, m, n%)")
    check.raises(function() L.multi_dot { tall } end, "at least 2 arrays")
    check.raises(function() L.multi_dot { tall, tall } end, "array 2 of 2 must be a matrix of 3 rows")
    check.raises(function() L.pinv(a, { rtol = "small" }) end, "option 'rtol' must be")
    check.raises(function() np.cross(np.ones(4), np.ones(3)) end, "argument 1 must have 2 or 3 elements")
    check.raises(function() np.diagonal(a, { axis1 = 1, axis2 = -2 }) end, "both 1")
    check.raises(function() np.top_k(np.ones(3), 4) end, "from 0 to the 3 elements")
    check.raises(function() np.interp(1, np.ones(3), np.ones(2)) end, "arguments 2 and 3")
    check.raises(function() np.searchsorted(a, 1) end, "1 axis")
    check.raises(function() np.diff(a, { n = -1 }) end, "from 0 up")
end)

check.test("arguments of convolutions that do not fit are named", function()
    local x, w = np.ones(1, 5, 5, 2), np.ones(3, 3, 2, 4)
    check.raises(function() nn.conv(np.ones(2, 2), w) end, "np%.nn%.conv: argument 1 must be images.*%(2, 2%)")
    check.raises(function() nn.conv(x, np.ones(3, 3, 2)) end, "kernel of 4 axes")
    check.raises(function() nn.conv(x, np.ones(3, 3, 3, 4)) end, "have 2 in 1 group, the kernel takes 3")
    check.raises(function() nn.conv(x, np.ones(3, 3, 1, 3), { groups = 2 }) end, "3 features must be a multiple")
    check.raises(function() nn.conv(x, w, { groups = 0 }) end, "option 'groups'")
    check.raises(function() nn.conv(x, w, { strides = 0 }) end, "option 'strides' must be an integer from 1 up")
    check.raises(function() nn.conv(x, w, { strides = { 1, 1, 1 } }) end, "or 2 of them")
    check.raises(function() nn.conv(x, w, { padding = "FULL" }) end, "option 'padding' must be")
    check.raises(function() nn.conv(x, w, { padding = { { 1, "a" }, 0 } }) end, "option 'padding' must be")
    check.raises(function() nn.conv(x, w, { layout = "NWC" }) end, "option 'layout' must be \"NHWC\" or \"NCHW\"")
    check.raises(function() nn.conv(x, w, { strides = 2 ^ 40 }) end, "in 1%.%.2%^30")
    check.raises(function() nn.max_pool(x, 0) end, "option 'window'")
    check.raises(function() nn.max_pool(x, { 2 }) end, "or 2 of them")
    check.raises(function() nn.Conv(3, 4, 3) end, "argument 3 %(kernel_size%)")
end)

check.test("empty matrices", function()
    local none = np.zeros(0, 0)
    check.equal(L.det(none):item(), 1)
    local sign, logarithm = L.slogdet(none)
    check.equal({ sign:item(), logarithm:item() }, { 1, 0 })
    for _, name in ipairs { "inv", "cholesky" } do check.equal(L[name](none).shape, { 0, 0 }, name) end
    check.equal(L.inv(np.zeros(0, 3, 3)).shape, { 0, 3, 3 })
    check.equal(L.solve(np.zeros(0, 2, 2), np.zeros(2, 1)).shape, { 0, 2, 1 })
    check.equal(L.solve(np.eye(2), np.zeros(2, 0)).shape, { 2, 0 })
    local w, v = L.eigh(none)
    check.equal({ w.shape, v.shape }, { { 0 }, { 0, 0 } })
    local u, s, vh = L.svd(np.zeros(3, 0))
    same(u, np.eye(3))
    check.equal({ s.shape, vh.shape }, { { 0 }, { 0, 0 } })
    local q, r = L.qr(np.zeros(3, 0), { mode = "complete" })
    same(q, np.eye(3))
    check.equal(r.shape, { 3, 0 })
    check.equal(L.pinv(np.zeros(2, 0)).shape, { 0, 2 })
    check.equal(L.matrix_rank(np.zeros(2, 0)):item(), 0)
    check.equal(nn.conv(np.zeros(0, 4, 4, 2), np.ones(3, 3, 2, 5)).shape, { 0, 4, 4, 5 })
    check.equal(nn.conv(np.ones(1, 2, 1), np.ones(3, 1, 1), { padding = "VALID" }).shape, { 1, 0, 1 })
    same(nn.conv(np.ones(1, 2, 0), np.ones(1, 0, 1)), np.zeros(1, 2, 1))
end)

check.test("singular and indefinite matrices spoil nothing else", function()
    local a = np.stack { np.eye(2, { dtype = "f64" }), np.ones(2, 2), np.full({ 2, 2 }, nan) }
    local x = L.inv(a)
    same(x[0], np.eye(2))
    check.ok(not np.any(np.isfinite(x[1])):item(), "the inverse of a singular matrix")
    check.ok(isnan(x[2]), "the inverse of NaN")
    check.equal(L.det(a) "0:2":totable(), { 1, 0 })
    local sign, logarithm = L.slogdet(a)
    check.equal({ sign[1]:item(), logarithm[1]:item() }, { 0, -inf })
    check.ok(isnan(sign[2]), "the sign of NaN")
    same(L.cholesky(a)[0], np.eye(2))
    check.ok(isnan(L.cholesky(a * -1)[{ 0, 1, 1 }]), "of a negative matrix")
    same(L.svdvals(a)[0], np.ones(2))
    check.ok(isnan(L.svdvals(a)[2]), "singular values of NaN")
    check.ok(isnan(L.eigvalsh(a)[2]), "eigenvalues of NaN")
    check.ok(isnan(L.svdvals(np.full({ 2, 3 }, inf))), "singular values of infinities")
end)

check.test("inverses of few rows and of many, and of batches, are inverses", function()
    for n = 1, 19 do
        for _, dtype in ipairs { "f32", "f64" } do
            local a = np.matrix_transpose(np.flip(random(n, 3, n, n) + np.eye(n) * 0.5, { axis = -1 })):astype(dtype)
            local x, want = L.inv(a), L.solve(a:astype "f64", np.eye(n, { dtype = "f64" }))
            local size = np.max(np.abs(want)):item()
            local cond = n * np.max(np.abs(a)):item() * size
            check.equal(x.dtype, dtype)
            check.ok(np.max(np.abs(x - want)):item() < np.finfo(dtype).eps * cond * size, n .. dtype)
        end
    end
    check.ok(np.array_equal(L.inv(np.array { { 0, 2 }, { -4, 0 } }), np.array { { 0, -0.25 }, { 0.5, 0 } }))
    check.ok(not np.any(np.isfinite(L.inv(np.diag(np.array { 2, 4, 0 }))[2])):item(), "of a singular diagonal")
end)

check.test("least squares at lower ranks, limits and edges", function()
    local a, b = random(1, 7, 4), random(2, 7, 3)
    for _, dtype in ipairs { "f32", "f64" } do
        local u, _, vh = L.svd(random(3, 7, 4), { full_matrices = false })
        for _, smallest in ipairs { 1, 1e-2, 1e-9, 0 } do -- far from the limit, near it, below
            local s = np.array({ 3, 2, 1, smallest }, { dtype = "f64" })
            local m = (u * s):matmul(vh):astype(dtype)
            for _, rcond in ipairs { 1e-3, 0.1, 0.5, 1 } do
                for _, x in ipairs { m, np.matrix_transpose(m) } do
                    local y = b:astype(dtype)"0:4"
                    if x.shape[1] == 7 then y = b:astype(dtype) end
                    local got, _, rank = L.lstsq(x, y, { rcond = rcond })
                    local want = L.pinv(x, { rtol = rcond }):matmul(y)
                    local off, size = np.max(np.abs(got - want)):item(), np.max(np.abs(want)):item()
                    check.ok(off <= 1e4 * np.finfo(dtype).eps * size, dtype .. smallest .. rcond)
                    local count = 0
                    for _, value in ipairs { 3, 2, 1, smallest } do count = count + (value > 3 * rcond and 1 or 0) end
                    check.equal(rank:item(), count)
                end
            end
        end
    end
    same((L.lstsq(np.zeros(3, 2), np.ones(3))), np.zeros(2))
    same((L.lstsq(np.zeros(0, 2), np.zeros(0, 3))), np.zeros(2, 3))
    check.equal((L.lstsq(np.zeros(3, 0), np.zeros(3))).shape, { 0 })
    check.equal((L.lstsq(a, np.zeros(7, 0))).shape, { 4, 0 })
    check.ok(isnan((L.lstsq(np.where(np.equal(a, a[0]), nan, a), b))), "of NaN")
    check.raises(function() L.lstsq(a, b, { rcond = "small" }) end, "option 'rcond' must be")
    local batch = np.stack { a, a * 2, a + 1 }
    local many = np.vmap(function(x) return (L.lstsq(x, b)) end)(batch)
    for k = 0, 2 do same(many[k], (L.lstsq(batch[k], b))) end
end)

check.test("what nobody reads beside a solution is not computed", function()
    local a, b = random(1, 70, 40), random(2, 70)
    np.wait(a, b)
    local function launches(f)
        local before = np.debug.counters().launches
        f()
        np.wait_all()
        return tonumber(np.debug.counters().launches - before)
    end
    local x, residuals, rank, s
    np.wait_all()
    check.equal(launches(function() x, residuals, rank, s = L.lstsq(a, b) end), 2) -- with the limit, an operand
    local chain = a
    for _ = 1, 2000 do chain = chain + 0 end -- past the limits of what is pending
    np.wait(chain)
    check.ok(tostring(np.explain(s)):find("waits until it is asked for", 1, true))
    check.equal(launches(function() s:wait() end), 1)
    check.equal(rank:item(), 40)
    check.close(residuals:item(), ((b - a:matmul(x)) ^ 2):sum():item(), 1e-12)
    check.close(s:totable(), L.svdvals(a):totable(), 1e-13)
    local only = np.jit(function(p, q) return (select(3, L.lstsq(p, q))) end)
    check.equal(only(a, b):item(), 40)
    local function of_values(p) return (select(4, L.lstsq(p, b)) ^ 2):sum() end
    check.close(np.grad(of_values)(a):totable(), (a * 2):totable(), 1e-12)
end)

check.test("integers count as floats, but in convolutions; dtypes are promoted", function()
    local i = np.array({ { 2, 1 }, { 1, 3 } }, { dtype = "i32" })
    check.equal({ L.det(i).dtype, L.inv(i:astype "i64").dtype }, { "f32", "f64" })
    check.equal(L.solve(i, np.ones(2, { dtype = "f64" })).dtype, "f64")
    check.close(L.solve(i:astype "f32", np.array({ 1, 2 }, { dtype = "f64" })):totable(), { 0.2, 0.6 }, 1e-15)
    check.equal(nn.conv(np.ones(1, 3, 1, { dtype = "i32" }), np.ones(3, 1, 1, { dtype = "i32" })).dtype, "i32")
    check.equal(nn.max_pool(np.arange(4):reshape(1, 4, 1), 2):totable(), { { { 1 }, { 3 } } })
    check.equal(nn.max_pool(np.arange(-4, 0):reshape(1, 4, 1), 3, { padding = 1 }):totable(), { { { -3 }, { -1 } } })
end)

check.test("a batch has the results of its matrices", function()
    local a, b = random(1, 3, 4, 4), random(2, 4, 2)
    local inverse, solved, u = L.inv(a), L.solve(a, b), L.svd(a)
    for k = 0, 2 do
        same(inverse[k], L.inv(a[k]), "inv")
        same(solved[k], L.solve(a[k], b), "solve")
        same(u[k], (L.svd(a[k])), "svd")
    end
end)

--- What solves and factors real matrices a (…, n, n), some of them symmetric and definite, with right sides b.
local function factored(a, definite, b)
    local p, l, u = L.lu(a)
    return { inverse = L.inv(a), solution = L.solve(a, b), lower = l, upper = u, order = p,
             cholesky = L.cholesky(definite), determinant = L.det(a), logarithm = (select(2, L.slogdet(a))),
             triangular = L.solve_triangular(a, b),
             transposed = L.solve_triangular(a, b, { lower = true, trans = true }),
             definite = L.cho_solve(L.cholesky(definite), b) }
end

check.test("real systems of all sizes: small residuals, equal bits in a batch and in any layout", function()
    for _, n in ipairs { 1, 2, 3, 8, 9, 17, 33, 64, 65, 130 } do
        for _, dtype in ipairs { "f32", "f64" } do
            local eye = np.eye(n, { dtype = dtype })
            local a = random(n, 2, n, n):astype(dtype) + eye * (2 * math.sqrt(n))
            local definite = np.matmul(a, np.swapaxes(a, -1, -2)) + eye
            local b = random(n + 1, 2, n, 5):astype(dtype)
            local all, small = factored(a, definite, b), np.finfo(dtype).eps * 100 * n
            local function is_near(x, want, what)
                local off = np.max(np.abs(x - want)):item() / np.max(np.abs(want)):item()
                check.ok(off < small, ("%s of %d rows, %s: off by %g"):format(what, n, dtype, off))
            end
            is_near(np.matmul(a, all.inverse), eye, "inverse")
            is_near(np.matmul(a, all.solution), b, "solution")
            is_near(np.matmul(np.matmul(all.order, all.lower), all.upper), a, "factors")
            is_near(np.matmul(all.cholesky, np.swapaxes(all.cholesky, -1, -2)), definite, "Cholesky factor")
            is_near(np.matmul(np.triu(a), all.triangular), b, "triangular solution")
            is_near(np.matmul(np.swapaxes(np.tril(a), -1, -2), all.transposed), b, "transposed solution")
            if n < 40 then is_near(np.log(np.abs(all.determinant)), all.logarithm, "determinant") end -- it fits f32
            check.ok(np.max(np.abs(all.lower)):item() <= 1, "the largest element of a column is its pivot")
            local turned = np.swapaxes(np.copy(np.swapaxes(a, -1, -2)), -1, -2)
            local spread = np.repeat_(b, 2, { axis = -1 })[{ {}, {}, { 0, 10, 2 } }]
            local views = factored(turned, np.swapaxes(definite, -1, -2), spread)
            local one = factored(a[1], definite[1], b[1])
            for name, x in pairs(all) do
                check.ok(np.array_equal(x, views[name]), name .. " of views")
                check.ok(np.array_equal(x[1], one[name]), name .. " by itself")
            end
        end
    end
end)

check.test("numbers that are not finite stay in their matrix, and reach its results", function()
    for _, n in ipairs { 3, 20, 70 } do
        for _, bad in ipairs { nan, inf, -inf } do
            local a, b = random(n, 2, n, n), random(n, 2, n, 3)
            a = a + np.swapaxes(a, -1, -2) + np.eye(n, { dtype = "f64" }) * (4 * n)
            local spoiled = a:at { 0, n - 1, n - 1 }:set(bad)
            local good, got = factored(a, a, b), factored(spoiled, spoiled, b)
            for name, x in pairs(got) do
                check.ok(np.array_equal(x[1], good[name][1]), name .. " of the other matrix")
            end
            check.ok(not np.isfinite(got.determinant[0]):item(), "determinant with " .. tostring(bad))
            check.ok(bad == inf or isnan(np.diagonal(got.cholesky[0])), "Cholesky factor with " .. tostring(bad))
            check.ok(bad == bad or isnan(got.inverse[0]), "inverse with NaN")
        end
    end
end)

check.test("systems have the same bits with every instruction set", function()
    for _, n in ipairs { 5, 8, 31, 32 } do -- products of more rows are a library's where nothing is fused
        local a, b = random(n, 3, n, n), random(n, 3, n, 4)
        local definite = np.matmul(a, np.swapaxes(a, -1, -2)) + np.eye(n)
        local first = factored(a, definite, b)
        for name in pairs(first) do first[name]:wait() end
        for _, isa in ipairs { "baseline", "avx2", "avx512" } do
            if pcall(np.debug.kernels, { isa = isa }) then
                for name, x in pairs(factored(a, definite, b)) do
                    check.ok(np.array_equal(x, first[name], { equal_nan = true }), name .. " with " .. isa)
                end
            end
        end
        np.debug.kernels {}
    end
end)

check.test("vmap batches factorizations and their gradients", function()
    local a, b = random(3, 5, 3, 3), random(4, 3, 2)
    local function f(x, y)
        local _, logarithm = L.slogdet(x)
        local q = L.qr(x)
        local s = L.svdvals(x)
        local spd = x:matmul(x.T) + np.eye(3)
        return (L.solve(x, y) ^ 2):sum() + logarithm + (q ^ 3):sum() + (s ^ 2):sum() + L.cholesky(spd):sum()
            + L.eigvalsh(spd)[0] + L.pinv(x "0:2"):sum() + L.det(x) + L.solve_triangular(x, y):sum()
    end
    local gradients = np.vmap(np.grad(f, { argnums = { 1, 2 } }), { in_axes = { 0, false } })
    local of_a, of_b = gradients(a, b)
    check.equal({ of_a.shape, of_b.shape }, { { 5, 3, 3 }, { 5, 3, 2 } })
    for k = 0, 4 do
        local one, two = np.grad(f, { argnums = { 1, 2 } })(a[k], b)
        check.close(of_a[k]:totable(), one:totable(), 1e-8, "example " .. k)
        check.close(of_b[k]:totable(), two:totable(), 1e-8, "example " .. k)
    end
end)

check.test("equal eigenvalues have derivatives, their vectors have none", function()
    local eye, some = np.eye(3, { dtype = "f64" }), random(6, 3, 3)
    local function of_values(x)
        return (L.eigh(x) ^ 2):sum() + (L.eigvalsh(x) ^ 2):sum() + L.matrix_norm(x, { ord = "nuc" })
            + (select(2, L.svd(x, { full_matrices = false })) ^ 2):sum()
    end
    check.close(np.grad(of_values)(eye):totable(), (eye * 7):totable(), 1e-12)
    local value, tangent = np.jvp(of_values, { eye }, { some })
    check.close({ value:item(), tangent:item() }, { 12, 7 * L.trace(some):item() }, 1e-12)
    local function of_vectors(x)
        local w, v = L.eigh(x)
        return (v * np.exp(w)):matmul(v.T):sum()
    end
    check.ok(isnan(np.grad(of_vectors)(eye)), "a derivative by vectors at equal values")
    check.ok(not np.any(np.isnan(np.grad(of_vectors)(eye + np.diag(np.arange(3))))):item(), "at different values")
end)

check.test("what has no derivative says so", function()
    local tall = random(5, 3, 2)
    check.raises(function() np.grad(function(x) return (L.svd(x)):sum() end)(tall) end, "full_matrices=false")
    check.raises(function()
        np.grad(function(x) return (L.qr(x, { mode = "complete" })):sum() end)(tall)
    end, "mode \"reduced\"")
    check.raises(function() np.jvp(function(x) return (L.svd(x)) end, { tall }, { tall }) end, "full_matrices=false")
end)

--- A convolution with as many places as there are pixels, as a sum of products with shifted images.
local function shifted_products(x, w)
    local height, width, total = x:dim(1), x:dim(2), nil
    local padded = np.pad(x, { { 0, 0 }, { 1, 1 }, { 1, 1 }, { 0, 0 } })
    for i = 0, 2 do
        for j = 0, 2 do
            local part = np.matmul(padded[{ {}, { i, i + height }, { j, j + width } }], w[{ i, j }])
            total = total and total + part or part
        end
    end
    return total
end

check.test("large convolutions, in parts and in blocks", function()
    local function gradients(f, x, w)
        return np.grad(function(a, b) return (f(a, b) * f(a, b)):mean() end, { argnums = { 1, 2 } })(x, w)
    end
    local cases = { { { 16, 24, 24, 8 }, { 3, 3, 8, 16 }, "f32" }, { { 2, 176, 176, 8 }, { 3, 3, 8, 3 }, "f64" } }
    for _, case in ipairs(cases) do
        local x = np.random.normal(np.random.key(0), case[1], { dtype = case[3] })
        local w = np.random.normal(np.random.key(1), case[2], { dtype = case[3] })
        local accurate = { rtol = 1e-4, atol = 1e-5 }
        check.ok(np.allclose(nn.conv(x, w), shifted_products(x, w), { rtol = 1e-4, atol = 1e-4 }), "values")
        local of_x, of_w = gradients(nn.conv, x, w)
        local want_x, want_w = gradients(shifted_products, x, w)
        check.ok(np.allclose(of_x, want_x, accurate), "the gradient of images")
        check.ok(np.allclose(of_w, want_w, accurate), "the gradient of the kernel")
        check.ok(np.array_equal(of_w, (select(2, gradients(nn.conv, x, w)))), "the same bits again")
    end
end)

check.test("the same bits whatever the number of workers", function()
    local code = [[
        local key, L, nn = np.random.key(3), np.linalg, np.nn
        local x, w = np.random.normal(key, { 16, 24, 24, 8 }), np.random.normal(key, { 3, 3, 8, 16 })
        local of_x, of_w = np.grad(function(a, b) return (nn.conv(a, b) ^ 2):mean() end, { argnums = { 1, 2 } })(x, w)
        local a, b = np.random.normal(key, { 40, 30, 30 }), np.random.normal(key, { 300, 300 })
        for _, y in ipairs { nn.conv(x, w), of_x, of_w, (L.svd(a)), (L.inv(a)), (L.qr(a)), (select(2, L.eigh(a))),
                             L.inv(b), L.solve(b, b.T), L.cholesky(b:matmul(b.T)), L.solve_triangular(b:tanh() + 9, b),
                             (select(2, L.slogdet(b))) } do
            local bits = 0
            for _, v in ipairs(np.ravel(y):totable()) do bits = (bits * 31 + v * 2 ^ 20) % 2 ^ 40 end
            io.write(("%a "):format(bits))
        end]]
    local outputs = {}
    for k, workers in ipairs { "1", "2", "3" } do
        local _, out = process.run_neap { "--workers", workers, "-e", code }
        outputs[k] = out
    end
    check.ok(select(2, outputs[1]:gsub("0x", "")) == 12, outputs[1])
    check.equal({ outputs[2], outputs[3] }, { outputs[1], outputs[1] })
end)

check.test("layers that convolve", function()
    local model = nn.Sequential { nn.Conv(1, 4, { 3, 3 }), nn.relu, nn.MaxPool(2),
                                  nn.Conv(4, 6, { 3, 3 }, { groups = 2 }), nn.AvgPool({ 2, 2 }), nn.flatten,
                                  nn.Dense(24, 3) }
    local params = model:init(np.random.key(0))
    check.equal({ params[1].w.shape, params[4].w.shape, params[4].b.shape }, { { 3, 3, 1, 4 }, { 3, 3, 2, 6 }, { 6 } })
    local x = np.ones(2, 8, 8, 1)
    check.equal(model(params, x).shape, { 2, 3 })
    local gradients = np.grad(function(p) return (model(p, x) ^ 2):sum() end)(params)
    check.equal(gradients[1].w.shape, { 3, 3, 1, 4 })
    local first = nn.Conv(2, 4, { 3 }, { layout = "NCW", strides = 2 })
    local own = first:init(np.random.key(1))
    check.equal({ own.w.shape, first(own, np.ones(1, 2, 7)).shape }, { { 4, 2, 3 }, { 1, 4, 4 } })
    check.raises(function() nn.Conv(3, 4, { 3 }, { groups = 2 }):init(np.random.key(0)) end, "3 inputs")
    check.raises(function() first({}, x) end, "layer:init")
    local open = nn.Conv(5, { 3, 1 }):initialize(np.random.key(2))
    check.equal({ open(x).shape, open.params.w.shape }, { { 2, 8, 8, 5 }, { 3, 1, 1, 5 } })
    check.raises(function() nn.Conv(5, { 3 }):init(np.random.key(0)) end, "size of its input is not known")
end)

check.done()
