--- rows_test.lua: every row on sharded arrays against the row on the whole ones, bit for bit: with inputs that lie on
-- a mesh in many ways, drawn from all that there are. Values are whole where parts are added, so that sums are exact.
--
-- Maps and reductions are called with inputs of several ranks; every other row has cases below, or stands in ELSEWHERE.
-- A row without either fails. Runs itself again with four devices.
local check = require "tests.lib.check"
local values = require "tests.lib.values"
local core = require "neap.core"
local np = require "neap"

require "tests.lib.devices" (4, "tests/mesh/rows_test.lua")

local WAYS = (os.getenv "NEAP_TEST_BUILD" or "release") == "release" and 24 or 2 -- of one case

-- Rows that have no inputs, or do not come by themselves: where they are tested.
local ELSEWHERE = {
    constant = "no inputs", placeholder = "no inputs", array = "no inputs", iota = "no inputs",
    debug_fail = "tests/mesh/auto_test.lua", debug_hold = "it waits for a script",
    debug_device = "its values are where it ran", device_put = "tests/mesh/auto_test.lua",
    transfer = "tests/lazy/spaces_test.lua", join = "tests/mesh/apart_test.lua",
    callback = "tests/mesh/callback_test.lua", callback_part = "tests/mesh/callback_test.lua",
    check = "tests/stdlib/debug_check_test.lua",
    exchange = "tests/mesh/mpi_auto_test.lua",
    eig = "tests/golden/complex_linalg_test.lua", matrix_function = "tests/golden/complex_more_test.lua",
    sparse_solve = "tests/contracts/sparse_direct_test.lua, where its library is there",
    sparse_factor_places = "the same", sparse_factors = "the same",
}
for _, name in ipairs { "psum", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute", "axis_index",
                        "enter", "leave", "pick", "pvary", "reshard" } do
    ELSEWHERE[name] = "tests/mesh/shard_map_test.lua"
end
ELSEWHERE.pcast = "tests/mesh/unreduced_test.lua"
for _, name in ipairs { "call", "cond", "while_loop", "scan", "part" } do
    ELSEWHERE[name] = "tests/mesh/control_test.lua"
end

