--- ending_test.lua: programs end as under stock luajit, which closes the state: finalizers, files, children; and
-- nothing that is late is lost. Programs drawn at random, ended in each way, under each host, against stock luajit
-- without the library. For the release build only.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local process = require "tests.lib.process"

local build = process.neap:match "^(.*)/" or "."
local PATH = "LUA_PATH=" .. build .. "/lua/?.lua;" .. build .. "/lua/?/init.lua"

if os.execute "command -v luajit >/dev/null" ~= 0 then
    check.skip("ways to end", "no luajit")
    check.done()
end

-- ---- Programs -------------------------------------------------------------------------------------------------------

-- What a program leaves to its end; @ is a number of its own. Finalizers tell by show(), which prints "gc …" and
-- appends to a file. `late`: only the library has it; the line that it prints.
local THINGS = {
    { "local u = new(true) meta(u).__gc = function() show 'object @' end" },
    { "local u = new(true) meta(u).__gc = function() show 'failing @' error 'no' end" },
    { "local u = new(true) meta(u).__gc = function(me) show 'back @' keep[#keep + 1] = me end" },
    { "local u = new(true) meta(u).__gc = function() show 'maker @' "
      .. "keep[#keep + 1] = new(true) meta(keep[#keep]).__gc = function() show 'made @' end end" },
    { "local u = ffi.gc(ffi.new 'int[1]', function() show 'cdata @' end)" },
    { "local u = io.popen('sleep 0.05; cat >'..DIR..'/child-@', 'w') u:write 'to child @'", "child-@" },
    { "local u = io.open(DIR..'/file-@', 'w') u:write 'to file @'", "file-@" },
    { "local u = z.gzopen(DIR..'/gz-@', 'wb') ffi.gc(u, z.gzclose) z.gzwrite(u, 'to gz', 5)", "gz-@" },
    { "local u print 'line @'", print = "line @" },
    { "local u io.write 'line @\\n'", print = "line @" },
    { "local u np.callback(function() print 'callback @' end)(np.debug.sleep(np.ones(1), 20))", late = "callback @" },
    { "local u = io.open(DIR..'/late-@', 'w') "
      .. "np.callback(function(v) u:write(v:item()) print 'wrote @' end)(np.debug.sleep(np.ones(1), 20))",
      "late-@", late = "wrote @", text = "1" },
    { "local u print('late @', np.debug.sleep(np.ones(1), 20))", late = "late @\t[1.]" },
    { "local u = np.effects.logger(DIR..'/log-@') u('%d', np.debug.sleep(np.ones(1, {dtype='i32'}), 20))",
      "log-@", late = false, text = "1\n" },
    { "local u = np.jit(function(x) print('in jit @', x) return x end)(np.ones(1))", late = "in jit @\t[1.]" },
}
if not pcall(require("ffi").load, "z.so.1") then table.remove(THINGS, 8) end

-- `closes`: the state is closed. A status that the program does not choose is 1 if a callback has failed.
local WAYS = {
    { "", closes = true, open = true }, { "os.exit()", open = true },
    { "os.exit(nil, true)", closes = true, open = true }, { "os.exit(3)" },
    { "os.exit(3, true)", closes = true }, { "os.exit(true, true)", closes = true },
    { "error 'the end'", closes = true }, { "coroutine.wrap(function() os.exit(0, true) end)()", closes = true },
    { "pcall(error, 1) local t = setmetatable({}, {__index = function() os.exit(4, true) end}) local _ = t.x",
      closes = true },
}

local PRELUDE = [[
local DIR, np = %q, %s
local ffi, new, meta = require "ffi", newproxy, getmetatable
keep = {}
Z = %s -- a library that is collected before its objects is a crash
local z = Z
ffi.cdef "void *gzopen(const char *, const char *); int gzclose(void *); int gzwrite(void *, const char *, unsigned);"
local function show(text)
    print("gc " .. text)
    local file = io.open(DIR .. "/notes", "a")
    file:write(text, "\n")
    file:close()
end
]]

local function numbered(text, k)
    return (text:gsub("@", k))
end

