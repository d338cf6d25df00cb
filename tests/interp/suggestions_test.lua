--- suggestions_test.lua (not under tsan): behind what is typed stands the rest of the newest command that begins so;
-- the arrow, End and Ctrl-E take it, Alt-F and Ctrl-Right a word of it; what was not shown is not taken, and nothing is
-- shown where it would be in the way.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local typing = require "tests.lib.typing"

local test = typing.editing and check.test or function(name) check.skip(name, "built without readline") end
local UP, LEFT, RIGHT, CTRL_A, CTRL_E, CTRL_U = typing.UP, typing.LEFT, typing.RIGHT, typing.CTRL_A, typing.CTRL_E,
    typing.CTRL_U
local END, ALT_F, CTRL_RIGHT, BACKSPACE = "\27[F", "\27f", "\27[1;5C", "\127"
local FAINT = "0;2"

--- A prompt of a history: commands, the oldest first.
local function start(commands, environment)
    typing.forget()
    os.execute("mkdir -p '" .. typing.history:match "^(.*)/" .. "'")
    local file = assert(io.open(typing.history, "w"))
    for k, command in ipairs(commands) do file:write("#", k, "\n", command, "\n") end
    file:close()
    local all = { NO_COLOR = "" }
    for name, value in pairs(environment or {}) do all[name] = value end
    return typing.start(all)
end

--- Where the faint end of a row begins, from 1; behind its text if it has none.
local function faint_from(page, row)
    local column = #page:text(row) + 1
    while column > 1 and page:style_at(row, column - 1) == FAINT do column = column - 1 end
    return column
end

--- Waits until the last row shows `typed`, with the cursor behind it, and `offered`, faint.
local function offers(session, typed, offered)
    session:shows({ "> " .. typed .. offered }, 0, #typed + 2)
    check.equal(faint_from(session.page, session.page.row), #typed + 3, typed .. "|" .. offered)
end

--- Ends the session, in whose line something is typed.
local function finish(session)
    session:type(CTRL_E .. CTRL_A .. typing.CTRL_K)
    session:shows { ">" }
    check.equal(session:finish(), 0)
    typing.forget()
end

test("the rest of the newest command that begins so is offered, and is not part of the command", function()
    local session = start { "print 'old'", "print 'new'", "x = 1" }
    session:type "p"
    offers(session, "p", "rint 'new'")
    session:type "rint 'o"
    offers(session, "print 'o", "ld'")
    session:type "x"
    offers(session, "print 'ox", "")
    session:type(BACKSPACE)
    offers(session, "print 'o", "ld'")
    session:type "k'\r"
    session:shows { "> print 'ok'", "ok", ">" }
    session:type "print"
    offers(session, "print", " 'ok'")
    finish(session)
end)

test("Enter runs what is typed, and leaves nothing faint", function()
    local session = start { "1 + 1 + 40" }
    session:type "1 + 1"
    offers(session, "1 + 1", " + 40")
    session:type "\r"
    session:shows { "> 1 + 1", "2", ">" }
    finish(session)
end)

test("the arrow, End, Ctrl-E and Ctrl-F take it", function()
    local session = start { "print 'whole'" }
    for _, key in ipairs { RIGHT, END, CTRL_E, "\6" } do
        session:type "pr"
        offers(session, "pr", "int 'whole'")
        session:type(key)
        offers(session, "print 'whole'", "")
        session:type "\r"
        session:shows { "> print 'whole'", "whole", ">" }
    end
    finish(session)
end)

test("Alt-F and Ctrl-Right take a word; undoing gives it back", function()
    local session = start { "np.ones{3}:sum()" }
    session:type "n"
    offers(session, "n", "p.ones{3}:sum()")
    session:type(ALT_F)
    offers(session, "np", ".ones{3}:sum()")
    session:type(CTRL_RIGHT)
    offers(session, "np.ones", "{3}:sum()")
    session:type("\0272" .. ALT_F)
    offers(session, "np.ones{3}:sum", "()")
    session:type(ALT_F)
    offers(session, "np.ones{3}:sum()", "")
    session:type "\31"
    offers(session, "np.ones{3}:sum", "()")
    finish(session)
end)

test("nothing is offered before the end, in a recalled command, nor behind a blank", function()
    local session = start { " hidden = 1", "value = 12", "value = 1" }
    session:type "value"
    offers(session, "value", " = 1")
    session:type(LEFT)
    session:shows({ "> value" }, 0, 6)
    session:type(RIGHT)
    offers(session, "value", " = 1")
    session:type(CTRL_U .. UP)
    session:shows({ "> value = 1" }, 0, 11)
    session:type(CTRL_E .. CTRL_U)
    session:type " hid"
    session:shows({ ">  hid" }, 0, 6)
    finish(session)
end)

test("what was not shown is not taken", function()
    local session = start { "print 'long'", "print 'longer'" }
    session:type("print 'l" .. CTRL_E .. "'\r")
    session:shows { "> print 'l'", "l", ">" }
    finish(session)
end)

test("a block is offered with all its lines", function()
    local session = start { "for k = 1, 2 do\n    print(k)\nend" }
    session:type "for"
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 2, 5)
    for row = session.page.row, session.page.row + 2 do
        check.equal(faint_from(session.page, row), row == session.page.row and 6 or 1)
    end
    session:type "x"
    session:shows({ "> forx" }, 0, 6)
    session:type(BACKSPACE)
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 2, 5)
    session:type(RIGHT)
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 0, 6)
    session:type(UP .. UP .. LEFT)
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 2, 4)
    session:type(CTRL_E .. CTRL_E .. "\r")
    session:shows { ">> end", "1", "2", ">" }
    session:type "for k = 1, 2 do"
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 2, 17)
    session:type "\r"
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 1, 7)
    session:type(ALT_F)
    session:shows({ ">>     print(k)", ">> end" }, 1, 12)
    session:type(typing.CTRL_C)
    session:shows { ">>     print^C", ">" }
    finish(session)
