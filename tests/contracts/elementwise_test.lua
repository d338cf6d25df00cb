--- elementwise_test.lua: contracts of functions of elements that are made of several ops, of the parts of complex
-- numbers, of short names and of powers (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"
local of, finish, same, elsewhere = require "tests.lib.contracts" "elementwise"

--- What stands behind all arguments where a way tries an option that is not there.
local function surplus(o) return o.nonsense and o or nil end

-- ---- Quotients and parts --------------------------------------------------------------------------------------------

of("np.divmod", {
    args = { { "x", from = -20, to = 20 }, { "y", from = 1, to = 7 } },
    accepts = "floats ints",
    oracle = "divmod_of(x, y)",
    gives = { "same", "same" },
})
of("np.divide", {
    args = { { "x", from = -20, to = 20 }, { "y", from = 1, to = 7 } },
    accepts = "floats ints complex",
    oracle = "x / y",
    within = { f64 = "exact", f32 = "ulp 0.51", f16 = "ulp 0.51", bf16 = "ulp 0.51" },
    unseen = { rounding_mode = "a test of its own holds it, whose results have other dtypes" },
    without = { options = "a test of its own holds rounding_mode, whose results have other dtypes" },
    also = {
        ["np.divide: rounding_mode"] = function()
            for _, dtype in ipairs(cases.dtypes "i32 i64 i8 u8 u64 f32 f64") do
                local unsigned = dtype:sub(1, 1) == "u"
                local x = np.array(unsigned and { 7, 6, 5, 0 } or { 7, -7, 6, -6, 5, -5, 0 }, { dtype = dtype })
                for _, y in ipairs(unsigned and { 2, 3, 7 } or { 2, -2, 3, -3, 7, -7 }) do
                    for mode, f in pairs { trunc = function(v) return v < 0 and math.ceil(v) or math.floor(v) end,
                                           floor = math.floor } do
                        local got, list = np.divide(x, y, { rounding_mode = mode }), {}
                        for k, v in ipairs(x:totable()) do list[k] = f(v / y) + 0 end
                        check.equal(got.dtype, dtype)
                        check.equal((got + 0):totable(), list, mode .. " of " .. dtype)
                        check.equal((np.divide(x, np.full_like(x, y), { rounding_mode = mode }) + 0):totable(), list)
                    end
                end
            end
            local low = bit.lshift(1LL, 63)
            local x = np.array({ low, low, 2LL ^ 53 + 1 }, { dtype = "i64" })
            check.equal(tostring(np.divide(x, np.array({ 2, -1, 3 }, { dtype = "i64" }), { rounding_mode = "trunc" })),
                        "[-4611686018427387904 -9223372036854775808     3002399751580331]")
            check.equal(np.divide(7, 2, { rounding_mode = "trunc" }):item(), 3)
            check.raises(function() np.divide(x, 2, { rounding_mode = "up" }) end, "rounding_mode")
        end,
    },
})
of("np.modf", {
    args = { "x" },
    accepts = "floats ints bool",
    oracle = "np.modf(nearest(x, dtypes['x']))",
    within = "exact",
    gives = { "real", "real" },
})
of("np.frexp", {
    args = { "x" },
    accepts = "floats ints bool",
    oracle = "np.frexp(nearest(x, dtypes['x']))",
    gives = { "real", "i32" },
    within = "exact",
    without = { derivatives = "the exponent jumps; a test of its own holds the mantissa's" },
    also = {
        ["np.frexp: the derivative of the mantissa"] = function()
            local x = np.array({ 3, -0.75, 0.125, 1e-310 }, { dtype = "f64" })
            local g = np.grad(function(at) return (np.frexp(at)):sum() end)(x)
            check.equal(g:totable(), { 0.25, 1, 4, 2 ^ 1029 > 1e309 and 2 ^ 1023 * 2 ^ 6 or 2 ^ 1029 })
        end,
    },
})
of("np.float_power", {
    args = { { "x", from = 0.2, to = 4 }, "y" },
    accepts = "floats ints complex",
    oracle = "np.power(x, y)",
    within = { c64 = "scaled 1e-6", c128 = "scaled 1e-14" },
    derivative = "jnp.power(x, y)",
    points = { { 1, 0 }, { 3, 0 }, { 2, 2 }, { 3, 0.5 } },
})
of("np.nextafter", {
    args = { "x", "y" },
    accepts = "floats",
    oracle = "np.nextafter(own(x, dtypes['x']), own(y, dtypes['x'])).astype(np.float64)",
    within = "ulp 0.51",
    without = { derivatives = "they are 0, which differences of neighbours are not" },
})
of("np.spacing", {
    args = { "x" },
    accepts = "floats ints bool",
    oracle = "spacing(own(x, dtypes['x']))",
    within = "exact",
    derivative = "0 * x",
    points = { { 1 }, { -2.5 }, { 0 } },
})

-- ---- Rounding -------------------------------------------------------------------------------------------------------

of("np.rint", { args = { "x" }, accepts = "floats ints bool complex",
              oracle = "np.rint(nearest(x, dtypes['x']))", within = "exact" })
of("np.fix", { args = { "x" }, accepts = "floats ints bool", oracle = "np.fix(x)", within = "exact", gives = "same" })
of("np.round", {
    args = { { "x", from = -900, to = 900 } },
    accepts = "floats ints complex",
    options = { {}, { decimals = 2 }, { decimals = -2 }, { decimals = 0 } },
    call = function(f, o, x) return f(x, o.decimals, surplus(o)) end,
    oracle = "rounded(x, o.get('decimals', 0), dtypes['x'])",
    gives = "same",
    within = { f64 = "exact", f32 = "exact", c64 = "exact", c128 = "exact" },
    derivative = "0 * x",
    points = { { 1.5, o = { decimals = 1 } }, { 1.5, o = { decimals = -1 } }, { np.inf, o = { decimals = 1 } },
               { 1e308, o = { decimals = 3 } } },
    also = {
        ["np.round: decimals as an option"] = function()
            check.equal(np.round(np.array { 1.26, 2.5 }, { decimals = 1 }):totable(), np.array { 1.3, 2.5 }:totable())
        end,
        ["np.round: bools have no tens"] = function()
            check.equal(np.round(np.array { true }, 1):totable(), { true })
            check.raises(function() np.round(np.array { true }, -1) end, "'decimals' must be 0 or more for .* bools")
        end,
        ["np.round: tens of 64-bit integers"] = function()
            local x = np.array({ 9007199254740995LL, -9007199254740995LL, 25, 35, -25 }, { dtype = "i64" })
            check.equal(tostring(np.round(x, -1)),
                        "[ 9007199254741000 -9007199254741000                20                40\n"
                        .. "               -20]")
        end,
    },
})
same("np.around", "np.round")

-- ---- Choosing -------------------------------------------------------------------------------------------------------

for _, name in ipairs { "isposinf", "isneginf" } do
    of("np." .. name, {
        args = { "x" },
        accepts = "floats ints bool",
        oracle = ("np.%s(x)"):format(name),
        gives = "bool",
        without = { derivatives = "bools have none" },
    })
end
of("np.heaviside", {
    args = { "x", "h" },
    accepts = "floats ints bool",
    oracle = "np.heaviside(x, h)",
    within = "ulp 0.51",
    derivative = "jnp.where(x == 0, h, 0 * x)",
    points = { { 0, 0.5 }, { 1, 0.5 } },
})
of("np.lerp", {
    args = { "a", "b", { "t", from = 0, to = 1 } },
    accepts = "floats ints complex",
    oracle = "lerp(a, b, t, dtypes['a'])",
    within = { f64 = "mixed 2e-15", f32 = "mixed 1e-6", c64 = "scaled 1e-6" },
    derivative = "a + t * (b - a)",
    points = { { 1, 3, 0.5 }, { 1, 3, 0 }, { 2, 2, 1 } },
})
of("np.logaddexp2", {
    args = { "a", "b" },
    accepts = "floats ints bool",
    oracle = "np.logaddexp2(a, b)",
    within = { f64 = "mixed 2e-15", f32 = "mixed 4e-7" },
    derivative = "jnp.logaddexp2(a, b)",
    points = { { 1, 1 }, { 0, 0 }, { 1, 3 }, { -200, 300 }, { 1000, 1000 } },
})

-- ---- Angles ---------------------------------------------------------------------------------------------------------

for name, other in pairs { degrees = "rad2deg", radians = "deg2rad" } do
    of("np." .. name, {
        args = { "x" },
        accepts = "floats ints bool",
        oracle = ("np.%s(x)"):format(name),
    })
    same("np." .. other, "np." .. name)
end
of("np.unwrap", {
    args = { { "x", from = 0, to = 40 } },
    shapes = { { { 6 } }, { { 2, 5 } }, { { 0 } }, { { 1 } } },
    accepts = "floats ints",
    options = { { period = 8 }, {}, { period = 7 }, { period = 8, discont = 6 }, { axis = 0, period = 6 },
                { period = 2.5 } },
    oracle = "unwrapped(x, o, dtypes['x'])",
    gives = function(dtype) return dtype end,
    within = { f64 = "abs 1e-13", f32 = "abs 2e-5", f16 = "ulp 1", bf16 = "ulp 1" },
    any_dtype = true,
    special = false,
    without = { special = "a phase of 1e308 has no place in a period; a test of its own holds NaN" },
    also = {
        ["np.unwrap: NaN"] = function()
            check.equal(np.isnan(np.unwrap(np.array { 0, 1, np.nan, 2 })):totable(), { false, false, true, true })
        end,
    },
})

-- ---- Bits -----------------------------------------------------------------------------------------------------------

of("np.bitwise_count", {
    args = { { "x", from = -300, to = 300 } },
    accepts = "ints bool",
    oracle = "np.bitwise_count(x)",
    gives = "u8",
    without = { derivatives = "integers have none" },
})
of("np.packbits", {
    args = { { "x", from = -1, to = 1 } },
    shapes = { { { 11 } }, { { 3, 9 } }, { { 0 } }, { { 8 } } },
    accepts = "u8 i32 bool i64",
    options = { {}, { axis = 0 }, { bitorder = "little" }, { axis = -1, bitorder = "little" } },
    oracle = "np.packbits((x != 0).astype(np.uint8), **o)",
    gives = "u8",
    without = { derivatives = "integers have none" },
})
of("np.unpackbits", {
    args = { { "x", from = 0, to = 255 } },
    shapes = { { { 3 } }, { { 3, 2 } }, { { 0 } } },
    accepts = "u8",
    options = { {}, { axis = 0 }, { bitorder = "little" }, { count = 10 }, { count = -3 }, { axis = -1, count = 30 } },
    oracle = "np.unpackbits(x, **o)",
    gives = "u8",
    special = false,
    without = { derivatives = "integers have none", special = "all bytes are alike" },
})
elsewhere("np.base_repr np.binary_repr", "tests/stdlib/places_test.lua", "they make texts of Lua's integers")

-- ---- Parts of complex numbers ---------------------------------------------------------------------------------------

elsewhere("x.real x.imag", "tests/golden/complex_test.lua", "fields, which are np.real and np.imag, rows of ops")
same("np.conjugate", "np.conj")
of("np.angle", {
    args = { "x" },
    accepts = "c128 c64 floats ints",
    oracle = "np.angle(x if x.dtype.kind == 'c' else x.astype(np.float64))",
    gives = function(dtype)
        return dtype == "c128" and "f64" or dtype == "c64" and "f32" or np.result_type(dtype, 0.5)
    end,
    within = { f64 = "ulp 4" },
    derivative = "jnp.angle(x)",
    points = { { 2 }, { -2 } },
})
for name, f in pairs { iscomplex = "np.imag(x) != 0", isreal = "np.imag(x) == 0" } do
    of("np." .. name, {
        args = { "x" },
        accepts = "c128 c64 floats ints bool",
        oracle = f,
        gives = "bool",
        without = { derivatives = "bools have none" },
    })
end
for name, what in pairs { iscomplexobj = "x.dtype.kind == 'c'", isrealobj = "x.dtype.kind != 'c'" } do
    of("np." .. name, {
        args = { "x" },
        accepts = "c128 c64 floats ints bool",
        oracle = ("np.float64(%s)"):format(what),
        call = function(f, o, x) return f(x, surplus(o)) and 1 or 0 end,
        gives = "f64",
        within = "exact",
        without = { derivatives = "no array comes out", jit = "no array comes out", programs = "no array comes out",
                    vmap = "no array comes out" },
    })
end

-- ---- Comparisons and powers -----------------------------------------------------------------------------------------

for short, name in pairs { lt = "less", le = "less_equal", gt = "greater", ge = "greater_equal", eq = "equal",
                           ne = "not_equal" } do
    same("np." .. short, "np." .. name)
end
of("np.pow", {
    args = { { "x", from = 1, to = 4 }, { "y", from = 0, to = 5 } },
    accepts = "floats ints complex",
    oracle = "power_of(x, y)",
    gives = "same",
    derivative = "jnp.power(x, y)",
    points = { { 1, 0 }, { 3, 0 }, { 2, 2 }, { 3, 0.5 }, { 0, 2 } },
    without = { options = "a test of its own holds keep_base, whose arguments have two dtypes" },
    also = {
        ["np.pow: keep_base"] = function()
            local function try(base, exponent, want)
                local got = np.pow(base, exponent, { keep_base = true })
                check.equal(got.dtype, base.dtype)
                check.equal(got:totable(), want)
            end
            try(np.array({ 1, 4, 9 }, { dtype = "i32" }), np.array { 0.5, 0.5, 1.5 }, { 1, 2, 27 })
            try(np.array({ 2, 3, 16777217 }, { dtype = "i64" }), np.array({ 2, 3, 1 }, { dtype = "f32" }),
                { 4, 27, 16777217 })
            try(np.array({ 2, 3 }, { dtype = "f16" }), np.array({ 2, 3 }, { dtype = "f64" }), { 4, 27 })
            try(np.array({ 2, 3 }, { dtype = "f32" }), np.array({ 2, -1 }, { dtype = "f64" }),
                np.array { 4, 1 / 3 }:totable())
            try(np.array({ 4, 9 }, { dtype = "i32" }), 0.5, { 2, 3 })
            check.equal(np.pow(np.array({ 2 }, { dtype = "i32" }), np.array { 0.5 }).dtype, "f32")
            check.raises(function() np.pow(np.array { 1 }, 2, { keep = true }) end, "keep")
        end,
    },
})
same("np.power", "np.pow")

finish()