local function record(row, attrs, ...)
    for k = 1, #attrs do core.attrs[k - 1] = attrs[k] end
    return core.recordn(row.id, { ... }, select("#", ...), #attrs)
end

-- ---- Inputs ---------------------------------------------------------------------------------------------------------

--- An input: its sizes, dtype, the range of its values, and what is made of these (by default whole numbers).
local function input(dims, dtype, low, high, of)
    return { dims = dims, dtype = dtype or "f32", domain = { low or -3, high or 3 }, of = of }
end

--- The columns of four elements, and where two rows of them begin.
local function places() return input({ 4 }, "i32", -1, 4) end
local function starts() return input({ 3 }, "i32", 0, 4) end

local function array(spec)
    local x = values.array(spec, spec.dims, spec.dtype)
    if spec.of then return spec.of(x) end
    return core.dtype_of(x).kind == "f" and np.floor(x) or x
end

local function square() return input { 4, 4, 4 } end
local function factors() return input({ 4, 4, 4 }, "f32", -3, 3, function(x)
    return core.recordn(core.ids.lu, { np.floor(x) }, 1, 0)
end) end
local function definite() return input({ 4, 4, 4 }, "f32", -3, 3, function(x)
    return np.matmul(x, np.swapaxes(x, -1, -2)) + np.eye(4)
end) end

local function complex(dims) return input(dims, "f32", -3, 3, function(x) return np.complex(x, x + 1) end) end

local F32, F64 = core.dtype_codes.f32, core.dtype_codes.f64
local KEYS = input({ 4, 2 }, "u32", 0, 1000)

-- ---- Cases: lists of { attributes, inputs… } ------------------------------------------------------------------------

local CASES = {
    alias = { { {}, input { 4, 8 } } }, bare = { { {}, input { 4, 8 } } },
    bitcast = { { { core.dtype_codes.u32 }, input { 4, 8 } }, { { core.dtype_codes.u8 }, input { 4 } } },
    reshape = {
        { { 32 }, input { 4, 8 } }, { { 4, 8 }, input { 32 } }, { { 2, 2, 8 }, input { 4, 8 } },
        { { 8, 4 }, input { 4, 8 } }, { { 6, 4 }, input { 4, 6 } }, { { 1, 4, 1, 8 }, input { 4, 8 } },
        { { 0, 4 }, input { 4, 0 } }, { { 2, 16, 2 }, input { 8, 2, 4 } },
    },
    transpose = { { { 1, 0 }, input { 4, 8 } }, { { 2, 0, 1 }, input { 4, 2, 8 } } },
    broadcast_to = { { { 2, 4, 8 }, input { 4, 1 } }, { { 4, 8 }, input { 8 } }, { { 4, 8 }, input { 1, 8 } } },
    slice = {
        { { 1, 1, 2 }, input { 4 } }, { { 3, -1, 4, 0, 1, 8 }, input { 4, 8 } },
        { { 0, 2, 2, 0, 1, 8 }, input { 4, 8 } }, { { 0, 1, 4, 0, 1, 8 }, input { 4, 8 } },
    },
    concatenate = {
        { { 0 }, input { 4, 8 }, input { 2, 8 } }, { { -1 }, input { 4, 8 }, input { 4, 1 }, input { 4, 4 } },
        { { 0 }, input({ 4 }, "i32"), input({ 8 }, "i32") },
    },
    pad = { { { 1, 2, 0 }, input { 4 }, input {} }, { { 0, 0, 0, 1, 0, 1 }, input { 4, 4 }, input {} } },
    take = {
        { { 0 }, input { 4, 8 }, input({ 4 }, "i32", -6, 6) }, { { 1 }, input { 4, 8 }, input({ 2, 4 }, "i64", -5, 5) },
        { { -2 }, input { 4, 2, 4 }, input({}, "i32", -2, 2) },
    },
    dynamic_slice = {
        { { 2, 8 }, input { 4, 8 }, input({ 2 }, "i64", -6, 6) },
        { { 4, 3 }, input { 4, 8 }, input({ 2 }, "i64", -9, 9) },
        { { 4, 8 }, input({ 4, 8 }, "i32"), input({ 2 }, "i64", -9, 9) },
    },
    dynamic_update_slice = {
        { {}, input { 4, 8 }, input { 2, 8 }, input({ 2 }, "i64", -6, 6) },
        { {}, input { 4, 8 }, input { 4, 4 }, input({ 2 }, "i64", -9, 9) },
        { {}, input { 4, 8 }, input { 1, 2 }, input({ 2 }, "i64", -9, 9) },
    },
    matmul2 = {
        { {}, input { 4, 8 }, input { 8, 4 } }, { {}, input { 4, 4, 2 }, input { 4, 2, 4 } },
        { {}, input({ 4, 4 }, "i32"), input({ 4, 2 }, "i32") },
        { {}, input({ 4, 4 }, "bool"), input({ 4, 4 }, "bool") },
        { {}, input({ 4, 4 }, "u8", 0, 200), input({ 4, 4 }, "u8", 0, 200) }, { {}, input { 4, 0 }, input { 0, 4 } },
    },
    sparse_product = {
        { { 4, 0 }, input { 4 }, input { 4, 2 }, places(), starts() },
        { { 4, 1 }, input { 4 }, input { 2, 4 }, places(), starts() },
    },
    sparse_triangular = {
        { { 1, 0, 0 }, input { 4 }, input { 2, 4 }, places(), starts() },
    },
    sparse_sample = { { {}, input { 2, 4 }, input { 4, 4 }, places(), starts() } },
    sparse_starts = { { { 4, 0 }, places(), starts(), places(), starts() },
                      { { 4, 1 }, places(), starts(), places(), starts() } },
    sparse_columns = { { { 4, 1, 8 }, places(), starts(), places(), starts(), starts() } },
    sparse_matmul = {
        { { 4, 2 }, input { 4 }, input { 4 }, places(), starts(), places(), starts(), places(), starts() },
        { { 4, 1 }, input { 4 }, input { 4 }, places(), starts(), places(), starts(), places(), starts() },
    },
    sparse_collect = {
        { { 4 }, input { 4 }, places(), starts(), input { 4 }, places(), starts(), places(), starts() },
    },
    sparse_transpose = { { { 4 }, places(), starts() } },
    argsort = { { { 0, 0 }, input({ 4, 4 }, "i32") }, { { -1, 1 }, input { 4, 8 } } },
    threefry = { { {}, KEYS, input({ 4, 4, 2 }, "u32", 0, 9) }, { {}, input({ 2 }, "u32", 0, 9), KEYS } },
    random_bits = { { { 32, 2, 4 }, KEYS }, { { 64, 4 }, KEYS } },
    random_floats = { { { 0, F32, 2, 4 }, KEYS }, { { 1, F64, 4 }, KEYS } },
    random_gamma = { { { 0 }, input({ 4, 4 }, "f32", 0.2, 30), KEYS } },
    random_poisson = { { {}, input({ 4, 4 }, "f32", 0, 30), KEYS } },
    random_binomial = { { {}, input({ 4, 4 }, "f32", 0, 90), input({ 4, 4 }, "f32", 0, 1), KEYS } },
    random_integers = {
        { { 0, 2, 4 }, input({}, "i32", 0, 5), input({}, "i32", 10, 90), KEYS },
        { { 0, 4 }, input({ 4, 4 }, "i32", 0, 5), input({ 4, 1 }, "i32", 10, 90), KEYS },
    },
    cholesky = { { {}, definite() } },
    triangular_solve = { { { 1, 0, 0 }, definite(), input { 4, 4, 2 } } },
    inv = { { {}, square() } },
    lstsq = { { {}, input { 4, 3, 2 }, input { 4, 3, 2 }, input({ 4, 1, 1 }, "f32", 0, 1e-5) } },
    lu = { { {}, square() } },
    solve = { { { 0 }, square(), factors(), input { 4, 4, 2 } } },
    slogdet = { { {}, square(), factors() } },
    det = { { {}, square(), factors() } },
    qr = { { { 0 }, input { 4, 2, 4 } } },
    eigh = { { { 1 }, definite() } },
    svd = { { { 0, 1 }, input { 4, 2, 4 } } },
    dft = { { { 1, 0 }, complex { 4, 8 } }, { { 0, 1 }, complex { 4, 8 } } },
    rdft = { { { -1, 0 }, input { 4, 8 } }, { { 1, 1 }, input { 4, 4, 2 } } },
    irdft = { { { 1, 1, 8 }, complex { 4, 5 } }, { { 0, 0, 7 }, complex { 4, 8 } } },
    pinv = { { {}, input { 4, 2, 4 }, input { 4, 4, 2 } } },
    conv = {
        { { 1, 1, 1, 1, 1 }, input { 4, 4, 4 }, input { 3, 4, 4 } },
        { { 2, 2, 0, 1, 1, 1, 1, 0, 2 }, input { 4, 4, 5, 4 }, input { 2, 2, 2, 4 } },
    },
    conv_input = { { { 1, 1, 1, 1, 1, 4 }, input { 4, 4, 4 }, input { 3, 4, 4 } } },
    conv_kernel = { { { 1, 1, 1, 1, 1, 3 }, input { 4, 4, 4 }, input { 4, 4, 4 } } },
    windows = { { { 0, 2, 1, 1 }, input { 4, 4 } }, { { -1, 2, 2, 1 }, input { 4, 8 } } },
    debug_sleep = { { { 0 }, input { 4, 2 } } },
}

CASES.argsort_rows = { { {}, input({ 4, 8, 2 }, "i32", -1, 1) }, { {}, input({ 8, 4 }, "u8", 0, 1) } }
CASES.counts = { { { 0, 4 }, input({ 4, 8 }, "i32", -2, 6) }, { { -1, 3 }, input({ 4, 8 }, "u8", 0, 4) } }
for _, name in ipairs { "put_add", "put_set", "put_mul", "put_max", "put_min" } do
    CASES[name] = {
        { { 0 }, input { 4, 8 }, input({ 4 }, "i32", -6, 6), input { 4, 8 } },
        { { -1 }, input { 4, 2, 4 }, input({ 2, 4 }, "i64", -6, 6), input { 4, 2, 2, 4 } },
        { { 0, 1 }, input { 4, 8 }, input({ 4 }, "i32", -6, 6), input { 4, 8 } },
    }
end

-- Shapes of the inputs of a map: the same, and of ranks that broadcast.
local SHAPES = { { { 4, 8 }, { 4, 8 }, { 4, 8 } }, { { 4, 8 }, { 8 }, {} }, { { 1, 4 }, { 2, 1 }, { 2, 2, 4 } } }

local function map_cases(row)
    local list = {}
    for _, dtype in ipairs { "f32", "i32", "bool" } do
        local fits = false
        values.each_dtype(row, function(accepted) fits = fits or accepted == dtype end)
        for _, shapes in ipairs(fits and SHAPES or {}) do
            local case = { row.name == "astype" and { core.dtype_codes.f64 } or {} }
            for k = 1, row.arity do
                local own = row.name == "where" and k == 1 and "bool" or dtype
                case[k + 1] = input(shapes[k], own, row.domain[1], row.domain[2], function(x) return x end)
            end
            list[#list + 1] = case
        end
    end
    return list
end

for _, name in ipairs { "cumsum", "cumprod", "cummax", "cummin", "sort" } do
    CASES[name] = {
        { { 0, 0 }, input({ 4, 4 }, "i32") }, { { -1, 1 }, input { 4, 8 } }, { { 1, 0 }, input { 2, 4, 8 } },
    }
end
CASES.recurrence = { { { 0, 0 }, input { 4, 4 }, input { 4, 4 } }, { { -1, 1 }, input { 4, 8 }, input { 4, 8 } } }
CASES.argtop = { { { 0, 2 }, input({ 4, 4 }, "i32") }, { { -1, 3 }, input { 4, 8 } } }
CASES.marks_nonzero = { { {}, input({ 4, 4 }, "i32", -1, 1) }, { {}, input { 256 } } }
CASES.marks_changes = { { {}, input({ 4, 4 }, "i32", -1, 1) }, { {}, input { 256 } } }
CASES.places = { { { 3, 192 }, input({ 4 }, "u64", 1, 1) } } -- three words of one mark, and the count
CASES.slide = {
    { { 2, 10 }, input { 4, 8 }, input { 4, 3 } }, { { 1, 8 }, input { 8 }, input { 4 } },
}
local function sorted(dims) return input(dims, "f32", -3, 3, function(x) return np.sort(np.floor(x)) end) end
CASES.searchsorted = {
    { { 0 }, sorted { 8 }, input { 4, 8 } }, { { 1 }, sorted { 4, 8 }, input { 4, 8 } },
}
CASES.nearest = {
    { { 2 }, input { 8, 4 }, input { 4, 4 } }, { { 1 }, input { 4, 8, 2 }, input { 4, 8, 2 } },
}

local function reduce_cases(row)
    local dtype = row.types[1] == "bool" and #row.types == 1 and "bool" or "f32"
    return { { { 1, 0 }, input({ 4, 8 }, dtype) }, { { 2, 1 }, input({ 4, 300 }, dtype) },
             { { 3, 0 }, input({ 4, 4 }, dtype) }, { { 5, 0 }, input({ 4, 3, 4 }, dtype) },
             { { 2, 0 }, input({ 4, 8 }, row.types[1] == "real" and "f32" or "i32") } }
end

local function cases_of(row)
    if row.class == "map" then return map_cases(row) end
    if row.class == "reduce" then return reduce_cases(row) end
    return CASES[row.name] or error("the row has no case: add one to CASES, or say in ELSEWHERE where it is tested")
end

-- ---- Ways to lie on the mesh ----------------------------------------------------------------------------------------

local mesh = np.mesh({ 2, 2 }, { "i", "j" })

--- All specs that fit sizes: each axis of the mesh divides one axis of the array or none; one axis in both orders.
local function specs_of(dims)
    local list = {}
    for i = 0, #dims do
        for j = 0, #dims do
            local orders = i == j and i > 0 and { { "i", "j" }, { "j", "i" } } or { false }
            for _, order in ipairs(orders) do
                local entries = {}
                for k = 1, #dims do entries[k] = false end
                if i > 0 then entries[i] = "i" end
                if j > 0 then entries[j] = order or "j" end
                local fits = true
                for k = 1, #dims do
                    local parts = not entries[k] and 1 or type(entries[k]) == "table" and 4 or 2
                    fits = fits and dims[k] % parts == 0
                end
                if fits then list[#list + 1] = np.P(unpack(entries, 1, #dims)) end
            end
        end
    end
    return list
end

local seed = 7
local function draw(n)
    seed = (seed * 16807) % 2147483647
    return seed % n + 1
end

local function test_case(row, case)
    local attrs, n, inputs, specs = case[1], #case - 1, {}, {}
    for k = 1, n do
        inputs[k] = array(case[k + 1])
        specs[k] = specs_of(core.shape_of(inputs[k]))
    end
    local expected = record(row, attrs, unpack(inputs, 1, n))
    for way = 1, n == 1 and #specs[1] or WAYS do
        local laid, texts = {}, {}
        for k = 1, n do
            local spec = specs[k][n == 1 and way or draw(#specs[k])]
            local ordinary = k > 1 and draw(4) == 1
            laid[k] = ordinary and inputs[k] or np.device_put(inputs[k], mesh, spec)
            texts[k] = ordinary and "ordinary" or tostring(spec)
        end
        local result = record(row, attrs, unpack(laid, 1, n))
        local what = ("%s of %s as %s"):format(row.name, core.shape_text(case[2].dims), table.concat(texts, ", "))
        check.equal(result.dtype, expected.dtype, what)
        check.equal(core.shape_of(result), core.shape_of(expected), what)
        check.equal(result:totable(), expected:totable(), what)
    end
end

for _, row in ipairs(values.rows) do
    if not ELSEWHERE[row.name] then
        check.test(row.name .. " on sharded arrays", function()
            for _, case in ipairs(cases_of(row)) do test_case(row, case) end
        end)
    end
end

check.done()
