--- bdf.lua: the method "BDF" (steps.lua): local bdf = require "neap.integrate.bdf".
--
-- A step of order k, 1 to 5, extends the polynomial through the last k + 1 states, at places of a grid of width h. An
-- array has the polynomial as backward differences: row j is the difference of order j. Newton's iteration (newton.lua)
-- finds d, the difference of order k + 1, of which the error is a multiple. After k + 1 steps of one length the order
-- becomes k - 1, k or k + 1, whichever makes the next steps longest; another length means the same polynomial on
-- another grid. The Jacobian stays until the iteration fails, the inverse matrix until the length changes.
--
-- Source: Shampine and Reichelt, "The MATLAB ODE Suite" (1997), section 2, with the constants KAPPA. Lengths, orders
-- and evaluations are those of SciPy.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local newton = require "neap.integrate.newton"

local np, shape_of, norm = core.np, core.shape_of, newton.norm

local HIGHEST, ROWS, TURNS = 5, 8, 4 -- the highest order, rows of differences, turns of Newton's iteration
local LEAST, MOST = 0.2, 10 -- of the next length, in terms of the last one

-- By order, from 0 on.
local KAPPA = { 0, -0.1850, -1 / 9, -0.0823, -0.0415, 0 }
local GAMMA, ALPHA, ERRORS = { 0 }, {}, {}
for k = 1, HIGHEST do GAMMA[k + 1] = GAMMA[k] + 1 / k end
for k = 0, HIGHEST do
    ALPHA[k + 1] = (1 - KAPPA[k + 1]) * GAMMA[k + 1]
    ERRORS[k + 1] = KAPPA[k + 1] * GAMMA[k + 1] + 1 / (k + 1)
end

--- Row k, column j: the factor of s^k in (s - 1) s (s + 1) … (s + j - 2) / j!, the polynomial of the difference of
-- order j at the part s of the last step.
local BETWEEN = {}
do
    local product = { [0] = 1 }
    for j = 1, HIGHEST do
        local next_product = {}
        for k = 0, j do next_product[k] = ((product[k - 1] or 0) + (j - 2) * (product[k] or 0)) / j end
        product = next_product
        for k = 1, HIGHEST do
            BETWEEN[k] = BETWEEN[k] or {}
            BETWEEN[k][j] = product[k] or 0
        end
    end
end

--- Row i, column j: (-1)^i j! / (i! (j - i)!), factors of differences in values, and of values in differences.
local SIGNS = {}
for i = 0, HIGHEST do
    SIGNS[i + 1] = {}
    for j = 0, HIGHEST do
        local factor = i <= j and 1 or 0
        for k = 1, math.min(i, j) do factor = factor * (k - 1 - j) / k end
        SIGNS[i + 1][j + 1] = factor
    end
end

-- ---- Differences ----------------------------------------------------------------------------------------------------

--- The numbers of n rows from `first` on, as a column.
local function numbers(first, n) return shape.reshape(np.arange(first, first + n), { n, 1 }) end

--- Rows of differences up to an order, the others 0.
local function up_to(rows, first, order)
    return np.where(np.less_equal(numbers(first, shape_of(rows)[1]), order), rows, 0)
end

local function row(differences, k)
    return np.sum(np.where(np.equal(numbers(0, ROWS), k), differences, 0), { axis = 0 })
end

--- The differences up to an order on a grid that is `factor` times as wide.
local function widened(differences, order, factor)
    local like = { dtype = differences.dtype }
    local i, j = numbers(1, HIGHEST):astype(like.dtype), np.arange(HIGHEST + 1):astype(like.dtype)
    local values = np.cumprod((i - 1 - j * factor) / i, { axis = 0 })
    values = shape.join({ np.ones({ 1, HIGHEST + 1 }, like), values }, 0)
    local low = shape.cut(differences, 0, 0, HIGHEST + 1)
    local made = np.matmul(np.transpose(np.matmul(values, np.array(SIGNS, like))), up_to(low, 0, order))
    local kept = np.where(np.less_equal(numbers(0, HIGHEST + 1), order), made, low)
    return shape.join({ kept, shape.cut(differences, 0, HIGHEST + 1, ROWS) }, 0)
end

--- The differences behind a step: d is that of order `order` + 1, and each lower one changes by the next.
local function advanced(differences, order, d)
    local r = numbers(0, ROWS)
    local with = np.where(np.equal(r, order + 1), d, up_to(differences, 0, order))
    local sums = np.flip(np.cumsum(np.flip(with, { axis = 0 }), { axis = 0 }), { axis = 0 })
    local above = np.where(np.equal(r, order + 2), d - row(differences, order + 1), differences)
    return np.where(np.less_equal(r, order + 1), sums, above)
end

--- What a front carries for this method: the differences, the order, how many steps had this length; the Jacobian,
-- whether the next attempt evaluates another, whether one of this step did, how many there were; the inverse matrix,
-- and whether the next attempt may use the matrix.
local function memory(how, field, front, forward)
    local n, like, no = shape_of(front.y)[1], { dtype = front.y.dtype }, np.zeros({}, { dtype = "bool" })
    local rows = np.stack { front.y, front.f * (front.h * forward) }
    local zero = np.zeros({}, { dtype = "i32" })
    return { differences = shape.join({ rows, np.zeros({ ROWS - 2, n }, like) }, 0), order = zero + 1, equal = zero,
             jacobian = np.stop_gradient(how.jacobian(field, front.t, front.y)), wanted = no, fresh = no,
             jacobians = zero + 1, inverse = np.zeros({ n, n }, like), valid = no }
