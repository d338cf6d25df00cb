--- index_test.lua: contracts of x[…], of places in arrays, x:at{…}, and of np.dynamic_slice and its kin.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "index"
local moves = require "tests.lib.contract_moves"

local rest = moves.rest
local function moving(name, fields) of(name, moves.contract(fields)) end
local function ints(list) return np.array(list, { dtype = "i32" }) end

--- Indices of an array of three rows and four columns, as here and as in NumPy.
local KEYS = {
    { { 1 }, "1" }, { { { 0, 2 }, -1 }, "0:2, -1" }, { { {}, { 3, nil, -2 } }, ":, 3::-2" },
    { { np.newaxis, np.ellipsis, 0 }, "None, ..., 0" }, { { ints { 2, 0 } }, "[2, 0]" },
    { { ints { 2, 0 }, ints { -1, 1 } }, "[2, 0], [-1, 1]" }, { { {}, ints { { 0, 1 }, { 3, 3 } } },
        ":, [[0, 1], [3, 3]]" },
    { { 1, ints { 1, 3 } }, "1, [1, 3]" }, { { ints { 1, 1 }, { 1, 3 } }, "[1, 1], 1:3" },
}
local TEXTS = { "1", "0:2, -1", ":, 3::-2", "None, ..., 0", "[2, 0]", ":, [0, 1]", "1:1" }

local function keys()
    local list = {}
    for k, key in ipairs(KEYS) do list[k] = { k = k, at = key[2] } end
    return list
end

