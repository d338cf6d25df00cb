--- differences.lua: neighbours along an axis: differences, derivatives and integrals by them, convolutions.
--
-- All of it is slices and arithmetic of these, so it is lazy, and gradients and batches come with it. The module has
-- what integrals of samples share.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"

local np, define = core.np, core.define
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, is_array = core.shape_of, core.is_array
local cut = shape.cut

local differences = {}

--- What diff gets in front of x or behind it: an array of x's axes, or a number, which stands once.
local function beside(name, option, value, x, axis)
    if value == nil then return nil end
    local known = is_array(value) or type(value) == "number" or type(value) == "table" or core.complex.is(value)
        or core.integer64(value) or core.is_size(value)
    if not known then bad_argument(name, nil, option, "an array or a number", value) end
    value = operands.beside(name, 1, value, core.dtype_of(x))
    local dims, own = shape_of(x), shape_of(value)
    if #own == 0 then -- in the dtype that both have: a number has none of its own
        dims[axis + 1] = 1
        return shape.broadcast_to(np.astype(value, np.where(true, cut(x, axis, 0, 0), value).dtype), dims)
    end
    dims[axis + 1] = own[axis + 1]
    if not shape.same(dims, own) then
        raise(name, "option '%s' of shape %s does not fit the array of shape %s along axis %d", option,
              core.shape_text(own), core.shape_text(x), axis)
    end
    return value
end

--- np.diff(x, {n=1, axis=-1, prepend=…, append=…}): each element but the first minus the one before it, n times. Of
-- bools: where they change.
--- n: how many times
--- prepend: what stands in front of x along the axis: an array, or a number
--- append: what stands behind x along the axis: an array, or a number
--- > np.array{1, 4, 9, 16}:diff(), np.array{1, 4, 9, 16}:diff{n=2}
-- [3. 5. 7.]
-- [2. 2.]
--- > np.diff(np.array{1, 4, 9}, {prepend=0, append=np.array{16}})
-- [1. 3. 5. 7.]
define("diff", function(x, given, extra)
    if extra ~= nil then core.too_many("diff", 2, extra) end
    x = coerce("diff", 1, x)
    local o = options("diff", given, { n = true, axis = true, prepend = true, append = true })
    local axis = core.axis("diff", o.axis == nil and -1 or o.axis, core.ndim(x))
    local times = core.integer("diff", nil, "n", o.n == nil and 1 or o.n, 0)
    if times == 0 then return x end
    local front, back = beside("diff", "prepend", o.prepend, x, axis), beside("diff", "append", o.append, x, axis)
    if front or back then
        local list = { front or x, front and x or back, front and back or nil }
        x = shape.join(list, axis)
    end
    local minus, half = core.dtype_of(x).kind == "b" and np.not_equal or np.subtract, nil
    if times > 1 then x, half = operands.wide(x) end
    local n = shape_of(x)[axis + 1]
    for _ = 1, core.is_size(n) and times or math.min(times, n) do -- of no elements it goes on to be nothing
        local from = math.min(1, n)
        x = minus(cut(x, axis, from, n), cut(x, axis, 0, n - from))
        n = n - from
    end
    return operands.narrow(x, half)
end)

