--- unlikely.lua: what a script is unlikely to mean, though it runs: a warning when a script or module is loaded, or a
-- command is typed. At the prompt a result that is not used is shown, and a name without a value is an error.
--
-- Looked for are a few phrases that mean something else in Lua than in Python or NumPy, and never what they say:
--
--      if a == 1 or 2 then            x.shape == {3}            not a == 1            x:at{0}:set(5)   (as a statement)
--      for v in ipairs(t) do          {dtype=f32}               x = None          p = opt:update(grads, state, p)
--      local a, b = x.shape           k1, k2 = np.random.split(key)               list[-1], a, b = x (held.lua)
--      pcall(np.ones{3})              m[[0, 1]]                 np.plot.title = "x"
--      x = np.random.normal(key, s)   y = np.random.normal(key, s)               np.array{1, 2; 3, 4}   (typed)
--
-- The text is read as tokens only where patterns find such words in it, strings and comments included.
local core = require "neap.core"

local unlikely = {}

local MOST = 2^20 -- bytes of a text that is looked at
local tokens      -- loaded with the first text that is read

-- One of these is in a text with a phrase, or with an item that is not there (held.lua). None of them begins in many
-- places and goes on far from each: texts are long.
local PATTERNS = { "[=~]=%s*{", "#%s*%.%.%.", "%.shape%s*[=~]=", "%sor%s+[%d\"']", "%f[%w_]not%s+[%a_][%w_]*%s*[=~]=",
    "dtype%s*=%s*%l", "%f[%w_]in%s+ipairs", ":at%s*{", ":at%(", ":reshape%f[^%w_]", ":astype%f[^%w_]",
    ":sort%f[^%w_]", ":transpose%f[^%w_]", ":clip%f[^%w_]", ":update%f[^%w_]", "%f[%w_]None%f[^%w_]",
    "%f[%w_]True%f[^%w_]", "%f[%w_]False%f[^%w_]", "%f[%w_]nan%f[^%w_]", "%f[%w_]NaN%f[^%w_]", "%f[%w_]inf%f[^%w_]",
    "%f[%w_]null%f[^%w_]", "=%s*[%w_%.]*%.shape%f[^%w_]", "%.split%s*%(", "%.array_split%s*%(",
    ",%s*[%a_][%w_]*%s*=%s*[%a_]", "=%s*np%.random%.[%w_]+%(%s*[%a_]", "[%w_]%[%s*%-%s*%d", "[%w_]%[%s*0%s*%]",
    "%f[%w_]pcall%s*%(%s*[%a_][%w_%.:]*%s*[%({]", "[%w_%)%]]%[%[%s*%-?%d",
    "[%w_]%.length%f[^%w_]", "[%w_]%.len%f[^%w_]", "[%w_]%.size%f[^%w_]", "%f[%w_]argmax%f[^%w_]",
    "%f[%w_]argmin%f[^%w_]", "=%s*0%s*,%s*#", "%f[%w_%.]np%.[%w_%.]+%s*=%s*[\"'%d{]" }

local function set(words)
    local found = {}
    for word in words:gmatch "%S+" do found[word] = true end
    return found
end

local PURE = set "reshape astype sort transpose clip"      -- methods whose result is all that they give
local CHANGES = set "set add mul min max"                  -- of a place x:at{…}
local VALUES = set "v value val item elem element word row"  -- names of what a loop over a list gives
local NAMES = set "None True False nan NaN inf null"
local VALUE_WORDS = set "nil true false and or not"
local BEFORE = set "; do then else repeat end until"       -- behind which a statement begins

-- ---- Phrases --------------------------------------------------------------------------------------------------------
-- f(list, k) → what to say of token k, or nil. In front of a list's first token and behind its last one, which has the
-- text ";", stand any number of tokens of the kind "none", without text: a phrase may look as far as it likes.

local NEAR, FAR = 30, 200 -- tokens before one that are looked at

local NONE = { kind = "none", text = "", word = "", from = 0, to = -1, line = 0 }
local ENDLESS = { __index = function() return NONE end }

local function at(list, k) return list[k].text end

local function is_literal(token) return token.kind == "number" or token.kind == "string" end

--- Whether the chain of names that ends at token k stands behind a #.
local function is_measured(list, k)
    for place = k, math.max(1, k - NEAR), -1 do
        local token = list[place]
        if token.text == "#" then return true end
        local inside = token.kind == "name" or is_literal(token) or token.text:find "^[%.:%[%]%(%)]$"
        if not inside then return false end
    end
    return false
