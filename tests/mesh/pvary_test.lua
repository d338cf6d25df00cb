--- pvary_test.lua (under tsan with --long): np.pvary, by which the gradient in the body of np.shard_map with respect to
-- what devices share is each device's own; and the warnings of np.psum and its kin about what is the same on all
-- devices, once a line.
require "tests.lib.devices" (8, "tests/mesh/pvary_test.lua")
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local P = np.P
local mesh = np.mesh({ 8 }, { "i" })
local square = np.mesh({ 4, 2 }, { "i", "j" })
local x = np.random.normal(np.random.key(1), { 16, 3 })
local y = np.random.normal(np.random.key(2), { 16 })
local w = np.array { 0.5, -1, 2 }

local function loss(v, a, b)
    local d = np.tanh(a:matmul(v)) - b
    return (d * d):mean()
end

--- The slicing reference: the gradient of each part of the batch, one after the other.
local function gradients(parts)
    local all, size = {}, 16 / parts
    for k = 0, parts - 1 do
        local rows = { k * size, (k + 1) * size }
        all[k + 1] = np.grad(loss)(w, x[{ rows }], y[{ rows }])
    end
    return np.stack(all)
end

local function close(a, b)
    check.ok(np.allclose(a, b, { rtol = 1e-5, atol = 1e-6 }), tostring(a) .. "\n" .. tostring(b))
end

for way, wrap in pairs { eager = function(f) return f end, jitted = np.jit } do
    local function test(name, f) check.test(name .. ", " .. way, f) end
    local function map(f, out, on)
        return wrap(np.shard_map(f, { mesh = on or mesh, in_specs = { P(), P "i", P "i" }, out_specs = out or P() }))
    end

    test("the mean of the devices' gradients", function()
        local mean = map(function(v, a, b) return np.pmean(np.grad(loss)(np.pvary(v, "i"), a, b), "i") end)(w, x, y)
        close(mean, gradients(8):mean(0))
        close(mean, np.grad(loss)(w, x, y))
    end)

    test("each device's own gradient", function()
        local own = map(function(v, a, b) return np.grad(loss)(np.pvary(v, "i"), a, b):reshape(1, 3) end, P "i")
        close(own(w, x, y), gradients(8))
    end)

    test("of what is read from around the body, of trees, along one axis of two", function()
        local captured = map(function(_, a, b) return np.pmean(np.grad(loss)(np.pvary(w, "i"), a, b), "i") end)
        close(captured(w, x, y), gradients(8):mean(0))
        local tree = map(function(v, a, b)
            local function of_tree(t) return loss(t.v * t.s, a, b) end
            return np.pmean(np.grad(of_tree)(np.pvary({ v = v, s = 1 }, "i")).v, "i")
        end)
        close(tree(w, x, y), gradients(8):mean(0))
        local two = map(function(v, a, b) return np.pmean(np.grad(loss)(np.pvary(v, "i"), a, b), "i") end, nil, square)
        close(two(w, x, y), gradients(4):mean(0))
    end)

    test("its own gradient is the sum, and so is that of the whole", function()
        local whole = np.grad(function(v)
            return map(function(v2, a, b) return np.pmean(loss(np.pvary(v2, "i"), a, b), "i") end)(v, x, y)
        end)
        close(whole(w), gradients(8):mean(0))
        local in_body = map(function(v, a, b)
            return np.grad(function(v2) return loss(np.pvary(v2, "i"), a, b) end)(v)
        end)
        close(in_body(w, x, y), gradients(8):sum(0))
        local tangent = map(function(v, a, b)
            local _, own = np.jvp(function(v2) return loss(np.pvary(v2, "i"), a, b) end, { v }, { v })
            return np.pmean(own, "i")
        end)
        close(tangent(w, x, y), (gradients(8):mean(0) * w):sum())
    end)

    test("the value is the same, and may leave as it is", function()
        check.equal(map(function(v) return np.pvary(v, "i") end)(w, x, y):totable(), w:totable())
        local times = map(function(v) return np.psum(np.pvary(v, "i"), "i") end)(w, x, y)
        check.equal(times:totable(), (w * 8):totable())
        local unchecked = wrap(np.shard_map(function(v) return np.pvary(v, "i") end,
                                            { mesh = mesh, in_specs = P(), out_specs = P(), check_rep = false }))
        check.equal(unchecked(w):totable(), w:totable())
    end)

    test("in a body in a body, beside axes that are not open", function()
        local f = wrap(np.shard_map(function(v, a, b)
            return np.shard_map(function(v2, a2, b2)
                return np.pmean(np.grad(loss)(np.pvary(v2, { "i", "j" }), a2, b2), { "i", "j" })
            end, { mesh = square, in_specs = { P(), P "j", P "j" }, out_specs = P(), axis_names = { "j" } })(v, a, b)
        end, { mesh = square, in_specs = { P(), P "i", P "i" }, out_specs = P(), axis_names = { "i" } }))
        close(f(w, x, y), gradients(8):mean(0))
        local g = wrap(np.shard_map(function(v, a, b) return np.pmean(np.grad(loss)(np.pvary(v, "i"), a, b), "i") end,
                                    { mesh = square, in_specs = { P(), P "i", P "i" }, out_specs = P(),
                                      axis_names = { "i" } }))
        close(g(np.device_put(w, square, P()), np.device_put(x, square, P("j")), y), gradients(4):mean(0))
    end)
