--- spatial.lua: the arguments of functions over images, for np.nn's convolutions, pools and their kin: layouts, options
-- of spatial axes, paddings, windows.
--
-- Images are (batch, spatial axes…, channels), 1 to 3 spatial axes, or with layout "NCHW" (NCW, NCDHW) (batch,
-- channels, spatial axes…): the axes are exchanged by views.
local core = require "neap.core"
local create = require "neap.arrays.create"
local shape = require "neap.arrays.shape"

local np, ids, attrs = core.np, core.ids, core.attrs
local raise, bad_argument = core.raise, core.bad_argument
local shape_of, shape_text = core.shape_of, core.shape_text

local spatial = {}

--- An option with one integer (at least `least`) for each of n spatial axes, or one for all.
function spatial.per_axis(name, what, value, n, default, least)
    if value == nil then value = default end
    local list = {}
    if type(value) == "table" then core.list(name, ("option '%s'"):format(what), value) end
    for k = 1, n do
        list[k] = value
        if type(value) == "table" then list[k] = value[k] end
        list[k] = core.plain(list[k])
        if not core.is_integer(list[k]) or list[k] < least or type(value) == "table" and #value ~= n then
            bad_argument(name, nil, what, ("an integer from %d up, or %d of them"):format(least, n), value)
        end
    end
    return list
end

--- What to put before and behind each spatial axis of the given extents, which windows of `window` elements (dilation
-- included) go over in steps of `strides`.
function spatial.paddings(name, padding, extents, window, strides)
    local n, low, high = #extents, {}, {}
    for k = 1, n do
        local pair = padding
        if type(padding) == "string" and padding:upper() == "SAME" then
            local places = math.ceil(extents[k] / strides[k])
            local total = math.max((places - 1) * strides[k] + window[k] - extents[k], 0)
            pair = { math.floor(total / 2), math.ceil(total / 2) }
        elseif type(padding) == "string" and padding:upper() == "VALID" then
            pair = 0
        elseif type(padding) == "table" and #core.list(name, "option 'padding'", padding) == n then
            pair = padding[k]
        end
        pair = type(pair) == "table" and core.list(name, "a pair of option 'padding'", pair) or { pair, pair }
        low[k], high[k] = core.plain(pair[1]), core.plain(pair[2])
        for _, width in ipairs { low[k] or false, high[k] or false } do
            if not core.is_integer(width) then
                bad_argument(name, nil, "padding",
                             ('"SAME", "VALID", an integer, or %d pairs {before, after}'):format(n), padding)
            end
        end
    end
    return low, high
end

--- Images with their channels last, the number of spatial axes, whether the channels came first.
function spatial.images(name, x, layout)
    x = core.coerce(name, 1, x)
    local n = core.ndim(x) - 2
    if n < 1 or n > 3 then
        raise(name, "argument 1 must be images, of shape (batch, 1 to 3 spatial axes, channels), got shape %s",
              shape_text(x))
    end
    local letters = ("DHW"):sub(-n)
    local first = layout == "NC" .. letters
    if layout ~= nil and not first and layout ~= "N" .. letters .. "C" then
        raise(name, "option 'layout' must be \"N%sC\" or \"NC%s\" for images of %d spatial axes, got %s", letters,
              letters, n, core.describe(layout))
    end
    return first and np.moveaxis(x, 1, -1) or x, n, first
end

--- The number of channels of images.
function spatial.channels_of(name, x, layout)
    if not core.is_array(x) then
        raise(name, "the size of its input is not known: give it, or an example, as in layer:init(key, x)")
    end
    local dims = shape_of((spatial.images(name, x, layout)))
    return dims[#dims]
end

function spatial.extents(dims, n, from)
    return { unpack(dims, from, from + n - 1) }
end

--- Pads spatial axes with `value`, cuts them where a width is negative, and puts `gaps` values between neighbours.
-- Images have their channels last; with `first` they have them first.
function spatial.surround(x, value, low, high, gaps, first)
    local lo, hi, interior, any, before = {}, {}, {}, false, first and 2 or 1
    for axis = 1, #low + 2 do lo[axis], hi[axis], interior[axis] = 0, 0, 0 end
    for k = 1, #low do
        local axis = k + before
        lo[axis], hi[axis], interior[axis] = math.max(low[k], 0), math.max(high[k], 0), gaps and gaps[k] or 0
        local more = lo[axis] + hi[axis] + interior[axis]
        any = any or core.is_size(more) or more > 0
    end
    if any then x = shape.pad(x, create.value("pad", value, core.dtype_of(x).code), lo, hi, interior) end
    for k = 1, #low do
        if low[k] < 0 or high[k] < 0 then
            local extent = shape_of(x)[k + before]
            local from = math.min(math.max(-low[k], 0), extent)
            x = shape.cut(x, k + before - 1, from, math.max(extent - math.max(-high[k], 0), from))
        end
    end
    return x
end

--- x with an axis more at its end for each of n spatial axes: the windows that each place sees.
function spatial.windows(x, n, window, strides, dilation)
    for k = 1, n do
        attrs[0], attrs[1], attrs[2], attrs[3] = k, core.put(1, window[k]), core.put(2, strides[k]),
                                                 core.put(3, dilation and dilation[k] or 1)
        x = core.record1(ids.windows, x, 4)
    end
    return x
end

return spatial
