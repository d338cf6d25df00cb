--- questions_test.lua (not under tsan): `?name` and `??name` at the prompt, `help`, np.help: what they find, and what
-- they say where there is nothing.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local state = process.file ""
os.remove(state)

local READY = "\27[?2004h> " -- the prompt, unlike the "> " of examples

--- Types commands into one prompt of 100 columns or less; returns what is shown for each.
local function answers(...)
    local terminal = process.terminal({}, { XDG_STATE_HOME = state, INPUTRC = "/dev/null", NO_COLOR = "1" })
    terminal:expect(READY)
    local list = {}
    for k, text in ipairs { ... } do
        terminal:send(text .. "\n")
        terminal:expect "\r\n"
        list[k] = terminal:expect(READY):gsub("\27%[%?2004[lh]\r?", ""):gsub("\r\n", "\n")
    end
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    return list
end

--- Checks that an answer has all of these texts, one behind the other.
local function has(answer, ...)
    local from = 1
    for _, text in ipairs { ... } do
        local first, last = answer:find(text, from, true)
        check.ok(first, ("%q is not in:\n%s"):format(text, answer))
        from = last + 1
    end
end

check.test("a function by any of its names: signature, text, options, example", function()
    local list = answers("?np.sum", "?sum", "?x:sum", "?x.sum", "np.sum?", "? np.sum(x)", "help(np.sum)", "help 'sum'",
                         "x = np.ones(2)", "?x:sum", "x.sum?")
    for k, answer in ipairs(list) do
        if k ~= 9 then
            has(answer, "np.sum(x, {axis=…, keepdims=false, dtype=…, where=…, initial=0, out_sharding=…})\n",
                "The sum over axes.",
                "\n  axis          an integer or", "\n  keepdims      true keeps",
                "\n  > np.sum(np.array{{1, 2}, {3, 4}}, {axis=0})\n  [4. 6.]\n")
        end
    end
end)

check.test("what is made from an op row has the row's text, and the row as its source", function()
    local list = answers("?np.sqrt", "??np.sqrt", "?np.asarray", "?np.gt")
    has(list[1], "np.sqrt(a)\n", "The square root, correctly rounded; NaN below 0.", "> np.sqrt(", "dtypes real")
    has(list[2], "The square root", "NEAP_OP(sqrt,\n", ".kind = LAZY_MAP")
    has(list[3], "np.array(data, {dtype=…, copy=…, device=…})\nnp.asarray\n")
    has(list[4], "np.lt(a, b)\n", "np.gt\n", "Short names of np.less")
end)

