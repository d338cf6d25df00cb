--- transpose_test.lua (sanitized with --long): np.linear_transpose: trees, shapes alone, what is linear and what is
-- not, and how it composes. tests/contracts/transforms_test.lua compares with JAX.
local check = require "tests.lib.check"
local np = require "neap"

local function same(a, b, what) check.equal(a:totable(), b:totable(), what) end

local m = np.array { { 1, 2 }, { -1, 0.5 }, { 3, 4 } }

check.test("the transpose of a product is one of the transposed matrix, of shapes alone, without computing", function()
    local back = np.linear_transpose(function(x) return np.matmul(m, x) end, { shape = { 2 } })
    local ct = np.array { 1, -2, 0.5 }
    same(back(ct), np.matmul(m.T, ct))
    same(back(ct * 2), np.matmul(m.T, ct) * 2)
    local poisoned = np.debug.fail(np.ones(2))
    same(np.linear_transpose(function(x) return np.matmul(m, x) end, poisoned)(ct), np.matmul(m.T, ct))
    local z = np.array { 1 + 2i }:astype "c64" -- not conjugated
    same(np.linear_transpose(function(x) return x * z end, z)(z), z * z)
end)

check.test("trees of arguments and of results, several of each; constants that are added count nothing", function()
    local back = np.linear_transpose(function(p, s)
        return { sum = p.w:sum() * 3 + 7 }, p.list[1] * m + s
    end, { w = { shape = { 3 } }, list = { { shape = { 3, 2 } } } }, { shape = {} })
    local p, s = back({ sum = np.array(2) }, m)
    same(p.w, np.full(3, 6))
    same(p.list[1], m * m)
    same(s, m:sum())
    local half = np.linear_transpose(function(x) return x:astype "f32" * 2 end, { shape = { 2 }, dtype = "f16" })
    check.equal(half(np.ones(2)).dtype, "f16")
end)

check.test("what is not linear is refused", function()
    for what, f in pairs {
        square = function(x) return x * x end,
        sine = np.sin,
        ["ReLU"] = function(x) return np.maximum(x, 0) end,
        branch = function(x) return np.cond(x:sum():gt(0), function(v) return v end, function(v) return -v end, x) end,
        loop = function(x) return (np.scan(function(c) return c * x end, x, nil, { length = 2 })) end,
    } do
        local ok, problem = pcall(np.linear_transpose, f, np.ones(2))
        check.equal(ok, false, what)
        check.equal(problem:find("np.linear_transpose: f is not linear", 1, true) ~= nil, true, problem)
    end
    check.raises(function() np.linear_transpose(function(x, y) return x * y end, np.ones(2), np.ones(2)) end,
                 "f is not linear")
    local loop = np.linear_transpose(function(x)
        return (np.scan(function(c, k) return c * k end, x, np.array { 2, 3 }))
    end, np.ones(2))
    same(loop(np.ones(2)), np.full(2, 6))
end)

check.test("what f reads is differentiated, jitted and batched", function()
    local x = np.array { 1, 2, 3 }
    local function through(w, ct)
        return np.linear_transpose(function(v) return np.cumsum(v) * w end, x)(ct)
    end
    local want = np.flip(np.cumsum(np.flip(x * x)))
    same(through(x, x), want)
    same(np.jit(through)(x, x), want)
    same(np.vmap(through)(np.stack { x, -x }, np.stack { x, x }), np.stack { want, -want })
    same(np.grad(function(w) return through(w, x):sum() end)(x), np.array { 1, 4, 9 })
    same(np.linear_transpose(np.linear_transpose(function(v) return np.cumsum(v) end, x), x)(x), np.cumsum(x))
end)

check.test("mistakes are told", function()
    for pattern, f in pairs {
        ["argument 1 %(f%) must be a function"] = function() np.linear_transpose(1, 2) end,
        ["expected an argument in which f is linear"] = function() np.linear_transpose(np.sum) end,
        ["must hold floats to be differentiated, got dtype i32"] = function()
            np.linear_transpose(np.negative, np.arange(2))
        end,
        ["there is no dtype"] = function() np.linear_transpose(np.negative, { shape = { 2 }, dtype = "f33" }) end,
        ["expected dtype f32 and shape %(2,%), got f32 and %(3,%)"] = function()
            np.linear_transpose(np.negative, np.ones(2))(np.ones(3))
        end,
    } do
        check.raises(f, pattern)
    end
end)

check.done()
