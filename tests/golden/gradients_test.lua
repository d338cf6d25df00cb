--- gradients_test.lua (sanitized with --long): values and derivatives equal JAX's (gradients.txt; make_gradients.py has
-- the same functions).
--
-- Every case runs in f64 and, against the same values, in f32: by np.value_and_grad with all inputs as one tree, and
-- once more inside np.jit. Derivatives of the second and third order are made of forward and reverse mode in several
-- ways.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local cases = {} -- by name: function(inputs…) → scalar

local function weigh(y)
    local weights = (np.arange(y.size, { dtype = y.dtype }) * 0.125 + 0.5):reshape(y.shape)
    return (y * weights):sum()
end

local nn = np.nn
local unary = { softplus = nn.softplus, silu = nn.silu, relu = nn.relu, sigmoid = np.sigmoid }
for _, name in ipairs { "exp", "expm1", "tanh", "sin", "cos", "abs", "square", "negative", "atan", "erf", "sinh",
                        "cosh", "floor", "sign", "log", "log1p", "log2", "sqrt", "reciprocal", "asinh", "exp2", "log10",
                        "rsqrt", "cbrt", "asin", "acos", "atanh", "tan", "erf_inv", "acosh" } do
    unary[name] = np[name]
end
unary.gelu = function(x) return nn.gelu(x, { approximate = false }) end
unary.gelu_tanh = function(x) return nn.gelu(x, { approximate = true }) end
for name, f in pairs(unary) do
    cases["unary_" .. name] = function(x) return weigh(f(x)) end
end

function cases.sum_of_squares(x) return (x * x):sum() end
function cases.scalar_argument(x) return x * x * x - 2 * x end
function cases.arithmetic(x, y) return weigh((x + y) * (x - y) * 0.5 - 3 * x + (2 - y)) end
function cases.division(x, y) return weigh(x / y + 2 / y + x / 4) end
function cases.power(x, y) return weigh(x ^ y) end
function cases.power_number(x) return weigh(x ^ 2 + x ^ 3) end
function cases.power_half(x) return weigh(x ^ 0.5 + x ^ -1.5) end
function cases.number_power(x) return weigh(2 ^ x) end
function cases.broadcasting(x, y, z, s) return weigh(x * y * z * s + y - x) end
function cases.where_branches(x, y) return weigh(np.where(x:gt(0), x * y, x / y)) end
function cases.where_guarded(x)
    local safe = np.where(x:gt(0), x, 1)
    return weigh(np.where(x:gt(0), np.log(safe), 0))
end
function cases.max_ties(x) return weigh(x:max { axis = 1 }) + 2 * x:max() end
function cases.min_ties(x) return weigh(x:min { axis = 0 }) + 2 * x:min() end
function cases.maximum_ties(x, y) return weigh(np.maximum(x, y)) + 3 * weigh(np.minimum(x, y)) end
function cases.maximum_number(x) return weigh(np.maximum(x, 0)) end
function cases.clipped(x) return weigh(np.clip(x, -1, 2)) end
function cases.reductions(x)
    return weigh(x:sum { axis = 0 }) + 2 * weigh(x:mean { axis = 1 }) + x:mean()
        + weigh(x:sum { axis = 1, keepdims = true } * x)
end
function cases.variance(x) return weigh(x:var { axis = 1 }) + x:std() + weigh(x:var { axis = 0, keepdims = true }) end
function cases.product(x) return weigh(x:prod { axis = 1 }) + x:prod() end
function cases.logsumexp(x) return weigh(np.logsumexp(x, { axis = 1 })) + np.logsumexp(x) end
function cases.softmax(x)
    return weigh(np.softmax(x, { axis = -1 })) + weigh(np.log_softmax(x, { axis = 0 }))
end
function cases.normalisation(x)
    local m = x:mean { axis = 1, keepdims = true }
    local v = ((x - m) ^ 2):mean { axis = 1, keepdims = true }
    return weigh((x - m) / np.sqrt(v + 1e-3))
