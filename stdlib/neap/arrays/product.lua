--- product.lua: products of matrices and what reduces to them. All of them end in the row matmul2: batches of matrices,
-- a[…, m, k] · b[…, k, n], with equal batch axes.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"

local np, define = core.np, core.define
local raise, bad_argument = core.raise, core.bad_argument
local shape_of, ids = core.shape_of, core.ids

local product = {}

--- The row's product. batched: whether it is of several pairs of matrices. A np.checkpoint that keeps products has a
-- function in core.keep_product, which says what stands for the product.
function product.matmul2(a, b, batched)
    local x, keep = core.record2(ids.matmul2, a, b, 0), core.keep_product
    if keep then return keep(x, batched) end
    return x
end
local matmul2 = product.matmul2

--- The option 'out_sharding' of np.name, which has n arguments in front of its options.
local function out_sharding(name, n, given)
    if given == nil then return nil end
    if type(given) ~= "table" then raise(name, "takes %d arguments, got also %s", n, core.describe(given)) end
    return core.options(name, given, { out_sharding = true }).out_sharding
end

--- np.matmul(a, b, {out_sharding=…}): multiplies matrices: the sums of products over the last axis of a and the one
-- before last of b. 1-d arguments are a row or a column, whose axis is dropped from the result; leading axes broadcast.
-- Shapes (…, m, k) and (…, k, n) give (…, m, n).
--- out_sharding: a spec or a sharding: how the result lies on a mesh; sums over axes that are unreduced there are left
-- undone
--- > np.array{{1, 2}, {3, 4}}:matmul(np.array{1, 1})
-- [3. 7.]
--- > np.matmul(np.ones{2, 3}, np.ones{3, 2})
-- [[3. 3.]
--  [3. 3.]]
--- > rows = np.NamedSharding(np.mesh({1}, {"i"}), np.P("i"))
--- > np.matmul(np.ones{2, 3}, np.ones{3, 2}, {out_sharding=rows}).sharding.spec
-- P("i", nil)
local function matmul(a, b, given)
    a, b = core.coerce2("matmul", a, b)
    local out = out_sharding("matmul", 2, given)
    if out ~= nil then return core.out_sharding("matmul", out, { a, b }, matmul, a, b) end
    local da, db = shape_of(a), shape_of(b)
    if #da == 0 or #db == 0 then
        raise("matmul", "needs at least 1 axis, got shapes %s and %s", core.shape_text(da), core.shape_text(db))
    end
    local k = da[#da]
    if k ~= db[math.max(#db - 1, 1)] then
        raise("matmul", "shapes %s and %s do not fit: %d columns meet %d rows", core.shape_text(da),
              core.shape_text(db), k, db[math.max(#db - 1, 1)])
    end
    if #da == 2 and #db == 2 then return matmul2(a, b) end
    local row, column = #da == 1, #db == 1
    if row then
        da = { 1, k }
        a = shape.reshape(a, da)
    end
    if column then
        db = { k, 1 }
        b = shape.reshape(b, db)
    end
    local m, n = da[#da - 1], db[#db]
    local batch, result
    if #db == 2 then
        batch = { unpack(da, 1, #da - 2) } -- one right side: the batch is more rows
        local rows = shape.product(batch) * m
        result = matmul2(shape.reshape(a, { rows, k }), b)
    else
        batch = shape.broadcast("matmul", { unpack(da, 1, #da - 2) }, { unpack(db, 1, #db - 2) })
        local wide_a, wide_b = { unpack(batch) }, { unpack(batch) }
        wide_a[#batch + 1], wide_a[#batch + 2] = m, k
        wide_b[#batch + 1], wide_b[#batch + 2] = k, n
        result = matmul2(shape.broadcast_to(a, wide_a), shape.broadcast_to(b, wide_b), true)
    end
    local dims = batch
    if not row then dims[#dims + 1] = m end
    if not column then dims[#dims + 1] = n end
    return shape.reshape(result, dims)
end
define("matmul", matmul)

--- np.tensordot(a, b, n), np.tensordot(a, b, {axes_of_a, axes_of_b}), np.tensordot(a, b, {axes=…, out_sharding=…}):
-- sums over pairs of axes; n means the last n of a with the first n of b (2 by default). The option out_sharding may
-- also follow n, or the axes, in a table of its own.
--- axes: n, or the axes of a and b
--- out_sharding: a spec or a sharding: how the result lies on a mesh; sums over axes that are unreduced there are left
-- undone
--- > np.tensordot(np.ones{2, 3}, np.ones{3, 2}, 1)
-- [[3. 3.]
--  [3. 3.]]
--- > np.tensordot(np.ones{2, 3}, np.ones{2, 3}, {axes={{0, 1}, {0, 1}}})
-- 6.0
local function tensordot(a, b, axes, given)
    a, b = operands.meet("tensordot", 2, a, b)
    local out = out_sharding("tensordot", 3, given)
    if type(axes) == "table" and #axes == 0 then
        local o = core.options("tensordot", axes, { axes = true, out_sharding = true })
        axes, out = o.axes, out or o.out_sharding
    end
    if out ~= nil then return core.out_sharding("tensordot", out, { a, b }, tensordot, a, b, axes) end
    local da, db = shape_of(a), shape_of(b)
    local of_a, of_b = {}, {}
    axes = core.plain(axes == nil and 2 or axes)
    if type(axes) == "number" then
        if core.integer("tensordot", 3, "axes", axes) < 0 or axes > #da or axes > #db then
            raise("tensordot", "%.14g axes of shapes %s and %s", axes, core.shape_text(da), core.shape_text(db))
        end
        for k = 1, axes do of_a[k], of_b[k] = #da - axes + k - 1, k - 1 end
    elseif type(axes) == "table" and #core.list("tensordot", "the pair of axes", axes) == 2 then
        of_a, of_b = shape.axes("tensordot", axes[1], #da), shape.axes("tensordot", axes[2], #db)
    else
        bad_argument("tensordot", 3, "axes", "an integer or a pair of axes", axes)
    end
    if #of_a ~= #of_b then raise("tensordot", "%d axes of a, but %d of b", #of_a, #of_b) end
    local summed_a, summed_b, inner = {}, {}, 1
    for k = 1, #of_a do
        local n = da[of_a[k] + 1]
        if n ~= db[of_b[k] + 1] then
            raise("tensordot", "axis %d of a has extent %d, axis %d of b has %d", of_a[k], n, of_b[k], db[of_b[k] + 1])
        end
        summed_a[of_a[k]], summed_b[of_b[k]], inner = true, true, inner * n
    end
    local order_a, order_b, dims, m, n = {}, { unpack(of_b) }, {}, 1, 1
    for axis = 0, #da - 1 do
        if not summed_a[axis] then
            order_a[#order_a + 1], dims[#dims + 1], m = axis, da[axis + 1], m * da[axis + 1]
        end
    end
    for k = 1, #of_a do order_a[#order_a + 1] = of_a[k] end
    for axis = 0, #db - 1 do
        if not summed_b[axis] then
            order_b[#order_b + 1], dims[#dims + 1], n = axis, db[axis + 1], n * db[axis + 1]
        end
    end
    a = shape.reshape(shape.permute(a, order_a), { m, inner })
    b = shape.reshape(shape.permute(b, order_b), { inner, n })
    return shape.reshape(matmul2(a, b), dims)
end
define("tensordot", tensordot)

--- np.dot(a, b, {out_sharding=…}): numbers multiply; otherwise sums over the last axis of a and the one before last of
-- b (the only one of a 1-d b).
--- out_sharding: a spec or a sharding: how the result lies on a mesh; sums over axes that are unreduced there are left
-- undone
--- > np.array{1, 2, 3}:dot(np.array{4, 5, 6})
-- 32.0
--- > rows = np.NamedSharding(np.mesh({1}, {"i"}), np.P("i"))
--- > np.dot(np.ones{2, 3}, np.ones{3, 2}, {out_sharding=rows}).sharding.spec
-- P("i", nil)
local function dot(a, b, given)
    a, b = core.coerce2("dot", a, b)
    local out = out_sharding("dot", 2, given)
    if out ~= nil then return core.out_sharding("dot", out, { a, b }, dot, a, b) end
    local na, nb = core.ndim(a), core.ndim(b)
    if na == 0 or nb == 0 then return a * b end
    if na <= 2 and nb <= 2 then return matmul(a, b) end
    return tensordot(a, b, { { na - 1 }, { math.max(nb - 2, 0) } })
end
define("dot", dot)

--- The complex conjugate of complex arrays; others as they are.
local function conjugate(x)
    return core.dtype_of(x).kind == "c" and np.conj(x) or x
end

--- np.vdot(a, b): the sum of products over all elements, those of a conjugated; both have the same size.
--- > np.vdot(np.eye(2), np.array{{1, 2}, {3, 4}})
-- 5.0
define("vdot", function(a, b)
    a, b = operands.meet("vdot", 2, a, b)
    if a.size ~= b.size then
        raise("vdot", "shapes %s and %s have different sizes", core.shape_text(a), core.shape_text(b))
    end
    return matmul(conjugate(np.ravel(a)), np.ravel(b))
end)

--- np.outer(a, b): all products of an element of a and one of b, as a matrix.
--- > np.outer(np.array{1, 2}, np.array{3, 4})
-- [[3. 4.]
--  [6. 8.]]
define("outer", function(a, b)
    a, b = operands.meet("outer", 2, a, b)
    a, b = np.ravel(a), np.ravel(b)
    return shape.reshape(a, { a.size, 1 }) * shape.reshape(b, { 1, b.size })
end)

--- np.vecdot(a, b, {axis=-1}): the sums of products along an axis, a's elements conjugated; shapes broadcast. The dtype
-- is that of np.matmul.
--- > np.vecdot(np.array{{1, 2}, {3, 4}}, np.array{1, 1})
-- [3. 7.]
define("vecdot", function(a, b, given)
    local axis = core.options("vecdot", given, { axis = true }).axis
    a, b = operands.meet("vecdot", 2, a, b)
    axis = axis == nil and -1 or axis
    local na, nb = core.ndim(a), core.ndim(b)
    local n, m = shape_of(a)[core.axis("vecdot", axis, na) + 1], shape_of(b)[core.axis("vecdot", axis, nb) + 1]
    if n ~= m then raise("vecdot", "axis %d of a has extent %d, of b %d", axis, n, m) end
    local dtype = np.result_type(a, b)
    a, b = conjugate(np.moveaxis(a, axis, -1)), np.moveaxis(b, axis, -1)
    if dtype == "bool" then return np.any(a * b, { axis = -1 }) end
    if core.dtypes[core.dtype_codes[dtype]].half then a, b = np.astype(a, "f32"), np.astype(b, "f32") end
    return np.astype(np.sum(a * b, { axis = -1 }), dtype)
end)

--- np.cross(a, b, {axis=-1}): the cross products of vectors of 3 elements along an axis; shapes broadcast. Vectors of 2
-- elements lie in the plane of the first two axes: two of them give the third element alone.
--- > np.cross(np.array{1, 0, 0}, np.array{0, 1, 0}), np.cross(np.array{1, 2}, np.array{3, 4})
-- [0. 0. 1.]
-- -2.0
define("cross", function(a, b, given)
    local axis = core.options("cross", given, { axis = true }).axis
    axis = axis == nil and -1 or axis
    local parts, flat = {}, true
    local vectors, half = operands.wide_all({ operands.meet("cross", 2, a, b) })
    for k, x in ipairs(vectors) do
        local at = core.axis("cross", axis, core.ndim(x))
        local n = shape_of(x)[at + 1]
        if n ~= 3 and n ~= 2 then
            raise("cross", "argument %d must have 2 or 3 elements along axis %d, got shape %s", k, axis,
                  core.shape_text(x))
        end
        n = n == 3 and 3 or 2 -- a number, if it was a size
        x = np.moveaxis(x, at, -1)
        parts[k], flat = {}, flat and n == 2
        for i = 0, n - 1 do parts[k][i] = shape.cut(x, core.ndim(x) - 1, i, i + 1) end
        if n == 2 then parts[k][2] = np.zeros_like(parts[k][0]) end
    end
    local u, v = parts[1], parts[2]
    local third = u[0] * v[1] - u[1] * v[0]
    if flat then return operands.narrow(np.squeeze(third, { axis = -1 }), half) end
    local result = shape.join({ u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], third },
                              math.max(core.ndim(u[0]), core.ndim(v[0])) - 1)
    return operands.narrow(np.moveaxis(result, -1, axis), half)
end)

--- np.inner(a, b): sums of products over the last axes of a and b; numbers multiply.
--- > np.inner(np.array{{1, 2}, {3, 4}}, np.array{1, 1})
-- [3. 7.]
define("inner", function(a, b)
    a, b = operands.meet("inner", 2, a, b)
    if core.ndim(a) == 0 or core.ndim(b) == 0 then return a * b end
    return tensordot(a, b, { { -1 }, { -1 } })
end)

--- Checks that np.name has a matrix and a vector that fit: axis `of_matrix` of a has as many elements as the last of v.
local function check_vector(name, a, v, of_matrix, position)
    local da, dv = shape_of(a), shape_of(v)
    if #da < 2 then
        raise(name, "argument %d must be matrices, of shape (…, m, n); got shape %s", 3 - position, core.shape_text(da))
    end
    if #dv < 1 or dv[#dv] ~= da[#da + 1 + of_matrix] then
        raise(name, "shapes of the matrices and vectors, %s and %s, do not fit", core.shape_text(da),
              core.shape_text(dv))
    end
end

--- np.matvec(a, v): products of matrices (…, m, n) and vectors (…, n), as (…, m); leading axes broadcast.
--- > np.matvec(np.array{{1, 2}, {3, 4}}, np.array{{1, 0}, {1, 1}})
-- [[1. 3.]
--  [3. 7.]]
define("matvec", function(a, v)
    a, v = core.coerce2("matvec", a, v)
    check_vector("matvec", a, v, -1, 2)
    return np.squeeze(matmul(a, np.expand_dims(v, -1)), { axis = -1 })
end)

--- np.vecmat(v, a): products of vectors (…, m), their elements conjugated, and matrices (…, m, n), as (…, n); leading
-- axes broadcast.
--- > np.vecmat(np.array{1, 1}, np.array{{1, 2}, {3, 4}})
-- [4. 6.]
np.vecmat = function(v, a)
    v, a = core.coerce2("vecmat", v, a)
    check_vector("vecmat", a, v, -2, 1)
    return np.squeeze(matmul(np.expand_dims(conjugate(v), -2), a), { axis = -2 })
end

--- np.kron(a, b): the Kronecker product: element i * m + j of an axis, b having m there, is a's element i times b's j.
-- Missing leading axes are added.
--- > np.kron(np.array{1, 10}, np.array{1, 2})
-- [ 1.  2. 10. 20.]
define("kron", function(a, b)
    a, b = operands.meet("kron", 2, a, b)
    local da, db = shape_of(a), shape_of(b)
    while #da < #db do table.insert(da, 1, 1) end
    while #db < #da do table.insert(db, 1, 1) end
    local wide_a, wide_b, dims = {}, {}, {}
    for k = 1, #da do
        wide_a[2 * k - 1], wide_a[2 * k], wide_b[2 * k - 1], wide_b[2 * k] = da[k], 1, 1, db[k]
        dims[k] = da[k] * db[k]
    end
    return shape.reshape(shape.reshape(a, wide_a) * shape.reshape(b, wide_b), dims)
end)

return product
