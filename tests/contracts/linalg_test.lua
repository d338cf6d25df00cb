--- linalg_test.lua: contracts of np.linalg: factorizations, equations, norms and functions of matrices.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local of, finish, _, elsewhere = require "tests.lib.contracts" "linalg"

local L = np.linalg
local INF, NAN = math.huge, 0 / 0
local ALL = "floats ints complex"
local MADE = "matrices that are made to be regular; what is not finite stands in a test of its own"
local NEAR = { f64 = "mixed 1e-12", f32 = "mixed 2e-5", f16 = "mixed 4e-3", bf16 = "mixed 4e-2", c64 = "scaled 1e-5",
               c128 = "scaled 1e-12" }

local function near(got, want, tolerance, what)
    check.ok(math.abs(got - want) <= tolerance * math.max(1, math.abs(want)),
             ("%s: %.17g, expected %.17g"):format(what, got, want))
end

local function real(dtype)
    return dtypes.by_name[dtype].lowest and np.result_type(dtype, 0.5) or dtype == "bool" and "f32" or dtype
end

local function real_part(dtype)
    return dtype == "c64" and "f32" or dtype == "c128" and "f64" or real(dtype)
end

local function complex_of(dtype)
    return real_part(dtype) == "f64" and "c128" or "c64"
end

-- ---- Matrices -------------------------------------------------------------------------------------------------------

--- Random numbers of a dtype and a shape, whole ones of 0 to 3 for integers.
local function drawn(random, dims, dtype)
    local facts, n, list = dtypes.by_name[dtype], 1, {}
    for _, d in ipairs(dims) do n = n * d end
    for k = 1, n do
        local value = facts.lowest and random(4) - 1 or (random(4000) - 2000) / 1000
        list[k] = facts.kind == "c" and value + (random(4000) - 2000) / 1000 * 1i or value
    end
    if n == 0 then return np.zeros(dims, { dtype = dtype }) end
    return np.array(list, { dtype = dtype }):reshape(dims)
end

