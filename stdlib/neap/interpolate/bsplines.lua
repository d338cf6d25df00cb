--- bsplines.lua: np.interpolate.BSpline, make_interp_spline, make_lsq_spline, make_smoothing_spline: sums of B-splines,
-- those through points, and those near points.
--
-- A spline of degree k has knots t, which do not fall, and n = size of t - k - 1 coefficients. Between t[i] and
-- t[i + 1] it is the sum of c[i - k + s] B[s] for s = 0 … k, where the B-splines B follow from those of lower degrees
-- (C. de Boor, A Practical Guide to Splines, 1978, chapter 10). It is meant from t[k] to t[n].
--
-- The coefficients of a spline through points are the solution of a system of 2 k + 1 diagonals. It is eliminated
-- without exchanges, by two scans: such systems allow that (chapter 13), and scans batch and are differentiable.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local piecewise = require "neap.interpolate.piecewise"
local smoothing = require "neap.interpolate.smoothing"

local np = core.np
local raise, bad_argument, type = core.raise, core.bad_argument, type
local shape_of, cut, reshape, join = core.shape_of, shape.cut, shape.reshape, shape.join

local BSpline = {}
BSpline.__index = BSpline
BSpline.__tostring = function(self) return ("a B-spline of degree %d: p(t)"):format(self.k) end

--- c has the axis of the coefficients first; `how` what piecewise.arranged takes, and extrapolate.
local function new(t, c, k, how)
    return setmetatable({ t = t, c = c, k = k, axis = how.axis, dims = how.dims, half = how.half,
                          extrapolate = how.extrapolate }, BSpline)
end

-- ---- Values ---------------------------------------------------------------------------------------------------------

--- How many coefficients the knots have.
local function count_of(t, k) return shape_of(t)[1] - k - 1 end

--- The ends of a spline: t[k] and t[n].
local function ends(self)
    local n = count_of(self.t, self.k)
    return reshape(cut(self.t, 0, self.k, self.k + 1), {}), reshape(cut(self.t, 0, n, n + 1), {})
end

--- For places x, 1-d, the number i of the interval t[i] … t[i + 1]; beyond the ends the outer one.
local function interval_of(t, k, x)
    return np.clip(np.searchsorted(t, x, { side = "right" }) - 1, k, count_of(t, k) - 1)
end

--- The values at x of the k + 1 B-splines that are not 0 in interval i, in order: a list.
local function basis_at(t, k, x, i)
    local list, left, right = { x * 0 + 1 }, {}, {}
    for j = 1, k do
        left[j], right[j] = x - np.take(t, i + (1 - j)), np.take(t, i + j) - x
        local carried
        for r = 1, j do
            local share = list[r] / (right[r] + left[j - r + 1])
            list[r] = carried and carried + right[r] * share or right[r] * share
            carried = left[j - r + 1] * share
        end
        list[j + 1] = carried
    end
    return list
end

--- Coefficients as a matrix, a row each.
local function rows_of(c)
    local dims = shape_of(c)
    return reshape(c, { dims[1], shape.product(dims, 2) })
end

--- The spline at x, 1-d, whatever lies outside: an array of (places, elements).
local function at_places(self, x)
    local rows, i = rows_of(self.c), interval_of(self.t, self.k, x)
    local sum
    for s, b in ipairs(basis_at(self.t, self.k, x, i)) do
        local term = np.take(rows, i + (s - 1 - self.k), { axis = 0 }) * reshape(b, { core.size_of(x), 1 })
        sum = sum and sum + term or term
    end
    return sum
end

--- p(x): as piecewise polynomials have it.
function BSpline:__call(x)
    x = piecewise.place_of(self.t, "interpolate", 1, x)
    local front, size = shape_of(x), core.size_of(x)
    x = reshape(x, { size })
    local first, last = ends(self)
    local inside = self.extrapolate == "periodic" and (x - first) % (last - first) + first or x
    local rows = at_places(self, inside)
    if not self.extrapolate then
        local outside = np.logical_or(np.less(x, first), np.greater(x, last))
        rows = np.where(reshape(outside, { size, 1 }), core.NAN, rows)
    end
    return piecewise.arranged(self, rows, front)
