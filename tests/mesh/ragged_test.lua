--- ragged_test.lua (release build only): np.ragged_all_to_all against a loop that sends slice by slice, as the help of
-- jax.lax.ragged_all_to_all has it (XLA has none for CPUs), with that help's example. Runs itself again with four
-- devices.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local np = require "neap"

require "tests.lib.devices" (4, "tests/mesh/ragged_test.lua")

local P = np.P

local function integers(list) return np.array(list, { dtype = "i32" }) end

local function exchange(operand, output, from, sent, put, come)
    return np.ragged_all_to_all(operand, output, from, sent, put, come, "i")
end

--- The same over devices; arrays have the members one after the other along axis 0.
local function over_devices(n, f)
    return np.shard_map(f, { mesh = np.mesh({ n }, { "i" }), in_specs = P "i", out_specs = P "i" })
end

check.test("the example of JAX", function()
    local args = { np.array { { 1, 2, 2 }, { 3, 4, 0 } }, np.zeros { 2, 4 }, integers { { 0, 1 }, { 0, 1 } },
                   integers { { 1, 2 }, { 1, 1 } }, integers { { 0, 0 }, { 1, 2 } }, integers { { 1, 1 }, { 2, 1 } } }
    local want = { { 1, 3, 0, 0 }, { 2, 2, 4, 0 } }
    check.equal(np.vmap(exchange, { axis_name = "i" })(unpack(args)):totable(), want)
    for k, x in ipairs(args) do args[k] = x:reshape(-1) end
    check.equal(over_devices(2, exchange)(unpack(args)):reshape(2, 4):totable(), want)
end)

--- Members of an axis of n: each has `slices` slices for each member, of random lengths, one behind the other in
-- operand and result. Lists by member, and the sizes of operand and result.
local function drawn(random, n, slices)
    local count, sent, from, put, come, rows, places = n * slices, {}, {}, {}, {}, 1, 1
    for m = 1, n do
        sent[m], from[m], put[m], come[m] = {}, {}, {}, {}
        local at = 0
        for k = 1, count do
            sent[m][k], from[m][k] = random(4) - 1, at
            at = at + sent[m][k]
        end
        rows = math.max(rows, at)
    end
    for receiver = 1, n do
        local at = 0
        for source = 1, n do
            for s = 1, slices do
                local k = (receiver - 1) * slices + s
                put[source][k], come[receiver][(source - 1) * slices + s] = at, sent[source][k]
                at = at + sent[source][k]
            end
        end
        places = math.max(places, at)
    end
    return { sent = sent, from = from, put = put, come = come, rows = rows, places = places, slices = slices }
end

--- Sends slice by slice: lists of rows by member.
local function sent_by_loop(n, case, operand, output)
    for source = 1, n do
        for k = 1, n * case.slices do
            local receiver = math.floor((k - 1) / case.slices) + 1
            for row = 1, case.sent[source][k] do
                output[receiver][case.put[source][k] + row] = operand[source][case.from[source][k] + row]
            end
        end
    end
    return output
end

