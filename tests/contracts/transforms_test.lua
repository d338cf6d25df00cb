--- transforms_test.lua: contracts of derivatives, batches and control flow: each transform of one smooth function of
-- two arguments against JAX's. What they do with trees, captures, effects and mistakes is held by the tests that are
-- named.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "transforms"

local F = "(lambda x, y: (x**2 * y + jnp.sin(x * y)).sum())" -- of the oracle
local MAP = "(lambda x, y: x**2 * y + jnp.sin(x * y))"
local function map(x, y) return x ^ 2 * y + np.sin(x * y) end
local function f(x, y) return map(x, y):sum() end
local function with_aux(x, y) return f(x, y), x + y end

-- Each op of a half is rounded, and so is what derivatives are made of.
local NEAR = { f64 = "scaled 1e-14", f32 = "scaled 2e-6", f16 = "scaled 1e-2", bf16 = "scaled 8e-2" }
local PAIRS = { { { 3 }, { 3 } }, { { 2, 4 }, { 2, 4 } }, { {}, {} }, { { 0 }, { 0 } }, { { 1 }, { 1 } } }

--- A contract of a transform of x and y: what is the same for all.
local function transform(name, contract)
    contract.args, contract.accepts = contract.args or { "x", "y" }, contract.accepts or "floats"
    contract.shapes, contract.special = contract.shapes or PAIRS, false
    contract.within, contract.divided, contract.vmapped = contract.within or NEAR, NEAR, NEAR -- sums in another order
    contract.without = contract.without or {}
    contract.without.special = "the function is one of the test's: what it does with NaN is that of its ops"
    contract.without.numbers = contract.without.numbers or "the function is one of the test's: its ops take numbers"
    of(name, contract)
end

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

local WHICH = { {}, { argnums = 2 }, { argnums = { 1, 2 } }, { has_aux = true },
                { argnums = { 2, 1 }, has_aux = true } }
local AUX = "([x + y] if o.get('has_aux') else [])"

local function derivative(transform_of, o, x, y)
    return transform_of(o.has_aux and with_aux or f, o)(x, y)
end

transform("np.grad", {
    options = WHICH, unseen = { holomorphic = "complex derivatives are in a test of their own" },
    call = derivative,
    oracle = "[*jax.grad(" .. F .. ", argnums=argnums(o))(x, y)] + " .. AUX,
    also = {
        ["holomorphic"] = function()
            local z = np.array { 0.5 - 1i, 2 + 3i }:astype "c128"
            local got = np.grad(function(v) return np.exp(v):sum() end, { holomorphic = true })(z)
            check.close(np.abs(got - np.exp(z)):max():item(), 0, 1e-14)
        end,
    },
})
transform("np.value_and_grad", {
    options = WHICH, unseen = { holomorphic = "as that of np.grad, of which it is a part" },
    call = function(value_and_grad, o, x, y)
        local list = { value_and_grad(o.has_aux and with_aux or f, o)(x, y) }
        if o.has_aux then table.insert(list, table.remove(list, 2)) end
        return unpack(list)
    end,
    oracle = "[" .. F .. "(x, y), *jax.grad(" .. F .. ", argnums=argnums(o))(x, y)] + " .. AUX,
})

local SMALL = { { { 3 }, { 3 } }, { { 2, 2 }, { 2, 2 } }, { {}, {} }, { { 1 }, { 1 } } }
local function jacobian(jacobian_of, o, x, y)
    return jacobian_of(o.has_aux and function(a, b) return map(a, b), a + b end or map, o)(x, y)
