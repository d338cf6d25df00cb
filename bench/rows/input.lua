--- input.lua: values of Lua tables into arrays and back, beside lists of Python; bench/beside.lua says what is met.
package.path = "./?.lua;" .. package.path
local np = require "neap"
local beside = require "bench.beside"
local measure = require "bench.measure"
local peers = require "bench.peer"

local function numbers(n)
    local list = {}
    for k = 1, n do list[k] = k * 0.5 end
    return list
end

local function rows(count, n)
    local list = {}
    for k = 1, count do list[k] = numbers(n) end
    return list
end

local function python(count, n)
    local list = "[k * 0.5 for k in range(%d)]"
    return count and ("[" .. list .. " for _ in range(%d)]"):format(n, count) or list:format(n)
end

local ROWS = {
    { "array of a table of 1e6 numbers", numbers(1e6), python(nil, 1e6) },
    { "array of 1000 tables of 1000 numbers", rows(1000, 1000), python(1000, 1000) },
    { "array of 250000 tables of 4 numbers", rows(250000, 4), python(250000, 4) },
}

local function row_of(name, others, call, text)
    local list = { { name = "neap", timer = measure.timer(call) } }
    for _, peer in ipairs(others) do list[#list + 1] = peer:case(text, "") end
    beside.row(name, list, measure.rounds_of(list))
end

local others = peers.start({ "numpy", "torch", "jax jit" }, measure.cores)
for _, row in ipairs(ROWS) do
    local name, values, text = unpack(row)
    row_of(name, others, function() np.array(values):wait() end, {
        numpy = "a = " .. text .. " :: np.array(a, np.float32)", torch = "a = " .. text .. " :: torch.tensor(a)",
        jax = "a = " .. text .. " :: eager jnp.asarray(np.array(a, np.float32))",
    })
    local x = np.array(values):wait()
    row_of((name:gsub("array of a table", "table", 1):gsub("array of", "tables,", 1)), others, function()
        x:totable()
    end, {
        numpy = "a = np.array(" .. text .. ", np.float32) :: a.tolist()",
        torch = "a = torch.tensor(" .. text .. ") :: a.tolist()",
        jax = "a = jnp.asarray(np.array(" .. text .. ", np.float32)) :: eager np.asarray(a).tolist()",
    })
end
os.exit(0)
