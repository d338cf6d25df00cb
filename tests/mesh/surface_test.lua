--- surface_test.lua (under tsan with --long): meshes, specs, arrays laid out on meshes, what they say of themselves,
-- pictures, np.breakpoint.
require "tests.lib.devices" (8, "tests/mesh/surface_test.lua")
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local np = require "neap"

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local x = np.arange(128, { dtype = "f32" }):reshape(8, 16)

local function names(devices)
    local list = {}
    for k, device in ipairs(devices) do list[k] = tostring(device) end
    return table.concat(list, " ")
end

-- ---- Meshes ---------------------------------------------------------------------------------------------------------

check.test("a mesh tells its shape, names and devices", function()
    check.equal({ mesh.shape.i, mesh.shape.j, mesh.size, mesh.axis_names }, { 4, 2, 8, { "i", "j" } })
    check.equal(names(mesh.devices), "cpu:0 cpu:1 cpu:2 cpu:3 cpu:4 cpu:5 cpu:6 cpu:7")
    check.ok(mesh == np.mesh({ 4, 2 }, { "i", "j" }))
    check.ok(mesh ~= np.mesh({ 2, 4 }, { "i", "j" }))
    check.ok(mesh ~= np.mesh({ 4, 2 }, { "i", "k" }))
end)

check.test("chosen devices, in their order", function()
    local devices = np.devices()
    local some = np.mesh({ 2, 2 }, { "i", "j" }, { devices = { "cpu:5", devices[4], "cpu:0", "cpu:1" } })
    check.equal(names(some.devices), "cpu:5 cpu:3 cpu:0 cpu:1")
    check.ok(some ~= np.mesh({ 2, 2 }, { "i", "j" }, { devices = { "cpu:3", "cpu:5", "cpu:0", "cpu:1" } }))
    local y = np.device_put(np.arange(8), some, P { "j", "i" })
    local held = {}
    for k, shard in ipairs(y:addressable_shards()) do held[k] = { tostring(shard.device), shard.data:totable() } end
    check.equal(held, { { "cpu:5", { 0, 1 } }, { "cpu:3", { 4, 5 } }, { "cpu:0", { 2, 3 } }, { "cpu:1", { 6, 7 } } })
end)

check.test("a mesh as text", function()
    check.equal(tostring(mesh), [[
mesh {i=4, j=2} of 8 devices
     j=0    j=1
i=0  cpu:0  cpu:1
i=1  cpu:2  cpu:3
i=2  cpu:4  cpu:5
i=3  cpu:6  cpu:7]])
    check.equal(tostring(np.mesh({ 2 }, { "data" }, { devices = { "cpu:3", "cpu:1" } })), [[
mesh {data=2} of 2 devices
  data=0  data=1
  cpu:3   cpu:1]])
    local four = { devices = { "cpu:0", "cpu:1", "cpu:2", "cpu:3" } }
    check.equal(tostring(np.mesh({ 2, 1, 2 }, { "a", "b", "c" }, four)), [[
mesh {a=2, b=1, c=2} of 4 devices
a=0
     c=0    c=1
b=0  cpu:0  cpu:1
a=1
     c=0    c=1
b=0  cpu:2  cpu:3]])
end)

-- ---- Specs ----------------------------------------------------------------------------------------------------------

check.test("specs print as they are written, and compare", function()
    check.equal(tostring(P("i", nil)), 'P("i", nil)')
    check.equal(tostring(P({ "j", "i" }, false, "k")), 'P({"j", "i"}, nil, "k")')
    check.equal(tostring(P({ "i" }, {})), 'P("i", nil)')
    check.equal(tostring(P()), "P()")
    check.ok(P("i", nil) == P(false or "i", false) and P "i" == P("i", nil) and P() == P(nil, nil))
    check.ok(P "i" ~= P "j" and P(nil, "i") ~= P "i" and P { "i", "j" } ~= P { "j", "i" })
    local spec = P(nil, "i", { "j", "k" })
    check.equal({ spec.n, spec[1], spec[2], spec[3] }, { 3, false, "i", { "j", "k" } })
    local given = { "i", "j" }
    spec = P(given)
    given[1] = "k"
    check.equal(tostring(spec), 'P({"i", "j"})')
end)

