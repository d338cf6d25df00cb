--- mistakes.lua: what Python, IPython, C or JavaScript would have understood, recognised when code does not parse.
--
-- A hint is put behind LuaJIT's message, on the same line. Rules look at the line that the message names, without its
-- comment and what its strings hold; the first that fits is taken. Where none fits, the message stays as it is.
local core = require "neap.core"
local source = require "neap.core.source"
local lexer = require "neap.core.lexer"
local magics = require "neap.interp.magics"
local mistakes = {}

local OWN = "=neap/value" -- a chunk of the library's, which chunks.lua leaves alone
local LONGEST = 300       -- bytes of a line that is looked at: patterns take the third power of it
local MOST_NEAR = 60      -- bytes of a token that are told

local OPERATORS = { ["+"] = "add", ["*"] = "mul" } -- that a changed part of an array has

--- The text of an index in brackets, as an index in text form or in a table.
local function index_hint(code, separator)
    for name, brackets in code:gmatch "([%a_][%w_%.]*)%s*(%b[])" do
        local inside = brackets:sub(2, -2)
        if inside:find(separator, 1, true) and not inside:find "[%[%]\"]" then
            inside = inside:gsub("%f[%w_]end%f[^%w_]", "") -- of MATLAB and Julia
            return name, inside:match "^%s*(.-)%s*$"
        end
    end
    return "x", separator == ":" and "1:2" or "1, 2"
end

--- x:sum, x:T: what stands behind a colon is called, or is a field.
local function uncalled(receiver, name)
    if core.fields[name] then return ("a field stands behind a dot: %s.%s"):format(receiver, name) end
    return ("a method is called: %s:%s()"):format(receiver, name)
end

