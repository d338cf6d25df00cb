--- help_commands.lua: `:help`, which lists the prompt's commands, and `?NAME`.
local commands = require "neap.interp.commands"
local questions = require "neap.interp.questions"
local show = require "neap.interp.show"

local ORDER = { "?", "??", "time", "bench", "who", "mem", "out", "explain", "trace", "timeline", "run", "edit",
                "save", "load", "cd", "debug", "tour", "!", "help" }

local function list()
    local rows = { { "?np", "what np has, by subject; ?docs/prompt and the like are pages" } }
    for _, name in ipairs(ORDER) do rows[#rows + 1] = { commands.rows[name].usage, commands.rows[name].help } end
    rows[#rows + 1] = { "exit, quit, Ctrl-D", "leave" }
    rows[#rows + 1] = { "_, _3, Out[3]", "the last value; that of command 3" }
    rows[#rows + 1] = { "CODE;", "a semicolon behind the code: its value is not shown" }
    print(show.help(show.columns(rows, true)))
end

--- The value of a variable of a session; of its functions' and global ones too.
local function variable(session, name)
    local found, value = session.scope:get(name)
    if found then return value end
    if not session.environment then return rawget(_G, name) end
    local ok, inside = pcall(function() return session.environment[name] end)
    return ok and inside or nil
end

for mark, source in pairs { ["?"] = false, ["??"] = true } do
    commands.rows[mark].run = function(rest, session)
        if rest == "" then return list() end
        if rest:find "^:" then return commands.rows.help.run(rest, session) end
        questions.answer(rest, source, function(name) return variable(session, name) end)
    end
end

commands.rows.help.run = function(rest, session)
    local row = commands.rows[rest:match "^:?(%w+)$" or rest]
    if rest == "" then return list() end
    if not row then return commands.rows["?"].run(rest, session) end
    print(show.bold(row.usage) .. "\n" .. row.help .. (row.about and "\n" .. row.about or ""))
end
