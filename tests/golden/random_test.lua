--- random_test.lua (under tsan with --long): random numbers equal JAX's for the same key (random.txt, made by
-- make_random.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local random = np.random
local collector = reader.collector()
local calls = {} -- by name: how a record is written in neap, from its key and options

--- The key of two words. np.random.key takes the 64-bit number of them.
local function key_of(text)
    local words = reader.array(text).values
    return random.key(words[1] * 2 ^ 32 + words[2])
end

--- Some options of a record, by name.
local function pick(o, ...)
    local chosen = {}
    for _, name in ipairs { ... } do chosen[name] = o[name] end
    return chosen
end

function calls.key(_, o) return random.key(o.seed) end
function calls.split(key, o)
    if o.num == 2 then return random.split(key) end
    return random.split(key, o.num)
end
function calls.fold_in(key, o) return random.fold_in(key, o.data) end
function calls.nested(key)
    return random.split(random.fold_in(random.split(key, 3)[1], 7))[0]
end
function calls.bits(key, o) return random.bits(key, o.shape) end
function calls.uniform(key, o) return random.uniform(key, o.shape, pick(o, "dtype", "minval", "maxval")) end
function calls.normal(key, o) return random.normal(key, o.shape, pick(o, "dtype")) end
function calls.randint(key, o) return random.randint(key, o.shape, o.minval, o.maxval, pick(o, "dtype")) end
function calls.permutation(key, o) return random.permutation(key, o.n) end
function calls.permutation_rows(key, o) return random.permutation(key, np.arange(2 * o.n):reshape(o.n, 2)) end
function calls.bernoulli(key, o) return random.bernoulli(key, o.p, o.shape) end
function calls.choice(key, o) return random.choice(key, np.arange(o.n), o.shape, pick(o, "replace")) end
function calls.truncated_normal(key, o) return random.truncated_normal(key, o.lower, o.upper, o.shape) end
function calls.exponential(key, o) return random.exponential(key, o.shape) end
function calls.categorical(key, o)
    return random.categorical(key, np.log(np.array { 0.1, 0.2, 0.3, 0.4 }), { shape = o.shape })
end

for _, name in ipairs { "glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform",
                        "lecun_normal" } do
    calls[name] = function(key, o) return np.nn[name](key, o.shape, { dtype = o.dtype }) end
end

local names = { nested = "split", permutation_rows = "permutation" } -- the function that a record needs

for _, record in ipairs(reader.records "random") do
    local name = record[1]
    local o = reader.options(record[3])
    if not (rawget(random, names[name] or name) or rawget(np.nn, name)) then
        collector.skip(name, "neap has no np.random." .. name)
    else
        collector.add(name, function()
            local x = calls[name](key_of(record[2]), o)
            if o.head then
                x = x:reshape(-1)
                x = np.concatenate { x[{ { 0, o.head } }], x[{ { -o.tail } }] }
            end
            return reader.difference(x, record[6], record[4])
        end, record[2] .. " " .. record[3])
    end
end
collector.finish(check)
