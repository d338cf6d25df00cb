--- special.lua: np.special: the special functions, under the names of scipy.special and jax.scipy.special, with those
-- of torch.special beside them where they differ. Functions of one element each: any shapes, which broadcast; bool and
-- integers become f32, 64-bit ones f64. Most are rows of lazy/ops/special.c, the others are made of rows here: of those
-- that are computed in f64 in f64, of others in the dtype of the arguments, halves in f32. Derivatives are JAX's.
--
-- Errors are those of the rows: `ulp` counts units in the last place of the result. f32 results are f64 ones rounded,
-- so theirs is 0.5 ulp and what is said of f64 counts there alone, unless a function is said to be made of others.

local core = require "neap.core"
local operands = require "neap.arrays.operands"

local np, define, ids = core.np, core.define, core.ids
local raise, coerce, floats_all = core.raise, core.coerce, operands.floats_all

local special = {}

-- ---- Functions that np has ------------------------------------------------------------------------------------------

--- np.special.erf(x): the error function: np.erf.
--- > np.special.erf(np.array{0, 1})
-- [0.        0.8427008]
special.erf = np.erf
--- np.special.erfc(x): 1 - erf(x), without cancellation for large x: np.erfc. Error at most 4 ulp.
--- > np.special.erfc(np.array{0, 5})
-- [1.0000000e+00 1.5374598e-12]
special.erfc = np.erfc
--- np.special.erfinv(x): the inverse of erf: np.erf_inv.
--- > np.special.erfinv(np.array{0, 0.5})
-- [0.         0.47693628]
special.erfinv = np.erf_inv
--- np.special.lgamma(x): the logarithm of |gamma(x)|: np.lgamma, gammaln.
--- > np.special.lgamma(np.array{0.5, 3})
-- [0.5723649 0.6931472]
special.lgamma = np.lgamma
--- np.special.gammaln(x): the logarithm of |gamma(x)|: np.lgamma. Error at most 6 ulp; left of 0, where it has further
-- zeros, 6 ulp of 1 or of the result, whichever is larger.
--- > np.special.gammaln(np.array{0.5, 3})
-- [0.5723649 0.6931472]
special.gammaln = np.lgamma
--- np.special.digamma(x): the derivative of gammaln: np.digamma, psi. Error at most 4 ulp; left of 0 that of 4 or of
-- the result, whichever is larger.
--- > np.special.digamma(np.array{1, 2})
-- [-0.5772157   0.42278433]
special.digamma = np.digamma
--- np.special.psi(x): the derivative of gammaln: np.digamma.
--- > np.special.psi(np.array{1, 2})
-- [-0.5772157   0.42278433]
special.psi = np.digamma
--- np.special.i0(x): the modified Bessel function of the first kind of order 0: np.i0. Error at most 5 ulp.
--- > np.special.i0(np.array{0, 1, 10})
-- [1.0000000e+00 1.2660658e+00 2.8157166e+03]
special.i0 = np.i0
--- np.special.expit(x): 1 / (1 + exp(-x)): np.sigmoid.
--- > np.special.expit(np.array{-100, 0, 100})
-- [3.8e-44 5.0e-01 1.0e+00]
special.expit = np.sigmoid
--- np.special.logsumexp(x, options): log(sum(exp(x))), with the options of np.logsumexp.
--- > np.special.logsumexp(np.array{1000, 1000})
-- 1000.6932
special.logsumexp = np.logsumexp
--- np.special.softmax(x, options): exp(x) / sum(exp(x)) along an axis, with the options of np.softmax.
--- > np.special.softmax(np.array{0, 0, 1e3})
-- [0. 0. 1.]
special.softmax = np.softmax
--- np.special.log_softmax(x, options): the logarithm of softmax, with the options of np.log_softmax.
--- > np.special.log_softmax(np.array{0, 0})
-- [-0.6931472 -0.6931472]
special.log_softmax = np.log_softmax

-- ---- Rows -----------------------------------------------------------------------------------------------------------

