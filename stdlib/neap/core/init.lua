--- core/init.lua: recording ops, and memory in and out. Everything else in the library stands on it, and on what it
-- passes on of binding.lua (the library, errors, handles) and waiting.lua.
--
-- The fast path of a recording is one FFI call, one comparison, one store into the table of handles. Whatever else may
-- happen (housekeeping, waiting, memory, errors) is in the `slow` functions, which are never compiled. In the
-- interpreter an index of a cdata costs as much as the core takes for an op, and an ffi.istype a third of that: so
-- arrays are passed as handles, ids come back as results, and operators look no more than once at what an operand is.
--
-- LuaJIT gives up a trace in which more than 15 calls are tail calls, less one for each turn of a loop that it unrolls.
-- A function of the library calls many small ones: those end in `return (f(x))`, which is no tail call.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core.waiting"

local band, lshift, rshift = bit.band, bit.lshift, bit.rshift
local type, tonumber, select = type, tonumber, select
local istype = ffi.istype
local C, ctx, Handle = core.C, core.ctx, core.Handle
local raise, is_array, attrs, names = core.raise, core.is_array, core.attrs, core.op_names
local wrap, safepoint, settle = core.wrap, core.safepoint, core.settle

-- C functions in locals: interpreted code then needs no look-up in the library's namespace.
local neap_op, op1, op2, op_number = C.neap_op, C.neap_quick_op1, C.neap_quick_op2, C.neap_quick_number
local quick_outcome, quick_reduce = C.neap_quick_outcome, C.neap_quick_reduce
local quick_part, quick_item, quick_poll = C.neap_quick_part, C.neap_quick_item, C.neap_quick_poll
local quick_set = C.neap_quick_set
local neap_array_item = C.neap_array_item

local OK, SAFEPOINT = C.NEAP_OK, C.NEAP_SAFEPOINT
local BOOL, I64, U64 = C.NEAP_DTYPE_BOOL, C.NEAP_DTYPE_I64, C.NEAP_DTYPE_U64
local MAX_INPUTS = core.MAX_INPUTS

-- ---- Recording ------------------------------------------------------------------------------------------------------

local out = ffi.new("int32_t[1]")
local ins = ffi.new("int32_t[?]", MAX_INPUTS)

local function settle_handle(rc, name, try)
    rc = settle(rc, name, try, true)
    local handle = wrap(out[0])
    if rc == SAFEPOINT then safepoint() end
    return handle
end

--- Ends a quick call that returned 0. `quick` makes it.
local function settle_quick(op, quick)
    return settle_handle(quick_outcome(ctx, out), names[op], function()
        quick()
        return quick_outcome(ctx, out)
    end)
end

local function slow1(op, a)
    return settle_quick(op, function() op1(ctx, op, a) end)
end

local function slow2(op, a, b)
    return settle_quick(op, function() op2(ctx, op, a, b) end)
end

local function slow_number(op, a, number, first)
    return settle_quick(op, function() op_number(ctx, op, a, number, first) end)
end

local function slow_reduce(op, x)
    return quick_outcome(ctx, out) >= 0 and settle_quick(op, function() quick_reduce(ctx, op, x) end) or nil
end

local function slow_part(x, index)
    return quick_outcome(ctx, out) >= 0
        and settle_quick(core.ids.slice, function() quick_part(ctx, x, index) end) or nil
end

--- What attention is asked for is given; an error is nobody's.
local function slow_set()
    local rc = quick_outcome(ctx, out)
    local handle = out[0] ~= 0 and wrap(out[0]) or nil
    if rc < 0 then return nil end
    if rc == SAFEPOINT then safepoint() end
    return handle
end

local function slow_record(rc, op, inputs, nin, nattrs)
    local kept = ffi.new("int64_t[?]", nattrs + 1)
    ffi.copy(kept, attrs, 8 * nattrs)
    return settle_handle(rc, names[op], function()
        for k = 1, nin do ins[k - 1] = inputs[k]._id end
        return neap_op(ctx, op, nin, ins, nattrs, kept, out)
    end)
end

local function slow_constant(rc, code, value)
    return settle_handle(rc, "array", function() return C.neap_array_number(ctx, code, value, out) end)
end

--- A 0-d array of a number. Without dtype it is weak: it takes the dtype of what it meets.
function core.number(value, dtype)
    local code = dtype or -1
    if type(value) ~= "number" then value = core.put(C.NEAP_SIZE_NUMBER, value) end
    local rc = C.neap_array_number(ctx, code, value, out)
    if rc ~= OK then return slow_constant(rc, code, value) end
    return (wrap(out[0]))
end

local Int64, Uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"

--- The dtype of a 64-bit integer of Lua, 5LL or 5ULL; nil for all else.
function core.integer64(value)
    local code = istype(Int64, value) and I64 or istype(Uint64, value) and U64
    return code and not core.is_ctype(value) and code or nil
