--- sizes.lua: size values: what x.shape has while a program for every size is recorded.
--
-- A size value is a cdata `neap_size`: what the size is now, and its expression (lazy/sizes.h). Arithmetic gives size
-- values again, or numbers where nothing depends on sizes. A comparison is decided, or becomes a condition of the
-- program, with its line. All else that takes numbers raises, as LuaJIT converts no such cdata: so no number of now can
-- get into a program. What may be a size is passed to the core by `put`.
local ffi = require "ffi"
local core = require "neap.core.binding"

local C, ctx = core.C, core.ctx
local type, istype = type, ffi.istype
local math_floor, math_ceil, math_min, math_max, math_sqrt = math.floor, math.ceil, math.min, math.max, math.sqrt

local sizes = {}

local Size = ffi.typeof "neap_size"
local left, right = ffi.new "neap_size", ffi.new "neap_size"
local truth = ffi.new "int[1]"

--- Whether a value is a size value.
local function is_size(value)
    return type(value) == "cdata" and istype(Size, value)
end
core.is_size = is_size

--- Whether a value is a number or a size value.
function core.is_number(value)
    return type(value) == "number" or is_size(value)
end

local function set(box, value, what)
    if type(value) == "number" then
        box.now, box.expr = value, 0
    elseif is_size(value) then
        box.now, box.expr, box.of = value.now, value.expr, value.of
    else
        core.fail("%s of a size and %s", what, core.describe(value))
    end
end

--- A size as the caller gets it: a number where it does not depend on sizes.
local function given(size)
    if size.expr == 0 then return size.now end
    return Size(size.now, size.expr, size.of)
end

local function check(rc)
    if rc < 0 then core.raise_status(rc) end
end

local function compute(op, a, b, what)
    set(left, a, what)
    set(right, b, what)
    check(C.neap_size_compute(ctx, op, left, right, left))
    return given(left)
end

local meta = {}

local function arithmetic(event, op, what)
    meta[event] = function(a, b)
        if core.is_array(a) then return core.metatable[event](a, core.number(b)) end
        if core.is_array(b) then return core.metatable[event](core.number(a), b) end
        return compute(op, a, b, what)
    end
end
arithmetic("__add", C.NEAP_SIZE_ADD, "the sum")
arithmetic("__sub", C.NEAP_SIZE_SUB, "the difference")
arithmetic("__mul", C.NEAP_SIZE_MUL, "the product")
arithmetic("__div", C.NEAP_SIZE_DIV, "the quotient")
arithmetic("__mod", C.NEAP_SIZE_MOD, "the remainder")
arithmetic("__pow", C.NEAP_SIZE_POW, "the power")
function meta.__unm(a) return compute(C.NEAP_SIZE_SUB, 0, a, "the negative") end

local function compare(op, a, b)
    set(left, a, "the comparison")
    set(right, b, "the comparison")
    local file, line = core.user_site()
    check(C.neap_size_compare(ctx, op, left, right, file and file .. ":" .. line or nil, truth))
    return truth[0] ~= 0
end

function meta.__eq(a, b)
    if not (is_size(a) or type(a) == "number") or not (is_size(b) or type(b) == "number") then return false end
    return compare(C.NEAP_SIZE_EQUAL, a, b)
end
function meta.__lt(a, b) return compare(C.NEAP_SIZE_LESS, a, b) end
function meta.__le(a, b) return compare(C.NEAP_SIZE_LESS_EQUAL, a, b) end

--- The expression: "2*n + 1".
local function text_of(size)
    return core.text(nil, function(text, capacity, bytes) return C.neap_size_text(ctx, size, text, capacity, bytes) end)
end
meta.__tostring = text_of

--- A number, or a size value with what it is now: "5", "2*n + 1 (now 5)".
function core.size_text(size)
    if type(size) == "number" then return ("%.14g"):format(size) end
    return ("%s (now %.14g)"):format(text_of(size), size.now)
end
function meta.__concat(a, b) return tostring(a) .. tostring(b) end

-- The LuaJIT that tools/luajit builds raises this, and where, for a size as the key of a table, where nothing would be
-- found, and for tonumber(n), which would be nil. Others do not look at it.
meta.__refused = "a size value"

local methods = {}
meta.__index = methods

-- Of a real that was computed from sizes, n / 2, an integer.
function methods.floor(size) return compute(C.NEAP_SIZE_FLOOR, size, 0, "the floor") end
function methods.ceil(size) return compute(C.NEAP_SIZE_CEIL, size, 0, "the ceiling") end
function methods.min(a, b) return compute(C.NEAP_SIZE_MIN, a, b, "the least") end
function methods.max(a, b) return compute(C.NEAP_SIZE_MAX, a, b, "the greatest") end
function methods.sqrt(size) return compute(C.NEAP_SIZE_SQRT, size, 0, "the root") end

ffi.metatype(Size, meta)

-- ---- Lua's own functions --------------------------------------------------------------------------------------------

