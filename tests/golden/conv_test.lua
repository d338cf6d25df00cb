--- conv_test.lua (under tsan with --long): np.nn.conv, max_pool and avg_pool equal JAX, with derivatives (conv.txt;
-- make_conv.py has the same functions). Every case runs in f64 (by the BLAS) and in f32 (by oneDNN where it is there),
-- and under np.vmap.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local conv, max_pool, avg_pool = np.nn.conv, np.nn.max_pool, np.nn.avg_pool

local function weigh(y)
    local weights = (np.arange(y.size, { dtype = y.dtype }) * 0.125 + 0.5):reshape(y.shape)
    return (y * weights):sum()
end

local cases = {} -- by name: function(inputs…) → results…

function cases.line(x, w)
    return conv(x, w), conv(x, w, { strides = 2, padding = "VALID" }),
        conv(x, w, { strides = 3, padding = { { 0, 4 } } })
end
function cases.plane(x, w)
    return conv(x, w, { strides = { 2, 1 } }), conv(x, w, { padding = "VALID" }), conv(x, w, { strides = 2 }),
        conv(x, w, { padding = { { 2, 0 }, { 1, 3 } } })
end
function cases.space(x, w) return conv(x, w), conv(x, w, { strides = { 1, 2, 1 }, padding = 0 }) end
function cases.dilated_groups(x, w)
    return conv(x, w, { groups = 2, kernel_dilation = { 2, 1 } }),
        conv(x, w, { groups = 2, strides = { 2, 3 }, padding = { { 1, 2 }, { 0, 1 } }, kernel_dilation = 2 }),
        conv(x, w, { groups = 2, padding = "VALID", input_dilation = { 2, 3 } }),
        conv(x, w, { groups = 2, strides = 2, padding = { { 3, -1 }, { -2, 2 } }, input_dilation = { 1, 2 } })
end
function cases.depthwise(x, w) return conv(x, w, { groups = 3 }) end
function cases.channels_first(x, w) return conv(x, w, { strides = 2, layout = "NCHW" }) end
function cases.kernel_larger_than_images(x, w)
    return conv(x, w), conv(x, w, { padding = "VALID" }), conv(x, w, { padding = { { 3, 3 }, { 0, 1 } } })
end
function cases.transposed(x, w)
    local transpose = np.nn.conv_transpose
    return transpose(x, w, { strides = { 2, 3 } }), transpose(x, w, { strides = { 2, 1 }, padding = "VALID" }),
        transpose(x, w, { strides = { 1, 2 }, padding = { { 1, 0 }, { 2, 1 } } }),
        transpose(x, w, { strides = { 3, 2 }, kernel_dilation = { 1, 2 } }), transpose(x, w)
end
function cases.pooling(x)
    local same = { strides = { 2, 1 }, padding = "SAME" }
    return max_pool(x, 2) + avg_pool(x, { 2, 2 }), max_pool(x, { 3, 2 }, { strides = { 1, 2 }, padding = "SAME" }),
        avg_pool(x, { 3, 2 }, same),
        avg_pool(x, { 3, 2 }, { strides = same.strides, padding = "SAME", count_include_pad = false })
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local collector = reader.collector()

local function direction(x)
    local places = np.remainder(np.arange(x.size) * 5, 7) - 3
    return (places:astype(x.dtype) / 8):reshape(x.shape)
end

--- Results, gradients, second and third derivatives along the directions, in one list. `f` returns a list of results.
local function everything(f, inputs)
    local function scalar(list) return weigh(f(unpack(list))[1] ^ 2) end
    local list = f(unpack(inputs))
    for _, gradient in ipairs(np.grad(scalar)(inputs)) do list[#list + 1] = gradient end
    local first = np.grad(function(t)
        local moved = {}
        for k, x in ipairs(inputs) do moved[k] = x + direction(x) * t end
        return scalar(moved)
    end)
    local zero = np.zeros({}, { dtype = inputs[1].dtype })
    local _, second = np.jvp(first, { zero }, { zero + 1 })
    list[#list + 1], list[#list + 2] = second, np.grad(np.grad(first))(zero)
    return list
end

local function differences(got, record, from, dtype, tolerance)
    local found = {}
    for k = from, #record do
        local want, y = reader.array(record[k]), got[k - from + 1]
        want.dtype = dtype
        local text = y and reader.difference(y, want, tolerance) or (not y and "is missing") or nil
        if text then found[#found + 1] = ("result %d: %s"):format(k - from + 1, text) end
    end
    return found[1] and table.concat(found, "; ")
end

--- The results and gradients of many examples at once, and of each alone; what differs.
local function compare_batched(f, inputs)
    local function gradients(list)
        return np.grad(function(xs) return weigh(f(unpack(xs))[1] ^ 2) end)(list)
    end
    for mask = 1, 2 ^ #inputs - 1 do
        local many, axes = {}, {}
        for k, x in ipairs(inputs) do
            axes[k] = math.floor(mask / 2 ^ (k - 1)) % 2 == 1 and 0 or false
            many[k] = axes[k] and np.stack { x, x * 0.5, x * -1.25 } or x
        end
        local batched = np.vmap(gradients, { in_axes = { axes } })(many)
        for example = 0, 2 do
            local own = {}
            for k in ipairs(inputs) do own[k] = axes[k] and many[k][example] or many[k] end
            for k, want in ipairs(gradients(own)) do
                if not np.allclose(batched[k][example], want, { rtol = 1e-9, atol = 1e-9 }) then
                    return ("batched %d: gradient %d of example %d differs"):format(mask, k, example)
                end
            end
        end
    end
end

for _, record in ipairs(reader.records "conv") do
    local name, from = record[1], reader.position(record, "=") + 1
    local function f(...) return { cases[name](...) } end
    local function inputs_of(dtype)
        local inputs = {}
        for k = 3, from - 2 do inputs[#inputs + 1] = reader.build(record[k], dtype) end
        return inputs
    end
    for dtype, tolerance in pairs { f64 = record[2], f32 = "scaled 1e-4" } do
        collector.add(name, function()
            return differences(everything(f, inputs_of(dtype)), record, from, dtype, tolerance)
        end, dtype)
    end
    collector.add(name, function()
        local given = inputs_of "f64"
        return differences(np.jit(f)(unpack(given)), { unpack(record, 1, from + #f(unpack(given)) - 1) },
                           from, "f64", record[2])
    end, "jitted")
    collector.add(name, function() return compare_batched(f, inputs_of "f64") end, "batched")
end
collector.finish(check)
