--- interact_test.lua (not under tsan): np.interact without a notebook (tests/notebook/interact.py has that): what its
-- arguments mean, what a script without a terminal does, and the keys at a terminal.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local screen = require "tests.lib.screen"

-- ---- Without a terminal ---------------------------------------------------------------------------------------------

--- Checks, in one script, what is printed by calls of np.interact with these arguments: pairs of arguments and text.
-- f prints, seen prints a table of values.
local function values(list)
    local parts, expected = {}, {}
    for k, pair in ipairs(list) do
        parts[k], expected[k] = ("np.interact(%s)"):format(pair[1]), pair[2]
    end
    local status, out = process.run_neap {
        "-e", "local f = print local function seen(v) for k, x in pairs(v) do print(k, x) end end "
            .. table.concat(parts, " print '--' ")
    }
    check.equal(status, 0)
    check.equal(out, table.concat(expected, "--\n"))
end

check.test("plain values", function()
    values {
        { "function(a) f(a) end, {a={0, 10}}", "5\n" },
        { "function(a) f(a) end, {a={0, 1}}", "0.5\n" },
        { "function(a) f(a) end, {a={0, 3}}", "2\n" },
        { "function(a) f(a) end, {a={0, 1, 0.25}}", "0.5\n" },
        { "function(a) f(a) end, {a={0, 10, 3}}", "6\n" },
        { "function(a) f(a) end, {a={0.5, 1.5}}", "1\n" },
        { "function(a) f(a) end, {a={0, 10, value=2}}", "2\n" },
        { "function(a) f(a) end, {a={0, 1, value=0.3}}", "0.3\n" },
        { "function(a) f(a) end, {a=4}", "4\n" },
        { "function(a) f(a) end, {a=-2.5}", "-2.5\n" },
        { "function(a) f(a) end, {a=0}", "0\n" },
        { "function(a) f(a) end, {a=3LL}", "3\n" },
        { "function(a) f(a) end, {a=true}", "true\n" },
        { "function(a) f(a) end, {a='word'}", "word\n" },
        { "function(a) f(a) end, {a={'sin', 'cos'}}", "sin\n" },
        { "function(a) f(a) end, {a={1, 2, 3, 4}}", "1\n" },
        { "function(a) f(a) end, {a={true, false}}", "true\n" },
        { "function(a) f(a(9)) end, {a={root=math.sqrt, sine=math.sin}}", "3\n" },
        { "function(a) f(a) end, {a=np.widgets.slider(0, 1, {step=0.1, value=0.2, label='l'})}", "0.2\n" },
        { "function(a) f(a) end, {a=np.widgets.play(3, 9)}", "3\n" },
        { "function(a) f(a) end, {a=np.widgets.dropdown({1, 2, 4}, {value=4})}", "4\n" },
        { "function(a) f(a) end, {a=np.widgets.checkbox(false)}", "false\n" },
        { "function(a) f(a) end, {a=np.widgets.text('')}", "\n" },
        { "function(a) f(a) end, {a=np.widgets.button{label='l'}}", "0\n" },
    }
end)

check.test("how the function takes its values", function()
    values {
        { "function(b, a) f(a, b) end, {a=true, b='x'}", "true\tx\n" },
        { "function(v) f(v.a, v.b) end, {a=true, b='x'}", "true\tx\n" },
        { "seen, {a=true}", "a\ttrue\n" },
        { "function(...) f((...).a) end, {a=true}", "true\n" },
        { "function(v) f(v) end, {v=true}", "true\n" },
        { "setmetatable({}, {__call=function(_, v) f(v.a) end}), {a=true}", "true\n" },
        { "np.jit(function(v) return v.a * 2 end), {a={0, 4}}", "4.0\n" },
    }
end)

check.test("a call is told once, with its values", function()
    local status, out, err = process.run_neap {
        "-e", "view = np.interact(function(a, kind) print(a, kind) return np.arange(a), a end, "
            .. "{a={0, 4}, kind={'sin', 'cos'}}) view:set{a=3, kind='cos'} print(view, view.values.a) view:close()"
    }
    check.equal(status, 0)
    check.equal(out, "2\tsin\n[0 1]\n2\n3\tcos\n[0 1 2]\n3\ninteraction: a=3, kind=cos\t3\n")
    check.equal(err, "np.interact: there is neither a notebook nor a terminal to press keys at: the function is called "
                .. "once, with a=2, kind=sin\n")
end)

check.test("errors of the function are the script's", function()
    local status, _, err = process.run_neap { "-e", "np.interact(function(a)\n  error('no ' .. a) end, {a={0, 4}})" }
    check.equal(status, 1)
    check.ok(err:find(":2: no 2", 1, true), err)
end)

