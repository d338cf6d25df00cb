--- picture.lua: drawing: Graphviz's program `dot` makes an SVG of a graph in its language.
local core = require "neap.core"
local files = require "neap.files"

local raise = core.raise

local picture = {}

local function contents(path)
    local file = io.open(path, "rb")
    local text = file and file:read("*a") or ""
    if file then file:close() end
    return text
end

--- What `dot` makes of a graph; raises. paths: of the graph, of the result, of complaints.
local function drawn(name, graph, paths)
    local ok, problem = files.write(paths[1], { graph })
    if not ok then raise(name, "%s", problem) end
    local status = os.execute(("dot -Tsvg -o '%s' '%s' 2>'%s'"):format(paths[2], paths[1], paths[3]))
    if status == 127 * 256 then
        raise(name, "an SVG is drawn by the program 'dot', which is not here: install the package graphviz; :dot() "
              .. "gives the picture as text")
    elseif status ~= 0 then
        raise(name, "'dot' ended with status %s: %s", tostring(status), contents(paths[3]))
    end
    return contents(paths[2])
end

--- The SVG of a graph, a text in the language of dot. `name` is the public function that errors name.
function picture.svg(name, graph)
    local paths = { os.tmpname(), os.tmpname(), os.tmpname() }
    local ok, result = pcall(drawn, name, graph, paths)
    for _, path in ipairs(paths) do os.remove(path) end
    if not ok then error(result, 0) end
    return result
end

jit.off(drawn)
jit.off(picture.svg)

return picture
