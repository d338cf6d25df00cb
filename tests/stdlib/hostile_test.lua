--- hostile_test.lua (not under tsan): arguments of every wrong kind, drawn at random (seeded), to every public
-- function: each call returns or raises one of the library's own errors; nothing crashes, and no error speaks of the
-- library's inside.
local np = require "neap"
local check = require "tests.lib.check"
local ffi = require "ffi"

local ROUNDS = (os.getenv "NEAP_TEST_BUILD" or "release") == "release" and 110 or 30

-- Fresh values of all kinds; nil is one of them.
local makers = {
    function() return nil end, function() return 3 end, function() return -1 end, function() return 1.5 end,
    function() return 0 / 0 end, function() return math.huge end, function() return -1e300 end,
    function() return "x" end, function() return true end, function() return function(...) return ... end end,
    function() return coroutine.create(print) end, function() return 1LL end, function() return np.newaxis end,
    function() return {} end, function() return { {} } end, function() return { 1, 2 } end,
    function() return { 1 / 0 } end, function() return { nil, 3 } end, function() return { { 1 }, { 2 } } end,
    function() return { axis = 5 } end, function() return { axis = "q" } end, function() return { foo = 1 } end,
    function() return np.ones(2, 3) end, function() return np.arange(4) end, function() return np.zeros(0) end,
    function() return np.array { true, false } end, function() return np.array(1) end,
    function() return { np.ones(2), np.ones(2) } end,
    function() return ffi.typeof(np.ones(2)) end, function() return { ffi.typeof(np.ones(2)) } end,
    function() return ffi.typeof "int64_t" end, function() return ffi.typeof "double _Complex" end,
    function() return ffi.typeof "int[3]" end, function() return ffi.typeof "struct DLManagedTensor *" end,
}

-- What only an error inside of the library would say.
local inner = { "attempt to", "bad argument #", "cannot convert", "cannot index", "has no member", "stack overflow",
                "table overflow", "neap/" }

local function draw(n)
    local values = {}
    for k = 1, n do values[k] = makers[math.random(#makers)]() end
    return unpack(values, 1, n)
end

local function attempt(name, f, ...)
    local ok, problem = pcall(f, ...)
    if ok then
        if np.is_array(problem) and problem.size < 1e6 then pcall(np.wait, problem) end
        return
    end
    check.equal(type(problem), "string", name)
    if problem:find("(cannot convert 'int' to 'const struct neap_handle *')", 1, true) then return end -- a C type
    for _, text in ipairs(inner) do check.ok(not problem:find(text, 1, true), name .. ": " .. problem) end
end

-- Functions that write files, wait for everything, or print what they get.
local excluded = { wait_all = true, effects_barrier = true, printf = true, save = true, savez = true, save_tree = true,
                   tofile = true }

local functions, names = {}, {}
local function collect(prefix, module)
    for name, f in pairs(module) do
        if type(f) == "function" and not excluded[name] then
            names[#names + 1] = prefix .. name
            functions[prefix .. name] = f
        end
    end
end
collect("", np)
for _, part in ipairs { "nn", "optim", "data", "random", "tree", "io" } do collect(part .. ".", np[part]) end
table.sort(names)

math.randomseed(1)

check.test("functions", function()
    local key = np.random.key(0)
    for _ = 1, ROUNDS do
        for _, name in ipairs(names) do
            local f = functions[name]
            attempt(name, f, draw(math.random(0, 4)))
            attempt(name, f, np.arange(6, { dtype = "f32" }):reshape(2, 3), draw(math.random(0, 3)))
            if name:find("^random") then attempt(name, f, key, draw(math.random(0, 4))) end
        end
    end
end)

check.test("errors name the function and its argument", function()
    local callable = setmetatable({}, { __call = function() return 1 end })
    local schedules = np.optim
    for expected, f in pairs {
        ["np.pad: option 'value' must be a number, a boolean or an array, got a table"] =
            function() return np.pad(np.array { true }, 1, { value = {} }) end,
        ["np.staged: argument 1 (block) must be a function written in Lua, got a table"] =
            function() return np.staged(callable) end,
        ["np.optim.warmup: argument 1 (schedule) must be a number or a function of the step, got nothing (nil)"] =
            function() return schedules.warmup() end,
        ["np.optim.warmup: argument 2 (steps) must be a number of at least 1, got the number 0"] =
            function() return schedules.warmup(1, 0) end,
        ["np.optim.cosine_decay: argument 1 (lr) must be a number, got nothing (nil)"] =
            function() return schedules.cosine_decay() end,
        ["np.optim.cosine_decay: argument 2 (steps) must be a number of at least 1, got the string \"x\""] =
            function() return schedules.cosine_decay(1, "x") end,
        ["np.optim.exponential_decay: argument 3 (steps) must be a number of at least 1, got nothing (nil)"] =
            function() return schedules.exponential_decay(1, 0.5) end,
        ["np.zeros: a shape is made of integers from 0 to 2^53, got the number 9.2233720368548e+18 at axis 0"] =
            function() return np.zeros { 2 ^ 63 } end,
        ["np.full: a shape is made of integers from 0 to 2^53, got the number 1e+300 at axis 1"] =
            function() return np.full({ 2, 1e300 }, 0) end,
        ["np.reshape: a shape is made of integers from 0 to 2^53 and at most one -1, got the number inf"] =
            function() return np.ones(4):reshape(1 / 0) end,
    } do
        local ok, message = pcall(f)
        check.ok(not ok and message:find(expected, 1, true) and message:find("hostile_test.lua:", 1, true), message)
    end
end)

check.test("indices", function()
    local x = np.ones(3, 4)
    for _ = 1, 20 * ROUNDS do
        local a, b, c = draw(3)
        attempt("x[a]", function() return x[a] end)
        attempt("x[{a, b}]", function() return x[{ a, b }] end)
        attempt("x:at", function() return x:at({ a, b }):set(c) end)
        attempt("x:at", function() return x:at(a):add(c) end)
        attempt("x + a", function() return x + a end)
    end
end)

check.test("transforms", function()
    for _ = 1, 20 * ROUNDS do
        local a, b = draw(2)
        attempt("jit", function() return np.jit(function(x) return x end)(a, b) end)
        attempt("jit", function() return np.jit(function(x) return x end, a)(b) end)
        attempt("grad", function() return np.grad(function(x) return x end, a)(b) end)
        attempt("trace", function() return np.trace(function(x) return x end)(a)(b) end)
    end
end)

check.done()
