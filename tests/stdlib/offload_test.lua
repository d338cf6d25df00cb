--- offload_test.lua (sanitized with --long): np.checkpoint with values that it keeps in the memory of the host: on null
-- devices, whose memory is their own, on the CPU, and in loops.
local check = require "tests.lib.check"
local np = require "neap"

local AWAY = "null:6" -- not one that the session may compute on
local LAYERS, WIDE = 12, 160
local named = np.checkpoint_name

local x = np.random.normal(np.random.key(0), { WIDE, WIDE })
local weights = {}
for k = 1, LAYERS do weights[k] = np.random.normal(np.random.key(k), { WIDE, WIDE }) * 0.1 end

local function layer(c, w) return np.tanh(named(named(np.sin(c), "wave"):matmul(w), "product")) end

--- The loss of a network of n layers under np.checkpoint with options, and its gradient.
local function network(options, n)
    local g = options and np.checkpoint(layer, options) or layer
    return np.value_and_grad(function(ws, v)
        for k = 1, n do v = g(v, ws[k]) end
        return (v * v):mean()
    end)
end

local function there(tree) return np.device_put(tree, AWAY) end

--- What a network gives of weights and an input, as tables.
local function values(f, ws, v)
    local loss, gradient = f(ws, v)
    local list = { loss:item() }
    for k, g in ipairs(gradient) do list[k + 1] = g:totable() end
    return list
end

local few = { unpack(weights, 1, 3) }

check.test("the same bits, on the device and on the CPU", function()
    local want = values(network(nil, 3), few, x)
    for k, options in ipairs { { offload = "wave" }, { offload = { "wave", "product" } },
                               { save = "product", offload = "wave" }, { policy = "offload_dot_with_no_batch_dims" },
                               { policy = "dots_saveable", offload = "wave" },
                               { offload = "wave", save = "product", most = 1e9 },
                               { offload = "wave", save = "product", most = 0 } } do
        local f = network(options, 3)
        check.equal(values(f, few, x), want, "on the CPU, " .. k)
        check.equal(values(f, there(few), there(x)), want, "away, " .. k)
        check.equal(values(np.jit(f), there(few), there(x)), want, "away and jitted, " .. k)
    end
end)

--- How many transfers the program of a network has.
local function transfers(options, n, ws, v)
    for _, row in ipairs(np.trace(network(options, n))(ws, v):cost().ops) do
        if row.op == "transfer" then return row.count end
    end
    return 0
end

check.test("what is copied out and back", function()
    local ws, v = there(few), there(x)
    check.equal(transfers({ save = "wave" }, 3, ws, v), 0)
    check.equal(transfers({ offload = "wave" }, 3, ws, v), 6)
    check.equal(transfers({ offload = { "wave", "product" } }, 3, ws, v), 12)
    check.equal(transfers({ policy = "offload_dot_with_no_batch_dims" }, 3, ws, v), 6)
    check.equal(transfers({ policy = "offload_dot_with_no_batch_dims", offload = "wave" }, 3, ws, v), 12)
    check.equal(transfers({ offload = "wave", save = "product", most = 0 }, 3, ws, v), 6)
    check.equal(transfers({ offload = "wave" }, 3, few, x), 0, "on the CPU there is nothing to gain")
end)

check.test("np.explain shows the copies, the one to the host right behind what it copies", function()
    local f = np.jit(network({ offload = "wave" }, 1))
    f(there(few), there(x))
    local steps = {}
    for line in tostring(np.explain(f)):gmatch "[^\n]+" do
        local step, device = line:match "^  %d+ +(%w+) .- ([%w]+:%d)"
        if step == "call" or step == "part" or step == "transfer" then steps[#steps + 1] = step .. " " .. device end
    end
    local text = table.concat(steps, ", ")
    check.ok(text:find("^call null:6, part null:6, part null:6, transfer cpu:0, "), text)
    check.ok(text:find("transfer null:6", 1, true), text)
end)

--- The highest that the device's memory gets while a jitted network of many layers runs, above what it was before.
local function peak(options)
    local f, ws, v = np.jit(network(options, LAYERS)), there(weights), there(x)
    values(f, ws, v) -- recorded, and what it is made of has been moved
    np.memory.trim()
    np.memory.reset_peak()
    local before = np.memory(AWAY).live
    values(f, ws, v)
    return np.memory(AWAY).peak - before
end

check.test("the device needs less memory", function()
    local bytes = WIDE * WIDE * 4
    local saved, offloaded = peak { save = "wave" }, peak { offload = "wave" }
    check.ok(saved - offloaded >= (LAYERS - 2) * bytes,
             ("%d bytes with save, %d with offload"):format(saved, offloaded))
end)

check.test("derivatives of the gradient, and batches", function()
    local function total(options)
        local f = network(options, 2)
        return function(v) return (select(2, f(few, v)))[1]:sum() end
    end
    local function wanted(v) return np.grad(total(nil))(v) end
    local batch = np.stack { x, x * 0.5 }
    for _, options in ipairs { { save = "wave" }, { offload = "wave" } } do
        local f = network(options, 2)
        local function first(ws, v) return (select(2, f(ws, v)))[1] end
        local two = there(few)
        local function second(v) return first(two, v):sum() end
        check.equal(np.allclose(np.device_put(np.grad(second)(there(x)), "cpu:0"), wanted(x), { atol = 1e-6 }), true)
        local rows = np.vmap(function(v) return first(two, v) end)(there(batch))
        check.equal(rows[1]:totable(), first(few, x * 0.5):totable())
    end
end)

check.test("in loops and branches it is kept on the device, which runs them", function()
    local function deep(g)
        return np.jit(np.grad(function(w, v)
            local last = np.scan(function(c) return g(c, w) end, v, nil, { length = 3 })
            return (last * last):mean()
        end))
    end
    local f, plain = deep(np.checkpoint(layer, { offload = "wave" })), deep(np.checkpoint(layer, { save = "wave" }))
    local got = f(there(few[1]), there(x))
    check.equal(tostring(got.device), AWAY)
    check.equal(got:totable(), plain(few[1], x):totable())
    local text = tostring(np.explain(f))
    check.equal(text:find("moves an array", 1, true), nil, text)
    local branch = np.grad(function(v)
        local g = np.checkpoint(layer, { offload = "wave" })
        return np.cond(v:sum():gt(1e9), function(c) return c end, function(c) return g(c, few[1]) end, v):sum()
    end)
    check.equal(branch(x):totable(), np.grad(function(v) return layer(v, few[1]):sum() end)(x):totable())
end)

check.test("what is refused", function()
    check.raises(function() np.checkpoint(layer, { offload = 3 }) end, "np.checkpoint: .*'offload'")
    check.raises(function() np.checkpoint(layer, { offload = { 3 } }) end, "option 'offload': name 1 must be a text")
    check.raises(function() np.checkpoint(layer, { save = { "a", "wave" }, offload = "wave" }) end,
                 "options 'save' and 'offload' both have \"wave\"")
    check.raises(function() np.checkpoint(layer, { policy = "nothing_saveable", offload = "wave" }) end,
                 "leave out the options 'save', 'offload' and 'most'")
    local f = network({ offload = { "wave", "weve" } }, 1)
    check.raises(function() f(few, x) end,
                 'the function has no value of the name "weve" %(names: "product", "wave"; those in its loops')
    local g = np.grad(np.checkpoint(function(v) return v:sum() end, { offload = "wave" }))
    check.raises(function() g(x) end, "%(names: none; those in its loops and branches do not count%)")
end)

check.done()
