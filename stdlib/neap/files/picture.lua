--- picture.lua: drawings: a graph as an SVG with all that it takes inside. Nothing is fetched, no script runs, and no
-- name in it is that of another element, so that it can stand in a page beside others.
--
-- Clusters are placed in two steps: first the nodes inside of each, with a *port* at the upper or lower side for each
-- node outside that an edge comes from or goes to; then the clusters, as nodes of that size, among the others. The
-- pointer over a node shows its tooltip, with the line of the script that it names.
local graph = require "neap.files.graph"
local json = require "neap.files.json"
local layout = require "neap.files.layout"
local source = require "neap.core.source"

local picture = {}

local LETTER, LINE, PAD, MARGIN = 7, 14, 10, 12 -- of a letter of 11 pixels in a font of one width
local SMALL, PORT = 0.82, 10 -- of a letter, for notes; of a port
local WORDS = 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11"'

-- ---- Texts ----------------------------------------------------------------------------------------------------------

--- A text as XML has it: what is no UTF-8, and control characters, become "?".
function picture.escaped(text)
    if not json.is_utf8(text) then text = text:gsub("[\128-\255]", "?") end
    text = text:gsub("[%z\1-\9\11-\31\127]", "?")
    return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

local escaped = picture.escaped

local function lines_of(text)
    local lines = {}
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    return lines
end

--- The columns and the lines of a text.
local function extent(text)
    local lines, most = lines_of(text), 0
    for _, line in ipairs(lines) do most = math.max(most, select(2, line:gsub("[^\128-\191]", ""))) end
    return most, #lines
end

--- A tooltip with the text of the script's line that it names, "demo.lua:3" or "demo.lua:3 (scope)".
function picture.told(text)
    local lines = lines_of(text)
    for k, line in ipairs(lines) do
        local path, number = line:match "^(.+):(%d+)%f[ %z].*$"
        local code = path and (source.line("@" .. path, tonumber(number)) or source.line("=" .. path, tonumber(number)))
        if code then lines[k] = line .. ": " .. code:match "^%s*(.-)%s*$" end
    end
    return table.concat(lines, "\n")
end

-- ---- Places ---------------------------------------------------------------------------------------------------------

