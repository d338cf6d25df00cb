--- torch_test.lua (under tsan with --long): checkpoints of PyTorch read as they were written, mapped too; others are
-- refused, with what is wrong (torch.txt, torch/, make_torch.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "torch/"
local collector = reader.collector()

--- What differs between a leaf and its kind and text.
local function difference(leaf, kind, text)
    if kind == "null" then return tostring(leaf) ~= "null" and "not null" or nil end
    if kind == "number" or kind == "boolean" or kind == "text" then
        local expected = kind == "number" and tonumber(text) or text
        if kind == "boolean" then expected = text == "true" end
        return leaf ~= expected and ("%s, expected %s"):format(tostring(leaf), text) or nil
    end
    if not np.is_array(leaf) or leaf.dtype ~= kind then return "another dtype than " .. kind end
    if kind:sub(1, 1) == "c" then leaf = np.stack({ np.real(leaf), np.imag(leaf) }, -1) end
    if kind == "f16" or kind == "bf16" then leaf = leaf:astype "f32" end
    return reader.difference(leaf, text, "exact")
end

local function good(record)
    for _, options in ipairs { {}, { mmap_mode = "r" } } do
        collector.add(options.mmap_mode and "map" or "read", function()
            local leaves, count = {}, 0
            for _, pair in ipairs(np.tree.paths(np.io.load_torch(FOLDER .. record[2], options))) do
                leaves[pair[1]], count = pair[2], count + 1
            end
            check.equal(count, (#record - 2) / 3, "leaves")
            for k = 3, #record, 3 do
                local problem = leaves[record[k]] == nil and "missing"
                    or difference(leaves[record[k]], record[k + 1], record[k + 2])
                if problem then return record[k] .. ": " .. problem end
            end
        end, record[2])
    end
end

local function bad(record)
    collector.add("files that are refused", function()
        local ok, problem = pcall(function() return np.io.load_torch(FOLDER .. record[2]) end)
        if ok then return "no error" end
        if not problem:find(record[2], 1, true) then return "names no file: " .. problem end
        if not problem:find "torch_test.lua:%d+: np%.io%.load_torch: " then return problem end
        if not problem:find(record[3], 1, true) then return problem end
    end, record[2])
end

for _, record in ipairs(reader.records "torch") do (record[1] == "good" and good or bad)(record) end

collector.add("what tensors share", function()
    local t = np.io.load_torch(FOLDER .. "strides.pt")
    check.ok(rawequal(t.whole, t.shared))
    check.raises(function() np.io.load_torch(FOLDER .. "strides.pt", { mmap_mode = "w" }) end, "'mmap_mode'")
    check.raises(function() np.io.load_torch "no such file" end, "no such file")
    check.raises(function() np.io.load(FOLDER .. "strides.pt") end, "np.io.load_torch reads it")
    check.raises(function() np.io.load(FOLDER .. "bad_text.pt") end, "nor IDX; np.io.load_torch reads .pt")
end, "strides.pt")

collector.finish(check)
