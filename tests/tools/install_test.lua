--- install_test.lua (release build only): what `cmake --install` puts below a prefix works there, and after the folder
-- was moved: the executable, the manual page, completions, stock luajit, C programs, plugins for processes and devices.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local build = process.neap:match "^(.*)/" or "."

local function has(program)
    return os.execute("command -v " .. program .. " >/dev/null") == 0
end

if not has "cmake" then
    check.skip("installing", "no cmake")
    return check.done()
end

local folder = os.tmpname()
os.remove(folder)
local prefix = folder .. "/moved here"

--- What a line of shell prints on both streams; P is the prefix. Fails unless its status is 0.
local function sh(line)
    local status, out, err = process.run { "env", "-u", "NEAP", "P=" .. prefix, "W=" .. folder, "timeout", "-k", "5",
                                           "120", "bash", "-c", "cd \"$W\" || exit 1\n" .. line }
    check.ok(status == 0, ("%s\nends with status %s: %s%s"):format(line, status, out, err))
    return out .. err
end

--- A test that wants programs.
local function test(title, programs, run)
    for program in programs:gmatch "%S+" do
        if not has(program) then return check.skip(title, "no " .. program) end
    end
    check.test(title, run)
end

check.test("installing, and moving what was installed", function()
    local status, out, err = process.run { "cmake", "--install", build, "--prefix", folder .. "/first" }
    check.ok(status == 0, out .. err)
    os.execute(("mv %s/first '%s'"):format(folder, prefix))
    for _, path in ipairs {
        "bin/neap", "lib/libneap.so", "include/neap/neap.h", "include/neap/engine/device.h", "lib/pkgconfig/neap.pc",
        "share/lua/5.1/neap/init.lua", "share/man/man1/neap.1", "share/bash-completion/completions/neap",
        "share/doc/neap/copyright", "share/doc/neap/docs/tour.md", "share/doc/neap/examples/embed/embed.c",
        "share/doc/neap/docs/notebooks/1-laziness.ipynb", "share/doc/neap/docs/plot/gallery.png",
        "share/doc/neap/scripts/classify_images.lua", "share/neap/definitions/neap.lua",
    } do
        local file = io.open(prefix .. "/" .. path)
        check.ok(file, "there is no " .. path)
        if file then file:close() end
    end
    -- Texts hold no path of this machine, so the folder may be anywhere.
    sh [[! grep -rlI -e "$W" -e first/share "$P/share/lua" "$P/share/man" "$P/lib/pkgconfig" "$P/include"]]
end)

check.test("a prefix among the sources is refused, but for staging", function()
    local root = io.popen "pwd":read "*l"
    for _, inside in ipairs { root, root .. "/opt/neap", root .. "/docs/.." } do
        local status, _, err = process.run { "cmake", "--install", build, "--prefix", inside }
        check.ok(status ~= 0 and err:find "is in the folder of the sources", err)
    end
    check.ok(os.execute("[ ! -e bin/neap ] && [ ! -e opt ]") == 0, "something was installed there")
    local line = "DESTDIR=%s/staging cmake --install %s --prefix '%s/opt' >%s/log"
    check.ok(os.execute(line:format(folder, build, root, folder)) == 0, "staging is refused")
end)

test("a script that names its interpreter", "env", function()
    check.equal(sh [[
cat >script <<'END'
#!/usr/bin/env neap
print("sum", np.arange(4):sum(), ...)
END
chmod +x script
PATH="$P/bin:$PATH" ./script one two]], "sum\t6\tone\ttwo\n")
end)

test("the manual page", "man", function()
    local page = sh [[MANWIDTH=100 man -l "$P/share/man/man1/neap.1" | col -b]]
    local help = sh [["$P/bin/neap" --help]]
    for option in help:gmatch "\n  (%-[%w%-]+)" do
        check.ok(page:find("%s" .. option:gsub("%-", "%%-") .. "%f[^%w-]"), "the page has no " .. option)
    end
    check.ok(page:find "the folder of the executable", page)
    local rooms = "engine effects lazy formats mesh interp stdlib"
    for name in io.popen("grep -rhoE 'getenv[ (]*\"NEAP_[A-Z_]+' " .. rooms):read "*a":gmatch "NEAP_[%u_]+" do
        check.ok(page:find(name, 1, true), "the page has no " .. name)
    end
end)

test("the manual page's form", "mandoc", function()
    check.equal(sh [[mandoc -T lint -W warning "$P/share/man/man1/neap.1" 2>&1 | grep -v 'missing date' || true]], "")
end)

local COMPLETE = [[
source "$P/share/bash-completion/completions/neap"
complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _neap; printf '[%s]' "${COMPREPLY[@]}"; echo; }
touch train.lua
]]
check.test("completions of bash", function()
    check.equal(sh(COMPLETE .. [[
complete_it neap --dev
complete_it neap --sch
complete_it neap doc
complete_it neap --devices 2 tr
complete_it neap train.lua --dev
complete_it neap --trace tr
complete_it neap --workers tr]]), [[
[--devices][--device]
[--scheduler]
[doctor]
[train.lua]
[]
[train.lua]
[]
]])
end)

