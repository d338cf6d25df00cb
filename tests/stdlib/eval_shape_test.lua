--- eval_shape_test.lua (under tsan with --long): np.eval_shape: shapes, dtypes and places of results, without
-- running anything; tables that stand for arrays on meshes and devices, in np.trace and np.linear_transpose too.
-- Runs itself again with four devices.
local np = require "neap"
local check = require "tests.lib.check"
require "tests.lib.devices"(4, "tests/stdlib/eval_shape_test.lua")

local BIG = { shape = { 100000, 100000 } }

local function spec(dtype, ...) return { shape = { ... }, dtype = dtype } end

local function lies(y) return tostring(y.sharding.spec) end

--- f(…), which may launch nothing and keep nothing.
local function without_work(f, ...)
    collectgarbage()
    np.wait_all()
    np.memory.reset_peak()
    local before, live = np.debug.counters(), np.memory().live
    local function pack(...) return { n = select("#", ...), ... } end
    local results = pack(f(...))
    local after = np.debug.counters()
    check.equal(after.launches - before.launches, 0, "launches")
    check.equal(after.flushes - before.flushes, 0, "flushes")
    check.equal(np.memory().peak - live < 4096, true, "bytes")
    collectgarbage()
    np.wait_all()
    check.equal(np.debug.counters().launches - before.launches, 0, "launches afterwards")
    return unpack(results, 1, results.n)
end

check.test("results of any size, without memory", function()
    local f = function(x) return x + np.random.normal(np.random.key(0), { 100000, 100000 }) end
    check.equal(without_work(np.eval_shape, f, BIG), spec("f32", 100000, 100000))
    check.equal(without_work(np.eval_shape, f, np.zeros { 100000, 100000 }), spec("f32", 100000, 100000))
    local y = without_work(np.eval_shape, function(a, b)
        return np.matmul(a, np.cumsum(b, { axis = 0 })):astype("f64")
    end, BIG, { shape = { 100000, 7 }, dtype = "i32" })
    check.equal(y, spec("f64", 100000, 7))
end)

check.test("trees, several results, statics and numbers", function()
    local y, rest, n, none, flag = without_work(np.eval_shape, function(params, how, k)
        local layer = params.layers[2]
        local h = np.matmul(params.x, layer.w) + layer.b
        return how.act(h) * k, { max = np.max(h, { axis = 0 }), name = how.name }, 3, nil, true
    end, { x = spec("f32", 4, 3), layers = { {}, { w = spec("f32", 3, 5), b = np.zeros(5) } } },
    { act = np.tanh, name = "tanh" }, 2)
    check.equal(y, spec("f32", 4, 5))
    check.equal(rest, { max = spec("f32", 5), name = "tanh" })
    check.equal({ n, none == nil, flag }, { 3, true, true })
end)

check.test("numbers, dtypes and devices follow the rules of recording", function()
    local a, b, c = np.eval_shape(function(x, k)
        return x * k, k * 2, np.arange(3, { dtype = "f32" }) * 0.5
    end, spec("i32", 2), 3)
    check.equal({ a, b, c }, { spec("i32", 2), spec("f32"), spec("f32", 3) })
    check.equal(np.eval_shape(function(x) return x end, { shape = { 0, 2 } }), spec("f32", 0, 2))
    check.equal(np.eval_shape(function() return np.sort(np.ones(3)) end), spec("f32", 3))
    check.equal(np.eval_shape(np.grad(function(w) return (w * w):sum() end), spec("f64", 3)), spec("f64", 3))
end)

check.test("np.trace takes such tables too", function()
    local f = function(x, params, n) return { y = x:matmul(params.w) * n } end
    local program = np.trace(f)({ shape = { 2, 3 } }, { w = spec("f64", 3, 4) }, 2)
    check.equal({ program:list_inputs(), program:outputs()[1].shape, program:outputs()[1].dtype },
                { { "x", "params.w", "n" }, { 2, 4 }, "f64" })
    local w = np.arange(12, { dtype = "f64" }):reshape(3, 4)
    check.equal(program(np.ones { 2, 3 }, { w = w }, 5).y:totable(), f(np.ones { 2, 3 }, { w = w }, 5).y:totable())
    check.raises(function() np.trace(f)({ shape = { 2, 3 }, dtype = "x9" }) end, "there is no dtype")
end)

