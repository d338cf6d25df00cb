--- settings.lua: the settings of the parts of tokenizer.json: types are checked when a file is loaded, so that no part
-- meets a surprise later.
local settings = {}

local MOST = 2 ^ 24 -- of a number

local kinds = {}
for kind, names in pairs {
    boolean = "clean_text handle_chinese_chars strip_accents lowercase strip_left strip_right add_prefix_space "
        .. "use_regex individual_digits invert split cleanup byte_fallback fuse_unk ignore_merges single_word "
        .. "lstrip rstrip normalized special",
    string = "prepend content replacement prepend_scheme behavior delimiter prefix continuing_subword_prefix unk_token "
        .. "end_of_word_suffix precompiled_charsmap direction String Regex",
    number = "max_input_chars_per_word start stop unk_id max_length pad_id pad_type_id pad_to_multiple_of Fixed "
        .. "type_id",
    table = "pattern normalizers pretokenizers decoders processors single pair special_tokens cls sep vocab merges ids "
        .. "Sequence SpecialToken",
} do
    for name in names:gmatch "%S+" do kinds[name] = kind end
end

function settings.is_count(value)
    return type(value) == "number" and value >= 0 and value % 1 == 0 and value < MOST
end

--- Settings, if each that is known here is of the right type; raises a text.
function settings.checked(t)
    if type(t) ~= "table" then error("settings that are no object", 0) end
    for name, value in pairs(t) do
        local kind = kinds[name]
        if kind and type(value) ~= kind or kind == "number" and not settings.is_count(value) then
            error(("the setting '%s' is no %s"):format(name, kind == "number" and "count" or kind), 0)
        end
    end
    return t
end

--- What a member of `makers` makes of settings with a type; raises a text with the type's name.
function settings.made(makers, what, t)
    local kind = settings.checked(t).type
    local make = type(kind) == "string" and kind:find "^%u" and makers[kind]
    if not make then error(("%s '%s' is not known"):format(what, tostring(kind)), 0) end
    return make(t)
end

return settings
