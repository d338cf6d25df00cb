--- reference.lua: the reference pages, from the entries that tools/gen/help.lua has joined: a page for each folder of
-- the library, and for each part of np that is made by a file of its own.
local reference = {}

-- By a prefix of names: the page and its title; the first that fits counts.
local PAGES = {
    { "np.linalg.", "linalg", "Linear algebra: np.linalg" }, { "np.random.", "random", "Random numbers: np.random" },
    { "np.special.", "special", "Special functions: np.special" },
    { "np.optim.", "optim", "Optimizers: np.optim" }, { "np.data.", "data", "Minibatches: np.data" },
    { "np.fft.", "fft", "Fourier transforms: np.fft" }, { "np.signal.", "signal", "Filters and spectra: np.signal" },
    { "np.optimize.", "optimize", "Roots, minima and fits: np.optimize" },
    { "np.tree.", "tree", "Trees of arrays: np.tree" }, { "np.io.", "io", "Files: np.io" },
}
local FOLDERS = {
    core = { "tree", "Trees of arrays: np.tree" },
    arrays = { "arrays", "Arrays" }, effects = { "effects", "Output, callbacks and logs" },
    tracing = { "programs", "Programs and jitted functions" },
    programs = { "programs", "Programs and jitted functions" },
    optimize = { "optimize", "Roots, minima and fits: np.optimize" },
    transforms = { "transforms", "Derivatives, batches and control flow" },
    sparse = { "sparse", "Sparse arrays: np.sparse" },
    integrate = { "integrate", "Integrals and differential equations: np.integrate" },
    interpolate = { "interpolate", "Splines and grids: np.interpolate" },
    mesh = { "mesh", "Meshes, shardings and collectives" }, nn = { "nn", "Neural networks: np.nn" },
    signal = { "signal", "Filters and spectra: np.signal" },
    image = { "image", "Images: np.image" },
    stats = { "stats", "Statistics: np.stats, np.metrics and np.cluster" },
    tables = { "tables", "Tables: np.table" }, text = { "io", "Files: np.io" }, io = { "io", "Files: np.io" },
    plot = { "plot", "Pictures: np.plot" },
    inspect = { "inspect", "Looking inside" }, interact = { "interact", "Interaction: np.interact and np.widgets" },
}

local function page_of(entry)
    if entry.op then return "functions", "Functions of elements" end
    for _, name in ipairs(entry.names) do
        for _, row in ipairs(PAGES) do
            if name:sub(1, #row[1]) == row[1] then return row[2], row[3] end
        end
    end
    local row = FOLDERS[entry.file:match "^neap/([%w_]+)/" or "inspect"] or FOLDERS.inspect
    return row[1], row[2]
end

--- Text outside of code: marks of Markdown stand for themselves; lines that are set in are code.
local function prose(text)
    local paragraphs = {}
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do
        if line:find "^%s%s" then
            paragraphs[#paragraphs + 1] = "\n    " .. line
        else
            local marked = line:gsub("`[^`]*`", "\1%0\1"):gsub("([^\1]*)(\1?[^\1]*\1?)", function(plain, code)
                return plain:gsub("([*_<>|])", "\\%1") .. code:gsub("\1", "")
            end)
            paragraphs[#paragraphs + 1] = marked
        end
    end
    return (table.concat(paragraphs, "\n"):gsub("(\n    [^\n]*\n)\n(    )", "%1%2"))
end

local function section(entry)
    local title = {}
    for _, name in ipairs(entry.names) do
        if name ~= title[#title] then title[#title + 1] = name end
    end
    local lines = { "### " .. table.concat(title, ", "):gsub("_", "\\_"), "", "```text" }
    for k, signature in ipairs(entry.signatures) do
        lines[#lines + 1] = signature .. (k == #entry.signatures and entry.result and " -> " .. entry.result or "")
    end
    lines[#lines + 1] = "```\n"
    if entry.text ~= "" then lines[#lines + 1] = prose(entry.text) .. "\n" end
    for _, option in ipairs(entry.options) do
        if option.text then lines[#lines + 1] = ("- `%s`: %s"):format(option.name, prose(option.text)) end
    end
    if #entry.options > 0 then lines[#lines + 1] = "" end
    if #entry.example > 0 then
        lines[#lines + 1] = "```text"
        for _, step in ipairs(entry.example) do
            lines[#lines + 1] = "> " .. step.code:gsub("\n", "\n>> ")
            for _, line in ipairs(step.output) do lines[#lines + 1] = line end
        end
        lines[#lines + 1] = "```\n"
    end
    if entry.facts then lines[#lines + 1] = "*" .. entry.facts .. "*\n" end
    return table.concat(lines, "\n")
end

--- By what entries are sorted: their names, those with two low lines in front behind all others.
local function order_of(entry) return (entry.names[1]:gsub("%f[_]__", "~")) end

--- The pages by name, as text.
function reference.pages(entries)
    local pages, titles = {}, {}
    for _, entry in ipairs(entries) do
        local name, title = page_of(entry)
        pages[name] = pages[name] or {}
        titles[name] = title
        table.insert(pages[name], entry)
    end
    local texts = {}
    for name, list in pairs(pages) do
        table.sort(list, function(a, b)
            if a.names[1] ~= b.names[1] then return order_of(a) < order_of(b) end
            return a.file .. ("%9d"):format(a.line) < b.file .. ("%9d"):format(b.line)
        end)
        local lines = { "# " .. titles[name] .. "\n",
                        "Generated from the sources; `?name` at the prompt shows the same (CONTRIBUTING.md).\n" }
        for _, entry in ipairs(list) do lines[#lines + 1] = section(entry) end
        texts[name] = table.concat(lines, "\n"):gsub("\n\n\n+", "\n\n")
    end
    return texts
end

return reference
