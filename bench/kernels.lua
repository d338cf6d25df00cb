--- kernels.lua: the kernels of the groups "fused", "reduce" and "small": one table from which every system is driven,
-- and which tests/lazy/identical_test.lua runs in every configuration.
--
-- name; group; lua: what neap evaluates, giving one array or several; python: the same for the other systems:
-- statements over x, y, … and the functions that peers.py defines for each of them, the last statement being the
-- result; c: its name in reference.c, with the same numbers. inputs, outputs: how many arrays (1). columns: of a row
-- of x (none). reduces: results are small. class: what a kernel's time goes into when its arrays fit into the caches:
-- "cheap" for loads, stores and arithmetic, "math" for functions. numexpr: numexpr can say it.
local np = require "neap"

local ROW = { axis = -1 }
local KEPT = { axis = -1, keepdims = true }

local kernels = {
    { name = "a*x+b", group = "fused", class = "cheap", c = "axpb", numexpr = true,
      lua = function(x) return x * 1.5 + 0.25 end, python = "x * 1.5 + 0.25" },
    { name = "polynomial, 8 ops", group = "fused", class = "cheap", c = "polynomial", numexpr = true,
      lua = function(x) return (((x * 0.1 + 0.2) * x + 0.3) * x + 0.4) * x + 0.5 end,
      python = "(((x * 0.1 + 0.2) * x + 0.3) * x + 0.4) * x + 0.5" },
    { name = "tanh(a*x+b)*exp(-x*x)", group = "fused", class = "math", c = "activation", numexpr = true,
      lua = function(x) return np.tanh(x * 1.5 + 0.25) * np.exp(-x * x) end,
      python = "tanh(x * 1.5 + 0.25) * exp(-x * x)" },
    { name = "where and clip", group = "fused", class = "cheap", c = "clipped", inputs = 2,
      lua = function(x, y) return np.where(x:gt(y), np.clip(x, -0.5, 0.5) * y, x - y) end,
      python = "where(x > y, clip(x, -0.5, 0.5) * y, x - y)" },
    { name = "gelu", group = "fused", class = "math", c = "gelu", numexpr = true,
      lua = function(x) return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))) end,
      python = "0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))" },
    { name = "softmax of rows of 512", group = "fused", class = "math", c = "softmax", columns = 512,
      lua = function(x) return np.softmax(x, ROW) end, python = "softmax(x)" },
    { name = "softmax of rows of 10", group = "fused", class = "math", c = "softmax", columns = 10,
      lua = function(x) return np.softmax(x, ROW) end, python = "softmax(x)" },
    { name = "layer norm of rows of 512", group = "fused", class = "cheap", c = "layer_norm", columns = 512,
      lua = function(x) return (x - x:mean(KEPT)) / np.sqrt(x:var(KEPT) + 1e-5) end,
      python = "d = x - mean(x, -1); d / sqrt(mean(d * d, -1) + 1e-5)" },
    { name = "Adam", group = "fused", class = "cheap", c = "adam", inputs = 4, outputs = 3,
      lua = function(p, g, m, v)
          m = 0.9 * m + 0.1 * g
          v = 0.999 * v + 0.001 * g * g
          return p - 0.01 * m / (np.sqrt(v * 1000) + 1e-8), m, v
      end,
      python = "z = 0.9 * z + 0.1 * y; w = 0.999 * w + 0.001 * y * y; "
          .. "(x - 0.01 * z / (sqrt(w * 1000.0) + 1e-8), z, w)" },

    { name = "sum", group = "reduce", class = "cheap", c = "read", reduces = true, numexpr = true,
      lua = function(x) return x:sum() end, python = "sum(x)" },
    { name = "sum((x-y)^2)", group = "reduce", class = "cheap", c = "distance", inputs = 2, reduces = true,
      numexpr = true, lua = function(x, y) return ((x - y) ^ 2):sum() end, python = "sum((x - y) ** 2)" },
    { name = "max over axis 0", group = "reduce", class = "cheap", c = "max_columns", columns = 512, reduces = true,
      lua = function(x) return x:max { axis = 0 } end, python = "most(x, 0)" },
    { name = "max over axis 1", group = "reduce", class = "cheap", c = "max_rows", columns = 512, reduces = true,
      lua = function(x) return x:max { axis = 1 } end, python = "most(x, 1)" },
    { name = "mean", group = "reduce", class = "cheap", c = "mean", reduces = true,
      lua = function(x) return x:mean() end, python = "x.mean()" },
    { name = "variance", group = "reduce", class = "cheap", c = "variance", reduces = true,
      lua = function(x) return x:var() end, python = "variance(x)" },
    { name = "argmax", group = "reduce", class = "cheap", c = "argmax", reduces = true,
      lua = function(x) return x:argmax() end, python = "x.argmax()" },
    { name = "logsumexp of rows of 512", group = "reduce", class = "math", c = "logsumexp", columns = 512,
      reduces = true, lua = function(x) return np.logsumexp(x, ROW) end, python = "logsumexp(x)" },

    { name = "1 op", group = "small", ops = 1, lua = function(x) return x + 0.5 end, python = "x + 0.5" },
    { name = "2 ops", group = "small", ops = 2,
      lua = function(x) return x * 1.5 + 0.25 end, python = "x * 1.5 + 0.25" },
    { name = "5 ops", group = "small", ops = 5, inputs = 2,
      lua = function(x, y) return np.maximum((x * 1.5 + y) * x, 0) - y end,
      python = "maximum((x * 1.5 + y) * x, 0.0) - y" },
    { name = "10 ops", group = "small", ops = 10, inputs = 2,
      lua = function(x, y) return (((x * 0.1 + y) * x + 0.3) * x + y) * x + np.maximum(x - y, 0.5) * y end,
      python = "(((x * 0.1 + y) * x + 0.3) * x + y) * x + maximum(x - y, 0.5) * y" },
}

--- Input `number` (from 1) of a kernel with n elements: the same numbers in every system.
function kernels.input(number, n, columns)
    local x = ((np.arange(n, { dtype = "i64" }) * (2 * number - 1)) % 2000):astype("f32") / 700 - (1.4 - 0.05 * number)
    if number == 4 then x = x * x end -- a second moment
    return (columns and x:reshape(n / columns, columns) or x):wait()
end

--- About n elements: whole rows.
function kernels.size(kernel, n)
    local columns = kernel.columns or 1
    return math.max(1, math.floor(n / columns + 0.5)) * columns
end

return kernels
