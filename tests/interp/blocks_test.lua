--- blocks_test.lua (not under tsan): commands of several lines at the prompt: typed, indented, edited, recalled, kept,
-- pasted, drawn.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local typing = require "tests.lib.typing"

local test = typing.editing and check.test or function(name) check.skip(name, "built without readline") end
local UP, DOWN, LEFT, RIGHT = typing.UP, typing.DOWN, typing.LEFT, typing.RIGHT

--- Types lines, and waits for the next prompt.
local function type_lines(session, lines)
    session:lines(table.concat(lines, "\r"))
    session:type "\r"
    session:wait(function() return session.page:text(session.page.row) == ">" end, "the prompt")
end

--- Ends the session with nothing typed, and checks that it went well.
local function finish(session)
    check.equal(session:finish(), 0)
    typing.forget()
end

-- ---- Typing ---------------------------------------------------------------------------------------------------------

test("lines of a block are indented, and go out for what closes it", function()
    local session = typing.start()
    for _, line in ipairs { "for k = 1, 2 do", "if k == 1 then", "print {", "}", "else", "repeat", "until true", "end",
                            "endless = 3" } do
        session:type_slowly(line)
        session:lines "\r"
    end
    session:type "end\r"
    session:wait(function() return session.page:text(session.page.row) == ">" end, "the prompt")
    local shown = session:rows(12)
    check.equal(shown[1], "> for k = 1, 2 do")
    check.equal(table.concat(shown, "\n", 2, 10), table.concat({
        ">>     if k == 1 then", ">>         print {", ">>         }", ">>     else", ">>         repeat",
        ">>         until true", ">>     end", ">>     endless = 3", ">> end" }, "\n"))
    finish(session)
end)

test("Up and Down move in the block, then in the history; it is recalled and edited as one", function()
    local session = typing.start()
    session:type "'first'\r"
    session:shows { '"first"', ">" }
    type_lines(session, { "for k = 1, 2 do", "print(k)", "end" })
    session:shows { "1", "2", ">" }
    session:type(UP)
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 0, 6)
    session:type(UP)
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 1, 6)
    session:type(RIGHT:rep(6) .. "10 * ")
    session:shows({ "> for k = 1, 2 do", ">>     print10 * (k)", ">> end" }, 1, 17)
    session:type(("\127"):rep(5) .. RIGHT .. "10 * ")
    session:shows({ "> for k = 1, 2 do", ">>     print(10 * k)", ">> end" }, 1, 18)
    session:type(UP)
    session:shows({ "> for k = 1, 2 do", ">>     print(10 * k)", ">> end" }, 2, 17)
    session:type(UP)
    session:shows({ "> 'first'" }, 0, 9)
    session:type(DOWN)
    session:shows({ "> for k = 1, 2 do", ">>     print(10 * k)", ">> end" }, 0, 6)
    session:type "\r"
    session:shows { "> for k = 1, 2 do", ">>     print(10 * k)", ">> end", "10", "20", ">" }
    session:type(UP .. UP .. UP .. UP .. DOWN)
    session:shows({ "> for k = 1, 2 do", ">>     print(10 * k)", ">> end" }, 0)
    session:type(typing.CTRL_P .. typing.CTRL_P)
    session:shows { "20", "> 'first'" }
    session:type(typing.CTRL_U)
    finish(session)
end)

test("Enter takes a complete block from anywhere; Alt-Enter breaks the line", function()
    local session = typing.start()
    session:type "x = 1\r"
    session:shows { "> x = 1", ">" }
    session:type("x" .. typing.ALT_ENTER .. "y = 5" .. UP .. typing.CTRL_E .. " = 4")
    session:shows({ "> x = 4", ">> y = 5" }, 1, 7)
    session:type "\r"
    session:shows { "> x = 4", ">> y = 5", ">" }
    session:type "x + y\r"
    session:shows { "9", ">" }
    finish(session)
end)

