--- images_test.lua (under tsan with --long): images of Pillow read to its pixels, damaged ones refused, and what is
-- saved is read again (images.txt and images/, made by make_images.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "images/"
local collector = reader.collector()
local MOST_BYTES = 2 ^ 24 -- of what reading a damaged file may take
local temporary = os.tmpname()
os.remove(temporary)

--- Whether a library is there: what does not need one is tested without.
local function has(name)
    local ok, problem = pcall(np.io.load_image, FOLDER .. name)
    if not ok and problem:find "cannot be read or written: none" then return false end
    assert(ok, problem)
    return true
end

local there = { png = has "l.png", jpeg = has "gray.jpg" }

local function png(record)
    collector.add("PNG", function()
        local x = np.io.load_image(FOLDER .. record[2])
        local problem = reader.difference(x, record[3], "exact")
        if problem then return problem end
        for _, compression in ipairs { 0, 9 } do
            np.io.save_image(temporary .. ".png", x, { compression = compression })
            problem = reader.difference(np.io.load_image(temporary .. ".png"), record[3], "exact")
            if problem then return "saved again: " .. problem end
        end
        np.io.save_image(temporary .. ".PNG", np.flip(np.flip(x, 0), 0)) -- a view
        return reader.difference(np.io.load_image(temporary .. ".PNG"), record[3], "exact")
    end, record[2])
end

local function jpeg(record)
    collector.add("JPEG", function()
        local x = np.io.load_image(FOLDER .. record[2])
        local want = np.array(reader.array(record[3]).values, { dtype = "i32" }):reshape(x.shape)
        check.equal(x.dtype, "u8")
        local off = np.abs(x:astype "i32" - want):max():item()
        if off > tonumber(record[4]) then return ("off by %d"):format(off) end
        np.io.save_image(temporary .. ".jpg", x, { quality = 100 })
        off = np.abs(np.io.load_image(temporary .. ".jpg"):astype "i32" - want):max():item()
        if off > 12 then return ("saved again: off by %d"):format(off) end
    end, record[2])
end

local function bad(record)
    collector.add("damaged files", function()
        local ok, problem = pcall(np.io.load_image, FOLDER .. record[2])
        if ok then return "no error" end
        if not problem:find(record[2], 1, true) then return "the error does not name the file: " .. problem end
        if not problem:find "images_test.lua:%d+: np%.io%.load_image: " then return problem end
    end, record[2] .. " (" .. record[3] .. ")")
end

local readers = { png = png, jpeg = jpeg, bad = bad }
for _, record in ipairs(reader.records "images") do
    local kind = record[2]:match "%.png$" and "png" or "jpeg"
    if there[kind] then readers[record[1]](record) else check.skip(record[2], "no library for " .. kind) end
end

collector.add("damaged files take no memory", function()
    local peak = np.memory().peak
    return peak > MOST_BYTES and ("peak of %d bytes"):format(peak) or nil
end, "peak")
collector.add("mistakes", function()
    local function refused(pattern, ...)
        local arguments = { ... }
        check.raises(function() np.io.save_image(unpack(arguments)) end, pattern)
    end
    local x = np.zeros({ 4, 4, 3 }, { dtype = "u8" })
    refused("ends in", "x.gif", x)
    refused("argument 2", "x.png", 3)
    refused("pixels of a PNG are u8 or u16, got f32", "x.png", np.ones { 2, 2 })
    refused("pixels of a JPEG are u8, got u16", "x.jpg", x:astype "u16")
    refused("a JPEG is gray or RGB", "x.jpg", np.zeros({ 4, 4, 4 }, { dtype = "u8" }))
    refused("an image has the shape", "x.png", np.zeros({ 4, 0 }, { dtype = "u8" }))
    refused("an image has the shape", "x.png", np.zeros({ 4, 4, 5 }, { dtype = "u8" }))
    refused("'quality'", "x.jpg", x, { quality = 0 })
    refused("'compression'", "x.png", x, { compression = 10 })
    check.raises(function() np.io.load_image "no such.png" end, "cannot open 'no such.png'")
end, "save")

for _, ending in ipairs { ".png", ".PNG", ".jpg" } do os.remove(temporary .. ending) end
collector.finish(check)
