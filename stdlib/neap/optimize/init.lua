--- init.lua: np.optimize: roots, minima and fits, and linear programs, under the names of scipy.optimize.
--
-- Solvers are loops of np over arrays: np.jit and np.vmap take solvers. Solutions are roots of a condition (of f, or of
-- the gradient), so np.custom_root differentiates solutions of every solver. Assignments and linear programs are found
-- by other means, which wait for values. docs/optimize.md.
local optimize = {}

for _, part in ipairs { "root_scalar", "root", "minimize_scalar", "minimize", "curve_fit", "assignment",
                        "linprog", "milp" } do
    require("neap.optimize." .. part)(optimize)
end
require("neap.optimize.least_squares").define(optimize)

return optimize
