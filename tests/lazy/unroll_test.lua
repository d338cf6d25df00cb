--- unroll_test.lua (sanitized with --long): reductions of few elements that lie far apart become maps
-- (lazy/plan/unroll.c): drawn at random, bit for bit what they are as reductions, in every dtype, with maps in front of
-- them and behind; and pools are such maps, in each layout.
local check = require "tests.lib.check"
local np = require "neap"
local programs = require "tests.lib.programs"
local seeds = require "tests.lib.seeds"

local DTYPES = { "f32", "f64", "i32", "i8", "u8", "i64", "bool", "f16", "bf16" }
local OPS = { "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "nanmax", "nanmin", "argmax", "median" }

--- Functions of x and the axes reduced, for a reduction f.
local AROUND = {
    function(f, x, o) return f(x, o) end,
    function(f, x, o) return f(x * x + 1, o) * 2 end,
    function(f, x, o)
        local y = f(x, { axis = o.axis, keepdims = true })
        return np.sum(np.abs(x - y), o) / 3
    end,
    function(f, x, o) return f(x, o) - np.max(x, o) + np.sum(x, o) end,
    function(f, x, o) return f(np.where(np.greater(x, 0), x, x * 2), o), np.min(x, o) end,
}

--- f's results as they are planned, and where each reduction is a step of its own, as np.debug.nans wants it.
local function both(f, ...)
    local results = { f(...) }
    for _, y in ipairs(results) do y:wait() end
    np.debug.nans(true)
    local ok, plain = pcall(function(...)
        local list = { f(...) }
        for _, y in ipairs(list) do y:wait() end
        return list
    end, ...)
    np.debug.nans(false)
    return results, ok and plain or error(plain, 0)
end

local function axes_text(o) return "{" .. table.concat(o.axis, ",") .. "}" end

check.test("reductions of few elements, over axes drawn at random", function()
    for seed in seeds.each(120) do
        local draw = seeds.generator(seed)
        local few, many = draw(6) + 1, draw(40) + 24
        local dims, o = { draw(8) + 30, many, few }, { axis = { 2 } }
        if draw(2) == 1 then dims, o = { draw(8) + 30, few, many }, { axis = { 1 } } end
        if draw(3) == 1 then dims, o = { dims[1], few, draw(5), many }, { axis = { 1, 2 } } end
        if draw(3) == 1 then dims, o = { dims[1], few, many, draw(4) }, { axis = { 1, 3 } } end
        local dtype, op, around = DTYPES[draw(#DTYPES)], OPS[draw(#OPS)], AROUND[draw(#AROUND)]
        local x = programs.leaf(dtype, seed, dims)
        local ok, results, plain = pcall(both, around, np[op], x, o)
        for k = 1, ok and #results or 0 do
            check.equal(programs.hash(results[k]), programs.hash(plain[k]),
                        ("seed %d: %s of %s %s over %s"):format(seed, op, dtype, table.concat(dims, "x"), axes_text(o)))
        end
        check.ok(ok or tostring(results):find "expected" or tostring(results):find "NaN", tostring(results))
    end
end)

check.test("windows in each layout are the same, and maps", function()
    for seed in seeds.each(24) do
        local draw = seeds.generator(seed)
        local dims = { 2, draw(9) + 9, draw(9) + 9, draw(20) + 12 }
        local window, stride, low = draw(3) + 1, draw(3), draw(2) - 1
        local pool = draw(2) == 1 and np.nn.max_pool or np.nn.avg_pool
        local x = programs.leaf(draw(2) == 1 and "f32" or "f64", seed, dims)
        local first = np.moveaxis(x, -1, 1):copy():wait()
        local o = { strides = stride, padding = low }
        local last = pool(x, window, o)
        o.layout = "NCHW"
        local other = np.moveaxis(pool(first, window, o), 1, -1)
        check.equal(programs.hash(last), programs.hash(other), "seed " .. seed)
        o.layout = nil
        local results, plain = both(pool, x, window, o)
        check.equal(programs.hash(results[1]), programs.hash(plain[1]), "seed " .. seed)
    end
    local y = np.nn.max_pool(programs.leaf("f32", 1, { 1, 40, 40, 24 }), 3)
    check.ok(tostring(np.explain(y:wait())):find("maximum×8", 1, true), tostring(np.explain(y)))
end)

check.done()
