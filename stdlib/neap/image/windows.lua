--- windows.lua: shared by the functions of np.image: options, images that go on beyond their ends, windows, sums of
-- products.
--
-- A window of n elements begins n / 2 (rounded down) elements before its place, as in scipy.ndimage.
local core = require "neap.core"
local signals = require "neap.signal.signals"

local np = core.np
local raise, bad_argument, type, floor = core.raise, core.bad_argument, type, math.floor
local shape_of = core.shape_of

local windows = {}

-- SciPy's modes in np.pad's words.
local PADS = { reflect = "symmetric", nearest = "edge", mirror = "reflect", wrap = "wrap", constant = "constant" }

--- The options `mode` and `cval` of np.image.name: a table of both.
function windows.ends(name, o)
    local mode = o.mode == nil and "reflect" or o.mode
    if not PADS[mode] then
        bad_argument("image." .. name, nil, "mode", '"reflect", "nearest", "mirror", "wrap" or "constant"', mode)
    end
    local cval = core.plain(o.cval == nil and 0 or o.cval)
    if not core.is_number(cval) then bad_argument("image." .. name, nil, "cval", "a number", cval) end
    return { mode = mode, cval = cval }
end

--- A number for each of n axes: `value` is a number or a table of numbers, which `fits`.
function windows.per_axis(name, position, what, value, n, expected, fits)
    local list = {}
    if type(value) == "table" then core.list("image." .. name, what, value) end
    for k = 1, n do
        list[k] = core.plain(value)
        if type(value) == "table" then list[k] = core.plain(value[k]) end
        if type(list[k]) ~= "number" or not fits(list[k]) or type(value) == "table" and #value ~= n then
            bad_argument("image." .. name, position, what, ("%s, or %d of them in a table"):format(expected, n), value)
        end
    end
    return list
end

--- The extents of a window over n axes.
function windows.sizes(name, position, value, n)
    return windows.per_axis(name, position, "size", value == nil and 3 or value, n, "an integer from 1", function(size)
        return size >= 1 and size % 1 == 0
    end)
end

--- Argument 1 as an image: an array of at least one axis, with elements.
function windows.image(name, x)
    x = core.coerce("image." .. name, 1, x)
    if core.ndim(x) == 0 then raise("image." .. name, "needs at least 1 axis, got a 0-d array") end
    for k, n in ipairs(shape_of(x)) do
        if n == 0 then raise("image." .. name, "axis %d has no elements", k - 1) end
    end
    return x
end

--- x with elements around, so that windows of these sizes fit at each place; `later`: windows of an even size begin an
-- element later.
function windows.extended(x, sizes, ends, later)
    local widths = {}
    for k, size in ipairs(sizes) do
        local before = later and floor((size - 1) / 2) or floor(size / 2)
        widths[k] = { before, size - 1 - before }
    end
    if ends.mode == "constant" then
        return np.pad(x, widths, { value = np.astype(core.number(ends.cval), x.dtype) })
    end
    return np.pad(x, widths, { mode = PADS[ends.mode] })
end

--- The sizes of a window of `size` elements along one axis of n.
function windows.only(n, axis, size)
    local sizes = {}
    for k = 1, n do sizes[k] = k == axis + 1 and size or 1 end
    return sizes
end

--- The sums of products of weights (1-d, f64) with the elements of x around each place along an axis.
function windows.along(x, axis, weights, ends)
    local size = shape_of(weights)[1]
    x = windows.extended(x, windows.only(core.ndim(x), axis, size), ends)
    x = signals.slid(np.moveaxis(x, axis, -1), np.astype(weights, core.dtype_of(x).name), 0, 0)
    return np.moveaxis(x, -1, axis)
end

--- Argument 1 as an image of numbers that have an order.
function windows.ordered(name, x)
    x = windows.image(name, x)
    if core.dtype_of(x).kind == "c" then
        raise("image." .. name, "complex numbers have no order, got dtype %s", core.dtype_of(x).name)
    end
    return x
end

--- The least or the greatest elements (`how` "min" or "max") of windows, as options of np.image.name say.
function windows.extreme(name, x, size, given, how, later)
    local ends = windows.ends(name, core.options("image." .. name, given, { mode = true, cval = true }))
    x = windows.ordered(name, x)
    for k, n in ipairs(windows.sizes(name, 2, size, core.ndim(x))) do
        if n > 1 then
            x = windows.extended(x, windows.only(core.ndim(x), k - 1, n), ends, later)
            x = np[how](np.sliding_window_view(x, n, { axis = k - 1 }), { axis = -1 })
        end
    end
    return x
end

return windows
