--- in_place_test.lua (under tsan with --long): programs read arguments that are broadcast, transposed or flipped, or
-- made of constructors, where they lie: nothing is copied, nothing is traced again, and the bits are those of an
-- argument that was forced first.
local check = require "tests.lib.check"
local np = require "neap"
local programs = require "tests.lib.programs"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
-- Products of the greater side take seconds each with sanitizers.
local SIDE = (release or os.getenv "NEAP_TEST_LONG") and 1024 or 512
local MOST = 5 / 4 * 4 * SIDE * SIDE -- bytes: a result, and little beside it
local row = programs.leaf("f32", 3, { SIDE })
local square = programs.leaf("f32", 5, { SIDE, SIDE })
local other = programs.leaf("f32", 7, { SIDE, SIDE })

--- The bytes that memory grew by while f ran, at most; and the launches.
local function cost(f)
    np.memory.trim()
    np.memory.reset_peak()
    local before, launches = np.memory().live, np.debug.counters().launches
    f():wait()
    return tonumber(np.memory().peak - before), tonumber(np.debug.counters().launches - launches)
end

local layouts = {
    { "as it is", function() return square end },
    { "broadcast along rows", function() return np.broadcast_to(row, { SIDE, SIDE }) end },
    { "broadcast along columns", function() return np.broadcast_to(row:reshape(SIDE, 1), { SIDE, SIDE }) end },
    { "transposed", function() return square:transpose() end },
    { "flipped", function() return square[{ { nil, nil, -1 }, {} }] end },
    { "transposed and flipped", function() return square:transpose()[{ {}, { nil, nil, -1 } }] end },
    { "arange", function() return np.arange(SIDE * SIDE, { dtype = "f32" }):reshape(SIDE, SIDE) end },
    { "eye", function() return np.eye(SIDE) end },
    { "full", function() return np.full({ SIDE, SIDE }, 2.5) end },
}

local bodies = {
    { "a chain of maps", function(x, y) return np.sin(x) * y + x end },
    { "a map and a sum", function(x, y) return (x * y):sum { axis = 1 } end },
    { "a softmax of a transposed argument", function(x, y) return np.softmax(x:transpose() + y) end },
    { "a product", function(x, y) return x:matmul(y) end },
    { "a sort", function(x, y) return np.sort(x * 2) + y end },
    { "a slice, and the argument itself", function(x, y) return x[{ { 3, 9 } }] + y[{ { 3, 9 } }], x end },
}

for _, body in ipairs(bodies) do
    check.test(body[1] .. ": one recording and the same bits for every layout", function()
        local f = np.jit(body[2])
        for _, layout in ipairs(layouts) do
            local forced = layout[2]():copy():wait()
            local a, same = f(forced, other)
            local b, kept = f(layout[2](), other)
            check.equal(programs.hash(b), programs.hash(a), layout[1])
            if same then check.equal(programs.hash(kept), programs.hash(same), layout[1]) end
        end
        check.ok(tostring(np.jit_cache(f)):find("recorded 1 time", 1, true), tostring(np.jit_cache(f)))
    end)
end

check.test("no layout takes memory but for the result, nor a launch", function()
    local f = np.jit(bodies[1][2])
    f(square, other):wait()
    for _, layout in ipairs(layouts) do
        for _ = 1, 2 do
            local x = layout[2]()
            local bytes, launches = cost(function() return f(x, other) end)
            check.ok(bytes < MOST, layout[1] .. " took " .. bytes .. " bytes")
            check.equal(launches, 1, layout[1])
        end
    end
end)

check.test("plans are found again", function()
    local f = np.jit(bodies[2][2])
    for _, layout in ipairs(layouts) do f(layout[2](), other):wait() end
    local plans = np.debug.counters().plans
    for _ = 1, 3 do
        for _, layout in ipairs(layouts) do f(layout[2](), other):wait() end
    end
    check.equal(tonumber(np.debug.counters().plans - plans), 0)
end)

