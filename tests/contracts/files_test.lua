--- files_test.lua: what np.io writes is read back equal: tables, arrays and trees of every dtype with hostile contents,
-- drawn from a seed, in each format. NEAP_TEST_LONG=1 draws many more, NEAP_TEST_FILES so many of each;
-- NEAP_CONTRACT_SEED draws others.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local hostile = require "tests.lib.hostile"
local process = require "tests.lib.process"
local seeds = require "tests.lib.seeds"

local _, finish, _, elsewhere, held = require "tests.lib.contracts" "files"

local count = tonumber(os.getenv "NEAP_TEST_FILES" or (os.getenv "NEAP_TEST_LONG" and 300 or 25))
local random = seeds.generator(tonumber(os.getenv "NEAP_CONTRACT_SEED" or "1") * 104729)
local pick, array, same = hostile.chooser(random), hostile.arrays(random), hostile.same

local path = os.tmpname()
local folder = path .. ".d"

local function text() return hostile.text(random) end

--- f(k) for k = 1 … n; a problem names the draw.
local function repeated(n, f)
    for k = 1, n do
        local ok, problem = pcall(f, k)
        if not ok then error(("draw %d: %s"):format(k, tostring(problem)), 0) end
    end
end

-- ---- Tables as text -------------------------------------------------------------------------------------------------

