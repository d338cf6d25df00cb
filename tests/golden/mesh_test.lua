--- mesh_test.lua (under tsan with --long): random programs under shard_map, with derivatives, compared with stored
-- results of JAX (mesh.txt). The slicing reference of the other tests (tests/lib/mesh_reference.lua) is compared with
-- them too.
local np = require "neap"
local check = require "tests.lib.check"
local programs = require "tests.lib.mesh_programs"
local reader = require "tests.lib.golden_reader"

require "tests.lib.devices" (8, "tests/golden/mesh_test.lua")

local collector = reader.collector()

--- Of the same shape as x, from -3 to 3; k counts the inputs from 0.
local function direction(x, k)
    return ((np.arange(x.size) * 5 + 3 * k) % 7 - 3):astype(x.dtype):reshape(x.shape)
end

--- The functions of a table of inputs that give the gradients, and the second derivatives.
local function gradients_of(f)
    return np.grad(function(list) return programs.weigh { f(unpack(list)) } end)
end
local function second_of(f)
    return np.grad(function(list)
        local sum = 0
        for k, g in ipairs(gradients_of(f)(list)) do sum = sum + (g * direction(g, k - 1)):sum() end
        return sum
    end)
end

--- What differs between arrays and the fields of a record from `first` on.
local function compare(what, arrays, record, first)
    for k, x in ipairs(arrays) do
        local text = reader.difference(x, record[first + k - 1], record[5])
        if text then return ("%s %d: %s"):format(what, k, text) end
    end
end

local function same(f) return f end

--- Compares all that a record has with f, as it is or jitted.
local function examine(case, record, f, transform)
    local values, first = { transform(f)(unpack(case.inputs)) }, 6
    local problem = compare("value", values, record, first)
    first = first + #case.outputs
    if problem or not record[first] then return problem end
    return compare("gradient", transform(gradients_of(f))(case.inputs), record, first)
        or compare("second derivative", transform(second_of(f))(case.inputs), record, first + #case.inputs)
end

local every = (os.getenv "NEAP_TEST_BUILD" or "release") == "release" and 1 or 5 -- records that are looked at
local records = reader.records "mesh"

for k = 1, #records, every do
    local record = records[k]
    local texts = { mesh = record[1], inputs = record[2], program = record[3], outputs = record[4] }
    local case = programs.parse(texts)
    local about = programs.show(texts)
    collector.add("the slicing reference", function()
        return examine(case, record, programs.by_slices(case), same)
    end, about)
    collector.add("np.shard_map", function()
        return examine(case, record, programs.by_mesh(case), same)
    end, about)
    collector.add("np.jit(np.shard_map)", function()
        return examine(case, record, programs.by_mesh(case), np.jit)
    end, about)
end
collector.finish(check)