local mathematics = {}
core.floor_of_number = math_floor -- for loops that LuaJIT unrolls only if they are short

function mathematics.floor(x)
    if type(x) == "number" then return (math_floor(x)) end
    if is_size(x) then return (methods.floor(x)) end
    return (math_floor(x))
end
function mathematics.ceil(x)
    if is_size(x) then return (methods.ceil(x)) end
    return (math_ceil(x))
end
function mathematics.sqrt(x)
    if is_size(x) then return (methods.sqrt(x)) end
    return (math_sqrt(x))
end

local function fold(native, method)
    local function of_many(a, ...)
        for k = 1, select("#", ...) do
            local other = select(k, ...)
            a = (is_size(a) or is_size(other)) and method(a, other) or native(a, other)
        end
        return a
    end
    return function(a, ...)
        local b, n = ..., select("#", ...)
        if n == 1 and type(a) == "number" and type(b) == "number" then return (native(a, b)) end
        if n == 0 then return is_size(a) and a or native(a) end
        return (of_many(a, ...))
    end
end
mathematics.min = fold(math_min, methods.min)
mathematics.max = fold(math_max, methods.max)

--- The functions of math that take size values, too: the library's own code finds these, and what is recorded with
-- declared sizes.
for name, f in pairs(mathematics) do rawset(math, name, f) end

--- Puts them in place of the user's math.floor and its kin; returns a function that undoes that.
function sizes.swap_mathematics(of)
    local before = {}
    for name, f in pairs(mathematics) do before[name], of[name] = of[name], f end
    return function()
        for name in pairs(mathematics) do of[name] = before[name] end
    end
end

-- ---- Arrays ---------------------------------------------------------------------------------------------------------

local extents = ffi.new("neap_size[?]", core.MAX_DIMS)
local plain_shape_of = core.shape_of
local open = false -- are sizes declared?

--- Whether sizes are declared where the code that runs now stands.
function core.sized()
    return open
end

--- Opens or closes: code of callbacks knows numbers alone.
function sizes.open(on)
    local before = open
    open = on
    return before
end

local function sized_shape_of(x)
    local n = C.neap_size_extents(ctx, x._id, extents)
    check(n)
    local shape = {}
    for k = 1, n do shape[k] = given(extents[k - 1]) end
    return shape
end

--- The shape of an array as a Lua table.
function core.shape_of(x)
    if open then return (sized_shape_of(x)) end
    return (plain_shape_of(x))
end

--- The extent of one axis, from 0. known: core.info(x), of a caller that has it.
function core.extent(x, axis, known)
    if open then return sized_shape_of(x)[axis + 1] end
    known = known or core.info(x)
    return (tonumber(known.shape[axis]))
end

--- The number of elements; known: as of core.extent.
function core.size_of(x, known)
    if not open then
        known = known or core.info(x)
        return (tonumber(known.size))
    end
    local size = 1
    for _, n in ipairs(sized_shape_of(x)) do size = size * n end
    return size
end

--- Whether two numbers or sizes are the same, whatever the sizes are. Asks for no condition, as == may.
function core.is_same(a, b)
    if is_size(a) or is_size(b) then return is_size(a) and is_size(b) and a.expr == b.expr and a.of == b.of end
    return a == b
end

--- A number for the core, number `at` of the next call that records something, which may be a size value: returns what
-- it is now.
function core.put(at, value)
    if type(value) == "number" then return value end
    check(C.neap_size_next(ctx, at, value))
    return value.now
end

--- Puts a list of numbers, or size values, into core.attrs from `at` on. LuaJIT unrolls a loop only if a turn of it is
-- short: without size values it is no more than a store.
function core.put_list(at, list)
    local attrs, n = core.attrs, #list
    if open then
        for k = 1, n do attrs[at + k - 1] = core.put(at + k - 1, list[k]) end
    else
        at = at - 1
        for k = 1, n do attrs[at + k] = list[k] end
    end
end

--- The same of three lists in turn: a[1], b[1], c[1], a[2], …
function core.put_lists(a, b, c)
    local attrs, n = core.attrs, #a
    if open then
        for k = 1, n do
            local at = 3 * k - 3
            attrs[at], attrs[at + 1] = core.put(at, a[k]), core.put(at + 1, b[k])
            attrs[at + 2] = core.put(at + 2, c[k])
        end
    else
        for k = 1, n do attrs[3 * k - 3], attrs[3 * k - 2], attrs[3 * k - 1] = a[k], b[k], c[k] end
    end
end

-- ---- Declarations ---------------------------------------------------------------------------------------------------

local name_box = ffi.new "neap_size"

--- Declares a size; returns its size value.
function sizes.declare(name, now)
    check(C.neap_transcript_declare(ctx, name, now, name_box))
    return given(name_box)
end

for _, f in ipairs { compare, sized_shape_of, sizes.declare } do jit.off(f) end

return sizes
