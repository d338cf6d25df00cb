--- sparse_direct_test.lua: contracts of np.sparse.spsolve, splu and factorized (tests/lib/contracts.lua). They are
-- skipped where SuiteSparse's KLU is not installed.
-- (release build only)
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local of, finish, _, elsewhere = require "tests.lib.contracts" "sparse_direct"

local S = np.sparse

local listing = (os.getenv "NEAP_CONTRACTS" or "tests") ~= "tests"
local is_there = require "tests.lib.klu"

elsewhere("lu.solve lu.shape lu.dtype", "tests/contracts/sparse_direct_test.lua",
          "the contract of np.sparse.splu calls them")
elsewhere("lu.U lu.perm_r lu.perm_c", "tests/contracts/sparse_direct_test.lua", "the contract of lu.L calls them")

local function contract(name, what)
    if listing or is_there then of(name, what) else check.skip(name, "needs package libklu1") end
end

if not is_there and not listing then
    check.test("without the library an error names its package", function()
        check.raises(function() S.spsolve(S.eye(2), np.ones(2)) end, "package libklu1")
        for _, f in ipairs { S.splu, S.factorized } do
            check.raises(function() f(S.eye(2)) end, "package libklu1")
        end
    end)
end

local function i32(x) return np.array(x, { dtype = "i32" }) end

-- A matrix of 4 rows with two zeros on the diagonal. Four elements are greater than all others of their rows together;
-- the others are d, and two of d stand at one place.
local ROW, COL = i32 { 0, 1, 2, 3, 0, 0, 1, 2, 2, 3, 3, 3 }, i32 { 2, 0, 3, 1, 0, 1, 3, 1, 2, 0, 3, 3 }

local function matrix(d, format)
    local data = np.concatenate { np.array({ 4, -5, 6, 3.5 }, { dtype = d.dtype }), d }
    local A = { data = data, indices = COL[np.argsort(ROW)], indptr = i32 { 0, 3, 5, 8, 12 }, shape = { 4, 4 } }
    A.data = np.take(data, np.argsort(ROW))
    if format == "csc" then return S.csr_array(A):tocsc() end
    return S.csr_array(A)
end

--- A sparse array of a dense one, every element in two parts at one place.
local function doubled(D, format)
    local A = S.coo_array(D)
    local both = S.coo_array { data = np.concatenate { A.data * 0.25, A.data * 0.75 },
                               row = np.concatenate { A.row, A.row }, col = np.concatenate { A.col, A.col },
                               shape = D.shape }
    if format == "coo" then return both end
    local order = np.argsort(format == "csr" and both.row or both.col)
    local lines = np.take(format == "csr" and both.row or both.col, order)
    return S[format .. "_array"] { data = np.take(both.data, order), shape = D.shape,
                                   indices = np.take(format == "csr" and both.col or both.row, order),
                                   indptr = np.searchsorted(lines, np.arange(D.shape[1] + 1)) }
end

local function farthest(x, y) return np.abs(x - y):max():item() end

local common = {
    args = { { "d", from = -0.75, to = 0.75, table = false, number = false }, "b" },
    shapes = { { { 8 }, { 4 } }, { { 8 }, { 4, 3 } } }, accepts = "f64 f32 f16 c128", gives = "same", special = false,
    within = { f64 = "mixed 1e-14", f32 = "ulp 1", f16 = "ulp 1", c128 = "mixed 1e-14" },
    derivative = "dense_solution(jnp, o, d, b)", complex_slopes = true,
    points = { { { 0.5, -0.25, 0.125, 0.75, -0.5, 0.25, -0.75, 0.5 }, { 1, 2, -1, 0.5 } } },
    without = { special = "infinities and NaN are refused: tests by name",
                sizes = "the shape of a sparse array is fixed" },
}

local function with(more)
    local all = {}
    for key, what in pairs(common) do all[key] = what end
    for key, what in pairs(more) do all[key] = what end
    return all
