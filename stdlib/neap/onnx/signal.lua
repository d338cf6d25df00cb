--- signal.lua: transforms of Fourier, and windows. Complex numbers are pairs along a last axis of 2.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np = core.np
local ops = {}

--- x, whose last axis has 2 elements, as complex numbers without the axis; if the axis has 1, real numbers.
local function joined(n, x)
    local last = core.ndim(x) - 1
    local parts = x.shape[last + 1]
    if parts == 1 then return np.squeeze(x, last) end
    if parts ~= 2 then n:fail("a last axis of %d, which has to be 1 or 2", parts) end
    return np.take(x, 0, { axis = last }) + np.take(x, 1, { axis = last }) * 1i
end

--- Complex numbers with their parts along a new last axis.
local function parted(x)
    return np.stack({ np.real(x), np.imag(x) }, { axis = -1 })
end

ops.DFT = {
    attrs = "axis inverse onesided", host = { 2, 3 },
    run = function(n, x, length, axis)
        local rank = core.ndim(x)
        local at = n:axis(n:number("axis", axis, n.opset < 20 and 1 or -2), rank)
        local o = { axis = at, n = length and length[1] or nil }
        local z = joined(n, x)
        if n.attr.onesided == 1 and n.attr.inverse == 1 then
            return np.expand_dims(np.fft.irfft(z, o), -1)
        end
        if n.attr.onesided == 1 then return parted(np.fft.rfft(z, o)) end
        return parted((n.attr.inverse == 1 and np.fft.ifft or np.fft.fft)(z, o))
    end,
}

ops.STFT = {
    attrs = "onesided", least = 2, host = { 2, 4 },
    run = function(n, x, step, window, length)
        local size = length and length[1] or window and window.shape[1]
        if not size then n:fail("it has neither a window nor a frame_length") end
        local z = joined(n, x)
        local frames = np.sliding_window_view(z, { size }, { axis = { 1 } })
        frames = frames[{ {}, { 0, frames.shape[2], step[1] } }]
        if window then frames = frames * window end
        return parted((n.attr.onesided ~= 0 and np.fft.rfft or np.fft.fft)(frames))
    end,
}

--- A window of cosines with given factors.
local function window(a, b, c)
    return {
        attrs = "output_datatype periodic", host = { 1 },
        run = function(n, size)
            local count, dtype = size[1], n:dtype_attribute("output_datatype", "f32")
            local periods = n.attr.periodic ~= 0 and count or count - 1
            local turn = np.arange(count, { dtype = "f64" }) * (2 * math.pi / periods)
            return node.cast(a - np.cos(turn) * b + np.cos(turn * 2) * c, dtype)
        end,
    }
end

ops.HannWindow = window(0.5, 0.5, 0)
ops.HammingWindow = window(25 / 46, 1 - 25 / 46, 0)
ops.BlackmanWindow = window(0.42, 0.5, 0.08)

return ops
