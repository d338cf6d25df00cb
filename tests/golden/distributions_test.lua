--- distributions_test.lua (under tsan with --long): the distributions of np.random equal JAX's for the same key
-- (distributions.txt, made by make_distributions.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local random = np.random
local collector = reader.collector()

local function key_of(text)
    local words = reader.array(text).values
    return random.key(words[1] * 2 ^ 32 + words[2])
end

for _, record in ipairs(reader.records "distributions") do
    local name, o = record[1], reader.options(record[3])
    collector.add(name, function()
        local arguments, at = { key_of(record[2]) }, reader.position(record, "=")
        for k = 5, at - 1 do arguments[#arguments + 1] = tonumber(record[k]) or reader.build(record[k]) end
        local dims, given = o.shape, {}
        for option, value in pairs(o) do given[option] = value end
        given.shape = nil
        if o.odds then given.odds, given.p = nil, np.array { 0.1, 0.2, 0.3, 0.4 } end
        if name == "categorical" then
            arguments[2], given = np.log(np.array { 0.1, 0.2, 0.3, 0.4 }), { shape = dims, replace = false }
        elseif dims then
            arguments[#arguments + 1] = dims
        end
        given.keys = nil
        if next(given) then arguments[#arguments + 1] = given end
        if o.keys then -- one number under each
            local keys, each = random.split(arguments[1], o.keys), {}
            for k = 1, o.keys do each[k] = random[name](keys[k - 1], unpack(arguments, 2)) end
            return reader.difference(np.stack(each), record[at + 1], record[4])
        end
        return reader.difference(random[name](unpack(arguments)), record[at + 1], record[4])
    end, record[2] .. " " .. record[3])
end

collector.finish(check)
