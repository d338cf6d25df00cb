--- csv.lua: np.io.read_csv, write_csv, loadtxt, savetxt, genfromtxt: text with delimiters as tables and arrays. The
-- text is parsed and written in C (formats/csv.c), numbers exactly: the nearest of the dtype.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local zip = require "neap.files.zip"
local tables = require "neap.tables"
local dates = require "neap.tables.dates"
local texts = require "neap.tables.text"

local np, C, dtypes, codes = core.np, core.C, core.dtypes, core.dtype_codes
local raise, bad_argument = core.raise, core.bad_argument
local csv = {}

local NOTHING, BOOL, INTEGER, TEXT = C.NEAP_CSV_NOTHING, C.NEAP_CSV_BOOL, C.NEAP_CSV_INTEGER, C.NEAP_CSV_TEXT
local MISSING = { "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "-NaN", "null", "NULL", "None" }
local CHUNK = 2 ^ 20

-- ---- Opening --------------------------------------------------------------------------------------------------------

--- The text of a gzip file, or nil and a message.
local function inflated(block)
    local stream, problem = zip.open_gzip(block)
    if not stream then return nil, problem end
    local parts, buffer = {}, ffi.new("uint8_t[?]", CHUNK)
    repeat
        local n
        n, problem = stream.read(buffer, CHUNK)
        if not n then return nil, problem end
        parts[#parts + 1] = ffi.string(buffer, n)
    until n < CHUNK
    local whole = table.concat(parts)
    return { data = ffi.cast("uint8_t *", ffi.cast("const char *", whole)), size = #whole, keep = whole }
end

--- The bytes of a text file, plain or gzip, as a block.
local function text_block(name, path)
    local block, problem = files.read(core.check_path(name, path))
    if not block then raise(name, "%s", problem) end
    if not zip.is_gzip(block) then return block end
    local plain
    plain, problem = inflated(block)
    files.release(block)
    if not plain then raise(name, "cannot read '%s': %s", path, problem) end
    return plain
end

csv.text_block = text_block

--- An option that is one character; `default` where it is not given. false: none.
local function mark(name, what, value, default)
    if value == nil then value = default end
    if value == false or value == nil then return 0 end
    if type(value) ~= "string" or #value ~= 1 or value:find "[\r\n%z]" then
        bad_argument(name, nil, what, "one character", value)
    end
    return value:byte()
end

local function count_option(name, what, value, default)
    if value == nil then return default end
    return core.integer(name, nil, what, value, 0)
end

local csv_box = ffi.new("neap_csv *[1]")
local count_box, rows_box, bytes_box = ffi.new("int32_t[1]"), ffi.new("int64_t[1]"), ffi.new("size_t[1]")

--- A format for C: delimiter, quote, comment (bytes, 0: none), missing (a list of strings), skip, most (-1: all),
-- quoted_texts, strict, loose (bools); and what it points to.
local function format_of(path, how)
    local words = ffi.new("const char *[?]", #how.missing + 1)
    for k, word in ipairs(how.missing) do words[k - 1] = word end
    local format = ffi.new("neap_csv_format")
    format.name, format.delimiter, format.quote, format.comment = path, how.delimiter, how.quote, how.comment or 0
    format.nmissing, format.missing, format.skip, format.most = #how.missing, words, how.skip or 0, how.most or -1
    format.quoted_texts, format.strict = how.quoted_texts and 1 or 0, how.strict and 1 or 0
    format.loose = how.loose and 1 or 0
    return format, { words, how.missing, path }
end

--- Opens the text of a file for C, in a format (format_of). What is returned keeps all that C points to.
local function open(name, path, how)
    local block = text_block(name, path)
    local format, kept = format_of(path, how)
    core.call(name, function()
        return C.neap_csv_open(format, ffi.cast("const char *", block.data), block.size, csv_box)
    end)
    return { name = name, path = path, how = how, keep = { block, format, kept },
             csv = ffi.gc(csv_box[0], C.neap_csv_close) }
end

local function close(reader)
    C.neap_csv_close(ffi.gc(reader.csv, nil))
    if reader.keep[1].own then files.release(reader.keep[1]) end
end

--- The names in the next line.
local function read_names(reader)
    core.call(reader.name, function() return C.neap_csv_header(reader.csv, count_box) end)
    local names = {}
    for k = 1, count_box[0] do
        local text = C.neap_csv_name(reader.csv, k - 1, bytes_box)
        names[k] = ffi.string(text, bytes_box[0])
    end
    return names
end

--- Looks through the rows: reader.rows, reader.columns, and reader.facts, those of each column.
local function scan(reader)
    core.call(reader.name, function() return C.neap_csv_scan(reader.csv, rows_box, count_box) end)
    reader.rows, reader.columns, reader.facts = tonumber(rows_box[0]), count_box[0], {}
    for k = 1, reader.columns do
        local facts = C.neap_csv_facts_of(reader.csv, k - 1)
        local kind = facts.kind
        if kind == NOTHING and facts.quoted ~= 0 then kind = TEXT end
        reader.facts[k] = { kind = kind, huge = facts.huge ~= 0, missing = tonumber(facts.missing),
                            signed = facts.lowest < 0, wide = facts.highest > 2ULL ^ 63 - 1 }
    end
end

-- ---- Columns --------------------------------------------------------------------------------------------------------

--- The dtype that a column has if nobody says which: "text", or a dtype's name.
local function dtype_found(facts)
    if facts.kind == TEXT then return "text" end
    if facts.kind == BOOL and facts.missing == 0 then return "bool" end
    if facts.kind == INTEGER and facts.missing == 0 and not facts.huge then
        return facts.wide and "u64" or "i64"
    end
    return "f64"
end

--- The dtype as which C reads a column of another one: f64 for halves, so that a text is not rounded by f32 before.
local function read_as(dtype)
    if dtype.kind == "f" and dtype.bytes < 4 then return dtypes[codes.f64] end
    return dtype
end

local LIMITS = { [1] = { -128LL, 127ULL, 255ULL }, [2] = { -32768LL, 32767ULL, 65535ULL },
                 [4] = { -2147483648LL, 2147483647ULL, 4294967295ULL },
                 [8] = { -9223372036854775807LL - 1LL, 9223372036854775807ULL, 18446744073709551615ULL } }

--- Fills in what C needs to know of a column that goes to memory of a dtype; nil: of texts.
local function describe_column(spec, k, dtype, fill)
    spec.column, spec.filled = k, fill ~= nil and 1 or 0
    if type(fill) == "boolean" then fill = fill and 1 or 0 end
    spec.fill = fill or 0
    if not dtype then
        spec.kind, spec.bytes = ("t"):byte(), 4
        return
    end
    spec.kind, spec.bytes = dtype.kind:byte(), dtype.bytes
    if dtype.kind ~= "f" then
        local limits = LIMITS[dtype.bytes]
        spec.lowest = dtype.kind == "i" and limits[1] or 0
        spec.highest = dtype.kind == "i" and limits[2] or dtype.kind == "u" and limits[3] or 1
    end
end

local function run(reader, n, specs)
    core.call(reader.name, function() return C.neap_csv_read(reader.csv, n, specs) end)
end

--- An array of a dtype from a block that C has filled as `stored`.
local function array_of(name, block, stored, dtype, dims)
    local x = core.fill(stored.code, dims, function(out) ffi.copy(out, block.data, block.size) end, "uint8_t *", name)
    files.release(block)
    return stored ~= dtype and x:astype(dtype.name) or x
end

--- A complex number from its text, as (1+2j), 1-2i, 3j or 4; nil if it is none.
local function complex_of(whole)
    local inner = whole:match "^%s*%(%s*(.-)%s*%)%s*$" or whole:match "^%s*(.-)%s*$"
    local front = inner:match "^(.*)[ij]$"
    if not front then return tonumber(inner) end
    local at = #front -- of the sign of the imaginary part, which is no sign of an exponent
    while at > 1 and not (front:find("^[+-]", at) and not front:find("^[eE]", at - 1)) do at = at - 1 end
    local re, im = at > 1 and tonumber(front:sub(1, at - 1)) or at <= 1 and 0, tonumber(front:sub(math.max(at, 1)))
    return re and im and core.complex.new(re, im)
end

--- A column of texts as complex numbers; `fill`, or NaN, where there is none.
local function complex_column(reader, number, column, dtype, fill)
    local values = { fill or core.NAN }
    for k, level in ipairs(column.levels) do
        values[k + 1] = complex_of(level)
        if not values[k + 1] then
            raise(reader.name, "%s: expected complex numbers in column %d, got %q", reader.path, number, level)
        end
    end
    return np.take(np.array(values, { dtype = dtype }), column.codes + 1)
end

--- Reads columns (numbers from 0) as dtypes ("text" or a name), with fills (nil: none): a list of columns.
local function read_columns(reader, wanted, kinds, fills)
    local specs, blocks = ffi.new("neap_csv_column[?]", #wanted + 1), {}
    for k, number in ipairs(wanted) do
        local dtype = kinds[k] ~= "text" and read_as(dtypes[codes[kinds[k]]]) or nil
        if dtype and dtype.kind == "c" then dtype = nil end -- is made of texts
        describe_column(specs[k - 1], number, dtype, fills[k])
        local problem
        blocks[k], problem = files.block(reader.rows * specs[k - 1].bytes)
        if not blocks[k] then raise(reader.name, "%s", problem) end
        specs[k - 1].out, specs[k - 1].stride = blocks[k].data, specs[k - 1].bytes
    end
    if reader.rows > 0 then run(reader, #wanted, specs) end
    local columns = {}
    for k, number in ipairs(wanted) do
        local dtype = kinds[k] ~= "text" and dtypes[codes[kinds[k]]]
        if not dtype or dtype.kind == "c" then
            local levels = {}
            for j = 1, C.neap_csv_levels(reader.csv, number) do
                local text = C.neap_csv_level(reader.csv, number, j - 1, bytes_box)
                levels[j] = ffi.string(text, bytes_box[0])
            end
            local i32 = dtypes[codes.i32]
            columns[k] = texts.sorted(levels, array_of(reader.name, blocks[k], i32, i32, { reader.rows }))
            if dtype then columns[k] = complex_column(reader, number, columns[k], dtype.name, fills[k]) end
        else
            columns[k] = array_of(reader.name, blocks[k], read_as(dtype), dtype, { reader.rows })
        end
    end
    return columns
end

--- Columns of the file that a user wants, as numbers from 0: by number or by name; all without a list.
local function wanted_columns(name, list, names, n)
    local wanted, by_name = {}, {}
    for k, text in ipairs(names) do by_name[text] = k - 1 end
    if list == nil then
        for k = 1, n do wanted[k] = k - 1 end
        return wanted
    end
    if type(core.plain(list)) == "number" or type(list) == "string" then list = { list } end
    if type(list) ~= "table" or #list == 0 then
        bad_argument(name, nil, "usecols", "a list of names, or of numbers from 0", list)
    end
    for k, key in ipairs(core.list(name, "option 'usecols'", list)) do
        local number = type(key) == "string" and by_name[key] or core.plain(key)
        if type(number) == "number" and number < 0 then number = number + n end
        if type(number) ~= "number" or number % 1 ~= 0 or number < 0 or number >= n then
            raise(name, "option 'usecols' names the column %s; there are %d%s", core.describe(key), n,
                  #names > 0 and ": " .. table.concat(names, ", ") or "")
        end
        wanted[k] = number
    end
    return wanted
end

--- An option that is one value for all columns or a table of values by column name or by number: that of one column.
local function of_column(value, text, number)
    if type(value) ~= "table" then return value end
    if value[text] ~= nil then return value[text] end
    return value[number]
end

local function check_dtype(name, dtype)
    if dtype == "text" then return dtype end
    return dtypes[core.dtype(name, dtype)].name
end

-- ---- Tables ---------------------------------------------------------------------------------------------------------

--- The names of a table's columns: those given, or those of the file, or "c0", "c1", …
local function names_of(reader, given, header)
    local name = reader.name
    if given ~= nil and (type(given) ~= "table" or #given == 0) then
        bad_argument(name, nil, "names", "a list of strings", given)
    end
    local names = header and read_names(reader) or {}
    scan(reader)
    if given and #given ~= reader.columns and (reader.rows > 0 or header) then
        raise(name, "%s: option 'names' has %d names for %d columns", reader.path, #given, reader.columns)
    end
    if given and reader.columns == 0 then -- a file of no lines has no column, but the names say which there are
        reader.columns = #given
        for k = 1, #given do reader.facts[k] = { kind = NOTHING, missing = 0 } end
    end
    if given then return given end
    local seen = {}
    for k = 1, math.max(reader.columns, #names) do
        local text = names[k] or "c" .. k - 1
        if text == "" then text = "c" .. k - 1 end
        local plain, more = text, 1
        while seen[text] do
            text, more = plain .. "." .. more, more + 1
        end
        names[k], seen[text] = text, true
    end
    return names
end

--- The table of a file that was opened. `o`: names, header, usecols, dtype, fill.
local function read_table(reader, o)
    local names = names_of(reader, o.names, o.header)
    local wanted = wanted_columns(reader.name, o.usecols, names, reader.columns)
    local kinds, fills, picked, columns = {}, {}, {}, {}
    for k, number in ipairs(wanted) do
        local text = names[number + 1]
        local facts, fill = reader.facts[number + 1], of_column(o.fill, text, number)
        local dtype = of_column(o.dtype, text, number)
        if type(fill) == "number" and fill % 1 == 0 and facts.missing > 0 or type(fill) == "boolean" then
            facts.missing = 0 -- all have one
        end
        kinds[k] = dtype ~= nil and check_dtype(reader.name, dtype) or dtype_found(facts)
        if fill ~= nil and type(fill) ~= "number" and type(fill) ~= "boolean" then
            bad_argument(reader.name, nil, "fill", "a number, or a table of numbers by column", fill)
        end
        fills[k], picked[k] = fill, text
    end
    for text in pairs(o.dates or {}) do
        local known
        for k, own in ipairs(picked) do
            if own == text then kinds[k], fills[k], known = "text", nil, true end
        end
        if not known then
            raise(reader.name, "option 'parse_dates' names the column '%s'; there are %s", text,
                  table.concat(picked, ", "))
        end
    end
    local list = read_columns(reader, wanted, kinds, fills)
    for k, text in ipairs(picked) do
        if columns[text] then raise(reader.name, "option 'usecols' names the column '%s' twice", text) end
        columns[text] = list[k]
    end
    local rows = reader.rows
    close(reader)
    for text, format in pairs(o.dates or {}) do
        columns[text] = dates.of_texts(reader.name, columns[text], { format = format or nil },
                                       (" in column '%s' of %s"):format(text, reader.path))
    end
    return tables.new(picked, columns, rows)
end

--- The option parse_dates, a list of names or a table of formats by name: formats by name, false: ISO 8601.
function csv.date_formats(name, value)
    if value == nil then return nil end
    if type(value) == "string" then value = { value } end
    if type(value) ~= "table" then
        bad_argument(name, nil, "parse_dates", "a list of names, or a table of formats by name", value)
    end
    local formats = {}
    for key, format in pairs(value) do
        local text = type(key) == "number" and format or key
        if type(text) ~= "string" or type(format) ~= "string" then
            bad_argument(name, nil, "parse_dates", "a list of names, or a table of formats by name", format)
        end
        formats[text] = type(key) == "string" and format
    end
    return formats
end

local function words_option(name, what, value)
    if value == nil then return MISSING end
    if type(value) == "string" then value = { value } end
    if type(value) ~= "table" then bad_argument(name, nil, what, "a string or a list of strings", value) end
    for _, word in ipairs(value) do
        if type(word) ~= "string" then bad_argument(name, nil, what, "a string or a list of strings", word) end
    end
    return value
end

local read_options = { delimiter = true, header = true, names = true, usecols = true, dtype = true, skiprows = true,
                       nrows = true, na_values = true, fill = true, comment = true, quotechar = true, quoting = true,
                       parse_dates = true }

--- np.io.read_csv(path, {delimiter=",", header=true, names=…, usecols=…, dtype=…, skiprows=0, nrows=…, na_values=…,
-- fill=…, comment=…, quotechar="\"", quoting="texts", parse_dates=…}) -> table: a table (np.table) of a text file with
-- delimiters, plain or gzip. Fields in quotes may hold delimiters, ends of lines and doubled quotes (RFC 4180); empty
-- lines are skipped. The dtype of a column follows from its fields: bool for true and false (also True, TRUE), i64 for
-- integers (u64 above that), f64 for numbers, each the nearest to its text, else texts; a field in quotes is a text,
-- also "007". An empty field or one of `na_values` is missing: NaN, for which a column of integers or bools becomes
-- f64, or no text; in quotes it is a text, unless it stands among numbers. Rows of other lengths than the first, and
-- fields that do not fit a dtype that was asked for, raise with file:line:column.
--- delimiter: the character between fields; false: any run of blanks and tabs
--- header: whether the first line has the names of the columns
--- names: names for the columns, in place of the header's; c0, c1, … where there are none
--- usecols: only these columns, by name or by number from 0, in this order
--- dtype: a dtype for all columns, or a table of them by name; "text" keeps the texts; complex ones read (1+2j)
--- skiprows: so many lines at the beginning are no part of it
--- nrows: at most so many rows are read
--- na_values: what stands for a missing value, besides nothing: a list in place of NA, N/A, nan, NaN, null, NULL, None
-- …
--- fill: a number for values that are missing, or a table of them by name: integers stay integers
--- comment: a character with which comments begin, which go on to the end of the line
--- quotechar: the character around fields that hold others; false: none
--- quoting: "texts": what stands in quotes is a text; "all": quotes say nothing, for files in which numbers have them
-- too
--- parse_dates: a list of names of columns that have dates as ISO 8601 has them, or a table of formats by name, as
-- np.to_datetime takes them
--- > file = io.open("prices.csv", "w")
--- > _ = file:write("city,price,count\nBern,3.5,1\nRome,,2\n"), file:close()
--- > np.io.read_csv("prices.csv")
-- city  price  count
-- text    f64    i64
-- Bern    3.5      1
-- Rome    nan      2
-- [2 rows, 3 columns]
--- > np.io.read_csv("prices.csv", {usecols={"price"}, fill=0, dtype="f32"}).price
-- [3.5 0. ]
function csv.read_csv(path, given)
    local name = "io.read_csv"
    local o = core.options(name, given, read_options)
    local quoting = o.quoting or "texts"
    if quoting ~= "texts" and quoting ~= "all" then
        bad_argument(name, nil, "quoting", '"texts" or "all"', o.quoting)
    end
    local formats = csv.date_formats(name, o.parse_dates)
    local reader = open(name, path, {
        delimiter = mark(name, "delimiter", o.delimiter, ","), quote = mark(name, "quotechar", o.quotechar, '"'),
        comment = mark(name, "comment", o.comment), missing = words_option(name, "na_values", o.na_values),
        quoted_texts = quoting == "texts",
        skip = count_option(name, "skiprows", o.skiprows, 0), most = count_option(name, "nrows", o.nrows, -1),
    })
    return read_table(reader, { names = o.names, header = o.header ~= false, usecols = o.usecols, dtype = o.dtype,
                                fill = o.fill, dates = formats })
end

-- ---- Arrays ---------------------------------------------------------------------------------------------------------

--- The array of a file that was opened: rows and columns; `o`: usecols, dtype, fill, ndmin.
local function read_array(reader, o)
    scan(reader)
    local name = reader.name
    local dtype = dtypes[core.dtype(name, o.dtype, codes.f64)]
    if dtype.kind == "c" then
        raise(name, "reads real numbers, no %s; np.io.read_csv reads columns of those", dtype.name)
    end
    local wanted = wanted_columns(name, reader.columns > 0 and o.usecols or nil, {}, reader.columns)
    local stored = read_as(dtype)
    local width = stored.bytes * #wanted
    local block, problem = files.block(reader.rows * width)
    if not block then raise(name, "%s", problem) end
    local specs = ffi.new("neap_csv_column[?]", #wanted + 1)
    for k, number in ipairs(wanted) do
        describe_column(specs[k - 1], number, stored, o.fill)
        specs[k - 1].out, specs[k - 1].stride = block.data + (k - 1) * stored.bytes, width
    end
    run(reader, #wanted, specs)
    local dims = { reader.rows, #wanted }
    close(reader)
    local x = array_of(name, block, stored, dtype, dims)
    local least = o.ndmin or 0
    if least ~= 0 and least ~= 1 and least ~= 2 then bad_argument(name, nil, "ndmin", "0, 1 or 2", least) end
    if #wanted == 0 then return least == 2 and x:reshape(0, 1) or x:reshape(0) end -- as NumPy has it
    if least < 2 and (dims[1] == 1 or dims[2] == 1) then
        x = x:reshape(dims[1] * dims[2])
        if least == 0 and #x == 1 then x = x:reshape {} end
    end
    return x
end

local load_options = { dtype = true, comments = true, delimiter = true, skiprows = true, usecols = true,
                       max_rows = true, ndmin = true, quotechar = true, unpack = true }

--- np.io.loadtxt(path, {dtype="f64", comments="#", delimiter=…, skiprows=0, usecols=…, max_rows=…, ndmin=0,
-- quotechar=…, unpack=false}): the numbers of a text file (plain or gzip) as a 2-d array, a row for each line; of one
-- row or one column 1-d, as in NumPy. Each number is the nearest of the dtype to its text. Raises with file:line:column
-- where there is none: an empty field, a word (true and false are bools alone); np.io.genfromtxt takes those.
--- dtype: f64 without it
--- comments: the character with which comments begin; false: none
--- delimiter: the character between numbers; any run of blanks and tabs without it
--- skiprows: so many lines at the beginning are no part of it
--- usecols: only these columns, by number from 0
--- max_rows: at most so many rows are read
--- ndmin: 1 or 2: at least so many axes
--- quotechar: the character around numbers, if there is one
--- unpack: true gives the columns as several results
--- > np.io.savetxt("x.txt", np.eye(2))
--- > np.io.loadtxt("x.txt")
-- [[1. 0.]
--  [0. 1.]]
function csv.loadtxt(path, given)
    local name = "io.loadtxt"
    local o = core.options(name, given, load_options)
    local x = read_array(open(name, path, {
        delimiter = mark(name, "delimiter", o.delimiter), quote = mark(name, "quotechar", o.quotechar),
        comment = mark(name, "comments", o.comments, "#"), missing = {}, strict = true,
        skip = count_option(name, "skiprows", o.skiprows, 0), most = count_option(name, "max_rows", o.max_rows, -1),
    }), { dtype = o.dtype, usecols = o.usecols, ndmin = o.unpack and 2 or o.ndmin })
    if not o.unpack then return x end
    local parts = {}
    for k = 1, x.shape[2] do parts[k] = x[{ {}, k - 1 }] end
    return core.results(name, parts, "without 'unpack' x[{{}, k}] is a column")
end

local genfromtxt_options = { dtype = true, comments = true, delimiter = true, skip_header = true, usecols = true,
                             names = true, missing_values = true, filling_values = true, max_rows = true }

--- np.io.genfromtxt(path, {dtype="f64", comments="#", delimiter=…, skip_header=0, usecols=…, names=…, missing_values=…,
-- filling_values=…, max_rows=…}): as np.io.loadtxt, but numbers may be missing, or be words: they are NaN, or
-- `filling_values`, without which integers raise. With names it gives a table (np.table), whose columns have each the
-- dtype that follows from their fields.
--- dtype: f64 without it
--- comments: the character with which comments begin; false: none
--- delimiter: the character between fields; any run of blanks and tabs without it
--- skip_header: so many lines at the beginning are no part of it
--- usecols: only these columns, by number from 0, or by name
--- names: true takes them from the first line; or a list
--- missing_values: what stands for a missing value, besides nothing: a string or a list
--- filling_values: a number for values that are missing
--- max_rows: at most so many rows are read
--- > file = io.open("x.txt", "w")
--- > _ = file:write("1,2\n,4\n"), file:close()
--- > np.io.genfromtxt("x.txt", {delimiter=","})
-- [[ 1.  2.]
--  [nan  4.]]
function csv.genfromtxt(path, given)
    local name = "io.genfromtxt"
    local o = core.options(name, given, genfromtxt_options)
    local reader = open(name, path, {
        delimiter = mark(name, "delimiter", o.delimiter), quote = o.names and ('"'):byte() or 0,
        comment = mark(name, "comments", o.comments, "#"),
        missing = words_option(name, "missing_values", o.missing_values), quoted_texts = true, loose = true,
        skip = count_option(name, "skip_header", o.skip_header, 0),
        most = count_option(name, "max_rows", o.max_rows, -1),
    })
    local fill = o.filling_values
    if fill ~= nil and type(fill) ~= "number" then bad_argument(name, nil, "filling_values", "a number", fill) end
    if o.names then
        return read_table(reader, { names = o.names ~= true and o.names or nil, header = o.names == true,
                                    usecols = o.usecols, dtype = o.dtype, fill = fill })
    end
    return read_array(reader, { dtype = o.dtype, usecols = o.usecols, fill = fill })
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

local written_box, next_box = ffi.new("size_t[1]"), ffi.new("int64_t[1]")

--- Complex numbers as texts, (1+2j), with all of their digits: as NumPy writes and reads them.
local function complex_texts(x)
    local list = {}
    local form = core.dtype_of(x).name == "c64" and "(%.9g%+.9gj)" or "(%.17g%+.17gj)"
    for k, value in ipairs(x:totable()) do list[k] = form:format(value.re, value.im) end
    return list
end

--- The rows of columns (arrays of one axis, or texts) as pieces of text. `plain`: by column, whether its texts stand
-- for numbers. `none`: what stands for no value.
local function csv_pieces(name, columns, plain, rows, delimiter, none)
    local format, kept = format_of("", { delimiter = delimiter, quote = ('"'):byte(), missing = MISSING })
    local sources, keep, pieces = ffi.new("neap_csv_source[?]", #columns + 1), {}, {}
    for k, values in ipairs(columns) do
        local source, x = sources[k - 1], values
        if texts.is_text(values) then
            source.kind, source.bytes, x = (plain[k] and "r" or "t"):byte(), 4, values.codes
            local pointers, lengths = texts.pointers(values.levels)
            source.texts, source.lengths = pointers, lengths
            keep[#keep + 1] = { pointers, lengths, values }
        else
            local dtype = core.dtype_of(values)
            if dtype.kind == "f" and dtype.bytes < 4 then
                x, dtype = values:astype "f32", dtypes[codes.f32]
            end
            source.kind, source.bytes = dtype.kind:byte(), dtype.bytes
        end
        source.data = core.data(x)
        keep[#keep + 1] = x
    end
    local first, capacity = 0, 4 * CHUNK
    local buffer = ffi.new("char[?]", capacity)
    while first < rows do
        local rc = C.neap_csv_write(#columns, sources, format, none, first, rows, buffer, capacity, written_box,
                                    next_box)
        pieces[#pieces + 1] = ffi.string(buffer, written_box[0])
        if rc == C.NEAP_PENDING and tonumber(next_box[0]) == first then
            capacity = 2 * capacity
            if capacity > 2 ^ 30 then raise(name, "row %d is too long", first) end
            buffer = ffi.new("char[?]", capacity)
        end
        first = tonumber(next_box[0])
    end
    return pieces, keep, kept -- what C has read lives until here
end

--- Writes pieces of text to a file; compressed where its name ends in .gz.
local function write(name, path, pieces)
    local problem
    if path:find "%.gz$" then
        pieces, problem = zip.gzip_pieces(pieces)
        if not pieces then raise(name, "cannot write '%s': %s", path, problem) end
    end
    local good
    good, problem = files.write(path, pieces)
    if not good then raise(name, "%s", problem) end
end

csv.write = write

local function quoted(text, delimiter)
    local plain = text ~= "" and not text:find '[%s",#]' and not text:find(delimiter, 1, true)
    if plain and not text:find "^\239\187\191" then return text end -- which readers skip at the beginning of a file
    return '"' .. text:gsub('"', '""') .. '"'
end

--- np.io.write_csv(path, t, {delimiter=",", header=true, na_rep="", fmt=…}) -> nothing: writes a table, or an array of
-- two axes, as text with delimiters: what np.io.read_csv reads. Numbers have the fewest digits that give them back;
-- texts that would be read as something else ("007", "NA", "true") stand in quotes; dates are as ISO 8601 has them;
-- what is missing is `na_rep`. Dtypes are in no file: reading gives i64 and f64 unless it is asked for others. A path
-- that ends in .gz is that of a gzip file. Waits.
--- delimiter: the character between fields
--- header: false leaves out the line of names
--- na_rep: what stands for NaN, and for no text
--- fmt: how reals are written, as "%.3f"; all their digits without it
--- > np.io.write_csv("t.csv", np.table{a = {1, 2.5}, b = {"x", "y z"}})
--- > io.open("t.csv"):read "*a"
-- a,b
-- 1.0,x
-- 2.5,y z
--
function csv.write_csv(path, t, given)
    local name = "io.write_csv"
    core.check_path(name, path)
    local o = core.options(name, given, { delimiter = true, header = true, na_rep = true, fmt = true })
    if core.is_array(t) and core.ndim(t) == 2 then t = np.table(t) end
    if not tables.is_table(t) then bad_argument(name, 2, "t", "a table, or an array of two axes", t) end
    local delimiter, missing = mark(name, "delimiter", o.delimiter, ","), o.na_rep or ""
    local char = string.char(delimiter)
    if delimiter == 0 or char:find '[%w"#.+-]' then
        bad_argument(name, nil, "delimiter", "one character that no number has", o.delimiter)
    end
    if type(missing) ~= "string" or missing:find "[%c\"]" or missing:find(char, 1, true) then
        bad_argument(name, nil, "na_rep", "a string without quotes and delimiters", missing)
    end
    local columns, heads, plain = {}, {}, {}
    for k, key in ipairs(t.columns) do
        columns[k], heads[k] = t:column(key), quoted(key, char)
        if dates.is_dates(columns[k]) then
            columns[k], plain[k] = texts.of_list(name, columns[k]:totable(), #t), delimiter ~= 32
        end
        if o.fmt ~= nil and not texts.is_text(columns[k]) and core.dtype_of(columns[k]).kind == "f" then
            columns[k], plain[k] = texts.of_list(name, csv.formatted(name, columns[k], o.fmt, true), #t), true
        elseif not texts.is_text(columns[k]) and core.dtype_of(columns[k]).kind == "c" then
            columns[k], plain[k] = texts.of_list(name, complex_texts(columns[k]), #t), true
        end
    end
    if #columns == 1 and not missing:find "%S" then missing = "NA" end -- an empty line would be no row
    local pieces = csv_pieces(name, columns, plain, #t, delimiter, missing)
    if o.header ~= false then table.insert(pieces, 1, table.concat(heads, char) .. "\n") end
    write(name, path, pieces)
end

--- The elements of an array as texts by a printf conversion; with `holes`, NaN as false.
function csv.formatted(name, x, fmt, holes)
    if type(fmt) ~= "string" then bad_argument(name, nil, "fmt", 'a conversion such as "%.3f"', fmt) end
    local list = {}
    for k, value in ipairs(x:totable()) do
        if type(value) == "boolean" then value = value and 1 or 0 end
        local ok, text = pcall(string.format, fmt, value)
        if not ok then raise(name, "option 'fmt': %q does not fit a number", fmt) end
        if holes and value ~= value then text = false end
        list[k] = text
    end
    return list
end

--- A 64-bit integer that is no number of Lua by one conversion: by %d with all of its digits.
local function converted(conversion, value)
    local flags, width, letter = conversion:match "^%%([-+ #0]*)(%d*)%.?%d*(%a)$"
    if type(value) ~= "cdata" or not letter then return conversion:format(value) end
    if letter:find "[eEfFgG]" then return conversion:format(tonumber(value)) end
    if not letter:find "[diu]" then error "no conversion of such integers" end
    local text = tostring(value):match "%-?%d+"
    if value >= 0 then text = (flags:match "%+" or flags:match " " or "") .. text end
    local missing = math.max((tonumber(width) or 0) - #text, 0)
    if flags:find("-", 1, true) then return text .. (" "):rep(missing) end
    if flags:find("0", 1, true) then return (text:gsub("%d", ("0"):rep(missing) .. "%0", 1)) end
    return (" "):rep(missing) .. text
end

--- A text with a conversion for each number of a row, of which some are no numbers of Lua.
local function converted_row(fmt, row)
    local k = 0
    return (fmt:gsub("%%([-+ #0-9.]*)([%a%%])", function(how, letter)
        if letter == "%" then return "%" end
        k = k + 1
        return converted("%" .. how .. letter, row[k])
    end))
end

--- A function that writes a row of numbers. fmt: a conversion for each of them, a list of such, or one text for all.
local function row_writer(name, fmt, width, delimiter)
    if type(fmt) == "table" and #fmt ~= width then
        raise(name, "option 'fmt' has %d conversions for %d columns", #fmt, width)
    elseif type(fmt) ~= "table" and type(fmt) ~= "string" then
        bad_argument(name, nil, "fmt", 'a conversion such as "%.3f"', fmt)
    elseif type(fmt) == "string" and fmt:gsub("%%%%", ""):find "%%.*%%" then
        return function(row, wide)
            if wide then return converted_row(fmt, row) end
            return fmt:format(unpack(row))
        end
    end
    return function(row, wide)
        local fields = {}
        for k = 1, width do
            local own = type(fmt) == "table" and fmt[k] or fmt
            fields[k] = wide and converted_row(own, { row[k] }) or own:format(row[k])
        end
        return table.concat(fields, delimiter)
    end
end

--- np.io.savetxt(path, x, {fmt="%.18e", delimiter=" ", newline="\n", header=…, footer=…, comments="# "}) -> nothing:
-- writes an array of one or two axes as text, a line for each row. Waits.
--- fmt: how a number is written: one conversion for all, a list of them for the columns, or one text for a row
--- delimiter: what stands between numbers
--- newline: what ends a line
--- header: a text in front, each line behind `comments`
--- footer: the same at the end
--- comments: what begins lines of header and footer
--- > np.io.savetxt("x.txt", np.array{{1, 2}, {3, 4}}, {fmt="%.1f", header="a b"})
--- > io.open("x.txt"):read "*a"
-- # a b
-- 1.0 2.0
-- 3.0 4.0
--
function csv.savetxt(path, x, given)
    local name = "io.savetxt"
    core.check_path(name, path)
    local o = core.options(name, given, { fmt = true, delimiter = true, newline = true, header = true, footer = true,
                                          comments = true })
    if not core.is_array(x) then bad_argument(name, 2, "x", "an array", x) end
    if core.ndim(x) == 1 then x = x:reshape(#x, 1) end
    if core.ndim(x) ~= 2 then raise(name, "an array of 1 or 2 axes is wanted, got shape %s", core.shape_text(x)) end
    for _, key in ipairs { "delimiter", "newline", "header", "footer", "comments" } do
        if o[key] ~= nil and type(o[key]) ~= "string" then bad_argument(name, nil, key, "a string", o[key]) end
    end
    if core.dtype_of(x).kind == "c" then
        raise(name, "takes real numbers, got dtype %s; np.stack({x.real, x.imag}, {axis=-1}) has the parts",
              core.dtype_of(x).name)
    end
    local fmt, newline, comments = o.fmt or "%.18e", o.newline or "\n", o.comments or "# "
    local line_of = row_writer(name, fmt, x.shape[2], o.delimiter or " ")
    local lines = {}
    if o.header then lines[1] = comments .. o.header:gsub("\n", "\n" .. comments) .. newline end
    for _, row in ipairs(x:totable()) do
        local wide = false
        for k, value in ipairs(row) do
            if type(value) == "boolean" then row[k] = value and 1 or 0 end
            wide = wide or type(value) == "cdata"
        end
        local ok, text = pcall(line_of, row, wide)
        if not ok then
            local shown = type(fmt) == "table" and table.concat(fmt, o.delimiter or " ") or fmt
            raise(name, "option 'fmt': %q does not fit a row of %d numbers", shown, #row)
        end
        lines[#lines + 1] = text .. newline
    end
    if o.footer then lines[#lines + 1] = comments .. o.footer:gsub("\n", "\n" .. comments) .. newline end
    write(name, path, { table.concat(lines) })
end

for _, f in ipairs { inflated, open, complex_column, read_names, scan, run, array_of, read_columns, read_table,
                     read_array,
                     csv_pieces, csv.formatted, converted_row, row_writer } do
    jit.off(f)
end

return csv
