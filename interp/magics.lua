--- magics.lua: what IPython's commands are called here, such as %timeit and %%bash, for lines that do not parse
-- (mistakes.lua); and hints for the prompt's own commands, such as !ls and ?name, where they stand among other code.
local magics = {}

-- By name what the prompt has, with the word for what follows.
local COMMANDS = {
    timeit = ":bench CODE", time = ":time CODE", prun = ":trace FILE CODE", memit = ":mem",
    who = ":who", whos = ":who", who_ls = ":who", run = ":run FILE", load = ":load FILE", save = ":save FILE",
    edit = ":edit", debug = ":debug", tb = ":debug", pinfo = "?NAME", pdoc = "?NAME", pinfo2 = "??NAME",
    psource = "??NAME", magic = ":help", lsmagic = ":help", quickref = ":help",
    cd = ":cd PATH", ls = "!ls", pwd = "!pwd", cat = "!cat FILE",
    bash = "!COMMAND", sh = "!COMMAND", system = "!COMMAND", sx = "!COMMAND",
}

local NO_PLOT = "np.plot needs no %%%s: np.plot.line(x, y) shows its figure where it stands"
local AS_MIME = "np.display{[\"text/%s\"] = …} shows that"

-- By name what is done in another way.
local OTHERS = {
    matplotlib = NO_PLOT, pylab = NO_PLOT,
    html = AS_MIME, latex = AS_MIME, markdown = AS_MIME,
    svg = "np.display{[\"image/svg+xml\"] = …} shows that",
    env = "os.getenv \"NAME\" reads a variable of the environment",
    writefile = "io.open(path, \"w\") opens a file to be written",
    precision = "np.set_printoptions{precision=…} says how many digits are shown",
    pip = "Lua's packages are LuaRocks': !luarocks install NAME",
    history = "the arrows and Ctrl-R find what was typed", hist = "the arrows and Ctrl-R find what was typed",
}

--- A command of the prompt with what followed the magic, where that can stand for its last word.
local function with_rest(command, rest)
    if rest == "" or rest:find "^%-" or command:find "^:trace" then return command end
    return (command:gsub("%u+$", function() return rest end))
end

--- The hint for IPython's %name rest, or %%name rest.
function magics.hint(name, rest)
    local command, other = COMMANDS[name], OTHERS[name]
    if command then
        return ("the prompt and notebooks have %s for %%%s"):format(with_rest(command, rest), name)
    elseif other then
        return other:format(name)
    end
    return ("there is no %%%s; :help lists the commands of the prompt"):format(name)
end

--- `time x:sum()`: without the sign, as IPython takes it too.
function magics.without_sign(name, rest)
    return COMMANDS[name] and magics.hint(name, rest)
end

--- The hint for :name, a command of the prompt; nil: there is none of that name.
function magics.colon(name)
    if not require("neap.interp.commands").rows[name] then return nil end
    return (":%s is a command of the prompt: it stands alone"):format(name)
end

--- The hint for a line !command.
function magics.shell(command)
    local plain = not command:find "[\"\\%c]"
    return ("!%s stands alone, at the prompt; among other code it is os.execute %s"):format(
        plain and command or "COMMAND", plain and '"' .. command .. '"' or '"COMMAND"')
end

--- The hint for a line ?name, or name?.
function magics.question(name)
    return ('?%s stands alone, at the prompt; among other code it is np.help "%s"'):format(name, name)
end

return magics
