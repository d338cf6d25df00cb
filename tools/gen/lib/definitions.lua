--- definitions.lua: what editors need to know of the library, in the annotations of LuaLS (lua-language-server): from
-- the entries that tools/gen/help.lua has joined. The file is never run.
local annotations = require "annotations"
local definitions = {}

-- What a parameter of this name is, where it is no array.
local TYPES = {
    f = "function", g = "function", fwd = "function", bwd = "function", body = "function", cond = "function",
    n = "integer", k = "integer", count = "integer", size = "integer", seed = "integer", steps = "integer",
    axis = "integer|integer[]", dtype = "neap.dtype", path = "string", name = "string", format = "string",
    shape = "integer|integer[]", dims = "integer[]", axis_name = "string|string[]", spec = "any", mesh = "any",
    t = "any", tree = "any", params = "any", grads = "any", state = "any", init = "any", data = "any", xs = "any",
    options = "table", rate = "number", lr = "number|function", ms = "number", bytes = "integer", labels = "neap.array",
    key = "neap.array",
}
local RESULTS = { number = "number", boolean = "boolean", string = "string", table = "table", list = "table",
                  ["function"] = "function", tree = "any", nothing = false, integer = "integer" }

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true
               until while]]):gmatch "%a+" do
    KEYWORDS[word] = true
end

local function comment(lines, text)
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = "---" .. line end
end

--- The parameters of an argument list: names, and whether the last is an options table.
local function parameters_of(arguments)
    local list, with_options = {}, #annotations.options_of(arguments) > 0
    local inside = arguments:match "^%((.*)%)$" or ""
    for part in inside:gsub("%b{}", function(braces)
        return braces:find "^{[%a_][%w_]*=" and "" or "{}"
    end):gsub('"[^"]*"', '"'):gmatch "[^,]+" do
        local name = part:match "^%s*([%a_][%w_]*)%s*$"
        if part:find "…" then
            list[#list + 1] = "..."
            break
        elseif name and not KEYWORDS[name] then
            list[#list + 1] = name
        elseif part:find "%S" then
            list[#list + 1] = "arg" .. #list + 1
        end
    end
    return list, with_options
end

local function function_lines(lines, entry, name, arguments)
    local parameters, with_options = parameters_of(arguments)
    if arguments:sub(1, 1) == "{" then parameters = with_options and {} or { "list" } end
    comment(lines, entry.text)
    with_options = with_options and parameters[#parameters] ~= "..." -- which has to be the last one
    local class = "neap.options." .. name:gsub("[:%.]", "_")
    if with_options then
        local own = { "---@class (exact) " .. class }
        for _, option in ipairs(entry.options) do
            if option.option then
                own[#own + 1] = ("---@field %s? any %s"):format(option.name, (option.text or ""):gsub("\n", " "))
            end
        end
        table.insert(lines, 1, table.concat(own, "\n"))
        parameters[#parameters + 1] = "options"
    end
    for _, parameter in ipairs(parameters) do
        local kind = parameter == "options" and with_options and class or parameter == "..." and "any"
            or parameter:find "^arg%d" and "any" or TYPES[parameter] or "neap.array|number"
        lines[#lines + 1] = ("---@param %s%s %s"):format(parameter, parameter == "options" and "?" or "", kind)
    end
    for result in ((entry.result or "neap.array") .. ","):gmatch "%s*([^,]+)," do
        local kind = RESULTS[result]
        if kind == nil then kind = entry.result and "any" or "neap.array" end
        if kind then lines[#lines + 1] = "---@return " .. kind end
    end
    lines[#lines + 1] = ("function %s(%s) end\n"):format(name, table.concat(parameters, ", "))
end

-- Functions of arrays whose first parameter has one of these names are methods too.
local OF_ARRAYS = { x = true, y = true, a = true, c = true, labels = true }

--- Whether np's function is a method of arrays as well: core.define makes it both, unless it is a field, as x.real.
local function is_method(entry, name, arguments, fields)
    local first = arguments:match "^%(([%a_][%w_]*)"
    return OF_ARRAYS[first] and name:find "^np%.[%w_]+$" and (entry.op or entry.file:find "^neap/arrays/") ~= nil
        and not fields["x." .. name:sub(4)]
end

--- The text of the file. `dtypes`: their facts by number, from 0.
function definitions.text(entries, dtypes)
    local names = {}
    for code = 0, #dtypes do names[code + 1] = ("%q"):format(dtypes[code].name) end
    local text = { (([[
---@meta
--- Definitions of the library for editors. Generated; do not edit.

---@alias neap.dtype %s

---@class neap.array
---@operator add(any): neap.array
---@operator sub(any): neap.array
---@operator mul(any): neap.array
---@operator div(any): neap.array
---@operator mod(any): neap.array
---@operator pow(any): neap.array
---@operator unm: neap.array
local array = {}

---@class neap
np = {}
]]):gsub("%%s", table.concat(names, "|"))) }
    for _, entry in ipairs(entries) do
        if entry.part then text[#text + 1] = entry.names[1] .. " = {}\n" end
    end
    local done, is_function, fields = {}, {}, {}
    for _, entry in ipairs(entries) do
        for k, name in ipairs(entry.names) do
            is_function[name] = is_function[name] or entry.signatures[k]:find "[%({]" ~= nil
            fields[name] = name:find "^x%." and not entry.signatures[k]:find "[%({]"
        end
    end
    for _, entry in ipairs(entries) do
        for k, name in ipairs(entry.names) do
            local signature = entry.signatures[k]
            local path, arguments = signature:match "^([%w_%.:]+)(.*)$"
            local lines = {}
            if not path or done[name] or not (name:find "^np%." or name:find "^x%.") then
                path = nil
            elseif entry.part and arguments == "" or name:find "^x%.[^%.]+%." or name == "x.index" then
                path = nil
            elseif entry.signatures[1]:match "^[%w_%.:]+(.*)$" == "" or arguments == "" and name:find "^x%." then
                comment(lines, entry.text)
                local same = "np." .. name:match "[%w_]+$" -- np.linalg.cross is np.cross
                local kind = RESULTS[entry.result or ""] or "any"
                local of_np = not fields[name] and name ~= same and is_function[same]
                if not of_np then lines[#lines + 1] = "---@type " .. kind end
                lines[#lines + 1] = (name:gsub("^x%.", "array.")) .. " = " .. (of_np and same or "nil") .. "\n"
                text[#text + 1] = table.concat(lines, "\n")
            elseif name:find "^x%." then
                function_lines(lines, entry, "array:" .. name:sub(3), arguments)
                text[#text + 1] = table.concat(lines, "\n")
            else
                if arguments == "" then arguments = entry.signatures[1]:match "^[%w_%.:]+(.*)$" end
                function_lines(lines, entry, path, arguments)
                text[#text + 1] = table.concat(lines, "\n")
                if is_method(entry, name, arguments, fields) then
                    lines = {}
                    function_lines(lines, entry, "array:" .. name:sub(4), (arguments:gsub("^%([%w_]+,? ?", "(")))
                    text[#text + 1] = table.concat(lines, "\n")
                end
            end
            done[name] = done[name] or path ~= nil
        end
    end
    return table.concat(text, "\n")
end

return definitions
