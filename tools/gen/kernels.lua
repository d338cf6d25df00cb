--- kernels.lua: writes the kernel loops of lazy/vm/simd from the kernel texts of the op rows.
--
--     luajit kernels.lua ROOT OUT ROWFILE…
--
-- OUT/kernels_gen.h applies the loop forms of lazy/vm/simd/kernels.c (MAP1 MAP2 MAP3) to each op and dtype and lists
-- the loops in map_table and CAST_TABLE; OUT/folds_gen.h those of folds.c there (FOLD, FOLD_ORDERED, FOLD_NUMBERS,
-- LEAVES, CHOICE), listed in fold_table, summed_table and choice_table. A reduction has the texts of the map that it
-- combines by (.combines) where it has none of its own. One of real numbers takes the form FOLD_ORDERED where that map
-- chooses between both operands (LAZY_OP_CHOOSES): its text for integers is as good for numbers that are ordered;
-- FOLD_NUMBERS if it says which number is the .worst, its neutral element being NaN. OUT/chains_gen.h does the same
-- with the forms of lazy/vm/simd/chains.c (LINK1 LINK2 LINK3, BEGIN_AS), for maps with LAZY_OP_CHAINS and casts, and
-- lists them in code_table and begin_table. OUT/native_gen.h applies those of lazy/native/plugin/rows.c (MAP1 MAP2
-- MAP3, FOLD) by dtype, and has the functions' names in map_names, cast_names and fold_names. The text of a dtype is
-- the most specific one of the row (lazy/op.h); in it T, U, O become C types and F(name) the function of
-- lazy/vm/simd/vmath.h for T. Operands and results are read off the row's dtype rule: graph_dtype_compare gives bool,
-- the first operand of graph_dtype_where is bool, graph_dtype_part makes complex operands real, and graph_dtype_parts
-- real ones complex; drawn_as_X takes u64 alone and gives X; a row with LAZY_OP_CASTS makes a loop for each pair of
-- dtypes. A text that is a call of a function with rare arguments (VM_RARE or VM_RARE2 in lazy/vm/simd) takes the form
-- MAP1_RARE or MAP2_RARE. Halves take the texts of f32, with conversions around (lazy/dtype/half.h), but where a row
-- has a text for .half; maps and casts alone have loops for them, most of which go through the loops of f32, in blocks
-- (HALF1, HALF2, HALF3). Long functions, of ten ns and more, have no form for native code: inlining them takes long,
-- and gains nothing. Nor have those of complex numbers. OUT/gpu_gen.h applies the forms of
-- lazy/native/plugin/gpu_rows.c to all maps, casts and reductions, and has their names in gpu_maps, gpu_casts and
-- gpu_reductions.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"
local rows = require "rows"

local root, out = arg[1], arg[2]
local paths = {}
for k = 3, #arg do paths[#paths + 1] = arg[k] end
if not out then files.fail("usage: kernels.lua ROOT OUT ROWFILE...") end

local dtypes = require("dtypes").read(root)

-- Classes of the `types` field that a dtype's kind belongs to, and the kernel fields that may hold its text.
local CLASS = { b = "LAZY_BOOL", u = "LAZY_INT", i = "LAZY_INT", f = "LAZY_REAL", c = "LAZY_COMPLEX" }
local CLASSES = {
    LAZY_NUMERIC = "LAZY_INT LAZY_REAL", LAZY_ORDERED = "LAZY_BOOL LAZY_INT LAZY_REAL",
    LAZY_ALL = "LAZY_BOOL LAZY_INT LAZY_REAL LAZY_COMPLEX", LAZY_BITS = "LAZY_BOOL LAZY_INT",
    LAZY_INEXACT = "LAZY_REAL LAZY_COMPLEX",
}
local FIELDS = { b = "boolean", u = "integer", i = "integer", f = "real", c = "complex" }

local function accepts(row, dtype)
    local types = (rows.code(row, "types") or ""):gsub("LAZY_%u+", CLASSES)
    return (types .. " "):find(CLASS[dtype.kind] .. "[^%w_]") ~= nil
