--- dates.lua: dates along an axis: texts of ISO 8601 as seconds since 1970, of UTC, and where such an axis has ticks.
--
-- Days are counted in the Gregorian calendar, also before it began: an era of 400 years, of which each has 146097 days,
-- begins on the first of March, so that a leap day is the last of its year.
local script_text = require "neap.plot.text"

local floor = math.floor
local dates = {}

local DAY, ERA = 86400, 146097
local LENGTHS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

dates.DAY = DAY

--- Days from 1970-01-01 to a date of the calendar.
local function days_of(year, month, day)
    if month <= 2 then year = year - 1 end
    local era = floor(year / 400)
    local of_year = floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1 -- from the first of March
    local year_of_era = year - era * 400
    return era * ERA + year_of_era * 365 + floor(year_of_era / 4) - floor(year_of_era / 100) + of_year - 719468
end

--- The date of the calendar so many days from 1970-01-01: year, month, day.
local function date_of(days)
    days = days + 719468
    local era = floor(days / ERA)
    local day = days - era * ERA
    local year = floor((day - floor(day / 1460) + floor(day / 36524) - floor(day / 146096)) / 365)
    local of_year = day - (365 * year + floor(year / 4) - floor(year / 100))
    local month = floor((5 * of_year + 2) / 153)
    local number = (month + 2) % 12 + 1
    return year + era * 400 + (number <= 2 and 1 or 0), number, of_year - floor((153 * month + 2) / 5) + 1
end

local function is_leap(year)
    return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
end

--- Seconds of the time behind a date, "" or "T12:30", "12:30:15.5", with "Z" or "+01:00"; nil: it is none.
local function time_of(rest)
    if rest == "" then return 0 end
    local clock = rest:match "^[T ](.*)$"
    if not clock then return nil end
    local hours, minutes, behind = clock:match "^(%d%d):(%d%d)(.*)$"
    if not hours or hours + 0 > 23 or minutes + 0 > 59 then return nil end
    local seconds, zone = behind:match "^:(%d%d%.?%d*)(.*)$"
    seconds, zone = seconds or "0", zone or behind
    if seconds + 0 >= 60 then return nil end
    local sign, away, more = zone:match "^([-+])(%d%d):?(%d%d)$"
    if not sign and zone ~= "" and zone ~= "Z" then return nil end
    local shift = sign and (away * 60 + more) * 60 or 0
    return hours * 3600 + minutes * 60 + seconds - (sign == "-" and -shift or shift)
end

--- Seconds since 1970 of a text such as "2024-03-15", "2024-03", "2024-03-15T12:30:15.5Z" or "2024-03-15 12:30+01:00";
-- without a zone it is UTC; nil: it is no date.
function dates.seconds(s)
    local year, month, rest = s:match "^(%d%d%d%d)%-(%d%d)(.*)$"
    if not year then return nil end
    year, month = tonumber(year), tonumber(month)
    local day, clock = rest:match "^%-(%d%d)(.*)$"
    if not day and rest ~= "" then return nil end
    day = tonumber(day or 1)
    local most = month >= 1 and month <= 12 and LENGTHS[month] + (month == 2 and is_leap(year) and 1 or 0)
    local time = time_of(clock or "")
    if not most or day < 1 or day > most or not time then return nil end
    return days_of(year, month, day) * DAY + time
end

-- ---- Ticks ----------------------------------------------------------------------------------------------------------