--- Those plus (4, 5, 6, …) on the diagonal.
local function regular(random, dims, dtype)
    local n = dims[#dims]
    local diagonal = np.diag(np.arange(4, 4 + n,
                                       { dtype = dtype == "c64" and "f32" or dtype == "c128" and "f64" or dtype }))
    return drawn(random, dims, dtype) + np.astype(diagonal, dtype)
end

local function adjoint(x)
    x = np.swapaxes(x, -1, -2)
    return (x.dtype == "c64" or x.dtype == "c128") and np.conj(x) or x
end

--- Symmetric matrices of distinct eigenvalues above 0.
local function definite(random, dims, dtype)
    local x = drawn(random, dims, dtype)
    if dtypes.by_name[dtype].lowest then
        x = np.triu(x, 1) -- small whole numbers beside a diagonal that dominates
        local d = np.astype(np.diag(np.arange(dims[#dims], { dtype = "i32" }) * 8 + 12), dtype)
        return x + adjoint(x) + d
    end
    local half = np.triu(x, 1) * 0.25
    return half + adjoint(half) + np.astype(np.diag(np.arange(dims[#dims]) * 2 + 3), dtype)
end

local X, SYMMETRIC = { "x", make = regular }, { "x", make = definite }
local SQUARES = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 1, 1 } }, { { 4, 4 } } }

--- A NaN in one matrix of two is in each result of it, and in none of the other's.
local function nan_stays(name, call)
    return function()
        local x = np.stack { np.array { { 4, 1 }, { 1, 3 } }, np.array { { 4, NAN }, { NAN, 3 } } }
        for k, y in ipairs { (call or function(f, z) return f(z) end)(L[name], x) } do
            check.ok(not np.any(np.isnan(y[0])):item(), name .. ": the other matrix, result " .. k)
            check.ok(np.any(np.isnan(y[1])):item(), name .. ": NaN is hidden, result " .. k)
        end
    end
end

--- A contract of a function of matrices.
local function matrix(name, spec)
    spec.accepts = spec.accepts or ALL
    spec.shapes = spec.shapes or SQUARES
    spec.args = spec.args or { X }
    spec.within, spec.vmapped, spec.divided = spec.within or NEAR, NEAR, NEAR
    spec.without = spec.without or {}
    if #spec.args == 1 then
        if spec.args[1].make then spec.without.special = spec.without.special or MADE end
        spec.also = spec.also or {}
        if spec.nan ~= false then
            spec.also["NaN"] = nan_stays(name:match "[^.]+$", type(spec.nan) == "function" and spec.nan or nil)
        end
    end
    spec.nan = nil
    spec.slope = spec.slope or 1e-5
    if spec.complex_slopes == nil then spec.complex_slopes = spec.accepts:find "complex" ~= nil end
    of(name, spec)
end

-- ---- Equations and inverses -----------------------------------------------------------------------------------------

matrix("np.linalg.cholesky", {
    args = { SYMMETRIC }, gives = real, oracle = "np.linalg.cholesky(x, upper=o.get('upper', False))",
    options = { {}, { upper = true }, { symmetrize_input = false } },
})

local SYSTEMS = { { { 3, 3 }, { 3, 2 } }, { { 2, 2, 2 }, { 2, 2, 3 } }, { { 3, 3 }, { 3 } }, { { 2, 2 }, { 3, 2, 1 } } }
local function beside(extra)
    return { extra or { "a", make = regular }, { "b", special = function(dtype)
        return dtypes.by_name[dtype].kind == "f" and { NAN, INF } or dtypes.by_name[dtype].kind == "c" and { 1i } or nil
    end } }
end

matrix("np.linalg.solve", {
    args = beside(), shapes = SYSTEMS, gives = real, oracle = "np.linalg.solve(a, b)",
    without = { special = "NaN and infinities spread as the order of operations has them" },
})
matrix("np.linalg.solve_triangular", {
    args = beside(), shapes = SYSTEMS, gives = real,
    oracle = "triangular(a, b, o)",
    options = { {}, { lower = true }, { trans = true }, { unit_diagonal = true, lower = true, trans = true } },
    within = { f64 = "scaled 1e-12", f32 = "scaled 1e-5", f16 = "scaled 4e-3", bf16 = "scaled 3e-2",
               c64 = "scaled 1e-5", c128 = "scaled 1e-12" },
    without = { special = "NaN and infinities spread as the order of operations has them" },
})
matrix("np.linalg.inv", { gives = real, oracle = "np.linalg.inv(x)" })

matrix("np.linalg.det", {
    gives = real, oracle = "np.linalg.det(x)",
    within = { f64 = "rel 1e-13", f32 = "rel 1e-5", f16 = "ulp 2", bf16 = "ulp 2",
                                                         c64 = "scaled 1e-5", c128 = "scaled 1e-13" },
    derivative = "leibniz(x)", uneven = true, slope = 1e-4,
    points = { { { { 1, 2 }, { 2, 4 } } }, { { { 0 } } }, { { { 0, 0 }, { 0, 0 } } },
               { { { 1, 2, 3 }, { 2, 4, 6 }, { 1, 1, 1 } } },
               { { { 1, 2, 3 }, { 2, 4, 6 }, { 3, 6, 9 } } }, { { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } } },
               { { { 0, 0 }, { 3, 0 } } } },
    also = {
        ["the derivative at singular matrices of four rows"] = function()
            local rank3 = np.array({ { 0, 1, 0, 0 }, { 0, 0, 2, 0 }, { 0, 0, 0, 3 }, { 0, 0, 0, 0 } },
                                   { dtype = "f64" })
            local g = np.grad(L.det)(rank3)
            local expected = np.zeros({ 4, 4 }, { dtype = "f64" }):at { 3, 0 }:set(-6)
            check.ok(np.allclose(g, expected, { atol = 1e-12 }), "rank 3: " .. tostring(g))
            local rank2 = np.diag(np.array({ 1, 2, 0, 0 }, { dtype = "f64" }))
            check.ok(np.allclose(np.grad(L.det)(rank2), 0), "rank 2")
            local _, t = np.jvp(L.det, { rank3 }, { np.ones_like(rank3) })
            near(t:item(), -6, 1e-12, "forward")
        end,
    },
})
matrix("np.linalg.slogdet",
       { gives = function(dtype) return dtype end, any_dtype = true, oracle = "np.linalg.slogdet(x)",
    nan = function(f, x) return (select(2, f(x))) end })

matrix("np.linalg.cho_solve", {
    args = beside { "a", make = regular }, shapes = SYSTEMS, gives = real,
    oracle = "cholesky_solution(a, b, o)", options = { {}, { lower = false } },
    within = { f64 = "scaled 1e-12", f32 = "scaled 1e-5", f16 = "scaled 4e-3", bf16 = "scaled 3e-2",
               c64 = "scaled 1e-5", c128 = "scaled 1e-12" },
    without = { special = "NaN and infinities spread as the order of operations has them" },
})
local function block(random, dims, dtype)
    if #dims == 2 then return regular(random, dims, dtype) end
    return regular(random, { 4, 4 }, dtype):reshape(dims)
end
matrix("np.linalg.tensorsolve", {
    args = beside { "a", make = block },
    shapes = { { { 4, 4 }, { 4 } }, { { 3, 3 }, { 3 } }, { { 2, 2, 4 }, { 2, 2 } }, { { 4, 2, 2 }, { 4 } } },
    oracle = "np.linalg.tensorsolve(a, b, axes=o.get('axes'))", options = { {}, { axes = { 0 } } }, gives = real,
    without = { special = "NaN and infinities spread as the order of operations has them" },
})
matrix("np.linalg.tensorinv", {
    args = { { "a", make = block } }, shapes = { { { 4, 2, 2 } }, { { 4, 4 } } }, call = function(f, o, a)
        return f(a, o)
    end, oracle = "np.linalg.tensorinv(a, **o)", options = { { ind = 1 } }, gives = real, nan = false,
})

-- ---- Factorizations -------------------------------------------------------------------------------------------------

matrix("np.linalg.lu", {
    args = { { "x", make = drawn } }, gives = real,
    oracle = "[np.asarray(part, x.dtype) for part in scipy.linalg.lu(x)]",
    shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 4, 2 } }, { { 2, 3 } }, { { 1, 1 } } },
    within = { f64 = "mixed 1e-11", f32 = "mixed 1e-3", f16 = "mixed 2e-1", bf16 = "mixed 5e-1", c64 = "scaled 1e-4",
               c128 = "scaled 1e-11" },
    nan = function(f, x) return select(3, f(x)) end, accepts = "floats complex",
    slope = 1e-4,
})

matrix("np.linalg.qr", {
    gives = real, oracle = "np.linalg.qr(x, mode=o.get('mode', 'reduced'))",
    options = { {}, { mode = "complete" }, { mode = "r" } },
    shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 4, 2 } }, { { 2, 3 } } },
    args = { { "x", make = function(random, dims, dtype)
        local x = drawn(random, dims, dtype)
        return x + np.astype(np.eye(dims[#dims - 1], dims[#dims]) * 4, dtype)
    end } },
    within = { f64 = "mixed 1e-12", f32 = "mixed 1e-5", f16 = "mixed 4e-3", bf16 = "mixed 4e-2", c64 = "scaled 1e-5",
               c128 = "scaled 1e-12" },
})

--- Values, and squares of the vectors' elements, which have no sign.
local function spectrum(f, o, x)
    if o.symmetrize_input == false then x = (x + adjoint(x)) * 0.5 end -- so it has to be
    local w, v = f(x, next(o) and o)
    if v == nil then return w end
    return w, np.square(np.abs(v))
end

for _, name in ipairs { "eigh", "eigvalsh" } do
    matrix("np.linalg." .. name, {
        args = { SYMMETRIC }, call = spectrum, oracle = ("hermitian(np.linalg.%s, x)"):format(name),
        gives = function(dtype) return real_part(dtype) end,
        options = { {}, { UPLO = "L" }, { UPLO = "U" }, { symmetrize_input = false } },
        nan = function(f, x) return (f(x)) end,
    })
end

--- Real parts in order, and what all vectors' sizes make with the values.
local function general_spectrum(f, o, x)
    local w, v = f(x, next(o) and o or nil)
    if v == nil then return np.sort(w.real) end
    return np.sort(w.real), np.matmul(np.square(np.abs(v)), np.expand_dims(w.real, -1))
end

for _, name in ipairs { "eig", "eigvals" } do
    matrix("np.linalg." .. name, {
        args = { { "x", make = function(random, dims, dtype)
            local d = np.astype(np.diag(np.arange(dims[#dims], { dtype = "i32" }) * 6 + 4), dtype)
            return drawn(random, dims, dtype) + d
        end } },
        call = general_spectrum, oracle = ("general(np.linalg.%s, x)"):format(name), gives = real_part, slope = 1e-4,
        accepts = "f64 f32 i32 u8 i64 complex", nan = function(f, x) return (f(x)) end,
    })
end

matrix("np.linalg.svd", {
    complex_slopes = false, -- documented: singular vectors of complex matrices have no derivative
    args = { { "x", make = function(random, dims, dtype)
        local x = np.astype(np.eye(dims[#dims - 1], dims[#dims]) * np.arange(2, 2 + dims[#dims]) * 4, dtype)
        return drawn(random, dims, dtype) + x
    end } },
    call = function(f, o, x)
        local u, s, vh = f(x, next(o) and o)
        if s == nil then return u end
        return np.square(np.abs(u)), s, np.square(np.abs(vh))
    end,
    shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 1, 1 } } },
    oracle = "singular(x, o)", gives = real_part, options = { {}, { full_matrices = false }, { compute_uv = false } },
    nan = function(f, x) return (select(2, f(x))) end,
    also = {
        ["of matrices that are not square"] = function()
            local x = np.array({ { 3, 1 }, { 0, 2 }, { 1, 1 } }, { dtype = "f64" })
            for _, y in ipairs { x, x.T } do
                local u, s, vh = L.svd(y, { full_matrices = false })
                check.ok(np.allclose(np.matmul(u * s, vh), y, { atol = 1e-12 }), "u s vh")
                local wide, _, tall = L.svd(y)
                check.equal(wide.shape[1] .. wide.shape[2] .. tall.shape[1], y.shape[1] .. y.shape[1] .. y.shape[2])
            end
        end,
    },
})

--- The slope of f along a direction, forward and backward, is what differences say: of complex matrices.
local function complex_slopes(f, first)
    return function()
        local x = np.array({ { 3 + 1i, 1 - 2i }, { 0.5i, 2 - 1i }, { 1, 0.25 + 1i } }, { dtype = "c128" })
        local d = np.array({ { 0.3 - 0.7i, 1 + 0.2i }, { 0.1 + 1i, 0.4 }, { -0.5i, 0.6 - 0.1i } }, { dtype = "c128" })
        local h = 1e-6
        local expected = ((f(x + d * h) - f(x - d * h)) / (2 * h)):item()
        local function along(y) return (select(2, np.jvp(f, { y }, { d }))) end
        near(along(x):item(), expected, 1e-7, "forward")
        near((np.grad(f)(x) * d).real:sum():item(), expected, 1e-7, "backward")
        if first then return end
        local second = ((along(x + d * h) - along(x - d * h)) / (2 * h)):item()
        near(select(2, np.jvp(along, { x }, { d })):item(), second, 1e-6, "forward over forward")
    end
end
matrix("np.linalg.svdvals", {
    args = { { "x", make = drawn } }, shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 4, 2 } }, { { 2, 3 } } },
    gives = real_part,
    oracle = "np.linalg.svdvals(x)",
    also = { ["derivatives of complex ones"] = complex_slopes(function(x)
        return (L.svdvals(x) * np.array({ 1, 3 }, { dtype = "f64" })):sum()
    end) },
})

-- ---- By singular values ---------------------------------------------------------------------------------------------

matrix("np.linalg.pinv", {
    args = { { "x", make = function(random, dims, dtype)
        if dims[#dims] == dims[#dims - 1] then return definite(random, dims, dtype) end
        return drawn(random, dims, dtype) + np.astype(np.eye(dims[#dims - 1], dims[#dims]) * 4, dtype)
    end } },
    shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 4, 2 } }, { { 2, 3 } } }, gives = real,
    oracle = "np.linalg.pinv(x, rtol=o.get('rtol', o.get('rcond', 1e-9)), hermitian=o.get('hermitian', False))",
    options = { {}, { rtol = 0.01 }, { rcond = 0.01 }, { hermitian = true } },
    within = { f64 = "mixed 1e-12", f32 = "mixed 1e-5", f16 = "mixed 4e-3", bf16 = "mixed 4e-2", c64 = "scaled 1e-4",
               c128 = "scaled 1e-12" },
    also = {
        ["a tolerance for each matrix"] = function()
            local x = np.stack { np.diag(np.array({ 1, 0.1 }, { dtype = "f64" })),
                                 np.diag(np.array({ 1, 0.1 }, { dtype = "f64" })) }
            for _, y in ipairs { x, x:astype "c128" } do
                local p = L.pinv(y, { rtol = np.array({ 0.5, 0.01 }, { dtype = "f64" }) })
                check.ok(np.allclose(p.real:reshape(2, 4), np.array { { 1, 0, 0, 0 }, { 1, 0, 0, 10 } }), y.dtype)
            end
        end,
    },
})
matrix("np.linalg.matrix_rank", {
    args = { { "x", make = function(random, dims, dtype)
        return np.matmul(drawn(random, { dims[#dims - 1], 1 }, dtype), drawn(random, { 1, dims[#dims] }, dtype))
            + np.zeros(dims, { dtype = dtype })
    end } },
    shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 4, 2 } }, { { 0, 3 } } }, gives = "i32",
    accepts = "f64 f32 ints complex",
    oracle = "np.linalg.matrix_rank(x, **o)", options = { { rtol = 1e-3 }, { tol = 0.5 } }, nan = false,
    without = { derivatives = "a number of singular values has no slope" },
})
matrix("np.linalg.lstsq", {
    args = beside { "a", make = function(random, dims, dtype)
        return drawn(random, dims, dtype) + np.astype(np.eye(dims[#dims - 1], dims[#dims]) * 4, dtype)
    end },
    shapes = { { { 4, 2 }, { 4, 3 } }, { { 3, 3 }, { 3, 1 } }, { { 4, 2 }, { 4 } }, { { 2, 4 }, { 2, 2 } },
               { { 2, 4, 2 }, { 2, 4, 1 } } },
    oracle = "least_squares(a, b, o)", options = { {}, { rcond = 1e-3 } },
    gives = function(dtype) return dtype end, any_dtype = true,
    without = { special = "NaN and infinities spread as the order of operations has them" },
    slope = 1e-4,
})

-- ---- Norms ----------------------------------------------------------------------------------------------------------

--- The call with infinities for their texts among the options.
local function of_order(f, o, x)
    local options = {}
    for key, value in pairs(o) do options[key] = value == "inf" and INF or value == "-inf" and -INF or value end
    return f(x, next(options) and options)
end

local NORM = { f64 = "rel 1e-13", f32 = "rel 1e-5" }
local function floats_only(list)
    return function(dtype) return not dtypes.by_name[dtype].lowest and list or nil end
end
matrix("np.linalg.vector_norm", {
    args = { { "x", special = floats_only { NAN, INF, 3e4 } } }, shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } } },
    gives = real_part, within = NORM,
    oracle = "np.linalg.vector_norm(x, **ordered(o))",
    options = { {}, { axis = 0 }, { axis = { 0, -1 }, keepdims = true, ord = 1 }, { ord = "inf" }, { ord = "-inf" },
                { ord = 3 }, { ord = 0 } },
    call = of_order,
    nan = false,
})
matrix("np.linalg.matrix_norm", {
    args = { { "x", make = drawn } }, shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 4, 2 } } }, gives = real_part,
    within = NORM,
    oracle = "np.linalg.matrix_norm(x, **ordered(o))", accepts = "floats ints complex",
    options = { {}, { ord = "nuc" }, { ord = 2 }, { ord = -2, keepdims = true }, { ord = 1 }, { ord = -1 },
                { ord = "inf" }, { ord = "-inf" } },
    call = of_order,
    also = { ["derivatives of complex ones"] = complex_slopes(function(x)
        return L.matrix_norm(x, { ord = "nuc" })
    end) },
})
matrix("np.linalg.norm", {
    args = { { "x", special = floats_only { NAN, INF, 3e4 } } }, shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } } },
    gives = real_part, within = NORM,
    oracle = "np.linalg.norm(x, **o)",
    options = { {}, { axis = 0 }, { axis = { 0, -1 }, keepdims = true, ord = 1 }, { axis = -1, ord = 3 } }, nan = false,
})
matrix("np.linalg.cond", {
    args = { X }, shapes = { { { 3, 3 } }, { { 2, 2, 2 } } }, gives = real_part, accepts = "f64 f32 ints complex",
    within = { f64 = "rel 1e-12", f32 = "rel 1e-4" }, oracle = "np.linalg.cond(x, **ordered(o))",
    options = { {}, { p = -2 }, { p = 1 }, { p = "fro" }, { p = "nuc" }, { p = "inf" } },
    call = function(f, o, x) return f(x, next(o) and { p = o.p == "inf" and INF or o.p, nonsense = o.nonsense }) end,
    also = {
        ["derivatives of complex ones"] = complex_slopes(function(x) return L.cond(x) end),
        ["of zeros, and of what is not regular"] = function()
            check.equal(L.cond(np.zeros { 2, 2 }):item(), INF)
            check.equal(L.cond(np.array { { 1, 0 }, { 0, 0 } }):item(), INF)
        end,
    },
})

