--- explore_test.lua (release build only): np.plot.explore: keys at a terminal move and zoom a figure; elsewhere it is
-- shown once. What the first line of the page tells is the range; pictures are those of np.plot.show.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local screen = require "tests.lib.screen"

local WIDTH, HEIGHT = 120, 40
local UP, DOWN, RIGHT, LEFT, HOME, BACK = "\27[A", "\27OB", "\27[C", "\27[D", "\27[H", "\27[Z"
local CTRL_C, SIGTERM, SIGCONT = "\3", 15, 18
local SMALL_COLUMNS, SMALL_ROWS = 70, 24
local ONCE = "np.plot.explore: there is no terminal to press keys at: the figure is shown as it is\n"
local FIGURE = 'figure 640x480, save with np.plot.save("name.png")'

-- Whole numbers as limits, so that the texts are exact.
local SQUARE = "f = np.plot.line({0, 10}, {0, 10}):xlim(0, 10):ylim(0, 10) "
local PRINT = " print('view', script.ranges(f)[1].x.low, script.ranges(f)[1].x.high)"

local state = process.file ""
os.remove(state)

local function has_gnuplot()
    return os.execute "command -v gnuplot >/dev/null" == 0
end

local function test(name, f)
    if not has_gnuplot() then return check.skip(name, "gnuplot is not here (package gnuplot-nox)") end
    check.test(name, f)
end

local function environment(graphics)
    return { XDG_STATE_HOME = state, INPUTRC = "/dev/null", NO_COLOR = "1", NEAP_GRAPHICS = graphics or "blocks" }
end

local function start(source, graphics, setting)
    local path = process.file("local script = require 'neap.plot.script' " .. source)
    return process.terminal({ path }, setting or environment(graphics))
end

