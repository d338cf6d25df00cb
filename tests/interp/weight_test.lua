--- weight_test.lua (release build only): on a terminal messages, warnings and help stand out by bold letters, and break
-- between words; with NO_COLOR they have no weight.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local COLUMNS = 120 -- of process.terminal
local BOLD, PLAIN = "\27[1m", "\27[0m"

local SCRIPT = process.file [[
local loss = np.nn.mse(np.ones{3}, np.ones{3,1})
local model = np.nn.Sequential{np.nn.Dense(2, 3), np.nn.relu(), np.nn.Dense(3, 1)}
]]
local WARNED = "1: warning: np.nn.mse: " .. BOLD .. "shapes (3,) and (3, 1) broadcast to 9 differences; "
    .. "x:reshape(y.shape) makes them one" .. PLAIN
local FAILED = "neap: " .. SCRIPT .. ":2: " .. BOLD .. "np.nn.relu: argument 1 must be an array or a number, got "
    .. "nothing (nil); a layer without parameters is named, not called: np.nn.relu" .. PLAIN

--- What a terminal has seen, its lines joined by blanks; and the length of the longest one.
local function seen_by(environment)
    local terminal = process.terminal({ SCRIPT }, environment)
    check.equal(terminal:finish(), 1)
    local longest, text = 0, terminal.seen:gsub("\r", "")
    for line in text:gsub("\27%[%d*m", ""):gmatch "[^\n]+" do longest = math.max(longest, #line) end
    return text:gsub("\n", " "), longest
end

check.test("messages and warnings stand out, and break between words", function()
    local text, longest = seen_by { NO_COLOR = "" }
    for _, expected in ipairs { WARNED, FAILED } do check.ok(text:find(expected, 1, true), text) end
    check.ok(longest <= COLUMNS, longest)
end)

check.test("with NO_COLOR they have no weight", function()
    local text, longest = seen_by { NO_COLOR = "1" }
    check.ok(not text:find("\27", 1, true), text)
    for _, expected in ipairs { WARNED, FAILED } do
        check.ok(text:find(expected:gsub("\27%[%d*m", ""), 1, true), text)
    end
    check.ok(longest <= COLUMNS, longest)
end)

check.test("help has weight", function()
    local terminal = process.terminal({ "--no-startup", "-i" }, { NO_COLOR = "", INPUTRC = "/dev/null" })
    terminal:expect "> "
    terminal:send "?np.sum\r"
    terminal:expect(BOLD .. "np.sum(x, {axis=")
    terminal:expect(BOLD .. "  axis" .. PLAIN .. "          an integer")
    terminal:expect("\27[2m  > " .. PLAIN .. "np.array")
    terminal:send ":help\r"
    terminal:expect(BOLD .. ":cd [PATH]" .. PLAIN)
    terminal:expect "is not shown"
    terminal:expect "> "
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

process.cleanup()
check.done()
