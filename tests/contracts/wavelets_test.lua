--- wavelets_test.lua: contracts of the wavelet transforms of np.signal (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "wavelets"

local signal = np.signal
local ALL = "where one element is no number those near it are none, or all, as sums of products are"
-- The filters "bior4.4" of PyWavelets have 12 digits.
local NEAR = { f64 = "scaled 4e-12", f32 = "scaled 1e-6", f16 = "scaled 1e-3", bf16 = "scaled 8e-3",
               c128 = "scaled 4e-12", c64 = "scaled 1e-6" }
local WAVELETS = { "haar", "db2", "db3", "db4", "bior2.2", "bior4.4" }

--- Options of f, without its wavelet.
local function options_of(o, key)
    return { [key] = o[key], level = o.level, nonsense = o.nonsense }
end

local function contract(name, c)
    c.accepts, c.within, c.special = c.accepts or "floats i32 u8 complex", NEAR, false
    c.vmapped, c.divided = "scaled 1e-6", "scaled 1e-6"
    c.without = { special = ALL, numbers = "signals are arrays", sizes = c.sizes }
    c.sizes = nil
    of("np.signal." .. name, c)
end

local PARITY = "whether there is an odd number of elements must be known"

-- ---- Signals --------------------------------------------------------------------------------------------------------

local FORTH = { { wavelet = "db2" }, { wavelet = "db1" }, { wavelet = "db3" }, { wavelet = "db4", axis = 0 },
                { wavelet = "bior2.2" }, { wavelet = "bior4.4" } }
contract("dwt", {
    args = { "x" },
    shapes = { { { 12 } }, { { 2, 7 } }, { { 3 } } },
    options = FORTH,
    call = function(f, o, x) return f(x, o.wavelet, options_of(o, "axis")) end,
    oracle = "transformed(x, {'f': 'dwt'} | o)",
    sizes = PARITY,
    refuses = {
        { "wavelet", function() signal.dwt(np.ones(4), "db9") end },
        { "wavelet", function() signal.dwt(np.ones(4)) end },
        { "no elements", function() signal.dwt(np.zeros { 2, 0 }, "haar") end },
        { "0%-d array", function() signal.dwt(3, "haar") end },
        { "axis", function() signal.dwt(np.ones(4), "haar", { axis = 1 }) end },
    },
    also = {
        ["np.signal.dwt: orthogonal wavelets keep the sum of squares, and none sees polynomials"] = function()
            local x = np.sin(np.arange(32) * 1.3):astype "f64"
            for k, name in ipairs { "haar", "db2", "db3", "db4" } do
                local a, d = signal.dwt(x, name)
                check.close((np.sum(a * a) + np.sum(d * d)):item(), np.sum(x * x):item(), 1e-13)
                d = select(2, signal.dwt(np.arange(32):astype "f64" ^ (k - 1), name))
                check.ok(np.max(np.abs(d[{ { 4, 12 } }])):item() < 1e-14 * 32 ^ (k - 1) * 10)
            end
            for name, degree in pairs { ["bior2.2"] = 1, ["bior4.4"] = 3 } do
                local _, d = signal.dwt(np.arange(32):astype "f64" ^ degree, name)
                check.ok(np.max(np.abs(d[{ { 4, 12 } }])):item() < 1e-14 * 32 ^ degree * 10)
            end
        end,
    },
})
contract("idwt", {
    args = { "a", "d" },
    shapes = { { { 6 }, { 6 } }, { { 2, 3 }, { 2, 3 } }, { { 1 }, { 1 } } },
    options = FORTH,
    call = function(f, o, a, d) return f(a, d, o.wavelet, options_of(o, "axis")) end,
    oracle = "inverse((a, d), {'f': 'idwt'} | o)",
    refuses = {
        { "shapes %(3,%) and %(2,%)", function() signal.idwt(np.ones(3), np.ones(2), "haar") end },
        { "axes alike", function() signal.idwt(np.ones(3), 1, "haar") end },
        { "wavelet", function() signal.idwt(np.ones(3), np.ones(3), "mexh") end },
    },
    also = {
        ["np.signal.idwt: gives the signal back, of any length"] = function()
            for _, name in ipairs(WAVELETS) do
                for _, n in ipairs { 1, 2, 3, 4, 6, 9, 16 } do
                    local x = np.cos(np.arange(3 * n) * 1.7):astype "f64":reshape(3, n)
                    local a, d = signal.dwt(x, name)
                    local y = signal.idwt(a, d, name)
                    check.equal(y:dim(1), n + n % 2)
                    check.ok(np.max(np.abs(y[{ {}, { 0, n } }] - x)):item() < 1e-14, name)
                end
            end
        end,
    },
})

local LEVELS = { { wavelet = "db2" }, { wavelet = "haar", level = 2 }, { wavelet = "bior4.4", level = 3 },
                 { wavelet = "db3", level = 0 }, { wavelet = "bior2.2", level = 1, axis = 0 } }
contract("wavedec", {
    args = { "x" },
    shapes = { { { 13 } }, { { 3, 6 } }, { { 12 } } },
    options = LEVELS,
    call = function(f, o, x) return f(x, o.wavelet, options_of(o, "axis")) end,
    oracle = "transformed(x, {'f': 'wavedec'} | o)",
    sizes = PARITY,
    refuses = {
        { "level", function() signal.wavedec(np.ones(8), "haar", { level = 4 }) end },
        { "level", function() signal.wavedec(np.ones(8), "haar", { level = -1 }) end },
        { "wavelet", function() signal.wavedec(np.ones(8), 2) end },
    },
    also = {
        ["np.signal.wavedec: as many levels as the filters of a wavelet reach"] = function()
            -- pywt.dwt_max_level(n, pywt.Wavelet(name).dec_len)
            local most = { haar = { 0, 3, 4, 6 }, db2 = { 0, 1, 3, 5 }, ["bior4.4"] = { 0, 0, 1, 3 } }
            for name, list in pairs(most) do
                for k, n in ipairs { 1, 9, 27, 100 } do
                    check.equal(#signal.wavedec(np.ones(n), name), list[k] + 1, name)
                end
            end
        end,
    },
})
contract("waverec", {
    args = { "a", "d2", "d1" },
    shapes = { { { 3 }, { 3 }, { 5 } }, { { 2, 2 }, { 2, 2 }, { 2, 4 } }, { { 1 }, { 1 }, { 2 } } },
    options = { { wavelet = "db2" }, { wavelet = "haar" }, { wavelet = "bior4.4" }, { wavelet = "db4" } },
    call = function(f, o, a, d2, d1) return f({ a, d2, d1 }, o.wavelet, options_of(o, "axis")) end,
    oracle = "inverse((a, d2, d1), {'f': 'waverec'} | o)",
    unseen = { axis = "a test below has it" },
    sizes = "the extents of parts depend on each other",
    refuses = {
        { "list of arrays", function() signal.waverec(np.ones(4), "haar") end },
        { "list of arrays", function() signal.waverec({}, "haar") end },
        { "parts of one level have shapes %(4,%) and %(2,%)", function()
            signal.waverec({ np.ones(2), np.ones(2), np.ones(2) }, "haar")
        end },
    },
    also = {
        ["np.signal.waverec: gives signals back, along any axis"] = function()
            local x = np.cos(np.arange(24) * 1.7):astype "f64":reshape(12, 2)
            for _, name in ipairs(WAVELETS) do
                local parts = signal.wavedec(x, name, { level = 4, axis = 0 })
                check.equal(#parts, 5)
                local y = signal.waverec(parts, name, { axis = 0 })
                check.ok(np.max(np.abs(y - x)):item() < 1e-13, name)
            end
        end,
    },
})

-- ---- Images ---------------------------------------------------------------------------------------------------------

local function in_detail(o) return { axes = o.axes, level = o.level, nonsense = o.nonsense } end

contract("dwt2", {
    args = { "x" },
    accepts = "f64 f32 f16 i32 c64",
    shapes = { { { 4, 6 } }, { { 2, 3, 5 } } },
    options = { { wavelet = "db2" }, { wavelet = "bior2.2" }, { wavelet = "db4", axes = { 1, 0 } } },
    call = function(f, o, x) return f(x, o.wavelet, in_detail(o)) end,
    oracle = "transformed(x, {'f': 'dwt2'} | o)",
    sizes = PARITY,
    refuses = {
        { "at least 2 axes", function() signal.dwt2(np.ones(4), "haar") end },
        { "two axes", function() signal.dwt2(np.ones { 4, 4 }, "haar", { axes = { 1 } }) end },
        { "no elements", function() signal.dwt2(np.ones { 0, 4 }, "haar") end },
    },
})
contract("idwt2", {
    args = { "a", "h", "v", "d" },
    accepts = "f64 f32 f16 i32 c64",
    shapes = { { { 2, 3 }, { 2, 3 }, { 2, 3 }, { 2, 3 } } },
    options = { { wavelet = "db3" }, { wavelet = "bior4.4", axes = { 1, 0 } } },
    call = function(f, o, a, h, v, d) return f(a, { h, v, d }, o.wavelet, in_detail(o)) end,
    oracle = "pywt.idwt2((wide(a), (wide(h), wide(v), wide(d))), mode='periodization', **o)",
    refuses = {
        { "three arrays", function() signal.idwt2(np.ones { 2, 2 }, np.ones { 2, 2 }, "haar") end },
        { "have shapes", function()
            signal.idwt2(np.ones { 2, 2 }, { np.ones { 2, 2 }, np.ones { 2, 2 }, np.ones { 2, 3 } }, "haar")
        end },
    },
})
contract("wavedec2", {
    args = { "x" },
    accepts = "f64 f32",
    shapes = { { { 7, 8 } }, { { 2, 12, 6 } } },
    options = { { wavelet = "haar" }, { wavelet = "db2", level = 2 },
                { wavelet = "bior2.2", level = 1, axes = { 1, 0 } } },
    call = function(f, o, x) return f(x, o.wavelet, in_detail(o)) end,
    oracle = "transformed(x, {'f': 'wavedec2'} | o)",
    sizes = PARITY,
    refuses = { { "level", function() signal.wavedec2(np.ones { 8, 4 }, "haar", { level = 3 }) end } },
})
contract("waverec2", {
    args = { "a", "h", "v", "d" },
    accepts = "f64 f32",
    shapes = { { { 3, 2 }, { 2, 2 }, { 2, 2 }, { 2, 2 } } },
    options = { { wavelet = "db2" }, { wavelet = "haar", axes = { 0, 1 } } },
    call = function(f, o, a, h, v, d) return f({ a, { h, v, d } }, o.wavelet, in_detail(o)) end,
    oracle = "pywt.waverec2([wide(a), (wide(h), wide(v), wide(d))], mode='periodization', **o)",
    sizes = "the extents of parts depend on each other",
    refuses = {
        { "a list", function() signal.waverec2(np.ones { 2, 2 }, "haar") end },
        { "three arrays", function() signal.waverec2({ np.ones { 2, 2 }, np.ones { 2, 2 } }, "haar") end },
    },
    also = {
        ["np.signal.waverec2: gives images back, of odd extents too"] = function()
            local x = np.cos(np.arange(2 * 7 * 10) * 1.7):astype "f64":reshape(2, 7, 10)
            for _, name in ipairs(WAVELETS) do
                local y = signal.waverec2(signal.wavedec2(x, name, { level = 3 }), name)
                check.equal(y.shape, { 2, 8, 10 })
                check.ok(np.max(np.abs(y[{ {}, { 0, 7 } }] - x)):item() < 1e-13, name)
            end
        end,
    },
})

finish()
