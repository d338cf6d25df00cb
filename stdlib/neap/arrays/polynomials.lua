--- polynomials.lua: polynomials as 1-d arrays of coefficients, the highest power first, as in NumPy's polyval and its
-- kin. Leading zeros stay, as in JAX: how many there are is not known before the values are.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"

local np = core.np
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of, type = core.shape_of, type
local I32 = core.dtype_codes.i32

--- Argument `position` of np.name as coefficients, and their number.
local function coefficients(name, position, p)
    p = type(p) == "table" and np.array(p) or coerce(name, position, p)
    if core.ndim(p) == 0 then p = shape.reshape(p, { 1 }) end
    if core.ndim(p) ~= 1 then
        raise(name, "argument %d must be coefficients, 1-d; got shape %s", position, core.shape_text(p))
    end
    return p, shape_of(p)[1]
end

--- p with zeros in front, n coefficients in all.
local function widened(p, n)
    local more = n - shape_of(p)[1]
    if core.is_same(more, 0) then return p end
    return shape.pad(p, core.number(0, core.dtype_of(p).code), { more }, { 0 }, { 0 })
end

--- np.polyval(p, x): the polynomial with the coefficients p, the highest power first, at each element of x, by Horner's
-- rule. A table of numbers counts as an array.
--- > np.polyval({1, 0, -2}, np.array{0, 1, 3})
-- [-2. -1.  7.]
np.polyval = function(p, x)
    local both, half = operands.wide_all { operands.meet("polyval", 2, p, x) }
    local n
    p, x = both[1], both[2]
    p, n = coefficients("polyval", 1, p)
    if core.info(x).weak ~= 0 then x = x + np.zeros({}, { dtype = core.dtype_of(p).name }) end
    local y = np.zeros_like(x)
    if core.is_size(n) then
        y = np.scan(function(sum, factor) return sum * x + factor end, np.astype(y, np.result_type(x, p)), p)
    else
        for k = 0, n - 1 do y = y * x + p[k] end
    end
    return operands.narrow(y, half)
end

for name, f in pairs { polyadd = np.add, polysub = np.subtract } do
    --- np.polyadd(p, q), np.polysub(p, q): the coefficients of the sum or the difference of two polynomials.
    --- > np.polyadd({1, 2}, {1, 0, 0}), np.polysub({1, 2}, {1})
    -- [1. 1. 2.]
    -- [1. 1.]
    np[name] = function(p, q)
        local n, m
        p, q = operands.meet(name, 2, p, q)
        p, n = coefficients(name, 1, p)
        q, m = coefficients(name, 2, q)
        return f(widened(p, math.max(n, m)), widened(q, math.max(n, m)))
    end
end

--- The sums over the diagonals of all products: rows of the table of products, each moved on by one, added.
local function product(p, n, q, m)
    if n == 0 or m == 0 then return np.zeros({ 0 }, { dtype = core.dtype_of(p * q).name }) end
    local all = np.outer(p, q)
    local zero = core.number(0, core.dtype_of(all).code)
    all = shape.reshape(shape.pad(all, zero, { 0, 0 }, { 0, n }, { 0, 0 }), { n * (m + n) })
    all = shape.reshape(shape.cut(all, 0, 0, n * (m + n - 1)), { n, m + n - 1 })
    return np.astype(np.sum(all, { axis = 0 }), core.dtype_of(all).name)
end

--- np.polymul(p, q): the coefficients of the product of two polynomials.
--- > np.polymul({1, 1}, {1, -1})
-- [ 1.  0. -1.]
np.polymul = function(p, q)
    local both, half = operands.wide_all { operands.meet("polymul", 2, p, q) }
    local n, m
    p, q = both[1], both[2]
    p, n = coefficients("polymul", 1, p)
    q, m = coefficients("polymul", 2, q)
    return operands.narrow(product(p, n, q, m), half)
end

--- The coefficients of the quotient of n and m coefficients, n - m + 1 of them, and what is left, first of all n: its
-- first coefficient goes after each turn, and a zero comes behind.
local function divided(u, n, v, m)
    local first, places, zero = shape.cut(v, 0, 0, 1), n - m, core.number(0, core.dtype_of(u).code)
    local rest, parts = np.scan(function(left)
        local times = shape.cut(left, 0, 0, 1) / first
        left = left - shape.pad(times * v, zero, { 0 }, { places }, { 0 })
        return shape.join({ shape.cut(left, 0, 1, n), np.zeros({ 1 }, { dtype = u.dtype }) }, 0), times
    end, u, nil, { length = places + 1 })
    return shape.reshape(parts, { places + 1 }), rest
end

