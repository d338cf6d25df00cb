--- steps.lua: one step of a method for ordinary differential equations: local methods = require
-- "neap.integrate.steps"; methods.RK45.step(field, t, y, f, h).
--
-- A method has
--
--     order     the order of the solution whose error is estimated: steps follow the root of the error, 1 / (order + 1)
--     stages    how often a step evaluates the field, but for f, the field at (t, y); nil where it says so itself
--     implicit  whether a step takes the Jacobian of the field
--     terms     how many p there are
--     size      nil, or a function of the estimate and the scale of each element: how large the error is, in place of
--               the root mean square of its quotients
--     step      from (t, y), where the field is f, by h: the new y, the field there, an estimate of the error of y, the
--               terms p of the solution in between: y + p1 s + p2 s^2 + … at t + s h, 0 ≤ s ≤ 1; and how often it
--               evaluated the field, where that depends. A sixth argument has rtol, atol, and jacobian(field, t, y)
--
-- In place of `step`, a method of several steps has
--
--     memory    from a front (march.lua), what fronts carry besides: a tree of arrays
--     attempt   from a front, towards `to` (march.lua): the new y, f, terms (a list, or rows of an array) and memory;
--               whether the step is `accepted`; calls of the field; the `factor` of the next length
--
-- y is 1-d, t and h are 0-d. Sources: "RK23" Bogacki and Shampine, "A 3(2) pair of Runge-Kutta formulas" (1989); "RK45"
-- Dormand and Prince, "A family of embedded Runge-Kutta formulae" (1980), in between Shampine, "Some practical
-- Runge-Kutta formulas" (1986); "DOP853", "Radau" and "BDF" see dop853.lua, radau.lua and bdf.lua; "Rodas4" Hairer and
-- Wanner, "Solving Ordinary Differential Equations II" (1996), section IV.7 and their code RODAS.
local core = require "neap.core"
local bdf = require "neap.integrate.bdf"
local dop853 = require "neap.integrate.dop853"
local radau = require "neap.integrate.radau"

local np, shape_of = core.np, core.shape_of

-- ---- Explicit methods -----------------------------------------------------------------------------------------------

--- The sum of factors[k] * slopes[k], but for factors that are 0.
local function combination(slopes, factors)
    local sum
    for k, factor in ipairs(factors) do
        if factor ~= 0 then
            local term = slopes[k] * factor
            sum = sum and sum + term or term
        end
    end
    return sum
end

--- The columns of a list of rows.
local function columns(rows)
    local list = {}
    for k = 1, #rows[1] do
        list[k] = {}
        for n, row in ipairs(rows) do list[k][n] = row[k] end
    end
    return list
end

