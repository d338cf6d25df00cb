--- convolutions_test.lua: contracts of np.nn's convolutions and pools, and of their layers (tests/lib/contracts.lua).
-- Arguments have their channels last; with a layout that has them first they are turned, and the result back.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "convolutions"

local nn = np.nn
local SUMS = { f64 = "scaled 4e-15", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" }

local TWO = { f64 = "scaled 4e-15", f32 = "scaled 1e-6", f16 = "scaled 1e-3", bf16 = "scaled 1e-2" } -- two roundings
-- Outside of x a kernel's NaN meets 0, which counts as NaN or not at all, as the library does it.
local KERNEL = { "w", special = function(dtype) return dtype:find "f" and { -1, 0, 1 } or nil end }

--- The options of a case without those that are no option of the function.
local function options_of(o, ...)
    local given = {}
    for key, value in pairs(o) do given[key] = value end
    for _, key in ipairs { ... } do given[key] = nil end
    return next(given) and given or nil
end

--- Calls f(x, w) with channels where the layout has them.
local function turned(o, x, w, f)
    if o.layout == nil or o.layout:sub(-1) == "C" then return f(x, w) end
    local y, more = f(np.moveaxis(x, -1, 1), w and np.moveaxis(w, { -1, -2 }, { 0, 1 }))
    return np.moveaxis(y, 1, -1), more and np.moveaxis(more, 1, -1)
end

--- Integers keep their dtype, bools count as f32.
local function kept(dtype) return dtype == "bool" and "f32" or dtype end

local IMAGES = { { { 1, 5, 2 }, { 2, 2, 4 } }, { { 2, 4, 3, 2 }, { 3, 2, 2, 2 } },
                 { { 1, 2, 3, 2, 2 }, { 1, 2, 2, 2, 2 } }, { { 0, 5, 2 }, { 2, 2, 4 } } }

of("np.nn.conv", {
    args = { "x", "w" }, accepts = "floats ints bool", gives = kept, shapes = IMAGES, within = SUMS, divided = SUMS,
    vmapped = SUMS, oracle = "conv(x, w, o)",
    options = { { padding = "VALID" }, {}, { strides = 2 }, { padding = 1, kernel_dilation = 2 }, { groups = 2 },
                { input_dilation = 2, padding = 0 }, { padding = -1 }, { layout = "first", padding = "valid" },
                { groups = 2, strides = 2, padding = 2, layout = "last" } },
    call = function(f, o, x, w)
        local given, letters = options_of(o), ("DHW"):sub(-(x.ndim - 2))
        if o.layout then given.layout = o.layout == "first" and "NC" .. letters or "N" .. letters .. "C" end
        if o.groups then w = np.split(w, 2, { axis = -2 })[1] end
        return turned(given or {}, x, w, function(y, v) return f(y, v, given) end)
    end,
    refuses = {
        { "layout", function() nn.conv(np.ones { 1, 5, 2 }, np.ones { 2, 2, 4 }, { layout = "NCHW" }) end },
        { "do not fit", function() nn.conv(np.ones { 1, 5, 2 }, np.ones { 2, 3, 4 }) end },
    },
    without = { numbers = "images and kernels are arrays: a table is refused" },
    also = {
        ["np.nn.conv: a last axis of one place is as without it"] = function()
            local x = np.random.normal(np.random.key(0), { 2, 7, 4 })
            local w = np.random.normal(np.random.key(1), { 3, 2, 6 })
            for _, o in ipairs { {}, { padding = "VALID" }, { strides = 2 }, { kernel_dilation = 2 } } do
                o.groups = 2
                local flat, before = nn.conv(x, w, o), { layout = "NCHW" }
                local y = nn.conv(x:expand_dims(2), w:expand_dims(1), o)
                check.ok(np.allclose(y, flat:expand_dims(2), { rtol = 1e-5, atol = 1e-6 }))
                for key, value in pairs(o) do before[key] = value end
                local first = nn.conv(np.moveaxis(x:expand_dims(2), -1, 1),
                                      np.moveaxis(w:expand_dims(1), { -1, -2 }, { 0, 1 }), before)
                check.ok(np.allclose(np.moveaxis(first, 1, -1), y, { rtol = 1e-5, atol = 1e-6 }))
            end
            check.equal(nn.conv(x:expand_dims(2), w:expand_dims(1), { groups = 2, padding = { 0, 1 } }).shape,
                        { 2, 5, 3, 6 })
        end,
        ["np.nn.conv: halves and integers together"] = function()
            local x, w = np.ones({ 1, 3, 1 }, { dtype = "u8" }) * 100, np.ones { 3, 1, 1 }
            for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
                local y = nn.conv(x, w:astype(dtype), { padding = "VALID" })
                check.equal({ y.dtype, y:item() }, { dtype, 300 })
            end
        end,
    },
})
local function transposed(channels, extra)
    nn.conv_transpose(np.ones { 1, 5, 2 }, np.ones { 2, 4, channels }, { transpose_kernel = true,
                                                                         output_padding = extra })
end

of("np.nn.conv_transpose", {
    args = { "x", KERNEL }, accepts = "floats ints bool", gives = kept, shapes = IMAGES, within = SUMS, divided = SUMS,
    vmapped = SUMS, oracle = "conv_transpose(x, w, o)",
    options = { {}, { strides = 2 }, { padding = "VALID", strides = 3 }, { kernel_dilation = 2 },
                { layout = "first", strides = 2 }, { groups = 2, padding = 1 },
                { transpose_kernel = true, padding = 1, strides = 2 },
                { transpose_kernel = true, padding = 0, strides = 2, output_padding = 1, layout = "first" },
                { transpose_kernel = true, padding = 1, strides = 3, groups = 2, kernel_dilation = 2 } },
    call = function(f, o, x, w)
        local given, letters = options_of(o), ("DHW"):sub(-(x.ndim - 2))
        if o.layout then given.layout = "NC" .. letters end
        if o.groups and not o.transpose_kernel then w = np.split(w, 2, { axis = -2 })[1] end
        if o.transpose_kernel then w = np.swapaxes(w, -1, -2) end -- (…, features, channels)
        if o.groups and o.transpose_kernel then w = np.split(w, 2, { axis = -2 })[1] end
        return turned(given or {}, x, w, function(y, v) return f(y, v, given) end)
    end,
    without = { numbers = "images and kernels are arrays: a table is refused" },
    refuses = {
        { "do not fit", function() transposed(3) end },
        { "np%.nn%.conv_transpose: .* do not fit", function()
            nn.conv_transpose(np.ones { 1, 5, 2 }, np.ones { 2, 3, 4 })
        end },
        { "output_padding", function() transposed(2, 1) end },
        { "output_padding", function() nn.conv_transpose(np.ones { 1, 5, 2 }, np.ones { 2, 2, 4 }, {
            output_padding = 1 }) end },
    },
    also = { ["np.nn.conv_transpose: the transpose of conv"] = function()
        local w = np.random.normal(np.random.key(0), { 3, 2, 4 })
        local x, y = np.random.normal(np.random.key(1), { 1, 8, 2 }), np.random.normal(np.random.key(2), { 1, 4, 4 })
        local o = { strides = 2, padding = 1 }
        local a = np.sum(nn.conv(x, w, o) * y):item()
        local back = nn.conv_transpose(y, w, { strides = 2, padding = 1, transpose_kernel = true, output_padding = 1 })
        check.ok(math.abs(a - np.sum(back * x):item()) < 1e-4, "<conv(x), y> = <x, conv_transpose(y)>")
    end },
})

local SHAPES = { { { 1, 5, 2 } }, { { 2, 4, 3, 1 } }, { { 1, 2, 3, 2, 2 } }, { { 0, 5, 2 } } }

--- A call of a pool of 2 places along each axis.
local function pool(f, o, x)
    local given, letters = options_of(o, "window"), ("DHW"):sub(-(x.ndim - 2))
    if o.layout then given.layout = "NC" .. letters end
    return turned(given or {}, x, nil, function(y) return f(y, o.window or 2, given) end)
end

local POOLS = { {}, { strides = 1 }, { padding = "SAME" }, { window = 3, strides = 2, padding = 1 },
                { padding = -1, window = 1 }, { layout = "first" }, { dilation = 2, padding = 1, strides = 1 },
                { ceil_mode = true, window = 3, strides = 2 } }
local INDICES = { window = 3, strides = 2, padding = 1, ceil_mode = true, return_indices = true, layout = "first" }

local MAX = {
    args = { "x" }, accepts = "floats ints", gives = { "same", "i32" }, shapes = SHAPES, within = "exact",
    oracle = "torch_max_pool(x, o) if 'ceil_mode' in o else "
             .. "pooled(x, o, lambda v, axes, kept: np.where(kept, v, lowest(v)).max(axes))",
    options = { {}, INDICES, unpack(POOLS, 2) }, call = pool,
}
local AVERAGE = {
    args = { "x" }, accepts = "floats ints bool complex", shapes = SHAPES, within = SUMS, divided = SUMS, call = pool,
    oracle = "pooled(x, o, lambda v, axes, kept: v.mean(axes) if o.get('count_include_pad', True) "
             .. "else v.sum(axes) / kept.sum(axes)) if 'ceil_mode' not in o else torch_avg_pool(x, o)",
    options = { {}, { ceil_mode = true, window = 3, strides = 2, padding = 1 },
                { dilation = 2, padding = 1, strides = 1 },
                { ceil_mode = true, window = 3, strides = 2, padding = 1, count_include_pad = false },
                 {}, { strides = 1 }, { padding = "SAME" }, { window = 3, strides = 2, padding = 1 },
                { window = 3, strides = 2, padding = 1, count_include_pad = false }, { layout = "first" } },
    also = { ["np.nn.avg_pool: sums beyond a half"] = function()
        local x = np.full({ 1, 300, 300, 1 }, 300, { dtype = "f16" })
        check.equal(nn.avg_pool(x, 300):item(), 300)
    end },
}

--- The contract of a layer that pools: f(window, options)(x).
local function layer_of(contract)
    local copy = {}
    for key, value in pairs(contract) do copy[key] = value end
    copy.args = { "x" }
    copy.call = function(f, o, x)
        return pool(function(y, window, given) return f(window, given)(y) end, o, x)
    end
    copy.also = nil
    return copy
end

of("np.nn.MaxPool", layer_of(MAX))
of("np.nn.AvgPool", layer_of(AVERAGE))
MAX.also = { ["what is below all elements of each dtype is put around them"] = function()
    for _, name in ipairs { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64" } do
        local least = np.array(np.isdtype(name, "integral") and np.iinfo(name).min or -math.huge, { dtype = name })
        local y = nn.max_pool(np.stack { least, least }:reshape(1, 2, 1), 2, { padding = 1 })
        check.equal({ y.dtype, np.array_equal(y:ravel(), np.stack { least, least }) }, { name, true }, name)
    end
end }
MAX.refuses = { { "'padding' must be less than the window, .* got 2 for one over 2 elements of spatial axis 1",
                  function() nn.max_pool(np.ones { 1, 4, 1 }, 2, { padding = 2 }) end },
                { "got 3 for one over 3", function()
                    nn.max_pool(np.ones { 1, 9, 1 }, 2, { padding = { { 1, 3 } }, dilation = 2 })
                end } }
of("np.nn.max_pool", MAX)
of("np.nn.avg_pool", AVERAGE)

of("np.nn.lp_pool", {
    args = { { "x", from = 0.5, to = 3 } }, accepts = "floats ints", shapes = { { { 1, 5, 2 } }, { { 2, 4, 3, 1 } } },
    within = SUMS, divided = SUMS,
    oracle = "pooled(x, o, lambda v, axes, kept: (v ** o['p']).sum(axes) ** (1 / o['p']))",
    options = { { p = 2 }, { p = 1, strides = 1 }, { p = 3, window = 3, strides = 2, padding = 1 },
                { p = 2, dilation = 2, strides = 1 }, { p = 2, layout = "first" } },
    call = function(f, o, x)
        local given = options_of(o, "p") or {}
        return pool(function(y, window, more) return f(y, tonumber(o.p), window, more) end, given, x)
    end,
    unseen = { ceil_mode = "np.nn.avg_pool has it" },
    without = { special = "powers of infinities are those of np.power" },
    refuses = { { "above 0", function() nn.lp_pool(np.ones { 1, 4, 1 }, 0, 2) end } },
})
of("np.nn.max_unpool", {
    args = { "x", { "at", dtype = "i32", make = function(random, dims)
        local size, list, each = 1, {}, 2 ^ (#dims - 2)
        for k = 1, #dims do size = size * dims[k] end
        local channels, places = dims[#dims], size / dims[1] / dims[#dims]
        for k = 0, size - 1 do list[k + 1] = math.floor(k / channels) % places * each + random(each) - 1 end
        return np.array(list, { dtype = "i32" }):reshape(dims)
    end } },
    accepts = "floats i32 u8", gives = "same", within = "exact",
    shapes = { { { 1, 2, 2 }, { 1, 2, 2 } }, { { 2, 2, 3, 1 }, { 2, 2, 3, 1 } } },
    options = { {}, { extents = true }, { strides = 2, padding = 0, layout = "first" } },
    call = function(f, o, x, at)
        local given, n = options_of(o) or {}, x.ndim - 2
        if o.extents then given.extents = n == 1 and { 5 } or { 4, 7 } end
        if not o.layout then return f(x, at, 2, next(given) and given or nil) end
        given.layout = "NC" .. ("DHW"):sub(-n)
        return np.moveaxis(f(np.moveaxis(x, -1, 1), np.moveaxis(at, -1, 1), 2, given), 1, -1)
    end,
    oracle = "max_unpool(x, at, o)", without = { numbers = "indices are arrays" },
    refuses = { { "integers", function() nn.max_unpool(np.ones { 1, 2, 1 }, np.ones { 1, 2, 1 }, 2) end } },
})
for _, kind in ipairs { "avg", "max" } do
    of(("np.nn.adaptive_%s_pool"):format(kind), {
        args = { "x" }, accepts = "floats i32 u8", gives = kind == "max" and { "same", "i32" } or nil, within = SUMS,
        divided = SUMS,
        shapes = { { { 1, 5, 2 } }, { { 2, 4, 3, 1 } }, { { 1, 3, 2, 2, 2 } } },
        options = { { extents = 2 }, { extents = 1 }, { extents = 3, layout = "first" },
                    kind == "max" and { extents = 2, return_indices = true } or nil },
        call = function(f, o, x)
            local given, letters = options_of(o, "extents"), ("DHW"):sub(-(x.ndim - 2))
            if o.layout then given.layout = "NC" .. letters end
            return turned(o, x, nil, function(y) return f(y, o.extents, given) end)
        end,
        oracle = ("adaptive_pool(x, %q, o['extents'], o.get('return_indices', False))"):format(kind),
        also = { [("np.nn.adaptive_%s_pool: the first of equal elements"):format(kind)] = function()
            local x = np.array { { 1, 5, 5, 2 }, { 5, 0, 1, 1 }, { 2, 2, 7, 7 }, { 0, 7, 7, 1 } }:reshape(1, 4, 4, 1)
            local _, at = nn.adaptive_max_pool(x, { 2, 3 }, { return_indices = true })
            check.equal(at:reshape(2, 3):totable(), { { 1, 1, 2 }, { 13, 10, 10 } }) -- PyTorch's
            local turned_x = np.moveaxis(x, -1, 1)
            local _, first = nn.adaptive_max_pool(turned_x, { 2, 3 }, { return_indices = true, layout = "NCHW" })
            check.equal(first:ravel():totable(), at:ravel():totable())
        end },
        refuses = { { "extents", function() nn.adaptive_max_pool(np.ones { 1, 4, 1 }, 0) end } },
    })
end

of("np.nn.Conv", {
    args = { "x", "w", "b" }, accepts = "floats", gives = "same", within = TWO, divided = SUMS, vmapped = SUMS,
    shapes = { { { 1, 5, 2 }, { 2, 2, 4 }, { 4 } }, { { 2, 4, 3, 2 }, { 3, 2, 2, 2 }, { 2 } } },
    options = { { padding = "VALID" }, {}, { strides = 2 }, { kernel_dilation = 2 }, { groups = 2 },
                { input_dilation = 2, padding = 0 }, { layout = "first" }, { bias = false } },
    oracle = "conv(x, w, o) + (b if o.get('bias', True) else 0 * b)",
    call = function(f, o, x, w, b)
        local given, letters = options_of(o), ("DHW"):sub(-(x.ndim - 2))
        if o.layout then given.layout = "NC" .. letters end
        if o.groups then w = np.split(w, 2, { axis = -2 })[1] end
        local extents = {}
        for k = 1, x.ndim - 2 do extents[k] = w:dim(k - 1) end
        return turned(given or {}, x, w, function(y, v)
            return f(2, #b, extents, given)({ w = v, b = o.bias ~= false and b or nil }, y)
        end)
    end,
    unseen = { dtype = "it is for init: the test `init`", init = "it is for init", bias_init = "it is for init" },
    without = { numbers = "parameters are arrays" },
    also = { ["np.nn.Conv: init"] = function()
        local x = np.ones { 1, 5, 2 }
        for _, dtype in ipairs { "f64", "f32", "bf16", "f16" } do
            local params = nn.Conv(3, { 2 }, { dtype = dtype, init = nn.ones, bias_init = nn.ones })
                           :init(np.random.key(0), x)
            check.equal({ params.w.dtype, params.w:sum():item(), params.b:sum():item() }, { dtype, 12, 3 })
        end
        local first = nn.Conv(3, { 2 }, { layout = "NCW" }):init(np.random.key(0), np.ones { 1, 2, 5 })
        check.equal(first.w.shape, { 3, 2, 2 })
    end },
})

finish()
