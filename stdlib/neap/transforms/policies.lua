--- policies.lua: np.checkpoint_name, and np.checkpoint with options: which values a checkpointed function keeps.
--
-- Values that are kept cut the function into pieces. Of f, which makes a, then b of a, then the result of both:
--
--      main     x ─▶ result, a, b               runs forward
--      piece 1  x ─▶ a                          \
--      piece 2  x, a ─▶ b                        | run again for the backward pass, from the last to the first: each
--      rest     x, a, b ─▶ result               /  passes cotangents to x and to what was kept before it
--
-- Each is a closed program of f, in which np.checkpoint_name gives kept values in place of its arguments, and products
-- of matrices (arrays/product.lua) those in place of theirs; ops that nothing reads then are no part of the program.
-- A policy that is a function is asked about each op of f's program, which is cut there (cuts.lua).
-- The rule is one of np.custom_vjp; arrays around f are operands there, as the arguments are.
--
-- A value that is *offloaded* is kept in the memory of the host: the rule copies it there behind main, and back for the
-- backward pass. The copy out runs right behind what makes the value (lazy/plan/early.c), so from there on the device
-- has its memory back. Where that gains nothing the value is kept as others are: on the devices of the CPU, whose
-- memory is the host's; on a mesh; and in the body of a loop or branch, which a copy would make the host run.
local ffi = require "ffi"
local axes = require "neap.tracing.axes"
local core = require "neap.core"
local custom = require "neap.transforms.custom"
local derive = require "neap.transforms.derive"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np, C = core.np, core.C
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument
local pack, closed_body, run = staging.pack, staging.closed_body, staging.run

local NAME = "checkpoint"
local MOST_CHOICES = 4096 -- sets of values that are looked at

-- How a value is kept.
local HERE, OFFLOADED = "here", "offloaded"

-- How a policy keeps products: a function of whether a product has batch axes; nil: it does not. false: the policy is
-- none of values.
local PRODUCTS = {
    dots_saveable = function() return HERE end,
    dots_with_no_batch_dims_saveable = function(batched) return not batched and HERE or nil end,
    offload_dot_with_no_batch_dims = function(batched) return not batched and OFFLOADED or nil end,
    everything_saveable = false,
    nothing_saveable = false,
}

local policies = {}

-- ---- Names ----------------------------------------------------------------------------------------------------------

local naming -- of the innermost checkpoint that is traced: a function of a value and its name; nil: there is none

--- np.checkpoint_name(x, name) -> x: x, an array, under a name for the options of a np.checkpoint around it, which say
-- what it keeps. In the bodies of loops, branches and np.shard_map, in jitted functions and in other derivatives inside
-- of that, names mean nothing to it. Products are worth a name; an op whose derivative reads its own result, such as
-- tanh, is run again for that. As jax.ad_checkpoint.checkpoint_name(x, name).
--- > np.checkpoint_name(np.ones(2), "hidden")
-- [1. 1.]
function np.checkpoint_name(x, name)
    x = core.coerce("checkpoint_name", 1, x)
    if type(name) ~= "string" or name == "" then bad_argument("checkpoint_name", 2, "name", "a text", name) end
    return naming and naming(x, name) or x
end

--- Raises unless the names of an option are texts; returns them as a set, nil without the option.
local function names_of(option, names)
    if names == nil then return nil end
    if type(names) == "string" then names = { names } end
    if type(names) ~= "table" then
        bad_argument(NAME, nil, option, "a name of np.checkpoint_name, or a table of names", names)
    end
    local wanted = {}
    for k, name in ipairs(core.list(NAME, ("option '%s'"):format(option), names)) do
        if type(name) ~= "string" then raise(NAME, "option '%s': name %d must be a text", option, k) end
        wanted[name] = true
    end
    return wanted
end

--- The names of the options `save` and `offload`, as sets.
local function names_of_both(o)
    local saved, offloaded = names_of("save", o.save), names_of("offload", o.offload)
    for name in pairs(saved and offloaded or {}) do
        if saved[name] then raise(NAME, "options 'save' and 'offload' both have %q: leave out one of them", name) end
    end
    return saved, offloaded
end

