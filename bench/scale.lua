--- scale.lua: what a training step takes on 8, 64 and 512 devices of one process, in counts and bytes; what the cost
-- model of sums says for up to 1,000 processes. docs/scale.md explains the columns and the formulas.
--
--     build/neap bench/scale.lua [times] [DEVICES…]          the first table; times: with seconds, for a quiet machine
--     build/neap bench/scale.lua model [LATENCY OVERHEAD BANDWIDTH]
--                                                            the second one; in µs, µs and GB/s (5, 1 and 12.5)
package.path = "./?.lua;" .. package.path
local np = require "neap"
local clock = require "bench.measure"

local WIDTH, CLASSES, EXAMPLES = 64, 10, 4 -- of the network that is trained; examples on each device

local function columns(rows, widths)
    for _, row in ipairs(rows) do
        local cells = {}
        for k, cell in ipairs(row) do
            if cell then cells[k] = ("%" .. widths[k] .. "s"):format(cell) end
        end
        print((table.concat(cells, "  ")))
    end
end

-- ---- The messages of a sum ------------------------------------------------------------------------------------------

local HEADER, FIRST, SEGMENT, TWICE = 224, 4000, 512 * 2 ^ 10, 256 * 2 ^ 10 -- bytes; engine/comm

--- What each of p processes sends for a sum of so many bytes: messages, bytes of data, and how often it has to wait for
-- others.
local function direct(p, bytes)
    if bytes <= FIRST - HEADER then return p - 1, (p - 1) * bytes, 1 end
    if p == 2 and bytes <= TWICE then return 2, bytes, 2 end
    local rounds = math.ceil(bytes / p / SEGMENT)
    return (p - 1) * (1 + 2 * rounds), 2 * (p - 1) / p * bytes, 3
end

-- ---- A training step ------------------------------------------------------------------------------------------------

--- Parameters, and a jitted step of gradient descent whose examples are divided over all devices.
local function make_step(mesh)
    local P = np.P
    local key = np.random.split(np.random.key(0), 2)
    local params = { w1 = np.random.normal(key[0], { WIDTH, WIDTH }) * 0.1, b1 = np.zeros { WIDTH },
                     w2 = np.random.normal(key[1], { WIDTH, CLASSES }) * 0.1, b2 = np.zeros { CLASSES } }
    local loss_of = np.shard_map(function(p, x, y)
        local logits = np.tanh(x:matmul(p.w1) + p.b1):matmul(p.w2) + p.b2
        return np.pmean(np.nn.cross_entropy(logits, y), "data")
    end, { mesh = mesh, in_specs = { P(), P "data", P "data" }, out_specs = P() })
    return np.device_put(params, mesh, P()), np.jit(function(p, x, y)
        local loss, gradients = np.value_and_grad(loss_of)(p, x, y)
        return np.tree.map(function(w, g) return w - g * 0.1 end, p, gradients), loss
    end)
end

--- What f does: a table of what the counters count, with the seconds and the peak of memory.
local function counted(f)
    np.wait_all()
    np.memory.reset_peak()
    local before, start = np.debug.counters(), clock.now()
    f()
    np.wait_all()
    local after, out = np.debug.counters(), { seconds = (clock.now() - start) * 1e-9, peak = np.memory().peak }
    for name, count in pairs(after) do out[name] = count - before[name] end
    return out
end

--- Prints what the first step and a later one take, as a line of numbers.
local function measure()
    local devices = #np.devices()
    local mesh = np.mesh({ devices }, { "data" })
    local params, step = make_step(mesh)
    local x = np.device_put(np.random.normal(np.random.key(1), { devices * EXAMPLES, WIDTH }), mesh, np.P "data")
    local y = np.device_put(np.remainder(np.arange(devices * EXAMPLES), CLASSES), mesh, np.P "data")
    np.wait_all()
    local loss
    local function go() params, loss = step(params, x, y) end
    local first = counted(go)
    counted(go)
    local later = counted(go)
    assert(np.isfinite(loss):item(), "the loss is no number")
    print(first.nodes, first.plans, first.seconds, later.nodes, later.launches, later.pushed, later.written, later.peak,
          later.seconds)
end

