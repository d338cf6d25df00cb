--- kernel_questions.lua: what front ends ask while code is typed: completion, inspection, whether a cell is complete.
-- Positions in messages count characters, here bytes.
local channels = require "neap.interp.channels"
local complete = require "neap.interp.complete"
local history = require "neap.interp.kernel_history"
local json = require "neap.files.json"
local repl = require "neap.interp.repl"

local questions = {}

local HELP_WIDTH = 90

--- The byte behind which the cursor stands, of a place in characters.
local function bytes_before(text, characters)
    local count = 0
    for at in text:gmatch "()[^\128-\191]" do
        if count == characters then return at - 1 end
        count = count + 1
    end
    return #text
end

local function characters_of(text)
    return select(2, text:gsub("[^\128-\191]", ""))
end

--- The text of a request and the cursor in bytes.
local function place_of(content)
    local text = type(content.code) == "string" and content.code or ""
    local cursor = type(content.cursor_pos) == "number" and content.cursor_pos or math.huge
    return text, bytes_before(text, cursor)
end

local function answer_complete(_, content)
    local text, point = place_of(content)
    local from, matches = complete.matches(text, point)
    return { status = "ok", matches = matches, metadata = json.object,
             cursor_start = characters_of(text:sub(1, from - 1)), cursor_end = characters_of(text:sub(1, point)) }
end

--- The name with which a text ends, blanks apart.
local function name_before(text)
    local last, ended
    for name, behind in text:gmatch "([%a_][%w_%.:]*)()" do last, ended = name, behind end
    if last and not text:find("%S", ended) then return last end
end

--- The name at the cursor, else that of the function whose arguments are being typed.
local function name_at(text, point)
    for from, name, behind in text:gmatch "()([%a_][%w_%.:]*)()" do
        if from - 1 <= point and point <= behind - 1 then return name:match "^.*[^%.:]" end
    end
    local depth = 0
    for k = point, 1, -1 do
        local c = text:sub(k, k)
        if c == ")" or c == "}" then depth = depth + 1 end
        if c == "(" or c == "{" then
            if depth == 0 then return name_before(text:sub(1, k - 1)) end
            depth = depth - 1
        end
    end
end

--- The value of a variable of the user.
local function look(name)
    local found, value = repl.main.scope:get(name)
    if found then return value end
    return rawget(_G, name)
end

local function answer_inspect(_, content)
    local text, point = place_of(content)
    local name = name_at(text, point)
    local nothing = { status = "ok", found = false, data = json.object, metadata = json.object }
    if not name then return nothing end
    require "neap.inspect.help"
    local help = require("neap.core").help
    if look(name:match "^[%w_]+") == nil and not help.entry(name) and not help.entry("np." .. name) then
        return nothing
    end
    local source = content.detail_level == 1
    local answer = help.answer(name, { source = source, width = HELP_WIDTH, look = look })
    return { status = "ok", found = true, data = { ["text/plain"] = answer }, metadata = json.object }
end

--- The indent is that behind the last line that is not blank.
local function answer_is_complete(_, content)
    local text = place_of(content)
    if repl.incomplete(text) then
        local behind = text:find("\n", text:match ".*()%S" or 1, true)
        if behind then text = text:sub(1, behind - 1) end
        return { status = "incomplete", indent = (" "):rep(channels.indent(text)) }
    end
    return { status = repl.readable(text) and "complete" or "invalid" }
end

function questions.install(handlers)
    handlers.complete_request = answer_complete
    handlers.inspect_request = answer_inspect
    handlers.is_complete_request = answer_is_complete
    handlers.history_request = history.answer
end

return questions