end

check.test("along an axis of np.vmap it is x, and names must be open", function()
    local twice = np.vmap(function(v) return np.psum(np.pvary(v, "b"), "b") end, { axis_name = "b" })
    check.equal(twice(np.arange(3)):totable(), { 3, 3, 3 })
    check.raises(function() np.pvary(w, "i") end, "np.pvary: unbound axis name 'i'")
    local elsewhere = np.device_put(np.ones(8), square, P "i")
    local function body() return np.pvary(elsewhere, "i") end
    check.raises(np.shard_map(body, { mesh = mesh, in_specs = {}, out_specs = P() }),
                 "lies on another mesh, {i=4, j=2}, than")
end)

-- ---- Warnings -------------------------------------------------------------------------------------------------------

--- What a body prints to stderr, with `lines` after line 4, where v, which is shared, and a, which is not, are there.
local function warnings(lines, more)
    local script = process.file(([[
local mesh, P = np.mesh({ 4, 2 }, { "i", "j" }), np.P
for _ = 1, 3 do
np.shard_map(function(v, a)
local g = np.grad(function(u) return (a * u):sum() end)(v)
%s
return a
end, { mesh = mesh, in_specs = { P(), P "i" }, out_specs = P "i" %s })(np.array(2.0), np.ones(8)):wait()
end]]):format(lines, more or ""))
    local status, _, err = process.run_neap { "--devices", "8", script }
    check.equal(status, 0, err)
    return (err:gsub("[^\n ]*/", ""):gsub("[^ \n]*:(%d+): warning", "LINE %1: warning"))
end

check.test("a sum of what is the same warns once a line, with both remedies", function()
    check.equal(warnings "np.pmean(g, 'i') np.pmean(g, 'i')\nnp.psum({ g = g, v = v }, 'i')", [[
LINE 5: warning: np.pmean: the array is known to be the same on all devices along 'i' of the mesh, so this gives the ]]
.. [[array itself; if it is a gradient with respect to what these devices share, it is summed over them already: for ]]
.. [[the gradient of each device take np.pvary(w, "i") before np.grad; else leave out np.pmean
LINE 6: warning: np.psum: the array is known to be the same on all devices along 'i' of the mesh, so this gives 4 ]]
.. [[times the array; if it is a gradient with respect to what these devices share, it is summed over them already: ]]
.. [[for the gradient of each device take np.pvary(w, "i") before np.grad; else leave out np.psum
]])
    local both = warnings "np.psum(a:sum(), { 'i', 'j' })\nnp.psum(v, { 'j', 'i' })"
    check.ok(both:find("LINE 5: .* along 'j' of the mesh, so this gives 2 times"), both)
    check.ok(both:find "LINE 6: .* along 'j', 'i' of the mesh, so this gives 8 times", both)
    check.ok(both:find 'np.pvary%(w, {"j", "i"}%) before', both)
    local scatter = warnings "np.psum_scatter(v:broadcast_to(4), 'i')"
    check.ok(scatter:find "np.psum_scatter: the array is known to be the same", scatter)
end)

check.test("what is meant to be summed does not warn", function()
    check.equal(warnings [[
        np.psum(1, "i") np.pmean(2, "i") np.psum(np.ones(3), "i") np.psum(np.array(1), { "i", "j" })
        np.psum(a, "i") np.pmean(a + v, "i") np.psum(np.pvary(v, "i"), "i")
        np.pmean(np.grad(function(u) return (a * u):sum() end)(np.pvary(v, "i")), "i")
        np.pmax(v, "i") np.pmin(g, "i") np.all_gather(v, "i")]], "")
    check.equal(warnings("np.pmean(g, 'i') np.psum(v, 'i')", ", check_rep = false"), "")
    local status, out, err = process.run_neap { "--devices", "4", "-e", [[
        local mesh = np.mesh({ 4, 1 }, { "i", "one" })
        print(np.shard_map(function(a) return np.psum(a, { "i", "one" }) end,
                           { mesh = mesh, in_specs = np.P "i", out_specs = np.P() })(np.ones(4)))]] }
    check.equal({ status, out, err }, { 0, "[4.]\n", "" })
end)

check.test("a loop warns of what its carry is in the end", function()
    local carried = [[
        local s = np.fori_loop(0, 3, function(_, c) return %s end, v)
        assert(s.ndim == 0)]]
    check.equal(warnings(carried:format "c + np.psum(c, 'i') * a:sum()"), "")
    local err = warnings(carried:format "np.psum(c, 'i') / 4")
    check.equal(select(2, err:gsub("LINE 5: warning: np.psum: ", "")), 1, err)
end)

check.test("each script and command has warnings of its own", function()
    local status, _, err = process.run_neap({ "--devices", "2", "-i" }, [[
mesh = np.mesh({ 2 }, { "i" })
f = np.shard_map(function(v) return np.psum(v, "i") end, { mesh = mesh, in_specs = np.P(), out_specs = np.P() })
print(f(np.ones(2)))
print(f(np.ones(2)))
]])
    check.equal(status, 0)
    check.equal(select(2, err:gsub("warning: np.psum", "")), 2)
end)

process.cleanup()
check.done()