test("two blank lines end a block that is not complete: its error tells what is missing", function()
    local session = typing.start()
    session:lines "for k = 1, 2 do\rprint(k)\r\r"
    session:shows({ ">>     print(k)", ">>", ">>" }, 0, 7)
    session:type "\r"
    session:wait(function() return session.page:text(session.page.row) == ">" end, "the prompt")
    check.ok(table.concat(session:rows(20), "\n"):find("'end' expected", 1, true), "the error")
    session:type(UP .. typing.ALT_ENTER .. "end")
    session:shows { "> for k = 1, 2 do", ">>     print(k)", ">> end" }
    session:type "\r"
    session:shows { "1", "2", ">" }
    finish(session)
end)

test("what Ctrl-C drops can be recalled", function()
    local session = typing.start()
    session:lines "print(1 +\r2 +"
    session:shows { "> print(1 +", ">>     2 +" }
    session:type(typing.CTRL_C)
    session:shows { "> print(1 +", ">>     2 +^C", ">" }
    session:type(UP)
    session:shows { "> print(1 +", ">>     2 +" }
    session:type " 3)\r"
    session:shows { ">>     2 + 3)", "6", ">" }
    finish(session)
end)

test("Home, End, Ctrl-K and Ctrl-U mean the line; again, the block", function()
    local session = typing.start()
    session:lines("one(\rtwo three" .. typing.CTRL_A .. "X")
    session:shows({ "> one(", ">> X    two three" }, 0, 4)
    session:type(typing.CTRL_A .. typing.CTRL_A .. "Y")
    session:shows({ "> Yone(", ">> X    two three" }, 1, 3)
    session:type(typing.CTRL_E)
    session:shows({ "> Yone(", ">> X    two three" }, 1, 7)
    session:type(typing.CTRL_K)
    session:shows({ "> Yone(X    two three" }, 0, 7)
    session:type(typing.CTRL_K)
    session:shows({ "> Yone(" }, 0, 7)
    session:lines("\r2)" .. LEFT .. typing.CTRL_U)
    session:shows({ "> Yone(", ">> )" }, 0, 3)
    session:type(typing.CTRL_U .. typing.CTRL_U .. typing.CTRL_E .. typing.CTRL_U)
    session:shows { ">" }
    finish(session)
end)

test("Tab at the beginning of a line indents", function()
    local session = typing.start()
    session:type "\tnp.ones{1}.sha\t"
    session:shows { ">     np.ones{1}.sha" }
    session:type(typing.CTRL_U)
    session:lines "f(\r\tmath.pi"
    session:shows { "> f(", ">>         math.pi" }
    session:type(typing.CTRL_C)
    session:shows { ">>         math.pi^C", ">" }
    finish(session)
end)

-- ---- History --------------------------------------------------------------------------------------------------------

test("blocks are kept as one over sessions; files without times are read", function()
    local session = typing.start()
    type_lines(session, { "if true then", "s = [[", "a", "", "b]]", "end" })
    check.equal(session:finish(), 0)
    session = typing.start()
    session:type(UP)
    session:shows { "> if true then", ">>     s = [[", ">> a", ">>", ">> b]]", ">> end" }
    session:type(typing.CTRL_C)
    session:shows { ">" }
    check.equal(session:finish(), 0)
    local file = assert(io.open(typing.history, "w"))
    file:write "old = 1\nold = 2\n"
    file:close()
    session = typing.start()
    type_lines(session, { "print(", "old)" })
    check.equal(session:finish(), 0)
    session = typing.start()
    session:type(UP)
    session:shows { "> print(", ">>     old)" }
    session:type(UP .. UP)
    session:shows { "> old = 2" }
    session:type(UP)
    session:shows { "> old = 1" }
    session:type(typing.CTRL_U)
    finish(session)
end)

test("Ctrl-R finds blocks", function()
    local session = typing.start()
    type_lines(session, { "for k = 1, 2 do", "print(k)", "end" })
    session:shows { "2", ">" }
    session:type(typing.CTRL_R .. "rint")
    session:shows({ "(reverse-i-search)`rint': for k = 1, 2 do", ">>     print(k)", ">> end" }, 1, 8)
    session:type(typing.CTRL_A)
    session:shows({ "> for k = 1, 2 do", ">>     print(k)", ">> end" }, 1, 3)
    session:type "\r"
    session:shows { "> for k = 1, 2 do", ">>     print(k)", ">> end", "1", "2", ">" }
    finish(session)
end)

