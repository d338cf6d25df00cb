--- calls_test.lua: every public function and array method with arguments drawn at random, good and bad ones.
--
-- Each call either works or raises one Lua error that names the function and the line of the call; after each the
-- session still computes. What is drawn comes from a seed (tests/lib/seeds.lua):
--
--     NEAP_FUZZ_CALLS     how many calls at most: a fast machine is to see no others than a slow one (60000)
--     NEAP_FUZZ_LOG       a file that holds the last call when the process dies
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local dtypes = require "tests.lib.dtypes"
local np = require "neap"
local core = require "neap.core"
local help = require "neap.inspect.help"
local ffi = require "ffi"

ffi.cdef "char *mkdtemp(char *template); int chdir(const char *path); int rmdir(const char *path);"

local seconds, first_seed = seeds.seconds(10), seeds.first
local most = tonumber(os.getenv("NEAP_FUZZ_CALLS") or seeds.is_long and math.huge or 60000)
local log_path = os.getenv("NEAP_FUZZ_LOG")
local MEMORY = 64e6

local seed = first_seed
local function random(n)
    seed = (seed * 16807) % 2147483647
    return seed % n + 1
end
local function pick(list) return list[random(#list)] end

-- ---- What is called -------------------------------------------------------------------------------------------------

-- Not called: what writes to the test's log, settings that the test relies on, what waits to be let go or never ends
-- with an iterator that always answers, what asks at the prompt, what records a file from then on.
local skipped = { ["np.printf"] = true, ["np.debug.print"] = true, ["np.debug.memory_limit"] = true,
                  ["np.debug.limits"] = true, ["np.debug.hold"] = true, ["np.debug.kernels"] = true,
                  ["np.debug.nans"] = true, ["np.debug.jit"] = true, ["np.fromiter"] = true,
                  ["np.breakpoint"] = true, ["np.profile.start"] = true, ["np.interact"] = true,
                  ["np.plot.explore"] = true }

-- What the help knows, every public function, and every method of arrays; not the helpers of the library's own files.
local targets = {}

local function member(path)
    local holder = np
    for part in path:gmatch "[%w_]+" do holder = holder[part] end
    return holder
end

for _, name in ipairs(help.names()) do
    if name:find "^np%." and not skipped[name] then
        local known, f = pcall(member, name:sub(4)) -- not known: methods of what a function returns, as np.data's
        if known and type(f) == "function" then targets[#targets + 1] = { name = name:sub(4), call = f } end
    end
end
for name, f in pairs(core.methods) do
    if type(f) == "function" then targets[#targets + 1] = { name = name, call = f, method = true } end
end

local tables = { np.table { a = { 1, np.nan, 3 }, text = { "x", false, "y" } }, np.table {},
                 np.table { { "i", np.arange(3) }, { "axis", np.ones(3):gt(0) } },
                 np.table { { "axis", np.to_datetime { "2024-02-29", false, "1969-12-31 23:59" } },
                            { "i", { 1.5, 2, 3 } } } }
local columns = { text = { tables[1].text, tables[1]:head(0).text }, dates = { tables[4].axis } }
--- Methods of one of a list of objects, by their names.
local function add_methods(prefix, list, names)
    for name in names:gmatch "%S+" do
        local function method(...)
            local t = list[#{ ... } % #list + 1] -- any one of them
            return t[name](t, ...)
        end
        targets[#targets + 1] = { name = prefix .. "." .. name, call = method }
    end
end
add_methods("table", tables,
            "column select drop rename with filter take head tail row sort concat to_array totable group "
            .. "describe join tostring agg isna dropna fillna ffill bfill value_counts drop_duplicates sample rank cut "
            .. "qcut pivot pivot_table melt rolling expanding shift diff pct_change cumsum cumprod cummin cummax "
            .. "resample")
add_methods("text", columns.text,
            "lower upper len sub strip lstrip rstrip pad zfill contains startswith endswith find match "
            .. "gsub split cat to_numeric set_categories eq ne isin isnan unique totable")
add_methods("dates", columns.dates, "eq ne lt le gt ge min max strftime floor add since isnan totable")

local operators = {
    add = function(a, b) return a + b end, subtract = function(a, b) return a - b end,
    multiply = function(a, b) return a * b end, divide = function(a, b) return a / b end,
    remainder = function(a, b) return a % b end, power = function(a, b) return a ^ b end,
    index = function(a, b) return a[b] end, call = function(a, ...) return a(...) end,
    negative = function(a) return -a end, concat = function(a, b) return a .. b end,
    less = function(a, b) return a < b end, equal = function(a, b) return a == b end,
    length = function(a) return #a end, text = function(a) return tostring(a) end,
    newindex = function(a, b, c) a[b] = c end, at = function(a, b, c) return a:at(b):add(c) end,
}
for name, f in pairs(operators) do targets[#targets + 1] = { name = name, call = f, operator = true } end
table.sort(targets, function(a, b) return a.name .. tostring(a.method) < b.name .. tostring(b.method) end)

-- ---- Arguments ------------------------------------------------------------------------------------------------------

local pool

--- Arrays of every dtype; results of calls join them.
local function fill_pool()
    pool = { np.random.key(0) }
    for _, dtype in ipairs(dtypes.names) do
        for _, dims in ipairs { {}, { 0 }, { 1 }, { 3 }, { 2, 3 }, { 3, 1, 2 }, { 2, 0, 3 } } do
            local size = 1
            for _, n in ipairs(dims) do size = size * n end
            local x = np.arange(size, { dtype = "i32" }):reshape(dims):astype(dtype)
            pool[#pool + 1] = dtype == "f32" and x * 0.37 - 0.5 or x
        end
    end
end
fill_pool()

local numbers = { 0, 1, 2, 3, -1, -2, 7, 0.5, -0.5, 1e-300, 1e300, 2 ^ 31, -2 ^ 31, 2 ^ 40, 2 ^ 53, 1e18,
                  np.nan, np.inf, -np.inf, 64, 65, 100 }
local strings = { "f32", "f64", "i32", "bool", "u8", "", "abc", "1:2", "::-1", "...", "newaxis, 0", "no\0where",
                  "%d %s", "missing.npy", "a.npz", "relu", "sum", "\255\254", ("x"):rep(300) }
local options = { "axis", "keepdims", "dtype", "argnums", "static", "shape", "batch", "batch_size", "has_aux",
                  "lr", "key", "replace", "p", "ddof", "unknown", "num_classes", "descending",
                  "shuffle", "size", "offset", "k", "count", "on", "how", "by", "index", "values", "plain", "window",
                  "columns", "delimiter", "metadata", "names",
                  "label", "color" }
np.plot.line(np.arange(3))
np.plot.twinx()
local figure = np.plot.figure() -- one that has twin axes
local odd = { figure, tables[1], tables[3], tables[1].text, tables[4].axis,
              ffi.new("int64_t", 7), ffi.new("int[3]"), io.stdout, coroutine.create(function() end), true, false,
              setmetatable({}, { __index = function() error("of the user") end }) }
-- Functions of a user. Their own errors, on values that do not suit them, are passed on.
local here = debug.getinfo(1, "l").currentline
local functions = {
    function(x) return x end, function() end, function() error("of the user", 0) end, function() error({}, 0) end,
    function(...) return np.sum(...) end, function(x) return (x * x):sum() end, function(x) return x:item() end,
    function() return 1 end, function(x) return { x, a = x }, "text" end,
}
local there = debug.getinfo(1, "l").currentline

local value

local function list(depth)
    local result, n = {}, random(4) - 1
    for k = 1, n do result[k] = value(depth + 1) end
    if random(6) == 1 then result[n + 2] = value(depth + 1) end
    if random(4) == 1 then result[pick(options)] = value(depth + 1) end
    if random(40) == 1 then result[result] = result end
    return result
end

--- A list of small integers: a shape, axes, an index.
local function integers()
    local result = {}
    for k = 1, random(4) - 1 do result[k] = random(5) - 2 end
    return result
end

function value(depth)
    local kind = random(16)
    if kind <= 5 then return pick(pool) end
    if kind <= 7 then return random(6) - 2 end
    if kind == 8 then return pick(numbers) end
    if kind == 9 then return pick(strings) end
    if kind == 10 then return integers() end
    if kind == 11 and depth < 3 then return list(depth) end
    if kind == 12 and depth < 3 then return { [pick(options)] = value(depth + 1) } end
    if kind == 13 then return pick(odd) end
    if kind == 14 then return pick(functions) end
    if kind == 15 then return nil end
    return pick(pool)
end

local function arguments(target)
    local given = { n = random(5) - 1 }
    for k = 1, given.n do given[k] = value(0) end
    if target.method or target.operator then
        given[1] = pick(pool)
        given.n = math.max(given.n, 1)
    end
    if target.name == "split" and type(given[2]) == "number" then given[2] = math.min(given[2], 100) end -- one each
    if target.name == "debug.sleep" then given[2] = type(given[2]) == "number" and math.min(given[2], 5) or 0 end
    return given
end

local function words(x, depth)
    if core.is_array(x) then
        local ok, shape = pcall(core.shape_text, x)
        return "array " .. (ok and shape .. " " .. x.dtype or "stale")
    end
    if type(x) == "string" then return ("%q"):format(x) end
    if type(x) ~= "table" or depth > 3 or getmetatable(x) then return tostring(type(x) == "table" and "table" or x) end
    local parts = {}
    for key, item in pairs(x) do parts[#parts + 1] = words(key, 4) .. "=" .. words(item, depth + 1) end
    return "{" .. table.concat(parts, ", ") .. "}"
end

local function describe(target, given)
    local parts = {}
    for k = 1, given.n do parts[k] = words(given[k], 0) end
    return target.name .. "(" .. table.concat(parts, ", ") .. ")"
end

-- ---- Calls ----------------------------------------------------------------------------------------------------------

local function keep(x)
    if not core.is_array(x) or #pool > 400 then return end
    local ok, size = pcall(function() return x.size end)
    if ok and size <= 4096 then pool[#pool + 1] = x end
end

-- Errors that name something better than the function: the operation that failed, what happened to the array.
local nameless = { "debug_fail: failed on purpose", "check: ", "array that was deleted", "the array was deleted",
                   "array index: ", "'==' cannot" }

--- What is wrong with the error of a call, or nil.
local function judge(target, problem)
    if type(problem) == "table" then return nil end -- of `functions`, passed on
    if type(problem) ~= "string" then return "the error is a " .. type(problem) end
    if problem:find("of the user", 1, true) then return nil end
    local line = tonumber(problem:match("calls_test%.lua:(%d+): "))
    if line and line > here and line < there then return nil end
    for _, text in ipairs(nameless) do
        if problem:find(text, 1, true) then return nil end
    end
    if not line then return "no file and line" end
    if problem:find("\n") then return "more than one line" end
    if not target.operator and not problem:find("np%.[%w_.]+: ") then return "no name of a function" end
end

local function call(target, given)
    local results = { pcall(target.call, unpack(given, 1, given.n)) }
    if not results[1] then return results[2] end
    for k = 2, #results do keep(results[k]) end
    local x = results[2]
    if core.is_array(x) and random(3) == 1 then
        local ok, problem = pcall(function()
            if not x:is_deleted() and x.size <= 4096 then return tostring(x) end
        end)
        if not ok then return problem end
    end
end

check.test("public functions raise or work", function()
    local folder = ffi.new("char[?]", 64, "/tmp/neap-fuzz-XXXXXX")
    assert(ffi.C.mkdtemp(folder) ~= nil)
    local log = log_path and assert(io.open(log_path, "w"))
    ffi.C.chdir(folder)
    np.debug.memory_limit(MEMORY)
    local calls, failures, seen, stop = 0, {}, {}, os.time() + seconds
    while os.time() < stop and calls < most and #failures < 40 do
        local target = pick(targets)
        local given = arguments(target)
        local text = describe(target, given)
        if log then
            log:seek("set")
            log:write(seed, " ", text, "\n")
            log:flush()
        end
        local started = os.clock()
        local problem = call(target, given)
        local wrong = problem ~= nil and judge(target, problem)
        if os.clock() - started > 20 then wrong = "it took long" end
        if (np.array { 1 } + 1):item() ~= 2 then wrong = "the session computes wrongly" end
        if wrong and not seen[target.name .. wrong] then
            seen[target.name .. wrong] = true
            failures[#failures + 1] = ("%s: %s: %s"):format(wrong, text, tostring(problem))
        end
        calls = calls + 1
        if calls % 300 == 0 then fill_pool() end
    end
    os.execute("rm -rf '" .. ffi.string(folder) .. "'")
    io.write(("\n%d calls, seed %d\n"):format(calls, first_seed))
    check.equal(#failures, 0, table.concat(failures, "\n"))
end)

check.done()
