--- vmap.lua: np.vmap.
--
-- The function is traced once, as a closed program, on stand-ins of the shapes that one example has; the core then
-- records the program's ops for all examples at once (lazy/derive/batch.c). Here stands what surrounds that: along
-- which axis of which array the examples lie, for arguments and results.
local ffi = require "ffi"
local core = require "neap.core"
local named = require "neap.tracing.axes"
local trees = require "neap.core.trees"
local create = require "neap.arrays.create"
local shape = require "neap.arrays.shape"
local staging = require "neap.tracing.staging"

local np, C, ctx = core.np, core.C, core.ctx
local is_array, raise, bad_argument = core.is_array, core.raise, core.bad_argument
local pack, ids_of, Spec = staging.pack, staging.ids_of, staging.Spec
local type, unpack, pairs = type, unpack, pairs

-- ---- Axes -----------------------------------------------------------------------------------------------------------

--- Raises unless an option holds integers, false, and tables of these.
local function check_axes(option, axes, depth)
    if trees.is_node(axes) and depth < 100 then
        for _, inner in pairs(axes) do check_axes(option, inner, depth + 1) end
    elseif axes ~= false and axes ~= nil and not core.is_integer(core.plain(axes)) then
        bad_argument("vmap", nil, option, "axes: integers, false, or tables of them for each " ..
                     (option == "in_axes" and "argument" or "result"), axes)
    end
end

--- The axes of argument or result k of n: those of a list, or one for all.
local function axes_of(axes, k)
    if trees.is_node(axes) then return axes[k] end
    return axes
end

local function check_count(option, what, axes, n)
    if not trees.is_node(axes) then return end
    for key in pairs(axes) do
        if type(key) ~= "number" or key < 1 or key > n or key % 1 ~= 0 then
            raise("vmap", "option '%s' has an entry %s, but there %s %d %s%s", option, tostring(key),
                  n == 1 and "is" or "are", n, what, n == 1 and "" or "s")
        end
    end
end

--- An axis of an array with ndim axes, counted from 0.
local function normal_axis(option, axis, ndim, path, dims)
    axis = core.plain(axis)
    if axis < -ndim or axis >= ndim then
        raise("vmap", "%s: axis %d of %s is out of range for shape %s", option, axis, path, core.shape_text(dims))
    end
    return axis % ndim
