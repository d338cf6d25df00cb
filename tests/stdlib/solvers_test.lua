--- solvers_test.lua: solvers find the program again that was recorded for a function like the one that they get
-- (tracing/solvers.lua), and notice whatever makes a function another one.
local check = require "tests.lib.check"
local np = require "neap"

--- How many programs f(…) records, and its results.
local function recorded(f, ...)
    local before = np.debug.counters().programs
    local results = { f(...) }
    return np.debug.counters().programs - before, unpack(results)
end

local function f64(...) return np.array({ ... }, { dtype = "f64" }) end

local TIMES = np.arange(6):astype "f64"

-- Calls with a number array c, a fresh function each.
local CALLS = {
    quad = function(c) return (np.integrate.quad(function(x) return np.exp(-x * x * c[0]) end, 0, np.inf)) end,
    dblquad = function(c) return (np.integrate.dblquad(function(y, x) return x * y * c[0] end, 0, 1, 0, 2)) end,
    solve_ivp = function(c)
        return np.integrate.solve_ivp(function(_, y) return -y * c[0] end, { 0, 1 }, f64(1), { t_eval = { 0.5, 1 } }).y
    end,
    root = function(c) return np.optimize.root(function(x) return x * x - c end, f64(1)).x end,
    root_scalar = function(c)
        return np.optimize.root_scalar(function(x) return x ^ 3 - c[0] end, { bracket = { 0, 9 } }).root
    end,
    minimize = function(c) return np.optimize.minimize(function(x) return ((x - c) ^ 2):sum() end, f64(0)).x end,
    minimize_scalar = function(c) return np.optimize.minimize_scalar(function(x) return (x - c[0]) ^ 2 end).x end,
    least_squares = function(c)
        return np.optimize.least_squares(function(x) return x[0] * TIMES - c[0] * TIMES end, f64(0)).x
    end,
    curve_fit = function(c)
        return (np.optimize.curve_fit(function(t, a) return a * t end, TIMES, TIMES * c[0], { 0 }))
    end,
}

for name, call in pairs(CALLS) do
    check.test(name .. ": from the second call on a fresh function on other arrays costs one recording", function()
        np.clear_caches()
        local first = recorded(call, f64(2))
        check.ok(first > 1, "the solver is recorded as a program")
        local again, found = recorded(call, f64(3))
        if name ~= "dblquad" then check.equal(again, 1, "the function alone") end -- there it has a loop itself
        check.ok(again < first, "less than the solver")
        local direct = np.disable_jit(call)(f64(3))
        check.equal(found:totable(), direct:totable(), "the bits of a solver that just runs")
        np.clear_caches()
        check.equal(recorded(call, f64(2)), first, "np.clear_caches forgets")
    end)
end

check.test("the first call runs the Lua of f no more often than later ones", function()
    local times
    local function counted(f)
        return function(...)
            times = times + 1
            return f(...)
        end
    end
    local calls = {
        function() return np.integrate.quad(counted(np.sin), f64(0)[0], 1) end,
        function() return np.optimize.minimize(counted(function(x) return (x * x):sum() end), f64(1)) end,
        function() return np.optimize.root(counted(np.sin), f64(1)) end,
        function() return np.optimize.curve_fit(counted(function(t, a) return a * t end), TIMES, TIMES, { 0 }) end,
    }
    for _, call in ipairs(calls) do
        local each = {}
        for k = 1, 3 do
            times = 0
            call()
            each[k] = times
        end
        check.ok(each[1] > 0)
        check.equal(each, { each[1], each[1], each[1] })
    end
end)

check.test("numbers, fields and functions that f reads are those of the call", function()
    local scale, model = 1, { power = 1, inner = { f = np.sin } }
    local function f(x) return model.inner.f(x) ^ model.power * scale end
    local function integral() return (np.integrate.quad(f, f64(0)[0], 1)):item() end
    local function expected(g) return (np.integrate.quad(g, f64(0)[0], 1)):item() end
    for _ = 1, 3 do check.equal(integral(), expected(np.sin)) end
    scale = 2
    check.equal(integral(), expected(function(x) return np.sin(x) * 2 end))
    model.power = 2
    check.equal(integral(), expected(function(x) return np.sin(x) ^ 2 * 2 end))
    model.inner.f = np.cos
    check.equal(integral(), expected(function(x) return np.cos(x) ^ 2 * 2 end))
end)

