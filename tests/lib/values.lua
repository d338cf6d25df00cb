--- values.lua: what the tests of op rows share: the list of rows, random values of a row's domain, comparisons.
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local np = require "neap"

local values = {}

local build = (os.getenv("NEAP") or "build/neap"):match("^(.*)/[^/]*$") or "."
--- The list that the build writes from the rows (op_tests.lua).
values.rows = dofile(build .. "/generated/op_tests.lua")
-- Hidden rows of maps are named by a part of np: there tests find them, as np's. One that nobody names is met by
-- derivatives alone.
for k = #values.rows, 1, -1 do
    local row = values.rows[k]
    if row.class == "map" and #row.attrs == 0 and rawget(np, row.name) == nil then
        np[row.name] = rawget(np.special, row.name)
        if not rawget(np, row.name) then table.remove(values.rows, k) end
    end
end

-- Each dtype: the kind of row types that accept it, bits of an integer that a number holds, unit in the last place of a
-- float.
local DTYPES, KINDS = {}, { b = "bool", u = "int", i = "int", f = "real" }
for _, name in ipairs(dtypes.names) do
    local row = dtypes.by_name[name]
    local smallest = 3 - 2 ^ (row.bits - row.digits - 1) - row.digits -- the exponent of the smallest float
    DTYPES[name] = { kind = KINDS[row.kind], bits = math.min(row.bits, 53), signed = row.kind == "i",
                     digits = row.digits, smallest = smallest, half = row.half }
end

local seed = 1
--- A number in [0, 1); the same sequence in every run.
local function random()
    seed = (seed * 16807) % 2147483647
    return seed / 2147483647
end

--- A value of the dtype in the row's domain.
local function draw(row, dtype)
    local low, high = row.domain[1], row.domain[2]
    local kind = DTYPES[dtype].kind
    if kind == "bool" then return random() < 0.5 and 1 or 0 end
    if kind == "real" then return low + (high - low) * random() end
    low, high = math.ceil(low), math.floor(high)
    if not DTYPES[dtype].signed then low = math.max(low, 0) end
    return low + math.floor((high - low + 1) * random())
end

local function size_of(dims)
    local size = 1
    for _, n in ipairs(dims) do size = size * n end
    return size
end

--- An array of drawn values.
local function array(row, dims, dtype)
    local list = {}
    for k = 1, size_of(dims) do
        list[k] = draw(row, dtype)
        if dtype == "bool" then list[k] = list[k] ~= 0 end
    end
    return np.array(list, { dtype = dtype }):reshape(dims)
end

--- The elements in row-major order as numbers; booleans as 0 and 1. Those of u64 as signed ones, since numbers have all
-- bits of small negative ones.
local function elements(x)
    if x.dtype == "u64" then x = x:astype "i64" end
    local list = x:reshape(-1):totable()
    for k, value in ipairs(list) do
        if type(value) == "boolean" then list[k] = value and 1 or 0 end
        if type(value) == "cdata" then list[k] = tonumber(value) end
    end
    return list
end

--- The distance between neighbouring floats around a value.
local function unit(value, dtype)
    local _, exponent = math.frexp(value)
    local digits, smallest = DTYPES[dtype].digits, DTYPES[dtype].smallest
    return 2 ^ math.max(exponent - digits, smallest)
end

--- Raises unless got is what the reference says, in a result of this dtype; `slack` is what the reference itself may be
-- off, which counts in f64, where it rounds as the op does.
local function compare(got, expected, dtype, ulp, slack, what)
    local facts = DTYPES[dtype]
    if type(expected) == "boolean" then expected = expected and 1 or 0 end
    if facts.kind == "bool" then
        expected = expected ~= 0 and 1 or 0
    elseif facts.kind == "int" then
        expected = expected % 2 ^ facts.bits
        got = got % 2 ^ facts.bits
    elseif expected == expected and math.abs(expected) < math.huge then
        -- Halves are computed as f32, and rounded.
        local allowed = ulp * unit(expected, facts.half and "f32" or dtype)
                        + (dtype == "f64" and slack or (0.5 + (facts.half and 2 ^ -10 or 0)) * unit(expected, dtype))
        check.ok(math.abs(got - expected) <= allowed,
                 ("%s: got %.17g, expected %.17g, allowed error %.3g"):format(what, got, expected, allowed))
        return
    end
    check.ok(got == expected or got ~= got and expected ~= expected,
             ("%s: got %.17g, expected %.17g"):format(what, got, expected))
end

local function accepts(row, dtype)
    for _, kind in ipairs(row.types) do
        if DTYPES[dtype].kind == kind then return true end
    end
    return false
end

local function each_dtype(row, f)
    for _, dtype in ipairs(dtypes.names) do
        local before = seed
        if accepts(row, dtype) then f(dtype) end
        if DTYPES[dtype].half then seed = before end -- the values of others do not depend on halves
    end
end

values.dtypes, values.random, values.size_of, values.array = DTYPES, random, size_of, array
values.elements, values.unit, values.compare, values.each_dtype = elements, unit, compare, each_dtype

return values
