--- filters.lua: filters that run along a signal: np.signal.lfilter, sosfilt, and forth and back, filtfilt, sosfiltfilt.
--
-- A recursive filter is a scan over time: the transposed direct form II, whose state z holds what earlier elements
-- still add to later elements. With coefficients b and a, a[0] being 1:
--
--     y    = b[0] x + z[0]
--     z[k] = b[k + 1] x - a[k + 1] y + z[k + 1]
--
-- A turn takes a fraction of a microsecond, and rounds as the formula says, unlike sums over blocks. Without a
-- recursion (a has 1 element) the filter is a convolution. Signals side by side run in one scan, over the first axis.

--- {axis}: the axis along which the signal runs; by default the last
--- {padtype}: how the signal goes on: "odd" (turned around its end), "even" (mirrored), "constant"; false: not at all
--- {padlen}: by how many elements, less than the signal has

local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local signals = require "neap.signal.signals"

local np = core.np
local raise = core.raise
local shape_of, cut, reshape, join = core.shape_of, shape.cut, shape.reshape, shape.join

local filters = {}

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- Raises where divisors can be read and are 0.
local function check_divisor(name, what, a)
    if not core.recording() and np.any(np.equal(a, 0)):item() then
        raise("signal." .. name, "%s divides all others, and is 0", what)
    end
end

--- b and a of a filter, 1-d, as two arrays of equal extent, a[0] being 1; whether a has 1 element; and the extent.
local function polynomials(name, b, a)
    if core.ndim(b) == 0 then b = reshape(b, { 1 }) end
    if core.ndim(a) == 0 then a = reshape(a, { 1 }) end
    if core.ndim(b) ~= 1 or core.ndim(a) ~= 1 or shape_of(b)[1] < 1 or shape_of(a)[1] < 1 then
        raise("signal." .. name, "coefficients b and a must be 1-d, with elements; got shapes %s and %s",
              core.shape_text(b), core.shape_text(a))
    end
    local first, n, m = cut(a, 0, 0, 1), shape_of(b)[1], shape_of(a)[1]
    check_divisor(name, "a[0]", first)
    local count = math.max(n, m)
    local function filled(c, have)
        if core.is_same(have, count) then return c end
        return join({ c, np.zeros({ count - have }, { dtype = c.dtype }) }, 0)
    end
    return filled(b / first, n), filled(a / first, m), core.is_same(m, 1), count
end

--- Sections as numbers for each: a list of { b0, b1, b2, a1, a2 }, 0-d arrays.
local function rows_of(name, sos)
    local dims = shape_of(sos)
    if #dims ~= 2 or dims[2] ~= 6 or dims[1] < 1 then
        raise("signal." .. name, "argument 1 (sos) must be sections, of shape {n, 6}; got shape %s",
              core.shape_text(sos))
    end
    local first = cut(sos, 1, 3, 4)
    check_divisor(name, "an a0", first)
    sos = sos / first
    local rows = {}
    for k = 1, dims[1] do
        rows[k] = { sos[k - 1][0], sos[k - 1][1], sos[k - 1][2], sos[k - 1][4], sos[k - 1][5] }
    end
    return rows
end

--- The signal x, argument `position`, as (n, signals); a function from results (k, signals) to arrays of x's axes; the
-- axis; x's extents, n first; and the number of signals.
local function in_rows(name, position, x, axis)
    if core.ndim(x) == 0 then raise("signal." .. name, "needs at least 1 axis, got a 0-d array") end
    axis = core.axis("signal." .. name, axis == nil and -1 or axis, core.ndim(x))
    local dims = shape_of(np.moveaxis(x, axis, 0))
    if dims[1] == 0 then raise("signal." .. name, "argument %d, the signal, has no elements", position) end
    local count = shape.product(dims, 2)
    local function back(y)
        local all = core.copy_list(dims)
        all[1] = shape_of(y)[1]
        return np.moveaxis(reshape(y, all), 0, axis)
    end
    return reshape(np.moveaxis(x, axis, 0), { dims[1], count }), back, axis, dims, count
end

