--- colors.lua: np.image's colors: gray, hue and saturation, and the evening out of brightness. Images of colors are (…,
-- 3), red, green and blue; floats go from 0 to 1, u8 from 0 to 255.

local core = require "neap.core"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local windows = require "neap.image.windows"

local np = core.np
local raise = core.raise
local shape_of = core.shape_of

local colors = {}

--- Argument 1 as an image (…, 3) of floats from 0 to 1, and the half.
local function channels(name, x)
    x = core.coerce("image." .. name, 1, x)
    local dtype, n = core.dtype_of(x), core.ndim(x)
    if n == 0 or not core.is_same(shape_of(x)[n], 3) or dtype.kind == "c" then
        raise("image." .. name, "needs an image of colors, (…, 3), of real numbers, got %s of shape %s", dtype.name,
              core.shape_text(x))
    end
    if not dtype.inexact and dtype.kind ~= "b" then
        if dtype.name ~= "u8" and dtype.name ~= "u16" then
            raise("image." .. name, "colors are floats from 0 to 1, u8 or u16, got dtype %s", dtype.name)
        end
        return np.astype(x, dtype.real) / dtype.highest
    end
    return operands.wide(operands.float(x))
end

local function channel(x, k) return x[{ np.ellipsis, k }] end

--- np.image.rgb_to_gray(x): the brightness of colors (…, 3): 0.299 red + 0.587 green + 0.114 blue, as in
-- television (ITU-R BT.601), without the last axis. u8 and u16 give floats from 0 to 1.
--- > np.image.rgb_to_gray(np.array{{1, 0, 0}, {1, 1, 1}})
-- [0.299 1.   ]
function colors.rgb_to_gray(x)
    local half
    x, half = channels("rgb_to_gray", x)
    return operands.narrow(channel(x, 0) * 0.299 + channel(x, 1) * 0.587 + channel(x, 2) * 0.114, half)
end

--- np.image.rgb_to_hsv(x), np.image.hsv_to_rgb(x): colors (…, 3) as hue, saturation and value, each from 0 to 1, and
-- back. Hue goes from red over green (1/3) and blue (2/3) to red again. u8 and u16 count from 0 to 1.
--- > np.round(np.image.rgb_to_hsv(np.array{{0, 1, 0}, {0.5, 0.25, 0.25}}), 4)
-- [[0.3333 1.     1.    ]
--  [0.     0.5    0.5   ]]
--- > np.image.hsv_to_rgb(np.array{0.5, 1, 1})
-- [0. 1. 1.]
function colors.rgb_to_hsv(x)
    local half
    x, half = channels("rgb_to_hsv", x)
    local r, g, b = channel(x, 0), channel(x, 1), channel(x, 2)
    local value = np.max(x, { axis = -1 })
    local span = value - np.min(x, { axis = -1 })
    local flat = np.equal(span, 0)
    local by = np.where(flat, 1, span)
    local hue = np.where(np.equal(value, r), (g - b) / by,
                         np.where(np.equal(value, g), (b - r) / by + 2, (r - g) / by + 4)) / 6
    hue = np.where(np.less(hue, 0), hue + 1, hue)
    local saturation = np.where(flat, 0, span / np.where(flat, 1, value))
    return operands.narrow(np.stack({ np.where(flat, 0, hue), saturation, value }, { axis = -1 }), half)
end

function colors.hsv_to_rgb(x)
    local half
    x, half = channels("hsv_to_rgb", x)
    local hue, saturation, value = channel(x, 0), channel(x, 1), channel(x, 2)
    local list = {}
    for k, from in ipairs { 5, 3, 1 } do -- how far the hue is from that of the channel, in sixths
        local turn = (hue * 6 + from) % 6
        local share = np.clip(np.minimum(turn, 4 - turn), 0, 1)
        list[k] = value - value * saturation * share
    end
    return operands.narrow(np.stack(list, { axis = -1 }), half)
end

--- np.image.equalize_hist(x, {nbins=256}): x with its brightnesses evened out: each element becomes the part of all
-- elements that are at most as bright, by a histogram of nbins bins with lines between. Floats from 0 to 1.
--- nbins: how many bins the histogram has
--- > np.image.equalize_hist(np.array{0, 1, 1, 3}, {nbins=4})
-- [0.25      0.6666666 0.6666666 1.       ]
function colors.equalize_hist(x, given)
    local name = "equalize_hist"
    local o = core.options("image.equalize_hist", given, { nbins = true })
    local bins = core.integer("image.equalize_hist", nil, "nbins", o.nbins == nil and 256 or o.nbins, 1, 2 ^ 20)
    x = windows.ordered(name, x)
    local half
    x, half = operands.wide(operands.float(x))
    local counts, edges = np.histogram(np.ravel(x), bins)
    local sums = np.cumsum(np.astype(counts, x.dtype))
    local width = (edges[-1] - edges[0]) / bins
    local middles = edges[0] + width * np.astype(create.iota(bins, core.dtype_codes.f64) + 0.5, x.dtype)
    return operands.narrow(np.interp(x, np.astype(middles, x.dtype), sums / sums[-1]), half)
end

return colors