check.test("in and around other transformations", function()
    local key = np.random.key(0)
    local function layer(w, x)
        local h = np.checkpoint(function(z) return np.tanh(np.matmul(z, w)) end)(x)
        h = np.fori_loop(0, 3, function(_, s) return s + np.random.normal(key, { 8 }) end, h)
        return np.cond(np.sum(h):gt(0), function() return h * 2 end, function() return h end)
    end
    local function loss(w, xs) return np.sum(np.vmap(function(x) return layer(w, x) end)(xs)) end
    local w, xs = spec("f32", 4, 8), spec("f32", 1000, 4)
    for _, f in ipairs { loss, np.jit(loss) } do
        local value, slope = np.eval_shape(np.value_and_grad(f), w, xs)
        check.equal({ value, slope }, { spec("f32"), w })
    end
    local inner
    local outer = np.jit(function(x)
        inner = np.eval_shape(function(y) return np.matmul(y, x) end, { shape = { 5, 2 } })
        return x * inner.shape[1]
    end)
    check.equal(outer(np.ones { 2, 3 })[0]:totable(), { 5, 5, 5 })
    check.equal(inner, spec("f32", 5, 3))
    check.equal(np.grad(function(x)
        return np.sum(x) * np.eval_shape(function(y) return np.matmul(y, x) end, { shape = { 5, 2 } }).shape[2]
    end)(np.ones { 2, 3 })[0]:totable(), { 3, 3, 3 })
end)

check.test("what f reads on the host, prints and keeps", function()
    local shown = 0
    local tell = np.callback(function() shown = shown + 1 end)
    local y = np.eval_shape(function(x)
        tell(x)
        local n = np.sum(np.arange(4)):item()
        return np.zeros(n) + np.sum(x)
    end, { shape = { 3 } })
    np.effects_barrier()
    check.equal({ y, shown }, { spec("f32", 6), 0 })
    local kept
    np.eval_shape(function(x) kept = x + 1 return x end, { shape = { 3 } })
    check.raises(function() return (kept + 1):totable() end, "a trace that has ended")
end)

check.test("the parameters of a block", function()
    local block = np.nn.Sequential { np.nn.Dense(100000), np.tanh, np.nn.Dense(2) }
    local key, x = np.random.key(0), spec("f32", 3, 100000)
    local params = without_work(np.eval_shape, function(k, given) return block:init(k, given) end, key, x)
    check.equal({ params[1], params[3] }, { { w = spec("f32", 100000, 100000), b = spec("f32", 100000) },
                                            { w = spec("f32", 100000, 2), b = spec("f32", 2) } })
    local y, slopes = without_work(np.eval_shape, function(p, given)
        return np.value_and_grad(function(q) return block(q, given):sum() end)(p)
    end, params, x)
    check.equal({ y, slopes[1].w }, { spec("f32"), params[1].w })
end)

check.test("bodies on a mesh", function()
    local function body(x)
        local r = np.random.normal(np.random.fold_in(np.random.key(0), np.axis_index("i")), { 100000, 100000 })
        return x + np.psum(r, "i"), np.psum(np.sum(x), "i")
    end
    local f = np.shard_map(body, { mesh = np.mesh({ 4 }, { "i" }), in_specs = { np.P("i") },
                                   out_specs = { np.P("i"), np.P() } })
    local y, sum = without_work(np.eval_shape, f, spec("f32", 400000, 100000))
    check.equal({ y.shape, y.dtype, lies(y), sum.shape, sum.dtype, lies(sum) },
                { { 400000, 100000 }, "f32", 'P("i", nil)', {}, "f32", "P()" })
end)

-- ---- Where arrays lie -----------------------------------------------------------------------------------------------

