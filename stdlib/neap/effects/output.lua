--- output.lua: print, np.printf, np.debug.print and io.write as effects.
--
-- print(…) hands texts and arrays to the core and returns; an array's text is written when its value is there, in the
-- order in which the program printed. Everything that writes to stdout or stderr goes through that one stream: print,
-- io.write, io.stdout:write, io.stderr:write. What would overtake it waits for it first: flush, seek, reading from
-- stdin, os.execute, io.popen and what is written to its child, os.exit. Other files are Lua's own, which write at
-- once: their write waits for arrays.
local ffi = require "ffi"
local core = require "neap.core"
local shared = require("neap.core.globals").shared
local written = require "neap.effects.written"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise = core.is_array, core.raise
local append_piece, piece_of = written.append, written.piece_of
local select, tostring, type = select, tostring, type

ffi.cdef [[
    long neap_output_seek(int fd, long offset, int whence) __asm__("lseek");
    char *neap_output_error(int code) __asm__("strerror");
]]
local SEEK_CUR = 1 -- of Linux
local BUFFERS = { no = true, full = true, line = true } -- modes of setvbuf

local output = {}

local Pieces = ffi.typeof("neap_piece[?]")

local PRINT, WRITE = C.NEAP_EFFECT_PRINT, C.NEAP_EFFECT_WRITE

--- The number of a kind of effect: "print", "write", "callback", "log", or one of np.effects.kind.
function output.kind_of(name, position, what, kind)
    if type(kind) ~= "string" then core.bad_argument(name, position, what, "a kind of effect", kind) end
    local code = C.neap_effect_parse(kind)
    if code < 0 then core.raise_status(code, name) end
    return code
end

--- A C array of a list of n pieces: texts, arrays, or { array, conversion }. BORROWED from the list.
function output.c_pieces(list, n)
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
    return pieces
end

-- output.lift and output.lower, where bars (progress.lua) stand below what is printed: called before and behind it.
-- output.count: how many prints there were.
output.count = 0

--- Prints a list of n pieces as an effect of a kind.
local function emit(kind, stream, list, n, unordered)
    output.count = output.count + 1
    if output.lift then output.lift() end
    local pieces = output.c_pieces(list, n)
    local file, line = core.user_site()
    local site = file and file .. ":" .. line
    local how = ffi.new("neap_emit", kind, unordered and 1 or 0, stream, site)
    core.call("print", function() return C.neap_print(ctx, how, n, pieces) end)
    if stream == C.NEAP_STDOUT then core.check_stdout() end
    if C.neap_out_capacity(nil) ~= C.NEAP_OK then -- a program that prints faster than its reader reads waits
        core.call("print", function() return C.neap_out_capacity(core.waker) end)
    end
    if output.lower then output.lower(type(list[n]) == "string" and list[n]:sub(-1) == "\n") end
end
output.emit = emit

--- print(…) -> nothing: the values, separated by tabs, and a newline, as in Lua; arrays as tostring gives them, tables
-- with what is in them (large arrays there by dtype and shape; np.pprint shows all), functions by their arguments. An
-- effect: it is done in order, under np.jit too. Does not wait.
--- > print("x", np.arange(3))
-- x	[0 1 2]
--- > print({1, 2, w = np.eye(2)})
-- {1, 2, w = f32[2,2]}
function output.print(...)
    local count = select("#", ...)
    local list, n = {}, 0
    for k = 1, count do
        if k > 1 then n = append_piece(list, n, "\t") end
        n = written.append_value(list, n, (select(k, ...)), false)
    end
    n = append_piece(list, n, "\n")
    emit(PRINT, C.NEAP_STDOUT, list, n)
end

--- The piece for `value` under a printf conversion such as "%.3f": a text, an array, or { array, conversion }.
-- `position` is that of the argument.
local function format_value(name, spec, value, position)
    local flags, width, precision, conversion = spec:match("^%%([-+ #0]*)(%d*)(%.?%d*)([diuxXocfFeEgGsqaA])$")
    if not conversion then raise(name, "cannot read the conversion %q", spec) end
    if #width > 2 or #precision > 3 then
        raise(name, "width and precision have at most two digits, got the conversion %q", spec)
    end
    if not is_array(value) then
        local ok, text = pcall(string.format, spec, conversion == "s" and tostring(value) or value)
        if not ok then raise(name, "argument %d does not fit %s: %s", position, spec, core.describe(value)) end
        return text
    end
    if conversion == "s" then
        if flags .. width .. precision ~= "" then raise(name, "an array takes a plain %%s, not %s", spec) end
        return piece_of(value)
    end
    if not conversion:find("^[diuxXofFeEgG]$") then raise(name, "%s does not accept an array", spec) end
    if value.size ~= 1 then
        raise(name, "%s needs an array of one element, argument %d has shape %s", spec, position,
              core.shape_text(value))
    end
    return { value, spec }
