--- policies_test.lua (sanitized with --long): np.checkpoint with options: what is kept, the same derivatives.
local check = require "tests.lib.check"
local np = require "neap"

local named = np.checkpoint_name
local x = np.random.normal(np.random.key(0), { 6, 5 }, { dtype = "f64" })
local w = np.random.normal(np.random.key(1), { 5, 5 }, { dtype = "f64" })

local function f(v, u)
    local a = np.tanh(named(v:matmul(u), "a"))
    local b = np.sin(named(a:matmul(u), "b")) + v
    local c = named(np.exp(b * 0.1), "c")
    return (c * a):sum { axis = 1 }, { b = b }
end

local function loss(g)
    return function(v, u)
        local y, more = g(v, u)
        return (y * y):sum() + (more.b * 0.5):sum()
    end
end

local function close(got, want, what)
    check.equal(np.allclose(got, want, { rtol = 1e-12, atol = 1e-12 }), true, what)
end

local POLICIES = { { save = "a" }, { save = { "a", "c" } }, { save = { "a", "b", "c" } }, { save = {} },
                   { most = 1e6 }, { most = 0 }, { most = 300 }, { save = { "b", "c" }, most = 240 },
                   { policy = "dots_saveable" }, { policy = "dots_with_no_batch_dims_saveable" },
                   { policy = "everything_saveable" }, { policy = "nothing_saveable" },
                   { policy = "dots_saveable", save = "c" }, { policy = "dots_saveable", most = 240 },
                   { policy = function(op) return op.op == "tanh" or op.name == "c" end },
                   { policy = function() return true end }, { policy = function() return "offload" end, most = 0 },
                   { policy = function(op) return op.op == "matmul2" end, most = 240 } }

check.test("values and gradients, jitted, batched, twice, forward over reverse", function()
    for k, policy in ipairs(POLICIES) do
        local g = np.checkpoint(f, policy)
        local what = "policy " .. k
        close((g(x, w)), (f(x, w)), what)
        close((np.jit(g)(x, w)), (f(x, w)), what)
        local want = { np.grad(loss(f), { argnums = { 1, 2 } })(x, w) }
        for _, h in ipairs { np.grad(loss(g), { argnums = { 1, 2 } }),
                             np.jit(np.grad(loss(g), { argnums = { 1, 2 } })) } do
            local got = { h(x, w) }
            close(got[1], want[1], what)
            close(got[2], want[2], what)
        end
        local rows = np.stack { x, x * 2, x - 1 }
        close(np.vmap(np.grad(loss(g)), { in_axes = { 0, false } })(rows, w),
              np.vmap(np.grad(loss(f)), { in_axes = { 0, false } })(rows, w), what)
    end
    local function slope(h) return function(v) return (np.grad(loss(h))(v, w) ^ 2):sum() end end
    local g = np.checkpoint(f, { save = { "a", "c" } })
    close(np.grad(slope(g))(x), np.grad(slope(f))(x), "twice")
    close(select(2, np.jvp(function(v) return np.grad(loss(g))(v, w) end, { x }, { x })),
          select(2, np.jvp(function(v) return np.grad(loss(f))(v, w) end, { x }, { x })), "forward over reverse")
end)

check.test("arrays from around it, numbers, integers, trees", function()
    local function around(wrap)
        return function(u)
            local g = wrap(function(p, k)
                local h = named(np.tanh(p.v:matmul(u) * k), "h")
                return { y = h:matmul(u):sum(), n = p.i + 1 }
            end)
            local result = g({ v = x, i = np.arange(3), s = "text" }, 3)
            return result.y * result.n:sum()
        end
    end
    local function kept(g) return np.checkpoint(g, { save = "h" }) end
    close(np.grad(around(kept))(w), np.grad(around(function(g) return g end))(w))
    close(np.jit(np.grad(around(kept)))(w), np.grad(around(kept))(w))
end)

--- How many products a program runs.
local function products_of(program)
    for _, row in ipairs(program:cost().ops) do
        if row.op == "matmul2" then return row.count end
    end
end

--- How many the gradient of g runs.
local function products(g)
    return products_of(np.trace(np.grad(loss(g), { argnums = { 1, 2 } }))(x, w))
end

check.test("what is kept is not computed again", function()
    local all, none = products(f), products(np.checkpoint(f))
    check.equal(none > all, true)
    check.equal(products(np.checkpoint(f, { save = { "a", "b" } })), all)
    check.equal(products(np.checkpoint(f, { save = "zzz" })), none)
    check.equal(products(np.checkpoint(f, { most = 1e9 })), all)
    check.equal(products(np.checkpoint(f, { most = 10 })), none)
    local half = products(np.checkpoint(f, { save = "a" }))
    check.equal(half < none and half >= all, true)
    -- Of three values of 240 bytes each, a and b save a product each, and c none.
    check.equal(products(np.checkpoint(f, { most = 480 })), all)
end)

