--- terminal_test.lua: thousands of late lines arrive at the prompt while keys are typed. Every line is shown exactly
-- once, intact and in order, and every command that is read is what was typed.
local ffi = require "ffi"
local check = require "tests.check"
local process = require "tests.interp.process"
local screen = require "tests.interp.screen"

ffi.cdef "int ioctl(int fd, unsigned long request, ...);"
local TIOCSWINSZ = 0x5414

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
local LINES = release and 3000 or 500
local WIDTH = 100

local readline = select(2, process.run_neap { "doctor" }):find("line editing +GNU readline") ~= nil
if not readline then
    check.skip("editing under late output", "built without readline")
    check.done()
end

local state = process.file ""
os.remove(state)
local record_path = process.file ""

--- A script that leaves LINES prints behind, one about every millisecond, and records what commands tell it.
local script = process.file(([[
    local told = {}
    function record(text) told[#told + 1] = text end
    function save()
        local file = io.open(%q, "w")
        file:write(table.concat(told, "\n"))
        file:close()
    end
    local x = np.zeros(1)
    for k = 1, %d do
        x = np.debug.sleep(x + 1, 1)
        np.printf("late %%d is %%d\n", k, x)
    end
]]):format(record_path, LINES))

local terminal = process.terminal({ "-i", script }, { XDG_STATE_HOME = state })
local page = screen.new(WIDTH)
local shown = 0

local function resize(width)
    page.width = width
    ffi.C.ioctl(terminal.fd, TIOCSWINSZ, ffi.new("unsigned short[4]", 40, width, 0, 0))
end

--- Reads what comes within `seconds` onto the page.
local function look(seconds)
    local came = terminal:fill(seconds)
    page:write(terminal.seen:sub(shown + 1))
    shown = #terminal.seen
    return came
end

--- Waits until the cursor stands behind this prompt and nothing else, and stays there: it does so for a moment too when
-- a line is drawn again.
local function await(prompt)
    local deadline, seen = process.now() + 20, 0
    repeat
        look(0.005)
        seen = page:text(page.row) == prompt and page.column == #prompt + 1 and seen + 1 or 0
        if process.now() > deadline then error("no prompt; the line shows " .. page:text(page.row), 2) end
    until seen == 4
end

--- Types keys in pieces, between which output comes.
local function type_keys(keys)
    while #keys > 0 do
        local n = math.random(1, 6)
        terminal:send(keys:sub(1, n))
        keys = keys:sub(n + 1)
        look(math.random() * 0.004)
    end
end

local expected = {}
local LEFT, RIGHT, UP = "\27[D", "\27[C", "\27[A"

--- The ways of typing record("…"): the keys of each line, and what is recorded.
local ways = {
    function(k) return { ('record "plain %d"'):format(k) }, "plain " .. k end,
    function(k) return { ('record "typpe\127\127o %d"'):format(k) }, ("typo %d"):format(k) end,
    function(k) return { ('cord "front %d"\1re\5'):format(k) }, "front " .. k end,
    function(k) return { ('record "lft %d"\1%se'):format(k, RIGHT:rep(9)) }, "left " .. k end,
    function(k)
        return { ('garbage\21record "kill %d x"%s\23"\5\127'):format(k, LEFT) }, ("kill %d "):format(k)
    end,
    function(k) return { ('reco\t "tab %d"'):format(k) }, "tab " .. k end,
    function(k) return { "record(", ('"several %d"'):format(k), ")" }, "several " .. k end,
    function(k) return { ('\27[200~record "paste %d"\27[201~'):format(k) }, "paste " .. k end,
    function(k) return { ('record "%s%d"'):format(("long "):rep(30), k) }, ("long "):rep(30) .. k end,
    function(k) return { ('record "again %d"'):format(k) .. "\1\11" .. UP .. "\5\127 x" .. '"' }, nil end,
}

check.test("every line and every command is intact", function()
    math.randomseed(7)
    resize(WIDTH)
    terminal:expect "> "
    page:write(terminal.seen)
    shown = #terminal.seen
    local k, last = 0, ("late %d is"):format(LINES)
    repeat
        await ">"
        k = k + 1
        if k % 7 == 0 then resize(page.width == WIDTH and WIDTH + 20 or WIDTH) end
        local lines, told = ways[1 + k % #ways](k)
        told = told or expected[#expected] .. " x" -- the last command, with something behind it
        expected[#expected + 1] = told
        for at, keys in ipairs(lines) do
            if at > 1 then await ">>" end
            type_keys(keys)
            terminal:send "\n"
        end
    until terminal.seen:find(last, 1, true)
    await ">"
    terminal:send "save()\n"
    await ">"
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
    page:write(terminal.seen:sub(shown + 1))

    local file = assert(io.open(record_path))
    check.equal(file:read "*a", table.concat(expected, "\n"))
    file:close()
    local count = 0
    for row = 1, #page.rows do
        local text = page:text(row)
        if text:find "late" then
            count = count + 1
            check.equal(text, ("late %d is %d"):format(count, count), "row " .. row)
        end
    end
    check.equal(count, LINES)
    check.ok(k > 20, "few commands were typed")
end)

os.execute("rm -rf '" .. state .. "'")
process.cleanup()
check.done()
