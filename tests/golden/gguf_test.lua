--- gguf_test.lua (under tsan with --long): files of the gguf package: their weights are what the package makes of them,
-- to the bit; others are refused, with what is wrong (gguf.txt, gguf/, make_gguf.py).
local np = require "neap"
local check = require "tests.lib.check"
local json = require "neap.files.json"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "gguf/"
local collector = reader.collector()

local function good(record)
    collector.add("weights", function()
        local arrays, metadata = np.io.load_gguf(FOLDER .. record[2])
        check.equal(metadata, json.read(record[3]))
        local count = 0
        for _ in pairs(arrays) do count = count + 1 end
        check.equal(count, (#record - 3) / 2, "arrays")
        for k = 4, #record, 2 do
            if not arrays[record[k]] then return record[k] .. ": missing" end
            local problem = reader.difference(arrays[record[k]], record[k + 1], "exact")
            if problem then return record[k] .. ": " .. problem end
        end
    end, record[2])
end

local function bad(record)
    collector.add("files that are refused", function()
        local ok, problem = pcall(function() return np.io.load_gguf(FOLDER .. record[2]) end)
        if ok then return "no error" end
        if not problem:find(record[2], 1, true) then return "names no file: " .. problem end
        if not problem:find "gguf_test.lua:%d+: np%.io%.load_gguf: " then return problem end
        if not problem:find(record[3], 1, true) then return problem end
    end, record[2])
end

for _, record in ipairs(reader.records "gguf") do (record[1] == "good" and good or bad)(record) end

collector.add("halves stay", function()
    local wide = np.io.load_gguf(FOLDER .. "kinds.gguf")
    local kept = np.io.load_gguf(FOLDER .. "kinds.gguf", { keep_halves = true })
    for _, name in ipairs { "F16", "BF16" } do
        local x = kept["blk.0." .. name]
        check.equal(x.dtype, name:lower())
        check.ok(np.array_equal(np.nan_to_num(x:astype "f32"), np.nan_to_num(wide["blk.0." .. name])), name)
    end
    check.equal(kept["blk.0.Q4_0"].dtype, "f32")
end, "kinds.gguf")

collector.finish(check)
