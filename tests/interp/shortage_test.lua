--- shortage_test.lua: Lua's stack overflows, or Lua's memory ends: an error as any other, which is told with its lines,
-- and after which the prompt goes on. Also when it is the second one, and met by compiled code.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local RUNAWAY = "local function r() return 1 + r() end\n"

--- Runs the text as a script; returns status, stdout, stderr and the script's name.
local function run(text)
    local script = process.file(text)
    local status, out, err = process.run_neap { script }
    return status, out, err, script
end

check.test("an uncaught stack overflow names its frames, the same ones in one line", function()
    local status, out, err, script = run(RUNAWAY .. "print 'before'\nr()")
    check.equal({ status, out }, { 1, "before\n" })
    local first = ("neap: %s:1: stack overflow\n   1 | local function r() return 1 + r() end\n"):format(script)
    check.equal(err:sub(1, #first), first)
    check.ok(err:find(script .. ":1: in function 'r' (19 times)\n  ... (", 1, true) or
             err:find(script .. ":1: in function 'r' (20 times)\n  ... (", 1, true), err)
    check.ok(err:find(script .. ":3: in main chunk\n", 1, true), err)
end)

check.test("an uncaught stack overflow after caught ones", function()
    local status, out, err = run(RUNAWAY .. [[
        for _ = 1, 5 do print(select(2, pcall(r)):match "stack overflow") end
        r()]])
    check.equal({ status, out }, { 1, ("stack overflow\n"):rep(5) })
    check.ok(err:find ":1: stack overflow\n   1 | local function r", err)
end)

check.test("a stack overflow with arrays on the way", function()
    local status, out, err = run [[
        local function f(n) return np.array(n) * f(n - 1) end
        for _ = 1, 3 do print(select(2, pcall(f, 10)):match "stack overflow") end
        print(np.arange(3) + 1)
        f(10)]]
    check.equal({ status, out }, { 1, ("stack overflow\n"):rep(3) .. "[1 2 3]\n" })
    check.ok(err:find "stack overflow", err)
end)

check.test("handlers of the script's own look at the stack that overflowed", function()
    local status, out, err = run(RUNAWAY .. [[
        for _ = 1, 3 do
            local _, frames = xpcall(r, function()
                local level = 1
                while debug.getinfo(level, "Sln") do level = level + 1 end
                return level
            end)
            print(type(frames))
        end
        local _, text = xpcall(r, debug.traceback)
        print(text:match "stack traceback")
        print(type(debug.traceback()))]])
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find "^number\n%w+\n%w+\n", out)
    check.ok(out:find "stack traceback\nstring\n$", out)
end)

check.test("the prompt goes on after one stack overflow, and after the next", function()
    local status, out = process.run_neap({ "-i" }, "function r() return 1 + r() end\nr()\nr()\nr()\n6 * 7\n")
    check.equal(status, 0)
    check.ok(out:find "\n> 42\n> \n$" or out:find "> 42\n", out)
end)

-- Each takes Lua's memory in another way, in a loop that is compiled.
local GREEDY = {
    "local t = {} for i = 1, 1e9 do t[#t + 1] = { i, tostring(i) } end",
    "local t = {} for i = 1, 1e9 do t[i] = { i } end",
    "local t = {} for i = 1, 1e9 do t = setmetatable({ t }, {}) end",
    "kept = {} for i = 1, 1e9 do kept[#kept + 1] = { i } end",
}

--- Runs neap with 200 MB of address space.
local function run_limited(arguments, input)
    local command = { "sh", "-c", 'ulimit -v 200000; exec "$@"', "sh", process.neap, unpack(arguments) }
    return process.run(command, input)
end

if run_limited({ "-e", "print(np.arange(3) + 1)" }) ~= 0 then
    check.skip("no memory for Lua", "this build does not run in 200 MB of address space")
else
    for _, loop in ipairs(GREEDY) do
        check.test("no memory for Lua: " .. loop, function()
            local status, out, err = run_limited { process.file("print(np.arange(3) + 1)\n" .. loop) }
            check.equal({ status, out, err }, { 1, "[1 2 3]\n", "neap: not enough memory\n" })
        end)
    end

    check.test("no memory for Lua: the prompt goes on", function()
        local status, out, err = run_limited({ "-i" }, GREEDY[1] .. "\n6 * 7\n" .. GREEDY[2] .. "\n43\n")
        check.equal(status, 0)
        check.ok(out:find "42\n" and out:find "43\n", out)
        check.equal(select(2, err:gsub("not enough memory\n", "")), 2)
    end)
end

check.done()
process.cleanup()
