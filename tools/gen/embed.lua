--- embed.lua: compiles the Lua library to bytecode and writes it as C arrays; copies the sources for stock luajit.
--
--     luajit embed.lua MODULES OUT.c TREE
--
-- MODULES has a line "root|prefix|file" for each module: its path is prefix .. (file relative to root), such as
-- neap/arrays/random.lua, and its name is neap.arrays.random (neap/init.lua is neap, neap/core/init.lua neap.core). The
-- bytecode keeps debug information under the chunk name "@neap/arrays/random.lua", by which error code knows the
-- library's frames. It must be loaded by the LuaJIT version that runs this program. Modules without a prefix are copied
-- to TREE, which stock luajit uses as LUA_PATH="TREE/?.lua;TREE/?/init.lua"; Lua files there that are no module any
-- more are removed, since they could hide one that is. In both, methods of strings and files have become functions
-- (lib/methods.lua).
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"
local methods = require "methods"

local list_path, out, tree = arg[1], arg[2], arg[3]
if not tree then files.fail("usage: embed.lua MODULES OUT.c TREE") end

local modules, by_name = {}, {}
for root, prefix, file in files.read(list_path):gmatch("([^|\n]*)|([^|\n]*)|([^\n]*)\n") do
    local path = prefix .. files.relative(file, root)
    local name = path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
    if by_name[name] then files.fail("%s: module %s is also in %s", file, name, by_name[name]) end
    by_name[name] = file
    modules[#modules + 1] = { name = name, path = path, file = file, copied = prefix == "" }
end
table.sort(modules, function(a, b) return a.name < b.name end)

--- The bytes as lines of C numbers.
local function c_bytes(bytes)
    local lines = {}
    for from = 1, #bytes, 24 do
        lines[#lines + 1] = "    " .. table.concat({ bytes:byte(from, from + 23) }, ",") .. ",\n"
    end
    return table.concat(lines)
end

local arrays, entries, copies = {}, {}, {}
for k, module in ipairs(modules) do
    local source = files.read(module.file)
    local chunk, problem = loadstring(source, "@" .. module.path)
    if not chunk then files.fail("%s (in %s)", problem, module.file) end
    local good, code = pcall(methods.rewrite, source)
    if not good then files.fail("%s: %s", module.file, code) end
    chunk = assert(loadstring(code, "@" .. module.path))
    local bytecode = string.dump(chunk, false)
    arrays[k] = string.format("static const unsigned char module_%d[] = {\n%s};\n", k, c_bytes(bytecode))
    entries[k] = string.format("    {%s, %s, module_%d, sizeof module_%d},\n", files.c_string(module.name),
                               files.c_string("@" .. module.path), k, k)
    if module.copied then
        local target = tree .. "/" .. module.path
        copies[target] = true
        os.execute("mkdir -p " .. files.quote(target:match("^(.*)/")))
        files.write(target, code)
    end
end

for path in files.command("find " .. files.quote(tree) .. " -name '*.lua'"):gmatch "[^\n]+" do
    if not copies[path] then os.remove(path) end
end

files.write(out, table.concat {
    "/* embedded.c: the Lua library as bytecode, in the order of names. Generated; do not edit. */\n",
    '#include "interp/embedded.h"\n\n', table.concat(arrays),
    "\nconst embedded_module embedded_modules[] = {\n", table.concat(entries), "    {0}};\n",
    string.format("const size_t embedded_count = %d;\n", #modules),
})