-- Readline 8.2 dies of the unknown ones, if it is given them in a search.
test("keys of several bytes end a search, known and unknown ones", function()
    local session = typing.start()
    session:type "found = 1\r"
    local CTRL_X = "\24"
    local keys = { CTRL_X .. "z", CTRL_X .. "\5", CTRL_X .. ")", "\27[<0;1;1M", "\27[27;5;9~", "\27y\27[A", "\27[C",
                   "\27" }
    for _, key in ipairs(keys) do
        for _, apart in ipairs { false, true } do
            session:type(typing.CTRL_R .. "foun")
            session:shows { "(reverse-i-search)`foun': found = 1" }
            if apart then
                for byte in key:gmatch "." do session:type(byte) end
            else
                session:type(key)
            end
            session:type(typing.CTRL_A .. typing.CTRL_U .. typing.CTRL_E .. typing.CTRL_U)
            session:type "print(7)\r"
            session:shows { "7", ">" }
        end
    end
    finish(session)
end)

test("a paste goes into what is searched for", function()
    local session = typing.start()
    session:type "first = 1\r"
    session:type "second = 2\r"
    session:type(typing.CTRL_R .. "\27[200~fir\tst\27[201~")
    session:shows { "(reverse-i-search)`first': first = 1" }
    session:type(typing.CTRL_A .. typing.CTRL_U .. typing.CTRL_E .. typing.CTRL_U)
    finish(session)
end)

-- ---- Pasting --------------------------------------------------------------------------------------------------------

local function paste(session, text)
    session:type("\27[200~" .. text .. "\27[201~")
end

test("a NUL in a paste is left out, and ends nothing", function()
    local session = typing.start()
    paste(session, "x = 1 --\0 tail\nprint('RAN' .. '!')\ny = 2")
    session:shows { "> x = 1 -- tail", ">> print('RAN' .. '!')", ">> y = 2" }
    session:type "\r"
    session:shows { "RAN!", ">" }
    finish(session)
end)

test("a block that is pasted stays one entry, with its tabs", function()
    local session = typing.start()
    local lines = { "local function pasted(a)" }
    for k = 2, 29 do lines[k] = "\ta = a + " .. k .. "\t-- more" end
    lines[30] = "return a end print(pasted(0))"
    paste(session, table.concat(lines, "\n"))
    session:shows { ">>     a = a + 29  -- more", ">> return a end print(pasted(0))" }
    session:type "\r"
    session:shows { "434", ">" }
    local shown = { "> " .. lines[1] }
    for k = 2, 29 do shown[k] = (">>     a = a + %-2d  -- more"):format(k) end
    shown[30] = ">> " .. lines[30]
    session:type(UP .. UP:rep(29) .. typing.CTRL_A)
    session:shows(shown, 29, 2)
    session:type(typing.CTRL_C)
    session:shows { ">" }
    finish(session)
end)

test("ends of lines of two bytes that are pasted are one each", function()
    local session = typing.start()
    paste(session, "s = [[a\r\nb\rc\n\r\n]]\r\nx = = 1")
    session:shows { "> s = [[a", ">> b", ">> c", ">>", ">> ]]", ">> x = = 1" }
    session:type "\r"
    session:shows { "[1]:6: unexpected symbol near '='", "   6 | x = = 1", ">" }
    session:type "\27[200~s = 'no end of a paste"
    session:type(typing.CTRL_C)
    session:wait(function()
        local rows = session:rows(2)
        return rows[1]:find "%^C$" and rows[2] == ">"
    end, "the prompt behind ^C")
    paste(session, "s = [[a\r\nb]] #s")
    session:shows { "> s = [[a", ">> b]] #s" }
    session:type "\r"
    session:shows { "3", ">" }
    finish(session)
end)

