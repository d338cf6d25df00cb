--- incomplete.lua: both parts of the incomplete beta function, and the inverses of the incomplete gamma and beta
-- functions.
--
-- Unknown is the logarithm of x, or of x / (1 - x): in these the logarithms of both tails of a gamma and a beta
-- distribution are concave. So a Newton iteration on the logarithm of the smaller tail converges from each start, and
-- from one side without overshooting; a bracket keeps it from going astray where a tail underflows. All of it is f64.

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local densities = require "neap.stats.densities"

local np = core.np

local incomplete = {}

local TURNS = 100 -- at most; 5 to 10 are usual
local NEAR = 1e-8 -- a step below which the next one is below rounding

--- One step: u, and below and above it the best points so far. `f` gives a value that increases with u and is 0 where
-- sought, and its slope. Where Newton's step leaves the bracket, its middle is taken, or a point further out.
local function step(f, u, low, high)
    local value, slope = f(u)
    local under, over = np.less(value, 0), np.greater(value, 0)
    low, high = np.where(under, u, low), np.where(over, u, high)
    local next = u - value / slope
    local inside = np.logical_and(np.greater(next, low), np.less(next, high))
    local far = 1 + np.abs(u)
    local open_low, open_high = np.equal(low, -np.inf), np.equal(high, np.inf)
    local middle = 0.5 * np.where(open_low, u, low) + 0.5 * np.where(open_high, u, high)
    local out = np.where(open_low, u - far, np.where(open_high, u + far, middle))
    next = np.where(inside, next, out)
    return np.where(np.logical_or(under, over), next, u), low, high
end

--- The u where f is 0, from a start.
local function root(f, start)
    local ends = np.full(core.shape_of(start), np.inf, { dtype = core.dtype_of(start).name })
    local function goes_on(c) return np.logical_and(c.moves, np.less(c.turn, TURNS)) end
    local function turn(c)
        local u, low, high = step(f, c.u, c.low, c.high)
        local moved = np.greater(np.abs(u - c.u), NEAR + 1e-15 * np.abs(u))
        return { u = u, low = low, high = high, moves = np.any(moved), turn = c.turn + 1 }
    end
    local first = { u = start, low = 0 - ends, high = ends, moves = np.array(true), turn = 0 }
    return np.while_loop(goes_on, turn, first).u
end

--- log(part / tail) of two probabilities, with all digits where they are near.
local function log_ratio(part, tail)
    local difference = (part - tail) / tail
    local near = np.less(np.abs(difference), 0.5)
    return np.where(near, np.log1p(np.where(near, difference, 0)), np.log(part) - np.log(tail))
end

-- ---- gamma ----------------------------------------------------------------------------------------------------------

--- x times the density of a gamma distribution.
local function gamma_slope(a, x)
    return np.exp(densities.log_poisson(a, x, a + 1)) * a
end

--- Where an iteration for a gamma distribution begins: Wilson and Hilferty's cube of a normal number, or the leading
-- term of the lower tail, or of the upper one.
local function gamma_start(a, tail, lower)
    local normal = np.where(lower, 1, -1) * np.special.ndtri(tail)
    local root_of_cube = 1 - 1 / (9 * a) + normal / (3 * np.sqrt(a))
    local usable = np.logical_and(np.greater(a, 0.5), np.greater(root_of_cube, 0.2))
    local cube = np.log(a) + 3 * np.log(np.where(usable, root_of_cube, 1))
    local first = np.where(lower, (np.log(tail) + np.lgamma(a + 1)) / a, np.log(np.maximum(1, -np.log(tail))))
    return np.where(usable, cube, first)
end

--- The x of which a tail of the gamma distribution of shape a has a probability of at most 1/2; `lower`, an array, says
-- which tail. NaN for a tail that is NaN.
local function solve_gamma(a, tail, lower)
    local sign = np.where(lower, 1, -1)
    local function f(u)
        local x = np.exp(u)
        local part = np.where(lower, np.special.gammainc(a, x), np.special.gammaincc(a, x))
        return sign * log_ratio(part, tail), gamma_slope(a, x) / part
    end
    local u = root(f, gamma_start(a, tail, lower))
    local x = np.exp(u)
    local value, slope = f(u)
    return x - x * np.where(np.isfinite(value), value / slope, 0) -- what exp has rounded
end

local gamma_of = np.custom_jvp(solve_gamma)
gamma_of:defjvp(function(given, tangents)
    local a, tail, lower = given[1], given[2], given[3]
    local x, sign = gamma_of(a, tail, lower), np.where(given[3], 1, -1)
    local _, by_a = np.jvp(function(b) return np.special.gammainc(b, np.stop_gradient(x)) end, { a }, { tangents[1] })
    return x, (sign * tangents[2] - by_a) * x / gamma_slope(a, x)
end)

