--- sparse_solvers_test.lua: contracts of the solvers of np.sparse (tests/lib/contracts.lua).
-- (release build only)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "sparse_solvers"

local S = np.sparse

local FIXED = "the shape of a sparse array is fixed"
local NO_SPECIAL = "infinities and NaN have no solution: what comes then is held by tests of their own"

--- Options with a tolerance near the rounding of x's dtype.
local function sharp(o, x)
    local all = { rtol = (x.dtype == "f64" or x.dtype == "c128") and 1e-14 or 1e-6 }
    for key, value in pairs(o) do all[key] = value end
    return all
end

-- ---- Iterations -----------------------------------------------------------------------------------------------------

--- What all iterations refuse.
local function refused(f)
    return {
        { "b%) must be a 1%-d array, got an array of shape %(2, 2%)", function() f(S.eye(2), np.eye(2)) end },
        { "b%) has no elements", function() f(S.eye(2), np.zeros { 0 }) end },
        { "A must be square, of 3 rows as the vector, got shape %(2, 2%)", function() f(S.eye(2), np.ones(3)) end },
        { "A must be square", function() f(S.eye(2, 3), np.ones(3)) end },
        { "A%) must be a sparse array, a matrix or a function of vectors, got the number 3", function()
            f(3, np.ones(3))
        end },
        { "A must return a vector of shape %(3,%), got the number 2", function()
            f(function() return 2 end, np.ones(3))
        end },
        { "option 'M' must be a sparse array", function() f(S.eye(3), np.ones(3), { M = "ilu" }) end },
        { "option 'x0' has 2 elements, b has 3", function() f(S.eye(3), np.ones(3), { x0 = np.ones(2) }) end },
        { "option 'rtol' must be a number from 0 up", function() f(S.eye(3), np.ones(3), { rtol = -1 }) end },
        { "option 'maxiter'", function() f(S.eye(3), np.ones(3), { maxiter = 0 }) end },
    }
end

local function iteration(name, symmetric, accepts, options)
    local f = S[name]
    of("np.sparse." .. name, {
        args = { { "d", from = -1, to = 1, table = false }, "b" },
        shapes = { { { symmetric and 2 or 4 }, { 3 } } }, accepts = accepts, gives = "same", options = options,
        unseen = { rtol = "each call gives it", x0 = "a test by name", M = "a test by name",
                   maxiter = "a test by name", atol = "a test by name" },
        call = function(_, o, d, b)
            local above, below = d[{ { 0, 2 } }], d[{ { -2, nil } }]
            if symmetric and d.dtype == "c128" then below = np.conj(above) end
            local A = S.diags({ below, np.array({ 4, 5, 6 }, { dtype = d.dtype }), above }, { offsets = { -1, 0, 1 } })
            return (f(A, b, sharp(o, d)))
        end,
        oracle = symmetric and "solved(np.conj(d), np.array([4, 5, 6]), d, b)"
            or "solved(d[2:], np.array([4, 5, 6]), d[:2], b)",
        within = "mixed 1e-11", special = false, first_only = true, vmapped = "mixed 1e-11",
        without = { special = NO_SPECIAL, sizes = FIXED, mesh = "the extents are odd: tests/mesh/rows_test.lua has the "
                    .. "product on a mesh" },
        refuses = refused(f),
        also = {
            ["np.sparse." .. name .. ": guesses, preconditioners, functions"] = function()
                local A = S.diags({ -1, 2.5, -1 }, { offsets = { -1, 0, 1 }, shape = { 20, 20 }, dtype = "f64" })
                local scale = np.arange(1, 21):astype "f64"
                A = A * scale * scale:reshape(-1, 1)
                local x = np.cos(np.arange(20):astype "f64")
                local b = A:dot(x)
                local M = S.diags(1 / (scale * scale * 2.5))
                for _, given in ipairs { M, M:toarray(), function(v) return v / (scale * scale * 2.5) end } do
                    local found, info = f(function(v) return A:dot(v) end, b, { rtol = 1e-13, atol = 1e-9, M = given })
                    check.ok(np.abs(found - x):max():item() < 1e-9, "with a preconditioner")
                    check.equal(info, 0)
                end
                local half = f(A:astype "f16" * (1 / 256), np.ones({ 20 }, { dtype = "f16" }), { maxiter = 3 })
                check.equal(half.dtype, "f16")
                local same, info = f(A, b, { x0 = x })
                check.equal({ np.all(same:eq(x)):item(), info }, { true, 0 })
                local none, at_once = f(A, b * 0)
                check.equal({ np.abs(none):max():item(), at_once }, { 0, 0 })
                local few = { maxiter = 1, rtol = 1e-13, restart = name == "gmres" and 2 or nil }
                check.ok(select(2, f(A, b, few)) ~= 0, "one iteration is too few")
                local _, traced = np.jit(function(c) return f(A, c, few) end)(b)
                check.equal({ traced.dtype, traced:item() ~= 0 }, { "i32", true })
                check.ok(select(2, f(A, b * np.nan)) ~= 0, "NaN is no solution")
            end,
            ["np.sparse." .. name .. ": the preconditioner and the guess move nothing"] = function()
                local A, b = S.eye(3, { dtype = "f64" }) * 2, np.array({ 1, 2, 3 }, { dtype = "f64" })
                local g, h = np.grad(function(c, m)
                    return (f(A, b * c, { M = function(v) return v * m end, x0 = b * m, rtol = 1e-13 })):sum()
                end, { argnums = { 1, 2 } })(np.array(1, { dtype = "f64" }), np.array(0.4, { dtype = "f64" }))
                check.ok(math.abs(g:item() - 3) < 1e-9 and h:item() == 0)
            end,
        },
    })
