--- output.lua: print, np.printf and io.write as the ordered effect.
--
-- print(…) hands texts and arrays to the core and returns; an array's text is written when its value is there, in the
-- order in which the program printed. Everything that writes to stdout or stderr goes through that one stream: print,
-- io.write, io.stdout:write, io.stderr:write. What would overtake it waits for it first: flush, reading from stdin,
-- os.execute, io.popen, os.exit. Other files are Lua's own.
local ffi = require "ffi"
local core = require "neap.core"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise = core.is_array, core.raise
local select, tostring, type = select, tostring, type

local output = {}

local Pieces = ffi.typeof("neap_piece[?]")

--- Prints a list of n pieces: texts, arrays, or {array, conversion}.
local how = ffi.new("neap_emit")

local function emit(stream, list, n)
    local pieces = Pieces(n)
    for k = 1, n do
        local item, piece = list[k], pieces[k - 1]
        if type(item) == "string" then
            piece.text, piece.bytes = item, #item
        elseif type(item) == "table" then
            piece.text, piece.bytes, piece.id = item[2], #item[2], item[1]._id
        else
            piece.id = item._id
        end
    end
    how.stream = stream
    core.call("print", function() return C.neap_print(ctx, how, n, pieces) end)
end

--- Joins neighbouring texts of the list while appending.
local function append(list, n, item)
    if n > 0 and type(item) == "string" and type(list[n]) == "string" then
        list[n] = list[n] .. item
        return n
    end
    list[n + 1] = item
    return n + 1
end

--- print(…): the values, separated by tabs, and a newline, as in Lua; arrays as tostring gives them. Does not wait.
function output.print(...)
    local count = select("#", ...)
    local list, n = {}, 0
    for k = 1, count do
        local value = select(k, ...)
        if k > 1 then n = append(list, n, "\t") end
        if not is_array(value) then
            value = tostring(value)
            if type(value) ~= "string" then core.fail("'tostring' must return a string to 'print'") end
        elseif core.info(value).weak ~= 0 then
            value = { value, "%.14g" } -- a number argument of a jitted function: as Lua prints numbers
        end
        n = append(list, n, value)
    end
    n = append(list, n, "\n")
    emit(C.NEAP_STDOUT, list, n)
end

--- np.printf(format, …): as string.format, printed in order. Conversions of numbers (%d %i %u %x %o %c %f %e %g) accept
-- arrays of one element; %s accepts any array. Does not wait.
function np.printf(format, ...)
    if type(format) ~= "string" then core.bad_argument("printf", 1, "format", "a string", format) end
    local list, n, used, place = {}, 0, 0, 1
    while place <= #format do
        local from, to, flags, conversion = format:find("%%([-+ #0]*%d*%.?%d*)(.?)", place)
        if not from then
            n = append(list, n, format:sub(place))
            break
        end
        if from > place then n = append(list, n, format:sub(place, from - 1)) end
        place = to + 1
        local spec = format:sub(from, to)
        if conversion == "%" then
            n = append(list, n, "%")
        elseif not conversion:find("^[diuxXocfFeEgGsqaA]$") then
            raise("printf", "cannot read the conversion %q", spec)
        else
            used = used + 1
            if used > select("#", ...) then raise("printf", "no argument for conversion %d, %s", used, spec) end
            local value = select(used, ...)
            if not is_array(value) then
                local ok, text = pcall(string.format, spec, conversion == "s" and tostring(value) or value)
                if not ok then
                    raise("printf", "argument %d does not fit %s: %s", used + 1, spec, core.describe(value))
                end
                n = append(list, n, text)
            elseif conversion == "s" then
                if flags ~= "" then raise("printf", "an array takes a plain %%s, not %s", spec) end
                n = append(list, n, value)
            else
                if not conversion:find("^[diuxXofFeEgG]$") then raise("printf", "%s does not accept an array", spec) end
                if value.size ~= 1 then
                    raise("printf", "%s needs an array of one element, argument %d has shape %s", spec, used + 1,
                          core.shape_text(value))
                end
                n = append(list, n, { value, spec })
            end
        end
    end
    if used < select("#", ...) then raise("printf", "%d arguments for %d conversions", select("#", ...), used) end
    if n > 0 then emit(C.NEAP_STDOUT, list, n) end
end

--- np.effects_barrier(): waits until everything printed so far has been written.
function np.effects_barrier()
    local effects = C.neap_ctx_effects(ctx)
    core.call("effects_barrier", function() return C.neap_effects_poll(effects, core.waker) end)
end
local barrier = np.effects_barrier

-- ---- Lua's own output functions -------------------------------------------------------------------------------------

--- Writes strings, numbers and (unlike Lua's write) arrays.
local function write(stream, name, ...)
    local list, n = {}, 0
    for k = 1, select("#", ...) do
        local value = select(k, ...)
        if type(value) == "number" then
            value = tostring(value)
        elseif type(value) ~= "string" and not is_array(value) then
            core.fail("bad argument #%d to '%s' (string expected, got %s)", k, name, type(value))
        end
        n = append(list, n, value)
    end
    if n > 0 then emit(stream, list, n) end
end

--- Replaces Lua's output functions, once.
-- luacheck: push ignore 121 122
function output.install()
    local files = getmetatable(io.stdout).__index
    local raw = { write = files.write, flush = files.flush, read = files.read, lines = files.lines,
                  io_write = io.write, io_flush = io.flush, io_read = io.read, io_lines = io.lines,
                  execute = os.execute, popen = io.popen, exit = os.exit }
    local streams = { [io.stdout] = C.NEAP_STDOUT, [io.stderr] = C.NEAP_STDERR }

    print = output.print
    function files.write(file, ...)
        local stream = streams[file]
        if not stream then return raw.write(file, ...) end
        write(stream, "write", ...)
        return file
    end
    function io.write(...)
        local stream = streams[io.output()]
        if not stream then return raw.io_write(...) end
        write(stream, "write", ...)
        return io.output()
    end
    local function drained(f, when)
        return function(...)
            if not when or when(...) then barrier() end
            return f(...)
        end
    end
    files.flush = drained(raw.flush, function(file) return streams[file] ~= nil end)
    io.flush = drained(raw.io_flush, function() return streams[io.output()] ~= nil end)
    files.read = drained(raw.read, function(file) return file == io.stdin end)
    files.lines = drained(raw.lines, function(file) return file == io.stdin end)
    io.read = drained(raw.io_read, function() return io.input() == io.stdin end)
    io.lines = drained(raw.io_lines, function(name) return name == nil and io.input() == io.stdin end)
    local yield = coroutine.yield
    function coroutine.yield(...)
        core.check_yield()
        return yield(...)
    end
    os.execute, io.popen = drained(raw.execute), drained(raw.popen)
    if not core.embedded then -- the executable does this itself
        os.exit = drained(raw.exit)
        output.last = newproxy(true)
        getmetatable(output.last).__gc = function() C.neap_effects_drain(C.neap_ctx_effects(ctx)) end
    end
end
-- luacheck: pop

for _, f in ipairs { emit, output.print, np.printf, barrier, write } do jit.off(f) end

return output
