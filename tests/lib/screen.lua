--- screen.lua: what a terminal shows for the bytes that it gets: the part of xterm that line editing uses.
--
-- The page grows downwards without end, so nothing is lost by scrolling; with a height the cursor stays in its last
-- rows. A sequence that it does not know is an error. `modes` counts how often each private mode was set or reset:
-- modes["2004h"].
local screen = {}
local Screen = {}
Screen.__index = Screen

function screen.new(width, height)
    return setmetatable({ width = width, height = height, rows = { {} }, row = 1, column = 0, wraps = false, rest = "",
                          modes = {}, style = "", styles = { {} } }, Screen)
end

--- The text of a row (from 1), without spaces at its end.
function Screen:text(row)
    local cells, parts = self.rows[row] or {}, {}
    local last = 0
    for column in pairs(cells) do last = math.max(last, column) end
    for column = 1, last do parts[column] = cells[column] or " " end
    return (table.concat(parts):gsub(" +$", ""))
end

--- The style of a cell (from 1), as the parameters of its sequence: "0;31"; "": none.
function Screen:style_at(row, column)
    return self.styles[row][column] or ""
end

--- The first row of the terminal.
function Screen:top()
    return self.height and math.max(1, #self.rows - self.height + 1) or 1
end

function Screen:move(row, column)
    self.row, self.column, self.wraps = math.max(row, self:top()), math.max(math.min(column, self.width - 1), 0), false
    for k = #self.rows + 1, self.row do self.rows[k], self.styles[k] = {}, {} end
end

--- The columns of a character: two for those of East Asia and pictures, none for those that stand over the one before.
local function columns_of(character)
    local lead, second, third = character:byte(1, 3)
    if lead < 0xC0 then return 1 end
    if lead == 0xCC or lead == 0xCD and second < 0xB0 then return 0 end
    local is_full = lead == 0xEF and (second == 0xBC and third >= 0x81 or second == 0xBD and third <= 0xA0)
    if lead >= 0xE3 and lead <= 0xED or is_full then return 2 end
    return lead >= 0xF0 and 2 or 1
end

function Screen:put(character)
    local columns = columns_of(character)
    local row = self.rows[self.row]
    if columns == 0 then
        local at = self.wraps and self.width or self.column
        while row[at] == "" do at = at - 1 end
        row[at] = row[at] .. character
        return
    end
    if self.wraps or self.column + columns > self.width then self:move(self.row + 1, 0) end
    row = self.rows[self.row]
    row[self.column + 1], self.styles[self.row][self.column + 1] = character, self.style
    if columns == 2 then row[self.column + 2] = "" end
    self.column = self.column + columns
    if self.column == self.width then self.column, self.wraps = self.width - 1, true end
end

--- Erases columns from … to (from 1) of a row.
function Screen:erase(row, from, to)
    for column = from, to do self.rows[row][column], self.styles[row][column] = nil, nil end
end

local controls = {
    A = function(s, n) s:move(s.row - n, s.column) end,
    B = function(s, n) s:move(s.row + n, s.column) end,
    C = function(s, n) s:move(s.row, s.column + n) end,
    D = function(s, n) s:move(s.row, s.column - n) end,
    G = function(s, n) s:move(s.row, n - 1) end,
    K = function(s) s:erase(s.row, s.column + 1, s.width) end,
    H = function(s) s:move(s:top(), 0) end,
    J = function(s, n)
        s:erase(s.row, s.column + 1, s.width)
        for row = n == 2 and s:top() or s.row + 1, #s.rows do s.rows[row], s.styles[row] = {}, {} end
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
    m = function(s, _, parameters) s.style = parameters == "0" and "" or parameters end,
}

--- Takes the sequence at the beginning of `text`. Returns its length, nil if it is not complete.
function Screen:escape(text)
    local private, n, final = text:match "^\27%[(%??)([%d;]*)([%a@])"
    if final then
        if private == "" then
            local control = controls[final] or error("unknown sequence " .. final)
            control(self, tonumber(n) or 1, n)
        else
            self.modes[n .. final] = (self.modes[n .. final] or 0) + 1
        end
        return 2 + #private + #n + 1
    end
    if text:find "^\27[=>]" then return 2 end
    if text:find "^\0277" then self.saved = { self.row, self.column } end
    if text:find "^\0278" then self:move(unpack(self.saved)) end
    if text:find "^\27[78]" then return 2 end
    if text:find "^\27$" or text:find "^\27%[%??[%d;]*$" then return nil end
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
            elseif character >= "\192" then
                local _, last = text:find("^[\192-\255][\128-\191]*", place)
                local wanted = character >= "\240" and 4 or character >= "\224" and 3 or 2
                if last - place + 1 < wanted and last == #text then break end
                self:put(text:sub(place, last))
                place = last
            elseif character ~= "\7" then self:put(character)
            end
            place = place + 1
        end
    end
    self.rest = text:sub(place)
end

return screen
