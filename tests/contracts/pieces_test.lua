--- pieces_test.lua: contracts of functions that put arrays together and take them apart.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, same = require "tests.lib.contracts" "pieces"
local moves = require "tests.lib.contract_moves"

local rest = moves.rest
local function moving(name, fields) of(name, moves.contract(fields)) end

local function list_of_two(f, o, x, y) return f({ x, y }, rest(o, "")) end

for _, name in ipairs { "np.concatenate", "np.concat" } do
    moving(name, {
        args = { "x", "y" }, call = list_of_two,
        shapes = { { { 2, 5 }, { 2, 5 } }, { { 3, 2 }, { 3, 2 } }, { { 3 }, { 2 } }, { { 0 }, { 2 } } },
        options = { {}, { axis = 1 }, { axis = -2 }, { axis = "none" } },
        oracle = "np.concatenate([x, y], axis=None if o.get('axis') == 'none' else o.get('axis', 0))",
        also = {
            ["a number flattened"] = function()
                local x = np.array({ { 1 }, { 2 } }, { dtype = "f64" })
                check.equal(np.concatenate({ x, 0.1 }, { axis = "none" }):totable(), { 1, 2, 0.1 })
            end,
        },
    })
end
moving("np.stack", {
    args = { "x", "y" }, shapes = { { { 2, 5 }, { 2, 5 } }, { { 3, 2 }, { 3, 2 } }, { {}, {} }, { { 0 }, { 0 } } },
    options = { {}, { axis = 1 }, { axis = -1 } }, call = list_of_two, oracle = "np.stack([x, y], **o)",
})
moving("np.split", {
    args = { "x" }, shapes = { { { 4, 4 } }, { { 2, 6 } }, { { 6 } }, { { 0 } } },
    options = { { n = 2 }, { n = 2, axis = 1 }, { n = { 1, 3 }, axis = -1 }, { n = { 3, 1, 9 } } },
    call = function(f, o, x) return f(x, o.n, rest(o, "n")) end,
    oracle = "np.split(x, o['n'], o.get('axis', 0))",
})
moving("np.unpack", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 1, 2, 2 } }, { { 3 } } }, options = { {}, { axis = 1 },
        { axis = -1 } },
    oracle = "np.unstack(x, **o)",
})
same("x.unpack", "np.unpack")
moving("np.unstack", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 1, 2, 2 } }, { { 3 } } }, options = { {}, { axis = 1 },
        { axis = -1 } },
    oracle = "np.unstack(x, **o)",
})
moving("np.array_split", {
    args = { "x" }, shapes = { { { 5, 3 } }, { { 2, 4 } }, { { 7 } }, { { 0 } } },
    options = { { n = 3 }, { n = 2, axis = 1 }, { n = { 1, 3 }, axis = -1 } },
    call = function(f, o, x) return f(x, o.n, rest(o, "n")) end,
    oracle = "np.array_split(x, o['n'], o.get('axis', 0))",
})
for name, shapes in pairs {
    vsplit = { { { 4, 3 } }, { { 2, 2, 1 } } }, hsplit = { { { 3, 4 } }, { { 6 } }, { { 1, 2, 2 } } },
    dsplit = { { { 3, 1, 4 } }, { { 1, 2, 2 } } },
} do
    moving("np." .. name, {
        args = { "x" }, shapes = shapes, options = { { n = 2 }, { n = { 1 } } },
        call = function(f, o, x) return f(x, o.n, rest(o, "n")) end,
        oracle = ("np.%s(x, o['n'])"):format(name),
    })
end
moving("np.repeat_", {
    args = { "x" }, shapes = { { { 4, 3 } }, { { 2, 3 } }, { { 5 } }, { {} }, { { 0 } } },
    options = { { n = 2 }, { n = 3, axis = 0 }, { n = { 1, 0, 2 }, axis = 1 },
                { counts = { 2, 0, 1 }, axis = 1 }, { counts = { 2, 0, 1 }, axis = -1, total_repeat_length = 5 } },
    call = function(f, o, x)
        return f(x, o.n or np.array(o.counts, { dtype = "i32" }), rest(o, "n counts"))
    end,
    waits = function(o) return o.counts and not o.total_repeat_length end,
    oracle = "jnp.repeat(x, np.array(o['counts']), axis=o['axis'], total_repeat_length=o['total_repeat_length'])"
        .. " if 'total_repeat_length' in o else np.repeat(x, o.get('n', o.get('counts')), o.get('axis'))",
})
moving("np.tile", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 3 } }, { {} }, { { 0 } }, { { 1, 2, 2 } } },
    options = { { n = 2 }, { n = { 2, 3 } }, { n = { 2, 1, 2 } }, { n = 0 } },
    call = function(f, o, x) return f(x, o.n, rest(o, "n")) end, oracle = "np.tile(x, o['n'])",
})
moving("np.roll", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 3, 3 } }, { { 4 } }, { { 0 } }, { {} } },
    options = { { by = 1 }, { by = -2, axis = 1 }, { by = { 1, 7 }, axis = { 0, 1 } }, { by = { 1, 1 }, axis = 1 },
                { by = 1, axis = { 0, 1 } } },
    call = function(f, o, x) return f(x, o.by, rest(o, "by")) end,
    oracle = "np.roll(x, o['by'], o.get('axis'))",
    refuses = { { "shift", function() np.roll(np.arange(3), { shift = 1 }) end },
                { "shift", function() np.roll(np.arange(3)) end } },
})
for _, name in ipairs { "vstack", "hstack", "dstack", "column_stack" } do
    moving("np." .. name, {
        args = { "x", "y" },
        shapes = { { { 2, 5 }, { 2, 5 } }, { { 3 }, { 3 } }, { {}, {} }, { { 2, 1 }, { 2, 1 } }, { { 0 }, { 0 } } },
        call = list_of_two, oracle = ("np.%s([x, y])"):format(name),
        refuses = { { "empty", function() np[name] {} end } },
    })
