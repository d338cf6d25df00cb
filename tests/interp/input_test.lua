--- input_test.lua: while a program waits for input or for a child, callbacks whose turn has come run, and print.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local LATE = [[
    local late = np.callback(function(v, text) print(text, v) end, { ordered = false })
    local slow = np.debug.sleep(np.arange(3), 300)
]]

--- Runs LATE and `source` under a terminal.
local function start(source)
    return process.terminal({ process.file(LATE .. source) }, {})
end

check.test("Ctrl-C while a program is read from standard input", function()
    local path = os.tmpname()
    local status, out, err = process.run { "bash", "-c", ([[
        rm %s; mkfifo %s; exec 3<>%s
        echo 'print(1)' >&3
        %s <%s 3>&- &
        until grep -qE '^(0|63) 0x0 ' /proc/$!/syscall; do sleep 0.02; done # it reads
        kill -INT $!
        wait $!
    ]]):format(path, path, path, process.neap, path) }
    os.remove(path)
    check.equal({ status, out, err }, { 130, "", "neap: interrupted\n" })
end)

check.test("an input that ends in the middle of a command says what is missing", function()
    for _, input in ipairs { "x = 1\nfor i = 1, 2 do\nprint(i)", "x = 1\ns = [[abc", "x = {1,\n" } do
        local status, out, err = process.run_neap({ "-i" }, input)
        check.equal(status, 0)
        check.ok((out .. err):find "%[%d%]:%d+: ", out .. err)
    end
end)

check.test("a callback becomes due while the program waits to read", function()
    local terminal = start "late(slow, 'due') print('got', io.read())"
    terminal:expect "due\t[0 1 2]\r\n"
    terminal:send "a line\n"
    terminal:expect "got\ta line\r\n"
    check.equal(terminal:finish(), 0)
end)

local READS = { "io.read()", "io.stdin:read('*l')", "io.lines()()", "io.stdin:lines()()" }
for _, read in ipairs(READS) do
    check.test("a callback becomes due while another one reads with " .. read, function()
        local terminal = start("late(slow, 'due')\nnp.callback(function() print('got', " .. read .. ") end)()\n" ..
                               "np.effects_barrier() print 'end'")
        terminal:expect "due\t[0 1 2]\r\n"
        terminal:send "a line\n"
        terminal:expect "got\ta line\r\nend\r\n"
        check.equal(terminal:finish(), 0)
    end)
end

check.test("many callbacks become due while one reads, and those may wait", function()
    local terminal = start [[
        local count = 0
        for _ = 1, 300 do
            np.callback(function(v)
                if np.sum(v + 1):item() == 6 then count = count + 1 end
                if count == 300 then print('all', count) end
            end, { ordered = false })(slow)
        end
        np.callback(function() print('got', io.read()) end)()
        np.effects_barrier()
    ]]
    terminal:expect "all\t300\r\n"
    terminal:send "a line\n"
    terminal:expect "got\ta line\r\n"
    check.equal(terminal:finish(), 0)
end)

check.test("a callback becomes due while another one waits for a child", function()
    local done = process.file ""
    os.remove(done)
    local terminal = start([[
        np.callback(function(v)
            print('due', v)
            np.effects_barrier()
            io.open(]] .. ("%q"):format(done) .. [[, 'w'):close()
        end, { ordered = false })(slow)
        np.callback(function()
            print('child', os.execute "while ! test -e ]] .. done .. [[; do sleep 0.02; done")
        end)()
        np.effects_barrier()
    ]])
    terminal:expect "due\t[0 1 2]\r\n"
    terminal:expect "child\t0\r\n"
    check.equal(terminal:finish(), 0)
end)

process.cleanup()
check.done()
