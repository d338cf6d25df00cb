--- fft.lua: np.fft: discrete Fourier transforms, under the names and with the options of NumPy.
--
-- All of them are made of three rows (lazy/ops/fft.c), which transform along an axis without a factor: dft complex
-- numbers, rdft real ones, irdft back to real ones; the rest is views, padding and products, so derivatives, np.jit and
-- np.vmap follow from those. f32 and integers give c64, f64 and integers of 64 bits c128. FFTW transforms, if it is
-- installed (Debian: libfftw3-single3, libfftw3-double3), c64 with rounding errors of f32; else our own code does, in
-- f64, whose results are rounded once. Either way a row has the same bits alone and among others; `neap doctor` says
-- which one it is.

--- {n}: how many elements are transformed: longer axes are cut, shorter ones get zeros behind; all without it
--- {axis}: along which axis; the last one without it
--- {s}: a table of extents, one for each axis: longer axes are cut, shorter ones get zeros behind
--- {axes}: a table of axes; without it as many of the last ones as s has, or all
--- {norm}: which transforms have a factor: "backward" the inverse ones 1/n, "forward" the others, "ortho" both 1/√n

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"

local np, ids, attrs = core.np, core.ids, core.attrs
local raise, bad_argument, coerce = core.raise, core.bad_argument, core.coerce
local shape_of = core.shape_of

local fft = {}

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- The options of np.fft.name, whose n may also stand alone behind the array.
local function options_of(name, given, more, known)
    given = core.plain(given)
    if core.is_number(given) then
        given, more = more or {}, given
    elseif more ~= nil then
        core.too_many("fft." .. name, 2, more)
    end
    local o = core.options("fft." .. name, given, known)
    if more then
        if o.n ~= nil then raise("fft." .. name, "n is given twice") end
        local all = { n = more }
        for key, value in pairs(o) do all[key] = value end
        o = all
    end
    return o
end

local LINE = { n = true, axis = true, norm = true }
local BOX = { s = true, axes = true, norm = true }

local function check_count(name, what, n)
    return core.integer("fft." .. name, nil, what, n, 1)
end

--- The factor of a transform of n elements; `inverse` ones have it by default.
local function factor_of(name, norm, inverse, n)
    if norm == nil then norm = "backward" end
    if norm == "ortho" then return 1 / math.sqrt(n) end
    if norm ~= "backward" and norm ~= "forward" then
        bad_argument("fft." .. name, nil, "norm", 'one of "backward", "ortho", "forward"', norm)
    end
    return (norm == "backward") == inverse and 1 / n or 1
end

local function array_of(name, x, real)
    x = coerce("fft." .. name, 1, x)
    if core.ndim(x) == 0 then raise("fft." .. name, "needs at least 1 axis, got a 0-d array") end
    local dtype = core.dtype_of(x)
    if real and dtype.kind == "c" then
        raise("fft." .. name, "takes real numbers, got dtype %s; x.real is the real part, np.fft.fft takes all",
              dtype.name)
    end
    return x
end

--- x as a complex array.
local function complex(x)
    return core.dtype_of(x).kind == "c" and x or np.complex(x, 0)
end

--- The elements [from, to) of an axis; a program that does this is one of this size.
local function cut(x, axis, from, to)
    return shape.cut(x, axis, from, to)
end

--- x with n elements along an axis: cut, or with zeros behind; of sizes cut and with zeros behind.
local function resized(x, axis, n)
    local dims = shape_of(x)
    local have = dims[axis + 1]
    if core.is_same(have, n) then return x end
    local sized = core.is_size(have) or core.is_size(n)
    if sized then
        have = math.min(have, n)
        x = cut(x, axis, 0, have)
    elseif have > n then
        return cut(x, axis, 0, n)
    end
    dims[axis + 1] = n - have
    return shape.join({ x, np.zeros(dims, { dtype = core.dtype_of(x).name }) }, axis)
end

--- A row of transforms along an axis, with more attributes, times a factor.
local function record(row, x, axis, factor, first, second)
    attrs[0], attrs[1], attrs[2] = axis, core.put(1, first), core.put(2, second or 0)
    x = core.record1(row, x, second and 3 or 2)
    if not core.is_size(factor) then return factor ~= 1 and x * factor or x end
    if core.dtype_of(x).kind ~= "c" then return x * factor end
    return np.where(np.equal(core.number(factor), 1), x, x * factor) -- a product of complex numbers may lose infinity
