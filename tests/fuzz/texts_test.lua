--- texts_test.lua (not under tsan): hostile texts for what reads Lua code in order to tell of errors, complete or
-- colour it, or to see whether a command may go on. Texts are random words, changed files of this tree and parts of
-- them, bytes, long runs of a few words, deep nesting, with line ends of two bytes; strings, comments and long brackets
-- stay open in many, drawn at random. Each tool ends, without an error, within seconds of the processor's time, where
-- linear time is some milliseconds; and both lexers, of Lua and of C, find the same tokens. The texts are read in a
-- child, which is killed if it stays in one of them.
--
-- A long run (tests/lib/seeds.lua) has texts of up to a megabyte, and tells each tool's slowest.
--
--     NEAP_FUZZ_TEXT      a file: only its text is read
--     NEAP_FUZZ_KEEP      a path: the text that is being read stands there when the process dies
local lexer = require "neap.core.lexer"
local seeds = require "tests.lib.seeds"
local process = require "tests.lib.process"

local seconds, seed = seeds.seconds(4), seeds.first
local LIMIT = 2    -- seconds of the processor that a tool may take, and
local MORE = 10e-6 -- so many more for each byte
local LEAST = 25   -- texts of each run, however slow the build
local KEEP = os.getenv "NEAP_FUZZ_KEEP"

local function random(n)
    seed = (seed * 16807) % 2147483647
    return math.floor(seed / 8) % n + 1
end

