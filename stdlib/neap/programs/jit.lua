--- jit.lua: np.jit, np.clear_caches; jit_facts.lua looks at what they know.
--
-- What a jitted function knows is its *state*: the variables around the function that hold arrays, its *places*; and a
-- *version* for each set of other values around it that it was called with lately, its *guards* (guards.lua). A version
-- has forms by key, each with the core's form, whose entries (lazy/jit.h) have *records* here, by number. A call goes
-- through generated code (forms.lua):
--
--      f(…) ─▶ calls[number of arguments] ─▶ code for a form ──core finds and runs an entry──▶ results
--                                              │ other form         └─ no entry fits: `slow` records one
--                                              ├─▶ code for the next form ─▶ … ─▶ slow
--                                              └─ other values around it ─▶ slow finds the version, or makes one
--
-- `slow` analyses the arguments, and knows what to do in each case; the generated code only saves time. No call looks
-- at all entries: neither one that finds its entry, nor one that records another.
--
-- A function that names axes of a mesh (np.psum in the body of np.shard_map) is recorded for that mesh: once it has
-- done so, its state has a further state for each mesh, with those of its axes that are manual, inside which it is
-- called, and one for calls outside. These have a `key`.
local ffi = require "ffi"
local core = require "neap.core"
local axes = require "neap.tracing.axes"
local capture = require "neap.tracing.capture"
local forms = require "neap.programs.forms"
local guards = require "neap.tracing.guards"
local sized = require "neap.tracing.sized"
local solvers = require "neap.tracing.solvers"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, is_sized = core.is_array, core.raise, core.sized
local pack, check_function, positions_of = staging.pack, staging.check_function, staging.positions_of
local type, unpack = type, unpack

local OK, PENDING, SAFEPOINT, E_MEMORY = C.NEAP_OK, C.NEAP_PENDING, C.NEAP_SAFEPOINT, C.NEAP_E_MEMORY
local INPUT, DONATED, KEPT, SAME, NONE = C.NEAP_LEAF_INPUT, C.NEAP_LEAF_DONATED, C.NEAP_LEAF_KEPT, C.NEAP_LEAF_SAME,
    C.NEAP_LEAF_NONE
local MOST_CHAINED = 16 -- forms of one number of arguments that the generated code tries one after the other
local MOST_FORMS = 512  -- more than that start afresh
local MOST_PLACES = 128 -- and so do these, or at twice as many as are in use
local MOST_VERSIONS = 16
local MOST_IN_TURN = 8  -- versions that one call each ran, before a warning
local MOST_REFUSED = 16 -- recordings for other sizes that one call may add to
local MOST_COMPARED = 8 -- programs among which the one is sought from which a new call differs least

local jits = {}

local jit_box, form_box = ffi.new("neap_jit *[1]"), ffi.new("neap_form *[1]")
local number_box, results_box = ffi.new("int32_t[1]"), ffi.new("const int32_t *[1]")
local free_jit = core.finalizer(C.neap_jit_free)
local recent_box = ffi.new("int32_t[?]", MOST_COMPARED)
local entry_info, leaf_info = ffi.new("neap_entry_info"), ffi.new("neap_info")

-- ---- State ----------------------------------------------------------------------------------------------------------

--- A version for which nothing is recorded yet, and nothing guarded.
local function new_version(state)
    local keeps = next(state.is_kept) and 1 or 0
    core.call("jit", function() return C.neap_jit_new(ctx, keeps, jit_box) end)
    return { jit = ffi.gc(jit_box[0], free_jit), forms = {}, count = 0, identities = { n = 0 }, chains = {},
             records = {},
             recordings = {}, -- with declared sizes: { key, of = what was declared, entry }, the newest first
             calls = setmetatable({}, { __index = function() return state.slow end }), -- by number of arguments
             holds = {}, -- { a function that compares the guards }; empty where there are none
             recording = 0 }
end

--- Lets calls find a version, which is put before the others.
local function use_version(state, version)
    for k, other in ipairs(state.versions) do
        if other == version then table.remove(state.versions, k) end
    end
    table.insert(state.versions, 1, version)
    state.versions[MOST_VERSIONS + 1] = nil
    state.version, state.calls = version, version.calls
