--- save_matrices.lua: equations and factors of matrices as operators of ONNX (save.lua): a Scan over columns or rows,
-- whose step works on all matrices of the other axes at once.
--
--     cholesky            a column of L a step, and the rest of the matrix
--     triangular_solve    a row of the solution a step
--     solve, det, …       elimination with the largest pivot of a column, then the rows of the solution
--     qr                  a reflection a step (Householder), with LAPACK's signs
--
-- `lu`, recorded before solve and det, is not written: elimination begins at the matrix.
local core = require "neap.core"

local np = core.np
local rows = {}

-- ---- Steps ----------------------------------------------------------------------------------------------------------

--- The leading axes of a shape of matrices, with these axes behind.
local function beside(shape, ...)
    local dims = { unpack(shape, 1, #shape - 2) }
    for _, n in ipairs { ... } do dims[#dims + 1] = n end
    return dims
end

local function value(name, dtype, shape) return { name = name, dtype = dtype, shape = shape } end

--- A Scan over `count` steps from values `states` on. step(body, k, states) returns the names of the new states, and
-- { name, shape = of a step } of a value to stack along a last axis. Returns the names of the last states and the
-- stack.
local function march(w, count, reverse, states, step)
    local body, ports, names, inputs, results = w:inner(), {}, {}, {}, {}
    for k, state in ipairs(states) do
        ports[k] = body:input(state.dtype, state.shape)
        names[k], inputs[k] = ports[k].name, state.name
    end
    ports[#ports + 1] = body:input("i64", {})
    local after, stacked = step(body, ports[#ports].name, names)
    for k, name in ipairs(after) do results[k] = value(name, states[k].dtype, states[k].shape) end
    local attributes = { num_scan_inputs = 1, scan_input_directions = { reverse and 1 or 0 } }
    if stacked then
        results[#results + 1] = value(stacked[1], states[1].dtype, stacked.shape)
        attributes.scan_output_axes = { #stacked.shape }
    end
    attributes.body = { graph = body:graph(ports, results) }
    inputs[#inputs + 1] = w:counter(count)
    local outputs = {}
    for k = 1, #results do outputs[k] = false end
    return w:node("Scan", inputs, attributes, outputs)
end

--- Row (axis -2) or column (axis -1) k of matrices, without that axis.
local function line_at(w, x, k, axis) return w:node("Gather", { x, k }, { axis = axis }) end

--- As a column, (…, n, 1), or as a row, (…, 1, n).
local function column(w, x, shape, n) return w:reshaped(x, beside(shape, n, 1)) end
local function row(w, x, shape, n) return w:reshaped(x, beside(shape, 1, n)) end

--- Which of the places 0 … n - 1 compare so with place k, a vector.
local function places(w, op, n, k) return w:node(op, { w:counter(n), k }) end

local function zeros(w, dtype, shape)
    return w:node("Expand", { w:number(0, dtype), w:integers(unpack(shape)) })
end

local function identity(w, dtype, shape, n)
    return w:node("Expand", { w:constant(np.eye(n, { dtype = dtype })), w:integers(unpack(beside(shape, n, n))) })
end

local function swapped(w, x, rank)
    local perm = {}
    for k = 1, rank do perm[k] = k - 1 end
    perm[rank - 1], perm[rank] = rank - 1, rank - 2
    return w:node("Transpose", { x }, { perm = perm })
end

-- ---- Factors --------------------------------------------------------------------------------------------------------

function rows.cholesky(w, line, output)
    local shape, dtype = line.shape, line.dtype
    local n, zero = shape[#shape], w:number(0, dtype)
    local start = value(w:operand(line, 1), dtype, shape)
    local _, lower = march(w, n, false, { start }, function(b, k, states)
        local raw = line_at(b, states[1], k, -1)
        local pivot = b:reshaped(b:node("Sqrt", { line_at(b, raw, k, -1) }), beside(shape, 1))
        local own = b:node("Where", { places(b, "GreaterOrEqual", n, k), b:node("Div", { raw, pivot }), zero })
        local product = b:node("Mul", { column(b, own, shape, n), row(b, own, shape, n) })
        return { b:node("Sub", { states[1], product }) }, { own, shape = beside(shape, n) }
    end)
    -- one pivot that is not above 0 makes all of L NaN
    local sum = w:node("ReduceSum", { lower, w:integers(-2, -1) }, { keepdims = 1 })
    local below = w:constant(np.tri(n, { dtype = "bool" }))
    local unknown = w:node("And", { w:node("IsNaN", { sum }), below })
    w:node("Where", { unknown, w:number(np.nan, dtype), lower }, nil, output)
end

--- The rows of x with a x = b, a triangular; unit: its diagonal counts as ones.
local function substitute(w, a, b, shape, dtype, lower, unit, output)
    local n, extent = shape[#shape - 1], shape[#shape]
    local zero = w:number(0, dtype)
    local x = march(w, n, not lower, { value(zeros(w, dtype, shape), dtype, shape) }, function(body, k, states)
        local own = line_at(body, a, k, -2)
        local known = body:node("Where", { places(body, lower and "Less" or "Greater", n, k), own, zero })
        local sum = body:node("MatMul", { row(body, known, shape, n), states[1] })
        local left = body:node("Sub", { row(body, line_at(body, b, k, -2), shape, extent), sum })
        if not unit then
            left = body:node("Div", { left, body:reshaped(line_at(body, own, k, -1), beside(shape, 1, 1)) })
        end
        local here = body:reshaped(places(body, "Equal", n, k), { n, 1 })
        return { body:node("Where", { here, left, states[1] }) }
    end)
    return w:node("Identity", { x }, nil, output)
end

function rows.triangular_solve(w, line, output)
    local a, lower = w:operand(line, 1), line.attrs.lower == "1"
    if line.attrs.transposed == "1" then a, lower = swapped(w, a, #line.shape), not lower end
    substitute(w, a, w:operand(line, 2), line.shape, line.dtype, lower, line.attrs.unit == "1", output)
end

function rows.qr(w, line, output)
    local shape, dtype = w:shape(line, 1), line.dtype
    local m, n = shape[#shape - 1], shape[#shape]
    local least = math.min(m, n)
    local k = line.attrs.complete == "1" and m or least
    local zero, last, keep = w:number(0, dtype), w:integers(-1), { keepdims = 1 }
    local square = beside(shape, m, m)
    local q, r = march(w, least, false, { value(identity(w, dtype, shape, m), dtype, square),
                                          value(w:operand(line, 1), dtype, shape) }, function(b, at, states)
        local raw = line_at(b, states[2], at, -1)
        local below = b:node("Where", { places(b, "Greater", m, at), raw, zero })
        local tail = b:node("ReduceSum", { b:node("Mul", { below, below }), last }, keep)
        local head = b:reshaped(line_at(b, raw, at, -1), beside(shape, 1))
        local norm = b:node("Sqrt", { b:node("Add", { b:node("Mul", { head, head }), tail }) })
        local flat = b:node("Equal", { tail, zero })
        local signed = b:node("Where", { b:node("Less", { head, zero }), norm, b:node("Neg", { norm }) })
        local first = b:node("Sub", { head, signed })
        local v = b:node("Where", { places(b, "Equal", m, at), first, below })
        local size = b:node("Add", { b:node("Mul", { first, first }), tail })
        local factor = b:node("Where", { flat, zero, b:node("Div", { b:number(2, dtype), size }) })
        local u = b:node("Mul", { v, factor })
        local onto_r = b:node("MatMul", { row(b, v, shape, m), states[2] })
        local onto_q = b:node("MatMul", { states[1], column(b, v, shape, m) })
        return { b:node("Sub", { states[1], b:node("Mul", { onto_q, row(b, u, shape, m) }) }),
                 b:node("Sub", { states[2], b:node("Mul", { column(b, u, shape, m), onto_r }) }) }
    end)
    q = w:node("Slice", { q, w:integers(0), w:integers(k), w:integers(#shape - 1) })
    r = w:node("Slice", { w:node("Trilu", { r }, { upper = 1 }), w:integers(0), w:integers(k), w:integers(#shape - 2) })
    w:node("Concat", { w:reshaped(q, beside(shape, m * k)), w:reshaped(r, beside(shape, k * n)) },
           { axis = #shape - 2 }, output)
end

-- ---- Elimination ----------------------------------------------------------------------------------------------------

--- One step at the matrices x, (…, n, wide): the row with the largest element of column k takes the place of row k, and
-- multiples of it are subtracted from those below. Returns the matrices and the place that the row had.
local function eliminate(b, x, k, dtype, shape, n, wide)
    local zero, behind = b:number(0, dtype), places(b, "Greater", n, k)
    local sizes = b:node("Where", { places(b, "Less", n, k), b:number(-1, dtype),
                                    b:node("Abs", { line_at(b, x, k, -1) }) })
    local best = b:node("ArgMax", { sizes }, { axis = -1, keepdims = 1 })
    local at = b:node("Expand", { column(b, best, shape, 1), b:integers(unpack(beside(shape, 1, wide))) })
    local pivots = b:node("GatherElements", { x, at }, { axis = -2 })
    local moved = b:reshaped(b:node("Equal", { b:counter(n), best }), beside(shape, n, 1))
    x = b:node("Where", { moved, row(b, line_at(b, x, k, -2), shape, wide), x })
    x = b:node("Where", { b:reshaped(places(b, "Equal", n, k), { n, 1 }), pivots, x })
    local pivot = b:reshaped(line_at(b, pivots, k, -1), beside(shape, 1, 1))
    local factors = b:node("Div", { column(b, line_at(b, x, k, -1), shape, n), pivot })
    factors = b:node("Where", { b:node("Equal", { pivot, zero }), zero, factors })
    local less = b:node("Sub", { x, b:node("Mul", { factors, pivots }) })
    return b:node("Where", { b:reshaped(behind, { n, 1 }), less, x }), best
end

--- The triangle after elimination of a, with the columns of b beside, if b is given (`extent` columns); and 1 or -1, by
-- how often rows changed places, (…, 1).
local function triangle(w, a, b, shape, dtype, extent)
    local n = shape[#shape]
    local x = b and w:node("Concat", { a, b }, { axis = #shape - 1 }) or a
    local wide = n + (extent or 0)
    local one = w:node("Expand", { w:number(1, dtype), w:integers(unpack(beside(shape, 1))) })
    local states = { value(x, dtype, beside(shape, n, wide)), value(one, dtype, beside(shape, 1)) }
    return march(w, n, false, states, function(body, k, now)
        local after, best = eliminate(body, now[1], k, dtype, shape, n, wide)
        local turned = body:node("Where", { body:node("Equal", { best, k }), now[2], body:node("Neg", { now[2] }) })
        return { after, turned }
    end)
end

local function solved(w, a, b, shape, dtype, extent, output)
    local n, axis = shape[#shape], #shape - 1
    local both = triangle(w, a, b, shape, dtype, extent)
    local left = w:node("Slice", { both, w:integers(0), w:integers(n), w:integers(axis) })
    local right = w:node("Slice", { both, w:integers(n), w:integers(n + extent), w:integers(axis) })
    substitute(w, left, right, beside(shape, n, extent), dtype, false, false, output)
end

function rows.lu(_, line) line.is_unwritten = true end

function rows.solve(w, line, output)
    local a, shape = w:operand(line, 1), w:shape(line, 1)
    if line.attrs.transposed == "1" then a = swapped(w, a, #shape) end
    solved(w, a, w:operand(line, 3), shape, line.dtype, line.shape[#line.shape], output)
end

function rows.inv(w, line, output)
    local n = line.shape[#line.shape]
    solved(w, w:operand(line, 1), identity(w, line.dtype, line.shape, n), line.shape, line.dtype, n, output)
end

--- The diagonal of the triangle, (…, n), and the sign of the swaps, (…, 1).
local function pivots_of(w, line)
    local shape, dtype = w:shape(line, 1), line.dtype
    local left, sign = triangle(w, w:operand(line, 1), nil, shape, dtype)
    local n = shape[#shape]
    local diagonal = w:node("Where", { w:constant(np.eye(n, { dtype = "bool" })), left, w:number(0, dtype) })
    return w:node("ReduceSum", { diagonal, w:integers(-1) }, { keepdims = 0 }), sign
end

function rows.det(w, line, output)
    local pivots, sign = pivots_of(w, line)
    local product = w:node("ReduceProd", { pivots, w:integers(-1) }, { keepdims = 1 })
    w:reshaped(w:node("Mul", { product, sign }), line.shape, output)
end

function rows.slogdet(w, line, output)
    local pivots, sign = pivots_of(w, line)
    local last, keep = w:integers(-1), { keepdims = 1 }
    local signs = w:node("ReduceProd", { w:node("Sign", { pivots }), last }, keep)
    local size = w:node("ReduceSum", { w:node("Log", { w:node("Abs", { pivots }) }), last }, keep)
    w:node("Concat", { w:node("Mul", { signs, sign }), size }, { axis = -1 }, output)
end

return rows
