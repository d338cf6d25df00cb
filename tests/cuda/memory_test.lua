--- memory_test.lua (sanitized with --long): memory of a GPU that is short, whoever its driver is: the fake one, or,
-- with NEAP_TEST_ON=cuda in the environment, that of the machine's GPU, whose memory is filled: nobody else should use
-- it.
local check = require "tests.lib.check"
local with = require "tests.cuda.with_libraries"

--- Runs a script with the memory of a GPU filled but for so many bytes; `full()` is what fills it.
local function output_with(free, code, environment)
    local fill = "local full = {}\n"
    environment = environment or {}
    if with.is_fake then
        environment.NEAP_FAKE_MEMORY = free
    else
        fill = fill .. ([[
            local bytes = 2 ^ 33 -- a power of two: others are taken as such a one
            while bytes >= 2 ^ 25 do
                if np.memory().free - bytes < %d then
                    bytes = bytes / 2
                else
                    full[#full + 1] = np.zeros({ bytes }, { dtype = "u8" }):wait()
                end
            end]]):format(free)
    end
    return with.output(environment, { "--gpu", "-e", fill .. code })
end

check.test("what does not fit is one error, and work goes on", function()
    check.equal(output_with(300 * 2 ^ 20, [[
        local ok, text = pcall(function() return np.ones({ 2 ^ 30 }):wait() end)
        print(ok, (text:match "out of memory on cuda:0"))
        local x = np.ones { 2 ^ 20 }
        for k = 1, 200 do x = (x + k):wait() end
        print(x[0])
        full = nil
        print((np.ones { 2 ^ 20 } * 2):sum():item())]]), "false\tout of memory on cuda:0\n20101.0\n2097152\n")
end)

check.test("a loop that runs ahead leaves memory for what its own steps need", function()
    local sanitized = (os.getenv "NEAP_TEST_BUILD" or "release") ~= "release"
    for _, free in ipairs(sanitized and { 80 } or with.is_fake and { 60, 80, 120 } or { 120, 200, 400 }) do
        local environment = { NEAP_FAKE_DELAY = 1000, NEAP_FAKE_PTX = 1 } -- no kernel computes: that is not looked at
        check.equal(output_with(free * 2 ^ 20, [[
            local step = np.jit(function(a) return np.sort(a * 1.0001) end)
            local x = np.random.uniform(np.random.key(1), { 2 ^ 20 })
            for k = 1, 300 do x = step(x) end
            print(x:wait().size)]], environment), "1048576\n")
    end
end)

check.done()