--- What the options of np.checkpoint say: "everything": f keeps what it would without it; nil: it keeps nothing; or
-- { wants(name), products(batched) or nil, most = bytes or nil, offloaded = a set of names or nil }. wants and products
-- say how a value is kept, HERE or OFFLOADED; nil or false: it is not. Or { asks = a function of an op, most }.
function policies.of(given)
    local o = core.options(NAME, given, { save = true, offload = true, most = true, policy = true })
    local policy, most, names, offloaded = o.policy, o.most, names_of_both(o)
    local asks = type(policy) == "function" and policy or nil
    if policy ~= nil and not asks and PRODUCTS[policy] == nil then
        bad_argument(NAME, nil, "policy", '"dots_saveable", "dots_with_no_batch_dims_saveable", '
                     .. '"offload_dot_with_no_batch_dims", "everything_saveable", "nothing_saveable" or a function of '
                     .. "an op", policy)
    end
    if most ~= nil and (type(most) ~= "number" or most ~= most or most < 0) then
        bad_argument(NAME, nil, "most", "a number of bytes from 0 up", most)
    end
    if asks then
        if names or offloaded then
            raise(NAME, "option 'policy': the function says all that is kept; leave out the options 'save' and "
                  .. "'offload' (it gets the names: op.name)")
        end
        return { asks = asks, most = most }
    end
    local products = policy ~= nil and PRODUCTS[policy]
    if policy ~= nil and not products then
        if names or offloaded or most then
            raise(NAME, "option 'policy': %q says all that is kept; leave out the options 'save', 'offload' and 'most'",
                  policy)
        end
        return policy == "everything_saveable" and "everything" or nil
    end
    if not products and not names and not offloaded and not most then return nil end
    local others = not names and not offloaded and not products and HERE -- of all that have names
    local function wants(name)
        if offloaded and offloaded[name] then return OFFLOADED end
        return names and names[name] and HERE or others
    end
    return { wants = wants, products = products or nil, most = most, offloaded = offloaded }
end

-- ---- Programs of the function ---------------------------------------------------------------------------------------

--- Calls f(…) while g gets what np.checkpoint_name gets, and core.keep_product is product.
local function while_naming(g, product, f, ...)
    local named, kept = naming, core.keep_product
    naming, core.keep_product = g, product
    local results = pack(pcall(f, ...))
    naming, core.keep_product = named, kept
    if not results[1] then error(results[2], 0) end
    return unpack(results, 2, results.n)
end

