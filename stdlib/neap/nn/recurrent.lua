--- recurrent.lua: recurrent networks as functions of arrays, for np.nn: lstm, gru, rnn, one turn of each, and weights
-- in ONNX's layout.
--
-- Weights are trees with the names, shapes and order of gates of PyTorch's modules, so a checkpoint's are used as they
-- are: of layer k, from 0, weight_ih_lk (gates * hidden, inputs), weight_hh_lk (gates * hidden, hidden), and
-- bias_ih_lk, bias_hh_lk (gates * hidden,), which may be missing; for the way back the same names with _reverse behind
-- them. How many layers and directions there are follows from the names. Gates: i, f, g, o of lstm, r, z, n of gru.
--
-- What does not depend on the turn before, x times weight_ih, is one product for all turns; np.scan does the rest.

--- {state}: the state before the first turn, as the function returns the last; zeros without it
--- {lengths}: integers, (batch,): of each sequence only so many turns count, at most all. Behind them y is 0, the state
-- stays
--- {time_major}: true: x and y are (time, batch, features)
--- {reverse}: true: from the last turn to the first
--- {dropout}: elements between layers are 0 with this probability, if there is a key
--- {key}: a random key, for dropout
--- {clip}: what is added up for a gate is limited to [-clip, clip], as in ONNX

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local bounds = require "neap.nn.bounds"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local is_array, shape_of, shape_text = core.is_array, core.shape_of, core.shape_text

-- ---- Cells ----------------------------------------------------------------------------------------------------------

--- Part k, from 0, of n equal ones of the last axis.
local function gate(x, k, n)
    return shape.cut(x, core.ndim(x) - 1, k * n, (k + 1) * n)
end

local function limited(x, clip)
    return clip and np.clip(x, -clip, clip) or x
end

--- A kind of cell: its gates, the order of ONNX's, which activations it has, whether a turn takes the sum of both
-- biases, and turn(sums of x, state, weights, options) -> state.
local kinds = {}

kinds.lstm = { gates = 4, from_onnx = { 0, 2, 3, 1 }, activations = { np.sigmoid, np.tanh, np.tanh }, joined = true }
function kinds.lstm.turn(sums, state, w, o)
    local n, f = w.hidden, o.activations
    local v = sums + np.matmul(state.h, w.hh)
    local i, forget, g, out = gate(v, 0, n), gate(v, 1, n), gate(v, 2, n), gate(v, 3, n)
    if w.peephole then
        i, forget = i + w.peephole[0] * state.c, forget + w.peephole[1] * state.c
    end
    local c = f[1](limited(forget, o.clip)) * state.c + f[1](limited(i, o.clip)) * f[2](limited(g, o.clip))
    if w.peephole then out = out + w.peephole[2] * c end
    local h = f[1](limited(out, o.clip)) * f[3](c)
    return { h = w.projection and np.matmul(h, w.projection) or h, c = c }
end

kinds.gru = { gates = 3, from_onnx = { 1, 0, 2 }, activations = { np.sigmoid, np.tanh } }
function kinds.gru.turn(sums, state, w, o)
    local n, f, h, all = w.hidden, o.activations, state.h, o.linear_before_reset ~= false
    --- What x adds to gates [from, to).
    local function added(x, from, to)
        local v = np.matmul(x, shape.cut(w.hh, 1, from * n, to * n))
        return w.bias and v + shape.cut(w.bias, 0, from * n, to * n) or v
    end
    local v = added(h, 0, all and 3 or 2)
    local function of_both(k) return f[1](limited(gate(sums, k, n) + gate(v, k, n), o.clip)) end
    local reset, update = of_both(0), of_both(1)
    local candidate = gate(sums, 2, n) + (all and reset * gate(v, 2, n) or added(reset * h, 2, 3))
    return { h = (1 - update) * f[2](limited(candidate, o.clip)) + update * h }
end