end

local function complain(row, ...)
    files.fail("%s:%d: op row '%s': %s", row.file, row.line, row.name, string.format(...))
end

local function named(dtype_name)
    for _, dtype in ipairs(dtypes) do
        if dtype.name == dtype_name then return dtype end
    end
    files.fail("lazy/dtype/dtype.h: no dtype %s", dtype_name)
end
local bool, f32, f64 = named "bool", named "f32", named "f64"

local scanned, by_name = rows.scan(paths, root), {}
for _, row in ipairs(scanned) do by_name[row.name] = row end

--- The map that a reduction combines by.
local function combining(row)
    local name = (rows.code(row, "combines") or ""):match "^LAZY_OP_([%w_]+)$"
    local map = by_name[name]
    if not map or rows.code(map, "kind") ~= "LAZY_MAP" or map.fields.arity ~= 2 then
        complain(row, ".combines must be a map of two operands")
    end
    return map
end

local function text_for(row, dtype)
    local kernel = row.fields.kernel or {}
    local text = kernel[dtype.name] or kernel[FIELDS[dtype.kind]] or kernel.any
    if not text and row.fields.combines then return text_for(combining(row), dtype) end
    return text or complain(row, ".kernel has no text for %s", dtype.name)
end

--- Replaces F(name) and the letters for types.
local function expand(text, dtype, result)
    text = text:gsub("%f[%w_]F%((%w+est)%)", { lowest = dtype.lowest, highest = dtype.highest })
    text = text:gsub("%f[%w_]F%((%w[%w_]*)%)", "vm_%1_" .. dtype.name)
    -- C would compute uint16_t as int, which a product can overflow.
    local unsigned = dtype.unsigned == "uint16_t" and "uint32_t" or dtype.unsigned
    return (text:gsub("[%a_][%w_]*", { T = dtype.type, U = unsigned, O = result.type }))
end

--- The dtype as a text sees it: where the sign of an integer changes no bit of the result, the unsigned one of its
-- width, so that dtypes of one width share a loop.
local function seen(dtype, text)
    if dtype.kind ~= "i" or text:find "[<>/%%]" or text:find "%f[%w_]F%(" then return dtype end
    local unsigned = {}
    for field, value in pairs(dtype) do unsigned[field] = value end
    unsigned.type = dtype.unsigned
    return unsigned
end

--- The functions that have a slow form: { sin_f64 = true, … }.
local function read_rare()
    local rare = {}
    for path in files.command("ls " .. files.quote(root) .. "/lazy/vm/simd/*.h"):gmatch("[^\n]+") do
        for name, dtype in files.read(path):gmatch("\nVM_RARE2?%(([%w_]+), (%w+),") do
            rare[name .. "_" .. dtype] = true
        end
    end
    return rare
end
local rare = read_rare()

local forms, known = {}, {}

