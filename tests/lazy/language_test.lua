--- language_test.lua (sanitized with --long): the view language: 10,000 random expressions, which neap builds without
-- any work, evaluates as the interpreter on the host does (tests/lib/host.lua), and stages into programs with the same
-- values; constructors without memory; and what a jitted function makes of the layout of its arguments.
local check = require "tests.lib.check"
local host = require "tests.lib.host"
local np = require "neap"

np.debug.limits { nodes = 0, bytes = 0 }

local EXPRESSIONS = os.getenv "NEAP_TEST_BUILD" == "release" and 10000 or 2000

--- How much counters grew while f ran; then f's result.
local function growth(f)
    local before = np.debug.counters()
    local result = f()
    local after, grown = np.debug.counters(), {}
    for _, name in ipairs { "launches", "plans", "flushes", "programs" } do grown[name] = after[name] - before[name] end
    return grown, result
end
local NOTHING = { launches = 0, plans = 0, flushes = 0, programs = 0 }

local state = 7
local function random(n)
    state = state * 16807 % 2147483647
    return math.floor(state / 8) % n + 1
end

local function text_of(x)
    if type(x) ~= "table" then return tostring(x) end
    local parts = {}
    for k = 1, #x do parts[k] = text_of(x[k]) end
    return "{" .. table.concat(parts, ", ") .. "}"
end

-- ---- Two interpreters -----------------------------------------------------------------------------------------------

local drawn = {}
for k = 1, EXPRESSIONS do
    local expression = host.draw(random)
    local base = expression[1][1] == "data" and host.neap.data(expression[1][2]) or nil
    local reference = host.run(expression, host.steps)
    drawn[k] = { expression = expression, base = base, dims = reference.dims, elements = host.elements(reference) }
end

--- That array k has the elements of the reference.
local function compare(k, x)
    local what = "expression " .. text_of(drawn[k].expression)
    check.equal(x.shape, drawn[k].dims, "the shape of " .. what)
    check.equal(x:reshape(-1):totable(), drawn[k].elements, what)
end

check.test("building expressions launches, plans and traces nothing", function()
    np.wait_all()
    local grown = growth(function()
        for _, one in ipairs(drawn) do one.x = host.run(one.expression, host.neap, one.base) end
    end)
    check.equal(grown, NOTHING)
end)

check.test("they have the values that the host gives them", function()
    for k, one in ipairs(drawn) do compare(k, one.x) end
end)

check.test("staged into programs they have the same values", function()
    for k, one in ipairs(drawn) do
        local expression = one.expression
        compare(k, np.jit(function(base) return host.run(expression, host.neap, base) end)(one.base))
    end
end)

