--- help.lua: writes what help is, from annotations of the Lua library (lib/annotations.lua), op rows and docs/.
--
--     luajit help.lua ROOT OUT FILES
--
-- FILES has a line for each file: "lua|neap/arrays/reduce.lua|PATH", "row|lazy/ops/math.c|PATH", "page|jit|PATH". OUT
-- holds op_tests.lua and lua/neap/ops_gen.lua already.
--
-- OUT/lua/neap/help_gen.lua      { entries, pages }, which np.help loads when it is first asked:
--                     entries: a list of { names = { "np.max", "np.min" }, signatures = { "np.max(x, …)", … }, result,
--                     text, options = { { name, text, option = whether it is no parameter }, … }, example = { { code,
--                     output = lines }, … }, facts, file, line, op = the row that makes it, part = it has members }
--                     pages: by name: { title, sections = titles in order }
-- OUT/lua/neap/sources_gen.lua   { files = by path, rows = by name of an op, pages = by name }: texts
-- OUT/lua/neap/arguments_gen.lua { name = { arity, options } }: how many arguments functions take (lib/arguments.lua)
-- OUT/lua/neap/peers_gen.lua     { functions, absent }: names of other libraries, of names.txt (lib/peers.lua)
-- OUT/reference/NAME.md          the reference pages; docs/reference/ has their committed copies (tools/check compares)
-- OUT/definitions/neap.lua       definitions for editors, in the annotations of LuaLS
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"
local rows = require "rows"
local annotations = require "annotations"
local reference = require "reference"
local definitions = require "definitions"
local arguments = require "arguments"
local peers = require "peers"

local root, out, list_path = arg[1], arg[2], arg[3]
if not list_path then files.fail("usage: help.lua ROOT OUT FILES") end

local COMMON = "neap/arrays/array.lua" -- the file that says what options mean everywhere

-- ---- Reading --------------------------------------------------------------------------------------------------------