--- np.polydiv(u, v) -> quotient, remainder: the coefficients of both, for u = quotient v + remainder. The remainder has
-- as many as v less one (NumPy leaves out zeros in front), at least one.
--- > np.polydiv({1, 0, -1}, {1, 1})
-- [ 1. -1.]
-- [0.]
np.polydiv = function(u, v)
    local half, n, m
    half, u, v = operands.floats_all("polydiv", nil, 2, u, v)
    u, n = coefficients("polydiv", 1, u)
    v, m = coefficients("polydiv", 2, v)
    if m == 0 then raise("polydiv", "argument 2 has no coefficients") end
    if n < m then
        return operands.narrow(np.zeros({ 1 }, { dtype = u.dtype }), half), operands.narrow(u, half)
    end
    if core.is_size(n) or core.is_size(m) then
        local parts, rest = divided(u, n, v, m)
        return operands.narrow(parts, half), operands.narrow(shape.cut(rest, 0, 0, math.max(m - 1, 1)), half)
    end
    local parts, first = {}, shape.cut(v, 0, 0, 1)
    for k = 1, n - m + 1 do -- u is what is left, without its first k - 1 coefficients, which are 0 by now
        local times = shape.cut(u, 0, 0, 1) / first
        parts[k] = times
        u = u - np.pad(times * v, { { 0, n - m + 1 - k } })
        u = shape.cut(u, 0, 1, n - k + 1)
    end
    local rest = m > 1 and u or np.zeros_like(first)
    return operands.narrow(shape.join(parts, 0), half), operands.narrow(rest, half)
end

--- np.roots(p, {strip_zeros=true}): the roots of the polynomial with the coefficients p, the highest power first:
-- complex, the eigenvalues of the companion matrix, as LAPACK orders them, and then zeros. Waits, and raises while
-- tracing, unless strip_zeros is false.
--- strip_zeros: false: the first and the last coefficient are taken not to be 0, and nothing waits
--- > np.round(np.roots{1, -3, 2}, 4), np.roots{0, 1, 0}
-- [2.+0.j 1.+0.j]
-- [0.+0.j]
np.roots = function(p, given)
    local n
    local strip = options("roots", given, { strip_zeros = true }).strip_zeros ~= false
    p, n = coefficients("roots", 1, p)
    local dtype, first, last = core.dtype_of(p), 0, n
    p = np.astype(p, dtype.half and "f32" or dtype.real)
    if strip then
        local places = np.nonzero(p)
        local count = places.size
        first, last = count > 0 and places[0]:item() or n, count > 0 and places[count - 1]:item() + 1 or n
    end
    local zeros = np.zeros({ n - last }, { dtype = np.result_type(p, "c64") })
    local m = last - first - 1
    if m < 1 then return zeros end
    local row = -shape.cut(p, 0, first + 1, last) / shape.cut(p, 0, first, first + 1)
    local below = np.eye(m - 1, m, { dtype = core.dtype_of(p).name })
    return shape.join({ np.linalg.eigvals(shape.join({ shape.reshape(row, { 1, m }), below }, 0)), zeros }, 0)
end

--- The coefficients of the polynomial with n roots: n + 1, of which one more is no zero after each turn.
local function product_of_factors(roots, n, dtype)
    local i = create.iota(n + 1, I32)
    local zero = np.zeros({ 1 }, { dtype = dtype })
    local p = np.scan(function(carry, root)
        local moved = shape.join({ zero, shape.cut(carry.p, 0, 0, n) * root }, 0)
        local found = np.where(np.less_equal(i, carry.k), carry.p - moved, zero)
        return { p = found, k = carry.k + 1 }
    end, { p = np.astype(np.equal(i, 0), dtype), k = np.ones({}, { dtype = "i32" }) }, roots)
    return p.p
end

--- np.poly(roots): the coefficients of the polynomial with these roots, floats, 1 being that of the highest power; of a
-- square matrix, of its characteristic polynomial: of a real one, whose coefficients are real, by its complex
-- eigenvalues.
--- > np.poly{1, 2}, np.poly(np.array{{2, 1}, {1, 2}})
-- [ 1. -3.  2.]
-- [ 1. -4.  3.]
np.poly = function(roots)
    roots = type(roots) == "table" and np.array(roots) or coerce("poly", 1, roots)
    local dims = shape_of(roots)
    if #dims == 0 then roots, dims = shape.reshape(roots, { 1 }), { 1 } end
    if #dims == 2 and dims[1] == dims[2] then
        local real = core.dtype_of(roots).kind ~= "c"
        local p, dtype = np.poly(np.linalg.eigvals(roots)), core.dtype_of(roots)
        return real and operands.narrow(np.real(p), dtype.half and dtype.name) or p
    elseif #dims ~= 1 then
        raise("poly", "argument 1 must be roots, 1-d, or a square matrix; got shape %s", core.shape_text(roots))
    end
    local half
    roots, half = operands.wide(operands.float(roots))
    local dtype = core.dtype_of(roots).name
    if core.is_size(dims[1]) then return operands.narrow(product_of_factors(roots, dims[1], dtype), half) end
    local p = np.ones({ 1 }, { dtype = dtype })
    for k = 0, shape_of(roots)[1] - 1 do
        local root = shape.reshape(roots[k], { 1 })
        p = shape.join({ p, np.zeros({ 1 }, { dtype = dtype }) }, 0)
            - shape.join({ np.zeros({ 1 }, { dtype = dtype }), p * root }, 0)
    end
    return operands.narrow(p, half)
