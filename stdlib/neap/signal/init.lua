--- init.lua: np.signal: filters, spectra, peaks and other sampling rates of signals, under the names and with the
-- conventions of scipy.signal, and wavelets with those of PyWavelets. docs/signal.md.
local signal = {}

local FILES = { "spectra", "design", "orders", "filters", "responses", "smooth", "resampling", "peaks", "wavelets" }
for _, file in ipairs(FILES) do
    for name, f in pairs(require("neap.signal." .. file)) do signal[name] = f end
end

return signal
