--- program_cost_test.lua (release build only): program:compile and program:cost, of specs alone, against what a run
-- takes.
local check = require "tests.lib.check"
local np = require "neap"

local SIZE = 256 -- arrays of 256 KiB, of which no block is rounded up

--- A program of arrays f32[256,256], and arrays for it.
local function made(f, n)
    local specs, arrays = {}, {}
    for k = 1, n or 1 do
        specs[k] = { shape = { SIZE, SIZE }, dtype = "f32" }
        arrays[k] = np.random.uniform(np.random.key(k), { SIZE, SIZE })
    end
    np.force(unpack(arrays))
    np.wait_all()
    return np.trace(f)(unpack(specs)), arrays
end

--- What a run adds to live memory at most, in bytes; and how many kernels and calls it launches.
local function measured(program, arrays)
    np.wait_all()
    np.memory.trim()
    local live, launches = np.memory().live, np.debug.counters().launches
    np.memory.reset_peak()
    local result = program(unpack(arrays))
    np.wait_all()
    return np.memory().peak - live, np.debug.counters().launches - launches, result
end

local function softmax(x)
    local e = np.exp(x - x:max { axis = -1, keepdims = true })
    return e / e:sum { axis = -1, keepdims = true }
end

local function squares(x)
    return np.tanh(x:matmul(x)):matmul(x)
end

local function loop(x)
    return (np.scan(function(c, row) return np.tanh(c:matmul(c)) + row, c:sum() end, x, x))
end

local function branch(x)
    return np.cond(x:sum():gt(0), squares, function(y) return y end, x)
end

check.test("the peak of a program is what a run takes", function()
    for name, case in pairs { maps = { function(x) return np.exp(x) * 2 + 1 end }, softmax = { softmax },
                              products = { squares }, gradient = { np.grad(function(x) return squares(x):sum() end) },
                              transform = { function(x) return np.fft.fft(x):abs() end }, loop = { loop },
                              branch = { branch }, two = { function(x, y) return x:matmul(y) + y, x * y end, 2 } } do
        local program, arrays = made(case[1], case[2])
        local cost = program:cost()
        local memory = cost.memory
        local taken = memory.peak - memory.inputs
        local peak, launches = measured(program, arrays)
        -- A block of 2 MiB and one byte has 2.5 MiB; arrays of a few numbers have 64 bytes and more.
        check.equal(peak >= taken and peak <= 1.25 * taken + 4096, true,
                    ("%s: %.0f bytes were said, %.0f were taken"):format(name, taken, peak))
        check.equal(memory.outputs + memory.temporaries, taken, name)
        if name ~= "loop" and name ~= "branch" then check.equal(cost.kernels + cost.calls, launches, name) end
    end
end)

check.test("kernels and calls are counted as often as they run", function()
    local function counts(f)
        local cost = made(f):cost()
        return { cost.kernels, cost.calls }
    end
    check.equal(counts(function(x) return np.exp(x) + 1 end), { 1, 0 })
    check.equal(counts(squares), { 1, 2 })
    check.equal(counts(branch)[2], 2, "the branch with the most operations")
    check.equal(counts(loop)[2], SIZE)
    check.equal(counts(function(x) return x.T end)[2], 0)
end)

check.test("nothing is computed, and no data is there", function()
    local before = np.memory().live
    local program = np.trace(squares)({ shape = { 20000, 20000 }, dtype = "f32" }):compile()
    check.equal(program:cost().memory.peak, 3 * 4 * 20000 ^ 2)
    check.equal(np.memory().live - before < 4096, true)
    local same = np.trace(np.jit(squares))({ shape = { 20000, 20000 } }):cost()
    check.equal(same, program:cost(), "of a jitted function")
end)

-- ---- Native code ----------------------------------------------------------------------------------------------------

local trial = np.trace(function(x) return np.sin(x) * 3 + np.cos(x) end)({ shape = { 70, 30 } }):compile()
local generated = tostring(np.explain(trial)):find(", native", 1, true) ~= nil

local function test_native_code()
    local number = np.random.uniform(np.random.key(7), {}):item() -- no equal kernel has run
    local function curve(x) return np.tanh(x * number + 1) * np.exp(-x) - np.sin(x) * number end
    local function turns(x) return (np.fori_loop(0, 50, function(_, c) return curve(c) end, x)) end
    for name, case in pairs { kernel = { curve, { SIZE, SIZE } }, loop = { turns, { 16 } } } do
        local f, shape = case[1], case[2]
        local program = np.trace(f)({ shape = shape, dtype = "f32" })
        check.equal(tostring(np.explain(program)):find(", native", 1, true), nil, name)
        local text = tostring(np.explain(program:compile()))
        check.equal(text:match "native code after[^\n]*" or text:match "being made", nil, name)
        check.equal(text:find(", native", 1, true) ~= nil, true, name .. ": " .. text)
        local x = np.random.uniform(np.random.key(1), shape)
        check.equal(np.array_equal(program(x), f(x)), true, name)
        check.equal(program:compile() == program, true)
    end
end

if generated then
    check.test("native code is there before the first run, of kernels and of loops", test_native_code)
else
    check.skip("native code before the first run", "no native code is made here")
end

check.test("a program without code to make, with effects, on a mesh, with declared sizes", function()
    local view = np.trace(function(x) return x.T end)(np.ones { 2, 3 }):compile()
    check.equal(view(np.ones { 2, 3 }).shape, { 3, 2 })
    local told = np.trace(function(x) print(x:sum()) return x + 1 end)(np.ones(3)):compile()
    check.equal(told:cost().kernels, 1, "a sum and a map in one")
    local mesh = np.mesh({ 1 }, { "i" })
    local x = np.device_put(np.ones { 4, 4 }, mesh, np.P "i")
    check.equal(tostring(np.trace(function(v) return (v * 2):sum() end)(x):compile()(x)), "32.0")
    local sized = np.trace(function(v) return v * 2 end, { sizes = { { "n" } } })(np.ones(3)):compile()
    check.equal(tostring(sized(np.ones(2))), "[2. 2.]")
end)

check.done()
