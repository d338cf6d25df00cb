--- sized_rows.lua: tests of functions in programs with declared sizes: each is recorded once and compared at other
-- sizes, small and larger, with a direct call: the same bits, or a refusal.
--
--     rows { { "matmul", np.matmul, "n, 3", "3, m" }, … }
--
-- A row: a name, a function, for each argument its shape and, before that, its dtype ("i32 n, 2"); and
--     from, to    the sizes n that it follows to
--     at          the size at which it is recorded
--     refuses     a pattern of the refusal of its recording
-- m is another size: it is drawn for each n. ROW=pattern in the environment runs some rows.
local check = require "tests.lib.check"
local np = require "neap"

local RECORDED, OTHERS = 6, { 1, 2, 3, 5, 9, 20 }
local COINCIDENCES = os.getenv "NEAP_TEST_LONG" and { 1, 2, 3, 4, 5 } or { 1, 3 }

-- ---- Arrays of a row ------------------------------------------------------------------------------------------------

--- The other size.
local function m_of(n) return n * 7 % 5 + 1 end

--- The extents of "n, n + 1, 3" for a size n, and as a declaration.
local function shape_of(text, n)
    local dims, declared = {}, {}
    for part in text:gmatch "[^,]+" do
        part = part:match "^%s*(.-)%s*$"
        declared[#declared + 1] = tonumber(part) or part
        dims[#dims + 1] = assert(loadstring("local n, m = ... return " .. part:gsub("//", "/")))(n, m_of(n))
        dims[#dims] = math.floor(dims[#dims])
    end
    return dims, declared
end

--- "c64 n, 3": the array for a size n: normal floats, integers from 0 to 4, truths.
local function array_of(text, n, number)
    local dtype, dims = text:match "^(%l%w+) (.*)$"
    local key = np.random.key(100 * number + n)
    dims = shape_of(dims or text, n)
    if dtype == "i32" then return np.random.randint(key, dims, 0, 5) end
    if dtype == "bool" then return np.random.bernoulli(key, 0.5, dims) end
    if dtype == "key" then return np.random.key(number) end
    return np.random.normal(key, dims, { dtype = dtype or "f32" })
end

local function arguments_of(row, n)
    local list, declared = {}, {}
    for k, text in ipairs(row.given) do
        list[k] = array_of(text, n, k)
        declared[k] = select(2, shape_of(text:match "^%l%w+ (.*)$" or text, n))
    end
    return list, declared
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------

local function flat(value, path, list)
    if type(value) == "table" then
        local keys = {}
        for key in pairs(value) do keys[#keys + 1] = key end
        table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
        for _, key in ipairs(keys) do flat(value[key], path .. "." .. tostring(key), list) end
    else
        list[#list + 1] = { path, value }
    end
    return list
end

local function same(got, expected)
    got, expected = flat(got, "", {}), flat(expected, "", {})
    if #got ~= #expected then return ("%d results, not %d"):format(#got, #expected) end
    for k = 1, #got do
        local a, b = got[k][2], expected[k][2]
        if got[k][1] ~= expected[k][1] then return got[k][1] .. " in place of " .. expected[k][1] end
        local arrays = type(a) == "cdata" and type(b) == "cdata"
        if not arrays then
            if a ~= b then return ("%s: %s, not %s"):format(got[k][1], tostring(a), tostring(b)) end
        elseif a.dtype ~= b.dtype or not pcall(check.equal, a.shape, b.shape) then
            return ("%s: %s %s, not %s %s"):format(got[k][1], a.dtype, table.concat(a.shape, ","), b.dtype,
                                                   table.concat(b.shape, ","))
        elseif not pcall(check.equal, np.totable(a), np.totable(b)) then
            return ("%s: other values\n%s\n%s"):format(got[k][1], tostring(a), tostring(b))
        end
    end
end

local function results_of(f, ...) return { f(...) } end

--- What a row is, at each size: "follows", "refuses: why", or a difference.
local function outcome(f, row, program, n)
    local list = arguments_of(row, n)
    local direct, expected = pcall(results_of, f, unpack(list))
    local ok, got = pcall(results_of, program, unpack(list))
    if direct then -- values are computed late
        direct, expected = pcall(function() for _, x in ipairs(flat(expected, "", {})) do
            if type(x[2]) == "cdata" then np.wait(x[2]) end end return expected end)
    end
    if not ok then return direct and "refuses: " .. tostring(got) or "raises" end
    if not direct then return "differs: no error, but directly " .. tostring(expected) end
    local difference = same(got, expected)
    return difference and "differs: " .. difference or "follows"
end

local function record(row, n)
    local list, declared = arguments_of(row, n)
    return pcall(np.trace(row.f, { sizes = declared }), unpack(list))
end

--- What is wrong with the programs of a row that was recorded at n. `follows(m)`: whether it must have one for m.
local function compare(row, program, follows)
    local seen = {}
    for _, n in ipairs(OTHERS) do
        local found = outcome(row.f, row, program, n)
        if found:find "^differs" or found:find "^refuses" and follows(n) then
            seen[#seen + 1] = ("n = %d %s"):format(n, found)
        end
    end
    if #seen > 0 then error(table.concat(seen, "\n  "), 0) end
end

local function test_row(row)
    check.test(row.name, function()
        local ok, program = record(row, row.at or RECORDED)
        if not ok then
            if row.refuses then return check.ok(tostring(program):find(row.refuses), tostring(program)) end
            error("not recorded: " .. tostring(program), 0)
        end
        check.ok(not row.refuses, "it is recorded, though the row says that it refuses")
        compare(row, program, function(n) return n >= (row.from or 1) and n <= (row.to or n) end)
    end)
    check.test(row.name .. ", recorded at sizes that are numbers of the row, too", function()
        for _, at in ipairs(COINCIDENCES) do
            local ok, program = record(row, at)
            if ok then compare(row, program, function() return false end) end
        end
    end)
end

local only = os.getenv "ROW"

--- Tests a list of rows.
return function(list)
    for _, row in ipairs(list) do
        row.name, row.f, row.given = row[1], row[2], { unpack(row, 3) }
        if not only or row.name:find(only) then test_row(row) end
    end
end
