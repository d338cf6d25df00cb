--- failing.lua: what neap says of code that fails, asked in this process: parsing, running, the remedy and the mark.
--
-- A chunk runs with globals of its own. The handler stands where errors.c does, as far above the function that failed.
local excerpt = require "neap.interp.excerpt"
local slips = require "neap.interp.slips"
local source = require "neap.core.source"

local failing = {}

local count, spent = 0, { seconds = 0 }

-- It must not be taken for the user's code that has failed, so it has a name of the library's.
local handler = loadstring([[
local explain, spent = ...
return function(message)
    local before = os.clock()
    message = explain(message) or message
    spent.seconds = os.clock() - before
    return message
end]], "@neap/failing")(slips.explain, spent)

local function first_globals()
    local globals = {}
    for name, value in pairs(_G) do globals[name] = value end
    globals._G = globals
    return globals
end

--- Runs a text as a script. Returns nil if that goes well, else the message in one line, its place included; what was
-- printed, its lines joined by "|"; and the seconds of the processor's time that the message took.
function failing.run(text)
    count = count + 1
    local name, printed = ("=case%d"):format(count), {}
    local before = os.clock()
    local f, problem = load(text, name)
    if not f then return problem, "", os.clock() - before end
    local globals = first_globals()
    function globals.print(...)
        local texts = {}
        for k = 1, select("#", ...) do texts[k] = tostring((select(k, ...))) end
        printed[#printed + 1] = table.concat(texts, " ")
    end
    local ok, said = xpcall(setfenv(f, globals), handler)
    if ok then said = nil end
    return said and tostring(said), table.concat(printed, "|"), spent.seconds
end

--- Line and column to which a message points, as far as it shows them.
function failing.place(message)
    local name, line = message:match "^(case%d+):(%d+): "
    if not name then return nil end
    local shown = excerpt.of(message, "=" .. name, tonumber(line), false, 0)
    local before = shown:match "\n *| ( *)%^"
    return tonumber(line), before and #before + 1, source.line("=" .. name, tonumber(line))
end

return failing