--- A Runge-Kutta method, whose last stage is the first stage of the next step: stages stand at t + nodes h;
-- rows, weights and errors are factors of the slopes, as is each column of `between`.
local function explicit(order, nodes, rows, weights, errors, between)
    local terms = columns(between)
    local function step(field, t, y, f, h)
        local slopes = { f }
        for k, row in ipairs(rows) do
            slopes[k + 1] = field(t + h * nodes[k], y + combination(slopes, row) * h)
        end
        local new = y + combination(slopes, weights) * h
        slopes[#slopes + 1] = field(t + h, new)
        local polynomial = {}
        for k, factors in ipairs(terms) do polynomial[k] = combination(slopes, factors) * h end
        return new, slopes[#slopes], combination(slopes, errors) * h, polynomial
    end
    jit.off(step)
    return { order = order, stages = #rows + 1, terms = #terms, step = step }
end

local RK23 = explicit(2, { 1 / 2, 3 / 4 }, { { 1 / 2 }, { 0, 3 / 4 } }, { 2 / 9, 1 / 3, 4 / 9 },
                      { 5 / 72, -1 / 12, -1 / 9, 1 / 8 },
                      { { 1, -4 / 3, 5 / 9 }, { 0, 1, -2 / 3 }, { 0, 4 / 3, -8 / 9 }, { 0, -1, 1 } })

local RK45 = explicit(4, { 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1 }, {
    { 1 / 5 },
    { 3 / 40, 9 / 40 },
    { 44 / 45, -56 / 15, 32 / 9 },
    { 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729 },
    { 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656 },
}, { 35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84 },
   { -71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40 }, {
    { 1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432 },
    { 0, 0, 0, 0 },
    { 0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799 },
    { 0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072 },
    { 0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632 },
    { 0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844 },
    { 0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423 },
})

--- The slopes at stages that stand at t + nodes h, of rows of factors, behind those that are known.
local function add_stages(slopes, field, t, y, h, nodes, rows)
    for k, row in ipairs(rows) do
        slopes[#slopes + 1] = field(t + h * nodes[k], y + combination(slopes, row) * h)
    end
end

--- A step of DOP853: the estimate of the error is a pair. Its solution in between is a polynomial of degree 7, a nested
-- product of s and 1 - s, which is multiplied out here.
local function step_dop853(field, t, y, f, h)
    local slopes = { f }
    add_stages(slopes, field, t, y, h, dop853.nodes, dop853.rows)
    local change = combination(slopes, dop853.weights) * h
    local new = y + change
    slopes[#slopes + 1] = field(t + h, new)
    local wrong = { combination(slopes, dop853.errors_5) * h, combination(slopes, dop853.errors_3) * h }
    local new_f = slopes[#slopes]
    add_stages(slopes, field, t, y, h, dop853.more_nodes, dop853.more_rows)
    local a, b, c = change, f * h - change, change * 2 - (new_f + f) * h
    local d, e = combination(slopes, dop853.between[1]) * h, combination(slopes, dop853.between[2]) * h
    local i, j = combination(slopes, dop853.between[3]) * h, combination(slopes, dop853.between[4]) * h
    return new, new_f, wrong, { a + b, c + d - b, e + i - c - d * 2, d - e * 2 - i * 3 + j, e + i * 3 - j * 3,
                                j * 3 - i, -j }
end

--- The error of a step of DOP853, of both estimates.
local function size_dop853(wrong, scale)
    local fifth, third = np.sum(np.square(wrong[1] / scale)), np.sum(np.square(wrong[2] / scale))
    local both = (fifth + third * 0.01) * shape_of(scale)[1]
    return fifth / np.sqrt(np.where(np.equal(both, 0), 1, both))
end

-- ---- A stiff one ----------------------------------------------------------------------------------------------------

local GAMMA = 0.25
local NODES, IN_TIME = { 0, 0.386, 0.21, 0.63, 1, 1 }, { 0.25, -0.1043, 0.1035, -0.0362, 0, 0 }
local ROWS = {
    {},
    { 1.544 },
    { 0.9466785280815826, 0.2557011698983284 },
    { 3.314825187068521, 2.896124015972201, 0.9986419139977817 },
    { 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895 },
    { 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1 },
}
local COUPLED = {
    {},
    { -5.6688 },
    { -2.430093356833875, -0.2063599157091915 },
    { -0.1073529058151375, -9.594562251023355, -20.47028614809616 },
    { 7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616 },
    { 8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054 },
}
local BETWEEN = {
    { 10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662 },
    { -0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872 },
}

--- A step of a Rosenbrock method of order 4: each stage solves a linear system with the matrix 1 / (gamma h) - J.
local function rosenbrock(field, t, y, f, h, how)
    local n = shape_of(y)[1]
    local jacobian = how.jacobian(field, t, y)
    local _, in_time = np.jvp(function(time) return field(time, y) end, { t }, { np.ones_like(t) })
    local matrix = np.eye(n, { dtype = y.dtype }) * (1 / (h * GAMMA)) - jacobian
    local stages = {}
    for k = 1, 6 do
        local state = k == 1 and y or y + combination(stages, ROWS[k])
        local right = (k == 1 and f or field(t + h * NODES[k], state)) + in_time * (h * IN_TIME[k])
        if k > 1 then right = right + combination(stages, COUPLED[k]) / h end
        stages[k] = np.linalg.solve(matrix, right)
    end
    local new = y + combination(stages, ROWS[6]) + stages[6]
    local a, b = combination(stages, BETWEEN[1]), combination(stages, BETWEEN[2])
    return new, field(t + h, new), stages[6], { new - y + a, b - a, -b }
end

jit.off(rosenbrock)

jit.off(step_dop853)
jit.off(add_stages)

return { RK23 = RK23, RK45 = RK45,
         DOP853 = { order = 7, stages = 15, terms = 7, size = size_dop853, step = step_dop853 },
         Radau = radau, BDF = bdf, Rodas4 = { order = 3, stages = 6, terms = 3, implicit = true, step = rosenbrock } }
