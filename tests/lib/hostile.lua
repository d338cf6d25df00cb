--- hostile.lua: texts and arrays that formats of files find hard: texts that look like something else, delimiters,
-- quotes, ends of lines; NaN, -0, subnormals, ends of integers; no elements, no axes, turned and broadcast layouts.
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"

local hostile = {}

--- All dtypes.
hostile.dtypes = {}
for _, list in ipairs { dtypes.names, dtypes.complex } do
    for _, name in ipairs(list) do table.insert(hostile.dtypes, name) end
end

--- Texts that are numbers, bools or no value to somebody.
hostile.numbers = {
    "NA", "N/A", "#N/A", "<NA>", "nan", "NaN", "-nan", "null", "NULL", "None", "001", "007", "1", "-1", "+5",
    "1.5", ".5", "5.", "1e5", "1E-300", "-0", "-0.0", "inf", "-inf", "Infinity", "true", "false", "True",
    "TRUE", "FALSE", "0x10", "1_000", "18446744073709551616", "9007199254740993", "(1+2j)", "1i",
}

local OTHERS = {
    "", " ", "  ", " 1", "1 ", "\t1", "\t", "a,b", "a;b", "a|b", "a\tb", 'a "b"', '"', '""', "'", "''", "\n",
    "\r", "\r\n", "two\nlines", "two\r\nlines", "a\r", "#", "# no comment", "x#y", "é", "ünïcödé", "日本語", "😀",
    "\239\187\191x", "\239\187\191", "-", "--", "/", "a/b", ".", "..", "a.npy", "w:number", "w:string", ":",
    "%", "%41", "%%", "#1", "\\", "\\n", "{", "}", "[1]", "null\n", "$x", "=1+1", "@",
}

local PIECES = { "a", "1", " ", ",", ";", "\t", "|", '"', "\n", "\r", "#", "é", ".", "-", "e", "%", "/", ":" }

--- A text, valid UTF-8.
function hostile.text(random)
    local kind = random(4)
    if kind == 1 then return hostile.numbers[random(#hostile.numbers)] end
    if kind <= 3 then return OTHERS[random(#OTHERS)] end
    local parts = {}
    for k = 1, random(8) do parts[k] = PIECES[random(#PIECES)] end
    return table.concat(parts)
end

--- A function that picks one of a list.
function hostile.chooser(random)
    return function(list) return list[random(#list)] end
end

local SHAPES = { {}, { 0 }, { 1 }, { 5 }, { 0, 3 }, { 3, 0 }, { 1, 1 }, { 2, 3 }, { 4, 1, 2 }, { 2, 0, 2 } }

--- A function array(dtype, dims) that draws an array: every third element is special; laid out in one of several ways.
-- Without dims a shape is drawn.
function hostile.arrays(random)
    return function(dtype, dims)
        dims = dims or SHAPES[random(#SHAPES)]
        local size, list, special = 1, {}, cases.specials(dtype)
        for _, n in ipairs(dims) do size = size * n end
        local function one()
            if random(3) == 1 then return special[random(#special)] end
            return cases.value({ from = -1000, to = 1000 }, dtype, random)
        end
        for k = 1, size do list[k] = one() end
        local x = cases.array(list, dims, dtype)
        local layout = random(4)
        if layout == 1 and #dims > 1 and size > 0 then -- columns first
            return np.array(np.transpose(x):totable(), { dtype = dtype }):transpose()
        elseif layout == 2 and #dims > 0 and size > 0 then
            return np.flip(np.flip(x))
        elseif layout == 3 and #dims > 0 and size > 0 then
            return np.broadcast_to(np.array(one(), { dtype = dtype }), dims)
        end
        return x
    end
end

--- Raises unless both are the same: arrays in dtype, shape and elements (NaN is NaN, -0 is not 0), others as values.
function hostile.same(got, want, what)
    if np.is_array(want) then
        check.ok(np.is_array(got), ("%s: got %s"):format(what or "", tostring(got)))
        check.equal(cases.text(got), cases.text(want), what)
    else
        check.equal(got, want, what)
    end
end

return hostile
