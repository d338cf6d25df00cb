--- weak_test.lua (not under tsan): what is computed of numbers alone takes the dtype of what it meets, as JAX's weakly
-- typed arrays do (weak.txt, made by make_weak.py, which has the same names), wherever it is recorded; and what is
-- neap's own rule.
local check = require "tests.lib.check"
local np = require "neap"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()

local DTYPES = { "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64" }
local mask = np.array { true, false, true }

local function names(m)
    local scope = {
        m = m, whole = np.where(m, 1, 0), half = np.where(m, 0.5, 0), three = np.where(m[0], 3, 2),
        where = np.where, maximum = np.maximum, sin = np.sin, absolute = np.abs, clip = np.clip,
        concat = function(a, b) return np.concatenate { a, b } end, stack = function(a, b) return np.stack { a, b } end,
        flip = np.flip, matmul = np.matmul, divide = np.divide, first = function(x) return x[0] end,
        rest = function(x) return x[{ { 1 } }] end, turned = function(x) return x:reshape(3, 1) end,
        picked = function(x) return x[np.array({ 2, 0 }, { dtype = "i32" })] end,
        spread = function(x) return np.broadcast_to(x, { 2, 3 }) end,
    }
    for _, dtype in ipairs(DTYPES) do scope["a_" .. dtype] = np.ones({ 3 }, { dtype = dtype }) end
    return scope
end

--- What an expression gives in a scope. Its function is made anew, so that no traced array stays in one that jit sees.
local function value_of(expression, scope) return setfenv(assert(loadstring("return " .. expression)), scope)() end

local function eager(expression, m) return value_of(expression, names(m)) end

local ways = {
    eager = eager,
    jit = function(expression, m) return np.jit(function(x) return eager(expression, x) end)(m) end,
    argument = function(expression, m) -- what is weak is an argument of the function
        local scope = names(m)
        local function f(whole, half, three)
            local given = { whole = whole, half = half, three = three }
            return value_of(expression, setmetatable(given, { __index = scope }))
        end
        return np.jit(f)(scope.whole, scope.half, scope.three)
    end,
    capture = function(expression, m) -- or read from outside
        local scope = names(m)
        return np.jit(function(zero) return value_of(expression, scope) + zero end)(0)
    end,
    vmap = function(expression, m)
        return np.vmap(function(x) return eager(expression, x) end)(np.stack { m, m })
    end,
}

for _, record in ipairs(reader.records "weak") do
    for name, way in pairs(ways) do
        if name == "eager" or #record[1] < 19 then
            collector.add("what is weak, " .. name, function()
                local result = way(record[1], mask)
                local got = result.weak and "weak" or result.dtype
                return got ~= record[2] and ("%s, expected %s"):format(got, record[2]) or nil
            end, record[1])
        end
    end
end
-- ---- neap's own rules -----------------------------------------------------------------------------------------------
local whole, half = np.where(mask, 1, 0), np.where(mask, 0.5, 0)

check.test("a weak array looks like f32", function()
    check.equal({ whole.dtype, half.dtype, (whole + half).dtype }, { "f32", "f32", "f32" })
    check.equal(tostring(whole), "[1. 0. 1.]")
end)

check.test("fractions make real numbers of integers, whole numbers integers of bools", function()
    for _, dtype in ipairs { "u8", "i8", "u16", "i16", "u32", "i32" } do
        check.equal((half + np.ones({ 3 }, { dtype = dtype })).dtype, "f32", dtype)
    end
    check.equal((half + np.ones({ 3 }, { dtype = "i64" })).dtype, "f64")
    check.equal((whole / 2 * np.ones({ 3 }, { dtype = "u64" })).dtype, "f64")
    check.equal({ (whole + mask).dtype, (half + mask).dtype }, { "i32", "f32" })
end)

check.test("the values are those of the dtype that is met", function()
    check.equal((np.where(mask, 7, -1) * np.array({ 1, 2, 3 }, { dtype = "i32" })):totable(), { 7, -2, 21 })
    check.equal((np.where(mask, 0.5, 0) * np.array({ 1, 2, 3 }, { dtype = "f16" })):totable(), { 0.5, 0, 1.5 })
    check.equal(np.less(whole, np.array({ 0, 1, 2 }, { dtype = "u8" })):totable(), { false, true, true })
    check.equal(np.less(half, np.array({ 0, 1, 2 }, { dtype = "i64" })):totable(), { false, true, true })
end)

check.test("weakness is lost by a dtype that is asked for, and by what sums, sorts or multiplies", function()
    for name, x in pairs { astype = half:astype "f32", array = np.array(half, { dtype = "f32" }), sum = half:sum(),
                           mean = half:mean(), sort = np.sort(half), cumsum = np.cumsum(half),
                           matmul = half:matmul(half) } do
        check.equal(x.weak, false, name)
        check.equal((x * np.ones({}, { dtype = "f16" })).dtype, "f32", name)
    end
    check.equal({ np.ones(2).weak, np.arange(2).weak, (half * np.ones(3)).weak }, { false, false, false })
end)