end
moving("np.block", {
    args = { "x", "y", "z" },
    shapes = { { { 2, 5 }, { 2, 1 }, { 1, 6 } }, { { 1 }, { 1 }, { 2 } }, { {}, { 1 }, { 2 } }, { { 1 }, {}, { 2 } } },
    call = function(f, o, x, y, z) return f({ { x, y }, { z } }, rest(o, "")) end,
    oracle = "np.block([[x, y], [z]])",
    without = { numbers = "a table is a row of blocks; numbers are in a test of its own" },
    also = {
        ["numbers among blocks"] = function()
            for _, dtype in ipairs { "f64", "i64", "u8", "bf16" } do
                local value = dtype == "f64" and 0.1 or dtype == "i64" and 2 ^ 53 - 1 or 7
                local x = np.block { { np.zeros({ 1, 1 }, { dtype = dtype }), value } }
                check.equal(x.dtype, dtype)
                check.equal(x[{ 0, 1 }]:item(), value)
            end
        end,
    },
})
moving("np.append", {
    args = { "x", "y" }, shapes = { { { 2, 5 }, { 2, 5 } }, { { 2, 1 }, { 2, 1 } }, { { 3 }, {} }, { {}, { 2 } },
                                    { { 0 }, { 2 } }, { { 2 }, { 2, 1 } } },
    options = { {}, { axis = 0 }, { axis = -1 } }, oracle = "np.append(x, y, **o)",
})
moving("np.insert", {
    args = { "x", "y" }, shapes = { { { 3, 4 }, { 1 } }, { { 2, 3 }, {} }, { { 5 }, { 1 } } },
    options = { { at = 1 }, { at = { 0, 2, 2 } }, { at = -1, axis = 1 }, { at = { 1, 3 }, axis = -1 }, { at = 2,
        axis = 0 } },
    call = function(f, o, x, y) return f(x, o.at, y, rest(o, "at")) end,
    oracle = "np.insert(x, o['at'], y, o.get('axis'))",
    refuses = { { "u8", function() np.insert(np.zeros(2, { dtype = "u8" }), 0, 300) end },
                { "i32", function() np.insert(np.arange(2), 0, { 2.7 }) end } },
})
moving("np.delete_at", {
    args = { "x" }, shapes = { { { 3, 4 } }, { { 3, 3 } }, { { 5 } } },
    options = { { at = 1 }, { at = { 0, -1, 0 } }, { at = 1, axis = 1 }, { at = { 0, 2 }, axis = -1 },
                { mask = { false, true, true }, axis = 0 } },
    call = function(f, o, x) return f(x, o.at or np.array(o.mask), rest(o, "at mask")) end,
    waits = function(o) return o.mask ~= nil end,
    oracle = "np.delete(x, np.array(o['mask']) if 'mask' in o else o['at'], o.get('axis'))",
})
moving("np.resize", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 3 } }, { {} }, { { 0 } } },
    options = { { shape = { 2, 4 } }, { shape = { 25 } }, { shape = { 0, 2 } } },
    call = function(f, o, x) return f(x, o.shape, rest(o, "shape")) end,
    oracle = "np.resize(x, o['shape'])",
})

--- Numbers with zeros around them.
local function between_zeros(random, dims, dtype)
    if #dims == 0 then return np.zeros(dims, { dtype = dtype }) end
    local x = np.pad(np.ones(dims, { dtype = dtype }), { random(3) - 1, random(3) - 1 })
    return np.where(np.array(random(2) == 1), x, x * np.astype(2, dtype))
end

moving("np.trim_zeros", {
    args = { { "x", make = between_zeros } }, shapes = { { { 2, 5 } }, { { 1, 2 } }, { {} }, { { 3 } }, { { 0 } } },
    options = { {}, { trim = "f" }, { trim = "b", axis = 1 }, { trim = "fb", axis = { 0, 1 } } },
    oracle = "np.trim_zeros(x, **o)",
    waits = function() return true end,
    without = { special = "an argument is made of zeros and other numbers", jit = "it waits for x",
        vmap = "it waits for x",
                programs = "it waits for x",
                derivatives = "the zeros are no numbers to derive by: what is left depends on them" },
})

finish()
