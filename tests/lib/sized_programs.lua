--- sized_programs.lua: seeded random functions of arrays whose sizes are names, for tests of programs for every size.
--
--     local f, text = sized_programs.draw(17)
--     f(unpack(sized_programs.arguments(17, n, m)))     -- arrays of shapes (n, m), (n,), (m,), (2n + 1,)
--     sized_programs.SIZES                              -- what is declared of them
--
-- A function keeps a list of arrays, and each step adds one: maps, reductions, views, slices with bounds that are
-- computed from sizes, joins, pads, loops whose length is a size, batches, gradients, branches of Lua on sizes, numbers
-- that are sizes. A step that the arrays at hand do not fit does something else, by their ranks alone, so that what is
-- drawn does not depend on sizes.
local seeds = require "tests.lib.seeds"
local np = require "neap"

local sized_programs = {}

sized_programs.SIZES = { { "n", "m" }, { "n" }, { "m" }, { "2*n + 1" } }

--- Values that depend on the shape alone: quarters between -4 and 4.
local function leaf(k, dims)
    local size = 1
    for _, n in ipairs(dims) do size = size * n end
    local x = (np.arange(size, { dtype = "i32" }) * (7 + 2 * k) + 3 * k) % 33 - 16
    return (x:astype "f32" / 4):reshape(dims):wait()
end

function sized_programs.arguments(seed, n, m)
    return { leaf(seed % 5, { n, m }), leaf(seed % 7 + 1, { n }), leaf(seed % 11 + 2, { m }),
             leaf(seed % 3 + 3, { 2 * n + 1 }) }
end