end

iteration("cg", true, "f64 c128")
iteration("bicgstab", false, "f64")
iteration("gmres", false, "f64", { { restart = 2 } })

check.test("second derivatives of solutions, in reverse mode", function()
    local A = S.diags({ -1, 2.5, -1 }, { offsets = { -1, 0, 1 }, shape = { 3, 3 }, dtype = "f64" })
    local b = np.array({ 1, 2, 3 }, { dtype = "f64" })
    local function twice(solve)
        local function of_data(d)
            return (solve(S.csr_array { data = d, indices = A.indices, indptr = A.indptr, shape = A.shape })
                    ^ 2):sum()
        end
        return np.grad(function(d) return (np.grad(of_data)(d) ^ 2):sum() end)(A.data)
    end
    local got = twice(function(B) return (S.cg(B, b, { rtol = 1e-14 })) end)
    local expected = twice(function(B) return np.linalg.solve(B:toarray(), b) end)
    check.ok(np.abs(got - expected):max():item() < 1e-8 * np.abs(expected):max():item())
end)

check.test("gmres where the space is exhausted, and bicgstab where it breaks down", function()
    local turn = S.csr_array { { 0, 1 }, { 1, 0 } }
    local x, info = S.gmres(turn, np.array { 1, 0 })
    check.equal({ x:totable(), info }, { { 0, 1 }, 0 })
    check.equal({ S.gmres(S.eye(4) * 2, np.array { 0, 1, 0, 0 })[1]:item() }, { 0.5 })
    check.equal(select(2, S.bicgstab(S.csr_array { { 0, 1 }, { -1, 0 } }, np.array { 1, 0 })), -11)
end)

-- ---- Triangular systems ---------------------------------------------------------------------------------------------

