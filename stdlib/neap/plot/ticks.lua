--- ticks.lua: where an axis has ticks, and what stands at them, as commands for gnuplot.
local script_text = require "neap.plot.text"

local log10, floor = math.log10, math.floor
local ticks = {}

--- Ticks of a logarithmic axis: powers of ten; of a short one, numbers between them too.
function ticks.logarithmic(out, which, axis)
    out(("set logscale %s\n"):format(which))
    if log10(axis.high / axis.low) >= 1.5 then
        out(("set format %s \"10^{%%T}\"\n"):format(which))
        return
    end
    local list = {}
    for power = floor(log10(axis.low)), floor(log10(axis.high)) + 1 do
        for _, factor in ipairs { 1, 2, 3, 5, 7 } do
            local value = factor * 10 ^ power
            if value >= axis.low and value <= axis.high then
                list[#list + 1] = ("\"%.6g\" %.17g"):format(value, value)
            end
        end
    end
    out(("set %stics (%s)\n"):format(which, table.concat(list, ", ")))
end

local GUIDE, LETTER, LINE, DIGITS = 20, 8.5, 15, 6 -- pixels of a digit and of a line; digits that gnuplot writes

--- The letters of the longest label among ticks that the user has given.
function ticks.longest(wanted)
    local longest = 0
    for _, tick in ipairs(wanted) do
        local label = tick.label or ("%g"):format(tick.place)
        longest = math.max(longest, select(2, label:gsub("[^\128-\191]", "")))
    end
    return longest
end

--- Every how many of the ticks a label fits, and whether they must be aslant for that: pixels has what lies between
-- neighbours, of a scale of 1.
local function fitting(which, wanted, pixels)
    if which == "x" and (ticks.longest(wanted) + 1) * LETTER <= pixels then return 1, false end
    return math.max(1, math.ceil(LINE / pixels)), which == "x"
end

--- The smallest distance of neighbours among ticks; nil: there are fewer than two.
local function smallest_gap(wanted)
    local places, gap = {}, nil
    for k, tick in ipairs(wanted) do places[k] = tick.place end
    table.sort(places)
    for k = 2, #places do
        local own = places[k] - places[k - 1]
        if own > 0 then gap = math.min(gap or own, own) end
    end
    return gap
end

--- Ticks that the user has given. Labels along x that would touch are aslant; of labels that would touch even so, or
-- along y, every so many stand there. room: pixels, of a scale of 1, that the axis has; nil: labels are as they are.
function ticks.given(out, which, wanted, enhanced, axis, room)
    if #wanted == 0 then return out(("unset %stics\n"):format(which)) end
    local gap, every, aslant = room and smallest_gap(wanted), 1, false
    if gap and not axis.log then every, aslant = fitting(which, wanted, gap / (axis.high - axis.low) * room) end
    local list = {}
    for k, tick in ipairs(wanted) do
        local label = (k - 1) % every > 0 and "" or tick.label
        list[k] = label and ("%s %.17g"):format(script_text.quoted(label:gsub("%%", "%%%%")), tick.place)
            or ("%.17g"):format(tick.place)
    end
    out(("set %stics%s (%s) %s\n"):format(which, aslant and " rotate by 45 right" or "", table.concat(list, ", "),
                                          enhanced and "enhanced" or "noenhanced"))
end

-- gnuplot's own steps: the part of a power of ten, by how many of them would fit into twenty.
local STEPS = { { 40, 0.05 }, { 20, 0.1 }, { 10, 0.2 }, { 4, 0.5 }, { 2, 1 }, { 0.5, 2 } }

local function usual_step(extent)
    local power = 10 ^ floor(log10(extent))
    for _, row in ipairs(STEPS) do
        if GUIDE / (extent / power) > row[1] then return row[2] * power end
    end
    return power
end

--- The next larger step: 1, 2, 5, 10 …
local function next_step(step)
    local power = 10 ^ floor(log10(step) + 1e-9)
    local first = step / power
    return (first < 1.5 and 2 or first < 3 and 5 or 10) * power
end

--- Digits that labels take which differ by a step, of numbers up to this size. A million beside smaller numbers is
-- written as these are.
local function digits_of(step, size)
    local million = 10 ^ DIGITS
    return math.max(floor(log10(size)) - floor(log10(step) + 1e-9) + 1,
                    size >= million and size < 10 * million and step < million and DIGITS + 1 or DIGITS)
end

--- Pixels that the labels of an axis take: side by side along x, one above the other along y.
local function labels_extent(which, axis, step, size)
    local first, last = math.ceil(axis.low / step), floor(axis.high / step)
    if which ~= "x" then return LINE * (last - first + 1) end
    local format, longest = ("%%.%dg"):format(digits_of(step, size)), 0
    for k = first, last do longest = math.max(longest, #format:format(k * step)) end
    return (longest + 1.5) * LETTER * (last - first + 1)
end

--- Ticks of an axis of numbers: gnuplot's, but fewer where their labels would touch, and with more digits where they
-- would be alike. room: pixels, of a scale of 1, that the axis has.
function ticks.linear(out, which, axis, room)
    local extent = axis.high - axis.low
    local size = math.max(math.abs(axis.low), math.abs(axis.high))
    if not (extent > size * 1e-14 and extent < 1e300) then return end
    local usual = usual_step(extent)
    local step = usual
    while labels_extent(which, axis, step, size) > room and next_step(step) <= extent do step = next_step(step) end
    if step ~= usual then out(("set %stics %.17g\n"):format(which, step)) end
    local digits = digits_of(step, size)
    -- gnuplot's own format writes 0.50000000 where an end of the axis is hardly more than 0.
    out(digits > DIGITS and ("set format %s \"%%.%dg\"\n"):format(which, digits)
        or ("set format %s \"%%h\"\n"):format(which))
end

return ticks
