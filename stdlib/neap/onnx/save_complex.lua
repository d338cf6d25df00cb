--- save_complex.lua: complex numbers and Fourier transforms in files of ONNX (save.lua). Hardly an operator of the
-- format takes complex numbers, so an array of them is two arrays of floats, the parts: { dtype="c64",
-- parts = { name, name } }. Moves of elements are written for each part, by the row for floats; other ops have a
-- formula for each.
local core = require "neap.core"
local elements = require "neap.onnx.save_elements"
local message = require "neap.onnx.message"
local proto = require "neap.onnx.proto"

local np, wrong = core.np, proto.wrong
local complex = {}

local PART = { c64 = "f32", c128 = "f64" }

-- ---- Formulas -------------------------------------------------------------------------------------------------------

-- Of a + bi and c + di: for both parts, or for a result that is not complex. Divisors are scaled, as abs is (R. L.
-- Smith, "Algorithm 116: complex division", 1962).
local SCALE = "s = Max(Abs(%s), Abs(%s)); x = Div(%s, s); y = Div(%s, s); n = Add(Mul(%s, x), Mul(%s, y)); "
local BY = SCALE:format("c", "d", "c", "d", "c", "d")
local OF = SCALE:format("a", "b", "a", "b", "a", "b")
local same = { "Identity(a)", "Identity(b)" }

local formulas = {
    add = { "Add(a, c)", "Add(b, d)" }, subtract = { "Sub(a, c)", "Sub(b, d)" }, negative = { "Neg(a)", "Neg(b)" },
    multiply = { "Sub(Mul(a, c), Mul(b, d))", "Add(Mul(a, d), Mul(b, c))" },
    divide = { BY .. "Div(Add(Mul(a, x), Mul(b, y)), n)", BY .. "Div(Sub(Mul(b, x), Mul(a, y)), n)" },
    reciprocal = { OF .. "Div(x, n)", OF .. "Neg(Div(y, n))" },
    square = { "Sub(Mul(a, a), Mul(b, b))", "Mul(Mul(a, b), 2)" }, conj = { "Identity(a)", "Neg(b)" },
    exp = { "Mul(Exp(a), Cos(b))", "Mul(Exp(a), Sin(b))" },
    matmul2 = { "Sub(MatMul(a, c), MatMul(b, d))", "Add(MatMul(a, d), MatMul(b, c))" },
    copy = same, alias = same, bare = same, stop_gradient = same, positive = same,
    abs = { "hypot(a, b)" }, real = { "Identity(a)" }, imag = { "Identity(b)" },
    equal = { "And(Equal(a, c), Equal(b, d))" }, not_equal = { "Not(And(Equal(a, c), Equal(b, d)))" },
    isnan = { "Or(IsNaN(a), IsNaN(b))" }, isinf = { "Or(IsInf(a), IsInf(b))" },
    isfinite = { "Not(Or(Or(IsNaN(a), IsInf(a)), Or(IsNaN(b), IsInf(b))))" },
}

local is_move = {}
for op in ("broadcast_to reshape transpose slice concatenate pad windows take where sum cumsum dynamic_slice "
           .. "dynamic_update_slice put_set put_add"):gmatch "%S+" do is_move[op] = true end

-- ---- Parts ----------------------------------------------------------------------------------------------------------

--- Both parts of operand k, as values of a formula.
local function parts_of(w, line, k, part)
    local known = w.known[line.operands[k]]
    if known and known.parts then
        return { name = known.parts[1], dtype = part }, { name = known.parts[2], dtype = part }
    end
    return { name = w:operand(line, k, part), dtype = part }, { name = w:number(0, part), dtype = part }
end

--- The dtype of the parts in a line: of its result, or of an operand.
local function part_of(w, line)
    local dtype = line.results[1] and PART[line.results[1].dtype]
    for _, word in ipairs(line.operands) do
        local known = w.known[word]
        dtype = dtype or known and PART[known.dtype]
    end
    return dtype
end

local function by_formula(w, line, part)
    local values, names = {}, {}
    for k = 1, #line.operands do values[2 * k - 1], values[2 * k] = parts_of(w, line, k, part) end
    for k, formula in ipairs(formulas[line.op]) do names[k] = elements.write(w, formula, values).name end
    return names
end

--- The row for floats, once for each part; other operands than complex ones are the same for both.
local function by_parts(w, line, part, row)
    local names = {}
    for k = 1, 2 do
        local operands = {}
        for at, word in ipairs(line.operands) do
            local known = w.known[word]
            operands[at] = word
            if known and known.parts then
                operands[at] = word .. ":" .. k
                w.known[operands[at]] = { name = known.parts[k], dtype = part, shape = known.shape }
            elseif not known and k == 2 then
                operands[at] = "0"
            end
        end
        names[k] = w:unique "_part"
        row(w, { text = line.text, op = line.op, attrs = line.attrs, operands = operands, results = line.results,
                 dtype = part, shape = line.shape }, names[k])
    end
    return names
