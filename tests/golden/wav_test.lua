--- wav_test.lua (under tsan with --long): sounds of SciPy read to its elements, damaged ones refused, and what is saved
-- is read again (wav.txt and wav/, made by make_wav.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "wav/"
local collector = reader.collector()
local MOST_BYTES = 2 ^ 22 -- of what reading a damaged file may take
local temporary = os.tmpname()

local function wav(record)
    collector.add("sounds", function()
        local x, rate = np.io.load_wav(FOLDER .. record[2])
        check.equal(rate, tonumber(record[3]))
        local problem = reader.difference(x, record[4], "exact")
        if problem then return problem end
        np.io.save_wav(temporary, x, rate, record[2]:find "i24" and { bits = 24 } or nil)
        local again, other = np.io.load_wav(temporary)
        check.equal(other, rate)
        problem = reader.difference(again, record[4], "exact")
        if problem then return "saved again: " .. problem end
        np.io.save_wav(temporary, np.flip(np.flip(x, 0), 0), rate) -- a view
        return reader.difference((np.io.load_wav(temporary)), record[4], "exact")
    end, record[2])
end

local function bad(record)
    collector.add("damaged files", function()
        local ok, problem = pcall(np.io.load_wav, FOLDER .. record[2])
        if ok then return "no error" end
        if not problem:find(record[2], 1, true) then return "the error does not name the file: " .. problem end
        if not problem:find "wav_test.lua:%d+: np%.io%.load_wav: cannot read " then return problem end
    end, record[2] .. " (" .. record[3] .. ")")
end

local readers = { wav = wav, bad = bad }
for _, record in ipairs(reader.records "wav") do readers[record[1]](record) end

collector.add("damaged files take no memory", function()
    local peak = np.memory().peak
    return peak > MOST_BYTES and ("peak of %d bytes"):format(peak) or nil
end, "peak")
collector.add("mistakes", function()
    local function refused(pattern, ...)
        local arguments = { ... }
        check.raises(function() np.io.save_wav(unpack(arguments)) end, pattern)
    end
    local x = np.zeros({ 4, 2 }, { dtype = "i16" })
    refused("argument 2", temporary, 3, 8000)
    refused("argument 3", temporary, x)
    refused("argument 3", temporary, x, 0)
    refused("elements are u8, i16", temporary, x:astype "i64", 8000)
    refused("'bits'", temporary, x, 8000, { bits = 24 })
    refused("'bits'", temporary, x:astype "i32", 8000, { bits = 16 })
    refused("a sound has the shape", temporary, np.zeros({ 2, 2, 2 }, { dtype = "i16" }), 8000)
    refused("a sound has the shape", temporary, np.zeros({ 2, 0 }, { dtype = "i16" }), 8000)
    refused("bytes per second", temporary, x, 2 ^ 31)
    check.raises(function() np.io.load_wav "no such.wav" end, "cannot open 'no such.wav'")
    check.raises(function() np.io.load(FOLDER .. "i16.wav") end, "np.io.load_wav reads .wav")
end, "save")

os.remove(temporary)
collector.finish(check)
