--- contracts.lua: the contracts of functions, and the tests that follow from them.
--
--     local of, finish = require "tests.lib.contracts" "special"      -- golden values: golden/special.txt
--     of("np.xlogy", {
--         args = { "x", { "y", from = 0, to = 4 } },
--         accepts = "floats ints bool",
--         oracle = "sp.xlogy(x, y)",
--     })
--     finish()
--
-- A contract says how to call a function and what is true then:
--
--     args       its arrays in order: names, or { name, … } with what is drawn for it: from, to (default -3 to 3),
--                sorted, dtype (a fixed one), make = function(random, dims, dtype) → what else it is (text = function →
--                what the oracle reads); number = false, table = false where those cannot stand for it; special =
--                false, a list of special values or function(dtype) → a list or nil; grad = false
--     accepts    words: f16 … c128, floats, halves, ints, complex, bool; the first is the usual one
--     shapes     lists of shapes of the arguments, the usual one first; without: a function of elements that broadcasts
--     options    tables of options, the usual one first (default: one, empty); `call` may use them otherwise
--     call       function(f, o, …) → results; default: f(…, o), without o where it is empty
--     oracle     a Python expression of the arguments' names and the options o, over np, scipy, sp (scipy.special),
--                jax, jnp, torch, mp: floats as f64, integers as they are, or as f64 where the result is real
--     gives      the dtype of results: "real" (default: floats keep theirs, integers as one op makes them floats),
--                "same", or a name; or a list of these, one a result; or function(dtype, options) → name
--     unseen     option → reason, of documented options that no case can have
--     within     how near: "exact", "ulp N", "rel N", "abs N", "mixed N" (abs up to 1, rel beyond), "scaled N" (of the
--                largest element); or a table by dtype.
--                Default: f64 "ulp 8", f32 "ulp 4", halves "ulp 1"
--     special    false: no special values (with a reason in without.special); "together": all of them in one case of
--                the first shapes, for functions that only move elements
--     waits      function(o) → whether the function waits for values, with these options: then np.jit, programs and
--                np.vmap refuse it, and those ways leave these options out
--     sized      function(o) → whether sizes may be declared with these options; the way `sizes` leaves out others
--     derivative a JAX expression whose derivatives at `points` (lists of arguments, o = options) the function's are,
--                along ones, or along 1, 2, 3, … of each argument, with uneven = true, which tells ties apart
--     slope      how near derivatives are to differences (default 1e-6); first_only where no second one is there;
--                smooth: how many of the shapes, from the first on, are tried (default: all that have elements);
--                complex_slopes = true: of complex arguments, too
--     vmapped, divided: how near (as in within) a batch is to a loop, a divided array to a whole one; default: bits
--     refuses    { pattern, function }, … which raise
--     also       name → function: further tests
--     without    way → reason, of ways that do not apply: values, special, strided, numbers, jit, programs, sizes,
--                vmap, mesh, derivatives, points, options, integers, refusals
--
-- Functions whose arguments are no arrays have tests by name: held("np.io.save np.io.load", "what is read is what was
-- written", { files = function() … end }). elsewhere(names, path, reason) names the tests of what no contract can hold.
--
-- NEAP_CONTRACTS=cases writes what an oracle reads in place of tests, =names the names, =page lines of the page of
-- contracts. NEAP_CONTRACT_SIZES=list lists which functions follow declared sizes (contract_sizes.lua).
-- NEAP_CONTRACT_SEED chooses other draws, whose golden values lie in NEAP_CONTRACT_GOLDEN.
local np = require "neap"
local core = require "neap.core"
local check = require "tests.lib.check"
local cases = require "tests.lib.contract_cases"
local dtypes = require "tests.lib.dtypes"
local fixed = require "tests.lib.contract_fixed"
local help = require "neap.help_gen"
local seeds = require "tests.lib.seeds"
local sizes = require "tests.lib.contract_sizes"
local slopes = require "tests.lib.contract_slopes"
local ways = require "tests.lib.contract_ways"

local mode = os.getenv "NEAP_CONTRACTS" or "tests"
local seed = tonumber(os.getenv "NEAP_CONTRACT_SEED" or "1")
local folder = os.getenv "NEAP_CONTRACT_GOLDEN" or "tests/contracts/golden"

local WAYS = { "values", "special", "strided", "numbers", "jit", "programs", "sizes", "vmap", "mesh", "derivatives",
               "points", "options", "integers", "refusals" }

-- ---- The function and its calls -------------------------------------------------------------------------------------

--- The function that a public name names; x stands for an array, x.at for a place in it.
local function named(name)
    local value, array = _G, np.zeros { 1, 1 }
    for part in name:gmatch "[^.]+" do
        if value == array.at then value = array:at { 0 } end
        value = value ~= _G and value[part] or part == "np" and np or part == "x" and array or _G[part]
    end
    return assert(value, "no function " .. name)
end

--- The leaves of what a call gives, in order.
local function leaves(...)
    local list = {}
    local function visit(value)
        if type(value) == "table" and getmetatable(value) == nil then
            for _, leaf in ipairs(np.tree.leaves(value)) do list[#list + 1] = leaf end
        elseif value ~= nil then
            list[#list + 1] = value
        end
    end
    for k = 1, select("#", ...) do visit((select(k, ...))) end
    return list
end

--- call(args, options) -> a list of results.
local function caller(name, contract)
    local known, f = pcall(named, name)
    if not known then assert(contract.call, f) end -- brackets and the like have no name
    return function(args, options)
        if contract.call then return leaves(contract.call(f, options, unpack(args))) end
        local given = { unpack(args) }
        if next(options) ~= nil then given[#given + 1] = options end
        return leaves(f(unpack(given)))
    end
end

-- ---- Nearness -------------------------------------------------------------------------------------------------------

local DIGITS = { f16 = { 11, -24, 65504 }, bf16 = { 8, -133, 0x1.fep127 }, f32 = { 24, -149, 0x1.fffffep127 },
                 f64 = { 53, -1074, 0x1.fffffffffffffp1023 } }
DIGITS.c64, DIGITS.c128 = DIGITS.f32, DIGITS.f64

local function unit(value, dtype)
    local facts = DIGITS[dtype]
    if math.abs(value) == math.huge then return 0 end
    local _, exponent = math.frexp(value)
    return 2 ^ math.max(exponent - facts[1], facts[2])
end

local READ = { inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0, ["-0"] = -0.0 }
local function read(text) return READ[text] or assert(tonumber(text), text) end

--- Whether an element is as near to the expected one as `within` says; both are texts.
local function near(got, want, kind, amount, dtype, scale)
    if got == want then return true end
    if not DIGITS[dtype] then return false end
    local a, b = read(got), read(want)
    if b ~= b or a ~= a then return a ~= a and b ~= b end
    if a == b then return kind ~= "exact" or a ~= 0 or 1 / a == 1 / b end -- texts of one number may differ
    local most = DIGITS[dtype][3]
    if math.abs(b) > most then -- overflows if the result does, rounded
        local rounded = math.abs(b) < most + unit(most, dtype) / 2 and most or math.huge
        b = b > 0 and rounded or -rounded
    end
    if a == b then return true end
    if kind == "exact" then return false end
    if math.abs(a) == math.huge and math.abs(b) > DIGITS[dtype][3] * (1 - 1e-3) then return true end
    local distance = math.abs(a - b)
    if kind == "ulp" then return distance <= amount * unit(b, dtype) end
    if kind == "mixed" then return distance <= amount * math.max(1, math.abs(b)) end
    if kind == "rel" then -- 0 may be a number below the smallest normal one, which JAX flushes
        local least = DIGITS[dtype][2] + (b == 0 and DIGITS[dtype][1] - 1 or 0)
        return distance <= amount * math.abs(b) + 2 ^ least
    end
    return distance <= amount * (kind == "scaled" and scale or 1)
end

local DEFAULT = { f64 = "ulp 8", f32 = "ulp 4", f16 = "ulp 1", bf16 = "ulp 1", c64 = "scaled 1e-6",
                  c128 = "scaled 1e-14" }

--- Raises unless texts of elements are near to those expected.
local function compare(got, want, within, dtype, what)
    if type(within) == "table" then within = within[dtype] end
    within = within or DEFAULT[dtype] or "exact"
    local kind, amount = within:match "^(%a+) ?(.*)$"
    amount = tonumber(amount) or 0
    local scale = 0
    for k = 1, DIGITS[dtype] and #want or 0 do
        local value = math.abs(read(want[k]))
        if value < math.huge and value > scale then scale = value end
    end
    check.ok(#got == #want, ("%s: %d elements, expected %d"):format(what, #got, #want))
    local wrong, first = 0, nil
    for k = 1, #want do
        if not near(got[k], want[k], kind, amount, dtype, scale) then wrong, first = wrong + 1, first or k end
    end
    if first then
        error(("%s: %d of %d elements differ (%s); element %d is %s, expected %s"):format(
            what, wrong, #want, within, first - 1, got[first], want[first]), 0)
    end
end

local function words(text)
    local list = {}
    for word in text:gmatch "%S+" do list[#list + 1] = word end
    return list
end

local function shown(args)
    local parts = {}
    for k, x in ipairs(args) do parts[k] = np.is_array(x) and cases.text(x) or tostring(x) end
    local text = table.concat(parts, "; ")
    return #text <= 400 and text or text:sub(1, 400) .. "…"
end

--- For ways whose results may differ in the last places: lists of results, near by `within`, or equal in their bits.
local function alike(got, expected, what, args, within)
    check.ok(#got == #expected, ("%s: %d results, expected %d"):format(what, #got, #expected))
    for k = 1, #expected do
        local a, b = got[k], expected[k]
        if np.is_array(b) then
            local head = cases.text(b):match "^%S+"
            check.equal(cases.text(a):match "^%S+", head, what)
            local ok, problem = pcall(compare, cases.elements(a), cases.elements(b), within or "exact", b.dtype, what)
            if not ok then error(problem .. ", with " .. shown(args), 0) end
        else
            check.equal(tostring(a), tostring(b), what)
        end
    end
end

-- ---- Golden values --------------------------------------------------------------------------------------------------

--- Golden values by id: { sum of the case's line, results… }; nil where the file is not there.
local function golden_values(module)
    local file = io.open(folder .. "/" .. module .. ".txt")
    if not file then return nil end
    local by_id = {}
    for line in file:lines() do
        local fields = {}
        for field in (line .. "\t"):gmatch "([^\t]*)\t" do fields[#fields + 1] = field end
        by_id[fields[1]] = fields
    end
    file:close()
    return by_id
end

local function expected_dtype(contract, result, dtype, options)
    local gives = contract.gives or "real"
    if type(gives) == "table" then gives = gives[result] end
    if type(gives) == "function" then return gives(dtype, options) end
    if gives == "same" then return dtype end
    if gives == "real" then
        local facts = dtypes.by_name[dtype]
        return (facts.kind == "f" or facts.kind == "c") and dtype or np.result_type(dtype, 0.5)
    end
    return gives
end

--- Compares results with the texts of golden ones.
local function check_values(contract, case, results, fields)
    check.ok(#results == #fields - 2, ("%d results, expected %d"):format(#results, #fields - 2))
    for k, result in ipairs(results) do
        local text = fields[k + 2]
        if text:sub(1, 4) == "str " then
            check.equal((tostring(result):gsub("\n", "\\n")), text:sub(5), "result " .. k)
        else
            local shape, rest = text:match "^%[([^%]]*)%] ?(.*)$"
            if type(result) == "number" or type(result) == "boolean" then
                result = np.array(result, { dtype = "f64" })
            end
            check.equal(table.concat(result.shape, ","), shape, "the shape of result " .. k)
            if not contract.any_dtype then
                check.equal(result.dtype, expected_dtype(contract, k, case.dtype, case.options),
                            "the dtype of result " .. k)
            end
            local expected = words(rest)
            if dtypes.by_name[result.dtype].kind == "c" and #expected == result.size then -- real numbers
                for at = #expected, 1, -1 do table.insert(expected, at + 1, "0") end
            end
            compare(cases.elements(result), expected, contract.within, result.dtype, "result " .. k)
        end
    end
end

-- ---- Tests ----------------------------------------------------------------------------------------------------------

local function id_of(name, kind, k) return name .. " " .. kind .. " " .. k end

--- Calls f for each case of a contract that an oracle knows: f(kind, id, case, the line that the oracle reads).
local function each_golden(name, contract, f)
    local oracle = { name = contract.oracle, ints = contract.gives == nil or contract.gives == "real" }
    for k, case in ipairs(cases.list(contract, seed + #name * 1000)) do
        if case.what ~= "special" or not contract.without.special then
            local id = id_of(name, case.what, k)
            f(case.what, id, case, cases.line(oracle.ints and "real" or "value", id, oracle.name, case, contract))
        end
    end
    for k, case in ipairs(contract.points and slopes.points(contract) or {}) do
        local id = id_of(name, "point", k)
        local text = type(contract.derivative) == "string" and contract.derivative or contract.oracle
        local kind = ("slope%s%s "):format(contract.uneven and "-uneven" or "", contract.first_only and "-first" or "")
        f("point", id, case, cases.line(kind .. slopes.names(contract), id, text, case, contract))
    end
end

--- Runs f over the cases of one kind and raises the first problem with its count.
local function test_golden(name, contract, call, golden, wanted)
    local count, wrong, first = 0, 0, nil
    each_golden(name, contract, function(kind, id, case, line)
        if kind ~= wanted then return end
        count = count + 1
        local fields = golden[id]
        if not fields or fields[2] ~= cases.sum(line) then
            error("the golden value of this case is not there or old: run tests/contracts/make.py", 0)
        end
        local ok, problem = pcall(function()
            if kind == "point" then
                slopes.given(call, contract, case, { read(fields[3]), read(fields[4]) })
            else
                check_values(contract, case, call(case.args, case.options), fields)
            end
        end)
        if not ok then
            wrong = wrong + 1
            first = first or ("%s, with %s %s"):format(tostring(problem), shown(case.args),
                                                      require("neap.files.json").write(case.options))
        end
    end)
    check.ok(wrong == 0, ("%d of %d cases; the first: %s"):format(wrong, count, first))
    check.ok(count > 0, "no case of this kind: say so in `without`, with the reason")
end

local function run_way(way, name, contract, call, golden)
    local random = seeds.generator(seed * 7919 + #name)
    if way == "values" then
        test_golden(name, contract, call, golden, "plain")
    elseif way == "special" then
        test_golden(name, contract, call, golden, "special")
    elseif way == "points" then
        test_golden(name, contract, call, golden, "point")
    elseif way == "derivatives" then
        slopes.drawn(call, contract, random)
        if contract.complex_slopes then slopes.complex(call, contract, random) end
    elseif way == "sizes" then
        sizes.way(call, contract, random, name)
    else
        ways[way](call, contract, random)
    end
end

local NEEDS_GOLDEN = { values = true, special = true, points = true }

local function test_contract(name, contract, golden)
    local call = caller(name, contract)
    for _, way in ipairs(sizes.alone and { "sizes" } or WAYS) do
        if not contract.without[way] then
            if NEEDS_GOLDEN[way] and not golden then
                check.skip(name .. ": " .. way, "no golden values for this seed")
            else
                check.test(name .. ": " .. way, function()
                    local ok, problem = pcall(run_way, way, name, contract, call, golden)
                    if not ok then error(problem, 0) end
                end)
            end
        end
    end
    for title, f in pairs(not sizes.alone and contract.also or {}) do check.test(name .. ": " .. title, f) end
end

-- ---- The list -------------------------------------------------------------------------------------------------------

local FIELDS = {}
for word in ([[args accepts shapes options call oracle gives within special derivative points slope first_only vmapped
    divided refuses also without unseen unweighted any_dtype uneven smooth waits sized
    complex_slopes]]):gmatch "%S+" do FIELDS[word] = true end

-- Reasons that follow from what a function is.
local NO_POINTS, ALONE, NO_OPTIONS = "no point is special", "no array stands beside it", "it has no options"
local NO_INTEGERS, NO_AXES = "no option is an integer", "no array of it has an axis of several elements"
local PLAIN = { [NO_POINTS] = true, [ALONE] = true, [NO_OPTIONS] = true, [NO_INTEGERS] = true, [NO_AXES] = true }

local entries = {}
for _, entry in ipairs(help.entries) do
    for _, name in ipairs(entry.names) do entries[name] = entries[name] or entry end
end

--- A contract with its defaults, checked.
local function complete(name, contract)
    for key in pairs(contract) do assert(FIELDS[key], name .. ": no field " .. tostring(key)) end
    contract.without = contract.without or {}
    local ways_known = {}
    for _, way in ipairs(WAYS) do ways_known[way] = true end
    for way, reason in pairs(contract.without) do
        assert(ways_known[way] and type(reason) == "string" and #reason > 10, name .. ": without." .. way)
    end
    for k, spec in ipairs(contract.args) do
        if type(spec) == "string" then contract.args[k] = { spec } end
    end
    contract.options = contract.options or { {} }
    contract.alike = alike
    local entry = assert(entries[name], "no help for " .. name)
    contract.documented = {}
    for _, option in ipairs(entry.options) do
        if option.option then table.insert(contract.documented, option.name) end
    end
    if not contract.points then contract.without.points = contract.without.points or NO_POINTS end
    if #contract.args < 2 then contract.without.numbers = contract.without.numbers or ALONE end
    if #contract.documented == 0 then contract.without.options = NO_OPTIONS end
    local integers = 0
    for _, options in ipairs(contract.options) do
        ways.each_integer(options, function(n) return n end, function() integers = integers + 1 end)
    end
    if integers == 0 then contract.without.integers = NO_INTEGERS end
    contract.without.sizes = contract.without.sizes or contract.without.programs
        or not sizes.apply(contract) and NO_AXES or nil
    return contract
end

--- Lines of fields between tabs, for the page of contracts (contract_page.lua): name, "oracle" (an expression) or
-- "held" (words), what it is, the ways that hold; name, "same", the other name; name, "elsewhere", the file of tests,
-- why. Behind the first kind, lines of "", way, why it does not apply; a reason that follows from what the function is
-- is left out.
local function write_page(list)
    for _, item in ipairs(list) do
        local contract, ways_held = item.contract, {}
        if contract then
            for _, way in ipairs(WAYS) do
                if not contract.without[way] then ways_held[#ways_held + 1] = way end
            end
        else
            for way in pairs(item.tests or {}) do ways_held[#ways_held + 1] = way end
            table.sort(ways_held)
        end
        local oracle = contract and contract.oracle
        local what = oracle or item.oracle or contract and "its ways alone"
        if what then
            print(item.name, oracle and "oracle" or "held", (what:gsub("%s+", " ")), table.concat(ways_held, " "))
        elseif item.same then
            print(item.name, "same", item.same)
        else
            print(item.name, "elsewhere", item.path, item.reason)
        end
        for _, way in ipairs(WAYS) do
            local reason = contract and contract.without[way]
            local said = PLAIN[reason] or way == "sizes" and reason and reason == contract.without.programs
            if reason and not said then print("", way, reason) end
            if way == "sizes" and fixed[item.name] then print("", "all sizes", fixed[item.name]) end
        end
    end
end

--- The tests of an item of the list: a contract, functions with tests of their own, a second name.
local function test_item(item, golden)
    if item.contract then
        test_contract(item.name, item.contract, golden)
    elseif item.title then
        for way, f in pairs(item.tests) do check.test(item.title .. ": " .. way, f) end
    elseif item.same then
        check.test(item.name .. " is " .. item.same, function()
            local one, other = core.behind(named(item.name)), core.behind(named(item.same))
            check.ok(rawequal(one, other), "another function")
        end)
    end
end

--- of, finish, same, elsewhere, held of a module's contracts.
return function(module)
    local list = {}

    --- The contract of a function.
    local function of(name, contract)
        list[#list + 1] = { name = name, contract = complete(name, contract) }
    end

    --- A second name of a function that has a contract.
    local function same(name, other)
        list[#list + 1] = { name = name, same = other }
    end

    --- A name that no contract can hold: why, and the file of tests that do.
    local function elsewhere(names, path, reason)
        for name in names:gmatch "%S+" do list[#list + 1] = { name = name, path = path, reason = reason } end
    end

    --- Functions whose arguments are no arrays: what holds them (`oracle`), and way → function, the tests.
    local function held(names, oracle, tests)
        local title = names
        for name in names:gmatch "%S+" do
            list[#list + 1] = { name = name, oracle = oracle, tests = tests, title = title }
            title = nil -- the tests run once
        end
    end

    local function finish()
        if mode == "names" then
            for _, item in ipairs(list) do print(item.name, item.path or "") end
        elseif mode == "page" then
            write_page(list)
        elseif mode == "cases" then
            for _, item in ipairs(list) do
                if item.contract and not item.contract.without.values then
                    each_golden(item.name, item.contract, function(_, _, _, line) print(line) end)
                end
            end
        else
            require "tests.lib.devices" (4, "tests/contracts/" .. module .. "_test.lua")
            local golden = golden_values(module)
            local only = os.getenv "NEAP_CONTRACT_ONLY"
            for _, item in ipairs(list) do
                if not only or (item.title or item.name):find(only, 1, true) then test_item(item, golden) end
            end
            check.done()
        end
    end

    return of, finish, same, elsewhere, held
end
