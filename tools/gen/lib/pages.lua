--- pages.lua: a page of Markdown as HTML, by cmark-gfm; with an id for each heading, links between pages, and coloured
-- code. What pages say to the tests, in comments, is left out.
local files = require "files"
local highlight = require "highlight"

local pages = {}

local ENTITIES = { amp = "&", lt = "<", gt = ">", quot = '"' }

--- HTML as plain text.
function pages.text(html)
    return (html:gsub("<[^>]*>", ""):gsub("&(%a+);", ENTITIES))
end

--- The id of a heading, as GitHub makes it; `taken` has those of the page.
local function id_of(text, taken)
    local id = text:lower():gsub("[^%w%s_\128-\255-]", ""):gsub("%s", "-")
    local unique, k = id, 0
    while taken[unique] do
        k = k + 1
        unique = id .. "-" .. k
    end
    taken[unique] = true
    return unique
end

local function from_markdown(text)
    local path = os.tmpname()
    files.write(path, text)
    local html = files.command("cmark-gfm --unsafe -e table -e strikethrough " .. files.quote(path))
    os.remove(path)
    return html
end

--- The path that a link of a page leads to, from the root: "docs/guides/../numbers.md" is "docs/numbers.md".
local function resolved(folder, link)
    local parts = {}
    for part in (folder .. link):gmatch "[^/]+" do
        if part == ".." then
            table.remove(parts)
        elseif part ~= "." then
            parts[#parts + 1] = part
        end
    end
    return table.concat(parts, "/")
end

--- The HTML of a page of Markdown, with coloured code.
function pages.from_markdown(markdown)
    local html = from_markdown((markdown:gsub("<!%-%-.-%-%->\n?", "")))
    return (html:gsub('<pre><code class="language%-(%w+)[^"]*">(.-)</code></pre>', function(language, code)
        return ("<pre class=%s><code>%s</code></pre>"):format(language,
            highlight.html(code:gsub("&(%a+);", ENTITIES), language))
    end))
end

--- The page of this path from its HTML. target(path) is the address of a file of the tree in the site, as seen from
-- this page. Returns { title, html, headings = list of { level, id, text, html, body = the text below it } }.
function pages.read(path, html, target)
    local folder = path:match "^(.*/)" or ""
    html = html:gsub('(<a href=")([^"#]*)(#?[^"]*")', function(before, link, after)
        if link == "" or link:find "^%a+:" then return before .. link .. after end
        return before .. target(resolved(folder, link)) .. after
    end)
    local page = { headings = {} }
    local taken = {}
    html = html:gsub("<h(%d)>(.-)</h%d>", function(level, inner)
        local text = pages.text(inner)
        local id = id_of(text, taken)
        table.insert(page.headings, { level = tonumber(level), id = id, text = text })
        return ('<h%s id="%s">%s<a class=anchor href="#%s">#</a></h%s>'):format(level, id, inner, id, level)
    end)
    html = html:gsub("<table>", "<div class=table><table>"):gsub("</table>", "</table></div>")
    page.html, page.title = html, page.headings[1] and page.headings[1].text or path
    local k = 0
    for body in (html .. "<h1"):gmatch "</h%d>(.-)%f[<]<h%d?" do
        k = k + 1
        if page.headings[k] then page.headings[k].body = pages.text(body):gsub("%s+", " ") end
    end
    return page
end

return pages