--- f(p, …) of arrays of f64 that have one shape. Numbers alone count in f64, too: of a loop they become f32.
local function together(f, p, ...)
    local weak, list = core.info(p).weak ~= 0, { p, ... }
    for k = 1, weak and #list or 0 do list[k] = np.astype(list[k], "f64") end
    return operands.narrow(f(np.broadcast_arrays(unpack(list))), weak and "f32")
end

--- The smaller one of p and 1 - p, and whether it is p.
local function smaller(p)
    local lower = np.less_equal(p, 0.5)
    return np.where(lower, p, 1 - p), lower
end

--- The quantile of probability p of the gamma distribution of shape a.
function incomplete.gamma(p, a)
    return together(function(given, shape)
        local tail, lower = smaller(given)
        return gamma_of(shape, tail, lower)
    end, p, a)
end

--- The number that is exceeded with probability q.
function incomplete.gamma_upper(q, a)
    return together(function(given, shape)
        local tail, upper = smaller(given)
        return gamma_of(shape, tail, np.logical_not(upper))
    end, q, a)
end

-- ---- beta -----------------------------------------------------------------------------------------------------------

--- x (1 - x) times the density of a beta distribution, at x = expit(v).
local function beta_slope(a, b, v)
    local x, y = np.sigmoid(v), np.sigmoid(-v)
    return np.exp(densities.log_beta(a, b, x, y)) * x * y
end

--- I(x; a, b) of np.special.betainc, and what is left of it to 1, for x + y = 1. The smaller one of x and y has all its
-- digits: from it come both, but for what is left of nearly 1.
function incomplete.beta_parts(x, y, a, b)
    local near = np.less(x, y)
    local first, second = np.where(near, a, b), np.where(near, b, a)
    local part = np.special.betainc(first, second, np.minimum(x, y))
    local rest = np.where(np.less(part, 0.999), 1 - part, np.special.betainc(second, first, np.maximum(x, y)))
    return np.where(near, part, rest), np.where(near, rest, part)
end

--- Where an iteration for the lower tail begins: by a normal number (Abramowitz and Stegun 26.5.22) for a and b above
-- 1, else by the leading terms of both tails.
local function beta_start(a, b, tail)
    local round = np.logical_and(np.greater(a, 1), np.greater(b, 1))
    local c, d = np.where(round, a, 2), np.where(round, b, 2)
    local y = np.special.ndtri(tail)
    local lambda = (y * y - 3) / 6
    local s, t = 1 / (2 * c - 1), 1 / (2 * d - 1)
    local h = 2 / (s + t)
    local w = -y * np.sqrt(np.maximum(h + lambda, 0.1)) / h - (t - s) * (lambda + 5 / 6 - 2 / (3 * h))
    local left = np.exp(a * np.log(a / (a + b))) / a
    local both = left + np.exp(b * np.log(b / (a + b))) / b
    local log_x = np.minimum(np.log(a * both * tail) / a, -1e-3)
    local log_y = np.minimum(np.log(b * both * (1 - tail)) / b, -1e-3)
    local near = np.where(np.less(tail * both, left), log_x - np.log(-np.expm1(log_x)),
                          np.log(-np.expm1(log_y)) - log_y)
    return np.where(round, np.log(c / d) - 2 * w, near)
end

--- log(x) by the leading term of I(x; a, b) = x^a / (a B(a, b)) (1 + a (1 - b) / (a + 1) x + …), and whether x, which
-- may be less than the least f64, is so near to 0 that the term has all digits.
local function beta_leading(a, b, tail)
    local log_x = (np.log(tail) + np.log(a) + np.special.betaln(a, b)) / a
    return log_x, np.less(log_x + np.log(1 + b), -40)
end

--- The v of which the beta distribution of a and b has a part `tail`, at most 1/2, below expit(v).
local function solve_beta(a, b, tail)
    local log_x, leads = beta_leading(a, b, tail)
    local sought = np.where(leads, 0.25, tail) -- where the term leads, the iteration has nothing to find
    local function f(v)
        local part = incomplete.beta_parts(np.sigmoid(v), np.sigmoid(-v), a, b)
        return log_ratio(part, sought), beta_slope(a, b, v) / part
    end
    local v = root(f, beta_start(a, b, sought))
    local value, slope = f(v)
    return np.where(leads, log_x, v - np.where(np.isfinite(value), value / slope, 0))
end

local function beta_of(p, a, b)
    local tail, lower = smaller(p)
    local first, second = np.where(lower, a, b), np.where(lower, b, a)
    local solve = np.custom_jvp(function(given) return solve_beta(first, second, given) end)
    solve:defjvp(function(given, tangents)
        local v = solve(given[1])
        local _, leads = beta_leading(first, second, given[1])
        return v, tangents[1] / np.where(leads, first * given[1], beta_slope(first, second, v))
    end)
    return np.where(lower, 1, -1) * solve(tail)
end

--- log(x / (1 - x)) for the quantile x of probability p of the beta distribution of a and b, which have no derivative,
-- as np.special.betainc has none.
function incomplete.beta(p, a, b)
    return together(beta_of, p, a, b)
end

return incomplete
