-- explain_test.lua (not under tsan): np.explain tells what will run and what ran, starts nothing, stays small, draws.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local np = require "neap"

local HERE = "explain_test.lua"

local function ready(values)
    local x = np.array(values)
    x:wait()
    return x
end

--- The text without what depends on the machine and on the file: times become T, the instruction set ISA, columns are
-- two blanks apart, and there are no script lines.
local function plain(explanation)
    local text = tostring(explanation):gsub("~?[%d.]+ [nµm]*s%f[%W]", "T"):gsub("  %w+, (%a+)%f[%s]", "  ISA, %1")
    text = text:gsub(" +explain_test.lua:%d+", ""):gsub("(%S)  +", "%1  ")
    return (text:gsub("on worker %d+", "on SOMEONE"):gsub("on the main thread", "on SOMEONE"))
end

local function has(explanation, text)
    check.ok(tostring(explanation):find(text, 1, true), ("%q is not in\n%s"):format(text, tostring(explanation)))
end

local function lacks(explanation, text)
    check.ok(not tostring(explanation):find(text, 1, true), ("%q is in\n%s"):format(text, tostring(explanation)))
end

--- The counters that must not change, and the number of plans.
local function state()
    local counters = np.debug.counters()
    local plans = counters.plans
    counters.plans = nil
    return counters, plans
end

-- ---- Text -----------------------------------------------------------------------------------------------------------

check.test("a chain that is pending, and was computed", function()
    local x = ready { { 1, 2, 3 }, { 4, 5, 6 } }
    local line = debug.getinfo(1, "l").currentline + 1
    local y = (x * 2 + 1):exp()
    check.equal(plain(np.explain(y)), [[
d: f32[2,3] is pending
  a: f32[2,3], in memory
  b: f32[2,3] = multiply a 2
  c: f32[2,3] = add b 1
  d: f32[2,3] = exp c
1 kernel: reads 24 B, writes 24 B, about T on one core
     step  over  reads  writes  estimate  how  line
  1  multiply+add+exp  (2, 3)  24 B  24 B  T  ISA, rows
       d is stored: it was asked for]])
    has(np.explain(y), "= multiply a 2  " .. HERE .. ":" .. line .. "\n")
    has(np.explain(y), ", rows  " .. HERE .. ":" .. line .. "\n")
    y:wait()
    check.equal(plain(np.explain(y)), [[
a: f32[2,3] is computed, by step 1
1 kernel: reads 24 B, writes 24 B, about T on one core; has run 1 time
     step  over  reads  writes  estimate  how  line
  1  multiply+add+exp  (2, 3)  24 B  24 B  T  ISA, rows
       a is stored: it was asked for
       ran T on SOMEONE, T ago]])
end)

check.test("columns begin in one place, and the text has no blanks at the ends of lines", function()
    local x = ready { 1, 2, 3 }
    local lines, line_at = tostring(np.explain((x + 1):sum(), (x * 2):max() - 1)), {}
    check.ok(not lines:find("[ \t]\n") and not lines:find("\t"))
    for line in lines:gmatch("[^\n]+") do
        local at = line:find(HERE, 1, true)
        if at and line:find("^  %d") then line_at[at] = true end
    end
    check.ok(next(line_at) and not next(line_at, next(line_at)), lines)
end)

check.test("a broadcast operand counts once, a slice what it holds, an operand that is read twice once", function()
    local x, row = np.force(np.ones { 100, 100 } + 1, np.arange(100) + 1)
    np.wait_all()
    has(np.explain(x * row), "reads 40.4 kB, writes 40.0 kB")
    has(np.explain(x * x), "reads 40.0 kB, writes 40.0 kB")
    has(np.explain(x * x:transpose()), "reads 40.0 kB, writes 40.0 kB")
    has(np.explain(x[{ {}, { 0, 10 } }] + 1), "reads 4.00 kB, writes 4.00 kB")
    has(np.explain(x[{ {}, { 0, 50 } }] + x[{ {}, { 50, 100 } }]), "reads 40.0 kB, writes 20.0 kB")
    has(np.explain(x[{ { 0, 90 }, {} }] + x[{ { 10, 100 }, {} }]), "reads 40.0 kB, writes 36.0 kB")
    has(np.explain(x:sum { axis = 0 }), "reads 40.0 kB, writes 400 B")
    has(np.explain(np.arange(1000) * 2), "reads 0 B, writes 4.00 kB")
    local chosen = ready { 5, 0, 7 }:astype "i32"
    chosen:wait()
    has(np.explain(x:take(chosen, { axis = 0 }) + 1), "reads 1.21 kB, writes 1.20 kB") -- a gather: some rows
end)

