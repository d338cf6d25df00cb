--- explicit_test.lua (release build only): results on a mesh whose axes are explicit lie as in JAX, and what JAX
-- refuses is refused (explicit.txt, made by make_explicit.py). Runs itself again with eight devices.
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"
local np = require "neap"

require "tests.lib.devices" (8, "tests/golden/explicit_test.lua")

local mesh = np.mesh({ 4, 2 }, { "i", "j" }, { explicit = true })

local cases = {
    add = function(a, b) return a + b end,
    matmul = function(a, b) return a:matmul(b) end,
    ["sum 0"] = function(a) return a:sum { axis = 0 } end,
    ["sum 1"] = function(a) return a:sum { axis = 1 } end,
    tanh = function(a) return np.tanh(a) end,
    transpose = function(a) return a.T end,
    ["sort 0"] = function(a) return np.sort(a, { axis = 0 }) end,
    ["sort 1"] = function(a) return np.sort(a, { axis = 1 }) end,
    reshard = function(a) return np.reshard(a, np.P(nil, "i")) end,
}

local function put(spec)
    local names, dims = {}, {}
    for name in spec:gmatch "%S+" do
        names[#names + 1] = name ~= "-" and name
        dims[#dims + 1] = 8
    end
    return np.device_put(np.ones(dims), mesh, np.P(unpack(names)))
end

local function lies(f, first, second)
    local ok, result = pcall(f, put(first), put(second))
    if not ok then return result:find("explicit in this mesh", 1, true) and "refused" or result end
    local names, spec = {}, result.sharding.spec
    for k = 1, result.ndim do names[k] = spec[k] or "-" end
    return table.concat(names, " ")
end

local refused = 0
check.test("results lie as in JAX, or are refused", function()
    for _, record in ipairs(reader.records "explicit") do
        local name, first, second, want = record[1], record[2], record[3], record[4]
        check.equal(lies(cases[name], first, second), want, ("%s of %s and %s"):format(name, first, second))
        refused = refused + (want == "refused" and 1 or 0)
    end
    check.equal(refused > 5, true)
end)

check.done()
