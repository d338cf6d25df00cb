--- tables_test.lua (under tsan with --long): np.table, and text files: what golden files do not have: options, dtypes,
-- mistakes, what is written is read again. (Golden: tests/golden/tables_test.lua.)
local np = require "neap"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"

local path = os.tmpname()

local function store(text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

local function contents()
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

local function read(text, options)
    store(text)
    return np.io.read_csv(path, options)
end

--- Raises when this text is read, with the place and a pattern behind it.
local function refused(text, place, pattern, options)
    store(text)
    local problem = check.raises(function() np.io.read_csv(path, options) end, pattern)
    check.ok(problem:find(path .. ":" .. place .. ": ", 1, true), problem)
    check.ok(problem:find "tables_test.lua:%d+: np%.io%.read_csv: ", problem)
end

check.test("dtypes of columns", function()
    local t = read("a,b,c,d,e,f,g\n1,1.5,true,x,18446744073709551615,,9\n-2,2,False,7,3,,\n")
    local found = {}
    for k, name in ipairs(t.columns) do found[k] = t:column(name).dtype end
    check.equal(found, { "i64", "f64", "bool", "text", "u64", "f64", "f64" })
    check.equal(tostring(t.e[0]), "18446744073709551615")
    check.equal(t:totable().d, { "x", "7" })
    check.equal(read("a\n1\ntrue\n").a.dtype, "text")
    check.equal(read("a\n-1\n18446744073709551615\n").a.dtype, "f64") -- no integers hold both
    check.equal(read("a\n99999999999999999999\n").a:totable(), { 99999999999999999999 })
end)

check.test("lists of whole numbers are integers, and columns stand in the order of pairs", function()
    for _, case in ipairs { { { 1815 }, "i64" }, { { -3, 2 ^ 53 }, "i64" }, { { 0 }, "i64" }, { { 1, 2.5 }, "f32" },
                            { { -0.0 }, "f32" }, { { 1, np.nan }, "f32" }, { { np.inf }, "f32" },
                            { { 2 ^ 53 * 2 }, "f32" }, { { true }, "bool" }, { {}, "f32" },
                            { np.array { 1, 2 }, "f32" } } do
        local t = np.table { x = case[1] }
        check.equal(t.x.dtype, case[2])
        check.equal(t:with { y = case[1] }.y.dtype, case[2])
    end
    check.equal(np.table({ x = { 2 ^ 53 - 1 } }).x[0]:item(), np.array(9007199254740991LL):item())
    local t = np.table { { "name", { "Ada" } }, { "born", { 1815 } } }
    check.equal(table.concat(t.columns, " "), "name born")
    check.ok(tostring(t):find "Ada +1815\n", tostring(t))
end)

check.test("dtypes that are asked for", function()
    for _, dtype in ipairs(dtypes.names) do
        local x = read("a,b\n1,0\n0,1\n", { dtype = dtype }).a
        check.equal({ x.dtype, x:astype("i32"):totable() }, { dtype, { 1, 0 } })
    end
    local t = read("a,b\n1,2\n3,4\n", { dtype = { a = "text", b = "i16" } })
    check.equal({ t.a.dtype, t.b.dtype }, { "text", "i16" })
    for _, row in ipairs { { "u8", "256" }, { "u8", "-1" }, { "i8", "128" }, { "i64", "9223372036854775808" },
                           { "u64", "-1" }, { "i32", "1.5" }, { "bool", "2" }, { "f32", "x" }, { "i32", "" } } do
        refused("a,b\n0," .. row[2] .. "\n", "2:3", "column 'b'", { dtype = row[1] })
    end
    check.equal(read("a\n-128\n127\n", { dtype = "i8" }).a:totable(), { -128, 127 })
    check.equal(read("a\n0.1\n", { dtype = "f32" }).a:totable()[1], np.array(0.1):item())
end)

check.test("missing values", function()
    local t = read('a,b,c\n1,x,NA\n,,2\n3,"",""\n')
    check.equal({ t.a.dtype, t.c.dtype }, { "f64", "f64" })
    check.equal(t.a:totable(), { 1, 0 / 0, 3 })
    check.equal(t:totable().b, { "x", false, "" })
    check.equal(read("a,b\n1,2\n,3\n", { fill = { a = -1 } }).a:totable(), { 1, -1 })
    check.equal(read("a,b\n1,2\n,3\n", { fill = { a = -1 } }).a.dtype, "i64")
    check.equal(read("a,b\n1,2\n,3\n", { fill = 0, dtype = "u8" }).a:totable(), { 1, 0 })
    check.equal(read("a\n1\n-\n", { na_values = "-" }).a:totable(), { 1, 0 / 0 })
end)

check.test("forms of lines", function()
    local want = { a = { 1, 3 }, b = { 2, 4 } }
    for _, text in ipairs { "a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\r1,2\r3,4\r", "\n\na,b\n\n1,2\n  \n3,4\n\n",
                            "\239\187\191a,b\n 1 ,\t2\n3, 4 \n" } do
        check.equal(read(text):totable(), want, ("%q"):format(text))
    end
    check.equal(read('"a","b"\n"1","2"\n"3","4"\n', { quoting = "all" }):totable(), want)
    check.equal(read("# no\na,b # names\n1,2#x\n#\n3,4\n", { comment = "#" }).a:totable(), want.a)
    check.equal(read("x\nx\na;b\n1;2\n3;4\n5;6\n", { delimiter = ";", skiprows = 2, nrows = 2 }):totable(), want)
    check.equal(read("  a   b \n 1\t 2\n3 4", { delimiter = false }):totable(), want)
    check.equal(read("1,2\n3,4\n", { header = false, names = { "a", "b" } }):totable(), want)
    check.equal(read("1,2\n3,4\n", { header = false }).columns, { "c0", "c1" })
    check.equal(read("a,a,\n1,2,3\n").columns, { "a", "a.1", "c2" })
    local t = read("a,b,c\n1,2,3\n", { usecols = { "c", 0 } })
    check.equal(t.columns, { "c", "a" })
    check.equal(#read "a,b\n", 0)
    check.equal(#read "", 0)
end)

check.test("what stands in quotes is a text", function()
    local t = read('a,b,c,d\n"1",1,"",\n"true","",NA,"NA"\n')
    check.equal({ t.a.dtype, t.b.dtype, t.c.dtype, t.d.dtype }, { "text", "f64", "text", "text" })
    check.equal(t:totable(), { a = { "1", "true" }, b = { 1, 0 / 0 }, c = { "", false }, d = { false, "NA" } })
    t = read('a,b,c,d\n"1",1,"",\n"true","",NA,"NA"\n', { quoting = "all", dtype = { a = "text" } })
    check.equal({ t.c.dtype, t.d.dtype }, { "f64", "f64" })
    check.equal(read('a\n"1"\n', { dtype = "i32" }).a:totable(), { 1 })
    check.raises(function() return read('a\n"1"\n').a:mean() end, "has no 'mean'.*quoting=\"all\"")
    check.raises(function() return read('a\nx\n').a:mean() end, "has no 'mean' %(it has [^)]*%)$")
    check.raises(function() return read('a\nx\n').a:month() end, "has no 'month' %(.*np.to_datetime makes dates")
    check.raises(function() return np.to_datetime { "2024-01-05" }:month() end, "read without parentheses")
    check.raises(function() np.io.read_csv(path, { quoting = "none" }) end, "quoting")
end)

check.test("mistakes in files", function()
    refused("a,b\n1\n", "2:1", "ends after 1 field of 2")
    refused("a,b\n1,2,3\n", "2:5", "more than 2 fields")
    refused('a,b\n"x\ny",1\n2,"', "4:3", "does not end")
    refused('a\n"x"y\n', "2:4", "behind the closing quote")
    refused("a\n1\n\nbad\n", "4:1", "expected a number", { dtype = "f32" })
    check.raises(function() np.io.read_csv(path, { usecols = { "z" } }) end, "usecols")
    check.raises(function() np.io.read_csv(path, { delimiter = "ab" }) end, "one character")
    check.raises(function() np.io.read_csv(path, { sep = "," }) end, "unknown option 'sep'")
    check.raises(function() np.io.read_csv(path .. ".none") end, "cannot open")
end)

check.test("what is written is read again", function()
    local columns = { text = { 'a "b"', "x,y", "", false, "two\nlines", " 1", "NA" } }
    local order = { "text" }
    for _, dtype in ipairs(dtypes.names) do
        local x = np.array { 0, 1, 2, 3, 100, 0.1, 1e-7 }
        columns[dtype], order[#order + 1] = x:astype(dtype), dtype
    end
    columns.special, order[#order + 1] = np.array({ 1 / 0, -1 / 0, 0 / 0, -0.0, 5e-324, 1e22, 0.3 }, { dtype = "f64" }),
        "special"
    local t = np.table(columns, { columns = order })
    for _, delimiter in ipairs { ",", ";", "\t", "|" } do
        np.io.write_csv(path, t, { delimiter = delimiter })
        local u = np.io.read_csv(path, { delimiter = delimiter, na_values = {} })
        check.equal(u:totable().text, columns.text)
        for _, dtype in ipairs(dtypes.names) do
            check.equal(u:column(dtype):astype(dtype):totable(), t:column(dtype):totable(), dtype)
        end
        check.equal(u.special:totable(), t.special:totable())
    end
    np.io.write_csv(path, np.table { a = { 1, np.nan, 3 } })
    check.equal(contents(), "a\n1.0\nNA\n3.0\n")
    np.io.write_csv(path, np.eye(2), { header = false, fmt = "%.2f" })
    check.equal(contents(), "1.00,0.00\n0.00,1.00\n")
    check.raises(function() np.io.write_csv(path, np.ones(2)) end, "argument 2")
end)

check.test("arrays as text", function()
    local x = np.random.normal(np.random.key(0), { 20, 3 })
    np.io.savetxt(path, x)
    check.ok(np.array_equal(np.io.loadtxt(path, { dtype = "f32" }), x))
    np.io.savetxt(path, x[0], { fmt = "%.3f", delimiter = ",", header = "one\ntwo", footer = "end" })
    check.ok(contents():find "^# one\n# two\n%-?%d%.%d%d%d\n", contents())
    check.equal(np.io.loadtxt(path).shape, { 3 })
    store "1,2\n3,4\n5,6\n"
    check.equal(np.io.loadtxt(path, { delimiter = ",", usecols = { 1 }, max_rows = 2 }):totable(), { 2, 4 })
    local a, b = np.io.loadtxt(path, { delimiter = ",", unpack = true, dtype = "i32" })
    check.equal({ a:totable(), b:totable() }, { { 1, 3, 5 }, { 2, 4, 6 } })
    store "7"
    check.equal({ np.io.loadtxt(path).ndim, np.io.loadtxt(path, { ndmin = 2 }).ndim }, { 0, 2 })
    for _, row in ipairs { { "1,,3\n", "1:3" }, { "1,2,\n", "1:5" }, { ",1\n", "1:1" }, { "1,2\n,\n", "2:1" } } do
        store(row[1])
        for dtype, what in pairs { f64 = "a number", i32 = "an integer" } do
            check.raises(function() np.io.loadtxt(path, { delimiter = ",", dtype = dtype }) end,
                         row[2] .. ": expected " .. what .. " .* no value")
        end
    end
    store "\n"
    check.equal({ np.io.loadtxt(path).shape, np.io.loadtxt(path, { ndmin = 2 }).shape }, { { 0 }, { 0, 1 } })
    store "1  2\n"
    check.raises(function() np.io.loadtxt(path, { delimiter = " " }) end, "1:3: expected a number in column 1, got no")
    store "true 1\n"
    check.raises(function() np.io.loadtxt(path) end, "1:1: expected a number in column 0, got \"true\"")
    check.raises(function() np.io.loadtxt(path, { dtype = "i32" }) end, "1:1: expected an integer in column 0")
    check.equal(np.io.loadtxt(path, { dtype = "bool" }):totable(), { true, true })
    store "1 x\n"
    check.raises(function() np.io.loadtxt(path) end, ":1:3: expected a number in column 1, got \"x\"")
    store "a,b\n1,\n,4\n"
    check.equal(np.io.genfromtxt(path, { delimiter = ",", skip_header = 1 }):totable(), { { 1, 0 / 0 }, { 0 / 0, 4 } })
    check.equal(np.io.genfromtxt(path, { delimiter = ",", names = true, filling_values = 0 }).b:totable(), { 0, 4 })
    store "1,x\n-,4\n" -- words count as missing ones, as in NumPy
    local function generated(o)
        o.delimiter = ","
        return np.io.genfromtxt(path, o):totable()
    end
    check.equal(generated {}, { { 1, 0 / 0 }, { 0 / 0, 4 } })
    check.equal(generated { filling_values = -1, missing_values = "-" }, { { 1, -1 }, { -1, 4 } })
    check.equal(generated { filling_values = 7, dtype = "i32" }, { { 1, 7 }, { 7, 4 } })
    check.raises(function() generated { dtype = "i32" } end, ':1:3: expected an integer in column 1, got "x"')
    local words = np.io.genfromtxt(path, { delimiter = ",", names = { "a", "b" }, dtype = { b = "f64" } })
    check.equal({ words.b:totable(), words.a.dtype }, { { 0 / 0, 4 }, "text" })
end)

local t = np.table { { "city", { "Rome", "Bern", false, "Rome" } }, { "n", np.arange(4) },
                     { "x", { 1, np.nan, 3, 4 } } }

check.test("columns and rows", function()
    check.equal({ #t, t.columns, t.shape }, { 4, { "city", "n", "x" }, { 4, 3 } })
    check.equal(t:filter(t.city:eq "Rome").n:totable(), { 0, 3 })
    check.equal(t:filter(t.city:ne "Rome").n:totable(), { 1, 2 })
    check.equal(t[t.n:gt(1)].n:totable(), { 2, 3 })
    check.equal(t[np.array({ -1, 0 }, { dtype = "i32" })].n:totable(), { 3, 0 })
    check.raises(function() return t[np.ones(4)] end, "np.table.*indices")
    check.equal(t:filter(t.city:isin { "Bern", "Oslo" }).n:totable(), { 1 })
    check.equal(t:filter(t.city:isnan()).n:totable(), { 2 })
    check.equal({ t.city[1], t.city[2], t.city[-1], #t.city, t.city:unique() },
                { "Bern", nil, "Rome", 4, { "Bern", "Rome" } })
    check.equal(t:take { -1, 0 }:totable().city, { "Rome", "Rome" })
    check.equal({ t:head(1).n:totable(), t:tail(2).n:totable(), #t:head(0), #t:tail(9) }, { { 0 }, { 2, 3 }, 0, 4 })
    check.equal(t:sort("city").n:totable(), { 1, 0, 3, 2 })
    check.equal(t:sort("city", { descending = true }).n:totable(), { 0, 3, 1, 2 })
    check.equal(t:sort({ "x", "n" }, { descending = true }).n:totable(), { 3, 2, 0, 1 })
    check.equal(t:with { y = t.n * 2, n = t.n + 1 }:drop "city".columns, { "n", "x", "y" })
    check.equal(t:rename { n = "m" }.columns, { "city", "m", "x" })
    check.equal(t:select { "x", "n" }:to_array().shape, { 4, 2 })
    check.equal(t:concat(t:head(1):select { "x", "city", "n" }):totable().city,
                { "Rome", "Bern", false, "Rome", "Rome" })
    check.equal(np.table { a = {} }.a.shape, { 0 })
    check.equal(#np.table {}, 0)
end)

check.test("tables below each other", function()
    local u = np.table { { "n", { 9 } }, { "more", { true } }, { "city", { "Oslo" } } }
    check.equal(t:concat(u, { join = "outer" }):totable(), {
        city = { "Rome", "Bern", false, "Rome", "Oslo" }, n = { 0, 1, 2, 3, 9 }, x = { 1, 0 / 0, 3, 4, 0 / 0 },
        more = { 0 / 0, 0 / 0, 0 / 0, 0 / 0, 1 },
    })
    check.equal(t:concat(u, { join = "outer" }).columns, { "city", "n", "x", "more" })
    check.equal(t:concat(u, u, { join = "inner" }):totable(),
                { city = { "Rome", "Bern", false, "Rome", "Oslo", "Oslo" },
                                                                n = { 0, 1, 2, 3, 9, 9 } })
    check.equal(u:drop("city"):concat(t, { join = "outer" }).city:totable(), { false, "Rome", "Bern", false, "Rome" })
    local d = np.table { d = np.to_datetime { "2024-01-05" } }
    check.equal(t:head(1):concat(d, { join = "outer" }).d:totable(), { false, "2024-01-05" })
    check.equal({ #t:concat(), #t:concat {}, t:concat(d, { join = "inner" }).columns }, { 4, 4, {} })
    check.raises(function() t:concat(u) end, "np%.table%.concat: there is no column '%a+'")
    check.raises(function() t:concat(u, { join = "left" }) end, "'join' must be")
    check.raises(function() t:concat(nil) end, "argument 1 %(other%) must be a table, got nothing")
    check.raises(function() t:concat(u, 3) end, "argument 2 %(other%) must be a table")
end)

check.test("numbers fill no dates and no texts", function()
    local d = np.table { { "d", np.to_datetime { "2024-01-05", false } }, { "s", { "a", false } },
                         { "x", { 1, 0 / 0 } } }
    check.equal(d:fillna(0):totable(), { d = { "2024-01-05", false }, s = { "a", false }, x = { 1, 0 } })
    check.equal(d:fillna("?"):totable().d, { "2024-01-05", false })
end)

check.test("groups of few and of none", function()
    local g = t:group("city", { x = { "sum", "min", "max", "std" }, n = { "sum", "max" } })
    check.equal(g:totable(), { city = { "Bern", "Rome" }, count = { 1, 2 }, n_sum = { 1, 3 }, n_max = { 1, 3 },
                               x_sum = { 0, 5 }, x_min = { 0 / 0, 1 }, x_max = { 0 / 0, 4 },
                               x_std = { 0 / 0, g.x_std[1]:item() } })
    check.equal({ g.n_sum.dtype, g.n_max.dtype, g.x_sum.dtype }, { "i64", "i32", "f32" })
    check.equal(t:group("n", { city = { "min", "count" } }):totable().city_min, { "Rome", "Bern", false, "Rome" })
    check.equal(#t:head(0):group("city", { x = "sum", n = "max" }), 0)
    check.equal(t:head(0):describe().x:totable()[1], 0)
    check.raises(function() t:group("city", { city = "sum" }) end, "has texts")
    check.raises(function() t:group("city", { x = "average" }) end, "no aggregate")
end)

check.test("joins of none", function()
    local u = np.table { { "city", { "Rome" } }, { "n", np.array({ 7 }, { dtype = "i32" }) } }
    check.equal(t:join(u, { on = "city" }):totable().n_right, { 7, 7 })
    check.equal(t:join(u:head(0), { on = "city", how = "left" }):totable().n_right, { 0 / 0, 0 / 0, 0 / 0, 0 / 0 })
    check.equal(#t:join(u:head(0), { on = "city" }), 0)
    check.equal(#t:head(0):join(u, { on = { "city", "n" }, how = "left" }), 0)
    check.raises(function() t:join(u, { on = "x" }) end, "no column 'x'")
    check.raises(function() t:join(u, { on = "city", how = "cross" }) end, "'how' must be one of \"anti\", \"inner\"")
end)

check.test("text of a table", function()
    local lines = {}
    for line in tostring(t):gmatch "[^\n]+" do lines[#lines + 1] = line end
    check.equal(lines, { "city    n    x", "text  i32  f32", "Rome    0  1.0", "Bern    1  nan", "-       2  3.0",
                         "Rome    3  4.0", "[4 rows, 3 columns]" })
    local long = np.table { k = np.arange(1e6), half = np.arange(1e6) / 2 }
    check.ok(tostring(long):find "\n…\n.*999999\n%[1000000 rows, 2 columns%]$", tostring(long))
    local columns, order = {}, {}
    for k = 1, 40 do columns["column" .. k], order[k] = np.ones(2), "column" .. k end
    for line in tostring(np.table(columns, { columns = order })):gmatch "[^\n]+" do check.ok(#line <= 82, line) end
end)

check.test("groups by and of complex numbers", function()
    local z = np.table { k = np.array { 1 + 2i, 1 + 1i, 1 + 2i, np.nan }, v = np.array { 1, 2i, 3 + 4i, 5 } }
    local g = z:group("k", { v = { "count", "sum", "mean", "min", "max", "var" } })
    check.equal(#g.k, 2)
    check.ok(np.array_equal(g.k, np.array { 1 + 1i, 1 + 2i }))
    check.equal(g.count:totable(), { 1, 2 })
    check.ok(np.array_equal(g.v_sum, np.array { 2i, 4 + 4i }) and g.v_sum.dtype == "c64")
    check.ok(np.array_equal(g.v_mean, np.array { 2i, 2 + 2i }) and np.array_equal(g.v_max, np.array { 2i, 3 + 4i }))
    check.ok(np.array_equal(g.v_min, np.array { 2i, 1 + 0i }))
    check.equal(g.v_var[1]:item(), 10)
    check.raises(function() z:describe() end, "table.describe: column 'k' has complex numbers %(c64%)")
end)

check.test("mistakes with tables", function()
    for _, row in ipairs {
        { function() return np.table { a = np.ones(2), b = np.ones(3) } end, "column 'b' has 3 rows, 'a' has 2" },
        { function() return np.table { a = np.ones { 2, 2 } } end, "must have 1 axis" },
        { function() return np.table(3) end, "argument 1" },
        { function() return np.table { { "a", 1 } } end, "column 'a' must be" },
        { function() return t.cty end, "there is no column 'cty' %(is it 'city'%?%)" },
        { function() t.y = np.ones(4) end, "t:with" },
        { function() return t:filter(np.ones(4)) end, "an array of bool" },
        { function() return t:filter(np.ones(3):gt(0)) end, "does not fit 4 rows" },
        { function() return t:sort "z" end, "no column 'z'" },
        { function() return t:select {} end, "argument 1" },
        { function() return t:to_array() end, "has texts" },
        { function() return t:take { 9 } end, "out of range" },
        { function() return np.sum(t) end, "a table of 4 rows" },
        { function() return t.city + 1 end, "arithmetic" },
    } do check.raises(row[1], row[2]) end
end)

os.remove(path)
check.test("methods called with a dot say so", function()
    local names = np.table { a = { 1, 2 } }
    check.raises(function() names.head() end, "tables_test.lua:%d+: np.table.head: call it as t:head")
    check.raises(function() names.describe() end, "np.table.describe: call it as t:describe")
    check.raises(function() names.sort "a" end, "np.table.sort: call it as t:sort")
    check.raises(function() names.join({}) end, "np.table.join: call it as t:join")
end)

check.test("a table of more columns than a call has results", function()
    local columns = {}
    for k = 1, 9000 do columns[k] = { "c" .. k, { k } } end
    local wide = np.table(columns)
    check.equal({ #wide.columns, wide.columns[9000], wide.c9000:item() }, { 9000, "c9000", 9000 })
    check.ok(tostring(wide):find("9000 columns]", 1, true), "its text")
end)

check.done()
