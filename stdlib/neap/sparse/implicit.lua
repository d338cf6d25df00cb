--- implicit.lua: solutions of linear systems by an iteration, differentiated as solutions.
--
-- Of A x = b the derivative is A dx = db - dA x, and the cotangent of b solves Aᵀ b̄ = x̄: the same iteration again,
-- with the transposed operator. No derivative goes through the iteration. Where a derivative or a trace is open, the
-- operator is traced as a closed program; p are the arrays that the operator reads from around it.
--
--      solve   (b, p) → x    has a rule for forward mode, which calls `linear` for dx
--      linear  (b, p) → x    has a rule for reverse mode by b alone, which calls `solve` of the transposed operator
--
-- So derivatives of first order are there in both modes, and further ones in reverse mode. The preconditioner and the
-- guess are constants.
local core = require "neap.core"
local roots = require "neap.transforms.custom_root"
local staging = require "neap.tracing.staging"

local np = core.np
local pack = staging.pack

local implicit = {}

--- The linear function f, or the transposed function; `like` is an argument.
local function turned(f, like, transposed)
    if not f or not transposed then return f end
    return np.linear_transpose(f, np.stop_gradient(like))
end

--- The functions that solve with an operator and with the transposed operator, each with a rule: solver_of(transposed).
-- with(p) is the operator that reads p; iterate(operator, transposed, b) → x, info.
local function solvers(with, iterate)
    local known, solver_of = {}, nil

    --- dA x along tangents of p, of which false stands for none; nil: none moves.
    local function moved(x, p, tangents, transposed)
        local places, at, along = {}, {}, {}
        for k = 1, #p do
            if tangents[k] and core.info(p[k]).weak == 0 then
                places[#places + 1], at[#at + 1], along[#along + 1] = k, p[k], tangents[k]
            end
        end
        if #at == 0 then return nil end
        local function product(...)
            local list = core.copy_list(p)
            for k, place in ipairs(places) do list[place] = (select(k, ...)) end
            return turned(with(list), x, transposed)(x)
        end
        jit.off(product)
        local _, tangent = np.jvp(product, at, along)
        return tangent
    end

    --- The solution by b alone.
    local function linear_of(transposed)
        local function solution(b, ...) return (iterate(with { ... }, transposed, b)) end
        local function forward(b, ...) return solution(b, ...), { ... } end
        local function backward(p, cotangent) return (solver_of(not transposed)(cotangent, unpack(p))) end
        for _, f in ipairs { solution, forward, backward } do jit.off(f) end
        return np.custom_vjp(solution):defvjp(forward, backward)
    end

    function solver_of(transposed)
        if known[transposed] then return known[transposed] end
        local function solution(b, ...) return iterate(with { ... }, transposed, b) end
        jit.off(solution)
        local solve = np.custom_jvp(solution)
        known[transposed] = solve
        local function rule(primals, tangents)
            local p, along = { unpack(primals, 2) }, {}
            for k = 1, #p do along[k] = tangents[k + 1] end
            local x, info = solve(unpack(primals))
            local change, side = moved(x, p, along, transposed), tangents[1] or nil
            if change then side = side and side - change or -change end
            return x, info, linear_of(transposed)(side, unpack(p)), nil
        end
        jit.off(rule)
        return solve:defjvp(rule)
    end
    return solver_of
end

--- Solves operator(x) = b by run(operator, preconditioner, b, start) → x, info for the public function `name`; without
-- a preconditioner that is nil.
function implicit.solve(name, operator, preconditioner, b, start, run)
    if #core.frame().levels == 0 then return run(operator, preconditioner, b, start) end
    local entry, p = staging.closed(name, operator, pack(b))
    local held = preconditioner and roots.traced(name, preconditioner, pack(b))
    local first = np.stop_gradient(start)
    local function with(list)
        return function(x) return (roots.call(name, entry, { x }, list)) end
    end
    local function apply(x) return (held { x }) end
    local function iterate(A, transposed, side)
        return run(turned(A, side, transposed), held and turned(apply, side, transposed), side,
                   transposed and np.zeros_like(side) or first)
    end
    for _, f in ipairs { with, apply, iterate } do jit.off(f) end
    local solver_of = solvers(with, iterate)
    return solver_of(false)(b, unpack(p))
end

for _, f in ipairs { turned, solvers, implicit.solve } do jit.off(f) end

return implicit
