--- command_test.lua (not under tsan): the command line: what runs, exit statuses, what goes to stderr.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local run = process.run_neap

check.test("-e runs code with np loaded", function()
    local status, out, err = run { "-e", "print(1); assert(np == require 'neap')" }
    check.equal({ status, out, err }, { 0, "1\n", "" })
end)

check.test("several -e run in order, then the script with its arguments", function()
    local script = process.file "print(arg[0] == SCRIPT, x, ...)"
    local status, out = run { "-e", "x = 1", "-e", "SCRIPT = '" .. script .. "'", script, "a", "b" }
    check.equal({ status, out }, { 0, "true\t1\ta\tb\n" })
end)

check.test("-l requires a library, in the order of -e and -l", function()
    local path = process.file "loads = (loads or 0) + 1 return { seen = x }"
    local folder, name = path:match "^(.*/)(.*)$"
    local function run_with(arguments, input)
        return process.run({ "env", "LUA_PATH=" .. folder .. "?", process.neap, unpack(arguments) }, input)
    end
    local show = ("print(x, loads, require('%s').seen)"):format(name)
    local script = process.file(show .. " print(...)")
    check.equal({ run_with { "-e", "x = 1", "-l", name, "-e", "x = 2", "-l" .. name, "-eprint(x)", script, "a" } },
                { 0, "2\n2\t1\t1\na\n", "" })
    check.equal({ run_with({ "-l", name }, show) }, { 0, "nil\t1\tnil\n", "" }, "then standard input")
    check.equal({ run_with({ "-i", "--no-startup", "-l", name }, "loads\n") }, { 0, "> 1\n> ", "" })
    check.equal({ run_with { "-e", "require = print", "-l", "mine" } }, { 0, "mine\n", "" })
    local status, out, err = run_with { "-l", "no.such", "-e", "print(1)" }
    check.equal({ status, out }, { 1, "" })
    check.ok(err:find "^neap: module 'no%.such' not found", err)
end)

check.test("options end at the script", function()
    local script = process.file "print(...)"
    local _, out = run { script, "--version", "-e", "x" }
    check.equal(out, "--version\t-e\tx\n")
    _, out = run { "--", script, "-q" }
    check.equal(out, "-q\n")
end)

check.test("a program on standard input", function()
    local status, out = run({}, "#!/usr/bin/env neap\nprint('in', ...)")
    check.equal({ status, out }, { 0, "in\n" })
    status, out = run({ "-", "x" }, "print('in', ...)")
    check.equal({ status, out }, { 0, "in\tx\n" })
end)

check.test("--version and --help", function()
    local status, out, err = run { "--version" }
    check.equal({ status, err }, { 0, "" })
    check.ok(out:find "^neap %d+%.%d+%.%d+\n$", out)
    status, out, err = run { "--help" }
    check.equal({ status, err }, { 0, "" })
    for _, option in ipairs { "-e", "-l NAME", "-i", "--devices", "--workers", "--trace", "--version", "doctor" } do
        check.ok(out:find(option, 1, true), option)
    end
end)

