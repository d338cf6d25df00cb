--- sized_programs.lua: seeded random functions of arrays whose sizes are names, for tests of programs for every size.
--
--     local f, text = sized_programs.draw(17)
--     f(unpack(sized_programs.arguments(17, n, m)))     -- arrays of shapes (n, m), (n,), (m,), (2n + 1,)
--     sized_programs.SIZES                              -- what is declared of them
--     local f, text, direct = sized_programs.draw(17, 2)   -- f calls recorded programs, which call others; direct
--                                                       -- calls their functions instead
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
        return np.while_loop(function(c) return c[1]:lt(x.shape[1]) end,
                             function(c) return { c[1] + 1, c[2] * 0.5 + c[1] } end, { 0, x })[2]
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
    function(x)
        local starts, counts = {}, x.shape
        for k = 1, #counts do starts[k] = 0 end
        counts[1] = math.min(3, math.max(1, counts[1] - 1))
        return np.dynamic_slice(x, starts, counts)
    end,
    function(x) return np.median(x, { axis = 0, keepdims = true }) end,
}

local PAIRS = { -- of two arrays of one shape, or where one broadcasts
    function(x, y) return x + y end,
    function(x, y) return np.minimum(x, y * 0.5) end,
    function(x, y) return np.where(x:gt(y), x, y) end,
}

-- ---- Programs inside ------------------------------------------------------------------------------------------------

local function flat(x) return x:reshape(-1) end

-- What is declared of a program's argument, a shape of it, and an argument of that form of any array.
local DECLARED = {
    { { "a" }, { 5 }, flat },
    { { "a", "b" }, { 4, 3 }, function(x) return x:reshape(x.shape[1], -1) end },
    { { "b", "a" }, { 3, 5 }, function(x) return np.transpose(x:reshape(x.shape[1], -1)) end },
    { { "2*a + 1" }, { 7 }, function(x) return np.concatenate { flat(x), flat(x), np.ones(1) } end },
    { { "2*a" }, { 6 }, function(x) return np.concatenate { flat(x), flat(x) } end },
    { { "a + 1" }, { 6 }, flat },
    { { 3, "a" }, { 3, 4 }, function(x) return np.stack { flat(x), flat(x) * 2, flat(x) + 1 } end },
    { { "a + b", "a" }, { 7, 4 }, function(x)
        local y = x:reshape(x.shape[1], -1)
        return np.concatenate({ y, np.ones { last(y), last(y) } }, { axis = 0 })
    end },
}

local draw_steps, run_steps

--- A random program of one array and the function that it was made of, each as a step. levels: how deep it calls
-- others.
local function draw_program(random, levels)
    local form = DECLARED[random(#DECLARED)]
    local plan, text = draw_steps(random, 1 + random(3), 1, levels - 1)
    local function f(x) return run_steps(plan, { x }, "called") end
    local traced, program = pcall(np.trace(f, { sizes = { form[1] } }), leaf(random(9), form[2]))
    if not traced then program = f end
    return { called = function(x) return program(form[3](x)) end,
             direct = function(x) return run_steps(plan, { form[3](x) }, "direct") end },
           ("[%s of %s]"):format(text, table.concat(form[1], ","))
end

local KINDS = { "map", "map", "map", "shape", "pair", "product" }

--- `count` steps behind `given` arrays. Returns them and their text.
function draw_steps(random, count, given, levels)
    local plan, text = {}, {}
    for k = 1, count do
        local kind = levels > 0 and random(2) == 1 and "call" or KINDS[random(6)]
        local one = { kind = kind }
        local number
        if kind == "call" then
            one.step, number = draw_program(random, levels)
        else
            local list = kind == "map" and MAPS or kind == "shape" and SHAPES or PAIRS
            number = random(#list)
            one.step = list[number]
        end
        one.from, one.with, one.k = random(given + k - 1), random(given + k - 1), random(4)
        plan[k], text[k] = one, ("%s %s of %d, %d"):format(kind, number, one.from, one.with)
    end
    return plan, table.concat(text, "; ")
end

--- Appends what the steps give to a list of arrays; returns the last. way: "called" or "direct", of programs inside.
function run_steps(plan, arrays, way)
    local first = arrays[1]
    for _, one in ipairs(plan) do
        local x, y = arrays[one.from], arrays[one.with]
        if x.ndim == 0 or x.ndim > 3 then x = first end
        local result
        if one.kind == "pair" then
            result = one.step(x, y.ndim == 0 and y or np.sin(x) * y:sum())
        elseif one.kind == "product" then
            local rows = x.ndim == 1 and x[{ np.newaxis }] or x
            result = np.matmul(rows, np.matrix_transpose(rows)) / last(rows)
        elseif one.kind == "call" then
            result = one.step[way](x)
        else
            result = one.step(x, y, one.k)
        end
        arrays[#arrays + 1] = result
    end
    return arrays[#arrays]
end

--- Something of all arrays in the end, so that nothing is dropped.
local function summary(x)
    return x:sum() / x.size + x:max()
end

--- A random function of the four arrays, which calls recorded programs `levels` deep (none). Returns it, its text, and
-- the function that calls functions in their place.
function sized_programs.draw(seed, levels)
    local random = seeds.generator(seed)
    local plan, text = draw_steps(random, 3 + random(4), 4, levels or 0)
    local function function_of(way)
        return function(...)
            local arrays, total = { ... }, 0
            local result = run_steps(plan, arrays, way)
            for k = 1, #arrays do total = total + summary(arrays[k]) * k end
            return result, total
        end
    end
    return function_of "called", text, function_of "direct"
end

return sized_programs
