--- contract_ways.lua: the ways in which a function is used, each a test that follows from its contract
-- (tests/lib/contracts.lua). A way is ways.NAME(call, contract, random), which raises what is wrong; `call(args, o)`
-- calls the function and returns a list of what it gives.
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local dtypes = require "tests.lib.dtypes"
local check = require "tests.lib.check"

local ways = {}

-- ---- Comparing ------------------------------------------------------------------------------------------------------

--- What stands in a result for a test of its bits: dtype, shape and elements of an array; of others their text.
local function shown(leaf)
    return np.is_array(leaf) and cases.text(leaf) or tostring(leaf)
end

local function short(text)
    return #text <= 300 and text or text:sub(1, 300) .. "…"
end

local function arguments_text(args)
    local parts = {}
    for k, x in ipairs(args) do parts[k] = type(x) == "table" and not getmetatable(x) and "{…}" or shown(x) end
    return short(table.concat(parts, "; "))
end

--- Raises unless both lists of results are the same, bit for bit (NaN is NaN).
local function same(got, expected, what, args)
    check.ok(#got == #expected, ("%s: %d results, expected %d"):format(what, #got, #expected))
    for k = 1, #expected do
        local a, b = shown(got[k]), shown(expected[k])
        if a ~= b then
            error(("%s: got %s, expected %s, with %s"):format(what, short(a), short(b), arguments_text(args)), 0)
        end
    end
end

local function copy(list)
    local new = {}
    for k = 1, #list do new[k] = list[k] end
    return new
end

--- The first dtype of floats, or the first of all.
local function usual(contract)
    local first
    for _, name in ipairs(cases.dtypes(contract.accepts)) do
        first = first or name
        if dtypes.by_name[name].kind == "f" then return name end
    end
    return first
end

-- ---- Where elements lie ---------------------------------------------------------------------------------------------

--- Transposed, reversed and broadcast arrays count as copies of them do.
function ways.strided(call, contract, random)
    for shape = 1, #cases.shapes(contract) do
        local plain = cases.draw(contract, usual(contract), shape, random)
        for k, x in ipairs(plain) do
            if np.is_array(x) and x.ndim > 0 and x.size > 0 then
                local turned, reversed = copy(plain), copy(plain)
                turned[k] = np.array(np.transpose(x):totable(), { dtype = x.dtype }).T
                reversed[k] = np.flip(np.array(np.flip(x):totable(), { dtype = x.dtype }))
                for _, options in ipairs(contract.options) do
                    if shape == 1 or options == contract.options[1] then
                        local expected = call(plain, options)
                        same(call(turned, options), expected, "transposed argument " .. k, plain)
                        same(call(reversed, options), expected, "reversed argument " .. k, plain)
                    end
                end
            end
        end
    end
end

-- ---- Numbers and tables in place of arrays --------------------------------------------------------------------------

--- A number of the argument's range that a dtype has, but an f32 has not.
local function digits(spec, dtype)
    local facts = dtypes.by_name[dtype]
    local low, high = spec.from or -3, spec.to or 3
    if facts.kind == "b" then return true end
    if facts.inexact or facts.kind == "f" or facts.kind == "c" then return low + (high - low) * 0.7123456789012345 end
    if spec.to == nil and facts.bits == 64 then return 2 ^ 53 - 1 end
    if spec.to == nil and facts.bits == 32 then return 16777217 end
    return math.min(math.floor(high), facts.highest)
end

--- An argument given as a number, as a table, and as a 64-bit integer is the array of the dtype of the others.
function ways.numbers(call, contract, random)
    local tried = 0
    for _, dtype in ipairs(cases.dtypes(contract.accepts)) do
        for shape, dims in ipairs(cases.shapes(contract)) do
            for k, spec in ipairs(contract.args) do
                if spec.number ~= false and not spec.dtype and not spec.make and #contract.args > 1 then
                    local args = cases.draw(contract, dtype, shape, random)
                    local function try(given, what)
                        local plain, other = copy(args), copy(args)
                        plain[k], other[k] = np.array(given, { dtype = dtype }), given
                        local expected = call(plain, contract.options[1])
                        local ok, results = pcall(call, other, contract.options[1])
                        tried = tried + 1
                        -- An op refuses a table, and says what makes an array of it.
                        if not ok and tostring(results):find("np.array makes one from a table", 1, true) then return end
                        check.ok(ok, results)
                        same(results, expected, ("argument %d as %s beside %s"):format(k, what, dtype), plain)
                    end
                    if #dims[k] == 0 then
                        local value = digits(spec, dtype)
                        try(value, "a number")
                        if dtype == "i64" and spec.to == nil then try(2LL ^ 53 + 1, "a 64-bit integer") end
                    elseif spec.table ~= false and args[k].size > 0 then
                        local list = args[k]:reshape(-1):totable()
                        list[random(#list)] = digits(spec, dtype)
                        if spec.sorted then cases.sort(list) end
                        try(np.array(list, { dtype = dtype }):reshape(dims[k]):totable(), "a table")
                    end
                end
            end
        end
    end
    check.ok(tried > 0, "no argument could be a number or a table: say so in `without`, with the reason")
end

-- ---- Programs, batches, meshes --------------------------------------------------------------------------------------

--- Calls f with arguments of each shape in some dtypes, and each table of options with the first; traced: without
-- options with which the function waits for values.
local function each_call(contract, random, f, traced)
    for at, dtype in ipairs(cases.dtypes(contract.accepts)) do
        for shape = 1, at == 1 and #cases.shapes(contract) or 1 do
            for k, options in ipairs(contract.options) do
                local waits = traced and contract.waits and contract.waits(options)
                if not waits and (k == 1 or shape == 1 and at == 1) then
                    f(cases.draw(contract, dtype, shape, random), options, dtype, shape)
                end
            end
        end
    end
end

--- np.jit gives the bits of a call.
function ways.jit(call, contract, random)
    each_call(contract, random, function(args, options)
        local f = np.jit(function(...) return call({ ... }, options) end)
        same(f(unpack(args)), call(args, options), "np.jit", args)
    end, true)
end

--- So do deferred mode, and a program that is recorded, saved and loaded.
function ways.programs(call, contract, random)
    local path = os.tmpname()
    each_call(contract, random, function(args, options, dtype, shape)
        if shape > 1 or dtype ~= usual(contract) then return end
        local expected = call(args, options)
        same(np.deferred(function() return call(args, options) end), expected, "np.deferred", args)
        np.trace(function(...) return call({ ... }, options) end)(unpack(args)):save(path)
        local outputs = { np.load_program(path)(unpack(args)) }
        if #outputs == 1 and type(outputs[1]) == "table" then outputs = outputs[1] end
        same(outputs, expected, "a program that was saved and loaded", args)
    end, true)
    os.remove(path)
end

--- np.vmap over all arguments, and over each alone, is a loop.
function ways.vmap(call, contract, random)
    local count = 3
    each_call(contract, random, function(args, options, dtype, shape)
        for only = 0, #args > 1 and #args or 0 do
            local rows, stacked, axes = {}, copy(args), {}
            for n = 1, count do rows[n] = copy(args) end
            for k = 1, #args do
                axes[k] = false
                if only == 0 or only == k then
                    local parts = {}
                    for n = 1, count do
                        parts[n] = n == 1 and args[k] or cases.draw(contract, dtype, shape, random)[k]
                        rows[n][k] = parts[n]
                    end
                    stacked[k], axes[k] = np.stack(parts), 0
                end
            end
            local batched = np.vmap(function(...) return call({ ... }, options) end, { in_axes = axes })
            local results = batched(unpack(stacked))
            for n = 1, count do
                local expected, row = call(rows[n], options), {}
                for k = 1, #results do row[k] = results[k][n - 1] end
                contract.alike(row, expected, "np.vmap, example " .. n - 1, rows[n], contract.vmapped)
            end
        end
    end, true)
end

--- Arrays that lie divided on a mesh count as whole ones.
function ways.mesh(call, contract, random)
    local mesh = np.mesh({ 2, 2 }, { "i", "j" })
    each_call(contract, random, function(args, options)
        local expected = call(args, options)
        for k, x in ipairs(args) do
            for axis = 0, np.is_array(x) and x.ndim - 1 or -1 do
                if x:dim(axis) % 2 == 0 and x.size > 0 then
                    local names, divided = {}, copy(args)
                    for n = 1, x.ndim do names[n] = n == axis + 1 and "i" or false end
                    divided[k] = np.device_put(x, mesh, np.P(unpack(names)))
                    contract.alike(call(divided, options), expected, ("argument %d divided on a mesh"):format(k), args,
                                   contract.divided)
                end
            end
        end
    end)
end

-- ---- Options --------------------------------------------------------------------------------------------------------

--- An option that does not exist is refused, by name; so is a table behind all arguments of a function without options.
function ways.refusals(call, contract, random)
    local args = cases.draw(contract, usual(contract), 1, random)
    local options = { nonsense = 1 }
    for key, value in pairs(contract.options[1]) do options[key] = value end
    local ok, problem = pcall(call, args, options)
    check.ok(not ok, "an unknown option was taken without a word: {nonsense=1}")
    local message = tostring(problem)
    check.ok(message:find("nonsense", 1, true) or message:find("takes %w+ argument") or message:find("table", 1, true),
             "the error for an unknown option names it not: " .. message)
    for _, refused in ipairs(contract.refuses or {}) do
        local text, f = refused[1], refused[2]
        check.raises(f, text)
    end
end

--- Calls f with a copy of options for each integer in them, however deep, which `change` has changed; the copy and the
-- integer's place. In a list of fractions it is a real number.
function ways.each_integer(options, change, f)
    local function visit(value, made, place)
        for _, item in ipairs(value) do
            if type(item) == "number" and item % 1 ~= 0 then return end
        end
        for key, item in pairs(value) do
            local at = place .. "." .. tostring(key)
            if type(item) == "number" and item % 1 == 0 and math.abs(item) < 2 ^ 53 then
                f(made(function(t) t[key] = change(item) end), at)
            elseif type(item) == "table" and getmetatable(item) == nil then
                visit(item, function(write)
                    return made(function(t)
                        t[key] = {}
                        for k, v in pairs(item) do t[key][k] = v end
                        write(t[key])
                    end)
                end, at)
            end
        end
    end
    visit(options, function(write)
        local t = {}
        for k, v in pairs(options) do t[k] = v end
        write(t)
        return t
    end, "o")
end

--- An integer of options that is a 64-bit integer of LuaJIT counts as the number; one that no number counts is refused
-- by the function's name, if it is.
function ways.integers(call, contract, random)
    local args = cases.draw(contract, usual(contract), 1, random)
    for _, options in ipairs(contract.options) do
        local expected
        ways.each_integer(options, function(n) return n * 1LL end, function(wide, place)
            expected = expected or call(args, options)
            same(call(args, wide), expected, place .. " as a 64-bit integer", args)
        end)
        ways.each_integer(options, function(n) return n + 2LL ^ 60 end, function(wide, place)
            local ok, problem = pcall(call, args, wide)
            check.ok(ok or tostring(problem):find("np%."), place .. " beyond 2^53: " .. tostring(problem))
        end)
    end
end

--- Every option that the help names is in some case's table.
function ways.options(_, contract)
    local seen, missing = {}, {}
    for _, options in ipairs(contract.options) do
        for key in pairs(options) do seen[key] = true end
    end
    for _, name in ipairs(contract.documented) do
        if not seen[name] and not (contract.unseen or {})[name] then missing[#missing + 1] = name end
    end
    check.ok(#missing == 0, "no case has the documented option " .. table.concat(missing, ", "))
end

return ways
