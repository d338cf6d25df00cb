--- files.lua: what every generator needs: reading, writing only on change, failing with one line.
local files = {}

--- Ends the generator with one line on stderr.
function files.fail(format, ...)
    io.stderr:write(string.format(format, ...), "\n")
    os.exit(1)
end

function files.read(path)
    local file, problem = io.open(path, "rb")
    if not file then files.fail("%s", problem) end
    local text = file:read("*a")
    file:close()
    return text
end

--- Writes `text` unless the file holds it already, so that nothing that depends on it is rebuilt in vain.
function files.write(path, text)
    local old = io.open(path, "rb")
    if old then
        local same = old:read("*a") == text
        old:close()
        if same then return end
    end
    local file, problem = io.open(path, "wb")
    if not file then files.fail("%s", problem) end
    file:write(text)
    file:close()
end

--- `path` quoted for the shell.
function files.quote(path)
    return "'" .. path:gsub("'", "'\\''") .. "'"
end

--- The output of a shell command; fails when the command fails.
function files.command(command)
    local pipe = assert(io.popen(command .. " && printf '\\nok'", "r"))
    local text = pipe:read("*a")
    pipe:close()
    local output, ok = text:gsub("\nok$", "")
    if ok == 0 then files.fail("failed: %s", command) end
    return output
end

--- `path` as seen from `root`: what messages and generated comments show.
function files.relative(path, root)
    if path:sub(1, #root + 1) == root .. "/" then return path:sub(#root + 2) end
    return path
end

--- `text` as a C string literal.
function files.c_string(text)
    local escaped = text:gsub('[%c"\\\127-\255]', function(char)
        if char == "\n" then return "\\n" end
        if char == '"' or char == "\\" then return "\\" .. char end
        return string.format("\\%03o", char:byte())
    end)
    return '"' .. escaped .. '"'
end

return files
