--- solvers.lua: solvers that find their programs again: local solvers = require "neap.tracing.solvers".
--
-- A solver calls a function of the user's. Recording and planning all that it does with the function takes much longer
-- than a small problem takes to run. So a call records the function alone, which nothing else can tell what it computes
-- now, and looks for the program that was made for one like it:
--
--      f ──recorded──▶ program of f ──key──▶ programs: there? ──no──▶ run(f, …) is recorded and planned
--       └ arrays that f reads ───────────────────────────┴────────────▶ the program runs, on them and on `arrays`
--
-- The key is what neap_program_key tells of f, with what else a recording depends on: the dtypes, shapes and devices of
-- all arrays, the settings, the default device; and the lines of f and of the call, which errors name. Arrays that f
-- reads are inputs, so other data finds the same program; numbers that f reads are part of the key.
--
-- The first call of a key makes the program, and later ones run that: recording and planning a solver takes no longer
-- than running each of its ops for the first time. Where the program would be of one call alone, as the solver reads
-- arrays that were made for the call, later calls of the key run the solver just so, with f as it was recorded. No call
-- runs f's Lua more often than the first one.
--
-- A pure function (pure.lua), whose code and numbers tell what it computes, is not recorded again: the program of such
-- a call is found by the key of the function.
--
-- Where a trace, a gradient or a mode is open, where jit is off, and where the key cannot tell all (f prints, or calls
-- back), the solver just runs. So it does while np.debug.nans is on: an error names the line of an op then, and
-- functions that compute the same may do so on other lines.
local ffi = require "ffi"
local axes = require "neap.tracing.axes"
local core = require "neap.core"
local staging = require "neap.tracing.staging"

local np, C = core.np, core.C
local pack, closed = staging.pack, staging.closed
local type = type

local MOST_PROGRAMS, MOST_BYTES = 64, 2 ^ 20 -- of one solver: programs, and bytes of keys; more start afresh

local solvers = {}

local all = {} -- what each solver knows

local data_box, bytes_box = ffi.new("char *[1]"), ffi.new("size_t[1]")

-- ---- Keys -----------------------------------------------------------------------------------------------------------

--- The key of a program; nil: it has none.
local function program_key(name, entry)
    core.call(name, function() return C.neap_program_key(entry.program, data_box, bytes_box) end)
    local key = bytes_box[0] > 0 and ffi.string(data_box[0], bytes_box[0]) or nil
    C.neap_bytes_free(data_box[0])
    return key
end

