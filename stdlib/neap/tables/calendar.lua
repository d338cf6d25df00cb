--- calendar.lua: dates as numbers: the calendar of ISO 8601 (Gregorian, before 1582 too), texts of dates, and units of
-- time. A date is a tick, the microseconds since 1970-01-01 00:00 as an i64, without leap seconds and without a zone.
--
-- From days to years and back by Howard Hinnant, chrono-Compatible Low-Level Date Algorithms: in years that begin in
-- March, so that a leap day ends one. The same lines take numbers and arrays of i64; `div` is their floor division.
local calendar = {}

local floor = math.floor
local DAY = 86400000000
calendar.DAY = DAY

--- The days from 1970-01-01 to a day.
function calendar.days(year, month, day, div)
    local behind = div(month + 9, 12) -- 0 in January and February, which end the year before
    year = year - 1 + behind
    local era = div(year, 400)
    local of_era, from_march = year - era * 400, month + 9 - behind * 12
    local of_year = div(from_march * 153 + 2, 5) + day - 1
    return era * 146097 + of_era * 365 + div(of_era, 4) - div(of_era, 100) + of_year - 719468
end

--- The year, month and day of a number of days from 1970-01-01.
function calendar.civil(days, div)
    local z = days + 719468
    local era = div(z, 146097)
    local of_era = z - era * 146097
    local year = div(of_era - div(of_era, 1460) + div(of_era, 36524) - div(of_era, 146096), 365)
    local of_year = of_era - (year * 365 + div(year, 4) - div(year, 100))
    local from_march = div(of_year * 5 + 2, 153)
    local behind = div(from_march, 10)
    return year + era * 400 + behind, from_march + 3 - behind * 12, of_year - div(from_march * 153 + 2, 5) + 1
end

--- The floor division of Lua numbers.
function calendar.div(a, b) return floor(a / b) end

local function days_in(year, month)
    if month == 2 then return (year % 4 == 0 and year % 100 ~= 0 or year % 400 == 0) and 29 or 28 end
    return (month == 4 or month == 6 or month == 9 or month == 11) and 30 or 31
end
calendar.days_in = days_in

-- ---- Ticks of fields ------------------------------------------------------------------------------------------------

--- The days since 1970 and the microseconds behind them of a date and a time, which are numbers; ahead: the minutes
-- that the zone is ahead of UTC. Nil where there is no such day or time.
local function place_of(year, month, day, hour, minute, second, micro, ahead)
    if not year or year < 1 or year > 9999 or month < 1 or month > 12 or day < 1 or day > days_in(year, month)
        or hour > 23 or minute > 59 or second > 59 then
        return nil
    end
    local seconds = (hour * 60 + minute - ahead) * 60 + second
    return calendar.days(year, month, day, calendar.div), seconds * 1000000 + micro
end

--- The same of a table of fields: year, month, day, hour, minute, second, micro, ahead.
local function place_of_fields(f)
    return place_of(f.year, f.month or 1, f.day or 1, f.hour or 0, f.minute or 0, f.second or 0, f.micro or 0,
                    f.ahead or 0)
end

--- The tick of days and microseconds, an i64.
function calendar.tick(days, micro) return days * 86400000000LL + micro end

--- The digits behind the point of a second as microseconds; further digits are cut off.
local function micro_of(digits) return tonumber((digits .. "00000"):sub(1, 6)) end

--- The minutes of a zone: Z, +02:00, -0530, +01; nil: it is none.
local function zone_of(s)
    if s == "Z" or s == "z" then return 0 end
    local sign, hours, minutes = s:match "^([+-])(%d%d):?(%d%d)$"
    if not sign then sign, hours, minutes = s:match "^([+-])(%d%d)()$" end
    hours, minutes = tonumber(hours), minutes and type(minutes) == "string" and tonumber(minutes) or 0
    if not sign or hours > 23 or minutes > 59 then return nil end
    return (sign == "-" and -1 or 1) * (hours * 60 + minutes)
end

--- calendar.parse of a text of any form.
local function parse_any(s)
    local year, month, day, rest = s:match "^%s*(%d%d%d%d)-(%d%d)-(%d%d)(.-)%s*$"
    if not year then year, month, day, rest = s:match "^%s*(%d%d%d%d)(%d%d)(%d%d)(.-)%s*$" end
    if not year then
        year, month = s:match "^%s*(%d%d%d%d)-(%d%d)%s*$"
        rest = ""
    end
    if not year then return nil end
    local f = { year = tonumber(year), month = tonumber(month), day = day and tonumber(day) }
    if rest ~= "" then
        local hour, minute, behind = rest:match "^[Tt ](%d%d):?(%d%d)(.*)$"
        if not hour then return nil end
        f.hour, f.minute = tonumber(hour), tonumber(minute)
        local second, after = behind:match "^:?(%d%d)(.*)$"
        if second then
            f.second, behind = tonumber(second), after
            local digits, zone = behind:match "^[.,](%d+)(.*)$"
            if digits then f.micro, behind = micro_of(digits), zone end
        end
        behind = behind:match "^ ?(.*)$"
        if behind ~= "" then
            f.ahead = zone_of(behind)
            if not f.ahead then return nil end
        end
    end
    return place_of_fields(f)