local function last(x) return x.shape[#x.shape] end

-- ---- Steps: of an array x of one axis or two, another one y of any rank, and a small number k -----------------------

local MAPS = {
    function(x) return np.sin(x) end,
    function(x, _, k) return x * k - 1 end,
    function(x) return x * x.shape[1] end,
    function(x) return x / last(x) end,
    function(x) return x + math.floor(x.shape[1] / 2) end,
    function(x) return np.where(x:gt(0), x, -x * 0.5) end,
    function(x) return np.maximum(x, x.size / 4) end,
    function(x) return x:astype "i32":astype "f32" end,
    function(x) return x - x:mean() end,
    function(x) return x / (1 + x:max { axis = -1, keepdims = true }) end,
    function(x) return np.nn.softmax(x) end,
    function(x) return x - x:mean { axis = 0 } end,
    function(x) return np.cumsum(x, { axis = 0 }) end,
    function(x) return np.flip(x, { axis = 0 }) end,
    function(x) return np.sort(x, { axis = -1 }) end,
    function(x) return x + np.arange(last(x)):astype "f32" end,
    function(x) return x * np.ones(x.shape) + np.zeros { last(x) } end,
    function(x) return x:at { 0 }:set(1) end,
    function(x) return x:at { { 0, math.floor(x.shape[1] / 2) } }:add(2) end,
    function(x) return x:at { x.shape[1] - 1 }:mul(3) end,
    function(x) return x * (x.shape[1] % 3) end,
    function(x) return x.shape[1] > 3 and x * 2 or x + 1 end,
    function(x) return last(x) % 2 == 0 and x + 1 or x - 1 end,
    function(x, _, k)
        return np.fori_loop(0, x.shape[1], function(i, c) return c * 0.5 + i + k end, x)
    end,
    function(x)
        local _, rows = np.scan(function(c, row) return c + row:sum(), row * 0.5 + c end, 0.0, x)
        return rows
    end,
    function(x) return np.vmap(function(row) return row * 2 + row:sum() end)(x) end,
    function(x) return np.cond(x:sum():gt(0), function(v) return v + 1 end, function(v) return v * 2 end, x) end,
    function(x) return np.grad(function(v) return (v * v * v):mean() + v:sum() / v.shape[1] end)(x) end,
    function(x) return np.grad(function(v) return np.nn.softmax(v):max { axis = -1 }:sum() end)(x) end,
    function(x)
        return np.grad(function(v)
            local c = np.scan(function(c, row) return c * 0.5 + (row * row):mean(), c end, 0.0, v)
            return c
        end)(x)
    end,
    function(x) return np.jit(function(v) return v * v.shape[1] + 1 end)(x) end,
    function(x) return np.checkpoint(function(v) return np.tanh(v) * 2 end)(x) end,
    function(x)
        local _, c = np.while_loop(function(i) return i:lt(x.shape[1]) end,
                                   function(i, c) return i + 1, c * 0.5 + i end, 0, x)
        return c
    end,
    function(x) return x + np.random.uniform(np.random.key(3), x.shape) end,
    function(x) return x * np.random.normal(np.random.key(4), { last(x) }) end,
    function(x) return np.where(np.arange(last(x)):lt(last(x) / 2), x, 0) end,
    function(x) return np.nn.one_hot(np.argmax(x, { axis = -1 }), last(x)):sum { axis = 0 } * x end,
    function(x) return np.einsum("...i,...i->...", x, x):reshape(-1, 1):sum() + x end,
    function(x) return np.interp(x, np.linspace(-4, 4, last(x) + 1), np.linspace(0, 1, last(x) + 1)) end,
    function(x)
        return np.vmap(np.grad(function(r) return (r * r):sum() / r.shape[1] end))(x:reshape(x.shape[1], -1))
    end,
    function(x) return np.jvp(function(v) return np.sin(v) / v.shape[1] end, { x }, { np.ones_like(x) }) end,
}

local SHAPES = {
    function(x) return x:sum { axis = 0 } end,
    function(x) return x:max { axis = -1 } end,
    function(x) return x:reshape(-1) end,
    function(x) return x:reshape(x.size, 1) end,
    function(x) return np.transpose(x) end,
    function(x) return np.concatenate { x, x } end,
    function(x) return np.concatenate { x, np.ones(x.shape) * x.shape[1] } end,
    function(x) return np.stack { x[0], x[-1] } end,
    function(x) return np.pad(x, 1) end,
    function(x) return x[{ { 0, math.max(1, x.shape[1] - 1) } }] end,
    function(x) return x[{ { 0, x.shape[1], 2 } }] end,
    function(x) return x[{ { math.floor(x.shape[1] / 2) } }] end,
    function(x) return x[{ {}, np.newaxis }] end,
    function(x) return np.take(x, np.arange(math.ceil(x.shape[1] / 2)), { axis = 0 }) end,
    function(x) return np.repeat_(x, 2, { axis = 0 }) end,
    function(x) return np.tile(x, 2) end,
    function(x) return np.diff(x, { axis = 0 }) end,
    function(x) return np.roll(x, 1) end,
    function(x) return x[{ { nil, nil, -1 } }] end,
    function(x) return np.broadcast_to(x, { 2, unpack(x.shape) }) end,
    function(x) return x:reshape(1, x.size):sum { axis = 0 }:reshape(x.shape) end,
    function(x) return np.median(x, { axis = 0, keepdims = true }) end,
}

local PAIRS = { -- of two arrays of one shape, or where one broadcasts
    function(x, y) return x + y end,
    function(x, y) return np.minimum(x, y * 0.5) end,
    function(x, y) return np.where(x:gt(y), x, y) end,
}

--- Something of all arrays in the end, so that nothing is dropped.
local function summary(x)
    return x:sum() / x.size + x:max()
end

--- A random function of the four arrays. Returns it and its text.
function sized_programs.draw(seed)
    local random = seeds.generator(seed)
    local plan, text = {}, {}
    for k = 1, 3 + random(4) do
        local kind = ({ "map", "map", "map", "shape", "pair", "product" })[random(6)]
        local list = kind == "map" and MAPS or kind == "shape" and SHAPES or PAIRS
        local number = random(#list)
        plan[k] = { kind = kind, step = list[number], from = random(3 + k), with = random(3 + k), k = random(4) }
        text[k] = ("%s %d of %d, %d"):format(kind, number, plan[k].from, plan[k].with)
    end
    local function f(...)
        local arrays = { ... }
        for _, one in ipairs(plan) do
            local x, y = arrays[one.from], arrays[one.with]
            if x.ndim == 0 or x.ndim > 3 then x = arrays[1] end
            if one.kind == "pair" then
                y = y.ndim == 0 and y or np.sin(x) * y:sum()
                arrays[#arrays + 1] = one.step(x, y)
            elseif one.kind == "product" then
                local flat = x.ndim == 1 and x[{ np.newaxis }] or x
                arrays[#arrays + 1] = np.matmul(flat, np.matrix_transpose(flat)) / last(flat)
            else
                arrays[#arrays + 1] = one.step(x, y, one.k)
            end
        end
        local total = 0
        for k = 1, #arrays do total = total + summary(arrays[k]) * k end
        return arrays[#arrays], total
    end
    return f, table.concat(text, "; ")
end

return sized_programs
