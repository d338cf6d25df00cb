--- linalg.lua: np.linalg: linear algebra over batches of matrices, which are the last two axes of an array.
--
-- Names and options are those of the array API standard and NumPy. Factorizations are rows (lazy/ops/solve.c, and
-- spectral.c over LAPACK); a row has one result, so what has several comes packed in one array and is cut apart
-- by views. All else is made of products, maps and reductions. All of it has derivatives of any order, but for what
-- says that it has none, and integers count as f32 (i64: f64).
--
-- A matrix that is singular or not positive definite is no error, as values are not looked at: its result is made of
-- infinities or NaN, as in JAX, and the other matrices of a batch keep theirs.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"

local np, ids, attrs = core.np, core.ids, core.attrs
local C, ctx = core.C, core.ctx
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, shape_text = core.shape_of, core.shape_text

local linalg = {}

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- Argument `position` of np.linalg.name as a float array; its shape.
local function floats(name, position, x)
    x = coerce("linalg." .. name, position, x)
    local dtype = core.dtype_of(x)
    if not dtype.inexact then x = np.astype(x, dtype.real) end
    return x, shape_of(x)
end

local function matrices(name, position, x)
    local dims
    x, dims = floats(name, position, x)
    if #dims < 2 then
        raise("linalg." .. name, "argument %d must be matrices, of shape (…, m, n); got shape %s", position,
              shape_text(dims))
    end
    return x, dims
end

