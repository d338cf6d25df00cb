-- extents_test.lua (under tsan with --long): functions in Lua on arrays of no elements, of no axes, and of more
-- elements than their integers can count: shapes and values as NumPy 2.4 has them.
local check = require "tests.lib.check"
local np = require "neap"

check.test("argwhere of one element without axes", function()
    check.equal(np.argwhere(np.array(5)).shape, { 1, 0 })
    check.equal(np.argwhere(np.array(0)).shape, { 0, 0 })
    check.equal(select("#", np.argwhere(np.array(5))), 1)
    check.equal(np.argwhere(np.array(5), { size = 1 }).shape, { 1, 0 })
end)

check.test("medians and quantiles of nothing", function()
    for _, name in ipairs { "median", "nanmedian" } do
        local one = np[name](np.zeros { 0 })
        check.equal(one.shape, {})
        check.ok(np.isnan(one):item(), name)
        check.equal(np[name](np.zeros { 2, 0 }, { axis = 1 }).shape, { 2 })
        check.equal(np[name](np.zeros { 2, 0 }, { axis = 0 }).shape, { 0 })
        check.equal(np[name](np.zeros { 2, 0 }, { axis = 1, keepdims = true }).shape, { 2, 1 })
    end
    local both = np.quantile(np.zeros({ 0 }, { dtype = "i32" }), { 0.25, 0.5 })
    check.equal(both.shape, { 2 })
    check.ok(np.all(np.isnan(both)):item())
    check.ok(np.isnan(np.nanpercentile(np.zeros { 3, 0 }, 10)):item())
    check.raises(function() np.mode(np.zeros { 0 }) end, "nothing to take it of")
end)

check.test("places in arrays of more than 2^31 elements", function()
    local i, j = np.unravel_index(np.array({ 5000000001LL, -1LL }, { dtype = "i64" }), { 100000, 100000 })
    check.equal(i:totable(), { 50000, 99999 })
    check.equal(j:totable(), { 1, 99999 })
    i, j = np.unravel_index(np.array({ 7 }, { dtype = "i32" }), { 100000, 100000 })
    check.equal(i:totable(), { 0 })
    check.equal(j:totable(), { 7 })
    local place = np.ravel_multi_index({ np.array({ 99999 }, { dtype = "i32" }), np.array({ 7 }, { dtype = "i32" }) },
        { 100000, 100000 })
    check.equal(place:totable(), { 9999900007 })
end)

check.test("narrow coordinates of a long axis", function()
    local place = np.ravel_multi_index({ np.array({ 3 }, { dtype = "i8" }), np.array({ 100 }, { dtype = "i8" }) },
        { 200, 200 })
    check.equal(place:totable(), { 700 })
    local i, j = np.unravel_index(np.array({ 100 }, { dtype = "u8" }), { 30, 40 })
    check.equal({ i:item(), j:item() }, { 2, 20 })
end)

check.test("trapezoid with coordinates that are broadcast", function()
    local y = np.array { { 1, 2, 3 }, { 4, 5, 6 } }
    check.equal(np.trapezoid(y, np.array { { 0, 1, 3 } }):totable(), { 6.5, 15.5 })
    check.equal(np.trapezoid(y, np.array { { 0 }, { 2 } }, { axis = 0 }):totable(), { 5, 7, 9 })
    check.raises(function() np.trapezoid(y, np.ones { 1, 2 }) end, "do not fit axis 1")
    check.raises(function() np.trapezoid(y, np.ones { 3, 3 }) end, "do not fit axis 1")
end)

check.test("tensorsolve whose right side has the elements in another shape", function()
    local a = np.random.normal(np.random.key(0), { 6, 4, 2, 3, 4 }, { dtype = "f64" })
    local b = np.random.normal(np.random.key(1), { 4, 6 }, { dtype = "f64" })
    local x = np.linalg.tensorsolve(a, b)
    check.equal(x.shape, { 2, 3, 4 })
    local again = np.tensordot(a, x, 3):reshape(4, 6)
    check.ok(np.allclose(again, b), "a x = b")
end)

check.test("the default dtype of complex numbers", function()
    check.equal(np.__array_namespace_info__().default_dtypes()["complex floating"], "c64")
    check.equal(np.array { 1i }.dtype, "c64")
end)
check.done()
