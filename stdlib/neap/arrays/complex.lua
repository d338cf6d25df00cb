--- complex.lua: what is made of the parts of complex numbers.
--
-- Arrays of complex numbers are c64 or c128. The rows complex, real, imag and conj (lazy/ops/complex.c) take them apart
-- and put them together; arithmetic, functions, sums and products take them as they do real ones. They have no order:
-- comparisons other than eq and ne, extrema and sorts refuse them.
local core = require "neap.core"

local np, define = core.np, core.define
local coerce = core.coerce

local function is_complex(x)
    return core.dtype_of(x).kind == "c"
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
