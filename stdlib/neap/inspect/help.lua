--- help.lua: np.help, and what the prompt answers to `?name` and `??name`: help on functions, parts, pages and values.
--
-- What it tells is generated (tools/gen/help.lua) from the annotations of the library, from op rows and from docs/, and
-- is loaded when it is first asked for: neap.help_gen has the texts, neap.sources_gen sources and pages. A function is
-- found by its name or, if it is given itself, by what np has under each name. Of a user's function the comment above
-- its definition is its help.
local core = require "neap.core"
local globals = require "neap.core.globals"
local layout = require "neap.inspect.help_layout"
local aliases = require "neap.core.aliases"
local language = require "neap.inspect.help_language"
local suggest = require "neap.core.suggest"

local np = core.np
local is_array, describe = core.is_array, core.describe
local type, ipairs, pairs, rawget = type, ipairs, pairs, rawget

local help = {}
core.help = help

-- ---- What there is --------------------------------------------------------------------------------------------------

local known, by_name

local function load_known()
    if known then return end
    known, by_name = require "neap.help_gen", {}
    for _, entry in ipairs(known.entries) do
        for _, name in ipairs(entry.names) do by_name[name] = by_name[name] or entry end
    end
end

--- The entry of a full name, "np.sum", "x.shape"; methods are np's functions of their names.
function help.entry(name)
    load_known()
    return by_name[name] or name:find "^x%." and by_name["np." .. name:sub(3)] or nil
end

