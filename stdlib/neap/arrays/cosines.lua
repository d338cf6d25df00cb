--- cosines.lua: np.fft.dct, dst and their kin: transforms of real numbers into cosines or sines, as scipy.fft has them.
--
-- A sum of cosines is half the Fourier transform of a mirrored sequence. Types differ in where the mirrors stand, on an
-- element or half an element beside: n elements as a part of a period of N, which is 2 (n - 1) for cosines of
-- type 1, 2 (n + 1) for sines of type 1, else 2 n. With w = exp(-i π / 2n):
--
--     type 1   y = the transform of (x[0], …, x[n - 1], x[n - 2], …, x[1])
--     type 2   y = Re w^k times the transform of (x, x turned around)
--     type 3   y = the inverse of type 2, times N
--     type 4   y = Re w^(k + 1/2) times the transform of 2 x w^k, with zeros behind
--
-- Sines of types 2 to 4 are cosines of x turned around or with every second sign changed.

--- {type}: 1 to 4; 2 by default
--- {n}: how many elements are transformed: longer axes are cut, shorter ones get zeros behind; all by default
--- {axis}: along which axis; by default the last
--- {s}: a table of extents, one for each axis: longer axes are cut, shorter ones get zeros behind
--- {axes}: a table of axes; by default as many of the last ones as s has, or all
--- {norm}: which transforms have a factor: "backward" inverse ones 1/N, "forward" the others; "ortho": orthogonal ones

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, shape_of, cut, join = core.raise, core.shape_of, shape.cut, shape.join

-- ---- One axis, the last ---------------------------------------------------------------------------------------------

local function extent(x) return shape_of(x)[core.ndim(x)] end

local function turned(x) return np.flip(x, { axis = -1 }) end

--- cos and -sin of π (k + from) / by, for k = 0, …, n - 1, times the elements of x (real): a complex array.
local function swung(x, n, from, by, sign)
    local angle = (create.iota(n, core.dtype_codes.f64) + from) * (math.pi / by)
    local dtype = core.dtype_of(x).name
    return np.complex(x * np.astype(np.cos(angle), dtype), x * np.astype(np.sin(angle) * sign, dtype))
end

--- The real part of z exp(-i π (k + from) / by).
local function swung_back(z, n, from, by)
    local angle = (create.iota(n, core.dtype_codes.f64) + from) * (math.pi / by)
    local dtype = core.dtype_of(z).part
    return np.real(z) * np.astype(np.cos(angle), dtype) + np.imag(z) * np.astype(np.sin(angle), dtype)
end

--- x, its first element, or its last one with `final`, times a factor.
local function scaled(x, factor, final)
    local at = np.equal(create.iota(extent(x), core.dtype_codes.f64), final and extent(x) - 1 or 0)
    return np.where(at, x * factor, x)
end

local cosines = {}

cosines[1] = function(x, n)
    local last = core.ndim(x) - 1
    return np.real(np.fft.rfft(join({ x, turned(cut(x, last, 1, n - 1)) }, last)))
end
cosines[2] = function(x, n)
    local last = core.ndim(x) - 1
    return swung_back(cut(np.fft.rfft(join({ x, turned(x) }, last)), last, 0, n), n, 0, 2 * n)
end
cosines[3] = function(x, n)
    local last = core.ndim(x) - 1
    return cut(np.fft.irfft(swung(x, n, 0, 2 * n, 1), { n = 2 * n, norm = "forward" }), last, 0, n)
end
cosines[4] = function(x, n)
    local last = core.ndim(x) - 1
    local z = np.fft.fft(swung(x * 2, n, 0, 2 * n, -1), { n = 2 * n })
    return swung_back(cut(z, last, 0, n), n, 0.5, 2 * n)
end

--- x with the signs of elements 1, 3, … changed.
local function alternated(x, n)
    local odd = np.equal(create.iota(n, core.dtype_codes.f64) % 2, 1)
    return np.where(odd, -x, x)
end

local sines = {}

sines[1] = function(x, n)
    local last = core.ndim(x) - 1
    local zero = np.zeros_like(cut(x, last, 0, 1))
    return -np.imag(cut(np.fft.rfft(join({ zero, x, zero, -turned(x) }, last)), last, 1, n + 1))
end
sines[2] = function(x, n) return turned(cosines[2](alternated(x, n), n)) end
sines[3] = function(x, n) return alternated(cosines[3](turned(x), n), n) end
sines[4] = function(x, n) return alternated(cosines[4](turned(x), n), n) end

local INVERSE = { 1, 3, 2, 4 }
local HALF = math.sqrt(0.5)

--- The transform of real x along the last axis; `family` is cosines or sines.
local function transform(family, x, type, norm, inverse)
    local n, sine = extent(x), family == sines
    local period = type == 1 and (sine and 2 * (n + 1) or 2 * (n - 1)) or 2 * n
    local kind, ortho = inverse and INVERSE[type] or type, norm == "ortho"
    if ortho and kind == 3 then x = scaled(x, 1 / HALF, sine) end
    if ortho and kind == 1 and not sine then x = scaled(scaled(x, 1 / HALF), 1 / HALF, true) end
    local y = family[kind](x, n)
    if ortho then
        y = y * (1 / math.sqrt(period))
        if kind == 2 then y = scaled(y, HALF, sine) end
        if kind == 1 and not sine then y = scaled(scaled(y, HALF), HALF, true) end
    elseif (norm == "backward") == inverse then
        y = y / period
    end
    return y