end

-- ---- Derivatives and integrals --------------------------------------------------------------------------------------

--- The distances of knots, shaped to stand beside coefficients.
local function widths(t, from, count, apart, like)
    local width = cut(t, 0, from + apart, from + apart + count) - cut(t, 0, from, from + count)
    local dims = { count }
    for k = 2, core.ndim(like) do dims[k] = 1 end
    return reshape(width, dims)
end

--- p:derivative(n): as piecewise polynomials have it; n is not above the degree.
function BSpline:derivative(n)
    n = core.integer("interpolate", 1, "n", n == nil and 1 or n, 0, self.k)
    local t, c, k = self.t, self.c, self.k
    for _ = 1, n do
        local count = count_of(t, k)
        local width = widths(t, 1, count - 1, k, c)
        local none = np.equal(width, 0)
        c = np.where(none, 0, np.diff(c, { axis = 0 }) * k / np.where(none, 1, width))
        t, k = cut(t, 0, 1, shape_of(t)[1] - 1), k - 1
    end
    return new(t, c, k, self)
end

--- p:antiderivative(n): the n-th antiderivative of a B-spline, the first one without n: again such a function, of a
-- degree higher by n, 0 at the first knot. That of a periodic one is none: beyond the ends it is NaN.
--- > p = np.interpolate.BSpline({0, 0, 1, 2, 2}, {0, 1, 0}, 1)
--- > p:antiderivative()(np.array{0, 1, 2})
-- [0.  0.5 1. ]
function BSpline:antiderivative(n)
    n = core.integer("interpolate", 1, "n", n == nil and 1 or n, 0, 100)
    local t, c, k = self.t, self.c, self.k
    for _ = 1, n do
        local parts = c * widths(t, 0, count_of(t, k), k + 1, c) / (k + 1)
        c = join({ cut(parts, 0, 0, 1) * 0, np.cumsum(parts, { axis = 0 }) }, 0)
        local size = shape_of(t)[1]
        t, k = join({ cut(t, 0, 0, 1), t, cut(t, 0, size - 1, size) }, 0), k + 1
    end
    local whole = new(t, c, k, self)
    if n > 0 and self.extrapolate == "periodic" then whole.extrapolate = false end
    return whole
end

--- p:integrate(a, b): as piecewise polynomials have it; beyond the ends of a spline that does not go on there is
-- nothing.
function BSpline:integrate(a, b)
    a, b = piecewise.bounds_of(self.t, "interpolate", a, b)
    local both, whole = np.stack { a, b }, self:antiderivative()
    local first, last = ends(self)
    local function at(x) return at_places(whole, x) end
    local values
    if self.extrapolate == "periodic" then
        local outer = at(np.stack { first, last })
        local turns = reshape(np.floor((both - first) / (last - first)), { 2, 1 })
        values = at((both - first) % (last - first) + first) + turns * np.diff(outer, { axis = 0 })
    else
        values = at(self.extrapolate and both or np.clip(both, first, last))
    end
    return piecewise.arranged(self, cut(values, 0, 1, 2) - cut(values, 0, 0, 1), {})
end

-- ---- Splines through points -----------------------------------------------------------------------------------------

