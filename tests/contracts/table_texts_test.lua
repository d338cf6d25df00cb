--- table_texts_test.lua: contracts of functions of columns of texts, against pandas' .str: of a list of texts, which
-- the oracle has too (oracles/table_texts.py), rows are drawn by number.
-- (sanitized with --long)
local np = require "neap"
local cases = require "tests.lib.contract_cases"
local check = require "tests.lib.check"
local hostile = require "tests.lib.hostile"
local seeds = require "tests.lib.seeds"
local of, finish = require "tests.lib.contracts" "table_texts"

local TEXTS = { "Ada Lovelace", " bob ", "zoë ångström", "ΑΘΗΝΑ-ωμέγα", "Москва", "a,b,,c", "", "007", "-12", " 3.5 ",
                "1e3", "+4", "x.y.z", "日本語", "naïve café", "\t tab\n", "AAAA", "aXbXc", "2024-05-01",
                "e\204\129 combining",
                "ﬀ", "İx", "éÉ", "Ab%cD(e)", "9223372036854775807", "-0", "ж", "one two  three" }

local function numbers(random, dims, dtype)
    local list = {}
    for k = 1, dims[1] do list[k] = random(#TEXTS + 2) - 3 end
    for k = 1, #list do list[k] = math.max(list[k], -1) end
    return cases.array(list, dims, dtype)
end

--- A column of the texts with these numbers; none where that is negative.
local function column(k)
    local list = {}
    for row, number in ipairs(k:totable()) do list[row] = number >= 0 and TEXTS[number + 1] end
    if #list == 0 then return np.table({ { "s", { "x" } } }):head(0).s end
    list[#list + 1] = "x"
    return np.table({ { "s", list } }):head(#list - 1).s
end

--- The rows of a column as one text; ~ where there is none, → for a tab.
local function shown(s)
    local list = s:totable()
    for k = 1, #list do list[k] = list[k] or "~" end
    return (table.concat(list, "|"):gsub("\t", "→"))
end

-- ---- Hostile texts --------------------------------------------------------------------------------------------------

--- Of texts of any bytes: what functions of bytes say of each row by itself.
local function test_hostile()
    local random = seeds.generator(tonumber(os.getenv "NEAP_CONTRACT_SEED" or "1") * 7)
    for _ = 1, os.getenv "NEAP_TEST_LONG" and 500 or 25 do
        local list, ascii = {}, {}
        for k = 1, random(9) do list[k] = random(5) > 1 and hostile.text(random) end
        list[#list + 1] = hostile.text(random)
        for k = 1, #list do ascii[k] = list[k] and list[k]:gsub("[\128-\255]", "?") end
        local s, a = np.table({ { "s", list } }).s, np.table({ { "s", ascii } }).s
        local function each(rows, f)
            local results = {}
            for k, text in ipairs(rows) do results[k] = text and f(text) or false end
            return results
        end
        check.equal(a:lower():totable(), each(ascii, string.lower))
        check.equal(a:upper():totable(), each(ascii, string.upper))
        check.equal(a:sub(2, -2):totable(), each(ascii, function(t) return t:sub(2, -2) end))
        check.equal(s:sub(1):totable(), list)
        check.equal(s:sub(-2 ^ 40, 2 ^ 40):totable(), list)
        check.equal(s:gsub("%c", "."):totable(), each(list, function(t) return (t:gsub("%c", ".")) end))
        check.equal(s:cat(s, { sep = "\0" }):totable(), each(list, function(t) return t .. "\0" .. t end))
        check.equal(s:contains("a", { plain = true }):totable(), each(list, function(t)
            return t:find("a", 1, true) ~= nil
        end))
        check.equal(s:strip():totable(), each(list, function(t) return t:match "^%s*(.-)%s*$" end))
        local whole = each(list, function() return "" end)
        for _, part in ipairs(s:split "a") do
            for k, text in ipairs(part:totable()) do
                if text then whole[k] = whole[k] .. "a" .. text end
            end
        end
        check.equal(whole, each(list, function(t) return "a" .. t end))
        local lengths = s:len():totable()
        for k, text in ipairs(list) do
            check.ok(not text or lengths[k] <= #text and lengths[k] * 4 >= #text)
            local pieces = {}
            for j = 1, text and lengths[k] or 0 do pieces[j] = s:sub(j, j)[k - 1] end
            check.equal(table.concat(pieces), text or "")
        end
        s:lower():upper():pad(20, { side = "both" }):zfill(30):to_numeric { errors = "coerce" }
    end
end

--- Cases of all texts of a column at once: those of their letters, one by one, of ASCII and not, of many texts, whose
-- order changes with the case, and of some of their rows.
local function test_cases()
    local random = seeds.generator(11)
    local ascii, lower, upper = {}, { ["É"] = "é", ["Ω"] = "ω", ["日"] = "日" }, { ["é"] = "É", ["ω"] = "Ω" }
    for c = 0, 127 do ascii[c + 1] = string.char(c) end
    local wide = { "é", "É", "ß", "Ω", "ω", "\195", "\255", "x", "Y", "@", "日" }
    for _, letters in ipairs { { "a", "b", "c", " " }, { "a", "B", "c", "@", "[", "`", "{" }, ascii, wide } do
        for _, n in ipairs { 1, 2, 50, 2000 } do
            local list, cased, places = {}, { lower = {}, upper = {} }, {}
            for k = 1, n do
                local parts, low, high = {}, {}, {}
                for j = 1, random(10) - 1 do
                    local letter = (random(6) == 1 and ascii or letters)[random(#letters)]
                    parts[j], low[j], high[j] = letter, lower[letter] or letter:lower(), upper[letter] or letter:upper()
                end
                local there = k == 1 or random(9) > 1
                list[k] = there and table.concat(parts)
                cased.lower[k], cased.upper[k] = there and table.concat(low), there and table.concat(high)
                if k % 3 == 1 then places[#places + 1] = k - 1 end
            end
            local s, some = np.table({ { "s", list } }).s, np.array(places, { dtype = "i32" })
            for _, method in ipairs { "lower", "upper" } do
                local got = s[method](s)
                check.equal(got:totable(), cased[method])
                for k = 2, #got.levels do check.ok(got.levels[k - 1] < got.levels[k], "levels are in order") end
                local part, expected = s[some], {}
                for k, place in ipairs(places) do expected[k] = cased[method][place + 1] end
                check.equal(part[method](part):totable(), expected)
                check.equal(got[some]:totable(), expected)
                check.equal(got:eq(cased[method][1])[0]:item(), true)
                check.equal(got[method](got):totable(), cased[method], "the second time nothing changes")
                for _, wanted in ipairs { "a", "aB", "é", "\195", "aa", "\0", cased[method][n] or "b", "is nowhere" } do
                    local has = {}
                    for k, text in ipairs(cased[method]) do
                        has[k] = text and text:find(wanted, 1, true) ~= nil
                    end
                    check.equal(got:contains(wanted, { plain = true }):totable(), has)
                end
            end
        end
    end
    local s = np.table({ { "s", { "B", "a" } } }).s
    check.equal(np.jit(function(x) return x + s:lower().codes end)(np.zeros(2)):totable(), { 1, 0 })
end

-- ---- Contracts ------------------------------------------------------------------------------------------------------

local TEXT = "its argument is a column of texts"
local function texts(name, call, oracle, more)
    local contract = more or {}
    contract.args, contract.accepts, contract.special = { { "k", make = numbers } }, "i32", false
    contract.shapes = contract.shapes or { { { 28 } }, { { 1 } }, { { 0 } }, { { 90 } } }
    contract.call = function(_, o, k) return call(column(k), next(o) and o or nil) end
    contract.oracle, contract.gives, contract.without = oracle, contract.gives or { "" }, contract.without or {}
    for _, way in ipairs { "special", "strided", "numbers", "jit", "programs", "vmap", "mesh", "derivatives" } do
        contract.without[way] = TEXT
    end
    of(name, contract)
end

local S = "texts(k).str."

texts("text.lower", function(s, o) return shown(s:lower(o)) end, "shown(" .. S .. "lower())",
      { also = { ["texts of any bytes"] = test_hostile, ["many texts"] = test_cases } })
texts("text.upper", function(s, o) return shown(s:upper(o)) end, "shown(" .. S .. "upper()).replace('FF', 'ﬀ')")
texts("text.len", function(s, o) return s:len(o):astype "f64" end, "lengths(k, lambda s: s.str.len())",
      { gives = "f64" })
texts("text.sub", function(s, o)
    return shown(s:sub(2, -2, o)), shown(s:sub(3)), shown(s:sub(-3)), shown(s:sub(0, 2)), shown(s:sub(9, 4))
end, "[shown(" .. S .. "slice(a, b)) for a, b in ((1, -1), (2, None), (-3, None), (0, 2), (8, 4))]",
      { refuses = { { "i%) must be an integer", function() column(np.arange(3)):sub "x" end } } })
for _, way in ipairs { "strip", "lstrip", "rstrip" } do
    texts("text." .. way, function(s, o) return shown(s[way](s, nil, o)), shown(s[way](s, "acA0")) end,
          ("[shown(%s%s()), shown(%s%s('acA0'))]"):format(S, way, S, way),
          { refuses = { { "characters of ASCII", function()
              local s = column(np.arange(3))
              s[way](s, "é")
          end } } })
end
texts("text.pad", function(s, o) return shown(s:pad(9, o)), shown(s:pad(12, o)) end,
      "[shown(" .. S .. "pad(n, side=o.get('side', 'left'), fillchar=o.get('fillchar', ' '))) for n in (9, 12)]", {
    options = { {}, { side = "right", fillchar = "*" }, { side = "both", fillchar = "é" }, { side = "both" } },
    refuses = { { "fillchar", function() column(np.arange(3)):pad(3, { fillchar = "ab" }) end },
                { "side", function() column(np.arange(3)):pad(3, { side = "top" }) end } },
})
texts("text.zfill", function(s, o) return shown(s:zfill(7, o)) end, "shown(" .. S .. "zfill(7))")
texts("text.contains", function(s, o)
    return s:contains("[ao].", o and { plain = false }), s:contains(o and "." or "%.", o), s:contains "^%-?%d+$"
end, "[texts(k).str.contains(p, na=False).to_numpy(bool) for p in ('(?s)[ao].', r'\\.', r'^-?\\d+\\Z')]", {
    gives = { "bool", "bool", "bool" }, options = { {}, { plain = true } },
    refuses = { { "np.text.contains: the pattern: malformed", function() column(np.arange(3)):contains "[" end },
                { "pattern%) must be a string", function() column(np.arange(3)):contains(1) end } },
})
texts("text.startswith", function(s, o) return s:startswith("A", o), s:startswith "zoë", s:startswith "" end,
      "[texts(k).str.startswith(p, na=False).to_numpy(bool) for p in ('A', 'zoë', '')]",
      { gives = { "bool", "bool", "bool" } })
texts("text.endswith", function(s, o) return s:endswith("e", o), s:endswith "語", s:endswith "" end,
      "[texts(k).str.endswith(p, na=False).to_numpy(bool) for p in ('e', '語', '')]",
      { gives = { "bool", "bool", "bool" } })
texts("text.find", function(s, o) return s:find("b", o), s:find("é", o), s:find(o and "." or "%.", o) end,
      "[(texts(k).str.find(p) + 1).fillna(0).to_numpy(int) for p in ('b', 'é', '.')]",
      { gives = { "i64", "i64", "i64" }, options = { {}, { plain = true } } })
texts("text.match", function(s, o)
    local a, b = s:match("^(%w+)[- ](%w+)", o)
    return shown(a), shown(b), shown(s:match "%d+")
end, "(lambda f, g: [shown(f[0]), shown(f[1]), shown(g[0])])(texts(k).str.extract(r'(?a)^(\\w+)[- ](\\w+)'), "
    .. "texts(k).str.extract(r'(?a)(\\d+)'))", {
    shapes = { { { 28 } }, { { 3 } }, { { 90 } } },
    refuses = { { "the capture %(%) is a place", function() column(np.arange(3)):match "()a" end },
                { "the pattern: unfinished capture", function() column(np.arange(3)):match "(a" end } },
    also = { captures = function()
        local s = np.table({ { "s", { "f(x)=[y]", "%b" } } }).s
        for pattern, count in pairs { ["%((%w)%)"] = 1, ["[(%]](.)(.)"] = 2, ["%b()"] = 1 } do
            check.equal(select("#", s:match(pattern)), count, pattern)
        end
        check.equal(s:match("%((%w)%)=(.*)"):totable(), { "x", false })
        check.equal(s:match("%b()"):totable(), { "(x)", false })
    end },
})
texts("text.gsub", function(s, o)
    if o then return shown(s:gsub(".", "%1", o)), shown(s:gsub("(e)", "", o)) end
    return shown(s:gsub("(%a)b", "<%1>")), shown(s:gsub("%d", function(d) return d + 1 end))
end, "([shown(texts(k).str.replace(r'(?a)([A-Za-z])b', r'<\\1>', regex=True)), shown(texts(k).str.replace(r'(?a)\\d', "
    .. "lambda m: str(int(m[0]) + 1), regex=True))] if not o else [shown(texts(k).str.replace('.', '%1', "
    .. "regex=False)), shown(texts(k).str.replace('(e)', '', regex=False))])", {
    options = { {}, { plain = true } },
    refuses = { { "repl%) must be a string or a function", function() column(np.arange(3)):gsub("a", {}) end },
                { "invalid capture index", function() column(np.arange(3)):gsub("a", "%2") end },
                { "a string that is not empty", function() column(np.arange(3)):gsub("", "x", { plain = true }) end } },
})
texts("text.split", function(s, o)
    local results = {}
    for _, parts in ipairs { s:split(",", o), s:split(nil, o) } do
        results[#results + 1] = shown(parts[1])
        results[#results + 1] = parts[2] and shown(parts[2]) or ""
        results[#results + 1] = #parts
    end
    return results
end, "(lambda f, g: columns(f, 2) + columns(g, 2))(texts(k).str.split(',', n=o.get('n', -1), expand=True), "
    .. "texts(k).str.split(n=o.get('n', -1), expand=True))", {
    shapes = { { { 80 } }, { { 90 } } }, options = { {}, { n = 1 } }, any_dtype = true,
    refuses = { { "a string that is not empty", function() column(np.arange(3)):split "" end } },
})
texts("text.cat", function(s, o)
    return shown(s:cat("!", o)), shown(s:cat(s:upper(), o)), shown(s:cat(s[np.arange(#s - 1, -1, -1)], o))
end, "(lambda s, r, sep: [shown(s + sep + '!'), shown(s.str.cat(s.str.upper(), sep=sep)).replace('FF', 'ﬀ'), "
      .. "shown(s.str.cat(r, sep=sep))])(texts(k), texts(k[::-1]), o.get('sep', ''))", {
    shapes = { { { 28 } }, { { 1 } }, { { 90 } } }, options = { {}, { sep = " - " } },
    refuses = { { "columns of 3 and 2 rows", function() column(np.arange(3)):cat(column(np.arange(2))) end },
                { "other%) must be a column of texts or a string", function() column(np.arange(3)):cat(1) end } },
})
texts("text.to_numeric", function(s, o)
    return s:to_numeric(o or { errors = "coerce" }):astype "f64",
        column(np.array({ 7, 8, 11, 24 }, { dtype = "i32" })):to_numeric()
end, "[pd.to_numeric(texts(k), errors='coerce').to_numpy(float), pd.to_numeric(pd.Series(['007', '-12', '+4', "
    .. "'9223372036854775807'])).to_numpy()]", {
    gives = { "f64", "i64" }, options = { { errors = "coerce" } },
    refuses = { { '"Ada Lovelace" is no number; {errors="coerce"}', function() column(np.arange(1)):to_numeric() end },
                { "errors", function() column(np.arange(1)):to_numeric { errors = "ignore" } end } },
    also = { texts = function()
        for text, want in pairs { ["0x10"] = 0 / 0, ["1e"] = 0 / 0, ["1_000"] = 0 / 0, ["1.5.2"] = 0 / 0, ["."] = 0 / 0,
                                  ["nan"] = 0 / 0, ["-inf"] = -1 / 0, Infinity = 1 / 0, [".5"] = 0.5, ["5."] = 5,
                                  ["1e400"] = 1 / 0, ["12345678901234567890"] = 12345678901234567890,
                                  ["0.1"] = 0.1, ["1-"] = 0 / 0, ["--1"] = 0 / 0 } do
            local x = np.table({ { "s", { text, "0.5" } } }).s:to_numeric { errors = "coerce" }
            check.equal(x:totable(), { want, 0.5 }, text)
        end
    end },
})

finish()