of("np.sparse.spsolve_triangular", {
    args = { { "d", from = 1, to = 3, table = false }, "b" }, shapes = { { { 7 }, { 4 } }, { { 7 }, { 4, 2 } } },
    accepts = "f64 f32 f16 c128", gives = "same",
    options = { {}, { lower = false }, { unit_diagonal = true }, { lower = false, unit_diagonal = true } },
    call = function(f, o, d, b)
        local A = S.csr_array { data = d, indices = np.array({ 0, 0, 1, 1, 2, 0, 3 }, { dtype = "i32" }),
                                indptr = np.array({ 0, 1, 3, 5, 7 }, { dtype = "i32" }), shape = { 4, 4 } }
        return f(o.lower == false and A.T or A, b, o)
    end,
    oracle = "triangular(o, d, b)", special = false,
    within = { f64 = "mixed 1e-13", f32 = "mixed 1e-5", f16 = "mixed 2e-2", c128 = "mixed 1e-13" },
    without = { special = NO_SPECIAL, sizes = FIXED },
    refuses = {
        { "A%) must be square, got shape %(2, 3%)", function() S.spsolve_triangular(S.eye(2, 3), np.ones(2)) end },
        { "b%) must have 2 rows", function() S.spsolve_triangular(S.eye(2), np.ones(3)) end },
        { "must be a sparse array", function() S.spsolve_triangular(np.eye(2), np.ones(2)) end },
        { "option 'lower' must be true or false", function()
            S.spsolve_triangular(S.eye(2), np.ones(2), { lower = 1 })
        end },
    },
    also = {
        ["np.sparse.spsolve_triangular: all formats; what stands in the other triangle is not read"] = function()
            local D = np.array({ { 2, 7, 0 }, { 1, 4, 0 }, { 0, 3, 5 } }, { dtype = "f64" })
            local b = np.array({ 2, 9, 3 }, { dtype = "f64" })
            for _, format in ipairs { "csr", "csc", "coo" } do
                local A = S[format .. "_array"](D)
                local low, high = S.spsolve_triangular(A, b), S.spsolve_triangular(A, b, { lower = false })
                check.ok(np.abs(np.matmul(np.tril(D), low) - b):max():item() < 1e-14, format)
                check.ok(np.abs(np.matmul(np.triu(D), high) - b):max():item() < 1e-14, format)
                local g = np.grad(function(B) return S.spsolve_triangular(B, b):sum() end)(A)
                check.equal(g:toarray()[{ 0, 1 }]:item(), 0)
            end
            check.equal(S.spsolve_triangular(S.csr_array { shape = { 1, 1 } }, np.ones(1)):item(), math.huge)
        end,
    },
})

-- ---- Eigenvalues ----------------------------------------------------------------------------------------------------

