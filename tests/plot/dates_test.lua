--- dates_test.lua (release build only): np.plot's axes of dates: what texts mean, and where ticks are, from what
-- gnuplot is given; no picture is drawn.
local np = require "neap"
local check = require "tests.lib.check"
local dates = require "neap.plot.dates"
local script = require "neap.plot.script"

local plot = np.plot

check.test("texts of ISO 8601 are seconds since 1970", function()
    for s, want in pairs { ["1970-01-01"] = 0, ["1969-12-31"] = -86400, ["2000-03-01"] = 951868800,
                           ["2000-02-29"] = 951782400, ["1600-02-29"] = -11670998400, ["9999-12-31"] = 253402214400,
                           ["2024-03"] = 1709251200, ["2024-03-15T12:30"] = 1710505800,
                           ["2024-03-15 12:30:15.5Z"] = 1710505815.5, ["2024-03-15T12:30:00+01:30"] = 1710500400,
                           ["2024-03-15T12:30-0100"] = 1710509400 } do
        check.equal(dates.seconds(s), want, s)
    end
    for _, s in ipairs { "", "2024", "2024-13", "2024-00-01", "2023-02-29", "1900-02-29", "2024-04-31", "2024-1-1",
                         "2024-01-01T", "2024-01-01T24:00", "2024-01-01T12:60", "2024-01-01T12:30:60", "a2024-01-01",
                         "2024-01-01T12:30 CET", "2024-01-01x" } do
        check.equal(dates.seconds(s), nil, s)
    end
end)

--- The labels of an axis by their places.
local function ticks_of(figure, which)
    local list = table.concat(script.of(figure, 640, 480, 1)):match("set " .. which .. "tics %((.-)%) noenhanced\n")
    local found = {}
    for label, place in (list or ""):gmatch '"([^"]*)" (%-?[%d.]+)' do
        found[#found + 1] = { label, tonumber(place) }
    end
    return found
end

local function labels_of(figure, which)
    local list = {}
    for k, tick in ipairs(ticks_of(figure, which or "x")) do list[k] = tick[1] end
    return list
end

--- A figure with a line from one date to another.
local function from(first, last)
    return plot.figure():line({ first, last }, { 0, 1 })
end

check.test("ticks stand at round dates", function()
    for _, case in ipairs {
        { from("2024-01-05", "2024-06-30"), { "2024-01", "2024-02", "2024-03", "2024-04", "2024-05", "2024-06",
                                              "2024-07" } },
        { from("1990-05", "2024-03"), { "1990", "1995", "2000", "2005", "2010", "2015", "2020", "2025" } },
        { from("2024-02-27", "2024-03-02"), { "2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02" } },
        { from("2024-02-20", "2024-03-20"), { "2024-02-19", "2024-02-26", "2024-03-04", "2024-03-11", "2024-03-18" } },
        { from("2024-02-28T20:00", "2024-02-29T14:00"), { "21:00", "00:00\\n2024-02-29", "03:00", "06:00", "09:00",
                                                          "12:00" } },
        { from("2024-02-28T10:00:01", "2024-02-28T10:00:05"), { "10:00:01\\n2024-02-28", "10:00:02", "10:00:03",
                                                               "10:00:04", "10:00:05" } },
        { from("0099-01-01", "0105-01-01"), { "99", "100", "101", "102", "103", "104", "105" } },
    } do
        check.equal(labels_of(case[1]), case[2])
    end
    for _, tick in ipairs(ticks_of(from("2023-11-05", "2024-04-10"), "x")) do
        check.equal(dates.seconds(tick[1]), tick[2], "a label says where it stands")
    end
    -- Below ends of seconds, and beyond thousands of years, an axis has numbers.
    check.equal(labels_of(plot.figure():line({ 0, 1e-4 }, { 0, 1 }):xscale "date"), {})
    check.equal(labels_of(plot.figure():line({ 0, 1e12 }, { 0, 1 }):xscale "date"), {})
end)

check.test("numbers are seconds where the scale says so, along y too", function()
    local seconds = 1710460800 + np.arange(5, { dtype = "f64" }) * 86400
    check.equal(labels_of(plot.figure():line(seconds, np.arange(5)):xscale "date")[1], "2024-03-15")
    check.equal(labels_of(plot.figure():scatter(np.arange(5), seconds):yscale "date", "y")[1], "2024-03-15")
end)

check.test("texts are dates if all are, unless the axis is another", function()
    local t = np.table { day = { "2024-03-15", false, "2024-03-17" }, v = { 1, 2, 3 } }
    local axes = plot.figure():line(t.day, t.v).axes[1]
    check.equal({ axes.set.xscale, axes.layers[1].data.x[2]:item() }, { "date", 1710633600 })
    check.equal(plot.figure():bar({ "2024-03-15", "a" }, { 1, 2 }).axes[1].set.xnames[1].label, "2024-03-15")
    check.equal(plot.figure():xscale("linear"):bar({ "2024-03-15" }, { 1 }).axes[1].set.xnames[1].label, "2024-03-15")
    local later = plot.figure():bar({ "a" }, { 1 }):bar({ "2024-03-15" }, { 1 })
    check.equal(later.axes[1].set.xnames[2].label, "2024-03-15")
    check.raises(function() plot.figure():xscale("date"):line({ "March", "April" }, { 1, 2 }) end,
                 "x has dates, such as .*got 'March'")
    check.raises(function() plot.xscale "dates" end, '"linear", "log" or "date"')
end)

check.test("limits and marks may be dates; bars are as wide as days", function()
    local figure = plot.figure():bar({ "2024-03-15", "2024-03-16" }, { 1, 2 }, { yerr = 0.1 })
                   :xlim("2024-03-14", "2024-03-18"):axvline("2024-03-15T12:00")
    local text = table.concat(script.of(figure, 640, 480, 1))
    check.ok(text:find("set xrange [1710374400:1710720000]", 1, true) and text:find("first 1710504000,", 1, true))
    local list = script.of(figure, 640, 480, 1)
    local doubles = require("ffi").cast("const double *", list[#list - 1]) -- of the bars; errors are the last
    check.close(doubles[3] - doubles[2], 0.8 * 86400, 1e-6)
    check.raises(function() plot.xlim("yesterday", 1) end, "finite number")
end)

check.done()
