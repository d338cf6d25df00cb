--- terminal_modes_test.lua (not under tsan): the prompt leaves the terminal as it was on every way out; a line that is
-- being edited is kept, and drawn again, when the process was stopped; Ctrl-C leaves the line to be seen with "^C"
-- behind it.
local ffi = require "ffi"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local screen = require "tests.lib.screen"

local readline = select(2, process.run_neap { "doctor" }):find("line editing +GNU readline") ~= nil
local state = process.file ""
os.remove(state)
local ENVIRONMENT = { XDG_STATE_HOME = state, INPUTRC = "/dev/null", NO_COLOR = "1" }

local SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGTERM, SIGCONT = 1, 3, 6, 11, 15, 18
local CTRL_BACKSLASH, CTRL_Z = "\28", "\26"
local SANE = { " icrnl", " icanon", " echo " }

--- A prompt in a shell, which tells its status and the terminal's modes when it has ended; and its process.
local function prompt()
    local line = 'trap : QUIT TERM HUP INT; "$0" -i; echo "status $?"; stty -a | tr "\\n" " "; echo told'
    local terminal = process.shell(line, ENVIRONMENT)
    terminal:expect "> "
    terminal:send "require('ffi').cdef 'int getpid(void);' print('process ' .. require('ffi').C.getpid() .. '.')\n"
    terminal:expect "\rprocess "
    local pid = tonumber(terminal:expect ".")
    terminal:expect "> "
    return terminal, pid
end

--- Ends the prompt by `leave` while a line is edited, and checks what the shell finds.
local function left(status, leave)
    local terminal, pid = prompt()
    terminal:send "half a line"
    terminal:expect "half a line"
    leave(terminal, pid)
    terminal:expect("status " .. status)
    local modes = " " .. terminal:expect "told" .. " "
    for _, mode in ipairs(SANE) do check.ok(modes:gsub(";", " ; "):find(mode, 1, true), mode .. ":" .. modes) end
    if readline then
        local set = select(2, terminal.seen:gsub("\27%[%?2004h", ""))
        check.equal(select(2, terminal.seen:gsub("\27%[%?2004l", "")), set, "bracketed paste is off again")
    end
    check.equal(terminal:finish(), 0)
end

check.test("Ctrl-\\", function()
    left(128 + SIGQUIT, function(terminal) terminal:send(CTRL_BACKSLASH) end)
end)

for name, signal in pairs { SIGTERM = SIGTERM, SIGHUP = SIGHUP, SIGABRT = SIGABRT, SIGSEGV = SIGSEGV } do
    if name == "SIGSEGV" and (os.getenv "NEAP_TEST_BUILD" or "release") ~= "release" then
        check.skip(name, "sanitizers take it, and tell of it")
    else
        check.test(name, function()
            left(128 + signal, function(_, pid) ffi.C.kill(pid, signal) end)
        end)
    end
end

check.test("the end of input, and os.exit in a command", function()
    left(0, function(terminal) terminal:send "\21\4" end)
    left(7, function(terminal) terminal:send "\21os.exit(7)\n" end)
end)

check.test("os.exit in a callback while a line is edited", function()
    left(4, function(terminal)
        terminal:send "\21np.callback(function() os.exit(4) end)(np.debug.sleep(np.ones(1), 500))\n"
        terminal:expect "> "
        terminal:send "more"
    end)
end)

check.test("a child that is killed with the terminal in other modes", function()
    local terminal = prompt()
    terminal:send "os.execute 'stty -icrnl -icanon -echo; kill -9 $$' print 'went on'\n"
    terminal:expect "went on\r\n"
    terminal:expect "> "
    terminal:send "os.exit(3)\n"
    terminal:expect "status 3"
    local modes = " " .. terminal:expect "told" .. " "
    for _, mode in ipairs(SANE) do check.ok(modes:gsub(";", " ; "):find(mode, 1, true), mode .. ":" .. modes) end
    check.equal(terminal:finish(), 0)
end)

-- ---- A line that is being edited ------------------------------------------------------------------------------------

--- The rows of the page that a terminal has shown.
local function rows(terminal)
    local page, list = screen.new(120), {}
    page:write(terminal.seen)
    for row = 1, #page.rows do list[row] = page:text(row) end
    return list
end

if readline then
    check.test("the line is drawn again after the process was stopped", function()
        local terminal = process.terminal({ "-i" }, ENVIRONMENT)
        terminal:expect "> "
        terminal:send "1 +"
        terminal:expect "1 +"
        terminal:stop()
        terminal:kill(SIGCONT)
        terminal:expect "> 1 +"
        terminal:send " 2\n"
        terminal:expect "3\r\n"
        terminal:expect "> "
        terminal:send "\4"
        check.equal(terminal:finish(), 0)
    end)

    check.test("the modes are the shell's while the process is stopped", function()
        local line = 'set -m; "$0" -i; echo "stopped $?"; stty -a | tr "\\n" " "; echo told; fg; echo "end $?"'
        local terminal = process.shell(line, ENVIRONMENT)
        terminal:expect "> "
        terminal:send "1 +"
        terminal:expect "1 +"
        terminal:send(CTRL_Z)
        terminal:expect "stopped "
        local modes = " " .. terminal:expect "told" .. " "
        for _, mode in ipairs(SANE) do check.ok(modes:gsub(";", " ; "):find(mode, 1, true), mode .. ":" .. modes) end
        terminal:expect "> 1 +"
        terminal:send " 2\n"
        terminal:expect "3\r\n"
        terminal:expect "> "
        terminal:send "\4"
        terminal:expect "end 0"
        check.equal(terminal:finish(), 0)
    end)

    check.test("Ctrl-C leaves the line, with ^C behind it", function()
        local terminal = process.terminal({ "-i" }, ENVIRONMENT)
        terminal:expect "> "
        for _, keys in ipairs { "half a line", "other words\1", "" } do
            terminal:send(keys)
            if keys ~= "" then terminal:expect(keys:match "^[%w ]+") end
            terminal:send "\3"
            terminal:expect "^C"
            terminal:expect "\n"
            terminal:expect "> "
        end
        terminal:send "f(\n"
        terminal:expect ">> "
        terminal:send "3,"
        terminal:expect "3,"
        terminal:send "\3"
        terminal:expect "^C"
        terminal:expect "> "
        terminal:send "print 'alive'\n"
        terminal:expect "\ralive\r\n"
        terminal:expect "> "
        terminal:send "\4"
        check.equal(terminal:finish(), 0)
        local shown, first = rows(terminal), 1
        while shown[first] and shown[first] ~= "> half a line^C" do first = first + 1 end
        local expected = { "> half a line^C", "> other words^C", "> ^C", "> f(", ">>     3,^C",
                           "> print 'alive'", "alive", ">" }
        for k = 1, #expected do check.equal(shown[first + k - 1], expected[k]) end
    end)
else
    for _, name in ipairs { "the line is drawn again after the process was stopped",
                            "the modes are the shell's while the process is stopped",
                            "Ctrl-C leaves the line, with ^C behind it" } do
        check.skip(name, "built without readline")
    end
end

os.execute("rm -rf '" .. state .. "'")
process.cleanup()
check.done()
