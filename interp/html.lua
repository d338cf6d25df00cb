--- html.lua: `neap --html script.lua` runs a script and writes it as a page: its comments of Markdown, its code, and
-- behind each piece of code what it printed and showed. So it does with a notebook of Jupyter.
--
-- Comments of Markdown are blocks `--[[md … ]]` and lines that begin with `--- `, at the left margin; they part the
-- code into cells, which run as commands of the prompt do: local variables stay, and the value of an expression at the
-- end of a cell is shown. A comment inside of a statement is code.
--
-- What the cells write goes into a file that stands for standard output and standard error, so that it is there in
-- order, whoever wrote it; after each cell all effects are waited for. What is shown as HTML, a figure, a table, writes
-- a mark there, in whose place it comes in the end.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local html_parts = require "neap.interp.html_parts"
local markdown = require "neap.interp.markdown"
local repl = require "neap.interp.repl"
local rich = require "neap.interp.rich"
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
figure { margin: .6rem 0; } figure svg, figure img { max-width: 100%%; height: auto; }
.shown { margin: .4rem 0 1rem; overflow-x: auto; font-size: 14px; }
table { border-collapse: collapse; } th, td { padding: .2rem .7rem; }
body > table th, .shown thead th { border-bottom: 1px solid #9ab; }
.shown tbody tr:nth-child(even) { background: #f5f6f8; }
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

-- ---- What is shown --------------------------------------------------------------------------------------------------

local MARK, CLEARED = "\1\2neap shows %d\2\1\n", "\1\2neap clears\2\1\n"

-- What stands for the marks, by their numbers: HTML. And the numbers of what was shown under a display_id.
local shown, by_id = {}, {}

--- An SVG that can stand beside others in a page: its names are its own.
local function inline_svg(svg, number)
    svg = svg:gsub("^.-(<svg)", "%1")
    svg = svg:gsub("(%f[%w]id=)(['\"])([^'\"]+)", ("%%1%%2f%d-%%3"):format(number))
    svg = svg:gsub("(href=['\"])#", ("%%1#f%d-"):format(number)):gsub("url%(#", ("url(#f%d-"):format(number))
    return "<figure>" .. svg .. "</figure>\n"
end

local function plain_html(text)
    return '<pre class="output">' .. escape(text) .. "</pre>\n"
end

--- A bundle (rich.lua) as HTML; nil: it is text.
local function bundle_html(bundle, number)
    if bundle["image/svg+xml"] then return inline_svg(bundle["image/svg+xml"], number) end
    for _, kind in ipairs { "image/png", "image/jpeg", "image/gif" } do
        if bundle[kind] then
            return ('<figure><img alt="" src="data:%s;base64,%s"></figure>\n'):format(kind, escape(bundle[kind]))
        end
    end
    if bundle["text/html"] then return '<div class="shown">' .. bundle["text/html"] .. "</div>\n" end
    if bundle["text/markdown"] then return markdown.html(bundle["text/markdown"]) .. "\n" end
    if bundle["text/latex"] then return plain_html(bundle["text/latex"]) end
end

--- Makes a mark for what is shown; returns its number.
local function mark(html)
    shown[#shown + 1] = html
    io.write(MARK:format(#shown))
    return #shown
end

--- What np.display does in a page. An update takes the places of what was shown with its display_id.
local function show_display(value, how)
    local bundle = rich.bundle(value)
    local numbers = how.display_id and by_id[how.display_id]
    if how.update then
        for _, number in ipairs(numbers or {}) do
            shown[number] = bundle_html(bundle, number) or plain_html(bundle["text/plain"])
        end
        return
    end
    local number = mark(bundle_html(bundle, #shown + 1) or plain_html(bundle["text/plain"]))
    if how.display_id then
        by_id[how.display_id] = numbers or {}
        table.insert(by_id[how.display_id], number)
    end
end

--- Shows the values of a cell's last expression: arrays as text, what has more to show as HTML.
local function present_with(plain)
    return function(is_last, ...)
        if not is_last then return end
        for k = 1, select("#", ...) do
            local value = select(k, ...)
            local html = not core.is_array(value) and bundle_html(rich.bundle(value), #shown + 1)
            if html then
                np.effects_barrier()
                mark(html)
            else
                plain(is_last, value)
            end
        end
    end
end

local function show_figure(figure)
    return mark(inline_svg(figure:svg(), #shown + 1))
end

--- Shows curves that grow: in the page stands how they were in the end.
local function update_figure(figure, known)
    if not known then return show_figure(figure) end
    shown[known] = inline_svg(figure:svg(), known)
    return known
end

--- What a cell wrote, as HTML.
local function output_html(text)
    local parts = {}
    local function add(plain)
        plain = plain:gsub("\27%[[%d;?]*%a", ""):gsub("\n+$", "")
        if plain ~= "" then parts[#parts + 1] = plain_html(plain) end
    end
    local cleared = text:match "^.*\1\2neap clears\2\1\n()"
    local at = cleared or 1
    for before, number, next_at in text:sub(at):gmatch "(.-)\1\2neap shows (%d+)\2\1\n()" do
        add(before)
        parts[#parts + 1] = shown[tonumber(number)]
        at = (cleared or 1) + next_at - 1
    end
    add(text:sub(at))
    return table.concat(parts)
end

--- Has neap show things in the page; returns a function that ends it.
local function install()
    local present = repl.present
    repl.present = present_with(present)
    core.display = { show = show_display, clear = function() io.write(CLEARED) end }
    core.show_figure, core.update_figure = show_figure, update_figure
    return function()
        repl.present, core.display, core.show_figure, core.update_figure = present, nil, nil, nil
    end
end

-- ---- The page -------------------------------------------------------------------------------------------------------

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

local function run_cell(text)
    repl.run(text)
    local show = package.loaded["neap.plot.show"]
    if show then show.rest(true) end
end

--- Runs the parts of a script; returns HTML of each with what it wrote, as functions where that is not final yet, and
-- whether all went well.
local function run_parts(parts, taken)
    local html = {}
    for _, part in ipairs(parts) do
        if part.kind == "text" then
            html[#html + 1] = markdown.html(part.text) .. "\n"
        else
            html[#html + 1] = code_html(part.text)
            local ok, problem = pcall(run_cell, part.text)
            local drained, written = pcall(taken)
            if drained then html[#html + 1] = function() return output_html(written) end end
            if not ok or not drained then
                problem = tostring(not ok and problem or written):gsub("\27%[[%d;?]*%a", "")
                html[#html + 1] = '<pre class="output error">' .. escape(problem) .. "</pre>\n"
                if not part.may_raise then return html, false end
            end
        end
    end
    return html, true
end

--- Runs a script or a notebook and writes it as a page, NAME.html in this folder. Returns whether it went well.
function page.run(path)
    local text = repl.read_file(path, "neap")
    local parts = path:find "%.ipynb$" and html_parts.of_notebook(text, path) or html_parts.of_script(text)
    repl.open()
    local uninstall = install()
    local taken, finish = capture()
    local ok, html, good = pcall(run_parts, parts, taken)
    finish()
    uninstall()
    if not ok then error(html, 0) end
    for k, piece in ipairs(html) do html[k] = type(piece) == "function" and piece() or piece end
    local name = path:match "([^/]+)$"
    local target = name:gsub("%.lua$", ""):gsub("%.ipynb$", "") .. ".html"
    local title = parts[1] and parts[1].kind == "text" and parts[1].text:match "^#+ +([^\n]+)" or name
    local written, problem = files.write(target, { HEAD:format(escape(title)), table.concat(html), "</body></html>\n" })
    if not written then core.fail("neap --html: %s", problem) end
    io.stderr:write("neap: wrote ", target, good and "" or "; the script ended with an error", "\n")
    return good
end

for _, f in ipairs { mark, show_display, present_with, show_figure, update_figure, capture, run_cell, run_parts,
                     page.run } do
    jit.off(f, true)
end

return page
