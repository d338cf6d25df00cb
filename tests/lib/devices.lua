--- devices.lua: `require "tests.lib.devices" (8, "tests/mesh/some_test.lua")`, at the head of a test, runs it again in
-- a process with so many CPU devices, if this one has fewer; with further arguments, lists of options of neap, once for
-- each of them.
local np = require "neap"

return function(count, test, ...)
    if #np.devices() >= count then return end
    local process, worst = require "tests.lib.process", 0
    for k = 1, math.max(select("#", ...), 1) do
        local command = { "--devices", tostring(count) }
        for _, word in ipairs((select(k, ...)) or {}) do command[#command + 1] = word end
        command[#command + 1] = test
        for _, word in ipairs(arg or {}) do command[#command + 1] = word end
        local status, out, err = process.run_neap(command)
        io.stdout:write(out)
        io.stderr:write(err)
        worst = math.max(worst, status)
    end
    process.cleanup()
    os.exit(worst)
end
