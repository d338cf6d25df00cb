--- reduce_test.lua: contracts of reductions and of cumulative functions, and of their kin that leave NaN out.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local of, finish, same = require "tests.lib.contracts" "reduce"

local NAN, INF = 0 / 0, math.huge
local ALONE = "a reduction of one array: no number meets it"
local CONSTANT = "a number of elements, a place or a truth value has no slope"

--- The dtype of sums: NumPy's rule with 32 bits as the least width.
local function sums(dtype, o)
    if o and o.dtype then return o.dtype end
    local facts = dtypes.by_name[dtype]
    if facts.kind == "b" or facts.kind == "i" and facts.bits < 32 then return "i32" end
    return facts.kind == "u" and facts.bits < 32 and "u32" or dtype
end

local function means(dtype, o)
    return o.dtype or dtypes.by_name[dtype].lowest and np.result_type(dtype, 0.5) or dtype == "bool" and "f32" or dtype
end

local function real_part(dtype)
    return dtype == "c64" and "f32" or dtype == "c128" and "f64" or means(dtype, {})
end

--- Special values of floats and complex numbers; integers have theirs.
local function of_floats(list)
    return function(dtype) return not dtypes.by_name[dtype].lowest and dtype ~= "bool" and list or nil end
end

local NEAR = { f64 = "mixed 2e-14", f32 = "mixed 4e-6" }
local SHAPES = { { { 2, 3 }, { 2, 3 } }, { { 2, 2, 3 }, { 2, 2, 3 } }, { { 5 }, { 5 } }, { {}, {} }, { { 1 }, { 1 } },
                 { { 0 }, { 0 } }, { { 4, 1, 3 }, { 3 } } }
local FULL = { unpack(SHAPES, 1, 5) } -- of something

--- The call of a reduction: the mask, which is drawn, where the options say so.
local function masked(f, o, x, mask)
    local given = {}
    for key, value in pairs(o) do given[key] = value end
    given.where = o.where and mask or nil
    return f(x, given)
end

--- A mask which leaves something of each row and column.
local function some(random, dims)
    local list, n = {}, 1
    for _, d in ipairs(dims) do n = n * d end
    for k = 1, n do list[k] = (k - 1) % 2 == 0 or random(2) == 1 end
    if n == 0 then return np.zeros(dims, { dtype = "bool" }) end
    return np.array(list, { dtype = "bool" }):reshape(dims)
end

--- A contract of a reduction with a mask of elements.
local function reduction(name, spec)
    spec.args = { spec.x or "x", { "where", dtype = "bool", make = some } }
    spec.x = nil
    spec.shapes = spec.shapes or SHAPES
    spec.call = masked
    spec.without = spec.without or {}
    spec.without.numbers = ALONE
    of(name, spec)
end

-- ---- Sums and products ----------------------------------------------------------------------------------------------

--- Every dtype that `dtype=` names is the result's, as is the sum in it.
local function every_dtype(name)
    return function()
        for _, from in ipairs { "u8", "i64", "bool", "f16", "f32" } do
            for _, wanted in ipairs(dtypes.names) do
                local x = np.array({ 1, 0, 1 }, { dtype = from })
                local y = np[name](x, { dtype = wanted, axis = 0 })
                check.equal(y.dtype, wanted, ("np.%s of %s with dtype=%s"):format(name, from, wanted))
            end
        end
    end
end