end
for _, name in ipairs { "jacobian", "jacfwd", "jacrev" } do
    local options = { unpack(WHICH) }
    if name == "jacobian" then
        options[#options + 1] = { mode = "forward" }
        options[#options + 1] = { mode = "reverse", argnums = { 1, 2 } }
    end
    transform("np." .. name, {
        options = options, shapes = SMALL, call = jacobian,
        oracle = "[*jax.jacrev(" .. MAP .. ", argnums=argnums(o))(x, y)] + " .. AUX,
    })
end
transform("np.hessian", {
    options = { {}, { argnums = 2 }, { has_aux = true } }, shapes = SMALL, call = derivative,
    oracle = "[jax.hessian(" .. F .. ", argnums=argnums(o)[0])(x, y)] + " .. AUX,
    slope = 1e-5,
})
local TREE = "a table behind the arguments is one more of them, a tree, unless it has the option"
transform("np.vjp", {
    options = { {}, { has_aux = true } },
    call = function(vjp, o, x, y)
        if not o.has_aux then
            local value, back = vjp(map, x, y)
            return value, back(x + 1)
        end
        local value, back, aux = vjp(function(a, b) return map(a, b), a + b end, x, y, o)
        local gx, gy = back(x + 1)
        return value, gx, gy, aux
    end,
    oracle = "[" .. MAP .. "(x, y), *jax.vjp(" .. MAP .. ", x, y)[1](jnp.asarray(x + 1))] + " .. AUX,
    without = { refusals = TREE },
})
transform("np.linearize", {
    options = { {}, { has_aux = true } },
    call = function(linearize, o, x, y)
        if not o.has_aux then
            local value, push = linearize(map, x, y)
            return value, push(y, x)
        end
        local value, push, aux = linearize(function(a, b) return map(a, b), a + b end, x, y, o)
        return value, push(y, x), aux
    end,
    oracle = "[*jax.jvp(" .. MAP .. ", (x, y), (y, x))] + " .. AUX,
    without = { refusals = TREE },
})
transform("np.jvp", {
    options = { {}, { has_aux = true } },
    call = function(jvp, o, x, y)
        local g = o.has_aux and function(a, b) return map(a, b), a + b end or map
        return jvp(g, { x, y }, { y, x }, next(o) and o or nil)
    end,
    oracle = "[*jax.jvp(" .. MAP .. ", (x, y), (y, x))] + " .. AUX,
})
transform("np.linear_transpose", {
    call = function(linear_transpose, _, x, y)
        local back = linear_transpose(function(a, b) return { np.sin(y) * a + 2 * b, a:sum() } end, x, y)
        return back { x + y, x:sum() }
    end,
    oracle = "jax.linear_transpose(lambda a, b: (jnp.sin(jnp.asarray(y)) * a + 2 * b, a.sum()), x, y)(("
        .. "jnp.asarray(x + y), jnp.asarray(x).sum()))",
    without = { refusals = "a table behind the arguments is one more of them, a tree" },
})

-- ---- Solutions of linear systems ------------------------------------------------------------------------------------

--- The matrices of the systems below have eigenvalues from 1 to 4, for which this converges by half a digit each turn.
local function solve_slowly(A, b)
    return np.fori_loop(0, 90, function(_, v) return v + (b - A(v)) / 3 end, np.zeros_like(b))
end

local function solve_and_tell(A, b) return solve_slowly(A, b), { turns = np.full_like(b, 90) } end

transform("np.custom_linear_solve", {
    args = { { "x", from = 1, to = 3 }, "y" }, accepts = "f64 f32",
    shapes = { { { 3 }, { 3 } }, { { 1 }, { 1 } }, { { 2, 2 }, { 2, 2 } } },
    options = { {}, { symmetric = true }, { has_aux = true } },
    call = function(custom_linear_solve, o, x, y)
        local function A(v) return x * v + 0.25 * (o.symmetric and v:sum() or np.flip(v) * np.cos(x)) end
        local solve = o.has_aux and solve_and_tell or solve_slowly
        local solution, aux = custom_linear_solve(A, y, solve, not o.symmetric and solve or nil, next(o) and o or nil)
        return solution, aux and aux.turns
    end,
    oracle = "(lambda A: [jax.lax.custom_linear_solve(A, jnp.asarray(y), solve=(s := lambda f, c: jnp.linalg.solve("
        .. "jax.jacobian(f)(c).reshape(c.size, c.size), c.ravel()).reshape(c.shape)), transpose_solve=s)] "
        .. "+ ([np.full_like(y, 90)] if 'has_aux' in o else []))(lambda v: x * v + 0.25 * (v.sum() if 'symmetric' in o "
        .. "else jnp.flip(v) * jnp.cos(x)))",
    derivative = "jax.lax.custom_linear_solve(lambda v: x * v + 0.25 * jnp.flip(v) * jnp.cos(x), y, "
        .. "solve=(s := lambda f, c: jnp.linalg.solve(jax.jacobian(f)(c).reshape(c.size, c.size), c.ravel())"
        .. ".reshape(c.shape)), transpose_solve=s)",
    points = { { { 1.5, 2.5, 2 }, { 1, -1, 0.5 } } }, first_only = true,
    also = {
        ["np.custom_linear_solve: a tree, solved by the matrix of the transposed function"] = function()
            local function solution(a, b)
                local function A(v) return { p = v.p * a, q = v.q * 2 + v.p:sum() } end
                local function solve(_, c)
                    local p = c.p / a
                    return { p = p, q = (c.q - p:sum()) / 2 }
                end
                local x = np.custom_linear_solve(A, b, solve)
                return x.q:sum()
            end
            local a, b = np.array { 2, 4 }, { p = np.array { 2, 4 }, q = np.array { 6 } }
            check.equal(solution(a, b):item(), 2)
            local da, db = np.grad(solution, { argnums = { 1, 2 } })(a, b)
            check.close(da:totable(), { 0.25, 0.125 }, 1e-6)
            check.close({ db.p:totable(), db.q:totable() }, { { -0.25, -0.125 }, { 0.5 } }, 1e-6)
        end,
        ["np.custom_linear_solve: a number argument that the function reads"] = function()
            local function solution(b, d, more)
                return np.custom_linear_solve(function(v) return d * v + more * v end, b, function(_, c)
                    return c / (d + more)
                end, function(_, c) return c / (d + more) end)
            end
            local b, d = np.array({ 3, 8 }, { dtype = "f64" }), np.array({ 1, 2 }, { dtype = "f64" })
            local solve = np.jit(solution)
            check.equal(solve(b, d, 2):totable(), { 1, 2 })
            check.equal(solve(b:astype "f32", d:astype "f32", 0.5).dtype, "f32")
            local slopes = np.jit(function(...)
                local more = select(3, ...)
                return np.grad(function(c, e) return solution(c, e, more):sum() end, { argnums = { 1, 2 } })(...)
            end)
            local db, dd = slopes(b, d, 2)
            check.close(db:totable(), { 1 / 3, 1 / 4 }, 1e-15)
            check.close(dd:totable(), { -1 / 3, -1 / 2 }, 1e-15)
            local forward = np.jit(function(c, e, more)
                return np.jacfwd(function(x) return solution(c, x, more) end)(e)
            end)
            check.close(forward(b, d, 2):totable(), { { -1 / 3, 0 }, { 0, -1 / 2 } }, 1e-15)
        end,
        ["np.custom_linear_solve: what the solver reads moves nothing, and it may loop"] = function()
            local function solution(b, pace)
                return np.custom_linear_solve(function(v) return 2 * v end, b, function(A, c)
                    return np.while_loop(function(v) return np.abs(c - A(v)):max():gt(1e-6) end,
                                         function(v) return v + (c - A(v)) * pace end, np.zeros_like(c))
                end, nil, { symmetric = true }):sum()
            end
            local db, dpace = np.grad(solution, { argnums = { 1, 2 } })(np.array { 1, 3 }, np.array(0.4))
            check.close(db:totable(), { 0.5, 0.5 }, 1e-6)
            check.equal(dpace:item(), 0)
            check.close(np.jit(np.vmap(np.grad(solution), { in_axes = { 0, false } }))(np.ones { 2, 3 }, 0.4):totable(),
                        { { 0.5, 0.5, 0.5 }, { 0.5, 0.5, 0.5 } }, 1e-6)
        end,
    },
    refuses = {
        { "argument 1 %(matvec%)", function() np.custom_linear_solve(2, 1, solve_slowly) end },
        { "argument 3 %(solve%)", function() np.custom_linear_solve(np.sin, np.ones(1)) end },
        { "b%) must hold floats", function() np.custom_linear_solve(np.sin, np.arange(1), solve_slowly) end },
        { "b%) must be an array", function() np.custom_linear_solve(np.sin, "1", solve_slowly) end },
        { "b%) holds no array", function() np.custom_linear_solve(np.sin, {}, solve_slowly) end },
        { "the solution must be like b, f32%(1,%)", function()
            np.custom_linear_solve(np.sin, np.ones(1), function() return np.ones(2) end)
        end },
        { "the result of the linear function must be like b, f32%(2,%)", function()
            np.custom_linear_solve(np.sum, np.ones(2), solve_slowly)
        end },
        { "the result of the linear function must be like b, f32%(2,%); got f32%(3,%)", function() -- it is not applied
            np.custom_linear_solve(function() return np.ones(3) end, np.ones(2), function(_, c) return c end)
        end },
        { "the result of the linear function must be like b, .*; got nothing %(nil%) at q", function()
            local b = { p = np.ones(2), q = np.ones(1) }
            np.custom_linear_solve(function(v) return { p = v.p } end, b, function(_, c) return c end)
        end },
        { "solve must return the solution, got 2 values", function()
            np.custom_linear_solve(np.negative, np.ones(1), solve_and_tell)
        end },
        { "a symmetric system has no transpose_solve", function()
            np.custom_linear_solve(np.negative, np.ones(1), solve_slowly, solve_slowly, { symmetric = true })
        end },
        { "option 'has_aux'", function()
            np.custom_linear_solve(np.negative, np.ones(1), solve_slowly, nil, { has_aux = 1 })
        end },
    },
})

-- ---- Programs inside ------------------------------------------------------------------------------------------------

transform("np.checkpoint", {
    call = function(checkpoint, o, x, y) return checkpoint(map, next(o) and o or nil)(x, y) end,
    options = { {}, { policy = "dots_saveable" }, { policy = "everything_saveable" } },
    unseen = { save = "what is kept is in tests/stdlib/policies_test.lua", most = "as save",
               offload = "the map names nothing; what is kept where is in tests/stdlib/offload_test.lua" },
    oracle = MAP .. "(x, y)",
})
transform("np.optimization_barrier", {
    call = function(barrier, _, x, y)
        local tree = barrier { x * y, list = { y } }
        return tree[1] + x, tree.list[1]
    end,
    oracle = "(lambda a, b: (a + x, b))(*jax.lax.optimization_barrier((jnp.asarray(x * y), jnp.asarray(y))))",
    without = { refusals = "a table is a tree to it, whatever its keys" },
})
transform("np.custom_jvp", {
    options = { {}, { nondiff_argnums = {} } },
    call = function(custom_jvp, o, x, y)
        local g = custom_jvp(function(a, b) return np.exp(a * b) end, next(o) and o or nil)
        g:defjvp(function(args, tangents)
            local value = np.exp(args[1] * args[2])
            return value, value * (tangents[1] * args[2] + args[1] * tangents[2])
        end)
        return g(x * 0.5, y)
    end,
    within = { f64 = "rel 1e-13", f32 = "rel 2e-5", f16 = "rel 5e-2", bf16 = "rel 3e-1" },
    oracle = "np.exp(0.5 * x * y)", slope = 1e-5,
})
transform("np.custom_vjp", {
    options = { {}, { nondiff_argnums = {} } },
    call = function(custom_vjp, o, x, y)
        local g = custom_vjp(function(a, b) return np.exp(a * b) end, next(o) and o or nil)
        g:defvjp(function(a, b)
            local value = np.exp(a * b)
            return value, { value, a, b }
        end, function(kept, ct)
            return ct * kept[1] * kept[3], ct * kept[1] * kept[2]
        end)
        return g(x * 0.5, y)
    end,
    within = { f64 = "rel 1e-13", f32 = "rel 2e-5", f16 = "rel 5e-2", bf16 = "rel 3e-1" },
    oracle = "np.exp(0.5 * x * y)",
    without = { derivatives = "it has no forward mode by design; tests/stdlib/custom_test.lua takes its reverse ones" },
})

-- ---- Batches --------------------------------------------------------------------------------------------------------

transform("np.vmap", {
    shapes = { { { 3, 2 }, { 3, 2 } }, { { 3, 3 }, { 3, 3 } }, { { 3, 3, 1 }, { 3, 3, 1 } } },
    accepts = "floats ints complex", gives = "same",
    options = { {}, { in_axes = 0, out_axes = -1 }, { in_axes = -1 }, { axis_size = 3 }, { axis_name = "i" } },
    call = function(vmap, o, x, y)
        local g = vmap(function(a, b) return a * b + (o.axis_name and np.psum(a, o.axis_name) or a), a - b end, o)
        return g(x, y)
    end,
    oracle = "jax.vmap(lambda a, b: (a * b + (jax.lax.psum(a, 'i') if 'axis_name' in o else a), a - b), "
        .. "in_axes=o.get('in_axes', 0), out_axes=o.get('out_axes', 0), axis_name='i')(x, y)",
})

--- The rule is another function, so that each result tells which of both was taken.
local function with_rule(custom_vmap)
    return custom_vmap(function(a, b) return a * b, np.sin(b) end):def_vmap(function(n, batched, a, b)
        return a * b + (batched[2] and n or 0.5), np.cos(b), true, batched[2]
    end)
end
local WITH_RULE = "(lambda g: (g.def_vmap(lambda n, batched, a, b: ((a * b + (n if batched[1] else 0.5), jnp.cos(b)), "
    .. "(True, batched[1]))), g)[1])(jax.custom_batching.custom_vmap(lambda a, b: (a * b, jnp.sin(b))))"
local BATCHES = "(lambda g: [*jax.vmap(g)(x, y), *jax.vmap(lambda a: g(a, jnp.asarray(y)[0]), out_axes=(0, None))("
    .. "jnp.asarray(x)), jax.vmap(lambda a: jax.lax.scan(lambda c, b: (g(c, a)[0], None), jnp.asarray(y)[0], "
    .. "jnp.zeros(2))[0])(jnp.asarray(x))])(" .. WITH_RULE .. ")"

transform("np.custom_vmap", {
    shapes = { { { 3, 2 }, { 3, 2 } }, { { 2 }, { 2 } }, { { 1, 2, 2 }, { 1, 2, 2 } } },
    call = function(custom_vmap, _, x, y)
        local g = with_rule(custom_vmap)
        local p, q = np.vmap(g)(x, y)
        local r, s = np.vmap(function(a) return g(a, y[0]) end, { out_axes = { 0, false } })(x)
        local t = np.vmap(function(a)
            return (np.scan(function(c) return (g(c, a)), nil end, y[0], np.zeros { 2 }))
        end)(x)
        return p, q, r, s, t
    end,
    oracle = BATCHES, derivative = BATCHES,
    points = { { { { 1.5, 2 }, { -1, 0.5 } }, { { 0.5, -1 }, { 2, 0.25 } } } },
    without = { refusals = "tests/stdlib/custom_vmap_test.lua has rules that do not fit" },
})

transform("np.pure_callback", {
    shapes = { { { 3, 2 }, { 3, 2 } }, { { 2 }, { 2 } }, { { 1, 2, 2 }, { 1, 2, 2 } } }, gives = "same",
    options = { {}, { vmap_method = "sequential" }, { vmap_method = "expand_dims" },
                { vmap_method = "broadcast_all" } },
    unseen = { name = "names in files are in tests/effects/pure_callback_test.lua" },
    call = function(pure_callback, o, x, y)
        local result = { shape = { unpack(x.shape, 2) }, dtype = x.dtype }
        local scaled = pure_callback(function(a, b) return a * b + b end, result, o)
        local turned = pure_callback(function(a, b) return np.flip(a * b + b, { axis = -1 }) end, result, o)
        return np.vmap(function(a) return (x.ndim > 1 and turned or scaled)(a, y[0]) end)(x)
    end,
    oracle = "jax.vmap(lambda a: jax.pure_callback(lambda u, v: (lambda w: np.flip(w, -1) if x.ndim > 1 else w)("
        .. "np.asarray(u) * np.asarray(v) + np.asarray(v)), jax.ShapeDtypeStruct(x.shape[1:], x.dtype), a, "
        .. "jnp.asarray(y)[0], vmap_method=o.get('vmap_method', 'sequential')))(jnp.asarray(x))",
    without = { programs = "a file asks for the functions; tests/effects/pure_callback_test.lua gives them",
                derivatives = "it has none by design; tests/effects/pure_callback_test.lua has rules around it",
                sizes = "results have the shapes that are declared",
                refusals = "tests/effects/pure_callback_test.lua has bad input" },
})

-- ---- Control flow ---------------------------------------------------------------------------------------------------

local function turn(a, b) return a * 0.5 + np.cos(b) end
local TURN = "(lambda a, b: a * 0.5 + jnp.cos(b))"
local EXTRA = "what stands behind the functions are their arguments"

transform("np.cond", {
    call = function(cond, _, x, y) return cond(x:sum():gt(0), turn, map, x, y) end,
    oracle = "jax.lax.cond(jnp.asarray(x).sum() > 0, " .. TURN .. ", " .. MAP .. ", jnp.asarray(x), jnp.asarray(y))",
    without = { refusals = EXTRA },
})
transform("np.switch", {
    call = function(switch, _, x, y)
        local index = np.floor(np.abs(x):sum()):astype "i32" % 3 + 1
        return switch(index, { turn, map, function(a, b) return a - b end }, x, y)
    end,
    oracle = "jax.lax.switch(jnp.floor(jnp.abs(x).sum()).astype(int) % 3, [" .. TURN .. ", " .. MAP
        .. ", lambda a, b: a - b], jnp.asarray(x), jnp.asarray(y))",
    accepts = "f64 f32", -- the sum of halves may be another one
    without = { refusals = EXTRA },
})
transform("np.fori_loop", {
    call = function(loop, o, x, y)
        return loop(1, 4, function(k, s) return turn(s, y) * k end, x, next(o) and o or nil)
    end,
    oracle = "jax.lax.fori_loop(1, 4, lambda k, s: " .. TURN .. "(s, y) * k, jnp.asarray(x))",
})
transform("np.while_loop", {
    call = function(loop, o, x, y)
        local init = { k = 0, s = x }
        local out = loop(function(c) return np.less(c.k, 3) end,
                         function(c) return { k = c.k + 1, s = turn(c.s, y) } end, init, next(o) and o or nil)
        return out.s
    end,
    oracle = "jax.lax.fori_loop(0, 3, lambda k, s: " .. TURN .. "(s, y), jnp.asarray(x))",
    without = { derivatives = "it has no reverse mode; tests/lazy/control_test.lua takes forward ones" },
})
transform("np.scan", {
    shapes = { { { 2 }, { 4, 2 } }, { {}, { 3 } }, { { 2 }, { 0, 2 } }, { { 1 }, { 1, 1 } } },
    options = { {}, { reverse = true }, { unroll = 2 }, { length = 4 } },
    call = function(scan, o, x, y)
        if o.length then
            return scan(function(s) return turn(s, s), s * 2 end, x, nil, o)
        end
        return scan(function(s, part) return turn(s, part), s + part end, x, y, next(o) and o or nil)
    end,
    oracle = "jax.lax.scan(lambda s, p: (" .. TURN .. "(s, s), s * 2), jnp.asarray(x), None, length=4) "
        .. "if 'length' in o else jax.lax.scan(lambda s, p: (" .. TURN .. "(s, p), s + p), jnp.asarray(x), "
        .. "jnp.asarray(y), reverse=bool(o.get('reverse')))",
})

local ROWS = { { { 5, 2 }, { 5, 2 } }, { { 4 }, { 4 } }, { { 0, 3 }, { 0, 3 } }, { { 1, 1 }, { 1, 1 } },
               { { 3, 7 }, { 3, 7 } } }

transform("np.associative_scan", {
    shapes = ROWS, accepts = "floats ints complex", gives = "same",
    options = { {}, { reverse = true }, { axis = 0 }, { axis = -1, reverse = true } },
    call = function(scan, o, x, y) -- the recurrence s = a s + b
        local out = scan(function(p, q) return { a = p.a * q.a, b = q.a * p.b + q.b } end, { a = x, b = y },
                         next(o) and o or nil)
        return out.a, out.b
    end,
    oracle = "jax.lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (jnp.asarray(x), "
        .. "jnp.asarray(y)), reverse=bool(o.get('reverse')), axis=int(o.get('axis', 0)) % x.ndim)",
    within = { f64 = "scaled 1e-13", f32 = "scaled 1e-5", f16 = "scaled 5e-2", bf16 = "scaled 3e-1",
               c64 = "scaled 1e-5", c128 = "scaled 1e-13" },
    without = { sizes = "what is combined with what depends on the size, so a declared one is refused" },
})
transform("np.map", {
    shapes = ROWS, options = { {}, { batch_size = 2 }, { batch_size = 0 }, { batch_size = 5 } },
    call = function(map_of, o, x, y)
        return map_of(function(p) return map(p.x, p.y), p.x:sum() end, { x = x, y = y }, next(o) and o or nil)
    end,
    oracle = "jax.lax.map(lambda p: (" .. MAP .. "(p[0], p[1]), p[0].sum()), (jnp.asarray(x), jnp.asarray(y)), "
        .. "batch_size=o.get('batch_size'))",
})

-- ---- Programs -------------------------------------------------------------------------------------------------------

transform("np.jit", {
    accepts = "floats ints complex", gives = "same",
    options = { {}, { static = {} }, { donate = {} }, { keep = { 1 } }, { device = "cpu:0" } },
    unseen = { sizes = "declared sizes are in tests/lazy/sizes_test.lua",
               in_shardings = "layouts are in tests/mesh/contract_test.lua", out_shardings = "as in_shardings" },
    call = function(jit, o, x, y) return jit(function(a, b) return a * b + a, a - b end, o)(x, y) end,
    oracle = "(x * y + x, x - y)",
    without = { mesh = "an array on a mesh is on other devices than the option's; tests/mesh/jit_test.lua has the rest",
                programs = "a program of a jitted function is in tests/stdlib/jit_test.lua",
                jit = "a jitted function in another, with a device of its own, is in tests/stdlib/jit_test.lua" },
})

elsewhere("f.defvjp f.defjvp", "tests/stdlib/custom_test.lua", "rules, which np.custom_vjp and np.custom_jvp call")
elsewhere("f.def_vmap", "tests/stdlib/custom_vmap_test.lua", "the rule of a function, which np.custom_vmap calls")
elsewhere("np.checkpoint_name", "tests/stdlib/policies_test.lua", "names of values that np.checkpoint keeps")
elsewhere("np.jit_cache np.clear_caches", "tests/stdlib/jit_test.lua", "they tell of recordings, and drop them")
elsewhere("np.trace program.text program.inputs program.outputs program.dot program.svg",
          "tests/lazy/program_test.lua", "a program is an object: its texts, facts and use as a function")
elsewhere("program.cost program.compile", "tests/lazy/program_cost_test.lua",
          "what a run costs, and its code, ahead of it")
elsewhere("program.with_sizes", "tests/lazy/sizes_test.lua", "a program for given sizes is one like others there")
elsewhere("program.info program.save np.load_program", "tests/lazy/program_file_test.lua",
          "programs of every op, dtype and effect in files; the way `programs` of all contracts uses them, too")
elsewhere("program.list_inputs program.list_outputs np.export np.deferred", "tests/stdlib/deferred_test.lua",
          "deferred compute line by line; the way `programs` of all contracts uses np.deferred, too")
elsewhere("np.eval_shape", "tests/stdlib/eval_shape_test.lua", "it gives shapes and dtypes, and runs nothing")
elsewhere("np.staged", "tests/stdlib/staged_test.lua", "a block's programs, kept between calls")
elsewhere("np.disable_jit", "tests/stdlib/disable_jit_test.lua", "jitted functions as they are without np.jit")
elsewhere("np.check_grads", "tests/stdlib/check_grads_test.lua",
          "it raises or gives nothing; tests/golden/checks_test.lua compares with JAX")
elsewhere("np.named_scope", "tests/stdlib/named_scope_test.lua", "it names what programs show")

finish()
