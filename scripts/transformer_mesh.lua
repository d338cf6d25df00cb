--- transformer_mesh.lua: a transformer's block on a mesh of two axes, in the weight-gathered layout, trained for some
-- steps.
--
--     neap --devices 8 scripts/transformer_mesh.lua [options]
--     mpirun -n 4 neap --devices 2 scripts/transformer_mesh.lua
--
-- On the mesh {x, y} activations are divided by examples (x) and width (y), weights by heads (x) and width (y). So
-- no device has all of a weight, or of an example. The projection into the heads is written by hand (project_in): it
-- gathers its weight along x, and while the partial sums of one group of heads travel along y, the product of the next
-- group is computed. All the rest is what one would write for one device: which data moves follows from how arrays lie.
-- Both parts, their gradients and Adam are one program. --check compares the loss with that of one device.
-- docs/mesh-training.md goes through it.
local np = require "neap"
local P = np.P

local EXAMPLES, LENGTH, WIDTH, HEADS, DEPTH = 8, 32, 128, 8, 16

local options, fail = np.argparse(arg, {
    "Trains a transformer's block on a mesh of two axes.",
    { "mesh", "2x4", "XxY: devices along the axes x and y" },
    { "steps", 20, "training steps", min = 0 },
    { "lr", 0.003, "learning rate of Adam", min = 0 },
    { "check", false, "prints the loss of the same on one device first" },
})

local nx, ny = options.mesh:match "^(%d+)x(%d+)$"
nx, ny = tonumber(nx), tonumber(ny)
if not nx or nx * ny ~= #np.devices() or HEADS % nx ~= 0 or HEADS % ny ~= 0 then
    fail("--mesh %s is no mesh of %d devices whose axes divide %d heads", options.mesh, #np.devices(), HEADS)
end
local mesh = np.mesh({ nx, ny }, { "x", "y" })

-- ---- How arrays lie -------------------------------------------------------------------------------------------------

local ACTIVATIONS = P("x", nil, "y") -- examples, letters, width
local BY_HEAD = P("x", nil, nil, "y", nil) -- examples, letters, query key and value, heads, depth
local SPECS = {
    norm1 = { scale = P "y", shift = P "y" }, norm2 = { scale = P "y", shift = P "y" },
    project_in = P("y", nil, "x", nil), -- width, query key and value, heads, depth
    project_out = P("x", "y"),          -- heads and depth, width
    up = P("y", "x"), down = P("x", "y"),
}

local key, drawn = np.random.key(0), 0
local function normal(scale, ...)
    drawn = drawn + 1
    return np.random.normal(np.random.fold_in(key, drawn), { ... }) * scale
end

local function norm_params()
    return { scale = np.ones(WIDTH), shift = np.zeros(WIDTH) }
end

local whole = {
    norm1 = norm_params(), norm2 = norm_params(),
    project_in = normal(WIDTH ^ -0.5, WIDTH, 3, HEADS, DEPTH), project_out = normal(WIDTH ^ -0.5, HEADS * DEPTH, WIDTH),
    up = normal(WIDTH ^ -0.5, WIDTH, 4 * WIDTH), down = normal((4 * WIDTH) ^ -0.5, 4 * WIDTH, WIDTH),
}
local examples, wanted = normal(1, EXAMPLES, LENGTH, WIDTH), normal(1, EXAMPLES, LENGTH, WIDTH)

-- ---- By hand: the projection into the heads -------------------------------------------------------------------------

--- What each device does with its examples and part of the width (x), and its part of the weight. The sum over y goes
-- around in a ring: at each turn a device gets from its neighbour the sum so far for one group of heads, and adds its
-- own product for that group, which does not depend on what arrives: exchange and product overlap. In the last turn
-- the group is the device's own.
local project_in = np.shard_map(function(x, weight)
    weight = np.all_gather(weight, "x", { axis = 2, tiled = true })
    local groups = weight:reshape(WIDTH / ny, 3, ny, HEADS / ny, DEPTH)
    local own, ring = np.axis_index "y", {}
    for k = 0, ny - 1 do ring[k + 1] = { k, (k + 1) % ny } end
    local function product(turn)
        local group = np.take(groups, np.remainder(own + (2 * ny - 1 - turn), ny), { axis = 2 })
        return x:matmul(group:reshape(WIDTH / ny, -1))
    end
    local sum = product(0)
    for turn = 1, ny - 1 do
        sum = np.ppermute(sum, "y", ring) + product(turn)
    end
    return sum:reshape(x.shape[1], LENGTH, 3, HEADS / ny, DEPTH)
end, { mesh = mesh, in_specs = { ACTIVATIONS, SPECS.project_in }, out_specs = BY_HEAD })

--- The same on one device.
local function project_whole(x, weight)
    return x:matmul(weight:reshape(WIDTH, -1)):reshape(EXAMPLES, LENGTH, 3, HEADS, DEPTH)
end

-- ---- As on one device: the rest -------------------------------------------------------------------------------------

local function norm(p, x)
    local centered = x - x:mean { axis = -1, keepdims = true }
    return centered * np.rsqrt(np.square(centered):mean { axis = -1, keepdims = true } + 1e-5) * p.scale + p.shift
end

--- The block; `project` is one of the two projections, `lay` says how activations are to lie.
local function block(p, x, project, lay)
    local heads = np.permute_dims(project(norm(p.norm1, x), p.project_in), { 2, 0, 3, 1, 4 })
    local scores = heads[0]:matmul(np.swapaxes(heads[1], -1, -2)) / math.sqrt(DEPTH)
    local seen = np.swapaxes(np.softmax(scores):matmul(heads[2]), 1, 2)
    x = lay(x + seen:reshape(EXAMPLES, LENGTH, HEADS * DEPTH):matmul(p.project_out))
    return lay(x + np.nn.gelu(norm(p.norm2, x):matmul(p.up)):matmul(p.down))
end

local function loss_with(project, lay)
    return function(p, x, y) return np.square(block(p, x, project, lay) - y):mean() end
end

local loss_of = loss_with(project_in, function(x) return np.with_sharding_constraint(x, mesh, ACTIVATIONS) end)

-- ---- Training -------------------------------------------------------------------------------------------------------

local optimizer = np.optim.adam { lr = options.lr }
local step = np.jit(function(params, state, x, y)
    local loss, gradients = np.value_and_grad(loss_of)(params, x, y)
    params, state = optimizer:update(gradients, state, params)
    return params, state, loss
end, { donate = { 1, 2 } })

print(("mesh {x=%d, y=%d}, %d parameters"):format(nx, ny, np.tree.size(whole)))
if options.check then
    local alone = np.jit(loss_with(project_whole, function(x) return x end))(whole, examples, wanted)
    np.printf("loss on one device  %.6f\n", alone)
end
local params = np.device_put(whole, mesh, SPECS)
local state = np.device_put(optimizer:init(params), mesh, { m = SPECS, v = SPECS, step = P() })
local x, y = np.device_put(examples, mesh, ACTIVATIONS), np.device_put(wanted, mesh, ACTIVATIONS)
for k = 1, options.steps do
    local loss
    params, state, loss = step(params, state, x, y)
    np.printf("step %3d  loss %.6f\n", k, loss)
end
