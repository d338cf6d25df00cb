--- styles.lua: colours, line styles, markers and colour maps, under matplotlib's names, as gnuplot takes them.
local core = require "neap.core"

local raise, bad_argument = core.raise, core.bad_argument
local styles = {}

-- The cycle in which charts of one picture get colours: matplotlib's, C0 to C9.
local CYCLE = { "1f77b4", "ff7f0e", "2ca02c", "d62728", "9467bd", "8c564b", "e377c2", "7f7f7f", "bcbd22", "17becf" }

local COLORS = {
    b = "0000ff", g = "008000", r = "ff0000", c = "00bfbf", m = "bf00bf", y = "bfbf00", k = "000000", w = "ffffff",
    blue = "0000ff", green = "008000", red = "ff0000", cyan = "00ffff", magenta = "ff00ff", yellow = "ffff00",
    black = "000000", white = "ffffff", gray = "808080", grey = "808080", orange = "ffa500", purple = "800080",
    brown = "a52a2a", pink = "ffc0cb", olive = "808000", navy = "000080", teal = "008080", lime = "00ff00",
    gold = "ffd700", silver = "c0c0c0", maroon = "800000", salmon = "fa8072", coral = "ff7f50", crimson = "dc143c",
    indigo = "4b0082", violet = "ee82ee", turquoise = "40e0d0", tomato = "ff6347", steelblue = "4682b4",
    skyblue = "87ceeb", royalblue = "4169e1", darkgreen = "006400", darkblue = "00008b", darkred = "8b0000",
    darkorange = "ff8c00", lightgray = "d3d3d3", lightgrey = "d3d3d3", lightblue = "add8e6", lightgreen = "90ee90",
    dimgray = "696969", dimgrey = "696969", firebrick = "b22222", forestgreen = "228b22", slategray = "708090",
}
for k, name in ipairs { "blue", "orange", "green", "red", "purple", "brown", "pink", "gray", "olive", "cyan" } do
    COLORS["tab:" .. name] = CYCLE[k]
end