--- Traces f as a closed program of its operands, then of what was kept. at: by the count of wanted values the place of
-- a value among those that are kept; nil: all are. specs: of what stands for the first of these. finish gets the
-- values of these places, as f made them, and f's packed results, and returns the packed results of the program. Notes
-- in the call how the values of these places are kept, and which names f gives.
local function trace_piece(call, at, specs, finish)
    local entry, lifted = closed_body(NAME, function(list, kept)
        local policy, frame = call.policy, core.frame()
        local depth, axes_open, count, values = #frame.levels, #axes.open(), 0, {}
        local function is_inside()
            return core.frame() ~= frame or #frame.levels ~= depth or #axes.open() ~= axes_open
        end
        local function keep(x, how)
            if not how or is_inside() then return x end
            count = count + 1
            local place = not at and count or at[count]
            if not place then return x end
            values[place], call.how[place] = x, how
            return kept[place] or x
        end
        local function name_value(x, name)
            if not is_inside() then call.names[name] = true end
            return keep(x, policy.wants(name))
        end
        local product = policy.products and function(x, batched) return keep(x, policy.products(batched)) end
        local arguments = call.with_arrays(list)
        local results = pack(while_naming(name_value, product, call.f, unpack(arguments, 1, arguments.n)))
        call.count = call.count or count
        if count ~= call.count then
            raise(NAME, "the function has %d values to keep when it is traced first, and %d when it is traced again: "
                  .. "it must compute the same each time", call.count, count)
        end
        return finish(values, results)
    end, pack(call.operands, specs), nil, true)
    return { entry = entry, lifted = lifted, kept = #specs }
end

--- The piece that makes the value of a place from what is kept before it.
local function trace_value(call, at, specs, place)
    local before = {}
    for k = 1, place - 1 do before[k] = specs[k] end
    return call.piece(call, at, before, function(values) return values[place] end)
end

local cost_box = ffi.new("neap_cost")

local function flops_of(piece)
    core.call(NAME, function() return C.neap_program_cost(piece.entry.program, cost_box, 0, nil) end)
    return cost_box.flops
end

--- Which values to keep of a list of { bytes, flops }: the most operations in at most so many bytes; and those without
-- bytes. Goes on with sets of which no other has more operations in fewer bytes.
local function choose(values, most)
    local sets = { { bytes = 0, flops = 0 } }
    for k, value in ipairs(values) do
        local all = core.copy_list(sets)
        for _, set in ipairs(sets) do
            if value.bytes and set.bytes + value.bytes <= most then
                all[#all + 1] = { bytes = set.bytes + value.bytes, flops = set.flops + value.flops, last = k,
                                  rest = set }
            end
        end
        table.sort(all, function(a, b)
            if a.bytes ~= b.bytes then return a.bytes < b.bytes end
            return a.flops > b.flops
        end)
        sets = {}
        for _, set in ipairs(all) do
            if (#sets == 0 or set.flops > sets[#sets].flops) and #sets < MOST_CHOICES then sets[#sets + 1] = set end
        end
    end
    local at, set, chosen, place = {}, sets[#sets], {}, 0
    while set.last do chosen[set.last], set = true, set.rest end
    for k = 1, #values do
        if chosen[k] or not values[k].bytes then place, at[k] = place + 1, place + 1 end
    end
    return at
end

--- The specs of values.
local function specs_of(values)
    local specs = {}
    for k, x in ipairs(values) do specs[k] = staging.laid_spec(x) end
    return specs
end

--- The program that runs forward, { entry, lifted }, and the specs of what it keeps, which it gives first.
local function trace_main(call, at)
    local specs
    local main = call.piece(call, at, {}, function(values, results)
        specs = specs_of(values)
        return values, unpack(results, 1, results.n)
    end)
    return main, specs
end

--- The places of values that take at most so many bytes together, and of all that are offloaded: as `at` of
-- trace_piece.
local function places_within(call, specs)
    local values = {}
    for k, spec in ipairs(specs) do
        local bytes = core.dtypes[spec.dtype].bytes
        for _, n in ipairs(spec.shape) do bytes = bytes * n end
        values[k] = call.how[k] == OFFLOADED and {}
            or { bytes = bytes, flops = flops_of(trace_value(call, nil, specs, k)) }
    end
    return choose(values, call.policy.most)
end

--- Raises unless f gives the names that the option `offload` has.
local function check_names(call)
    local known = {}
    for name in pairs(call.names) do known[#known + 1] = ("%q"):format(name) end
    table.sort(known)
    for name in pairs(call.policy.offloaded or {}) do
        if not call.names[name] then
            raise(NAME, "option 'offload': the function has no value of the name %q (names: %s; those in its loops and "
                  .. "branches do not count)", name, #known > 0 and table.concat(known, ", ") or "none")
        end
    end
end

-- ---- Memory of the host ---------------------------------------------------------------------------------------------

--- Where values that are offloaded come from, by place: a device's number, or -1 for one that is committed to none;
-- false: it stays where it is.
local function sources_of(call, specs)
    local sources, home = {}, np.local_devices()[1].number
    for k, spec in ipairs(specs) do
        local moves = call.how[k] == OFFLOADED and not spec.sharding and not staging.in_body()
        sources[k] = moves and C.neap_device_memory_space(spec.device or home) ~= 0 and (spec.device or -1)
    end
    return sources
end

--- x on a device, by the device's number.
local function moved_to(number, x)
    core.attrs[0] = number
    return core.record1(core.ids.device_put, x, 1)
end

local HOST = 0 -- the first device of the CPU

--- What is kept, without what is offloaded; and that, in the memory of the host: lists with false in other places.
local function offload(kept, sources)
    local here, away = {}, {}
    for k, source in ipairs(sources) do
        here[k], away[k] = not source and kept[k], source and moved_to(HOST, kept[k])
    end
    return here, away
end

--- All that is kept again.
local function bring_back(here, away, sources)
    local kept = {}
    for k, source in ipairs(sources) do kept[k] = source and moved_to(source, away[k]) or here[k] end
    return kept
end

-- ---- The rule -------------------------------------------------------------------------------------------------------

--- Notes for each piece where its lifted arrays stand among the operands, to which those are appended that are not.
local function join_operands(pieces, operands)
    local place_of = {}
    for k, x in ipairs(operands) do place_of[x._id] = k end
    for _, piece in ipairs(pieces) do
        piece.at = {}
        for k, x in ipairs(piece.lifted) do
            if not place_of[x._id] then
                operands[#operands + 1] = x
                place_of[x._id] = #operands
            end
            piece.at[k] = place_of[x._id]
        end
    end
end

--- Runs a piece on all operands, of which the first n are those of the call, and on what is kept.
local function run_piece(piece, n, list, kept)
    local leaves = {}
    for k = 1, n do leaves[k] = list[k] end
    for k = 1, piece.kept do leaves[#leaves + 1] = kept[k] end
    for _, at in ipairs(piece.at) do leaves[#leaves + 1] = list[at] end
    return run(NAME, piece.entry, leaves)
end

--- Runs a piece on all operands as a call, which stays a step of its own: so nothing that is computed again behind it
-- is found equal to what is in it.
local function run_apart(piece, n, list)
    local lifted = {}
    for k, at in ipairs(piece.at) do lifted[k] = list[at] end
    return custom.push_call(NAME, C.NEAP_RULE_NONE, { unpack(list, 1, n) }, { piece.entry }, { lifted })
end

local function is_float(x) return is_array(x) and derive.form(x).inexact end

--- The floats of packed trees, in order.
local function floats_of(values)
    local floats = {}
    for k = 1, values.n do
        trees.walk(NAME, values[k], function(leaf) if is_float(leaf) then floats[#floats + 1] = leaf end end)
    end
    return floats
end

--- Adds to the cotangents of operands and of what is kept those of a piece, whose float results have these.
local function pull_back(piece, n, list, kept, cotangents, sums)
    local floats, homes = {}, {}
    local function take(values, count, sum)
        for k = 1, count do
            if is_float(values[k]) then
                floats[#floats + 1], homes[#homes + 1] = values[k], { values = values, sum = sum, at = k }
            end
        end
    end
    take(list, #list, sums.list)
    take(kept, piece.kept, sums.kept)
    local _, pull = np.vjp(function(given)
        local moved = { [list] = core.copy_list(list), [kept] = core.copy_list(kept) }
        for k, home in ipairs(homes) do moved[home.values][home.at] = given[k] end
        return floats_of(pack(run_piece(piece, n, moved[list], moved[kept])))
    end, floats)
    for k, cotangent in ipairs(pull(cotangents)) do
        local home = homes[k]
        home.sum[home.at] = home.sum[home.at] and home.sum[home.at] + cotangent or cotangent
    end
end

--- The call as one of np.custom_vjp on all operands. sources: of sources_of.
local function with_rule(main, pieces, rest, n, operands, sources)
    local function forward(list) return pack(run_apart(main, n, list)) end
    local f = np.custom_vjp(function(list)
        local results = forward(list)
        return unpack(results, 2, results.n)
    end)
    f:defvjp(function(list)
        local results = forward(list)
        local here, away = offload(results[1], sources)
        results[results.n + 1] = { list = list, here = here, away = away }
        return unpack(results, 2, results.n + 1)
    end, function(residuals, ...)
        local list, sums = residuals.list, { list = {}, kept = {} }
        local kept = bring_back(residuals.here, residuals.away, sources)
        pull_back(rest, n, list, kept, floats_of(pack(...)), sums)
        for k = #pieces, 1, -1 do
            if sums.kept[k] then pull_back(pieces[k], n, list, kept, { sums.kept[k] }, sums) end
        end
        for k = 1, #list do sums.list[k] = sums.list[k] or false end
        return sums.list
    end)
    return f(operands)
end

--- What np.checkpoint(f, options)(…) does where a gradient or a trace is open; `plain` without anything to keep.
function policies.call(policy, f, plain, ...)
    local operands, with_arrays = custom.split(NAME, pack(...))
    local call = { policy = policy, f = f, operands = operands, with_arrays = with_arrays, how = {}, names = {},
                   piece = trace_piece }
    if policy.asks then
        call.piece = require("neap.transforms.cuts").open(call, function(g, ...) return while_naming(g, nil, ...) end)
    end
    local main, specs = trace_main(call)
    check_names(call)
    local at
    if policy.most then
        at = places_within(call, specs)
        main, specs = trace_main(call, at)
    end
    if #specs == 0 then return plain(...) end
    local pieces, all = {}, { main }
    for k = 1, #specs do pieces[k] = trace_value(call, at, specs, k) end
    local rest = call.piece(call, at, specs, function(_, results) return unpack(results, 1, results.n) end)
    for _, piece in ipairs(pieces) do all[#all + 1] = piece end
    all[#all + 1] = rest
    local n, joined = #operands, core.copy_list(operands)
    join_operands(all, joined)
    return with_rule(main, pieces, rest, n, joined, sources_of(call, specs))
end

for _, g in ipairs { while_naming, trace_piece, trace_main, places_within, offload, bring_back, run_piece, run_apart,
                     pull_back, with_rule, floats_of, policies.call, np.checkpoint_name } do
    jit.off(g)
end

return policies
