--- annotations_test.lua: how tools/gen/lib/annotations.lua reads the comments of Lua files, and what it refuses.
local check = require "tests.lib.check"

package.path = "tools/gen/lib/?.lua;" .. package.path
local files = require "files"
local annotations = require "annotations"

files.fail = function(format, ...) error(format:format(...), 0) end

--- Reads a file, behind one that has the options of all.
local function read(text)
    return annotations.read {
        { path = "common.lua", text = "--- common.lua: first\n\n--- {dtype}: of all\n" },
        { path = "own.lua", text = "--- own.lua: opens\n" .. text },
    }
end

local function texts(entry)
    local list = {}
    for k, signature in ipairs(entry.signatures) do list[k] = signature.text end
    return table.concat(list, " & ")
end

check.test("signatures, text, options and examples", function()
    local entries = read [[

--- {axis}: of this file
-- and more

--- np.sum(x, {axis=…, keepdims=false}), x:sum() -> a, b: the sum
-- of all.
--
--     set in
-- behind
--- keepdims: kept
-- or not
--- > np.sum(1)
-- 1
--
--- > f = function()
--- >> end
    function sum() end

--- A plain comment: of nobody.
]]
    check.equal(#entries, 1)
    local entry = entries[1]
    check.equal(texts(entry), "np.sum(x, {axis=…, keepdims=false}) & x:sum()")
    check.equal(entry.signatures[2].result, "a, b")
    check.equal(entry.text, "the sum of all.\n\n    set in\nbehind")
    check.equal(entry.parameters, { { name = "keepdims", text = "kept or not" },
                                    { name = "axis", text = "of this file and more" } })
    check.equal(entry.option_names, { "axis", "keepdims" })
    check.equal(entry.example, { { code = "np.sum(1)", output = { "1", "" } },
                                 { code = "f = function()\nend", output = {} } })
    check.equal(entry.line, 6)
end)

check.test("the forms of signatures", function()
    for text, name in pairs {
        ["--- np.f(a,\n-- b): x"] = "np.f", ["--- np.opt{lr=1, eps=2}: x"] = "np.opt", ["--- x.shape: x"] = "x.shape",
        ["--- x:at{…}:set(v): x"] = "x:at:set", ['--- x"1:3": x'] = "x:index", ["--- x[1]: x"] = "x:index",
        ["--- np.e, np.pi: x"] = "np.e", ["--- np.f(x)"] = "np.f", ["--- print(…): x"] = "print",
        ["--- np.f({a, b}, {c={1, 2}}): x"] = "np.f",
    } do
        local entries = read("\n" .. text .. "\n")
        check.equal(#entries, 1, text)
        check.equal(entries[1].signatures[1].name, name, text)
    end
    check.equal(annotations.options_of "({a, b}, {c={1, 2}, d=f{x=1}})", { { name = "c", default = "{1, 2}" },
                                                                         { name = "d", default = "f{x=1}" } })
    check.equal(annotations.options_of "{lr=…}", { { name = "lr" } })
    check.equal(annotations.options_of "(x, y)", {})
end)

check.test("a file opens with its part, unless the function has its own annotation", function()
    local function names(text)
        local list = {}
        for k, entry in ipairs(annotations.read { { path = "a.lua", text = text } }) do
            list[k] = entry.signatures[1].name .. ":" .. entry.text
        end
        return table.concat(list, " ")
    end
    check.equal(names "--- a.lua: np.part: one.\nlocal x\n", "np.part:one.")
    check.equal(names "--- a.lua: np.f: one.\nlocal x\n--- np.f(): two.\n", "np.f:two.")
    check.equal(names "--- a.lua: np.f, np.g and more.\nlocal x\n", "")
end)

check.test("what is no annotation and looks like one is refused with its place", function()
    for text, problem in pairs {
        ["\n--- np.f(x) does it\n"] = "own.lua:3: annotation: ': ' or ', ' behind the signature np.f is missing",
        ["\n--- np.f(x), g: it\n"] = "own.lua:3: annotation: a signature after ', ' is missing",
        ["\n--- np.f(x): it\n--- which: is\n--- no parameter\n"] = "'--- no parameter' is neither 'name: …' nor '> …'",
        ["\n--- np.f(x): it\n--- >> 1\n"] = "'>>' without a line before",
        ["\n--- It does.\n--- > 1\n"] = "a signature at the top of an example is missing",
        ["\n--- {axis}: x\n--- axis\n"] = "'--- axis' is not '{name}: …'",
    } do
        check.raises(function() read(text) end, problem)
    end
end)

check.done()
