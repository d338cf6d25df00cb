--- events.lua: when something happens to a solution: local events = require "neap.integrate.events".
--
-- An event is a function of t and the state, a number, whose zeros are wanted: {f, terminal=…, direction=…}. A zero is
-- looked for in each step between whose ends the sign changes, by halving, on the polynomial of the step.
local core = require "neap.core"
local staging = require "neap.tracing.staging"
local march = require "neap.integrate.march"

local np = core.np
local raise, type = core.raise, type

local events = {}

local HALVINGS = 60 -- of a step: to the last digit of f64

--- The events of option 'events', a function, {f, terminal=…, direction=…} or a list of such: a list of { f, terminal,
-- direction }; and whether it was a list.
function events.list(name, given)
    if given == nil then return {} end
    local function event(item, place)
        local o = type(item) == "table" and getmetatable(item) == nil and item or { item }
        for key in pairs(o) do
            if key ~= 1 and key ~= "terminal" and key ~= "direction" then
                raise(name, "an event is {f, terminal=…, direction=…}, got the key '%s'", tostring(key))
            end
        end
        local direction = core.plain(o.direction == nil and 0 or o.direction)
        if type(direction) ~= "number" then core.bad_argument(name, nil, "direction", "a number", direction) end
        if o.terminal ~= nil and type(o.terminal) ~= "boolean" then
            core.bad_argument(name, nil, "terminal", "true or false", o.terminal)
        end
        return { f = staging.check_function(name, o[1], 1, place), terminal = o.terminal or false,
                 direction = direction }
    end
    local several = type(given) == "table" and getmetatable(given) == nil and given.terminal == nil
        and given.direction == nil
    local list = {}
    for k, item in ipairs(several and given or { given }) do list[k] = event(item, ("events[%d]"):format(k)) end
    return list
end

--- The value of an event, which must be a number.
function events.value(name, value)
    if core.is_number(value) then return core.number(value, core.dtype_codes.f32) end
    if not core.is_array(value) or core.ndim(value) > 0 or core.dtype_of(value).kind == "c" then
        local got = core.is_array(value) and ("%s of shape %s"):format(value.dtype, core.shape_text(value))
        raise(name, "an event must return a real number, got %s", got or core.describe(value))
    end
    return value
end

--- The steps in which an event may have a zero: positions from 1.
local function sign_changes(event, before, after)
    local list = {}
    for k = 1, #before do
        local up, down = before[k] <= 0 and after[k] >= 0, before[k] >= 0 and after[k] <= 0
        if up and event.direction >= 0 or down and event.direction <= 0 then list[#list + 1] = k end
    end
    return list
end

--- The times of the zeros of g in steps, rows of `steps`, at whose beginnings g has the values `before`.
local function zeros_of(g, steps, before)
    return np.vmap(function(step, first)
        local sign = np.sign(first)
        local function at(s) return step.from + (step.t - step.from) * s end
        local found = np.fori_loop(0, HALVINGS, function(_, ends)
            local middle = (ends[1] + ends[2]) / 2
            local time = at(middle)
            local same = np.equal(np.sign(g(time, march.between(step, time))), sign)
            return { np.where(same, middle, ends[1]), np.where(same, ends[2], middle) }
        end, { np.zeros_like(step.t), np.ones_like(step.t) })
        return at(found[2])
    end)(steps, before)
end

--- Looks for events in the steps of `rows` (march.some). g: event → function of t and a flat state. Appends to `found`,
-- for each event a list of { number, time, state, steps }: the time as a number and an array, the flat state, in which
-- step. Returns the first one of a terminal event, or nil.
function events.look(list, g, rows, forward, found)
    local seen, ending = {}, nil
    for n, event in ipairs(core.shape_of(rows.t)[1] > 0 and list or {}) do
        local f = g(event)
        local before, after = np.vmap(f)(rows.from, rows.base), np.vmap(f)(rows.t, rows.y)
        local places = sign_changes(event, before:totable(), after:totable())
        if #places > 0 then
            local index = np.array(places, { dtype = "i32" }) - 1
            local function take(x) return np.take(x, index, { axis = 0 }) end
            local steps = np.tree.map(take, rows)
            local times = zeros_of(f, steps, take(before))
            local states, numbers = np.vmap(march.between)(steps, times), times:totable()
            for k, time in ipairs(numbers) do
                local item = { event = n, number = time, time = times[k - 1], state = states[k - 1],
                               steps = places[k] }
                seen[#seen + 1] = item
                local earlier = not ending or (time - ending.number) * forward < 0
                if event.terminal and earlier then ending = item end
            end
        end
    end
    for _, item in ipairs(seen) do
        if not ending or (item.number - ending.number) * forward <= 0 then
            table.insert(found[item.event], item)
        end
    end
    return ending
end

--- Times, and rows of flat states, of the zeros that were found of one event.
function events.arrays(found, like)
    local times, states = {}, {}
    for k, item in ipairs(found) do times[k], states[k] = item.time, item.state end
    if #times == 0 then
        return np.zeros({ 0 }, { dtype = like.dtype }), np.zeros({ 0, core.size_of(like) }, { dtype = like.dtype })
    end
    return np.stack(times), np.stack(states)
end

for _, f in ipairs { zeros_of, events.look } do jit.off(f) end

return events
