--- prompt_test.lua (not under tsan): the prompt under a pseudo-terminal: editing, continuation, history, completion,
-- late output.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

-- Tests of editing need readline.
local editing = select(2, process.run_neap { "doctor" }):find("line editing +GNU readline") ~= nil
local editing_test = editing and check.test or function(name) check.skip(name, "built without readline") end

local state = process.file "" -- its name, as a folder, for the history
os.remove(state)

--- A prompt that has just appeared.
local function prompt(arguments)
    local terminal = process.terminal(arguments or {}, { XDG_STATE_HOME = state, NO_COLOR = "1", NEAP_STARTUP = "" })
    terminal:expect "> "
    return terminal
end

--- Types a command; returns what is shown between it and the next prompt.
local function command(terminal, text)
    terminal:send(text .. "\n")
    prompts.taken(terminal)
    return (terminal:expect("> "):gsub("\27%[%?2004[lh]\r?", "")) -- without the marks of bracketed paste
end

check.test("an expression is shown, a statement is not", function()
    local terminal = prompt()
    check.equal(command(terminal, "1 + 1"), "2\r\n")
    check.equal(command(terminal, "= 3, nil"), "3\r\nnil\r\n")
    check.equal(command(terminal, "x = np.arange(6)"), "")
    check.equal(command(terminal, "x:reshape(2, 3)"), "[[0 1 2]\r\n [3 4 5]]  i32[2,3]\r\n")
    check.equal(command(terminal, "x.shape"), "{6}\r\n")
    check.equal(command(terminal, "local y = 2 return y, y + 1"), "2\r\n3\r\n")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

check.test("an incomplete command continues", function()
    local terminal = prompt()
    terminal:send "for i = 1, 2 do\n"
    terminal:expect ">> "
    terminal:send "print(i * 10)\n"
    terminal:expect ">> "
    terminal:send "end\n"
    terminal:expect "10\r\n20\r\n"
    terminal:expect "> "
    terminal:send "os.exit(5)\n"
    check.equal(terminal:finish(), 5)
end)

--- Commands typed into a prompt without a terminal, which reads lines in the same way; what it writes but for prompts.
local function piped(text)
    local _, out, err = process.run_neap({ "-i" }, text)
    return (out:gsub("^[> ]*", ""):gsub("\n[> ]*", "\n")), err
end

check.test("a long command ends where a short one would", function()
    local rows = ("{ 1, 2 },\n"):rep(2000)
    check.equal((piped("t = {\n" .. rows .. "}\n#t\n")), "2000\n")
    check.equal((piped("f = function(x)\n" .. ("x = x + 1\n"):rep(2000) .. "return x end\nf(1)\n")), "2001\n")
    local text = ("]=] text ]\n"):rep(1000)
    check.equal((piped("s = #[[" .. text .. "]]\ns\n")), #text .. "\n")
    check.equal((piped("u = {\n" .. rows .. "[[\n" .. text .. "]],\n" .. rows .. "}\n#u\n")), "4001\n")
    check.equal((piped("v = {\n" .. rows .. "'}', --}\n" .. rows .. "}\n#v\n")), "4001\n")
    local _, problem = piped("w = {\n" .. rows .. "1 2\n" .. rows .. rows .. rows .. "}\n")
    check.ok(problem:find("'}' expected", 1, true), problem)
end)

check.test("a value in brackets behind a block is a command of its own", function()
    check.equal((piped "if true then print(1) end (2)\n"), "1\n2\n")
    check.equal((piped "for k = 1, 2 do end (3 + 4):type()\n5\n"):match "5\n$", "5\n")
    check.equal((piped "function f() return 6 end (f)()\n"), "6\n")
    check.equal((piped "if true then end\n(2 * 4)\n"), "8\n")
    check.equal((piped "x = function(n) return n end (2)\n9\n"), "9\n")
    check.equal((piped "do local g = function(n) return n + 1 end (7) end\n3\n"):match "3\n$", "3\n")
end)

check.test("an error names the line and the session goes on", function()
    local terminal = prompt()
    check.ok(command(terminal, "error('first')"):find "^%[1%]:1: first\r\n", "error")
    check.ok(command(terminal, "np.arange(6):reshape(4, 4)"):find "^%[2%]:1: .*reshape", "library error")
    check.ok(command(terminal, "x = ="):find "^%[3%]:1: unexpected symbol", "syntax error")
    check.equal(command(terminal, "7"), "7\r\n")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

check.test("Ctrl-C drops the line, and a continued command", function()
    local terminal = prompt()
    terminal:send "this is not "
    terminal:expect "not "
    terminal:send "\3"
    terminal:expect "^C\r\n"
    terminal:expect "> "
    check.equal(command(terminal, "'clean'"), '"clean"\r\n')
    terminal:send "for i = 1, 2 do\n"
    terminal:expect ">> "
    terminal:send "\3"
    terminal:expect "^C\r\n"
    terminal:expect "> "
    check.equal(command(terminal, "'again'"), '"again"\r\n')
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

editing_test("late output goes above the line that is being edited", function()
    local terminal = prompt()
    command(terminal, "print(np.debug.sleep(np.arange(3), 500))")
    terminal:send "1 + "
    local before = terminal:expect "[0 1 2]"
    check.ok(before:find "1 %+ ", before)
    terminal:expect "1 + " -- drawn again
    check.equal(command(terminal, "1"), "2\r\n")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

editing_test("tab completes fields of np and globals", function()
    local terminal = prompt()
    terminal:send "np.arang\t(3)\n"
    terminal:expect "[0 1 2]"
    terminal:expect "> "
    terminal:send "type(np.expla\t)\n" -- which is not loaded yet
    terminal:expect '"function"\r\n'
    terminal:expect "> "
    terminal:send "type(np.linalg.chol\t)\n" -- behind a part that is not loaded yet
    terminal:expect '"function"\r\n'
    terminal:expect "> "
    terminal:send "math.fl\t(1.5)\n"
    terminal:expect "1\r\n"
    terminal:expect "> "
    check.equal(command(terminal, "x = np.arange(6)"), "")
    terminal:send "x:resha\t(6)\n"
    terminal:expect "[0 1 2 3 4 5]"
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

editing_test("tab completes local variables of earlier commands, and their fields", function()
    local terminal = prompt()
    check.equal(command(terminal, "local vector, tree = np.arange(3), { branch = { leaf = 5 } }"), "")
    terminal:send "vec\t.nd\t\n"
    terminal:expect "1\r\n"
    terminal:expect "> "
    terminal:send "tree.br\t.le\t\n"
    terminal:expect "5\r\n"
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

editing_test("a breakpoint in a callback keeps the line that is being typed", function()
    local gate = process.file ""
    os.remove(gate)
    local terminal = prompt { "-i", process.file(([[
        function call() later(np.debug.sleep(np.ones(2), 10)) end
        later = np.callback(function(v)
            if not io.open(%q) then return call() end
            local inside = v * 2
            np.breakpoint()
            print("seen", inside)
        end)
    ]]):format(gate)) }
    terminal:send "call()\n"
    terminal:expect "\r\n"
    terminal:expect "> "
    terminal:send "1 + 4"
    terminal:expect "1 + 4"
    io.open(gate, "w"):close()
    terminal:expect "(breakpoint) "
    terminal:send "inside\n"
    terminal:expect "[2. 2.]  f32[2]\r\n"
    terminal:expect "(breakpoint) "
    terminal:send "local more = 3\n"
    terminal:expect "(breakpoint) "
    terminal:send ":c\n"
    terminal:expect "seen\t[2. 2.]\r\n"
    terminal:expect "> 1 + 4"
    terminal:send "2\n"
    terminal:expect "43\r\n"
    terminal:expect "> "
    terminal:send "more\n" -- which the breakpoint's prompt has declared
    terminal:expect "the variable 'more' has no value"
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    os.remove(gate)
end)

editing_test("lines of a command that look like times come back as they were", function()
    local text = "x = [[\n#123\n#45 \n#6  \n# 7]]"
    local terminal = prompt()
    check.equal(prompts.command(terminal, text), "")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    terminal = prompt()
    terminal:send "\27[A\n" -- the up arrow
    prompts.taken(terminal)
    terminal:expect "> "
    check.equal(command(terminal, "x"), '"' .. text:sub(8, -3):gsub("\n", "\\n") .. '"\r\n')
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    os.remove(state .. "/neap/history")
end)

editing_test("history outlives the session", function()
    local terminal = prompt()
    check.equal(command(terminal, "'remember ' .. 'me'"), '"remember me"\r\n')
    terminal:send "\4"
    terminal:finish()
    terminal = prompt()
    terminal:send "\27[A\n" -- the up arrow
    terminal:expect '"remember me"\r\n'
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    os.remove(state .. "/neap/history")
end)

editing_test("a line of the history that was cut short takes no other with it", function()
    local terminal = prompt()
    check.equal(command(terminal, "'a whole line'"), '"a whole line"\r\n')
    terminal:send "\4"
    terminal:finish()
    local path = state .. "/neap/history"
    process.write(path, process.read(path) .. "#1764000000\n'cut")
    terminal = prompt()
    check.equal(command(terminal, "'behind it'"), '"behind it"\r\n')
    terminal:send "\4"
    terminal:finish()
    check.ok(process.read(path):find "\n'cut\n#%d+\n'behind it'\n$", process.read(path))
    os.remove(path)
end)

check.test("-i keeps the script's globals; its failure does not end the session", function()
    local script = process.file "y = 41; error('failed')"
    local terminal = process.terminal({ "-i", script }, { XDG_STATE_HOME = state, NO_COLOR = "1", NEAP_STARTUP = "" })
    terminal:expect(script .. ":1: failed")
    terminal:expect "> "
    check.equal(command(terminal, "y + 1"), "42\r\n")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

os.execute("rm -rf '" .. state .. "'")
process.cleanup()
check.done()
