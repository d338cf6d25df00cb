--- attention.lua: attention of queries to keys and values, by the names and shapes of jax.nn.
local core = require "neap.core"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"

local np = core.np
local raise, coerce, options = core.raise, core.coerce, core.options
local shape_of = core.shape_of

local attention = {}

local NAME = "nn.dot_product_attention"

--- An argument of shape (…, n, heads, d), of 3 or 4 axes.
local function heads_of(position, x)
    x = coerce(NAME, position, x)
    local n = core.ndim(x)
    if n ~= 3 and n ~= 4 then
        raise(NAME, "argument %d must have shape (n, heads, d) or (batch, n, heads, d), got %s", position,
              core.shape_text(x))
    end
    return x
end

--- As many heads as the queries have: each of the others serves as many neighbours.
local function widened(x, heads, position)
    local own = x:dim(-2)
    if own == heads then return x end
    if own == 0 or heads % own ~= 0 then
        raise(NAME, "%d heads of argument 1 cannot share %d heads of argument %d", heads, own, position)
    end
    return np.repeat_(x, heads / own, { axis = -2 })
end

--- An option that is an array, a number or a table of such beside arrays of the dtype `met`.
local function operand(name, what, value, met)
    if not core.is_array(value) and not core.is_number(value) and (type(value) ~= "table" or value[1] == nil) then
        core.bad_argument(name, nil, what, "an array", value)
    end
    return operands.beside(name, 1, value, met)
end

--- A mask of np.name, bools or integers, as bools. Floats mean one thing in PyTorch, which adds 0 and -inf to scores,
-- and another where 1 stands for what is kept: no reading is right for all, so they are refused.
local function truth(name, mask)
    mask = operand(name, "mask", mask)
    local dtype = core.dtype_of(mask)
    if dtype.inexact then
        raise(name, "the mask must be bools, false where a key is hidden, got dtype %s; mask:gt(0) or "
              .. "np.isfinite(mask) makes bools%s", dtype.name,
              name == NAME and ", and option 'bias' is added to scores" or "")
    end
    return np.astype(mask, "bool")
end

--- Scores of np.name with those of hidden keys far below all others, as in JAX, but not infinite: a row of these alone
-- has no NaN, and no derivative.
function attention.masked(name, scores, mask, more)
    local kept = mask ~= nil and truth(name, mask) or nil
    if more then kept = kept and np.logical_and(kept, more) or more end
    return kept and np.where(kept, scores, -0.7 * np.finfo(core.dtype_of(scores).name).max) or scores
end

--- An option that is integers, 0-d or one for each example, as an array that broadcasts with scores of `ndim` axes.
local function counts(what, value, batch, ndim)
    value = core.plain(value)
    if type(value) == "table" or core.is_number(value) then value = np.array(value, { dtype = "i32" }) end
    if not core.is_array(value) then core.bad_argument(NAME, nil, what, "an array of integers", value) end
    local kind, dims = core.dtype_of(value).kind, shape_of(value)
    if kind ~= "i" and kind ~= "u" then
        core.not_integers(NAME, ("option '%s'"):format(what), core.dtype_of(value))
    end
    if #dims == 0 then return value end
    if ndim ~= 4 or #dims ~= 1 or not core.is_same(dims[1], batch) then
        raise(NAME, "option '%s' must have one integer, or one for each example of the batch, got shape %s", what,
              core.shape_text(value))
    end
    return shape.reshape(value, { dims[1], 1, 1, 1 })
end

