--- recurrent.lua: LSTM, GRU and RNN: np.nn.lstm, gru and rnn of the weights of each direction.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np = core.np
local cast = node.cast
local ops = {}

-- ---- Activations ----------------------------------------------------------------------------------------------------

local functions = {
    Sigmoid = function() return np.sigmoid end,
    Tanh = function() return np.tanh end,
    Relu = function() return function(x) return np.maximum(x, 0) end end,
    Affine = function(a, b) return function(x) return x * (a or 1) + (b or 0) end end,
    LeakyRelu = function(a) return function(x) return np.where(np.less(x, 0), x * (a or 0.01), x) end end,
    ThresholdedRelu = function(a) return function(x) return np.where(np.greater(x, a or 1), x, x * 0) end end,
    ScaledTanh = function(a, b) return function(x) return np.tanh(x * (b or 1)) * (a or 1) end end,
    HardSigmoid = function(a, b)
        return function(x) return np.clip(x * (a or 0.2) + (b or 0.5), 0, 1) end
    end,
    Elu = function(a)
        return function(x) return np.where(np.less(x, 0), np.expm1(np.minimum(x, 0)) * (a or 1), x) end
    end,
    Softsign = function() return function(x) return x / (np.abs(x) + 1) end end,
    Softplus = function() return np.nn.softplus end,
}

local TAKES = { Affine = 2, ScaledTanh = 2, HardSigmoid = 2, LeakyRelu = 1, ThresholdedRelu = 1, Elu = 1 }

--- The activations of a direction, from 0: a list.
local function activations(n, defaults, direction)
    local names, list = n.attr.activations or {}, {}
    local alphas, betas, alpha, beta = n.attr.activation_alpha or {}, n.attr.activation_beta or {}, 0, 0
    for k = 1, #defaults * (direction + 1) do
        local name = names[k] or defaults[(k - 1) % #defaults + 1]
        local make, takes = functions[name], TAKES[name] or 0
        if not make then n:fail("the activation '%s'", name) end
        local a, b
        if takes >= 1 then alpha, a = alpha + 1, alphas[alpha + 1] end
        if takes >= 2 then beta, b = beta + 1, betas[beta + 1] end
        if k > #defaults * direction then
            local f, clip = make(a, b), n.attr.clip
            list[#list + 1] = clip and function(x) return f(np.clip(x, -clip, clip)) end or f
        end
    end
    return list
end

-- ---- Layers ---------------------------------------------------------------------------------------------------------

--- Part d of an array of directions, as an array of one; nil of nil.
local function of_direction(value, d) return value and value[{ { d, d + 1 } }] end

--- A recurrent operator by the function of np.nn of its name. o: cell, gates, defaults (activations), lstm.
local function layer(n, o, x, w, r, b, lengths, initial, c, peepholes)
    local batch_first, direction = n.attr.layout == 1, n.attr.direction or "forward"
    local both, hidden = direction == "bidirectional", r.shape[3]
    if w.shape[2] ~= hidden * o.gates or w.shape[1] ~= (both and 2 or 1) then
        n:fail("weights of shape %s for %d gates of %d in the direction '%s'", core.shape_text(w), o.gates, hidden,
               direction)
    end
    local function turned(state) return state and batch_first and np.swapaxes(state, 0, 1) or state end
    initial, c = turned(initial), turned(c)
    if o.lstm and (initial or c) then initial, c = initial or np.zeros_like(c), c or np.zeros_like(initial) end
    local ys, hs, cs = {}, {}, {}
    for d = 0, both and 1 or 0 do
        local tree = np.nn.onnx_weights(o.cell, of_direction(w, d), of_direction(r, d), of_direction(b, d),
                                        o.lstm and of_direction(peepholes, d) or nil)
        local h = of_direction(initial, d)
        local state
        ys[d + 1], state = np.nn[o.cell](x, tree, {
            time_major = not batch_first, reverse = direction == "reverse" or d == 1,
            lengths = lengths and cast(lengths, "i64"), activations = activations(n, o.defaults, d),
            linear_before_reset = o.options and n.attr.linear_before_reset == 1,
            state = o.lstm and h and { h = h, c = of_direction(c, d) } or h })
        hs[d + 1], cs[d + 1] = o.lstm and state.h or state, o.lstm and state.c or nil
    end
    local function joined(states) return states[1] and turned(np.concatenate(states, { axis = 0 })) end
    return np.stack(ys, { axis = batch_first and 2 or 1 }), joined(hs), joined(cs)
end

local COMMON = "activation_alpha activation_beta activations clip direction hidden_size layout "

local LSTM = { cell = "lstm", gates = 4, defaults = { "Sigmoid", "Tanh", "Tanh" }, lstm = true }
local GRU = { cell = "gru", gates = 3, defaults = { "Sigmoid", "Tanh" }, options = true }
local RNN = { cell = "rnn", gates = 1, defaults = { "Tanh" } }

ops.LSTM = {
    attrs = COMMON .. "input_forget", least = 3,
    check = function(n) if n.attr.input_forget == 1 then n:fail "the attribute input_forget" end end,
    run = function(n, ...) return layer(n, LSTM, ...) end,
}
--- Weights (directions, from, to) of bytes as (directions, to, from) of floats.
local function of_bytes(q, scale, zero)
    local function beside(x)
        local last = core.ndim(x) == 2 and x.shape[2] or 1
        return np.reshape(x, { q.shape[1], 1, last })
    end
    return np.swapaxes(np.nn.dequantize(q, beside(scale), zero and beside(zero)), 1, 2)
end

--- Of ONNX Runtime: an LSTM with weights of bytes. There x and h become bytes too; here they stay floats.
ops.DynamicQuantizeLSTM = {
    attrs = COMMON .. "input_forget", least = 3, check = ops.LSTM.check,
    run = function(n, x, w, r, b, lengths, initial, c, peepholes, w_scale, w_zero, r_scale, r_zero)
        if not w_scale or not r_scale then n:fail("it has no scales of its weights") end
        return layer(n, LSTM, x, of_bytes(w, w_scale, w_zero), of_bytes(r, r_scale, r_zero), b, lengths, initial, c,
                     peepholes)
    end,
}

ops.GRU = { attrs = COMMON .. "linear_before_reset", least = 3, run = function(n, ...) return layer(n, GRU, ...) end }
ops.RNN = { attrs = COMMON, least = 3, run = function(n, ...) return layer(n, RNN, ...) end }

return ops
