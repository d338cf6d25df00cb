--- display.lua: np.display, np.update_display, np.clear_output, np.input: showing values where there is more than text,
-- such as a notebook, and asking the user.
--
-- A display is an effect: it happens in the order of prints, when the array that it shows is there. What shows it is
-- the interpreter's (core.display, in notebooks); elsewhere its text is printed.
local core = require "neap.core"
local effects = require "neap.effects"

local np = core.np

--- The text of a value where nothing else can be shown.
local function plain(value)
    if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
    local names = {}
    for key, data in next, value do
        if type(key) ~= "string" or not key:find "^%w+/" or type(data) ~= "string" then return value end
        names[#names + 1] = ("%s, %d bytes"):format(key, #data)
    end
    table.sort(names)
    return value["text/plain"] or #names > 0 and "<" .. table.concat(names, "; ") .. ">" or value
end

--- Shows a value where there is no more than a terminal: a figure as np.plot.show does.
local function show_plainly(value)
    local meta = debug.getmetatable(value)
    if type(meta) == "table" and rawget(meta, "__show") then return meta.__show(value) end
    print(plain(value))
end

--- Records a display of a value, as an effect of the kind of prints.
local function record(value, how)
    local call = np.callback(function(x) core.display.show(x, how) end, { kind = "print", name = "np.display" })
    if core.is_array(value) then return call(value) end
    np.callback(function() core.display.show(value, how) end, { kind = "print", name = "np.display" })()
end

local function check_id(name, id)
    if id ~= nil and (type(id) ~= "string" or id == "") then
        core.bad_argument(name, nil, "display_id", "a text", id)
    end
end

local function check_metadata(name, metadata)
    if metadata ~= nil and type(metadata) ~= "table" then
        core.bad_argument(name, nil, "metadata", "a table by MIME types", metadata)
    end
end

local display_options = { display_id = true, metadata = true }

--- np.display(value, {display_id=…, metadata=…}) -> nothing: shows a value in a notebook as a cell's last value is:
-- arrays, np.table and trees of arrays as tables, pictures as pictures. Elsewhere it prints the value. An effect, in
-- order with prints; does not wait.
--
-- A table whose keys are MIME types is shown as what they say: {["text/html"]="<b>x</b>"}, "text/markdown",
-- "text/latex", "image/svg+xml", "image/png" (bytes). A value of the user's own has a function __display in its
-- metatable, or in itself, which gets the value and returns such a table.
--- display_id: a text by which np.update_display finds the display again
--- metadata: for the front end, by MIME types: {["image/png"]={width=200}}
--- > np.display({["text/plain"]="two", ["text/html"]="<b>two</b>"})
-- two
function np.display(value, given)
    local o = core.options("display", given, display_options)
    check_id("display", o.display_id)
    check_metadata("display", o.metadata)
    if not core.display then return show_plainly(value) end
    record(value, { display_id = o.display_id, metadata = o.metadata })
end

--- np.update_display(value, display_id) -> nothing: shows a value in the place of the one that np.display has shown
-- with this display_id, in all cells. An effect, in order with prints. Elsewhere it prints the value.
--- > np.update_display("half done", "progress")
-- half done
function np.update_display(value, display_id)
    if type(display_id) ~= "string" or display_id == "" then
        core.bad_argument("update_display", 2, "display_id", "a text", display_id)
    end
    if not core.display then return show_plainly(value) end
    record(value, { display_id = display_id, update = true })
end

--- np.clear_output({wait=false}) -> nothing: takes away what the cell of a notebook has shown so far. An effect, in
-- order with prints. Elsewhere it does nothing.
--- wait: true: only when the next output comes, so that nothing flickers
--- > np.clear_output()
function np.clear_output(given)
    local o = core.options("clear_output", given, { wait = true })
    if o.wait ~= nil and type(o.wait) ~= "boolean" then
        core.bad_argument("clear_output", nil, "wait", "a boolean", o.wait)
    end
    if not core.display then return end
    np.callback(function() core.display.clear(o.wait == true) end, { kind = "print", name = "np.clear_output" })()
end

--- np.input(prompt, {password=false}) -> string | nil: asks the user for a line: in the notebook, or on the terminal.
-- Waits; what was printed before stands in front of it. nil at the end of input.
--- password: true: what is typed is not shown; in notebooks only
--- > np.input("name? ", {password=false})
-- name? nil
function np.input(prompt, given)
    local o = core.options("input", given, { password = true })
    if prompt ~= nil and type(prompt) ~= "string" then core.bad_argument("input", 1, "prompt", "a text", prompt) end
    if o.password ~= nil and type(o.password) ~= "boolean" then
        core.bad_argument("input", nil, "password", "a boolean", o.password)
    end
    if core.ask then return core.ask(prompt or "", o.password == true) end
    if o.password then core.raise("input", "option 'password' needs a notebook, which does not show what is typed") end
    if prompt then io.write(prompt) end
    return io.read()
end

for _, f in ipairs { record, np.display, np.update_display, np.clear_output, np.input } do jit.off(f, true) end

return effects
