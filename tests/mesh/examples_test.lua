--- examples_test.lua (under tsan with --long): small worked examples of np.shard_map, eager and jitted: the shapes of
-- blocks and results, and values against ordinary arrays.
local np = require "neap"
local check = require "tests.lib.check"

require "tests.lib.devices" (8, "tests/mesh/examples_test.lua")

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" })

--- Runs a test with f as it is, and with np.jit(f).
local function both(name, f)
    check.test(name .. ", eager", function() f(function(g) return g end) end)
    check.test(name .. ", jitted", function() f(np.jit) end)
end

--- x has this shape and these elements (nested tables, or an array).
local function expect(x, shape, values)
    check.equal(x.shape, shape)
    check.equal(x:totable(), type(values) == "cdata" and values:totable() or values)
end

local function iota(...)
    local size = 1
    for _, n in ipairs { ... } do size = size * n end
    return np.arange(size, { dtype = "f32" }):reshape(...)
end

both("a product whose partial sums are added", function(staged)
    local a, b = iota(8, 16), iota(16, 32)
    local f = staged(np.shard_map(function(x, y)
        check.equal({ x.shape, y.shape }, { { 2, 8 }, { 8, 32 } })
        local product = np.psum(x:matmul(y), "j")
        check.equal(product.shape, { 2, 32 })
        return product
    end, { mesh = mesh, in_specs = { P("i", "j"), P("j", nil) }, out_specs = P("i", nil) }))
    local c = f(a, b)
    expect(c, { 8, 32 }, a:matmul(b))
    check.equal(c.sharding.spec, P("i", nil))
end)

both("a product whose partial sums are added and scattered", function(staged)
    local a, b = iota(8, 16), iota(16, 32)
    local f = staged(np.shard_map(function(x, y)
        local product = np.psum_scatter(x:matmul(y), "j", { scatter_dimension = 1, tiled = true })
        check.equal(product.shape, { 2, 16 })
        return product
    end, { mesh = mesh, in_specs = { P("i", "j"), P("j", nil) }, out_specs = P("i", "j") }))
    local c = f(a, b)
    expect(c, { 8, 32 }, a:matmul(b))
    check.equal(c.sharding.spec, P("i", "j"))
end)

both("an output is tiled over an axis that its input is not split over", function(staged)
    local x = iota(12, 12)
    local function run(given, in_spec)
        return staged(np.shard_map(function(block)
            check.equal(block.shape, { 3, 12 })
            return block
        end, { mesh = mesh, in_specs = in_spec, out_specs = P("i", "j") }))(given)
    end
    local y = run(x, P("i", nil))
    expect(y, { 12, 24 }, np.tile(x, { 1, 2 }))
    expect(run(np.tile(x, { 1, 2 }), P("i", "j")), { 12, 24 }, y)
end)

both("sums over one axis and over two", function(staged)
    local x = iota(12, 12)
    local parts = x:reshape(4, 3, 2, 6)
    local function run(names, spec)
        return staged(np.shard_map(function(block) return np.psum(block, names) end,
                                   { mesh = mesh, in_specs = P("i", "j"), out_specs = spec }))(x)
    end
    expect(run("j", P("i", nil)), { 12, 6 }, parts:sum { axis = 2 }:reshape(12, 6))
    expect(run("i", P(nil, "j")), { 3, 12 }, parts:sum { axis = 0 }:reshape(3, 12))
    expect(run({ "i", "j" }, P(nil, nil)), { 3, 6 }, parts:sum { axis = { 0, 2 } })
    expect(run({ "i", "j" }, P()), { 3, 6 }, parts:sum { axis = { 0, 2 } })
end)

both("a body without arguments", function(staged)
    local three = np.array { { 3 } }
    local function run(spec)
        return staged(np.shard_map(function() return three end, { mesh = mesh, in_specs = {}, out_specs = spec }))()
    end
    expect(run(P("i", "j")), { 4, 2 }, np.full({ 4, 2 }, 3))
    expect(run(P("i", nil)), { 4, 1 }, np.full({ 4, 1 }, 3))
    expect(run(P(nil, nil)), { 1, 1 }, { { 3 } })
end)

