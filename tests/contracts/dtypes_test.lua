--- dtypes_test.lua: contracts of dtypes and casts (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local core = require "neap.core"
local of, finish, _, elsewhere = require "tests.lib.contracts" "dtypes"

local TAKES_NONE = "it gives no array, and takes none that counts"

--- Questions, which give texts, numbers and booleans.
local function asked(name, options, oracle, more)
    local contract = {
        args = {}, accepts = "f32", shapes = { {} }, special = false, options = options, oracle = oracle,
            any_dtype = true,
        call = function(f, o)
            local given = { unpack(o.args) }
            if o.nonsense then given[#given + 1] = { nonsense = 1 } end
            return f(unpack(given))
        end,
        without = { special = TAKES_NONE, strided = TAKES_NONE, numbers = TAKES_NONE, vmap = TAKES_NONE,
                    mesh = TAKES_NONE, derivatives = TAKES_NONE, jit = TAKES_NONE, programs = TAKES_NONE },
    }
    for field, value in pairs(more or {}) do contract[field] = value end
    if contract.integers then contract.without.integers, contract.integers = contract.integers, nil end
    of(name, contract)
end

local NAMES = { "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64",
    "c128" }

-- ---- Which dtype meets which ----------------------------------------------------------------------------------------

local each = {}
for k, name in ipairs(NAMES) do each[k] = { args = { name } } end

--- f of a dtype and every one: the answers as one text.
local function with_all(extra)
    return function(f, o)
        local words = {}
        for k, name in ipairs(NAMES) do
            local given = { o.args[1], name, extra and extra(o) or o.nonsense and { nonsense = 1 } or nil }
            words[k] = tostring(f(unpack(given)))
        end
        return table.concat(words, " ")
    end
end

asked("np.promote_types", each, "' '.join(promoted(o['args'][0], b) for b in NAMES)", {
    call = with_all(),
    refuses = { { "dtype", function() np.promote_types("i33", "f32") end }, { "dtype", function() np.promote_types(1,
        "f32") end } },
    also = { ["arrays say their dtypes"] = function()
        check.equal(np.promote_types(np.zeros(1), np.arange(1)), "f32")
    end },
})

local weak = {}
for _, name in ipairs(NAMES) do
    for _, number in ipairs { 1, 0.5 } do weak[#weak + 1] = { args = { name, number } } end
end
weak[#weak + 1] = { args = { "u8", "i8", 1 } }
weak[#weak + 1] = { args = { "i32", "f16" } }
asked("np.result_type", weak, "resulting(*o['args'])", {
    integers = "5LL is i64, where 5 is weak, as the test below has it",
    refuses = { { "at least one", function() np.result_type() end } },
    also = { ["numbers alone, bools, complex numbers, arrays and what is weak"] = function()
        check.equal({ np.result_type(1), np.result_type(0.5), np.result_type(true), np.result_type(1i) },
                    { "f32", "f32", "bool", "c64" })
        check.equal({ np.result_type("i64", 1i), np.result_type("f64", 1i), np.result_type("bool", true) },
                    { "c128", "c128", "bool" })
        check.equal({ np.result_type("i32", 5LL), np.result_type("u8", 5ULL), np.result_type(5LL) },
                    { "i64", "u64", "i64" })
        check.equal({ np.result_type(np.arange(2), 0.5), np.result_type("i32", 0 / 0) }, { "f32", "f32" })
        local mask = np.array { true, false }
        check.equal({ np.result_type(np.where(mask, 1, 0), "i16"), np.result_type(np.where(mask, 0.5, 0), "i64") },
                    { "i16", "f64" })
    end },
})

local casts = {}
for _, name in ipairs(NAMES) do casts[#casts + 1] = { args = { name } } end
for _, rule in ipairs { "no", "equiv", "safe", "same_kind", "unsafe" } do
    for _, name in ipairs { "bool", "u8", "i32", "i64", "f16", "f64", "c64" } do
        casts[#casts + 1] = { args = { name }, casting = rule }
    end
end
asked("np.can_cast", casts, "' '.join(castable(o['args'][0], b, o.get('casting', 'safe')) for b in NAMES)", {
    call = with_all(function(o)
        return (o.casting or o.nonsense) and { casting = o.casting, nonsense = o.nonsense } or nil
    end),
    refuses = { { "casting", function() np.can_cast("i8", "i32", { casting = "maybe" }) end } },
})

local kinds = {}
for k, kind in ipairs { "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
                        "numeric" } do
    kinds[k] = { args = { kind } }
end
for _, name in ipairs { "isdtype", "issubdtype" } do
    asked("np." .. name, kinds, "' '.join(str(jnp.isdtype(kind_of(n), o['args'][0])).lower() for n in NAMES)", {
        call = function(f, o)
            local words = {}
            for k, dtype in ipairs(NAMES) do words[k] = tostring(f(dtype, o.args[1], o.nonsense and { nonsense = 1 }
                or nil)) end
            return table.concat(words, " ")
        end,
        refuses = { { "kind", function() np[name]("f32", "kind of") end }, { "dtype", function() np[name]("f", "bool")
            end } },
        also = { ["dtypes, tables and NumPy's names"] = function()
            check.equal({ np[name]("u8", { "bool", "integral" }), np[name]("f16", "f16"), np[name]("f16", "f32") },
                        { true, true, false })
            for _, case in ipairs { { "i32", np.integer, true }, { "u8", np.signedinteger, false },
                                    { "u8", np.unsignedinteger, true }, { "c64", np.inexact, true },
                                    { "bool", np.number, false }, { "bool", np.generic, true },
                                    { "bf16", np.floating, true }, { "c64", "complexfloating", true } } do
                check.equal(np[name](case[1], case[2]), case[3], case[1] .. " " .. case[2])
            end
            check.equal(np[name](np.zeros(1), "real floating"), true)
        end },
    })
end

-- ---- Limits ---------------------------------------------------------------------------------------------------------

local function fields_of(...)
    local names = { ... }
    return function(f, o)
        local facts, list = f(o.args[1], o.nonsense and { nonsense = 1 } or nil), {}
        for k, name in ipairs(names) do list[k] = tostring(facts[name]):gsub("U?LL$", "") end
        return table.concat(list, " ")
    end
end

local integers = {}
for _, name in ipairs(NAMES) do
    if name:find "^[iu]" then integers[#integers + 1] = { args = { name } } end
end
asked("np.iinfo", integers,
    "' '.join(str(int(getattr(np.iinfo(numpy_of(o['args'][0])), n))) for n in ('bits', 'min', 'max'))", {
    call = fields_of("bits", "min", "max"),
    refuses = { { "integer dtype", function() np.iinfo "f32" end } },
})

asked("np.finfo", { { args = { "f16" } }, { args = { "bf16" } }, { args = { "f32" } }, { args = { "f64" } },
                    { args = { "c64" } }, { args = { "c128" } } }, "limits(o['args'][0])", {
    within = "rel 2e-3", -- the resolution of NumPy is rounded to the dtype; all else are powers of 2
    call = function(f, o)
        local facts, list = f(o.args[1], o.nonsense and { nonsense = 1 } or nil), {}
        for k, name in ipairs { "bits", "eps", "epsneg", "max", "min", "smallest_normal", "tiny", "smallest_subnormal",
                                "nmant", "precision", "resolution" } do
            list[k] = np.array(facts[name], { dtype = "f64" })
        end
        return unpack(list)
    end,
    refuses = { { "float dtype", function() np.finfo "i32" end } },
})

asked("np.broadcast_shapes", { { args = { { 3, 1 }, { 4 }, 1 } }, { args = { { 2, 3 } } }, { args = { { 0 }, { 1 } } },
                               { args = { {}, {} } }, { args = { { 5, 1, 1 }, { 2, 1 }, { 4 } } } },
      "str(list(np.broadcast_shapes(*(tuple(s) if isinstance(s, (tuple, dict)) else s for s in o['args']))))", {
    call = function(f, o)
        local given = { unpack(o.args) }
        if o.nonsense then given[#given + 1] = { nonsense = 1 } end
        return "[" .. table.concat(f(unpack(given)), ", ") .. "]"
    end,
    refuses = { { "broadcast", function() np.broadcast_shapes({ 2 }, { 3 }) end } },
    also = { ["64-bit extents"] = function() check.equal(np.broadcast_shapes({ 2LL, 1 }, { 3 }), { 2, 3 }) end },
})

-- ---- The same bits, and the same values -----------------------------------------------------------------------------

of("np.bitcast", {
    args = { "x" }, accepts = "i32 u8 i8 u32 i16 u16 i64 u64", shapes = { { { 2, 4 } }, { { 3 } }, { { 0 } }, { {} } },
    options = { { to = "u8" }, { to = "f32" }, { to = "u32" }, { to = "i16" }, { to = "bf16" }, { to = "f16" } },
    gives = function(_, o) return o.to end,
    call = function(f, o, x) return f(x, o.to, o.nonsense and o) end,
    oracle = "np.asarray(jax.lax.bitcast_convert_type(jnp.asarray(x), kind_of(o['to']))).astype(wide_of(o['to']))",
    within = "exact", special = false,
    without = { special = "bits are moved, whatever they mean", derivatives = "bits have no derivative" },
    refuses = { { "dtype", function() np.bitcast(np.zeros(2)) end },
                { "np.bitcast: ", function() np.bitcast(np.zeros(3, { dtype = "u8" }), "f32") end } },
    also = { ["there and back, for every dtype"] = function()
        local x = np.array({ 0, 1, 2, 127, 128, 255, 64, 32, 3, 5, 7, 11, 13, 17, 19, 23 }, { dtype = "u8" })
        for _, name in ipairs(NAMES) do
            if name ~= "bool" then
                local row = core.dtypes[core.dtype_codes[name]]
                local there = np.bitcast(row.bytes == 1 and x or x:reshape(16 / row.bytes, row.bytes), name)
                check.equal({ there.dtype, there.size }, { name, 16 / row.bytes })
                check.equal(np.bitcast(there, "u8"):reshape(-1):totable(), x:totable(), name)
                check.equal(x:view(name):view "u8":totable(), x:totable(), "view of " .. name)
            end
        end
        local bools = np.array { true, false }
        check.equal(np.bitcast(bools, "u8"):totable(), { 1, 0 })
        check.equal(np.bitcast(bools, "i8").dtype, "i8")
        check.equal(np.bitcast(np.array({ 0, 1, 2 }, { dtype = "u8" }), "bool"):totable(), { false, true, true })
        check.equal(bools:view "u8":totable(), { 1, 0 })
    end },
})

of("x.view", {
    args = { "x" }, accepts = "i32 u8 i8 u32 i16 u16 i64 u64", shapes = { { { 2, 8 } }, { { 8 } }, { { 0 } } },
    options = { { to = "u8" }, { to = "f32" }, { to = "u32" }, { to = "i64" }, { to = "i16" }, { to = "f16" },
                { to = "f64" } },
    gives = function(_, o) return o.to end,
    call = function(_, o, x)
        if o.nonsense then return x:view(o.to, o) end
        return x:view(o.to)
    end,
    oracle = "np.ascontiguousarray(x).view(numpy_of(o['to']))", within = "exact", special = false,
    without = { special = "bits are moved, whatever they mean", derivatives = "bits have no derivative" },
    refuses = { { "reshape", function() np.zeros(2):view { 2 } end }, { "0%-d", function() np.array(1):view "u8" end },
                { "last axis", function() np.zeros(3, { dtype = "u8" }):view "f32" end } },
})

local to = { { to = "f64" } }
for _, name in ipairs(NAMES) do
    if name ~= "f64" then to[#to + 1] = { to = name } end
end
to[#to + 1] = { to = "f64", copy = true }
to[#to + 1] = { to = "f64", device = "cpu:0" }
of("np.astype", {
    args = { "x" }, accepts = "f64 f32 halves i32 u8 i64 i8 i16 u16 u32 u64 bool", options = to, within = "exact",
    gives = function(_, o) return o.to end,
    call = function(f, o, x)
        return f(x, o.to, (o.copy or o.device or o.nonsense) and { copy = o.copy, device = o.device,
            nonsense = o.nonsense })
    end,
    oracle = "cast(x, o['to'])",
    refuses = { { "dtype", function() np.astype(np.zeros(1), "i33") end }, { "dtype", function()
        np.astype(np.zeros(1)) end },
                { "imaginary", function() np.astype(np.array(1i), "f32") end } },
    also = { ["ends of integers, from every float"] = function()
        for _, from in ipairs { "f64", "f32", "f16", "bf16" } do
            local x = np.array({ 0 / 0, math.huge, -math.huge, -0.0, 1.9, -1.9, 300, -300 }, { dtype = from })
            check.equal(x:astype "u8":totable(), { 0, 255, 0, 0, 1, 0, 255, 0 }, from)
            check.equal(x:astype "i8":totable(), { 0, 127, -128, 0, 1, -1, 127, -128 }, from)
            check.equal(x:astype "i64":totable()[2], 0x7fffffffffffffffLL, from)
            check.equal(x:astype "u64":totable()[2], -1ULL, from)
            check.equal(x:astype "bool":totable()[4], false, from)
        end
        check.equal(np.array({ 2LL ^ 24 + 1, 2LL ^ 53 + 1 }):astype "f32":totable(), { 2 ^ 24, 2 ^ 53 })
        check.equal(np.array({ 1, 2i }):astype "c128":totable()[2], 2i)
        check.equal(np.array({ 0, 2i }):astype "bool":totable(), { false, true })
    end, ["the method"] = function()
        check.equal(np.array { 1.7 }:astype("i32"):totable(), { 1 })
    end },
})
elsewhere("x.astype", "tests/contracts/dtypes_test.lua", "np.astype as a method, which is defined together with it")

of("np.stop_gradient", {
    args = { "x" }, accepts = "floats ints bool complex", gives = "same", oracle = "x", within = "exact",
    without = { derivatives = "there is none through it, unlike what differences see" },
    also = { ["no derivative goes through, in trees neither"] = function()
        local x = np.array({ 1, 2 }, { dtype = "f64" })
        check.equal(np.grad(function(v) return (v * np.stop_gradient(v)):sum() end)(x):totable(), { 1, 2 })
        local _, tangent = np.jvp(function(v) return v * np.stop_gradient(v) end, { x }, { np.ones_like(x) })
        check.equal(tangent:totable(), { 1, 2 })
        local tree = np.stop_gradient { a = x, b = { 3, "text" } }
        check.equal({ tree.a:totable(), tree.b }, { { 1, 2 }, { 3, "text" } })
        check.equal(np.grad(function(v) return (np.stop_gradient({ a = v }).a * v):sum() end)(x):totable(), { 1, 2 })
    end },
})

-- ---- What is no function of numbers ---------------------------------------------------------------------------------

local FIELDS = "tests/stdlib/fields_test.lua"
elsewhere("np.float16 np.bfloat16 np.float32 np.float64 np.complex64 np.complex128 np.int8 np.int16 np.int32 np.int64 "
          .. "np.uint8 np.uint16 np.uint32 np.uint64 np.bool np.bool_ np.integer np.signedinteger np.unsignedinteger "
          .. "np.floating np.inexact np.number np.generic np.__array_namespace_info__", FIELDS,
              "names, which are texts")
elsewhere("x.shape x.static_shape x.ndim x.size x.itemsize x.nbytes x.dtype x.weak x.device x.dim np.dim", FIELDS,
          "what an array says of itself, of every dtype, in transforms and on a mesh")
elsewhere("x.item np.item x.totable np.totable x.tostring", FIELDS,
    "elements as values of Lua; golden/printing has texts")
elsewhere("np.frombuffer np.fromfile x.tofile np.tofile x.pointer np.pointer x.dlpack np.dlpack np.from_dlpack", FIELDS,
          "bytes, files and tensors: what is written is read back, of every dtype")
elsewhere("np.process_index np.process_count np.local_devices np.devices np.device", FIELDS,
          "facts of the process; tests/mesh has several processes")
elsewhere("np.default_device", "tests/lazy/devices_test.lua", "where ops run")
elsewhere("x.is_deferred np.is_deferred np.force x.wait np.wait np.wait_all x.delete np.delete x.is_deleted "
          .. "np.is_deleted",
          FIELDS, "when arrays are computed; they change no value")
elsewhere("np.memory np.memory.trim np.memory.reset_peak np.clock", FIELDS, "measurements")

finish()
