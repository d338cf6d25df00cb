--- distributions.lua: the distributions of np.random beyond those of random.lua, from the same keys, as in jax.random.
-- Each names the formula that makes it of uniform, normal, exponential or gamma numbers; those of JAX are used, with
-- its use of keys, so that the numbers for a key are JAX's but for what functions round. Gamma, Poisson and binomial
-- numbers are drawn by rejection (lazy/vm/simd/samplers.h), by JAX's algorithms.
--
-- Parameters are numbers or arrays, which broadcast to the shape; without a shape, they broadcast to each other and
-- give it. They are cast to the dtype of the result, f32 without the option; numbers of 16 bits are drawn in f32 and
-- rounded once.

--- {dtype}: the dtype of the result; for floats f32, f64, f16 or bf16

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local random = require "neap.arrays.random"

local np = core.np
local raise, bad_argument, is_array = core.raise, core.bad_argument, core.is_array
local tools = core.random_tools -- what random.lua shares
local check_key, settings, float_dtype = tools.check_key, tools.settings, tools.float_dtype
local parameter, drawn_shape, between, unit = tools.parameter, tools.drawn_shape, tools.between, tools.unit
local ids, attrs, shape_of, codes, dtypes = core.ids, core.attrs, core.shape_of, core.dtype_codes, core.dtypes

--- What most have: the key checked, shape and dtype, and the parameters in the dtype, whose names are a table. Returns
-- the shape, the dtype, the parameters.
local function prepare(name, key, dims, given, names, ...)
    check_key(name, key)
    local o
    dims, o = settings(name, dims, given)
    local dtype, values, parameters = float_dtype(name, o.dtype), { ... }, {}
    for k, what in ipairs(names) do parameters[k] = parameter(name, k + 1, what, values[k], dtype) end
    return drawn_shape(name, dims, unpack(parameters)), dtype, unpack(parameters)
end

--- Lets np.random.NAME, whose shape is argument `position`, draw numbers of 16 bits in f32 and round them once: its
-- formula would lose too much in halves, or its sampler has none.
local function round_once(name, position)
    local draw = random[name]
    random[name] = function(...)
        local extra = select(position + 2, ...)
        if extra ~= nil then core.too_many("random." .. name, position + 1, extra) end
        local dims, o = select(position, ...)
        local at = position + 1
        if o == nil and type(dims) == "table" and #dims == 0 then at, o = position, dims end
        local asked = type(o) == "table" and o.dtype ~= nil and dtypes[core.dtype("random." .. name, o.dtype)]
        if not asked or not asked.half then return draw(...) end
        local arguments, wide = { ... }, {}
        for key, value in pairs(o) do wide[key] = value end
        wide.dtype = "f32"
        arguments[at] = wide
        return np.astype(draw(unpack(arguments, 1, position + 1)), asked.name)
    end
end

--- Arguments without which a parameter is 1 (or another default).
local function default(value, otherwise)
    if value == nil then return otherwise end
    return value
end

local function split2(key)
    local keys = random.split(key)
    return core.index(keys, 0), core.index(keys, 1)
end

local function normal(key, dims, dtype) return random.normal(key, dims, { dtype = dtype.name }) end
local function exponential(key, dims, dtype) return random.exponential(key, dims, { dtype = dtype.name }) end

local TINY = { f32 = 2 ^ -126, f64 = 2 ^ -1022 }
local EPS = { f32 = 2 ^ -23, f64 = 2 ^ -52 }

-- ---- Of one uniform number ------------------------------------------------------------------------------------------

--- np.random.laplace(key, shape, {dtype="f32"}): the Laplace distribution, of density exp(-|x|) / 2:
-- sign(u) log1p(-|u|), u uniform in (-1, 1).
--- > np.random.laplace(np.random.key(0), {3})
-- [-2.2569816  -3.1502788   0.40859547]
function random.laplace(key, dims, given)
    local dtype
    dims, dtype = prepare("laplace", key, dims, given, {})
    local u = between(key, dims, dtype, -1 + EPS[dtype.name] / 2, 1)
    return np.sign(u) * np.log1p(-np.abs(u))
