--- recurrent_test.lua: contracts of np.nn's recurrent networks (tests/lib/contracts.lua). Each is called with one set
-- of weights: of a second layer these are halved and weight_hh is weight_ih, too; of the way back rows are turned.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "recurrent"

local nn = np.nn
local WITHIN = { f64 = "scaled 1e-14", f32 = "scaled 2e-6", f16 = "ulp 1", bf16 = "ulp 1" }
local ACTIVATIONS = { tanh = np.tanh, relu = nn.relu, sigmoid = np.sigmoid }

local function small(dtype) return dtype:find "f" and { 0 / 0, math.huge } or { 1 } end
local ARGS = { { "x", special = small } }
for k, name in ipairs { "wi", "wh", "bi", "bh", "h", "c" } do
    ARGS[k + 1] = { name, from = -1.5, to = 1.5, special = false }
end

--- Weights named as in PyTorch.
local function weights(o, wi, wh, bi, bh)
    local tree, hidden = {}, wh:dim(1)
    for layer = 0, tonumber(o.layers or 1) - 1 do
        for way = 1, o.bidirectional and 2 or 1 do
            local suffix = ("_l%d%s"):format(layer, way == 2 and "_reverse" or "")
            local function put(name, x)
                tree[name .. suffix] = (way == 2 and np.flip(x, 0) or x) / (layer + 1)
            end
            local ways = o.bidirectional and 2 or 1
            put("weight_ih", layer == 0 and wi or ways == 1 and wh or np.concatenate({ wh, wh }, { axis = 1 }))
            put("weight_hh", wh)
            if o.bias ~= false then
                put("bias_ih", bi)
                put("bias_hh", bh)
            end
        end
    end
    if o.peephole then
        local row = bh[{ { 0, hidden } }]
        tree.weight_peephole_l0 = np.stack { row, row * 2, row * 3 }
    end
    return tree
end

--- The options of a case as the function has them.
local function options_of(kind, o, h, c)
    local given = { nonsense = o.nonsense, clip = o.clip, reverse = o.reverse, time_major = o.time_major,
                    linear_before_reset = o.linear_before_reset, dropout = o.dropout, lengths = o.lengths }
    if o.dropout then given.key = np.random.key(0) end
    if o.lengths then given.lengths = np.array(o.lengths, { dtype = "i32" }) end
    if o.activations then
        given.activations = {}
        for k, name in ipairs(o.activations) do given.activations[k] = ACTIVATIONS[name] end
    end
    if o.state then
        local count = tonumber(o.layers or 1) * (o.bidirectional and 2 or 1)
        local function repeated(x) return np.repeat_(np.expand_dims(x, 0), count, { axis = 0 }) end
        given.state = kind == "lstm" and { h = repeated(h), c = repeated(c) } or repeated(h)
    end
    return next(given) and given or nil
end

local function results(kind, y, last)
    if kind == "lstm" then return y, last.h, last.c end
    return y, last
end

local function turned(o, x) return o.time_major and np.swapaxes(x, 0, 1) or x end

local OPTIONS = { {}, { layers = 2, bidirectional = true, bias = false }, { time_major = true, dropout = 0.5 },
                  { lengths = { 2, 3 }, bidirectional = true, state = true },
                  { reverse = true, state = true, clip = 0.5 } }
local MORE = { lstm = { { activations = { "sigmoid", "relu", "tanh" } }, { peephole = true, state = true } },
               gru = { { linear_before_reset = false, state = true }, { activations = { "sigmoid", "relu" } } },
               rnn = { { activations = { "relu" } } } }
--- A cell's weights.
local function cell_weights(o, wi, wh, bi, bh)
    local bias = o.bias ~= false
    return { weight_ih = wi, weight_hh = o.nonsense and { nonsense = 1 } or wh, bias_ih = bias and bi or nil,
             bias_hh = bias and bh or nil }
end

--- A contract of ARGS.
local function recurrent(name, accepts, contract)
    local common = { args = ARGS, accepts = accepts, gives = "same", within = WITHIN, vmapped = WITHIN,
                     divided = WITHIN, smooth = 1, slope = 1e-5 }
    for key, value in pairs(common) do contract[key] = value end
    of(name, contract)