check.test("a map over two of them is one kernel", function()
    local tried = 0
    for k = 2, #drawn do
        local one, other = drawn[k - 1], drawn[k]
        if #one.elements > 0 and #other.elements > 0 and tried < 500 then
            tried = tried + 1
            local a = host.run(one.expression, host.neap, one.base):reshape(-1)
            local b = host.run(other.expression, host.neap, other.base):reshape(-1)
            local launches = np.debug.counters().launches
            local y = a[{ {}, np.newaxis }] * 3 - b
            np.force(y)
            -- A reshape of a transposed or repeated array may have to be a copy.
            check.ok(np.debug.counters().launches - launches <= 3)
            local values, expected = y:reshape(-1):totable(), {}
            for _, u in ipairs(one.elements) do
                for _, v in ipairs(other.elements) do expected[#expected + 1] = u * 3 - v end
            end
            check.equal(values, expected, text_of(one.expression) .. " and " .. text_of(other.expression))
        end
    end
end)

-- ---- Constructors ---------------------------------------------------------------------------------------------------

-- Each: an array of about 1e9 elements, and two parts of it with their values.
local HUGE = {
    { "iota", function() return np.arange(1e9) end, function(x) return x[{ { 7, 9 } }], x[{ { 999999998 } }] end,
      { 7, 8 }, { 999999998, 999999999 } },
    { "arange", function() return np.arange(3, 2e9, 2, { dtype = "i64" }) end,
      function(x) return x[{ { 0, 2 } }], x[{ { 9, 10 } }] end, { 3, 5 }, { 21 } },
    { "linspace", function() return np.linspace(0, 1e9, 1e9 + 1, { dtype = "f64" }) end,
      function(x) return x[{ { 5, 7 } }], x[{ { 1e9 - 1 } }] end, { 5, 6 }, { 999999999, 1e9 } },
    { "eye", function() return np.eye(32000, 32000, 1) end,
      function(x) return x[{ { 6, 8 }, { 7, 10 } }], x[{ 31998, { 31997 } }] end, { { 1, 0, 0 }, { 0, 1, 0 } },
      { 0, 0, 1 } },
    { "tri", function() return np.tri(32000, 32000, -1) end,
      function(x) return x[{ { 6, 8 }, { 5, 8 } }], x[{ 31999, { 31997 } }] end, { { 1, 0, 0 }, { 1, 1, 0 } },
      { 1, 1, 0 } },
    { "delta", function() return np.delta({ 1000, 1000, 1000 }) end,
      function(x) return x[{ 4, { 3, 6 }, 4 }], x[{ 999, 999, { 998 } }] end, { 0, 1, 0 }, { 0, 1 } },
    { "ones", function() return np.ones({ 40000, 30000 }) end,
      function(x) return x[{ 39999, { 0, 2 } }], x[{ { 5, 7 }, 0 }] end, { 1, 1 }, { 1, 1 } },
    { "full", function() return np.full({ 1e9 }, 7, { dtype = "u8" }) end,
      function(x) return x[{ { 0, 2 } }], x[{ { 1e9 - 1 } }] end, { 7, 7 }, { 7 } },
}

local function held(f)
    local before = np.memory().live
    f()
    return np.memory().live - before
end

for _, case in ipairs(HUGE) do
    local name, make, parts, first, second = unpack(case)
    check.test("huge, read in parts, again and again, without memory: " .. name, function()
        local x
        check.equal(growth(function() x = make() end), NOTHING)
        check.ok(held(function()
            for _ = 1, 2 do
                local a, b = parts(x)
                check.equal(b:totable(), second)
                check.equal(a:totable(), first)
            end
            np.wait_all()
        end) < 1e5, "it was materialised")
        check.ok(x:is_deferred())
    end)

    check.test("huge, closed over by a jitted function, which embeds nothing: " .. name, function()
        local x = make()
        local used = held(function()
            local program = np.trace(function(zero)
                local a, b = parts(x)
                return a + zero, b + zero
            end)(np.zeros({}, { dtype = "f64" }))
            check.ok(#tostring(program) < 4000, "its text shows the formula alone")
            local a, b = np.jit(function(zero)
                local p, q = parts(x)
                return p + zero, q + zero
            end)(np.zeros({}, { dtype = "f64" }))
            check.equal(a:totable(), first)
            check.equal(b:totable(), second)
            a, b = program(np.zeros({}, { dtype = "f64" }))
            check.equal({ a:totable(), b:totable() }, { first, second })
        end)
        check.ok(used < 1e5, "it was materialised")
    end)
end

check.test("a formula stays one as long as it is short; what is longer is work like any other", function()
    local x = np.arange(100)
    for _ = 1, 8 do x = x + 1 end
    np.wait_all()
    check.ok(x:is_deferred())
    local long = x + 1
    check.equal(np.debug.counters().pending, 1)
    np.wait_all()
    check.ok(not long:is_deferred())
    check.equal(long[5]:item(), 14)
end)

check.test("what is made of a forced formula is work like any other", function()
    local x = np.arange(100)
    np.force(x)
    local y = x * 2
    check.equal(np.debug.counters().pending, 1)
    check.equal(growth(function() np.wait_all() end).launches, 1)
    check.ok(not y:is_deferred())
end)

check.test("a formula that a product reads is there once", function()
    local eye = np.eye(50)
    local x = np.arange(100, { dtype = "f32" }):reshape(2, 50)
    check.equal(x:matmul(eye):totable(), x:totable())
    check.equal(growth(function() return x:matmul(eye):wait() end).launches, 1)
end)

-- ---- Forcing --------------------------------------------------------------------------------------------------------

check.test("a forced formula keeps its memory, and its readers use it", function()
    local x = np.eye(4)
    check.equal(growth(function() np.force(x) end).launches, 1)
    check.ok(not x:is_deferred())
    check.equal(growth(function()
        np.force(x)
        x:wait()
        return x:totable()
    end), NOTHING)
    check.equal(growth(function() return (x.T * 2):wait() end).launches, 1)
    check.equal(x.T[1]:totable(), { 0, 1, 0, 0 })
end)

-- ---- Arguments of jitted functions ----------------------------------------------------------------------------------

local row = np.array { 1, 2, 3, 4 }

-- Arrays of shape (4, 4) with different layouts, and their row 1.
local LAYOUTS = {
    { "computed", function() return (row[{ {}, np.newaxis }] + row):wait() end, { 3, 4, 5, 6 } },
    { "pending", function() return row[{ {}, np.newaxis }] + row end, { 3, 4, 5, 6 } },
    { "broadcast", function() return np.broadcast_to(row, { 4, 4 }) end, { 1, 2, 3, 4 } },
    { "broadcast along rows", function() return np.broadcast_to(row[{ {}, np.newaxis }], { 4, 4 }) end,
      { 2, 2, 2, 2 } },
    { "transposed", function() return (row[{ {}, np.newaxis }] + row * 10):wait().T end, { 21, 22, 23, 24 } },
    { "sliced", function() return (row[{ {}, np.newaxis }] * np.arange(8)):wait()[{ {}, { 0, 8, 2 } }] end,
      { 0, 4, 8, 12 } },
    { "flipped", function() return np.flip((row[{ {}, np.newaxis }] + row):wait(), { axis = 1 }) end, { 6, 5, 4, 3 } },
    { "a constant", function() return np.ones({ 4, 4 }) end, { 1, 1, 1, 1 } },
    { "a formula", function() return np.eye(4) end, { 0, 1, 0, 0 } },
    { "data", function() return np.array { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 0, 1, 2 }, { 3, 4, 5, 6 } } end,
      { 5, 6, 7, 8 } },
}

check.test("arguments of one shape and dtype share a program and its plan, whatever their layout", function()
    local traces = 0
    local f = np.jit(function(x)
        traces = traces + 1
        return (x - x:mean { axis = 1, keepdims = true }) * 2, x:sum()
    end)
    f(LAYOUTS[1][2]())
    local programs = np.debug.counters().programs
    for round = 1, 2 do
        for _, layout in ipairs(LAYOUTS) do
            local name, make, expected = unpack(layout)
            local argument = make()
            local grown, result = growth(function() return (f(argument)) end)
            local mean = (expected[1] + expected[2] + expected[3] + expected[4]) / 4
            local want = {}
            for k = 1, 4 do want[k] = (expected[k] - mean) * 2 end
            check.equal(result[1]:totable(), want, name)
            check.equal(grown.programs, 0, name .. ": traced again")
            -- What brings an argument into memory has a plan of its own, once for each layout.
            check.ok(grown.plans <= (round == 1 and 1 or 0), name .. ": planned again")
        end
    end
    check.equal(traces, 1)
    check.equal(np.debug.counters().programs, programs)
end)

check.done()
