--- choices_test.lua: contracts of functions that choose by conditions, write at places, and order by keys.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "choices"
local moves = require "tests.lib.contract_moves"

local rest = moves.rest
local function moving(name, fields) of(name, moves.contract(fields)) end
local ALL = "floats complex ints bool"

local function sparse(random, dims, dtype)
    local x = np.zeros(dims, { dtype = dtype }):ravel()
    if x.size > 0 then x = x:at { np.array({ 0, random(x.size) - 1 }, { dtype = "i32" }) }:set(1) end
    return x:reshape(dims)
end

-- ---- Places of elements ---------------------------------------------------------------------------------------------

for name, shapes in pairs {
    argwhere = { { { 3, 4 } }, { { 5 } }, { {} }, { { 2, 0 } } }, flatnonzero = { { { 3, 4 } }, { { 5 } }, { {} },
        { { 0 } } },
} do
    of("np." .. name, {
        args = { { "x", make = sparse } }, accepts = ALL, gives = "i32", shapes = shapes,
        options = { { size = 3 }, {}, { size = 1 }, { size = 5, fill_value = -1 } },
        waits = function(o) return not o.size end,
        oracle = ("jnp.%s(x, size=o.get('size'), fill_value=o.get('fill_value', 0))"):format(name),
        without = { special = "an argument is made of zeros and other numbers",
                    derivatives = "places are no numbers to derive" },
        also = {
            ["of no axes"] = function()
                local dims = name == "argwhere" and { 1, 0 } or { 1 }
                local x = np[name](np.array(7))
                check.equal({ x.dtype, x.shape, x.size }, { "i32", dims, #dims == 1 and 1 or 0 })
                dims[1] = 0
                check.equal(np[name](np.array(0)).shape, dims)
                check.equal(select("#", np[name](np.array(7))), 1)
            end,
        },
    })
end

for _, name in ipairs { "np.compress", "x.compress" } do
    moving(name, {
        args = { { "c", dtype = "bool" }, "x" },
        shapes = { { { 3 }, { 3, 4 } }, { { 2 }, { 2, 3 } }, { { 2 }, { 5 } }, { { 0 }, { 0 } } },
        options = { { axis = 0 }, {}, { axis = -1 } },
        call = function(f, o, c, x)
            if name == "x.compress" then return f(x, c, rest(o, "")) end
            return f(c, x, rest(o, ""))
        end,
        oracle = "np.compress(c, x, **o)", waits = function() return true end,
        without = { jit = "it waits for the condition", programs = "it waits for the condition",
                    vmap = "it waits for the condition", numbers = "one array stands alone: conditions are bools" },
    })
end
moving("np.extract", {
    args = { { "c", dtype = "bool" }, "x" },
    shapes = { { { 2, 5 }, { 2, 5 } }, { { 6 }, { 2, 3 } }, { {}, {} }, { { 0 }, { 0 } } },
    call = function(f, o, c, x) return f(c, x, rest(o, "")) end,
    oracle = "np.extract(c, x)", waits = function() return true end,
    without = { jit = "it waits for the condition", programs = "it waits for the condition",
                vmap = "it waits for the condition", numbers = "one array stands alone: conditions are bools" },
})

-- ---- One of several values ------------------------------------------------------------------------------------------

moving("np.select", {
    args = { { "c", dtype = "bool" }, { "d", dtype = "bool" }, "x", "y" },
    shapes = { { { 10 }, { 10 }, { 10 }, { 10 } }, { { 2, 1 }, { 3 }, { 3 }, {} }, { {}, {}, {}, {} },
               { { 3 }, { 3 }, {}, { 3 } }, { { 0 }, { 0 }, { 0 }, { 0 } } },
    options = { {}, { default = 1 } }, gives = function(dtype) return dtype == "bool" and "i32" or dtype end,
    call = function(f, o, c, d, x, y) return f({ c, d }, { x, y }, o.default, rest(o, "default")) end,
    oracle = "np.select([c, d], [x, y], x.dtype.type(o.get('default', 0)))",
    also = {
        ["a default keeps its digits, and what does not fit raises"] = function()
            local no = np.array { false }
            check.equal(np.select({ no }, { np.ones(1, { dtype = "f64" }) }, 0.1):item(), 0.1)
            check.equal(np.select({ no }, { np.ones(1, { dtype = "i64" }) }, 2 ^ 53 - 1):item(), 2 ^ 53 - 1)
            check.raises(function() np.select({ no }, { np.ones(1, { dtype = "u8" }) }, 300) end, "300")
        end,
        ["choices meet each other"] = function()
            local c, f = np.array { true }, np.array { false }
            local x = np.select({ f, c }, { np.ones(1, { dtype = "f64" }), { 0.1 } })
            check.equal({ x.dtype, x:item() }, { "f64", 0.1 })
            local i = np.select({ f, c }, { np.ones(1, { dtype = "i32" }), { 16777217 } })
            check.equal({ i.dtype, i:item() }, { "i32", 16777217 })
        end,
    },
})
moving("np.piecewise", {
    args = { { "c", dtype = "bool" }, { "d", dtype = "bool" }, "x" },
    shapes = { { { 10 }, { 10 }, { 10 } }, { { 3 }, { 3 }, { 3 } }, { { 0 }, { 0 }, { 0 } } },
    options = { {}, { other = 1 } },
    call = function(f, o, c, d, x)
        local functions = { function(v) return v end, 1, o.other }
        assert(o.nonsense == nil, "nonsense: further arguments are those of the functions")
        return f(x, { c, d }, functions)
    end,
    oracle = "np.piecewise(x, [c, d], [lambda v: v, 1, o.get('other', 0)])",
    without = { numbers = "values take the dtype of x, as a test of its own has it" },
    also = {
        ["values keep their digits, and what does not fit raises"] = function()
            local yes = np.array { true }
            check.equal(np.piecewise(np.ones(1, { dtype = "f64" }), { yes }, { 0.1 }):item(), 0.1)
            check.equal(np.piecewise(np.ones(1, { dtype = "i64" }), { yes }, { 2LL ^ 53 - 1 }):item(), 2 ^ 53 - 1)
            check.equal(np.piecewise(np.ones(1, { dtype = "i64" }), { yes }, { 16777217 }):item(), 16777217)
            check.equal(np.piecewise(np.ones(1, { dtype = "i64" }), { yes }, { function() return 16777217 end }):item(),
                        16777217)
            check.raises(function() np.piecewise(np.ones(1, { dtype = "u8" }), { yes }, { 300 }) end, "300")
            check.raises(function() np.piecewise(np.ones(1, { dtype = "i32" }), { yes }, { 2.7 }) end, "2.7")
        end,
        ["further arguments go to the functions"] = function()
            local x = np.piecewise(np.array { 1, 2 }, { np.array { true, false } }, { function(v, a) return v * a end,
                7 }, 5)
            check.equal(x:totable(), { 5, 7 })
        end,
    },
})
moving("np.choose", {
    args = { { "i", dtype = "i32", from = -3, to = 4 }, "x", "y" },
    shapes = { { { 10 }, { 10 }, { 10 } }, { { 2, 1 }, { 3 }, {} }, { {}, {}, {} }, { { 3 }, {}, { 3 } }, { { 0 },
        { 0 }, { 0 } } },
    options = { {}, { mode = "wrap" }, { mode = "clip" } },
    call = function(f, o, i, x, y) return f(i, { x, y }, rest(o, "")) end,
    oracle = "np.choose(i, [x, y], mode=o.get('mode', 'clip'))",
    refuses = { { "5", function() np.choose(np.array({ 5 }, { dtype = "i32" }), { 1, np.ones(1) },
        { mode = "raise" }) end } },
})

-- ---- Writing at places ----------------------------------------------------------------------------------------------

--- Different places of a flattened array of n elements, some counted from the end.
local function places_below(n)
    return function(random, dims)
        local list, left = {}, {}
        for k = 1, n do left[k] = k - 1 end
        local count = 1
        for _, m in ipairs(dims) do count = count * m end
        for k = 1, count do
            local place = table.remove(left, random(#left))
            list[k] = k % 2 == 0 and place - n or place
        end
        if count == 0 then return np.zeros(dims, { dtype = "i32" }) end
        return np.array(list, { dtype = "i32" }):reshape(dims)
    end
end

local OUT_OF_RANGE = {
    ["what does not fit raises"] = function()
        check.raises(function() np.put(np.zeros(2, { dtype = "u8" }), 0, 300) end, "300")
        check.raises(function() np.put(np.arange(2), { 0, 1 }, { 1, 2.7 }) end, "2.7")
        check.raises(function() np.put(np.ones(2), 0, 1i) end, "complex number")
    end,
}

moving("np.put", {
    args = { "x", { "i", make = places_below(6), grad = false }, "v" },
    shapes = { { { 2, 5 }, { 4 }, { 4 } }, { { 2, 3 }, { 2, 2 }, { 3 } }, { { 6 }, {}, {} }, { { 6 }, { 2 }, { 4 } },
               { { 6 }, { 0 }, { 1 } } },
    options = { {}, { mode = "clip" }, { mode = "wrap" } },
    call = function(f, o, x, i, v)
        if o.mode == "clip" then i = i % x.size end
        return f(x, i, v, rest(o, ""))
    end,
    oracle = "put(x, i, v)", also = OUT_OF_RANGE,
})
moving("np.put_along_axis", {
    args = { "x", { "i", dtype = "i32", from = -3, to = 2 }, { "v", from = 0, to = 2 } },
    accepts = "floats c128 ints bool", special = false, within = {},
    shapes = { { { 3, 4 }, { 1, 4 }, { 1, 4 } }, { { 3, 2 }, { 1, 2 }, {} }, { { 3, 4 }, { 2, 1 }, {} },
               { { 3, 2 }, { 0, 2 }, { 0, 2 } } },
    options = { { axis = 0 }, { axis = -2, mode = "wrap" }, { axis = 0, reduce = "add" }, { axis = 0, reduce = "mul" },
                { axis = 0, reduce = "min", mode = "clip" }, { axis = 0, reduce = "max" }, { axis = 0,
                    reduce = "set" } },
    call = function(f, o, x, i, v)
        if o.mode == "clip" then i = i % 3 end
        return f(x, i, v, rest(o, ""))
    end,
    oracle = "along(x, i, v, o['axis'], o.get('reduce', 'set'))",
    without = { special = "written values are those of x:at{…}, whose contract has special ones" },
    also = {
        ["derivatives where several meet, and at ties"] = function()
            local i = np.array({ { 0, 0, 1 } }, { dtype = "i32" })
            local function d(list) return np.array({ list }, { dtype = "f64" }) end
            for how, row in pairs { set = { { 0, 0, 4 }, { 0, 1, 2 } }, add = { { 1, 2, 4 }, { 1, 1, 2 } },
                                    mul = { { 1, 4, 4 }, { 1, 1, 4 } }, max = { { 1 / 3, 1, 4 }, { 1 / 3, 1 / 3, 1 } },
                                    min = { { 1 / 3, 1, 4 }, { 1 / 3, 1 / 3, 1 } } } do
                local function f(x, v)
                    return (np.put_along_axis(x, i, v, { axis = 1, reduce = how }) * d { 1, 2, 4 }):sum()
                end
                local gx, gv = np.grad(f, { argnums = { 1, 2 } })(d { 1, 2, 3 }, d { 1, 1, 2 })
                check.close(gx[0]:totable(), row[1], 1e-12)
                check.close(gv[0]:totable(), row[2], 1e-12)
            end
        end,
        ["several at one place"] = function()
            local x, i = np.array { { 1, 2, 3 } }, np.array({ { 0, 0, 2 } }, { dtype = "i32" })
            local v = np.array { { 4, 5, 6 } }
            for how, expected in pairs { set = { 5, 2, 6 }, add = { 10, 2, 9 }, mul = { 20, 2, 18 }, min = { 1, 2, 3 },
                                         max = { 5, 2, 6 } } do
                check.equal(np.put_along_axis(x, i, v, { axis = 1, reduce = how })[0]:totable(), expected)
            end
        end,
        ["what does not fit raises"] = function()
            local i = np.zeros({ 1, 1 }, { dtype = "i32" })
            check.raises(function() np.put_along_axis(np.zeros({ 1, 2 }, { dtype = "u8" }), i, 300) end, "300")
            check.raises(function() np.put_along_axis(np.zeros({ 1, 2 }, { dtype = "u8" }), i, { { 2.5 } }) end, "2.5")
        end,
    },
    refuses = { { "reduce", function()
        np.put_along_axis(np.ones { 1, 2 }, np.zeros({ 1, 1 }, { dtype = "i32" }), 1, { reduce = "sum" })
    end } },
})

-- ---- Order ----------------------------------------------------------------------------------------------------------

moving("np.lexsort", {
    args = { "x", { "y", from = 0, to = 1 } }, gives = "i32",
    shapes = { { { 2, 5 }, { 2, 5 } }, { { 3, 2 }, { 3, 2 } }, { { 6 }, { 6 } }, { { 0 }, { 0 } } },
    options = { {}, { axis = 0 } },
    call = function(f, o, x, y) return f({ x, np.round(y) }, rest(o, "")) end,
    oracle = "np.lexsort([x, np.round(y)], **o)",
    accepts = "floats ints",
    without = { derivatives = "places are no numbers to derive",
        numbers = "keys are arrays of one shape, each by itself" },
    also = {
        ["keys of complex numbers, bools, and tables"] = function()
            check.equal(np.lexsort { { 2, 1, 3 }, { 5, 5, 4 } }:totable(), { 2, 1, 0 })
            check.equal(np.lexsort { np.array { 2i, 1i, 3 }, np.array { true, true, false } }:totable(), { 2, 1, 0 })
        end,
    },
})
for name, plain in pairs { partition = "sort", argpartition = "argsort" } do
    moving("np." .. name, {
        args = { "x" }, shapes = { { { 2, 5 } }, { { 3, 2 } }, { { 7 } } },
            gives = name == "partition" and "same" or "i32",
        options = { { kth = 1 }, { kth = { 0, -1 }, axis = 0 }, { kth = 0, axis = -1 } },
        call = function(f, o, x) return f(x, o.kth, rest(o, "kth")) end,
        oracle = ("order(x, %q, o.get('axis', -1))"):format(plain),
        without = name == "argpartition" and { derivatives = "places are no numbers to derive" } or nil,
    })
end
finish()