of("np.sparse.eigsh", {
    args = { { "main", from = -2, to = 4, table = false }, { "above", from = 0.5, to = 1, table = false } },
    shapes = { { { 5 }, { 4 } } }, accepts = "f64", gives = "same",
    options = { { which = "SA", ncv = 4, tol = 1e-9, maxiter = 200 } },
    unseen = { return_eigenvectors = "each call gives it", n = "a test by name", v0 = "a test by name" },
    call = function(f, o, main, above)
        local given = { return_eigenvectors = false }
        for key, value in pairs(o) do given[key] = value end
        return f(S.diags({ above, main, above }, { offsets = { -1, 0, 1 } }), 2, given)
    end,
    oracle = "extremes(o, main, above)", special = false, first_only = true,
    within = { f64 = "mixed 1e-9", f32 = "mixed 1e-4" },
    vmapped = "mixed 1e-9", divided = "mixed 1e-9",
    without = { special = NO_SPECIAL, sizes = FIXED, numbers = "the matrix is made of the arrays before" },
    refuses = {
        { "k%) must be an integer from 1 to 2, got the number 3", function() S.eigsh(S.eye(3), 3) end },
        { "A must be square", function() S.eigsh(S.eye(2, 3), 1) end },
        { "the option 'n' says the size", function() S.eigsh(function(x) return x end, 1) end },
        { 'option \'which\' must be "LM"', function() S.eigsh(S.eye(3), 1, { which = "BE" }) end },
        { "option 'ncv'", function() S.eigsh(S.eye(3), 2, { ncv = 2 }) end },
        { "not near enough after 1 cycles", function()
            local A = S.diags({ -1, 2, -1 }, { offsets = { -1, 0, 1 }, shape = { 90, 90 }, dtype = "f64" })
            S.eigsh(A, 2, { maxiter = 1, ncv = 5 })
        end },
    },
    also = {
        ["np.sparse.eigsh: vectors, restarts, functions, spaces that are exhausted"] = function()
            local n = 60
            local A = S.diags({ -1, 2, -1 }, { offsets = { -1, 0, 1 }, shape = { n, n }, dtype = "f64" })
                + S.diags(np.arange(n):astype "f64" * 0.01)
            local all = np.linalg.eigvalsh(A:toarray())
            for which, range in pairs { LA = { n - 3, n }, SA = { 0, 3 }, LM = { n - 3, n }, SM = { 0, 3 } } do
                local w, v = S.eigsh(A, 3, { which = which, ncv = 10 })
                check.ok(np.abs(w - all[{ range }]):max():item() < 1e-10, which)
                check.ok(np.abs(A:dot(v) - v * w):max():item() < 1e-7, which)
                check.ok(np.abs(np.matmul(v.T, v) - np.eye(3)):max():item() < 1e-10, which)
            end
            local function product(x) return A:dot(x) end
            local start = np.ones({ n }, { dtype = "f64" })
            check.ok(np.abs(S.eigsh(product, 2, { v0 = start }) - all[{ { n - 2, n } }]):max():item() < 1e-10)
            check.equal((S.eigsh(product, 1, { n = n })).dtype, "f32")
            check.ok(np.abs(S.eigsh(S.eye(5) * 3, 2) - 3):max():item() < 1e-5)
            local hermitian = S.csr_array(np.complex(np.array { { 2, 0 }, { 0, 2 } }, np.array { { 0, 1 }, { -1, 0 } }))
            local w = S.eigsh(hermitian, 1)
            check.ok(w.dtype == "f32" and math.abs(w:item() - 3) < 1e-5)
        end,
        ["np.sparse.eigsh: other derivatives are NaN, and so is what is not near while tracing"] = function()
            local A = S.diags({ -1, 2, -1 }, { offsets = { -1, 0, 1 }, shape = { 9, 9 }, dtype = "f64" })
            local of_vectors = np.grad(function(B)
                local _, v = S.eigsh(B, 1)
                return v:sum()
            end)(A)
            check.ok(np.all(np.isnan(of_vectors.data)):item())
            local far = S.diags({ -1, 2, -1 }, { offsets = { -1, 0, 1 }, shape = { 90, 90 }, dtype = "f64" })
            local w = np.jit(function(B)
                return S.eigsh(B, 2, { maxiter = 1, ncv = 5, return_eigenvectors = false })
            end)(far)
            check.ok(np.all(np.isnan(w)):item())
        end,
    },
})

