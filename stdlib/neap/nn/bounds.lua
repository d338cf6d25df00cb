--- bounds.lua: integers that np.nn takes, labels and lengths, held against what they may be.
--
-- One that is out of range is an error where the integers can be read: ordinary arrays, and no program is recorded.
-- Elsewhere the caller learns which ones are, as an array.
local core = require "neap.core"

local np, C, ctx = core.np, core.C, core.ctx

local bounds = {}

local FEW = 1024 -- so many integers are looked at one by one sooner than an op is recorded and waited for

--- Whether the values of an array can be read now, without part in what is recorded.
local function is_readable(x)
    if core.sized() then return false end -- it may depend on declared sizes
    local info = core.info(x)
    if info.traced ~= 0 or info.latent ~= 0 or info.sharding ~= 0 then return false end
    local depth = C.neap_deferred_switch(ctx, 0)
    C.neap_deferred_switch(ctx, depth)
    return depth == 0
end

--- The first of few integers that is not from `least` to `most`, nor `ignored`.
local function stray_of(x, least, most, ignored)
    local count = x.size
    return core.read(x, function(data, _, dtype)
        local value_of = core.reader(data, dtype)
        for k = 0, count - 1 do
            local value = value_of(k)
            if (value < least or value > most) and value ~= ignored then return value end
        end
    end)
end

--- Which elements of an array of integers are neither from `least` to `most` nor `ignored`, bools of its shape; nil:
-- none is. `counts`: bools that broadcast to it; the others may be anything. tell(text) raises about one of them where
-- they can be read.
function bounds.strays(x, least, most, tell, ignored, counts)
    local readable = is_readable(x) and (counts == nil or is_readable(counts))
    local function raise(value) tell((tostring(value):gsub("U?LL$", ""))) end
    if readable and counts == nil and x.size <= FEW then
        local stray = stray_of(x, least, most, ignored)
        if stray then raise(stray) end
        return nil
    end
    local out = np.logical_or(np.less(x, least), np.greater(x, most))
    if ignored then out = np.logical_and(out, np.not_equal(x, ignored)) end
    if counts ~= nil then out = np.logical_and(out, counts) end
    if not readable then return out end
    if np.any(out):item() then raise(np.ravel(x)[np.argmax(np.ravel(out)):item()]:item()) end
    return nil
end

return bounds