check.test("why results leave their kernels", function()
    local x = ready { { 1, 2 }, { 3, 4 } }
    has(np.explain(x:transpose():reshape(4) + 1), "it was asked for")
    np.debug.limits { nodes = 0, bytes = 0 } -- calls wait too
    has(np.explain((x * 2):matmul(x) + 1), "a call, a gather or another device reads it")
    has(np.explain((x * 2):matmul(x) + 1), "it is the result of a call")
    has(np.explain(np.linalg.eigvalsh(np.eye(2))), "call, LAPACK")
    has(np.explain(np.linalg.inv(np.eye(2, { dtype = "c64" }))), "call, LAPACK")
    for _, f in ipairs { "inv", "cholesky", "det" } do
        local text = tostring(np.explain(np.linalg[f](np.eye(40))))
        check.ok(text:find "call" and not text:find "LAPACK", f .. " of real numbers is neap's own: " .. text)
    end
    np.debug.limits { nodes = 1024, bytes = 64 * 2 ^ 20 }
    local inner = x + 1
    local outer = inner * 2
    np.force(outer)
    has(np.explain(inner), "was computed inside a kernel and not kept")
    has(np.explain(inner:sum() + inner), "it was computed inside a kernel before, and is asked for again")
    local long = x
    for _ = 1, 600 do long = long * 1.5 end
    has(np.explain(long), "the chain of ops is longer than a kernel may be")
end)

check.test("a kernel that goes on with its own reductions, and one of several results", function()
    local x = np.force(np.ones { 40, 50 } + 1)
    x:wait()
    local e = (x - x:max { axis = -1, keepdims = true }):exp()
    local softmax = np.explain(e / e:sum { axis = -1, keepdims = true })
    has(softmax, "1 kernel: reads 8.00 kB, writes 8.00 kB")
    has(softmax, "  1  max+subtract+exp+sum+divide  40 rows of 50  ")
    has(softmax, "\n       inside, one for each row: max, sum\n")
    local y = x * 2
    local several = plain(np.explain(y:exp(), y + 1))
    check.ok(several:find("\n1 kernel: reads 8.00 kB, writes 16.0 kB, ", 1, true), several)
    local stores = "\n       c is stored: it was asked for\n       d is stored: it was asked for"
    check.ok(several:find(stores, 1, true), several)
end)

check.test("buffers that take over the memory of others", function()
    local w = np.force(np.ones { 200, 200 } * 0.01)
    local f = np.jit(function(x) return x:matmul(w):tanh():matmul(w):tanh():sum() end)
    f(w):wait()
    has(np.explain(f), "d is stored in the memory of c: ")
    has(np.explain(f), "writes 480 kB into 320 kB of new memory, 480 kB of it temporary")
end)

check.test("arrays that need no work, or have none to tell of", function()
    local x = ready { { 1, 2 }, { 3, 4 } }
    check.equal(tostring(np.explain(x)), "a: f32[2,2] is in memory: data from outside")
    check.equal(plain(np.explain(x:reshape(4))), [[
b: f32[4] is a view of all of a: it shares its memory
  a: f32[2,2], in memory
  b: f32[4] = reshape[shape=4] a]])
    local costs_nothing = ": it costs nothing where it is read; as memory of its own:"
    has(np.explain(x:transpose()), "b: f32[2,2] is a view of a" .. costs_nothing)
    has(np.explain((x + 1):transpose()), ", which is pending")
    has(np.explain(np.arange(10 ^ 9)), "is made of constructors" .. costs_nothing)
    has(np.explain(np.zeros { 0, 3 } + 1), "nothing has to run")
    check.equal(tostring(np.explain(3, 3, true)), [[
3: number is an operand of what reads it
3: number is an operand of what reads it
1: bool[] is an operand of what reads it]])
end)

check.test("several arrays are planned together, each once", function()
    local x = ready { 1, 2, 3 }
    local y, z = x + 1, x * 2
    local together = np.explain { y, { z = z }, y }
    has(together, "b: f32[3] is pending\nc: f32[3] is pending\n")
    has(together, "b: f32[3] = add a 1")
    has(together, "c: f32[3] = multiply a 2")
    y:wait()
    local mixed = np.explain(y, z)
    has(mixed, "a: f32[3] is computed, by step 1")
    has(mixed, "c: f32[3] is pending")
end)

