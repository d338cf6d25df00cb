--- sized_files.lua: comparing programs with declared sizes with what is loaded from their files.
--
--     local back = sized_files.loaded(program)              -- saved, loaded, and saved again: the same bytes
--     local back = sized_files.through_file(program)        -- saved and loaded
--     sized_files.same(program, back, { { x }, { y } })     -- each call gives the same bits, or the same error
local check = require "tests.lib.check"
local np = require "neap"
local process = require "tests.lib.process"

local sized_files = {}

--- A value with all digits as text; of arrays their dtype as well, and how they lie.
function sized_files.text_of(value)
    local text_of = sized_files.text_of
    if np.is_array(value) then
        local lies = value.sharding and tostring(value.sharding) or ""
        return value.dtype .. lies .. text_of(value.ndim == 0 and value:item() or value:totable())
    end
    if type(value) == "number" then return ("%.17g"):format(value) end
    if type(value) ~= "table" then return tostring(value) end
    local parts, keys = {}, {}
    for key in pairs(value) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for k, key in ipairs(keys) do parts[k] = tostring(key) .. "=" .. text_of(value[key]) end
    return "{" .. table.concat(parts, " ") .. "}"
end

--- What a call gives, or its error without the line of the caller and that of the recording, which no file has.
function sized_files.outcome(program, ...)
    local results = { pcall(program, ...) }
    if not results[1] then
        return "failed: " .. tostring(results[2]):gsub("^%S+:%d+: ", ""):gsub(", recorded at .*", "")
    end
    return sized_files.text_of({ unpack(results, 2) })
end

--- What is loaded of the program's file, with options of np.load_program, and the bytes of that.
function sized_files.through_file(program, options)
    local path = os.tmpname()
    program:save(path)
    local back, bytes = np.load_program(path, options), process.read(path)
    os.remove(path)
    return back, bytes
end

--- The same; saved again, it is the same file.
function sized_files.loaded(program, options)
    local back, bytes = sized_files.through_file(program, options)
    local _, again = sized_files.through_file(back, options)
    check.ok(bytes == again, "saved again, it has other bytes")
    return back
end

--- Each list of arguments gives the same.
function sized_files.same(program, back, calls)
    for _, arguments in ipairs(calls) do
        check.equal(sized_files.outcome(back, unpack(arguments)), sized_files.outcome(program, unpack(arguments)))
    end
end

return sized_files
