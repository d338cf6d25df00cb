--- custom_root.lua: np.custom_root: the root of a function, by any solver, differentiated as a root.
--
-- Where f(x*, p) = 0 for all p, the implicit function theorem says how x* moves: the derivative of f by x, applied to
-- dx, is minus the derivative of f by p, applied to dp. So a derivative needs no pass through the solver, only f at x*
-- and the solution of one linear system, with forward mode; reverse mode transposes that.
--
-- f, the solver and the linear solver are traced as closed programs first. What f has lifted are the p: the arguments
-- of a function with a rule of its own (custom.lua). What the solvers read beyond that moves no root: it is a constant.
local core = require "neap.core"
local derive = require "neap.transforms.derive"
local solvers = require "neap.tracing.solvers"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np = core.np
local is_array, raise, describe = core.is_array, core.raise, core.describe
local pack, closed, check_function = staging.pack, staging.closed, staging.check_function

local roots = {}

-- ---- Forms ----------------------------------------------------------------------------------------------------------

local function arrays_of(name, tree)
    local list = {}
    trees.walk(name, tree, function(leaf) list[#list + 1] = leaf end)
    return list
end

local function form_text(x)
    return core.dtype_of(x).name .. core.shape_text(x)
end

--- Raises unless `value` is a tree like x (called `model`; the guess, if nothing is said), with arrays of the same
-- shapes and dtypes; numbers and weak arrays become such. Returns it.
local function like(name, what, value, x, path, model)
    model = model or "the guess"
    if is_array(x) then
        local dtype = core.dtype_of(x).name
        if core.is_number(value) then value = core.number(value) end
        if not is_array(value) then
            raise(name, "%s must be like %s, a tree of the same keys; got %s%s", what, model, describe(value), path)
        end
        if core.info(value).weak ~= 0 and core.dtype_of(value).name ~= dtype then value = np.astype(value, dtype) end
        if form_text(value) ~= form_text(x) then
            raise(name, "%s must be like %s, %s; got %s%s", what, model, form_text(x), form_text(value), path)
        end
        return value
    end
    if not trees.is_node(value) then
        raise(name, "%s must be like %s, a tree of the same keys; got %s%s", what, model, describe(value), path)
    end
    local copy = {}
    for key in pairs(value) do
        if x[key] == nil then
            raise(name, "%s must be like %s, which has nothing at %s", what, model, derive.step("result", key))
        end
    end
    for _, key in ipairs(trees.keys_of(x, name)) do
        local at = path == "" and " at " .. tostring(key) or path .. "." .. tostring(key)
        copy[key] = like(name, what, value[key], x[key], at, model)
    end
    return copy
end

--- The guess as a tree of arrays of floats. A number takes the dtype that f gives for it.
local function start_of(name, f, guess)
    local has_numbers, count = false, 0
    local start = trees.rebuild(name, guess, function(leaf)
        count = count + 1
        if core.is_number(leaf) then leaf = core.number(leaf) end
        if not is_array(leaf) then
            raise(name, "argument 2 (guess) must be an array, a number or a tree of them, got %s", describe(leaf))
        end
        if not core.dtype_of(leaf).inexact then
            raise(name, "argument 2 (guess) must hold floats, got dtype %s", core.dtype_of(leaf).name)
        end
        has_numbers = has_numbers or core.info(leaf).weak ~= 0
        return np.stop_gradient(leaf)
    end)
    if count == 0 then raise(name, "argument 2 (guess) holds no array") end
    if not has_numbers then return start end
    local given, at = arrays_of(name, start), 0
    local found = arrays_of(name, (staging.described(name, f, pack(start), function(x)
        return setmetatable({ dtype = core.info(x).weak == 0 and core.dtype_of(x) }, roots)
    end)))
    return trees.rebuild(name, start, function(leaf)
        at = at + 1
        if core.info(leaf).weak == 0 then return leaf end
        local dtype = getmetatable(found[at]) == roots and #found == #given and found[at].dtype
        return np.astype(leaf, dtype and dtype.inexact and dtype.name or "f32")
    end)
end

-- ---- Programs -------------------------------------------------------------------------------------------------------

--- Calls a traced entry on lists of arrays.
local function call(name, entry, ...)
    local leaves, follows = {}, false
    for k = 1, select("#", ...) do
        for _, x in ipairs((select(k, ...))) do
            leaves[#leaves + 1] = x
            follows = follows or core.info(x).sharding ~= 0 or core.info(x).committed ~= 0
        end
    end
    return staging.run(name, entry, leaves, follows)
end

--- A function traced on packed arguments: what runs it on lists of their arrays. What it reads beyond them is constant.
local function traced(name, f, given)
    local entry, lifted = closed(name, f, given)
    for k = 1, #lifted do lifted[k] = np.stop_gradient(lifted[k]) end
    return function(...)
        local lists = pack(...)
        lists[lists.n + 1] = lifted
        return call(name, entry, unpack(lists, 1, lists.n + 1))
    end
end

roots.call, roots.traced, roots.arrays_of, roots.like = call, traced, arrays_of, like

--- Solves for x in jacobian(x) = b, where `map` is linear, between trees like b: by the matrix of the map.
function roots.dense_solve(name, map, b)
    local list, at = arrays_of(name, b), 0
    local dtype = np.result_type(unpack(list))
    local function vector_of(tree)
        local parts = {}
        for k, x in ipairs(arrays_of(name, tree)) do parts[k] = np.astype(x, dtype):reshape(-1) end
        return np.concatenate(parts)
    end
    local function tree_of(vector)
        at = 0
        return trees.rebuild(name, b, function(x)
            local part = vector[{ { at, at + x.size } }]
            at = at + x.size
            return np.astype(part:reshape(x.shape), x.dtype)
        end)
    end
    local vector = vector_of(b)
    -- Made of b: a matrix of constants alone would be computed where the root is, whether or not it is differentiated.
    local ones = np.logical_or(vector:eq(vector), vector:ne(vector))
    local columns = np.vmap(function(v) return vector_of(map(tree_of(v))) end)(np.astype(np.diag(ones), dtype))
    return tree_of(np.linalg.solve(columns.T, vector))
end

--- The derivative of the root x along tangents of p, of which false stands for none.
local function tangent_of(name, f_with, tangent_solve, x, p, tangents)
    local places, at, along = {}, {}, {}
    for k = 1, #p do
        if tangents[k] and core.info(p[k]).weak == 0 then -- an alias is never weak: nothing depends on a number
            places[#places + 1], at[#at + 1], along[#along + 1] = k, p[k], tangents[k]
        end
    end
    if #at == 0 then return nil end
    local function moved(...)
        local list = core.copy_list(p)
        for k, place in ipairs(places) do list[place] = (select(k, ...)) end
        return f_with(list)(x)
    end
    jit.off(moved)
    local _, b = np.jvp(moved, at, along)
    return trees.rebuild(name, tangent_solve(arrays_of(name, x), arrays_of(name, b), p), function(d) return -d end)
end

--- The root, and what the solver returns beside it, where derivatives or traces are open.
local function staged_root(name, f, start, solve, tangent_solve)
    local entry, p = closed(name, f, pack(start), function(results)
        return pack(like(name, "the result of f", results[1], start, ""))
    end)
    local function f_with(list)
        local function at(x) return (call(name, entry, arrays_of(name, like(name, "x", x, start, "")), list)) end
        jit.off(at)
        return at
    end
    local solved = traced(name, function(x, list) return solve(f_with(list), x) end, pack(start, p))
    local solved_tangent = traced(name, function(x, b, list)
        local _, map = np.linearize(f_with(list), x)
        return like(name, "the result of tangent_solve", tangent_solve(map, b), start, "")
    end, pack(start, start, p))
    local function root(...) return solved(arrays_of(name, start), { ... }) end
    local with_rule = np.custom_jvp(root)
    with_rule:defjvp(function(primals, tangents)
        local results = pack(with_rule(unpack(primals, 1, #p)))
        results[results.n + 1] = tangent_of(name, f_with, solved_tangent, results[1], primals, tangents)
        return unpack(results, 1, 2 * results.n)
    end)
    return with_rule(unpack(p))
end

--- The root of f for the public function `name`; what solve returns behind it follows. tangent_solve may be nil.
function roots.find(name, f, guess, solve, tangent_solve)
    local start = start_of(name, f, guess)
    local function checked_solve(g, x)
        local results = pack(solve(g, x))
        results[1] = like(name, "the root of the solver", results[1], start, "")
        return unpack(results, 1, results.n)
    end
    jit.off(checked_solve)
    if #core.frame().levels == 0 or solvers.is_recording() then return checked_solve(f, start) end
    return staged_root(name, f, start, checked_solve, tangent_solve or function(map, b)
        return roots.dense_solve(name, map, b)
    end)
end

--- np.custom_root(f, guess, solve, tangent_solve, {has_aux=false}) -> root: the root of f that a solver finds,
-- differentiated by the implicit function theorem. root = solve(f, guess) is a tree like the guess, of floats (a number
-- takes the dtype of f's result), at which f(root), a tree like it, is 0. Derivatives, of any order and in both modes,
-- are by the arrays that f reads from around it; what solve reads beside them, and the guess, are constants to them. No
-- derivative goes through solve, so it may loop as it likes. tangent_solve(g, y) solves g(x) = y, where g is the
-- derivative of f at the root, a linear function; without it the matrix of g is solved by np.linalg.solve. As
-- jax.lax.custom_root. All functions are traced where a derivative or a trace is open.
--- has_aux: true: solve returns a second value, a tree, which follows the root; its derivatives are 0
--- > function solve(f, x) return np.fori_loop(0, 9, function(_, x) return x - f(x) / (2 * x) end, x) end
--- > function root(a) return np.custom_root(function(x) return x * x - a end, 1, solve) end
--- > root(np.array(4)), np.grad(root)(np.array(4))
-- 2.0
-- 0.25
function np.custom_root(f, guess, solve, tangent_solve, given)
    local name = "custom_root"
    f, solve = check_function(name, f, 1, "f"), check_function(name, solve, 3, "solve")
    if tangent_solve ~= nil then tangent_solve = check_function(name, tangent_solve, 4, "tangent_solve") end
    local has_aux = core.options(name, given, { has_aux = true }).has_aux
    if has_aux ~= nil and type(has_aux) ~= "boolean" then
        core.bad_argument(name, nil, "has_aux", "a boolean", has_aux)
    end
    return roots.find(name, f, guess, function(g, x)
        local results = pack(solve(g, x))
        if results.n ~= (has_aux and 2 or 1) then
            raise(name, "solve must return %s, got %d values", has_aux and "the root and a second value" or "the root",
                  results.n)
        end
        return unpack(results, 1, results.n)
    end, tangent_solve)
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { arrays_of, like, start_of, call, traced, roots.dense_solve, tangent_of, staged_root, roots.find,
                     np.custom_root } do
    jit.off(f)
end

return roots