end

--- The pieces of string.format's `format`; returns the list and its length.
function output.pieces(name, format, ...)
    if type(format) ~= "string" then core.bad_argument(name, 1, "format", "a string", format) end
    local list, n, used, place = {}, 0, 0, 1
    while place <= #format do
        local from, to, conversion = format:find("%%[-+ #0]*%d*%.?%d*(.?)", place)
        if not from then
            n = append_piece(list, n, format:sub(place))
            break
        end
        if from > place then n = append_piece(list, n, format:sub(place, from - 1)) end
        place = to + 1
        if conversion == "%" then
            n = append_piece(list, n, "%")
        else
            local spec = format:sub(from, to)
            used = used + 1
            if used > select("#", ...) then raise(name, "no argument for conversion %d, %s", used, spec) end
            n = append_piece(list, n, format_value(name, spec, (select(used, ...)), used + 1))
        end
    end
    if used < select("#", ...) then raise(name, "%d arguments for %d conversions", select("#", ...), used) end
    return list, n
end

--- np.printf(format, …) -> nothing: as string.format, printed in order. Conversions of numbers (%d %i %u %x %o %c %f %e
-- %g) accept arrays of one element; %s accepts any array. Does not wait.
--- > np.printf("%d of %s\n", 3, np.arange(2))
-- 3 of [0 1]
function np.printf(format, ...)
    local list, n = output.pieces("printf", format, ...)
    if n > 0 then emit(PRINT, C.NEAP_STDOUT, list, n) end
end

-- ---- Fields ---------------------------------------------------------------------------------------------------------

local FIRST_ROOM = 256 -- bytes of the text of a value in a field

--- The text of a value under a conversion, or nil and what is wrong. dtype: that of the element at `value`; -1: `value`
-- is a text of `size` bytes.
local function conversion_text(dtype, value, size, conversion)
    local room, length = FIRST_ROOM, ffi.new("size_t[1]")
    while true do
        local text = ffi.new("char[?]", room)
        local problem = core.failure(function()
            return C.neap_conversion_text(dtype, value, size, conversion, text, room, length)
        end)
        if problem then return nil, problem end
        if length[0] <= room then return ffi.string(text, length[0]) end
        room = tonumber(length[0])
    end
end

local one_f64 = ffi.new("double[1]")

--- The conversion for a field's specification, such as ">8.3f". of_number: the value is a number, which without a type
-- is written as print writes it.
local function conversion_of(spec, of_number)
    if of_number and not spec:find "[%a%%]$" then spec = spec .. (spec:find "%.%d+$" and "g" or ".14g") end
    return ":" .. spec
end

--- What is wrong with a specification for elements of a dtype; nil: nothing is.
local function misfit(spec, dtype)
    local conversion = ":" .. spec
    return core.failure(function() return C.neap_conversion_check(dtype, conversion) end)
end

