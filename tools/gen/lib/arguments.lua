--- arguments.lua: how many arguments each function takes, by what help says of it.
local annotations = require "annotations"
local arguments = {}

--- By name of a public function: { arity = how many arguments it takes at most, options = which of them is a table of
-- options, or nil }. Functions that take any number of arguments, as "…" in a signature says, are not there.
-- entries: those of neap.help_gen.
function arguments.of(entries)
    local known = {}
    for _, entry in ipairs(entries) do
        local first
        for _, text in ipairs(entry.signatures) do
            local name, list = text:match "^(np%.[%w_%.]+)(%b())"
            name = name or text:match "^np%.[%w_%.]+"
            local parts = list and (list == "()" and {} or annotations.parts_of(list:sub(2, -2))) or first
            if name and parts then
                first = first or parts
                local fact = known[name] or { arity = 0 }
                known[name] = fact
                fact.arity = math.max(fact.arity, #parts)
                for k, part in ipairs(parts) do
                    if part:find "^%s*{%s*[%a_][%w_]*=" then fact.options = k end
                    if part:find "^%s*…" or part:find "…%s*$" then fact.any = true end
                end
            end
        end
    end
    for name, fact in pairs(known) do
        if fact.any then known[name] = nil end
    end
    return known
end

--- The same as Lua text: a line for each function, in order.
function arguments.text(known)
    local lines = {}
    for name, fact in pairs(known) do
        lines[#lines + 1] = ("    [%q] = { arity = %d%s },"):format(name, fact.arity,
                                                                fact.options and ", options = " .. fact.options or "")
    end
    table.sort(lines)
    return "return {\n" .. table.concat(lines, "\n") .. "\n}\n"
end

return arguments