end

--- Forgets all that was recorded.
local function reset(state)
    state.versions = {}
    use_version(state, new_version(state))
end

--- Passes on results that wait in the core, then attends to what the core asked for. After a donation that could raise
-- an interrupt, and what was donated would be lost with the results: so the next call does it first.
local function finish_call(form, number, donates, state)
    local results = pack(form.fills[number]())
    if donates then state.owes = true else core.safepoint() end
    return unpack(results, 1, results.n)
end

local function attend_first(state)
    if state.owes then
        state.owes = nil
        core.safepoint()
    end
end

--- Tells the core the line of a call that donates, if it is another than that of the form's last call. level: the frame
-- of who may be the user, counted from this function, which is 1.
local function tell_site(state, form, level)
    attend_first(state)
    local file, line = core.user_site(level + 1)
    if file and (file ~= form.file or line ~= form.line) then
        form.file, form.line = file, line
        C.neap_form_site(form.cform, file .. ":" .. line)
    end
end

-- ---- Versions -------------------------------------------------------------------------------------------------------

--- How many calls the programs of a version have run.
local function calls_of(version)
    local hits = 0
    for _, record in pairs(version.records) do
        if C.neap_form_entry(record.form.cform, record.number, entry_info) == OK then
            hits = hits + tonumber(entry_info.hits)
        end
    end
    return hits
end

--- Warns once of a guard whose value changes at each call.
local function note_turn(state, version, guard)
    state.turns = calls_of(version) <= 1 and state.turns + 1 or 0
    if state.turns < MOST_IN_TURN or state.warned then return end
    state.warned = true
    core.warn(state.name, "%s", guards.remedy(guard))
end

local function fits(version)
    if not version.guards then return true end
    local holds = version.holds[1]
    return (not holds or holds()) and guards.arrays_stay(version.guards)
end

local settle_guards

--- Finds the version for the values around the function, or begins one. Returns the reason for a new one, in words.
local function find_version(state)
    local version = state.version
    if version.recording > 0 then settle_guards(state, version) end -- the function calls itself
    if fits(version) then return nil end
    for _, other in ipairs(state.versions) do
        if other.guards and fits(other) then
            use_version(state, other)
            return nil
        end
    end
    local guard = guards.changed(version.guards)[1]
    local reason = guards.difference(guard)
    note_turn(state, version, guard)
    use_version(state, new_version(state))
    return reason
end

-- ---- Recording ------------------------------------------------------------------------------------------------------

--- The place of a list that is the same variable, or nil.
local function same_place(places, place)
    for k = 1, #places do
        if capture.same(places[k], place) then return places[k] end
    end
end

