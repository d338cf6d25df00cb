--- sizes_files_test.lua: programs with declared sizes and bodies of np.shard_map in files: what is loaded gives what
-- the program that was saved gives, bit for bit, for every size, and what the function gives; or both refuse. Functions
-- are drawn at random (tests/lib/sized_bodies.lua). Runs itself again with four devices.
--
--     NEAP_TEST_COUNT   how many random programs (25)
require "tests.lib.devices" (4, "tests/mesh/sizes_files_test.lua")
local bodies = require "tests.lib.sized_bodies"
local check = require "tests.lib.check"
local files = require "tests.lib.sized_files"
local np = require "neap"
local process = require "tests.lib.process"
local seeds = require "tests.lib.seeds"

local P = np.P
local line, square = np.mesh({ 4 }, { "i" }), np.mesh({ 2, 2 }, { "a", "b" })
local count = tonumber(os.getenv("NEAP_TEST_COUNT") or 25)

local function over(f, ins, out, mesh, more)
    local o = { mesh = mesh or line, in_specs = ins, out_specs = out }
    for key, value in pairs(more or {}) do o[key] = value end
    return np.shard_map(f, o)
end

--- What a call gives, and what its callbacks get.
local function outcome(f, arguments)
    local result = files.outcome(f, unpack(arguments))
    return result, result:find "^failed: " and "" or bodies.take_seen()
end

local function compare(f, program, back)
    local followed = 0
    for _, n in ipairs { { 3, 2 }, { 1, 1 }, { 2, 5 }, { 5, 3 } } do
        local arguments = bodies.arguments(unpack(n))
        local wanted, noted = outcome(program, arguments)
        local got, seen = outcome(back, arguments)
        check.equal(got, wanted)
        check.equal(seen, noted)
        if not wanted:find "^failed: " then
            local direct, given = outcome(f, arguments)
            check.equal(got, direct)
            check.equal(seen, given)
            followed = followed + 1
        end
    end
    return followed
end

check.test("random bodies", function()
    local saved, followed = 0, 0
    for seed in seeds.each(count) do
        local f, what = bodies.draw(seed)
        local traced, program = pcall(np.trace(f, { sizes = bodies.SIZES }), unpack(bodies.arguments(3, 2)))
        if traced then
            saved = saved + 1
            local given = { callbacks = bodies.functions }
            local ok, n = pcall(compare, f, program, files.through_file(files.through_file(program, given), given))
            check.ok(ok, ("seed %d, %s: %s"):format(seed, what, tostring(n)))
            followed = followed + n
        end
    end
    check.ok(saved > count / 2 and followed > 2 * saved, ("%d saved, %d calls followed"):format(saved, followed))
end)

check.test("prints and callbacks with coordinates, in another process", function()
    local path = os.tmpname()
    local function note(at, v) print(("i=%d: %g of %d"):format(at.i, v:sum():item(), v.shape[1])) end
    local program = np.trace(over(function(v)
        print("block", v)
        np.callback(note, { name = "note", coordinates = true })(v)
        return np.psum(v:sum(), "i") / v.shape[1]
    end, P "i", P()), { sizes = { { "4*n" } } })(np.ones(4))
    program:save(path)
    local _, out = process.run_neap { "--devices", "4", "-e", ([[
        local np = require "neap"
        local function note(at, v) print(("i=%%d: %%g of %%d"):format(at.i, v:sum():item(), v.shape[1])) end
        print(np.load_program(%q, { callbacks = { note = note } })(np.arange(8) / 2))
    ]]):format(path) }
    os.remove(path)
    for k, line_of in ipairs { "[0.  0.5]", "[1.  1.5]", "[2.  2.5]", "[3.  3.5]" } do
        check.ok(out:find(("[i=%d] block\t%s"):format(k - 1, line_of), 1, true), out)
        check.ok(out:find(("i=%d: %g of 2"):format(k - 1, 2 * k - 1.5), 1, true), out)
    end
    check.ok(out:find("7.0", 1, true), out)
end)

