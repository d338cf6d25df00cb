--- gradients_test.lua (under tsan with --long): the gradient of every row that has one against central differences in
-- f64, and the gradient of that gradient; the forward derivative of each against differences and against the gradient.
-- A row that is neither a map nor a reduction needs an expression in `structural`; a row that accepts floats and has
-- no gradient must say that it is zero (LAZY_OP_ZERO_GRAD).
local check = require "tests.lib.check"
local values = require "tests.lib.values"
local np = require "neap"

local array, elements, rows = values.array, values.elements, values.rows

local STEP, TOLERANCE = 1e-5, 1e-6

--- f(inputs…) weighted and summed, so that every element of the result has a cotangent of its own.
local function scalar(f, inputs)
    local y = f(unpack(inputs))
    local weights = np.arange(y.size, { dtype = "f64" }) * 0.25 + 0.5
    return (y:reshape(-1) * weights):sum()
end

--- Compares np.jvp along one direction with central differences in every element of the result, and, with the weights
-- of `scalar` as cotangents, with the gradients: <jvp, cotangent> = <tangent, gradient>.
local function check_tangent(f, inputs, gradients)
    local tangents, ahead, behind, expected = {}, {}, {}, 0
    for k, input in ipairs(inputs) do
        tangents[k] = (np.sin(np.arange(input.size, { dtype = "f64" }) * 2.5 + k) + 0.25):reshape(input.shape)
        ahead[k], behind[k] = input + tangents[k] * STEP, input - tangents[k] * STEP
        expected = expected + (tangents[k] * gradients[k]):sum()
    end
    local y, got = np.jvp(f, inputs, tangents)
    check.equal({ got.shape, got.dtype }, { y.shape, y.dtype }, "form of a tangent")
    check.equal(elements(y), elements(f(unpack(inputs))), "value beside a tangent")
    local _, weighted = np.jvp(function(...) return scalar(f, { ... }) end, inputs, tangents)
    check.close(weighted:item(), expected:item(), 1e-9, "the tangent of the weighted sum")
    local slopes = elements((f(unpack(ahead)) - f(unpack(behind))) / (2 * STEP))
    check.close(elements(got), slopes, TOLERANCE, "the tangent")
end

--- Compares np.grad with central differences in every element of every input, and np.jvp with both.
local function check_gradient(f, inputs)
    local argnums = {}
    for k = 1, #inputs do argnums[k] = k end
    local gradients = { np.grad(function(...) return scalar(f, { ... }) end, { argnums = argnums })(unpack(inputs)) }
    check_tangent(f, inputs, gradients)
    for k, input in ipairs(inputs) do
        local flat, dims = elements(input), input.shape
        local got = elements(gradients[k])
        check.equal(gradients[k].shape, dims, "shape of a gradient")
        for element = 1, #flat do
            local function moved(by)
                local changed, others = { unpack(flat) }, { unpack(inputs) }
                changed[element] = changed[element] + by
                others[k] = np.array(changed, { dtype = "f64" }):reshape(dims)
                return scalar(f, others):item()
            end
            local slope = (moved(STEP) - moved(-STEP)) / (2 * STEP)
            check.ok(math.abs(got[element] - slope) <= TOLERANCE * math.max(1, math.abs(slope)),
                     ("argument %d, element %d: got %.10g, differences give %.10g"):format(k, element - 1, got[element],
                                                                                          slope))
        end
    end
end

local wide = { domain = { -2, 2 } }
local function some(...) return array(wide, { ... }, "f64") end

local repeated, distinct = np.array({ 2, 0, 2 }, { dtype = "i32" }), np.array({ 2, 0 }, { dtype = "i32" })

local linalg = np.linalg
local function flat(...)
    local parts = { ... }
    for k = 1, #parts do parts[k] = parts[k]:reshape(-1) end
    return np.concatenate(parts)
end
local function spaced(x) return x * 0.25 + np.diag(np.array({ 1, 3, 6 }, { dtype = "f64" })) end

