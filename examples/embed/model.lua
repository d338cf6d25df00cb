--- model.lua: what embed.c calls: functions that get pointers of C, compute with arrays, and return pointers.
local ffi = require "ffi"
local np = require "neap"

local model = {}

--- Fits a parabola to samples, a DLManagedTensor of f32[n,2] with x and y, which is taken. Returns a pointer to the
-- weights, and how many there are.
function model.fit(tensor)
    local samples = np.from_dlpack(ffi.cast("DLManagedTensor *", tensor))
    local x, y = samples[{ {}, 0 }], samples[{ {}, 1 }]
    local function loss(w) return ((w[0] + w[1] * x + w[2] * x ^ 2 - y) ^ 2):mean() end
    local step = np.jit(function(w) return w - 0.05 * np.grad(loss)(w) end)
    local w = np.zeros(3)
    for _ = 1, 2000 do w = step(w) end
    np.printf("loss %.4f\n", loss(w))
    return w:pointer(), w.size
end

--- Raises an error where n is negative.
function model.refuses(n)
    local made = np.ones(n)
    return made:pointer()
end

--- All that was printed has been written when this returns.
function model.close()
    np.effects_barrier()
    np.wait_all()
end

return model
