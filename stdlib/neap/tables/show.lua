--- show.lua: a table as text: names and dtypes above aligned columns, numbers of a column with the same digits behind
-- the point. Of a long table the first and the last rows, of a wide one the first columns and the last; how many there
-- are stands below.
local core = require "neap.core"
local tables = require "neap.tables"
local columns_of = require "neap.tables.columns"

local np, methods = core.np, tables.methods

local WIDTH, MOST_ROWS, EDGE, MOST_TEXT, MOST_DIGITS = 80, 20, 5, 32, 6

--- Characters of a UTF-8 text.
local function length(s)
    local _, continued = s:gsub("[\128-\191]", "")
    return #s - continued
end

local function cut(s)
    s = s:gsub("%c", " ")
    if length(s) <= MOST_TEXT then return s end
    local last = 0
    for _ = 1, MOST_TEXT - 1 do last = s:find("[^\128-\191]", last + 1) end
    local behind = s:find("[^\128-\191]", last + 1)
    return s:sub(1, behind - 1) .. "…"
end

--- The printf conversion that shows numbers of a column: so many digits that all are exact, at most six.
local function conversion(values)
    local decimals = 0
    for _, value in ipairs(values) do
        local size = math.abs(value)
        if size < math.huge and (size >= 1e8 or size > 0 and size < 1e-4) then return "%.6g" end
        if size < math.huge then -- neither NaN nor infinite
            local shown = ("%.7g"):format(value):match "%.(%d+)$" or ""
            decimals = math.max(decimals, math.min(#shown, MOST_DIGITS))
        end
    end
    return "%." .. math.max(decimals, 1) .. "f"
end

local function number_text(value, how)
    if value ~= value then return "nan" end
    if value == math.huge or value == -math.huge then return value > 0 and "inf" or "-inf" end
    return how:format(value)
end

--- The texts of a column's rows, and whether they stand at the left.
local function cells_of(values)
    local cells = {}
    if columns_of.is_object(values) then
        for k, value in ipairs(columns_of.texts(values)) do cells[k] = value and cut(value) or "-" end
        return cells, true
    end
    local list, kind = values:totable(), core.dtype_of(values).kind
    if kind == "f" then
        local how = conversion(list)
        for k, value in ipairs(list) do cells[k] = number_text(value, how) end
    elseif kind == "b" then
        for k, value in ipairs(list) do cells[k] = value and "true" or "false" end
    else
        for k = 1, #list do cells[k] = tostring(values[k - 1]) end
    end
    return cells, false
end

local function padded(s, width, left)
    local space = (" "):rep(width - length(s))
    return left and s .. space or space .. s
end

--- The lines of a column: its name, its dtype, and its rows.
local function column_lines(name, values)
    local cells, left = cells_of(values)
    local lines, width = { cut(name), values.dtype }, 0
    for k, cell in ipairs(cells) do lines[k + 2] = cell end
    for _, line in ipairs(lines) do width = math.max(width, length(line)) end
    for k, line in ipairs(lines) do lines[k] = padded(line, width, left) end
    return lines, width
end

--- Which of the columns are shown in a width: how many of the first, and whether the last one.
local function that_fit(widths, room)
    local used, last = 0, widths[#widths] or 0
    for k, width in ipairs(widths) do
        local rest = k == #widths and 0 or last + 5
        used = used + width + (k > 1 and 2 or 0)
        if used + rest > room and k > 1 then return k - 1, k - 1 < #widths end
    end
    return #widths, false
end

--- table:tostring{width=80, rows=20} -> string: the text that tostring(t) and print give.
--- width: columns of the text
--- rows: of a longer table the first and the last ones are shown
--- > np.table{a = {1, 2.5}}:tostring()
--   a
-- f32
-- 1.0
-- 2.5
-- [2 rows, 1 column]
function methods.tostring(t, given)
    local o = core.options("table.tostring", given, { width = true, rows = true })
    local room, most = o.width or WIDTH, o.rows or MOST_ROWS
    room = core.integer("table.tostring", nil, "width", room)
    most = core.integer("table.tostring", nil, "rows", most)
    local rows, shown, edge = t._rows, t, math.max(math.min(EDGE, math.floor(most / 2)), 1)
    if rows > math.max(most, 2) then
        shown = methods.concat(methods.head(t, edge), methods.tail(t, edge))
    end
    local columns, widths = {}, {}
    for k, name in ipairs(t._names) do columns[k], widths[k] = column_lines(name, shown._columns[name]) end
    local first, with_last = that_fit(widths, room)
    local lines = {}
    for k = 1, #t._names > 0 and shown._rows + 2 or 0 do
        local parts = {}
        for j = 1, first do parts[j] = columns[j][k] end
        if with_last then
            parts[#parts + 1] = "…"
            if #columns > first then parts[#parts + 1] = columns[#columns][k] end
        end
        if shown ~= t and k == edge + 3 then lines[#lines + 1] = "…" end
        lines[#lines + 1] = table.concat(parts, "  "):gsub("%s+$", "")
    end
    lines[#lines + 1] = ("[%d row%s, %d column%s]"):format(rows, rows == 1 and "" or "s", #t._names,
                                                         #t._names == 1 and "" or "s")
    return table.concat(lines, "\n")
end

--- The columns of a table as lists of texts, { name, cells, left = at the left }, of a long table the first and the
-- last rows; behind which row some are left out, or nil; and how large the table is.
function tables.cells(t)
    local rows, shown = t._rows, t
    local long = rows > MOST_ROWS
    if long then shown = methods.concat(methods.head(t, EDGE), methods.tail(t, EDGE)) end
    local columns = {}
    for k, name in ipairs(t._names) do
        local cells, left = cells_of(shown._columns[name])
        columns[k] = { name = cut(name), cells = cells, left = left }
    end
    return columns, long and EDGE or nil, ("%d row%s, %d column%s"):format(rows, rows == 1 and "" or "s", #t._names,
                                                                          #t._names == 1 and "" or "s")
end

jit.off(methods.tostring)
jit.off(tables.cells)

return np
