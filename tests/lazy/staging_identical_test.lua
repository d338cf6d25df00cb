--- staging_identical_test.lua (sanitized with --long): a program has the same results, to the bit, whichever way it is
-- staged.
--
-- Random programs (tests/lib/programs.lua) are run op by op; then traced, saved and loaded, jitted, jitted inside of
-- jit, deferred, exported, as a branch; as the body of np.scan and over a batch by np.vmap, which are compared with
-- loops. (That kernels do not depend on threads, instruction sets and flushes is identical_test.lua's part.) Random
-- smooth functions (tests/lib/smooth.lua) are differentiated: against differences, forward against reverse mode, and
-- again each way of staging against the others.
--
--     NEAP_TEST_PROGRAMS=2000 NEAP_TEST_SEED=1 build/neap tests/lazy/staging_identical_test.lua     more of them
package.path = "./?.lua;" .. package.path
local np = require "neap"
local check = require "tests.lib.check"
local programs = require "tests.lib.programs"
local smooth = require "tests.lib.smooth"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
local first = tonumber(os.getenv "NEAP_TEST_SEED" or 1)
local count = tonumber(os.getenv "NEAP_TEST_PROGRAMS" or (release and 90 or 30))
local EXAMPLES = 3 -- of a batch; and turns of a loop

-- ---- Random programs ------------------------------------------------------------------------------------------------

--- The results of a program on other leaves, as a list.
local function results_on(program, leaves)
    local r, list = { unpack(leaves, 1, #program.leaves) }, {}
    program.run(r)
    for k, n in ipairs(program.results) do list[k] = r[n] end
    return list
end

--- The program as a function of its leaves.
local function function_of(program)
    return function(...) return unpack(results_on(program, { ... })) end
end

local function hashes(list)
    local texts = {}
    for k, x in ipairs(list) do texts[k] = programs.hash(x) end
    return texts
end

--- The leaves that lines read, and their places.
local function read_leaves(program, leaves)
    local list, places, seen = {}, {}, {}
    for _, line in ipairs(program.lines) do
        for n in line:gmatch "r%[(%d+)%]" do seen[tonumber(n)] = true end
    end
    for k = 1, #leaves do
        if seen[k] then list[#list + 1], places[#places + 1] = leaves[k], k end
    end
    return list, places
end

local ways = {} -- name → function(program, leaves) → list of results

ways["traced"] = function(program, leaves)
    return { np.trace(function_of(program))(unpack(leaves))(unpack(leaves)) }
end

ways["jitted, second call"] = function(program, leaves)
    local f = np.jit(function_of(program))
    f(unpack(leaves))
    return { f(unpack(leaves)) }
end

ways["jitted in jit, beside itself"] = function(program, leaves)
    local f = np.jit(function_of(program))
    local both = { np.jit(function(...)
        local a, b = { f(...) }, { f(...) }
        for k = 1, #b do a[#a + 1] = b[k] end
        return unpack(a)
    end)(unpack(leaves)) }
    local list, n = {}, #program.results
    for k = 1, n do
        check.equal(programs.hash(both[n + k]), programs.hash(both[k]), "the second call inside")
        list[k] = both[k]
    end
    return list
end

ways["deferred"] = function(program, leaves)
    return np.deferred(function() return results_on(program, leaves) end)
end

ways["exported"] = function(program, leaves)
    local inputs = read_leaves(program, leaves)
    local outputs = np.deferred(function() return results_on(program, leaves) end)
    while true do -- a leaf may be read and yet not matter, as where a gradient is constant
        local ok, exported = pcall(np.export, { inputs = inputs, outputs = outputs })
        if ok then return { exported(unpack(inputs)) } end
        local idle = tostring(exported):match "no output depends on the input 'in(%d+)'"
        check.ok(idle, exported)
        table.remove(inputs, tonumber(idle))
    end
end

ways["in a branch"] = function(program, leaves)
    local f = function_of(program)
    local function zeros(...) return unpack(np.tree.map(function(x) return np.zeros_like(x) end, { f(...) })) end
    return { np.switch(np.array(2, { dtype = "i32" }), { zeros, f, zeros }, unpack(leaves)) }
end

ways["in a branch, jitted"] = function(program, leaves)
    local f = function_of(program)
    local function zeros(...) return unpack(np.tree.map(function(x) return np.zeros_like(x) end, { f(...) })) end
    return { np.jit(function(choice, ...) return np.cond(choice, f, zeros, ...) end)(np.array(true), unpack(leaves)) }
end

ways["in a checkpoint, jitted"] = function(program, leaves)
    return { np.jit(np.checkpoint(function_of(program)))(unpack(leaves)) }
end

local path = os.tmpname()

ways["saved and loaded"] = function(program, leaves)
    np.trace(function_of(program))(unpack(leaves)):save(path)
    return { np.load_program(path)(unpack(leaves)) }
end

local names = {}
for name in pairs(ways) do names[#names + 1] = name end
table.sort(names)

--- check.equal for hashes, with the script of the program.
local function same(program, found, expected, what)
    check.equal(#found, #expected, ("seed %d, %s: results"):format(program.seed, what))
    for k = 1, #expected do
        if found[k] ~= expected[k] then
            check.equal(found[k], expected[k], ("seed %d, %s, result %d of\n%s\n"):format(program.seed, what, k,
                                                                                        program.text))
        end
    end
end

local function each_program(f)
    for seed = first, first + count - 1 do f(programs.draw(seed)) end
end

--- Runs a test for one way of staging, on all programs; tells of the first three that differ or fail.
local function test_way(name, f)
    check.test(name, function()
        local problems = {}
        each_program(function(program)
            local ok, problem = pcall(f, program)
            if not ok then problems[#problems + 1] = ("seed %d: %s"):format(program.seed, tostring(problem)) end
        end)
        local shown = table.concat(problems, "\n", 1, math.min(3, #problems))
        check.ok(#problems == 0, ("%d of %d programs: %s"):format(#problems, count, shown))
    end)
end

for _, name in ipairs(names) do
    test_way("programs " .. name, function(program)
        local expected = hashes(results_on(program, program.make()))
        same(program, hashes(ways[name](program, program.make())), expected, name)
    end)
end

--- Leaf `x` of example e: the same elements, moved on by e places.
local function example_of(x, e)
    return np.roll(x:reshape(-1), e):reshape(x.shape):wait()
end

test_way("programs over a batch as in a loop", function(program)
    local leaves = program.make()
    local batch, places = read_leaves(program, leaves)
    local function arguments(list)
        local all = { unpack(leaves) }
        for k, place in ipairs(places) do all[place] = list[k] end
        return all
    end
    local expected = {}
    for e = 1, EXAMPLES do
        local moved = {}
        for k, x in ipairs(batch) do moved[k] = example_of(x, e) end
        expected[e] = hashes(results_on(program, arguments(moved)))
    end
    local stacked = {}
    for k, x in ipairs(batch) do
        local list = {}
        for e = 1, EXAMPLES do list[e] = example_of(x, e) end
        stacked[k] = np.stack(list)
    end
    local function of_one(...) return unpack(results_on(program, arguments { ... })) end
    local results = { np.vmap(of_one, { axis_size = EXAMPLES })(unpack(stacked)) }
    for e = 1, EXAMPLES do
        local of_example = {}
        for k, x in ipairs(results) do of_example[k] = x[e - 1] end
        same(program, hashes(of_example), expected[e], "example " .. e)
    end
end)

local function moved(leaves)
    local list = {}
    for k, x in ipairs(leaves) do list[k] = np.roll(x:reshape(-1), 1):reshape(x.shape) end
    return list
end

test_way("programs in a scan as in a loop", function(program)
    local leaves = program.make()
    local function body(carry) return moved(carry), results_on(program, carry) end
    local function scan(given)
        local last, each = np.scan(body, leaves, nil, given)
        return { last = last, each = each }
    end
    local found = { scan { length = EXAMPLES }, scan { length = EXAMPLES, unroll = 2 },
                    np.jit(function() return scan { length = EXAMPLES } end)() }
    local carry = leaves
    for e = 1, EXAMPLES do
        local expected = hashes(results_on(program, carry))
        for way, results in ipairs(found) do
            local of_turn = {}
            for k, x in ipairs(results.each) do of_turn[k] = x[e - 1] end
            same(program, hashes(of_turn), expected, ("turn %d, way %d"):format(e, way))
        end
        carry = moved(carry)
    end
    for _, results in ipairs(found) do same(program, hashes(results.last), hashes(carry), "the last carry") end
end)

-- ---- Random smooth functions ----------------------------------------------------------------------------------------

local function dot(a, b)
    return (a * b):sum():item()
end

local function each_smooth(f)
    for seed = first, first + math.ceil(count / 2) - 1 do f(smooth.draw(seed), seed) end
end

--- Runs a test on all smooth functions: f(function of one array, a point, a direction, text).
local function test_smooth(name, f)
    check.test(name, function()
        each_smooth(function(drawn, seed)
            local ok, problem = pcall(f, drawn.f, drawn.x, drawn.v)
            check.ok(ok, ("seed %d: %s\n%s"):format(seed, tostring(problem), drawn.text))
        end)
    end)
end

test_smooth("gradients and differences", function(f, x, v)
    local h = 1e-5
    local slope = (f(x + v * h):item() - f(x - v * h):item()) / (2 * h)
    check.close(dot(np.grad(f)(x), v), slope, 1e-6)
end)

test_smooth("forward mode and reverse mode", function(f, x, v)
    local y, dy = np.jvp(f, { x }, { v })
    local value, pull = np.vjp(f, x)
    check.equal({ y:item(), value:item() }, { f(x):item(), f(x):item() })
    check.close(dy:item(), dot(pull(np.ones({}, { dtype = "f64" })), v), 1e-11)
end)

test_smooth("second derivatives: forward over reverse, reverse over reverse, differences", function(f, x, v)
    local g, h = np.grad(f), 1e-5
    local _, hv = np.jvp(g, { x }, { v })
    local again = np.grad(function(y) return (g(y) * v):sum() end)(x)
    check.close(hv:totable(), again:totable(), 1e-10)
    check.close(dot(hv, v), (dot(g(x + v * h), v) - dot(g(x - v * h), v)) / (2 * h), 1e-5)
end)

test_smooth("gradients are the same bits, however they are staged", function(f, x)
    local expected = programs.hash(np.grad(f)(x))
    local function is_same(g, what) check.equal(programs.hash(g), expected, what) end
    is_same(np.jit(np.grad(f))(x), "jit of grad")
    is_same(np.grad(np.jit(f))(x), "grad of jit")
    is_same(np.grad(np.trace(f)(x))(x), "grad of a program")
    is_same(np.deferred(function() return np.grad(f)(x) end), "deferred")
    is_same((select(2, np.value_and_grad(f)(x))), "value_and_grad")
    is_same(np.grad(np.checkpoint(f))(x), "grad of a checkpoint")
    is_same(np.grad(function(y) return np.cond(np.array(true), f, function(z) return z:sum() end, y) end)(x), "cond")
    local _, pull = np.vjp(f, x)
    is_same(pull(np.ones({}, { dtype = "f64" })), "vjp")
    is_same(np.vmap(np.grad(f))(np.stack { x * 2, x })[1], "vmap of grad")
end)

test_smooth("loops have the derivatives of their turns", function(f, x, v)
    local function turn(c) return c * 0.9 + np.tanh(f(c)) * 0.1 * x end
    local function unrolled(c)
        for _ = 1, EXAMPLES do c = turn(c) end
        return (c * v):sum()
    end
    local function scanned(c)
        return (np.scan(function(carry) return turn(carry) end, c, nil, { length = EXAMPLES }) * v):sum()
    end
    local function counted(c)
        return (np.fori_loop(0, EXAMPLES, function(_, carry) return turn(carry) end, c) * v):sum()
    end
    local gradient, _, slope = np.grad(unrolled)(x), np.jvp(unrolled, { x }, { v })
    for _, loop in ipairs { scanned, counted } do
        check.equal(loop(x):item(), unrolled(x):item())
        check.close(np.grad(loop)(x):totable(), gradient:totable(), 1e-12)
        check.equal(np.jit(np.grad(loop))(x):totable(), np.grad(loop)(x):totable())
        check.close(select(2, np.jvp(loop, { x }, { v })):item(), slope:item(), 1e-12)
        check.equal(np.vmap(loop)(np.stack { x, v })[0]:item(), loop(x):item())
    end
end)

os.remove(path)
check.done()
