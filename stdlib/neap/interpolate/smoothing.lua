--- smoothing.lua: cubic smoothing splines: local smoothing = require "neap.interpolate.smoothing";
-- smoothing.coefficients(points, w, lam).
--
-- Among all curves f, the one with the smallest sum of w (y - f(x))^2 + lam times the integral of f''^2 is a natural
-- cubic spline with knots x. Its second derivatives s at the inner points solve
--
--     (R + lam Q' W^-1 Q) s = Q' y,    f(x) = y - lam W^-1 Q s
--
-- (C. Reinsch, Smoothing by Spline Functions, 1967; P. Green and B. Silverman, Nonparametric Regression and
-- Generalized Linear Models, 1994, chapter 2). R has three diagonals; Q' y are the differences of the slopes between
-- points. So the system has five diagonals, and is symmetric and positive definite: two scans over the points solve it
-- as L D L', for all columns of y and all lam at once, which are elements of a row.
--
-- Without lam, generalized cross-validation chooses it: the smallest mean square of y - f(x) over the square of
-- 1 - tr(A) / n, where A is the matrix by which f(x) = A y. n - tr(A) = lam tr(W^-1 Q B^-1 Q'), B the system, takes of
-- the inverse the five middle diagonals alone, which the scan backwards finds beside s (M. Hutchinson and F. de Hoog,
-- Smoothing noisy data with spline functions, 1985). Neither that nor y - f(x) is a difference of near numbers, however
-- small lam is.
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np = core.np
local shape_of, cut, reshape, join = core.shape_of, shape.cut, shape.reshape, shape.join

-- The logarithm of lam is sought between bounds relative to how the sizes of R and Q' W^-1 Q compare, the first of
-- which gives a curve through the points and the last a line: the best of so many values, then between its neighbours
-- again.
local LEAST, MOST, TRIES, ROUNDS = math.log(1e-8), math.log(1e14), 33, 7

--- x with so many rows of zeros before it and behind it.
local function padded(x, before, behind)
    local pads = { { before, behind } }
    for k = 2, core.ndim(x) do pads[k] = { 0, 0 } end
    return np.pad(x, pads)
end

--- The system of points: widths h (n - 1, 1, 1), v = 1 / w (n, 1, 1), the diagonals of R, from the middle one on, and
-- of Q' W^-1 Q, each of (n - 2, 1, 1), and the right side (n - 2, 1, elements).
local function system_of(x, y, w)
    local n = shape_of(x)[1]
    local h, v = reshape(np.diff(x), { n - 1, 1, 1 }), reshape(1 / w, { n, 1, 1 })
    local a, c = 1 / cut(h, 0, 0, n - 2), 1 / cut(h, 0, 1, n - 1) -- the columns of Q are a, b, c
    local b = -(a + c)
    local before, at, after = cut(v, 0, 0, n - 2), cut(v, 0, 1, n - 1), cut(v, 0, 2, n)
    local function next_of(list, k) return padded(cut(list, 0, k, n - 2), 0, k) end
    y = reshape(y, { n, 1, shape_of(y)[2] })
    return { n = n, h = h, v = v, y = y, right = np.diff(np.diff(y, { axis = 0 }) / h, { axis = 0 }),
             r = { (cut(h, 0, 0, n - 2) + cut(h, 0, 1, n - 1)) / 3, padded(cut(h, 0, 1, n - 2), 0, 1) / 6 },
             q = { a * a * before + b * b * at + c * c * after,
                   b * at * next_of(a, 1) + c * after * next_of(b, 1), c * after * next_of(a, 2) } }
end

--- Second derivatives at the inner points (n - 2, tries, elements) for lam of (tries, elements); and, if asked for, the
-- five middle diagonals of the inverse of the system: a list of three of such a shape.
local function solved(system, lam, with_inverse)
    local r, q, zero = system.r, system.q, lam * 0
    local start = { d = zero + 1, u1 = zero, u2 = zero, before = zero, z = zero, z_before = zero }
    local _, list = np.scan(function(above, row)
        local d = row.b0 - above.d * above.u1 * above.u1 - above.before
        local u1 = (row.b1 - above.d * above.u1 * above.u2) / d
        local u2 = row.b2 / d
        local z = row.right - above.u1 * above.z - above.z_before
        return { d = d, u1 = u1, u2 = u2, before = above.d * above.u2 * above.u2, z = z,
                 z_before = above.u2 * above.z }, { d = d, u1 = u1, u2 = u2, z = z }
    end, start, { b0 = r[1] + lam * q[1], b1 = r[2] + lam * q[2], b2 = lam * q[3],
                  right = system.right + zero })
    local _, found = np.scan(function(below, row)
        local now = { s = row.z / row.d - row.u1 * below.s - row.u2 * below.s_next, s_next = below.s }
        if not with_inverse then return now, { s = now.s } end
        now.i1 = -(row.u1 * below.i0 + row.u2 * below.i1)
        now.i2 = -(row.u1 * below.i1 + row.u2 * below.i0_next)
        now.i0, now.i0_next = 1 / row.d - row.u1 * now.i1 - row.u2 * now.i2, below.i0
        return now, { s = now.s, i0 = now.i0, i1 = now.i1, i2 = now.i2 }
    end, with_inverse and { s = zero, s_next = zero, i0 = zero, i0_next = zero, i1 = zero, i2 = zero }
       or { s = zero, s_next = zero }, list, { reverse = true })
    return found.s, { found.i0, found.i1, found.i2 }
end

--- y - f(x), of (n, tries, elements).
local function residuals(system, lam, s)
    local bends = np.diff(padded(s, 1, 1), { axis = 0 }) / system.h
    return np.diff(padded(bends, 1, 1), { axis = 0 }) * system.v * lam
end

--- What generalized cross-validation makes smallest, for lam of (tries, elements).
local function criterion(system, lam)
    local s, inverse = solved(system, lam, true)
    local missed = residuals(system, lam, s)
    local freedom = 0
    for k, diagonal in ipairs(inverse) do
        freedom = freedom + np.sum(diagonal * system.q[k], { axis = 0 }) * (k == 1 and 1 or 2)
    end
    local value = np.sum(missed * missed, { axis = 0 }) / (lam * freedom) ^ 2
    return np.where(np.isfinite(value), value, math.huge)
end

--- lam of (1, elements), by generalized cross-validation.
local function chosen(system)
    local scale = np.log(np.sum(system.r[1]) / np.sum(system.q[1]))
    local none = np.zeros({ 1, shape_of(system.y)[3] }, { dtype = system.y.dtype })
    local places = reshape(np.arange(TRIES, { dtype = system.y.dtype }), { TRIES, 1 }) / (TRIES - 1)
    local ends = np.fori_loop(0, ROUNDS, function(_, at)
        local tries = at.first + (at.last - at.first) * places
        local best = np.argmin(criterion(system, np.exp(tries)), { axis = 0, keepdims = true })
        local function beside(k) return np.take_along_axis(tries, np.clip(best + k, 0, TRIES - 1), { axis = 0 }) end
        return { first = beside(-1), last = beside(1) }
    end, { first = none + scale + LEAST, last = none + scale + MOST })
    return np.exp((ends.first + ends.last) / 2)
end

--- The coefficients (n + 2, elements) of B-splines of degree 3 whose knots are x, the first and last of them four
-- times, for points (piecewise.lua), weights w and lam, a 0-d array, or nil: generalized cross-validation chooses one
-- for each element. Derivatives take that lam as given. All is computed in f64.
local function coefficients(points, w, lam)
    local x, y = np.astype(points.x, "f64"), np.astype(points.y, "f64")
    w = np.astype(w, "f64")
    local system = system_of(x, y, w)
    if lam then
        lam = reshape(np.astype(lam, "f64"), { 1, 1 }) + np.zeros({ 1, shape_of(y)[2] }, { dtype = "f64" })
    else
        local stop = np.stop_gradient
        lam = stop(chosen(system_of(stop(x), stop(y), stop(w))))
    end
    local n, h = system.n, system.h
    local s = solved(system, lam, false)
    local f = system.y - residuals(system, lam, s)
    s = padded(s, 1, 1)
    local slopes, first, last = np.diff(f, { axis = 0 }) / h, cut(s, 0, 0, n - 1), cut(s, 0, 1, n)
    local rise = join({ slopes - h * (first * 2 + last) / 6,
                        cut(slopes + h * (first + last * 2) / 6, 0, n - 2, n - 1) }, 0)
    -- a coefficient is the polar form of the polynomial, at three knots in a row
    local left, right = padded(h, 1, 0), padded(h, 0, 1)
    local middle = f + rise * (right - left) / 3 - s * left * right / 6
    local c = join({ cut(f, 0, 0, 1), middle, cut(f, 0, n - 1, n) }, 0)
    return np.astype(reshape(c, { n + 2, shape_of(y)[2] }), points.y.dtype)
end

return { coefficients = coefficients }
