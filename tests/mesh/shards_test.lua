--- shards_test.lua: sharded arrays are not copies of the whole: each device holds the bytes of its block, devices that
-- have the same block share one, and handing a sharded array from one np.shard_map to the next moves nothing.
local ffi = require "ffi"
local np = require "neap"
local check = require "tests.lib.check"
local core = require "neap.core"

require "tests.lib.devices" (8, "tests/mesh/shards_test.lua")

local P, C, ctx = np.P, core.C, core.ctx
local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local ROWS, COLUMNS = 64, 96
local BYTES = ROWS * COLUMNS * 4

--- An array that is in memory.
local function values()
    return (np.arange(ROWS * COLUMNS, { dtype = "f32" }):reshape(ROWS, COLUMNS) * 0.5):wait()
end

--- By how many bytes memory, and by how many kernels and calls the count of launches grew while f ran and what it
-- started ended; then f's result.
local function growth(f)
    np.wait_all()
    np.memory.trim()
    local bytes, launches = np.memory().live, np.debug.counters().launches
    local result = f()
    np.force(result)
    np.wait_all()
    np.memory.trim()
    return np.memory().live - bytes, np.debug.counters().launches - launches, result
end

--- The distinct blocks of an array in this process, and the addresses of their elements.
local function blocks_of(x)
    local list, addresses = {}, {}
    local out, position = ffi.new "int32_t[1]", ffi.new "int32_t[1]"
    for k = 0, C.neap_array_blocks(ctx, x._id) - 1 do
        list[k + 1] = core.call_ids("test", out, 1, function()
            return C.neap_array_block(ctx, x._id, k, out, position)
        end)[1]
        addresses[k + 1] = tonumber(ffi.cast("intptr_t", core.data(list[k + 1]:wait())))
    end
    return list, addresses
end

local layouts = {
    { spec = P("i", "j"), blocks = 8, shape = { ROWS / 4, COLUMNS / 2 } },
    { spec = P({ "j", "i" }, nil), blocks = 8, shape = { ROWS / 8, COLUMNS } },
    { spec = P("i", nil), blocks = 4, shape = { ROWS / 4, COLUMNS } },
    { spec = P(nil, "j"), blocks = 2, shape = { ROWS, COLUMNS / 2 } },
    { spec = P(), blocks = 1, shape = { ROWS, COLUMNS } },
}

check.test("each device holds its block, and what several have in common is there once", function()
    for _, layout in ipairs(layouts) do
        local x = values()
        local bytes, _, y = growth(function() return np.device_put(x, mesh, layout.spec) * 2 end)
        check.equal(bytes, BYTES, tostring(layout.spec))
        local blocks, addresses = blocks_of(y)
        check.equal(#blocks, layout.blocks)
        table.sort(addresses)
        for k, block in ipairs(blocks) do
            check.equal(block.shape, layout.shape)
            if k > 1 then check.ok(addresses[k] - addresses[k - 1] >= BYTES / layout.blocks, "blocks overlap") end
        end
        check.equal(y:totable(), (x * 2):totable())
    end
end)

check.test("the work is done once for each block", function()
    for _, layout in ipairs(layouts) do
        local x = np.device_put(values(), mesh, layout.spec):wait()
        local bytes, launches = growth(function() return x + 1 end)
        check.equal({ bytes, launches }, { BYTES, layout.blocks }, tostring(layout.spec))
    end
end)

--- np.shard_map of f with one spec for all.
local function mapped(f, spec)
    return np.shard_map(f, { mesh = mesh, in_specs = spec, out_specs = spec })
end

check.test("a sharded array enters and leaves a body as it is", function()
    for _, layout in ipairs(layouts) do
        local x = np.device_put(values(), mesh, layout.spec):wait()
        local same = mapped(function(block) return block end, layout.spec)
        local bytes, launches, y = growth(function() return same(same(x)) end)
        check.equal({ bytes, launches }, { 0, 0 }, tostring(layout.spec))
        local _, before = blocks_of(x)
        local _, after = blocks_of(y)
        check.equal(after, before)
    end
end)

for _, way in ipairs { "eager", "jitted" } do
    check.test("from one shard_map to the next nothing is copied, " .. way, function()
        local staged = way == "jitted" and np.jit or function(f) return f end
        for _, layout in ipairs(layouts) do
            local first = staged(mapped(function(block) return block * 3 end, layout.spec))
            local second = staged(mapped(function(block) return block - 1 end, layout.spec))
            local x = np.device_put(values(), mesh, layout.spec):wait()
            second(first(x)):wait() -- traced and planned
            local bytes, launches, y = growth(function() return first(x) end)
            check.equal({ bytes, launches }, { BYTES, layout.blocks }, "the first, " .. tostring(layout.spec))
            local z
            bytes, launches, z = growth(function() return second(y) end)
            check.equal({ bytes, launches }, { BYTES, layout.blocks }, "the second, " .. tostring(layout.spec))
            check.equal(z:totable(), (values() * 3 - 1):totable())
        end
    end)
end

check.test("a permutation of blocks moves no data", function()
    local x = np.device_put(values(), mesh, P("i", nil)):wait()
    local bytes, launches, y = growth(function()
        return mapped(function(block)
            return np.ppermute(block, "i", { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 } })
        end, P("i", nil))(x)
    end)
    check.equal({ bytes, launches }, { 0, 0 })
    check.equal(y:totable(), np.roll(values(), ROWS / 4, { axis = 0 }):totable())
end)

check.done()
