--- block_test.lua (under tsan with --long): np.nn.Block: parameters from shapes, hybridized blocks (line E6 of
-- docs/deferred.md), and the layers of np.nn that need an oracle.
local check = require "tests.lib.check"

local nn = np.nn
local key = np.random.key(7)
local x = np.random.normal(np.random.key(1), { 5, 3 })

local function programs()
    return np.debug.counters().programs
end

--- A two-layer block with named children, written as a user would.
local function Net(hidden, outputs)
    return nn.Block {
        hidden = nn.Dense(hidden), out = nn.Dense(outputs),
        forward = function(self, params, input)
            return self.out(params.out, np.tanh(self.hidden(params.hidden, input)))
        end,
    }
end

local function loss_of(net)
    return function(params) return (net(params, x) * net(params, x)):mean() end
end

-- ---- Parameters -----------------------------------------------------------------------------------------------------

check.test("E6: parameter shapes come from the inputs of the first call; nothing is computed for that", function()
    local model = nn.Sequential { nn.Dense(4), nn.relu, nn.Sequential { nn.Dense(6), nn.LayerNorm() }, nn.Dense(2) }
    np.wait_all()
    np.debug.limits { nodes = 0, bytes = 0 }
    local launches = np.debug.counters().launches
    local params = model:init(key, x)
    check.equal(np.debug.counters().launches, launches)
    np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
    check.equal({ params[1].w.shape, params[2], params[3][1].w.shape, params[3][2].scale.shape, params[4].w.shape },
                { { 3, 4 }, {}, { 4, 6 }, { 6 }, { 6, 2 } })
    check.equal(model(params, x).shape, { 5, 2 })
end)

check.test("E6: the same parameters as with all sizes given", function()
    local open = Net(4, 2)
    local given = nn.Block { hidden = nn.Dense(3, 4), out = nn.Dense(4, 2), forward = open.forward }
    local a, b = open:init(key, x), given:init(key)
    check.equal(np.tree.map(function(leaf) return leaf:totable() end, a),
                np.tree.map(function(leaf) return leaf:totable() end, b))
    check.equal(open(a, x):totable(), given(b, x):totable())
end)

check.test("E6: infer_shape of the user's own block", function()
    local seen
    local scaled = nn.Block {
        units = 4,
        parameters = { { "weight", nn.he_normal }, { "gain", nn.ones } },
        infer_shape = function(self, input)
            seen = input.shape
            return { weight = { input:dim(-1), self.units }, gain = { self.units } }
        end,
        forward = function(_, params, input) return input:matmul(params.weight) * params.gain end,
    }
    local params = scaled:init(key, x)
    check.equal({ seen, params.weight.shape, params.gain:totable() }, { { 5, 3 }, { 3, 4 }, { 1, 1, 1, 1 } })
    local inner = nn.Sequential { nn.Dense(6), scaled }
    check.equal(inner:init(key, x)[2].weight.shape, { 6, 4 })
    check.equal(seen, { 5, 6 })
end)

check.test("an init of the user's own", function()
    local bias = nn.Block {
        init = function(_, _, input) return { b = np.ones { input:dim(-1) } } end,
        forward = function(_, params, input) return input + params.b end,
    }
    check.equal(bias(bias:init(key, x), x):totable(), (x + 1):totable())
end)

check.test("a child that is called twice has one set of parameters; one that is not called needs its sizes", function()
    local twice = nn.Block {
        layer = nn.Dense(3), spare = nn.Dense(2, 2),
        forward = function(self, params, input)
            local once = self.layer(params.layer, input)
            return self.layer(params.layer, once) + params.layer.b
        end,
    }
    local params = twice:init(key, x)
    check.equal({ params.layer.w.shape, params.spare.w.shape }, { { 3, 3 }, { 2, 2 } })
    local early = nn.Block { layer = nn.Dense(3), forward = function(_, tree) return tree.layer.w end }
    check.raises(function() early:init(key, x) end, "reads the parameter 'w' of a child whose sizes are not known")
end)

check.test("a block with a state: initialize, then calls with inputs alone", function()
    local net = Net(4, 2):initialize(key)
    check.equal(net.params, nil)
    local y = net(x)
    check.equal(net.params.hidden.w.shape, { 3, 4 })
    check.equal(y:totable(), Net(4, 2)(net.params, x):totable())
    check.equal(net:apply(net.params, x):totable(), y:totable())
    net.params = np.tree.map(np.zeros_like, net.params)
    check.equal(net(x):sum():item(), 0)
end)

