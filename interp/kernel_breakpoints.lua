--- kernel_breakpoints.lua: breakpoints that stop sometimes, or never and write a line instead, as the Debug Adapter
-- Protocol has them:
--
--      condition      "k > 3 and loss < 0.1"     an expression (kernel_expressions.lua) that is true
--      hitCondition   "3", ">= 3", "% 10"        of the times that the line is reached with a true condition
--      logMessage     "step {k}: {loss}"         is written to the cell's output; the cell goes on
local expressions = require "neap.interp.kernel_expressions"
local messages = require "neap.interp.kernel_messages"
local show = require "neap.interp.show"

local breakpoints = {}

local COMPARES = {
    ["=="] = function(hits, n) return hits == n end, [">="] = function(hits, n) return hits >= n end,
    [">"] = function(hits, n) return hits > n end, ["<="] = function(hits, n) return hits <= n end,
    ["<"] = function(hits, n) return hits < n end, ["%"] = function(hits, n) return n > 0 and hits % n == 0 end,
}

--- A text of the request; nil: there is none, or it is empty.
local function text_of(value)
    return type(value) == "string" and value:find "%S" and value or nil
end

--- Whether a number of hits counts: f(hits); or nil, and what is wrong.
local function read_hits(text)
    local operator, number = text:match "^%s*([<>=%%]*)%s*(%d+)%s*$"
    local compare = COMPARES[operator ~= "" and operator or "=="]
    number = tonumber(number or nil)
    if not number or not compare then
        return nil, ("the hit condition '%s' is none: a number, as 3, >= 3, or %% 10 for each tenth time"):format(text)
    end
    return function(hits) return compare(hits, number) end
end

--- The parts of a log message: texts, and what gives the values of {…}; or nil, and what is wrong.
local function read_message(text)
    local parts, at = {}, 1
    while true do
        local open, close = text:find("%b{}", at)
        parts[#parts + 1] = text:sub(at, (open or 0) - 1)
        if not open then return parts end
        local value, problem = expressions.read(text:sub(open + 1, close - 1))
        if not value then return nil, ("%s: %s"):format(text:sub(open, close), problem) end
        parts[#parts + 1] = value
        at = close + 1
    end
end

--- Writes a log message behind all text so far.
local function write(parts, name)
    local texts = {}
    for k, part in ipairs(parts) do
        local value = part
        if type(part) == "function" then
            local ok
            ok, value = expressions.value(part, name)
            value = ok and type(value) ~= "string" and show.brief(value) or value
        end
        texts[k] = value
    end
    messages.publish(nil, "stream", { name = "stdout", text = table.concat(texts) .. "\n" })
end

--- Whether a breakpoint with conditions stops: true, or f(), which returns that, and what is wrong with a condition:
-- then it stops. Or nil, and what does not read. names(): gives the value of each name where the cell stands.
function breakpoints.new(point, names)
    local condition, hit_text, log = text_of(point.condition), text_of(point.hitCondition), text_of(point.logMessage)
    if not condition and not hit_text and not log then return true end
    local holds, counts, parts, problem
    if condition then
        holds, problem = expressions.read(condition)
        if not holds then return nil, ("the condition '%s' does not read: %s"):format(condition, problem) end
    end
    if hit_text then
        counts, problem = read_hits(hit_text)
        if not counts then return nil, problem end
    end
    if log then
        parts, problem = read_message(log)
        if not parts then return nil, problem end
    end
    local hits = 0
    return function()
        local name = names()
        local ok, value = true, true
        if holds then ok, value = expressions.value(holds, name, true) end
        if not ok then return true, ("the condition '%s' failed: %s"):format(condition, value) end
        if not value then return false end
        hits = hits + 1
        if counts and not counts(hits) then return false end
        if parts then write(parts, name) end
        return parts == nil
    end
end

--- What two breakpoints on one line are together; `one` may be nil.
function breakpoints.both(one, other)
    if not one or one == true or other == true then return one == true or other end
    return function()
        local is_stop, problem = one()
        local is_other, another = other()
        return is_stop or is_other, problem or another
    end
end

for _, f in ipairs { breakpoints.new, breakpoints.both, write } do jit.off(f, true) end

return breakpoints