check.test("options, shapes and dtypes make other programs", function()
    local function parts(o)
        local _, _, info = np.integrate.quad(function(x) return np.sqrt(x) end, f64(0)[0], 1, o)
        return info.parts:item()
    end
    local few, many = parts { epsabs = 1e-2 }, parts { epsabs = 1e-12 }
    check.ok(few < many, "the tolerance counts")
    for _ = 1, 3 do check.equal({ parts { epsabs = 1e-2 }, parts { epsabs = 1e-12 } }, { few, many }) end
    local function root(n, dtype)
        return np.optimize.root(function(x) return x * x - 4 end, np.ones(n, { dtype = dtype })).x
    end
    for _ = 1, 3 do
        for _, case in ipairs { { 1, "f32" }, { 2, "f32" }, { 2, "f64" }, { 1, "f32" } } do
            local x = root(case[1], case[2])
            check.equal({ x.dtype, x.shape[1] }, { case[2], case[1] })
        end
    end
end)

-- Functions of numbers alone, fresh ones, with a number around them.
local PURE = {
    quad = function(c) return (np.integrate.quad(function(x) return np.exp(-x * x * c) end, 0, np.inf)) end,
    root_scalar = function(c)
        return np.optimize.root_scalar(function(x) return x ^ 3 - math.abs(c) end, { bracket = { 0, 9 } }).root
    end,
    newton = function(c) return np.optimize.root_scalar(function(x) return x:log() - c end, { x0 = c }).root end,
    minimize_scalar = function(c) return np.optimize.minimize_scalar(function(x) return (x - c) ^ 2 end).x end,
    args = function(c)
        return np.optimize.root_scalar(function(x, d) return x * x - d end, { bracket = { 0, 9 }, args = { c } }).root
    end,
}

for name, call in pairs(PURE) do
    check.test(name .. ": from the second call on a fresh function of numbers costs no recording", function()
        np.clear_caches()
        check.ok(recorded(call, 2) > 0)
        local again, found = recorded(call, 2)
        check.equal(again, 0)
        check.equal(found:item(), np.disable_jit(call)(2):item(), "the bits of a solver that just runs")
        local count, other = recorded(call, 3)
        check.ok(count > 0, "another number, another function")
        check.equal(other:item(), np.disable_jit(call)(3):item())
        np.clear_caches()
        check.ok(recorded(call, 2) > 0, "np.clear_caches forgets")
    end)
end

check.test("functions that may read or do more than their code and numbers tell run at each call", function()
    local times, cells, held, key = 0, { 1 }, np.ones({}), 1
    local function other(x) return x - 1 end
    local functions = {
        assigns = function(x)
            times = times + 1
            return x - times
        end,
        stores = function(x)
            cells[1] = cells[1] + 1
            return x - cells[1]
        end,
        indexes = function(x) return x - cells[key] end,
        lists = function(x) return x - cells[1] end,
        reads = function(x) return x - held end,
        closes = function(x) return (function() return other(x) end)() end,
        calls = function(x) return x - #tostring(x.dtype) end,
        draws = function(x) return x - math.random() end,
    }
    for name, f in pairs(functions) do
        local function root() return np.optimize.root_scalar(f, { bracket = { -9, 99 } }).root end
        for _ = 1, 4 do check.ok(recorded(root) > 0, name) end
    end
    check.ok(times >= 8, "an assignment happens at each call")
end)

check.test("what a function of numbers reads is read at each call", function()
    local slope, cfg, g = 1, { shift = 1, inner = { f = np.exp } }, function(x) return x * 2 end
    local function f(x) return g(x) * slope + cfg.shift - cfg.inner.f(x) * 0 end
    local function root() return np.optimize.root_scalar(f, { bracket = { -9, 9 } }).root:item() end
    for _ = 1, 3 do check.close(root(), -0.5, 1e-5) end
    slope = 2
    for _ = 1, 3 do check.close(root(), -0.25, 1e-5) end
    cfg.shift = 2
    for _ = 1, 3 do check.close(root(), -0.5, 1e-5) end
    cfg.inner.f = np.ones_like
    check.close(root(), -0.5, 1e-5)
    g = function(x) return x * 4 end
    for _ = 1, 3 do check.close(root(), -0.25, 1e-5) end
    cfg = setmetatable({ inner = { f = np.exp } }, { __index = { shift = 4 } })
    for _ = 1, 3 do check.close(root(), -0.5, 1e-5) end
    cfg = { shift = 0, inner = { f = np.exp } }
    slope = -0.0
    check.equal(pcall(root), true)
end)

