--- linalg_norms.lua: norms of vectors and matrices, and condition numbers. linalg.lua opens the table and has the
-- helpers.
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options
local shape_text = core.shape_text

return function(linalg, helpers)
    local floats, matrices, square = helpers.floats, helpers.matrices, helpers.square
    local squares, svdvals = helpers.squares, helpers.svdvals

    --- The kind of norm that a user gave: a number, a name or nothing.
    local function kind_of_norm(name, option, ord)
        ord = core.plain(ord)
        if ord ~= nil and type(ord) ~= "number" and type(ord) ~= "string" then
            bad_argument("linalg." .. name, nil, option, "a number or a name", ord)
        end
        return ord
    end

    --- Of halves, whose squares may leave their range, norms are computed as f32, and rounded once.
    local function through_f32(norm, name, x, ord, o)
        return np.astype(norm(name, np.astype(x, "f32"), ord, o), core.dtype_of(x).name)
    end

    local function vector_norm(name, x, ord, o)
        if core.dtype_of(x).half then return through_f32(vector_norm, name, x, ord, o) end
        if ord == nil or ord == 2 then return np.sqrt(np.sum(squares(x), o)) end
        if type(ord) ~= "number" then bad_argument("linalg." .. name, nil, "ord", "a number", ord) end
        local size = np.abs(x)
        if ord == math.huge then return np.max(size, o) end
        if ord == -math.huge then return np.min(size, o) end
        if ord == 0 then return np.sum(np.astype(np.not_equal(x, 0), core.dtype_of(x).part), o) end
        if ord == 1 then return np.sum(size, o) end
        return np.sum(size ^ ord, o) ^ (1 / ord)
    end

    --- np.linalg.vector_norm(x, {axis=…, ord=2, keepdims=false}): (Σ |x|^ord)^(1/ord) over axes, all of them by
    -- default; ord inf and -inf: the largest and smallest magnitude; 0: the number of elements that are not 0. At 0 the
    -- norm of ord 2 has no derivative: NaN.
    --- axis: an axis or a table of them; all without it
    --- ord: the order of the norm, a number
    --- > np.linalg.vector_norm(np.array{3, -4}), np.linalg.vector_norm(np.array{3, -4}, {ord=1})
    -- 5.0
    -- 7.0
    function linalg.vector_norm(x, given)
        local o = options("linalg.vector_norm", given, { axis = true, ord = true, keepdims = true })
        x = floats("vector_norm", 1, x)
        local ord = kind_of_norm("vector_norm", "ord", o.ord)
        return vector_norm("vector_norm", x, ord, { axis = o.axis, keepdims = o.keepdims })
    end

    --- The norm of the matrices in the last two axes.
    local function matrix_norm(name, x, ord, keepdims)
        if core.dtype_of(x).half then return through_f32(matrix_norm, name, x, ord, keepdims) end
        local o = { axis = { -2, -1 }, keepdims = keepdims }
        if ord == nil or ord == "fro" then return np.sqrt(np.sum(squares(x), o)) end
        local sums = { [1] = -2, [-1] = -2, [math.huge] = -1, [-math.huge] = -1 } -- axes of which sums are compared
        local result
        if sums[ord] then
            local size = np.sum(np.abs(x), { axis = sums[ord], keepdims = true })
            return (ord > 0 and np.max or np.min)(size, o)
        elseif ord == "nuc" then
            result = np.sum(svdvals(x), { axis = -1 })
        elseif ord == 2 then
            result = np.max(svdvals(x), { axis = -1 })
        elseif ord == -2 then
            result = np.min(svdvals(x), { axis = -1 })
        else
            raise("linalg." .. name, "option 'ord' of a matrix must be \"fro\", \"nuc\", 1, -1, 2, -2, inf or -inf, "
                  .. "got %s", core.describe(ord))
        end
        return keepdims and np.expand_dims(result, { -2, -1 }) or result
    end

    --- np.linalg.matrix_norm(x, {ord="fro", keepdims=false}): of the matrices in the last two axes: "fro" the root of
    -- the sum of squares; "nuc" the sum of singular values; 2 and -2 the largest and the smallest; 1 and -1 the largest
    -- and smallest sum of magnitudes in a column, inf and -inf in a row.
    --- ord: "fro", "nuc", 1, -1, 2, -2, inf or -inf
    --- > np.linalg.matrix_norm(np.array{{1, 2}, {3, 4}}, {ord=1})
    -- 6.0
    function linalg.matrix_norm(x, given)
        local o = options("linalg.matrix_norm", given, { ord = true, keepdims = true })
        local ord = kind_of_norm("matrix_norm", "ord", o.ord)
        return matrix_norm("matrix_norm", matrices("matrix_norm", 1, x), ord, o.keepdims)
    end

    --- np.linalg.norm(x, ord, {axis=…, keepdims=false}), np.linalg.norm(x, {ord=…}): with one axis vector_norm along
    -- it, with two the matrix_norm of them. Without axis: of 1-d and 2-d x the vector or matrix norm; without ord too,
    -- the root of the sum of all squares.
    --- ord: the order of the norm
    --- axis: one axis, or a table of two
    --- > np.linalg.norm(np.array{3, 4}), np.linalg.norm(np.array{3, 4}, 1), np.linalg.norm(np.eye(2), {axis=0})
    -- 5.0
    -- 7.0
    -- [1. 1.]
    function linalg.norm(x, ord, given)
        if type(ord) == "table" and given == nil then ord, given = nil, ord end
        local o = options("linalg.norm", given, { ord = true, axis = true, keepdims = true })
        local axis = o.axis
        ord = kind_of_norm("norm", "ord", ord == nil and o.ord or ord)
        local dims
        x, dims = floats("norm", 1, x)
        if axis == nil then
            if ord == nil then return vector_norm("norm", x, 2, { keepdims = o.keepdims }) end
            if #dims ~= 1 and #dims ~= 2 then
                raise("linalg.norm", "needs 1 or 2 axes, or the option 'axis', got shape %s", shape_text(dims))
            end
            axis = #dims == 1 and { 0 } or { 0, 1 }
        end
        local axes = shape.axes("linalg.norm", axis, #dims)
        if #axes == 1 then return vector_norm("norm", x, ord, { axis = axes, keepdims = o.keepdims }) end
        if #axes ~= 2 then raise("linalg.norm", "option 'axis' must name 1 or 2 axes, got %d", #axes) end
        local result = matrix_norm("norm", np.moveaxis(x, axes, { -2, -1 }), ord, false)
        if not o.keepdims then return result end
        dims[axes[1] + 1], dims[axes[2] + 1] = 1, 1
        return shape.reshape(result, dims)
    end

    local function condition(x, p)
        if p == nil or p == 2 or p == -2 then
            local s = svdvals(x)
            local top, bottom = np.max(s, { axis = -1 }), np.min(s, { axis = -1 })
            if p == -2 then return bottom / top end
            return top / bottom
        end
        return matrix_norm("cond", x, p) * matrix_norm("cond", linalg.inv(x), p)
    end

    --- np.linalg.cond(x, {p=2}): the condition number |x| |x⁻¹| in the norm of ord p; 2 and -2 by singular values. Of
    -- zeros, and where the inverse is not finite: inf.
    --- p: the order of the norm, as in np.linalg.matrix_norm
    --- > np.linalg.cond(np.array{{4, 0}, {0, 1}})
    -- 4.0
    function linalg.cond(x, given)
        local p = kind_of_norm("cond", "p", options("linalg.cond", given, { p = true }).p)
        local dims
        x, dims = ((p == nil or p == 2 or p == -2) and matrices or square)("cond", 1, x)
        if shape.product({ dims[#dims - 1], dims[#dims] }) == 0 then
            raise("linalg.cond", "matrices without elements have no condition number, got shape %s", shape_text(dims))
        end
        local result = condition(x, p)
        local known = np.any(np.isnan(x), { axis = { -2, -1 } })
        return np.where(np.logical_and(np.isnan(result), np.logical_not(known)), math.huge, result)
    end
end
