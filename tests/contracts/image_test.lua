--- image_test.lua: contracts of np.image (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "image"

local image = np.image
elsewhere("np.image", "tests/contracts/image_test.lua", "the table of the functions that this file holds")

local ALL = "where one element is no number those near it are none, as sums of products are"
local NEAR = { f64 = "scaled 1e-13", f32 = "scaled 3e-6", f16 = "scaled 2e-3", bf16 = "scaled 1e-2",
               c128 = "scaled 1e-13", c64 = "scaled 3e-6" }
local PLANES = { { { 5, 4 } }, { { 7 } }, { { 2, 3, 4 } }, { { 1, 2 } } }
local ENDS = { {}, { mode = "nearest" }, { mode = "mirror" }, { mode = "wrap" }, { mode = "constant", cval = 2 } }
local WINDOWS = "a window has a number for each axis"

--- The options of a list without some that stand by themselves.
local function rest(o, ...)
    local kept, any = {}, false
    for key, value in pairs(o) do kept[key], any = value, true end
    for k = 1, select("#", ...) do kept[select(k, ...)] = nil end
    return any and next(kept) and kept or nil
end

--- The cases of ENDS with some more options each.
local function ends(list)
    local all = {}
    for k, o in ipairs(list) do
        all[k] = {}
        for key, value in pairs(ENDS[(k - 1) % #ENDS + 1]) do all[k][key] = value end
        for key, value in pairs(o) do all[k][key] = value end
    end
    return all
end

-- ---- Filters --------------------------------------------------------------------------------------------------------

--- The contract of a filter of floats.
local function smooth(name, contract)
    contract.args = contract.args or { "x" }
    contract.shapes = contract.shapes or PLANES
    contract.accepts = contract.accepts or "floats i32 u8 complex"
    contract.within, contract.vmapped, contract.divided = NEAR, "scaled 3e-6", "scaled 3e-6"
    contract.special, contract.smooth = false, 2
    contract.without = contract.without or {}
    contract.without.special = ALL
    of("np.image." .. name, contract)
end

for _, name in ipairs { "correlate", "convolve" } do
    smooth(name, {
        args = { "x", "w" },
        shapes = { { { 5, 4 }, { 3, 2 } }, { { 7 }, { 4 } }, { { 2, 3, 4 }, { 1, 2, 3 } } },
        accepts = "floats i32 complex",
        options = ENDS,
        oracle = ("ndi.%s(x, w, **ends(o))"):format(name),
        refuses = {
            { "mode", function() image[name](np.ones(3), { 1 }, { mode = "edge" }) end },
            { "1 to 3 axes", function() image[name](np.ones { 3, 3 }, { 1 }) end },
            { "have no elements", function() image[name](np.ones(3), np.zeros(0)) end },
            { "axis 0 has no elements", function() image[name](np.zeros(0), { 1 }) end },
        },
    })
end
smooth("uniform_filter", {
    options = ends { { size = 3 }, { size = 2 }, { size = 4 }, { size = 1 }, { size = 5 } },
    call = function(f, o, x) return f(x, o.size, rest(o, "size")) end,
    oracle = "complex_parts(lambda v: ndi.uniform_filter(v, o['size'], **ends(o)), x)",
    refuses = {
        { "size", function() image.uniform_filter(np.ones(3), 0) end },
        { "size", function() image.uniform_filter(np.ones(3), { 3, 3 }) end },
        { "0%-d array", function() image.uniform_filter(1, 3) end },
    },
    also = {
        ["np.image.uniform_filter: a size for each axis"] = function()
            local x = np.arange(6):reshape(2, 3) / 1
            check.equal(image.uniform_filter(x, { 1, 3 }):totable(), image.uniform_filter(x, { 1, 3 }):totable())
            check.ok(np.allclose(image.uniform_filter(x, { 1, 3 })[0], image.uniform_filter(x[0], 3)))
        end,
    },
})
smooth("gaussian_filter", {
    options = ends { { sigma = 0.8 }, { sigma = 1.5, order = 1 }, { sigma = 1, order = 2, truncate = 3 },
                     { sigma = 0 }, { sigma = 0.7, order = 3 } },
    call = function(f, o, x) return f(x, o.sigma, rest(o, "sigma")) end,
    oracle = "complex_parts(lambda v: ndi.gaussian_filter(v, o['sigma'], **kept(o, 'order', 'truncate', 'mode', "
             .. "'cval')), x)",
    refuses = {
        { "sigma", function() image.gaussian_filter(np.ones(3), -1) end },
        { "order", function() image.gaussian_filter(np.ones(3), 1, { order = 0.5 }) end },
        { "truncate", function() image.gaussian_filter(np.ones(3), 1, { truncate = 0 }) end },
    },
    also = {
        ["np.image.gaussian_filter: a deviation for each axis"] = function()
            local x = np.sin(np.arange(12)):reshape(3, 4)
            check.ok(np.allclose(image.gaussian_filter(x, { 0, 1 })[1], image.gaussian_filter(x[1], 1)))
        end,
    },
})
for _, name in ipairs { "sobel", "prewitt" } do
    smooth(name, {
        options = ends { {}, { axis = 0 }, {}, { axis = -1 }, { axis = 0 } },
        oracle = ("complex_parts(lambda v: ndi.%s(v, **kept(o, 'axis', 'mode', 'cval')), x)"):format(name),
        refuses = { { "axis", function() image[name](np.ones(3), { axis = 1 }) end } },
    })
end
smooth("laplace", { options = ENDS, oracle = "complex_parts(lambda v: ndi.laplace(v, **ends(o)), x)" })
for _, name in ipairs { "gaussian_laplace", "gaussian_gradient_magnitude" } do
    smooth(name, {
        accepts = name == "gaussian_laplace" and "floats i32 complex" or "floats i32",
        options = ends { { sigma = 0.8 }, { sigma = 1.2, truncate = 3 }, { sigma = 0.6 }, { sigma = 1 },
                         { sigma = 1.1 } },
        call = function(f, o, x) return f(x, o.sigma, rest(o, "sigma")) end,
        oracle = name == "gaussian_laplace"
            and "complex_parts(lambda v: ndi.gaussian_laplace(v, o['sigma'], **kept(o, 'truncate', 'mode', 'cval')), x)"
            or "gaussian_gradient(x, o)",
        refuses = { { "sigma", function() image[name](np.ones(3), "1") end } },
    })
end

--- The contract of a filter that takes elements of windows.
local function ranked(name, options, oracle, call)
    of("np.image." .. name, {
        args = { "x" },
        shapes = PLANES,
        accepts = "floats i32 u8",
        options = ends(options),
        call = call or function(f, o, x) return f(x, o.size, rest(o, "size")) end,
        oracle = oracle,
        gives = "same",
        within = { f64 = "exact", f32 = "exact", f16 = "exact", bf16 = "exact" },
        smooth = 2,
        special = false,
        without = { special = "windows with elements that have no order are another system's accident",
                    sizes = WINDOWS },
        refuses = {
            { "no order", function() image[name](np.complex(np.ones(5), 0), 50) end },
            { "size", function() image[name](np.ones(5), 0.5) end },
        },
    })
end
local SIZES = { { size = 3 }, { size = 2 }, { size = 4 }, { size = 1 }, { size = 5 } }
for _, name in ipairs { "minimum_filter", "maximum_filter", "median_filter" } do
    ranked(name, SIZES, ("ndi.%s(x, o['size'], **ends(o))"):format(name))
end
for _, name in ipairs { "grey_erosion", "grey_dilation", "grey_opening", "grey_closing" } do
    ranked(name, SIZES, ("ndi.%s(x, size=(o['size'],) * x.ndim, **ends(o))"):format(name))
end
of("np.image.percentile_filter", {
    args = { "x" },
    shapes = PLANES,
    accepts = "floats i32 u8",
    options = ends { { size = 3, percentile = 25 }, { size = 2, percentile = 100 }, { size = 4, percentile = 0 },
                     { size = 3, percentile = 62.5 }, { size = 5, percentile = 10 } },
    call = function(f, o, x) return f(x, o.percentile, o.size, rest(o, "size", "percentile")) end,
    oracle = "ndi.percentile_filter(x, o['percentile'], o['size'], **ends(o))",
    gives = "same",
    within = { f64 = "exact", f32 = "exact", f16 = "exact", bf16 = "exact" },
    smooth = 2,
    special = false,
    without = { special = "windows with elements that have no order are another system's accident", sizes = WINDOWS },
    refuses = { { "percentile", function() image.percentile_filter(np.ones(5), 101, 3) end } },
})

-- ---- Masks ----------------------------------------------------------------------------------------------------------

--- A mask, two thirds of which are true.
local function mask(random, dims, dtype)
    local size, list = 1, {}
    for _, n in ipairs(dims) do size = size * n end
    for k = 1, size do list[k] = random(3) > 1 and 1 or 0 end
    return np.array(list, { dtype = dtype }):reshape(dims)
end

local NO_ORDER = "every number but 0 is true"
local FLAT = "bools have no derivative"
local MASKS = { { { 6, 7 } }, { { 9 } }, { { 3, 3, 4 } } }
local NAMES = "'structure', 'iterations', 'border_value'"

for _, name in ipairs { "binary_erosion", "binary_dilation", "binary_opening", "binary_closing" } do
    local pair = name:match "ing$"
    of("np.image." .. name, {
        args = { { "x", make = mask } },
        shapes = MASKS,
        accepts = "f32 bool u8 f16",
        options = pair and { {}, { iterations = 2 } }
            or { {}, { iterations = 2 }, { border_value = 1 }, { iterations = 0, border_value = 1 } },
        unseen = { structure = "a test below compares with masks that it gives",
                   mask = "a test below compares with masks that it gives" },
        oracle = ("masked(ndi.%s, x, o, %s)"):format(name, NAMES),
        gives = "bool",
        special = false,
        without = { special = NO_ORDER, derivatives = FLAT },
        refuses = {
            { "structure", function() image[name](np.ones(3), { structure = np.ones { 3, 3 } }) end },
            { "iterations", function() image[name](np.ones(3), { iterations = -1 }) end },
            not pair and { "border_value", function() image[name](np.ones(3), { border_value = 2 }) end } or nil,
            not pair and { "a mask of shape", function() image[name](np.ones(3), { mask = np.ones(2) }) end } or nil,
        },
        also = {
            ["np.image." .. name .. ": a structure is not the same turned around"] = function()
                local x = np.array { 0, 0, 1, 1, 1, 0, 0, 0 }
                local y = image[name](x, { structure = { 0, 1, 1 } }):astype "i32":totable()
                check.equal(y, ({ binary_erosion = { 0, 0, 1, 1, 0, 0, 0, 0 },
                                  binary_dilation = { 0, 0, 1, 1, 1, 1, 0, 0 },
                                  binary_opening = { 0, 0, 1, 1, 1, 0, 0, 0 },
                                  binary_closing = { 0, 0, 1, 1, 1, 0, 0, 0 } })[name])
            end,
        },
    })
end
of("np.image.binary_fill_holes", {
    args = { { "x", make = mask } },
    shapes = MASKS,
    accepts = "f32 bool u8",
    unseen = { structure = "a test below gives one" },
    oracle = "masked(ndi.binary_fill_holes, x, o)",
    gives = "bool",
    special = false,
    without = { special = NO_ORDER, derivatives = FLAT },
    refuses = { { "0%-d array", function() image.binary_fill_holes(1) end } },
    also = {
        ["np.image.binary_fill_holes: a corner is a way for the whole structure"] = function()
            local x = np.array { { 1, 1, 0 }, { 1, 0, 1 }, { 1, 1, 1 } }
            check.equal(np.sum(image.binary_fill_holes(x):astype "i32"):item(), 8)
            check.equal(np.sum(image.binary_fill_holes(x, { structure = np.ones { 3, 3 } }):astype "i32"):item(), 7)
        end,
    },
})
of("np.image.generate_binary_structure", {
    args = {}, shapes = { {} }, accepts = "f64",
    options = { { rank = 2, connectivity = 1 }, { rank = 3, connectivity = 2 }, { rank = 2, connectivity = 2 } },
    call = function(f, o)
        if o.nonsense then return f(o.rank, o.connectivity, o) end
        return f(o.rank, o.connectivity)
    end,
    oracle = "ndi.generate_binary_structure(o['rank'], o['connectivity'])",
    gives = "bool",
    without = { strided = "no array is given", special = "no array is given", vmap = "no array is given",
                mesh = "no array is given", derivatives = "no array is given", jit = "no array is given",
                programs = "no array is given" },
    refuses = { { "rank", function() image.generate_binary_structure(0, 1) end } },
})

-- ---- Regions --------------------------------------------------------------------------------------------------------

local CROSS_AND_CORNERS = { { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } }

of("np.image.label", {
    args = { { "x", make = mask } },
    shapes = { { { 7, 8 } }, { { 11 } }, { { 3, 3, 4 } }, { { 1, 5 } } },
    accepts = "f32 bool u8",
    unseen = { structure = "a test below gives one" },
    oracle = "ndi.label(np.asarray(x) != 0)",
    gives = "i32",
    special = false,
    without = { special = NO_ORDER, derivatives = "labels are whole numbers" },
    refuses = {
        { "symmetric", function() image.label(np.ones(3), { structure = { 1, 1, 0 } }) end },
        { "expected 3", function() image.label(np.ones(3), { structure = { 1, 1 } }) end },
        { "0%-d array", function() image.label(1) end },
    },
    also = {
        ["np.image.label: corners, with a structure"] = function()
            local x = np.eye(4)
            local _, apart = image.label(x)
            local labels, count = image.label(x, { structure = CROSS_AND_CORNERS })
            check.equal({ apart:item(), count:item(), np.max(labels):item() }, { 4, 1, 1 })
        end,
        ["np.image.label: a trace numbers masks drawn at random as the walk does"] = function()
            for k = 1, 40 do
                local key, rank = np.random.fold_in(np.random.key(5), k), 1 + k % 4
                local dims = np.random.randint(key, { rank }, 1, rank == 1 and 40 or rank == 2 and 12 or 6):totable()
                local x = np.random.bernoulli(np.random.fold_in(key, 1), 0.2 + 0.1 * (k % 6), dims)
                local o = { structure = image.generate_binary_structure(rank, 1 + k % rank):totable() }
                local labels, count = image.label(x, o)
                local traced, traced_count = np.jit(function(y) return image.label(y, o) end)(x)
                check.equal({ labels:totable(), count:item() }, { traced:totable(), traced_count:item() })
            end
        end,
        ["np.image.label: a long winding region is one"] = function()
            local x = np.ones { 33, 33 }
            for row = 1, 31, 2 do
                x = x:at { row, { row % 4 == 1 and 0 or 1, row % 4 == 1 and 32 or 33 } }:set(0)
            end
            local _, count = image.label(x)
            check.equal(count:item(), 1)
        end,
    },
})

local HOST = { vmap = "it looks at the numbers", jit = "it looks at the numbers", programs = "it looks at the numbers",
               sizes = "it looks at the numbers", derivatives = "it looks at the numbers", special = NO_ORDER }

of("np.image.find_objects", {
    args = { { "x", from = 0, to = 4 } },
    shapes = { { { 4, 5 } }, { { 6 } } },
    accepts = "i32 u8 i64",
    unseen = { max_label = "a test below gives it" },
    call = function(f, o, x)
        local rows = {}
        for k, box in ipairs(f(x, o.nonsense and o or nil)) do
            rows[k] = {}
            for axis = 1, x.ndim do
                local range = box and box[axis] or { -1, -1 }
                rows[k][2 * axis - 1], rows[k][2 * axis] = range[1], range[2]
            end
        end
        return np.array(rows, { dtype = "i64" })
    end,
    oracle = "boxes(np.asarray(x).astype(int))",
    any_dtype = true,
    special = false,
    without = HOST,
    refuses = {
        { "must be integers", function() image.find_objects(np.ones(3)) end },
        { "not known while tracing", function() np.jit(image.find_objects)(np.array({ 1, 2 }, { dtype = "i32" })) end },
    },
    also = {
        ["np.image.find_objects: max_label"] = function()
            local found = image.find_objects(np.array({ 2, 0, 3 }, { dtype = "i32" }), { max_label = 2 })
            check.equal({ #found, found[1], found[2][1][1] }, { 2, false, 0 })
        end,
    },
})

local function numbered(x) return np.reshape(np.arange(x.size) % 4, x.shape) end

for _, name in ipairs { "sum_labels", "mean", "center_of_mass" } do
    of("np.image." .. name, {
        args = { { "x", from = 1, to = 3 } },
        shapes = { { { 4, 5 } }, { { 7 } }, { { 2, 3, 4 } } },
        accepts = name == "sum_labels" and "f64 f32 complex" or "floats i32 complex",
        options = { {}, { labels = true }, { index = { 1, 3, 2 } }, { index = 2 } },
        call = function(f, o, x)
            if o.nonsense then return f(x, nil, nil, o) end
            if not next(o) then return f(x) end
            return f(x, numbered(x), o.index)
        end,
        oracle = ("of_regions(%s, x, o)"):format("ndi." .. name),
        within = { f64 = "scaled 1e-13", f32 = "scaled 3e-6", f16 = "scaled 2e-3", bf16 = "scaled 1e-2",
                   c128 = "scaled 1e-13", c64 = "scaled 3e-6" },
        divided = "scaled 3e-6", vmapped = "scaled 3e-6",
        special = false,
        without = { special = ALL },
        refuses = {
            { "an index needs labels", function() image[name](np.ones(3), nil, 1) end },
            { "labels of shape", function() image[name](np.ones(3), np.arange(2)) end },
            { "must be integers", function() image[name](np.ones(3), np.ones(3)) end },
            { "index", function() image[name](np.ones(3), np.arange(3), { -1 }) end },
        },
    })
end

-- ---- Distances ------------------------------------------------------------------------------------------------------

of("np.image.distance_transform_edt", {
    args = { { "x", make = mask } },
    shapes = { { { 6, 7 } }, { { 9 } }, { { 3, 4, 3 } } },
    accepts = "f64 f32 u8 bool",
    options = { {}, { sampling = 2 }, { sampling = 0.5 } },
    oracle = "ndi.distance_transform_edt(np.asarray(x) != 0, **o)",
    within = { f64 = "ulp 4", f32 = "ulp 2" },
    special = false,
    without = HOST,
    refuses = {
        { "sampling", function() image.distance_transform_edt(np.ones(3), { sampling = 0 }) end },
        { "not known while tracing", function() np.jit(image.distance_transform_edt)(np.ones(3)) end },
    },
    also = {
        ["np.image.distance_transform_edt: nothing is near, and a step for each axis"] = function()
            check.equal(image.distance_transform_edt(np.ones(2)):totable(), { math.huge, math.huge })
            local x = np.ones { 3, 3 }:at { 0, 0 }:set(0)
            check.equal(image.distance_transform_edt(x, { sampling = { 3, 2 } })[{ {}, 0 }]:totable(), { 0, 3, 6 })
        end,
    },
})

-- ---- Warps ----------------------------------------------------------------------------------------------------------

local WARP = { f64 = "mixed 1e-11", f32 = "mixed 1e-4", f16 = "mixed 4e-3", bf16 = "mixed 3e-2", c128 = "mixed 1e-11",
               c64 = "mixed 1e-4" }
local NUMBERS = "how many elements come is computed from the extents"

--- The contract of a warp with a number behind the image.
local function warp(name, what, options, oracle, refuses)
    of("np.image." .. name, {
        args = { "x" },
        shapes = { { { 5, 4 } }, { { 3, 6 } } },
        accepts = "floats complex",
        options = options,
        call = function(f, o, x) return f(x, o[what], rest(o, what)) end,
        oracle = oracle,
        gives = "same",
        within = WARP, divided = "scaled 1e-5", vmapped = "scaled 1e-5",
        special = false,
        without = { special = ALL, sizes = NUMBERS },
        refuses = refuses,
    })
end
warp("zoom", "zoom", { { zoom = 1.7 }, { zoom = 0.6, mode = "nearest" }, { zoom = 2, order = 0 },
                       { zoom = 2.5, mode = "reflect", cval = 1 }, { zoom = 1.4, order = 3 },
                       { zoom = 1.7, order = 2, mode = "mirror" } },
     "ndi.zoom(x, o['zoom'], **warped_ends(o))", {
         { "zoom", function() image.zoom(np.ones(3), 0) end },
         { "would have none", function() image.zoom(np.ones(3), 0.1) end },
         { "order", function() image.zoom(np.ones(3), 2, { order = 6 }) end },
     })
warp("shift", "shift", { { shift = 0.7 }, { shift = -1.3, mode = "nearest" }, { shift = 2.4, order = 0 },
                         { shift = 1.6, mode = "wrap" }, { shift = 0.25, mode = "mirror", cval = 1 },
                         { shift = 0.5, cval = 2 }, { shift = 0.4, order = 3, mode = "wrap" },
                         { shift = -0.8, order = 5, mode = "nearest" } },
     "ndi.shift(x, o['shift'], **warped_ends(o))", {
         { "shift", function() image.shift(np.ones(3), np.inf) end },
         { "mode", function() image.shift(np.ones(3), 1, { mode = "edge" }) end },
         { "cval", function() image.shift(np.ones(3), 1, { cval = "a" }) end },
     })
warp("rotate", "angle", { { angle = 30 }, { angle = -75, mode = "reflect", reshape = false }, { angle = 90, order = 0 },
                          { angle = 20, axes = { 0, 1 }, cval = 1 }, { angle = 20, order = 3, cval = 1 },
                          { angle = 50, order = 4, mode = "mirror" } },
     "ndi.rotate(x, o['angle'], **warped_ends(o), **kept(o, 'axes', 'reshape'))", {
         { "angle", function() image.rotate(np.ones { 3, 3 }, np.nan) end },
         { "names axis 0 twice", function() image.rotate(np.ones { 3, 3 }, 1, { axes = { 0, 0 } }) end },
         { "axis", function() image.rotate(np.ones(3), 1) end },
     })
of("np.image.affine_transform", {
    args = { "x", { "matrix", from = -0.9, to = 0.9 } },
    shapes = { { { 5, 4 }, { 2, 2 } }, { { 6 }, { 1, 1 } } },
    accepts = "floats",
    options = { { mode = "mirror" }, { offset = 1.5, mode = "nearest" }, { offset = 0.5, cval = 1 },
                { order = 0, mode = "wrap" }, { order = 3, mode = "mirror", offset = 1.5 },
                { order = 2, offset = 1, cval = 1 } },
    unseen = { output_shape = "a test below gives it" },
    oracle = "ndi.affine_transform(x, matrix, **warped_ends(o), **kept(o, 'offset'))",
    gives = "same",
    within = WARP, divided = "scaled 1e-5", vmapped = "scaled 1e-5",
    special = false,
    without = { special = ALL, sizes = "the matrix has a row for each axis", numbers = "an image is an array" },
    refuses = {
        { "must have the shape", function() image.affine_transform(np.ones { 3, 3 }, { 1, 2 }) end },
        { "offset", function() image.affine_transform(np.ones(3), { { 1 } }, { offset = { 1, 2 } }) end },
        { "output_shape", function() image.affine_transform(np.ones(3), { { 1 } }, { output_shape = { 1, 2 } }) end },
    },
    also = {
        ["np.image.affine_transform: another shape"] = function()
            local y = image.affine_transform(np.arange(4), { { 1 } }, { output_shape = { 2 }, offset = { 1 } })
            check.equal(y:totable(), { 1, 2 })
        end,
    },
})

of("np.image.spline_filter", {
    args = { "x" },
    shapes = { { { 5, 4 } }, { { 9 } }, { { 2, 1, 3 } } },
    accepts = "floats complex i32 u8",
    options = { { order = 3 }, { order = 2, mode = "reflect" }, { order = 4, mode = "wrap" },
                { order = 5, mode = "mirror" }, { order = 3, mode = "nearest" }, { order = 5, mode = "constant" },
                { order = 5, mode = "wrap" }, { order = 4, mode = "reflect" } },
    call = function(f, o, x) return f(x, o.order, rest(o, "order")) end,
    oracle = "complex_parts(lambda part: coefficients(part, o), x)",
    within = WARP, divided = "scaled 1e-5", vmapped = "scaled 1e-5",
    special = false,
    without = { special = ALL, sizes = "how the filter begins is computed from the extents" },
    refuses = {
        { "order", function() image.spline_filter(np.ones(3), 1) end },
        { "mode", function() image.spline_filter(np.ones(3), 3, { mode = "edge" }) end },
        { "at least 1 axis", function() image.spline_filter(1) end },
    },
    also = {
        ["np.image.spline_filter: 3 is the order where none is given"] = function()
            local x = np.array { 1, 5, 2, 2 }
            check.equal(image.spline_filter(x):totable(), image.spline_filter(x, 3):totable())
        end,
    },
})

-- ---- Colors ---------------------------------------------------------------------------------------------------------

local SHADE = { "x", from = 0.05, to = 0.95 }
for name, oracle in pairs { rgb_to_gray = "np.asarray(x) @ [0.299, 0.587, 0.114]",
                            rgb_to_hsv = "hsv(x, colorsys.rgb_to_hsv)", hsv_to_rgb = "hsv(x, colorsys.hsv_to_rgb)" } do
    of("np.image." .. name, {
        args = { SHADE },
        shapes = { { { 4, 3 } }, { { 2, 5, 3 } }, { { 3 } } },
        accepts = "floats",
        oracle = oracle,
        within = { f64 = "abs 1e-14", f32 = "abs 1e-5", f16 = "abs 1e-2", bf16 = "abs 5e-2" },
        divided = "abs 1e-5", vmapped = "abs 1e-5",
        special = false,
        without = { special = "colors are numbers from 0 to 1", sizes = "colors have three channels" },
        refuses = {
            { "image of colors", function() image[name](np.ones { 3, 4 }) end },
            { "u8 or u16", function() image[name](np.ones({ 3 }, { dtype = "i32" })) end },
        },
        also = {
            ["np.image." .. name .. ": bytes count from 0 to 1"] = function()
                local bytes = np.array({ 255, 51, 0 }, { dtype = "u8" })
                check.ok(np.allclose(image[name](bytes), image[name](np.array { 1, 0.2, 0 })))
            end,
        },
    })
end
of("np.image.equalize_hist", {
    args = { "x" },
    shapes = { { { 5, 6 } }, { { 9 } }, { { 1 } } },
    accepts = "f64 f32 i32 u8",
    options = { {}, { nbins = 8 } },
    oracle = "equalized(x, o.get('nbins', 256))",
    within = { f64 = "abs 1e-12", f32 = "abs 1e-5" },
    divided = "abs 1e-5", vmapped = "abs 1e-5",
    special = false,
    without = { special = "a histogram has no bin for what is not finite", derivatives = "counts jump" },
    refuses = { { "nbins", function() image.equalize_hist(np.ones(3), { nbins = 0 }) end } },
})

finish()