for _, name in ipairs { "sum", "nansum", "prod", "nanprod" } do
    local initial = name:find "sum" and 3 or 2
    reduction("np." .. name, {
        accepts = "floats ints bool complex", complex_slopes = true, gives = sums,
        oracle = ("reduced(np.%s, x, where, o)"):format(name),
        unseen = name == "sum" and { out_sharding = "arrays on a mesh have it: tests/mesh/unreduced_test.lua" } or nil,
        x = { "x", special = function(dtype)
            if not dtypes.by_name[dtype].lowest and dtype ~= "bool" then
                return (dtype == "c64" or dtype == "c128") and name:find "prod" and { 7 } or { NAN, INF, -INF, 7 }
            end
        end },
        options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true }, { where = true },
                    { where = true, initial = initial, axis = -1 }, { dtype = "f64" } },
        within = NEAR,
        divided = { f64 = "mixed 2e-14", f32 = "mixed 4e-6", f16 = "ulp 2", bf16 = "ulp 2", c64 = "scaled 1e-6",
                                   c128 = "scaled 1e-14" },
        derivative = ("jnp.%s(x)"):format(name), uneven = true,
        points = { { { 2, 0, 3 }, { true, true, true } }, { { 0, 0, 3 }, { true, true, true } },
                   { { 0, 0, 0 }, { true, true, true } } },
        also = {
            ["every dtype"] = every_dtype(name),
            ["a 64-bit integer as initial"] = function()
                local x = np.array({ 1, 1 }, { dtype = "i64" })
                local expected = name:find "sum" and 2LL ^ 53 + 3 or 2LL ^ 53 + 1
                check.equal(np[name](x, { initial = 9007199254740993LL }):item(), 9007199254740993LL
                            + (name:find "sum" and 2 or 0), "initial keeps its digits")
                check.ok(expected)
            end,
        },
    })
end

for _, name in ipairs { "cumsum", "cumprod", "nancumsum", "nancumprod" } do
    of("np." .. name, {
        args = { { "x", special = of_floats { NAN, INF, -INF, 7 } } }, accepts = "floats ints bool complex",
        shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } }, { { 1 } }, { { 0 } }, { {} } },
        oracle = ("reduced(np.%s, x, None, o)"):format(name), gives = sums,
        options = { {}, { axis = 0 }, { axis = -1, dtype = "f32" }, { axis = -1 } },
        within = NEAR, derivative = ("jnp.%s(x)*jnp.array([1.,3.,2.])"):format((name:gsub("nan", ""))), uneven = true,
        divided = { f64 = "mixed 2e-14", f32 = "mixed 4e-6", f16 = "ulp 2", bf16 = "ulp 2", c64 = "scaled 1e-6",
                    c128 = "scaled 1e-14" },
        also = { ["every dtype"] = every_dtype(name) },
    })
end

for _, name in ipairs { "cumulative_sum", "cumulative_prod" } do
    of("np." .. name, {
        args = { { "x", special = of_floats { NAN, INF, -INF, 7 } } }, accepts = "floats ints bool complex",
        shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } }, { { 1 } }, { { 0 } } },
        oracle = ("reduced(np.%s, x, None, o)"):format(name), gives = sums,
        options = { { axis = -1 }, { axis = 0, include_initial = true }, { axis = 0, dtype = "f32" } },
        within = NEAR,
        divided = { f64 = "mixed 2e-14", f32 = "mixed 4e-6", f16 = "ulp 2", bf16 = "ulp 2", c64 = "scaled 1e-6",
                    c128 = "scaled 1e-14" },
        also = { ["every dtype"] = every_dtype(name) },
        refuses = { { "needs the option 'axis'", function() np[name](np.ones { 2, 2 }) end } },
    })
end

-- ---- Extrema --------------------------------------------------------------------------------------------------------

for _, name in ipairs { "max", "min", "nanmax", "nanmin" } do
    local top = name:find "max"
    reduction("np." .. name, {
        accepts = "floats ints bool", oracle = ("reduced(np.%s, x, where, o)"):format(name), gives = "same",
        shapes = FULL,
        options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true }, { where = true, initial = 1 },
                    { axis = -1, initial = 0 } },
        derivative = ("jnp.%s(x)"):format(name), uneven = true,
        points = { { { 1, 2, 2 }, { true, true, true } }, { { 1, 1, 2 }, { true, true, true } },
                   { { 1, INF, 2 }, { true, true, true } },
                   name:find "nan" and { { 3, 3, 3 }, { true, true, true } }
                   or { { 1, NAN, 2 }, { true, true, true } } },
        also = {
            ["a 64-bit integer as initial"] = function()
                local x = np.array({ 9007199254740992LL, 3 }, { dtype = "i64" })
                local bound = top and 9007199254740993LL or -9007199254740993LL
                check.equal(np[name](x, { initial = bound }):item(), bound, "initial keeps its digits")
                local u = np.array({ 5 }, { dtype = "u64" })
                check.equal(np[name](u, { initial = top and -1ULL or 0ULL }):item(), top and -1ULL or 0, "of u64")
            end,
        },
        refuses = {
            { "nothing to take it of", function() np[name](np.zeros(0)) end },
            { "needs the option 'initial'", function() np[name](np.ones(2), { where = np.array { true, false } }) end },
        },
    })