-- ---- Products, diagonals, functions of matrices ---------------------------------------------------------------------

matrix("np.linalg.matrix_power", {
    args = { { "x", make = drawn } }, shapes = { { { 3, 3 } }, { { 2, 2, 2 } }, { { 1, 1 } } },
    call = function(f, o, x)
        if o.nonsense then return f(x, o.n, { nonsense = 1 }) end
        return f(x, o.n)
    end,
    oracle = "np.linalg.matrix_power(x, o['n'])", options = { { n = 5 }, { n = 0 }, { n = 1 }, { n = 2 } },
    gives = "same", accepts = ALL,
    within = { f64 = "mixed 1e-12", f32 = "scaled 1e-5", f16 = "scaled 1e-2", bf16 = "scaled 6e-2",
               c64 = "scaled 1e-5", c128 = "scaled 1e-12" },
    nan = function(f, x) return f(x, 3) end, slope = 1e-4,
    also = {
        ["whole numbers"] = function()
            local fibonacci = np.array({ { 1, 1 }, { 1, 0 } }, { dtype = "i64" })
            check.equal(L.matrix_power(fibonacci, 80)[{ 0, 1 }]:item(), 23416728348467685LL)
            check.equal(L.matrix_power(np.array({ { 2, 0 }, { 0, 4 } }, { dtype = "i32" }), -1).dtype, "f32")
            local a = np.array({ { 2, 1 }, { 0, 4 } }, { dtype = "f64" })
            check.ok(np.allclose(L.matrix_power(a, -2), L.inv(np.matmul(a, a))), "negative")
        end,
    },
})

