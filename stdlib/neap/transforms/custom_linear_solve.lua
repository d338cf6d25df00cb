--- custom_linear_solve.lua: np.custom_linear_solve: the solution of a linear system, by any solver, differentiated as a
-- solution.
--
-- Of A x = b the derivative is A dx = db - dA x, and the cotangent of b solves Aᵀ b̄ = x̄: the same system again, with
-- the transposed operator. No derivative goes through a solver. Where a derivative or a trace is open, the operator and
-- both solvers are traced as closed programs; p are the arrays that the operator reads from around it. What the solvers
-- read beside them moves no solution: it is a constant.
--
--      solve   (b, p) → x    has a rule for forward mode, which calls `linear` for dx
--      linear  (b, p) → x    has a rule for reverse mode by b alone, which calls `solve` of the transposed operator
--
-- So derivatives of first order are there in both modes, and further ones in reverse mode. x and b are trees alike.
-- Each solve has two more in its rule. All of them together are as deep inside each other as custom.lua lets a function
-- with a rule be, which ends in one without a rule.
local bit = require "bit"
local axes = require "neap.tracing.axes"
local core = require "neap.core"
local ffi = require "ffi"
local roots = require "neap.transforms.custom_root"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"

local np = core.np
local is_array, raise, describe = core.is_array, core.raise, core.describe
local pack, check_function = staging.pack, staging.check_function
local arrays_of, like = roots.arrays_of, roots.like

local linear = {}

--- The linear function f, or the transposed function; `model` is an argument.
function linear.turned(f, model, transposed)
    if not f or not transposed then return f end
    return np.linear_transpose(f, trees.rebuild("linear_transpose", model, np.stop_gradient))
end
local turned = linear.turned

--- a - b, or -b where there is no a, leaf by leaf.
local function difference(name, a, b)
    local list, at = a and arrays_of(name, a), 0
    return trees.rebuild(name, b, function(leaf)
        at = at + 1
        return list and list[at] - leaf or -leaf
    end)
end