--- The left and right reach of a window.
local function window_of(value)
    if type(value) ~= "table" then value = { value, value } end
    core.list(NAME, "option 'local_window_size'", value)
    local list = {}
    for k = 1, math.max(#value, 2) do
        list[k] = core.plain(value[k])
        if k > 2 or not core.is_integer(list[k]) or list[k] < 0 then
            core.bad_argument(NAME, nil, "local_window_size", "an integer from 0 up, or {left, right}", value[k])
        end
    end
    return list[1], list[2]
end

--- Which keys queries see by their places, bools that broadcast with the scores; nil: all. Also whether queries count.
local function seen_places(o, n, m, batch, ndim)
    local index = core.dtype_codes.i32
    local rows, columns = shape.reshape(create.iota(n, index), { n, 1 }), shape.reshape(create.iota(m, index), { 1, m })
    local seen
    local function add(more) seen = seen and np.logical_and(seen, more) or more end
    local places = o.offset ~= nil and rows + counts("offset", o.offset, batch, ndim) or rows
    if o.is_causal and o.offset == nil then
        add(np.tri(n, m, { dtype = "bool" }))
    elseif o.is_causal then
        add(np.less_equal(columns, places))
    end
    if o.local_window_size ~= nil then
        local left, right = window_of(o.local_window_size)
        add(np.logical_and(np.greater_equal(columns, places - left), np.less_equal(columns, places + right)))
    end
    if o.key_value_seq_lengths ~= nil then
        add(np.less(columns, counts("key_value_seq_lengths", o.key_value_seq_lengths, batch, ndim)))
    end
    local counted
    if o.query_seq_lengths ~= nil then
        counted = np.less(rows, counts("query_seq_lengths", o.query_seq_lengths, batch, ndim))
        add(counted)
    end
    return seen, counted
end

local known = { bias = true, mask = true, is_causal = true, scale = true, softcap = true, local_window_size = true,
                query_seq_lengths = true, key_value_seq_lengths = true, offset = true, scores = true }
local stages = { products = true, capped = true, masked = true, weights = true }

--- The options, checked where they are no arrays; and softcap.
local function checked(given)
    local o = options(NAME, given, known)
    local cap = core.plain(o.softcap)
    if cap ~= nil and (type(cap) ~= "number" or cap <= 0 or cap ~= cap) then
        core.bad_argument(NAME, nil, "softcap", "a number above 0", o.softcap)
    end
    if o.scores ~= nil and not stages[o.scores] then
        core.bad_argument(NAME, nil, "scores", '"products", "capped", "masked" or "weights"', o.scores)
    end
    return o, cap
end

function attention.define(nn)
    --- np.nn.dot_product_attention(query, key, value, {bias=…, mask=…, is_causal=false, scale=…, softcap=…,
    -- local_window_size=…, query_seq_lengths=…, key_value_seq_lengths=…, offset=0, scores=…}): softmax(scale query keyᵀ
    -- + bias) value for each head (Vaswani et al., 2017), as in JAX. query is (batch, n, heads, d), or without the
    -- batch, key (batch, m, heads, d) and value (batch, m, heads, e); the result is (batch, n, heads, e). Keys and
    -- values may have fewer heads, each for as many of the queries' (Ainslie et al., 2023). Where a query is left no
    -- key, all count alike. Scores and softmax of halves are f32.
    --- bias: added to the scores, broadcasts to (batch, heads, n, m)
    --- mask: bools that broadcast to (batch, heads, n, m): false leaves a key out; floats are refused
    --- is_causal: true leaves out the keys behind a query's own place
    --- scale: of the scores; 1 / sqrt(d) without it
    --- softcap: c: scores s, before bias and mask, become c * tanh(s / c), as in Gemma 2
    --- local_window_size: how many keys a query sees at most on either side of its place, or {left, right}
    --- query_seq_lengths: integers, (batch,) or one: of the queries of an example so many count; others give 0
    --- key_value_seq_lengths: the same of keys and values: others are left out
    --- offset: the place of the first query among the keys, an integer or (batch,), as with a cache: ?np.nn.kv_cache
    --- scores: a second result (batch, heads, n, m): "products" of queries and keys, scaled, "capped", "masked" (with
    -- bias) or "weights" (the softmax)
    --- > x = np.eye(3):reshape(3, 1, 3)
    --- > np.nn.dot_product_attention(x, x, x, {is_causal=true})[{{0, 2}, 0}]
    -- [[1.         0.         0.        ]
    --  [0.35954252 0.64045745 0.        ]]
    function nn.dot_product_attention(query, key, value, given)
        local o, cap = checked(given)
        query, key, value = heads_of(1, query), heads_of(2, key), heads_of(3, value)
        local heads, dims = query:dim(-2), shape_of(query)
        local half
        if core.ndim(key) ~= #dims or core.ndim(value) ~= #dims or key:dim(-1) ~= query:dim(-1)
            or key:dim(-3) ~= value:dim(-3) then
            raise(NAME, "shapes %s, %s and %s do not fit: (…, n, heads, d), (…, m, heads, d), (…, m, heads, e)",
                  core.shape_text(query), core.shape_text(key), core.shape_text(value))
        end
        key, value = widened(key, heads, 2), widened(value, heads, 3)
        half, query, key, value = operands.floats_all(NAME, nil, 3, query, key, value)
        local scale, stage = o.scale == nil and 1 / math.sqrt(query:dim(-1)) or o.scale, {}
        local scores = np.einsum("...nhd,...mhd->...hnm", query, key) * scale
        stage.products = scores
        if cap then scores = np.tanh(scores / cap) * cap end
        stage.capped = scores
        if o.bias ~= nil then scores = scores + operand(NAME, "bias", o.bias, core.dtype_of(query)) end
        local seen, counted = seen_places(o, query:dim(-3), key:dim(-3), dims[1], #dims)
        scores = attention.masked(NAME, scores, o.mask, seen)
        stage.masked = scores
        local weights = np.astype(np.softmax(scores, { axis = -1 }), core.dtype_of(value).name)
        if counted then weights = np.where(counted, weights, 0) end
        stage.weights = weights
        local y = operands.narrow(np.einsum("...hnm,...mhe->...nhe", weights, value), half)
        if o.scores then return y, operands.narrow(stage[o.scores], half) end
        return y
    end

    --- np.nn.kv_cache(shape, {dtype="f32"}) -> table: room for keys and values of shape (batch, length, heads, d), or
    -- without the batch: {key=zeros, value=zeros, length=0}, a tree of arrays. np.nn.kv_append enters some:
    --     cache = np.nn.kv_append(cache, key, value)
    --     y = np.nn.dot_product_attention(query, cache.key, cache.value, {is_causal=true, offset=cache.length - 1})
    -- for one query; of n queries the offset is cache.length - n.
    --- dtype: of keys and values
    --- > np.nn.kv_cache({1, 8, 2, 4}).key:dim(1)
    -- 8
    function nn.kv_cache(dims, given)
        local o = options("nn.kv_cache", given, { dtype = true })
        dims = shape.argument("nn.kv_cache", dims)
        if #dims ~= 3 and #dims ~= 4 then
            raise("nn.kv_cache", "the shape must be (batch, length, heads, d), or without the batch, got %s",
                  core.shape_text(dims))
        end
        return { key = np.zeros(dims, { dtype = o.dtype }), value = np.zeros(dims, { dtype = o.dtype }),
                 length = np.zeros({}, { dtype = "i32" }) }
    end

    --- np.nn.kv_append(cache, key, value) -> table: the cache of np.nn.kv_cache with more keys and values behind those
    -- that it has, of shape (batch, n, heads, d): its length grows by n. What goes beyond its room overwrites its end.
    --- > cache = np.nn.kv_append(np.nn.kv_cache{4, 1, 1}, np.ones{2, 1, 1}, np.ones{2, 1, 1})
    --- > cache.key:ravel(), cache.length
    -- [1. 1. 0. 0.]
    -- 2
    function nn.kv_append(cache, key, value)
        local name = "nn.kv_append"
        if type(cache) ~= "table" or not core.is_array(cache.key) or not core.is_array(cache.length) then
            core.bad_argument(name, 1, "cache", "what np.nn.kv_cache returned", cache)
        end
        key, value = coerce(name, 2, key), coerce(name, 3, value)
        local axis = core.ndim(cache.key) - 3
        local function entered(old, new)
            local dims, wanted = shape_of(new), shape_of(old)
            local n = dims[axis + 1]
            wanted[axis + 1] = n
            if #dims ~= #wanted or not shape.same(dims, wanted) or n > shape_of(old)[axis + 1] then
                raise(name, "keys and values of shape %s do not fit into a cache of %s", core.shape_text(new),
                      core.shape_text(old))
            end
            new = np.astype(new, core.dtype_of(old).name)
            return np.dynamic_update_slice_in_dim(old, new, cache.length, { axis = axis })
        end
        return { key = entered(cache.key, key), value = entered(cache.value, value),
                 length = cache.length + shape_of(key)[axis + 1] }
    end

    --- np.nn.rotary_tables(positions, features, {base=10000}) -> cos, sin: the cosines and sines of position * base^(-2
    -- k / features) for k from 0 to features / 2 (Su et al., 2021): shape (…, features / 2), f32, for integer or real
    -- positions of shape (…). For np.nn.rotary_embedding.
    --- base: of the wave lengths
    --- > np.nn.rotary_tables(np.arange(2), 4)
    -- [[1.        1.       ]
    --  [0.5403023 0.99995  ]]
    -- [[0.         0.        ]
    --  [0.84147096 0.00999983]]
    function nn.rotary_tables(positions, features, given)
        local name = "nn.rotary_tables"
        local base = options(name, given, { base = true }).base
        if base == nil then base = 10000 end
        if type(base) ~= "number" or base <= 0 or base ~= base then
            core.bad_argument(name, nil, "base", "a number above 0", base)
        end
        features = core.integer(name, 2, "features", features, 2)
        if features % 2 ~= 0 then core.bad_argument(name, 2, "features", "an even integer", features) end
        positions = coerce(name, 1, positions)
        local wide = core.dtype_of(positions).name == "f64" and "f64" or "f32"
        local count = features / 2
        local rates = core.fill(core.dtype_codes.f64, { count }, function(to)
            for k = 0, count - 1 do to[k] = base ^ (-2 * k / features) end
        end, "double *", name)
        local angle = np.expand_dims(np.astype(positions, wide), -1) * np.astype(rates, wide)
        return np.cos(angle), np.sin(angle)
    end

    --- np.nn.rotary_embedding(x, cos, sin, {interleaved=false}): x of shape (…, n, heads, d) with pairs of features
    -- turned by angles (Su et al., 2021), whose cosines and sines are (n, r) or (…, n, r), r up to d / 2: features k
    -- and k + r are a pair, as in Llama; features from 2 r on stay. Halves count as f32.
    --- interleaved: true: features 2 k and 2 k + 1 are a pair, as in GPT-J
    --- > cos, sin = np.nn.rotary_tables(np.arange(2), 2)
    --- > np.nn.rotary_embedding(np.array{{{1, 0}}, {{1, 0}}}, cos, sin):reshape(2, 2)
    -- [[1.         0.        ]
    --  [0.5403023  0.84147096]]
    function nn.rotary_embedding(x, cos, sin, given)
        local name, half = "nn.rotary_embedding"
        local interleaved = options(name, given, { interleaved = true }).interleaved
        half, x, cos, sin = operands.floats_all(name, nil, 3, x, cos, sin)
        local dims, of_cos = shape_of(x), shape_of(cos)
        local r, last = of_cos[#of_cos], #dims - 1
        if #dims < 3 or #of_cos < 2 or not shape.same(of_cos, shape_of(sin)) or 2 * r > dims[#dims] then
            raise(name, "shapes %s, %s and %s do not fit: x (…, n, heads, d), cos and sin (…, n, r), r up to d / 2",
                  core.shape_text(x), core.shape_text(cos), core.shape_text(sin))
        end
        cos, sin = np.expand_dims(cos, -2), np.expand_dims(sin, -2)
        local a, b, y
        if interleaved then
            local apart = { unpack(dims, 1, #dims - 1) }
            apart[#dims], apart[#dims + 1] = r, 2
            local pairs_of = shape.reshape(shape.cut(x, last, 0, 2 * r), apart)
            a, b = np.squeeze(shape.cut(pairs_of, #dims, 0, 1), -1), np.squeeze(shape.cut(pairs_of, #dims, 1, 2), -1)
            apart[#dims], apart[#dims + 1] = 2 * r, nil
            y = shape.reshape(np.stack({ a * cos - b * sin, a * sin + b * cos }, { axis = -1 }), apart)
        else
            a, b = shape.cut(x, last, 0, r), shape.cut(x, last, r, 2 * r)
            y = np.concatenate({ a * cos - b * sin, a * sin + b * cos }, { axis = -1 })
        end
        if 2 * r < dims[#dims] then
            y = np.concatenate({ y, shape.cut(x, last, 2 * r, dims[#dims]) }, { axis = -1 })
        end
        return operands.narrow(y, half)
    end
end

return attention
