--- complex.lua: what is made of the parts of complex numbers.
--
-- Arrays of complex numbers are c64 or c128. The rows complex, real, imag and conj (lazy/ops/complex.c) take them apart
-- and put them together; arithmetic, functions, sums and products take them as they do real ones. Sorts order them by
-- their real parts, then by the imaginary ones; comparisons other than eq and ne and extrema refuse them.
local core = require "neap.core"

local np, define = core.np, core.define
local coerce = core.coerce

local function is_complex(x)
    return core.dtype_of(x).kind == "c"
end

--- x.real, x.imag: np.real(x) and np.imag(x), the parts of complex numbers; fields, as x.T is.
--- > z = np.array{1+2i, 3}
--- > z.real, z.imag
-- [1. 3.]
-- [2. 0.]
for _, part in ipairs { "real", "imag" } do
    core.methods[part], core.fields[part] = nil, np[part]
end

--- np.conjugate(x): np.conj(x): the imaginary part with the other sign.
--- > np.conjugate(np.array{1+2i})
-- [1.-2.j]
define("conjugate", np.conj)

--- np.angle(x): the argument of each complex number, from -π to π: atan2(imag, real).
--- > np.angle(np.array{1, 1i, -1})
-- [0.        1.5707964 3.1415927]
define("angle", function(x)
    x = coerce("angle", 1, x)
    return np.atan2(np.imag(x), np.real(x))
end)

--- np.iscomplex(x), np.isreal(x): whether the imaginary part of an element is not 0, or is 0.
--- > np.iscomplex(np.array{1, 2i}), np.isreal(np.array{1, 2i})
-- [False  True]
-- [ True False]
define("iscomplex", function(x)
    return np.not_equal(np.imag(coerce("iscomplex", 1, x)), 0)
end)
define("isreal", function(x)
    return np.equal(np.imag(coerce("isreal", 1, x)), 0)
end)

--- np.iscomplexobj(x), np.isrealobj(x) -> boolean: whether x has a complex dtype, or has none.
--- > np.iscomplexobj(np.array{2i}), np.isrealobj(np.array{2i})
-- true
-- false
define("iscomplexobj", function(x)
    return is_complex(coerce("iscomplexobj", 1, x))
end)
define("isrealobj", function(x)
    return not is_complex(coerce("isrealobj", 1, x))
end)