check.test("what is refused", function()
    local interact, widgets = np.interact, np.widgets
    local function f(a) return a end
    for message, call in pairs {
        ["argument 1 (f) must be a function, got the number 3"] = function() interact(3, { a = true }) end,
        ["argument 2 (controls) must be a table of controls by name"] = function() interact(f, 3) end,
        ["must have a control"] = function() interact(f, {}) end,
        ["must have a name for each control"] = function() interact(f, { true }) end,
        ["the function has the parameters a, and the controls are a, b"] = function()
            interact(f, { a = true, b = true })
        end,
        ["the control of 'a' must be a range"] = function() interact(f, { a = np.ones(2) }) end,
        ["unknown field 'size'"] = function() interact(f, { a = { 0, 1, size = 2 } }) end,
        ["min must be less than max, got 1 and 0"] = function() interact(f, { a = { 1, 0 } }) end,
        ["option 'step' must be from above 0 to max - min, got 2"] = function() interact(f, { a = { 0, 1, 2 } }) end,
        ["option 'value' must be from min to max, 0 to 1, got 2"] = function()
            interact(f, { a = { 0, 1, value = 2 } })
        end,
        ["option 'manual' must be a boolean"] = function() interact(f, { a = true }, { manual = 1 }) end,
        ["it waits for a user"] = function() np.jit(function(x) interact(f, { a = true }) return x end)(np.ones(1)) end,
        ["argument 2 (max) must be a finite number"] = function() widgets.slider(0, 1 / 0) end,
        ["np.widgets.slider: option 'label' must be a string"] = function() widgets.slider(0, 1, { label = 1 }) end,
        ["option 'interval' must be an integer from 1 up"] = function() widgets.play(0, 1, { interval = 0 }) end,
        ["argument 1 (choices) must be a list"] = function() widgets.dropdown {} end,
        ["got a key that is the number 3"] = function() widgets.dropdown { [3] = 1 } end,
        ["option 'value' must be one of the choices"] = function() widgets.dropdown({ 1, 2 }, { value = 3 }) end,
        ["argument 1 (value) must be a boolean, got the number 1"] = function() widgets.checkbox(1) end,
        ["argument 1 (value) must be a string"] = function() widgets.text() end,
        ["np.widgets.button: unknown option 'name'"] = function() widgets.button { name = "x" } end,
    } do
        check.raises(call, (message:gsub("%p", "%%%0")))
    end
end)

check.test("what a view refuses", function()
    local _, out = process.run_neap { "-e", [[
        local view = np.interact(function(a, on) end, {a={0, 10}, on=true})
        for _, f in ipairs { function() view.set{a=1} end, function() view:set(3) end, function() view:set{b=1} end,
                             function() view:set{a='x'} end, function() view:set{on=1} end } do
            print((select(2, pcall(f)):gsub('^.-np', 'np')))
        end
        view:set{a=99} print(view.values.a)
    ]] }
    check.equal(out, [[
np.interact: call it as view:set(…), with a colon
np.interact: set takes values by name, view:set{a=1}, got the number 3
np.interact: set: there is no control 'b'
np.interact: set: the slider 'a' does not take the string "x"
np.interact: set: the checkbox 'on' does not take the number 1
10
]])
end)

-- ---- At a terminal --------------------------------------------------------------------------------------------------

local WIDTH, HEIGHT = 120, 40
local UP, DOWN, RIGHT, LEFT, PAGE_UP, HOME, END = "\27[A", "\27[B", "\27[C", "\27OD", "\27[5~", "\27[H", "\27[4~"
local CTRL_C, SIGTERM, SIGCONT = "\3", 15, 18
local state = process.file ""
os.remove(state)
local ENVIRONMENT = { XDG_STATE_HOME = state, INPUTRC = "/dev/null", NO_COLOR = "1" }

--- A script under a terminal.
local function start(source)
    return process.terminal({ process.file(source) }, ENVIRONMENT)
end

