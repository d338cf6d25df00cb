--- detection.lua: NonMaxSuppression: the boxes of greatest score that overlap little. How many there are depends on
-- values, so graphs with this operator run op by op.
local hosts = require "neap.onnx.hosts"

local ops = {}

--- Corners of box b (from 0) of a list of numbers: low and high of both axes.
local function corners(boxes, b, centred)
    local p, q, r, s = boxes[4 * b + 1], boxes[4 * b + 2], boxes[4 * b + 3], boxes[4 * b + 4]
    if centred then return p - r / 2, p + r / 2, q - s / 2, q + s / 2 end
    return math.min(p, r), math.max(p, r), math.min(q, s), math.max(q, s)
end

--- The intersection of two boxes over the union.
local function overlap(boxes, a, b, centred)
    local l1, h1, l2, h2 = corners(boxes, a, centred)
    local m1, g1, m2, g2 = corners(boxes, b, centred)
    local common = math.max(math.min(h1, g1) - math.max(l1, m1), 0) * math.max(math.min(h2, g2) - math.max(l2, m2), 0)
    local union = (h1 - l1) * (h2 - l2) + (g1 - m1) * (g2 - m2) - common
    return union > 0 and common / union or 0
end

--- The boxes from `first` on, `count`, with scores from `scored` on, that stay: a list, greatest score first.
local function kept(boxes, scores, first, scored, count, o)
    local order, list = {}, {}
    for k = 1, count do
        if not o.least or scores[scored + k] > o.least then order[#order + 1] = k end
    end
    table.sort(order, function(a, b)
        local x, y = scores[scored + a], scores[scored + b]
        if x ~= y then return x > y end
        return a < b
    end)
    for _, k in ipairs(order) do
        local stays = #list < o.most
        for _, other in ipairs(list) do
            stays = stays and overlap(boxes, first + k - 1, first + other - 1, o.centred) <= o.overlap
        end
        if stays then list[#list + 1] = k end
    end
    return list
end

ops.NonMaxSuppression = {
    attrs = "center_point_box", least = 2, host = { 3, 4, 5 }, reads = true,
    run = function(n, boxes, scores, most, most_overlap, least)
        local batch, count, classes = boxes.shape[1], boxes.shape[2], scores.shape[2]
        local o = { most = most and most[1] or 0, overlap = most_overlap and most_overlap[1] or 0,
                    least = least and least[1], centred = n.attr.center_point_box == 1 }
        boxes, scores = n:host(boxes, "its boxes"), n:host(scores, "its scores")
        local list = {}
        for b = 0, batch - 1 do
            for c = 0, classes - 1 do
                for _, k in ipairs(kept(boxes, scores, b * count, (b * classes + c) * count, count, o)) do
                    for _, value in ipairs { b, c, k - 1 } do list[#list + 1] = value end
                end
            end
        end
        return hosts.new("i64", { #list / 3, 3 }, list)
    end,
}

return ops