--- np.special.erfcx(x): exp(x²) erfc(x), without overflow or underflow in between; infinite from -26.7 down. Error at
-- most 4 ulp.
--- > np.special.erfcx(np.array{0, 100})
-- [1.         0.00564161]
special.erfcx = core.unary(ids.erfcx, "special.erfcx")
--- np.special.erfcinv(x): the inverse of erfc: infinite at 0, -infinite at 2, NaN outside. Error at most 4 ulp.
--- > np.special.erfcinv(np.array{1e-30, 1})
-- [8.148616 0.      ]
special.erfcinv = core.unary(ids.erfcinv, "special.erfcinv")
--- np.special.gamma(x): the gamma function: exact at the integers up to 19, infinite at 0 with its sign, NaN at the
-- negative integers. Error at most 4 ulp.
--- > np.special.gamma(np.array{0.5, 5, -0.5})
-- [ 1.7724539 24.        -3.5449078]
special.gamma = core.unary(ids.gamma, "special.gamma")
--- np.special.betaln(a, b): the logarithm of |beta(a, b)|. Error at most 16 ulp of 1 or of the result, whichever is
-- larger.
--- > np.special.betaln(np.array{1, 100}, np.array{2, 200})
-- [  -0.6931472 -192.13419  ]
special.betaln = core.binary(ids.betaln, "special.betaln")
--- np.special.gammainc(a, x): the regularized lower incomplete gamma function: the integral of t^(a - 1) exp(-t) from 0
-- to x, divided by gamma(a). NaN for a or x below 0. Relative error at most 4e-15 (1 + |log(result)|).
--- > np.special.gammainc(np.array{1, 2}, np.array{1, 2})
-- [0.63212055 0.59399414]
special.gammainc = core.binary(ids.gammainc, "special.gammainc")
--- np.special.gammaincc(a, x): 1 - gammainc(a, x), the upper one, without cancellation. Relative error at most
-- 4e-15 (1 + |log(result)|).
--- > np.special.gammaincc(np.array{1, 2}, np.array{1, 20})
-- [3.6787945e-01 4.3284228e-08]
special.gammaincc = core.binary(ids.gammaincc, "special.gammaincc")
--- np.special.betainc(a, b, x): the regularized incomplete beta function: the integral of t^(a - 1) (1 - t)^(b - 1)
-- from 0 to x, divided by beta(a, b). NaN for a or b below 0 and for x outside [0, 1]. For a and b up to 1e8 the
-- relative error is at most 1e-13 (1 + |log(result)|). Without derivatives with respect to a and b.
--- > np.special.betainc(2, 3, np.array{0, 0.5, 1})
-- [0.     0.6875 1.    ]
special.betainc = core.nary(ids.betainc, "special.betainc", 3)
--- np.special.i0e(x): exp(-|x|) i0(x). Error at most 5 ulp.
--- > np.special.i0e(np.array{0, 1000})
-- [1.         0.01261724]
special.i0e = core.unary(ids.i0e, "special.i0e")
--- np.special.i1(x): the modified Bessel function of the first kind of order 1. Error at most 5 ulp.
--- > np.special.i1(np.array{0, 1})
-- [0.        0.5651591]
special.i1 = core.unary(ids.i1, "special.i1")
--- np.special.i1e(x): exp(-|x|) i1(x). Error at most 5 ulp.
--- > np.special.i1e(np.array{0, 1000})
-- [0.         0.01261093]
special.i1e = core.unary(ids.i1e, "special.i1e")
--- np.special.j0(x): the Bessel function of the first kind of order 0: torch.special.bessel_j0. Absolute error at most
-- 2e-15.
--- > np.special.j0(np.array{0, 1, 10})
-- [ 1.          0.7651977  -0.24593577]
special.j0 = core.unary(ids.j0, "special.j0")
--- np.special.j1(x): the Bessel function of the first kind of order 1: torch.special.bessel_j1. Absolute error at most
-- 2e-15.
--- > np.special.j1(np.array{0, 1, 10})
-- [0.         0.44005057 0.04347274]
special.j1 = core.unary(ids.j1, "special.j1")

local zeta = core.binary(ids.zeta, "special.zeta")
--- np.special.zeta(s, q): the zeta function of Hurwitz: the sum of (q + k)^-s over k from 0; without q, of Riemann:
-- q = 1. Infinite for s = 1 and for q = 0 and the negative integers; NaN for s below 1, and for other negative q unless
-- s is an integer. Error at most 4 ulp for q above 0. Without a derivative with respect to s.
--- > np.special.zeta(np.array{2, 4})
-- [1.644934  1.0823232]
--- > np.special.zeta(2, np.array{1, 10})
-- [1.644934   0.10516634]
function special.zeta(s, q, extra)
    if q == nil then q = 1 end
    if type(s) == "number" and type(q) == "number" then s = coerce("special.zeta", 1, s) end
    return zeta(s, q, extra)
end

-- ---- Compositions ---------------------------------------------------------------------------------------------------

