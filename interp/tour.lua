--- tour.lua: `:tour`: ten minutes at the prompt, in steps. Each says what to type; what was typed is looked at, and
-- when it has done what the step is about, the next one is told. Anything else may be typed in between.
--
-- A step is { text, code, done }: done(value, look, text) says whether a command has done it, which gave the value and
-- reads `text`; look(name) is the value of a variable of the session. The code of each step does it
-- (tests/interp/tour_test.lua).
local core = require "neap.core"
local commands = require "neap.interp.commands"
local repl = require "neap.interp.repl"
local results = require "neap.interp.results"
local show = require "neap.interp.show"

local is_array = core.is_array

--- Whether a value is an array of this shape, and, if `sum` is given, of this sum.
local function is_like(value, shape, sum)
    if not is_array(value) or #value.shape ~= #shape then return false end
    for k, extent in ipairs(shape) do
        if value.shape[k] ~= extent then return false end
    end
    return not sum or math.abs(tonumber(value:sum()) - sum) < 1e-3
end

--- Whether a value is a function that gives this number for np.array{1, 2, 3}. Trying it raises nothing but Ctrl-C.
local function gives(f, number)
    local ok, value = pcall(function() return tonumber(f(core.np.array { 1, 2, 3 })) end)
    if not ok and core.C.neap_interrupt_pending() ~= 0 then error(value, 0) end
    return ok and value == number
end

local STEPS = {
    { "An array is made of a table. Give it a name:", "x = np.array{1, 2, 3}",
      function(_, look) return is_like(look "x", { 3 }, 6) end },
    { "An expression shows its value, behind it dtype and shape. Operators work by element:", "x * 2 + 1",
      function(value) return is_like(value, { 3 }, 15) end },
    { "Elements count from 0, and the last one is x[-1]:", "x[-1]", function(value) return is_like(value, {}, 3) end },
    { "A slice is a text, with or without parentheses:", 'x"1:"', function(value) return is_like(value, { 2 }, 5) end },
    { "Methods take a colon. A matrix of two rows:", "m = np.arange(6):reshape(2, 3)",
      function(_, look) return is_like(look "m", { 2, 3 }, 15) end },
    { "Options go in braces. The sum along axis 0:", "m:sum{axis=0}",
      function(value) return is_like(value, { 3 }, 15) end },
    { "Arrays never change; a changed copy is a new value. The old one keeps its elements:", "y = x:at{0}:set(10)",
      function(_, look) return is_like(look "y", { 3 }, 15) end },
    { "Comparisons are methods too, and give bools. This takes the elements above 1:", "x[x:gt(1)]",
      function(value) return is_like(value, { 2 }, 5) end },
    { "A function of arrays is a function of Lua:", "f = function(v) return (v * v):sum() end",
      function(_, look) return gives(look "f", 14) end },
    { "np.grad makes of it the function of its gradient, which is 2 v:", "np.grad(f)(x)",
      function(value) return is_like(value, { 3 }, 12) end },
    { "np.jit records it once, and runs what it has recorded from then on:", "fast = np.jit(f)",
      function(_, look) return look "fast" ~= look "f" and gives(look "fast", 14) end },
    { "Random numbers come from keys; the same key gives the same numbers:",
      "z = np.random.normal(np.random.key(0), {3})",
      function(_, look) return is_like(look "z", { 3 }) end },
    { "? in front of a name tells of it; ? alone, of all there is:", "?np.sum",
      function(_, _, text) return text:find "^%s*%?" ~= nil or text:find "%?%s*$" ~= nil end },
}

local at = nil -- the step that is being done; nil: there is no tour

local function tell()
    local step = STEPS[at]
    print(show.faint(("[%d of %d] "):format(at, #STEPS)) .. step[1] .. "\n    " .. show.bold(step[2]))
end

local function leave(text)
    at, repl.after = nil, nil
    print(text)
end

local function go_on()
    at = at + 1
    if STEPS[at] then return tell() end
    leave "That was the tour. ?np tells what there is, ?np.linalg what a part has, :help lists the commands."
end

--- Looks at a command that has run.
local function look_at(text, session)
    if not at or text:find "^%s*:" then return end
    local function look(name)
        local found, value = session.scope:get(name)
        if found then return value end
        return rawget(_G, name)
    end
    local _, value = results.get(results.count)
    if STEPS[at][3](value, look, text) then go_on() end
end

commands.rows.tour.run = function(rest)
    if rest == "stop" or rest == "end" then return leave "The tour has ended; :tour begins it again." end
    if rest ~= "" and rest ~= "next" then commands.usage("tour", "there are next and stop") end
    repl.after = look_at
    if at and rest == "next" then return go_on() end
    if at then return tell() end
    at = 1
    print "Type what a step shows, or something of your own. :tour next leaves one out, :tour stop ends."
    tell()
end

jit.off(commands.rows.tour.run, true)

return { steps = STEPS }
