--- ops.lua: writes from the op rows everything that lists ops.
--
--     luajit ops.lua ROOT OUT ROWFILE…
--
-- OUT/ops_gen.h       enum { LAZY_OP_abs, …, LAZY_OP_COUNT }, in the order of names
-- OUT/ops_gen.c       lazy_ops[] and lazy_op_count
-- OUT/lua/neap/ops_gen.lua   for the library's constructors: a list in the order of numbers, each
--                     { id, name, class = "map", arity, attrs = { "axes", … }, doc, hidden = true or nil };
--                     arity is 255 for any number of inputs
-- OUT/op_tests.lua    for generated tests: a list of { id, name, class, arity, attrs, types = { "bool", "int",
--                     "real", "complex" }, dtype = the dtype rule's name, domain = { low, high }, reference, ulp,
--                     gradient = whether the row has one, zero_gradient = whether it says that it is zero }
-- OUT/ops.md          the reference page; docs/reference/ops.md is its committed copy (tools/check compares)
--
-- Numbers follow from sorting, so they may change with every row: they are never written to disk, names are.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"
local rows = require "rows"

local root, out = arg[1], arg[2]
local paths = {}
for k = 3, #arg do paths[#paths + 1] = arg[k] end
if not out then files.fail("usage: ops.lua ROOT OUT ROWFILE...") end

local list = rows.scan(paths, root)

-- What each constant of a `types` field stands for.
local TYPES = {
    LAZY_BOOL = { "bool" }, LAZY_INT = { "int" }, LAZY_REAL = { "real" }, LAZY_HALF = {},
    LAZY_COMPLEX = { "complex" }, LAZY_NUMERIC = { "int", "real" }, LAZY_INEXACT = { "real", "complex" },
    LAZY_ORDERED = { "bool", "int", "real" }, LAZY_ALL = { "bool", "int", "real", "complex" },
    LAZY_ANY = { "bool", "int", "real", "complex" }, LAZY_BITS = { "bool", "int" },
}

