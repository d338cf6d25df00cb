--- costs_test.lua (release build only): program:cost counts operations and bytes as JAX does of what it has compiled
-- (costs.txt, made by make_costs.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local function f32(...) return { shape = { ... }, dtype = "f32" } end

local programs = {
    product = np.trace(function(a, b) return a:matmul(b) end)(f32(32, 64), f32(64, 16)),
    products = np.trace(function(a, b, c) return a:matmul(b):matmul(c) end)(f32(8, 16), f32(16, 32), f32(32, 4)),
    maps = np.trace(function(x, y) return x * 2 + y end)(f32(64, 32), f32(64, 32)),
    ["product and map"] = np.trace(function(a, b) return np.maximum(a:matmul(b), 0) end)(f32(256, 16), f32(16, 256)),
}

for _, record in ipairs(reader.records "costs") do
    local name = record[1]
    check.test("costs of " .. name, function()
        local cost = programs[name]:compile():cost()
        local memory = cost.memory
        check.equal(cost.flops, tonumber(record[2]), "operations")
        check.equal(cost.bytes_read + cost.bytes_written, tonumber(record[3]), "bytes read and written")
        check.equal({ memory.inputs, memory.outputs, memory.temporaries },
                    { tonumber(record[4]), tonumber(record[5]), tonumber(record[6]) }, "memory")
    end)
end

check.done()
