--- show_test.lua (sanitized with --long): where np.plot.show puts pictures: a line of text, characters, kitty's
-- graphics, sixel, asked of a terminal that answers so, a window; in order with prints, at the prompt, under np.jit.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

local FIGURE = 'figure 640x480, save with np.plot.save("name.png")'
-- Characters of dots, as bytes: a set of a pattern takes one byte.
local BRAILLE = "\226[\160-\163]"
local QUESTION = "\27_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\27\\\27[c"

local function has(program)
    return os.execute(("command -v %s >/dev/null"):format(program)) == 0
end

local function test(name, f)
    if not has "gnuplot" then return check.skip(name, "gnuplot is not here (package gnuplot-nox)") end
    check.test(name, f)
end

local function run(code, graphics)
    local chosen = "NEAP_GRAPHICS=" .. (graphics or "")
    local status, out, err = process.run { "/usr/bin/env", chosen, process.neap, "-e", code }
    check.equal(status, 0, err)
    return out, err
end

check.test("without a terminal a figure is a line, in order with prints", function()
    check.equal(run [[
        print "before" np.plot.line({1, 2}):show() print "between"
        local f = np.jit(function(x) np.plot.line(x):show() print("in", x:sum()) return x end)
        f(np.ones(2)) f(np.ones(2) * 2) print "after" np.plot.figure():show()]],
        "before\n" .. FIGURE .. "\nbetween\n" .. FIGURE .. "\nin\t2.0\n" .. FIGURE .. "\nin\t4.0\nafter\n" .. FIGURE
        .. "; it is empty\n")
end)

check.test("a chart after show begins a new figure, a title does not", function()
    check.equal(run [[
        local a = np.plot.line{1} local b = np.plot.line{2} print(a == b) np.plot.show()
        print(np.plot.title "x" == a, np.plot.line{3} == a)]], "true\n" .. FIGURE .. "\ntrue\tfalse\n")
end)

test("under np.jit each call draws its own values", function()
    local path = os.tmpname()
    local out = run(([[
        local f = np.jit(function(x) np.plot.figure():line(x):save("%s.svg") return x end)
        f(np.arange(5)) np.effects_barrier() print((io.open("%s.svg"):read "*a"):find(">%%s*4<") ~= nil)
        f(np.arange(5) * 1000) np.effects_barrier() print((io.open("%s.svg"):read "*a"):find(">%%s*4000<") ~= nil)]])
        :format(path, path, path))
    os.remove(path)
    os.remove(path .. ".svg")
    check.equal(out, "true\ntrue\n")
end)