end

--- What all three refuse, by solve(A, b).
local function refused(solve)
    return {
        { "A%) must be square, got shape %(2, 3%)", function() solve(S.eye(2, 3), np.ones(2)) end },
        { "must be a sparse array, got an array of shape %(2, 2%).*csr_array makes one", function()
            solve(np.eye(2), np.ones(2))
        end },
        { "must be a sparse array, got the number 3", function() solve(3, np.ones(2)) end },
        { "%(b%) must have 2 rows, as A, got shape %(3,%)", function() solve(S.eye(2), np.ones(3)) end },
        { "%(b%) must have 2 rows, as A, got shape %(2, 2, 2%)", function() solve(S.eye(2), np.ones { 2, 2, 2 }) end },
        { "%(b%) must be a dense array.*toarray", function() solve(S.eye(2), S.eye(2)) end },
        { "%(b%) must be an array, got the number 3", function() solve(S.eye(2), 3) end },
        { "the matrix is singular: row 1 depends on others$", function()
            np.wait(solve(S.csr_array { { 1, 2 }, { 2, 4 } }, np.ones(2)))
        end },
        { "the matrix is singular: column 1 depends on others$", function()
            np.wait(solve(S.csc_array { { 1, 2 }, { 2, 4 } }, np.ones(2)))
        end },
        { "is singular: row %d depends on others, and its places allow a rank of 2", function()
            np.wait(solve(S.csr_array { { 1, 0, 0 }, { 2, 0, 0 }, { 0, 1, 1 } }, np.ones(3)))
        end },
        { "is singular: row 0 depends on others, and its places allow a rank of 0", function()
            np.wait(solve(S.csr_array { shape = { 2, 2 } }, np.ones(2)))
        end },
        { "the element %(1, 0%) of the matrix is not finite", function()
            np.wait(solve(S.csr_array { { 1, 0 }, { np.nan, 1 } }, np.ones(2)))
        end },
        { "the element %(1, 0%) of the matrix is not finite", function()
            np.wait(solve(S.csc_array { { 1, 0 }, { math.huge, 1 } }, np.ones(2)))
        end },
        { "the solution is not finite: the matrix is nearly singular", function()
            local A = S.csr_array(np.array({ { 1e-300, 0 }, { 0, 1 } }, { dtype = "f64" }))
            np.wait(solve(A, np.array({ 1e300, 1 }, { dtype = "f64" })))
        end },
        -- of right sides and of matrices that workers share
        { "the solution is not finite: the matrix is nearly singular", function()
            local A = S.csr_array(np.eye(200, { dtype = "f64" }) * 1e-300)
            np.wait(solve(A, np.full({ 200, 100 }, 1e300, { dtype = "f64" })))
        end },
        { "the matrix 2 of 4 is singular: row 5 depends on others", function()
            local A = S.csr_array(np.eye(5000, { dtype = "f64" }))
            local factors = np.ones({ 4, 5000 }, { dtype = "f64" }):at { 2, 5 }:set(0):at { 3, 7 }:set(0)
            np.wait(np.vmap(function(v) return solve(A * v, np.ones(5000)) end)(factors))
        end },
    }
end

