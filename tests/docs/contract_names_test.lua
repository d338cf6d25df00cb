--- contract_names_test.lua (release build only): every public function has a contract in a file of tests/contracts, is
-- the row of an op, which has its tests from the row (tests/ops), or is named there with the file of tests that holds
-- it and why no contract can.
local check = require "tests.lib.check"
local help = require "neap.help_gen"
local process = require "tests.lib.process"

--- The names of a folder's files of contracts: name → { module, path of tests }.
local function contracts()
    local found = {}
    local list = io.popen "ls tests/contracts/*_test.lua"
    for path in list:lines() do
        local status, out, err = process.run { "env", "NEAP_CONTRACTS=names", process.neap, path }
        check.equal(status, 0, path .. ": " .. err)
        for line in out:gmatch "[^\n]+" do
            local name, elsewhere = line:match "^([^\t]*)\t(.*)$"
            check.ok(not found[name], name .. " has two contracts")
            found[name] = { path, elsewhere }
        end
    end
    list:close()
    return found
end

local found

check.test("every public function has a contract", function()
    found = contracts()
    local missing, known = {}, {}
    for _, entry in ipairs(help.entries) do
        for _, name in ipairs(entry.names) do
            known[name] = true
            if not entry.op and not found[name] then missing[#missing + 1] = name end
        end
    end
    check.ok(#missing == 0, #missing .. " without a contract: " .. table.concat(missing, " "))
    for name in pairs(found) do check.ok(known[name], name .. " has a contract, but no help") end
end)

check.test("tests that hold what no contract can are there", function()
    local parts = {} -- tables of functions, which have help and nothing else
    for _, entry in ipairs(help.entries) do
        for _, name in ipairs(entry.names) do parts[name] = parts[name] or entry.part end
    end
    for name, place in pairs(found or {}) do
        if place[2] ~= "" then
            local file = io.open(place[2])
            check.ok(file, ("%s: no file %s"):format(name, place[2]))
            local text = file:read "*a"
            file:close()
            local last = name:match "[%w_]+$"
            check.ok(parts[name] or text:find("%f[%w_]" .. last .. "%f[^%w_]"),
                     ("%s: %s does not name it"):format(name, place[2]))
        end
    end
end)

check.done()
