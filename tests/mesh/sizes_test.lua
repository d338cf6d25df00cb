-- sizes_test.lua (under tsan with --long): np.shard_map and arrays on a mesh in programs with declared sizes
-- (tests/lib/sized_rows.lua): an extent that a mesh axis divides is a condition.
require "tests.lib.devices" (2, "tests/mesh/sizes_test.lua")
local check = require "tests.lib.check"
local rows = require "tests.lib.sized_rows"
local np = require "neap"

local P = np.P
local mesh = np.mesh({ 2 }, { "i" })
local function map(f, in_specs, out_specs)
    return np.shard_map(f, { mesh = mesh, in_specs = in_specs, out_specs = out_specs })
end

rows {
    { "a map of blocks", map(np.sin, P "i", P "i"), "2*n, 3" },
    { "a map of the second axis", map(np.sin, P(nil, "i"), P(nil, "i")), "n, 2*n" },
    { "sizes of blocks", map(function(x) return x * x.shape[1] end, P "i", P "i"), "2*n" },
    { "psum", map(function(x) return np.psum(np.sum(x, { axis = 0 }), "i") end, P "i", P()), "2*n, 3" },
    { "pmean beside all", map(function(x, w)
        return np.matmul(x, w) - np.pmean(x, "i"):sum()
    end, { P "i", P() }, P "i"), "2*n, 3", "3, m" },
    { "all_gather", map(function(x) return np.all_gather(x, "i", { tiled = true }):sum { axis = 0 } end, P "i",
                        P "i"), "2*n, 4" },
    { "psum_scatter", map(function(x) return np.psum_scatter(x, "i", { tiled = true }) end, P "i", P "i"), "4*n, 3" },
    { "all_to_all", map(function(x) return np.all_to_all(x, "i", 1, 0, { tiled = true }) end, P "i", P(nil, "i")),
      "2*n, 2*n" },
    { "ppermute", map(function(x) return np.ppermute(x, "i", { { 0, 1 }, { 1, 0 } }) end, P "i", P "i"), "2*n" },
    { "axis_index", map(function(x) return x + np.axis_index("i") end, P "i", P "i"), "2*n" },
    { "a mean over the mesh", map(function(x) return np.pmean(np.mean(x), "i") end, P "i", P()), "2*n, n" },
    { "gradient of a map", np.grad(function(x) return np.sum(map(np.sin, P "i", P "i")(x)) end), "2*n, 3" },
    { "gradient in a body", map(function(w, x)
        return np.grad(function(v) return np.psum(np.sum(np.tanh(np.matmul(x, v))), "i") end)(w)
    end, { P(), P "i" }, P()), "3", "2*n, 3" },
    { "a loop in a body", map(function(x)
        return np.scan(function(c, v) return c + v, c * v end, np.zeros(3), x)
    end, P(nil), P(nil)), "n, 3" },
    { "a batch over a map", np.vmap(map(np.cos, P "i", P "i")), "n, 4" },
    { "an array laid out", function(x) return np.device_put(x, mesh, P "i") * 2 end, "2*n, 3" },
    { "an array laid out, and summed", function(x) return np.device_put(x, mesh, P "i"):sum { axis = 0 } end,
      "2*n, 3" },
    { "a product of arrays laid out", function(x, w) return np.matmul(np.device_put(x, mesh, P "i"), w) end,
      "2*n, 3", "3, m" },
}

check.test("an extent that the mesh divides is a condition", function()
    local double = map(function(x) return x * 2 end, P "i", P "i")
    local program = np.trace(double, { sizes = { { "n" } } })(np.arange(4))
    check.equal(program(np.arange(6)):totable(), { 0, 2, 4, 6, 8, 10 })
    check.raises(function() program(np.arange(5)) end, "n %% 2 == 0")
end)

check.test("arrays on a mesh in files", function()
    local w, path = np.device_put(np.arange(3) / 1, mesh, P()):wait(), os.tmpname()
    local function f(x, y)
        local z = np.device_put(y, mesh, P "i") * 2 + w
        return z, x:sum { axis = 0 } * z:sum(), np.device_put(x, mesh, P()) * x.shape[1]
    end
    local function arguments(n)
        local x = (np.arange(6 * n) / 4):reshape(2 * n, 3)
        return np.device_put(x, mesh, P "i"), x + 1
    end
    local program = np.trace(f, { sizes = { { "2*n", 3 }, { "2*n", 3 } } })(arguments(2))
    program:save(path)
    local back = np.load_program(path)
    for n = 1, 5 do
        local got, want = { back(arguments(n)) }, { f(arguments(n)) }
        for k = 1, 3 do
            check.equal(got[k]:totable(), want[k]:totable())
            check.equal(tostring(got[k].sharding), tostring(want[k].sharding))
        end
    end
    os.remove(path)
end)

check.test("a program inside, with a body", function()
    local inner = np.trace(map(function(v) return v / v.shape[1] + np.psum(v:sum(), "i") end, P "i", P "i"),
                           { sizes = { { "2*n" } } })(np.ones(2))
    local program = np.trace(function(x) return inner(np.concatenate { x, x }) * x.shape[1] end,
                             { sizes = { { "k" } } })(np.ones(3))
    for k = 1, 4 do
        local x = np.arange(k) / 1
        check.equal(program(x):totable(), (inner(np.concatenate { x, x }) * k):totable())
    end
end)

check.test("a program inside, of arrays on a mesh", function()
    local inner = np.trace(function(x) return x * x.shape[1] end, { sizes = { { "n", 3 } } })(np.ones { 2, 3 })
    local function laid(x) return np.device_put(x, mesh, P "i") end
    local program = np.trace(function(x) return inner(laid(x)) end, { sizes = { { "2*k", 3 } } })(np.ones { 4, 3 })
    for k = 1, 3 do
        local got = program(np.ones { 2 * k, 3 })
        check.equal(got:totable(), (np.ones { 2 * k, 3 } * (2 * k)):totable())
        check.equal(tostring(got.sharding), tostring(laid(np.ones { 2 * k, 3 }).sharding))
    end
end)
check.done()