contract("np.sparse.spsolve", with {
    call = function(f, o, d, b) return f(matrix(d), b, next(o) and o) end, oracle = "direct_solution(o, d, b)",
    refuses = refused(S.spsolve),
    also = {
        ["np.sparse.spsolve: random matrices in all formats, as dense ones"] = function()
            local random = seeds.generator(17)
            local key = np.random.key(random(1000))
            for _, case in ipairs { { 1, 1, 1 }, { 2, 0.5, 1 }, { 5, 0.4, 2 }, { 17, 0.2, 5 }, { 40, 0.05, 4 },
                                    { 40, 1, 9 }, { 130, 0.02, 1 } } do
                local n, density, k = unpack(case)
                key = np.random.fold_in(key, n)
                local order = np.random.permutation(key, n) -- elements that make it regular, anywhere
                local D = S.random(key, n, n, { density = density, dtype = "f64" }):toarray() - 0.25
                D = np.where(np.random.uniform(key, { n, n }):lt(density), D, 0)
                    + np.eye(n, { dtype = "f64" })[order] * (1 + density * n)
                local b = np.random.normal(key, { n, k }, { dtype = "f64" })
                local expected = np.linalg.solve(D, b)
                for _, format in ipairs { "csr", "csc", "coo" } do
                    for _, A in ipairs { S[format .. "_array"](D), doubled(D, format) } do
                        local what = ("%s of %d rows, density %g"):format(format, n, density)
                        local x = S.spsolve(A, b)
                        check.ok(farthest(x, expected) < 1e-11 * n, what)
                        local one = S.spsolve(A, b[{ {}, k - 1 }])
                        check.equal(np.all(one:eq(x[{ {}, k - 1 }])):item(), true, what .. ": columns are independent")
                        local turned = S.splu(A):solve(b, { trans = "T" })
                        check.ok(farthest(turned, np.linalg.solve(D.T, b)) < 1e-11 * n, what .. ", transposed")
                    end
                end
            end
        end,
        ["np.sparse.spsolve: no rows, no columns, integers, numbers in tables, other dtypes"] = function()
            check.equal(S.spsolve(S.csr_array { shape = { 0, 0 } }, np.zeros { 0 }).shape, { 0 })
            check.equal(S.spsolve(S.eye(2), np.zeros { 2, 0 }).shape, { 2, 0 })
            local x = S.spsolve(S.csr_array(np.array({ { 2, 0 }, { 0, 4 } }, { dtype = "i32" })), { 1, 2 })
            check.equal({ x.dtype, x:totable() }, { "f32", { 0.5, 0.5 } })
            check.equal(S.spsolve(S.eye(2), np.ones({ 2 }, { dtype = "f64" })).dtype, "f64")
            check.equal(S.spsolve(S.eye(2), np.ones({ 2 }, { dtype = "c64" })).dtype, "c64")
            local nan = S.spsolve(S.eye(2), np.array { { np.nan, 1 }, { 1, 2 } })
            check.equal({ nan[{ 0, 1 }]:item(), nan[{ 1, 1 }]:item() }, { 1, 2 }, "NaN stays in its column")
        end,
        ["np.sparse.spsolve: a batch of matrices, of which one may be singular"] = function()
            local A = S.csr_array { { 2, 1 }, { 0, 4 } }
            local function of_data(d, b)
                return S.spsolve(S.csr_array { data = d, indices = A.indices, indptr = A.indptr, shape = A.shape }, b)
            end
            local d = np.array { { 2, 1, 4 }, { 1, 0, 1 }, { 4, 4, 2 } }
            check.equal(np.vmap(of_data, { in_axes = { 0, nil } })(d, np.array { 4, 8 }):totable(),
                        { { 1, 2 }, { 4, 8 }, { -3, 4 } })
            local broken = d:at { 1, 2 }:set(0)
            check.raises(function()
                np.wait(np.vmap(of_data, { in_axes = { 0, nil } })(broken, np.ones(2)))
            end, "the matrix 1 of 3 is singular: row 1 depends on others")
        end,
        ["np.sparse.spsolve: what fails does not fail its neighbours"] = function()
            local bad = S.spsolve(S.csr_array { { 1, 1 }, { 1, 1 } }, np.ones(2))
            local after, other = bad + 1, np.ones(2) * 2
            check.raises(function() after:totable() end, "singular")
            check.equal(other:totable(), { 2, 2 })
            check.equal(S.spsolve(S.eye(2), np.ones(2)):totable(), { 1, 1 })
        end,
        ["np.sparse.spsolve: second derivatives, by elements and right sides"] = function()
            local d, b = np.array({ 0.5, 0.1, 0.2, 0.3, 0.4, 0.2, 0.1, 0.3 }, { dtype = "f64" }),
                np.array({ 1, 2, 3, 4 }, { dtype = "f64" })
            local function twice(solve)
                return np.grad(function(e)
                    return (np.grad(function(c) return (solve(matrix(c), b * c[0]) ^ 2):sum() end)(e) ^ 2):sum()
                end)(d)
            end
            local expected = twice(function(A, side) return np.linalg.solve(A:toarray(), side) end)
            check.ok(farthest(twice(S.spsolve), expected) < 1e-12 * (1 + np.abs(expected):max():item()))
        end,
    },
})

