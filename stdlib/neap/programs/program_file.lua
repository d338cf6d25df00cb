--- program_file.lua: programs in files: program:save and np.load_program. docs/programs.md describes the format.
--
-- The core writes and reads the graph (lazy/program/file.h); here are the container with its checksums, and what only
-- Lua knows: the trees of arguments, results and callbacks. A file is never believed: all sizes are checked before they
-- are used, and trees are data, never code.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"
local declared = require "neap.tracing.declared"
local files = require "neap.files"
local program = require "neap.programs.program"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"
local zip = require "neap.files.zip"
require "neap.effects"

local np, C, ctx = core.np, core.C, core.ctx
local raise, bad_argument, check_path = core.raise, core.bad_argument, core.check_path
local parts, SLOT = core.call_parts, staging.SLOT
local Program = program.Program

local MAGIC, VERSION = "\139neap\r\n\026", 4 -- files of versions 1 to 3 can be read
local SECTIONS = { "forms", "graph" } -- all of them, in this order
local HEAD, ENTRY = 20, 24            -- bytes of the head and of an entry of the table behind it
local MOST_VALUES = 4000              -- arguments or results of a function
local MAX_DEPTH = 200

-- ---- Trees as bytes -------------------------------------------------------------------------------------------------

local number_box = ffi.new("double[1]")

local function u32_text(value)
    return string.char(bit.band(value, 255), bit.band(bit.rshift(value, 8), 255), bit.band(bit.rshift(value, 16), 255),
                       bit.band(bit.rshift(value, 24), 255))
end

--- The eight bytes of a number, little-endian; of every NaN the same.
local function f64_text(value)
    number_box[0] = value == value and value or core.NAN
    local text = ffi.string(number_box, 8)
    return ffi.abi("le") and text or text:reverse()
end

local write