--- The colour of number k in the cycle, from 0.
function styles.cycled(k)
    return CYCLE[k % #CYCLE + 1]
end

local function of_channels(value)
    local parts = {}
    for k = 1, 3 do
        local channel = value[k]
        if type(channel) ~= "number" or not (channel >= 0 and channel <= 1) then return nil end
        parts[k] = ("%02x"):format(math.floor(channel * 255 + 0.5))
    end
    return #value == 3 and table.concat(parts) or nil
end

local function find_color(value)
    if type(value) == "table" then return of_channels(value) end
    if type(value) ~= "string" then return nil end
    local hex = value:match "^#(%x%x%x%x%x%x)$"
    if hex then return hex:lower() end
    hex = value:match "^#(%x%x%x)$"
    if hex then return (hex:lower():gsub("%x", "%0%0")) end
    local number = value:match "^C(%d+)$"
    if number then return styles.cycled(tonumber(number)) end
    local gray = tonumber(value:match "^[01]?%.?%d+$")
    if gray and gray <= 1 then return of_channels { gray, gray, gray } end
    return COLORS[value:lower()]
end

--- The six hexadecimal digits of a colour: a name, "#rrggbb", "C0" … "C9", "0.5" for gray, or {r, g, b} from 0 to 1.
function styles.color(name, option, value)
    local found = find_color(value)
    if not found then
        bad_argument(name, nil, option, 'a colour such as "red", "tab:blue", "C0", "#1f77b4" or {0.1, 0.5, 0.7}', value)
    end
    return found
end

-- About as long as matplotlib's: gnuplot counts halves of the line's width.
local DASHES = { ["-"] = "solid", ["--"] = "(12,6)", [":"] = "(4,5)", ["-."] = "(14,5,4,5)" }
local LINE_NAMES = { solid = "-", dashed = "--", dotted = ":", dashdot = "-.", none = "", ["None"] = "", [" "] = "" }

--- A line style as matplotlib's mark, "" for none.
function styles.line(name, option, value)
    local mark = LINE_NAMES[value] or value
    if mark ~= "" and not DASHES[mark] then
        bad_argument(name, nil, option, '"-", "--", ":", "-.", "solid", "dashed", "dotted", "dashdot" or "none"', value)
    end
    return mark
end

--- What gnuplot calls the dashes of a line style.
function styles.dashes(mark)
    return DASHES[mark]
end

-- gnuplot's numbers of points.
local MARKERS = { o = 7, ["."] = 7, [","] = 0, s = 5, ["^"] = 9, v = 11, D = 13, d = 13, p = 15, ["+"] = 1, x = 2,
                  ["*"] = 3, X = 2, none = false, ["None"] = false, [""] = false }
local MARKER_SIZES = { ["."] = 0.5 }

--- The number of a marker and a factor of its size; false: none.
function styles.marker(name, option, value)
    local number = MARKERS[value]
    if number == nil then
        bad_argument(name, nil, option, 'one of "o", ".", "s", "^", "v", "D", "p", "+", "x", "*" and "none"', value)
    end
    return number, MARKER_SIZES[value] or 1
end

--- Reads a format such as "r--o": { color, linestyle, marker }, as matplotlib's plot() does.
function styles.format(name, text)
    local found, rest = {}, text
    while rest ~= "" do
        local color = rest:match "^C%d"
        local two, one = rest:sub(1, 2), rest:sub(1, 1)
        local field, value
        if color then
            field, value = "color", color
        elseif two == "--" or two == "-." then
            field, value = "linestyle", two
        elseif one == "-" or one == ":" then
            field, value = "linestyle", one
        elseif MARKERS[one] then
            field, value = "marker", one
        elseif one:find "[bgrcmykw]" then
            field, value = "color", one
        end
        if not field or found[field] then
            raise(name, "cannot read the format %q: it has a colour (r g b c m y k w, C0 … C9), a marker "
                  .. "(o . s ^ v D p + x *) and a line (- -- : -.), in any order", text)
        end
        found[field] = value
        rest = rest:sub(#value + 1)
    end
    if found.marker and not found.linestyle then found.linestyle = "" end
    return found
end

-- 17 colours of each map, evenly apart: matplotlib's, between which is interpolated.
local MAPS = {
    viridis = "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1fa08828ae803fbc735ec96284d44baddc30d8e219fde725",
    plasma = "0d08873105974c02a16600a77e03a89511a1aa2395bc3587cc4778da5a6ae66c5cf0804ef89540fdac33fdc527f8df25f0f921",
    inferno = "0000040b0724210c4a3d096557106e71196e8a226aa32c61bc3754d24644e45a31f1731df98e09fcac11f9cb35f2ea69fcffa4",
    magma = "0000040a08221d114736106b51127c6a1c818326819c2e7fb73779d0416fe75263f56b5cfc8961fea772fec488fde2a3fcfdbf",
    cividis = "00224e002e6a1a386f32436d434e6c535a6d61656f6f70737d7c788c88789b9476aba072bcae6ccdbb63dec958f0d846fee838",
    gray = "000000101010202020303030404040505050606060707070808080909090a0a0a0b0b0b0c0c0c0d0d0d0e0e0e0f0f0f0ffffff",
    hot = "0b00003500005f0000890000b30000dd0000ff0800ff3200ff5c00ff8600ffb000ffda00ffff07ffff46ffff85ffffc4ffffff",
    jet = "0000800000c80000ff0040ff0080ff00c0ff16ffe149ffad7dff7ab1ff46e4ff13ffd000ff9400ff5900ff1e00c40000800000",
    turbo = "30123b4040a2466be34294ff28bceb18ddc232f2986dfe62a4fc3ccdec34eecf3afdac34fb7e21eb500ed02f05a916017a0403",
    coolwarm = "3b4cc04e68d86282ea779af78db0fea3c2feb9d0f9ccd9eddddcdcecd3c5f5c4acf7b093f4987aeb7d62dd5f4bca3b37b40426",
    bwr = "0000ff2020ff4040ff6060ff8080ffa0a0ffc0c0ffe0e0fffffefeffdedeffbebeff9e9eff7e7eff5e5eff3e3eff1e1eff0000",
    RdBu = "67001f960f27bb2a34d25849e58368f5ac8bfbceb7fbe6daf6f7f7deebf2c0dceb98c8e068abd03e8cbf2870b115508d053061",
    Blues = "f7fbffeaf3fbdeebf7d2e3f3c6dbefb2d2e89dcae184bcdb6aaed656a0ce4191c63181bd2070b41460a808509b08408208306b",
    Greens = "f7fcf5eef8eae5f5e0d6efd0c7e9c0b4e1ada0d99b8ace8873c4765ab76940aa5d319a50228a44117b38006c2c00572300441b",
    Reds = "fff5f0feeae1fee0d2fdcdb9fcbba1fca689fc9272fb7d5dfb694af5523aee3a2cdc2924ca181db71319a30f1584071167000d",
    twilight = "e2d9e2c4ced495b5c77297c16276ba5e51ad592a8f45135c2f14364a1342741e4f983550b25652c27c63cca389d8c7bee2d9e2",
}
MAPS.grey = MAPS.gray
local EVEN = 16 -- steps of a map

--- The colours of a map, a list of six digits each; a name that ends in "_r" is the map turned around.
function styles.map(name, value)
    local base, turned = value, false
    if type(value) == "string" and value:find "_r$" then base, turned = value:sub(1, -3), true end
    local text = type(base) == "string" and MAPS[base]
    if not text then
        local known = {}
        for map in pairs(MAPS) do known[#known + 1] = map end
        table.sort(known)
        bad_argument(name, nil, "cmap", "one of " .. table.concat(known, ", ")
                     .. ', with "_r" behind it for the other direction', value)
    end
    local list = {}
    for k = 0, EVEN do
        local at = turned and EVEN - k or k
        list[k + 1] = text:sub(6 * at + 1, 6 * at + 6)
    end
    return list
end

--- The colour of a map at a part of its way, from 0 to 1, as a number 0xRRGGBB.
function styles.mapped(map, part)
    local at = math.min(math.max(part, 0), 1) * EVEN
    local k = math.min(math.floor(at), EVEN - 1)
    local from, to, number = map[k + 1], map[k + 2], 0
    for place = 1, 5, 2 do
        local a, b = tonumber(from:sub(place, place + 1), 16), tonumber(to:sub(place, place + 1), 16)
        number = number * 256 + math.floor(a + (b - a) * (at - k) + 0.5)
    end
    return number
end

--- How bright that colour is, from 0 to 1: whether letters on it are to be dark.
function styles.brightness(map, part)
    local number = styles.mapped(map, part)
    local red, green, blue = math.floor(number / 65536), math.floor(number / 256) % 256, number % 256
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
end

return styles
