--- library_test.lua: libneap without the executable: from stock luajit and from C. For the release build only.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local build = process.neap:match "^(.*)/" or "."

local function has(program)
    return os.execute("command -v " .. program .. " >/dev/null") == 0
end

if has "luajit" then
    check.test("stock luajit", function()
        local script = process.file [[
local np = require "neap"
print(np.arange(6):reshape(2, 3):sum { axis = 0 })
]]
        local path = build .. "/lua/?.lua;" .. build .. "/lua/?/init.lua"
        local status, out, err = process.run { "env", "LUA_PATH=" .. path, "luajit", script }
        check.equal({ status, out, err }, { 0, "[3 5 7]\n", "" })
    end)

    if mpirun.missing() then
        check.skip("stock luajit in two processes", mpirun.missing())
    else
        check.test("stock luajit in two processes", function()
            local script = process.file [[
local np = require "neap"
local mesh = np.mesh({ 2 }, { "i" })
print(np.device_put(np.arange(4), mesh, np.P "i"):sum())
if #arg > 0 then os.exit(true) end
]]
            local path = build .. "/lua/?.lua;" .. build .. "/lua/?/init.lua"
            for _, word in ipairs { "", "exit" } do
                local line = ("LUA_PATH='%s' timeout 300 mpirun --allow-run-as-root --oversubscribe -n 2 luajit %s %s")
                    :format(path, script, word)
                local status, out, err = process.run { "sh", "-c", line }
                err = err:gsub("[^\n]*hwloc[^\n]*\n", "") -- a warning where there is no /sys
                check.equal({ status, out, err }, { 0, "6\n", "" })
            end
        end)
    end
else
    check.skip("stock luajit", "no luajit")
end

if has "cc" then
    check.test("a C program on neap.h alone", function()
        local source = process.file [[
#include "neap.h"

#include <stdio.h>

int main(void) {
    neap_ctx *ctx;
    int64_t shape[1] = {3};
    float data[3] = {1, 2, 3};
    int32_t array;
    if (neap_ctx_new(&ctx) < 0 || neap_array_new(ctx, NEAP_DTYPE_F32, 1, shape, data, &array) < 0) {
        return 1;
    }
    neap_info info;
    neap_array_info(ctx, array, &info);
    printf("%d %s\n", (int)info.shape[0], neap_dtype_name(info.dtype));
    neap_ctx_free(ctx);
    neap_engine_stop();
    return 0;
}
]]
        local program = source .. ".out"
        local flags = { "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", build .. "/generated", "-o", program }
        local status, out, err = process.run { "cc", "-x", "c", source, "-x", "none", build .. "/libneap.so",
                                               "-Wl,-rpath," .. build, unpack(flags) }
        check.equal({ status, out, err }, { 0, "", "" })
        status, out, err = process.run { program }
        os.remove(program)
        check.equal({ status, out, err }, { 0, "3 f32\n", "" })
    end)

    local function exists(path)
        local file = io.open(path)
        return file and file:close()
    end
    local luajit = build .. "/deps/luajit/"
    local states = exists(luajit .. "lib/libluajit.a") and check.test or function(title)
        check.skip(title, "no library of LuaJIT beside the build")
    end
    states("Lua states on several threads of a C program", function()
        local source = process.file [[
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>

static char **words;

static void *run(void *number) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_pushinteger(L, (int)(size_t)number);
    lua_setglobal(L, "number");
    if (luaL_dofile(L, words[1]))
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[3];
    words = argv;
    for (size_t k = 0; k < 3 && argc > 1; k++)
        pthread_create(&threads[k], NULL, run, (void *)(k + 1));
    for (size_t k = 0; k < 3 && argc > 1; k++)
        pthread_join(threads[k], NULL);
    return 0;
}
]]
        local script = process.file [[
local np = require "neap"
if number == 1 then np.effects.order("print", "own") end
local tell = np.callback(function(x) print(number, "called", x) end)
for k = 1, 100 do
    print(number, "print", np.ones(k % 10 == 0 and 10000 or 1):sum() * 0 + k)
    tell(np.array(k))
end
np.effects_barrier()
]]
        local program = source .. ".out"
        local status, out, err = process.run {
            "cc", "-x", "c", source, "-x", "none", "-I", luajit .. "include", luajit .. "lib/libluajit.a", "-lm",
            "-ldl", "-pthread", "-Wl,-E", "-o", program }
        check.equal({ status, out, err }, { 0, "", "" })
        local path = build .. "/lua/?.lua;" .. build .. "/lua/?/init.lua"
        status, out, err = process.run { "env", "LUA_PATH=" .. path, "timeout", "300", program, script }
        os.remove(program)
        check.equal({ status, err }, { 0, "" })
        local lines = { {}, {}, {} }
        for number, what, value in out:gmatch "(%d)\t(%a+)\t(%d+)%.0\n" do
            local of = lines[tonumber(number)]
            of[#of + 1] = what .. value
        end
        local expected, prints, calls = {}, {}, {}
        for k = 1, 100 do
            expected[2 * k - 1], expected[2 * k] = "print" .. k, "called" .. k
            prints[k], calls[k] = "print" .. k, "called" .. k
        end
        check.equal(lines[2], expected)
        check.equal(lines[3], expected)
        local seen = { print = {}, called = {} } -- its prints have an order of their own
        for _, text in ipairs(lines[1]) do table.insert(seen[text:match "%a+"], text) end
        check.equal(seen, { print = prints, called = calls })
    end)
else
    check.skip("a C program on neap.h alone", "no compiler")
end

process.cleanup()
check.done()