kinds.rnn = { gates = 1, from_onnx = { 0 }, activations = { np.tanh }, joined = true }
function kinds.rnn.turn(sums, state, w, o)
    return { h = o.activations[1](limited(sums + np.matmul(state.h, w.hh), o.clip)) }
end

-- ---- Weights --------------------------------------------------------------------------------------------------------

local NAMES = { "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr", "weight_peephole" }

--- Checks that an array has a shape; `false` is any extent.
local function check_shape(name, what, x, ...)
    local dims, wanted = shape_of(x), { ... }
    local fits = #dims == #wanted
    for k = 1, #wanted do fits = fits and (wanted[k] == false or dims[k] == wanted[k]) end
    if fits then return end
    for k = 1, #wanted do wanted[k] = wanted[k] == false and "?" or tostring(wanted[k]) end
    raise(name, "%s must have shape (%s%s), got %s", what, table.concat(wanted, ", "), #wanted == 1 and "," or "",
          shape_text(x))
end

--- The weights of one direction of a layer, those with `suffix` behind their names, checked for x of `inputs` features.
local function weights_of(name, kind, tree, suffix, inputs)
    local w = {}
    for _, part in ipairs(NAMES) do
        w[part] = tree[part .. suffix]
        if w[part] ~= nil and not is_array(w[part]) then
            bad_argument(name, nil, part .. suffix, "an array", w[part])
        end
    end
    if not w.weight_ih or not w.weight_hh then
        raise(name, "the weights have no 'weight_%s%s'; they are named as in PyTorch", w.weight_ih and "hh" or "ih",
              suffix)
    end
    local rows = shape_of(w.weight_hh)[1]
    if core.ndim(w.weight_hh) ~= 2 or rows % kind.gates ~= 0 then
        raise(name, "'weight_hh%s' must have shape (%d * hidden, hidden), got %s", suffix, kind.gates,
              shape_text(w.weight_hh))
    end
    w.hidden = math.floor(rows / kind.gates)
    local size = w.weight_hr and shape_of(w.weight_hr)[1] or w.hidden
    check_shape(name, "'weight_hh" .. suffix .. "'", w.weight_hh, rows, size)
    check_shape(name, "'weight_ih" .. suffix .. "'", w.weight_ih, rows, inputs)
    for _, part in ipairs { "bias_ih", "bias_hh" } do
        if w[part] then check_shape(name, ("'%s%s'"):format(part, suffix), w[part], rows) end
    end
    if w.weight_hr then check_shape(name, "'weight_hr" .. suffix .. "'", w.weight_hr, size, w.hidden) end
    if w.weight_peephole then
        check_shape(name, "'weight_peephole" .. suffix .. "'", w.weight_peephole, 3, w.hidden)
    end
    w.size = size
    return w
end

--- How many layers and directions the names of weights tell.
local function extent_of(name, tree)
    if type(tree) ~= "table" then bad_argument(name, 2, "weights", "a table of arrays named as in PyTorch", tree) end
    local layers = 0
    while tree["weight_ih_l" .. layers] ~= nil do layers = layers + 1 end
    if layers == 0 then raise(name, "the weights have no 'weight_ih_l0'; they are named as in PyTorch") end
    for key in pairs(tree) do
        local part, layer = tostring(key):match "^([%l_]+)_l(%d+)"
        local known = part and tonumber(layer) < layers
        for _, one in ipairs(known and NAMES or {}) do known = known ~= true and known or part == one and 1 or known end
        if known ~= 1 then raise(name, "the weights have '%s', which is none of layers 0 to %d", key, layers - 1) end
    end
    return layers, tree.weight_ih_l0_reverse ~= nil and 2 or 1
end

-- ---- Layers ---------------------------------------------------------------------------------------------------------

--- All arrays of a list in the floats that they meet in, f32 at least: the list, and the half of the result.
local function together(list)
    local name = np.result_type(unpack(list))
    local dtype = core.dtypes[core.dtype_codes[name]]
    local half = dtype.half and name or nil
    if not dtype.inexact then name = dtype.real end
    name = half and "f32" or name
    for k = 1, #list do list[k] = np.astype(list[k], name) end
    return list, half