check.test("to compute or print a weak array changes nothing", function()
    local x = np.where(mask, 0.1, 3)
    local before = x * np.ones({ 3 }, { dtype = "f64" })
    x:wait()
    check.equal(tostring(x), "[0.1 3.  0.1]")
    check.equal(x.weak, true)
    check.equal((x * np.ones({ 3 }, { dtype = "f64" })):totable(), before:totable())
end)

check.test("a jitted function has a program for weak arrays and one for others", function()
    local traces = 0
    local f = np.jit(function(x)
        traces = traces + 1
        return x * np.ones({ 3 }, { dtype = "i16" })
    end)
    for _ = 1, 2 do
        check.equal({ f(whole).dtype, f(half).dtype, f(whole:astype "f32").dtype }, { "i16", "f32", "f32" })
    end
    check.equal(traces, 3)
end)

check.test("results of programs are weak where the function's are", function()
    local f = np.jit(function(m, n) return np.where(m, 2, 0), n + 1, m * n end)
    local a, b, c = f(mask, 3)
    check.equal({ a.weak, b.weak, c.weak }, { true, true, false })
    check.equal({ (a * np.arange(3)).dtype, (b * np.arange(3)).dtype }, { "i32", "i32" })
    check.equal(np.jit(function(x) return x end)(half).weak, true)
end)

check.test("derivatives of what is weak are those of f32", function()
    local ct = np.grad(function(x) return (x * np.where(mask, 2, 0)):sum() end)(np.ones({ 3 }, { dtype = "f16" }))
    check.equal({ ct.dtype, ct:totable() }, { "f16", { 2, 0, 2 } })
    check.equal(np.grad(function(x) return (x * x):sum() end)(half):totable(), { 1, 0, 1 })
end)

check.test("functions of dtypes know it", function()
    check.equal({ np.result_type(whole, "i16"), np.result_type(half, "i16"), np.result_type(half) },
                { "i16", "f32", "f32" })
    check.equal(np.vecdot(half, np.ones({ 3 }, { dtype = "f16" })).dtype, "f16")
end)

check.test("np.vmap gives its function weak examples", function()
    local i8 = np.ones({}, { dtype = "i8" })
    local a, b = np.vmap(function(x) return x * i8, x + 1 end)(np.stack { whole, whole })
    check.equal({ a.dtype, b.weak }, { "i8", true })
end)

check.test("a condition may be a number, and what is chosen is weak", function()
    for condition, want in pairs { [0] = 2, [1] = 1, [2.5] = 1, [-1] = 1 } do
        check.equal(np.where(condition, 1, 2):item(), want)
        check.equal(np.jit(function(c) return np.where(c, 1, 2) end)(condition):item(), want)
    end
    check.equal((np.where(1, 1, 2) * np.arange(3)).dtype, "i32")
    check.equal(np.where(0, np.ones(2), 3):totable(), { 3, 3 })
end)

check.test("a loop carries f32", function()
    local _, sums = np.scan(function(c, x) return c + x, c end, np.where(mask[0], 1, 0), np.arange(3))
    check.equal({ sums.dtype, sums:totable() }, { "f32", { 1, 1, 2 } })
    local last = np.fori_loop(0, 3, function(_, x) return x + 1 end, whole)
    check.equal({ last.dtype, last:totable() }, { "f32", { 4, 3, 4 } })
end)

check.test("a saved program has weak inputs and results", function()
    local path = os.tmpname()
    local function f(m, x) return np.where(m, 2, 0), x * 2, x * np.ones({ 3 }, { dtype = "i16" }) end
    np.trace(f)(mask, whole):save(path)
    local a, b, c = np.load_program(path)(mask, whole)
    os.remove(path)
    check.equal({ a.weak, b.weak, c.dtype }, { true, true, "i16" })
    check.equal({ (a * np.arange(3)).dtype, (b * np.arange(3)).dtype }, { "i32", "i32" })
end)

check.test("what lies on a mesh is weak as well", function()
    local mesh = np.mesh({ 1 }, { "i" })
    local m = np.device_put(mask, mesh, np.P "i")
    local x = np.where(m, 1, 0)
    check.equal({ x.weak, (x * np.arange(3)).dtype, (x * np.arange(3)):totable() }, { true, "i32", { 0, 0, 2 } })
    local y = np.jit(function(a) return np.where(a, 2, 1) end)(m)
    check.equal({ y.weak, (y + np.ones({ 3 }, { dtype = "u8" })).dtype }, { true, "u8" })
end)

collector.finish(check)