-- ---- Arrays on a mesh -----------------------------------------------------------------------------------------------

check.test("an array on a mesh has its values, and tells how it lies", function()
    for _, spec in ipairs { P(), P "i", P("i", "j"), P("j", "i"), P(nil, "j"), P { "i", "j" }, P(nil, { "j", "i" }) } do
        local y = np.device_put(x, mesh, spec)
        check.ok(np.array_equal(y, x), tostring(spec))
        check.equal({ y.shape, y.dtype }, { { 8, 16 }, "f32" })
        check.ok(y.sharding.spec == spec and y.sharding.mesh == mesh, tostring(spec))
        check.equal(y.sharding.manual, nil)
        check.ok(y.sharding == np.NamedSharding(mesh, spec))
        check.equal({ y.sharding.is_fully_replicated, y.sharding.is_fully_addressable }, { spec == P(), true })
        check.equal(names(y.sharding:devices()), names(mesh.devices))
    end
    local y = np.device_put(x, mesh, P "i")
    check.equal(tostring(y.sharding), 'NamedSharding(mesh {i=4, j=2}, P("i", nil))')
    check.ok(y.sharding ~= np.device_put(x, mesh, P(nil, "i")).sharding)
    check.equal(x.sharding, nil)
    check.equal(np.device_put(3, mesh, P()):item(), 3)
end)

