--- methods_test.lua: every method of the objects that public functions return, and calls of those that can be called,
-- with wrong arguments. Each call works or raises an error that names the user's line and what was called, and never a
-- file of the library.
local ffi = require "ffi"
local check = require "tests.lib.check"
local np = require "neap"

-- ---- Objects --------------------------------------------------------------------------------------------------------

local x = np.arange(6, { dtype = "f32" }):reshape(2, 3)
local key = np.random.key(0)
local program = np.trace(function(a) return a * 2 end)(x)

--- By name: a function that makes one. `called`: it can be called.
local objects = {
    { "figure", function() np.plot.line(np.arange(3)) return np.plot.figure() end },
    { "progress", function() return np.progress(3, { disable = true }) end },
    { "animation", function() return np.plot.animate(function() return np.zeros { 2, 2 } end, 2) end },
    { "live", function() return np.plot.live {} end },
    { "axes", function() local _, axes = np.plot.subplots(1, 2) return axes[1] end },
    { "mesh", function() return np.mesh({ 1 }, { "i" }) end },
    { "table", function() return np.table { a = { 1, 2, 3 }, b = { 4, 5, 6 } } end },
    { "program", function() return program end },
    { "key", function() return key end },
    { "jit", function() return np.jit(np.sin) end, called = true },
    { "grad", function() return np.grad(np.sum) end, called = true },
    { "vmap", function() return np.vmap(np.sin) end, called = true },
}

for _, name in ipairs { "sgd", "adam", "adamw", "adagrad", "rmsprop", "lion", "lamb", "adafactor", "ema" } do
    local lr = name ~= "ema" and 0.1 or nil
    objects[#objects + 1] = { "optim." .. name, function() return np.optim[name] { lr = lr } end }
end
local makers = {
    optim = { warmup = { 0.1, 10 }, cosine_decay = { 0.1, 10 }, exponential_decay = { 0.1, 0.9, 10 },
              piecewise = { 0.1, { [10] = 0.5 } } },
    nn = { Dense = { 3, 2 }, LayerNorm = {}, BatchNorm = {}, Dropout = { 0.5 }, Embedding = { 4, 3 },
           Conv = { 2, { 3 } }, MaxPool = { { 2 } }, AvgPool = { { 2 } }, MultiHeadAttention = { 2 } },
}
for module, functions in pairs(makers) do
    for name, arguments in pairs(functions) do
        objects[#objects + 1] = { module .. "." .. name, called = true,
                                  function() return np[module][name](unpack(arguments)) end }
    end
end

--- The names of an object's methods.
local function methods_of(object)
    local names, seen = {}, {}
    local function add(list)
        for name, f in pairs(list) do
            if type(name) == "string" and type(f) == "function" and not name:find "^_" and not seen[name] then
                seen[name] = true
                names[#names + 1] = name
            end
        end
    end
    if type(object) == "table" then add(object) end
    local meta = debug.getmetatable(object)
    local index = meta and rawget(meta, "__index")
    while type(index) == "table" do
        add(index)
        meta = getmetatable(index)
        index = meta and rawget(meta, "__index")
    end
    table.sort(names)
    return names
end

-- ---- Arguments ------------------------------------------------------------------------------------------------------

np.plot.line(np.arange(3))
local cyclic = {}
cyclic.self = cyclic
np.plot.twinx()
local with_twin = np.plot.figure()
local values = { with_twin, 5, "x", {}, { 1, 2 }, x, np.plot.figure(), print, true, cyclic, ffi.new "int64_t" }
local lists = { {} }
for _, value in ipairs(values) do lists[#lists + 1] = { value } end
for k = 1, #values do lists[#lists + 1] = { values[k], values[k % #values + 1], values[(k + 3) % #values + 1] } end

local function words(list)
    local parts = {}
    for k, value in ipairs(list) do
        parts[k] = type(value) == "table" and "{…}" or tostring(value):gsub("%s+", " ")
    end
    return table.concat(parts, ", ")
end

--- What is wrong with the error of a call; nil: nothing.
local function fault(problem, names)
    if type(problem) ~= "string" then return "no text" end
    if problem:find "neap/[%w_/]+%.lua" then return "names a file of the library" end
    if not problem:find "^[^\n]*methods_test%.lua:%d+: " then return "names no line" end
    for _, name in ipairs(names) do
        if problem:find(name, 1, true) then return nil end
    end
    if problem:find "np%.[%w_%.]+" then return nil end
    return "names nothing that was called"
end

-- What writes, and functions that objects hold for themselves.
local skipped = { show = true, explore = true, draw = true, display = true, save = true, close = true,
                  init_state = true, change = true, infer_shape = true, make = true, iterator = true }

for _, entry in ipairs(objects) do
    local name, make = entry[1], entry[2]
    check.test(name, function()
        local faults = {}
        local function try(method, call)
            for _, list in ipairs(lists) do
                local object = make()
                local ok, problem = pcall(call, object, list)
                local wrong = not ok and fault(problem, { method, name })
                if wrong then
                    faults[#faults + 1] = ("%s: %s(%s): %s")
                        :format(wrong, method, words(list), tostring(problem):sub(1, 200))
                    break
                end
            end
        end
        for _, method in ipairs(methods_of(make())) do
            if not skipped[method] then
                try(method, function(object, list) object[method](object, unpack(list)) end)
                try(method, function(object, list) object[method](unpack(list)) end) -- with a dot
            end
        end
        if entry.called then try(name, function(object, list) object(unpack(list)) end) end
        check.equal(#faults, 0, table.concat(faults, "\n"))
    end)
end

os.remove "x" -- program:svg("x") writes it
check.done()
