--- suggest.lua: the name that a misspelt one may have meant.
local suggest = {}

local MOST_BYTES = 40 -- longer words are no misspelt names

--- The edits that make b of a: a letter more, less or other, or two neighbours swapped.
local function edits(a, b)
    local before, row = nil, {}
    for j = 0, #b do row[j] = j end
    for i = 1, #a do
        local next_row = { [0] = i }
        for j = 1, #b do
            local same = a:byte(i) == b:byte(j)
            local least = math.min(row[j] + 1, next_row[j - 1] + 1, row[j - 1] + (same and 0 or 1))
            if before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
                least = math.min(least, before[j - 2] + 1)
            end
            next_row[j] = least
        end
        before, row = row, next_row
    end
    return row[#b]
end

--- Of the string keys of the tables in the list `holders`, the one that differs from `word` in the fewest letters, if
-- not in more than a third of them. Else, or if that begins with another letter, the shortest that begins with the
-- word, or else the longest with which the word begins; what is begun with has three letters or more. Nil if there is
-- none.
function suggest.name(word, holders)
    if type(word) ~= "string" or #word > MOST_BYTES then return nil end
    local lower, best, fewest, longer = word:lower(), nil, math.min(3, math.max(1, math.floor(#word / 3))) + 0.5, nil
    local shorter
    for _, holder in ipairs(holders) do
        for name in next, holder do
            if type(name) == "string" and not name:find "^_" and name ~= word then
                local count = math.abs(#name - #word) < fewest and edits(lower, name:lower()) or math.huge
                if count < fewest or count == fewest and best and name < best then best, fewest = name, count end
                if #word >= 3 and name:sub(1, #word):lower() == lower
                    and (not longer or #name < #longer or #name == #longer and name < longer) then
                    longer = name
                end
                if #name >= 3 and lower:sub(1, #name) == name:lower() and (not shorter or #name > #shorter) then
                    shorter = name
                end
            end
        end
    end
    if best and longer and best:sub(1, 1):lower() ~= lower:sub(1, 1) then return longer end
    return best or longer or shorter
end

--- "; did you mean PREFIX…NAME?", or nothing.
function suggest.hint(word, holders, prefix)
    local name = suggest.name(word, holders)
    return name and ("; did you mean %s%s?"):format(prefix or "", name) or ""
end

return suggest
