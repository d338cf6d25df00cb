--- nans_test.lua: np.debug.nans: which op is blamed, with its line and operands, eager and in jitted functions, loops,
-- branches, derivatives, batches, programs in files and on meshes; what is not blamed; that results are the same.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(2, "tests/stdlib/nans_test.lua")

local x = np.array { 4, -1, 9 }
np.debug.nans(true)

--- f() raises an error with this text, plain.
local function blames(f, text, what)
    local ok, problem = pcall(f)
    check.equal(ok, false, what)
    check.equal(problem:find(text, 1, true) ~= nil, true, ("%s: %s, and not %s"):format(what or "", problem, text))
end

local function line() return debug.getinfo(2, "l").currentline end

check.test("an op is blamed, with its line, what it is of, and where, however late somebody asks", function()
    local at = line() + 1
    local y = np.log(x) * 2
    local z = y:sum()
    local text = ("nans_test.lua:%d: log: gives NaN for -1, in element 1 of its result"):format(at)
    blames(function() return z:item() end, text)
    blames(function() return y:totable() end, ("nans_test.lua:%d: log"):format(at))
    blames(function() return tostring(y) end, "log: gives NaN for -1")
    check.equal((x * 2):totable(), { 8, -2, 18 }, "nothing else has failed")
end)

check.test("in a loop of the script every op has its line", function()
    for k = 1, 200 do
        local at = line() + 1
        local y = np.sqrt(x + (k < 200 and 1 or -5)) -- the first 199 times there is nothing wrong
        if k == 200 then blames(function() y:totable() end, ("nans_test.lua:%d: sqrt: gives NaN for -1"):format(at)) end
    end
end)

check.test("operands of two, numbers, and infinities; reductions and calls", function()
    local inf = np.array { 1, math.huge }
    blames(function() return (inf - inf):totable() end, "subtract: gives NaN for inf, in element 1")
    blames(function() return (inf - inf * 1):totable() end, "subtract: gives NaN for inf and inf, in element 1")
    blames(function() return (x ^ 0.5):totable() end, "gives NaN for -1")
    blames(function() return (np.zeros(2) / 0):totable() end, "divide: gives NaN for 0 and 0, in element 0")
    blames(function() return np.array { math.huge, -math.huge, 1 }:sum():item() end,
           "sum: gives NaN for numbers from -inf to inf, in element 0")
    local row, column = np.array { { math.huge, 1 } }, np.array { { 0 }, { 1 } }
    blames(function() return np.matmul(row, column):item() end, "matmul2: gives NaN for numbers from 1 to inf")
    local z = np.array { 1 + 2i, 0 }:astype "c64"
    blames(function() return tostring(z * np.array(1 / 0)) end, "multiply: gives NaN for 0+0j and inf+0j, in element 1")
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
        blames(function() return np.sqrt(x:astype(dtype)):totable() end, "sqrt: gives NaN for -1, in element 1", dtype)
    end
    local t = np.arange(6, { dtype = "f32" }):reshape(2, 3).T - 1
    blames(function() return np.log(t):totable() end, "log: gives NaN for -1, in element 0")
    blames(function() return np.log(t[{ { 0, 1 } }] + np.zeros { 4, 1, 2 }):totable() end, "log: gives NaN for -1")
end)

check.test("a NaN that came in as data is nobody's fault", function()
    local data = np.array { 1, np.nan, -1 }
    check.equal((data * 2):totable(), { 2, np.nan, -2 })
    check.equal(np.nanmean(data):item(), 0)
    check.equal(np.where(np.isnan(data), 0, data):totable(), { 1, 0, -1 })
    check.equal(np.full(2, np.nan):totable(), { np.nan, np.nan })
    check.equal(np.sqrt(np.arange(3) - 0):sum():item() > 2, true)
end)

check.test("inside of jitted functions, each op for itself; the function goes on to serve", function()
    local at = line() + 2
    local f = np.jit(function(v)
        local y = np.log(v + 1) - 2
        return y * y, v * 3
    end)
    for _ = 1, 2 do
        local bad, fine = f(x - 2)
        blames(function() return bad:sum():item() end, ("nans_test.lua:%d: log: gives NaN for -2"):format(at))
        check.equal(fine ~= nil, true)
        check.equal(f(np.zeros(3)):totable(), { 4, 4, 4 })
    end
end)

