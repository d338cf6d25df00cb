--- generators_test.lua (not under tsan): the generators and checks of tools/: what they write, and what they refuse
-- with file:line.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local folder = os.tmpname()
os.remove(folder)

--- Makes a file below the test's folder; returns its path.
local function write(path, text)
    path = folder .. "/" .. path
    assert(os.execute("mkdir -p '" .. path:match "^(.*)/" .. "'") == 0)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    return path
end

local function read(path)
    local file = assert(io.open(folder .. "/" .. path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

--- Runs the generator of op rows over files; returns its status and what it said.
local function generate(files)
    local paths = {}
    for name, text in pairs(files) do paths[#paths + 1] = write("lazy/ops/" .. name, text) end
    table.sort(paths)
    write("out/lua/neap/keep", "")
    local status, out, err = process.run_neap { "tools/gen/ops.lua", folder, folder .. "/out", unpack(paths) }
    for _, path in ipairs(paths) do os.remove(path) end
    return status, out .. err
end

local ADD = [[
/* NEAP_OP(comment, .kind = LAZY_MAP) is no row */
#define HELPER(x) ((x) + 1) /* "*/
NEAP_OP(add, .doc = "a + b, " /* joined */
        "with a \"quote\".", .kind = LAZY_MAP, .arity = 2, .types = LAZY_NUMERIC | LAZY_BOOL, .grad = add_grad,
        .dtype = graph_dtype_promote, .kernel = {.any = "(T)(a + b)", .boolean = "a | b"}, .domain = {-1e3, 10.5},
        .reference = "a + b", .ulp = 0.5)
]]
local SUM = [[
NEAP_OP(sum, .kind = LAZY_REDUCE, .attrs = "axes keepdims", .arity = 1, .doc = "The sum.",
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .grad = no_grad)
]]

check.test("rows become the enum, the constructors, the tests and the page", function()
    check.equal({ generate { ["a.c"] = ADD, ["b.c"] = SUM } }, { 0, "" })
    check.ok(read("out/ops_gen.h"):find "LAZY_OP_add,%s+LAZY_OP_sum,%s+LAZY_OP_COUNT")
    check.ok(read("out/ops_gen.c"):find "&lazy_op_add,%s+&lazy_op_sum,")
    check.equal(loadstring(read "out/lua/neap/ops_gen.lua")(), {
        { id = 0, name = "add", class = "map", arity = 2, attrs = {}, doc = 'a + b, with a "quote".' },
        { id = 1, name = "sum", class = "reduce", arity = 1, attrs = { "axes", "keepdims" }, doc = "The sum.",
          hidden = true },
    })
    check.equal(loadstring(read "out/op_tests.lua")(), {
        { id = 0, name = "add", class = "map", arity = 2, attrs = {}, types = { "bool", "int", "real" },
          dtype = "graph_dtype_promote", domain = { -1000, 10.5 }, reference = "a + b", ulp = 0.5, gradient = true,
          zero_gradient = false },
        { id = 1, name = "sum", class = "reduce", arity = 1, attrs = { "axes", "keepdims" }, types = {}, ulp = 0,
          gradient = false, zero_gradient = true },
    })
    local page = read "out/ops.md"
    check.ok(page:find("### add", 1, true) and not page:find("### sum", 1, true), "hidden rows are not on the page")
    check.ok(page:find("dtypes bool, int, real; error at most 0.5 ulp; has a gradient", 1, true))
end)

check.test("bad rows are refused with file:line", function()
    local cases = {
        { "\n\nNEAP_OP(end, .kind = LAZY_MAP, .doc = \"x\")", "lazy/ops/z.c:3: op row: 'end' is a Lua keyword" },
        { "\nNEAP_OP(add, .kind = LAZY_MAP, .doc = \"x\")",
          "lazy/ops/z.c:2: op row: 'add' is already defined at lazy/ops/a.c:3" },
        { "NEAP_OP(open, .kind = LAZY_MAP,", "lazy/ops/z.c:1: op row: no closing parenthesis" },
        { "NEAP_OP(mixed, LAZY_MAP)", "lazy/ops/z.c:1: op row: 'mixed': an argument that is not" },
        { "NEAP_OP(twice, .arity = 1, .arity = 2)", "lazy/ops/z.c:1: op row: the field .arity twice" },
        { "NEAP_OP(\"text\", .arity = 1)", "lazy/ops/z.c:1: op row: its first argument must be a name" },
        { "NEAP_OP(kindless, .doc = \"x\")", "lazy/ops/z.c:1: op row 'kindless': .kind must be" },
        { "NEAP_OP(mute, .kind = LAZY_MAP)", "lazy/ops/z.c:1: op row 'mute': .doc must say" },
        { "NEAP_OP(odd, .kind = LAZY_MAP, .doc = \"x\", .types = LAZY_ODD)",
          "lazy/ops/z.c:1: op row 'odd': .types: unknown" },
    }
    for _, case in ipairs(cases) do
        local status, text = generate { ["a.c"] = ADD, ["z.c"] = case[1] }
        check.equal(status, 1, case[2])
        check.equal(text:sub(1, #case[2]), case[2])
    end
end)

check.test("a change of a declaration changes the interface's hash, one of a comment does not", function()
    local function hash(text)
        local header = write("root/lazy/lazy.h", text)
        write("root/out/lua/neap/keep", "")
        local root = folder .. "/root"
        local status, _, err = process.run_neap { "tools/gen/headers.lua", "cc", root, root .. "/out", header }
        check.equal({ status, err }, { 0, "" })
        return read("root/out/abi.c"):match '"(%x+)"'
    end
    local first = hash "/* one */\nint neap_f(int a);\n"
    check.ok(#first == 16, first)
    check.equal(hash "/* two */\n\nint  neap_f(int a);\n", first)
    check.ok(hash "int neap_f(long a);\n" ~= first, "the hash does not depend on the declarations")
end)

check.test("includes that go up are found", function()
    local tree = folder .. "/tree"
    write("tree/engine/good.c", '#include "engine/engine.h"\n#include <stdio.h>\n')
    write("tree/lazy/good.c", '#include "lazy/op.h"\n#include "effects/effects.h"\n')
    write("tree/interp/good.c", '#include <lua.h>\n#include "lazy/lazy.h"\n')
    check.equal((process.run { "tools/check_layers", tree }), 0)
    write("tree/engine/bad.c", '\n# include "lazy/lazy.h"\n')
    write("tree/effects/bad.c", "#include <lauxlib.h>\n")
    write("tree/lazy/bad.c", '#include "../engine/engine.h"\n')
    local status, out = process.run { "tools/check_layers", tree }
    check.equal(status, 1)
    check.ok(out:find("engine/bad.c:2: engine/ must not include lazy/lazy.h", 1, true), out)
    check.ok(out:find("effects/bad.c:1: only interp/ may include lauxlib.h", 1, true), out)
    check.ok(out:find("lazy/bad.c:1: include paths start at the root", 1, true), out)
end)

check.test("tests for single ops are found", function()
    local tree = folder .. "/ops"
    write("ops/lazy/ops/good.c", "bool f(int op) { return op == LAZY_OP_add; }\n")
    write("ops/lazy/vm/join.c", "bool f(int op) { return op != LAZY_OP_multiply; }\n")
    write("ops/lazy/good.c", "int f(void) { return LAZY_OP_add | LAZY_OP_HIDDEN; }\n")
    check.equal((process.run { "tools/check_layers", tree }), 0)
    write("ops/lazy/bad.c", "\nbool f(int op) { return LAZY_OP_add == op; }\n")
    write("ops/mesh/bad.c", "void f(int op) { switch (op) { case LAZY_OP_add: g(); } }\n")
    write("ops/lazy/vm/join.c", "bool f(int op) { return op != LAZY_OP_multiply && op != LAZY_OP_add; }\n")
    local status, out = process.run { "tools/check_layers", tree }
    check.equal(status, 1)
    check.ok(out:find("lazy/bad.c:2: 1 tests for single ops, expected 0", 1, true), out)
    check.ok(out:find("mesh/bad.c:1: 1 tests for single ops, expected 0", 1, true), out)
    check.ok(out:find("lazy/vm/join.c:1: 2 tests for single ops, expected 1", 1, true), out)
end)

check.test("bytecode is the same in each process, and what it was", function()
    local program = write("bytes.lua", [==[
package.path = "tools/gen/lib/?.lua;" .. package.path
local source = [[
local t = { a = 1, b = 2.5, c = "x", d = true, [-3] = 4, [true] = 5, e = { f = 1, g = { 1, "two", 3 } } }
return t, (function() return { x = 1, y = -1e300, z = 2 ^ 53, [0.5] = false } end)(), 3LL, 2ULL, 2i, 1e9, "end"]]
for _, stripped in ipairs{ false, true } do
    io.write(require("bytecode").ordered(string.dump(assert(loadstring(source)), stripped)))
end]==])
    local status, first, err = process.run_neap { program }
    check.equal({ status, err }, { 0, "" })
    for _ = 1, 3 do check.ok(select(2, process.run_neap { program }) == first, "another process has other bytes") end
    local t, u, three, two, i, big, last = assert(loadstring(first:sub(first:find("\27LJ", 5, true), -1)))()
    check.equal(t, { a = 1, b = 2.5, c = "x", d = true, [-3] = 4, [true] = 5, e = { f = 1, g = { 1, "two", 3 } } })
    check.equal(u, { x = 1, y = -1e300, z = 2 ^ 53, [0.5] = false })
    check.equal({ tostring(three), tostring(two), tostring(i), big, last }, { "3LL", "2ULL", "0+2i", 1e9, "end" })
end)

os.execute("rm -rf '" .. folder .. "'")
process.cleanup()
check.done()
