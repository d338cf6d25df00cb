--- sources.lua: commands that read and write files, or leave to the shell: `:run`, `:edit`, `:save`, `:load`, `:cd`,
-- `!`.
local core = require "neap.core"
local commands = require "neap.interp.commands"
local repl = require "neap.interp.repl"
local show = require "neap.interp.show"
local system = require "neap.interp.system"

local function plural(count, word)
    return ("%d %s%s"):format(count, word, count == 1 and "" or "s")
end

local function write_file(name, path, text)
    local file, problem = io.open(path, "wb")
    if not file then error((":%s: cannot write %s"):format(name, problem), 0) end
    file:write(text)
    local ok
    ok, problem = file:close()
    if not ok then error((":%s: cannot write %s: %s"):format(name, path, problem), 0) end
end

--- Tells how a child has ended, if not well.
local function tell_status(status)
    local code, signal = bit.rshift(status, 8), bit.band(status, 127)
    if status == 0 then return end
    print(signal ~= 0 and ("(ended by signal %d)"):format(signal) or ("(status %d)"):format(code))
end

commands.rows["!"].run = function(rest)
    if not rest:find "%S" then error("!: what command of the shell? usage: !COMMAND", 0) end
    local folder = rest:match "^%s*cd%s*$" and "" or rest:match "^%s*cd%s+([^;&|]-)%s*$"
    if folder then
        error(("!cd: a child cannot change where neap works; :cd %s does"):format(folder == "" and "PATH" or folder), 0)
    end
    tell_status(os.execute(rest))
end

--- Words of a line; quotes keep spaces together.
local function words_of(text)
    local words, at = {}, 1
    while true do
        at = text:find("%S", at)
        if not at then return words end
        local quote = text:match("^[\"']", at)
        local _, to, word = text:find(quote and quote .. "(.-)" .. quote or "(%S+)", at)
        if not to then _, to, word = text:find("(%S+)", at) end
        words[#words + 1], at = word, to + 1
    end
end

local function one_path(name, rest)
    local words = words_of(rest)
    if not words[1] then commands.usage(name, "which file?") end
    return words[1], words
end

commands.rows.run.run = function(rest)
    local path, words = one_path("run", rest)
    local text = repl.read_file(path, ":run")
    rawset(_G, "arg", { [0] = path, unpack(words, 2) })
    repl.run_script(text, "@" .. path, unpack(words, 2))
end

commands.rows.edit.run = function(rest, session)
    if core.display then error(":edit needs a terminal; a notebook's cells are edited where they stand", 0) end
    local words = words_of(rest)
    local editor = "vi"
    for _, name in ipairs { "EDITOR", "VISUAL" } do
        local named = os.getenv(name) or ""
        if named:find "%S" then editor = named end
    end
    if #words > 1 then commands.usage("edit", "one file at a time") end
    local path = words[1]
    local before = not path and (repl.last or "")
    if not path then
        path = os.tmpname()
        os.remove(path)
        path = path .. ".lua"
        write_file("edit", path, before .. "\n")
    end
    local status = os.execute(("%s '%s'"):format(editor, (path:gsub("'", "'\\''"))))
    local ok, text = pcall(repl.read_file, path, ":edit")
    if before then os.remove(path) end
    if status ~= 0 then
        error((":edit: '%s' ended with status %d; $VISUAL or $EDITOR says which editor"):format(
            editor, bit.rshift(status, 8)), 0)
    end
    if not ok then error(text, 0) end
    if not before then return repl.run_script(text, "@" .. path) end
    text = text:match "^.*%S" or ""
    if text == "" or text == before then return print "(nothing is changed, so nothing is run)" end
    print(show.faint(text))
    repl.run(text, session)
end

local before -- the folder that `:cd -` goes back to

--- The folder that an argument names; quotes are left out, and `~` is the home folder.
local function folder_of(rest)
    local path = rest:match "^([\"']).+%1$" and rest:sub(2, -2) or rest
    if path == "-" then return before or error(":cd: there is no folder to go back to yet", 0) end
    if path ~= "" and not path:find "^~%f[/%z]" then return path end
    local home = os.getenv "HOME" or error(":cd: there is no home folder: HOME is not set", 0)
    return home .. path:sub(2)
end

commands.rows.cd.run = function(rest)
    local path, left = folder_of(rest), system.folder()
    local problem = system.enter(path)
    if problem then error((":cd: %s: %s"):format(path, problem), 0) end
    before = left or before
    print(system.folder() or path)
end

-- ---- Sessions in files ----------------------------------------------------------------------------------------------

local function save_arrays(path, names, session)
    local arrays, count = {}, 0
    local function take(name, value)
        if core.is_array(value) and type(name) == "string" then arrays[name], count = value, count + 1 end
    end
    if names[1] then
        for _, name in ipairs(names) do
            local is_local, value = session.scope:get(name)
            if not is_local then value = rawget(_G, name) end
            if not core.is_array(value) then
                error((":save: %s is %s, not an array"):format(name, core.describe(value)), 0)
            end
            take(name, value)
        end
    else
        for name, value in next, _G do take(name, value) end
        for _, name in ipairs(session.scope:names()) do take(name, (select(2, session.scope:get(name)))) end
    end
    if count == 0 then error(":save: no variable is an array", 0) end
    np.io.savez(path, arrays)
    print(("%s in %s"):format(plural(count, "array"), path))
end

commands.rows.save.run = function(rest, session)
    local path, words = one_path("save", rest)
    if path:find "%.npz$" then return save_arrays(path, { unpack(words, 2) }, session) end
    if not path:find "%.lua$" then commands.usage("save", "the file's name ends in .lua or .npz") end
    if #words > 1 then commands.usage("save", "names follow an .npz file only") end
    if not repl.texts[1] then error(":save: no command has run yet", 0) end
    write_file("save", path, table.concat(repl.texts, "\n") .. "\n")
    print(("%s in %s"):format(plural(#repl.texts, "command"), path))
end

--- Runs the lines of a file as if they were typed.
local function load_commands(path, session)
    local text, command = repl.read_file(path, ":load"), nil
    for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\r?\n" do
        command = command and command .. "\n" .. line or line
        if not repl.incomplete(command) then
            repl.run(command, session)
            command = nil
        end
    end
    if command then repl.run(command, session) end
end

commands.rows.load.run = function(rest, session)
    local path, words = one_path("load", rest)
    if #words > 1 then commands.usage("load", "one file at a time") end
    if not path:find "%.npz$" then return load_commands(path, session) end
    local arrays, names = np.io.load(path), {}
    for name, x in pairs(arrays) do
        if session.scope:get(name) then session.scope:set(name, x) else rawset(_G, name, x) end
        names[#names + 1] = name
    end
    table.sort(names)
    print(("%s: %s"):format(plural(#names, "array"), table.concat(names, ", ")))
end

for _, name in ipairs { "!", "run", "edit", "save", "load", "cd" } do jit.off(commands.rows[name].run, true) end
