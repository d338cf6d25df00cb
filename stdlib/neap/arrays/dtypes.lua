--- dtypes.lua: questions about dtypes, their names, and the bits of arrays as another dtype.
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np, C, ffi = core.np, core.C, require "ffi"
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local is_array, dtypes, codes = core.is_array, core.dtypes, core.dtype_codes

--- np.float16, np.bfloat16, np.float32, np.float64, np.complex64, np.complex128, np.int8, np.int16, np.int32, np.int64,
-- np.uint8, np.uint16, np.uint32, np.uint64, np.bool, np.bool_ -> string: the names of the dtypes, as x.dtype gives
-- them.
--- > np.zeros(2, {dtype=np.int32}).dtype == np.int32
-- true
--- > np.float16 .. " " .. np.bfloat16 .. " " .. np.float32 .. " " .. np.float64
-- f16 bf16 f32 f64
--- > np.complex64 .. " " .. np.complex128
-- c64 c128
--- > np.int8 .. " " .. np.int16 .. " " .. np.int64 .. " " .. np.bool .. " " .. np.bool_
-- i8 i16 i64 bool bool
--- > np.uint8 .. " " .. np.uint16 .. " " .. np.uint32 .. " " .. np.uint64
-- u8 u16 u32 u64
for name, of in pairs {
    float32 = "f32", float64 = "f64", float16 = "f16", bfloat16 = "bf16", int8 = "i8", int16 = "i16", int32 = "i32",
    int64 = "i64", uint8 = "u8", uint16 = "u16", uint32 = "u32", uint64 = "u64", bool = "bool", bool_ = "bool",
    complex64 = "c64", complex128 = "c128",
} do np[name] = of end

--- The dtype that an argument says: a name, or an array's. `like` is what else it may be.
local function dtype_argument(name, position, value, like)
    if is_array(value) then return core.dtype_of(value) end
    if type(value) ~= "string" then
        bad_argument(name, position, "dtype", "a dtype name" .. (like or "") .. " or an array", value)
    end
    return dtypes[core.dtype(name, value)]
end

-- ---- Which dtype meets which ----------------------------------------------------------------------------------------

local function is_number(value)
    return type(value) == "number" or type(value) == "boolean" or core.complex.is(value)
end

--- The dtype that a number alone has.
local function of_number(value)
    return dtypes[type(value) == "boolean" and codes.bool or core.complex.is(value) and codes.c64 or codes.f32]
end

--- The complex dtype whose parts are as wide as a real number of this dtype.
local function complex_of(dtype)
    return dtypes[C.neap_dtype_promote(codes[dtype.real], codes.c64)]
end

--- Whether a dtype is what a number becomes without leaving it.
local function holds(dtype, value)
    if type(value) == "boolean" or dtype.inexact then return true end
    return value == math.floor(value)
end

--- What stands for an argument: for what is weak, a number of its kind; for a 64-bit integer its dtype.
local function number_for(value)
    if not core.is_array(value) then
        local wide = core.integer64(value)
        return wide and dtypes[wide].name or value
    end
    local known = core.info(value)
    local kind = known.weak ~= 0 and known.weak or known.yields
    if kind == 0 or core.dtype_of(value).kind == "c" then return value end
    if known.weak ~= 0 then core.number_decides(value) end
    return kind == 2 and 0.5 or 0
end

--- np.result_type(…) -> string: the dtype of what is computed of these: arrays, names of dtypes, numbers and booleans.
-- Numbers are weak: they take the dtype of what they meet, but a fraction makes f32 of integers (f64 of i64 and u64),
-- and a whole number i32 of bool.
--- > np.result_type("i32", "f16"), np.result_type(np.arange(3), 0.5), np.result_type("u8", "i8", 1)
-- f16
-- f32
-- i16
function np.result_type(...)
    local n, found = select("#", ...), nil
    local values = { ... }
    for k = 1, n do values[k] = number_for(values[k]) end
    if n == 0 then raise("result_type", "needs at least one array, dtype or number") end
    for k = 1, n do
        local value = values[k]
        if not is_number(value) then
            local dtype = dtype_argument("result_type", k, value, ", a number")
            found = found and dtypes[C.neap_dtype_promote(found.code, dtype.code)] or dtype
        end
    end
    local met = found
    for k = 1, n do
        local value = values[k]
        if is_number(value) then
            if not met then
                found = found and dtypes[C.neap_dtype_promote(found.code, of_number(value).code)] or of_number(value)
            elseif core.complex.is(value) then
                found = complex_of(found)
            elseif found.kind ~= "c" and not holds(met, value) then
                found = dtypes[codes[met.real]]
            elseif met.kind == "b" and found.kind == "b" and type(value) == "number" then
                found = dtypes[codes.i32]
            end
        end
    end
    return found.name
