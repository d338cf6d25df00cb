--- peers.lua: reads tools/gen/names.txt, which says what functions of NumPy, JAX and PyTorch are called here, and makes
-- the page docs/reference/names.md and the table of names for messages of it.
local peers = {}

local PACKAGES = { "NumPy", "JAX", "PyTorch" }
local SHORT = { numpy = 1, jax = 2, torch = 3 }

--- What a text says: { rows = a list of { name, names = for each package a list, note }, own = a list of
-- { patterns, text }, absent = a list of { column, patterns, text } }. Raises at what is no line of the form.
function peers.read(text)
    local found = { rows = {}, own = {}, absent = {} }
    local lines = {}
    for line in text:gmatch "[^\n]+" do
        if line:find "^%s" then
            lines[#lines] = lines[#lines] .. " " .. line:match "^%s*(.*)"
        elseif not line:find "^#" then
            lines[#lines + 1] = line
        end
    end
    for _, line in ipairs(lines) do
        local cells = {}
        for cell in (line .. " | "):gmatch "(.-) +| +" do cells[#cells + 1] = cell end
        local kind, package = cells[1]:match "^(%l+) ?(%l*)$"
        local function words(cell)
            local list = {}
            for word in cell:gmatch "%S+" do list[#list + 1] = word end
            return list
        end
        if kind == "own" and #cells == 3 then
            table.insert(found.own, { patterns = words(cells[2]), text = cells[3] })
        elseif kind == "absent" and #cells == 3 and SHORT[package] then
            table.insert(found.absent, { column = SHORT[package], patterns = words(cells[2]), text = cells[3] })
        elseif #cells >= 4 and #cells <= 5 and cells[1]:find "^%l+%.[%w_%.]+$" then
            local name = cells[1]
            local row = { name = name, names = {}, note = cells[5] }
            for column = 1, 3 do
                row.names[column] = {}
                for _, word in ipairs(words(cells[column + 1])) do
                    if word == "=" then word = name:match "^%l+%.(.*)$" end
                    if word ~= "-" then table.insert(row.names[column], word) end
                end
            end
            table.insert(found.rows, row)
        else
            error("names.txt: no line of the form that its head says: " .. line)
        end
    end
    return found
end

--- Whether a name fits a pattern, in which * stands for any letters.
function peers.fits(name, pattern)
    return name:find("^" .. pattern:gsub("[%.%-]", "%%%0"):gsub("%*", ".*") .. "$") ~= nil
end

-- ---- The page -------------------------------------------------------------------------------------------------------

-- By the beginning of names: the title of their table, in this order.
local TABLES = {
    { "^x%.", "Methods and fields of arrays" }, { "^np%.linalg%.", "Linear algebra" },
    { "^np%.fft%.", "Fourier transforms" }, { "^np%.special%.", "Special functions" },
    { "^np%.random%.", "Random numbers" }, { "^np%.nn%.", "Neural networks" }, { "^np%.optim%.", "Optimizers" },
    { "^np%.io%.", "Files" }, { "^np%.tree%.", "Trees of arrays" }, { "^np%.", "np itself" },
}

local HEAD = [[
# Names

Generated from `tools/gen/names.txt`. What functions of NumPy, JAX and PyTorch are called here; behind the tables stands
what is not here, and why. Names of NumPy stand behind `numpy.`, those of JAX behind `jax.numpy.` unless they begin with
`jax`, `lax`, `nn`, `ops`, `random`, `scipy` or `tree`, which stand behind `jax.`; those of PyTorch stand behind
`torch.`, `F` being `torch.nn.functional`. A name of another package with another name here gives an error that says so,
and `?name` tells what a function does.
]]

local function code(names)
    local parts = {}
    for k, name in ipairs(names) do parts[k] = "`" .. name .. "`" end
    return table.concat(parts, ", ")
end

--- Text in a table: marks of Markdown stand for themselves.
local function cell(text)
    return (text:gsub("[*_<>|]", "\\%0"))
end

--- The page, of what peers.read gave: rows of names that are there, by `known`.
function peers.page(found, known)
    local lines, done = { HEAD }, {}
    local function add(line) lines[#lines + 1] = line end
    for _, part in ipairs(TABLES) do
        local rows = {}
        for _, row in ipairs(found.rows) do
            if not done[row] and row.name:find(part[1]) then
                done[row] = true
                if known[row.name] then rows[#rows + 1] = row end
            end
        end
        if #rows > 0 then
            add("## " .. part[2] .. "\n")
            add "| here | NumPy | JAX | PyTorch | |"
            add "|---|---|---|---|---|"
            for _, row in ipairs(rows) do
                add(("| `%s` | %s | %s | %s | %s |"):format(row.name, code(row.names[1]), code(row.names[2]),
                                                            code(row.names[3]), cell(row.note or "")))
            end
            add ""
        end
    end
    for column, package in ipairs(PACKAGES) do
        add(("## Of %s, not here\n"):format(package))
        add "| names | |"
        add "|---|---|"
        for _, row in ipairs(found.absent) do
            if row.column == column then add(("| %s | %s |"):format(code(row.patterns), cell(row.text))) end
        end
        for _, row in ipairs(found.rows) do
            if not known[row.name] and #row.names[column] > 0 then
                add(("| %s | to be `%s`, which is not there yet |"):format(code(row.names[column]), row.name))
            end
        end
        add ""
    end
    return (table.concat(lines, "\n"):gsub("\n+$", "\n"):gsub("  +|", " |"))
end

-- ---- For messages ---------------------------------------------------------------------------------------------------

--- How a user writes a name of an entry of help: x:wait(), x[…].
local function written(entry, name)
    for k, own in ipairs(entry.names) do
        if own == name and name:find "^x%." then return entry.signatures[k] end
    end
    return name
end

--- By the path behind np. of a name that another package has, and neap has under another one, what it is here; and why
-- what is not here is not: { functions, absent }. Patterns are left out: they fit misspelt names, too.
function peers.messages(found, known)
    local functions, absent = {}, {}
    for turn = 1, 6 do -- names as they stand first, then those behind parts that np does not have
        for _, row in ipairs(found.rows) do
            for _, name in ipairs(known[row.name] and row.names[(turn - 1) % 3 + 1] or {}) do
                local here = turn <= 3 and name
                    or name:gsub("^jax%.", ""):gsub("^lax%.", ""):gsub("^F%.", "nn."):gsub("^scipy%.", "")
                if not known["np." .. here] and not functions[here] then
                    functions[here] = written(known[row.name], row.name)
                end
            end
        end
    end
    for _, row in ipairs(found.absent) do
        for _, pattern in ipairs(row.patterns) do
            local here = pattern:gsub("^lax%.", ""):gsub("^F%.", "nn.")
            if not here:find("*", 1, true) and not known["np." .. here] and not functions[here] then
                absent[here] = absent[here] or row.text
            end
        end
    end
    return { functions = functions, absent = absent }
end

return peers
