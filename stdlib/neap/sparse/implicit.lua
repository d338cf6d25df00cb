--- implicit.lua: solutions of linear systems by an iteration, differentiated as solutions
-- (transforms/custom_linear_solve.lua). The preconditioner and the guess are constants.
local core = require "neap.core"
local linear = require "neap.transforms.custom_linear_solve"

local np = core.np

local implicit = {}

--- Solves operator(x) = b by run(operator, preconditioner, b, start) → x, info for the public function `name`; without
-- a preconditioner that is nil.
function implicit.solve(name, operator, preconditioner, b, start, run)
    local function iterate(A, side, transposed)
        return run(A, linear.turned(preconditioner, side, transposed), side,
                   transposed and np.zeros_like(side) or start)
    end
    jit.off(iterate)
    return linear.solve(name, operator, b, iterate)
end
jit.off(implicit.solve)

return implicit
