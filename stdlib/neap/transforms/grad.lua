--- grad.lua: np.grad, np.value_and_grad.

--- {argnums}: the arguments to differentiate with respect to: a position, from 1, or a table of positions
--- {has_aux}: true: only the first result of f is differentiated, and the others are passed on
--- {holomorphic}: true: f takes and returns complex numbers and has a complex derivative, which is what comes out

local core = require "neap.core"
local derive = require "neap.transforms.derive"
local staging = require "neap.tracing.staging"

local np = core.np
local raise = core.raise
local pack, check_function = staging.pack, staging.check_function
local type, unpack = type, unpack

--- Tells of a value that no argument has to do with: what a script is unlikely to mean. But a derivative that was
-- taken meanwhile may well be a constant.
local function warn_of_constant(name)
    core.warn(name, "the function's value does not depend on its arguments, so the gradient is 0 "
              .. "(what :item() and :totable() read is a constant; floor, round and comparisons have no slope)")
end

--- The value of a differentiated function: a 0-d float array, if `holomorphic` a complex one. `alone`: the function
-- has taken no derivative.
local function check_value(name, value, alone, holomorphic)
    if type(value) == "number" then
        warn_of_constant(name)
        return core.number(value, core.dtype_codes.f32)
    end
    if not core.is_array(value) then
        raise(name, "the function must return a 0-d float array, got %s%s", core.describe(value),
              value == nil and " (did you forget return?)" or "")
    end
    if core.info(value).ndim ~= 0 then
        raise(name, "the function must return a 0-d array (reduce it, as with :sum()), got shape %s",
              core.shape_text(value))
    end
    local dtype = core.dtype_of(value)
    if holomorphic and dtype.kind ~= "c" then
        raise(name, "with holomorphic the function must return a complex number, got dtype %s", dtype.name)
    elseif dtype.kind == "c" and not holomorphic then
        raise(name, "the function must return a float, got dtype %s; take its :real() or :abs(), or say "
              .. "holomorphic=true if it has a complex derivative", dtype.name)
    elseif not dtype.inexact then
        raise(name, "the function must return a float, got dtype %s", dtype.name)
    end
    if alone and core.info(value).taped == 0 then warn_of_constant(name) end
    return value
end

--- The function that np.grad (or, with_value, np.value_and_grad) makes of user_function.
local function gradient_function(name, user_function, given_options, with_value)
    user_function = check_function(name, user_function)
    local argnums, has_aux, o = derive.options(name, given_options, { holomorphic = true })
    local function derivative(...)
        local tapes = derive.tapes + 1
        return derive.on_tape(name, user_function, argnums, pack(...), function(tape)
            local value = check_value(name, tape.results[1], derive.tapes == tapes, o.holomorphic)
            derive.check_aux(name, tape.results, has_aux)
            local flat, chosen = derive.gradient(tape, { value }), {}
            for k, position in ipairs(argnums) do chosen[k] = tape.arguments[position] end
            local gradients = derive.refill(name, chosen, #argnums, flat)
            if with_value then
                tape.results[1] = value
                derive.append(tape.results, gradients, 1)
                return unpack(tape.results, 1, tape.results.n)
            end
            if not has_aux then derive.drop(tape, value) end -- what else the function returns may be read of it
            derive.append(gradients, tape.results, 2)
            return unpack(gradients, 1, gradients.n)
        end)
    end
    jit.off(derivative)
    return derivative
end

--- np.grad(f, {argnums={1}, has_aux=false, holomorphic=false}) -> function: a function that returns gradients of
-- the first result of f, a 0-d float, with respect to the arguments argnums (counted from 1), one for each; a gradient
-- has the form of its argument, a tree of arrays. With has_aux the other results of f follow. The gradient by a complex
-- z = x + iy is df/dx - i df/dy, as in JAX: its conjugate is the direction in which f grows.
--- > np.grad(function(x) return (x * x):sum() end)(np.array{1, 2})
-- [2. 4.]
--- > np.grad(function(x, y) return x * y end, {argnums=2})(np.array(3), np.array(4))
-- 3.0
function np.grad(f, given)
    return gradient_function("grad", f, given, false)
end

--- np.value_and_grad(f, {argnums={1}, has_aux=false, holomorphic=false}) -> function: a function that returns f's
-- results (the value, and with has_aux what follows it), then the gradients as np.grad does.
--- > np.value_and_grad(function(x) return (x * x):sum() end)(np.array{1, 2})
-- 5.0
-- [2. 4.]
function np.value_and_grad(f, given)
    return gradient_function("value_and_grad", f, given, true)
end
