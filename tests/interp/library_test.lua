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
                local line = ("LUA_PATH='%s' timeout 60 mpirun --allow-run-as-root --oversubscribe -n 2 luajit %s %s")
                    :format(path, script, word)
                local status, out, err = process.run { "sh", "-c", line }
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
else
    check.skip("a C program on neap.h alone", "no compiler")
end

process.cleanup()
check.done()
