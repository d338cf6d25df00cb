--- contract_sizes.lua: the way "sizes" of contracts (tests/lib/contracts.lua): a program that is recorded with declared
-- sizes gives the bits of a call at other sizes, or refuses; it never gives anything else.
--
-- Each extent above 1 of the arguments gets a name, equal ones the same. A function *follows* if its programs run
-- wherever the function itself runs; those that do not are listed, with reasons, in contract_fixed.lua.
--
-- NEAP_CONTRACT_SIZES=only runs this way alone; =list prints a line per function instead: its name, "follows", "partly"
-- (some programs refuse some sizes), "refuses" (where it is recorded) or "DIFFERS", how many of its cases follow, and
-- the first refusal.
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"
local fixed = require "tests.lib.contract_fixed"
local json = require "neap.files.json"

local usual_draws = os.getenv "NEAP_CONTRACT_SEED" == nil -- with others more or fewer sizes may be refused
local listing = os.getenv "NEAP_CONTRACT_SIZES" == "list"

local sizes = { alone = os.getenv "NEAP_CONTRACT_SIZES" ~= nil }

--- The names of the extents of a case, by the extent, and the extents in order.
local function names_of(dims)
    local names, order = {}, {}
    for _, list in ipairs(dims) do
        for _, n in ipairs(list) do
            if n > 1 and not names[n] then
                order[#order + 1] = n
                names[n] = "n" .. #order
            end
        end
    end
    return names, order
end

--- Whether some argument of a contract has an extent above 1.
function sizes.apply(contract)
    for _, dims in ipairs(cases.shapes(contract)) do
        local _, order = names_of(dims)
        if #order > 0 then return true end
    end
    return false
end

--- Other extents in place of those of a case: below 4, above what was recorded, 17, any.
local function others(order, random)
    local list = {}
    for draw = 1, 5 do
        local new = {}
        for _, n in ipairs(order) do
            new[n] = draw == 1 and random(3) or draw == 2 and n + random(5) or random(8)
        end
        if draw == 3 then new[order[random(#order)]] = 17 end
        if draw == 4 then new[order[random(#order)]] = 1 end
        list[draw] = new
    end
    return list
end

local function with_extents(dims, new)
    local changed = {}
    for k, list in ipairs(dims) do
        changed[k] = {}
        for axis, n in ipairs(list) do changed[k][axis] = new[n] or n end
    end
    return changed
end

--- Whether x is an array of this shape.
local function has_extents(x, dims)
    if not np.is_array(x) or x.ndim ~= #dims then return false end
    for axis = 1, #dims do
        if x:dim(axis - 1) ~= dims[axis] then return false end
    end
    return true
end

--- What results are, as one text: dtypes, shapes, elements.
local function shown(results)
    local parts = { #results .. " results" }
    for k, leaf in ipairs(results) do parts[k + 1] = np.is_array(leaf) and cases.text(leaf) or tostring(leaf) end
    return table.concat(parts, "; ")
end

local function short(text) return #text <= 400 and text or text:sub(1, 400) .. "…" end

local function extents_text(dims)
    local parts = {}
    for k, list in ipairs(dims) do parts[k] = "{" .. table.concat(list, ",") .. "}" end
    return table.concat(parts, " ")
end

--- What a recorded function gives, as a text.
local function results_of(program, given)
    local outputs = { program(unpack(given)) }
    if #outputs == 1 and type(outputs[1]) == "table" then outputs = outputs[1] end
    return shown(outputs)
end

--- Calls a program, and the function itself, with arguments of other extents. Returns why the program refuses what the
-- function takes; raises where it gives anything else. A function that looks at values may raise where none recorded
-- for these very shapes does.
local function compare(f, program, given, at, count)
    local ran, expected = pcall(function() return shown(f(unpack(given))) end)
    local followed, got = pcall(results_of, program, given)
    if not followed then return ran and tostring(got) or nil end
    if not ran then
        ran, expected = pcall(function() return results_of(np.trace(f)(unpack(given)), given) end)
    end
    check.ok(ran, ("%s: gives %s where the function raises: %s"):format(at, short(got), tostring(expected)))
    check.ok(got == expected, ("%s: got %s, expected %s"):format(at, short(got), short(tostring(expected))))
    count.calls = count.calls + 1
end

--- Records one case and calls its program at other sizes; adds to `count` what came of it.
local function try(call, contract, random, dtype, dims, options, count)
    local names, order = names_of(dims)
    local args, declared = cases.draw(contract, dtype, dims, random), {}
    local larger, changing = with_extents(dims, others(order, random)[2]), {}
    local made, changed = pcall(cases.draw, contract, dtype, larger, random)
    for k, x in ipairs(args) do
        changing[k] = has_extents(x, dims[k]) and (not made or has_extents(changed[k], larger[k]))
        declared[k] = {}
        for axis, n in ipairs(changing[k] and dims[k] or {}) do declared[k][axis] = names[n] or n end
    end
    local where = dtype .. " " .. extents_text(dims) .. (next(options) and ", options " .. json.write(options) or "")
    local function f(...) return call({ ... }, options) end
    local recorded, program = pcall(function() return np.trace(f, { sizes = declared })(unpack(args)) end)
    local kind, why = recorded and "follows" or "refuses", not recorded and tostring(program)
    for _, new in ipairs(recorded and others(order, random) or {}) do
        local other = with_extents(dims, new)
        local fits, given = pcall(cases.draw, contract, dtype, other, random)
        for k = 1, fits and #given or 0 do
            if not changing[k] then given[k] = args[k] end -- of one shape, as keys are
        end
        local at = ("a program of %s, called with %s"):format(where, extents_text(other))
        local problem = fits and compare(f, program, given, at, count)
        if problem then
            kind, why = "partly", why or ("at %s: %s"):format(extents_text(other), problem)
        end
    end
    count[kind] = count[kind] + 1
    count.first = count.first or why and ("%s: %s"):format(where, (why:gsub("\n", " ")))
end

--- What came of all cases, as a line: the name, a word, how many follow, the first refusal.
local function line_of(name, count, problem)
    local cases_tried = count.follows + count.partly + count.refuses
    local what = problem and "DIFFERS" or count.follows == cases_tried and "follows"
        or count.refuses == cases_tried and "refuses" or "partly"
    return ("%s\t%s\t%d of %d, %d calls\t%s"):format(name, what, count.follows, cases_tried, count.calls,
                                                     problem or count.first or "")
end

--- The cases of one dtype: of the usual one every shape with the first options, and the first shape with all; of others
-- the first shape with the first options.
local function try_dtype(call, contract, random, dtype, usual, count)
    local all = usual
    for _, dims in ipairs(cases.shapes(contract)) do
        local _, order = names_of(dims)
        local tried = #order == 0
        for _, options in ipairs(contract.options) do
            local sized = not contract.sized or contract.sized(options)
            local left_out = contract.waits and contract.waits(options) or not sized
            if not left_out and (not tried or all and #order > 0) then
                tried = true
                try(call, contract, random, dtype, dims, options, count)
            end
        end
        if #order > 0 and not usual then return end
        all = all and #order == 0
    end
end

--- The way itself.
function sizes.way(call, contract, random, name)
    local count = { follows = 0, partly = 0, refuses = 0, calls = 0 }
    local ok, problem = pcall(function()
        for at, dtype in ipairs(cases.dtypes(contract.accepts)) do
            try_dtype(call, contract, random, dtype, at == 1, count)
        end
    end)
    if listing then return print(line_of(name, count, not ok and tostring(problem))) end
    if not ok then error(problem, 0) end
    if not usual_draws then return end
    if fixed[name] then
        check.ok(count.partly + count.refuses > 0, "it follows sizes: take it out of tests/lib/contract_fixed.lua")
    else
        check.ok(count.partly + count.refuses == 0, "it does not follow sizes: " .. tostring(count.first))
    end
end

return sizes