--- What each of p processes with a device each sends for the sums of a step: the gradients and the loss.
local function sent_by(p)
    local messages, sent = 0, 0
    for _, elements in ipairs { WIDTH * WIDTH, WIDTH, WIDTH * CLASSES, CLASSES, 1 } do
        local more, bytes = direct(p, 4 * elements)
        messages, sent = messages + more, sent + bytes
    end
    return messages, math.floor(sent + 0.5)
end

local function read_numbers(text)
    local numbers = {}
    for word in text:gmatch "%S+" do numbers[#numbers + 1] = tonumber(word) end
    return numbers
end

local function first_table(executable, with_times, counts)
    local rows = { { "devices", "recorded", "again", "planned", "launches", "pushed", "written", "peak", "per device",
                     "messages", "sent", with_times and "first s", with_times and "step s" } }
    for _, count in ipairs(counts) do
        local pipe = assert(io.popen(("'%s' --devices %d bench/scale.lua measure"):format(executable, count)))
        local n = read_numbers(pipe:read "*a")
        pipe:close()
        assert(#n == 9, ("the measurement on %d devices has failed"):format(count))
        local messages, sent = sent_by(count)
        rows[#rows + 1] = { count, n[1], n[4], n[2], n[5], n[6], n[7], n[8], math.ceil(n[8] / count), messages, sent,
                            with_times and ("%.3f"):format(n[3]), with_times and ("%.4f"):format(n[9]) }
    end
    columns(rows, { 7, 8, 5, 7, 8, 6, 8, 8, 10, 8, 7, 7, 7 })
end

-- ---- The cost model -------------------------------------------------------------------------------------------------

--- Seconds of a sum over p processes: as neap does it, around a ring, and by halving and doubling.
local function seconds_of(p, bytes, net)
    local messages, sent, waits = direct(p, bytes)
    local data = 2 * (p - 1) / p * bytes / net.bandwidth
    local hop = net.latency + 2 * net.overhead
    return waits * net.latency + 2 * net.overhead * messages + sent / net.bandwidth, 2 * (p - 1) * hop + data,
           2 * math.ceil(math.log(p) / math.log(2)) * hop + data
end

local function amount(bytes)
    for _, unit in ipairs { { 2 ^ 20, "MiB" }, { 2 ^ 10, "KiB" } } do
        if bytes >= unit[1] then return ("%.4g %s"):format(bytes / unit[1], unit[2]) end
    end
    return ("%.4g B"):format(bytes)
end

local function model_table(net)
    local rows = { { "processes", "sum of", "messages", "bytes sent", "direct ms", "ring ms", "halving ms" } }
    for _, bytes in ipairs { 4, 2 ^ 20, 100 * 2 ^ 20 } do
        for _, p in ipairs { 8, 64, 512, 1000 } do
            local messages, sent = direct(p, bytes)
            local row = { p, amount(bytes), messages, amount(sent) }
            for _, seconds in ipairs { seconds_of(p, bytes, net) } do
                row[#row + 1] = ("%.3f"):format(seconds * 1e3)
            end
            rows[#rows + 1] = row
        end
    end
    columns(rows, { 9, 7, 8, 10, 9, 9, 10 })
end

-- ---- The command ----------------------------------------------------------------------------------------------------

if arg[1] == "measure" then
    measure()
elseif arg[1] == "model" then
    local function number(k, default)
        local value = default
        if arg[k] then value = tonumber(arg[k]) end
        if not value or value <= 0 then
            error(("bench/scale.lua: model wants numbers above 0, not '%s'"):format(arg[k]), 0)
        end
        return value
    end
    model_table { latency = number(2, 5) * 1e-6, overhead = number(3, 1) * 1e-6, bandwidth = number(4, 12.5) * 1e9 }
else
    local counts, with_times = {}, arg[1] == "times"
    for k = with_times and 2 or 1, #arg do
        local count = tonumber(arg[k])
        if not count or count < 1 or count > 1024 or count % 1 ~= 0 then
            error(("bench/scale.lua: a number of devices is an integer from 1 to 1024, not '%s'"):format(arg[k]), 0)
        end
        counts[#counts + 1] = count
    end
    first_table(os.getenv "NEAP" or "build/neap", with_times, #counts > 0 and counts or { 8, 64, 512 })
end
