--- operators.lua: linear operators as functions of vectors: sparse arrays, dense matrices, and functions themselves.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local value = require "neap.sparse.value"
local staging = require "neap.tracing.staging"

local np = core.np
local is_array, raise = core.is_array, core.raise

local operators = {}

--- Argument or option `what` of np.name as a function of vectors of n elements, and the array that says the dtype; nil:
-- a function has no dtype. position: that of an argument, nil of an option.
function operators.of(name, position, what, A, n)
    local dims, apply, like
    if value.is(A) then
        dims, like = A.shape, A.data
        function apply(x) return A:dot(x) end
    elseif is_array(A) then
        dims, like = core.shape_of(A), A
        function apply(x) return np.matmul(A, x) end
    else
        local callable = type(A) == "function" or type(A) == "table" and getmetatable(A) and getmetatable(A).__call
        if not callable then
            core.bad_argument(name, position, what, "a sparse array, a matrix or a function of vectors", A)
        end
        local f = staging.check_function(name, A, position, what)
        function apply(x)
            local y = f(x)
            if not is_array(y) or core.shape_text(y) ~= core.shape_text(x) then
                raise(name, "%s must return a vector of shape %s, got %s", what, core.shape_text(x), core.describe(y))
            end
            return y
        end
    end
    if dims and (#dims ~= 2 or dims[1] ~= dims[2] or n and dims[1] ~= n) then
        raise(name, "%s must be square%s, got shape %s", what, n and (", of %d rows as the vector"):format(n) or "",
              core.shape_text(dims))
    end
    jit.off(apply)
    return apply, like, dims and dims[1]
end

--- A right side or a start, argument or option `what`, as a 1-d array; a table takes the dtype of the array that it
-- meets, `like`.
function operators.vector(name, position, what, b, like)
    if type(b) == "table" and getmetatable(b) == nil then
        b = like and operands.beside(name, position or 2, b, core.dtype_of(like)) or np.array(b)
    end
    if not is_array(b) or core.ndim(b) ~= 1 then core.bad_argument(name, position, what, "a 1-d array", b) end
    return b
end

--- The operator between vectors of a dtype: what it gives is cast.
function operators.between(apply, dtype)
    return function(x) return np.astype(apply(x), dtype) end
end

--- The float dtype in which b and the matrix meet, and f32 of a half; and whether the result is narrowed to a half.
function operators.dtype(b, like)
    local dtype = np.result_type(b, like or b)
    local facts = core.dtypes[core.dtype_codes[dtype]]
    if not facts.inexact then dtype = facts.real end
    local half = (dtype == "f16" or dtype == "bf16") and dtype or nil
    return half and "f32" or dtype, half
end

--- A tolerance, an option: a number from 0 up.
function operators.tolerance(name, option, given, default)
    local tolerance = given == nil and default or core.plain(given)
    if type(tolerance) ~= "number" or tolerance < 0 or tolerance ~= tolerance then
        core.bad_argument(name, nil, option, "a number from 0 up", given)
    end
    return tolerance
end

for _, f in ipairs { operators.of, operators.between } do jit.off(f) end

return operators
