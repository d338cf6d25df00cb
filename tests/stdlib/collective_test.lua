--- collective_test.lua (under tsan with --long): np.psum and its kin over a named axis of np.vmap, against what a Lua
-- loop over the examples computes; their derivatives, other batches around and inside, jit, names and errors.
local check = require "tests.lib.check"
local np = require "neap"

local N = 3
local x = np.array { { 1, 5, -2 }, { 4, 0, 3 }, { 2, 2, 7 } } -- example e: x[e], of shape (3,)
local cube = np.arange(18, { dtype = "f32" }):reshape(N, 2, 3)

local function over(f, name) return np.vmap(f, { axis_name = name or "i" }) end

local function values(array) return array:totable() end

--- The loop of an op that gives every example the same.
local function all_same(of)
    return function(all) return function() return of(all) end end
end

-- Each op, and a loop: loop(all)(e) is what example e (from 0) of `all` should get.
local COLLECTIVES = {
    psum = { function(a) return np.psum(a, "i") end, all_same(function(all) return all:sum { axis = 0 } end) },
    pmean = { function(a) return np.pmean(a, "i") end, all_same(function(all) return all:mean { axis = 0 } end) },
    pmax = { function(a) return np.pmax(a, "i") end, all_same(function(all) return all:max { axis = 0 } end) },
    pmin = { function(a) return np.pmin(a, "i") end, all_same(function(all) return all:min { axis = 0 } end) },
    all_gather = {
        function(a) return np.all_gather(a, "i", { axis = 1 }) end,
        all_same(function(all) return np.moveaxis(all, 0, 1) end),
    },
    all_gather_tiled = {
        function(a) return np.all_gather(a, "i", { axis = -1, tiled = true }) end,
        all_same(function(all) return np.concatenate({ all:unpack() }, { axis = -1 }) end),
    },
    psum_scatter = {
        function(a) return np.psum_scatter(a, "i", { scatter_dimension = -1 }) end,
        function(all) return function(e) return np.moveaxis(all:sum { axis = 0 }, -1, 0)[e] end end,
    },
    psum_scatter_tiled = {
        function(a) return np.psum_scatter(a, "i", { scatter_dimension = -1, tiled = true }) end,
        function(all) return function(e) return np.moveaxis(all:sum { axis = 0 }, -1, 0)[{ { e, e + 1 } }].T end end,
    },
    all_to_all = {
        function(a) return np.all_to_all(a, "i", -1, 0) end,
        function(all) return function(e) return np.moveaxis(all, -1, 0)[e] end end,
    },
    all_to_all_tiled = {
        function(a) return np.all_to_all(a, "i", -1, 0, { tiled = true }) end,
        function(all)
            return function(e)
                local parts = {}
                for k, one in ipairs { all:unpack() } do parts[k] = np.moveaxis(one, -1, 0)[{ { e, e + 1 } }].T end
                return np.concatenate(parts, { axis = 0 })
            end
        end,
    },
    ppermute = {
        function(a) return np.ppermute(a, "i", { { 0, 2 }, { 2, 1 } }) end,
        function(all)
            return function(e) return e == 0 and np.zeros_like(all[0]) or e == 1 and all[2] or all[0] end
        end,
    },
    pshuffle = {
        function(a) return np.pshuffle(a, "i", { 2, 0, 1 }) end,
        function(all) return function(e) return all[(e + 2) % 3] end end,
    },
}

local function stacked(of)
    local list = {}
    for e = 1, N do list[e] = of(e - 1) end
    return np.stack(list)
end