--- Refuses further arguments of np.special.NAME.
local function none(name, takes, extra)
    if extra ~= nil then raise(name, "takes %d arguments, got also %s", takes, core.describe(extra)) end
end

--- Makes special.name of f(a, b), on arrays of one dtype of floats: f32 and f64, or f64 alone, with `least` "f64".
local function define_two(name, least, f)
    local full = "special." .. name
    special[name] = function(a, b, extra)
        none(full, 2, extra)
        local narrow
        narrow, a, b = floats_all(full, least, 2, a, b)
        return operands.narrow(f(a, b), narrow)
    end
end

--- The same of f(x).
local function define_one(name, least, f)
    local full = "special." .. name
    special[name] = function(x, extra)
        none(full, 1, extra)
        local narrow
        narrow, x = floats_all(full, least, 1, x)
        return operands.narrow(f(x), narrow)
    end
end

--- np.special.beta(a, b): gamma(a) gamma(b) / gamma(a + b), with its sign. Made of gamma where its values are moderate,
-- of exp(betaln(a, b)) elsewhere: relative error some 2e-15, for large parameters 2e-15 (1 + |log(result)|).
--- > np.special.beta(np.array{1, 2}, np.array{2, 3})
-- [0.5        0.08333334]
define_two("beta", "f64", function(a, b)
    local sum = a + b
    local plain = np.logical_and(np.less(np.abs(a), 20), np.less(np.abs(b), 20))
    local sign = special.gammasgn(a) * special.gammasgn(b) * special.gammasgn(sum)
    local x, y = np.where(plain, a, 1), np.where(plain, b, 1)
    local direct = special.gamma(x) / special.gamma(x + y) * special.gamma(y)
    return np.where(plain, direct, sign * np.exp(special.betaln(a, b)))
end)

--- np.special.gammasgn(x): the sign of gamma(x): 1 for x above 0, 1 or -1 below; of the zeros their sign, NaN at the
-- negative integers.
--- > np.special.gammasgn(np.array{-0.5, -1.5, 2})
-- [-1.  1.  1.]
function special.gammasgn(x, extra)
    none("special.gammasgn", 1, extra)
    x = np.stop_gradient(operands.real("special.gammasgn", 1, x))
    local low, one = np.floor(x), np.ones_like(x)
    local left = np.where(np.equal(low, x), np.nan, np.where(np.equal(np.remainder(low, 2), 0), one, -one))
    return np.where(np.less(x, 0), left, np.where(np.equal(x, 0), np.copysign(one, x), np.where(np.isnan(x), x, one)))
end

--- np.special.polygamma(n, x): derivative n of digamma: (-1)^(n + 1) n! zeta(n + 1, x), digamma for n = 0. n may be an
-- array. Made of lgamma and zeta, in f64: relative error at most 1e-15 (4 + log(n!)).
--- > np.special.polygamma(1, np.array{1, 2})
-- [1.644934   0.64493406]
function special.polygamma(n, x, extra)
    none("special.polygamma", 2, extra)
    local narrow
    if type(n) == "number" then
        if n ~= math.floor(n) or n < 0 then
            core.bad_argument("special.polygamma", 1, "n", "an integer from 0 up", n)
        end
        narrow, x = floats_all("special.polygamma", "f64", 1, x)
        if n == 0 then return operands.narrow(np.digamma(x), narrow) end
        local factor = n % 2 == 1 and 1 or -1
        for k = 2, math.min(n, 171) do factor = factor * k end -- 171! is infinite
        return operands.narrow(factor * zeta(n + 1, x), narrow)
    end
    narrow, n, x = floats_all("special.polygamma", "f64", 2, n, x)
    n = np.stop_gradient(n)
    local sign = 2 * np.remainder(n, 2) - 1
    local value = sign * np.exp(np.lgamma(n + 1)) * zeta(np.maximum(n, 1) + 1, x)
    return operands.narrow(np.where(np.equal(n, 0), np.digamma(x), value), narrow)
end

local MOST_TERMS = 2 ^ 20

--- np.special.multigammaln(x, d): the logarithm of the multivariate gamma function: d (d - 1) / 4 log(pi) + the sum of
-- gammaln(x - j / 2) for j below d.
--- > np.special.multigammaln(np.array{3, 4}, 2)
-- [1.550195 3.565098]
function special.multigammaln(x, d, extra)
    none("special.multigammaln", 2, extra)
    d = core.integer("special.multigammaln", 2, "d", d, 1, MOST_TERMS)
    local narrow
    narrow, x = floats_all("special.multigammaln", "f64", 1, x)
    local halves = np.arange(d, { dtype = core.dtype_of(x).name }) * 0.5
    local sum = np.sum(np.lgamma(np.expand_dims(x, -1) - halves), { axis = -1 })
    return operands.narrow(sum + d * (d - 1) / 4 * math.log(math.pi), narrow)