end

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- The size of the axes of examples; raises if there are several.
local function common_size(leaves, axis_size)
    local sizes = {}
    for _, leaf in ipairs(leaves) do
        local found
        for _, same in ipairs(sizes) do found = found or same.leaf.size == leaf.size and same end
        if found then
            found.count = found.count + 1
        else
            sizes[#sizes + 1] = { leaf = leaf, count = 1 }
        end
    end
    local function told(same)
        local leaf = same.leaf
        return ("%s (axis %d of %s, shape %s%s)"):format(leaf.size, leaf.axis, leaf.path, core.shape_text(leaf.array),
                                                         same.count > 1 and (", and %d more"):format(same.count - 1)
                                                         or "")
    end
    if #sizes == 0 and not axis_size then
        raise("vmap", "no argument has an axis of examples: at least one entry of in_axes must be an axis, or "
              .. "axis_size must say how many examples there are")
    end
    if #sizes > 1 then
        local texts = {}
        for k, same in ipairs(sizes) do texts[k] = told(same) end
        raise("vmap", "the axes of examples must have one size, got %s", table.concat(texts, ", "))
    end
    if axis_size and sizes[1] and axis_size ~= sizes[1].leaf.size then
        raise("vmap", "axis_size is %s, but the axes of examples have size %s", axis_size, told(sizes[1]))
    end
    return axis_size or sizes[1].leaf.size
end

--- Takes the arguments apart: a list of the batched leaves { array, axis, path, size }, and a function that makes the
-- arguments anew from a list of stand-ins for these.
local function split_arguments(given, in_axes)
    local leaves, marked = {}, { n = given.n }
    check_count("in_axes", "argument", in_axes, given.n)
    local Place = {}
    for k = 1, given.n do
        marked[k] = trees.with_prefix("vmap", "in_axes", given[k], axes_of(in_axes, k), "argument " .. k,
                                      function(leaf, axis, path)
            if not axis then return leaf end
            if core.is_number(leaf) then
                raise("vmap", "%s is a number, which has no axis of examples: make it an array, or give it false in "
                      .. "in_axes", path)
            end
            if not is_array(leaf) then return leaf end
            local dims = core.shape_of(leaf)
            if #dims == 0 then
                raise("vmap", "%s is an array without axes, which in_axes asks to map along axis %d", path, axis)
            end
            local normal = normal_axis("in_axes", axis, #dims, path, dims)
            leaves[#leaves + 1] = { array = leaf, axis = normal, path = path, size = dims[normal + 1] }
            return setmetatable({ #leaves }, Place)
        end)
    end
    return leaves, function(stand_ins)
        local arguments = { n = given.n }
        for k = 1, given.n do
            arguments[k] = trees.rebuild("vmap", marked[k], function(leaf)
                return getmetatable(leaf) == Place and stand_ins[leaf[1]] or leaf
            end)
        end
        return arguments
    end
end

-- ---- Results --------------------------------------------------------------------------------------------------------

--- Puts the axes of out_axes beside the leaves of the results: numbers and booleans that are to have an axis become
-- arrays. Returns the results, and a list of { axis, path } for the arrays among them, in their order.
local function results_with_axes(results, out_axes)
    local list, made = {}, { n = results.n }
    check_count("out_axes", "result", out_axes, results.n)
    for k = 1, results.n do
        made[k] = trees.with_prefix("vmap", "out_axes", results[k], axes_of(out_axes, k), "result " .. k,
                                    function(leaf, axis, path)
            axis = axis or false
            if axis ~= false and core.is_number(leaf) then leaf = core.number(leaf, core.dtype_codes.f32) end
            if axis ~= false and type(leaf) == "boolean" then
                leaf = core.number(leaf and 1 or 0, core.dtype_codes.bool)
            end
            if is_array(leaf) then list[#list + 1] = { axis = axis, path = path } end
            return leaf
        end)
    end
    return made, list
end

--- A result with its examples along the axis that was asked for.
local function place_result(array, batched, size, place)
    if place.axis == false then
        if batched then
            raise("vmap", "%s depends on the example, but out_axes gives it no axis (false)", place.path)
        end
        return array
    end
    local dims = core.shape_of(array)
    if not batched then table.insert(dims, 1, size) end
    local axis = normal_axis("out_axes", place.axis, #dims, place.path, dims)
    if not batched then array = shape.broadcast_to(array, dims) end
    return axis == 0 and array or np.moveaxis(array, 0, axis)
end

-- ---- vmap -----------------------------------------------------------------------------------------------------------

local wanted = ffi.new "neap_batch_wanted"

--- { how = what tells the core how to batch a program, and what must live as long as that }: functions with rules of
-- their own (np.custom_vmap) have these traced for what is batched.
local function rules_of(program, size, flags)
    local how = ffi.new "neap_batch"
    how.size = type(size) == "number" and size or size.now
    core.call("vmap", function() return C.neap_program_batch_wants(ctx, program, how, flags, wanted) end)
    if wanted.callee == nil then return { how = how } end
    C.neap_program_free(wanted.callee)
    return require("neap.transforms.custom_vmap").of(program, size, flags)
end

--- Records a traced program for all examples: `arrays` are its inputs, of which the first nbatched are batched.
-- Returns its outputs, and which of them are batched.
local function batch(program, size, arrays, nbatched, noutputs)
    local n = #arrays
    local flags, ids = ffi.new("uint8_t[?]", n + 1), ids_of(arrays, n)
    local out, out_flags = ffi.new("int32_t[?]", noutputs + 1), ffi.new("uint8_t[?]", noutputs + 1)
    for k = 1, nbatched do flags[k - 1] = 1 end
    local made = rules_of(program, size, flags)
    local outputs = core.call_ids("vmap", out, noutputs, function()
        core.put(C.NEAP_SIZE_NUMBER, size)
        return C.neap_program_batch(ctx, program, made.how, n, ids, flags, out, out_flags)
    end)
    return outputs, out_flags
end

--- Runs user_function on all examples at once.
local function map_examples(user_function, o, ...)
    local leaves, rebuild = split_arguments(pack(...), o.in_axes)
    local size = common_size(leaves, o.axis_size)
    local specs, arrays, places = {}, {}, nil
    for k, leaf in ipairs(leaves) do
        specs[k] = staging.part_spec("vmap", leaf.array, leaf.axis)
        specs[k].weak = staging.weakness_of(leaf.array)
        arrays[k] = leaf.axis == 0 and leaf.array or np.moveaxis(leaf.array, leaf.axis, 0)
    end
    if o.axis_name then -- the token of the axis, the index of the example, is a further input
        specs[#specs + 1] = Spec { dtype = core.dtype_codes.i32, shape = {} }
        arrays[#arrays + 1] = create.iota(size, core.dtype_codes.i32)
    end
    local n = #specs
    local entry, lifted = staging.closed("vmap", function(stand_ins)
        local arguments = rebuild(stand_ins)
        if not o.axis_name then return user_function(unpack(arguments, 1, arguments.n)) end
        return named.with({ { name = o.axis_name, size = size, token = stand_ins[n] } }, user_function,
                         unpack(arguments, 1, arguments.n))
    end, { n = 1, specs }, function(results)
        results, places = results_with_axes(results, o.out_axes)
        return results
    end)
    for k, array in ipairs(lifted) do arrays[n + k] = array end
    local outputs, batched = batch(entry.program, size, arrays, n, entry.outputs)
    for k, place in ipairs(places) do outputs[k] = place_result(outputs[k], batched[k - 1] ~= 0, size, place) end
    return staging.fill_results("vmap", entry.template, outputs)
end

local options = { in_axes = true, out_axes = true, axis_size = true, axis_name = true }

--- np.vmap(f, {in_axes=0, out_axes=0, axis_size=…, axis_name=…}) -> function: a function that runs f on many examples
-- at once: each op of f once, for all of them. What f reads from around it is shared by all examples.
--
-- f is run once, on stand-ins for one example, so it may not look at values that depend on the example. An unordered
-- effect (np.debug.print({ordered=false}, …)) happens for each example in turn, or once if it reads none; ordered ones,
-- such as print, are errors.
--- in_axes: along which axis of which argument the examples lie: an axis (from 0, or from the end if negative) for all
-- arguments; false for those that all examples share; or a table with an entry for each argument, which may itself be a
-- table of axes for the parts of that argument (nil counts as false). The axes of examples must have one size
--- out_axes: the same of the results: false for a result that does not depend on the example
--- axis_size: how many examples there are, where no argument says it
--- axis_name: a string: f may compute over the examples, by np.psum(x, name) and its kin
--- > np.vmap(np.dot)(np.eye(2), np.array{{1, 2}, {3, 4}})
-- [1. 4.]
--- > np.vmap(function(x, s) return x * s end, {in_axes={0, false}})(np.arange(3), np.array(2))
-- [0. 2. 4.]
function np.vmap(f, given)
    local user_function = staging.check_function("vmap", f)
    local o = core.options("vmap", given, options)
    check_axes("in_axes", o.in_axes, 0)
    check_axes("out_axes", o.out_axes, 0)
    if o.axis_name ~= nil and type(o.axis_name) ~= "string" then
        bad_argument("vmap", nil, "axis_name", "a string", o.axis_name)
    end
    local size = o.axis_size
    if size ~= nil then size = core.integer("vmap", nil, "axis_size", size, 0) end
    local settings = { in_axes = o.in_axes == nil and 0 or o.in_axes, out_axes = o.out_axes == nil and 0 or o.out_axes,
                       axis_size = size, axis_name = o.axis_name }
    local function mapped(...)
        return map_examples(user_function, settings, ...)
    end
    jit.off(mapped)
    return mapped
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { split_arguments, results_with_axes, map_examples, batch } do jit.off(f) end
