--- server.lua: neap at the far end of a pipe, for neap_array_api.py: runs chunks of Lua and says what they give.
--
-- A request on stdin is a line "CODE BYTES", the bytes of a chunk, and bytes that the chunk sees as P. The chunk also
-- sees np and H, in which arrays that were given out stand under their handles. The answer on stdout is a line for
-- each value, parts of tables behind them, and a line "end":
--
--     array HANDLE DTYPE DIMS…    number DIGITS    integer DIGITS    boolean true    nil
--     string BYTES, then the bytes and a line end    table N (its first N values follow)
--     record N (N times a key and a value follow)    error BYTES, then the message
io.stdout:setvbuf "full"
local handles, last = {}, 0
local environment = setmetatable({ np = np, H = handles }, { __index = _G })

local function say(...) io.stdout:write(table.concat({ ... }, " "), "\n") end

local function tell(value)
    local kind = type(value)
    if np.is_array(value) then
        last = last + 1
        handles[last] = value
        say("array", last, value.dtype, unpack(value.shape))
    elseif kind == "number" then
        say("number", ("%.17g"):format(value))
    elseif kind == "cdata" then
        say("integer", (tostring(value):gsub("U?LL$", "")))
    elseif kind == "string" then
        say("string", #value)
        io.stdout:write(value, "\n")
    elseif kind == "table" and #value == 0 and next(value) ~= nil then
        local n = 0
        for _ in pairs(value) do n = n + 1 end
        say("record", n)
        for k, v in pairs(value) do
            tell(k)
            tell(v)
        end
    elseif kind == "table" then
        say("table", #value)
        for i = 1, #value do tell(value[i]) end
    else
        say(kind == "nil" and "nil" or kind, tostring(value))
    end
end

local function answer(ok, ...)
    if ok then
        for i = 1, select("#", ...) do tell((select(i, ...))) end
    else
        local message = tostring((...))
        say("error", #message)
        io.stdout:write(message, "\n")
    end
    say "end"
    io.stdout:flush()
end

for line in io.lines() do
    local code, bytes = line:match "^(%d+) (%d+)$"
    local text = io.read(tonumber(code))
    environment.P = bytes == "0" and "" or io.read(tonumber(bytes))
    local chunk, message = loadstring(text, "=chunk")
    if chunk then
        answer(pcall(setfenv(chunk, environment)))
    else
        answer(false, message)
    end
end