end

--- The days since 1970 and the microseconds behind them of a text as ISO 8601 has it; nil: it is none. The usual forms
-- come first.
function calendar.parse(s)
    local a, b, c, d, e, f = s:match "^(%d%d%d%d)-(%d%d)-(%d%d)[ T](%d%d):(%d%d):(%d%d)$"
    if not a then a, b, c = s:match "^(%d%d%d%d)-(%d%d)-(%d%d)$" end
    if a then
        return place_of(tonumber(a), tonumber(b), tonumber(c), d and tonumber(d) or 0, d and tonumber(e) or 0,
                        d and tonumber(f) or 0, 0, 0)
    end
    return parse_any(s)
end

-- ---- Formats --------------------------------------------------------------------------------------------------------

local MONTHS = { "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                 "November", "December" }
local WEEKDAYS = { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday" }

local SHORT = { F = "%Y-%m-%d", T = "%H:%M:%S", R = "%H:%M", D = "%m/%d/%y" }

--- The parts of a format: strings and conversions, { letter }; nil and the letter that is none of the known.
local function parts_of(format, known)
    format = format:gsub("%%([FTRD])", SHORT)
    local parts, at = {}, 1
    while at <= #format do
        local from = format:find("%", at, true) or #format + 1
        if from > at then parts[#parts + 1] = format:sub(at, from - 1) end
        if from <= #format then
            local letter = format:sub(from + 1, from + 1)
            if letter == "%" then
                parts[#parts + 1] = "%"
            elseif letter == "" or not known[letter] then
                return nil, letter
            else
                parts[#parts + 1] = { letter }
            end
        end
        at = from + 2
    end
    return parts
end

--- A reader of a number of so many digits at most into a field.
local function digits_into(field, most, fixed)
    local pattern = "^" .. (fixed and ("%d"):rep(most) or "%d" .. ("%d?"):rep(most - 1))
    return function(s, at, f)
        local found = s:match(pattern, at)
        if not found then return nil end
        f[field] = tonumber(found)
        return at + #found
    end
end

--- A reader of a word of a list, whole or its first three letters, into a field.
local function word_into(field, words, whole)
    return function(s, at, f)
        for k, word in ipairs(words) do
            local known = (whole and word or word:sub(1, 3)):lower()
            if s:sub(at, at + #known - 1):lower() == known then
                f[field] = k
                return at + #known
            end
        end
        return nil
    end
end

local readers = {
    Y = digits_into("year", 4, true), m = digits_into("month", 2), d = digits_into("day", 2),
    H = digits_into("hour", 2), I = digits_into("hour12", 2), M = digits_into("minute", 2),
    S = digits_into("second", 2), j = digits_into("of_year", 3), y = digits_into("short", 2, true),
    b = word_into("month", MONTHS), B = word_into("month", MONTHS, true), a = word_into("weekday", WEEKDAYS),
    A = word_into("weekday", WEEKDAYS, true), p = word_into("half", { "AM", "PM" }, true),
}

function readers.f(s, at, f)
    local digits = s:match("^%d+", at)
    if not digits then return nil end
    f.micro = micro_of(digits)
    return at + #digits
end

function readers.z(s, at, f)
    local zone = s:match("^[Zz]", at) or s:match("^[+-]%d%d:?%d%d", at)
    f.ahead = zone and zone_of(zone)
    return f.ahead and at + #zone or nil
end

--- Fields that follow from others: two digits of a year as POSIX has them, hours of half a day, days of a year; nil
-- where they cannot be.
local function completed(f)
    if f.short then f.year = f.short + (f.short < 69 and 2000 or 1900) end
    if f.hour12 then
        if f.hour12 < 1 or f.hour12 > 12 then return nil end
        f.hour = f.hour12 % 12 + (f.half == 2 and 12 or 0)
    end
    if f.of_year then
        if not f.year or f.of_year < 1 or f.of_year > (days_in(f.year, 2) == 29 and 366 or 365) then return nil end
        local first = calendar.days(f.year, 1, 1, calendar.div)
        local _
        _, f.month, f.day = calendar.civil(first + f.of_year - 1, calendar.div)
    end
    return f
end

local function letters_of(known)
    local list = {}
    for letter in pairs(known) do list[#list + 1] = "%" .. letter end
    table.sort(list)
    return table.concat(list, " ") .. " %F %T %R %D %%"
end

--- A function text → days, microseconds, or nil, by a format as strptime has it; nil and what is wrong with the format.
function calendar.parser(format)
    local parts, letter = parts_of(format, readers)
    if not parts then return nil, ("%%%s is no conversion; there are %s"):format(letter, letters_of(readers)) end
    return function(s)
        local f, at = {}, 1
        for _, part in ipairs(parts) do
            if type(part) == "table" then
                at = readers[part[1]](s, at, f)
            elseif part:find "^%s+$" then
                at = s:match("^%s+()", at)
            else
                at = s:sub(at, at + #part - 1) == part and at + #part or nil
            end
            if not at then return nil end
        end
        if at ~= #s + 1 or not completed(f) then return nil end
        return place_of_fields(f)
    end
end

local TWO, FOUR = {}, {} -- numbers as texts of two digits and of four
for k = 0, 99 do TWO[k] = ("%02d"):format(k) end
for k = 0, 9999 do FOUR[k] = TWO[floor(k / 100)] .. TWO[k % 100] end

local writers = {
    Y = function(f) return FOUR[f.year] end, m = function(f) return TWO[f.month] end,
    d = function(f) return TWO[f.day] end, H = function(f) return TWO[f.hour] end,
    I = function(f) return TWO[(f.hour + 11) % 12 + 1] end,
    M = function(f) return TWO[f.minute] end, S = function(f) return TWO[f.second] end,
    f = function(f) return ("%06d"):format(f.micro) end, y = function(f) return TWO[f.year % 100] end,
    p = function(f) return f.hour < 12 and "AM" or "PM" end, b = function(f) return MONTHS[f.month]:sub(1, 3) end,
    B = function(f) return MONTHS[f.month] end, a = function(f) return WEEKDAYS[f.weekday]:sub(1, 3) end,
    A = function(f) return WEEKDAYS[f.weekday] end,
    j = function(f) return ("%03d"):format(f.days - calendar.days(f.year, 1, 1, calendar.div) + 1) end,
}

--- Puts the fields of days since 1970 and of the microseconds behind them into a table.
local function put_fields(f, days, micro)
    if f.days ~= days then
        f.days, f.weekday = days, (days + 3) % 7 + 1
        f.year, f.month, f.day = calendar.civil(days, calendar.div)
    end
    local seconds = floor(micro / 1000000)
    f.hour, f.minute, f.second, f.micro = floor(seconds / 3600), floor(seconds / 60) % 60, seconds % 60, micro % 1000000
end

--- A function of days since 1970 and the microseconds behind them → text by a format as strftime has it, and which
-- letters the format has; nil and what is wrong with it.
function calendar.formatter(format)
    local parts, letter = parts_of(format, writers)
    if not parts then return nil, ("%%%s is no conversion; there are %s"):format(letter, letters_of(writers)) end
    local letters, f, n = {}, {}, #parts
    for _, part in ipairs(parts) do
        if type(part) == "table" then letters[part[1]] = true end
    end
    return function(days, micro)
        put_fields(f, days, micro)
        local list = {}
        for k = 1, n do
            local part = parts[k]
            list[k] = type(part) == "table" and writers[part[1]](f) or part
        end
        return table.concat(list)
    end, letters
end

-- By the coarsest letters of a format: the length of what is written alike.
local GRAINS = { { "f", 1 }, { "S", 1e6 }, { "M", 6e7 }, { "HIp", 3.6e9 }, { "daAj", DAY } }

--- The periods in which all dates are written alike with some letters.
function calendar.grain(letters)
    for _, grain in ipairs(GRAINS) do
        for letter in grain[1]:gmatch "." do
            if letters[letter] then return { length = grain[2], from = 0 } end
        end
    end
    return { months = 1 }
end

-- Functions that write dates as ISO 8601 has them, by how finely.
calendar.ISO = { day = calendar.formatter "%F", second = calendar.formatter "%F %T",
                 micro = calendar.formatter "%F %T.%f" }

-- ---- Units and periods ----------------------------------------------------------------------------------------------

-- Microseconds of units of one length, and months of the others.
local LENGTHS = { us = 1, ms = 1000, s = 1e6, min = 6e7, h = 3.6e9, D = DAY, W = 7 * DAY }
local MONTHS_OF = { M = 1, Q = 3, Y = 12 }
calendar.LENGTHS, calendar.MONTHS_OF = LENGTHS, MONTHS_OF

--- Periods by their name, "D", "15min": { length = microseconds, from = a tick at which one begins } or { months };
-- nil: unknown. Several seconds, minutes or hours must make up a day.
function calendar.period(freq)
    local count, unit = freq:match "^(%d*)(%a+)$"
    if not unit then return nil end
    local n = count == "" and 1 or tonumber(count)
    if MONTHS_OF[unit] then return count == "" and { months = MONTHS_OF[unit] } or nil end
    local length = LENGTHS[unit]
    if not length or n < 1 or n > 1 and (length >= DAY or DAY % (n * length) ~= 0) then return nil end
    return { length = n * length, from = unit == "W" and -3 * DAY or 0 } -- 1969-12-29 was a Monday
end

--- The number of the period in which ticks lie, an i64 array; div is np.floor_divide.
function calendar.number(ticks, period, div)
    if period.length then return div(ticks - period.from, period.length) end
    local year, month = calendar.civil(div(ticks, DAY), div)
    return div(year * 12 + month - 1, period.months)
end

--- The tick with which periods begin, by their numbers.
function calendar.begin(numbers, period, div)
    if period.length then return numbers * period.length + period.from end
    local months = numbers * period.months
    local year = div(months, 12)
    return calendar.days(year, months - year * 12 + 1, 1, div) * DAY
end

return calendar
