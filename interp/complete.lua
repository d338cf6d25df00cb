--- complete.lua: what Tab makes of the text before the cursor: names, fields and methods, options of functions, keys of
-- tables, files, the prompt's own commands and their arguments.
--
-- The text may have several lines. A *place* says what can stand at the cursor: { from = where the text that is
-- replaced begins, word = that text up to the cursor, each = calls a function with each name that is possible, insert =
-- what is put there for a name, which may be the only one, or one that a front end lets the user choose (nil: the
-- name), note = a text about a name (nil: none) }. Nothing that is typed is run;
-- what is known of expressions is infer.lua's.
local core = require "neap.core"
local commands = require "neap.interp.commands"
local files = require "neap.interp.files"
local infer = require "neap.interp.infer"
local repl = require "neap.interp.repl"
local show = require "neap.interp.show"
local strict = require "neap.interp.strict"
local tokens = require "neap.interp.tokens"

local complete = {}

local KEYWORDS = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
                   "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while" }
local MOST_NOTES = 12 -- names in a list that says more of each
local MOST_LINES = 20 -- of other lists
local IDENTIFIER = "^[%a_\128-\255][%w_\128-\255]*$"

-- ---- Variables ------------------------------------------------------------------------------------------------------

--- Whether a session has a variable, and its value.
local function variable(session, name)
    local found, value = session.scope:get(name)
    if found then return true, value end
    if session.state then
        local values, names = session.state:variables()
        if names[name] then return true, values[name] end
    end
    value = rawget(_G, name)
    if value ~= nil then return true, value end
    local ok, special = pcall(strict.special, name)
    return ok and special ~= nil, ok and special or nil
end

--- Calls offer(name) for each variable of a session.
local function each_variable(session, offer)
    for _, name in ipairs(session.scope:names()) do offer(name) end
    if session.state then
        local _, names = session.state:variables()
        for name in pairs(names) do offer(name) end
    end
    for name in next, _G do offer(name) end
    for _, name in ipairs { "exit", "quit", "Out" } do offer(name) end
end

-- ---- What help says of a name ---------------------------------------------------------------------------------------

local function help()
    require "neap.inspect.help"
    return core.help
end

--- The signature and the first sentence of the help on a full name; nil: there is none.
local function help_note(name)
    local signature, first = help().brief(name)
    return signature and signature .. ": " .. first
end

local function value_note(value)
    if value == nil then return nil end
    return show.brief(value)
end

-- ---- Places ---------------------------------------------------------------------------------------------------------

-- What Lua has for lists, by the name that a method would have: the call, and what it does.
local OF_LISTS = { insert = { "table.insert(%s, ", "adds a value at the end, or at a place" },
                   remove = { "table.remove(%s", "takes the last item out, or that of a place" },
                   sort = { "table.sort(%s", "puts the items in order" },
                   concat = { "table.concat(%s, ", "joins texts" } }

--- Behind t: of a plain table without functions, which has no methods: the functions of Lua's library. `start`: where
-- the name of the table begins.
local function list_place(name, start, word)
    return {
        from = start, word = name .. ":" .. word,
        each = function(offer)
            for method in pairs(OF_LISTS) do offer(name .. ":" .. method, true) end
        end,
        insert = function(offered, is_only, is_chosen)
            return (is_only or is_chosen) and OF_LISTS[offered:match ":(.*)$"][1]:format(name) or offered
        end,
        note = function(offered)
            local row = OF_LISTS[offered:match ":(.*)$"]
            return ("%s…): %s"):format(row[1]:format(name), row[2])
        end,
    }
end

local function has_function(value)
    for _, item in next, value do
        if type(item) == "function" then return true end
    end
    return false
end

local function members_place(text, k, separator, word)
    local found = text:finding(k)
    if not found then return nil end
    local place = {}
    if infer.is_array(found) then
        local holder = separator == ":" and core.methods or core.fields
        function place.each(offer)
            for name in next, holder do offer(name) end
        end
        function place.note(name) return help_note("x." .. name) end
        return place
    end
    local value, path = found.value, text:path(k)
    local fields, methods, part = infer.members(value)
    if fields then
        local holder = separator == ":" and methods or fields
        function place.each(offer)
            for name in next, holder do offer(name) end
        end
        function place.note(name)
            if separator == ":" then return help_note(part .. name) end
            local field = holder[name]
            return field ~= true and type(field) ~= "function" and value_note(field) or nil
        end
        return place
    end
    if type(value) == "string" and separator == "." then return nil end
    local is_plain = separator == ":" and type(value) == "table" and debug.getmetatable(value) == nil
    local is_variable = text.list[k].kind == "name" and not (k > 1 and text.list[k - 1].text:find "^[%.:]$")
    if is_plain and is_variable and not has_function(value) then
        return list_place(path, text.list[k].from, word)
    end
    local function get(name)
        for _, holder in ipairs(infer.holders(value)) do
            if rawget(holder, name) ~= nil then return rawget(holder, name) end
        end
        return nil
    end
    function place.each(offer)
        for _, holder in ipairs(infer.holders(value)) do
            for name, item in next, holder do
                if separator == "." or type(item) == "function" then offer(name) end
            end
        end
    end
    function place.note(name)
        local note = path and help_note(path .. "." .. name)
        return note or not (path and path:find "^np%f[%W]") and value_note(get(name)) or nil
    end
    return place
