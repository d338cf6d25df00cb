--- typing.lua: a prompt under a pseudo-terminal into which keys are typed while its page is looked at.
local ffi = require "ffi"
local process = require "tests.lib.process"
local screen = require "tests.lib.screen"

ffi.cdef "int ioctl(int fd, unsigned long request, ...);"
local TIOCSWINSZ = 0x5414

local typing = { UP = "\27[A", DOWN = "\27[B", RIGHT = "\27[C", LEFT = "\27[D", ALT_ENTER = "\27\r",
                 CTRL_A = "\1", CTRL_C = "\3", CTRL_D = "\4", CTRL_E = "\5", CTRL_K = "\11", CTRL_L = "\12",
                 CTRL_P = "\16", CTRL_R = "\18", CTRL_U = "\21" }
local Session = {}
Session.__index = Session

local state = os.tmpname() -- the folder for the history
os.remove(state)
typing.history = state .. "/neap/history"

--- Whether the executable has line editing.
typing.editing = select(2, process.run_neap { "doctor" }):find("line editing +GNU readline") ~= nil

--- A prompt that has just appeared, without colours and a start-up file unless `environment` says so.
function typing.start(environment, arguments)
    local all = { XDG_STATE_HOME = state, NO_COLOR = "1", NEAP_STARTUP = "", INPUTRC = "/dev/null", LC_ALL = "C.UTF-8" }
    for name, value in pairs(environment or {}) do all[name] = value end
    local session = setmetatable({ terminal = process.terminal(arguments or {}, all), page = screen.new(120, 40),
                                   written = 0 }, Session)
    session:shows { ">" }
    return session
end

--- Gives the window another size.
function Session:resize(width, height)
    self.page.width, self.page.height = width, height
    ffi.C.ioctl(self.terminal.fd, TIOCSWINSZ, ffi.new("unsigned short[4]", height, width, 0, 0))
end

--- Types keys, all at once.
function Session:type(keys)
    self.terminal:send(keys)
end

--- Types lines of a block, each when the prompt for it is there: so none is taken for a paste.
function Session:lines(text)
    local from = 1
    for at in text:gmatch "()\r" do
        local row = self.page.row
        self:type(text:sub(from, at))
        self:wait(function()
            return self.page.row > row and self.page:text(self.page.row) == ">>"
        end, "the next line")
        from = at + 1
    end
    self:type(text:sub(from))
end

--- Types characters one by one, each when the one before is shown at the cursor.
function Session:type_slowly(text)
    for character in text:gmatch "." do
        local row, column = self.page.row, self.page.column
        self:type(character)
        self:wait(function() return self.page.row ~= row or self.page.column ~= column end, character)
    end
end

--- Reads what has come onto the page, waiting for at most `seconds` for the first.
function Session:look(seconds)
    self.terminal:fill(seconds)
    self.page:write(self.terminal.seen:sub(self.written + 1))
    self.written = #self.terminal.seen
end

--- The last `count` rows of the page up to the last that is not empty and to the cursor.
function Session:rows(count)
    local page, list = self.page, {}
    local last = #page.rows
    while last > page.row and page:text(last) == "" do last = last - 1 end
    for row = math.max(1, last - count + 1), last do list[#list + 1] = page:text(row) end
    return list, last
end

--- Looks until ready() is true.
function Session:wait(ready, what)
    local deadline = process.now() + 30
    while not ready() do
        self:look(0.05)
        if process.now() > deadline then
            local rows = table.concat(self:rows(40), "\n")
            error(("%s did not come; the cursor is in column %d of row %d behind the last of\n%s"):format(what,
                self.page.column, self.page.row - select(2, self:rows(1)), rows), 3)
        end
    end
end

--- Waits until the page ends with these rows. `up`, `column`: where the cursor is then, in rows above the last one and
-- as its column from 0 (nil: anywhere).
function Session:shows(expected, up, column)
    local text = table.concat(expected, "\n")
    self:wait(function()
        local list, last = self:rows(#expected)
        return table.concat(list, "\n") == text and (not up or self.page.row == last - up)
            and (not column or self.page.column == column)
    end, text)
end

--- Ends the prompt, whose line must be empty.
function Session:finish()
    self:type(typing.CTRL_D)
    return self.terminal:finish()
end

--- Forgets what was typed in all sessions.
function typing.forget()
    os.execute("rm -rf '" .. state .. "'")
end

return typing
