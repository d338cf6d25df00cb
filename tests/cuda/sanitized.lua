--- sanitized.lua: what compute-sanitizer looks at: kernels of every form, calls of every kind, and a training step.
local np = require "neap"
local key = np.random.key(5)
local x = np.random.normal(key, { 37, 530 })
local at = np.random.randint(key, { 900 }, 0, 40)

local results = {
    x * 2 + 1, x:sin():exp(), x:transpose() + 1, x:sum(), x:sum { axis = 0 }, x:max { axis = 1 }, x:argmax { axis = 1 },
    np.softmax(x, { axis = 1 }), np.arange(200000):sum(), x:cumsum { axis = 1 }, x:cumprod { axis = 0 },
    np.sort(x, { axis = 1 }), np.argsort(x:reshape(-1)), np.zeros { 40 }:at { at }:add(x:reshape(-1)[":900"]),
    x:astype "f16" * 2 + 1, x:gt(0):astype "u8" * 2 + 1, np.zeros { 2 }:at { at % 2 }:add(x:reshape(-1)[":900"]),
    np.zeros { 40 }:at { at }:set(x:reshape(-1)[":900"]), np.random.gamma(key, 0.5, { 700 }), x[at % 37],
}
np.wait(results)

local w = np.random.normal(np.random.fold_in(key, 1), { 530, 10 }) * 0.1
local step = np.jit(np.value_and_grad(function(weights) return (np.matmul(x, weights):tanh() ^ 2):mean() end))
for _ = 1, 3 do
    local loss, gradient = step(w)
    w = w - gradient
    print(loss)
end
