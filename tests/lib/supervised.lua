--- supervised.lua: runs programs under tests/faults/tool/supervise.c, which decides on their system calls.
local process = require "tests.lib.process"

local supervised = {}

local tool = process.neap:gsub("[^/]*$", "") .. "tests/faults/tool/supervise"
local count_path = process.file ""

--- Why nothing can be supervised here; nil: it can.
function supervised.missing()
    local file = io.open(tool)
    if not file then return tool .. " is not built; tools/test builds it" end
    file:close()
    local status, _, err = process.run { tool, "--below", "/", "--", "/bin/true" }
    if status ~= 0 then return err end
end

--- The words of a command (a list of words) under the tool, with these options, by name.
function supervised.words(options, command)
    local words = { tool }
    for name, value in pairs(options) do
        words[#words + 1] = "--" .. name
        words[#words + 1] = tostring(value)
    end
    words[#words + 1] = "--"
    for _, word in ipairs(command) do words[#words + 1] = word end
    return words
end

--- Runs a command, with these variables of the environment. Returns status, stdout, stderr, and how many calls or
-- changes there were.
function supervised.run(options, command, environment, input)
    local words = { "env" }
    for name, value in pairs(environment or {}) do words[#words + 1] = name .. "=" .. value end
    options.count = count_path
    for _, word in ipairs(supervised.words(options, command)) do words[#words + 1] = word end
    local status, out, err = process.run(words, input)
    return status, out, err, tonumber(process.read(count_path))
end

return supervised
