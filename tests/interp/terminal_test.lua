--- terminal_test.lua (under asan with --long, starts first): thousands of late lines, of prints and of callbacks,
-- arrive at the prompt while keys are typed, with line editing and without. Every line is shown exactly once, intact
-- and in order, and every command that is read is what was typed.
--
-- Each command leaves more lines to come, so that some are always on their way, however slow the machine is.
local ffi = require "ffi"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local screen = require "tests.lib.screen"

ffi.cdef "int ioctl(int fd, unsigned long request, ...);"
local TIOCSWINSZ = 0x5414

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
local COMMANDS = release and 50 or 15
local LINES = release and 2500 or 400
local WIDTH = 100
local AHEAD = 5 -- commands that are typed before they are read: all of them would take longer than anything waits

local readline = select(2, process.run_neap { "doctor" }):find("line editing +GNU readline") ~= nil

local state = process.file ""
os.remove(state)
local ENVIRONMENT = { XDG_STATE_HOME = state, INPUTRC = "/dev/null" }

--- A script after which record(text) keeps what commands tell it, and sees to it that 300 lines are on their way, about
-- one every millisecond, of prints and of callbacks. save() waits for them and writes down what was told, and in front
-- of that how many lines there were.
local function script(record_path)
    return process.file(([[
        local told, made, seen = {}, 0, 0
        local x = np.zeros(1)
        local call = np.callback(function(k, v)
            seen = k
            np.printf("late %%d is %%d\n", k, v)
            if k %% 20 == 0 then np.sum(v + 1):item() end
        end)
        local function more()
            made = made + 1
            x = np.debug.sleep(x + 1, 1)
            if made %% 2 == 0 then call(made, x) else np.printf("late %%d is %%d\n", made, x) end
        end
        function record(text)
            told[#told + 1] = text
            for _ = made + 1, seen + 300 do more() end
        end
        function save()
            np.effects_barrier()
            local file = io.open(%q, "w")
            file:write(made, "\n", table.concat(told, "\n"))
            file:close()
        end
        record "start"
    ]]):format(record_path))
end

-- ---- A terminal and its page ----------------------------------------------------------------------------------------

local Session = {}
Session.__index = Session

--- A session in which the script has run.
local function new_session(start)
    local record_path = process.file ""
    local session = setmetatable({ record_path = record_path, page = screen.new(WIDTH), shown = 0, searched = 0,
                                   prompts = 0, expected = { "start" }, mixed = 0 }, Session)
    session.terminal = start({ "-i", script(record_path) }, ENVIRONMENT)
    session:resize(WIDTH)
    return session
end

function Session:resize(width)
    self.page.width = width
    ffi.C.ioctl(self.terminal.fd, TIOCSWINSZ, ffi.new("unsigned short[4]", 40, width, 0, 0))
end

--- Reads what comes within `seconds` onto the page.
function Session:look(seconds)
    self.terminal:fill(seconds)
    self.page:write(self.terminal.seen:sub(self.shown + 1))
    self.shown = #self.terminal.seen
end

--- Looks until `ready` returns true.
function Session:look_until(ready, what)
    local deadline = process.now() + 60
    while not ready() do
        self:look(0.005)
        if process.now() > deadline then
            error(what .. " did not come; the line shows " .. self.page:text(self.page.row), 2)
        end
    end
end

--- Types keys in pieces, between which output comes.
function Session:type(keys)
    local before = #self.page.rows
    while #keys > 0 do
        local n = math.random(1, 6)
        self.terminal:send(keys:sub(1, n))
        keys = keys:sub(n + 1)
        local till = process.now() + math.random() * 0.004
        repeat
            self:look(till - process.now())
        until process.now() >= till
    end
    if #self.page.rows > before then self.mixed = self.mixed + 1 end
end

--- Waits for the next prompt of an editor: until it has taken the terminal over once more, and the cursor stands behind
-- the prompt and nothing else.
function Session:await(prompt)
    self.prompts = self.prompts + 1
    local page = self.page
    self:look_until(function()
        return page.modes["2004h"] == self.prompts and page:text(page.row) == prompt and page.column == #prompt + 1
    end, "the prompt")
end

--- Waits for the next line of a block, indented by a step. Behind the cursor the block before may be suggested.
function Session:await_more()
    local page = self.page
    self:look_until(function()
        return page.column == 7 and page:text(page.row):sub(1, 7):gsub(" +$", "") == ">>"
    end, "the next line")
end

--- How many prompts have come of a session without editing, one for each command that is over, and one more.
function Session:answered()
    local _, more = self.terminal.seen:sub(self.searched + 1):gsub(">", "")
    self.searched, self.prompts = #self.terminal.seen, self.prompts + more
    return self.prompts
end

--- How many lines have come.
function Session:count()
    return tonumber(self.terminal.seen:sub(-4096):match ".*late (%d+) is") or 0
end

--- Ends the session and compares what was shown and recorded with what was printed and typed. `before`: a pattern of
-- what may stand in front of a line. `prompt`: that of an editor, which must be there again before the end of input can
-- mean that.
function Session:finish(before, prompt)
    self.terminal:send "save()\n"
    local made, told
    self:look_until(function()
        local file = assert(io.open(self.record_path))
        made, told = file:read "*l", file:read "*a"
        file:close()
        return made and select(2, told:gsub("\n", "")) >= #self.expected - 1
    end, "what was recorded")
    if prompt then self:await(prompt) end
    self.terminal:send "\4"
    self.terminal:expect "late 1 is 1\r\n" -- for the message of a failure
    check.equal(self.terminal:finish(), 0)
    self.page:write(self.terminal.seen:sub(self.shown + 1))
    check.equal(told, table.concat(self.expected, "\n"))

    local count = 0
    for row = 1, #self.page.rows do
        local text = self.page:text(row):gsub("^" .. before, "")
        if text:find "late" then
            count = count + 1
            check.equal(text, ("late %d is %d"):format(count, count), "row " .. row)
        end
    end
    check.equal(count, tonumber(made))
    check.ok(count >= LINES, "few lines came")
    check.ok(self.mixed > COMMANDS / 5, "few commands were typed while lines came: " .. self.mixed)
end

-- ---- With editing ---------------------------------------------------------------------------------------------------

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

local function edit()
    local session = new_session(process.terminal)
    local expected, page, k = session.expected, session.page, 0
    repeat
        session:await ">"
        k = k + 1
        if k % 7 == 0 then session:resize(page.width == WIDTH and WIDTH + 20 or WIDTH) end
        local lines, told = ways[1 + k % #ways](k)
        told = told or expected[#expected] .. " x" -- the last command, with something behind it
        expected[#expected + 1] = told
        for at, keys in ipairs(lines) do
            if at > 1 then session:await_more() end
            session:type(keys)
            session.terminal:send "\n"
        end
    until k >= COMMANDS and session:count() >= LINES
    session:await ">"
    session:finish("", ">")
end

if readline then
    check.test("every line and every command is intact, with editing", edit)
else
    check.skip("every line and every command is intact, with editing", "built without readline")
end

-- ---- Without --------------------------------------------------------------------------------------------------------

check.test("every line and every command is intact, without editing", function()
    local session = new_session(process.piped_terminal) -- typed characters are not shown: the terminal's own echo tears
    session:look_until(function() return session:count() > 0 end, "the first line")
    local k = 0
    repeat
        k = k + 1
        session:look_until(function() return session:answered() > k - AHEAD end, "an answer")
        session.expected[#session.expected + 1] = "plain " .. k
        session:type(('record "pln\127ain %d"\n'):format(k))
        for _ = 1, 10 do session:look(0.004) end
    until k >= COMMANDS and session:count() >= LINES
    session:finish "[> ]*" -- a newline that is not shown leaves the prompt's line as it is
end)

os.execute("rm -rf '" .. state .. "'")
process.cleanup()
check.done()
