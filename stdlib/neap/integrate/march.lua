--- march.lua: solving a differential equation step by step: local march = require "neap.integrate.march".
--
-- A turn of a loop is an attempt at a step, accepted if the estimated error, in which each element counts relatively
-- to atol + rtol |y|, is below 1 in the root mean square; the length of the next attempt follows from the error.
-- Lengths and the first one are chosen as Hairer, Nørsett and Wanner do ("Solving Ordinary Differential Equations I",
-- section II.4), and SciPy. Lengths count as constants in derivatives. A loop is a np.while_loop: recorded
-- once, and batched.
--
-- What is carried, a *front*: t, y, f the field there; h the length of the next attempt; rejected whether the last one
-- was; from, base where the last step began, and terms, of the solution in between (steps.lua); attempts, steps,
-- and calls, of the field in these; status: 0, TOO_SMALL or TOO_MANY; memory: what else a method carries.
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np = core.np

local march = { TOO_SMALL = -1, TOO_MANY = -2, EVENT = 1 }

local SAFETY, LEAST, MOST = 0.9, 0.2, 10 -- of the next length, in terms of the last one

--- The root mean square.
local function norm(x) return np.sqrt(np.mean(x * x)) end

--- 1 or -1: whether time goes from a to b forward or back.
function march.direction(a, b) return np.where(np.less(b, a), -1, 1):astype(a.dtype) end

--- The length of the first attempt, from t towards the end.
local function first_length(how, field, front, finish, forward)
    local y, f = front.y, front.f
    local scale, whole = how.atol + np.abs(y) * how.rtol, np.abs(finish - front.t)
    local d0, d1 = norm(y / scale), norm(f / scale)
    local small = np.logical_or(np.less(d0, 1e-5), np.less(d1, 1e-5))
    local h0 = np.minimum(np.where(small, 1e-6, d0 * 0.01 / np.where(small, 1, d1)), whole)
    local step = h0 * forward
    local f1 = field(front.t + step, y + f * step)
    local d2 = norm((f1 - f) / scale) / np.where(np.equal(h0, 0), 1, h0)
    local flat = np.logical_and(np.less_equal(d1, 1e-15), np.less_equal(d2, 1e-15))
    local steepest = np.where(flat, 1, np.maximum(d1, d2))
    local h1 = np.where(flat, np.maximum(h0 * 1e-3, 1e-6), (0.01 / steepest) ^ (1 / (how.method.order + 1)))
    return np.minimum(np.minimum(h0 * 100, h1), np.minimum(whole, how.max_step))
end

--- The front at the beginning. how: method (of steps.lua), rtol, atol, max_step, first_step, max_steps.
function march.start(how, field, t, y, finish)
    local zero = np.zeros({}, { dtype = "i32" })
    local none = np.logical_or(np.isnan(t), np.isnan(finish)) -- no step leads there
    local front = { t = t, y = y, f = field(t, y), rejected = np.zeros({}, { dtype = "bool" }), from = t, base = y,
                    terms = {}, attempts = zero, steps = zero, calls = zero,
                    status = np.where(none, march.TOO_SMALL, zero):astype("i32") }
    local count = how.method.terms
    for k = 1, count do front.terms[k] = np.zeros_like(y) end
    local h = how.first_step or first_length(how, field, front, finish, march.direction(t, finish))
    front.h = np.stop_gradient(np.zeros_like(t) + h)
    if how.method.memory then front.memory = how.method.memory(how, field, front, march.direction(t, finish)) end
    return front
end

--- Where an attempt from a front ends, towards `finish` and not beyond: the time t, and h from the front to t;
-- `length`, the size of h, and whether the length is `altered`, not front.h, and is `enough`; whether t is `last`.
local function reach(how, front, finish, forward)
    local t = front.t
    local least = np.stop_gradient(np.abs(np.nextafter(t, forward * math.huge) - t)) * 10
    local length = np.where(front.rejected, front.h, np.clip(front.h, least, how.max_step))
    local enough = np.greater_equal(length, least)
    local new_t = t + length * forward
    local last = np.greater((new_t - finish) * forward, 0)
    new_t = np.where(last, finish, new_t)
    length = np.where(last, np.abs(finish - t), length)
    return { t = new_t, h = new_t - t, length = length, altered = np.not_equal(length, front.h), enough = enough,
             last = last }
end