end

--- The powers n - 1, …, 0 in the dtype of p.
local function powers(p, n, offset)
    return np.astype(np.flip(create.iota(n, I32)) + (offset or 0), core.dtype_of(p).name)
end

local MOST_TIMES = 1000 -- derivatives and integrals

local function order(name, m)
    m = core.integer(name, 2, "m", m == nil and 1 or m)
    if m < 0 or m > MOST_TIMES then bad_argument(name, 2, "m", ("an integer from 0 to %d"):format(MOST_TIMES), m) end
    return m
end

--- np.polyder(p, m): the coefficients of the m-th derivative (the first without m).
--- > np.polyder({1, 2, 3}), np.polyder({1, 2, 3}, 2)
-- [2. 2.]
-- [2.]
np.polyder = function(p, m, extra)
    if extra ~= nil then core.too_many("polyder", 2, extra) end
    local n, half
    p, n = coefficients("polyder", 1, p)
    p, half = operands.wide(p)
    local times = order("polyder", m)
    for _ = 1, core.is_size(n) and times or math.min(times, n) do
        n = math.max(n - 1, 0)
        p = shape.cut(p, 0, 0, n) * powers(p, n, 1)
    end
    return operands.narrow(p, half)
end

--- np.polyint(p, m, k): the coefficients of the m-th integral (the first without m), with the constants k: a number, or
-- a table of m, the first one for the first integral; 0 without k.
--- > np.polyint({2, 2}), np.polyint({2, 2}, 1, 5)
-- [1. 2. 0.]
-- [1. 2. 5.]
np.polyint = function(p, m, k, extra)
    if extra ~= nil then core.too_many("polyint", 3, extra) end
    local n, half
    p, n = coefficients("polyint", 1, p)
    m = order("polyint", m)
    p, half = operands.wide(operands.float(p))
    local constants = k == nil and 0 or k
    if type(constants) == "table" and #constants ~= m then
        raise("polyint", "%d constants for %d integrals", #constants, m)
    end
    for i = 1, m do
        local last = type(constants) == "table" and constants[i] or constants
        last = operands.beside("polyint", 3, last, core.dtype_of(p))
        last = np.astype(shape.reshape(last, { 1 }), core.dtype_of(p).name)
        p = shape.join({ p / powers(p, n, 1), last }, 0)
        n = n + 1
    end
    return operands.narrow(p, half)
end

--- np.polyfit(at, y, degree, {rcond=…, w=…}): the coefficients of the polynomial of that degree that fits the points
-- best, in the sense of least squares. The points stand at `at`; y is 1-d, or 2-d with a data set in each column.
-- Differentiable in y.
--- rcond: singular values of at most rcond times the largest count as zeros; the number of points times eps without it
--- w: weights of the points: each difference counts w times before it is squared
--- > np.round(np.polyfit(np.array{0, 1, 2}, np.array{1, 3, 7}, 2), 3)
-- [1. 1. 1.]
np.polyfit = function(x, y, degree, given)
    local o = options("polyfit", given, { rcond = true, w = true })
    local half
    half, x, y = operands.floats_all("polyfit", nil, 2, x, y)
    degree = core.integer("polyfit", 3, "degree", degree, 0)
    local n = shape_of(x)[1]
    if core.ndim(x) ~= 1 or n == 0 then
        raise("polyfit", "argument 1 must be 1-d and not empty, got shape %s", core.shape_text(x))
    end
    if core.ndim(y) < 1 or core.ndim(y) > 2 or shape_of(y)[1] ~= n then
        raise("polyfit", "argument 2 must have %d points, got shape %s", n, core.shape_text(y))
    end
    local a = np.vander(x, degree + 1)
    if o.w ~= nil then
        local w = operands.beside("polyfit", "option 'w'", o.w, core.dtype_of(y))
        if half then w = np.astype(w, "f32") end
        if not shape.same(shape_of(w), { n }) then
            raise("polyfit", "option 'w' must have shape (%d,), got %s", n, core.shape_text(w))
        end
        a = a * shape.reshape(w, { n, 1 })
        y = core.ndim(y) == 2 and y * shape.reshape(w, { n, 1 }) or y * w
    end
    local scale = np.sqrt(np.sum(a * a, { axis = 0 }))
    scale = np.where(np.equal(scale, 0), 1, scale)
    local rcond = o.rcond == nil and n * np.finfo(core.dtype_of(a).name).eps or o.rcond
    local found = np.linalg.lstsq(a / scale, y, { rcond = rcond })
    found = core.ndim(y) == 2 and found / shape.reshape(scale, { degree + 1, 1 }) or found / scale
    return operands.narrow(found, half)
end
