--- check_grads.lua: np.check_grads: derivatives of a function against differences of its values.
--
-- As jax.test_util.check_grads does it: the derivative along one random direction against the difference of two values
-- of the function, for each mode and order. Where they differ, the direction is halved, and the half that is further
-- off is halved again, until one element of the arguments is left: some 4 log2(n) more calls for n elements.
local core = require "neap.core"
local trees = require "neap.core.trees"
local staging = require "neap.tracing.staging"

local np = core.np
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe
local pack, check_function = staging.pack, staging.check_function
local ipairs, type, unpack, math = ipairs, type, unpack, math

local NAME = "check_grads"

-- The tolerances of JAX, but for halves, whose differences are coarse; and the steps of differences: with shorter ones
-- rounding would take more than is gained.
local TOLERANCE = { f64 = 1e-5, c128 = 1e-5, f32 = 2e-3, c64 = 1e-3, f16 = 0.05, bf16 = 0.2 }
local STEP = { f64 = 1e-4, c128 = 1e-4, f32 = 1e-2, c64 = 1e-2, f16 = 0.1, bf16 = 0.25 }
local MODES = { fwd = "forward mode", rev = "reverse mode" }

-- ---- Lists of arrays ------------------------------------------------------------------------------------------------

-- A point is a packed list of arguments; its arrays, in order, are a list of arrays, as are those of results, tangents
-- and cotangents.

