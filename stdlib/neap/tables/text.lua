--- text.lua: columns of texts. A column holds each different text once: its levels, in the order of the alphabet or, of
-- categories, in one of their own; and for each row the number of its level, an i32 array, -1 where there is no text.
-- So comparing, sorting and grouping are work on arrays. Levels are a list of strings, or packed (packed.lua); the
-- other form is made when it is asked for, and columns with the same levels share both.
local ffi = require "ffi"
local core = require "neap.core"
local columns = require "neap.tables.columns"
local packed = require "neap.tables.packed"

local np, codes = core.np, core.dtype_codes
local is_array, fail, describe = core.is_array, core.fail, core.describe

local text, methods = {}, {}
text.methods = methods -- those of strings.lua are loaded when one of them is named

-- A column is a userdata, since Lua asks no metatable for the length of its own tables; this is what is in each.
local prototype, states = newproxy(true), setmetatable({}, { __mode = "k" })
local Text = getmetatable(prototype)

--- Whether a value is a column of texts.
function text.is_text(value)
    return getmetatable(value) == Text
end

--- A column of levels, in one form or both, and the rows' numbers.
local function new(forms, numbers, own)
    local column = newproxy(prototype)
    states[column] = { forms = forms, codes = numbers, own = own or false }
    return column
end

--- A column of its different levels and the rows' numbers, an i32 array. The levels are in the order of the alphabet,
-- or in one of their own, and then `own` is true.
function text.new(levels, numbers, own) return new({ list = levels }, numbers, own) end

--- The same of packed levels, in the order of the alphabet.
function text.of_packed(levels, numbers) return new({ packed = levels }, numbers) end

--- The levels of a column, a list.
local function levels_of(column)
    local forms = states[column].forms
    forms.list = forms.list or packed.list(forms.packed)
    return forms.list
end

--- Whether the levels of a column are in an order of their own, not in that of the alphabet.
function text.has_own_order(column) return states[column].own end

