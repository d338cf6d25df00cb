--- annotations.lua: reads what Lua sources say of public functions, fields and parts: help, in one strict form.
--
-- An annotation is a comment whose first line begins with what it tells of, as a user writes it:
--
--     --- np.sum(x, {axis=…, keepdims=false}), x:sum(): the sum of the elements, or of those along some axes.
--     -- The text goes on here; it says shapes, dtypes, units, errors and the source of a formula.
--     --- axis: what a parameter or an option means (lines may follow)
--     --- > np.sum(np.array{{1, 2}, {3, 4}}, {axis=0})
--     -- [4. 6.]
--
--   * Signatures stand between ", "; behind the last one may stand ` -> what comes out`, without which it is an array.
--     Options are in braces, with their default or `=…`. An op row of the same name has a text too: that is taken where
--     there is none here, and stands in front of one that begins with "… ".
--   * `--- NAME: …` is about one of the parameters or options of the signatures. Each option has such a line, or there
--     is one for all functions of the file, `--- {NAME}: …`, in a comment of its own; arrays/array.lua has those of all
--     files.
--   * `--- > CODE` is a line of an example, `--- >> CODE` goes on with it; the lines below it are what it prints: the
--     values of an expression as print shows them, a line each, or what a statement prints itself.
--
-- Any other comment is none of the reader's business. One that begins like an annotation and does not go on like one
-- ends the generator.
local files = require "files"
local annotations = {}

local MAX_HEADING = 5 -- lines over which signatures may go