local lua_files, row_files, pages, sources = {}, {}, {}, { files = {}, rows = {}, pages = {} }
for kind, name, path in files.read(list_path):gmatch "([^|\n]*)|([^|\n]*)|([^\n]*)\n" do
    local text = files.read(path)
    if kind == "lua" then
        local file = { path = name, text = text }
        table.insert(lua_files, name == COMMON and 1 or #lua_files + 1, file)
        sources.files[name] = text
    elseif kind == "row" then
        row_files[#row_files + 1] = path
    else
        local page = { title = text:match "^# ([^\n]*)" or name, sections = {} }
        for title in text:gmatch "\n##+ ([^\n]*)" do page.sections[#page.sections + 1] = title end
        pages[name], sources.pages[name] = page, text
    end
end

local ops = {}
for _, op in ipairs(dofile(out .. "/op_tests.lua")) do ops[op.name] = op end
for _, op in ipairs(dofile(out .. "/lua/neap/ops_gen.lua")) do
    ops[op.name].doc, ops[op.name].hidden = op.doc, op.hidden
end

local row_places = {}
for _, row in ipairs(rows.scan(row_files, root)) do
    row_places[row.name] = row
    local text = files.read(root .. "/" .. row.file)
    local from = ("\n" .. text):find("\nNEAP_OP%(%s*" .. row.name .. "%s*,")
    sources.rows[row.name] = "NEAP_OP" .. text:match("^%b()", from + #"NEAP_OP")
end

-- ---- Joining rows and annotations -----------------------------------------------------------------------------------

local function facts_of(op)
    local facts = {}
    if #op.types > 0 then facts[#facts + 1] = "dtypes " .. table.concat(op.types, ", ") end
    if op.ulp > 0 then facts[#facts + 1] = ("error at most %.17g ulp"):format(op.ulp) end
    facts[#facts + 1] = op.gradient and "has a gradient" or op.zero_gradient and "its gradient is zero" or "no gradient"
    return table.concat(facts, "; ")
end

--- Examples as they stand in a row: a line of code, then what it prints.
local function example_of(row)
    local code, output = (row.fields.example or ""):match "^([^\n]+)\n(.*)$"
    if not code then return {} end
    local lines = {}
    for line in (output .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    return { { code = code, output = lines } }
end

--- Text that begins with a word, and not with a name or a formula, begins with a capital letter.
local function sentence(text)
    local word, behind = text:match "^(%l+)([,.]? %S)"
    if not word or #word == 1 and word ~= "a" or not behind:find "%a$" then return text end
    return (text:gsub("^%l", string.upper))
end

local entries, by_name = {}, {}

local function add(entry)
    entries[#entries + 1] = entry
    for _, name in ipairs(entry.names) do by_name[name] = by_name[name] or entry end
end

for _, note in ipairs(annotations.read(lua_files)) do
    local entry = { names = {}, signatures = {}, options = {}, example = note.example, file = note.file,
                    line = note.line }
    for k, signature in ipairs(note.signatures) do
        entry.names[k] = signature.name:gsub(":", ".")
        entry.signatures[k] = signature.text
        entry.result = entry.result or signature.result
    end
    -- Parameters first, then options in the order of the signatures.
    local place = {}
    for k, name in ipairs(note.option_names) do place[name] = k end
    for k, parameter in ipairs(note.parameters) do
        entry.options[k] = { name = parameter.name, text = parameter.text, option = place[parameter.name] ~= nil,
                             place = place[parameter.name] or k / 1000 }
        place[parameter.name] = nil
    end
    for name, k in pairs(place) do table.insert(entry.options, { name = name, option = true, place = k }) end
    table.sort(entry.options, function(x, y) return x.place < y.place end)
    for _, option in ipairs(entry.options) do option.place = nil end
    local op = ops[entry.names[1]:match "^np%.([%w_]+)$" or ""]
    for k = 2, #entry.names do -- of two ops neither tells its facts
        local other = ops[entry.names[k]:match "^np%.([%w_]+)$" or ""]
        if other and other ~= op then op = nil end
    end
    local more = note.text:match "^… (.*)$"
    entry.text = sentence(more or note.text)
    if op then
        if note.text == "" then
            entry.text = op.doc
        elseif more then
            entry.text = op.doc .. " " .. entry.text
        end
        if not op.hidden then entry.facts = facts_of(op) end
        if #entry.example == 0 then entry.example = example_of(row_places[op.name]) end
    end
    add(entry)
end

-- Rows that are functions by themselves: maps without attributes (arrays/array.lua makes them).
local ARGUMENTS = { "a", "a, b", "a, b, c" }
local names = {}
for name in pairs(ops) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
    local op = ops[name]
    if op.class == "map" and not op.hidden and #op.attrs == 0 and not by_name["np." .. name] then
        local row = row_places[name]
        add { names = { "np." .. name }, signatures = { ("np.%s(%s)"):format(name, ARGUMENTS[op.arity]) },
              text = op.doc, options = {}, example = example_of(row), facts = facts_of(op), file = row.file,
              line = row.line, op = name }
    end
end

-- A part is a table of functions: what names of others begin with.
for _, entry in ipairs(entries) do
    for _, name in ipairs(entry.names) do
        local part = by_name[name:match "^(.*)%." or ""]
        if part then part.part = true end
    end
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

--- A value of strings, numbers, booleans and tables as Lua text, keys in order.
local function lua_text(value)
    if type(value) == "string" then
        return ("%q"):format(value):gsub("\\\n", "\\n"):gsub("\r", "\\r")
    elseif type(value) ~= "table" then
        return tostring(value)
    end
    local parts_text, keys = {}, {}
    for k = 1, #value do parts_text[k] = lua_text(value[k]) end
    for key in pairs(value) do
        if type(key) == "string" then keys[#keys + 1] = key end
    end
    table.sort(keys)
    for _, key in ipairs(keys) do
        parts_text[#parts_text + 1] = ("[%q]=%s"):format(key, lua_text(value[key]))
    end
    return "{" .. table.concat(parts_text, ",") .. "}"
end

local head = "--- Generated from annotations, op rows and docs/; do not edit.\n"
files.write(out .. "/lua/neap/help_gen.lua",
            head .. "return " .. lua_text { entries = entries, pages = pages } .. "\n")
files.write(out .. "/lua/neap/sources_gen.lua", head .. "return " .. lua_text(sources) .. "\n")
files.write(out .. "/lua/neap/arguments_gen.lua", head .. arguments.text(arguments.of(entries)))
os.execute("mkdir -p " .. files.quote(out .. "/reference") .. " " .. files.quote(out .. "/definitions"))
local names_there = peers.read(files.read(directory .. "/names.txt"))
files.write(out .. "/lua/neap/peers_gen.lua",
            head .. "return " .. lua_text(peers.messages(names_there, by_name)) .. "\n")
files.write(out .. "/reference/names.md", peers.page(names_there, by_name))
for name, page in pairs(reference.pages(entries)) do
    files.write(("%s/reference/%s.md"):format(out, name), page)
end
files.write(out .. "/definitions/neap.lua", definitions.text(entries, dofile(out .. "/lua/neap/dtypes_gen.lua")))
