--- io_test.lua (under tsan with --long): files of NumPy and of the IDX format read back as they were written, damaged
-- ones raise, and what neap saves it loads (io.txt and io/, made by make_io.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "io/"
local MOST_BYTES = 2 ^ 24 -- of arrays: what reading a damaged file of a few hundred bytes may take at most

local collector = reader.collector()
local temporary = os.tmpname()

--- Saves x and loads it again; what is wrong with the copy, or nil.
local function round_trip(x, want)
    np.io.save(temporary, x)
    return reader.difference(np.io.load(temporary), want, "exact")
end

--- good <tab> file <tab> = <tab> array, or name <tab> array for each member of an archive
local function good(record)
    local path = FOLDER .. record[2]
    if #record == 4 then
        collector.add("read", function() return reader.difference(np.io.load(path), record[4], "exact") end, record[2])
        collector.add("save", function() return round_trip(np.io.load(path), record[4]) end, record[2])
        return
    end
    collector.add("archive", function()
        local arrays, names = np.io.load(path)
        local count = (#record - 3) / 2
        if #names ~= count then return ("%d names, expected %d"):format(#names, count) end
        for k = 1, count do
            local name, want = record[2 + 2 * k], record[3 + 2 * k]
            if names[k] ~= name then return ("name %d is %q, expected %q"):format(k, names[k], name) end
            local problem = reader.difference(arrays[name], want, "exact")
            if problem then return name .. ": " .. problem end
        end
        for _, compress in ipairs { false, true } do
            np.io.savez(temporary, arrays, { compress = compress })
            local again = np.io.load(temporary)
            for k = 1, count do
                local name = record[2 + 2 * k]
                local problem = reader.difference(again[name], record[3 + 2 * k], "exact")
                if problem then return name .. ", saved again: " .. problem end
            end
        end
    end, record[2])
end

--- bad <tab> file <tab> what is wrong with it
local function bad(record)
    collector.add("damaged files", function()
        local ok, problem = pcall(function()
            local x = np.io.load(FOLDER .. record[2])
            return np.is_array(x) and x:totable()
        end)
        if ok then return "no error" end
        problem = tostring(problem)
        if not problem:find(record[2], 1, true) then return "the error does not name the file: " .. problem end
        if not problem:find("io_test.lua:%d+: np%.io%.load") then
            return "the error names no line or function: " .. problem
        end
    end, record[2] .. " (" .. record[3] .. ")")
end

for _, record in ipairs(reader.records "io") do (record[1] == "good" and good or bad)(record) end

collector.add("damaged files take no memory", function()
    local peak = np.memory().peak
    return peak > MOST_BYTES and ("peak of %d bytes"):format(peak) or nil
end, "peak")
collector.add("missing file", function()
    local ok, problem = pcall(np.io.load, FOLDER .. "no such file.npy")
    if ok or not problem:find("no such file.npy", 1, true) then return "got: " .. tostring(problem) end
end, "load")

os.remove(temporary)
collector.finish(check)