end

--- Brings x, the weights of all layers and the state into one dtype. Returns x, the half of the result.
local function meet(x, layers, state)
    local list, homes = { x }, { {} }
    local function add(home, key)
        list[#list + 1] = home[key]
        homes[#list] = { home, key }
    end
    for _, w in ipairs(layers) do
        for _, part in ipairs(NAMES) do
            if w[part] then add(w, part) end
        end
    end
    for key in pairs(state) do add(state, key) end
    local half
    list, half = together(list)
    for k = 2, #list do homes[k][1][homes[k][2]] = list[k] end
    return list[1], half
end

--- What a turn reads of the weights.
local function prepared(w)
    return { hidden = w.hidden, hh = w.weight_hh.T, bias = w.bias_hh, peephole = w.weight_peephole,
             projection = w.weight_hr and w.weight_hr.T }
end

--- What x adds to the gates, of all turns at once.
local function sums_of(kind, x, w)
    local sums = np.matmul(x, w.weight_ih.T)
    if w.bias_ih then sums = sums + w.bias_ih end
    if kind.joined and w.bias_hh then sums = sums + w.bias_hh end
    return sums
end

--- One direction of a layer: x (time, batch, features) -> y (time, batch, size), the last state.
local function run(kind, x, w, first, kept, reverse, o)
    local known = prepared(w)
    local function turn(state, part)
        local new = kind.turn(part.sums, state, known, o)
        if not part.kept then return new, new.h end
        local y = np.where(part.kept, new.h, 0)
        for key in pairs(new) do new[key] = np.where(part.kept, new[key], state[key]) end
        return new, y
    end
    local last, y = np.scan(turn, first, { sums = sums_of(kind, x, w), kept = kept }, { reverse = reverse })
    return y, last
end

--- Which turns count, bools (time, batch, 1); nil: all.
local function kept_turns(name, lengths, time, batch)
    if lengths == nil then return nil end
    if type(lengths) == "table" or core.is_number(lengths) then lengths = np.array(lengths, { dtype = "i32" }) end
    if not is_array(lengths) then bad_argument(name, nil, "lengths", "an array of integers", lengths) end
    local kind = core.dtype_of(lengths).kind
    if kind ~= "i" and kind ~= "u" then core.not_integers(name, "lengths", core.dtype_of(lengths)) end
    if core.ndim(lengths) > 0 then check_shape(name, "option 'lengths'", lengths, batch) end
    bounds.strays(lengths, 0, time, function(length)
        raise(name, "option 'lengths' has %s, and a sequence has %d turns", length, time)
    end)
    local turns = shape.reshape(create.iota(time, core.dtype_codes.i32), { time, 1, 1 })
    return shape.broadcast_to(np.less(turns, shape.reshape(lengths, { core.ndim(lengths) == 0 and 1 or batch, 1 })),
                              { time, batch, 1 })
end

--- The given state as { h = (count, batch, size), c = … }; of one without a batch it is added.
local function first_state(name, kind, given, sizes, batch, alone)
    local state, keys = {}, kind == kinds.lstm and { "h", "c" } or { "h" }
    if given == nil then return state, keys end
    if kind ~= kinds.lstm then given = { h = given } end
    if type(given) ~= "table" then bad_argument(name, nil, "state", "{h=array, c=array}", given) end
    for _, key in ipairs(keys) do
        local x = given[key]
        if not is_array(x) then
            bad_argument(name, nil, "state", #keys == 2 and "{h=array, c=array}" or "an array", x)
        end
        if alone then
            check_shape(name, "option 'state'", x, sizes.count, sizes[key])
            x = np.expand_dims(x, 1)
        end
        check_shape(name, "option 'state'", x, sizes.count, batch, sizes[key])
        state[key] = x
    end
    return state, keys
end

local function dropped(x, rate, key)
    return np.where(np.random.bernoulli(key, 1 - rate, shape_of(x)), x / (1 - rate), 0)
end

--- All layers of x (time, batch, features): y and the last states, lists by key.
local function run_layers(kind, x, all, directions, states, kept, o)
    local last = { h = {}, c = {} }
    for at = 1, #all, directions do
        if at > 1 and o.key ~= nil and (o.dropout or 0) > 0 then
            x = dropped(x, o.dropout, np.random.fold_in(o.key, at))
        end
        local ways = {}
        for way = 1, directions do
            local w, first = all[at + way - 1], {}
            for key in pairs(states) do first[key] = states[key][at + way - 2] end
            if not states.h then
                local batch = shape_of(x)[2]
                local like = { dtype = core.dtype_of(x).name }
                first = { h = np.zeros({ batch, w.size }, like),
                          c = kind == kinds.lstm and np.zeros({ batch, w.hidden }, like) or nil }
            end
            local y, state = run(kind, x, w, first, kept, way == 2 or o.reverse or false, o)
            ways[way] = y
            for key in pairs(state) do table.insert(last[key], state[key]) end
        end
        x = directions == 2 and np.concatenate(ways, { axis = -1 }) or ways[1]
    end
    return x, last
end

local known = { state = true, lengths = true, time_major = true, reverse = true, dropout = true, key = true,
                activations = true, clip = true }
local known_of_gru = { linear_before_reset = true }
for key in pairs(known) do known_of_gru[key] = true end

--- Checks the options that are no arrays; a copy with activations.
local function checked(name, kind, o)
    local copy = {}
    for key, value in pairs(o) do copy[key] = value end
    copy.activations = o.activations or kind.activations
    if type(copy.activations) ~= "table" then
        bad_argument(name, nil, "activations", ("a list of %d functions"):format(#kind.activations), copy.activations)
    end
    core.list(name, "option 'activations'", copy.activations)
    for k = 1, math.max(#kind.activations, #copy.activations) do
        if type(copy.activations[k]) ~= "function" or k > #kind.activations then
            bad_argument(name, nil, "activations", ("a list of %d functions"):format(#kind.activations),
                         copy.activations[k])
        end
    end
    if o.clip ~= nil and (type(o.clip) ~= "number" or o.clip <= 0 or o.clip ~= o.clip) then
        bad_argument(name, nil, "clip", "a number above 0", o.clip)
    end
    if o.key ~= nil and not is_array(o.key) then bad_argument(name, nil, "key", "a key, as np.random.key(0)", o.key) end
    local rate = o.dropout
    if rate ~= nil and (type(rate) ~= "number" or not (rate >= 0 and rate < 1)) then
        bad_argument(name, nil, "dropout", "a number in [0, 1)", rate)
    end
    return copy
end

--- A recurrent network of a kind: y and the last state.
local function recurrent(name, kind, x, tree, given)
    local o = checked(name, kind, options(name, given, kind == kinds.gru and known_of_gru or known))
    x = core.coerce(name, 1, x)
    local alone = core.ndim(x) == 2
    if core.ndim(x) ~= 2 and core.ndim(x) ~= 3 then
        raise(name, "argument 1 must be sequences, of shape (batch, time, features) or (time, features), got shape %s",
              shape_text(x))
    end
    x = alone and np.expand_dims(x, 1) or o.time_major and x or np.swapaxes(x, 0, 1)
    local layers, directions = extent_of(name, tree)
    local dims, all = shape_of(x), {}
    for layer = 0, layers - 1 do
        local inputs = layer == 0 and dims[3] or directions * all[#all].size
        for way = 1, directions do
            local suffix = ("_l%d%s"):format(layer, way == 2 and "_reverse" or "")
            all[#all + 1] = weights_of(name, kind, tree, suffix, inputs)
        end
    end
    local sizes = { count = #all, h = all[1].size, c = all[1].hidden }
    local states, keys = first_state(name, kind, o.state, sizes, dims[2], alone)
    local kept = kept_turns(name, o.lengths, dims[1], dims[2])
    local half
    x, half = meet(x, all, states)
    local y, last = run_layers(kind, x, all, directions, states, kept, o)
    local function shown(v) return operands.narrow(v, half) end
    for _, key in ipairs(keys) do
        local v = shown(np.stack(last[key]))
        last[key] = alone and np.squeeze(v, { axis = 1 }) or v
    end
    y = shown(alone and np.squeeze(y, { axis = 1 }) or o.time_major and y or np.swapaxes(y, 0, 1))
    return y, #keys == 2 and { h = last.h, c = last.c } or last.h
end

-- ---- One turn -------------------------------------------------------------------------------------------------------

--- One turn of a cell: x (…, inputs), a state { h = …, c = … } of (…, hidden) or nil -> the next one.
local function turn_once(name, kind, x, state, tree, o)
    x = core.coerce(name, 1, x)
    if core.ndim(x) == 0 then raise(name, "argument 1 needs at least 1 axis, got shape ()") end
    if type(tree) ~= "table" then bad_argument(name, 3, "weights", "a table of arrays named as in PyTorch", tree) end
    for key in pairs(tree) do
        local one = false
        for _, part in ipairs(NAMES) do one = one or part == key end
        if not one then
            raise(name, "the weights have '%s', and are named %s", tostring(key), table.concat(NAMES, ", "))
        end
    end
    local dims = shape_of(x)
    local w = weights_of(name, kind, tree, "", dims[#dims])
    if not state then
        local function zeros(n)
            dims[#dims] = n
            return np.zeros(dims, { dtype = core.dtype_of(x).name })
        end
        state = { h = zeros(w.size), c = kind == kinds.lstm and zeros(w.hidden) or nil }
    end
    local first, half = {}
    for key in pairs(kind == kinds.lstm and { h = true, c = true } or { h = true }) do
        first[key] = state[key]
        if not is_array(first[key]) then bad_argument(name, 2, "state", "arrays of shape (…, hidden)", first[key]) end
    end
    x, half = meet(x, { w }, first)
    local new = kind.turn(sums_of(kind, x, w), first, prepared(w), o)
    for key in pairs(new) do new[key] = operands.narrow(new[key], half) end
    return new
end

-- ---- ONNX's layout --------------------------------------------------------------------------------------------------

--- Rows of gates (gates * hidden, …) in PyTorch's order.
local function reordered(kind, x)
    local n, parts = math.floor(shape_of(x)[1] / kind.gates), {}
    for k, from in ipairs(kind.from_onnx) do parts[k] = shape.cut(x, 0, from * n, (from + 1) * n) end
    return #parts == 1 and x or np.concatenate(parts, { axis = 0 })
end

--- Enters the weights of one direction of ONNX's arrays.
local function enter_direction(kind, tree, suffix, w, r, b, p)
    tree["weight_ih" .. suffix], tree["weight_hh" .. suffix] = reordered(kind, w), reordered(kind, r)
    if b then
        local half = math.floor(shape_of(b)[1] / 2)
        tree["bias_ih" .. suffix] = reordered(kind, shape.cut(b, 0, 0, half))
        tree["bias_hh" .. suffix] = reordered(kind, shape.cut(b, 0, half, 2 * half))
    end
    if p then
        local parts = shape.reshape(p, { 3, math.floor(shape_of(p)[1] / 3) }) -- i, o, f
        tree["weight_peephole" .. suffix] = np.take(parts, np.array({ 0, 2, 1 }, { dtype = "i32" }), { axis = 0 })
    end
end

local function from_onnx(cell, w, r, b, p)
    local name = "nn.onnx_weights"
    local kind = kinds[cell]
    if not kind then bad_argument(name, 1, "cell", '"lstm", "gru" or "rnn"', cell) end
    w, r = core.coerce(name, 2, w), core.coerce(name, 3, r)
    if core.ndim(w) ~= 3 or core.ndim(r) ~= 3 then
        raise(name, "w and r must have shape (directions, %d * hidden, …), got %s and %s", kind.gates, shape_text(w),
              shape_text(r))
    end
    local directions, hidden = shape_of(r)[1], shape_of(r)[3]
    check_shape(name, "argument 3 (r)", r, directions, kind.gates * hidden, hidden)
    check_shape(name, "argument 2 (w)", w, directions, kind.gates * hidden, false)
    if b ~= nil then check_shape(name, "argument 4 (b)", b, directions, 2 * kind.gates * hidden) end
    if p ~= nil then check_shape(name, "argument 5 (p)", p, directions, 3 * hidden) end
    local tree = {}
    for way = 0, directions - 1 do
        enter_direction(kind, tree, way == 1 and "_l0_reverse" or "_l0", w[way], r[way], b and b[way], p and p[way])
    end
    return tree
end

-- ---- Functions ------------------------------------------------------------------------------------------------------

return function(nn)
    --- np.nn.lstm(x, weights, {state=…, lengths=…, time_major=false, reverse=false, dropout=0, key=…, activations=…,
    -- clip=…}) -> y, {h=…, c=…}: a long short-term memory (Hochreiter and Schmidhuber, 1997) over sequences x, shape
    -- (batch, time, features) or (time, features): c = f * c + i * g, h = o * tanh(c), where the gates i, f, o are
    -- sigmoid, and g is tanh, of weight_ih x + bias_ih + weight_hh h + bias_hh. The weights are a table named as in
    -- PyTorch: weight_ih_l0 (4 * hidden, features), weight_hh_l0 (4 * hidden, hidden), bias_ih_l0, bias_hh_l0; of more
    -- layers _l1 …; of the way back also _l0_reverse …; weight_hr_l0 (size, hidden) makes h smaller.
    -- ?np.nn.onnx_weights. y is (batch, time, directions * hidden); h and c are (layers * directions, batch, hidden),
    -- as PyTorch's. Computed in floats; halves as f32, rounded once.
    --- activations: functions in place of {sigmoid, tanh, tanh}, of the gates, of g, and of c
    --- > w = {weight_ih_l0=np.ones{4, 1}, weight_hh_l0=np.ones{4, 1}}
    --- > y, state = np.nn.lstm(np.ones{3, 1}, w)
    --- > y:ravel(), state.c
    -- [0.36960638 0.6505352  0.78876585]
    -- [[1.7394876]]
    function nn.lstm(x, weights, given)
        return recurrent("nn.lstm", kinds.lstm, x, weights, given)
    end

    --- np.nn.gru(x, weights, {state=…, lengths=…, linear_before_reset=true, time_major=false, reverse=false, dropout=0,
    -- key=…, activations=…, clip=…}) -> y, h: gated recurrent units (Cho et al., 2014) over sequences: h = (1 - z) * n
    -- + z * h, with n = tanh(weight_in x + bias_in + r * (weight_hn h + bias_hn)) and gates r, z by sigmoid. x, y,
    -- weights (3 * hidden rows: r, z, n) and h are as in np.nn.lstm.
    --- linear_before_reset: false: n = tanh(weight_in x + bias_in + weight_hn (r * h) + bias_hn), ONNX's default
    --- activations: functions in place of {sigmoid, tanh}, of the gates and of n
    --- > w = {weight_ih_l0=np.ones{3, 1}, weight_hh_l0=np.ones{3, 1}}
    --- > y, h = np.nn.gru(np.ones{2, 3, 1}, w)
    --- > y[0]:ravel(), h:dim(1)
    -- [0.20482421 0.34675312 0.45169663]
    -- 2
    function nn.gru(x, weights, given)
        return recurrent("nn.gru", kinds.gru, x, weights, given)
    end

    --- np.nn.rnn(x, weights, {state=…, lengths=…, time_major=false, reverse=false, dropout=0, key=…, activations=…,
    -- clip=…}) -> y, h: the recurrent network of Elman (1990) over sequences: h = tanh(weight_ih x + bias_ih +
    -- weight_hh h + bias_hh). x, y, weights (hidden rows) and h are as in np.nn.lstm.
    --- activations: {f}: a function in place of tanh, as {np.nn.relu}
    --- > y, h = np.nn.rnn(np.ones{3, 1}, {weight_ih_l0=np.ones{1, 1}, weight_hh_l0=np.ones{1, 1}})
    --- > y:ravel()
    -- [0.7615942  0.9426808  0.95974606]
    function nn.rnn(x, weights, given)
        return recurrent("nn.rnn", kinds.rnn, x, weights, given)
    end

    --- np.nn.lstm_cell(x, state, weights) -> {h=…, c=…}: one turn of np.nn.lstm: x (…, features), a state {h=…, c=…} of
    -- (…, hidden) or nil, zeros; weights {weight_ih, weight_hh, bias_ih, bias_hh}, those of PyTorch's LSTMCell.
    --- > np.nn.lstm_cell(np.ones(1), nil, {weight_ih=np.ones{4, 1}, weight_hh=np.ones{4, 1}}).h
    -- [0.36960638]
    function nn.lstm_cell(x, state, weights)
        if state ~= nil and (type(state) ~= "table" or not is_array(state.h) or not is_array(state.c)) then
            bad_argument("nn.lstm_cell", 2, "state", "{h=array, c=array}", state)
        end
        return turn_once("nn.lstm_cell", kinds.lstm, x, state, weights, { activations = kinds.lstm.activations })
    end

    --- np.nn.gru_cell(x, h, weights), np.nn.rnn_cell(x, h, weights) -> h: one turn of np.nn.gru and np.nn.rnn; h (…,
    -- hidden) or nil, zeros; weights {weight_ih, weight_hh, bias_ih, bias_hh}, those of PyTorch's GRUCell and RNNCell.
    --- > np.nn.gru_cell(np.ones(1), nil, {weight_ih=np.ones{3, 1}, weight_hh=np.ones{3, 1}})
    -- [0.20482421]
    --- > np.nn.rnn_cell(np.ones(1), np.ones(1), {weight_ih=np.ones{1, 1}, weight_hh=np.ones{1, 1}})
    -- [0.9640276]
    function nn.gru_cell(x, h, weights)
        if h ~= nil and not is_array(h) then bad_argument("nn.gru_cell", 2, "h", "an array", h) end
        local o = { activations = kinds.gru.activations }
        return turn_once("nn.gru_cell", kinds.gru, x, h and { h = h }, weights, o).h
    end
    function nn.rnn_cell(x, h, weights)
        if h ~= nil and not is_array(h) then bad_argument("nn.rnn_cell", 2, "h", "an array", h) end
        local o = { activations = kinds.rnn.activations }
        return turn_once("nn.rnn_cell", kinds.rnn, x, h and { h = h }, weights, o).h
    end

    --- np.nn.onnx_weights(cell, w, r, b, p) -> table: the weights of ONNX's operators LSTM, GRU and RNN, by cell
    -- "lstm", "gru" or "rnn", as np.nn.lstm and its kin take them: w (directions, gates * hidden, features), r
    -- (directions, gates * hidden, hidden), b (directions, 2 * gates * hidden) or nil, p, lstm's peepholes (directions,
    -- 3 * hidden), or nil, which become weight_peephole_l0 (3, hidden): i, f, o. Of the operators' other attributes
    -- "reverse" alone is the option reverse=true, layout 0 time_major=true, and gru's linear_before_reset of 0 is
    -- false.
    --- > np.nn.onnx_weights("gru", np.ones{1, 6, 3}, np.ones{1, 6, 2}).weight_ih_l0:dim(0)
    -- 6
    nn.onnx_weights = from_onnx
end
