--- resampling_test.lua: contracts of np.nn's functions that move or mix the places of images: unfold, fold, shuffles,
-- resize, interpolate, grid_sample, affine_grid (tests/lib/contracts.lua). Arguments have their channels last.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "resampling"

local nn = np.nn
local SUMS = { f64 = "scaled 1e-14", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" }
local IMAGES = { { { 1, 4, 3, 2 } }, { { 2, 2, 4, 1 } } }
local function nan(dtype) return dtype:find "f" and { 0 / 0 } or { 1 } end

--- Options without some, and with the layout's name.
local function options_of(o, n, ...)
    local given = {}
    for key, value in pairs(o) do given[key] = value end
    for _, key in ipairs { ... } do given[key] = nil end
    if o.layout then given.layout = "NC" .. ("DHW"):sub(-n) end
    return next(given) and given or nil
end

--- f(x) with channels where the layout has them.
local function turned(o, x, f)
    if not o.layout then return f(x) end
    return np.moveaxis(f(np.moveaxis(x, -1, 1)), 1, -1)
end

-- ---- Patches --------------------------------------------------------------------------------------------------------

local WINDOWS = { { window = 2 }, { window = 2, strides = 2, padding = 1 }, { window = 2, dilation = 2, padding = 1 },
                  { window = 3, padding = 1, layout = "first" } }
of("np.nn.unfold", {
    args = { "x" }, accepts = "floats ints bool", gives = "same", within = "exact", special = "together",
    shapes = IMAGES,
    options = WINDOWS, oracle = "moved(lambda v: unfold(v, o), x)",
    call = function(f, o, x)
        local given = options_of(o, x.ndim - 2, "window")
        return f(o.layout and np.moveaxis(x, -1, 1) or x, o.window, given)
    end,
    refuses = { { "images", function() nn.unfold(np.ones { 3, 3 }, 2) end } },
})
of("np.nn.fold", {
    args = { "x" }, accepts = "floats", gives = "same", within = SUMS, divided = SUMS, special = "together",
    shapes = { { { 1, 12, 8 } }, { { 2, 12, 4 } } },
    options = { { window = 2 }, { window = 2, strides = 1, padding = 0, dilation = 1, layout = "first" } },
    call = function(f, o, x)
        local given = options_of(o, 2, "window")
        return f(o.layout and np.swapaxes(x, 1, 2) or x, { 4, 5 }, o.window, given)
    end,
    oracle = "fold(x, o)", unweighted = true,
    refuses = { { "patches must have shape", function() nn.fold(np.ones { 1, 3, 2 }, { 5 }, 2) end } },
    also = { ["np.nn.fold: the transpose of unfold"] = function()
        local key, options = np.random.key, { strides = 2, padding = 1, dilation = 2, layout = "NCDHW" }
        local x = np.random.normal(key(0), { 2, 3, 4, 5, 6 })
        local patches, back = np.vjp(function(v) return nn.unfold(v, { 2, 1, 3 }, options) end, x)
        local y = np.random.normal(key(1), patches.shape)
        check.ok(np.allclose(nn.fold(y, { 4, 5, 6 }, { 2, 1, 3 }, options), (back(y)), { rtol = 1e-5, atol = 1e-5 }),
                 "what np.vjp of unfold gives")
    end },
})
for name, oracle in pairs { pixel_shuffle = "F.pixel_shuffle", pixel_unshuffle = "F.pixel_unshuffle",
                            channel_shuffle = "F.channel_shuffle" } do
    of("np.nn." .. name, {
        args = { "x" }, accepts = "floats ints bool", gives = "same", within = "exact", special = "together",
        shapes = { { { 1, 2, 4, 8 } }, { { 2, 2, 2, 4 } } }, options = { {}, { layout = "first" } },
        call = function(f, o, x) return turned(o, x, function(v) return f(v, 2, options_of(o, 2)) end) end,
        oracle = ("moved(lambda v: last(%s(first(v), 2)), x)"):format(oracle),
        refuses = { { "multiple", function() nn[name](np.ones { 1, 3, 3, 5 }, 2) end } },
    })
end

-- ---- Resizing -------------------------------------------------------------------------------------------------------

local TORCH = { method = "linear", antialias = false, exclude_outside = false }
local function torch_like(more)
    local o = {}
    for _, list in ipairs { TORCH, more } do
        for key, value in pairs(list) do o[key] = value end
    end
    return o
end
of("np.nn.resize", {
    args = { { "x", special = false } }, accepts = "floats ints",
    gives = function(dtype, o)
        return (o.method == "nearest" or dtype:find "f") and dtype or np.result_type(dtype, 0.5)
    end,
    within = SUMS, divided = SUMS, shapes = { { { 4, 3 } }, { { 5, 8 } } },
    options = { { method = "linear" }, { method = "nearest" }, { method = "cubic" }, { method = "lanczos3" },
                { method = "lanczos5", antialias = false }, { method = "linear", antialias = false },
                torch_like { coordinates = "align_corners" }, torch_like { coordinates = "pytorch_half_pixel" },
                torch_like { method = "cubic", cubic_coeff = -0.75 },
                torch_like { method = "nearest", coordinates = "asymmetric", rounding = "floor" },
                torch_like { scales = { 1.75, 1 } } },
    call = function(f, o, x) return f(x, { 7, 3 }, o.method, options_of(o, 0, "method")) end,
    oracle = "resized(x, o)", without = { special = "JAX multiplies all elements of an axis, with 0 too" },
    refuses = {
        { "an extent for each", function() nn.resize(np.ones { 3, 3 }, { 2 }, "linear") end },
        { "lanczos3", function() nn.resize(np.ones { 3 }, { 2 }, "spline") end },
    },
})
of("np.nn.interpolate", {
    args = { { "x", special = nan } }, accepts = "floats i32",
    gives = function(dtype, o)
        return ((o.mode or "nearest"):find "^nearest" or dtype:find "f") and dtype or "f32"
    end,
    within = SUMS, divided = SUMS, shapes = IMAGES,
    options = { { to = { 3, 7 } }, { to = { 6, 4 }, mode = "nearest-exact" }, { to = { 5, 5 }, mode = "linear" },
                { to = { 5, 2 }, mode = "linear", align_corners = true }, { scale = 1.7, mode = "cubic" },
                { to = { 2, 2 }, mode = "linear", antialias = true }, { to = { 3, 2 }, mode = "area" },
                { to = { 3, 2 }, mode = "cubic", antialias = true }, { scale = { 2.5, 0.6 }, mode = "linear" },
                { to = { 9, 2 }, mode = "cubic", layout = "first", align_corners = true } },
    call = function(f, o, x)
        return turned(o, x, function(v) return f(v, o.to, options_of(o, 2, "to")) end)
    end,
    oracle = "interpolated(x, o)",
    refuses = { { "scale", function() nn.interpolate(np.ones { 1, 2, 1 }) end },
                { "mode", function() nn.interpolate(np.ones { 1, 2, 1 }, 3, { mode = "spline" }) end } },
})

-- ---- Sampling -------------------------------------------------------------------------------------------------------

of("np.nn.grid_sample", {
    args = { { "x", special = nan }, { "grid", from = -1.6, to = 1.6, special = false } }, accepts = "floats",
    gives = "same", within = SUMS, divided = SUMS, vmapped = SUMS,
    shapes = { { { 1, 4, 3, 2 }, { 1, 2, 3, 2 } }, { { 2, 3, 2, 1 }, { 2, 1, 4, 2 } } },
    options = { {}, { align_corners = true }, { padding = "border" }, { padding = "reflection" },
                { padding = "reflection", align_corners = true }, { method = "nearest" }, { method = "cubic" },
                { method = "cubic", padding = "border", align_corners = true },
                { method = "cubic", padding = "reflection" }, { layout = "first" } },
    call = function(f, o, x, grid)
        return turned(o, x, function(v) return f(v, grid, options_of(o, x.ndim - 2)) end)
    end,
    oracle = "grid_sampled(x, grid, o)", without = { numbers = "images are arrays" },
    refuses = { { "grid of shape", function() nn.grid_sample(np.ones { 1, 2, 2, 1 }, np.ones { 1, 2, 2, 3 }) end } },
    also = { ["np.nn.grid_sample: of three axes and of one"] = function()
        local x = np.random.normal(np.random.key(0), { 2, 3, 4, 5, 2 })
        local same = np.tile(np.eye(3, 4), { 2, 1, 1 })
        local y = nn.grid_sample(x, nn.affine_grid(same, { 3, 4, 5 }))
        check.ok(np.allclose(y, x, { rtol = 1e-4, atol = 1e-5 }), "the identity")
        local line = nn.grid_sample(np.array { 0, 1, 2 }:reshape(1, 3, 1), np.array { -1, 0.5 }:reshape(1, 2, 1),
                                    { align_corners = true })
        check.equal(line:ravel():totable(), { 0, 1.5 })
    end },
})
of("np.nn.affine_grid", {
    args = { "x" }, accepts = "floats", gives = "same", within = SUMS, divided = SUMS, vmapped = SUMS, special = false,
    shapes = { { { 2, 2, 3 } }, { { 1, 3, 4 } } }, options = { {}, { align_corners = true } },
    call = function(f, o, x) return f(x, x:dim(1) == 2 and { 3, 2 } or { 2, 1, 3 }, options_of(o, 0)) end,
    oracle = "F.affine_grid(T(x), (len(x), 1) + ((3, 2) if x.shape[1] == 2 else (2, 1, 3)), "
             .. "o.get('align_corners', False))",
    without = { special = "a product with a constant matrix" },
    refuses = { { "batch, 2, 3", function() nn.affine_grid(np.ones { 1, 3, 3 }, { 2, 2 }) end } },
})

finish()