check.test("slices of neighbours are read where they lie, by one plan", function()
    local f = np.jit(function(x) return x * 2 + 1 end)
    local tall = programs.leaf("f32", 9, { 4 * SIDE, SIDE })
    f(square):wait()
    local plans = np.debug.counters().plans
    for k = 1, 3 do
        local y
        local bytes, launches = cost(function()
            y = f(tall[{ { k * 512, k * 512 + SIDE } }])
            return y
        end)
        check.ok(bytes < MOST, bytes)
        check.equal({ launches, tonumber(np.debug.counters().plans - plans) }, { 1, 0 })
    end
    for k = 1, 3 do
        local y = f(tall[{ { k * 512, k * 512 + SIDE } }])
        check.equal(programs.hash(y), programs.hash(tall[{ { k * 512, k * 512 + SIDE } }] * 2 + 1))
    end
    check.ok(tostring(np.jit_cache(f)):find("recorded 1 time", 1, true))
end)

check.test("random views, beside forced ones", function()
    math.randomseed(7)
    local f = np.jit(function(x, y) return np.exp(-x * x) + y, (x - y):max { axis = 0 } end)
    for _ = 1, 40 do
        local x = math.random(2) == 1 and square or np.broadcast_to(row, { SIDE, SIDE })
        for _ = 1, math.random(3) do
            local way = math.random(3)
            if way == 1 then x = x:transpose() end
            if way == 2 then x = x[{ { nil, nil, -1 }, {} }] end
            if way == 3 then x = x[{ {}, { nil, nil, -1 } }] end
        end
        local a, b = f(x, other)
        local c, d = f(x:copy():wait(), other)
        check.equal({ programs.hash(a), programs.hash(b) }, { programs.hash(c), programs.hash(d) })
    end
    check.ok(tostring(np.jit_cache(f)):find("recorded 1 time", 1, true))
end)

check.test("a result that is the argument has a life of its own", function()
    local f = np.jit(function(x) return x, x * 2 end)
    local x = np.broadcast_to(row, { SIDE, SIDE })
    local same, twice = f(x)
    x:delete()
    check.equal(programs.hash(same * 2), programs.hash(twice))
    same:delete()
end)

check.test("an argument is computed before it is broadcast", function()
    local pending = np.sin(row) * 2
    local f = np.jit(function(x) return x + 1 end)
    local bytes = cost(function() return f(np.broadcast_to(pending, { SIDE, SIDE })) end)
    check.ok(bytes < MOST)
    check.ok(not pending:is_deferred())
end)

check.test("inside of a trace, a gradient and np.vmap", function()
    local f = np.jit(function(x) return x * 2 + 1 end)
    local x = np.broadcast_to(row, { SIDE, SIDE })
    local expected = programs.hash(f(x:copy():wait()) + other)
    check.equal(programs.hash(np.jit(function(y) return f(x) + y end)(other)), expected)
    check.equal(programs.hash((np.value_and_grad(function(y) return (f(x) + y):sum() end)(other))),
                programs.hash((f(x) + other):sum()))
    check.equal(programs.hash(np.vmap(function(y) return f(x)[0] + y end)(other)),
                programs.hash(f(x)[{ { 0, 1 } }] + other))
end)

check.test("donated arguments, effects and meshes force", function()
    local f = np.jit(function(x) return x + 1 end, { donate = { 1 } })
    local x = square:transpose()
    check.equal(programs.hash(f(x)), programs.hash(square:transpose() + 1))
    local seen
    local g = np.jit(function(y)
        np.callback(function(z) seen = z:item() end)(y[{ 0, 0 }])
        return y + 1
    end)
    local y = g(np.full({ SIDE, SIDE }, 2))
    np.effects_barrier()
    check.equal({ seen, y[{ 1, 1 }]:item() }, { 2, 3 })
end)

check.done()
