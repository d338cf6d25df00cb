--- layers.lua: the layers of np.nn, each a block (block.lua): Dense, Sequential, Dropout, Embedding, LayerNorm,
-- BatchNorm, MultiHeadAttention. Names, defaults and initializers are Flax's where neap has none of its own.
--
-- A layer with the field `takes_key` takes a random key after its input, or nil; np.nn.Sequential gives it one, through
-- layer:with_key(params, x, key) if there is that method, as where the key stands behind other arguments. A layer with
-- `takes_state` takes a state behind the key, and whether it is training, and returns the new state as well.

--- {dtype}: the dtype of the parameters

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local attention = require "neap.nn.attention"
local block = require "neap.nn.block"
local weights = require "neap.nn.weights"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local is_array, shape_of = core.is_array, core.shape_of
local type = type

return function(nn)
    nn.Block = block.new

    --- The extent of an input's last axis.
    local function features_of(name, x)
        if not is_array(x) then
            raise(name, "the size of its input is not known: give it, or an example, as in layer:init(key, x)")
        end
        if core.ndim(x) == 0 then raise(name, "needs an input of at least 1 axis, got shape ()") end
        return x:dim(-1)
    end

    local function check_params(name, params, field)
        if type(params) ~= "table" or not is_array(params[field])
            and not (field == "w" and weights.is_quantized(params.w)) then
            bad_argument(name, 1, "params", "what layer:init(key) returned", params)
        end
    end

    --- np.nn.Dense(inputs, outputs, {bias=true, init=np.nn.glorot_uniform, bias_init=np.nn.zeros, dtype="f32"}),
    -- np.nn.Dense(outputs, {…}) -> block: x:matmul(w) + b, with parameters {w = (inputs, outputs), b = (outputs,)}.
    -- Without `inputs` there are as many as the first x has.
    --- bias: false: no b
    --- init: the initializer of w
    --- bias_init: the initializer of b
    --- > layer = np.nn.Dense(2, 3)
    --- > layer(layer:init(np.random.key(0)), np.ones{4, 2}):dim(1)
    -- 3
    function nn.Dense(inputs, outputs, given)
        if type(outputs) ~= "number" and given == nil then inputs, outputs, given = nil, inputs, outputs end
        if inputs ~= nil then inputs = core.integer("nn.Dense", 1, "inputs", inputs) end
        outputs = core.integer("nn.Dense", inputs and 2 or 1, "outputs", outputs)
        local o = options("nn.Dense", given, { bias = true, init = true, bias_init = true, dtype = true })
        local parameters = { { "w", o.init or nn.glorot_uniform } }
        if o.bias ~= false then parameters[2] = { "b", o.bias_init or nn.zeros } end
        return block.new {
            name = "nn.Dense", inputs = inputs, outputs = outputs, dtype = o.dtype, parameters = parameters,
            infer_shape = function(self, x)
                return { w = { self.inputs or features_of("nn.Dense", x), self.outputs }, b = { self.outputs } }
            end,
            forward = function(_, params, x)
                check_params("nn.Dense", params, "w")
                return weights.product("nn.Dense", 2, x, params.w, params.b, "its parameter w")
            end,
        }
    end

    --- np.nn.Sequential{layer, …} -> block: applies them in turn, layer(params, x, key): key, which may be nil,
    -- is for layers like np.nn.Dropout. Its parameters are a table with those of each layer, {} for a function.
    --
    -- With np.nn.BatchNorm among its layers it has a state: model:state(params) makes the first, a table with that of
    -- each layer, {} for one without, and
    --     y, state = model(params, x, key, state)           in training
    --     y = model(params, x, nil, state, false)           in evaluation
    --- > model = np.nn.Sequential{np.nn.Dense(2, 3), np.nn.relu, np.nn.Dense(3, 1)}
    --- > params = model:init(np.random.key(0))
    --- > model(params, np.ones{4, 2}):dim(1)
    -- 1
    --- > model = np.nn.Sequential{np.nn.Dense(2, 3), np.nn.BatchNorm(), np.nn.relu}
    --- > params = model:init(np.random.key(0), np.ones{4, 2})
    --- > y, state = model(params, np.ones{4, 2}, nil, model:state(params))
    --- > state[2].var:round(2)
    -- [0.99 0.99 0.99]
    function nn.Sequential(layers, second)
        if second ~= nil or type(layers) == "function" or block.is_block(layers) then
            raise("nn.Sequential", "the layers go into one table: np.nn.Sequential{layer, …}")
        end
        if type(layers) ~= "table" then bad_argument("nn.Sequential", 1, "layers", "a table", layers) end
        for k = 1, #layers do
            if layers[k] == nil then raise("nn.Sequential", "item %d of the table of layers is nil", k) end
        end
        local definition = core.copy_list(core.list("nn.Sequential", "the table of layers", layers))
        definition.name, definition.takes_key = "nn.Sequential", true
        for _, layer in ipairs(definition) do
            definition.takes_state = definition.takes_state or block.is_block(layer) and layer.takes_state
        end
        local function check(self, position, what, given, origin)
            if type(given) == "table" and #given == #self then return end
            bad_argument("nn.Sequential", position, what, origin, given)
        end
        --- What layer k makes of x, and its new state, {} for one without.
        local function run(layer, k, params, x, key, state, training)
            if type(layer) == "function" then return layer(x), {} end
            local own = layer.takes_key and key and np.random.fold_in(key, k) or nil
            if layer.with_key then return layer:with_key(params[k], x, own), {} end
            if not layer.takes_state and layer.takes_key then return layer(params[k], x, own), {} end
            if not layer.takes_state then return layer(params[k], x), {} end
            local before = state and state[k]
            if not state then before = layer:state(block.make_now(params[k], x)) end -- parameters are being made
            if layer.takes_key then return layer(params[k], x, own, before, training) end
            return layer(params[k], x, before, training)
        end
        function definition.forward(self, params, x, key, state, training)
            check(self, 1, "params", params, "what model:init(key) returned")
            local stateful = self.takes_state and not (state == nil and block.is_being_made(params))
            if stateful then check(self, 4, "state", state, "what model:state(params) or a call returned") end
            local new = {}
            for k = 1, #self do x, new[k] = run(self[k], k, params, x, key, state, training) end
            if stateful then return x, new end
            return x
        end
        if definition.takes_state then
            function definition.state(self, params)
                check(self, 1, "params", params, "what model:init(key) returned")
                local states = {}
                for k, layer in ipairs(self) do
                    states[k] = block.is_block(layer) and layer.takes_state and layer:state(params[k]) or {}
                end
                return states
            end
        end
        jit.off(run)
        jit.off(definition.forward)
        return block.new(definition)
    end

    --- A probability below 1, as an argument or option of np.name.
    local function probability(name, position, what, value)
        value = core.plain(value)
        if type(value) ~= "number" or not (value >= 0 and value < 1) then
            bad_argument(name, position, what, "a number in [0, 1)", value)
        end
        return value
    end

    --- Each element of x as 0 with a probability, else divided by what is left of 1. The key is argument `position`.
    local function dropped(name, position, x, rate, key)
        if not is_array(key) then bad_argument(name, position, "key", "a key, as np.random.key(0)", key) end
        return np.where(np.random.bernoulli(key, 1 - rate, shape_of(x)), x / (1 - rate), 0)
    end

    --- np.nn.Dropout(rate) -> block: layer(params, x, key): each element of x is 0 with probability `rate`, else
    -- divided by 1 - rate; x itself without a key, as in evaluation. No parameters.
    --- > np.nn.Dropout(0.5)({}, np.ones(3))
    -- [1. 1. 1.]
    function nn.Dropout(rate)
        return block.new {
            name = "nn.Dropout", rate = probability("nn.Dropout", 1, "rate", rate), takes_key = true,
            forward = function(self, _, x, key)
                if not is_array(x) then bad_argument("nn.Dropout", 2, "x", "an array", x) end
                x = operands.float(x)
                if key == nil or self.rate == 0 then return x end
                return dropped("nn.Dropout", 3, x, self.rate, key)
            end,
        }
    end

    --- np.nn.Embedding(count, features, {init=…, dtype="f32"}) -> block: layer(params, ids): row ids[…] of the
    -- parameter {table = (count, features)}: shape (…, features). An id that the table does not have gives NaN, as in
    -- Flax; negative ones count from the end. The table is normal with variance 1 / features unless init says
    -- otherwise.
    --- init: the initializer of the table
    --- > layer = np.nn.Embedding(10, 4)
    --- > layer(layer:init(np.random.key(0)), np.arange(3)):dim(1)
    -- 4
    function nn.Embedding(count, features, given)
        count = core.integer("nn.Embedding", 1, "count", count)
        features = core.integer("nn.Embedding", 2, "features", features)
        local o = options("nn.Embedding", given, { init = true, dtype = true })
        local function init(key, dims, known)
            return np.random.normal(key, dims, known) * math.sqrt(1 / dims[2])
        end
        return block.new {
            name = "nn.Embedding", dtype = o.dtype, parameters = { { "table", o.init or init } },
            infer_shape = function() return { table = { count, features } } end,
            forward = function(_, params, ids)
                check_params("nn.Embedding", params, "table")
                ids = core.coerce("nn.Embedding", 2, ids)
                local kind = core.dtype_of(ids).kind
                if kind ~= "i" and kind ~= "u" then
                    core.not_integers("nn.Embedding", "argument 2 (ids)", core.dtype_of(ids))
                end
                return np.take(params.table, ids, { axis = 0, mode = "fill" })
            end,
        }
    end

    --- The input of np.name, of halves as f32, and params.scale and params.bias; and the half that all of them meet in.
    local function normal_operands(name, params, x)
        check_params(name, params, "scale")
        if not is_array(x) then bad_argument(name, 2, "x", "an array", x) end
        return operands.floats_all(name, nil, 3, x, params.scale, params.bias)
    end

    --- (x - mean) / sqrt(variance + epsilon) * scale + bias
    local function normalized(x, mean, variance, epsilon, scale, bias)
        return (x - mean) / np.sqrt(variance + epsilon) * scale + bias
    end

    local function per_feature(name)
        return function(_, x)
            local n = features_of(name, x)
            return { scale = { n }, bias = { n } }
        end
    end

    --- np.nn.LayerNorm({epsilon=1e-6, dtype="f32"}) -> block: x with mean 0 and variance 1 along the last axis, times
    -- `scale`, plus `bias` (Ba, Kiros and Hinton, 2016). Parameters {scale = (n,), bias = (n,)}.
    --- epsilon: what is added to the variance
    --- > layer = np.nn.LayerNorm()
    --- > layer(layer:init(np.random.key(0), np.ones(4)), np.array{1, 3, 1, 3}):round()
    -- [-1.  1. -1.  1.]
    function nn.LayerNorm(given)
        local o = options("nn.LayerNorm", given, { epsilon = true, dtype = true })
        return block.new {
            name = "nn.LayerNorm", epsilon = o.epsilon or 1e-6, dtype = o.dtype,
            parameters = { { "scale", nn.ones }, { "bias", nn.zeros } }, infer_shape = per_feature("nn.LayerNorm"),
            forward = function(self, params, x)
                local half, input, scale, bias = normal_operands("nn.LayerNorm", params, x)
                local along = { axis = -1, keepdims = true }
                local y = normalized(input, np.mean(input, along), np.var(input, along), self.epsilon, scale, bias)
                return operands.narrow(y, half)
            end,
        }
    end

    --- np.nn.BatchNorm({momentum=0.99, epsilon=1e-5, dtype="f32"}) -> block: x with mean 0 and variance 1 for each
    -- feature (index of the last axis), times `scale`, plus `bias` (Ioffe and Szegedy, 2015). The state, {mean = (n,),
    -- var = (n,)}, is explicit: layer:state(x), or layer:state(params), makes the first, and
    --     y, state = layer(params, x, state)           in training: moments of x, which the new state takes up
    --     y = layer(params, x, state, false)           in evaluation: moments of the state
    --- momentum: the share of its old value that the state keeps
    --- epsilon: what is added to the variance
    --- > layer, x = np.nn.BatchNorm(), np.array{{1}, {3}}
    --- > params = layer:init(np.random.key(0), x)
    --- > y, state = layer(params, x, layer:state(x))
    --- > y:round()
    -- [[-1.]
    --  [ 1.]]
    function nn.BatchNorm(given)
        local o = options("nn.BatchNorm", given, { momentum = true, epsilon = true, dtype = true })
        return block.new {
            name = "nn.BatchNorm", momentum = o.momentum or 0.99, epsilon = o.epsilon or 1e-5, dtype = o.dtype,
            parameters = { { "scale", nn.ones }, { "bias", nn.zeros } }, infer_shape = per_feature("nn.BatchNorm"),
            takes_state = true,
            state = function(self, x)
                local n = { features_of("nn.BatchNorm", type(x) == "table" and x.scale or x) }
                return { mean = np.zeros(n, { dtype = self.dtype }), var = np.ones(n, { dtype = self.dtype }) }
            end,
            forward = function(self, params, x, state, training)
                local half, input, scale, bias = normal_operands("nn.BatchNorm", params, x)
                if type(state) ~= "table" or not is_array(state.mean) or not is_array(state.var) then
                    bad_argument("nn.BatchNorm", 3, "state", "what layer:state(x) or a call returned", state)
                end
                local mean, of_mean = operands.wide(state.mean)
                local variance, of_variance = operands.wide(state.var)
                if training == false then
                    local y = normalized(input, mean, variance, self.epsilon, scale, bias)
                    return operands.narrow(y, half), state
                end
                local axes = {}
                for k = 1, core.ndim(x) - 1 do axes[k] = k - 1 end
                if shape.product(shape_of(x), 1, #axes) == 0 then
                    raise("nn.BatchNorm", "there is nothing to take a mean of in x of shape %s", core.shape_text(x))
                end
                local function blend(old, new, of_state)
                    return operands.narrow(old * self.momentum + new * (1 - self.momentum), of_state)
                end
                local mean_now, variance_now = np.mean(input, { axis = axes }), np.var(input, { axis = axes })
                local y = normalized(input, mean_now, variance_now, self.epsilon, scale, bias)
                return operands.narrow(y, half), { mean = blend(mean, mean_now, of_mean),
                                                   var = blend(variance, variance_now, of_variance) }
            end,
        }
    end

    --- (…, n, features) as (…, heads, n, features / heads), and back.
    local function split_heads(x, heads)
        local dims = shape_of(x)
        local features = table.remove(dims)
        dims[#dims + 1], dims[#dims + 2] = heads, math.floor(features / heads)
        return np.swapaxes(shape.reshape(x, dims), -2, -3)
    end

    local function join_heads(x)
        x = np.swapaxes(x, -2, -3)
        local dims = shape_of(x)
        local size = table.remove(dims)
        dims[#dims] = dims[#dims] * size
        return shape.reshape(x, dims)
    end

    --- np.nn.MultiHeadAttention(heads, {features=…, kv_heads=heads, is_causal=false, dropout=0, return_weights=false,
    -- bias=true, dtype="f32"}) -> block: layer(params, x, context, mask, key): attention of x, shape (…, n, d), to
    -- context, (…, m, d), x itself without one (Vaswani et al., 2017): softmax(q k / sqrt(size)) v for each head, where
    -- q, k, v are dense layers of `features` (those of x, unless given), a multiple of heads; then a dense layer of d
    -- outputs. mask, bools, broadcasts to (…, heads, n, m): false hides; a row that hides all counts all alike. Scores
    -- and softmax of halves are f32. Parameters {query, key, value, out}, those of np.nn.Dense.
    --- features: of queries, keys and values together; those of x without it
    --- kv_heads: of keys and values, each for as many neighbours of the queries' (Ainslie et al., 2023)
    --- is_causal: true: a place of x sees no place of context behind its own
    --- dropout: with this probability a weight of the softmax is 0, else divided by 1 - dropout, given a key, as in
    -- training
    --- return_weights: true: a second result, the weights that values get, (…, heads, n, m)
    --- bias: false: the dense layers have none
    --- > layer = np.nn.MultiHeadAttention(2)
    --- > layer(layer:init(np.random.key(0), np.ones{3, 4}), np.ones{3, 4}):dim(1)
    -- 4
    function nn.MultiHeadAttention(heads, given)
        local name = "nn.MultiHeadAttention"
        heads = core.integer(name, 1, "heads", heads)
        local o = options(name, given, { features = true, bias = true, dtype = true, kv_heads = true, is_causal = true,
                                         dropout = true, return_weights = true })
        local known, rate = { bias = o.bias, dtype = o.dtype }, probability(name, nil, "dropout", o.dropout or 0)
        local shared = core.integer(name, nil, "kv_heads", o.kv_heads == nil and heads or o.kv_heads, 1)
        if heads % shared ~= 0 then
            raise(name, "option 'kv_heads' must divide the %d heads, got %d", heads, shared)
        end
        return block.new {
            name = name, heads = heads, kv_heads = shared, features = o.features, dense = known,
            is_causal = o.is_causal, takes_key = rate > 0,
            with_key = rate > 0 and function(self, params, x, key) return self(params, x, nil, nil, key) end or nil,
            init = function(self, key, x, context)
                local d = features_of(name, x)
                local features, keys = self.features or d, np.random.split(key, 4)
                if features % heads ~= 0 then
                    raise(name, "features must be a multiple of heads, %d, got %d", heads, features)
                end
                local from = context ~= nil and features_of(name, context) or d
                local thin = features / heads * shared
                return { query = nn.Dense(d, features, known):init(keys[0]),
                         key = nn.Dense(from, thin, known):init(keys[1]),
                         value = nn.Dense(from, thin, known):init(keys[2]),
                         out = nn.Dense(features, d, known):init(keys[3]) }
            end,
            forward = function(self, params, x, context, mask, key)
                if type(params) ~= "table" or type(params.query) ~= "table" then
                    bad_argument(name, 1, "params", "what layer:init(key, x) returned", params)
                end
                local from = context == nil and x or context
                local function dense(part, position, input)
                    local own = params[part]
                    return weights.product(name, position, input, own.w, own.b, ("its parameter %s.w"):format(part))
                end
                local function heads_of(part, position, input, count)
                    local all = split_heads(dense(part, position, input), count)
                    return count == self.heads and all or np.repeat_(all, self.heads / count, { axis = -3 })
                end
                local q, at = heads_of("query", 2, x, self.heads), context == nil and 2 or 3
                local k, v = heads_of("key", at, from, self.kv_heads), heads_of("value", at, from, self.kv_heads)
                local seen = self.is_causal and np.tri(q:dim(-2), k:dim(-2), { dtype = "bool" }) or nil
                local half
                half, q, k, v = operands.floats_all(name, nil, 3, q, k, v)
                local scores = np.matmul(q / math.sqrt(q:dim(-1)), np.swapaxes(k, -1, -2))
                local shares = np.softmax(attention.masked(name, scores, mask, seen), { axis = -1 })
                if key ~= nil and rate > 0 then shares = dropped(name, 5, shares, rate, key) end
                local y = operands.narrow(np.matmul(shares, v), half)
                y = dense("out", 2, join_heads(y))
                if o.return_weights then return y, operands.narrow(shares, half) end
                return y
            end,
        }
    end
end