end

local function compared_table(list, k)
    if at(list, k) ~= "==" and at(list, k) ~= "~=" then return nil end
    if at(list, k + 1) == "{" then
        return ("a new table is %s every other value; np.array_equal(x, y) compares arrays, a loop lists"):format(
            at(list, k) == "==" and "unlike" or "unequal to")
    end
    local is_shape = list[k - 1].word == "shape" and at(list, k - 2) == "."
    if is_shape and list[k + 1].kind == "number" and not is_measured(list, k - 1) then
        return "a shape is a table, and unlike every number; x:dim(0) and x.size are numbers"
    end
end

--- The function of np whose path begins at token k, and the token behind the path; nil: there is none.
local function function_at(list, k)
    local holder, path = core.np, "np"
    while at(list, k + 1) == "." and list[k + 2].kind == "name" and type(holder) == "table" do
        local ok, found = pcall(function() return holder[list[k + 2].word] end)
        holder, path, k = ok and found or nil, path .. "." .. list[k + 2].word, k + 2
    end
    return type(holder) == "function" and path or nil, k + 1
end

--- np.plot.title = "x"
local function replaced_function(list, k)
    if list[k].word ~= "np" or k > 1 and list[k - 1].text:find "^[%.:,]$" then return nil end
    local value = k
    while at(list, value + 1) == "." do value = value + 2 end
    if at(list, value + 1) ~= "=" or not (is_literal(list[value + 2]) or at(list, value + 2) == "{") then return nil end
    local path = function_at(list, k)
    local text = is_literal(list[value + 2]) and list[value + 2].word or "…"
    return path and ("%s is a function, which is gone then; %s(%s) calls it"):format(path, path, text) or nil
end

local ENDS_CONDITION = set "then do"

local function or_literal(list, k)
    if at(list, k) ~= "or" or not is_literal(list[k + 1]) or not ENDS_CONDITION[at(list, k + 2)] then return nil end
    local left = list[k - 3]
    if at(list, k - 2) ~= "==" or not is_literal(list[k - 1]) then return nil end
    local name = left.kind == "name" and at(list, k - 4) ~= "." and left.word or "x"
    local value = list[k + 1].word
    return ("or %s is always true; %s == %s or %s == %s compares with both"):format(value, name, list[k - 1].word, name,
                                                                                    value)
end

local function not_compared(list, k)
    local operator = at(list, k + 2)
    if at(list, k) ~= "not" or list[k + 1].kind ~= "name" or operator ~= "==" and operator ~= "~=" then return nil end
    if not is_literal(list[k + 3]) then return nil end
    return ("not belongs to %s alone, so this is never equal; %s %s %s is meant"):format(
        list[k + 1].word, list[k + 1].word, operator == "==" and "~=" or "==", list[k + 3].word)
end

local function walked_values(list, k)
    if at(list, k) ~= "for" or at(list, k + 2) ~= "in" then return nil end
    local name = list[k + 1].word
    if list[k + 3].word ~= "ipairs" or not VALUES[name] then return nil end
    return ("ipairs gives positions first, so %s is 1, 2, …; for k, %s in ipairs(t) do has the values"):format(name,
        name)
end

--- The token behind the bracket that closes the one at k; nil: nothing closes it.
local function behind_brackets(list, k)
    local last = tokens.closing(list, k)
    return last and last + 1
end

--- Whether the bracket at k closes the parameters of a function, whose body, in the same line, may be there to fail.
local function closes_parameters(list, k)
    local place = k
    while place > 1 and list[place].text ~= "(" do place = place - 1 end
    return at(list, place - 1) == "function" or at(list, place - 2) == "function"
end