--- An attempt by a method with a `step` (steps.lua).
local function by_step(how, field, front, to)
    local y = front.y
    local new_y, new_f, wrong, terms, calls = how.method.step(field, front.t, y, front.f, to.h, how)
    local scale = how.atol + np.maximum(np.abs(y), np.abs(new_y)) * how.rtol
    local size = np.stop_gradient(how.method.size and how.method.size(wrong, scale) or norm(wrong / scale))
    local accepted = np.logical_and(np.less(size, 1), to.enough)
    local exact = np.equal(size, 0)
    local factor = np.where(exact, MOST, np.where(exact, 1, size) ^ (-1 / (how.method.order + 1)) * SAFETY)
    local highest = np.where(front.rejected, 1, MOST)
    factor = np.where(accepted, np.minimum(factor, highest), np.where(np.greater(factor, LEAST), factor, LEAST))
    return { y = new_y, f = new_f, accepted = accepted, factor = factor, terms = terms,
             calls = calls or how.method.stages }
end

--- An attempt at a step towards `finish`.
local function attempt(how, field, front, finish, forward)
    local to = reach(how, front, finish, forward)
    local made = (how.method.attempt or by_step)(how, field, front, to)
    local accepted, attempts, list = made.accepted, front.attempts + 1, {}
    local function choose(new, old) return np.where(accepted, new, old) end
    for k, term in ipairs(front.terms) do
        list[k] = choose(core.is_array(made.terms) and made.terms[k - 1] or made.terms[k], term)
    end
    local status = np.where(to.enough, np.where(np.greater_equal(attempts, how.max_steps), march.TOO_MANY, 0),
                            march.TOO_SMALL)
    return { t = choose(to.t, front.t), y = choose(made.y, front.y), f = choose(made.f, front.f),
             from = choose(front.t, front.from), base = choose(front.y, front.base), terms = list,
             rejected = np.logical_not(accepted), attempts = attempts, calls = front.calls + made.calls,
             h = np.stop_gradient(np.abs(to.h)) * made.factor, steps = front.steps + accepted:astype("i32"),
             memory = made.memory,
             status = np.where(np.logical_and(accepted, np.equal(to.t, finish)), 0, status):astype("i32") }
end

--- Whether a front is before the time `goal` and has not failed.
local function is_before(front, goal, forward)
    return np.logical_and(np.equal(front.status, 0), np.greater((goal - front.t) * forward, 0))
end

--- Steps until the front has reached `goal`, on the way to `finish`.
function march.to(how, field, front, goal, finish, forward)
    return np.while_loop(function(at) return is_before(at, goal, forward) end,
                         function(at) return attempt(how, field, at, finish, forward) end, front)
end

--- The solution at time t within the last step of a front.
function march.between(front, t)
    local width = front.t - front.from
    local none = np.equal(width, 0)
    local s = np.where(none, 0, (t - front.from) / np.where(none, 1, width))
    local sum = front.terms[#front.terms] * s
    for k = #front.terms - 1, 1, -1 do sum = (sum + front.terms[k]) * s end
    return front.base + sum
end

--- The solution at the times of a 1-d array, one after the other from t to finish: rows; NaN for those that were not
-- reached, or lie elsewhere. And the last front.
function march.through(how, field, t, y, times, finish)
    local forward = march.direction(t, finish)
    local front, rows = np.scan(function(at, goal)
        local inside = np.logical_and(np.greater_equal((goal - at.from) * forward, 0),
                                      np.greater_equal((finish - goal) * forward, 0))
        local next_front = march.to(how, field, at, np.where(inside, goal, at.from), finish, forward)
        local reached = np.logical_and(inside, np.equal(next_front.status, 0))
        return next_front, np.where(reached, march.between(next_front, goal), core.NAN)
    end, march.start(how, field, t, y, finish), times)
    return rows, front
end

local CAPACITY = 128 -- steps between two looks at the values

--- The next steps, up to CAPACITY of them: the last front, and a list of arrays: where each step began and ended (from,
-- t, base, y, terms), which has `count` rows.
function march.some(how, field, front, finish)
    local forward = march.direction(front.t, finish)
    local kept = { from = front.from, t = front.t, base = front.base, y = front.y, terms = front.terms }
    local begin = front.steps
    local function room(x)
        return shape.broadcast_to(x, { CAPACITY, unpack(core.shape_of(x)) })
    end
    local state = { front = front, rows = np.tree.map(room, kept) }
    state = np.while_loop(function(at)
        return np.logical_and(is_before(at.front, finish, forward), np.less(at.front.steps - begin, CAPACITY))
    end, function(at)
        local new = attempt(how, field, at.front, finish, forward)
        local place = at.front.steps - begin
        local made = { from = new.from, t = new.t, base = new.base, y = new.y, terms = new.terms }
        return { front = new, rows = np.tree.map(function(rows, value)
            return np.dynamic_update_index_in_dim(rows, value, place)
        end, at.rows, made) }
    end, state)
    local count = (state.front.steps - begin):item()
    return state.front, np.tree.map(function(rows) return shape.cut(rows, 0, 0, count) end, state.rows)
end

for _, f in ipairs { march.start, march.to, march.through, march.some } do jit.off(f) end

return march