test("completions of zsh", "zsh", function()
    sh [[zsh -n "$P/share/zsh/site-functions/_neap" && zsh -fc 'fpath=("$P/share/zsh/site-functions" $fpath)
autoload -Uz compinit && compinit -D && [ "$_comps[neap]" = _neap ]']]
end)

local LUA = [[export LUA_PATH="$P/share/lua/5.1/?.lua;$P/share/lua/5.1/?/init.lua;;"
]]
test("stock luajit", "luajit", function()
    check.equal(sh(LUA .. [[luajit -e '
local np = require "neap"
print(np.grad(function(x) return (x * x):sum() end)(np.array{1, 2, 3}))
print(pcall(np.breakpoint))']]), "[2. 4. 6.]\nfalse\t(command line):4: np.breakpoint: only the executable neap has a "
        .. "prompt\n")
end)

test("stock luajit without libneap", "luajit", function()
    sh [[cp -r "$P/share/lua/5.1" alone]]
    local said = sh [[LUA_PATH="$W/alone/?.lua;$W/alone/?/init.lua" luajit -e 'print(pcall(require, "neap"))']]
    check.ok(said:find("cannot load libneap (set NEAP_LIBRARY to its path)", 1, true), said)
end)

test("a C program by pkg-config", "cc pkg-config", function()
    local out = sh [[
export PKG_CONFIG_PATH="$P/lib/pkgconfig"
pkg-config --modversion neap
eval "cc -std=c11 -Wall -Wextra -Werror -o engine '$P/share/doc/neap/examples/engine.c' \
    $(pkg-config --cflags --libs neap)"
LD_LIBRARY_PATH="$P/lib" ./engine]]
    check.ok(out:find "^%d+%.%d+%.%d+\n", out)
end)

test("a plugin for devices", "cc pkg-config", function()
    local source = io.popen "pwd":read "*l" .. "/tests/engine/plugin/sample.c"
    sh(([[
export PKG_CONFIG_PATH="$P/lib/pkgconfig"
eval "cc -std=gnu11 -shared -fPIC -o '$P/lib/neap/neap_sample.so' %s $(pkg-config --cflags neap) -pthread"
cat >plugin.c <<'END'
#include "neap.h"
#include <stdio.h>
int main(void) {
    int device, status = neap_engine_start(&(neap_engine_config){0});
    if (status == 0) status = neap_plugin_load("sample");
    if (status == 0) status = neap_device_open("sample", 0, &device);
    if (status < 0) puts(neap_error_text());
    return status < 0;
}
END
eval "cc -std=c11 -o plugin plugin.c $(pkg-config --cflags --libs neap)"
LD_LIBRARY_PATH="$P/lib" ./plugin
"$P/bin/neap" -e 'local ffi = require "ffi"; assert(ffi.C.neap_plugin_load("sample") == 0)']]):format(source))
end)

if has "pkg-config" and has "make" and os.execute "pkg-config --exists luajit" == 0 then
    check.test("Lua and arrays in a C program: examples/embed", function()
        check.equal(sh(LUA .. [[cp -r "$P/share/doc/neap/examples/embed" . && cd embed && make -s && ./embed]]), [[
loss 0.0050
weight 0: 0.50
weight 1: -1.00
weight 2: 3.00
an error: model.lua:22: np.ones: a shape is made of integers from 0 to 2^53, got the number -1 at axis 0
]])
    end)
else
    check.skip("Lua and arrays in a C program: examples/embed", "no make, pkg-config or libluajit-5.1-dev")
end

if os.execute("[ -f '" .. build .. "/neap_mpi.so' ]") == 0 and has "mpirun" then
    check.test("two processes", function()
        local mpirun = "mpirun --allow-run-as-root --oversubscribe -quiet -n 2 "
        check.equal(sh(mpirun .. [["$P/bin/neap" -e 'print(np.process_count())']]), "2\n")
        if has "luajit" then
            sh [[echo 'local np = require "neap"; print(np.process_count())' >count.lua]]
            check.equal(sh(LUA .. mpirun .. "luajit count.lua"), "2\n")
        end
    end)
else
    check.skip("two processes", "no MPI")
end

if os.execute("[ -f '" .. build .. "/neap_native.so' ]") == 0 then
    check.test("native code", function()
        local told = sh [["$P/bin/neap" doctor]]
        check.ok(told:find "native code +LLVM", told)
    end)

    check.test("what is not installed is named", function()
        local told = sh [[mkdir -p alone/bin && cp "$P/bin/neap" alone/bin && alone/bin/neap doctor]]
        check.ok(told:find "native code +none: install neap%-native, or llvm%-19%-dev", told)
        check.ok(told:find "code for GPUs +none: install neap%-native", told)
        check.ok(told:find "MPI +none: install neap%-mpi, or libopenmpi%-dev", told)
    end)

    check.test("native code where LuaRocks puts plugins", function()
        local told = sh [[mkdir -p tree/bin tree/lib/lua/5.1/neap && cp "$P/bin/neap" tree/bin &&
cp "$P/lib/neap/neap_native.so" tree/lib/lua/5.1/neap && tree/bin/neap doctor]]
        check.ok(told:find "native code +LLVM", told)
    end)
else
    check.skip("native code", "no LLVM")
end

os.execute("rm -rf " .. folder)
process.cleanup()
check.done()
