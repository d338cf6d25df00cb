--- check.lua: np.check: whether an answer is what was expected, in one line of text; for exercises.
--
-- An answer and what is expected are walked together, as trees. What stands at a place is compared in this order: kind,
-- keys, shape, dtype, elements. The first difference ends the walk, since all that follows would repeat it.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local source = require "neap.core.source"
local trees = require "neap.core.trees"

local np = core.np
local is_array, describe, shape_text = core.is_array, core.describe, core.shape_text
local ipairs, math, pcall, tostring, type = ipairs, math, pcall, tostring, type

local NAME = "check"
local LONGEST_TEXT = 40 -- bytes of a string that is told
local RTOL, RTOL_OF_HALVES, ATOL = 1e-5, 1e-2, 1e-8

-- ---- Kinds of values ------------------------------------------------------------------------------------------------

local function is_scalar(value)
    return core.is_number(value) or type(value) == "boolean" or core.complex.is(value)
        or core.integer64(value) ~= nil
end

--- Whether a value is a table of numbers or booleans, in lists of lists, which stands for an array.
local function is_data(value)
    for _ = 1, core.MAX_DIMS do
        if type(value) ~= "table" or getmetatable(value) ~= nil then return false end
        if value[1] == nil then return next(value) == nil end
        value = value[1]
        if is_scalar(value) then return true end
    end
    return false
end

--- The array that a value is or stands for; nil: none. Raises for a table whose rows have unlike lengths.
local function array_of(value)
    if is_array(value) then return value end
    return (is_scalar(value) or is_data(value)) and np.array(value) or nil
end

--- Raises if a value of the user's has no numbers to compare.
local function check_known(position, what, value)
    if is_array(value) and core.info(value).traced ~= 0 then
        core.bad_argument(NAME, position, what, "values that are known", value)
    end
end

-- ---- Differences ----------------------------------------------------------------------------------------------------

-- A place is the name of what is compared there, "the answer" or such as "w" or "layers[1].w".

