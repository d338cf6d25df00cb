--- direct.lua: np.sparse.spsolve, splu, factorized: systems of any sparse matrix, by LU factorization.
--
-- The op sparse_solve (lazy/ops/sparse_solve.c) factors and solves, and finds the factors of a matrix again that it has
-- made lately. So the object that splu gives holds the matrix, and the factors belong to the core: it is a tree of the
-- arrays of the matrix, as a sparse array is (value.lua), and may be an argument of a jitted function. Its triangles
-- and orders are made when somebody asks for them, by ops of the same file.
local core = require "neap.core"
local convert = require "neap.sparse.convert"
local hints = require "neap.core.hints"
local operands = require "neap.arrays.operands"
local trees = require "neap.core.trees"
local value = require "neap.sparse.value"

local np = core.np
local raise, attrs = core.raise, core.attrs

-- ---- Systems --------------------------------------------------------------------------------------------------------

--- Argument 1 of np.name as a square csr or csc array of floats, and how many rows it has.
local function matrix_of(name, A)
    local format, rows, columns = value.check(name, 1, A)
    if rows ~= columns then raise(name, "argument 1 (A) must be square, got shape (%d, %d)", rows, columns) end
    if format == "coo" then A = convert.to(name, 1, A, "csr") end
    local facts = core.dtype_of(A.data)
    return facts.inexact and A or A:astype(facts.real), rows
end

--- The right sides of a system with the matrix A.
local function side_of(name, position, b, A)
    local _, rows = value.form(A)
    if value.is(b) then
        raise(name, "argument %d (b) must be a dense array, got %s; b:toarray() makes one", position, core.describe(b))
    end
    if type(b) == "table" and getmetatable(b) == nil then
        b = operands.beside(name, position, b, core.dtype_of(A.data))
    end
    if not core.is_array(b) then core.bad_argument(name, position, "b", "an array", b) end
    local dims = core.shape_of(b)
    if #dims < 1 or #dims > 2 or dims[1] ~= rows then
        raise(name, "argument %d (b) must have %d rows, as A, got shape %s", position, rows, core.shape_text(b))
    end
    return b
end

