--- waits_test.lua (under asan with --long): nothing waits for itself: callbacks that compute, wait and call others in
-- loops, branches and programs, while a budget of work ahead is used up by what waits for them, or that ask for what
-- was recorded behind them. Nests and programs drawn at random.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local process = require "tests.lib.process"
local nests = require "tests.lib.nests"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
local COUNT = release and 120 or 80 -- in 80 there is each scheduler
local AT_ONCE = 20    -- nests in a process
local SECONDS = "300" -- after which a process hangs

--- Runs neap, which is ended when it hangs: then its status is 124.
local function run(...)
    return process.run { "timeout", "-k", "5", SECONDS, process.neap, ... }
end

local SCHEDULERS = { "pool", "pool", "naive", "device" }

for from in seeds.each(COUNT, AT_ONCE) do
    local scheduler = SCHEDULERS[from / AT_ONCE % #SCHEDULERS - from / AT_ONCE % 1 + 1]
    check.test(("nests from %d (%s)"):format(from, scheduler), function()
        local expected = {}
        for seed = from, from + AT_ONCE - 1 do expected[#expected + 1] = nests.expected(seed) end
        local code = ("for seed = %d, %d do require 'tests.lib.nests'.run(seed) end"):format(from, from + AT_ONCE - 1)
        local status, out, err = run("--scheduler", scheduler, "-e", code)
        local last = out:match "seed\t(%d+)\t[^\n]*\n[^\n]*$"
        check.equal({ status, err }, { 0, "" }, "behind seed " .. (last or "none"))
        for k, text in ipairs(expected) do
            check.equal(out:sub(1, #text), text, "seed " .. from + k - 1)
            out = out:sub(#text + 1)
        end
        check.equal(out, "")
    end)
end

for from in seeds.each(release and 60 or 20, AT_ONCE) do
    check.test(("what callbacks ask for, from seed %d"):format(from), function()
        local code = ("for seed = %d, %d do require 'tests.lib.asks'.run(seed) end"):format(from, from + AT_ONCE - 1)
        local status, out, err = run("-e", code)
        check.equal({ status, err }, { 0, "" }, out:match "seed\t%d+\n[^\n]*$" or "the first seed")
    end)
end

check.test("a callback computes while more work than the budget waits for it", function()
    local status, out, err = run("-e", [[
        local x = np.ones(400, 400)
        local cb = np.callback(function(v) return (v + 1):matmul(v * 0 + 1) end, { result = x })
        local y = cb(x)
        for k = 1, 100 do y = y:matmul(x) / 400 end
        print(y[0][0])]])
    check.equal({ status, out, err }, { 0, "800.0\n", "" })
end)

check.test("a training loop in one program with a log", function()
    local status, out, err = run("-e", [[
        local w = np.ones(200, 200)
        local log = np.callback(function(k, w) if k:item() % 100 == 0 then print(k, w[0][0] / 2) end end)
        local train = np.jit(function(w)
            return np.fori_loop(0, 400, function(k, w) log(k, w) return np.tanh(w:matmul(w) / 200) end, w)
        end)
        print(train(w):sum():item() < 40000)]])
    check.equal({ status, select(2, out:gsub("\n", "")), out:sub(-5), err }, { 0, 5, "true\n", "" })
end)

process.cleanup()
check.done()