end

local function coerce_rare(name, position, value, inputs, how)
    if type(value) == "boolean" then return core.number(value and 1 or 0, BOOL) end
    local wide = core.integer64(value)
    if wide then return core.fill(wide, {}, function(data) data[0] = value end, core.dtypes[wide].pointer) end
    if core.complex.is(value) then return core.complex.array(value) end
    if core.is_size(value) then return core.number(value) end
    local meta = getmetatable(value)
    if type(meta) == "table" and meta.__array then return meta.__array(value, name, inputs, how) end
    local is_data = type(value) == "table" and meta == nil and (value[1] ~= nil or next(value) == nil)
    local is_sparse = type(meta) == "table" and meta.__tree
    local hint = is_data and "; np.array makes one from a table" or is_sparse
        and "; A:toarray() makes a dense one, and A:dot(x) and A * x take dense arrays" or ""
    local what = type(position) == "number" and "argument " .. position or position
    raise(name, "%s must be an array or a number, got %s%s", what, core.describe(value), hint)
end

--- Argument `position` of np.name as an array: numbers become weak, booleans bool, 64-bit integers i64 or u64.
-- `position` is a number, or the name of another place: "option 'w'". Of a function whose arguments tell each other's
-- sizes, `inputs` has them all, for parameters with open sizes (nn/open.lua, which says what `how` is).
function core.coerce(name, position, value, inputs, how)
    if is_array(value) then return value end
    if type(value) == "number" then return (core.number(value)) end
    return coerce_rare(name, position, value, inputs, how)
end
local coerce = core.coerce

local function coerce_pair(name, a, b)
    local inputs = { a, b }
    inputs[1] = coerce(name, 1, a, inputs)
    return inputs[1], coerce(name, 2, b, inputs)
end

--- The two arguments of np.name, which tell each other's sizes, as arrays.
function core.coerce2(name, a, b)
    if is_array(a) and is_array(b) then return a, b end
    return coerce_pair(name, a, b)
end
local coerce2 = core.coerce2

--- The arguments of np.name in the table `inputs`, which tell each other's sizes, as arrays: their table.
function core.coerce_all(name, inputs, count)
    for k = 1, count do inputs[k] = coerce(name, k, inputs[k], inputs) end
    return inputs
end

--- Records an op of one array and the first nattrs numbers of core.attrs.
function core.record1(op, x, nattrs)
    ins[0] = x._id
    local rc = neap_op(ctx, op, 1, ins, nattrs, attrs, out)
    if rc ~= OK then return slow_record(rc, op, { x }, 1, nattrs) end
    return (wrap(out[0]))
end

--- Records an op of two arrays and the first nattrs numbers of core.attrs.
function core.record2(op, x, y, nattrs)
    ins[0], ins[1] = x._id, y._id
    local rc = neap_op(ctx, op, 2, ins, nattrs, attrs, out)
    if rc ~= OK then return slow_record(rc, op, { x, y }, 2, nattrs) end
    return (wrap(out[0]))
end

--- Records an op of a table of n arrays (at most core.MAX_INPUTS; none for a source) and the first nattrs attributes.
function core.recordn(op, inputs, n, nattrs)
    for k = 1, n do ins[k - 1] = inputs[k]._id end
    local rc = neap_op(ctx, op, n, ins, nattrs, attrs, out)
    if rc ~= OK then return slow_record(rc, op, inputs, n, nattrs) end
    return (wrap(out[0]))
end

--- Raises that np.name, which takes `arity` arguments, got one more.
local function too_many(name, arity, extra)
    raise(name, "takes %d argument%s, got also %s%s", arity, arity == 1 and "" or "s", core.describe(extra),
          require("neap.core.hints").surplus(name, extra))
end

core.too_many = too_many

--- The Lua function of an op of one array.
function core.unary(op, name)
    return function(x, extra)
        if extra ~= nil then too_many(name, 1, extra) end
        if not istype(Handle, x) then x = coerce(name, 1, x) end
        local id = op1(ctx, op, x)
        if id == 0 then return slow1(op, x) end
        return (wrap(id))
    end
end

local function record_two(op, a, b)
    local id = op2(ctx, op, a, b)
    if id == 0 then return slow2(op, a, b) end
    return (wrap(id))
end

local function record_with_number(op, a, number, first)
    local id = op_number(ctx, op, a, number, first)
    if id == 0 then return slow_number(op, a, number, first) end
    return (wrap(id))
end

local DIVIDE, COUNTS = core.ids.divide, C.NEAP_NUMBER_COUNTS

local function slow_per_element(x, count)
    return settle_quick(DIVIDE, function() op_number(ctx, DIVIDE, x, core.put(C.NEAP_SIZE_NUMBER, count), COUNTS) end)
