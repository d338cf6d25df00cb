--- embed.lua: compiles the Lua library to bytecode, one file for the executable; copies the sources for stock luajit.
--
--     luajit embed.lua MODULES OUT TREE
--
-- OUT/embedded.bin is the bytecode of all modules, one behind the other, and OUT/embedded.c the table of where each
-- begins. The assembler takes the bytes in as they are: as numbers in C text they would take the compiler seconds.
--
-- MODULES has a line "root|prefix|file" for each module: its path is prefix .. (file relative to root), such as
-- neap/arrays/random.lua, and its name is neap.arrays.random (neap/init.lua is neap, neap/core/init.lua neap.core). The
-- bytecode keeps debug information under the chunk name "@neap/arrays/random.lua", by which error code knows the
-- library's frames. It must be loaded by the LuaJIT version that runs this program. Modules without a prefix are copied
-- to TREE, which stock luajit uses as LUA_PATH="TREE/?.lua;TREE/?/init.lua"; Lua files there that are no module any
-- more are removed, since they could hide one that is. In both, methods of strings and files have become functions
-- (lib/methods.lua). The same sources give the same bytes (lib/bytecode.lua).
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"
local methods = require "methods"
local bytecode = require "bytecode"

local list_path, out, tree = arg[1], arg[2], arg[3]
if not tree then files.fail("usage: embed.lua MODULES OUT TREE") end

local modules, by_name = {}, {}
for root, prefix, file in files.read(list_path):gmatch("([^|\n]*)|([^|\n]*)|([^\n]*)\n") do
    local path = prefix .. files.relative(file, root)
    local name = path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
    if by_name[name] then files.fail("%s: module %s is also in %s", file, name, by_name[name]) end
    by_name[name] = file
    modules[#modules + 1] = { name = name, path = path, file = file, copied = prefix == "" }
end
table.sort(modules, function(a, b) return a.name < b.name end)

local bytes, at, entries, copies, made = {}, 0, {}, {}, {}
for k, module in ipairs(modules) do
    local source = files.read(module.file)
    local chunk, problem = loadstring(source, "@" .. module.path)
    if not chunk then files.fail("%s (in %s)", problem, module.file) end
    local good, code = pcall(methods.rewrite, source)
    if not good then files.fail("%s: %s", module.file, code) end
    chunk = assert(loadstring(code, "@" .. module.path))
    bytes[k] = bytecode.ordered(string.dump(chunk, false))
    entries[k] = string.format("    {%s, %s, embedded_bytes + %d, %d},\n", files.c_string(module.name),
                               files.c_string("@" .. module.path), at, #bytes[k])
    at = at + #bytes[k]
    if module.copied then
        local target = tree .. "/" .. module.path
        local folder = target:match "^(.*)/"
        copies[target] = true
        if not made[folder] then os.execute("mkdir -p " .. files.quote(folder)) end
        made[folder] = true
        files.write(target, code)
    end
end

for path in files.command("find " .. files.quote(tree) .. " -name '*.lua'"):gmatch "[^\n]+" do
    if not copies[path] then os.remove(path) end
end

files.write(out .. "/embedded.bin", table.concat(bytes))
files.write(out .. "/embedded.c", table.concat {
    "/* embedded.c: the Lua library as bytecode, in the order of names. Generated; do not edit. */\n",
    '#include "engine/incbin.h"\n#include "interp/embedded.h"\n\n',
    "ENGINE_INCBIN(embedded_bytes, ", files.c_string(out .. "/embedded.bin"), ")\n",
    "\nconst embedded_module embedded_modules[] = {\n", table.concat(entries), "    {0}};\n",
    string.format("const size_t embedded_count = %d;\n", #modules),
})