--- Places the nodes inside a cluster; gives it w and h, and the ports of nodes outside. Where those have places, the
-- ports have the same order.
local function place_inside(cluster, edges)
    local nodes, inner, ports = {}, {}, { into = {}, out = {} }
    for _, node in ipairs(cluster.nodes) do nodes[#nodes + 1] = node end
    local function port(side, other)
        if not ports[side][other] then
            local made = { w = PORT, h = 0, first = side == "into", last = side == "out", slot = other.x }
            ports[side][other] = made
            nodes[#nodes + 1] = made
        end
        return ports[side][other]
    end
    for _, edge in ipairs(edges) do
        local from_here, to_here = edge.from.cluster == cluster, edge.to.cluster == cluster
        if from_here or to_here then
            local own = { from = from_here and edge.from or port("into", edge.from),
                          to = to_here and edge.to or port("out", edge.to), edge = edge, has_head = to_here }
            inner[#inner + 1] = own
        end
    end
    local width, height = layout.layered(nodes, inner)
    local columns, lines = extent(cluster.label)
    local head = lines * LINE + 6
    cluster.w = math.max(width, columns * LETTER) + 2 * PAD
    cluster.h = height + head + PAD
    cluster.head = head
    local left = (cluster.w - width) / 2
    for _, node in ipairs(nodes) do node.x, node.y = node.x + left, node.y + head end
    for _, edge in ipairs(inner) do
        for _, point in ipairs(edge.points or {}) do point[1], point[2] = point[1] + left, point[2] + head end
    end
    cluster.inner, cluster.ports = inner, ports
end

--- The edges between clusters and nodes outside, each once.
local function outer_edges(read)
    local list, seen = {}, {}
    for _, edge in ipairs(read.edges) do
        local from, to = edge.from.cluster or edge.from, edge.to.cluster or edge.to
        if from ~= to then
            -- Of several edges from a node into a cluster one leads to the port that they share.
            local key = edge.to.cluster and { edge.from, to } or edge.from.cluster and { from, edge.to }
                or { edge, edge }
            seen[key[1]] = seen[key[1]] or {}
            if not seen[key[1]][key[2]] then
                seen[key[1]][key[2]] = true
                local own = { from = from, to = to, label = edge.label, style = edge.style, color = edge.color,
                              has_head = not edge.to.cluster }
                local into = edge.to.cluster and to.ports.into[edge.from]
                local out = edge.from.cluster and from.ports.out[edge.to]
                if into then own.to_dx = into.x - to.w / 2 end
                if out then own.from_dx = out.x - from.w / 2 end
                list[#list + 1] = own
            end
        end
    end
    return list
end

--- Places all; returns the edges to draw, width and height.
local function place(read)
    for _, cluster in ipairs(read.clusters) do cluster.nodes = {} end
    local nodes, edges = {}, {}
    for _, node in ipairs(read.nodes) do
        local columns, lines = extent(node.label)
        if node.cluster and node.tooltip then
            node.note = node.tooltip:match "[^\n]*"
            columns, lines = math.max(columns, extent(node.note) * SMALL), lines + 1
        end
        node.w, node.h = columns * LETTER + 2 * PAD, lines * LINE + 8
        if node.shape == "invtrapezium" then node.w = node.w + 12 end
        table.insert(node.cluster and node.cluster.nodes or nodes, node)
    end
    for _, cluster in ipairs(read.clusters) do
        place_inside(cluster, read.edges)
        nodes[#nodes + 1] = cluster
    end
    layout.layered(nodes, outer_edges(read))
    for _, node in ipairs(read.nodes) do -- ports to other clusters go by the places of those
        if node.cluster then node.x = node.cluster.x end
    end
    for _, cluster in ipairs(read.clusters) do place_inside(cluster, read.edges) end
    local outer = outer_edges(read)
    local width, height = layout.layered(nodes, outer)
    for _, edge in ipairs(outer) do edges[#edges + 1] = edge.points and edge or nil end
    for _, cluster in ipairs(read.clusters) do
        local left, top = cluster.x - cluster.w / 2, cluster.y - cluster.h / 2
        for _, node in ipairs(cluster.nodes) do node.x, node.y = node.x + left, node.y + top end
        for _, edge in ipairs(cluster.inner) do
            for _, point in ipairs(edge.points or {}) do point[1], point[2] = point[1] + left, point[2] + top end
            edges[#edges + 1] = edge.points and edge or nil
        end
        cluster.gates = {}
        for side, list in pairs(cluster.ports) do
            for other, port in pairs(list) do
                cluster.gates[#cluster.gates + 1] = { x = port.x + left, y = port.y + top, side = side, id = other.id }
            end
        end
        table.sort(cluster.gates, function(a, b) return a.side .. a.id < b.side .. b.id end)
    end
    return edges, width, height
end

-- ---- SVG ------------------------------------------------------------------------------------------------------------

--- Lines of text, the first of which has its middle at y.
local function text_at(out, text, x, y, anchor, color)
    for k, line in ipairs(lines_of(text)) do
        if line ~= "" then
            out(('<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>')
                :format(x, y + (k - 1) * LINE + 4, anchor, color, escaped(line)))
        end
    end
end

local SHAPES = {}

function SHAPES.box(node, fill, more)
    return ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" fill="%s" stroke="#555555"%s/>')
        :format(node.x - node.w / 2, node.y - node.h / 2, node.w, node.h, fill, more)
end

function SHAPES.ellipse(node, fill, more)
    return ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" fill="%s" stroke="#555555"%s/>')
        :format(node.x - node.w / 2, node.y - node.h / 2, node.w, node.h, node.h / 2, fill, more)
end

--- Wide above and narrow below: many become few.
function SHAPES.invtrapezium(node, fill, more)
    local x, y, w, h = node.x, node.y, node.w / 2, node.h / 2
    return ('<path d="M%.1f %.1fH%.1fL%.1f %.1fH%.1fZ" fill="%s" stroke="#555555"%s/>')
        :format(x - w, y - h, x + w, x + w - 12, y + h, x - w + 12, fill, more)
end

local function title_of(node)
    local text = node.label .. (node.tooltip and "\n" .. node.tooltip or "")
    return "<title>" .. escaped(picture.told(text)) .. "</title>"
end

local function draw_node(out, node)
    local shape = SHAPES[node.shape] or SHAPES.ellipse
    local more = (node.style == "dashed" and ' stroke-dasharray="4 3"' or "")
        .. (node.peripheries and ' stroke-width="2.5"' or "")
    out "<g>"
    out(title_of(node))
    out(shape(node, node.fillcolor or "#ffffff", more))
    local _, lines = extent(node.label)
    local y = node.y - (lines - 1) * LINE / 2 - (node.note and LINE / 2 or 0)
    text_at(out, node.label, node.x, y, "middle", "#000000")
    if node.note then
        out '<g font-size="9">'
        text_at(out, node.note, node.x, y + lines * LINE - 2, "middle", "#555555")
        out "</g>"
    end
    out "</g>"
end

local function draw_cluster(out, cluster)
    local left, top = cluster.x - cluster.w / 2, cluster.y - cluster.h / 2
    out "<g>"
    out(title_of(cluster))
    out(('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8" fill="#f4f8fc" stroke="#5b7fa6"/>')
        :format(left, top, cluster.w, cluster.h))
    for _, gate in ipairs(cluster.gates) do -- from a port to the side
        out(('<path d="M%.1f %.1fV%.1f" stroke="%s"/>')
            :format(gate.x, gate.y, gate.side == "into" and top or top + cluster.h,
                    gate.side == "into" and "#b9c9da" or "#555555"))
    end
    text_at(out, cluster.label, left + PAD, top + 6 + LINE / 2, "start", "#2b4a6b")
    out "</g>"
end

--- An edge as a curve that leaves and arrives upright, with a head.
local function draw_edge(out, edge)
    local points, color = edge.points, edge.color or (edge.edge and edge.edge.color) or "#555555"
    local style = edge.style or edge.edge and edge.edge.style
    local parts, last = { ("M%.1f %.1f"):format(points[1][1], points[1][2]) }, points[#points]
    for k = 2, #points do
        local a, b = points[k - 1], points[k]
        local middle = (a[2] + b[2]) / 2
        parts[k] = ("C%.1f %.1f %.1f %.1f %.1f %.1f"):format(a[1], middle, b[1], middle, b[1], b[2])
    end
    out(('<path d="%s" fill="none" stroke="%s"%s/>'):format(table.concat(parts), escaped(color),
                                                           style == "dashed" and ' stroke-dasharray="4 3"' or ""))
    if edge.has_head then
        out(('<path d="M%.1f %.1fl-3.5 -7h7z" fill="%s"/>'):format(last[1], last[2], escaped(color)))
    end
    if edge.label then
        text_at(out, edge.label, (points[1][1] + last[1]) / 2 + 4, (points[1][2] + last[2]) / 2, "start", "#555555")
    end
end

--- The SVG of a graph, a text in the language of dot (graph.lua).
function picture.svg(text)
    local read = graph.read(text)
    local edges, width, height = place(read)
    local list = {}
    local function out(part) list[#list + 1] = part end
    width, height = width + 2 * MARGIN, height + 2 * MARGIN
    out(('<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="%d %d %.0f %.0f" %s>')
        :format(width, height, -MARGIN, -MARGIN, width, height, WORDS))
    out(('<rect x="%d" y="%d" width="100%%" height="100%%" fill="#ffffff"/>'):format(-MARGIN, -MARGIN))
    for _, cluster in ipairs(read.clusters) do draw_cluster(out, cluster) end
    for _, edge in ipairs(edges) do draw_edge(out, edge) end
    for _, node in ipairs(read.nodes) do draw_node(out, node) end
    out "</svg>\n"
    return table.concat(list, "\n")
end

jit.off(picture.svg)

return picture
