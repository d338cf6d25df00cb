--- warps.lua: np.image's warps: an image at other places: zoom, shift, rotate, affine_transform.
--
-- Each says where the elements of the result lie in the image; np.interpolate.map_coordinates reads the image there. So
-- images and, with order 1 and more, what moves them are differentiable.

--- {order}: 1: between elements along straight lines; 0: the nearest element; 2 to 5: a spline of this degree through
-- the elements (SciPy's default is 3)
--- {mode}: beyond the ends: "constant" cval, "nearest", "mirror", "reflect" or "wrap"
--- {cval}: what stands beyond the ends with "constant"

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local windows = require "neap.image.windows"
local prefilter = require "neap.interpolate.prefilter"
local signals = require "neap.signal.signals"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local shape_of = core.shape_of

local warps = {}

--- The real dtype of places of an image.
local function real_of(x)
    local dtype = core.dtype_of(x)
    if dtype.kind == "c" then return dtype.part end
    return dtype.half and "f32" or dtype.real
end

--- The indices along axis k (from 1) of an image of these extents, of a shape that broadcasts.
local function grid(dims, k, dtype)
    local alone = {}
    for j = 1, #dims do alone[j] = j == k and dims[k] or 1 end
    return np.reshape(np.astype(create.iota(dims[k], core.dtype_codes.f64), dtype), alone)
end

--- x read at places, one array for each axis, of the extents `dims`.
local function read(name, x, places, dims, o)
    local list = {}
    for k, place in ipairs(places) do list[k] = shape.broadcast_to(place, dims) end
    local order = o.order == nil and 1 or core.integer("image." .. name, nil, "order", o.order, 0, 5)
    local mode = o.mode == nil and "constant" or o.mode
    if mode ~= "constant" and mode ~= "nearest" and mode ~= "wrap" and mode ~= "mirror" and mode ~= "reflect" then
        bad_argument("image." .. name, nil, "mode", '"constant", "nearest", "wrap", "mirror" or "reflect"', mode)
    end
    local cval = core.plain(o.cval == nil and 0 or o.cval)
    if not core.is_number(cval) then bad_argument("image." .. name, nil, "cval", "a number", cval) end
    return np.interpolate.map_coordinates(x, np.stack(list), order, { mode = mode, cval = cval })
end

local function known(more)
    local all = { order = true, mode = true, cval = true }
    for _, name in ipairs(more) do all[name] = true end
    return all
end

local function is_finite(value) return value == value and value ~= math.huge and value ~= -math.huge end

--- np.image.zoom(x, zoom, {order=1, mode="constant", cval=0}): x with round(zoom n) elements along each axis of n, the
-- first and the last one of which stay where they are. Keeps x's dtype. zoom is a number, or a table of one for each
-- axis. np.nn.resize has the conventions of networks instead.
--- > np.image.zoom(np.array{0, 2, 4}, 2)
-- [0.  0.8 1.6 2.4 3.2 4. ]
function warps.zoom(x, zoom, given)
    local o = core.options("image.zoom", given, known {})
    x = windows.image("zoom", x)
    local dims, new, places, dtype = shape_of(x), {}, {}, real_of(x)
    local factors = windows.per_axis("zoom", 2, "zoom", zoom, #dims, "a number above 0", function(factor)
        return factor > 0 and factor < 2 ^ 20
    end)
    for k, n in ipairs(dims) do
        local even = math.floor(n * factors[k])
        local rest = n * factors[k] - even
        new[k] = (rest > 0.5 or rest == 0.5 and even % 2 == 1) and even + 1 or even
        if new[k] < 1 then raise("image.zoom", "axis %d of %d elements would have none", k - 1, n) end
    end
    for k, n in ipairs(dims) do
        places[k] = grid(new, k, dtype) * (new[k] > 1 and (n - 1) / (new[k] - 1) or 1)
    end
    return read("zoom", x, places, new, o)
end

--- np.image.shift(x, shift, {order=1, mode="constant", cval=0}): x moved by `shift` elements towards greater indices, a
-- number or a table of one for each axis. Keeps x's dtype.
--- > np.image.shift(np.array{1, 2, 3}, 0.5)
-- [0.5 1.5 2.5]
function warps.shift(x, shift, given)
    local o = core.options("image.shift", given, known {})
    x = windows.image("shift", x)
    local dims, places, dtype = shape_of(x), {}, real_of(x)
    local by = windows.per_axis("shift", 2, "shift", shift, #dims, "a number", is_finite)
    for k = 1, #dims do places[k] = grid(dims, k, dtype) - by[k] end
    return read("shift", x, places, dims, o)
end

--- np.image.affine_transform(x, matrix, {offset=0, output_shape=…, order=1, mode="constant", cval=0}): the image whose
-- element at the place p is the element of x at matrix p + offset. The matrix is square, a row for each axis, and
-- may be a traced array; with order 1 the result has derivatives in it. Keeps x's dtype.
--- offset: a number, or a table or an array of one for each axis
--- output_shape: the extents of the result; those of x by default
--- > np.image.affine_transform(np.array{1, 2, 3, 4}, {{2}}, {output_shape={2}})
-- [1. 3.]
function warps.affine_transform(x, matrix, given)
    local name = "affine_transform"
    local o = core.options("image.affine_transform", given, known { "offset", "output_shape" })
    x = windows.image(name, x)
    local n, dtype = core.ndim(x), real_of(x)
    local row = core.dtypes[core.dtype_codes[dtype]]
    matrix = np.astype(operands.beside("image." .. name, 2, matrix, row), dtype)
    if not shape.same(shape_of(matrix), { n, n }) then
        raise("image." .. name, "argument 2 (matrix) must have the shape {%d, %d}, got %s", n, n,
              core.shape_text(matrix))
    end
    local offset = signals.array("image." .. name, "offset", o.offset == nil and 0 or o.offset, dtype)
    if core.ndim(offset) > 0 and not shape.same(shape_of(offset), { n }) then
        raise("image." .. name, "option 'offset' must be a number or %d of them, got shape %s", n,
              core.shape_text(offset))
    end
    local dims = o.output_shape == nil and shape_of(x)
                 or core.integers("image." .. name, nil, "extents", o.output_shape, 1)
    if #dims ~= n then raise("image." .. name, "option 'output_shape' has %d extents for %d axes", #dims, n) end
    local places = {}
    for k = 1, n do
        local place = core.ndim(offset) == 0 and offset or offset[k - 1]
        for j = 1, n do place = place + grid(dims, j, dtype) * matrix[k - 1][j - 1] end
        places[k] = place
    end
    return read(name, x, places, dims, o)
end

--- np.image.rotate(x, angle, {axes={1, 0}, reshape=true, order=1, mode="constant", cval=0}): x turned by an angle in
-- degrees, from the first of two axes towards the second; others stay. Keeps x's dtype.
--- axes: the two axes of the plane
--- reshape: false: the result has x's shape; else all of x is in it
--- > np.round(np.image.rotate(np.array{{1, 2}, {3, 4}}, 90), 4)
-- [[2. 4.]
--  [1. 3.]]
function warps.rotate(x, angle, given)
    local name = "rotate"
    local o = core.options("image.rotate", given, known { "axes", "reshape" })
    x = windows.image(name, x)
    angle = core.plain(angle)
    if type(angle) ~= "number" or not is_finite(angle) then
        bad_argument("image.rotate", 2, "angle", "a number of degrees", angle)
    end
    local axes, dims = o.axes == nil and { 1, 0 } or o.axes, shape_of(x)
    if type(axes) ~= "table" or #axes ~= 2 then bad_argument("image.rotate", nil, "axes", "two axes", axes) end
    local a, b = core.axis("image.rotate", axes[1], #dims), core.axis("image.rotate", axes[2], #dims)
    if a == b then raise("image.rotate", "option 'axes' names axis %d twice", a) end
    if o.reshape ~= nil and type(o.reshape) ~= "boolean" then
        bad_argument("image.rotate", nil, "reshape", "a boolean", o.reshape)
    end
    a, b = math.min(a, b) + 1, math.max(a, b) + 1
    local c, s = math.cos(math.rad(angle)), math.sin(math.rad(angle))
    if angle % 90 == 0 then c, s = math.floor(c + 0.5), math.floor(s + 0.5) end
    local new = core.copy_list(dims)
    if o.reshape ~= false then
        new[a] = math.floor(math.abs(c) * dims[a] + math.abs(s) * dims[b] + 0.5)
        new[b] = math.floor(math.abs(s) * dims[a] + math.abs(c) * dims[b] + 0.5)
    end
    local places, dtype = {}, real_of(x)
    for k = 1, #dims do places[k] = grid(new, k, dtype) end
    local u, v = places[a] - (new[a] - 1) / 2, places[b] - (new[b] - 1) / 2
    places[a] = u * c + v * s + (dims[a] - 1) / 2
    places[b] = v * c - u * s + (dims[b] - 1) / 2
    return read(name, x, places, new, o)
end

-- ---- Splines --------------------------------------------------------------------------------------------------------

local ENDS = { mirror = "mirror", reflect = "reflect", wrap = "wrap", constant = "mirror", nearest = "reflect" }

--- np.image.spline_filter(x, order, {mode="mirror"}): the coefficients of the spline of degree `order`, 2 to 5 (3 by
-- default), that passes through the elements of x: it is their sum times B-splines around each element. As
-- scipy.ndimage.spline_filter; np.image.zoom and its kin find them themselves. Integers give floats; differentiable.
--- mode: how x goes on beyond the ends: "mirror", "reflect" or "wrap" (SciPy's "grid-wrap"); "constant" is "mirror"
-- here, and "nearest" "reflect"
--- > np.round(np.image.spline_filter(np.array{0, 0, 1, 0, 0}, 3), 4)
-- [ 0.25 -0.5   1.75 -0.5   0.25]
function warps.spline_filter(x, order, given)
    local name = "image.spline_filter"
    local o = core.options(name, given, { mode = true })
    order = core.integer(name, 2, "order", order == nil and 3 or order, 2, 5)
    local mode = o.mode == nil and "mirror" or o.mode
    if not ENDS[mode] then
        bad_argument(name, nil, "mode", '"mirror", "reflect", "wrap", "constant" or "nearest"', mode)
    end
    local half
    x, half = operands.wide(operands.float(windows.image("spline_filter", x)))
    return operands.narrow(prefilter.coefficients(x, order, ENDS[mode]), half)
end

return warps
