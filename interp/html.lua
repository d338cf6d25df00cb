--- html.lua: `neap --html script.lua` runs a script and writes it as a page: its comments of Markdown, its code, and
-- behind each piece of code what it printed and showed.
--
-- Comments of Markdown are blocks `--[[md … ]]` and lines that begin with `--- `, at the left margin; they part the
-- code into cells, which run as commands of the prompt do: local variables stay, and the value of an expression at the
-- end of a cell is shown. A comment inside of a statement is code.
--
-- What the cells write goes into a file that stands for standard output and standard error, so that it is there in
-- order, whoever wrote it; after each cell all effects are waited for. A figure writes a mark there, in whose place its
-- SVG comes.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local markdown = require "neap.interp.markdown"
local repl = require "neap.interp.repl"
local system = require "neap.interp.system"

ffi.cdef [[
    int neap_html_dup(int fd) __asm__("dup");
    int neap_html_dup2(int from, int to) __asm__("dup2");
    int neap_html_open(const char *path, int flags, int mode) __asm__("open");
    int neap_html_close(int fd) __asm__("close");
]]

local page = {}

local escape = markdown.escape
local O_WRITE_NEW = 0x1 + 0x40 + 0x200 + 0x400 -- O_WRONLY, O_CREAT, O_TRUNC, O_APPEND of Linux

