--- mpi_garbage.lua: the program of mpi_life_test.lua in which garbage is collected at random moments, others on each
-- process: collectives, whose order must not depend on that, of arrays that nobody holds for long.
local rounds = tonumber((...))
local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local seed = 7 + 1000 * np.process_index()

--- Collects, sometimes.
local function maybe()
    seed = seed * 16807 % 2147483647
    if seed % 5 == 0 then collectgarbage() elseif seed % 5 < 3 then collectgarbage("step", seed % 400) end
    local _ = seed % 3 == 0 and { np.ones(100):sum(), np.arange(1000) * 2 } -- garbage
end

local function body(w, x)
    maybe()
    local h = np.psum(w:matmul(x), "j")
    maybe()
    local all = np.all_gather(h, "i", { tiled = true })
    maybe()
    return h * 0.5 + np.psum_scatter(all, "i", { tiled = true }) * 0.125, np.pmax(h:sum(), { "i", "j" })
end

local step = np.shard_map(body, { mesh = mesh, in_specs = { P("i", "j"), P("j") }, out_specs = { P "i", P() } })
local jitted = np.jit(step)
local loss = np.grad(function(w, x) return (step(w, x) ^ 2):sum() end)

local w = np.device_put(np.arange(64, { dtype = "f32" }):reshape(8, 8) / 64, mesh, P("i", "j"))
local x = np.device_put(np.ones { 8, 4 }, mesh, P "j")
for k = 1, rounds do
    local y, most = (k % 3 == 0 and jitted or step)(w, x)
    maybe()
    x = np.device_put(y / most, mesh, P "j")
    if k % 7 == 0 then w = w - loss(w, x) * 0.001 end
    maybe()
    if k % 5 == 0 then print(k, most, x:sum()) end
    if k % 11 == 0 and np.process_index() == k % 4 then most:item() end
end
print(x, w:sum():item())