--- np.ediff1d(x, {to_begin=…, to_end=…}): the differences of neighbours in the flattened array.
--- to_begin: elements that stand in front of the differences: an array, a table or a number
--- to_end: elements that stand behind them
--- > np.ediff1d(np.array{{1, 4}, {9, 16}}, {to_begin=0})
-- [0. 3. 5. 7.]
define("ediff1d", function(x, given, extra)
    if extra ~= nil then core.too_many("ediff1d", 2, extra) end
    local o = options("ediff1d", given, { to_begin = true, to_end = true })
    local front, back = o.to_begin, o.to_end
    local met = is_array(front) and front or is_array(back) and back or nil
    x = operands.beside("ediff1d", 1, x, met and core.dtype_of(met))
    local result = np.diff(np.ravel(x))
    local dtype = core.dtype_of(result)
    local function ends(name, value)
        value = operands.beside("ediff1d", 2, value, dtype)
        local own = core.dtype_of(value)
        if own.kind == "c" and dtype.kind ~= "c" or own.inexact and not dtype.inexact then
            raise("ediff1d", "option '%s' of dtype %s does not fit differences of dtype %s", name, own.name, dtype.name)
        end
        return np.astype(np.ravel(value), dtype.name)
    end
    local list = { result }
    if front ~= nil then table.insert(list, 1, ends("to_begin", front)) end
    if back ~= nil then list[#list + 1] = ends("to_end", back) end
    return #list == 1 and result or shape.join(list, 0)
end)

--- A 1-d array as one of ndim axes that runs along `axis`.
local function along(x, axis, ndim)
    local dims = {}
    for k = 1, ndim do dims[k] = k == axis + 1 and x.size or 1 end
    return shape.reshape(x, dims)
end

-- ---- Derivatives and integrals --------------------------------------------------------------------------------------

--- The distances of neighbouring coordinates along an axis, as floats: of integers exact before they become such.
local function distances(at, axis)
    local dtype = core.dtype_of(at)
    if dtype.inexact then return np.diff(operands.wide(at), { axis = axis }) end
    return np.astype(np.diff(np.astype(at, "i64"), { axis = axis }), dtype.real)
end

--- The derivative at an end of the axis by the next one or two elements: `f(k)` is element k counted from that end,
-- `h1`, `h2` the distances of the first elements, negative at the end of the axis.
local function edge(f, h1, h2, order)
    if order == 1 then return (f(1) - f(0)) / h1 end
    local a = -(h1 * 2 + h2) / (h1 * (h1 + h2))
    local b, c = (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
    return f(0) * a + f(1) * b + f(2) * c
end

--- The derivative along one axis; spacing: a number, an array of no axes, or coordinates.
local function gradient_along(x, axis, spacing, order)
    local n, ndim = shape_of(x)[axis + 1], core.ndim(x)
    if n < order + 1 then
        raise("gradient", "axis %d needs at least %d elements, has %d", axis, order + 1, n)
    end
    local h, even = spacing, true
    if is_array(spacing) and core.ndim(spacing) > 0 then
        if core.ndim(spacing) ~= 1 or spacing.size ~= n then
            raise("gradient", "coordinates for axis %d must have shape (%d,), got %s", axis, n,
                  core.shape_text(spacing))
        end
        h, even = along(distances(spacing, 0), axis, ndim), false
        if not core.dtype_of(spacing).inexact then h = np.astype(h, core.dtype_of(x).part) end
    end
    local function at(from, to) return cut(x, axis, from, to) end
    local function step(k) return even and h or cut(h, axis, k, k + 1) end
    local parts = { edge(function(k) return at(k, k + 1) end, step(0), order == 2 and step(1), order) }
    if core.is_size(n) or n > 2 then -- of a size the part may have no elements
        if even then
            parts[2] = (at(2, n) - at(0, n - 2)) / (h * 2)
        else
            local h1, h2 = cut(h, axis, 0, n - 2), cut(h, axis, 1, n - 1)
            local whole = h1 + h2 -- weights first: what fits stays below infinity
            -- At equal distances the element itself has no part, and may be infinite.
            local equal = np.all(np.equal(h, step(0)))
            local middle = np.where(equal, 0, at(1, n - 1) * ((h2 - h1) / (h1 * h2)))
            parts[2] = at(2, n) * (h1 / (h2 * whole)) + middle - at(0, n - 2) * (h2 / (h1 * whole))
        end
    end
    parts[#parts + 1] = edge(function(k) return at(n - 1 - k, n - k) end, -step(n - 2), order == 2 and -step(n - 3),
                             order)
    return shape.join(parts, axis)
end

--- np.gradient(x, spacing…, {axis=…, edge_order=1}) -> a, b, …: the derivative along each axis, by the neighbours on
-- both sides, at the ends by those on one side; several results for several axes. The spacing, 1 without it, is a
-- number for all axes, or for each axis a number or the coordinates (1-d).
--- axis: an axis or a table of them; all without it
--- edge_order: how exact the ends are: 1, or 2, which takes three elements
--- > np.gradient(np.array{0, 1, 4, 9, 16})
-- [1. 2. 4. 6. 7.]
--- > np.gradient(np.array{0, 1, 4, 9}, 2), np.gradient(np.array{0, 1, 9}, np.array{0, 1, 3}, {edge_order=2})
-- [0.5 1.  2.  2.5]
-- [0. 2. 6.]
define("gradient", function(x, ...)
    local spacings = { ... }
    local last, given = spacings[#spacings], nil
    if type(last) == "table" and #last == 0 then given = table.remove(spacings) end
    local o = options("gradient", given, { axis = true, edge_order = true })
    local met
    for k = 1, #spacings do met = met or is_array(spacings[k]) and core.dtype_of(spacings[k]) end
    x = operands.beside("gradient", 1, x, met)
    local dtype = core.dtype_of(operands.float(x))
    local order, ndim = o.edge_order == nil and 1 or o.edge_order, core.ndim(x)
    if order ~= 1 and order ~= 2 then bad_argument("gradient", nil, "edge_order", "1 or 2", order) end
    local axes = {}
    if o.axis ~= nil then
        axes = shape.axes("gradient", o.axis, ndim)
    else
        for k = 1, ndim do axes[k] = k - 1 end
    end
    if #spacings > 1 and #spacings ~= #axes then
        raise("gradient", "takes no spacing, one, or one for each of the %d axes, got %d", #axes, #spacings)
    end
    for k = 1, #spacings do
        spacings[k] = (type(spacings[k]) == "number" or core.is_size(spacings[k])) and spacings[k]
            or operands.beside("gradient", k + 1, spacings[k], dtype)
    end
    local results = {}
    for k, axis in ipairs(axes) do
        local spacing = spacings[k] or spacings[1]
        local half, floats = operands.floats_list("gradient", nil, is_array(spacing) and 2 or 1, { x, spacing })
        results[k] = operands.narrow(gradient_along(floats[1], axis, spacing == nil and 1 or spacing, order), half)
    end
    return unpack(results)
end)

--- y, which gets more axes in front where x has more, the axis there, and the widths between coordinates x.
local function with_coordinates(name, y, x, axis, n)
    local own, of_x, of_y = core.ndim(x), shape_of(x), shape_of(y)
    local behind = #of_y - axis
    local fits = own == 1 and x.size == n or own >= behind and of_x[own - behind + 1] == n
    for k = 1, own > 1 and fits and math.min(own, #of_y) or 0 do -- from the last axis on
        local a, b = of_x[own - k + 1], of_y[#of_y - k + 1]
        fits = fits and (k == behind or core.is_same(a, 1) or core.is_same(b, 1) or a == b or a == 1 or b == 1)
    end
    if not fits then
        raise(name, "coordinates of shape %s do not fit axis %d of shape %s", core.shape_text(x), axis,
              core.shape_text(y))
    end
    if own == 1 then return y, axis, along(distances(x, 0), axis, #of_y) end
    local dims = {}
    for k = 1, own - #of_y do dims[k] = 1 end
    for k = 1, #of_y do dims[#dims + 1] = of_y[k] end
    return shape.reshape(y, dims), #dims - behind, distances(x, own - behind)
end

--- The arguments of an integral of samples, of which `known` names the options: y as floats, halves as f32; the axis;
-- the widths between samples, a number, or an array along the axis; whether these are all the same; the half that the
-- result has, and the options.
function differences.samples(name, known, y, x, given, extra)
    if type(x) == "table" and x[1] == nil then x, given, extra = nil, x, given or extra end
    if extra ~= nil then core.too_many(name, 3, extra) end
    if x ~= nil then y, x = operands.meet(name, 2, y, x) end
    local half, floats = operands.floats_list(name, nil, x == nil and 1 or 2, { operands.beside(name, 1, y), x })
    y = floats[1]
    local o = options(name, given, known)
    local axis = core.axis(name, o.axis == nil and -1 or o.axis, core.ndim(y))
    local n, width = shape_of(y)[axis + 1], o.dx == nil and 1 or core.plain(o.dx)
    if not core.is_number(width) and not is_array(width) then
        bad_argument(name, nil, "dx", "a number or an array", width)
    end
    if x ~= nil then
        y, axis, width = with_coordinates(name, y, x, axis, n)
        if not core.dtype_of(x).inexact then width = np.astype(width, core.dtype_of(y).part) end
    end
    return y, axis, width, x == nil, half, o
end

--- np.trapezoid(y, x, {dx=1, axis=-1}), np.trapz(y, x): the integral of y along an axis, by straight lines between
-- neighbours. x, if there is one, has their coordinates: 1-d, or of a shape that broadcasts with y's.
--- dx: the distance of neighbours, without x
--- > np.trapezoid(np.array{1, 2, 3}), np.trapz(np.array{1, 2, 3}, np.array{0, 1, 3})
-- 4.0
-- 6.5
local function trapezoid(y, x, given, extra)
    local axis, width, half, _
    y, axis, width, _, half = differences.samples("trapezoid", { dx = true, axis = true }, y, x, given, extra)
    local n = shape_of(y)[axis + 1]
    if not core.is_size(n) and n < 2 then return operands.narrow(np.sum(cut(y, axis, 0, 0), { axis = axis }), half) end
    local sums = cut(y, axis, 1, n) + cut(y, axis, 0, n - 1)
    return operands.narrow(np.sum(sums * width, { axis = axis }) / 2, half)
end
define("trapezoid", trapezoid)
define("trapz", trapezoid)

-- ---- Convolutions ---------------------------------------------------------------------------------------------------

local MODES = { full = true, same = true, valid = true }

--- The sums of products of v with each of its places over a, which is not shorter.
local slide
function slide(a, v, mode)
    local dtype = core.dtype_of(a)
    if dtype.kind == "c" then
        local re, im, by_re, by_im = np.real(a), np.imag(a), np.real(v), np.imag(v)
        return np.complex(slide(re, by_re, mode) - slide(im, by_im, mode),
                          slide(re, by_im, mode) + slide(im, by_re, mode))
    end
    local n, m = a.size, v.size
    local before, size = m - 1, n + m - 1
    if mode == "valid" then before, size = 0, n - m + 1 end
    if mode == "same" then before, size = math.floor(m / 2), n end
    if dtype.kind ~= "f" and dtype.bytes < 4 then a, v = np.astype(a, "i32"), np.astype(v, "i32") end
    core.attrs[0], core.attrs[1] = core.put(0, before), core.put(1, size)
    return np.astype(core.recordn(core.ids.slide, { a, v }, 2, 2), dtype.name)
end

local function sliding(name, default, turned)
    define(name, function(a, v, given, extra)
        if extra ~= nil then core.too_many(name, 3, extra) end
        a, v = operands.meet(name, 2, a, v)
        if type(given) == "string" then given = { mode = given } end
        local mode = options(name, given, { mode = true }).mode or default
        if not MODES[mode] then bad_argument(name, nil, "mode", '"full", "same" or "valid"', mode) end
        if core.ndim(a) ~= 1 or core.ndim(v) ~= 1 then
            raise(name, "both arrays must have 1 axis, got shapes %s and %s", core.shape_text(a), core.shape_text(v))
        end
        if a.size == 0 or v.size == 0 then raise(name, "both arrays must have elements") end
        local dtype = core.dtypes[core.info(np.add(cut(a, 0, 0, 1), cut(v, 0, 0, 1))).dtype].name
        a, v = np.astype(a, dtype), np.astype(v, dtype)
        if not turned then v = np.conj(v) end
        local swapped = a.size < v.size
        if swapped then a, v = v, a end
        local result = slide(a, turned and np.flip(v) or v, mode)
        return swapped and not turned and np.flip(result) or result
    end)
end
--- np.convolve(a, v, {mode="full"}), np.correlate(a, v, {mode="valid"}): sums of products of two 1-d arrays, one moved
-- along the other; np.convolve turns v around, np.correlate takes conj(v). An array of n with one of m elements gives
-- n + m - 1.
--- mode: "full" gives all places where both meet, "same" as many as the longer one has, "valid" those where all of the
-- shorter one is met
--- > np.convolve(np.array{1, 2, 3}, np.array{0, 1, 0.5}), np.correlate(np.array{1, 2, 3}, np.array{0, 1, 0.5})
-- [0.  1.  2.5 4.  1.5]
-- [3.5]
sliding("convolve", "full", true)
sliding("correlate", "valid", false)

return differences