local mesh = np.mesh({ 2, 2 }, { "i", "j" })
local rows = np.NamedSharding(mesh, np.P("i"))

--- A table that stands for an array of f32 that lies so.
local function laid(sharding, ...) return { shape = { ... }, sharding = sharding } end

local function product(x, w) return np.tanh(x:matmul(w)), x:sum { axis = 0 } end

check.test("results tell how they lie", function()
    local big = laid(rows, 100000, 100000)
    local y, sum, w = without_work(np.eval_shape, function(x)
        local step, slope = product(x, x), np.grad(function(v) return np.sum(v * v) end)(x)
        return step, x:sum { axis = 0 }, slope
    end, big)
    check.equal({ lies(y), lies(sum), lies(w) }, { 'P("i", nil)', "P(nil)", 'P("i", nil)' })
    check.equal({ y.sharding.mesh == mesh, y.sharding:shard_shape(y.shape) }, { true, { 50000, 100000 } })
    check.equal(lies(without_work(np.eval_shape, np.transpose, y)), 'P(nil, "i")')
    check.equal(np.eval_shape(product, spec("f32", 4, 4), spec("f32", 4, 4)).sharding, nil)
    local before = np.set_mesh(mesh)
    check.equal(lies(np.eval_shape(np.sin, laid(np.P(nil, "j"), 3, 4))), 'P(nil, "j")')
    np.set_mesh(before)
    local x = np.device_put(np.ones { 4, 2 }, rows)
    check.equal(np.eval_shape(np.sin, laid(x.sharding, 6, 3)).sharding, x.sharding)
end)

check.test("devices", function()
    local device = np.devices()[2]
    local y = np.eval_shape(np.sin, laid("cpu:1", 3))
    check.equal({ y.sharding, np.eval_shape(np.sin, y).sharding }, { device, device })
    local program = np.trace(np.sin)(laid(device, 3)):compile()
    check.equal({ program:inputs()[1].device, program:outputs()[1].device }, { "cpu:1", "cpu:1" })
    check.equal(program(np.device_put(np.zeros(3), "cpu:1")).device, device)
    check.equal(program(np.zeros(3)):totable(), { 0, 0, 0 })
    local x = np.device_put(np.ones(3), device)
    local function double(v) return v * 2 end
    for _, like in ipairs { x, laid(device, 3) } do
        local back = np.linear_transpose(double, like)(x)
        check.equal({ back:totable(), back.device }, { { 2, 2, 2 }, device })
    end
end)

check.test("programs of what lies on a mesh", function()
    local w = np.arange(8):astype("f32"):reshape(4, 2)
    local x = np.device_put(np.arange(24):astype("f32"):reshape(6, 4) / 8, rows)
    local program = without_work(np.trace(product), laid(rows, 6, 4), spec("f32", 4, 2))
    check.equal(tostring(program), tostring(np.trace(product)(x, w)))
    check.equal({ program:inputs()[1].sharding, program:inputs()[2].sharding }, { x.sharding })
    check.equal({ lies(program:outputs()[1]), lies(program:outputs()[2]) }, { 'P("i", nil)', "P(nil)" })
    check.equal(program:cost().flops, np.trace(product)(x, w):cost().flops)
    local y, sum = program:compile()(x, w)
    local y_now, sum_now = product(x, w)
    check.equal({ y:totable(), sum:totable(), lies(y) }, { y_now:totable(), sum_now:totable(), 'P("i", nil)' })
    check.equal((program(np.array(x:totable()), w)):totable(), y:totable())
    local jitted = np.jit(product, { in_shardings = { rows, false }, out_shardings = { np.P("i", "j"), false } })
    check.equal(lies(np.trace(jitted)(laid(rows, 6, 4), spec("f32", 4, 2)):outputs()[1]), 'P("i", "j")')
    check.raises(function() np.trace(jitted)(laid(np.NamedSharding(mesh, np.P("j")), 6, 4), spec("f32", 4, 2)) end,
                 "argument 1 lies on {i=2, j=2} as P%(\"j\", nil%), and in_shardings wants P%(\"i\"%)")
    local back = np.linear_transpose(function(v) return v:matmul(w) end, laid(rows, 6, 4))(y)
    check.equal(lies(back), 'P("i", nil)')
end)