--- A random program: its things, and the way it ends.
local function draw(seed)
    math.randomseed(seed)
    local things = {}
    for k = 1, 1 + math.random(7) do things[k] = THINGS[math.random(#THINGS)] end
    return { things = things, way = WAYS[math.random(#WAYS)], fails = math.random(5) == 1 }
end

local function text_of(program, folder, with_library)
    local lines = { PRELUDE:format(folder, with_library and 'rawget(_G, "np") or require "neap"' or "nil",
                                   #THINGS == 15 and 'ffi.load "z.so.1"' or "nil") }
    if program.fails and with_library then
        lines[2] = "np.callback(function() error 'in callback' end)(np.debug.sleep(np.ones(1), 20))"
    end
    for k, thing in ipairs(program.things) do
        if with_library or thing.late == nil then
            lines[#lines + 1] = "do " .. numbered(thing[1], k) .. " keep[#keep + 1] = u end"
        end
    end
    lines[#lines + 1] = program.way[1]
    return table.concat(lines, "\n")
end

-- ---- Running --------------------------------------------------------------------------------------------------------

local function file_text(path)
    local file = io.open(path, "rb")
    local text = file and file:read "*a"
    if file then file:close() end
    return text
end

--- The text of a file; a child that nobody waits for may write it later.
local function settled(path, waits)
    local text
    for _ = 1, waits and 1 or 500 do
        text = file_text(path)
        if text and #text > 0 then return text end
        process.sleep(0.01)
    end
    return text
end

--- Finalizers of cdata come in no order that is told.
local function sort_cdata(lines)
    local cdata = {}
    for k = #lines, 1, -1 do
        if lines[k]:find "cdata" then table.insert(cdata, table.remove(lines, k)) end
    end
    table.sort(cdata)
    for k, line in ipairs(cdata) do table.insert(lines, k, line) end
    return lines
end

--- Runs a program by run(text), which returns status and output. Returns what can be seen of it.
local function outcome(program, with_library, run)
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder) == 0)
    local status, out = run(text_of(program, folder, with_library))
    local seen = { status = status, lines = {}, gc = {}, notes = {}, files = {} }
    for line in out:gmatch "[^\n]+" do
        line = line:gsub("^[> ]+", "")
        local list = line:find "^gc " and seen.gc or line ~= "" and seen.lines
        if list then list[#list + 1] = line end
    end
    for line in (file_text(folder .. "/notes") or ""):gmatch "[^\n]+" do seen.notes[#seen.notes + 1] = line end
    sort_cdata(seen.notes)
    sort_cdata(seen.gc)
    for k, thing in ipairs(program.things) do
        if thing[2] and (with_library or thing.late == nil) then
            local waits = program.way.closes or not thing[2]:find "child"
            seen.files[k] = settled(folder .. "/" .. numbered(thing[2], k), waits)
        end
    end
    os.execute("rm -r " .. folder)
    return seen
end

local function script(command, ...)
    local words = { command, ... }
    return function(text)
        local all = { unpack(words) }
        all[#all + 1] = process.file(text)
        return process.run(all)
    end
end

local function code(...)
    local words = { ... }
    return function(text) return process.run({ unpack(words), }, text) end
end

-- Hosts: how each runs a program. `chosen`: a failed callback does not change its status; `prompt`: nor does an error.
local hosts = {
    { "neap", script(process.neap) },
    { "neap -e", function(text) return process.run { process.neap, "-e", text } end },
    { "neap -", code(process.neap) },
    { "neap -i", function(text) return process.run { process.neap, "-i", "--no-startup", "-e", text } end,
      chosen = true, prompt = true },
    { "luajit", script("env", PATH, "luajit") },
    { "luajit -", code("env", PATH, "luajit", "-") },
}

-- ---- A C program ----------------------------------------------------------------------------------------------------

local embedded = build .. "/deps/luajit/"
local host_source = [[
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

int main(int argc, char **argv) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    int status = argc > 1 ? luaL_dofile(L, argv[1]) : 1;
    if (status)
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return status ? 1 : 0;
}
]]
local host_program
if file_text(embedded .. "lib/libluajit.a") and os.execute "command -v cc >/dev/null" == 0 then
    local source = process.file(host_source)
    host_program = source .. ".out"
    local status, _, problem = process.run {
        "cc", "-x", "c", source, "-x", "none", "-I", embedded .. "include", embedded .. "lib/libluajit.a", "-lm",
        "-ldl", "-Wl,-E", "-o", host_program }
    check.test("a C program", function() check.equal({ status, problem }, { 0, "" }) end)
    hosts[#hosts + 1] = { "C", script("env", PATH, host_program), chosen = true }
end

-- ---- Tests ----------------------------------------------------------------------------------------------------------

--- What a host has to show of a program, of which stock luajit without the library shows `plain`.
local function expected_of(program, host, plain)
    local seen = { status = plain.status, lines = {}, gc = plain.gc, notes = plain.notes, files = {} }
    if host.prompt and program.way[1]:find "^error" then seen.status = 0 end
    local exits = program.way[1]:find "exit" ~= nil
    if program.fails and program.way.open and (not host.chosen or exits) then seen.status = 1 end
    for k, thing in ipairs(program.things) do
        local line = thing.print or thing.late
        if line then seen.lines[#seen.lines + 1] = numbered(line, k) end
        if thing[2] then seen.files[k] = thing.text or plain.files[k] end
    end
    return seen
end

check.test("ways to end", function()
    for seed in seeds.each(8) do
        local program = draw(seed)
        local plain = outcome(program, false, script "luajit")
        for _, host in ipairs(hosts) do
            local seen = outcome(program, true, host[2])
            for k, text in pairs(plain.files) do -- compressed text holds no time, so it is equal
                if program.things[k][2]:find "^gz" and program.way.closes then check.ok(#(seen.files[k] or "") > 20) end
                plain.files[k] = text
            end
            if not program.way.closes then -- who does not close loses what only finalizers write
                for k, thing in ipairs(program.things) do
                    if thing[2] and thing[2]:find "^gz" then plain.files[k] = seen.files[k] end
                end
            end
            check.equal(seen, expected_of(program, host, plain),
                        ("seed %d, host %s:\n%s\n"):format(seed, host[1], text_of(program, "DIR", true)))
        end
    end
end)

check.test("SIGTERM, Ctrl-C: finalizers run", function()
    for signal, status in pairs { TERM = 143, INT = 130 } do
        local notes = os.tmpname()
        local text = ([[
            local u, f = newproxy(true), io.open(%q, "w")
            getmetatable(u).__gc = function() print "gc" end
            f:write "tail"
            io.stderr:write "ready\n" io.stderr:flush()
            while true do end]]):format(notes)
        local file = process.file(text)
        local line = ("exec 3>&1; { '%s' '%s' 3>&- & echo $! >&4; wait $!; echo $? >&3; } 4>'%s.pid' 2>&1 >'%s.out' | "
            .. "{ read line; kill -%s $(cat '%s.pid'); cat >/dev/null; }"):format(
            process.neap, file, file, file, signal, file)
        local _, out = process.run { "sh", "-c", line }
        check.equal({ out, process.read(file .. ".out"), process.read(notes) }, { status .. "\n", "gc\n", "tail" },
                    signal)
        for _, path in ipairs { file .. ".out", file .. ".pid", notes } do os.remove(path) end
    end
end)

check.test("a finalizer without end is stopped", function()
    for signal, status in pairs { TERM = 143, INT = 130 } do
        for _, way in ipairs { "", "os.exit(0, true)", "error 'x'" } do
            local file = process.file([[
                local u = newproxy(true)
                getmetatable(u).__gc = function() io.stderr:write "ready\n" io.stderr:flush() while true do end end
                ]] .. way)
            local line = ("exec 3>&1; { '%s' '%s' 3>&- & echo $! >&4; wait $!; echo $? >&3; } 4>'%s.pid' 2>&1 | "
                .. "{ while read line; do case $line in ready) kill -%s $(cat '%s.pid'); break; esac; done; "
                .. "cat >/dev/null; }"):format(process.neap, file, file, signal, file)
            local _, out = process.run { "timeout", "300", "sh", "-c", line }
            check.equal(out, status .. "\n", signal .. way)
            os.remove(file .. ".pid")
        end
    end
end)

check.test("finalizers use the library", function()
    local path = os.tmpname()
    local text = ([[
        local np = rawget(_G, "np") or require "neap"
        local double = np.jit(function(x) return x * 2 end)
        double(np.ones(2))
        local program = np.trace(function(x) return x + 1 end)(np.ones(3))
        local older, u = newproxy(true), newproxy(true)
        getmetatable(u).__gc = function()
            print("waits", np.debug.sleep(np.ones(1), 20):item())
            print("jit", double(np.arange(3)), double(np.ones(2)), program(np.ones(3)))
            np.callback(function(v) print("callback", double(v:sum())) end)(np.debug.sleep(np.ones(5), 20))
            print("grad", np.grad(function(x) return (x * x):sum() end)(np.array{1, 2}))
            np.io.save(PATH, np.ones(3))
            print("loaded", np.io.load(PATH))
        end
        getmetatable(older).__gc = function()
            print "older"
            os.exit(5)
        end
        KEEP = { u, older }]]):gsub("PATH", ("%q"):format(path .. ".npy"))
    for _, host in ipairs(hosts) do
        local status, out = host[2](text)
        check.equal({ status, (out:gsub("^[> \n]+", "")) }, { 5, [[
waits	1
jit	[0 2 4]	[2. 2.]	[2. 2. 2.]
callback	10.0
grad	[2. 4.]
loaded	[1. 1. 1.]
older
]] }, host[1])
    end
    os.remove(path)
    os.remove(path .. ".npy")
end)

check.test("compiled loops end in finalizers", function()
    if not process.has_hook_checks() then return end -- LuaJIT's own fault, mended in the one that neap brings
    local text = [[
        local function sum(t) local s = 0 for _, v in pairs(t) do s = s + v end return s end
        local t, u = {}, {}
        for k = 1, 100 do t["k" .. k], u[k + 0.5] = k, k + 0.25 end
        for _ = 1, 200 do sum(t) end
        local p = newproxy(true)
        getmetatable(p).__gc = function() print(sum(u)) end
        if ... then p = nil collectgarbage() for _ = 1, 200 do sum(t) sum(u) end print(sum(u)) end]]
    local file = process.file(text)
    for _, word in ipairs { "", "now" } do
        local _, out = process.run { "timeout", "300", process.neap, file, word ~= "" and word or nil }
        check.equal(out, word == "" and "5075\n" or "5075\n5075\n")
    end
end)

if host_program then os.remove(host_program) end
process.cleanup()
check.done()