--- The rows that a terminal shows, up to the last that is not blank, without pictures, of which the last may not have
-- come to its end.
local function rows(terminal)
    local page, list = screen.new(terminal.columns or WIDTH, terminal.rows or HEIGHT), {}
    local text = terminal.seen:gsub("\27[_P][^\27]*\27\\", ""):gsub("\27[_P][^\27]*\27?$", "")
    page:write(text)
    for row = page:top(), #page.rows do list[#list + 1] = page:text(row):gsub("\t", " ") end
    while list[#list] == "" do list[#list] = nil end
    return list
end

--- Waits until the first row is this text, and the page is whole; returns all rows.
local function expect_head(terminal, text)
    local deadline = process.now() + 20
    repeat
        terminal:fill(0.05)
        local list = rows(terminal)
        if list[1] == text and terminal.seen:match "^.*%?2026(%a)" == "l" then return list end
    until process.now() > deadline
    error(("not %q; the terminal shows\n%s"):format(text, table.concat(rows(terminal), "\n")), 2)
end

local function finish(terminal, status)
    local found = terminal:finish()
    check.equal(found, status or 0, found ~= (status or 0) and terminal.seen or nil)
end

-- ---- At a terminal --------------------------------------------------------------------------------------------------

test("arrows move, + and - zoom, r resets, q ends, and the last view stays", function()
    local terminal = start("print 'before' " .. SQUARE .. "f:explore()" .. PRINT)
    local list = expect_head(terminal, "x 0 … 10   y 0 … 10")
    check.equal(list[2], "←↑↓→ move   + - zoom   x y zoom one alone   r resets   q ends")
    check.ok(list[3]:find "┌──", list[3])
    for _, step in ipairs {
        { RIGHT, "x 2 … 12   y 0 … 10" }, { UP, "x 2 … 12   y 2 … 12" }, { LEFT .. LEFT, "x -2 … 8   y 2 … 12" },
        { DOWN, "x -2 … 8   y 0 … 10" }, { "+", "x 0.5 … 5.5   y 2.5 … 7.5" }, { "-", "x -2 … 8   y 0 … 10" },
        { "_", "x -7 … 13   y -5 … 15" }, { "=", "x -2 … 8   y 0 … 10" }, { "r", "x 0 … 10   y 0 … 10" },
        { "x+", "x 2.5 … 7.5   y 0 … 10" }, { "y-", "x 2.5 … 7.5   y -5 … 15" }, { "0", "x 0 … 10   y 0 … 10" },
        { "y+", "x 2.5 … 7.5   y 2.5 … 7.5" }, { HOME, "x 0 … 10   y 0 … 10" },
        { RIGHT:rep(5), "x 10 … 20   y 0 … 10" },
    } do
        terminal:send(step[1])
        expect_head(terminal, step[2])
    end
    terminal:send(LEFT .. "q")
    terminal:expect "view\t8\t18\r\n"
    finish(terminal)
    list = rows(terminal)
    check.equal(list[1], "x 8 … 18   y 0 … 10")
    check.equal(list[2], "", "the keys are not told any more")
    check.ok(table.concat(list, "\n"):find "┌──", "the picture stays")
end)

test("the line of keys tells which axis is zoomed", function()
    local terminal = start(SQUARE .. "f:explore()")
    expect_head(terminal, "x 0 … 10   y 0 … 10")
    terminal:send "x+"
    local list = expect_head(terminal, "x 2.5 … 7.5   y 0 … 10")
    check.equal(list[2], "←↑↓→ move   + - zoom x   x zooms both again   r resets   q ends")
    terminal:send "\n"
    finish(terminal)
end)

test("logarithmic axes zoom and move in logarithms, those turned around as they are seen", function()
    local terminal = start "np.plot.loglog({1, 10}, {1, 10}):xlim(1e-2, 1e2):ylim(1e3, 1e-2):explore()"
    expect_head(terminal, "x 0.01 … 100   y 1e+03 … 0.01")
    terminal:send "+"
    expect_head(terminal, "x 0.1 … 10   y 56.2 … 0.178")
    terminal:send "-"
    expect_head(terminal, "x 0.01 … 100   y 1e+03 … 0.01")
    terminal:send(UP)
    expect_head(terminal, "x 0.01 … 100   y 100 … 0.001")
    terminal:send "\27"
    finish(terminal)
end)

test("there is an end of zooming", function()
    local terminal = start("f = np.plot.line({0, 1}, {0, 1}):xlim(0.5, 1.5):ylim(1, 2) " .. "f:explore()" .. [[
        local x = script.ranges(f)[1].x
        print('ends', x.low < x.high, x.high - x.low < 1e-11, x.low > 0.9 and x.high < 1.1)]])
    expect_head(terminal, "x 0.5 … 1.5   y 1 … 2")
    terminal:send(("+"):rep(90) .. "q")
    terminal:expect "ends\ttrue\ttrue\ttrue"
    finish(terminal)
    terminal = start "f = np.plot.loglog({1, 10}, {1, 10}) f:explore() print(f:png() ~= nil)"
    terminal:expect "q ends"
    terminal:send(("-"):rep(40) .. RIGHT:rep(40) .. "q")
    terminal:expect "true"
    finish(terminal)
end)

test("Tab chooses axes; axes that share x have one; twin axes have two y; dates are dates", function()
    local terminal = start [[
        local f, ax = np.plot.subplots(1, 2, {sharex=true})
        ax[1]:line({0, 10}, {0, 10}):xlim(0, 10):ylim(0, 10) ax[2]:line({0, 10}, {0, 1}):ylim(0, 1)
        ax[2]:twinx():line({0, 10}, {0, 4}):ylim(0, 4) f:explore()]]
    local list = expect_head(terminal, "axes 1 of 2   x 0 … 10   y 0 … 10")
    check.equal(list[2], "←↑↓→ move   + - zoom   x y zoom one alone   Tab other axes   r resets   q ends")
    terminal:send(RIGHT .. UP)
    expect_head(terminal, "axes 1 of 2   x 2 … 12   y 2 … 12")
    terminal:send "\9"
    expect_head(terminal, "axes 2 of 2   x 2 … 12   y 0 … 1   right y 0 … 4")
    terminal:send "+"
    expect_head(terminal, "axes 2 of 2   x 4.5 … 9.5   y 0.25 … 0.75   right y 1 … 3")
    terminal:send(BACK)
    expect_head(terminal, "axes 1 of 2   x 4.5 … 9.5   y 2 … 12")
    terminal:send "r\9\9"
    expect_head(terminal, "axes 1 of 2   x 0 … 10   y 0 … 10")
    terminal:send "q"
    finish(terminal)
    terminal = start [[np.plot.line({"2024-01-01", "2024-01-21"}, {0, 1}):xlim("2024-01-01", "2024-01-11")
        np.plot.ylim(0, 1):explore()]]
    expect_head(terminal, "x 2024-01-01 … 2024-01-11   y 0 … 1")
    terminal:send(RIGHT)
    expect_head(terminal, "x 2024-01-03 … 2024-01-13   y 0 … 1")
    terminal:send "x+++"
    expect_head(terminal, "x 2024-01-07 09:00 … 2024-01-08 15:00   y 0 … 1")
    terminal:send "q"
    finish(terminal)
end)

test("three dimensions are turned", function()
    local terminal = start [[
        f = np.plot.surface(np.eye(4)) before = f:svg() f:explore() print('other', f:svg() ~= before)]]
    local list = expect_head(terminal, "elev 30°   azim -60°   zoom 1")
    check.equal(list[2], "←↑↓→ turn   + - zoom   r resets   q ends")
    terminal:send(RIGHT .. UP)
    expect_head(terminal, "elev 40°   azim -45°   zoom 1")
    terminal:send "++"
    expect_head(terminal, "elev 40°   azim -45°   zoom 1.56")
    terminal:send "q"
    terminal:expect "other\ttrue"
    finish(terminal)
end)

test("a text whose place is not seen is left out", function()
    local marks = "f:text(1, 1, 'the corner'):annotate('the tip', {9, 9}, {xytext={5, 5}})"
    local terminal = start(SQUARE .. marks .. ":explore()")
    local list = table.concat(expect_head(terminal, "x 0 … 10   y 0 … 10"), "\n")
    check.ok(list:find "the corner" and list:find "the tip", list)
    terminal:send "+"
    list = table.concat(expect_head(terminal, "x 2.5 … 7.5   y 2.5 … 7.5"), "\n")
    check.ok(not list:find "the corner" and not list:find "the tip", list)
    terminal:send "q"
    finish(terminal)
end)

test("pictures of kitty's graphics and of sixel", function()
    for _, case in ipairs { { "kitty", "\27_Ga=T,f=100" }, { "sixel", "\27P[%d;]*q" } } do
        local terminal = start(SQUARE .. "f:explore()", case[1])
        expect_head(terminal, "x 0 … 10   y 0 … 10")
        terminal:send(RIGHT)
        expect_head(terminal, "x 2 … 12   y 0 … 10")
        terminal:send "q"
        finish(terminal)
        local _, count = terminal.seen:gsub(case[2], "")
        check.equal(count, 2, case[1])
        local taken = terminal.seen:find("\27_Ga=d,q=2\27\\", 1, true) ~= nil
        check.equal(taken, case[1] == "kitty", "the picture before is taken away")
    end
end)

test("Ctrl-C ends it as q does, and SIGTERM the process", function()
    local terminal = start(SQUARE .. "np.plot.explore()" .. PRINT)
    expect_head(terminal, "x 0 … 10   y 0 … 10")
    terminal:send(RIGHT)
    expect_head(terminal, "x 2 … 12   y 0 … 10")
    terminal:send(CTRL_C)
    terminal:expect "view\t2\t12\r\n"
    finish(terminal)
    terminal = start(SQUARE .. "np.plot.explore()" .. PRINT)
    expect_head(terminal, "x 0 … 10   y 0 … 10")
    terminal:kill(SIGTERM)
    finish(terminal, 128 + SIGTERM)
end)

test("Ctrl-C while a picture is drawn leaves the picture before", function()
    local folder = os.tmpname()
    os.remove(folder)
    local gnuplot = io.popen "command -v gnuplot":read()
    os.execute("mkdir " .. folder)
    process.write(folder .. "/gnuplot", ("#!/bin/sh\n[ -e %s/stop ] && exec sleep 1000\nexec %s \"$@\"\n")
                  :format(folder, gnuplot))
    os.execute("chmod +x " .. folder .. "/gnuplot")
    local setting = environment()
    setting.PATH = folder .. ":" .. os.getenv "PATH"
    local terminal = start(SQUARE .. "np.plot.explore()" .. PRINT, nil, setting)
    expect_head(terminal, "x 0 … 10   y 0 … 10")
    process.write(folder .. "/stop", "")
    terminal:send(RIGHT)
    process.sleep(0.3)
    terminal:send(CTRL_C)
    terminal:expect "view\t0\t10\r\n"
    finish(terminal)
    check.equal(rows(terminal)[1], "x 0 … 10   y 0 … 10")
    os.execute("rm -r " .. folder)
end)

test("a window of another size, and a stop, draw the page again", function()
    local terminal = start(SQUARE .. "f:explore()")
    expect_head(terminal, "x 0 … 10   y 0 … 10")
    terminal.taken = #terminal.seen + 1
    terminal:resize(SMALL_COLUMNS, SMALL_ROWS)
    terminal:expect "┌─"
    terminal:send(RIGHT)
    local list = expect_head(terminal, "x 2 … 12   y 0 … 10")
    for _, row in ipairs(list) do check.ok(#row:gsub("[\128-\191]", "") <= SMALL_COLUMNS, row) end
    check.ok(#list <= SMALL_ROWS, #list)
    terminal:stop()
    terminal.taken = #terminal.seen + 1
    terminal:kill(SIGCONT)
    terminal:expect "┌─"
    terminal:send "q"
    finish(terminal)
end)

test("at the prompt the figure is not shown twice, and commands go on", function()
    local terminal = process.terminal({ "-i" }, environment())
    terminal:expect "> "
    terminal:send "np.plot.line({0, 10}, {0, 10}):xlim(0, 10):ylim(0, 10):explore()\n"
    expect_head(terminal, "x 0 … 10   y 0 … 10")
    terminal:send(RIGHT .. "q")
    terminal:expect "x 2 … 12   y 0 … 10"
    terminal:expect "> "
    terminal:send "6 * 7\n"
    terminal:expect "42\r\n"
    terminal:expect "> "
    terminal:send "\4"
    finish(terminal)
    check.ok(not terminal.seen:find("figure 640x480", 1, true))
end)

-- ---- Without one ----------------------------------------------------------------------------------------------------

check.test("without a terminal the figure is shown once", function()
    local status, out, err = process.run { "/usr/bin/env", "NEAP_GRAPHICS=", process.neap, "-e",
                                           "print 'a' np.plot.explore(np.plot.line{1, 2}) print 'b'" }
    check.equal(status, 0)
    check.equal(out, "a\n" .. FIGURE .. "\nb\n")
    check.equal(err, ONCE)
    local terminal = start("np.plot.line({1, 2}):explore() print 'on'", "none")
    terminal:expect(FIGURE)
    terminal:expect "on"
    finish(terminal)
end)

check.test("what is refused", function()
    check.raises(function() np.plot.explore(3) end, "np.plot.explore: argument 1 %(figure%) must be a figure")
    check.raises(function() np.plot.figure().explore() end, "call it as figure:explore%(…%), with a colon")
    check.raises(function()
        np.jit(function(x) np.plot.line(x):explore() return x end)(np.ones(2))
    end, "it waits for a user")
    local _, _, err = process.run_neap { "-e", "np.plot.explore()" }
    check.ok(err:find("np.plot.explore: there is no figure yet", 1, true), err)
end)

process.cleanup()
check.done()