--- A signature at the start of text: the name, what follows it, the result after "->", and the rest.
local function signature_at(text)
    local name = text:match "^[%a_][%w_]*[%.:][%a_][%w_%.:]*" or text:match '^x%f["]' or text:match "^x%f[%[]"
        or text:match "^sparse%f[%[]" or text:match "^help%f[%(]" or text:match "^print%f[%(]"
    if not name then return nil end
    name = name:gsub("[%.:]+$", "")
    local path = name
    local rest = text:sub(#name + 1)
    local arguments = rest:match "^%b()" or rest:match "^%b{}" or rest:match '^"[^"]*"' or rest:match "^%b[]" or ""
    local more = rest:sub(#arguments + 1):match "^:[%a_|]+%b()" or "" -- x:at{…}:set(v)
    if arguments:find '^["[]' then name = name .. ":index" end
    local method = more:match "^:([%a_]+)"
    if method then name = name .. ":" .. method end
    arguments = arguments .. more
    rest = rest:sub(#arguments + 1)
    local result = rest:match "^ %-> [^:]+"
    if result then rest = rest:sub(#result + 1) end
    return { name = name, text = path .. arguments, arguments = arguments, result = result and result:sub(5) }, rest
end

--- The signatures that a line begins with, and the text behind their colon; nil where it does not begin with one, a
-- text of what is wrong where it does not go on so.
local function heading(line)
    local list, rest = {}, line
    while true do
        local found, behind = signature_at(rest)
        if not found then return nil, #list > 0 and line:find "^np%." and "a signature after ', '" or nil end
        list[#list + 1] = found
        if behind == "" or behind:find "^: " or behind == ":" then
            return list, behind:sub(3)
        elseif behind:sub(1, 2) == ", " then
            rest = behind:sub(3)
        else
            return nil, line:find "^np%." and "': ' or ', ' behind the signature " .. found.name or nil
        end
    end
end

--- The parts of a list between commas that are in no brackets.
local function parts_of(list)
    local parts, depth, from = {}, 0, 1
    for at, mark in list:gmatch "()([,{}()])" do
        if mark == "," and depth == 0 then
            parts[#parts + 1] = list:sub(from, at - 1)
            from = at + 1
        elseif mark ~= "," then
            depth = depth + (mark:find "[{(]" and 1 or -1)
        end
    end
    parts[#parts + 1] = list:sub(from)
    return parts
end

annotations.parts_of = parts_of

--- The options of an argument list, ({2, 3}, {dtype="f32"}) or {lr=…}: a list of { name, default or nil }.
local function options_of(arguments)
    local list = {}
    arguments = arguments:match "^%b{}:[%a_]+(%b())$" or arguments -- x:at{…}:set(v, {mode="drop"})
    local groups = arguments:sub(1, 1) == "{" and { arguments } or parts_of(arguments:sub(2, -2))
    for _, group in ipairs(groups) do
        local inside = group:match "^%s*{(.*)}%s*$"
        for _, part in ipairs(inside and parts_of(inside) or {}) do
            local name, default = part:match "^%s*([%a_][%w_]*)=(.*)$"
            if name then list[#list + 1] = { name = name, default = default ~= "…" and default or nil } end
        end
    end
    return list
end
annotations.options_of = options_of

--- Text and one more line. Empty lines part paragraphs; lines that are set in keep their place and their line.
local function append(text, more)
    if text == "" then return more end
    if more == "" then return text:gsub("\n*$", "\n\n") end
    if text:find "\n$" then return text .. more end
    local apart = more:find "^%s%s" or text:find "\n[^\n]*$" and more:find "^%S" and text:find "\n  [^\n]*$"
    return text .. (apart and "\n" or " ") .. more
end

--- Reads the lines of one comment, the marks taken off: each { mark = "---" or "--", text }. nil: no annotation.
local function read_block(block, place)
    local first, lines = block[1].text, 1
    if block.line == 1 then first = first:gsub("^[%w_/]+%.lua: ", "") end
    local list, text = heading(first)
    while not list and lines < MAX_HEADING and block[lines + 1] and block[lines + 1].mark == "--" do
        lines = lines + 1
        first = first .. " " .. block[lines].text
        local found, behind = heading(first)
        if found then list, text = found, behind end
    end
    if not list then
        for _, line in ipairs(block) do
            if line.mark == "---" and line.text:find "^> " then text = "a signature at the top of an example" end
        end
        if text and block.line > 1 then files.fail("%s: annotation: %s is missing", place, text) end
        return nil
    end
    local entry = { signatures = list, text = text, parameters = {}, example = {} }
    local into -- of what the next line is more
    for k = lines + 1, #block do
        local mark, line = block[k].mark, block[k].text
        if mark == "---" then
            local code = line:match "^>> ?(.*)$"
            local last = entry.example[#entry.example]
            if code then
                if not last or #last.output > 0 then files.fail("%s: annotation: '>>' without a line before", place) end
                last.code = last.code .. "\n" .. code
            elseif line:sub(1, 2) == "> " then
                entry.example[#entry.example + 1] = { code = line:sub(3), output = {} }
                into = "example"
            else
                local name, words = line:match "^([%a_][%w_]*): (.*)$"
                if not name then files.fail("%s: annotation: '--- %s' is neither 'name: …' nor '> …'", place, line) end
                entry.parameters[#entry.parameters + 1] = { name = name, text = words }
                into = "parameter"
            end
        elseif into == "example" then
            table.insert(entry.example[#entry.example].output, line)
        elseif into == "parameter" then
            local parameter = entry.parameters[#entry.parameters]
            parameter.text = append(parameter.text, line)
        else
            entry.text = append(entry.text, line)
        end
    end
    return entry
end

--- Options of an entry that no line of its own is about get those of the file, or of all files.
local function complete(entry, own, common)
    local said = {}
    for _, parameter in ipairs(entry.parameters) do said[parameter.name] = true end
    entry.options, entry.option_names = {}, {}
    for _, signature in ipairs(entry.signatures) do
        for _, option in ipairs(options_of(signature.arguments)) do
            if not entry.options[option.name] then
                entry.options[option.name] = option.default or true
                table.insert(entry.option_names, option.name)
                local text = own[option.name] or common[option.name]
                if not said[option.name] and text then
                    entry.parameters[#entry.parameters + 1] = { name = option.name, text = text }
                end
            end
        end
    end
end

--- The comment blocks of a source: lists of { mark, text }, each with its line.
local function blocks_of(source)
    local blocks, block, number = {}, nil, 0
    for line in (source .. "\n"):gmatch "([^\n]*)\n" do
        number = number + 1
        local mark, text = line:match "^%s*(%-%-%-?) ?(.*)$"
        if mark == "---" and not block then
            block = { line = number }
            blocks[#blocks + 1] = block
        end
        if mark and block then
            block[#block + 1] = { mark = mark, text = text }
        elseif not mark then
            if block then block.last = number - 1 end
            block = nil
        end
    end
    return blocks
end

--- Reads a block of lines `{NAME}: …` into a table.
local function read_meanings(block, meanings, place)
    local name
    for _, line in ipairs(block) do
        local next_name, words = line.text:match "^{([%a_][%w_]*)}: (.*)$"
        if line.mark == "---" and not next_name then
            files.fail("%s: annotation: '--- %s' is not '{name}: …'", place, line.text)
        end
        name = next_name or name
        meanings[name] = next_name and words or append(meanings[name], line.text)
    end
end

--- A file opens as an annotation where it is a part of np; where it opens with a function that has its own, that
-- counts.
local function drop_opening(found)
    if not (found[1] and found[1].opening) then return end
    for k = 2, #found do
        for _, signature in ipairs(found[k].signatures) do
            if signature.name == found[1].signatures[1].name then
                table.remove(found, 1)
                return
            end
        end
    end
end

--- Reads files, a list of { path = "neap/arrays/reduce.lua", text }, of which the first has the options of all. Returns
-- the entries in the order of the files.
function annotations.read(sources)
    local entries, common = {}, nil
    for _, source in ipairs(sources) do
        local blocks, own, found = blocks_of(source.text), {}, {}
        for _, block in ipairs(blocks) do
            local place = source.path .. ":" .. block.line
            if block[1].text:find "^{[%a_][%w_]*}: " then
                read_meanings(block, own, place)
            else
                local entry = read_block(block, place)
                if entry then
                    entry.file, entry.line, entry.opening = source.path, block.line, block.line == 1
                    found[#found + 1] = entry
                end
            end
        end
        drop_opening(found)
        common = common or own
        for _, entry in ipairs(found) do
            complete(entry, own, common)
            entries[#entries + 1] = entry
        end
    end
    return entries
end

return annotations