check.test("random slices, over devices, examples, jitted, with gradients", function()
    local random = seeds.generator(7)
    for _, n in ipairs { 1, 2, 3, 4 } do
        for slices = 1, 2 do
            local case = drawn(random, n, slices)
            local key = np.random.key(n)
            local operand = np.random.normal(key, { n, case.rows, 2 })
            local output = np.random.normal(np.random.fold_in(key, 1), { n, case.places, 2 })
            local want = np.array(sent_by_loop(n, case, operand:totable(), output:totable()))
            local numbers = { integers(case.from), integers(case.sent), integers(case.put), integers(case.come) }
            local examples = np.vmap(exchange, { axis_name = "i" })
            check.equal(examples(operand, output, unpack(numbers)):totable(), want:totable(), "examples")
            local flat = { operand:reshape(-1, 2), output:reshape(-1, 2) }
            for k, x in ipairs(numbers) do flat[2 + k] = x:reshape(-1) end
            local devices = over_devices(n, exchange)
            for _, f in ipairs { devices, np.jit(devices) } do
                check.equal(f(unpack(flat)):reshape(want.shape):totable(), want:totable(), "devices")
            end
            -- What is written over has no slope, what is sent that of its place.
            local weights = np.random.normal(np.random.fold_in(key, 2), want.shape)
            local by_operand, by_output = np.grad(function(a, b)
                return (devices(a, b, unpack(flat, 3)):reshape(want.shape) * weights):sum()
            end, { argnums = { 1, 2 } })(unpack(flat, 1, 2))
            local total = (examples(operand, output, unpack(numbers)) * weights):sum():item()
            local linear = (by_operand * flat[1]):sum() + (by_output * flat[2]):sum()
            check.equal(np.allclose(linear, total, { rtol = 1e-4, atol = 1e-4 }), true, "gradients")
        end
    end
end)

check.test("rows that do not fit, groups, halves, nothing to send", function()
    local function one(operand, output, sizes)
        return np.ragged_all_to_all(operand, output, integers { 0 }, sizes, integers { 1 }, sizes, "i")
    end
    local run = np.vmap(one, { axis_name = "i", in_axes = { 0, 0, false } })
    check.equal(run(np.array { { 1, 2, 3 } }, np.zeros { 1, 2 }, integers { 3 }):totable(), { { 0, 1 } })
    check.equal(run(np.array({ { 1, 2 } }, { dtype = "bf16" }), np.zeros({ 1, 3 }, { dtype = "bf16" }),
                    integers { 2 }):totable(), { { 0, 1, 2 } })
    check.equal(run(np.zeros { 1, 0 }, np.ones { 1, 2 }, integers { 0 }):totable(), { { 1, 1 } })
    local swapped = np.vmap(function(x)
        local ones = integers { 1, 1 }
        return np.ragged_all_to_all(x, np.zeros(2), integers { 0, 1 }, ones, np.broadcast_to(np.remainder(
            np.axis_index "i", 2), { 2 }), ones, "i", { axis_index_groups = { { 0, 1 }, { 2, 3 } } })
    end, { axis_name = "i" })
    check.equal(swapped(np.arange(8, { dtype = "f32" }):reshape(4, 2)):totable(),
                { { 0, 2 }, { 1, 3 }, { 4, 6 }, { 5, 7 } })
end)

check.test("what is refused", function()
    local ones = integers { 1, 1 }
    local function refused(message, ...)
        local args = { ... }
        check.raises(function()
            np.vmap(function(x) return np.ragged_all_to_all(x, unpack(args)) end, { axis_name = "i" })(np.ones { 2, 3 })
        end, "np.ragged_all_to_all: " .. message)
    end
    refused("operand and output must have rows of one shape and dtype, got f32 of shape %(3,%) and f32 of shape %(3, ",
            np.zeros { 3, 1 }, ones, ones, ones, ones, "i")
    refused("operand and output must have rows", np.zeros({ 3 }, { dtype = "f64" }), ones, ones, ones, ones, "i")
    refused("argument 4 %(send_sizes%) must be integers", np.zeros(3), ones, np.ones(2), ones, ones, "i")
    refused("argument 3 %(input_offsets%) must be integers", np.zeros(3), 1, ones, ones, ones, "i")
    refused("recv_sizes has 3 elements, and input_offsets has 2", np.zeros(3), ones, ones, ones, integers { 1, 1, 1 },
            "i")
    refused("unknown option 'groups'", np.zeros(3), ones, ones, ones, ones, "i", { groups = {} })
    local three = integers { 1, 1, 1 }
    refused("axis 0 %(of size 3%) .* cannot be split into equal parts over axis 'i'", np.zeros(3), three, three, three,
            three, "i")
    refused("unbound axis name 'j'", np.zeros(3), ones, ones, ones, ones, "j")
end)

check.done()
