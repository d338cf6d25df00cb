--- nested_test.lua (under tsan with --long): np.shard_map inside the body of another one, over further axes of the
-- mesh, compared with the slicing reference: values, gradients to order 2 and tangents, eager and jitted.
local np = require "neap"
local check = require "tests.lib.check"
local reference = require "tests.lib.mesh_reference"

require "tests.lib.devices" (8, "tests/mesh/nested_test.lua")

local P = reference.P
local SIZES, NAMES = { 2, 2, 2 }, { "i", "j", "k" }
local mesh, sliced = np.mesh(SIZES, NAMES), reference.mesh(SIZES, NAMES)

--- A function that makes np.shard_maps of bodies that take np, blocks, and the function itself: map(body, in_spec,
-- out_spec, axes).
local function real_map(body, in_spec, out_spec, axes)
    return np.shard_map(function(block) return body(np, block, real_map) end, {
        mesh = mesh, in_specs = reference.real_specs(in_spec), out_specs = reference.real_specs(out_spec),
        axis_names = axes,
    })
end

--- The same by the reference; inside of a body, whose np is `lib`, by that.
local function sliced_map(lib)
    return function(body, in_spec, out_spec, axes)
        local options = { mesh = sliced, in_specs = in_spec, out_specs = out_spec, axis_names = axes }
        if lib then
            return lib.shard_map(function(block) return body(lib, block, sliced_map(lib)) end, options)
        end
        return reference.shard_map(function(inner, block) return body(inner, block, sliced_map(inner)) end, options)
    end
end

-- By name: the shape of the argument, the result's spec, and a body over blocks along "i".
local cases = {
    ["over one further axis"] = { { 8, 3 }, P "i", function(_, x, map)
        return map(function(lib, y) return lib.psum(y * y, "j") end, P "j", P(), { "j" })(x)
    end },
    ["a sum over axes of both"] = { { 8, 3 }, P(), function(_, x, map)
        return map(function(lib, y) return lib.psum(y * y, { "i", "j" }) end, P "j", P(), { "j" })(x)
    end },
    ["one after the other, and between them sums"] = { { 8, 4 }, P "i", function(lib, x, map)
        local a = map(function(inner, y)
            return inner.all_gather(y, "j", { tiled = true }) * inner.axis_index("j"):astype(y.dtype)
        end, P "j", P "j", { "j" })(x)
        local b = map(function(_, y) return y * 2 end, P(nil, "k"), P(nil, "k"), { "k" })(a)
        return lib.psum(b:sum(), "i") + b
    end },
    ["an array of the outer body"] = { { 8, 3 }, P "i", function(_, x, map)
        local w = x * 3
        return map(function(_, y) return y * w:sum() end, P "j", P "j", { "j" })(x)
    end },
    ["a loop"] = { { 8, 4 }, P "i", function(_, x, map)
        return map(function(lib, y)
            local _, ys = lib.scan(function(carry, row)
                carry = carry + lib.psum(row, "j") * row
                return carry, carry * 2
            end, y[0] * 0, y)
            return ys
        end, P(nil, "j"), P(nil, "j"), { "j" })(x)
    end },
    ["all further axes"] = { { 8, 3 }, P "i", function(_, x, map)
        return map(function(lib, y)
            return lib.psum_scatter(y, { "k", "j" }, { tiled = true }) * lib.psum(y:sum(), "i")
        end, P(), P { "j", "k" })(x)
    end },
    ["three deep"] = { { 8, 3 }, P "i", function(_, x, map)
        return map(function(_, y, map_inside)
            return map_inside(function(lib, z) return z * lib.psum(z, { "i", "j", "k" }) end, P "k", P "k", { "k" })(y)
        end, P "j", P "j", { "j" })(x)
    end },
    ["a gradient in the outer body"] = { { 8, 3 }, P "i", function(outer, x, map)
        return (outer.grad(function(a)
            return map(function(lib, y) return lib.psum((y * y * y):sum(), "j") end, P "j", P(), { "j" })(a)
        end)(x))
    end },
    ["a batch in the outer body"] = { { 4, 4 }, P "i", function(outer, x, map)
        return (outer.vmap(function(row)
            return map(function(lib, y) return lib.psum(y, "j") * y end, P "j", P "j", { "j" })(row)
        end)(x))
    end },
    ["jitted in the outer body"] = { { 8, 3 }, P "i", function(outer, x, map)
        return (outer.jit(function(a)
            return map(function(lib, y) return lib.psum(y, "j") * y end, P "j", P "j", { "j" })(a)
        end)(x))
    end },
}

--- The sum of all elements with weights from -5 to 5.
local function weigh(y)
    local weights = ((np.arange(y.size) * 7) % 11 - 5):astype(y.dtype)
    return (y * weights:reshape(y.shape)):sum()
end

local function gradient(f)
    return np.grad(function(x) return weigh(f(x)) end)
end

local what = {
    value = function(f) return f end,
    gradient = gradient,
    ["second derivative"] = function(f) return gradient(gradient(f)) end,
    tangent = function(f)
        return function(x) return (select(2, np.jvp(f, { x }, { x * 2 - 1 }))) end
    end,
}

for name, case in pairs(cases) do
    check.test(name, function()
        local shape, out_spec, body = unpack(case)
        local x = ((np.arange(shape[1] * shape[2]) * 5) % 7 - 3):astype("f64"):reshape(shape)
        local f, want = real_map(body, P "i", out_spec, { "i" }), sliced_map()(body, P "i", out_spec, { "i" })
        for about, derive in pairs(what) do
            local expected = derive(want)(x)
            for way, staged in pairs { eager = function(g) return g end, jitted = np.jit } do
                local got = staged(derive(f))(x)
                check.equal(got.shape, expected.shape)
                check.ok(np.array_equal(got, expected), -- whole numbers: exact
                         ("%s, %s: got %s, expected %s"):format(about, way, tostring(got), tostring(expected)))
            end
        end
    end)
end

check.done()
