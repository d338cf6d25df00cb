--- recurrent.lua: LSTM, GRU and RNN: np.scan of a cell over (time, batch, features) for each direction.
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

--- x, (time, batch, …), with the order of time reversed, within the length of each sequence.
local function reversed(x, lengths)
    if not lengths then return np.flip(x, 0) end
    local count = x.shape[1]
    local at = np.reshape(np.arange(count, { dtype = "i64" }), { count, 1 })
    local from = np.where(np.less(at, lengths), lengths - 1 - at, at)
    for _ = 3, core.ndim(x) do from = np.expand_dims(from, -1) end
    return np.take_along_axis(x, from, { axis = 0 })
end

--- Runs a cell over time. cell(carry, x) returns the new carry, a list of (batch, hidden) arrays, the result first.
-- Where a sequence has ended the carry stays, and results are 0.
local function over_time(cell, carry, x, lengths)
    local count, ys = #carry
    local ended = lengths and np.expand_dims(np.greater_equal(np.reshape(np.arange(x.shape[1], { dtype = "i64" }),
                                                                         { -1, 1 }), lengths), -1)
    carry, ys = np.scan(function(state, now)
        local new = cell(state, now[1])
        local y = new[1]
        if now[2] then
            for k = 1, count do new[k] = np.where(now[2], state[k], new[k]) end
            y = np.where(now[2], y * 0, y)
        end
        return new, y
    end, carry, { x, ended })
    return carry, ys
end

--- A recurrent operator. o: gates, defaults (activations), states (1 or 2), cell(n, f, w) → cell, where w has a
-- direction's weights: r (recurrent, transposed), b (bias of both), rb (of the recurrent part), p (peepholes).
local function layer(n, o, x, w, r, b, lengths, initial, ...)
    local batch_first, direction = n.attr.layout == 1, n.attr.direction or "forward"
    local both = direction == "bidirectional"
    if batch_first then x = np.swapaxes(x, 0, 1) end
    local hidden, batch = r.shape[3], x.shape[2]
    if w.shape[2] ~= hidden * o.gates or w.shape[1] ~= (both and 2 or 1) then
        n:fail("weights of shape %s for %d gates of %d in the direction '%s'", core.shape_text(w), o.gates, hidden,
               direction)
    end
    lengths = lengths and cast(lengths, "i64")
    local more, ys, finals = { ... }, {}, {}
    for d = 0, both and 1 or 0 do
        local backward = direction == "reverse" or d == 1
        local function of(value) return value and np.take(value, d, { axis = 0 }) end
        local bias, carry = of(b), {}
        local own = { r = np.transpose(of(r)), hidden = hidden, p = o.states == 2 and of(more[2]) or nil }
        local start = { initial, o.states == 2 and more[1] or nil }
        for k = 1, o.states do
            local value = start[k]
            if value and batch_first then value = np.swapaxes(value, 0, 1) end
            carry[k] = value and of(value) or np.zeros({ batch, hidden }, { dtype = x.dtype })
        end
        local xs = np.matmul(x, np.transpose(of(w)))
        if bias then
            own.b, own.rb = bias[{ { 0, hidden * o.gates } }], bias[{ { hidden * o.gates, 2 * hidden * o.gates } }]
            xs = xs + own.b
        end
        if backward then xs = reversed(xs, lengths) end
        local final, y = over_time(o.cell(n, activations(n, o.defaults, d), own), carry, xs, lengths)
        ys[d + 1] = backward and reversed(y, lengths) or y
        for k = 1, o.states do
            finals[k] = finals[k] or {}
            finals[k][d + 1] = final[k]
        end
    end
    local y, results = np.stack(ys, { axis = 1 }), {}
    for k = 1, o.states do results[k] = np.stack(finals[k], { axis = batch_first and 1 or 0 }) end
    if batch_first then y = np.transpose(y, { 2, 0, 1, 3 }) end
    return y, results[1], results[2]
end

--- Part k of the gates in an array (…, gates * hidden).
local function gate(x, k, hidden)
    return x[{ np.ellipsis, { (k - 1) * hidden, k * hidden } }]
end

local COMMON = "activation_alpha activation_beta activations clip direction hidden_size layout "

local function lstm_cell(n, f, w)
    local h = w.hidden
    local function peep(k, c) return w.p and w.p[{ { (k - 1) * h, k * h } }] * c or 0 end
    return function(carry, x)
        local c, all = carry[2], x + np.matmul(carry[1], w.r)
        if w.rb then all = all + w.rb end
        local i = f[1](gate(all, 1, h) + peep(1, c))
        local forget = n.attr.input_forget == 1 and 1 - i or f[1](gate(all, 3, h) + peep(3, c))
        local new = forget * c + i * f[2](gate(all, 4, h))
        return { f[1](gate(all, 2, h) + peep(2, new)) * f[3](new), new }
    end
end

local function gru_cell(n, f, w)
    local h = w.hidden
    local after, rb = n.attr.linear_before_reset == 1, w.rb
    return function(carry, x)
        local old = carry[1]
        local zr = gate(x, 1, 2 * h) + np.matmul(old, gate(w.r, 1, 2 * h))
        if rb then zr = zr + gate(rb, 1, 2 * h) end
        local z, r = f[1](gate(zr, 1, h)), f[1](gate(zr, 2, h))
        local inner
        if after then
            inner = np.matmul(old, gate(w.r, 3, h))
            if rb then inner = inner + gate(rb, 3, h) end
            inner = r * inner
        else
            inner = np.matmul(r * old, gate(w.r, 3, h))
            if rb then inner = inner + gate(rb, 3, h) end
        end
        return { (1 - z) * f[2](gate(x, 3, h) + inner) + z * old }
    end
end

local function rnn_cell(_, f, w)
    return function(carry, x)
        local all = x + np.matmul(carry[1], w.r)
        return { f[1](w.rb and all + w.rb or all) }
    end
end

local LSTM = { gates = 4, defaults = { "Sigmoid", "Tanh", "Tanh" }, states = 2, cell = lstm_cell }
local GRU = { gates = 3, defaults = { "Sigmoid", "Tanh" }, states = 1, cell = gru_cell }
local RNN = { gates = 1, defaults = { "Tanh" }, states = 1, cell = rnn_cell }

ops.LSTM = { attrs = COMMON .. "input_forget", least = 3, run = function(n, ...) return layer(n, LSTM, ...) end }
ops.GRU = { attrs = COMMON .. "linear_before_reset", least = 3, run = function(n, ...) return layer(n, GRU, ...) end }
ops.RNN = { attrs = COMMON, least = 3, run = function(n, ...) return layer(n, RNN, ...) end }

return ops
