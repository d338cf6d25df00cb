--- html_parts.lua: a script or a notebook as a list of its parts, texts of Markdown and cells of code.
local core = require "neap.core"
local json = require "neap.files.json"

local parts = {}

--- Whether lines of code are complete as they stand: a comment behind them may be one of Markdown.
local function is_complete(lines)
    local text = table.concat(lines, "\n")
    if not text:find "%S" then return true end
    local _, problem = loadstring(text)
    return not (problem and problem:find("near '<eof>'", 1, true) and not loadstring("return " .. text))
end

--- The parts of a script: { kind = "code" or "text", text }.
function parts.of_script(script)
    local lines, list, k = {}, {}, 1
    for line in (script .. "\n"):gmatch "(.-)\r?\n" do lines[#lines + 1] = line end
    if lines[1]:find "^#" then lines[1] = "" end
    local code = {}
    local function add(kind, block)
        while block[1] and not block[1]:find "%S" do table.remove(block, 1) end
        local text = table.concat(block, "\n"):gsub("%s+$", "")
        if text ~= "" then list[#list + 1] = { kind = kind, text = text } end
    end
    while k <= #lines do
        local block = lines[k]:match "^%-%-%[(=*)%[md%s*$"
        local marked = block or lines[k]:find "^%-%-%- " or lines[k] == "---"
        if marked and is_complete(code) then
            add("code", code)
            local text = {}
            if block then
                k = k + 1
                while k <= #lines and not lines[k]:find("]" .. block .. "]", 1, true) do
                    text[#text + 1] = lines[k]
                    k = k + 1
                end
                k = k + 1
            else
                while k <= #lines and (lines[k]:find "^%-%-%- " or lines[k] == "---") do
                    text[#text + 1] = lines[k]:sub(5)
                    k = k + 1
                end
            end
            add("text", text)
            code = {}
        else
            code[#code + 1] = lines[k]
            k = k + 1
        end
    end
    add("code", code)
    return list
end

--- The object that a member of another one is, else an empty one.
local function member(object, name)
    return type(object[name]) == "table" and object[name] or {}
end

--- The text of a cell, which may be a list of lines.
local function joined(source)
    if type(source) ~= "table" then return source end
    local lines = {}
    for k = 1, #source do lines[k] = tostring(source[k]) end
    return table.concat(lines)
end

--- Whether a cell has the tag by which nbconvert knows that its error is meant.
local function may_raise(cell)
    for _, tag in ipairs(member(member(cell, "metadata"), "tags")) do
        if tag == "raises-exception" then return true end
    end
    return false
end

--- The parts of a notebook of Jupyter, of version 4; of code with `may_raise`: whether the page goes on behind its
-- error. `path` is for messages.
function parts.of_notebook(text, path)
    local ok, notebook = pcall(json.read, text)
    if not ok or type(notebook) ~= "table" or type(notebook.cells) ~= "table" or notebook.nbformat ~= 4 then
        core.fail("neap --html: %s is no notebook of version 4%s", path, ok and "" or ": " .. tostring(notebook))
    end
    local metadata = member(notebook, "metadata")
    local language = member(metadata, "kernelspec").language or member(metadata, "language_info").name or "lua"
    if language ~= "lua" then core.fail("neap --html: %s is a notebook of %s", path, tostring(language)) end
    local list = {}
    for k = 1, #notebook.cells do
        local cell = member(notebook.cells, k)
        local source = joined(cell.source)
        if cell.cell_type ~= "raw" and type(source) == "string" and source:find "%S" then
            list[#list + 1] = { kind = cell.cell_type == "code" and "code" or "text", text = source,
                                may_raise = may_raise(cell) }
        end
    end
    return list
end

return parts