of("np.linalg.diagonal", {
    args = { "x" }, accepts = "floats ints bool complex", shapes = { { { 3, 4 } }, { { 2, 2, 3 } } }, gives = "same",
    oracle = "np.linalg.diagonal(x, **o)", options = { {}, { offset = 1 }, { offset = -1 } },
})
of("np.linalg.trace", {
    args = { "x" }, accepts = "floats ints complex", shapes = { { { 4, 4 } }, { { 2, 2, 3 } } },
    gives = function(dtype, o)
        if o.dtype then return o.dtype end
        local facts = dtypes.by_name[dtype]
        if not facts.lowest or facts.bits >= 32 then return dtype end
        return facts.kind == "i" and "i32" or "u32"
    end,
    oracle = "traced(x, o)", options = { {}, { offset = 1 }, { offset = -1, dtype = "f32" } },
    within = { f64 = "mixed 1e-14", f32 = "mixed 1e-6" },
    divided = { f64 = "mixed 1e-14", f32 = "mixed 1e-6", f16 = "mixed 4e-3", bf16 = "mixed 3e-2" },
})

matrix("np.linalg.expm", {
    args = { { "x", make = function(random, dims, dtype)
        return dtypes.by_name[dtype].lowest and np.triu(drawn(random, dims, dtype), 1) or drawn(random, dims, dtype)
    end } },
    gives = real, oracle = "scipy.linalg.expm(x)",
    within = { f64 = "scaled 1e-13", f32 = "scaled 1e-5", f16 = "scaled 4e-3", bf16 = "scaled 3e-2",
               c64 = "scaled 1e-5", c128 = "scaled 1e-13" },
})
matrix("np.linalg.sqrtm", {
    args = { SYMMETRIC }, gives = real, oracle = "scipy.linalg.sqrtm(x)", derivative = "root(x)", uneven = true,
    points = { { { { 2, 0 }, { 0, 2 } } }, { { { 2, 0, 0 }, { 0, 2, 0 }, { 0, 0, 5 } } }, { { { 2, 1 }, { 1, 2 } } } },
})
matrix("np.linalg.logm", {
    args = { SYMMETRIC }, gives = complex_of, oracle = "scipy.linalg.logm(x).astype(complex)",
    accepts = "f64 f32 i32 complex",
})

