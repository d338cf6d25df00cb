--- listing.lua: the printed form of a program (docs/programs.md), read: listing.read(text) → program.
--
--     c: f32[2,4] = add a 1  -- net.lua:7           { text = "c: f32[2,4] = add a 1", site = "net.lua:7", op = "add",
--                                                     results = { { name = "c", dtype = "f32", shape = { 2, 4 } } },
--                                                     attrs = {}, operands = { "a", "1" } }
--
-- A program is { inputs = values, nodes = nodes, outputs = operands }; nodes of control flow have a list `programs`.
-- A result that nobody reads is false.
local proto = require "neap.onnx.proto"

local wrong = proto.wrong
local listing = {}

local function shape_of(dims)
    local shape = {}
    for n in dims:gmatch "[^,]+" do
        shape[#shape + 1] = tonumber(n) or wrong("the program is for every size '%s': trace one for fixed sizes", n)
    end
    return shape
end

--- "a: f32[2,3]" or "n: number", whose dtype is that of what it gets.
local function value_of(source, line)
    local name, dtype, dims, lies = source:match "^(.-): (%w+)%[([^%]]*)%](.*)$"
    if name and lies == "" then return { name = name, dtype = dtype, shape = shape_of(dims) } end
    if name then wrong("'%s' is divided over a mesh", line) end
    name = source:match "^(.-): number$" or wrong("'%s' is nothing that the format has", line)
    return { name = name, shape = {} }
end

--- "a: f32[], _, b: f32[2], _*2"
local function results_of(source, line)
    local list = {}
    for word in (source .. ", "):gmatch "(.-), " do
        local skipped = word:match "^_%*(%d+)$" or word == "_" and 1
        for _ = 1, tonumber(skipped) or 0 do list[#list + 1] = false end
        if not skipped then list[#list + 1] = value_of(word, line) end
    end
    return list
end

--- A node from its line, without what stands behind it.
local function node_of(source)
    local left, op, rest = source:match "^(.-) = ([%w_]+)(.*)$"
    if not left or left:find "#%d" then wrong("it has an effect, '%s'", source) end
    local node = { text = source, op = op, results = results_of(left, source), attrs = {}, operands = {} }
    local attrs, operands = rest:match "^%[([^%]]*)%](.*)$"
    for word in (attrs or ""):gmatch "%S+" do
        local key, value = word:match "^([^=]+)=?(.*)$"
        node.attrs[key] = value
    end
    for word in (operands or rest):gmatch "%S+" do table.insert(node.operands, word) end
    return node
end

--- A line without its indentation and its comment, and the comment.
local function parts_of(source)
    local code, site = source:match "^%s*(.-)  %-%- (.*)$"
    return code or source:match "^%s*(.*)$", site
end

local read_program

--- The programs of a node, to the brace that closes them. Returns them and the comment behind it.
local function read_programs(lines, named)
    local programs = {}
    while true do
        local source, site = parts_of(lines())
        if source == "}" then return programs, site end
        local name, head = source:match "^(@?%d*)(.*)$"
        local program = head ~= "" and read_program(lines, head, named) or named[name]
        if name ~= "" then named[name] = program end
        programs[#programs + 1] = program
    end
end

--- The program whose first line is `head`: "(a: f32[2]) {".
function read_program(lines, head, named)
    local program = { inputs = {}, nodes = {}, outputs = {} }
    local ports = head:match "^%((.-)%) %->" or head:match "^%((.*)%) {$"
    if ports ~= "" then program.inputs = results_of(ports, head) end
    while true do
        local source, site = parts_of(lines())
        local outputs = source:match "^return ?(.*)$"
        if outputs then
            for word in outputs:gmatch "[^, ]+" do table.insert(program.outputs, word) end
            lines()
            return program
        end
        local opening = source:match "^(.*) {$"
        local node = node_of(opening or source)
        if opening then node.programs, site = read_programs(lines, named) end
        node.site = site
        table.insert(program.nodes, node)
    end
end

--- The numbers of an attribute "0,1,2"; of none none.
function listing.numbers(words)
    local list = {}
    for n in (words or ""):gmatch "[^,]+" do list[#list + 1] = tonumber(n) end
    return list
end

function listing.read(text)
    local lines = text:gmatch "[^\n]+"
    return read_program(lines, lines():match "^program(.*)$", {})
end

return listing
