--- loop_nests.lua: random nests of loops and branches with collectives, callbacks and prints in the body of
-- np.shard_map, each run in two ways: by np.scan and its kin, and by loops and branches of Lua, which record op by op
-- what the nest means.
--
--     local nest = nests.draw(seed)
--     local called = nests.run(nest, mesh, "lua")      -- "lua", "loops" or "jit"; prints the nest's result
--
-- What a run prints, calls and computes must not depend on the way. `called` has what callbacks were called with, in a
-- list for each order: "callback" (that of the program), "own" (a kind with an order of its own), and "any" (unordered
-- ones), which is sorted. At every step arrays are the device's own: a callback of one is called for each device, one
-- of a sum once.
local np = require "neap"
local seeds = require "tests.lib.seeds"

local nests = {}

local AXIS = "i"
local SPEC = { shape = { 2 } }

-- ---- Drawing --------------------------------------------------------------------------------------------------------

local STEPS = { "sum", "shift", "gather", "ask", "ask", "ask_same", "tell", "tell_same", "show", "show_same", "pure" }
local LOOPS = { "scan", "fori", "while", "cond" }
local DOES = { "nothing", "reads", "computes", "prints", "calls", "waits", "loops" }

local function draw_block(draw, nest, depth)
    local block = {}
    for k = 1, draw(3) + (depth == 0 and 1 or 0) do
        local loop = depth < 3 and (depth == 0 and k == 1 or draw(3) == 1)
        local step = { what = loop and LOOPS[draw(#LOOPS)] or STEPS[draw(#STEPS)], does = DOES[draw(#DOES)],
                       order = ({ "callback", "callback", "own", "any" })[draw(4)], turns = draw(3) }
        nest.n = nest.n + 1
        step.id = nest.n
        if loop then step.body = draw_block(draw, nest, depth + 1) end
        if step.what == "cond" then step.other = draw_block(draw, nest, depth + 1) end
        block[k] = step
    end
    return block
end

--- A nest: a list of steps, of which loops and branches have lists of their own.
function nests.draw(seed)
    local nest = { n = 0 }
    nest.block = draw_block(seeds.generator(seed), nest, 0)
    return nest
end

--- The nest as a text, of one line.
function nests.show(block)
    local parts = {}
    for k, step in ipairs(block) do
        parts[k] = ("%s %d %s %s %d"):format(step.what, step.id, step.does, step.order, step.turns)
        if step.body then parts[k] = parts[k] .. " {" .. nests.show(step.body) .. "}" end
        if step.other then parts[k] = parts[k] .. " else {" .. nests.show(step.other) .. "}" end
    end
    return table.concat(parts, "; ")
end

-- ---- Callbacks ------------------------------------------------------------------------------------------------------

local OPTIONS = { callback = {}, own = { kind = np.effects.kind("own", { order = "own" }) }, any = { ordered = false } }
local inner = np.callback(function(v) return v + 1 end, { result = SPEC })
local called

--- What the function of a callback does besides.
local function do_inside(step, v)
    local does = step.does
    if does == "reads" then return (v * 2):sum():item() end
    if does == "computes" then return np.linspace(0, 1, 100):cumsum()[99]:item() + np.jit(np.sum)(v):item() end
    if does == "calls" then return inner(v):totable()[1] end
    if does == "waits" then return np.effects_barrier() end
    if does == "loops" then return np.fori_loop(0, 3, function(_, c) return inner(c) * 0.5 end, v):sum():item() end
    -- what one of several devices prints is seen of the first process alone, and other orders mix with that of prints
    local seen = does == "prints" and step.what:find "same" and step.order == "callback"
    if seen then print("inside", step.id, v) end
end

local function note(step, at, v)
    local list = called[step.order]
    list[#list + 1] = ("%d %s %a %a"):format(step.id, at and at[AXIS] or "", v[0]:item(), v[1]:item())
end

--- The function of a step: of the coordinates, if it is called for each device, and an array.
local function function_of(step)
    local same = step.what:find "same"
    return function(...)
        local at, v = nil, (...)
        if not same then at, v = ... end
        note(step, at, v)
        do_inside(step, v)
        return v * 0.25 + step.id / 16
    end
end

local function callback_of(step, result)
    local options = { result = result, coordinates = not step.what:find "same" or nil }
    for name, value in pairs(OPTIONS[step.order]) do options[name] = value end
    return np.callback(function_of(step), options)
end

-- ---- Steps ----------------------------------------------------------------------------------------------------------

local steps = {}

--- Applies a block to an array of the device's own; the result is one again, of about the same size.
local function apply(block, c, x, way)
    for _, step in ipairs(block) do
        c = steps[step.what](step, c, x, way)
        c = (c + x * 0.125) / (1 + np.abs(c))
    end
    return c
end

function steps.sum(_, c) return c * 0.5 + np.psum(c, AXIS) * 0.125 end
function steps.gather(_, c) return c - np.all_gather(c, AXIS):max { axis = 0 } end

function steps.shift(_, c, _, way)
    local ring = {}
    for k = 0, way.size - 1 do ring[k + 1] = { k, (k + 1) % way.size } end
    return np.ppermute(c, AXIS, ring)
end

function steps.ask(step, c) return c * 0.5 + callback_of(step, SPEC)(c) end
function steps.ask_same(step, c) return c * 0.5 + callback_of(step, SPEC)(np.psum(c, AXIS)) end

function steps.tell(step, c)
    callback_of(step)(c)
    return c
end

function steps.tell_same(step, c)
    callback_of(step)(np.psum(c, AXIS))
    return c
end

function steps.show(step, c)
    print("show", step.id, c)
    return c
end

function steps.show_same(step, c)
    print("all", step.id, np.psum(c, AXIS))
    return c
end

function steps.pure(step, c)
    return c + np.pure_callback(function(v)
        do_inside(step, v)
        return v * 0.5
    end, SPEC)(c)
end

steps["scan"] = function(step, c, x, way)
    local weights = {}
    for k = 1, step.turns do weights[k] = k / 4 end
    if not way.lua then
        return (np.scan(function(a, w) return apply(step.body, a * w, x, way) end, c, np.array(weights)))
    end
    for _, w in ipairs(weights) do c = apply(step.body, c * w, x, way) end
    return c
end

steps["fori"] = function(step, c, x, way)
    if not way.lua then return np.fori_loop(0, step.turns, function(_, a) return apply(step.body, a, x, way) end, c) end
    for _ = 1, step.turns do c = apply(step.body, c, x, way) end
    return c
end

--- Goes on while the sum over all devices, in which the turns count, is small: the condition has a collective.
steps["while"] = function(step, c, x, way)
    local function small(state) return (np.psum(np.abs(state[1]):sum(), AXIS) * 0 + state[2]):lt(step.turns) end
    local function turn(state) return { apply(step.body, state[1], x, way), state[2] + 1 } end
    local state = { c, np.array(0, { dtype = "f32" }) }
    if not way.lua then return np.while_loop(small, turn, state)[1] end
    while small(state):item() do state = turn(state) end
    return state[1]
end

steps["cond"] = function(step, c, x, way)
    local some = np.psum(c:sum(), AXIS):gt(0)
    local function yes(a) return apply(step.body, a, x, way) end
    local function no(a) return apply(step.other, a, x, way) end
    if not way.lua then return np.cond(some, yes, no, c) end
    if some:item() then return yes(c) end
    return no(c)
end

-- ---- Running --------------------------------------------------------------------------------------------------------

--- Runs a nest on a mesh with one axis, "i", and prints its result. how: "lua", "loops" or "jit".
function nests.run(nest, mesh, how)
    local P = np.P
    called = { callback = {}, own = {}, any = {} }
    local way = { lua = how == "lua", size = mesh.size }
    local f = np.shard_map(function(x) return apply(nest.block, x, x, way) end,
                           { mesh = mesh, in_specs = P(AXIS), out_specs = P(AXIS) })
    if how == "jit" then f = np.jit(f) end
    local result = f(np.linspace(-1, 1, 2 * mesh.size))
    local numbers = np.device_put(result, mesh, P()):totable()
    for k, value in ipairs(numbers) do numbers[k] = ("%a"):format(value) end
    print("result", unpack(numbers))
    np.effects_barrier()
    table.sort(called.any)
    return called
end

return nests
