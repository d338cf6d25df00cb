--- pixels.lua: PNG as pixels and pixels as PNG, in memory (formats/image.c, through libpng).
local ffi = require "ffi"
local core = require "neap.core"

local np, C = core.np, core.C
local raise = core.raise
local pixels = {}

local COMPRESSION = 6

--- The pixels of a PNG of 8 bits, the width, the height and the number of channels; nil: unreadable.
function pixels.read(png)
    local image = ffi.new "neap_image"
    if C.neap_image_head(C.NEAP_IMAGE_PNG, png, #png, image) < 0 then return nil end
    if image.bits ~= 8 then return nil end
    local data = ffi.new("uint8_t[?]", image.width * image.height * image.channels)
    if C.neap_image_read(C.NEAP_IMAGE_PNG, png, #png, image, data) < 0 then return nil end
    return data, tonumber(image.width), tonumber(image.height), tonumber(image.channels)
end

--- The pixels of a PNG as three bytes each, blended with white by alpha; the width and the height.
function pixels.rgb(name, png)
    local data, width, height, channels = pixels.read(png)
    if not data then raise(name, "cannot read a picture back: %s", ffi.string(C.neap_error_text())) end
    if channels == 3 then return data, width, height end
    local rgb, has_alpha = ffi.new("uint8_t[?]", 3 * width * height), channels == 2 or channels == 4
    for k = 0, width * height - 1 do
        local at = k * channels
        local alpha = has_alpha and data[at + channels - 1] or 255
        for c = 0, 2 do
            local value = data[channels > 2 and at + c or at]
            rgb[3 * k + c] = math.floor((value * alpha + 255 * (255 - alpha)) / 255 + 0.5)
        end
    end
    return rgb, width, height
end

--- The PNG of an array of pixels, u8.
function pixels.png(name, x)
    local shape, out, bytes = x.shape, ffi.new "void *[1]", ffi.new "size_t[1]"
    local image = ffi.new("neap_image", { width = shape[2], height = shape[1], channels = shape[3] or 1, bits = 8 })
    local rc = C.neap_image_write(C.NEAP_IMAGE_PNG, image, core.data(x), COMPRESSION, out, bytes)
    if rc < 0 then raise(name, "cannot make a PNG: %s", ffi.string(C.neap_error_text())) end
    local text = ffi.string(out[0], bytes[0])
    C.neap_image_free(out[0])
    return text
end

--- An array of pixels as u8: bool and real numbers from 0 to 1 are scaled to 255. what: the image's name in errors.
function pixels.bytes(name, what, x)
    local shape = x.shape
    local channels = #shape == 2 and 1 or #shape == 3 and shape[3] or 0
    if channels < 1 or channels > 4 or x.size == 0 then
        raise(name, "%s must have the shape (height, width), or (height, width, channels) with 1 to 4 channels, got %s",
              what, core.shape_text(x))
    end
    if x.dtype == "u8" then return x end
    if x.dtype == "bool" then return np.where(x, 255, 0):astype "u8" end
    if not x.dtype:find "^b?f" then
        raise(name, "the pixels of %s must be u8, bool, or real numbers from 0 to 1, got %s", what, x.dtype)
    end
    local low, high = x:min():item(), x:max():item()
    if not (low >= 0 and high <= 1) then
        raise(name, "the pixels of %s must be numbers from 0 to 1, got %g to %g; of bytes: x:astype \"u8\"", what, low,
              high)
    end
    return (x * 255):round():astype "u8"
end

for _, f in ipairs { pixels.read, pixels.png, pixels.bytes } do jit.off(f) end

return pixels