both("blocks of another shape", function(staged)
    local row = np.mesh({ 4 }, { "i" }, { devices = { unpack(np.devices(), 1, 4) } })
    local y = iota(8, 5)
    local function body(block)
        check.equal(block.shape, { 2, 5 })
        return np.pad(block * 2, { { 0, 1 }, { 1, 1 } }) + 1
    end
    local z = staged(np.shard_map(body, { mesh = row, in_specs = P("i"), out_specs = P("i") }))(y)
    local parts = np.split(y, 4)
    for k = 1, 4 do parts[k] = body(parts[k]) end
    expect(z, { 12, 7 }, np.concatenate(parts))
end)

both("an axis of the array over two axes of the mesh, in both orders", function(staged)
    local x = iota(16, 3)
    local function run(spec)
        return staged(np.shard_map(function(block)
            check.equal(block.shape, { 2, 3 })
            return block + np.axis_index({ "i", "j" }) * 100
        end, { mesh = mesh, in_specs = spec, out_specs = spec }))(x)
    end
    local device = np.repeat_(np.arange(8, { dtype = "f32" }), 2):reshape(16, 1)
    expect(run(P({ "i", "j" }, nil)), { 16, 3 }, x + device * 100)
    local swapped = np.arange(8, { dtype = "f32" }):reshape(4, 2).T:flatten()
    expect(run(P({ "j", "i" }, nil)), { 16, 3 }, x + np.repeat_(swapped, 2):reshape(16, 1) * 100)
end)

-- ---- A layer of a transformer in the two-dimensional, weight-gathered layout ----------------------------------------
-- Activations (tokens, embed) are split over batch and embed, weights (embed, wide) over embed and heads. Each device
-- multiplies its slice of embed by its part of the weights; the partial sums of a chunk of columns travel around the
-- ring of "j" and take up one product on each device, while the next product is computed.

--- The partial sums of x:matmul(w) over "j", of which each device keeps its chunk of the columns.
local function scattered_product(x, w)
    local n = np.axis_size "j"
    local at, width, ring = np.axis_index "j", w:dim(1) / n, {}
    for k = 0, n - 1 do ring[k + 1] = { k, (k + 1) % n } end
    local chunks, sum = w:reshape(w:dim(0), n, width), nil
    for turn = 1, n do
        local chunk = np.take(chunks, (at + n - turn) % n, { axis = 1 })
        local product = x:matmul(chunk)
        sum = sum and np.ppermute(sum, "j", ring) + product or product
    end
    return sum
end

both("manual and automatic code in a transformer's layer", function(staged)
    local tokens, embed, wide = 8, 4, 6
    local x = (iota(tokens, embed) % 7 - 3) / 8
    local w_in, w_out = (iota(embed, wide) % 5 - 2) / 4, (iota(wide, embed) % 3 - 1) / 4
    local project = np.shard_map(scattered_product, {
        mesh = mesh, in_specs = { P("i", "j"), P("j", nil) }, out_specs = P("i", "j"),
    })
    local function layer(product)
        return function(a, w, v)
            local hidden = product(a, w)
            return a + np.softmax(hidden, { axis = 1 }):matmul(v)
        end
    end
    local put = {
        np.device_put(x, mesh, P("i", "j")), np.device_put(w_in, mesh, P("j", nil)),
        np.device_put(w_out, mesh, P(nil, "j")),
    }
    local plain = layer(function(a, w) return a:matmul(w) end)
    expect(staged(project)(put[1], put[2]), { tokens, wide }, x:matmul(w_in)) -- exact: multiples of 1/32
    local want, got = plain(x, w_in, w_out), staged(layer(project))(unpack(put))
    check.close(got:totable(), want:totable(), 1e-6)
    local function loss(product)
        return function(...) return (layer(product)(...) ^ 2):sum() end
    end
    local options = { argnums = { 1, 2, 3 } }
    local gradients = { staged(np.grad(loss(project), options))(unpack(put)) }
    local expected = { np.grad(loss(function(a, w) return a:matmul(w) end), options)(x, w_in, w_out) }
    for k = 1, 3 do check.close(gradients[k]:totable(), expected[k]:totable(), 1e-6) end
end)

check.done()