--- All full names, sorted; methods as np's functions of their names.
function help.names()
    load_known()
    local names = {}
    for name in pairs(by_name) do
        if not (name:find "^x%." and by_name["np." .. name:sub(3)]) then names[#names + 1] = name end
    end
    table.sort(names)
    return names
end

--- The entries whose names begin with that of a part, "np.linalg".
local function members(part)
    local list = {}
    for _, entry in ipairs(known.entries) do
        if entry.names[1]:sub(1, #part + 1) == part .. "." then list[#list + 1] = entry end
    end
    return list
end

local STEM = 5
local LONGEST_TOPIC = 200 -- bytes of a text that is looked for: patterns take the square of it
local SHORTEST_TOPIC = 3 -- bytes of a text that is looked for in other texts

--- What words of one stem begin with: "slici" would not do for slices, "slic" does; "matri" is both matrix and
-- matrices.
local function stem(word)
    word = #word > STEM and word:gsub("ing$", "") or word
    return word:sub(1, STEM)
end

-- ---- From a text or a value to what is meant ------------------------------------------------------------------------

--- A column or a method of an np.table, or a method of one of its columns; nil: the value has none of this name.
local function member_of(value, name)
    local meta = type(value) == "userdata" and debug.getmetatable(value)
    local list = type(meta) == "table" and rawget(meta, "__members")
    if not list then return nil end
    local column = rawget((list(value)), name)
    if is_array(column) or type(column) == "userdata" then return column end
    local ok, method = pcall(function() return value[name] end)
    return ok and core.method_names[method] and method or nil
end

--- The value at a path such as "linalg.svd" in a value, without loading or calling anything.
local function value_at(value, path)
    for name in path:gmatch "[^%.:]+" do
        if is_array(value) then
            value = core.methods[name]
        elseif type(value) == "table" then
            local found = rawget(value, name)
            local meta = found == nil and getmetatable(value)
            local index = type(meta) == "table" and rawget(meta, "__index")
            value = found == nil and type(index) == "table" and index[name] or found
        else
            value = member_of(value, name)
            if value == nil then return nil end
        end
    end
    return value
end

--- The function that one which conditions.lua watches stands for, in the end; other values are their own.
local function unwatched(value)
    while core.watched and core.watched[value] do value = core.watched[value] end
    return value
end

--- The name under which np, or a part that is loaded, has a function or a table.
local function name_of(value)
    load_known()
    if value == nil then return nil end
    value = unwatched(value)
    if core.method_names[value] then return core.method_names[value] end
    for name in pairs(by_name) do
        local path, method = name:match "^np%.(.*)$", name:match "^x%.(.*)$"
        if path and rawequal(unwatched(value_at(np, path)), value)
            or method and rawequal(unwatched(core.methods[method]), value) then
            return name
        end
    end
    if value == np then return "np" end
end

--- The full name that a text means: "sum", "x:sum", "np.linalg.svd(a)", "linalg.svd", "np.table.group", a method of
-- what np.table gives. nil: none.
local function full_name(text, look)
    local head, rest = text:match "^([%a_][%w_]*)[%.:]([%w_%.:]+)$"
    local candidates = { text, "np." .. text, "x." .. text }
    if head then
        rest = rest:gsub(":", ".")
        candidates = { head .. "." .. rest, "np." .. head .. "." .. rest, head == "np" and rest or nil }
        local value = look(head)
        local last = rest:match "[^%.]+$"
        if last and (value == nil or is_array(value)) then candidates[#candidates + 1] = "x." .. last end
    end
    for _, name in ipairs(candidates) do
        if help.entry(name) then return name end
    end
    if head and head ~= "np" and look(head) ~= nil then return nil end
    local last, found = text:match "^[%w_%.:]-([%w_]+)$", nil
    for _, name in ipairs(help.names()) do
        if last and name:match "^np%..-([%w_]+)$" == last then
            if found and help.entry(found) ~= help.entry(name) then return nil end
            found = name
        end
    end
    return found
end

local function page_of(text)
    load_known()
    local name = text:gsub("^docs/", ""):gsub("%.md$", "")
    return known.pages[name] and name
end

--- Sections of pages whose title has all words of the text, as word beginnings: a list of { page, title }.
local function sections_of(text)
    load_known()
    local list = {}
    if #text < SHORTEST_TOPIC then return list end
    for name, page in pairs(known.pages) do
        for _, title in ipairs(page.sections) do
            local all = true
            for word in text:lower():gmatch "%w+" do
                all = all and (" " .. title:lower():gsub("[^%w]+", " ")):find(" " .. stem(word), 1, true) ~= nil
            end
            if all then list[#list + 1] = { page = name, title = title } end
        end
    end
    table.sort(list, function(a, b)
        if a.page ~= b.page then return a.page < b.page end
        return a.title < b.title
    end)
    return list
end

--- The text of a section of a page, its title first.
local function section_text(section)
    local text = "\n" .. require("neap.sources_gen").pages[section.page] .. "\n#"
    local from = text:find("\n#+ " .. section.title:gsub("%p", "%%%0") .. "\n")
    return text:match("^\n(.-)\n#", from) or ""
end

-- ---- Sources --------------------------------------------------------------------------------------------------------

local function lines_of(text)
    local lines = {}
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    return lines
end

--- The text of the chunk of a function, nil: not known.
local function chunk_of(info)
    local source = info.source
    local library = source:match "(neap/[%w_/]+%.lua)$"
    if library then
        local text = require("neap.sources_gen").files[library]
        if text then return text end
    end
    if source:sub(1, 1) == "@" then
        local file = io.open(source:sub(2), "rb")
        local text = file and file:read "*a"
        if file then file:close() end
        return text
    elseif source:sub(1, 1) == "=" then
        local questions = package.loaded["neap.interp.questions"] -- the prompt keeps what was typed
        return questions and questions.chunk_text(source)
    end
    return source
end

--- Of a Lua function: the comment above it, its lines, and where it stands; nothing where the text is not known.
local function source_of(f)
    local info = debug.getinfo(f, "Su")
    if info.what == "C" then return nil end
    local place = info.short_src .. ":" .. info.linedefined
    local text = chunk_of(info)
    local lines = text and lines_of(text)
    if not lines or not lines[info.lastlinedefined] then return { place = place, info = info } end
    local comment, first = {}, info.linedefined
    while lines[first - 1] and lines[first - 1]:find "^%s*%-%-" do
        first = first - 1
        table.insert(comment, 1, (lines[first]:gsub("^%s*%-%-+ ?", "")))
    end
    return { place = place, info = info, comment = table.concat(comment, "\n"),
             text = table.concat(lines, "\n", info.linedefined, info.lastlinedefined) }
end

--- The parameters of a Lua function: "(x, y, ...)".
local function parameters_of(f, info)
    local list = {}
    for k = 1, info.nparams do list[k] = debug.getlocal(f, k) or "?" end
    if info.isvararg then list[#list + 1] = "..." end
    return "(" .. table.concat(list, ", ") .. ")"
end

-- ---- Answers --------------------------------------------------------------------------------------------------------

local function source_lines(entry, name)
    if entry.op then return require("neap.sources_gen").rows[entry.op] end
    local path = name:match "^np%.(.*)$"
    local f = path and value_at(np, path)
    if f == nil and path then
        local ok, value = pcall(function()
            local found = np
            for key in path:gmatch "[^%.]+" do found = found[key] end
            return found
        end)
        f = ok and value or nil
    end
    f = f or core.methods[name:match "[^%.]+$"] or core.fields[name:match "[^%.]+$"]
    local source = type(f) == "function" and source_of(core.behind(f))
    return source and source.text
end

local function entry_answer(name, how)
    local entry = help.entry(name)
    local text = layout.entry(entry, how.width)
    if entry.part then text = text .. "\n\n" .. layout.list(members(entry.names[1]), how.width) end
    if how.source then
        local source = source_lines(entry, name)
        text = text .. "\n\n" .. (source or "(its source is not known)")
    end
    return text
end

local function page_answer(name, how)
    local text = require("neap.sources_gen").pages[name]
    if how.source then return text end
    return text:match "^(.-)\n## " or text, layout.sections(known.pages[name].sections, how.width)
end

local function function_answer(name, f, how)
    local known_name = name_of(f)
    if known_name then return entry_answer(known_name, how) end
    local source = source_of(f)
    if not source then return ("%s: a function of Lua itself (www.lua.org/manual/5.1, chapter 5)"):format(name) end
    local text = ("%s%s    (%s)"):format(name, parameters_of(f, source.info), source.place)
    if source.comment and source.comment ~= "" then text = text .. "\n\n" .. layout.indent(source.comment) end
    if how.source then
        text = text .. "\n\n" .. (source.text or "(the text of this chunk is not at hand)")
    elseif not source.comment or source.comment == "" then
        text = text .. "\n\n  (a comment above its definition would stand here)"
    end
    return text
end

local function value_answer(name, value, how)
    if type(value) == "function" then return function_answer(name, value, how) end
    if is_array(value) then
        local shape = {}
        for k, extent in ipairs(value.shape) do shape[k] = ("%d"):format(extent) end
        return ("%s: an array, %s[%s]\n\n  %s:sum() calls a method, ?x.sum tells of it, ?np of what there is"):format(
            name, value.dtype, table.concat(shape, ","), name)
    end
    local part = type(value) == "table" and name_of(value)
    if part and help.entry(part) then return entry_answer(part, how) end
    return ("%s: %s"):format(name, describe(value))
end

local MOST_FOUND = 12

--- Entries that have all words of a text, as beginnings of words; those whose names have them come first.
local function mentions(text)
    local words, named, others = {}, {}, {}
    for word in text:lower():gmatch "%w+" do words[#words + 1] = "%f[%w]" .. stem(word) end
    if #text < SHORTEST_TOPIC then return {} end
    for _, entry in ipairs(known.entries) do
        local names, texts = table.concat(entry.names, " "):lower():gsub("_", " "), { entry.text }
        for _, option in ipairs(entry.options) do texts[#texts + 1] = option.name .. " " .. (option.text or "") end
        local all, in_names = names .. " " .. table.concat(texts, " "):lower(), true
        local found = true
        for _, word in ipairs(words) do
            found = found and all:find(word) ~= nil
            in_names = in_names and names:find(word) ~= nil
        end
        if found then table.insert(in_names and named or others, entry) end
    end
    for _, entry in ipairs(others) do named[#named + 1] = entry end
    for k = #named, MOST_FOUND + 1, -1 do named[k] = nil end
    return named
end

--- Whether the name of one of these entries begins with a text.
local function begins_one(entries, text)
    for _, entry in ipairs(entries) do
        for _, name in ipairs(entry.names) do
            if name:sub(1, #text) == text then return true end
        end
    end
    return false
end

--- The full name whose last part is nearest to that of a text, and whether it is the same; nil if none is near.
local function near_name(text)
    local last = {} -- full names by their last parts, the shortest of each
    for _, name in ipairs(help.names()) do
        local word = name:match "[%w_]+$"
        if not last[word] or #name < #last[word] then last[word] = name end
    end
    local word = text:match "^[%w_%.:]-([%w_]+)$"
    if not word then return nil end
    return last[word] or last[suggest.name(word, { last }) or ""], last[word] ~= nil
end

local function search_answer(text, how)
    local name_there = text:gsub("^np[%.:]", ""):gsub("^x[%.:]", "")
    local here = aliases.methods[name_there] or aliases.of(name_there)
    if here then
        local answer = ("%s is called so in other libraries; here it is %s"):format(text, here)
        return help.entry(here) and answer .. "\n\n" .. entry_answer(here, how) or answer
    end
    local why = aliases.why(name_there)
    if why then return ("%s is of other libraries, and not here: %s"):format(text, why) end
    local list, parts = sections_of(text), {}
    if #list == 1 then return section_text(list[1]) end
    local found, elsewhere = mentions(text), aliases.anywhere((text:gsub(" ", "_")))
    if #found > 0 then
        parts[1] = ("Functions whose help speaks of \"%s\":\n"):format(text) .. layout.list(found, how.width)
    end
    if #list > 1 then parts[#parts + 1] = "Sections of pages:\n" .. layout.places(list) end
    local name, same = near_name(text)
    if elsewhere then
        table.insert(parts, 1, ("%s is called so in other libraries; here it is %s"):format(text, elsewhere))
    end
    local is_far = elsewhere or begins_one(found, text) and name and name:sub(1, #text) ~= text
    if #parts == 0 or name and not same and #list == 0 and not is_far then
        table.insert(parts, 1, ("There is no help on \"%s\"%s"):format(text,
                     name and (". Did you mean %s?"):format(name) or "; ? alone tells what there is."))
    end
    return table.concat(parts, "\n\n")
end

local function global(name)
    return rawget(_G, name)
end

--- The value of a user's variable or of a field of it, "f", "model.forward".
local function own_value(text, look)
    local head, rest = text:match "^([%a_][%w_]*)[%.:]?(.*)$"
    return head and value_at(look(head), rest)
end

--- Whether a value is the user's own: no function, and no table that Lua or the library has as a module.
local function is_users(value)
    if value == nil or type(value) == "function" then return false end
    for _, module in pairs(type(value) == "table" and globals.modules or {}) do
        if rawequal(module, value) then return false end
    end
    return true
end

--- The answer to a question about a text or a value. how: { source = with its source, width = columns, look = what
-- gives the value of a variable of the user by its name: a global one by default }.
function help.answer(subject, how)
    how = how or {}
    how.width = how.width or 80
    local look = how.look or global
    load_known()
    if type(subject) ~= "string" then
        if subject == nil or subject == np then return layout.overview(known, how.width) end
        return value_answer(type(subject) == "function" and "function" or "value", subject, how)
    end
    local text = subject:sub(1, LONGEST_TOPIC):match "^%s*(.-)%s*$"
    text = text:gsub("%s*%b()$", ""):gsub("%s*%b{}$", ""):gsub("[%.:]$", "")
    if text == "" or text == "np" then return layout.overview(known, how.width) end
    local own = own_value(text, look)
    local user_function = type(own) == "function" and not core.is_library(own) and debug.getinfo(own, "S").what ~= "C"
    if user_function then return function_answer(text, own, how) end
    local is_own = how.look and own ~= nil and is_users(look(text:match "^[%w_]+"))
    if is_array(own) or is_own then return value_answer(text, own, how) end
    local name = full_name(text, look) or text:find "^%l+ing$" and full_name(stem(text), look)
    local page = page_of(text)
    if name then
        local answer = entry_answer(name, how)
        if language[text] then answer = layout.indent(language[text]) .. "\n\n" .. answer end
        return page and answer .. ("\n\n  The page on it: ?docs/%s"):format(page) or answer
    end
    if page then
        local opening, sections = page_answer(page, how)
        return sections and opening .. "\n\n" .. sections or opening
    end
    if language[text] then return layout.indent(language[text]) end
    return own ~= nil and value_answer(text, own, how) or search_answer(text, how)
end

--- The signature of what has a full name, and the first sentence of its help; nil: there is no help on it.
function help.brief(name)
    local entry = help.entry(name)
    if not entry then return nil end
    local signature, last = entry.signatures[1] or name, name:match "[%w_]+$"
    for k, other in ipairs(entry.names) do
        if other:match "[%w_]+$" == last then
            signature = entry.signatures[k] or signature
            break
        end
    end
    local first = entry.text and (entry.text:match "^(.-[%.:])%s" or entry.text) or ""
    return signature, (first:gsub("%s+", " "):gsub(":$", "."))
end

--- The same of a function of the library, as two lines; nil for other values.
function help.summary(value)
    load_known()
    local name = name_of(value)
    local signature, first = help.brief(name or "")
    return signature and signature .. (first ~= "" and "\n" .. first or "")
end

--- What completions need of the function that a text names ("np.sum", "x:sum"): its options, a list of { name, text },
-- and its signatures, a list of texts; nil: no function that help knows.
function help.arguments(text, look)
    load_known()
    local name = full_name(text, look or global)
    local entry = name and help.entry(name)
    if not entry then return nil end
    local options = {}
    for _, option in ipairs(entry.options) do
        if option.option then options[#options + 1] = { name = option.name, text = option.text } end
    end
    return options, entry.signatures
end

--- np.help(subject) -> nothing: prints help: on a function or a value, on a name given as a text ("sum",
-- "np.linalg.svd", "x:sum"), or on a topic, such as "jit" or "effects" (the pages of docs/). Of your own functions it
-- prints the comment above their definition. Without an argument it tells what there is. At the prompt ?name does the
-- same, and ??name shows the source too.
--- > np.help("x.ndim")
-- x.ndim  -> integer
--
--   The number of axes.
--
--   > np.zeros{2, 3}.ndim
--   2
function np.help(subject)
    print((help.answer(subject)))
end

return help