--- x:reshape(3, 1), x:at{0}:set(5): a statement that gives an array which nobody takes.
local function unused_result(list, k)
    local before, receiver = list[k - 1], list[k]
    if receiver.kind ~= "name" or at(list, k + 1) ~= ":" then return nil end
    local begins = before.kind == "none" or BEFORE[before.text] or before.kind == "name" or before.kind == "number"
        or before.kind == "string" or before.text:find "^[%)}%]]$"
            and (before.line < receiver.line or not closes_parameters(list, k - 1))
    if not begins then return nil end
    local place, method, is_place, call = k + 1, nil, false, nil
    while at(list, place) == ":" do
        is_place, method = method == "at", list[place + 1].word
        local arguments = list[place + 2]
        call = is_place and ("%s:at{…}:%s(…)"):format(receiver.word, method) or ("%s:%s(…)"):format(receiver.word,
            method)
        place = tokens.OPENING[arguments.text] and behind_brackets(list, place + 2)
            or arguments.kind == "string" and place + 3
        if not place then return nil end
    end
    local follower = list[place]
    local ends = follower and (follower.kind == "name" or follower.kind == "keyword" or follower.kind == "end"
                               or follower.text == ";")
    local is_lost = is_place and CHANGES[method] or not is_place and PURE[method]
    if not ends or follower.text == "and" or follower.text == "or" or not is_lost then return nil end
    return ("the result is not used, and %s stays as it is; %s = %s takes it"):format(receiver.word, receiver.word,
        call)
end

--- p = opt:update(grads, state, p): the state is not taken.
local function lost_state(list, k)
    local name = list[k].kind == "name" and at(list, k - 1) ~= "," and list[k].word
    local is_update = name and at(list, k + 1) == "=" and at(list, k + 3) == ":" and at(list, k + 5) == "("
        and list[k + 4].word == "update"
    local behind = is_update and behind_brackets(list, k + 5)
    if not behind or list[behind - 2].word ~= name or at(list, behind - 3) ~= "," then return nil end
    local commas = 0
    for place = k + 6, behind - 2 do commas = commas + (at(list, place) == "," and 1 or 0) end
    if commas < 2 then return nil end
    return ("an optimizer gives its state too, which is lost here: %s, state = %s:update(grads, state, %s)"):format(
        name, list[k + 2].word, name)
end

-- What gives one value where several variables stand, by the names behind np; and how the value is taken apart.
local ONE = { array = "%s:unpack() gives its elements", zeros = "%s:unpack() gives its elements",
              ones = "%s:unpack() gives its elements", arange = "%s:unpack() gives its elements",
              linspace = "%s:unpack() gives its elements", ["random.split"] = "%s:unpack() gives the keys",
              split = "unpack(%s) gives the parts", array_split = "unpack(%s) gives the parts" }

--- Whether a statement that is an assignment begins at the name k.
local function begins_assignment(list, k)
    local before = list[k - 1]
    if list[k].kind ~= "name" or at(list, k + 1) ~= "," then return false end
    if before.kind == "none" or BEFORE[before.text] then return true end
    return before.line < list[k].line and not before.text:find "^[,={%(%[]$"
end