local HEAD = [[
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>%s</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; color: #222;
       background: #fff; }
pre { padding: .7rem 1rem; border-radius: 6px; overflow-x: auto; font: 14px/1.45 ui-monospace, Menlo, Consolas,
      monospace; }
pre.code { background: #f5f6f8; margin-bottom: .4rem; }
pre.output { border-left: 3px solid #9ab; border-radius: 0; margin-top: .2rem; padding: .2rem 1rem; white-space: pre; }
pre.error { border-left-color: #c33; color: #a11; white-space: pre-wrap; }
p code, li code { background: #f0f1f4; border-radius: 3px; padding: .1em .3em; }
figure { margin: .6rem 0; } figure svg { max-width: 100%%; height: auto; }
.keyword { color: #8224a8; } .string { color: #1a7f37; } .number { color: #0550ae; }
.comment { color: #6e7781; font-style: italic; } .library { color: #953800; }
</style></head><body>
]]

local CLASSES = { b = "keyword", c = "string", d = "number", e = "comment", f = "library" }

--- Lua code as HTML with colours.
local function code_html(text)
    local styles, parts, from = system.styles(text), {}, 1
    while from <= #text do
        local style = styles:sub(from, from)
        local to = from
        while styles:sub(to + 1, to + 1) == style do to = to + 1 end
        local piece = escape(text:sub(from, to))
        parts[#parts + 1] = CLASSES[style] and ('<span class="%s">%s</span>'):format(CLASSES[style], piece) or piece
        from = to + 1
    end
    return '<pre class="code"><code>' .. table.concat(parts) .. "</code></pre>\n"
end

-- ---- The script -----------------------------------------------------------------------------------------------------

--- Whether lines of code are complete as they stand: a comment behind them may be one of Markdown.
local function is_complete(lines)
    local text = table.concat(lines, "\n")
    if not text:find "%S" then return true end
    local _, problem = loadstring(text)
    return not (problem and problem:find("near '<eof>'", 1, true) and not loadstring("return " .. text))
end

--- The parts of a script: { kind = "code" or "text", text, line }.
local function parts_of(script)
    local lines, parts, k = {}, {}, 1
    for line in (script .. "\n"):gmatch "(.-)\r?\n" do lines[#lines + 1] = line end
    if lines[1]:find "^#" then lines[1] = "" end
    local code, first = {}, 1
    local function add(kind, list, line)
        while list[1] and not list[1]:find "%S" do
            table.remove(list, 1)
            line = line + 1
        end
        local text = table.concat(list, "\n"):gsub("%s+$", "")
        if text ~= "" then parts[#parts + 1] = { kind = kind, text = text, line = line } end
    end
    while k <= #lines do
        local block = lines[k]:match "^%-%-%[(=*)%[md%s*$"
        local marked = block or lines[k]:find "^%-%-%- " or lines[k] == "---"
        if marked and is_complete(code) then
            add("code", code, first)
            local text, begun = {}, k
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
            add("text", text, begun)
            code, first = {}, k
        else
            code[#code + 1] = lines[k]
            k = k + 1
        end
    end
    add("code", code, first)
    return parts
end

-- ---- What is written ------------------------------------------------------------------------------------------------

local MARK = "\1\2neap figure %d\2\1\n"

--- An SVG that can stand beside others in a page: its names are its own.
local function inline_svg(svg, number)
    svg = svg:gsub("^.-(<svg)", "%1")
    svg = svg:gsub("(%f[%w]id=)(['\"])([^'\"]+)", ("%%1%%2f%d-%%3"):format(number))
    svg = svg:gsub("(href=['\"])#", ("%%1#f%d-"):format(number)):gsub("url%(#", ("url(#f%d-"):format(number))
    return "<figure>" .. svg .. "</figure>\n"
end

--- What cells wrote, as HTML.
local function output_html(text, svgs)
    local parts = {}
    local function add(plain)
        plain = plain:gsub("\27%[[%d;?]*%a", ""):gsub("\n+$", "")
        if plain ~= "" then parts[#parts + 1] = '<pre class="output">' .. escape(plain) .. "</pre>\n" end
    end
    local at = 1
    for before, number, next_at in text:gmatch "(.-)\1\2neap figure (%d+)\2\1\n()" do
        add(before)
        parts[#parts + 1] = inline_svg(svgs[tonumber(number)], number)
        at = next_at
    end
    add(text:sub(at))
    return table.concat(parts)
end

--- Sends standard output and standard error into a file; returns functions that give what has come since, and end it.
local function capture()
    local path = os.tmpname()
    local C = ffi.C
    local file = C.neap_html_open(path, O_WRITE_NEW, tonumber("600", 8))
    if file < 0 then core.fail("cannot write into %s", path) end
    np.effects_barrier()
    local out, err = C.neap_html_dup(1), C.neap_html_dup(2)
    C.neap_html_dup2(file, 1)
    C.neap_html_dup2(file, 2)
    C.neap_html_close(file)
    local reader = assert(io.open(path, "rb"))
    os.remove(path)
    local function taken()
        np.effects_barrier()
        reader:seek("cur", 0) -- what was the end of the file is none now
        return reader:read "*a" or ""
    end
    local function finish()
        C.neap_html_dup2(out, 1)
        C.neap_html_dup2(err, 2)
        C.neap_html_close(out)
        C.neap_html_close(err)
        reader:close()
    end
    return taken, finish
end

--- Runs the parts of a script; returns the HTML of each with what it wrote, and whether all went well.
local function run_parts(parts, taken, svgs)
    local html = {}
    for _, part in ipairs(parts) do
        if part.kind == "text" then
            html[#html + 1] = markdown.html(part.text) .. "\n"
        else
            html[#html + 1] = code_html(part.text)
            local ok, problem = pcall(repl.run, part.text)
            local drained, later = pcall(taken)
            if drained then html[#html + 1] = output_html(later, svgs) end
            if not ok or not drained then
                problem = tostring(not ok and problem or later):gsub("\27%[[%d;?]*%a", "")
                html[#html + 1] = '<pre class="output error">' .. escape(problem) .. "</pre>\n"
                return html, false
            end
        end
    end
    return html, true
end

--- Runs a script and writes it as a page, NAME.html in this folder. Returns whether the script went well.
function page.run(path)
    local parts = parts_of(repl.read_file(path, "neap"))
    local svgs = {}
    repl.open()
    function core.show_figure(figure)
        svgs[#svgs + 1] = figure:svg()
        io.write(MARK:format(#svgs))
    end
    local taken, finish = capture()
    local ok, html, good = pcall(run_parts, parts, taken, svgs)
    finish()
    core.show_figure = nil
    if not ok then error(html, 0) end
    local name = path:match "([^/]+)$"
    local target = name:gsub("%.lua$", "") .. ".html"
    local title = parts[1] and parts[1].kind == "text" and parts[1].text:match "^#+ +([^\n]+)" or name
    local text = HEAD:format(escape(title)) .. table.concat(html) .. "</body></html>\n"
    local written, problem = files.write(target, { text })
    if not written then core.fail("neap --html: %s", problem) end
    io.stderr:write("neap: wrote ", target, good and "" or "; the script ended with an error", "\n")
    return good
end

for _, f in ipairs { capture, run_parts, page.run } do jit.off(f, true) end

return page
