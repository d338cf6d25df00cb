--- repl.lua: what a command at the prompt means.
--
-- A command is an expression, whose values are shown, or a chunk. `=expr` is an expression too. Each command is a chunk
-- of its own, so a `local` ends with it; a hint says so once. `?name` is a question (questions.lua).
local core = require "neap.core"
local show = require "neap.interp.show"
local questions = require "neap.interp.questions"
local sites = require "neap.interp.sites"
local repl = {}

local CHUNK = "=prompt"
-- What makes a chunk of an expression. The nil, which is dropped, keeps a call from being a tail call: its errors would
-- lose the line.
local VALUES = "return nil, "
local hinted = false

--- The compiled command and whether it is an expression; or nil and the error of reading it as statements.
local function compile(text)
    local expression = text:match("^%s*=(.*)$")
    local chunk, problem = loadstring(VALUES .. (expression or text), CHUNK, "t")
    if chunk then return chunk, true end
    if expression then return nil, problem end
    chunk, problem = loadstring(text, CHUNK, "t")
    return chunk, chunk == nil and problem
end

--- Whether more lines can complete the command.
function repl.incomplete(text)
    if questions.read(text) then return false end
    local chunk, problem = compile(text)
    return chunk == nil and problem:find("near '<eof>'", 1, true) ~= nil
end

local function hint_local(text)
    if not hinted and text:find("^%s*local%s") and not text:find("\n") then
        hinted = true
        io.stderr:write("(a local lives for one command at the prompt; without 'local' the name stays)\n")
    end
end

--- Shows all values but the first (VALUES) as print does, tables by their contents, and waits until they are written.
-- Arrays are awaited before they are printed, so that an interrupt leaves no print behind for which later ones wait.
local function display(...)
    local count = select("#", ...) - 1
    if count < 1 then return end
    local values = { select(2, ...) }
    for k = 1, count do
        if core.is_array(values[k]) then core.wait(values[k]) end
        values[k] = show.top(values[k])
    end
    print(unpack(values, 1, count))
    np.effects_barrier()
end

--- Runs a command and shows its values. Raises its error. `environment`: where its names are, if not the globals.
function repl.run(text, environment)
    local name, source = questions.read(text)
    if name then return questions.answer(name, source) end
    questions.remember(CHUNK, text)
    local chunk, what = compile(text)
    if not chunk then error(what, 0) end
    hint_local(text)
    if environment then setfenv(chunk, environment) end
    sites.enter(CHUNK:sub(2))
    if what then
        display(chunk())
    else
        display(nil, chunk())
    end
end

return repl
