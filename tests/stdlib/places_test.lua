--- places_test.lua (under tsan with --long): indices and loops over them, values at places, digits, attention: under
-- transforms, at their ends, and what they refuse. Their values stand beside NumPy's and JAX's in
-- tests/golden/library.txt.
local np = require "neap"
local check = require "tests.lib.check"

local x = np.array({ { 1.53, -2.17, 0.27 }, { 3.3, 0.76, -1.24 } }, { dtype = "f64" })

for name, f in pairs {
    place = function(a) return np.place(a, x:gt(0), a[0] * 2) end,
    putmask = function(a) return np.putmask(a, x:lt(1), a[1]) end,
    fill_diagonal = function(a) return np.fill_diagonal(a, a[0] ^ 2) end,
    polydiv = function(a) return select(2, np.polydiv(np.concatenate { a[0], a[1] }, a[0])) end,
    squareplus = function(a) return np.nn.squareplus(a, 2) end, sparse_plus = np.nn.sparse_plus,
    log1mexp = function(a) return np.nn.log1mexp(np.abs(a)) end,
    logmeanexp = function(a) return np.nn.logmeanexp(a, { axis = 1 }) end,
    attention = function(a)
        local heads = a:reshape(3, 1, 2)
        return np.nn.dot_product_attention(heads, heads * 2, heads + 1, { is_causal = true })
    end,
} do
    check.test(name .. " under jit, vmap and grad", function()
        local want = f(x)
        check.ok(np.allclose(np.jit(f)(x), want, { rtol = 1e-12, atol = 1e-12 }), "jit")
        local both = np.vmap(f)(np.stack { x * 1.01, x })
        check.ok(np.allclose(both[1], want, { rtol = 1e-12, atol = 1e-12 }), "vmap")
        local direction = np.array({ { 0.3, -0.7, 1 }, { 0.2, 0.9, -0.4 } }, { dtype = "f64" })
        local function total(a) return (f(a) * np.cos(np.arange(want.size):reshape(want.shape) + 1)):sum() end
        local got = (np.grad(total)(x) * direction):sum():item()
        local step = 1e-6
        local difference = (total(x + direction * step) - total(x - direction * step)):item() / (2 * step)
        check.ok(math.abs(got - difference) <= 1e-6 * math.max(1, math.abs(difference)),
                 ("gradient %.9g, difference %.9g"):format(got, difference))
    end)
end

check.test("loops", function()
    local seen = {}
    for i in np.ndindex { 2, 1, 2 } do seen[#seen + 1] = table.concat(i, ",") end
    check.equal(seen, { "0,0,0", "0,0,1", "1,0,0", "1,0,1" })
    seen = {}
    for i in np.ndindex {} do seen[#seen + 1] = #i end
    check.equal(seen, { 0 })
    for _ in np.ndindex(3, 0) do error "there is no index" end
    for _ in np.ndenumerate(np.zeros { 0, 2 }) do error "there is no element" end
    for i, value in np.ndenumerate(np.array(7)) do check.equal({ #i, value }, { 0, 7 }) end
    local total = 0
    for i, value in np.ndenumerate(np.arange(6):reshape(2, 3).T) do total = total + (10 * i[1] + i[2]) * value end
    check.equal(total, 1 * 3 + 10 * 1 + 11 * 4 + 20 * 2 + 21 * 5)
    check.raises(function() np.ndindex(-1) end, "np.ndindex: a shape is made of integers")
end)

check.test("ends", function()
    check.equal(np.fill_diagonal(np.zeros { 0, 3 }, 1).size, 0)
    check.equal(np.fill_diagonal(np.zeros({ 2, 2 }, { dtype = "i8" }), 7).dtype, "i8")
    check.equal(np.place(np.zeros { 0 }, np.zeros({ 0 }, { dtype = "bool" }), { 1 }).size, 0)
    check.equal(np.ix_({ 1, 0 }).shape, { 2 })
    check.equal(select("#", np.ix_()), 0)
    check.equal({ np.base_repr(0), np.base_repr(0, 2, 3), np.base_repr(2 ^ 53, 36), np.base_repr(-9, 3) },
                { "0", "000", "2GOSA7PA2GW", "-100" })
    check.equal({ np.binary_repr(0, 3), np.binary_repr(-1, 1), np.binary_repr(-8, 4), np.binary_repr(7, 8) },
                { "000", "1", "1000", "00000111" })
    for _, value in ipairs { true, 2.5, 3LL, 3ULL } do check.ok(np.isscalar(value), tostring(value)) end
    for _, value in ipairs { "3", {}, np.array(3) } do check.ok(not np.isscalar(value), tostring(value)) end
    local half = np.ones({ 3, 1, 4 }, { dtype = "f16" })
    check.equal(np.nn.dot_product_attention(half, half, half * 2).dtype, "f16")
    local none = np.nn.dot_product_attention(np.ones { 2, 1, 4 }, np.ones { 3, 1, 4 }, np.arange(6):reshape(3, 1, 2),
                                             { mask = np.zeros({ 2, 3 }, { dtype = "bool" }) })
    check.equal(none:totable(), { { { 2, 3 } }, { { 2, 3 } } }, "a query without a key")
end)

check.test("what is refused", function()
    local square = np.ones { 2, 2 }
    check.raises(function() np.ix_(square) end, "np.ix_: argument 1 must be 1%-d, got shape %(2, 2%)")
    check.raises(function() np.tril_indices_from(np.ones(3)) end, "needs 2 axes")
    check.raises(function() np.diag_indices_from(np.ones { 2, 3 }) end, "all axes must have one extent")
    check.raises(function() np.diag_indices_from(false) end, "needs at least 2 axes, got shape %(%)")
    check.raises(function() np.triu_indices_from(2) end, "needs 2 axes, got shape %(%)")
    check.raises(function() np.mask_indices(3, 4) end, "argument 2 %(f%) must be a function")
    check.raises(function() np.place(square, np.ones(3), { 1 }) end, "argument 2 must have as many elements as x, 4")
    check.raises(function() np.putmask(square, square, {}) end, "argument 3 %(values%) has no elements")
    check.raises(function() np.fill_diagonal(np.ones { 2, 3, 2 }, 1) end, "all axes must have one extent")
    check.raises(function() np.fill_diagonal(square, 1, { wrapped = true }) end, "unknown option 'wrapped'")
    check.raises(function() np.base_repr(3, 37) end, "an integer from 2 to 36")
    check.raises(function() np.base_repr(2.5) end, "argument 1 %(n%) must be an integer")
    check.raises(function() np.binary_repr(8, 3) end, "8 does not fit into 3 bits")
    check.raises(function() np.binary_repr(-9, 4) end, "-9 does not fit into 4 bits")
    check.raises(function() np.nn.dot_product_attention(square, square, square) end, "argument 1 must have shape")
    check.raises(function()
        np.nn.dot_product_attention(np.ones { 2, 3, 4 }, np.ones { 2, 2, 4 }, np.ones { 2, 2, 4 })
    end, "3 heads of argument 1 cannot share 2 heads of argument 2")
end)

check.done()
