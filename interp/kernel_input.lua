--- kernel_input.lua: reading from standard input in a notebook: the front end asks the user.
--
-- io.read, io.stdin:read, io.lines and io.stdin:lines ask for a line when they have none left, and wait for the answer
-- as they would for a terminal: callbacks run, an interrupt stops them.
local core = require "neap.core"
local channels = require "neap.interp.channels"
local input = require "neap.interp.input"
local json = require "neap.files.json"
local shared = require("neap.core.globals").shared

local C = core.C
local asking = {}

local SLEEP_MS = 1000

local request -- of the cell that runs; nil: none
local allowed -- whether its client answers
local rest = "" -- of lines that were answered and not read yet

--- A cell begins. Answers to questions of earlier ones are nobody's.
function asking.open(of, may_ask)
    request, allowed, rest = of, may_ask, ""
    while channels.take(true) do end
end

function asking.close()
    request = nil
end

--- Asks for a line, and returns it without its end. An answer that is none is told, and waited for again.
local function ask(prompt, password)
    if not request then error("reading from the user: no cell runs that could ask", 0) end
    if not allowed then error("reading from the user: this client of the kernel does not ask (allow_stdin)", 0) end
    core.np.effects_barrier()
    channels.flush()
    channels.ask(request, json.write { prompt = channels.clean(prompt), password = password })
    local text
    input.wait_until(function()
        core.check_interrupt()
        local reply, _, _, _, content = channels.take(true)
        while reply do
            local ok, value = pcall(json.read, content)
            if ok and type(value) == "table" and type(value.value) == "string" then
                text = value.value
                return true
            end
            channels.complain "stdin: a message is ignored: it is no answer to a question"
            reply, _, _, _, content = channels.take(true)
        end
    end, function() C.neap_waker_sleep(core.waker, SLEEP_MS) end)
    return text
end
asking.ask = ask

--- What is left of the last answer, or another answer.
local function more()
    if rest == "" then rest = ask("", false) .. "\n" end
end

--- The value for one format of io.read.
local function read_one(format)
    if type(format) == "number" then
        if format > 0 then more() end
        local text = rest:sub(1, format)
        rest = rest:sub(#text + 1)
        return text
    end
    local letter = type(format) == "string" and format:match "^%*?(%a)"
    more()
    if letter == "a" then
        local text = rest
        rest = ""
        return text
    elseif letter == "n" then
        local number, behind = rest:match "^%s*([^%s]+)()"
        rest = rest:sub(behind or 1)
        return tonumber(number)
    elseif letter ~= "l" and letter ~= "L" then
        error("bad argument #1 to 'read' (invalid format)", 3)
    end
    local line, behind = rest:match "^([^\n]*)\n()"
    rest = rest:sub(behind)
    return letter == "L" and line .. "\n" or line
end

local function read(...)
    local count, values = select("#", ...), {}
    if count == 0 then return read_one "*l" end
    for k = 1, count do values[k] = read_one((select(k, ...))) end
    return unpack(values, 1, count)
end

function asking.install()
    local files, io = shared.files, shared.io
    local files_read, files_lines, io_read, io_lines = files.read, files.lines, io.read, io.lines
    function files.read(file, ...)
        if file ~= io.stdin then return files_read(file, ...) end
        return read(...)
    end
    function io.read(...)
        if io.input() ~= io.stdin then return io_read(...) end
        return read(...)
    end
    function files.lines(file, ...)
        if file ~= io.stdin then return files_lines(file, ...) end
        return function() return read() end
    end
    function io.lines(name, ...)
        if name ~= nil or io.input() ~= io.stdin then return io_lines(name, ...) end
        return function() return read() end
    end
    core.ask = ask
end

for _, f in ipairs { ask, more, read_one, read } do jit.off(f, true) end

return asking
