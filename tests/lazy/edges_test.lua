--- edges_test.lua (not under tsan): printing a large array that has not been computed computes what is shown, and shows
-- the same as if all had been computed. Counted in bytes of memory.
local check = require "tests.lib.check"
local np = require "neap"
local process = require "tests.lib.process"

local LITTLE = 1024 * 1024 -- bytes; arrays have 16 MB and more
local N, SIDE = 4000000, 2000

--- The bytes that memory grew by, at most, while f ran; and what f returned.
local function grown(f)
    for _ = 1, 2 do np.memory.trim() end
    np.memory.reset_peak()
    local before = np.memory().live
    local result = f()
    return tonumber(np.memory().peak - before), result
end

local function line(dtype) return np.arange(N, { dtype = dtype }) end
local function square() return np.arange(SIDE * SIDE, { dtype = "f32" }):reshape(SIDE, SIDE) end
local data = np.sin(square()):wait()

local MADE = {
    ["a constructor"] = line,
    ["integers of 64 bits"] = function() return line "i64" * -3 end,
    ["small integers"] = function() return (line() % 100):astype "u8" end,
    bools = function() return (line() % 3):eq(0) end,
    doubles = function() return np.sqrt(line "f64") end,
    ones = function() return np.ones { SIDE, SIDE } end,
    eye = function() return np.eye(SIDE) * 3 end,
    ["a map with NaN, infinities and -0"] = function()
        local x = line "f32" - 2
        return np.where(x:eq(-2), -0.0, 1 / x) * np.log(np.where(x:gt(1e6), -1, x))
    end,
    ["a long chain"] = function()
        local x = line "f32"
        for _ = 1, 60 do x = np.sin(x) + 1 end
        return x
    end,
    ["a broadcast"] = function()
        local x = np.arange(SIDE, { dtype = "f32" })
        return x[{ {}, np.newaxis }] * x
    end,
    ["pieces put together"] = function() return np.concatenate { line(), line() * 2, line() - 7 } end,
    stacked = function() return np.stack { line(), -line() } end,
    ["a transpose of data"] = function() return data:transpose() end,
    ["a strided view of data"] = function() return data[{ { 1, SIDE, 2 }, { 0, SIDE - 1, 3 } }] end,
    reversed = function() return np.flip(data * 2) end,
    ["a map of data"] = function() return np.exp(data) end,
    ["many axes"] = function() return line():reshape(10, 40, 5, 2000) * 2 end,
    ["a short axis and a long one"] = function() return line():reshape(4, N / 4) + 1 end,
}

for name, make in pairs(MADE) do
    check.test("little is stored to show " .. name, function()
        local x
        local bytes, text = grown(function()
            x = make()
            return tostring(x)
        end)
        check.ok(bytes < LITTLE, bytes)
        check.equal(text, tostring(make():wait()))
        bytes = grown(function() check.equal(tostring(x), text) end)
        check.ok(bytes < LITTLE, "shown again: " .. bytes)
    end)
end

check.test("what sums stand above is shown alike, and no sum is done for what is not shown", function()
    local function rows() return data:sum { axis = 1, keepdims = true } + np.ones { SIDE, SIDE } end
    local bytes, text = grown(function() return tostring(rows()) end)
    check.ok(bytes < LITTLE, bytes)
    check.equal(text, tostring(rows():wait()))
    local function softmax()
        local e = np.exp(data - data:max { axis = 1, keepdims = true })
        return e / e:sum { axis = 1, keepdims = true }
    end
    check.equal(tostring(softmax()), tostring(softmax():wait()))
    local function draws() return np.random.normal(np.random.key(3), { N }) * 2 end -- drawn whole, shown by edges
    check.equal(tostring(draws()), tostring(draws():wait()))
end)

check.test("sizes around the one from which on edges are shown", function()
    for _, n in ipairs { 999, 1000, 1001, 65535, 65536, 65537 } do
        for _, shape in ipairs { { n }, { n, 1 }, { 1, n }, { n, 0 } } do
            check.equal(tostring(np.ones(shape) * 2), tostring((np.ones(shape) * 2):wait()), n)
        end
    end
end)

check.test("the array stays as it was, and is computed when that is asked for", function()
    local x = np.sqrt(line "f32")
    local text = tostring(x)
    check.equal(x[7]:item(), np.sqrt(np.array({ 7 }, { dtype = "f32" }))[0]:item())
    check.ok(grown(function() x:wait() end) >= 4 * N)
    check.equal(tostring(x), text)
end)

check.test("print, printf and tostring, of several arrays at once", function()
    local code = [[
        local before = np.memory().live
        local x, y = np.ones { 1e5, 1e5 } * 2, np.arange(1e9)
        print("x", x, y, np.arange(3))
        np.printf("%s and %s\n", y, np.ones(2))
        np.effects_barrier()
        assert(np.memory().peak - before < 1e6)]]
    local row = "[2. 2. 2. ... 2. 2. 2.]"
    local x = ("[%s\n %s\n %s\n ...\n %s\n %s\n %s]"):format(row, row, row, row, row, row)
    local y = "[        0         1         2 ... 999999997 999999998 999999999]"
    check.equal(process.output(code), ("x\t%s\t%s\t[0 1 2]\n%s and [1. 1.]\n"):format(x, y, y))
end)

check.test("the prompt shows what no memory could hold", function()
    local _, out, err = process.run_neap({ "-i" }, "np.ones{1e6, 1e6} * 3\n")
    check.equal(err, "")
    check.ok(out:find("[[3. 3. 3. ... 3. 3. 3.]\n", 1, true), out)
end)

check.test("on a tape, in a trace and under vmap", function()
    local seen
    local gradient = np.grad(function(x)
        local y = np.sin(x)
        seen = tostring(y)
        return (y * y):sum()
    end)(line "f32")
    check.equal(seen, tostring(np.sin(line "f32"):wait()))
    check.equal(tostring(gradient), tostring(np.grad(function(x)
        local y = np.sin(x)
        return (y * y):sum()
    end)(line "f32")))
    local out = process.output [[
        local f = np.jit(function(x) local y = x * 2 print(y) return y:sum() end)
        f(np.ones(100000)):wait()
        np.vmap(function(x) np.debug.print("{}", x * 3) return x end)(np.ones { 2, 100000 }):wait()]]
    check.ok(out:find("[2. 2. 2. ... 2. 2. 2.]\n", 1, true) and out:find("3. 3. 3. ... 3. 3. 3.]", 1, true), out)
end)

check.test("a failure is shown in the array's place", function()
    check.ok(process.output([[print(np.debug.fail(np.ones(100000)) * 2)]], 1):find "^<error: .*failed on purpose>\n$")
end)

process.cleanup()
check.done()
