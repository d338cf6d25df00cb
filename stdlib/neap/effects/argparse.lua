--- argparse.lua: np.argparse: the options of a script's command line, as Python's argparse and Torch7's CmdLine.
--
-- An option is one line: its name, its default, of which the type follows, and what it is. The text of --help is made
-- of these lines. Where several processes run a script, the first alone tells what is wrong.
local core = require "neap.core"
local suggest = require "neap.core.suggest"

local np, C = core.np, core.C
local raise, describe = core.raise, core.describe

local NAME = "argparse"
local FIELDS = { min = true, max = true, choices = true, type = true }
local TYPES = { integer = true, number = true, string = true, boolean = true }
local WIDTH = 100 -- of a line of help

-- ---- What may be given ----------------------------------------------------------------------------------------------

local function type_of(default)
    if default == nil then return "string" end
    if type(default) == "number" then return core.is_integer(default) and "integer" or "number" end
    return type(default)
end

--- Item k of the description as { name, default, help, type, min, max, choices }.
local function read_item(k, item)
    local function wrong(format, ...) raise(NAME, "item %d of argument 2 %s", k, format:format(...)) end
    if type(item) ~= "table" or core.is_array(item) then
        wrong('must be a table such as {"epochs", 5, "passes over the data"}, got %s', describe(item))
    end
    local name, default, help = item[1], core.plain(item[2]), item[3]
    if type(name) ~= "string" or not (name == "..." or name:find "^%a[%w_-]*$") then
        wrong("must begin with a name of letters, digits, - and _, or \"...\", got %s", describe(name))
    end
    local option = { name = name:gsub("_", "-"), key = name:gsub("-", "_"), default = default, help = help }
    if type(help) ~= "string" then wrong("('%s') must have what it is as a text in third place, got %s", name,
                                         describe(help)) end
    for field, value in pairs(item) do
        if not FIELDS[field] and field ~= 1 and field ~= 2 and field ~= 3 then
            wrong("('%s') has nothing for '%s' (it takes a name, a default, a text, min, max, choices, type)", name,
                  tostring(field))
        end
        if FIELDS[field] then option[field] = core.plain(value) end
    end
    option.type = option.type or type_of(default)
    if not TYPES[option.type] then
        wrong("('%s') has a type or default that a command line cannot give: %s", name,
              item.type ~= nil and describe(item.type) or describe(default))
    end
    local numeric = option.type == "integer" or option.type == "number"
    for _, field in ipairs { "min", "max" } do
        local limit = option[field]
        if limit ~= nil and not (numeric and type(limit) == "number") then
            wrong("('%s') has %s = %s; only numbers have it", name, field, describe(limit))
        end
    end
    if option.choices ~= nil and type(option.choices) ~= "table" then
        wrong("('%s') must have its choices in a table, got %s", name, describe(option.choices))
    end
    if option.choices ~= nil and option.type == "boolean" then
        wrong("('%s') is a boolean, which has no choices", name)
    end
    if default ~= nil and type_of(default) ~= option.type and not (numeric and type(default) == "number") then
        wrong("('%s') is of type %s, and its default is %s", name, option.type, describe(default))
    end
    return option
end

