--- help_layout.lua: how help looks as plain text, in a terminal of some width.
local layout = {}

local floor = math.floor

--- How many columns a text of UTF-8 takes, wide characters counted as one.
local function columns(text)
    return #text:gsub("[\128-\191]", "")
end

--- One paragraph, broken between words into lines behind `indent`.
local function wrapped(text, width, indent)
    local lines, line = {}, nil
    for word in text:gmatch "%S+" do
        if line and columns(line) + 1 + columns(word) > width then
            lines[#lines + 1] = line
            line = indent .. word
        else
            line = line and line .. " " .. word or indent .. word
        end
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n")
end

--- Text of several lines, each behind two spaces.
function layout.indent(text)
    return "  " .. text:gsub("\n([^\n])", "\n  %1")
end

--- The text of an entry: paragraphs are broken, lines that are set in stay.
local function body(text, width)
    local lines = {}
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do
        lines[#lines + 1] = line:find "^%s%s" and "  " .. line or line == "" and "" or wrapped(line, width, "  ")
    end
    return table.concat(lines, "\n")
end

local function first_sentence(text)
    text = text:gsub("\n", " ")
    return text:match "^(.-%.)%s" or text
end

--- The help of an entry of neap.help_gen.
function layout.entry(entry, width)
    local lines = {}
    for k, signature in ipairs(entry.signatures) do
        lines[k] = signature .. (k == #entry.signatures and entry.result and "  -> " .. entry.result or "")
    end
    local parts = { table.concat(lines, "\n") }
    if entry.text ~= "" then parts[#parts + 1] = body(entry.text, width) end
    local options, longest = {}, 0
    for _, option in ipairs(entry.options) do longest = math.max(longest, #option.name) end
    for k, option in ipairs(entry.options) do
        local text = wrapped(option.text or "", width, (" "):rep(longest + 4))
        options[k] = "  " .. option.name .. text:sub(#option.name + 3)
    end
    if #options > 0 then parts[#parts + 1] = table.concat(options, "\n") end
    local example = {}
    for _, step in ipairs(entry.example) do
        example[#example + 1] = "  > " .. step.code:gsub("\n", "\n  >> ")
        for _, line in ipairs(step.output) do example[#example + 1] = "  " .. line end
    end
    if #example > 0 then parts[#parts + 1] = table.concat(example, "\n") end
    if entry.facts then parts[#parts + 1] = wrapped("(" .. entry.facts .. ")", width, "  ") end
    return table.concat(parts, "\n\n")
end

--- A line for each entry: its name and its first sentence.
function layout.list(entries, width)
    local lines, longest = {}, 0
    for _, entry in ipairs(entries) do longest = math.max(longest, math.min(#entry.names[1], floor(width / 2))) end
    for k, entry in ipairs(entries) do
        local line = ("  %-" .. longest .. "s  %s"):format(entry.names[1], first_sentence(entry.text))
        if columns(line) > width then line = line:match("^" .. ("[^\128-\191][\128-\191]*"):rep(width - 1)) .. "…" end
        lines[k] = line
    end
    return table.concat(lines, "\n")
end

--- The titles of a page's sections.
function layout.sections(titles, width)
    return "Sections (?TITLE shows one, ??PAGE all):\n" .. wrapped(table.concat(titles, "; "), width, "  ")
end

--- Sections of pages: a list of { page, title }.
function layout.places(list)
    local lines = {}
    for k, section in ipairs(list) do lines[k] = ("  %s (docs/%s.md)"):format(section.title, section.page) end
    return table.concat(lines, "\n")
end

--- What there is: parts, pages and how to ask.
function layout.overview(known, width)
    local parts, pages, names = {}, {}, {}
    for _, entry in ipairs(known.entries) do
        if entry.part then
            parts[#parts + 1] = entry
        elseif entry.names[1]:find "^np%.[%w_]+$" then
            names[#names + 1] = entry.names[1]:sub(4)
        end
    end
    for name in pairs(known.pages) do pages[#pages + 1] = name end
    table.sort(pages)
    table.sort(names)
    return table.concat({
        "?np.sum, ?x:sum, ?sum     help on a function or method; ??np.sum shows its source too",
        "?np.linalg                what a part of np has",
        "?jit, ?effects            a page of the documentation, or one of its sections",
        "?f                        your own function: the comment above it\n",
        "Parts:", layout.list(parts, width), "",
        "Pages:", wrapped(table.concat(pages, ", "), width, "  "), "",
        "Functions of np:", wrapped(table.concat(names, ", "), width, "  "),
    }, "\n")
end

return layout
