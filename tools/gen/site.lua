--- site.lua: the documentation as a folder of HTML (tools/site).
--
--     luajit site.lua ROOT BUILD OUT
--
-- Every page of Markdown becomes one of HTML at the same place: docs/front.md the first page, docs/X.md X.html. So does
-- every notebook, with what its cells show: `neap --html` runs it; the notebook itself stands beside it. A list of
-- all pages stands beside each, by the groups below; search works without a server, on an index that is a script.
-- Sources that pages refer to are pages too, below source/. tests/docs/site_test.lua follows all links.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"
local front = require "front"
local pages = require "pages"
local highlight = require "highlight"

local root, build, out = arg[1], arg[2], arg[3]
if not out then files.fail("usage: site.lua ROOT BUILD OUT") end
local DEVICES = 8 -- for notebooks about several
local FIRST = "docs/front.md"

-- The pages, by what readers look for. Those of docs/ that stand in no list are topics, those of reference/ all follow.
local GROUPS = {
    { "Start", "docs/front.md README.md docs/guides/lua.md docs/guides/numpy.md docs/guides/jax.md "
        .. "docs/guides/pytorch.md docs/prompt.md docs/install.md docs/stability.md docs/mistakes.md" },
    { "Course", "docs/course.md" },
    { "Kurs", "", language = "de" },
    { "Curso", "", language = "es" },
    { "课程", "", language = "zh" },
    { "Notebooks", "" },
    { "Topics", "" },
    { "Reference", "" },
    { "Inside", "docs/tour.md docs/words.md docs/devices.md CONTRIBUTING.md SECURITY.md CHANGELOG.md" },
}

local function address(path)
    if path == FIRST then return "index.html" end
    return (path:gsub("^docs/", ""):gsub("%.md$", ".html"):gsub("%.ipynb$", ".html"):gsub("^%u+%.html$", string.lower))
end

-- ---- Which pages there are ------------------------------------------------------------------------------------------

local listed, groups = {}, {} -- paths; groups by their names and languages
for _, group in ipairs(GROUPS) do
    group.pages = {}
    groups[group.language or group[1]] = group
    for path in group[2]:gmatch "%S+" do
        listed[path] = true
        table.insert(group.pages, { path = path })
    end
end

--- The group of a page that stands in no list.
local function group_of(path)
    if path:find "^docs/reference/" then return groups.Reference end
    if path:find "^docs/course/" then return groups[path:match "^docs/course/(%l+)/" or "Course"] end
    if path:find "^docs/releases/" then return groups.Inside end
    return path:find "%.ipynb$" and groups.Notebooks or groups.Topics
end

local found = files.command("cd " .. files.quote(root)
    .. " && find docs -name '*.md' -o -name '*.ipynb' | LC_ALL=C sort")
for path in found:gmatch "[^\n]+" do
    local group = group_of(path)
    if not listed[path] then table.insert(group.pages, { path = path }) end
    listed[path] = true
end

-- ---- Reading them ---------------------------------------------------------------------------------------------------

local sources = {} -- paths of files that pages refer to

local function up(at)
    return (at:gsub("[^/]+/", "../"):gsub("[^/]+$", ""))
end

--- Functions that pages of the site at `at` use for the address of a file of the tree.
local function targets(at)
    return function(path)
        if listed[path] then return up(at) .. address(path) end
        sources[path] = true
        return up(at) .. "source/" .. path .. ".html"
    end
end

local working_folder = files.command "pwd":gsub("%s+$", "")

local function absolute(path)
    return path:find "^/" and path or working_folder .. "/" .. path
end

--- The HTML of a notebook with what its cells show.
local function notebook_html(path)
    local folder, name = files.command "mktemp -d":gsub("%s+$", ""), path:match "([^/]+)%.ipynb$"
    files.command(("cd %s && %s --devices %d --html %s 2>&1"):format(files.quote(folder),
        files.quote(absolute(build) .. "/neap"), DEVICES, files.quote(absolute(root) .. "/" .. path)))
    local html = files.read(folder .. "/" .. name .. ".html"):match "<body>(.*)</body>"
    os.execute("rm -r " .. files.quote(folder))
    local link = '<p class=download><a download href="' .. name .. '.ipynb">The notebook</a>, for Jupyter</p>\n'
    return (html:gsub("</h1>\n?", function(heading) return heading .. link end, 1))
end

local all = {}
for _, group in ipairs(GROUPS) do
    for _, page in ipairs(group.pages) do
        page.at = address(page.path)
        local html = page.path:find "%.ipynb$" and notebook_html(page.path)
            or pages.from_markdown(files.read(root .. "/" .. page.path))
        local read = pages.read(page.path, html, targets(page.at))
        for key, value in pairs(read) do page[key] = value end
        page.language = group.language
        if page.path == FIRST then page.html = front.animate(page.html) end
        table.insert(all, page)
    end
end

local manual = build .. "/generated/command_line/neap.1"
local man_html = files.command("mandoc -T html -O fragment " .. files.quote(manual)):gsub("(</?)h1", "%1h2")
local man = { at = "reference/neap.1.html", title = "neap(1): the command line", path = "neap.1", headings = {},
              html = "<h1>The command line</h1>\n" .. man_html }