check.test("a key that is kept is that of the values of the call", function()
    local c, sign, name, own = 1, 0, "x", np.abs
    local function f(x)
        local shift = 1 / sign > 0 and 0 or 10
        return own(x) - c - shift - (name == "x" and 0 or 100)
    end
    local function root() return np.optimize.root_scalar(f, { bracket = { 0, 500 } }).root:item() end
    for _ = 1, 3 do check.close(root(), 1, 1e-5) end
    c = 2
    for _ = 1, 3 do check.close(root(), 2, 1e-5) end
    sign = -sign
    for _ = 1, 3 do check.close(root(), 12, 1e-5) end
    sign = 0
    check.close(root(), 2, 1e-5)
    name = "y"
    for _ = 1, 3 do check.close(root(), 102, 1e-4) end
    own = function(x) return x / 2 end
    for _ = 1, 3 do check.close(root(), 204, 1e-4) end
    own, name = np.sqrt, "x"
    for _ = 1, 3 do check.close(root(), 4, 1e-4) end
    c = 0 / 0
    check.raises(root, "different signs")
    check.raises(root, "different signs")
end)

check.test("a function of numbers in another environment", function()
    local f = setfenv(loadstring "return function(x) return x - c end"(), { c = 1 })
    local function root() return np.optimize.root_scalar(f, { bracket = { -9, 9 } }).root:item() end
    setfenv(f, { c = 1 })
    for _ = 1, 3 do check.close(root(), 1, 1e-6) end
    setfenv(f, { c = 2 })
    for _ = 1, 3 do check.close(root(), 2, 1e-6) end
    setfenv(f, setmetatable({}, { __index = { c = 3 } }))
    for _ = 1, 3 do check.close(root(), 3, 1e-6) end
end)

check.test("options, dtypes and lines of calls with a function of numbers", function()
    local function root(dtype, o)
        local ends = { np.array(2, { dtype = dtype }), np.array(3, { dtype = dtype }) }
        local given = { bracket = ends }
        for key, value in pairs(o) do given[key] = value end
        return np.optimize.root_scalar(function(x) return x ^ 3 - 2 * x - 5 end, given)
    end
    for _ = 1, 4 do
        check.equal({ root("f32", {}).root.dtype, root("f64", {}).root.dtype, root("f16", {}).root.dtype },
                    { "f32", "f64", "f16" })
        check.equal(root("f64", { maxiter = 2 }).status, 2)
        check.equal(root("f64", {}).status, 0)
        check.equal(root("f64", { method = "bisect" }).iterations > root("f64", {}).iterations, true)
    end
    local texts = {}
    for k = 1, 4 do
        local ok, text = pcall(np.optimize.root_scalar, function(x) return x * x + 1 end, { bracket = { 0, 1 } })
        check.equal(ok, false)
        texts[k] = text
    end
    check.equal(texts, { texts[1], texts[1], texts[1], texts[1] })
end)

check.test("a rule for batches is asked at each call", function()
    local scale = 1
    local f = np.custom_vmap(function(x) return x * 1 end):def_vmap(function(_, _, x) return x * scale, true end)
    local function integral() return (np.integrate.quad(function(x) return f(x) end, 0, 2)):item() end
    for _ = 1, 3 do check.close(integral(), 2, 1e-6) end
    scale = 3
    check.close(integral(), 6, 1e-6)
end)

check.test("what f calls back is called at each call", function()
    local calls = 0
    local function f(x)
        np.callback(function() calls = calls + 1 end)(x)
        return x * x - 4
    end
    local function solve() return np.optimize.root(f, np.ones(1)).x:item() end
    check.close(solve(), 2, 1e-6)
    np.effects_barrier()
    local first = calls
    check.ok(first > 0, "called")
    check.close(solve(), 2, 1e-6)
    np.effects_barrier()
    check.equal(calls, 2 * first)
    check.close(solve(), 2, 1e-6)
    np.effects_barrier()
    check.equal(calls, 3 * first)
end)

check.test("np.debug.nans names the line of the function of this call", function()
    local logs = {
        function(x) return np.log(x) end,
        function(x) return np.log(x) end,
    }
    np.debug.nans(true)
    for k = 1, 8 do
        local f = logs[k % 2 + 1]
        local ok, text = pcall(np.optimize.root, function(x) return f(x) end, f64(-1))
        check.equal(ok, false)
        local line = (":%d: log: gives NaN"):format(debug.getinfo(f, "S").linedefined)
        check.ok(text:find(line, 1, true), text)
    end
    np.debug.nans(false)
end)

check.test("more functions than are kept", function()
    local zero = f64(0)[0]
    local function integral(k) return (np.integrate.quad(function(x) return x * k end, zero, 1)) end
    for k = 1, 140 do
        local slope = math.ceil(k / 2)
        check.close(integral(slope):item(), slope / 2, 1e-12)
    end
    check.equal(recorded(integral, 70), 0, "its code and its number tell all")
    check.ok(recorded(integral, 1) > 1, "the first is forgotten")
end)

check.done()
