--- groups_test.lua (release build only): collectives over groups along an axis give what JAX gives (groups.txt, made by
-- make_groups.py), over the devices of a mesh and the examples of np.vmap. Runs itself again with four devices.
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"
local np = require "neap"

require "tests.lib.devices" (4, "tests/golden/groups_test.lua")

local P = np.P
local mesh = np.mesh({ 4 }, { "i" })
local x = np.arange(16, { dtype = "f32" }) + 0.5

local function halves(v) return v:reshape(2, 2) end

local cases = {
    psum = function(v, g) return np.psum(v, "i", { axis_index_groups = g }) end,
    pmean = function(v, g) return np.pmean(v, "i", { axis_index_groups = g }) end,
    pmax = function(v, g) return np.pmax(v, "i", { axis_index_groups = g }) end,
    pmin = function(v, g) return np.pmin(v, "i", { axis_index_groups = g }) end,
    all_gather = function(v, g) return np.all_gather(v, "i", { axis = 1, axis_index_groups = g }) end,
    ["all_gather tiled"] = function(v, g) return np.all_gather(v, "i", { tiled = true, axis_index_groups = g }) end,
    psum_scatter = function(v, g) return np.psum_scatter(halves(v), "i", { axis_index_groups = g }) end,
    ["psum_scatter tiled"] = function(v, g)
        return np.psum_scatter(v, "i", { tiled = true, axis_index_groups = g })
    end,
    all_to_all = function(v, g) return np.all_to_all(halves(v), "i", 0, 1, { axis_index_groups = g }) end,
    ["all_to_all tiled"] = function(v, g)
        return np.all_to_all(v, "i", 0, 0, { tiled = true, axis_index_groups = g })
    end,
}

--- A collective on the devices' parts of an array, and on the examples of a batch.
local function ways_of(f, groups)
    local function one(v) return f(v, groups):reshape(-1) end
    local devices = np.shard_map(one, { mesh = mesh, in_specs = P "i", out_specs = P "i" })
    local function examples(v) return np.vmap(one, { axis_name = "i" })(v:reshape(4, 4)):reshape(-1) end
    return { devices, np.jit(devices), examples }
end

local function read_groups(text)
    local groups = {}
    for part in text:gmatch "[^/]+" do
        local group = {}
        for member in part:gmatch "%d+" do group[#group + 1] = tonumber(member) end
        groups[#groups + 1] = group
    end
    return groups
end

check.test("values and gradients are JAX's", function()
    for _, record in ipairs(reader.records "groups") do
        local f, groups, want = cases[record[1]], read_groups(record[2]), reader.array(record[3])
        for k, g in ipairs(ways_of(f, groups)) do
            local what = ("%s over %s, way %d"):format(record[1], record[2], k)
            local y = g(x)
            check.equal(y:totable(), want.values, what)
            if record[4] ~= "-" then
                local weights = np.arange(y.shape[1], { dtype = "f32" }) + 1
                local slope = np.grad(function(v) return (g(v) * weights):sum() end)(x)
                check.equal(slope:totable(), reader.array(record[4]).values, what)
            end
        end
    end
end)

check.test("sums of groups have the bits of those of an axis of the mesh for them", function()
    local v = np.random.normal(np.random.key(1), { 4, 100 })
    local folded = np.mesh({ 2, 2 }, { "half", "place" })
    local want = np.shard_map(function(a) return np.psum(a, "place") end,
                              { mesh = folded, in_specs = P { "half", "place" }, out_specs = P "half" })(v)
    local sums = np.shard_map(function(a) return np.psum(a, "i", { axis_index_groups = { { 0, 1 }, { 2, 3 } } }) end,
                              { mesh = mesh, in_specs = P "i", out_specs = P "i" })(v)
    check.equal(sums[{ { 0, 4, 2 } }]:totable(), want:totable())
    check.equal(sums[{ { 1, 4, 2 } }]:totable(), want:totable())
end)

check.test("what is refused", function()
    local function refused(name, given, message)
        check.raises(function()
            np.vmap(function(v) return np[name](v, "i", given) end, { axis_name = "i" })(x:reshape(4, 4))
        end, "np." .. name .. ": " .. message)
    end
    local function groups(of) return { axis_index_groups = of } end
    refused("psum", groups { { 0 }, { 2, 3 } }, "option 'axis_index_groups' leaves out member 1 of axis 'i'")
    refused("psum", groups { { 0, 1 }, { 1, 2, 3 } }, "option 'axis_index_groups' has member 1 twice")
    refused("psum", groups { { 0, 1 }, { 2, 4 } }, "option 'axis_index_groups': members of axis 'i' are 0..3, got")
    refused("pmean", groups { 0, 1 }, "option 'axis_index_groups' must be a table of groups such as")
    refused("pmax", groups(3), "option 'axis_index_groups' must be a table of groups such as")
    refused("pmin", groups { { 0, 1 }, { 2, 3 }, {} }, "option 'axis_index_groups' must be a table of groups such as")
    refused("psum", { groups = {} }, "unknown option 'groups'")
    for _, name in ipairs { "all_gather", "psum_scatter" } do
        refused(name, groups { { 0 }, { 1, 2, 3 } }, "option 'axis_index_groups' must have groups of one size")
    end
    refused("psum_scatter", groups { { 0, 1 }, { 2, 3 } }, "axis 0 of an array of shape %(4,%) must have size 2, as it "
            .. "is dealt out over the groups of axis 'i' %(of size 2%)")
    check.raises(function()
        np.vmap(function(v) return np.psum(v, { "i", "j" }, groups { { 0, 1 }, { 2, 3 } }) end,
                { axis_name = "i" })(x)
    end, "unbound axis name 'j'")
    check.raises(function()
        np.trace(np.vmap(function(v) return np.psum(v, "i", groups { { 0, 1 }, { 2, 3 } }) end, { axis_name = "i" }),
                 { sizes = { { "n" } } })(np.ones(4))
    end, "the size of axis 'i' is declared, as n")
end)

check.done()
