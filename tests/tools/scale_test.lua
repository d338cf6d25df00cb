--- scale_test.lua (release build only): bench/scale.lua: its counts on two and four devices are as many as they can be,
-- and a later step records nothing; what it refuses. The page docs/scale.md shows its model.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local function run(...)
    return process.run_neap { "bench/scale.lua", ... }
end

--- The rows of a table, the columns by name.
local function read(text)
    local names, rows = nil, {}
    for line in text:gmatch "[^\n]+" do
        local cells, row = {}, {}
        for cell in line:gsub("per device", "share"):gmatch "%S+" do cells[#cells + 1] = cell end
        for k, name in ipairs(names or {}) do row[name] = tonumber(cells[k]) end
        if names then rows[#rows + 1] = row end
        names = names or cells
    end
    return rows
end

check.test("counts of two and of four devices", function()
    local status, out, err = run("2", "4")
    check.equal({ status, err }, { 0, "" })
    local two, four = unpack(read(out))
    check.equal({ two.devices, four.devices, two.again, four.again }, { 2, 4, 0, 0 }, out)
    for _, name in ipairs { "recorded", "launches", "written", "peak" } do
        check.ok(two[name] > 0 and four[name] > two[name] and four[name] < 2.5 * two[name], name .. "\n" .. out)
    end
    check.equal({ two.messages, two.sent, four.messages }, { 6, 19244, 3 * 3 + 4 * 3 }, out)
    check.equal({ two.share, four.share }, { math.ceil(two.peak / 2), math.ceil(four.peak / 4) }, out)
end)

check.test("what it refuses", function()
    for _, case in ipairs { { "0", "from 1 to 1024, not '0'" }, { "1025", "not '1025'" }, { "x", "not 'x'" },
                            { "model", "numbers above 0, not '-1'", "-1" }, { "model", "not 'y'", "y" } } do
        local status, out, err = run(case[1], case[3])
        check.equal({ status, out }, { 1, "" })
        check.ok(err:find(case[2], 1, true), err)
    end
end)

process.cleanup()
check.done()
