--- highlight.lua: code as HTML with a class for each kind of token: keywords (k), strings (s), numbers (n), comments
-- (c) and what is printed behind "-->" (o). Lua, prompts and C; other text is only escaped.
local highlight = {}

local function escape(text)
    return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end
highlight.escape = escape

local function set(words)
    local found = {}
    for word in words:gmatch "%S+" do found[word] = true end
    return found
end

local KEYWORDS = {
    lua = set [[and break do else elseif end false for function goto if in local nil not or repeat return then true
                until while]],
    c = set [[break case const do double else enum extern float for if int int32_t int64_t return sizeof static struct
              switch typedef unsigned void while char]],
}

-- Of each language the tokens, as patterns with their class; the first that matches at a place counts.
local TOKENS = {
    lua = {
        { "^%-%-%[%[.-%]%]", "c" }, { "^%-%->[^\n]*", "o" }, { "^%-%-[^\n]*", "c" }, { "^%[%[.-%]%]", "s" },
        { '^"[^"\\\n]*"', "s" }, { "^'[^'\\\n]*'", "s" }, { '^"[^\n]-[^\\]"', "s" }, { "^0x%x+", "n" },
        { "^%d+%.?%d*[eE][+-]?%d+", "n" }, { "^%d+%.%d+", "n" }, { "^%d+", "n" }, { "^[%a_][%w_]*" },
    },
    c = {
        { "^/%*.-%*/", "c" }, { "^//[^\n]*", "c" }, { '^"[^"\n]*"', "s" }, { "^#%a+", "k" }, { "^%d[%w.]*", "n" },
        { "^[%a_][%w_]*" },
    },
}

local function code(text, language)
    local out, at = {}, 1
    while at <= #text do
        local token, class
        for _, rule in ipairs(TOKENS[language]) do
            token, class = text:match(rule[1], at), rule[2]
            if token then break end
        end
        token = token or text:sub(at, at)
        if KEYWORDS[language][token] then class = "k" end
        out[#out + 1] = class and ("<span class=%s>%s</span>"):format(class, escape(token)) or escape(token)
        at = at + #token
    end
    return table.concat(out)
end

--- What is typed behind a mark is Lua, or the shell's; the rest is printed.
local function session(text, mark)
    return (text:gsub("[^\n]+", function(line)
        local typed, rest = line:match("^(" .. mark .. " )(.*)$")
        if not typed then return "<span class=o>" .. escape(line) .. "</span>" end
        return "<span class=p>" .. escape(typed) .. "</span>" .. (mark == "%$" and escape(rest) or code(rest, "lua"))
    end))
end

--- The HTML of a block of code.
function highlight.html(text, language)
    if TOKENS[language] then return code(text, language) end
    if language == "prompt" then return session(text, "%(?%l*%)? ?>+") end
    if language == "console" then return session(text, "%$") end
    if language == "text" and text:find "^> " then return session(text, "%(?%l*%)? ?>+") end
    return escape(text)
end

return highlight
