--- page.lua: a page of the terminal that keys change (np.interact, np.plot.explore): lines at its head, below them what
-- the keys change; and keys by their names.
--
--     > freq   ────●───────────  2.5       the head: the caller's lines
--     ↑↓ choose   ←→ change   …
--     (what stands below)
--
-- The page begins in the first row of the terminal, whose former rows scroll away. A page waits in page:keys alone,
-- where Ctrl-C raises as in any wait.
local core = require "neap.core"
local console = require "neap.effects.console"

local Page = {}
Page.__index = Page

local pages = {}

local ESCAPE_S = 0.05 -- within which the rest of a key's bytes comes
local HIDE, SHOW, HOME, REST_OF_LINE, REST = "\27[?25l", "\27[?25h", "\27[H", "\27[K", "\27[J"
local BEGIN, END = "\27[?2026h", "\27[?2026l" -- terminals that can draw all between these at once
local SAVE, BACK = "\0277", "\0278"
local NO_PICTURES = "\27_Ga=d,q=2\27\\" -- the protocol of kitty

-- ---- Keys -----------------------------------------------------------------------------------------------------------

local NAMES = { A = "up", B = "down", C = "right", D = "left", H = "home", F = "end", Z = "back",
                ["5~"] = "page up", ["6~"] = "page down", ["1~"] = "home", ["4~"] = "end", ["7~"] = "home",
                ["8~"] = "end", ["\9"] = "next", ["\r"] = "enter", ["\n"] = "enter", ["\127"] = "delete",
                ["\8"] = "delete", ["\21"] = "clear", ["\27"] = "escape" }

--- Takes the first key off a text of bytes: a name, or the character; nil: the rest of the key has not come yet.
local function first_key(text, is_all)
    local letter, behind = text:match "^\27[%[O][%d;]*([%a~])()"
    if letter == "~" then letter = (text:match "^\27%[(%d+)" or "") .. letter end
    if letter then return NAMES[letter] or "unknown", text:sub(behind) end
    if text:find "^\27[%[O][%d;]*$" and not is_all or text == "\27" and not is_all then return nil, text end
    local character = text:match "^[%z\1-\127]" or text:match "^[\194-\244][\128-\191]*" or text:sub(1, 1)
    return NAMES[character] or character, text:sub(#character + 1)
end

--- The keys in a text of bytes, a list; and bytes of a key whose rest has not come.
local function read_keys(text, is_all)
    local list = {}
    while text ~= "" do
        local key, behind = first_key(text, is_all)
        if not key then break end
        list[#list + 1], text = key, behind
    end
    return list, text
end

--- Waits for keys, at most so many seconds (nil: however long): a list of names, nil when there will be none any more;
-- whether the page has to be drawn again; and whether the terminal has another size than before.
function Page:keys(seconds)
    if self.rest ~= "" and seconds ~= 0 then seconds = ESCAPE_S end
    local bytes, again, resized = self.keyboard.read(seconds)
    if not bytes then return nil end
    local list
    list, self.rest = read_keys(self.rest .. bytes, bytes == "")
    return list, again, resized
end

-- ---- Lines ----------------------------------------------------------------------------------------------------------

--- The number of characters of a text.
function pages.length(text)
    return select(2, text:gsub("[^\128-\191]", ""))
end

--- At most so many characters of a text.
function pages.cut(text, most)
    text = text:gsub("%c", " ")
    if pages.length(text) <= most then return text end
    local parts = {}
    for character in text:gmatch "[^\128-\191][\128-\191]*" do
        if #parts + 1 == most then break end
        parts[#parts + 1] = character
    end
    return table.concat(parts) .. "…"
end

--- Characters that a line of the head may have.
function pages.columns()
    local columns = console.window(1)
    return (columns > 0 and columns or 80) - 1
end

local function head(lines)
    return HIDE .. HOME .. table.concat(lines, REST_OF_LINE .. "\n") .. REST_OF_LINE .. "\n"
end

-- ---- The page -------------------------------------------------------------------------------------------------------

--- Takes the terminal over for a page; nil: there is none that keys can be read from.
function pages.open()
    local keyboard = core.keyboard and core.keyboard()
    if not keyboard or core.display or os.getenv "TERM" == "dumb" or not keyboard.open(END .. SHOW) then return nil end
    local _, rows = console.window(1)
    local page = setmetatable({ keyboard = keyboard, rest = "" }, Page)
    page:write(("\n"):rep(math.max(rows, 1)))
    return page
end

function Page:close()
    self.keyboard.close()
end

function Page:write(text)
    self.keyboard.write(text)
end

--- Draws the lines of the head again, and leaves the rest.
function Page:draw_head(lines)
    self:write(SAVE .. head(lines) .. BACK)
end

--- Begins the page anew: what is written behind its head, up to page:finish, stands below. is_kitty: pictures of
-- kitty's protocol are taken away.
function Page:begin(lines, is_kitty)
    self:write(BEGIN .. (is_kitty and NO_PICTURES or "") .. head(lines) .. REST)
end

function Page:finish()
    self:write(END)
end

for _, f in pairs(Page) do
    if type(f) == "function" then jit.off(f, true) end
end
jit.off(pages.open, true)

return pages