columns.add_kind(Text, {
    storage = function(column) return states[column].codes end,
    like = function(column, numbers) return new(states[column].forms, numbers, states[column].own) end,
    sortable = function(column, descending)
        local numbers = states[column].codes
        if descending then return numbers end
        return np.where(np.less(numbers, 0), #levels_of(column), numbers):astype "i32"
    end,
    texts = function(column) return text.list(column) end,
    none = -1,
})

--- An i32 array of n numbers that f(k) gives for k = 0 … n-1, which must not call into neap.
local function numbers_of(n, f)
    return core.fill(codes.i32, { n }, function(out)
        for k = 0, n - 1 do out[k] = f(k) end
    end, "int32_t *")
end

--- The place of each text of a list, from 0: two tables, texts in order, and the place by text.
local function ordered(list)
    table.sort(list)
    local places = {}
    for k = 1, #list do places[list[k]] = k - 1 end
    return list, places
end

--- Numbers of n levels as those that f gives for them; -1 stays.
local function renumbered(numbers, n, f)
    local map = numbers_of(n + 1, function(k) return k < n and f(k) or -1 end)
    return np.take(map, np.where(np.less(numbers, 0), n, numbers):astype "i32")
end

--- Whether the n texts of a list are all there, in order and different.
local function is_ascending(list, n)
    for k = 1, n do
        if not list[k] or k > 1 and list[k - 1] >= list[k] then return false end
    end
    return true
end

--- A column of an i32 array of numbers (-1: none) of n texts in a list from 1, which may be equal; false or nothing:
-- none.
function text.of_numbers(numbers, n, list)
    if is_ascending(list, n) then return text.new(core.copy_list(list), numbers) end
    local levels, known, count, in_order = {}, {}, 0, true
    for k = 1, n do
        local value = list[k]
        if value and not known[value] then
            in_order = in_order and (count == 0 or levels[count] < value)
            count = count + 1
            levels[count], known[value] = value, true
        end
    end
    if not in_order then table.sort(levels) end
    for k, level in ipairs(levels) do known[level] = k - 1 end
    return text.new(levels, renumbered(numbers, n, function(k)
        local value = list[k + 1]
        return value and known[value] or -1
    end))
end

--- A column of levels in any order, which are different, and an i32 array of numbers of them.
function text.sorted(levels, numbers)
    local in_order, sorted = true, {}
    for k = 1, #levels do
        sorted[k] = levels[k]
        in_order = in_order and (k == 1 or levels[k - 1] < levels[k])
    end
    if in_order then return text.new(sorted, numbers) end
    local _, places = ordered(sorted)
    return text.new(sorted, renumbered(numbers, #levels, function(k) return places[levels[k + 1]] end))
end

--- A column of a Lua table of n strings; false and nil stand for no text.
function text.of_list(name, list, n)
    local found, levels = {}, {}
    for k = 1, n do
        local value = list[k]
        if type(value) == "string" then
            if not found[value] then
                found[value] = true
                levels[#levels + 1] = value
            end
        elseif value then
            core.raise(name, "item %d of a column of texts must be a string, or false for none, got %s", k,
                       describe(value))
        end
    end
    local sorted, places = ordered(levels)
    return text.new(sorted, numbers_of(n, function(k) return list[k + 1] and places[list[k + 1]] or -1 end))
end

--- Whether columns of texts have the same levels in the same order.
local function agree(list)
    local first = list[1].levels
    for _, column in ipairs(list) do
        local levels = column.levels
        if #levels ~= #first then return false end
        for k = 1, levels ~= first and #first or 0 do
            if levels[k] ~= first[k] then return false end
        end
    end
    return true
end

--- Columns of texts with the same levels: those of all of them, in the order of the alphabet if they do not agree.
function text.same_levels(list)
    if agree(list) then return list end
    local all, found = {}, {}
    for _, column in ipairs(list) do
        for _, level in ipairs(column.levels) do
            if not found[level] then
                found[level] = true
                all[#all + 1] = level
            end
        end
    end
    local sorted, places = ordered(all)
    local results = {}
    for k, column in ipairs(list) do
        local levels = column.levels
        local numbers = renumbered(column.codes, #levels, function(j) return places[levels[j + 1]] end)
        results[k] = text.new(sorted, numbers)
    end
    return results
end

--- The texts of rows as a Lua table; false where there is none.
function text.list(column)
    local levels = column.levels
    return core.read(column.codes, function(data, n)
        local list = {}
        for k = 1, n do list[k] = levels[data[k - 1] + 1] or false end
        return list
    end)
end

local NAMES = { ["table.select"] = true, ["table.drop"] = true, ["table.dropna"] = true }

--- A method f that refuses more arguments than it has parameters, and a call with a dot, whose first argument is_own
-- does not know; `name`, "text.upper", is what errors and help call it.
function text.strict(name, f, is_own)
    local info = debug.getinfo(f, "u")
    local most = info.isvararg and math.huge or info.nparams
    local function strict(...)
        if not is_own((...)) then
            local part, method = name:match "^(%w+)%.(.*)$"
            core.raise(name, "call it as %s:%s(…), with a colon", part == "table" and "t" or part, method)
        end
        local extra = most < math.huge and select(most + 1, ...) or nil
        if type(extra) == "string" and NAMES[name] and type((select(most, ...))) == "string" then
            local method = name:match "%.(.*)$"
            core.raise(name, "several names are one list: t:%s{%q, %q}", method, (select(most, ...)), extra)
        end
        if extra ~= nil then core.too_many(name, most - 1, extra) end
        return f(...)
    end
    core.method_names[strict] = name
    return strict
end

--- How many levels a column has.
local function level_count(column)
    local forms = states[column].forms
    return forms.list and #forms.list or forms.packed.n
end

--- Which levels rows have: memory, which is 1 at the numbers of these from 1, and at 0 where a row has no text.
function text.used(column)
    local used = ffi.new("uint8_t[?]", level_count(column) + 1)
    core.read(column.codes, function(data, n)
        for k = 0, n - 1 do used[data[k] + 1] = 1 end
    end)
    return used
end

--- The levels of a column, packed, if rows have all of them; else nil, and where they are too many bytes.
function text.packed(column)
    local state, n = states[column], level_count(column)
    local forms = state.forms
    if state.whole == nil then
        local used, count = text.used(column), 0
        for k = 1, n do count = count + used[k] end
        state.whole = count == n -- which stays, as arrays do
    end
    if not state.whole then return nil end
    forms.packed = forms.packed or packed.of_list(forms.list, n)
    return forms.packed
end

-- ---- What users see -------------------------------------------------------------------------------------------------

--- text:totable(): the texts of a column as a Lua table; false where there is none.
methods.totable = text.list

--- The number of a text among the levels; -2, which no row has, if it is not one of them.
local function level_of(column, value, method)
    if type(value) ~= "string" then
        core.bad_argument("text." .. method, 1, "s", "a string, with which texts are compared", value)
    end
    local low, high = 1, #column.levels
    if states[column].own then
        for k = 1, high do
            if column.levels[k] == value then return k - 1 end
        end
        return -2
    end
    while low <= high do
        local middle = math.floor((low + high) / 2)
        local level = column.levels[middle]
        if level == value then return middle - 1 end
        if level < value then low = middle + 1 else high = middle - 1 end
    end
    return -2
end

--- text:eq(s), text:ne(s), text:isin{s, …}: arrays of bool: which texts of a column are s, are not, or are one of
-- several. A row without a text is none of them.
function methods.eq(column, value)
    return np.equal(column.codes, level_of(column, value, "eq"))
end

function methods.ne(column, value)
    return np.not_equal(column.codes, level_of(column, value, "ne"))
end

function methods.isin(column, list)
    if type(list) ~= "table" or getmetatable(list) ~= nil then
        core.bad_argument("text.isin", 1, "list", "a table of strings", list)
    end
    local result = np.equal(column.codes, -2)
    for _, value in ipairs(list) do
        result = np.logical_or(result, np.equal(column.codes, level_of(column, value, "isin")))
    end
    return result
end

--- text:isnan(): an array of bool: which rows of a column have no text.
function methods.isnan(column)
    return np.less(column.codes, 0)
end

--- text:unique(): the different texts of a column in order, a Lua table.
function methods.unique(column)
    local used, list = text.used(column), {}
    for k, level in ipairs(column.levels) do
        if used[k] ~= 0 then list[#list + 1] = level end
    end
    return list
end

--- The names of methods, for messages.
function text.method_names()
    local names = {}
    for name in pairs(methods) do names[#names + 1] = name end
    table.sort(names)
    return table.concat(names, ", ")
end

--- What to do where dates have what texts have not, or all texts of a column are numbers.
local function advice(column, key)
    local there = require("neap.core.aliases").texts[key]
    if there then return "; here it is " .. there end
    if require("neap.tables.dates").has(key) then return "; dates have it, and np.to_datetime makes dates of texts" end
    for _, level in ipairs(column.levels) do
        if not tonumber(level) then return "" end
    end
    if #column.levels == 0 then return "" end
    return "; its texts are numbers, which np.io.read_csv makes of them by {dtype=…}, or if they stand in quotes by "
        .. "{quoting=\"all\"}"
end

--- text:set_categories{text, …}: the same texts with these as levels, in this order, in which they are then sorted and
-- grouped; a column of the order of the alphabet else. Raises where a text of the column is not among them.
--- > t = np.table({{"size", {"small", "large", "small"}}})
--- > t:with{size = t.size:set_categories{"small", "large"}}:sort("size").size
-- {"small", "small", "large"}
function methods.set_categories(column, list)
    if type(list) ~= "table" or getmetatable(list) ~= nil then
        core.bad_argument("text.set_categories", 1, "categories", "a list of strings", list)
    end
    local places, levels = {}, {}
    for k, level in ipairs(core.list("text.set_categories", "the list of categories", list)) do
        if type(level) ~= "string" then
            core.raise("text.set_categories", "item %d must be a string, got %s", k, describe(level))
        end
        if places[level] then core.raise("text.set_categories", "%q stands twice in the list", level) end
        places[level], levels[k] = k - 1, level
    end
    local own = column.levels
    for _, level in ipairs(methods.unique(column)) do
        if not places[level] then core.raise("text.set_categories", "%q is not among the categories", level) end
    end
    local numbers = renumbered(column.codes, #own, function(k) return places[own[k + 1]] or -1 end)
    return text.new(levels, numbers, true)
end

-- Methods that refuse surplus arguments, by name.
local strict = {}

local function method(key)
    if not methods[key] then require "neap.tables.strings" end
    strict[key] = strict[key] or methods[key] and text.strict("text." .. key, methods[key], text.is_text)
    return strict[key]
end

function Text.__index(column, key)
    if key == "codes" then return states[column].codes end
    if key == "levels" then return levels_of(column) end
    if type(key) == "number" then
        local n = #column
        if key % 1 ~= 0 or key < -n or key >= n then fail("index %s is out of range for %d texts", tostring(key), n) end
        return column.levels[column.codes[key]:item() + 1]
    end
    if key == "size" then return #column end
    if key == "dtype" then return "text" end
    if is_array(key) then return columns.map(column, function(x) return x[key] end) end
    local found = type(key) == "string" and method(key)
    if found then return found end
    fail("a column of texts has no '%s' (it has %s)%s", tostring(key), text.method_names(), advice(column, key))
end

function Text.__newindex()
    fail("a column of texts cannot be changed")
end

function Text.__members()
    require "neap.tables.strings"
    return { codes = true, levels = true, size = true, dtype = true }, methods, "text."
end

function Text.__len(column)
    return #column.codes
end

function Text.__tostring(column)
    local n, parts = #column, {}
    for k = 0, n - 1 do
        if n > 1000 and k == 3 then parts[#parts + 1] = "..." end
        if n <= 1000 or k < 3 or k >= n - 3 then
            local value = column[k]
            parts[#parts + 1] = value and ("%q"):format(value) or "none"
        end
    end
    return "{" .. table.concat(parts, ", ") .. "}"
end

function Text.__describe(column)
    return ("a column of %d texts"):format(#column)
end

--- Texts as memory for C: arrays of pointers and of lengths, and what keeps them.
function text.pointers(levels)
    local pointers, lengths = ffi.new("const char *[?]", #levels + 1), ffi.new("size_t[?]", #levels + 1)
    for k, level in ipairs(levels) do pointers[k - 1], lengths[k - 1] = level, #level end
    return pointers, lengths
end

for _, f in ipairs { numbers_of, text.of_list, text.list, text.used } do jit.off(f) end

return text
