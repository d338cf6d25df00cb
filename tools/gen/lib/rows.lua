--- rows.lua: reads op rows, `NEAP_OP(name, .field = value, …)`, out of C files (the form: lazy/op.h).
--
-- rows.scan(paths, root) returns a list of rows, sorted by name:
--     { name = "add", file = "lazy/ops/arithmetic.c", line = 12, fields = { doc = "…", kind = "LAZY_MAP", … } }
-- A field's value is a string for C string literals (adjacent ones joined, escapes decoded), a table for braces (by
-- field name, else by position), a number for numerals, and `{ code = "…" }` for any other C expression. Lines are
-- those of the `NEAP_OP(`. A row that does not have the form, a name that is a Lua keyword and a name used
-- twice end the generator with file:line.
local files = require "files"
local rows = {}

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true
               until while]]):gmatch("%a+") do
    KEYWORDS[word] = true
end

local ESCAPES = { n = "\n", t = "\t", r = "\r", a = "\a", b = "\b", f = "\f", v = "\v" }

--- Replaces comments outside of literals by spaces; newlines stay, so positions keep their lines.
local function strip_comments(text)
    local out, at = {}, 1
    while at <= #text do
        local char, two = text:sub(at, at), text:sub(at, at + 1)
        local stop
        if char == '"' or char == "'" then
            stop = at + 1
            while stop < #text and text:sub(stop, stop) ~= char do
                stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
            end
            out[#out + 1] = text:sub(at, stop)
        elseif two == "/*" then
            stop = select(2, text:find("*/", at + 2, true)) or #text
            out[#out + 1] = text:sub(at, stop):gsub("[^\n]", " ")
        elseif two == "//" then
            stop = (text:find("\n", at, true) or #text + 1) - 1
            out[#out + 1] = (" "):rep(stop - at + 1)
        else
            stop = (text:find("[\"'/]", at + 1) or #text + 1) - 1
            out[#out + 1] = text:sub(at, stop)
        end
        at = stop + 1
    end
    return table.concat(out)
end

--- Splits text into tokens: { kind = "string" | "word" | "mark", text, from, to }.
local function tokens_of(text, from, complain)
    local at = from
    return function()
        at = text:find("%S", at)
        if not at then return nil end
        local start = at
        local word = text:match("^[%w_%.]+", at)
        if text:sub(at, at) == '"' then
            local stop = at + 1
            while text:sub(stop, stop) ~= '"' do
                if stop >= #text then complain("a string without an end") end
                stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
            end
            at = stop + 1
            local body = text:sub(start + 1, stop - 1):gsub("\\(%d%d?%d?)", function(digits)
                return string.char(tonumber(digits, 8))
            end)
            return { kind = "string", text = body:gsub("\\(.)", function(c) return ESCAPES[c] or c end),
                     from = start, to = stop }
        end
        if word then
            at = at + #word
            return { kind = "word", text = word, from = start, to = at - 1 }
        end
        at = at + 1
        return { kind = "mark", text = text:sub(start, start), from = start, to = start }
    end
end

local parse_list

--- The value between tokens first and last.
local function parse_value(source, list, first, last, complain)
    local all_strings = true
    for k = first, last do all_strings = all_strings and list[k].kind == "string" end
    if all_strings then
        local parts = {}
        for k = first, last do parts[#parts + 1] = list[k].text end
        return table.concat(parts)
    end
    if list[first].text == "{" and list[last].text == "}" then
        return parse_list(source, list, first + 1, last - 1, complain)
    end
    local code = source:sub(list[first].from, list[last].to):gsub("%s+", " ")
    return tonumber(code) or { code = code }
end

--- Fields between tokens first and last, separated by commas at the outer level.
function parse_list(source, list, first, last, complain)
    local fields, position, start, depth = {}, 0, first, 0
    local function field(stop)
        if stop < start then return end -- a comma at the end
        local name = list[start].text:match("^%.([%a_][%w_]*)$")
        if name and start + 2 <= stop and list[start + 1].text == "=" then
            if fields[name] ~= nil then complain("the field ." .. name .. " twice") end
            fields[name] = parse_value(source, list, start + 2, stop, complain)
        else
            position = position + 1
            fields[position] = parse_value(source, list, start, stop, complain)
        end
    end
    for k = first, last do
        local token = list[k]
        if token.kind == "mark" then
            if token.text:find("[%(%[{]") then depth = depth + 1 end
            if token.text:find("[%)%]}]") then depth = depth - 1 end
            if token.text == "," and depth == 0 then
                field(k - 1)
                start = k + 1
            end
        end
    end
    field(last)
    return fields
end

--- The row whose `NEAP_OP(` opens at `from`; `place` is its file:line.
local function parse_row(source, from, place)
    local function complain(what) files.fail("%s: op row: %s", place, what) end
    local list, depth = {}, 0
    for token in tokens_of(source, from + #"NEAP_OP", complain) do
        list[#list + 1] = token
        if token.kind == "mark" then
            if token.text == "(" then depth = depth + 1 end
            if token.text == ")" then depth = depth - 1 end
        end
        if depth == 0 then break end
    end
    if depth ~= 0 then complain("no closing parenthesis") end
    local fields = parse_list(source, list, 2, #list - 1, complain)
    local name = type(fields[1]) == "table" and fields[1].code
    if not name or not name:match("^[%a_][%w_]*$") then complain("its first argument must be a name") end
    if KEYWORDS[name] then complain("'" .. name .. "' is a Lua keyword: name it '" .. name .. "_'") end
    if #fields > 1 then complain("'" .. name .. "': an argument that is not `.field = value`") end
    fields[1] = nil
    return name, fields
end

--- Reads the rows of all files. See the head of this file.
function rows.scan(paths, root)
    local found, places = {}, {}
    for _, path in ipairs(paths) do
        local file = files.relative(path, root)
        local source = strip_comments(files.read(path))
        local line, counted = 1, 1
        for from in ("\n" .. source):gmatch("\n()NEAP_OP%(") do
            from = from - 1 -- the newline in front shifted positions by one
            line = line + select(2, source:sub(counted, from - 1):gsub("\n", ""))
            counted = from
            local place = file .. ":" .. line
            local name, fields = parse_row(source, from, place)
            if places[name] then
                files.fail("%s: op row: '%s' is already defined at %s", place, name, places[name])
            end
            places[name] = place
            found[#found + 1] = { name = name, file = file, line = line, fields = fields }
        end
    end
    table.sort(found, function(a, b) return a.name < b.name end)
    return found
end

--- Whether a flags-like field holds the C constant `word`.
function rows.has(row, field, word)
    local value = row.fields[field]
    return type(value) == "table" and value.code ~= nil
        and (" " .. value.code .. " "):find("[^%w_]" .. word .. "[^%w_]") ~= nil
end

--- The text of a C expression field, or nil.
function rows.code(row, field)
    local value = row.fields[field]
    return type(value) == "table" and value.code or nil
end

return rows
