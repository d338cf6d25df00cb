--- transfer_guard_test.lua (under tsan with --long): np.transfer_guard: which copies between memories are told of or
-- refused, in which of the three ways, explicit or not; that what was refused can be computed afterwards. On null
-- devices, whose memory is their own.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local np = require "neap"

local guard = np.transfer_guard
local FIRST, SECOND = "null:6", "null:7"
local function there(x, device) return np.device_put(x, device or FIRST) end

local x = np.array { 1, 2, 3, 4, 5, 6 }
local a = there(x):wait()

--- f raises, while the guard disallows what `level` says, an error with this text, plain; afterwards it gives what it
-- gives: the numbers `want`.
local function refused(text, level, f, want)
    local ok, problem = pcall(guard, level, f)
    check.equal(ok, false, text)
    check.equal(problem:find("np.transfer_guard disallows the " .. text, 1, true) ~= nil, true,
                ("%s, and not %s"):format(problem, text))
    if not want then return end
    local result = f()
    check.equal(np.is_array(result) and result:totable() or result, want)
end

check.test("a host that reads", function()
    local text = "device-to-host transfer of f32(), 4 bytes"
    refused(text, "disallow", function() return a:sum():item() end, 21)
    refused("device-to-host", { device_to_host = "disallow" }, function() return there(x)[2]:item() end, 3)
    refused("device-to-host transfer of f32(6,), 24 bytes", "disallow", function() return there(x):totable() end,
            { 1, 2, 3, 4, 5, 6 })
    refused("device-to-host", "disallow", function() return tostring(a + 0) end)
    refused("device-to-host", "disallow", function() print(a + 0) end)
    refused("device-to-host", "disallow", function() np.io.save(os.tmpname(), a + 0) end)
    local tells = np.jit(function(v)
        print("of a program", v * 3)
        return v
    end)
    refused("device-to-host", "disallow", function() tells(a) end)
    check.equal(guard({ host_to_device = "disallow", device_to_device = "disallow" }, function()
        return there(x):sum():item()
    end), 21)
end)

check.test("what the host has read once is read freely", function()
    local c = a * 3
    check.equal(c:totable()[6], 18)
    check.equal(guard("disallow", function() return c:totable()[6] end), 18)
end)

check.test("an array of the host meets one of a device: eager, jitted, differentiated, in loops", function()
    local text = "host-to-device transfer of f32(6,), 24 bytes"
    local double = { 2, 4, 6, 8, 10, 12 }
    refused(text, "disallow", function() return a + x end, double)
    refused(text, { host_to_device = "disallow" }, function() return { a + x } end)
    local f = np.jit(function(p, q) return p + q end)
    refused(text, "disallow", function() return f(a, x) end, double)
    check.equal(guard("disallow", f, a, a):totable(), double)
    local around = np.jit(function(p) return p + x end)
    refused(text, "disallow", function() return around(a) end, double)
    refused(text, "disallow", function() return np.fori_loop(0, 1, function(_, v) return v + x end, a) end, double)
    refused(text, "disallow", function() return np.grad(function(p) return (p * x):sum() end)(a) end,
            { 1, 2, 3, 4, 5, 6 })
    refused(text, "disallow", function() return np.vmap(function(p, q) return p + q end)(a, x) end, double)
    local known = select(2, pcall(guard, "disallow", function() return a + x end))
    check.equal(known:find ", from cpu:0 to null:6, for add at .-transfer_guard_test.lua:%d+; np.device_put " ~= nil,
                true, known)
end)

check.test("numbers and constructors are made where they are wanted", function()
    local y = guard("disallow", function()
        return np.fori_loop(0, 3, function(k, v) return v + k end, a * 2 + np.ones(6) + np.arange(6) * 0.5)
    end)
    check.equal({ tostring(y.device), y:totable()[1] }, { FIRST, 6 })
end)

check.test("an op that a device cannot do", function()
    local f = np.callback(function(v) return v * 2 end, { result = { shape = { 6 }, dtype = "f32" } })
    refused("device-to-host transfer of f32(6,), 24 bytes", "disallow", function() return f(a) end)
    local known = select(2, pcall(guard, "disallow", f, a))
    check.equal(known:find("for callback, since the device cannot: this is done by the host", 1, true) ~= nil, true,
                known)
    check.equal(f(a):totable()[6], 12)
end)

check.test("np.device_put asks for a copy: it is refused under disallow_explicit alone", function()
    local ways = { { "device-to-host", "device_to_host", function() return np.device_put(a, "cpu:0") end },
                   { "host-to-device", "host_to_device", function() return there(x) end },
                   { "device-to-device", "device_to_device", function() return there(a, SECOND) end } }
    for k, way in ipairs(ways) do
        local text, key, f = unpack(way)
        refused("explicit " .. text, "disallow_explicit", f, { 1, 2, 3, 4, 5, 6 })
        refused("explicit " .. text, { [key] = "disallow_explicit" }, f)
        guard("disallow", f)
        guard({ [ways[k % 3 + 1][2]] = "disallow_explicit" }, f)
    end
    guard("disallow_explicit", there, np.ones(6)) -- made there
    guard("disallow_explicit", there, a)          -- it is there
    check.equal(guard("disallow", function() return np.device_put(a, "cpu:0"):sum():item() end), 21)
    check.equal(guard("disallow_explicit", function() return np.device_put(x, "cpu:0"):sum():item() end), 21)
end)