check.test("on its way, and failed", function()
    local held, let_go = np.debug.hold(ready { 1 })
    np.force(held)
    local after = np.explain(held, held + 1)
    let_go()
    has(after, "is being computed")
    local bad = np.debug.fail(ready { 1 })
    pcall(bad.wait, bad)
    has(np.explain(bad), "a: f32[1] has failed: ")
    has(np.explain(bad), "debug_fail: failed on purpose")
    has(np.explain(bad + 1), "a: f32[1], failed")
end)

check.test("runs are counted, and long ones all timed", function()
    local long, short = np.force(np.ones(1000000) + 1, np.ones(10) + 1)
    local a, b
    for _ = 1, 5 do
        a, b = long:sqrt(), short:sqrt()
        a:wait()
        b:wait()
    end
    has(np.explain(a), "has run 5 times")
    has(np.explain(a), " in 5 timed runs")
    has(np.explain(b), "has run 5 times")
    lacks(np.explain(b), "timed runs")
    has(np.explain(long:sqrt()), "has run 5 times") -- the next run of it
end)

-- ---- Programs -------------------------------------------------------------------------------------------------------

check.test("a program", function()
    local w = np.arange(3)
    local program = np.trace(function(x, k) return ((x + w) * k):sum { axis = -1 } end)(np.ones { 2, 3 }, 4)
    check.equal(plain(np.explain(program)), [[
for arguments (x: f32[2,3], k: a number):
program of 4 ops, 1 capture, 0 effects
  x: f32[2,3], an input
  k: number, an input
  a: f32[3], a captured constructor
  b: f32[2,3] = add x a
  c: f32[] = astype[dtype=f32] k
  d: f32[2,3] = multiply b c
  e: f32[2] = sum[axes=1] d
  return e
1 kernel: reads 24 B, writes 8 B, about T on one core
     step  over  reads  writes  estimate  how  line
  1  astype+add+astype+multiply+sum  2 rows of 3  24 B  8 B  T  ISA, batch
       e is stored: it was asked for]])
end)

check.test("a jitted function tells of each of its programs", function()
    local w, made = ready { 1, 2, 3 }, np.arange(3)
    local f = np.jit(function(t, name) return name == "up" and t.x * w + made or t.x - w end)
    check.equal(tostring(np.explain(f)), "a jitted function that was not called yet: it has no program")
    f({ x = np.ones(3) }, "up")
    local y = f({ x = np.ones { 2, 3 } }, "down")
    y:wait()
    local told = np.explain(f)
    has(told, 'for arguments ({x=f32[3]}, "up"):\narrays that it reads anew at each call: w\n'
        .. "constructors that it makes itself: made\n")
    has(told, 'for arguments ({x=f32[2,3]}, "down"):')
    has(told, "has run 1 time")
    has(np.explain(y), "a: f32[2,3] is computed, by step 1")
    check.ok(told:dot(1) ~= told:dot(2))
    check.raises(function() told:dot(3) end, "there is no picture 3, there are 2")
end)

check.test("the runs of a program, and those of others that share its plan", function()
    local x = ready { 1, 2, 3 }
    local f = np.jit(function(a) return a * 3 - 0.75 end)
    f(x):wait()
    has(np.explain(f), " KiB kept, run by 1 call\n")
    has(np.explain(f), "has run 1 time\n")
    local eager = x * 3 - 0.75
    eager:wait()
    has(np.explain(f), "has run 1 time, and 1 time for others of the same structure\n")
    local again = np.trace(function(a) return a * 3 - 0.75 end)(x)
    has(np.explain(again), "has run 2 times for others of the same structure\n")
end)

check.test("while tracing", function()
    local told
    np.jit(function(x)
        told = np.explain(x * 2, x)
        return x
    end)(np.ones(3))
    check.equal(plain(told), [[
b: f32[3] is traced: programs compute it
a: f32[3] is traced: programs compute it
  a: f32[3], an input
  b: f32[3] = multiply a 2]])
end)

check.test("under a gradient", function()
    local told
    np.grad(function(x)
        local y = (x * x):sum()
        told = np.explain(y)
        return y
    end)(ready { 1, 2 })
    has(told, "= alias a")
    has(told, "kernel")
end)

-- ---- What explaining changes ----------------------------------------------------------------------------------------