--- rows, columns = x.shape; local k1, k2 = np.random.split(key): one value for several variables.
local function one_value(list, k)
    local place = at(list, k) == "local" and at(list, k + 2) == "," and k + 1 or begins_assignment(list, k) and k
    if not place then return nil end
    while at(list, place + 1) == "," do place = place + 2 end
    if at(list, place + 1) ~= "=" or list[place + 2].kind ~= "name" then return nil end
    local first, path, last = place + 2, {}, place + 2
    while at(list, last + 1) == "." and list[last + 2].kind == "name" do
        last = last + 2
        path[#path + 1] = list[last].word
    end
    local code = list[first].word .. "." .. table.concat(path, ".")
    local how = list[first].word == "np" and ONE[table.concat(path, ".")]
    local behind = last + 1
    if how and tokens.OPENING[at(list, behind)] then
        behind, code = behind_brackets(list, behind), code .. (at(list, behind) == "{" and "{…}" or "(…)")
    elseif path[#path] == "shape" then
        how = "unpack(%s) gives the extents"
    else
        return nil
    end
    local follower = behind and list[behind]
    local ends = follower and (follower.kind == "name" or follower.kind == "keyword" or follower.text == ";")
    if not ends then return nil end
    return ("one value for several variables, of which the others get nil; " .. how):format(code)
end

--- The variable that gets np.random.NAME(key, …) at token k, the NAME and the key; nil: it is no such statement.
local function draw_at(list, k)
    local before = at(list, k - 1)
    local is_draw = list[k].kind == "name" and before ~= "," and before ~= "{" and at(list, k + 1) == "="
        and at(list, k + 2) == "name" and list[k + 2].word == "np" and list[k + 4].word == "random"
        and at(list, k + 7) == "("
    if not is_draw or list[k + 8].kind ~= "name" or at(list, k + 9) ~= "," then return nil end
    return list[k].word, list[k + 6].word, list[k + 8].word
end

--- x = np.random.normal(key, …) y = np.random.normal(key, …), in one block: the same numbers twice.
local function key_again(list, k)
    local variable, name, key = draw_at(list, k)
    if not variable or name == "split" or name == "fold_in" then return nil end
    for place = k - 1, math.max(1, k - FAR), -1 do
        local token = list[place]
        if token.kind == "keyword" and token.text ~= "local" then return nil end
        if token.word == key and (at(list, place + 1) == "=" or at(list, place + 1) == ",")
            and at(list, place - 1) ~= "(" then return nil end
        local other, drawn, of_key = draw_at(list, place)
        if other and other ~= variable and drawn == name and of_key == key then
            return ("%s is drawn with the key of %s, and gets the same numbers; local k1, k2 = np.random.split(%s)"
                .. ":unpack() gives two keys"):format(variable, other, key)
        end
    end
end

local function counted_arguments(list, k)
    if at(list, k) ~= "#" or at(list, k + 1) ~= "..." then return nil end
    return '#... is the length of the first argument; select("#", ...) counts them'
end

-- Functions that give arrays, besides those that are methods of arrays. What others give, pcall may call.
local GIVE_ARRAYS = set "array asarray zeros ones full eye arange linspace "

--- pcall(np.ones{3}), pcall(x:sum()): what a call gives in the place of a function.
local function called_early(list, k)
    if list[k].word ~= "pcall" or at(list, k + 1) ~= "(" or list[k + 2].kind ~= "name" then return nil end
    local last, is_method = k + 2, false
    while (at(list, last + 1) == "." or at(list, last + 1) == ":") and list[last + 2].kind == "name" do
        is_method, last = at(list, last + 1) == ":", last + 2
    end
    local behind = tokens.OPENING[at(list, last + 1)] and behind_brackets(list, last + 1)
    if not behind or at(list, behind) ~= ")" then return nil end
    local name, first = list[last].word, list[k + 2].word
    if is_method and core.methods[name] and last == k + 4 then
        return ("pcall gets what the method gives, and calls that; pcall(%s.%s, %s) calls the method"):format(
            first, name, first)
    end
    if first ~= "np" or last ~= k + 4 or not (GIVE_ARRAYS[name] or core.methods[name]) then return nil end
    return ("pcall gets what the function gives, and calls that; pcall(np.%s, …) calls the function"):format(name)
end

--- m[[0, 1]]: a text of Lua's, which is an index of one element, and of NumPy's a list of rows.
local function index_of_rows(list, k)
    local inside = list[k].kind == "string" and list[k].word:match "^%[%[([%s%d,%-]*,[%s%d,%-]*)%]%]$"
    local before = list[k - 1]
    if not inside or before.to + 1 ~= list[k].from then return nil end
    if before.kind ~= "name" and before.text ~= ")" and before.text ~= "]" or before.word == "print" then return nil end
    local name = before.kind == "name" and before.word or "x"
    return ('%s[[%s]] is %s"%s", an index for each axis; the rows %s are %s"[%s]"'):format(name, inside, name, inside,
        inside, name, inside)
end

--- The text of the constructor in braces at k as a table of rows; nil: it is no list whose rows of equal length are set
-- apart by semicolons, with commas in each and no table.
local function rows_of(list, k, text)
    local last = tokens.closing(list, k)
    if not last then return nil end
    local rows, from, commas, depth = {}, k + 1, 0, 0
    for place = k + 1, last do
        local word, step = at(list, place), tokens.step(list[place])
        depth = depth + step
        if list[place].kind == "keyword" and not VALUE_WORDS[word] or depth == 0 and word == "=" then return nil end
        if depth == 1 and word == "{" then return nil end
        local ends_row = word == ";" and depth == 0 or place == last and place > from
        if word == "," and depth == 0 then commas = commas + 1 end
        if ends_row then
            if commas == 0 or rows[1] and commas ~= rows[1].commas or at(list, place - 1) == "," then return nil end
            rows[#rows + 1] = { commas = commas, text = text:sub(list[from].from, list[place - 1].to) }
            from, commas = place + 1, 0
        end
    end
    return rows[2] and rows or nil
end

--- np.array{1, 2; 3, 4}, at the prompt: the rows of MATLAB and Julia, which are one row in Lua.
local function flat_rows(list, k, text)
    if list[k].word ~= "np" or at(list, k + 1) ~= "." then return nil end
    local name, opening = list[k + 2].word, at(list, k + 3) == "(" and k + 4 or k + 3
    if name ~= "array" and name ~= "asarray" or at(list, opening) ~= "{" then return nil end
    local rows, texts = rows_of(list, opening, text), {}
    for j, row in ipairs(rows or {}) do texts[j] = row.text end
    return rows and ("a semicolon separates items as a comma does; rows are tables: np.%s{{%s}}"):format(name,
        table.concat(texts, "}, {"))
end

local PHRASES = { compared_table, or_literal, not_compared, walked_values, unused_result, lost_state, one_value,
                  key_again, counted_arguments, called_early, index_of_rows, replaced_function }

-- ---- Names ----------------------------------------------------------------------------------------------------------

local DECLARES = set "local function for"

--- Whether the name at token k is that of a variable which is read: none that is declared or assigned, and no field.
local function is_read(list, k)
    local before = at(list, k - 1)
    if before == "." or before == ":" or at(list, k + 1) == "=" then return false end
    for place = k - 1, math.max(1, k - NEAR), -1 do
        local token = list[place]
        if DECLARES[token.text] then return false end
        if token.kind ~= "name" and token.text ~= "," and token.text ~= "(" then return true end
    end
    return true
end

--- Calls tell(line, text) for names of other languages and of dtypes that this text, and nobody else, gives no value.
local function visit_names(list, tell)
    local given, places = {}, {}
    for k, token in ipairs(list) do
        local name = token.kind == "name" and token.word
        local is_dtype = name and core.dtype_codes[name] and list[k - 2].word == "dtype"
            and at(list, k - 1) == "="
        if is_dtype and not tokens.OPENING[at(list, k + 1)] or NAMES[name] and is_read(list, k) then
            places[name] = places[name] or token.line
        elseif name then
            given[name] = true -- a parameter, a variable, a field
        end
    end
    local aliases = require "neap.core.aliases"
    for name, line in pairs(places) do
        if not given[name] and type(rawget(_G, name)) == "nil" then
            tell(line, ("the variable '%s' has no value; %s"):format(
                name, core.dtype_codes[name] and ('a dtype is a text: dtype="%s"'):format(name)
                    or aliases.variables[name]))
        end
    end
end

-- Names are found from their beginnings on: of a word of 100 kB, as in a text of such, each byte would begin one.

--- Whether a text takes items of a variable that it gives a text: word = "abc" … word[1].
local function indexes_text(text)
    local given = {}
    for name in text:gmatch "%f[%w_]([%a_][%w_]*)%s*=%s*[\"']" do given[name] = true end
    for name in text:gmatch "%f[%w_]([%a_][%w_]*)%[%s*%d+%s*%]" do
        if given[name] then return true end
    end
    return false
end

--- Whether a command takes items of a variable that holds a text.
local function indexes_variable(text, kind_of)
    for name in text:gmatch "%f[%w_]([%a_][%w_]*)%s*%[" do
        if kind_of(name) == "text" then return true end
    end
    return false
end

--- Whether a text may have something to be told of: then it is worth reading as tokens.
local function may_be(text, kind_of)
    if kind_of and text:find(";", 1, true) and text:find("array", 1, true) then return true end
    if kind_of and indexes_variable(text, kind_of) then return true end
    for _, pattern in ipairs(PATTERNS) do
        if text:find(pattern) then return true end
    end
    return indexes_text(text)
end

--- Warns of what is unlikely in a text; `file` is what messages call the chunk. kind_of: the text is a command, and
-- this tells of a name whether its variable has a "list", to which an item is not added by it, and of how many items,
-- an "array" or a "text".
function unlikely.tell(text, file, kind_of)
    if #text > MOST or not may_be(text, kind_of) then return end
    tokens = tokens or require "neap.interp.tokens"
    local list = setmetatable(tokens.read(text), ENDLESS)
    local function tell(line, what) core.warn_at(("%s:%d: warning"):format(file, line), what) end
    for k = 1, #list - 1 do
        if k % 1000 == 0 then core.check_interrupt() end
        for _, phrase in ipairs(PHRASES) do
            local what = (not kind_of or phrase ~= unused_result) and phrase(list, k)
            if what then tell(list[k].line, what) end
        end
        local rows = kind_of and flat_rows(list, k, text)
        if rows then tell(list[k].line, rows) end
    end
    require("neap.interp.held").visit(list, text, tell, kind_of)
    if not kind_of then visit_names(list, tell) end
end

jit.off(unlikely.tell, true)

return unlikely
