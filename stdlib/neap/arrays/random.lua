--- random.lua: np.random: random numbers from explicit keys, as in JAX; more distributions stand in distributions.lua.
--
-- A key is a u32 array of shape (2,). The same key always gives the same numbers, on any number of threads; for new
-- numbers, split the key: `local k1, k2 = np.random.split(key):unpack()`. Algorithms and their use of bits are JAX's
-- (threefry, jax_threefry_partitionable=True), so bits, uniform, randint, permutation, split and fold_in equal JAX's
-- for the same key bit by bit; normal and what follows from it agree up to the rounding of the inverse error function.
--
-- The last argument of every function may be a table of options. Shapes are tables, integers, or missing: 0-d.

--- {dtype}: the dtype of the result; for floats f32, f64, f16 or bf16

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local selects = require "neap.arrays.select"

local np = core.np
local raise, bad_argument, options, coerce = core.raise, core.bad_argument, core.options, core.coerce
local is_array, ids, attrs, shape_of = core.is_array, core.ids, core.attrs, core.shape_of
local codes, dtypes = core.dtype_codes, core.dtypes
local floor, tonumber = math.floor, tonumber
local ffi = require "ffi"

local random = {}

-- ---- Keys and bits --------------------------------------------------------------------------------------------------

local function check_key(name, key)
    if not is_array(key) then
        raise("random." .. name, "argument 1 (key) must be a key (np.random.key(seed)), got %s%s", core.describe(key),
              require("neap.core.hints").signature("random." .. name))
    end
    local dims = shape_of(key)
    if core.dtype_of(key).code ~= codes.u32 or #dims ~= 1 or dims[1] ~= 2 then
        local keys = #dims == 2 and dims[2] == 2 and "; keys:unpack() gives the keys one by one" or ""
        raise("random." .. name, "argument 1 (key) must be a key: u32 of shape (2,), got %s of shape %s%s",
              core.dtype_of(key).name, core.shape_text(dims), keys)
    end
    return key
end

--- A shape argument as a table.
local function dims_of(name, dims)
    if dims == nil then return {} end
    return shape.argument("random." .. name, dims)
end

--- The shape of random.NAME, nil where it was left out, and its options.
local function settings(name, dims, given, known)
    if given == nil and type(dims) == "table" and next(dims) ~= nil and #dims == 0 then dims, given = nil, dims end
    local o = options("random." .. name, given, known or { dtype = true })
    return dims ~= nil and dims_of(name, dims) or nil, o
end

--- Shape and options of what is 0-d without a shape.
local function shape_and_options(name, dims, given, known)
    local o
    dims, o = settings(name, dims, given, known)
    return dims or {}, o
end

local function float_dtype(name, value)
    local code = core.dtype("random." .. name, value, codes.f32)
    if dtypes[code].kind ~= "f" then raise("random." .. name, "needs a float dtype, got %s", dtypes[code].name) end
    return dtypes[code]
end

--- Raises for what is no whole number. Of the large ones, which count no elements, all bits are taken.
local function check_whole(name, position, what, value)
    if type(value) ~= "number" or value ~= floor(value) or math.abs(value) == math.huge then
        bad_argument("random." .. name, position, what, "an integer", value)
    end
end

--- np.random.key(seed): the key of an integer seed: the high and low words of its 64 bits, u32 of shape (2,). 64-bit
-- integers of LuaJIT, as 5LL, give all of theirs.
--- > np.random.key(7)
-- [0 7]
function random.key(seed)
    if core.integer64(seed) then
        local words = ffi.new("uint64_t", seed)
        return np.array({ tonumber(words / 0x100000000ULL), tonumber(words % 0x100000000ULL) }, { dtype = "u32" })
    end
    check_whole("key", 1, "seed", seed)
    if math.abs(seed) > 2 ^ 64 then bad_argument("random.key", 1, "seed", "an integer of 64 bits", seed) end
    local high, low = floor(seed / 2 ^ 32) % 2 ^ 32, seed % 2 ^ 32
    return np.array({ high, low }, { dtype = "u32" })
