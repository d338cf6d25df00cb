--- fft_test.lua: contracts of np.fft and of windows (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "fft"

elsewhere("np.fft", "tests/contracts/fft_test.lua", "the table of the functions that this file holds")

local function wide(dtype)
    dtype = np.result_type(dtype, 0.5)
    return dtype == "f64" or dtype == "c128"
end
local function complex_of(dtype) return wide(dtype) and "c128" or "c64" end
local function real_of(dtype) return wide(dtype) and "f64" or "f32" end

local NEAR = { c128 = "scaled 4e-15", c64 = "scaled 1e-6", f64 = "scaled 4e-15", f32 = "scaled 1e-6" }

local LINES = { { { 6 } }, { { 3, 4 } }, { { 1 } }, { { 2, 5 } } }
local LINE_OPTIONS = { {}, { n = 4 }, { n = 7, norm = "ortho" }, { axis = 0, norm = "forward" }, { norm = "backward" } }

for _, name in ipairs { "fft", "ifft", "rfft", "ihfft", "irfft", "hfft" } do
    local real, back = name == "rfft" or name == "ihfft", name == "irfft" or name == "hfft"
    of("np.fft." .. name, {
        args = { "x" },
        shapes = back and { { { 6 } }, { { 3, 4 } }, { { 2 } }, { { 2, 5 } } } or LINES,
        accepts = real and "floats ints bool" or "floats ints bool complex",
        options = LINE_OPTIONS,
        oracle = ("np.fft.%s(x, **o)"):format(name),
        gives = back and real_of or complex_of,
        within = NEAR,
        divided = "scaled 1e-6",
        special = false,
        without = { special = "where one element is no number all are none, as sums of products are" },
    })
end

local BOXES = { { { 3, 4 } }, { { 2, 3, 2 } }, { { 2, 2 } } }
local BOX_OPTIONS = { {}, { s = { 2, 5 } }, { axes = { 0, 1 }, norm = "ortho" }, { s = { 3, 3 }, axes = { -1, 0 } },
                      { norm = "forward" } }

for _, name in ipairs { "fftn", "ifftn", "fft2", "ifft2", "rfftn", "rfft2", "irfftn", "irfft2" } do
    local real, back = name:match "^rfft", name:match "^irfft"
    of("np.fft." .. name, {
        args = { "x" },
        shapes = BOXES,
        accepts = real and "floats ints" or "floats ints complex",
        options = BOX_OPTIONS,
        oracle = ("box(np.fft.%s, x, o)"):format(name),
        gives = back and real_of or complex_of,
        within = NEAR,
        divided = "scaled 1e-6",
        special = false,
        without = { special = "where one element is no number all are none, as sums of products are" },
    })
end

-- ---- Cosines and sines ----------------------------------------------------------------------------------------------

local TYPES, BOX_TYPES = {}, {}
for type = 1, 4 do
    for _, norm in ipairs { "backward", "ortho", "forward" } do TYPES[#TYPES + 1] = { type = type, norm = norm } end
    BOX_TYPES[type] = { type = type, norm = ({ "ortho", "backward", "forward", "ortho" })[type] }
end
TYPES[#TYPES + 1], TYPES[#TYPES + 2], TYPES[#TYPES + 3] = {}, { n = 4, type = 3 }, { axis = 0, n = 7 }
BOX_TYPES[5], BOX_TYPES[6], BOX_TYPES[7] = {}, { s = { 2, 5 } }, { axes = { -1, 0 } }

for _, name in ipairs { "dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn" } do
    local box = name:match "n$"
    of("np.fft." .. name, {
        args = { "x" },
        shapes = box and { { { 3, 4 } }, { { 2, 3, 2 } } } or { { { 6 } }, { { 3, 5 } }, { { 2 } } },
        accepts = "floats i32 complex",
        options = box and BOX_TYPES or TYPES,
        oracle = ("scipy.fft.%s(x, **o)"):format(name),
        within = { f64 = "scaled 1e-14", f32 = "scaled 2e-6", f16 = "scaled 1e-3", bf16 = "scaled 4e-3",
                   c128 = "scaled 1e-14", c64 = "scaled 2e-6" },
        divided = "scaled 2e-6", vmapped = "scaled 2e-6",
        special = false,
        without = { special = "where one element is no number all are none, as sums of products are" },
        refuses = {
            { "type", function() np.fft[name](np.ones { 3, 3 }, { type = 5 }) end },
            { "norm", function() np.fft[name](np.ones { 3, 3 }, { norm = "none" }) end },
            { "0%-d array", function() np.fft[name](1) end },
            name:match "^i?dc" and { "at least 2", function() np.fft[name](np.ones { 1, 1 }, { type = 1 }) end } or nil,
        },
    })
end

-- ---- Frequencies ----------------------------------------------------------------------------------------------------

local NO_ARRAY = { strided = "no array is given", special = "no array is given", vmap = "no array is given",
                   mesh = "no array is given", derivatives = "no array is given", jit = "no array is given",
                   programs = "no array is given" }

local function made(more)
    local without = {}
    for key, reason in pairs(NO_ARRAY) do without[key] = reason end
    for key, reason in pairs(more or {}) do without[key] = reason end
    return without
end

for _, name in ipairs { "fftfreq", "rfftfreq" } do
    of("np.fft." .. name, {
        args = {},
        shapes = { {} },
        accepts = "f64",
        options = { { n = 8 }, { n = 7, d = 0.3 }, { n = 1 }, { n = 6, d = 0.1, dtype = "f64" } },
        call = function(f, o) return f(o.n, { d = o.d, dtype = o.dtype, nonsense = o.nonsense }) end,
        oracle = ("np.fft.%s(o['n'], o.get('d', 1.0))"):format(name),
        any_dtype = true,
        unseen = { device = "tests/gpu/devices_test.lua places arrays" },
        without = made(),
        also = {
            ["np.fft." .. name .. ": dtype and a distance by itself"] = function()
                check.equal(np.fft[name](4).dtype, "f32")
                check.equal(np.fft[name](4, { dtype = "f16" }).dtype, "f16")
                check.equal(np.fft[name](4, 0.1, { dtype = "f64" }):totable(),
                            np.fft[name](4, { d = 0.1, dtype = "f64" }):totable())
            end,
        },
    })
end
for _, name in ipairs { "fftshift", "ifftshift" } do
    of("np.fft." .. name, {
        args = { "x" },
        shapes = { { { 5 } }, { { 3, 4 } }, { { 0 } }, { { 1 } } },
        accepts = "floats ints bool complex",
        options = { {}, { axes = 0 }, { axes = { -1 } } },
        oracle = ("np.fft.%s(x, **o)"):format(name),
        gives = "same",
        within = { f64 = "exact", f32 = "exact", f16 = "exact", bf16 = "exact", c64 = "exact", c128 = "exact" },
    })
end

-- ---- Windows --------------------------------------------------------------------------------------------------------

for name, oracle in pairs { hanning = "hann", hamming = "hamming", blackman = "blackman", bartlett = "bartlett" } do
    of("np." .. name, {
        args = {},
        shapes = { {} },
        accepts = "f64",
        options = { { n = 8, dtype = "f64" }, { n = 7, periodic = true, dtype = "f64" }, { n = 5 }, { n = 1 },
                    { n = 0 }, { n = 2 }, { n = 6, dtype = "bf16" }, { n = 4, periodic = false } },
        call = function(f, o)
            return f(o.n, { periodic = o.periodic, dtype = o.dtype, nonsense = o.nonsense })
        end,
        oracle = ("scipy.signal.windows.%s(o['n'], sym=not o.get('periodic', False))"):format(oracle),
        any_dtype = true,
        within = { f64 = "abs 4e-16", f32 = "abs 1e-7", bf16 = "ulp 1" },
        without = made(),
        also = {
            ["np." .. name .. ": dtypes"] = function()
                for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
                    check.equal(np[name](5, { dtype = dtype }).dtype, dtype)
                end
                check.equal(np[name](5).dtype, "f32")
            end,
        },
    })
end
of("np.hann", {
    args = {},
    shapes = { {} },
    accepts = "f64",
    options = { { n = 8, dtype = "f64" }, { n = 7, periodic = true } },
    call = function(f, o) return f(o.n, { periodic = o.periodic, dtype = o.dtype, nonsense = o.nonsense }) end,
    oracle = "scipy.signal.windows.hann(o['n'], sym=not o.get('periodic', False))",
    any_dtype = true,
    within = { f64 = "abs 4e-16", f32 = "abs 1e-7" },
    without = made(),
})
of("np.kaiser", {
    args = {},
    shapes = { {} },
    accepts = "f64",
    options = { { n = 8, beta = 5, dtype = "f64" }, { n = 7, beta = 14, periodic = true, dtype = "f64" },
                { n = 5, beta = 0 }, { n = 1, beta = 2 }, { n = 0, beta = 2 }, { n = 6, beta = -3 },
                { n = 6, beta = 0.3, dtype = "bf16" } },
    call = function(f, o)
        return f(o.n, o.beta, { periodic = o.periodic, dtype = o.dtype, nonsense = o.nonsense })
    end,
    oracle = "scipy.signal.windows.kaiser(o['n'], o['beta'], sym=not o.get('periodic', False))",
    any_dtype = true,
    within = { f64 = "rel 1e-14", f32 = "rel 1e-7", bf16 = "ulp 1" },
    without = made(),
})

finish()
