--- recurrent_layers.lua: recurrent networks as layers of np.nn: LSTM, GRU, RNN, LSTMCell, GRUCell, RNNCell, each a
-- block (block.lua) around the functions of recurrent.lua. Parameters have the names, shapes and first values of
-- PyTorch's.

--- {bias}: false: no biases
--- {init}: the initializer of all parameters; uniform within 1 / sqrt(hidden) without it
--- {dtype}: the dtype of the parameters

local core = require "neap.core"
local block = require "neap.nn.block"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options

--- The arguments (inputs, hidden, options) or (hidden, options) of a layer.
local function sizes_of(name, inputs, hidden, given)
    if not core.is_number(hidden) and given == nil then inputs, hidden, given = nil, inputs, hidden end
    if inputs ~= nil then inputs = core.integer(name, 1, "inputs", inputs, 1) end
    return inputs, core.integer(name, inputs and 2 or 1, "hidden", hidden, 1), given
end

--- PyTorch's initializer of all parameters.
local function uniform_within(hidden)
    local bound = 1 / math.sqrt(hidden)
    return function(key, dims, known)
        return np.random.uniform(key, dims, { minval = -bound, maxval = bound, dtype = known.dtype })
    end
end

local function features_of(name, x)
    if not core.is_array(x) then
        raise(name, "the size of its input is not known: give it, or an example, as in layer:init(key, x)")
    end
    return x:dim(-1)
end

