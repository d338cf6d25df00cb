--- custom_vmap.lua: np.custom_vmap: functions whose batches are computed in their own way.
--
-- Where a trace is open such a function is traced, as a closed program, and recorded as a call of that (custom.lua).
-- The program has a number, and the rule of the call is kept here under this number: for as long as the program lives,
-- then for another one. The core batches programs, and cannot run a rule. So np.vmap first asks the core which rule is
-- missing for these batched inputs, has the rule traced here, and asks again, until no rule is missing
-- (lazy/derive/batch_program.c). A rule that calls functions with rules, or np.vmap, is traced like any other function:
-- so rules nest as batches do.
local ffi = require "ffi"
local core = require "neap.core"
local custom = require "neap.transforms.custom"
local derive = require "neap.transforms.derive"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, describe = core.is_array, core.raise, core.describe
local pack = staging.pack
local type, unpack, pairs = type, unpack, pairs

local NAME = "custom_vmap"

-- ---- Calls ----------------------------------------------------------------------------------------------------------

-- By number: what a rule has to know of the call. { rule, arguments = packed trees in which Operands stand for arrays,
-- specs = a list of theirs, results = packed trees in which Forms stand for arrays and false for all else }
local calls = {}

local Operand = {} -- { its place among the operands }

--- Packed arguments with Operands for arrays, and a list of the Specs of these.
local function operands_of(given)
    local marked, specs = { n = given.n }, {}
    for k = 1, given.n do
        marked[k] = trees.rebuild(NAME, given[k], function(leaf)
            if not is_array(leaf) then return leaf end
            local spec = staging.spec_of(leaf)
            spec.weak = staging.weakness_of(leaf)
            specs[#specs + 1] = spec
            return setmetatable({ #specs }, Operand)
        end)
    end
    return marked, specs
end

--- Packed arguments with what f(place, operand) gives in place of Operands, and other(leaf) in place of other leaves.
local function filled(marked, f, other)
    local list = { n = marked.n }
    for k = 1, marked.n do
        list[k] = trees.rebuild(NAME, marked[k], function(leaf)
            if getmetatable(leaf) == Operand then return f(leaf[1]) end
            return other(leaf)
        end)
    end
    return list
end

--- The function called where a trace is open.
local function record(self, ...)
    local given, results = pack(...), nil
    local operands, with_arrays = custom.split(NAME, given)
    local entry, lifted = staging.closed(NAME, function(list)
        local arguments = with_arrays(list)
        return self.user_function(unpack(arguments, 1, arguments.n))
    end, pack(operands), function(values)
        results = custom.forms_of(NAME, values)
        return values
    end)
    local number
    core.call(NAME, function()
        number = C.neap_program_rule(entry.program)
        return math.min(number, 0)
    end)
    local arguments, specs = operands_of(given)
    calls[number] = { rule = self.rule, arguments = arguments, specs = specs, results = results }
    return custom.push_call(NAME, C.NEAP_RULE_VMAP, operands, { entry }, { lifted })
end

-- ---- Rules ----------------------------------------------------------------------------------------------------------

--- The shape of a batch.
local function batched_shape(size, shape)
    return { size, unpack(shape) }
end

--- Appends the arrays of a result to a list, and whether they are batched to `flags`. batched: a tree of booleans.
local function take_result(value, batched, form, size, path, list, flags)
    if form == false then return end
    if derive.is_form(form) then
        if type(batched) ~= "boolean" then
            raise(NAME, "%s of the rule: expected true or false for whether it is batched, got %s", path,
                  describe(batched))
        end
        local shape = batched and batched_shape(size, form.spec.shape) or form.spec.shape
        list[#list + 1] = derive.fitting(NAME, value, { dtype = form.dtype, spec = { shape = shape } },
                                         path .. " of the rule" .. (batched and ", which is batched" or ""))
        flags[#flags + 1] = batched
        return
    end
    if not trees.is_node(value) then
        raise(NAME, "%s of the rule: expected a table, got %s", path, describe(value))
    end
    if not trees.is_node(batched) then
        raise(NAME, "%s of the rule: expected a table of booleans for which parts are batched, got %s", path,
              describe(batched))
    end
    for _, key in ipairs(trees.keys_of(form, NAME)) do
        take_result(value[key], batched[key], form[key], size, derive.step(path, key), list, flags)
    end
    for _, tree in ipairs { value, batched } do
        for key in pairs(tree) do
            if form[key] == nil then
                raise(NAME, "%s of the rule: the function's result has no such part", derive.step(path, key))
            end
        end
    end
end

--- What a rule has returned, checked: its arrays in a list, and whether they are batched.
local function take_results(returned, results, size)
    local list, flags = {}, {}
    if returned.n ~= 2 * results.n then
        raise(NAME, "the rule returned %d values; expected the %d of the function, and for each whether it is batched",
              returned.n, results.n)
    end
    for k = 1, results.n do
        take_result(returned[k], returned[results.n + k], results[k], size, "result " .. k, list, flags)
    end
    return list, flags
end

--- Traces the rule of a call for operands of which some are batched: an entry, what it has lifted, and whether its
-- results are batched.
local function trace_rule(call, batched, size)
    local specs, flags = {}, nil
    for k, spec in ipairs(call.specs) do
        specs[k] = spec
        if batched[k] then
            specs[k] = staging.Spec { dtype = spec.dtype, shape = batched_shape(size, spec.shape), weak = spec.weak,
                                      device = spec.device }
        end
    end
    local in_batched = filled(call.arguments, function(place) return batched[place] end, function() return false end)
    in_batched.n = nil
    local entry, lifted = staging.closed(NAME, function(list)
        local arguments = filled(call.arguments, function(place) return list[place] end, function(leaf) return leaf end)
        return call.rule(size, in_batched, unpack(arguments, 1, arguments.n))
    end, pack(specs), function(returned)
        local list
        list, flags = take_results(returned, call.results, size)
        return pack(list)
    end)
    return entry, lifted, flags
end

local free_program = core.finalizer(C.neap_program_free)

--- A rule for the core, and what must live as long as it.
local function as_rule(wanted, size)
    local callee = ffi.gc(wanted.callee, free_program)
    local call, batched = calls[wanted.number], {}
    for k = 1, #call.specs do batched[k] = wanted.batched[k - 1] ~= 0 end
    local entry, lifted, flags = trace_rule(call, batched, size)
    local n = #batched
    local all, ids = ffi.new("uint8_t[?]", n + #flags + 1), staging.ids_of(lifted, #lifted)
    for k = 1, n do all[k - 1] = batched[k] and 1 or 0 end
    for k = 1, #flags do all[n + k - 1] = flags[k] and 1 or 0 end
    local rule = ffi.new("neap_batch_rule",
                         { callee = callee, program = entry.program, batched = all, nlifted = #lifted, lifted = ids })
    return rule, { callee, entry, lifted, all, ids }
end

local rules = {}

--- What a batch of `size` examples of a program needs; flags: which inputs are batched, for the core. { how = a
-- neap_batch with all rules, and what must live as long as that }.
function rules.of(program, size, flags)
    local how, list = ffi.new "neap_batch", {}
    local kept = { how = how }
    how.size = type(size) == "number" and size or size.now
    local wanted = ffi.new "neap_batch_wanted"
    while true do
        core.call("vmap", function() return C.neap_program_batch_wants(ctx, program, how, flags, wanted) end)
        if wanted.callee == nil then return kept end
        local n = #list + 1
        list[n], kept[n] = as_rule(wanted, size)
        local all = ffi.new("neap_batch_rule[?]", n)
        for k = 1, n do all[k - 1] = list[k] end
        how.rules, how.nrules, kept.all = all, n, all
    end
end

-- ---- np.custom_vmap -------------------------------------------------------------------------------------------------

local Vmap = { __tostring = function() return "np.custom_vmap(f), whose rule :def_vmap(rule) sets" end }
Vmap.__index = Vmap

function Vmap:__call(...)
    if not staging.tracing() then return self.user_function(...) end
    if not self.rule then raise(NAME, "the function has no rule yet: call :def_vmap(rule) first") end
    return record(self, ...)
end

function Vmap:as_function()
    local user_function = self.user_function
    local function called(...)
        if not staging.tracing() then return user_function(...) end
        return self(...)
    end
    jit.off(called)
    return called
end

--- f:def_vmap(rule): sets the rule, which takes the number of examples, a table that says for each argument whether the
-- argument is batched (a tree of booleans, where the argument is a tree), and the arguments, batched ones with the
-- examples along axis 0. The rule returns f's results, then for each result whether the result is batched: a boolean,
-- or a tree of booleans. Returns f.
function Vmap:def_vmap(rule)
    self.rule = staging.check_function("def_vmap", rule)
    return self
end

--- np.custom_vmap(f) -> function: f with a rule for np.vmap of its own, which :def_vmap(rule) sets: where an argument
-- of a call is batched, np.vmap records what the rule does in place of what f does. As
-- jax.custom_batching.custom_vmap. f and the rule are traced where a trace is open, so neither may look at values
-- there; what f reads from around f must not be batched. A batch inside of another batch asks the rule for the inner
-- one, and batches what the rule does. A derivative around np.vmap is that of the rule; inside of np.vmap that of f,
-- which is batched without the rule then. Programs in files hold f alone.
--- > f = np.custom_vmap(function(x, y) return x + y end)
--- > f = f:def_vmap(function(n, batched, xs, ys) return xs * ys, true end)
--- > f(2, 3), np.vmap(f)(np.arange(3), np.arange(1, 4))
-- 5
-- [0 2 6]
function np.custom_vmap(f)
    return setmetatable({ user_function = staging.check_function(NAME, f) }, Vmap)
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { operands_of, filled, record, take_result, take_results, trace_rule, as_rule, rules.of, Vmap.__call,
                     Vmap.as_function } do
    jit.off(f)
end

return rules
