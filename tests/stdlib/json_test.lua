--- json_test.lua (under tsan with --long): neap.json: what is written is read again, and what is no JSON is refused.
-- Random values are drawn at random.
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local json = require "neap.files.json"

check.test("values", function()
    for text, value in pairs {
        ["true"] = true, ["-0.5e1"] = -5, ['""'] = "", ["[]"] = {}, [" [1 , [ 2 ] ] "] = { 1, { 2 } },
        ['{"a":{"b":[]}}'] = { a = { b = {} } }, ['"\\u0041\\n\\/"'] = "A\n/",
        ['"\\u00e9\\u20AC\\uD83D\\uDE00"'] = "\195\169\226\130\172\240\159\152\128",
    } do
        check.equal(json.read(text), value, text)
    end
    check.ok(json.read "null" == json.null)
end)

check.test("what is written is read", function()
    local value = { list = { 1, -2.5, 1e300, 2 ^ 53 }, text = '"\\\0\1\127\n\t€', yes = true, no = false, none = {},
                    deep = { { { x = "y" } } }, [""] = "empty key" }
    check.equal(json.read(json.write(value)), value)
    check.equal(json.write { b = 1, a = { true } }, '{"a":[true],"b":1}')
    check.equal(json.write(json.null), "null")
end)

check.test("what is no JSON", function()
    for _, text in ipairs { "", "tru", "01", "1.", "+1", "nan", "[1,]", "{", "[", '{"a" 1}', '{"a":1,"a":2}', "[1] 2",
                            '"\n"', '"\\x"', '"\\u12"', '"\\uD83D"', '"\\uDC00"', '"\\uD83D\\u0041"', '"\255"', '"a',
                            "{1:2}", ("["):rep(1000) } do
        check.raises(function() json.read(text) end, "no JSON at byte %d+")
    end
end)

check.test("integers that numbers do not hold", function()
    for text, value in pairs {
        ["9007199254740993"] = 9007199254740993LL, ["-9007199254740993"] = -9007199254740993LL,
        ["9223372036854775807"] = 9223372036854775807LL, ["-9223372036854775808"] = -9223372036854775807LL - 1,
        ["18446744073709551615"] = 18446744073709551615ULL, ["9223372036854775808"] = 9223372036854775808ULL,
    } do
        check.equal(tostring(json.read(text)), tostring(value), text)
        check.equal(json.write(json.read(text)), text)
    end
    for text, value in pairs { ["9007199254740992"] = 2 ^ 53, ["-9007199254740991"] = 1 - 2 ^ 53,
                               ["18446744073709551616"] = 2 ^ 64, ["-9223372036854775809"] = -2 ^ 63 } do
        check.equal(json.read(text), value, text)
    end
    for _, value in ipairs { 2 ^ 53, 2 ^ 53 + 2, -28350724070266196, 1e16, 2 ^ 60, 1e300 } do -- numbers stay numbers
        check.equal(json.read(json.write(value)), value)
    end
    check.equal(json.write(2 ^ 53 + 2), "9007199254740994.0")
    check.raises(function() json.read "1e400" end, "no JSON at byte 1: a number out of range")
end)

--- A random value of JSON, whose objects and lists are not empty but by chance.
local function random_value(random, depth)
    local kind = random(depth > 4 and 7 or 10)
    if kind == 1 then return json.null end
    if kind == 2 then return random(2) == 1 end
    if kind == 3 then return random(1000) - 500 end
    if kind == 4 then return (random(2 ^ 20) - 2 ^ 19) * 2 ^ (random(200) - 100) / 3 end
    if kind <= 7 then
        local parts = {}
        for k = 1, random(8) - 1 do
            parts[k] = ({
                "a", "\"", "\\", "\n", "\0", "\127", "\31", "ü", "中", "\240\159\152\128", "/", "e",
            })[random(12)]
        end
        return table.concat(parts)
    end
    local result = {}
    for k = 1, random(5) - 1 do
        result[kind == 8 and k or "k" .. random(9)] = random_value(random, depth + 1)
    end
    return result
end

check.test("random values, drawn at random", function()
    for seed in seeds.each(300) do
        local random = seeds.generator(seed * 7919)
        local value = random_value(random, 1)
        for _, how in ipairs { {}, { indent = 2 }, { strict = true, indent = 0 } } do
            local text = json.write(value, how)
            local back = json.read(text)
            check.equal(back, value, "seed " .. seed)
            check.equal(json.write(back, how), text, "seed " .. seed)
        end
    end
end)

check.test("np.io", function()
    local path = os.tmpname()
    local value = { name = "ü", list = { 1, np.io.null, {} }, none = np.io.empty_object, x = np.array { { 1, 2 } } }
    np.io.save_json(path, value, { indent = 2 })
    local back = np.io.load_json(path)
    check.equal(back.x, { { 1, 2 } })
    check.equal(np.io.to_json(back), '{"list":[1,null,[]],"name":"ü","none":{},"x":[[1,2]]}')
    back.none.now = true
    check.equal(np.io.to_json(back.none), '{"now":true}')
    check.equal(np.io.to_json({ np.array(3), np.array({ 1 }, { dtype = "i64" }), 5LL }), "[3,[1],5]")
    check.equal(np.io.from_json '"x"', "x")
    local function refused(pattern, f, ...)
        local arguments = { ... }
        check.raises(function() np.io[f](unpack(arguments)) end, "np.io." .. f .. ": .*" .. pattern)
    end
    refused("a%[2%] is nan", "to_json", { a = { 1, 0 / 0 } })
    refused("%[1%] is inf", "to_json", { np.array { np.inf } })
    refused("a text that is not UTF%-8", "to_json", "\255")
    refused("it is a complex array", "to_json", np.array(1i))
    refused("it is a function", "to_json", print)
    refused("x is a table that is neither", "to_json", { x = { 1, a = 2 } })
    refused("neither a list without holes", "to_json", { [1] = 1, [3] = 2 })
    refused("option 'indent'", "to_json", {}, { indent = -1 })
    refused("no JSON at byte 2", "from_json", "[")
    refused("argument 1 %(text%)", "from_json", 3)
    local file = assert(io.open(path, "wb"))
    file:write "[1,]"
    file:close()
    refused("cannot read '" .. path .. "': it is no JSON at byte 4", "load_json", path)
    os.remove(path)
    refused("cannot open", "load_json", path)
end)

check.done()