end

--- np.promote_types(dtype, other) -> string: the least dtype that both become where arrays of them meet.
--- > np.promote_types("u8", "i8"), np.promote_types("f16", "bf16"), np.promote_types("i64", "f32")
-- i16
-- f32
-- f32
function np.promote_types(dtype, other)
    return dtypes[C.neap_dtype_promote(dtype_argument("promote_types", 1, dtype).code,
                                       dtype_argument("promote_types", 2, other).code)].name
end

local RANK = { b = 0, u = 1, i = 2, f = 3, c = 4 }

--- Whether each number of one dtype is one of the other. (i64 and u64 to f64 count as such, as in NumPy.)
local function is_safe(from, to)
    if from == to or from.kind == "b" then return true end
    if to.kind == "b" or RANK[from.kind] > RANK[to.kind] then return false end
    if from.inexact then return from.digits <= to.digits and from.bits < to.bits end
    return from.digits <= to.digits or to.digits == dtypes[codes.f64].digits
end

local casting_rules = {
    no = function(from, to) return from == to end,
    equiv = function(from, to) return from == to end,
    safe = is_safe,
    same_kind = function(from, to) return is_safe(from, to) or RANK[from.kind] <= RANK[to.kind] end,
    unsafe = function() return true end,
}

--- np.can_cast(from, to, {casting="safe"}) -> boolean: whether a dtype (or an array's) may be cast to another.
--- casting: "safe": each number stays what it is (64-bit integers may become f64); "same_kind": also within floats,
-- within integers, and from these to floats; "no" and "equiv": only to itself; "unsafe": always
--- > np.can_cast("i8", "i32"), np.can_cast("f32", "i32"), np.can_cast("f64", "f32", {casting="same_kind"})
-- true
-- false
-- true
function np.can_cast(from, to, given)
    from, to = dtype_argument("can_cast", 1, from), dtype_argument("can_cast", 2, to)
    if type(given) == "string" then given = { casting = given } end
    local casting = options("can_cast", given, { casting = true }).casting or "safe"
    local rule = casting_rules[casting]
    if not rule then
        bad_argument("can_cast", nil, "casting", '"no", "equiv", "safe", "same_kind" or "unsafe"', casting)
    end
    return rule(from, to)
end

-- ---- Kinds ----------------------------------------------------------------------------------------------------------

-- The names of sets of dtypes: those of the array standard, and NumPy's.
local kinds = {
    bool = "b", ["signed integer"] = "i", ["unsigned integer"] = "u", integral = "ui", ["real floating"] = "f",
    ["complex floating"] = "c", numeric = "uifc",
    signedinteger = "i", unsignedinteger = "u", integer = "ui", floating = "f", complexfloating = "c", inexact = "fc",
    number = "uifc", generic = "buifc",
}

--- np.integer, np.signedinteger, np.unsignedinteger, np.floating, np.inexact, np.number, np.generic -> string: the
-- names of sets of dtypes, for np.isdtype and np.issubdtype: "integer", "floating" and so on.
--- > np.issubdtype("i32", np.integer), np.issubdtype("u8", np.signedinteger), np.issubdtype("u8", np.unsignedinteger)
-- true
-- false
-- true
--- > np.issubdtype("i32", np.inexact), np.issubdtype("i32", np.number), np.issubdtype("bool", np.generic)
-- false
-- true
-- true
--- > np.issubdtype("bf16", np.floating)
-- true
for _, name in ipairs { "integer", "signedinteger", "unsignedinteger", "floating", "inexact", "number", "generic" } do
    np[name] = name
end

local function is_kind(name, dtype, kind, position)
    if type(kind) == "table" then
        for k = 1, #core.list(name, "the table of kinds", kind) do
            if is_kind(name, dtype, kind[k], position) then return true end
        end
        return false
    end
    if type(kind) == "string" and codes[kind] then return codes[kind] == dtype.code end
    local set = type(kind) == "string" and kinds[kind]
    if not set then
        bad_argument(name, position, "kind",
                     'a dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating", '
                     .. '"complex floating", "numeric" or a table of these', kind)
    end
    return set:find(dtype.kind, 1, true) ~= nil
end

--- np.isdtype(dtype, kind), np.issubdtype(dtype, kind) -> boolean: whether a dtype (or an array's) is of a kind:
-- "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric", a dtype, or
-- a table of these; NumPy's "integer", "floating", … are understood, too.
--- > np.isdtype("u8", "integral"), np.isdtype("f16", {"bool", "integral"}), np.issubdtype("f16", np.floating)
-- true
-- false
-- true
for _, name in ipairs { "isdtype", "issubdtype" } do
    np[name] = function(dtype, kind) return is_kind(name, dtype_argument(name, 1, dtype), kind, 2) end
end

-- ---- Limits ---------------------------------------------------------------------------------------------------------

local function limit(text, kind)
    return ffi.cast(kind == "u" and "uint64_t" or "int64_t", text)
end

--- np.iinfo(dtype) -> table: the limits of an integer dtype (or an array's): {bits, min, max, dtype}. Those of 64 bits
-- are LuaJIT's own 64-bit integers, as numbers do not have them.
--- > np.iinfo("i16").max, np.iinfo("u8").bits, np.iinfo("i64").max
-- 32767
-- 8
-- 9223372036854775807LL
function np.iinfo(dtype)
    local row = dtype_argument("iinfo", 1, dtype)
    if not row.lowest then raise("iinfo", "needs an integer dtype, got %s", row.name) end
    local lowest, highest = row.lowest, row.highest
    if row.bits == 64 then
        lowest = limit(row.kind == "u" and 0 or 0x8000000000000000ULL, row.kind)
        highest = limit(row.kind == "u" and 0xffffffffffffffffULL or 0x7fffffffffffffffULL, row.kind)
    end
    return { bits = row.bits, min = lowest, max = highest, dtype = row.name }
end

--- The distance from 1 to the next number of a dtype of floats, or of the parts of one of complex numbers, by its name.
function core.eps(name)
    return 2 ^ (1 - dtypes[codes[dtypes[codes[name]].part]].digits)
end

--- np.finfo(dtype) -> table: the limits of a float dtype (or an array's): {bits, eps, epsneg, max, min,
-- smallest_normal, tiny, smallest_subnormal, nmant, precision, resolution, dtype}. eps is the distance from 1 to the
-- next number, epsneg to the one before; tiny is smallest_normal; precision counts decimal digits. Of complex dtypes
-- these are the limits of their parts.
--- > np.finfo("f32").eps, np.finfo("f64").bits, np.finfo("f16").max, np.finfo("bf16").dtype
-- 1.1920928955078e-07
-- 64
-- 65504
-- bf16
function np.finfo(dtype)
    local row = dtype_argument("finfo", 1, dtype)
    if not row.inexact then raise("finfo", "needs a float dtype, got %s", row.name) end
    row = dtypes[codes[row.part]]
    local eps, exponent = core.eps(row.name), 2 ^ (row.bits - row.digits - 1) - 1
    local largest, normal = (2 - eps) * 2 ^ exponent, 2 ^ (1 - exponent)
    local precision = math.floor((row.digits - 1) * math.log10(2))
    return {
        bits = row.bits, eps = eps, epsneg = eps / 2, max = largest, min = -largest, smallest_normal = normal,
        tiny = normal, smallest_subnormal = normal * eps, nmant = row.digits - 1, precision = precision,
        resolution = 10 ^ -precision, dtype = row.name,
    }
end

-- ---- The same bits --------------------------------------------------------------------------------------------------

--- A dtype whose elements have bits that mean something alone.
local function plain_dtype(name, dtype)
    local row = dtypes[core.dtype(name, dtype) or bad_argument(name, 2, "dtype", "a dtype name", dtype)]
    return row
end

--- np.bitcast(x, dtype): the bits of x as another dtype, as jax.lax.bitcast_convert_type gives them. Narrower elements
-- lie along a new last axis, the lowest bits first; to a wider dtype the last axis of x goes away, which must have as
-- many elements as one of those takes. A bool has the bits of a u8 that is 0 or 1; bits that are not 0 are true.
--- > np.bitcast(np.array{1, -2}, "u32"), np.bitcast(np.array(1), "u8")
-- [1065353216 3221225472]
-- [  0   0 128  63]
core.define("bitcast", function(x, dtype)
    x = coerce("bitcast", 1, x)
    local row = plain_dtype("bitcast", dtype)
    if row == core.dtype_of(x) then return x end
    if core.dtype_of(x).kind == "b" then return np.bitcast(np.astype(x, "u8"), dtype) end
    if row.kind == "b" then return np.astype(np.bitcast(x, "u8"), "bool") end
    core.attrs[0] = row.code
    return core.record1(core.ids.bitcast, x, 1)
end)

--- x:view(dtype): the bits of x as another dtype, as NumPy's x.view gives them: elements of another size are more, or
-- fewer, along the last axis. (x:reshape gives another shape.)
--- > np.array{1, -2}:view("u32"), np.array{1}:view("u8"), np.array({0, 16256}, {dtype="u16"}):view("f32")
-- [1065353216 3221225472]
-- [  0   0 128  63]
-- [1.]
function core.methods.view(x, dtype, ...)
    x = coerce("view", 1, x)
    if type(dtype) == "number" or type(dtype) == "table" then
        raise("view", "argument 2 must be a dtype name; x:reshape(…) gives another shape")
    end
    local row, own, dims = plain_dtype("view", dtype), core.dtype_of(x), core.shape_of(x)
    if select("#", ...) > 0 then
        raise("view", "takes a dtype alone, got also %s; x:reshape(…) gives another shape", core.describe((...)))
    end
    if row.bytes == own.bytes then return np.bitcast(x, dtype) end
    local last = dims[#dims]
    if not last then raise("view", "a 0-d array has no axis along which elements of another size would lie") end
    if row.bytes < own.bytes then
        dims[#dims] = last * own.bytes / row.bytes
        return np.reshape(np.bitcast(x, dtype), dims)
    end
    local each = row.bytes / own.bytes
    if last % each ~= 0 then
        raise("view", "the last axis, of %d %s elements, is not a number of %s", last, own.name, row.name)
    end
    dims[#dims], dims[#dims + 1] = last / each, each
    return np.bitcast(np.reshape(x, dims), dtype)
end

-- ---- Shapes, and what there is --------------------------------------------------------------------------------------

--- np.broadcast_shapes(…) -> table: the shape that shapes (tables or integers) broadcast to.
--- > #np.broadcast_shapes({3, 1}, {4}, 1), np.broadcast_shapes({3, 1}, {4})[2]
-- 2
-- 4
function np.broadcast_shapes(...)
    local list = { ... }
    for k = 1, #list do list[k] = (shape.arguments("broadcast_shapes", list[k])) end
    return shape.broadcast("broadcast_shapes", unpack(list))
end

local function names_of_kind(kind)
    local found = {}
    for code = 0, #dtypes do
        local row = dtypes[code]
        if kind == nil or is_kind("dtypes", row, kind, 1) then found[row.name] = row.name end
    end
    return found
end

local info = {}

--- What the array standard asks for: none of its limits but this.
function info.capabilities()
    return { ["boolean indexing"] = true, ["data-dependent shapes"] = true, ["max dimensions"] = core.MAX_DIMS }
end
function info.default_device() return "cpu:0" end
function info.default_dtypes()
    return { ["real floating"] = "f32", ["complex floating"] = "c64", integral = "i32", indexing = "i32" }
end
function info.dtypes(given)
    return names_of_kind(options("dtypes", given, { kind = true, device = true }).kind)
end
function info.devices()
    local list = {}
    for k, device in ipairs(np.devices()) do list[k] = tostring(device) end
    return list
end

--- np.__array_namespace_info__() -> table: what the array standard asks of a library: functions capabilities(),
-- default_device(), default_dtypes(), dtypes{kind=…} and devices().
--- > np.__array_namespace_info__().default_dtypes().integral
-- i32
function np.__array_namespace_info__() return info end
