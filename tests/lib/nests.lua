--- nests.lua: seeded random nests of loops, branches, programs, prints and callbacks, for tests of what waits for what.
--
--     nests.run(17)               -- runs the nest of this seed, which prints; then its value and a count of calls
--     nests.expected(17)          -- what that prints, by plain Lua
--
-- A nest is a function of one number. Its statements compute with the number, print it, give it to loops, branches,
-- jitted functions, programs that were traced or read from a file, and to callbacks: with a result or without,
-- ordered or not, in which there are statements again. Numbers are small integers, so that all of it is exact.
local seeds = require "tests.lib.seeds"
local np = require "neap"

local nests = {}

local LARGEST = 1009 -- numbers are below it
local DEEPEST = 4

-- ---- Drawing --------------------------------------------------------------------------------------------------------

local KINDS = { "step", "step", "product", "print", "callback", "callback", "callback", "fori", "scan", "while", "cond",
                "jit", "trace", "load" }
local SILENT = { print = "step", load = "jit" } -- in an unordered callback: what is printed there has no place

local draw

local function draw_statement(draws, depth, silent)
    local kind = KINDS[draws.random(#KINDS)]
    if depth >= DEEPEST then kind = ({ "step", "product", "print" })[draws.random(3)] end
    if silent then kind = SILENT[kind] or kind end
    draws.tag = draws.tag + 1
    local made = { kind = kind, tag = draws.tag, n = draws.random(3), a = draws.random(9), b = draws.random(50) }
    if kind == "callback" then
        made.result = draws.random(3) > 1
        made.unordered = silent or draws.random(4) == 1
        made.ends = ({ "array", "number", "waits", "barrier" })[draws.random(4)]
        made.body = draws.random(4) == 1 and {} or draw(draws, depth + 1, made.unordered)
    elseif kind ~= "step" and kind ~= "product" and kind ~= "print" then
        made.body = draw(draws, depth + 1, silent)
        made.other = kind == "cond" and draw(draws, depth + 1, silent)
    end
    return made
end

function draw(draws, depth, silent)
    local list = {}
    for k = 1, draws.random(3) do list[k] = draw_statement(draws, depth, silent) end
    return list
end

-- ---- In plain Lua ---------------------------------------------------------------------------------------------------

local follow

local plain = {}

function plain.step(at, v)
    return (v * at.a + at.b) % LARGEST
end

function plain.product(_, v)
    return v
end

function plain.print(at, v, seen)
    seen[#seen + 1] = ("print\t%d\t%.1f\n"):format(at.tag, v)
    return v
end

function plain.callback(at, v, seen)
    seen.calls = seen.calls + 1
    if not at.unordered then seen[#seen + 1] = ("called\t%d\t%.1f\n"):format(at.tag, v) end
    local result = follow(at.body, v, seen)
    return at.result and result or v
end

local function plain_loop(at, v, seen)
    for _ = 1, at.n do v = follow(at.body, v, seen) end
    return v
end
plain.fori, plain.scan, plain["while"] = plain_loop, plain_loop, plain_loop

function plain.cond(at, v, seen)
    return follow(v % 2 < 1 and at.body or at.other, v, seen)
end

local function plain_call(at, v, seen)
    return follow(at.body, v, seen)
end
plain.jit, plain.trace, plain.load = plain_call, plain_call, plain_call

function follow(list, v, seen)
    for _, at in ipairs(list) do v = plain[at.kind](at, v, seen) end
    return v
end

-- ---- In neap --------------------------------------------------------------------------------------------------------

local record

local staged = {}

function staged.step(at, v)
    return (v * at.a + at.b) % LARGEST
end

--- Work that is estimated to be long beside a budget of next to nothing.
function staged.product(at, v)
    local n = at.n * 8
    return v + np.matmul(np.ones(n, n) * (v * 0 + 1), np.ones(n, n))[0][0] - n
end

function staged.print(at, v)
    print("print", at.tag, v)
    return v
end

local function finish(at, v)
    if at.ends == "number" then return v:item() end
    if at.ends == "waits" then return v:wait() end
    if at.ends == "barrier" then np.effects_barrier() end
    return v
end

function staged.callback(at, v, run)
    local options = { ordered = not at.unordered, name = "callback" .. at.tag,
                      result = at.result and { shape = {} } or nil }
    local function called(x)
        run.calls = run.calls + 1
        if not at.unordered then print("called", at.tag, x) end
        return finish(at, record(at.body, x, run))
    end
    run.callbacks[options.name] = called
    local result = np.callback(called, options)(v)
    return at.result and result or v
end

function staged.fori(at, v, run)
    return np.fori_loop(0, at.n, function(_, c) return record(at.body, c, run) end, v)
end

function staged.scan(at, v, run)
    return (np.scan(function(c) return record(at.body, c, run), nil end, v, nil, { length = at.n }))
end

staged["while"] = function(at, v, run)
    return np.while_loop(function(c) return c[1]:lt(at.n) end,
                         function(c) return { c[1] + 1, record(at.body, c[2], run) } end, { np.array(0), v })[2]
end

function staged.cond(at, v, run)
    return np.cond((v % 2):lt(1), function(c) return record(at.body, c, run) end,
                   function(c) return record(at.other, c, run) end, v)
end

function staged.jit(at, v, run)
    return np.jit(function(c) return record(at.body, c, run) end)(v)
end

local function traced(at, run)
    return np.trace(function(c) return record(at.body, c, run) end)(np.array(0.0))
end

function staged.trace(at, v, run)
    return traced(at, run)(v)
end

function staged.load(at, v, run)
    local path = os.tmpname()
    traced(at, run):save(path)
    local loaded = np.load_program(path, { callbacks = run.callbacks })
    os.remove(path)
    return loaded(v)
end

function record(list, v, run)
    for _, at in ipairs(list) do v = staged[at.kind](at, v, run) end
    return v
end

-- ---- A seed ---------------------------------------------------------------------------------------------------------

-- How far the script may run ahead of the workers: bytes, and ns of work; 0 is the engine's default.
local BUDGETS = { { 1, 1 }, { 1, 1 }, { 1e5, 1e4 }, { 0, 1e6 }, { 0, 0 } }

local function nest_of(seed)
    local draws = { random = seeds.generator(seed), tag = 0 }
    return { list = draw(draws, 1, false), budget = BUDGETS[draws.random(#BUDGETS)],
             way = ({ "eager", "jit", "trace", "load" })[draws.random(4)], start = draws.random(100) }
end

--- What nests.run prints.
function nests.expected(seed)
    local nest, seen = nest_of(seed), { calls = 0 }
    local value = follow(nest.list, nest.start, seen)
    seen[#seen + 1] = ("seed\t%d\t%.1f\t%d\n"):format(seed, value, seen.calls)
    return table.concat(seen)
end

local BEHIND = 20 -- products that wait for the nest's value

function nests.run(seed)
    local nest, run = nest_of(seed), { calls = 0, callbacks = {} }
    local function f(v) return record(nest.list, v, run) end
    require("neap.core").C.neap_ahead_limit(unpack(nest.budget))
    local v = np.array(nest.start / 1)
    local value = staged[nest.way] and staged[nest.way]({ body = nest.list }, v, run) or f(v)
    local behind = value
    for _ = 1, BEHIND do behind = staged.product({ n = 3 }, behind) end
    np.effects_barrier()
    print("seed", seed, behind, run.calls)
end

return nests
