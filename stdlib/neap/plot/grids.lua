--- grids.lua: the layers of what is given on a grid: lines of equal height, the areas between them, surfaces. See
-- layers.lua for what a layer is.
local ffi = require "ffi"
local columns = require "neap.plot.columns"
local core = require "neap.core"
local ranges = require "neap.plot.ranges"
local script_text = require "neap.plot.text"

local NAN = core.NAN
local doubles, bounds = columns.doubles, columns.bounds
local color_of, title_of = script_text.color, script_text.title
local include_column, cover_colors = ranges.include_column, ranges.cover_colors
local grids = {}

local MOST_GRID = 200 -- rows and columns of a surface

local function read_grid(layer)
    local p = {}
    p.x, p.wide = doubles(layer.data.x)
    p.y, p.high = doubles(layer.data.y)
    p.z, p.n = doubles(layer.data.z)
    return p
end

local function cover_grid(p, layer, box)
    include_column(box.x, p.x, p.wide)
    include_column(box.y, p.y, p.high)
    for _, axis in ipairs { box.x, box.y } do axis.tight_low, axis.tight_high = true, true end
    cover_colors(p.z, p.n, layer, box)
end

--- The rows of a grid as triples, those that `step` leaves; with numbers of a fourth column, where there is one.
local function triples(p, step, fourth)
    step = step or 1
    local each = fourth and 4 or 3
    local wide, high = math.floor((p.wide - 1) / step) + 1, math.floor((p.high - 1) / step) + 1
    local out = columns.new(each * wide * high)
    for r = 0, high - 1 do
        for c = 0, wide - 1 do
            local at, from = each * (r * wide + c), r * step * p.wide + c * step
            out[at], out[at + 1], out[at + 2] = p.x[c * step], p.y[r * step], p.z[from]
            if fourth then out[at + 3] = fourth[from] end
        end
    end
    return ffi.string(out, 8 * each * wide * high), wide, high
end

