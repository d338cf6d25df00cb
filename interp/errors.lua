--- errors.lua: what the user sees of an error: its message and the frames of the user's own code.
--
-- The library's frames (chunks "@neap/…") and C functions are left out: they would hide the line that matters.
local errors = {}

local MAX_FRAMES = 20 -- at each end of a deep stack

local function is_users(info)
    return info.what ~= "C" and info.source:sub(1, 6) ~= "@neap/"
end

local function frame_text(info)
    local where = info.short_src .. ":" .. info.currentline
    if info.what == "main" then return where .. ": in main chunk" end
    if info.name then return where .. ": in function '" .. info.name .. "'" end
    return where .. ": in function <" .. info.short_src .. ":" .. info.linedefined .. ">"
end

--- The user's frames, innermost first, as texts, and their sites "file:line".
local function frame_texts()
    local frames, sites, level = {}, {}, 1
    while true do
        local info = debug.getinfo(level, "Sln")
        if not info then return frames, sites end
        if is_users(info) then
            frames[#frames + 1] = frame_text(info)
            sites[#sites + 1] = info.short_src .. ":" .. info.currentline
        end
        level = level + 1
    end
end

local function message_of(value)
    if type(value) == "string" or type(value) == "number" then return tostring(value) end
    local meta = getmetatable(value)
    if type(meta) == "table" and meta.__tostring or type(value) == "cdata" then return tostring(value) end
    return "error value of type " .. type(value)
end

--- The text for an uncaught error: an error handler for xpcall and its kind.
function errors.describe(value)
    local lines = { message_of(value) }
    local frames, sites = frame_texts()
    if #frames == 1 and lines[1]:sub(1, #sites[1] + 1) == sites[1] .. ":" then return lines[1] end
    if #frames > 0 then lines[2] = "stack traceback:" end
    for k, frame in ipairs(frames) do
        if k == MAX_FRAMES + 1 and #frames > 2 * MAX_FRAMES then
            lines[#lines + 1] = string.format("\t... (%d more)", #frames - 2 * MAX_FRAMES)
        end
        if k <= MAX_FRAMES or k > #frames - MAX_FRAMES then lines[#lines + 1] = "\t" .. frame end
    end
    return table.concat(lines, "\n")
end

return errors