end

-- ---- Transforms -----------------------------------------------------------------------------------------------------

local rows = {}

function rows.complex(w, line, part)
    local names = {}
    for k = 1, 2 do
        names[k] = w:node("Expand", { w:operand(line, k, part), w:integers(unpack(line.shape)) })
    end
    return names
end

function rows.astype(w, line, part)
    local names, code = {}, { to = message.CODES[part] }
    local known = w.known[line.operands[1]]
    local a, b = parts_of(w, line, 1, known and PART[known.dtype] or part)
    names[1] = w:node("Cast", { a.name }, code)
    if known and known.parts then names[2] = w:node("Cast", { b.name }, code) end
    names[2] = names[2] or w:node("Expand", { w:number(0, part), w:integers(unpack(line.shape)) })
    return names
end

--- The transform of parts of a shape (im: false if there is none) along an axis: the parts of the result.
local function transform(w, shape, axis, re, im, attributes)
    local wide = { unpack(shape) }
    wide[#wide + 1] = 1
    local both = w:reshaped(re, wide)
    if im then both = w:node("Concat", { both, w:reshaped(im, wide) }, { axis = #shape }) end
    local y = w:node("DFT", { both, "", w:number(axis, "i64") }, attributes)
    return { w:node("Gather", { y, w:number(0, "i64") }, { axis = -1 }),
             w:node("Gather", { y, w:number(1, "i64") }, { axis = -1 }) }
end

--- The inverse of the format divides by n.
local function undivided(w, name, n, part) return w:node("Mul", { name, w:number(n, part) }) end

function rows.dft(w, line, part)
    local re, im = parts_of(w, line, 1, part)
    local axis, inverse = tonumber(line.attrs.axis), tonumber(line.attrs.inverse)
    local y = transform(w, line.shape, axis, re.name, im.name, { inverse = inverse })
    local n = line.shape[axis + 1]
    return inverse == 1 and { undivided(w, y[1], n, part), undivided(w, y[2], n, part) } or y
end

--- Half of a transform of n numbers along an axis, with elements that stand for two times 2.
local function doubling(w, x, axis, rank, half, n, part)
    local factors, shape = np.full({ half }, 2, { dtype = part }), {}
    for k = 1, rank do shape[k] = k == axis + 1 and half or 1 end
    factors = factors:at(0):set(1)
    if n % 2 == 0 then factors = factors:at(half - 1):set(1) end
    return w:node("Mul", { x, w:constant(np.reshape(factors, shape)) })
end

function rows.rdft(w, line, part)
    local axis, shape = tonumber(line.attrs.axis), w:shape(line, 1)
    local y = transform(w, shape, axis, w:operand(line, 1), false, { onesided = 1 })
    if line.attrs.doubled ~= "1" then return y end
    for k = 1, 2 do
        y[k] = doubling(w, y[k], axis, #shape, line.shape[axis + 1], shape[axis + 1], part)
    end
    return y
end

--- The real part of the inverse transform of the half with zeros behind it.
function rows.irdft(w, line, part)
    local axis, n, shape = tonumber(line.attrs.axis), tonumber(line.attrs.n), w:shape(line, 1)
    local half, pads, names = shape[axis + 1], {}, {}
    for k = 1, 2 * #shape do pads[k] = k == #shape + axis + 1 and n - half or 0 end
    for k, value in ipairs { parts_of(w, line, 1, part) } do
        names[k] = value.name
        if line.attrs.doubled == "1" then names[k] = doubling(w, names[k], axis, #shape, half, n, part) end
        names[k] = w:node("Pad", { names[k], w:integers(unpack(pads)), w:number(0, part) })
    end
    local y = transform(w, line.shape, axis, names[1], names[2], { inverse = 1 })
    return { undivided(w, y[1], n, part) }
end

-- ---- Lines ----------------------------------------------------------------------------------------------------------

--- Whether a line has to do with complex numbers.
function complex.is_in(w, line) return part_of(w, line) ~= nil end

--- The parts of an array of complex numbers, as arrays of floats.
function complex.parts(x) return { np.real(x), np.imag(x) } end

function complex.is(dtype) return PART[dtype] ~= nil end

--- Writes a line. real_rows: the rows for floats. The writer knows the result behind.
function complex.write(w, line, real_rows)
    local result, part = line.results[1], part_of(w, line)
    if not result then return end
    local names
    if rows[line.op] then
        names = rows[line.op](w, line, part)
    elseif formulas[line.op] then
        names = by_formula(w, line, part)
    elseif is_move[line.op] and PART[line.dtype] then
        names = by_parts(w, line, part, real_rows[line.op])
    else
        wrong("its op '%s' of complex numbers has no counterpart in the format", line.op)
    end
    w.known[result.name] = { name = not names[2] and names[1] or nil, dtype = result.dtype, shape = result.shape,
                             parts = names[2] and names or nil }
end

return complex
