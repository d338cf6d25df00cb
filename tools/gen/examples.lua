--- examples.lua: what tools/examples runs: renews the outputs of examples in the sources.
package.path = "./?.lua;" .. package.path
local examples = require "tests.lib.examples"
local entries = require("neap.help_gen").entries

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

local results, status, problem = examples.run(entries)
if status ~= 0 then io.stderr:write(problem) end

--- The lines of a Lua file with new outputs below the `--- >` lines of the annotation at `line`.
local function renew_comment(lines, line, outputs)
    local indent = lines[line]:match "^%s*"
    local at, step = line, 0
    while lines[at] and lines[at]:find "^%s*%-%-" do
        if lines[at]:find "^%s*%-%-%- > " then
            step = step + 1
            while lines[at + 1] and lines[at + 1]:find "^%s*%-%-%- >> " do at = at + 1 end
            while lines[at + 1] and lines[at + 1]:find "^%s*%-%- ?" and not lines[at + 1]:find "^%s*%-%-%-" do
                table.remove(lines, at + 1)
            end
            for k, output in ipairs(outputs[step] or {}) do
                local line_of = (indent .. "-- " .. output):gsub("%s+$", "")
                table.insert(lines, at + k, line_of)
            end
        end
        at = at + 1
    end
end

local files = {}
for k = #entries, 1, -1 do -- from the end, so that lines in front stay where they are
    local entry = entries[k]
    local path = entry.file:find "^neap/" and "stdlib/" .. entry.file or entry.file
    files[path] = files[path] or {}
    table.insert(files[path], { entry = entry, outputs = results[k] or {} })
end
for path, list in pairs(files) do
    local text = read(path)
    local lines = {}
    for line in text:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    table.sort(list, function(a, b) return a.entry.line > b.entry.line end)
    for _, item in ipairs(list) do
        if path:find "%.lua$" then
            renew_comment(lines, item.entry.line, item.outputs)
        elseif item.outputs[1] then
            for at = item.entry.line, #lines do
                local head, code = lines[at]:match '^(%s*%.example = ")(.-)\\n'
                if head then
                    lines[at] = head .. code .. "\\n" .. table.concat(item.outputs[1], "\\n") .. '",'
                    break
                elseif lines[at]:find "^$" then
                    break
                end
            end
        end
    end
    local new = table.concat(lines, "\n") .. "\n"
    if new ~= text then
        local file = assert(io.open(path, "wb"))
        file:write(new)
        file:close()
        print("renewed " .. path)
    end
end
