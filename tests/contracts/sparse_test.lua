--- sparse_test.lua: contracts of np.sparse (tests/lib/contracts.lua).
-- (release build only)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere, held = require "tests.lib.contracts" "sparse"

local S = np.sparse

elsewhere("np.sparse", "tests/contracts/sparse_test.lua", "the table of the functions that this file holds")
elsewhere([[sparse.dot sparse.matmul sparse.multiply sparse.power sparse.sum sparse.mean sparse.diagonal sparse.trace
            sparse.toarray sparse.todense sparse.tocsr sparse.tocsc sparse.tocoo sparse.transpose sparse.astype
            sparse.index sparse.T sparse.shape sparse.ndim sparse.dtype sparse.nnz sparse.format]],
          "tests/contracts/sparse_test.lua", "methods and fields of sparse arrays, which the contracts of functions "
          .. "that make sparse arrays call, and tests by name")

local FLOATS = "f64 f32 halves c128 i32"
local NEAR = { f64 = "mixed 1e-13", f32 = "mixed 1e-5", f16 = "mixed 1e-2", bf16 = "mixed 8e-2", c128 = "mixed 1e-13" }
local FIXED = "the shape of a sparse array is fixed"
local MIXED_ORDER = "infinities and NaN meet other terms in dense products: a test of its own has them"

local function ints(list) return np.array(list, { dtype = "i32" }) end

-- ---- Making and using them ------------------------------------------------------------------------------------------

-- Five rows of four columns: a row without elements, one whose columns are not in order, two elements of one place.
local PARTS = {
    csr = { indices = ints { 0, 3, 1, 1, 2, 3, 0 }, indptr = ints { 0, 2, 3, 3, 6, 7 }, shape = { 5, 4 } },
    csc = { indices = ints { 0, 3, 1, 1, 2, 3, 0 }, indptr = ints { 0, 2, 3, 3, 6, 7 }, shape = { 4, 5 } },
    coo = { row = ints { 4, 0, 0, 3, 0, 2, 4 }, col = ints { 1, 3, 0, 2, 3, 1, 0 }, shape = { 5, 4 } },
}

local function made(format, data, options)
    local parts = { data = data }
    for key, part in pairs(PARTS[format]) do parts[key] = part end
    return S[format .. "_array"](parts, options)
end

--- An error of a table of parts, and the table.
local function bad(text, parts, format)
    return { text, function() S[(format or "csr") .. "_array"](parts) end }
end

