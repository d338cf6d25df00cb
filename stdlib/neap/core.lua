--- core.lua: the binding to libneap: handles, recording, waiting, errors. Everything else in the library stands on it.
--
-- A *handle* is a cdata `struct neap_handle { const int32_t _id; }` without a finalizer. The node behind it lives in C.
--
--      _id = generation << 23 | slot          W[slot] ──weak──▶ handle          C: slot ──▶ node
--
-- C hands out dense slots; W holds, weakly, the one handle of each slot. When Lua's collector has finished a cycle, a
-- sentinel's finalizer tells C, the next recording returns NEAP_ATTEND, and `attend` gives back the ids whose handle
-- has gone. Invariants:
--   * A new id is wrapped before anything else calls C, because a sweep releases ids that have no handle.
--   * No bare id is kept across another call into C that records or sweeps.
--   * The fast path of a recording is one FFI call, one comparison, one store into W. Whatever else may happen
--     (housekeeping, waiting, memory, errors) is in the `slow` functions, which are never compiled.
--   * C never waits: NEAP_PENDING means "pump, then call again" (see `pump`), and nothing has changed meanwhile.
--   * Errors are Lua strings "file:line: np.name: what is wrong", with the line of the first frame that is not of this
--     library.
local ffi = require "ffi"
local bit = require "bit"
local cdef = require "neap.cdef"
local rows = require "neap.ops_gen"

local band = bit.band
local type, tonumber, select, getinfo = type, tonumber, select, debug.getinfo
local istype = ffi.istype

ffi.cdef(cdef.text)
ffi.cdef "struct neap_handle { const int32_t _id; };"

local core = {}

-- ---- The library ----------------------------------------------------------------------------------------------------

local own_source = getinfo(1, "S").source
local own_prefix = own_source:match("^(.*/)core%.lua$") or own_source

--- libneap: the running executable when it contains it, else the shared library: the path in the environment variable
-- NEAP_LIBRARY, the build folder above the Lua tree, or the system's search path.
local function open_library()
    if pcall(function() return ffi.C.neap_abi_hash end) then return ffi.C, true end
    local tree = own_prefix:match("^@(.*)/?neap/$") or ""
    local tried = {}
    local places = { os.getenv("NEAP_LIBRARY") or "", tree .. "../libneap.so", tree .. "../lib/libneap.so", "neap" }
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

do
    local found = ffi.string(C.neap_abi_hash())
    if found ~= cdef.hash then
        error(("neap: libneap has interface %s, but the Lua library was generated for %s"):format(found, cdef.hash), 0)
    end
end
core.version = ffi.string(C.neap_version())

-- C functions in locals: interpreted code then needs no look-up in the library's namespace.
local neap_op, neap_op1, neap_op2, neap_op2_number = C.neap_op, C.neap_op1, C.neap_op2, C.neap_op2_number
local neap_array_info, neap_array_poll, neap_array_item = C.neap_array_info, C.neap_array_poll, C.neap_array_item

local OK, PENDING, ATTEND = C.NEAP_OK, C.NEAP_PENDING, C.NEAP_ATTEND
local BOOL = C.NEAP_DTYPE_BOOL
local E_MEMORY, E_FAILED, E_INTERRUPT = C.NEAP_E_MEMORY, C.NEAP_E_FAILED, C.NEAP_E_INTERRUPT
local SWEEP, COLLECT = C.NEAP_ATTEND_SWEEP, C.NEAP_ATTEND_COLLECT
local SITE, INTERRUPT = C.NEAP_ATTEND_SITE, C.NEAP_ATTEND_INTERRUPT
local STEP, THROTTLE = C.NEAP_ATTEND_STEP, C.NEAP_ATTEND_THROTTLE
local CALLBACK = C.NEAP_ATTEND_CALLBACK
local STEP_SIZE = 200 -- about the garbage, in KiB, that a step deals with
local SLOT_MASK = bit.lshift(1, C.NEAP_SLOT_BITS) - 1
local MAX_INPUTS = C.NEAP_MAX_INPUTS
core.MAX_DIMS, core.MAX_INPUTS = C.NEAP_MAX_DIMS, MAX_INPUTS

