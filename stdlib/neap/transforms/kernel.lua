--- kernel.lua: np.kernel: a function of elements given as a text, as an op row is.
--
-- The text is read once, into instructions (kernel_text.lua). A call records the op of each of them, so a kernel has no
-- machinery of its own: it is fused, differentiated, batched, divided and saved as the same formula in np's functions,
-- and has its bits.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local operands = require "neap.arrays.operands"
local kernel_text = require "neap.transforms.kernel_text"
require "neap.transforms.custom"
require "neap.tracing.scope"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local type, unpack = type, unpack

-- ---- Running --------------------------------------------------------------------------------------------------------

-- What is no op, as a function of the two fields of the instruction, the values so far, the arguments, the code of the
-- dtype of numbers (nil: they are weak), and whether derivatives may follow.
local OTHERS = {
    argument = function(k, _, _, arguments) return arguments[k] end,
    constant = function(number) return number end,
    array = function(x, _, values, _, code) return core.number(values[x], code) end,
    mask = function(taken, x, values, _, _, staged)
        x = values[x]
        return staged and np.where(values[taken], x, np.stop_gradient(x)) or x
    end,
}

--- What a text, as `read` gives it, is for arguments of one dtype of floats.
local function run(text, arguments)
    local known, staged, values = core.info(arguments[1]), #core.frame().levels > 0, {}
    local dtype = known.weak == 0 and known.dtype or nil
    for k, instruction in ipairs(text.code) do
        local f, x, y, z = text.functions[k], instruction[1], instruction[2], instruction[3]
        if OTHERS[instruction.op] then
            values[k] = f(x, y, values, arguments, dtype, staged)
        elseif z then
            values[k] = f(values[x], values[y], values[z])
        elseif not instruction.only_masks or staged then
            if y then values[k] = f(values[x], values[y]) else values[k] = f(values[x]) end
        end
    end
    return values[text.result]
end

--- A text that can be run: { code, functions = that of each instruction, result = the place of it, condition }.
local function read(label, what, text, names, any)
    local code, result, condition = kernel_text.read(label, what, text, names, any)
    local functions = {}
    for k, instruction in ipairs(code) do
        local op = instruction.op
        functions[k] = OTHERS[op] or rawget(np, op) or np.special[op]
    end
    return { code = code, functions = functions, result = result, condition = condition }
end

-- ---- Slopes ---------------------------------------------------------------------------------------------------------