local REFUSES = {
    csr = {
        bad("field 'indices' has 3", { data = { 1 }, indices = { 3 }, indptr = { 0, 1 }, shape = { 1, 3 } }),
        bad("field 'indices' has %-1", { data = { 1 }, indices = { -1 }, indptr = { 0, 1 }, shape = { 1, 3 } }),
        bad("it goes from 0 to 2", { data = { 1 }, indices = { 0 }, indptr = { 0, 2 }, shape = { 1, 3 } }),
        bad("'indptr' must not fall",
            { data = { 1, 2 }, indices = { 0, 1 }, indptr = { 0, 2, 1, 2 }, shape = { 3, 3 } }),
        bad("'indptr' must have 3 elements for 2 rows, got 2",
            { data = { 1 }, indices = { 0 }, indptr = { 0, 1 }, shape = { 2, 3 } }),
        bad("'data' and 'indices' must be of one length, got 2 and 1",
            { data = { 1, 2 }, indices = { 0 }, indptr = { 0, 1 }, shape = { 1, 3 } }),
        bad("has no field 'indptr'", { data = { 1 }, indices = { 0 }, shape = { 1, 3 } }),
        bad("has a field 'col'", { data = { 1 }, row = { 0 }, col = { 0 }, shape = { 1, 3 } }),
        bad("field 'indices' must be integers, got dtype f32",
            { data = { 1 }, indices = np.ones { 1 }, indptr = { 0, 1 }, shape = { 1, 3 } }),
        bad("option 'shape' must be a table of two integers", { data = { 1 }, indices = { 0 }, indptr = { 0, 1 },
                                                                shape = 3 }),
        { "must have 2 axes, got shape %(3,%)", function() S.csr_array(np.ones { 3 }) end },
        { "got nothing", function() S.csr_array() end },
        { "not known while tracing", function() np.jit(function(x) return S.csr_array(x):dot(x) end)(np.eye(2)) end },
        { "the shape is not known while tracing", function()
            np.jit(function(p) return S.csr_array { data = p, indices = p, indptr = p }.data end)(ints { 0, 1 })
        end },
        { "2 columns times 3 rows", function() S.eye(2):dot(np.ones { 3 }) end },
        { "2 columns times 3 rows", function() S.eye(2):dot(S.eye(3)) end },
        { "x%) must have 1 or 2 axes", function() S.eye(2):dot(np.ones { 2, 2, 2 }) end },
        { "got the number 2", function() S.eye(2):dot(2) end },
        { "A:toarray%(%) makes a dense one", function() return np.ones { 2 } + S.eye(2) end },
        { "is added to sparse arrays, got the number 1", function() return S.eye(2) + 1 end },
        { "shapes %(2, 2%) and %(3, 3%) differ", function() return S.eye(2) + S.eye(3) end },
        { "does not broadcast to %(2, 2%)", function() return S.eye(2) * np.ones { 3 } end },
        { "a number above 0", function() S.eye(2):power(0) end },
        { "is divided by numbers and dense arrays", function() return S.eye(2) / S.eye(2) end },
        { "from %-2 to 1", function() return S.eye(2)[2] end },
        { "row 2 is out of range", function() return S.eye(2)[ints { 0, 2 }] end },
        { "csr_array has no 'sums'", function() return S.eye(2).sums end },
        { "option 'axis'", function() S.eye(2):sum { axis = 2 } end },
        { "must be a sparse array, got an array", function() S.eye(2).dot(np.eye(2), np.eye(2)) end },
    },
    csc = { bad("field 'indices' has 2",
                { data = { 1 }, indices = { 2 }, indptr = { 0, 1 }, shape = { 2, 1 } }, "csc") },
    coo = { bad("field 'row' has %-1", { data = { 1 }, row = { -1 }, col = { 0 } }, "coo"),
            bad("field 'col' has 2; it counts from 0, and there are 2 columns",
                { data = { 1 }, row = { 0 }, col = { 2 }, shape = { 1, 2 } }, "coo"),
            bad("'data' and 'col' must be of one length", { data = { 1 }, row = { 0 }, col = { 2, 1 } }, "coo"),
            { "depends on where elements are stored", function()
                np.jit(function(A) return A:tocsr():dot(np.ones { 4 }) end)(made("coo", np.ones { 7 }))
            end } },
}

for format in pairs(PARTS) do
    of("np.sparse." .. format .. "_array", {
        args = { { "d", table = false }, "x", "y" }, accepts = FLOATS, gives = "same", within = NEAR,
        shapes = { { { 7 }, { 4 }, { 5 } }, { { 7 }, { 4, 2 }, { 5, 2 } } },
        unseen = { dtype = "a test of its own casts" },
        call = function(_, o, d, x, y)
            local A = made(format, d, o)
            if format == "csc" then A = A.T end
            local is_matrix = np.is_array(x) and x.ndim == 2 or type(x) == "table" and type(x[1]) == "table"
            local more = is_matrix and A:toarray() or A:multiply(x):toarray()
            return A:dot(x), A.T:dot(y), A:toarray(), A:sum { axis = 0 }, more, A:diagonal()
        end,
        oracle = ("facts(%q, d, x, y)"):format(format),
        without = { special = MIXED_ORDER, sizes = FIXED },
        refuses = REFUSES[format],
    })
end

-- ---- Matrices of a form ---------------------------------------------------------------------------------------------

--- A contract of one that is made without arrays, times an array of its shape.
local function filled(name, dims, options, oracle, refuses)
    of("np.sparse." .. name, {
        args = { "x" }, shapes = { { dims } }, accepts = "f64 i32", gives = "same", within = "exact",
        options = options,
        call = function(f, o, x)
            local given = { dtype = x.dtype }
            for key, item in pairs(o) do given[key] = item end
            return f(dims[1], dims[2], given):multiply(x):toarray()
        end,
        unseen = { dtype = "each call gives it" },
        oracle = oracle, without = { special = MIXED_ORDER, sizes = FIXED }, refuses = refuses,
    })
end