end

local THERE = "the function of the same name has cases"
local GATES = { lstm = 4, gru = 3, rnn = 1 }

for kind, gates in pairs(GATES) do
    local function shapes(hidden, ...)
        local n, list = gates * hidden, {}
        for k, x in ipairs { ... } do
            list[k] = { x, { n, x[#x] }, { n, hidden }, { n }, { n }, { x[1], hidden }, { x[1], hidden } }
        end
        return list
    end
    local options = {}
    for _, list in ipairs { OPTIONS, MORE[kind] } do
        for _, o in ipairs(list) do options[#options + 1] = o end
    end
    local layer = ({ lstm = "LSTM", gru = "GRU", rnn = "RNN" })[kind]
    recurrent("np.nn." .. kind, "floats", {
        shapes = shapes(2, { 2, 3, 2 }, { 2, 3, 4 }), options = options,
        call = function(f, o, x, wi, wh, bi, bh, h, c)
            local y, last = f(turned(o, x), weights(o, wi, wh, bi, bh), options_of(kind, o, h, c))
            return results(kind, turned(o, y), last)
        end,
        oracle = ("recurrent(%q, x, wi, wh, bi, bh, h, c, o)"):format(kind),
        unseen = { key = "a case has it with dropout" },
        without = { numbers = "weights are arrays", integers = "layers are of the case's weights" },
        refuses = {
            { "weight_ih_l0", function() nn[kind](np.ones { 1, 2, 3 }, {}) end },
            { "must have shape", function()
                local ih, hh = np.ones { gates, 2 }, np.ones { gates, 1 }
                nn[kind](np.ones { 1, 2, 3 }, { weight_ih_l0 = ih, weight_hh_l0 = hh })
            end },
            { "sequences", function() nn[kind](np.ones { 3 }, {}) end },
            { "option 'lengths' has 3, and a sequence has 2 turns", function()
                local ih, hh = np.ones { gates, 3 }, np.ones { gates, 1 }
                nn[kind](np.ones { 2, 2, 3 }, { weight_ih_l0 = ih, weight_hh_l0 = hh }, { lengths = { 1, 3 } })
            end },
        },
    })
    recurrent("np.nn." .. layer, "f64 bf16", {
        shapes = shapes(2, { 2, 3, 2 }), options = { {}, { layers = 2, bidirectional = true, bias = false } },
        call = function(f, o, x, wi, wh, bi, bh)
            local y, last = f(x:dim(-1), wh:dim(1), next(o) and o or nil)(weights(o, wi, wh, bi, bh), x)
            return results(kind, y, last)
        end,
        oracle = ("recurrent(%q, x, wi, wh, bi, bh, h, c, o)"):format(kind),
        unseen = { dtype = "it is for init: the test `init`", init = "it is for init: the test `init`",
                   projection = "the test `projection`", activations = THERE, clip = THERE, dropout = THERE,
                   linear_before_reset = THERE, reverse = THERE, time_major = THERE },
        without = { numbers = "parameters are arrays", integers = "layers are of the case's weights, too" },
        also = {
            ["np.nn." .. layer .. ": init"] = function()
                for _, dtype in ipairs { "f64", "f32", "bf16", "f16" } do
                    local model = nn[layer](3, { layers = 2, dtype = dtype })
                    local params = model:init(np.random.key(0), np.ones { 1, 2, 5 })
                    check.equal(params.weight_ih_l0.shape, { 3 * gates, 5 })
                    check.equal(params.weight_ih_l1.shape, { 3 * gates, 3 })
                    check.ok(np.max(np.abs(params.weight_hh_l0)):item() <= 0.58, "within 1 / sqrt(3)")
                    for _, leaf in ipairs(np.tree.leaves(params)) do check.equal(leaf.dtype, dtype) end
                end
            end,
            ["np.nn." .. layer .. ": projection"] = kind == "lstm" and function()
                local model, x = nn.LSTM(3, 4, { projection = 2, layers = 2 }), np.ones { 2, 5, 3 }
                local y, last = model(model:init(np.random.key(0)), x)
                check.equal({ y.shape, last.h.shape, last.c.shape }, { { 2, 5, 2 }, { 2, 2, 2 }, { 2, 2, 4 } })
            end or nil,
            ["np.nn." .. layer .. ": in Sequential, trained"] = function()
                local model = nn.Sequential { nn[layer](4), nn.Dense(1) }
                local x = np.random.normal(np.random.key(0), { 2, 5, 3 })
                local params = model:init(np.random.key(1), x)
                local g = np.jit(np.grad(function(p) return np.sum(model(p, x)) end))(params)
                check.equal(g[1].weight_hh_l0.shape, { 4 * gates, 4 })
                check.ok(np.any(g[1].weight_hh_l0:ne(0)):item(), "no gradient")
            end,
        },
    })
    recurrent("np.nn." .. kind .. "_cell", "floats", {
        shapes = shapes(2, { 2, 3 }, { 1, 2 }), options = { {}, { state = true }, { bias = false } },
        call = function(f, o, x, wi, wh, bi, bh, h, c)
            local state = o.state and (kind == "lstm" and { h = h, c = c } or h) or nil
            local new = f(x, state, cell_weights(o, wi, wh, bi, bh))
            if kind == "lstm" then return new.h, new.c end
            return new
        end,
        oracle = ("cell_turn(%q, x, wi, wh, bi, bh, h, c, o)"):format(kind),
        without = { numbers = "weights are arrays" },
        refuses = { { "weight_xx", function()
            nn[kind .. "_cell"](np.ones(1), nil, { weight_xx = np.ones(1) })
        end } },
    })
    recurrent("np.nn." .. layer .. "Cell", "f64 bf16", {
        shapes = shapes(2, { 2, 3 }), options = { { state = true }, { bias = false } },
        call = function(f, o, x, wi, wh, bi, bh, h, c)
            local cell = f(x:dim(-1), wh:dim(1), { bias = o.bias, nonsense = o.nonsense })
            local new = cell(cell_weights(o, wi, wh, bi, bh), x,
                             o.state and (kind == "lstm" and { h = h, c = c } or h) or nil)
            if kind == "lstm" then return new.h, new.c end
            return new
        end,
        oracle = ("cell_turn(%q, x, wi, wh, bi, bh, h, c, o)"):format(kind),
        unseen = { dtype = "it is for init: the test `init`", init = "it is for init: the test `init`" },
        without = { numbers = "parameters are arrays" },
        also = { ["np.nn." .. layer .. "Cell: init"] = function()
            local cell = nn[layer .. "Cell"](3, { init = nn.ones, dtype = "f16" })
            local params = cell:init(np.random.key(0), np.ones { 2 })
            check.equal({ params.weight_ih.dtype, params.weight_ih:sum():item() }, { "f16", 6 * gates })
        end },
    })
end

-- ---- ONNX's layout --------------------------------------------------------------------------------------------------

of("np.nn.onnx_weights", {
    args = { { "x" }, { "w", special = false }, { "r", special = false }, { "b", special = false },
             { "p", special = false } },
    accepts = "f64 f32", gives = "same", within = WITHIN, vmapped = WITHIN, divided = WITHIN, slope = 1e-5,
    shapes = { { { 3, 1, 2 }, { 2, 24, 2 }, { 2, 24, 2 }, { 2, 48 }, { 2, 6 } } },
    options = { { cell = "lstm" }, { cell = "gru" }, { cell = "rnn" } },
    call = function(f, o, x, w, r, b, p)
        local n = GATES[o.cell] * 2
        local function cut(v, size) return v[{ {}, { 0, size } }] end
        local tree = f(o.cell, cut(w, n), cut(r, n), cut(b, 2 * n), o.cell == "lstm" and p or nil)
        local y, last = nn[o.cell](x, tree, { time_major = true, nonsense = o.nonsense })
        return results(o.cell, y, last)
    end,
    oracle = "onnx_recurrent(o['cell'], x, w, r, b, p)",
    without = { numbers = "weights are arrays", special = "it moves elements" },
    refuses = { { "lstm", function() nn.onnx_weights("ltsm", np.ones { 1, 4, 1 }, np.ones { 1, 4, 1 }) end },
                { "argument 3", function() nn.onnx_weights("gru", np.ones { 1, 3, 1 }, np.ones { 1, 4, 1 }) end } },
})

finish()
