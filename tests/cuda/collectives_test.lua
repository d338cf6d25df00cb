--- collectives_test.lua (not under tsan): collectives of meshes over GPUs by NCCL, with the fake driver and a library
-- that stands in for it: the bits of the CPU, and without that library the same over one device, as np.explain says.
local check = require "tests.lib.check"
local with = require "tests.cuda.with_libraries"

local code = [[
    local P = np.P
    local mesh = np.mesh({ 4 }, { "i" })
    local x = (np.sin(np.arange(4 * 4 * 20000, { dtype = "f32" })) * 1000):reshape(4, 80000)
    local divided = np.device_put(x, mesh, P("i", nil))
    local function over(f, out)
        return np.jit(np.shard_map(f, { mesh = mesh, in_specs = P("i", nil), out_specs = out or P("i", nil) }))
    end
    local function show(y)
        local text = tostring(np.explain(y))
        print(y:sum():item(), y:min():item(), y:max():item(), np.bitcast(y, "i32"):sum():item())
        return text
    end
    local text = show(over(function(v) return np.psum(v, "i") * (np.axis_index "i" + 1) end)(divided))
    show(over(function(v) return np.all_gather(v[0], "i") * (np.axis_index "i" + 1) end)(divided))
    show(over(function(v) return np.psum_scatter(v:reshape(4, 20000), "i") end, P "i")(divided))
    show(over(function(v) return np.all_to_all(v:reshape(4, 20000), "i", 0, 0) end)(divided))
    local w = np.ones(80000) / 8
    local step = np.jit(np.shard_map(function(w, v)
        return w - np.psum(np.grad(function(w) return ((w * v[0] - 1) ^ 2):sum() end)(w), "i") / 1e7
    end, { mesh = mesh, in_specs = { P(), P("i", nil) }, out_specs = P(), check_rep = false }))
    for _ = 1, 4 do w = step(w, divided) end
    show(w)
    local results, line = {}, x[0] -- on meshes whose devices overlap: each round waits for none before
    for round = 1, 9 do
        local n = 2 + round * 7 % 11 % 3
        local part = np.mesh({ n }, { "i" })
        local spread = np.shard_map(function(v)
            return np.psum(v * (np.axis_index "i" + round), "i") * (np.axis_index "i" + 1) / 50
        end, { mesh = part, in_specs = P("i", nil), out_specs = P("i", nil) })
        results[round] = np.jit(spread)(np.device_put(x[":" .. n] + line, part, P("i", nil)))
        if round % 3 > 0 then line = np.device_put(results[round][0], np.devices()[1]) end
    end
    local joined = 0
    for round = 1, 9 do
        local said = ("goes to %d devices by a collective"):format(2 + round * 7 % 11 % 3)
        if show(results[round]):find(said, 1, true) then joined = joined + 1 end
    end
    if os.getenv "SAY" then
        local sum = tostring(np.explain(divided:sum { axis = 0 }))
        print(text:find("goes to 4 devices by a collective", 1, true) ~= nil and joined == 9,
              sum:find("all blocks are moved to one device: libnccl.so.2 is not installed", 1, true) ~= nil)
    end]]

local options = { "--device", "cuda", "--devices", "4", "-e", code }
local expected = with.output({}, { "--device", "cpu", "--devices", "4", "-e", code })

check.test("they give the bits of the CPU", function()
    check.equal(with.output({ NEAP_FAKE_DELAY = 30 }, options), expected)
    check.equal(with.output({ SAY = 1 }, options), expected .. "true\tfalse\n")
end)

check.test("without NCCL all blocks go to one device, and np.explain says so", function()
    check.equal(with.output({ SAY = 1, NEAP_CUDA_LIBRARIES = "/nowhere" }, options), expected .. "false\ttrue\n")
end)

check.done()