--- x with A x = b, or Aᵀ x = b, for a csr or csc array.
local function solution(A, b, transposed)
    local format, rows = value.form(A)
    local dtype, dims = np.result_type(A.data, b), core.shape_of(b)
    local right = np.reshape(np.astype(b, dtype), rows, #dims == 2 and dims[2] or 1)
    local inputs = { np.astype(A.data, dtype), right, A.indices, A.indptr }
    local turned = (format == "csc") ~= transposed -- what is stored by columns is, read as rows, the transpose
    attrs[0], attrs[1] = rows, turned and 1 or 0
    local x = core.recordn(core.ids.sparse_solve, inputs, 4, 2)
    return np.reshape(x, dims)
end

-- ---- Factorizations as values ---------------------------------------------------------------------------------------

local methods, fields = {}, {}
local classes = setmetatable({}, { __mode = "v" })

local function index(lu, key)
    if type(key) == "string" and fields[key] then return fields[key](lu) end
    if type(key) == "string" and methods[key] then return methods[key] end
    core.fail("%s", hints.name("lu", tostring(key), { methods, fields }))
end

--- A factorization of a csr or csc array; there is a class for each class of these.
local function new(A)
    local text = ("splu(%s)"):format(trees.class_of(A).__tree)
    if not classes[text] then
        classes[text] = { __tree = text, factors = true, __index = index,
                          __describe = function() return "a factorization, " .. text end,
                          __tostring = function() return "LU factorization, " .. text end }
    end
    return setmetatable({ A = A }, classes[text])
end

--- lu.shape -> table: rows and columns of the matrix that np.sparse.splu has factored.
--- > np.sparse.splu(np.sparse.eye(3)).shape[1]
-- 3
function fields.shape(lu) return lu.A.shape end

--- lu.dtype -> string: the dtype of the matrix that np.sparse.splu has factored, of floats.
--- > np.sparse.splu(np.sparse.eye(3)).dtype
-- f32
function fields.dtype(lu) return lu.A.dtype end

-- ---- Triangles ------------------------------------------------------------------------------------------------------

local made = setmetatable({}, { __mode = "k" }) -- factorization -> L, U, perm_r and perm_c

--- The places of whole factors, of the csc array A with elements of f32, f64 or complex ones.
local function places_of(A, data, elements)
    attrs[0] = elements
    return core.recordn(core.ids.sparse_factor_places, { A.indices, A.indptr, data }, 3, 1)
end

--- L, U, perm_r and perm_c of a csc array of n rows, n > 0. Waits for the number of elements.
local function factors_of(A, n)
    local data = np.astype(A.data, np.result_type(A.data, "f32"))
    local orders = places_of(A, data, 0)
    local starts = { orders[{ { 2 * n, 3 * n + 1 } }], orders[{ { 3 * n + 1, nil } }] }
    local lower, upper = starts[1][-1]:item(), starts[2][-1]:item()
    local rows = places_of(A, data, lower + upper)
    attrs[0] = lower + upper
    local elements = core.recordn(core.ids.sparse_factors, { data, A.indices, A.indptr }, 3, 1)
    elements = np.astype(elements, A.data.dtype)
    local function triangle(k, from, to)
        return value.new("csc", n, n, elements[{ { from, to } }], rows[{ { from, to } }], starts[k])
    end
    local function numbers(order) return np.astype(np.argsort(order), "i32") end -- what leads back
    return { L = triangle(1, 0, lower), U = triangle(2, lower, nil),
             perm_r = numbers(orders[{ { 0, n } }]), perm_c = numbers(orders[{ { n, 2 * n } }]) }
end

local function nothing(A)
    local none = np.zeros({ 0 }, { dtype = "i32" })
    return { L = A, U = A, perm_r = none, perm_c = none }
end

local function part(lu, key)
    if not made[lu] then
        local name = "lu." .. key
        local A, n = convert.to(name, 1, lu.A, "csc"), lu.shape[1]
        if not value.known(A) or core.info(A.data).traced ~= 0 then
            raise(name, "how many elements the factors have is not known while tracing; ask for them before")
        end
        made[lu] = n > 0 and factors_of(A, n) or nothing(A)
    end
    return made[lu][key]
end

--- lu.L, lu.U -> sparse array: the factors of the matrix that np.sparse.splu has factored, csc arrays of its dtype:
-- L with ones on its diagonal and nothing above, U with nothing below. With Pr and Pc the permutations of lu.perm_r
-- and lu.perm_c, L U = Pr A Pc, but for rounding: rows are not scaled. Computed in f64 and rounded. A pivot on the
-- diagonal is taken where it is at least 0.1 times the largest element of its column, so pivots are other ones than
-- SciPy's. lu:solve(b) has factors of its own, of blocks with scaled rows. Waits for the number of elements; an error
-- while tracing; has no derivatives.
--- > lu = np.sparse.splu(np.sparse.csr_array{{1, 2}, {16, 8}})
--- > lu.L:toarray(), lu.U:toarray(), lu.perm_r, lu.perm_c
-- [[1.     0.    ]
--  [0.0625 1.    ]]
-- [[16.   8. ]
--  [ 0.   1.5]]
-- [1 0]
-- [0 1]
function fields.L(lu) return part(lu, "L") end
function fields.U(lu) return part(lu, "U") end

--- lu.perm_r, lu.perm_c -> array: the orders of rows and columns of lu.L and lu.U, (n,) of i32: row i of the matrix has
-- become row perm_r[i], column j column perm_c[j].
--- > A = np.sparse.csc_array{{0, 2}, {3, 1}}
--- > lu = np.sparse.splu(A)
--- > lu.L:dot(lu.U):toarray()[lu.perm_r][{{}, lu.perm_c}]
-- [[0. 2.]
--  [3. 1.]]
function fields.perm_r(lu) return part(lu, "perm_r") end
function fields.perm_c(lu) return part(lu, "perm_c") end

for _, f in ipairs { factors_of, part } do jit.off(f) end

-- ---- Solutions ------------------------------------------------------------------------------------------------------

local TURNED = { N = false, T = true, H = true }

--- lu:solve(b, {trans="N"}): x with A x = b, for the matrix A that np.sparse.splu has factored; b is a vector or a
-- matrix of right sides. All else as np.sparse.spsolve.
--- trans: "T" solves Aᵀ x = b, "H" the same with the conjugates of A's elements
--- > lu = np.sparse.splu(np.sparse.csr_array{{2, 1}, {0, 4}})
--- > lu:solve(np.array{4, 8}), lu:solve(np.array{4, 8}, {trans="T"})
-- [1. 2.]
-- [2.  1.5]
function methods.solve(lu, b, given)
    local name = "lu.solve"
    local class = trees.class_of(lu)
    if not class or not class.factors then
        raise(name, "expected a factorization in front of it, lu:solve(b), got %s", core.describe(lu))
    end
    local o = core.options(name, given, { trans = true })
    local trans = o.trans == nil and "N" or o.trans
    if TURNED[trans] == nil then core.bad_argument(name, nil, "trans", '"N", "T" or "H"', o.trans) end
    b = side_of(name, 1, b, lu.A)
    if trans ~= "H" or np.result_type(lu.A.data, b):sub(1, 1) ~= "c" then
        return solution(lu.A, b, TURNED[trans])
    end
    return np.conj(solution(lu.A, np.conj(b), true)) -- the transposed system, whose factors are there
end

return function(sparse)
    --- np.sparse.spsolve(A, b): x with A x = b for any square sparse array A, by an LU factorization; b is a vector or
    -- a matrix of right sides. Computed in f64, and rounded to the dtype in which A and b meet. An element of A that is
    -- not finite, a singular A, for which a pivot is 0, and a solution of finite numbers that is not finite are errors,
    -- which say the row or column; as A and b may be lazy, they come when x is asked for. An A that is singular but for
    -- rounding is solved. Derivatives are by the elements of A and by b: a transposed system with the same factors. The
    -- factors of the last matrices are kept, 8 at most, and 256 MB but for the last one. By KLU of SuiteSparse (package
    -- libklu1), which orders by minimum degree: T. Davis and E. Palamadai Natarajan, Algorithm 907, 2010.
    --- > A = np.sparse.diags({-1, 2, -1}, {offsets={-1, 0, 1}, shape={4, 4}})
    --- > np.sparse.spsolve(A, np.array{1, 0, 0, 1})
    -- [1. 1. 1. 1.]
    function sparse.spsolve(A, b)
        local name = "sparse.spsolve"
        A = matrix_of(name, A)
        return solution(A, side_of(name, 2, b, A), false)
    end

    --- np.sparse.splu(A) -> factorization: the LU factorization of a square sparse array A, for many right sides:
    -- lu:solve(b) is np.sparse.spsolve(A, b), with its derivatives. Waits for the factors, but while tracing, and
    -- raises where A is singular. lu.shape and lu.dtype are those of A; lu.L, lu.U, lu.perm_r and lu.perm_c are its
    -- factors.
    --- > lu = np.sparse.splu(np.sparse.csr_array{{2, 1}, {0, 4}})
    --- > lu:solve(np.array{{4, 2}, {8, 0}})
    -- [[1. 1.]
    --  [2. 0.]]
    function sparse.splu(A)
        local rows
        A, rows = matrix_of("sparse.splu", A)
        local tried = solution(A, np.zeros({ rows }, { dtype = A.dtype }), false)
        if core.info(tried).traced == 0 then np.wait(tried) end
        return new(A)
    end

    --- np.sparse.factorized(A) -> function: a function from a right side b to x with A x = b, for a square sparse array
    -- A: that of np.sparse.splu(A):solve(b).
    --- > solve = np.sparse.factorized(np.sparse.csr_array{{2, 1}, {0, 4}})
    --- > solve(np.array{4, 8})
    -- [1. 2.]
    function sparse.factorized(A)
        local lu = sparse.splu(A)
        return function(b) return lu:solve(b) end
    end
end
