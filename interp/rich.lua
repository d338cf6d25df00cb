--- rich.lua: a value as a bundle of MIME types, for notebooks: its text as the prompt shows it, and what says more: an
-- array, a table and a tree of arrays as HTML, a picture as what it is.
--
-- A value says itself how it is shown by a function `__display` in its metatable (or in itself, for a table), which
-- returns a bundle: { ["image/svg+xml"] = "<svg …" }. A table whose keys are all MIME types is a bundle. Pictures of
-- bytes are in base64 in the end; where they come as bytes they are encoded here.
local bit = require "bit"
local core = require "neap.core"
local show = require "neap.interp.show"

local rich = {}

local MOST_ROWS, MOST_COLUMNS, EDGE = 20, 16, 6 -- of an array; of a longer one so many at each end
local MOST_MATRICES = 3
local MIME = "^[%w]+/[%w.+-]+$"

-- ---- Bytes ----------------------------------------------------------------------------------------------------------

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

--- Base64 (RFC 4648).
function rich.base64(bytes)
    local parts = {}
    for at = 1, #bytes, 3 do
        local a, b, c = bytes:byte(at, at + 2)
        local sum = a * 65536 + (b or 0) * 256 + (c or 0)
        local text = ""
        for shift = 18, 0, -6 do
            local digit = bit.band(bit.rshift(sum, shift), 63) + 1
            text = text .. DIGITS:sub(digit, digit)
        end
        parts[#parts + 1] = not b and text:sub(1, 2) .. "==" or not c and text:sub(1, 3) .. "=" or text
    end
    return table.concat(parts)
end

-- How files of these types begin.
local BEGINNINGS = { ["image/png"] = "^\137PNG", ["image/jpeg"] = "^\255\216", ["image/gif"] = "^GIF8" }

local function is_bundle(value)
    if type(value) ~= "table" or next(value) == nil then return false end
    for key, data in next, value do
        if type(key) ~= "string" or not key:find(MIME) or type(data) ~= "string" and not key:find "json$" then
            return false
        end
    end
    return true
end
rich.is_bundle = is_bundle

--- A bundle as messages hold it: pictures in base64, and with a text.
local function encoded(bundle)
    local copy, names = {}, {}
    for mime, data in pairs(bundle) do
        local beginning = BEGINNINGS[mime]
        copy[mime] = beginning and data:find(beginning) and rich.base64(data) or data
        names[#names + 1] = mime
    end
    table.sort(names)
    copy["text/plain"] = copy["text/plain"] or "<" .. table.concat(names, ", ") .. ">"
    return copy
end

-- ---- HTML -----------------------------------------------------------------------------------------------------------

local function escaped(text)
    return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

--- A table of rows of texts; `head`: texts of a first row that is a heading, or nil. `align`: of the cells.
local function html_table(head, rows, align)
    local parts = { "<table>" }
    local function add(row, tag)
        parts[#parts + 1] = "<tr>"
        for k, cell in ipairs(row) do
            local style = (" style=\"text-align:%s\""):format(align and align[k] or "right")
            parts[#parts + 1] = "<" .. tag .. style .. ">" .. escaped(cell) .. "</" .. tag .. ">"
        end
        parts[#parts + 1] = "</tr>\n"
    end
    if head then
        parts[#parts + 1] = "<thead>"
        add(head, "th")
        parts[#parts + 1] = "</thead>"
    end
    parts[#parts + 1] = "<tbody>"
    for _, row in ipairs(rows) do add(row, "td") end
    parts[#parts + 1] = "</tbody></table>"
    return table.concat(parts)
end

--- The places along an axis that are shown, from 0, -1 where some are left out.
local function places(extent, most)
    local list, is_whole = {}, extent <= most
    for at = 0, (is_whole and extent or EDGE) - 1 do list[#list + 1] = at end
    if is_whole then return list end
    list[#list + 1] = -1
    for at = extent - EDGE, extent - 1 do list[#list + 1] = at end
    return list
end

local function number_text(value)
    if type(value) == "number" then
        if value == 0 and 1 / value < 0 then return "-0" end
        return value % 1 == 0 and math.abs(value) < 1e15 and ("%d"):format(value) or ("%.6g"):format(value)
    end
    return (tostring(value):gsub("U?LL$", ""))
end

--- What of a matrix is shown along an axis, as slices, for which nothing else of it is computed. `before`: the index of
-- the axes before, as text.
local function ends(matrix, axis, most, before)
    if matrix.shape[axis + 1] <= most then return matrix end
    local first = core.index(matrix, ("%s0:%d"):format(before, EDGE))
    return core.np.concatenate({ first, core.index(matrix, ("%s-%d:"):format(before, EDGE)) }, { axis = axis })
end

--- The rows of a matrix as texts.
local function matrix_rows(matrix)
    local rows, columns = places(matrix.shape[1], MOST_ROWS), places(matrix.shape[2], MOST_COLUMNS)
    local shown = ends(ends(matrix, 0, MOST_ROWS, ""), 1, MOST_COLUMNS, ":, ")
    local values, texts, next_row = shown:totable(), {}, 1
    for k, row in ipairs(rows) do
        local cells, next_column = {}, 1
        for j, column in ipairs(columns) do
            if row < 0 or column < 0 then
                cells[j] = row < 0 and "⋮" or "…"
            else
                cells[j] = number_text(values[next_row][next_column])
                next_column = next_column + 1
            end
        end
        if row >= 0 then next_row = next_row + 1 end
        texts[k] = cells
    end
    return texts
end

local function caption(text)
    return "<div style=\"color:gray\">" .. escaped(text) .. "</div>"
end

--- An array as a table, with dtype and shape below; of several matrices the first ones. nil: a text says as much.
local function array_html(x)
    local shape = x.shape
    if #shape == 0 or x.size == 0 then return nil end
    local kind = caption(show.type_of(x))
    if #shape <= 2 then
        local matrix = #shape == 2 and x or x:reshape { 1, shape[1] }
        return html_table(nil, matrix_rows(matrix)) .. kind
    end
    local count = x.size / (shape[#shape] * shape[#shape - 1])
    local matrices, parts = x:reshape { count, shape[#shape - 1], shape[#shape] }, {}
    for k = 1, math.min(count, MOST_MATRICES) do
        local rest, index = k - 1, {}
        for axis = #shape - 2, 1, -1 do
            index[axis] = tostring(rest % shape[axis])
            rest = math.floor(rest / shape[axis])
        end
        parts[k] = caption("[" .. table.concat(index, ", ") .. "]")
            .. html_table(nil, matrix_rows(matrices[k - 1]))
    end
    if count > MOST_MATRICES then parts[#parts + 1] = caption(("… (%d more)"):format(count - MOST_MATRICES)) end
    return table.concat(parts) .. kind
end

local TREE_ALIGN, VALUE_WIDTH = { "left", "left", "left" }, 60

local function tree_html(value)
    local rows, complete = show.tree_rows(value)
    if not rows then return nil end
    for _, row in ipairs(rows) do row[3] = show.cut(row[3], VALUE_WIDTH) end
    return html_table({ "name", "type", "value" }, rows, TREE_ALIGN) .. (complete and "" or caption "…")
end

--- What neap.tables gives for a table: columns of cells, and behind which row some are left out.
local function columns_html(columns, gap, note)
    local head, rows, align = {}, {}, {}
    for j, column in ipairs(columns) do
        head[j], align[j] = column.name, column.left and "left" or "right"
        local at = 0
        for k, cell in ipairs(column.cells) do
            at = at + 1
            if gap and k == gap + 1 then
                rows[at] = rows[at] or {}
                rows[at][j] = "⋮"
                at = at + 1
            end
            rows[at] = rows[at] or {}
            rows[at][j] = cell
        end
    end
    return html_table(head, rows, align) .. caption(note)
end

-- ---- Any value ------------------------------------------------------------------------------------------------------

--- The function with which a value says how it is shown.
local function own_display(value)
    local meta = debug.getmetatable(value)
    local f = type(meta) == "table" and rawget(meta, "__display")
    if not f and type(value) == "table" then f = rawget(value, "__display") end
    return type(f) == "function" and f or nil
end

local function html_of(value)
    if core.is_array(value) then return array_html(value) end
    local meta = debug.getmetatable(value)
    local cells = type(value) == "userdata" and type(meta) == "table" and rawget(meta, "__cells")
    if cells then return columns_html(cells(value)) end
    if type(value) == "table" then return tree_html(value) end
end

--- The text of a value as the prompt shows it.
rich.text = show.text

--- The bundle of a value. Waits for the arrays in it.
function rich.bundle(value)
    if is_bundle(value) then return encoded(value) end
    local own = own_display(value)
    if own then
        local bundle, metadata = own(value)
        if not is_bundle(bundle) then
            error("__display must return a table of texts by MIME types, such as {[\"text/html\"] = …}", 0)
        end
        return encoded(bundle), metadata
    end
    local bundle = { ["text/plain"] = show.text(value) }
    bundle["text/html"] = html_of(value)
    return bundle
end

for _, f in ipairs { ends, matrix_rows, array_html, tree_html, columns_html, html_of, rich.bundle } do
    jit.off(f, true)
end

return rich
