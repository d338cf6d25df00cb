--- kernel_test.lua: np.kernel: the texts of op rows give the bits of the ops, formulas drawn at random what Lua's
-- arithmetic gives, derivatives of branches, slopes of one's own, and errors that say where a text is wrong.
-- (sanitized with --long)
package.path = "tools/gen/lib/?.lua;" .. package.path
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local rows = require "rows"

local function kernel(real, names, more)
    local o = { args = names or { "a", "b", "c" }, real = real }
    for key, value in pairs(more or {}) do o[key] = value end
    return np.kernel(o)
end

-- ---- Texts of rows --------------------------------------------------------------------------------------------------

local INTEGERS = { f16 = "i16", bf16 = "i16", f32 = "i32", f64 = "i64" }

--- The bits of an array, those of NaN aside, as a list of 64-bit integers or booleans.
local function bits(x)
    if x.dtype == "bool" then return x:totable() end
    local nan = np.isnan(x)
    return { nan:totable(), np.bitcast(np.where(nan, 0, x), INTEGERS[x.dtype]):totable() }
end

local SPECIAL = {
    f32 = { 0 / 0, 1 / 0, -1 / 0, 0, -0.0, 2 ^ -149, -2 ^ -130, 2 ^ 127, 1, -1, 0.5, 2.5, -3.7, 7, 1e-3, 40 },
    f64 = { 0 / 0, 1 / 0, -1 / 0, 0, -0.0, 2 ^ -1074, -2 ^ -1030, 2 ^ 1023, 1, -1, 0.5, 2.5, -3.7, 7, 1e-3, 40 },
    f16 = { 0 / 0, 1 / 0, -1 / 0, 0, -0.0, 2 ^ -24, 65504, 1, -1, 0.5, 2.5, -3.7 },
    bf16 = { 0 / 0, 1 / 0, -1 / 0, 0, -0.0, 2 ^ -133, 2 ^ 127, 1, -1, 0.5, 2.5, -3.7 },
    i32 = { 0, 1, -1, 7, -2 ^ 31, 2 ^ 31 - 1 },
    bool = { true, false },
}

--- All tuples of a list's values, as `arity` arrays that broadcast.
local function tuples(dtype, arity)
    local arrays = {}
    for k = 1, arity do
        local dims = {}
        for axis = 1, arity do dims[axis] = axis == k and #SPECIAL[dtype] or 1 end
        arrays[k] = np.array(SPECIAL[dtype], { dtype = dtype }):reshape(dims)
    end
    return arrays
end

-- Rows whose text for real numbers no kernel has: bits, casts, ends of dtypes, other dtypes.
local LEFT = {}
for name in ([[astype bitwise_and bitwise_or bitwise_xor complex conj copy gammainc_da imag isfinite isinf real
               stop_gradient]]):gmatch "%S+" do LEFT[name] = true end

