--- input.lua: values into arrays and back, beside Python: Lua tables, text files (pandas), safetensors, PNG
-- (Pillow); bench/beside.lua says what is met.
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

-- ---- Files ----------------------------------------------------------------------------------------------------------

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder) == 0)
local key, csv, tensors, png = np.random.key(0), folder .. "/a.csv", folder .. "/a.safetensors", folder .. "/a.png"
np.io.write_csv(csv, np.random.normal(key, { 1e6, 5 }):astype "f64")
np.io.save_safetensors(tensors, { a = np.random.normal(key, { 4096, 4096 }), b = np.random.normal(key, { 1e6 }) })
np.io.save_image(png, np.random.randint(key, { 1024, 1024, 3 }, 0, 256):astype "u8")

local FILES = { -- name, call, Python's
    { "read_csv of 1e6 rows of 5", function() np.io.read_csv(csv):column("c4"):wait() end,
      ("import pandas as m :: m.read_csv(%q)"):format(csv) },
    { "load_safetensors of 68 MB", function() np.io.load_safetensors(tensors).a:wait() end,
      ("import safetensors.numpy as m :: m.load_file(%q)"):format(tensors) },
    { "load_image of a PNG, 1024x1024x3", function() np.io.load_image(png):wait() end,
      ("import PIL.Image as m :: np.asarray(m.open(%q))"):format(png) },
}
local numpy = { others[1] }
for _, row in ipairs(FILES) do row_of(row[1], numpy, row[2], { numpy = row[3] }) end
os.execute("rm -r " .. folder)
os.exit(0)