end

--- x divided by a number of elements, which may be a size value: equal means of one array are then computed once.
function core.per_element(x, count)
    local id = op_number(ctx, DIVIDE, x, core.put(C.NEAP_SIZE_NUMBER, count), COUNTS)
    if id == 0 then return slow_per_element(x, count) end
    return (wrap(id))
end

--- The Lua function of an op of two arrays or numbers, and the same as a metamethod: one of its operands is an array.
function core.binary(op, name)
    local function operator(a, b)
        if type(b) == "number" then return (record_with_number(op, a, b, 0)) end
        if type(a) == "number" then return (record_with_number(op, b, a, 1)) end
        if istype(Handle, a) and istype(Handle, b) then return (record_two(op, a, b)) end
        return (record_two(op, coerce2(name, a, b)))
    end
    return function(a, b, extra)
        if extra ~= nil then too_many(name, 2, extra) end
        if istype(Handle, a) or istype(Handle, b) then return (operator(a, b)) end
        return (record_two(op, coerce2(name, a, b)))
    end, operator
end

--- The Lua function of an op of three or more arrays or numbers.
function core.nary(op, name, arity)
    return function(...)
        if select("#", ...) ~= arity then raise(name, "takes %d arguments, got %d", arity, select("#", ...)) end
        local inputs = { ... }
        return core.recordn(op, core.coerce_all(name, inputs, arity), arity, 0)
    end
end

--- Records a reduction of an array over all its axes; nil if there is an error, which nobody is told.
function core.reduce_all(op, x)
    local id = quick_reduce(ctx, op, x)
    if id > 0 then return (wrap(id)) end
    return slow_reduce(op, x)
end

--- Part `index` of the first axis of an array; nil if there is an error, which nobody is told.
function core.part(x, index)
    local id = quick_part(ctx, x, index)
    if id > 0 then return (wrap(id)) end
    return slow_part(x, index)
end

local places_box = ffi.new("double[?]", core.MAX_DIMS)

--- x with a small part written over, which the integers place[1] … place[n] name: by a number, or an array of the
-- part's shape and x's dtype; nil if that is not all there is to it.
function core.set_part(x, place, n, value)
    for k = 1, n do places_box[k - 1] = place[k] end
    local id
    if type(value) == "number" then
        id = quick_set(ctx, x, n, places_box, nil, value)
    elseif istype(Handle, value) then
        id = quick_set(ctx, x, n, places_box, value, 0)
    else
        return nil
    end
    if id > 0 then return (wrap(id)) end
    return slow_set()
end

-- ---- Memory in and out ----------------------------------------------------------------------------------------------

local shape_box = ffi.new("int64_t[?]", core.MAX_DIMS)
local data_box = ffi.new("void *[1]")
local const_data_box = ffi.new("const void *[1]")

--- Fills an int64 array with a shape table; returns it and the number of axes.
function core.shape_array(name, shape)
    local n = #shape
    if n > core.MAX_DIMS then raise(name, "at most %d axes, got %d", core.MAX_DIMS, n) end
    for k = 1, n do shape_box[k - 1] = core.put(k - 1, shape[k]) end
    return shape_box, n
end

--- A new array whose elements `write(pointer)` fills, row-major; `pointer` has the C type `ctype`. `write` must not
-- call into neap and must not raise.
function core.fill(dtype, shape, write, ctype, name)
    name = name or "array"
    local function try()
        local dims, n = core.shape_array(name, shape)
        return C.neap_array_empty(ctx, dtype, n, dims, data_box, out)
    end
    local rc = try()
    if rc ~= OK then rc = settle(rc, name, try) end
    local handle = wrap(out[0])
    write(ffi.cast(ctype, data_box[0]))
    if rc == SAFEPOINT then safepoint() end
    return handle
end

local function slow_wait(rc, x)
    if settle(rc, nil, function() return quick_poll(ctx, x) end) == SAFEPOINT then safepoint() end
end

--- Waits until an array has its value; returns it, or raises its failure.
function core.wait(x)
    if not istype(Handle, x) then x = coerce("wait", 1, x) end
    local rc = quick_poll(ctx, x)
    if rc ~= OK then slow_wait(rc, x) end
    return x
end

--- Waits, then returns the row-major elements. BORROWED while the array lives: keep x.
function core.data(x)
    core.wait(x)
    core.call(nil, function() return C.neap_array_data(ctx, x._id, const_data_box) end)
    return const_data_box[0]
end

local item_box, item_dtype = ffi.new("double[2]"), ffi.new("int32_t[1]")
local NAN = 0 / 0
item_box[0] = NAN
if ffi.cast("uint32_t *", item_box)[1] >= 0x80000000 then NAN = -NAN end -- some processors' own NaN has the sign set
core.NAN = NAN

