--- contract_faults_test.lua (release build only): contracts find faults: np.special.xlogy with one fault at a time,
-- each of which the way must report that it is made for. What finds nothing here proves nothing elsewhere.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

-- way → how xlogy is replaced: `f` is the right one, `traced(x)` whether x is part of a program, `core` neap's core.
local FAULTS = {
    values = "return f(x, y, ...) * 1.001",
    special = "return np.where(np.isnan(x), 0, f(x, y, ...))",
    strided = "count = count + 1 return f(x, y, ...) + count % 2",
    numbers = "return f(type(x) == 'number' and np.array(x) or x, type(y) == 'number' and np.array(y) or y, ...)",
    jit = "return f(x, y, ...) + (traced(x) and 1e-3 or 0)",
    programs = "return f(x, y, ...) + (traced(x) and 1e-3 or 0)",
    vmap = "count = count + 1 return f(x, y, ...) + count % 2",
    mesh = "return f(x, y, ...) + (np.is_array(x) and x.sharding.mesh and 1e-3 or 0)",
    derivatives = "return f(x, np.stop_gradient(np.array(y)), ...)",
    points = "return np.where(np.equal(x, 0), 0, f(x, y, ...))",
    refusals = "return f(x, y)",
}

local PROGRAM = [[
    local core, f, count = require "neap.core", np.special.xlogy, 0
    local function traced(x) return np.is_array(x) and core.info(x).traced ~= 0 end
    np.special.xlogy = function(x, y, ...) %s end
    dofile "tests/contracts/special_test.lua"
]]

for way, fault in pairs(FAULTS) do
    check.test("a fault that the way " .. way .. " finds", function()
        local _, out, err = process.run { "env", "NEAP_CONTRACT_ONLY=np.special.xlogy", process.neap, "--devices", "4",
                                          "-e", PROGRAM:format(fault) }
        check.ok(err:find("FAILED np.special.xlogy: " .. way, 1, true), out .. err)
    end)
end

check.test("without a fault nothing is reported", function()
    local status, out, err = process.run { "env", "NEAP_CONTRACT_ONLY=np.special.xlogy", process.neap, "--devices", "4",
                                           "-e", PROGRAM:format "return f(x, y, ...)" }
    check.equal({ status, err }, { 0, "" }, out)
end)

check.done()
