--- jit_facts.lua: np.jit_cache, and what np.explain tells of jitted functions (jit.lua).
local ffi = require "ffi"
local core = require "neap.core"
local forms = require "neap.programs.forms"
local guards = require "neap.tracing.guards"
local jits = require "neap.programs.jit"

local np, C = core.np, core.C

local INPUT, KEPT, SAME = C.NEAP_LEAF_INPUT, C.NEAP_LEAF_KEPT, C.NEAP_LEAF_SAME

local found = {}

local entry_info, leaf_info = ffi.new("neap_entry_info"), ffi.new("neap_info")

--- The state behind a function that np.jit made; nil for all else.
local function state_of(f)
    if type(f) ~= "function" or not core.is_library(f) then return nil end
    local name, state = debug.getupvalue(f, 1)
    if name ~= "state" or type(state) ~= "table" or not state.slow then return nil end
    return state
end

local kept_texts = {
    [C.NEAP_KEPT_LEVEL] = "a gradient or a trace was open; it was not deleted",
    [C.NEAP_KEPT_NUMBER] = "it had no memory of its own",
    [C.NEAP_KEPT_VIEW] = "a view of it, or work that was recorded before, or a program refers to it",
    [C.NEAP_KEPT_SHARED] = "its memory was also that of another array, or of a print or callback under way",
    [C.NEAP_KEPT_ARGUMENT] = "it was among the arguments twice",
}

--- The name of input k (from 0) of an entry: the leaf that it is.
local function input_name(state, form, record, k)
    for leaf = 1, #form.nodes + #state.places do
        if record.uses[leaf] <= KEPT then
            if k == 0 then return jits.leaf_name(state, form, leaf) end
            k = k - 1
        end
    end
end

local function place_names(state, form, record, use)
    local names = {}
    for k, place in ipairs(state.places) do
        if record.uses[#form.nodes + k] == use then names[#names + 1] = place.name end
    end
    return names
end

local function entry_facts(state, form, record)
    local text = forms.text(form, function(k)
        C.neap_form_wants(form.cform, record.number, k - 1, leaf_info)
        return forms.array_text(leaf_info)
    end)
    C.neap_form_entry(form.cform, record.number, entry_info)
    local facts = { arguments = text, hits = tonumber(entry_info.hits), bytes = tonumber(entry_info.bytes),
                    captures = place_names(state, form, record, INPUT),
                    constructed = place_names(state, form, record, SAME),
                    bound = entry_info.captures, donated = tonumber(entry_info.donated),
                    used_up = tonumber(entry_info.overwrote), kept_steps = entry_info.kept_steps,
                    kept_bytes = tonumber(entry_info.kept_bytes),
                    program = C.neap_form_program(form.cform, record.number) }
    if facts.used_up < facts.donated then
        facts.kept = ("%s: %s"):format(input_name(state, form, record, entry_info.leaf), kept_texts[entry_info.kept])
    end
    return facts
end

local function counted(n, noun) return ("%d %s%s"):format(n, noun, n == 1 and "" or "s") end

--- "recorded 2 times, 2 programs of 7 KiB kept, run by 5 calls", and a line for each program.
local Facts = {}

function Facts.__tostring(facts)
    local hits, lines = 0, { "" }
    for k, entry in ipairs(facts.entries) do
        hits = hits + entry.hits
        lines[k + 1] = ("  (%s): %d KiB, run by %s"):format(entry.arguments, math.ceil(entry.bytes / 1024),
                                                            counted(entry.hits, "call"))
    end
    lines[1] = ("recorded %s, %s of %d KiB kept, run by %s"):format(
        counted(facts.traces, "time"), counted(#facts.entries, "program"), math.ceil(facts.bytes / 1024),
        counted(hits, "call"))
    return table.concat(lines, "\n")
end

--- What np.jit_cache returns, and the program of each entry.
local function facts_of(state)
    local facts = setmetatable({ traces = state.traces, reason = state.reason, bytes = 0, entries = {} }, Facts)
    for _, own in pairs(state.keyed or {}) do
        local more = facts_of(own)
        facts.traces, facts.bytes = facts.traces + more.traces, facts.bytes + more.bytes
        facts.reason = facts.reason or more.reason
        for _, entry in ipairs(more.entries) do facts.entries[#facts.entries + 1] = entry end
    end
    for _, version in ipairs(state.versions) do
        jits.forget_dropped(version)
        for _, record in pairs(version.records) do
            local entry = entry_facts(state, record.form, record)
            local with = #state.versions > 1 and guards.text(version.guards) or ""
            if with ~= "" then entry.arguments = entry.arguments .. "; " .. with end
            facts.bytes = facts.bytes + entry.bytes
            facts.entries[#facts.entries + 1] = entry
        end
    end
    table.sort(facts.entries, function(a, b) return a.arguments < b.arguments end)
    return facts
end

--- The programs of a jitted function, for np.explain: a list of { text, entry }, with the facts of all of it in
-- `facts`; nil for all else.
function found.programs_of(f)
    local state = state_of(f)
    if not state then return nil end
    local facts = facts_of(state)
    local list = { facts = facts }
    for k, entry in ipairs(facts.entries) do list[k] = { text = entry.arguments, entry = entry } end
    return list
end

--- np.jit_cache(f) -> table: what a jitted function has recorded: { traces = how often, reason = why the last time, in
-- words, bytes, entries = { { arguments, hits, bytes, captures = names of variables that are read at each call,
-- constructed = names of constructors around it, bound = number of arrays that belong to the program, donated,
-- used_up, kept = why the last donated array was not used up, kept_steps = steps that are not run again while the
-- arrays of option 'keep' are the same, kept_bytes = what they keep in memory }, … } }. tostring tells it in a line,
-- and one for each entry. A program that was not used for long is dropped when all of them take more than 256 MiB.
--- > f = np.jit(function(x) return x + 1 end)
--- > f(np.ones(2))
-- [2. 2.]
--- > np.jit_cache(f).traces
-- 1
function np.jit_cache(f)
    local state = state_of(f)
    if not state then core.bad_argument("jit_cache", 1, "f", "a function that np.jit made", f) end
    local facts = facts_of(state)
    for _, entry in ipairs(facts.entries) do entry.program = nil end
    return facts
end

jit.off(facts_of)

return found
