--- kernel_messages.lua: sending messages whose content is a Lua table.
local core = require "neap.core"
local channels = require "neap.interp.channels"
local json = require "neap.files.json"

-- parent: the id of the request that is being handled
local messages = {}

--- A name that nothing else has: 32 hexadecimal digits.
function messages.new_id()
    local file = assert(io.open("/dev/urandom", "rb"))
    local bytes = file:read(16)
    file:close()
    return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

--- A value with all texts in UTF-8, and numbers that JSON has.
local function clean(value)
    local kind = type(value)
    if kind == "string" then return channels.clean(value) end
    if kind == "number" and (value ~= value or value == math.huge or value == -math.huge) then return json.null end
    if kind ~= "table" or value == json.null or next(value) == nil then return value end
    local copy = {}
    for key, item in pairs(value) do copy[type(key) == "string" and channels.clean(key) or key] = clean(item) end
    return copy
end

--- Answers a request.
function messages.answer(request, kind, content)
    channels.answer(request, kind, json.write(clean(content)))
end

--- Publishes a message, behind all text so far. A request of nil: the parent is what runs now, also late.
function messages.publish(request, kind, content, metadata)
    channels.publish(request, kind, json.write(clean(content)), metadata and json.write(clean(metadata)))
end

local RED, PLAIN = "\27[0;31m", "\27[0m"

--- The parts of an error: its name, its message, and lines for the traceback, the message in red.
function messages.error_parts(text, interrupted)
    local lines = {}
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    local message = lines[1] or ""
    lines[1] = RED .. message .. PLAIN
    return { ename = interrupted and "Interrupted" or "Error", evalue = message, traceback = lines }
end

--- Waits while clients have not read what was published: a program may publish faster than they read.
function messages.wait_for_room()
    if channels.room() then return end
    core.pump(function() return channels.room() and core.C.NEAP_OK or core.C.NEAP_PENDING end)
end

for _, f in ipairs { clean, messages.wait_for_room } do jit.off(f, true) end

return messages
