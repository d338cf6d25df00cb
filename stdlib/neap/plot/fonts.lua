--- fonts.lua: which characters the fonts of this machine have, through fontconfig (libfontconfig.so.1, which gnuplot's
-- own terminals use; loaded at the first character that is not ASCII).
--
-- For a character that no font has, Pango draws a box with its number, which on gnuplot's pictures becomes as large as
-- the picture. So such characters become U+FFFD before gnuplot gets them.
local ffi = require "ffi"

local fonts = {}

ffi.cdef [[
typedef struct FcCharSet FcCharSet;
typedef struct FcPattern FcPattern;
typedef struct FcObjectSet FcObjectSet;
typedef struct neap_font_list {
    int count, room;
    FcPattern **fonts;
} neap_font_list;
FcCharSet *FcCharSetCreate(void);
int FcCharSetAddChar(FcCharSet *set, uint32_t character);
void FcCharSetDestroy(FcCharSet *set);
FcPattern *FcPatternCreate(void);
int FcPatternAddCharSet(FcPattern *pattern, const char *object, const FcCharSet *set);
void FcPatternDestroy(FcPattern *pattern);
FcObjectSet *FcObjectSetCreate(void);
void FcObjectSetDestroy(FcObjectSet *objects);
neap_font_list *FcFontList(void *config, FcPattern *pattern, FcObjectSet *objects);
void FcFontSetDestroy(neap_font_list *list);
]]

local UNKNOWN = "\239\191\189"

local library -- false: there is none
local function fontconfig()
    if library == nil then
        local ok, found = pcall(ffi.load, "libfontconfig.so.1")
        library = ok and found
    end
    return library
end

--- The number of a UTF-8 character of two bytes or more.
local function number_of(character)
    local first = character:byte()
    local number = first % (#character == 2 and 32 or #character == 3 and 16 or 8)
    for k = 2, #character do number = number * 64 + character:byte(k) % 64 end
    return number
end

--- Whether a font has the character; true where that cannot be found out.
local function is_there(fc, number)
    local set, pattern, objects = fc.FcCharSetCreate(), fc.FcPatternCreate(), fc.FcObjectSetCreate()
    fc.FcCharSetAddChar(set, number)
    fc.FcPatternAddCharSet(pattern, "charset", set)
    local list = fc.FcFontList(nil, pattern, objects)
    local there = list == nil or list.count > 0
    if list ~= nil then fc.FcFontSetDestroy(list) end
    fc.FcObjectSetDestroy(objects)
    fc.FcPatternDestroy(pattern)
    fc.FcCharSetDestroy(set)
    return there
end

local shown = {} -- by character: itself, or what stands for it

--- A valid UTF-8 text with U+FFFD in place of each character that no font has.
function fonts.drawable(text)
    if not text:find "[\128-\255]" then return text end
    local fc = fontconfig()
    if not fc then return text end
    return (text:gsub("[\194-\244][\128-\191]+", function(character)
        if not shown[character] then
            shown[character] = is_there(fc, number_of(character)) and character or UNKNOWN
        end
        return shown[character]
    end))
end

for _, f in ipairs { fontconfig, is_there } do jit.off(f) end

return fonts