end

--- np.random.logistic(key, shape, {dtype="f32"}): the logistic distribution: log(u) - log1p(-u).
--- > np.random.logistic(np.random.key(0), {3})
-- [ 2.896376   3.8217716 -0.6978392]
function random.logistic(key, dims, given)
    local dtype
    dims, dtype = prepare("logistic", key, dims, given, {})
    local u = between(key, dims, dtype, TINY[dtype.name], 1)
    return np.log(u) - np.log1p(-u)
end

--- np.random.cauchy(key, shape, {dtype="f32"}): the Cauchy distribution: tan(pi (u - 1/2)).
--- > np.random.cauchy(np.random.key(0), {3})
-- [ 6.0274944  14.837895   -0.58172226]
function random.cauchy(key, dims, given)
    local dtype
    dims, dtype = prepare("cauchy", key, dims, given, {})
    return np.tan((between(key, dims, dtype, EPS[dtype.name], 1) - 0.5) * math.pi)
end

--- np.random.rademacher(key, shape, {dtype="i32"}): -1 or 1, each with probability 1/2.
--- dtype: the dtype of the result
--- > np.random.rademacher(np.random.key(0), {4})
-- [-1 -1  1  1]
function random.rademacher(key, dims, given)
    check_key("rademacher", key)
    local o
    dims, o = settings("rademacher", dims, given)
    local result = dtypes[core.dtype("random.rademacher", o.dtype, codes.i32)]
    local u = unit(key, dims or {}, dtypes[result.name == "f64" and codes.f64 or codes.f32])
    return 2 * np.astype(np.less(u, 0.5), result.name) - 1
end

--- np.random.rayleigh(key, scale, shape, {dtype="f32"}): the Rayleigh distribution: scale sqrt(-2 log(u)).
--- > np.random.rayleigh(np.random.key(0), 2, {3})
-- [0.65575665 0.41620055 2.9688284 ]
function random.rayleigh(key, scale, dims, given)
    local dtype
    dims, dtype, scale = prepare("rayleigh", key, dims, given, { "scale" }, scale)
    local u = unit(key, dims, dtype)
    return scale * np.sqrt(np.log(np.where(np.equal(u, 0), EPS[dtype.name] / 2, u)) * -2) -- 0 would be infinitely far
end

--- np.random.weibull_min(key, scale, concentration, shape, {dtype="f32"}): the Weibull distribution:
-- scale (-log1p(-u))^(1 / concentration).
--- > np.random.weibull_min(np.random.key(0), 1, 2, {3})
-- [1.7175937  1.9604654  0.63553405]
function random.weibull_min(key, scale, concentration, dims, given)
    local dtype
    dims, dtype, scale, concentration =
        prepare("weibull_min", key, dims, given, { "scale", "concentration" }, scale, concentration)
    return (-np.log1p(-unit(key, dims, dtype))) ^ (1 / concentration) * scale
end

--- np.random.geometric(key, p, shape, {dtype="i32"}): how many trials of probability p come to the first that
-- succeeds, from 1 on: floor(log(u) / log1p(-p)) + 1.
--- dtype: the dtype of the result
--- > np.random.geometric(np.random.key(0), 0.25, {4})
-- [1 1 4 3]
function random.geometric(key, p, dims, given)
    check_key("geometric", key)
    local o
    dims, o = settings("geometric", dims, given)
    local dtype = dtypes[is_array(p) and core.dtype_of(p).name == "f64" and codes.f64 or codes.f32]
    p = parameter("geometric", 2, "p", p, dtype)
    local u = unit(key, drawn_shape("geometric", dims, p), dtype)
    local log = np.log(np.where(np.equal(u, 0), 1, u))
    return np.astype(np.floor(log / np.log1p(-p)) + 1, dtypes[core.dtype("random.geometric", o.dtype, codes.i32)].name)
