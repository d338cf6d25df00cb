--- show.lua: how the prompt shows a value: an array with its dtype and shape behind it, a tree of arrays by its leaves,
-- a string in quotes, a function by its signature, a table by its contents, briefly.
--
--     > x:sum()                   > params                                        > np.tanh(m)
--     15.0  f32                   b  f32[3]    [0. 0. 0.]                         [[0.        0.7615942]
--                                 w  f32[4,3]  [[ 0.634 -0.588 …                   [0.9640276 0.9950548]]  f32[2,2]
local core = require "neap.core"
local trees = require "neap.core.trees"
local system = require "neap.interp.system"

local show = {}

local MAX_ITEMS, MAX_DEPTH, MAX_LEAVES, MAX_LINES, MAX_STRING = 40, 3, 200, 6, 2000
local MAX_ROWS = 20 -- lines of a plain table
local MOST_TEXT_LINES, FIRST_LINES, LAST_LINES = 40, 12, 6 -- of an array
local DEFAULT_WIDTH, LEAST_WIDTH = 80, 20

--- The columns of the terminal.
function show.width()
    return system.terminal() or tonumber(os.getenv "COLUMNS") or DEFAULT_WIDTH
end

--- Whether colours are wanted.
local function coloured()
    local plain = os.getenv "NO_COLOR"
    return system.terminal() and not (plain and plain ~= "" or os.getenv "TERM" == "dumb")
end

--- A text in a faint colour, or in bold letters, where colours are wanted.
function show.faint(text) return coloured() and "\27[2m" .. text .. "\27[0m" or text end
function show.bold(text) return coloured() and "\27[1m" .. text .. "\27[0m" or text end

--- A line of help with the weight of its parts. is_head: it belongs to the first lines, up to an empty one.
local function help_line(line, is_head)
    local name, rest = line:match "^(  [%a_][%w_%.:]*)(   *%S.*)$" -- an option; a function with what it does
    if is_head and not name then name, rest = line:match "^(%S.-)(   *%S.*)$" end
    if name then return show.bold(name) .. rest end
    if is_head and line:find "^%S" or line:find "^#+ " or line:find "^%u[%w ]*:$" then return show.bold(line) end
    local mark, code = line:match "^(  >>? )(.*)$"
    if mark then return show.faint(mark) .. code end
    return line:find "^  %(.*%)$" and show.faint(line) or line
end

--- Help as the terminal shows it: signatures and names bold, marks and notes faint.
function show.help(text)
    if not coloured() then return text end
    local lines, is_head = {}, true
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do
        is_head = is_head and line ~= ""
        lines[#lines + 1] = help_line(line, is_head)
    end
    return table.concat(lines, "\n")
end

--- "f32[4,3]"; "f32" for an array of no axes.
function show.type_of(x)
    local shape = x.shape
    return x.dtype .. (#shape > 0 and "[" .. table.concat(shape, ",") .. "]" or "")
end

--- A text cut to so many bytes, at the end of a UTF-8 character.
local function cut(text, room)
    if #text <= room then return text end
    local last = math.max(room - 2, 1)
    while last > 1 and text:byte(last + 1) >= 0x80 and text:byte(last + 1) < 0xC0 do last = last - 1 end
    return (text:sub(1, last):gsub("%s+$", "")) .. " …"
end
show.cut = cut

--- A text with its lines behind one another.
local function in_one_line(text)
    return (text:gsub("%s+", function(blanks) return blanks:find("\n", 1, true) and " " or nil end))
end

local function quoted(text)
    text = text:gsub("[%c\\\"]", function(c)
        local named = ({ ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ["\\"] = "\\\\", ['"'] = '\\"' })[c]
        return named or ("\\%03d"):format(c:byte())
    end)
    return '"' .. text .. '"'
end

-- ---- Functions ------------------------------------------------------------------------------------------------------

--- "function(x, y, ...)".
function show.signature(f)
    local info, names = debug.getinfo(f, "Su"), {}
    if info.what == "C" then return "function(...)" end
    for k = 1, info.nparams do names[k] = debug.getlocal(f, k) end
    if info.isvararg then names[#names + 1] = "..." end
    return "function(" .. table.concat(names, ", ") .. ")"
end

local function function_text(f)
    local known = core.is_library(f) and require("neap.inspect.help").summary(f)
    if known then return known end
    local info = debug.getinfo(f, "S")
    if info.what == "C" then return "function(...)  " .. show.faint "built in" end
    if core.is_library(f) then return show.signature(f) end
    return show.signature(f) .. "  " .. show.faint(("%s:%d"):format(info.short_src, info.linedefined))
end

-- ---- Tables ---------------------------------------------------------------------------------------------------------

local table_text

local function value_text(value, depth, seen)
    local kind = type(value)
    if kind == "string" then return quoted(value) end
    if kind == "table" then return table_text(value, depth, seen) end
    if kind == "function" then return show.signature(value) end
    if core.is_array(value) then return show.type_of(value) end
    local meta = kind == "userdata" and debug.getmetatable(value)
    if meta and meta.__describe then return meta.__describe(value) end
    return in_one_line(tostring(value))
end

local function key_text(key)
    if type(key) == "string" and key:find("^[%a_][%w_]*$") then return key end
    return "[" .. value_text(key, MAX_DEPTH, {}) .. "]"
end

--- Whether a value says itself how it is shown.
local function has_text(value)
    local meta = debug.getmetatable(value)
    return type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

--- The keys of a table, 1 … n first; and n.
local function keys_of(value)
    local keys, listed = {}, 0
    while rawget(value, listed + 1) ~= nil do listed = listed + 1 end
    for k = 1, math.min(listed, MAX_LEAVES) do keys[k] = k end
    local others = {}
    for key in next, value do
        if not (type(key) == "number" and key >= 1 and key <= listed and key % 1 == 0) then
            others[#others + 1] = key
        end
    end
    table.sort(others, trees.key_less)
    for _, key in ipairs(others) do keys[#keys + 1] = key end
    return keys, listed
end

function table_text(value, depth, seen)
    if has_text(value) then return in_one_line(tostring(value)) end
    if seen[value] then return "{...}" end
    if depth >= MAX_DEPTH and next(value) ~= nil then return "{...}" end
    seen[value] = true
    local parts = {}
    local keys, listed = keys_of(value)
    for _, key in ipairs(keys) do
        if #parts >= MAX_ITEMS then
            parts[#parts + 1] = "..."
            break
        end
        local text = value_text(rawget(value, key), depth + 1, seen)
        local counted = type(key) == "number" and key >= 1 and key <= listed and key % 1 == 0
        parts[#parts + 1] = counted and text or key_text(key) .. " = " .. text
    end
    seen[value] = nil
    return "{" .. table.concat(parts, ", ") .. "}"
end

--- Whether the table, or one in it, holds an array.
local function holds_arrays(value, depth)
    for _, item in next, value do
        if core.is_array(item) then return true end
        if type(item) == "table" and depth < MAX_DEPTH and not has_text(item) and holds_arrays(item, depth + 1) then
            return true
        end
    end
    return false
end

--- The leaves of a tree as rows { path, type, text }, at most MAX_LEAVES; and whether those are all.
local function leaves_of(value, rows, path, seen)
    if seen[value] then
        rows[#rows + 1] = { path, "", "{...}" }
        return true
    end
    seen[value] = true
    local complete = true
    for _, key in ipairs((keys_of(value))) do
        if #rows >= MAX_LEAVES then return false end
        local item, name = rawget(value, key), key_text(key)
        if path ~= "" and name:sub(1, 1) ~= "[" then name = "." .. name end
        name = path .. name
        if core.is_array(item) then
            rows[#rows + 1] = { name, show.type_of(item), in_one_line(tostring(item)) }
        elseif type(item) == "table" and not has_text(item) and next(item) ~= nil then
            complete = leaves_of(item, rows, name, seen) and complete
        else
            rows[#rows + 1] = { name, type(item), value_text(item, MAX_DEPTH, {}) }
        end
    end
    seen[value] = nil
    return complete
end

--- Rows of texts as lines with columns, the last column cut to what is left of the width, if it is not to be `whole`.
function show.columns(rows, whole)
    local widths, lines, width = {}, {}, show.width()
    for _, row in ipairs(rows) do
        for k = 1, #row - 1 do widths[k] = math.max(widths[k] or 0, #row[k]) end
    end
    for k, row in ipairs(rows) do
        local parts, used = {}, 0
        for j = 1, #row - 1 do
            parts[j] = row[j] .. (" "):rep(widths[j] - #row[j] + 2)
            used = used + widths[j] + 2
        end
        parts[#row] = whole and row[#row] or cut(row[#row], math.max(width - used - 1, 16))
        lines[k] = table.concat(parts):gsub("%s+$", "")
    end
    return table.concat(lines, "\n")
end

--- The rows of a table that holds arrays, and whether those are all its leaves; nil for another one.
function show.tree_rows(value)
    if has_text(value) or not holds_arrays(value, 0) then return nil end
    local rows = {}
    return rows, leaves_of(value, rows, "", {})
end

local function tree_text(value)
    local rows = {}
    local complete = leaves_of(value, rows, "", {})
    return show.columns(rows) .. (complete and "" or "\n…")
end

--- Names in columns, down first, in at most so many lines; the last one tells how many are left out.
function show.grid(names, width, most)
    local widest = 0
    for _, name in ipairs(names) do widest = math.max(widest, #name) end
    local columns = math.max(1, math.floor((width + 1) / (widest + 2)))
    local rows = math.ceil(#names / columns)
    local shown = rows <= most and #names or (most - 1) * columns
    rows = math.min(rows, most - (shown < #names and 1 or 0))
    local lines = {}
    for row = 1, rows do
        local parts = {}
        for k = row, shown, rows do parts[#parts + 1] = names[k] .. (" "):rep(widest + 2 - #names[k]) end
        lines[row] = table.concat(parts):gsub("%s+$", "")
    end
    if shown < #names then lines[#lines + 1] = ("… (%d more)"):format(#names - shown) end
    return table.concat(lines, "\n")
end

--- Words in lines of the terminal's width, at most MAX_LINES of them; and how many are left out.
local function word_lines(words, indent)
    local lines, line, width = {}, indent, math.min(show.width(), 120) - 1
    for k, word in ipairs(words) do
        if #line + #word + 2 > width then
            lines[#lines + 1], line = line, indent
            if #lines == MAX_LINES then return lines, #words - k + 1 end
        end
        line = line .. (line == indent and "" or "  ") .. word
    end
    lines[#lines + 1] = line
    return lines, 0
end

--- A module: its parts, which are modules too, and some of its names. `names`: whether each is a part.
local function module_text(names)
    local words, parts = {}, {}
    for name, is_part in pairs(names) do
        local list = is_part and parts or words
        list[#list + 1] = name
    end
    table.sort(words)
    table.sort(parts)
    local lines, left = word_lines(words, "")
    if parts[1] then table.insert(lines, 1, "parts: " .. table.concat(parts, "  ")) end
    local more = left > 0 and ("and %d more; Tab lists them, "):format(left) or ""
    lines[#lines + 1] = show.faint(more .. "?NAME tells of one")
    return table.concat(lines, "\n")
end

--- The names of a table that is a module: one that loads parts late, or has functions alone. nil: it is none. A name's
-- value says whether it is a part.
local function module_names(value)
    local names, others, functions = {}, 0, 0
    for key, item in next, value do
        if type(key) == "string" and not key:find "^_" then
            names[key] = type(item) == "table" and not has_text(item)
        end
        if type(item) == "function" then functions = functions + 1 else others = others + 1 end
    end
    local meta = debug.getmetatable(value)
    local late = type(meta) == "table" and rawget(meta, "__late")
    for k, list in ipairs(type(late) == "table" and late or {}) do
        for name in pairs(list) do names[name] = names[name] or k == 2 end
    end
    return (late or functions > 2 and functions > 3 * others) and names or nil
end

--- A table of plain values: on one line, or if that is too long, on at most MAX_ROWS lines, one for each entry but for
-- numbers of a list, which fill lines.
local function plain_text(value)
    local text = table_text(value, 0, {})
    local keys, listed = keys_of(value)
    local count = listed + #keys - math.min(listed, MAX_LEAVES)
    local width = show.width()
    if #text < width and count <= MAX_ITEMS or not text:find ", " then return text end
    local lines, line, shown = {}, nil, 0
    for _, key in ipairs(keys) do
        local item = rawget(value, key)
        local counted = type(key) == "number" and key >= 1 and key <= listed and key % 1 == 0
        local piece = cut((counted and "" or key_text(key) .. " = ") .. value_text(item, 1, {}), width - 5) .. ","
        if line and counted and type(item) == "number" and #line + 1 + #piece < width - 1 then
            line = line .. " " .. piece
        else
            if #lines + 1 == MAX_ROWS then break end
            lines[#lines + 1] = line
            line = "  " .. piece
        end
        shown = shown + 1
    end
    lines[#lines + 1] = line
    if shown < count then lines[#lines + 1] = show.faint(("  … (%d more)"):format(count - shown)) end
    return "{\n" .. table.concat(lines, "\n") .. "\n}"
end

-- ---- Any value ------------------------------------------------------------------------------------------------------

--- The text of an array, whose rows are broken where a terminal ends that is narrower than they may be.
local function fitting_text(x)
    local width = system.terminal()
    if not width or width >= core.np.get_printoptions().linewidth then return tostring(x) end
    return core.np.printoptions({ linewidth = math.max(width, LEAST_WIDTH) }, tostring, x)
end

--- The text of an array with its type behind it. Of many lines the first and the last are shown.
local function array_text(x)
    local text, kind = fitting_text(x), "  " .. show.faint(show.type_of(x))
    local _, ends = text:gsub("\n", "")
    if ends < MOST_TEXT_LINES then return text .. kind end
    local lines = {}
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    local note = (" … (%d lines more; print shows all)"):format(#lines - FIRST_LINES - LAST_LINES)
    return table.concat(lines, "\n", 1, FIRST_LINES) .. "\n" .. show.faint(note) .. "\n"
        .. table.concat(lines, "\n", #lines - LAST_LINES + 1) .. kind
end

--- The text for a value of a command. Waits for the arrays in it.
function show.text(value)
    local kind = type(value)
    if core.is_array(value) then return array_text(value) end
    local meta = kind == "userdata" and debug.getmetatable(value)
    if meta and meta.__text then return meta.__text(value, show.width()) end -- a text for this width
    if kind == "string" then
        local text = cut(value, MAX_STRING)
        return quoted(text) .. (text ~= value and show.faint(("  %d bytes"):format(#value)) or "")
    elseif kind == "function" then
        return function_text(value)
    elseif kind ~= "table" or has_text(value) then
        return tostring(value)
    end
    local names = module_names(value)
    if names then return module_text(names) end
    return holds_arrays(value, 0) and tree_text(value) or plain_text(value)
end

--- A value as one short text, for lists: nothing is computed for it.
function show.brief(value)
    if core.is_array(value) then return show.type_of(value) end
    return value_text(value, MAX_DEPTH - 1, {})
end

for _, f in ipairs { tree_text, leaves_of, show.text, fitting_text, array_text } do jit.off(f, true) end

return show
