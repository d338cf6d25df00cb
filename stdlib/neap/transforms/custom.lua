--- custom.lua: np.checkpoint, np.custom_vjp, np.custom_jvp: functions whose derivatives are computed in their own way;
-- and np.optimization_barrier, which is made of the same node.
--
-- Outside of gradients and traces such a function is just called. Inside of one it is traced, as a closed program, and
-- recorded as one node, a *call*, which also has the programs of its rule: so that its derivatives, whoever takes them
-- and however late, are those of the rule. The operands of the call are the arrays among the arguments; all else in the
-- arguments is part of the trace. What a program has lifted follows the operands, program by program. In what is run
-- for a program the ops of the function stand in place of a call with a rule (lazy/program/lower.h); those of
-- np.checkpoint and np.optimization_barrier stay, as borders.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"
local staging = require "neap.tracing.staging"
local derive = require "neap.transforms.derive"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, describe = core.is_array, core.raise, core.describe
local pack, closed, ids_of, check_function = staging.pack, staging.closed, staging.ids_of, staging.check_function
local unpack = unpack

-- ---- Arguments and results ------------------------------------------------------------------------------------------

--- The arrays among packed arguments, in a list, and with_arrays(list): the arguments with others in their places.
local function split(name, given)
    local arrays = {}
    for k = 1, given.n do
        trees.walk(name, given[k], function(leaf) if is_array(leaf) then arrays[#arrays + 1] = leaf end end)
    end
    local function with_arrays(list)
        local used, arguments = 0, { n = given.n }
        for k = 1, given.n do
            arguments[k] = trees.rebuild(name, given[k], function(leaf)
                if not is_array(leaf) then return leaf end
                used = used + 1
                return list[used]
            end)
        end
        return arguments
    end
    jit.off(with_arrays)
    return arrays, with_arrays
end

--- Whether a gradient or a trace is open.
local function is_staged()
    return #core.frame().levels > 0
end

--- Records a call of programs (entries and what they have lifted, in order) on operands; returns the results.
local function push_call(name, rule, operands, programs, lifted)
    local main, n = programs[1], #operands
    local attrs, inputs = ffi.new("int64_t[?]", 3 + #programs), core.copy_list(operands)
    local handles = ffi.new("neap_program *[?]", #programs)
    attrs[0], attrs[1], attrs[2] = rule, n, main.outputs
    for p, entry in ipairs(programs) do
        handles[p - 1], attrs[2 + p] = entry.program, #lifted[p]
        for _, x in ipairs(lifted[p]) do inputs[#inputs + 1] = x end
    end
    local how = ffi.new("neap_control")
    how.op, how.nprograms, how.programs = core.ids.call, #programs, handles
    how.nattrs, how.attrs, how.nresults = 3 + #programs, attrs, main.outputs
    local file, line = core.user_site()
    local site = file and ("%s:%d"):format(file, line)
    how.site = site
    local ids, out = ids_of(inputs, #inputs), ffi.new("int32_t[?]", main.outputs + 1)
    local arrays = core.call_ids(name, out, main.outputs, function()
        return C.neap_control_push(ctx, how, #inputs, ids, out)
    end)
    return staging.fill_results(name, main.template, arrays)
end

-- ---- np.checkpoint --------------------------------------------------------------------------------------------------

--- np.checkpoint(f, {save=…, offload=…, most=…, policy=…}) -> function: a function that returns what f does. When it is
-- differentiated in reverse mode nothing that f computes inside is kept for the backward pass, which computes it again
-- from the arguments: less memory for more work. f is traced where a gradient or a trace is open, so it may not look at
-- values there; and it may not have ordered effects where it is differentiated, since they would happen twice.
--
-- With options values are kept: those that f names with np.checkpoint_name, or products. Then there is no forward
-- mode, but forward mode over reverse mode. f is traced once for each value that is kept. As jax.checkpoint(f,
-- policy=…) with the policies of jax.checkpoint_policies.
--
-- A value that is offloaded is kept in the memory of the host, where f runs on a device with a memory of its own: it is
-- copied there as soon as it is made, and back for the backward pass. On the CPU, on a mesh, and in bodies of loops and
-- branches it is kept where it is.
--
-- A policy that is a function is asked about each op of f, but for those in loops and branches. It gets a table {
--   op: its name, as in a printed program; name: that of np.checkpoint_name, or nil; dtype, shape;
--   inputs: for each operand { dtype, shape }, or a number; line: of the script, or nil }
-- and returns true to keep what the op gives, "offload" to keep it in the memory of the host, or false. f is traced
-- once then, without declared sizes.
--- save: a name, or a table of names, of values that are kept; without it all that have names, but none with a policy
-- or the option offload
--- offload: a name, or a table of names, of values that are kept in the memory of the host; f must give these names
--- most: bytes that kept values may take together, in a call: those are kept that save the most operations. Values that
-- are offloaded do not count
--- policy: "dots_saveable": products (np.matmul, np.einsum and their kin) are kept; "dots_with_no_batch_dims_saveable":
-- products that are of two matrices alone; "offload_dot_with_no_batch_dims": these are offloaded;
-- "everything_saveable": all that reverse mode reads, as without np.checkpoint; "nothing_saveable": nothing, as without
-- options; or a function of an op
--- > np.grad(np.checkpoint(function(x) return (x * x):sum() end))(np.array{1, 2})
-- [2. 4.]
--- > f = function(x) return (np.checkpoint_name(x * x, "square") * x):sum() end
--- > np.grad(np.checkpoint(f, {save="square"}))(np.array{1, 2})
-- [ 3. 12.]
--- > np.grad(np.checkpoint(f, {offload="square"}))(np.array{1, 2})
-- [ 3. 12.]
--- > g = np.checkpoint(function(x) return np.sin(x:matmul(x)):sum() end, {policy="dots_saveable"})
--- > np.grad(g)(np.eye(2))
-- [[1.0806046 2.       ]
--  [2.        1.0806046]]
--- > h = np.checkpoint(function(x) return np.sin(np.exp(x)) end, {policy=function(op) return op.op == "exp" end})
--- > np.grad(h)(np.array(0.0))
-- 0.5403023
function np.checkpoint(f, given)
    local user_function = check_function("checkpoint", f)
    local policies = given ~= nil and require "neap.transforms.policies"
    local policy = policies and policies.of(given)
    if policy == "everything" then return user_function end
    local function plain(...)
        local operands, with_arrays = split("checkpoint", pack(...))
        local entry, lifted = staging.closed_body("checkpoint", function(list)
            local arguments = with_arrays(list)
            return user_function(unpack(arguments, 1, arguments.n))
        end, pack(operands), nil, true)
        return push_call("checkpoint", C.NEAP_RULE_NONE, operands, { entry }, { lifted })
    end
    local function checkpointed(...)
        if not is_staged() then return user_function(...) end
        if policy then return policies.call(policy, user_function, plain, ...) end
        return plain(...)
    end
    jit.off(plain)
    jit.off(checkpointed)
    return checkpointed
end

-- ---- np.optimization_barrier ----------------------------------------------------------------------------------------

--- np.optimization_barrier(tree) -> tree: the same values, as jax.lax.optimization_barrier: none of its arrays is there
-- before all arrays of the tree are, no kernel reaches across, and what stands on one side is neither found equal to
-- anything on the other, nor computed there again. So two computations run one after the other, or values are stored.
-- Costs a copy. Derivatives and batches pass.
--- > np.optimization_barrier(np.arange(3))
-- [0 1 2]
function np.optimization_barrier(tree)
    local operands, with_arrays = split("optimization_barrier", { n = 1, tree })
    if #operands == 0 then return tree end
    local entry, lifted = closed("optimization_barrier", function(list) return list end, { n = 1, operands })
    local passed = push_call("optimization_barrier", C.NEAP_RULE_NONE, operands, { entry }, { lifted })
    return with_arrays(passed)[1]
end

-- ---- Functions with rules -------------------------------------------------------------------------------------------

-- Such a function is a table that can be called:
--     user_function    what it was made of
--     argnums          positions of the arguments that are differentiated; nil: all
--     rule             the functions of its rule, a list; nil: there is none yet
--     record(…)        calls it where a gradient or a trace is open
--     depth, limit     rules of its own that are being traced, inside each other, and how many of them are
--
-- A rule may call the function itself. That call is again one with the rule, so that higher derivatives follow it too;
-- since a program cannot contain itself, this ends one deeper than gradients and traces are open, where the function is
-- called as it is.

local function call_custom(self, ...)
    if not is_staged() then return self.user_function(...) end
    if not self.rule then raise(self.name, "the function has no rule yet: call :%s first", self.setter) end
    local outermost = self.depth == 0
    if outermost then self.limit = #core.frame().levels + 1 end
    if self.depth >= self.limit then return self.user_function(...) end
    self.depth = self.depth + 1
    local results = pack(pcall(self.record, self, ...))
    self.depth = self.depth - 1
    if not results[1] then error(results[2], 0) end
    return unpack(results, 2, results.n)
end

--- The class of such functions: methods, and how the library takes them for functions (staging.check_function).
local function new_class(methods)
    methods.__index = methods
    methods.__call = call_custom
    methods.__tostring = function(self) return ("np.%s(f), whose rule :%s sets"):format(self.name, self.setter) end
    methods.as_function = function(self)
        local user_function = self.user_function
        return function(...)
            if not is_staged() then return user_function(...) end
            return call_custom(self, ...)
        end
    end
    jit.off(methods.as_function)
    return methods
end

--- A new one.
local function new_custom(class, name, setter, record, f, given)
    local o = core.options(name, given, { nondiff_argnums = true })
    return setmetatable({ name = name, setter = setter, record = record, user_function = check_function(name, f),
                          nondiff = staging.positions_of(name, "nondiff_argnums", o.nondiff_argnums),
                          depth = 0, limit = 0 }, class)
end

--- The arguments of a call, taken apart: those that are not differentiated, in the order of nondiff_argnums (others,
-- packed); the others (given, packed); whole(arguments): all of them in order.
local function split_arguments(self, ...)
    local all, is_fixed, others, given = pack(...), {}, { n = #self.nondiff }, { n = 0 }
    for k, position in ipairs(self.nondiff) do
        if position > all.n then raise(self.name, "argument %d is missing, but nondiff_argnums names it", position) end
        is_fixed[position], others[k] = true, all[position]
    end
    for k = 1, all.n do
        if not is_fixed[k] then
            given.n = given.n + 1
            given[given.n] = all[k]
        end
    end
    local function whole(arguments)
        local list, used = { n = all.n }, 0
        for k = 1, all.n do
            if is_fixed[k] then
                list[k] = all[k]
            else
                used = used + 1
                list[k] = arguments[used]
            end
        end
        return list
    end
    return others, given, whole
end

--- What the parts of a rule must agree with: packed trees in which Forms stand for arrays and false for all else; with
-- arrays = the Forms in order, floats = the placeholders of tangents or cotangents for those that are floats.
local function forms_of(name, values)
    local forms = { n = values.n, arrays = {}, floats = {} }
    for k = 1, values.n do
        forms[k] = trees.rebuild(name, values[k], function(leaf)
            if not is_array(leaf) then return false end
            local form = derive.form(leaf)
            forms.arrays[#forms.arrays + 1] = form
            if form.inexact then forms.floats[#forms.floats + 1] = form.spec end
            return form
        end)
    end
    return forms
end

--- The dtype that residuals and tangents of numbers take, as if they met the arguments.
local function float_of(forms)
    for _, form in ipairs(forms.arrays) do
        if form.inexact and not form.weak then return form.dtype end
    end
    return "f32"
end

--- Trees like those of forms with the arrays of a list in the places of floats, and false in all others.
local function with_floats(name, forms, list)
    local used, values = 0, { n = forms.n }
    for k = 1, forms.n do
        values[k] = trees.rebuild(name, forms[k], function(form)
            if not form or not form.inexact then return false end
            used = used + 1
            return form.weak and np.astype(list[used], float_of(forms)) or list[used]
        end)
    end
    return values
end

--- Appends what stands in a tree for the floats of a form to a list; nothing, nil or false, stands for zeros. What
-- belongs to a number is left out of account, as that of a number that is known.
local function take_floats(name, value, form, list, path)
    if form == false then return end
    if derive.is_form(form) then
        if not form.inexact then return end
        if not value or form.weak then value = np.zeros(form.spec.shape, { dtype = form.dtype }) end
        list[#list + 1] = derive.fitting(name, value, form, path)
        return
    end
    if value and not trees.is_node(value) then raise(name, "%s: expected a table, got %s", path, describe(value)) end
    for _, key in ipairs(trees.keys_of(form, name)) do
        take_floats(name, value and value[key], form[key], list, derive.step(path, key))
    end
    for key in pairs(value or {}) do
        if form[key] == nil then raise(name, "%s: there is nothing that it belongs to", derive.step(path, key)) end
    end
end

--- Checks that the first results of a rule have the form of the function's, and returns their arrays in a list.
local function checked_results(name, what, results, forms)
    local list, place = {}, 0
    for k = 1, forms.n do
        trees.walk(name, results[k], function(leaf)
            if not is_array(leaf) then return end
            place = place + 1
            local want = forms.arrays[place]
            if not want then raise(name, "%s returned more arrays than the function", what) end
            list[place] = derive.fitting(name, leaf, want, ("result %d of %s"):format(k, what))
        end)
    end
    if place < #forms.arrays then
        raise(name, "%s returned %d arrays, the function %d", what, place, #forms.arrays)
    end
    return list
end

--- Traces the function itself. Returns the entry, what it has lifted, and the forms of its results.
local function trace_function(self, operands, arguments_with)
    local forms
    local entry, lifted = closed(self.name, function(list)
        local arguments = arguments_with(list)
        return self.user_function(unpack(arguments, 1, arguments.n))
    end, pack(operands), function(results)
        forms = forms_of(self.name, results)
        return results
    end)
    return entry, lifted, forms
end

-- ---- np.custom_vjp --------------------------------------------------------------------------------------------------

local function record_vjp(self, ...)
    local name, forward, backward = self.name, self.rule[1], self.rule[2]
    local others, given, whole = split_arguments(self, ...)
    local operands, with_arrays = split(name, given)
    local wanted = forms_of(name, given)
    local function arguments_with(list) return whole(with_arrays(list)) end
    local main, main_lifted, forms = trace_function(self, operands, arguments_with)
    local saved, with_saved, saved_specs = nil, nil, {}

    local first, first_lifted = closed(name, function(list)
        local arguments = arguments_with(list)
        return forward(unpack(arguments, 1, arguments.n))
    end, pack(operands), function(results)
        if results.n > forms.n + 1 then
            raise(name, "fwd returned %d values; expected those of the function, %d, and the residuals", results.n,
                  forms.n)
        end
        saved, with_saved = split(name, { n = 1, results[forms.n + 1] })
        for k, x in ipairs(saved) do
            if core.info(x).weak ~= 0 then saved[k] = np.astype(x, float_of(wanted)) end
            saved_specs[k] = staging.laid_spec(saved[k])
        end
        return pack(checked_results(name, "fwd", results, forms), saved)
    end)

    local second, second_lifted = closed(name, function(residuals, cotangents)
        local arguments = { n = others.n, unpack(others, 1, others.n) }
        derive.append(arguments, with_saved(residuals), 1)
        derive.append(arguments, with_floats(name, forms, cotangents), 1)
        return backward(unpack(arguments, 1, arguments.n))
    end, pack(saved_specs, forms.floats), function(results)
        if results.n > wanted.n then
            raise(name, "bwd returned %d cotangents for %d arguments", results.n, wanted.n)
        end
        local list = {}
        for k = 1, wanted.n do
            take_floats(name, results[k], wanted[k], list, ("cotangent %d of bwd"):format(k))
        end
        return pack(list)
    end)
    return push_call(name, C.NEAP_RULE_VJP, operands, { main, first, second },
                     { main_lifted, first_lifted, second_lifted })
end

local Vjp = new_class {}

--- f:defvjp(fwd, bwd): sets the rule. fwd takes f's arguments and returns f's results, then one further value, the
-- residuals, a tree. bwd takes the residuals and a cotangent for each result (false for what is no float), and returns
-- a cotangent for each argument: a tree of its form, in which nil and false stand for zeros. Returns f.
function Vjp:defvjp(fwd, bwd)
    self.rule = { check_function("defvjp", fwd), check_function("defvjp", bwd) }
    return self
end

--- np.custom_vjp(f, {nondiff_argnums={}}) -> function: f with a rule for reverse mode of its own, which :defvjp(fwd,
-- bwd) sets. Arguments at the positions nondiff_argnums may be anything; they come first among the arguments of bwd. f
-- and its rule are traced where a gradient or a trace is open, so they may not look at values there; and what they
-- read from around them is a constant: differentiating it is an error.
--- nondiff_argnums: positions, from 1, of arguments that are not differentiated
--- > f = np.custom_vjp(function(x) return np.round(x) end)
--- > f = f:defvjp(function(x) return np.round(x), {} end, function(_, ct) return ct end)
--- > np.grad(f)(np.array(1.7))
-- 1.0
function np.custom_vjp(f, given)
    return new_custom(Vjp, "custom_vjp", "defvjp(fwd, bwd)", record_vjp, f, given)
end

-- ---- np.custom_jvp --------------------------------------------------------------------------------------------------

local function record_jvp(self, ...)
    local name, rule = self.name, self.rule[1]
    local others, given, whole = split_arguments(self, ...)
    local operands, with_arrays = split(name, given)
    local wanted = forms_of(name, given)
    local main, main_lifted, forms = trace_function(self, operands, function(list) return whole(with_arrays(list)) end)

    local moved, moved_lifted = closed(name, function(list, tangents)
        local arguments = { n = others.n, unpack(others, 1, others.n) }
        arguments[others.n + 1], arguments[others.n + 2] = with_arrays(list), with_floats(name, wanted, tangents)
        return rule(unpack(arguments, 1, others.n + 2))
    end, pack(operands, wanted.floats), function(results)
        if results.n ~= 2 * forms.n then
            raise(name, "the rule returned %d values; expected the %d of the function, and a tangent for each",
                  results.n, forms.n)
        end
        local list = {}
        for k = 1, forms.n do
            take_floats(name, results[forms.n + k], forms[k], list, ("tangent %d of the rule"):format(k))
        end
        return pack(checked_results(name, "the rule", results, forms), list)
    end)
    return push_call(name, C.NEAP_RULE_JVP, operands, { main, moved }, { main_lifted, moved_lifted })
end

local Jvp = new_class {}

--- f:defjvp(rule): sets the rule, which takes a table of f's arguments and one of their tangents (false for what is no
-- float), and returns f's results, then a tangent for each: trees of their form, in which nil and false stand for
-- zeros. Tangents of results must be linear in those of arguments; reverse mode transposes that. Returns f.
function Jvp:defjvp(rule)
    self.rule = { check_function("defjvp", rule) }
    return self
end

--- np.custom_jvp(f, {nondiff_argnums={}}) -> function: f with a rule for both modes of its own, which :defjvp(rule)
-- sets. All else as in np.custom_vjp; arguments at the positions nondiff_argnums come first among those of the rule.
--- nondiff_argnums: positions, from 1, of arguments that are not differentiated
--- > f = np.custom_jvp(function(x) return np.round(x) end)
--- > f = f:defjvp(function(x, t) return np.round(x[1]), t[1] end)
--- > np.grad(f)(np.array(1.7))
-- 1.0
function np.custom_jvp(f, given)
    return new_custom(Jvp, "custom_jvp", "defjvp(rule)", record_jvp, f, given)
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { split, np.optimization_barrier, push_call, call_custom, new_custom, split_arguments, forms_of,
                     with_floats, take_floats, checked_results, trace_function, record_vjp, record_jvp } do
    jit.off(f)
end

return { split = split, forms_of = forms_of, push_call = push_call }