filled("eye", { 3, 4 }, { {}, { k = 1 }, { k = -2, format = "csc" }, { k = 3, format = "coo" } },
       "np.where(scipy.sparse.eye_array(3, 4, k=o.get('k', 0)).toarray(), x, 0)", {
    { "from 0 to 2147483647, got the number %-1", function() S.eye(-1) end },
    { "option 'format' must be", function() S.eye(2, { format = "bsr" }) end },
    { "option 'dtype' must be", function() S.eye(2, { dtype = "f99" }) end },
})

of("np.sparse.diags", {
    args = { "d", "e" }, shapes = { { { 3 }, { 2 } } }, accepts = FLOATS, gives = "same", within = "exact",
    options = { { offsets = { 0, -1 } }, { offsets = { -1, 2 }, shape = { 4, 4 }, format = "csc" } },
    unseen = { dtype = "a test of its own casts" },
    call = function(f, o, d, e) return f({ d, e }, o):toarray() end,
    oracle = "scipy.sparse.diags_array([d, e], offsets=o['offsets'], shape=o.get('shape')).toarray()",
    without = { special = MIXED_ORDER, sizes = FIXED },
    refuses = {
        { "2 diagonals with 1 offsets", function() S.diags({ 1, 2 }, { offsets = { 0 } }) end },
        { "two diagonals with the offset 1", function() S.diags({ 1, 2 }, { offsets = { 1, 1 } }) end },
        { "has 3 elements, and 2 places", function() S.diags(np.ones(3), { shape = { 2, 2 } }) end },
        { "diagonal 1 must be a 1%-d array, a table or a number", function() S.diags(np.ones { 2, 2 }) end },
        { "a 1%-d array, or a table of diagonals", function() S.diags(3) end },
    },
})

--- Two small matrices of data.
local function pair(d, e)
    return S.csr_array { data = d, indices = { 0, 2, 1 }, indptr = { 0, 2, 3 }, shape = { 2, 3 } },
        S.csr_array { data = e, indices = { 1, 0 }, indptr = { 0, 1, 2 }, shape = { 2, 2 } }
end

local A_OF = "scipy.sparse.csr_array((d, [0, 2, 1], [0, 2, 3]), shape=(2, 3))"
local B_OF = "scipy.sparse.csr_array((e, [1, 0], [0, 1, 2]), shape=(2, 2))"

--- A contract of a function of two matrices.
local function joins(name, options, call, oracle, refuses)
    of("np.sparse." .. name, {
        args = { "d", "e" }, shapes = { { { 3 }, { 2 } } }, accepts = FLOATS,
        gives = "same", within = { f16 = "ulp 1", bf16 = "ulp 1", c128 = "ulp 2" }, options = options,
        call = function(f, o, d, e)
            local A, B = pair(d, e)
            return call(f, o, A, B):toarray()
        end,
        oracle = ("scipy.sparse." .. oracle):gsub("%f[%w]A%f[%W]", A_OF):gsub("%f[%w]B%f[%W]", B_OF),
        without = { special = MIXED_ORDER, sizes = FIXED, numbers = "what is joined are sparse arrays" },
        refuses = refuses,
    })
end

local FORMATS = { {}, { format = "csc" }, { format = "coo" } }
joins("kron", FORMATS, function(f, o, A, B) return f(A, B, o) end, "kron(A, B).toarray()", {
    { "argument 2 must be a 2%-d array", function() S.kron(S.eye(2), 3) end },
})
joins("block_diag", FORMATS, function(f, o, A, B) return f({ A, B }, o) end, "block_diag([A, B]).toarray()", {
    { "a table of sparse or dense arrays", function() S.block_diag(S.eye(2)) end },
})
joins("vstack", FORMATS, function(f, o, A, B) return f({ A.T, B }, o) end, "vstack([A.T, B]).toarray()", {
    { "block 2 of shape %(3, 3%) does not fit block 1 of shape %(2, 2%)", function()
        S.vstack { S.eye(2), S.eye(3) }
    end },
})
joins("hstack", FORMATS, function(f, o, A, B) return f({ A, B }, o) end, "hstack([A, B]).toarray()", {
    { "block 2 of shape %(3, 3%) does not fit", function() S.hstack { S.eye(2), S.eye(3) } end },
})