local function new_context()
    local box = ffi.new("neap_ctx *[1]")
    if C.neap_ctx_new(box) ~= OK then error("neap: " .. ffi.string(C.neap_error_text()), 0) end
    return box[0]
end

local ctx = new_context()
local waker = C.neap_ctx_waker(ctx)
local effects = C.neap_ctx_effects(ctx)
core.ctx, core.waker, core.effects = ctx, waker, effects

-- ---- Ops by name ----------------------------------------------------------------------------------------------------

local ids, names = {}, {} -- op name → number, number → name
for _, row in ipairs(rows) do
    ids[row.name] = row.id
    names[row.id] = row.name
end
core.rows = rows
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

--- File and line of the first frame that is neither C nor of this library; nil when there is none.
local function user_site()
    local level, frame = 2, getinfo(2, "Sl")
    while frame do
        if frame.what ~= "C" and frame.currentline > 0 and not is_own(frame.source) then
            return frame.short_src, frame.currentline
        end
        level = level + 1
        frame = getinfo(level, "Sl")
    end
end

core.user_site = user_site

--- Raises a text built by string.format, with the user's file and line in front.
local function fail(format, ...)
    local message = select("#", ...) > 0 and format:format(...) or format
    local file, line = user_site()
    if file then message = file .. ":" .. line .. ": " .. message end
    error(message, 0)
end
core.fail = fail

--- Raises "np.name: …" built by string.format.
function core.raise(name, format, ...)
    fail("np.%s: %s", name, select("#", ...) > 0 and format:format(...) or format)
end
local raise = core.raise

