--- json.lua: np.io.load_json, save_json, from_json and to_json: JSON (RFC 8259) as Lua values; files/json.lua reads and
-- writes it, for the notebook too.
local core = require "neap.core"
local files = require "neap.files"
local json = require "neap.files.json"

local raise, bad_argument = core.raise, core.bad_argument
local values = {}

--- np.io.null: what null in JSON becomes, and is written as. (A nil would leave no trace in a table.)
--- > np.io.from_json("[1, null]")[2] == np.io.null
-- true
values.null = json.null

--- np.io.empty_object: what is written as {}; an empty table is written as [], unless it was read as {}.
--- > np.io.to_json({a = np.io.empty_object, b = {}})
-- {"a":{},"b":[]}
values.empty_object = json.object

local function read(text)
    local ok, value = pcall(json.read, text)
    if ok then return value end
    return nil, value
end

--- np.io.from_json(text) -> value: the value of a JSON text: objects are tables by key, arrays tables from 1, null is
-- np.io.null; integers that a number does not hold exactly are 64-bit integers, if these do. Raises if the text is not
-- strictly JSON in UTF-8, has a key twice, a number beyond f64, or values nested more than 200 deep.
--- > np.io.from_json('{"sizes": [2, 3], "big": 9007199254740993}').big
-- 9007199254740993LL
function values.from_json(text)
    local name = "io.from_json"
    if type(text) ~= "string" then bad_argument(name, 1, "text", "a string", text) end
    local value, problem = read(text)
    if problem then raise(name, "%s", problem) end
    return value
end

--- np.io.load_json(path) -> value: the value of a JSON file (see np.io.from_json).
--- > np.io.save_json("sizes.json", {2, 3})
--- > np.io.load_json("sizes.json")[2]
-- 3
function values.load_json(path)
    local name = "io.load_json"
    local text, problem = files.text(core.check_path(name, path))
    if not text then raise(name, "%s", problem) end
    local value
    value, problem = read(text)
    if problem then raise(name, "cannot read '%s': it is %s", path, problem) end
    return value
end

--- What stands for a value that is none of JSON's: for an array its numbers, in lists.
local function other(value, refuse)
    if not core.is_array(value) then refuse(core.describe(value)) end
    if core.dtype_of(value).kind == "c" then refuse "a complex array, which JSON does not have" end
    if core.ndim(value) == 0 then return value:item() end
    return value:totable()
end

local function written(name, value, given)
    local indent = core.options(name, given, { indent = true }).indent
    if indent ~= nil then indent = core.integer(name, nil, "indent", indent, 0, 16) end
    local ok, text = pcall(json.write, value, { indent = indent, strict = true, other = other })
    if not ok then raise(name, "%s", text) end
    return text
end

--- np.io.to_json(value, {indent=…}) -> string: a value as JSON: strings, finite numbers, 64-bit integers, booleans,
-- np.io.null, arrays (as lists of their numbers; waits), and tables of these, lists or by string keys, which come in
-- order. np.io.from_json gives it back, with lists for arrays. Raises for what JSON does not have, and names its place.
--- indent: blanks for each level, with a line for each value; all in one line without it
--- > np.io.to_json({b = {1, 0.1}, a = true})
-- {"a":true,"b":[1,0.1]}
--- > np.io.to_json({x = np.arange(2)}, {indent=2})
-- {
--   "x": [
--     0,
--     1
--   ]
-- }
function values.to_json(value, given)
    return written("io.to_json", value, given)
end

--- np.io.save_json(path, value, {indent=…}) -> nothing: writes a value as a JSON file (see np.io.to_json).
--- indent: blanks for each level, with a line for each value; all in one line without it
--- > np.io.save_json("metrics.json", {loss = {0.5, 0.25}}, {indent=1})
--- > #np.io.load_json("metrics.json").loss
-- 2
function values.save_json(path, value, given)
    local name = "io.save_json"
    core.check_path(name, path)
    local good, problem = files.write(path, { written(name, value, given) .. "\n" })
    if not good then raise(name, "%s", problem) end
end

for _, f in ipairs { other, values.load_json } do jit.off(f) end

return values
