--- save_elements.lua: ops of elements as operators of ONNX: a formula for each (save.lua has what rows are).
--
-- A formula is calls of operators on the operands a, b, c, on numbers, and on results with a name; the last part is the
-- result of the op. A name in small letters is another formula:
--
--     expm1 = "u = Exp(a); d = Sub(u, 1); Where(Equal(u, 1), a, …)"
--     copysign = "Where(signbit(b), Neg(Abs(a)), Abs(a))"
--
-- Numbers have the dtype of the operands beside, or else of a. An op may have another formula for bools, for integers,
-- and for unsigned ones. Values are those of the op's row, also for infinities, NaN, and divisors of integers that are
-- 0 or -1. Inside of formulas a value is { name=, dtype= }, where the dtype follows from the operator.
local message = require "neap.onnx.message"
local proto = require "neap.onnx.proto"

local wrong = proto.wrong
local rows = {}

-- ---- The table ------------------------------------------------------------------------------------------------------

--- The formula of a polynomial in a, by Horner's rule. terms: from the constant one on.
local function polynomial(terms)
    local text = ("%.17g"):format(terms[#terms])
    for k = #terms - 1, 1, -1 do text = ("Add(Mul(%s, a), %.17g)"):format(text, terms[k]) end
    return text
end

local all = {
    -- arithmetic
    add = "Add(a, b)", subtract = "Sub(a, b)", multiply = "Mul(a, b)", divide = "Div(a, b)", pow = "Pow(a, b)",
    negative = "Neg(a)", positive = "Identity(a)", abs = "Abs(a)", sign = "Sign(a)", reciprocal = "Reciprocal(a)",
    square = "Mul(a, a)", copysign = "Where(signbit(b), Neg(Abs(a)), Abs(a))",
    fmod = "Fmod(a, b)",
    remainder = "r = Fmod(a, b); Where(apart(r, b), Add(r, b), r)",
    floor_divide = "r = remainder(a, b); Where(Equal(b, 0), Div(a, b), Where(And(IsInf(b), Not(IsNaN(r))), "
        .. "Where(Equal(r, a), 0, -1), Round(Div(Sub(a, r), b))))",
    apart = "And(Not(Equal(a, 0)), Xor(Less(a, 0), Less(b, 0)))", -- whether a is not 0, and has another sign than b
    -- comparisons
    equal = "Equal(a, b)", not_equal = "Not(Equal(a, b))", less = "Less(a, b)", less_equal = "LessOrEqual(a, b)",
    greater = "Greater(a, b)", greater_equal = "GreaterOrEqual(a, b)", isnan = "IsNaN(a)", isinf = "IsInf(a)",
    isfinite = "Not(Or(IsInf(a), IsNaN(a)))",
    signbit = "Or(Less(a, 0), And(Equal(a, 0), Less(Reciprocal(a), 0)))",
    -- logic and bits
    logical_and = "And(a, b)", logical_or = "Or(a, b)", logical_xor = "Xor(a, b)", logical_not = "Not(a)",
    bitwise_and = "BitwiseAnd(a, b)", bitwise_or = "BitwiseOr(a, b)", bitwise_xor = "BitwiseXor(a, b)",
    bitwise_invert = "BitwiseNot(a)",
    -- choice
    maximum = "Max(a, b)", minimum = "Min(a, b)", clip = "Min(Max(a, b), c)", where = "Where(a, b, c)",
    fmax = "Where(IsNaN(a), b, Where(IsNaN(b), a, Max(a, b)))",
    fmin = "Where(IsNaN(a), b, Where(IsNaN(b), a, Min(a, b)))",
    floor = "Floor(a)", ceil = "Ceil(a)", round = "Round(a)", trunc = "Mul(Sign(a), Floor(Abs(a)))",
    -- functions
    exp = "Exp(a)", log = "Log(a)", sqrt = "Sqrt(a)", rsqrt = "Reciprocal(Sqrt(a))", erf = "Erf(a)",
    sin = "Sin(a)", cos = "Cos(a)", tan = "Tan(a)", asin = "Asin(a)", acos = "Acos(a)", atan = "Atan(a)",
    sinh = "Sinh(a)", cosh = "Cosh(a)", tanh = "Tanh(a)", asinh = "Asinh(a)", acosh = "Acosh(a)", atanh = "Atanh(a)",
    sigmoid = "Sigmoid(a)", erfc = "Sub(1, Erf(a))", -- which is 0 where erfc is below a rounding of 1
    exp2 = "Pow(2, a)", log2 = "Mul(Log(a), 1.4426950408889634)", log10 = "Mul(Log(a), 0.4342944819032518)",
    -- log(1 + x) and exp(x) - 1 to full precision: W. Kahan's corrections of the rounding of 1 + x and of exp(x)
    log1p = "u = Add(a, 1); d = Sub(u, 1); Where(Or(Equal(d, 0), Equal(u, inf)), a, Mul(Log(u), Div(a, d)))",
    expm1 = "u = Exp(a); d = Sub(u, 1); Where(Equal(d, 0), a, Where(Or(Equal(d, -1), Equal(u, inf)), d, "
        .. "Mul(d, Div(a, Log(u)))))",
    logaddexp = "m = Max(a, b); Where(Equal(a, b), Add(a, 0.6931471805599453), "
        .. "Add(m, log1p(Exp(Sub(Min(a, b), m)))))",
    cbrt = "c = Pow(Abs(a), 0.3333333333333333); t = Div(Sub(c, Div(Abs(a), Mul(c, c))), 3); "
        .. "Where(Or(Equal(a, 0), IsInf(a)), a, Mul(Sign(a), Sub(c, t)))",
    hypot = "x = Abs(a); y = Abs(b); m = Max(x, y); r = Div(Min(x, y), m); Where(Or(IsInf(a), IsInf(b)), inf, "
        .. "Where(Equal(m, 0), m, Mul(m, Sqrt(Add(Mul(r, r), 1)))))",
    atan2 = "both = And(IsInf(a), IsInf(b)); y = Where(both, Sign(a), a); x = Where(both, Sign(b), b); "
        .. "q = Where(And(Equal(y, 0), Not(IsNaN(x))), 0, Atan(Abs(Div(y, x)))); "
        .. "r = Where(signbit(x), Sub(3.141592653589793, q), q); Where(signbit(y), Neg(r), r)",
    xlogy = "Where(And(Equal(a, 0), Not(IsNaN(b))), 0, Mul(a, Log(b)))",
    xlog1py = "Where(And(Equal(a, 0), Not(IsNaN(b))), 0, Mul(a, log1p(b)))",
    entr = "Where(Less(a, 0), -inf, Neg(xlogy(a, a)))",
    erf_inv = "w = Neg(Log(Mul(Sub(1, a), Add(1, a)))); s = Sub(Sqrt(w), 3); "
        .. "Where(Equal(Abs(a), 1), Mul(a, inf), Mul(a, Where(Less(w, 5), near(w), far(s))))",
    -- erf_inv(x) / x: polynomials in w = -log(1 - x²) and in sqrt(w) - 3 (lazy/vm/simd/vmath_tables.h)
    near = polynomial { 0.886226952, 0.232013464, 0.0115509192, -0.00234007719, -0.000119957316,
                        3.89282468e-05, 6.55675422e-06, -2.70395367e-06, 3.45321865e-07,
                        -2.05470201e-08, 4.72509032e-10 },
    far = polynomial { 2.83297682, 1.00167525, 0.0094453143, -0.0076437192, 0.00568775507,
                        -0.00356184831, 0.00147359783, -0.000130903209, -0.000272254372, 0.00016819594,
                        -3.44264081e-05 },
    ldexp = "Cast(Mul(F64(a), Pow(2, Min(Max(trunc(F64(b)), -600), 600))))", -- exact before it is rounded to f32
    -- whether a value of a sorted line stands before b, and whether it does or is b; NaN stands last
    before = "Or(Less(a, b), And(IsNaN(b), Not(IsNaN(a))))", not_behind = "Or(LessOrEqual(a, b), IsNaN(b))",
    -- draws of save_random.lua, of a uniform one, a
    uniform = "Identity(a)", exponential = "Neg(log1p(Neg(a)))",
    normal = "Mul(erf_inv(Max(Add(Mul(a, 2), -0.99999994039535522), -0.99999994039535522)), 1.4142135623730951)",
    gumbel = "Neg(Log(Neg(Log(Max(Add(a, tiny), tiny)))))",
    -- what is no function
    copy = "Identity(a)", alias = "Identity(a)", bare = "Identity(a)", stop_gradient = "Identity(a)",
    conj = "Identity(a)", real = "Identity(a)", astype = "Cast(a)", matmul2 = "MatMul(a, b)",
}

local bools = {
    add = "Or(a, b)", multiply = "And(a, b)", maximum = "Or(a, b)", minimum = "And(a, b)", fmax = "Or(a, b)",
    fmin = "And(a, b)", clip = "And(Or(a, b), c)", square = "Identity(a)", abs = "Identity(a)", sign = "Identity(a)",
    bitwise_and = "And(a, b)", bitwise_or = "Or(a, b)", bitwise_xor = "Xor(a, b)", bitwise_invert = "Not(a)",
    equal = "Not(Xor(a, b))", not_equal = "Xor(a, b)", less = "And(Not(a), b)", less_equal = "Or(Not(a), b)",
    greater = "And(a, Not(b))", greater_equal = "Or(a, Not(b))", before = "And(Not(a), b)",
    not_behind = "Or(Not(a), b)",
}

-- What has a formula for f32 alone.
local doubles = { erf_inv = false, normal = false, ldexp = false }

local integers = {
    bitwise_left_shift = "Where(inside(b), Cast(ShiftLeft(Words(a), Words(b))), 0)", -- of the bits as unsigned integers
    bitwise_right_shift = "m = Where(Less(a, 0), BitwiseNot(a), a); "
        .. "q = Where(inside(b), Cast(ShiftRight(Words(m), Words(b))), 0); Where(Less(a, 0), BitwiseNot(q), q)",
    inside = "And(GreaterOrEqual(a, 0), Less(a, bits))", -- whether a shift by a leaves some bits
    bitwise_count = "Cast(ones(Words(Abs(I64(a)))))",
    floor = "Identity(a)", ceil = "Identity(a)", round = "Identity(a)", trunc = "Identity(a)",
    fmax = "Max(a, b)", fmin = "Min(a, b)", before = "Less(a, b)", not_behind = "LessOrEqual(a, b)",
    -- how many integers there are from a up to b, and with b itself; at least 1
    span = "Where(LessOrEqual(b, a), 1, Sub(U32(b), U32(a)))",
    whole_span = "Where(LessOrEqual(b, a), 1, Add(Sub(U32(b), U32(a)), 1))",
    divisor = "Where(Or(Equal(a, 0), Equal(a, -1)), 1, a)", -- one that no division traps at: remainders are those of a
    fmod = "Fmod(a, divisor(b))", remainder = "Mod(a, divisor(b))",
    floor_divide = "d = divisor(b); q = Sub(Div(a, d), Cast(apart(Fmod(a, d), d))); "
        .. "Where(Equal(b, 0), 0, Where(Equal(b, -1), Neg(a), q))",
}

local unsigned = {
    negative = "Sub(0, a)", abs = "Identity(a)",
    divisor = "Where(Equal(a, 0), 1, a)",
    floor_divide = "Where(Equal(b, 0), 0, Div(a, divisor(b)))",
    bitwise_left_shift = "Where(Less(b, bits), ShiftLeft(a, b), 0)",
    bitwise_right_shift = "Where(Less(b, bits), ShiftRight(a, b), 0)",
    bitwise_count = "Cast(ones(Words(a)))",
    -- the integer below c, which is 0 for 2^32, that two draws a and b make, and floats from 0 to 1 of one and of two
    below = "s = Where(Equal(c, 0), 1, c); h = Mod(65536, s); "
        .. "m = Add(Mul(Mod(a, s), Mod(Mul(h, h), s)), Mod(b, s)); Where(Equal(c, 0), b, Mod(m, s))",
    unit_f32 = "Mul(F32(ShiftRight(a, 9)), 1.1920928955078125e-07)",
    unit_f64 = "Mul(F64(BitwiseOr(ShiftLeft(U64(a), 20), U64(ShiftRight(b, 12)))), 2.2204460492503131e-16)",
    -- how many bits are set, counted in parts of two bits, of four, of eight (H. S. Warren, "Hacker's Delight")
    ones = "p = Sub(a, BitwiseAnd(ShiftRight(a, 1), twos)); "
        .. "q = Add(BitwiseAnd(p, fours), BitwiseAnd(ShiftRight(p, 2), fours)); "
        .. "r = BitwiseAnd(Add(q, ShiftRight(q, 4)), eights); ShiftRight(Mul(r, bytes), top)",
}

-- Operators with attributes, by their names in formulas: the operator and its attributes.
local special = {
    Mod = { "Mod", { fmod = 0 } },
    Fmod = { "Mod", { fmod = 1 } },
    ShiftLeft = { "BitShift", { direction = "LEFT" } },
    ShiftRight = { "BitShift", { direction = "RIGHT" } },
}

-- Casts: to the dtype of the op's result, to that of an unsigned integer of 32 or 64 bits, to one with a name.
local casts = {
    Cast = function(_, result) return result end,
    Words = function(dtype) return dtype:find "64" and "u64" or "u32" end,
}
for _, dtype in ipairs { "u32", "i64", "u64", "f32", "f64" } do
    casts[dtype:upper()] = function() return dtype end
end

local is_test = {}
for op in ("Equal Less LessOrEqual Greater GreaterOrEqual IsNaN IsInf And Or Not Xor"):gmatch "%a+" do
    is_test[op] = true
end

-- Numbers with a name, for a dtype of so many bytes.
local named = {
    tiny = function(bytes) return bytes == 8 and 2 ^ -1022 or 2 ^ -126 end, -- the smallest normal float
    bits = function(bytes) return 8 * bytes end,
    top = function(bytes) return 8 * bytes - 8 end, -- where the highest byte begins
    twos = function(bytes) return bytes == 8 and 0x5555555555555555ULL or 0x55555555 end,
    fours = function(bytes) return bytes == 8 and 0x3333333333333333ULL or 0x33333333 end,
    eights = function(bytes) return bytes == 8 and 0x0f0f0f0f0f0f0f0fULL or 0x0f0f0f0f end,
    bytes = function(bytes) return bytes == 8 and 0x0101010101010101ULL or 0x01010101 end,
}

-- ---- Formulas -------------------------------------------------------------------------------------------------------

--- Reads an expression at `at`: a text, a number, or { name, argument, … }. Returns it and the place behind it.
local function expression(source, at)
    local word, to = source:match("^%s*([%w_.%-]+)()", at)
    local number = tonumber(word) or word == "inf" and math.huge or word == "-inf" and -math.huge
    if source:sub(to, to) ~= "(" then return number or word, to end
    local call = { word }
    repeat
        call[#call + 1], to = expression(source, to + 1)
    until source:sub(to, to) == ")"
    return call, to + 1
end

local parsed = {}

--- A formula as a list of { name or false, expression }.
local function steps_of(source)
    if not parsed[source] then
        local steps = {}
        for part in source:gmatch "[^;]+" do
            local name, rest = part:match "^%s*(%w+) = (.*)$"
            steps[#steps + 1] = { name or false, (expression(rest or part, 1)) }
        end
        parsed[source] = steps
    end
    return parsed[source]
end

local KINDS = { bool = { bools }, i = { integers, all }, u = { unsigned, integers, all }, f64 = { doubles, all },
                f = { all } }

--- The formula of an op for a dtype; nil if there is none.
local function formula(op, dtype)
    for _, list in ipairs(KINDS[dtype] or KINDS[dtype:match "^b?(%a)"]) do
        if list[op] ~= nil then return list[op] or nil end
    end
    return dtype == "bool" and all[op] or nil
end

local OPERANDS = { "a", "b", "c", "d" }
local apply

--- Writes a number of a dtype.
local function write_number(w, code, dtype)
    if named[code] then code = named[code](w.bytes(dtype)) end
    return { name = w:number(code, dtype), dtype = dtype }
end

local write

--- Writes the arguments of a call. Returns the values and the dtype of the first one but numbers; the condition of
-- Where does not count.
local function write_arguments(w, call, env, result)
    local inputs, like = {}, nil
    local function is_number(code) return type(code) == "number" or named[code] ~= nil end
    for k = 2, #call do
        if not is_number(call[k]) then
            inputs[k - 1] = write(w, call[k], env, result)
            if not (call[1] == "Where" and k == 2) then like = like or inputs[k - 1].dtype end
        end
    end
    like = like or env.a.dtype
    for k = 2, #call do
        if is_number(call[k]) then inputs[k - 1] = write_number(w, call[k], like) end
    end
    return inputs, like
end

--- Writes an expression of a formula. env: values of what it may read; result: the dtype of the op's result; output:
-- the name of the value, if it has one. Returns the value.
function write(w, code, env, result, output)
    if type(code) == "string" and env[code] then return env[code] end
    if type(code) ~= "table" then return write_number(w, code, env.a.dtype) end
    local inputs, dtype = write_arguments(w, code, env, result)
    if code[1]:find "^%l" then return apply(w, code[1], inputs, result, output) end
    local names, operator = {}, special[code[1]] or { code[1] }
    for k, value in ipairs(inputs) do names[k] = value.name end
    if casts[code[1]] then
        dtype = casts[code[1]](dtype, result)
        operator = { "Cast", { to = message.CODES[dtype] } }
    end
    return { name = w:node(operator[1], names, operator[2], output), dtype = is_test[code[1]] and "bool" or dtype }
end

--- Writes a formula for these values. result: the dtype of casts; nil: that of the first value. Returns the value.
local function write_formula(w, source, values, result, output)
    local env = {}
    for k, value in ipairs(values) do env[OPERANDS[k]] = value end
    for _, step in ipairs(steps_of(source)) do
        local value = write(w, step[2], env, result or values[1].dtype, not step[1] and output or nil)
        if not step[1] then return value end
        env[step[1]] = value
    end
end

--- Writes the formula of an op.
function apply(w, op, values, result, output)
    return write_formula(w, formula(op, values[1].dtype), values, result, output)
end

local function row_of(op)
    return function(w, line, output)
        local values = {}
        for k = 1, #line.operands do values[k] = { name = w:operand(line, k), dtype = w:dtype(line, k) } end
        local dtype = values[1].dtype
        if not formula(op, dtype) then wrong("its op '%s' of %s has no counterpart in the format", op, dtype) end
        if op == "divide" and not dtype:find "^b?f" then
            wrong("'%s' divides integers in another way than the format", line.text)
        end
        apply(w, op, values, op == "astype" and line.dtype or dtype, output)
    end
end

for _, list in ipairs { all, bools, integers, unsigned } do
    for op in pairs(list) do rows[op] = row_of(op) end
end
for op in ("apart divisor inside ones near far before not_behind uniform normal exponential gumbel below span "
           .. "whole_span unit_f32 unit_f64"):gmatch "%S+" do rows[op] = nil end

return { rows = rows, apply = apply, write = write_formula }
