--- commands.lua: the prompt's own commands, `:time x:sum()` and its kin, `!ls`, `?np.sum`. Loaded when one is used.
--
-- A command is a row of `rows`: { usage, help = one line, about = more (optional), code = true if its argument is code
-- that may take several lines, completes = what Tab makes of other arguments (complete.lua), run = f(rest, session) }.
-- `rest` is what follows the name, without spaces around it.
-- A row of the name "?" gets the name behind `?NAME` or before `NAME?`, "??" that of `??NAME`; "!" gets a line of
-- shell. A module with more commands adds rows (commands.row). A session may have words of its own, which come first.
local suggest = require "neap.core.suggest"

local commands = { rows = {} }

-- What has no command.
local OTHERS = { history = "the arrows and Ctrl-R find what was typed", clear = "Ctrl-L clears the screen",
                 pwd = "!pwd tells the folder" }
for _, name in ipairs { "q", "quit", "exit", "wq", "x" } do OTHERS[name] = "exit, quit or Ctrl-D leaves" end

--- Adds a row.
function commands.row(name, row)
    commands.rows[name] = row
    jit.off(row.run, true)
end

--- Raises how a command is used.
function commands.usage(name, problem)
    local row = commands.rows[name]
    error((":%s: %s; usage: %s"):format(name, problem, row.usage), 0)
end

--- The command that a text calls, by its first word: a row and the rest, or nil.
local function find(text, session)
    local shell = text:match "^%s*!(.*)$"
    if shell then return commands.rows["!"], shell end
    text = text:match "^.*%S" or ""
    local mark, topic = text:match "^%s*(%?%??)%s*(.*)$"
    if not mark then topic, mark = text:match "^%s*([%w_%.:]+)(%?%??)$" end
    if mark then return commands.rows[mark], topic end
    local name, rest = text:match "^%s*:(%w+)%s*(.*)$"
    if not name then return nil end
    local own = session and session.words and session.words[name]
    if own then return own, rest, true end
    return commands.rows[name], rest, false, name
end

--- The code in a command that takes some; nil for other commands.
function commands.code_of(text)
    local row, rest = find(text)
    return row and row.code and rest or nil
end

--- Runs a command.
function commands.run(text, session)
    local row, rest, own, name = find(text, session)
    if own then return row.run(session.state, rest) end
    if row then return row.run(rest, session) end
    if not name then error("a command is a word behind the colon, as in :help", 0) end
    if OTHERS[name] then error(("there is no command :%s; %s"):format(name, OTHERS[name]), 0) end
    local known = {}
    for word in pairs(commands.rows) do known[word] = word:find "^%a" and true or nil end
    for word in pairs(session.words or {}) do known[word] = true end
    error(("there is no command :%s%s (:help lists them)"):format(name, suggest.hint(name, { known }, ":")), 0)
end

--- A row that is loaded with its module, `neap.interp.NAME`, when it is first used.
local function late(module, name, row)
    row.run = function(rest, session)
        require("neap.interp." .. module) -- which puts its own function in the place of this one
        return commands.rows[name].run(rest, session)
    end
    commands.row(name, row)
end

-- ---- The table ------------------------------------------------------------------------------------------------------

late("measure", "time", { usage = ":time CODE", code = true, help = "run code once: time, memory, kernels",
    about = [[
The time is that of the wall, from the start of the code until the arrays that it gives, assigns to variables or puts
into their tables are computed: what ran, and the wait behind it. Memory is what arrays take more than before, and the
most they took at once. Kernels are the loops and calls of libraries that ran.]] })
late("measure", "bench", { usage = ":bench CODE", code = true, help = "run code many times: best and median time",
    about = [[
Each run ends when the arrays that it gives, assigns or puts into tables are computed. Runs are repeated for about a
second. The first run, which makes kernels and traces, is shown apart.]] })
late("look", "who", { usage = ":who [PATTERN]", completes = "variable",
    help = "the variables",
    about = [[
Of an array its dtype and shape, its bytes, whether it is computed or pending, and where. PATTERN is one of Lua's, such
as ^w: names that match.]] })
late("look", "mem", { usage = ":mem", help = "what arrays take of the memory" })
late("look", "out", { usage = ":out [clear]", help = "the values that are kept: _, _3 and Out[3]; or drop them" })
late("look", "explain", { usage = ":explain EXPRESSION", code = true,
    help = "which kernels compute an array, and why" })
late("look", "trace", { usage = ":trace FILE CODE", completes = "trace",
    help = "a timeline of all operations, for ui.perfetto.dev" })
late("timeline", "timeline", { usage = ":timeline CODE", code = true,
    help = "run code once: a picture of what ran, when and where",
    about = [[
A row is a thread, time goes from left to right: what ran, and where the thread waited. In a notebook it is a picture,
in which the pointer over a box tells more; the code may be the lines below. The recording ends when all is
computed.]] })
late("sources", "run", { usage = ":run FILE [ARGUMENTS]", completes = "file",
    help = "run a script; its variables stay, local ones too" })
late("sources", "edit", { usage = ":edit [FILE]", completes = "file",
    help = "edit the last command, or a file, and run it",
    about = "The editor is $VISUAL or $EDITOR, else vi." })
late("sources", "save", { usage = ":save FILE [NAMES]", completes = "file",
    help = "what was done here, or the arrays, in a file",
    about = [[
FILE.lua gets the commands of this session that went well: a script. FILE.npz gets arrays, those of the names that
follow, or all of the variables.]] })
late("sources", "load", { usage = ":load FILE", completes = "file",
    help = "get that back",
    about = [[
The lines of FILE.lua are run as if they were typed. The arrays of FILE.npz become variables of their names.]] })
late("sources", "cd", { usage = ":cd [PATH]", completes = "folder",
    help = "work in another folder, and say which",
    about = [[
Without PATH, the home folder; with a dash, the one before. Files are then looked for there, and commands of the shell
run there.]] })
late("tour", "tour", { usage = ":tour [next|stop]", help = "ten minutes in steps: what to type, and what it does",
    about = "A step is left out by :tour next; :tour alone shows it again." })
late("look", "debug", { usage = ":debug", help = "look at the functions of the last error, and their variables" })
late("help_commands", "help", { usage = ":help [NAME]", completes = "help",
    help = "this list; more about a command, or as ?NAME" })
late("help_commands", "?", { usage = "?NAME", help = "help on a name: ?np.sum, or np.sum?" })
late("help_commands", "??", { usage = "??NAME", help = "the same, with its source" })
late("sources", "!", { usage = "!COMMAND", help = "run a command of the shell" })

return commands
