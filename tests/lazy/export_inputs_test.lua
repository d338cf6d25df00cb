--- export_inputs_test.lua: a listed input is an input wherever it is read, whatever it is: random functions with loops,
-- branches and rules inside each other, whose inputs are data, constructors, and views of these. What np.export,
-- block:export, a file, jit and grad make of the graph is called with other values, and compared with the function on
-- these, whose loops and branches are then those of Lua. Functions drawn at random.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"

local PATH = os.tmpname()

-- ---- Inputs ---------------------------------------------------------------------------------------------------------

--- By kind: how it is made, what a new value is made of, and what the function reads of it, of the shape {3} or {}.
local function whole(z) return z end
local function row(z) return z[1] end
local function column(z) return z.T[0] end
local function added(z) return z:sum { axis = 0 } end
local function every_other(z) return z[{ { 1, 6, 2 } }] end
local function backwards(z) return z[{ { 2, nil, -1 } }] end
local function stretched(z) return np.broadcast_to(z, { 3 }) end

local kinds = {
    data = { make = function() return np.array { 0.5, -1, 2 } end, reads = { whole, backwards } },
    computed = { make = function() return (np.array { 0.5, -1, 2 } * 2):wait() end, reads = { whole, backwards } },
    zeros = { make = function() return np.zeros { 3 } end, reads = { whole, backwards } },
    ones = { make = function() return np.ones { 3 } end, reads = { whole, backwards } },
    full = { make = function() return np.full({ 3 }, 0.25) end, reads = { whole, backwards } },
    arange = { make = function() return np.arange(3) / 1 end, reads = { whole, backwards } },
    integers = { make = function() return np.arange(3) end, reads = { whole }, integers = true },
    longer = { make = function() return np.arange(6, { dtype = "f32" }) end, reads = { every_other } },
    eye = { make = function() return np.eye(3) end, reads = { row, column, added } },
    tri = { make = function() return np.tri(3) end, reads = { row, column, added } },
    linspace = { make = function() return np.linspace(0, 1, 3) end, reads = { whole, backwards } },
    formula = { make = function() return np.ones { 3 } * 2 - np.arange(3) end, reads = { whole } },
    forced = { make = function() return np.zeros { 3 }:wait() end, reads = { whole } },
    view = { make = function() return np.zeros { 2, 3 }[1] end, reads = { whole } },
    flipped = { make = function() return np.linspace(0, 1, 6)[{ { 5, nil, -2 } }] end, reads = { whole } },
    spread = { make = function() return np.broadcast_to(np.ones { 1 }, { 3 }) end, reads = { whole } },
    one = { make = function() return np.ones { 1 } end, reads = { whole, stretched } },
    scalar = { make = function() return np.zeros {} end, reads = { whole, stretched } },
    number = { make = function() return np.array(2) end, reads = { whole, stretched } },
}
local all, bare = {}, { "zeros", "ones", "full", "longer", "view", "spread", "one", "scalar" }
for name in pairs(kinds) do all[#all + 1] = name end
table.sort(all)

--- Another value of the shape and dtype of z.
local function other_value(z, kind, random)
    local key = np.random.key(random(1e6))
    local value = np.random.uniform(key, z.shape) * 2 - 1
    return kind.integers and (value * 5):astype(z.dtype) or value
end

-- ---- Functions ------------------------------------------------------------------------------------------------------

local step_kinds = { "mix", "mix", "mix", "scan", "parts", "fori", "while", "cond", "switch", "checkpoint", "jit",
                     "vmap", "vjp", "jvp", "grad", "only" }

--- A list of steps, each of which makes a vector of a vector; `n`: how many inputs there are.
local function draw_steps(random, n, depth)
    local steps = {}
    for k = 1, random(1, 2) do
        local kind = depth == 0 and "mix" or step_kinds[random(#step_kinds)]
        steps[k] = { kind = kind, input = random(n), other = random(n), turns = random(0, 3), limit = random() - 0.5 }
        if kind ~= "mix" and kind ~= "vjp" and kind ~= "jvp" and kind ~= "only" then
            steps[k].body, steps[k].second = draw_steps(random, n, depth - 1), draw_steps(random, n, depth - 1)
        end
    end
    return steps
end

--- np's control flow as loops and branches of Lua; rules and gradients are np's.
local plain = {
    scan = function(f, c, xs, options)
        local n = options and options.length or xs:dim(0)
        for k = 0, n - 1 do c = f(c, xs and xs[k]) end
        return c
    end,
    fori_loop = function(from, to, f, c)
        for k = from, to - 1 do c = f(np.array(k, { dtype = "i32" }), c) end
        return c
    end,
    while_loop = function(going, f, c)
        while going(c):item() do c = f(c) end
        return c
    end,
    cond = function(pred, f, g, c) return (pred:item() and f or g)(c) end,
    switch = function(index, list, c) return list[index:item()](c) end,
    checkpoint = function(f) return f end,
    jit = function(f) return f end,
    vmap = function(f) return function(xs) return np.stack { f(xs[0]), f(xs[1]) } end end,
}

local run

local steps_of = {
    mix = function(step, _, c, read) return np.tanh(c * 0.5 + read(step.input) * 0.25 - read(step.other)) end,
    only = function(step, _, c, read) return c * 0 + np.exp(read(step.input) * 0.5) * 0.5 end,
    scan = function(step, with, c, read)
        return (with.scan(function(v) return run(step.body, with, v, read), nil end, c, nil, { length = step.turns }))
    end,
    parts = function(step, with, c, read)
        local xs = np.stack { c, np.broadcast_to(read(step.input) * 1.0, { 3 }) }
        return (with.scan(function(v, x) return run(step.body, with, v + x, read), nil end, c, xs))
    end,
    fori = function(step, with, c, read)
        return with.fori_loop(1, step.turns, function(k, v) return run(step.body, with, v - k * 0.5, read) end, c)
    end,
    ["while"] = function(step, with, c, read)
        local state = { c, np.zeros({}, { dtype = "i32" }) }
        return with.while_loop(function(s) return np.logical_and(s[2]:lt(step.turns), s[1]:sum():gt(step.limit)) end,
            function(s) return { run(step.body, with, s[1], read), s[2] + 1 } end, state)[1]
    end,
    cond = function(step, with, c, read)
        return with.cond((c + read(step.input)):sum():gt(step.limit),
            function(v) return run(step.body, with, v, read) end,
            function(v) return run(step.second, with, v, read) end, c)
    end,
    switch = function(step, with, c, read)
        local index = np.where((read(step.input) + c):sum():lt(step.limit), 1, 2):astype("i32")
        return with.switch(index, { function(v) return run(step.body, with, v, read) end,
                                    function(v) return run(step.second, with, v, read) end }, c)
    end,
    checkpoint = function(step, with, c, read)
        return with.checkpoint(function(v) return run(step.body, with, v, read) end)(c)
    end,
    jit = function(step, with, c, read)
        return with.jit(function(v) return run(step.body, with, v, read) end)(c)
    end,
    vmap = function(step, with, c, read)
        local outs = with.vmap(function(v) return run(step.body, with, v, read) end)(np.stack { c, c * 0.5 })
        return outs[0] - outs[1]
    end,
    vjp = function(step, _, c, read)
        local rule = np.custom_vjp(function(v) return v * read(step.input) end):defvjp(
            function(v) return v * read(step.input), { v } end,
            function(residuals, ct) return ct * read(step.other) + residuals[1] end)
        return np.tanh(rule(c))
    end,
    jvp = function(step, _, c, read)
        local rule = np.custom_jvp(function(v) return v + read(step.input) end):defjvp(function(values, tangents)
            return values[1] + read(step.input), tangents[1] * read(step.other) * 0.5
        end)
        return np.tanh(rule(c))
    end,
    grad = function(step, with, c, read)
        return np.grad(function(v) return run(step.body, with.differentiable, v, read):sum() end)(c)
    end,
}

--- A while loop has no derivative: there it is a choice in each of as many turns as it may have.
local function bounded_loop(going, f, c)
    for _ = 1, 3 do
        local on, after = going(c), f(c)
        c = { np.where(on, after[1], c[1]), np.where(on, after[2], c[2]) }
    end
    return c
end

local function with_bounded_loops(control)
    local own = setmetatable({ while_loop = bounded_loop }, { __index = control })
    own.differentiable = own
    return own
end
local staged = setmetatable({ differentiable = with_bounded_loops(np) }, { __index = np })
plain.differentiable = with_bounded_loops(plain)

function run(steps, with, c, read)
    for _, step in ipairs(steps) do
        local value = steps_of[step.kind](step, with, c, read)
        c = np.broadcast_to(value, { 3 }):astype("f32")
    end
    return c
end

--- A function of start (a vector) and a list of inputs, with the control flow of `with`. Some of what it reads of its
-- inputs is read once, in front of all steps; `given`: what was read of some inputs elsewhere.
local function function_of(case, with)
    return function(start, inputs, given)
        local early = {}
        for k, used in ipairs(case.inputs) do
            if used.early then early[k] = used.read(inputs[k]) end
        end
        return start * 0 + run(case.steps, with, start, function(k)
            return given and given[k] or early[k] or case.inputs[k].read(inputs[k])
        end)
    end
end

local function draw_case(seed, names)
    math.randomseed(seed)
    local random = math.random
    local case = { inputs = {}, start = np.array { 0.5, -0.25, 1 }, values = {}, seed = seed }
    for k = 1, random(1, 3) do
        local name = names[random(#names)]
        local kind = kinds[name]
        local z = kind.make()
        case.inputs[k] = { name = name, z = z, read = kind.reads[random(#kind.reads)], early = random(3) == 1,
                           integers = kind.integers }
        case.values[k] = other_value(z, kind, random)
    end
    case.steps = draw_steps(random, #case.inputs, random(1, 3))
    return case
end

local function arrays_of(case)
    local list = {}
    for k, used in ipairs(case.inputs) do list[k] = used.z end
    return list
end

local READS = { mix = true, only = true, parts = true, cond = true, switch = true, vjp = true, jvp = true }

--- By number, how the steps read the inputs: true, or "rule" if the rule of a derivative does, through which none goes.
local function inputs_read(steps, found)
    for _, step in ipairs(steps) do
        local rule = step.kind == "vjp" or step.kind == "jvp"
        if READS[step.kind] then found[step.input] = rule and "rule" or found[step.input] or true end
        if rule or step.kind == "mix" then found[step.other] = rule and "rule" or found[step.other] or true end
        if step.body then inputs_read(step.body, found) end
        if step.kind == "cond" or step.kind == "switch" then inputs_read(step.second, found) end
    end
    return found
end

local function loss(f, start, inputs)
    return (f(start, inputs) * np.array { 1, -2, 0.5 }):sum()
end

local function has_step(kind, steps)
    for _, step in ipairs(steps or {}) do
        if step.kind == kind or has_step(kind, step.body) or has_step(kind, step.second) then return true end
    end
    return false
end

--- Compares what the program gives for new values, called directly, from its file, jitted and differentiated.
local function compare(case, program, named)
    local f, start = function_of(case, plain), np.array { -0.75, 0.5, 0.125 }
    local want = f(start, case.values):totable()
    local arguments = named(start, case.values)
    check.close(program(arguments):totable(), want, 1e-5, "the program")
    program:save(PATH)
    local loaded = np.load_program(PATH)
    check.close(loaded(arguments):totable(), want, 1e-5, "the program of a file")
    check.close(np.jit(function(given) return program(given) end)(arguments):totable(), want, 1e-5, "jitted")
    local k = math.random(#case.inputs)
    if case.inputs[k].integers or case.read[k] == "rule" or has_step("while", case.steps) then return end
    local function replaced(z)
        local values = { unpack(case.values) }
        values[k] = z
        return values
    end
    local slope = np.grad(function(z) return loss(f, start, replaced(z)) end)(case.values[k])
    local of_program = np.grad(function(z)
        return loss(function(s, values) return loaded(named(s, values)) end, start, replaced(z))
    end)(case.values[k])
    check.close(of_program:totable(), slope:totable(), 1e-5, "the gradient")
end

--- By how: exports the function, and says how its arguments are named.
local ways = {
    export = function(case, list)
        local f = function_of(case, staged)
        local y = np.deferred(function() return f(case.start, list) end)
        return np.export { inputs = { start = case.start, z = list }, outputs = { y } }
    end,
    computed = function(case, list) -- the output is computed before it is exported
        local f = function_of(case, staged)
        local y = np.deferred(function() return f(case.start, list) end)
        y:wait()
        return np.export { inputs = { start = case.start, z = list }, outputs = { y } }
    end,
    outside = function(case, list) -- what is read of lazy constants may have been made outside of the mode
        local f, given = function_of(case, staged), {}
        for k, used in ipairs(case.inputs) do
            given[k] = used.read(list[k])
        end
        local y = np.deferred(function() return f(case.start, list, given) end)
        return np.export { inputs = { start = case.start, z = list }, outputs = { y } }
    end,
    jitted = function(case, list) -- it was traced before, and reads its inputs of a table around it
        local f = function_of(case, staged)
        local inner = np.jit(function(start) return f(start, list) end)
        inner(case.start)
        local y = np.deferred(function() return inner(case.start) end)
        return np.export { inputs = { start = case.start, z = list }, outputs = { y } }
    end,
    block = function(case, list)
        local f = function_of(case, staged)
        local block = np.nn.Block { forward = function(_, params, start) return f(start, params.z) end }
        return block:export({ z = list }, case.start)
    end,
}
local way_names = { "export", "computed", "outside", "jitted", "block" }

local function run_case(seed, way)
    local case = draw_case(seed, (way == "jitted" or way == "outside") and bare or all)
    local list = arrays_of(case)
    case.read = inputs_read(case.steps, {})
    for k in ipairs(list) do -- an input must be read
        if not case.read[k] then table.insert(case.steps, { kind = "mix", input = k, other = k }) end
    end
    local ok, program = pcall(ways[way], case, list)
    -- What does not depend on c has no gradient, so it may be that nothing reads it.
    if not ok and program:find("no output depends") and has_step("grad", case.steps) then return end
    if not ok then error(program, 0) end
    compare(case, program, function(start, values)
        if way == "block" then return { params = { z = values }, start = start } end
        return { start = start, z = values }
    end)
end

local bad, count = {}, 0
for seed in seeds.each(60) do
    count = count + 1
    local way = way_names[seed % #way_names + 1]
    local ok, problem = pcall(run_case, seed, way)
    if not ok then bad[#bad + 1] = ("seed %d (%s): %s"):format(seed, way, problem) end
end
check.test(("%d random functions from seed %d on"):format(count, seeds.first), function()
    check.equal(bad, {})
end)

-- ---- By hand --------------------------------------------------------------------------------------------------------

local x = np.array { 1, 2, 3 }

--- A loop that adds what read() returns twice, exported with x and these inputs.
local function exported(inputs, read)
    inputs.x = x
    local y = np.deferred(function()
        return (np.scan(function(c) return c + read(), nil end, x, nil, { length = 2 }))
    end)
    return np.export { inputs = inputs, outputs = { y = y } }
end

check.test("data that only a body reads must be listed, and a listed input must be read", function()
    local data, zeros = np.array { 1, 1, 1 }, np.zeros { 3 }
    check.raises(function() exported({}, function() return data * 2 end) end,
                 "output 'y' needs an input that is not listed: an array of dtype f32 and shape %(3,%)")
    check.raises(function() exported({ z = zeros }, function() return np.zeros { 3 } end) end,
                 "no output depends on the input 'z'")
end)

check.test("constants of a body that are not listed stay in it; what is made of both is made outside", function()
    local z, unlisted = np.zeros { 3 }, np.ones { 3 }
    local program = exported({ z = z }, function() return unlisted * 2 + np.ones { 3 } + z * unlisted end)
    check.equal(program { x = x, z = np.array { 10, 20, 30 } }:totable(), { 27, 48, 69 })
end)

check.test("a body that reads more arrays than an op can", function()
    local many = {}
    for k = 1, 300 do many[k] = k % 2 == 0 and np.full({ 3 }, k) or np.array { k, k, k } end
    local program = exported({ z = many }, function()
        local sum = np.zeros { 3 }
        for k = 1, 300 do sum = sum + many[k] end
        return sum
    end)
    check.equal(program { x = x, z = many }:totable(), { 90301, 90302, 90303 })
end)

check.test("a callback in a body gets the value of the input", function()
    local z, seen = np.zeros { 3 }, {}
    local look = np.callback(function(v)
        seen[#seen + 1] = v:totable()[1]
        return v * 2
    end, { result = { shape = { 3 } } })
    local program = exported({ z = z }, function() return look(z) end)
    check.equal(program { x = x, z = np.full({ 3 }, 7) }:totable(), { 29, 30, 31 })
    check.equal(seen, { 0, 0, 7, 7 }) -- those of the mode, and those of the call
end)

check.test("a recurrent network is exported after init, with parameters to come", function()
    local net = np.nn.Block {
        cell = np.nn.Dense(3, 3),
        forward = function(self, params, steps)
            local function step(h, v) return np.tanh(self.cell(params.cell, h) + v), nil end
            return (np.scan(step, np.zeros { 3 }, steps))
        end,
    }
    local steps = np.random.normal(np.random.key(2), { 4, 3 })
    local params = net:init(np.random.key(1), steps)
    local program = net:export(params, steps)
    local trained = np.tree.map(function(leaf) return np.random.normal(np.random.key(3), leaf.shape) end, params)
    check.close(program(trained, steps):totable(), net(trained, steps):totable(), 1e-6)
end)

check.test("a rule serves the derivative that is exported, and not the next one", function()
    local rule = np.custom_jvp(function(v) return v * v end):defjvp(function(values, tangents)
        return values[1] * values[1], tangents[1] * values[1] * 5
    end)
    local function slope(v) return np.grad(function(u) return (rule(u) * u):sum() end)(v) end
    local y = np.deferred(function() return slope(x) end)
    local program = np.export { inputs = { x = x }, outputs = { y = y } }
    local function second(f) return np.grad(function(v) return f(v):sum() end)(x):totable() end
    check.equal(second(program), second(slope))
end)

os.remove(PATH)
check.done()
