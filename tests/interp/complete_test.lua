--- complete_test.lua (not under tsan): what Tab makes of the text before the cursor, how it is shown, and where it
-- looks.
local check = require "tests.lib.check"
local complete = require "neap.interp.complete"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"
local screen = require "tests.lib.screen"

local editing = select(2, process.run_neap { "doctor" }):find("line editing +GNU readline") ~= nil
local editing_test = editing and check.test or function(name) check.skip(name, "built without readline") end

-- ---- What is offered ------------------------------------------------------------------------------------------------

local arr = np.ones { 3, 3 }
rawset(_G, "arr", arr)
rawset(_G, "tab", { ["two words"] = 1, other = { arr = arr }, call = function() end, number = 5, _hidden = 1 })
rawset(_G, "str", "text")
rawset(_G, "own_function", function() return arr end)
rawset(_G, "Upper_case", 1)

--- The completions of a text at its end, or where "|" stands; without what they have in common in front.
local function completions(text, fold)
    local point = (text:find("|", 1, true) or #text + 1) - 1
    text = text:gsub("|", "", 1)
    local found = complete.at(text, point, fold or false)
    local rest = {}
    for k = #found > 1 and 2 or 1, #found do rest[#rest + 1] = found[k] end
    return rest
end

--- Expects that the text becomes these texts, and no others.
local function becomes(text, ...)
    check.equal(table.concat(completions(text), "\n"), table.concat({ ... }, "\n"), text)
end

check.test("fields behind a dot, methods behind a colon", function()
    becomes("arr.sha", "arr.shape", "arr.sharding")
    becomes("arr:sha")
    becomes("arr:cums", "arr:cumsum")
    becomes "arr.cums"
    becomes("tab.n", "tab.number")
    becomes "tab:n"
    becomes("tab:c", "tab:call")
    becomes("tab.", "tab.call", "tab.number", "tab.other")
    becomes("tab._", "tab._hidden")
    becomes("str:rev", "str:reverse")
    becomes "str.rev"
    becomes("np.linalg.chol", "np.linalg.cholesky") -- of a part that is loaded by this
    becomes("math.fl", "math.floor")
    for _, text in ipairs(completions "arr:") do
        check.equal(type(arr[text:match ":(.*)$"]), "function", text)
    end
    for _, text in ipairs(completions "arr.") do
        check.ok(type(arr[text:match "%.(.*)$"]) ~= "function", text)
    end
end)

check.test("behind the colon of a plain list what Lua has for lists", function()
    rawset(_G, "list", { 3, 1, name = "x" })
    becomes("list:", "list:concat", "list:insert", "list:remove", "list:sort")
    becomes("list:so", "table.sort(list")
    becomes("print(list:ins", "print(table.insert(list, ")
    becomes "list:name"
    becomes "tab.other:"
    local from, texts = complete.matches("x = list:", 9)
    check.equal({ from, texts }, { 5, { "table.concat(list, ", "table.insert(list, ", "table.remove(list",
                                        "table.sort(list" } })
end)

check.test("of a table its columns and methods, of a column those of its kind", function()
    local days = np.to_datetime { "2020-01-01", "2020-01-02" }
    local rows = np.table { name = { "a", "b" }, born = np.arange(2), day = days }
    rawset(_G, "rows", rows)
    becomes("rows.", "rows.born", "rows.columns", "rows.day", "rows.name", "rows.shape")
    becomes("rows:gro", "rows:group")
    becomes("rows:val", "rows:value_counts") -- of a module that is loaded late
    becomes("rows.born:cums", "rows.born:cumsum")
    becomes("rows.name.lev", "rows.name.levels")
    becomes("rows.name:upp", "rows.name:upper")
    becomes("rows.day.mon", "rows.day.month")
    becomes("rows.day:strf", "rows.day:strftime")
    for _, text in ipairs(completions "rows:") do
        check.equal(type(rows[text:match ":(.*)$"]), "function", text)
    end
end)

check.test("results of calls, brackets and indices that are known to be arrays, and no others", function()
    for _, text in ipairs { "np.ones{3}", "(arr + 1)", "(2 * (1 + arr))", "arr.T", "arr:sum()", "arr:sum{axis=0}:exp()",
                            "arr[0]", 'arr"1:2"', "tab.other.arr", 'tab["other"].arr', "np.linalg.svd(arr)",
                            "print(np.sin(arr) + arr" } do
        becomes(text .. ":cums", text .. ":cumsum")
    end
    for _, text in ipairs { "own_function()", "arr.shape", "arr:item()", "arr:totable()", "unknown", "np.jit(f)",
                            "np.grad(f)(arr)", "(5)", "tab", "arr:dim(0)", "(arr == 1)" } do
        becomes(text .. ":cums")
    end
    becomes(("arr + "):rep(300) .. "arr:cums", ("arr + "):rep(300) .. "arr:cumsum")
    becomes(("("):rep(300) .. "arr" .. (")"):rep(300) .. ":cums") -- too deep to look at
end)

check.test("nothing is called", function()
    local calls = 0
    rawset(_G, "watched", setmetatable({}, { __index = function() calls = calls + 1 end,
                                             __call = function() calls = calls + 1 end }))
    local launches = np.debug.counters().launches
    for _, text in ipairs { "watched.x.", "watched().", "watched:x():", "watched.x:sum{ax", "arr.T:su",
                            "(arr * 2).T:s" } do
        completions(text)
    end
    check.equal(calls, 0)
    check.equal(np.debug.counters().launches, launches)
end)

check.test("options where a function takes them", function()
    becomes("arr:sum{ax", "arr:sum{axis=")
    becomes("np.std(arr, {", "np.std(arr, {axis=", "np.std(arr, {correction=", "np.std(arr, {ddof=",
            "np.std(arr, {keepdims=", "np.std(arr, {where=")
    becomes("arr:sum{axis=0, k", "arr:sum{axis=0, keepdims=")
    becomes "arr:sum{axis=0, a" -- which is given already
    becomes("np.plot.line(arr, {mark", "np.plot.line(arr, {marker=", "np.plot.line(arr, {markersize=")
    becomes("np.plot.line(arr, arr, {ar", "np.plot.line(arr, arr, {arg", "np.plot.line(arr, arr, {arr")
    becomes("np.jit(f, {don", "np.jit(f, {donate=")
    becomes("np.ones{2}:sum{\n  keep", "np.ones{2}:sum{\n  keepdims=")
    becomes "np.zeros{dty"
    becomes("np.zeros({2, 3}, {dty", "np.zeros({2, 3}, {dtype=")
    becomes("np.optim.sgd{mom", "np.optim.sgd{momentum=")
    becomes('np.zeros({2}, {dtype="f3', 'np.zeros({2}, {dtype="f32"')
    becomes("arr:astype'i6|'", "arr:astype'i64")
end)

check.test("variables of the block that is typed", function()
    becomes("local alphabet = 1\nprint(alph", "local alphabet = 1\nprint(alphabet")
    becomes("function f(alphabet, ...)\n  return alph", "function f(alphabet, ...)\n  return alphabet")
    becomes("for alphabet, b in pairs(tab) do print(alph", "for alphabet, b in pairs(tab) do print(alphabet")
    becomes "for alphabet = 1, 2 do end print(alph"
    becomes "do local alphabet end print(alph"
    becomes "if x then local alphabet = 1 else print(alph"
    becomes("repeat local alphabet = 1 until alph", "repeat local alphabet = 1 until alphabet")
    becomes("local function alphabet() end alph", "local function alphabet() end alphabet")
    becomes("local a, alpha = 1, arr * 2\nalpha:cums", "local a, alpha = 1, arr * 2\nalpha:cumsum")
    becomes "local arr = 5\narr:cums"
    becomes "function f(arr) return arr:cums"
    becomes("x = f(alph| + 1)\nlocal alphabet")
end)

check.test("keys of tables", function()
    becomes('tab["tw', 'tab["two words"]')
    becomes("tab['o", "tab['other']")
    becomes('tab["tw|"]', 'tab["two words')
    becomes('print(tab["other"]["a', 'print(tab["other"]["arr"]')
end)

check.test("files in strings and of commands", function()
    local folder = os.tmpname()
    os.remove(folder)
    os.execute(("mkdir -p %s/inner '%s/with space' && touch %s/data.npy %s/date.npy %s/.hidden"):format(
        folder, folder, folder, folder, folder))
    becomes(('np.io.load "%s/da'):format(folder), ('np.io.load "%s/data.npy"'):format(folder),
            ('np.io.load "%s/date.npy"'):format(folder))
    becomes(('f("%s/dat|", 1)'):format(folder), ('f("%s/data.npy'):format(folder), ('f("%s/date.npy'):format(folder))
    becomes(("f('%s/in"):format(folder), ("f('%s/inner/"):format(folder))
    becomes(("f('%s/.h"):format(folder), ("f('%s/.hidden'"):format(folder))
    becomes((":load %s/data"):format(folder), (":load %s/data.npy"):format(folder))
    becomes((":load %s/wi"):format(folder), (':load "%s/with space/'):format(folder))
    becomes((":cd %s/in"):format(folder), (":cd %s/inner/"):format(folder))
    becomes((":cd %s/da"):format(folder))
    becomes(("!ls -l %s/inn"):format(folder), ("!ls -l %s/inner/"):format(folder))
    becomes((":trace %s/inn"):format(folder), (":trace %s/inner/"):format(folder))
    becomes "f('/no/such/folder/x"
    becomes(('arr"%s/da'):format(folder)) -- an index
    local home = os.getenv "HOME"
    if home and home ~= "" then
        local found = completions "f('~/"
        if found[1] then check.equal(found[1]:sub(1, #home + 3), "f('" .. home) end
    end
    os.execute("rm -r " .. folder)
end)

check.test("commands and their arguments", function()
    becomes(":he", ":help")
    becomes(":ben", ":bench")
    becomes(":timel", ":timeline")
    becomes(":time arr:cums", ":time arr:cumsum")
    becomes(":trace /tmp/x arr:cums", ":trace /tmp/x arr:cumsum")
    becomes(":help np.cums", ":help np.cumsum")
    becomes("?np.cums", "?np.cumsum")
    becomes("?cums", "?cumsum")
    becomes(":who own", ":who own_function")
    becomes("=arr:cums", "=arr:cumsum")
    becomes ":nothing x"
end)

check.test("no completion in comments and numbers, nor at the start of a line", function()
    becomes "-- arr:cums"
    becomes "--[[ a\n arr:cums"
    becomes("--[[ a ]] arr:cums", "--[[ a ]] arr:cumsum")
    becomes "0x1"
    becomes ""
    becomes "  "
    becomes "do\n  |\nend"
end)

check.test("case as it was typed, and only then without it", function()
    becomes "upper"
    check.equal(table.concat(completions("upper", true), " "), "Upper_case")
    check.equal(table.concat(completions("arr:CUMS", true), " "), "arr:cumsum")
    becomes("Upp", "Upper_case")
end)

check.test("few names are listed with what they are, many in columns", function()
    completions "arr:cumm"
    local lines = complete.list()
    check.ok(lines:find "^cummax  np%.cummax%(x, {axis=…}%): [^\n]+\ncummin  np%.cummin%(x, [^\n]+$", lines)
    completions "np.sum(arr, {"
    check.ok(complete.list():find "^axis= +%a[^\n]+\ndtype= +that of the result: [^\n]+\ninitial= ",
             complete.list())
    completions "tab."
    check.ok(complete.list():find "^call    function%(%)\nnumber  5\nother   {arr = f32%[3,3%]}$", complete.list())
    completions "arr:"
    local count, longest = 0, 0
    for line in (complete.list() .. "\n"):gmatch "([^\n]*)\n" do
        count, longest = count + 1, math.max(longest, #line)
    end
    check.ok(count > 5 and count <= 20 and longest <= 80, complete.list())
    local many = {}
    for k = 1, 1000 do many[("key%04d"):format(k)] = k end
    rawset(_G, "many", many)
    check.equal(#completions "many.", 1000)
    check.ok(complete.list():find "\n… %(%d+ more%)$", complete.list())
end)

-- ---- At the terminal ------------------------------------------------------------------------------------------------

editing_test("a list stands under the line, and the line again under that", function()
    local terminal = prompts.start {}
    local page = screen.new(120)
    terminal:expect "> "
    page:write "> "
    terminal:send "x = np.ones{3}:cumm"
    page:write(terminal:expect "cumm" .. "cumm")
    terminal:send "\t"
    local shown = terminal:expect "> x = np.ones{3}:cumm"
    page:write(shown .. "> x = np.ones{3}:cumm")
    local rows = {}
    for row = page.row - 3, page.row do rows[#rows + 1] = page:text(row) end
    check.equal(rows[1], "> x = np.ones{3}:cumm")
    check.ok(rows[2]:find "^cummax  np%.cummax" and rows[3]:find "^cummin  np%.cummin", rows[2])
    check.equal(rows[4], rows[1])
    terminal:send "i\t()\n"
    terminal:expect "> "
    terminal:send "x\n"
    terminal:expect "[1. 1. 1.]"
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

editing_test("inputrc decides on the case and on the list", function()
    local inputrc = process.file "set completion-ignore-case on\nset show-all-if-ambiguous off\n"
    local terminal = prompts.start({}, { INPUTRC = inputrc })
    terminal:expect "> "
    terminal:send "np.ARANG\t(3)\n"
    terminal:expect "[0 1 2]"
    terminal:expect "> "
    terminal:send "np.cumm"
    terminal:expect "cumm"
    terminal:send "\t"
    terminal:expect "\7" -- a bell, and no list
    terminal:send "in\n"
    check.ok(not terminal:expect("> "):find "cummax", "no list")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

editing_test("Tab at the start of a line indents", function()
    local terminal = prompts.start {}
    terminal:expect "> "
    terminal:send "s = [[\n"
    terminal:expect ">> "
    terminal:send "\tx]] s\n"
    terminal:expect '"    x"\r\n'
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

editing_test("variables of a breakpoint's function, its commands", function()
    local terminal = prompts.start { "-i", process.file [[
        local outside = np.ones(3)
        function f(weights) local out = outside * weights np.breakpoint() return out end
    ]] }
    terminal:expect "> "
    terminal:send "f(2)\n"
    terminal:expect "(breakpoint) "
    terminal:send "weig\t\n"
    terminal:expect "2\r\n"
    terminal:expect "(breakpoint) "
    terminal:send "outs\t:sha\t" -- no field behind a colon
    terminal:send "\21out.sha\t\t"
    terminal:expect "sharding"
    terminal:send "\21:wher\t\n"
    terminal:expect "in function 'f'"
    terminal:expect "(breakpoint) "
    terminal:send "\4"
    terminal:expect "> "
    terminal:send "weig\t" -- not here
    terminal:send "\21\4"
    check.equal(terminal:finish(), 0)
end)

process.cleanup()
check.done()
