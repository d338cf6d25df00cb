--- extremes_test.lua (under tsan with --long): the greatest and smallest elements of columns against loops in Lua, on
-- each instruction set: NaN, infinities and zeros of both signs at any place of a strip of vectors, of a single vector
-- and of the rest.
package.path = "./?.lua;" .. package.path
local check = require "tests.lib.check"
local np = require "neap"

local KEY = np.random.key(11)
local SHAPES = { { 1, 300 }, { 5, 129 }, { 17, 640 }, { 256, 70 }, { 300, 131 }, { 1000, 8 } }

--- What becomes of normal numbers x, with uniform ones u beside them.
local KINDS = {
    numbers = function(x) return x end,
    ["a few NaN"] = function(x, u) return np.where(np.less(u, 0.002), 0 / 0, x) end,
    ["NaN first"] = function(x) return np.where(np.equal(np.arange(x:dim(0)):reshape(-1, 1), 0), 0 / 0, x) end,
    ["zeros of both signs"] = function(x, u) return np.where(np.less(u, 0.5), np.abs(x) * 0, np.abs(x) * -0.0) end,
    ["zeros above"] = function(x, u) return np.where(np.less(u, 0.3), np.abs(x) * -0.0, -np.abs(x) - 1) end,
    ["zeros below"] = function(x, u) return np.where(np.less(u, 0.3), np.abs(x) * 0.0, np.abs(x) + 1) end,
    infinities = function(x, u)
        return np.where(np.less(u, 0.4), 1 / 0, np.where(np.less(u, 0.9), -1 / 0, x))
    end,
    ["the worst alone"] = function(x) return x * 0 - 1 / 0 end,
}

local function is_nan(a) return a ~= a end
local function less(a, b) return a < b or a == 0 and b == 0 and 1 / a < 1 / b end

--- Does a win against the best one so far? nan: NaN does; otherwise it is left out.
local function wins(a, best, greatest, nan)
    if is_nan(best) then return not nan and not is_nan(a) end
    if is_nan(a) then return nan end
    if greatest then return less(best, a) end
    return less(a, best)
end

local function by_loop(rows, columns, greatest, nan)
    local result = {}
    for k = 1, columns do
        local best = rows[1][k]
        for i = 2, #rows do
            if wins(rows[i][k], best, greatest, nan) then best = rows[i][k] end
        end
        result[k] = best
    end
    return result
end

local function compare(got, wanted, what)
    for k = 1, #wanted do
        local a, b = got[k], wanted[k]
        if not (is_nan(a) and is_nan(b) or a == b and 1 / a == 1 / b) then
            error(("%s, column %d: got %s, expected %s"):format(what, k - 1, tostring(a), tostring(b)))
        end
    end
end

local OPS = { max = { true, true }, min = { false, true }, nanmax = { true, false }, nanmin = { false, false } }

for _, isa in ipairs { "baseline", "avx2", "avx512" } do
    if pcall(np.debug.kernels, { isa = isa }) then
        check.test("columns by " .. isa, function()
            for kind, of in pairs(KINDS) do
                for number, dims in ipairs(SHAPES) do
                    for _, dtype in ipairs { "f32", "f64" } do
                        local key = np.random.fold_in(KEY, number)
                        local u = np.random.uniform(np.random.fold_in(key, 1), dims)
                        local x = np.copy(of(np.random.normal(key, dims), u):astype(dtype)):wait()
                        local rows = x:totable()
                        for op, way in pairs(OPS) do
                            local wanted = by_loop(rows, dims[2], way[1], way[2])
                            compare(np[op](x, { axis = 0 }):totable(), wanted, ("%s of %s, %s, %d rows"):format(
                                op, kind, dtype, dims[1]))
                        end
                    end
                end
            end
        end)
    end
end
np.debug.kernels {}

check.done()
