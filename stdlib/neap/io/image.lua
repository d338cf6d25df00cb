--- image.lua: np.io.load_image and np.io.save_image: PNG and JPEG as arrays of pixels (formats/image.c: through libpng
-- and libjpeg, which are loaded when an image is first read or written).
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"

local C, codes = core.C, core.dtype_codes
local raise, bad_argument = core.raise, core.bad_argument
local images = {}

local PNG, JPEG = C.NEAP_IMAGE_PNG, C.NEAP_IMAGE_JPEG
local QUALITY, COMPRESSION = 75, 6 -- as in Pillow
local image_box = ffi.new "neap_image"
local data_box, bytes_box = ffi.new("void *[1]"), ffi.new("size_t[1]")

--- What a block holds, by its first bytes; nil: no image that can be read.
local function format_of(block)
    local head = ffi.string(block.data, math.min(block.size, 8))
    if head == "\137PNG\r\n\26\n" then return PNG end
    if head:sub(1, 3) == "\255\216\255" then return JPEG end
end

--- The array of an image in memory, or nil and what is wrong.
local function read_image(block)
    local format = format_of(block)
    if not format then return nil, block.size == 0 and "it is empty" or "it is neither PNG nor JPEG" end
    local image = ffi.new "neap_image"
    local rc = C.neap_image_head(format, block.data, block.size, image)
    if rc < 0 then return nil, ffi.string(C.neap_error_text()) end
    local dims = { tonumber(image.height), tonumber(image.width), image.channels > 1 and image.channels or nil }
    local x = core.fill(image.bits == 16 and codes.u16 or codes.u8, dims, function(pixels)
        rc = C.neap_image_read(format, block.data, block.size, image, pixels)
    end, "uint8_t *", "io.load_image")
    if rc < 0 then return nil, ffi.string(C.neap_error_text()) end
    return x
end

--- np.io.load_image(path): the pixels of a PNG or JPEG file, from the top left: shape (height, width) for gray, else
-- (height, width, channels): 2 for gray and alpha, 3 for RGB, 4 for RGBA; u8, or u16 of a PNG with 16 bits. Palettes
-- are RGB. Raises if the file is damaged or ends early.
--- > np.io.save_image("x.png", np.arange(6):reshape(2, 3):astype "u8")
--- > np.io.load_image("x.png")
-- [[0 1 2]
--  [3 4 5]]
function images.load_image(path)
    local name = "io.load_image"
    local block, problem = files.read(core.check_path(name, path))
    if not block then raise(name, "%s", problem) end
    local x
    x, problem = read_image(block)
    files.release(block)
    if not x then raise(name, "cannot read '%s': %s", path, problem) end
    return x
end

local formats = { png = PNG, jpg = JPEG, jpeg = JPEG }

local function level_of(name, what, value, default, least, most)
    if value == nil then return default end
    return core.integer(name, nil, what, value, least, most)
end

--- Checks the pixels of an image and tells what they are in image_box.
local function describe(name, x, format)
    if not core.is_array(x) then bad_argument(name, 2, "x", "an array of pixels", x) end
    local shape, dtype = x.shape, x.dtype
    local channels = #shape == 2 and 1 or #shape == 3 and shape[3] or 0
    if channels < 1 or channels > 4 or shape[1] == 0 or shape[2] == 0 then
        raise(name, "an image has the shape (height, width), or (height, width, channels) with 1 to 4 channels, got %s",
              core.shape_text(x))
    end
    if dtype ~= "u8" and (dtype ~= "u16" or format == JPEG) then
        raise(name, "pixels of a %s are u8%s, got %s; of numbers from 0 to 1: (x * 255):round():astype \"u8\"",
              format == JPEG and "JPEG" or "PNG", format == JPEG and "" or " or u16", dtype)
    end
    if format == JPEG and channels ~= 1 and channels ~= 3 then
        raise(name, "a JPEG is gray or RGB, with 1 or 3 channels, got %d; PNG has alpha", channels)
    end
    image_box.height, image_box.width, image_box.channels = shape[1], shape[2], channels
    image_box.bits = dtype == "u16" and 16 or 8
end

--- np.io.save_image(path, x, {quality=75, compression=6}) -> nothing: writes pixels as a PNG or JPEG file, by the
-- ending of its name: u8, or u16 for PNG, of the shapes that np.io.load_image gives. Waits.
--- quality: of a JPEG, 1 to 100
--- compression: of a PNG, from 0, fast, to 9, small; the pixels are the same
--- > np.io.save_image("x.jpg", np.zeros({8, 8, 3}, {dtype="u8"}), {quality=90})
--- > #np.io.load_image("x.jpg").shape
-- 3
function images.save_image(path, x, given)
    local name = "io.save_image"
    local ending = core.check_path(name, path):lower():match "%.(%w+)$"
    local format = formats[ending]
    if not format then raise(name, "the name of an image ends in .png, .jpg or .jpeg, got '%s'", path) end
    local o = core.options(name, given, { quality = true, compression = true })
    local quality = level_of(name, "quality", o.quality, QUALITY, 1, 100)
    local compression = level_of(name, "compression", o.compression, COMPRESSION, 0, 9)
    describe(name, x, format)
    local pixels = core.data(x)
    local rc = C.neap_image_write(format, image_box, pixels, format == JPEG and quality or compression, data_box,
                                  bytes_box)
    if rc < 0 then raise(name, "cannot write '%s': %s", path, ffi.string(C.neap_error_text())) end
    local data = ffi.gc(data_box[0], C.neap_image_free)
    local good, problem = files.write(path, { { data = data, size = tonumber(bytes_box[0]), keep = x } })
    if not good then raise(name, "%s", problem) end
end

for _, f in ipairs { read_image, images.save_image } do jit.off(f) end

return images