of("np.sparse.lobpcg", {
    args = { { "main", from = -2, to = 4, table = false }, { "above", from = 0.5, to = 1, table = false } },
    shapes = { { { 12 }, { 11 } } }, accepts = "f64", gives = "same",
    options = { { tol = 1e-9 }, { largest = false, tol = 1e-9, maxiter = 300 } },
    unseen = { M = "a test by name" },
    call = function(f, o, main, above)
        local start = np.cos(np.reshape(np.arange(24) ^ 2, 12, 2):astype(main.dtype))
        return (f(S.diags({ above, main, above }, { offsets = { -1, 0, 1 } }), start, o))
    end,
    oracle = "block_extremes(o, main, above)", special = false, first_only = true,
    within = { f64 = "mixed 1e-9" }, vmapped = "mixed 1e-9", divided = "mixed 1e-9",
    without = { special = NO_SPECIAL, sizes = FIXED, numbers = "the matrix is made of the arrays before" },
    refuses = {
        { "X%) must be a matrix of vectors", function() S.lobpcg(S.eye(9), np.ones(9)) end },
        { "3 times as many rows, got shape %(5, 2%)", function() S.lobpcg(S.eye(5), np.ones { 5, 2 }) end },
        { "A must be square, of 9 rows", function() S.lobpcg(S.eye(8), np.ones { 9, 2 }) end },
        { "A%) must be a sparse array, a matrix or a function", function() S.lobpcg(3, np.ones { 9, 2 }) end },
        { "option 'M' must be a sparse array", function() S.lobpcg(S.eye(9), np.ones { 9, 2 }, { M = "ilu" }) end },
        { "option 'largest' must be true or false", function()
            S.lobpcg(S.eye(9), np.ones { 9, 2 }, { largest = "LM" })
        end },
        { "option 'tol'", function() S.lobpcg(S.eye(9), np.ones { 9, 2 }, { tol = -1 }) end },
        { "not near enough after 2 turns", function()
            local A = S.diags({ -1, 2, -1 }, { offsets = { -1, 0, 1 }, shape = { 90, 90 }, dtype = "f64" })
            S.lobpcg(A, np.eye(90, 2), { maxiter = 2 })
        end },
    },
    also = {
        ["np.sparse.lobpcg: vectors, functions, preconditioners, complex numbers, equal eigenvalues"] = function()
            local n = 60
            local A = S.diags({ -1, 2, -1 }, { offsets = { -1, 0, 1 }, shape = { n, n }, dtype = "f64" })
                + S.diags(np.arange(n):astype "f64" * 0.1)
            local all, d = np.linalg.eigvalsh(A:toarray()), A:diagonal()
            local start = np.random.normal(np.random.key(1), { n, 3 }, { dtype = "f64" })
            local function product(x) return A:dot(x) end
            for _, given in ipairs { {}, { M = S.diags(1 / d) }, { M = function(x) return x / d end } } do
                given.largest = false
                for _, operator in ipairs { A, A:toarray(), product } do
                    local w, v = S.lobpcg(operator, start, given)
                    check.ok(np.abs(w - all[{ { 0, 3 } }]):max():item() < 1e-10, "values")
                    check.ok(np.abs(A:dot(v) - v * w):max():item() < 1e-6, "vectors")
                    check.ok(np.abs(np.matmul(v.T, v) - np.eye(3)):max():item() < 1e-12, "they are orthonormal")
                end
            end
            check.ok(np.abs(S.lobpcg(S.eye(9) * 3, np.ones { 9, 2 }) - 3):max():item() < 1e-5, "equal ones")
            check.equal(S.lobpcg(S.eye(9) * 0, np.zeros { 9, 2 }):totable(), { 0, 0 })
            local turned = np.complex(A:toarray(), np.tril(np.ones { n, n }, -1) - np.triu(np.ones { n, n }, 1))
            local w, v = S.lobpcg(turned, start)
            local expected = np.linalg.eigvalsh(turned)
            check.equal({ w.dtype, v.dtype }, { "f64", "c128" })
            check.ok(np.abs(w - np.flip(expected[{ { n - 3, n } }])):max():item() < 1e-8, "complex ones")
        end,
        ["np.sparse.lobpcg: what is not near while tracing, and other derivatives, are NaN"] = function()
            local A = S.diags({ -1, 2, -1 }, { offsets = { -1, 0, 1 }, shape = { 90, 90 }, dtype = "f64" })
            local w, v = np.jit(function(B) return S.lobpcg(B, np.eye(90, 2), { maxiter = 2 }) end)(A)
            check.ok(np.all(np.isnan(w)):item() and np.all(np.isnan(v)):item())
            local start = np.random.normal(np.random.key(1), { 90, 1 }, { dtype = "f64" })
            local slopes = np.grad(function(d)
                local _, vectors = S.lobpcg(S.diags(d), start, { tol = 1e-6 })
                return vectors:sum()
            end)(np.arange(90):astype "f64")
            check.ok(np.all(np.isnan(slopes)):item())
        end,
    },
})

finish()
