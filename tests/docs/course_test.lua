--- course_test.lua (release build only): each notebook of docs/course, the course, runs whole, as a page that
-- `neap --html` makes of it. np.check tells a learner who has written nothing, or what is wrong, and passes the
-- published solution.
--
-- An exercise is a cell with lines that begin with "np.check(". What stands above the first of them is the learner's:
-- the page runs the cell as it is; with a wrong answer, which the cell's metadata has as neap.wrong; and with the
-- solution, the block `lua` that the next cell folds away. Metadata neap.needs names programs without which a notebook
-- is skipped; the tags "picture" and "table" say what a cell shows.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local json = require "neap.files.json"

local FOLDER = "docs/course"
local here = assert(io.popen "mktemp -d"):read "*l"
local neap = process.neap:find "^/" and process.neap or assert(io.popen "pwd"):read "*l" .. "/" .. process.neap

local function source(cell)
    return type(cell.source) == "table" and table.concat(cell.source) or cell.source
end

--- The checks of an exercise, from the first on, and how many there are; nil: the cell is none.
local function checks_of(cell)
    local code = "\n" .. source(cell)
    local at = cell.cell_type == "code" and code:find("\nnp.check(", 1, true)
    if at then return code:sub(at + 1), select(2, code:gsub("\nnp%.check%(", "")) end
end

local function markdown(text) return { cell_type = "markdown", source = text } end
local function code(text) return { cell_type = "code", source = text } end

--- The cells of a page that runs a notebook with its exercises, each behind a mark "@ kind number", and the exercises
-- by the numbers of their cells: how many checks they have.
local function trial(notebook)
    local cells, exercises = {}, {}
    local function add(kind, number, text)
        cells[#cells + 1] = markdown(("@ %s %d"):format(kind, number))
        cells[#cells + 1] = code(text)
    end
    for number, cell in ipairs(notebook.cells) do
        local checks, count = checks_of(cell)
        if cell.cell_type == "code" then add("cell", number, source(cell)) end
        if checks then
            local answer = source(notebook.cells[number + 1]):match "<summary>Solution</summary>.-```lua\n(.-)```"
            exercises[number] = count
            add("wrong", number, cell.metadata.neap.wrong .. "\n" .. checks)
            add("solved", number, answer .. checks)
        end
    end
    return cells, exercises
end

--- What a page of these cells shows: by "kind number" the HTML behind the mark.
local function shown(notebook, cells)
    local file = assert(io.open(here .. "/page.ipynb", "w"))
    file:write(json.write { nbformat = 4, nbformat_minor = 5, metadata = notebook.metadata, cells = cells })
    file:close()
    local status, _, err = process.run { "/usr/bin/env", "-C", here, neap, "--devices", "8", "--html", "page.ipynb" }
    local html = process.read(here .. "/page.html")
    check.equal(status, 0, err .. (html:match '<pre class="output error">(.-)</pre>' or ""))
    local parts = {}
    for kind, at in html:gmatch "<p>@ (%a+ %d+)</p>()" do
        parts[kind] = html:sub(at, (html:find("<p>@ ", at, true) or #html) - 1)
    end
    return parts
end

--- How many lines of what a part writes begin with a word.
local function count(part, word)
    local n = 0
    for output in part:gmatch '<pre class="output">(.-)</pre>' do
        n = n + select(2, ("\n" .. output):gsub("\n" .. word, ""))
    end
    return n
end

local SHOWS = { picture = { "<svg", "<img", "<video", "<iframe" }, table = { "<table" } }

--- Whether a part shows what a tag promises.
local function keeps(part, promise)
    for _, mark in ipairs(SHOWS[promise]) do
        if part:find(mark, 1, true) then return true end
    end
    return false
end

local function check_form(notebook, exercises)
    check.equal({ notebook.nbformat, notebook.nbformat_minor }, { 4, 5 })
    check.equal(notebook.metadata.kernelspec.name, "neap")
    check.ok(source(notebook.cells[1]):find "^# ", "no title")
    local ids, n = {}, 0
    for number, cell in ipairs(notebook.cells) do
        check.ok(not ids[cell.id], "an id stands twice: " .. cell.id)
        ids[cell.id] = true
        if cell.cell_type == "code" then
            check.equal({ #cell.outputs, cell.execution_count == json.null }, { 0, true }, cell.id .. " has outputs")
        end
        if exercises[number] then
            n = n + 1
            local behind = source(notebook.cells[number + 1])
            check.ok(behind:find("<summary>Hint</summary>", 1, true), cell.id .. ": no hint")
        end
    end
    check.ok(n >= 4 and n <= 8, n .. " exercises")
end

local function check_notebook(path)
    local notebook = json.read(process.read(path))
    local cells, exercises = trial(notebook)
    check_form(notebook, exercises)
    local parts = shown(notebook, cells)
    for number, cell in ipairs(notebook.cells) do
        for _, promise in ipairs(cell.metadata.tags or {}) do
            check.ok(keeps(parts["cell " .. number], promise), cell.id .. " shows no " .. promise)
        end
    end
    for number, n in pairs(exercises) do
        local id = notebook.cells[number].id
        local function told(kind) return parts[kind .. " " .. number] end
        check.equal(count(told "cell", "not yet: "), n, id .. ": nothing is written, and is not told")
        check.ok(count(told "wrong", "not yet: ") > 0, id .. ": a wrong answer is not told")
        check.equal({ count(told "solved", "right"), count(told "solved", "not yet: ") }, { n, 0 },
                    id .. ": the solution: " .. told "solved")
    end
end

local page = process.read(FOLDER .. ".md")
for path in assert(io.popen("ls " .. FOLDER .. "/*.ipynb")):lines() do
    local name = path:match "[^/]+$"
    local missing
    for _, program in ipairs((json.read(process.read(path)).metadata.neap or {}).needs or {}) do
        if os.execute("command -v " .. program .. " >/dev/null") ~= 0 then missing = program end
    end
    if missing then
        check.skip(name, "no " .. missing)
    else
        check.test(name, function() check_notebook(path) end)
    end
    check.test(name .. " stands in the list", function() check.ok(page:find("(course/" .. name .. ")", 1, true)) end)
end

os.execute("rm -r '" .. here .. "'")
check.done()
