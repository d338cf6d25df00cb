--- gif.lua: a reader of GIF89a, which shares nothing with the library's writer (stdlib/neap/plot/gif.lua): the whole
-- pictures as a viewer shows them one after the other. It refuses what the format does not allow.
local gif = {}

local function word(bytes, at) return bytes:byte(at) + 256 * bytes:byte(at + 1) end

--- The data of blocks from `at` on, and the place behind them.
local function joined(bytes, at)
    local parts = {}
    while bytes:byte(at) ~= 0 do
        parts[#parts + 1] = bytes:sub(at + 1, at + bytes:byte(at))
        at = at + 1 + bytes:byte(at)
    end
    return table.concat(parts), at + 1
end

--- The indices that LZW codes say, a text.
local function expand(data, bits)
    local clear = 2 ^ bits
    local strings, free, size, last, out = nil, nil, nil, nil, {}
    local held, count, at = 0, 0, 1
    while true do
        while count < (size or bits + 1) do
            held, count, at = held + assert(data:byte(at), "the codes end early") * 2 ^ count, count + 8, at + 1
        end
        size = size or bits + 1
        local code = held % 2 ^ size
        held, count = math.floor(held / 2 ^ size), count - size
        if code == clear then
            strings, free, size, last = {}, clear + 2, bits + 1, nil
            for k = 0, clear - 1 do strings[k] = string.char(k) end
        elseif code == clear + 1 then
            assert(at == #data + 1, "data behind the end")
            return table.concat(out)
        else
            assert(strings, "no clear code at the beginning")
            local text = strings[code] or last and code == free and last .. last:sub(1, 1)
            assert(text, "a code that is not known yet")
            out[#out + 1] = text
            if last and free < 4096 then
                strings[free], free = last .. text:sub(1, 1), free + 1
                if free == 2 ^ size and size < 12 then size = size + 1 end
            end
            last = text
        end
    end
end

local function palette_of(bytes, at, count)
    local colors = {}
    for k = 0, count - 1 do colors[k] = { bytes:byte(at + 3 * k, at + 3 * k + 2) } end
    return colors
end

--- Draws a picture whose description begins at `at` onto the pixels; returns the place behind it.
local function paint(film, bytes, at, colors, transparent)
    local left, top, width, height = word(bytes, at), word(bytes, at + 2), word(bytes, at + 4), word(bytes, at + 6)
    assert(left + width <= film.width and top + height <= film.height, "a picture leaves the screen")
    assert(bytes:byte(at + 8) == 0, "a palette of its own, or rows out of order")
    local data, behind = joined(bytes, at + 10)
    local indices = expand(data, bytes:byte(at + 9))
    assert(#indices == width * height, "not as many pixels as were told")
    for k = 1, #indices do
        local index = indices:byte(k)
        if index ~= transparent then
            local x, y = left + (k - 1) % width, top + math.floor((k - 1) / width)
            film.pixels[y * film.width + x] = assert(colors[index], "no such colour")
        end
    end
    return behind
end

--- Reads a file: { width, height, loops (a number, or nil), delays (in 1/100 s), pictures }; a picture is a list of
-- pixels {r, g, b}, by y * width + x from 0.
function gif.read(bytes)
    assert(bytes:sub(1, 6) == "GIF89a", "no GIF89a")
    local film = { width = word(bytes, 7), height = word(bytes, 9), delays = {}, pictures = {}, pixels = {} }
    local count = 2 ^ (bytes:byte(11) % 8 + 1)
    local colors, at, transparent = palette_of(bytes, 14, count), 14 + 3 * count, nil
    while bytes:sub(at, at) ~= ";" do
        local kind = bytes:sub(at, at + 1)
        if kind == "\33\255" then
            local data
            data, at = joined(bytes, at + 2)
            if data:sub(1, 11) == "NETSCAPE2.0" then film.loops = word(data, 13) end
        elseif kind == "\33\249" then
            film.delays[#film.delays + 1] = word(bytes, at + 4)
            transparent = bytes:byte(at + 3) % 2 == 1 and bytes:byte(at + 6) or nil
            at = at + 8
        else
            assert(kind:sub(1, 1) == ",", "neither a picture nor an extension")
            at = paint(film, bytes, at + 1, colors, transparent)
            local copy = {}
            for k = 0, film.width * film.height - 1 do copy[k] = assert(film.pixels[k], "a pixel is not painted") end
            film.pictures[#film.pictures + 1] = copy
        end
    end
    assert(at == #bytes, "bytes behind the end")
    return film
end

return gif
