--- pairs.lua: an order for `pairs` that all processes share.
--
-- LuaJIT goes through names in an order that is another one in each process. Where several processes run a script, a
-- loop over a table of parameters whose body comes to a collective would pair different arrays, and where their shapes
-- agree nobody would notice. So there `pairs` goes through numbers and then names, both sorted; keys of other kinds
-- come last, in the order that LuaJIT gives them. As ever, a loop may assign to fields that are there, also nil; what
-- it adds is left out. `next` stays as it is.
local type, next, rawget, sort = type, next, rawget, table.sort

local KINDS = { number = 1, string = 2 } -- those that are sorted

local function before(a, b)
    local left, right = type(a), type(b)
    if left ~= right then return KINDS[left] < KINDS[right] end
    return a < b
end

--- The keys of a table, in order.
local function ordered_keys(t)
    local sorted, others = {}, {}
    for key in next, t do
        if KINDS[type(key)] then sorted[#sorted + 1] = key else others[#others + 1] = key end
    end
    sort(sorted, before)
    for _, key in ipairs(others) do sorted[#sorted + 1] = key end
    return sorted
end

--- What `pairs(t)` is where there are several processes.
local function ordered_pairs(t)
    if type(t) ~= "table" then error(("bad argument #1 to 'pairs' (table expected, got %s)"):format(type(t)), 2) end
    local keys, at = ordered_keys(t), 0
    return function()
        repeat at = at + 1 until keys[at] == nil or rawget(t, keys[at]) ~= nil
        if keys[at] ~= nil then return keys[at], rawget(t, keys[at]) end
    end, t, nil
end

return ordered_pairs
