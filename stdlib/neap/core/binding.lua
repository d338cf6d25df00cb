--- binding.lua: libneap in Lua: the library, ops by name, errors, handles. Here begins neap.core, which the others use.
--
-- A *handle* is a cdata `struct neap_handle`, an _id without a finalizer. The node behind it lives in C.
--
--      _id = generation << 23 | slot          W[slot] ──weak──▶ handle          C: slot ──▶ node
--
-- C hands out dense slots; W holds, weakly, the one handle of each slot. When Lua's collector has finished a cycle, a
-- sentinel's finalizer tells C, the next recording returns NEAP_SAFEPOINT, and `safepoint` (waiting.lua) gives back the
-- ids whose handle has gone. Invariants:
--   * A new id is wrapped before anything else calls C, because a sweep releases ids that have no handle.
--   * No bare id is kept across another call into C that records or sweeps.
--   * Errors are Lua strings "file:line: np.name: what is wrong", with the line of the first frame that is not of this
--     library.
local ffi = require "ffi"
local bit = require "bit"
local cdef = require "neap.cdef"
local rows = require "neap.ops_gen"

local band = bit.band
local type, tonumber, select, getinfo, floor = type, tonumber, select, debug.getinfo, math.floor
local istype, new = ffi.istype, ffi.new

ffi.cdef(cdef.text)

local core = {}

-- ---- The library ----------------------------------------------------------------------------------------------------

local own_source = getinfo(1, "S").source
local own_prefix = own_source:match("^(.*/)core/binding%.lua$") or own_source