end

-- ---- The functions --------------------------------------------------------------------------------------------------

local function norm_of(name, norm)
    if norm == nil then return "backward" end
    if norm ~= "backward" and norm ~= "ortho" and norm ~= "forward" then
        core.bad_argument("fft." .. name, nil, "norm", 'one of "backward", "ortho", "forward"', norm)
    end
    return norm
end

local function type_of(name, o)
    return o.type == nil and 2 or core.integer("fft." .. name, nil, "type", o.type, 1, 4)
end

--- The transform along one axis with n elements, of real or complex x.
local function along(name, family, x, axis, n, type, norm, inverse, resized)
    if type == 1 and family == cosines and n < 2 then
        raise("fft." .. name, "type 1 needs at least 2 elements, got %s", tostring(n))
    end
    x = np.moveaxis(resized(x, axis, n), axis, -1)
    local y
    if core.dtype_of(x).kind == "c" then
        y = np.complex(transform(family, np.real(x), type, norm, inverse),
                       transform(family, np.imag(x), type, norm, inverse))
    else
        y = transform(family, x, type, norm, inverse)
    end
    return np.moveaxis(y, -1, axis)
end

--- Adds the functions to np.fft; `resized` and `box_of` are those of fft.lua.
return function(fft, resized, box_of)
    local function floats(name, x)
        local half
        x, half = operands.floats("fft." .. name, 1, x)
        if core.ndim(x) == 0 then raise("fft." .. name, "needs at least 1 axis, got a 0-d array") end
        return x, half
    end

    local function define(name, family, inverse)
        fft[name] = function(x, given)
            local o = core.options("fft." .. name, given, { type = true, n = true, axis = true, norm = true })
            local half
            x, half = floats(name, x)
            local axis = core.axis("fft." .. name, o.axis == nil and -1 or o.axis, core.ndim(x))
            local n = core.integer("fft." .. name, nil, "n", o.n == nil and shape_of(x)[axis + 1] or o.n, 1)
            return operands.narrow(along(name, family, x, axis, n, type_of(name, o), norm_of(name, o.norm), inverse,
                                         resized), half)
        end
    end
    --- np.fft.dct(x, {type=2, n=…, axis=-1, norm="backward"}), np.fft.idct(x, {type=2, n=…, axis=-1, norm="backward"}):
    -- the cosine transform along an axis, of type 2 Σ 2 x[j] cos(π k (2 j + 1) / 2n), and its inverse, as scipy.fft has
    -- them. norm="ortho" makes the transform orthogonal: its inverse is its transpose.
    --- > np.round(np.fft.dct(np.array{1, 2, 3}), 4)
    -- [12.     -3.4641  0.    ]
    --- > np.round(np.fft.idct(np.fft.dct(np.array{1, 2, 3})), 4)
    -- [1. 2. 3.]
    define("dct", cosines, false)
    define("idct", cosines, true)
    --- np.fft.dst(x, {type=2, n=…, axis=-1, norm="backward"}), np.fft.idst(x, {type=2, n=…, axis=-1, norm="backward"}):
    -- the sine transform along an axis, of type 2 Σ 2 x[j] sin(π (k + 1) (2 j + 1) / 2n), and its inverse.
    --- > np.round(np.fft.dst(np.array{1, 2, 3}), 4)
    -- [ 8.     -3.4641  4.    ]
    --- > np.round(np.fft.idst(np.fft.dst(np.array{1, 2, 3})), 4)
    -- [1. 2. 3.]
    define("dst", sines, false)
    define("idst", sines, true)

    local function define_box(name, family, inverse)
        fft[name] = function(x, given)
            local o = core.options("fft." .. name, given, { type = true, s = true, axes = true, norm = true })
            local half
            x, half = floats(name, x)
            local type, norm = type_of(name, o), norm_of(name, o.norm)
            local axes, extents = box_of(name, x, o)
            for k = #axes, 1, -1 do
                local n = core.integer("fft." .. name, nil, "s", extents[k], 1)
                x = along(name, family, x, axes[k], n, type, norm, inverse, resized)
            end
            return operands.narrow(x, half)
        end
    end
    --- np.fft.dctn(x, {type=2, s=…, axes=…, norm="backward"}), np.fft.idctn(x, {type=2, s=…, axes=…, norm="backward"}):
    -- np.fft.dct along several axes, one after the other, and its inverse.
    --- > np.fft.dctn(np.ones{2, 2}), np.fft.idctn(np.array{{4, 0}, {0, 0}})
    -- [[16.  0.]
    --  [ 0.  0.]]
    -- [[0.25 0.25]
    --  [0.25 0.25]]
    define_box("dctn", cosines, false)
    define_box("idctn", cosines, true)
    --- np.fft.dstn(x, {type=2, s=…, axes=…, norm="backward"}), np.fft.idstn(x, {type=2, s=…, axes=…, norm="backward"}):
    -- np.fft.dst along several axes, one after the other, and its inverse.
    --- > np.round(np.fft.idstn(np.fft.dstn(np.ones{2, 2})), 4)
    -- [[1. 1.]
    --  [1. 1.]]
    define_box("dstn", sines, false)
    define_box("idstn", sines, true)
end
