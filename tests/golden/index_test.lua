--- index_test.lua (under tsan with --long): random indices give the elements that NumPy's give (index.txt, made by
-- make_index.py), in text and in tables; x:at(index) writes just these, and gradients come back to these.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()
local arrays = {}

--- An item in Python's spelling as an item of a table; false: whole axes.
local function item_of(text)
    if arrays[text] then return arrays[text] end
    if text == "None" then return np.newaxis end
    if text == "..." then return np.ellipsis end
    local list = text:match "^%[(.*)%]$"
    if list then
        local values = {}
        for part in list:gmatch "[^, ]+" do
            if part == "True" or part == "False" then
                values[#values + 1] = part == "True"
            else
                values[#values + 1] = tonumber(part)
            end
        end
        if #values == 0 then return np.zeros({ 0 }, { dtype = "i32" }) end
        return np.array(values, type(values[1]) == "number" and { dtype = "i32" } or nil)
    end
    local from, to, step = text:match "^([^:]*):([^:]*):?([^:]*)$"
    if from then return { tonumber(from) or false, tonumber(to) or false, tonumber(step) or false } end
    return tonumber(text)
end

--- x with -1 at all elements that stand in `part`, which says by value which they are.
local function marked(x, part)
    local list = reader.flat(x)
    for _, value in ipairs(reader.flat(part)) do list[value + 1] = -1 end
    return #list > 0 and np.array(list, { dtype = "i32" }):reshape(x.shape) or x
end

for _, record in ipairs(reader.records "index") do
    if record[1] == "array" then
        arrays[record[2]] = reader.build(record[3])
    else
        local dims, items, plain = {}, {}, true
        for n in record[2]:gmatch "%d+" do dims[#dims + 1] = tonumber(n) end
        for text in (record[3] .. "; "):gmatch "(.-); " do
            items[#items + 1] = item_of(text)
            plain = plain and not arrays[text]
        end
        local x = np.arange(np.zeros(dims).size):reshape(dims)
        local about = ("(%s)[%s]"):format(record[2], record[3])
        if record[4] == "error" then
            collector.add("errors", function()
                local ok, message = pcall(function() return x[items] end)
                if ok then return "no error" end
                if not message:find("array index: ", 1, true) then return message end
            end, about)
        else
            collector.add("tables", function() return reader.difference(x[items], record[5], "exact") end, about)
            if plain then
                collector.add("text", function()
                    return reader.difference(x((record[3]:gsub(";", ","))), record[5], "exact")
                end, about)
            end
            collector.add("writes", function()
                local want = marked(x, reader.build(record[5]))
                if not np.array_equal(x:at(items):set(-1), want) then return "at:set wrote elsewhere" end
                if not np.array_equal(x:at(items):get(), reader.build(record[5])) then return "at:get" end
            end, about)
            collector.add("gradients", function()
                local counted = np.grad(function(y) return y[items]:sum() end)(x:astype "f32")
                local list = {}
                for k = 1, x.size do list[k] = 0 end
                for _, value in ipairs(reader.array(record[5]).values) do list[value + 1] = list[value + 1] + 1 end
                if x.size > 0 and not np.array_equal(np.ravel(counted), np.array(list)) then return "gradient" end
            end, about)
        end
    end
end
collector.finish(check)