check.test("in loops, branches and calls", function()
    local at = line() + 2
    local function turn(c)
        c = np.sqrt(c) - 1
        return c, c
    end
    for _, wrap in ipairs { function(f) return f end, np.jit } do
        local loop = wrap(function(c) return (np.scan(turn, c, nil, { length = 5 })) end)
        blames(function() return loop(np.array(3)):item() end, ("nans_test.lua:%d: sqrt: gives NaN for -"):format(at))
        local fori = wrap(function(c) return np.fori_loop(0, 100, function(_, s) return (turn(s)) end, c) end)
        blames(function() return fori(np.array { 3, 3 }):sum():item() end, "sqrt: gives NaN for -")
        local branch = wrap(function(p, c) return np.cond(p, np.sqrt, np.negative, c) end)
        blames(function() return branch(np.array(true), np.array(-4)):item() end, "sqrt: gives NaN for -4")
        check.equal(branch(np.array(false), np.array(-4)):item(), 4)
        local again = wrap(np.checkpoint(function(c) return np.log(c) end))
        blames(function() return again(np.array(-4)):item() end, "log: gives NaN for -4")
    end
end)

check.test("in derivatives: the op of the rule, in both modes, and of second order", function()
    local function norm(v) return np.sqrt((v * v):sum()) end
    blames(function() return np.grad(norm)(np.zeros(2)):totable() end, "multiply: gives NaN for inf and 0")
    blames(function() return np.jit(np.grad(norm))(np.zeros(2)):totable() end, "multiply: gives NaN for inf and 0")
    blames(function() return select(2, np.jvp(norm, { np.zeros(2) }, { np.ones(2) })):item() end, "gives NaN for")
    check.equal(np.grad(norm)(np.array { 3, 4 }):totable(), np.array({ 0.6, 0.8 }):totable())
    local function root(v) return v ^ 0.5 * v ^ 0.5 end
    blames(function() return np.grad(np.grad(root))(np.array(0)):item() end, "gives NaN")
end)

check.test("in batches, programs in files, and custom rules", function()
    blames(function() return np.vmap(np.log)(x):totable() end, "log: gives NaN for -1, in element 1")
    blames(function() return np.vmap(np.grad(np.sqrt))(x):totable() end, "gives NaN for -1")
    local path = os.tmpname()
    np.trace(function(v) return np.log(v) + 1 end)(x):save(path)
    local program = np.load_program(path)
    blames(function() return program(x):totable() end, "log: gives NaN for -1, in element 1")
    check.equal(program(np.ones(3)):totable(), { 1, 1, 1 })
end)

check.test("on meshes: divided arrays, and bodies of np.shard_map", function()
    local mesh = np.mesh({ 2 }, { "i" })
    local P = np.P
    local v = np.device_put(np.array { 1, 2, 3, -4 }, np.NamedSharding(mesh, P "i"))
    blames(function() return np.log(v):sum():item() end, "log: gives NaN for -4")
    local body = np.shard_map(function(block) return np.psum(np.log(block):sum(), "i") end,
                              { mesh = mesh, in_specs = { P "i" }, out_specs = P() })
    blames(function() return body(v):item() end, "log: gives NaN for -4")
    check.close(body(np.ones(4)):item(), 0)
end)

check.test("an effect shows the failure in its place, and later ones go on", function()
    local process = require "tests.lib.process"
    local out = process.output([[local np = require "neap"
np.debug.nans(true)
local y = np.sqrt(np.array(-1))
print("before")
print(y)
print("after")]], 1)
    check.equal(out:find("^before\n[^\n]*sqrt: gives NaN for %-1[^\n]*\nafter\n") ~= nil, true, out)
end)

check.test("results have the same bits, on and off; off, nothing is looked at", function()
    local a, b = np.random.normal(np.random.key(0), { 40, 30 }), np.random.uniform(np.random.key(1), { 30, 20 })
    local function f(p, q)
        local h = np.tanh(p:matmul(q))
        local s = np.scan(function(c, row) return c * 0.5 + row, c:sum() end, np.zeros(20), h)
        return np.nn.softmax(h - h:mean { axis = 0 }), s, np.sort(h:ravel()), np.linalg.norm(p)
    end
    local function results()
        local list = {}
        for k, g in ipairs { f, np.jit(f), np.grad(function(p, q) return f(p, q):at { 0 }:get():sum() end) } do
            for j, y in ipairs { g(a, b) } do list[#list + 1] = { k, j, y:totable() } end
        end
        return list
    end
    local on = results()
    np.debug.nans(false)
    check.equal(results(), on)
    check.equal(np.log(x)[1]:item(), np.nan)
    check.raises(function() np.debug.nans(1) end, "argument 1 %(on%) must be a boolean")
end)

check.done()
