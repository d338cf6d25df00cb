--- mpi_unreduced_test.lua: sums over axes of a mesh that are not done, over several processes: the same bits as in one
-- process of eight devices, whatever ends them; and where each device keeps a piece of a sum, only pieces are received.
-- Runs itself under mpirun.
local check = require "tests.lib.check"
local np = require "neap"

-- ---- What each process does: a line for each case -------------------------------------------------------------------

local function everything()
    local P = np.P
    local mesh = np.mesh({ 4, 2 }, { "i", "j" }, { explicit = true })
    np.set_mesh(mesh)
    local a = np.sin(np.arange(128, { dtype = "f32" })):reshape(8, 16)
    local weights = np.cos(np.arange(64, { dtype = "f32" })):reshape(8, 8)
    local function bits(x)
        x = np.device_put(x, mesh, P())
        return ("%.9g %.9g"):format((x * x):sum():item(), (x * weights):sum():item())
    end
    local function undone(axes)
        local spec = P { unreduced = axes }
        local x, y = np.device_put(a, P(nil, axes)), np.device_put(a.T, P(axes))
        local wide = np.device_put(a:reshape(8, 16, 1) * np.ones { 8 }, P(nil, axes))
        return { product = np.matmul(x, y, { out_sharding = spec }),
                 sum = np.sum(wide, { axis = 1, out_sharding = spec }) }
    end
    local layouts = { P(), P "i", P "j", P(nil, "i"), P(nil, "j"), P("i", "j"), P("j", "i"), P { "i", "j" },
                      P { "j", "i" }, P(nil, { "i", "j" }), P { unreduced = "j" } }
    for _, axes in ipairs { { "i" }, { "j" }, { "i", "j" } } do
        local terms_of = undone(axes)
        for _, what in ipairs { "product", "sum" } do
            local u = terms_of[what]
            local case = what .. " over " .. table.concat(axes, ",")
            for _, to in ipairs(layouts) do
                local made = np.reshard(u, to)
                print(case, tostring(made.sharding.spec), bits(np.reshard(made, P())))
            end
            print(case, "jitted", bits(np.jit(function(v) return np.reshard(v + v, P("i", "j")) end)(u)))
            local gradient = np.grad(function(w)
                local terms = np.matmul(np.device_put(a, P(nil, axes)), w, { out_sharding = P { unreduced = axes } })
                return (np.reshard(terms, P "i") ^ 2):sum()
            end)
            local whole = np.reshard(gradient(np.device_put(a.T, P(axes))), P())
            print(case, "gradient", bits(whole:reshape(2, 8, 8):sum { axis = 0 }))
        end
    end
    local f = np.jit(function(u) return np.reshard(u, P "i") end)
    f(undone({ "i" }).product)
    local received = tonumber(tostring(np.explain(f)):match "f32%[(%d+)%] = exchange" or 64)
    assert(received == 64 / math.min(np.process_count(), 4), received) -- of 64 elements
end

if arg and arg[1] == "run" then
    everything()
    return
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------

local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local missing = mpirun.missing()
if missing then
    check.skip("sums that are not done over several processes", missing)
    check.done()
end

local TEST = "tests/mesh/mpi_unreduced_test.lua"
local status, one, err = process.run_neap { "--devices", "8", TEST, "run" }
check.equal({ status, err }, { 0, "" })

for _, count in ipairs { 2, 4, 8 } do
    check.test(("sums that are not done over %d processes"):format(count), function()
        local of_all, all, all_err = mpirun.run(count, { "--devices", 8 / count, TEST, "run" })
        check.equal({ of_all, all_err }, { 0, "" })
        check.equal(all, one)
    end)
end

check.done()
