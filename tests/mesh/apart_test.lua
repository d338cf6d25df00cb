--- apart_test.lua: collectives between devices with memories of their own: each device combines a part of a sum, what
-- is the same on all devices is sent to them at once, and no more is moved than must be; with the bits of the fixed
-- tree. Runs itself again on four null devices.
local check = require "tests.lib.check"
local np = require "neap"

if tostring(np.devices()[1]) ~= "null:0" or #np.devices() < 4 then
    local process = require "tests.lib.process"
    local status, out, err = process.run_neap { "--device", "null", "--devices", "4", "tests/mesh/apart_test.lua" }
    io.stdout:write(out)
    io.stderr:write(err)
    process.cleanup()
    os.exit(status)
end

local P = np.P

local function mesh_of(n) return np.mesh({ n }, { "i" }) end

--- Values whose sum depends on the order.
local function values(n, count, dtype)
    local x = np.sin(np.arange(n * count, { dtype = "f64" })) * 1000
    return x:astype(dtype):reshape(n, count):wait()
end

--- tree(lo, n) of f over the rows of x, as the mesh has it.
local function tree(f, x, low, n)
    if n == 1 then return x[low] end
    local half = 1
    while half * 2 < n do half = half * 2 end
    return f(tree(f, x, low, half), tree(f, x, low + half, n - half))
end

--- f on the rows of x, one on each device; the result lies as `out` says.
local function spread(mesh, f, x, out)
    local map = np.shard_map(function(v) return f(v[0]) end, { mesh = mesh, in_specs = P("i", nil), out_specs = out })
    return np.jit(map)(np.device_put(x, mesh, P("i", nil)))
end

--- What np.explain tells of the steps, and how many of them are calls: kernels move nothing.
local function text_of(x)
    local text = tostring(np.explain(x))
    x:wait()
    return text, tonumber(text:match "(%d+) calls?")
end

local function count(text, pattern)
    local n = 0
    for _ in text:gmatch(pattern) do n = n + 1 end
    return n
end

local reductions = {
    psum = function(a, b) return a + b end,
    pmax = np.maximum,
    pmin = np.minimum,
}
for name, f in pairs(reductions) do
    check.test(name .. " has the bits of the tree, for all dtypes and sizes", function()
        for n = 2, 4 do
            for _, dtype in ipairs { "f16", "bf16", "f32", "f64", "i32", "i64" } do
                for _, size in ipairs { 1, 3, 4, 5, 7, 250, 1001, 4099 } do
                    local x = values(n, size, dtype)
                    local got = spread(mesh_of(n), function(v) return np[name](v, "i") end, x, P())
                    local wide = dtype:find "f16" and x:astype "f32" or x -- as halves are added
                    local want = tree(f, wide, 0, n):astype(dtype)
                    check.equal(got:totable(), want:totable(), dtype .. " " .. size .. " on " .. n)
                end
            end
        end
    end)
end

check.test("of a psum each device gets its part of all blocks, and all devices get the sum at once", function()
    local x = values(4, 1000, "f32")
    local each = np.jit(function(y)
        return np.shard_map(function(v) return np.psum(v, "i") * (np.axis_index "i" + 1):astype "f32" end,
            { mesh = mesh_of(4), in_specs = P("i", nil), out_specs = P("i", nil) })(y)
    end)
    local got = each(np.device_put(x, mesh_of(4), P("i", nil)))
    local text, calls = text_of(got)
    check.equal(calls, 12 + 1)
    check.equal(count(text, "transfer"), count(text, "transfer +%(250,%)"))
    check.equal(count(text, "%d +join +%(1000,%)"), 1)
    check.equal(count(text, "goes to 4 devices by a collective"), 1)
    local sum = tree(reductions.psum, x, 0, 4)
    for k = 0, 3 do check.equal(got[k]:totable(), (sum * (k + 1)):totable()) end
end)