--- Round numbers between low and high, about `count` of them.
local function nice_levels(low, high, count)
    local span = high - low
    if span <= 0 then return { low } end
    local raw = span / (count + 1)
    local power = 10 ^ math.floor(math.log10(raw))
    local step = power * 10
    for _, factor in ipairs { 1, 2, 2.5, 5 } do
        if factor * power >= raw * 0.999 then
            step = factor * power
            break
        end
    end
    local list = {}
    for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do list[#list + 1] = k * step end
    return list
end

local function levels_of(p, layer)
    if layer.levels then return layer.levels end
    local low, high = bounds(p.z, p.n)
    return nice_levels(low, high, layer.level_count)
end

--- The plots of contour lines that let something through: one for each level, since a palette lets nothing through, and
-- one of nothing for the colour bar.
local function clear_lines(block, levels, layer, view)
    local column, gap, parts = columns.new(#levels), math.huge, {}
    for k, level in ipairs(levels) do
        column[k - 1] = level
        if k > 1 then gap = math.min(gap, level - levels[k - 1]) end
    end
    local colors = ranges.shaded(column, #levels, layer, view)
    if gap == math.huge then gap = 1 end
    for k, level in ipairs(levels) do
        parts[k] = ("%s using 1:(abs($3 - %.17g) < %.17g ? $2 : NaN) with lines lw %.3g lc rgb %d notitle")
            :format(block, level, gap / 4, layer.linewidth * view.scale, colors[k - 1])
    end
    return table.concat(parts, ", ") .. ", NaN with points palette notitle"
end

grids.contour = {
    read = read_grid,
    cover = cover_grid,
    draw = function(p, layer, view)
        if not bounds(p.z, p.n) then return {} end
        local data, wide, high = triples(p)
        local levels, texts = levels_of(p, layer), {}
        for k, level in ipairs(levels) do texts[k] = ("%.17g"):format(level) end
        if #levels == 0 then return {} end
        view.blocks = (view.blocks or 0) + 1
        local block = "$contour" .. view.blocks
        local before = ("set contour base\nunset surface\nset cntrparam levels discrete %s\nset table %s\n"
            .. "splot '-' binary record=(%d,%d) format='%%float64%%float64%%float64' using 1:2:3 notitle\n")
            :format(table.concat(texts, ","), block, wide, high)
        local text = ("%s using 1:2:3 with lines lw %.3g lc %s notitle")
            :format(block, layer.linewidth * view.scale, layer.one_color and color_of(layer) or "palette")
        if layer.alpha ~= 1 and not layer.one_color then text = clear_lines(block, levels, layer, view) end
        return { { table = { before, data, "unset table\nunset contour\nset surface\n" }, text = text, data = "" } }
    end,
}

--- Where pixels lie in a grid, for `count` pixels along an axis, which are evenly apart on paper: { cell, part, first,
-- step }: of each the index of its cell and how far in it; the place of the first, and steps, as gnuplot is to know
-- them: of a logarithmic axis in powers of ten. nil: nothing of the grid (rising, n) can be seen there.
local function pixels_along(at, n, count, axis)
    local low, high = at[0], at[n - 1]
    if axis.log then
        if high <= 0 then return nil end
        low, high = math.log10(low > 0 and low or math.min(axis.low, high)), math.log10(high)
    end
    local step = (high - low) / count
    local found = { cell = ffi.new("int32_t[?]", count), part = columns.new(count), first = low + step / 2,
                    step = step }
    local k = 0
    for j = 0, count - 1 do
        local value = found.first + step * j
        if axis.log then value = 10 ^ value end
        while k < n - 2 and at[k + 1] < value do k = k + 1 end
        found.cell[j], found.part[j] = k, (value - at[k]) / (at[k + 1] - at[k])
    end
    return found
end

--- gnuplot draws pictures on linear axes only. Over a logarithmic one lies a second one, of powers of ten: words that
-- set its range, and its name.
local function linear_axis(which, axis)
    if not axis.log then return "", which .. "1" end
    local low, high = math.log10(axis.low), math.log10(axis.high)
    if axis.turned then low, high = high, low end
    return ("set %s2range [%.17g:%.17g] noextend\n"):format(which, low, high), which .. "2"
end

--- The same, and where the middles of `count` pixels that reach from end to end of an axis begin, and their step.
function grids.picture_axis(which, axis, count)
    local before, name = linear_axis(which, axis)
    local low, high = axis.low, axis.high
    if axis.log then low, high = math.log10(low), math.log10(high) end
    local step = (high - low) / count
    return before, name, low + step / 2, step
end

local function check_rising(name, what, at, n)
    for k = 1, n - 1 do
        if at[k] ~= at[k] or at[k] <= at[k - 1] then core.raise(name, "%s must rise from element to element", what) end
    end
end

grids.contourf = {
    read = function(layer)
        local p = read_grid(layer)
        check_rising("plot.contourf", "x", p.x, p.wide)
        check_rising("plot.contourf", "y", p.y, p.high)
        return p
    end,
    cover = cover_grid,
    draw = function(p, layer, view)
        if not bounds(p.z, p.n) then return {} end
        local levels = levels_of(p, layer)
        local wide, high = math.min(view.width, 800), math.min(view.height, 800)
        local across, down = pixels_along(p.x, p.wide, wide, view.x), pixels_along(p.y, p.high, high, view.y)
        if not across or not down then return {} end
        local low, top = bounds(p.z, p.n)
        local middles = {} -- the value whose colour a band has
        for k = 0, #levels do
            middles[k] = ((levels[k] or math.min(low, levels[1])) + (levels[k + 1] or math.max(top, levels[k]))) / 2
        end
        local out, count = columns.new(wide * high), #levels
        for r = 0, high - 1 do
            for c = 0, wide - 1 do
                local at, a, b = down.cell[r] * p.wide + across.cell[c], across.part[c], down.part[r]
                local value = (p.z[at] * (1 - a) + p.z[at + 1] * a) * (1 - b)
                    + (p.z[at + p.wide] * (1 - a) + p.z[at + p.wide + 1] * a) * b
                local band = count > 0 and value >= levels[1] and 1 or 0
                while band < count and value > levels[band + 1] do band = band + 1 end -- a band has its upper level
                out[r * wide + c] = value == value and middles[band] or NAN
            end
        end
        local x_range, x_axis = linear_axis("x", view.x)
        local y_range, y_axis = linear_axis("y", view.y)
        local words, data = ranges.colored(out, wide * high, layer, view, "axes " .. x_axis .. y_axis .. " ")
        local place = ("origin=(%.17g,%.17g) dx=%.17g dy=%.17g"):format(across.first, down.first, across.step,
                                                                      down.step)
        return { { before = x_range .. y_range, data = data,
                   text = ("'-' binary array=(%d,%d) "):format(wide, high) .. words:format(place) } }
    end,
}

grids.surface = {
    solid = true,
    read = read_grid,
    cover = function(p, layer, box)
        include_column(box.x, p.x, p.wide)
        include_column(box.y, p.y, p.high)
        include_column(box.z, p.z, p.n)
        for _, axis in ipairs { box.x, box.y } do axis.tight_low, axis.tight_high = true, true end
        if not layer.wireframe then cover_colors(p.z, p.n, layer, box) end
    end,
    draw = function(p, layer, view)
        if p.n == 0 or not bounds(p.z, p.n) then return {} end
        local step = math.max(1, math.ceil(math.max(p.wide, p.high) / MOST_GRID))
        local through = not layer.wireframe and layer.alpha ~= 1
        local data, wide, high = triples(p, step, through and ranges.shaded(p.z, p.n, layer, view))
        local style = through and "pm3d fc rgb variable" or "pm3d"
        if layer.wireframe then
            style = ("lines lw %.3g lc %s"):format(layer.linewidth * view.scale, color_of(layer))
        end
        return { { before = not layer.wireframe and ("set pm3d depthorder corners2color %s border lc rgb \"#60000000\" "
                       .. "lw %.3g\n"):format(through and "c1" or "mean", layer.linewidth * view.scale * 0.5)
                       or "set hidden3d\n",
                   text = ("'-' binary record=(%d,%d) format='%s' using 1:2:3%s with %s %s")
                       :format(wide, high, ("%float64"):rep(through and 4 or 3), through and ":4" or "", style,
                               title_of(layer, view)), data = data } }
    end,
}

return grids