-- ---- Open sizes in declared shapes ----------------------------------------------------------------------------------

--- The shape that a parameter of the declared shape gets from forward(w, input), of `input`.
local function shape_from(declared, input, forward)
    local net = nn.Block {
        parameters = { { "w", nn.zeros, declared } },
        forward = function(_, params, ...) return forward(params.w, ...) end,
    }
    local params = net:init(key, input)
    net(params, input)
    return params.w.shape
end

check.test("E6: open sizes follow from what is computed, as if infer_shape had said them", function()
    local function Layer(definition)
        definition.name = "Layer"
        definition.forward = function(_, params, input)
            local w, b = params.w, params.b
            return np.tanh(input:matmul(w) + b) * b + w:sum()
        end
        return nn.Block(definition)
    end
    local open = Layer { parameters = { { "w", nn.he_normal, { false, 4 } }, { "b", nn.ones, { false } } } }
    local said = Layer { parameters = { { "w", nn.he_normal }, { "b", nn.ones } },
                         infer_shape = function(_, input) return { w = { input:dim(-1), 4 }, b = { 4 } } end }
    local stack, expected = nn.Sequential { open, nn.relu, open }, nn.Sequential { said, nn.relu, said }
    np.wait_all()
    np.debug.limits { nodes = 0, bytes = 0 }
    local launches = np.debug.counters().launches
    local params = stack:init(key, x)
    check.equal(np.debug.counters().launches, launches, "nothing is computed")
    np.debug.limits { nodes = 1024, bytes = 2 ^ 26 }
    check.equal({ params[1].w.shape, params[1].b.shape, params[3].w.shape }, { { 3, 4 }, { 4 }, { 4, 4 } })
    check.equal(stack(params, x):totable(), expected(expected:init(key, x), x):totable())
    local model = stack:initialize(key):hybridize()
    check.equal(model(x):totable(), stack(params, x):totable())
    check.equal(model:export(x)(model.params, x):totable(), stack(params, x):totable())
end)

check.test("open sizes: elementwise functions tell the extents that an axis meets", function()
    local cases = {
        function(w, a) return a + w end, function(w, a) return w * a end, function(w, a) return a:maximum(w) end,
        function(w, a) return np.where(np.greater(a, 0), a, w) end, function(w, a) return np.clip(a, w, 4) end,
        function(w, a) return w ^ a end,
    }
    for _, forward in ipairs(cases) do
        check.equal(shape_from({ false }, x, forward), { 3 })
        check.equal(shape_from({ false, false }, x, forward), { 5, 3 })
        check.equal(shape_from({ 1, false }, x, forward), { 1, 3 })
    end
    local function with_row(w, a) return np.where(np.ones({ 5, 1 }, { dtype = "bool" }), w, a) end
    check.equal(shape_from({ false, false }, x, with_row), { 5, 3 })
    check.equal(shape_from({ false }, np.ones { 2, 1 }, function(w, a) return w + a end), { 1 })
    check.equal(shape_from({ false }, np.ones { 2, 0 }, function(w, a) return w + a end), { 0 })
end)

check.test("open sizes: products tell the axes that are summed and the batch", function()
    check.equal(shape_from({ false, 4 }, x, function(w, a) return a:matmul(w) end), { 3, 4 })
    check.equal(shape_from({ false }, x, function(w, a) return a:matmul(w) end), { 3 })
    check.equal(shape_from({ 4, false }, x, function(w, a) return w:matmul(a) end), { 4, 5 })
    check.equal(shape_from({ 4, false }, x, function(w, a) return np.matmul(a, w.T) end), { 4, 3 })
    check.equal(shape_from({ 4, false }, x, function(w, a) return np.matmul(a, w.T) + (a * w[0]):sum() end), { 4, 3 })
    check.equal(shape_from({ false, 4 }, x[0], function(w, a) return np.dot(a, w) end), { 3, 4 })
    local batch = np.ones { 2, 5, 3 }
    check.equal(shape_from({ false, false, 4 }, batch, function(w, a) return np.matmul(a, w) end), { 2, 3, 4 })
    check.equal(shape_from({ false, 4 }, batch, function(w, a) return nn.dense(a, w) end), { 3, 4 })
    local function heads(w, a) return np.einsum("bnd,dhk->bhnk", a, w) end
    check.equal(shape_from({ false, 2, 7 }, batch, heads), { 3, 2, 7 })
    check.equal(shape_from({ 4, false }, batch, function(w, a) return np.einsum("...d,od", a, w) end), { 4, 3 })
    local function mixed(w, a) return np.einsum("...nd,...no", a, w) end
    check.equal(shape_from({ false, 5, 4 }, batch, mixed), { 2, 5, 4 })
end)

