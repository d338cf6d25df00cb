--- quantized.lua: products with weights of 8 and 4 bits, and products and convolutions of bytes, beside the same with
-- floats: how many times as long they take. Of weights the values that a product loses are told, too: the size of the
-- difference to the product with f32, as a part of that.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local measure = require "bench.measure"

local nn = np.nn
local WIDTH = measure.quick and 1024 or 4096
local key = np.random.key(0)

--- A row of contenders; the first is measured by the others, and is to take no longer than the second.
local function row(name, contenders)
    local list, names = {}, {}
    for k, pair in ipairs(contenders) do
        local f = pair[2]
        names[k], list[k] = pair[1], { name = pair[1], timer = measure.timer(function() np.wait(f()) end) }
    end
    local times, checks = measure.rounds_of(list), {}
    local best = measure.min(times[1])
    for k = 2, #list do
        checks[k - 1] = { name = names[k], ratio = best / measure.min(times[k]), goal = k == 2 and 1 or 3 }
    end
    measure.row { name = name, value = measure.median(times[1]), best = best, unit = "ns", checks = checks }
end

-- ---- Weights --------------------------------------------------------------------------------------------------------

local w = np.random.normal(key, { WIDTH, WIDTH }) / math.sqrt(WIDTH)
local product = np.jit(function(x, weights) return nn.dense(x, weights) end)
for _, rows in ipairs { 1, 64 } do
    local x = np.random.normal(np.random.fold_in(key, rows), { rows, WIDTH })
    local exact = nn.dense(x, w)
    for _, bits in ipairs { 8, 4 } do
        local small = nn.quantize_weights({ w = w }, { bits = bits }).w
        np.wait(small, exact)
        local lost = np.linalg.norm(nn.dense(x, small) - exact):item() / np.linalg.norm(exact):item()
        row(("dense, %d x %d, weights of %d bits, %d rows, loses %.4f"):format(WIDTH, WIDTH, bits, rows, lost),
            { { "quantized", function() return product(x, small) end },
              { "f32", function() return product(x, w) end } })
    end
end

-- ---- Bytes ----------------------------------------------------------------------------------------------------------

local N = measure.quick and 256 or 768
local function bytes(k, dims) return np.random.randint(np.random.fold_in(key, k), dims, -128, 128):astype "i8" end

local function beside(name, f, of_integers, a, b)
    local a32, b32 = a:astype "i32", b:astype "i32"
    local af, bf = a:astype "f32", b:astype "f32"
    np.wait(a, b, a32, b32, af, bf)
    local own, other = np.jit(f), np.jit(of_integers)
    row(name, { { "bytes", function() return own(a, b) end }, { "i32", function() return other(a32, b32) end },
                { "f32", function() return other(af, bf) end } })
end

beside(("matmul_integer, %d x %d x %d"):format(N, N, N), nn.matmul_integer, np.matmul, bytes(1, { N, N }),
       bytes(2, { N, N }))
beside("conv_integer, 4 x 28 x 28 x 64, 3 x 3", function(x, k) return nn.conv_integer(x, k) end,
       function(x, k) return nn.conv(x, k) end, bytes(3, { 4, 28, 28, 64 }), bytes(4, { 3, 3, 64, 64 }))
os.exit(0)
