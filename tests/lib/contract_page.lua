--- contract_page.lua: the page docs/reference/contracts.md, made from what the files of tests/contracts say with
-- NEAP_CONTRACTS=page (tests/lib/contracts.lua). tools/contracts writes it, tests/docs/contract_page_test.lua
-- compares.
local process = require "tests.lib.process"

local page = {}

local HEAD = [[
# Contracts of functions

Written by `tools/contracts`. A public function that is one op has its tests from its row ([ops.md](ops.md)). Every
other one is held to a contract in `tests/contracts`: an oracle, which is never neap itself, and the ways in which a
function can be used, each a test (`tests/lib/contracts.lua`):

| way | what is held |
|---|---|
%s
Where nothing else is said, a way that is not in a row does not apply: the function has no options, no second argument
or no special point. `o` in oracles are the options, `np` is NumPy, `sp` scipy.special, `pd` pandas, `jnp` jax.numpy.
]]

local WAYS = {
    { "values", "results equal the oracle's in every accepted dtype: halves as f64 rounded once, 64-bit integers with "
        .. "all digits; shapes that broadcast, are empty, have one element or no axes; each option" },
    { "special", "the same where NaN, infinities, -0, the smallest and largest numbers, the ends of integers stand" },
    { "strided", "transposed, reversed and broadcast arrays count as copies of them" },
    { "numbers", "a number, a table, a 64-bit integer in the place of an array is one of the dtype that it meets" },
    { "jit, programs", "under np.jit, in deferred mode, recorded, saved and loaded: the same bits" },
    { "sizes", "a program that is recorded with declared sizes gives the bits of a call at all others; at some it "
        .. "may refuse where a reason says so" },
    { "vmap", "np.vmap over all arguments and over each is a loop" },
    { "mesh", "arrays that lie divided on a mesh count as whole ones" },
    { "derivatives", "first ones in both modes, second ones in four orders, against differences" },
    { "points", "derivatives at ties, kinks, zeros, branch cuts, ends of domains, against JAX or a formula" },
    { "options", "every option that help names is in some case" },
    { "integers", "sizes, counts, axes and the like may be 64-bit integers of LuaJIT, as 5LL" },
    { "refusals", "what is unknown or does not fit is refused by name" },
    { "files", "what is written is read back equal" },
}

--- The head of the page, with the table of ways.
local function head()
    local rows = {}
    for k, way in ipairs(WAYS) do rows[k] = ("| %s | %s |\n"):format(way[1], way[2]) end
    return HEAD:format(table.concat(rows))
end

local TABLE = "\n## [%s](../../%s)\n\n| function | oracle | held to | not, because |\n|---|---|---|---|\n"

--- The fields of a line between tabs.
local function fields_of(line)
    local list = {}
    for field in (line .. "\t"):gmatch "([^\t]*)\t" do list[#list + 1] = field end
    return list
end

--- Text as it stands in a cell of a table.
local function cell(text)
    return (text:gsub("|", "\\|"):gsub("[<>]", { ["<"] = "&lt;", [">"] = "&gt;" }):gsub("([*_])", "\\%1"))
end

local function code(text)
    return "`" .. text:gsub("|", "\\|"):gsub("`", "'") .. "`"
end

--- The rows of a file's functions, by name; names that other tests hold are together, by file and reason.
local function rows_of(text)
    local rows, together = {}, {}
    for line in text:gmatch "[^\n]+" do
        local name, kind, what, more = unpack(fields_of(line))
        if name == "" then -- why a way of the function before does not apply
            local row = rows[#rows]
            row[4] = (row[4] and row[4] .. "; " or "") .. kind .. ": " .. cell(what)
        elseif kind == "elsewhere" then
            local key = what .. more
            if together[key] then
                together[key][1] = together[key][1] .. ", " .. code(name)
            else
                together[key] = { code(name), ("[%s](../../%s)"):format(cell(what), what), "", cell(more) }
                rows[#rows + 1] = together[key]
            end
        elseif kind == "same" then
            rows[#rows + 1] = { code(name), "is " .. code(what), "" }
        else
            rows[#rows + 1] = { code(name), kind == "oracle" and code(what) or cell(what), more }
        end
    end
    table.sort(rows, function(a, b) return a[1] < b[1] end)
    return rows
end

--- The whole page.
function page.text()
    local parts = { head() }
    local list = io.popen "ls tests/contracts/*_test.lua"
    for path in list:lines() do
        local module = path:match "([%w_]+)_test%.lua$"
        local status, out, err = process.run { "env", "NEAP_CONTRACTS=page", process.neap, path }
        if status ~= 0 then error(path .. ": " .. err) end
        parts[#parts + 1] = TABLE:format(module, path)
        for _, row in ipairs(rows_of(out)) do
            parts[#parts + 1] = ("| %s | %s | %s | %s |\n"):format(row[1], row[2], row[3], row[4] or "")
        end
    end
    list:close()
    return table.concat(parts)
end

return page