check.test("open sizes: convolutions tell the channels of kernels", function()
    local images = np.ones { 2, 8, 8, 6 }
    check.equal(shape_from({ 3, 3, false, 4 }, images, function(w, a) return nn.conv(a, w) end),
                { 3, 3, 6, 4 })
    check.equal(shape_from({ 3, 3, false, 4 }, images, function(w, a) return nn.conv(a, w, { groups = 2 }) end),
                { 3, 3, 3, 4 })
    check.equal(shape_from({ 4, false, 3, 3 }, images, function(w, a) return nn.conv(a, w, { layout = "NCHW" }) end),
                { 4, 8, 3, 3 })
    check.equal(shape_from({ 2, 2, false, 4 }, images, function(w, a) return nn.conv_transpose(a, w) end),
                { 2, 2, 6, 4 })
end)

check.test("open sizes: children, several parameters, functions around; infer_shape wins", function()
    local net = nn.Block {
        parameters = { { "table", nn.ones, { 7, 4 } }, { "gain", nn.ones, { false } }, { "u", nn.zeros, { 4, false } },
                       { "v", nn.zeros, { false, 2 } } },
        inner = nn.Dense(6),
        forward = function(self, params, ids)
            local h = self.inner(params.inner, np.take(params.table, ids, { axis = 0 }))
            h = np.jit(function(a) return a * params.gain end)(h)
            local rows = np.vmap(function(row) return row:matmul(params.v) end)(h)
            return rows:sum() + (params.u * np.ones { 4, 5 }):sum()
        end,
    }
    local params = net:init(key, np.array({ 1, 2, 3 }, { dtype = "i32" }))
    check.equal({ params.table.shape, params.gain.shape, params.u.shape, params.v.shape, params.inner.w.shape },
                { { 7, 4 }, { 6 }, { 4, 5 }, { 6, 2 }, { 4, 6 } })
    local wins = nn.Block {
        parameters = { { "w", nn.zeros, { false, 9 } }, { "b", nn.zeros, { false } } },
        infer_shape = function() return { w = { 3, 2 } } end,
        forward = function(_, p, a) return a:matmul(p.w) + p.b end,
    }
    params = wins:init(key, x)
    check.equal({ params.w.shape, params.b.shape }, { { 3, 2 }, { 2 } })
    local known = nn.Block { parameters = { { "w", nn.zeros, { 3, 2 } } }, forward = function(_, p) return p.w end }
    check.equal(known:init(key).w.shape, { 3, 2 })
end)

