--- palette.lua: few colours in place of many: a palette of at most so many colours for some pictures.
--
-- Pictures with no more colours keep all exactly. Else colours fall into 32 x 32 x 32 bins, and groups of bins are cut
-- in two, again and again: the group with the largest weighted sum of squared differences, at the mean, along the
-- widest channel (S. J. Wan, P. Prusinkiewicz, S. K. M. Wong, Variance-based color image quantization for frame buffer
-- display, 1990). The same pictures give the same palette.
local ffi = require "ffi"
local bit = require "bit"

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift
local floor = math.floor
local palette = {}

local BINS = 32 * 32 * 32

local function bin_of(color)
    return bor(band(rshift(color, 9), 0x7c00), band(rshift(color, 6), 0x3e0), band(rshift(color, 3), 31))
end

local Counter = {}
Counter.__index = Counter

--- An object to count the colours of pictures: counter:add(rgb, n), then counter:finish().
function palette.counter(most)
    local counter = { most = most, exact = {}, known = 0, weight = ffi.new("double[?]", BINS),
                      chief = ffi.new("int32_t[?]", BINS), votes = ffi.new("double[?]", BINS), sums = {} }
    for channel = 1, 3 do counter.sums[channel] = ffi.new("double[?]", BINS) end
    return setmetatable(counter, Counter)
end

--- Counts a colour of so many pixels in a row. The chief of a bin is the colour of more than half of the bin's pixels,
-- if any colour has so many (R. S. Boyer, J S. Moore, MJRTY, 1991).
local function count(counter, color, times)
    if counter.exact and not counter.exact[color] then
        counter.known = counter.known + 1
        counter.exact[color] = counter.known
        if counter.known > counter.most then counter.exact = nil end
    end
    local bin = bin_of(color)
    counter.weight[bin] = counter.weight[bin] + times
    for channel = 1, 3 do
        local sums = counter.sums[channel]
        sums[bin] = sums[bin] + times * band(rshift(color, 24 - 8 * channel), 255)
    end
    if counter.chief[bin] == color then
        counter.votes[bin] = counter.votes[bin] + times
    elseif counter.votes[bin] < times then
        counter.chief[bin], counter.votes[bin] = color, times - counter.votes[bin]
    else
        counter.votes[bin] = counter.votes[bin] - times
    end
end

--- Counts n pixels of three bytes.
function Counter:add(rgb, n)
    local last, times = nil, 0
    for k = 0, n - 1 do
        local color = bor(lshift(rgb[3 * k], 16), lshift(rgb[3 * k + 1], 8), rgb[3 * k + 2])
        if color == last then
            times = times + 1
        else
            if last then count(self, last, times) end
            last, times = color, 1
        end
    end
    if last then count(self, last, times) end
end

-- ---- Groups of bins -------------------------------------------------------------------------------------------------

--- A group of bins with the mean, the widest channel, and the weighted sum of squared differences.
local function measure(counter, bins)
    local group = { bins = bins, mean = {}, spread = 0, axis = 1 }
    local weight, widest = 0, -1
    for _, bin in ipairs(bins) do weight = weight + counter.weight[bin] end
    for channel = 1, 3 do
        local sums, total, squares = counter.sums[channel], 0, 0
        for _, bin in ipairs(bins) do total = total + sums[bin] end
        local mean = total / weight
        for _, bin in ipairs(bins) do
            local apart = sums[bin] / counter.weight[bin] - mean
            squares = squares + counter.weight[bin] * apart * apart
        end
        group.mean[channel], group.spread = mean, group.spread + squares
        if squares > widest then group.axis, widest = channel, squares end
    end
    group.weight = weight
    return group
end

--- The two halves of a group.
local function cut(counter, group)
    local low, high, sums = {}, {}, counter.sums[group.axis]
    for _, bin in ipairs(group.bins) do
        local half = sums[bin] / counter.weight[bin] < group.mean[group.axis] and low or high
        half[#half + 1] = bin
    end
    return low, high
end

--- Divides all bins with a weight into groups, at most so many.
local function divide(counter, most)
    local bins = {}
    for bin = 0, BINS - 1 do
        if counter.weight[bin] > 0 then bins[#bins + 1] = bin end
    end
    local groups = { measure(counter, bins) }
    while #groups < most do
        local at, spread = nil, 0
        for k, group in ipairs(groups) do
            if #group.bins > 1 and group.spread > spread then at, spread = k, group.spread end
        end
        if not at then break end
        local low, high = cut(counter, groups[at])
        if #low == 0 or #high == 0 then -- means that rounding alone has parted
            groups[at].spread = 0
        else
            groups[at] = measure(counter, low)
            groups[#groups + 1] = measure(counter, high)
        end
    end
    return groups
end

--- The colour of a group: the chief of a bin with more than half of the group's weight, if there is any; else the mean.
local function color_of(counter, group)
    for _, bin in ipairs(group.bins) do
        if counter.weight[bin] * 2 > group.weight then return counter.chief[bin] end
    end
    local mean = group.mean
    return bor(lshift(floor(mean[1] + 0.5), 16), lshift(floor(mean[2] + 0.5), 8), floor(mean[3] + 0.5))
end

--- The colours, a list of numbers 0xRRGGBB, and a function from a pixel's colour to a place in the list, from 0.
function Counter:finish()
    local colors = {}
    if self.exact then
        for color, k in pairs(self.exact) do colors[k] = color end
        local places = self.exact
        return colors, function(color) return places[color] - 1 end
    end
    local places = ffi.new("uint8_t[?]", BINS)
    for k, group in ipairs(divide(self, self.most)) do
        colors[k] = color_of(self, group)
        for _, bin in ipairs(group.bins) do places[bin] = k - 1 end
    end
    return colors, function(color) return places[bin_of(color)] end
end

return palette
