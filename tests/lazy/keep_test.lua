--- keep_test.lua: np.jit's option keep: what is computed of kept arguments alone is computed once for the same arrays,
-- and the results are those of a function without it, whatever becomes of the arrays: random programs, drawn at random,
-- whose arguments are kept or not, over calls that bring the same arrays and others. Runs itself again with four
-- devices.
require "tests.lib.devices" (4, "tests/lazy/keep_test.lua")
local check = require "tests.lib.check"
local np = require "neap"
local programs = require "tests.lib.programs"
local seeds = require "tests.lib.seeds"

local MIB = 2 ^ 20

local function launches_of(f, ...)
    local before = np.debug.counters().launches
    np.tree.map(function(x) return x:wait() end, { f(...) })
    return tonumber(np.debug.counters().launches - before)
end

local function weights(seed, rows) return programs.leaf("f32", seed, { rows or 40, 60 }) end

local function prepared(p, x) return x:matmul(np.sort(p.w, { axis = 0 }):transpose():copy()) + p.b end

check.test("the same arrays: what they alone lead to is not computed again", function()
    local f, g = np.jit(prepared, { keep = 1 }), np.jit(prepared)
    local p, q = { w = weights(1), b = programs.leaf("f32", 2, { 40 }) }, { w = weights(3) }
    q.b = p.b
    local x, y = programs.leaf("f32", 4, { 8, 60 }), programs.leaf("f32", 5, { 8, 60 })
    local all = launches_of(g, p, x)
    local some = all - launches_of(np.jit(function(v) return np.sort(v.w, { axis = 0 }):transpose():copy() end), p)
    local steps = {}
    for k, given in ipairs { { p, x }, { p, y }, { q, x }, { p, y }, { p, x }, { p, x } } do
        steps[k] = launches_of(f, unpack(given))
        check.equal(programs.hash(f(unpack(given))), programs.hash(g(unpack(given))))
    end
    check.equal(steps, { all, some, all, all, some, some })
    local entry = np.jit_cache(f).entries[1]
    check.equal({ entry.kept_steps, entry.kept_bytes }, { all - some, 40 * 60 * 4 })
    check.ok(tostring(np.explain(f)):find "computed once for the same arrays in the arguments of option 'keep'")
end)

check.test("small steps that share an op with others are left out of it", function()
    local function body(p, x) return p.w * 2, x + 1, x:sum { axis = 1 } end
    local f, g = np.jit(body, { keep = 1 }), np.jit(body)
    local p, q = { w = weights(1) }, { w = weights(3) }
    local x, y = programs.leaf("f32", 4, { 8, 60 }), programs.leaf("f32", 5, { 8, 60 })
    local all, steps = launches_of(g, p, x), {}
    local function late() return np.sort(programs.leaf("f32", 6, { 3000, 600 }))[{ { 0, 8 }, { 0, 60 } }]:copy() end
    for k, given in ipairs { { p, x }, { p, y }, { q, x }, { p, y }, { p, x }, { p, late() } } do
        local got, wanted = { f(unpack(given)) }, { g(unpack(given)) }
        for i = 1, 3 do
            check.equal(programs.hash(got[i]), programs.hash(wanted[i]), ("call %d, result %d"):format(k, i))
        end
        steps[k] = launches_of(f, unpack(given))
    end
    check.equal(np.jit_cache(f).entries[1].kept_steps, 1)
    check.equal(steps, { all - 1, all - 1, all - 1, all - 1, all - 1, all - 1 })
end)