--- Whether the double whose low and high words stand at words[0] and words[1] is NaN. LuaJIT keeps types of values in
-- NaNs' bits, so a NaN of unknown bits must never become a Lua number.
local function is_nan64(words)
    local high = words[1]
    return band(high, 0x7ff00000) == 0x7ff00000 and (band(high, 0xfffff) ~= 0 or words[0] ~= 0)
end

--- The number that the bits of a float of 16 bits are; of its binary digits the first is not stored.
local function half_value(bits, digits)
    local fraction, above = band(bits, lshift(1, digits - 1) - 1), rshift(band(bits, 0x7fff), digits - 1)
    local bias = lshift(1, 15 - digits) - 1 -- the exponent has 16 - digits bits
    local value
    if above == 2 * bias + 1 then
        if fraction ~= 0 then return NAN end
        value = math.huge
    elseif above == 0 then
        value = math.ldexp(fraction, 2 - bias - digits)
    else
        value = math.ldexp(fraction + lshift(1, digits - 1), above + 1 - bias - digits)
    end
    return bits >= 0x8000 and -value or value
end

local EXACT = 2 ^ 53 -- up to here numbers count

--- An integer of 64 bits as a number; as LuaJIT's own 64-bit integer where a number might not have all of its digits.
local function wide_integer(value)
    if value <= EXACT and value >= -EXACT then return tonumber(value) end
    return value
end
local function wide_unsigned(value)
    if value <= EXACT then return tonumber(value) end
    return value
end

--- A function that reads element k (from 0) of row-major data as a Lua number, or as a 64-bit integer that is none.
function core.reader(data, dtype)
    if dtype.kind == "c" then
        local part = core.dtypes[core.dtype_codes[dtype.part]]
        local number = core.reader(ffi.cast(part.const_pointer, data), part)
        return function(k) return core.complex.new(number(2 * k), number(2 * k + 1)) end
    end
    if dtype.bits == 64 and dtype.kind == "i" then return function(k) return wide_integer(data[k]) end end
    if dtype.bits == 64 and dtype.kind == "u" then return function(k) return wide_unsigned(data[k]) end end
    if dtype.half then return function(k) return half_value(data[k], dtype.digits) end end
    if dtype.kind ~= "f" then return function(k) return tonumber(data[k]) end end
    if dtype.bytes == 8 then
        local words = ffi.cast("const uint32_t *", data)
        return function(k)
            if is_nan64(words + 2 * k) then return NAN end
            return data[k]
        end
    end
    assert(dtype.bytes == 4)
    local words = ffi.cast("const uint32_t *", data)
    return function(k)
        if band(words[k], 0x7fffffff) > 0x7f800000 then return NAN end
        return data[k]
    end
end

local function slow_item(rc, x)
    local function try() return neap_array_item(ctx, x._id, item_box, item_dtype) end
    if settle(rc, "item", try) == SAFEPOINT then safepoint() end
end

local function any_item(x)
    local rc = neap_array_item(ctx, x._id, item_box, item_dtype)
    if rc ~= OK then slow_item(rc, x) end
    if item_dtype[0] == BOOL then return item_box[0] ~= 0 end
    local dtype = core.dtypes[item_dtype[0]]
    if dtype.kind == "c" then return core.complex.new(item_box[0], item_box[1]) end
    if dtype.bits == 64 and dtype.kind ~= "f" and math.abs(item_box[0]) >= EXACT then
        return core.reader(ffi.cast(dtype.const_pointer, core.data(x)), dtype)(0)
    end
    return item_box[0]
end

--- Waits, then returns the value of an array of one element: a number, a boolean, or a 64-bit integer beyond those.
function core.item(x)
    if not istype(Handle, x) then x = coerce("item", 1, x) end
    local value = quick_item(ctx, x)
    if value < EXACT and value > -EXACT then return value end
    return any_item(x)
end

local bytes_box = ffi.new("size_t[1]")
--- The text that a C function of the form (text, capacity, bytes) → status writes.
function core.text(name, write)
    local capacity = 1024
    while true do
        local buffer = ffi.new("char[?]", capacity)
        core.call(name, function() return write(buffer, capacity, bytes_box) end)
        local bytes = tonumber(bytes_box[0])
        if bytes <= capacity then return ffi.string(buffer, bytes) end
        capacity = bytes
    end
end

-- Slow paths are not worth a trace, and a trace would pin handles.
for _, f in ipairs { settle_handle, settle_quick, slow1, slow2, slow_number, slow_per_element, slow_reduce, slow_part,
                     slow_set, slow_record, slow_wait, slow_constant, slow_item, coerce_rare, coerce_pair, core.fill,
                     core.text } do
    jit.off(f)
end

return core