check.test("all_gather is one join, whatever its place", function()
    for at = 0, 1 do
        for _, size in ipairs { 0, 1, 5, 300 } do
            local x = values(4, size, "f32")
            local got = spread(mesh_of(4), function(v) return np.all_gather(v, "i", { axis = at }) end, x, P())
            local text, calls = text_of(got)
            check.equal(count(text, "%d +join +"), size > 0 and 1 or 0)
            check.equal(calls, size > 0 and 1 or 3)
            check.equal(got:totable(), (at == 0 and x or x.T):totable())
        end
    end
end)

check.test("psum_scatter and all_to_all move parts alone", function()
    local x = values(4, 400, "f32")
    local part = spread(mesh_of(4), function(v) return np.psum_scatter(v:reshape(4, 100), "i") end, x, P "i")
    local text, calls = text_of(part)
    check.equal(calls, 12)
    check.equal(count(text, "transfer"), count(text, "transfer +%(100,%)"))
    check.equal(part:totable(), tree(reductions.psum, x, 0, 4):totable())
    local turned = spread(mesh_of(4), function(v) return np.all_to_all(v:reshape(4, 100), "i", 0, 0) end, x, P "i")
    text, calls = text_of(turned)
    check.equal(calls, 12)
    check.equal(count(text, "transfer"), count(text, "transfer +%(100,%)"))
    check.equal(turned:reshape(4, 4, 100):totable(), np.swapaxes(x:reshape(4, 4, 100), 0, 1):totable())
end)

check.test("over one of two axes of a mesh", function()
    local x = values(4, 60, "f32"):reshape(2, 2, 60)
    local mesh = np.mesh({ 2, 2 }, { "i", "j" })
    for _, axis in ipairs { "i", "j" } do
        local map = np.shard_map(function(v) return np.psum(v, axis) end,
            { mesh = mesh, in_specs = P("i", "j", nil), out_specs = axis == "i" and P(nil, "j") or P "i" })
        local got = map(np.device_put(x, mesh, P("i", "j", nil)))
        local want = axis == "i" and x[0] + x[1] or x ":, 0" + x ":, 1"
        check.equal(got:reshape(2, 60):totable(), want:totable())
    end
end)

check.test("parameters that all devices read, and their gradient, for some steps", function()
    local mesh, x = mesh_of(4), values(4, 600, "f32") / 1000
    local function loss(w, v) return ((w * v - 1) * (w * v - 1)):sum() end
    local step = np.jit(np.shard_map(function(w, v) return w - np.psum(np.grad(loss)(w, v[0]), "i") / 100 end,
        { mesh = mesh, in_specs = { P(), P("i", nil) }, out_specs = P(), check_rep = false }))
    local w = values(1, 600, "f32")[0] / 1000
    local divided, want = np.device_put(x, mesh, P("i", nil)), w
    for _ = 1, 3 do
        w = step(w, divided)
        local each = {}
        for k = 0, 3 do each[k + 1] = np.grad(loss)(want, x[k]) end
        want = want - ((each[1] + each[2]) + (each[3] + each[4])) / 100
    end
    check.equal(w:totable(), want:totable())
end)

check.test("derivatives pass joins by, which are of blocks: gradients, of second order too, and forward", function()
    local mesh, x, weights = mesh_of(4), values(4, 300, "f32") / 1000, np.arange(300, { dtype = "f32" })
    local divided = np.device_put(x, mesh, P("i", nil))
    for _, name in ipairs { "psum", "all_gather" } do
        local map = np.shard_map(function(v) return np[name](v[0] ^ 3, "i") end,
            { mesh = mesh, in_specs = P("i", nil), out_specs = P(), check_rep = false })
        for _, f in ipairs { map, np.jit(map) } do
            local function weighted(v) return (f(v) * weights):sum() end
            local function slope(v) return (np.grad(weighted)(v) * weights):sum() end
            check.close(np.grad(weighted)(divided):totable(), (3 * x ^ 2 * weights):totable(), 1e-4)
            check.close(np.grad(slope)(divided):totable(), (6 * x * weights ^ 2):totable(), 1e-4)
            local cubes, tangent = 3 * x ^ 3, select(2, np.jvp(f, { divided }, { divided }))
            local want = name == "psum" and cubes:sum { axis = 0 } or cubes
            check.close(tangent:totable(), want:totable(), 1e-4)
        end
    end
end)

check.done()