local function pick(list) return list[random(#list)] end

-- ---- Texts ----------------------------------------------------------------------------------------------------------

local WORDS = {
    "'", '"', "'", '"', "\\", "\\'", '\\"', "\\z", "\\\n", "[[", "]]", "[=[", "]=]", "[==[", "]==]", "[====", "]", "[",
    "=", "--", "--[[", "--[==[", "-- it's", "(", ")", "{", "}", "()", "{}", "[]", ".", ":", "..", "...", "::", ",", ";",
    "\n", "\n", "\r\n", "\r", "\t", " ", " ", "  ", "\0", "\1", "\255", "\192\175", "é", "😀", "+", "*", "/", "^", "%",
    "#", "<", ">", "<=", "==", "~=", "~", "!", "?", "??", "@", "$", "&", "|", "a", "b1", "_", "x", "np", "np.sum",
    "np.linalg.", "x:sum", "x:", ":at{", ":at", "set", "a.b", "t", "1", "1e5", "0x1p-4", "1e", "3..", "1_000", "1:1: ",
    ":12: ", "and", "or", "not", "if", "then", "else", "elseif", "end", "for", "for i=1,", "for k in ", " in ", "do",
    "while", "repeat", "until", "function", "function f(", "local", "local a =", "local a, b =", "return", "break",
    "goto", "nil", "true", "import", "def f(", "lambda x:", "print ", "range(", " in range(", "class", "try:", "f'",
    "attempt to ", "attempt to call ", "attempt to index ", "method '", "field '", "near '", " near '<eof>'", "(a nil ",
    "bad argument #1 to '", "got cdata)", "unfinished string", "'=' expected", ": ", "> ", ">> ", "?np.", ":time ",
    ":run ", "!ls ", "%timeit ", "x = x", "+=", "++", "**", "//", "&&", "||", "is not ", "{x=", "axis=0", "]]=]", "'t ",
    "np.plot.", "np.plot.title = ", "->", ":=", "<- ", "`", "function f(x) ", "print x ", "np.sin x ",
}

local MESSAGES = {
    "x:1: unfinished string near '%s'", "x:1: '=' expected near '%s'", "x:1: unexpected symbol near '%s'",
    "x:1: ')' expected near '%s'", "x:1: '<eof>' expected near '%s'", "x:1: %s", "np.sum: %s", "%s",
    "x:1: attempt to call global '%s' (a nil value)", "x:1: attempt to call method 'append' (a nil value)",
    "x:1: attempt to call a table value", "x:1: 'for' limit must be a number", "x:1: attempt to index local 'a' (%s)",
    "x:1: attempt to perform arithmetic on a string value", "x:1: bad argument #1 to 'max' (got cdata)",
    "x:1: attempt to call field 'shape' (a table value)", "x:1: array index: %s", "x:1: variable '%s' is not declared",
    "x:1: 'end' expected (to close 'if' at line 1) near '<eof>'", "x:1: unfinished long comment near '<eof>'",
    "x:1: 'do' expected near '%s'", "x:1: '}' expected (to close '{' at line 1) near '%s'",
    "x:1: attempt to index a nil value", "x:1: attempt to index field '?' (a nil value)",
    "x:1: attempt to index global 'x' (a number value)", "x:1: attempt to call a number value",
    "x:1: attempt to call global 'x' (a table value)", "x:1: attempt to compare number with string",
    "x:1: bad argument #1 to 'upper' (string expected, got no value)", "x:1: module '%s' not found:",
    "x:1: np.sum: argument 1 must be an array or a number, got nothing (nil)",
    "x:1: np.max: axis 4 is out of range for an array of 0 axes", "x:1: np.hstack: takes 1 argument, got also %s",
    "x:1: attempt to call a string value; for %s", "x:1: an array is no function and no iterator: %s",
    "x:1: '>' cannot give an array in Lua", "x:1: np has no '%s'", "x:1: syntax error near '%s'",
    "x:1: attempt to call field 'pi' (a number value)",
}

local function words(size)
    local list, bytes = {}, 0
    while bytes < size do
        list[#list + 1] = pick(WORDS)
        bytes = bytes + #list[#list]
    end
    return table.concat(list)
end

local files = {}
for path in io.popen("ls interp/*.lua stdlib/neap/core/*.lua scripts/*.lua"):lines() do files[#files + 1] = path end

local function changed_file(size)
    local text = process.read(pick(files))
    local from = random(#text)
    text = text:sub(from, from + size)
    for _ = 1, random(6) do
        local at = random(#text + 1)
        text = text:sub(1, at - 1) .. pick { words(1), words(10), "" } .. text:sub(at + random(4) - 1)
    end
    return text
end

--- Some tokens of a file, none of them cut in two.
local function part_of_file()
    local text = process.read(pick(files))
    local from = text:find("%f[%w%p]", random(#text)) or 1
    local to = from - 1
    for _ = 1, random(20) do to = to < #text and lexer.next(text, to + 1) or to end
    return text:sub(from, to) .. pick { "", " -- None", " inf", "\nx = None" }
end

local function bytes(size)
    local list = {}
    for k = 1, math.min(size, 4000) do list[k] = string.char(random(256) - 1) end
    return table.concat(list)
end

local function few() return random(3) == 1 and "" or words(random(8)) end

local function run(size)
    local before, unit, behind = few(), random(2) == 1 and pick(WORDS) or words(random(12)), few()
    local text = before .. unit:rep(math.ceil(size / #unit)) .. behind
    return random(4) == 1 and text .. few() .. pick(WORDS):rep(size) or text
end

local NESTS = { { "(", ")" }, { "{", "}" }, { "[", "]" }, { "a[", "]" }, { "f(", ")" }, { "{a=", "}" },
                { "do ", "end " }, { "function() ", "end " },
                { "if a then ", "end " }, { "repeat ", "until a " }, { "x:at{", "}:set(1)" },
                { "(a)(", ")" }, { "- ", "" }, { "not ", "" }, { "a..", "b" }, { "a^", "b" } }

local function nest(size)
    local pair = pick(NESTS)
    local n = math.ceil(size / (#pair[1] + #pair[2]))
    return few() .. pair[1]:rep(n) .. few() .. pair[2]:rep(n - random(3) + 1) .. few()
end

local runs = 0
local ALONE = seeds.is_long and WORDS or { "a", " " }
local ALONE_SIZE = seeds.is_long and 100000 or 30000

--- A text, and whether each tool is to read it, however long it is.
local function some_text()
    if runs < #ALONE then -- a word without end, first
        runs = runs + 1
        return few() .. ALONE[runs]:rep(math.ceil(ALONE_SIZE / #ALONE[runs])) .. few(), true
    end
    local size = ({ 30, 300, 300, 3000, 30000, seeds.is_long and random(8) == 1 and 1000000 or 100000 })[random(6)]
    local text = pick { words, words, changed_file, part_of_file, part_of_file, bytes, run, run, run, nest }(size)
    if random(5) == 1 then text = text:gsub("\r?\n", "\r\n") end
    if random(8) == 1 then text = text .. "\n" .. words(20) end
    return text
end

-- ---- Tools ----------------------------------------------------------------------------------------------------------

--- What the child needs of neap's own modules, and the tools: by name f(text).
local function make_tools()
    local core = require "neap.core"
    local source = require "neap.core.source"
    require "neap.inspect.help"
    require "neap.core.hints"
    local modules = {}
    for _, name in ipairs { "channels", "commands", "complete", "excerpt", "locals", "mistakes", "repl", "slips",
                            "system", "tokens", "unlikely" } do
        modules[name] = require("neap.interp." .. name)
    end
    core.warn_at = function() end
    local questions = {}
    require("neap.interp.kernel_questions").install(questions)
    local function message(text) return (pick(MESSAGES):gsub("%%s", function() return text:sub(1, 200000) end)) end
    --- Calls a function from a line of a chunk whose text is said to be this one.
    local function on_line(text, f, ...)
        local chunk = loadstring("return (...)(select(2, ...))", "=texts")
        source.keep("=texts", text)
        return chunk(f, ...)
    end
    local tools = {
        load = function(text) loadstring(text, "=texts") end,
        mistakes = function(text)
            source.keep("=x", text)
            modules.mistakes.explain(message(text), "=x")
            modules.mistakes.explain(message "t", "=x")
        end,
        slips = function(text)
            for _, known in ipairs(MESSAGES) do on_line(text, modules.slips.explain, (known:gsub("%%s", "x"))) end
            on_line(text, modules.slips.explain, message(text))
        end,
        misuse = function(text)
            local hints = require "neap.core.hints"
            on_line(text, hints.comparison, "lt", np.ones(1), 3)
            on_line(text, hints.dot, "np.sum")
            on_line(text, hints.nil_index)
            hints.name("np", text, {})
        end,
        excerpt = function(text)
            source.keep("=x", text)
            modules.excerpt.of(message "t", "=x", 1, true)
            modules.excerpt.of(message(text), "=x", 1, false)
            modules.excerpt.plain(message(text), nil, nil, false, 80)
        end,
        tokens = function(text)
            modules.tokens.split(text)
            modules.tokens.depth(text)
            modules.tokens.ends_quietly(text)
            modules.tokens.names(text)
        end,
        locals = function(text)
            local scope = modules.locals.scope()
            if loadstring(text, "=texts", "t") then scope:compile("", text, "=texts") end
        end,
        incomplete = function(text) modules.repl.incomplete(text) end,
        readable = function(text) modules.repl.readable(text) end,
        commands = function(text) modules.commands.code_of(text) end,
        complete = function(text)
            modules.complete.at(text, #text, true)
            modules.complete.at(text, random(#text + 1) - 1, false)
            modules.complete.list()
            modules.complete.matches(text, #text)
        end,
        help = function(text)
            core.help.answer(text, { width = 80 })
            core.help.arguments(text:sub(1, 100))
        end,
        styles = function(text) modules.system.styles(text) end,
        indent = function(text) modules.channels.indent(text) end,
        inspect = function(text)
            questions.inspect_request(nil, { code = text, cursor_pos = random(#text + 1) - 1 })
        end,
        unlikely = function(text) modules.unlikely.tell(text, "texts") end,
        transcript = function(text) modules.repl.readable("> " .. text:gsub("\n", "\n>> ")) end,
    }
    return tools, modules.system
end

-- Letters of system.styles that a token may have, by its kind: what is not closed, or closes nothing, is wrong ("g").
local STYLES = { space = "[ac]", comment = "[eg]", string = "[cg]", number = "d", keyword = "[bg]", name = "[abf]",
                 symbol = "[aghb]" }

--- What the lexer of Lua finds in a text is what that of C does.
local function compare_lexers(text, system)
    local styles, at = system.styles(text), 1
    while at <= #text and text:sub(1, 1) ~= "!" do
        local to, kind, closed = lexer.next(text, at)
        local style = styles:sub(at, to)
        local long_line = kind == "comment" and not text:find("^%-%-%[=*%[", at)
        local letter = (closed == false and not long_line) and "g" or STYLES[kind]
        if not style:find("^" .. letter .. "+$") then
            error(("the lexers differ at byte %d: %s %q has the styles %s"):format(at, kind, text:sub(at, to), style),
                  0)
        end
        at = to + 1
    end
end

-- ---- The child ------------------------------------------------------------------------------------------------------

--- Reads texts, and notes the seed of each in the file `notes`, the tool, and what went wrong.
local function read_texts(notes)
    local tools, system = make_tools()
    local slowest, names = {}, {}
    for name in pairs(tools) do names[#names + 1] = name end
    table.sort(names)
    local function try(name, text, first)
        process.write(notes, ("seed %d, tool %s, %d bytes"):format(first, name, #text))
        if KEEP then process.write(KEEP, text) end
        local before = os.clock()
        local ok, problem = pcall(tools[name], text)
        local took = os.clock() - before
        if not slowest[name] or took > slowest[name].took then
            slowest[name] = { took = took, first = first, size = #text }
        end
        if not ok or took > LIMIT + MORE * #text then
            error(("seed %d, %d bytes: %s: %s"):format(first, #text, name, ok and took .. " s" or problem), 0)
        end
    end
    local start, count, only = os.time(), 0, os.getenv "NEAP_FUZZ_TEXT"
    while os.time() - start < seconds or count < LEAST do
        local first = seed
        local text, by_each = some_text()
        if only then text, by_each = process.read(only), true end
        for _, name in ipairs(names) do
            if by_each or #text < 1000 or seeds.is_long or random(4) == 1 then try(name, text, first) end
        end
        if #text < 10000 then
            process.write(notes, ("seed %d, lexers"):format(first))
            compare_lexers(text, system)
        end
        count = count + 1
        if only then break end
    end
    for _, name in ipairs((seeds.is_long or only) and names or {}) do
        local found = slowest[name]
        local row = found and { name, 1000 * found.took, found.size, found.first }
        if found then print(("%-12s %6.0f ms, %7d bytes, seed %d"):format(unpack(row))) end
    end
    print(count .. " texts")
end

if arg[1] == "texts" then
    local ok, problem = pcall(read_texts, arg[2])
    if not ok then print(problem) end
    os.exit(ok and 0 or 1)
end

-- ---- The test -------------------------------------------------------------------------------------------------------

local check = require "tests.lib.check"

check.test("texts", function()
    local notes = os.tmpname()
    local status, out, err = process.run { "timeout", "-s", "KILL", tostring(seconds + 300), process.neap, arg[0],
                                           "texts", notes }
    local last = process.read(notes)
    os.remove(notes)
    check.equal({ status, err }, { 0, "" }, ("%s\nthe last one: %s"):format(out, last))
    if seeds.is_long then io.stdout:write(out) end
end)

process.cleanup()
check.done()
