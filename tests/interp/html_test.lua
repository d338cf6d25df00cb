--- html_test.lua (not under tsan): neap --html: comments of Markdown, coloured code, what cells print and show in
-- order, errors.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local markdown = require "neap.interp.markdown"

local here = assert(io.popen "mktemp -d"):read "*l"
local neap = process.neap:find "^/" and process.neap or assert(io.popen "pwd"):read "*l" .. "/" .. process.neap

--- The page of a script, or of a file of another name, its exit status and what was told.
local function page(text, name)
    local file = assert(io.open(here .. "/" .. (name or "script.lua"), "w"))
    file:write(text)
    file:close()
    local status, out, err = process.run { "/usr/bin/env", "-C", here, neap, "--html", name or "script.lua" }
    check.equal(out, "")
    local written = here .. "/" .. (name or "script.lua"):gsub("%.%w+$", ".html")
    local file_there = io.open(written)
    local html = file_there and process.read(written)
    if file_there then file_there:close() end
    os.remove(written)
    return html and html:match "<body>(.*)</body>", status, err, html
end

--- Whether the texts stand in the page in this order.
local function in_order(html, texts)
    local at = 1
    for _, text in ipairs(texts) do
        local from, to = html:find(text, at, true)
        check.ok(from, ("%q does not follow in %s"):format(text, html:sub(at, at + 2000)))
        at = to + 1
    end
end

check.test("comments, code and what it writes, in order", function()
    local html, status, err, whole = page [==[
#!/usr/bin/env neap
--- # The *title* & more
--- A paragraph.
local x = np.arange(3)
print("one", x) io.stderr:write "to stderr\n" os.execute "echo from a child"
x * 2

--[[md
Second text.
]]
local function f()
--- no text
    return x:sum()
end
f(), "text"
--[=[md
Third.
]=]
io.write("no end")]==]
    check.equal(status, 0, err)
    check.equal(err, "neap: wrote script.html\n")
    check.ok(whole:find("<title>The *title* &amp; more</title>", 1, true))
    in_order(html, { "<h1>The <em>title</em> &amp; more</h1>", "<p>A paragraph.</p>",
                     '<span class="keyword">local</span>',
                     '<span class="library">np</span>', "one\t[0 1 2]\nto stderr\nfrom a child\n[0 2 4]  i32[3]",
                     "<p>Second text.</p>", '<span class="comment">--- no text</span>', "3  i32\n&quot;text&quot;",
                     "<p>Third.</p>", "no end" })
end)

check.test("an error is shown, and ends the page", function()
    local html, status, err = page "print 'before'\n--- text\nlocal x = 1\nerror('<oops>')\n--- behind\nprint 'never'"
    check.equal(status, 1)
    check.ok(err:find "wrote script.html; the script ended with an error", err)
    in_order(html, { "before", "text", '<pre class="output error">', "&lt;oops&gt;" })
    check.ok(not html:find("never", 1, true) and not html:find("behind", 1, true))
    html, status = page "local = 3"
    check.equal(status, 1)
    check.ok(html:find("output error", 1, true), html)
    html, status = page ""
    check.equal({ html, status }, { "\n", 0 })
end)

check.test("tables and trees are tables, pictures are pictures, each in its place", function()
    local html, status, err = page [[
print "a" np.display(np.table{x={1, 2}}) print "b"
np.display({["image/png"]="\137PNG\r\n\26\n"}) np.display({["text/markdown"]="*m*"}) print "c"
np.display{["image/png"]='"><script>no()</script>'}
--- next
{w=np.ones(3), n={name="<x>"}}
--- next
np.display("one", {display_id="d"}) print "behind"
--- next
np.update_display({["text/html"]="<b>two</b>"}, "d") print "gone" np.clear_output() print "left"
np.arange(2), np.table{y={5}}
]]
    check.equal(status, 0, err)
    in_order(html, { '>a</pre>', '<div class="shown"><table>', "2 rows, 1 column", ">b</pre>",
                     '<img alt="" src="data:image/png;base64,iVBORw0KGgo=">', "<p><em>m</em></p>", ">c</pre>",
                     '<div class="shown"><table>', "n.name", "&lt;x&gt;", "next", "<b>two</b>", ">behind</pre>", "next",
                     ">left\n[0 1]  i32[2]</pre>", '<div class="shown"><table>' })
    check.ok(not html:find(">one<", 1, true) and not html:find("gone</pre>", 1, true), html)
    check.ok(not html:find("<script", 1, true), "what is no picture ends no attribute")
    check.equal(select(2, html:gsub("\1", "")), 0)
end)