end
function cases.slicing(x)
    return weigh(x "1:3, ::-1") + 2 * weigh(x "::2") + 3 * weigh(x[-1])
        + weigh(x[{ {}, { 1, 6, 2 } }] * x[{ {}, { 0, 3 } }]) + x[{ 2, 3 }]
end
function cases.views(x)
    local y = x:transpose(2, 0, 1):reshape(4, 6)
    local z = x:flip { axis = 1 }:reshape(6, 4)
    local w = np.broadcast_to(x[{ {}, np.newaxis, 0, { 0, 1 } }], { 2, 5, 1 })
    return weigh(y * y) + weigh(z:matmul(y)) + weigh(w) + weigh(np.squeeze(x ":, 1:2, :", { axis = 1 }).T)
end
function cases.joining(x, y, z)
    return weigh(np.concatenate({ x, y, x }, { axis = 1 })) + weigh(np.stack({ x, z, x * z }, { axis = 1 }))
end
function cases.take_repeated(x)
    local rows = np.take(x, np.array({ 0, 3, 3, 1, 3 }, { dtype = "i32" }), { axis = 0 })
    local columns = np.take(x, np.array({ { 2, 0 }, { 2, 2 } }, { dtype = "i32" }), { axis = 1 })
    return weigh(rows * rows) + weigh(columns)
end
local function index(list) return np.array(list, { dtype = "i32" }) end
function cases.sorting(x)
    return weigh(np.sort(x, { axis = 1 }) ^ 2) + weigh(np.sort(x, { axis = 0 }) * x)
end
function cases.cumulative(x)
    return weigh(np.cumsum(x, { axis = 0 }) ^ 2) + weigh(np.cumprod(x, { axis = 1 }))
end
function cases.product_zeros(x)
    return weigh(x:prod { axis = 1 }) + weigh(x:prod { axis = 0 }) + (x + 1):prod()
end
function cases.scatter(x, y, z)
    local added = x:at { index { 0, 2, 2, 1, 0 } }:add(y * y)
    return weigh(added * added) + weigh((x * x):at { index { 3, 1 } }:set(z) ^ 2)
end
function cases.scatter_others(x, z)
    local at = { 3, 0, -2 } -- rows 3 and 1
    return weigh(x:at { at }:mul(z)) + weigh(x:at { at }:max(z) ^ 2) + weigh(x:at { at }:min(z - 1))
end
function cases.along_axis(x)
    local order = index { { 2, 0, 0 }, { 1, 1, 3 }, { 0, 3, 2 } }
    local rows = index { { 2, 0, 0, 1 } }
    return weigh(np.take_along_axis(x, order, { axis = 1 }) ^ 2)
        + weigh(np.take_along_axis(x * x, rows, { axis = 0 }))
end
function cases.rearranged(x)
    local y = np.pad(x * x, { { 1, 2 }, { 0, 1 } })
    return weigh(np.roll(y, 2, { axis = 1 }) * y) + weigh(np.repeat_(x, 2, { axis = 0 }) ^ 2)
        + weigh(np.tile(x, { 2, 2 })) + weigh(np.diag(x[0])) + weigh(np.tril(y) * np.triu(y, -1))
end
function cases.power_edges(x)
    return weigh(x ^ 3) + weigh(x ^ np.array({ 3, 2, 0, 3, 2 }, { dtype = x.dtype })) + weigh(x ^ 4)
end
function cases.division_edges(x, y)
    return weigh(x / y) + weigh(x * x / (y * y)) + weigh(np.sqrt(x * x + 1) / y)
end
function cases.binary_functions(x, y)
    return weigh(np.atan2(x, y)) + weigh(np.hypot(x, y)) + weigh(np.logaddexp(x, y)) + weigh(y ^ x)
end
function cases.remainders(x, y) return weigh(np.remainder(x, y) * x) + weigh(np.copysign(x, -y) * y) end
function cases.clipped_by_arrays(x, low, high) return weigh(np.clip(x * x, low, high) * x) end
function cases.contractions(x, y)
    return weigh(np.einsum("abc,cd->dba", x, y)) ^ 2 + weigh(np.tensordot(x[0], y, 1))
        + weigh(np.outer(x[0][0], y[1]))
