--- repl.lua: what a command at the prompt means.
--
-- A command is an expression, whose values are shown, or a chunk. `=expr` is an expression too. Each command is a chunk
-- of its own, so a `local` ends with it; a hint says so once.
local core = require "neap.core"
local show = require "neap.interp.show"
local sites = require "neap.interp.sites"
local repl = {}

local ran = 0 -- of commands that have run: each is a chunk with its number

local function chunk_name(number)
    return ("=[%d]"):format(number)
end

-- What makes a chunk of an expression. The nil, which is dropped, keeps a call from being a tail call: its errors would
-- lose the line.
local VALUES = "return nil, "
local hinted = false

--- The compiled command and whether it is an expression; or nil and the error of reading it as statements.
local function compile(text, number)
    local expression = text:match("^%s*=(.*)$")
    local chunk, problem = loadstring(VALUES .. (expression or text), chunk_name(number), "t")
    if chunk then return chunk, true end
    if expression then return nil, problem end
    chunk, problem = loadstring(text, chunk_name(number), "t")
    return chunk, chunk == nil and problem
end

--- Whether more lines can complete the command.
function repl.incomplete(text)
    local chunk, problem = compile(text, ran + 1)
    return chunk == nil and problem:find("near '<eof>'", 1, true) ~= nil
end

local function hint_local(text)
    if not hinted and text:find("^%s*local%s") and not text:find("\n") then
        hinted = true
        io.stderr:write("(a local lives for one command at the prompt; without 'local' the name stays)\n")
    end
end

--- Shows all values but the first (VALUES) as print does, tables by their contents, and waits until they are written.
-- The text of an array is awaited before it is printed, so that an interrupt leaves no print behind for which later
-- ones wait.
local function display(...)
    local count = select("#", ...) - 1
    if count < 1 then return end
    local values = { select(2, ...) }
    for k = 1, count do
        values[k] = core.is_array(values[k]) and tostring(values[k]) or show.top(values[k])
    end
    print(unpack(values, 1, count))
    np.effects_barrier()
end

--- Runs a command and shows its values. Raises its error. `environment`: where its names are, if not the globals.
function repl.run(text, environment)
    ran = ran + 1
    local chunk, what = compile(text, ran)
    if not chunk then error(what, 0) end
    hint_local(text)
    if environment then setfenv(chunk, environment) end
    sites.enter(chunk_name(ran):sub(2))
    if what then
        display(chunk())
    else
        display(nil, chunk())
    end
end

return repl
