--- contract_cases.lua: the arguments with which a contract calls its function (tests/lib/contracts.lua): which dtypes,
-- shapes, options and special values, drawn from a seed; and the texts in which an oracle reads them.
local np = require "neap"
local core = require "neap.core"
local dtypes = require "tests.lib.dtypes"
local seeds = require "tests.lib.seeds"
local json = require "neap.files.json"

local cases = {}

-- ---- Dtypes ---------------------------------------------------------------------------------------------------------

local WORDS = {
    halves = { "f16", "bf16" }, floats = { "f64", "f32", "f16", "bf16" }, complex = { "c128", "c64" },
    ints = { "i32", "u8", "i64", "i8", "i16", "u16", "u32", "u64" },
}

--- The dtypes that words such as "floats ints bool" or "f64 c128" name, in order: the first is the usual one.
function cases.dtypes(words)
    local list = {}
    for word in words:gmatch "%S+" do
        for _, name in ipairs(WORDS[word] or { word }) do
            assert(dtypes.by_name[name], "no dtype: " .. name)
            list[#list + 1] = name
        end
    end
    return list
end

-- ---- Values ---------------------------------------------------------------------------------------------------------

-- Of each dtype of floats: the largest number, and the smallest above 0.
local HUGE = { f16 = 65504, bf16 = 2 ^ 127, f32 = 2 ^ 127, f64 = 2 ^ 1023 }
local TINY = { f16 = 2 ^ -24, bf16 = 2 ^ -133, f32 = 2 ^ -149, f64 = 2 ^ -1074 }

--- Special values of a dtype: those of floats; the ends of integers.
function cases.specials(dtype)
    local facts = dtypes.by_name[dtype]
    if facts.kind == "b" then return { true, false } end
    if facts.kind == "f" then
        return { 0 / 0, math.huge, -math.huge, 0, -0.0, 1, -1, TINY[dtype], HUGE[dtype], -HUGE[dtype] }
    end
    if facts.kind == "c" then return { core.NAN, math.huge, 0, 1i, -1 - 1i, -math.huge } end
    if facts.bits == 64 then
        if facts.kind == "u" then return { 0, 1, 2LL ^ 53 + 1, -1ULL } end
        return { 0, 1, -1, -2LL ^ 53 - 1, bit.lshift(1LL, 63), bit.bnot(bit.lshift(1LL, 63)) }
    end
    return { 0, 1, facts.lowest, facts.highest }
end

--- A value of the dtype from `spec.from` to `spec.to` (by default -3 to 3).
local function draw(spec, dtype, random)
    local facts = dtypes.by_name[dtype]
    local low, high = spec.from or -3, spec.to or 3
    if facts.kind == "b" then return random(2) == 1 end
    if facts.kind == "f" or facts.kind == "c" then
        local value = low + (high - low) * (random(2 ^ 26) - 0.5) / 2 ^ 26
        if facts.kind == "f" then return value end
        return value + (low + (high - low) * (random(2 ^ 26) - 0.5) / 2 ^ 26) * 1i
    end
    low, high = math.max(math.ceil(low), facts.lowest), math.min(math.floor(high), facts.highest)
    if low > high then low, high = high, low end -- no integer lies between
    return low + random(high - low + 1) - 1
end

cases.value = draw

local function size_of(dims)
    local size = 1
    for _, n in ipairs(dims) do size = size * n end
    return size
end

--- An array of a flat list of values.
function cases.array(list, dims, dtype)
    if #list == 0 then return np.zeros(dims, { dtype = dtype }) end
    return np.array(list, { dtype = dtype }):reshape(dims)
end

--- Sorts numbers, or booleans.
function cases.sort(list)
    table.sort(list, function(a, b)
        if type(a) == "boolean" then return not a and b end
        return a < b
    end)
end

--- An argument: spec.make(random, dims, dtype) makes what is not an array of numbers drawn one by one.
local function argument(spec, dims, dtype, random)
    dtype = spec.dtype or dtype
    if spec.make then return spec.make(random, dims, dtype) end
    local list = {}
    for k = 1, size_of(dims) do list[k] = draw(spec, dtype, random) end
    if spec.sorted then cases.sort(list) end
    return cases.array(list, dims, dtype)
end

-- ---- Shapes ---------------------------------------------------------------------------------------------------------

-- Of functions of elements, by the number of arguments: those that broadcast, empty, of one element, 0-d.
local ELEMENTWISE = {
    { { {} }, { { 5 } }, { { 2, 3 } }, { { 0 } }, { { 1 } } },
    { { {}, {} }, { { 5 }, { 5 } }, { { 2, 3 }, { 3 } }, { { 3, 1 }, { 4 } }, { { 0 }, { 0 } }, { { 4 }, {} },
      { {}, { 3 } } },
    { { {}, {}, {} }, { { 5 }, { 5 }, { 5 } }, { { 2, 1 }, { 3 }, {} }, { { 0 }, { 0 }, { 0 } }, { { 4 }, {}, { 1 } } },
}

function cases.shapes(contract)
    if contract.shapes then return contract.shapes end
    return assert(ELEMENTWISE[#contract.args], "a function of so many arguments needs shapes")
end

-- ---- Cases ----------------------------------------------------------------------------------------------------------

--- All tuples of special values, one in each place, as flat columns.
local function product(lists)
    local columns, total = {}, 1
    for k = 1, #lists do columns[k], total = {}, total * #lists[k] end
    for n = 0, total - 1 do
        local rest = n
        for k, list in ipairs(lists) do
            columns[k][n + 1] = list[rest % #list + 1]
            rest = math.floor(rest / #list)
        end
    end
    return columns, total
end

--- The special values that an argument's spec has for a dtype: a list, or a function of the dtype; nil without.
local function own_specials(spec, dtype)
    if type(spec.special) == "function" then return spec.special(spec.dtype or dtype) end
    return spec.special
end

--- One case of the first shapes in which each argument has as many special values as there is room for.
local function special_together(contract, dtype, add, random)
    local args = {}
    for k, spec in ipairs(contract.args) do
        local dims = cases.shapes(contract)[1][k]
        args[k] = argument(spec, dims, dtype, random)
        if spec.special ~= false and not spec.dtype and not spec.make then
            local list, flat = own_specials(spec, dtype) or cases.specials(dtype), args[k]:reshape(-1):totable()
            local first = random(#list)
            for n = 1, math.min(#flat, #list) do flat[n] = list[(first + n) % #list + 1] end
            args[k] = cases.array(flat, dims, dtype)
        end
    end
    add("special", args, contract.options[1])
end

--- A contract without shapes of its own: one case, in which all special values meet all. Others: a case for each value
-- in each argument, at a place that is drawn.
local function special_cases(contract, dtype, add, random)
    if contract.special == false then return end
    if contract.special == "together" then return special_together(contract, dtype, add, random) end
    local shapes = cases.shapes(contract)
    if not contract.shapes and #contract.args <= 2 then
        local lists = {}
        for k, spec in ipairs(contract.args) do
            lists[k] = own_specials(spec, dtype) or cases.specials(spec.dtype or dtype)
        end
        local columns, total = product(lists)
        local args = {}
        for k, spec in ipairs(contract.args) do args[k] = cases.array(columns[k], { total }, spec.dtype or dtype) end
        return add("special", args, contract.options[1])
    end
    local facts = dtypes.by_name[dtype]
    for k, spec in ipairs(contract.args) do
        local list = own_specials(spec, dtype) or facts.kind == "f" and { 0 / 0, math.huge, -math.huge, HUGE[dtype] }
            or cases.specials(dtype)
        if spec.special == false or spec.dtype or spec.make then list = {} end
        for _, value in ipairs(list) do
            local args = {}
            for j, other in ipairs(contract.args) do args[j] = argument(other, shapes[1][j], dtype, random) end
            local size = size_of(shapes[1][k])
            if size > 0 then
                local flat = args[k]:reshape(-1):totable()
                flat[random(size)] = value
                args[k] = cases.array(flat, shapes[1][k], dtype)
                add("special", args, contract.options[1])
            end
        end
    end
end

--- The cases of a contract: { what, args, options, dtype }. Every shape in the first dtype and in f32; in the others
-- two shapes and the special values; every table of options with the first shapes in the first dtype and in one half.
function cases.list(contract, seed)
    local list, random = {}, seeds.generator(seed)
    local accepted, shapes = cases.dtypes(contract.accepts), cases.shapes(contract)
    for at, dtype in ipairs(accepted) do
        local function add(what, args, options)
            list[#list + 1] = { what = what, args = args, options = options, dtype = dtype }
        end
        for k, dims in ipairs(shapes) do
            if at == 1 or dtype == "f32" or k <= 2 then
                for j, options in ipairs(contract.options) do
                    if j == 1 or k == 1 and (at == 1 or dtype == "f16" or dtype == "i32") or k == 2 and at == 1 then
                        local args = {}
                        for n, spec in ipairs(contract.args) do args[n] = argument(spec, dims[n], dtype, random) end
                        add("plain", args, options)
                    end
                end
            end
        end
        special_cases(contract, dtype, add, random)
    end
    return list
end

--- Arguments of a shape (its number in the list of shapes, or their extents) in a dtype, drawn anew.
function cases.draw(contract, dtype, shape, random)
    local args, dims = {}, type(shape) == "table" and shape or cases.shapes(contract)[shape]
    for n, spec in ipairs(contract.args) do args[n] = argument(spec, dims[n], dtype, random) end
    return args
end

-- ---- Texts ----------------------------------------------------------------------------------------------------------

local function number_text(value)
    if type(value) == "boolean" then return value and "1" or "0" end
    if type(value) == "cdata" then return (tostring(value):gsub("U?LL$", "")) end
    if value ~= value then return "nan" end
    if value == math.huge then return "inf" end
    if value == -math.huge then return "-inf" end
    if value == 0 and 1 / value < 0 then return "-0" end
    return ("%.17g"):format(value)
end

--- The elements of an array as texts: two for each complex one.
function cases.elements(x)
    local list = {}
    local function visit(value)
        if type(value) == "table" then
            for k = 1, #value do visit(value[k]) end
        elseif core.complex.is(value) then
            list[#list + 1], list[#list + 2] = number_text(tonumber(value.re)), number_text(tonumber(value.im))
        else
            list[#list + 1] = number_text(value)
        end
    end
    if x.size > 0 then visit(x:totable()) end
    return list
end

--- An array as "f32[2,3] 1 2 …".
function cases.text(x)
    return ("%s[%s] %s"):format(x.dtype, table.concat(x.shape, ","), table.concat(cases.elements(x), " "))
end

--- A line that an oracle reads: kind, id, the oracle's text, the options, the arguments by name.
function cases.line(kind, id, oracle, case, contract)
    local options = next(case.options) and case.options or { none = true }
    local fields = { kind, id, oracle, json.write(options, { digits = 17 }) }
    for k, spec in ipairs(contract.args) do
        fields[#fields + 1] = spec[1] .. "=" .. (spec.text and spec.text(case.args[k]) or cases.text(case.args[k]))
    end
    return table.concat(fields, "\t")
end

--- A sum over a text, which tells whether a golden value was made for it.
function cases.sum(text)
    local sum = 0
    for k = 1, #text do sum = (sum * 31 + text:byte(k)) % 4294967291 end
    return ("%08x"):format(sum)
end

return cases
