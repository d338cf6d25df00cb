--- sized_numbers_test.lua: functions that are given size values where they take numbers: a program that is recorded
-- with a declared size gives the bits of a call at others.
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"

--- Functions of an array of shape {n} and its extent.
local CALLS = {
    ["x[n - 1]"] = function(x, n) return x[n - 1] end,
    ["x[{{0, n - 1}}]"] = function(x, n) return x[{ { 0, n - 1 } }] end,
    ["x[{{n - 1, 0, -1}}]"] = function(x, n) return x[{ { n - 1, 0, -1 } }] end,
    ["at set"] = function(x, n) return x:at { n - 1 }:set(7) end,
    ["at add"] = function(x, n) return x:at { { 1, n } }:add(n) end,
    take = function(x, n) return np.take(x, { 0, n - 1 }) end,
    roll = function(x, n) return np.roll(x, n + 1), np.roll(x, -n) end,
    split = function(x, n) return unpack(np.split(x, { 1, n - 1 })) end,
    insert = function(x, n) return np.insert(x, n - 1, 7), np.insert(x, { 0, n }, { 7, 8 }) end,
    delete_at = function(x, n) return np.delete_at(x, n - 1) end,
    pad = function(x, n) return np.pad(x, n) end,
    ["pad reflect"] = function(x, n) return np.pad(x, { n, 0 }, "reflect") end,
    ["pad symmetric"] = function(x, n) return np.pad(x, { 1, n }, "symmetric") end,
    ["pad wrap"] = function(x, n) return np.pad(x, n + 1, "wrap") end,
    ["pad edge"] = function(x, n) return np.pad(x, n, "edge") end,
    ["pad ramp"] = function(x, n) return np.pad(x, { n, 1 }, "linear_ramp", { end_values = n }) end,
    ["pad mean"] = function(x, n) return np.pad(x, { n, 1 }, "mean", { stat_length = n }) end,
    tile = function(x, n) return np.tile(x, { n, 2 }) end,
    repeat_ = function(x, n) return np.repeat_(x, n) end,
    resize = function(x, n) return np.resize(x, n + 1, n) end,
    zeros = function(_, n) return np.zeros(n, 2), np.ones({ n }, { dtype = "i32" }) end,
    full = function(_, n) return np.full({ n, 2 }, n), np.full(n, n, { dtype = "u8" }) end,
    full_like = function(x, n) return np.full_like(x, n) end,
    arange = function(_, n)
        return np.arange(n), np.arange(1, n, 2), np.arange(n, 0, -1), np.arange(n, 2 * n), np.arange(0, n, 0.5)
    end,
    linspace = function(_, n)
        return np.linspace(0, 1, n), np.linspace(0, n, 5), np.linspace(1, 2, n, { endpoint = false })
    end,
    logspace = function(_, n) return np.logspace(0, 1, n) end,
    geomspace = function(_, n) return np.geomspace(1, 8, n) end,
    eye = function(_, n) return np.eye(n), np.eye(n, n + 1, 1), np.eye(3, n, -1) end,
    tri = function(_, n) return np.tri(n), np.tri(n, 3, 1) end,
    delta = function(_, n) return np.delta { n, n } end,
    identity = function(_, n) return np.identity(n) end,
    indices = function(_, n) return np.indices { n, 2 } end,
    meshgrid = function(_, n) return np.meshgrid(np.arange(n), np.arange(3)) end,
    mgrid = function(_, n) return np.mgrid({ 0, n }, { 1, 3 }) end,
    fromfunction = function(_, n) return np.fromfunction(function(i, j) return i * 10 + j end, { n, 2 }) end,
    tril_indices = function(_, n)
        local a, b = np.tril_indices(n)
        local c, d = np.tril_indices(n, 1, 3)
        return a, b, c, d
    end,
    triu_indices = function(_, n)
        local a, b = np.triu_indices(n)
        local c, d = np.triu_indices(n, -1, 3)
        return a, b, c, d
    end,
    diag_indices = function(_, n) return np.diag_indices(n) end,
    unravel_index = function(_, n) return np.unravel_index(np.arange(2 * n), { n, 2 }) end,
    ravel_multi_index = function(_, n) return np.ravel_multi_index({ np.arange(2), np.arange(2) }, { 2, n }) end,
    gradient = function(x, n) return np.gradient(np.concatenate { x, x }, 1 / n) end,
    trapezoid = function(x, n) return np.trapezoid(x, nil, { dx = 1 / n }) end,
    sliding_window_view = function(x, n) return np.sliding_window_view(np.concatenate { x, x }, n) end,
    dynamic_slice = function(x, n)
        return np.dynamic_slice(x, { 1 }, { n - 1 }), np.dynamic_slice(x, { n - 1 }, { 1 })
    end,
    histogram = function(x, n) return np.histogram(x, n), np.histogram(x, 4, { range = { 0, n } }) end,
    bincount = function(_, n) return np.bincount(np.arange(n), { length = n + 1 }) end,
    segment_sum = function(x, n)
        return np.segment_sum(x, np.arange(n), n), np.segment_max(x, np.zeros_like(np.arange(n)), n)
    end,
    one_hot = function(_, n) return np.one_hot(np.arange(n), n) end,
    top_k = function(x, n) return np.top_k(x, n) end,
    nonzero = function(x, n) return np.nonzero(x, { size = n }) end,
    unique = function(x, n) return np.unique(x, { size = n }) end,
    sum = function(x, n) return np.sum(x, { initial = n }), np.max(x, { initial = n }) end,
    where = function(x, n) return np.where(x:gt(0), n, x), np.where(x:gt(0), x, 1 / n) end,
    elementwise = function(x, n) return np.maximum(x, n), x * n + n, n - x, x / n, np.power(x, n), np.clip(x, 0, n) end,
    quantile = function(x, n) return np.quantile(x, 1 / (n + 1)) end,
    convolve = function(x, n) return np.convolve(x, np.ones(n, { dtype = "f64" })) end,
    broadcast_to = function(x, n) return np.broadcast_to(x, { n, n }) end,
    reshape = function(x, n) return x:reshape(n, 1), x:reshape { 1, n }, np.ones(2, n):reshape(-1) end,
    diag = function(x, n) return np.diag(x, n - 1), np.diag(np.ones(n, n), 1) end,
    diagonal = function(_, n) return np.diagonal(np.eye(n), { offset = n - 1 }) end,
    tril = function(_, n) return np.tril(np.ones(3, 3), n - 2), np.triu(np.ones(n, n), n - 1) end,
    interp = function(x, n) return np.interp(x, np.linspace(0, 1, n), np.arange(n)) end,
    partition = function(x, n) return np.partition(x, n - 1) end,
    array = function(_, n) return np.array { n, 2, 3 }, np.array(n) end,
    append = function(x, n) return np.append(x, n) end,
    ["var, std"] = function(x, n) return np.var(x, { ddof = n - 1 }), np.std(x) end,
    vander = function(x, n) return np.vander(x, 3), x:sum() / n end,
}

local function shown(list)
    local parts = { #list .. " results" }
    for k, x in ipairs(list) do parts[k + 1] = np.is_array(x) and cases.text(x) or tostring(x) end
    return table.concat(parts, "; ")
end

local function values(n)
    local list = {}
    for k = 1, n do list[k] = math.sin(3 * k) * k end
    return np.array(list, { dtype = "f64" })
end

for name, f in pairs(CALLS) do
    check.test(name, function()
        local function called(x) return { f(x, x.shape[1]) } end
        local program = np.trace(called, { sizes = { { "n" } } })(values(4))
        for _, n in ipairs { 4, 1, 2, 3, 7, 17 } do
            local ran, expected = pcall(function() return shown(called(values(n))) end)
            local followed, got = pcall(function() return shown(program(values(n))) end)
            if ran then
                check.ok(followed, ("n = %d: %s"):format(n, tostring(got)))
                check.equal(got, expected, "n = " .. n)
            else
                check.ok(not followed, ("n = %d: the function raises: %s"):format(n, tostring(expected)))
            end
        end
    end)
end

check.done()
