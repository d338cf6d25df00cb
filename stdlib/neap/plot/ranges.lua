--- ranges.lua: what the data of a layer covers of its axes and of the colours; and the colours of values.
local ffi = require "ffi"
local columns = require "neap.plot.columns"
local core = require "neap.core"
local styles = require "neap.plot.styles"

local NAN = core.NAN
local SHADES = 1000 -- of a map that lets something through
local bounds = columns.bounds
local ranges = {}

--- Makes an axis of a box contain low and high; nil: nothing.
function ranges.include(axis, low, high)
    if low == nil then return end
    axis.low, axis.high = math.min(axis.low or low, low), math.max(axis.high or high, high)
end
local include = ranges.include

--- Makes an axis contain another axis of the same scale; an end is tight if tight in both.
function ranges.widen(axis, other)
    if other.low == nil or axis.low ~= nil and (axis.log or false) ~= (other.log or false) then return end
    if axis.low == nil then
        if axis.log == nil then axis.log = other.log end
        axis.tight_low, axis.tight_high = other.tight_low, other.tight_high
    end
    axis.tight_low, axis.tight_high = axis.tight_low and other.tight_low, axis.tight_high and other.tight_high
    axis.turned = axis.turned or other.turned
    include(axis, other.low, other.high)
end

--- Widens an axis by a column.
function ranges.include_column(axis, column, n)
    include(axis, bounds(column, n, axis.log))
end

--- Widens the range of colours.
function ranges.cover_colors(column, n, layer, box)
    local low, high = bounds(column, n)
    box.map = layer.map
    include(box.colors, layer.vmin or low, layer.vmin or low)
    include(box.colors, layer.vmax or high, layer.vmax or high)
end

--- The colours of values as numbers 0xAARRGGBB, for a palette lets nothing through.
function ranges.shaded(values, n, layer, view)
    local low, high, out = view.colors.low or 0, view.colors.high or 1, columns.new(n)
    local through = math.floor((1 - layer.alpha) * 255 + 0.5) * 2 ^ 24
    local known = {} -- colours of the steps
    for k = 0, n - 1 do
        local part = high > low and (values[k] - low) / (high - low) or 0.5
        local step = part == part and math.floor(math.min(math.max(part, 0), 1) * SHADES + 0.5)
        if step and not known[step] then known[step] = through + styles.mapped(layer.map, step / SHADES) end
        out[k] = known[step] or NAN
    end
    return out
end

--- Values of a picture as gnuplot gets them: words behind "binary array=…", in which %s stands for where the pixels
-- are; and their bytes. What lets something through is pixels of colours, for a palette lets nothing through.
function ranges.colored(values, n, layer, view, axes)
    axes = axes or ""
    if layer.alpha == 1 then
        return "format='%%float64' %s using 1 with image " .. axes .. "notitle", ffi.string(values, 8 * n)
    end
    local colors, bytes = ranges.shaded(values, n, layer, view), ffi.new("uint8_t[?]", 4 * n)
    for k = 0, n - 1 do
        local color = colors[k]
        if color == color then
            local rgb = color % 2 ^ 24
            bytes[4 * k], bytes[4 * k + 1], bytes[4 * k + 2] = rgb / 65536, rgb / 256 % 256, rgb % 256
            bytes[4 * k + 3] = 255 * layer.alpha + 0.5
        end
    end
    return "format='%%uchar%%uchar%%uchar%%uchar' %s using 1:2:3:4 with rgbalpha " .. axes
        .. "notitle, NaN with points palette notitle", ffi.string(bytes, 4 * n) -- the second for the colour bar
end

--- The pixels of the axes each way, about, of a scale of 1: those of axes with equal units are alike.
function ranges.pixels_of(view)
    if view.mode == "cells" then return view.width / view.scale, view.height / view.scale end
    local wide = math.max(view.width / view.scale - view.beside, 10)
    local high = math.max(view.height / view.scale - view.above, 10)
    if view.equal and not view.x.log and not view.y.log then
        local across, up = view.x.high - view.x.low, view.y.high - view.y.low
        local unit = math.min(wide / across, high / up)
        wide, high = unit * across, unit * up
    end
    return wide, high
end

return ranges
