--- explain.lua: np.explain: what will run, or has run, as a text and as a picture.
--
-- The core tells both (lazy/explain/explain.c); here are the arguments, programs of jitted functions, and where an
-- explanation is shown; files/picture.lua draws. An explanation is what was true when it was asked for.
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local picture = require "neap.files.picture"
local programs_of = require("neap.programs.program").programs_of
local trees = require "neap.core.trees"

local np, C, ctx = core.np, core.C, core.ctx
local raise = core.raise
local type, tostring = type, tostring

local TEXT, DOT = C.NEAP_EXPLAIN_TEXT, C.NEAP_EXPLAIN_DOT
local MOST_PROGRAMS = 8 -- of a jitted function that are told of

local Explanation = {}
Explanation.__index = Explanation

function Explanation:__tostring() return self.text end

-- ---- Arrays ---------------------------------------------------------------------------------------------------------

--- The arrays in the arguments, each once.
local function arrays_in(...)
    local list, seen = {}, {}
    for k = 1, select("#", ...) do
        local argument = select(k, ...)
        trees.walk("explain", argument, function(leaf)
            if type(leaf) ~= "number" and type(leaf) ~= "boolean" and not core.is_array(leaf) then
                local hint = type(leaf) == "function" and " that np.jit has not made" or ""
                raise("explain", "argument %d must hold arrays, or be a jitted function or a program; got %s%s", k,
                      core.describe(leaf), hint)
            end
            local array = core.coerce("explain", k, leaf)
            if not seen[array._id] then
                seen[array._id] = true
                list[#list + 1] = array
            end
        end)
    end
    if #list == 0 then raise("explain", "there is no array in the arguments") end
    return list
end

local function explain_arrays(...)
    local arrays = arrays_in(...)
    local n = #arrays
    local ids = ffi.new("int32_t[?]", n)
    for k = 1, n do ids[k - 1] = arrays[k]._id end
    local function told(form)
        return core.text("explain", function(text, capacity, bytes)
            return C.neap_explain(ctx, n, ids, form, text, capacity, bytes)
        end)
    end
    local text, drawing = told(TEXT), told(DOT)
    core.info(arrays[1]) -- keeps the arrays until here
    return text, { drawing }
end

-- ---- Programs -------------------------------------------------------------------------------------------------------

--- What a jitted function as a whole has done, in a line or two.
local function add_summary(lines, facts)
    if facts.traces == 0 then
        lines[1] = "a jitted function that was not called yet: it has no program"
        return
    end
    lines[1] = "a jitted function: " .. tostring(facts):match "[^\n]*"
    if facts.reason then lines[2] = "recorded again the last time because " .. facts.reason end
end

--- What a program of a jitted function is besides its steps.
local function append_entry(lines, entry)
    if #entry.captures > 0 then
        lines[#lines + 1] = "arrays that it reads anew at each call: " .. table.concat(entry.captures, ", ")
    end
    if #entry.constructed > 0 then
        lines[#lines + 1] = "constructors that it makes itself: " .. table.concat(entry.constructed, ", ")
    end
    if entry.bound > 0 then
        lines[#lines + 1] = ("arrays that belong to it since it was recorded, as it found them elsewhere than in "
                             .. "variables: %d"):format(entry.bound)
    end
    if entry.donated > 0 then
        lines[#lines + 1] = ("donated arrays: %d, of which %d were used up"):format(entry.donated, entry.used_up)
        if entry.kept then lines[#lines + 1] = "the last that was not is " .. entry.kept end
    end
    if entry.kept_steps > 0 then
        lines[#lines + 1] = ("computed once for the same arrays in the arguments of option 'keep': %d of its steps, of "
                             .. "which %.3g MiB are kept"):format(entry.kept_steps, entry.kept_bytes / 2 ^ 20)
    elseif entry.kept_bytes > 0 then
        lines[#lines + 1] = ("kept for the same arrays in the arguments of option 'keep': %.3g MiB, in the layout of a "
                             .. "library"):format(entry.kept_bytes / 2 ^ 20)
    end
end

local function explain_programs(programs)
    local lines, pictures = {}, {}
    if programs.facts then add_summary(lines, programs.facts) end
    for k = 1, math.min(#programs, MOST_PROGRAMS) do
        local program = programs[k].entry.program
        local function told(form)
            return core.text("explain", function(text, capacity, bytes)
                return C.neap_program_explain(program, form, text, capacity, bytes)
            end)
        end
        lines[#lines + 1] = ("for arguments (%s):"):format(programs[k].text)
        if programs.facts then append_entry(lines, programs[k].entry) end
        lines[#lines + 1], pictures[k] = told(TEXT), told(DOT)
    end
    if #programs > MOST_PROGRAMS then lines[#lines + 1] = ("… %d more programs …"):format(#programs - MOST_PROGRAMS) end
    return table.concat(lines, "\n"), pictures
end

-- ---- np.explain -----------------------------------------------------------------------------------------------------

--- np.explain(x, …) -> explanation: what a flush of these arrays would run, or what has computed them: the expression
-- with its script lines, the kernels, why each result leaves its kernel, bytes, estimated and measured times. Of a
-- function that np.jit made, or of a program of np.trace: the same for its programs. Nothing is started. tostring
-- gives the text; :svg(), :save(path) and :dot() a picture. explanation:show() shows the picture in a notebook, and
-- prints the text elsewhere; at the end of a notebook's cell the value does so, too.
--- > #tostring(np.explain(np.ones(3) * 2)) > 0
-- true
function np.explain(...)
    local first = ...
    local programs = programs_of(first)
    local text, pictures
    if programs and select("#", ...) > 1 then raise("explain", "takes one jitted function or program, or arrays") end
    if programs then
        text, pictures = explain_programs(programs)
    else
        text, pictures = explain_arrays(...)
    end
    return setmetatable({ text = text, pictures = pictures }, Explanation)
end

-- ---- Pictures -------------------------------------------------------------------------------------------------------

--- explanation:dot(k): the picture in the language of Graphviz's dot; of a jitted function with several programs, that
-- of the k-th.
function Explanation:dot(k)
    local text = self.pictures[k or 1]
    if not text then raise("explain", "there is no picture %s, there are %d", tostring(k or 1), #self.pictures) end
    return text
end

--- explanation:svg(k): the picture as SVG, with all that it takes inside; the pointer over a node or a step shows more
-- of it, with the line of the script.
function Explanation:svg(k)
    return picture.svg(self:dot(k))
end

--- explanation:save(path, k): writes the text or the picture to a file, as its name ends: .txt, .dot or .svg.
function Explanation:save(path, k)
    core.check_path("explain", path)
    local kind, text = path:match("%.(%w+)$"), nil
    if kind == "txt" then
        text = self.text .. "\n"
    elseif kind == "dot" then
        text = self:dot(k)
    elseif kind == "svg" then
        text = self:svg(k)
    else
        raise("explain", "the name of the file must end in .txt, .dot or .svg, got %q", path)
    end
    local ok, problem = files.write(path, { text })
    if not ok then raise("explain", "%s", problem) end
end

-- ---- Where it is shown ----------------------------------------------------------------------------------------------

--- explanation:show(): the picture in a notebook, of a jitted function that of each program; elsewhere the text.
function Explanation:show()
    if core.display then return np.display(self) end
    print(self.text)
end

--- In a notebook: the pictures, and the text behind a line that opens it.
function Explanation:__display()
    local parts = {}
    for k = 1, #self.pictures do
        parts[k] = '<div style="overflow-x:auto">' .. self:svg(k) .. "</div>\n"
    end
    parts[#parts + 1] = "<details><summary>the same as text</summary><pre>" .. picture.escaped(self.text)
        .. "</pre></details>\n"
    return { ["text/html"] = table.concat(parts), ["text/plain"] = self.text }
end

for _, f in ipairs { arrays_in, explain_arrays, explain_programs, np.explain, Explanation.show,
                     Explanation.__display } do
    jit.off(f)
end