--- All variables that the function can reach, and those that are known, which another block of the same code may have
-- reached; in place of those that are known, these.
local function all_places(state, known)
    local places, listed = {}, {}
    local function list(place)
        if listed[place] or state.owns and state.owns(place) then return end
        listed[place] = true
        places[#places + 1] = place
    end
    for _, place in ipairs(capture.places(state.user_function)) do list(same_place(known, place) or place) end
    for _, place in ipairs(known) do list(place) end
    return places
end

--- Adds places that hold arrays and are not known yet; returns whether there were any.
local function add_places(state)
    local added = false
    for _, place in ipairs(capture.arrays(all_places(state, state.places))) do
        if not same_place(state.places, place) then
            state.places[#state.places + 1] = place
            place.value = nil -- the state must not keep the array alive
            added = true
        end
    end
    return added
end

--- Reads the places anew. Returns copies of them, with their values, since the function may call itself while it is
-- recorded; of these, those that become inputs; and what each of them is for an entry recorded now.
local function look_at_places(state)
    local places, inputs, uses = {}, {}, {}
    for k, known in ipairs(state.places) do
        local place = { name = known.name, f = known.f, index = known.index, environment = known.environment,
                        value = capture.read(known), changes = known.changes }
        places[k] = place
        if not is_array(place.value) then
            uses[k] = NONE
        elseif core.info(place.value).constructed ~= 0 and not place.changes then
            uses[k] = SAME -- what is made of constructors is no input: the program makes it where it is read
        else
            uses[k] = INPUT
            inputs[#inputs + 1] = place
        end
    end
    return places, inputs, uses
end

--- A place as a guard has it; nil: it has none. A cell of a block counts as an argument does, but for the fields of a
-- table that counts by identity.
local function guarded_place(state, place)
    local number = state.owns and state.owns(place)
    if not number then return place end
    if not state.cells[number] then return nil end
    place.paths[""] = nil
    return { name = place.name, state = state, number = number, paths = place.paths }
end

--- Guards the values around the function, besides those that are guarded already: a block may reach other variables
-- than the last block of the same code. Variables that the function assigns are not guarded: this happens once, when it
-- is recorded. Returns the name of a function that gives another number each time, if one is read.
local function guard_version(state, version)
    local function ignores(place) return same_place(state.assigned, place) ~= nil end
    local places, all = {}, capture.places(state.user_function)
    local changing = capture.changing(all)
    for _, place in ipairs(all) do places[#places + 1] = guarded_place(state, place) end
    version.guards = guards.of(places, ignores, version.guards or {})
    version.holds[1] = guards.compile(version.guards)
    return changing
end

--- After a recording: variables that the function assigned, or that callbacks alone read, are no guards.
function settle_guards(state, version)
    for _, guard in ipairs(guards.changed(version.guards)) do state.assigned[#state.assigned + 1] = guard.place end
    local changing = guard_version(state, version)
    if changing then
        core.warn(state.name, "%s is called while the function is recorded, so each call has the same number: pass it "
                  .. "in as an argument%s", changing,
                  changing == "math.random" and ", or draw with np.random and a key" or "")
    end
end

local function raise_changed(state)
    raise(state.name, "an array around the function changed while it was recorded")
end

--- Constructors around the function must be those that were recorded: a callback may have run meanwhile.
local function check_places(state, places, uses)
    for k, place in ipairs(places) do
        if uses[k] == SAME and not rawequal(capture.read(place), place.value) then raise_changed(state) end
    end
end

--- Puts the leaves and the places' arrays where the core looks for them.
local function put_leaves(state, form, leaves)
    local n = #leaves
    for k = 1, n do
        local leaf = leaves[k]
        if type(leaf) == "number" then form.numbers[k - 1] = leaf else form.ids[k - 1] = leaf._id end
    end
    for k, place in ipairs(state.places) do
        local value = capture.read(place)
        form.ids[n + k - 1] = is_array(value) and value._id or 0
    end
end

local function leaf_name(state, form, k)
    local n = #form.nodes
    return k <= n and forms.path(form.nodes[k]) or "the variable '" .. state.places[k - n].name .. "'"
end

--- What keeps an entry from fitting the leaves in the form, in words; and how many leaves do not fit.
local function entry_difference(state, form, record)
    local text, count = nil, 0
    for k = 1, #form.nodes + #state.places do
        local use, id, what = record.uses[k], form.ids[k - 1], nil
        local is_number = form.nodes[k] and form.nodes[k].kind == "number"
        if use <= KEPT and not is_number then
            if C.neap_form_wants(form.cform, record.number, k - 1, leaf_info) ~= OK then return nil, math.huge end
            local old, new = forms.array_text(leaf_info), "no array"
            if id ~= 0 then
                C.neap_array_info(ctx, id, leaf_info)
                new = forms.array_text(leaf_info)
            end
            what = old ~= new and ("was %s and is %s"):format(old, new)
        elseif is_number and record.whole[k] ~= (form.numbers[k - 1] % 1 == 0) then
            what = record.whole[k] and "was a whole number and is a fraction" or "was a fraction and is a whole number"
        elseif use == NONE then
            what = id ~= 0 and "held no array and holds one now"
        elseif use == SAME and id ~= record.same[k] then
            what = "holds another array; the one that it held was made of constructors"
        end
        if what then
            count = count + 1
            text = text or leaf_name(state, form, k) .. " " .. what
        end
    end
    local home = tostring(np.default_device())
    if record.home ~= home then
        text, count = ("the default device was %s and is %s"):format(record.home, home), count + 1
    end
    return text, count
end

--- Why a call has to be recorded although others were, in words: how it differs from one of the last programs. Called
-- with the leaves in place.
local function reason_to_record(state, form)
    local text, least
    for k = 0, C.neap_form_recent(form.cform, MOST_COMPARED, recent_box) - 1 do
        local what, count = entry_difference(state, form, state.version.records[recent_box[k]])
        if what and (not least or count <= least) then text, least = what, count end
    end
    if text then return text end
    if form.recorded then return "its program was dropped from the cache" end
    local other = state.last
    return other and (forms.difference(other, form)
                      or "a variable around the function holds an array for the first time")
end

--- Marks variables whose constructors were replaced: from now on they are inputs, so that this happens once.
local function note_changes(state, form)
    local n = #form.nodes
    for k, place in ipairs(state.places) do
        local same = form.same[n + k]
        if same and form.ids[n + k - 1] ~= same then place.changes = true end
    end
end

--- Makes the core's form.
local function new_form(state, form)
    local n = #form.nodes + #state.places
    local is_number = ffi.new("uint8_t[?]", n + 1)
    for k, node in ipairs(form.nodes) do is_number[k - 1] = node.kind == "number" and 1 or 0 end
    core.call("jit", function() return C.neap_jit_form(state.version.jit, n, is_number, form_box) end)
    local cform = form_box[0]
    form.cform, form.ids, form.numbers = cform, C.neap_form_ids(cform), C.neap_form_numbers(cform)
    form.jit = state.version.jit -- which owns the core's form
    form.fills, form.same = {}, {} -- same: ids of constructors around the function, by leaf, as they were recorded
    state.version.forms[form.key] = form
    state.version.count = state.version.count + 1
end

--- Raises the error of a call. The core counts the inputs; the leaves are the first of them, and have names.
local function raise_call(state, form, status)
    local input, problem = core.error_text():match("^program: input (%d+): (.*)")
    local leaf = tonumber(input)
    if form.nodes[leaf] then raise(state.name, "%s: %s", leaf_name(state, form, leaf), problem) end
    core.raise_status(status, state.name)
end

--- The end of a call that generated code could not finish: see forms.compile.
local function finisher(state, form, donates)
    local function finish(...)
        local status = C.neap_form_outcome(form.cform, number_box)
        if number_box[0] ~= 0 then return finish_call(form, number_box[0], donates, state) end
        if status < 0 and status ~= E_MEMORY then raise_call(state, form, status) end
        return state.slow(...)
    end
    jit.off(finish)
    return finish
end

--- Puts code for the form behind that of other forms of as many arguments.
local function chain(state, form)
    local version = state.version
    local last = version.chains[form.n]
    if last and last.length == MOST_CHAINED then return end
    local use = { fills = form.fills, miss = { state.slow }, finish = finisher(state, form, state.donates),
                  holds = version.holds[1] and version.holds, slow = state.slow,
                  site = function()
                      tell_site(state, form, 4) -- behind this function and the generated code
                  end }
    jit.off(use.site)
    local f = forms.compile(form, form.cform, state.places, state.donates, use)
    if not f then return end
    if last then last.miss[1] = f else version.calls[form.n] = f end
    version.chains[form.n] = { length = last and last.length + 1 or 1, miss = use.miss }
end

--- Forgets the records of entries that the core has dropped.
local function forget_dropped(version)
    local number = C.neap_jit_dropped(version.jit)
    while number ~= 0 do
        local record = version.records[number]
        if record then
            record.form.fills[number], version.records[number] = nil, nil
        end
        number = C.neap_jit_dropped(version.jit)
    end
end

--- Adds an entry for a recorded program to the form.
local function add_entry(state, form, traced, uses)
    local n, fixed = #form.nodes + #state.places, staging.ids_of(traced.lifted, #traced.lifted)
    local c_uses, record = ffi.new("uint8_t[?]", n + 1), { form = form, uses = uses, same = {}, whole = {} }
    for k = 1, n do
        c_uses[k - 1] = uses[k]
        if form.nodes[k] and form.nodes[k].kind == "number" then record.whole[k] = form.numbers[k - 1] % 1 == 0 end
        if uses[k] == SAME then
            record.same[k] = form.ids[k - 1]
            form.same[k] = form.ids[k - 1]
        end
    end
    local plain = traced.template.n == 1 and rawequal(traced.template[1], staging.SLOT)
    core.call("jit", function()
        return C.neap_form_add(form.cform, traced.program, c_uses, #traced.lifted, fixed, plain and 1 or 0, number_box,
                               results_box)
    end)
    ffi.gc(traced.program, nil)
    record.number, record.home = number_box[0], tostring(np.default_device())
    forget_dropped(state.version)
    state.version.records[record.number], form.recorded = record, true
    form.fills[record.number] = forms.filler(traced.template, results_box[0])
end

--- The arrays of a tree, put on a device; what else is in it is kept. Numbers too, if they are results.
local function put_arrays(device, value, numbers)
    if is_array(value) and core.info(value).sharding ~= 0 then
        raise("jit", "option 'device' names one device, %s, and the function has an array that lies on a mesh",
              tostring(device))
    end
    if is_array(value) or numbers and type(value) == "number" then return np.device_put(value, device) end
    if not trees.is_node(value) then return value end
    local copy = {}
    for key, item in pairs(value) do copy[key] = put_arrays(device, item, numbers) end
    return trees.alike(copy, value)
end

--- f as it is recorded: between arguments and results that are on the device of the state.
local function on_device(state, f)
    local device = state.device
    if not device then return f end
    local function put_all(list, numbers)
        for k = 1, list.n do list[k] = put_arrays(device, list[k], numbers) end
        return unpack(list, 1, list.n)
    end
    return function(...) return put_all(pack(f(put_all(pack(...)))), true) end
end

--- The user's function with the values of named static arguments put back into the tables that they were taken from.
local function with_statics(state, given)
    local names = state.static_names
    if #names == 0 then return on_device(state, state.body or state.user_function), given end
    local taken, put = { n = given.n }, {}
    for k = 1, given.n do
        local value = given[k]
        if type(value) == "table" and getmetatable(value) == nil and not state.is_static[k] then
            local copy = {}
            for key, item in pairs(value) do copy[key] = item end
            for _, name in ipairs(names) do
                if value[name] ~= nil then
                    put[#put + 1] = { position = k, name = name, value = value[name] }
                    copy[name] = nil
                end
            end
            value = copy
        end
        taken[k] = value
    end
    local f = on_device(state, state.user_function)
    local function restored(...)
        local arguments = pack(...)
        for _, one in ipairs(put) do arguments[one.position][one.name] = one.value end
        return f(unpack(arguments, 1, arguments.n))
    end
    jit.off(restored)
    return restored, taken
end

--- Whether one of the arrays belongs to an open level.
local function any_taped(arrays)
    for k = 1, #arrays do
        if core.info(arrays[k]).taped ~= 0 then return true end
    end
    return false
end

--- All of a call that a recording for every size depends on, but for declared sizes, as a text.
local function fixed_part(form, list, around)
    local parts = { form.key }
    for k, leaf in ipairs(around.leaves) do
        if type(leaf) == "number" then
            parts[#parts + 1] = leaf % 1 == 0 and "#" or "%"
        elseif list[k] then
            local known = core.info(leaf)
            parts[#parts + 1] = ("%d %d %d %d %d"):format(known.dtype, known.ndim, known.sharding, known.yields,
                                                          known.committed ~= 0 and known.device or -1)
        else
            parts[#parts + 1] = forms.array_text(core.info(leaf))
        end
    end
    for k, place in ipairs(around.places) do
        local value = place.value
        parts[#parts + 1] = around.uses[k] == SAME and "=" .. value._id
            or around.uses[k] == INPUT and forms.array_text(core.info(value)) or "-"
    end
    parts[#parts + 1] = tostring(np.default_device())
    return table.concat(parts, ";")
end

--- The program for the sizes of a call, of a function with declared ones: that of a recording whose conditions they
-- meet, or a new recording.
local function trace_for_sizes(state, form, given, around, record)
    local shapes, refused = sized.shapes_of(state.name, given, state.is_static), {}
    for _, recording in ipairs(state.version.recordings) do
        if recording.key == fixed_part(form, recording.of.list, around) then
            local ok, traced = pcall(sized.play, state.name, recording.of, shapes, recording.entry)
            if ok then return traced end
            refused[#refused + 1] = traced
        end
    end
    if #refused >= MOST_REFUSED then error(refused[#refused], 0) end
    local traced, of = sized.trace(state.name, given, state.sizes, record, state.is_static)
    if not of then raise(state.name, "option 'sizes' declares no size of an array among the arguments") end
    table.insert(state.version.recordings, 1, { key = fixed_part(form, of.list, around), of = of, entry = traced })
    return traced
end

--- Records the function for arguments of the form and runs that. Under an open level, arrays that it reads not from
-- variables are lifted; if one of them belongs to such a level, what was recorded is good for this call alone.
local function record_and_run(state, form, given, leaves)
    local places, inputs, uses = look_at_places(state)
    local all = {}
    for k, node in ipairs(form.nodes) do
        local top = node
        while top.parent do top = top.parent end
        local use = top.donated and DONATED or top.kept and KEPT
        all[k] = node.kind == "array" and use or INPUT
    end
    for k = 1, #uses do all[#form.nodes + k] = uses[k] end
    local f, arguments = with_statics(state, given)
    local levels = #core.frame().levels
    local version = state.version
    local function record(arguments_now)
        state.traces, version.recording = state.traces + 1, version.recording + 1
        local results = pack(pcall(staging.trace, state.name, f, arguments_now, state.is_static,
                                   all_places(state, places), inputs, levels > 0, state.fixes_numbers))
        version.recording = version.recording - 1
        if not results[1] then error(results[2], 0) end
        settle_guards(state, version)
        return unpack(results, 2, results.n)
    end
    local of_mesh, traced
    if state.sizes and levels == 0 then
        of_mesh, traced = axes.watch(trace_for_sizes, state, form, arguments, { uses = uses, places = places,
                                     inputs = inputs, leaves = leaves }, record)
    else
        of_mesh, traced = axes.watch(record, arguments)
    end
    if state.device then C.neap_program_on(traced.program, state.device.number) end
    check_places(state, places, uses)
    local afresh = form.jit ~= state.version.jit -- the function has called itself, and is not where it was
    if of_mesh and not state.key and not state.keyed then
        state.keyed = {}
        reset(state)
        afresh = true
    end
    if afresh or any_taped(traced.lifted) then
        local list = core.copy_list(leaves)
        for _, place in ipairs(inputs) do list[#list + 1] = capture.read(place) end
        for _, array in ipairs(traced.lifted) do list[#list + 1] = array end
        return true, staging.run(state.name, traced, list)
    end
    put_leaves(state, form, leaves)
    add_entry(state, form, traced, all)
    state.last = form
    return false
end

-- ---- Calls ----------------------------------------------------------------------------------------------------------

--- Calls the core with the leaves; returns the number of the entry that has run, or nil: none fits.
local function call_core(state, form, leaves)
    local function try()
        put_leaves(state, form, leaves)
        C.neap_jit_repeat(form.cform)
        return C.neap_form_outcome(form.cform, number_box)
    end
    local rc = try()
    if rc < 0 and rc ~= E_MEMORY then raise_call(state, form, rc) end
    if rc < 0 or rc == PENDING then rc = core.settle(rc, state.name, try) end
    if number_box[0] == 0 then return nil end
    return number_box[0], rc
end

--- The form of the arguments, as it is known; it may have to be recorded for other places.
local function form_of(state, given)
    local form, leaves = forms.analyse(given, state, state.version.identities)
    return state.version.forms[form.key] or form, leaves
end

--- Raises unless all donated and kept arguments are among the n of a call.
local function check_positions(state, n)
    for option, positions in pairs { donate = state.is_donated, keep = state.is_kept } do
        for position in pairs(positions) do
            if position > n then
                raise(state.name, "option '%s' names argument %d, but the call has %d", option, position, n)
            end
        end
    end
end

--- A form for which something will be recorded now: known to the core, and with all places.
local function prepared(state, form, given)
    check_positions(state, given.n)
    local crowded = #state.places >= state.most_places -- with those of blocks that are gone
    if crowded then state.places = {} end
    if add_places(state) or crowded or state.version.count >= MOST_FORMS then
        reset(state)
        if crowded then state.most_places = math.max(MOST_PLACES, 2 * #state.places) end
        form = form_of(state, given)
    end
    guard_version(state, state.version)
    if not form.cform then new_form(state, form) end
    return form
end

--- Of a function that names axes of a mesh: its calls for the mesh at hand.
local function keyed_calls(state)
    local key = axes.key() or ""
    if not state.keyed[key] then
        state.keyed[key] = jits.new(state.name, state.user_function, state)
        state.keyed[key].key = key
    end
    return state.keyed[key].calls
end

--- A call in all generality. It goes the same way as the fast one, so it may be used instead at any time.
local function slow_call(state, ...)
    if state.keyed then return keyed_calls(state)[select("#", ...)](...) end
    local changed = find_version(state)
    local given = pack(...)
    local form, leaves = form_of(state, given)
    if state.donates then
        attend_first(state)
        if form.cform then tell_site(state, form, 2) end
    end
    local number, rc
    if form.cform then number, rc = call_core(state, form, leaves) end
    if not number then
        form = prepared(state, form, given)
        put_leaves(state, form, leaves)
        state.reason = changed or state.traces > 0 and reason_to_record(state, form) or nil
        note_changes(state, form)
        local results = pack(record_and_run(state, form, given, leaves))
        if results[1] then return unpack(results, 2, results.n) end
        if not form.has_code then -- behind the recording, which settles what is guarded
            form.has_code = true
            chain(state, form)
        end
        if state.donates then tell_site(state, form, 2) end
        number, rc = call_core(state, form, leaves)
        if not number then raise_changed(state) end
    end
    if rc == SAFEPOINT then return finish_call(form, number, state.donates, state) end
    return form.fills[number]()
end

--- The state of a function that records user_function. How that is: is_static, is_donated and is_kept, by position;
-- static_names; device: where it is computed, nil: where its arguments are. Others may set: body, what is run instead
-- of user_function, with the arguments; owns(place): the number of a variable that is none of the places; cells: by
-- that number, tables that count by identity; labels and fixes_numbers (see forms.analyse).
function jits.new(name, user_function, how)
    local state = { name = name, user_function = user_function, is_static = how.is_static,
                    static_names = how.static_names, is_donated = how.is_donated, is_kept = how.is_kept,
                    donates = next(how.is_donated) ~= nil, device = how.device, places = {},
                    most_places = MOST_PLACES, traces = 0, turns = 0, assigned = {} }
    function state.slow(...) return slow_call(state, ...) end
    jit.off(state.slow)
    reset(state)
    return state
end

--- {static={2, "mode"}}: positions, and names of keys; as sets, and a list of the names.
local function statics_of(value)
    local is_static, names, positions = {}, {}, {}
    if type(value) ~= "table" then value = { value } end
    for _, item in ipairs(value) do
        if type(item) == "string" then
            is_static[item] = true
            names[#names + 1] = item
        else
            positions[#positions + 1] = item
        end
    end
    for _, position in ipairs(positions_of("jit", "static", positions)) do is_static[position] = true end
    return is_static, names
end

local switch = staging.switch

--- The function as it is called where sizes are declared, as a program of its own would be for the sizes of now, and
-- where jit is off. Numbers are inputs all the same.
local function inline(state)
    local function as_input(leaf) return core.is_number(leaf) and core.number(leaf) or leaf end
    local function called(...)
        local f, given = with_statics(state, pack(...))
        check_positions(state, given.n)
        if state.sizes and is_sized() then sized.check(state.name, given, state.sizes, state.is_static) end
        for k = 1, given.n do
            if not state.is_static[k] then given[k] = trees.rebuild(state.name, given[k], as_input) end
        end
        return f(unpack(given, 1, given.n))
    end
    jit.off(called)
    return called
end

--- np.jit(f, {static={}, donate={}, keep={}, device=…, sizes=…, in_shardings=…, out_shardings=…}) -> function: a
-- function that records f once per form of arguments and then runs it as one program, without running Lua. The form is:
-- the keys of tables, shapes, dtypes and devices of arrays, strings, booleans, and the values of static
-- arguments: positions from 1, and names of keys in tables that are arguments. Tables and functions that are static
-- count by identity. Numbers are inputs: other values run the same program.
--
-- f may depend on its arguments, and on local variables and globals around it, which are read anew at each call:
-- arrays are inputs; when a number, a string, a boolean, a function or a field `cfg.lr` has changed, f is recorded
-- again. What f reads in other ways is fixed when it is recorded. f may print; it may not look at values that depend on
-- its arguments (item, tostring) nor assign arrays to variables outside.
--- donate: positions, or names as f calls them, of arguments whose arrays the call may use up: their memory becomes
-- that of results, or is freed. These arrays are deleted; using one afterwards raises. np.explain(f) tells of arrays
-- that could not be used up.
--- keep: positions, or names, of arguments that are the same arrays in many calls, such as weights: what is computed of
-- them alone is computed once, kept, and computed again when one of these arrays is another. The same holds for arrays
-- that belong to f since it was recorded. np.explain(f) has the bytes.
--- device: all of it is computed on this device ("cpu:1", or an element of np.devices()): arguments are put there, and
-- results are committed to it.
--- in_shardings: how arguments lie on a mesh: a spec or a sharding for all of them, or a table with an entry for each:
-- a spec, a sharding, a prefix tree of these, or false, which says nothing. Too few entries, or too many, are refused.
-- Ordinary arrays are laid out so; one that lies otherwise on a mesh is refused
--- out_shardings: the same of the results, which are laid out so
--- sizes: extents of arguments that may differ from call to call without f being recorded again, as for np.trace
--- static: positions, from 1, and names of keys in tables, of arguments whose values are part of the program
--- > f = np.jit(function(x, y) return x * y + 1 end)
--- > f(np.arange(3), np.array(2)), f(np.ones(2), 3)
-- [1. 3. 5.]
-- [4. 4.]
function np.jit(f, given_options)
    f = check_function("jit", f)
    local given = core.options("jit", given_options, { static = true, donate = true, keep = true, device = true,
                                                       sizes = true, in_shardings = true, out_shardings = true })
    local own = f -- has the names of its parameters
    if given.in_shardings ~= nil or given.out_shardings ~= nil then
        f = core.contract(f, given.in_shardings, given.out_shardings)
    end
    local is_static, names = statics_of(given.static)
    local how = { is_static = is_static, static_names = names, is_donated = {}, is_kept = {} }
    for _, position in ipairs(positions_of("jit", "donate", given.donate, own)) do
        if is_static[position] then raise("jit", "argument %d is static, so it cannot be donated", position) end
        how.is_donated[position] = true
    end
    for _, position in ipairs(positions_of("jit", "keep", given.keep, own)) do
        local other = is_static[position] and "static" or how.is_donated[position] and "donated"
        if other then raise("jit", "argument %d is %s, so nothing can be kept for it", position, other) end
        how.is_kept[position] = true
    end
    how.device = given.device and core.local_device("jit", "option 'device'", given.device)
    local state = jits.new("jit", f, how)
    state.sizes = given.sizes
    state.inline = inline(state)
    return function(...)
        local call = state.calls[select("#", ...)]
        if switch.off or is_sized() then call = state.inline end
        return call(...)
    end
end

--- np.clear_caches() -> nothing: forgets all that was recorded by jitted functions, and for solvers (np.optimize,
-- np.integrate), and all plans; they are made again.
--- > np.clear_caches()
function np.clear_caches()
    solvers.forget()
    C.neap_caches_clear(ctx)
end

jits.leaf_name, jits.forget_dropped = leaf_name, forget_dropped

for _, f in ipairs { slow_call, record_and_run, call_core, finish_call, put_leaves, look_at_places, add_entry, chain,
                     reason_to_record, entry_difference } do
    jit.off(f)
end

return jits
