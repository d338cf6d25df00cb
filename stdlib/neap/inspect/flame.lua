--- flame.lua: a flame graph: boxes as wide as what they stand for took, below each what is a part of it.
--
-- A node is { name, time, more = a text for the tooltip, [1], [2], … }: its parts, which may take less than itself. The
-- SVG has no script and no font of its own: browsers show `title` as a tooltip.
local flame = {}

local WIDTH, HEIGHT, LEAST, LETTER, FONT = 960, 18, 0.4, 6.6, 11

local function escape(text)
    return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" })
                :gsub("[%z\1-\8\11-\31]", "?"))
end

--- A colour between red and yellow that a name always has.
local function colour(name)
    local hash = 0
    for k = 1, #name do hash = (hash * 31 + name:byte(k)) % 9973 end
    return ("hsl(%d,%d%%,%d%%)"):format(hash % 50 + 5, 70 + hash % 20, 62 + hash % 12)
end

--- As many letters of a text as a box has place for; a cut never splits a character.
local function clip(text, width)
    local letters = math.floor((width - 6) / LETTER)
    if #text <= letters then return text end
    if letters < 4 then return "" end
    return (text:sub(1, letters - 1):gsub("[\128-\191]*$", ""):gsub("[\192-\255]$", "")) .. "…"
end

local function depth_of(node)
    local most = 0
    for _, part in ipairs(node) do most = math.max(most, depth_of(part)) end
    return most + 1
end

local function draw(out, node, x, width, level)
    if width < LEAST then return end
    local y = level * HEIGHT
    out[#out + 1] = ('<g><title>%s</title><rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>'):format(
        escape(node.name .. ": " .. node.more), x, y, math.max(width - 0.5, 0.3), HEIGHT - 1, colour(node.name))
    local text = clip(node.name, width)
    if text ~= "" then
        out[#out + 1] = ('<text x="%.2f" y="%d">%s</text>'):format(x + 3, y + HEIGHT - 5, escape(text))
    end
    out[#out + 1] = "</g>\n"
    for _, part in ipairs(node) do
        local wide = node.time > 0 and width * part.time / node.time or 0
        draw(out, part, x, wide, level + 1)
        x = x + wide
    end
end

--- The flame graph of a node and its parts, as SVG.
function flame.svg(node)
    local height = depth_of(node) * HEIGHT
    local out = { ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
                   .. 'font-family="monospace" font-size="%d">\n'):format(WIDTH, height, WIDTH, height, FONT) }
    draw(out, node, 0, WIDTH, 0)
    out[#out + 1] = "</svg>\n"
    return table.concat(out)
end

return flame
