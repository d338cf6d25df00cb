--- command_line.lua: the manual page and the completions of shells, from what `neap --help` prints.
--
--     luajit command_line.lua NEAP NEAP.1.IN OUT
--
-- writes OUT/neap.1, OUT/neap.bash and OUT/_neap. The text of --help, whose rows stand in interp/options.c, is the only
-- list of options: lines of usage, a paragraph, then rows of a name and what it does, which go on behind spaces. A row
-- "-x" or "--name" is an option, and one without a dash a command; a word in capitals behind an option is its value.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"

local neap, template, out = arg[1], arg[2], arg[3]
if not out then files.fail("usage: command_line.lua NEAP NEAP.1.IN OUT") end

-- ---- Reading --------------------------------------------------------------------------------------------------------

--- { usage = lines, about = lines, rows = list of { name, value or nil, text } }
local function parse(help)
    local parsed = { usage = {}, about = {}, rows = {} }
    for line in help:gmatch "[^\n]+" do
        local usage = line:match "^usage: (.*)$" or #parsed.about == 0 and line:match "^ +(neap.*)$"
        local name, value, text = line:match "^  (%S+) ?(%u*) +(%S.*)$"
        local last = parsed.rows[#parsed.rows]
        if usage then
            table.insert(parsed.usage, usage)
        elseif not line:find "^ " then
            table.insert(parsed.about, line)
        elseif name then
            table.insert(parsed.rows, { name = name, value = value ~= "" and value or nil, text = text })
        elseif last and line:find "^ +%S" then
            last.text = last.text .. " " .. line:match "^ +(.*)$"
        end
    end
    if #parsed.usage == 0 or #parsed.rows == 0 then files.fail("command_line.lua: cannot read the text of --help") end
    return parsed
end

local help = parse(files.command(files.quote(neap) .. " --help"))
local version = files.command(files.quote(neap) .. " --version"):match "neap (%S+)"

local function is_option(row) return row.name:find "^%-" ~= nil end

-- ---- The manual page ------------------------------------------------------------------------------------------------

--- A text for the formatter: no line may begin with a dot or a quote, and a dash is one.
local function roff(text)
    return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^([.'])", "\\&%1"))
end

local function man_rows(options)
    local lines = {}
    for _, row in ipairs(help.rows) do
        if is_option(row) == options then
            table.insert(lines, ".TP")
            table.insert(lines, row.value and (".BI %s \" %s\""):format(roff(row.name), row.value)
                                          or ".B " .. roff(row.name))
            table.insert(lines, roff(row.text:gsub("^%l", string.upper)) .. ".")
        end
    end
    return table.concat(lines, "\n")
end

local synopsis = {}
for k, usage in ipairs(help.usage) do
    local command, rest = usage:match "^(%S+) ?(.*)$"
    synopsis[k] = ".B " .. command .. "\n" .. roff(rest)
end

local parts = {
    VERSION = version, SYNOPSIS = table.concat(synopsis, "\n.br\n"), DESCRIPTION = roff(table.concat(help.about, " ")),
    OPTIONS = man_rows(true), COMMANDS = man_rows(false),
}

-- ---- Completions ----------------------------------------------------------------------------------------------------

local function names(wanted)
    local list = {}
    for _, row in ipairs(help.rows) do
        if wanted(row) then table.insert(list, row.name) end
    end
    return table.concat(list, " ")
end

local commands = names(function(row) return not is_option(row) end)
local bash = ([=[
# Completion of neap's command line for bash. Generated from neap --help.
_neap() {
    local word=${COMP_WORDS[COMP_CWORD]} k
    COMPREPLY=()
    for ((k = 1; k < COMP_CWORD; k++)); do
        case ${COMP_WORDS[k]} in
            @FILES@) if [ $((k + 1)) -lt $COMP_CWORD ]; then k=$((k + 1)); else break; fi ;;
            @VALUES@)
                if [ $((k + 1)) -eq $COMP_CWORD ]; then return; fi
                k=$((k + 1))
                ;;
            -?*) ;;
            *) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;; # an argument of the script
        esac
    done
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '@OPTIONS@' -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word"; [ $COMP_CWORD -gt 1 ] || compgen -W '@COMMANDS@' -- "$word")
    fi
}
complete -o filenames -F _neap neap
]=]):gsub("@(%u+)@", {
    OPTIONS = names(function(row) return is_option(row) and #row.name > 1 end),
    COMMANDS = commands,
    FILES = names(function(row) return row.value == "FILE" end):gsub(" ", "|"),
    VALUES = names(function(row) return row.value and row.value ~= "FILE" end):gsub(" ", "|"),
})

local zsh = { "#compdef neap", "# Completion of neap's command line for zsh. Generated from neap --help.",
              "_arguments \\" }
for _, row in ipairs(help.rows) do
    if is_option(row) and #row.name > 1 and row.name ~= "--" then
        local text = row.text:gsub("[%[%]:\\]", "\\%0"):gsub("'", "'\\''")
        local value = row.value and (":%s:%s"):format(row.value, row.value == "FILE" and "_files" or "") or ""
        local again = #row.name == 2 and row.value and "*" or "" -- short ones with a value may stand several times
        table.insert(zsh, ("    '%s%s[%s]%s' \\"):format(again, row.name, text, value))
    end
end
table.insert(zsh, ("    '1:script:{ _files; compadd %s }' \\"):format(commands))
table.insert(zsh, "    '*:argument:_files'")

os.execute("mkdir -p " .. files.quote(out))
files.write(out .. "/neap.1", (files.read(template):gsub("@(%u+)@", parts)))
files.write(out .. "/neap.bash", bash)
files.write(out .. "/_neap", table.concat(zsh, "\n") .. "\n")