end

local function draw_bits(key, width, dims)
    attrs[0] = width
    core.put_list(1, dims)
    return core.record1(ids.random_bits, key, 1 + #dims)
end

--- np.random.bits(key, shape): u32, all bits random. Without a shape 0-d, as of all that follows.
--- > np.random.bits(np.random.key(0), 2)
-- [4070199207 4202968722]
function random.bits(key, dims)
    check_key("bits", key)
    return draw_bits(key, 32, dims_of("bits", dims))
end

--- np.random.split(key, n): n new keys (2 by default), an array of shape (n, 2). n may be a shape.
--- > k1, k2 = np.random.split(np.random.key(0)):unpack()
--- > k1
-- [1797259609 2579123966]
function random.split(key, n)
    check_key("split", key)
    return draw_bits(key, 64, dims_of("split", n == nil and 2 or n))
end

--- np.random.fold_in(key, data): the key that belongs to an integer (a Lua number or a 0-d array) under this key.
--- > np.random.fold_in(np.random.key(0), 1)
-- [ 928981903 3453687069]
function random.fold_in(key, data)
    check_key("fold_in", key)
    local low
    if core.integer64(data) then data = tonumber(ffi.cast("uint32_t", data)) end
    if core.is_size(data) then data = core.number(data, codes.u32) end
    if type(data) == "number" then
        check_whole("fold_in", 2, "data", data)
        low = np.array({ 0, data % 2 ^ 32 }, { dtype = "u32" })
    else
        data = coerce("random.fold_in", 2, data)
        if core.dtype_of(data).inexact then
            bad_argument("random.fold_in", 2, "data", "an integer", core.dtype_of(data).name)
        end
        if core.ndim(data) ~= 0 then
            raise("random.fold_in", "data must be 0-d, got shape %s", core.shape_text(data))
        end
        low = np.stack { core.number(0, codes.u32), np.astype(data, "u32") }
    end
    return core.record2(ids.threefry, key, low, 0)
end

-- ---- Uniform numbers ------------------------------------------------------------------------------------------------

local UNIFORM, NORMAL, EXPONENTIAL, GUMBEL = 0, 1, 2, 3 -- of the op random_floats

local halves = {} -- by distribution: as the op's, made of ops on halves

local function draw_floats(distribution, key, dims, dtype)
    if dtype.half then return halves[distribution](key, dims, dtype) end
    attrs[0], attrs[1] = distribution, dtype.code
    core.put_list(2, dims)
    return core.record1(ids.random_floats, key, 2 + #dims)
end

--- Uniform in [0, 1): the highest bits of each draw as the fraction of a number in [1, 2), less 1.
local function unit(key, dims, dtype) return draw_floats(UNIFORM, key, dims, dtype) end

--- The floats next to those of an array.
local function above(x) return np.nextafter(x, np.full_like(x, math.huge)) end
local function below(x) return np.nextafter(x, np.full_like(x, -math.huge)) end

--- The number of a dtype of 32 or 64 bits next below a number.
local function last_below(high, dtype)
    if dtype.bits == 32 then high = tonumber(ffi.new("float", high)) end
    local fraction, exponent = math.frexp(high)
    local least = dtype.bits == 32 and -149 or -1074
    local step = 2 ^ (high == 0 and least or math.max(exponent - dtype.digits - (fraction == 0.5 and 1 or 0), least))
    return high == 0 and -step or high - step
end

--- Uniform between two bounds (numbers or arrays).
local function between(key, dims, dtype, low, high)
    local u = unit(key, dims, dtype)
    if type(low) == "number" and type(high) == "number" then
        if low == 0 and high == 1 then return u end
        low, high = core.number(low, dtype.code), core.number(high, dtype.code) -- rounded before they are subtracted
    end
    return np.maximum(u * (high - low) + low, low)
end

--- The highest of the last 16 bits of a draw, as many as the dtype has behind its first one; of the last 8 where those
-- will do.
halves[UNIFORM] = function(key, dims, dtype)
    local digits = dtype.digits - 1
    local width = digits < 8 and 8 or 16
    local bits = np.bitwise_right_shift(np.bitwise_and(draw_bits(key, 32, dims), 2 ^ width - 1), width - digits)
    return np.astype(bits, dtype.name) * 2 ^ -digits
end

halves[NORMAL] = function(key, dims, dtype)
    return np.erf_inv(between(key, dims, dtype, 2 ^ -dtype.digits - 1, 1)) * math.sqrt(2)
end

halves[EXPONENTIAL] = function(key, dims, dtype) return -np.log1p(-unit(key, dims, dtype)) end

halves[GUMBEL] = function(key, dims, dtype)
    local tiny = 2 ^ (2 - 2 ^ (dtype.bits - dtype.digits - 1))
    return -np.log(-np.log(between(key, dims, dtype, tiny, 1)))
end

--- A parameter, given at a position or by the name of an option, as an array of the dtype of the result: numbers,
-- 64-bit integers and tables of them have the digits that it has.
local function parameter(name, position, what, value, dtype)
    if core.is_number(value) then return core.number(value, dtype.code) end
    if is_array(value) then
        if core.dtype_of(value).kind == "c" then
            bad_argument("random." .. name, position, what, "real numbers", core.dtype_of(value).name)
        end
        return np.astype(value, dtype.name)
    end
    if core.integer64(value) or type(value) == "boolean" or type(value) == "table" and getmetatable(value) == nil then
        return np.array(value, { dtype = dtype.name })
    end
    bad_argument("random." .. name, position, what, "a number or an array", value)
end

--- The shape of a draw: as given, if the parameters broadcast to it, or theirs.
local function drawn_shape(name, dims, ...)
    local theirs = {}
    for _, x in ipairs { ... } do theirs = shape.broadcast("random." .. name, theirs, shape_of(x)) end
    if not dims then return theirs end
    local both = shape.broadcast("random." .. name, theirs, dims)
    if not shape.same(both, dims) then
        raise("random." .. name, "parameters of shape %s do not fit into shape %s", core.shape_text(theirs),
              core.shape_text(dims))
    end
    return dims
end

--- A bound: a number, or an array of the dtype.
local function bound(name, option, value, default, dtype)
    if value == nil then return default end
    if type(value) == "number" then return value end
    return parameter(name, nil, option, value, dtype)
end

--- np.random.uniform(key, shape, {minval=0, maxval=1, dtype="f32"}): floats in [minval, maxval). The bounds are numbers
-- or arrays, which broadcast to the shape; without a shape they give it.
--- minval: the lowest value
--- maxval: what values are below; where it is not above minval, the value is minval
--- > np.random.uniform(np.random.key(0), {3})
-- [0.947667   0.9785799  0.33229148]
function random.uniform(key, dims, given)
    check_key("uniform", key)
    local o
    dims, o = settings("uniform", dims, given, { minval = true, maxval = true, dtype = true })
    local dtype = float_dtype("uniform", o.dtype)
    local low, high = bound("uniform", "minval", o.minval, 0, dtype), bound("uniform", "maxval", o.maxval, 1, dtype)
    if rawequal(low, 0) and rawequal(high, 1) then return unit(key, dims or {}, dtype) end
    if type(low) == "number" and type(high) == "number" and not dtype.half and math.abs(high) < math.huge then
        local last = math.max(low, last_below(high, dtype)) -- what was rounded up to the bound becomes this
        return np.minimum(between(key, dims or {}, dtype, low, high), last)
    end
    low, high = parameter("uniform", nil, "minval", low, dtype), parameter("uniform", nil, "maxval", high, dtype)
    dims = drawn_shape("uniform", dims, low, high)
    local x = between(key, dims, dtype, low, high)
    return np.where(np.greater_equal(x, high), np.maximum(below(high), low), x) -- what was rounded up to the bound
end

-- ---- Integers -------------------------------------------------------------------------------------------------------

--- A number limited to [lowest, highest]; highest is nil for dtypes of 64 bits, whose ends no number names.
local function limited(value, lowest, highest)
    if not core.is_number(value) then return value end
    return math.max(lowest, highest and math.min(value, highest) or value)
end

--- An integer array limited to [lowest, highest], which are numbers or, of 64 bits, nil: then to what the dtype has.
local function fitted(x, dtype, lowest, highest)
    local from = core.dtype_of(x)
    if dtype.bits == 64 and from ~= dtype then
        if dtype.kind == "u" and from.kind == "i" then x = np.maximum(x, 0) end
        if dtype.kind == "i" and from.name == "u64" then
            x = np.minimum(x, np.array(0x7fffffffffffffffULL, { dtype = "u64" }))
        end
    end
    if lowest and from.lowest and lowest > from.lowest then x = np.maximum(x, lowest) end
    if highest and from.highest and highest < from.highest then x = np.minimum(x, highest) end
    return np.astype(x, dtype.name)
end

--- A bound of randint as an array of the dtype that is drawn, limited to [lowest, highest].
local function integer_bound(name, position, what, value, dims, dtype, lowest, highest)
    if core.is_size(value) then
        return core.number(core.integer("random." .. name, position, what, value), dtype.code)
    end
    if type(value) == "number" then
        check_whole(name, position, what, value)
        return core.number(value, dtype.code)
    end
    if core.integer64(value) or type(value) == "table" and getmetatable(value) == nil then
        value = np.array(value, type(value) == "table" and { dtype = "i64" } or nil)
    end
    value = coerce("random." .. name, position, value)
    if core.dtype_of(value).inexact then
        raise("random." .. name, "argument %d (%s) must be of integers, got dtype %s", position, what,
              core.dtype_of(value).name)
    end
    return np.broadcast_to(fitted(value, dtype, lowest, highest), dims)
end

--- np.random.randint(key, shape, minval, maxval, {dtype="i32"}): integers in [minval, maxval). Bounds are numbers or
-- integer arrays that broadcast to the shape; what lies outside of the dtype is limited to it. Raises for a number that
-- is not below the other; of arrays the lower bound is drawn there.
--- dtype: an integer dtype
--- > np.random.randint(np.random.key(0), {5}, 1, 7)
-- [2 1 3 2 6]
function random.randint(key, dims, minval, maxval, given)
    check_key("randint", key)
    if maxval == nil then
        raise("random.randint", "takes randint(key, shape, minval, maxval): the shape is missing, or a bound")
    end
    if type(dims) == "number" and type(maxval) == "table" and maxval[2] == nil and dims ~= 1 then -- NumPy's order
        raise("random.randint", "takes randint(key, shape, minval, maxval): the shape {%s} stands last",
              tostring(maxval[1]))
    end
    dims = dims_of("randint", dims)
    minval, maxval = core.plain(minval), core.plain(maxval)
    local o = options("random.randint", given, { dtype = true })
    local result = dtypes[core.dtype("random.randint", o.dtype, codes.i32)]
    if not result.lowest then
        raise("random.randint", "needs an integer dtype, got %s", result.name)
    end
    if core.is_number(minval) and core.is_number(maxval) and minval >= maxval and shape.product(dims) > 0 then
        raise("random.randint", "minval %.14g is not below maxval %.14g", minval, maxval)
    end
    local narrow, inclusive = result.bits < 32, 0 -- drawn as i32, which holds what lies behind the end
    local drawn = narrow and dtypes[codes.i32] or result
    local highest = result.bits < 64 and result.highest or nil
    if highest and not narrow and core.is_number(maxval) and maxval > highest then inclusive = 1 end
    minval = limited(minval, result.lowest, highest)
    maxval = limited(maxval, result.lowest, narrow and highest + 1 or highest)
    local lowest = result.bits < 64 and result.lowest or nil
    local low = integer_bound("randint", 3, "minval", minval, dims, drawn, lowest, highest)
    local high = integer_bound("randint", 4, "maxval", maxval, dims, drawn, lowest, narrow and highest + 1 or highest)
    attrs[0] = inclusive
    core.put_list(1, dims)
    local x = core.recordn(ids.random_integers, { low, high, key }, 3, 1 + #dims)
    return drawn == result and x or np.astype(x, result.name)
end

-- ---- Order and choice -----------------------------------------------------------------------------------------------

local UINT32_MAX = 2 ^ 32 - 1

--- How often n elements are sorted by random bits, so that equal bits cannot matter. Of a size once at least: that
-- does nothing to one element.
local function rounds_of(n)
    local function needed(count) return math.ceil(3 * math.log(math.max(1, count)) / math.log(UINT32_MAX)) end
    if not core.is_size(n) then return needed(n) end
    local rounds = 1
    while true do
        local most = floor(UINT32_MAX ^ (rounds / 3)) + 1 -- elements for which these do
        while needed(most) > rounds do most = most - 1 end
        if n <= most then return rounds end
        rounds = rounds + 1
    end
end

--- A 1-d array of n elements, or 0 … n-1 without it, in random order: sorted by random bits.
local function shuffle(key, n, x)
    for _ = 1, rounds_of(n) do
        local keys = random.split(key)
        key = core.index(keys, 0)
        local order = np.argsort(draw_bits(core.index(keys, 1), 32, { n }))
        x = x and selects.take(x, order, 0) or order
    end
    return x or np.arange(n)
end

--- The lines along an axis, each in an order of its own.
local function shuffle_lines(key, x, dims, axis)
    for _ = 1, rounds_of(x.size) do
        local keys = random.split(key)
        key = core.index(keys, 0)
        local order = np.argsort(draw_bits(core.index(keys, 1), 32, dims), { axis = axis })
        x = np.take_along_axis(x, order, { axis = axis })
    end
    return x
end

--- np.random.permutation(key, n), np.random.permutation(key, x, {axis=0, independent=false}): 0 … n-1 in random order
-- (i32), or x with the parts along an axis in random order.
--- axis: along which parts of x are put in random order
--- independent: true puts each line along the axis in an order of its own
--- > np.random.permutation(np.random.key(0), 5)
-- [0 1 4 3 2]
--- > np.random.permutation(np.random.key(0), np.eye(2), {axis=1})
-- [[1. 0.]
--  [0. 1.]]
function random.permutation(key, x, given)
    check_key("permutation", key)
    local o = options("random.permutation", given, { axis = true, independent = true })
    local axis = o.axis or 0
    x = core.plain(x)
    if core.is_number(x) then
        x = core.integer("random.permutation", 2, "n", x, 0)
        return shuffle(key, x)
    end
    x = coerce("random.permutation", 2, x)
    local dims = shape_of(x)
    axis = core.axis("random.permutation", axis, #dims)
    if #dims == 1 then return shuffle(key, x.size, x) end
    if o.independent then return shuffle_lines(key, x, dims, axis) end
    return selects.take(x, shuffle(key, dims[axis + 1]), axis)
end

--- np.random.choice(key, x, shape, {replace=true, p=…, axis=0}): draws from the parts of x along an axis, or from
-- 0 … x-1; `p` are their probabilities.
--- replace: false draws each part at most once
--- p: the probabilities, an array of the extent of the axis that sums to 1
--- > np.random.choice(np.random.key(0), 10, {3}, {replace=false})
-- [0 1 8]
function random.choice(key, x, dims, given)
    check_key("choice", key)
    local o
    dims, o = shape_and_options("choice", dims, given, { replace = true, p = true, axis = true })
    local n, axis
    x = core.plain(x)
    if core.is_number(x) then
        n, axis = core.integer("random.choice", 2, "x", x), 0
    else
        x = coerce("random.choice", 2, x)
        axis = core.axis("random.choice", o.axis or 0, core.ndim(x))
        n = np.dim(x, axis)
    end
    local count = shape.product(dims)
    if n <= 0 and count > 0 then raise("random.choice", "there is nothing to choose from") end
    if o.replace == false and count > n then
        raise("random.choice", "cannot draw %d of %d without replacement", count, n)
    end
    local picks
    if o.p ~= nil then
        local p = np.ravel(np.array(o.p))
        if p.size ~= n then raise("random.choice", "%d probabilities for %d choices", p.size, n) end
        if o.replace == false then
            local scores = random.gumbel(key, { n }) + np.log(p)
            picks = shape.cut(np.argsort(scores, { descending = true }), 0, 0, count)
        else
            local sums = np.cumsum(p)
            local at = core.index(sums, -1) * (1 - unit(key, { count }, core.dtype_of(p)))
            picks = np.sum(np.less(shape.reshape(sums, { 1, n }), shape.reshape(at, { count, 1 })), { axis = 1 })
        end
    elseif o.replace == false then
        picks = shape.cut(shuffle(key, n), 0, 0, count)
    else
        picks = random.randint(key, { count }, 0, n)
    end
    picks = shape.reshape(picks, dims)
    if core.is_number(x) then return picks end
    return selects.take(x, picks, axis)
end

-- ---- Other distributions --------------------------------------------------------------------------------------------

--- np.random.normal(key, shape, {dtype="f32"}): the standard normal distribution: sqrt(2) erf_inv(u), u uniform in
-- (-1, 1). Complex numbers have two such parts, drawn with the two keys that np.random.split gives, over sqrt(2).
--- dtype: of floats or complex numbers
--- > np.random.normal(np.random.key(0), {3})
-- [ 1.6226422   2.0252647  -0.43359435]
function random.normal(key, dims, given)
    check_key("normal", key)
    local o
    dims, o = shape_and_options("normal", dims, given, { dtype = true })
    local complex = dtypes[core.dtype("random.normal", o.dtype, codes.f32)]
    if complex.kind ~= "c" then return draw_floats(NORMAL, key, dims, float_dtype("normal", o.dtype)) end
    local keys, part = random.split(key), dtypes[codes[complex.part]]
    local function drawn(k) -- as JAX's quotients are rounded
        local x = draw_floats(NORMAL, keys[k], dims, part)
        return part.bits == 32 and x * math.sqrt(0.5) or x / math.sqrt(2)
    end
    return np.complex(drawn(0), drawn(1))
end

--- np.random.truncated_normal(key, lower, upper, shape, {dtype="f32"}): the standard normal distribution between two
-- bounds, numbers or arrays, neither of which it takes.
--- > np.random.truncated_normal(np.random.key(0), -1, 1, {3})
-- [ 0.8618594   0.9412884  -0.29104838]
function random.truncated_normal(key, lower, upper, dims, given)
    check_key("truncated_normal", key)
    local o
    dims, o = settings("truncated_normal", dims, given)
    local dtype = float_dtype("truncated_normal", o.dtype)
    local low, high = parameter("truncated_normal", 2, "lower", lower, dtype),
                      parameter("truncated_normal", 3, "upper", upper, dtype)
    dims = drawn_shape("truncated_normal", dims, low, high)
    local root = math.sqrt(2)
    local u = between(key, dims, dtype, np.erf(low / root), np.erf(high / root))
    return np.clip(np.erf_inv(u) * root, above(np.stop_gradient(low)), below(np.stop_gradient(high)))
end

--- np.random.exponential(key, shape, {dtype="f32"}): the exponential distribution of rate 1: -log(1 - u).
--- > np.random.exponential(np.random.key(0), {3})
-- [2.950128   3.8434246  0.40390354]
function random.exponential(key, dims, given)
    check_key("exponential", key)
    local o
    dims, o = shape_and_options("exponential", dims, given, { dtype = true })
    return draw_floats(EXPONENTIAL, key, dims, float_dtype("exponential", o.dtype))
end

--- np.random.gumbel(key, shape, {dtype="f32"}): the standard Gumbel distribution: -log(-log(u)).
--- > np.random.gumbel(np.random.key(0), {3})
-- [ 2.9233725   3.8326175  -0.09689324]
function random.gumbel(key, dims, given)
    check_key("gumbel", key)
    local o
    dims, o = shape_and_options("gumbel", dims, given, { dtype = true })
    return draw_floats(GUMBEL, key, dims, float_dtype("gumbel", o.dtype))
end

--- np.random.bernoulli(key, p, shape): true with probability p (0.5 by default; a number or an array that broadcasts to
-- the shape, which is p's by default); never where p is 0 or NaN, always where it is 1.
--- > np.random.bernoulli(np.random.key(1), 0.5, {4})
-- [ True False  True  True]
function random.bernoulli(key, p, dims)
    check_key("bernoulli", key)
    if p == nil then p = 0.5 end
    local dtype = dtypes[codes.f32]
    if is_array(p) then
        dtype = core.dtype_of(p)
        if dtype.kind ~= "f" then raise("random.bernoulli", "p must be floats, got dtype %s", dtype.name) end
    end
    p = parameter("bernoulli", 2, "p", p, dtype)
    dims = drawn_shape("bernoulli", dims ~= nil and dims_of("bernoulli", dims) or nil, p)
    return np.less(unit(key, dims, dtype), p)
end

--- np.random.categorical(key, logits, {axis=-1, shape=…, replace=true}): indices (i32) along the axis, with
-- probabilities softmax(logits). The shape of logits without the axis broadcasts to `shape`, which may have more axes
-- in front: each of its elements is a draw of its own.
--- shape: of the result; that of logits without the axis
--- replace: false draws each index at most once for the axes in front; then the shape ends in that of logits
--- > np.random.categorical(np.random.key(1), np.log(np.array{0.2, 0.3, 0.5}), {shape={5}})
-- [2 1 0 2 2]
function random.categorical(key, logits, given)
    check_key("categorical", key)
    logits = operands.real("random.categorical", 2, logits)
    local o = options("random.categorical", given, { axis = true, shape = true, replace = true })
    local dims = shape_of(logits)
    local axis = core.axis("random.categorical", o.axis or -1, #dims)
    local n = table.remove(dims, axis + 1)
    local result = o.shape == nil and dims or dims_of("categorical", o.shape)
    local front = #result - #dims
    for k = 1, #dims do
        local same = core.is_same(dims[k], 1) and o.replace ~= false or result[front + k] == dims[k]
            or dims[k] == 1 and o.replace ~= false
        if front < 0 or not same then
            raise("random.categorical", "shape %s must end in %s", core.shape_text(result), core.shape_text(dims))
        end
    end
    if n == 0 and shape.product(result) > 0 then raise("random.categorical", "there is nothing to choose from") end
    if o.replace == false then
        local count = shape.product { unpack(result, 1, front) }
        if count > n then raise("random.categorical", "cannot draw %d of %d without replacement", count, n) end
        local noise = random.gumbel(key, shape_of(logits), { dtype = core.dtype_of(logits).name })
        local order = np.moveaxis(np.argsort(logits + noise, { axis = axis, descending = true }), axis, 0)
        return shape.reshape(shape.cut(order, 0, 0, count), result)
    end
    local drawn = { unpack(result) }
    table.insert(drawn, front + axis + 1, n)
    if n == 0 then return np.zeros(result, { dtype = "i32" }) end
    local noise = random.gumbel(key, drawn, { dtype = core.dtype_of(logits).name })
    return np.argmax(noise + logits, { axis = front + axis })
end

-- For distributions.lua, which has the others.
core.random_tools = { check_key = check_key, dims_of = dims_of, settings = settings, float_dtype = float_dtype,
                      parameter = parameter, drawn_shape = drawn_shape, between = between, unit = unit }

return random