--- A given state as (k, signals): `dims` are the extents of the signals with the axis of time first.
local function state_of(name, zi, k, axis, dims, count, dtype)
    local all = core.copy_list(dims)
    all[1] = k
    zi = signals.array("signal." .. name, "zi", zi, dtype)
    if core.ndim(zi) ~= #dims or not shape.same({ shape_of(zi)[axis + 1] }, { k }) then
        local expected = core.copy_list(dims)
        table.remove(expected, 1)
        table.insert(expected, axis + 1, k)
        raise("signal." .. name, "the state zi has shape %s, expected %s", core.shape_text(zi),
              core.shape_text(expected))
    end
    return reshape(shape.broadcast_to(np.moveaxis(zi, axis, 0), all), { k, count })
end

-- ---- Recurrences ----------------------------------------------------------------------------------------------------

--- The filtered x (n, signals), from the state z (count - 1, signals) on, and the last state.
local function recurrence(b, a, count, x, z)
    local m = shape_of(x)[2]
    b, a = reshape(b, { count, 1 }), reshape(a, { count, 1 })
    local zero = np.zeros({ 1, m }, { dtype = x.dtype })
    local last, y = np.scan(function(state, v)
        local w = state + b * v
        local out = cut(w, 0, 0, 1)
        return join({ cut(w - a * out, 0, 1, count), zero }, 0), reshape(out, { m })
    end, join({ z, zero }, 0), x)
    return y, cut(last, 0, 0, count - 1)
end

--- The same without a recursion: the state is the end of the convolution, behind the last element.
local function convolution(b, count, x, z)
    local n, m = shape_of(x)[1], shape_of(x)[2]
    local all = np.moveaxis(signals.slid(np.moveaxis(x, 0, 1), np.flip(b), count - 1, count - 1), 1, 0)
    all = all + join({ z, np.zeros({ n, m }, { dtype = x.dtype }) }, 0)
    return cut(all, 0, 0, n), cut(all, 0, n, n + count - 1)
end

--- Filters (n, signals) by what `polynomials` gives.
local function run(b, a, finite, count, x, z)
    if finite then return convolution(b, count, x, z) end
    return recurrence(b, a, count, x, z)
end

--- The same through sections, from the states { z0, z1 } of each on, and the last states.
local function run_sections(rows, x, states)
    local last, y = np.scan(function(state, v)
        local now = {}
        for k, row in ipairs(rows) do
            local z, out = state[k], row[1] * v + state[k][1]
            now[k] = { row[2] * v - row[4] * out + z[2], row[3] * v - row[5] * out }
            v = out
        end
        return now, v
    end, states, x)
    return y, last
end

-- ---- Forth ----------------------------------------------------------------------------------------------------------

--- np.signal.lfilter(b, a, x, {axis=-1, zi=…}) -> y, zf: x filtered: a[0] y[n] = b[0] x[n] + b[1] x[n - 1] + … - a[1]
-- y[n - 1] - …. The result has the dtype in which coefficients and signal meet: those of np.signal.butter are f64. With
-- a state zi, the last state comes behind the result, so that the next part of a signal goes on from there. Raises for
-- a readable a[0] of 0. The transposed direct form II, a scan.
--- zi: the state before the first element, of x's shape, along the axis max(#b, #a) - 1 elements; zeros by default.
-- np.signal.lfilter_zi gives the state of a constant
--- > np.signal.lfilter({0.5}, {1, -0.5}, np.ones(4))
-- [0.5    0.75   0.875  0.9375]
--- > y, state = np.signal.lfilter({1, 1}, 1, np.array{1, 2}, {zi={10}})
--- > y, state
-- [11.  3.]
-- [2.]
function filters.lfilter(b, a, x, given)
    local name, half = "lfilter"
    local o = core.options("signal.lfilter", given, { axis = true, zi = true })
    half, b, a, x = operands.floats_all("signal.lfilter", nil, 3, b, a, x)
    local finite, count
    b, a, finite, count = polynomials(name, b, a)
    local rows, back, axis, dims, m = in_rows(name, 3, x, o.axis)
    local z = o.zi == nil and np.zeros({ count - 1, m }, { dtype = x.dtype })
              or state_of(name, o.zi, count - 1, axis, dims, m, x.dtype)
    local y, last = run(b, a, finite, count, rows, z)
    y = operands.narrow(back(y), half)
    if o.zi ~= nil then return y, operands.narrow(back(last), half) end
    return y
