--- contract_moves.lua: what contracts of functions that only move elements have in common (tests/lib/contracts.lua).
local moves = {}

--- A contract of a function that moves elements as they are: of all dtypes, which stay, bit for bit.
function moves.contract(fields)
    local contract = { accepts = "floats complex ints bool", gives = "same", within = "exact", special = "together" }
    for key, value in pairs(fields) do contract[key] = value end
    return contract
end

--- The options without those that `names` names, which are arguments; nil where none is left.
function moves.rest(o, names)
    local left = {}
    for key, value in pairs(o) do
        if not (" " .. names .. " "):find(" " .. key .. " ", 1, true) then left[key] = value end
    end
    return next(left) ~= nil and left or nil
end

return moves
