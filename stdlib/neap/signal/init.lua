--- init.lua: np.signal: filters, spectra, peaks and other sampling rates of signals, under the names and with the
-- conventions of scipy.signal. docs/signal.md.
local signal = {}

for _, file in ipairs { "spectra", "design", "orders", "filters", "responses", "smooth", "resampling", "peaks" } do
    for name, f in pairs(require("neap.signal." .. file)) do signal[name] = f end
end

return signal
