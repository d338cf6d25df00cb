--- optim_test.lua (under tsan with --long): np.nn and np.optim equal the formulas of their papers (optim.txt, made by
-- make_optim.py).
--
-- Optimisers run in f64 and f32, plain and as a jitted step whose learning rate is an argument.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local nn, optim = np.nn, np.optim
local collector = reader.collector()
local DRAWS = { 300, 200 } -- the shape from which the spread of an initializer is measured

--- The array of a record's field with another dtype in mind.
local function wanted(field, dtype)
    local want = reader.array(field)
    want.dtype = dtype
    return want
end

-- ---- Optimisers -----------------------------------------------------------------------------------------------------

--- The parameters after each step, stacked; `step(params, gradients, state)` returns new parameters and state.
local function run(start, gradients, state, step)
    local params, after = { layer = { w = start } }, {}
    for k = 0, gradients:dim(0) - 1 do
        params, state = step(params, { layer = { w = gradients[k] } }, state)
        after[#after + 1] = params.layer.w
    end
    return np.stack(after)
end

for _, name in ipairs { "sgd", "adam", "adamw", "rmsprop", "adagrad", "lion", "lamb", "adafactor" } do
    for _, record in ipairs(reader.records "optim") do
        if record[1] == name then
            local given = reader.options(record[2])
            for dtype, tolerance in pairs { f64 = "scaled 1e-14", f32 = "scaled 2e-06" } do
                local start, gradients = reader.build(record[4], dtype), reader.build(record[5], dtype)
                local want = wanted(record[7], dtype)
                collector.add(name, function()
                    local optimizer = optim[name](given)
                    return reader.difference(run(start, gradients, optimizer:init { layer = { w = start } },
                                                 function(params, grads, state)
                        return optimizer:update(grads, state, params)
                    end), want, tolerance)
                end, dtype .. " " .. record[2])
                collector.add(name, function()
                    local optimizer = optim[name](given)
                    local step = np.jit(function(params, grads, state, lr)
                        return optimizer:update(grads, state, params, lr)
                    end)
                    return reader.difference(run(start, gradients, optimizer:init { layer = { w = start } },
                                                 function(params, grads, state)
                        return step(params, grads, state, given.lr)
                    end), want, tolerance)
                end, "jitted " .. dtype .. " " .. record[2])
            end
        end
    end
end

-- ---- Functions ------------------------------------------------------------------------------------------------------

local functions = {}

for name in ("relu sigmoid silu softplus tanh cross_entropy dense elu celu selu mish soft_sign log_sigmoid relu6 "
             .. "hard_tanh hard_sigmoid hard_swish glu standardize rms_norm l1_loss huber_loss binary_cross_entropy "
             .. "kl_div nll_loss cosine_similarity"):gmatch "%S+" do
    functions[name] = function(_, ...) return nn[name](...) end
end
function functions.group_norm2(_, x) return nn.group_norm(x, 2) end
function functions.gelu(o, x) return nn.gelu(x, o) end
function functions.one_hot(o, labels) return nn.one_hot(labels, o.n) end

--- Inputs of a record in f32, but for integers.
local function inputs_of(record)
    local list = {}
    for k = 4, reader.position(record, "=") - 1 do
        list[#list + 1] = reader.build(record[k], record[k]:match "^f64" and "f32" or nil)
    end
    return list
end

for _, record in ipairs(reader.records "optim") do
    local name = record[1]
    if functions[name] then
        collector.add(name, function()
            local x = functions[name](reader.options(record[2]), unpack(inputs_of(record)))
            return reader.difference(x, wanted(record[#record], "f32"), record[3])
        end, record[2])
    end
end

-- ---- Initializers ---------------------------------------------------------------------------------------------------

for _, record in ipairs(reader.records "optim") do
    local name, dims = record[1], reader.options(record[2]).shape
    if name:find "_uniform$" then
        collector.add(name, function()
            local bound = reader.array(record[5]).values[1]
            local most = np.abs(nn[name](np.random.key(1), dims)):max():item()
            if most > bound * (1 + 1e-6) then return ("%g is beyond the bound %g"):format(most, bound) end
            if dims[1] == DRAWS[1] and most < bound * 0.999 then return ("only up to %g of %g"):format(most, bound) end
        end, record[2])
    elseif name:find "_normal$" and dims[1] == DRAWS[1] then
        collector.add(name, function()
            local deviation = reader.array(record[5]).values[1]
            local x = nn[name](np.random.key(1), dims)
            local found, mean = x:std():item(), x:mean():item()
            if math.abs(found / deviation - 1) > 0.02 then return ("deviation %g, not %g"):format(found, deviation) end
            if math.abs(mean) > 0.02 * deviation then return ("mean %g"):format(mean) end
        end, record[2])
    end
end
collector.finish(check)