end
same("np.amax", "np.max")
same("np.amin", "np.min")

for _, name in ipairs { "argmax", "argmin", "nanargmax", "nanargmin" } do
    local plain = not name:find "nan"
    of("np." .. name, {
        args = { { "x", special = of_floats(plain and { NAN, INF, -INF, 7 } or { INF, -INF, 7 }) } },
        accepts = "floats ints bool",
        shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } }, { {} }, { { 1 } } },
        oracle = ("placed(np.%s, x, o)"):format(name), gives = "i32",
        options = { {}, { axis = 0 }, { axis = -1, keepdims = true }, { last = true }, { axis = 1, last = true } },
        without = { derivatives = CONSTANT },
        also = {
            ["ties and NaN"] = function()
                local x = np.array { { 1, 3, 3 }, { 3, 1, 1 } }
                local top = name:find "max"
                check.equal(tostring(np[name](x, { axis = 1 })), top and "[1 0]" or "[0 1]")
                check.equal(tostring(np[name](x, { axis = 1, last = true })), top and "[2 0]" or "[0 2]")
                check.equal(np[name](x, { last = true }):item(), top and 3 or 5)
                local y = np.array { NAN, 1, 1, NAN, 0, 0 }
                check.equal(np[name](y):item(), plain and 0 or top and 1 or 4)
                check.equal(np[name](y, { last = true }):item(), plain and 3 or top and 2 or 5)
                local none = np[name](np.full({ 2 }, NAN), { last = true }):item()
                check.equal(none, plain and 1 or -1)
            end,
        },
        refuses = { { "nothing to take it of", function() np[name](np.zeros(0)) end } },
    })
end

for _, name in ipairs { "any", "all" } do
    reduction("np." .. name, {
        accepts = "floats ints bool complex", oracle = ("reduced(np.%s, x, where, o)"):format(name), gives = "bool",
        options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true }, { where = true, axis = -1 } },
        without = { derivatives = CONSTANT },
    })
end

for _, name in ipairs { "cummax", "cummin" } do
    of("np." .. name, {
        args = { "x" }, accepts = "floats ints bool",
        shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } }, { { 1 } }, { { 0 } }, { {} } },
        oracle = ("accumulated(np.%s, x, o)"):format(name == "cummax" and "maximum" or "minimum"), gives = "same",
        options = { {}, { axis = 0 }, { axis = -1 } },
    })
end

-- ---- Means ----------------------------------------------------------------------------------------------------------

for _, name in ipairs { "mean", "nanmean" } do
    reduction("np." .. name, {
        accepts = "floats ints bool complex", oracle = ("reduced(np.%s, x, where, o)"):format(name), gives = means,
        x = { "x", from = -300, to = 300 },
        options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true }, { where = true },
                    { axis = -1, dtype = "f64" },
                    { dtype = "f16", axis = 0 } },
        within = { f64 = "mixed 2e-13", f32 = "mixed 4e-5" },
        divided = { f64 = "mixed 2e-13", f32 = "mixed 4e-5", c64 = "scaled 1e-6", c128 = "scaled 1e-14", f16 = "ulp 1",
                    bf16 = "ulp 1" },
        also = {
            ["halves do not overflow"] = function()
                check.equal(np[name](np.full({ 300, 300 }, 300, { dtype = "f16" })):item(), 300)
                local mask = np.full({ 300, 300 }, 1, { dtype = "bool" })
                check.equal(np[name](np.full({ 300, 300 }, 300, { dtype = "f16" }), { where = mask }):item(), 300)
            end,
        },
    })