--- solve(transposed, b, p …): solves with an operator, or with the transposed one, by functions with rules. with(p) is
-- the operator that reads p, and turns(operator, x, transposed) it, or the transposed one; solved[transposed](arrays of
-- b, p) → x, and what its solver gives besides.
local function solvers(name, with, turns, solved)
    local known, depth, limit, solve = {}, 0, 0, nil

    --- dA x along tangents of p, of which false stands for none; nil: none moves.
    local function moved(x, p, tangents, transposed)
        local places, at, along = {}, {}, {}
        for k = 1, #p do
            if tangents[k] and core.info(p[k]).weak == 0 then
                places[#places + 1], at[#at + 1], along[#along + 1] = k, p[k], tangents[k]
            end
        end
        if #at == 0 then return nil end
        local function product(...)
            local list = core.copy_list(p)
            for k, place in ipairs(places) do list[place] = (select(k, ...)) end
            return turns(with(list), x, transposed)(x)
        end
        jit.off(product)
        local _, tangent = np.jvp(product, at, along)
        return tangent
    end

    --- The solution, with a rule for reverse mode by b alone. Numbers among p are read from around: kept for the
    -- backward pass they would become arrays.
    local function by_side(transposed, b, p)
        local places, arrays = {}, {}
        for k, x in ipairs(p) do
            if core.info(x).weak == 0 then places[#places + 1], arrays[#arrays + 1] = k, x end
        end
        local function whole(kept)
            local list = core.copy_list(p)
            for k, place in ipairs(places) do list[place] = kept[k] end
            return list
        end
        local function solution(side, ...) return (solved[transposed](arrays_of(name, side), whole { ... })) end
        local function forward(side, ...) return solution(side, ...), { ... } end
        local function backward(kept, cotangent) return (solve(not transposed, cotangent, unpack(whole(kept)))) end
        for _, f in ipairs { whole, solution, forward, backward } do jit.off(f) end
        return np.custom_vjp(solution):defvjp(forward, backward)(b, unpack(arrays))
    end

    local function with_rule(transposed)
        if known[transposed] then return known[transposed] end
        local function solution(b, ...) return solved[transposed](arrays_of(name, b), { ... }) end
        jit.off(solution)
        local function rule(primals, tangents)
            local p, along = { unpack(primals, 2) }, {}
            for k = 1, #p do along[k] = tangents[k + 1] end
            local results = pack(solve(transposed, unpack(primals)))
            local change, side = moved(results[1], p, along, transposed), tangents[1] or nil
            if change then side = difference(name, side, change) end
            results[results.n + 1] = by_side(transposed, side, p)
            return unpack(results, 1, 2 * results.n)
        end
        jit.off(rule)
        known[transposed] = np.custom_jvp(solution):defjvp(rule)
        return known[transposed]
    end

    function solve(transposed, b, ...)
        if depth == 0 then limit = #core.frame().levels + 1 end
        if depth >= limit then return solved[transposed](arrays_of(name, b), { ... }) end
        depth = depth + 1
        local results = pack(pcall(with_rule(transposed), b, ...))
        depth = depth - 1
        if not results[1] then error(results[2], 0) end
        return unpack(results, 2, results.n)
    end
    for _, f in ipairs { moved, by_side, with_rule, solve } do jit.off(f) end
    return solve
end

--- The solution where no level is open. The solver may leave the operator alone: then what that gives is not computed,
-- but it is checked all the same, as where it is traced.
local function solve_now(name, operate, b, solves)
    local applied = false
    local function watched(x)
        applied = true
        return operate(x)
    end
    jit.off(watched)
    local results = pack(solves(watched, b, false))
    if not applied then staging.described(name, operate, pack(b), core.shape_text) end
    return unpack(results, 1, results.n)
end

local lies = ffi.new "neap_sharding"

--- b, in a body of np.shard_map, as a tree that varies over the axes of the mesh over which the arrays p vary: so does
-- the solution, and the transposed operator takes what is like b; of what does not vary it would give the sum over the
-- devices. nil: no array of p varies.
local function varied(name, b, p)
    local bits, names = 0, {}
    for _, x in ipairs(p) do
        local number = core.info(x).sharding
        if number ~= 0 then
            core.call(name, function() return core.C.neap_sharding_get(number, lies) end)
            if lies.manual ~= 0 then bits = bit.bor(bits, lies.varies) end
        end
    end
    if bits == 0 then return nil end
    for at, axis in ipairs((axes.mesh()).axis_names) do
        if bit.band(bits, bit.lshift(1, at - 1)) ~= 0 then names[#names + 1] = axis end
    end
    return np.pvary(b, names)
end

--- Solves operator(x) = b for the public function `name`: solves(A, b, transposed) → x, …, where A is the operator, or
-- the transposed one. The operator is symmetric: it is its own transpose.
function linear.solve(name, operator, b, solves, symmetric)
    local function checked(A, side, transposed)
        local results = pack(solves(A, side, transposed))
        results[1] = like(name, "the solution", results[1], b, "", "b")
        return unpack(results, 1, results.n)
    end
    local function operate(x) return like(name, "the result of the linear function", operator(x), b, "", "b") end
    for _, f in ipairs { checked, operate } do jit.off(f) end
    if #core.frame().levels == 0 then return solve_now(name, operate, b, checked) end
    local entry, p = staging.closed(name, operate, pack(b))
    local varies = varied(name, b, p)
    if varies then
        b = varies
        entry, p = staging.closed(name, operate, pack(b))
    end
    local function with(list)
        local function apply(x)
            return (roots.call(name, entry, arrays_of(name, like(name, "its argument", x, b, "", "b")), list))
        end
        jit.off(apply)
        return apply
    end
    local function turns(A, x, transposed) return turned(A, x, transposed and not symmetric) end
    local solved = {}
    for _, transposed in ipairs { false, true } do
        solved[transposed] = roots.traced(name, function(side, list)
            return checked(turns(with(list), side, transposed), side, transposed)
        end, pack(b, p))
    end
    for _, f in ipairs { with, turns } do jit.off(f) end
    return solvers(name, with, turns, solved)(false, b, unpack(p))
end

--- b as a tree of arrays of floats.
local function side_of(name, b)
    local count = 0
    local side = trees.rebuild(name, b, function(leaf)
        count = count + 1
        if core.is_number(leaf) then leaf = core.number(leaf, core.dtype_codes.f32) end
        if not is_array(leaf) then
            raise(name, "argument 2 (b) must be an array, a number or a tree of them, got %s", describe(leaf))
        end
        if not core.dtype_of(leaf).inexact then
            raise(name, "argument 2 (b) must hold floats, got dtype %s", core.dtype_of(leaf).name)
        end
        return core.info(leaf).weak ~= 0 and np.astype(leaf, "f32") or leaf
    end)
    if count == 0 then raise(name, "argument 2 (b) holds no array") end
    return side
end

--- np.custom_linear_solve(matvec, b, solve, transpose_solve, {symmetric=false, has_aux=false}) -> x: the solution x of
-- matvec(x) = b by a solver, differentiated as a solution. b is an array of floats or a tree of them, matvec a linear
-- function from a tree like b to one; x = solve(matvec, b) is a tree like b. Derivatives, of first order in both modes
-- and of higher orders in reverse mode, are by b and by the arrays that matvec reads from around it; what solve reads
-- beside them is a constant. No derivative goes through solve, so it may loop as it likes. Reverse mode solves a system
-- with the transposed function: transpose_solve(vecmat, c); without it the matrix of that is solved by np.linalg.solve.
-- As jax.lax.custom_linear_solve. All functions are traced where a derivative or a trace is open; elsewhere a matvec
-- that solve does not apply runs once on stand-ins, and raises if its result is not like b.
--- symmetric: true: matvec is its own transpose, and solve solves for it too: there is no transpose_solve then
--- has_aux: true: solve, and transpose_solve, return a second value, a tree, which follows x; its derivatives are 0
--- > function jacobi(A, b) return np.fori_loop(0, 40, function(_, x) return x + (b - A(x)) / 2 end, b) end
--- > function solution(d, b) return np.custom_linear_solve(function(x) return d * x end, b, jacobi, jacobi) end
--- > d, b = np.array{1, 2}, np.array{3, 8}
--- > solution(d, b)
-- [3. 4.]
--- > np.vmap(np.grad(solution), {in_axes={0, 0}})(d, b)
-- [-3. -2.]
function np.custom_linear_solve(matvec, b, solve, transpose_solve, given)
    local name = "custom_linear_solve"
    matvec, solve = check_function(name, matvec, 1, "matvec"), check_function(name, solve, 3, "solve")
    if transpose_solve ~= nil then transpose_solve = check_function(name, transpose_solve, 4, "transpose_solve") end
    local o = core.options(name, given, { symmetric = true, has_aux = true })
    for _, flag in ipairs { "symmetric", "has_aux" } do
        if o[flag] ~= nil and type(o[flag]) ~= "boolean" then
            core.bad_argument(name, nil, flag, "a boolean", o[flag])
        end
    end
    if o.symmetric and transpose_solve then
        raise(name, "a symmetric system has no transpose_solve: solve is called for it")
    end
    local backwards = o.symmetric and solve or transpose_solve
    return linear.solve(name, matvec, side_of(name, b), function(A, side, transposed)
        if transposed and not backwards then return roots.dense_solve(name, A, side) end
        local results = pack((transposed and backwards or solve)(A, side))
        if results.n ~= (o.has_aux and 2 or 1) then
            raise(name, "%s must return %s, got %d values", transposed and "transpose_solve" or "solve",
                  o.has_aux and "the solution and a second value" or "the solution", results.n)
        end
        return unpack(results, 1, results.n)
    end, o.symmetric)
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { turned, difference, solvers, solve_now, linear.solve, side_of, np.custom_linear_solve } do
    jit.off(f)
end

return linear