local function square(name, position, x)
    local dims
    x, dims = matrices(name, position, x)
    if dims[#dims] ~= dims[#dims - 1] then
        raise("linalg." .. name, "argument %d must be square matrices, of shape (…, n, n); got shape %s", position,
              shape_text(dims))
    end
    return x, dims
end

--- Two float arrays of their promoted dtype.
local function promoted(a, b)
    local of_a, of_b = core.dtype_of(a), core.dtype_of(b)
    if of_a.code ~= of_b.code then
        local name = core.dtypes[core.C.neap_dtype_promote(of_a.code, of_b.code)].name
        a, b = np.astype(a, name), np.astype(b, name)
    end
    return a, b
end

local function transposed(x)
    return np.swapaxes(x, -1, -2)
end

local function is_complex(x)
    return core.dtype_of(x).kind == "c"
end

--- The transposed matrices, of complex ones their conjugates.
local function adjoint(x)
    x = transposed(x)
    return is_complex(x) and np.conj(x) or x
end

--- The real part of complex values that are real.
local function real(x)
    return is_complex(x) and np.real(x) or x
end

--- The limit of rounding of x's dtype.
local function eps_of(x)
    return np.finfo(core.dtype_of(x).part).eps
end

--- Complex matrices as real ones of twice the size, ((re, -im), (im, re)), and back: what is made of those by products,
-- sums, inverses and transposition is made of these.
local function as_real(x)
    local re, im = np.real(x), np.imag(x)
    return np.concatenate({ np.concatenate({ re, -im }, { axis = -1 }), np.concatenate({ im, re }, { axis = -1 }) },
                          { axis = -2 })
end

local function as_complex(x)
    local dims = shape_of(x)
    local rank, m, n = #dims, dims[#dims - 1] / 2, dims[#dims] / 2
    local left = shape.cut(x, rank - 1, 0, n)
    return np.complex(shape.cut(left, rank - 2, 0, m), shape.cut(left, rank - 2, m, 2 * m))
end

-- ---- Systems of equations -------------------------------------------------------------------------------------------

--- (a + aᴴ) / 2: then the derivative of what reads one triangle is that of a function of all elements.
local function symmetric(x)
    return (x + adjoint(x)) * 0.5
end

--- The symmetric matrices of the diagonal of x, of complex ones its real part, and of what stands on one side of it.
local function of_triangle(x, side)
    local diagonal = np.tril(np.triu(x))
    return side + (is_complex(x) and symmetric(diagonal) or diagonal) + adjoint(side)
end

--- np.linalg.cholesky(x, {upper=false, symmetrize_input=true}): lower triangular L with L Lᵀ = x, or upper U with Uᵀ U
-- = x. x is first made symmetric, unless symmetrize_input is false: then its lower triangle is read. NaN where x is not
-- positive definite.
--- upper: true gives U instead of L
--- symmetrize_input: false reads the lower triangle alone
--- > np.linalg.cholesky(np.array{{4, 2}, {2, 5}})
-- [[2. 0.]
--  [1. 2.]]
function linalg.cholesky(x, given)
    local o = options("linalg.cholesky", given, { upper = true, symmetrize_input = true })
    x = square("cholesky", 1, x)
    if o.symmetrize_input == false then
        x = of_triangle(x, np.tril(x, -1)) -- so that derivatives know which triangle is read
    else
        x = symmetric(x)
    end
    local lower = core.record1(ids.cholesky, x, 0)
    return o.upper and adjoint(lower) or lower
end

local function factors(a)
    return core.record1(ids.lu, a, 0)
end

--- a and b, made of the same dtype and broadcast against each other but for the last two axes; whether b is a vector.
local function system(name, a, b)
    local of_a, of_b
    a, of_a = square(name, 1, a)
    b, of_b = floats(name, 2, b)
    a, b = promoted(a, b)
    local n, vector = of_a[#of_a], #of_b == 1
    if vector then
        of_b = { of_b[1], 1 }
        b = shape.reshape(b, of_b)
    end
    if #of_b == 0 or of_b[#of_b - 1] ~= n then
        raise("linalg." .. name, "argument 2 must have %d rows, as argument 1 of shape %s; got shape %s", n,
              shape_text(of_a), shape_text(vector and { of_b[1] } or of_b))
    end
    local k = of_b[#of_b]
    local batch = shape.broadcast("linalg." .. name, { unpack(of_a, 1, #of_a - 2) }, { unpack(of_b, 1, #of_b - 2) })
    local wide_a, wide_b, rank = { unpack(batch) }, { unpack(batch) }, #batch
    wide_a[rank + 1], wide_a[rank + 2], wide_b[rank + 1], wide_b[rank + 2] = n, n, n, k
    return a, b, vector, wide_a, wide_b
end

--- x with a shape, as a view; itself if it surely has it.
local function spread(x, dims)
    local own = shape_of(x)
    local same = #own == #dims
    for k = 1, same and #dims or 0 do same = same and core.is_same(own[k], dims[k]) end
    return same and x or shape.broadcast_to(x, dims)
end

local function without_last(x)
    local dims = shape_of(x)
    dims[#dims] = nil
    return shape.reshape(x, dims)
end

--- np.linalg.solve(a, b): x with a x = b. a is (…, n, n); b is one vector (n,), or matrices (…, n, k); leading axes
-- broadcast. By an LU factorization, which derivatives use again. Infinities or NaN where a is singular, as in JAX
-- (NumPy raises): values are not looked at before they are computed. np.linalg.cond(a) tells how near a is to that.
--- > np.linalg.solve(np.array{{2, 0}, {0, 4}}, np.array{2, 2})
-- [1.  0.5]
function linalg.solve(a, b)
    local vector, wide_a, wide_b
    a, b, vector, wide_a, wide_b = system("solve", a, b)
    local lu = factors(a)
    local rank = #wide_a
    wide_a[rank - 1] = wide_a[rank - 1] + 1
    lu = spread(lu, wide_a)
    wide_a[rank - 1] = wide_a[rank]
    a, b = spread(a, wide_a), spread(b, wide_b)
    attrs[0] = 0
    local x = core.recordn(ids.solve, { a, lu, b }, 3, 1)
    return vector and without_last(x) or x
end

--- np.linalg.solve_triangular(a, b, {lower=false, trans=false, unit_diagonal=false}): x with a x = b, or aᵀ x = b, for
-- triangular a; the other triangle is not read, nor the diagonal if it counts as ones. Shapes as in solve.
--- lower: true: a is lower triangular, else upper
--- trans: true solves aᵀ x = b
--- unit_diagonal: true: the diagonal counts as ones, and is not read
--- > np.linalg.solve_triangular(np.array{{2, 1}, {0, 4}}, np.array{4, 8})
-- [1. 2.]
function linalg.solve_triangular(a, b, given)
    local o = options("linalg.solve_triangular", given, { lower = true, trans = true, unit_diagonal = true })
    local vector, wide_a, wide_b
    a, b, vector, wide_a, wide_b = system("solve_triangular", a, b)
    a, b = spread(a, wide_a), spread(b, wide_b)
    attrs[0], attrs[1], attrs[2] = o.lower and 1 or 0, o.trans and 1 or 0, o.unit_diagonal and 1 or 0
    local x = core.record2(ids.triangular_solve, a, b, 3)
    return vector and without_last(x) or x
end

--- np.linalg.inv(x): the inverse of square matrices. To solve, np.linalg.solve is better. Infinities or NaN where x is
-- singular, as in JAX (NumPy raises); np.linalg.cond(x) tells how near x is to that.
--- > np.linalg.inv(np.array{{2, 0}, {0, 4}})
-- [[0.5  0.  ]
--  [0.   0.25]]
function linalg.inv(x)
    return core.record1(ids.inv, square("inv", 1, x), 0)
end

--- slogdet of complex matrices: those whose determinant has about the size 1, by a factor.
local function complex_slogdet(x)
    local n = shape_of(x)[core.ndim(x)]
    local lu = np.stop_gradient(factors(x))
    local sizes = np.abs(np.diagonal(shape.cut(lu, core.ndim(x) - 2, 0, n), { axis1 = -2, axis2 = -1 }))
    local size = np.exp(np.sum(np.log(sizes), { axis = -1 }) / math.max(n, 1))
    size = np.where(np.logical_and(np.greater(size, 0), np.isfinite(size)), size, 1)
    local scaled = x / np.expand_dims(size, { -2, -1 })
    local det = core.record2(ids.det, scaled, factors(scaled), 0)
    local left = np.abs(det)
    return det / np.where(np.equal(left, 0), 1, left), np.log(left) + np.log(size) * n
end

--- np.linalg.slogdet(x) -> sign, logarithm: two results: the sign of the determinant and the logarithm of its
-- magnitude; 0 and -inf where x is singular.
--- > np.linalg.slogdet(np.array{{0, 1}, {1, 0}})
-- -1.0
-- 0.0
function linalg.slogdet(x)
    x = square("slogdet", 1, x)
    if is_complex(x) then return complex_slogdet(x) end
    local both = core.record2(ids.slogdet, x, factors(x), 0)
    return both["..., 0"], both["..., 1"]
end

local function plain_det(x)
    return core.record2(ids.det, x, factors(x), 0)
end

--- For each element of singular values the product of the others, along the last axis.
local function products_of_others(s)
    local axis, n = core.ndim(s) - 1, shape_of(s)[core.ndim(s)]
    local one = np.ones_like(shape.cut(s, axis, 0, 1))
    local function before(x) return shape.join({ one, np.cumprod(shape.cut(x, axis, 0, n - 1), { axis = axis }) },
                                               axis) end
    return before(s) * np.flip(before(np.flip(s, axis)), axis)
end

--- The cofactors of matrices of any rank, by singular values: u diag(products of the others) vh times det(u vh).
local function cofactors_by_svd(x)
    local u, s, vh = linalg.svd(x, { full_matrices = false })
    local c = np.matmul(u * np.expand_dims(np.astype(products_of_others(s), x.dtype), -2), vh)
    c = is_complex(x) and np.conj(c) or c
    return c * np.expand_dims(plain_det(u) * plain_det(vh), { -2, -1 })
end

--- The cofactors of matrices of four rows and more: det(x) inv(x)ᵀ, and of singular ones by singular values.
local function cofactors_by_inverse(x)
    x = np.stop_gradient(x)
    local dims, det = shape_of(x), np.expand_dims(plain_det(x), { -2, -1 })
    local singular = np.equal(det, 0)
    local regular = np.where(singular, np.eye(dims[#dims], { dtype = x.dtype }), x)
    local c = det * transposed(core.record1(ids.inv, regular, 0))
    return np.where(singular, np.cond(np.any(singular), cofactors_by_svd, np.zeros_like, x), c)
end

local cofactors_of_many, det_of

--- Their derivative is that of det(x) inv(x)ᵀ.
local function cofactors_rule(inputs, tangents)
    local c, inverse = cofactors_of_many(inputs[1]), linalg.inv(inputs[1])
    local over = transposed(np.matmul(tangents[1], inverse))
    local trace = np.sum(c * tangents[1], { axis = { -2, -1 }, keepdims = true })
    return c, trace * transposed(inverse) - np.matmul(over, c)
end

--- The derivatives of det(x) by the elements of x.
local function cofactors(x)
    local dims = shape_of(x)
    local n = dims[#dims]
    if n == 0 then return x end
    if n == 1 then return np.ones_like(x) end
    if n == 2 then return np.flip(x, { -2, -1 }) * np.array({ { 1, -1 }, { -1, 1 } },
                                                            { dtype = core.dtype_of(x).part }) end
    if n == 3 then return np.cross(np.roll(x, -1, { axis = -2 }), np.roll(x, -2, { axis = -2 })) end
    cofactors_of_many = cofactors_of_many or np.custom_jvp(cofactors_by_inverse):defjvp(cofactors_rule)
    return cofactors_of_many(x)
end

--- np.linalg.det(x): the determinant. Its derivative is made of the cofactors, also where x is singular; there second
-- ones of four rows and more are not finite.
--- > np.linalg.det(np.array{{2, 0}, {0, 4}}), np.grad(np.linalg.det)(np.array{{1, 2}, {2, 4}})
-- 8.0
-- [[ 4. -2.]
--  [-2.  1.]]
function linalg.det(x)
    local half
    x, half = operands.wide((square("det", 1, x)))
    det_of = det_of or np.custom_jvp(plain_det):defjvp(function(inputs, tangents)
        return det_of(inputs[1]), np.sum(cofactors(inputs[1]) * tangents[1], { axis = { -2, -1 } })
    end)
    return operands.narrow(det_of(x), half)
end

-- ---- Factorizations -------------------------------------------------------------------------------------------------

--- The elements [from, from + count) of the last axis of x, whose other axes are those of a batch of matrices `dims`.
local function packed_part(x, dims, from, count)
    local rank, start, step, counts = #dims - 1, {}, {}, {}
    for k = 1, rank do start[k], step[k], counts[k] = 0, 1, dims[k] end
    start[rank], counts[rank] = from, count
    return shape.slice(x, start, step, counts)
end

--- rows × columns of them, as matrices.
local function part(x, dims, from, rows, columns)
    local own = { unpack(dims, 1, #dims - 2) }
    own[#dims - 1], own[#dims] = rows, columns
    return shape.reshape(packed_part(x, dims, from, rows * columns), own)
end

local function qr(x, dims, complete)
    local m, n = dims[#dims - 1], dims[#dims]
    local k = complete and m or math.min(m, n)
    attrs[0] = complete and 1 or 0
    local packed = core.record1(ids.qr, x, 1)
    return part(packed, dims, 0, m, k), part(packed, dims, m * k, k, n)
end

local qr_modes = { reduced = true, complete = true, r = true }

--- np.linalg.qr(x, {mode="reduced"}) -> q, r: q and r with q r = x, q with orthonormal columns, r upper triangular. Of
-- m × n matrices, q is m × k and r is k × n, with k = min(m, n); mode "complete": k = m; "r": r alone. The signs of
-- r's diagonal are LAPACK's. Complete factors of matrices with more rows than columns have no derivative.
--- mode: "reduced", "complete" or "r"
--- > q, r = np.linalg.qr(np.array{{3, 0}, {4, 5}})
--- > np.allclose(q:matmul(r), np.array{{3, 0}, {4, 5}}, {atol=1e-6})
-- true
function linalg.qr(x, given)
    local mode = options("linalg.qr", given, { mode = true }).mode or "reduced"
    if not qr_modes[mode] then
        raise("linalg.qr", "option 'mode' must be \"reduced\", \"complete\" or \"r\", got %s", core.describe(mode))
    end
    local dims, q, r
    x, dims = matrices("qr", 1, x)
    local m, n = dims[#dims - 1], dims[#dims]
    if m < n then -- q is that of the first m columns, so the rest of r is a product, and so are its derivatives
        local last = #dims - 1
        local first, rest = shape.cut(x, last, 0, m), shape.cut(x, last, m, n)
        q, r = qr(first, shape_of(first), false)
        r = shape.join({ r, np.matmul(adjoint(q), rest) }, last)
    else
        q, r = qr(x, dims, mode == "complete" and m > n)
    end
    if mode == "r" then return r end
    return q, r
end

local function eigh(name, x, given, vectors)
    local o = options("linalg." .. name, given, { UPLO = true, symmetrize_input = true })
    x = square(name, 1, x)
    if o.UPLO == nil then
        if o.symmetrize_input ~= false then x = symmetric(x) end
    elseif o.UPLO == "L" then
        x = of_triangle(x, np.tril(x, -1))
    elseif o.UPLO == "U" then
        x = of_triangle(x, np.triu(x, 1))
    else
        raise("linalg." .. name, "option 'UPLO' must be \"L\" or \"U\", got %s", core.describe(o.UPLO))
    end
    attrs[0] = vectors and 1 or 0
    return core.record1(ids.eigh, x, 1)
end

--- np.linalg.eigh(x, {UPLO=…, symmetrize_input=true}) -> values, vectors: two results: the eigenvalues of symmetric
-- matrices, ascending, and a matrix whose columns are orthonormal eigenvectors. x is first made symmetric, (x + xᵀ) /
-- 2; with UPLO "L" or "U" the lower or upper triangle stands for the other one too. Signs of vectors are LAPACK's:
-- derivatives are right for functions that do not depend on them. Where eigenvalues are equal, what depends on vectors
-- has NaN for a derivative.
--- UPLO: "L" or "U": the triangle that is read
--- symmetrize_input: false: x is taken to be symmetric
--- > values, vectors = np.linalg.eigh(np.array{{2, 0}, {0, 1}})
--- > values, np.abs(vectors)
-- [1. 2.]
-- [[0. 1.]
--  [1. 0.]]
function linalg.eigh(x, given)
    local packed = eigh("eigh", x, given, true)
    return real(packed["..., 0, :"]), packed["..., 1:, :"]
end

--- np.linalg.eigvalsh(x, {UPLO=…, symmetrize_input=true}): the eigenvalues of symmetric matrices alone, ascending.
--- UPLO: "L" or "U": the triangle that is read
--- symmetrize_input: false: x is taken to be symmetric
--- > np.linalg.eigvalsh(np.array{{2, 1}, {1, 2}})
-- [1. 3.]
function linalg.eigvalsh(x, given)
    return real(eigh("eigvalsh", x, given, false)["..., 0, :"])
end

--- The eigenvalues, and below them the vectors if they are asked for, of real matrices as pairs of conjugates.
local function eig(name, x, vectors)
    x = square(name, 1, x)
    local is_real = not is_complex(x)
    if is_real then x = np.complex(x, 0) end
    attrs[0], attrs[1] = vectors, is_real and 1 or 0
    return core.record1(ids.eig, x, 2)
end

--- np.linalg.eig(x) -> values, vectors: two results: the eigenvalues of square matrices, and a matrix whose columns are
-- eigenvectors of length 1: complex, of real matrices too, and in LAPACK's order. Where eigenvalues are equal, what
-- depends on vectors has NaN for a derivative.
--- > values, vectors = np.linalg.eig(np.array{{0, 1}, {-1, 0}})
--- > np.round(values.imag)
-- [ 1. -1.]
function linalg.eig(x)
    local packed = eig("eig", x, 1)
    local vectors = packed["..., 1:, :"]
    -- The row's derivatives do not keep the length 1: this factor is 1, and takes from them what changes the length.
    local size = np.log(np.sum(np.square(np.real(vectors)) + np.square(np.imag(vectors)),
                               { axis = -2, keepdims = true }))
    return packed["..., 0, :"], vectors * np.exp((np.stop_gradient(size) - size) * 0.5)
end

--- np.linalg.eigvals(x): the eigenvalues of square matrices alone: complex, of real matrices too.
--- > np.linalg.eigvals(np.array{{2, 1}, {0, 3}})
-- [2.+0.j 3.+0.j]
function linalg.eigvals(x)
    return eig("eigvals", x, 0)["..., 0, :"]
end

local function svd(x, dims, full)
    local m, n = dims[#dims - 1], dims[#dims]
    local k = math.min(m, n)
    full = full and not core.is_same(m, n)
    attrs[0], attrs[1] = full and 1 or 0, 1
    local packed = core.record1(ids.svd, x, 2)
    local mu, nv = full and m or k, full and n or k
    local s = real(packed_part(packed, dims, m * mu, k))
    return part(packed, dims, 0, m, mu), s, part(packed, dims, m * mu + k, nv, n)
end

local function plain_svdvals(x)
    local dims = shape_of(x)
    math.min(dims[#dims - 1], dims[#dims]) -- a size that is known before an axis has it is found to be that axis
    attrs[0], attrs[1] = 0, 0
    return real(core.record1(ids.svd, x, 2))
end

local complex_values

--- Of complex matrices, whose singular vectors have no derivative: (u; v) / sqrt(2) are the eigenvectors of ((0, x),
-- (xᴴ, 0)) of the eigenvalues s, which come last.
local function complex_values_rule(inputs, tangents)
    local x, dims = inputs[1], shape_of(inputs[1])
    local rank, m, n = #dims, dims[#dims - 1], dims[#dims]
    local function zeros(size)
        local own = { unpack(dims, 1, rank - 2) }
        own[rank - 1], own[rank] = size, size
        return np.zeros(own, { dtype = x.dtype })
    end
    local _, vectors = linalg.eigh(shape.join({ shape.join({ zeros(m), x }, rank - 1),
                                                shape.join({ adjoint(x), zeros(n) }, rank - 1) }, rank - 2))
    local k = math.min(m, n)
    local last = np.flip(shape.cut(vectors, rank - 1, m + n - k, m + n), rank - 1)
    local u, v = shape.cut(last, rank - 2, 0, m), shape.cut(last, rank - 2, m, m + n)
    return complex_values(x), 2 * np.real(np.sum(np.conj(u) * np.matmul(tangents[1], v), { axis = -2 }))
end

local function svdvals(x)
    if not is_complex(x) then return plain_svdvals(x) end
    complex_values = complex_values or np.custom_jvp(plain_svdvals):defjvp(complex_values_rule)
    return complex_values(x)
end

--- np.linalg.svd(x, {full_matrices=true, compute_uv=true}) -> u, s, vh: three results u, s, vh with u diag(s) vh = x
-- and s descending. Of m × n matrices, u is m × m and vh n × n; with full_matrices=false m × k and k × n, k = min(m,
-- n), which is what has derivatives: of functions that do not depend on signs; where singular values are equal, of the
-- values alone.
--- full_matrices: false: u and vh have as many columns and rows as there are singular values
--- compute_uv: false: s alone
--- > u, s, vh = np.linalg.svd(np.array{{3, 0}, {0, 4}})
--- > s
-- [4. 3.]
function linalg.svd(x, given)
    local o = options("linalg.svd", given, { full_matrices = true, compute_uv = true })
    local dims
    x, dims = matrices("svd", 1, x)
    if o.compute_uv == false then return svdvals(x) end
    return svd(x, dims, o.full_matrices ~= false)
end

--- np.linalg.svdvals(x): the singular values alone, descending.
--- > np.linalg.svdvals(np.array{{3, 0}, {0, 4}})
-- [4. 3.]
function linalg.svdvals(x)
    return svdvals((matrices("svdvals", 1, x)))
end

-- ---- By singular values ---------------------------------------------------------------------------------------------

--- A relative tolerance: a number or an array of the batch's shape, or `default`; ready to meet (…, k) values.
local function tolerance(name, what, value, default)
    if value == nil then return default end
    if core.is_number(value) then return value end
    if not core.is_array(value) then bad_argument("linalg." .. name, nil, what, "a number or an array", value) end
    return np.expand_dims(value, -1)
end

local function rank_tolerance(x, dims, factor)
    return math.max(dims[#dims - 1], dims[#dims]) * eps_of(x) * factor
end

--- The pseudoinverse of x, singular values of at most `rtol` times the largest counting as zeros.
local function pseudoinverse(x, dims, rtol)
    local of_u, values, of_vh = svd(x, dims, false)
    local u, s, vh = np.stop_gradient(of_u), np.stop_gradient(values), np.stop_gradient(of_vh)
    local counts
    if math.min(dims[#dims - 1], dims[#dims]) == 0 then
        counts = np.greater(s, 0)
    else
        counts = np.greater(s, np.max(s, { axis = -1, keepdims = true }) * rtol)
    end
    local inverse = np.where(counts, 1 / np.where(counts, s, 1), 0)
    local p = np.matmul(transposed(vh), np.expand_dims(inverse, -1) * transposed(u))
    return core.record2(ids.pinv, x, p, 0)
end

--- np.linalg.pinv(x, {rtol=…, rcond=…, hermitian=false}): the Moore-Penrose pseudoinverse. Singular values of at most
-- rtol times the largest count as zeros; by default 10 max(m, n) eps. The derivative is that for a rank that stays.
--- rtol: which singular values count as zeros, relative to the largest
--- rcond: rtol, by NumPy's older name
--- hermitian: true: x is symmetric, and made so, (x + xᵀ) / 2
--- > np.linalg.pinv(np.array{{2, 0}, {0, 0}})
-- [[0.5 0. ]
--  [0.  0. ]]
function linalg.pinv(x, given)
    local o = options("linalg.pinv", given, { rtol = true, rcond = true, hermitian = true })
    local dims
    x, dims = (o.hermitian and square or matrices)("pinv", 1, x)
    local rtol, least = o.rtol, rank_tolerance(x, dims, 10)
    local half
    x, half = operands.wide(x)
    if o.hermitian then x = symmetric(x) end
    if rtol == nil then rtol = o.rcond end
    rtol = tolerance("pinv", "rtol", rtol, least)
    if not is_complex(x) then return operands.narrow(pseudoinverse(x, dims, rtol), half) end
    local doubled = as_real(x)
    return as_complex(pseudoinverse(doubled, shape_of(doubled), rtol))
end

--- np.linalg.matrix_rank(x, {rtol=…, tol=…}): the number (i32) of singular values above rtol times the largest; by
-- default max(m, n) eps.
--- rtol: which singular values count as zeros, relative to the largest
--- tol: the same in itself, in place of rtol
--- > np.linalg.matrix_rank(np.ones{3, 3})
-- 1
function linalg.matrix_rank(x, given)
    local o = options("linalg.matrix_rank", given, { rtol = true, tol = true })
    local dims
    x, dims = matrices("matrix_rank", 1, x)
    local s = svdvals(x)
    if math.min(dims[#dims - 1], dims[#dims]) == 0 then return np.sum(np.astype(s, "i32"), { axis = -1 }) end
    local limit = tolerance("matrix_rank", "rtol", o.rtol, rank_tolerance(x, dims, 1))
    if o.tol == nil then
        limit = np.max(s, { axis = -1, keepdims = true }) * limit
    else
        limit = tolerance("matrix_rank", "tol", o.tol)
    end
    return np.sum(np.astype(np.greater(s, limit), "i32"), { axis = -1 })
end

--- The squared magnitudes.
local function squares(x)
    return is_complex(x) and np.square(np.real(x)) + np.square(np.imag(x)) or x * x
end

--- The x of lstsq, of matrices a and b of one batch, complex ones as real ones of twice the size.
local function least_squares(a, b, over_batch, rcond)
    local wide = is_complex(a)
    local left, right = wide and as_real(a) or a, wide and as_real(b) or b
    local dtype = core.dtype_of(left)
    local limit = core.is_number(rcond) and core.number(rcond, dtype.code) or np.astype(rcond, dtype.name)
    local x = core.recordn(ids.lstsq, { left, right, over_batch(shape.reshape(limit, { 1, 1 }), 1, 1) }, 3, 0)
    return wide and as_complex(x) or x
end

--- The results of lstsq beside x: of matrices a, b and x.
local function beside_solution(a, b, x, rcond)
    local s = svdvals(a)
    local counts = s
    if core.size_of(s) > 0 then counts = np.greater(s, np.max(s, { axis = -1, keepdims = true }) * rcond) end
    return np.sum(squares(b - np.matmul(a, x)), { axis = -2 }), np.sum(np.astype(counts, "i32"), { axis = -1 }), s
end

--- np.linalg.lstsq(a, b, {rcond=…}) -> x, residuals, rank, values: x that minimises |a x - b|, the smallest such x, for
-- a of shape (…, m, n) and b of shape (m,) or (…, m, k), whose leading axes broadcast. Four results: x, the squared
-- residuals (one for each column of b), the rank of a, its singular values. Those of at most rcond times the largest
-- count as zeros; by default max(m, n) eps. The last three are computed when they are read: singular values take
-- several times as long as x.
--- rcond: which singular values count as zeros, relative to the largest
--- > x, residuals, rank = np.linalg.lstsq(np.array{{1, 0}, {0, 2}, {0, 0}}, np.array{1, 4, 3})
--- > x:round(), residuals:round(), rank
-- [1. 2.]
-- 9.0
-- 2
function linalg.lstsq(a, b, given)
    local o = options("linalg.lstsq", given, { rcond = true })
    local of_a, of_b
    a, of_a = matrices("lstsq", 1, a)
    b, of_b = floats("lstsq", 2, b)
    local vector = #of_b == 1
    if #of_b < 1 or of_b[vector and 1 or #of_b - 1] ~= of_a[#of_a - 1] then
        raise("linalg.lstsq", "expected arrays of shapes (…, m, n) and (m,) or (…, m, k), got %s and %s",
              shape_text(of_a),
              shape_text(of_b))
    end
    a, b = promoted(a, b)
    local rcond = o.rcond == nil and rank_tolerance(a, of_a, 1) or o.rcond
    if not core.is_number(rcond) and not (core.is_array(rcond) and rcond.size == 1) then
        bad_argument("linalg.lstsq", nil, "rcond", "a number or an array of one element", rcond)
    end
    local half
    a, half = operands.wide(a)
    b = vector and shape.reshape(operands.wide(b), { of_b[1], 1 }) or operands.wide(b)
    of_b = shape_of(b)
    local batch = shape.broadcast("linalg.lstsq", { unpack(of_a, 1, #of_a - 2) }, { unpack(of_b, 1, #of_b - 2) })
    local function over_batch(x, rows, columns)
        local dims = { unpack(batch) }
        dims[#batch + 1], dims[#batch + 2] = rows, columns
        return spread(x, dims)
    end
    a, b = over_batch(a, of_a[#of_a - 1], of_a[#of_a]), over_batch(b, of_b[#of_b - 1], of_b[#of_b])
    local x = least_squares(a, b, over_batch, rcond)
    local before = C.neap_aside(ctx, 1)
    local ok, residuals, rank, values = pcall(beside_solution, a, b, x, rcond)
    C.neap_aside(ctx, before)
    if not ok then error(residuals, 0) end
    if vector then x, residuals = without_last(x), without_last(residuals) end
    return operands.narrow(x, half), operands.narrow(residuals, half), rank, operands.narrow(values, half)
end

-- ---- Products -------------------------------------------------------------------------------------------------------

--- np.linalg.matrix_power(x, n): x multiplied n times by itself, by repeated squaring; of the inverse for negative n.
-- Integers stay integers, but for negative n.
--- > np.linalg.matrix_power(np.array{{1, 1}, {0, 1}}, 5)
-- [[1. 5.]
--  [0. 1.]]
function linalg.matrix_power(x, n)
    n = core.integer("linalg.matrix_power", 2, "n", n)
    x = coerce("linalg.matrix_power", 1, x)
    local whole = n >= 0 and not core.dtype_of(x).inexact
    local floats_of_x, dims = square("matrix_power", 1, x)
    if not whole then x = floats_of_x end
    if n == 0 then return shape.broadcast_to(np.eye(dims[#dims], { dtype = core.dtype_of(x).name }), dims) end
    if n < 0 then x, n = linalg.inv(x), -n end
    local result
    while true do
        if n % 2 == 1 then result = result and np.matmul(result, x) or x end
        n = math.floor(n / 2)
        if n == 0 then return result end
        x = np.matmul(x, x)
    end
end

--- np.linalg.multi_dot{a, b, c, …}: the product of matrices in the order that takes the fewest multiplications; the
-- first and the last may be vectors.
--- > np.linalg.multi_dot{np.ones{2, 3}, np.ones{3, 4}, np.ones(4)}
-- [12. 12.]
function linalg.multi_dot(list, extra)
    if extra ~= nil then core.too_many("linalg.multi_dot", 1, extra) end
    if type(list) ~= "table" or #list < 2 then
        bad_argument("linalg.multi_dot", 1, "arrays", "a table of at least 2 arrays", list)
    end
    local extents, n = {}, #core.list("linalg.multi_dot", "the table of arrays", list)
    local items, half = operands.wide_all({ operands.meet("linalg.multi_dot", n, unpack(list)) })
    for k = 1, n do
        local dims = shape_of(items[k])
        local rank = #dims
        if rank == 1 and k == 1 then dims = { 1, dims[1] } elseif rank == 1 and k == n then dims[2] = 1 end
        if #dims ~= 2 or (k > 1 and extents[k] ~= dims[1]) then
            raise("linalg.multi_dot", "array %d of %d must be a matrix%s, got shape %s", k, n,
                  k > 1 and (" of %d rows"):format(extents[k]) or "", shape_text(items[k]))
        end
        extents[k], extents[k + 1] = dims[1], dims[2]
    end
    local cost, cut = {}, {} -- of the product of items i…j
    for i = 1, n do cost[i], cut[i] = { [i] = 0 }, {} end
    for length = 1, n - 1 do
        for i = 1, n - length do
            local j = i + length
            for k = i, j - 1 do
                local total = cost[i][k] + cost[k + 1][j] + extents[i] * extents[k + 1] * extents[j + 1]
                if not cost[i][j] or total < cost[i][j] then cost[i][j], cut[i][j] = total, k end
            end
        end
    end
    local function product(i, j)
        if i == j then return items[i] end
        return np.matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j))
    end
    return operands.narrow(product(1, n), half)
end

--- np.linalg.matmul, np.linalg.tensordot, np.linalg.vecdot, np.linalg.cross, np.linalg.matrix_transpose: np's functions
-- of the same names: `?np.matmul` and so on.
--- > np.linalg.matmul(np.eye(2), np.ones(2)), np.linalg.matrix_transpose(np.ones{1, 2})
-- [1. 1.]
-- [[1.]
--  [1.]]
--- > np.linalg.cross(np.array{1, 0, 0}, np.array{0, 1, 0})
-- [0. 0. 1.]
--- > np.linalg.vecdot(np.ones(2), np.ones(2)), np.linalg.tensordot(np.ones(2), np.ones(2), 1)
-- 2.0
-- 2.0
for _, name in ipairs { "matmul", "tensordot", "vecdot", "cross", "matrix_transpose" } do
    linalg[name] = np[name]
end

--- np.linalg.outer(a, b): np.outer of vectors; other shapes raise, where np.outer flattens them.
--- > np.linalg.outer(np.array{1, 2}, np.array{3, 4})
-- [[3. 4.]
--  [6. 8.]]
function linalg.outer(a, b)
    a, b = operands.meet("linalg.outer", 2, a, b)
    for k, x in ipairs { a, b } do
        if core.ndim(x) ~= 1 then
            raise("linalg.outer", "argument %d must be a vector, got shape %s (np.outer flattens)", k, shape_text(x))
        end
    end
    return np.outer(a, b)
end

--- np.linalg.diagonal(x, {offset=0}): the diagonals of the matrices in the last two axes, as (…, count); offset > 0:
-- above the main one.
--- offset: which diagonal
--- > np.linalg.diagonal(np.array{{1, 2}, {3, 4}})
-- [1. 4.]
function linalg.diagonal(x, given)
    local offset = options("linalg.diagonal", given, { offset = true }).offset or 0
    x = coerce("linalg.diagonal", 1, x)
    if core.ndim(x) < 2 then
        raise("linalg.diagonal", "argument 1 must be matrices, of shape (…, m, n); got shape %s", shape_text(x))
    end
    return np.diagonal(x, { offset = offset, axis1 = -2, axis2 = -1 })
end

--- np.linalg.trace(x, {offset=0, dtype=…}): the sums of the diagonals of the matrices in the last two axes.
--- offset: which diagonal
--- dtype: what the elements are cast to before they are added
--- > np.linalg.trace(np.array{{1, 2}, {3, 4}})
-- 5.0
function linalg.trace(x, given)
    local o = options("linalg.trace", given, { offset = true, dtype = true })
    local code = core.dtype("linalg.trace", o.dtype)
    local diagonal = linalg.diagonal(x, { offset = o.offset })
    if not code then return np.sum(diagonal, { axis = -1 }) end
    local name = core.dtypes[code].name
    return np.astype(np.sum(np.astype(diagonal, name), { axis = -1 }), name)
end

--- What is made of several ops computes f16 and bf16 as f32, and rounds once.
local function of_halves(name)
    local of_others = linalg[name]
    linalg[name] = function(x, given)
        local dtype = core.is_array(x) and core.dtype_of(x)
        if not dtype or not dtype.half then return of_others(x, given) end
        local results = { of_others(np.astype(x, "f32"), given) }
        for k = 1, #results do results[k] = np.astype(results[k], dtype.name) end
        return unpack(results)
    end
end

local helpers = { square = square, floats = floats, matrices = matrices, real = real, is_complex = is_complex,
                  squares = squares, svdvals = svdvals, adjoint = adjoint }
require "neap.arrays.linalg_norms"(linalg, helpers)
require "neap.arrays.linalg_forms"(linalg, helpers)
for _, name in ipairs { "cholesky", "qr", "eigh", "eigvalsh", "matrix_power", "cond" } do of_halves(name) end

return linalg