-- ---- Matrices of a form ---------------------------------------------------------------------------------------------

of("np.linalg.block_diag", {
    args = { "a", "b" }, accepts = "floats ints bool complex", gives = "same", oracle = "scipy.linalg.block_diag(a, b)",
    shapes = { { { 2, 3 }, { 1, 2 } }, { { 2 }, { 2, 2 } }, { {}, { 2 } }, { { 0, 2 }, { 1, 1 } } },
    vmapped = nil,
})
of("np.linalg.toeplitz", {
    args = { "c", "r" }, accepts = "floats ints bool complex", gives = "same",
    call = function(f, o, c, r)
        if o.nonsense then return f(c, r, { nonsense = 1 }) end
        if o.alone then return f(c) end
        return f(c, r)
    end,
    oracle = "scipy.linalg.toeplitz(c, None if o.get('alone') else r)", options = { {}, { alone = true } },
    shapes = { { { 3 }, { 4 } }, { { 4 }, { 4 } }, { { 1 }, { 3 } } },
})
of("np.linalg.hilbert", {
    args = { { "x", special = false } }, accepts = "f64 f32 f16", shapes = { { { 3 } }, { { 1 } } },
    call = function(f, o, x) return f(x:dim(0), { dtype = x.dtype, nonsense = o.nonsense }) end,
    oracle = "scipy.linalg.hilbert(x.size)", options = { {} }, unseen = { dtype = "each dtype is that of a case" },
    without = { special = "it takes a number of rows", strided = "it takes a number of rows",
                jit = "it takes a number of rows",
                programs = "it takes a number of rows", vmap = "it takes a number of rows",
                mesh = "it takes a number of rows",
                derivatives = "it takes a number of rows" },
})

elsewhere("np.linalg", "tests/docs/names_test.lua", "the table itself")

finish()
