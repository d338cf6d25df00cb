--- adopt_test.lua (not under tsan): one order of all that is written to stdout: by prints, late or not, by C's library
-- (puts), by children of io.popen and os.execute; and flush and seek of stdout as Lua's own. Programs drawn at
-- random; stock luajit without the library says what they show where it can.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local process = require "tests.lib.process"

local build = process.neap:match "^(.*)/" or "."
local has_luajit = os.execute "command -v luajit >/dev/null" == 0

--- How a script is run by each host: the executable, and luajit with the library, which cannot load a sanitized one.
local hosts = { { process.neap } }
if has_luajit and (os.getenv "NEAP_TEST_BUILD" or "release") == "release" then
    hosts[2] = { "env", ("LUA_PATH=%s/lua/?.lua;%s/lua/?/init.lua"):format(build, build), "luajit" }
end

local function run(host, text, redirection)
    local words = { unpack(host) }
    words[#words + 1] = process.file(text)
    if not redirection then return process.run(words) end
    for k, word in ipairs(words) do words[k] = "'" .. word .. "'" end
    return process.run { "sh", "-c", table.concat(words, " ") .. " " .. redirection }
end

-- ---- One order ------------------------------------------------------------------------------------------------------

local PRELUDE = [[
local np = rawget(_G, "np") or require "neap"
local ffi = require "ffi"
ffi.cdef "int puts(const char *); int printf(const char *, ...); int putchar(int);"
local C = ffi.C
local late = function() return np.debug.sleep(np.ones(1), 5) end
local show = np.jit(function(x) print(x) return x end)
]]

-- What writes a line: @ is its number; the line follows where it is not "line @".
local WRITERS = {
    { "print 'line @'" }, { "io.write('line ', @, '\\n')" }, { "io.stdout:setvbuf 'no' print 'line @'" },
    { "io.stdout:setvbuf('line', 9) print 'line @'" }, { "C.puts 'line @'" }, { "C.puts 'line @'" },
    { "C.printf('line %d', ffi.new('int', @)) C.putchar(10)" },
    { "print(late(), @)", "[1.]\t@" }, { "show(np.array(@))", "@.0" }, { "show(late() * @)", "[@.]" },
    { "np.callback(function() C.puts 'line @' end)()" }, { "np.callback(function() print 'line @' end)(late())" },
    { "np.callback(function() print 'line @' C.puts 'and' end)()", "line @\nand" },
    { "os.execute 'echo line @'" }, { "do local p = io.popen('cat', 'w') p:write 'line @\\n' p:close() end" },
    { "do local p = io.popen('cat', 'w') print 'line @' p:write 'and\\n' p:close() end", "line @\nand" },
    { "do local p = io.popen 'echo line @' print(p:read()) p:close() end" },
}

check.test("one order", function()
    for seed in seeds.each(5) do
        math.randomseed(seed)
        local code, expected = { PRELUDE }, {}
        for k = 1, 25 do
            local writer = WRITERS[math.random(#WRITERS)]
            code[#code + 1] = writer[1]:gsub("@", k)
            expected[k] = (writer[2] or "line @"):gsub("@", k)
        end
        local text = table.concat(code, "\n")
        if math.random(2) == 1 then text = text .. "\nos.exit()" end
        for _, host in ipairs(hosts) do
            local status, out = run(host, text)
            check.equal({ status, out }, { 0, table.concat(expected, "\n") .. "\n" }, text)
        end
    end
end)

check.test("text of C code comes before an error, and after what was printed", function()
    local status, out = run(hosts[1], PRELUDE .. "print(late()) C.puts 'c' error 'no'", "2>&1")
    check.equal(status, 1)
    check.ok(out:find "^%[1%.%]\nc\nneap: [^\n]*: no\n", out)
end)

check.test("a stream that C code has led elsewhere stays there", function()
    local path = os.tmpname()
    local status, out = run(hosts[1], PRELUDE .. ([[
        ffi.cdef "void *fopen(const char *, const char *); int fputs(const char *, void *);"
        C.fputs("c\n", C.fopen(%q, "w"))
        print "lua"]]):format(path))
    check.equal({ status, out, process.read(path) }, { 0, "lua\n", "c\n" })
    os.remove(path)
end)

-- ---- Flush and seek -------------------------------------------------------------------------------------------------

local MOVES = {
    function(random) return ("io.write(('%s'):rep(%d))"):format(("abcdef"):sub(random(6)):sub(1, 1), random(9)) end,
    function(random) return ("print(%d)"):format(random(99)) end,
    function(random) return ("tell(io.stdout:seek('set', %d))"):format(random(30)) end,
    function(random) return ("tell(io.stdout:seek('cur', %d))"):format(random(9) - 5) end,
    function(random) return ("tell(io.stdout:seek('end', %d))"):format(random(3) - 2) end,
    function() return "tell(io.stdout:seek())" end,
    function() return "tell(io.stdout:seek 'cur')" end,
    function() return "tell(pcall(io.stdout.seek, io.stdout, 'set', -1))" end,
    function() return "tell(pcall(io.stdout.seek, io.stdout, 'top'))" end,
    function() return "tell(io.flush())" end, function() return "tell(io.stdout:flush())" end,
    function() return "tell(io.stderr:seek())" end,
}

--- What a script shows whose stdout is the file behind `>`; and that file.
local function shown(host, text, target)
    local path = target == "file" and os.tmpname() or target
    local status, out, err = run(host, text, path == "pipe" and "| cat" or "> " .. path)
    local written = target == "file" and process.read(path) or out
    if target == "file" then os.remove(path) end
    return { status, written, err }
end

if has_luajit then
    check.test("seek and flush as Lua's", function()
        for seed in seeds.each(10) do
            math.randomseed(seed)
            local code = { [[
                local np = rawget(_G, "np") or pcall(require, "neap")
                local function tell(...)
                    local texts = { ... }
                    for k = 1, select("#", ...) do
                        texts[k] = tostring((select(k, ...))):gsub("bad argument #%d+ to '.-'", "")
                    end
                    io.stderr:write(table.concat(texts, " ", 1, select("#", ...)), "\n")
                end]] }
            for k = 2, 20 do code[k] = MOVES[math.random(#MOVES)](math.random) end
            local text = table.concat(code, "\n")
            for _, target in ipairs { "file", "pipe" } do
                local expected = shown({ "luajit" }, text, target)
                for _, host in ipairs(hosts) do
                    check.equal(shown(host, text, target), expected, target .. "\n" .. text)
                end
            end
        end
    end)
else
    check.skip("seek and flush as Lua's", "no luajit")
end

check.test("flush tells what could not be written", function()
    for _, host in ipairs(hosts) do
        for _, flush in ipairs { "io.flush()", "io.stdout:flush()" } do
            local notes = os.tmpname()
            local status = run(host, ([[
                local np = rawget(_G, "np") or require "neap"
                pcall(io.write, "x") -- which may see it already
                local file = io.open(%q, "w")
                for k = 1, 3 do file:write(tostring((select(k, %s))), "\n") end
                file:write(tostring(pcall(io.stderr.write, io.stderr, "on")), tostring(np.ones(2):sum()))
                ]]):format(notes, flush),
                "> /dev/full 2>/dev/null")
            check.equal({ status, process.read(notes) }, { 1, "nil\nNo space left on device\n28\ntrue2.0" })
            os.remove(notes)
        end
    end
end)

-- ---- Too large a file -----------------------------------------------------------------------------------------------

check.test("a limit for files is an error of the write", function()
    local path = os.tmpname()
    local function limited(code)
        local script = process.file(code)
        return process.run { "sh", "-c", ("ulimit -f 4; '%s' '%s' > '%s'"):format(process.neap, script, path) }
    end
    local status, _, err = limited "for _ = 1, 1000 do print(('x'):rep(100)) end"
    check.equal(status, 1)
    check.ok(err:find("stdout: File too large", 1, true), err)
    status, _, err = limited(([[
        local file, ok, problem, code = io.open(%q, "w")
        for _ = 1, 1000 do
            ok, problem, code = file:write(("x"):rep(100))
            if not ok then break end
        end
        io.stderr:write(tostring(problem), " ", code, "\n", select(2, pcall(np.io.save, %q, np.ones(10000))), "\n")
        io.stderr:write(os.execute "kill -XFSZ $$; exit 3", "\n")]]):format(path, path .. ".npy"))
    check.equal(status, 0)
    check.ok(err:find "File too large 27\n[^\n]*np.io.save: cannot write '[^\n]*': File too large\n%d+\n", err)
    check.ok(not err:find("768\n", 1, true), "a child ignores the signal")
    os.remove(path)
end)

process.cleanup()
check.done()