end

--- np.special.factorial(n): n!, as gamma(n + 1); 0 for n below 0, as in SciPy and JAX.
--- > np.special.factorial(np.array{0, 5, 10})
-- [1.0000e+00 1.2000e+02 3.6288e+06]
define_one("factorial", "f64", function(n)
    return np.where(np.less(n, 0), 0, special.gamma(np.maximum(n, 0) + 1))
end)

--- np.special.comb(n, k): the number of ways to choose k of n: gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)), 0 for k
-- below 0 or above n. Computed in f64, and exact there where n and k are integers and the result is at most 2^40.
--- > np.special.comb(np.array{5, 10}, 2)
-- [10. 45.]
define_two("comb", "f64", function(n, k)
    local inside = np.logical_and(np.greater_equal(k, 0), np.less_equal(k, n))
    local top, part = np.where(inside, n, 1), np.where(inside, k, 0)
    local value = np.exp(-special.betaln(top - part + 1, part + 1)) / (top + 1)
    local whole = np.logical_and(np.equal(np.floor(n), n), np.equal(np.floor(k), k))
    local exact = np.stop_gradient(np.round(value) - value)
    value = value + np.where(np.logical_and(whole, np.less(value, 2 ^ 40)), exact, 0)
    local hidden = np.logical_or(np.isnan(n), np.isnan(k))
    return np.where(inside, value, np.where(hidden, np.nan, 0))
end)

local xlogy = core.binary(ids.xlogy, "special.xlogy")
local xlog1py = core.binary(ids.xlog1py, "special.xlog1py")

--- np.special.xlogy(x, y): x log(y), and 0 for x = 0 unless y is NaN.
--- > np.special.xlogy(np.array{0, 2}, np.array{0, 3})
-- [0.        2.1972246]
special.xlogy = xlogy

--- np.special.xlog1py(x, y): x log1p(y), and 0 for x = 0 unless y is NaN.
--- > np.special.xlog1py(np.array{0, 2}, np.array{-1, 3})
-- [0.        2.7725887]
special.xlog1py = xlog1py

--- np.special.entr(x): -x log(x), 0 at 0, -infinite below.
--- > np.special.entr(np.array{0, 0.5, -1})
-- [0.        0.3465736      -inf]
special.entr = core.unary(ids.entr, "special.entr")

--- Whether p and q are above 0, whether p is 0 and q from 0 up, and p log(p / q) where the first holds, by the way from
-- q to p where that is short, so that no digit is lost.
local function relative(p, q)
    local both = np.logical_and(np.greater(p, 0), np.greater(q, 0))
    local zero = np.logical_and(np.equal(p, 0), np.greater_equal(q, 0))
    local a, b = np.where(both, p, 1), np.where(both, q, 1)
    local quotient = a / b
    local near = np.logical_and(np.greater(quotient, 0.5), np.less(quotient, 2))
    local short = np.log1p(np.where(near, a - b, 0) / b)
    return both, zero, a * np.where(near, short, np.log(a) - np.log(b))
end

local function nan_or(p, q, value)
    return np.where(np.logical_or(np.isnan(p), np.isnan(q)), np.nan, value)
end

--- np.special.rel_entr(p, q): p log(p / q) for p and q above 0, 0 for p = 0 and q from 0 up, infinite elsewhere.
--- > np.special.rel_entr(np.array{0, 0.5, 1}, np.array{0, 0.25, 0})
-- [0.        0.3465736       inf]
define_two("rel_entr", nil, function(p, q)
    local both, zero, value = relative(p, q)
    return nan_or(p, q, np.where(both, value, np.where(zero, np.zeros_like(value), np.inf)))
end)

--- np.special.kl_div(p, q): rel_entr(p, q) - p + q, infinite where rel_entr is.
--- > np.special.kl_div(np.array{0.5, 1}, np.array{0.25, 0})
-- [0.09657359        inf]
define_two("kl_div", nil, function(p, q)
    local both, zero, value = relative(p, q)
    return nan_or(p, q, np.where(both, value - p + q, np.where(zero, q, np.inf)))
end)

