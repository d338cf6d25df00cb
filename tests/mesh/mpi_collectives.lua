-- mpi_collectives.lua: every collective over each axis of a mesh of eight devices, eager, jitted, in loops, and
-- differentiated; prints all elements of the results with all their digits. Run by mpi_collectives_test.lua, in one
-- process and in several, which must print the same.
local np = require "neap"
local P = np.P

-- Which process holds which device differs from mesh to mesh: in order, strided, and neither.
local devices = np.devices()
local function pick(places)
    local list = {}
    for k, place in ipairs(places) do list[k] = devices[place + 1] end
    return list
end
local meshes = {
    np.mesh({ 4, 2 }, { "i", "j" }),
    np.mesh({ 2, 4 }, { "j", "i" }, { devices = pick { 0, 2, 4, 6, 1, 3, 5, 7 } }),
    np.mesh({ 4, 2 }, { "i", "j" }, { devices = pick { 5, 0, 3, 6, 1, 7, 4, 2 } }),
}

local x = np.random.normal(np.random.key(7), { 8, 16 })
local w = np.random.normal(np.random.key(8), { 16, 8 })

local function show(name, value)
    local words = { name, table.concat(value.shape, "x") }
    for _, element in ipairs(value:reshape(-1):totable()) do words[#words + 1] = ("%.9g"):format(element) end
    print(table.concat(words, " "))
end

local cycle, shift = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 } }, { { 3, 1 }, { 0, 2 } }
local cases = {
    { "psum i", function(a) return np.psum(a, "i") end, P("i", "j"), P(nil, "j") },
    { "psum j", function(a) return np.psum(a, "j") end, P("i", "j"), P("i", nil) },
    { "psum ij", function(a) return np.psum(a, { "i", "j" }) end, P("i", "j"), P() },
    { "psum ji", function(a) return np.psum(a, { "j", "i" }) end, P("i", "j"), P() },
    { "psum of one axis", function(a) return np.psum(np.pvary(a, "i"), "i") end, P("j", nil), P("j", nil) },
    { "pmax", function(a) return np.pmax(a, "i") end, P("i", "j"), P(nil, "j") },
    { "pmin", function(a) return np.pmin(a, { "i", "j" }) end, P("i", "j"), P() },
    { "all_gather", function(a)
        return np.all_gather(a, "i", { axis = 1, tiled = true })
    end, P("i", "j"), P(nil, "j") },
    { "psum_scatter", function(a)
        return np.psum_scatter(np.pvary(a, "i"), "i", { scatter_dimension = 1, tiled = true })
    end, P("j", nil), P("j", "i") },
    { "all_to_all", function(a) return np.all_to_all(a, "i", 1, 0, { tiled = true }) end, P("i", "j"), P("i", "j") },
    { "ppermute i", function(a) return np.ppermute(a, "i", cycle) end, P("i", "j"), P("i", "j") },
    { "ppermute part", function(a) return np.ppermute(a, "i", shift) end, P("i", "j"), P("i", "j") },
    { "two that cross", function(a)
        local b, c = np.psum(a, "i"), np.ppermute(a, "j", { { 0, 1 }, { 1, 0 } })
        return np.ppermute(b * c, "j", { { 0, 1 }, { 1, 0 } }) + np.pmax(c, "i") * a
    end, P("i", "j"), P("i", "j") },
    { "loop", function(a)
        return (np.fori_loop(0, 3, function(_, c) return np.ppermute(np.tanh(np.psum(c, "j")) + c, "i", cycle) end, a))
    end, P("i", "j"), P("i", "j") },
}

for number, mesh in ipairs(meshes) do
    local function whole(value) return np.device_put(value, mesh, P()) end -- which every process can read
    for _, case in ipairs(cases) do
        local f = np.shard_map(case[2], { mesh = mesh, in_specs = { case[3] }, out_specs = case[4] })
        local name = ("mesh %d, %s"):format(number, case[1])
        show(name, whole(f(x)))
        show(name .. ", jitted", whole(np.jit(f)(x)))
    end
    local talks = np.shard_map(function(a)
        return (np.fori_loop(0, 2, function(k, c)
            local sum = np.psum(c, "i")
            print("turn", k, sum:sum())
            return np.tanh(c + 0.01 * sum)
        end, a))
    end, { mesh = mesh, in_specs = { P("i", nil) }, out_specs = P("i", nil) })
    show(("mesh %d, a loop that prints"):format(number), whole(talks(x)))
    show(("mesh %d, a loop that prints, jitted"):format(number), whole(np.jit(talks)(x)))
    local loss = np.shard_map(function(a, b) return np.psum(np.tanh(np.psum(a:matmul(b), "j")), "i"):sum() end,
        { mesh = mesh, in_specs = { P("i", "j"), P("j", nil) }, out_specs = P() })
    for k, gradient in ipairs { np.jit(np.grad(loss, { argnums = { 1, 2 } }))(x, w) } do
        show(("mesh %d, gradient %d"):format(number, k), whole(gradient))
    end
end