end

--- Which arguments of a function, by their numbers, are tables of options. A signature of np's counts the array of a
-- method too.
local function option_arguments(signatures, is_method)
    local places = {}
    for _, signature in ipairs(signatures) do
        local name, inside = signature:match "^([%w_%.:]+)%((.*)%)"
        if not inside then
            name, inside = signature:match "^([%w_%.:]+)(%b{})"
        end
        local number, depth, from = 1, 0, 1
        local function argument(to)
            if inside:sub(from, to):find "^%s*{%s*[%a_][%w_]*=" then
                places[is_method and not name:find ":" and number - 1 or number] = true
            end
            number = number + 1
        end
        for at, mark in (inside or ""):gmatch "()([,{}()])" do
            if mark == "{" or mark == "(" then depth = depth + 1 end
            if mark == "}" or mark == ")" then depth = depth - 1 end
            if mark == "," and depth == 0 then
                argument(at - 1)
                from = at + 1
            end
        end
        if inside then argument(#inside) end
    end
    return places
end

--- The options of the function that the brace at token `open` is an argument of; nil where it has none there. Options
-- may stand before their place, where arguments are left out; then `true` is given too: it may be such an argument.
local function options_at(text, open, session)
    local list, callee, number = text.list, open - 1, 1
    local before = list[callee]
    if before and (before.text == "(" or before.text == ",") then
        local paren, commas = text:enclosing(callee)
        if not paren or list[paren].text ~= "(" then return nil end
        callee, number = paren - 1, commas + 1
        before = list[callee]
    end
    if not before or before.kind ~= "name" then return nil end
    local mark, name = list[callee - 1], text:path(callee)
    local is_method = mark ~= nil and mark.text == ":"
    if is_method then
        if not infer.is_array(callee > 2 and text:finding(callee - 2) or nil) then return nil end
        name = "x:" .. before.word
    end
    if not name then return nil end
    local options, signatures = help().arguments(name, function(head)
        if is_method then return nil end
        return select(2, variable(session, head))
    end)
    local places = options and option_arguments(signatures, is_method) or {}
    if places[number] then return options end
    for place in pairs(places) do
        if number > 1 and number < place then return options, true end
    end
end

local function names_place(text, session)
    return {
        each = function(offer)
            for _, name in ipairs(KEYWORDS) do offer(name) end
            for name in pairs(text.block) do offer(name) end
            each_variable(session, offer)
        end,
        note = function(name)
            if text.block[name] then return nil end
            local _, value = variable(session, name)
            return value_note(value)
        end,
    }
end

local function options_place(text, last, session)
    local list = text.list
    local open = text:enclosing(last)
    if not open or list[open].text ~= "{" or not list[last].text:find "^[{,;]$" then return nil end
    local options, is_early = options_at(text, open, session)
    if not options or #options == 0 then return nil end
    local said, texts = {}, {}
    for k = open + 1, last do
        if list[k].kind == "name" and list[k + 1].text == "=" then said[list[k].word] = true end
    end
    for _, option in ipairs(options) do texts[option.name] = not said[option.name] and (option.text or "") or nil end
    local others = is_early and names_place(text, session)
    return {
        each = function(offer)
            for name in pairs(texts) do offer(name .. "=") end
            if others then others.each(offer) end
        end,
        note = function(name)
            local said_of = texts[name:sub(1, -2)]
            if said_of then return (said_of:gsub("%s+", " ")) end
            return others and others.note and others.note(name) or nil
        end,
    }
end

--- The keys of the table before `[`, the last token before a string.
local function keys_place(text, k, quote, behind)
    local found = k > 1 and text:finding(k - 1) or nil
    if not found or type(found.value) ~= "table" then return nil end
    return {
        each = function(offer)
            for name in next, found.value do
                if type(name) == "string" and not name:find "%c" then offer(name, true) end
            end
        end,
        insert = function(name)
            local escaped = name:gsub("[\\" .. quote .. "]", "\\%0")
            return escaped .. (behind == "" and quote .. "]" or "")
        end,
        note = function(name) return value_note(rawget(found.value, name)) end,
    }
end

local function dtypes_place(quote, behind)
    return {
        each = function(offer)
            for name in pairs(core.dtype_codes) do offer(name) end
        end,
        insert = function(name) return name .. (behind:sub(1, 1) == quote and "" or quote) end,
    }
end

--- In a string, of which `word` is there up to the cursor and `behind` follows it.
local function string_place(text, k, quote, word, behind)
    local before, name = text.list[k], text.list[k - 1]
    if before and before.text == "[" and quote ~= "" then return keys_place(text, k, quote, behind) end
    local says_dtype = before and before.text == "=" and name and name.word == "dtype"
        or before and before.word == "astype" or before and before.text == "(" and name and name.word == "astype"
    if says_dtype and quote ~= "" then return dtypes_place(quote, behind) end
    local is_value = before and (before.kind == "name" or before.text == ")" or before.text == "]")
    if is_value and infer.is_array(text:finding(k)) then return nil end
    return files.place(word, quote, behind)
end

--- In code. `at`: where its text begins in the line.
local function code_place(code, behind, session)
    local list = tokens.read(code)
    local finish = table.remove(list)
    local open, last = list.open, list[#list]
    if open == "comment" then return nil end
    local place, word, from
    if open == "string" then
        table.remove(list)
        local quote = last.word:match "^[\"']" or ""
        word = last.word:sub(#(quote ~= "" and quote or last.word:match "^%[=*%[") + 1)
        from = #code - #word + 1
    elseif last and last.to == #code and (last.kind == "name" or last.kind == "keyword") then
        table.remove(list)
        word, from = last.word, last.from
    elseif last and last.to == #code and last.kind == "number" then
        return nil
    else
        word, from = "", #code + 1
    end
    list[#list + 1] = finish
    local text, k = infer.text(list, function(name) return variable(session, name) end), #list - 1
    local mark = list[k] and list[k].text
    if open == "string" then
        place = string_place(text, k, last.word:match "^[\"']" or "", word, behind)
    elseif (mark == "." or mark == ":") and list[k].to == from - 1 then
        place = k > 1 and members_place(text, k - 1, mark, word)
    else
        place = options_place(text, k, session) or names_place(text, session)
    end
    if not place then return nil end
    if open == "string" then place.from = place.from and from + place.from - 1 end -- files.lua counts from the quote
    place.from, place.word = place.from or from, place.word or word
    return place
end

--- A place that is one of code or of an argument, which begins at byte `start` of the text.
local function moved(place, start)
    if place then place.from = place.from + start - 1 end
    return place
end

local function words_place(word, each, note)
    return { from = 1, word = word, each = each, note = note }
end

--- The name behind `?` or `:help`.
local function topic_place(topic, session, with_commands)
    if topic:find "[%.:]" then return code_place(topic, "", session) end
    return words_place(topic, function(offer)
        each_variable(session, offer)
        for _, name in ipairs(help().names()) do
            local plain = name:match "^np%.([%w_]+)$"
            if plain then offer(plain) end
        end
        for name in pairs(with_commands and commands.rows or {}) do offer(name) end
    end, function(name)
        local row = with_commands and commands.rows[name]
        return row and row.help or help_note("np." .. name)
    end)
end

--- The last of the words of an argument, which names a file, or a folder.
local function file_place(argument, folders)
    local quote, word = argument:match "([\"'])([^\"']*)$"
    if not quote or select(2, argument:gsub(quote, "")) % 2 == 0 then
        quote, word = nil, argument:match "^.*%s(.*)$" or argument
    end
    local place = files.place(word, quote, "", folders)
    return moved(place, #argument - #word + 1)
end

-- What the argument of a command is, by `completes` of its row.
local arguments = {
    file = function(rest) return file_place(rest) end,
    folder = function(rest) return file_place(rest, true) end,
    help = function(rest, session) return topic_place(rest, session, true) end,
    variable = function(rest, session)
        return words_place(rest, function(offer)
            each_variable(session, function(name)
                if rawget(_G, name) == nil or repl.first_globals[name] == nil then offer(name) end
            end)
        end)
    end,
    trace = function(rest, session, behind)
        local file, code = rest:match "^(%S+%s+)(.*)$"
        if not file then return file_place(rest) end
        return moved(code_place(code, behind, session), #file + 1)
    end,
}

local function command_place(before, behind, session)
    local colon, name = before:match "^(%s*:)(%w*)$"
    if colon then
        local place = words_place(name, function(offer)
            for word in pairs(commands.rows) do offer(word) end
            for word in pairs(session.words or {}) do
                if #word > 1 then offer(word) end
            end
        end, function(word)
            return (session.words and session.words[word] or commands.rows[word]).help
        end)
        return moved(place, #colon + 1)
    end
    local head, rest
    head, name, rest = before:match "^(%s*:(%w+)%s+)(.*)$"
    local row = name and (session.words and session.words[name] or commands.rows[name])
    if not row then return nil end
    if row.code and not row.completes then return moved(code_place(rest, behind, session), #head + 1) end
    local argument = arguments[row.completes]
    return argument and moved(argument(rest, session, behind), #head + 1)
end

local function place_at(text, point, session)
    local before, behind = text:sub(1, point), text:sub(point + 1)
    if not (before:match "^.*\n(.*)$" or before):find "%S" then
        return nil -- there Tab indents
    end
    local head, rest = before:match "^(%s*!)(.*)$"
    if head then return moved(file_place(rest), #head + 1) end
    head, rest = before:match "^(%s*%?+%s*)(.*)$"
    if head then return moved(topic_place(rest, session), #head + 1) end
    if before:find "^%s*:[^:]" or before:find "^%s*:$" then return command_place(before, behind, session) end
    head, rest = before:match "^(%s*=)(.*)$"
    if head then return moved(code_place(rest, behind, session), #head + 1) end
    return code_place(before, behind, session)
end

-- ---- The answer -----------------------------------------------------------------------------------------------------

--- The names of a place that begin with its word, sorted.
local function names_of(place, fold)
    local word, names, seen = fold and place.word:lower() or place.word, {}, {}
    local length, first = #word, word:byte(1)
    local private = first == 95 -- "_"
    local function offer(name, any)
        if type(name) ~= "string" or seen[name] then return end
        if first and not fold and name:byte(1) ~= first then return end
        if not any and (name:byte(1) == 95 and not private or not name:find(IDENTIFIER) and not name:find "=$") then
            return
        end
        local start = name:sub(1, length)
        if (fold and start:lower() or start) ~= word then return end
        seen[name] = true
        names[#names + 1] = name
    end
    place.each(offer)
    table.sort(names)
    return names
end

--- What all texts of a list in order begin with. `fold`: letters of both cases are the same.
local function common_start(texts, fold)
    local first, length = texts[1], #texts[1]
    local function form(text) return fold and text:lower() or text end
    local one = form(first)
    for k = fold and 2 or #texts, #texts do -- in order: what the first and the last have in common, all have
        local other, at = form(texts[k]), 0
        while at < length and one:byte(at + 1) == other:byte(at + 1) do at = at + 1 end
        length = at
    end
    return first:sub(1, length)
end

local last -- { place, names } of the last answer, for the list

--- What the text up to the byte `point` can become, a list. With several, the first is their common beginning, as
-- readline wants it. `fold`: letters of the other case will do where none fit as they are.
function complete.at(text, point, fold)
    last = nil
    local place = place_at(text, point, repl.reader)
    if not place then return {} end
    local names, folded = names_of(place, false), false
    if #names == 0 and fold then names, folded = names_of(place, true), true end
    last = { place = place, names = names }
    local head, texts = text:sub(1, place.from - 1), {}
    for k, name in ipairs(names) do
        texts[k] = head .. (place.insert and place.insert(name, #names == 1) or name)
    end
    if #texts > 1 then
        local start = common_start(texts, folded)
        table.insert(texts, 1, #start < point and text:sub(1, point) or start)
    end
    return texts
end

--- The same for front ends that choose themselves: the byte where what is replaced begins, and the list of what can
-- stand there.
function complete.matches(text, point)
    local place = place_at(text, point, repl.reader)
    if not place then return point + 1, {} end
    local names, texts = names_of(place, false), {}
    if #names == 0 then names = names_of(place, true) end
    for k, name in ipairs(names) do texts[k] = place.insert and place.insert(name, #names == 1, true) or name end
    return place.from, texts
end

--- The names of the last answer, as lines for the terminal: few with what they are, many in columns.
function complete.list()
    if not last or #last.names == 0 then return "" end
    local names, place, width = last.names, last.place, show.width()
    if #names <= MOST_NOTES then
        local rows, any = {}, false
        for k, name in ipairs(names) do
            local note = place.note and place.note(name)
            any = any or note ~= nil
            rows[k] = { name, note or "" }
        end
        if any then return show.columns(rows) end
    end
    return show.grid(names, width, MOST_LINES)
end

return complete