--- The arrays of packed trees, numbers among them as arrays of f32, and what each is called: { array, name }.
local function arrays_in(packed, labels)
    local list = {}
    for k = 1, packed.n do
        trees.walk(NAME, packed[k], function(leaf, path)
            if core.is_number(leaf) then leaf = core.number(leaf, core.dtype_codes.f32) end
            if is_array(leaf) then
                list[#list + 1] = { leaf, labels(k) .. (path == "" and "" or " at " .. path) }
            end
        end, "")
    end
    return list
end

--- The arrays of those in a list { array, name } that are floats or complex.
local function floats_of(list)
    local floats = {}
    for _, item in ipairs(list) do
        if core.dtype_of(item[1]).inexact then floats[#floats + 1] = item end
    end
    return floats
end

--- Packed trees like `packed`, with the arrays of a list in the places of the numbers and arrays.
local function refill(packed, list)
    local used, copy = 0, { n = packed.n }
    for k = 1, packed.n do
        copy[k] = trees.rebuild(NAME, packed[k], function(leaf)
            if not is_array(leaf) and not core.is_number(leaf) then return leaf end
            used = used + 1
            return list[used]
        end)
    end
    return copy
end

local function dtype_name(x) return core.dtype_of(x).name end

--- Normal random arrays like those of a list { array, name }, from a seed.
local function random_like(list, seed)
    local made = {}
    for k, item in ipairs(list) do
        local key, x = np.random.fold_in(np.random.key(seed), k), item[1]
        local draw = np.random.normal(key, x.shape)
        if core.dtype_of(x).kind == "c" then
            draw = draw + np.random.normal(np.random.fold_in(key, 1), x.shape) * np.array(1i)
        end
        made[k] = draw:astype(dtype_name(x))
    end
    return made
end

local function size_of(x) return core.size_of(x) end

--- Arrays of a list with zeros in place of all elements but those from `first` on before `last`, counted through all.
local function masked(list, first, last)
    local copy, before = {}, 0
    for k, x in ipairs(list) do
        local n = size_of(x)
        local from, to = math.max(first - before, 0), math.min(last - before, n)
        local places = np.arange(n)
        local kept = np.logical_and(places:ge(from), places:lt(to)):reshape(x.shape)
        copy[k] = np.where(kept, x, np.zeros_like(x))
        before = before + n
    end
    return copy
end

local function count(list)
    local n = 0
    for _, x in ipairs(list) do n = n + size_of(x) end
    return n
end

--- A direction of length 1 along one element of another direction, counted through all its arrays: 1 for floats.
local function unit_of(direction, place)
    local units = {}
    for k, x in ipairs(direction) do units[k] = core.dtype_of(x).kind == "c" and x / np.abs(x) or np.ones_like(x) end
    return masked(units, place, place + 1)
end

--- The name of element `place`, counted through all arrays of a list { array, name }.
local function element_name(list, place)
    for _, item in ipairs(list) do
        local n, dims = size_of(item[1]), item[1].shape
        if place < n then
            local at = {}
            for axis = #dims, 1, -1 do
                at[axis] = place % dims[axis]
                place = (place - at[axis]) / dims[axis]
            end
            if #dims == 0 then return item[2] end
            return ("element {%s} of %s"):format(table.concat(at, ", "), item[2])
        end
        place = place - n
    end
end

--- The real part of the sum of conj(a) b over all arrays, as a number, summed in f64.
local function inner(a, b)
    local sum = 0
    for k, x in ipairs(a) do
        local y = b[k]
        local wide = core.dtype_of(x).kind == "c" and "c128" or "f64"
        local part = (np.conj(x:astype(wide)) * y:astype(wide)):sum()
        sum = sum + (wide == "c128" and part.real or part):item()
    end
    return sum
end

local function max_of(list, rows)
    local most = 0
    for _, item in ipairs(list) do most = math.max(most, rows[dtype_name(item[1])]) end
    return most
end

-- ---- What is compared -----------------------------------------------------------------------------------------------

--- The arrays of f at a point, floats alone, as a list { array, name }.
local function values_at(check, point)
    local results = pack(check.f(unpack(point, 1, point.n)))
    return floats_of(arrays_in(results, function(k) return "result " .. k end))
end

local function moved(check, direction, step)
    local list = {}
    for k, item in ipairs(check.leaves) do list[k] = item[1] + direction[k] * step end
    return values_at(check, refill(check.point, list))
end

--- What the results of f move along a direction, by differences: a list of arrays. An infinity that stays is 0.
local function differences(check, direction)
    local up, down, list = moved(check, direction, check.eps), moved(check, direction, -check.eps), {}
    for k = 1, #up do
        local a, b = up[k][1], down[k][1]
        list[k] = np.where(a:eq(b), np.zeros_like(a), a - b) * (0.5 / check.eps)
    end
    return list
end

--- The values of f, its results' tangents along a direction: lists of { array, name } and of arrays.
local function forward(check, direction)
    local tangents = refill(check.point, direction)
    local results = pack(np.jvp(check.f, check.point, tangents))
    local n = results.n / 2
    local values = { n = n, unpack(results, 1, n) }
    local changes = { n = n, unpack(results, n + 1, 2 * n) }
    local function label(k) return "result " .. k end
    local list, moves = arrays_in(values, label), arrays_in(changes, label)
    local floats, tangents_of = {}, {}
    for k, item in ipairs(list) do
        if core.dtype_of(item[1]).inexact then
            floats[#floats + 1], tangents_of[#tangents_of + 1] = item, moves[k][1]
        end
    end
    return floats, tangents_of
end

--- The values of f, and a function from cotangents of them (a list of arrays) to those of the arguments, which are
-- gradients: inner(cotangent, direction) is the derivative.
local function reverse(check)
    local results = pack(np.vjp(check.f, unpack(check.point, 1, check.point.n)))
    local back, values = results[results.n], { n = results.n - 1, unpack(results, 1, results.n - 1) }
    local list = arrays_in(values, function(k) return "result " .. k end)
    return floats_of(list), function(cotangents)
        local used, whole = 0, {}
        for k, item in ipairs(list) do
            if core.dtype_of(item[1]).inexact then
                used = used + 1
                whole[k] = np.conj(cotangents[used])
            else
                whole[k] = np.zeros_like(item[1])
            end
        end
        local seeds = refill(values, whole)
        local given, gradients = pack(back(unpack(seeds, 1, seeds.n))), {}
        for k, item in ipairs(arrays_in(given, tostring)) do gradients[k] = np.conj(item[1]) end
        return gradients
    end
end

-- ---- Where they differ ----------------------------------------------------------------------------------------------

--- How far apart two numbers are; what is no number but in one of them is infinitely far.
local function gap(a, b)
    if a == b or a ~= a and b ~= b then return 0 end
    local distance = math.abs(a - b)
    return distance == distance and distance or math.huge
end

--- How far each element of two arrays is apart where that is more than the tolerances allow, as gap has it; else 0. As
-- f64. As in JAX the tolerances grow with the number of elements.
local function excess(check, got, want)
    local wide = core.dtype_of(want).kind == "c" and "c128" or "f64"
    local a, b, n = got:astype(wide):ravel(), want:astype(wide):ravel(), size_of(want)
    local distance, size = np.abs(a - b), np.abs(b)
    local near = np.logical_or(distance:le(size * (check.rtol * n) + check.atol * n), a:eq(b))
    near = np.logical_or(near, np.logical_and(np.isnan(a), np.isnan(b)))
    return np.where(near, 0, np.where(np.isnan(distance), np.inf, distance))
end

--- The list's place of the first array of which an element is off, the element's place in it, and how far it is off.
local function farthest(check, got, want)
    for k = 1, #want do
        if size_of(want[k]) > 0 then
            local far = excess(check, got[k], want[k])
            local most = far:max():item()
            if most > 0 then return k, np.argmax(far):item(), most end
        end
    end
end

local function is_finite(number) return math.abs(number) < math.huge end

--- The element of a direction (a list of arrays) for which compare(a part of it) gives the numbers that are farthest
-- apart, a derivative and a difference, by halves. A derivative that is NaN is so along zeros too: then it is the
-- element where the difference is no number either.
local function narrow(direction, compare)
    local first, last = 0, count(direction)
    while last - first > 1 do
        local middle = math.floor((first + last) / 2)
        local got, want = compare(masked(direction, first, middle))
        local other, wanted = compare(masked(direction, middle, last))
        local low, high = gap(got, want), gap(other, wanted)
        if low > high or low == high and is_finite(wanted) then last = middle else first = middle end
    end
    return first
end

--- Raises that a mode is off by `distance` along a direction, weighed with a cotangent: says by which element of which
-- argument, of which result. derivative(direction, cotangent): what the mode gives.
local function raise_derivative(check, mode, derivative, direction, cotangent, distance)
    local at = narrow(direction, function(part)
        return derivative(part, cotangent), inner(differences(check, part), cotangent)
    end)
    local unit = unit_of(direction, at)
    local slopes = differences(check, unit)
    local place = narrow(cotangent, function(part) return derivative(unit, part), inner(slopes, part) end)
    local row = unit_of(cotangent, place)
    local got, want = derivative(unit, row), inner(slopes, row)
    raise(NAME, "%s of %s is off by %.3g along a random direction, mostly by %s: the derivative of %s is %.9g, and "
          .. "differences give %.9g, off by %.3g", MODES[mode], check.what, distance, element_name(check.leaves, at),
          element_name(check.values, place), got, want, gap(got, want))
end

local function arrays_only(list)
    local arrays = {}
    for k, item in ipairs(list) do arrays[k] = item[1] end
    return arrays
end

--- Raises unless the values that come with a mode are those of the function: a rule may give others.
local function check_values(check, mode, values)
    local got, want = arrays_only(values), arrays_only(check.values)
    if #got ~= #want then
        raise(NAME, "%s of %s gives %d arrays of floats, and the function %d", MODES[mode], check.what, #got, #want)
    end
    local k, at, distance = farthest(check, got, want)
    if not k then return end
    raise(NAME, "%s of %s gives another value than the function: %s is %.9g, and %.9g without it, off by %.3g",
          MODES[mode], check.what, element_name({ check.values[k] }, at), got[k]:ravel()[at]:abs():item(),
          want[k]:ravel()[at]:abs():item(), distance)
end

-- ---- The modes ------------------------------------------------------------------------------------------------------

local check_mode = {}

function check_mode.fwd(check)
    local direction = random_like(check.leaves, 0)
    local values, tangents = forward(check, direction)
    check_values(check, "fwd", values)
    local slopes = differences(check, direction)
    local k, at, distance = farthest(check, tangents, slopes)
    if not k then return end
    local cotangent = {}
    for r, x in ipairs(slopes) do cotangent[r] = r == k and np.ones_like(x) or np.zeros_like(x) end
    for r = 1, k - 1 do at = at + size_of(slopes[r]) end
    raise_derivative(check, "fwd", function(part, row)
        local _, moves = forward(check, part)
        return inner(moves, row)
    end, direction, masked(cotangent, at, at + 1), distance)
end

function check_mode.rev(check)
    local values, gradients = reverse(check)
    check_values(check, "rev", values)
    local direction, cotangent = random_like(check.leaves, 0), random_like(check.values, 1)
    local given = gradients(cotangent)
    local got, want = inner(direction, given), inner(differences(check, direction), cotangent)
    local distance = gap(got, want)
    if distance <= check.atol + check.rtol * math.abs(want) then return end
    raise_derivative(check, "rev", function(part, row)
        if row ~= cotangent then return inner(part, gradients(row)) end
        return inner(part, given)
    end, direction, cotangent, distance)
end

--- What a further order checks: the function that a mode makes of f, its arguments and their names.
local further = {}

function further.fwd(f, point, labels)
    local n = point.n
    local function jvp(...)
        local given = pack(...)
        return np.jvp(f, { unpack(given, 1, n) }, { unpack(given, n + 1, 2 * n) })
    end
    local twice = { n = 2 * n, unpack(point, 1, n) }
    for k = 1, n do twice[n + k] = point[k] end
    return jvp, twice, function(k) return k <= n and labels(k) or "the tangent of " .. labels(k - n) end
end

function further.rev(f, point, labels)
    local function vjp(...)
        local results = pack(np.vjp(f, ...))
        return results[results.n](unpack(results, 1, results.n - 1))
    end
    return vjp, point, labels
end

--- Checks f at a point in each mode, then what these modes make of it, up to an order.
local function check_order(f, point, labels, what, order, o)
    local check = { f = f, point = point, what = what, leaves = arrays_in(point, labels) }
    check.point = refill(point, arrays_only(check.leaves))
    local results = pack(f(unpack(check.point, 1, point.n)))
    check.values = floats_of(arrays_in(results, function(k) return "result " .. k end))
    local function widest(rows) return math.max(max_of(check.leaves, rows), max_of(check.values, rows)) end
    check.eps, check.atol, check.rtol = o.eps or widest(STEP), o.atol or widest(TOLERANCE), o.rtol or widest(TOLERANCE)
    for _, mode in ipairs(o.modes) do
        check_mode[mode](check)
        if order > 1 then
            local g, arguments, names = further[mode](f, check.point, labels)
            check_order(g, arguments, names, MODES[mode] .. " of " .. what, order - 1, o)
        end
    end
end

-- ---- np.check_grads -------------------------------------------------------------------------------------------------

local function positive(o, name, least)
    local value = core.plain(o[name])
    if value ~= nil and not (type(value) == "number" and value >= least and value < math.huge) then
        bad_argument(NAME, nil, name, least > 0 and "a number above 0" or "a number from 0 up", value)
    end
    return value
end

local function modes_of(given)
    if given == nil then return { "fwd", "rev" } end
    if type(given) == "string" then given = { given } end
    if type(given) ~= "table" or #given == 0 then
        bad_argument(NAME, nil, "modes", 'a table of "fwd" and "rev"', given)
    end
    for _, mode in ipairs(core.list(NAME, "option 'modes'", given)) do
        if not MODES[mode] then
            raise(NAME, 'option \'modes\' names %s; the modes are "fwd" and "rev"', describe(mode))
        end
    end
    return given
end

--- np.check_grads(f, {x, …}, {order=1, modes={"fwd", "rev"}, eps=…, atol=…, rtol=…}) -> nothing: checks derivatives of
-- f at the arguments x, …, trees of floats, against differences of its values: np.jvp and np.vjp along one random
-- direction, the same each time. Raises where they differ by more than the tolerances, and says by which element of
-- which argument and of which result, by how much; and where a rule of f gives another value than f. It is
-- jax.test_util.check_grads, but for the steps of f32, and steps and tolerances of halves.
--- order: derivatives up to this order: of f, of what the modes make of f, and so on
--- modes: "fwd", "rev" or both
--- eps: differences are those of f(x ± eps dx) for a normal random dx; 1e-4 for f64, 1e-2 for f32, 0.1 for f16, 0.25
-- for bf16, the widest of those of arguments and results
--- atol: how far a derivative may be off, times the elements of the result; 1e-5 for f64, 2e-3 for f32, 0.05 for f16,
-- 0.2 for bf16
--- rtol: the same relative to the difference, with the same defaults
--- > np.check_grads(function(x, y) return np.sin(x) * y end, {np.array{1, 2}, 3}, {order=2})
--- > f = np.custom_jvp(function(x) return x * x end)
--- > f = f:defjvp(function(x, t) return x[1] * x[1], 3 * x[1] * t[1] end)
--- > pcall(np.check_grads, f, {np.array{1, 2}}, {modes="fwd"}) == true
-- false
function np.check_grads(f, args, given)
    f = check_function(NAME, f)
    if type(args) ~= "table" or getmetatable(args) ~= nil or #args == 0 then
        bad_argument(NAME, 2, "args", "a table of one value for each argument of f", args)
    end
    core.list(NAME, "the table of args", args)
    local o = core.options(NAME, given, { order = true, modes = true, eps = true, atol = true, rtol = true })
    local order = core.integer(NAME, nil, "order", o.order == nil and 1 or o.order, 1)
    local point = { n = #args, unpack(args) }
    local function label(k) return "argument " .. k end
    for k = 1, point.n do
        trees.walk(NAME, point[k], function(leaf, path)
            if core.is_number(leaf) or is_array(leaf) and core.dtype_of(leaf).inexact then return end
            raise(NAME, "%s%s must be an array of floats, got %s", label(k), path == "" and "" or " at " .. path,
                  is_array(leaf) and "dtype " .. dtype_name(leaf) or describe(leaf))
        end, "")
    end
    check_order(f, point, label, "f", order, { modes = modes_of(o.modes), eps = positive(o, "eps", 1e-300),
                                               atol = positive(o, "atol", 0), rtol = positive(o, "rtol", 0) })
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { arrays_in, refill, values_at, moved, differences, forward, reverse, narrow, raise_derivative,
                     check_values, check_mode.fwd, check_mode.rev, check_order, np.check_grads } do
    jit.off(f)
end