end

--- np.random.triangular(key, left, mode, right, shape, {dtype="f32"}): the triangular distribution between left and
-- right, with its peak at mode.
--- > np.random.triangular(np.random.key(0), 0, 1, 2, {3})
-- [1.6764787 1.7930212 0.8152196]
function random.triangular(key, left, mode, right, dims, given)
    local dtype
    dims, dtype, left, mode, right =
        prepare("triangular", key, dims, given, { "left", "mode", "right" }, left, mode, right)
    local u, width = unit(key, dims, dtype), right - left
    local low = left + np.sqrt(u * width * (mode - left))
    local high = right - np.sqrt((1 - u) * width * (right - mode))
    return np.where(np.less(u, (mode - left) / width), low, high)
end

--- np.random.pareto(key, b, shape, {dtype="f32"}): the Pareto distribution of shape b, from 1 on: exp(e / b), e
-- exponential.
--- > np.random.pareto(np.random.key(0), 3, {3})
-- [2.6734667 3.6007476 1.1441185]
function random.pareto(key, b, dims, given)
    local dtype
    dims, dtype, b = prepare("pareto", key, dims, given, { "b" }, b)
    return np.exp(exponential(key, dims, dtype) / b)
end

-- ---- Of normal numbers ----------------------------------------------------------------------------------------------

--- np.random.lognormal(key, sigma, shape, {dtype="f32"}): exp(sigma n), n normal; sigma is 1 by default.
--- > np.random.lognormal(np.random.key(0), 0.5, {3})
-- [2.2508795 2.752838  0.8050932]
function random.lognormal(key, sigma, dims, given)
    local dtype
    dims, dtype, sigma = prepare("lognormal", key, dims, given, { "sigma" }, default(sigma, 1))
    return np.exp(normal(key, dims, dtype) * sigma)
end

