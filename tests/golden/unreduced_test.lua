--- unreduced_test.lua (release build only): arrays that are unreduced or reduced over an axis of a mesh have the types
-- and values that they have in JAX, and what JAX refuses for good is refused (unreduced.txt, made by
-- make_unreduced.py). Runs itself again with eight devices.
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"
local np = require "neap"

require "tests.lib.devices" (8, "tests/golden/unreduced_test.lua")

local P = np.P
local mesh = np.mesh({ 4, 2 }, { "i", "j" }, { explicit = true })
np.set_mesh(mesh)
local UNREDUCED, REDUCED = P { unreduced = "j" }, P { reduced = "j" }

local a = np.arange(16, { dtype = "f32" }):reshape(4, 4) / 8
local whole = np.device_put(a, P())
local x, y = np.device_put(a, P(nil, "j")), np.device_put(a, P "j")
local r, u = np.reshard(whole, REDUCED), np.matmul(x, y, { out_sharding = UNREDUCED })

local function loss(w, b) return np.tanh(b:matmul(w)):sum() end

local function body(f, ins, out) return np.shard_map(f, { in_specs = ins, out_specs = out }) end

local function gathered(v) return np.all_gather(v, "j", { tiled = true, to = "reduced" }) end

local cases = {
    dot = function() return u end,
    einsum = function() return np.einsum("ij,jk->ki", x, y, { out_sharding = UNREDUCED }) end,
    sum = function() return u:sum() end,
    ["sum 0"] = function() return y:sum { axis = 0, out_sharding = UNREDUCED } end,
    transpose = function() return u.T end,
    reshape = function() return u:reshape(2, 8) end,
    concatenate = function() return np.concatenate { u, u } end,
    slice = function() return u[{ { 1, 3 } }] end,
    cast = function() return u:astype "f64" end,
    add = function() return u + u end,
    ["add whole"] = function() return u + whole end,
    multiply = function() return u * r end,
    ["multiply two"] = function() return u * u end,
    exp = function() return np.exp(u) end,
    product = function() return u:matmul(u) end,
    ["exp reduced"] = function() return np.exp(r) end,
    ["number reduced"] = function() return r * 2 end,
    ["divided to unreduced"] = function() return np.reshard(x, UNREDUCED) end,
    ["whole to unreduced"] = function() return np.reshard(whole, UNREDUCED) end,
    ["reduced to unreduced"] = function() return np.reshard(r, UNREDUCED) end,
    ["reduced to whole"] = function() return np.reshard(r, P()) end,
    ["divided to reduced"] = function() return np.reshard(x, REDUCED) end,
    ["unreduced to reduced"] = function() return np.reshard(u, REDUCED) end,
    gradient = function() return np.jit(np.grad(loss))(r, y) end,
    ["gradient of sum"] = function()
        return np.grad(function(v)
            return np.reshard(np.matmul(v, y, { out_sharding = UNREDUCED }) * r, P()):sum()
        end)(x)
    end,
    ["gradient through reduced"] = function()
        return np.grad(function(v) return np.tanh(y:matmul(np.reshard(v, REDUCED))):sum() end)(whole)
    end,
    ["body cast"] = function()
        return body(function(v, w) return np.pcast(v:matmul(w), "j", { to = "unreduced" }) end,
                    { P(nil, "j"), P "j" }, UNREDUCED)(x, y)
    end,
    ["body psum"] = function() return body(function(v) return np.psum(v, "j") end, UNREDUCED, P())(u) end,
    ["body psum_scatter"] = function()
        return body(function(v) return np.psum_scatter(v, "j", { tiled = true }) end, UNREDUCED, P "j")(u)
    end,
    ["body all_gather"] = function() return body(gathered, P "j", REDUCED)(y) end,
    ["body exp"] = function() return body(np.exp, UNREDUCED, UNREDUCED)(u) end,
    ["body gradient"] = function()
        return body(function(w, v) return np.grad(loss)(w, v) end, { REDUCED, P "j" }, UNREDUCED)(r, y)
    end,
    ["body gradient cast"] = function()
        return body(function(w, v) return np.grad(loss)(np.pcast(w, "j", { to = "reduced" }), v) end,
                    { P(), P "j" }, UNREDUCED)(whole, y)
    end,
    ["body gradient gather"] = function()
        return np.grad(function(v) return np.reshard(body(gathered, P "j", REDUCED)(v), P()):sum() end)(y)
    end,
}

local function kind(v)
    local spec, parts = v.sharding.spec, {}
    for _, name in ipairs(spec.unreduced or {}) do parts[#parts + 1] = "U:" .. name end
    for _, name in ipairs(spec.reduced or {}) do parts[#parts + 1] = "R:" .. name end
    return parts[1] and table.concat(parts, " ") or "-"
end

local refused = 0
check.test("types and values are those of JAX", function()
    for _, record in ipairs(reader.records "unreduced") do
        local name, want = record[1], record[2]
        local ok, result = pcall(cases[name])
        if want == "refused" then
            refused = refused + 1
            check.equal(ok, false, name)
            check.ok(not ok and result:find "is not done", result)
        else
            check.equal(ok and kind(result) or result, want, name)
            check.equal(reader.difference(np.reshard(result, P()), record[3], "scaled 1e-5"), nil, name)
        end
    end
    check.equal(refused > 3, true)
end)

check.done()