--- x of a system of 2 k + 1 diagonals: band (rows, 2 k + 1), of which element k is the diagonal's; right (rows,
-- elements).
local function solved(band, right, k)
    local width = shape_of(right)[2]
    local upper = np.pad(np.ones({ k, 1 }, { dtype = band.dtype }), { { 0, 0 }, { 0, k } })
    local none = np.zeros({ k, width }, { dtype = right.dtype })
    local _, rows = np.scan(function(above, row)
        local b, y = row.band, row.right
        for s = 0, k - 1 do
            local factor = b[s] / above.upper[{ s, 0 }]
            b = b - np.pad(above.upper[s], { { s, k - s } }) * factor
            y = y - above.right[s] * factor
        end
        local now = { upper = b[{ { k, 2 * k + 1 } }], right = y }
        return { upper = np.concatenate({ above.upper[{ { 1, k } }], reshape(now.upper, { 1, k + 1 }) }, 0),
                 right = np.concatenate({ above.right[{ { 1, k } }], reshape(y, { 1, width }) }, 0) }, now
    end, { upper = upper, right = none }, { band = band, right = right })
    local _, x = np.scan(function(below, row)
        local y = row.right
        for d = 1, k do y = y - below[d - 1] * row.upper[d] end
        y = y / row.upper[0]
        return np.concatenate({ reshape(y, { 1, width }), below[{ { 0, k - 1 } }] }, 0), y
    end, none, rows, { reverse = true })
    return x
end

--- An end's conditions, in ascending order of derivatives: a list of { order, value, of (1, elements) or 0-d }.
local function conditions(name, given, points)
    if given == "natural" then return { { 2, 0 } } end
    if given == "clamped" then return { { 1, 0 } } end
    if type(given) ~= "table" or getmetatable(given) ~= nil then
        bad_argument(name, nil, "bc_type", '"not-a-knot", "natural", "clamped", or a pair, for each end a name or a '
                     .. "list of {order, derivative}", given)
    end
    local list, found = given[1] ~= nil and type(given[1]) ~= "table" and { given } or given, {}
    for k, pair in ipairs(core.list(name, "option 'bc_type'", list)) do
        if type(pair) ~= "table" or getmetatable(pair) ~= nil or pair[2] == nil then
            bad_argument(name, nil, "bc_type", "conditions {order, derivative}", pair)
        end
        local order = core.integer(name, nil, "bc_type", pair[1], 1, points.k)
        local value = operands.beside(name, "a derivative in option 'bc_type'", pair[2], core.dtype_of(points.y))
        if core.ndim(value) > 0 and not shape.same(shape_of(value), points.dims) then
            raise(name, "a derivative in option 'bc_type' has shape %s, the values have %s", core.shape_text(value),
                  core.shape_text(points.dims))
        end
        found[k] = { order, core.ndim(value) == 0 and value or reshape(value, { 1, shape_of(points.y)[2] }) }
    end
    table.sort(found, function(a, b) return a[1] < b[1] end)
    return found
end

--- The conditions at both ends; none of them: "not-a-knot".
local function both_ends(name, given, points)
    if given == nil or given == "not-a-knot" then return {}, {} end
    local pair = { given, given }
    if type(given) == "table" then pair = core.list(name, "option 'bc_type'", given) end
    if #pair ~= 2 then bad_argument(name, nil, "bc_type", "a name or a pair, one for each end", given) end
    return conditions(name, pair[1], points), conditions(name, pair[2], points)
end

