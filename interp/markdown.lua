--- markdown.lua: the Markdown of comments as HTML: headings, paragraphs, lists, quotes, code, tables, rules, emphasis,
-- links, and what folds: lines `<details><summary>title</summary>` and `</details>`. All other HTML in it is text.
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

local function is_rule(line)
    local marks = line:gsub("%s", "")
    return #marks >= 3 and (marks:find "^%-+$" or marks:find "^%*+$" or marks:find "^_+$") ~= nil
end

--- The HTML of a line that begins or ends what folds; nil: it is another one.
local function fold(line)
    local title = line:match "^<details><summary>(.-)</summary>%s*$"
    return title and "<details><summary>" .. inline(title) .. "</summary>" or line:match "^</details>%s*$"
end

local function is_special(line)
    return is_rule(line) or fold(line) or line:find "^#+ " or line:find "^%s*[-*] " or line:find "^%s*%d+%. "
        or line:find "^```" or line:find "^> " or not line:find "%S"
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

--- The cells of a line of a table, in which \| is no end of one.
local function cells_of(line)
    local cells = {}
    line = line:gsub("\\|", "\1"):match "^%s*|?(.-)%s*$":gsub("|$", "")
    for cell in (line .. "|"):gmatch "(.-)|" do cells[#cells + 1] = cell:match "^%s*(.-)%s*$":gsub("\1", "|") end
    return cells
end

--- How the columns of the table that begins at a line are aligned, a list of styles; nil: none begins there.
local function table_at(lines, k)
    local rule = lines[k + 1]
    if not (rule and rule:find("|", 1, true) and lines[k]:find("|", 1, true)) then return nil end
    local styles = cells_of(rule)
    if #styles ~= #cells_of(lines[k]) then return nil end
    for column, mark in ipairs(styles) do
        local left, right = mark:match "^(:?)%-+(:?)$"
        if not left then return nil end
        local side = right == "" and "left" or left == "" and "right" or "center"
        styles[column] = (' style="text-align:%s"'):format(side)
    end
    return styles
end

local function pipes(lines, k, styles, out)
    local function row(tag, line)
        local cells = cells_of(line)
        for column, style in ipairs(styles) do
            cells[column] = ("<%s%s>%s</%s>"):format(tag, style, inline(cells[column] or ""), tag)
        end
        out[#out + 1] = "<tr>" .. table.concat(cells, "", 1, #styles) .. "</tr>"
    end
    out[#out + 1] = "<table>"
    row("th", lines[k])
    k = k + 2
    while k <= #lines and not is_special(lines[k]) do
        row("td", lines[k])
        k = k + 1
    end
    out[#out + 1] = "</table>"
    return k
end

--- Markdown as HTML.
function markdown.html(text)
    local lines, out, k = {}, {}, 1
    for line in (text .. "\n"):gmatch "(.-)\r?\n" do lines[#lines + 1] = line end
    while k <= #lines do
        local line = lines[k]
        local marks, heading = line:match "^(#+) +(.-)%s*#*$"
        local below = lines[k + 1] or ""
        local level = below:find "^==+%s*$" and 1 or below:find "^%-%-+%s*$" and 2 -- of a title with a line below it
        if not line:find "%S" then
            k = k + 1
        elseif marks and #marks <= 6 then
            out[#out + 1] = ("<h%d>%s</h%d>"):format(#marks, inline(heading), #marks)
            k = k + 1
        elseif level and not is_special(line) then
            out[#out + 1] = ("<h%d>%s</h%d>"):format(level, inline(line), level)
            k = k + 2
        elseif fold(line) then
            out[#out + 1] = fold(line)
            k = k + 1
        elseif line:find "^```" then
            k = fence(lines, k, out)
        elseif is_rule(line) then
            out[#out + 1] = "<hr>"
            k = k + 1
        elseif table_at(lines, k) then
            k = pipes(lines, k, table_at(lines, k), out)
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
                local quoted = tag == "blockquote" and k <= #lines and lines[k]:find "^> "
            until k > #lines or not quoted and (is_special(lines[k]) or table_at(lines, k))
            out[#out + 1] = ("<%s>%s</%s>"):format(tag, inline(table.concat(paragraph, "\n")), tag)
        end
    end
    return table.concat(out, "\n")
end

return markdown
