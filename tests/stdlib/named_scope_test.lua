--- named_scope_test.lua (under tsan with --long): np.named_scope: what carries the names, where they are shown, and
-- that nothing else changes.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local w = np.random.normal(np.random.key(0), { 4, 4 })
local x = np.arange(12, { dtype = "f32" }):reshape(3, 4) / 10

local function plain(a) return np.tanh(a:matmul(w)) * 2 + 1 end

local layer = np.named_scope("layer", function(a)
    local h = np.tanh(a:matmul(w))
    return h
end)
local model = np.named_scope("model", function(a)
    local y = np.named_scope("head", function(h)
        local z = h * 2 + 1
        return z
    end)(layer(a))
    return y
end)

--- By op, the scope behind it in the text of a program: the first one of each op; "" for none.
local function scopes(program)
    local found = {}
    for line in tostring(program):gmatch("[^\n]+") do
        local op, scope = line:match(" = (%l[%w_]*)"), line:match("  %-%- (.*)$")
        if op and found[op] == nil then found[op] = scope or "" end
    end
    return found
end

check.test("a program's text shows scopes, one in another", function()
    local of = scopes(np.trace(model)(x))
    check.equal({ of.matmul2, of.tanh, of.multiply, of.add },
                { "model/layer", "model/layer", "model/head", "model/head" })
    check.equal(scopes(np.trace(plain)(x)).tanh, "")
end)

check.test("arguments and results pass, and values, plans and later ops are the same", function()
    local function pass(a, b, ...) return b, a, select("#", ...) end
    check.equal({ np.named_scope("s", pass)(1, 2, nil, nil) }, { 2, 1, 2 })
    check.equal(model(x):totable(), plain(x):totable())
    local before = np.debug.counters().plans
    check.equal(model(x + 1):totable(), plain(x + 1):totable())
    check.ok(np.debug.counters().plans - before <= 2, "a scope makes plans of its own")
    local of = scopes(np.trace(function(a) return np.exp(model(a)) end)(x))
    check.equal({ of.exp, of.tanh }, { "", "model/layer" })
end)

check.test("gradients, forward mode and batches keep the scope of the op that they are made for", function()
    local of = scopes(np.trace(np.grad(function(a) return model(a):sum() end))(x))
    check.equal({ of.matmul2, of.subtract, of.tanh }, { "model/layer", "model/layer", "model/layer" })
    local forward = scopes(np.trace(function(a)
        local _, tangent = np.jvp(model, { a }, { a })
        return tangent
    end)(x))
    check.equal({ forward.subtract, forward.tanh }, { "model/layer", "model/layer" })
    local batched = scopes(np.trace(np.vmap(model))(x))
    check.equal({ batched.matmul2, batched.multiply }, { "model/layer", "model/head" })
    check.equal(np.vmap(model)(x):totable(), np.vmap(plain)(x):totable())
end)

check.test("bodies of loops", function()
    local text = scopes(np.trace(function(a)
        return np.fori_loop(0, 3, np.named_scope("turn", function(_, c)
            local y = layer(c)
            return y
        end), a)
    end)(x))
    check.equal(text.tanh, "turn/layer")
end)

check.test("a jitted function has its own scopes inside of those around the call", function()
    local jitted = np.jit(model)
    np.named_scope("first", jitted)(x) -- recorded here, and no part of that scope
    local of = scopes(np.trace(np.named_scope("second", function(a) return np.exp(jitted(a)) end))(x))
    check.equal({ of.tanh, of.exp }, { "second/model/layer", "second" })
    check.ok(tostring(np.explain(jitted)):find("(model/layer)", 1, true), "np.explain of a jitted function")
    check.ok(not tostring(np.explain(jitted)):find("first", 1, true), "the scope of a call is not kept")
    local program = np.trace(model)(x)
    check.equal(scopes(np.trace(np.named_scope("third", function(a) return np.exp(program(a)) end))(x)).tanh,
                "third/model/layer")
end)

check.test("np.explain shows it behind the line", function()
    local text = tostring(np.explain(model(x)))
    check.ok(text:find("named_scope_test.lua:%d+ %(model/head%)"), text)
end)

check.test("a scope ends with its function, also by an error", function()
    check.raises(function() np.named_scope("broken", function() error("on purpose") end)() end, "on purpose")
    check.raises(np.named_scope("broken", function() return x + np.ones { 7 } end), "do not broadcast")
    check.equal(scopes(np.trace(function(a) return np.exp(a) end)(x)).exp, "")
end)

check.test("timelines", function()
    local target, script = process.file(""), process.file [[
local x = np.ones { 40, 40 }
local block = np.named_scope("encoder/block", function(a)
    local b = np.exp(a) * 3
    return b
end)
for _ = 1, 40 do x = block(x):wait() / 100 end
print(x:sum():item() > 0)
]]
    check.equal(process.run_neap { "--trace", target, script }, 0)
    local text = process.read(target)
    check.ok(text:find(":%d+ %(encoder[\\]?/block%)"), "the timeline names the scope")
end)

check.test("what is no name or no function", function()
    check.raises(function() np.named_scope(3, model) end, "np.named_scope: argument 1 %(name%)")
    check.raises(function() np.named_scope("", model) end, "np.named_scope: argument 1 %(name%)")
    check.raises(function() np.named_scope("a\nb", model) end, "np.named_scope: argument 1 %(name%)")
    check.raises(function() np.named_scope("a", 3) end, "np.named_scope: argument 2 %(f%)")
    np.named_scope(("x"):rep(2000), function() return x + 1 end)():wait()
end)

process.cleanup()
check.done()
