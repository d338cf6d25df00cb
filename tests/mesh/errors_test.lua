--- errors_test.lua (under tsan with --long): what np.mesh, np.P, np.device_put and np.shard_map refuse, and that the
-- errors name the argument or result, the axes of array and mesh, both sizes, and the line.
require "tests.lib.devices" (8, "tests/mesh/errors_test.lua")
local check = require "tests.lib.check"
local np = require "neap"

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local x = np.arange(144, { dtype = "f32" }):reshape(12, 12)

local function same(a) return a end

local function map(f, in_specs, out_specs, options)
    options = options or {}
    options.mesh, options.in_specs, options.out_specs = mesh, in_specs, out_specs
    return np.shard_map(f, options)
end

--- Each call of a table { pattern, f, arguments … } raises what the pattern says, with a line of this file.
local function all_raise(calls)
    for _, call in ipairs(calls) do
        local f, n = call[2], 0
        for k in pairs(call) do n = math.max(n, k) end
        local text = check.raises(function()
            local result = f(unpack(call, 3, n))
            return result
        end, call[1])
        check.ok(text:find "errors_test.lua:%d+: ", text)
    end
end

check.test("a mesh that is smaller than the devices takes the first of them", function()
    local devices = np.devices()
    local first = np.mesh({ 2, 2 }, { "i", "j" })
    check.equal(first, np.mesh({ 2, 2 }, { "i", "j" }, { devices = { unpack(devices, 1, 4) } }))
    check.equal({ first.size, #first.devices, first.devices[4] }, { 4, 4, devices[4] })
    local sum = np.shard_map(function(a) return np.psum(a, "i") end,
                             { mesh = np.mesh({ 3 }, { "i" }), in_specs = np.P "i", out_specs = np.P() })
    check.equal(sum(np.arange(6)):totable(), { 6, 9 })
end)

check.test("np.mesh", function()
    local devices = np.devices()
    all_raise {
        { "mesh of shape %(4, 4%) has 16 places, but there are 8 devices %(neap %-%-devices N", np.mesh, { 4, 4 },
          { "i", "j" } },
        { "shape %(2,%) has 2 places, but there is 1 device in option 'devices'", np.mesh, { 2 }, { "i" },
          { devices = { "cpu:1" } } },
        { "axis name 'i' stands twice, for axes 0 and 1", np.mesh, { 4, 2 }, { "i", "i" } },
        { "device cpu:1 stands twice, as devices 1 and 3", np.mesh, { 3 }, { "i" },
          { devices = { "cpu:1", "cpu:2", devices[2] } } },
        { "there is no device 'cpu:99'", np.mesh, { 1 }, { "i" }, { devices = { "cpu:99" } } },
        { "device 2 must be one of np.devices%(%), or its name, got the number 1", np.mesh, { 2 }, { "i" },
          { devices = { "cpu:0", 1 } } },
        { "option 'devices' must be a table", np.mesh, { 2 }, { "i" }, { devices = "cpu" } },
        { "unknown option 'order'", np.mesh, { 2 }, { "i" }, { order = 1 } },
        { "shape %(4, 2%) has 2 axes, but there are 1 names", np.mesh, { 4, 2 }, { "i" } },
        { "size 1 of the shape must be an integer from 1 up, got the number 0", np.mesh, { 0 }, { "i" } },
        { "size 1 of the shape must be an integer from 1 up, got the number 1.5", np.mesh, { 1.5 }, { "i" } },
        { "name 1 must be a string without commas, got the string \"i,j\"", np.mesh, { 8 }, { "i,j" } },
        { "name 1 must be a string without commas, got the number 3", np.mesh, { 8 }, { 3 } },
        { "argument 1 %(shape%) must be a table of sizes", np.mesh, 8, { "i" } },
        { "argument 2 %(names%) must be a table of names", np.mesh, { 8 }, "i" },
        { "1 to 8 axes, got 9", np.mesh, { 1, 1, 1, 1, 1, 1, 1, 1, 8 },
          { "a", "b", "c", "d", "e", "f", "g", "h", "k" } },
        { "1 to 8 axes, got 0", np.mesh, {}, {} },
    }
end)

check.test("np.P", function()
    all_raise {
        { "np.P: mesh axis 'i' stands twice, for array axes 0 and 2", P, "i", nil, { "j", "i" } },
        { "np.P: mesh axis 'i' stands twice, for array axes 0 and 0", P, { "i", "i" } },
        { "np.P: entry 2 must be the name of a mesh axis, a table of names, or nil, got the number 3", P, "i", 3 },
        { "np.P: entry 1 must be", P, { "i", 3 } },
        { "np.P: unknown option 'a'", P, { a = "i" } },
        { "np.P: entry 1 must be", P, "" },
        { "np.P: entry 1 must be", P, true },
    }
end)

check.test("laying out", function()
    local y = np.device_put(x, mesh, P("i"))
    all_raise {
        { "device_put: argument 1 %(x%) has shape %(13, 2%), and its spec is P%(\"i\"%), which divides array axis 0 "
          .. "%(of size 13%) by mesh axis 'i' %(of size 4%), but 4 does not divide 13 evenly",
          np.device_put, np.ones(13, 2), mesh, P("i") },
        { "divides array axis 1 %(of size 12%) by mesh axes 'j' %(of size 2%) and 'i' %(of size 4%), but 8 does not "
          .. "divide 12 evenly", np.device_put, x, mesh, P(nil, { "j", "i" }) },
        { "argument 1 %(x%)%.w%[2%] has shape %(12,%), which has 1 axis, but its spec is P%(\"i\", nil%), which has 2 "
          .. "entries", np.device_put, { w = { x, np.ones(12) } }, mesh, P("i", nil) },
        { "its spec is P%(\"k\"%), which names 'k' for array axis 0, but the mesh has axes {i=4, j=2}",
          np.device_put, x, mesh, P("k") },
        { "argument 3 %(spec%) must be a spec such as np.P%(\"i\", nil%), or a tree of them, got the string \"i\" for "
          .. "argument 1 %(x%)", np.device_put, x, mesh, "i" },
        { "argument 3 %(spec%) must be a spec", np.device_put, x, mesh },
        { "argument 3 %(spec%) names argument 1 %(x%)%.b, which is not there", np.device_put, { a = x }, mesh,
          { a = P(), b = P() } },
        { "got nothing %(nil%) for argument 1 %(x%)%.b", np.device_put, { a = x, b = x }, mesh, { a = P() } },
        { "argument 2 %(device%) must be a device.-a mesh or a sharding, got the number 3", np.device_put, x, 3 },
        { "a spec besides it is too much", np.device_put, x, y.sharding, P() },
        { "with_sharding_constraint: argument 2 %(mesh%) must be a mesh or a sharding, got a table",
          np.with_sharding_constraint, x, {}, P() },
        { "addressable_shards: the array lies on no mesh", x.addressable_shards, x },
        { "addressable_shards: a gradient, a trace or a batch is open", np.grad(function(a)
            return a:addressable_shards()[1].data:sum()
        end), y },
        { "NamedSharding: argument 1 %(mesh%) must be a mesh", np.NamedSharding, "i", P() },
        { "NamedSharding: argument 2 %(spec%) must be a spec", np.NamedSharding, mesh, "i" },
        { "NamedSharding: the spec is P%(\"k\"%), which names 'k'", np.NamedSharding, mesh, P "k" },
        { "sharding:shard_shape: the array has shape %(3,%)", y.sharding.shard_shape, y.sharding, { 3 } },
        { "sharding:shard_shape: argument 1 %(shape%) must be", y.sharding.shard_shape, y.sharding, { "a" } },
        { "visualize_array_sharding: the array lies on no mesh", np.debug.visualize_array_sharding, x },
        { "visualize_array_sharding: option 'format' must be \"text\" or \"svg\"", np.debug.visualize_array_sharding, y,
          { format = "png" } },
        { "visualize_sharding: argument 2 %(sharding%) must be a sharding", np.debug.visualize_sharding, { 3 }, mesh },
    }
end)

check.test("what np.shard_map is made of", function()
    all_raise {
        { "argument 1 %(f%) must be a function, got the number 3", map, 3, P(), P() },
        { "option 'mesh' must be a mesh of np.mesh, got nothing", np.shard_map, same,
          { in_specs = P(), out_specs = P() } },
        { "option 'in_specs' must be a spec such as np.P%(\"i\", nil%), or a table with an entry for each argument",
          map, same, nil, P() },
        { "option 'out_specs' must be a spec.-for each result.-got the number 3", map, same, P(), 3 },
        { "in_specs%[2%]%.w must be a spec such as np.P%(\"i\", nil%), got the string \"i\"", map, same,
          { P(), { w = "i" } }, P() },
        { "option 'in_specs' has an entry 'w', but a table has an entry for each argument; for one argument that is a "
          .. "table write {{w=…}}", map, same, { w = P() }, P() },
        { "in_specs%[1%] is P%(\"i\", \"k\"%), which names 'k' for array axis 1, but the mesh has axes {i=4, j=2}", map,
          same, { P("i", "k") }, P() },
        { "out_specs%[1%]%.a is P%(\"k\"%), which names 'k' for array axis 0", map, same, P(), { { a = P "k" } } },
        { "option 'check_rep' must be a boolean", map, same, P(), P(), { check_rep = 1 } },
        { "unknown option 'check_vma'", map, same, P(), P(), { check_vma = false } },
        { "axis_names has the string \"k\", but the mesh has axes {i=4, j=2}", map, same, P(), P(),
          { axis_names = { "k" } } },
        { "option 'axis_names' must be a table of names", map, same, P(), P(), { axis_names = "i" } },
    }
end)

check.test("arguments that do not fit", function()
    all_raise {
        { "argument 1 %(a%) has shape %(13, 16%), and in_specs%[1%] is P%(\"i\", \"j\"%), which divides array axis 0 "
          .. "%(of size 13%) by mesh axis 'i' %(of size 4%), but 4 does not divide 13 evenly",
          map(same, { P("i", "j") }, P()), np.ones(13, 16) },
        { "argument 1 %(a%) has shape %(12,%), which has 1 axis, but in_specs is P%(\"i\", \"j\"%), which has 2 "
          .. "entries", map(same, P("i", "j"), P()), np.ones(12) },
        { "argument 1 %(a%)%.w has shape %(3,%)", map(same, { { w = P "i" } }, P()), { w = np.ones(3) } },
        { "argument 1 %(a%) is a number, which has no axes, but in_specs%[1%] is P%(\"i\"%): use np.P%(%)",
          map(same, { P "i" }, P()), 3 },
        { "argument 1 %(a%) is the string \"i\", which has no axes", map(same, P "i", P()), "i" },
        { "option 'in_specs' has no entry for argument 2", map(same, { P() }, P()), x, x },
        { "option 'in_specs' has an entry 2, but there is 1 argument", map(same, { P(), P() }, P()), x },
        { "option 'in_specs' has no entry for argument 1 %(a%)%.b", map(same, { { w = P() } }, P()), { w = x, b = x } },
        { "in_specs names argument 1 %(a%)%.b, which is not there", map(same, { { w = P(), b = P() } }, P()),
          { w = x } },
        { "in_specs has a table for argument 1 %(a%), which is an array of shape %(12, 12%)",
          map(same, { { P() } }, P()), x },
    }
    local text = check.raises(function() map(function(a, b) return a, b end, P "i", P())(np.ones(13), np.ones(14)) end,
                              "arguments do not fit")
    check.ok(text:find "argument 1 %(a%).-13 evenly.-argument 2 %(b%).-14 evenly", text)
end)

check.test("results that do not fit", function()
    local function pair(a) return a, { w = a } end
    all_raise {
        { "result 1 of the function at .-errors_test.lua:%d+ has shape %(%), which has 0 axes, but out_specs is "
          .. "P%(\"i\"%), which has 1 entry", map(function(a) return a:sum() end, P "i", P "i"), x },
        { "result 2%.w of the function.- has shape %(3, 12%), which has 2 axes, but out_specs%[2%]%.w is "
          .. "P%(\"i\", nil, nil%)", map(pair, P "i", { P "i", { w = P("i", nil, nil) } }), x },
        { "option 'out_specs' has no entry for result 2", map(pair, P "i", { P "i" }), x },
        { "option 'out_specs' has an entry 3, but there are 2 results", map(pair, P "i", { P "i", P "i", P "i" }), x },
        { "out_specs names result 2%.v, which is not there", map(pair, P "i", { P "i", { v = P "i" } }), x },
        { "out_specs has a table for result 1, which is an array", map(pair, P "i", { { P "i" }, P "i" }), x },
        { "result 1 of the function at .- is a number, which has no axes, but out_specs is P%(\"i\"%)",
          map(function() return 3 end, {}, P "i") },
    }
end)

check.test("results that may differ where the spec says they do not", function()
    all_raise {
        { "result 1 of the function at .-errors_test.lua:%d+ may differ over mesh axis 'j', but out_specs is "
          .. "P%(nil, nil%), which does not name it.-np.psum.-check_rep=false",
          map(function(a) return np.psum(a, "i") end, P("i", "j"), P(nil, nil)), x },
        { "result 1%.loss of .- may differ over mesh axes 'i', 'j', but out_specs%[1%]%.loss is P%(%)",
          map(function(a) return { loss = a:sum(), n = 3 } end, P("i", "j"), { { loss = P(), n = P() } }), x },
        { "may differ over mesh axis 'i'", map(function() return np.axis_index "i" end, {}, P()) },
        { "may differ over mesh axis 'i'",
          map(function(a) return np.ppermute(a, "i", { { 0, 1 } }) end, P "i", P()), x },
        { "may differ over mesh axis 'j'",
          map(function(a) return np.psum_scatter(a, "j", { tiled = true }) end, P(nil), P()), x },
    }
end)

check.test("collectives", function()
    all_raise {
        { "np.psum: unbound axis name 'i'.-here there is none", np.psum, x, "i" },
        { "np.psum: unbound axis name 'k'.-here there is 'i', 'j'",
          map(function(a) return np.psum(a, "k") end, P(), P()), x },
        { "np.psum: axis name 'i' stands twice",
          map(function(a) return np.psum(a, { "i", "j", "i" }) end, P(), P()), x },
        { "np.axis_size: unbound axis name 'j'.-here there is 'i'",
          map(function() return np.axis_size "j" end, {}, P(), { axis_names = { "i" } }) },
        { "ppermute: expected members in 0%.%.7",
          map(function(a) return np.ppermute(a, { "i", "j" }, { { 8, 0 } }) end, P(), P()), x },
        { "psum_scatter: axis 0 of an array of shape %(12, 12%) must have size 8, as it is dealt out over axes 'i', ",
          map(function(a) return np.psum_scatter(a, { "i", "j" }) end, P(), P()), x },
        { "psum_scatter: axis 0 %(of size 6%) .* cannot be split into equal parts over axis 'i' %(of size 4%)",
          map(function(a) return np.psum_scatter(a[{ { 0, 6 }, { 0, 2 } }], "i", { tiled = true }) end, P(), P()), x },
        { "psum: options must be a table such as", map(function(a) return np.psum(a, "i", 7) end, P(), P()), x },
        { "all_gather: axis 3 is out of range",
          map(function(a) return np.all_gather(a, "i", { axis = 3 }) end, P(), P()), x },
    }
    check.raises(function() np.psum(x, "i") end, "there is none", "errors close their axes")
end)

check.test("an axis in two parts has groups that are known to be the same", function()
    -- The groups { 0, 1 }, { 2, 3 } of an axis of 4, and { 0, 2 }, { 1, 3 }.
    local halves = np.mesh({ 2, 2 }, { "half", "place" })
    for name, expected in pairs { place = { 1, 5 }, half = { 2, 4 } } do
        local sums = np.shard_map(function(a) return np.psum(a, name) end,
                                  { mesh = halves, in_specs = P { "half", "place" },
                                    out_specs = P(name == "half" and "place" or "half") })
        check.equal(sums(np.arange(4)):totable(), expected)
    end
end)

check.test("one shard_map inside another", function()
    local other = np.mesh({ 2, 4 }, { "i", "j" })
    local function around(f) return map(f, P("i"), P("i"), { axis_names = { "i" } }) end
    all_raise {
        { "the mesh is {i=2, j=4}, but the np.shard_map around this one has {i=4, j=2}", around(function(a)
            return np.shard_map(same, { mesh = other, in_specs = P(), out_specs = P(), axis_names = { "j" } })(a)
        end), x },
        { "in_specs is P%(\"i\"%), but mesh axes 'i' are manual already", around(map(same, P "i", P())), x },
        { "out_specs is P%(\"i\"%), but mesh axes 'i' are manual already", around(map(same, P(), P "i")), x },
        { "axis_names has 'i', manual already", around(map(same, P(), P(), { axis_names = { "i" } })), x },
        { "in_specs is P%(\"j\"%), but axis_names does not have 'j'", map(same, P "j", P(), { axis_names = { "i" } }),
          x },
        { "all axes of the mesh are manual already", map(map(same, P(), P()), P(), P()), x },
        { "argument 1 %(x%) is a block: it is seen by device over mesh axes 'i' here", around(function(a)
            return np.with_sharding_constraint(a, mesh, P "i")
        end), np.ones(16, 12) },
    }
end)

check.test("blocks do not leave their body", function()
    local kept
    map(function(a)
        kept = a
        return a
    end, P("i", "j"), P("i", "j"))(np.ones(16, 16))
    local pattern = ": the array is a block of a np.shard_map whose body has ended"
    all_raise {
        { "np.shard_map" .. pattern, map(same, P "i", P "i"), kept },
        { "np.shard_map" .. pattern, map(function() return kept end, {}, P(), { axis_names = { "i" } }) },
        { "np.device_put" .. pattern, np.device_put, kept, mesh, P "i" },
        { "np.multiply" .. pattern, np.multiply, kept, 2 },
        { "np.add" .. pattern, map(function(a) return a + kept end, P(), P(), { axis_names = { "j" } }), x },
        { "np.item" .. pattern, kept.item, kept },
        { "np.print" .. pattern, print, kept },
    }
    local gone = np.ones(8)
    gone:delete()
    check.raises(function() map(same, P(), P())(gone) end, "np.shard_map: the array was deleted")
end)

check.test("a coroutine cannot yield out of a body, but inside it", function()
    local count = 0
    local outer = coroutine.create(function()
        map(function(a)
            for k in coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end) do count = count + k end
            coroutine.yield(a)
            return a
        end, P(), P())(x)
    end)
    local ok, problem = coroutine.resume(outer)
    check.ok(not ok and problem:find "a coroutine cannot yield while .- the body of np.shard_map", problem)
    check.equal(count, 3)
    check.raises(function() np.axis_index "i" end, "there is none")
end)

check.test("meshes, specs and shardings get no further fields", function()
    for _, object in ipairs { mesh, P("i"), np.NamedSharding(mesh, P("i")) } do
        check.raises(function() object.extent = 3 end, 'cannot be changed %(field the string "extent"%)')
    end
    check.raises(function() P("i")[2] = "j" end, "cannot be changed")
end)

check.test("errors of the body pass with their line, and close the axes", function()
    local text = check.raises(function() map(function(a) return a.shape[7] + 1 end, P(), P())(x) end,
                              "arithmetic on a nil")
    check.ok(text:find "errors_test.lua:%d+:", text)
    check.raises(function() map(function(a) return a:matmul(np.ones(5, 5)) end, P(), P())(x) end, "np.matmul")
    check.raises(function() np.axis_index "i" end, "there is none")
end)

check.done()
