--- files.lua: the names of files for completions.
local system = require "neap.interp.system"

local files = {}

--- A place (complete.lua) for the path `word`, which stands behind the quote `quote` ("" in a long string); `behind` is
-- what follows the cursor. Without a quote (nil), a path with spaces gets some. A folder goes on with "/", a file ends
-- with the quote. "~/" becomes the home folder, which functions that open files do not know. `folders`: no others are
-- offered. Nil: there is no such folder.
function files.place(word, quote, behind, folders)
    local folder, base = word:match "^(.*/)(.*)$"
    if not folder then folder, base = "", word end
    local home = os.getenv "HOME"
    if home and folder:find "^~/" then folder = home .. folder:sub(2) end
    local names = system.list(folder == "" and "." or folder)
    if not names then return nil end
    local function insert(name)
        local path = folder .. name
        if quote and quote ~= "" then path = path:gsub("[\\" .. quote .. "]", "\\%0") end
        local opened = not quote and path:find "%s" and '"' or ""
        if name:sub(-1) == "/" then return opened .. path end
        local closing = quote or opened
        return opened .. path .. (behind:sub(1, 1) == closing and "" or closing)
    end
    return {
        from = 1, word = base,
        each = function(offer)
            for _, name in ipairs(names) do
                local hidden = name:sub(1, 1) == "." and base:sub(1, 1) ~= "."
                if not hidden and (not folders or name:sub(-1) == "/") then offer(name, true) end
            end
        end,
        insert = insert,
    }
end

return files
