--- names_test.lua: charts whose places are names: a name has one place on an axis, whichever charts use it, in whatever
-- order. Charts drawn at random are compared with a model, from what gnuplot is given; no picture is drawn.
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local script = require "neap.plot.script"

local WORDS = { "a", "b", "c", "d", "a b", "é", 'q"', "7" }

--- The names at the ticks of an axis of a figure with one axes, by their places; which: "x", "y" or "y2".
local function ticks_of(figure, which)
    local text = table.concat(script.of(figure, 640, 480, 1))
    local found = {}
    local list = text:match("set " .. which .. "tics[^\n(]*%((.-)%) noenhanced\n")
    for quoted, place in (list or ""):gmatch '("[^"\\]*\\?"?[^",]*") (%d+)' do
        found[tonumber(place)] = loadstring("return " .. quoted)()
    end
    return found
end

local function drawn(count)
    local list = {}
    for k = 1, count do list[k] = WORDS[math.random(#WORDS)] end
    return list
end

local function numbers(count)
    local list = {}
    for k = 1, count do list[k] = math.random(0, 9) end
    return list
end

-- Charts, with the axes that may have names: f(axes, x, y).
local CHARTS = {
    { x = true, y = true, f = function(axes, x, y) axes:line(x, y) end },
    { x = true, y = true, f = function(axes, x, y) axes:step(x, y, { where = "mid" }) end },
    { x = true, y = true, f = function(axes, x, y) axes:scatter(x, y) end },
    { x = true, y = true, f = function(axes, x, y) axes:errorbar(x, y, { yerr = 0.5 }) end },
    { x = true, y = true, f = function(axes, x, y) axes:line(x, y, "o--") end },
    { x = true, value = "y1", f = function(axes, x, y) axes:fill_between(x, y) end },
    { x = true, value = "height", f = function(axes, x, y) axes:bar(x, y) end },
    { y = true, place = "x", value = "height", f = function(axes, x, y) axes:barh(y, x) end },
}

--- What a model says: the places of names, new ones behind those that the axis has.
local function places(known, list)
    local out = {}
    for k, item in ipairs(list) do
        if type(item) == "string" and not known[item] then
            known[item], known.count = known.count, known.count + 1
        end
        out[k] = known[item] or item
    end
    return out
end

check.test("a name has one place on its axis", function()
    for seed in seeds.each(150) do
        math.randomseed(seed)
        local figure = np.plot.figure()
        local first, second = figure.axes[1], nil
        local x_names, y_names = { count = 0 }, { { count = 0 }, { count = 0 } }
        for _ = 1, math.random(5) do
            if not second and math.random(6) == 1 then second = first:twinx() end
            local which = second and math.random(2) or 1
            local axes, chart, n = which == 2 and second or first, CHARTS[math.random(#CHARTS)], math.random(6)
            local x = chart.x and math.random(3) > 1 and drawn(n) or numbers(n)
            local y = chart.y and math.random(3) > 1 and drawn(n) or numbers(n)
            chart.f(axes, x, y)
            local data = axes.layers[#axes.layers].data
            local got_x, got_y = data.x, chart.value and data[chart.value] or data.y
            if chart.place then got_x, got_y = got_y, data.x end
            check.equal(got_x:totable(), places(x_names, x), "x of seed " .. seed)
            check.equal(got_y:totable(), places(y_names[which], y), "y of seed " .. seed)
        end
        for which, known in pairs { x = x_names, y = y_names[1], y2 = second and y_names[2] } do
            local want = {}
            for text, place in pairs(known) do if text ~= "count" then want[place] = text end end
            check.equal(ticks_of(figure, which), want, "ticks of seed " .. seed)
        end
    end
end)

check.test("the names of one axes are not those of others", function()
    local _, axes = np.plot.subplots(1, 2)
    axes[1]:bar({ "a", "b" }, { 1, 2 })
    axes[2]:bar({ "b", "a" }, { 1, 2 })
    check.equal(axes[2].layers[1].data.x:totable(), { 0, 1 })
end)

check.test("ticks that are set stay", function()
    local figure = np.plot.figure():xticks({ 0, 1 }, { "zero", "one" }):line({ "b", "a" }, { 1, 2 })
    check.equal(ticks_of(figure, "x"), { [0] = "zero", "one" })
end)

check.test("what must be numbers is no list of names", function()
    local list = { "a", "b" }
    for name, f in pairs {
        ["plot.bar: height"] = function() np.plot.bar(list, list) end,
        ["plot.hist: x"] = function() np.plot.hist(list) end,
        ["plot.boxplot: x"] = function() np.plot.boxplot(list) end,
        ["plot.scatter: c"] = function() np.plot.scatter({ 1, 2 }, { 1, 2 }, { c = list }) end,
        ["plot.errorbar: yerr"] = function() np.plot.errorbar({ 1, 2 }, { 1, 2 }, { yerr = list }) end,
        ["plot.fill_between: y1"] = function() np.plot.fill_between(list, list) end,
    } do
        local ok, problem = pcall(f)
        check.ok(not ok and problem:find("np." .. name .. " must be numbers, got a list of texts", 1, true), problem)
    end
    local ok, problem = pcall(np.plot.line, { "a", 2 }, { 1, 2 })
    check.ok(not ok and problem:find("x[2] must be a text as the others are", 1, true), problem)
end)

check.done()
