--- number_operands_test.lua: a number in place of an array counts alike as a number and as a number argument of a
-- jitted function, in functions that first make arrays of what they are given.
local np = require "neap"
local check = require "tests.lib.check"

local mask = np.array { true, false }
local function index(list) return np.array(list, { dtype = "i32" }) end

local FUNCTIONS = {
    append = function(x, n) return np.append(x, n) end,
    atleast_1d = function(x, n) return select(2, np.atleast_1d(x, n)) end,
    at = function(x, n) return x:at { 0 }:set(n) end,
    block = function(x, n) return np.block { x, n } end,
    broadcast_arrays = function(x, n) return select(2, np.broadcast_arrays(x, n)) end,
    choose = function(x, n) return np.choose({ 0, 1 }, { x, n }) end,
    clip = function(x, n) return np.clip(x, n, n) end,
    clip_below = function(x, n) return np.clip(x, n) end,
    fill_diagonal = function(x, n) return np.fill_diagonal(x:reshape(1, 2), n) end,
    hstack = function(x, n) return np.hstack { x, n } end,
    insert = function(x, n) return np.insert(x, 1, n) end,
    interp = function(x, n) return np.interp(n, np.cumsum(x), x) end,
    isclose = function(x, n) return np.isclose(x, n) end,
    isin = function(x, n) return np.isin(x, n) end,
    pad = function(x, n) return np.pad(x, 1, { value = n }) end,
    pad_sides = function(x, n) return np.pad(x, 1, { value = { n, 1 } }) end,
    piecewise = function(x, n) return np.piecewise(x, { mask }, { n }) end,
    place = function(x, n) return np.place(x, mask, n) end,
    put = function(x, n) return np.put(x, { 0 }, n) end,
    put_along_axis = function(x, n) return np.put_along_axis(x, index { 0 }, n) end,
    putmask = function(x, n) return np.putmask(x, mask, n) end,
    searchsorted = function(x, n) return np.searchsorted(x, n) end,
    select = function(x, n) return np.select({ mask }, { x }, n) end,
    stack = function(x, n) return np.stack { x[0], n } end,
    take = function(x, n) return np.take(x, index { 7 }, { fill_value = n }) end,
    where = function(x, n) return np.where(mask, x, n) end,
}

for name, f in pairs(FUNCTIONS) do
    check.test(name, function()
        for _, row in ipairs { { "f64", 0.1 }, { "i64", 2 ^ 53 - 1 }, { "i32", 16777217 }, { "u8", 200 }, { "bf16",
            3 } } do
            local x, n = np.ones(2, { dtype = row[1] }), row[2]
            local expected = f(x, np.array(n, { dtype = row[1] }))
            for how, got in pairs { eager = f(x, n), jitted = np.jit(function(m) return f(x, m) end)(n) } do
                check.equal({ how, row[1], got.dtype, got:totable() }, { how, row[1], expected.dtype,
                    expected:totable() })
            end
        end
    end)
end

check.test("weak arrays give their dtype to no number that stands beside them and an array", function()
    local weak = np.where(np.array { true, false }, 1, 0)
    for _, dtype in ipairs { "u8", "i64", "f16", "f64" } do
        local x = np.array({ 1, 2 }, { dtype = dtype })
        local got = { np.hstack { weak, x, 5 }, np.einsum("i,i,", weak, x, 2), np.select({ x:eq(1) }, { weak }, x),
                      np.append(weak, x), np.linalg.multi_dot { weak, x:reshape(2, 1) }, np.polymul(weak, x) }
        for k, result in ipairs(got) do check.equal(result.dtype, dtype, "call " .. k) end
    end
end)

check.test("integers become floats after they met the other operand", function()
    local function of(dtype, values) return np.array(values or { 0, 1, 4 }, { dtype = dtype }) end
    local function parts(f) return function(x, y) return f(x, np.astype(y:eq(1), y.dtype)) end end
    local composite = {
        heaviside = np.heaviside, trapezoid = np.trapezoid, cov = np.cov, corrcoef = np.corrcoef,
        gradient = np.gradient, simpson = np.integrate.simpson, percentile = np.percentile,
        nanpercentile = np.nanpercentile, quantile = parts(np.quantile), nanquantile = parts(np.nanquantile),
        logspace = function(x, y) return np.logspace(x, y, 3) end,
        geomspace = function(x, y) return np.geomspace(x + 1, y + 1, 3) end,
        cross_entropy = function(x, y)
            if not y.dtype:find "f" then x, y = y, x end
            return np.nn.cross_entropy(np.stack { x, x }, np.stack { y, y })
        end,
    }
    for name, f in pairs(composite) do
        for _, row in ipairs { { "i64", "f32", "f32" }, { "i32", "f16", "f16" }, { "u8", "bf16", "bf16" },
                               { "i32", "f64", "f64" }, { "f32", "f64", "f64" }, { "f16", "f32", "f32" } } do
            for _, got in ipairs { f(of(row[1]), of(row[2])), f(of(row[2]), of(row[1])) } do
                check.equal(got.dtype, row[3], name .. " of " .. row[1] .. " and " .. row[2])
            end
        end
    end
    check.close(np.quantile(of("i32", { 0, 16777217 }), of("f64", { 1 / 3 })):totable(), { 16777217 / 3 }, 1e-8)
end)

check.done()
