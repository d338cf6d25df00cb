--- attention.lua: attention of queries to keys and values, by the names and shapes of jax.nn.
local core = require "neap.core"

local np = core.np
local raise, coerce, options = core.raise, core.coerce, core.options
local shape_of = core.shape_of

local NAME = "nn.dot_product_attention"

--- An argument of shape (…, n, heads, d), of 3 or 4 axes.
local function heads_of(position, x)
    x = coerce(NAME, position, x)
    if core.dtype_of(x).kind ~= "f" then x = np.astype(x, core.dtype_of(x).real) end
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

return function(nn)
    --- np.nn.dot_product_attention(query, key, value, {bias=…, mask=…, is_causal=false, scale=…}): softmax(scale query
    -- keyᵀ + bias) value for each head (Vaswani et al., 2017), as in JAX. query is (batch, n, heads, d), or without
    -- the batch, key (batch, m, heads, d) and value (batch, m, heads, e); the result is (batch, n, heads, e). Keys and
    -- values may have fewer heads, each for as many of the queries' (Ainslie et al., 2023). Where the mask leaves a
    -- query no key, all count alike. Scores and softmax of halves are f32.
    --- bias: added to the scores, broadcasts to (batch, heads, n, m)
    --- mask: bools that broadcast to (batch, heads, n, m): false leaves a key out
    --- is_causal: true leaves out the keys behind a query's own place
    --- scale: of the scores; 1 / sqrt(d) without it
    --- > x = np.eye(3):reshape(3, 1, 3)
    --- > np.nn.dot_product_attention(x, x, x, {is_causal=true})[{{0, 2}, 0}]
    -- [[1.         0.         0.        ]
    --  [0.35954252 0.64045745 0.        ]]
    function nn.dot_product_attention(query, key, value, given)
        local o = options(NAME, given, { bias = true, mask = true, is_causal = true, scale = true })
        query, key, value = heads_of(1, query), heads_of(2, key), heads_of(3, value)
        local heads, dims = query:dim(-2), shape_of(query)
        if core.ndim(key) ~= #dims or core.ndim(value) ~= #dims or key:dim(-1) ~= query:dim(-1)
            or key:dim(-3) ~= value:dim(-3) then
            raise(NAME, "shapes %s, %s and %s do not fit: (…, n, heads, d), (…, m, heads, d), (…, m, heads, e)",
                  core.shape_text(query), core.shape_text(key), core.shape_text(value))
        end
        key, value = widened(key, heads, 2), widened(value, heads, 3)
        local scale = o.scale == nil and 1 / math.sqrt(query:dim(-1)) or o.scale
        local result = core.dtype_of(query).name
        local wide = core.dtype_of(query).bits < 32 and "f32" or result
        local scores = np.einsum("...nhd,...mhd->...hnm", np.astype(query, wide), np.astype(key, wide)) * scale
        if o.bias ~= nil then scores = scores + coerce(NAME, nil, o.bias) end
        local kept = o.mask ~= nil and np.astype(coerce(NAME, nil, o.mask), "bool") or nil
        if o.is_causal then
            local causal = np.tri(query:dim(-3), key:dim(-3), { dtype = "bool" })
            kept = kept and np.logical_and(kept, causal) or causal
        end
        -- As in JAX far below all scores, but no infinity: a row of these has no NaN.
        if kept then scores = np.where(kept, scores, -0.7 * np.finfo(core.dtype_of(scores).name).max) end
        local weights = np.astype(np.softmax(scores, { axis = -1 }), result)
        return np.einsum("...hnm,...mhe->...nhe", weights, value)
    end
end
