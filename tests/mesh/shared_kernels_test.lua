--- shared_kernels_test.lua: devices that share a memory share kernels where these read the same: how many run, and that
-- each device gets what it would have computed alone. Runs itself again with four devices.
local check = require "tests.lib.check"
local np = require "neap"
require "tests.lib.devices"(4, "tests/mesh/shared_kernels_test.lua")

local P = np.P
local N = 4
local mesh = np.mesh({ N }, { "i" })

local function over(f, out) return np.shard_map(f, { mesh = mesh, in_specs = P "i", out_specs = out or P "i" }) end

--- The kernels of a jitted call, and the text that tells of them.
local function kernels(f, x)
    local y = f(x)
    local text = tostring(np.explain(y))
    y:wait()
    return tonumber(text:match "(%d+) kernels?"), text
end

local function input(dtype, n)
    return np.remainder(np.arange(N * n), 7):astype(dtype)
end

--- The result of `each`, called for each device with the blocks' common value and the device's number, one device after
-- the other.
local function alone(x, common, each)
    local blocks, parts = x:reshape(N, -1), {}
    local shared = common(blocks):wait()
    for k = 1, N do parts[k] = each(shared, k - 1):wait() end
    return np.concatenate(parts)
end

local function place() return np.axis_index "i" end

local collectives = {
    { "psum", function(v) return np.psum(v, "i") end, function(b) return (b[0] + b[1]) + (b[2] + b[3]) end },
    { "pmax", function(v) return np.pmax(v, "i") end, function(b) return b:max { axis = 0 } end },
    { "pmin", function(v) return np.pmin(v, "i") end, function(b) return b:min { axis = 0 } end },
}

for _, row in ipairs(collectives) do
    local name, body, common = row[1], row[2], row[3]
    check.test(name .. " that each device uses is one kernel, which reads each block once", function()
        local f = np.jit(over(function(v) return body(v) * (place() + 1):astype(v.dtype) end))
        local count, text = kernels(f, np.device_put(input("f32", 5000), mesh, P "i"))
        check.equal(count, 1)
        for k = 0, N - 1 do check.equal(text:find("cpu:" .. k, 1, true) ~= nil, true) end
        check.equal(text:find("reads 80.0 kB, writes 80.0 kB", 1, true) ~= nil, true)
    end)
    for _, dtype in ipairs { "f32", "f64", "i32", "i64", "u8" } do
        check.test(name .. " of " .. dtype .. " gives each device what it computes alone", function()
            for _, n in ipairs { 0, 1, 255, 256, 1025 } do
                local x = input(dtype, n)
                local f = np.jit(over(function(v) return body(v) * (place() + 1):astype(dtype) end))
                local want = alone(x, common, function(shared, k) return shared * (np.array(k) + 1):astype(dtype) end)
                check.equal(f(x):totable(), want:totable())
            end
        end)
    end
end

check.test("all_gather that each device uses reads what was gathered once", function()
    local x = np.device_put(input("f32", 3000), mesh, P "i")
    local f = np.jit(over(function(v)
        return np.all_gather(v, "i", { tiled = true }) * (place() + 1):astype "f32"
    end))
    local want = {}
    for k = 1, N do want[k] = input("f32", 3000) * k end
    check.equal(f(x):totable(), np.concatenate(want):totable())
    check.equal((kernels(f, x)), N + 1)
end)

check.test("devices with nothing in common keep kernels of their own", function()
    local f = np.jit(over(function(v) return np.sin(v) * 2 end))
    check.equal((kernels(f, np.device_put(input("f32", 5000), mesh, P "i"))), N)
end)

check.test("what is printed of a shared value is printed by each device", function()
    local seen = {}
    local f = np.jit(over(function(v)
        local s = np.psum(v, "i")
        np.callback(function(value) seen[#seen + 1] = value:totable() end)(s * (place() + 1):astype "f32")
        return s + place():astype "f32"
    end))
    f(np.arange(8, { dtype = "f32" })):wait()
    np.effects_barrier()
    table.sort(seen, function(a, b) return a[1] < b[1] end)
    check.equal(seen, { { 12, 16 }, { 24, 32 }, { 36, 48 }, { 48, 64 } })
end)

check.test("a shared input that is donated stays whole for the other devices", function()
    local f = np.jit(over(function(v) return np.psum(v, "i") - v end), { donate = { 1 } })
    local x = np.device_put(input("f32", 600), mesh, P "i")
    local before = input("f32", 600):reshape(N, -1)
    local sum = (before[0] + before[1]) + (before[2] + before[3])
    local got = f(x)
    check.equal(got:reshape(N, -1):totable(), (sum - before):totable())
end)

check.done()