check.test("--device is a kind, and a number of devices is told of --devices", function()
    local told = "; --devices N says how many\n"
    for kind, ending in pairs { ["8"] = told, abacus8 = "\n" } do
        local status, out, err = run { "--device", kind, "-e", "print(1)" }
        check.equal({ status ~= 0, out, select(2, err:gsub("\n", "")) }, { true, "", 1 })
        check.ok(err:find(("cannot compute on devices of the kind '%s'"):format(kind), 1, true), err)
        check.equal({ err:sub(-#ending), err:find(told, 1, true) ~= nil }, { ending, kind == "8" })
    end
end)

check.test("wrong options are one line and status 2", function()
    local cases = {
        { { "--nope" }, "unknown option '--nope'" }, { { "-x" }, "unknown option '-x'" },
        { { "--devices" }, "--devices wants a value" }, { { "-e" }, "-e wants a value" },
        { { "-l" }, "-l wants a value" }, { { "--html", "-lx", "a.lua" }, "--html wants the name of a script" },
        { { "--trace" }, "--trace wants a value" },
        { { "--devices", "0" }, "--devices wants a number from 1 to 1024, not '0'" },
        { { "--workers=two" }, "--workers wants a number from 1 to 1024, not 'two'" },
        { { "--devices", "99999999999999999999" }, "--devices wants a number" },
        { { "--scheduler", "fair" }, "--scheduler wants pool, device or naive, not 'fair'" },
        { { "--shuffle", "0" }, "--shuffle wants a number from 1 to 1024, not '0'" },
        { { "doctor", "x" }, "doctor takes no arguments" },
    }
    for _, case in ipairs(cases) do
        local status, out, err = run(case[1])
        check.equal({ status, out }, { 2, "" }, case[2])
        check.ok(err:find("neap: " .. case[2], 1, true) and select(2, err:gsub("\n", "")) == 1, err)
    end
end)

check.test("wrong values of the environment are one line that names them once", function()
    for setting, told in pairs { ["NEAP_WORKERS=abc"] = "the environment's NEAP_WORKERS wants a number",
                                 ["NEAP_TIER=zz"] = "NEAP_TIER: expected a tier" } do
        local status, out, err = process.run { "env", setting, process.neap, "-e", "print(np.ones(2))" }
        check.equal({ status ~= 0, out, (err:find("neap: " .. told, 1, true)) }, { true, "", 1 }, err)
    end
end)

check.test("--devices and --workers reach the engine", function()
    local code = "local C = require('neap.core').C; print(C.neap_engine_devices(), C.neap_engine_workers())"
    local status, out = run { "--devices", "3", "--workers=2", "-e", code }
    check.equal({ status, out }, { 0, "3\t2\n" })
end)

check.test("every scheduler shows the same; --shuffle too", function()
    local code = [[
        local x = np.random.normal(np.random.key(3), {300, 200})
        for step = 1, 5 do
            x = (x:matmul(x:transpose()):sum{axis=1, keepdims=true} * 1e-3 + x):sin()
            print(step, x:sum())
        end
        local C = require("neap.core").C
        local counts = np.debug.counters()
        io.stderr:write(C.neap_engine_workers(), " ", counts.inlined == counts.pushed and "here" or "threads", "\n")]]
    local _, expected = run { "-e", code }
    check.ok(#expected > 20, expected)
    for _, case in ipairs { { "pool", "2 threads\n" }, { "device", "6 threads\n" }, { "naive", "2 here\n" } } do
        local status, out, err = run { "--scheduler", case[1], "--devices", "3", "--workers", "2", "-e", code }
        check.equal({ status, out, err }, { 0, expected, case[2] }, case[1])
    end
    local status, out = run { "--shuffle", "5", "-e", code }
    check.equal({ status, out }, { 0, expected }, "shuffled")
end)

check.test("an error names the user's lines and leaves the library's out", function()
    local script = process.file [[
local function inner(x)
    return (x:reshape(2, 2))
end
local function outer()
    inner(np.arange(6))
end

outer()
]]
    local status, out, err = run { script }
    check.equal({ status, out }, { 1, "" })
    check.ok(err:find("^neap: " .. script .. ":2: .*reshape"), err)
    check.ok(err:find(script .. ":2: in function 'inner'", 1, true), err)
    check.ok(err:find(script .. ":5: in function 'outer'", 1, true), err)
    check.ok(err:find(script .. ":8: in main chunk", 1, true), err)
    check.ok(not err:find "neap/" and not err:find "%[C%]", err)
end)

check.test("errors of other types", function()
    local _, _, err = run { "-e", "error(setmetatable({}, { __tostring = function() return 'custom' end }))" }
    check.ok(err:find "^neap: custom\n", err)
    local status
    status, _, err = run { "-e", "error {}" }
    check.equal(status, 1)
    check.ok(err:find "^neap: error value of type table", err)
    status, _, err = run { "-e", "error()" }
    check.equal(status, 1)
    check.ok(err:find "^neap: error value of type nil", err)
end)

check.test("a chunk that does not compile, a script that does not exist", function()
    local status, out, err = run { "-e", "x = = 1" }
    check.equal({ status, out }, { 1, "" })
    check.ok(err:find "^neap: %(command line%):1: unexpected symbol near '='\n   1 | x = = 1\n     |     ^\n$", err)
    status, out, err = run { "/nonexistent/script.lua" }
    check.equal({ status, out }, { 1, "" })
    check.ok(err:find("cannot open /nonexistent/script.lua", 1, true), err)
end)

check.test("a message that ends with nothing in quotes", function()
    local status, _, err = run { "-e", "error \"no idea near ''\"" }
    check.equal(status, 1)
    check.ok(err:find("no idea near ''", 1, true), err)
end)

check.test("deep recursion is an error with a short traceback", function()
    local status, _, err = run { "-e", "local function f() return 1 + f() end f()" }
    check.equal(status, 1)
    check.ok(err:find("stack overflow", 1, true) and #err < 8000, err)
end)

check.test("os.exit gives its status and loses no output", function()
    check.equal({ run { "-e", "print(np.arange(3)); os.exit(7)" } }, { 7, "[0 1 2]\n", "" })
    check.equal((run { "-e", "os.exit(true)" }), 0)
    check.equal((run { "-e", "os.exit(false)" }), 1)
end)

check.test("output and errors keep their order", function()
    local code = "print(np.arange(2)) io.write('w\\n') error('last', 0)"
    local status, out = process.run { "sh", "-c", "exec \"$0\" -e \"$1\" 2>&1", process.neap, code }
    check.equal(status, 1)
    check.ok(out:find "^%[0 1%]\nw\nneap: last\n", out)
end)

--- Runs code whose stdout is read for one line and closed. Returns that line, what stderr got and the exit status.
local function closed_after_a_line(code)
    local pipe = "{ timeout 300 \"$0\" -e \"$1\"; echo $? >&2; } | head -n 1"
    local _, out, err = process.run { "sh", "-c", pipe, process.neap, code }
    return out, err
end

check.test("a reader that goes away ends the program soon and quietly", function()
    local programs = {
        "for i = 1, 1e5 do print(i) end", "print(1) while true do print(2) end",
        "while true do io.write('1\\n') end", "while true do np.printf('%d\\n', np.array(1)) end",
        "local f = np.jit(function(x) print(1) return x + 1 end) local x = np.ones(2) while true do x = f(x) end",
    }
    for _, program in ipairs(programs) do
        check.equal({ closed_after_a_line(program) }, { "1\n", "1\n" }, program)
    end
end)

check.test("a program may go on without its reader", function()
    local program = [[
        local ok, problem
        repeat ok, problem = pcall(print, 1) until not ok
        io.stderr:write((problem:gsub("^.*: np", "np")), "\n", np.ones(2):sum():item(), "\n")
        os.exit(7)
    ]]
    local _, err = closed_after_a_line(program)
    check.equal(err, "np.print: stdout: Broken pipe\n2\n7\n")
end)

check.test("a child that has ended is an error of its file, and its own children die of theirs", function()
    local status, out, err = process.run_neap { process.file [[
        local file = io.popen("true", "w")
        os.execute "sleep 0.2"
        local ok, why
        for _ = 1, 10 do ok, why = file:write(("x"):rep(100000)) end
        print(ok, why, np.arange(3))
        file:close()
        print((io.popen("(yes; echo $? >&2) | head -n 1"):read "*a"))
    ]] }
    check.equal({ status, out, err }, { 0, "nil\tBroken pipe\t[0 1 2]\ny\n\n", "141\n" })
end)

check.test("output that a full disk does not take is told", function()
    local status, out = process.run { "sh", "-c", "exec \"$0\" -e 'print(1)' 2>&1 >/dev/full", process.neap }
    check.equal(status, 1)
    check.ok(out:find "^neap: [^\n]*stdout: No space left on device\n", out)
    local line = "exec \"$0\" -e 'while true do print(1) end' 2>&1 >/dev/full"
    status, out = process.run { "sh", "-c", line, process.neap }
    check.equal(status, 1)
    check.ok(out:find "^neap: %(command line%):1: np.print: stdout: No space left on device\n   1 | while", out)
end)

check.test("standard streams that were closed before the start", function()
    local line = "exec \"$0\" -e 'print(\"a line of text\")' 3>&1 1>&- 2>&3"
    local status, out = process.run { "sh", "-c", line, process.neap }
    check.equal(status, 1)
    check.ok(out:find "^neap: [^\n]*stdout: Bad file descriptor\n", out)
    status, out = process.run { "sh", "-c", "exec \"$0\" -e 'print(io.read())' <&-", process.neap }
    check.equal(status, 0)
    check.equal(out, "nil\n")
end)

check.test("a fork's child tells of its error and ends", function()
    local program = [[
        local ffi = require "ffi"
        ffi.cdef "int fork(void); int waitpid(int pid, int *status, int options); unsigned alarm(unsigned seconds);"
        local child = ffi.C.fork()
        if child == 0 then
            ffi.C.alarm(20)
            %s
        else
            local status = ffi.new "int[1]"
            ffi.C.waitpid(child, status, 0)
            print(status[0])
        end
    ]]
    local status, out, err = run { "-e", program:format "print(1)" }
    check.equal({ status, out }, { 0, "256\n" })
    check.ok(err:find "^neap: .*:6: np%.print: the engine does not survive a fork[^\n]*\n   6 |", err)
    status, out, err = run { "-e", program:format "child = nil" }
    check.equal({ status, out, err }, { 0, "0\n", "" })
end)

check.test("a hook of the program's own stays when a command has run", function()
    check.equal(process.output [[
        local calls = 0
        debug.sethook(function() calls = calls + 1 end, "c")
        os.execute "true"
        local before = calls
        for _ = 1, 5 do type(calls) end
        print(debug.gethook() ~= nil, calls - before >= 5)
    ]], "true\ttrue\n")
end)

check.test("one transcript of everything, on one pipe", function()
    local script = process.file [[
        local slow = np.debug.sleep(np.arange(3), 100)
        print("a", slow)
        io.stderr:write("b ", 1, "\n")
        io.write("c") io.write(slow)
        np.printf(" d%d\n", slow:sum())
        os.execute "echo e; echo f >&2"
        local pipe = io.popen("cat", "w")
        pipe:write("g\n")
        pipe:close()
        print(np.debug.sleep(slow, 100))
        local x = slow:reshape(5)
    ]]
    local status, out = process.run { "sh", "-c", "exec \"$0\" \"$1\" 2>&1", process.neap, script }
    check.equal(status, 1)
    local before, problem = out:match "^(.*\n)neap: ([^\n]*)\n  11 | [^\n]*\n     | *^*\n$"
    check.equal(before, "a\t[0 1 2]\nb 1\nc[0 1 2] d3\ne\nf\ng\n[0 1 2]\n")
    check.ok(problem:find ":11: .*reshape", problem)
end)

check.test("no file of the current folder can take the library's place", function()
    local steps = {
        "neap=$(realpath \"$0\")", "folder=$(mktemp -d)", "cd \"$folder\"", "echo 'error(\"shadowed\")' >neap.lua",
        "\"$neap\" -e 'print(np ~= nil)'", "rm -r \"$folder\"",
    }
    local status, out = process.run { "sh", "-c", table.concat(steps, "\n"), process.neap }
    check.equal({ status, out }, { 0, "true\n" })
end)

check.test("-i without a terminal reads commands line by line", function()
    local status, out = run({ "-i" }, "x = 2\nx + 1\nfor i = 1, 2 do\nprint(i)\nend\n={x, {y = 'z'}}\n")
    check.equal(status, 0)
    check.equal((out:gsub(">+ ", "")), "3\n1\n2\n{2, {y = \"z\"}}\n")
end)

check.test("-i with a script that cannot be opened", function()
    local status, out, err = run({ "-i", "/no/such.lua" }, "1 + 1\n")
    check.equal({ status, out, err }, { 1, "", "neap: cannot open /no/such.lua: No such file or directory\n" })
end)

check.test("what cannot be written to stdout is told", function()
    for _, word in ipairs { "--help", "--version", "doctor" } do
        local status, _, err = process.run { "sh", "-c", '"$0" "$1" > /dev/full', process.neap, word }
        check.equal({ status, err }, { 1, "neap: stdout: No space left on device\n" }, word)
    end
end)

check.test("print takes a number for a text, as Lua's does", function()
    local _, out = run { "-e", "print(setmetatable({}, {__tostring = function() return 1.5 end}), 'a')" }
    check.equal(out, "1.5\ta\n")
end)

check.test("without a prompt nothing of the prompt is loaded", function()
    local status, out = run { "-e", [[
        for name in pairs(package.loaded) do if name:find "^neap.interp" then print(name) end end]] }
    local names = {}
    for name in out:gmatch "neap%.interp%.(%S+)" do names[#names + 1] = name end
    table.sort(names)
    check.equal({ status, names }, { 0, { "chunks", "conditions", "handlers", "input", "sites", "slips", "system",
                                          "tests_of", "unlikely" } })
end)

check.test("doctor reports without the library", function()
    local status, out, err = run { "doctor" }
    check.equal({ status, err }, { 0, "" })
    local rows = { "neap ", "LuaJIT ", "instruction set ", "cores ", "BLAS ", "convolutions ", "Fourier ",
                   "huge pages ", "zlib ", "PNG images ", "JPEG images ", "Fashion%-MNIST " }
    for _, row in ipairs(rows) do
        check.ok(("\n" .. out):find("\n" .. row), row)
    end
end)

process.cleanup()
check.done()