--- np.special.logit(x): log(x / (1 - x)), the inverse of expit; infinite at 0 and 1, NaN outside.
--- > np.special.logit(np.array{0.5, 0.75, 1})
-- [0.        1.0986123       inf]
define_one("logit", nil, function(x)
    local low = np.less(x, 0.25) -- 2x - 1 keeps the digits around 1/2
    local middle = np.logical_and(np.greater_equal(x, 0.25), np.less_equal(x, 0.75))
    local near = 2 * np.atanh(2 * np.where(middle, x, 0.5) - 1)
    local outside = np.where(middle, 0.25, x)
    return np.where(middle, near, np.where(low, np.log(outside) - np.log1p(-outside), np.log(outside / (1 - outside))))
end)

--- np.special.ndtr(x): the distribution function of the standard normal distribution: erfc(-x / sqrt(2)) / 2.
--- > np.special.ndtr(np.array{-10, 0, 1})
-- [7.619853e-24 5.000000e-01 8.413448e-01]
define_one("ndtr", "f64", function(x)
    return 0.5 * np.erfc(x * -math.sqrt(0.5))
end)

--- np.special.ndtri(p): the inverse of ndtr: -sqrt(2) erfcinv(2 p); infinite at 0 and 1, NaN outside.
--- > np.special.ndtri(np.array{1e-20, 0.5, 0.975})
-- [-9.262341   0.         1.9599644]
define_one("ndtri", "f64", function(p)
    return 0 - math.sqrt(2) * special.erfcinv(2 * p)
end)

--- np.special.log_ndtr(x): the logarithm of ndtr(x), of large negative x too.
--- > np.special.log_ndtr(np.array{-100, 0, 10})
-- [-5.0055244e+03 -6.9314718e-01 -7.6198528e-24]
define_one("log_ndtr", "f64", function(x)
    local root, left = math.sqrt(0.5), np.less(x, -1)
    local a, b = np.where(left, x, -1), np.where(left, 0, x)
    local tail = np.log(0.5 * special.erfcx(a * -root)) - 0.5 * a * a
    return np.where(left, tail, np.log1p(-0.5 * np.erfc(b * root)))
end)

local SERIES = { 1 } -- of sin(a) / a in a²
for k = 1, 9 do SERIES[k + 1] = -SERIES[k] / (2 * k * (2 * k + 1)) end

--- sin(pi x) / (pi x), by its series where |pi x| is below 1: derivatives of the quotient have few digits there.
local function sinc_of(x)
    local angle = x * math.pi
    local near = np.less(np.abs(angle), 1)
    local square = np.square(np.where(near, angle, 0))
    local dtype = core.dtype_of(x).name
    local terms = (dtype == "f32" or dtype == "c64") and 7 or #SERIES
    local series = square * SERIES[terms] + SERIES[terms - 1]
    for k = terms - 2, 1, -1 do series = series * square + SERIES[k] end
    local other = np.where(near, 1, angle)
    return np.where(near, series, np.sin(other) / other)
end

--- np.special.sinc(x): sin(pi x) / (pi x), 1 at 0: np.sinc.
--- > np.special.sinc(np.array{0, 0.5})
-- [1.         0.63661975]
define_one("sinc", nil, sinc_of)

-- ---- Names that NumPy, JAX or PyTorch have at their top -------------------------------------------------------------

--- np.sinc(x): sin(pi x) / (pi x), 1 at 0.
--- > np.sinc(np.array{0, 0.5})
-- [1.         0.63661975]
define("sinc", special.sinc)
--- np.erfinv(x): the inverse of the error function: np.erf_inv.
--- > np.erfinv(np.array{0, 0.5})
-- [0.         0.47693628]
define("erfinv", np.erf_inv)
--- np.logit(x): log(x / (1 - x)), the inverse of np.sigmoid: np.special.logit.
--- > np.logit(np.array{0.5, 0.75})
-- [0.        1.0986123]
define("logit", special.logit)
--- np.xlogy(x, y): x log(y), and 0 for x = 0 unless y is NaN: np.special.xlogy.
--- > np.xlogy(np.array{0, 2}, np.array{0, 3})
-- [0.        2.1972246]
define("xlogy", special.xlogy)
--- np.polygamma(n, x): derivative n of np.digamma: np.special.polygamma.
--- > np.polygamma(1, np.array{1, 2})
-- [1.644934   0.64493406]
np.polygamma = special.polygamma
--- np.mvlgamma(x, d): the logarithm of the multivariate gamma function: np.special.multigammaln.
--- > np.mvlgamma(np.array{3, 4}, 2)
-- [1.550195 3.565098]
define("mvlgamma", special.multigammaln)

np.special = special

return special
