--- results.lua: the values that commands gave: `_` is the last one, `_3` and `Out[3]` that of command 3.
--
-- At most KEPT are kept, and the older ones only as long as all of them but the last take at most BYTES together: a new
-- one drops the oldest. The last one is kept whatever its size, until the next. What is dropped is the collector's.
local core = require "neap.core"

local results = { count = 0 } -- count: commands so far, the one that runs included

local KEPT, BYTES = 20, 64 * 2 ^ 20
local MAX_VISITED = 10000 -- values of a table that are looked at for its size

local list = {} -- oldest first: { number, value, bytes }; of a value without a number the last one alone is kept

--- The bytes of an array; of all arrays and strings in a table. An array that is not computed counts as if it were.
local function bytes_of(value, seen)
    if core.is_array(value) then return core.dtype_of(value).bytes * value.size end
    if type(value) == "string" then return #value end
    if type(value) ~= "table" or seen[value] or seen.count > MAX_VISITED then return 0 end
    seen[value], seen.count = true, seen.count + 1
    local sum = 0
    for _, item in next, value do sum = sum + bytes_of(item, seen) end
    return sum
end
results.bytes_of = function(value) return bytes_of(value, { count = 0 }) end

--- Keeps the value of the command that runs; is_inner: of one at a breakpoint in it, which is the last value alone.
function results.keep(value, is_inner)
    if type(value) == "nil" or rawequal(value, results.out) then return end
    local last = list[#list] and list[#list].number
    if list[1] and (last == nil or last == results.count and not is_inner) then list[#list] = nil end
    list[#list + 1] = { number = not is_inner and results.count or nil, value = value, bytes = results.bytes_of(value) }
    local older = 0
    for k = 1, #list - 1 do older = older + list[k].bytes end
    while #list > KEPT or (older > BYTES and #list > 1) do
        older = older - list[1].bytes
        table.remove(list, 1)
    end
end

--- The last value, nil if there is none.
function results.last()
    return list[#list] and list[#list].value
end

--- Whether the value of a command is kept, and the value.
function results.get(number)
    for _, entry in ipairs(list) do
        if entry.number == number then return true, entry.value end
    end
    return false, nil
end

--- Drops all.
function results.clear()
    list = {}
end

results.out = setmetatable({}, {
    __index = function(_, number) return (select(2, results.get(number))) end,
    __newindex = function() core.fail("Out has the values of commands; give what you keep a name of its own") end,
    __tostring = function()
        if not list[1] then return "no command has given a value yet" end
        local show = require "neap.interp.show"
        local rows = {}
        for _, entry in ipairs(list) do
            if entry.number then rows[#rows + 1] = { ("Out[%d]"):format(entry.number), show.brief(entry.value) } end
        end
        return show.columns(rows)
    end,
})

return results