end

--- The transform along an axis, times a factor.
local function transform(x, axis, inverse, factor)
    return record(ids.dft, x, axis, factor, inverse and 1 or 0)
end

-- ---- One axis -------------------------------------------------------------------------------------------------------

--- The axis, the number of elements and the factor that options name.
local function line_of(name, x, o, inverse, count)
    local axis = core.axis("fft." .. name, o.axis == nil and -1 or o.axis, core.ndim(x))
    local n = o.n == nil and (count or shape_of(x)[axis + 1]) or o.n
    n = check_count(name, "n", n)
    return axis, n, factor_of(name, o.norm, inverse, n)
end

local function define_line(name, inverse)
    fft[name] = function(x, given, more)
        local o = options_of(name, given, more, LINE)
        x = array_of(name, x)
        local axis, n, factor = line_of(name, x, o, inverse)
        return transform(complex(resized(x, axis, n)), axis, inverse, factor)
    end
end
--- np.fft.fft(x, {n=…, axis=-1, norm="backward"}), np.fft.ifft(x, {n=…, axis=-1, norm="backward"}): the discrete
-- Fourier transform along an axis, Σ x[j] exp(-2πi j k / n), and its inverse, which has exp(2πi j k / n) and the factor
-- 1/n. n may stand alone: np.fft.fft(x, 8).
--- > np.fft.fft(np.array{1, 0, 0, 0}), np.fft.ifft(np.array{4, 0, 0, 0})
-- [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
-- [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
define_line("fft", false)
define_line("ifft", true)

--- The first half of the transform of real numbers, to which the other one is conjugate.
local function half(x, axis, n, factor)
    return record(ids.rdft, resized(x, axis, n), axis, factor, 0)
end

--- Real numbers of which n / 2 + 1 elements are the first half of the transform.
local function whole(x, axis, n, factor)
    return record(ids.irdft, complex(resized(x, axis, math.floor(n / 2) + 1)), axis, factor, 1, n)
end

local function twice(x, axis)
    return 2 * (shape_of(x)[axis + 1] - 1)
end

--- The axis of options, before n is known.
local function axis_of(name, x, o)
    return core.axis("fft." .. name, o.axis == nil and -1 or o.axis, core.ndim(x))
end

--- np.fft.rfft(x, {n=…, axis=-1, norm="backward"}), np.fft.irfft(x, {n=…, axis=-1, norm="backward"}): the transform of
-- real numbers: its first n / 2 + 1 elements, of which the others are conjugates; and back, to n real numbers.
--- n: of irfft: how many elements come out; 2 (m - 1) of m without it
--- > np.fft.rfft(np.array{1, 2, 3, 4}), np.fft.irfft(np.array{10, -2+2i, -2})
-- [10.+0.j -2.+2.j -2.+0.j]
-- [1. 2. 3. 4.]
function fft.rfft(x, given, more)
    local o = options_of("rfft", given, more, LINE)
    x = array_of("rfft", x, true)
    local axis, n, factor = line_of("rfft", x, o, false)
    return half(x, axis, n, factor)
end

function fft.irfft(x, given, more)
    local o = options_of("irfft", given, more, LINE)
    x = array_of("irfft", x)
    local axis, n, factor = line_of("irfft", x, o, true, twice(x, axis_of("irfft", x, o)))
    return whole(x, axis, n, factor)
end

--- np.fft.hfft(x, {n=…, axis=-1, norm="backward"}), np.fft.ihfft(x, {n=…, axis=-1, norm="backward"}): the transform of
-- numbers of which the second half is conjugate to the first, which is given: real; and back.
--- n: of hfft: how many elements come out; 2 (m - 1) of m without it
--- > np.fft.hfft(np.array{1, 2, 3}), np.fft.ihfft(np.array{1, 2, 3, 2})
-- [ 8. -2.  0. -2.]
-- [ 2. -0.j -0.5-0.j  0. -0.j]
function fft.hfft(x, given, more)
    local o = options_of("hfft", given, more, LINE)
    x = array_of("hfft", x)
    local axis, n, factor = line_of("hfft", x, o, false, twice(x, axis_of("hfft", x, o)))
    return whole(np.conj(x), axis, n, factor)
end

function fft.ihfft(x, given, more)
    local o = options_of("ihfft", given, more, LINE)
    x = array_of("ihfft", x, true)
    local axis, n, factor = line_of("ihfft", x, o, true)
    return np.conj(half(x, axis, n, factor))
end

-- ---- Several axes ---------------------------------------------------------------------------------------------------

--- The axes and the extents that options name.
local function box_of(name, x, o, axes)
    local dims, s = shape_of(x), o.s
    if s ~= nil and type(s) ~= "table" then bad_argument("fft." .. name, nil, "s", "a table of extents", s) end
    axes = o.axes == nil and axes or o.axes
    if axes == nil then
        axes = {}
        for k = 1, s and #s or #dims do axes[k] = k - 1 - (s and #s or #dims) end
    end
    if type(axes) ~= "table" then axes = { axes } end
    if #axes == 0 then raise("fft." .. name, "needs at least 1 axis") end
    if s and #s ~= #axes then raise("fft." .. name, "option 's' has %d extents for %d axes", #s, #axes) end
    local list, extents = {}, {}
    for k = 1, #axes do
        list[k] = core.axis("fft." .. name, axes[k], #dims)
        extents[k] = s and check_count(name, "s", s[k]) or dims[list[k] + 1]
    end
    return list, extents, s ~= nil
end

local function define_box(name, inverse, default)
    fft[name] = function(x, given)
        local o = core.options("fft." .. name, given, BOX)
        x = array_of(name, x)
        local axes, extents = box_of(name, x, o, default)
        x = complex(x)
        for k = #axes, 1, -1 do
            check_count(name, "s", extents[k])
            x = transform(resized(x, axes[k], extents[k]), axes[k], inverse,
                          factor_of(name, o.norm, inverse, extents[k]))
        end
        return x
    end
end
--- np.fft.fftn(x, {s=…, axes=…, norm="backward"}), np.fft.ifftn(x, {s=…, axes=…, norm="backward"}), np.fft.fft2(x,
-- {s=…, axes={-2, -1}, norm="backward"}), np.fft.ifft2(x, {s=…, axes={-2, -1}, norm="backward"}): the transform along
-- several axes, one after the other, and its inverse; fft2 and ifft2 along the last two.
--- > np.fft.fft2(np.array{{1, 0}, {0, 1}}), np.fft.fftn(np.ones{2, 2})
-- [[2.+0.j 0.+0.j]
--  [0.+0.j 2.+0.j]]
-- [[4.+0.j 0.+0.j]
--  [0.+0.j 0.+0.j]]
--- > np.fft.ifftn(np.ones{2, 2}), np.fft.ifft2(np.ones{2, 2})
-- [[1.+0.j 0.+0.j]
--  [0.+0.j 0.+0.j]]
-- [[1.+0.j 0.+0.j]
--  [0.+0.j 0.+0.j]]
define_box("fftn", false)
define_box("ifftn", true)
define_box("fft2", false, { -2, -1 })
define_box("ifft2", true, { -2, -1 })

local function define_half_box(name, default)
    fft[name] = function(x, given)
        local o = core.options("fft." .. name, given, BOX)
        x = array_of(name, x, true)
        local axes, extents = box_of(name, x, o, default)
        for k = #axes, 1, -1 do
            local n = check_count(name, "s", extents[k])
            local factor = factor_of(name, o.norm, false, n)
            if k == #axes then
                x = half(x, axes[k], n, factor)
            else
                x = transform(resized(x, axes[k], n), axes[k], false, factor)
            end
        end
        return x
    end
end

local function define_whole_box(name, default)
    fft[name] = function(x, given)
        local o = core.options("fft." .. name, given, BOX)
        x = array_of(name, x)
        local axes, extents, given_extents = box_of(name, x, o, default)
        x = complex(x)
        for k = 1, #axes do
            local n = extents[k]
            if k == #axes and not given_extents then n = 2 * (n - 1) end
            check_count(name, "s", n)
            local factor = factor_of(name, o.norm, true, n)
            if k == #axes then return whole(x, axes[k], n, factor) end
            x = transform(resized(x, axes[k], n), axes[k], true, factor)
        end
    end
end
--- np.fft.rfftn(x, {s=…, axes=…, norm="backward"}), np.fft.irfftn(x, {s=…, axes=…, norm="backward"}), np.fft.rfft2(x,
-- {s=…, axes={-2, -1}, norm="backward"}), np.fft.irfft2(x, {s=…, axes={-2, -1}, norm="backward"}): the transform of
-- real numbers along several axes: rfft along the last of them, fft along the others; and back, to real numbers.
--- > np.fft.rfft2(np.array{{1, 0}, {0, 1}}), np.fft.irfft2(np.array{{2, 0}, {0, 2}})
-- [[2.+0.j 0.+0.j]
--  [0.+0.j 2.+0.j]]
-- [[1. 0.]
--  [0. 1.]]
--- > np.fft.rfftn(np.ones{2, 2}), np.fft.irfftn(np.ones{2, 2})
-- [[4.+0.j 0.+0.j]
--  [0.+0.j 0.+0.j]]
-- [[1. 0.]
--  [0. 0.]]
define_half_box("rfftn")
define_half_box("rfft2", { -2, -1 })
define_whole_box("irfftn")
define_whole_box("irfft2", { -2, -1 })

-- ---- Frequencies ----------------------------------------------------------------------------------------------------

--- How many numbers; one over n times their distance; a function that gives the frequencies the place and the dtype for
-- which they are asked.
local function spacing(name, n, d, given)
    name = "fft." .. name
    n = core.integer(name, 1, "n", n, 1)
    if type(d) == "table" and given == nil then d, given = nil, d end
    local o = core.options(name, given, { d = true, dtype = true, device = true })
    if d == nil then d = o.d end
    if d == nil then d = 1 end
    d = core.plain(d)
    if type(d) ~= "number" then bad_argument(name, 2, "d", "a number", d) end
    local code = core.dtype(name, o.dtype)
    if code and core.dtypes[code].kind ~= "f" then bad_argument(name, nil, "dtype", "a real dtype", o.dtype) end
    return n, 1 / (n * d), function(x)
        x = np.astype(x, code and core.dtypes[code].name or "f32")
        return o.device ~= nil and core.placed(name, x, o.device) or x
    end
end

--- np.fft.fftfreq(n, d, {d=1, dtype="f32", device=…}), np.fft.rfftfreq(n, d, {d=1, dtype="f32", device=…}): the
-- frequencies of the elements of a transform of n numbers that are d apart: 0, 1, … and then the negative ones, divided
-- by n d; of rfft: those from 0 up.
--- d: the distance, where it does not stand by itself
--- dtype: of the result, a real one
--- > np.fft.fftfreq(4), np.fft.rfftfreq(4, 0.5)
-- [ 0.    0.25 -0.5  -0.25]
-- [0.  0.5 1. ]
function fft.fftfreq(n, d, given)
    local step, finish
    n, step, finish = spacing("fftfreq", n, d, given)
    local i = create.iota(n, core.dtype_codes.f64)
    return finish(np.where(np.less(i, math.ceil(n / 2)), i, i - n) * step)
end

function fft.rfftfreq(n, d, given)
    local step, finish
    n, step, finish = spacing("rfftfreq", n, d, given)
    return finish(create.iota(math.floor(n / 2) + 1, core.dtype_codes.f64) * step)
end

local function define_shift(name, back)
    fft[name] = function(x, axes)
        if type(axes) == "table" and axes[1] == nil then
            axes = core.options("fft." .. name, axes, { axes = true }).axes
        end
        x = coerce("fft." .. name, 1, x)
        local dims = shape_of(x)
        if axes == nil then
            axes = {}
            for k = 1, #dims do axes[k] = k - 1 end
        end
        for _, axis in ipairs(shape.axes("fft." .. name, axes, #dims)) do
            local n = dims[axis + 1]
            local first = back and math.floor(n / 2) or n - math.floor(n / 2)
            x = shape.join({ cut(x, axis, first, n), cut(x, axis, 0, first) }, axis)
        end
        return x
    end
end
--- np.fft.fftshift(x, {axes=…}), np.fft.ifftshift(x, {axes=…}): the element of frequency 0 is moved into the middle of
-- all axes, or of those that are named; and back.
--- axes: an axis or a table of them, which may stand alone; all without it
--- > np.fft.fftshift(np.fft.fftfreq(4), {axes=0}), np.fft.ifftshift(np.array{-2, -1, 0, 1}, {axes=0})
-- [-0.5  -0.25  0.    0.25]
-- [ 0.  1. -2. -1.]
define_shift("fftshift", false)
define_shift("ifftshift", true)

require "neap.arrays.cosines"(fft, resized, box_of)

return fft
