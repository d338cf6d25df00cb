--- linalg_test.lua (under tsan with --long): np.linalg, and what else works along axes, equal NumPy and JAX, with
-- derivatives of first to third order (linalg.txt; make_linalg.py has the same functions and says what is compared).
-- Every case runs in f64 and in f32.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local L = np.linalg
local inf = math.huge
local reduced = { full_matrices = false }

local function weigh(y)
    local weights = (np.arange(y.size, { dtype = y.dtype }) * 0.125 + 0.5):reshape(y.shape)
    return (y * weights):sum()
end

local function magnitudes(...)
    local list = { ... }
    for k = 1, #list do list[k] = np.abs(list[k]) end
    return list
end

local function joined(...)
    local all = {}
    for _, list in ipairs { ... } do
        for _, x in ipairs(list) do all[#all + 1] = x end
    end
    return unpack(all)
end

-- ---- Values ---------------------------------------------------------------------------------------------------------

local values = {} -- by name: function(inputs…) → results…

function values.cholesky(a) return L.cholesky(a), L.cholesky(a, { upper = true }) end
function values.cholesky_not_definite(a) return L.cholesky(a) end
function values.cholesky_symmetrized(a) return L.cholesky(a), L.cholesky(a, { symmetrize_input = false }) end
function values.solve(a, b, v) return L.solve(a, b), L.solve(a[0], v), L.solve(a, v) end
function values.solve_triangular(a, b, v)
    local s = L.solve_triangular
    return s(a, b), s(a, b, { lower = true }), s(a, b, { trans = true }), s(a, v, { lower = true, trans = true }),
        s(a, b, { unit_diagonal = true }), s(a, b, { lower = true, trans = true, unit_diagonal = true })
end
function values.inverse(a) return L.inv(a) end
function values.determinants(a) return L.det(a), L.slogdet(a) end
function values.qr_magnitudes(a, b, c)
    local complete = { mode = "complete" }
    return joined(magnitudes(L.qr(a)), magnitudes(L.qr(b)), magnitudes(L.qr(c)), magnitudes(L.qr(b, complete)),
                  magnitudes((select(2, L.qr(a, complete)))), magnitudes(L.qr(a, { mode = "r" })))
end
function values.eigh(a, b)
    local w, v = L.eigh(a)
    local many, vectors = L.eigh(b)
    return w, np.abs(v), many, np.abs(vectors), L.eigvalsh(b)
end
function values.eigh_triangles(a)
    return L.eigvalsh(a, { UPLO = "L" }), L.eigvalsh(a, { UPLO = "U" }), L.eigvalsh(a)
end
function values.svd(a, b)
    local u = L.svd(a)
    local _, _, vh = L.svd(b)
    return joined(magnitudes(L.svd(a, reduced)), magnitudes(L.svd(b, reduced)),
                  { L.svdvals(a), np.abs(u[{ {}, { 0, 3 } }]), np.abs(vh[{ {}, { 0, 2 } }]) })
end
function values.by_singular_values(a, b)
    local dtype = a.dtype
    return L.pinv(a), L.pinv(b), L.matrix_rank(a):astype(dtype), L.matrix_rank(b):astype(dtype), L.cond(a),
        L.cond(a, { p = -2 })
end
function values.lstsq(a, v, b, wide, u)
    local x, squares, rank, s = L.lstsq(a, v)
    local many, more = L.lstsq(a, b)
    return x, squares, rank:astype(a.dtype), s, many, more, (L.lstsq(wide, u))
end
function values.norms(a, v)
    local results = {}
    for _, p in ipairs { "fro", "nuc", 1, -1, 2, -2, inf, -inf } do
        results[#results + 1] = L.matrix_norm(a, { ord = p })
    end
    for _, p in ipairs { 2, 1, 0, inf, -inf, 3, 0.5 } do results[#results + 1] = L.vector_norm(v, { ord = p }) end
    local more = { L.norm(a), L.norm(a, { axis = 1 }), L.norm(a, { axis = { 0, 2 } }), L.norm(a[0], { ord = 1 }),
                   L.norm(v, { ord = 1 }), L.norm(a, { axis = { 2, 0 }, ord = "nuc", keepdims = true }),
                   L.vector_norm(a, { axis = { 0, 1 }, keepdims = true }) }
    local conditions = {}
    for k, p in ipairs { "fro", 1, -1, inf, -inf } do conditions[k] = L.cond(a, { p = p }) end
    return joined(results, more, conditions)
end
function values.products(a, b, c, v)
    return L.matrix_power(a, 0), L.matrix_power(a, 1), L.matrix_power(a, 5), L.matrix_power(a, -3),
        L.multi_dot { a[0], b, c }, L.multi_dot { a[{ 0, 0 }], b, c, v }, L.multi_dot { b, c }
end
function values.elements(a, b, c, v)
    return L.trace(b), L.trace(a, { offset = 1 }), L.trace(a, { offset = -2 }), L.diagonal(b, { offset = -1 }),
        L.diagonal(a, { offset = 9 }), np.diagonal(b, { offset = 1, axis1 = 2, axis2 = 0 }), L.cross(c, v),
        np.kron(a, c), np.kron(v, a), np.vecdot(c, v)
end
function values.along_axes(a, v, grid, x, f)
    local top, places = np.top_k(a, 3)
    local dtype = a.dtype
    return np.cummax(a, { axis = 1 }), np.cummin(a, { axis = 0 }), np.cummax(v), np.diff(a),
        np.diff(a, { n = 2, axis = 1 }), np.diff(a, { axis = 0 }), top, places:astype(dtype),
        (select(2, np.top_k(v, 4))):astype(dtype), np.searchsorted(grid, x):astype(dtype),
        np.searchsorted(grid, x, { side = "right" }):astype(dtype), np.interp(x, grid, f),
        np.interp(x, grid, f, { left = -5, right = 7 })
end

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

local derivatives = {} -- by name: function(inputs…) → scalar

function derivatives.of_cholesky(a) return weigh(L.cholesky(a)) end
function derivatives.of_solve(a, b) return weigh(L.solve(a, b)) + weigh(L.solve(a[0], b[{ {}, 0 }])) end
function derivatives.of_solve_triangular(a, b)
    local s = L.solve_triangular
    return weigh(s(a, b)) + 2 * weigh(s(a, b, { lower = true, trans = true }))
        + weigh(s(a, b, { unit_diagonal = true }))
end
function derivatives.of_inverse(a) return weigh(L.inv(a)) end
function derivatives.of_determinants(a)
    local sign, logarithm = L.slogdet(a)
    return weigh(L.det(a)) + weigh(logarithm) + weigh(sign)
end
function derivatives.of_qr(a, b)
    local q, r = L.qr(a)
    local other, upper = L.qr(b)
    return weigh(q ^ 2) + weigh(r ^ 2) + weigh(other * other) + weigh(np.abs(upper))
end
function derivatives.of_qr_wide(a)
    local q, r = L.qr(a)
    return weigh(q ^ 2) + weigh(r ^ 2)
end
function derivatives.of_eigh(a)
    local w, v = L.eigh(a)
    return weigh(w) + weigh(v * v) + weigh(L.eigvalsh(a) ^ 2)
end
function derivatives.of_svd(a, b)
    local u, s, vh = L.svd(a, reduced)
    local x, t, yh = L.svd(b, reduced)
    return weigh(u ^ 2) + weigh(s) + weigh(vh ^ 2) + weigh(x ^ 2) + weigh(t ^ 2) + weigh(yh ^ 2)
end
function derivatives.of_pinv(a, b) return weigh(L.pinv(a)) + weigh(L.pinv(b)) end
function derivatives.of_lstsq(a, b)
    local x, squares, _, s = L.lstsq(a, b)
    return weigh(x) + weigh(squares) + weigh(s)
end
function derivatives.of_norms(a, v)
    local total = L.vector_norm(v) + L.vector_norm(v, { ord = 3 }) + L.vector_norm(v, { ord = 1 }) + L.cond(a)
    for k, p in ipairs { "fro", "nuc", 1, 2, -2, inf } do total = total + L.matrix_norm(a, { ord = p }) * k end
    return total
end
function derivatives.of_powers(a)
    return weigh(L.matrix_power(a, 3)) + weigh(L.matrix_power(a, -2)) + L.trace(a:matmul(a), { offset = 1 })
end
function derivatives.gaussian_log_density(a, x)
    local lower = L.cholesky(a)
    local z = L.solve_triangular(lower, x, { lower = true })
    return -0.5 * (z * z):sum() - np.log(np.diag(lower)):sum()
end
function derivatives.of_axes(a, grid, x, f)
    return weigh(np.cummax(a, { axis = 1 }) ^ 2) + weigh(np.diff(a, { n = 2 }) ^ 2) + weigh((np.top_k(a, 3)) ^ 2)
        + weigh(np.interp(x, grid, f) ^ 2) + weigh(np.kron(a, grid)) + weigh(np.cross(a ":, :3", f ":3") ^ 2)
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local collector = reader.collector()

local function inputs_of(record, dtype)
    local inputs = {}
    for k = 4, reader.position(record, "=") - 1 do inputs[#inputs + 1] = reader.build(record[k], dtype) end
    return inputs
end

--- Results (texts of the record from field `from` on, arrays); what differs.
local function differences(record, from, got, dtype, tolerance)
    local found = {}
    for k = 1, #record - from + 1 do
        local want = reader.array(record[from + k - 1])
        want.dtype = dtype
        local text = got[k] and reader.difference(got[k], want, tolerance) or (not got[k] and "is missing") or nil
        if text then found[#found + 1] = ("result %d: %s"):format(k, text) end
    end
    if #got ~= #record - from + 1 then found[#found + 1] = #got .. " results" end
    return found[1] and table.concat(found, "; ")
end

local function direction(x)
    local places = np.remainder(np.arange(x.size) * 5, 7) - 3
    return (places:astype(x.dtype) / 8):reshape(x.shape)
end

--- f along the directions of its inputs, as a function of one number.
local function along(f, inputs)
    return function(t)
        local moved = {}
        for k, x in ipairs(inputs) do moved[k] = x + direction(x) * t end
        return f(unpack(moved))
    end
end

--- The value, the gradients, and derivatives of second and third order along the directions: by reverse mode over
-- itself, and by forward over reverse mode.
local function derived(f, inputs)
    local value, gradients = np.value_and_grad(function(list) return f(unpack(list)) end)(inputs)
    local zero = np.zeros({}, { dtype = inputs[1].dtype })
    local first = np.grad(along(f, inputs))
    local _, second = np.jvp(first, { zero }, { zero + 1 })
    return { value, joined(gradients, { second, np.grad(np.grad(first))(zero) }) }
end

for _, record in ipairs(reader.records "linalg") do
    local kind, name, from = record[1], record[2], reader.position(record, "=") + 1
    local f = (kind == "value" and values or derivatives)[name]
    if not f then
        collector.skip(name, "there is no function for it")
    elseif kind == "value" then
        for dtype, tolerance in pairs { f64 = record[3], f32 = "scaled 2e-05" } do
            collector.add(name, function()
                return differences(record, from, { f(unpack(inputs_of(record, dtype))) }, dtype, tolerance)
            end, dtype)
        end
        collector.add(name, function()
            local inputs = inputs_of(record, "f64")
            local function whole(...) return { f(...) } end
            return differences(record, from, np.jit(whole)(unpack(inputs)), "f64", record[3])
        end, "jitted")
    else
        collector.add(name, function()
            return differences(record, from, derived(f, inputs_of(record, "f64")), "f64", record[3])
        end, "f64")
        collector.add(name, function() -- first order
            local inputs, first = inputs_of(record, "f32"), { unpack(record, 1, #record - 2) }
            local value, gradients = np.value_and_grad(function(list) return f(unpack(list)) end)(inputs)
            return differences(first, from, { value, unpack(gradients) }, "f32", "scaled 5e-04")
        end, "f32")
    end
end
collector.finish(check)
