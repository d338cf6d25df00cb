--- look.lua: commands that look at what is there: `:who`, `:mem`, `:out`, `:explain`, `:trace`, `:debug`.
local ffi = require "ffi"
local core = require "neap.core"
local commands = require "neap.interp.commands"
local frames = require "neap.interp.frames"
local repl = require "neap.interp.repl"
local results = require "neap.interp.results"
local show = require "neap.interp.show"
local tokens = require "neap.interp.tokens"

local C = core.C

-- ---- :who -----------------------------------------------------------------------------------------------------------

local function bytes_text(bytes)
    local units, unit = { "B", "kB", "MB", "GB", "TB" }, 1
    while bytes >= 1000 and unit < #units do bytes, unit = bytes / 1000, unit + 1 end
    return (unit == 1 and "%d %s" or "%.3g %s"):format(bytes, units[unit])
end

--- Where an array is, and whether it has its value.
local function state_of(x)
    local known = core.info(x)
    if known.deleted ~= 0 then return "deleted", "" end
    if known.traced ~= 0 then return "traced", "" end
    local where = known.sharding ~= 0 and tostring(x.sharding) or tostring(x.device)
    return known.deferred ~= 0 and "pending" or "computed", where
end

local function describe(name, value)
    if core.is_array(value) then
        local state, where = state_of(value)
        return { name, show.type_of(value), bytes_text(results.bytes_of(value)), state, where }
    end
    local bytes = type(value) == "table" and results.bytes_of(value) or 0
    return { name, type(value), bytes > 0 and bytes_text(bytes) or "", "", show.brief(value) }
end

--- The variables of a session: local ones, those of the chosen function at a breakpoint, and the user's globals.
local function variables(session)
    local state = session.state
    return repl.variables(session, state and frames.locals(state.frames[state.at]).values)
end

commands.rows.who.run = function(rest, session)
    local ok = pcall(string.find, "", rest)
    if not ok then commands.usage("who", ("'%s' is no pattern of Lua's"):format(rest)) end
    local names, found = {}, variables(session)
    for name in pairs(found) do
        if type(name) == "string" and name:find(rest) then names[#names + 1] = name end
    end
    if not names[1] then return print(rest == "" and "no variables yet" or "no variable matches " .. rest) end
    table.sort(names)
    local rows = {}
    for k, name in ipairs(names) do rows[k] = describe(name, found[name]) end
    print(show.columns(rows))
end

-- ---- The others -----------------------------------------------------------------------------------------------------

commands.rows.mem.run = function(rest)
    if rest ~= "" then commands.usage("mem", "nothing follows it") end
    print(np.memory())
end

commands.rows.out.run = function(rest)
    if rest == "clear" then return results.clear() end
    if rest ~= "" then commands.usage("out", ("it does not know '%s'"):format(rest)) end
    print(results.out)
end

commands.rows.explain.run = function(rest, session)
    if rest == "" then commands.usage("explain", "what expression?") end
    local command, is_expression = repl.compile(rest, session)
    if not is_expression then commands.usage("explain", "that is a statement, not an expression") end
    print(np.explain(select(2, command())))
end

commands.rows.trace.run = function(rest, session)
    local path, code = rest:match "^(%S+)%s+(.+)$"
    if not path then commands.usage("trace", rest == "" and "which file, and what code?" or "what code?") end
    local command, is_expression = repl.compile(code, session)
    if C.neap_timeline_start(path) ~= C.NEAP_OK then error(":trace: " .. ffi.string(C.neap_error_text()), 0) end
    local function finish(ok, ...)
        session.scope:settle()
        if ok then ok = pcall(np.wait_all) end
        local status = C.neap_timeline_stop()
        if not ok then error((...), 0) end
        if status ~= C.NEAP_OK then error(":trace: " .. ffi.string(C.neap_error_text()), 0) end
        if is_expression then repl.display(tokens.ends_quietly(code), true, ...) end
        print(("the timeline is in %s; https://ui.perfetto.dev shows it"):format(path))
    end
    finish(pcall(command))
end

commands.rows.debug.run = function(rest)
    if rest ~= "" then commands.usage("debug", "nothing follows it") end
    if not frames.failed then error(":debug: there was no error whose functions could be looked at", 0) end
    require("neap.interp.breakpoint").examine(frames.failed)
end

for _, name in ipairs { "who", "mem", "out", "explain", "trace", "debug" } do jit.off(commands.rows[name].run, true) end