check.test("what a body has from before its sizes were declared", function()
    local f = over(function(v) return v * np.axis_index "i" + np.psum(v, "i") end, P "i", P "i")
    local held = np.device_put(np.arange(4) / 1, line, P())
    f(np.ones(4)) -- it makes the coordinates along the axis, which later calls find
    local program = np.trace(function(x) return f(x) + held:sum() end, { sizes = { { "4*n" } } })(np.ones(4))
    local back = files.loaded(program)
    files.same(program, back, { { np.arange(8) / 1 }, { np.arange(12) / 1 }, { np.arange(6) / 1 } })
    check.equal(back(np.arange(8) / 1):totable(), (f(np.arange(8) / 1) + 6):totable())
end)

check.test("a sized program with a body inside of another one", function()
    local inner = np.trace(over(function(v) return np.psum(v:sum(), "i") + v / v.shape[1] end, P "i", P "i"),
                           { sizes = { { "4*n" } } })(np.ones(4))
    local around = np.trace(function(x) return inner(np.concatenate { x, x }) * x.shape[1] end,
                            { sizes = { { "2*k" } } })(np.ones(4))
    local back = files.loaded(around)
    for k = 1, 4 do
        local x = np.arange(2 * k) / 1
        files.same(around, back, { { x } })
        files.same(around, function(y) return inner(np.concatenate { y, y }) * y.shape[1] end, { { x } })
    end
    local of_loaded = np.trace(function(x) return files.loaded(inner)(np.concatenate { x, x }) * x.shape[1] end,
                               { sizes = { { "2*k" } } })(np.ones(4))
    files.same(files.loaded(of_loaded), around, { { np.arange(6) / 1 }, { np.arange(8) / 1 } })
end)

check.test("a mesh of the same axes and sizes takes its place, no other", function()
    local path, devices = os.tmpname(), np.devices()
    local f = over(function(v) return np.psum(v, "i") + v.shape[1] end, P "i", P "i")
    np.trace(f, { sizes = { { "4*n" } } })(np.ones(4)):save(path)
    local turned = np.mesh({ 4 }, { "i" }, { devices = { devices[4], devices[3], devices[2], devices[1] } })
    local got = np.load_program(path, { mesh = turned })(np.arange(8) / 1)
    check.equal(got:totable(), f(np.arange(8) / 1):totable())
    check.equal(got.sharding.mesh, turned)
    local two = np.mesh({ 2 }, { "i" }, { devices = { devices[1], devices[2] } })
    check.raises(function() np.load_program(path, { mesh = two }) end,
                 "holds the body of a np.shard_map over {i=4}, got a mesh")
    check.raises(function() np.load_program(path, { mesh = square }) end, "needs a mesh with the axes {i=4}")
    -- Also where a body has no arrays but those from around it.
    local a = np.ones(2)
    np.trace(function(x) return over(function() return a end, P(), P "i")() + x end,
             { sizes = { { "n", 8 } } })(np.ones { 1, 8 }):save(path)
    check.equal(np.load_program(path)(np.ones { 2, 8 }):totable(), (np.ones { 2, 8 } * 2):totable())
    check.raises(function() np.load_program(path, { mesh = two }) end, "body of a np.shard_map over {i=4}, got a mesh")
    os.remove(path)
end)

check.test("a program of one body alone is refused", function()
    local path = os.tmpname()
    over(function(v)
        local program = np.trace(function(a) return np.psum(a, "i") end, { sizes = { { "n" } } })(v)
        check.raises(function() program:save(path) end, "save: input 1 is a block in the body of a np.shard_map")
        return v
    end, P "i", P "i")(np.ones(8))
    over(function(v)
        local inside = over(function(u) return u:sum() + v:sum() * 0 end, P "b", P(), square, { check_rep = false })
        local program = np.trace(inside, { sizes = { { "2*n" } } })(np.ones(4))
        check.raises(function() program:save(path) end, "recorded in the body of a np.shard_map")
        return v
    end, P "a", P "a", square, { axis_names = { "a" } })(np.ones(8))
    os.remove(path)
end)

process.cleanup()
check.done()
