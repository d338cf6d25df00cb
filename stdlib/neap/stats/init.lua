--- np.stats: distributions, tests and what describes data, under the names and with the conventions of scipy.stats.
--
-- Distributions are tables of functions: np.stats.norm.pdf(x). Results of data are arrays, so all of it can be traced,
-- batched and jitted; what counts ranks has no derivative.

local core = require "neap.core"

local stats = {}

for _, file in ipairs { "continuous", "discrete", "vectors", "describe", "tests", "orders",
                        "kolmogorov", "bootstrap" } do
    for name, value in pairs(require("neap.stats." .. file)) do stats[name] = value end
end

core.np.stats = stats

return stats