local CHOSEN = "the integer chooses an index of this file; 64-bit ones have a test of their own"
local reading = keys()
for _, text in ipairs(TEXTS) do reading[#reading + 1] = { text = text, at = text } end

moving("x.index", {
    args = { "x" }, shapes = { { { 3, 4 } }, { { 3, 4 } } }, options = reading,
    call = function(_, o, x) return x[o.text or KEYS[o.k][1]] end,
    oracle = "eval('x[' + o['at'] + ']', {'x': x})",
    without = { refusals = "an index has no options", integers = CHOSEN },
    also = {
        ["masks"] = function()
            local x = np.arange(6):reshape(2, 3)
            check.equal(x[x:gt(3)]:totable(), { 4, 5 })
            check.equal(x[{ np.array { true, false }, {} }]:totable(), { { 0, 1, 2 } })
            check.equal(x"[True, False], 1":totable(), { 1 })
        end,
        ["out of range and misread"] = function()
            local x = np.arange(6):reshape(2, 3)
            check.raises(function() return x[2] end, "out of range")
            check.raises(function() return x[{ 0, 0, 0 }] end, "3 indices")
            check.raises(function() return x"1;2" end, "cannot read")
            check.raises(function() return x[1.5] end, "index")
            check.raises(function() return x[np.array { 0.5 }] end, "integers")
        end,
        ["64-bit integers"] = function()
            local x = np.arange(6):reshape(2, 3)
            check.equal(x[{ 1LL, { 0LL, 2LL } }]:totable(), { 3, 4 })
            check.equal({ np.take(x, 4LL):item(), x:at { 1LL }:set(0)[1]:sum():item() }, { 4, 0 })
        end,
        ["derivatives add up where elements are read twice"] = function()
            local x = np.array({ 1, 2, 3 }, { dtype = "f64" })
            check.equal(np.grad(function(z) return (z[ints { 0, 0, 2 }] * np.array { 1, 2, 4 }):sum() end)(x):totable(),
                        { 3, 0, 4 })
        end,
    },
})
moving("x.at.get", {
    args = { "x" }, shapes = { { { 3, 4 } }, { { 3, 4 } } },
    options = { { k = 1, at = "1" }, { k = 2, at = "0:2, -1" }, { k = 5, at = "[2, 0]", mode = "clip" },
                { k = 6, at = "[2, 0], [-1, 1]", mode = "wrap" }, { k = 8, at = "1, [1, 3]", mode = "raise" },
                { k = 5, at = "[2, 0]", mode = "fill", fill_value = 1 } },
    waits = function(o) return o.mode == "raise" end, without = { integers = CHOSEN },
    call = function(_, o, x) return x:at(KEYS[o.k][1]):get(rest(o, "k at")) end,
    oracle = "eval('x[' + o['at'] + ']', {'x': x})",
    also = {
        ["out of range"] = function()
            local x, i = np.array { 1, 2, 3 }, ints { 5, -9, 1 }
            check.equal(x:at { i }:get():totable(), { 3, 1, 2 })
            check.equal(x:at { i }:get { mode = "wrap" }:totable(), { 3, 1, 2 })
            check.equal(x:at { i }:get { mode = "fill", fill_value = 9 }:totable(), { 9, 9, 2 })
            check.raises(function() x:at { i }:get { mode = "raise" } end, "5 is out of range")
            local d = np.ones(1, { dtype = "f64" }):at { ints { 7 } }:get { fill_value = 0.1 }
            check.equal(d:totable(), { 0.1 })
            local w = np.ones(1, { dtype = "i64" }):at { ints { 7 } }:get { fill_value = 2LL ^ 53 + 1 }
            check.equal(tostring(w[0]:item()), tostring(2LL ^ 53 + 1))
        end,
    },
})
for how, within in pairs { set = "exact", add = false, mul = false, min = "exact", max = "exact" } do
    local options = keys()
    options[#options + 1] = { k = 5, at = "[2, 0]", mode = "drop" }
    options[#options + 1] = { k = 6, at = "[2, 0], [-1, 1]", mode = "wrap" }
    options[#options + 1] = { k = 5, at = "[2, 0]", mode = "clip" }
    local ordered = how == "min" or how == "max"
    of("x.at." .. how, {
        args = { "x", "v" }, accepts = ordered and "floats ints bool" or "floats ints bool complex", gives = "same",
        shapes = { { { 3, 4 }, {} }, { { 3, 4 }, {} } }, options = options, within = within or nil,
        call = function(_, o, x, v) return x:at(KEYS[o.k][1])[how](x:at(KEYS[o.k][1]), v, rest(o, "k at")) end,
        oracle = ("at(x, o['at'], v, %q)"):format(how),
        without = { numbers = "a value takes the dtype of x, which a test of its own has", integers = CHOSEN },
        also = {
            ["values keep their digits, and what does not fit raises"] = function()
                local at = np.zeros(1, { dtype = "f64" }):at { 0 }
                check.equal((how == "mul" and at or np.ones(1, { dtype = "f64" }):at { 0 }):set(0.1):item(), 0.1)
                local x = np.full({ 1 }, how == "max" and 0 or how == "min" and 2 or how == "mul" and 1 or 0,
                                  { dtype = "f64" })
                check.equal(x:at { 0 }[how](x:at { 0 }, 0.1):item(), 0.1)
                local u = np.zeros(1, { dtype = "u8" }):at { 0 }
                check.raises(function() u[how](u, 300) end, "300")
                check.raises(function() u[how](u, 2.5) end, "2.5")
                local r = np.zeros(1):at { 0 }
                check.raises(function() r[how](r, 1i) end, "complex number")
            end,
            ["several values at one place, and places out of range"] = function()
                local x, i = np.array({ 1, 2, 3 }, { dtype = "f64" }), ints { 0, 0, 7, -1 }
                local at, v = x:at { i }, np.array({ 4, 5, 6, 7 }, { dtype = "f64" })
                check.equal(at[how](at, v):totable(), ({ set = { 5, 2, 7 }, add = { 10, 2, 10 }, mul = { 20, 2, 21 },
                                                         min = { 1, 2, 3 }, max = { 5, 2, 7 } })[how])
            end,
        },
    })
end
for _, name in ipairs { "x.at", "np.at" } do
    moving(name, {
        args = { "x" }, shapes = { { { 3, 4 } }, { { 3, 4 } } }, options = { { k = 1, at = "1" }, { k = 2,
            at = "0:2, -1" } },
        call = function(f, o, x) return f(x, KEYS[o.k][1]):get(rest(o, "k at")) end, without = { integers = CHOSEN },
        oracle = "eval('x[' + o['at'] + ']', {'x': x})",
    })
end
elsewhere("np.newaxis np.ellipsis", "tests/stdlib/index_test.lua", "they are items of indices, and no functions")

-- ---- Boxes at places that are data ----------------------------------------------------------------------------------

moving("np.dynamic_slice", {
    args = { "x", { "i", dtype = "i32", from = -4, to = 5 } }, shapes = { { { 3, 4 }, { 2 } }, { { 2, 5 }, { 2 } } },
    options = { { sizes = { 2, 3 } }, { sizes = { 0, 4 } }, { sizes = { 1, 1 } } },
    call = function(f, o, x, i) return f(x, i, o.sizes, rest(o, "sizes")) end,
    oracle = "jax.lax.dynamic_slice(x, i, o['sizes'])", without = { numbers = "starts are no numbers that meet x" },
})
moving("np.dynamic_update_slice", {
    args = { "x", "u", { "i", dtype = "i32", from = -4, to = 5 } },
    shapes = { { { 3, 4 }, { 2, 3 }, { 2 } }, { { 2, 5 }, { 1, 5 }, { 2 } }, { { 2, 2 }, { 0, 1 }, { 2 } } },
    oracle = "jax.lax.dynamic_update_slice(x, u, i)",
})
moving("np.dynamic_slice_in_dim", {
    args = { "x", { "i", dtype = "i32", from = -4, to = 5 } }, shapes = { { { 3, 4 }, {} }, { { 2, 5 }, {} } },
    options = { { size = 2 }, { size = 1, axis = 1 }, { size = 0, axis = -1 } },
    call = function(f, o, x, i) return f(x, i, o.size, rest(o, "size")) end,
    oracle = "jax.lax.dynamic_slice_in_dim(x, i, o['size'], o.get('axis', 0))",
    without = { numbers = "starts are no numbers that meet x" },
})
moving("np.dynamic_index_in_dim", {
    args = { "x", { "i", dtype = "i32", from = -4, to = 5 } }, shapes = { { { 3, 4 }, {} }, { { 2, 5 }, {} } },
    options = { {}, { axis = 1, keepdims = false }, { axis = -1, keepdims = true } },
    oracle = "jax.lax.dynamic_index_in_dim(x, i, o.get('axis', 0), o.get('keepdims', True))",
    without = { numbers = "starts are no numbers that meet x" },
})
moving("np.dynamic_update_slice_in_dim", {
    args = { "x", "u", { "i", dtype = "i32", from = -4, to = 5 } },
    shapes = { { { 3, 4 }, { 2, 4 }, {} }, { { 3, 5 }, { 2, 5 }, {} } }, options = { { axis = 0 }, {}, { axis = -2 } },
    oracle = "jax.lax.dynamic_update_slice_in_dim(x, u, i, o.get('axis', 0))",
})
moving("np.dynamic_update_index_in_dim", {
    args = { "x", "u", { "i", dtype = "i32", from = -4, to = 5 } },
    shapes = { { { 3, 4 }, { 1, 4 }, {} }, { { 3, 5 }, { 5 }, {} } }, options = { { axis = 0 }, {}, { axis = -2 } },
    oracle = "jax.lax.dynamic_update_index_in_dim(x, u, i, o.get('axis', 0))",
})

finish()
