--- profiled.lua: what ncu looks at: each kernel of bench/kernels.lua twice, with its name in front. Its times are those
-- of the GPU alone, whatever the host does between.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local kernels = require "bench.kernels"
np.default_device "cuda:0"

for _, kernel in ipairs(kernels) do
    local n, inputs = kernels.size(kernel, 2 ^ 26), {}
    for k = 1, kernel.inputs or 1 do inputs[k] = kernels.input(k, n, kernel.columns) end
    np.wait_all()
    io.write("kernel ", kernel.name, "\n")
    io.flush()
    for _ = 1, 2 do np.wait(kernel.lua(unpack(inputs))) end
    io.write "end\n"
    io.flush()
end