-- What the message must say ("" is anything), a pattern for the line, and the hint, or what makes one of the captures.
-- raw: the pattern is for the line with what its strings hold.
local RULES = {
    { "near '%'", "^%s*%%+%s*([%a_][%w_]*)%s*(.-)%s*$", magics.hint, raw = true },
    { "'=' expected", "^%s*([%a_]+)%s+(.-)%s*$", magics.without_sign, raw = true },
    { "near ':'", "^%s*:(%a+)", magics.colon },
    { "near '!'", "^%s*!%s*(%l.-)%s*$", magics.shell, raw = true },
    { "near '?'", "^%s*%?+%s*([%a_][%w_%.:]*)%s*$", magics.question },
    { "near '?'", "^%s*([%a_][%w_%.:]*)%?+%s*$", magics.question },
    { "near '?'", "%?%s*$", "?NAME, or NAME?, tells of a name, as ?np.sum" },
    { "", "^%s*def%s+([%a_][%w_%.]*)%s*(%b())", "Lua writes function %s%s … end" },
    { "", "^%s*import%s+numpy", "np is there already, without import" },
    { "", "^%s*import%s+([%a_][%w_]*)", 'Lua writes local %1 = require "%1"' },
    { "", "^%s*from%s+([%a_][%w_%.]*)%s+import", 'Lua writes require "%s"' },
    { "'=' expected", "^%s*using%s+([%a_][%w_]*)", 'Lua writes local %1 = require "%1"' },
    { "'=' expected", "^%s*clear%s+([%a_][%w_]*)%s*;?%s*$", "%s = nil drops a variable" },
    { "near ':'", "^%s*for%s+([%a_][%w_]*)%s*=%s*([^:]-)%s*:%s*([^:]-)%s*$", "Lua writes for %s = %s, %s do … end" },
    { "near ':'", "=%s*(%-?%d+)%s*:%s*(%-?%d+)%s*;?%s*$", function(first, last)
        return ("np.arange(%s, %d) has the numbers from %s to %s"):format(first, last + 1, first, last)
    end },
    { "unexpected symbol near 'end'", "([%a_][%w_%.]*)%s*[%[%(]%s*end%f[^%w_]", "the last element is %s[-1]" },
    { "'<name>' expected near '*'", "%.%*", "operators are by element, x * y; x:matmul(y) is the product of matrices" },
    { "'<name>' expected near", "%.([/^%+%-])", "operators are by element: x %s y" },
    { "'<name>' expected near '('", "([%a_][%w_]*)%.%(", "functions are by element: np.%s(x)" },
    { "", "^%s*for%s+([%a_][%w_]*)%s+in%s+range%s*%(", "Lua writes for %s = 0, n - 1 do … end" },
    { "near '('", "^%s*for%s*%(", "Lua writes for k = 1, n do … end" },
    { "", "^%s*elif%f[%W]", "Lua writes elseif … then" },
    { "", "^%s*class%s+[%a_]", "Lua has no classes: tables with functions in them" },
    { "", "^%s*try%s*:", "Lua writes local ok, problem = pcall(f)" },
    { "", "^%s*continue%s*;?%s*$", "Lua has no continue: goto next, and ::next:: at the end of the loop" },
    { "", "^%s*let%s+([%a_][%w_]*)", "Lua writes local %s = …" },
    { "", "^%s*var%s+([%a_][%w_]*)", "Lua writes local %s = …" },
    { "", "^%s*const%s+([%a_][%w_]*)", "Lua writes local %s = …" },
    { "", "^%s*int%s+([%a_][%w_]*)", "Lua writes local %s = …" },
    { "", "^%s*float%s+([%a_][%w_]*)", "Lua writes local %s = …" },
    { "", "^%s*print%s+([%a_%d%-].-)%s*$", "print is a function: print(%s)" },
    { "", ":at(%b{})%s*=", "arrays never change; a changed copy is x = x:at%s:set(v)" },
    { "", ":at(%b())%s*=", "arrays never change; a changed copy is x = x:at%s:set(v)" },
    { "", "([%a_][%w_%.]*)%s*%[%s*(.-)%s*%]%s*([%+%-%*/%%^])=%s*(.-)%s*;?$", function(x, at, operator, value)
        local how = OPERATORS[operator] and ("%s(%s)"):format(OPERATORS[operator], value)
            or ("set(%s[{%s}] %s %s)"):format(x, at, operator, value)
        return ("Lua has no '%s='; for an array %s = %s:at{%s}:%s"):format(operator, x, x, at, how)
    end },
    { "", "([%a_][%w_%.]*)%s*([%+%-%*/%%^])=%s*(.-)%s*;?$", function(x, operator, value)
        return ("Lua has no '%s=': %s = %s %s %s"):format(operator, x, x, operator, value)
    end },
    { "", "([%a_][%w_%.]*)%s*%.%.=%s*(.-)%s*$", "Lua has no '..=': %1 = %1 .. %2", raw = true },
    { "", "([%a_][%w_%.]*)%s*%+%+", "Lua has no '++': %1 = %1 + 1" },
    { "", "!=%s*", "Lua writes ~= for !=, and x:ne(y) for the elements of an array" },
    { "near '!'", "!%s*([%a_%(][%w_%.]*)", "Lua writes not for !" },
    { "near '!'", "!", "Lua writes not for !" },
    { "near '/'", "^%s*//", "comments begin with -- in Lua" },
    { "", "([%a_][%w_%.]*)%s*//%s*([%w_%.]+)", "Lua has no '//': %1:floor_divide(%2) of an array, "
        .. "math.floor(%1 / %2) of numbers" },
    { "", "//", "Lua has no '//': x:floor_divide(y) of an array, math.floor(x / y) of numbers" },
    { "", "%*%*", "Lua writes x ^ y for x ** y" },
    { "", "&&", "Lua writes and for &&" },
    { "near '&'", "&", "np.logical_and(x, y) is the and of elements, np.bitwise_and that of bits" },
    { "", "||", "Lua writes or for ||" },
    { "near '|'", "|", "np.logical_or(x, y) is the or of elements, np.bitwise_or that of bits" },
    { "near '~'", "~", "np.logical_not(x) is the not of elements, np.bitwise_invert(x) that of bits" },
    { "near '<'", "<<", "bit.lshift(a, b) shifts numbers, np.bitwise_left_shift(x, y) elements" },
    { "near '>'", ">>", "bit.rshift(a, b) shifts numbers, np.bitwise_right_shift(x, y) elements" },
    { "near '='", "^%s*if%f[%W].*[^=~<>]=[^=].*%f[%w]then%f[%W]", "Lua compares with ==" },
    { "near '='", "^%s*while%f[%W].*[^=~<>]=[^=].*%f[%w]do%f[%W]", "Lua compares with ==" },
    { "expected near", "[%w_%)%]]%s+is%s+not%s+[%a_]", "Lua writes ~= for is not" },
    { "expected near", "[%w_%)%]]%s+is%s+[%a_]", "Lua writes == for is" },
    { "near '@'", "@", "Lua has no '@': x:matmul(y)" },
    { "near '?'", "%?", "Lua writes c and a or b for c ? a : b, and np.where(c, a, b) for elements" },
    { "near '#'", "^%s*#", "comments begin with -- in Lua" },
    { "", "lambda%s+([%a_][%w_, ]*):%s*(.-)%s*[,%)]?$", "Lua writes function(%1) return %2 end" },
    { "']' expected near ':'", "", function(_, code)
        return ('slices are text: %s"%s"'):format(index_hint(code, ":"))
    end },
    { "near ':'", "%[%s*:", function(_, code) return ('slices are text: %s"%s"'):format(index_hint(code, ":")) end },
    { "']' expected near ','", "", function(_, code)
        local name, inside = index_hint(code, ",")
        if inside:find(":", 1, true) then return ('slices are text: %s"%s"'):format(name, inside) end
        return ("several indices go in braces: %s[{%s}]"):format(name, inside)
    end },
    { "near ':'", "([\"'][^\"']*[\"'])%s*:%s*%a", "a text stands in parentheses there: (%1)", raw = true },
    { "near '.'", "([\"'][^\"']*[\"'])%s*%.%s*(%a[%w_]*)", "a text stands in parentheses, its methods behind a colon: "
        .. "(%1):%2(…)", raw = true },
    { "near '['", ":at%s*(%b[])", function(index)
        return ("a changed copy is x:at{%s}:set(v)"):format(index:sub(2, -2))
    end },
    { "near '['", "([\"'][^\"']*[\"'])%s*%[", "a text stands in parentheses there: (%1)", raw = true },
    { "near '['", "", "lists go in braces: {1, 2, 3}, and np.array{1, 2, 3} is an array" },
    { "')' expected near '='", "([%a_][%w_%.:]*)%(%s*([%a_][%w_]*%s*=[^=].-)%)", "options go in braces: %1{%2}",
      raw = true },
    { "')' expected near '='", "([%a_][%w_%.:]*)%((.-),%s*([%a_][%w_]*%s*=[^=].-)%)",
      "options go in braces: %1(%2, {%3})", raw = true },
    { "", "^%s*while%f[%W].-:%s", "Lua writes while … do … end" },
    { "'then' expected near ':'", "^%s*if%f[%W]", "Lua writes if … then … end" },
    { "'then' expected", "^%s*if%f[%W].*{", "Lua writes if … then … end" },
    { "'do' expected", "^%s*while%f[%W].*{", "Lua writes while … do … end" },
    { "function arguments expected", "([%a_][%w_%.]*):([%a_][%w_]*)%s*$", uncalled },
    { "function arguments expected", "([%a_][%w_%.]*):([%a_][%w_]*)", uncalled },
    { "'<name>' expected near 'repeat'", "", "repeat is a word of Lua's: np.repeat_, x:repeat_(…)" },
    { "invalid escape sequence", "", "a backslash in a text is written \\\\" },
    { "malformed number", "%f[%w](%d+_[%d_]*%d)", function(number)
        return "Lua writes " .. number:gsub("_", "")
    end },
    { "')' expected near ','", "([%a_][%w_%.:]*)%(%(([^()]*)%)", "shapes and lists go in braces: %1{%2}" },
    { "near '{'", "^%s*function.*%)%s*{", "a body has no braces in Lua: function f(x) … end" },
    { "'then' expected", "^%s*if%s*%(.*{", "Lua writes if … then … end" },
    { "near '{'", "^%s*while.*{", "Lua writes while … do … end" },
    { "near '{'", "^%s*for.*{", "Lua writes for k = 1, n do … end" },
    { "", "^%s*if%f[%W].*:%s*$", "Lua writes if … then … end" },
    { "", "^%s*while%f[%W].*:%s*$", "Lua writes while … do … end" },
    { "", "^%s*for%f[%W].*:%s*$", "Lua writes for k = 1, n do … end" },
    { "", "^%s*else%s*:", "Lua writes else without a colon" },
}