check.test("of arrays with long axes only the ends are looked at", function()
    local rich = require "neap.interp.rich"
    local function cells(x)
        local list = {}
        for cell in rich.bundle(x)["text/html"]:gmatch "<td[^>]*>(.-)</td>" do list[#list + 1] = cell end
        return table.concat(list, " ")
    end
    check.equal(cells(np.arange(2 ^ 40, { dtype = "i64" })), "0 1 2 3 4 5 … 1099511627770 1099511627771 1099511627772 "
        .. "1099511627773 1099511627774 1099511627775")
    check.equal(cells(np.arange(16)), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")
    check.equal(cells(np.arange(17)), "0 1 2 3 4 5 … 11 12 13 14 15 16")
    check.equal(cells(np.ones({ 2 ^ 40, 1 }, { dtype = "i32" })), "1 1 1 1 1 1 ⋮ 1 1 1 1 1 1")
    check.equal(select(2, cells(np.zeros { 100, 2 ^ 30, 3 }):gsub("0", "")), 3 * 3 * 12)
    check.equal(cells(np.arange(21):reshape(21, 1)), "0 1 2 3 4 5 ⋮ 15 16 17 18 19 20")
end)

check.test("a cell shows its last expression", function()
    local html, status = page "10\n20\n30 + 1\n--- next\n40\nnp.table{x={7}}"
    check.equal(status, 0)
    in_order(html, { ">31</pre>", "next", "1 row, 1 column" })
    for _, hidden in ipairs { ">10\n", "\n20\n", ">40</pre>" } do check.ok(not html:find(hidden, 1, true), html) end
end)

check.test("a notebook", function()
    local notebook = [[{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"language": "%s"}}, "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "    some code\n", "\n", "    & more\n", "\n", "text"]},
        {"cell_type": "code", "source": "local k = 20", "outputs": [{"text": "stale"}]},
        {"cell_type": "raw", "source": "raw"}, {"cell_type": "code", "source": []}, 3,
        {"cell_type": "code", "source": ["k + 1,\n", "k + 2"]}]}]]
    local html, status, err, whole = page(notebook:format "lua", "a.b.ipynb")
    check.equal(status, 0, err)
    check.equal(err, "neap: wrote a.b.html\n")
    check.ok(whole:find("<title>Title</title>", 1, true))
    in_order(html, { "<h1>Title</h1>", "<pre><code>some code\n\n&amp; more</code></pre>", "<p>text</p>",
                     "21\n22</pre>" })
    check.ok(not html:find("stale", 1, true) and not html:find("raw", 1, true), html)
    for text, told in pairs {
        [notebook:format "python"] = "is a notebook of python",
        ["{"] = "is no notebook of version 4: no JSON at byte",
        ["[]"] = "is no notebook of version 4",
        ['{"nbformat": 3, "cells": []}'] = "is no notebook of version 4",
    } do
        html, status, err = page(text, "wrong.ipynb")
        check.equal({ html, status }, { nil, 1 })
        check.ok(err:find(told, 1, true), err)
    end
end)

