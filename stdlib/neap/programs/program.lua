--- program.lua: np.trace, and programs as users hold them.
--
-- A program object has
--     entry       what staging.run takes: { program (of the core), template of the results, n and outputs: counts }
--     arguments   the tree of its arguments, { n = count, … }, with SLOT where an array or a number goes
--     roots       what the arguments are called, a list
--     ports       its inputs as the core knows them, in the order of the slots; each with `dims`, its extents, declared
--                 ones as declared.lua has them; `least` and `most`, what these may be
--     entries     further entries, for other declared sizes, devices and meshes, by these; keys: the same in order
--     declared    what is declared of sizes; nil: nothing is
--     named       the extents that are declared by name: a list of { leaf, axis from 0 }
--     seen        keys of entries by those of them for which sizes were solved: seen[3][5].key = "3,5"
-- and is called with arguments of that form. It may stand wherever the library takes a function.
local ffi = require "ffi"
local core = require "neap.core"
local capture = require "neap.tracing.capture"
local files = require "neap.files"
local picture = require "neap.files.picture"
local declared = require "neap.tracing.declared"
local sized = require "neap.tracing.sized"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, C, dtypes = core.np, core.C, core.dtypes
local is_array, raise, array_info, describe = core.is_array, core.raise, core.info, core.describe
local is_sized = core.sized
local pack, check_function, trace, run = staging.pack, staging.check_function, staging.trace, staging.run
local SLOT = staging.SLOT
local type = type

local Program = {}
Program.__index = Program

-- ---- Inputs and outputs ---------------------------------------------------------------------------------------------

local info_box, name_box = ffi.new("neap_info"), ffi.new("const char *[1]")
--- Fills info_box and name_box with what the core knows of a port.
local function get_port(program, outputs, k)
    core.call("program", function()
        return C.neap_program_port(program, outputs and 1 or 0, k - 1, info_box, name_box)
    end)
end

--- A list of the inputs (or outputs) of a core's program: { name, shape, dtype, number = true for a number, device =
-- the name of the one that it is committed to }.
local function ports_of(program, outputs, count)
    local list = {}
    for k = 1, count do
        get_port(program, outputs, k)
        local shape = {}
        for axis = 1, info_box.ndim do shape[axis] = tonumber(info_box.shape[axis - 1]) end
        list[k] = { name = name_box[0] ~= nil and ffi.string(name_box[0]) or nil, shape = shape,
                    dtype = dtypes[info_box.dtype].name, number = info_box.weak ~= 0 or nil,
                    device = info_box.committed ~= 0 and ffi.string(C.neap_device_name(info_box.device)) or nil,
                    sharding = info_box.sharding ~= 0 and info_box.sharding or nil }
    end
    return list
end

--- "f32[2,3]", "a number"; dims: its extents, if they are not those of the port.
local function port_text(port, dims)
    if port.number then return "a number" end
    local extents = {}
    for k, n in ipairs(dims or port.shape) do extents[k] = tostring(type(n) == "table" and n.text or n) end
    return ("%s[%s]"):format(port.dtype, table.concat(extents, ","))
end

--- What an argument is, in the words of port_text.
local function value_text(value)
    if not is_array(value) then return describe(value) end
    local known = array_info(value)
    return port_text { dtype = dtypes[known.dtype].name, shape = core.shape_of(value), number = known.weak ~= 0 or nil }
end

local function misfit(what, expected, got, hint)
    raise("program", "%s: expected %s, got %s%s", what, expected, got, hint or "")
end