check.test("convolutions keep their kernels in the layout of the library, until the kernel is another one", function()
    local function f(p, x)
        local y = np.nn.conv(x, p.w)
        return y, np.grad(function(v) return (np.nn.conv(v, p.w) ^ 2):sum() end)(x)
    end
    local kept, plain = np.jit(f, { keep = 1 }), np.jit(f)
    local p = { w = programs.leaf("f32", 1, { 3, 3, 32, 64 }) }
    local step = np.jit(function(w) return w * 0.5 end, { donate = 1 })
    for k = 1, 12 do
        local x, results = programs.leaf("f32", k, { 2, 14, 14, 32 }), {}
        for j = 1, 3 do results[j] = { kept(p, x) } end -- at once
        local want = { plain(p, x) }
        for j = 1, 3 do
            for i = 1, 2 do check.equal(programs.hash(results[j][i]), programs.hash(want[i])) end
        end
        if k % 3 == 0 then p = { w = step(p.w) } end
        if k == 8 then np.memory.trim() end
    end
    local on_null = os.getenv "NEAP_TEST_BUILD" == "null" -- whose calls keep nothing
    local entry, library = np.jit_cache(kept).entries[1], not on_null and tostring(np.explain(kept)):find "oneDNN"
    check.ok(not library or entry.kept_bytes >= 2 * 3 * 3 * 32 * 64 * 4, entry.kept_bytes)
    local function live()
        np.wait_all()
        for _ = 1, 2 do np.memory.trim() end
        return tonumber(np.memory().live)
    end
    local function change(k) -- other kernels take the place of those before
        p = { w = step(p.w) }
        kept(p, programs.leaf("f32", k, { 2, 14, 14, 32 }))
    end
    change(1)
    local before = live()
    for k = 1, 6 do change(k) end
    check.ok(live() - before < 2 * 3 * 3 * 32 * 64 * 4, live() - before .. " bytes more")
    np.clear_caches()
    collectgarbage()
    collectgarbage()
    check.equal(#np.jit_cache(kept).entries, 0)
    check.ok(not library or live() < before, "what was kept is given back")
end)

check.test("convolutions that are products keep their kernels in the layout of these, in groups, too", function()
    local keeps = os.getenv "NEAP_TEST_BUILD" ~= "null" and not os.getenv "NEAP_DEVICE" -- calls of others keep nothing
    local function check_kept(groups, side, channels, features)
        local function f(p, x) return np.nn.conv(x, p.w, { groups = groups }) end
        local kept, plain = np.jit(f, { keep = 1 }), np.jit(f)
        local p = { w = programs.leaf("f32", 1, { 1, 1, channels / groups, features }) }
        for k = 1, 6 do
            local x = programs.leaf("f32", k, { 1, side, side, channels })
            check.equal(programs.hash(kept(p, x)), programs.hash(plain(p, x)))
            check.equal(programs.hash(kept(p, x)), programs.hash(f(p, x)))
            if k % 3 == 0 then p = { w = (p.w * 2):wait() } end
        end
        return np.jit_cache(kept).entries[1].kept_bytes >= p.w.size * 4
    end
    for groups = 1, 2 do
        check_kept(groups, 7, 64, 48) -- without fused multiply-adds such a product is the BLAS', which keeps nothing
        check.equal(check_kept(groups, 2, 16, 24), keeps)
    end
end)

check.test("arrays that belong to the function are kept like those of arguments, also where these have none", function()
    local own = { w = weights(1), b = programs.leaf("f32", 2, { 40 }) }
    local x, y = programs.leaf("f32", 4, { 8, 60 }), programs.leaf("f32", 5, { 8, 60 })
    local list = setmetatable({}, { __index = own }) -- no variable has them: they are found when f is recorded
    local function body(p, v) return prepared({ w = list.w, b = list.b }, v) * (p.scale or 1) end
    local f, plain = np.jit(body, { keep = 1 }), np.jit(body)
    local all, some = launches_of(plain, {}, x), nil
    for k, v in ipairs { x, y, x, y } do
        local steps = launches_of(f, {}, v)
        check.equal(programs.hash(f({}, v)), programs.hash(plain({}, v)))
        check.ok(k == 1 and steps == all or k > 1 and steps < all, ("call %d: %d of %d"):format(k, steps, all))
        some = k > 1 and steps or some
    end
    check.equal(np.jit_cache(f).entries[1].kept_steps, all - some)
    check.equal(launches_of(plain, {}, y), all, "without the option nothing is kept")
    local one, two = np.array(2):wait(), np.array(3):wait()
    for _, scale in ipairs { one, two, two, one } do
        check.equal(programs.hash(f({ scale = scale }, x)), programs.hash(plain({ scale = scale }, x)))
    end
end)

check.test("an array of a variable around the function is read at each call", function()
    local w, b = weights(1), programs.leaf("f32", 2, { 40 })
    local x = programs.leaf("f32", 4, { 8, 60 })
    local f = np.jit(function(_, v) return prepared({ w = w, b = b }, v) end, { keep = 1 })
    for seed = 1, 3 do
        w = weights(seed)
        for _ = 1, 2 do check.equal(programs.hash(f({}, x)), programs.hash(prepared({ w = w, b = b }, x))) end
    end
end)

check.test("a result of kept arguments alone is theirs, and may be used up", function()
    local f = np.jit(function(w, x) return np.sort(w), x + 1 end, { keep = 1 })
    local w, x = weights(1), programs.leaf("f32", 4, { 8 })
    local want = programs.hash(np.sort(w))
    local double = np.jit(function(v) return v * 2 end, { donate = 1 })
    for _ = 1, 4 do
        local sorted = f(w, x)
        check.equal(programs.hash(sorted), want)
        check.equal(programs.hash(double(sorted)), programs.hash(np.sort(w) * 2))
    end
end)

check.test("memory that holds something else is another array", function()
    local f, g = np.jit(prepared, { keep = 1 }), np.jit(prepared)
    local b, x = programs.leaf("f32", 2, { 300 }), programs.leaf("f32", 4, { 8, 60 })
    local step = np.jit(function(w, by) return w * by end, { donate = 1 })
    local w = weights(1, 300)
    local function both()
        for _ = 1, 2 do
            check.equal(programs.hash(f({ w = w, b = b }, x)), programs.hash(g({ w = w, b = b }, x)))
        end
    end
    for k = 1, 4 do
        both()
        w = step(w, -k) -- written over the memory of the last one
        both()
        collectgarbage()
        w = w:at { k }:set(k) -- and so is this
        both()
    end
    for k = 1, 6 do -- the memory of arrays that are gone
        w = nil
        collectgarbage()
        collectgarbage()
        w = weights(k, 300)
        both()
    end
    check.ok(np.jit_cache(step).entries[1].used_up > 2)
end)

check.test("a kept argument that failed, and one after it", function()
    local f = np.jit(prepared, { keep = 1 })
    local p = { w = weights(1), b = programs.leaf("f32", 2, { 40 }) }
    local x = programs.leaf("f32", 4, { 8, 60 })
    local want = programs.hash(f(p, x))
    local bad = { w = np.debug.fail(p.w), b = p.b }
    for _ = 1, 3 do check.raises(function() f(bad, x):wait() end, "fail") end
    for _ = 1, 3 do check.equal(programs.hash(f(p, x)), want) end
end)

check.test("slices, effects, gradients and batches", function()
    local all = programs.leaf("f32", 1, { 80, 60 })
    local b, x = programs.leaf("f32", 2, { 40 }), programs.leaf("f32", 4, { 8, 60 })
    local seen = {}
    local function body(p, v)
        np.callback(function(n) seen[#seen + 1] = n:item() end)(p.b:sum())
        return prepared(p, v)
    end
    local f, g = np.jit(body, { keep = 1 }), np.jit(prepared)
    for _, at in ipairs { 0, 40, 40, 0, 0, 1, 1 } do
        local p = { w = all[{ { at, at + 40 } }], b = b }
        check.equal(programs.hash(f(p, x)), programs.hash(g(p, x)), "rows from " .. at)
    end
    np.effects_barrier()
    check.equal(#seen, 7)
    local function loss(h) return function(w) return h({ w = w, b = b }, x):sum() end end
    local w = all[{ { 0, 40 } }]
    local kept = np.jit(prepared, { keep = 1 })
    for _ = 1, 2 do
        kept({ w = w, b = b }, x):wait()
        check.equal(programs.hash(np.grad(loss(kept))(w)), programs.hash(np.grad(loss(prepared))(w)))
        local function of_row(v) return kept({ w = w, b = b }, v:reshape(1, 60)) end
        check.equal(programs.hash(np.vmap(of_row)(x)), programs.hash(np.vmap(function(v)
            return prepared({ w = w, b = b }, v:reshape(1, 60))
        end)(x)))
    end
end)

check.test("what is kept is freed: with the function, on request, and for who needs the memory", function()
    local n = 2 ^ 19
    local w = (np.arange(n, { dtype = "f32" }) % 1000):wait()
    local function new()
        local f = np.jit(function(v, x) return (np.sort(v) * x):sum() end, { keep = 1 })
        f(w, 1):wait()
        return f
    end
    local function live()
        collectgarbage()
        collectgarbage()
        return tonumber(np.memory().live)
    end
    np.clear_caches() -- of other tests
    local before = live() -- some of it may go later; n elements of f32 are 4 n bytes
    local f = new()
    check.ok(live() - before > 3 * n)
    check.equal(f(w, 2):item(), 2 * f(w, 1):item())
    np.clear_caches()
    check.ok(live() - before < 3 * n, "after np.clear_caches")
    local function is_kept_with_it()
        local own = new()
        return live() - before > 3 * n and own ~= nil
    end
    check.ok(is_kept_with_it())
    check.ok(live() - before < 3 * n, "after the function has gone")
    local function add(v) return v + 1 end
    for _, g in ipairs { np.jit(add), add } do
        f = new()
        np.debug.memory_limit(live() + MIB)
        local ok, got = pcall(function() return g(w):wait()[2]:item() end)
        np.debug.memory_limit(0)
        check.equal({ ok, got }, { true, 3 })
        check.equal(f(w, 2):item(), 2 * f(w, 1):item())
    end
end)

check.test("wrong options", function()
    check.raises(function() np.jit(prepared, { keep = 1, donate = 1 }) end, "1 is donated, so nothing can be kept")
    check.raises(function() np.jit(prepared, { keep = 1, static = 1 }) end, "1 is static, so nothing can be kept")
    check.raises(function() np.jit(np.sin, { keep = 2 })(np.ones(2)) end, "option 'keep' names argument 2, but the")
    check.raises(function() np.jit(np.sin, { keep = 0 }) end, "counts arguments from 1")
end)

check.test("over the devices of a mesh", function()
    local mesh = np.mesh({ 4 }, { "i" })
    local function body(w, x) return np.psum((np.sort(w, { axis = 1 }):copy() * x):sum { axis = 1 }, "i") end
    local how = { mesh = mesh, in_specs = { np.P(nil, "i"), np.P("i") }, out_specs = np.P() }
    local f, g = np.jit(np.shard_map(body, how), { keep = 1 }), np.jit(np.shard_map(body, how))
    local x, y = programs.leaf("f32", 4, { 60 }), programs.leaf("f32", 5, { 60 })
    local w, v = weights(1), weights(2)
    local placed = np.device_put(w, np.NamedSharding(mesh, np.P(nil, "i")))
    local steps = {}
    for k, given in ipairs { { placed, x }, { placed, y }, { placed, x }, { w, x }, { v, y }, { v, y },
                             { placed, y } } do
        steps[k] = launches_of(f, unpack(given))
        check.equal(programs.hash(f(unpack(given))), programs.hash(g(unpack(given))))
    end
    check.ok(steps[2] < steps[1] and steps[3] == steps[2], table.concat(steps, " "))
end)

-- ---- Random programs ------------------------------------------------------------------------------------------------

local function other_values(x, seed) return programs.leaf(x.dtype, seed, x.shape) end

check.test("random programs: the same bits, whatever is kept and whichever arrays come", function()
    local kept = 0
    for seed in seeds.each(os.getenv "NEAP_TEST_BUILD" == "release" and 60 or 10) do
        local random = seeds.generator(seed)
        local program = programs.draw(seed)
        local first = program.make()
        local is_kept, variants = {}, {}
        for k, x in ipairs(first) do
            is_kept[k] = random(3) > 1
            variants[k] = { x, other_values(x, random(9999)) }
        end
        local function body(fixed, free)
            local r, results = {}, {}
            for k = 1, #first do r[k] = fixed["r" .. k] or free["r" .. k] end
            program.run(r)
            for k, at in ipairs(program.results) do results[k] = r[at] end
            return unpack(results)
        end
        local f, g = np.jit(body, { keep = 1 }), np.jit(body)
        for _ = 1, 6 do
            local fixed, free = {}, {}
            for k = 1, #first do
                if random(8) == 1 then variants[k][2] = other_values(first[k], random(9999)) end
                local to = is_kept[k] and fixed or free
                to["r" .. k] = variants[k][random(is_kept[k] and 4 or 2) % 2 + 1]
            end
            local wanted = { g(fixed, free) }
            for k, got in ipairs { f(fixed, free) } do
                check.equal(programs.hash(got), programs.hash(wanted[k]), ("seed %d, result %d"):format(seed, k))
            end
        end
        for _, entry in ipairs(np.jit_cache(f).entries) do kept = kept + (entry.kept_steps > 0 and 1 or 0) end
    end
    check.ok(kept > 0 or os.getenv "NEAP_DEVICE", "programs that keep something: " .. kept)
end)

check.done()