--- The piece for a value in a field with a specification; or nil and what is wrong.
local function field_piece(name, spec, value)
    if core.integer64(value) then value = core.coerce(name, 1, value) end
    if is_array(value) then
        if value.size ~= 1 then
            return nil, ("{:%s} needs an array of one element, got shape %s"):format(spec, core.shape_text(value))
        end
        local dtype = core.dtype_of(value)
        local problem = misfit(spec, dtype.code)
        if problem then return nil, problem end
        return { value, conversion_of(spec, core.info(value).weak ~= 0 and dtype.kind ~= "c") }
    elseif type(value) == "number" then
        local problem = misfit(spec, core.dtype_codes.f64)
        if problem then return nil, problem end
        one_f64[0] = value
        return conversion_text(core.dtype_codes.f64, one_f64, 0, conversion_of(spec, true))
    elseif type(value) == "table" and not getmetatable(value) and not core.shapes[value] then
        return nil, ("{:%s} is for numbers and texts, got a table"):format(spec)
    end
    local text = piece_of(value)
    return conversion_text(-1, text, #text, ":" .. spec)
end

local debug_print_options = { ordered = true, kind = true }

--- What fields of a format stand for: they take one argument after the other, or say by a number from 0 or a name which
-- they mean; names are keys of the last argument, a table. `first`: the position of the format.
local function fields_of(name, first, ...)
    local count, used, named, asked = select("#", ...) - first, {}, 0, {}
    local last = count > 0 and select(first + count, ...)
    local fields = {}
    function fields.get(which, ...) -- returns the value and its position
        if which:find "^[%a_]" then
            if type(last) ~= "table" or last[which] == nil then raise(name, "no argument for field {%s}", which) end
            asked[which] = true
            return last[which], first + count
        end
        if which == "" then named = named + 1 end
        local k = which == "" and named or tonumber(which) + 1
        if k > count then raise(name, "no argument for field %s", which == "" and k or "{" .. which .. "}") end
        used[k] = true
        return (select(first + k, ...)), first + k
    end
    function fields.check()
        if next(asked) and not used[count] then
            used[count] = true
            for key in next, last do
                if not asked[key] then raise(name, "no field takes the argument '%s'", tostring(key)) end
            end
        end
        local n = 0
        for _ in next, used do n = n + 1 end
        if n < count then raise(name, "%d arguments for %d fields", count, n) end
    end
    return fields
end

--- The pieces of a format with fields, as np.debug.print has them, which is argument `first` and is called `what`;
-- returns the list and its length.
function output.field_pieces(name, first, what, ...)
    local format = select(first, ...)
    if type(format) ~= "string" then core.bad_argument(name, first, what, "a string", format) end
    local list, n, place, fields = {}, 0, 1, fields_of(name, first, ...)
    while place <= #format do
        local from = format:find("[{}]", place)
        if not from then
            n = append_piece(list, n, format:sub(place))
            break
        end
        if from > place then n = append_piece(list, n, format:sub(place, from - 1)) end
        local brace = format:sub(from, from)
        if format:sub(from + 1, from + 1) == brace then
            n = append_piece(list, n, brace)
            place = from + 2
        else
            local field, which, colon, spec = format:match("^({([%w_]*)(:?)([^{}]*)})", from)
            if not field or (colon == "" and spec ~= "") or not (which:find "^%d*$" or which:find "^[%a_]") then
                raise(name, "cannot read the %s at %q: fields are {}, {0}, {x} and {:.3f}, braces are {{ and }}", what,
                      format:sub(from, from + 9))
            end
            local value, position = fields.get(which, ...)
            if spec == "" then
                n = written.append_value(list, n, value, true)
            else
                local piece, problem = field_piece(name, spec, value)
                if not piece then raise(name, "argument %d at byte %d of the %s: %s", position, from, what, problem) end
                n = append_piece(list, n, piece)
            end
            place = from + #field
        end
    end
    fields.check()
    return list, n
end

np.debug = {} -- inspect/debug.lua adds to it

--- np.debug.print({ordered=false, kind="print"}, format, …), np.debug.print(format, …) -> nothing: prints a line as
-- soon as its values are there, whatever the order of other output; with ordered=true in the order of its kind, which
-- by default is that of print. Fields of the format: {} is a value as print shows it, and a table with what is in it;
-- {0} and {1} count arguments from 0, {x} is a key of the last one, a table; {{ and }} are braces. Behind a colon
-- stands how a number, a text or an array of one element is written, as in Python's str.format:
-- {:[[fill]align][sign][#][0][width][,][.precision][type]}, as {:>8}, {:.3f}, {x:*^+12.2e}, {:08b}, {:,}, {:.1%}. Align
-- is one of < > ^ =, width and precision have at most two digits, types are those of Python but c and n. Does not wait.
--- ordered: true: in the order of its kind
--- kind: a kind of effects, from np.effects.kind
--- > np.debug.print("x is {:.2f}", np.array(0.5))
-- x is 0.50
--- > np.debug.print("{loss:.1f} of {0}", np.arange(2), {loss=np.array(0.5)})
-- 0.5 of [0 1]
--- > np.debug.print("|{:>8}|{:<8.2f}|{:^8}|", "name", np.array(2.5), 3)
-- |    name|2.50    |   3    |
--- > np.debug.print({ordered=true}, "x is {}", np.arange(2))
-- x is [0 1]
function np.debug.print(...)
    local name, ordered, kind, first = "debug.print", false, PRINT, 1
    if type((...)) == "table" then
        local options = core.options(name, (...), debug_print_options)
        if options.ordered ~= nil and type(options.ordered) ~= "boolean" then
            core.bad_argument(name, nil, "ordered", "a boolean", options.ordered)
        end
        ordered, first = options.ordered, 2
        if options.kind ~= nil then kind = output.kind_of(name, nil, "kind", options.kind) end
    end
    local list, n = output.field_pieces(name, first, "format", ...)
    emit(kind, C.NEAP_STDOUT, list, append_piece(list, n, "\n"), not ordered)
end

--- np.effects_barrier() -> nothing: waits until everything printed so far has been written.
--- > np.effects_barrier()
function np.effects_barrier()
    local effects = C.neap_ctx_effects(ctx)
    core.in_barrier = true -- so it stays after an interrupt: then the user has stopped just this output
    core.call("effects_barrier", function() return C.neap_effects_poll(effects, core.waker) end)
    core.in_barrier = nil
end
local barrier = np.effects_barrier

-- ---- Lua's own output functions -------------------------------------------------------------------------------------

--- Writes strings, numbers and (unlike Lua's write) arrays.
local function write_values(stream, name, ...)
    local list, n = {}, 0
    for k = 1, select("#", ...) do
        local value = select(k, ...)
        if type(value) == "number" then
            value = tostring(value)
        elseif type(value) ~= "string" and not is_array(value) then
            core.fail("bad argument #%d to '%s' (string expected, got %s)", k, name, type(value))
        end
        n = append_piece(list, n, value)
    end
    if n > 0 then emit(WRITE, stream, list, n) end
end

--- The values for a write to a file of Lua's own, with arrays as their texts: what the program does next with the file
-- (closing it, reading it, moving in it) does not wait for effects, so this waits for the arrays.
local function own_values(...)
    local values, n = { ... }, select("#", ...)
    for k = 1, n do
        if is_array(values[k]) then
            if core.info(values[k]).traced ~= 0 then
                core.fail("bad argument #%d to 'write': a file cannot get the value of an array that is not known "
                          .. "while tracing; use np.effects.logger or np.callback", k)
            end
            values[k] = tostring(values[k])
        end
    end
    return unpack(values, 1, n)
end

--- Replaces Lua's output functions, once.
function output.install()
    local files, io, os, coroutine = shared.files, shared.io, shared.os, shared.coroutine
    local raw = { write = files.write, flush = files.flush, read = files.read, lines = files.lines, seek = files.seek,
                  close = files.close, setvbuf = files.setvbuf, io_write = io.write, io_flush = io.flush,
                  io_read = io.read, io_lines = io.lines, io_close = io.close, execute = os.execute,
                  popen = io.popen, exit = os.exit }
    local streams = { [io.stdout] = C.NEAP_STDOUT, [io.stderr] = C.NEAP_STDERR }
    local children = setmetatable({}, { __mode = "k" }) -- files of io.popen: what they get may be shown at once

    shared._G.print = output.print
    function files.write(file, ...)
        local stream = streams[file]
        if children[file] then barrier() end
        if not stream then return raw.write(file, own_values(...)) end
        write_values(stream, "write", ...)
        return file
    end
    function io.write(...)
        local stream = streams[io.output()]
        if children[io.output()] then barrier() end
        if not stream then return raw.io_write(own_values(...)) end
        write_values(stream, "write", ...)
        return io.output()
    end
    local function drained(f, when)
        return function(...)
            if not when or when(...) then barrier() end
            return f(...)
        end
    end
    local function is_shown(file) return streams[file] or children[file] end
    local function flushed(f, file, ...)
        if is_shown(file) then barrier() end
        local code = streams[file] and C.neap_out_errno(streams[file]) or 0
        if code == 0 then return f(...) end
        if streams[file] == C.NEAP_STDOUT then core.note_stdout_told() end
        return nil, ffi.string(ffi.C.neap_output_error(code)), code
    end
    function files.flush(file) return flushed(raw.flush, file, file) end
    function io.flush() return flushed(raw.io_flush, io.output()) end
    function files.seek(file, whence, offset)
        if not streams[file] then return raw.seek(file, whence, offset) end
        barrier()
        local at = ffi.C.neap_output_seek(streams[file], 0, SEEK_CUR) -- C's library knows where it was itself
        if at >= 0 and (whence == nil or whence == "cur") then whence, offset = "set", tonumber(at) + (offset or 0) end
        return raw.seek(file, whence, offset)
    end
    --- What is shown never stands in a buffer of C's that Lua could set; text of C code does, until its turn has come.
    function files.setvbuf(file, mode, size)
        if not streams[file] or not BUFFERS[mode] then return raw.setvbuf(file, mode, size) end
        return true
    end
    files.close = drained(raw.close, function(file) return children[file] end)
    io.close = drained(raw.io_close, function(file) return children[file or io.output()] end)
    files.read = drained(raw.read, function(file) return file == io.stdin end)
    files.lines = drained(raw.lines, function(file) return file == io.stdin end)
    io.read = drained(raw.io_read, function() return io.input() == io.stdin end)
    io.lines = drained(raw.io_lines, function(name) return name == nil and io.input() == io.stdin end)
    local yield = coroutine.yield
    function coroutine.yield(...)
        core.check_yield()
        return yield(...)
    end
    os.execute = drained(raw.execute)
    local function with_child(file, ...)
        if file then children[file] = true end
        return file, ...
    end
    function io.popen(...)
        barrier()
        return with_child(raw.popen(...))
    end
    if not core.embedded then require("neap.effects.ending").install(raw.exit, barrier) end
end

for _, f in ipairs { emit, output.print, output.pieces, output.field_pieces, np.printf, np.debug.print, barrier,
                     write_values, own_values } do
    jit.off(f)
end

return output