check.test("a variable of the user comes before the library's function of its name", function()
    local list = answers("mean, t, sum, split = 5, {x = 1}, 'text', true", "?mean", "?t", "?sum", "?split", "?t.x",
                         "?np.mean", "?median", "local mean = 6", "?mean", "t = np.table{age = {1, 2}}", "?t.age")
    has(list[2], "mean: the number 5")
    has(list[3], "t: a table")
    has(list[4], 'sum: the string "text"')
    has(list[5], "split: ")
    has(list[6], "t.x: the number 1")
    has(list[7], "np.mean(x, ")
    has(list[8], "np.median(x")
    has(list[10], "mean: the number 6")
    has(list[12], "t.age: an array, i64[2]")
    check.equal(#answers("x = {1}", "?x...")[2] > 0, true)
end)

check.test("methods of tables and their columns: by the table, by what makes it, as values", function()
    local list = answers("t = np.table{age = {1, 2}, name = {'x', 'y'}}", "?t.group", "help(t.group)", "?t:group",
                         'help "np.table.group"', "?t.name.upper", "?t.nothing_like_it")
    for k = 2, 5 do has(list[k], "table:group(by, ", "A row for each different value of a column") end
    has(list[6], "text:upper()")
    has(list[7], "t.nothing_like_it")
end)

check.test("parts, fields, topics, sections", function()
    local list = answers("?np.linalg", "?linalg.svd", "?x.shape", "?vmap", "?docs/vmap", "?deferred", "?indexing",
                         "?null device", "?np", "?")
    has(list[1], "np.linalg\n", "Linear algebra", "np.linalg.svd ", "np.linalg.trace ")
    has(list[2], "np.linalg.svd(x, {full_matrices=true, compute_uv=true})  -> u, s, vh")
    has(list[3], "x.shape  -> table\n")
    has(list[4], "np.vmap(f, {in_axes=0", "The page on it: ?docs/vmap")
    has(list[5], "# ", "Sections (")
    has(list[7], "x[index]\n", "{from, to, step}", "> x[0]")
    has(list[9], "?np.sum", "Parts:", "np.linalg ", "Pages:", "jit", "Functions of np:", "abs, ")
    has(list[10], "?NAME", ":time CODE")
end)

check.test("the source of a function of the library, without its file", function()
    local list = answers("??np.nn.relu", "??np.linalg.det", "??jit")
    has(list[1], "np.nn.relu(x)\n", "\nfunction nn.relu(x)\n", "\nend\n")
    has(list[2], "function linalg.det(x)")
    has(list[3], "function np.jit(f, given_options)")
end)

check.test("functions of the user: the comment above, the parameters, the place, the source", function()
    local path = process.file [[
-- How far a and b are apart.
-- Both are numbers.
function apart(a, b, ...)
    return math.abs(a - b)
end
model = { layers = { forward = function(x) return x end } }
]]
    local list = answers(("dofile %q"):format(path), "?apart", "??apart", "?model.layers.forward", "help(apart)",
                         "function sum(q) return q end", "?sum", "??sum")
    has(list[2], "apart(a, b, ...)    (", path, ":3)\n", "  How far a and b are apart.\n  Both are numbers.\n")
    has(list[3], "How far", "\nfunction apart(a, b, ...)\n    return math.abs(a - b)\nend\n")
    has(list[4], "model.layers.forward(x)    (", ":6)")
    has(list[5], "(a, b, ...)", "How far")
    has(list[7], "sum(q)    (")
    has(list[8], "sum(q)    ([", "]:1)\n", "\nfunction sum(q) return q end\n")
end)

check.test("values, functions of Lua, and what is not there", function()
    local list = answers("y = np.ones{2, 3}", "?y", "?string", "?math.sin", "?np.reshap", "?quaternion", "n = 3", "?n",
                         "??", "?)(", "?[", "help(nil)")
    has(list[2], "y: an array, f32[2,3]")
    has(list[4], "math.sin: a function of Lua itself (")
    has(list[5], 'There is no help on "np.reshap". Did you mean np.reshape?')
    local begun = answers("?np.lin")[1]
    has(begun, "np.linspace")
    check.ok(not begun:find "Did you mean", begun)
    has(list[6], 'There is no help on "quaternion"', "? alone tells what there is")
    has(list[8], "n: the number 3")
    has(list[9], "?NAME")
    has(list[12], "?np.sum", "Parts:")
end)

check.test("what one looks for without knowing its name", function()
    local list = answers("?save", "?matrix inverse", "?for", "?slices", "?load", "?table",
                         "?np.randn", "?x.detach", "?cat", "?learning rate", "?np.optimize", "?np.signal.remez")
    has(list[1], "np.io.save(path, x)  -> nothing\n")
    has(list[2], 'Functions whose help speaks of "matrix inverse":\n', "np.linalg.inv ")
    check.ok(not list[2]:find "There is no help", list[2])
    has(list[3], "for k = 1, 10 do … end")
    has(list[4], "np.dynamic_slice ", "x.index ")
    has(list[5], "np.io.load(path, {mmap_mode=…, sharding=…})  -> array | table, names\n")
    has(list[6], "t[1] is 1")
    has(list[7], "np.randn is called so in other libraries; here it is np.random.normal(key, {3})\n")
    has(list[8], "here it is np.stop_gradient(x)")
    has(list[9], "here it is np.concatenate{x, y}")
    has(list[10], 'Functions whose help speaks of "learning rate":\n', "np.optim.adam")
    has(list[11], "Roots, minima and fits", "np.optimize.root_scalar ")
    has(list[12], "bessel and firwin make filters")
end)

check.test("completions get options and signatures", function()
    require "neap.inspect.help"
    local arguments = require("neap.core").help.arguments
    local options, signatures = arguments "x:sum"
    check.equal({ options[1].name, options[2].name, options[3].name }, { "axis", "keepdims", "dtype" })
    check.ok(options[1].text:find "^an integer or a table")
    check.equal(signatures, { "np.sum(x, {axis=…, keepdims=false, dtype=…, where=…, initial=0, out_sharding=…})" })
    check.equal(arguments "np.sin", {})
    check.equal(arguments "nosuch", nil)
    check.equal(arguments("w.mean", function() return np.ones(2) end)[1].name, "axis")
end)

check.test("help is loaded with the first question", function()
    local loaded = [[local list = {}
        for _, name in ipairs { "inspect.help", "help_gen", "sources_gen" } do
            list[#list + 1] = tostring(package.loaded["neap." .. name] ~= nil)
        end
        print(table.concat(list, " "))]]
    check.equal(process.output(loaded), "false false false\n")
    check.equal(process.output("np.help 'x.ndim' " .. loaded):match "([^\n]*)\n$", "true true false")
end)

process.cleanup()
check.done()
