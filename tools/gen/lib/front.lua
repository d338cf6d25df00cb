--- front.lua: the first page of the site: its first session at the prompt types itself, by a style sheet alone. Each
-- line becomes an element that says when it comes (--at) and how many letters are typed (--letters); style.css moves
-- them, but not for readers who want no motion.
local front = {}

local LETTER, PAUSE, ANSWER, BEGIN = 0.03, 0.5, 0.08, 0.3 -- seconds: typing one, before a command, a line that is shown

local ENTITIES = { amp = "&", lt = "<", gt = ">", quot = '"' }

--- How many letters a line of HTML shows.
local function letters(html)
    local text = html:gsub("<[^>]*>", ""):gsub("&(%a+);", ENTITIES)
    return select(2, text:gsub("[^\128-\191]", ""))
end

local function animated(code)
    local lines, at = {}, BEGIN
    for line in (code .. "\n"):gmatch "(.-)\n" do
        if line:find "^<span class=p>" then
            local count = letters(line)
            lines[#lines + 1] = ('<span class=typed style="--at:%.2fs;--letters:%d">%s</span>'):format(at, count, line)
            at = at + count * LETTER + ANSWER
        elseif line ~= "" then
            lines[#lines + 1] = ('<span class=answer style="--at:%.2fs">%s</span>'):format(at, line)
            at = at + ANSWER
        end
        if line:find "^<span class=o>" then at = at + PAUSE end
    end
    return table.concat(lines, "\n") .. "\n"
end

--- The page's HTML, with the session that moves.
function front.animate(html)
    return (html:gsub("(<pre class=prompt><code>)(.-)(</code></pre>)", function(before, code, after)
        return before .. animated(code) .. after
    end, 1))
end

return front