local paths = {}
for path in io.popen("ls lazy/ops/*.c"):lines() do paths[#paths + 1] = path end

local tried = 0
for _, row in ipairs(rows.scan(paths, ".")) do
    local texts = row.fields.kernel
    local text = rows.code(row, "kind") == "LAZY_MAP" and texts and (texts.real or texts.any)
    if text and not LEFT[row.name] then
        tried = tried + 1
        local arity = row.fields.arity
        local names = { unpack({ "a", "b", "c" }, 1, arity) }
        local op = rawget(np, row.name) or np.special[row.name]
        check.test("a kernel with the text of " .. row.name .. " has its bits", function()
            local f = kernel(text, names)
            for _, dtype in ipairs { "f32", "f64", "f16", "bf16" } do
                local arrays = tuples(dtype, arity)
                -- Functions of halves that are made of more than the row, and a condition that is a number.
                local expected = row.name == "where" and np.where(np.not_equal(arrays[1], 0), arrays[2], arrays[3])
                    or row.name ~= "nextafter" and op(unpack(arrays))
                    or np.astype(op(np.astype(arrays[1], dtype:find "16" and "f32" or dtype), arrays[2]), dtype)
                local got = f(unpack(arrays))
                check.equal({ got.dtype, bits(got) }, { expected.dtype, bits(expected) }, dtype)
            end
            if rows.code(row, "dtype") == "graph_dtype_real" then
                for _, dtype in ipairs { "i32", "bool" } do
                    local arrays = tuples(dtype, arity)
                    local got, expected = f(unpack(arrays)), op(unpack(arrays))
                    check.equal({ got.dtype, bits(got) }, { expected.dtype, bits(expected) }, dtype)
                end
            end
        end)
    end
end
check.test("most rows have such a text", function() check.ok(tried > 70, tried .. " rows") end)

-- ---- Random formulas ------------------------------------------------------------------------------------------------

-- A formula is { text, binds, number or condition, f(values) }; f computes it in Lua, in f64, exactly.
local function truth(f) return function(v) return f(v) and 1 or 0 end end

local function bracketed(formula, least)
    return formula.binds < least and "(" .. formula.text .. ")" or formula.text
end

local ARITHMETIC = {
    { "+", 5, function(a, b) return a + b end }, { "-", 5, function(a, b) return a - b end },
    { "*", 6, function(a, b) return a * b end }, { "/", 6, function(a, b) return a / b end },
}
local COMPARISONS = {
    { "<", function(a, b) return a < b end }, { "<=", function(a, b) return a <= b end },
    { ">", function(a, b) return a > b end }, { ">=", function(a, b) return a >= b end },
    { "==", function(a, b) return a == b end }, { "!=", function(a, b) return a ~= b end },
}
local function no_number(a) return a ~= a end
local CALLS = {
    { "fabs", math.abs }, { "sqrt", math.sqrt }, { "floor", math.floor }, { "F(ceil)", math.ceil },
    { "isnan", function(a) return a ~= a and 1 or 0 end },
    { "max", function(a, b) return (no_number(a) or no_number(b)) and 0 / 0 or math.max(a, b) end },
    { "fmin", function(a, b) return no_number(a) and b or no_number(b) and a or math.min(a, b) end },
}

local draw

local function draw_pair(random, names, depth, row, least_left, least_right, binds)
    local a, b = draw(random, names, depth - 1), draw(random, names, depth - 1)
    local f, x, y = row[#row], a.f, b.f
    local gap = random(2) == 1 and " " or ""
    return { text = bracketed(a, least_left) .. gap .. row[1] .. " " .. bracketed(b, least_right), binds = binds,
             f = function(v) return f(x(v), y(v)) end }
end

local function draw_call(random, names, depth)
    local row = CALLS[random(#CALLS)]
    local a, b = draw(random, names, depth - 1), draw(random, names, depth - 1)
    local f, x, y = row[2], a.f, b.f
    if row[1] == "max" or row[1] == "fmin" then
        -- Zeros of both signs have an order that Lua's do not: added to 0 they are one.
        return { text = ("%s(0 + (%s), 0 + (%s))"):format(row[1], a.text, b.text), binds = 8,
                 f = function(v) return f(0 + x(v), 0 + y(v)) end }
    end
    return { text = ("%s(%s)"):format(row[1], a.text), binds = 8, f = function(v) return f(x(v)) end }
end

local KINDS = {
    function(random, names, depth)
        local row = ARITHMETIC[random(#ARITHMETIC)]
        return draw_pair(random, names, depth, row, row[2], row[2] + 1, row[2])
    end,
    function(random, names, depth)
        local row = COMPARISONS[random(#COMPARISONS)]
        local f = row[2]
        return draw_pair(random, names, depth, { row[1], function(a, b) return f(a, b) and 1 or 0 end }, 5, 5, 4)
    end,
    function(random, names, depth)
        local both = random(2) == 1
        return draw_pair(random, names, depth, { both and "&&" or "||", function(a, b)
            if both then return a ~= 0 and b ~= 0 and 1 or 0 end
            return (a ~= 0 or b ~= 0) and 1 or 0
        end }, both and 3 or 2, both and 4 or 3, both and 3 or 2)
    end,
    function(random, names, depth)
        local c, a, b = draw(random, names, depth - 1), draw(random, names, depth - 1), draw(random, names, depth - 1)
        local f, x, y = c.f, a.f, b.f
        return { text = bracketed(c, 2) .. " ? " .. a.text .. " : " .. b.text, binds = 1,
                 f = function(v) if f(v) ~= 0 then return x(v) end return y(v) end }
    end,
    function(random, names, depth)
        local a, is_not = draw(random, names, depth - 1), random(2) == 1
        local x = a.f
        return { text = (is_not and "!" or "- ") .. bracketed(a, 7), binds = 7,
                 f = is_not and truth(function(v) return x(v) == 0 end) or function(v) return -x(v) end }
    end,
    draw_call,
}

function draw(random, names, depth)
    if depth > 0 and random(6) > 1 then return KINDS[random(#KINDS)](random, names, depth) end
    if random(4) == 1 then
        local number = ({ "0", "1", "2.5", ".5", "1e-3", "3e+2", "0x10" })[random(7)]
        return { text = number, binds = 8, f = function() return tonumber(number) end }
    end
    local name = names[random(#names)]
    return { text = name, binds = 8, f = function(v) return v[name] end }
end

--- A text with parts and a result that uses a and b, and a function of values by name.
local function draw_text(random)
    local part, names = draw(random, { "a", "b" }, 2), { "a", "b", "t" }
    local body = draw(random, names, 4)
    local f, g = part.f, body.f
    return ("t = %s;\n(%s) + 0 * (a + b + t)"):format(part.text, body.text), function(v)
        v.t = f(v)
        return g(v) + 0 * (v.a + v.b + v.t)
    end
end

check.test("random formulas are Lua's, and the same in np.jit", function()
    local edges = { 0, -0.0, 1, -1, 2.5, -3, 1 / 0, 0 / 0, 0.25, 300 }
    for seed in seeds.each(150) do
        local random = seeds.generator(seed)
        local text, expected = draw_text(random)
        local f, first, second, values = kernel(text, { "a", "b" }), {}, {}, {}
        for k = 1, 12 do
            first[k], second[k] = edges[random(#edges)], edges[random(#edges)]
            values[k] = expected { a = first[k], b = second[k] }
        end
        local a, b = np.array(first, { dtype = "f64" }), np.array(second, { dtype = "f64" })
        local got = f(a, b)
        check.equal(bits(got), bits(np.array(values, { dtype = "f64" })), ("seed %d: %s"):format(seed, text))
        if seed % 10 == 0 then check.equal(bits(np.jit(f)(a, b)), bits(got), "np.jit of " .. text) end
    end
end)

-- ---- What a text means ----------------------------------------------------------------------------------------------

local x = np.array({ -1, 0, 2, 3 }, { dtype = "f64" })

check.test("operators group as in C, and numbers are real", function()
    for text, expected in pairs {
        ["1 / 2 + 0 * a"] = 0.5, ["2 - 3 - 4 + 0 * a"] = -5, ["-2 * -3 + 0 * a"] = 6, ["8 / 4 / 2 + 0 * a"] = 1,
        ["1 + 2 * 3 + 0 * a"] = 7, ["(1 + 2) * 3 + 0 * a"] = 9, ["!a + 1"] = 1, ["1 ? 2 : 0 ? 3 : 4 + 0 * a"] = 2,
        ["0 ? 2 : 0 ? 3 : 4 + 0 * a"] = 4, ["7 % 4 % 2 + 0 * a"] = 1, ["a > 0 + 1"] = true, ["1 || 0 && a - a"] = true,
        ["a == 5 == 1"] = "comparisons do not chain", ["(a == 5) == 1"] = true, ["+ - + a"] = -5,
        ["exp(0) + max(1, 2) + 0 * a"] = 3, ["INFINITY - a"] = 1 / 0, ["1 / 0 - a"] = 1 / 0, ["-7 % 3 + 0 * a"] = 2,
        ["(a > 1) - (a < 1)"] = 1, ["a ? b = 1 : 2"] = "unknown name 'b'", ["isnan(NAN) && a"] = true,
    } do
        if type(expected) == "string" then
            check.raises(function() kernel(text, { "a" }) end, expected)
        else
            check.equal(kernel(text, { "a" })(np.array({ 5 }, { dtype = "f64" }))[0]:item(), expected, text)
        end
    end
    check.equal(kernel("M_PI + a", { "a" })(np.zeros({}, { dtype = "f64" })):item(), math.pi)
end)

check.test("dtypes: the result is real, or bool; numbers alone stay weak; numbers keep their digits", function()
    local f, less = kernel("a > 0 ? 0.1 : b", { "a", "b" }), kernel("a < b", { "a", "b" })
    for dtype, expected in pairs { f64 = "f64", f32 = "f32", f16 = "f16", bf16 = "bf16", i32 = "f32", u8 = "f32",
                                   i64 = "f64", bool = "f32" } do
        local a = np.ones(2, { dtype = dtype })
        check.equal({ f(a, 1).dtype, f(1, a).dtype, less(a, 0.5).dtype }, { expected, expected, "bool" })
    end
    check.equal(f(np.ones(1, { dtype = "f64" }), 1)[0]:item(), 0.1)
    check.equal(f(0, np.array({ 0.1 }, { dtype = "f64" }))[0]:item(), 0.1)
    check.equal(f(0, { 1, 2 }):totable(), { 1, 2 })
    check.ok(f(0, 1).weak)
    local once = kernel("(a + 2048) - 2048", { "a" }) -- in f16 the sum of 2048 and 1 is 2048
    check.equal(once(np.ones(1, { dtype = "f16" }))[0]:item(), 1)
end)

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

local function slopes(f, ...) return np.grad(function(a) return f(a):sum() end)(...):totable() end

check.test("a branch gets no derivative from elements of the other one", function()
    local safe = kernel("a > 0 ? log(a) + sqrt(a) : a < -5 ? 1 / (a + 5) : 0 * a", { "a" })
    check.equal(slopes(safe, x), { 0, 0, 0.5 + 0.5 / math.sqrt(2), 1 / 3 + 0.5 / math.sqrt(3) })
    check.equal(np.jit(np.grad(function(a) return safe(a):sum() end))(x):totable(), slopes(safe, x))
    check.equal(select(2, np.jvp(safe, { x }, { np.ones_like(x) })):totable(), slopes(safe, x))
    local twice = np.grad(function(a) return np.grad(function(b) return kernel("a > 0 ? a * log(a) : 0", { "a" })(b)
        :sum() end)(a):sum() end)
    check.equal(twice(np.array { 0, 1, 2, -1 }):totable(), { 0, 1, 0.5, 0 })
    -- A part in front is no part of the branch: 0 times an infinite slope, as with np.where.
    local apart = slopes(kernel("t = log(a); a > 0 ? t : 0", { "a" }), x)
    check.ok(apart[2] ~= apart[2])
end)

check.test("slopes of one's own count in both modes, also under np.jit and np.vmap", function()
    local odd = kernel("a * b", { "a", "b" }, { grad = { "a + 10 * b", "y" } })
    local a, b = np.array { 1, 2, 3 }, np.array(2)
    local da, db = np.grad(function(p, q) return odd(p, q):sum() end, { argnums = { 1, 2 } })(a, b)
    check.equal({ da:totable(), db:item() }, { { 21, 22, 23 }, 12 })
    local jitted = np.jit(odd)
    check.equal(np.grad(function(p) return jitted(p, b):sum() end)(a):totable(), { 21, 22, 23 })
    check.equal(select(2, np.jvp(odd, { a, b }, { np.ones(3), np.array(1) })):totable(), { 23, 26, 29 })
    check.equal(np.vmap(np.grad(odd), { in_axes = { 0, false } })(a, b):totable(), { 21, 22, 23 })
    check.equal(odd(a, b):totable(), { 2, 4, 6 })
    local second = np.grad(function(p) return np.grad(function(q) return odd(q, b):sum() end)(p):sum() end)
    check.equal(second(a):totable(), { 1, 1, 1 })
    local step = kernel("a > 0 ? 1 : 0", { "a" }, { grad = { "1" } }) -- straight through
    check.equal(slopes(step, np.array({ -1, 2 }, { dtype = "f16" })), { 1, 1 })
    check.equal(slopes(kernel("y * y", { "y" }, { grad = { "y" } }), np.array { 3 }), { 3 }) -- y is the argument
end)

-- ---- Plans and programs ---------------------------------------------------------------------------------------------

check.test("a kernel is fused with what stands around it, and shows its name", function()
    local gap = kernel("a > b ? a - b : 0", { "a", "b" }, { name = "gap" })
    local f = np.jit(function(a) return np.exp(gap(a * 2, 1)) + 1 end)
    local result = f(np.array { 0, 1, 2 })
    check.equal(result:totable(), (np.exp(np.array { 0, 1, 3 }) + 1):totable())
    local text = tostring(np.explain(f))
    check.ok(text:find "1 kernel:", text)
    check.ok(text:find("(gap)", 1, true), text)
end)

-- ---- Texts that are wrong -------------------------------------------------------------------------------------------

check.test("errors say where a text is wrong, what was expected and what came", function()
    for text, expected in pairs {
        [""] = "column 1: expected a value, got the end of the text",
        ["a +"] = "column 4, behind 'a %+': expected a value, got the end",
        ["a + b)"] = "column 6, .*%(no bracket is open%), got '%)'",
        ["(a + b"] = "column 1: a bracket that is never closed",
        ["max(a, b"] = "column 1: a bracket that is never closed",
        ["a + d"] = "column 5, behind 'a %+ ': unknown name 'd'; there are a, b",
        ["a = b; a"] = "column 1: 'a' is assigned a second time; it is an argument",
        ["t = a; t = b; t"] = "column 8, .*'t' is assigned a second time",
        ["t = a * b;"] = "column 11, .*expected the result, got the end",
        ["t = a * b"] = "column 10, .*expected ';' and the result",
        ["t = a; a + b"] = "the name 't' is never used",
        ["a"] = "the argument 'b' is never used",
        ["a < b < 1"] = "column 7, .*do not chain",
        ["a ^ b"] = "column 3, .*got '%^'; pow%(a, b%)",
        ["a ** b"] = "column 3, .*pow%(a, b%)",
        ["a ~= b"] = "column 3, .*!= compares",
        ["a and b"] = "column 3, .*&& is and",
        ["a ? b"] = "column 6, .*expected ':'",
        ["a : b"] = "column 3, .*no '%?' waits",
        ["a ? (b : 1) : 2"] = "column 8, .*no '%?' waits",
        ["exp(a, b)"] = "column 1: exp takes 1 argument, got 2",
        ["pow(a) + b"] = "column 1: pow takes 2 arguments, got 1",
        ["expo(a) + b"] = "column 1: there is no function 'expo'; did you mean exp",
        ["F(exp) + a"] = "column 1: expected F%(NAME%)",
        ["exp + a"] = "column 1: unknown name 'exp'; .*arguments in brackets",
        ["exp() + a"] = "column 5, .*expected a value, got '%)'",
        ["a b"] = "column 3, .*got 'b'",
        ["a, b"] = "column 2, .*got ','",
        ["a + b;"] = "column 6, .*the end of the text behind the result, got ';'",
        ["a + 1.2.3 + b"] = "column 5, .*expected a number, got '1.2.3'",
        ["1e+ a"] = "column 1: expected a number, got '1e'",
        ["a + 2LL"] = "expected a number, got '2LL'",
        ["a\n + é"] = "line 2, column 4, .*got 'é'",
        ["a + \0"] = "column 5, .*got '%?'",
        ["a + \255\128"] = "column 5, .*expected a value",
    } do
        local ok, problem = pcall(kernel, text, { "a", "b" }, { name = "k" })
        check.ok(not ok and tostring(problem):find("np.kernel 'k': option 'real'", 1, true)
                 and tostring(problem):find(expected), ("%q: %s"):format(text, tostring(problem)))
    end
    for text, expected in pairs { ["q"] = "option 'grad', text 1, column 1: unknown name 'q'; there are a, y",
                                  ["a > 0"] = "option 'grad', text 1: expected a number, got a condition" } do
        check.raises(function() kernel("a", { "a" }, { grad = { text } }) end, expected)
    end
end)

check.test("a text may nest as deep as it likes", function()
    local many = 2e4
    local one = np.array({ 1 }, { dtype = "f64" })
    check.equal(kernel(("("):rep(many) .. "a" .. (")"):rep(many), { "a" })(one):totable(), { 1 })
    check.equal(kernel(("-"):rep(many) .. "a", { "a" })(one):totable(), { 1 })
    check.equal(kernel(("a ? "):rep(500) .. "a" .. (" : 2"):rep(500), { "a" })(one):totable(), { 1 })
    check.equal(kernel(("!a ? 2 : "):rep(500) .. "a", { "a" })(one):totable(), { 1 })
    check.raises(function() kernel(("("):rep(many) .. "a", { "a" }) end, "a bracket that is never closed")
    check.raises(function() kernel(("exp("):rep(many), { "a" }) end, "expected a value")
end)

check.done()
