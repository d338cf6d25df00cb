--- help_commands.lua: `:help`, which lists the prompt's commands, and `?NAME`.
local commands = require "neap.interp.commands"
local repl = require "neap.interp.repl"
local show = require "neap.interp.show"

local ORDER = { "?", "??", "time", "bench", "who", "mem", "out", "explain", "trace", "run", "edit", "save", "load",
                "debug", "!", "help" }

local function list()
    local rows = {}
    for _, name in ipairs(ORDER) do rows[#rows + 1] = { commands.rows[name].usage, commands.rows[name].help } end
    rows[#rows + 1] = { "exit, quit, Ctrl-D", "leave" }
    rows[#rows + 1] = { "_, _3, Out[3]", "the last value; that of command 3" }
    rows[#rows + 1] = { "CODE;", "a semicolon behind the code: its value is not shown" }
    print(show.columns(rows, true))
end

--- Shows a value for want of help on it.
local function describe(name, session)
    if not name:find "^[%a_][%w_]*[%w_%.:]*$" then error("?: the help is about names, such as ?np.sum", 0) end
    local command = repl.compile((name:gsub(":", ".")), session)
    local _, value = command()
    print(show.text(value))
end

commands.rows["?"].run = function(rest, session)
    if rest == "" then return list() end
    describe(rest, session)
end

commands.rows["??"].run = commands.rows["?"].run

commands.rows.help.run = function(rest, session)
    local row = commands.rows[rest:match "^:?(%w+)$" or rest]
    if rest == "" then return list() end
    if not row then return commands.rows["?"].run(rest, session) end
    print(row.usage .. "\n" .. row.help .. (row.about and "\n" .. row.about or ""))
end