--- np.random.maxwell(key, shape, {dtype="f32"}): the Maxwell distribution: the length of three normal numbers.
--- > np.random.maxwell(np.random.key(0), {3})
-- [2.6310966  0.9910331  0.96493053]
function random.maxwell(key, dims, given)
    local dtype
    dims, dtype = prepare("maxwell", key, dims, given, {})
    local wide = { unpack(dims) }
    wide[#wide + 1] = 3
    return np.sqrt(np.sum(normal(key, wide, dtype) ^ 2, { axis = -1 }))
end

--- np.random.double_sided_maxwell(key, loc, scale, shape, {dtype="f32"}): maxwell with a random sign, times scale,
-- plus loc. The result has the shape, then the axes of the parameters.
--- > np.random.double_sided_maxwell(np.random.key(0), 0, 1, {3})
-- [ 1.545721   1.5741276 -2.0825307]
function random.double_sided_maxwell(key, loc, scale, dims, given)
    check_key("double_sided_maxwell", key)
    local o
    dims, o = settings("double_sided_maxwell", dims, given)
    local dtype = float_dtype("double_sided_maxwell", o.dtype)
    loc = parameter("double_sided_maxwell", 2, "loc", loc, dtype)
    scale = parameter("double_sided_maxwell", 3, "scale", scale, dtype)
    local theirs = drawn_shape("double_sided_maxwell", nil, loc, scale)
    local all = { unpack(dims and #dims > 0 and dims or theirs) }
    for _, n in ipairs(theirs) do all[#all + 1] = n end
    local first, second = split2(key)
    local size = random.maxwell(first, all, { dtype = dtype.name })
    return random.rademacher(second, all, { dtype = dtype.name }) * size * scale + loc
end

--- np.random.wald(key, mean, shape, {dtype="f32"}): the Wald (inverse Gaussian) distribution of a mean and scale 1.
--- > np.random.wald(np.random.key(0), 2, {3})
-- [0.5334217  0.5981153  0.72548366]
function random.wald(key, mean, dims, given)
    local dtype
    dims, dtype, mean = prepare("wald", key, dims, given, { "mean" }, mean)
    local first, second = split2(key)
    local y, z = normal(first, dims, dtype) ^ 2, unit(second, dims, dtype)
    local b = mean * y
    local over = 1 + b / 2 + np.sqrt(b) * np.sqrt(1 + b / 4)
    local x = mean / over -- mean (1 + b / 2 - sqrt(b + b^2 / 4)), where nothing cancels
    local valid = np.logical_and(np.greater(mean, 0), np.isfinite(mean))
    return np.where(valid, np.where(np.less_equal(z, mean / (mean + x)), x, mean * over), np.nan)
end

--- np.random.multivariate_normal(key, mean, cov, shape, {dtype="f32", method="cholesky"}): normal vectors of a mean
-- (…, n) and a covariance (…, n, n), of the shape and n.
--- method: how the root of the covariance is computed: "cholesky", "eigh" or "svd"
--- > np.random.multivariate_normal(np.random.key(0), np.zeros(2), np.array{{1, 0.5}, {0.5, 1}}, {2})
-- [[ 1.6226422   2.5652518 ]
--  [-0.43359435 -0.2848818 ]]
function random.multivariate_normal(key, mean, cov, dims, given)
    local name = "multivariate_normal"
    check_key(name, key)
    local o
    dims, o = settings(name, dims, given, { dtype = true, method = true })
    local dtype, method = float_dtype(name, o.dtype), default(o.method, "cholesky")
    mean, cov = parameter(name, 2, "mean", mean, dtype), parameter(name, 3, "cov", cov, dtype)
    local of_mean, of_cov = shape_of(mean), shape_of(cov)
    local n = of_mean[#of_mean]
    if #of_mean < 1 or #of_cov < 2 or of_cov[#of_cov] ~= n or of_cov[#of_cov - 1] ~= n then
        raise("random." .. name, "expected a mean (…, n) and a covariance (…, n, n), got shapes %s and %s",
              core.shape_text(of_mean), core.shape_text(of_cov))
    end
    local batch = shape.broadcast("random." .. name, { unpack(of_mean, 1, #of_mean - 1) },
                                  { unpack(of_cov, 1, #of_cov - 2) })
    local result = dims or batch
    if not shape.same(shape.broadcast("random." .. name, batch, result), result) then
        raise("random." .. name, "parameters of shape %s do not fit into shape %s", core.shape_text(batch),
              core.shape_text(result))
    end
    local root
    if method == "cholesky" then
        root = np.linalg.cholesky(cov)
    elseif method == "eigh" then
        local values, vectors = np.linalg.eigh(cov)
        root = vectors * np.expand_dims(np.sqrt(values), -2)
    elseif method == "svd" then
        local left, values = np.linalg.svd(cov)
        root = left * np.expand_dims(np.sqrt(values), -2)
    else
        bad_argument("random." .. name, nil, "method", '"cholesky", "eigh" or "svd"', method)
    end
    local all = { unpack(result) }
    all[#all + 1] = n
    local noise = np.expand_dims(normal(key, all, dtype), -1)
    return mean + np.squeeze(np.matmul(root, noise), -1)
end

--- np.random.orthogonal(key, n, shape, {m=n, dtype="f32"}): matrices (n, m) with orthogonal rows or columns, all of
-- which are equally likely: the factor Q of normal ones, with the signs of R's diagonal.
--- m: the number of columns; n without it
--- > np.random.orthogonal(np.random.key(0), 2)
-- [[ 0.96610296  0.2581572 ]
--  [-0.2581572   0.9661029 ]]
function random.orthogonal(key, n, dims, given)
    check_key("orthogonal", key)
    local o
    dims, o = settings("orthogonal", dims, given, { dtype = true, m = true })
    local dtype, m = float_dtype("orthogonal", o.dtype), default(o.m, n)
    n, m = core.integer("random.orthogonal", 2, "n", n, 0), core.integer("random.orthogonal", nil, "m", m, 0)
    local all = { unpack(dims or {}) }
    all[#all + 1], all[#all + 2] = math.max(n, m), math.min(n, m)
    local q, r = np.linalg.qr(normal(key, all, dtype))
    local x = q * np.expand_dims(np.sign(np.linalg.diagonal(r)), -2)
    return n < m and np.matrix_transpose(x) or x
end

-- ---- Gamma and what is made of it -----------------------------------------------------------------------------------

local function draw_gamma(name, logarithm, key, a, dims, given)
    local _
    dims, _, a = prepare(name, key, dims, given, { "a" }, a)
    a = np.broadcast_to(a, dims)
    attrs[0] = logarithm
    return core.record2(ids.random_gamma, a, key, 1)
end

--- np.random.gamma(key, a, shape, {dtype="f32"}): the gamma distribution of shape a and rate 1. Has a derivative
-- with respect to a.
--- > np.random.gamma(np.random.key(0), 2.5, {3})
-- [2.078842  2.2727783 1.5440423]
function random.gamma(key, a, dims, given) return draw_gamma("gamma", 0, key, a, dims, given) end

--- np.random.loggamma(key, a, shape, {dtype="f32"}): the logarithms of gamma numbers, which for a small `a` would
-- all be 0.
--- > np.random.loggamma(np.random.key(0), 0.01, {3})
-- [ -11.478928   -9.828522 -137.9457  ]
function random.loggamma(key, a, dims, given) return draw_gamma("loggamma", 1, key, a, dims, given) end

--- np.random.chisquare(key, df, shape, {dtype="f32"}): the chi-square distribution: 2 gamma(df / 2).
--- > np.random.chisquare(np.random.key(0), 4, {3})
-- [3.1795757 3.5198827 2.2580147]
function random.chisquare(key, df, dims, given)
    local dtype
    dims, dtype, df = prepare("chisquare", key, dims, given, { "df" }, df)
    return np.exp(random.loggamma(key, df / 2, dims, { dtype = dtype.name })) * 2
end

--- np.random.f(key, dfnum, dfden, shape, {dtype="f32"}): the F distribution: the quotient of two chi-square numbers
-- over their degrees of freedom.
--- > np.random.f(np.random.key(0), 4, 6, {3})
-- [2.3246076  0.30951998 0.2259369 ]
function random.f(key, dfnum, dfden, dims, given)
    local dtype
    dims, dtype, dfnum, dfden = prepare("f", key, dims, given, { "dfnum", "dfden" }, dfnum, dfden)
    local of_den, of_num = split2(key)
    local top = random.chisquare(of_num, dfnum, dims, { dtype = dtype.name })
    local bottom = random.chisquare(of_den, dfden, dims, { dtype = dtype.name })
    return (top / dfnum) / (bottom / dfden)
end

--- np.random.t(key, df, shape, {dtype="f32"}): Student's t distribution: n sqrt(df / 2 / gamma(df / 2)), n normal.
--- > np.random.t(np.random.key(0), 5, {3})
-- [ 0.75895   -2.055918  -1.2818335]
function random.t(key, df, dims, given)
    local dtype
    dims, dtype, df = prepare("t", key, dims, given, { "df" }, df)
    local of_normal, of_gamma = split2(key)
    df = df / 2
    local g = random.gamma(of_gamma, df, dims, { dtype = dtype.name })
    return normal(of_normal, dims, dtype) * np.sqrt(df / g)
end

--- np.random.beta(key, a, b, shape, {dtype="f32"}): the beta distribution: g / (g + h), gamma numbers of a and b.
--- > np.random.beta(np.random.key(0), 2, 3, {3})
-- [0.23627362 0.4904596  0.6837948 ]
function random.beta(key, a, b, dims, given)
    local dtype
    dims, dtype, a, b = prepare("beta", key, dims, given, { "a", "b" }, a, b)
    local of_a, of_b = split2(key)
    local left = random.loggamma(of_a, a, dims, { dtype = dtype.name })
    local right = random.loggamma(of_b, b, dims, { dtype = dtype.name })
    local most = np.maximum(left, right)
    local x, y = np.exp(left - most), np.exp(right - most)
    return x / (x + y)
end

--- np.random.dirichlet(key, alpha, shape, {dtype="f32"}): vectors that sum to 1: gamma numbers of alpha (…, n) over
-- their sum, of the shape (alpha's without n by default) and n.
--- > np.random.dirichlet(np.random.key(0), np.array{1, 2, 3})
-- [0.1422856  0.40488255 0.45283186]
function random.dirichlet(key, alpha, dims, given)
    check_key("dirichlet", key)
    local o
    dims, o = settings("dirichlet", dims, given)
    local dtype = float_dtype("dirichlet", o.dtype)
    alpha = parameter("dirichlet", 2, "alpha", alpha, dtype)
    local of_alpha = shape_of(alpha)
    if #of_alpha < 1 then raise("random.dirichlet", "argument 2 (alpha) needs at least 1 axis, got 0") end
    local all = { unpack(dims or { unpack(of_alpha, 1, #of_alpha - 1) }) }
    all[#all + 1] = of_alpha[#of_alpha]
    return np.softmax(random.loggamma(key, alpha, all, { dtype = dtype.name }))
end

--- np.random.generalized_normal(key, p, shape, {dtype="f32"}): the distribution of density exp(-|x|^p): a random
-- sign times gamma(1 / p)^(1 / p).
--- > np.random.generalized_normal(np.random.key(0), 3, {3})
-- [ 0.89282674  0.09650235 -0.9955045 ]
function random.generalized_normal(key, p, dims, given)
    local dtype
    dims, dtype, p = prepare("generalized_normal", key, dims, given, { "p" }, p)
    local first, second = split2(key)
    local g = random.loggamma(first, 1 / p, dims, { dtype = dtype.name }) -- gamma numbers of a large p are 0
    return random.rademacher(second, dims, { dtype = dtype.name }) * np.exp(g / p)
end

--- np.random.ball(key, d, shape, {p=2, dtype="f32"}): points of the unit ball of the p-norm in d dimensions, of the
-- shape and d.
--- p: the norm
--- > np.random.ball(np.random.key(0), 2, {2})
-- [[ 0.917222    0.3927688 ]
--  [ 0.04264311 -0.9093296 ]]
function random.ball(key, d, dims, given)
    check_key("ball", key)
    local o
    dims, o = settings("ball", dims, given, { p = true, dtype = true })
    local dtype, p = float_dtype("ball", o.dtype), default(o.p, 2)
    d = core.integer("random.ball", 2, "d", d, 0)
    local first, second = split2(key)
    dims = dims or {}
    local all = { unpack(dims) }
    all[#all + 1] = d
    local g = random.generalized_normal(first, p, all, { dtype = dtype.name })
    local size = (np.sum(np.abs(g) ^ p, { axis = -1 }) + exponential(second, dims, dtype)) ^ (1 / p)
    return g / np.expand_dims(size, -1)
end

-- ---- Counts ---------------------------------------------------------------------------------------------------------

--- np.random.poisson(key, lam, shape, {dtype="i32"}): Poisson numbers of a mean, -1 where it is negative, infinite or
-- NaN. Computed in f32. From a mean of 10 on JAX's numbers are the same only where it draws one alone: of an array it
-- draws all elements again until the last one is accepted.
--- dtype: the dtype of the result
--- > np.random.poisson(np.random.key(0), 4, {5})
-- [0 1 5 5 2]
function random.poisson(key, lam, dims, given)
    check_key("poisson", key)
    local o
    dims, o = settings("poisson", dims, given)
    local result = dtypes[core.dtype("random.poisson", o.dtype, codes.i32)]
    lam = parameter("poisson", 2, "lam", lam, dtypes[codes.f32])
    local means = np.broadcast_to(np.stop_gradient(lam), drawn_shape("poisson", dims, lam))
    return np.astype(core.record2(ids.random_poisson, means, key, 0), result.name)
end

--- np.random.binomial(key, n, p, shape, {dtype="f32"}): how many of n trials of probability p succeed, as floats. Where
-- n p and n (1 - p) are above 10, JAX's numbers are the same only where it draws one alone, as of np.random.poisson.
--- > np.random.binomial(np.random.key(0), 10, 0.5, {5})
-- [6. 7. 5. 6. 7.]
function random.binomial(key, n, p, dims, given)
    local _
    dims, _, n, p = prepare("binomial", key, dims, given, { "n", "p" }, n, p)
    local counts, odds = np.broadcast_to(np.stop_gradient(n), dims), np.broadcast_to(np.stop_gradient(p), dims)
    return core.recordn(ids.random_binomial, { counts, odds, key }, 3, 0)
end

--- np.random.multinomial(key, n, p, shape, {dtype="f32"}): how often each of k outcomes comes in n trials, as floats:
-- binomial numbers of what the outcomes before left. p (…, k) are the probabilities; the shape is that of the result
-- and ends in k; p's without it.
--- > np.random.multinomial(np.random.key(0), 10, np.array{0.2, 0.3, 0.5})
-- [1. 1. 8.]
function random.multinomial(key, n, p, dims, given)
    check_key("multinomial", key)
    local o
    dims, o = settings("multinomial", dims, given)
    local dtype = float_dtype("multinomial", o.dtype)
    n, p = parameter("multinomial", 2, "n", n, dtype), parameter("multinomial", 3, "p", p, dtype)
    if core.ndim(p) < 1 then raise("random.multinomial", "argument 3 (p) needs at least 1 axis, got 0") end
    local all = drawn_shape("multinomial", dims, p)
    local batch, count = { unpack(all, 1, #all - 1) }, all[#all]
    local left = np.broadcast_to(n, drawn_shape("multinomial", batch, n))
    p = np.broadcast_to(p, all)
    local keys, counts = random.split(key, math.max(count, 1)), {}
    local rests = np.flip(np.cumsum(np.flip(p, { axis = -1 }), { axis = -1 }), { axis = -1 })
    local ratios = np.clip(p / np.where(np.equal(rests, 0), 1, rests), 0, 1)
    if core.is_size(count) then
        local _, drawn = np.scan(function(rest, one)
            local n_now = random.binomial(one.key, rest, one.ratio, batch, { dtype = dtype.name })
            return rest - n_now, n_now
        end, left, { key = keys, ratio = np.moveaxis(ratios, -1, 0) })
        return np.moveaxis(drawn, 0, -1)
    end
    for k = 0, count - 1 do
        local ratio = np.squeeze(shape.cut(ratios, #all - 1, k, k + 1), -1)
        counts[k + 1] = random.binomial(core.index(keys, k), left, ratio, batch, { dtype = dtype.name })
        left = left - counts[k + 1]
    end
    if count == 0 then return np.zeros(all, { dtype = dtype.name }) end
    return np.stack(counts, { axis = -1 })
end

for name, position in pairs {
    ball = 3, beta = 4, binomial = 4, cauchy = 2, chisquare = 3, dirichlet = 3, double_sided_maxwell = 4, f = 4,
    gamma = 3, generalized_normal = 3, laplace = 2, loggamma = 3, logistic = 2, lognormal = 3, maxwell = 2,
    multinomial = 4, multivariate_normal = 4, orthogonal = 3, pareto = 3, rayleigh = 3, t = 3, triangular = 5,
    truncated_normal = 4, wald = 3, weibull_min = 4,
} do round_once(name, position) end

return random