test("a transcript that is pasted runs again", function()
    local session = typing.start()
    paste(session, "> for k = 1, 2 do\n>> print(k * 7)\n>> end\n7\n14\n> 'behind'")
    session:shows { ">> > 'behind'" }
    session:type "\r"
    session:shows { "7", "14", '"behind"', ">" }
    finish(session)
end)

test("2000 lines are drawn once", function()
    local session = typing.start()
    local lines = {}
    for k = 1, 1999 do lines[k] = ("x%d = %d -- a line of the program"):format(k % 100, k) end
    lines[2000] = "print(x99)"
    session:look(0)
    local before = #session.terminal.seen
    local text = table.concat(lines, "\n")
    for from = 1, #text, 2000 do -- a terminal takes no more at once
        session:type((from == 1 and "\27[200~" or "") .. text:sub(from, from + 1999))
    end
    session:type "\27[201~"
    session:shows { ">> x99 = 1999 -- a line of the program", ">> print(x99)" }
    check.ok(#session.terminal.seen - before < 10000, "bytes: " .. #session.terminal.seen - before)
    session:type "\r"
    session:shows { ">> print(x99)", "1999", ">" }
    finish(session)
end)

-- ---- Drawing --------------------------------------------------------------------------------------------------------

test("long lines are wrapped, wide characters keep together", function()
    local session = typing.start()
    session:resize(20, 10)
    session:type "abcdefghijklmnopqr"
    session:shows({ "> abcdefghijklmnopqr", "" }, 0, 0)
    session:type "s"
    session:shows({ "> abcdefghijklmnopqr", "s" }, 0, 1)
    session:type(typing.CTRL_U .. "123456789012345日本e\204\129x")
    session:shows({ "> 123456789012345日", "本e\204\129x" }, 0, 4)
    session:type(LEFT .. LEFT .. LEFT)
    session:shows({ "> 123456789012345日", "本e\204\129x" }, 0, 0)
    session:type(LEFT)
    session:shows({ "> 123456789012345日", "本e\204\129x" }, 1, 17)
    session:type "6"
    session:shows({ "> 1234567890123456日", "本e\204\129x" }, 1, 18)
    session:type "7"
    session:shows({ "> 12345678901234567", "日本e\204\129x" }, 0, 0)
    session:type(typing.CTRL_E .. "\127\127\127\127")
    session:shows({ "> 12345678901234567" }, 0, 19)
    session:type(typing.CTRL_U)
    finish(session)
end)

test("rows of an array are broken where a narrow window ends", function()
    local session = typing.start()
    session:resize(40, 40)
    session:type "np.arange(20)\r"
    session:shows { "[ 0  1  2  3  4  5  6  7  8  9 10 11 12", " 13 14 15 16 17 18 19]  i32[20]", ">" }
    session:resize(120, 40)
    session:type "np.arange(20), np.get_printoptions().linewidth\r"
    session:shows { "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19]  i32[20]", "75", ">" }
    finish(session)
end)

test("a line is drawn anew when the window changes", function()
    local session = typing.start()
    session:lines "f(1,\r22222222222222222222"
    session:shows { "> f(1,", ">>     22222222222222222222" }
    session:resize(20, 10)
    session:shows({ "> f(1,", ">>     2222222222222", "2222222" }, 0, 7)
    session:resize(60, 10)
    session:shows({ "> f(1,", ">>     22222222222222222222" }, 0, 27)
    session:type ")\r"
    session:wait(function() return session.page:text(session.page.row) == ">" end, "the prompt")
    finish(session)
end)

test("of a block taller than the terminal the part around the cursor is shown", function()
    local session = typing.start()
    session:resize(60, 5)
    local lines, drawn = { "t = {" }, { "> t = {" }
    for k = 2, 20 do lines[k], drawn[k] = k .. ",", ">> " .. k .. "," end
    paste(session, table.concat(lines, "\n"))
    session:shows({ ">> 16,", ">> 17,", ">> 18,", ">> 19,", ">> 20," }, 0, 6)
    session:type(UP:rep(6))
    session:shows({ ">> 14,", ">> 15,", ">> 16,", ">> 17,", ">> 18," }, 4, 6)
    session:type(typing.CTRL_E .. UP:rep(13))
    session:shows({ "> t = {", ">> 2,", ">> 3,", ">> 4,", ">> 5," }, 4)
    session:type(DOWN:rep(18) .. typing.CTRL_E .. typing.CTRL_E .. "}; #t\r")
    drawn[20] = ">> 20,}; #t"
    for _, row in ipairs { "19", ">" } do drawn[#drawn + 1] = row end
    session:shows(drawn)
    finish(session)
end)

test("late output, and lists of completions, leave the block intact", function()
    local session = typing.start()
    session:type "print(np.debug.sleep(np.arange(3), 300))\r"
    session:shows { "> print(np.debug.sleep(np.arange(3), 300))", ">" }
    session:lines("f(\r1,\r2" .. UP)
    session:shows({ "[0 1 2]", "> f(", ">>     1,", ">>     2" }, 1, 8)
    session:type(typing.CTRL_A .. typing.CTRL_A .. "math.a\t")
    session:wait(function() return table.concat(session:rows(20)):find "atan2  function" end, "a list")
    session:shows({ "> math.af(", ">>     1,", ">>     2" }, 2, 8)
    session:type(typing.CTRL_L)
    session:wait(function() return session.page.row == session.page:top() end, "the prompt at the top")
    session:shows({ "> math.af(", ">>     1,", ">>     2" }, 2, 8)
    session:type(typing.CTRL_C)
    session:shows { ">>     2^C", ">" }
    finish(session)
end)

test("the prompt of a breakpoint has blocks", function()
    local session = typing.start(nil, { "-i", process.file "function stop(a) np.breakpoint() return a end" })
    session:type "stop(5)\r"
    session:wait(function() return session.page:text(session.page.row) == "(breakpoint)" end, "its prompt")
    session:type "for k = 1, 2 do\r"
    session:shows({ "(breakpoint) for k = 1, 2 do", ">>" }, 0, 7)
    session:lines "print(a * k)\rend"
    session:type(UP .. typing.CTRL_E .. " \r")
    session:shows { "5", "10", "(breakpoint)" }
    session:type ":c\r"
    session:shows { "5", ">" }
    finish(session)
end)

-- ---- Other terminals, and the user's settings -----------------------------------------------------------------------

test("a dumb terminal gets line by line, without sequences", function()
    local terminal = process.terminal({}, { TERM = "dumb", XDG_STATE_HOME = typing.history, INPUTRC = "/dev/null" })
    terminal:expect "> "
    terminal:send "for k = 1, 2 do\n"
    terminal:expect ">> "
    terminal:send "print(k * 6)\n"
    terminal:expect ">> "
    terminal:send "end\n"
    terminal:expect "6\r\n12\r\n> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    check.equal(terminal.seen:find("\27", 1, true), nil)
    os.execute("rm -rf " .. typing.history)
end)

test("settings of readline hold: vi mode, the mode in the prompt, keys of the user's own", function()
    local settings = process.file [[
set editing-mode vi
set show-mode-in-prompt on
set keyseq-timeout 50
$if neap
"\C-x": "7 * 6"
$endif
]]
    local session = typing.start { INPUTRC = "/dev/null" }
    check.equal(session:finish(), 0)
    session.terminal = process.terminal({}, { INPUTRC = settings, XDG_STATE_HOME = typing.history, NO_COLOR = "1" })
    session.written = 0
    session:shows { "(ins)>" }
    session:type "\24\r"
    session:shows { "(ins)> 7 * 6", "42", "(ins)>" }
    session:lines "f(\r1"
    session:shows { "(ins)> f(", ">>     1" }
    session:type "\27"
    session:shows({ "(cmd)> f(", ">>     1" }, 0, 7)
    session:type "k"
    session:shows({ "(cmd)> f(", ">>     1" }, 1)
    session:type "x"
    session:shows({ "(cmd)> f", ">>     1" }, 1)
    session:type(typing.CTRL_C)
    session:shows { "(ins)>" }
    check.equal(session:finish(), 0)
    os.execute("rm -rf " .. typing.history)
    typing.forget()
end)

typing.forget()
process.cleanup()
check.done()
