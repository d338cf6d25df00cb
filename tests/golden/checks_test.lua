--- checks_test.lua (release build only): np.check_grads finds wrong what jax.test_util.check_grads does (checks.txt,
-- made by make_checks.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local x = np.array({ 0.5, -1, 2 }, { dtype = "f64" })

--- y, whose first and second derivative are wrong by factors.
local function of_slopes(slope, second)
    local g = np.custom_jvp(function(y) return y end)
    return g:defjvp(function(primals, tangents)
        local y = primals[1]
        return g(y), ((y - np.stop_gradient(y)) * (second - 1) + 1) * tangents[1] * slope
    end)
end

check.test("the same functions pass as in JAX", function()
    local count = { ["0"] = 0, ["1"] = 0 }
    for _, record in ipairs(reader.records "checks") do
        local order, slope, second, passes = tonumber(record[1]), tonumber(record[3]), tonumber(record[4]), record[5]
        local g, modes = of_slopes(slope, second), {}
        for mode in record[2]:gmatch "%S+" do modes[#modes + 1] = mode end
        local ok, problem = pcall(np.check_grads, function(v) return g(np.sin(v) * v) end, { x },
                                  { order = order, modes = modes })
        check.equal(ok and "1" or "0", passes, table.concat(record, " ") .. ": " .. tostring(problem))
        if not ok then check.equal(problem:match "np.check_grads: %a+ mode of " ~= nil, true, problem) end
        count[passes] = count[passes] + 1
    end
    check.equal(count["0"] > 10 and count["1"] > 10, true)
end)

check.done()