local names = {}
for name in pairs(COLLECTIVES) do names[#names + 1] = name end
table.sort(names)

for _, name in ipairs(names) do
    local op, loop = COLLECTIVES[name][1], COLLECTIVES[name][2]
    check.test(name .. " is what a loop over the examples computes", function()
        check.equal(values(over(op)(cube)), values(stacked(loop(cube))), "different examples")
        local same = np.broadcast_to(cube[1], { N, 2, 3 })
        check.equal(values(over(function() return op(cube[1]) end)(x)), values(stacked(loop(same))), "what all share")
        check.equal(values(np.jit(over(op))(cube)), values(stacked(loop(cube))), "inside jit")
        check.equal(values(over(np.jit(op))(cube)), values(stacked(loop(cube))), "jit inside")
    end)

    check.test(name .. " moves past other batches", function()
        local more = np.stack { cube, -cube, cube * 2 + 1, cube * 0 } -- (4, N, 2, 3)
        local expected = {}
        for k = 1, 4 do expected[k] = stacked(loop(more[k - 1])) end
        local around = np.vmap(over(op))(more)
        check.equal(values(around), values(np.stack(expected)), "around")
        local inside = over(function(a) return np.vmap(op)(a) end)(np.moveaxis(more, 0, 1))
        check.equal(values(np.moveaxis(inside, 1, 0)), values(np.stack(expected)), "inside")
    end)

    check.test(name .. " takes as many nodes for four examples as for forty", function()
        if name:find "^p[ps][eh]" then return end -- a permutation names its examples
        local function counts(n)
            local given = np.ones { n, 2, n }
            np.wait_all()
            local before = np.debug.counters()
            np.force(over(op)(given))
            np.wait_all()
            local after = np.debug.counters()
            return { after.nodes - before.nodes, after.launches - before.launches }
        end
        check.equal(counts(40), counts(4))
    end)
end

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

check.test("gradients between the examples are those of JAX", function()
    local y, w = np.arange(9, { dtype = "f32" }):reshape(3, 3), np.array { 1, 2, 3 }
    local s = np.array { 1, 2, 3 }
    local function of(f, given) return values(over(np.grad(f))(given)) end
    check.equal(of(function(a) return np.psum(a, "i") ^ 2 end, s), { 36, 36, 36 })
    check.equal(of(function(a) return np.pmean(a, "i") ^ 2 end, s), { 4, 4, 4 })
    check.equal(of(function(a) return (np.all_gather(a, "i") * w * np.axis_index "i"):sum() end, s), { 3, 6, 9 })
    check.equal(of(function(a) return (np.psum_scatter(a, "i") ^ 2):sum() end, y),
                { { 18, 24, 30 }, { 18, 24, 30 }, { 18, 24, 30 } })
    check.equal(of(function(a) return (np.ppermute(a, "i", { { 0, 1 }, { 1, 2 } }) * w):sum() end, y),
                { { 1, 2, 3 }, { 1, 2, 3 }, { 0, 0, 0 } })
    check.equal(of(function(a) return (np.all_to_all(a, "i", 0, 0) * w):sum() end, y),
                { { 1, 1, 1 }, { 2, 2, 2 }, { 3, 3, 3 } })
    check.raises(function() of(function(a) return np.pmax(a, "i") end, s) end, "pmax has no gradient")
end)

check.test("a gradient between the examples is that of the sum of all results", function()
    local weights = np.arange(54, { dtype = "f32" }):reshape(3, 3, 6)
    local given = np.sin(np.arange(18, { dtype = "f32" })):reshape(N, 2, 3)
    for _, name in ipairs(names) do
        local op = COLLECTIVES[name][1]
        local function loss(a)
            local y = op(a * a):reshape(-1)
            return (y * y * weights[np.axis_index "i"]:reshape(-1)[{ { 0, y.size } }]):sum()
        end
        if name ~= "pmax" and name ~= "pmin" then
            local all = np.grad(function(a) return over(loss)(a):sum() end)(given)
            check.close(values(over(np.grad(loss))(given)), values(all), 1e-4, name)
        end
    end
end)

check.test("gradients around the batch are those of the ops that it is made of", function()
    local g = np.grad(function(a) return (over(function(e) return np.psum(e ^ 2, "i") end)(a)):sum() end)(x)
    check.equal(values(g), values(x * (2 * N)))
end)

check.test("tangents between the examples", function()
    local _, tangent = over(function(a) return np.jvp(function(b) return np.psum(b * b, "i") end, { a }, { a }) end)(x)
    check.equal(values(tangent)[1], values((x * x):sum { axis = 0 } * 2))
end)

-- ---- Names ----------------------------------------------------------------------------------------------------------

check.test("an axis has an index and a size", function()
    local index, size = over(function() return np.axis_index "i", np.axis_size "i" end, "i")(x)
    check.equal({ values(index), index.dtype, values(size) }, { { 0, 1, 2 }, "i32", { 3, 3, 3 } })
    check.equal(values(over(function() return np.psum(2, "i") end)(x)), { 6, 6, 6 })
    check.equal(values(over(function(a) return np.psum(a:gt(2), "i") end)(x))[2], { 1, 1, 2 })
    check.equal(values(over(function(a) return np.psum({ n = a[0], m = { 1 } }, "i").n end)(x)), { 7, 7, 7 })
end)

check.test("several names are one axis, the last one counting fastest", function()
    local z = np.arange(6, { dtype = "f32" }):reshape(2, 3)
    local function both(f) return over(over(f, "j"), "i")(z) end
    check.equal(values(both(function() return np.axis_index { "i", "j" } end)), { { 0, 1, 2 }, { 3, 4, 5 } })
    check.equal(values(both(function() return np.axis_index { "j", "i" } end)), { { 0, 2, 4 }, { 1, 3, 5 } })
    check.equal(values(both(function(a) return np.psum(a, "i") end)), { { 3, 5, 7 }, { 3, 5, 7 } })
    check.equal(values(both(function(a) return np.psum(a, "j") end)), { { 3, 3, 3 }, { 12, 12, 12 } })
    check.equal(values(both(function(a) return np.pmean(a, { "i", "j" }) end))[2], { 2.5, 2.5, 2.5 })
    check.equal(values(both(function(a) return np.all_gather(a, { "i", "j" }) end))[2][1], { 0, 1, 2, 3, 4, 5 })
    local shares = both(function(a) return np.psum_scatter(a * np.arange(6), { "i", "j" }) end)
    check.equal(values(shares), { { 0, 15, 30 }, { 45, 60, 75 } })
    local halves = both(function(a) return np.psum_scatter(a * np.arange(12), { "i", "j" }, { tiled = true }) end)
    check.equal(values(halves)[2][3], { 150, 165 })
end)

check.test("the innermost axis of a name counts", function()
    local z = np.ones { 2, 3 }
    check.equal(values(over(function(row) return over(function(a) return np.psum(a, "i") end)(row) end)(z)),
                { { 3, 3, 3 }, { 3, 3, 3 } })
end)

check.test("jitted functions follow the axis around them", function()
    local f = np.jit(function(a) return np.psum(a, "i") + np.axis_size "i" end)
    check.equal(values(over(f)(np.ones { 3 })), { 6, 6, 6 })
    check.equal(values(over(f)(np.ones { 2 })), { 4, 4 })
    check.equal(values(over(f)(np.ones { 3 })), { 6, 6, 6 })
    check.raises(function() f(np.array(1)) end, "unbound axis name 'i'")
end)

-- ---- Errors ---------------------------------------------------------------------------------------------------------

check.test("errors name what is wrong", function()
    local function fails(f, pattern) check.raises(function() over(f)(x) end, pattern) end
    check.raises(function() np.psum(x, "i") end,
                 "collective_test.lua:%d+: np.psum: unbound axis name 'i'.-there is none")
    fails(function(a) return np.psum(a, "k") end, "unbound axis name 'k'.-there is 'i'")
    fails(function(a) return np.psum(a, { "i", "i" }) end, "'i' stands twice")
    fails(function(a) return np.psum(a, 3) end, "axis_name.-the name of an axis")
    fails(function(a) return np.psum_scatter(a[{ { 0, 2 } }], "i") end,
          "must have size 3, as it is dealt out over axis 'i' %(of size 3%)")
    fails(function(a) return np.psum_scatter(a[{ { 0, 2 } }], "i", { tiled = true }) end,
          "cannot be split into equal parts over axis 'i'")
    fails(function(a) return np.all_to_all(a, "i", 1, 0) end, "axis")
    fails(function(a) return np.all_gather(a, "i", { axis = 2 }) end, "axis")
    fails(function(a) return np.all_gather(a, "i", { tiled = 1 }) end, "tiled.-a boolean")
    fails(function(a) return np.ppermute(a, "i", { { 0, 3 } }) end, "expected members in 0%.%.2")
    fails(function(a) return np.ppermute(a, "i", { { 0, 1 }, { 0, 2 } }) end, "member 0 is a source twice")
    fails(function(a) return np.ppermute(a, "i", { { 1, 0 }, { 2, 0 } }) end, "member 0 is a destination twice")
    fails(function(a) return np.pshuffle(a, "i", { 0, 1 }) end, "a table of 3 members")
    fails(function(a) return np.pshuffle(a, "i", { 0, 1, 1 }) end, "a source twice")
    check.raises(function() np.vmap(function(a) return a end, { axis_name = 3 }) end, "axis_name.-a string")
    check.raises(function() np.psum(x, "i") end, "there is none", "errors close their axes")
end)

check.done()