--- Raises the error that a C function returned. The core's own texts may start with the op's name already.
local function raise_status(code, name)
    local text = ffi.string(C.neap_error_text())
    if text == "" then text = ffi.string(C.neap_status_text(code)) end
    if code == E_FAILED or not name then fail("%s", text) end
    if text:sub(1, #name + 1) == name .. ":" then text = text:sub(#name + 3) end
    fail("np.%s: %s", name, text)
end

core.raise_status = raise_status

local kinds = { string = "a string", table = "a table", ["function"] = "a function", boolean = "a boolean",
                number = "a number", userdata = "a userdata", thread = "a coroutine" }

--- A value in words, for messages.
function core.describe(value)
    if core.is_array(value) then return "an array of shape " .. core.shape_text(value) end
    if value == nil then return "nothing (nil)" end
    local kind = type(value)
    if kind == "cdata" then return "a cdata " .. tostring(ffi.typeof(value)) end
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

local no_options = {}
--- The options table of a public function: nil gives an empty one; anything unknown is refused by name. `known` maps
-- option names to true.
function core.options(name, options, known)
    if options == nil then return no_options end
    if type(options) ~= "table" then
        raise(name, "options must be a table such as {axis=0}, got %s", core.describe(options))
    end
    for key in pairs(options) do
        if not known[key] then
            local list = {}
            for option in pairs(known) do list[#list + 1] = option end
            table.sort(list)
            raise(name, "unknown option '%s' (options: %s)", tostring(key), table.concat(list, ", "))
        end
    end
    return options
end

--- Checks that value is an integral Lua number.
function core.integer(name, position, what, value)
    if type(value) ~= "number" or value ~= math.floor(value) then
        bad_argument(name, position, what, "an integer", value)
    end
    return value
end

-- ---- Handles --------------------------------------------------------------------------------------------------------

local W = setmetatable({}, { __mode = "v" })
local Handle = ffi.typeof("struct neap_handle")
core.Handle = Handle

--- Whether a value is an array.
function core.is_array(value)
    return istype(Handle, value)
end
local is_array = core.is_array

--- The handle of an id, the same one as long as it lives.
local function wrap(id)
    local slot = band(id, SLOT_MASK)
    local handle = W[slot]
    if handle then return handle end
    handle = Handle(id)
    W[slot] = handle
    return handle
end

local info_box = ffi.new("neap_info[1]")
local info = info_box[0]

--- What C knows of an array. BORROWED until the next call of this function.
local function array_info(x)
    local rc = neap_array_info(ctx, x._id, info_box)
    if rc < 0 then raise_status(rc) end
    return info
end
core.info = array_info

--- The shape as text: "(2, 3)", "(4,)", "()".
function core.shape_text(x)
    local shape = x
    if is_array(x) then
        local known = array_info(x)
        shape = {}
        for k = 1, known.ndim do shape[k] = tonumber(known.shape[k - 1]) end
    end
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

-- ---- Callbacks ------------------------------------------------------------------------------------------------------

-- A callback is known to C by a number. Its *callee* here is a function that takes the arrays of its arguments. Callees
-- are called while Lua waits (`pump`) and after a recording (`attend`), so everything of this file that such a call
-- could change under its caller is put back: the boxes below, and what stands in `frame`.
local callees, last_callee = {}, 0
local dropped = ffi.new("int32_t[?]", BATCH)
local taken = ffi.new("neap_taken[1]")
local Kept = ffi.typeof("struct { neap_info info; int64_t attrs[64]; }")
local attrs = ffi.new("int64_t[?]", 64)

--- Where the code that runs now stands. depth: open callbacks; coroutine: the one ("main" outside of all) in which the
-- innermost of them began; levels: the same for the gradients and traces that were opened since, outermost first;
-- swaps: of the traces among these, { suspend, resume }: they put variables back to what they are outside of the trace,
-- and undo that.
local frame = { depth = 0, levels = {}, swaps = {} }

--- The frame of the code that runs now.
function core.frame()
    return frame
end

--- Yielding out of a gradient, a trace or a callback would leave it open, so that is an error.
function core.check_yield()
    local innermost = frame.levels[#frame.levels] or frame.coroutine
    if innermost and innermost == coroutine.running() then
        fail("a coroutine cannot yield while a gradient, a trace or a callback that it began is open")
    end
end

--- Gives a callee a number.
function core.add_callee(callee)
    repeat last_callee = last_callee % 0x7fffffff + 1 until not callees[last_callee]
    callees[last_callee] = callee
    return last_callee
end

function core.remove_callee(number)
    callees[number] = nil
end

--- Forgets callees that will not be called any more.
local function forget_callees()
    repeat
        local n = C.neap_callback_dropped(ctx, BATCH, dropped)
        for k = 0, n - 1 do callees[dropped[k]] = nil end
    until n < BATCH
end

--- Calls a callee in a frame of its own.
local function call_callee(callee, arrays)
    local outer, kept = frame, Kept()
    ffi.copy(kept.info, info_box, ffi.sizeof(kept.info))
    ffi.copy(kept.attrs, attrs, ffi.sizeof(kept.attrs))
    for k = #outer.swaps, 1, -1 do outer.swaps[k].suspend() end
    frame = { depth = outer.depth + 1, coroutine = coroutine.running() or "main", levels = {}, swaps = {} }
    local ok, problem = pcall(callee, arrays)
    frame = outer
    for k = 1, #outer.swaps do outer.swaps[k].resume() end
    ffi.copy(info_box, kept.info, ffi.sizeof(kept.info))
    ffi.copy(attrs, kept.attrs, ffi.sizeof(kept.attrs))
    return ok, problem
end

--- Calls the next callback whose turn has come. False if there was no memory even to look.
local function run_callback()
    local rc = C.neap_callback_take(ctx, taken)
    if rc == E_MEMORY then
        reclaim()
        rc = C.neap_callback_take(ctx, taken)
    end
    if rc < 0 then return false end
    local number, arrays = taken[0].callee, {}
    if number == 0 then return true end
    for k = 1, taken[0].n do arrays[k] = wrap(taken[0].args[k - 1]) end
    local ok, problem = call_callee(callees[number], arrays)
    local status, text = OK, nil
    if not ok then
        status = C.neap_interrupt_pending() ~= 0 and E_INTERRUPT or E_FAILED
        ok, text = pcall(tostring, problem)
        if not ok or type(text) ~= "string" then text = "an error without a text" end
    end
    C.neap_callback_end(ctx, status, text)
    return true
end

local MOST_CALLBACKS = 100 -- at once: whoever calls this has work of its own

--- Calls the callbacks whose turn has come, in order; returns whether some are left. Their errors go to their results,
-- or to stderr. Not while an interrupt is pending.
function core.run_callbacks()
    local count = 0
    while C.neap_effects_requested(effects) ~= 0 and C.neap_interrupt_pending() == 0 and count < MOST_CALLBACKS do
        if not run_callback() then break end
        count = count + 1
    end
    forget_callees()
    return C.neap_effects_requested(effects) ~= 0
end
local run_callbacks = core.run_callbacks

-- ---- Waiting --------------------------------------------------------------------------------------------------------

local HELP_NS, SLEEP_MS = 200000, 50
local DEEP = 50 -- callbacks inside each other, from which on a wait takes a further one only when nothing else happens

--- Whether callbacks wait that the code which waits here may call. `idle`: nothing else happens.
function core.callbacks_due(idle)
    return C.neap_effects_requested(effects) ~= 0 and (frame.depth < DEEP or idle)
end
local callbacks_due = core.callbacks_due

--- The one place where Lua waits, but for input and children (neap.interp.input): calls callbacks, runs small ready
-- work, else sleeps until something has finished, and tries again. `try` makes a C call that may return NEAP_PENDING;
-- the first other status is returned.
local function pump(try)
    local rc, idle = try(), false
    while rc == PENDING do
        check_interrupt()
        if callbacks_due(idle) then
            run_callbacks()
            idle = false
        elseif C.neap_engine_help(HELP_NS) == 0 then
            C.neap_waker_clear(waker)
            rc = try()
            if rc ~= PENDING then break end
            local requested = C.neap_effects_requested(effects) ~= 0
            if requested and frame.depth >= DEEP then
                C.neap_waker_clear(waker) -- `try` may have woken it for the callback that waits, and nothing else
            end
            if not requested or frame.depth >= DEEP then
                idle = C.neap_waker_sleep(waker, SLEEP_MS) == 0
            end
        end
        rc = try()
    end
    return rc
end
core.pump = pump

--- NEAP_PENDING while the script is too far ahead of the workers.
local function throttle() return C.neap_throttle(ctx) end

local stdout_told = false

--- Raises if stdout cannot be written any more: its reader has gone, or the disk is full.
local function check_stdout()
    local rc = C.neap_out_failure(C.NEAP_STDOUT)
    if rc ~= OK then
        stdout_told = true
        raise_status(rc, "print")
    end
end
core.check_stdout = check_stdout

--- What NEAP_ATTEND asked for. New ids must have been wrapped.
local function attend()
    local what = C.neap_attention(ctx)
    if band(what, SITE) ~= 0 then
        local file, line = user_site()
        if file then C.neap_site(ctx, file, line) end
    end
    if band(what, COLLECT) ~= 0 then
        reclaim()
    elseif band(what, SWEEP) ~= 0 then
        sweep()
    elseif band(what, STEP) ~= 0 then
        collectgarbage("step", STEP_SIZE)
    end
    if band(what, INTERRUPT) ~= 0 then check_interrupt() end
    if band(what, CALLBACK) ~= 0 then
        -- A wait inside a callback, a gradient or a trace has to call others; a recording there can leave them.
        if frame.depth == 0 and #frame.levels == 0 then run_callbacks() else forget_callees() end
    end
    if band(what, THROTTLE) ~= 0 then pump(throttle) end
    if not stdout_told then check_stdout() end -- a loop of programs that print does not come by `emit`
end

--- NEAP_PENDING while unfinished work holds memory.
local function in_flight() return C.neap_ahead_bytes() > 0 and PENDING or OK end

--- Brings a call that did not return NEAP_OK to its end: waits while it is pending; when memory is short, collects and
-- waits for work in flight, once. Returns NEAP_OK, a failure, or NEAP_ATTEND; after that the caller wraps its ids, then
-- calls attend().
local function attempt(rc, try)
    local collected = false
    while true do
        if rc == PENDING then
            rc = pump(try)
        elseif rc == E_MEMORY and not collected then
            collected = true
            reclaim()
            if frame.depth == 0 then pump(in_flight) end -- a callback may itself be what that work waits for
            rc = try()
        else
            return rc
        end
    end
end

--- The same, but raises a failure.
local function settle(rc, name, try)
    rc = attempt(rc, try)
    if rc < 0 then raise_status(rc, name) end
    return rc
end

--- Calls `try`, which returns no ids and is no recording, until it is done; returns nil, or the text of its failure.
function core.failure(try)
    local rc = attempt(try(), try)
    return rc < 0 and ffi.string(C.neap_error_text()) or nil
end

--- Calls `try` until it is done; for calls that return no ids.
function core.call(name, try)
    local rc = try()
    if rc ~= OK and settle(rc, name, try) == ATTEND then attend() end
end

--- Calls `try`, which leaves n ids in the int32 array `box`, until it is done; returns their handles in a table.
function core.call_ids(name, box, n, try)
    local rc = try()
    if rc ~= OK then rc = settle(rc, name, try) end
    local handles = {}
    for k = 1, n do handles[k] = wrap(box[k - 1]) end
    if rc == ATTEND then attend() end
    return handles
end

-- ---- Recording ------------------------------------------------------------------------------------------------------

local out = ffi.new("int32_t[1]")
local ins = ffi.new("int32_t[?]", MAX_INPUTS)
core.attrs = attrs -- callers of record1, record2 and recordn fill it from 0

local function finish(rc, name, try)
    rc = settle(rc, name, try)
    local handle = wrap(out[0])
    if rc == ATTEND then attend() end
    return handle
end

local function slow1(rc, op, a)
    return finish(rc, names[op], function() return neap_op1(ctx, op, a._id, out) end)
end

local function slow2(rc, op, a, b)
    if type(b) == "number" then
        return finish(rc, names[op], function() return neap_op2_number(ctx, op, a._id, b, 0, out) end)
    elseif type(a) == "number" then
        return finish(rc, names[op], function() return neap_op2_number(ctx, op, b._id, a, 1, out) end)
    end
    return finish(rc, names[op], function() return neap_op2(ctx, op, a._id, b._id, out) end)
end

local function slow_record(rc, op, inputs, nin, nattrs)
    local kept = ffi.new("int64_t[?]", nattrs + 1)
    ffi.copy(kept, attrs, 8 * nattrs)
    return finish(rc, names[op], function()
        for k = 1, nin do ins[k - 1] = inputs[k]._id end
        return neap_op(ctx, op, nin, ins, nattrs, kept, out)
    end)
end

local function slow_number(rc, code, value)
    return finish(rc, "array", function() return C.neap_array_number(ctx, code, value, out) end)
end

--- A 0-d array of a number. Without dtype it is weak: it takes the dtype of what it meets.
function core.number(value, dtype)
    local code = dtype or -1
    local rc = C.neap_array_number(ctx, code, value, out)
    if rc ~= OK then return slow_number(rc, code, value) end
    return wrap(out[0])
end

local function coerce_rare(name, position, value)
    if type(value) == "boolean" then return core.number(value and 1 or 0, BOOL) end
    if istype("int64_t", value) or istype("uint64_t", value) then
        return core.fill(C.NEAP_DTYPE_I64, {}, function(data) data[0] = value end, "int64_t *")
    end
    local hint = type(value) == "table" and "; np.array makes one from a table" or ""
    raise(name, "argument %d must be an array or a number, got %s%s", position, core.describe(value), hint)
end

--- Argument `position` of np.name as an array: numbers become weak, booleans bool, 64-bit integers i64.
function core.coerce(name, position, value)
    if is_array(value) then return value end
    if type(value) == "number" then return core.number(value) end
    return coerce_rare(name, position, value)
end
local coerce = core.coerce

--- Records an op of one array and the first nattrs numbers of core.attrs.
function core.record1(op, x, nattrs)
    ins[0] = x._id
    local rc = neap_op(ctx, op, 1, ins, nattrs, attrs, out)
    if rc ~= OK then return slow_record(rc, op, { x }, 1, nattrs) end
    return wrap(out[0])
end

--- Records an op of two arrays and the first nattrs numbers of core.attrs.
function core.record2(op, x, y, nattrs)
    ins[0], ins[1] = x._id, y._id
    local rc = neap_op(ctx, op, 2, ins, nattrs, attrs, out)
    if rc ~= OK then return slow_record(rc, op, { x, y }, 2, nattrs) end
    return wrap(out[0])
end

--- Records an op of a table of n arrays (at most core.MAX_INPUTS; none for a source) and the first nattrs attributes.
function core.recordn(op, inputs, n, nattrs)
    for k = 1, n do ins[k - 1] = inputs[k]._id end
    local rc = neap_op(ctx, op, n, ins, nattrs, attrs, out)
    if rc ~= OK then return slow_record(rc, op, inputs, n, nattrs) end
    return wrap(out[0])
end

local function too_many(name, arity, extra)
    raise(name, "takes %d argument%s, got also %s", arity, arity == 1 and "" or "s", core.describe(extra))
end

--- The Lua function of an op of one array.
function core.unary(op, name)
    return function(x, extra)
        if extra ~= nil then too_many(name, 1, extra) end
        if not istype(Handle, x) then x = coerce(name, 1, x) end
        local rc = neap_op1(ctx, op, x._id, out)
        if rc ~= OK then return slow1(rc, op, x) end
        return wrap(out[0])
    end
end

--- The Lua function of an op of two arrays or numbers.
function core.binary(op, name)
    local function rare(a, b)
        a, b = coerce(name, 1, a), coerce(name, 2, b)
        local rc = neap_op2(ctx, op, a._id, b._id, out)
        if rc ~= OK then return slow2(rc, op, a, b) end
        return wrap(out[0])
    end
    return function(a, b, extra)
        local rc
        if extra ~= nil then too_many(name, 2, extra) end
        if istype(Handle, a) then
            if type(b) == "number" then
                rc = neap_op2_number(ctx, op, a._id, b, 0, out)
            elseif istype(Handle, b) then
                rc = neap_op2(ctx, op, a._id, b._id, out)
            else
                return rare(a, b)
            end
        elseif type(a) == "number" and istype(Handle, b) then
            rc = neap_op2_number(ctx, op, b._id, a, 1, out)
        else
            return rare(a, b)
        end
        if rc ~= OK then return slow2(rc, op, a, b) end
        return wrap(out[0])
    end
end

--- The Lua function of an op of three or more arrays or numbers.
function core.nary(op, name, arity)
    return function(...)
        if select("#", ...) ~= arity then raise(name, "takes %d arguments, got %d", arity, select("#", ...)) end
        local inputs = { ... }
        for k = 1, arity do inputs[k] = coerce(name, k, inputs[k]) end
        return core.recordn(op, inputs, arity, 0)
    end
end

-- ---- Memory in and out ----------------------------------------------------------------------------------------------

local shape_box = ffi.new("int64_t[?]", core.MAX_DIMS)
local data_box = ffi.new("void *[1]")
local const_data_box = ffi.new("const void *[1]")

--- Fills an int64 array with a shape table; returns it and the number of axes.
function core.shape_array(name, shape)
    local n = #shape
    if n > core.MAX_DIMS then raise(name, "at most %d axes, got %d", core.MAX_DIMS, n) end
    for k = 1, n do shape_box[k - 1] = shape[k] end
    return shape_box, n
end

--- A new array whose elements `write(pointer)` fills, row-major; `pointer` has the C type `ctype`. `write` must not
-- call into neap and must not raise.
function core.fill(dtype, shape, write, ctype, name)
    name = name or "array"
    local function try()
        local dims, n = core.shape_array(name, shape)
        return C.neap_array_empty(ctx, dtype, n, dims, data_box, out)
    end
    local rc = try()
    if rc ~= OK then rc = settle(rc, name, try) end
    local handle = wrap(out[0])
    write(ffi.cast(ctype, data_box[0]))
    if rc == ATTEND then attend() end
    return handle
end

local function slow_wait(rc, x)
    if settle(rc, nil, function() return neap_array_poll(ctx, x._id) end) == ATTEND then attend() end
end

--- Waits until an array has its value; raises its failure.
function core.wait(x)
    local rc = neap_array_poll(ctx, x._id)
    if rc ~= OK then slow_wait(rc, x) end
end

--- Waits, then returns the row-major elements. BORROWED while the array lives: keep x.
function core.data(x)
    core.wait(x)
    core.call(nil, function() return C.neap_array_data(ctx, x._id, const_data_box) end)
    return const_data_box[0]
end

local item_box, item_dtype = ffi.new("double[1]"), ffi.new("int32_t[1]")
local NAN = 0 / 0
item_box[0] = NAN
if ffi.cast("uint32_t *", item_box)[1] >= 0x80000000 then NAN = -NAN end -- some processors' own NaN has the sign set
core.NAN = NAN

--- Whether the double whose low and high words stand at words[0] and words[1] is NaN. LuaJIT keeps types of values in
-- NaNs' bits, so a NaN of unknown bits must never become a Lua number.
local function is_nan64(words)
    local high = words[1]
    return band(high, 0x7ff00000) == 0x7ff00000 and (band(high, 0xfffff) ~= 0 or words[0] ~= 0)
end

--- A function that reads element k (from 0) of row-major data as a Lua number.
function core.reader(data, dtype)
    if dtype.kind ~= "f" then return function(k) return tonumber(data[k]) end end
    if dtype.bytes == 8 then
        local words = ffi.cast("const uint32_t *", data)
        return function(k)
            if is_nan64(words + 2 * k) then return NAN end
            return data[k]
        end
    end
    local words = ffi.cast("const uint32_t *", data)
    return function(k)
        if band(words[k], 0x7fffffff) > 0x7f800000 then return NAN end
        return data[k]
    end
end

local function slow_item(rc, x)
    local function try() return neap_array_item(ctx, x._id, item_box, item_dtype) end
    if settle(rc, "item", try) == ATTEND then attend() end
end

--- Waits, then returns the value of an array of one element: a number, or a boolean.
function core.item(x)
    if not istype(Handle, x) then x = coerce("item", 1, x) end
    local rc = neap_array_item(ctx, x._id, item_box, item_dtype)
    if rc ~= OK then slow_item(rc, x) end
    if item_dtype[0] == BOOL then return item_box[0] ~= 0 end
    return item_box[0]
end

local bytes_box = ffi.new("size_t[1]")
--- The text that a C function of the form (text, capacity, bytes) → status writes.
function core.text(name, write)
    local capacity = 1024
    while true do
        local buffer = ffi.new("char[?]", capacity)
        core.call(name, function() return write(buffer, capacity, bytes_box) end)
        local bytes = tonumber(bytes_box[0])
        if bytes <= capacity then return ffi.string(buffer, bytes) end
        capacity = bytes
    end
end

-- Slow paths walk the stack, call back or wait: nothing in them is worth a trace, and a trace would pin handles. The
-- loop of a sweep is worth one, and holds no handle.
for _, f in ipairs { user_site, fail, reclaim, attend, pump, attempt, settle, finish, slow1, slow2, slow_record,
                     slow_number, slow_wait, slow_item, coerce_rare, forget_callees, call_callee, run_callback,
                     run_callbacks, core.failure, core.call, core.call_ids, core.fill, core.text, core.describe } do
    jit.off(f)
end

return core
