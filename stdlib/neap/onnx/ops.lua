--- ops.lua: the table of operators: for each operator of the standard a function of np.
--
-- A row, in one of the tables below:
--
--     Softmax = { attrs = "axis", run = function(n, x) return np.softmax(x, { axis = n.attr.axis or -1 }) end },
--
--     run      a function of the node (node.lua) and its inputs, arrays or nil, which returns the outputs
--     attrs    the names of known attributes; a node with other attributes is refused
--     least    how many inputs there must be (1); at most as many as `run` has parameters
--     host     the numbers of inputs that decide about shapes and come as host tensors (hosts.lua)
--     reads    true: reads values: a graph with such a node is run op by op
--     any      true: inputs come as arrays or host tensors
--     check    a function of the node, called when the model is read
--     elements, last, images, begins    what it does with images that have their channels last (layouts.lua)
--
-- Operators that shape arithmetic uses have a function of host tensors in hosts.ops as well.
local attributes = require "neap.onnx.attributes"

local ops = {}

-- Operators of the standard that have no row, by reason.
local REFUSED = {
    ["np has no texts"] = "StringNormalizer StringConcat StringSplit RegexFullMatch TfIdfVectorizer LabelEncoder",
    ["np has no sequences and optional values"] = "SequenceAt SequenceConstruct SequenceEmpty SequenceErase "
        .. "SequenceInsert SequenceLength SequenceMap SplitToSequence ConcatFromSequence Optional OptionalGetElement "
        .. "OptionalHasElement",
    ["np.io.load_image reads images"] = "ImageDecoder",
}

local rows, reasons = {}, {}

for reason, names in pairs(REFUSED) do
    for name in names:gmatch "%S+" do reasons[name] = reason end
end

local on_host = require "neap.onnx.host_shapes"

for _, part in ipairs { "arithmetic", "activations", "shapes", "indexing", "reductions", "conv", "resize", "norms",
                        "losses", "attention", "recurrent", "quantized", "signal", "detection",
                        "random", "control" } do
    for name, row in pairs(require("neap.onnx." .. part)) do
        assert(not rows[name], name)
        row.known, row.at_host, row.least = {}, {}, row.least or 1
        for attribute in (row.attrs or ""):gmatch "%S+" do
            row.known[attribute] = assert(attributes.kind(attribute), attribute)
        end
        for _, k in ipairs(row.host or {}) do row.at_host[k] = true end
        local facts = debug.getinfo(row.run, "u")
        row.most = facts.isvararg and math.huge or facts.nparams - 1
        row.graphs = part == "control"
        row.on_host = row.on_host or on_host[name]
        rows[name] = row
    end
end

-- Operators of other domains, and the rows that they mean.
local CONTRIB = { ["com.microsoft"] = { Gelu = "Gelu", DynamicQuantizeLSTM = "DynamicQuantizeLSTM" } }

--- The row of an operator; nil if there is none.
function ops.find(domain, op)
    if domain == "" or domain == "ai.onnx" then return rows[op] end
    local name = CONTRIB[domain] and CONTRIB[domain][op]
    return name and rows[name]
end

--- Why there is no row, for messages.
function ops.hint(domain, op)
    if domain ~= "" and domain ~= "ai.onnx" then return (" of the domain '%s'"):format(domain) end
    return reasons[op] and ": " .. reasons[op] or ""
end

--- The names of all operators, sorted.
function ops.names()
    local names = {}
    for name in pairs(rows) do names[#names + 1] = name end
    table.sort(names)
    return names
end

return ops