check.test("open sizes: where it ends is an error that names the block, the parameter, the function and what to do",
           function()
    local function fails(declared, forward, pattern)
        local net = nn.Block { name = "Mine", parameters = { { "w", nn.zeros, declared } },
                               forward = function(_, params, a) return forward(params.w, a) end }
        check.raises(function() net:init(key, x) end, pattern)
    end
    local unknown = ": the size of axis 0 of the parameter 'w' of Mine, %(%?, 8%), does not follow .* infer_shape"
    fails({ false, 8 }, function(w) return np.take(w, 0) end, "block_test.lua:%d+: np.take" .. unknown)
    fails({ false, 8 }, function(w) return np.exp(w) end, "np.exp" .. unknown)
    fails({ false, 8 }, function(w) return -w end, "np.negative" .. unknown)
    fails({ false, 8 }, function(w) return 2 * w end, "np.multiply" .. unknown)
    fails({ false, 8 }, function(w, a) return w + a[{ 0, { 0, 1 } }] end, "np.add" .. unknown)
    fails({ false, 8 }, function(w) return w[0] end, "np.array" .. unknown)
    fails({ false, 8 }, function(w) return w.shape[1] end, "np.array" .. unknown)
    fails({ false, 8 }, function(w) return #w end, "np.array" .. unknown)
    fails({ false, 8 }, function(w) return w:matmul(w) end, "np.matmul" .. unknown)
    fails({ 3, false }, function(w, a) return a:matmul(w) end, "np.matmul: the size of axis 1 .*%(3, %?%)")
    fails({ 8, false }, function(w) return w.T[0] end, "np.array: .* of Mine, transposed, %(%?, 8%)")
    fails({ false, 8 }, function(w, a) return np.concatenate { a, w } end, "got the parameter 'w' of Mine, %(%?, 8%)")
    fails({ false, 8 }, function(w) return np.grad(np.sum)(w) end, "got the parameter 'w' of Mine, %(%?, 8%)")
    fails({ false }, function(w, a) return np.jit(np.sum)(w, a + w) end,
          "got the parameter 'w' of Mine, read before its sizes were known: read it again")
    fails({ false }, function(_, a) return a end, "'w' of Mine has open sizes, %(%?,%), and forward does not use it")
    fails({ 4, false }, function(w, a) return a:matmul(w) + w end, "np.matmul: the size of axis 1")
    fails({ false, 4 }, function(w, a) return a:matmul(w) * np.ones { 5 } end, "shapes %(5, 4%) and %(5,%)")
    fails({ 2, false }, function(w, a) return a + w end, "np.add: shapes %(5, 3%) and %(2, 3%)")
    local net = nn.Block { name = "Mine", parameters = { { "w", nn.zeros, { false } } },
                           forward = function(_, params, a) return a + params.w end }
    check.raises(function() net:init(key) end, "'w' of Mine has open sizes, %(%?,%), and they come from an example")
    local function declare(dims)
        return function() nn.Block { forward = print, parameters = { { "w", nn.zeros, dims } } } end
    end
    check.raises(declare(3), "the shape of 'w' must be a table, got the number 3")
    check.raises(declare { 3, true }, "the size of axis 1 of 'w' must be an integer from 0 up, or false")
    check.raises(declare { -1 }, "the size of axis 0 of 'w'")
    check.raises(function()
        nn.Block { forward = print, parameters = { { "w", nn.zeros } } }:init(key, x)
    end, "the parameter 'w' has neither a shape, as in {name, initializer, {false, 10}}, nor infer_shape")
    check.ok(not x:matmul(x:transpose()):is_deferred(), "the mode is left")
end)

check.test("errors", function()
    check.raises(function() nn.Dense(4):initialize() end, "np.nn.Dense.initialize: argument 1 %(key%) must be a key")
    check.raises(function() nn.Dense(4):init(key) end, "np.nn.Dense: the size of its input is not known")
    check.raises(function() Net(4, 2):init(key) end, "np.nn.Dense: the size of its input is not known")
    check.raises(function() Net(4, 2)(x, x) end, "argument 1 %(params%) must be what block:init%(key%) returned")
    check.raises(function() nn.Dense(2)({}, x) end, "np.nn.Dense: argument 1 %(params%)")
    check.raises(function() nn.Sequential { nn.Dense(2), nil, nn.Dense(3) } end, "item 2 of the table of layers is nil")
    check.raises(function() nn.Block {} end, "option 'forward' must be a function")
    check.raises(function() nn.Block(1) end, "must be a table")
    check.raises(function() nn.Block { forward = print, infer_shape = 1 } end, "option 'infer_shape'")
    check.raises(function() nn.Block { forward = print, parameters = { "w" } } end, "item 1 must be {name, init")
    check.raises(function() nn.Block { forward = print, 3 } end, "item 1 must be a layer or a function")
    local function bad(shapes)
        return function()
            nn.Block { forward = print, parameters = { { "w", nn.zeros } },
                       infer_shape = function() return shapes end }:init(key, x)
        end
    end
    check.raises(bad { v = { 1 } }, "no shape for the parameter 'w'")
    check.raises(bad(nil), "infer_shape must give a table")
    local ok, problem = pcall(function()
        nn.Block { nn.Dense(2), forward = function() error({ 5 }) end }:init(key, x)
    end)
    check.ok(not ok and problem[1] == 5)
    check.ok(not x:matmul(x:transpose()):is_deferred(), "the mode is left")
end)

-- ---- Hybridized blocks ----------------------------------------------------------------------------------------------

check.test("E6: the first call traces forward and makes a program, later calls run it", function()
    local calls, net = 0, Net(4, 2)
    local forward = net.forward
    function net.forward(...)
        calls = calls + 1
        return forward(...)
    end
    local params = net:init(key, x)
    local expected = net(params, x):totable()
    net:hybridize()
    calls = 0
    local before = programs()
    check.equal(net(params, x):totable(), expected)
    check.equal({ calls, programs() - before }, { 1, 1 })
    for _ = 1, 3 do check.equal(net(params, x):totable(), expected) end
    check.equal({ calls, programs() - before }, { 1, 1 })
    check.equal(net(params, np.ones { 2, 3 }).shape, { 2, 2 })
    check.equal({ calls, programs() - before }, { 2, 2 })
    net:hybridize(false)
    check.equal(net(params, x):totable(), expected)
    check.equal({ calls, programs() - before }, { 3, 2 })
end)

check.test("E6: only the outermost block is traced", function()
    local inner = Net(4, 3):hybridize()
    local model = nn.Sequential { inner, nn.Dense(2):hybridize(), nn.tanh }:hybridize()
    local before = programs()
    local params = model:init(key, x)
    check.equal(programs(), before)
    local y = model(params, x)
    check.equal(programs(), before + 1)
    check.equal(y:totable(), model:hybridize(false)(params, x):totable())
    check.equal(programs(), before + 3, "now they are outermost themselves")
end)

check.test("E6: hybridize takes MXNet's options, and no others", function()
    local net = Net(4, 2)
    check.equal({ net:hybridize { static_alloc = true, static_shape = true }.hybridized,
                  net:hybridize { active = false, inline_limit = 3 }.hybridized }, { true, false })
    check.raises(function() net:hybridize { static_alloc = true, banana = 1 } end, "unknown option 'banana'")
    check.raises(function() net:hybridize "yes" end, "a boolean or a table of options")
end)

check.test("E6: a hybridized block in gradients, jit, vmap, deferred mode", function()
    local plain = Net(4, 2)
    local params = plain:init(key, x)
    local net = Net(4, 2):hybridize()
    local function gradients(f) return np.tree.map(function(leaf) return leaf:totable() end, np.grad(f)(params)) end
    check.equal(gradients(loss_of(net)), gradients(loss_of(plain)))
    check.equal(np.jit(loss_of(net))(params):item(), loss_of(plain)(params):item())
    local single = np.vmap(function(row) return net(params, row) end)(x)
    check.close(single:totable(), plain(params, x):totable(), 1e-6)
    local later = np.deferred(function() return net(params, x) end)
    check.ok(later:is_deferred())
    check.equal(later:totable(), plain(params, x):totable())
end)

check.test("E6: a forward that looks at values is a clear error, with the line", function()
    local net = nn.Block { forward = function(_, _, input)
        if input:sum():item() > 0 then return input end
        return -input
    end }
    check.equal(net({}, np.ones { 2 }):totable(), { 1, 1 })
    net:hybridize()
    check.raises(function() net({}, np.ones { 2 }) end, "block_test.lua:%d+: .*not known while tracing")
    check.equal(net:hybridize(false)({}, np.ones { 2 }):totable(), { 1, 1 })
end)

check.test("E6: an initialized and hybridized block; training it", function()
    local net = Net(8, 1):initialize(key):hybridize()
    local goal = x:sum { axis = 1, keepdims = true }
    local function loss(params) return np.nn.mse(net:apply(params, x), goal) end
    net(x)
    local optimizer = np.optim.adam { lr = 0.05 }
    local state, before, step = optimizer:init(net.params), loss(net.params):item(), np.value_and_grad(loss)
    for _ = 1, 60 do
        local _, grads = step(net.params)
        net.params, state = optimizer:update(grads, state, net.params)
    end
    check.ok(loss(net.params):item() < before / 10)
end)

check.test("E6: a block exports its program, with names", function()
    local net = Net(4, 2)
    local params = net:init(key, x)
    local program = net:export(params, x)
    check.equal(program:list_inputs(),
                { "params.hidden.b", "params.hidden.w", "params.out.b", "params.out.w", "input" })
    check.equal(program { input = x, params = params }:totable(), net(params, x):totable())
    check.equal(program(params, x):totable(), net(params, x):totable())
    local stateful = Net(4, 2):initialize(key)
    local other = stateful:export(x)
    check.equal(other { input = x, params = stateful.params }:totable(), stateful(x):totable())
    local own = stateful:export(stateful.params, x) -- given all the same
    check.equal(own(params, x):totable(), stateful(params, x):totable())
end)

-- ---- Layers ---------------------------------------------------------------------------------------------------------

check.test("Dropout", function()
    local layer, ones = nn.Dropout(0.25), np.ones { 4000 }
    local params = layer:init(key, ones)
    check.equal({ params, layer(params, ones):sum():item() }, { {}, 4000 })
    local y = layer(params, ones, key)
    check.close(y:sum():item(), 4000, 0.05)
    check.close(y:max():item(), 1 / 0.75, 1e-6)
    check.close(np.mean(np.equal(y, 0)):item(), 0.25, 0.03)
    local model = nn.Sequential { nn.Dense(4), layer, nn.Dense(2), nn.Dropout(0.5) }
    params = model:init(key, x)
    check.equal(model(params, x, key):totable(), model(params, x, key):totable())
    check.ok(not np.array_equal(model(params, x, key), model(params, x)))
    check.raises(function() nn.Dropout(1) end, "a number in %[0, 1%)")
end)

check.test("Embedding", function()
    local layer = nn.Embedding(10, 4)
    local params = layer:init(key)
    local ids = np.array({ { 1, 9 }, { 0, 1 } }, { dtype = "i32" })
    local y = layer(params, ids)
    check.equal({ y.shape, y[{ 0, 1 }]:totable() }, { { 2, 2, 4 }, params.table[9]:totable() })
    local g = np.grad(function(p) return layer(p, ids):sum() end)(params)
    check.equal(g.table:sum { axis = 1 }:totable(), { 4, 8, 0, 0, 0, 0, 0, 0, 0, 4 })
end)

check.test("LayerNorm", function()
    local layer = nn.LayerNorm { epsilon = 1e-5 }
    local params = layer:init(key, np.ones { 2, 4 })
    local y = layer(params, np.array { { 1, 2, 3, 4 }, { 0, 0, 0, 8 } })
    -- torch.nn.functional.layer_norm(…, (4,))
    check.close(y:totable(), { { -1.3416355, -0.44721183, 0.44721183, 1.3416355 },
                               { -0.57735, -0.57735, -0.57735, 1.7320504 } }, 1e-5)
end)

check.test("BatchNorm", function()
    local layer = nn.BatchNorm { momentum = 0.9 }
    local a = np.array { { 1, 10 }, { 3, 30 } }
    local params, state = layer:init(key, a), layer:state(a)
    local y, new = layer(params, a, state)
    check.close(y:totable(), { { -1, -1 }, { 1, 1 } }, 1e-5)
    check.close({ new.mean:totable(), new.var:totable() }, { { 0.2, 2 }, { 1, 10.9 } }, 1e-6)
    check.close(layer(params, a, new, false)[0]:totable(), { 0.8, 8 / math.sqrt(10.9) }, 1e-5)
    check.raises(function() layer(params, a) end, "argument 3 %(state%)")
end)

check.test("models, optimizers and functions with rules are shown as the code that makes them", function()
    local model = nn.Sequential { nn.Dense(3, 4), nn.relu, nn.Sequential { nn.Dropout(0.5), nn.LayerNorm() } }
    check.equal(tostring(model), [[
np.nn.Sequential{
    np.nn.Dense(3, 4),
    np.nn.relu,
    np.nn.Sequential{
        np.nn.Dropout(0.5),
        np.nn.LayerNorm,
    },
}]])
    local own = nn.Block { name = "Net", hidden = nn.Dense(4), [1] = function(a) return a end,
                           forward = function(self, params, a) return self.hidden(params.hidden, a) end }
    check.equal(tostring(own), "Net{\n    function,\n    hidden = np.nn.Dense(4),\n}")
    check.equal(tostring(own:initialize(key)), tostring(own))
    check.equal(tostring(np.optim.adam { lr = 0.1 }), "np.optim.adam{lr=0.1}")
    check.equal(tostring(np.optim.sgd { lr = np.optim.cosine_decay(0.1, 9) }), "np.optim.sgd{lr=a schedule}")
    local rule = np.custom_vjp(function(a) return a end)
    check.equal(tostring(rule), "np.custom_vjp(f), whose rule :defvjp(fwd, bwd) sets")
end)

check.test("a summary tells results, parameters and operations, and computes nothing", function()
    local model = nn.Sequential { nn.Conv(8, { 3, 3 }), nn.relu, nn.flatten, nn.Dense(10) }
    local s = nn.summary(model, { 4, 8, 8, 3 })
    check.equal({ #s.rows, s.parameters }, { 3, 3 * 9 * 8 + 8 + 8 * 8 * 8 * 10 + 10 })
    local row = s.rows[2]
    check.equal({ row.name, row.key, row.depth, row.result }, { "Conv", "1", 1, "(4, 8, 8, 8)" })
    check.ok(s.rows[3].flops >= 2 * 4 * 512 * 10 and s.rows[3].flops <= 2.5 * 4 * 512 * 10, tostring(s))
    check.ok(s.flops >= s.rows[2].flops + s.rows[3].flops, tostring(s))
    check.ok(tostring(s):find("4: Dense +%(4, 10%) +5,130"), tostring(s))
    local recurrent = nn.Block { inner = nn.LSTM(8, { layers = 2 }),
                                 forward = function(self, params, v) return self.inner(params.inner, v) end }
    check.ok(tostring(nn.summary(recurrent, np.ones { 4, 8, 3 })):find("inner: LSTM +%(4, 8, 8%) +992"))
    check.raises(function() nn.summary(3) end, "block")
    check.raises(function() nn.summary(nn.Dense(2)) end, "inputs")
    check.raises(function() nn.summary(nn.Dense(2, 3), { 4, 5 }) end,
                 "np.nn.Dense: its parameter w of shape %(2, 3%) is for 2")
    check.equal(#nn.summary(nn.Dense(2), { 1, 1 }).rows, 1, "after an error")
end)

check.test("a chain with layers that have a state", function()
    local function body() return { nn.Dense(4, 3), nn.BatchNorm { momentum = 0.5 }, nn.relu } end
    local inner = body()
    inner[#inner + 1] = nn.Dropout(0.5)
    local model = nn.Sequential { nn.Dense(4), nn.Sequential(inner), nn.BatchNorm(), nn.Dense(2) }
    local a = np.random.normal(np.random.key(3), { 6, 5 })
    local params = model:init(key, a)
    local first = model:state(params)
    check.equal({ #first, next(first[1]), next(first[4]), #first[2], next(first[2][1]) }, { 4, nil, nil, 4, nil })
    check.equal({ first[2][2].var:totable(), first[3].mean:totable() }, { { 1, 1, 1 }, { 0, 0, 0 } })
    -- The layers one by one.
    local drawn = np.random.fold_in(np.random.key(7), 2)
    local v = model[1](params[1], a)
    v = inner[1](params[2][1], v)
    local of_inner, of_outer
    v, of_inner = inner[2](params[2][2], v, first[2][2])
    v = inner[4]({}, nn.relu(v), np.random.fold_in(drawn, 4))
    v, of_outer = model[3](params[3], v, first[3])
    v = model[4](params[4], v)
    local y, state = model(params, a, np.random.key(7), first)
    check.equal(y:totable(), v:totable())
    check.equal({ state[2][2].mean:totable(), state[3].var:totable() },
                { of_inner.mean:totable(), of_outer.var:totable() })
    local tested, same = model(params, a, nil, state, false)
    check.equal(same[3].mean:totable(), state[3].mean:totable())
    local jitted = np.jit(function(p, s, given) return model(p, given, nil, s, false) end)
    check.ok(np.allclose(jitted(params, state, a), tested))
    local function loss(p)
        local out, new = model(p, a, np.random.key(7), first)
        return np.square(out):mean(), new
    end
    local value, new, gradients = np.value_and_grad(loss, { has_aux = true })(params)
    check.ok(value:item() > 0 and #np.tree.leaves(gradients) == #np.tree.leaves(params))
    check.equal(new[3].var:totable(), state[3].var:totable())
    check.raises(function() model(params, a) end, "argument 4 %(state%) must be what model:state%(params%)")
    check.raises(function() model(params, a, nil, { {} }) end, "argument 4 %(state%)")
    check.raises(function() model:state(3) end, "argument 1 %(params%)")
    check.equal(nn.Sequential({ nn.Dense(2) }).state, nil)
    check.ok(tostring(nn.summary(model, { 6, 5 })):find("2: BatchNorm +%(6, 3%)"))
    local empty = nn.BatchNorm()
    local of_empty = empty:init(key, np.ones { 0, 3 })
    check.raises(function() empty(of_empty, np.ones { 0, 3 }, empty:state(of_empty)) end, "nothing to take a mean of")
    check.equal(empty(of_empty, np.ones { 0, 3 }, empty:state(of_empty), false).shape, { 0, 3 })
end)

check.test("MultiHeadAttention", function()
    local layer = nn.MultiHeadAttention(2)
    local a = np.random.normal(np.random.key(2), { 3, 5, 4 })
    local params = layer:init(key, a)
    check.equal({ params.query.w.shape, params.out.w.shape }, { { 4, 4 }, { 4, 4 } })
    local y = layer(params, a)
    check.equal(y.shape, { 3, 5, 4 })
    -- one head, one query at a time, by hand
    local q, k, v = a[1]:matmul(params.query.w), a[1]:matmul(params.key.w), a[1]:matmul(params.value.w)
    local heads = {}
    for h = 0, 1 do
        local from, to = 2 * h, 2 * h + 2
        local qh, kh, vh = q[{ {}, { from, to } }], k[{ {}, { from, to } }], v[{ {}, { from, to } }]
        heads[h + 1] = np.softmax(qh:matmul(kh:transpose()) / math.sqrt(2), { axis = -1 }):matmul(vh)
    end
    check.close(y[1]:totable(), np.concatenate(heads, { axis = 1 }):matmul(params.out.w):totable(), 1e-5)
    local causal = np.tri(5):gt(0)
    local first = layer(params, a, nil, causal)[{ {}, 0 }]
    check.close(first:totable(), layer(params, a[{ {}, { 0, 1 } }])[{ {}, 0 }]:totable(), 1e-5)
    check.equal(layer(params, a, np.ones { 3, 7, 4 }).shape, { 3, 5, 4 })
    check.raises(function() nn.MultiHeadAttention(3):init(key, a) end, "must be a multiple of heads, 3, got 4")
end)

check.test("a recurrent layer has the parameters that it declares, and a key where one belongs", function()
    local sequences, params = np.ones { 2, 3, 5 }, nn.LSTM(5, 6):init(np.random.key(0))
    local function refuses(options, hidden, pattern)
        check.raises(function() nn.LSTM(5, hidden, options)(params, sequences) end, pattern)
    end
    refuses({ layers = 2 }, 6, "has no 'weight_ih_l1'")
    refuses({ bidirectional = true }, 6, "has no 'weight_ih_l0_reverse'")
    refuses({ bias = false }, 6, "has 'bias_[ih]h_l0', which this layer has not")
    refuses({}, 7, "'weight_hh_l0' must have shape %(28, 7%), got shape %(24, 6%)")
    local lengths = { lengths = np.array({ 1, 3 }, { dtype = "i32" }) }
    check.raises(function() nn.LSTM(5, 6)(params, sequences, lengths) end, "argument 3 %(key%) must be a key")
    check.raises(function() nn.lstm(sequences, params, { key = 3 }) end, "key")
end)

check.test("lp_pool of a window of zeros has a slope of 0", function()
    local some = np.array { 0, 0, 3, 4 }:reshape(1, 4, 1)
    for _, p in ipairs { 1.5, 2, 3 } do
        local slope = np.grad(function(v) return nn.lp_pool(v, p, 2):sum() end)(some):ravel()
        check.equal({ slope[0]:item(), slope[1]:item() }, { 0, 0 })
        check.ok(np.isfinite(slope):all():item())
    end
end)

check.test("names that others have", function()
    check.raises(function() return np.nn.xavier_uniform end, "here it is np%.nn%.glorot_uniform")
    check.raises(function() return np.nn.kaiming_normal_ end, "here it is np%.nn%.he_normal")
    check.raises(function() np.nn.LSTM(3, 4, { num_layers = 2 }) end, "here it is layers")
    check.raises(function() np.nn.LSTM(3, 4, { batch_first = true }) end, "time_major, which is false unless given")
    check.raises(function() return np.optim.GradScaler end, "np%.optim%.loss_scale")
    check.raises(function() return np.data.ImageFolder end, "np%.data%.image_folder")
end)

check.test("parameters that lack one", function()
    local three = np.ones { 2, 3 }
    check.raises(function() nn.Dense(3, 4)({ w = np.ones { 3, 4 } }, three) end,
                 "np%.nn%.Dense: argument 1 %(params%) has no 'b'")
    check.equal(nn.Dense(3, 4, { bias = false })({ w = np.ones { 3, 4 } }, three).shape, { 2, 4 })
    check.raises(function() nn.LayerNorm()({ scale = np.ones(3) }, three) end, "np%.nn%.LayerNorm: .* has no 'bias'")
    local model = nn.Sequential { nn.Dense(3, 4), nn.relu, nn.Embedding(5, 2) }
    local params = model:init(np.random.key(0))
    params[3] = {}
    check.raises(function() model(params, three) end, "np%.nn%.Embedding: .* has no 'table'")
    local block = nn.Block { parameters = { { "gain", nn.ones, { 3 } } },
                             forward = function(_, p, v) return v * (p.gain or 1) end }
    check.raises(function() block({}, three) end, "has no 'gain'")
end)

check.done()
