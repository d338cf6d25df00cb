--- markdown.lua: the Markdown of comments as HTML: headings, paragraphs, lists, quotes, code, emphasis, links. HTML in
-- it is text.
local markdown = {}

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

--- A text as HTML.
function markdown.escape(text)
    return (text:gsub('[&<>"]', ENTITIES))
end
local escape = markdown.escape

--- Marks inside a paragraph, of text that is HTML already.
local function emphasis(text)
    text = text:gsub("!%[([^%]]*)%]%(([^%s%)]+)%)", '<img alt="%1" src="%2">')
    text = text:gsub("%[([^%]]+)%]%(([^%s%)]+)%)", function(label, target)
        if target:lower():find "^%s*javascript:" then return label end
        return ('<a href="%s">%s</a>'):format(target, label)
    end)
    text = text:gsub("%*%*([^*]+)%*%*", "<strong>%1</strong>")
    return (text:gsub("%f[%*%w]%*([^*]+)%*", "<em>%1</em>"))
end

--- A paragraph: code between backquotes is left alone.
local function inline(text)
    local parts, at = {}, 1
    for before, code, next_at in text:gmatch "([^`]*)`([^`]+)`()" do
        parts[#parts + 1] = emphasis(escape(before)) .. "<code>" .. escape(code) .. "</code>"
        at = next_at
    end
    parts[#parts + 1] = emphasis(escape(text:sub(at)))
    return table.concat(parts)
end

local function is_special(line)
    return line:find "^#+ " or line:find "^%s*[-*] " or line:find "^%s*%d+%. " or line:find "^```" or line:find "^> "
        or not line:find "%S"
end

local function list(lines, k, pattern, tag, out)
    out[#out + 1] = "<" .. tag .. ">"
    while k <= #lines and lines[k]:find(pattern) do
        local item = { (lines[k]:gsub(pattern, "")) }
        k = k + 1
        while k <= #lines and not is_special(lines[k]) do
            item[#item + 1] = lines[k]:match "^%s*(.*)$"
            k = k + 1
        end
        out[#out + 1] = "<li>" .. inline(table.concat(item, " ")) .. "</li>"
    end
    out[#out + 1] = "</" .. tag .. ">"
    return k
end

local function fence(lines, k, out)
    local code = {}
    k = k + 1
    while k <= #lines and not lines[k]:find "^```" do
        code[#code + 1] = escape(lines[k])
        k = k + 1
    end
    out[#out + 1] = "<pre><code>" .. table.concat(code, "\n") .. "</code></pre>"
    return k + 1
end

--- Lines that are indented by four columns: code, with the empty lines inside.
local function indented(lines, k, out)
    local code = {}
    while k <= #lines and (lines[k]:find "^    " or not lines[k]:find "%S") do
        code[#code + 1] = escape(lines[k]:sub(5))
        k = k + 1
    end
    out[#out + 1] = "<pre><code>" .. table.concat(code, "\n"):gsub("%s+$", "") .. "</code></pre>"
    return k
end

--- Markdown as HTML.
function markdown.html(text)
    local lines, out, k = {}, {}, 1
    for line in (text .. "\n"):gmatch "(.-)\r?\n" do lines[#lines + 1] = line end
    while k <= #lines do
        local line = lines[k]
        local marks, heading = line:match "^(#+) +(.-)%s*#*$"
        if not line:find "%S" then
            k = k + 1
        elseif marks and #marks <= 6 then
            out[#out + 1] = ("<h%d>%s</h%d>"):format(#marks, inline(heading), #marks)
            k = k + 1
        elseif line:find "^```" then
            k = fence(lines, k, out)
        elseif line:find "^    " then
            k = indented(lines, k, out)
        elseif line:find "^%s*[-*] " then
            k = list(lines, k, "^%s*[-*] +", "ul", out)
        elseif line:find "^%s*%d+%. " then
            k = list(lines, k, "^%s*%d+%. +", "ol", out)
        else
            local tag = line:find "^> " and "blockquote" or "p"
            local paragraph = {}
            repeat
                paragraph[#paragraph + 1] = lines[k]:gsub("^> ?", ""):match "^%s*(.*)$"
                k = k + 1
            until k > #lines or is_special(lines[k]) and not (tag == "blockquote" and lines[k]:find "^> ")
            out[#out + 1] = ("<%s>%s</%s>"):format(tag, inline(table.concat(paragraph, "\n")), tag)
        end
    end
    return table.concat(out, "\n")
end

return markdown
