--- dblquad.lua: np.integrate.dblquad: an integral of integrals (quad.lua).
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local staging = require "neap.tracing.staging"
local quad = require "neap.integrate.quad"

local np = core.np

return function(integrate)
    --- np.integrate.dblquad(f, a, b, g, h, {args={}, epsabs=1.49e-8, epsrel=1.49e-8, limit=20}) -> value, error, info:
    -- the integral of f(y, x, args…) for x from a to b and y from g(x) to h(x), and an estimate of its error: an
    -- np.integrate.quad over x of one over y. The order of the arguments is SciPy's. f gets 0-d arrays and returns an
    -- array of any shape. a, b, g and h are numbers or 0-d arrays, g and h also functions of x; np.inf and -np.inf, as
    -- Lua numbers, also returned by g or h. The error is that of the integral over x plus the integral of the errors of
    -- those over y. info is a table:
    --
    --     status  as of np.integrate.quad, over x; 4: it would be 0, but an integral over y did not reach its tolerance
    --     parts   how many parts of x there are
    --     neval   how many integrals over y it took to find them
    --
    -- Differentiable in every mode by the ends and by what f, g and h read. Waits for nothing.
    --- args: a table of further arguments of f
    --- epsabs: the error that is small enough, of either integral
    --- epsrel: the same, relative to the value; from 100 times the rounding of the dtype up
    --- limit: the most parts, of either integral
    --- > (np.integrate.dblquad(function(y, x) return x * y * y end, 0, 2, 0, function(x) return x * x end))
    -- 10.666667
    function integrate.dblquad(f, a, b, g, h, given)
        local name = "integrate.dblquad"
        f = staging.check_function(name, f)
        local o = quad.options(name, given, 20)
        local function at(limit, x) return type(limit) == "function" and limit(x) or limit end
        local function over_y(x)
            local inner = quad.integrand(name, function(y) return f(y, x, unpack(o.args)) end)
            return quad.solve(name, inner, quad.ends(name, 4, at(g, x), at(h, x), "gh"), { x, unpack(o.floats) }, o)
        end
        local dims
        local function value_and_facts(x) -- the value; its elements, its error, and whether that is too large
            local found = over_y(x)
            local function fact(y) return shape.reshape(np.astype(y, found.value.dtype), { 1 }) end
            dims = core.shape_of(found.value)
            return found.value, shape.join({ shape.reshape(found.value, { core.size_of(found.value) }),
                                             fact(found.wrong), fact(np.not_equal(found.status, 0)) }, 0)
        end
        for _, inner in ipairs { over_y, value_and_facts } do jit.off(inner) end
        local outer = quad.solve(name, value_and_facts, quad.ends(name, 2, a, b), o.floats, o, true, f)
        local n = core.size_of(outer.value) - 2
        local facts = np.abs(shape.cut(outer.value, 0, n, n + 2))
        local failed = np.logical_and(np.equal(outer.status, 0), np.greater(facts[1], 0))
        return operands.narrow(shape.reshape(shape.cut(outer.value, 0, 0, n), dims), outer.half),
            operands.narrow(outer.wrong + facts[0], outer.half),
            { status = np.where(failed, 4, outer.status):astype("i32"), parts = outer.count,
              neval = quad.evaluations(outer.count) }
    end
    jit.off(integrate.dblquad)
end