--- libneap: the running executable when it contains it, else the shared library: the path in the environment variable
-- NEAP_LIBRARY; where it lies beside this Lua tree in a build folder (lua/), or below a prefix (share/lua/5.1); in
-- package.cpath, as LuaRocks has it; or in the system's search path.
local function open_library()
    if pcall(function() return ffi.C.neap_abi_hash end) then return ffi.C, true end
    local tree = own_prefix:match("^@(.*)/?neap/$") or ""
    local tried = {}
    local places = { os.getenv("NEAP_LIBRARY") or "", tree .. "../libneap.so", tree .. "../../../lib/libneap.so",
                     package.searchpath("libneap", package.cpath) or "", "neap" }
    for _, name in ipairs(places) do
        if name ~= "" then
            local ok, library = pcall(ffi.load, name)
            if ok then return library, false end
            tried[#tried + 1] = tostring(library)
        end
    end
    error("neap: cannot load libneap (set NEAP_LIBRARY to its path):\n  " .. table.concat(tried, "\n  "), 0)
end

local C, embedded = open_library()
core.C = C
core.embedded = embedded

-- LuaJIT gives up a library when the state is closed, and finds nothing more in it then; finalizers that are called
-- later, of objects that are older, may need it. (libneap itself stays in memory to the end of the process.)
if not embedded then
    local meta = debug.getmetatable(C)
    local close = meta.__gc
    function meta.__gc(library)
        if library ~= C then close(library) end
    end
end

do
    local found = ffi.string(C.neap_abi_hash())
    if found ~= cdef.hash then
        error(("neap: libneap has interface %s, but the Lua library was generated for %s"):format(found, cdef.hash), 0)
    end
end
core.version = ffi.string(C.neap_version())

-- In a finalizer, where LuaJIT compiles nothing, it refuses to be told what it shall not compile: it is told later.
local refused = {}
for _, name in ipairs { "off", "on", "flush" } do
    local tell = jit[name]
    jit[name] = function(...) -- luacheck: ignore 122
        if not pcall(tell, ...) then refused[#refused + 1] = { name, ... } end
    end
end

--- Tells LuaJIT what it has refused.
function core.tell_refused()
    local list = refused
    refused = {}
    for _, call in ipairs(list) do jit[call[1]](unpack(call, 2)) end
end

-- Many C functions fill a box that stands here for good. Compiled code that moves the load of a field into the
-- instruction that uses it, as LuaJIT does even past a later call (2.1 of 2022, for one), would read what the next call
-- has written.
require("jit.opt").start("-fuse")

local OK = C.NEAP_OK
local E_FAILED = C.NEAP_E_FAILED
local SLOT_MASK = bit.lshift(1, C.NEAP_SLOT_BITS) - 1
local neap_array_info = C.neap_array_info
core.MAX_DIMS, core.MAX_INPUTS = C.NEAP_MAX_DIMS, C.NEAP_MAX_INPUTS

local function new_context()
    local box = ffi.new("neap_ctx *[1]")
    if C.neap_ctx_new(box) ~= OK then error("neap: " .. ffi.string(C.neap_error_text()), 0) end
    return box[0]
end

local ctx = new_context()
core.ctx, core.waker, core.effects = ctx, C.neap_ctx_waker(ctx), C.neap_ctx_effects(ctx)

-- ---- Ops by name ----------------------------------------------------------------------------------------------------

local ids, names = {}, {} -- op name → number, number → name
for _, row in ipairs(rows) do
    ids[row.name] = row.id
    names[row.id] = row.name
end
core.rows, core.op_names = rows, names
core.ids = setmetatable(ids, {
    __index = function(_, name) error("neap: the core has no op '" .. tostring(name) .. "'", 2) end,
})

-- ---- Errors ---------------------------------------------------------------------------------------------------------

local function is_own(source)
    return source:sub(1, #own_prefix) == own_prefix
end

--- Whether a Lua function belongs to this library.
function core.is_library(f)
    return is_own(getinfo(f, "S").source)
end

--- Prototypes of functions that np.callback was given: these run later, not while another function is recorded.
core.callbacks = setmetatable({}, { __mode = "k" })
-- By function: the name by which help knows a method that np has under none.
core.method_names = setmetatable({}, { __mode = "k" })

local files = setmetatable({}, { __mode = "k" }) -- by function: its file, false: it is C or of this library

--- The texts about a function are made once: that costs more than all else about a frame.
local function file_of(f)
    local info = getinfo(f, "S")
    local file = info.what ~= "C" and not is_own(info.source) and info.short_src
    files[f] = file
    return file
end

--- File and line of the first frame that is neither C nor of this library; nil when there is none. level: the first
-- frame to look at, counted from this function, which is 1.
local function user_site(level)
    level = level or 2
    local frame = getinfo(level, "fl")
    while frame do
        local file = files[frame.func]
        if file == nil then file = file_of(frame.func) end
        if file and frame.currentline > 0 then return file, frame.currentline end
        level = level + 1
        frame = getinfo(level, "fl")
    end
end

core.user_site = user_site

--- string.format, for which sizes are what they are now.
local function formatted(format, ...)
    local values, n = { ... }, select("#", ...)
    for k = 1, n do values[k] = core.is_size(values[k]) and values[k].now or values[k] end
    return format:format(unpack(values, 1, n))
end

--- Raises a text built by string.format, with the user's file and line in front.
local function fail(format, ...)
    local message = select("#", ...) > 0 and formatted(format, ...) or format
    local file, line = user_site()
    if file then message = file .. ":" .. line .. ": " .. message end
    error(message, 0)
end
core.fail = fail

local warned = {} -- by "file:line: np.name", since the script or command began
local pending -- warnings of a trial, nil: there is none

--- A warning as it is told: its place, and what it says. The executable has a function of its own in its place.
function core.written_warning(place, text) return place .. text end

local function tell_warning(site, text)
    if warned[site] then return end
    warned[site] = true
    if C.neap_process_index() > 0 then return end
    text = core.written_warning(site .. ": ", text) .. "\n"
    C.neap_out_write(C.NEAP_STDERR, text, #text)
end

--- Tells on stderr of code that has been loaded; `site`: "file:line: warning".
core.warn_at = tell_warning

--- Tells on stderr of what a script is unlikely to mean: "file:line: warning: np.name: …", once a line and name. At
-- once: it is no effect, since it is about the code and not about a run of it. Of several processes the first tells.
function core.warn(name, format, ...)
    local file, line = user_site()
    local site = ("%s: warning: np.%s"):format(file and file .. ":" .. line or "?", name)
    if pending then
        pending[#pending + 1] = { site, format:format(...) }
    else
        tell_warning(site, format:format(...))
    end
end

--- Tries f(…), whose work may be dropped: what it returns, behind a function that tells its warnings.
function core.try(f, ...)
    local outer, mine = pending, {}
    pending = mine
    local function tell()
        for _, warning in ipairs(mine) do
            if pending then pending[#pending + 1] = warning else tell_warning(unpack(warning)) end
        end
    end
    local function close(ok, ...)
        pending = outer
        if not ok then error((...), 0) end
        return tell, ...
    end
    return close(pcall(f, ...))
end

--- A new script or command begins: it gets its own warnings.
function core.forget_warnings()
    warned = {}
end

--- Raises "np.name: …" built by string.format.
-- A method of an array that was called by a dot, x.sum(), has got wrong arguments for that reason.
function core.raise(name, format, ...)
    fail("np.%s: %s%s", name, select("#", ...) > 0 and formatted(format, ...) or format,
         core.methods and require("neap.core.hints").dot(name) or "")
end
local raise = core.raise

--- What the core says of the error that it returned last.
function core.error_text()
    return ffi.string(C.neap_error_text())
end

--- Raises the error that a C function returned. The core's own texts may start with the op's name already. is_row: the
-- name is that of a row, which a function of another name may have recorded.
local function raise_status(code, name, is_row)
    if core.sized() then C.neap_size_next(ctx, 0, nil) end
    local text = core.error_text()
    if text == "" then text = ffi.string(C.neap_status_text(code)) end
    if code == E_FAILED or not name then fail("%s", text) end
    if text:sub(1, #name + 1) == name .. ":" then text = text:sub(#name + 3) end
    if is_row then fail("%s", require("neap.core.called").text(name, text)) end
    fail("np.%s: %s", name, text)
end

core.raise_status = raise_status

local kinds = { string = "a string", table = "a table", ["function"] = "a function", boolean = "a boolean",
                number = "a number", userdata = "a userdata", thread = "a coroutine" }

--- A value in words, for messages.
function core.describe(value)
    if core.is_array(value) then
        local text = "an array of shape " .. core.shape_text(value)
        if core.info(value).traced == 0 then return text end
        return text .. ", whose value is not known while tracing (is it an argument to list in {static={…}}?)"
    end
    if value == nil then return "nothing (nil)" end
    if core.is_size(value) then return ("the size %s"):format(tostring(value)) end
    local kind, meta = type(value), getmetatable(value)
    if type(meta) == "table" and meta.__describe then return meta.__describe(value) end
    if kind == "cdata" then
        return core.integer64(value) and "the integer " .. tostring(value) or "a cdata " .. tostring(ffi.typeof(value))
    end
    if kind == "number" then return ("the number %.14g"):format(value) end
    if kind == "string" and #value <= 40 then return ("the string %q"):format(value) end
    return kinds[kind]
end

--- Raises "np.name: argument 2 (axis) must be an integer, got a string". `position` may be nil: a named option.
function core.bad_argument(name, position, what, expected, actual)
    local place = position and ("argument %d (%s)"):format(position, what) or ("option '%s'"):format(what)
    raise(name, "%s must be %s, got %s", place, expected, core.describe(actual))
end
local bad_argument = core.bad_argument

--- A copy of a list of any length: { unpack(list) } has room for some thousand items.
function core.copy_list(list)
    local copy = {}
    for k = 1, #list do copy[k] = list[k] end
    return copy
end

local MOST_RESULTS = 4000 -- Lua's stack has room for some more

--- Returns the items of a list as the results of a function. instead: what to use where they are too many.
function core.results(name, list, instead)
    if #list > MOST_RESULTS then
        core.raise(name, "%d results are more than Lua can return, which are some %d; %s", #list, MOST_RESULTS, instead)
    end
    return unpack(list)
end

--- Raises that `what` must be integers, which is of another dtype.
function core.not_integers(name, what, dtype)
    raise(name, "%s must be integers, got dtype %s; x:astype(\"i32\") casts", what, dtype.name)
end

local no_options = {}
--- The options table of a public function: nil gives an empty one; anything unknown is refused by name. `known` maps
-- option names to true.
function core.options(name, options, known)
    if options == nil then return no_options end
    if type(options) ~= "table" then raise(name, "%s", require("neap.core.hints").options(name, options, known)) end
    for key in pairs(options) do
        if not known[key] then
            local list = {}
            for option in pairs(known) do list[#list + 1] = option end
            table.sort(list)
            raise(name, "unknown option '%s' (options: %s)%s", tostring(key), table.concat(list, ", "),
                  require("neap.core.hints").option(name, key, known))
        end
    end
    return options
end

--- A table that a function reads by position: it must have no other keys, which would be lost. `what` names it in the
-- message: "the shape", "option 'axis'". The number of items as `n`, as table.pack has it, is welcome.
function core.list(name, what, list)
    local n = #list
    local key = next(list, n > 0 and n or nil)
    if key == nil then return list end
    local problem = require("neap.core.hints").stray(what, list)
    if problem then raise(name, "%s", problem) end
    return list
end

local COUNTED = 2 ^ 53 -- up to here a number counts exactly

--- A 64-bit integer of LuaJIT as a number, if that counts as far; any other value as it is.
function core.plain(value)
    if type(value) ~= "cdata" or not core.integer64(value) then return value end
    local n = tonumber(value)
    return math.abs(n) <= COUNTED and value == n and n or value
end

local function number_text(value)
    return type(value) == "number" and ("%.14g"):format(value) or tostring(value)
end

--- Whether a value is an integer that a Lua number counts exactly, or a size value that is one.
function core.is_integer(value)
    if type(value) == "number" then return value == math.floor(value) and math.abs(value) <= COUNTED end
    return core.is_size(value) and value == math.floor(value)
end

local function rare_integer(name, position, what, value, least, most)
    local n = core.plain(value)
    if core.is_integer(n) and (not least or n >= least) and (not most or n <= most) then return n end
    local far = core.integer64(value) or type(value) == "number" and math.abs(value) > COUNTED
    local to = most and " to " .. number_text(most) or far and " to 2^53" or least and " up" or ""
    local from = least and " from " .. number_text(least) or to ~= "" and " from -2^53" or ""
    bad_argument(name, position, what, "an integer" .. from .. to, value)
end

--- An integer argument, a Lua number or a 64-bit integer of LuaJIT, as a number; a size value as it is. Raises for
-- others, and for those that are not from `least` to `most` (nil: none is too small, or too large up to 2^53).
function core.integer(name, position, what, value, least, most)
    if type(value) == "number" and value == floor(value) and value >= (least or -COUNTED)
        and value <= (most or COUNTED) then
        return value
    end
    return (rare_integer(name, position, what, value, least, most))
end
local integer = core.integer

--- A table of integers, each as core.integer takes it: a new list.
function core.integers(name, position, what, list, least)
    local result = {}
    for k = 1, #core.list(name, "the table of " .. what, list) do
        result[k] = integer(name, position, what, list[k], least)
    end
    return result
end

--- The options of a function whose options may be an axis alone, x:sum(0).
function core.axis_options(name, options, known)
    if type(options) == "number" then return { axis = options } end
    if type(options) == "cdata" and core.integer64(options) then return { axis = core.plain(options) } end
    return (core.options(name, options, known))
end

--- The argument of np.name at a position, the first one without it, as the name of a file; false: the option path. A
-- zero byte would end the name for the system, which would take another file.
function core.check_path(name, path, position)
    if type(path) ~= "string" or path == "" or path:find("%z") then
        bad_argument(name, position == nil and 1 or position or nil, "path", "a file name", path)
    end
    return path
end

-- ---- Handles --------------------------------------------------------------------------------------------------------

local W = setmetatable({}, { __mode = "v" })
local Handle = ffi.typeof("struct neap_handle")
core.Handle = Handle

--- Whether a cdata is a C type, as ffi.typeof gives it: ffi.istype takes that for a value of the type, and tonumber
-- gives its number.
function core.is_ctype(value)
    local number = tonumber(value)
    return number ~= nil and number == tonumber(ffi.typeof(value)) and tostring(value):find "^ctype<" ~= nil
end

--- Whether a value is an array. Handles are no numbers, and their C type is one; functions that record ask ffi.istype
-- alone, and C refuses the type.
function core.is_array(value)
    return type(value) == "cdata" and istype(Handle, value) and tonumber(value) == nil
end
local is_array = core.is_array

--- The handle of an id, the same one as long as it lives.
local function wrap(id)
    local slot = band(id, SLOT_MASK)
    local handle = W[slot]
    if handle then return handle end
    handle = new(Handle, id)
    W[slot] = handle
    return handle
end
core.wrap = wrap

local info_box = ffi.new("neap_info[1]")
local info = info_box[0]
core.info_box = info_box

--- What C knows of an array. BORROWED until the next call of this function.
local function array_info(x)
    local rc = neap_array_info(ctx, x._id, info_box)
    if rc < 0 then raise_status(rc) end
    return info
end
core.info = array_info

--- Something depends on whether a number, an array whose info.weak is not 0, is whole: a jitted function notes that.
function core.number_decides(x)
    local rc = C.neap_number_decides(ctx, x._id)
    if rc < 0 then raise_status(rc) end
end

--- The shape of an array as a Lua table.
function core.shape_of(x)
    local known = array_info(x)
    local shape = {}
    for k = 1, known.ndim do shape[k] = tonumber(known.shape[k - 1]) end
    return shape
end

--- The shape as text: "(2, 3)", "(4,)", "()".
function core.shape_text(x)
    local shape = is_array(x) and core.shape_of(x) or x
    local parts = {}
    for k = 1, #shape do
        parts[k] = type(shape[k]) == "number" and ("%.14g"):format(shape[k]) or core.describe(shape[k])
    end
    return "(" .. table.concat(parts, ", ") .. (#parts == 1 and ",)" or ")")
end

-- ---- Housekeeping ---------------------------------------------------------------------------------------------------

local BATCH = 256
local dead = ffi.new("int32_t[?]", BATCH)
local count_box = ffi.new("int32_t[1]")

--- Gives back to C the ids whose handle the collector has taken.
local function sweep()
    local held = C.neap_handles(ctx, count_box)
    local n = 0
    for slot = 1, count_box[0] - 1 do
        local id = held[slot]
        if id ~= 0 and not W[slot] then
            dead[n] = id
            n = n + 1
            if n == BATCH then
                C.neap_release(ctx, n, dead)
                n = 0
            end
        end
    end
    if n > 0 then C.neap_release(ctx, n, dead) end
end
core.sweep = sweep

--- Frees all that can be freed: compiled traces pin handles in their constants, and weak entries of resurrected
-- objects need a second collection.
local function reclaim()
    jit.flush()
    collectgarbage()
    collectgarbage()
    sweep()
    C.neap_collected(ctx)
end
core.reclaim = reclaim

--- A finalizer, for ffi.gc, of what `free` frees. When the state is closed, finalizers of cdata are called first, and
-- those of userdata may still use what the cdata stands for: so nothing is freed then. At any other time there is a
-- function below the finalizer.
function core.finalizer(free)
    return function(object)
        if getinfo(2, "S") then free(object) end
    end
end

--- A sentinel dies in each cycle of the collector, tells C, and leaves a new one behind.
local function arm_sentinel()
    getmetatable(newproxy(true)).__gc = function()
        C.neap_collector_cycled(ctx)
        arm_sentinel()
    end
end
arm_sentinel()

--- Raises "interrupted" if Ctrl-C was pressed. The press stays pending until the prompt clears it, so that a pcall of
-- the user cannot swallow it.
local function check_interrupt()
    if C.neap_interrupt_pending() ~= 0 then fail("interrupted") end
end
core.check_interrupt = check_interrupt

-- Errors and collections are not worth a trace, and a trace would pin handles. The loop of a sweep is worth one, and
-- holds no handle.
for _, f in ipairs { user_site, file_of, fail, core.warn, core.try, core.describe, reclaim } do jit.off(f) end

return core