-- Rows whose attributes need an expression of their own: the function and its inputs.
local structural = {
    astype = { function(x) return x:astype("f64") * 1 end, { some(3) } },
    where = { function(x, y) return np.where(np.array { true, false, true }, x, y) end, { some(3), some(3) } },
    broadcast_to = { function(x) return np.broadcast_to(x, { 4, 2, 3 }) end, { some(2, 1) } },
    reshape = { function(x) return x:reshape(3, 2) ^ 3 end, { some(2, 3) } },
    device_put = { function(x) return np.device_put(x * x, "cpu:0") * x end, { some(3) } },
    transfer = { function(x) return np.device_put(np.device_put(x * x, "null:7"), "cpu:0") * x end, { some(3) } },
    slice = { function(x) return x "1:, ::-2" end, { some(3, 4) } },
    transpose = { function(x) return x:transpose(2, 0, 1) end, { some(2, 3, 2) } },
    concatenate = { function(x, y) return np.concatenate({ x, y, x }, { axis = 1 }) end, { some(2, 3), some(2, 1) } },
    pad = { function(x) return np.diag(x, 1) end, { some(3) } },
    cumsum = { function(x) return np.cumsum(x, { axis = 1 }) end, { some(2, 4) } },
    cumprod = { function(x) return np.cumprod(x, { axis = 0 }) end, { some(4, 2) } },
    cummax = { function(x) return np.cummax(x, { axis = 1 }) end, { some(2, 4) } },
    cummin = { function(x) return np.cummin(x, { axis = 0 }) end, { some(4, 2) } },
    recurrence = { function(x) return np.cumprod(np.stack { x, x * 2, x + 3 }, { axis = 0 })[2] end, { some(2, 2) } },
    sort = { function(x) return np.sort(x, { axis = 0, descending = true }) end, { some(4, 2) } },
    matmul2 = { function(x, y) return np.matmul(x, y) end, { some(2, 3, 4), some(2, 4, 2) } },
    cholesky = { function(x) return linalg.cholesky(x:matmul(np.matrix_transpose(x)) + np.eye(3)) end,
                 { some(2, 3, 3) } },
    triangular_solve = { function(x, y)
        return flat(linalg.solve_triangular(x, y, { lower = true, trans = true, unit_diagonal = true }),
                    linalg.solve_triangular(spaced(x), y), linalg.solve_triangular(spaced(x), y, { lower = true }),
                    linalg.solve_triangular(spaced(x), y[0], { trans = true }))
    end, { some(2, 3, 3), some(2, 3, 2) } },
    solve = { function(x, y) return linalg.solve(spaced(x), y) end, { some(2, 3, 3), some(3, 2) } },
    inv = { function(x) return linalg.inv(spaced(x)) end, { some(2, 3, 3) } },
    lstsq = { function(x, y)
        return flat((linalg.lstsq(x, y)), (linalg.lstsq(np.matrix_transpose(x), y[{ { 0, 2 } }])))
    end, { some(4, 2), some(4, 2) } },
    slogdet = { function(x) return (select(2, linalg.slogdet(spaced(x)))) end, { some(2, 3, 3) } },
    det = { linalg.det, { some(2, 3, 3) } },
    qr = { function(x) return flat(linalg.qr(x)) end, { some(2, 4, 3) } },
    eigh = { function(x)
        local w, v = linalg.eigh(spaced(x))
        return flat(w, v, linalg.eigvalsh(spaced(x)))
    end, { some(2, 3, 3) } },
    svd = { function(x)
        local u, s, vh = linalg.svd(x, { full_matrices = false })
        local of_wide = linalg.svd(np.matrix_transpose(x), { full_matrices = false })
        return flat(u, s, vh, of_wide, linalg.svdvals(x))
    end, { some(2, 4, 2) } },
    pinv = { linalg.pinv, { some(2, 4, 2) } },
    conv = { function(x, w) return np.nn.conv(x, w, { strides = { 2, 1 }, groups = 2 }) end,
             { some(2, 3, 2, 2), some(2, 2, 1, 2) } },
    conv_input = { function(x, w)
        return (np.grad(function(v) return (np.nn.conv(v, w, { padding = "VALID" }) ^ 2):sum() end)(x))
    end, { some(1, 4, 2), some(2, 2, 2) } },
    conv_kernel = { function(x, w)
        return (np.grad(function(v) return (np.nn.conv(x, v, { kernel_dilation = 2 }) ^ 2):sum() end)(w))
    end, { some(1, 4, 2), some(2, 2, 2) } },
    slide = { function(x, y) return np.convolve(x, y, "full") + np.sum(np.convolve(x, y, "same") * np.convolve(y, x,
              "same")) + np.sum(np.correlate(x, y)) end, { some(5), some(3) } },
    windows = { function(x) return np.nn.max_pool(x, 2, { strides = 1 }) + np.nn.avg_pool(x, 2, { strides = 1 }) end,
                { some(2, 4, 2) } },
    take = { function(x) return np.take(x, repeated, { axis = 0 }) end, { some(3, 2) } },
    dynamic_slice = { function(x) return np.dynamic_slice(x, { -2, 1 }, { 2, 1 }) end, { some(3, 2) } },
    dynamic_update_slice = { function(x, y) return np.dynamic_update_slice(x, y, { 9, -2 }) end,
                             { some(3, 2), some(2, 1) } },
    sparse_product = { function(x, y)
        local A = np.sparse.csr_array { data = x, indices = { 0, 2, 1 }, indptr = { 0, 2, 3 }, shape = { 2, 3 } }
        return flat(A:dot(y), A.T:dot(A:dot(y)))
    end, { some(3), some(3, 2) } },
    sparse_triangular = { function(x, y)
        local parts = { data = x * x + 1, indices = { 0, 0, 1 }, indptr = { 0, 1, 3 }, shape = { 2, 2 } }
        local A = np.sparse.csr_array(parts)
        return flat(np.sparse.spsolve_triangular(A, y), np.sparse.spsolve_triangular(A.T, y, { lower = false }),
                    np.sparse.spsolve_triangular(A, y, { unit_diagonal = true }))
    end, { some(3), some(2, 2) } },
    sparse_solve = { function(x, y)
        local parts = { data = x * x + 1, indices = { 1, 0, 1 }, indptr = { 0, 1, 3 }, shape = { 2, 2 } }
        local A = np.sparse.csr_array(parts)
        return flat(np.sparse.spsolve(A, y), np.sparse.spsolve(A.T, y))
    end, { some(3), some(2, 2) } },
    sparse_sample = { function(x, y)
        local function energy(d)
            local A = np.sparse.csr_array { data = d, indices = { 0, 2, 1 }, indptr = { 0, 2, 3 }, shape = { 2, 3 } }
            return (A:dot(y) ^ 2):sum()
        end
        return np.grad(energy)(x)
    end, { some(3), some(3, 2) } },
    sparse_matmul = { function(x, y)
        local A = np.sparse.csr_array { data = x, indices = { 2, 0, 1, 1 }, indptr = { 0, 3, 4 }, shape = { 2, 3 } }
        local B = np.sparse.csr_array { data = y, indices = { 1, 0, 1 }, indptr = { 0, 1, 1, 3 }, shape = { 3, 2 } }
        return flat(A:dot(B).data, A:dot(B):dot(A:dot(B)).data)
    end, { some(4), some(3) } },
    sparse_collect = { function(x, y)
        local A = np.sparse.csr_array { data = x, indices = { 2, 0, 0, 1 }, indptr = { 0, 3, 4 }, shape = { 2, 3 } }
        local B = np.sparse.csc_array { data = y, indices = { 1, 0, 1 }, indptr = { 0, 1, 1, 3 }, shape = { 2, 3 } }
        return flat((A + B).data ^ 2, (B - A).data ^ 3, (A + A).data)
    end, { some(4), some(3) } },
    put_add = { function(x, y) return x:at { repeated }:add(y) end, { some(3, 2), some(3, 2) } },
    put_mul = { function(x, y) return x:at { repeated }:mul(y) end, { some(3, 2), some(3, 2) } },
    put_max = { function(x, y) return x:at { repeated }:max(y) end, { some(3, 2), some(3, 2) } },
    put_min = { function(x, y) return x:at { repeated }:min(y) end, { some(3, 2), some(3, 2) } },
    put_set = { function(x, y) return x:at { distinct }:set(y) end, { some(3, 2), some(2, 2) } },
    call = { np.checkpoint(function(x, y) return np.sin(x) * y + y * y end), { some(3), some(3) } },
    debug_hold = { function(x)
        local y, let_go = np.debug.hold(x * x)
        let_go()
        return y
    end, { some(2) } },
    debug_sleep = { function(x) return np.debug.sleep(x * x, 0) end, { some(2) } },
}
-- alias stands for the argument itself in every gradient; debug_fail has no value; ops over named axes have gradients
-- between the examples of a batch (tests/stdlib/collective_test.lua); loops and branches have a test of their own
-- (tests/lazy/control_test.lua), and so have the ways onto a mesh (tests/mesh).
-- Of zeta and betainc only one argument has a derivative, of the incomplete gamma functions one has no second one
-- (tests/golden/special_test.lua). A gamma number's derivative is not that of the steps that draw it
-- (tests/stdlib/distributions_test.lua), and factors of sparse matrices have none
-- (tests/contracts/sparse_direct_test.lua). Those of complex numbers are in
-- golden/{complex,fft,complex_linalg}_test.lua.
local exempt = { random_gamma = true, zeta = true, betainc = true, gammainc = true, gammaincc = true, complex = true,
                 dft = true, rdft = true, irdft = true, eig = true, matrix_function = true, alias = true,
                 debug_fail = true, cond = true, scan = true, while_loop = true, sparse_factors = true }
