--- kernel_test.lua: the contract of np.kernel (tests/lib/contracts.lua), for formulas of several kinds. What a text may
-- hold, its errors and the texts of op rows are in tests/stdlib/kernel_test.lua.
-- (sanitized with --long)
local np = require "neap"
local of, finish = require "tests.lib.contracts" "kernel"

local AB = { "a", "b" }
local difference = np.kernel { args = AB, real = "a - b" }

of("np.kernel", {
    args = { "x", "y" },
    accepts = "floats ints bool",
    options = {
        { name = "gap", args = AB, real = "a > b ? a - b : 0" },
        { name = "softer", args = AB, real = "log1p(exp(-fabs(a - b))) + max(a, b)",
          grad = { "1 / (1 + exp(b - a))", "1 / (1 + exp(a - b))" } },
        { name = "parts", args = AB, real = "t = a * b; u = t > 0; u && b > -9 ? t * t : t / 2" },
        { name = "calls", args = AB, real = "sin(a) * cos(b) + tanh(a * b) / sqrt(1 + b * b)" },
    },
    call = function(f, o, x, y) return f(o)(x, y) end,
    oracle = "kernel(o['name'], x, y)",
    within = { f64 = "mixed 2e-15", f32 = "mixed 1e-6", f16 = "mixed 1e-3", bf16 = "mixed 8e-3" },
    smooth = 3,
    refuses = {
        { "np.kernel 'gap': takes 2 arguments %(a, b%), got 1", function()
            np.kernel { name = "gap", args = AB, real = "a - b" }(1)
        end },
        { "np.kernel: argument 2 must be an array or a number, got a function", function()
            difference(1, print)
        end },
        { "np.kernel: argument 1 %(a%) must be real, got dtype c64", function() difference(np.ones(2) * 1i, 1) end },
        { "np.kernel: shapes %(2,%) and %(3,%) do not broadcast", function() difference(np.ones(2), np.ones(3)) end },
        { "option 'real' must be a text, the formula, got nothing", function() np.kernel { args = AB } end },
        { "option 'args' must be a table of the arguments' names, got nothing", function()
            np.kernel { real = "a" }
        end },
        { "option 'args%[2%]' must be a name of letters.*got the string \"2\"", function()
            np.kernel { args = { "a", "2" }, real = "a" }
        end },
        { "option 'args' has the name 'a' twice", function() np.kernel { args = { "a", "a" }, real = "a" } end },
        { "option 'grad' must be a table of 2 texts, the slope by each argument %(a, b%), got a table", function()
            np.kernel { args = AB, real = "a - b", grad = { "1" } }
        end },
        { "option 'name' must be a text of 1 to 100 bytes", function()
            np.kernel { name = "", args = AB, real = "a - b" }
        end },
    },
})

finish()
