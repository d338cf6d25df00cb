--- safetensors_test.lua (under tsan with --long): files of the safetensors package read as they were written, mapped
-- too; those that it refuses are refused; and what neap writes is what the package writes (safetensors.txt,
-- safetensors/, make_safetensors.py).
local np = require "neap"
local check = require "tests.lib.check"
local json = require "neap.files.json"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "safetensors/"
local collector = reader.collector()
local temporary = os.tmpname()

local function contents(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

--- What differs between arrays by name and those of a record.
local function difference(arrays, record)
    local count = 0
    for _ in pairs(arrays) do count = count + 1 end
    if count ~= (#record - 3) / 2 then return ("%d arrays, expected %d"):format(count, (#record - 3) / 2) end
    for k = 4, #record, 2 do
        local problem = arrays[record[k]] and reader.difference(arrays[record[k]], record[k + 1], "exact")
            or not arrays[record[k]] and "missing" or nil
        if problem then return record[k] .. ": " .. problem end
    end
end

local function good(record)
    local path = FOLDER .. record[2]
    collector.add("read", function()
        local arrays, metadata = np.io.load_safetensors(path)
        check.equal(metadata, json.read(record[3]))
        return difference(arrays, record)
    end, record[2])
    collector.add("map", function()
        local ok, arrays = pcall(np.io.load_safetensors, path, { mmap_mode = "r" })
        if not ok then return not tostring(arrays):find "not aligned" and tostring(arrays) or nil end
        return difference(arrays, record)
    end, record[2])
    collector.add("write", function()
        local arrays, metadata = np.io.load_safetensors(path)
        np.io.save_safetensors(temporary, arrays, { metadata = metadata })
        local problem = difference(np.io.load_safetensors(temporary), record)
        if problem then return problem end
        if not record[2]:find "mixed" and contents(temporary) ~= contents(path) then return "other bytes" end
    end, record[2])
end

local function bad(record)
    for _, options in ipairs { {}, { mmap_mode = "r" } } do
        collector.add("damaged files", function()
            local ok, problem = pcall(function() return np.io.load_safetensors(FOLDER .. record[2], options) end)
            if ok then return "no error" end
            if not tostring(problem):find(record[2], 1, true) then return "names no file: " .. tostring(problem) end
            if not problem:find "safetensors_test.lua:%d+: np%.io%.load_safetensors: " then return problem end
        end, record[2] .. " (" .. record[3] .. ")")
    end
end

for _, record in ipairs(reader.records "safetensors") do (record[1] == "good" and good or bad)(record) end

collector.add("what cannot be written", function()
    local function refused(pattern, ...)
        local arguments = { ... }
        check.raises(function() np.io.save_safetensors(temporary, unpack(arguments)) end, pattern)
    end
    refused("argument 2", np.ones(2))
    refused("must be an array", { x = 3 })
    refused("names are strings", { np.ones(2) })
    refused("names are strings", { __metadata__ = np.ones(2) })
    refused("no UTF%-8", { ["\255"] = np.ones(2) })
    refused("'metadata'", { x = np.ones(2) }, { metadata = { a = 1 } })
    local file = assert(io.open(temporary, "wb"))
    file:write("\3\0\0\0\0\0\0\0 {}")
    file:close()
    check.raises(function() np.io.load_safetensors(temporary) end, "does not begin with {")
end, "save")

os.remove(temporary)
collector.finish(check)