--- Appends the forms of arrays to `parts`. Returns whether all of them have one: they lie on no mesh.
local function add_forms(parts, list)
    for _, x in ipairs(list) do
        local known = core.info(x)
        if known.sharding ~= 0 then return false end
        local device = known.committed ~= 0 and known.device or -1
        parts[#parts + 1] = ("%d %d %d %d"):format(known.dtype, staging.weakness_of(x), device, known.ndim)
        for k = 0, known.ndim - 1 do parts[#parts + 1] = tonumber(known.shape[k]) end
    end
    parts[#parts + 1] = "/"
    return true
end

--- Appends settings to `parts`: numbers, texts, booleans, and lists of these.
local function add_settings(parts, settings)
    local keys = {}
    for key in pairs(settings) do keys[#keys + 1] = key end
    table.sort(keys)
    for _, key in ipairs(keys) do
        local value = settings[key]
        parts[#parts + 1] = key
        if type(value) == "table" then
            parts[#parts + 1] = "{"
            add_settings(parts, value)
            parts[#parts + 1] = "}"
        elseif type(value) == "number" then
            parts[#parts + 1] = ("%.17g"):format(value)
        else
            parts[#parts + 1] = ("%s %s"):format(type(value), tostring(value))
        end
    end
end

--- The line where a function of Lua begins.
local function line_of(f)
    local facts = type(f) == "function" and debug.getinfo(f, "S")
    return facts and ("%s:%d"):format(facts.short_src, facts.linedefined) or ""
end

--- The key of a call whose function was recorded as `entry`, with the arrays that it reads; nil: it has none.
local function key_of(name, entry, lifted, arrays, settings, site)
    local parts = { program_key(name, entry) }
    if not parts[1] or not add_forms(parts, arrays) or not add_forms(parts, lifted) then return nil end
    add_settings(parts, settings)
    local file, line = core.user_site()
    parts[#parts + 1] = ("%s %s:%d"):format(tostring(np.default_device()), file or "", line or 0)
    parts[#parts + 1] = line_of(site)
    return table.concat(parts, " ")
end

-- ---- Pure functions -------------------------------------------------------------------------------------------------

-- Where arrays and settings of a call are like those of an earlier one, the program of that is found without a key:
-- nothing is written down to compare it.

--- The form of an array: { dtype, weakness, the device that it is committed to or -1, extents… }; nil: it lies on a
-- mesh.
local function form_of(x)
    local known = core.info(x)
    if known.sharding ~= 0 then return nil end
    local form = { known.dtype, staging.weakness_in(known, x), known.committed ~= 0 and known.device or -1 }
    for at = 1, known.ndim do form[3 + at] = tonumber(known.shape[at - 1]) end
    return form
end

--- Whether an array has a form.
local function has_form(x, form)
    local known = core.info(x)
    local ndim, device = known.ndim, known.committed ~= 0 and known.device or -1
    if known.sharding ~= 0 or known.dtype ~= form[1] or staging.weakness_in(known, x) ~= form[2] or device ~= form[3]
        or ndim ~= #form - 3 then return false end
    for at = 1, ndim do
        if known.shape[at - 1] ~= form[3 + at] then return false end
    end
    return true
end

--- Whether a table of numbers, texts and booleans holds the same as another one.
local function same_settings(a, b)
    for key, value in pairs(a) do
        if b[key] ~= value and not (type(value) == "table" and type(b[key]) == "table"
                                    and same_settings(value, b[key])) then return false end
    end
    for key in pairs(b) do
        if a[key] == nil then return false end
    end
    return true
end

local OUTSIDE = 4 -- the level of frames that calls a solver, for what a solver calls, whose own level is 2

--- Whether a call with these arrays and settings is like an earlier one.
local function is_like(earlier, arrays, settings)
    if #arrays ~= #earlier or not same_settings(settings, earlier.settings) then return false end
    for k = 1, #arrays do
        if not has_form(arrays[k], earlier[k]) then return false end
    end
    return true
end

--- The program of a call with a pure function; nil: none is known.
local function program_of(own, told, arrays, settings)
    local list = own.quick[told]
    if not list then return nil end
    local device, file, line = core.default_device_number(), core.user_site(OUTSIDE)
    for k = 1, #list do
        local earlier = list[k]
        if line == earlier.line and file == earlier.file and device == earlier.device
            and is_like(earlier, arrays, settings) then return earlier.program end
    end
end

--- Lets calls like this one find a program.
local function find_quickly(own, told, arrays, settings, program)
    local call = { settings = settings, device = core.default_device_number(), program = program }
    call.file, call.line = core.user_site(OUTSIDE)
    for k, x in ipairs(arrays) do
        call[k] = form_of(x)
        if not call[k] then return end
    end
    if own.quick_count >= MOST_PROGRAMS then own.quick, own.quick_count = {}, 0 end
    own.quick[told], own.quick_count = own.quick[told] or {}, own.quick_count + 1
    table.insert(own.quick[told], call)
end

-- ---- Calls ----------------------------------------------------------------------------------------------------------

--- The arrays of two lists.
local function joined(list, more)
    local result = core.copy_list(list)
    for k = 1, #more do result[#result + 1] = more[k] end
    return result
end

--- f as it was recorded, on other arrays that it reads.
local function function_of(name, entry, lifted)
    local function f(...)
        local leaves, follows = joined({ ... }, lifted), false
        for _, x in ipairs(leaves) do follows = follows or core.info(x).committed ~= 0 end
        return staging.run(name, entry, leaves, follows)
    end
    jit.off(f)
    return f
end

local recording -- the frame in which a solver is recorded

--- Whether the innermost trace is that of a solver, whose results nobody differentiates or batches.
function solvers.is_recording()
    local frame = core.frame()
    return recording == frame and #frame.levels == 1
end

--- Records a solver for a function.
local function record(name, run, entry, lifted, arrays, settings)
    local scope = C.neap_scope_open(core.ctx, nil) -- a program is called in other scopes too
    recording = core.frame()
    local function undo()
        recording = nil
        C.neap_scope_close(core.ctx, scope)
    end
    return core.during(undo, closed, name, function(list, own)
        return run(function_of(name, entry, own), list, settings)
    end, pack(arrays, lifted), nil, true) -- what it computes of constants alone is part of the program
end

--- Makes a solver know nothing: programs by key, and their count; alone, the keys whose programs are of one call alone,
-- and their bytes. `quick` has lists of calls (find_quickly) by the keys of pure functions, `quick_count` of them
-- together.
local function nothing_known(own)
    own.count, own.programs, own.bytes, own.alone = 0, {}, 0, {}
    own.quick, own.quick_count = {}, 0
    return own
end

--- Notes that the program of a key is of one call alone.
local function note_alone(own, key)
    if own.bytes + #key > MOST_BYTES then own.bytes, own.alone = 0, {} end
    own.bytes, own.alone[key] = own.bytes + #key, true
end

--- Whether programs can be found again where a call is made now.
function solvers.is_plain()
    local switch = staging.switch
    return not core.recording() and not core.sized() and not switch.off and not switch.nans and axes.mesh() == nil
end

--- A solver: run(f, arrays, settings) -> results, trees of arrays. What it does follows from these three alone: f, a
-- function of arrays; `arrays`, a list; and `settings`, a table of numbers, texts, booleans and tables of these. So run
-- is a function of a module, and reads no variable that changes. Returns solve(name, f, given, arrays, settings, site,
-- told): `given` has an array for each argument of f, or what stands for one ({ shape={…}, dtype="f32" }); `site` is
-- the user's own function, for its line; told: the key of a pure function (pure.lua), from which f and `given` follow
-- with `arrays` and `settings`; nil: it has none.
function solvers.new(run)
    local own = nothing_known {}
    all[#all + 1] = own
    local function solve(name, f, given, arrays, settings, site, told)
        if not solvers.is_plain() then return run(f, arrays, settings) end
        local quick = told and program_of(own, told, arrays, settings)
        if quick then return staging.run(name, quick, arrays) end
        local entry, lifted = closed(name, f, staging.with_specs(name, given))
        local key = key_of(name, entry, lifted, arrays, settings, site)
        if not key then return run(f, arrays, settings) end
        local known = own.programs[key]
        if own.alone[key] then return run(function_of(name, entry, lifted), arrays, settings) end
        if not known then
            local more
            known, more = record(name, run, entry, lifted, arrays, settings)
            if #more > 0 then -- arrays from elsewhere, which may be of this call alone
                note_alone(own, key)
                return staging.run(name, known, joined(joined(arrays, lifted), more), true)
            end
            if own.count >= MOST_PROGRAMS then own.count, own.programs = 0, {} end
            own.count, own.programs[key] = own.count + 1, known
        end
        if told and #lifted == 0 then find_quickly(own, told, arrays, settings, known) end
        return staging.run(name, known, joined(arrays, lifted))
    end
    jit.off(solve)
    return solve
end

--- Forgets all programs.
function solvers.forget()
    for _, own in ipairs(all) do nothing_known(own) end
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { program_key, key_of, add_forms, add_settings, form_of, has_form, program_of, find_quickly,
                     function_of, record } do
    jit.off(f)
end

return solvers