check.test("a notebook goes on behind an error that a cell's tag announces", function()
    local text = [[{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "metadata": {"tags": ["x", "raises-exception"]}, "source": "error('meant')"},
        {"cell_type": "code", "metadata": {"tags": ["raises-exception"]}, "source": "print 'no error'"},
        {"cell_type": "code", "metadata": {"tags": "raises-exception"}, "source": "error('not meant')"},
        {"cell_type": "code", "source": "print 'never'"}]}]]
    local html, status = page(text, "a.ipynb")
    check.equal(status, 1)
    in_order(html, { "meant", "no error", "not meant" })
    check.ok(not html:find("never", 1, true), html)
    check.equal(select(2, page(text:gsub("error%('not meant'%)", "4"), "a.ipynb")), 0)
end)

if os.execute "command -v gnuplot >/dev/null" == 0 then
    check.test("pictures stand where they are shown", function()
        local html, status, err = page [[
print "before" np.plot.line{1, 2}:title("first"):show() print "between"
np.plot.line{2, 1}:title("second")
]]
        check.equal(status, 0, err)
        in_order(html, { ">before</pre>", "<figure><svg", "first</text>", "</svg>", ">between</pre>", "<figure><svg",
                         "second</text>" })
        check.ok(html:find("id='f1-", 1, true) and html:find("id='f2-", 1, true))
        check.ok(not html:find("<?xml", 1, true))
        html = page "local l = np.plot.live{every=0} l:update{loss=1} print 'x' l:update{loss=2}\nl:close();\nprint 'y'"
        check.equal(select(2, html:gsub("<svg", "")), 1)
        in_order(html, { "<figure><svg", ">x\ny</pre>" })
    end)
else
    check.skip("pictures stand where they are shown", "gnuplot is not here (package gnuplot-nox)")
end

check.test("wrong command lines", function()
    for _, words in ipairs { { "--html" }, { "--html", "-" }, { "--html", "-e", "1" } } do
        local status, _, err = process.run_neap(words)
        check.equal(status, 2)
        check.ok(err:find "%-%-html wants the name of a script", err)
    end
    local status, _, err = process.run_neap { "--html", here .. "/none.lua" }
    check.equal(status, 1)
    check.ok(err:find "none.lua", err)
end)

check.test("Markdown", function()
    check.equal(markdown.html "a `b*c*` **d** <e>", "<p>a <code>b*c*</code> <strong>d</strong> &lt;e&gt;</p>")
    check.equal(markdown.html "1. x\n2. y\n\n> q\n> r\n\n```lua\n<\n```", "<ol>\n<li>x</li>\n<li>y</li>\n</ol>\n"
        .. "<blockquote>q\nr</blockquote>\n<pre><code>&lt;</code></pre>")
    check.equal(markdown.html "Title\n=====\n\nNext\n---\n\n* * *", "<h1>Title</h1>\n<h2>Next</h2>\n<hr>")
    check.equal(markdown.html "text\n| a | `b` |\n|:--|--:|\n| 1 \\| 2 | **c**\n| 3 |\n\nend", "<p>text</p>\n<table>\n"
        .. '<tr><th style="text-align:left">a</th><th style="text-align:right"><code>b</code></th></tr>\n'
        .. '<tr><td style="text-align:left">1 | 2</td><td style="text-align:right"><strong>c</strong></td></tr>\n'
        .. '<tr><td style="text-align:left">3</td><td style="text-align:right"></td></tr>\n</table>\n<p>end</p>')
    check.equal(markdown.html "a | b\n--|--\n\n| c |\n| d |\n\n---", '<table>\n<tr><th style="text-align:left">a</th>'
        .. '<th style="text-align:left">b</th></tr>\n</table>\n<p>| c |\n| d |</p>\n<hr>')
    check.equal(markdown.html "a\n<details><summary>*H*</summary>\nb\n\n- c\n</details>\nd <details>", "<p>a</p>\n"
                .. "<details><summary><em>H</em></summary>\n<p>b</p>\n<ul>\n<li>c</li>\n</ul>\n</details>\n"
                .. "<p>d &lt;details&gt;</p>")
    check.equal(markdown.html "[x](javascript:y) [z](a.md)", '<p>x <a href="a.md">z</a></p>')
end)

os.execute("rm -r " .. here)
process.cleanup()
check.done()
