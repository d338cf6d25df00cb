--- sharding_picture.lua: which device holds which part of an array, as text and as SVG.
--
-- Both draw one grid of the distinct blocks: its columns are the parts of the last axis, its rows those of all others
-- together. A cell names the devices that hold the block; labels say, half-open, which indices it has.
local core = require "neap.core"
local files = require "neap.files"
local shardings = require "neap.mesh.sharding"

local raise, bad_argument = core.raise, core.bad_argument

local pictures = {}

-- ---- The grid -------------------------------------------------------------------------------------------------------

--- The names of a list of devices, those that differ in the last number only together: "cpu:0,2", "cpu:0-3".
local function device_names(devices)
    local parts, stem, first, last = {}, nil, nil, nil
    local function close()
        if not stem then return end
        local text = first == last and "" or last == first + 1 and "," .. last or "-" .. last
        parts[#parts] = parts[#parts] .. first .. text
    end
    for _, device in ipairs(devices) do
        local before, number = tostring(device):match "^(.-)(%d+)$"
        number = tonumber(number)
        if stem == before and number == last + 1 then
            last = number
        else
            close()
            parts[#parts + 1] = stem == before and "" or before
            stem, first, last = before, number, number
        end
    end
    close()
    local text = table.concat(parts, ",")
    return text
end

local function range_text(range)
    return ("%d:%d"):format(range[1], range[2])
end

--- The grid of a sharding and a shape: { rows, columns = lists of labels, cells = by row and column the devices }.
local function grid_of(sharding, dims)
    local grid, row_at, column_at = { rows = {}, columns = {}, cells = {} }, {}, {}
    local blocks = {}
    for _, item in ipairs(sharding:devices_indices_map(dims)) do
        local index, before, key = item.index, {}, {}
        for k, range in ipairs(index) do
            key[k] = range[1]
            if k < #index then before[k] = range_text(range) end
        end
        local block = { key = key, row = table.concat(before, ", "),
                        column = index[#index] and range_text(index[#index]) or "", device = item.device }
        blocks[#blocks + 1] = block
        block.position = #blocks
    end
    local ordered = core.copy_list(blocks)
    table.sort(ordered, function(a, b)
        for k = 1, #a.key do
            if a.key[k] ~= b.key[k] then return a.key[k] < b.key[k] end
        end
        return a.position < b.position
    end)
    local function place(list, at, label)
        if not at[label] then
            list[#list + 1] = label
            at[label] = #list
        end
        return at[label]
    end
    for _, block in ipairs(ordered) do
        local row, column = place(grid.rows, row_at, block.row), place(grid.columns, column_at, block.column)
        grid.cells[row] = grid.cells[row] or {}
        grid.cells[row][column] = grid.cells[row][column] or {}
        table.insert(grid.cells[row][column], block.device)
    end
    return grid
end

-- ---- As text --------------------------------------------------------------------------------------------------------

local function padded(text, width)
    local left = math.floor((width - #text) / 2)
    return (" "):rep(left) .. text .. (" "):rep(width - #text - left)
end

--- left─┬─right: a line of a box around columns of this width.
local function rule(left, cross, right, n, width)
    local parts = {}
    for k = 1, n do parts[k] = ("─"):rep(width) end
    return left .. table.concat(parts, cross) .. right
end

local function as_text(grid)
    local width, margin, n, cells = 0, 0, #grid.columns, {}
    for _, label in ipairs(grid.columns) do width = math.max(width, #label) end
    for r, label in ipairs(grid.rows) do
        margin, cells[r] = math.max(margin, #label), {}
        for c = 1, n do
            cells[r][c] = device_names(grid.cells[r][c])
            width = math.max(width, #cells[r][c])
        end
    end
    width = width + 2
    local lines, indent = {}, margin > 0 and (" "):rep(margin + 1) or ""
    local function add(before, text) lines[#lines + 1] = ((before .. text):gsub("%s+$", "")) end
    local labels = {}
    for c = 1, n do labels[c] = padded(grid.columns[c], width) end
    if grid.columns[1] ~= "" then add(indent, " " .. table.concat(labels, " ")) end
    add(indent, rule("┌", "┬", "┐", n, width))
    for r, label in ipairs(grid.rows) do
        if r > 1 then add(indent, rule("├", "┼", "┤", n, width)) end
        for c = 1, n do cells[r][c] = padded(cells[r][c], width) end
        local before = margin > 0 and (" "):rep(margin - #label) .. label .. " " or ""
        add(before, "│" .. table.concat(cells[r], "│") .. "│")
    end
    add(indent, rule("└", "┴", "┘", n, width))
    return table.concat(lines, "\n")
end

-- ---- As SVG ---------------------------------------------------------------------------------------------------------

local CELL_HEIGHT, GAP, LETTER = 44, 24, 8 -- in pixels; a letter's width
local HUES = 360 * 0.618034                -- neighbouring colours are far apart

local function xml_escaped(text)
    return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

local function as_svg(grid)
    local width, margin, parts, n = 60, 0, {}, 0
    for _, label in ipairs(grid.rows) do margin = math.max(margin, #label * LETTER + GAP) end
    for r = 1, #grid.rows do
        for c, label in ipairs(grid.columns) do
            width = math.max(width, #label * LETTER + GAP, #device_names(grid.cells[r][c]) * LETTER + GAP)
        end
    end
    local function put(format, ...) parts[#parts + 1] = format:format(...) end
    local function label(x, y, text)
        put('<text x="%d" y="%d" text-anchor="middle" dominant-baseline="middle">%s</text>', x, y, xml_escaped(text))
    end
    put('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="monospace" font-size="13">',
        margin + #grid.columns * width + 2, GAP + #grid.rows * CELL_HEIGHT + 2)
    for c, text in ipairs(grid.columns) do label(margin + (c - 0.5) * width, GAP / 2, text) end
    for r, text in ipairs(grid.rows) do
        local y = GAP + (r - 1) * CELL_HEIGHT
        if text ~= "" then label(margin / 2, y + CELL_HEIGHT / 2, text) end
        for c = 1, #grid.columns do
            local x = margin + (c - 1) * width
            put('<rect x="%d" y="%d" width="%d" height="%d" fill="hsl(%d,60%%,80%%)" stroke="black"/>', x, y, width,
                CELL_HEIGHT, n * HUES % 360)
            label(x + width / 2, y + CELL_HEIGHT / 2, device_names(grid.cells[r][c]))
            n = n + 1
        end
    end
    put("</svg>\n")
    return table.concat(parts, "\n")
end

-- ---- np.debug -------------------------------------------------------------------------------------------------------

local writers = { text = as_text, svg = as_svg }

local function draw(name, sharding, dims, given)
    local o = core.options(name, given, { format = true, path = true })
    local format = o.format or "text"
    if not writers[format] then bad_argument(name, nil, "format", '"text" or "svg"', format) end
    if o.path ~= nil then core.check_path(name, o.path, false) end
    local picture = writers[format](grid_of(sharding, dims))
    if o.path then
        local ok, problem = files.write(o.path, { picture })
        if not ok then raise(name, "%s", problem) end
    end
    return picture
end

--- What np.debug.visualize_array_sharding does.
function pictures.of_array(x, given)
    local name = "debug.visualize_array_sharding"
    if not core.is_array(x) then bad_argument(name, 1, "x", "an array", x) end
    local sharding = shardings.of_array(x)
    if not sharding then
        raise(name, "the array lies on no mesh: np.device_put(x, mesh, spec) lays it out on one")
    end
    if sharding.manual then
        raise(name, "the array is a block: inside np.shard_map it is itself what each device holds")
    end
    return draw(name, sharding, core.shape_of(x), given)
end

--- What np.debug.visualize_sharding does.
function pictures.of_sharding(dims, sharding, given)
    local name = "debug.visualize_sharding"
    if not shardings.is_sharding(sharding) then
        bad_argument(name, 2, "sharding", "a sharding such as x.sharding or np.NamedSharding(mesh, spec)", sharding)
    end
    return draw(name, sharding, dims, given)
end

return pictures
