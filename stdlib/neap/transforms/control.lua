--- control.lua: np.cond, np.switch, np.while_loop, np.fori_loop, np.scan.
--
-- Each traces its functions as closed programs and records one node that runs them: a loop costs one trace of its
-- body, whatever its length, and runs as one step, inside and outside of jit. What a function reads from around it is
-- an input of the node, so derivatives and batches reach it. Positions in messages count from 1.
local ffi = require "ffi"
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local trees = require "neap.core.trees"
local staging = require "neap.tracing.staging"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe
local array_info, dtypes = core.info, core.dtypes
local pack, closed_body = staging.pack, staging.closed_body
local check_function, fill_results = staging.check_function, staging.fill_results
local type = type

local sharding_box = ffi.new("int32_t[1]")

-- ---- Leaves ---------------------------------------------------------------------------------------------------------

--- "f32[2,3]", as the printed form of programs has it: for messages.
local function type_text(x)
    local known, dims = array_info(x), {}
    for k = 1, known.ndim do dims[k] = ("%d"):format(tonumber(known.shape[k - 1])) end
    return ("%s[%s]"):format(dtypes[known.dtype].name, table.concat(dims, ","))
end

local function is_weak(x)
    return array_info(x).weak ~= 0
end

--- Whether an array has a dtype (its code) and a shape.
local function has_type(x, dtype, dims)
    return array_info(x).dtype == dtype and shape.same(core.shape_of(x), dims)
end

local function no_arrays(leaf)
    return type(leaf) == "string" or type(leaf) == "boolean" or leaf == nil
end

local function at_path(path)
    return path == "" and "" or " at " .. path
end

