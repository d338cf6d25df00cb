--- hosts_train.lua: what hosts_test.sh runs on several hosts: trains a line, data-parallel, and saves a checkpoint
-- after each step; goes on from the checkpoint if there is one.
--
--     neap tests/mesh/hosts_train.lua FOLDER STEPS [PAUSE]
--
-- FOLDER: of the checkpoint; PAUSE: seconds between steps.
local folder, steps, pause = ...
local P = np.P
local mesh = np.mesh({ #np.devices() }, { "data" })

local slope = np.jit(np.shard_map(function(w, x, y)
    local loss, gradient = np.value_and_grad(function(v) return ((x:matmul(v) - y) ^ 2):sum() end)(w)
    return np.psum(loss, "data"), gradient -- which is summed over what shares w
end, { mesh = mesh, in_specs = { P(), P "data", P "data" }, out_specs = { P(), P() } }))

local state = { w = np.zeros { 8 }, step = 0 }
if io.open(folder .. "/manifest.json") then
    state = np.io.load_checkpoint(folder, { mesh = mesh })
    print("goes on behind step", state.step)
end

for step = state.step + 1, tonumber(steps) do
    local x = np.random.normal(np.random.key(step), { 64, 8 })
    local y = x:matmul(np.arange(8):astype "f32")
    local loss, gradient = slope(np.device_put(state.w, mesh, P()), np.device_put(x, mesh, P "data"),
                                 np.device_put(y, mesh, P "data"))
    state = { w = state.w - gradient * 0.004, step = step }
    print("step", step, ("%.9g"):format(loss:item()))
    io.stdout:flush()
    np.io.save_checkpoint(folder, state)
    if pause then os.execute("sleep " .. pause) end
end