end

for _, name in ipairs { "var", "std", "nanvar", "nanstd" } do
    reduction("np." .. name, {
        accepts = "floats ints bool complex", complex_slopes = true, gives = real_part,
        oracle = ("reduced(np.%s, x, where, o)"):format(name),
        x = { "x", from = -200, to = 300, special = of_floats { NAN, INF, 20000 } },
        options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true }, { where = true },
                    { axis = -1, correction = 1 },
                    { ddof = 1 }, { where = true, correction = 1, axis = 0 }, { correction = 0.5 } },
        within = { f64 = "rel 1e-13", f32 = "rel 1e-5" },
        divided = { f64 = "rel 1e-12", f32 = "rel 1e-5", f16 = "ulp 1", bf16 = "ulp 1" },
        slope = 1e-5, smooth = 3,
        also = {
            ["complex numbers with a mask"] = function()
                local x = np.array { 1, 1i, 9 }
                local y = np[name](x, { where = np.array { true, true, false } })
                check.equal(y.dtype, "f32")
                check.ok(math.abs(y:item() - (name:find "std" and math.sqrt(0.5) or 0.5)) < 1e-6, tostring(y))
            end,
        },
    })
end

-- ---- Logarithms of sums ---------------------------------------------------------------------------------------------

of("np.logsumexp", {
    args = { "x" }, accepts = "floats ints bool",
    shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } }, { {} }, { { 1 } }, { { 0 } } },
    oracle = "log_sum(x, o)", options = { {}, { axis = 0 }, { axis = { -1, 0 }, keepdims = true } },
    within = { f64 = "mixed 1e-14", f32 = "mixed 2e-6" },
    divided = { f64 = "mixed 1e-14", f32 = "mixed 2e-6", f16 = "ulp 1",
                                                                bf16 = "ulp 1" },
    derivative = "jsp.logsumexp(x)", uneven = true,
    points = { { { -INF, 0, 1 } }, { { 0, -INF, 1 } }, { { 1000, 1000, 0 } }, { { -1000, -1001, -INF } } },
})

of("np.logcumsumexp", {
    args = { "x" }, accepts = "floats ints bool",
    shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } }, { {} }, { { 1 } }, { { 0 } } },
    oracle = "log_cumulative_sum(x, o)", options = { {}, { axis = 0 }, { axis = -1 } },
    within = { f64 = "mixed 1e-14", f32 = "mixed 2e-6" },
    derivative = "jax.lax.cumlogsumexp(x)", uneven = true,
    points = { { { -INF, 0, 1 } }, { { 0, -INF, 1 } }, { { 1000, 1000, 0 } } },
})

for _, name in ipairs { "softmax", "log_softmax" } do
    of("np." .. name, {
        args = { "x" }, accepts = "floats ints bool",
        shapes = { { { 2, 3 } }, { { 2, 2, 3 } }, { { 5 } }, { { 1 } }, { { 0 } } },
        oracle = ("nn.%s(x, axis=o.get('axis', -1)) if x.size else x"):format(name),
        options = { {}, { axis = 0 }, { axis = 1 } },
        within = { f64 = "mixed 1e-14", f32 = "mixed 2e-6" },
        divided = { f64 = "mixed 1e-14", f32 = "mixed 2e-6", f16 = "ulp 1", bf16 = "ulp 1" },
        derivative = ("nn.%s(x) * jnp.array([1., 3., 7.])"):format(name), uneven = true,
    })
end

of("np.nan_to_num", {
    args = { "x" }, accepts = "floats ints bool complex", gives = "same",
    oracle = "np.nan_to_num(x, **o) if o else finite(x)", shapes = { { { 2, 3 } }, { { 5 } }, { {} }, { { 0 } } },
    options = { { nan = 2, posinf = 9, neginf = -9 } },
})

finish()
