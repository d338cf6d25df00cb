--- text.lua: columns of texts. A column holds each different text once, in order: its levels; and for each row the
-- number of its level, an i32 array, -1 where there is no text. So comparing, sorting and grouping are work on arrays.
local ffi = require "ffi"
local core = require "neap.core"

local np, codes = core.np, core.dtype_codes
local is_array, fail, describe = core.is_array, core.fail, core.describe

local text, methods = {}, {}

-- A column is a userdata, since Lua asks no metatable for the length of its own tables; this is what is in each.
local prototype, states = newproxy(true), setmetatable({}, { __mode = "k" })
local Text = getmetatable(prototype)

--- Whether a value is a column of texts.
function text.is_text(value)
    return getmetatable(value) == Text
end

--- A column of its levels, in order and different, and the rows' numbers, an i32 array.
function text.new(levels, numbers)
    local column = newproxy(prototype)
    states[column] = { levels = levels, codes = numbers }
    return column
end

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

--- Columns of texts with the same levels: those of all of them.
function text.same_levels(columns)
    local all, found = {}, {}
    for _, column in ipairs(columns) do
        for _, level in ipairs(column.levels) do
            if not found[level] then
                found[level] = true
                all[#all + 1] = level
            end
        end
    end
    local sorted, places = ordered(all)
    local results = {}
    for k, column in ipairs(columns) do
        local levels = column.levels
        if #levels == #sorted or #levels == 0 then
            results[k] = text.new(sorted, column.codes)
        else
            local numbers = renumbered(column.codes, #levels, function(j) return places[levels[j + 1]] end)
            results[k] = text.new(sorted, numbers)
        end
    end
    return results
end

--- The same rows of a column that `pick` takes of an array.
function text.map(column, pick)
    return text.new(column.levels, pick(column.codes))
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

--- A method f that refuses more arguments than it has parameters; `name` is what errors call it.
function text.strict(name, f)
    local info = debug.getinfo(f, "u")
    local most = info.nparams
    if info.isvararg then return f end
    return function(...)
        local extra = select(most + 1, ...)
        if extra ~= nil then core.too_many(name, most - 1, extra) end
        return f(...)
    end
end

-- ---- What users see -------------------------------------------------------------------------------------------------

--- text:totable(): the texts of a column as a Lua table; false where there is none.
methods.totable = text.list

--- The number of a text among the levels; -2, which no row has, if it is not one of them.
local function level_of(column, value, method)
    if type(value) ~= "string" then
        fail("a column of texts is compared with a string: text:%s(\"…\"), got %s", method, describe(value))
    end
    local low, high = 1, #column.levels
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
    if type(list) ~= "table" then fail("text:isin takes a table of strings, got %s", describe(list)) end
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
    local used, list = {}, {}
    core.read(column.codes, function(data, n)
        for k = 0, n - 1 do used[data[k]] = true end
    end)
    for k, level in ipairs(column.levels) do
        if used[k - 1] then list[#list + 1] = level end
    end
    return list
end

--- What to do where all texts of a column are numbers.
local function advice(column)
    for _, level in ipairs(column.levels) do
        if not tonumber(level) then return "" end
    end
    if #column.levels == 0 then return "" end
    return "; its texts are numbers, which np.io.read_csv makes of them by {dtype=…}, or if they stand in quotes by "
        .. "{quoting=\"all\"}"
end

for name, f in pairs(methods) do methods[name] = text.strict("text." .. name, f) end

function Text.__index(column, key)
    if key == "codes" or key == "levels" then return states[column][key] end
    if type(key) == "number" then
        local n = #column
        if key % 1 ~= 0 or key < -n or key >= n then fail("index %s is out of range for %d texts", tostring(key), n) end
        return column.levels[column.codes[key]:item() + 1]
    end
    if key == "size" then return #column end
    if key == "dtype" then return "text" end
    local method = methods[key]
    if method then return method end
    if is_array(key) then return text.map(column, function(x) return x[key] end) end
    fail("a column of texts has no '%s' (it has eq, ne, isin, isnan, unique and totable)%s", tostring(key),
         advice(column))
end

function Text.__newindex()
    fail("a column of texts cannot be changed")
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

for _, f in ipairs { numbers_of, text.of_list, text.list, methods.unique } do jit.off(f) end

return text
