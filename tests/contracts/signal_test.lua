--- signal_test.lua: contracts of np.signal (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere = require "tests.lib.contracts" "signal"

elsewhere("np.signal", "tests/contracts/signal_test.lua", "the table of the functions that this file holds")

local ALL = "where one element is no number all are none, as sums of products are"


of("np.signal.get_window", {
    args = {},
    shapes = { {} },
    accepts = "f64",
    options = { { window = "hann", n = 8 }, { window = "boxcar", n = 4 }, { window = "hamming", n = 7 },
                { window = "blackman", n = 6 }, { window = "bartlett", n = 5 }, { window = { "tukey", 0.25 }, n = 9 },
                { window = { "kaiser", 3.5 }, n = 9 }, { window = "hann", n = 8, fftbins = false },
                { window = { "tukey", 0.5 }, n = 9, fftbins = false }, { window = "hann", n = 8, fftbins = true } },
    call = function(f, o) return f(o.window, o.n, { fftbins = o.fftbins, nonsense = o.nonsense }) end,
    oracle = "scipy.signal.get_window(o['window'], o['n'], o.get('fftbins', True))",
    any_dtype = true,
    within = { f64 = "abs 4e-16" },
    without = { strided = "no array is given", special = "no array is given", vmap = "no array is given",
                mesh = "no array is given", derivatives = "no array is given", jit = "no array is given",
                programs = "no array is given" },
    also = {
        ["np.signal.get_window: fftbins"] = function()
            local symmetric = np.hanning(9, { dtype = "f64" }):totable()
            check.equal(np.signal.get_window("hann", 9, { fftbins = false }):totable(), symmetric)
            check.equal(np.signal.get_window("hann", 9, false):totable(), symmetric)
            check.equal(np.signal.get_window("hann", 9, true):totable(), np.signal.get_window("hann", 9):totable())
            check.raises(function() np.signal.get_window("hann", 9, "symmetric") end, "table")
        end,
    },
})
of("np.signal.detrend", {
    args = { "x" },
    shapes = { { { 7 } }, { { 4, 5 } }, { { 1 } } },
    accepts = "floats ints complex",
    options = { {}, { type = "constant" }, { axis = 0 }, { type = "linear", axis = -1 } },
    oracle = "scipy.signal.detrend(x, **o)",
    within = { f64 = "abs 1e-14", f32 = "abs 4e-6", f16 = "scaled 1e-3", bf16 = "scaled 1e-2", c64 = "abs 4e-6",
               c128 = "abs 1e-14" },
    divided = "abs 4e-6",
    special = false,
    without = { special = ALL },
})

local NEAR = { f64 = "scaled 1e-13", f32 = "scaled 4e-6", f16 = "scaled 2e-3", bf16 = "scaled 1e-2",
               c64 = "scaled 4e-6", c128 = "scaled 1e-13" }
local SPECTRA = {
    { nperseg = 8, fs = 1 }, { nperseg = 8, noverlap = 2, fs = 4 }, { nperseg = 6, nfft = 9, scaling = "spectrum" },
    { nperseg = 8, detrend = "linear", window = "hamming" }, { nperseg = 8, detrend = false, average = "median" },
    { nperseg = 8, return_onesided = false }, { axis = 0, nperseg = 2, window = "boxcar" },
}
local function dtype_of_spectrum(dtype) return np.result_type(dtype, 0.5) end
local function power_dtype(dtype)
    dtype = dtype_of_spectrum(dtype)
    return ({ c128 = "f64", c64 = "f32", f16 = "f32", bf16 = "f32" })[dtype] or dtype
end
local function complex_dtype(dtype)
    return (power_dtype(dtype) == "f64") and "c128" or "c64"
end

of("np.signal.welch", {
    args = { "x" },
    shapes = { { { 20 } }, { { 2, 20 } } },
    accepts = "floats i32 i64 u8 complex",
    options = SPECTRA,
    oracle = "spectrum(scipy.signal.welch, o, x)",
    gives = { power_dtype, power_dtype },
    within = NEAR,
    divided = "scaled 4e-6",
    special = false,
    without = { special = ALL },
})
of("np.signal.csd", {
    args = { "x", "y" },
    shapes = { { { 20 }, { 20 } }, { { 2, 20 }, { 2, 20 } } },
    accepts = "floats i32 i64 u8 complex",
    options = SPECTRA,
    oracle = "spectrum(scipy.signal.csd, o, x, y)",
    gives = { power_dtype, complex_dtype },
    within = NEAR,
    divided = "scaled 4e-6",
    special = false,
    without = { special = ALL },
})
of("np.signal.periodogram", {
    args = { "x" },
    shapes = { { { 9 } }, { { 2, 8 } } },
    accepts = "floats i32 i64 u8 complex",
    options = { {}, { fs = 3, window = "hann" }, { nfft = 12, scaling = "spectrum" }, { nfft = 6 },
                { detrend = false }, { return_onesided = false, detrend = "linear" }, { axis = 0 } },
    oracle = "spectrum(scipy.signal.periodogram, o, x)",
    gives = { power_dtype, power_dtype },
    within = NEAR,
    divided = "scaled 4e-6",
    special = false,
    without = { special = ALL },
})
of("np.signal.spectrogram", {
    args = { "x" },
    shapes = { { { 20 } }, { { 2, 20 } } },
    accepts = "floats i32 u8 complex",
    options = { { nperseg = 8 }, { nperseg = 8, noverlap = 3, fs = 2, window = "hann" },
                { nperseg = 6, nfft = 8, scaling = "spectrum" }, { nperseg = 8, mode = "magnitude" },
                { nperseg = 8, detrend = false, return_onesided = false }, { axis = 0, nperseg = 2, mode = "psd" } },
    oracle = "spectrum(scipy.signal.spectrogram, o, x)",
    gives = { power_dtype, power_dtype, power_dtype },
    within = NEAR,
    divided = "scaled 4e-6",
    special = false,
    without = { special = ALL },
})
of("np.signal.stft", {
    args = { "x" },
    shapes = { { { 20 } }, { { 2, 20 } } },
    accepts = "floats i32 u8 complex",
    options = { { nperseg = 8 }, { nperseg = 8, noverlap = 3, fs = 2, window = "hamming" },
                { nperseg = 6, nfft = 8, scaling = "psd" }, { nperseg = 8, boundary = "even", padded = true },
                { nperseg = 8, boundary = "odd" }, { nperseg = 8, boundary = "constant", padded = false },
                { nperseg = 8, detrend = "constant", return_onesided = false, boundary = false },
                { axis = 0, nperseg = 2 } },
    oracle = "spectrum(scipy.signal.stft, o, x)",
    gives = { power_dtype, power_dtype, complex_dtype },
    within = NEAR,
    divided = "scaled 4e-6",
    special = false,
    without = { special = ALL },
})
of("np.signal.istft", {
    args = { "z" },
    shapes = { { { 5, 6 } }, { { 2, 5, 6 } } },
    accepts = "complex",
    options = { { nperseg = 8 }, { nperseg = 8, noverlap = 5, fs = 2, window = "hamming" }, { boundary = false },
                { nperseg = 7, nfft = 8, scaling = "psd" }, { input_onesided = false },
                { time_axis = -2, freq_axis = -1, nperseg = 10 } },
    oracle = "spectrum(scipy.signal.istft, o, z)",
    gives = { power_dtype, power_dtype },
    any_dtype = true,
    within = { f32 = "scaled 4e-6", f64 = "scaled 1e-13", c64 = "scaled 4e-6", c128 = "scaled 1e-13" },
    divided = "scaled 4e-6",
    special = false,
    without = { special = ALL, derivatives = "a test of tests/golden/signal_test.lua holds those of complex numbers" },
})

finish()