--- { about = text, options by name and in order, rest = the item "..." }.
local function read_spec(spec)
    if type(spec) ~= "table" or core.is_array(spec) then
        core.bad_argument(NAME, 2, "options", "a table of options", spec)
    end
    local known = { about = "" }
    for k, item in ipairs(core.list(NAME, "the options", spec)) do
        if k == 1 and type(item) == "string" then
            known.about = item
        else
            local option = read_item(k, item)
            if option.name == "..." then
                if known.rest then raise(NAME, "there are two items \"...\"") end
                known.rest = option
            elseif option.name == "help" or known["--" .. option.name] then
                raise(NAME, "there are two options '--%s'%s", option.name,
                      option.name == "help" and " (each script has that one)" or "")
            else
                known[#known + 1], known["--" .. option.name] = option, option
            end
        end
    end
    return known
end

-- ---- Help -----------------------------------------------------------------------------------------------------------

--- Text in lines of a width, behind an indent.
local function wrap(text, indent)
    local lines, line = {}, ""
    for word in text:gmatch "%S+" do
        if line ~= "" and #line + 1 + #word > WIDTH - indent then
            lines[#lines + 1] = line
            line = word
        else
            line = line == "" and word or line .. " " .. word
        end
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n" .. (" "):rep(indent))
end

local WORDS = { integer = "N", number = "X", string = "TEXT" }

local function left_of(option)
    if option.name == "..." then return "..." end
    if option.type == "boolean" then return (option.default and "--no-" or "--") .. option.name end
    return ("--%s %s"):format(option.name, WORDS[option.type])
end

local function number_text(value)
    return type(value) == "number" and ("%.14g"):format(value) or tostring(value)
end

local function right_of(option)
    local text = option.help
    if option.choices then
        local names = {}
        for k, choice in ipairs(option.choices) do names[k] = number_text(choice) end
        text = ("%s: %s"):format(text, table.concat(names, ", "))
    end
    if option.default == nil or option.default == "" or option.type == "boolean" then return text end
    return ("%s (%s)"):format(text, number_text(option.default))
end

local function usage(known, script)
    return ("usage: %s [options]%s"):format(script, known.rest and " ..." or "")
end

local function help_text(known, script)
    local lines, width = { usage(known, script) }, #"--help"
    if known.about ~= "" then lines[#lines + 1] = "\n" .. wrap(known.about, 0) .. "\n" end
    local rows = core.copy_list(known)
    if known.rest then table.insert(rows, 1, known.rest) end
    for _, option in ipairs(rows) do width = math.max(width, #left_of(option)) end
    local function row(left, right)
        local head = ("  %s%s  "):format(left, (" "):rep(width - #left))
        lines[#lines + 1] = (head .. wrap(right, #head)):gsub("%s+$", "")
    end
    for _, option in ipairs(rows) do row(left_of(option), right_of(option)) end
    row("--help", "this text")
    return table.concat(lines, "\n") .. "\n"
end

-- ---- What was given -------------------------------------------------------------------------------------------------

local function range_text(option)
    local what = option.type == "integer" and "an integer" or "a number"
    if option.min and option.max then
        return ("%s from %s to %s"):format(what, number_text(option.min), number_text(option.max))
    end
    if option.min then return ("%s from %s up"):format(what, number_text(option.min)) end
    return option.max and ("%s up to %s"):format(what, number_text(option.max)) or what
end

--- The value of a text for an option; or nil and what is expected.
local function value_of(option, text)
    local value = text
    if option.type ~= "string" then
        value = tonumber(text)
        local fits = value and value == value and (option.type == "number" or core.is_integer(value))
            and value >= (option.min or -math.huge) and value <= (option.max or math.huge)
        if not fits then return nil, range_text(option) end
    end
    if not option.choices then return value end
    local names = {}
    for k, choice in ipairs(option.choices) do
        if choice == value then return value end
        names[k] = number_text(choice)
    end
    return nil, "one of " .. table.concat(names, ", ")
end

--- The option that an argument --name names, and what a boolean becomes. fail: what ends the program.
local function find_option(known, name, fail)
    name = name:gsub("_", "-")
    local option = known["--" .. name]
    if option then return option, true end
    option = known["--" .. name:gsub("^no%-", "")]
    if option and option.type == "boolean" then return option, false end
    local names = { help = true }
    for _, other in ipairs(known) do names[other.name] = true end
    local meant = suggest.name(name, { names })
    fail("unknown option '--%s'%s", name, meant and ("; did you mean '--%s'?"):format(meant) or "")
end

--- np.argparse(arg, {description, {name, default, help, min=…, max=…, choices=…, type=…}, …}) -> options, fail: the
-- options that a script was called with, by their names: `arg` is Lua's table of a script's arguments. The type of an
-- option is that of its default: an integer, a number, a text, or a boolean, which is given without a value, as --name
-- or --no-name; without a default (nil) it is a text. `min` and `max` limit a number, `choices` lists what may be
-- given, and type="number" says that a default such as 1 need not be whole. Options are given as --name value or
-- --name=value; names have - or _ alike on the command line, and _ in the table. What is no option is refused, unless
-- an item {"...", nil, help} takes it: the table has it then as [1], [2] and so on. All behind -- is no option.
--
-- --help, or -h, prints what the options are, and ends the script. Wrong arguments end it with one line and the status
-- 2. So does `fail`, a function of a format and values, with the line that these make and the status 1. Of several
-- processes that run the script together the first one tells.
--- > o = np.argparse({"--epochs", "7"}, {{"epochs", 5, "passes over the data"}, {"lr", 0.1, "learning rate"}})
--- > o.epochs, o.lr
-- 7
-- 0.1
function np.argparse(arguments, spec)
    if type(arguments) ~= "table" or core.is_array(arguments) then
        core.bad_argument(NAME, 1, "arg", "a table of texts, such as the variable arg of a script", arguments)
    end
    for key in pairs(arguments) do
        if type(key) ~= "number" then
            raise(NAME, "argument 1 (arg) is a list of texts, got also '%s'", tostring(key))
        end
    end
    local known = read_spec(spec)
    local script = type(arguments[0]) == "string" and arguments[0] or "script"
    local function leave(status, text)
        if C.neap_process_index() == 0 then
            io.stderr:write(script:match "[^/]*$":gsub("%.lua$", ""), ": ", text, "\n")
        end
        os.exit(status)
    end
    local function fail(format, ...)
        leave(2, ("%s\n%s; --help lists them"):format(format:format(...), usage(known, script)))
    end
    local found = {}
    for _, option in ipairs(known) do found[option.key] = option.default end
    local k, rest_only = 1, false
    while k <= #arguments do
        local argument = tostring(arguments[k])
        local name, equals, text = argument:match "^%-%-([^=]+)(=?)(.*)$"
        if argument == "-h" and not rest_only then name = "help" end
        if rest_only or not name and argument ~= "--" then
            if not known.rest then fail("cannot understand '%s'", argument) end
            found[#found + 1] = argument
        elseif argument == "--" then
            rest_only = true
        elseif name == "help" then
            io.write(help_text(known, script))
            os.exit(0)
        else
            local option, on = find_option(known, name, fail)
            if option.type == "boolean" then
                if equals ~= "" then fail("option '--%s' takes no value, got '%s'", name, text) end
                found[option.key] = on
            else
                if equals == "" then
                    k = k + 1
                    if arguments[k] == nil then fail("option '--%s' needs a value", name) end
                    text = tostring(arguments[k])
                end
                local value, expected = value_of(option, text)
                if value == nil then fail("option '--%s' must be %s, got '%s'", name, expected, text) end
                found[option.key] = value
            end
        end
        k = k + 1
    end
    return found, function(format, ...) leave(1, format:format(...)) end
end
