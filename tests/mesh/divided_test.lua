--- divided_test.lua (under asan with --long): slices of a divided axis and take from a divided table: the bits of whole
-- arrays, their gradients, where the results lie, and that no device gets more than what is wanted. In one process, and
-- in several, for which it runs itself under mpirun.
require "tests.lib.devices" (4, "tests/mesh/divided_test.lua")
local check = require "tests.lib.check"
local np = require "neap"

local P = np.P
local mesh = np.mesh({ 2, 2 }, { "i", "j" })
local SPECS = { P("i"), P("j"), P("i", "j"), P { "i", "j" }, P { "j", "i" }, P(nil, "i"), P({ "j", "i" }, nil) }

local function whole(x) return np.device_put(x, mesh, P()) end

--- All elements as texts that tell 0.0 from -0.0.
local function bits(x)
    local list = {}
    local function visit(value)
        if type(value) == "table" then
            for _, item in ipairs(value) do visit(item) end
        else
            local v = tonumber(value) or value and 1 or 0
            list[#list + 1] = v ~= v and "nan" or ("%.17g/%g"):format(v, 1 / v)
        end
    end
    visit({ whole(x):totable() })
    return table.concat(list, " ")
end

local table_ = np.random.normal(np.random.key(1), { 24, 4 }):at { 3, 0 }:set(-0.0):at { 4, 1 }:set(0 / 0)
    :at { 9, 2 }:set(-1 / 0):at { 23, 3 }:set(1e-45)
local ids = np.array({ 3, 4, 9, -1, 0, 200, 3 }, { dtype = "i32" })

--- The same in a few digits.
local function hash(x)
    local h, text = 5381, bits(x)
    for k = 1, #text do h = (h * 33 + text:byte(k)) % 4294967291 end
    return h
end

--- What is read of a table of 24 rows: functions of the table.
local READS = {
    row = function(t) return t[3] end,
    last = function(t) return t[-1] end,
    rows = function(t) return t[{ { 2, 5 } }] end,
    back = function(t) return t[{ { nil, nil, -5 } }] end,
    element = function(t) return t[{ 4, 1 }] end,
    columns = function(t) return t[{ { 20, 24 }, { 1, 3 } }] end,
    added = function(t) return t[{ np.newaxis, { 0, 3 }, 0 }] end,
    taken = function(t) return np.take(t, ids, { axis = 0 }) end,
    indexed = function(t) return t[ids] end,
    grid = function(t) return t[np.reshape(ids[{ { 0, 6 } }], { 2, 3 })] end,
    unsigned = function(t) return t[np.array({ 255, 1 }, { dtype = "u8" })] end,
    none = function(t) return t[{ { 3, 3 } }] end,
}

-- ---- What moves -----------------------------------------------------------------------------------------------------

local ROWS, COLUMNS = 40000, 16

--- The bytes by which memory grew at most while f ran.
local function grown(f)
    np.memory.trim()
    np.memory.reset_peak()
    local before = np.memory().live
    f():wait()
    return np.memory().peak - before
end

local function large()
    local y = np.device_put(np.random.normal(np.random.key(2), { ROWS, COLUMNS }), mesh, P { "i", "j" })
    y:wait()
    return y
end

--- Lines that tell whether little memory was needed: a few results for each device, not the table.
local function what_moves(say)
    local y = large()
    local some = np.random.randint(np.random.key(3), { 500 }, 0, ROWS):wait()
    local few, one = 8 * 500 * COLUMNS * 4, 20000
    say("take", grown(function() return np.take(y, some, { axis = 0 }) end) < few)
    say("slice", grown(function() return y[{ { 300, 800 } }] + 0 end) < few)
    say("row", grown(function() return y[ROWS - 1] + 0 end) < one)
    local sum = np.jit(function(t, k) return np.take(t, k, { axis = 0 }):sum() end)
    say("jitted", grown(function() return sum(y, some) end) < few)
end

if arg and arg[1] == "run" then
    what_moves(function(name, little) print(name, little) end)
    for _, spec in ipairs(SPECS) do
        local y = np.device_put(np.where(np.isfinite(table_), table_, -0.0), mesh, spec)
        for _, name in ipairs { "row", "last", "rows", "back", "element", "columns", "taken", "grid", "none" } do
            local read = READS[name]
            local gradient = np.grad(function(t) return (read(t) ^ 3):sum() end)(y)
            print(tostring(spec), name, hash(read(y)), hash(np.jit(read)(y)), hash(gradient))
        end
    end
    return
end

-- ---- Values ---------------------------------------------------------------------------------------------------------

check.test("values, of every dtype, have the bits of whole arrays", function()
    for _, dtype in ipairs { "f32", "f64", "i32", "i64", "i8", "u8", "u32", "bool" } do
        local x = dtype:find "f" and table_ or np.reshape(np.arange(96) - 40, { 24, 4 })
        if dtype == "bool" then x = x:gt(-30) else x = x:astype(dtype) end
        for _, spec in ipairs(SPECS) do
            local y = np.device_put(x, mesh, spec)
            for name, read in pairs(READS) do
                local what = ("%s of %s as %s"):format(name, dtype, tostring(spec))
                local got, want = read(y), read(x)
                check.equal({ got.dtype, bits(got) }, { want.dtype, bits(want) }, what)
                if dtype == "f32" then check.equal(bits(np.jit(read)(y)), bits(want), what .. ", jitted") end
            end
        end
    end
end)

check.test("gradients, too, which stay divided as the table", function()
    local finite = np.where(np.isfinite(table_), table_, 1)
    for _, spec in ipairs(SPECS) do
        local y = np.device_put(finite, mesh, spec)
        for name, read in pairs(READS) do
            local function loss(t) return (read(t) ^ 3):sum() end
            local what = ("%s as %s"):format(name, tostring(spec))
            local got = np.grad(loss)(y)
            check.equal(bits(got), bits(np.grad(loss)(finite)), what)
            check.equal(tostring(got.sharding), tostring(y.sharding), what)
            if name == "rows" or name == "taken" then
                check.equal(bits(np.jit(np.grad(loss))(y)), bits(got), what .. ", jitted")
                local function second(t) return (np.grad(loss)(t) * np.cos(t)):sum() end
                check.equal(bits(np.grad(second)(y)), bits(np.grad(second)(finite)), what .. ", twice")
            end
        end
    end
end)

check.test("number arguments, batches and loops", function()
    local y = np.device_put(table_, mesh, P("i"))
    local at = np.jit(function(t, n) return t[n] end)
    check.equal({ bits(at(y, 3)), bits(at(y, -1)) }, { bits(table_[3]), bits(table_[-1]) })
    local function row(t, n) return np.take(t, n, { axis = 0 }) end
    local some = np.array({ 3, 23, 9 }, { dtype = "i32" })
    check.equal(bits(np.vmap(row, { in_axes = { false, 0 } })(y, some)), bits(table_[some]))
    local function looped(t)
        return np.fori_loop(0, 5, function(i, sum) return sum + t[i + 4] end, np.zeros { 4 })
    end
    check.equal(bits(looped(y)), bits(looped(table_)))
    check.equal(bits(np.jit(looped)(y)), bits(looped(table_)))
end)

check.test("indices that are divided as the table: so is the result", function()
    local some = np.array({ 3, 4, 9, -1 }, { dtype = "i32" })
    for _, entry in ipairs { "i", { "i", "j" }, { "j", "i" } } do
        local found = np.take(np.device_put(table_, mesh, P(entry)), np.device_put(some, mesh, P(entry)), { axis = 0 })
        check.equal(bits(found), bits(table_[some]))
        check.equal(tostring(found.sharding.spec), tostring(P(entry, nil)))
    end
    local other = np.take(np.device_put(table_, mesh, P("i")), np.device_put(some, mesh, P("j")), { axis = 0 })
    check.equal({ bits(other), tostring(other.sharding.spec) }, { bits(table_[some]), tostring(P("j", nil)) })
end)

check.test("no device gets the table", function()
    what_moves(function(name, little) check.ok(little, name .. " takes as much memory as the table") end)
end)

--- The different lines of a text, sorted: each process prints all of them.
local function lines(text)
    local list, last = {}, nil
    for _, line in ipairs(require "tests.lib.mpirun".sorted(text)) do
        if line ~= last then list[#list + 1] = line end
        last = line
    end
    return list
end

check.test("several processes: the same, and no process gets the table", function()
    local mpirun = require "tests.lib.mpirun"
    local process = require "tests.lib.process"
    local missing = mpirun.missing()
    if missing then return check.skip("several processes", missing) end
    local _, expected = process.run_neap { "--devices", "4", "tests/mesh/divided_test.lua", "run" }
    local alone = lines(expected)
    check.equal(#alone, 4 + #SPECS * 9)
    local values = table.concat(alone, "\n")
    for _, name in ipairs { "row", "taken" } do -- what several processes print means what whole arrays give
        local want = hash(READS[name](np.where(np.isfinite(table_), table_, -0.0)))
        check.ok(values:find(("\t%s\t%s\t%s\t"):format(name, want, want)), name)
    end
    for _, count in ipairs { 2, 4 } do
        local status, out, err = mpirun.run(count, { "--devices", 4 / count, "tests/mesh/divided_test.lua", "run" })
        check.equal({ status, err }, { 0, "" })
        check.equal(lines(out), alone, count .. " processes")
        for _, name in ipairs { "take", "slice", "row", "jitted" } do
            check.ok(out:find(name .. "\ttrue", 1, true), name .. " in " .. count .. " processes")
        end
    end
end)

check.done()
