--- progress_test.lua: np.progress: what loops go through, lines where there is no terminal, bars at a terminal with
-- what is printed above them, nested loops, loops that are left, at the prompt too. In notebooks it is kernel.py's
-- (tests/notebook).
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"
local screens = require "tests.lib.screen"

local function run(code)
    local status, out, err = process.run_neap { "-e", code }
    check.equal(status, 0, err)
    return out, err
end

--- What stands on the screen of a terminal after a program.
local function screen_of(code)
    local terminal = process.terminal({ "-e", code }, { TERM = "xterm" })
    check.equal(terminal:finish(), 0)
    local screen, lines = screens.new(120), {}
    screen:write(terminal.seen)
    for row = 1, #screen.rows do lines[row] = screen:text(row) end
    return table.concat(lines, "\n")
end

check.test("what a loop goes through", function()
    local quiet, seen = { disable = true }, {}
    for i in np.progress(3, quiet) do seen[#seen + 1] = i end
    for k, v in np.progress({ "a", "b" }, quiet) do seen[#seen + 1] = k .. v end
    local rows = {}
    for k, row in np.progress(np.arange(4):reshape(2, 2), quiet) do rows[#rows + 1] = k .. tostring(row) end
    check.equal(rows, { "0[0 1]", "1[2 3]" })
    local f, s, c = ipairs { 7 }
    for k, v in np.progress(f, s, c, quiet) do seen[#seen + 1] = k + v end
    for k, v in np.progress(next, { x = 5 }, nil, quiet) do seen[#seen + 1] = k .. v end
    local n = 0
    local function steps()
        n = n + 1
        if n <= 2 then return n * 10 end
    end
    for v in np.progress(steps, quiet) do seen[#seen + 1] = v end
    for _ in np.progress(0, quiet) do seen[#seen + 1] = "none" end
    check.equal(seen, { 1, 2, 3, "1a", "2b", 8, "x5", 10, 20 })
end)

check.test("wrong arguments", function()
    check.raises(function() np.progress("x") end, "^tests/effects/[%w_]+.lua:%d+: np.progress: argument 1 %(iter%)")
    check.raises(function() np.progress(2.5) end, "a count from 0")
    check.raises(function() np.progress(3, { no = 1 }) end, "unknown option 'no'")
    check.ok(np.progress(print, { 1 }, np.ones(3), { disable = true })) -- a control is compared by identity
    check.raises(function() np.progress(3, { total = "x" }) end, "'total' must be a number")
    check.raises(function() np.progress(3, { disable = true }):set_postfix(3) end, "postfix")
end)

check.test("without a terminal: a line at the end, and every mininterval", function()
    local out, err = run [[for i in np.progress(4, {desc="work"}) do print(i) end]]
    check.equal(out, "1\n2\n3\n4\n")
    check.ok(err:find "^work: 100%%|[█]+| 4/4 %[%d%d:%d%d<00:00, [%d%.]+it/s%]\n$", err)
    err = select(2, run [[for i in np.progress(3, {mininterval=0}) do end]])
    check.equal(select(2, err:gsub("\n", "")), 4)
    check.ok(err:find "^ 33%%|.*\n 66%%|.*\n100%%|", err)
    err = select(2, run [[
        local b = np.progress(ipairs{5, 6})
        for _, v in b do b:set_postfix{loss=np.array(v) * 2, n="x"} end]])
    check.ok(err:find ", loss=12, n=x%]\n$", err)
    err = select(2, run [[
        local n = 0
        for _ in np.progress(function() n = n + 1 if n < 4 then return n end end) do end]])
    check.ok(err:find "^3it %[", err)
    err = select(2, run [[local b = np.progress(10, {unit="B"}) b:update(4) b:update() b:close() b:close()]])
    check.ok(err:find "^ 50%%|.*5/10 .*B/s%]\n$", err)
end)

check.test("bars stand below what is printed", function()
    local text = screen_of [[
        for i in np.progress(2, {desc="outer"}) do
            for j in np.progress(3, {desc="inner"}) do print("step", i, np.array(j)) end
        end
        print "end"]]
    check.ok(text:find "^step\t1\t1%.0\nstep\t1\t2%.0\nstep\t1\t3%.0\nstep\t2\t1%.0\n.*\nouter: 100%%[^\n]*\nend",
             text)
    check.ok(not text:find "inner", text)
end)

check.test("loops that are left", function()
    local text = screen_of [[
        for i in np.progress(5, {desc="first"}) do if i == 3 then break end end
        pcall(function() for i in np.progress(5, {desc="second"}) do error "x" end end)
        for i in np.progress(2, {desc="third"}) do io.write("a") io.write("b\n") end
        print "end"]]
    check.ok(text:find "first:  40%%.*second:   0%%.*ab\nab\nthird: 100%%[^\n]*\nend", text)
end)

check.test("a command at the prompt that leaves a loop ends its bar", function()
    local terminal = prompts.start({}, { TERM = "xterm" })
    terminal:expect "> "
    for _, how in ipairs { "break", "error 'x'" } do
        prompts.command(terminal, ("for i in np.progress(5, {desc='left'}) do if i == 3 then %s end end"):format(how))
        for _, command in ipairs { "print(1)", "2 + 2" } do
            check.ok(not prompts.command(terminal, command):find("left", 1, true), how .. ": " .. command)
        end
    end
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

process.cleanup()
check.done()
