--- differences_test.lua: contracts of differences, derivatives and integrals along an axis, and of convolutions
-- (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, same = require "tests.lib.contracts" "differences"

--- Rising coordinates along the last axis; of unsigned integers of signed ones.
local function coordinates(random, dims, dtype)
    local list, last, size = {}, -6, 1
    for _, n in ipairs(dims) do size = size * n end
    for k = 1, size do
        last = last + random(3)
        list[k] = last
    end
    dtype = ({ u8 = "i16", u16 = "i32", u32 = "f32", u64 = "f64", c64 = "f32", c128 = "f64" })[dtype] or dtype
    return size == 0 and np.zeros(dims, { dtype = dtype }) or np.array(list, { dtype = dtype }):reshape(dims)
end

of("np.diff", {
    args = { "x", "more" },
    shapes = { { { 5 }, {} }, { { 3, 4 }, { 3, 2 } }, { { 2, 3 }, {} }, { { 1 }, { 2 } }, { { 0 }, {} },
               { { 4 }, {} } },
    accepts = "floats ints complex",
    options = { { prepend = 1 }, { append = 1 }, { plain = 1 }, { n = 2, prepend = 1 }, { n = 3 }, { n = 0 },
                { n = 2, prepend = 1, append = 1 }, { axis = -1, append = 1 } },
    call = function(f, o, x, more)
        return f(x, { n = o.n, axis = o.axis, prepend = o.prepend and more, append = o.append and more,
                      nonsense = o.nonsense })
    end,
    oracle = "diff_of(x, more, o)",
    gives = "same",
    within = { f64 = "ulp 0.51", f32 = "abs 1e-6", f16 = "ulp 0.51", bf16 = "ulp 0.51" },
    without = { special = "the row of subtract holds special values" },
    also = {
        ["np.diff: bools"] = function()
            check.equal(np.diff(np.array { true, false, false, true }):totable(), { true, false, true })
        end,
    },
})
of("np.ediff1d", {
    args = { "x", "front", "back" },
    shapes = { { { 5 }, {}, {} }, { { 2, 3 }, { 2 }, {} }, { { 1 }, {}, { 3 } }, { { 0 }, { 1 }, {} } },
    accepts = "floats ints complex",
    options = { { to_begin = 1, to_end = 1 }, { to_begin = 1 }, {} },
    call = function(f, o, x, front, back)
        return f(x, { to_begin = o.to_begin and front, to_end = o.to_end and back, nonsense = o.nonsense })
    end,
    oracle = "np.ediff1d(x, to_begin=front if 'to_begin' in o else None, to_end=back if 'to_end' in o else None)",
    gives = "same",
    within = { f64 = "ulp 0.51", f32 = "ulp 0.51", f16 = "ulp 0.51", bf16 = "ulp 0.51" },
    without = { special = "the row of subtract holds special values" },
})
of("np.gradient", {
    args = { "x", { "at", make = coordinates } },
    shapes = { { { 5 }, { 5 } }, { { 3, 4 }, {} }, { { 3 }, { 3 } }, { { 2, 3 }, {} } },
    accepts = "floats ints",
    options = { { spacing = 1 }, {}, { edge_order = 2, spacing = 1 }, { axis = 0, edge_order = 1 }, { h = 0.3 } },
    call = function(f, o, x, at)
        local given = { axis = o.axis, edge_order = o.edge_order, nonsense = o.nonsense }
        if x.ndim == 2 and given.edge_order == 2 and x:dim(0) < 3 then given.edge_order = 1 end
        if o.spacing then return f(x, at, given) end
        if o.h then return f(x, o.h, given) end
        return f(x, given)
    end,
    oracle = "gradient_of(x, at, o)",
    gives = function(dtype) return np.result_type(dtype, 0.5) end,
    within = { f64 = "scaled 1e-14", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" },
    also = {
        ["np.gradient: numbers and tables keep their digits"] = function()
            local x = np.array({ 1, 4, 9, 16 }, { dtype = "f64" })
            local function same_as(a, b) check.equal(a:totable(), b:totable()) end
            same_as(np.gradient(x, 0.1), np.gradient(x, np.array(0.1, { dtype = "f64" })))
            same_as(np.gradient(x, { 0.1, 0.2, 0.4, 0.8 }),
                    np.gradient(x, np.array({ 0.1, 0.2, 0.4, 0.8 }, { dtype = "f64" })))
            local far = { 16777216, 16777217, 16777219, 16777220 }
            same_as(np.gradient(np.array { 1, 4, 9, 16 }, np.array(far, { dtype = "i32" })),
                    np.gradient(np.array { 1, 4, 9, 16 }, np.array { 0, 1, 3, 4 }))
        end,
    },
})
--- Special values, of which the large ones leave room for a distance: the products overflow in NumPy, too.
local function large(dtype)
    local huge = ({ f16 = 2 ^ 14, bf16 = 2 ^ 100, f32 = 2 ^ 120, f64 = 2 ^ 1000 })[dtype]
    return huge and { 0 / 0, math.huge, -math.huge, huge } or nil
end

of("np.trapezoid", {
    args = { { "y", special = large }, { "x", make = coordinates } },
    shapes = { { { 5 }, { 5 } }, { { 2, 4 }, { 4 } }, { { 2, 4 }, { 1, 4 } }, { { 2, 4 }, { 2, 4 } },
               { { 0 }, { 0 } }, { { 1 }, { 1 } }, { { 4 }, { 1, 4 } } },
    accepts = "floats ints complex",
    options = { { x = 1 }, { dx = 0.3 }, {}, { dx = 2, axis = 0 } },
    call = function(f, o, y, x)
        local given = { dx = o.dx, axis = o.axis, nonsense = o.nonsense }
        if o.x then return f(y, x, next(given) and given or nil) end
        return f(y, next(given) and given or nil)
    end,
    oracle = "trapezoid_of(y, x, o)",
    within = { f64 = "scaled 1e-14", f32 = "scaled 1e-6" },
    also = {
        ["np.trapezoid: numbers and tables keep their digits"] = function()
            local y, x = np.array({ 0.1, 0.3, 0.7 }, { dtype = "f64" }), { 0.1, 0.2, 0.4 }
            check.equal(np.trapezoid(y, x):item(), np.trapezoid(y, np.array(x, { dtype = "f64" })):item())
            check.equal(np.trapezoid(y, np.array({ 3, 2, 1 }, { dtype = "u8" })):item(), -0.7)
        end,
    },
})
same("np.trapz", "np.trapezoid")
for _, name in ipairs { "convolve", "correlate" } do
    of("np." .. name, {
        args = { "a", "v" },
        shapes = { { { 5 }, { 3 } }, { { 3 }, { 5 } }, { { 4 }, { 2 } }, { { 1 }, { 1 } }, { { 3 }, { 4 } } },
        accepts = "floats ints complex",
        options = { {}, { mode = "same" }, { mode = "valid" }, { mode = "full" } },
        oracle = ("slid(a, v, o.get('mode', %q), %s)"):format(name == "convolve" and "full" or "valid",
                                                              name == "convolve" and "True" or "False"),
        gives = "same",
        within = { f64 = "scaled 1e-14", f32 = "scaled 1e-6", f16 = "scaled 1e-3", bf16 = "scaled 1e-2" },
    })
end

finish()
