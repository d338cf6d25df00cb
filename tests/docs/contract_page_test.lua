--- contract_page_test.lua (release build only): docs/reference/contracts.md is what the files of
-- tests/contracts say.
local check = require "tests.lib.check"
local page = require "tests.lib.contract_page"
local process = require "tests.lib.process"

check.test("the page of contracts is up to date", function()
    local there, now = process.read "docs/reference/contracts.md", page.text()
    local lines = {}
    for line in there:gmatch "[^\n]*\n" do lines[line] = true end
    for line in now:gmatch "[^\n]*\n" do check.ok(lines[line], "run tools/contracts; the page lacks: " .. line) end
    check.ok(there == now, "run tools/contracts")
end)

check.done()