-- Functions, and how many products their values and gradients take: without np.checkpoint, then with each policy. JAX
-- 0.10 counts the same in the jaxpr of jax.value_and_grad(jax.checkpoint(f, policy=…), argnums=(0, 1)), where a and v
-- are ones of shapes (2, 4, 3) and (3, 3).
local COUNTS = {
    { "dense layers", { 9, 12, 9, 9, 9 }, function(a, v)
        for _ = 1, 3 do a = np.tanh(a:matmul(v)) end
        return a:sum()
    end },
    { "attention", { 15, 20, 15, 17, 15 }, function(a, v)
        local q, k, u = a:matmul(v), np.sin(a:matmul(v)), a:matmul(v * 2)
        local s = np.softmax(q:matmul(np.swapaxes(k, -1, -2)), { axis = -1 })
        return (s:matmul(u) ^ 2):sum()
    end },
    { "einsum", { 9, 12, 9, 11, 9 }, function(a, v)
        local q = np.einsum("bij,jk->bik", a, v)
        local s = np.exp(np.einsum("bij,bkj->bik", q, np.sin(q)) * 0.1)
        return np.sin(np.einsum("bij,bjk->bik", s, a)):sum()
    end },
}

check.test("policies of products keep those that JAX keeps", function()
    for _, case in ipairs(COUNTS) do
        local what, wanted, g = unpack(case)
        local got = { products_of(np.trace(np.value_and_grad(g, { argnums = { 1, 2 } }))(np.ones { 2, 4, 3 },
                                                                                        np.ones { 3, 3 })) }
        for k, policy in ipairs { "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable",
                                  "everything_saveable" } do
            local h = np.value_and_grad(np.checkpoint(g, { policy = policy }), { argnums = { 1, 2 } })
            got[k + 1] = products_of(np.trace(h)(np.ones { 2, 4, 3 }, np.ones { 3, 3 }))
        end
        check.equal(got, wanted, what)
    end
end)

-- How many products JAX 0.10 counts with jax.checkpoint(f, policy=lambda prim, *avals, **params: …), in this order:
-- prim.name == "dot_general" and len(avals[1].shape) == 2; prim.name == "dot_general".
local ASKED = { ["dense layers"] = { 9, 9 }, attention = { 17, 15 }, einsum = { 11, 9 } }