--- A rule's hint for a line, nil: it does not fit.
local function apply(rule, message, line, code)
    if rule[1] ~= "" and not message:find(rule[1], 1, true) then return nil end
    local captures = { (rule.raw and line or code):match(rule[2]) }
    if captures[1] == nil then return nil end
    local hint = rule[3]
    if type(hint) == "function" then
        captures[#captures + 1] = code
        return hint(unpack(captures))
    end
    if hint:find "%%%d" then
        return (hint:gsub("%%(%d)", function(k) return captures[tonumber(k)] end))
    end
    return hint:format(unpack(captures))
end

--- What to say of a quote in a text, which has ended the text before `word`.
function mistakes.apostrophe(quote, word)
    return ("the %s before %s ended the string; write \\%s there, or %s around the text"):format(
        quote, word, quote, quote == "'" and '"…"' or "'…'")
end

--- Of a line that ends in a string: the byte of the quote that is to blame, and what to say of it. An apostrophe ends a
-- text in such quotes, and the one that was to end it opens another: then it is the apostrophe. `word`: the one at
-- which reading has ended, in a line that may close its strings.
function mistakes.unfinished(line, word)
    local at, ends, words = 1, {}, {} -- by quote: where the first string ends that has a word right behind it
    while at <= #line do
        local to, kind, closed = lexer.next(line, at)
        local quote = kind == "string" and line:match("^[\"']", at)
        local behind = quote and closed and line:match("^%a[%w_]*", to + 1)
        if behind and behind == word then return to, mistakes.apostrophe(quote, behind) end
        if behind and not ends[quote] then ends[quote], words[quote] = to, behind end
        if quote and not closed then
            if word then return nil end
            if ends[quote] then return ends[quote], mistakes.apostrophe(quote, words[quote]) end
            local escaped = line:find("\\" .. quote, at, true)
            local transposes = quote == "'" and line:find("^[%w_%)%]]", at - 1) and not line:find("^%a", at + 1)
            return at, ("the %s here is never closed"):format(quote)
                .. (transposes and "; the transpose of x is x.T" or "")
                .. (escaped and (": \\%s is no end; a backslash is written \\\\"):format(quote) or "")
        end
        at = to + 1
    end
end

--- The hint for a line of code that does not parse, with LuaJIT's message; nil: none is known.
function mistakes.hint(message, line)
    local word = message:match "near '(%a[%w_]*)'$"
    if word or message:find("unfinished string", 1, true) then
        local _, hint = mistakes.unfinished(line, word)
        if hint then return hint end
    end
    if #line > LONGEST then return nil end
    local code = source.code(line)
    for _, rule in ipairs(RULES) do
        local hint = apply(rule, message, line, code)
        if hint then return hint end
    end
    local is_statement = message:find("'=' expected", 1, true) or message:find("unexpected symbol", 1, true)
    if is_statement and loadstring("return " .. line, OWN) then
        return "a value alone is no statement: print(…) shows it"
    end
    return nil
end

--- LuaJIT's message with a long token cut.
local function shortened(message)
    local _, near = message:find(" near '", 1, true)
    if not near or #message - near <= MOST_NEAR then return message end
    return message:sub(1, near + MOST_NEAR):gsub("[\192-\255][\128-\191]*$", "") .. "…'"
end

--- The line of a message, and, where what is wrong may stand before it, the one before it that has code.
local function lines_of(message, name, number)
    local lines = { source.line(name, number) }
    local ended = message:find("near '<eof>'", 1, true) or message:find("arguments expected", 1, true)
    if not ended and not message:find("'=' expected", 1, true) then return lines end
    for before = number - 1, math.max(1, number - 5), -1 do
        local line = source.line(name, before)
        if line and source.blanked(line):find "%S" then
            lines[#lines + 1] = line
            break
        end
    end
    return lines
end

--- LuaJIT's message about a chunk of this source ("@path", "=name") that does not parse, with the hint behind it.
function mistakes.explain(message, name)
    if type(message) ~= "string" then return message end
    message = shortened(message)
    local number = tonumber(message:match "^.-:(%d+): " or nil)
    for _, line in ipairs(number and lines_of(message, name, number) or {}) do
        local hint = mistakes.hint(message, line)
        if hint then return message .. "; " .. hint end
    end
    return message
end

return mistakes