--- The function of a text with slopes of its own: texts of the arguments and the result.
local function with_slopes(text, slopes)
    local f = np.custom_jvp(function(...) return run(text, { ... }) end)
    return f:defjvp(function(primals, tangents)
        local y, sum = f(unpack(primals)), nil
        local given = core.copy_list(primals)
        given[#given + 1] = y
        for k, slope in ipairs(slopes) do
            if tangents[k] then
                local term = np.multiply(run(slope, given), tangents[k])
                sum = sum and sum + term or term
            end
        end
        return y, sum and shape.broadcast_to(sum, core.shape_of(y))
    end)
end

--- The texts of option grad, read.
local function slopes_of(label, grad, names)
    local expected = ("a table of %d texts, the slope by each argument (%s)"):format(#names, table.concat(names, ", "))
    if type(grad) ~= "table" or #grad ~= #names then bad_argument(label, nil, "grad", expected, grad) end
    core.list(label, "option 'grad'", grad)
    local has_y = false
    for _, name in ipairs(names) do has_y = has_y or name == "y" end
    local given, slopes = core.copy_list(names), {}
    if not has_y then given[#given + 1] = "y" end
    for k, text in ipairs(grad) do
        if type(text) ~= "string" then bad_argument(label, nil, ("grad[%d]"):format(k), "a text", text) end
        slopes[k] = read(label, ("option 'grad', text %d"):format(k), text, given, true)
        if slopes[k].condition then
            raise(label, "option 'grad', text %d: expected a number, got a condition; c ? 1 : 0 makes one of it", k)
        end
    end
    return slopes
end

-- ---- np.kernel ------------------------------------------------------------------------------------------------------

--- Checks option args: a list of names.
local function names_of(label, args)
    if type(args) ~= "table" or #args == 0 then
        bad_argument(label, nil, "args", "a table of the arguments' names", args)
    end
    local seen = {}
    for k, name in ipairs(core.list(label, "option 'args'", args)) do
        if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" or kernel_text.constants[name] then
            bad_argument(label, nil, ("args[%d]"):format(k), "a name of letters, digits and _ (INFINITY, NAN, M_PI and "
                         .. "M_E are taken)", name)
        end
        if seen[name] then raise(label, "option 'args' has the name '%s' twice", name) end
        seen[name] = true
    end
    return core.copy_list(args)
end

--- np.kernel{name=…, args=…, real=…, grad=…} -> function: a function of elements by a formula, as the texts of
-- neap's own ops are: C expressions of real numbers. Its arguments, arrays or numbers, broadcast and meet as those of
-- one op of real numbers: bool and integers become f32 (64-bit ones f64), halves are computed in f32 and rounded once.
-- The result has their dtype; bool where it is a condition. Complex arguments raise. A kernel is made of ops, so it is
-- fused with what stands around it, differentiated, batched, divided and saved as these are, with the same bits on each
-- device.
--
-- The formula has + - * / %, comparisons, && || !, c ? x : y, brackets, numbers, INFINITY, NAN, M_PI, M_E, and calls:
-- of np's functions of real elements, by np's names, and of C's fabs, rint, tgamma, fmax, fmin and fmod. 1 / 2 is 0.5,
-- and a % b is np.remainder(a, b). In front of it may stand `t = a * b;`, names for parts. Where a formula is wrong,
-- the error says at which column.
--
-- Derivatives are those of the ops. What stands in a branch of ?: gets none from elements of which the other one is
-- taken: the slope of a > 0 ? log(a) : 0 is 0 where a is 0, not NaN as with np.where. With `grad` the slopes are given,
-- to both modes.
--- name: what np.explain, the texts of programs and errors call it, as np.named_scope does
--- args: a table of the arguments' names, in order, each of which the formula uses
--- real: the formula
--- grad: a table of formulas, one for each argument: the slope of the result by it, of the arguments and the result, y
--- > gap = np.kernel{name="gap", args={"a", "b"}, real="a > b ? a - b : 0"}
--- > gap(np.array{3, 1, 2}, 2)
-- [1. 0. 0.]
--- > soft = np.kernel{args={"x"}, real="log1p(exp(-fabs(x))) + max(x, 0)", grad={"1 / (1 + exp(-x))"}}
--- > np.grad(function(x) return soft(x):sum() end)(np.array{-1000, 0})
-- [0.  0.5]
function np.kernel(given)
    local o = core.options("kernel", given, { name = true, args = true, real = true, grad = true })
    local name = o.name
    if name ~= nil and (type(name) ~= "string" or name == "" or #name > 100 or name:find "%c") then
        bad_argument("kernel", nil, "name", "a text of 1 to 100 bytes without control characters", name)
    end
    local label = name and ("kernel '%s'"):format(name) or "kernel"
    local names = names_of(label, o.args)
    if type(o.real) ~= "string" then bad_argument(label, nil, "real", "a text, the formula", o.real) end
    local text = read(label, "option 'real'", o.real, names)
    local function plain(...) return run(text, { ... }) end
    jit.off(plain)
    local compute = o.grad ~= nil and with_slopes(text, slopes_of(label, o.grad, names)) or plain
    if name then compute = np.named_scope(name, compute) end
    local n = #names
    local function kernel(...)
        if select("#", ...) ~= n then
            raise(label, "takes %d argument%s (%s), got %d", n, n == 1 and "" or "s", table.concat(names, ", "),
                  select("#", ...))
        end
        local half, values = operands.floats_list(label, nil, n, { ... })
        local shapes = {}
        for k = 1, n do
            local dtype = core.dtype_of(values[k])
            if dtype.kind == "c" then
                raise(label, "argument %d (%s) must be real, got dtype %s", k, names[k], dtype.name)
            end
            shapes[k] = core.shape_of(values[k])
        end
        if n > 1 then shape.broadcast(label, unpack(shapes)) end -- raises here, not at some op
        local result = compute(unpack(values, 1, n))
        return text.condition and result or operands.narrow(result, half)
    end
    jit.off(kernel)
    return kernel
end

for _, f in ipairs { run, with_slopes, np.kernel } do jit.off(f) end
