--- prompts.lua: sessions at the prompt under a pseudo-terminal, as lists of commands with what is shown for each.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local prompts = {}

local state = os.tmpname() .. "-state" -- the folder for the history

--- The indentation that the prompt gives to a line in a block: it has line editing, or not.
prompts.indent = select(2, process.run_neap { "doctor" }):find "line editing +GNU readline" and "    " or ""

--- Starts a prompt with these options, and the variables of `environment` set; false: not set. There are no colours and
-- no start-up file, unless that says so. `folder`: the one it works in, with bin/neap, if not that of the test.
function prompts.start(arguments, environment, folder)
    local all = { XDG_STATE_HOME = state, NO_COLOR = "1", NEAP_STARTUP = "", INPUTRC = "/dev/null" }
    local words = { "/usr/bin/env" }
    for name, value in pairs(environment or {}) do all[name] = value or nil end
    for name, value in pairs(environment or {}) do
        if not value then
            words[#words + 1], words[#words + 2] = "-u", name
        end
    end
    if folder then words[#words + 1], words[#words + 2] = "-C", folder end
    words[#words + 1] = folder and "bin/neap" or process.neap
    for _, word in ipairs(arguments) do words[#words + 1] = word end
    return process.terminal_of(words, all)
end

--- What a terminal got, without the marks of bracketed paste, with plain ends of lines.
function prompts.plain(text)
    return (text:gsub("\27%[%?2004[lh]\r?", ""):gsub("\r\n", "\n"))
end

--- What is told, without the source lines of errors and their marks, which errors_test.lua is about.
function prompts.without_source(text)
    return (text:gsub("\n? *%d+ | [^\n]*\n +| *%^+", ""):gsub("\n? *%d+ | [^\n]*", ""))
end

--- Waits until a command that has been typed is taken.
function prompts.taken(terminal)
    terminal:expect(terminal.seen:find("\27[?2004h", 1, true) and "\27[?2004l\r" or "\r\n")
end

--- Types a command (several lines: each behind the prompt for more); returns what is shown up to the next prompt, which
-- ends in `mark` ("> ").
function prompts.command(terminal, text, mark)
    local first = true
    for line in (text .. "\n"):gmatch "(.-)\n" do
        if not first then terminal:expect ">> " end
        terminal:send(line .. "\n")
        first = false
    end
    prompts.taken(terminal)
    return prompts.plain(terminal:expect(mark or "> "))
end

--- Types commands, a list of { text, what is shown, without the last newline; nil: anything }, into a new prompt, which
-- must end well then. `before`: what is shown before the first prompt, the greeting apart.
function prompts.says(arguments, commands, before, environment)
    local terminal = prompts.start(arguments, environment)
    local greeting = prompts.plain(terminal:expect "> ")
    if before then
        greeting = prompts.without_source(greeting):gsub("neap [^\n]*:help tells more\n", "")
        check.equal(greeting, before == "" and "" or before .. "\n")
    end
    for _, command in ipairs(commands) do
        local text, shown = unpack(command)
        local got = prompts.without_source(prompts.command(terminal, text))
        if shown then check.equal(got, shown == "" and "" or shown .. "\n", text) end
    end
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    os.execute("rm -rf " .. state)
end

return prompts