end

--- The state of a filter of `count` coefficients after an endless row of 1: (count - 1).
local function steady(b, a, count)
    local gain = np.sum(b) / np.sum(a)
    return np.flip(np.cumsum(np.flip(cut(b, 0, 1, count) - cut(a, 0, 1, count) * gain)))
end

--- np.signal.lfilter_zi(b, a): the state of np.signal.lfilter after an endless row of 1: times the first element of a
-- signal the zi with which the filter begins without a jump.
--- > np.signal.lfilter_zi({0.5, 0.5}, {1, 0})
-- [0.5]
function filters.lfilter_zi(b, a)
    local half, count, _
    half, b, a = operands.floats_all("signal.lfilter_zi", nil, 2, b, a)
    b, a, _, count = polynomials("lfilter_zi", b, a)
    return operands.narrow(steady(b, a, count), half)
end

--- The states of sections after an endless row of 1, a list of { z0, z1 }, 0-d arrays.
local function steady_sections(rows)
    local level, states = nil, {}
    for k, row in ipairs(rows) do
        local gain = (row[1] + row[2] + row[3]) / (row[4] + row[5] + 1)
        local z1 = row[3] - row[5] * gain
        local z0 = row[2] - row[4] * gain + z1
        states[k] = level and { z0 * level, z1 * level } or { z0, z1 }
        level = level and level * gain or gain
    end
    return states
end

--- np.signal.sosfilt_zi(sos): the states (sections, 2) of np.signal.sosfilt after an endless row of 1.
--- > sos = np.signal.butter(2, 0.5, {output="sos"})
--- > np.round(np.signal.sosfilt_zi(sos), 4)
-- [[0.7071 0.1213]]
function filters.sosfilt_zi(sos)
    local half
    half, sos = operands.floats_all("signal.sosfilt_zi", nil, 1, sos)
    local list = {}
    for k, state in ipairs(steady_sections(rows_of("sosfilt_zi", sos))) do list[k] = np.stack(state) end
    return operands.narrow(np.stack(list), half)
end