table.insert(groups.Reference.pages, 1, man)
table.insert(all, man)

-- ---- Writing --------------------------------------------------------------------------------------------------------

local TITLES = { [FIRST] = "neap", ["README.md"] = "Overview", ["CONTRIBUTING.md"] = "Contributing",
                 ["CHANGELOG.md"] = "Changes", ["SECURITY.md"] = "Security" }

local function short_title(page)
    return highlight.escape(TITLES[page.path] or page.title)
end

local function navigation(here)
    local lines = {}
    for _, group in ipairs(GROUPS) do
        table.insert(lines, ("<h2>%s</h2>\n<ul>"):format(group[1]))
        for _, page in ipairs(group.pages) do
            local class = page == here and " class=here aria-current=page" or ""
            table.insert(lines, ("<li><a%s href=\"%s%s\">%s</a></li>"):format(class, up(here.at), page.at,
                                                                         short_title(page)))
        end
        table.insert(lines, "</ul>")
    end
    return table.concat(lines, "\n")
end

--- The headings of a long page, as a list beside it.
local function contents(page)
    local lines = {}
    for _, heading in ipairs(page.headings) do
        if heading.level == 2 or heading.level == 3 then
            table.insert(lines, ("<li class=l%d><a href=\"#%s\">%s</a></li>"):format(heading.level, heading.id,
                                                                           highlight.escape(heading.text)))
        end
    end
    if #lines < 3 then return "" end
    return "<nav class=contents>\n<h2>On this page</h2>\n<ul>\n" .. table.concat(lines, "\n") .. "\n</ul>\n</nav>\n"
end

local PAGE = [[
<!DOCTYPE html>
<html lang="@language@">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>@title@</title>
<link rel="stylesheet" href="@up@style.css">
<script src="@up@search.js" data-root="@up@" defer></script>
<script src="@up@copy.js" defer></script>
</head>
<body@class@>
<header>
<a class=name href="@up@index.html">neap</a>
<form role="search"><input id=search type="search" placeholder="Search (press /)" aria-label="Search"
 autocomplete="off"><ol id=results></ol></form>
</header>
<div class=columns>
<nav class=pages aria-label="All pages">
@navigation@
</nav>
<main>
@html@
</main>
@contents@</div>
</body>
</html>
]]

local function write(page)
    local parts = { title = short_title(page) .. (page.at == "index.html" and ": Lua with arrays" or " · neap"),
                    language = page.language or "en", up = up(page.at), navigation = navigation(page),
                    class = page.path == FIRST and " class=front" or "", html = page.html, contents = contents(page) }
    local path = out .. "/" .. page.at
    os.execute("mkdir -p " .. files.quote(path:match "^(.*)/"))
    files.write(path, (PAGE:gsub("@(%a+)@", parts)))
    for picture in page.html:gmatch '<img src="([^":]+)"' do -- of Markdown: it stands beside the page there
        local from, to = page.path:gsub("[^/]*$", "") .. picture, path:gsub("[^/]*$", "") .. picture
        os.execute("mkdir -p " .. files.quote(to:match "^(.*)/"))
        files.write(to, files.read(root .. "/" .. from))
    end
    if page.path:find "%.ipynb$" then
        files.write((path:gsub("%.html$", ".ipynb")), files.read(root .. "/" .. page.path))
    end
end

os.execute("rm -rf " .. files.quote(out) .. " && mkdir -p " .. files.quote(out))
for _, page in ipairs(all) do write(page) end
for path in pairs(sources) do
    local language = path:match "%.lua$" and "lua" or path:match "%.[ch]$" and "c" or ""
    local file = io.open(root .. "/" .. path)
    local is_file = file and file:read(0)
    if file then file:close() end
    if not is_file then files.fail("site.lua: a page links to %s, which is no file", path) end
    write { at = "source/" .. path .. ".html", title = path, path = path, headings = {},
            html = ("<h1>%s</h1>\n<pre><code>%s</code></pre>"):format(path,
                highlight.html(files.read(root .. "/" .. path), language)) }
end

-- ---- Search ---------------------------------------------------------------------------------------------------------

local function js(text)
    return '"' .. text:gsub('[\\"]', "\\%0"):gsub("%c", " "):gsub("</", "<\\/") .. '"'
end

local index = {}
for _, page in ipairs(all) do
    for _, heading in ipairs(page.headings) do
        local title, body = pages.text(short_title(page)), (heading.body or ""):sub(1, 1500)
        table.insert(index, ("[%s,%s,%s,%s]"):format(js(page.at .. "#" .. heading.id), js(title), js(heading.text),
                                                   js(body)))
    end
end
table.insert(index, ("[%s,%s,%s,%s]"):format(js(man.at), js(man.title), js(man.title), js(pages.text(man.html))))
files.write(out .. "/search_index.js", "neap_search_index = [\n" .. table.concat(index, ",\n") .. "\n];\n")
for _, name in ipairs { "style.css", "search.js", "copy.js" } do
    files.write(out .. "/" .. name, files.read(directory .. "/site/" .. name))
end
print(("%d pages and %d sources in %s"):format(#all, #files.command("find " .. files.quote(out .. "/source")
    .. " -name '*.html' -printf x"), out))