--- The form of a value as text, with a star for each array and number: for comparing trees, and for errors.
local function form_text(name, tree)
    local parts = {}
    local function visit(value)
        if not trees.is_node(value) then
            parts[#parts + 1] = type(value) == "string" and ("%q"):format(value)
                or no_arrays(value) and tostring(value) or "*"
            return
        end
        local class = trees.class_of(value)
        parts[#parts + 1] = class and class.__tree .. "{" or "{"
        for k, key in ipairs(trees.keys_of(value, name)) do
            parts[#parts + 1] = (k > 1 and ", " or "") .. (type(key) == "string" and key .. "=" or "")
            visit(value[key])
        end
        parts[#parts + 1] = "}"
    end
    visit(tree)
    return table.concat(parts)
end

--- An array for a leaf of any kind.
local function array_of(leaf)
    return core.is_number(leaf) and core.number(leaf) or leaf
end

--- A leaf as an array of a dtype (its code), which must hold it if it is a number.
local function cast_leaf(leaf, code)
    if core.is_number(leaf) then return core.number(leaf, code) end
    return leaf:astype(dtypes[code].name)
end

-- ---- Nodes ----------------------------------------------------------------------------------------------------------

--- Records a node of a row; entries are those of its programs, attributes and inputs as the row says. Returns n of its
-- results.
local function push_node(name, op, entries, attributes, inputs, n)
    local programs = ffi.new("neap_program *[?]", #entries)
    for k, entry in ipairs(entries) do programs[k - 1] = entry.program end
    local attrs = ffi.new("int64_t[?]", #attributes + 1)
    for k, value in ipairs(attributes) do attrs[k - 1] = core.put(k - 1, value) end
    local file, line = core.user_site()
    local site = file and ("%s:%d"):format(file, line) or ""
    local how = ffi.new("neap_control", { op = core.ids[op], nprograms = #entries, nattrs = #attributes, nresults = n,
                                          programs = programs, attrs = attrs, site = site })
    local count = #inputs
    local ids, out = staging.ids_of(inputs, count), ffi.new("int32_t[?]", n + 1)
    local held = { programs, attrs, site, entries, inputs } -- what `how` and `ids` point to
    return core.call_ids(name, out, n, function() return C.neap_control_push(ctx, how, count, ids, out), held end)
end

--- Appends the arrays of `list` to `inputs`.
local function append_all(inputs, list)
    for k = 1, #list do inputs[#inputs + 1] = list[k] end
end

-- ---- Branches -------------------------------------------------------------------------------------------------------

--- What a function returned, by leaf: { weak, dtype, shape, text, path }.
local function result_leaves(name, results)
    local list = {}
    for r = 1, results.n do
        trees.walk(name, results[r], function(leaf, path)
            if no_arrays(leaf) then return end
            if not is_array(leaf) and not core.is_number(leaf) then
                raise(name, "a function must return arrays, numbers or tables of them; result %d has %s", r,
                      describe(leaf))
            end
            local array = array_of(leaf)
            local weak = is_weak(array)
            list[#list + 1] = { weak = weak, dtype = array_info(array).dtype,
                                shape = core.shape_of(array), text = weak and "a number" or type_text(array),
                                path = (results.n > 1 and " " .. r or "") .. at_path(path) }
        end, "")
    end
    return list
end

--- The results as arrays: numbers get the dtypes (codes) of `wanted`, by leaf, or f32.
local function strong_results(name, results, wanted)
    local count = 0
    for r = 1, results.n do
        results[r] = trees.rebuild(name, results[r], function(leaf)
            if no_arrays(leaf) then return leaf end
            count = count + 1
            local array = array_of(leaf)
            if not is_weak(array) then return array end
            return cast_leaf(leaf, wanted[count] or core.dtype_codes.f32)
        end)
    end
    return results
end

--- What a message calls branch k: np.cond hands over { g, f }.
local function branch_name(name, k)
    if name == "cond" then return k == 1 and "g" or "f" end
    return "branch " .. k
end

--- Refuses branches whose results differ in form.
local function compare_forms(name, first, other, k)
    if first.n ~= other.n then
        raise(name, "the branches must return equally many values, got %d from %s and %d from %s", first.n,
              branch_name(name, 1), other.n, branch_name(name, k))
    end
    for r = 1, first.n do
        local left, right = form_text(name, first[r]), form_text(name, other[r])
        if left ~= right then
            raise(name, "the branches must return trees of the same form; result %d is %s from %s and %s from %s",
                  r, left, branch_name(name, 1), right, branch_name(name, k))
        end
    end
end

--- For each leaf of the branches' results, the one that says its type: the first that is no number.
local function leading_leaves(seen)
    local leads = {}
    for k = 1, #seen do
        for r, leaf in ipairs(seen[k]) do
            if not leads[r] or leads[r].weak and not leaf.weak then
                leads[r] = leaf
                leaf.branch = k
            end
        end
    end
    return leads
end

local function compare_types(name, seen, leads)
    for k = 1, #seen do
        for r, leaf in ipairs(seen[k]) do
            local lead = leads[r]
            local same = leaf.weak == lead.weak and (leaf.weak or leaf.dtype == lead.dtype
                                                     and shape.same(leaf.shape, lead.shape))
            if not same and not (leaf.weak and #lead.shape == 0) then
                raise(name, "the branches must return arrays of equal shapes and dtypes; result%s is %s from %s and %s "
                      .. "from %s", leaf.path, lead.text, branch_name(name, lead.branch), leaf.text,
                      branch_name(name, k))
            end
        end
    end
end

--- Traces all branches so that their results agree. Numbers among them take the dtype that another branch gives: for
-- that a branch is traced again, if need be. Returns entries and what each reads from around it.
local function trace_branches(name, branches, given)
    local entries, own, seen, forms = {}, {}, {}, {}
    local wanted = {}
    local function trace(k)
        entries[k], own[k] = closed_body(name, branches[k], given, function(results)
            seen[k], forms[k] = result_leaves(name, results), results
            if k > 1 then compare_forms(name, forms[1], results, k) end
            return strong_results(name, results, wanted)
        end, true) -- constants of a branch are computed where it runs
    end
    for k = 1, #branches do trace(k) end
    local leads = leading_leaves(seen)
    compare_types(name, seen, leads)
    for r, lead in ipairs(leads) do wanted[r] = not lead.weak and lead.dtype or nil end
    for k = 1, #branches do
        local again = false
        for r, leaf in ipairs(seen[k]) do
            again = again or leaf.weak and (wanted[r] or core.dtype_codes.f32) ~= core.dtype_codes.f32
        end
        if again then trace(k) end
    end
    return entries, own
end

--- Runs one of the branches on the operands; index is an i32 array, from 0.
local function record_branches(name, index, branches, given)
    local entries, own = trace_branches(name, branches, given)
    local inputs, operands = { index }, 0
    for k = 1, given.n do
        trees.walk(name, given[k], function(leaf)
            if no_arrays(leaf) then return end
            inputs[#inputs + 1] = array_of(leaf)
            operands = operands + 1
        end)
    end
    local attributes = { operands }
    for k = 1, #branches do
        attributes[k + 1] = #own[k]
        append_all(inputs, own[k])
    end
    local results = push_node(name, "cond", entries, attributes, inputs, entries[1].outputs)
    return fill_results(name, entries[1].template, results)
end

--- A 0-d array of the index or predicate of a branch, as i32.
local function branch_index(name, what, value)
    if type(value) == "boolean" then value = value and 1 or 0 end
    if type(value) == "number" and what == "pred" then value = value ~= 0 and 1 or 0 end
    if type(value) == "number" then return core.number(value, core.dtype_codes.i32) end
    if not is_array(value) then bad_argument(name, 1, what, "a scalar array, a number or a boolean", value) end
    local known = array_info(value)
    if known.ndim ~= 0 then
        raise(name, "argument 1 (%s) must be a scalar, got shape %s", what, core.shape_text(value))
    end
    if what == "pred" and dtypes[known.dtype].name ~= "bool" then value = value:ne(0) end
    if dtypes[array_info(value).dtype].inexact then
        raise(name, "argument 1 (%s) must be an integer or a bool, got dtype %s", what, dtypes[known.dtype].name)
    end
    return value:astype("i32")
end

--- np.cond(pred, f, g, …) -> results: f(…) if pred is true, else g(…). pred is a scalar array (a number, a boolean):
-- both functions are traced, one of them runs. They must return trees of the same form, with arrays of equal shapes
-- and dtypes.
--- > x = np.array(-3)
--- > np.cond(x:lt(0), function(v) return -v end, function(v) return v end, x)
-- 3.0
function np.cond(pred, f, g, ...)
    check_function("cond", f, 2, "f")
    check_function("cond", g, 3, "g")
    return record_branches("cond", branch_index("cond", "pred", pred), { g, f }, pack(...))
end

--- np.switch(index, {f, g, …}, …) -> results: calls the function that index, an integer from 1, counts; an index out of
-- range is clamped. Otherwise as np.cond.
--- > np.switch(np.array(2, {dtype="i32"}), {np.sin, np.abs}, np.array(-3))
-- 3.0
function np.switch(index, branches, ...)
    if type(branches) ~= "table" or #branches == 0 then
        bad_argument("switch", 2, "branches", "a table of functions", branches)
    end
    core.list("switch", "the table of branches", branches)
    for k = 1, #branches do
        check_function("switch", branches[k], 2, ("branches[%d]"):format(k))
    end
    index = core.plain(index)
    if type(index) == "number" then
        if index % 1 ~= 0 then bad_argument("switch", 1, "index", "an integer", index) end
        index = branch_index("switch", "index", math.min(math.max(index, 1), #branches) - 1)
    else
        index = branch_index("switch", "index", index) - 1
    end
    return record_branches("switch", index, branches, pack(...))
end

-- ---- Loops ----------------------------------------------------------------------------------------------------------

--- Refuses a carry of another form.
local function check_form(name, form, value)
    local given = form_text(name, value)
    if given ~= form then
        raise(name, "the body must return a carry of the form of the initial one, %s, got %s", form, given)
    end
end

--- The carry of a loop: its form, and the leaves of the initial value, each { leaf, array, path, lies = the sharding
-- with which it is traced }. `place`: where the user's carry stands in `init`, if there is more in it; paths begin
-- behind that.
local function carry_of(name, init, place)
    local leaves, front, own = {}, place and ("[%d]"):format(place) or "", staging.own_sharding(name) or 0
    trees.walk(name, init, function(leaf, path)
        if no_arrays(leaf) then return end
        if not is_array(leaf) and not core.is_number(leaf) then
            raise(name, "the initial carry%s must be an array or a number, got %s", at_path(path), describe(leaf))
        end
        if place and path:sub(1, #front) == front then path = path:sub(#front + 1):gsub("^%.", "") end
        local array = array_of(leaf)
        local known = array_info(array)
        local plain = known.sharding == 0 and known.weak == 0 and dtypes[known.dtype].inexact
        leaves[#leaves + 1] = { leaf = leaf, array = array, path = path, lies = plain and own or known.sharding }
    end, "")
    return { init = init, leaves = leaves, form = form_text(name, init) }
end

--- Notes that a leaf of the carry may also lie as a sharding says. Returns whether it has to be traced so.
local function widen(name, leaf, sharding)
    core.call(name, function() return C.neap_sharding_carry(leaf.lies, sharding, sharding_box) end)
    local wider = sharding_box[0] ~= leaf.lies
    leaf.lies = sharding_box[0]
    return wider
end

--- The tree of the carry with what its leaves are traced as: numbers have the dtypes that `carry.dtypes` says by leaf,
-- and none in a first trace.
local function carry_specs(name, carry)
    local count = 0
    return trees.rebuild(name, carry.init, function(leaf)
        if no_arrays(leaf) then return leaf end
        count = count + 1
        local start, dtype = carry.leaves[count], carry.dtypes and carry.dtypes[count]
        local array, lies = start.array, start.lies ~= 0 and start.lies or nil
        local known = array_info(array) -- a weak array is carried as any other
        local number, plain = known.weak ~= 0, known.weak == 0 and known.yields == 0
        if number and not dtype or plain and known.sharding == start.lies then return array end
        local spec = staging.spec_of(array)
        spec.dtype, spec.sharding = dtype or spec.dtype, lies
        return spec
    end)
end

--- Compares the carry that a body returned with the one that it got. Returns it with numbers as arrays. In a trace
-- where numbers have no dtypes yet, carry.dtypes is set to what they become. Returns also whether it has to be traced
-- again: with these dtypes, or because some of it varies over more axes of a mesh than it did.
local function next_carry(name, carry, value)
    check_form(name, carry.form, value)
    local count, found, weak, wider = 0, {}, false, false
    local result = trees.rebuild(name, value, function(leaf)
        if no_arrays(leaf) then return leaf end
        count = count + 1
        local start = carry.leaves[count]
        if not is_array(leaf) and not core.is_number(leaf) then
            raise(name, "the body must return arrays, numbers or tables of them, got %s for the carry%s",
                  describe(leaf), at_path(start.path))
        end
        local array = array_of(leaf)
        wider = widen(name, start, array_info(array).sharding) or wider
        local f32, dtype = core.dtype_codes.f32, is_weak(start.array) and carry.dtypes and carry.dtypes[count]
        if is_weak(start.array) and not dtype then
            found[count] = is_weak(array) and f32 or array_info(array).dtype
            weak = true
            return array
        end
        local want, dims = dtype or array_info(start.array).dtype, dtype and {} or core.shape_of(start.array)
        if is_weak(array) and #dims == 0 then return cast_leaf(leaf, want) end
        if not has_type(array, want, dims) then
            raise(name, "the carry must keep its shapes and dtypes: the carry%s is %s at the beginning of a turn, but "
                  .. "the body returns %s for it", at_path(start.path),
                  dtype and dtypes[dtype].name .. "[]" or type_text(start.array), type_text(array))
        end
        return array
    end)
    if weak then carry.dtypes = found end
    return result, weak or wider
end

--- The initial carry as inputs of a node.
local function carry_inputs(carry)
    local inputs = {}
    for k, leaf in ipairs(carry.leaves) do
        local dtype = carry.dtypes and carry.dtypes[k]
        inputs[k] = dtype and is_weak(leaf.array) and cast_leaf(leaf.leaf, dtype) or leaf.array
    end
    return inputs
end

--- Traces a body on the carry and further arguments (`before` it and `after` it): again, once it is known which dtypes
-- the carry's numbers take. `finish` gets the results and returns the carry among them, and what follows it.
local function trace_body(name, body, carry, before, after, finish)
    local again
    local function once()
        local given = { n = #before + 1 + after.n }
        for k = 1, #before do given[k] = before[k] end
        given[#before + 1] = carry_specs(name, carry)
        for k = 1, after.n do given[#before + 1 + k] = after[k] end
        return closed_body(name, body, given, function(results)
            local value, rest = finish(results)
            value, again = next_carry(name, carry, value)
            return { n = 2, value, rest }
        end)
    end
    local tell, entry, own = core.try(once)
    while again do tell, entry, own = core.try(once) end
    tell()
    return entry, own
end

--- The only value that a function returned.
local function one_value(name, what)
    return function(results)
        if results.n > 1 then
            raise(name, "%s must return one value, the carry (a table holds several), got %d", what, results.n)
        end
        return results[1]
    end
end

--- Puts arrays back into the tree of the carry.
local function rebuild_carry(name, carry, arrays)
    local at = 0
    return trees.rebuild(name, carry.init, function(leaf)
        if no_arrays(leaf) then return leaf end
        at = at + 1
        return arrays[at]
    end)
end

local function check_condition(name, results)
    local value = results[1]
    if type(value) == "boolean" then value = core.number(value and 1 or 0, core.dtype_codes.bool) end
    if results.n ~= 1 or not is_array(value) or not has_type(value, core.dtype_codes.bool, {}) then
        raise(name, "the condition must return one bool, got %s",
              is_array(value) and type_text(value) or describe(value))
    end
    return { n = 1, value }
end

--- Records a while loop over the carry.
local function while_loop(name, condition, body, carry)
    local step, step_own = trace_body(name, body, carry, {}, { n = 0 }, one_value(name, "the body"))
    local wider = false
    local test, test_own = closed_body(name, condition, { n = 1, carry_specs(name, carry) }, function(results)
        results = check_condition(name, results)
        local sharding = array_info(results[1]).sharding
        for _, leaf in ipairs(carry.leaves) do wider = widen(name, leaf, sharding) or wider end
        return results
    end)
    if wider then return while_loop(name, condition, body, carry) end -- devices may take different numbers of turns
    local inputs = carry_inputs(carry)
    append_all(inputs, test_own)
    append_all(inputs, step_own)
    local n = #carry.leaves
    return push_node(name, "while_loop", { test, step }, { n, #test_own }, inputs, n)
end

--- np.while_loop(cond, body, init) -> carry: the carry init, changed by body(carry) as long as cond(carry) is true. A
-- carry is a tree of arrays, which keeps its form, shapes and dtypes; a number in it takes the dtype that the body
-- gives it. Not for reverse mode: np.fori_loop and np.scan are.
--- > np.while_loop(function(x) return x:lt(100) end, function(x) return x * 2 end, np.array(1))
-- 128.0
function np.while_loop(cond, body, init)
    check_function("while_loop", cond, 1, "cond")
    check_function("while_loop", body, 2, "body")
    if init == nil then bad_argument("while_loop", 3, "init", "an array, a number or a tree of them", init) end
    local carry = carry_of("while_loop", init)
    return rebuild_carry("while_loop", carry, while_loop("while_loop", cond, body, carry))
end

--- Records a scan. Returns its results, and the entry of the body. counted: of a loop without xs, whose last carry is a
-- counter that nobody asks for.
local function scan(name, body, carry, xs, length, how, finish, counted)
    local count = 0
    local slices = trees.rebuild(name, xs, function(leaf)
        if no_arrays(leaf) then return leaf end
        return staging.part_spec(name, leaf, 0)
    end)
    local entry, own = trace_body(name, body, carry, {}, { n = counted and 0 or 1, slices }, finish)
    local inputs = carry_inputs(carry)
    trees.walk(name, xs, function(leaf)
        if no_arrays(leaf) then return end
        inputs[#inputs + 1] = leaf
        count = count + 1
    end)
    append_all(inputs, own)
    local attributes = { length, how.reverse and 1 or 0, how.unroll, #carry.leaves, count }
    return push_node(name, "scan", { entry }, attributes, inputs, entry.outputs - (counted and 1 or 0)), entry
end

local function bound_of(name, position, what, value)
    value = core.plain(value)
    if core.is_number(value) then
        if value % 1 ~= 0 or value < -2147483648 or value > 2147483647 then
            bad_argument(name, position, what, "an integer of 32 bits", value)
        end
        return value
    end
    if not is_array(value) then bad_argument(name, position, what, "an integer or a scalar array", value) end
    if array_info(value).ndim ~= 0 or dtypes[array_info(value).dtype].inexact and not is_weak(value) then
        raise(name, "argument %d (%s) must be an integer scalar, got %s", position, what, type_text(value))
    end
    return value
end

--- A loop whose number of turns is known when it is recorded.
local function counted_loop(lower, upper, body, init)
    local i32 = core.dtype_codes.i32
    local carry, form = carry_of("fori_loop", { init, core.number(lower, i32) }, 1), form_text("fori_loop", init)
    local function step(state)
        local value = one_value("fori_loop", "the body")(pack(body(state[2], state[1])))
        check_form("fori_loop", form, value)
        return { value, state[2] + 1 }
    end
    local results = scan("fori_loop", step, carry, nil, math.max(upper - lower, 0), { unroll = 1 }, function(results)
        return results[1]
    end, true)
    return rebuild_carry("fori_loop", carry, results)[1]
end

--- np.fori_loop(lower, upper, body, init) -> carry: the carry init, changed by body(i, carry) for i = lower … upper -
-- 1; i is an array of one integer, an i32 if the bounds are numbers. Then the loop is a scan and has all derivatives;
-- with bounds that are arrays it is a np.while_loop.
--- > np.fori_loop(0, 5, function(i, x) return x + i end, np.array(0, {dtype="i32"}))
-- 10
function np.fori_loop(lower, upper, body, init)
    lower = bound_of("fori_loop", 1, "lower", lower)
    upper = bound_of("fori_loop", 2, "upper", upper)
    check_function("fori_loop", body, 3, "body")
    if core.is_number(lower) and core.is_number(upper) then return counted_loop(lower, upper, body, init) end
    local function as_array(bound, other)
        if is_array(bound) and not is_weak(bound) then return bound end
        local like = is_array(other) and not is_weak(other) and dtypes[array_info(other).dtype].name or "i32"
        if is_array(bound) and array_info(bound).weak == 2 then
            raise("fori_loop", "a bound is a number argument, or computed of one, and may be no integer")
        end
        return array_of(bound) + core.number(0, core.dtype_codes[like]) -- a number argument must be integral
    end
    local first, last = as_array(lower, upper), as_array(upper, lower)
    local carry, form = carry_of("fori_loop", { init, first, last }, 1), form_text("fori_loop", init)
    local function going(state) return state[2]:lt(state[3]) end
    local function step(state)
        local value = one_value("fori_loop", "the body")(pack(body(state[2], state[1])))
        check_form("fori_loop", form, value)
        return { value, state[2] + 1, state[3] }
    end
    return rebuild_carry("fori_loop", carry, while_loop("fori_loop", going, step, carry))[1]
end

local scan_options = { length = true, reverse = true, unroll = true }

--- The checked options of scan, and its length.
local function scan_arguments(xs, given)
    local o = core.options("scan", given, scan_options)
    local length, first = o.length, nil
    if length ~= nil then length = core.integer("scan", nil, "length", length, 0) end
    if o.reverse ~= nil and type(o.reverse) ~= "boolean" then
        bad_argument("scan", nil, "reverse", "a boolean", o.reverse)
    end
    local unroll = core.integer("scan", nil, "unroll", o.unroll == nil and 1 or o.unroll, 1)
    trees.walk("scan", xs, function(leaf, path)
        if leaf == nil then return end
        if not is_array(leaf) then
            local remedy = type(leaf) ~= "number" and ""
                or type(xs) == "table" and "; np.array(xs) is an array of a table's numbers"
                or ("; {length=%.14g} without xs counts"):format(leaf)
            raise("scan", "xs%s must be an array, got %s%s", at_path(path), describe(leaf), remedy)
        end
        local dims = core.shape_of(leaf)
        if #dims == 0 then raise("scan", "xs%s has no axis to scan over: it is a scalar", at_path(path)) end
        if length and dims[1] ~= length then
            raise("scan", "xs%s has %d parts along its first axis, but %s", at_path(path), dims[1],
                  first and ("xs%s has %s"):format(first, length) or ("the option 'length' is %s"):format(length))
        end
        length, first = dims[1], first or at_path(path)
    end, "")
    if not length then raise("scan", "without xs the option 'length' is needed") end
    return length, { reverse = o.reverse, unroll = unroll }
end

--- np.scan(f, init, xs, {length=…, reverse=false, unroll=1}) -> carry, ys: calls carry, y = f(carry, x) for each part x
-- of the first axis of xs (a tree of arrays, or nil with {length=n}), beginning with the carry init; returns the last
-- carry, and the ys stacked along a new first axis. A carry is as np.while_loop has it.
--- length: the number of turns, where xs is nil
--- reverse: true: from the last part to the first
--- unroll: how many turns may be put together as one: a hint, which changes no result
--- > np.scan(function(sum, x) return sum + x, sum end, np.array(0), np.array{1, 2, 3})
-- 6.0
-- [0. 1. 3.]
function np.scan(f, init, xs, given)
    check_function("scan", f)
    local length, how = scan_arguments(xs, given)
    local carry = carry_of("scan", init)
    local results, entry = scan("scan", f, carry, xs, length, how, function(results)
        if results.n > 2 then
            raise("scan", "the function must return two values, the carry and y, got %d", results.n)
        end
        result_leaves("scan", results)
        return results[1], strong_results("scan", { n = 1, results[2] }, {})[1]
    end)
    return fill_results("scan", entry.template, results)
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { push_node, result_leaves, widen, strong_results, trace_branches, record_branches, carry_of,
                     carry_specs, next_carry, trace_body, rebuild_carry, while_loop, scan, counted_loop, np.cond,
                     np.switch, np.while_loop, np.fori_loop, np.scan } do
    jit.off(f)
end