end
function cases.attention(q, k, v)
    local scores = q:matmul(k.T) / math.sqrt(3)
    scores = np.where(np.tri(4, { dtype = "bool" }), scores, -1e9)
    return weigh(np.softmax(scores, { axis = -1 }):matmul(v))
end
function cases.stopped(x) return (x * np.stop_gradient(x) * x):sum() end
function cases.norm_of(x) return np.sqrt((x * x):sum()) + np.exp(-(x * x):sum()) end
function cases.matmul_1d_1d(x, y) return x:matmul(y) ^ 2 end
function cases.matmul_1d_2d(x, a, y) return weigh(x:matmul(a)) + weigh(a:matmul(y)) end
function cases.matmul_2d_2d(a, b) return weigh(np.tanh(a:matmul(b))) end
function cases.matmul_batched(a, b, c) return weigh(a:matmul(b)) + weigh(np.matmul(a, c) ^ 2) end
function cases.matmul_broadcast(a, b) return weigh(a:matmul(b)) end
function cases.matmul_transposed(a, x, b) return weigh(a.T:matmul(x)) + weigh(a.T:matmul(b.T)) end
function cases.mlp_cross_entropy(x, w1, b1, w2, b2)
    local labels = np.array({ 2, 0, 1, 2, 2 }, { dtype = "i32" })
    local logits = np.tanh(x:matmul(w1) + b1):matmul(w2) + b2
    local log_probability = logits - np.logsumexp(logits, { axis = 1, keepdims = true })
    return -(np.one_hot(labels, 3, { dtype = x.dtype }) * log_probability):sum { axis = 1 }:mean()
end
function cases.loop(x, w)
    for _ = 1, 10 do x = np.tanh(x:matmul(w)) + x * 0.5 end
    return (x * x):mean()
end
function cases.unused_argument(x) return (x * x):sum() end
function cases.used_many_times(x)
    local y = x * x
    return (y * y + y * x + np.exp(y * 0.25) * y):sum()
end
function cases.second_order(x)
    return weigh(np.grad(function(v) return (v ^ 3 * np.tanh(v)):sum() end)(x))
end
function cases.third_order(x)
    local f = function(v) return v ^ 4 * np.tanh(v) + np.exp(v) end
    return np.grad(np.grad(f))(x)
end
function cases.hessian_vector(a, v)
    local f = function(u) return np.tanh(a:matmul(u)):sum() + (u * u * u):sum() end
    return weigh(np.grad(function(u) return (np.grad(f)(u) * v):sum() end)(v))
end
function cases.nested_captured(x, y)
    local inner = np.grad(function(v) return (v * y * np.sin(v * x)):sum() end)
    return (inner(y) * x):sum()
end
function cases.linear_product(w, w0) return (w * w0):sum() end
function cases.integer_path(x)
    return weigh(np.one_hot(x:argmax { axis = 1 }, 3, { dtype = x.dtype }) * x)
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local collector = reader.collector()

local tolerances = { f32 = { "scaled 5e-05", "scaled 5e-04", "scaled 5e-03" } }

