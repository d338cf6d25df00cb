--- attention.lua: attention over (batch, heads, length, features), or (batch, length, heads * features), rotary
-- embeddings, and caches of keys and values.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np = core.np
local cast, like = node.cast, node.like
local ops = {}

-- ---- Masks ----------------------------------------------------------------------------------------------------------

--- Zero where `allowed` is true, else minus infinity.
local function bias_of(allowed, x)
    return np.where(allowed, like(x, 0), like(x, -math.huge))
end

--- Places of queries minus places of keys, (queries, keys); for a cache with lengths (batch, 1, queries, keys).
local function distances(q, keys, past, lengths)
    local queries = q.shape[3]
    local i = np.reshape(np.arange(queries, { dtype = "i64" }), { queries, 1 })
    local j = np.arange(keys, { dtype = "i64" })
    if lengths then i = i + np.reshape(lengths - queries, { -1, 1, 1, 1 }) end
    return i + past - j
end

--- All that is added to scores: a mask, causality, a window, lengths of keys; nil for nothing.
local function scores_bias(n, q, keys, mask, past, lengths)
    local total
    local function add(part) total = total and total + part or part end
    if mask then
        local short, width = keys - mask.shape[core.ndim(mask)], {}
        if mask.dtype == "bool" then mask = bias_of(mask, q) end
        for k = 1, core.ndim(mask) do width[k] = { 0, k == core.ndim(mask) and short or 0 } end
        add(core.is_size(short) and mask or short > 0 and np.pad(mask, width, { value = -math.huge }) or mask)
    end
    local left, right = n.attr.left_window_size or -1, n.attr.right_window_size or -1
    local apart = distances(q, keys, past, lengths)
    if n.attr.is_causal == 1 then add(bias_of(np.greater_equal(apart, 0), q)) end
    if left >= 0 then add(bias_of(np.less_equal(apart, left), q)) end
    if right >= 0 then add(bias_of(np.greater_equal(apart, -right), q)) end
    if lengths then
        add(bias_of(np.less(np.arange(keys, { dtype = "i64" }), np.reshape(lengths, { -1, 1, 1, 1 })), q))
    end
    return total
end

-- ---- Attention ------------------------------------------------------------------------------------------------------

--- (batch, length, heads * features) as (batch, heads, length, features).
local function by_heads(n, x, heads)
    if core.ndim(x) == 4 then return x end
    if not heads then n:fail("it needs a number of heads") end
    local dims = x.shape
    return np.transpose(np.reshape(x, { dims[1], dims[2], heads, dims[3] / heads }), { 0, 2, 1, 3 })
end

--- Probabilities of scores; rows of which everything is masked have 0.
local function probabilities(n, scores, bias)
    local dtype = n.attr.softmax_precision and n:dtype_attribute "softmax_precision"
    local p = np.softmax(dtype and cast(scores, dtype) or scores, { axis = -1 })
    if not bias then return p end
    local masked = np.isneginf(np.max(bias, { axis = -1, keepdims = true }))
    return np.where(masked, like(p, 0), p)
end

ops.Attention = {
    attrs = "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision "
        .. "left_window_size right_window_size", least = 3,
    run = function(n, q, k, v, mask, past_k, past_v, lengths)
        local a, flat, dtype = n.attr, core.ndim(q) == 3, q.dtype
        q, k, v = by_heads(n, q, a.q_num_heads), by_heads(n, k, a.kv_num_heads), by_heads(n, v, a.kv_num_heads)
        local past = past_k and past_k.shape[3] or 0
        if past_k then
            k, v = np.concatenate({ past_k, k }, { axis = 2 }), np.concatenate({ past_v, v }, { axis = 2 })
        end
        local present_k, present_v = k, v
        if q.shape[2] ~= k.shape[2] then
            local each = q.shape[2] / k.shape[2]
            k, v = np.repeat_(k, each, { axis = 1 }), np.repeat_(v, each, { axis = 1 })
        end
        local root = math.sqrt(a.scale or 1 / math.sqrt(q.shape[4]))
        local scores = np.matmul(q * root, np.matrix_transpose(k * root))
        local shown, mode = scores, a.qk_matmul_output_mode or 0
        if (a.softcap or 0) > 0 then
            scores = np.tanh(scores / a.softcap) * a.softcap
            if mode == 0 or mode == 1 then shown = scores end
        end
        local bias = scores_bias(n, q, k.shape[3], mask, past, lengths)
        if bias then scores = scores + bias end
        local p = probabilities(n, scores, bias)
        if mode == 2 then shown = scores elseif mode == 3 then shown = p end
        local y = np.matmul(cast(p, dtype), v)
        if flat then y = np.reshape(np.transpose(y, { 0, 2, 1, 3 }), { y.shape[1], y.shape[3], -1 }) end
        return y, present_k, present_v, cast(shown, dtype)
    end,
}

ops.RotaryEmbedding = {
    attrs = "interleaved num_heads rotary_embedding_dim", least = 3,
    run = function(n, x, cos, sin, places)
        local dims, flat = x.shape, core.ndim(x) == 3
        local x4
        if flat then
            if not n.attr.num_heads then n:fail("it needs num_heads") end
            x4 = np.reshape(x, { dims[1], dims[2], n.attr.num_heads, dims[3] / n.attr.num_heads })
        else
            x4 = np.transpose(x, { 0, 2, 1, 3 })
        end
        local width, count = x4.shape[4], n.attr.rotary_embedding_dim or 0
        if count == 0 then count = width end
        if places then cos, sin = np.take(cos, places, { axis = 0 }), np.take(sin, places, { axis = 0 }) end
        cos, sin = np.expand_dims(cos, 2), np.expand_dims(sin, 2)
        local function part(from, to, step) return x4[{ np.ellipsis, { from, to, step } }] end
        local one, two
        if n.attr.interleaved == 1 then
            one, two = part(0, count, 2), part(1, count, 2)
        else
            one, two = part(0, count / 2), part(count / 2, count)
        end
        local real, imag = cos * one - sin * two, sin * one + cos * two
        local y
        if n.attr.interleaved == 1 then
            y = np.reshape(np.stack({ real, imag }, { axis = -1 }), { dims[1], x4.shape[2], x4.shape[3], count })
        else
            y = np.concatenate({ real, imag }, { axis = -1 })
        end
        if count ~= width then y = np.concatenate({ y, part(count, width) }, { axis = -1 }) end
        return flat and np.reshape(y, dims) or np.transpose(y, { 0, 2, 1, 3 })
    end,
}

ops.TensorScatter = {
    attrs = "axis mode", least = 2,
    run = function(n, cache, update, first)
        local axis = n:axis(n.attr.axis or -2, core.ndim(cache))
        local function one(all, new, from)
            local at = np.arange(new.shape[axis], { dtype = "i64" }) + from
            if n.attr.mode == "circular" then at = np.remainder(at, all.shape[axis]) end
            local index = {}
            for k = 1, axis - 1 do index[k] = {} end
            index[axis] = at
            return all:at(index):set(new)
        end
        if first == nil then first = np.zeros({ cache.shape[1] }, { dtype = "i64" }) end
        return np.vmap(one)(cache, update, first)
    end,
}

ops.SwiGLU = {
    attrs = "alpha", least = 2,
    run = function(n, x, gate) return x * np.sigmoid(x * (n.attr.alpha or 1)) * gate end,
}

return ops