--- Appends the arrays and numbers of `value` to `leaves`; it must have the form of `want`, a part of the arguments'
-- tree.
local function match_arguments(program, want, value, leaves, path)
    if rawequal(want, SLOT) then
        local port = program.ports[#leaves + 1]
        local number = type(value) == "number" or is_array(value) and array_info(value).weak ~= 0
        if number ~= (port.number or false) or not number and not is_array(value) then
            misfit(port.name or path, port_text(port), value_text(value))
        end
        leaves[#leaves + 1] = value
    elseif not trees.is_node(want) then
        if is_array(value) or want ~= value then
            misfit(path, want == nil and "nothing" or describe(want), value_text(value))
        end
    else
        local class = trees.class_of(want)
        if not trees.is_node(value) or trees.class_of(value) ~= class then
            misfit(path, class and class.__tree or "a table", value_text(value))
        end
        for key in pairs(value) do
            if want[key] == nil then misfit(path .. "." .. tostring(key), "nothing", value_text(value[key])) end
        end
        for _, key in ipairs(trees.keys_of(want, "program")) do
            local step = trees.inner_path(path, key)
            match_arguments(program, want[key], value[key], leaves, step)
        end
    end
end

--- The names of a list, made unique and printable.
local function tidy(names)
    local seen = {}
    for k, name in ipairs(names) do
        name = name:gsub("%c", "?")
        local base, turn = name ~= "" and name or "?", 1
        name = base
        while seen[name] do
            turn = turn + 1
            name = base .. "_" .. turn
        end
        seen[name], names[k] = true, name
    end
    return names
end

--- Names for the slots of a packed tree: paths that begin with what `root(k)` calls its k-th part.
local function slot_names(packed, root)
    local names = {}
    for k = 1, packed.n do
        trees.walk("program", packed[k], function(leaf, path)
            if rawequal(leaf, SLOT) then names[#names + 1] = path == "" and "out" or path end
        end, root(k))
    end
    return tidy(names)
end

--- What a function calls its arguments.
local function parameter(f, k)
    local name = debug.getlocal(f, k)
    return name and not name:find("^%(") and name or "arg" .. k
end

--- Gives a core's program the names of its inputs or outputs.
local function rename(program, outputs, names)
    local list = ffi.new("const char *[?]", #names + 1)
    for k, name in ipairs(names) do list[k - 1] = name end
    core.call("program", function() return C.neap_program_rename(program, outputs and 1 or 0, #names, list) end)
end

-- ---- Programs -------------------------------------------------------------------------------------------------------

local MOST_ENTRIES = 64 -- further entries of a program; the oldest goes

--- Notes what is declared of a program's sizes; nil: nothing is.
local function declare(program, of)
    program.declared, program.named = of, {}
    for k, port in ipairs(program.ports) do
        port.dims, port.least, port.most = of and of.list[k] or port.shape, {}, {}
        for axis, want in ipairs(port.dims) do
            local fixed = type(want) == "number"
            port.least[axis], port.most[axis] = fixed and want or 0, fixed and want or math.huge
            if not fixed then program.named[#program.named + 1] = { leaf = k, axis = axis - 1 } end
        end
    end
end

--- The program object of a traced entry and of the tree of its arguments, which are called `roots`. `names.inputs` and
-- `names.outputs`, lists of names in the order of the slots, are given to the core; without them it keeps those that
-- it has.
local function new_program(entry, arguments, roots, names)
    if names then
        rename(entry.program, false, names.inputs)
        rename(entry.program, true, names.outputs)
    end
    local ports = ports_of(entry.program, false, entry.n)
    local program = setmetatable({ entry = entry, arguments = arguments, roots = roots, ports = ports, entries = {},
                                   keys = {}, seen = {} }, Program)
    declare(program, nil)
    return program
end

--- Whether one table was given instead of the arguments, with them under their names.
local function is_named(program, given)
    local want, known = program.arguments[1], {}
    if given.n ~= 1 or not trees.is_node(given[1]) or next(given[1]) == nil then return false end
    if program.arguments.n == 1 and trees.is_node(want) then
        for key in pairs(given[1]) do
            if want[key] == nil then break end
            if next(given[1], key) == nil then return false end
        end
    end
    for _, root in ipairs(program.roots) do known[root] = true end
    for key in pairs(given[1]) do
        if known[key] then return true end
    end
    return program.arguments.n > 1 or not trees.is_node(want)
end

--- The arguments of a table that has them by name; those without arrays may be missing.
local function by_name(program, named)
    local given, known = { n = program.arguments.n }, {}
    for k, root in ipairs(program.roots) do
        local value, want = named[root], program.arguments[k]
        if value == nil and (rawequal(want, SLOT) or trees.is_node(want)) then
            misfit(("input '%s'"):format(root), rawequal(want, SLOT) and "an array" or "a table", "nothing")
        end
        if value == nil then value = want end
        given[k], known[root] = value, true
    end
    for key in pairs(named) do
        if not known[key] then
            raise("program", "the program has no input '%s' (inputs: %s)", tostring(key),
                  table.concat(program.roots, ", "))
        end
    end
    return given
end

--- The arrays and numbers of a call, in the order of the ports.
local function leaves_of(program, given)
    local leaves, flat = {}, given.n == program.entry.n
    for k = 1, given.n do flat = flat and (is_array(given[k]) or type(given[k]) == "number") end
    if flat then
        for k = 1, given.n do match_arguments(program, SLOT, given[k], leaves, "argument " .. k) end
        return leaves
    end
    if is_named(program, given) then given = by_name(program, given[1]) end
    for k = 1, math.max(given.n, program.arguments.n) do
        match_arguments(program, program.arguments[k], given[k], leaves, "argument " .. k)
    end
    return leaves
end

--- The entry of a program that `make` made for a key, or makes.
local function entry_of(program, key, make)
    if program.entries[key] then return program.entries[key] end
    local entry, keys = make(), program.keys
    if #keys == MOST_ENTRIES then program.entries[table.remove(keys, 1)], program.seen = nil, {} end
    keys[#keys + 1] = key
    program.entries[key] = entry
    return entry
end

-- ---- Calls ----------------------------------------------------------------------------------------------------------

--- Whether extents of an array, which may be size values, are those of an input that are not declared.
local function has_fixed(port, x)
    for axis, want in ipairs(port.dims) do
        if type(want) == "number" and core.extent(x, axis - 1) ~= want then return false end
    end
    return true
end

--- Whether an array has the dtype and shape of an input. One path for all inputs: another one than that of the first
-- programs would be interpreted.
local function fits_port(port, x)
    if port.number then return true end
    local known, least, most = array_info(x), port.least, port.most
    if dtypes[known.dtype].name ~= port.dtype or known.ndim ~= #least then return false end
    if is_sized() then return has_fixed(port, x) end
    for axis = 1, #least do
        local n = tonumber(known.shape[axis - 1])
        if n < least[axis] or n > most[axis] then return false end
    end
    return true
end

--- What program.seen, or a part of it, has for one extent of an array; nil: nothing.
local function seen_for(x, axis, seen)
    local known = array_info(x)
    return seen[tonumber(known.shape[axis])]
end

--- How the sizes that differ could be declared, as Lua: {{}, {w={"n", 3}}}; nil if they could not.
local function declaration(program, leaves)
    local names, at, symbols, last = {}, 0, {}, 0
    for _, name in ipairs(program.declared and program.declared.names or {}) do names[name] = true end
    local function symbol(was, now)
        local key = was .. ">" .. tostring(now)
        while not symbols[key] do
            last = last + 1
            local name = last <= 6 and ("nmklpq"):sub(last, last) or "n" .. last
            symbols[key] = not names[name] and name or nil
        end
        return symbols[key]
    end
    local possible = true
    local function leaf_text()
        at = at + 1
        local port, parts, any = program.ports[at], {}, false
        for axis, want in ipairs(port.number and {} or port.dims) do
            local n = core.extent(leaves[at], axis - 1)
            local differs = type(want) == "number" and want ~= n
            if differs then possible = possible and want ~= 0 and n ~= 0 end
            any = any or differs or type(want) == "table"
            local text = differs and symbol(want, n) or type(want) == "table" and want.text
            parts[axis] = text and ("%q"):format(text) or tostring(want)
        end
        return any and "{" .. table.concat(parts, ", ") .. "}" or nil
    end
    local function text_of(want)
        if rawequal(want, SLOT) then return leaf_text() end
        if not trees.is_node(want) then return nil end
        local parts, any = {}, false
        for _, key in ipairs(trees.keys_of(want, "program")) do
            local text = text_of(want[key])
            if key == #parts + 1 then
                parts[key] = text or "{}"
            elseif text then
                parts[#parts + 1] = trees.key_text(key) .. "=" .. text
            end
            any = any or text
        end
        return any and "{" .. table.concat(parts, ", ") .. "}" or nil
    end
    local parts = {}
    for k = 1, program.arguments.n do parts[k] = text_of(program.arguments[k]) or "{}" end
    while parts[#parts] == "{}" do parts[#parts] = nil end
    return possible and "{" .. table.concat(parts, ", ") .. "}" or nil
end

--- Raises that input k has another dtype or shape.
local function refuse(program, k, leaves)
    local port, x = program.ports[k], leaves[k]
    local dtype, hint = core.dtype_of(x).name
    if dtype ~= port.dtype then
        hint = "; cast it, or record it for " .. dtype
    elseif core.ndim(x) ~= #port.shape then
        hint = "; the number of axes is part of a program, and np.vmap adds one"
    else
        local sizes = declaration(program, leaves)
        hint = sizes and "; sizes that may differ are declared where it is made: np.trace(f, {sizes=" .. sizes .. "})"
    end
    misfit(port.name, port_text(port, port.dims), value_text(x), hint)
end

local function port_names(ports)
    local names = {}
    for k, port in ipairs(ports) do names[k] = port.name end
    return names
end

--- The core's program for sizes by name, of a program with declared ones.
local function play(program, known)
    local of = program.declared
    local played = declared.play("program", of.transcript, of.names, known)
    rename(played, false, port_names(program.ports))
    rename(played, true, port_names(program:outputs()))
    return played
end

--- The entry for the sizes of the leaves, of a program with declared ones, and its key. Inside of a recording with
-- sizes of its own it is played there, and has no key.
local function entry_for_sizes(program, leaves)
    local of, shapes = program.declared, {}
    for k, leaf in ipairs(leaves) do shapes[k] = not program.ports[k].number and core.shape_of(leaf) end
    local known, parts = declared.solve("program", of.list, of.names, shapes), {}
    local function make()
        local entry = program.entry
        return { program = play(program, known), template = entry.template, n = entry.n, outputs = entry.outputs }
    end
    if declared.is_inside(of.names, known) then return make() end
    for k, symbol in ipairs(of.names) do parts[k] = ("%.17g"):format(known[symbol]) end
    local key = table.concat(parts, ",")
    return entry_of(program, key, make), key
end

--- The key of the entry for the sizes of the leaves, if it was noted.
local function find_seen(program, leaves)
    local seen = program.seen
    for _, place in ipairs(program.named) do
        seen = seen_for(leaves[place.leaf], place.axis, seen)
        if not seen then return nil end
    end
    return seen.key
end

local function note_seen(program, leaves, key)
    local seen = program.seen
    for _, place in ipairs(program.named) do
        local n = core.extent(leaves[place.leaf], place.axis)
        seen[n] = seen[n] or {}
        seen = seen[n]
    end
    seen.key = key
end

--- Where an array lies: the device that it is committed to, -1 for none, and its sharding, 0 for none.
local function place_of(x)
    local known = array_info(x)
    return known.committed ~= 0 and known.device or -1, known.sharding
end

local function lies_at(port, x)
    if port.number then return true end
    local device, sharding = place_of(x)
    return (device >= 0 and ffi.string(C.neap_device_name(device)) or nil) == port.device
        and sharding == (port.sharding or 0)
end

--- The Spec of input k of an entry, to lie where an array does.
local function spec_at(entry, k, x)
    get_port(entry.program, false, k)
    local spec = staging.Spec { dtype = info_box.dtype, shape = {},
                                weak = info_box.yields ~= 0 and 2 + info_box.yields or info_box.weak }
    for axis = 1, info_box.ndim do spec.shape[axis] = tonumber(info_box.shape[axis - 1]) end
    if is_array(x) and info_box.weak == 0 then
        local device, sharding = place_of(x)
        spec.device, spec.sharding = device >= 0 and device or nil, sharding
    end
    return spec
end

--- The entry recorded again for inputs that lie as `specs` say. It is called in other scopes, too.
local function record_at(entry, specs)
    local scope
    return staging.inside("program", staging.open_trace, function(level)
        scope = C.neap_scope_open(core.ctx, nil)
        local inputs = {}
        for k, spec in ipairs(specs) do inputs[k] = staging.placeholder("program", level, spec) end
        return staging.end_trace("program", level, entry.n, pack(run("program", entry, inputs, true)))
    end, function() C.neap_scope_close(core.ctx, scope) end)
end

--- The same entry for leaves that lie elsewhere. sizes: its key, if it is for some sizes.
local function entry_elsewhere(program, entry, sizes, leaves)
    local parts = { sizes or "" }
    for k, leaf in ipairs(leaves) do
        parts[k + 1] = program.ports[k].number and "" or ("%d,%d"):format(place_of(leaf))
    end
    return entry_of(program, table.concat(parts, ";"), function()
        local specs = {}
        for k, leaf in ipairs(leaves) do specs[k] = spec_at(entry, k, leaf) end
        return record_at(entry, specs)
    end)
end

--- The entry for arguments, their arrays and numbers, and whether it is to follow where these lie.
local function entry_for(self, ...)
    local leaves, there = leaves_of(self, pack(...)), true
    for k, port in ipairs(self.ports) do
        if not fits_port(port, leaves[k]) then refuse(self, k, leaves) end
        there = there and lies_at(port, leaves[k])
    end
    local entry, sizes = self.entry, nil
    if self.declared then
        sizes = not is_sized() and find_seen(self, leaves) or nil
        entry = self.entries[sizes]
        if not entry then
            entry, sizes = entry_for_sizes(self, leaves)
            if not sizes then return entry, leaves, not there end
            if not is_sized() then note_seen(self, leaves, sizes) end
        end
    end
    if not there then entry = entry_elsewhere(self, entry, sizes, leaves) end
    return entry, leaves, false
end

--- Runs the program on arguments of the form with which it was traced, or on one table of them by name, or on its
-- arrays and numbers alone, in the order of list_inputs(). Arrays have the dtypes and shapes that it was recorded for,
-- but for declared sizes; they may lie on other devices or meshes (docs/programs.md).
function Program:__call(...)
    return run("program", entry_for(self, ...))
end

-- Methods that not every program needs are loaded when they are first named.
local late = { save = "neap.programs.program_file", cost = "neap.programs.program_cost",
               compile = "neap.programs.program_cost" }
setmetatable(Program, {
    __index = function(_, name)
        if late[name] then require(late[name]) end
        return rawget(Program, name)
    end,
})

function Program:__tostring()
    return self:text()
end

local text_options = { lines = true }

--- The printed form of a core's program; of: what is declared of its sizes, if anything is, whose names are reserved.
local function text_of(program, lines, of)
    return core.text("program", function(text, capacity, bytes)
        if not of then return C.neap_program_text(program, lines or 0, text, capacity, bytes) end
        return C.neap_transcript_program_text(of.transcript, program, lines or 0, text, capacity, bytes)
    end)
end

--- The printed form of a program with declared sizes: `text`, for those with which it was recorded, with expressions in
-- place of the numbers that are others for other sizes, and its conditions.
local function text_for_sizes(program, text, lines)
    local of, shapes = program.declared, {}
    for k, port in ipairs(program.ports) do shapes[k] = not port.number and port.shape end
    local first = declared.solve("program", of.list, of.names, shapes)
    local texts, places = {}, {}
    for turn = 0, 6 do
        local known = {}
        for k, symbol in ipairs(of.names) do known[symbol] = first[symbol] + turn * (k + 1) end
        local ok, other = pcall(play, program, known)
        if ok and #texts < 4 then texts[#texts + 1], places[#places + 1] = text_of(other, lines, of), known end
    end
    local merged = #texts > 2 and declared.merge(of, texts, places) or text
    local conditions = declared.conditions(of.transcript)
    return merged .. (conditions ~= "" and "\nfor " .. conditions:gsub("\n(.)", "\nfor %1"):gsub("\n$", "") or "")
end

--- program:text{lines=40} -> string: the printed form.
--- lines: at most so many: the middle of a longer one is cut out
function Program:text(given)
    local lines = core.options("program.text", given, text_options).lines
    if lines ~= nil then lines = core.integer("program.text", nil, "lines", lines) end
    if lines ~= nil and lines < 3 then raise("program.text", "option 'lines' must be at least 3, got %d", lines) end
    local text = text_of(self.entry.program, lines, self.declared)
    return self.declared and text_for_sizes(self, text, lines) or text
end

--- program:with_sizes(sizes) -> program: the program for these sizes alone, {n=12}, of one with declared sizes: its
-- cost, text and explanation are those of a run with them.
function Program:with_sizes(sizes)
    local name = "program.with_sizes"
    local names, known = self.declared and self.declared.names or {}, {}
    if type(sizes) ~= "table" then core.bad_argument(name, 1, "sizes", "a table such as {n=12}", sizes) end
    for _, symbol in ipairs(names) do
        known[symbol] = sizes[symbol]
        if type(known[symbol]) ~= "number" then raise(name, "size '%s' is missing, or no number", symbol) end
    end
    for symbol in pairs(sizes) do
        if known[symbol] == nil then raise(name, "there is no size '%s'", tostring(symbol)) end
    end
    if #names == 0 then return self end
    local entry = self.entry
    return new_program({ program = play(self, known), template = entry.template, n = entry.n, outputs = entry.outputs,
                         captures = {} }, self.arguments, self.roots)
end

--- program:info(): a table of counts: inputs, outputs, nodes, captures, effects, steps.
function Program:info()
    local facts, result = ffi.new("neap_program_info"), {}
    C.neap_program_info_get(self.entry.program, facts)
    for _, name in ipairs { "inputs", "outputs", "nodes", "captures", "effects", "steps" } do
        result[name] = facts[name]
    end
    return result
end

--- A list of ports as users get it, in which shardings are what x.sharding is.
local function shown(ports)
    for _, port in ipairs(ports) do port.sharding = core.sharding_numbered(port.sharding, #port.shape) end
    return ports
end

--- program:inputs(): what the program takes, in order: a list of { name, shape, dtype, number = true for a number,
-- device for an array that is committed to one, sharding for an array on a mesh }.
function Program:inputs()
    return shown(ports_of(self.entry.program, false, self.entry.n))
end

--- program:outputs(): what it gives, in the same form.
function Program:outputs()
    return shown(ports_of(self.entry.program, true, self.entry.outputs))
end

--- program:list_inputs(): the names of its inputs, in order.
function Program:list_inputs()
    return port_names(self:inputs())
end

--- program:list_outputs(): the names of its outputs, in order.
function Program:list_outputs()
    return port_names(self:outputs())
end

-- ---- Pictures ------------------------------------------------------------------------------------------------------

--- program:dot(): the graph of the program in the language of Graphviz's dot: what was recorded; np.explain(program)
-- draws what runs. Of a large one the beginning and the end.
function Program:dot()
    return core.text("program.dot", function(text, capacity, bytes)
        return C.neap_program_dot(self.entry.program, text, capacity, bytes)
    end)
end

--- program:svg(path): the same as a picture: an SVG with all that it takes inside, written to the file if a path
-- is given. Returns its text.
function Program:svg(path)
    if path ~= nil then core.check_path("program.svg", path) end
    local text = picture.svg(self:dot())
    if path then
        local ok, problem = files.write(path, { text })
        if not ok then raise("program.svg", "%s", problem) end
    end
    return text
end

-- ---- np.trace -------------------------------------------------------------------------------------------------------

--- Arguments with SLOT in the places of arrays and numbers.
local function arguments_of(given)
    local arguments = { n = given.n }
    for k = 1, given.n do
        arguments[k] = trees.rebuild("trace", given[k], function(leaf)
            if staging.is_input(leaf) then return SLOT end
            local kind = type(leaf)
            if kind ~= "string" and kind ~= "boolean" and leaf ~= nil then
                raise("trace", "argument %d must hold arrays, numbers, strings and booleans, got %s", k, describe(leaf))
            end
            return leaf
        end)
    end
    return arguments
end

--- The program of a function for packed arguments, which are called `roots`. wanted: their declared sizes.
local function record(name, user_function, given, wanted, roots)
    given = staging.with_specs(name, given, true)
    local arguments, places = arguments_of(given), capture.places(user_function)
    local entry, of = sized.trace(name, given, wanted, function(sized_arguments)
        return trace(name, user_function, sized_arguments, {}, places, {})
    end)
    local results = entry.template
    local program = new_program(entry, arguments, roots, {
        inputs = slot_names(arguments, function(k) return roots[k] end),
        outputs = slot_names(results, function(k) return results.n == 1 and "" or "out" .. k end),
    })
    declare(program, of)
    return program
end

--- np.trace(f, {sizes=…}) -> function: np.trace(f)(args…) is the program of f for arguments of that form: printable,
-- and callable with such arguments. A table {shape={2, 3}, dtype="f32", sharding=…} may stand for an array that is not
-- there yet, as in np.eval_shape. Arrays around f are bound to it. Its inputs are named after f's parameters, its
-- outputs after the keys of results. (The sum of a diagonal is np.linalg.trace.)
--
-- The program is for arguments of these shapes, but for sizes that are declared: a list for each argument has names, or
-- integers, by axis, and {} says nothing of an argument. Then x.shape[1] is a size value while f is recorded, with
-- which one computes, compares and makes shapes; a comparison that depends on sizes becomes a condition of the program.
--- sizes: names of extents, as in {{"n", 3}, {}, {"2*n + 1"}}; {shape={"n", 3}} as an argument says the same
--- > program = np.trace(function(x) return x * 2 end)(np.ones(3))
--- > program(np.arange(3) / 1), program:list_inputs()[1]
-- [0. 2. 4.]
-- x
--- > np.trace(np.matmul)({shape={2, 3}}, {shape={3, 4}}):outputs()[1].shape[2]
-- 4
function np.trace(f, options, ...)
    if core.is_array(f) then raise("trace", "traces a function; np.linalg.trace(x) sums the diagonal of an array") end
    local user_function = check_function("trace", f)
    if select("#", ...) > 0 or is_array(options) then
        raise("trace", "takes a function and options: np.trace(f)(…) traces it for arguments")
    end
    local wanted = core.options("trace", options, { sizes = true }).sizes
    local function tracer(...)
        local given, roots = pack(...), {}
        for k = 1, given.n do roots[k] = parameter(user_function, k) end
        return record("trace", user_function, given, wanted, roots)
    end
    jit.off(tracer)
    return tracer
end

--- The programs behind a value, for np.explain: a list of { text, entry }, of a program or of a function that np.jit
-- made (with more: see jit.lua); nil for all else.
local function programs_of(value)
    if getmetatable(value) == Program then
        local list = {}
        for k, port in ipairs(value.ports) do list[k] = ("%s: %s"):format(port.name, port_text(port)) end
        return { { text = table.concat(list, ", "), entry = value.entry } }
    end
    return require("neap.programs.jit_facts").programs_of(value)
end

for _, f in ipairs { Program.__call, entry_for, match_arguments, leaves_of, find_seen, entry_elsewhere, record_at,
                     is_named, by_name, slot_names } do
    jit.off(f)
end
core.refuse_dots(Program, "program", "program")

return { programs_of = programs_of, new = new_program, declare = declare, record = record, Program = Program,
         slot_names = slot_names, parameter = parameter, entry_for = entry_for }