for _, name in ipairs { "psum", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute", "enter",
                       "leave", "pcast", "pick", "pvary", "reshard" } do
    exempt[name] = true
end
if not require "tests.lib.klu" then
    exempt.sparse_solve = true
    check.skip("the gradient of sparse_solve", "needs package libklu1")
end

--- The weighted sum of the gradients of f: a function whose gradient is of second order.
local function gradient_of(f)
    return function(...)
        local given, argnums = { ... }, {}
        for k = 1, #given do argnums[k] = k end
        local gradients = { np.grad(function(...) return scalar(f, { ... }) end, { argnums = argnums })(...) }
        local total = 0
        for k, gradient in ipairs(gradients) do total = total + scalar(function() return gradient end, {}) * k end
        return total
    end
end

for _, row in ipairs(rows) do
    if row.gradient and not exempt[row.name] then
        local case = structural[row.name]
        check.test("the gradient of " .. row.name .. " is that of differences", function()
            if case then
                local function squared(...)
                    local y = case[1](...)
                    return y * y
                end
                check_gradient(case[1], case[2])
                check_gradient(gradient_of(squared), case[2])
            elseif row.class == "map" then
                check.ok(row.domain, "no domain")
                local inputs, broadcast = {}, {}
                for k = 1, row.arity do
                    inputs[k] = array(row, { 5 }, "f64")
                    broadcast[k] = array(row, k == 1 and { 2, 3 } or { 3 }, "f64")
                end
                check_gradient(np[row.name], inputs)
                check_gradient(np[row.name], broadcast)
                check_gradient(gradient_of(np[row.name]), inputs)
            elseif row.class == "reduce" then
                local function over_rows(x) return np[row.name](x, { axis = 1 }) end
                check_gradient(over_rows, { array(row, { 3, 4 }, "f64") })
                check_gradient(np[row.name], { array(row, { 2, 3 }, "f64") })
                check_gradient(gradient_of(over_rows), { array(row, { 3, 4 }, "f64") })
            else
                error("add an expression for it to `structural`")
            end
        end)
    end
end

check.test("every row of floats has a gradient or says that it is zero", function()
    for _, row in ipairs(rows) do
        local floats = false
        for _, kind in ipairs(row.types) do floats = floats or kind == "real" end
        if floats and row.class ~= "source" and not exempt[row.name] then
            check.ok(row.gradient or row.zero_gradient, row.name .. " has neither")
        end
    end
end)

check.done()
