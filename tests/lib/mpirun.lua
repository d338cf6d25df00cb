--- mpirun.lua: runs the executable under test as several processes.
local process = require "tests.lib.process"

local mpirun = {}

local SECONDS = 600 -- after which a run that hangs is ended: then its status is 124

--- Why no processes can be started here; nil if they can.
function mpirun.missing()
    if process.run { "sh", "-c", "command -v mpirun" } ~= 0 then return "mpirun is not installed" end
    local plugin = io.open(process.neap:gsub("[^/]*$", "") .. "neap_mpi.so")
    if not plugin then return "neap was built without MPI" end
    plugin:close()
end

--- Runs neap with these arguments as so many processes, with the variables of `environment` set, for 600 seconds at
-- most unless told, with these options of mpirun. Returns the exit status, what they printed, and what they and mpirun
-- wrote to stderr.
function mpirun.run(count, arguments, environment, seconds, options)
    local words = { "env" }
    for name, value in pairs(environment or {}) do words[#words + 1] = name .. "=" .. value end
    for _, word in ipairs { "timeout", "-k", "5", seconds or SECONDS, "mpirun", "--allow-run-as-root",
                         "--oversubscribe", "-quiet", "-n", count } do
        words[#words + 1] = tostring(word)
    end
    for _, part in ipairs { options or {}, { process.neap }, arguments } do
        for _, word in ipairs(part) do words[#words + 1] = tostring(word) end
    end
    return process.run(words)
end

--- The same, but what they printed is put together process by process. mpirun reads from terminals, which may take a
-- line in pieces, and the line of another process may come between two of them.
function mpirun.run_apart(count, arguments)
    local folder = process.file ""
    os.remove(folder)
    local status, _, err = mpirun.run(count, arguments, nil, nil, { "--output-filename", folder })
    local texts = {}
    for rank = 0, count - 1 do texts[rank + 1] = process.read(("%s/1/rank.%d/stdout"):format(folder, rank)) end
    os.execute(("rm -rf '%s'"):format(folder))
    return status, table.concat(texts), err
end

--- The lines of a text, sorted: of what several processes wrote in no order.
function mpirun.sorted(text)
    local lines = {}
    for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
    table.sort(lines)
    return lines
end

return mpirun
