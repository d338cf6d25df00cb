--- attention.lua: attention of queries to keys and values, by the names and shapes of jax.nn.
local core = require "neap.core"
local operands = require "neap.arrays.operands"

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

function attention.define(nn)
    --- np.nn.dot_product_attention(query, key, value, {bias=…, mask=…, is_causal=false, scale=…}): softmax(scale query
    -- keyᵀ + bias) value for each head (Vaswani et al., 2017), as in JAX. query is (batch, n, heads, d), or without
    -- the batch, key (batch, m, heads, d) and value (batch, m, heads, e); the result is (batch, n, heads, e). Keys and
    -- values may have fewer heads, each for as many of the queries' (Ainslie et al., 2023). Where the mask leaves a
    -- query no key, all count alike. Scores and softmax of halves are f32.
    --- bias: added to the scores, broadcasts to (batch, heads, n, m)
    --- mask: bools that broadcast to (batch, heads, n, m): false leaves a key out; floats are refused
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
        local half
        if core.ndim(key) ~= #dims or core.ndim(value) ~= #dims or key:dim(-1) ~= query:dim(-1)
            or key:dim(-3) ~= value:dim(-3) then
            raise(NAME, "shapes %s, %s and %s do not fit: (…, n, heads, d), (…, m, heads, d), (…, m, heads, e)",
                  core.shape_text(query), core.shape_text(key), core.shape_text(value))
        end
        key, value = widened(key, heads, 2), widened(value, heads, 3)
        half, query, key, value = operands.floats_all(NAME, nil, 3, query, key, value)
        local scale = o.scale == nil and 1 / math.sqrt(query:dim(-1)) or o.scale
        local scores = np.einsum("...nhd,...mhd->...hnm", query, key) * scale
        if o.bias ~= nil then scores = scores + operand(NAME, "bias", o.bias, core.dtype_of(query)) end
        local causal = o.is_causal and np.tri(query:dim(-3), key:dim(-3), { dtype = "bool" }) or nil
        scores = attention.masked(NAME, scores, o.mask, causal)
        local weights = np.astype(np.softmax(scores, { axis = -1 }), core.dtype_of(value).name)
        return operands.narrow(np.einsum("...hnm,...mhe->...nhe", weights, value), half)
    end
end

return attention
