--- colours_test.lua (not under tsan): what is typed at the prompt is coloured by what it is; a string or a bracket
-- without its other end is red, the bracket at the cursor and its other end are marked; not with NO_COLOR.
local check = require "tests.lib.check"
local typing = require "tests.lib.typing"

local test = typing.editing and check.test or function(name) check.skip(name, "built without readline") end

local LETTERS = { [""] = ".", ["0;35"] = "k", ["0;32"] = "s", ["0;36"] = "n", ["0;2"] = "c", ["0;34"] = "l",
                  ["0;31"] = "!", ["0;1;4"] = "m" }

--- The styles of a row as letters, one a column behind the prompt of `prompt` columns.
local function styles(page, row, prompt)
    local letters = {}
    for column = prompt + 1, #page:text(row) do
        letters[#letters + 1] = LETTERS[page:style_at(row, column)] or "?"
    end
    return table.concat(letters)
end

--- Types `text` (into an empty line) and waits until the last row has these styles.
local function looks(session, text, expected, prompt)
    session:type(typing.CTRL_E .. typing.CTRL_U)
    session:shows { ">" }
    session:type(text)
    local page = session.page
    session:wait(function() return styles(page, page.row, prompt or 2) == expected end, text .. "\n  " .. expected)
end

test("tokens have colours", function()
    local session = typing.start { NO_COLOR = "" }
    looks(session, [[local x = np.sum(y, 0x1F) .. "s\"" -- np]],
                    "kkkkk.....ll.lll....nnnn.....sssss.ccccc")
    looks(session, [[for k = 1, #t.np do t.x = 2e-3 end]],
                    "kkk.....n........kk.......nnnn.kkk")
    looks(session, "a = [=[ ']] ]=] .. np.linalg.svd",
                   "....sssssssssss....ll.llllll.lll")
    session:type(typing.CTRL_U)
    check.equal(session:finish(), 0)
end)

test("what is not closed is red", function()
    local session = typing.start { NO_COLOR = "" }
    looks(session, [[x = "abc]], "....!!!!")
    looks(session, [[x = "abc"]], "....sssss")
    looks(session, [[f(g(1)]], ".!.mnm")
    looks(session, [[f(1]=2]], ".!n!.n")
    looks(session, "x = [=[ ab]", "....!!!!!!!")
    session:type(typing.CTRL_U)
    check.equal(session:finish(), 0)
end)

test("the bracket at the cursor and its other end are marked", function()
    local session = typing.start { NO_COLOR = "" }
    looks(session, "f(a[1], ')')", ".m..n...sssm")
    looks(session, "f(a[1], ')')" .. typing.LEFT, ".m..n...sssm")
    looks(session, "f(a[1], ')')" .. typing.LEFT:rep(6), "...mnm..sss.")
    looks(session, "f(a[1], ')')" .. typing.LEFT:rep(5), "....n...sss.")
    session:type(typing.CTRL_E .. typing.CTRL_U)
    check.equal(session:finish(), 0)
end)

test("NO_COLOR sends no style", function()
    local session = typing.start()
    session:type "x = np.sum('abc"
    session:shows { "> x = np.sum('abc" }
    check.equal(session.terminal.seen:find("\27%[[%d;]*m"), nil)
    session:type(typing.CTRL_U)
    check.equal(session:finish(), 0)
end)

typing.forget()
check.done()
