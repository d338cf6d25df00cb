--- json_test.lua (under tsan with --long): neap.json: what is written is read again, and what is no JSON is refused.
local check = require "tests.lib.check"
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

check.done()