--- Compares derivatives of an order with the fields of a record that hold them.
local function differences(record, dtype, order, derivatives)
    local stop, found, n = reader.position(record, "="), {}, #derivatives
    local tolerance = (tolerances[dtype] or {})[order] or record[2]
    for k = 1, n do
        local want = reader.array(record[stop + 1 + (order - 1) * n + k])
        want.dtype = dtype
        local text = reader.difference(derivatives[k], want, tolerance)
        if text then found[#found + 1] = ("derivative %d: %s"):format(k, text) end
    end
    return found[1] and table.concat(found, "; ")
end

--- The direction of the higher derivatives, as in make_gradients.py.
local function direction(inputs)
    local list = {}
    for i, input in ipairs(inputs) do
        local values = {}
        for k = 0, input.size - 1 do values[k + 1] = ((7 * k + 3 * (i - 1)) % 11 - 5) / 8 end
        list[i] = np.array(values, { dtype = input.dtype }):reshape(input.shape)
    end
    return list
end

--- For a function of one tree and a direction v, functions of the same tree. Along v, forward mode:
local function along(f, v)
    return function(tree) return (select(2, np.jvp(f, { tree }, { v }))) end
end

--- … and of a scalar, reverse mode:
local function across(f, v)
    return function(tree)
        local gradients, total = np.grad(f)(tree), 0
        for k = 1, #gradients do total = total + (gradients[k] * v[k]):sum() end
        return total
    end
end

-- The gradient of the derivative along v (of the second derivative along v) in different orders of modes.
local orders = {
    [2] = {
        ["reverse over forward"] = function(f, v) return np.grad(along(f, v)) end,
        ["forward over reverse"] = function(f, v) return along(np.grad(f), v) end,
        ["reverse over reverse"] = function(f, v) return np.grad(across(f, v)) end,
    },
    [3] = {
        ["reverse over forward over forward"] = function(f, v) return np.grad(along(along(f, v), v)) end,
        ["forward over forward over reverse"] = function(f, v) return along(along(np.grad(f), v), v) end,
        ["forward over reverse over forward"] = function(f, v) return along(np.grad(along(f, v)), v) end,
        ["reverse over reverse over reverse"] = function(f, v) return np.grad(across(across(f, v), v)) end,
    },
}

local function inputs_of(record, dtype)
    local inputs = {}
    for k = 3, reader.position(record, "=") - 1 do inputs[#inputs + 1] = reader.build(record[k], dtype) end
    return inputs
end

local function as_it_is(f) return f end

local function first_order(record, dtype, value, gradients)
    local want = reader.array(record[reader.position(record, "=") + 1])
    want.dtype = dtype
    return reader.difference(value, want, dtype == "f32" and "scaled 5e-05" or record[2])
        or differences(record, dtype, 1, gradients)
end

for _, record in ipairs(reader.records "gradients") do
    local name = record[1]
    local f = cases[name]
    if not f then
        collector.skip(name, "neap has no function for it")
    else
        local on_tree = function(inputs) return f(unpack(inputs)) end
        for _, dtype in ipairs { "f64", "f32" } do
            collector.add(name, function()
                return first_order(record, dtype, np.value_and_grad(on_tree)(inputs_of(record, dtype)))
            end, dtype)
        end
        collector.add(name, function()
            return first_order(record, "f64", np.jit(np.value_and_grad(on_tree))(inputs_of(record, "f64")))
        end, "jitted")
        for order, ways in pairs(orders) do
            for way, derive in pairs(ways) do
                local function compare(dtype, transform)
                    local inputs = inputs_of(record, dtype)
                    return differences(record, dtype, order, transform(derive(on_tree, direction(inputs)))(inputs))
                end
                collector.add(name, function() return compare("f64", as_it_is) end, way)
                if way == "reverse over forward" or way == "forward over forward over reverse" then
                    collector.add(name, function() return compare("f64", np.jit) end, way .. ", jitted")
                    collector.add(name, function() return compare("f32", as_it_is) end, way .. ", f32")
                end
            end
        end
    end
end

--- Which arguments, trees and extra results.
local function forms(name, f)
    collector.add(name, f, name)
end

local x, y = np.array { 1, 2 }, np.array { 3, 5 }
local function product(a, b) return (a * a * b):sum() end

forms("argnums chooses an argument", function()
    return reader.difference(np.grad(product, { argnums = { 2 } })(x, y), "f32[2] 1 4", "exact")
end)
forms("nested trees keep their form", function()
    local function f(tree) return (tree.layers[1].w * tree.layers[2].w * tree.scale):sum() end
    local tree = { layers = { { w = x }, { w = y } }, scale = np.array(2) }
    local value, gradients = np.value_and_grad(f)(tree)
    return reader.difference(value, "f32[] 26", "exact")
        or reader.difference(gradients.layers[1].w, "f32[2] 6 10", "exact")
        or reader.difference(gradients.layers[2].w, "f32[2] 2 4", "exact")
        or reader.difference(gradients.scale, "f32[] 13", "exact")
end)
forms("a captured array is not differentiated", function()
    return reader.difference(np.grad(function(w) return (w * x):sum() end)(x), "f32[2] 1 2", "exact")
end)
collector.finish(check)