check.test("what is computed later is looked at then", function()
    local c = a + x
    refused("host-to-device", "disallow", function() return c:wait() end)
    check.equal(c:totable()[1], 2)
    local d = guard("disallow", function() return nil, "text", 3 end)
    check.equal(d, nil)
    guard("disallow", function() local _ = a + x end) -- dropped: it is not a result, and is never computed
end)

check.test("results that are no trees pass as they are", function()
    local ring = { [true] = 1, [print] = { a * 2 } }
    ring.again = ring
    check.ok(rawequal(guard("disallow", function() return ring end), ring))
    local text = "host-to-device transfer of f32(6,), 24 bytes"
    refused(text, "disallow", function() return { [true] = { ring, a + x, ring } } end)
end)

check.test("levels: set, read, nested, after failures", function()
    local all = { host_to_device = "allow", device_to_host = "allow", device_to_device = "allow" }
    check.equal(guard(), all)
    check.equal(guard("disallow"), all)
    check.equal(guard { device_to_host = "allow" }.device_to_host, "disallow")
    check.equal(guard(), { host_to_device = "disallow", device_to_host = "allow", device_to_device = "disallow" })
    check.equal(pcall(function() return (a + x):wait() end), false)
    guard(all)
    check.equal({ guard("disallow", function(...)
        return guard("allow", function() return (a * 5):sum():item() end), guard().device_to_host, ...
    end, 1, nil, 3) }, { 105, "disallow", 1, nil, 3 })
    check.raises(function() guard("disallow", function() error "stop" end) end, "stop")
    check.equal(guard(), all)
    local script = coroutine.wrap(function() guard("log", coroutine.yield) end)
    check.raises(script, "yield")
    check.equal(guard(), all)
end)

check.test("bad arguments", function()
    local expected = 'np.transfer_guard: argument 1 %(level%) must be "allow", "log", "disallow"'
    for _, bad in ipairs { "deny", 3, {}, true } do check.raises(function() guard(bad) end, expected) end
    check.raises(function() guard(nil, print) end, expected)
    check.raises(function() guard { up = "log" } end, "unknown way 'up' %(ways: device_to_device, device_to_host, ")
    check.raises(function() guard { device_to_host = "up" } end, "option 'device_to_host' must be \"allow\"")
    check.raises(function() guard("log", 3) end, "argument 2 %(f%) must be a function, got the number 3")
end)

check.test("log tells of each copy on stderr", function()
    local path = process.file [[
local a = np.device_put(np.array{1, 2, 3}, "null:6")
local y = np.transfer_guard("log", function() return a * np.array{1, 2, 3} end)
print(np.transfer_guard("log", function() return np.device_put(y, "cpu:0"):sum():item() + y:sum():item() end))
np.transfer_guard("log_explicit", function() return np.device_put(y, "null:7") end)
local read_twice = np.jit(function(p, q) return p:matmul(q) + np.sort(p * q) end)
np.transfer_guard("log", read_twice, a, np.array{1, 2, 3})
]]
    local status, out, told = process.run_neap { path }
    check.equal({ status, out }, { 0, "28\n" })
    local lines = {}
    for line in told:gmatch "[^\n]+" do lines[#lines + 1] = line:gsub(", made at [^,]+", ""):gsub(" at %S+$", "") end
    check.equal(lines, {
        "np.transfer_guard: host-to-device transfer of f32(3,), 12 bytes, from cpu:0 to null:6, for multiply",
        "np.transfer_guard: device-to-host transfer of f32(), 4 bytes, from null:6 to cpu:0",
        "np.transfer_guard: explicit device-to-device transfer of f32(3,), 12 bytes, from null:6 to null:7",
        "np.transfer_guard: host-to-device transfer of f32(3,), 12 bytes, from cpu:0 to null:6, for matmul2" })
end)

check.test("a script that runs on such devices: new arrays, devices that meet, meshes", function()
    local path = process.file [[
local guard = np.transfer_guard
local function try(level, f)
    local ok, problem = pcall(guard, level, f)
    print(ok or problem:match "disallows the (.-) of" or problem)
end
try("disallow", function() return np.array{1, 2} * 2 end)
try("disallow_explicit", function() return np.array{1, 2} * 2 end)
local other = np.device_put(np.array{1, 2}, "null:1")
try("disallow", function() return other + np.array{1, 2} end)
local mesh = np.mesh({2}, {"i"})
local v = np.device_put(np.array{1, 2, 3, 4}, mesh, np.P "i")
local w = np.device_put(np.array{1, 2, 3, 4} * 2, mesh, np.P())
np.wait(v, w)
try("disallow_explicit", function() return np.wait(v * w, v:sum(), np.reshard(v, np.P()), w + 1) end)
try("disallow", function() return v:totable() end)
]]
    local status, out, err = process.run_neap { "--device", "null", "--devices", "2", path }
    check.equal({ status, err }, { 0, "" })
    check.equal(out, "true\nexplicit host-to-device transfer\ndevice-to-device transfer\ntrue\n"
                     .. "device-to-host transfer\n")
end)

process.cleanup()
check.done()
