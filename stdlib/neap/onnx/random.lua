--- random.lua: operators that draw random numbers: of the key that np.io.load_onnx was given, each node another stream.
--
-- The numbers have the distributions of the standard, and are the same at each call. A node in a loop would have the
-- same ones at each turn, so one inside of a graph is refused.
local core = require "neap.core"

local np = core.np
local ops = {}

--- Before anything runs: gives a node its key.
local function check(n)
    local m = n.model
    if not m.key then n:fail "it draws random numbers: give a key, np.io.load_onnx(path, {key=np.random.key(0)})" end
    if n.inner then n:fail "random numbers inside of a loop or a branch" end
    m.draws = (m.draws or 0) + 1
    n.key = np.random.fold_in(m.key, m.draws)
end

local function normal(n, shape, dtype)
    return np.random.normal(n.key, shape, { dtype = dtype }) * (n.attr.scale or 1) + (n.attr.mean or 0)
end

local function uniform(n, shape, dtype)
    return np.random.uniform(n.key, shape, { dtype = dtype, minval = n.attr.low or 0, maxval = n.attr.high or 1 })
end

for name, f in pairs { Normal = normal, Uniform = uniform } do
    local attrs = name == "Normal" and "dtype mean scale seed" or "dtype high low seed"
    ops["Random" .. name] = {
        attrs = attrs .. " shape", least = 0, check = check,
        run = function(n) return f(n, n.attr.shape or {}, n:dtype_attribute("dtype", "f32")) end,
    }
    ops["Random" .. name .. "Like"] = {
        attrs = attrs, check = check,
        run = function(n, x) return f(n, x.shape, n:dtype_attribute("dtype", x.dtype)) end,
    }
end

ops.Bernoulli = {
    attrs = "dtype seed", check = check,
    run = function(n, x)
        local drawn = np.random.uniform(n.key, x.shape, { dtype = x.dtype == "f64" and "f64" or "f32" })
        return np.astype(np.less(drawn, x), n:dtype_attribute("dtype", x.dtype))
    end,
}

return ops