test("characters", function()
    local out = run('np.plot.line({0, 1, 2}, {label="up"}):title("T"):ylabel("höhe"):show() print "end"', "blocks")
    check.ok(out:find "━━.*up" and out:find "T\n" and out:find "höhe", out)
    check.ok(out:find "┌──" and out:find(BRAILLE) and out:find "end\n$", out)
    for line in out:gmatch "[^\n]+" do
        check.ok(#line:gsub("\27%[[%d;]*m", ""):gsub("[\128-\191]", "") <= 80, line)
    end
    out = run('np.plot.bar({1, 2}, {3, 4}):show() np.plot.imshow(np.eye(3)):show()', "blocks")
    check.ok(out:find "▀", out)
    run("np.plot.surface(np.eye(4)):show() local f, a = np.plot.subplots(2, 2) a[1][1]:line{1, 2} f:show()", "blocks")
end)

test("long texts beside characters are cut, and none is left out", function()
    for _, count in ipairs { 10, 40, 76, 90, 300 } do
        local long = ("é"):rep(count)
        for _, what in ipairs { "title", "xlabel", "ylabel", "suptitle" } do
            local out = run(('np.plot.line{1, 2}:%s("%s"):show()'):format(what, long), "blocks")
            local _, letters = out:gsub("é", "")
            check.ok(count <= 60 and letters == count or count > 60 and letters > 60 and letters < 80,
                     what .. count .. "\n" .. out)
            check.equal(out:find "…" ~= nil, letters < count, what .. count)
        end
    end
end)

test("np.display shows a figure as np.plot.show does", function()
    for _, show in ipairs { "np.display(f)", "np.update_display(f, 'place')" } do
        local code = "f = np.plot.line{1, 2} print 'a' " .. show .. " print 'b'"
        check.equal(run(code), "a\n" .. FIGURE .. "\nb\n", show)
        local out = run(code, "blocks")
        check.ok(out:find "^a\n.*┌──.*" .. BRAILLE .. ".*b\n$" and not out:find("figure", 1, true), out)
    end
end)

test("kitty's graphics and sixel", function()
    local out = run('print "a" np.plot.line{1, 2}:show() print "b"', "kitty")
    local first, rest = out:match "^a\n\27_Ga=T,f=100,q=2,m=1;(iVBORw0KGgo[^\27]*)\27\\(.*)b\n$"
    check.ok(first and #first == 4096, out:sub(1, 200))
    check.ok(rest:find "\27_Gm=0;[^\27]+\27\\\n$")
    out = run('print "a" np.plot.line{1, 2}:show() print "b"', "sixel")
    check.ok(out:find "^a\n\27P[%d;]*q.*\27\\\nb\n$", out:sub(1, 100))
end)

--- What a prompt shows of a figure on a terminal that answers so.
local function answered(answer)
    local terminal = prompts.start({}, { NEAP_GRAPHICS = false, TMUX = false, KITTY_WINDOW_ID = false,
                                         TERM_PROGRAM = false, TERM = "xterm-256color" })
    terminal:expect "> "
    terminal:send "np.plot.line{1, 2}\n"
    terminal:expect(QUESTION)
    if answer then terminal:send(answer) end
    local shown = terminal:expect "> "
    terminal:send "np.plot.line{1, 2}\n" -- it is not asked again
    local again = terminal:expect "> "
    terminal:send "\4"
    terminal:finish()
    check.ok(not again:find(QUESTION, 1, true), "asked again")
    return shown
end

test("the terminal is asked, once", function()
    check.ok(answered "\27_Gi=31;OK\27\\\27[?62;c":find("\27_Ga=T,f=100", 1, true))
    check.ok(answered "\27[?62;4;6c":find "\27P[%d;]*q")
    check.ok(answered "\27[?1;2c":find "┌──")
    check.ok(answered():find "┌──") -- it says nothing
end)

test("live curves take the place of the picture before, unless something was printed", function()
    local code = [[
        local live = np.plot.live{title="t", every=0}
        live:update{loss=np.array(1)} live:update(2, {loss=0.5}) print "between" live:update{loss=0.2}
        print(live:close())]]
    local out = run(code, "blocks")
    local _, ups = out:gsub("\27%[%d+A\r\27%[J", "")
    check.equal(ups, 2, "pictures replaced")
    check.ok(out:find "between" and out:find("figure 640x480", 1, true))
    check.equal(run(code), "between\n" .. FIGURE .. "\n" .. FIGURE .. "\n")
    local _, shown = process.run_neap({ "-i", "--no-startup" }, "live = np.plot.live{}\nlive:update{loss=1};\n"
                                      .. "f = live:close()\nf\nlive = np.plot.live{}\nlive:close()\n")
    check.equal(select(2, shown:gsub("figure 640x480", "")), 3, shown) -- f is shown again, the last one is not
    check.equal(run [[
        local live = np.plot.live{}
        local f = np.jit(function(x) live:update{loss=x:sum()} return x end)
        f(np.ones(2)) f(np.ones(3)) np.effects_barrier() print(live)]], "live curves: loss\n")
end)

test("Ctrl-C ends a picture that takes long, and not the session", function()
    local folder = os.tmpname()
    os.remove(folder)
    os.execute(("mkdir %s; printf '#!/bin/sh\\nsleep 1000\\n' >%s/gnuplot; chmod +x %s/gnuplot"):format(folder, folder,
                                                                                                    folder))
    local terminal = prompts.start({}, { PATH = folder .. ":" .. os.getenv "PATH" })
    terminal:expect "> "
    terminal:send "f = np.plot.line{1, 2}; print 'ready'; f:png()\n"
    terminal:expect "ready\r\n"
    process.sleep(0.2)
    terminal:send "\3"
    terminal:expect "> "
    check.ok(prompts.command(terminal, "1 + 1"):find "2")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    os.execute("rm -r " .. folder)
end)

-- ---- Windows --------------------------------------------------------------------------------------------------------

test("without a display no window opens", function()
    local status, _, err = process.run { "/usr/bin/env", "-u", "DISPLAY", "NEAP_GRAPHICS=window", process.neap, "-e",
                                         "np.plot.line{1, 2}:show()" }
    check.equal(status, 1)
    check.ok(err:find("np.plot.show: there is no display for a window: DISPLAY is not set", 1, true), err)
    status, _, err = process.run { "/usr/bin/env", "DISPLAY=:987", "NEAP_GRAPHICS=window", process.neap, "-e",
                                   "np.plot.line{1, 2}:show()" }
    check.equal(status, 1)
    check.ok(err:find "np.plot.show: gnuplot failed: [^\n]*unable to open display"
             or err:find("package gnuplot-x11 instead of gnuplot-nox", 1, true), err)
end)

local function missing_for_windows()
    if not (has "gnuplot" and has "Xvfb" and has "xwininfo") then return "Xvfb or xwininfo is not here" end
    if os.execute "gnuplot -d -e 'set terminal x11' 2>/dev/null" ~= 0 then return "gnuplot opens no windows" end
end

local NAME = "a window, which stays when the process has ended"
local reason = missing_for_windows()
if reason then
    check.skip(NAME, reason)
else
    check.test(NAME, function()
        local status, out, err = process.run { "sh", "-c", [[
            Xvfb -displayfd 3 -screen 0 1024x768x24 3>"$1" 2>/dev/null & server=$!
            for k in $(seq 100); do [ -s "$1" ] && break; sleep 0.1; done
            export DISPLAY=:$(cat "$1") NEAP_GRAPHICS=window
            "$0" -e 'np.plot.line{1, 4, 9}:title "squares" np.plot.show() print "shown"'
            for k in $(seq 100); do
                xwininfo -root -tree | grep -o '"squares".*' && break
                sleep 0.1
            done
            kill $server; wait; rm -f "$1"]], process.neap, os.tmpname() }
        check.equal(status, 0, err)
        check.ok(out:find 'shown\n"squares"[^\n]* 640x480', out .. err)
    end)
end

process.cleanup()
check.done()