end)

test("a block that is taller than the terminal stays in it", function()
    local lines = { "if true then" }
    for k = 1, 20 do lines[#lines + 1] = "    x = " .. k end
    lines[#lines + 1] = "end"
    local session = start { table.concat(lines, "\n") }
    session:resize(30, 8)
    session:type "if"
    session:shows({ "> if true then", ">>     x = 1", ">>     x = 2", ">>     x = 3", ">>     x = 4", ">>     x = 5",
                    ">>     x = 6", ">>     x = 7" }, 7, 4)
    session:type(BACKSPACE)
    session:wait(function() return session.page.column == 3 end, "the shorter one")
    session:type(RIGHT)
    session:shows({ ">>     x = 19", ">>     x = 20", ">> end" }, 0, 6)
    session:type "\r"
    session:shows { ">>     x = 20", ">> end", ">" }
    finish(session)
end)

test("late text goes above; a list of completions leaves nothing faint", function()
    local session = start { "np.lin.other" }
    session:type "np.callback(function() print 'late' end)(np.debug.sleep(np.ones(1), 300));\r"
    local page = session.page
    session:wait(function() return page:text(page.row) == ">" and page.column == 2 end, "the prompt")
    session:type "np.lin"
    session:shows { "late", "> np.lin.other" }
    offers(session, "np.lin", ".other")
    session:type "\t"
    session:wait(function() return page:text(page.row - 1):find "^linspace" end, "the list")
    session:shows({ "> np.lin.other" }, 0, 8)
    local shown = table.concat(session:rows(40), "\n")
    check.equal(select(2, shown:gsub("\n> np%.lin%.other", "")), 1)
    check.equal(select(2, shown:gsub("\n> np%.lin\n", "")), 1)
    finish(session)
end)

test("what is found by a search is not what is typed", function()
    local session = start { "print 'one'", "print 'one' .. 'two'" }
    session:type(typing.CTRL_R .. "pr")
    session:shows { "(reverse-i-search)`pr': print 'one' .. 'two'" }
    session:type(typing.CTRL_R)
    session:shows { "(reverse-i-search)`pr': print 'one'" }
    session:type(CTRL_E)
    session:shows({ "> print 'one'" }, 0, 13)
    finish(session)
end)

test("wide letters, bytes that are none, and commands with control characters", function()
    local session = start { "s = '\228\184\173\230\150\135'", "t = '\255\1'" }
    session:type "s = '\228"
    session:type "\184\173"
    session:shows({ "> s = '\228\184\173\230\150\135'" }, 0, 9)
    session:type(ALT_F)
    session:shows({ "> s = '\228\184\173\230\150\135'" }, 0, 11)
    session:type(CTRL_A .. typing.CTRL_K .. "t")
    session:shows({ "> t = '\239\191\189^A'" }, 0, 3)
    session:type(RIGHT)
    session:shows({ "> t = '\239\191\189^A'" }, 0, 11)
    finish(session)
end)

test("not if the setting, NO_COLOR or the terminal says no", function()
    for name, value in pairs { NEAP_SUGGESTIONS = "0", NO_COLOR = "1" } do
        local session = start({ "print 'long'" }, { [name] = value })
        session:type "pr"
        session:shows({ "> pr" }, 0, 4)
        session:type(RIGHT .. END .. CTRL_E .. "int")
        session:shows({ "> print" }, 0, 7)
        finish(session)
    end
    local dumb = process.terminal({}, { TERM = "dumb", XDG_STATE_HOME = typing.history, INPUTRC = "/dev/null" })
    dumb:expect "> "
    dumb:send "print 'short'\n"
    dumb:expect "\nshort"
    dumb:expect "> "
    dumb:send(("print 's" .. CTRL_E .. "'\n"))
    dumb:expect "\ns\r\n"
    dumb:expect "> "
    dumb:send "\4"
    check.equal(dumb:finish(), 0)
end)

typing.forget()
process.cleanup()
check.done()
