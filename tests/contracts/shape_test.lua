--- shape_test.lua: contracts of functions that show elements in another shape or order: views, turns, new axes.
-- (sanitized with --long)
local of, finish, same = require "tests.lib.contracts" "shape"
local moves = require "tests.lib.contract_moves"

local rest = moves.rest
local function moving(name, fields) of(name, moves.contract(fields)) end

moving("np.reshape", {
    args = { "x" }, shapes = { { { 2, 6 } }, { { 12 } }, { { 1, 3 } }, { { 0, 3 } } },
    options = { { shape = { 3, -1 } }, { shape = { -1 }, copy = true }, { shape = { 3, 2, 2 } } },
    call = function(f, o, x) return f(x, o.shape, rest(o, "shape")) end,
    oracle = "x.reshape(o['shape'])",
})
same("x.reshape", "np.reshape")
for _, name in ipairs { "np.ravel", "np.flatten" } do
    moving(name, {
        args = { "x" }, shapes = { { { 2, 6 } }, { {} }, { { 5 } }, { { 2, 3, 2 } }, { { 0, 3 } } },
        oracle = "np.ravel(x)",
    })
end
for _, name in ipairs { "np.transpose", "np.permute_dims", "x.transpose" } do
    moving(name, {
        args = { "x" }, shapes = { { { 2, 3, 2 } }, { { 1, 4, 2 } }, { { 2, 5 } }, { {} }, { { 3 } }, { { 0, 2 } } },
        options = { {}, { order = { 1, 0, 2 } }, { order = { -1, 0, 1 } } },
        call = function(f, o, x) return f(x, o.order, rest(o, "order")) end,
        oracle = "np.transpose(x, o.get('order'))",
    })
end
moving("x.T", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 2, 3, 2 } }, { {} }, { { 3 } }, { { 0, 2 } } },
    call = function(_, _, x) return x.T end, oracle = "x.T", without = { refusals = "a field has no arguments" },
})
moving("x.mT", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 2, 3, 2 } }, { { 0, 2 } } },
    call = function(_, _, x) return x.mT end, oracle = "x.mT", without = { refusals = "a field has no arguments" },
})
moving("np.swapaxes", {
    args = { "x" }, shapes = { { { 2, 3, 2 } }, { { 1, 4, 2 } }, { { 0, 2 } }, { { 3, 1 } } },
    options = { { a = 0, b = -1 }, { a = 1, b = 0 } },
    call = function(f, o, x) return f(x, o.a, o.b, rest(o, "a b")) end,
    oracle = "np.swapaxes(x, o['a'], o['b'])",
})
moving("np.matrix_transpose", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 2, 3, 2 } }, { { 0, 2 } } }, oracle = "np.matrix_transpose(x)",
})
moving("np.moveaxis", {
    args = { "x" }, shapes = { { { 2, 3, 2 } }, { { 1, 4, 2 } }, { { 0, 2 } } },
    options = { { from = 0, to = -1 }, { from = { 0, 1 }, to = { 1, 0 } } },
    call = function(f, o, x) return f(x, o.from, o.to, rest(o, "from to")) end,
    oracle = "np.moveaxis(x, o['from'], o['to'])",
})
moving("np.diagonal", {
    args = { "x" }, shapes = { { { 3, 4 } }, { { 2, 3, 2 } }, { { 0, 2 } }, { { 1, 1 } } },
    options = { {}, { offset = 1 }, { offset = -1, axis1 = 1, axis2 = 0 }, { offset = 9 } },
    oracle = "np.diagonal(x, **o)",
})
moving("np.expand_dims", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 3 } }, { {} }, { { 0 } } },
    options = { { axis = 0 }, { axis = -1 }, { axis = { 0, 2 } } },
    call = function(f, o, x) return f(x, o.axis, rest(o, "axis")) end,
    oracle = "np.expand_dims(x, o['axis'])",
})
moving("np.squeeze", {
    args = { "x" }, shapes = { { { 1, 10, 1 } }, { { 1, 2, 1 } }, { {} }, { { 1 } }, { { 0, 1 } } },
    options = { {}, { axis = 0 }, { axis = { 0, -1 } } }, oracle = "np.squeeze(x, **o)",
})
moving("np.broadcast_to", {
    args = { "x" }, shapes = { { { 3, 4 } }, { { 3, 1 } }, { {} }, { { 4 } } },
    options = { { shape = { 3, 4 } }, { shape = { 2, 3, 4 } } },
    call = function(f, o, x) return f(x, o.shape, rest(o, "shape")) end,
    oracle = "np.broadcast_to(x, o['shape'])",
})
moving("np.broadcast_arrays", {
    args = { "x", "y" },
    shapes = { { { 2, 5 }, { 5 } }, { { 3, 1 }, { 4 } }, { {}, { 3 } }, { { 2 }, {} }, { {}, {} }, { { 0 }, { 1 } } },
    oracle = "np.broadcast_arrays(x, y)",
})
moving("np.flip", {
    args = { "x" }, shapes = { { { 2, 5 } }, { { 3, 1 } }, { {} }, { { 0, 2 } }, { { 2, 3, 2 } } },
    options = { {}, { axis = 0 }, { axis = { 0, -1 } } }, oracle = "np.flip(x, **o)",
})
for _, name in ipairs { "atleast_1d", "atleast_2d", "atleast_3d" } do
    moving("np." .. name, {
        args = { "x", "y" },
        shapes = { { { 10 }, { 2, 3 } }, { { 3 }, { 2, 1, 2, 1 } }, { {}, { 2 } }, { { 3 }, {} }, { { 0 }, { 1, 0 } } },
        oracle = ("np.%s(x, y)"):format(name),
    })
end
moving("np.flipud", {
    args = { "x" }, shapes = { { { 5, 2 } }, { { 4 } }, { { 2, 3, 2 } }, { { 0, 2 } } }, oracle = "np.flipud(x)",
})
moving("np.fliplr", {
    args = { "x" }, shapes = { { { 5, 2 } }, { { 2, 3, 2 } }, { { 2, 0 } } }, oracle = "np.fliplr(x)",
})
moving("np.rot90", {
    args = { "x" }, shapes = { { { 5, 2 } }, { { 2, 3, 2 } }, { { 2, 0 } } },
    options = { {}, { k = 2 }, { k = -1 }, { k = 1, axes = { 1, 0 } }, { k = 5, axes = { 0, -1 } }, { k = 4 } },
    call = function(f, o, x) return f(x, o.k, rest(o, "k")) end,
    oracle = "np.rot90(x, o.get('k', 1), o.get('axes', (0, 1)))",
})
moving("np.rollaxis", {
    args = { "x" }, shapes = { { { 2, 3, 2 } }, { { 1, 2, 3, 2 } }, { { 2, 0, 1 } } },
    options = { { axis = 2 }, { axis = 0, start = 2 }, { axis = -1, start = -2 } },
    call = function(f, o, x) return f(x, o.axis, o.start, rest(o, "axis start")) end,
    oracle = "np.rollaxis(x, o['axis'], o.get('start', 0))",
})
moving("np.sliding_window_view", {
    args = { "x" }, shapes = { { { 3, 4 } }, { { 2, 3 } }, { { 3, 2 } } },
    options = { { window = { 2, 2 } }, { window = 2, axis = 1 }, { window = { 2, 1 }, axis = { 1, 0 } } },
    call = function(f, o, x) return f(x, o.window, rest(o, "window")) end,
    oracle = "np.lib.stride_tricks.sliding_window_view(x, o['window'], o.get('axis'))",
})

finish()
