--- batch_test.lua (under tsan with --long): every row under np.vmap against a Lua loop, bit for bit: with each
-- combination of batched inputs, along the first and the last axis, and with as many nodes and launches for two
-- examples as for a thousand.
--
-- Maps and reductions are called with inputs of several ranks; every other row has cases below, or stands in
-- ELSEWHERE. A row without either fails.
local check = require "tests.lib.check"
local values = require "tests.lib.values"
local core = require "neap.core"
local np = require "neap"

local SIZE, codes = 3, core.dtype_codes

-- Rows that have no inputs, or cannot be called by themselves: where they are tested.
local ELSEWHERE = {
    constant = "no inputs", placeholder = "no inputs", array = "no inputs", iota = "no inputs",
    marks_nonzero = "never batched: it is waited for", marks_changes = "never batched: it is waited for",
    places = "its input has values when it is recorded, so it is never batched",
    eig = "tests/golden/complex_linalg_test.lua",
    matrix_function = "tests/golden/complex_more_test.lua",
    sparse_solve = "tests/contracts/sparse_direct_test.lua, where its library is there",
    sparse_factor_places = "never batched: it is waited for", sparse_factors = "never batched: places are waited for",
    join = "only of blocks, where batched ops on meshed arrays are spread",
    callback = "tests/stdlib/vmap_test.lua", callback_part = "tests/stdlib/vmap_test.lua",
    check = "tests/stdlib/debug_check_test.lua",
}
for _, name in ipairs { "psum", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute" } do
    ELSEWHERE[name] = "tests/stdlib/collective_test.lua"
end
for _, name in ipairs { "axis_index", "bare", "enter", "exchange", "leave", "pcast", "pick", "pvary", "reshard" } do
    ELSEWHERE[name] = "tests/mesh/vmap_test.lua"
end
for _, name in ipairs { "call", "cond", "while_loop", "scan", "part" } do
    ELSEWHERE[name] = "tests/stdlib/vmap_control_test.lua"
end

local function record(row, attrs, ...)
    for k = 1, #attrs do core.attrs[k - 1] = attrs[k] end
    return core.recordn(row.id, { ... }, select("#", ...), #attrs)
end

-- ---- Inputs ---------------------------------------------------------------------------------------------------------

--- An input: dims of one example, dtype, and the range of its values.
local function input(dims, dtype, low, high)
    return { dims = dims, dtype = dtype or "f32", domain = { low or -3, high or 3 } }
end

--- An input for one example, or for n.
local function array(spec, n)
    local dims = { unpack(spec.dims) }
    if n then table.insert(dims, 1, n) end
    local x = values.array(spec, dims, spec.dtype)
    return spec.made and spec.made(x) or x
end

--- An input that is made(x) of drawn values x.
local function made(of, dims, dtype)
    local spec = input(dims, dtype)
    spec.made = of
    return spec
end

--- Whole numbers: then products are exact, however the library puts them together.
local function whole(dims, dtype) return made(np.floor, dims, dtype) end

local function square() return input { 3, 3 } end
local function factors() return made(function(x) return core.recordn(core.ids.lu, { x }, 1, 0) end, { 3, 3 }) end
local function definite()
    return made(function(x) return np.matmul(x, np.swapaxes(x, -1, -2)) + np.eye(3) end, { 3, 3 })
end

local function complex(dims) return made(function(x) return np.complex(x, x + 1) end, dims) end

local F32, F64 = core.dtype_codes.f32, core.dtype_codes.f64
local KEY = input({ 2 }, "u32", 0, 1000)

-- Four elements of a sparse matrix of two rows and three columns; some columns are out of range.
local PLACES, STARTS = input({ 4 }, "i32", -1, 3), made(np.sort, { 3 }, "i32")

-- ---- Cases: lists of { attributes, inputs… } ------------------------------------------------------------------------

local CASES = {
    alias = { { {}, input { 2, 3 } } },
    bitcast = {
        { { codes.u32 }, input { 2, 3 } }, { { codes.u8 }, input { 2 } }, { { codes.u16 }, input {} },
        { { codes.f32 }, input({ 3, 4 }, "u8", 0, 9) }, { { codes.f64 }, input({ 2 }, "i32") },
    },
    device_put = { { { 0 }, input { 2, 3 } }, { { -1 }, input {} } },
    transfer = { { { 0 }, input { 2, 3 } }, { { -1 }, input {} } },
    reshape = {
        { { 3, 2 }, input { 2, 3 } }, { { 1, 1 }, input {} }, { {}, input { 1 } }, { { 0, 5 }, input { 5, 0 } },
    },
    transpose = { { { 1, 0 }, input { 2, 3 } }, { { 2, 0, 1 }, input { 2, 3, 4 } }, { {}, input {} } },
    broadcast_to = { { { 2, 3 }, input { 3 } }, { { 4, 2, 3 }, input { 2, 1 } }, { { 2 }, input {} } },
    slice = { { { 1, 1, 2 }, input { 4 } }, { { 3, -2, 2, 0, 1, 3 }, input { 4, 3 } }, { {}, input {} } },
    concatenate = {
        { { 0 }, input { 2, 3 }, input { 1, 3 } }, { { -1 }, input { 2, 3 }, input { 2, 1 }, input { 2, 2 } },
        { { 1 }, input({ 2, 3 }, "i32"), input({ 2, 3 }, "i32") },
    },
    pad = {
        { { 1, 2, 0 }, input { 3 }, input {} }, { { 0, 1, 2, 1, 0, 0 }, input { 2, 3 }, input {} },
        { { 1, 1, 1 }, input({ 2 }, "bool"), input({}, "bool") }, { {}, input {}, input {} },
    },
    take = {
        { { 0 }, input { 4, 3 }, input({ 2 }, "i32", -6, 6) }, { { 1 }, input { 4, 3 }, input({ 2, 2 }, "i64", -5, 5) },
        { { -2 }, input { 2, 3, 2 }, input({}, "i32", -2, 2) }, { { 0 }, input { 5 }, input({ 0 }, "i32") },
        { { 0 }, input({ 4, 2 }, "bool"), input({ 3 }, "u8", 0, 9) },
    },
    dynamic_slice = {
        { { 2, 3 }, input { 4, 3 }, input({ 2 }, "i64", -6, 6) },
        { { 1, 2 }, input { 4, 3 }, input({ 2 }, "i64", -6, 6) },
        { { 4, 3 }, input({ 4, 3 }, "bool"), input({ 2 }, "i64", -6, 6) },
        { { 3 }, input({ 5 }, "i32"), input({ 1 }, "i64", -9, 9) },
        { { 0, 2 }, input { 2, 2 }, input({ 2 }, "i64", -2, 2) }, { {}, input {}, input({ 0 }, "i64") },
    },
    dynamic_update_slice = {
        { {}, input { 4, 3 }, input { 2, 3 }, input({ 2 }, "i64", -6, 6) },
        { {}, input({ 4, 3 }, "u8", 0, 9), input({ 1, 2 }, "u8", 0, 9), input({ 2 }, "i64", -6, 6) },
        { {}, input { 4, 3 }, input { 4, 3 }, input({ 2 }, "i64", -6, 6) },
        { {}, input { 2, 2 }, input { 0, 2 }, input({ 2 }, "i64", -2, 2) },
        { {}, input {}, input {}, input({ 0 }, "i64") },
    },
    matmul2 = {
        { {}, whole { 2, 3 }, whole { 3, 4 } }, { {}, whole { 2, 3 }, whole { 3, 1 } },
        { {}, whole { 1, 3 }, whole { 3, 2 } },
        { {}, whole { 2, 2, 3 }, whole { 2, 3, 2 } }, { {}, whole { 2, 2, 3 }, whole { 2, 3, 1 } },
        { {}, input({ 2, 3 }, "i32"), input({ 3, 2 }, "i32") }, { {}, whole({ 2, 0 }, "f64"), whole({ 0, 2 }, "f64") },
    },
    sparse_product = {
        { { 3, 0 }, input { 4 }, input { 3, 2 }, PLACES, STARTS },
        { { 3, 1 }, input { 4 }, input { 2, 1 }, PLACES, STARTS },
        { { 3, 0 }, input({ 4 }, "i32"), input({ 3, 1 }, "i32"), PLACES, STARTS },
    },
    sparse_triangular = {
        { { 1, 0, 0 }, input { 4 }, input { 2, 2 }, PLACES, STARTS },
        { { 0, 1, 1 }, input { 4 }, input { 2, 1 }, PLACES, STARTS },
    },
    sparse_sample = { { {}, input { 2, 2 }, input { 3, 2 }, PLACES, STARTS } },
    sparse_starts = { { { 3, 0 }, PLACES, STARTS, PLACES, STARTS }, { { 3, 1 }, PLACES, STARTS, PLACES, STARTS } },
    sparse_columns = {
        { { 3, 0, 5 }, PLACES, STARTS, PLACES, STARTS, STARTS },
        { { 3, 1, 4 }, PLACES, STARTS, PLACES, STARTS, STARTS },
    },
    sparse_matmul = {
        { { 3, 2 }, input { 4 }, input { 4 }, PLACES, STARTS, PLACES, STARTS, PLACES, STARTS },
        { { 3, 1 }, input { 4 }, input { 4 }, PLACES, STARTS, PLACES, STARTS, PLACES, STARTS },
        { { 3, 0 }, input({ 4 }, "i32"), input({ 4 }, "i32"), PLACES, STARTS, PLACES, STARTS, PLACES, STARTS },
    },
    sparse_collect = {
        { { 3 }, input { 4 }, PLACES, STARTS, PLACES, STARTS },
        { { 3 }, input { 4 }, PLACES, STARTS, input { 4 }, PLACES, STARTS, PLACES, STARTS },
    },
    sparse_transpose = { { { 3 }, PLACES, STARTS }, { { 0 }, PLACES, STARTS } },
    argsort = {
        { { 0, 0 }, input({ 5, 2 }, "i32") }, { { -1, 1 }, input { 2, 5 } }, { { 1, 1 }, input({ 2, 3 }, "bool") },
    },
    threefry = { { {}, KEY, input({ 3, 2 }, "u32", 0, 9) }, { {}, KEY, input({ 2 }, "u32", 0, 9) } },
    random_bits = { { { 32, 2, 3 }, KEY }, { { 64, 3 }, KEY }, { { 32 }, KEY }, { { 32, 0 }, KEY } },
    random_floats = { { { 0, F32, 2, 3 }, KEY }, { { 1, F64, 3 }, KEY }, { { 2, F32 }, KEY }, { { 3, F32, 0 }, KEY } },
    random_gamma = {
        { { 0 }, input({ 5 }, "f32", 0.2, 30), KEY }, { { 1 }, input({ 2, 3 }, "f64", 0.2, 30), KEY },
        { { 0 }, input({}, "f32", 0.2, 30), KEY }, { { 0 }, input({ 0 }, "f32", 0.2, 30), KEY },
    },
    random_poisson = { { {}, input({ 5 }, "f32", 0, 30), KEY }, { {}, input({ 2, 3 }, "f32", 0, 30), KEY } },
    random_binomial = {
        { {}, input({ 5 }, "f32", 0, 90), input({ 5 }, "f32", 0, 1), KEY },
        { {}, input({}, "f64", 0, 90), input({}, "f64", 0, 1), KEY },
    },
    random_integers = {
        { { 0, 2, 3 }, input({}, "i32", 0, 5), input({}, "i32", 10, 90), KEY },
        { { 1, 4 }, input({ 4 }, "u32", 0, 5), input({}, "u32", 10, 90), KEY },
        { { 0, 4 }, input({ 4 }, "i64", -5, 5), input({ 4 }, "i64", 10, 90), KEY },
        { { 0 }, input({}, "i32", 0, 5), input({}, "i32", 10, 90), KEY },
    },
    cholesky = { { {}, definite() } },
    triangular_solve = { { { 1, 0, 0 }, square(), input { 3, 2 } }, { { 0, 1, 1 }, square(), input { 3, 1 } } },
    inv = { { {}, square() } },
    lstsq = { { {}, input { 3, 2 }, input { 3, 4 }, input({ 1, 1 }, "f32", 0, 1e-5) } },
    lu = { { {}, square() } },
    solve = { { { 0 }, square(), factors(), input { 3, 2 } }, { { 1 }, square(), factors(), input { 3, 1 } } },
    slogdet = { { {}, square(), factors() } },
    det = { { {}, square(), factors() } },
    qr = { { { 0 }, input { 2, 3 } }, { { 1 }, input { 3, 2 } } },
    eigh = { { { 1 }, definite() }, { { 0 }, definite() } },
    svd = { { { 0, 1 }, input { 2, 3 } }, { { 1, 1 }, input { 3, 2 } }, { { 0, 0 }, square() } },
    pinv = { { {}, input { 2, 3 }, input { 3, 2 } } },
    dft = { { { 0, 0 }, complex { 5 } }, { { -1, 1 }, complex { 2, 4 } }, { { 0, 1 }, complex { 4, 2 } } },
    rdft = { { { 0, 0 }, input { 5 } }, { { -2, 1 }, input({ 4, 2 }, "f64") }, { { 0, 0 }, input({ 6 }, "i32") } },
    irdft = { { { 0, 1, 5 }, complex { 3 } }, { { -1, 0, 4 }, complex { 2, 3 } }, { { 0, 1, 1 }, complex { 1, 3 } } },
    conv = {
        { { 1, 1, 1, 1, 1 }, whole { 2, 4, 2 }, whole { 3, 2, 3 } },
        { { 2, 2, 0, 1, 1, 1, 1, 0, 2 }, whole { 1, 4, 5, 2 }, whole { 2, 2, 1, 4 } },
    },
    conv_input = { { { 1, 1, 1, 1, 1, 4 }, whole { 2, 4, 3 }, whole { 3, 2, 3 } } },
    conv_kernel = { { { 1, 1, 1, 1, 1, 3 }, whole { 2, 4, 2 }, whole { 2, 4, 3 } } },
    windows = {
        { { 0, 2, 1, 1 }, input { 4 } }, { { -1, 2, 2, 1 }, input { 2, 5 } }, { { 1, 2, 1, 2 }, input { 2, 5, 2 } },
    },
    debug_sleep = { { { 0 }, input { 2 } } },
    debug_hold = { { {}, input { 2 }, input({ 1 }, "i32", 1, 3) } },
    debug_device = { { {}, input { 2 } } },
}

for _, name in ipairs { "cumsum", "cumprod", "cummax", "cummin", "sort" } do
    CASES[name] = {
        { { 0, 0 }, input { 5, 2 } }, { { -1, 1 }, input { 2, 5 } }, { { 1, 1 }, input({ 2, 3 }, "i32") },
        { { 0, 0 }, input { 0 } },
    }
end
CASES.recurrence = { { { 0, 0 }, input { 5, 2 }, input { 5, 2 } }, { { -1, 1 }, input { 2, 5 }, input { 2, 5 } } }
CASES.argtop = { { { 0, 2 }, input({ 5, 2 }, "i32") }, { { -1, 3 }, input { 2, 5 } }, { { 0, 0 }, input { 3 } } }
CASES.slide = {
    { { 2, 7 }, input { 5 }, input { 3 } }, { { 0, 3 }, input({ 5 }, "i32"), input({ 3 }, "i32") },
    { { 1, 4 }, input { 2, 4 }, input { 2, 3 } }, { { -1, 6 }, input { 2, 0 }, input { 2, 3 } },
}
CASES.searchsorted = {
    { { 0 }, input { 5 }, input { 3 } }, { { 1 }, input({ 5 }, "i32"), input({}, "i32") },
    { { 0 }, input { 2, 5 }, input { 2, 3 } }, { { 1 }, input { 0 }, input { 2, 2 } },
}

CASES.nearest = {
    { { 2 }, input { 5, 3 }, input { 4, 3 } }, { { 3 }, input({ 2, 4, 1 }, "i32"), input({ 2, 2, 3, 1 }, "i32") },
    { { 1 }, input { 2, 20, 2 }, input { 2, 2 } }, { { 2 }, input { 3, 0 }, input { 2, 0 } },
}
CASES.argsort_rows = {
    { {}, input({ 9, 3 }, "i32", -1, 1) }, { {}, input { 4, 2 } }, { {}, input({ 2, 5, 2 }, "bool", 0, 1) },
    { {}, input({ 0, 2 }, "u8", 0, 9) },
}
CASES.counts = {
    { { 0, 4 }, input({ 9 }, "i32", -2, 6) }, { { -1, 3 }, input({ 2, 5 }, "u8", 0, 4) },
    { { 0, 300 }, input({ 700, 3 }, "i64", -9, 400) }, { { 0, 2 }, input({ 0 }, "i32") },
    { { 0, 0 }, input({ 3 }, "i32") },
}
for _, name in ipairs { "put_add", "put_set", "put_mul", "put_max", "put_min" } do
    CASES[name] = {
        { { 0 }, input { 4, 3 }, input({ 2 }, "i32", -6, 6), input { 2, 3 } },
        { { 1 }, input { 2, 4 }, input({ 5 }, "i64", -6, 6), input { 2, 5 } },
        { { 0, 1 }, input { 4, 3 }, input({ 5 }, "i32", -6, 6), input { 5, 3 } },
        { { 1, 1 }, input { 2, 4 }, input({ 5 }, "i64", -6, 6), input { 2, 5 } },
        { { -1 }, input({ 2, 2, 3 }, "i32"), input({ 2, 2 }, "i32", -4, 4), input({ 2, 2, 2, 2 }, "i32") },
        { { 0 }, input { 3 }, input({}, "i32", -4, 4), input {} },
        { { 0 }, input { 0 }, input({ 2 }, "i32"), input { 2 } },
    }
end

-- Shapes of the inputs of a map: the same, and of ranks that broadcast.
local SHAPES = { { { 2, 3 }, { 2, 3 }, { 2, 3 } }, { { 2, 3 }, { 3 }, {} }, { {}, { 2, 1 }, { 3 } } }

local function map_cases(row)
    local list = {}
    for _, dtype in ipairs { "f32", "i32", "bool" } do
        local fits = false
        values.each_dtype(row, function(accepted) fits = fits or accepted == dtype end)
        for _, shapes in ipairs(fits and SHAPES or {}) do
            local case = { row.name == "astype" and { core.dtype_codes.f64 } or {} }
            for k = 1, row.arity do
                case[k + 1] = input(shapes[k], row.name == "where" and k == 1 and "bool" or dtype, unpack(row.domain))
            end
            list[#list + 1] = case
        end
    end
    return list
end

local function reduce_cases(row)
    local dtype = row.types[1] == "bool" and #row.types == 1 and "bool" or "f32"
    return { { { 1, 0 }, input({ 4, 3 }, dtype) }, { { 2, 1 }, input({ 2, 300 }, dtype) },
             { { 3, 0 }, input({ 2, 3 }, dtype) }, { { 5, 0 }, input({ 2, 3, 4 }, dtype) },
             { { 0, 0 }, input({}, dtype) } }
end

local function cases_of(row)
    if row.class == "map" then return map_cases(row) end
    if row.class == "reduce" then return reduce_cases(row) end
    return CASES[row.name] or error("the row has no case: add one to CASES, or say in ELSEWHERE where it is tested")
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------

--- For each choice of batched inputs, at least one, and of the first or the last axis: f(batched, in_axes).
local function each_choice(n, f)
    for bits = 1, 2 ^ n - 1 do
        for _, last in ipairs { false, true } do
            local in_axes = {}
            for k = 1, n do
                in_axes[k] = math.floor(bits / 2 ^ (k - 1)) % 2 == 1 and (last and k % 2 == 1 and -1 or 0)
            end
            f(in_axes)
        end
    end
end

local function test_case(row, case)
    local attrs, n = case[1], #case - 1
    each_choice(n, function(in_axes)
        local inputs, moved = {}, {}
        for k = 1, n do
            inputs[k] = array(case[k + 1], in_axes[k] and SIZE)
            moved[k] = in_axes[k] == -1 and np.moveaxis(inputs[k], 0, -1) or inputs[k]
        end
        local batched = np.vmap(function(...) return record(row, attrs, ...) end, { in_axes = in_axes })
        local result = batched(unpack(moved, 1, n))
        local expected = {}
        for e = 1, SIZE do
            local one = {}
            for k = 1, n do one[k] = in_axes[k] and inputs[k][e - 1] or inputs[k] end
            expected[e] = record(row, attrs, unpack(one, 1, n))
        end
        local what = ("%s of %s, batched along %s"):format(row.name, core.shape_text(case[2].dims),
                                                           core.shape_text(in_axes))
        check.equal(result.dtype, expected[1].dtype, what)
        check.equal(result:totable(), np.stack(expected):totable(), what)
    end)
end

--- Nodes recorded and launches for a batch of n examples.
local function counts(row, case, n)
    local inputs = {}
    for k = 1, #case - 1 do inputs[k] = array(case[k + 1], n) end
    local batched = np.vmap(function(...) return record(row, case[1], ...) end)
    np.wait_all()
    local before = np.debug.counters()
    np.force(batched(unpack(inputs, 1, #case - 1)))
    np.wait_all()
    local after = np.debug.counters()
    return { after.nodes - before.nodes, after.launches - before.launches }
end

for _, row in ipairs(values.rows) do
    if not ELSEWHERE[row.name] and row.name ~= "debug_fail" then
        check.test(row.name .. " of a batch is that of each example", function()
            for _, case in ipairs(cases_of(row)) do test_case(row, case) end
            local case = cases_of(row)[1]
            check.equal(counts(row, case, 1000), counts(row, case, 2), "nodes and launches")
        end)
    end
end

check.test("debug_fail of a batch fails", function()
    for _, row in ipairs(values.rows) do
        if row.name == "debug_fail" then
            check.raises(function()
                np.vmap(function(x) return record(row, {}, x) end)(np.ones { 2, 2 }):wait()
            end, "failed on purpose")
        end
    end
end)

check.done()
