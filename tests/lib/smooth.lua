--- smooth.lua: seeded random functions that have derivatives, for tests of gradients.
--
--     local drawn = smooth.draw(17)
--     drawn.f(drawn.x)        -- f: an f64 array → a 0-d f64 array; x: a point of it
--     drawn.v                 -- a direction, of length about 1
--     drawn.text              -- f as text
--
-- A function is a few lines, each of which makes a register of earlier ones by a map, a reduction, a view, a product, a
-- gather, a scatter, a join or a sort; all registers have the shape of x, ROWS by COLUMNS, and stay small numbers.
local np = require "neap"

local smooth = {}

local ROWS, COLUMNS = 3, 4

-- In a line, a and b are registers.
local LINES = {
    "np.tanh(a)", "np.sin(a) * b", "a * b", "a - b * 0.5", "np.sigmoid(a + b)", "np.exp(np.tanh(a))", "np.cos(a) + b",
    "np.sqrt(a * a + 1)", "np.log(np.exp(a) + 1)", "a / (b * b + 1)", "np.atan2(a, b * b + 1)", "np.erf(a)",
    "np.logaddexp(a, b)", "np.square(a) * 0.3", "np.log1p(a * a)", "np.where(np.arange(4):gt(1), a, b)",
    "np.softmax(a, {axis=1})", "np.log_softmax(a, {axis=0}) * 0.5", "a - a:mean{axis=1, keepdims=true}",
    "a * np.logsumexp(b, {axis=0, keepdims=true})", "a / np.sqrt(b:var{axis=1, keepdims=true} + 1)",
    "np.cumsum(a, {axis=1}) * 0.3", "a + np.cumprod(np.tanh(b), {axis=0})", "a * b:max{axis=1, keepdims=true}",
    "a * b:sum() * 0.1", "a + np.prod(np.tanh(b) + 1.5, {axis=1, keepdims=true}) * 0.1",
    "a.T:reshape(3, 4)", "a:reshape(4, 3):transpose()", "np.flip(a, {axis=1})", "np.roll(a, 1, {axis=0})",
    "np.broadcast_to(a[1], {3, 4})", "a[{{}, {false, false, -1}}]",
    "np.concatenate({a[{{1, 3}}], b[{{0, 1}}]}, {axis=0})",
    "np.stack({a[0], b[1], a[2]})", "np.pad(a[{{1, 3}}], {{1, 0}, {0, 0}})",
    "a:matmul(b:transpose()):matmul(a) * 0.1", "np.tanh(a:transpose():matmul(b)):sum{axis=0} * a",
    "np.take(a, np.array({2, 0, 0}, {dtype='i32'}), {axis=0})",
    "np.take(a, np.array({3, 1, -1, 0}, {dtype='i32'}), {axis=1})",
    "a:at{{0, 2}}:add(b[{{1, 3}}])", "a:at{1}:set(b[2])", "a:at{np.array({0, 0, 2}, {dtype='i32'})}:add(b)",
    "a:at{{0, 1}}:mul(b[{{2, 3}}])", "np.sort(a, {axis=1}) + b",
    "np.take_along_axis(a, np.argsort(b, {axis=1}), {axis=1})",
    "np.maximum(a, b)", "np.minimum(a, b * 0.5)", "np.abs(a) + b", "np.clip(a, -0.7, 0.9)",
    "a:astype('f32'):astype('f64') * 0 + a",
}

local function random_of(seed)
    local state = (seed * 48271 + 12345) % 2147483646 + 1
    for _ = 1, 5 do state = state * 16807 % 2147483647 end
    return function(n)
        state = state * 16807 % 2147483647
        return math.floor(state / 8) % n + 1
    end
end

--- The function of a seed.
function smooth.draw(seed)
    local random = random_of(seed)
    local lines, compiled = { "r[1] = x" }, {}
    for k = 2, 3 + random(6) do
        local function register() return ("r[%d]"):format(math.max(random(k - 1), random(k - 1))) end
        local text = LINES[random(#LINES)]
        local a, b = register(), register()
        text = text:gsub("%f[%w]a%f[^%w]", a):gsub("%f[%w]b%f[^%w]", b)
        lines[k] = ("r[%d] = %s"):format(k, text)
        compiled[#compiled + 1] = assert(loadstring("local np, r = ... return " .. text))
    end
    local keys = np.random.split(np.random.key(seed), 3)
    local x = np.random.normal(keys[0], { ROWS, COLUMNS }, { dtype = "f64" })
    local v = np.random.normal(keys[1], { ROWS, COLUMNS }, { dtype = "f64" }) / math.sqrt(ROWS * COLUMNS)
    local weights = np.random.normal(keys[2], { ROWS, COLUMNS }, { dtype = "f64" })
    np.force(x, v, weights)

    local function f(point)
        local r = { point }
        for _, line in ipairs(compiled) do r[#r + 1] = line(np, r) end
        return (r[#r] * weights):sum()
    end
    return { f = f, x = x, v = v, text = table.concat(lines, "\n") }
end

return smooth