--- What an answer is that is no array: of a table, what of it makes it none.
local function described(answer)
    if type(answer) == "string" and (#answer > LONGEST_TEXT or answer:find "\n") then
        local start = answer:match "^[^\n]*":sub(1, LONGEST_TEXT):gsub("[\192-\255][\128-\191]*$", "")
        return ("a string, %q …"):format(start)
    end
    if type(answer) ~= "table" or getmetatable(answer) ~= nil then return describe(answer) end
    local key = next(answer)
    if type(key) == "string" then return "a table with names, such as " .. key end
    local item = answer[1]
    for _ = 1, core.MAX_DIMS do
        if type(item) ~= "table" then break end
        item = item[1]
    end
    if is_array(item) then return "a table of arrays (x:item() is the number in one, np.stack(t) an array of all)" end
    return describe(answer)
end

--- That a value is of another kind than what is expected.
local function unlike(place, answer, expected)
    return ("%s is %s, expected %s"):format(place, described(answer), describe(expected))
end

--- Two numbers as texts that differ, if the numbers do.
local function texts(got, want)
    if type(got) ~= "number" or type(want) ~= "number" then return tostring(got), tostring(want) end
    local function text(value, digits) return value ~= value and "nan" or ("%." .. digits .. "g"):format(value) end
    for _, digits in ipairs { 6, 9 } do
        if text(got, digits) ~= text(want, digits) then return text(got, digits), text(want, digits) end
    end
    return text(got, 17), text(want, 17)
end

--- The indices of element k, counted in rows, of an array with these extents: "{1, 2}".
local function index_text(k, dims)
    local parts = {}
    for axis = #dims, 1, -1 do
        parts[axis] = ("%d"):format(k % dims[axis])
        k = math.floor(k / dims[axis])
    end
    return "{" .. table.concat(parts, ", ") .. "}"
end

--- What differs among the elements of two arrays of one shape; nil: nothing.
local function element_difference(place, got, want, how)
    local near
    if core.dtype_of(got).inexact or core.dtype_of(want).inexact then
        local half = core.dtype_of(got).half or core.dtype_of(want).half
        near = np.isclose(got, want, { rtol = how.rtol or half and RTOL_OF_HALVES or RTOL, atol = how.atol or ATOL,
                                       equal_nan = true })
    else
        near = np.equal(got, want)
    end
    local far = np.logical_not(near):reshape(-1)
    local count = np.count_nonzero(far):item()
    if count == 0 then return nil end
    local first = np.argmax(far):item()
    local function element(x) return np.take(x:reshape(-1), first):item() end
    local got_text, want_text = texts(element(got), element(want))
    local dims = core.shape_of(got)
    if #dims == 0 then return ("%s is %s, expected %s"):format(place, got_text, want_text) end
    return ("element %s of %s is %s, expected %s; %d of %d differ"):format(index_text(first, dims), place, got_text,
                                                                        want_text, count, core.size_of(got))
end

--- What differs in dtype between an answer and what is expected, `got` and `want` being their arrays; nil: nothing.
-- Numbers and tables have no dtype: what stands for them is of their kind, boolean, real or complex.
local function dtype_difference(place, answer, expected, got, want)
    local is, should = core.dtype_of(got), core.dtype_of(want)
    local text = "the dtype of " .. place .. " is %s, expected %s"
    if is_array(answer) and is_array(expected) and core.info(answer).weak == 0 and core.info(expected).weak == 0 then
        if is.name ~= should.name then return text:format(is.name, should.name) end
    elseif (is.kind == "b") ~= (should.kind == "b") then
        if is_scalar(answer) and is_scalar(expected) then return unlike(place, answer, expected) end
        return text:format(is.name, should.kind == "b" and "bool" or "one of numbers")
    elseif is.kind == "c" and should.kind ~= "c" then
        return text:format(is.name, "a real one")
    end
end

--- What differs between an answer and what stands for the array `want`; nil: nothing.
local function array_difference(place, answer, expected, want, how)
    local known, got = pcall(array_of, answer)
    if not known or not got then return unlike(place, answer, is_scalar(expected) and expected or want) end
    if not shape.same(core.shape_of(got), core.shape_of(want)) then
        return ("the shape of %s is %s, expected %s"):format(place, shape_text(got), shape_text(want))
    end
    local problem = dtype_difference(place, answer, expected, got, want)
    if problem then return problem end
    got, want = operands.compared(NAME, 2, answer, expected)
    return element_difference(place, got, want, how)
end

local difference

--- What differs between a tree and another value; nil: nothing.
local function tree_difference(path, place, answer, expected, how, depth)
    trees.check_depth(NAME, depth)
    if not trees.is_node(answer) then return unlike(place, answer, expected) end
    for _, key in ipairs(trees.keys_of(expected, NAME)) do
        if answer[key] == nil then return ("%s has nothing at %s"):format(place, trees.key_text(key)) end
        local problem = difference(trees.inner_path(path, key), answer[key], expected[key], how, depth + 1)
        if problem then return problem end
    end
    for _, key in ipairs(trees.keys_of(answer, NAME)) do
        if expected[key] == nil then return ("%s has something at %s, too"):format(place, trees.key_text(key)) end
    end
end

--- ": ring(…) returned nothing" where the user's line hands over what a function of that name gave; or nothing.
local function of_call()
    local line = source.current() or ""
    local name = line:match "np%.check%s*%(%s*([%a_][%w_%.:]*)%s*%("
    return name and (": %s(…) returned nothing"):format(name) or ""
end

--- What differs between an answer and what is expected at a path; nil: nothing.
function difference(path, answer, expected, how, depth)
    local place = path == "" and "the answer" or path
    if answer == nil then return place .. " is nil" .. (depth == 0 and of_call() or "") end
    check_known(1, "answer", answer)
    check_known(2, "expected", expected)
    if type(expected) == "string" then
        return answer ~= expected and unlike(place, answer, expected) or nil
    end
    local want = array_of(expected)
    if want then return array_difference(place, answer, expected, want, how) end
    if trees.is_node(expected) then return tree_difference(path, place, answer, expected, how, depth) end
    core.bad_argument(NAME, 2, "expected", "an array, a number, a boolean, a text or a table of these", expected)
end

-- ---- np.check -------------------------------------------------------------------------------------------------------

local function tolerance(o, name)
    local value = core.plain(o[name])
    if value ~= nil and not (type(value) == "number" and value >= 0 and value < math.huge) then
        core.bad_argument(NAME, nil, name, "a number from 0 up", value)
    end
    return value
end

--- np.check(answer, expected, {rtol=…, atol=1e-8, name=…}) -> nothing: prints "right" if an answer is what was
-- expected, and else "not yet" with the first difference: kind, keys, shape, dtype, or the element that differs first,
-- in the order of rows. For exercises: an answer that is wrong, or nil, raises nothing. Waits.
--
-- Both are arrays, numbers, booleans, texts, or trees of these; tables of numbers count as arrays. Floats may differ as
-- np.isclose has it, and NaN is as good as NaN; integers and booleans are equal. Dtypes are compared where both are
-- arrays: what a number or a table stands for may be of any dtype that is boolean, real or complex as they are.
--- rtol: how far an element may be off, relative to what was expected; 1e-5, and 1e-2 with halves
--- atol: how far an element may be off whatever was expected
--- name: what the line calls the answer
--- > np.check(np.linspace(0, 1, 5), {0, 0.25, 0.5, 0.75, 1})
-- right
--- > np.check(np.linspace(0, 1, 4), {0, 0.25, 0.5, 0.75, 1}, {name="ramp"})
-- not yet: the shape of ramp is (4,), expected (5,)
--- > np.check(np.array{{1, 2}, {3, 5}}, {{1, 2}, {3, 4}})
-- not yet: element {1, 1} of the answer is 5, expected 4; 1 of 4 differ
--- > np.check(nil, 3)
-- not yet: the answer is nil
function np.check(answer, expected, given)
    local o = core.options(NAME, given, { rtol = true, atol = true, name = true })
    local how = { rtol = tolerance(o, "rtol"), atol = tolerance(o, "atol") }
    if o.name ~= nil and (type(o.name) ~= "string" or o.name == "") then
        core.bad_argument(NAME, nil, "name", "a text", o.name)
    end
    if expected == nil then
        core.bad_argument(NAME, 2, "expected", "an array, a number, a boolean, a text or a table of these", nil)
    end
    local problem = difference(o.name or "", answer, expected, how, 0)
    print(problem and "not yet: " .. problem or o.name and "right: " .. o.name or "right")
end

-- They wait for values, and walk what the user gave.
for _, f in ipairs { element_difference, array_difference, tree_difference, difference, np.check } do jit.off(f) end