local function types_of(row)
    local set, names = {}, {}
    for constant in (rows.code(row, "types") or ""):gmatch("LAZY_%u+") do
        if not TYPES[constant] then
            files.fail("%s:%d: op row '%s': .types: unknown %s", row.file, row.line, row.name, constant)
        end
        for _, name in ipairs(TYPES[constant]) do set[name] = true end
    end
    for _, name in ipairs { "bool", "int", "real", "complex" } do
        if set[name] then names[#names + 1] = name end
    end
    return names
end

--- Checks and reshapes a row to what the outputs need.
local function digest(id, row)
    local function complain(what) files.fail("%s:%d: op row '%s': %s", row.file, row.line, row.name, what) end
    local fields = row.fields
    local class = (rows.code(row, "kind") or ""):match("^LAZY_(%u+)$")
    if not class then complain(".kind must be a lazy_class") end
    if type(fields.doc) ~= "string" or fields.doc == "" then complain(".doc must say what it computes") end
    if fields.attrs ~= nil and type(fields.attrs) ~= "string" then complain(".attrs must be a string") end
    if fields.arity ~= nil and type(fields.arity) ~= "number" then complain(".arity must be a number") end
    local attrs = {}
    for attr in (fields.attrs or ""):gmatch("%S+") do attrs[#attrs + 1] = attr end
    return {
        id = id, name = row.name, file = row.file, class = class:lower(), arity = fields.arity or 0, attrs = attrs,
        doc = fields.doc, hidden = rows.has(row, "flags", "LAZY_OP_HIDDEN"), types = types_of(row),
        dtype = rows.code(row, "dtype"), domain = type(fields.domain) == "table" and fields.domain or nil,
        reference = fields.reference, ulp = fields.ulp or 0,
        zero_gradient = rows.has(row, "flags", "LAZY_OP_ZERO_GRAD"),
        gradient = fields.grad ~= nil and not rows.has(row, "flags", "LAZY_OP_ZERO_GRAD"),
    }
end

local ops = {}
for k, row in ipairs(list) do ops[k] = digest(k - 1, row) end

local function each(format)
    local lines = {}
    for k, op in ipairs(ops) do lines[k] = format(op) end
    return table.concat(lines)
end

local function lua_list(names)
    local quoted = {}
    for k, name in ipairs(names) do quoted[k] = string.format("%q", name) end
    return #quoted == 0 and "{}" or "{ " .. table.concat(quoted, ", ") .. " }"
end

files.write(out .. "/ops_gen.h", [[
/* ops_gen.h: the numbers of the ops. Generated from the op rows; do not edit. */
#ifndef LAZY_OPS_GEN_H
#define LAZY_OPS_GEN_H

enum {
]] .. each(function(op) return "    LAZY_OP_" .. op.name .. ",\n" end) .. [[
    LAZY_OP_COUNT
};

#endif
]])

files.write(out .. "/ops_gen.c", table.concat {
    "/* ops_gen.c: the table of op rows. Generated; do not edit. */\n",
    '#include "lazy/op.h"\n\n#include "ops_gen.h"\n\n',
    each(function(op) return "extern const lazy_op lazy_op_" .. op.name .. ";\n" end),
    "\nconst lazy_op *const lazy_ops[] = {\n",
    each(function(op) return "    &lazy_op_" .. op.name .. ",\n" end),
    "    NULL,\n};\n\nconst int lazy_op_count = LAZY_OP_COUNT;\n",
})

files.write(out .. "/lua/neap/ops_gen.lua", table.concat {
    "--- The ops that the core has. Generated from the op rows; do not edit.\nreturn {\n",
    each(function(op)
        local hidden = op.hidden and " hidden = true," or ""
        return string.format("    { id = %d, name = %q, class = %q, arity = %d, attrs = %s,%s\n      doc = %q },\n",
                             op.id, op.name, op.class, op.arity, lua_list(op.attrs), hidden, op.doc)
    end),
    "}\n",
})

files.write(out .. "/op_tests.lua", table.concat {
    "--- What generated tests need of each op. Generated from the op rows; do not edit.\nreturn {\n",
    each(function(op)
        local extra = {}
        if op.domain then extra[#extra + 1] = string.format("domain = { %.17g, %.17g }", op.domain[1], op.domain[2]) end
        if op.reference then extra[#extra + 1] = string.format("reference = %q", op.reference) end
        if op.dtype then extra[#extra + 1] = string.format("dtype = %q", op.dtype) end
        extra[#extra + 1] = string.format("ulp = %.17g, gradient = %s, zero_gradient = %s", op.ulp,
                                           tostring(op.gradient), tostring(op.zero_gradient))
        return string.format("    { id = %d, name = %q, class = %q, arity = %d, attrs = %s, types = %s,\n      %s },\n",
                             op.id, op.name, op.class, op.arity, lua_list(op.attrs), lua_list(op.types),
                             table.concat(extra, ", "))
    end),
    "}\n",
})

--- The reference page: a section for each family (row file), an entry for each visible op.
local function reference_page()
    local families, by_family = {}, {}
    for _, op in ipairs(ops) do
        local family = op.file:match("([^/]+)%.c$")
        if not by_family[family] then
            by_family[family] = {}
            families[#families + 1] = family
        end
        if not op.hidden then table.insert(by_family[family], op) end
    end
    table.sort(families)
    local page = {
        "# Ops\n\nGenerated from the op rows in lazy/ops; a change there changes this page (CONTRIBUTING.md).\n",
        "Each op is a function `np.name(…)`; *class* says how it is lowered (lazy/op.h).\n",
    }
    for _, family in ipairs(families) do
        if #by_family[family] > 0 then page[#page + 1] = "\n## " .. family .. "\n" end
        for _, op in ipairs(by_family[family]) do
            local facts = { "class " .. op.class }
            facts[#facts + 1] = op.arity == 255 and "any number of inputs"
                or op.arity .. (op.arity == 1 and " input" or " inputs")
            if #op.attrs > 0 then facts[#facts + 1] = "attributes " .. table.concat(op.attrs, ", ") end
            if #op.types > 0 then facts[#facts + 1] = "dtypes " .. table.concat(op.types, ", ") end
            if op.ulp > 0 then facts[#facts + 1] = ("error at most %.17g ulp"):format(op.ulp) end
            facts[#facts + 1] = op.gradient and "has a gradient" or "no gradient"
            page[#page + 1] = string.format("\n### %s\n\n%s\n\n*%s*\n", op.name, op.doc, table.concat(facts, "; "))
        end
    end
    return table.concat(page)
end
files.write(out .. "/ops.md", reference_page())
