--- signal_test.lua (not under tsan): np.signal: values as SciPy's (signal.txt, make_signal.py) in both precisions; the
-- way back, jit, derivatives, batches, errors.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local ok, equal, raises = check.ok, check.equal, check.raises

local function array(text, is_complex)
    local x = reader.build(text, "f64")
    return is_complex and np.complex(x"..., 0", x"..., 1") or x
end

--- The largest distance of elements, in eps of the largest element.
local function off(got, want, eps)
    local scale = math.max(want:abs():max():item(), 1e-30)
    return (got:astype(want.dtype) - want):abs():max():item() / scale / eps
end

--- Options, "tukey:0.25" being a window with its parameter.
local function options_of(text)
    local o = reader.options(text)
    local name, parameter = tostring(o.window):match "^(%a+):(.*)$"
    if name then o.window = { name, tonumber(parameter) } end
    return o
end

local collector = reader.collector()
for _, record in ipairs(reader.records "signal") do
    local name, o = record[1], options_of(record[2])
    collector.add(name, function()
        if name == "get_window" then
            local got = np.signal.get_window(o.window, tonumber(record[3]), o.fftbins)
            ok(np.abs(got - array(record[4])):max():item() < 1e-15, record[2] .. " " .. record[3])
            return
        end
        local kinds, given = o.kind, {}
        for key, value in pairs(o) do if key ~= "kind" then given[key] = value end end
        for dtype, eps in pairs { f32 = 2 ^ -23, f64 = 2 ^ -52 } do
            local x = array(record[3], kinds:sub(1, 1) == "c")
            x = kinds:sub(1, 1) == "c" and x:astype(dtype == "f32" and "c64" or "c128") or x:astype(dtype)
            local results
            if name == "csd" then
                results = { np.signal.csd(x, np.flip(x, -1), given) }
            else
                results = { np.signal[name](x, given) }
            end
            equal(#results, #record - 3)
            for k, got in ipairs(results) do
                local is_complex = k == #results and kinds:sub(2, 2) == "c"
                local want = array(record[3 + k], is_complex)
                equal(got.shape, want.shape)
                if k == #results then
                    equal(got.dtype, is_complex and (dtype == "f32" and "c64" or "c128") or dtype)
                end
                local size = off(got, want, k < #results and 2 ^ -23 or eps)
                if size > 40 then return ("%s, result %d: %.3g eps off"):format(dtype, k, size) end
            end
        end
    end, record[2])
end

local x = np.random.normal(np.random.key(1), { 3, 50 })

check.test("a signal comes back", function()
    for _, o in ipairs { { nperseg = 8 }, { nperseg = 9, noverlap = 6 }, { nperseg = 16, window = "hamming" },
                         { nperseg = 10, scaling = "psd", fs = 7 } } do
        local _, _, z = np.signal.stft(x, o)
        if o.nperseg % 2 == 1 then o.nfft = o.nperseg end
        local _, back = np.signal.istft(z, o)
        ok(np.abs(back[{ np.ellipsis, { 0, 50 } }] - x):max():item() < 1e-5)
    end
end)

check.test("axes of times and frequencies", function()
    local _, _, z = np.signal.stft(x, { nperseg = 8 })
    local _, want = np.signal.istft(z)
    local _, moved = np.signal.istft(np.transpose(z, { 2, 0, 1 }), { time_axis = 0, freq_axis = 2 })
    ok(np.array_equal(moved, want.T))
    local _, other = np.signal.istft(np.transpose(z, { 1, 2, 0 }), { time_axis = 1, freq_axis = 0 })
    ok(np.array_equal(other, want.T))
end)

check.test("jit and vmap give the same, and gradients are those of power", function()
    local function power(y) return (select(2, np.signal.welch(y, { nperseg = 16 }))) end
    ok(np.array_equal(np.jit(power)(x), power(x)))
    ok(np.allclose(np.vmap(power)(x), power(x)))
    local function energy(y) return np.sum((select(2, np.signal.periodogram(y, { detrend = false })))) end
    -- By Parseval's theorem the sum is n times the mean square.
    ok(np.allclose(np.grad(energy)(x), x * 2, { atol = 1e-4 }))
end)

check.test("errors name the argument", function()
    raises(function() np.signal.welch(x, { window = "square" }) end, "option 'window' must be \"boxcar\"")
    raises(function() np.signal.welch(x, { window = "tukey" }) end, "needs a number alpha")
    raises(function() np.signal.welch(x, { nperseg = 4, noverlap = 4 }) end, "segments of 4 elements cannot share 4")
    raises(function() np.signal.stft(x, { scaling = "density" }) end, '"spectrum" or "psd"')
    raises(function() np.signal.stft(np.array(1)) end, "at least 1 axis")
    raises(function() np.signal.istft(x, { nperseg = 8 }) end, "3 frequencies do not come from segments of 8")
    raises(function() np.signal.spectrogram(x, { mode = "loud" }) end, "option 'mode' must be")
    raises(function() np.signal.periodogram(np.zeros { 0 }) end, "no elements")
end)

collector.finish(check)
