--- translations_test.lua (release build only): the course in other languages, docs/course/de and its like. A translated
-- notebook is the original, cell by cell: the code is the same but for comments and for texts that a picture or
-- np.check shows, and so are the programs in its solutions; its text has the same numbers, headings, tables and folded
-- parts. So what course_test.lua runs is what stands in all languages, and nothing is run here.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local json = require "neap.files.json"
local tokens = require "neap.interp.tokens"

local FOLDER = "docs/course"
local SHOWN = { label = true, name = true, title = true, xlabel = true, ylabel = true } -- what a text stands behind

local function source(cell)
    return type(cell.source) == "table" and table.concat(cell.source) or cell.source
end

local function lines(command)
    local list = {}
    for line in io.popen(command):lines() do list[#list + 1] = line end
    return list
end

--- The tokens of a program, without comments and without the texts that somebody reads.
local function code_of(text)
    local list, words = tokens.read(text), {}
    for k, token in ipairs(list) do
        local before = list[k - 1]
        if before and (before.word == "=" or before.word == "(") then before = list[k - 2] end
        local is_text = token.kind == "string" and before and SHOWN[before.word]
        words[k] = is_text and '"…"' or token.word
    end
    return table.concat(words, " ")
end

--- What all languages share of a text: its programs, numbers, and what stands at the beginnings of its lines.
local function form_of(text)
    local form = { programs = {}, numbers = {}, marks = {} }
    text = text:gsub("```lua\n(.-)```", function(program)
        table.insert(form.programs, code_of(program))
        return ""
    end)
    for number in text:gsub("%]%b()", "]"):gmatch "%d[%d.]*%f[^%d.]" do
        table.insert(form.numbers, (number:gsub("%.$", "")))
    end
    table.sort(form.numbers)
    for mark in ("\n" .. text):gmatch "\n([#|<-][#/%a]*)" do table.insert(form.marks, mark) end
    return form
end

local function check_translation(original, translated)
    check.equal(translated.metadata, original.metadata)
    check.equal({ translated.nbformat, translated.nbformat_minor }, { 4, 5 })
    check.equal(#translated.cells, #original.cells)
    for k, cell in ipairs(original.cells) do
        local other, id = translated.cells[k], cell.id
        check.equal({ other.id, other.cell_type }, { id, cell.cell_type })
        check.equal(other.metadata, cell.metadata, id)
        local text, other_text = source(cell), source(other)
        if cell.cell_type == "code" then
            check.equal(code_of(other_text), code_of(text), id)
            check.equal({ #other.outputs, other.execution_count == json.null }, { 0, true }, id .. " has outputs")
        else
            check.equal(form_of(other_text), form_of(text), id)
            check.ok(other_text ~= text, id .. " is not translated")
        end
    end
end

local page = process.read(FOLDER .. ".md")
local languages = lines("cd " .. FOLDER .. " && ls -d */")
check.test("there are translations", function() check.ok(#languages >= 3) end)
for _, language in ipairs(languages) do
    for _, name in ipairs(lines("cd " .. FOLDER .. "/" .. language .. " && ls")) do
        check.test(language .. name, function()
            local original = json.read(process.read(FOLDER .. "/" .. name))
            check_translation(original, json.read(process.read(FOLDER .. "/" .. language .. name)))
            check.ok(page:find("(course/" .. language .. name .. ")", 1, true), "it does not stand in the list")
        end)
    end
end

check.done()