held("np.sparse.random", "as many different places as the density says", {
    places = function()
        for _, case in ipairs { { 7, 9, 0 }, { 7, 9, 1 }, { 7, 9, 0.5 }, { 1000, 1000, 0.001 }, { 0, 3, 0.5 } } do
            local m, n, density = unpack(case)
            local A = S.random(np.random.key(3), m, n, { density = density, format = "coo", dtype = "f64" })
            local keys = np.unique(np.astype(A.row, "i64") * n + A.col)
            check.equal({ A.nnz, keys.size, A.dtype }, { math.floor(density * m * n + 0.5), A.nnz, "f64" })
            check.equal(np.all(np.logical_and(A.data:ge(0), A.data:lt(1))):item(), true)
        end
    end,
    again = function()
        local A, B = S.random(np.random.key(3), 50, 60), S.random(np.random.key(3), 50, 60)
        check.equal(A:toarray():totable(), B:toarray():totable())
    end,
    refuses = function()
        check.raises(function() S.random(np.random.key(1), 2, 2, { density = 2 }) end, "a number from 0 to 1")
        check.raises(function() S.random(np.random.key(1), 2, 2, { dtype = "i32" }) end, "that of floats")
    end,
})

held("np.sparse.issparse", "true of sparse arrays alone", {
    kinds = function()
        check.equal({ S.issparse(S.eye(2)), S.issparse(np.eye(2)), S.issparse {}, S.issparse(3), S.issparse(nil) },
                    { true, false, false, false, false })
    end,
})

-- ---- Tests by name --------------------------------------------------------------------------------------------------

local DENSE = { { 0, 2, 0, 1 }, { 3, 0, 0, 0 }, { 0, 0, 0, 0 }, { 4, 0, 5, 6 } }

check.test("formats become each other, and dense arrays", function()
    for _, from in ipairs { "csr", "csc", "coo" } do
        local A = S[from .. "_array"](DENSE, { dtype = "f64" })
        check.equal({ A.format, A.nnz, A.dtype, A.ndim, A.shape[2] }, { from, 6, "f64", 2, 4 })
        for _, to in ipairs { "csr", "csc", "coo" } do
            local B = A["to" .. to](A)
            check.equal(B.format, to)
            check.equal(B:toarray():totable(), DENSE, from .. " to " .. to)
            check.equal(B.T:toarray():totable(), np.array(DENSE).T:totable())
            check.equal(S[to .. "_array"](A, { dtype = "i32" }):todense():totable(), DENSE)
        end
    end
    local none = S.csr_array { shape = { 2, 3 } }
    check.equal(none:tocsc():tocoo():tocsr():toarray():totable(), { { 0, 0, 0 }, { 0, 0, 0 } })
    check.equal((none + none):dot(np.ones(3)):totable(), { 0, 0 })
    check.equal(none:dot(S.eye(3)).nnz, 0)
    check.equal({ none:sum():item(), none:tocoo():dot(np.ones(3)):totable() }, { 0, { 0, 0 } })
end)

check.test("rows, sums, products of sparse arrays", function()
    for _, format in ipairs { "csr", "csc", "coo" } do
        local A, D = S[format .. "_array"](DENSE), np.array(DENSE)
        check.equal(A[-1]:toarray():totable(), { DENSE[4] })
        check.equal(A[2].nnz, 0)
        check.equal(A[{ { 1, 3 } }]:toarray():totable(), { DENSE[2], DENSE[3] })
        check.equal(A[{ { nil, nil, -1 } }]:toarray():totable(), { DENSE[4], DENSE[3], DENSE[2], DENSE[1] })
        check.equal(A[ints { 3, 0, -1 }]:toarray():totable(), { DENSE[4], DENSE[1], DENSE[4] })
        check.equal(A[np.array { true, false, false, true }]:toarray():totable(), { DENSE[1], DENSE[4] })
        check.equal((A + A.T):toarray():totable(), (D + D.T):totable())
        check.equal((A - A.T * 2):toarray():totable(), (D - D.T * 2):totable())
        check.equal((A * A.T):toarray():totable(), (D * D.T):totable())
        check.equal((-A / -2):toarray():totable(), (D / 2):totable())
        check.equal((A / np.array { { 1 }, { 2 }, { 4 }, { 8 } }):toarray():totable(),
                    (D / np.array { { 1 }, { 2 }, { 4 }, { 8 } }):totable())
        check.equal(A:dot(A.T):toarray():totable(), D:dot(D.T):totable())
        check.equal(A:matmul(D):totable(), D:dot(D):totable())
        check.equal({ A:sum():item(), A:mean():item(), A:trace():item() }, { 21, 21 / 16, 6 })
        check.equal({ A:sum(1):totable(), A:mean(-1):totable() }, { D:sum(1):totable(), D:mean(1):totable() })
        check.equal(A:power(2):toarray():totable(), (D * D):totable())
    end
end)