check.test("declared sizes of what lies on a mesh", function()
    local program = np.trace(function(x) return x * x.shape[1] end)(laid(rows, "2*n", "m"))
    check.equal(program:outputs()[1].sharding ~= nil, true)
    local y = program(np.device_put(np.ones { 6, 5 }, rows))
    check.equal({ y[0]:totable(), lies(y) }, { { 6, 6, 6, 6, 6 }, 'P("i", nil)' })
    check.raises(function() np.trace(np.sin)(laid(rows, "n", 4)) end,
                 "argument 1 has shape %(the size n, 4%), and its sharding is P%(\"i\"%), which divides array axis 0 .*"
                 .. "but 2 does not divide n evenly")
end)

check.test("blocks in the body of a shard_map", function()
    local block, shown
    np.shard_map(function(x)
        block = x.sharding
        shown = np.eval_shape(function(y) return y * x, np.psum(y, "i") end, laid(block, 3, 2))
        local sum = np.eval_shape(function(y) return np.psum(y, "i") end, shown)
        check.equal({ shown.sharding, sum.sharding.varies }, { block, {} })
        return x
    end, { mesh = mesh, in_specs = np.P("i"), out_specs = np.P("i") })(np.ones { 6, 2 })
    check.equal({ shown.shape, shown.sharding.varies }, { { 3, 2 }, { "i" } })
    check.raises(function() np.eval_shape(np.sin, shown) end,
                 "field 'sharding' is NamedSharding.*only in the body of a np.shard_map over these axes")
end)

check.test("what does not lie so", function()
    local function refused(form, problem)
        check.raises(function() np.eval_shape(product, { a = form }) end, problem)
        check.raises(function() np.trace(product)({ a = form }) end, problem)
    end
    refused(laid(rows, 5, 4), "argument 1.a has shape %(5, 4%), and its sharding is P%(\"i\"%), which divides array "
            .. "axis 0 %(of size 5%) by mesh axis 'i' %(of size 2%), but 2 does not divide 5 evenly")
    refused(laid(rows), "argument 1.a has shape %(%), which has 0 axes, but its sharding is P%(\"i\"%), which has 1 "
            .. "entry")
    refused(laid(np.P("i"), 4), "argument 1.a, field 'sharding' is P%(\"i\"%), a spec without a mesh: np.set_mesh")
    refused(laid(3, 4), "field 'sharding' must be a sharding such as .*, a spec, or a device .*, got the number 3")
    refused(laid("cpu:99", 4), "there is no device 'cpu:99'")
    refused({ shape = { 4 }, device = "cpu:0" }, "has also 'device': field 'sharding' takes a device, too")
    check.raises(function() np.pure_callback(np.sin, laid(rows, 4))(np.ones(4)) end, "has also 'sharding'")
end)

check.test("errors", function()
    check.raises(function() return np.eval_shape(3) end, "eval_shape: argument 1 %(f%) must be a function")
    check.raises(function() return np.eval_shape(np.sin, { a = { shape = { 2 }, dtype = "f12" } }) end,
                 "argument 1.a: there is no dtype the string")
    check.raises(function() return np.eval_shape(np.sin, { shape = { -1 } }) end, "from 0 up, got the number %-1")
    check.raises(function() return np.eval_shape(np.sin, { shape = { 2 }, size = 2 }) end, "has also 'size'")
    check.raises(function() return np.eval_shape(np.matmul, { shape = { 2, 3 } }, { shape = { 2, 3 } }) end, "matmul")
    check.raises(function() return np.eval_shape(function(x) local y = x:item() return y end, { shape = {} }) end,
                 "eval_shape_test.lua:%d+: .*not known while tracing")
    check.raises(function() return np.eval_shape(function() return print end) end, "must return arrays, numbers")
end)

check.done()