-- Steps between ticks, and the letters of a label: of parts of a day in seconds, of days, and of months.
local STEPS = {}
for _, unit in ipairs { { "second", 1, { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5 }, 12 },
                        { "second", 1, { 1, 2, 5, 10, 15, 30 }, 8 }, { "minute", 60, { 1, 2, 5, 10, 15, 30 }, 5 },
                        { "minute", 3600, { 1, 2, 3, 6, 12 }, 5 }, { "day", DAY, { 1, 2, 7, 14 }, 10 },
                        { "month", DAY * 30.4, { 1, 2, 3, 6 }, 7 },
                        { "year", DAY * 365.2, { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000 }, 4 } } do
    for _, count in ipairs(unit[3]) do
        STEPS[#STEPS + 1] = { unit = unit[1], seconds = unit[2] * count, count = count, letters = unit[4] }
    end
end

local MOST, LETTER, LINE = 9, 8.5, 15 -- labels; pixels of a letter and of a line
local DAYS = 2.5 -- from so many days on ticks stand at days
local FAR = 1e11 -- seconds from 1970, some 3000 years, beyond which an axis has numbers

--- The step whose labels have room.
local function step_for(which, axis, room)
    local extent = axis.high - axis.low
    for _, step in ipairs(STEPS) do
        local count = extent / step.seconds
        local takes = which == "x" and (step.letters + 2) * LETTER or LINE
        local fine = step.seconds >= DAY or extent < DAYS * DAY
        if fine and count <= MOST and count * takes <= (room or 500) then return step end
    end
    return STEPS[#STEPS]
end

--- The places of ticks of a step between the ends of an axis.
local function places_of(step, axis)
    local list = {}
    if step.unit == "month" or step.unit == "year" then
        local year, month = date_of(floor(axis.low / DAY))
        local every = step.count * (step.unit == "year" and 12 or 1)
        local number = math.ceil((year * 12 + month - 1) / every) * every
        if days_of(year, month, 1) * DAY < axis.low and number == year * 12 + month - 1 then number = number + every end
        while true do
            local place = days_of(floor(number / 12), number % 12 + 1, 1) * DAY
            if place > axis.high then return list end
            list[#list + 1], number = place, number + every
        end
    end
    local first = step.count % 7 == 0 and 4 * DAY or 0 -- weeks begin on Mondays: 1970-01-05 was one
    for k = math.ceil((axis.low - first) / step.seconds - 1e-9), floor((axis.high - first) / step.seconds + 1e-9) do
        list[#list + 1] = first + k * step.seconds
    end
    return list
end

--- The label of a place, and the text of its day.
local function label_of(step, place)
    local days = floor(place / DAY)
    local year, month, day = date_of(days)
    local date = ("%04d-%02d-%02d"):format(year, month, day)
    if step.unit == "year" then return ("%d"):format(year), date end
    if step.unit == "month" then return date:sub(1, -4), date end
    if step.unit == "day" then return date, date end
    local time = place - days * DAY
    local clock = ("%02d:%02d"):format(floor(time / 3600), floor(time / 60) % 60)
    if step.unit == "minute" then return clock, date end
    return clock .. (step.count < 1 and ":%06.3f" or ":%02.0f"):format(time % 60), date
end

--- A place as a text, on an axis of such an extent: the day, and the time where the axis has few days.
function dates.text(place, extent)
    if math.abs(place) > FAR then return ("%.6g"):format(place) end
    local step = { unit = "second", count = extent < 1 and 0.001 or 1 }
    local time, date = label_of(step, place)
    if extent >= DAYS * DAY then return date end
    return date .. " " .. (extent < 600 and time or time:sub(1, 5))
end

--- Ticks of an axis of dates, as commands for gnuplot; how many lines labels have, nil: none, for the axis reaches too
-- far, or is too short. Along x, the day is below the first time of each. room: as of ticks.linear.
function dates.ticks(out, which, axis, room)
    if axis.low < -FAR or axis.high > FAR or axis.high - axis.low < 0.005 then return nil end
    local step, list, last = step_for(which, axis, room), {}, nil
    local within = step.unit == "second" or step.unit == "minute"
    local places = places_of(step, axis)
    for k, place in ipairs(places) do
        local label, date = label_of(step, place)
        local next_date = places[k + 1] and select(2, label_of(step, places[k + 1]))
        if within and date ~= last and (k > 1 or next_date == date or not next_date) then
            label = which == "x" and label .. "\n" .. date or date .. " " .. label
        end
        last = date
        list[k] = ("%s %.17g"):format(script_text.quoted(label), place)
    end
    out(("set %stics (%s) noenhanced\n"):format(which, table.concat(list, ", ")))
    return within and which == "x" and 2 or 1
end

return dates
