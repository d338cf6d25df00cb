--- save_elements.lua: ops of elements as operators of ONNX: a formula for each (save.lua has what rows are).
--
-- A formula is calls of operators on the operands a, b, c, on numbers, and on results with a name; the last part is the
-- result of the op. A name in small letters is another formula:
--
--     expm1 = "u = Exp(a); d = Sub(u, 1); Where(Equal(u, 1), a, …)"
--     copysign = "Where(signbit(b), Neg(Abs(a)), Abs(a))"
--
-- Numbers have the dtype of a. An op may have another formula for bools, for integers, and for unsigned ones. Values
-- are those of the op's row, also for infinities, NaN, and divisors of integers that are 0 or -1.
local message = require "neap.onnx.message"
local proto = require "neap.onnx.proto"

local wrong = proto.wrong
local rows = {}

-- ---- The table ------------------------------------------------------------------------------------------------------

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
    -- what is no function
    copy = "Identity(a)", alias = "Identity(a)", bare = "Identity(a)", stop_gradient = "Identity(a)",
    astype = "Cast(a)", matmul2 = "MatMul(a, b)",
}

local bools = {
    add = "Or(a, b)", multiply = "And(a, b)", maximum = "Or(a, b)", minimum = "And(a, b)", fmax = "Or(a, b)",
    fmin = "And(a, b)", clip = "And(Or(a, b), c)", square = "Identity(a)", abs = "Identity(a)", sign = "Identity(a)",
    bitwise_and = "And(a, b)", bitwise_or = "Or(a, b)", bitwise_xor = "Xor(a, b)", bitwise_invert = "Not(a)",
    equal = "Not(Xor(a, b))", not_equal = "Xor(a, b)", less = "And(Not(a), b)", less_equal = "Or(Not(a), b)",
    greater = "And(a, Not(b))", greater_equal = "Or(a, Not(b))",
}

local integers = {
    floor = "Identity(a)", ceil = "Identity(a)", round = "Identity(a)", trunc = "Identity(a)",
    fmax = "Max(a, b)", fmin = "Min(a, b)",
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
}

-- Operators with attributes, by their names in formulas: the operator, and its attributes for a dtype.
local special = {
    Cast = { "Cast", function(dtype) return { to = message.CODES[dtype] } end },
    Mod = { "Mod", function() return { fmod = 0 } end },
    Fmod = { "Mod", function() return { fmod = 1 } end },
    ShiftLeft = { "BitShift", function() return { direction = "LEFT" } end },
    ShiftRight = { "BitShift", function() return { direction = "RIGHT" } end },
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

local KINDS = { bool = { bools }, i = { integers, all }, u = { unsigned, integers, all }, f = { all } }

--- The formula of an op for a dtype; nil if there is none.
local function formula(op, dtype)
    for _, list in ipairs(KINDS[dtype] or KINDS[dtype:match "^b?(%a)"]) do
        if list[op] then return list[op] end
    end
    return dtype == "bool" and all[op] or nil
end

local OPERANDS = { "a", "b", "c" }
local apply

--- Writes an expression of a formula; env: names of what it may read. Returns the name of the result.
local function write(w, code, env, dtypes, output)
    if type(code) == "number" then return w:number(code, dtypes.a) end
    if code == "bits" then return w:number(8 * w.bytes(dtypes.a), dtypes.a) end
    if type(code) == "string" then return env[code] end
    local inputs = {}
    for k = 2, #code do inputs[k - 1] = write(w, code[k], env, dtypes) end
    if code[1]:find "^%l" then return apply(w, code[1], inputs, dtypes, output) end
    local row = special[code[1]]
    return w:node(row and row[1] or code[1], inputs, row and row[2](dtypes.result), output)
end

--- Writes an op of these inputs. dtypes: of the inputs (a) and of casts (result).
function apply(w, op, inputs, dtypes, output)
    local env, steps = {}, steps_of(formula(op, dtypes.a))
    for k, name in ipairs(inputs) do env[OPERANDS[k]] = name end
    for _, step in ipairs(steps) do
        local result = write(w, step[2], env, dtypes, not step[1] and output or nil)
        if not step[1] then return result end
        env[step[1]] = result
    end
end

local function row_of(op)
    return function(w, line, output)
        local inputs = {}
        for k = 1, #line.operands do inputs[k] = w:operand(line, k) end
        local dtype = w:dtype(line, 1)
        if not formula(op, dtype) then wrong("its op '%s' of %s has no counterpart in the format", op, dtype) end
        if op == "divide" and not dtype:find "^b?f" then
            wrong("'%s' divides integers in another way than the format", line.text)
        end
        local result = op == "astype" and line.dtype or dtype
        apply(w, op, inputs, { a = dtype, result = result }, output)
    end
end

for _, list in ipairs { all, bools, integers, unsigned } do
    for op in pairs(list) do rows[op] = row_of(op) end
end
for _, op in ipairs { "apart", "divisor" } do rows[op] = nil end

return rows