local function write_table(value, out)
    local keys = trees.keys_of(value, "program.save")
    out[#out + 1] = "{" .. u32_text(#keys)
    for _, key in ipairs(keys) do
        write(key, out)
        write(value[key], out)
    end
end

--- Appends a value to a list of texts: nil, a boolean, a number, a string, SLOT, a part of a callback, or a table of
-- these.
function write(value, out)
    local kind = type(value)
    if rawequal(value, SLOT) then
        out[#out + 1] = "x"
    elseif kind == "nil" then
        out[#out + 1] = "z"
    elseif kind == "boolean" then
        out[#out + 1] = value and "t" or "f"
    elseif kind == "number" then
        out[#out + 1] = "n" .. f64_text(value)
    elseif kind == "string" then
        out[#out + 1] = "s" .. u32_text(#value) .. value
    elseif getmetatable(value) == parts.Argument then
        out[#out + 1] = "a"
        write_table({ index = value.index, number = value.number }, out)
    elseif getmetatable(value) == parts.Result then
        out[#out + 1] = "r"
        write_table({ index = value.index, dtype = core.dtypes[value.dtype].name, shape = value.shape,
                      path = value.path }, out)
    elseif trees.class_of(value) then
        raise("program.save", "%s is among the arguments or results, which no file can hold; pass its parts, as in "
              .. "{data=A.data, indices=A.indices}", trees.class_of(value).__tree)
    elseif trees.is_node(value) then
        write_table(value, out)
    else
        raise("program.save", "a callback gets %s, which no file can hold", core.describe(value))
    end
end

--- Raises what is wrong with a file; caught where it is loaded.
local function damaged(format, ...)
    error({ damaged = format:format(...) })
end

local function u32_at(data, at)
    return bit.tobit(zip.u32(data, at)) % 2 ^ 32
end

local function next_bytes(r, bytes)
    if bytes > r.size - r.at then damaged("its section 'forms' is truncated") end
    r.at = r.at + bytes
    return r.at - bytes
end

local function read_f64(r)
    local at = next_bytes(r, 8)
    for k = 0, 7 do
        ffi.cast("uint8_t *", number_box)[k] = r.data[at + (ffi.abi("le") and k or 7 - k)]
    end
    return core.reader(number_box, core.dtypes[core.dtype_codes.f64])(0)
end

local read

local function read_table(r, depth)
    if depth > MAX_DEPTH then damaged("tables are nested more than %d deep", MAX_DEPTH) end
    local value = {}
    for _ = 1, u32_at(r.data, next_bytes(r, 4)) do
        local key = read(r, depth + 1)
        if type(key) ~= "string" and type(key) ~= "number" or key ~= key then damaged("a table has an odd key") end
        value[key] = read(r, depth + 1)
    end
    return value
end

local function read_result(r, depth)
    local result = read_table(r, depth)
    local code = core.dtype_codes[result.dtype]
    if type(result.index) ~= "number" or type(result.shape) ~= "table" or type(result.path) ~= "string" or not code then
        damaged("a result of a callback is none")
    end
    result.dtype = code
    return setmetatable(result, parts.Result)
end

--- The value at r.at, which moves behind it.
function read(r, depth)
    local tag = string.char(r.data[next_bytes(r, 1)])
    if tag == "x" then return SLOT end
    if tag == "z" then return nil end
    if tag == "t" or tag == "f" then return tag == "t" end
    if tag == "n" then return read_f64(r) end
    if tag == "s" then
        local bytes = u32_at(r.data, next_bytes(r, 4))
        return ffi.string(r.data + next_bytes(r, bytes), bytes)
    end
    if tag == "{" then return read_table(r, depth) end
    if tag == "a" or tag == "r" then
        if string.char(r.data[next_bytes(r, 1)]) ~= "{" then damaged("a part of a callback is none") end
        return tag == "r" and read_result(r, depth) or setmetatable(read_table(r, depth), parts.Argument)
    end
    damaged("its section 'forms' holds the unknown tag %d", tag:byte())
end

--- A packed tree of a file with as many slots as there should be.
local function check_packed(what, packed, slots)
    local n = type(packed) == "table" and packed.n
    if type(n) ~= "number" or n % 1 ~= 0 or n < 0 or n > MOST_VALUES then damaged("its %s are no list", what) end
    local found = 0
    for k = 1, n do
        trees.walk("load_program", packed[k], function(leaf)
            if rawequal(leaf, SLOT) then found = found + 1 end
            if type(leaf) == "table" and not rawequal(leaf, SLOT) then
                damaged("its %s hold parts of a callback", what)
            end
        end)
    end
    if found ~= slots then damaged("its %s have %d arrays, but the graph has %d", what, found, slots) end
end

-- ---- The container --------------------------------------------------------------------------------------------------

local function checksum(data, size)
    local crc, problem = zip.crc32(ffi.cast("const uint8_t *", data), size)
    if not crc then error({ damaged = problem }) end
    return crc
end

--- The pieces of a file with these sections, name → block.
local function pack_sections(sections)
    local table_text = {}
    for k, name in ipairs(SECTIONS) do
        local block = sections[name]
        table_text[k] = name .. ("\0"):rep(8 - #name) .. u32_text(block.size % 2 ^ 32)
            .. u32_text(math.floor(block.size / 2 ^ 32)) .. u32_text(checksum(block.data, block.size)) .. u32_text(0)
    end
    local entries = table.concat(table_text)
    local head = MAGIC .. u32_text(VERSION) .. u32_text(#SECTIONS)
    local pieces = { head .. u32_text(checksum(head .. entries, #head + #entries)) .. entries }
    for _, name in ipairs(SECTIONS) do pieces[#pieces + 1] = sections[name] end
    return pieces
end

local function unpack_entry(block, k, at)
    local entry = block.data + HEAD + ENTRY * (k - 1)
    local name = ffi.string(entry, 8):gsub("%z+$", "")
    local size = u32_at(entry, 8) + 2 ^ 32 * u32_at(entry, 12)
    if name ~= SECTIONS[k] then damaged("it is damaged: its section %d is not '%s'", k, SECTIONS[k]) end
    if size > block.size - at then damaged("it is truncated: its section '%s' has %.0f bytes", name, size) end
    if checksum(block.data + at, size) ~= u32_at(entry, 16) then
        damaged("it is damaged: the checksum of its section '%s' is wrong", name)
    end
    return { data = block.data + at, size = size, keep = block }
end

--- The sections of a file in memory, name → block.
local function unpack_sections(block)
    if block.size < HEAD or ffi.string(block.data, 8) ~= MAGIC then
        damaged("it is no program of neap, or truncated")
    end
    local version, count = u32_at(block.data, 8), u32_at(block.data, 12)
    if version < 1 or version > VERSION then
        damaged("it has version %d of the format, this version of neap reads versions 1 to %d", version, VERSION)
    end
    if count ~= #SECTIONS then damaged("it has %d sections, expected %d", count, #SECTIONS) end
    local at, sections = HEAD + ENTRY * count, {}
    if block.size < at then damaged("it is truncated") end
    local sum = checksum(ffi.string(block.data, 16) .. ffi.string(block.data + HEAD, at - HEAD), 16 + at - HEAD)
    if sum ~= u32_at(block.data, 16) then damaged("it is damaged: the checksum of its head is wrong") end
    for k, name in ipairs(SECTIONS) do
        sections[name] = unpack_entry(block, k, at)
        at = at + sections[name].size
    end
    if at ~= block.size then damaged("it is damaged: there is more behind its end") end
    sections.version = version
    return sections
end

-- ---- Saving ---------------------------------------------------------------------------------------------------------

--- The numbers of which the core's functions `list` and, if sizes are declared, `sized_list` tell for a program, from
-- 0, and how many they are.
local function numbers_of(list, sized_list, entry, transcript)
    local count, capacity, numbers = ffi.new("int32_t[1]"), 0
    repeat
        capacity = math.max(capacity, count[0])
        numbers = ffi.new("int32_t[?]", capacity + 1)
        core.call("program.save", function()
            if transcript then return sized_list(transcript, entry.program, capacity, numbers, count) end
            return list(entry.program, capacity, numbers, count)
        end)
    until count[0] <= capacity
    return numbers, count[0]
end

--- What Lua knows of the callbacks of a program, in the core's order.
local function calls_of(entry, transcript)
    local calls, numbers, count = {}, numbers_of(C.neap_program_callees, C.neap_transcript_callees, entry, transcript)
    for k = 1, count do
        local call = core.callee(numbers[k - 1])
        if getmetatable(call) ~= parts.Call then
            raise("program.save", "the program writes to a log that is a Lua table, which no file can hold; use "
                  .. "np.callback for that")
        end
        calls[k] = { name = call.name, arguments = call.arguments, n = call.n, results = call.results,
                     axes = call.axes }
    end
    return calls
end

local sharding_info = ffi.new("neap_sharding")

-- What a sharding says besides of axes of the mesh, in bits: mostly of arrays of a body.
local OF_BODY = { "manual", "varies", "differs", "unchecked", "unreduced", "reduced" }

--- The shardings of a program, and their meshes: { meshes = { { shape, names }, … }, list = { { mesh = place in meshes,
-- axes of array and mesh, in turn, and those of OF_BODY that are not 0 }, … } }.
local function layouts_of(entry, transcript)
    local numbers, count = numbers_of(C.neap_program_shardings, C.neap_transcript_shardings, entry, transcript)
    local layouts, place = { meshes = {}, list = {} }, {}
    for k = 1, count do
        core.call("program.save", function() return C.neap_sharding_get(numbers[k - 1], sharding_info) end)
        local mesh = core.mesh_of(sharding_info.mesh)
        if not place[mesh.number] then
            layouts.meshes[#layouts.meshes + 1] = { shape = mesh.sizes, names = mesh.axis_names }
            place[mesh.number] = #layouts.meshes
        end
        local one = { mesh = place[mesh.number] }
        for at = 0, 2 * sharding_info.nsplit - 1 do one[at + 1] = sharding_info.split[at] end
        for _, name in ipairs(OF_BODY) do
            if sharding_info[name] ~= 0 then one[name] = tonumber(sharding_info[name]) end
        end
        layouts.list[k] = one
    end
    return layouts
end

local data_box, bytes_box = ffi.new("char *[1]"), ffi.new("size_t[1]")

--- program:save(path): writes the program to a file (docs/programs.md): its ops by name, the arrays that it holds, the
-- form of its arguments and results. The file appears at once, complete. Functions that it calls are saved by name.
function Program:save(path)
    check_path("program.save", path)
    local forms, entry = {}, self.entry
    local sized = self.declared
    local transcript = sized and sized.transcript
    write({ arguments = self.arguments, roots = self.roots, results = entry.template,
            calls = calls_of(entry, transcript), layouts = layouts_of(entry, transcript),
            sizes = sized and declared.to_tree(sized) }, forms)
    core.call("program.save", function()
        if sized then return C.neap_transcript_write(transcript, entry.program, data_box, bytes_box) end
        return C.neap_program_write(entry.program, data_box, bytes_box)
    end)
    local graph = { size = tonumber(bytes_box[0]), keep = ffi.gc(data_box[0], C.neap_bytes_free) }
    graph.data = ffi.cast("uint8_t *", graph.keep)
    local text = table.concat(forms)
    local ok, pieces = pcall(pack_sections, { forms = { data = text, size = #text }, graph = graph })
    if not ok then
        raise("program.save", "cannot save '%s': %s", path, type(pieces) == "table" and pieces.damaged or pieces)
    end
    local written, problem = files.write(path, pieces)
    if not written then raise("program.save", "%s", problem) end
end

-- ---- Loading --------------------------------------------------------------------------------------------------------

--- Callees for the calls of a file, with the caller's functions, or the error that names those that are missing.
local function bind_calls(calls, functions)
    if type(calls) ~= "table" then damaged("its callbacks are no list") end
    local missing, seen, callees = {}, {}, {}
    for k = 1, #calls do
        local call = calls[k]
        if type(call) ~= "table" or type(call.name) ~= "string" or type(call.arguments) ~= "table"
            or type(call.n) ~= "number" or call.n % 1 ~= 0 or call.n < 0 or call.n > MOST_VALUES
            or call.axes ~= nil and type(call.axes) ~= "table" then
            damaged("a callback is none")
        end
        local f = functions[call.name]
        if f == nil and not seen[call.name] then missing[#missing + 1] = ("%q"):format(call.name) end
        seen[call.name] = true
        callees[k] = setmetatable({ f = f, name = call.name, arguments = call.arguments, n = call.n,
                                    results = call.results, axes = call.axes }, parts.Call)
    end
    if #missing > 0 then
        damaged("it calls functions that must be given, as in {callbacks={[%s]=f}}: %s", missing[1],
                table.concat(missing, ", "))
    end
    return callees
end

--- The mesh of a file: `given`, if that has its axes, or one of the first devices. A body of np.shard_map (`body`: it
-- has one) is recorded for one number of devices along each axis.
local function mesh_of_file(wanted, given, body)
    local shape, names, text, size = wanted.shape, wanted.names, {}, 1
    if type(shape) ~= "table" or type(names) ~= "table" or #shape ~= #names or #shape == 0 then
        damaged("a mesh is none")
    end
    for k = 1, #shape do
        if type(shape[k]) ~= "number" or shape[k] < 1 or shape[k] % 1 ~= 0 or type(names[k]) ~= "string" then
            damaged("a mesh is none")
        end
        text[k], size = ("%s=%d"):format(names[k], shape[k]), size * shape[k]
    end
    if given then
        for k = 1, math.max(#names, #given.axis_names) do
            if given.axis_names[k] ~= names[k] then
                damaged("it needs a mesh with the axes {%s}, got %s", table.concat(text, ", "), given:axes_text())
            end
            if body and given.sizes[k] ~= shape[k] then
                damaged("it holds the body of a np.shard_map over {%s}, got a mesh %s; a body takes no other sizes",
                        table.concat(text, ", "), given:axes_text())
            end
        end
        return given
    end
    local all, devices = np.devices(), {}
    if size > #all then
        damaged("it needs a mesh {%s} of %d devices, and there %s %d (neap --devices %d; option 'mesh' gives another)",
                table.concat(text, ", "), size, #all == 1 and "is" or "are", #all, size)
    end
    for k = 1, size do devices[k] = all[k] end
    local ok, mesh = pcall(np.mesh, shape, names, { devices = devices })
    if not ok then damaged("%s", mesh) end
    return mesh
end

--- The numbers of the shardings of a file, in a C array, and how many they are.
local function bind_layouts(layouts, given)
    if layouts == nil then return ffi.new("int32_t[1]"), 0 end -- of version 1
    if type(layouts) ~= "table" or type(layouts.meshes) ~= "table" or type(layouts.list) ~= "table" then
        damaged("its shardings are no list")
    end
    local numbers, meshes, bodies = ffi.new("int32_t[?]", #layouts.list + 1), {}, {}
    for _, one in ipairs(layouts.list) do
        if type(one) == "table" and one.mesh ~= nil and one.manual then bodies[one.mesh] = true end
    end
    for k, one in ipairs(layouts.meshes) do
        if type(one) ~= "table" then damaged("a mesh is none") end
        meshes[k] = mesh_of_file(one, given, bodies[k])
    end
    for k, one in ipairs(layouts.list) do
        if type(one) ~= "table" or not meshes[one.mesh] or #one % 2 ~= 0 or #one > 2 * C.NEAP_MESH_AXES then
            damaged("a sharding is none")
        end
        ffi.fill(sharding_info, ffi.sizeof(sharding_info))
        sharding_info.mesh, sharding_info.nsplit = meshes[one.mesh].number, #one / 2
        for at = 1, #one do
            if type(one[at]) ~= "number" or one[at] < 0 or one[at] > 100 then damaged("a sharding is none") end
            sharding_info.split[at - 1] = one[at]
        end
        for _, name in ipairs(OF_BODY) do
            local bits = one[name] or 0
            if type(bits) ~= "number" or bits < 0 or bits >= 2 ^ C.NEAP_MESH_AXES or bits % 1 ~= 0 then
                damaged("a sharding is none")
            end
            sharding_info[name] = bits
        end
        local failure = core.failure(function() return C.neap_sharding_new(sharding_info, numbers + (k - 1)) end)
        if failure then damaged("%s", failure) end
    end
    return numbers, #layouts.list
end

local program_box, free_program = ffi.new("neap_program *[1]"), core.finalizer(C.neap_program_free)
local transcript_box, free_transcript = ffi.new("neap_transcript *[1]"), core.finalizer(C.neap_transcript_free)

--- The core's program of a section, and the transcript if its sizes are declared; raises.
local function read_graph(section, version, callees, shardings, nshardings)
    local n = #callees
    local numbers = ffi.new("int32_t[?]", n + 1)
    for k = 1, n do numbers[k - 1] = core.add_callee(callees[k]) end
    local saved = ffi.new("neap_saved")
    saved.version, saved.data, saved.bytes = version, section.data, section.size
    saved.ncallees, saved.callees, saved.nshardings, saved.shardings = n, numbers, nshardings, shardings
    local failure = core.failure(function()
        return C.neap_transcript_read(ctx, saved, program_box, transcript_box)
    end)
    if failure then
        for k = 1, n do core.remove_callee(numbers[k - 1]) end
        damaged("%s", failure)
    end
    return ffi.gc(program_box[0], free_program),
           transcript_box[0] ~= nil and ffi.gc(transcript_box[0], free_transcript) or nil
end

--- What is declared of a program with this transcript, whose inputs are the ports.
local function declared_of(known, transcript, ports)
    if (known.sizes ~= nil) ~= (transcript ~= nil) then damaged("its sizes are declared by halves") end
    if not transcript then return nil end
    if type(known.sizes) ~= "table" then damaged("its sizes are no list") end
    local shapes = {}
    for k, port in ipairs(ports) do shapes[k] = not port.number and port.shape end
    local ok, of = pcall(declared.of_tree, "load_program", known.sizes, shapes)
    if not ok then damaged("%s", tostring(of)) end
    of.transcript = transcript
    return of
end

local port_box, name_box = ffi.new("neap_info"), ffi.new("const char *[1]")

--- The same of a file of version 1, which does not say: what the names of inputs begin with. An exported program has
-- its inputs one by one there: they become trees.
local function older_roots(known, core_program)
    local arguments, roots, slot, trees_of = known.arguments, {}, 0, { n = 0 }
    local flat = true
    for k = 1, arguments.n do flat = flat and rawequal(arguments[k], SLOT) end
    for k = 1, arguments.n do
        local first = slot
        trees.walk("load_program", arguments[k], function(leaf) if rawequal(leaf, SLOT) then slot = slot + 1 end end)
        roots[k] = "arg" .. k
        if slot > first then
            C.neap_program_port(core_program, 0, first, port_box, name_box)
            local name = name_box[0] ~= nil and ffi.string(name_box[0]) or roots[k]
            roots[k] = name:match "^[^.%[]+" or name
            if flat then
                local steps = {}
                for step in name:gmatch "[^.%[%]]+" do steps[#steps + 1] = tonumber(step) or step end
                if roots[k] ~= trees_of[trees_of.n] then trees_of.n = trees_of.n + 1 end
                trees_of[trees_of.n] = roots[k]
                local at, key = trees_of, "tree" .. trees_of.n
                for s = 2, #steps do
                    at[key] = type(at[key]) == "table" and not rawequal(at[key], SLOT) and at[key] or {}
                    at, key = at[key], steps[s]
                end
                at[key] = SLOT
            end
        end
    end
    if not flat then return roots end
    known.arguments, roots = { n = trees_of.n }, {}
    for k = 1, trees_of.n do roots[k], known.arguments[k] = trees_of[k], trees_of["tree" .. k] end
    return roots
end

--- What the arguments are called.
local function roots_of(known, core_program, version)
    if version == 1 then return older_roots(known, core_program) end
    local roots = known.roots
    if type(roots) ~= "table" or #roots ~= known.arguments.n then damaged("the names of its arguments are no list") end
    for k = 1, #roots do
        if type(roots[k]) ~= "string" then damaged("the names of its arguments are no list") end
    end
    return roots
end

local function load_file(path, functions, mesh)
    local block, problem = files.read(path)
    if not block then error({ damaged = problem, whole = true }) end
    local sections = unpack_sections(block)
    local forms = sections.forms
    local r = { data = forms.data, size = forms.size, at = 0 }
    local known = read(r, 0)
    if r.at ~= r.size then damaged("its section 'forms' goes on behind its end") end
    if type(known) ~= "table" or getmetatable(known) then damaged("its section 'forms' is no table") end
    local calls = bind_calls(known.calls, functions)
    local core_program, transcript = read_graph(sections.graph, sections.version, calls,
                                                bind_layouts(known.layouts, mesh))
    local facts = ffi.new("neap_program_info")
    C.neap_program_info_get(core_program, facts)
    check_packed("arguments", known.arguments, facts.inputs)
    check_packed("results", known.results, facts.outputs)
    local roots = roots_of(known, core_program, sections.version)
    local loaded = program.new({ program = core_program, template = known.results, n = facts.inputs,
                                 outputs = facts.outputs, captures = {} }, known.arguments, roots)
    program.declare(loaded, declared_of(known, transcript, loaded.ports))
    return loaded
end

--- np.load_program(path, {callbacks={}, mesh=…}) -> program: the program of a file that program:save wrote, called as
-- the original was. Files may come from anywhere: what is damaged, or of ops or a version that this neap does not
-- know, is an error that says so, and nothing in a file is run as code. Functions that the program calls must be given
-- by name. If it was recorded on arrays that lie on a mesh, a mesh of the same axes is made of the first np.devices(),
-- or is the one that is given, whose sizes may be others if the program holds no body of np.shard_map.
--- callbacks: the functions that the program calls, by name
--- mesh: a mesh in place of the one that the program was recorded on
--- > np.trace(function(x) return x * 2 end)(np.ones(3)):save("double.program")
--- > np.load_program("double.program")(np.ones(3))
-- [2. 2. 2.]
function np.load_program(path, given)
    check_path("load_program", path)
    local o = core.options("load_program", given, { callbacks = true, mesh = true })
    local functions = o.callbacks
    if functions == nil then functions = {} end
    if type(functions) ~= "table" then
        bad_argument("load_program", nil, "callbacks", "a table of functions by name", functions)
    end
    for name, f in pairs(functions) do
        if type(f) ~= "function" then
            raise("load_program", "option 'callbacks': expected a function for %s, got %s", tostring(name),
                  core.describe(f))
        end
    end
    if o.mesh ~= nil and (type(o.mesh) ~= "table" or not rawget(o.mesh, "axis_names")) then
        bad_argument("load_program", nil, "mesh", "a mesh that np.mesh has made", o.mesh)
    end
    local ok, result = pcall(load_file, path, functions, o.mesh)
    if ok then return result end
    if type(result) ~= "table" then error(result, 0) end
    if result.whole then raise("load_program", "%s", result.damaged) end
    raise("load_program", "cannot load '%s': %s", path, result.damaged)
end

for _, f in ipairs { write, write_table, read, read_table, check_packed, pack_sections, unpack_sections, calls_of,
                     bind_calls, layouts_of, mesh_of_file, bind_layouts, older_roots, read_graph, declared_of,
                     load_file, Program.save, np.load_program } do
    jit.off(f)
end
core.refuse_dots(Program, "program", "program")
