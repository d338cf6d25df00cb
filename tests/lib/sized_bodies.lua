--- sized_bodies.lua: seeded random functions with bodies of np.shard_map, for tests of programs for every size; with
-- four devices.
--
--     local f, text = sized_bodies.draw(17)
--     f(unpack(sized_bodies.arguments(n, m)))     -- arrays of shapes (4n, 4) and (m,)
--     sized_bodies.SIZES                          -- what is declared of them
--     sized_bodies.functions                      -- the functions that callbacks call, by name
--
-- A body keeps a block of two axes, and each step gives the next one: collectives over one or several axes of the mesh,
-- loops, branches, batches and gradients with collectives in them, bodies inside the body, numbers that are sizes of
-- blocks, programs that are called, callbacks.
local seeds = require "tests.lib.seeds"
local np = require "neap"

local P = np.P
local sized_bodies = { SIZES = { { "4*n", 4 }, { "m" } }, seen = {} }

--- Values that depend on the shape alone: quarters between -2 and 2.
local function leaf(k, dims, size)
    local x = (np.arange(size, { dtype = "i32" }) * (7 + 2 * k) + 3 * k) % 17 - 8
    return (x:astype "f32" / 4):reshape(dims):wait()
end

function sized_bodies.arguments(n, m)
    return { leaf(1, { 4 * n, 4 }, 16 * n), leaf(2, { m }, m) }
end

-- What a callback gets is kept in `seen`, where the devices' calls may come in any order.
sized_bodies.functions = {
    note = function(v) table.insert(sized_bodies.seen, ("%.17g"):format(v:sum():item())) end,
    twice = function(v) return v * 2 end,
}

--- What callbacks have got since the last call of this, as text.
function sized_bodies.take_seen()
    np.effects_barrier()
    local seen = sized_bodies.seen
    sized_bodies.seen = {}
    table.sort(seen)
    return table.concat(seen, " ")
end

-- ---- Programs that bodies call --------------------------------------------------------------------------------------

local scaled = np.trace(function(u) return np.tanh(u) * u.shape[1] end, { sizes = { { "r", 4 } } })(np.ones { 3, 4 })
local row_program = np.trace(function(r) return r * 2 - r:max() end)(np.ones(4))
local jitted = np.jit(function(u) return u * 0.5 + 1 end)

-- ---- Steps: of a block v, the axes that a collective is over, their size, the array m that all devices share --------

local function grow(v, over)
    return np.while_loop(function(a) return np.pmax(a:max(), over):lt(8) end,
                         function(a) return np.abs(a) * 2 + 1 end, v)
end

local STEPS = {
    function(v, over) return v + np.psum(v * 2, over) end,
    function(v, over) return v - np.pmean(v, over) end,
    function(v, over) return np.pmax(v, over) - np.pmin(v, over) + v end,
    function(v, over) return np.all_gather(v, over):sum { axis = 0 } * v end,
    function(v, over) return np.all_gather(v, over, { tiled = true }):sum { axis = 0 } / 4 + v end,
    function(v, over) return np.psum_scatter(np.all_gather(v, over), over) end,
    function(v, over, size)
        return np.psum_scatter(np.tile(v, { size, 1 }), over, { tiled = true }) + v
    end,
    function(v, over, size)
        local pairs_of = {}
        for k = 0, size - 2 do pairs_of[k + 1] = { k, k + 1 } end
        return np.ppermute(v, over, pairs_of) + v * 0.5
    end,
    function(v, over) return np.all_to_all(np.all_gather(v, over), over, 0, 0):sum { axis = 0 } + v end,
    function(v, over, size)
        return np.all_to_all(np.tile(v, { size, 1 }), over, 0, 0, { tiled = true })[{ { 0, v.shape[1] } }]
    end,
    function(v, over) return np.pvary(np.psum(v, over), over) * 0.5 + v end,
    function(v, over)
        return v + np.axis_index(type(over) == "table" and over[1] or over) * v.shape[1]
    end,
    function(v, over) return v + np.psum(np.axis_index(type(over) == "table" and over[1] or over) * 2, over) end,
    function(v) return v / v.shape[1] end,
    function(v) return v.shape[1] > 2 and v * 2 or v + 1 end,
    function(v) return np.concatenate { v, v * 0.5 } end,
    function(v) return v[{ { math.floor(v.shape[1] / 2) } }] end,
    function(v, _, _, m) return v + m:sum() / m.shape[1] end,
    function(v, over)
        local carry, all = np.scan(function(c, row) return c + np.psum(row, over), c * row end, np.zeros(4), v)
        return all + carry
    end,
    function(v, over)
        return np.fori_loop(0, v.shape[1], function(k, c) return c * 0.5 + np.pmean(c, over) + k end, v)
    end,
    function(v, over)
        return np.cond(np.psum(v:sum(), over):gt(0), function(a) return np.psum(a, over) + a end,
                       function(a) return a * 2 end, v)
    end,
    grow,
    function(v, over) return np.grad(function(u) return np.psum((u * u * v):sum() / v.shape[1], over) end)(v) end,
    function(v, over, _, m)
        return v + np.grad(function(w) return np.psum((v:sum() * w):sum(), over) end)(m):sum()
    end,
    function(v, over) return np.vmap(function(row) return row * np.psum(row:sum(), over) end)(v) end,
    function(v) return np.vmap(function(row) return row - np.psum(row, "e") end, { axis_name = "e" })(v) end,
    function(v, over) return np.jit(function(u) return np.psum(u, over) + u * u.shape[1] end)(v) end,
    function(v, over) return np.checkpoint(function(u) return np.psum(np.sin(u), over) * u end)(v) end,
    function(v) return jitted(v) end,
    function(v) return scaled(v) end,
    function(v) return v + row_program(v[0]) end,
    function(v) return v + np.random.normal(np.random.key(3), v.shape) end,
    function(v, over)
        return select(2, np.jvp(function(u) return np.psum(u * u, over) * u end, { v }, { np.ones_like(v) }))
    end,
    function(v)
        np.callback(sized_bodies.functions.note, { name = "note" })(v)
        return v
    end,
    function(v)
        local result = { shape = {}, dtype = "f32" }
        return v + np.callback(sized_bodies.functions.twice, { name = "twice", result = result })(v:sum())
    end,
    function(v, over)
        pcall(function() return np.psum(v, over):reshape(7) end)
        return v
    end,
}

