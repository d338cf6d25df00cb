--- blocks_test.lua (release build only): every code block of README.md and docs/ runs, and prints what its page shows.
-- tests/lib/blocks.lua says how pages mark their blocks. A path as argument runs that page alone.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local blocks = require "tests.lib.blocks"

local folder = blocks.folder()

local function run_page(path)
    check.test(path, function()
        local problems = blocks.run(blocks.read(path, process.read(path)), folder)
        check.ok(#problems == 0, "\n  " .. table.concat(problems, "\n  "))
    end)
end

--- The problems of a page with this text; ''' stands for a fence.
local function problems_of(text)
    return blocks.run(blocks.read("page.md", (text:gsub("'''", "```"))), folder)
end

local function finds(text, ...)
    local problems = problems_of(text)
    check.equal(#problems, select("#", ...), table.concat(problems, "\n"))
    for k, pattern in ipairs { ... } do check.ok(problems[k]:find(pattern), problems[k]) end
end

if arg and arg[1] then
    run_page(arg[1])
else
    check.test("what holds", function()
        finds "'''lua\nlocal x = 1\nprint(x) --> 1\n'''\ntext\n'''lua\nprint(x + 1)\n'''\n\n'''output\n2\n'''\n"
        finds "'''lua\nprint('took 1.5 ms') --> took 22 µs\n'''\n"
        finds "'''lua\nfor k = 1, 9 do print(k) end\n'''\n'''output\n1\n…\n9\n'''\n"
        finds "'''lua\nerror 'bad'  --> error: bad\n'''\n"
        finds "'''lua own.lua\nprint(1)\nerror('no', 1)\n'''\n'''output\n1\nneap: own.lua:2: no\n…\n'''\n"
        finds "'''console\n$ echo a\na\n$ echo b\nb\n'''\n<!-- not run: takes long -->\n'''sh\nsleep 1000\n'''\n"
        finds("'''prompt\n> local x = 2\n> x + 1\n3\n> for k = 1, 2 do\n>> print(k)\n>> end\n1\n…\n'''\n\n"
              .. "'''prompt\n> x\n2\n'''\n")
        finds "<!-- needs: no-such-program -->\n'''lua\nerror 'not here'\n'''\n"
        finds("<!-- needs: sh -->\n'''lua\nerror 'here'\n'''\n", "here", "status 1")
        finds "<!-- setup\nlocal y = 3\n-->\n'''lua\nprint(y) --> 3\n'''\n\ntext\n'''text\n'''\n"
    end)
    check.test("what does not", function()
        finds("\n'''\nx\n'''\n", "^page.md:2: a block of code says what it is")
        finds("'''lua\nprint(1)\n'''\n", "^page.md:1: the page shows\n +nothing\n +and printed is\n +1")
        finds("'''lua\nprint(1) -- 1\n'''\n", "^page.md:1: the page shows\n +nothing")
        finds("'''lua\nprint(1) --> 1\nprint(2) --> 3\n'''\n", "^page.md:3: ")
        finds("'''lua\nprint(1) --> 1\nlocal x --> 2\n'''\n", "^page.md:3: ")
        finds("'''lua\nlocal x = 1 --> error: no\n'''\n", "^page.md:2: ")
        finds("'''lua\nerror 'x'\n'''\n'''lua\n'''\n", "^page.md:1: .*page.md:2: x", "^page.md:4: does not run",
              "^page.md:1: .*status 1")
        finds("'''console\n$ echo a\nb\n'''\n", "^page.md:3: ")
        finds("'''prompt\n> 1 + 1\n3\n'''\n", "^page.md:3: .*3.* printed is\n +2")
        finds("'''prompt\nx\n'''\n", "^page.md:2: a session begins with a command")
        finds("'''sh\nfalse\n'''\n", "^page.md:1: ends with status 1")
        finds("'''output\n1\n'''\n", "^page.md:1: this output is compared with nothing")
        finds("'''lua\nprint(1)\n'''\n'''text\n1\n'''\n", "^page.md:4: what a block prints is shown as output")
        finds("<!-- not run: -->\n'''sh\n'''\n", "^page.md:1: a reason is missing")
        finds("<!-- not run: x -->\ntext\n", "^page.md:1: no block follows")
    end)
    run_page "README.md"
    run_page "CONTRIBUTING.md"
    for path in io.popen "find docs -name '*.md' | sort":lines() do run_page(path) end
end

os.execute("rm -r " .. folder)
process.cleanup()
check.done()
