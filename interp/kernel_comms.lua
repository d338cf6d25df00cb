--- kernel_comms.lua: comms, the lines between an object in the kernel and one in the front end, each known by an id.
--
--     comm:send, comm:close ─▶ comm_open, comm_msg, comm_close ─▶ front end
--     front end ─▶ comm_msg ─▶ comm.on_message(data) … later(f) ─▶ f(), once no further comm_msg waits
--
-- What a message changes is noted at once, again where an interrupt has stopped that. What follows from changes, such
-- as a call of the user's function, is given to `later`: many messages that came while nobody could take them lead to
-- one call, which sees the last value of each object. A line that a front end opens goes to who has taken the target
-- (`targets`), or is closed.
--
-- The library gets all of this as core.comms; without a notebook there is none.
local core = require "neap.core"
local channels = require "neap.interp.channels"
local json = require "neap.files.json"
local messages = require "neap.interp.kernel_messages"
local system = require "neap.interp.system"

local PATIENCE = 0.1 -- seconds: messages that never end do not keep what follows from them from happening

local comms = { targets = {} } -- by name: f(comm), called when a front end opens one; it sets comm.on_message
local open = {} -- comms by id
local due, since = {}, nil -- what `later` was given, and when the first of these was

local Comm = {}
Comm.__index = Comm

--- Whether a value was a JSON object or list in a message.
local function is_object(value)
    return type(value) == "table" and getmetatable(value) == nil
end

--- Opens a comm: a message tells the front end. data, metadata: tables for it.
function comms.open(target, data, metadata)
    local comm = setmetatable({ id = messages.new_id(), target = target }, Comm)
    open[comm.id] = comm
    messages.publish(nil, "comm_open", { comm_id = comm.id, target_name = target, data = data }, metadata)
    return comm
end

--- Sends a table to the front end's object.
function Comm:send(data)
    if open[self.id] then messages.publish(nil, "comm_msg", { comm_id = self.id, data = data }) end
end

--- Closes the comm; the front end takes its object away.
function Comm:close()
    if not open[self.id] then return end
    open[self.id] = nil
    messages.publish(nil, "comm_close", { comm_id = self.id, data = json.object })
end

--- Has f called once, soon.
function comms.later(f)
    for _, waiting in ipairs(due) do
        if waiting == f then return end
    end
    due[#due + 1] = f
end

--- The id of the request that is being handled: what is published now has it as its parent.
function comms.parent() return messages.parent or "" end

--- The number of messages so far, with those of all text so far.
function comms.made()
    channels.flush()
    return channels.made()
end

--- Takes away what the parent's output area shows; `wait`: when the next output comes.
function comms.clear(wait)
    messages.publish(nil, "clear_output", { wait = wait })
end

--- Calls f(…), code of the user's: true, or false, the text of its error, and whether it was interrupted.
comms.try = system.try

--- Shows an error as that of a cell is shown.
function comms.tell_error(text, interrupted)
    messages.publish(nil, "error", messages.error_parts(text, interrupted))
end

-- ---- Messages of front ends -----------------------------------------------------------------------------------------

local function run_due(loop)
    if not due[1] then return end
    since = since or system.now()
    if loop.comm_follows() and system.now() - since < PATIENCE then return end
    local list = due
    due, since = {}, nil
    for _, f in ipairs(list) do f() end
end

--- Text from here on belongs to the request.
local function begin(request, content)
    channels.begin(request)
    return open[content.comm_id]
end

local function answer_info(_, content)
    local wanted, found, any = content.target_name, {}, false
    for id, comm in pairs(open) do
        if type(wanted) ~= "string" or wanted == comm.target then
            found[id], any = { target_name = comm.target }, true
        end
    end
    return { status = "ok", comms = any and found or json.object }
end

local function take_open(request, content)
    local id, target = content.comm_id, content.target_name
    if begin(request, content) then return end
    local accept = type(id) == "string" and type(target) == "string" and comms.targets[target]
    if not accept then return messages.publish(request, "comm_close", { comm_id = id, data = json.object }) end
    open[id] = setmetatable({ id = id, target = target }, Comm)
    accept(open[id])
end

local function take_message(request, content, loop)
    local comm = begin(request, content)
    if comm and comm.on_message and is_object(content.data) then loop.undisturbed(comm.on_message, content.data) end
    run_due(loop)
end

local function take_close(request, content)
    local comm = begin(request, content)
    if not comm then return end
    open[comm.id] = nil
    if comm.on_close then comm.on_close() end
end

--- Adds the handlers, and gives the library comms.
function comms.install(handlers, loop)
    handlers.comm_info_request = answer_info
    function handlers.comm_open(request, content) take_open(request, content) end
    function handlers.comm_msg(request, content) take_message(request, content, loop) end
    function handlers.comm_close(request, content) take_close(request, content) end
    for _, f in pairs(handlers) do jit.off(f) end
    core.comms = comms
end

for _, f in ipairs { comms.open, Comm.send, Comm.close, run_due, take_open, take_message, take_close } do
    jit.off(f, true)
end

return comms