--- A table of some columns of all kinds: names are hostile texts too. Returns it, and its columns of texts as lists.
local function draw_table(rows)
    local pairs_of, lists, seen = {}, {}, {}
    for k = 1, random(5) do
        local name = random(3) == 1 and text() or "c" .. k
        if name ~= "" and not seen[name] then
            seen[name] = true
            local dtype = pick { "text", "text", pick(dtypes.names), "c64", "c128" }
            local column = {}
            if dtype == "text" then
                local some = random(4) -- of a few alike, as of any
                for j = 1, rows do column[j] = random(8) > 1 and (some == 1 and pick(hostile.numbers) or text()) end
                lists[name] = column
                if rows == 0 then column = np.arange(0) end
            else
                column = array(dtype, { rows })
            end
            pairs_of[#pairs_of + 1] = { name, column }
        end
    end
    return np.table(pairs_of), lists
end

local function any_text(list)
    for _, value in ipairs(list) do
        if value then return true end
    end
    return false
end

local function test_csv()
    repeated(count, function()
        local rows = pick { 0, 1, 2, 7, 30 }
        local t, lists = draw_table(rows)
        local delimiter, header = pick { ",", ";", "\t", "|", " " }, random(4) > 1
        np.io.write_csv(path, t, { delimiter = delimiter, header = header })
        local asked = {}
        for _, name in ipairs(t.columns) do
            local column = t:column(name)
            if not lists[name] then asked[name] = column.dtype end
        end
        local how = { delimiter = delimiter, header = header, names = t.columns, dtype = asked }
        local read = np.io.read_csv(path, how)
        check.equal(read.columns, t.columns)
        check.equal(#read, rows, process.read(path))
        for _, name in ipairs(t.columns) do
            if not lists[name] then
                same(read:column(name), t:column(name), name)
            elseif any_text(lists[name]) then
                check.equal({ read:column(name).dtype, read:column(name):totable() }, { "text", lists[name] }, name)
            end
        end
        how.dtype = nil -- what follows from the fields is as exact
        read = np.io.read_csv(path, how)
        for _, name in ipairs(t.columns) do
            local column, got = t:column(name), read:column(name)
            if column.dtype:find "^[iub]" and rows > 0 then same(got:astype(column.dtype), column, name) end
            if column.dtype == "f64" then same(got:astype "f64", column, name) end
        end
    end)
end

local function test_csv_of_arrays()
    repeated(count, function()
        local x = array(pick(dtypes.names), { pick { 0, 1, 5 }, random(3) })
        np.io.write_csv(path, x)
        same(np.io.read_csv(path, { dtype = x.dtype }):to_array(), x, "an array")
    end)
end

--- What each option of write_csv changes.
local function test_csv_options()
    local t = np.table { { "a", np.array({ 1, np.nan, -2.5 }, { dtype = "f64" }) }, { "b", { "x", false, "-" } } }
    np.io.write_csv(path, t, { delimiter = ";", header = false, na_rep = "-", fmt = "%.2f" })
    check.equal(process.read(path), '1.00;x\n-;-\n-2.50;"-"\n')
    same(np.io.read_csv(path, { delimiter = ";", header = false, na_values = "-" }).c0, t.a)
    for _, refused in ipairs { { na_rep = "a,b" }, { na_rep = 'a"' }, { delimiter = "1" }, { delimiter = "." } } do
        check.raises(function() np.io.write_csv(path, t, refused) end, "np.io.write_csv: option '" .. next(refused))
    end
end

-- ---- Arrays as text -------------------------------------------------------------------------------------------------

local function test_text()
    repeated(2 * count, function()
        local dtype = pick(dtypes.names)
        local float = dtypes.by_name[dtype].kind == "f"
        local x = array(dtype, { pick { 1, 1, 2, 9 }, pick { 1, 2, 5 } })
        local delimiter, newline = pick { " ", ",", ", ", "\t" }, pick { "\n", "\r\n" }
        local fmt = not float and "%d" or pick { false, "%.17g", "%+.20e" } or nil
        np.io.savetxt(path, x, { fmt = fmt, delimiter = delimiter, newline = newline,
                                 header = pick { false, "names\nand more" } or nil,
                                 footer = pick { false, "end 1 2 3" } or nil })
        local blank = delimiter:find "^[ \t]"
        local how = { dtype = dtype, ndmin = 2, delimiter = not blank and delimiter:sub(1, 1) or nil }
        same(np.io.loadtxt(path, how), x, "savetxt, loadtxt")
        same(np.io.genfromtxt(path, { dtype = dtype, delimiter = how.delimiter }):reshape(x.shape), x, "genfromtxt")
    end)
    np.io.savetxt(path, np.array { 1, 2 }, { comments = "%", header = "a" })
    check.equal(np.io.loadtxt(path, { comments = "%" }):totable(), { 1, 2 })
end

-- ---- Arrays ---------------------------------------------------------------------------------------------------------

local function test_npy()
    for _, dtype in ipairs(hostile.dtypes) do
        repeated(math.ceil(count / 4), function()
            local x = array(dtype)
            np.io.save(path, x)
            same(np.io.load(path), x, "save, load")
            same(np.io.load(path, { mmap_mode = "r" }), x, "mapped")
            check.equal(np.io.checksum(np.io.load(path)), np.io.checksum(x))
        end)
    end
end

--- Some arrays by hostile names.
local function draw_arrays(list, name_of)
    local arrays = {}
    for _ = 1, random(5) - 1 do arrays[name_of()] = array(pick(list)) end
    return arrays
end

local function same_arrays(got, want)
    for name, x in pairs(want) do same(check.ok(got[name], ("%q is not there"):format(name)), x, name) end
    for name in pairs(got) do check.ok(want[name], ("%q is there"):format(name)) end
end

local function test_npz()
    repeated(count, function()
        local arrays = draw_arrays(hostile.dtypes, text)
        np.io.savez(path, arrays, { compress = random(2) == 1 })
        same_arrays(np.io.load(path), arrays)
    end)
end

--- A file in an archive that is no npy file, as other programs put some there; and what gzip has packed.
local function test_npz_of_others()
    local zip = process.file ""
    os.remove(zip)
    local made = os.execute(([[python3 - '%s' '%s' >/dev/null 2>&1 <<'E'
import gzip, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as file:
    file.write(sys.argv[2], "x.npy")
    file.writestr("notes.txt", "by hand")
open(sys.argv[1] + ".gz", "wb").write(gzip.compress(open(sys.argv[2], "rb").read()))
E]]):format(zip, path))
    if made ~= 0 and made ~= true then return end
    local read, names = np.io.load(zip)
    check.equal({ read["notes.txt"], names }, { "by hand", { "x", "notes.txt" } })
    same(read.x, np.io.load(path), "x")
    check.raises(function() np.io.load_tree(zip) end, "notes.txt' in it is no npy file")
    check.raises(function() np.io.load(zip .. ".gz") end, "gzip has packed there is no IDX file")
    os.remove(zip)
    os.remove(zip .. ".gz")
end

local function test_safetensors()
    local kinds = {}
    for _, dtype in ipairs(hostile.dtypes) do
        if dtype ~= "c128" then kinds[#kinds + 1] = dtype end -- the format has none
    end
    repeated(count, function()
        local arrays, metadata = draw_arrays(kinds, text), {}
        for _ = 1, random(4) - 1 do metadata[text()] = text() end
        np.io.save_safetensors(path, arrays, { metadata = metadata })
        local read, told = np.io.load_safetensors(path)
        same_arrays(read, arrays)
        check.equal(told, metadata)
        same_arrays(np.io.load_safetensors(path, { mmap_mode = "r" }), arrays)
    end)
    check.raises(function() np.io.save_safetensors(path, { x = np.array({ 1 }, { dtype = "c128" }) }) end, "c128")
end

local function bytes_of(n)
    return string.char(math.floor(n / 2 ^ 24), math.floor(n / 2 ^ 16) % 256, math.floor(n / 256) % 256, n % 256)
end

local function test_idx()
    local kinds = { u8 = 8, i8 = 9, i16 = 11, i32 = 12, f32 = 13, f64 = 14 }
    for dtype, code in pairs(kinds) do
        repeated(math.ceil(count / 4), function()
            local x = array(dtype)
            np.io.save(path, x)
            local width = dtypes.by_name[dtype].bits / 8
            local parts = { "\0\0", string.char(code, x.ndim) }
            for k = 1, x.ndim do parts[#parts + 1] = bytes_of(x.shape[k]) end
            local data = process.read(path)
            for at = #data - x.size * width + 1, #data, width do
                parts[#parts + 1] = data:sub(at, at + width - 1):reverse()
            end
            process.write(path, table.concat(parts))
            same(np.io.load_idx(path), x, "load_idx")
            if x.ndim > 0 then same(np.io.load(path), x, "load") end
        end)
    end
end

-- ---- Trees ----------------------------------------------------------------------------------------------------------

local function draw_leaf()
    local kind = random(6)
    if kind == 1 then return text() end
    if kind == 2 then return random(2) == 1 end
    if kind == 3 then return pick { 0, -0.0, 0 / 0, 1 / 0, -1 / 0, 2 ^ 53 - 1, 5e-324, 0.1, -1e300 } end
    return array(pick(hostile.dtypes))
end

local function draw_tree(depth)
    local tree = {}
    for k = 1, random(5) - 1 do
        local key = random(2) == 1 and text() or pick { k, -k, 1.5 * k, 2 ^ 40 + k }
        tree[key] = depth > 0 and random(3) == 1 and draw_tree(depth - 1) or draw_leaf()
    end
    return tree
end

local function same_tree(got, want, place)
    if type(want) ~= "table" then return same(got, want, place) end
    check.ok(type(got) == "table", ("%s is %s"):format(place, tostring(got)))
    for key, value in pairs(want) do same_tree(got[key], value, place .. ("[%q]"):format(tostring(key))) end
    for key in pairs(got) do check.ok(want[key] ~= nil, ("%s[%q] is too many"):format(place, tostring(key))) end
end

local function test_trees()
    repeated(2 * count, function()
        local tree = draw_tree(3)
        np.io.save_tree(path, tree)
        same_tree(np.io.load_tree(path), tree, "")
    end)
end

local function test_checkpoints()
    local mesh = np.mesh({ 2, 2 }, { "i", "j" })
    repeated(math.ceil(count / 3), function()
        local tree = draw_tree(2)
        tree.whole = array(pick(hostile.dtypes), { 4, 6 })
        local spec = np.P(pick { "i", false }, pick { "j", false })
        tree.divided = np.device_put(array(pick(hostile.dtypes), { 4, 6 }), mesh, spec)
        np.io.save_checkpoint(folder, tree)
        same_tree(np.io.load_checkpoint(folder), tree, "")
        local turned = np.NamedSharding(mesh, np.P("j", "i"))
        local divided = np.io.load_checkpoint(folder, { shardings = { whole = turned } })
        same_tree(divided, tree, "")
        check.equal(tostring(divided.whole.sharding.spec), tostring(np.P("j", "i")))
    end)
    os.execute("rm -rf '" .. folder .. "'")
end

-- ---- Images ---------------------------------------------------------------------------------------------------------

local function test_images()
    local png, jpeg = path .. ".png", path .. ".jpg"
    repeated(count, function()
        local dims, channels = { pick { 1, 2, 17 }, pick { 1, 3, 16 } }, random(5) - 1
        if channels > 0 then dims[3] = channels end
        local x = array(pick { "u8", "u16" }, dims)
        np.io.save_image(png, x, { compression = random(10) - 1 })
        same(np.io.load_image(png), channels == 1 and x:reshape(dims[1], dims[2]) or x, "PNG")
        local flat = np.full(channels == 3 and { 8, 16, 3 } or { 8, 16 }, random(256) - 1, { dtype = "u8" })
        np.io.save_image(jpeg, flat, { quality = 100 })
        local read = np.io.load_image(jpeg)
        check.equal({ read.dtype, read.shape }, { "u8", flat.shape })
        check.ok(np.abs(read:astype "i32" - flat:astype "i32"):max():item() <= 2, "a JPEG of one colour")
    end)
    np.io.save_image(jpeg, np.arange(4096):reshape(64, 64):astype "u8", { quality = 5 })
    local small = #process.read(jpeg)
    np.io.save_image(jpeg, np.arange(4096):reshape(64, 64):astype "u8", { quality = 95 })
    check.ok(#process.read(jpeg) > small, "quality changes nothing")
    os.remove(png)
    os.remove(jpeg)
end

-- ---- JSON lines and gzip --------------------------------------------------------------------------------------------

local function store(place, content)
    local file = assert(io.open(place, "wb"))
    file:write(content)
    file:close()
end

--- A table of all that JSON has, with missing values, and dates.
local function draw_records(rows)
    local texts, marks, reals, days = {}, {}, {}, {}
    for k = 1, rows do
        texts[k] = random(4) > 1 and text():gsub("[\128-\255]", "é") or false
        marks[k], reals[k] = random(2) == 1, random(4) == 1 and 0 / 0
            or (random(2 ^ 26) - 2 ^ 25) * 10 ^ (random(40) - 20)
        days[k] = random(4) > 1 and ("%04d-%02d-%02d"):format(random(9999), random(12), random(28)) or false
    end
    texts[rows + 1], days[rows + 1], reals[rows + 1], marks[rows + 1] = "x", "2024-01-05", 0.5, true
    return np.table {
        { "text", texts }, { "a \"b\"", marks }, { "real", np.array(reals, { dtype = "f64" }) }, { "single", reals },
        { "whole", array("i64", { rows + 1 }) }, { "byte", array("u8", { rows + 1 }) }, { "day", np.to_datetime(days) },
    }
end

local function test_jsonl()
    local zipped = path .. ".jsonl.gz"
    repeated(count, function()
        local t = draw_records(random(6) - 1)
        local place = random(2) == 1 and path or zipped
        np.io.write_jsonl(place, t)
        local u = np.io.read_jsonl(place, { parse_dates = { "day" } })
        check.equal(u.columns, t.columns)
        for k, name in ipairs(t.columns) do
            local want = t:column(name)
            local dtype = ({ single = "f64", byte = "i64" })[name] or want.dtype
            check.equal(u:column(name).dtype, dtype, name)
            local got = u:column(name)
            if dtype ~= want.dtype then got = got:astype(want.dtype) end
            check.equal(got:totable(), want:totable(), name .. k)
        end
        check.equal(#np.io.read_jsonl(place, { nrows = 1 }), 1)
    end)
    os.remove(zipped)
end

local function test_jsonl_forms()
    local function read(content, options)
        store(path, content)
        return np.io.read_jsonl(path, options)
    end
    local t = read('\239\187\191{"b": 1, "a": [1, {"c": null}]}\r\n\n  {"a": null, "d": true}\n{"b": 2}')
    check.equal({ t.columns, t:totable() }, { { "b", "a", "d" }, { b = { 1, 0 / 0, 2 }, d = { 0 / 0, 1, 0 / 0 },
                                                                   a = { '[1, {"c": null}]', false, false } } })
    check.equal(read('{"n": 9223372036854775808}\n{"n": 1}').n.dtype, "u64")
    check.equal(read('{"n": 1}\n{"n": 2.5}').n:totable(), { 1, 2.5 })
    check.equal(read('{"n": 1.0}').n.dtype, "f64")
    check.equal({ read("").shape, read("{}\n{}").shape, read("\n").shape }, { { 0, 0 }, { 2, 0 }, { 0, 0 } })
    check.equal(read('{"a": 1, "b": 2, "c": 3}', { usecols = { "c", "a" } }).columns, { "c", "a" })
    check.equal(read('{"d": "5.1.2024"}\n{"d": null}', { parse_dates = { d = "%d.%m.%Y" } }).d:totable(),
                { "2024-01-05", false })
    for _, case in ipairs {
        { "[1]", ":1: no JSON at byte 1: expected an object" },
        { '{"a":1}\n{"a":1,"a":2}', ":2: .*a key that is there" },
        { '{"a":1}\n\n{"a":"x"}', ":3: column 'a' has text here, and i64 before" }, { '{"a":1} x', "something after" },
        { '{"":1}', "a column needs a name" }, { '{"a":18446744073709551615}\n{"a":-1}', "column 'a' .* negative" },
        { '{"a":1e999}', "out of range" }, { '{"a":"\255"}', "not UTF%-8" }, { '{"a":NaN}', "no value" },
        { "{", "byte" }, { '{"a":true}\n{"a":1}', "has i64 here, and bool before" },
            { ('{"a":'):rep(300), "nested too deep" },
    } do check.raises(function() read(case[1]) end, "np%.io%.read_jsonl: .*" .. case[2]) end
    check.raises(function() read('{"a":1}', { parse_dates = "a" }) end, "column 'a' of .* has numbers")
    check.raises(function() read('{"a":"x"}', { parse_dates = "a" }) end, '"x" in column \'a\' of .* is no date')
    check.raises(function() read('{"a":1}', { parse_dates = "b" }) end, "no column 'b'")
    check.raises(function() read('{"a":1}', { usecols = "b" }) end, "no column 'b'")
    for _, case in ipairs {
        { { x = { 1 / 0, 0.5 } }, "row 0 of column 'x' is inf" }, { { z = np.array { 1i } }, "column 'z' has complex" },
        { { s = { "\255" } }, "row 0 of column 's' has a text that is not UTF%-8" },
    } do check.raises(function() np.io.write_jsonl(path, np.table(case[1])) end, case[2]) end
    check.raises(function() np.io.write_jsonl(path, 3) end, "argument 2 %(t%) must be a table")
end

local function test_csv_dates_and_gzip()
    local zipped = path .. ".csv.gz"
    repeated(count, function()
        local t = draw_records(random(6))
        local days = t:select { "text", "day" }
        np.io.write_csv(zipped, days)
        np.io.write_csv(path, days)
        check.ok(process.read(zipped):sub(1, 2) == "\31\139", "it is gzip")
        for _, place in ipairs { zipped, path } do
            local u = np.io.read_csv(place, { parse_dates = { "day" }, dtype = { text = "text" } })
            check.equal(u:totable(), days:totable())
        end
    end)
    np.io.savetxt(zipped, np.eye(2))
    check.equal(np.io.loadtxt(zipped):totable(), { { 1, 0 }, { 0, 1 } })
    store(path, "day;n\n05.01.2024;1\nNA;2\n")
    local t = np.io.read_csv(path, { delimiter = ";", parse_dates = { day = "%d.%m.%Y" } })
    check.equal(t.day:totable(), { "2024-01-05", false })
    check.raises(function() np.io.read_csv(path, { delimiter = ";", parse_dates = { "day" } }) end,
                 '"05.01.2024" in column \'day\' of .* is no date as ISO')
    check.raises(function() np.io.read_csv(path, { delimiter = ";", parse_dates = { "x" } }) end,
                 "'parse_dates' names .* day, n")
    check.raises(function() np.io.read_csv(path, { parse_dates = 1 }) end, "parse_dates")
    os.remove(zipped)
end

-- ---- Sounds ---------------------------------------------------------------------------------------------------------

local function test_sounds()
    local sound = path .. ".wav"
    repeated(count, function()
        local dims, channels = { pick { 0, 1, 5, 16 } }, random(4) - 1
        if channels > 0 then dims[2] = channels end
        local x, rate = array(pick { "u8", "i16", "i32", "f32", "f64" }, dims), random(48000)
        np.io.save_wav(sound, x, rate)
        local read, found = np.io.load_wav(sound)
        check.equal(found, rate)
        same(read, channels == 1 and x:reshape(dims[1]) or x, "WAV")
        if x.dtype == "i32" then
            np.io.save_wav(sound, x, rate, { bits = 24 })
            same((np.io.load_wav(sound)), channels == 1 and np.bitwise_and(x, -256):reshape(dims[1])
                 or np.bitwise_and(x, -256), "WAV of 24 bits")
        end
    end)
    os.remove(sound)
end

-- ---- The list -------------------------------------------------------------------------------------------------------

local EQUAL = "what is read is what was written"

held("np.io.read_csv np.io.write_csv", EQUAL, { files = function() test_csv() test_csv_of_arrays() end,
                                                dates = test_csv_dates_and_gzip,
                                                options = test_csv_options })
held("np.io.read_jsonl np.io.write_jsonl", EQUAL, { files = test_jsonl, forms = test_jsonl_forms })
held("np.io.loadtxt np.io.savetxt np.io.genfromtxt", EQUAL, { files = test_text })
held("np.io.load np.io.save np.io.checksum", EQUAL, { files = test_npy })
held("np.io.savez", EQUAL, { files = function()
    test_npz()
    np.io.save(path, np.arange(3))
    test_npz_of_others()
end })
held("np.io.save_safetensors np.io.load_safetensors", EQUAL, { files = test_safetensors })
held("np.io.load_idx", EQUAL, { files = test_idx })
held("np.io.save_tree np.io.load_tree", EQUAL, { files = test_trees })
held("np.io.save_checkpoint np.io.load_checkpoint", EQUAL, { files = test_checkpoints })
held("np.io.save_image np.io.load_image", EQUAL, { files = test_images })
held("np.io.save_wav np.io.load_wav", EQUAL, { files = test_sounds })
elsewhere("np.io.load_tokenizer tokenizer.encode tokenizer.encode_batch tokenizer.decode tokenizer.token tokenizer.id",
          "tests/golden/tokenizers_test.lua", "what the tokenizers package gives")
elsewhere("np.io.load_json np.io.save_json np.io.from_json np.io.to_json np.io.null np.io.empty_object",
          "tests/stdlib/json_test.lua", "values and texts, both ways")
elsewhere("np.io.read_feather np.io.write_feather np.io.read_parquet np.io.write_parquet",
          "tests/golden/columnar_test.lua", "files of pyarrow and pandas; what is written is read again")
elsewhere("np.io.load_gguf", "tests/golden/gguf_test.lua", "files of the gguf package, and files that are none")
elsewhere("np.io.load_torch", "tests/golden/torch_test.lua", "files of PyTorch, and files that are none")
elsewhere("np.io.load_onnx np.io.save_onnx", "tests/golden/onnx_test.lua", "networks, with the values of onnxruntime")
elsewhere("np.io", "tests/docs/help_test.lua", "a table of functions, which have help")

finish()