--- The parameters of one direction of a layer with `suffix` behind their names: entered into the list of declarations;
-- shapes(inputs) enters their shapes.
local function declare(list, suffix, init, bias, projected)
    local function add(part) list[#list + 1] = { part .. suffix, init } end
    add "weight_ih"
    add "weight_hh"
    if bias then
        add "bias_ih"
        add "bias_hh"
    end
    if projected then add "weight_hr" end
end

local function enter_shapes(shapes, suffix, rows, inputs, hidden, projected)
    shapes["weight_ih" .. suffix], shapes["weight_hh" .. suffix] = { rows, inputs }, { rows, projected or hidden }
    shapes["bias_ih" .. suffix], shapes["bias_hh" .. suffix] = { rows }, { rows }
    shapes["weight_hr" .. suffix] = projected and { projected, hidden } or nil
end

--- The parameters given must be those that the layer declares: a list of names, whose shapes follow from `hidden`.
local function check_params(name, params, list, rows, width)
    if type(params) ~= "table" then bad_argument(name, 1, "params", "what layer:init(key) returned", params) end
    for _, declared in ipairs(list) do
        local key = declared[1]
        local given = params[key]
        if given == nil then raise(name, "argument 1 (params) has no '%s', which this layer has", key) end
        if key:find "^weight_hh" and core.is_array(given)
           and not (core.ndim(given) == 2 and given:dim(0) == rows and given:dim(1) == width) then
            raise(name, "argument 1 (params): '%s' must have shape (%d, %d), got shape %s", key, rows, width,
                  core.shape_text(given))
        end
    end
    for key in pairs(params) do
        local known = false
        for _, declared in ipairs(list) do known = known or declared[1] == key end
        if not known then raise(name, "argument 1 (params) has '%s', which this layer has not", tostring(key)) end
    end
end

local of_function = { "dropout", "time_major", "reverse", "activations", "clip", "linear_before_reset" }

--- Defines nn.LAYER, which calls np.nn.FUNCTION; gates: how many; more: options that it alone has.
local function define_layer(nn, layer, f, gates, more)
    local name, known = "nn." .. layer, { layers = true, bidirectional = true, bias = true, dropout = true,
                                          time_major = true, reverse = true, activations = true, clip = true,
                                          init = true, dtype = true }
    for _, key in ipairs(more) do known[key] = true end
    nn[layer] = function(inputs, hidden, given)
        inputs, hidden, given = sizes_of(name, inputs, hidden, given)
        local o = options(name, given, known)
        if type(o.activations) == "table" then core.list(name, "option 'activations'", o.activations) end
        local layers = core.integer(name, nil, "layers", o.layers == nil and 1 or o.layers, 1)
        local projected = o.projection and core.integer(name, nil, "projection", o.projection, 1)
        local ways, list = o.bidirectional and { "", "_reverse" } or { "" }, {}
        for k = 0, layers - 1 do
            for _, way in ipairs(ways) do
                declare(list, ("_l%d%s"):format(k, way), o.init or uniform_within(hidden), o.bias ~= false, projected)
            end
        end
        return block.new {
            name = name, inputs = inputs, outputs = #ways * (projected or hidden), dtype = o.dtype, parameters = list,
            takes_key = true,
            infer_shape = function(self, x)
                local shapes, size = {}, self.inputs or features_of(name, x)
                for k = 0, layers - 1 do
                    for _, way in ipairs(ways) do
                        enter_shapes(shapes, ("_l%d%s"):format(k, way), gates * hidden, size, hidden, projected)
                    end
                    size = self.outputs
                end
                return shapes
            end,
            forward = function(_, params, x, key, now)
                local all = { key = key }
                check_params(name, params, list, gates * hidden, projected or hidden)
                if key ~= nil and not core.is_array(key) then
                    bad_argument(name, 3, "key", "a key, as np.random.key(0), or nil", key)
                end
                for _, option in ipairs(of_function) do all[option] = o[option] end
                if now ~= nil and type(now) ~= "table" then bad_argument(name, 4, "options", "a table", now) end
                for option, value in pairs(now or {}) do all[option] = value end
                return f(x, params, all)
            end,
        }
    end
end

--- Defines nn.CELL, which calls np.nn.FUNCTION.
local function define_cell(nn, cell, f, gates)
    local name = "nn." .. cell
    nn[cell] = function(inputs, hidden, given)
        inputs, hidden, given = sizes_of(name, inputs, hidden, given)
        local o, list = options(name, given, { bias = true, init = true, dtype = true }), {}
        declare(list, "", o.init or uniform_within(hidden), o.bias ~= false)
        return block.new {
            name = name, inputs = inputs, outputs = hidden, dtype = o.dtype, parameters = list,
            infer_shape = function(self, x)
                local shapes = {}
                enter_shapes(shapes, "", gates * hidden, self.inputs or features_of(name, x), hidden)
                return shapes
            end,
            forward = function(_, params, x, state)
                if type(params) ~= "table" then
                    bad_argument(name, 1, "params", "what layer:init(key) returned", params)
                end
                return f(x, state, params)
            end,
        }
    end
end

return function(nn)
    --- {layers}: how many lie on each other
    --- {bidirectional}: true: each layer goes both ways, and y has both results
    --- {time_major}: true: x and y are (time, batch, features)
    --- {reverse}: true: from the last turn to the first
    --- {dropout}: elements between layers are 0 with this probability, if the call has a key
    --- {clip}: what is added up for a gate is limited to [-clip, clip]
    --- {activations}: functions, as the function of the same name has them

    --- np.nn.LSTM(inputs, hidden, {layers=1, bidirectional=false, bias=true, projection=…, dropout=0, time_major=false,
    -- reverse=false, activations=…, clip=…, init=…, dtype="f32"}), np.nn.LSTM(hidden, {…}) -> block: layer(params, x,
    -- key, {state=…, lengths=…}) is np.nn.lstm of x, (batch, time, features), with its options: y and the last state.
    -- key, which may be nil, is for dropout. In np.nn.Sequential it gives y alone. Without `inputs` there are as many
    -- as the first x has. Parameters are those of PyTorch's LSTM, weight_ih_l0 and so on: ?np.nn.lstm.
    --- projection: the size of h, if it is not `hidden`
    --- > layer = np.nn.LSTM(2, 3, {layers=2, bidirectional=true})
    --- > y, state = layer(layer:init(np.random.key(0)), np.ones{1, 5, 2})
    --- > y:dim(-1), state.h:dim(0)
    -- 6
    -- 4
    define_layer(nn, "LSTM", nn.lstm, 4, { "projection" })

    --- np.nn.GRU(inputs, hidden, {layers=1, bidirectional=false, bias=true, linear_before_reset=true, dropout=0,
    -- time_major=false, reverse=false, activations=…, clip=…, init=…, dtype="f32"}), np.nn.GRU(hidden, {…}) -> block:
    -- layer(params, x, key, {state=…, lengths=…}) is np.nn.gru: y and the last h. Otherwise as np.nn.LSTM.
    --- linear_before_reset: false: as ONNX's default, ?np.nn.gru
    --- > layer = np.nn.GRU(2, 3)
    --- > layer(layer:init(np.random.key(0)), np.ones{1, 5, 2}):dim(-1)
    -- 3
    define_layer(nn, "GRU", nn.gru, 3, { "linear_before_reset" })

    --- np.nn.RNN(inputs, hidden, {layers=1, bidirectional=false, bias=true, dropout=0, time_major=false, reverse=false,
    -- activations=…, clip=…, init=…, dtype="f32"}), np.nn.RNN(hidden, {…}) -> block: layer(params, x, key, {state=…,
    -- lengths=…}) is np.nn.rnn: y and the last h. Otherwise as np.nn.LSTM.
    --- > layer = np.nn.RNN(2, 3, {activations={np.nn.relu}})
    --- > layer(layer:init(np.random.key(0)), np.ones{1, 5, 2}):dim(-1)
    -- 3
    define_layer(nn, "RNN", nn.rnn, 1, {})

    --- np.nn.LSTMCell(inputs, hidden, {bias=true, init=…, dtype="f32"}), np.nn.GRUCell, np.nn.RNNCell -> block: one
    -- turn, for np.scan and loops: layer(params, x, state) is np.nn.lstm_cell and its kin: the next state. Without
    -- `inputs` there are as many as the first x has. Parameters {weight_ih, weight_hh, bias_ih, bias_hh} as in PyTorch.
    --- > cell = np.nn.LSTMCell(2, 3)
    --- > cell(cell:init(np.random.key(0)), np.ones{5, 2}).h:dim(0)
    -- 5
    --- > cell = np.nn.GRUCell(2, 3)
    --- > cell(cell:init(np.random.key(0)), np.ones{5, 2}, np.ones{5, 3}):dim(0)
    -- 5
    --- > cell = np.nn.RNNCell(2, 3)
    --- > cell(cell:init(np.random.key(0)), np.ones{5, 2}):dim(0)
    -- 5
    define_cell(nn, "LSTMCell", nn.lstm_cell, 4)
    define_cell(nn, "GRUCell", nn.gru_cell, 3)
    define_cell(nn, "RNNCell", nn.rnn_cell, 1)
end