check.test("policies that are functions keep what those of JAX keep", function()
    local asked = {
        function(op) return op.op == "matmul2" and (#op.shape == 2 or op.shape[1] == 1) end, -- np.einsum: 1 pair
        function(op) return op.op == "matmul2" end,
    }
    for _, case in ipairs(COUNTS) do
        local got = {}
        for k, policy in ipairs(asked) do
            local h = np.value_and_grad(np.checkpoint(case[3], { policy = policy }), { argnums = { 1, 2 } })
            got[k] = products_of(np.trace(h)(np.ones { 2, 4, 3 }, np.ones { 3, 3 }))
        end
        check.equal(got, ASKED[case[1]], case[1])
    end
end)

check.test("what a policy is told of each op", function()
    local seen = {}
    local function g(v)
        local a = named(np.tanh(v:matmul(w)), "hidden")
        local b = np.fori_loop(0, 2, function(_, c) return np.sin(c) end, a)
        return (b * 2 + np.ones { 5 }):sum { axis = 0 }
    end
    np.trace(np.grad(function(v)
        return np.checkpoint(g, { policy = function(op)
            seen[#seen + 1] = op
            return false
        end })(v):sum()
    end))(x)
    local by_op = {}
    for _, op in ipairs(seen) do by_op[op.op] = op end
    local product, tanh, sum = by_op.matmul2, by_op.tanh, by_op.sum
    check.equal(product.inputs, { { dtype = "f64", shape = { 6, 5 } }, { dtype = "f64", shape = { 5, 5 } } })
    check.equal({ product.dtype, product.shape, product.name or false }, { "f64", { 6, 5 }, false })
    check.equal({ tanh.name, tanh.line:match "^[^:]*" }, { "hidden", "tests/stdlib/policies_test.lua" })
    check.equal({ by_op.multiply.inputs[2], sum.shape }, { 2, { 5 } })
    check.equal({ by_op.sin or false, by_op.scan or false }, { false, false }, "nothing is asked of loops")
end)

check.test("a policy with names, and within bytes", function()
    local all, none = products(f), products(np.checkpoint(f))
    check.equal(products(np.checkpoint(f, { policy = "dots_saveable", most = 480 })), all)
    check.equal(products(np.checkpoint(f, { policy = "dots_saveable", most = 10 })), none)
    local function count(g, o) return products_of(np.trace(np.value_and_grad(np.checkpoint(g, o)))(x)) end
    local function chain(v) return np.sin(named(np.sin(v:matmul(w)), "a"):matmul(w)):sum() end
    check.equal({ count(chain), count(chain, { save = "a" }), count(chain, { policy = "dots_saveable" }) }, { 6, 6, 4 })
    local function loop(v) return np.fori_loop(0, 2, function(_, c) return np.sin(c:matmul(w)) end, v):sum() end
    check.equal(count(loop, { policy = "dots_saveable" }), count(loop), "products of a loop inside are not kept")
end)

check.test("policies in loops, batches and jitted functions around the checkpoint", function()
    local function layer(c) return np.tanh(np.einsum("ij,jk->ik", c, w)) + c end
    local function deep(step)
        return function(v) return (np.scan(function(c) return step(c) end, v, nil, { length = 3 })):sum() end
    end
    local g = np.checkpoint(layer, { policy = "dots_with_no_batch_dims_saveable" })
    close(np.grad(deep(g))(x), np.grad(deep(layer))(x), "scan")
    close(np.jit(np.grad(deep(g)))(x), np.grad(deep(layer))(x), "jit of scan")
    local rows = np.stack { x, x * 2 }
    close(np.vmap(np.grad(deep(g)))(rows), np.vmap(np.grad(deep(layer)))(rows), "batch")
end)

check.test("names mean nothing elsewhere", function()
    check.equal(np.checkpoint_name(np.ones(2), "x"):totable(), { 1, 1 })
    local g = np.checkpoint(function(v)
        return np.fori_loop(0, 3, function(_, c) return named(np.sin(c), "inner") end, named(v * 2, "outer"))
    end, { save = { "inner", "outer" } })
    local function plain(v) return np.fori_loop(0, 3, function(_, c) return np.sin(c) end, v * 2) end
    close(np.grad(function(v) return g(v):sum() end)(x), np.grad(function(v) return plain(v):sum() end)(x))
    local nested = np.checkpoint(function(v)
        local inner = np.checkpoint(function(u) return named(np.tanh(u), "b") * u end, { save = "b" })
        return inner(named(np.sin(v), "a")) + v
    end, { save = "a" })
    local function flat(v) return np.tanh(np.sin(v)) * np.sin(v) + v end
    close(np.grad(function(v) return nested(v):sum() end)(x), np.grad(function(v) return flat(v):sum() end)(x))
end)

check.test("what is refused", function()
    check.raises(function() np.checkpoint(f, { save = 3 }) end, "np.checkpoint: .*'save'")
    check.raises(function() np.checkpoint(f, { save = { 3 } }) end, "name 1 must be a text")
    check.raises(function() np.checkpoint(f, { most = -1 }) end, "np.checkpoint: .*'most'")
    check.raises(function() np.checkpoint(f, { policy = "dots" }) end, "np.checkpoint: .*'policy'.*dots_saveable")
    check.raises(function() np.checkpoint(f, { policy = true }) end, "np.checkpoint: .*'policy'")
    local function always() return "yes" end
    check.raises(function() np.checkpoint(f, { policy = always, save = "a" }) end,
                 "np.checkpoint: option 'policy': the function says all that is kept; leave out the options 'save' and")
    check.raises(function() np.grad(loss(np.checkpoint(f, { policy = always })))(x, w) end,
                 "np.checkpoint: option 'policy': the function must return true, false or \"offload\", got .*yes")
    check.raises(function()
        local g = np.checkpoint(f, { policy = function() return true end })
        np.trace(np.grad(loss(g)), { sizes = { { "n", 5 } } })(x, w)
    end, "a program with declared sizes cannot have a policy of a np.checkpoint that is a function")
    check.raises(function() np.checkpoint(f, { policy = "nothing_saveable", save = "a" }) end, "leave out the options")
    check.raises(function() np.checkpoint(f, { policy = "everything_saveable", most = 1 }) end, "leave out the options")
    check.raises(function() np.checkpoint(f, { keep = 1 }) end, "unknown option 'keep'")
    local runs = 0
    local function changing(v) -- the value in front of others would be taken for the next one
        runs = runs + 1
        if runs > 1 then v = v:matmul(np.eye(5)) end
        return np.sin(np.sin(v:matmul(w)):matmul(w)):sum()
    end
    check.raises(function() np.grad(np.checkpoint(changing, { policy = "dots_saveable" }))(x) end,
                 "np.checkpoint: the function has 2 values to keep when it is traced first, and 3 when")
    check.raises(function() np.checkpoint_name(np.ones(2), 3) end, "np.checkpoint_name: argument 2 %(name%)")
    check.raises(function() np.checkpoint_name(nil, "x") end, "np.checkpoint_name: argument 1")
    check.raises(function() np.jvp(function(v) return (np.checkpoint(f, { save = "a" })(v, w)) end, { x }, { x }) end,
                 "no forward derivative")
end)

check.done()
