--- random_stream.lua: np.random.stream: random numbers without keys, at the prompt and in scripts that run once.
--
-- A stream has a key, and splits it before each draw: what is drawn is np.random's for the second of the two new keys,
-- the first one stays. So the same draws in the same order give the same numbers. Inside of transforms it raises: a
-- function that is traced once would draw the same numbers in each call; keys that are its arguments do not.

local core = require "neap.core"
local random = require "neap.arrays.distributions"

local raise = core.raise

-- What np.random has and a stream has not.
local OTHERS = { key = true, split = true, fold_in = true, stream = true, default_rng = true }

local keys = setmetatable({}, { __mode = "k" }) -- stream → its key

--- The key for the next draw.
local function next_key(rng, name)
    if not keys[rng] then raise("random.stream", "call it as rng:%s(…), with a colon", name) end
    if #core.frame().levels > 0 then
        raise("random.stream", "rng:%s inside of np.jit, np.grad or another transform would draw the same numbers in "
              .. "each call; pass a key as an argument, from rng:key()", name)
    end
    local pair = random.split(keys[rng])
    keys[rng] = core.index(pair, 0)
    return core.index(pair, 1)
end

local methods = {} -- name → function, made when first called

--- A key of its own, for a function that takes one.
function methods.key(rng) return next_key(rng, "key") end

local Stream = { __name = "np.random.stream" }

function Stream.__index(_, name)
    local method = methods[name]
    if method then return method end
    local draw = type(name) == "string" and not OTHERS[name] and rawget(random, name)
    if not draw then raise("random.stream", "there is no rng:%s; it has what np.random has", tostring(name)) end
    methods[name] = function(rng, ...) return draw(next_key(rng, name), ...) end
    return methods[name]
end

function Stream.__tostring() return "np.random.stream" end

--- np.random.stream(seed) -> stream: draws without keys: rng:normal{3} is np.random.normal with a new key each time,
-- and so for every function of np.random that takes a key; rng:key() is a key for what needs one. The same draws in the
-- same order give the same numbers. Inside np.jit, np.grad and other transforms it raises: keys go in there.
--- > rng = np.random.stream(0)
--- > rng:normal{2}
-- [-2.4424562 -2.0356805]
--- > rng:randint({3}, 1, 7)
-- [3 4 1]
function random.stream(seed)
    local rng = setmetatable({}, Stream)
    keys[rng] = random.key(seed == nil and 0 or seed)
    return rng
end

--- np.random.default_rng(seed) -> stream: np.random.stream under NumPy's name. Its functions take the arguments of
-- np.random, without the key.
--- > rng = np.random.default_rng(7)
--- > rng:uniform({2}, {minval=-1})
-- [0.35026717 0.6523528 ]
function random.default_rng(seed) return random.stream(seed) end

return random