--- The ends of points, each `times` times, around the inner knots.
local function clamped_knots(x, inner, times)
    local n, list = shape_of(x)[1], {}
    for _ = 1, times do list[#list + 1] = cut(x, 0, 0, 1) end
    list[#list + 1] = inner
    for _ = 1, times do list[#list + 1] = cut(x, 0, n - 1, n) end
    return join(list, 0)
end

--- Knots that SciPy chooses: all points where there are conditions at the ends; without them fewer, or points between.
local function knots_of(x, n, k, has_conditions)
    if has_conditions then return clamped_knots(x, x, k) end
    if k % 2 == 1 then return clamped_knots(x, cut(x, 0, (k + 1) / 2, n - (k + 1) / 2), k + 1) end
    local middle = (cut(x, 0, 1, n) + cut(x, 0, 0, n - 1)) / 2
    return clamped_knots(x, cut(middle, 0, k / 2, n - 1 - k / 2), k + 1)
end

--- The numbers by which k + 1 coefficients, from the first or the last on, give a derivative at the end: (1, k + 1).
local function end_row(t, k, order, back)
    local n = count_of(t, k)
    local from = back and n - 1 - k or 0
    local near = cut(t, 0, from, from + 2 * k + 2)
    local alone = new(near, np.eye(k + 1, { dtype = t.dtype }), k, { axis = 0, dims = { k + 1 }, extrapolate = true })
    local at = back and cut(near, 0, k + 1, k + 2) or cut(near, 0, k, k + 1)
    return at_places(alone:derivative(order), at)
end

--- The coefficients: the value at the first point, conditions there, values, conditions at the end, the last value.
local function coefficients(points, t, left, right)
    local k, n, x, y = points.k, points.n, points.x, points.y
    local i = interval_of(t, k, x)
    local basis = np.stack(basis_at(t, k, x, i), { axis = 1 })
    local all, values, first = { cut(basis, 0, 0, 1) }, { cut(y, 0, 0, 1) }, { cut(i, 0, 0, 1) }
    local function add(row, value, at)
        all[#all + 1], values[#values + 1], first[#first + 1] = row, value, at
    end
    for _, pair in ipairs(left) do
        add(end_row(t, k, pair[1], false), values[1] * 0 + pair[2], first[1])
    end
    add(cut(basis, 0, 1, n - 1), cut(y, 0, 1, n - 1), cut(i, 0, 1, n - 1))
    local final, at_end = cut(y, 0, n - 1, n), cut(i, 0, n - 1, n)
    for j = #right, 1, -1 do
        add(end_row(t, k, right[j][1], true), final * 0 + right[j][2], at_end)
    end
    add(cut(basis, 0, n - 1, n), final, at_end)
    local columns = join(first, 0) - k
    local count = n + #left + #right
    local place = np.arange(2 * k + 1) + reshape(np.arange(count) - k - columns, { count, 1 })
    local held = np.logical_and(np.greater_equal(place, 0), np.less_equal(place, k))
    local band = np.where(held, np.take_along_axis(join(all, 0), np.clip(place, 0, k), { axis = 1 }), 0)
    return solved(band, join(values, 0), k)
end

--- Knots as an array of the dtype of the points, of which there are `wanted`; nil: however many.
local function checked_knots(name, what, given, points, wanted)
    local t = np.astype(operands.beside(name, what, given, core.dtype_of(points.x)), points.x.dtype)
    if core.ndim(t) ~= 1 then raise(name, "%s must be 1-d, got shape %s", what, core.shape_text(t)) end
    if wanted and not shape.same(shape_of(t), { wanted }) then
        raise(name, "%s must have %s knots, one for each point and condition and %d more, got %s", what,
              tostring(wanted), points.k + 1, tostring(shape_of(t)[1]))
    end
    local count, least = shape_of(t)[1], 2 * points.k + 2
    if count < least then raise(name, "%s must have at least %d knots, got %d", what, least, count) end
    return t
end

--- Coefficients as a spline, NaN and outside of a trace an error where knots t and points do not determine the spline:
-- knots fall, points lie outside, or the system has no single solution.
local function determined(name, t, rows, points)
    local k, x, n = points.k, points.x, points.n
    local inside = np.logical_and(np.greater_equal(x[0], t[k]), np.less_equal(x[n - 1], t[count_of(t, k)]))
    local valid = np.logical_and(np.all(np.greater_equal(np.diff(t), 0)), inside)
    if not core.recording() then
        if not valid:item() then
            raise(name, "knots must not fall, and points must lie from knot %d to knot %d", k, count_of(t, k))
        end
        if not np.all(np.isfinite(rows)):item() and np.all(np.isfinite(points.y)):item() then
            raise(name, "the points and knots do not determine the spline")
        end
    end
    return new(t, reshape(np.where(valid, rows, core.NAN), { shape_of(rows)[1], unpack(points.dims) }), k, points)
end

--- The coefficients with the smallest sum of squares of w (p(x) - y), by a QR factorization; infinite where the points
-- do not determine them.
local function least_squares(points, t, w)
    local k, x = points.k, points.x
    local i, n = interval_of(t, k, x), count_of(t, k)
    local column, matrix = reshape(np.arange(n), { 1, n }), nil
    for s, b in ipairs(basis_at(t, k, x, i)) do
        local held = np.equal(column, reshape(i + (s - 1 - k), { points.n, 1 }))
        local part = np.where(held, reshape(b * w, { points.n, 1 }), 0)
        matrix = matrix and matrix + part or part
    end
    local q, r = np.linalg.qr(matrix)
    local sizes = np.abs(np.diagonal(r))
    local full = np.greater(np.min(sizes), np.max(sizes) * (np.finfo(r.dtype).eps * math.max(n, points.n)))
    local safe = np.where(full, r, np.eye(n, { dtype = r.dtype }))
    local right = np.matmul(np.matrix_transpose(q), points.y * reshape(w, { core.size_of(w), 1 }))
    return np.where(full, np.linalg.solve_triangular(safe, right), np.inf)
end

--- The weights of points, of their shape and dtype; ones for nil.
local function weights_of(name, given, points)
    if given == nil then return np.ones_like(points.x) end
    local w = np.astype(operands.beside(name, "option 'w'", given, core.dtype_of(points.x)), points.x.dtype)
    if not shape.same(shape_of(w), shape_of(points.x)) then
        raise(name, "option 'w' must have shape %s, as x, got %s", core.shape_text(points.x), core.shape_text(w))
    end
    return w
end

--- The weights of a smoothing spline: above 0; NaN while tracing where they are not.
local function positive_weights(name, given, points)
    local w = weights_of(name, given, points)
    if given == nil then return w end
    local valid = np.all(np.greater(w, 0))
    if not core.recording() and not valid:item() then
        raise(name, "option 'w': weights must be above 0, got %s", tostring(np.min(w):item()))
    end
    return np.where(valid, w, core.NAN)
end

--- The factor lam of a smoothing spline, a 0-d array of f64; NaN while tracing where it is none.
local function penalty_of(name, given)
    local lam = operands.beside(name, "option 'lam'", given, core.dtypes.f64)
    if core.ndim(lam) > 0 then
        raise(name, "option 'lam' must be a number or a 0-d array, got shape %s", core.shape_text(lam))
    end
    if core.dtype_of(lam).kind == "c" then raise(name, "option 'lam' must be real, got dtype %s", lam.dtype) end
    lam = np.astype(lam, "f64")
    local valid = np.logical_and(np.greater_equal(lam, 0), np.isfinite(lam))
    if not core.recording() and not valid:item() then
        raise(name, "option 'lam' must be finite and at least 0, got %s", tostring(lam:item()))
    end
    return np.where(valid, lam, core.NAN)
end

return function(interpolate)
    local KNOWN = { axis = true, extrapolate = true }

    --- np.interpolate.BSpline(t, c, k, {axis=0, extrapolate=true}) -> p: the spline of degree k with knots t, 1-d, that
    -- do not fall, and coefficients c, an array with size of t - k - 1 of them along an axis (further ones are not
    -- read): SciPy's BSpline. p(x) are values at x, an array or a number; p:derivative(n), p:antiderivative(n) and
    -- p:integrate(a, b) follow from it; p.t, p.c and p.k are what it is made of, p.c with the axis of the coefficients
    -- first. It is meant from t[k] to t[size of t - k - 1]. Differentiable in t, c and x. Raises if there are fewer
    -- than 2 k + 2 knots, or if these fall; while tracing values are NaN then.
    --- axis: the axis of c along which the coefficients are
    --- extrapolate: beyond the ends: true: the outer polynomials; false: NaN; "periodic"
    --- > p = np.interpolate.BSpline({0, 0, 0, 1, 2, 2, 2}, np.array({1, 0, 2, 3}, {dtype="f64"}), 2)
    --- > p(np.array{0, 0.5, 2}), p:derivative()(0.5), p:integrate(0, 2)
    -- [1.  0.5 3. ]
    -- 0.0
    -- 2.6666666666666665
    function interpolate.BSpline(t, c, k, given)
        local name = "interpolate.BSpline"
        local o = core.options(name, given, KNOWN)
        k = core.integer(name, 3, "k", k, 0, 100)
        local half
        half, t, c = operands.floats_all(name, nil, 2, t, c)
        if core.dtype_of(t).kind == "c" then t = np.real(t) end
        if core.ndim(t) ~= 1 then raise(name, "argument 1 (t) must be 1-d, got shape %s", core.shape_text(t)) end
        local n = count_of(t, k)
        if n < k + 1 then raise(name, "of degree %d it needs at least %d knots, got %d", k, 2 * k + 2, n + k + 1) end
        local axis = core.axis(name, o.axis == nil and 0 or o.axis, core.ndim(c))
        local stored = shape_of(c)[axis + 1]
        if stored < n then
            raise(name, "%d knots of degree %d take %d coefficients, got %d", n + k + 1, k, n, stored)
        end
        local extrapolate = o.extrapolate == nil and true or o.extrapolate
        if type(extrapolate) ~= "boolean" and extrapolate ~= "periodic" then
            bad_argument(name, nil, "extrapolate", 'true, false or "periodic"', extrapolate)
        end
        local rising = np.logical_and(np.all(np.greater_equal(np.diff(t), 0)), np.less(t[k], t[n]))
        if not core.recording() and not rising:item() then
            raise(name, "argument 1 (t): knots must not fall, and knot %d must be below knot %d", k, n)
        end
        c = np.where(rising, cut(np.moveaxis(c, axis, 0), 0, 0, n), core.NAN)
        local dims = shape_of(c)
        table.remove(dims, 1)
        return new(t, c, k, { axis = axis, dims = dims, half = half, extrapolate = extrapolate })
    end

    local OPTIONS = { k = true, t = true, bc_type = true, axis = true }

    --- np.interpolate.make_interp_spline(x, y, {k=3, t=…, bc_type="not-a-knot", axis=0}) -> p: the spline of degree k
    -- through the points (x, y), an np.interpolate.BSpline: SciPy's make_interp_spline. x is 1-d and rises; y has as
    -- many values along an axis. There are more points than k. Differentiable in x, y and what p is given. Raises if
    -- knots and points do not determine the spline (I. Schoenberg and A. Whitney, On Pólya frequency functions III,
    -- 1953); while tracing values are not finite then.
    --- k: the degree, at least 1
    --- t: the knots, as many as points and conditions, and k + 1 more; chosen without it
    --- bc_type: at the ends: "not-a-knot": there are as few knots as points ask for; k = 3: "natural": the second
    -- derivative is 0, "clamped": the first one is; a pair, for each end one of both names, a condition {order,
    -- derivative} or a list of conditions, k - 1 at both ends together
    --- axis: the axis of y along which the points are
    --- > x = np.array({0, 1, 2, 3, 4, 5, 6}, {dtype="f64"})
    --- > p = np.interpolate.make_interp_spline(x, x ^ 5, {k=5})
    --- > p(np.array{0.5, 2.5}), p:integrate(0, 6)
    -- [3.125000e-02 9.765625e+01]
    -- 7776.0
    function interpolate.make_interp_spline(x, y, given)
        local name = "interpolate.make_interp_spline"
        local o = core.options(name, given, OPTIONS)
        local points = piecewise.points_of(name, x, y, o.axis, true)
        local k = core.integer(name, nil, "k", o.k == nil and 3 or o.k, 1, 100)
        points.k = k
        if points.n <= k then raise(name, "of degree %d it needs at least %d points, got %d", k, k + 1, points.n) end
        local left, right = both_ends(name, o.bc_type, points)
        local count = #left + #right
        if o.t == nil and count > 0 and count ~= k - 1 then
            raise(name, "option 'bc_type' has %d conditions, a spline of degree %d takes %d", count, k, k - 1)
        end
        local t = o.t == nil and knots_of(points.x, points.n, k, count > 0)
            or checked_knots(name, "option 't'", o.t, points, points.n + count + k + 1)
        return determined(name, t, coefficients(points, t, left, right), points)
    end

    --- np.interpolate.make_lsq_spline(x, y, t, {k=3, w=…, axis=0}) -> p: the spline of degree k with knots t that is
    -- nearest to the points (x, y) in the sense of least squares, an np.interpolate.BSpline: SciPy's make_lsq_spline. x
    -- is 1-d, rises, and lies from t[k] to t[size of t - k - 1]; y has as many values along an axis. Differentiable in
    -- x, y, t and w. The matrix of all points and coefficients is made and factored. Raises as make_interp_spline.
    --- k: the degree
    --- w: by which p(x) - y is multiplied, a number for each point; 1 without it
    --- axis: the axis of y along which the points are
    --- > x = np.linspace(0, 4, 9, {dtype="f64"})
    --- > p = np.interpolate.make_lsq_spline(x, x ^ 3 - x, {0, 0, 0, 0, 2, 4, 4, 4, 4})
    --- > np.round(p(np.array{0.5, 3}), 6)
    -- [-0.375 24.   ]
    function interpolate.make_lsq_spline(x, y, t, given)
        local name = "interpolate.make_lsq_spline"
        local o = core.options(name, given, { k = true, w = true, axis = true })
        local points = piecewise.points_of(name, x, y, o.axis, true)
        points.k = core.integer(name, nil, "k", o.k == nil and 3 or o.k, 0, 100)
        t = checked_knots(name, "argument 3 (t)", t, points)
        local n = count_of(t, points.k)
        if points.n < n then raise(name, "%d points are fewer than the %d coefficients", points.n, n) end
        return determined(name, t, least_squares(points, t, weights_of(name, o.w, points)), points)
    end

    --- np.interpolate.make_smoothing_spline(x, y, {w=…, lam=…, axis=0}) -> p: the curve with the smallest sum of w (y -
    -- p(x))^2 and lam times the integral of its squared second derivative, an np.interpolate.BSpline: SciPy's
    -- make_smoothing_spline. x is 1-d, rises, and has at least 5 points; y has as many real values along an axis. p is
    -- a natural cubic spline with knots x (C. Reinsch, Smoothing by Spline Functions, 1967); it is computed in f64, in
    -- time that grows with the number of points. Differentiable in x, y, w and lam; a chosen lam counts as given.
    -- Raises if a weight is not above 0, or lam is negative or not finite; while tracing values are NaN then.
    --- w: the weights, a number above 0 for each point; 1 without it
    --- lam: how smooth the curve is, a number or 0-d array: 0: it passes through the points; large: it is nearly the
    -- line of least squares; without it generalized cross-validation chooses one for each element of a value (P. Craven
    -- and G. Wahba, Smoothing noisy data with spline functions, 1979), of any size, where SciPy looks between 0 and the
    -- number of points
    --- axis: the axis of y along which the points are
    --- > x = np.array({0, 1, 2, 3, 4}, {dtype="f64"})
    --- > p = np.interpolate.make_smoothing_spline(x, {0, 2, 1, 3, 2}, {lam=1})
    --- > np.round(p(x), 4)
    -- [0.3913 1.2174 1.7826 2.2174 2.3913]
    function interpolate.make_smoothing_spline(x, y, given)
        local name = "interpolate.make_smoothing_spline"
        local o = core.options(name, given, { w = true, lam = true, axis = true })
        local points = piecewise.points_of(name, x, y, o.axis, true)
        if core.dtype_of(points.y).kind == "c" then raise(name, "is of real values, got dtype %s", points.y.dtype) end
        if points.n < 5 then raise(name, "needs at least 5 points, got %d", points.n) end
        points.k = 3
        local w, lam = positive_weights(name, o.w, points), nil
        if o.lam ~= nil then lam = penalty_of(name, o.lam) end
        local t = clamped_knots(points.x, points.x, 3)
        return determined(name, t, smoothing.coefficients(points, w, lam), points)
    end
end
