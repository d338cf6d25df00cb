--- memory.lua: np.memory(): what arrays take, at its peak too; np.memory.lines(), np.memory.trim() and
-- np.memory.reset_peak().
--
-- The numbers are the engine's own (engine/memory.c): bytes of blocks, also of those that only work in flight holds.
-- The devices of the CPU share one memory, which is called "cpu" here; other devices have a memory each.
local ffi = require "ffi"
local core = require "neap.core"

local C = core.C
local tonumber = tonumber

local memory = {}

local UNITS = { "KiB", "MiB", "GiB", "TiB" }

--- "12.5 MiB": bytes for people.
local function readable(bytes)
    if bytes < 1024 then return ("%d B"):format(bytes) end
    local unit = 0
    repeat
        bytes = bytes / 1024
        unit = unit + 1
    until bytes < 1024 or unit == #UNITS
    return ("%.1f %s"):format(bytes, UNITS[unit])
end

local function limit_text(bytes)
    return bytes == 0 and "none" or readable(bytes)
end

local Stats = {}
local ROW = "%-8s %10s %10s %10s %10s %10s"

--- The summary: a line per memory, and what its pool has asked the system for.
function Stats.__tostring(stats)
    local lines = { ROW:format("memory", "live", "peak", "pooled", "reserved", "limit") }
    for _, one in ipairs { stats, unpack(stats.others or {}) } do
        lines[#lines + 1] = ROW:format(one.device, readable(one.live), readable(one.peak), readable(one.pooled),
                                       readable(one.reserved), limit_text(one.limit))
    end
    for _, one in ipairs { stats, unpack(stats.others or {}) } do
        if one.free then
            lines[#lines + 1] = ("%s: %s free of %s"):format(one.device, readable(one.free), readable(one.total))
        end
    end
    lines[#lines + 1] = ("arrays allocated: %d; blocks taken from the system: %d, given back: %d"):format(
        stats.allocations, stats.made, stats.returned)
    return table.concat(lines, "\n")
end

--- The numbers of the memory of an engine device.
local function stats_of(number, name)
    local box, facts = ffi.new("neap_memory_stats"), ffi.new("neap_device_facts")
    core.call("memory", function() return C.neap_device_memory(number, box) end)
    local free = C.neap_device_get(number, facts) == 0 and tonumber(facts.memory_free) or 0 -- of a lost one nothing
    return setmetatable({
        device = name, live = tonumber(box.live_bytes), peak = tonumber(box.peak_bytes),
        pooled = tonumber(box.pooled_bytes), reserved = tonumber(box.reserved_bytes), limit = tonumber(box.limit_bytes),
        allocations = tonumber(box.allocations), made = tonumber(box.made), returned = tonumber(box.returned),
        free = free > 0 and free or nil, total = free > 0 and tonumber(facts.memory_bytes) or nil,
    }, Stats)
end

--- Numbers of the engine's devices that have a memory of their own, by name, in order.
local function other_devices()
    local list = {}
    for number = C.neap_engine_devices(), C.neap_device_count() - 1 do
        list[#list + 1] = { number = number, name = ffi.string(C.neap_device_name(number)) }
    end
    return list
end

--- The device on which np computes what is committed to none, and what its memory is called.
local function first_device()
    local first = ffi.new "int[1]"
    C.neap_session_devices(first)
    return first[0], first[0] == 0 and "cpu" or ffi.string(C.neap_device_name(first[0]))
end

--- np.memory(), np.memory(device) -> table: bytes of arrays in the memory of the first of np.devices(), or of a device:
-- a table of
--   live: in use by arrays and by work in flight; peak: the highest live so far; pooled: free, kept for reuse;
--   reserved: live and pooled, what was taken from the system; limit: of live, 0 for none;
--   allocations: arrays allocated so far; made, returned: blocks taken from the system for them, and given back;
--   free, total: of a GPU, what nobody has taken of its memory, neap or another program, and all of it;
--   device: whose memory it is; others, where there are any: such tables of the memories of other devices.
-- tostring() gives a summary.
--- > np.memory().live >= 0
-- true
local function memory_of(_, device)
    if device == nil then
        local stats, others = stats_of(first_device()), {}
        for _, one in ipairs(other_devices()) do
            if one.name ~= stats.device then others[#others + 1] = stats_of(one.number, one.name) end
        end
        if #others > 0 then stats.others = others end
        return stats
    end
    local name = tostring(device)
    if name == "cpu" or name:match("^cpu:%d+$") and tonumber(name:sub(5)) < C.neap_engine_devices() then
        return stats_of(0, "cpu")
    end
    for _, other in ipairs(other_devices()) do
        if other.name == name then return stats_of(other.number, name) end
    end
    core.raise("memory", "there is no device '%s'", name)
end

--- np.memory.trim() -> nothing: frees arrays that nothing refers to any more, and gives all free memory back to the
-- system. Memory that stays unused for some seconds goes back without it.
--- > np.memory.trim()
function memory.trim()
    core.reclaim()
    C.neap_memory_trim()
end

--- np.memory.reset_peak() -> nothing: from now on, np.memory().peak is the highest of what follows.
--- > np.memory.reset_peak()
--- > np.memory().peak >= np.memory().live
-- true
function memory.reset_peak()
    C.neap_memory_reset_peak()
end

-- ---- By line --------------------------------------------------------------------------------------------------------

local Lines = {}

function Lines.__tostring(lines)
    local width, rows = #"line", {}
    for _, row in ipairs(lines) do width = math.max(width, #row.line) end
    local form = "%-" .. width .. "s  %9s  %6s"
    rows[1] = form:format("line", "bytes", "arrays")
    for k, row in ipairs(lines) do rows[k + 1] = form:format(row.line, readable(row.bytes), tostring(row.arrays)) end
    return table.concat(rows, "\n")
end

local NO_LINE, WORD = "no line", ffi.typeof "uintptr_t"
local count_box, holding = ffi.new("int32_t[1]"), ffi.new("neap_holding")

--- Counts the memory that an array lies in, unless it was counted.
local function count_memory(id, seen, rows)
    local k = 0
    while C.neap_array_holding(core.ctx, id, k, holding) ~= 0 do
        local place = tostring(ffi.cast(WORD, holding.memory))
        if holding.memory ~= nil and not seen[place] then
            seen[place] = true
            local line = holding.site ~= nil and ffi.string(holding.site) or NO_LINE
            local row = rows[line]
            if not row then
                row = { line = line, bytes = 0, arrays = 0 }
                rows[line], rows[#rows + 1] = row, row
            end
            row.bytes, row.arrays = row.bytes + tonumber(holding.bytes), row.arrays + 1
        end
        k = k + 1
    end
end

--- np.memory.lines() -> table: which lines of the script made the arrays that are there and that Lua holds: a list of
-- { line, bytes, arrays = how many memories }, the most bytes first. Views, and arrays in one memory, count once; work
-- that is pending has no memory yet. tostring gives a table. As jax.profiler.device_memory_profile.
--- > x = (np.arange(250000) * 2.5):wait()
--- > np.memory.lines()[1].bytes >= 1000000
-- true
function memory.lines()
    core.reclaim()
    local seen, rows, ids = {}, {}, {}
    local list = C.neap_handles(core.ctx, count_box)
    for k = 0, count_box[0] - 1 do ids[k + 1] = list[k] end
    for _, id in ipairs(ids) do
        if id ~= 0 then count_memory(id, seen, rows) end
    end
    local result = setmetatable({}, Lines)
    for k, row in ipairs(rows) do result[k] = row end
    table.sort(result, function(a, b)
        if a.bytes ~= b.bytes then return a.bytes > b.bytes end
        return a.line < b.line
    end)
    return result
end

jit.off(memory.lines)
jit.off(memory_of)
jit.off(memory.trim)

return setmetatable(memory, { __call = memory_of })
