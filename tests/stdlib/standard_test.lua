--- standard_test.lua (under tsan with --long): what the Python array API standard asks of functions that other tests do
-- not ask: the options `device` and `copy`, signs of zeros, shapes that are refused. tests/array_api holds the whole
-- standard against neap.
local np = require "neap"
local check = require "tests.lib.check"

check.test("device= of what makes arrays", function()
    local x, here = np.arange(3), np.devices()[1]
    for _, device in ipairs { tostring(here), here } do
        local o = { device = device }
        for _, made in ipairs {
            np.zeros(2, o), np.ones({ 2 }, o), np.empty(2, o), np.full(2, 7, o), np.zeros_like(x, o),
            np.ones_like(x, o), np.empty_like(x, o), np.full_like(x, 7, o), np.arange(3, o), np.linspace(0, 1, 3, o),
            np.linspace(x, 1, 3, o), np.eye(2, o), np.tri(2, o),
            np.array({ 1, 2 }, o), np.asarray(x, o), np.astype(x, "f32", o),
            x:astype("f32", o), np.from_dlpack(x, o), np.from_dlpack(x:dlpack(), o),
        } do check.equal(tostring(made.device), tostring(here)) end
    end
    check.equal(np.full(2, 7, { dtype = "i8", device = "cpu" }):totable(), { 7, 7 })
    check.equal(np.full(2, 7, { dtype = "i8", device = "cpu" }).dtype, "i8")
    check.equal(np.array({ 1, 2 }, { dtype = "u8", device = "cpu" }).dtype, "u8")
    check.raises(function() np.zeros(2, { device = "cpu:99" }) end, "there is no device 'cpu:99'")
    check.raises(function() np.arange(2, { device = 3 }) end, "np.arange: device must be a device")
    check.raises(function() np.astype(x, "f32", { devise = "cpu" }) end, "unknown option 'devise'")
end)

check.test("copy=", function()
    local x = np.arange(4)
    for _, copy in ipairs { true, false } do
        check.equal(np.asarray(x, { copy = copy }):totable(), { 0, 1, 2, 3 })
        check.equal(np.astype(x, "f64", { copy = copy }).dtype, "f64")
        check.equal(np.reshape(x, { 2, 2 }, { copy = copy }):totable(), { { 0, 1 }, { 2, 3 } })
    end
    check.equal(np.asarray(x, { copy = false, dtype = "i32" }).dtype, "i32")
    check.raises(function() np.asarray({ 1, 2 }, { copy = false }) end, "copy=false, but an array of Lua values")
    check.raises(function() np.asarray(x, { copy = false, dtype = "f32" }) end, "an array of another dtype")
    check.raises(function() np.reshape(x, { 2, 2 }, { kopy = true }) end, "unknown option 'kopy'")
end)

check.test("triangles by an option, the sign of zeros, vectors alone", function()
    local x = np.ones { 3, 3 }
    check.equal(np.tril(x, { k = -1 }):totable(), np.tril(x, -1):totable())
    check.equal(np.triu(x, { k = 2 }):totable(), np.triu(x, 2):totable())
    check.raises(function() np.triu(x, { q = 2 }) end, "unknown option 'q'")
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
        local signs = np.sign(np.array({ -0.0, 0, -3, 5, np.nan }, { dtype = dtype }))
        check.equal(np.signbit(signs)[{ { 0, 4 } }]:totable(), { false, false, true, false })
        check.ok(np.isnan(signs[4]):item(), dtype)
    end
    check.equal(np.linalg.outer(np.array { 1, 2 }, np.array { 3, 4 }):totable(), { { 3, 4 }, { 6, 8 } })
    check.raises(function() np.linalg.outer(np.ones { 2, 2 }, np.ones(2)) end, "argument 1 must be a vector")
    check.raises(function() np.linalg.outer(np.ones(2), np.ones {}) end, "argument 2 must be a vector")
end)

check.done()