--- Names the loops of a form; equal forms of equal types share them.
local function instance(form, id, arguments)
    local key = form .. "(" .. table.concat(arguments, ", ") .. ")"
    if not known[key] then
        known[key] = id
        forms[#forms + 1] = ("%s(%s, %s)\n"):format(form, id, table.concat(arguments, ", "))
    end
    return known[key]
end

local VARIANTS = { { "v" }, { "vv", "sv", "vs" }, { "vvv", "svv", "vsv", "ssv", "vvs", "svs", "vss" } }

--- The dtype of a kind that has so many times the bits of another one.
local function scaled(dtype, kind, factor)
    for _, other in ipairs(dtypes) do
        if other.kind == kind and other.bits == factor * dtype.bits and not other.half then return other end
    end
end

--- The dtype of a map's result, by the row's dtype rule; nil where the rule has none for these operands.
local function result_of(rule, operand)
    if rule == "graph_dtype_compare" then return bool end
    if rule == "graph_dtype_part" and operand.kind == "c" then return scaled(operand, "f", 0.5) end
    if rule == "graph_dtype_parts" then return not operand.half and scaled(operand, "c", 2) end
    local drawn = (rule or ""):match "^drawn_as_(%w+)$"
    if drawn then return operand.name == "u64" and named(drawn) or nil end
    return operand
end

local tables = { map = {}, fold = {}, choice = {} }
local bodies, casts = { map = {}, fold = {}, choice = {} }, {}
-- Of the forms of maps, casts and reductions, for native code.
local map_names, cast_names, fold_names = {}, {}, {}
local gpu_names = { maps = {}, casts = {}, reductions = {} } -- of all forms, for GPUs

--- Lists the names of an op's forms by dtype, { [dtype.id] = id, … }.
local function list_names(kind, entry, ids)
    local names = {}
    for _, dtype in ipairs(dtypes) do
        if ids[dtype.id] then names[#names + 1] = ('[NEAP_DTYPE_%s] = "%s"'):format(dtype.id, ids[dtype.id]) end
    end
    table.insert(gpu_names[kind], ("    [%s] = {%s},\n"):format(entry, table.concat(names, ", ")))
end
local NATIVE_NS = 10
local apart = {} -- of forms that are none of native code: true
-- From this cost of an element on, halves take the loop of f32 in place of one of their own, which would be as long
-- again: a function outweighs the way of its operands through the nearest cache, and so do f16's conversions, which are
-- faster in loops of their own than among an op's other work.
local HALF_NS = { f16 = 0, bf16 = 0.2 }
local through_f32 = {} -- the form of each such loop of halves by its form in native code

--- Lists the entries of one op in a table of that op, `kind`s by dtype.
local function list(kind, row, entries)
    local lists = bodies[kind]
    lists[#lists + 1] = ("static const lazy_%s %s_%s[NEAP_DTYPE_COUNT] = {\n%s};\n"):format(
        kind == "map" and "loops" or kind, kind, row.name, table.concat(entries))
    table.insert(tables[kind], ("    [LAZY_OP_%s] = %s_%s,\n"):format(row.name, kind, row.name))
end

--- A text for f32 as one for halves: their numbers go in, and the result is rounded.
local function on_halves(text, dtype, keeps)
    local wide = text:gsub("%f[%w_][abc]%f[^%w_]", function(operand)
        return ("half_wide_%s(%s)"):format(dtype.name, operand)
    end)
    return keeps and wide or ("half_of_f32_%s(%s)"):format(dtype.name, wide)
end

local function write_map(row)
    local arity = row.fields.arity
    local rule = rows.code(row, "dtype")
    local entries, named_entries, ids = {}, {}, {}
    if not VARIANTS[arity] then complain(row, "a map has one to three operands, not %s", tostring(arity)) end
    for _, dtype in ipairs(dtypes) do
        if accepts(row, dtype) and result_of(rule, dtype) then
            local computed = dtype.half and f32 or dtype
            local as_stored = dtype.half and row.fields.kernel.half
            local given = as_stored or text_for(row, computed)
            local operand = seen(computed, given)
            local result = result_of(rule, operand)
            local compares = rule == "graph_dtype_compare"
            local arguments = {}
            for k = 1, arity do
                arguments[k] = rule == "graph_dtype_where" and k == 1 and bool.type or
                               dtype.half and dtype.type or operand.type
            end
            arguments[arity + 1] = dtype.half and not compares and dtype.type or result.type
            local text = expand(given, operand, result)
            local called = text:match("^vm_([%w_]+)%(a%)$") or text:match("^vm_([%w_]+)%(a, b%)$")
            if rare[called] then
                arguments[arity + 2] = called
                arguments[arity + 3] = dtype.half and "half_wide_" .. dtype.name or ""
                arguments[arity + 4] = dtype.half and not compares and "half_of_f32_" .. dtype.name or ""
            else
                local wrapped = dtype.half and not as_stored and on_halves(text, dtype, compares)
                arguments[arity + 2] = "(" .. (wrapped or text) .. ")"
            end
            local form = "MAP" .. arity .. (rare[called] and "_RARE" or "")
            local id = instance(form, row.name .. "_" .. dtype.name, arguments)
            ids[dtype.id] = id
            local converts = dtype.half and not compares and not as_stored and given:find "%f[%w_]a%f[^%w_]"
            if converts and (row.fields.ns or 0) >= HALF_NS[dtype.name] then
                through_f32[forms[#forms]] = ("HALF%d(%s, %s, %s)\n"):format(arity, id, dtype.name, ids.F32)
            end
            local loops = {}
            for k, variant in ipairs(VARIANTS[arity]) do loops[k] = id .. "_" .. variant end
            entries[#entries + 1] = ("    [NEAP_DTYPE_%s] = {{%s}},\n"):format(dtype.id, table.concat(loops, ", "))
            apart[id] = (row.fields.ns or 0) >= NATIVE_NS or operand.kind == "c" or result.kind == "c" or nil
            if not apart[id] then
                named_entries[#named_entries + 1] = ('[NEAP_DTYPE_%s] = "%s"'):format(dtype.id, id)
            end
        end
    end
    list("map", row, entries)
    list_names("maps", "LAZY_OP_" .. row.name, ids)
    map_names[#map_names + 1] = ("    [LAZY_OP_%s] = {%s},\n"):format(row.name, table.concat(named_entries, ", "))
end

--- The f32 from which a half is rounded as from `a`: itself where a is one.
local function before_half(from)
    if from.half then return ("half_wide_%s(a)"):format(from.name) end
    if from.name == "f32" then return "a" end
    if from.kind ~= "f" and from.digits <= f32.digits then return "(float)a" end
    if from.bits < 64 or from.kind == "f" then return "half_odd_f64((double)a)" end
    return ("half_odd_%s(a)"):format(from.name)
end

--- The C types and the text of a cast. Of integers the low bits stay, and only what is widened has a sign that counts.
local cast
function cast(from, to)
    if from.kind == "c" and to.kind ~= "c" and to.kind ~= "b" then return nil end -- x.real says what is meant
    if to.half then
        local same = from == to and "(a)" or ("(half_of_f32_%s(%s))"):format(to.name, before_half(from))
        return from.type, to.type, same
    end
    if from.half then
        local _, to_type, text = cast(f32, to)
        return from.type, to_type, "(" .. on_halves(text, from, true) .. ")"
    end
    local from_integer = from.kind ~= "f" and from.kind ~= "c"
    local to_integer = to.kind ~= "f" and to.kind ~= "c"
    local narrows = from_integer and to_integer and to.bits <= from.bits
    local from_type = (narrows or to.kind == "b") and from_integer and from.unsigned or from.type
    if to.kind == "b" then return from_type, to.type, "(a != 0)" end
    if to.kind == "c" then return from.type, to.type, ("((%s)a)"):format(to.type) end
    if from_integer and to_integer then return from_type, to.unsigned, ("((%s)a)"):format(to.unsigned) end
    if not to_integer or from_integer then return from_type, to.type, ("((%s)a)"):format(to.type) end
    local name = ("vm_cast_%s_%s"):format(from.name, to.name)
    if not known[name] then
        known[name] = true
        forms[#forms + 1] = ("VM_CAST_OF_REAL(%s, %s, %s, '%s', %d, %s, %s)\n"):format(
            name, from.type, to.type, to.kind, to.bits, to.lowest, to.highest)
    end
    return from.type, to.type, ("(%s(a))"):format(name)
end

local function write_casts(row)
    for _, from in ipairs(dtypes) do
        local entries, named_entries, ids = {}, {}, {}
        for k, to in ipairs(dtypes) do
            local from_type, to_type, text = cast(from, to)
            entries[k], named_entries[k] = "NULL", "NULL"
            if text then
                local id = instance("MAP1", row.name .. "_" .. from.name .. "_" .. to.name,
                                    { from_type, to_type, text })
                entries[k], ids[to.id] = id .. "_v", id
                apart[id] = from.kind == "c" or to.kind == "c" or nil
                named_entries[k] = apart[id] and "NULL" or '"' .. id .. '"'
            end
        end
        list_names("casts", "NEAP_DTYPE_" .. from.id, ids)
        cast_names[#cast_names + 1] = ("    [NEAP_DTYPE_%s] = {%s},\n"):format(from.id,
                                                                              table.concat(named_entries, ", "))
        casts[#casts + 1] = ("[NEAP_DTYPE_%s] = {%s}"):format(from.id, table.concat(entries, ", "))
    end
end

local function write_reduction(row)
    local gives_index = rows.has(row, "flags", "LAZY_OP_ARG")
    local map = not gives_index and combining(row)
    local chooses = map and rows.has(map, "flags", "LAZY_OP_CHOOSES")
    local entries, named_entries, ids = {}, {}, {}
    for _, dtype in ipairs(dtypes) do
        if accepts(row, dtype) and not dtype.half then
            local operand = seen(dtype, text_for(row, dtype))
            local text = "(" .. expand(text_for(row, dtype), operand, operand) .. ")"
            local id = row.name .. "_" .. dtype.name
            if gives_index then
                local beats = "(" .. expand(row.fields.kernel.integer, operand, operand) .. ")"
                id = instance("CHOICE", id, { operand.type, beats, text })
                ids[dtype.id] = id
                entries[#entries + 1] = ("    [NEAP_DTYPE_%s] = {%s_first, %s_columns},\n"):format(dtype.id, id, id)
            else
                local kernel = row.fields.kernel
                local identity = dtype.kind == "c" and kernel.complex_identity or kernel.identity
                    or complain(row, ".kernel needs an .identity")
                identity = expand(identity, operand, operand)
                if dtype.kind == "f" and chooses then
                    local beats = "(" .. expand(map.fields.kernel.integer, operand, operand) .. ")"
                    id = instance(kernel.worst and "FOLD_NUMBERS" or "FOLD_ORDERED", id,
                                  { operand.type, text, beats, identity,
                                    kernel.worst and expand(kernel.worst, operand, operand) })
                else
                    id = instance("FOLD", id, { operand.type, text, identity })
                end
                apart[id] = dtype.kind == "c" or nil
                if not apart[id] then
                    named_entries[#named_entries + 1] = ('[NEAP_DTYPE_%s] = "%s"'):format(dtype.id, id)
                end
                ids[dtype.id] = id
                local member = dtype.name == "bool" and "b" or dtype.name
                entries[#entries + 1] = ("    [NEAP_DTYPE_%s] = {{.%s = %s}, %s_pairs, %s_leaves, %s_down},\n"):format(
                    dtype.id, member, identity, id, id, id)
            end
        end
    end
    fold_names[#fold_names + 1] = ("    [LAZY_OP_%s] = {%s},\n"):format(row.name, table.concat(named_entries, ", "))
    list(gives_index and "choice" or "fold", row, entries)
    list_names("reductions", "LAZY_OP_" .. row.name, ids)
end

for _, row in ipairs(scanned) do
    local kind = rows.code(row, "kind")
    if rows.has(row, "flags", "LAZY_OP_CASTS") then
        write_casts(row)
    elseif kind == "LAZY_MAP" then
        write_map(row)
    elseif kind == "LAZY_REDUCE" then
        write_reduction(row)
    end
end

--- The text of a map with expressions in place of its operands.
local function applied(row, dtype, operands)
    local text = expand(text_for(row, dtype), dtype, dtype)
    return "(" .. text:gsub("%f[%w_][abc]%f[^%w_]", operands) .. ")"
end

--- Adds the entries of a reduction's .absorbs, "f" or "f of g": maps whose results are combined as they are computed,
-- without being stored.
local function write_absorbed(row, entries)
    for names in (row.fields.kernel.absorbs or ""):gmatch "[^,]+" do
        local outer, inner = names:match "^%s*(%w+) of (%w+)%s*$"
        local first, second = by_name[inner or names:match "%w+"], by_name[outer]
        local loops = {}
        if not first or outer and not second then complain(row, ".kernel.absorbs: no op '%s'", names) end
        for _, dtype in ipairs { f32, f64 } do
            local text = applied(first, dtype, { a = "x", b = "y" })
            if second then text = applied(second, dtype, { a = text }) end
            local name = row.name .. "_" .. first.name .. (second and "_" .. second.name or "")
            local id = instance("LEAVES", name .. "_" .. dtype.name,
                                { dtype.type, text, applied(row, dtype, {}),
                                  expand(row.fields.kernel.identity, dtype, dtype) })
            loops[#loops + 1] = ("[NEAP_DTYPE_%s] = %s_leaves"):format(dtype.id, id)
        end
        entries[#entries + 1] = ("    {LAZY_OP_%s, LAZY_OP_%s, %s, {%s}},\n"):format(
            row.name, first.name, second and "LAZY_OP_" .. second.name or "-1", table.concat(loops, ", "))
    end
end

local function write_summed()
    local entries = {}
    for _, row in ipairs(scanned) do
        if row.fields.combines then write_absorbed(row, entries) end
    end
    return "static const lazy_summed summed_table[] = {\n" .. table.concat(entries) .. "};\n"
end

local function op_table(kind, type)
    return ("static const %s *const %s_table[LAZY_OP_COUNT] = {\n%s};\n"):format(type, kind, table.concat(tables[kind]))
end

--- Chains are of dtypes that much arithmetic is done in.
local function is_chained(dtype)
    return dtype.kind == "f" and not dtype.half or dtype.kind == "i" and dtype.bits >= 32
end

--- Casts from memory with which chains begin: of what is a byte, masks and images above all.
local function write_begins()
    local forms_of_begin, lines = {}, {}
    for _, from in ipairs(dtypes) do
        local entries = {}
        for _, to in ipairs(dtypes) do
            if from.bits == 8 and is_chained(to) then
                local id = from.name .. "_" .. to.name
                forms_of_begin[#forms_of_begin + 1] = ("BEGIN_AS(%s, %s, %s)\n"):format(id, from.type, to.type)
                entries[#entries + 1] = ("[NEAP_DTYPE_%s] = (lazy_code)%s_begin"):format(to.id, id)
            end
        end
        if #entries > 0 then
            lines[#lines + 1] = ("    [NEAP_DTYPE_%s] = {%s},\n"):format(from.id, table.concat(entries, ", "))
        end
    end
    return table.concat(forms_of_begin) ..
           ("static const lazy_code begin_table[NEAP_DTYPE_COUNT][NEAP_DTYPE_COUNT] = {\n%s};\n"):format(
               table.concat(lines))
end

--- The links of a row with LAZY_OP_CHAINS, and the table of their codes.
local function write_links(row, links, codes)
    local form = "LINK" .. row.fields.arity .. (rows.has(row, "flags", "LAZY_OP_COMMUTES") and "_COMMUTES" or "")
    local entries = {}
    for _, dtype in ipairs(dtypes) do
        if is_chained(dtype) and accepts(row, dtype) then
            local id = row.name .. "_" .. dtype.name
            links[#links + 1] = ("%s(%s, %s, (%s))\n"):format(form, id, dtype.type,
                                                             expand(text_for(row, dtype), dtype, dtype))
            entries[#entries + 1] = ("    [NEAP_DTYPE_%s] = %s_CODES(%s),\n"):format(dtype.id, form, id)
        end
    end
    codes[#codes + 1] = ("static const lazy_codes codes_%s[NEAP_DTYPE_COUNT] = {\n%s};\n"):format(
        row.name, table.concat(entries))
end

local function write_chains()
    local links, codes, lines = {}, {}, {}
    for _, row in ipairs(scanned) do
        if rows.has(row, "flags", "LAZY_OP_CHAINS") then
            write_links(row, links, codes)
            lines[#lines + 1] = ("    [LAZY_OP_%s] = codes_%s,\n"):format(row.name, row.name)
        end
    end
    return table.concat(links) .. table.concat(codes) .. write_begins() ..
           ("static const lazy_codes *const code_table[LAZY_OP_COUNT] = {\n%s};\n"):format(table.concat(lines))
end

local summed_text = write_summed() -- adds to `forms`

--- The forms that are `wanted`(kind, name), by the dtype at the end of their name.
local function forms_by_dtype(wanted)
    local parts = {}
    for _, dtype in ipairs(dtypes) do
        parts[#parts + 1] = ("#ifdef NATIVE_%s\n"):format(dtype.id)
        for _, form in ipairs(forms) do
            local kind, id, ending = form:match "^([%w_]+)%(([%w_]-_(%w+)),"
            if ending == dtype.name and wanted(kind, id) then
                parts[#parts + 1] = form
            end
        end
        parts[#parts + 1] = "#endif\n"
    end
    return table.concat(parts)
end

files.write(out .. "/native_gen.h", table.concat {
    "/* native_gen.h: the maps, casts and reductions as functions of native code. Generated from the op rows; do not\n",
    " * edit. */\n",
    "#ifdef NATIVE_ROWS\n",
    forms_by_dtype(function(kind, id) return kind:find "^[MVF][AMO]" and not apart[id] end),
    "#else\n#include \"lazy/op.h\"\n#include \"ops_gen.h\"\n",
    "static const char *const map_names[LAZY_OP_COUNT][NEAP_DTYPE_COUNT] = {\n", table.concat(map_names), "};\n",
    "static const char *const cast_names[NEAP_DTYPE_COUNT][NEAP_DTYPE_COUNT] = {\n", table.concat(cast_names), "};\n",
    "static const char *const fold_names[LAZY_OP_COUNT][NEAP_DTYPE_COUNT] = {\n", table.concat(fold_names), "};\n",
    "#endif\n",
})
local function gpu_table(kind, dimensions)
    return ("static const char *const gpu_%s%s = {\n%s};\n"):format(
        kind, dimensions, table.concat(gpu_names[kind]))
end
files.write(out .. "/gpu_gen.h", table.concat {
    "/* gpu_gen.h: all maps, casts and reductions as functions of one element. Generated from the op rows. */\n",
    "#ifdef NATIVE_ROWS\n", forms_by_dtype(function(kind) return kind ~= "LEAVES" end),
    "#else\n#include \"lazy/op.h\"\n#include \"ops_gen.h\"\n",
    gpu_table("maps", "[LAZY_OP_COUNT][NEAP_DTYPE_COUNT]"),
    gpu_table("casts", "[NEAP_DTYPE_COUNT][NEAP_DTYPE_COUNT]"),
    gpu_table("reductions", "[LAZY_OP_COUNT][NEAP_DTYPE_COUNT]"), "#endif\n",
})
local loops, folds = {}, {}
for _, form in ipairs(forms) do
    local is_fold = form:find "^FOLD" or form:find "^LEAVES" or form:find "^CHOICE"
    table.insert(is_fold and folds or loops, through_f32[form] or form)
end
files.write(out .. "/kernels_gen.h", table.concat {
    "/* kernels_gen.h: kernel loops. Generated from the op rows; do not edit. */\n",
    table.concat(loops), table.concat(bodies.map), op_table("map", "lazy_loops"),
    "#define CAST_TABLE \\\n    {", table.concat(casts, ", \\\n     "), "}\n",
})
files.write(out .. "/folds_gen.h", table.concat {
    "/* folds_gen.h: loops of reductions. Generated from the op rows; do not edit. */\n",
    table.concat(folds), table.concat(bodies.fold), table.concat(bodies.choice), summed_text,
    op_table("fold", "lazy_fold"), op_table("choice", "lazy_choice"),
})
files.write(out .. "/chains_gen.h",
            "/* chains_gen.h: the links of chains. Generated from the op rows; do not edit. */\n" .. write_chains())
