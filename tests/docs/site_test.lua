--- site_test.lua (release build only): the documentation site: every page of Markdown is in it and can be reached from
-- the first one, all links lead to a page and to a place there, and the search index names what exists. In a browser
-- the search finds, examples can be copied, and no page is wider than a telephone.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

for _, tool in ipairs { "cmark-gfm", "mandoc", "luajit", "gnuplot" } do
    if os.execute("command -v " .. tool .. " >/dev/null") ~= 0 then
        check.skip("the documentation site", "no " .. tool .. " (tools/setup --site installs it)")
        return check.done()
    end
end

local build = process.neap:match "^(.*)/" or "."
local site = os.tmpname()
os.remove(site)

local function lines(command)
    local list = {}
    for line in io.popen(command):lines() do list[#list + 1] = line end
    return list
end

local pages = {} -- by path in the site: { links = list, ids = set, html = text }

check.test("one command makes it", function()
    local status, out, err = process.run { "env", "NEAP_SITE_BUILT=1", "NEAP_BUILD=" .. build, "tools/site", site }
    check.equal({ status, err }, { 0, "" }, out)
    for _, path in ipairs(lines("cd " .. site .. " && find . -name '*.html' -printf '%P\n'")) do
        local html = process.read(site .. "/" .. path)
        local page = { html = html, links = {}, ids = {} }
        for link in html:gmatch '[ \n]href="([^"]*)"' do page.links[#page.links + 1] = link end
        for link in html:gmatch '[ \n]src="([^"]*)"' do page.links[#page.links + 1] = link end
        for id in html:gmatch '[ \n]id="([^"]*)"' do page.ids[id] = true end
        pages[path] = page
    end
    for _, path in ipairs(lines "find docs -name '*.md'") do
        local at = path:gsub("^docs/front", "index"):gsub("^docs/", ""):gsub("%.md$", ".html")
        check.ok(pages[at], "no page of " .. path)
    end
    for _, path in ipairs(lines "find docs -name '*.ipynb'") do
        local at = path:gsub("^docs/", ""):gsub("%.ipynb$", ".html")
        check.ok(pages[at], "no page of " .. path)
        check.equal(process.read(site .. "/" .. at:gsub("html$", "ipynb")), process.read(path))
    end
    for _, at in ipairs { "index.html", "readme.html", "contributing.html", "changelog.html",
                          "reference/neap.1.html" } do
        check.ok(pages[at], "no page " .. at)
    end
end)

check.test("notebooks show what their cells show", function()
    local network = pages["notebooks/4-network.html"].html
    check.ok(select(2, network:gsub("<svg", "")) == 3, "not 3 pictures: the curve that grows is one")
    check.ok(network:find("<td style=\"text-align:left\">f32[32,32]</td>", 1, true), network)
    check.ok(pages["course/zh/01-arrays.html"].html:find('<html lang="zh">', 1, true), "the language of a page")
    local timeline = pages["notebooks/6-timeline.html"].html
    check.ok(timeline:find("the timeline is in often.json", 1, true), timeline)
    for at, page in pairs(pages) do
        local is_notebook = at:find "^notebooks/" or at:find "^course/"
        if is_notebook then check.ok(not page.html:find("output error", 1, true), at) end
    end
end)

check.test("the first page: a session that types itself, pictures, numbers of another page", function()
    local html, measured = pages["index.html"].html, process.read "docs/jit.md"
    local typed = select(2, html:gsub("<span class=typed style", ""))
    local shown = select(2, process.read("docs/front.md"):match("```prompt\n(.-)```"):gsub("%f[^\n%z]> ", ""))
    check.equal(typed, shown)
    local at = 0
    for seconds in html:gmatch "%-%-at:([%d.]+)s" do
        check.ok(tonumber(seconds) > at, "lines come in their order")
        at = tonumber(seconds)
    end
    check.equal(select(2, html:gsub("<img ", "")), 3)
    local rows = 0
    for row in process.read("docs/front.md"):gmatch "\n(|[^\n]*)" do
        rows = rows + 1
        check.ok(measured:find("\n" .. row .. "\n", 1, true), "not measured: " .. row)
    end
    check.equal(rows, 8)
    check.ok(not html:find("%shttps?://"), "it needs no network")
end)

--- The path of a link in the page at this path, and its place there; nil for links to elsewhere.
local function target(at, link)
    if link:find "^%a+:" then return nil end
    local path, place = link:match "^([^#?]*)[^#]*#?(.*)$"
    if path == "" then return at, place end
    local parts = {}
    for part in ((at:match "^(.*/)" or "") .. path):gmatch "[^/]+" do
        if part == ".." then
            check.ok(#parts > 0, at .. ": " .. link .. " leads out of the site")
            table.remove(parts)
        elseif part ~= "." then
            parts[#parts + 1] = part
        end
    end
    return table.concat(parts, "/"), place
end

local function exists(path)
    local file = io.open(site .. "/" .. path)
    return file and file:close()
end

check.test("no link is dead", function()
    local dead, count = {}, 0
    for at, page in pairs(pages) do
        for _, link in ipairs(page.links) do
            local path, place = target(at, link)
            if path then
                count = count + 1
                if not exists(path) or place ~= "" and not (pages[path] and pages[path].ids[place]) then
                    dead[#dead + 1] = at .. ": " .. link
                end
            end
        end
    end
    check.equal(dead, {})
    check.ok(count > 1000, "links were looked at")
end)

check.test("every page can be reached", function()
    local reached, next_ones = { ["index.html"] = true }, { "index.html" }
    while #next_ones > 0 do
        local at = table.remove(next_ones)
        for _, link in ipairs(pages[at].links) do
            local path = target(at, link)
            if path and pages[path] and not reached[path] then
                reached[path] = true
                next_ones[#next_ones + 1] = path
            end
        end
    end
    local lost = {}
    for at in pairs(pages) do
        if not reached[at] then lost[#lost + 1] = at end
    end
    check.equal(lost, {})
end)

check.test("what the index of the search names is there", function()
    local found = {}
    for at, title in process.read(site .. "/search_index.js"):gmatch '\n%["([^"]*)","[^"]*","([^"]*)"' do
        local path, place = target("index.html", at)
        check.ok(pages[path] and (place == "" or pages[path].ids[place]), "no place " .. at)
        found[title] = true
    end
    for _, title in ipairs { "np.concatenate, np.concat", "Laziness", "Completion" } do
        check.ok(found[title], title)
    end
end)

if os.execute "command -v chromium >/dev/null" == 0 then
    --- The elements of a page as a browser has them after its scripts ran.
    local function shown(page)
        local status, out, err = process.run { "timeout", "300", "chromium", "--headless", "--no-sandbox",
                                               "--disable-gpu", "--user-data-dir=" .. site .. "/profile",
                                               "--allow-file-access-from-files", "--virtual-time-budget=10000",
                                               "--dump-dom", "file://" .. site .. "/" .. page }
        check.ok(status == 0, err)
        return out
    end

    check.test("the search finds, from pages of all folders", function()
        for page, root in pairs { ["index.html"] = "", ["guides/numpy.html"] = "../" } do
            local results = shown(page .. "?q=np.linspace"):match '<ol id="results"[^>]*>(.-)</ol>' or ""
            local first = results:match '<a href="([^"]*)"'
            check.equal(first, root .. "reference/arrays.html#nplinspace", page .. ": " .. results)
        end
        check.ok(shown "index.html?q=zyxwvut":find("Nothing found", 1, true))
    end)

    check.test("examples have a button that copies what is typed", function()
        local html = shown "index.html"
        local copied = {}
        for text in html:gmatch '<button type="button" value="([^"]*)">Copy</button>' do copied[#copied + 1] = text end
        check.equal(#copied, 3)
        check.ok(copied[1]:find("^local x = np.linspace%(0, 1, 5%)\nx, x:mean%(%)\nlocal loss"), copied[1])
        check.ok(not copied[1]:find("f32", 1, true), copied[1])
        check.equal(copied[3]:match "^%S+", "tools/build")
    end)

    check.test("no page is wider than a telephone, and than its window", function()
        local measured = { "index.html", "readme.html", "jit.html", "course.html", "course/de/01-arrays.html" }
        local file = assert(io.open(site .. "/widths.html", "w"))
        file:write("<body><script>", (([[
            for (const width of [390, 1280]) for (const page of "PAGES".split(" ")) {
                const frame = document.createElement("iframe"), line = document.createElement("p");
                frame.style = "height: 900px; border: 0; width: " + width + "px";
                frame.src = page;
                frame.onload = () => {
                    line.textContent = page + " " + width + " " + frame.contentDocument.documentElement.scrollWidth;
                };
                document.body.append(frame, line);
            }]]):gsub("PAGES", table.concat(measured, " "))), "</script>")
        file:close()
        local count = 0
        for page, width, taken in shown "widths.html":gmatch "<p>(%S+) (%d+) (%d+)</p>" do
            count = count + 1
            check.ok(tonumber(taken) <= tonumber(width), page .. " at " .. width .. " takes " .. taken)
        end
        check.equal(count, 2 * #measured)
    end)
else
    for _, name in ipairs { "the search finds", "examples have a button", "no page is wider than a telephone" } do
        check.skip(name, "no chromium (tools/setup --lab installs it)")
    end
end

check.test("what is for the tests is not shown, and code has its colours", function()
    for at, page in pairs(pages) do
        check.ok(not page.html:find("not run:", 1, true) or at:find "contributing" or at:find "^source/", at)
    end
    check.ok(pages["guides/lua.html"].html:find("<span class=k>local</span>", 1, true), "keywords")
    check.ok(pages["guides/lua.html"].html:find("<span class=o>--&gt; more</span>", 1, true), "what is printed")
    check.ok(pages["prompt.html"].html:find('<span class=p>&gt; </span><span class=k>local</span>', 1, true),
             "a prompt")
end)

os.execute("rm -rf " .. site)
process.cleanup()
check.done()
