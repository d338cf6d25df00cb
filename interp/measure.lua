--- measure.lua: `:time` and `:bench`.
--
-- Arrays are lazy, so a time means something only with the wait for what was asked for: the arrays that the code gives,
-- those that it assigns to variables, and those that it puts into tables of variables. What else is pending is left
-- alone.
local core = require "neap.core"
local commands = require "neap.interp.commands"
local repl = require "neap.interp.repl"
local system = require "neap.interp.system"
local tokens = require "neap.interp.tokens"

local now = system.now

local BENCH_SECONDS, MOST_RUNS, LEAST_RUNS = 1, 100000, 3
local MOST_TABLES = 10000 -- in which arrays are looked for

--- "12.3 ms".
local function time_text(seconds)
    for _, unit in ipairs { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "µs" } } do
        if seconds >= unit[1] then return ("%.3g %s"):format(seconds / unit[1], unit[2]) end
    end
    return ("%.0f ns"):format(seconds * 1e9)
end

local function bytes_text(bytes)
    local size, unit = math.abs(bytes), 1
    local units = { "B", "kB", "MB", "GB", "TB" }
    while size >= 1000 and unit < #units do size, unit = size / 1000, unit + 1 end
    return ((bytes < 0 and "-" or "") .. (unit == 1 and "%d %s" or "%.3g %s")):format(size, units[unit])
end

--- The values of all variables that code of the session can assign by name.
local function variables(session)
    local found = {}
    for name, value in next, _G do found[name] = value end
    for _, name in ipairs(session.scope:names()) do found[name] = select(2, session.scope:get(name)) end
    return found
end

--- Names of variables that are not as they were.
local function assigned(session, before)
    local names = {}
    for name, value in next, variables(session) do
        if not rawequal(value, before[name]) then names[#names + 1] = name end
    end
    return names
end

--- The arrays that are reached from the session's variables through tables, as a weak set.
local function reached(session)
    local found, seen, queue = setmetatable({}, { __mode = "k" }), { [_G] = true, [np] = true }, {}
    local function add(value)
        if core.is_array(value) then
            found[value] = true
        elseif type(value) == "table" and not seen[value] and #queue < MOST_TABLES then
            seen[value] = true
            queue[#queue + 1] = value
        end
    end
    for name, value in next, variables(session) do
        if repl.first_globals[name] == nil then add(value) end
    end
    local k = 1
    while queue[k] do
        for _, item in next, queue[k] do add(item) end
        k = k + 1
    end
    return found
end

--- Waits for the arrays that are reached now and were not `before`. Returns whether there are any.
local function wait_for_new(session, before)
    local any = false
    for x in next, reached(session) do
        if not before[x] then
            any = true
            core.wait(x)
        end
    end
    return any
end

--- Waits for arrays, also for those in tables without a metatable.
local function wait_for(value, depth)
    if core.is_array(value) then
        core.wait(value)
    elseif type(value) == "table" and depth < 8 and debug.getmetatable(value) == nil then
        for _, item in next, value do wait_for(item, depth + 1) end
    end
end

local function wait_for_all(values, names, session)
    for k = 2, values.n do wait_for(values[k], 0) end
    for _, name in ipairs(names) do
        local is_local, value = session.scope:get(name)
        wait_for(is_local and value or rawget(_G, name), 0)
    end
end

local function pack(...) return { n = select("#", ...), ... } end

local function command_of(name, rest, session)
    if rest == "" then commands.usage(name, "what code?") end
    return repl.compile(rest, session)
end

commands.rows.time.run = function(rest, session)
    local command, is_expression = command_of("time", rest, session)
    local before, there, live = variables(session), reached(session), np.memory().live
    np.memory.reset_peak()
    local launches = np.debug.counters().launches
    local start = now()
    local values = pack(command())
    local returned = now()
    session.scope:settle()
    wait_for_all(values, assigned(session, before), session)
    wait_for_new(session, there)
    local finish = now()
    local memory, count = np.memory(), np.debug.counters().launches - launches
    if is_expression then repl.display(tokens.ends_quietly(rest), true, unpack(values, 1, values.n)) end
    print(("%s (%s running, %s waiting); memory %s%s, at most %s%s; %d %s"):format(
        time_text(finish - start), time_text(returned - start), time_text(finish - returned),
        memory.live >= live and "+" or "", bytes_text(memory.live - live),
        memory.peak >= live and "+" or "", bytes_text(memory.peak - live),
        count, count == 1 and "kernel" or "kernels"))
end

commands.rows.bench.run = function(rest, session)
    local command = command_of("bench", rest, session)
    local before, there = variables(session), reached(session)
    local start = now()
    local values = pack(command())
    session.scope:settle()
    local names = assigned(session, before)
    wait_for_all(values, names, session)
    local fills_tables = wait_for_new(session, there)
    local first = now() - start
    local times, finish = {}, now() + BENCH_SECONDS
    while #times < LEAST_RUNS or (now() < finish and #times < MOST_RUNS) do
        start = now()
        values = pack(command())
        session.scope:settle()
        wait_for_all(values, names, session)
        if fills_tables then np.wait_all() end
        times[#times + 1] = now() - start
        core.check_interrupt()
    end
    table.sort(times)
    print(("best %s, median %s of %d runs; the first run took %s"):format(
        time_text(times[1]), time_text(times[math.ceil(#times / 2)]), #times, time_text(first)))
end

for _, name in ipairs { "time", "bench" } do jit.off(commands.rows[name].run, true) end
