--- breakpoint_test.lua (not under tsan): np.breakpoint in functions that are traced: where a run stops, in which order,
-- what the prompt knows there; values that it is given; and what happens where nobody answers.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

local test = check.test

--- Runs a program with commands typed at its breakpoints. Returns what it shows, its errors, and its status.
local function run(code, commands, options)
    local path = process.file(code)
    local words = { unpack(options or {}) }
    words[#words + 1] = path
    local typed = commands[1] and table.concat(commands, "\n") .. "\n" or ""
    local status, out, err = process.run_neap(words, typed)
    local function short(text) return (text:gsub(path:gsub("%p", "%%%0"), "FILE")) end
    return short(out), short(err), status
end

--- What a program shows that ends well and tells of no error.
local function shown(code, commands, options)
    local out, err, status = run(code, commands, options)
    check.equal({ err, status }, { "", 0 })
    return out
end

-- ---- Where it stops -------------------------------------------------------------------------------------------------

test("a jitted function stops in each run, in order with prints", function()
    check.equal(shown([[
local f = np.jit(function(x, k)
    local y = x * k
    print("doubled", y)
    np.breakpoint()
    print("behind")
    return y + 1
end)
print("first", f(np.arange(2), 2))
print("second", f(np.arange(2) + 1, 3))
]], { "x, y, k", ":l", ":w", ":c", "y:sum()", ":c" }), [[
doubled	[0 2]
breakpoint at FILE:4, in a function of line 1  (:c goes on, :h tells more)
(breakpoint) [0 1]  i32[2]
[0 2]  i32[2]
2
(breakpoint) x = [0 1]  i32[2]
k = 2
y = [0 2]  i32[2]
(breakpoint) > FILE:4, in a function of line 1
(breakpoint) behind
first	[1 3]
doubled	[3 6]
breakpoint at FILE:4, in a function of line 1  (:c goes on, :h tells more)
(breakpoint) 9  i32
(breakpoint) behind
second	[4 7]
]])
end)

test("loops stop in each turn, branches where they are taken", function()
    check.equal(shown([[
local total = np.scan(function(sum, x)
    np.breakpoint()
    return sum + x, sum
end, np.array(0), np.array{3, 4})
print(total)
local function stops() np.breakpoint() return np.array(1) end
local choose = np.jit(function(p) return np.cond(p, stops, function() return np.array(2) end) end)
print(choose(np.array(false)))
print(choose(np.array(true)))
print(np.while_loop(function(k) return k:lt(2) end, function(k) np.breakpoint{k = k} return k + 1 end, np.array(0)))
]], { "sum, x", ":c", "sum, x", ":c", ":w", ":c", ":c", "k", ":c" }), [[
breakpoint at FILE:2, in a function of line 1  (:c goes on, :h tells more)
(breakpoint) 0.0  f32
3.0  f32
(breakpoint) breakpoint at FILE:2, in a function of line 1  (:c goes on, :h tells more)
(breakpoint) 3.0  f32
4.0  f32
(breakpoint) 7.0
2.0
breakpoint at FILE:6, in a function of line 6  (:c goes on, :h tells more)
(breakpoint) > FILE:6, in a function of line 6
  FILE:7, in a function of line 7
(breakpoint) 1.0
breakpoint at FILE:10, in a function of line 10  (:c goes on, :h tells more)
k = 0.0  f32
(breakpoint) breakpoint at FILE:10, in a function of line 10  (:c goes on, :h tells more)
k = 1.0  f32
(breakpoint) 1.0  f32
(breakpoint) 2.0
]])
end)

test("np.vmap stops for each example, once without any", function()
    local code = [[
local f = np.vmap(function(x) local y = x * 10 np.breakpoint() return y end)
print(f(np.array{1, 2}))
print(np.jit(np.vmap(function(x) np.breakpoint{same = np.ones(2)} return x end))(np.array{1, 2}))
]]
    check.equal(shown(code, { "y", ":c", "y", ":c", ":c" }):gsub("breakpoint at [^\n]*", "stop"), [[
stop
(breakpoint) 10.0  f32
(breakpoint) stop
(breakpoint) 20.0  f32
(breakpoint) [10. 20.]
stop
same = [1. 1.]  f32[2]
(breakpoint) [1. 2.]
]])
end)

test("a jitted function stops unordered where a batch of it is asked for", function()
    local code = [[
local f = np.jit(function(x) np.breakpoint(nil, {ordered=%s}) return x end)
f(np.array(1))
print(pcall(np.vmap(f), np.array{1, 2}))
]]
    local out = shown(code:format "true", { ":c", ":c", ":c" })
    check.ok(out:find "false\tFILE:3: np.vmap: the callback at FILE:1 is an ordered effect", out)
    out = shown(code:format "false", { ":c", "x", ":c", "x", ":c" })
    check.ok(out:find "1%.0  f32\n.*2%.0  f32\n.*true\t%[1%. 2%.%]\n$", out)
end)

test("derivatives stop once, also those of checkpoints that are told so", function()
    local code = [[
local function f(x) local y = x * x np.breakpoint{y = y} return y:sum() end
print(np.grad(f)(np.array{1, 2}))
print(np.jit(np.grad(f))(np.array{1, 2}))
print(np.grad(np.jit(f))(np.array{1, 2}))
print(select(2, pcall(np.grad(np.checkpoint(f)), np.array{1, 2})))
]]
    local out = shown(code, { ":c", ":c", ":c" })
    check.equal(out:gsub("breakpoint at [^\n]*", "stop"):gsub("FILE:5: .*", "refused\n"), [[
stop
y = [1. 4.]  f32[2]
(breakpoint) [2. 4.]
stop
y = [1. 4.]  f32[2]
(breakpoint) [2. 4.]
stop
y = [1. 4.]  f32[2]
(breakpoint) [2. 4.]
refused
]])
    check.ok(out:find "checkpoint: the function is differentiated and has an ordered effect, np.breakpoint at FILE:1",
             out)
end)

test("a jitted body of np.shard_map stops for each device whose values differ", function()
    local out = shown([[
local mesh = np.mesh({2}, {"i"})
local f = np.jit(np.shard_map(function(block)
    local total = np.psum(block, "i")
    np.breakpoint{block = block}
    np.breakpoint{total = total}
    return total
end, {mesh=mesh, in_specs=np.P("i"), out_specs=np.P()}))
print(f(np.arange(4)))
]], { ":c", "block * 2", ":c", ":c" }, { "--devices", "2" })
    check.equal(out, [[
breakpoint at FILE:4, in a function of line 2; device i=0  (:c goes on, :h tells more)
block = [0 1]  i32[2]
(breakpoint) breakpoint at FILE:4, in a function of line 2; device i=1  (:c goes on, :h tells more)
block = [2 3]  i32[2]
(breakpoint) [4 6]  i32[2]
(breakpoint) breakpoint at FILE:5, in a function of line 2  (:c goes on, :h tells more)
total = [2 4]  i32[2]
(breakpoint) [2 4]
]])
end)

test("a program stops when it runs, and not when it is recorded", function()
    local out = shown([[
local program = np.trace(function(x) np.breakpoint() return x + 1 end)({shape={2}})
print "recorded"
print(program(np.ones(2)))
print(np.eval_shape(function(x) np.breakpoint() return x end, {shape={2}}).shape[1])
]], { "x", ":c" })
    check.equal(out:gsub("breakpoint at [^\n]*", "stop"), "recorded\nstop\n(breakpoint) [1. 1.]  f32[2]\n"
                .. "(breakpoint) [2. 2.]\n2\n")
end)

-- ---- What the prompt knows ------------------------------------------------------------------------------------------

local AROUND = [[
scale = np.array(3)
settings = { rate = np.array(0.5), name = "sgd" }
local bias, steps = np.array{10, 20}, 4
local function layer(x)
    local shifted = x + bias
    np.breakpoint()
    return shifted * scale * settings.rate
end
local f = np.jit(function(params)
    local before = params.w * 2
    local plain, list = "text", { before, { params.b } }
    list.self = list
    return layer(before) + params.b, plain, list and steps
end)
print((f{w = np.array{1, 2}, b = np.array(1)}))
]]

test("variables around, tables, callers, cycles", function()
    local out = shown(AROUND, { "x, shifted, bias", "scale, settings", ":u", "params", "plain, steps", "list[2][1]",
                                "list.self == list", "before[1]", ":d", "x", ":c" })
    check.equal(out:gsub("breakpoint at [^\n]*", "stop"), [[
stop
(breakpoint) [2. 4.]  f32[2]
[12. 24.]  f32[2]
[10. 20.]  f32[2]
(breakpoint) 3.0  f32
name  string  "sgd"
rate  f32     0.5
(breakpoint) FILE:13, in a function of line 9
(breakpoint) b  f32     1.0
w  f32[2]  [1. 2.]
(breakpoint) "text"
4
(breakpoint) 1.0  f32
(breakpoint) true
(breakpoint) 4.0  f32
(breakpoint) FILE:6, in function 'layer'
(breakpoint) [2. 4.]  f32[2]
(breakpoint) [19. 37.]
]])
end)

test("assignments change what the prompt sees, and not the program", function()
    local out = shown(AROUND, { "shifted = 0", "bias = 1", "scale = 2", "shifted, bias, scale", ":c" })
    check.ok(out:find(("(breakpoint) "):rep(4) .. "0\n1\n2\n(breakpoint) [19. 37.]", 1, true), out)
end)

test("a loop shows its own variables; those of a function around it have no part in it", function()
    local out = shown([[
local f = np.jit(function(x)
    local around, used, number = x * 2, x * 3, 7
    return np.scan(function(c, a) local y = a + used[0] np.breakpoint() return c, y end, around, x), number
end)
f(np.arange(2))
]], { "c, y, used", ":u", "around", "number", ":c", ":c" })
    check.equal(out:gsub("breakpoint at [^\n]*", "stop"), [[
stop
(breakpoint) [0 2]  i32[2]
0  i32
[0 3]  i32[2]
(breakpoint) FILE:3, in a function of line 1
(breakpoint) (an array of a function around this trace, which has no part in it)
(breakpoint) 7
(breakpoint) stop
(breakpoint) ]])
end)

test("arrays of traces that have ended, and more arrays than are kept, are named", function()
    local out = shown([[
np.jit(function(x) kept = {x} return x end)(np.ones(2))
np.jit(function(x)
    local many, ended = {}, _G["ke" .. "pt"]
    for k = 1, 70 do many[k] = x * k end
    np.breakpoint()
    return x, ended ~= nil
end)(np.ones(2))
]], { "many[2]", "many[70]", "ended[1]", ":c" })
    check.equal(out:gsub("breakpoint at [^\n]*", "stop"), [[
stop
(breakpoint) [2. 2.]  f32[2]
(breakpoint) (not kept: a breakpoint keeps 56 arrays)
(breakpoint) (an array of a trace that has ended)
(breakpoint) ]])
end)

test("sizes are those of the run, and rules and coroutines stop", function()
    local out = shown([[
local sized = np.jit(function(x) local n = x.shape[1] np.breakpoint() return x * n end, {sizes={{"n"}}})
print(sized(np.ones(2)), sized(np.ones(3)))
local rule = np.custom_vjp(function(x) return np.sin(x) end)
rule:defvjp(function(x) np.breakpoint{fwd=x} return np.sin(x), {x} end,
            function(r, ct) np.breakpoint{bwd=ct} return ct * r[1] end)
print(np.jit(np.grad(function(x) local twice = x * 2 return rule(twice):sum() end))(np.ones(2)))
print(np.jit(function(x)
    return coroutine.wrap(function() local y = x + 1 np.breakpoint() return y end)()
end)(np.ones(2)))
]], { "n + 1", ":c", "n + 1", ":c", ":c", ":c", "y", ":c" })
    check.equal(out:gsub("breakpoint at [^\n]*", "stop"), [[
stop
(breakpoint) 3
(breakpoint) stop
(breakpoint) 4
(breakpoint) [2. 2.]	[3. 3. 3.]
stop
fwd = [2. 2.]  f32[2]
(breakpoint) stop
bwd = [1. 1.]  f32[2]
(breakpoint) [4. 4.]
stop
(breakpoint) [2. 2.]  f32[2]
(breakpoint) [2. 2.]
]])
end)

test("values that it is given, eager and traced", function()
    local code = [[
local function f(x)
    local hidden = x * 5
    np.breakpoint{half = x / 2, x = x}
    return hidden
end
f(np.array{2, 4})
np.jit(f)(np.array{2, 4})
]]
    check.equal(shown(code, { "half + 1", "half = 3", "half", "hidden", ":c", "half + 1", "half = 3", "half",
                              ":l", ":c" }):gsub("breakpoint at [^\n]*", "stop"), [[
stop
half = [1. 2.]  f32[2]
x = [2. 4.]  f32[2]
(breakpoint) [2. 3.]  f32[2]
(breakpoint) (breakpoint) 3
(breakpoint) [10. 20.]  f32[2]
(breakpoint) stop
half = [1. 2.]  f32[2]
x = [2. 4.]  f32[2]
(breakpoint) [2. 3.]  f32[2]
(breakpoint) (breakpoint) 3
(breakpoint) half = 3
x = [2. 4.]  f32[2]
(breakpoint) ]])
    local _, err = run(code, { "hidden", ":c", "hidden", ":c" })
    check.ok(err:find "the variable 'hidden' has no value", err)
end)

test("a breakpoint changes no number", function()
    local out = shown([[
local function f(x, stop)
    local y = np.tanh(x * 3) / np.exp(x)
    if stop then np.breakpoint() end
    return np.softmax(y * x):sum() + np.log(y + 2):sum()
end
local x = np.random.normal(np.random.key(1), {1000})
print(np.array_equal(np.jit(np.grad(function(x) return f(x, true) end))(x),
                     np.jit(np.grad(function(x) return f(x, false) end))(x)))
]], { ":c" })
    check.ok(out:find "true\n$", out)
end)

test("arguments that it does not take", function()
    check.raises(function() np.breakpoint(3) end,
                 "np.breakpoint: argument 1 %(values%) must be a table of values by name, as {x=x}, got")
    check.raises(function() np.breakpoint { 3 } end,
                 "np.breakpoint: argument 1 %(values%) holds values by name, as {x=x}, and has the key the number 1")
    check.raises(function() np.breakpoint(nil, { ordered = 1 }) end, "option 'ordered' must be a boolean, got")
    check.raises(function() np.breakpoint({}, { order = true }) end, "np.breakpoint: .*'order'")
    check.raises(function() return np.debug.breakpoint end, "np.breakpoint%(%)")
end)

-- ---- Leaving --------------------------------------------------------------------------------------------------------

local LOOP = [[
local f = np.jit(function(x)
    return np.scan(function(c, a) np.breakpoint{c = c} return c + a, c end, np.array(0), x)
end)
local last, all = f(np.arange(3))
print(last:item(), all)
print "not reached"
]]

test("quitting ends the run and the script, as Ctrl-C does", function()
    local out, err, status = run(LOOP, { ":c", ":q" })
    check.ok(out:find "c = 1.0  f32\n%(breakpoint%) $" or out:find "c = 0.0  f32\n%(breakpoint%) $", out)
    check.ok(err:find "interrupted" and not out:find "not reached", err)
    check.equal(status, 130)
end)

test("quitting at the prompt leaves the prompt", function()
    local script = LOOP:gsub("\nlocal last.*", "\nfunction call() return f(np.arange(3)) end")
    local terminal = prompts.start { "-i", process.file(script) }
    terminal:expect "> "
    terminal:send "call()\n"
    terminal:expect "c = 0.0  f32\r\n"
    terminal:expect "(breakpoint) "
    check.equal(prompts.command(terminal, "c + 1", "(breakpoint) "), "1.0  f32\n")
    terminal:send "while true do end\n"
    terminal:expect "\r\n"
    process.sleep(0.1)
    terminal:send "\3"
    terminal:expect "interrupted"
    terminal:expect "(breakpoint) "
    terminal:send "\4"
    terminal:expect "(breakpoint) "
    terminal:send ":q\n"
    terminal:expect "interrupted"
    terminal:expect "> "
    check.equal(prompts.command(terminal, "1 + 1"), "2\n")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

test("where nobody answers, that is told once", function()
    local code = "local x = 1 np.breakpoint()\n" .. LOOP
    local out, err, status = run(code, {})
    check.equal({ err, status }, { "neap: breakpoints are passed from here on: standard input has ended\n", 0 })
    check.equal(out:gsub(" \n", "\n"), [[
breakpoint at FILE:1, in the main chunk  (:c goes on, :h tells more)
(breakpoint)
3	[0. 0. 1.]
not reached
]])
    out, err = run(code, { ":c", ":c" })
    check.equal(err, "neap: breakpoints are passed from here on: standard input has ended\n")
    local _, stops = out:gsub("breakpoint at", "")
    check.equal(stops, 3)
end)

test("commands typed there take no numbers, and are not saved", function()
    local path = process.file "" .. ".lua"
    local commands = { "f = function(k) np.breakpoint() return k end", "f(3)", "k + 1", "error 'oops'", "_ * 10", ":c",
                       "_ == 3, Out[2] == 3", ":save " .. path, "error 'later'" }
    local _, out, err = process.run_neap({ "-i", "--no-startup" }, table.concat(commands, "\n") .. "\n")
    check.ok(out:find "4\n.*40\n.*3\n.*true\ntrue\n.*3 commands in", out)
    check.ok(err:find("[2.2]:1: oops", 1, true) and err:find("[5]:1: later", 1, true), err)
    check.equal(process.read(path), table.concat({ commands[1], commands[2], commands[7] }, "\n") .. "\n")
    os.remove(path)
end)

process.cleanup()
check.done()