--- np.signal.sosfilt(sos, x, {axis=-1, zi=…}) -> y, zf: x filtered by sections of second order in turn, as
-- np.signal.butter makes them with output="sos". The result has the dtype in which sections and signal meet. With
-- states zi, the last states come behind the result.
--- zi: the states before the first element: sections, and then x's shape with 2 elements along the axis; zeros without
-- it. np.signal.sosfilt_zi gives the states of a constant
--- > sos = np.signal.butter(2, 0.5, {output="sos"})
--- > np.round(np.signal.sosfilt(sos, np.ones(4)), 4)
-- [0.2929 0.8787 1.1213 1.0208]
function filters.sosfilt(sos, x, given)
    local name, half = "sosfilt"
    local o = core.options("signal.sosfilt", given, { axis = true, zi = true })
    half, sos, x = operands.floats_all("signal.sosfilt", nil, 2, sos, x)
    local sections = rows_of(name, sos)
    local rows, back, axis, dims, m = in_rows(name, 2, x, o.axis)
    local states, zi = {}, o.zi
    if zi ~= nil then
        zi = signals.array("signal.sosfilt", "zi", zi, x.dtype)
        if core.ndim(zi) == 0 or shape_of(zi)[1] ~= #sections then
            raise("signal.sosfilt", "the states zi have shape %s, for %d sections", core.shape_text(zi), #sections)
        end
    end
    for k = 1, #sections do
        local z = zi == nil and np.zeros({ 2, m }, { dtype = x.dtype })
                  or state_of(name, zi[k - 1], 2, axis, dims, m, x.dtype)
        states[k] = { z[0], z[1] }
    end
    local y, last = run_sections(sections, rows, states)
    y = operands.narrow(back(y), half)
    if o.zi == nil then return y end
    local list = {}
    for k, state in ipairs(last) do list[k] = back(np.stack(state)) end
    return y, operands.narrow(np.stack(list), half)
end

-- ---- Forth and back -------------------------------------------------------------------------------------------------

--- How many elements a signal (n, …) gets at both ends.
local function pad_of(name, o, default, n)
    local more = o.padtype == false and 0 or o.padlen == nil and default
                 or signals.count(name, "padlen", o.padlen, 0)
    if more >= n then
        raise("signal." .. name, "a signal of %s elements must be longer than what it is extended by, %s elements at "
              .. "each end: give a smaller option 'padlen'", tostring(n), tostring(more))
    end
    return more
end

--- x (n, signals), extended, through `filter`(x, first element) once forth and once back.
local function twice(name, o, x, more, filter)
    local n, padtype = shape_of(x)[1], o.padtype == nil and "odd" or o.padtype
    if padtype == "zeros" then
        core.bad_argument("signal." .. name, nil, "padtype", '"odd", "even", "constant" or false', padtype)
    end
    x = np.moveaxis(signals.extended(name, "padtype", np.moveaxis(x, 0, 1), more, padtype), 1, 0)
    for _ = 1, 2 do x = np.flip(filter(x, cut(x, 0, 0, 1)), { axis = 0 }) end
    return cut(x, 0, more, more + n)
end

local AROUND = { axis = true, padtype = true, padlen = true }

--- np.signal.filtfilt(b, a, x, {axis=-1, padtype="odd", padlen=…}): x filtered as by np.signal.lfilter, forth and then
-- back, so that nothing comes late, and the response counts twice. At both ends the signal is extended first.
--- padlen: by how many elements, less than the signal has; by default 3 times the number of coefficients
--- > b, a = np.signal.butter(1, 0.5)
--- > np.round(np.signal.filtfilt(b, a, np.array{1, 2, 4, 8, 16, 32, 64}), 2)
-- [ 1.    2.25  4.5   9.   18.   36.   64.  ]
function filters.filtfilt(b, a, x, given)
    local o = core.options("signal.filtfilt", given, AROUND)
    local half
    half, b, a, x = operands.floats_all("signal.filtfilt", nil, 3, b, a, x)
    local finite, count
    b, a, finite, count = polynomials("filtfilt", b, a)
    local rows, back = in_rows("filtfilt", 3, x, o.axis)
    local more = pad_of("filtfilt", o, 3 * count, shape_of(rows)[1])
    local state = reshape(steady(b, a, count), { count - 1, 1 })
    return operands.narrow(back(twice("filtfilt", o, rows, more, function(signal, first)
        return (run(b, a, finite, count, signal, state * first))
    end)), half)
end

--- np.signal.sosfiltfilt(sos, x, {axis=-1, padtype="odd", padlen=…}): x filtered as by np.signal.sosfilt, forth and
-- then back, so that nothing comes late. Without padlen the numbers of sos are looked at: the function waits, and
-- raises while tracing.
--- padlen: by how many elements, less than the signal has; by default 3 (order + 1)
--- > sos = np.signal.butter(1, 0.5, {output="sos"})
--- > np.round(np.signal.sosfiltfilt(sos, np.array{1, 2, 4, 8, 16, 32, 64}), 2)
-- [ 1.    2.25  4.5   9.   18.   36.   64.  ]
function filters.sosfiltfilt(sos, x, given)
    local o = core.options("signal.sosfiltfilt", given, AROUND)
    local half
    half, sos, x = operands.floats_all("signal.sosfiltfilt", nil, 2, sos, x)
    local sections, more = rows_of("sosfiltfilt", sos), nil
    if o.padtype ~= false and o.padlen == nil then -- the last coefficients of a section of first order are 0
        local ends = np.sum(np.equal(sos, 0), { axis = 0 }):totable()
        more = 3 * (2 * #sections + 1 - math.min(ends[3], ends[6]))
    end
    local rows, back = in_rows("sosfiltfilt", 2, x, o.axis)
    more = pad_of("sosfiltfilt", o, more, shape_of(rows)[1])
    local levels = steady_sections(sections)
    return operands.narrow(back(twice("sosfiltfilt", o, rows, more, function(signal, first)
        first = reshape(first, { shape_of(first)[2] })
        local states = {}
        for k, state in ipairs(levels) do states[k] = { state[1] * first, state[2] * first } end
        return (run_sections(sections, signal, states))
    end)), half)
end

return filters
