--- linalg_forms.lua: more of np.linalg: factors of a matrix apart, tensor equations, exponentials, and matrices of a
-- form. linalg.lua opens the table and has the helpers that say what is wrong with an argument.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"

local np, ids = core.np, core.ids
local raise, options = core.raise, core.options
local shape_of, shape_text = core.shape_of, core.shape_text
local I32 = core.dtype_codes.i32

return function(linalg, helpers)
    local square, matrices, floats, is_complex = helpers.square, helpers.matrices, helpers.floats, helpers.is_complex
    local function define(name, f) linalg[name] = f end

    local function transposed(x)
        return np.swapaxes(x, -1, -2)
    end

    -- ---- Factors and equations --------------------------------------------------------------------------------------

    --- Which row of x comes to each place: the exchanges that LAPACK lists, counted from 1, done one after the other.
    -- Their bits are what the row (…, n) begins with.
    local function order_of(row, n)
        local i, exchanges, dims = create.iota(n, I32), np.bitcast(row, "i32"), shape_of(row)
        local parts = shape_of(exchanges)[#dims + 1] -- of each element
        if parts then
            dims[#dims] = n * parts
            exchanges = shape.cut(shape.reshape(exchanges, dims), #dims - 1, 0, n)
        end
        exchanges = exchanges - 1
        local function at(mask, list) return np.sum(np.where(mask, list, 0), { axis = -1, keepdims = true }) end
        return np.fori_loop(0, n, function(k, order)
            local here = np.equal(i, k)
            local there = np.equal(i, at(here, exchanges))
            return np.where(here, at(there, order), np.where(there, at(here, order), order))
        end, shape.broadcast_to(i, shape_of(exchanges)))
    end

    local function lu_parts(x)
        local dims = shape_of(x)
        local n, rank, name = dims[#dims], #dims, core.dtype_of(x).name
        local eye = np.eye(n, { dtype = name })
        if n == 0 then return x, x, x end
        local packed = core.record1(ids.lu, transposed(x), 0) -- the row factors the transposed matrix
        local both = np.astype(transposed(shape.cut(packed, rank - 2, 0, n)), name)
        dims[rank] = nil
        local order = order_of(shape.reshape(shape.cut(packed, rank - 2, n, n + 1), dims), n)
        local p = np.astype(np.equal(np.expand_dims(order, -2), shape.reshape(create.iota(n, I32), { n, 1 })), name)
        return p, np.tril(both, -1) + eye, np.triu(both)
    end

    -- With F = inv(l) inv(p) dx inv(u): dl = l tril(F, -1), du = triu(F) u.
    local lu

    local function lu_rule(inputs, tangents)
        local p, l, u = lu(inputs[1])
        local f = linalg.solve_triangular(l, np.matmul(transposed(p), tangents[1]), { lower = true })
        f = transposed(linalg.solve_triangular(transposed(u), transposed(f), { lower = true }))
        return p, l, u, false, np.matmul(l, np.tril(f, -1)), np.matmul(np.triu(f), u)
    end

    --- Of wide matrices: of their first columns, with which the rest of u is a solution.
    local function lu_wide(x, rank, m, n)
        local p, l, u = lu(shape.cut(x, rank - 1, 0, m))
        local rest = np.matmul(transposed(p), shape.cut(x, rank - 1, m, n))
        return p, l,
        shape.join({ u, linalg.solve_triangular(l, rest, { lower = true, unit_diagonal = true }) }, rank - 1)
    end

    --- Of tall matrices: beside columns of the permutation, which make them regular and add ones to u's diagonal.
    local function lu_tall(x, rank, m, n)
        local dims = shape_of(x)
        dims[rank] = m - n
        local zeros = np.zeros(dims, { dtype = x.dtype })
        local order = lu(shape.join({ np.stop_gradient(x), zeros }, rank - 1))
        local p, l, u = lu(shape.join({ x, shape.cut(order, rank - 1, n, m) }, rank - 1))
        return p, shape.cut(l, rank - 1, 0, n), shape.cut(shape.cut(u, rank - 2, 0, n), rank - 1, 0, n)
    end

    --- np.linalg.lu(x) -> p, l, u: three results with p l u = x: a permutation matrix, a lower triangular matrix with
    -- ones on its diagonal, an upper triangular one. Of m × n matrices p is m × m, l is m × k and u is k × n, with k =
    -- min(m, n). Differentiable in l and u.
    --- > p, l, u = np.linalg.lu(np.array{{0, 2}, {1, 4}})
    --- > p, l, u
    -- [[0. 1.]
    --  [1. 0.]]
    -- [[1. 0.]
    --  [0. 1.]]
    -- [[1. 4.]
    --  [0. 2.]]
    define("lu", function(x)
        local dims
        x, dims = matrices("lu", 1, x)
        lu = lu or np.custom_jvp(lu_parts):defjvp(lu_rule)
        local rank, m, n = #dims, dims[#dims - 1], dims[#dims]
        if m == n then return lu(x) end
        return (m < n and lu_wide or lu_tall)(x, rank, m, n)
    end)

    --- np.linalg.cho_solve(c, b, {lower=true}): x with a x = b, for a given by its Cholesky factor c: c cᴴ = a. Shapes
    -- as in np.linalg.solve.
    --- lower: false: c is upper triangular, and cᴴ c = a
    --- > np.linalg.cho_solve(np.array{{2, 0}, {1, 2}}, np.array{4, 7})
    -- [0.375 1.25 ]
    define("cho_solve", function(c, b, given)
        local lower = options("linalg.cho_solve", given, { lower = true }).lower ~= false
        local both, half = operands.wide_all({ operands.meet("linalg.cho_solve", 2, c, b) })
        c, b = both[1], both[2]
        local other = helpers.adjoint((square("cho_solve", 1, c)))
        local first, second = lower and c or other, lower and other or c
        local y = linalg.solve_triangular(first, b, { lower = true })
        return operands.narrow(linalg.solve_triangular(second, y), half)
    end)

    --- np.linalg.tensorsolve(a, b, {axes=…}): x with tensordot(a, x, ndim of x) = b. The first axes of a, as many as b
    -- has, have as many elements as b; the others are those of x, with as many elements, too.
    --- axes: axes of a that are moved behind the others first
    --- > np.linalg.tensorsolve(np.eye(4):reshape(2, 2, 2, 2), np.array{{1, 2}, {3, 4}})
    -- [[1. 2.]
    --  [3. 4.]]
    define("tensorsolve", function(a, b, given)
        local axes = options("linalg.tensorsolve", given, { axes = true }).axes
        a = floats("tensorsolve", 1, a)
        local of_b
        b, of_b = floats("tensorsolve", 2, b)
        if axes ~= nil then
            local list, to = shape.axes("linalg.tensorsolve", axes, core.ndim(a)), {}
            for k = 1, #list do to[k] = core.ndim(a) - #list + k - 1 end
            a = np.moveaxis(a, list, to)
        end
        local of_a = shape_of(a)
        local rest = { unpack(of_a, #of_b + 1) }
        local n = shape.product(of_b)
        if #of_a < #of_b or shape.product(of_a) ~= n * n or shape.product(rest) ~= n then
            raise("linalg.tensorsolve", "shapes %s and %s do not fit: the first axes of a, as many as b has, and the "
                  .. "others must have as many elements as b", shape_text(of_a), shape_text(of_b))
        end
        return shape.reshape(linalg.solve(shape.reshape(a, { n, n }), shape.reshape(b, { n })), rest)
    end)

    --- np.linalg.tensorinv(a, {ind=2}): the inverse for np.tensordot: of a, whose first `ind` axes have as many
    -- elements as the others, the array whose tensordot over `ind` axes with a is the identity.
    --- ind: how many of the first axes go together
    --- > np.linalg.tensorinv(np.eye(4):reshape(4, 2, 2), {ind=1}).shape[3]
    -- 4
    define("tensorinv", function(a, given)
        local ind = options("linalg.tensorinv", given, { ind = true }).ind
        local dims
        a, dims = floats("tensorinv", 1, a)
        ind = core.integer("linalg.tensorinv", nil, "ind", ind == nil and 2 or ind)
        if ind < 1 or ind > #dims then
            raise("linalg.tensorinv", "option 'ind' must be from 1 to the %d axes of the array, got %d", #dims, ind)
        end
        local first, rest = { unpack(dims, 1, ind) }, { unpack(dims, ind + 1) }
        local n = shape.product(first)
        if shape.product(rest) ~= n then
            raise("linalg.tensorinv", "the first %d axes of shape %s have %d elements, the others %d", ind,
                  shape_text(dims), n, shape.product(rest))
        end
        for k = 1, #first do rest[#rest + 1] = first[k] end
        return shape.reshape(linalg.inv(shape.reshape(a, { n, n })), rest)
    end)

    -- ---- Functions of matrices --------------------------------------------------------------------------------------

    -- Coefficients of the Padé approximants of exp of degree 7 and 13, and the 1-norms up to which they are exact to
    -- rounding in f32 and f64: N. Higham, The scaling and squaring method for the matrix exponential revisited, 2005.
    local PADE = {
        f32 = { 17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1, norm = 3.925724783138660 },
        f64 = { 64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
                10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
                norm = 5.371920351148152 },
    }
    local MOST_SQUARINGS = 16

    --- x times 2^-s, with the smallest s from 0 to MOST_SQUARINGS, for each matrix, that brings its 1-norm below a
    -- limit; s.
    local function scaled(x, limit)
        local norm = np.max(np.sum(np.abs(np.stop_gradient(x)), { axis = -2, keepdims = true }),
                            { axis = -1, keepdims = true })
        local s = np.clip(np.ceil(np.log2(np.maximum(norm / limit, 1))), 0, MOST_SQUARINGS)
        return x * np.exp2(-s), s
    end

    --- np.linalg.expm(x): the exponential of square matrices, I + x + x²/2 + …; by scaling, a Padé approximant and
    -- squaring (Higham, 2005). Matrices of a 1-norm above some 250,000 (f32: 350,000 f64) are less exact.
    -- Differentiable.
    --- > np.linalg.expm(np.array{{0, 1}, {0, 0}})
    -- [[1. 1.]
    --  [0. 1.]]
    define("expm", function(x)
        local dims
        x, dims = square("expm", 1, x)
        local half
        x, half = operands.wide(x)
        local n, name = dims[#dims], core.dtype_of(x).name
        if n == 0 then return x end
        local b = PADE[core.dtype_of(x).part] or PADE.f32
        local eye, small, s = np.eye(n, { dtype = name }), scaled(x, b.norm)
        local square_of = np.matmul(small, small)
        local even, odd, power = eye * b[1], eye * b[2], nil
        for k = 3, #b, 2 do
            power = power and np.matmul(power, square_of) or square_of
            even, odd = even + power * b[k], odd + power * b[k + 1]
        end
        odd = np.matmul(small, odd)
        local result = linalg.solve(even - odd, even + odd)
        for k = 1, MOST_SQUARINGS do result = np.where(np.less(s, k), result, np.matmul(result, result)) end
        return operands.narrow(result, half)
    end)

    --- A function of any square matrices, by their Schur form: complex.
    local function by_schur(name, x, which)
        local dims
        x, dims = square(name, 1, x)
        if not is_complex(x) then x = np.complex(x, 0) end
        if dims[#dims] == 0 then return x end
        core.attrs[0] = which
        return core.record1(ids.matrix_function, x, 1)
    end

    local function plain_root(x)
        local values, vectors = linalg.eigh(x)
        local noise = shape_of(x)[core.ndim(x)] * np.finfo(core.dtype_of(x).name).eps
            * np.max(np.abs(values), { axis = -1, keepdims = true })
        local zero = np.logical_and(np.less_equal(values, 0), np.greater_equal(values, -noise))
        local roots = np.where(zero, 0, np.sqrt(np.where(zero, 1, values)))
        return np.matmul(vectors * np.expand_dims(roots, -2), transposed(vectors))
    end

    local root

    --- The derivative is the upper right block of the root of ((x, dx), (0, x)), also where eigenvalues are equal.
    local function root_rule(inputs, tangents)
        local function symmetric(x) return (x + transposed(x)) * 0.5 end
        local x, along, rank = symmetric(inputs[1]), symmetric(tangents[1]), core.ndim(inputs[1])
        local n = shape_of(x)[rank]
        local both = shape.join({ shape.join({ x, along }, rank - 1), shape.join({ np.zeros_like(x), x }, rank - 1) },
                                rank - 2)
        local right = shape.cut(by_schur("sqrtm", both, 0), rank - 1, n, 2 * n)
        return root(inputs[1]), np.real(shape.cut(right, rank - 2, 0, n))
    end

    --- np.linalg.sqrtm(x): the square root of matrices: r with r r = x. Of real ones the symmetric root: x is first
    -- made symmetric, (x + xᵀ) / 2; NaN where an eigenvalue is below 0 by more than rounding. Of complex ones, which
    -- may be any, the principal root, whose eigenvalues have real parts from 0 up: so np.linalg.sqrtm(x:astype "c64")
    -- is that of a real matrix that is not symmetric. Differentiable.
    --- > np.round(np.linalg.sqrtm(np.array{{5, 4}, {4, 5}}), 4)
    -- [[2. 1.]
    --  [1. 2.]]
    define("sqrtm", function(x)
        local dims
        x, dims = square("sqrtm", 1, x)
        if is_complex(x) then return by_schur("sqrtm", x, 0) end
        if dims[#dims] == 0 then return x end
        root = root or np.custom_jvp(plain_root):defjvp(root_rule)
        local half
        x, half = operands.wide(x)
        return operands.narrow(root(x), half)
    end)

    --- np.linalg.logm(x): the principal logarithm of square matrices, the inverse of np.linalg.expm: complex, of real
    -- ones too; imaginary parts of eigenvalues are from -π to π. By the Schur form, inverse scaling and squaring, and a
    -- Padé approximant (Higham, 2008), computed in f64 and rounded once. Differentiable.
    --- > np.round(np.linalg.logm(np.array{{1, 1}, {0, 1}}).real, 4)
    -- [[0. 1.]
    --  [0. 0.]]
    define("logm", function(x) return by_schur("logm", x, 1) end)

    -- ---- Matrices of a form -----------------------------------------------------------------------------------------

    --- np.linalg.block_diag(a, b, …): matrices along the diagonal of a larger one, zeros elsewhere; 1-d arguments are
    -- rows.
    --- > np.linalg.block_diag(np.ones{1, 2}, np.array{{7}})
    -- [[1. 1. 0.]
    --  [0. 0. 7.]]
    function linalg.block_diag(...)
        local n = select("#", ...)
        local blocks, dims, rows, columns = { operands.meet("linalg.block_diag", n, ...) }, {}, 0, 0
        for k = 1, n do
            local x = np.atleast_2d(blocks[k])
            if core.ndim(x) ~= 2 then
                raise("linalg.block_diag", "argument %d must have at most 2 axes, got shape %s", k, shape_text(x))
            end
            blocks[k], dims[k] = x, shape_of(x)
            rows, columns = rows + dims[k][1], columns + dims[k][2]
        end
        if #blocks == 0 then return np.zeros { 1, 0 } end
        local left, list = 0, {}
        for k, x in ipairs(blocks) do
            local width = dims[k][2]
            list[k] = shape.pad(x, core.number(0, core.dtype_of(x).code), { 0, left }, { 0, columns - left - width },
                                { 0, 0 })
            left = left + width
        end
        return shape.join(list, 0)
    end

    --- np.linalg.toeplitz(c, r): the matrix with the first column c and the first row r, constant along its diagonals;
    -- r is the conjugate of c without it, and its first element is not read.
    --- > np.linalg.toeplitz(np.array{1, 2, 3}, np.array{0, 8, 9})
    -- [[1. 8. 9.]
    --  [2. 1. 8.]
    --  [3. 2. 1.]]
    define("toeplitz", function(c, r)
        if r == nil then
            c = operands.meet("linalg.toeplitz", 1, c)
            r = is_complex(c) and np.conj(c) or c
        end
        c, r = operands.meet("linalg.toeplitz", 2, c, r)
        c, r = np.ravel(c), np.ravel(r)
        local m, n = c.size, r.size
        if m * n == 0 then return np.zeros({ m, n }, { dtype = np.result_type(c, r) }) end
        -- c backwards, then r: row i is what begins m - 1 - i elements in.
        local all = shape.join({ np.flip(c), shape.cut(r, 0, 1, n) }, 0)
        core.attrs[0], core.attrs[1], core.attrs[2], core.attrs[3] = 0, core.put(1, n), 1, 1
        return np.flip(core.record1(ids.windows, all, 4), 0)
    end)

    --- np.linalg.hilbert(n, {dtype="f32"}): the matrix of 1 / (i + j + 1): a test of how a method stands bad
    -- conditions.
    --- > np.linalg.hilbert(2)
    -- [[1.         0.5       ]
    --  [0.5        0.33333334]]
    define("hilbert", function(n, given)
        local code = core.dtype("linalg.hilbert", options("linalg.hilbert", given, { dtype = true }).dtype,
                                core.dtype_codes.f32)
        n = core.integer("linalg.hilbert", 1, "n", n, 0)
        local i = create.iota(n, core.dtype_codes.f64)
        return np.astype(1 / (shape.reshape(i, { n, 1 }) + i + 1), core.dtypes[code].name)
    end)
end