check.test("a block tells over what it varies", function()
    local seen = {}
    local function note(b) seen[#seen + 1] = tostring(b.sharding):match "P%(.*%)(.*)%)$" end
    np.shard_map(function(b)
        note(b)
        note(np.psum(b, "j"))
        note(np.psum(b, { "i", "j" }))
        check.equal({ b.sharding.varies, np.psum(b, "j").sharding.varies }, { { "i", "j" }, { "i" } })
        return b
    end, { mesh = mesh, in_specs = P("i", "j"), out_specs = P("i", "j") })(x):wait()
    check.equal(seen, { ", a block over i, j", ", a block over i, j, which varies over i",
                        ", a block over i, j, which is the same on all devices" })
    check.equal(np.device_put(x, mesh, P "i").sharding.varies, nil)
end)

check.test("each device holds its part", function()
    for _, spec in ipairs { P(), P "i", P("i", "j"), P("j", "i"), P { "i", "j" }, P(nil, { "j", "i" }) } do
        local shards = np.device_put(x, mesh, spec):addressable_shards()
        check.equal(#shards, 8)
        local seen = {}
        for k, shard in ipairs(shards) do
            check.equal(tostring(shard.device), "cpu:" .. k - 1)
            check.ok(np.array_equal(shard.data, x[shard.index]), tostring(spec))
            check.equal(shard.data.sharding, nil)
            local key = table.concat({ shard.index[1][1], shard.index[2][1] }, " ")
            check.equal(shard.replica, seen[key] or 0)
            seen[key] = (seen[key] or 0) + 1
        end
    end
    local y = np.device_put(x, mesh, P({ "j", "i" }))
    check.equal(y:addressable_shards()[2].index, { { 4, 5 }, { 0, 16 } })
    check.equal(y.sharding:shard_shape { 8, 16 }, { 1, 16 })
    check.equal(y.sharding:shard_shape(x), { 1, 16 })
    check.equal(y.sharding:devices_indices_map { 16, 2 }[2].index, { { 8, 10 }, { 0, 2 } })
end)

check.test("trees, with prefixes of specs", function()
    local tree = np.device_put({ w = x, layers = { { b = x[0] }, { b = x[1] } } }, mesh,
                               { w = P("i", "j"), layers = P "j" })
    check.ok(tree.w.sharding.spec == P("i", "j"))
    check.ok(tree.layers[2].b.sharding.spec == P "j" and np.array_equal(tree.layers[2].b, x[1]))
    local same = np.device_put({ x, { x } }, tree.w.sharding)
    check.ok(same[1].sharding == tree.w.sharding and same[2][1].sharding == tree.w.sharding)
    check.ok(np.with_sharding_constraint(tree, mesh, P())[1] == nil)
    check.ok(np.with_sharding_constraint(tree.w, mesh, P "j").sharding.spec == P "j")
end)

check.test("what lies as it should is not moved", function()
    local y = np.device_put(x, mesh, P("i", "j"))
    check.ok(np.device_put(y, mesh, P("i", "j")) == y)
    check.ok(np.device_put(y, y.sharding) == y)
    local known = np.array { 1, 2, 3 }
    np.wait_all()
    local before = np.debug.counters().launches
    local moved = np.device_put(known, mesh, P())
    np.force(moved)
    np.wait_all()
    check.equal(np.debug.counters().launches, before, "devices of one process share what all of them hold")
end)

check.test("an array on a mesh has no one device, and can be given to one", function()
    local y = np.device_put(x, mesh, P("i", "j"))
    check.equal(y.device, nil)
    local z = np.device_put({ y }, "cpu:3")[1]
    check.equal({ z.sharding, tostring(z.device) }, { nil, "cpu:3" })
    check.ok(np.array_equal(z, x))
end)

-- ---- Pictures -------------------------------------------------------------------------------------------------------

check.test("a picture as text", function()
    check.equal(np.debug.visualize_array_sharding(np.device_put(x, mesh, P("i", "j"))), [[
       0:8    8:16
    ┌───────┬───────┐
0:2 │ cpu:0 │ cpu:1 │
    ├───────┼───────┤
2:4 │ cpu:2 │ cpu:3 │
    ├───────┼───────┤
4:6 │ cpu:4 │ cpu:5 │
    ├───────┼───────┤
6:8 │ cpu:6 │ cpu:7 │
    └───────┴───────┘]])
    check.equal(np.debug.visualize_sharding({ 4 }, np.NamedSharding(mesh, P "j")), [[
      0:2           2:4
┌─────────────┬─────────────┐
│ cpu:0,2,4,6 │ cpu:1,3,5,7 │
└─────────────┴─────────────┘]])
    local deep = np.debug.visualize_sharding({ 2, 4, 3 }, np.NamedSharding(mesh, P("j", "i")))
    check.equal(deep:match "[^\n]+\n[^\n]+\n[^\n]+", [[
            0:3
         ┌───────┐
0:1, 0:1 │ cpu:0 │]])
    check.equal(np.debug.visualize_sharding({}, np.NamedSharding(mesh, P())), [[
┌─────────┐
│ cpu:0-7 │
└─────────┘]])
end)

check.test("a picture as SVG, also in a file", function()
    local y, path = np.device_put(x, mesh, P("i", "j")), process.file ""
    local svg = np.debug.visualize_array_sharding(y, { format = "svg", path = path })
    check.equal(process.read(path), svg)
    local rectangles, texts = select(2, svg:gsub("<rect ", "")), {}
    for text in svg:gmatch "<text[^>]*>([^<]*)</text>" do texts[#texts + 1] = text end
    check.equal(rectangles, 8)
    check.equal(texts, { "0:8", "8:16", "0:2", "cpu:0", "cpu:1", "2:4", "cpu:2", "cpu:3", "4:6", "cpu:4", "cpu:5",
                         "6:8", "cpu:6", "cpu:7" })
    check.ok(svg:find '^<svg xmlns="http://www.w3.org/2000/svg" width="%d+" height="%d+"' and svg:find "</svg>\n$")
    check.raises(function() np.debug.visualize_array_sharding(y, { path = "/no/such/folder/x" }) end, "cannot write")
end)

-- ---- np.breakpoint --------------------------------------------------------------------------------------------------

--- Runs a program with commands typed at its breakpoints. Returns its status, what it shows, and its errors.
local function debugged(code, commands, options)
    local path = process.file(code)
    local words = { unpack(options or {}) }
    words[#words + 1] = path
    local status, out, err = process.run_neap(words, table.concat(commands, "\n") .. "\n")
    local function short(text) return (text:gsub(path:gsub("%p", "%%%0"), "FILE")) end
    return status, short(out), short(err)
end

local PROGRAM = [[
local shared = 5
local function inner(a, b)
    local y = a + b
    np.breakpoint()
    return y + shared
end
local function outer()
    local y = inner(1, 2)
    return y
end
print(outer())
]]

check.test("a breakpoint shows variables and where it stands", function()
    local status, out, err = debugged(PROGRAM, { "y", "a + b, shared", ":l", ":w", ":u", ":l", ":d", "y", ":c" })
    check.equal({ status, err }, { 0, "" })
    check.equal(out, [[
breakpoint at FILE:4, in function 'inner'  (:c goes on, :h tells more)
(breakpoint) 3
(breakpoint) 3
5
(breakpoint) a = 1
b = 2
y = 3
(breakpoint) > FILE:4, in function 'inner'
  FILE:8, in function 'outer'
  FILE:11, in the main chunk
(breakpoint) FILE:8, in function 'outer'
(breakpoint) (breakpoint) FILE:4, in function 'inner'
(breakpoint) 3
(breakpoint) 8
]])
end)

check.test("assignments at a breakpoint reach locals, upvalues and globals", function()
    local status, out, err = debugged(PROGRAM, { "y = 10", "shared = 7", "total = 0", "for k = 1, 2 do",
                                                 "total = total + k", "end", "=total", ":c" })
    check.equal({ status, err }, { 0, "" })
    check.equal(out:match ">> >> (.*)", "(breakpoint) 3\n(breakpoint) 17\n")
end)

check.test("compiled code sees what was assigned at a breakpoint", function()
    local status, out, err = debugged([[
local step = 1
local function sum() local s = 0 for k = 1, 300 do s = s + step end return s end
for k = 1, 100 do sum() end
local function stop() local own = step np.breakpoint() return own end
stop()
print(sum())
np.breakpoint()
print(sum())
]], { "step = 2", ":c", "step = 3", ":c" })
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find "600\n" and out:find "900\n", out)
end)

check.test("errors of commands are told, the end of input goes on, q stops", function()
    local status, out, err = debugged(PROGRAM, { "y.z", "nothing()", "y )" })
    check.equal(status, 0)
    check.ok(out:find "\n8\n$", out)
    check.ok(err:find "attempt to index" and err:find "the variable 'nothing' has no value", err)
    status, out, err = debugged(PROGRAM, { ":h", ":q" })
    check.equal(status, 1)
    check.ok(out:find ":c +:continue +go on, as Ctrl%-D does" and not out:find "\n8\n", out)
    check.ok(err:find "FILE:4: stopped at a breakpoint", err)
end)

check.test("a breakpoint in the body of np.shard_map", function()
    local status, out, err = debugged([[
local mesh = np.mesh({2}, {"i"})
local f = np.shard_map(function(block)
    local total = np.psum(block, "i")
    np.breakpoint()
    return total
end, {mesh=mesh, in_specs=np.P("i"), out_specs=np.P()})
print(f(np.arange(4)))
]], { "total", "block.shape", "total = total * 2", ":c" }, { "--devices", "2" })
    check.equal({ status, err }, { 0, "" })
    check.equal(out, [[
breakpoint at FILE:4, in a function of line 2  (:c goes on, :h tells more)
inside np.shard_map over 'i' of the mesh {i=2}: arrays are blocks, one for each device
(breakpoint) [2 4]
(breakpoint) {2}
(breakpoint) (breakpoint) [4 8]
]])
end)

check.test("a breakpoint in a function that is differentiated", function()
    local status, out, err = debugged("np.grad(function(a) np.breakpoint() return a end)(np.ones{})", { "a", ":c" })
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find "%(breakpoint%) 1.0  f32\n", out)
end)

local function at_breakpoint()
    local terminal = process.terminal({ "-e", "local y = 3 np.breakpoint() print('went on', y)" }, { NO_COLOR = "1" })
    terminal:expect "(breakpoint) "
    terminal:send "y + 1\n"
    terminal:expect "4\r\n"
    terminal:expect "(breakpoint) "
    terminal:send "while true do end\n"
    terminal:expect "\r\n"
    process.sleep(0.1)
    terminal:send "\3"
    terminal:expect "interrupted"
    terminal:expect "(breakpoint) "
    terminal:send "y = 5\n"
    terminal:expect "(breakpoint) "
    terminal:send "\4"
    terminal:expect "went on\t5\r\n"
    check.equal(terminal:finish(), 0)
end

if os.getenv "NEAP_TEST_BUILD" == "tsan" then
    check.skip("Ctrl-C at a breakpoint", "the thread sanitizer delivers signals only at calls that it knows")
else
    check.test("Ctrl-C at a breakpoint ends the command, not the program", at_breakpoint)
end

process.cleanup()
check.done()