check.test("elements of one place are added up in order; programs leave out columns out of range", function()
    local parts = { data = np.array { 1e8, 1, -1e8 }, row = ints { 0, 0, 0 }, col = ints { 1, 1, 1 }, shape = { 1, 2 } }
    local A = S.coo_array(parts)
    check.equal({ A:tocsr().nnz, A:tocsr().data:item(), A:dot(np.ones(2)):item() }, { 1, 0, 0 })
    local f = np.jit(function(indices)
        return S.csr_array { data = np.ones(3), indices = indices, indptr = ints { 0, 2, 3 }, shape = { 2, 2 } }
            :dot(np.array { 1, 10 })
    end)
    check.equal(f(ints { 0, 1, 0 }):totable(), { 11, 1 })
    check.equal(f(ints { 5, 1, -1 }):totable(), { 10, 0 })
end)

-- ---- Sums and products of sparse arrays -----------------------------------------------------------------------------

--- A csr_array of whole numbers whose rows have columns in any order, and some of them twice.
local function scrambled(seed, rows, columns, count, dtype)
    local key = np.random.key(seed)
    count = rows * columns > 0 and count or 0
    local row = np.sort(np.random.randint(key, { count }, 0, math.max(rows, 1)))
    local data = np.astype(np.random.randint(np.random.fold_in(key, 1), { count }, -3, 4), dtype)
    if dtype == "c128" then data = data * np.array({ np.complex(1, 2) }, { dtype = dtype }) end
    return S.csr_array { data = data, shape = { rows, columns },
                         indices = np.random.randint(np.random.fold_in(key, 2), { count }, 0, math.max(columns, 1)),
                         indptr = np.searchsorted(row, np.arange(rows + 1)) }
end

--- Whether the elements are those of a dense array, and the columns of each row are in order and different.
local function check_is(A, dense, what)
    check.equal(A:toarray():totable(), dense:totable(), what)
    check.equal({ A.indices.size, A.indptr.size, A.dtype }, { A.nnz, A.shape[1] + 1, dense.dtype }, what)
    local coo = A:tocoo()
    local keys = np.astype(coo.row, "i64") * math.max(A.shape[2], 1) + coo.col
    check.ok(A.nnz == 0 or np.all(np.greater(np.diff(keys), 0)):item(), what)
end