contract("np.sparse.splu", with {
    options = { {}, { trans = "T" }, { trans = "H" } }, oracle = "direct_solution(o, d, b)",
    call = function(f, o, d, b) return f(matrix(d, "csc")):solve(b, o) end,
    refuses = (function()
        local list = refused(function(A, b) return S.splu(A):solve(b) end)
        list[#list + 1] = { "singular", function() S.splu(S.csr_array { { 1, 1 }, { 1, 1 } }) end }
        list[#list + 1] = { 'option \'trans\' must be "N", "T" or "H", got the string "X"', function()
            S.splu(S.eye(2)):solve(np.ones(2), { trans = "X" })
        end }
        list[#list + 1] = { "lu has no 'solv'; did you mean lu.solve", function() return S.splu(S.eye(2)).solv end }
        list[#list + 1] = { "expected a factorization in front of it", function()
            S.splu(S.eye(2)).solve(np.ones(2))
        end }
        return list
    end)(),
    also = {
        ["np.sparse.splu: as a value"] = function()
            local lu = S.splu(S.csr_array { { 2, 1 }, { 0, 4 } })
            check.equal({ tostring(lu), lu.shape[1], lu.shape[2], lu.dtype },
                        { "LU factorization, splu(csr_array(2, 2))", 2, 2, "f32" })
            local solve = np.jit(function(f, b) return f:solve(b) end)
            check.equal(solve(lu, np.array { 4, 8 }):totable(), { 1, 2 })
            check.equal(solve(S.splu(S.csr_array { { 1, 1 }, { 0, 2 } }), np.array { 4, 8 }):totable(), { 0, 4 })
            local slope = np.grad(function(f) return f:solve(np.array { 4, 8 }):sum() end)(lu)
            check.equal(slope.A:toarray():totable(), { { -0.5, -1 }, { 0, -0.25 } })
        end,
        ["np.sparse.splu: more matrices than are kept, used in turns"] = function()
            local list = {}
            for k = 1, 12 do list[k] = S.splu(S.csr_array { { k, 1 }, { 0, 2 } }) end
            for _ = 1, 2 do
                for k = 1, 12 do check.equal(list[k]:solve(np.array { k + 1, 2 }):totable(), { 1, 1 }) end
            end
        end,
    },
})

--- The matrix of which lu is the factorization, dense, from L, U and the orders; checks the forms of these.
local function put_together(lu, what)
    local n, L, U = lu.shape[1], lu.L:toarray(), lu.U:toarray()
    check.equal({ lu.L.format, lu.U.format, lu.L.dtype, lu.U.dtype, lu.perm_r.dtype, lu.perm_c.dtype },
                { "csc", "csc", lu.dtype, lu.dtype, "i32", "i32" }, what)
    check.equal(np.all(np.tril(L):eq(L)):item(), true, what .. ": L has nothing above its diagonal")
    check.equal(np.all(np.triu(U):eq(U)):item(), true, what .. ": U has nothing below its diagonal")
    check.equal(np.all(np.diagonal(L):eq(1)):item(), true, what .. ": L has ones on its diagonal")
    for _, order in ipairs { lu.perm_r, lu.perm_c } do
        check.equal(np.sort(order):totable(), np.arange(n):totable(), what .. ": an order")
    end
    for _, T in ipairs { lu.L, lu.U } do
        local keys = np.repeat_(np.arange(n), np.diff(T.indptr)) * n + T.indices
        check.ok(n < 2 or np.all(np.diff(keys):gt(0)):item(), what .. ": rows are in order")
    end
    return lu.L:dot(U)[lu.perm_r][{ {}, lu.perm_c }]
end

contract("lu.L", {
    args = { common.args[1] }, shapes = { { { 8 } } }, accepts = common.accepts, gives = "same", special = false,
    within = { f64 = "mixed 1e-14", f32 = "mixed 1e-6", f16 = "mixed 1e-2", c128 = "mixed 1e-14" },
    call = function(_, o, d) return put_together(S.splu(matrix(d, "csc"), next(o) and o), "L U") end,
    oracle = "direct_product(d)",
    waits = function() return true end,
    without = { special = common.without.special, sizes = common.without.sizes,
                derivatives = "factors have none: an error says so", points = "factors have no derivatives" },
    refuses = {
        { "factors L and U of a sparse matrix have no derivative", function()
            np.grad(function(d) return S.splu(matrix(d)).L.data:sum() end)(np.full({ 8 }, 0.5))
        end },
        { "factors L and U of a sparse matrix have no derivative", function()
            np.jvp(function(d) return S.splu(matrix(d)).U.data end, { np.full({ 8 }, 0.5) }, { np.ones(8) })
        end },
        { "how many elements the factors have is not known while tracing", function()
            np.jit(function(d) return S.splu(matrix(d)).L.data end)(np.full({ 8 }, 0.5))
        end },
    },
    also = {
        ["lu.L: factors of random matrices make these again"] = function()
            local random = seeds.generator(23)
            local key = np.random.key(random(1000))
            for _, case in ipairs { { 1, 1 }, { 2, 0.5 }, { 17, 0.2 }, { 60, 0.05 }, { 60, 1 }, { 200, 0.01 } } do
                local n, density = unpack(case)
                key = np.random.fold_in(key, n)
                for _, dtype in ipairs { "f64", "c128" } do
                    local D = np.where(np.random.uniform(key, { n, n }):lt(density),
                                       np.random.normal(key, { n, n }, { dtype = "f64" }), 0):astype(dtype)
                    if dtype == "c128" then D = D * np.complex(0.5, -2) end
                    D = D + np.eye(n, { dtype = "f64" })[np.random.permutation(key, n)] * (1 + density * n)
                    D = D * (10 ^ np.linspace(-6, 6, n, { dtype = "f64" })):reshape(n, 1) -- rows of any size
                    for _, A in ipairs { S.csr_array(D), S.coo_array(D), doubled(D, "csc") } do
                        local what = ("%s of %d rows, density %g, %s"):format(A.format, n, density, dtype)
                        local lu = S.splu(A)
                        local most = np.abs(lu.L:toarray()):matmul(np.abs(lu.U:toarray()))[lu.perm_r][{ {}, lu.perm_c }]
                        local off = np.abs(put_together(lu, what) - D) / np.maximum(most, 1e-300)
                        check.ok(off:max():item() < 4e-16 * n + 4e-15, what)
                    end
                end
            end
        end,
        ["lu.L: no rows; what is asked twice is made once"] = function()
            local none = S.splu(S.csr_array { shape = { 0, 0 } })
            check.equal({ none.L.shape[1], none.U.nnz, none.perm_r.size, none.perm_c.size }, { 0, 0, 0, 0 })
            local lu = S.splu(S.eye(3))
            check.ok(rawequal(lu.L, lu.L) and rawequal(lu.perm_r, lu.perm_r))
        end,
    },
})

contract("np.sparse.factorized", with {
    call = function(f, o, d, b) return f(matrix(d), next(o) and o)(b) end, oracle = "direct_solution(o, d, b)",
    refuses = refused(function(A, b) return S.factorized(A)(b) end),
})

finish()