--- The rows that a terminal shows, up to the last that is not blank.
local function rows(terminal)
    local page, list = screen.new(WIDTH, HEIGHT), {}
    page:write(terminal.seen)
    for row = page:top(), #page.rows do list[#list + 1] = page:text(row):gsub("\t", " ") end
    while list[#list] == "" do list[#list] = nil end
    return list
end

--- Waits until what a terminal shows has the text in a row of its own.
local function expect_row(terminal, text)
    local deadline = process.now() + 60
    repeat
        terminal:fill(0.05)
        local list = rows(terminal)
        for k, row in ipairs(list) do
            if row == text then return k, list end
        end
    until process.now() > deadline
    error(("no row %q; the terminal shows\n%s"):format(text, table.concat(rows(terminal), "\n")), 2)
end

--- Waits until no call runs.
local function settle(terminal)
    local deadline = process.now() + 60
    repeat
        terminal:fill(0.05)
        if terminal.seen:match "^.*%?2026(%a)" == "l" then return end
    until process.now() > deadline
    error("a call does not end", 2)
end

local ALL = [[
    print 'before'
    view = np.interact(function(a, n, kind, on, name, again) print('called', a, n, kind, on, name, again) end,
        {a={0, 1}, n={1, 30, value=2}, kind={'sin', 'cos', 'tan'}, on=true, name='x',
         again=np.widgets.button{label='new data'}})
    print('ended', view)
]]

check.test("keys choose and change", function()
    local terminal = start(ALL)
    local _, list = expect_row(terminal, "called 0.5 2 sin true x 0")
    check.equal(list[1], "> a         ────────────●───────────  0.50")
    check.equal(list[2], "  n         ─●──────────────────────  2")
    check.equal(list[3], "  kind      ‹ sin ›")
    check.equal(list[4], "  on        [x]")
    check.equal(list[5], "  name      x▏")
    check.equal(list[6], "  new data  ( press )  0")
    check.equal(list[7], "↑↓ choose   ←→ change   q ends")
    terminal:send(RIGHT)
    expect_row(terminal, "called 0.51 2 sin true x 0")
    terminal:send(PAGE_UP .. LEFT)
    expect_row(terminal, "called 0.6 2 sin true x 0")
    terminal:send(END .. DOWN .. RIGHT)
    expect_row(terminal, "called 1 3 sin true x 0")
    terminal:send(HOME .. LEFT .. DOWN .. RIGHT .. RIGHT .. RIGHT)
    expect_row(terminal, "called 1 1 tan true x 0")
    terminal:send(DOWN .. " " .. DOWN .. "qé\127!")
    _, list = expect_row(terminal, "called 1 1 tan false xq! 0")
    check.equal(list[4], "  on        [ ]")
    check.equal(list[7], "↑↓ choose   type, Backspace   Esc ends")
    terminal:send "\9\n"
    expect_row(terminal, "called 1 1 tan false xq! 1")
    terminal:send(UP .. "\21")
    expect_row(terminal, "called 1 1 tan false  1")
    terminal:send "\27"
    expect_row(terminal, "ended interaction: a=1.00, n=1, kind=tan, on=false, name=, again=1")
    check.equal(terminal:finish(), 0)
    check.ok(rows(terminal)[1] ~= "before", "what was on the screen has scrolled away")
    check.ok(terminal.seen:find("before", 1, true))
end)

check.test("keys that come while the function runs lead to one call", function()
    local terminal = start [[
        count = 0
        np.interact(function(a) os.execute 'sleep 0.3' count = count + 1 print(a, count) end, {a={0, 99}})
    ]]
    expect_row(terminal, "50 1")
    terminal:send(RIGHT:rep(30))
    expect_row(terminal, "80 2")
    terminal:send "q"
    check.equal(terminal:finish(), 0)
end)

check.test("an error stands in the place of the output, with its line", function()
    local path = process.file [[np.interact(function(a)
        print('a', a) if a > 5 then error 'too much' end
    end, {a={0, 10}})]]
    local terminal = process.terminal({ path }, ENVIRONMENT)
    expect_row(terminal, "a 5")
    terminal:send(RIGHT)
    local _, list = expect_row(terminal, "a 6")
    local place = expect_row(terminal, path .. ":2: too much")
    check.ok(place > 1 and #list > 2)
    terminal:send(LEFT)
    expect_row(terminal, "a 5")
    check.ok(not table.concat(rows(terminal), "\n"):find "too much")
    terminal:send "q"
    check.equal(terminal:finish(), 0)
end)

check.test("Ctrl-C stops a call; another one the interaction", function()
    local source = "np.interact(function(a) print('a', a) while a > 5 do end end, {a={0, 10}}) print 'not here'"
    local terminal = start(source)
    expect_row(terminal, "a 5")
    terminal:send(RIGHT)
    expect_row(terminal, "a 6")
    terminal:send(CTRL_C)
    terminal:expect "interrupted"
    settle(terminal)
    terminal:send(LEFT)
    expect_row(terminal, "a 5")
    settle(terminal)
    terminal:send(CTRL_C)
    check.equal(terminal:finish(), 130)
    check.ok(not terminal.seen:find "not here")
end)

check.test("a player plays, and stops at its end", function()
    local terminal = start [[
        np.interact(function(t) print('t', t) end, {t=np.widgets.play(0, 5, {interval=20})}) print 'on'
    ]]
    expect_row(terminal, "t 0")
    terminal:send " "
    expect_row(terminal, "t 5")
    expect_row(terminal, "> t  ❚ " .. ("─"):rep(23) .. "●  5")
    terminal:send "q"
    expect_row(terminal, "on")
    check.equal(terminal:finish(), 0)
end)

check.test("with manual=true Enter calls", function()
    local terminal = start "np.interact(function(a) print('a', a) end, {a={0, 10}}, {manual=true})"
    expect_row(terminal, "a 5")
    terminal:send(RIGHT .. RIGHT)
    expect_row(terminal, "> a  ────────────────●───────  7")
    expect_row(terminal, "a 5")
    terminal:send "\n"
    expect_row(terminal, "a 7")
    terminal:send "q"
    check.equal(terminal:finish(), 0)
end)

check.test("pictures and results", function()
    local source = "np.interact(function(n) np.plot.line(np.arange(n)) return 'n', n end, {n={2, 9}})"
    local terminal = process.terminal({ "-e", source }, { XDG_STATE_HOME = state, NEAP_GRAPHICS = "none" })
    expect_row(terminal, "n")
    expect_row(terminal, "6")
    local place, list = expect_row(terminal, "figure 640x480, save with np.plot.save(\"name.png\")")
    check.equal(place, 5, table.concat(list, "\n"))
    terminal:send "q"
    check.equal(terminal:finish(), 0)
end)

check.test("at the prompt", function()
    local terminal = process.terminal({ "-i" }, ENVIRONMENT)
    terminal:expect "> "
    terminal:send "np.interact(function(a) print('a', a) end, {a={0, 10}})\n"
    expect_row(terminal, "a 5")
    terminal:send(RIGHT .. "q")
    terminal:expect "a\t6\r\n"
    terminal:expect "> "
    terminal:send "_.values.a * 7\n"
    terminal:expect "42\r\n"
    check.ok(not terminal.seen:find "interaction:", "the value is not shown again")
    terminal:expect "> "
    terminal:send "np.interact(function(a) print('a', a) end, {a={0, 10}})\n"
    expect_row(terminal, "a 5")
    settle(terminal)
    terminal:send(CTRL_C)
    terminal:expect "interrupted"
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

--- Ends an interaction in a shell, and looks at the terminal's modes then.
local function left(status, leave)
    local path = process.file "np.interact(function(a) print('a', a) if a > 5 then os.exit(3) end end, {a={0, 10}})"
    local line = 'trap : QUIT TERM HUP INT; "$0" ' .. path .. '; echo "status $?"; stty -a | tr "\\n" " "; echo told'
    local terminal = process.shell(line, ENVIRONMENT)
    terminal:expect "a\t5\r\n"
    settle(terminal)
    leave(terminal)
    terminal:expect("status " .. status)
    local modes = " " .. terminal:expect "told":gsub(";", " ; ") .. " "
    for _, mode in ipairs { " icanon ", " echo " } do check.ok(modes:find(mode, 1, true), mode .. ":" .. modes) end
    check.ok(terminal.seen:match "^.*\27%[%?25(%a)" == "h", "the cursor is seen again")
    check.equal(terminal:finish(), 0)
end

check.test("the terminal is left as it was", function()
    left(0, function(terminal) terminal:send "q" end)
    left(130, function(terminal) terminal:send(CTRL_C) end)
    left(3, function(terminal) terminal:send(RIGHT) end)
    left(128 + 3, function(terminal) terminal:send "\28" end)
end)

check.test("SIGTERM ends a call and a wait", function()
    for _, keys in ipairs { "", RIGHT } do
        local terminal = start "np.interact(function(a) print('a', a) while a > 5 do end end, {a={0, 10}})"
        expect_row(terminal, "a 5")
        terminal:send(keys)
        if keys ~= "" then expect_row(terminal, "a 6") else settle(terminal) end
        terminal:kill(SIGTERM)
        check.equal(terminal:finish(), 128 + SIGTERM)
    end
end)

check.test("the page is drawn again behind a stop", function()
    local terminal = start "np.interact(function(a) print('a', a) end, {a={0, 10}})"
    expect_row(terminal, "a 5")
    settle(terminal)
    terminal:stop()
    terminal.taken = #terminal.seen + 1
    terminal:kill(SIGCONT)
    terminal:expect "a\t5\r\n"
    terminal:send(RIGHT)
    expect_row(terminal, "a 6")
    terminal:send "q"
    check.equal(terminal:finish(), 0)
end)

process.cleanup()
check.done()