check.test("random sums and products of sparse arrays are those of dense ones", function()
    local sizes = { { 5, 7, 6 }, { 1, 64, 65 }, { 40, 30, 130 }, { 3, 2, 5000 }, { 0, 3, 2 }, { 3, 0, 2 }, { 2, 3, 0 } }
    for k = 1, 28 do
        local m, n, p = unpack(sizes[k % #sizes + 1])
        local dtype = ({ "f64", "i32", "f32", "c128", "u8" })[k % 5 + 1]
        local A, B = scrambled(k, m, n, 2 * n + m, dtype), scrambled(k + 100, n, p, 3 * n, dtype)
        local C = scrambled(k + 200, m, n, n + 1, dtype)
        local what = ("%d: (%d, %d) and (%d, %d), %s"):format(k, m, n, n, p, dtype)
        local a, b, c = A:toarray(), B:toarray(), C:toarray()
        check_is(A:dot(B), np.matmul(a, b), what)
        check_is(A:tocsc():dot(B:tocoo()), np.matmul(a, b), what)
        check_is(A + C, a + c, what)
        check_is(A - C:tocsc(), a - c, what)
        check_is((A:tocsc() + C).T, (a + c).T, what)
        check.equal((A + C:tocoo()):toarray():totable(), (a + c):totable(), what)
        check.equal(A:tocsc():toarray():totable(), a:totable(), what)
        check.equal(A.T:tocsr():tocsc().T:toarray():totable(), a:totable(), what)
    end
end)

check.test("sums and products of sparse arrays add in the order of the elements", function()
    local function row(data, indices)
        return S.csr_array { data = data, indices = indices, indptr = { 0, #indices }, shape = { 1, 3 } }
    end
    local big = S.csr_array { { 1e8 }, { 1 }, { -1e8 } }
    check.equal(row({ 1, 1, 1 }, { 0, 1, 2 }):dot(big).data:totable(), { 0 })
    check.equal(row({ 1, 1, 1 }, { 0, 2, 1 }):dot(big).data:totable(), { 1 })
    check.equal((row({ 1e8, 1 }, { 2, 2 }) + row({ -1e8 }, { 2 })).data:totable(), { 0 })
    check.equal((row({ 1e8 }, { 2 }) - row({ 1e8, -1 }, { 2, 2 })).data:totable(), { 1 })
end)

check.test("rows of sums and products are the same bits, however many there are", function()
    local A = S.random(np.random.key(1), 4000, 3000, { density = 0.004 })
    local B = S.random(np.random.key(2), 3000, 2000, { density = 0.01 })
    local C = S.random(np.random.key(3), 4000, 3000, { density = 0.01 })
    local product, sum = A:dot(B), A + C
    for _, first in ipairs { 0, 1600, 3900 } do
        local rows = { { first, first + 100 } }
        check.equal(A[rows]:dot(B).data:totable(), product[rows].data:totable())
        check.equal((A[rows] + C[rows]).data:totable(), sum[rows].data:totable())
        check.equal((A[rows] + C[rows]).indices:totable(), sum[rows].indices:totable())
    end
    local turned = A:tocsc()
    check.equal(turned.indices:totable(), np.take(A:tocoo().row, np.argsort(A.indices)):totable())
    check.equal(turned.data:totable(), np.take(A.data, np.argsort(A.indices)):totable())
end)

check.test("far more columns than elements need no scratch of their number", function()
    local last = 2 ^ 31 - 2
    local function row(data, indices)
        return S.csr_array { data = data, indices = indices, indptr = { 0, #indices }, shape = { 1, last + 1 } }
    end
    local A, B = row({ 1, 2, 3 }, { last, 5, 0 }), row({ 10, 20 }, { 5, 9 })
    check.equal({ (A + B).data:totable(), (A + B).indices:totable() }, { { 3, 12, 20, 1 }, { 0, 5, 9, last } })
    local P = S.csr_array({ { 2 } }):dot(A)
    check.equal({ P.data:totable(), P.indices:totable(), P.shape[2] }, { { 6, 4, 2 }, { 0, 5, last }, last + 1 })
end)

check.test("derivatives and batches of sums and products of sparse arrays", function()
    local A, B = scrambled(7, 6, 5, 14, "f64"), scrambled(8, 5, 4, 9, "f64")
    local C = scrambled(9, 6, 5, 11, "f64")
    local function energy(f) return function(...) return (f(...) ^ 2 * np.arange(1, 7):reshape(6, 1)):sum() end end
    local function dense(X) return X:toarray() end
    local cases = {
        { function(X, Y) return dense(X:dot(Y)) end, function(X, Y) return np.matmul(dense(X), dense(Y)) end, B },
        { function(X, Y) return dense(X - Y) end, function(X, Y) return dense(X) - dense(Y) end, C },
        { function(X, Y) return dense(X:tocsc() + Y) end, function(X, Y) return dense(X) + dense(Y) end, C },
    }
    for _, case in ipairs(cases) do
        local f, g, other = unpack(case)
        local da, db = np.grad(energy(f), { argnums = { 1, 2 } })(A, other)
        local ea, eb = np.grad(energy(g), { argnums = { 1, 2 } })(A, other)
        check.equal({ da.data:totable(), db.data:totable() }, { ea.data:totable(), eb.data:totable() })
        local function of_data(x, h)
            return h(S.csr_array { data = x, indices = A.indices, indptr = A.indptr, shape = A.shape }, other)
        end
        local many = np.stack { A.data, A.data * 2, A.data * -1 }
        check.equal(np.vmap(function(x) return of_data(x, f) end)(many):totable(),
                    np.vmap(function(x) return of_data(x, g) end)(many):totable())
        check.equal(np.jit(function(x) return of_data(x, f) end)(A.data):totable(), g(A, other):totable())
    end
end)

check.test("only stored elements meet infinities and NaN", function()
    local A = S.csr_array { { 1, 0 }, { 0, 2 } }
    check.equal(A:dot(np.array { np.inf, 1 }):totable(), { math.huge, 2 })
    check.ok(np.isnan(A:dot(np.array { np.nan, 1 })[0]):item())
end)

check.test("a sparse array is a tree for transforms", function()
    local A, x = S.csr_array(DENSE), np.array { 1, 2, 3, 4 }
    local calls = 0
    local f = np.jit(function(B, y)
        calls = calls + 1
        return B * 2, B:dot(y)
    end)
    local twice, y = f(A, x)
    check.equal({ S.issparse(twice), twice.format, twice.shape[1] }, { true, "csr", 4 })
    check.equal({ twice:toarray():totable(), y:totable() }, { (A * 2):toarray():totable(), A:dot(x):totable() })
    f(A * 3, x)
    check.equal(calls, 1, "another one of the same form needs no recording")
    f(S.csr_array { data = A.data, indices = A.indices, indptr = A.indptr, shape = { 4, 5 } }, np.ones(5))
    f(A.T, x)
    check.equal(calls, 3, "another shape or format does")
    local g = np.grad(function(B) return (B:dot(x) ^ 2):sum() end)(A)
    check.equal(g.data:totable(), np.grad(function(d)
        return (S.csr_array { data = d, indices = A.indices, indptr = A.indptr, shape = { 4, 4 } }:dot(x) ^ 2):sum()
    end)(A.data):totable())
    check.equal({ g.format, g.indices:totable() }, { "csr", A.indices:totable() })
    local _, back = np.vjp(function(B) return B:dot(x) end, A)
    check.equal(back(np.ones(4)).data:totable(), np.take(x, A.indices):totable())
    local _, moved = np.jvp(function(B) return B:dot(x) end, { A }, { A })
    check.equal(moved:totable(), A:dot(x):totable())
    check.equal(np.vmap(function(z) return A:dot(z) end)(np.eye(4)):totable(), A.T:toarray():totable())
    check.equal(np.tree.map(function(p) return p end, A):dot(x):totable(), A:dot(x):totable())
    check.equal({ #np.tree.leaves(A), np.tree.size { A } }, { 3, 6 + 6 + 5 })
    local last = np.fori_loop(0, 3, function(_, B) return B * 2 end, A)
    check.equal(last.data:totable(), (A.data * 8):totable())
    check.raises(function() np.trace(function(B) return B.data end)(A):save(os.tmpname()) end, "csr_array%(4, 4%)")
end)

check.test("a sparse array around a jitted function is guarded", function()
    local A = S.csr_array(DENSE)
    local f = np.jit(function(x) return A:dot(x), A.T:sum() end)
    local g = np.jit(function() return A.T:sum() * 1 end)
    check.equal({ (select(2, f(np.ones(4)))):item(), g():item() }, { 21, 21 })
    A = A * 2
    check.equal({ (select(2, f(np.ones(4)))):item(), g():item() }, { 42, 42 })
end)

check.test("the same bits on any number of workers and of instruction sets", function()
    local A = S.random(np.random.key(5), 3000, 2000, { density = 0.01 })
    local x, y = np.random.normal(np.random.key(6), { 2000 }), np.random.normal(np.random.key(7), { 3000, 3 })
    local first, second = A:dot(x), A.T:dot(y)
    -- The product by the transpose adds in the order of rows, as csc does when it is exchanged.
    local turned = A.T:tocsr()
    check.equal(np.all(turned:dot(y):eq(second)):item(), true)
    check.equal(np.all(A:tocsc():dot(x):eq(first)):item(), true)
end)

check.test("text", function()
    check.equal(tostring(S.coo_array { { 0, 2 } }), "coo_array of shape (1, 2), f32, 1 stored element\n  (0, 1)  2.0")
    local long = tostring(S.eye(20))
    check.ok(long:find("20 stored elements", 1, true) and long:find("\n  …\n", 1, true), long)
    np.jit(function(A)
        check.equal(tostring(A), "csr_array of shape (2, 2), f32(2,) (traced)")
        return A.data
    end)(S.eye(2))
end)

finish()
