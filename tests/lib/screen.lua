--- screen.lua: what a terminal shows for the bytes that it gets: the part of xterm that line editing uses.
--
-- The page grows downwards without end, so nothing is lost by scrolling. A sequence that it does not know is an error.
-- `modes` counts how often each private mode was set or reset: modes["2004h"].
local screen = {}
local Screen = {}
Screen.__index = Screen

function screen.new(width)
    return setmetatable({ width = width, rows = { {} }, row = 1, column = 0, wraps = false, rest = "",
                          modes = {} }, Screen)
end

--- The text of a row (from 1), without spaces at its end.
function Screen:text(row)
    local cells, parts = self.rows[row] or {}, {}
    local last = 0
    for column in pairs(cells) do last = math.max(last, column) end
    for column = 1, last do parts[column] = cells[column] or " " end
    return (table.concat(parts):gsub(" +$", ""))
end

function Screen:move(row, column)
    self.row, self.column, self.wraps = math.max(row, 1), math.max(math.min(column, self.width - 1), 0), false
    for k = #self.rows + 1, self.row do self.rows[k] = {} end
end

function Screen:put(character)
    if self.wraps then self:move(self.row + 1, 0) end
    self.rows[self.row][self.column + 1] = character
    if self.column + 1 == self.width then self.wraps = true else self.column = self.column + 1 end
end

--- Erases columns from … to (from 1) of a row.
function Screen:erase(row, from, to)
    for column = from, to do self.rows[row][column] = nil end
end

local controls = {
    A = function(s, n) s:move(s.row - n, s.column) end,
    B = function(s, n) s:move(s.row + n, s.column) end,
    C = function(s, n) s:move(s.row, s.column + n) end,
    D = function(s, n) s:move(s.row, s.column - n) end,
    G = function(s, n) s:move(s.row, n - 1) end,
    K = function(s) s:erase(s.row, s.column + 1, s.width) end,
    J = function(s)
        s:erase(s.row, s.column + 1, s.width)
        for row = s.row + 1, #s.rows do s.rows[row] = {} end
    end,
    P = function(s, n)
        local cells = s.rows[s.row]
        for column = s.column + 1, s.width do cells[column] = cells[column + n] end
    end,
    ["@"] = function(s, n)
        local cells = s.rows[s.row]
        for column = s.width, s.column + 1 + n, -1 do cells[column] = cells[column - n] end
        s:erase(s.row, s.column + 1, s.column + n)
    end,
    m = function() end,
}

--- Takes the sequence at the beginning of `text`. Returns its length, nil if it is not complete.
function Screen:escape(text)
    local private, n, final = text:match "^\27%[(%??)(%d*)([%a@])"
    if final then
        if private == "" then
            local control = controls[final] or error("unknown sequence " .. final)
            control(self, tonumber(n) or 1)
        else
            self.modes[n .. final] = (self.modes[n .. final] or 0) + 1
        end
        return 2 + #private + #n + 1
    end
    if text:find "^\27[=>]" then return 2 end
    if text:find "^\27$" or text:find "^\27%[%??%d*$" then return nil end
    error(("unknown sequence %q"):format(text:sub(1, 10)))
end

--- Takes bytes.
function Screen:write(bytes)
    local text, place = self.rest .. bytes, 1
    while place <= #text do
        local character = text:sub(place, place)
        if character == "\27" then
            local length = self:escape(text:sub(place, place + 20))
            if not length then break end
            place = place + length
        else
            if character == "\r" then self:move(self.row, 0)
            elseif character == "\n" then self:move(self.row + 1, self.column)
            elseif character == "\b" then self:move(self.row, self.column - 1)
            elseif character ~= "\7" then self:put(character)
            end
            place = place + 1
        end
    end
    self.rest = text:sub(place)
end

return screen
