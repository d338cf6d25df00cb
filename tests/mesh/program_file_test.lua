--- program_file_test.lua (under tsan with --long): files of programs that have something on a mesh: bodies of
-- np.shard_map with collectives, derivatives and control flow in them, and captured arrays that are divided. Runs
-- itself again with four devices.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(4, "tests/mesh/program_file_test.lua")

local P = np.P
local mesh = np.mesh({ 4 }, { "i" })
local square = np.mesh({ 2, 2 }, { "a", "b" })
local x = np.arange(16, { dtype = "f32" }):reshape(8, 2)

local function over(f, ins, out, on, more)
    local o = { mesh = on or mesh, in_specs = ins, out_specs = out }
    for key, value in pairs(more or {}) do o[key] = value end
    return np.shard_map(f, o)
end

local function same(a, b) check.equal(a:totable(), b:totable()) end

--- The program from a file, and the bytes of that.
local function through_file(program, options)
    local path = os.tmpname()
    program:save(path)
    local loaded = np.load_program(path, options)
    local file = assert(io.open(path, "rb"))
    local bytes = file:read "*a"
    file:close()
    os.remove(path)
    return loaded, bytes
end

--- A traced function gives after loading what it gave before.
local function gives_same(f, ...)
    local loaded = through_file(np.trace(f)(...))
    local wanted, got = { f(...) }, { loaded(...) }
    check.equal(#got, #wanted)
    for k = 1, #wanted do
        same(got[k], wanted[k])
        check.equal(got[k].sharding, wanted[k].sharding)
    end
    np.debug.verify(loaded)
    return loaded
end

--- The same; saved again, it is the same file, and the text stays.
local function survives(f, ...)
    local program = np.trace(f)(...)
    local loaded, bytes = through_file(program)
    local _, bytes_again = through_file(loaded)
    check.equal(#bytes_again, #bytes)
    check.ok(bytes_again == bytes, "saved again, the file has other bytes")
    check.equal(tostring(loaded), tostring(program))
    return gives_same(f, ...)
end

local BODIES = {
    psum = function(v) return np.psum(v * 2, "i") + v * np.axis_index "i" end,
    pmean = function(v) return np.pmean(v, "i") + v end,
    pmax_pmin = function(v) return np.pmax(v, "i") - np.pmin(v, "i") + v end,
    all_gather = function(v) return np.all_gather(v, "i"):sum { axis = 0 } * v end,
    all_gather_tiled = function(v) return np.all_gather(v, "i", { tiled = true }):sum { axis = 0 } + v end,
    psum_scatter = function(v) return np.psum_scatter(np.all_gather(v, "i"), "i") end,
    ppermute = function(v) return np.ppermute(v, "i", { { 0, 1 }, { 1, 2 }, { 2, 0 } }) end,
    all_to_all = function(v) return np.all_to_all(np.all_gather(v, "i"), "i", 0, 0):sum { axis = 0 } + v end,
    pvary = function(v) return np.pvary(np.psum(v, "i"), "i") * v end,
    of_constants = function(v) return v + np.psum(np.axis_index "i" * 2, "i") end,
    scan = function(v)
        local carry, all = np.scan(function(c, row) return c + np.psum(row, "i"), c * row end, np.zeros(2), v)
        return all + carry
    end,
    cond = function(v)
        return np.cond(np.psum(v:sum(), "i"):gt(3), function(a) return np.psum(a, "i") + a end,
                       function(a) return a * 2 end, v)
    end,
    while_loop = function(v)
        return np.while_loop(function(a) return np.pmax(a:max(), "i"):lt(100) end, function(a) return a * 2 + 1 end, v)
    end,
}

for name, body in pairs(BODIES) do
    check.test("the body of a shard_map is saved and loaded: " .. name, function()
        survives(over(body, { P "i" }, P "i"), x)
        survives(over(body, { P "i" }, P "i"), np.device_put(x, mesh, P "i"))
    end)
end

check.test("random numbers in a body are drawn alike after loading", function()
    local f = over(function(v) return v + np.random.normal(np.random.key(3), { 2, 2 }) end, { P "i" }, P "i")
    gives_same(f, x)
    gives_same(np.grad(function(v) return (f(v) ^ 2):sum() end), x)
end)

check.test("derivatives and batches of bodies are saved and loaded", function()
    local function loss(v, w)
        return over(function(b, u) return np.psum((b * u):sum(), "i") + np.pmean(b:max(), "i") end, { P "i", P() },
                    P())(v, w)
    end
    local w = np.array { 2, 3 }:astype "f32"
    survives(np.grad(loss, { argnums = { 1, 2 } }), x, w)
    survives(np.grad(function(v) return (np.grad(loss)(v, w) ^ 2):sum() end), x)
    survives(np.vmap(over(BODIES.psum, { P "i" }, P "i")), np.stack({ x, x * 2 }))
    survives(function(v, t) return np.jvp(function(a) return loss(a, w) end, { v }, { t }) end, x, x + 1)
    survives(np.grad(function(v)
        return over(function(b) return np.psum((b * w):sum(), "i") end, { P "i" }, P(), nil, { check_rep = false })(v)
    end), x)
end)

check.test("bodies in bodies, and arrays that are divided over what is not manual", function()
    local both = np.device_put(x, square, P("a", "b"))
    local function inner(v) return np.psum(v, "b") + v end
    survives(over(function(v)
        return over(inner, { P(nil, "b") }, P(nil, "b"), square)(np.psum(v, "a") + v)
    end, { P "a" }, P "a", square, { axis_names = { "a" } }), both)
    survives(over(function(v) return np.psum(v * 2, "a") + v:sum { axis = 1, keepdims = true } end, { P "a" }, P "a",
                  square, { axis_names = { "a" } }), both)
    survives(over(function(v) return np.psum(v, { "a", "b" }) + np.all_gather(v, { "b", "a" }):sum { axis = 0 } end,
                  { P { "a", "b" } }, P(), square, { check_rep = false }), x)
end)

check.test("callbacks and prints of blocks are saved and loaded", function()
    local seen = {}
    local function note(at, v) seen[#seen + 1] = ("%d:%g"):format(at.i, v:sum():item()) end
    local f = over(function(v)
        np.callback(note, { name = "note", coordinates = true })(v)
        return v + 1
    end, { P "i" }, P "i")
    local loaded = through_file(np.trace(f)(x), { callbacks = { note = note } })
    same(loaded(x), x + 1)
    np.effects_barrier()
    check.equal(seen, { "0:6", "1:22", "2:38", "3:54" })
    local printing = through_file(np.trace(over(function(v)
        print("block", v)
        return v
    end, { P "i" }, P "i"))(x))
    check.ok(tostring(printing):find('print[ordered] #0 "block', 1, true), tostring(printing))
    same(printing(x), x)
end)

check.test("exports of deferred bodies are saved and loaded", function()
    local a = x * 1
    local y = np.deferred(function() return over(BODIES.psum, { P "i" }, P "i")(a) end)
    local program = np.export { inputs = { a = a }, outputs = { y = y } }
    same(through_file(program)(x), y)
end)

check.test("a loaded body takes arguments that lie otherwise", function()
    local f = over(function(v) return np.psum(v, "i") + v * np.axis_index "i" end, { P "i" }, P "i")
    local laid = { x, np.device_put(x, mesh, P "i"), np.device_put(x, mesh, P()) }
    for _, recorded in ipairs(laid) do
        local loaded = through_file(np.trace(f)(recorded))
        for _, given in ipairs(laid) do same(loaded(given), f(given)) end
    end
end)

check.test("a body is loaded onto the mesh that is given, if that has the same axes and sizes", function()
    local f = over(BODIES.psum, { P "i" }, P "i")
    local path, devices = os.tmpname(), np.devices()
    np.trace(f)(x):save(path)
    local turned = np.mesh({ 4 }, { "i" }, { devices = { devices[4], devices[3], devices[2], devices[1] } })
    local got = np.load_program(path, { mesh = turned })(x)
    same(got, f(x))
    check.equal(got.sharding.mesh, turned)
    check.raises(function() np.load_program(path, { mesh = np.mesh({ 2 }, { "i" }, { devices = { devices[1],
                 devices[2] } }) }) end, "holds the body of a np.shard_map over {i=4}, got a mesh")
    check.raises(function() np.load_program(path, { mesh = square }) end, "needs a mesh with the axes {i=4}")
    os.remove(path)
end)

check.test("captured arrays that lie on a mesh are saved whole, and laid out when they are loaded", function()
    local held = { np.device_put(x, mesh, P "i"), np.device_put(x, mesh, P()), np.device_put(x, square, P("b", "a")),
                   np.device_put(x, square, P { "b", "a" }), np.device_put(x:astype "i32", mesh, P "i") * 2 }
    for _, h in ipairs(held) do
        local loaded = survives(function(v) return v + h, h end, x)
        local _, kept = loaded(x)
        check.equal(kept.sharding, h.sharding)
        survives(function(v) return v * h end, np.device_put(x, h.sharding.mesh, P()))
    end
    survives(function(v)
        return over(function(a, b) return a + np.psum(b, "i") end, { P "i", P "i" }, P "i")(v, held[1])
    end, x)
    survives(function(v) return over(function(a) return a + held[2][0] end, { P "i" }, P "i")(v) end, x)
end)

check.test("what belongs to one body alone is refused by name", function()
    check.raises(function()
        over(function(v)
            np.trace(function(a) return np.psum(a, "i") end)(v):save(os.tmpname())
            return v
        end, { P "i" }, P "i")(x)
    end, "save: input 1 is a block in the body of a np.shard_map")
    check.raises(function()
        over(function(v)
            local u = v + 1
            np.trace(function(a) return a + u:sum() end)(np.ones(2)):save(os.tmpname())
            return v
        end, { P "i" }, P "i")(x)
    end, "save: output 1 is a block in the body of a np.shard_map")
end)

check.done()
