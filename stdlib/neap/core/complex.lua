--- core/complex.lua: complex numbers in Lua. LuaJIT has them as literals (2i) and as a C type with the fields re and
-- im; what it lacks is arithmetic, which this file gives the type: with numbers, with each other, and with arrays, to
-- which they are weak numbers.
local ffi = require "ffi"
local core = require "neap.core"

local new, istype, type = ffi.typeof "double _Complex", ffi.istype, type
local complex = { new = new }

--- Whether a value is a complex number of Lua, of any width.
local function is_complex(value)
    return type(value) == "cdata" and (istype(new, value) or istype("float _Complex", value))
        and not core.is_ctype(value)
end
complex.is = is_complex

local function parts(value)
    if type(value) == "number" then return value, 0 end
    if is_complex(value) then return value.re, value.im end
    return nil
end

--- A 0-d array of a complex number, which takes the width of what it meets.
function complex.array(value)
    return core.record2(core.ids.complex, core.number(value.re), core.number(value.im), 0)
end

local function multiply(a, b, c, d)
    return new(a * c - b * d, a * d + b * c)
end

local function divide(a, b, c, d) -- R. L. Smith, Algorithm 116, as for arrays
    if c == 0 and d == 0 then return new(a / math.abs(c), b / math.abs(c)) end
    if math.abs(c) >= math.abs(d) then
        local ratio = d / c
        local scale = 1 / (c + d * ratio)
        return new((a + b * ratio) * scale, (b - a * ratio) * scale)
    end
    local ratio = c / d
    local scale = 1 / (d + c * ratio)
    return new((a * ratio + b) * scale, (b * ratio - a) * scale)
end

local meta = {}

--- The metamethod of an operator: `f` on the parts of numbers, the array operator where one operand is an array.
local function operator(event, f)
    meta[event] = function(x, y)
        local a, b = parts(x)
        local c, d = parts(y)
        if a and c then return f(a, b, c, d) end
        if core.is_array(x) or core.is_array(y) then return core.metatable[event](x, y) end
        core.fail("arithmetic on a complex number and %s", core.describe(a and y or x))
    end
end

operator("__add", function(a, b, c, d) return new(a + c, b + d) end)
operator("__sub", function(a, b, c, d) return new(a - c, b - d) end)
operator("__mul", multiply)
operator("__div", divide)
operator("__pow", function(a, b, c, d)
    return complex.array(new(a, b)):pow(complex.array(new(c, d))):item()
end)
function meta.__unm(x) return new(-x.re, -x.im) end

function meta.__eq(x, y)
    local a, b = parts(x)
    local c, d = parts(y)
    return a ~= nil and a == c and b == d
end

ffi.metatype(new, meta)

return complex
