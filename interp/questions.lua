--- questions.lua: `?name` and `??name` at the prompt, also written `name?` and `name??`: help, and help with the
-- source. What is told is np.help's (stdlib/neap/inspect/help.lua), which is loaded with the first question; so is the
-- function `help` that the prompt has.
local show = require "neap.interp.show"
local questions = {}

local MOST_WIDTH = 100 -- longer lines are hard to read
local MOST_CHUNKS = 1000 -- of the prompt, whose texts are kept for `??name`

--- Shows an answer. A notebook has a function of its own in its place.
function questions.tell(text) print(show.help(text)) end

--- Tells the answer. look(name): the value of a user's variable, a global one without it.
function questions.answer(name, source, look)
    require "neap.inspect.help"
    local width = math.min(show.width(), MOST_WIDTH)
    questions.tell((require("neap.core").help.answer(name, { source = source, width = width, look = look })))
end

local texts, order = {}, {} -- of chunks, by their names, false for several; names in the order of the chunks

--- Keeps the text of a chunk that is no file, so that `??name` can show functions that it defines.
function questions.remember(chunk_name, text)
    if texts[chunk_name] == nil then order[#order + 1] = chunk_name end
    texts[chunk_name] = texts[chunk_name] == nil and text
    if #order > MOST_CHUNKS then texts[table.remove(order, 1)] = nil end
end

--- The text of such a chunk; nil where several had this name.
function questions.chunk_text(chunk_name)
    return texts[chunk_name] or nil
end

--- The function `help` of the prompt: help(np.sum), help "sum", help().
rawset(_G, "help", function(...)
    return np.help(...)
end)

return questions
