--- contract_slopes.lua: derivatives of functions that have contracts (tests/lib/contracts.lua): first ones in both
-- modes and second ones in all four orders against differences, at points that are drawn; at given points, which are
-- ties, kinks and ends of domains, against an oracle.
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"

local slopes = {}

local STEP = 1e-5

--- The arguments that count as numbers to be derived by: floats of no fixed dtype.
local function variables(contract)
    local list = {}
    for k, spec in ipairs(contract.args) do
        if spec.grad ~= false and (spec.dtype == nil or spec.dtype == "f64") then list[#list + 1] = k end
    end
    return list
end

--- f(variables…) -> a number: all floats that a call gives, weighted so that each counts, and summed.
local function scalar(call, contract, args, options, at)
    return function(...)
        local given, all = { ... }, {}
        for k = 1, #args do all[k] = args[k] end
        for n, k in ipairs(at) do all[k] = given[n] end
        local total = np.array(0, { dtype = "f64" })
        for n, y in ipairs(call(all, options)) do
            if np.is_array(y) and (y.dtype == "f64" or y.dtype == "c128") then
                local weights = (np.arange(y.size, { dtype = "f64" }) * 0.25 + 0.5 * n):reshape(y.shape)
                local terms = y.dtype == "c128" and y.real + 0.5 * y.imag or y
                total = total + (terms * (contract.unweighted and 1 or weights)):sum()
            end
        end
        return total
    end
end

local function directions(inputs)
    local list = {}
    for k, x in ipairs(inputs) do
        list[k] = (np.sin(np.arange(x.size, { dtype = "f64" }) * 2.5 + k) + 1.25):reshape(x.shape)
    end
    return list
end

local function moved(inputs, along, by)
    local list = {}
    for k, x in ipairs(inputs) do list[k] = x + along[k] * by end
    return list
end

--- The sum of the products of two lists of arrays.
local function dot(a, b)
    local total = 0
    for k = 1, #a do total = total + (a[k] * b[k]):sum():item() end
    return total
end

local function close(got, expected, tolerance, what, inputs)
    if got ~= got and expected ~= expected or got == expected then return end
    local texts = {}
    for k, x in ipairs(inputs) do texts[k] = cases.text(x) end
    check.ok(math.abs(got - expected) <= tolerance * math.max(1, math.abs(expected)),
             ("%s: got %.10g, expected %.10g, at %s"):format(what, got, expected, table.concat(texts, "; ")))
end

--- The gradients of f by all of its arguments, as a list.
local function gradients(f, count)
    local argnums = {}
    for k = 1, count do argnums[k] = k end
    local g = np.grad(f, { argnums = argnums })
    return function(...) return { g(...) } end
end

--- The derivative of f along directions, forward, as a function of the point.
local function forward(f, along)
    return function(...)
        local _, tangent = np.jvp(f, { ... }, along)
        return tangent
    end
end

--- First derivatives of f along `along`, by both modes, and second ones, by all orders of modes, unless `first_only`:
-- names to numbers.
local function all_modes(f, inputs, along, first_only)
    local function slope(...) return forward(f, along)(...) end
    local function reverse(...)
        local total = 0
        for k, g in ipairs(gradients(f, #inputs)(...)) do total = total + (g * along[k]):sum() end
        return total
    end
    local list = { { "forward", slope(unpack(inputs)):item(), 1 }, { "reverse", reverse(unpack(inputs)):item(), 1 } }
    if first_only then return list end
    list[3] = { "forward over forward", forward(slope, along)(unpack(inputs)):item(), 2 }
    list[4] = { "forward over reverse", forward(reverse, along)(unpack(inputs)):item(), 2 }
    list[5] = { "reverse over forward", dot(gradients(slope, #inputs)(unpack(inputs)), along), 2 }
    list[6] = { "reverse over reverse", dot(gradients(reverse, #inputs)(unpack(inputs)), along), 2 }
    return list
end

--- Whether there is nothing to derive by.
local function are_empty(inputs)
    for _, x in ipairs(inputs) do
        if x.size > 0 then return false end
    end
    return true
end

--- Every mode of f at inputs, along directions of these, is what differences of f, and of its derivative, give.
local function against_differences(f, inputs, contract)
    local along = directions(inputs)
    local function value(g, by) return g(unpack(moved(inputs, along, by))):item() end
    local slope = forward(f, along)
    local expected = { (value(f, STEP) - value(f, -STEP)) / (2 * STEP),
                       (value(slope, STEP) - value(slope, -STEP)) / (2 * STEP) }
    for _, mode in ipairs(all_modes(f, inputs, along, contract.first_only)) do
        close(mode[2], expected[mode[3]], contract.slope or 1e-6, "the derivative " .. mode[1], inputs)
    end
end

--- At points that are drawn: every mode is what differences of f, and of its derivative, give.
function slopes.drawn(call, contract, random)
    local at = variables(contract)
    check.ok(#at > 0, "no argument to derive by: say so in `without`, with the reason")
    for shape = 1, #cases.shapes(contract) do
        for n, options in ipairs(contract.options) do
            local args = cases.draw(contract, "f64", shape, random)
            local inputs = {}
            for k, position in ipairs(at) do inputs[k] = args[position] end
            if (n == 1 or shape == 1) and not are_empty(inputs) and shape <= (contract.smooth or shape) then
                against_differences(scalar(call, contract, args, options, at), inputs, contract)
            end
        end
    end
end

--- The same of complex arguments, by their real and imaginary parts.
function slopes.complex(call, contract, random)
    local at = {}
    for _, position in ipairs(variables(contract)) do
        if not contract.args[position].dtype then at[#at + 1] = position end
    end
    for n, options in ipairs(contract.options) do
        local args, parts = cases.draw(contract, "c128", 1, random), {}
        for k, position in ipairs(at) do parts[2 * k - 1], parts[2 * k] = args[position].real, args[position].imag end
        local f = scalar(call, contract, args, options, at)
        if n <= 3 then
            against_differences(function(...)
                local given, whole = { ... }, {}
                for k = 1, #at do whole[k] = np.complex(given[2 * k - 1], given[2 * k]) end
                return f(unpack(whole))
            end, parts, contract)
        end
    end
end

--- The cases of given points: an oracle derives the contract's text `derivative` there.
function slopes.points(contract)
    local list = {}
    for _, point in ipairs(contract.points or {}) do
        local args = {}
        for k, value in ipairs(point) do
            args[k] = np.array(value, { dtype = contract.args[k].dtype or "f64" })
        end
        list[#list + 1] = { args = args, options = point.o or contract.options[1] }
    end
    return list
end

--- At given points: every mode along ones, or along 1, 2, 3, …, is what the oracle says: `golden` has the first and the
-- second derivative.
function slopes.given(call, contract, case, golden)
    local at, inputs = variables(contract), {}
    for k, position in ipairs(at) do inputs[k] = case.args[position] end
    local f, along = scalar(call, { unweighted = true }, case.args, case.options, at), {}
    for k, x in ipairs(inputs) do
        along[k] = contract.uneven and (np.arange(x.size, { dtype = "f64" }) + 1):reshape(x.shape) or np.ones_like(x)
    end
    local what = contract.uneven and " along 1, 2, …" or " along ones"
    for _, mode in ipairs(all_modes(f, inputs, along, contract.first_only)) do
        local expected = golden[mode[3]] -- which may be tiny: far from 0 and close to it a derivative has its digits
        local size = math.abs(expected) < math.huge and math.max(math.abs(expected), 1e-4) or 1
        close(mode[2] / size, expected / size, 1e-9,
              ("the derivative %s%s, over %g"):format(mode[1], what, size), inputs)
    end
end

--- What the oracle needs to know of the variables: their names.
function slopes.names(contract)
    local names = {}
    for k, position in ipairs(variables(contract)) do names[k] = contract.args[position][1] end
    return table.concat(names, ",")
end

return slopes