--- Random steps, and their text. ends: none of them goes on as long as a condition says.
local function draw_steps(random, count, ends)
    local plan, text = {}, {}
    for k = 1, count do
        local step, which = random(#STEPS), random(1000)
        if ends and STEPS[step] == grow then step = 1 end
        plan[k], text[k] = { step = step, over = which }, step
    end
    return plan, table.concat(text, " ")
end

local function run_steps(plan, v, m, axes)
    for _, one in ipairs(plan) do
        local over = axes[one.over % #axes + 1]
        v = STEPS[one.step](v, over.names, over.size, m)
    end
    return v
end

-- ---- Functions ------------------------------------------------------------------------------------------------------

local line, square = np.mesh({ 4 }, { "i" }), np.mesh({ 2, 2 }, { "a", "b" })
local LINE = { { names = "i", size = 4 } }
local SQUARE = { { names = "a", size = 2 }, { names = { "a", "b" }, size = 4 }, { names = "b", size = 2 },
                 { names = { "b", "a" }, size = 4 } }
local A, B = { { names = "a", size = 2 } }, { { names = "b", size = 2 } }

local function mapped(f, mesh, spec, o)
    return np.shard_map(f, { mesh = mesh, in_specs = { spec, P() }, out_specs = spec, check_rep = o.check_rep,
                             axis_names = o.axis_names })
end

-- By number, what maps a plan over an array.
local FORMS = {
    function(plan, o)
        return mapped(function(v, m) return run_steps(plan, v, m, LINE) end, line, P "i", o), line, P "i"
    end,
    function(plan, o)
        return mapped(function(v, m) return run_steps(plan, v, m, SQUARE) end, square, P { "a", "b" }, o), square,
               P { "a", "b" }
    end,
    function(plan, o) -- arrays are whole over b
        o.axis_names = { "a" }
        return mapped(function(v, m) return run_steps(plan, v, m, A) end, square, P "a", o), square, P("a", "b")
    end,
    function(plan, o, inner) -- a body in a body
        o.axis_names = { "a" }
        return mapped(function(v, m)
            v = run_steps(plan, v, m, A)
            local inside = mapped(function(u, w) return run_steps(inner, u, w, B) end, square, P "b",
                                  { check_rep = o.check_rep })
            return inside(np.concatenate { v, v }, m) + m:sum()
        end, square, P "a", o), square, P("a")
    end,
}

-- What is done with the map f of an array x.
local AROUND = {
    function(f, x, m) return f(x, m) end,
    function(f, x, m) return f(x, m) * x.shape[1], f(x * 2, m):sum() end,
    function(f, x, m) return np.grad(function(v) return f(v, m):sum() / v.shape[1] end)(x) end,
    function(f, x, m) return np.vmap(function(k) return f(x * k, m) end)(np.array { 1, 2, 3 } / 2) end,
    function(f, x, m, mesh, spec) return f(np.device_put(x, mesh, spec), m) end,
    function(f, x, m) return f(f(x, m), m + 1) end,
    function(f, x, m) return np.jit(function(v, w) return f(v, w) + 1 end)(x, m) end,
}

--- A random function of the two arrays, and its text. ends: its loops end, whatever the numbers in it are.
function sized_bodies.draw(seed, ends)
    local random = seeds.generator(seed)
    local form, around = random(#FORMS), random(2) == 1 and 1 or random(#AROUND)
    local plan, text = draw_steps(random, 1 + random(3), ends)
    local inner, more = draw_steps(random, random(2), ends)
    local o = { check_rep = random(4) > 1 }
    local f, mesh, spec = FORMS[form](plan, o, inner)
    return function(x, m) return AROUND[around](f, x, m, mesh, spec) end,
           ("form %d, around %d, steps %s / %s%s"):format(form, around, text, more, o.check_rep and "" or ", unchecked")
end

return sized_bodies
