--- steps_test.lua (under tsan with --long): np.debug.steps: the lines of programs with their values, bodies turn by
-- turn, what happens of effects, how it is shown. Values are compared with those of the functions themselves.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- Steps as lists of { kind, elements of the first value }.
local function told(steps)
    local list = {}
    for k, step in ipairs(steps) do
        local facts = step.values[1]
        list[k] = { step.kind, facts and facts.value:totable() or false }
    end
    return list
end

--- The first step of a kind.
local function of_kind(steps, kind)
    for _, step in ipairs(steps) do
        if step.kind == kind then return step end
    end
    error("there is no step of the kind " .. kind)
end

local function names_of(step)
    local names = {}
    for k, body in ipairs(step.bodies) do names[k] = body.name end
    return names
end

local function last_value(steps, k)
    return steps[#steps].values[k or 1].value:totable()
end

local x = np.array { 1, 2, 4 }

check.test("each line has its value and the line of the script", function()
    local steps = np.debug.steps(function(a, n)
        local b = a * n
        local sum = b:sum()
        return sum
    end)(x, 3)
    check.equal(told(steps), { { "input", { 1, 2, 4 } }, { "input", 3 }, { "op", 3 }, { "op", { 3, 6, 12 } },
                               { "op", 21 }, { "return", 21 } })
    local texts = {}
    for k, step in ipairs(steps) do texts[k] = step.text end
    check.equal(texts, { "a: f32[3]", "n: number", "b: f32[] = astype[dtype=f32] n", "c: f32[3] = multiply a b",
                         "d: f32[] = sum[axes=0] c", "return d" })
    local one, two = steps[4].site:match "steps_test%.lua:(%d+)$", steps[5].site:match "steps_test%.lua:(%d+)$"
    check.equal(two - one, 1)
    check.equal({ steps[4].values[1].shape, steps[4].values[1].dtype, steps[4].values[1].text },
                { { 3 }, "f32", "[3. 6. 12.]" })
end)

check.test("the lines are those of the program's text", function()
    local function f(a)
        local total, sums = np.scan(function(sum, v) return sum + v, sum * v end, 0, a)
        return { total = total, sums = sums, same = a, seven = np.full({ 2 }, 7) + 1 }
    end
    local program = np.trace(f)(x)
    local text, lines = program:text(), {}
    local steps = np.debug.steps(program)(x)
    for line in text:gmatch "\n  (%S[^\n]*)" do lines[#lines + 1] = line:gsub(" {$", "") end
    local own = {}
    for k = 2, #steps do own[#own + 1] = steps[k].text end
    local expected = {}
    for _, line in ipairs(lines) do
        if line ~= "}" then expected[#expected + 1] = line end
    end
    check.equal(own, expected)
end)

check.test("programs, jitted functions and arguments by name", function()
    local function f(p, n) return p.w * n end
    local arguments = { w = x }
    local program = np.trace(f)(arguments, 2)
    for _, g in ipairs { f, program, np.jit(f) } do
        check.equal(last_value(np.debug.steps(g)(arguments, 5)), { 5, 10, 20 })
    end
    check.equal(last_value(np.debug.steps(program) { p = arguments, n = 5 }), { 5, 10, 20 })
    local sized = np.trace(function(a) return a * a.shape[1] end, { sizes = { { "n" } } })(x)
    check.equal(last_value(np.debug.steps(sized)(np.ones(2))), { 2, 2 })
    check.raises(function() np.debug.steps(program)(np.ones(2), 2) end, "program")
end)

check.test("nan and infinite elements are counted, failures told", function()
    local steps = np.debug.steps(function(a) return np.log(a), a * 2 end)(np.array { 0, -1, 1, -2 })
    local log = steps[2].values[1]
    check.equal({ log.nans, log.infs }, { 2, 1 })
    check.equal({ steps[1].values[1].nans, steps[1].values[1].infs }, { 0, 0 })
    check.equal(tostring(steps):find("2 nan  1 inf", 1, true) ~= nil, true)
    steps = np.debug.steps(function(a) return np.debug.fail(a) + 1, a * 2 end)(x)
    check.equal(steps[2].values[1].problem:find("failed on purpose", 1, true) ~= nil, true)
    check.equal(tostring(steps):find("failed: ", 1, true) ~= nil, true)
    check.equal(steps[4].values[1].text, "[2. 4. 8.]")
    local kinds = np.debug.steps(function(a) return a:astype "i32", a:gt(1), a:astype "c64", a:astype "f16" end)(x)
    for k = 1, #kinds - 1 do check.equal({ kinds[k].values[1].nans, kinds[k].values[1].infs }, { 0, 0 }) end
end)

check.test("many elements: the first ones", function()
    local steps = np.debug.steps(function(a) return a * 2 end)(np.arange(100):reshape(10, 10))
    check.equal(steps[2].values[1].text, "[0 2 4 6 8 10 …]")
    check.equal(steps[2].values[1].shape, { 10, 10 })
end)

check.test("a scan turn by turn", function()
    local function f(a) return np.scan(function(sum, v) return sum + v, sum * v end, 0, a) end
    local scan = of_kind(np.debug.steps(f)(x), "scan")
    check.equal(names_of(scan), { "turn 1 of 3", "turn 2 of 3", "turn 3 of 3" })
    check.equal({ last_value(scan.bodies[1], 1), last_value(scan.bodies[2], 1), last_value(scan.bodies[3], 1) },
                { 1, 3, 7 })
    check.equal({ last_value(scan.bodies[1], 2), last_value(scan.bodies[2], 2), last_value(scan.bodies[3], 2) },
                { 0, 2, 12 })
    scan = of_kind(np.debug.steps(f, { turns = 2 })(x), "scan")
    check.equal(names_of(scan), { "turn 1 of 3", "turn 2 of 3" })
    check.equal(scan.note, "… 1 more turn")
    scan = of_kind(np.debug.steps(f, { turns = 0 })(x), "scan")
    check.equal({ #scan.bodies, scan.note }, { 0, "… 3 more turns" })
end)

check.test("a scan in reverse, with arrays from around it", function()
    local scale = np.array { 10, 100 }
    local scan = of_kind(np.debug.steps(function(a)
        return np.scan(function(sum, v) return sum + v * scale, sum end, np.zeros(2), a, { reverse = true })
    end)(x), "scan")
    check.equal({ last_value(scan.bodies[1], 1), last_value(scan.bodies[3], 1) }, { { 40, 400 }, { 70, 700 } })
end)

check.test("while loops, branches and calls", function()
    local steps = np.debug.steps(function(a)
        return np.while_loop(function(v) return v:lt(20) end, function(v) return v * 3 end, a)
    end)(np.array(1))
    local loop = of_kind(steps, "while")
    check.equal(names_of(loop), { "turn 1: the condition", "turn 1", "turn 2: the condition", "turn 2",
                                  "turn 3: the condition", "turn 3", "turn 4: the condition" })
    check.equal({ last_value(loop.bodies[6]), last_value(loop.bodies[7]) }, { 27, false })
    check.equal(loop.note, nil)
    loop = of_kind(np.debug.steps(function(a)
        return np.while_loop(function(v) return v:lt(20) end, function(v) return v * 3 end, a)
    end, { turns = 1 })(np.array(1)), "while")
    check.equal({ #loop.bodies, loop.note }, { 3, "… more turns" })

    local function branches(a, flag)
        return np.cond(flag, function(v) return v + 1 end, function(v) return v - 1 end, a)
    end
    local yes = of_kind(np.debug.steps(branches)(x, np.array(true)), "branch")
    local no = of_kind(np.debug.steps(branches)(x, np.array(false)), "branch")
    check.equal({ last_value(yes.bodies[1]), last_value(no.bodies[1]) }, { { 2, 3, 5 }, { 0, 1, 3 } })
    check.equal({ #yes.bodies, yes.bodies[1].name ~= no.bodies[1].name }, { 1, true })

    local call = of_kind(np.debug.steps(np.checkpoint(function(a) return np.exp(a):sum() end))(np.zeros(3)), "call")
    check.equal({ #call.bodies, last_value(call.bodies[1]) }, { 1, 3 })
end)

check.test("loops in loops", function()
    local scan = of_kind(np.debug.steps(function(a)
        return np.scan(function(sum, v)
            return np.fori_loop(0, 2, function(_, s) return s + v end, sum), sum
        end, 0, a)
    end, { turns = 2 })(x), "scan")
    local inner
    for _, step in ipairs(scan.bodies[2]) do inner = #step.bodies > 0 and step or inner end
    check.equal(#inner.bodies >= 2, true)
    check.equal(last_value(scan.bodies[2], 1), 6)
end)

check.test("values are those of a run", function()
    local function f(a)
        local h = np.tanh(a:matmul(a.T)) / 3
        local s, rows = np.scan(function(c, row) return c * 0.5 + row, np.exp(c):sum() end, np.zeros(3), h)
        return s, rows, np.sort(h, { axis = 1 })
    end
    local a = np.random.normal(np.random.key(1), { 3, 3 })
    local steps, expected = np.debug.steps(f)(a), { f(a) }
    for k, value in ipairs(expected) do check.equal(last_value(steps, k), value:totable()) end
    local scan = of_kind(steps, "scan")
    check.equal(last_value(scan.bodies[3], 1), expected[1]:totable())
end)

check.test("effects happen once, in order, those of bodies too", function()
    local result = process.output [[
        local np = require "neap"
        local calls = 0
        local steps = np.debug.steps(function(x)
            print("before", x)
            local total = np.scan(function(sum, v)
                print("turn", v)
                return sum + v, v
            end, 0, x)
            np.callback(function() calls = calls + 1 end)()
            print("behind", total)
            return total
        end)(np.arange(3))
        np.effects_barrier()
        print(calls, #steps > 5)
    ]]
    check.equal(result, "before\t[0 1 2]\nturn\t0\nturn\t1\nturn\t2\nbehind\t3\n1\ttrue\n")
end)

check.test("a body in which a callback gives results is not opened", function()
    local calls = 0
    local f = np.callback(function(v)
        calls = calls + 1
        return v * 2
    end, { result = { shape = {}, dtype = "f32" } })
    local scan = of_kind(np.debug.steps(function(a)
        return np.scan(function(sum, v) return sum + f(v), v end, 0, a)
    end)(x), "scan")
    check.equal({ calls, #scan.bodies }, { 3, 0 })
    check.equal(scan.note, "not shown turn by turn: a callback gives results in it")
    check.equal(scan.values[1].value:item(), 14)
end)

check.test("as text and as a table to step through", function()
    local steps = np.debug.steps(function(a)
        return np.scan(function(sum, v) return sum + v, sum end, 0, a)
    end)(x)
    local text = tostring(steps)
    check.equal(text:find("\n  turn 2 of 3:\n", 1, true) ~= nil, true)
    check.equal(text:match "^[^\n]*", "a: f32[3]" .. text:match "^a: f32%[3%]([^\n]*)")
    local bundle = getmetatable(steps).__display(steps)
    local html = bundle["text/html"]
    check.equal(bundle["text/plain"], text)
    local _, rows = html:gsub("<tr data%-stop>", "")
    check.equal(html:match 'max="(%d+)"', tostring(rows - 1))
    check.equal(html:find "https?:", nil)
    check.equal(html:find "@%u+@", nil)
    local other = getmetatable(steps).__display(steps)["text/html"]
    check.equal(other:match 'data%-neap%-steps="[^"]*"' ~= html:match 'data%-neap%-steps="[^"]*"', true)
end)

check.test("what it refuses", function()
    check.raises(function() np.debug.steps(3) end, "debug.steps")
    check.raises(function() np.debug.steps(np.sum, { turn = 3 }) end, "unknown option 'turn'")
    check.raises(function() np.debug.steps(np.sum, { turns = -1 }) end, "'turns' must be at least 0, got %-1")
    check.raises(function() np.debug.steps(np.sum, { turns = 1.5 }) end, "turns")
    check.raises(function()
        np.jit(function(a) return np.debug.steps(np.sum)(a) end)(x)
    end, "is being traced")
end)

check.done()