check.test("nothing is started, and the plan is the one that runs", function()
    pcall(np.wait_all) -- what other tests have left: also a failure
    local x = ready { { 1, 2 }, { 3, 4 } }
    local m = x - x:max { axis = -1, keepdims = true }
    local y = m:exp() / m:exp():sum { axis = -1, keepdims = true }
    local before, plans = state()
    local told = np.explain(y)
    local after, more = state()
    check.equal(after, before)
    check.equal(more - plans, 1)
    check.ok(y:is_deferred())
    check.equal(tostring(np.explain(y)), tostring(told))
    local values = y:totable()
    check.equal(select(2, state()), plans + 1)
    check.ok(tostring(told):find("is pending"), "an explanation is what was true when it was asked for")
    local again = x - x:max { axis = -1, keepdims = true }
    check.equal((again:exp() / again:exp():sum { axis = -1, keepdims = true }):totable(), values)
end)

-- ---- Size -----------------------------------------------------------------------------------------------------------

check.test("of a long graph the ends are told", function()
    np.debug.limits { nodes = 0, bytes = 0 }
    local long, parts = ready { 1 }, {}
    for k = 1, 50000 do
        long = long * 1.5 + 1
        parts[k] = long
    end
    local told = np.explain(long)
    has(told, "  … 99,961 more lines …")
    has(told, " more steps …")
    local wide = np.explain(parts)
    has(wide, "… 49,984 more arrays …")
    np.debug.limits { nodes = 1024, bytes = 64 * 2 ^ 20 }
    for _, each in ipairs { told, wide } do
        check.ok(#tostring(each) < 20000, #tostring(each))
        check.ok(#each:dot() < 70000, #each:dot()) -- kernels have up to 30 results here
    end
end)

check.test("so are kernels of many operands", function()
    local sum
    for k = 1, 300 do
        local x = ready { k, k + 1 }
        sum = sum and sum + x or x
    end
    local told = np.explain(sum)
    check.ok(#tostring(told) < 10000 and #told:dot() < 20000)
    has(told, "add×29")
end)

-- ---- Arguments ------------------------------------------------------------------------------------------------------

check.test("what cannot be explained", function()
    local gone = ready { 1 }
    gone:delete()
    check.raises(function() np.explain(gone) end, "explain_test.lua:%d+: np.explain: the array was deleted")
    check.raises(function() np.explain() end, "np.explain: there is no array in the arguments")
    check.raises(function() np.explain {} end, "np.explain: there is no array in the arguments")
    check.raises(function() np.explain(nil) end, "argument 1 must hold arrays, or be a jitted function or a program; "
                 .. "got nothing")
    check.raises(function() np.explain(ready { 1 }, "x") end, 'argument 2 .* got the string "x"')
    for _, f in ipairs { print, function() end, np.sum, np.grad(function() end) } do
        check.raises(function() np.explain(f) end, "got a function that np.jit has not made")
    end
    local f = np.jit(function(x) return x end)
    check.raises(function() np.explain(f, f) end, "takes one jitted function or program, or arrays")
    check.raises(function() np.explain { f } end, "argument 1 must hold arrays")
    local round = {}
    round[1] = round
    check.raises(function() np.explain(round) end, "np.explain")
end)

-- ---- Pictures -------------------------------------------------------------------------------------------------------

check.test("the picture has a box for each buffer and a cluster for each step", function()
    local x = ready { { 1, 2 }, { 3, 4 } }
    local picture = np.explain((x * 2 + np.arange(2)):sum { axis = 0 }, x:matmul(x)):dot()
    local _, clusters = picture:gsub("subgraph cluster_", "")
    local _, boxes = picture:gsub("shape=box", "")
    check.equal({ clusters, boxes }, { 2, 4 })
    check.ok(picture:find('label="multiply 2"', 1, true) and picture:find('label="astype index"', 1, true), picture)
    check.ok(picture:find('shape=invtrapezium, label="sum"', 1, true), picture)
    check.ok(np.explain(x):dot():find('label="a: f32[2,2]"', 1, true))
end)

check.test("saving", function()
    local told, path = np.explain(ready { 1 } + 1), os.tmpname()
    told:save(path .. ".txt")
    told:save(path .. ".dot")
    check.equal(process.read(path .. ".txt"), tostring(told) .. "\n")
    check.equal(process.read(path .. ".dot"), told:dot())
    for _, name in ipairs { path, path .. ".txt", path .. ".dot" } do os.remove(name) end
    check.raises(function() told:save("picture.png") end, "must end in .txt, .dot or .svg")
    check.raises(function() told:save(5) end, "argument 1 %(path%) must be a file name")
    check.raises(function() told:save("/nowhere/x.txt") end, "cannot write '/nowhere/x.txt'")
end)

--- An SVG's elements must be pairs; returns its text without them.
local function content_of(svg)
    local open = {}
    check.ok(not svg:find "&[^#%w]" and not svg:gsub("<[^<>]*>", ""):find "[<>]", svg)
    for closes, name, closed in svg:gmatch "<(/?)(%w+)[^<>]-(/?)>" do
        if closes == "/" then
            check.equal(table.remove(open), name)
        elseif closed == "" then
            open[#open + 1] = name
        end
    end
    check.equal(#open, 0)
    return (svg:gsub("<[^<>]*>", ""))
end

--- Rectangles of an SVG with this class of corners: { left, top, right, bottom }.
local function boxes_of(svg, corner)
    local list = {}
    local rectangle = '<rect x="([%d.-]+)" y="([%d.-]+)" width="([%d.]+)" height="([%d.]+)" rx="([%d.]+)"'
    for x, y, w, h, r in svg:gmatch(rectangle) do
        if tonumber(r) == corner then list[#list + 1] = { tonumber(x), tonumber(y), x + w, y + h } end
    end
    return list
end

local function overlap(a, b)
    return a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]
end

check.test("every picture is drawn, without any other program", function()
    np.debug.limits { nodes = 0, bytes = 0 }
    local x, long, many = ready { { 1, 2 }, { 3, 4 } }, ready { 1 }, {}
    for _ = 1, 30000 do long = long * 1.5 + 1 end
    for k = 1, 60 do many[k] = ((x + k):matmul(x) * k):sum() end
    local f = np.jit(function(a) return a:matmul(a) + a, a:max() end)
    f(x)
    local done = x:tanh()
    done:wait()
    for _, told in ipairs { np.explain(x), np.explain(x * 2), np.explain(long), np.explain(many), np.explain(f),
                            np.explain(x:exp():sum(), x:matmul(x):transpose(), np.arange(5)), np.explain(done),
                            np.explain(np.concatenate { x, x:transpose() }), np.explain(x:take(np.arange(1))) } do
        local svg = told:svg()
        check.ok(svg:find "^<svg xmlns" and svg:find "</svg>\n$", svg)
        content_of(svg)
        check.equal(told:svg(), svg)
        for _, corner in ipairs { 2, 8 } do
            local boxes = boxes_of(svg, corner)
            for k = 1, #boxes do
                for j = 1, k - 1 do check.ok(not overlap(boxes[j], boxes[k]), ("boxes %d and %d"):format(j, k)) end
            end
        end
    end
    np.debug.limits { nodes = 1024, bytes = 64 * 2 ^ 20 }
    local path = os.tmpname() .. ".svg"
    np.explain(x * 2):save(path)
    check.ok(process.read(path):find("multiply", 1, true))
    os.remove(path)
    local code = "io.write(np.explain(np.ones(2) + 1):svg())"
    local status, out = process.run { "env", "PATH=/nowhere", process.neap, "-e", code }
    check.equal(status, 0)
    check.ok(out:find "^<svg", out)
end)

check.test("the pointer over an op tells its array and the line of the script", function()
    local x = ready { { 1, 2 }, { 3, 4 } }
    local e = (x - x:max { axis = -1, keepdims = true }):exp() -- ours & "theirs" <
    local told = np.explain(e / e:sum { axis = -1, keepdims = true })
    check.ok(told:dot():find('label="exp", tooltip="d: f32[2,2]\\n', 1, true), told:dot())
    local text = content_of(told:svg())
    check.ok(text:find("exp\nd: f32[2,2]\n", 1, true), text)
    check.ok(text:find("explain_test.lua:%d+: local e = %(x %- x:max { axis = %-1, keepdims = true }%):exp%(%) "
                       .. "%-%- ours &amp; &quot;theirs&quot; &lt;"), text)
    check.ok(text:find("explain_test.lua:%d+: local told = np.explain", 1), text)
    check.ok(text:find "~[%d.]+ ?[nµm]*s", "the estimate stands in the box of the step")
    local shown = debug.getmetatable(told).__display(told)
    check.equal(shown["text/plain"], tostring(told))
    check.ok(shown["text/html"]:find(told:svg(), 1, true) and shown["text/html"]:find "<details>.*<pre>.*divide")
    local _, out = process.run_neap { "-e", "np.explain(np.ones(2) + 1):show()" }
    check.ok(out:find("1 kernel: reads 0 B, writes 8 B", 1, true), out)
end)

check.test("several devices are named", function()
    local _, out = process.run_neap { "--devices", "2", "-e",
                                      'print(np.explain(np.device_put(np.ones(2), "cpu:1") + 1))' }
    check.ok(out:find("rows, cpu:1", 1, true), out)
end)

process.cleanup()
check.done()
