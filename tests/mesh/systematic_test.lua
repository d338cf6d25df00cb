--- systematic_test.lua (under asan with --long): random programs under np.shard_map, over meshes of up to 8 devices,
-- with random specs, compared with the slicing reference (tests/lib/mesh_reference.lua).
--
-- Values are the same bits, eager and jitted, whatever the layout of the arguments was. Derivatives of programs of
-- whole numbers are the same numbers, to order 2, those of others nearly; jitted they are the same bits. np.vmap of a
-- sharded function is a loop.
--
-- NEAP_TEST_SEED is the first seed, NEAP_TEST_PROGRAMS says how many cases of each kind are drawn.
local np = require "neap"
local check = require "tests.lib.check"
local programs = require "tests.lib.mesh_programs"
local reference = require "tests.lib.mesh_reference"

require "tests.lib.devices" (8, "tests/mesh/systematic_test.lua")

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
local first = tonumber(os.getenv "NEAP_TEST_SEED") or 1
local count = tonumber(os.getenv "NEAP_TEST_PROGRAMS") or release and 30 or 4

-- ---- Comparing ------------------------------------------------------------------------------------------------------

local function flat(x)
    local list = {}
    local function visit(value)
        if type(value) ~= "table" then
            list[#list + 1] = value
        else
            for k = 1, #value do visit(value[k]) end
        end
    end
    visit(x:totable())
    return list
end

local function same_bits(a, b)
    return a == b and (a ~= 0 or 1 / a == 1 / b) or a ~= a and b ~= b
end
local function same_number(a, b) return a == b or a ~= a and b ~= b end

--- Numbers that differ by rounding: by a small part of the largest one.
local function near(tolerance, list)
    local scale = 1
    for k = 1, #list do scale = math.max(scale, math.abs(list[k])) end
    return function(a, b) return same_number(a, b) or math.abs(a - b) <= tolerance * scale end
end

--- What differs between two lists of arrays, or nil. `tolerance`: "bits", "numbers" (0 is -0), or a number.
local function difference(got, want, tolerance)
    if #got ~= #want then return ("%d arrays, expected %d"):format(#got, #want) end
    for k = 1, #want do
        local a, b = got[k], want[k]
        local types = { ("%s(%s)"):format(a.dtype, table.concat(a.shape, ",")),
                        ("%s(%s)"):format(b.dtype, table.concat(b.shape, ",")) }
        if types[1] ~= types[2] then return ("array %d is %s, expected %s"):format(k, types[1], types[2]) end
        local x, y = flat(a), flat(b)
        local same = tolerance == "bits" and same_bits or tolerance == "numbers" and same_number or near(tolerance, y)
        for at = 1, #y do
            if not same(x[at], y[at]) then
                return ("array %d, element %d is %s, expected %s"):format(k, at - 1, tostring(x[at]), tostring(y[at]))
            end
        end
    end
end

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

--- The functions of a table of arguments that give the gradients, and the derivatives of their sum with weights.
local function gradients_of(f)
    return np.grad(function(list) return programs.weigh { f(unpack(list)) } end)
end
local function second_of(f)
    return np.grad(function(list) return programs.weigh(gradients_of(f)(list)) end)
end

--- The function of a table of arguments that gives the derivatives of the results along a direction.
local function tangents_of(f, n)
    return function(list)
        local along = {}
        for k, x in ipairs(list) do along[k] = (np.arange(x.size) * 3 % 5 - 2):astype(x.dtype):reshape(x.shape) end
        local results = { np.jvp(f, list, along) }
        return unpack(results, n + 1)
    end
end

-- ---- What is done with a case ---------------------------------------------------------------------------------------

--- The arguments as they are, laid out as the specs want them, or otherwise.
local layouts = {
    ordinary = function(case) return case.inputs end,
    ["laid out"] = function(case, mesh)
        local list = {}
        for k, x in ipairs(case.inputs) do
            list[k] = np.device_put(x, mesh, reference.real_specs(case.in_specs[k]))
        end
        return list
    end,
    replicated = function(case, mesh)
        local list = {}
        for k, x in ipairs(case.inputs) do list[k] = np.device_put(x, mesh, np.P()) end
        return list
    end,
}

--- Has an instruction whose meaning depends on check_rep: a gradient inside the body.
local function has_inner_gradient(texts) return texts.program:find "grad:" ~= nil end

--- A result of an all_gather that is not split outside gives each device a share of its cotangent. Are
-- there shares that numbers cannot hold exactly?
local function has_shares(texts, case)
    for _, size in ipairs(case.mesh.sizes) do
        if math.frexp(size) ~= 0.5 and texts.program:find "gather:" then return true end
    end
    return false
end

--- Runs f(add): add(what, got, want, tolerance) compares.
local function examine(texts, kind, add)
    local case = programs.parse(texts)
    local by_slices, by_mesh = programs.by_slices(case), programs.by_mesh(case)
    local mesh = programs.mesh(case)
    local want = { by_slices(unpack(case.inputs)) }
    local jitted = np.jit(by_mesh)
    for name, layout in pairs(layouts) do
        local arguments = layout(case, mesh)
        add("eager, arguments " .. name, { by_mesh(unpack(arguments)) }, want, "bits")
        add("jitted, arguments " .. name, { jitted(unpack(arguments)) }, want, "bits")
    end
    add("jitted, again", { jitted(unpack(case.inputs)) }, want, "bits")
    local unchecked = programs.by_mesh(case, false)
    if not has_inner_gradient(texts) then
        add("check_rep=false", { unchecked(unpack(case.inputs)) }, want, "bits")
    else
        add("check_rep=false", { unchecked(unpack(case.inputs)) },
            { programs.by_slices(case, false)(unpack(case.inputs)) }, "bits")
    end
    if not kind.derivatives then return end
    local tolerance = not kind.exact and 1e-10 or has_shares(texts, case) and 1e-12 or "numbers"
    local gradients = gradients_of(by_slices)(case.inputs)
    local eager = gradients_of(by_mesh)(case.inputs)
    add("gradient", eager, gradients, tolerance)
    add("jitted gradient, as the eager one", np.jit(gradients_of(by_mesh))(case.inputs), eager, "bits")
    add("gradient of jitted", gradients_of(jitted)(case.inputs), gradients, tolerance)
    add("gradient, arguments laid out", gradients_of(by_mesh)(layouts["laid out"](case, mesh)), gradients, tolerance)
    if not has_inner_gradient(texts) then
        -- A cotangent is divided by the sizes of axes there, and these quotients may be inexact.
        local near_enough = kind.exact and 1e-12 or tolerance
        add("gradient, check_rep=false", gradients_of(unchecked)(case.inputs), gradients, near_enough)
    end
    local n = #case.outputs
    local tangents = { tangents_of(by_slices, n)(case.inputs) }
    add("tangents", { tangents_of(by_mesh, n)(case.inputs) }, tangents, tolerance)
    add("jitted tangents", { np.jit(tangents_of(by_mesh, n))(case.inputs) }, tangents, tolerance)
    local second = second_of(by_slices)(case.inputs)
    eager = second_of(by_mesh)(case.inputs)
    add("second derivative", eager, second, tolerance)
    add("jitted second derivative, as the eager one", np.jit(second_of(by_mesh))(case.inputs), eager, "bits")
end

--- np.vmap against a loop: two examples of some arguments, the first at least.
local function examine_vmap(texts, kind, add)
    local case = programs.parse(texts)
    local by_slices, by_mesh = programs.by_slices(case), programs.by_mesh(case)
    local arguments, axes, results = {}, {}, {}
    for k, x in ipairs(case.inputs) do
        axes[k] = k % 2 == 1 and 0
        arguments[k] = axes[k] and np.stack { x, np.flip(x) } or x
    end
    for example = 1, 2 do
        local own = {}
        for k, x in ipairs(arguments) do own[k] = axes[k] and x[example - 1] or x end
        results[example] = { by_slices(unpack(own)) }
    end
    local want = {}
    for k = 1, #results[1] do want[k] = np.stack { results[1][k], results[2][k] } end
    local tolerance = kind.exact and "numbers" or 1e-5
    add("vmap", { np.vmap(by_mesh, { in_axes = axes })(unpack(arguments)) }, want, tolerance)
    add("jitted vmap", { np.jit(np.vmap(by_mesh, { in_axes = axes }))(unpack(arguments)) }, want, tolerance)
end

-- ---- The tests ------------------------------------------------------------------------------------------------------

local kinds = {
    { name = "whole f64", dtype = "f64", exact = true, derivatives = true },
    { name = "f64", dtype = "f64", derivatives = true },
    { name = "f32", dtype = "f32" },
    { name = "i32", dtype = "i32", exact = true },
    { name = "u8", dtype = "u8", exact = true },
    { name = "i64", dtype = "i64", exact = true },
}

local MOST = 8 -- messages of a test
local used = {}

--- Runs what(texts, kind, add) for `n` cases; every comparison that fails is told.
local function run(name, kind, n, what)
    check.test(name, function()
        local problems, failed = {}, 0
        for seed = first, first + n - 1 do
            local texts = programs.sample(seed, kind, used)
            local function add(about, got, want, tolerance)
                local ok, problem = pcall(difference, got, want, tolerance)
                if not ok or problem then problems[#problems + 1] = about .. ": " .. tostring(problem) end
            end
            local before = #problems
            local ok, problem = pcall(what, texts, kind, add)
            if not ok then problems[#problems + 1] = tostring(problem) end
            if #problems > before then
                failed = failed + 1
                problems[#problems] = problems[#problems] .. "\n      " .. programs.show(texts)
            end
        end
        check.ok(failed == 0, ("%d of %d cases\n    %s"):format(failed, n, table.concat(problems, "\n    ", 1,
                                                                                        math.min(#problems, MOST))))
    end)
end

for _, kind in ipairs(kinds) do
    local n = kind.derivatives and count or math.ceil(count / 2)
    run("values and derivatives, " .. kind.name, kind, n, examine)
    if not kind.derivatives or kind.exact then run("vmap, " .. kind.name, kind, math.ceil(n / 2), examine_vmap) end
end

check.test("every instruction was drawn", function()
    if count < 30 then return end
    for _, name in ipairs(programs.names) do check.ok(used[name], name .. " was never drawn") end
end)
check.done()
