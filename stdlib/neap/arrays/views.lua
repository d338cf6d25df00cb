--- views.lua: views of arrays that NumPy has names for: turned, mirrored, with axes moved or added, and windows.
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np, define = core.np, core.define
local raise, coerce, options = core.raise, core.coerce, core.options
local shape_of, type = core.shape_of, type

for name, row in pairs { flipud = { 0, 1 }, fliplr = { 1, 2 } } do
    --- np.flipud(x), np.fliplr(x): the rows in reverse order (the first axis); the columns (the second one). Views.
    --- > np.flipud(np.arange(3)), np.fliplr(np.array{{1, 2}, {3, 4}})
    -- [2 1 0]
    -- [[2. 1.]
    --  [4. 3.]]
    define(name, function(x)
        x = coerce(name, 1, x)
        if core.ndim(x) < row[2] then
            raise(name, "needs at least %d ax%ss, got shape %s", row[2], row[2] == 1 and "i" or "e", core.shape_text(x))
        end
        return np.flip(x, row[1])
    end)
end

--- np.rot90(x, k, {axes={0, 1}}): x turned by k times 90 degrees (once without k) from the first of two axes towards
-- the second. A view.
--- axes: the two axes of the plane
--- > np.rot90(np.array{{1, 2}, {3, 4}})
-- [[2. 4.]
--  [1. 3.]]
define("rot90", function(x, k, given)
    x = coerce("rot90", 1, x)
    if type(k) == "table" and given == nil then k, given = nil, k end
    given = options("rot90", given, { axes = true })
    k = core.integer("rot90", 2, "k", k == nil and 1 or k) % 4
    local axes = shape.axes("rot90", given.axes == nil and { 0, 1 } or given.axes, core.ndim(x))
    if #axes ~= 2 then raise("rot90", "axes must be two, got %d", #axes) end
    if k == 0 then return x end
    if k == 2 then return np.flip(x, { axis = axes }) end
    if k == 1 then return np.swapaxes(np.flip(x, { axis = axes[2] }), axes[1], axes[2]) end
    return np.flip(np.swapaxes(x, axes[1], axes[2]), { axis = axes[2] })
end)

--- np.rollaxis(x, axis, start): an axis moved before the one at place start (0 without it). A view; np.moveaxis is
-- easier to read.
--- > np.rollaxis(np.zeros{2, 3, 4}, 2):dim(0)
-- 4
define("rollaxis", function(x, axis, start)
    x = coerce("rollaxis", 1, x)
    local ndim = core.ndim(x)
    axis = core.axis("rollaxis", axis, ndim)
    start = core.integer("rollaxis", 3, "start", start == nil and 0 or start)
    if start < -ndim or start > ndim then
        raise("rollaxis", "place %d is out of range for an array of %d axes", start, ndim)
    end
    if start < 0 then start = start + ndim end
    return np.moveaxis(x, axis, axis < start and start - 1 or start)
end)

--- np.atleast_3d(x, …): x with three axes or more: a 1-d array of n elements becomes (1, n, 1), an (m, n) one (m, n,
-- 1). Several arguments give as many results.
--- > np.atleast_3d(np.arange(2)).shape[2]
-- 2
shape.at_least("atleast_3d", 3, function(dims)
    return #dims == 2 and { dims[1], dims[2], 1 } or { 1, dims[1] or 1, 1 }
end)

--- np.sliding_window_view(x, {2, 3}, {axis=…}): all windows of that shape over x, whose axes come last: (m, n) gives (m
-- - 1, n - 2, 2, 3). A number is a window over one axis. A view.
--- axis: the axes over which the windows slide, one for each extent; all axes without it
--- > np.sliding_window_view(np.arange(4), 2)
-- [[0 1]
--  [1 2]
--  [2 3]]
define("sliding_window_view", function(x, window, given)
    x = coerce("sliding_window_view", 1, x)
    window = core.integers("sliding_window_view", 2, "extents", type(window) == "table" and window or { window }, 1)
    local axis, axes = options("sliding_window_view", given, { axis = true }).axis, {}
    local dims = shape_of(x)
    if axis == nil then
        for k = 1, #dims do axes[k] = k - 1 end
    else
        axes = type(axis) == "table" and axis or { axis }
    end
    if #axes ~= #window then
        raise("sliding_window_view", "%d extents of a window for %d axes", #window, #axes)
    end
    for k = 1, #window do
        local at, n = core.axis("sliding_window_view", axes[k], #dims), window[k]
        local room = shape_of(x)[at + 1]
        if n > room then
            raise("sliding_window_view", "a window of %s elements does not fit into axis %d, of extent %s",
                  tostring(n), at, tostring(room))
        end
        core.attrs[0], core.attrs[1], core.attrs[2], core.attrs[3] = at, core.put(1, n), 1, 1
        x = core.record1(core.ids.windows, x, 4)
    end
    return x
end)