end

-- ---- An attempt -----------------------------------------------------------------------------------------------------

--- The order with the longest next steps, and how much longer they are.
local function chosen(differences, order, wrong, scale)
    local like = { dtype = differences.dtype }
    local function size(k, of)
        local error_factor = np.take(np.array(ERRORS, like), np.clip(of, 0, HIGHEST))
        return np.stop_gradient(norm(row(differences, k) * error_factor / scale))
    end
    local below = np.where(np.greater(order, 1), size(order, order - 1), math.huge)
    local above = np.where(np.less(order, HIGHEST), size(order + 2, order + 1), math.huge)
    local powers = (np.arange(3) + order):astype(like.dtype)
    local factors = np.stack { below, wrong, above } ^ (-1 / powers)
    return order + np.argmax(factors):astype "i32" - 1, np.max(factors)
end

--- d, how many turns the iteration took, and whether d was found, for an attempt from `guess` on.
local function solved(how, field, to, guess, differences, order, inverse)
    local like = { dtype = guess.dtype }
    local alpha = np.take(np.array(ALPHA, like), order)
    local gamma = shape.reshape(np.array(GAMMA, like), { HIGHEST + 1, 1 })
    local psi = np.sum(up_to(shape.cut(differences, 0, 0, HIGHEST + 1), 0, order) * gamma, { axis = 0 }) / alpha
    local function improved(d)
        return d + np.matmul(inverse, field(to.t, guess + d) * (to.h / alpha) - psi - d)
    end
    jit.off(improved)
    return newton.solve(improved, np.zeros_like(guess), how.atol + np.abs(guess) * how.rtol,
                        { most = TURNS, small = newton.small(how.rtol, guess.dtype), rounding = 0, hopeless = true })
end

--- An attempt at a step from a front, as march.lua wants it.
local function attempt(how, field, front, to)
    local m, like = front.memory, { dtype = front.y.dtype }
    local order, both = m.order, np.logical_and
    local function of_length(length)
        return np.where(to.altered, widened(m.differences, order, length / front.h), m.differences)
    end
    local differences = of_length(to.length)
    local guess = np.sum(up_to(differences, 0, order), { axis = 0 })
    local jacobian = np.cond(m.wanted, function() return np.stop_gradient(how.jacobian(field, to.t, guess)) end,
                             function() return m.jacobian end)
    local fresh = np.logical_or(m.fresh, m.wanted)
    local inverse = np.cond(both(m.valid, np.logical_not(to.last)), function() return m.inverse end, function()
        local c = to.h / np.take(np.array(ALPHA, like), order)
        return np.stop_gradient(np.linalg.inv(np.eye(shape_of(guess)[1], like) - jacobian * c))
    end)
    local d, count, good = solved(how, field, to, guess, differences, order, inverse)
    local y = guess + d
    local scale = how.atol + np.abs(y) * how.rtol
    local wrong = np.stop_gradient(norm(d * np.take(np.array(ERRORS, like), order) / scale))
    local accepted = both(both(good, to.enough), np.less_equal(wrong, 1))

    local moved = advanced(differences, order, d)
    local equal = np.where(to.altered, 0, m.equal) + accepted:astype "i32"
    local choosing = both(accepted, np.greater(equal, order))
    local next_order, longer = chosen(moved, order, wrong, scale)
    local safety = 0.9 * (2 * TURNS + 1) / (2 * TURNS + count:astype(like.dtype))
    local shorter = wrong ^ (-1 / (order + 1):astype(like.dtype)) * safety
    local refused = np.where(good, np.maximum(shorter, LEAST), np.where(fresh, 0.5, 1))
    local factor = np.where(choosing, np.minimum(longer * safety, MOST), np.where(accepted, 1, refused))
    next_order = np.where(choosing, next_order, order)
    local altered = np.logical_or(choosing, np.not_equal(factor, 1))
    local after = np.where(accepted, moved, of_length(np.stop_gradient(to.length))) -- as front.h is a constant
    return {
        y = y, f = front.f, accepted = accepted, factor = factor, calls = count,
        terms = np.matmul(np.array(BETWEEN, like), up_to(shape.cut(moved, 0, 1, HIGHEST + 1), 1, order)),
        memory = { differences = np.where(altered, widened(after, next_order, factor), after), order = next_order,
                   equal = np.where(altered, 0, equal):astype "i32", jacobian = jacobian,
                   wanted = np.logical_not(np.logical_or(good, fresh)), fresh = both(fresh, np.logical_not(accepted)),
                   jacobians = m.jacobians + m.wanted:astype "i32", inverse = inverse,
                   valid = both(good, np.logical_not(choosing)) },
    }
end

for _, f in ipairs { memory, attempt, solved } do jit.off(f) end

return { order = 1, terms = HIGHEST, implicit = true, memory = memory, attempt = attempt }
