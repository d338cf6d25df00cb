--- blocks.lua: the code blocks of a Markdown page: reads them, runs them, and compares what they print with what the
-- page shows. The convention of pages, with the words before each fence or in its info string:
--
--     ```lua             runs; all these blocks of a page are one script, in order, whose lines have the page's numbers
--     ```lua NAME.lua    is a script of its own, a file of that name, run in a process of its own; options may follow
--     ```console         lines "$ COMMAND" run in a shell, each followed by what it prints
--     ```sh              runs in a shell; nothing of what it prints is shown
--     ```prompt          is typed at neap's prompt, what stands behind "> ", ">> " and "(debug) ", and shows what
--                        follows; all these blocks of a page are one session
--     ```output          what the last block of Lua prints, after its comments
--     ```c, ```text      is C, or a drawing, a grammar: not run
--     <!-- not run: REASON -->     before a fence: this block does not run
--     <!-- needs: PROGRAM -->      before a fence: this block runs where that program is, or library (libNAME.so.1)
--     <!-- setup … -->             Lua that the blocks after it need, which readers do not see; with NAME.lua behind
--                                  the word a script of its own, too
--     <!-- options: --devices 8 -->    how neap is started for this page
--
-- In Lua a comment "--> TEXT" is a line that is printed, and one "--> error: TEXT" behind a statement says that this
-- raises an error. All that is printed must be shown. "…" stands for any text, and as a line of its own for any lines.
-- Times, names of threads and of instruction sets count as equal, and so does the width of gaps where such stand. An
-- error message ("neap: …", "NAME.lua:1: …") may be broken into lines.
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

local blocks = {}

local KINDS = { lua = true, console = true, sh = true, prompt = true, output = true, c = true, text = true }
local RUN = { lua = true, console = true, sh = true, prompt = true }
local SETS = { "avx512", "avx2", "sse2", "baseline", "neon" }

-- ---- Reading --------------------------------------------------------------------------------------------------------

local function split(text)
    local lines = {}
    for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
    return lines
end

--- Whether a program is installed, or a library, which has ".so" in its name.
local function is_there(name)
    if name:find(".so", 1, true) then return (pcall(require("ffi").load, name)) end
    return os.execute("command -v " .. name .. " >/dev/null") == 0
end

--- Reads the text of a page. Returns {path, lines, options, blocks, problems}. A block is {first, last: the lines of
-- its fences; kind, name, skip: why it does not run; hidden: it is a setup}. A problem is "PATH:LINE: TEXT".
function blocks.read(path, text)
    local page = { path = path, lines = split(text), options = "", blocks = {}, problems = {} }
    local function problem(line, words) page.problems[#page.problems + 1] = ("%s:%d: %s"):format(path, line, words) end
    local open, skip, skip_line, previous
    for number, line in ipairs(page.lines) do
        local info = line:match "^%s*```%s*(.-)%s*$"
        if open and open.hidden then
            if line:match "^%-%->" then open.last, open = number, nil end
        elseif open then
            if info then open.last, open = number, nil end
        elseif info then
            local kind, name, options = info:match "^(%S*)%s*(%S*)%s*(.*)$"
            if not KINDS[kind] then
                problem(number, "a block of code says what it is: lua, console, sh, prompt, output, c or text")
            end
            open = { first = number, kind = kind, name = name ~= "" and name or nil, options = options, skip = skip,
                     indent = #line:match "^%s*" }
            if kind == "text" and previous and RUN[previous.kind] and not skip then
                problem(number, "what a block prints is shown as output, or the block says why it does not run")
            end
            page.blocks[#page.blocks + 1], skip, previous = open, nil, open
        elseif line:match "^<!%-%- setup" then
            local name, options = line:match "setup%s*(%S*)%s*(.*)$"
            open = { first = number, kind = "lua", hidden = true, name = name ~= "" and name or nil,
                     options = options, indent = 0 }
            page.blocks[#page.blocks + 1] = open
        elseif line:match "^%s*<!%-%- options: " then
            page.options = line:match "options: (.-) %-%->"
        elseif line:match "^%s*<!%-%- not run" then
            skip, skip_line = line:match "not run: (%S.-) %-%->", number
            if not skip then problem(number, "a reason is missing: <!-- not run: REASON -->") end
        elseif line:match "^%s*<!%-%- needs: " then
            local program = line:match "needs: (%S+) %-%->"
            if not program then
                problem(number, "a program is missing: <!-- needs: PROGRAM -->")
            elseif not is_there(program) then
                skip, skip_line = "needs " .. program, number
            end
        elseif line:find "%S" then
            if skip then problem(skip_line, "no block follows this mark") end
            skip, previous = nil, nil
        end
    end
    if open then problem(open.first, "the block does not end") end
    return page
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------

--- A text in which times, threads and instruction sets have one name; and whether it had any.
local function without_measured(text)
    local found = 0
    local function replace(pattern, word)
        local count
        text, count = text:gsub(pattern, word)
        found = found + count
    end
    for _, unit in ipairs { "ns", "µs", "ms", "s" } do replace("~?%d+%.?%d* " .. unit .. "%f[^%w]", "TIME") end
    for _, set in ipairs(SETS) do replace("%f[%w]" .. set .. "%f[^%w]", "SET") end
    replace("on worker %d+", "on THREAD")
    replace("on the main thread", "on THREAD")
    return text, found > 0
end

local function line_matches(actual, expected)
    local pattern = expected:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"):gsub("…", ".-")
    return actual:find("^" .. pattern .. "$") ~= nil
end

--- The index of the first expected line that does not match, or nil; lines from i and j on.
local function first_difference(actual, expected, i, j)
    while j <= #expected do
        if expected[j] == "…" then
            local furthest = j
            for from = i, #actual + 1 do
                local at = first_difference(actual, expected, from, j + 1)
                if not at then return nil end
                furthest = math.max(furthest, at)
            end
            return furthest
        end
        if not actual[i] or not line_matches(actual[i], expected[j]) then return j end
        i, j = i + 1, j + 1
    end
    return i <= #actual and j or nil
end

local function tidy(lines, squeeze)
    local tidied = {}
    for k, line in ipairs(lines) do
        line = line:gsub("\t", " "):gsub("%s+$", "")
        if squeeze then line = without_measured(line):gsub("^ +", ""):gsub("  +", " ") end
        tidied[k] = line
    end
    while tidied[#tidied] == "" do tidied[#tidied] = nil end
    return tidied
end

local function is_error(line)
    return line and (line:find "^neap: " or line:find "^[%w_]+%.lua:%d+: ")
end

local function one_line(lines)
    return (table.concat(lines, " "):gsub("%s+", " "):gsub("^neap: ", ""))
end

--- Compares lines with what is shown, a list of {line, text}. Returns nil or the line of the page and the problem.
local function compare(actual, shown, after)
    local texts = {}
    for k, item in ipairs(shown) do texts[k] = item.text end
    local _, measured = without_measured(table.concat(texts, "\n"))
    local got, expected = tidy(actual, measured), tidy(texts, measured)
    local at = first_difference(got, expected, 1, 1)
    if not at or is_error(expected[1]) and one_line(got) == one_line(expected) then return nil end
    local where = shown[at] and shown[at].line or shown[#shown] and shown[#shown].line or after
    return where, ("the page shows\n        %s\n    and printed is\n        %s"):format(
        #expected > 0 and table.concat(expected, "\n        ") or "nothing",
        #got > 0 and table.concat(got, "\n        ") or "nothing")
end

-- ---- Running --------------------------------------------------------------------------------------------------------

--- Runs a line of shell in the folder. Returns the status, and what it prints on both streams, in order.
local function shell(folder, line)
    local command = ([[cd %s && { %s
} 2>&1]]):format(folder, line)
    local status, out = process.run { "timeout", "-k", "5", os.getenv "NEAP_TEST_BLOCK_SECONDS" or "300", "bash", "-c",
                                      command }
    if status == 124 then out = out .. "the time limit of the test\n" end
    return status, out
end

--- What a block shows: comments "--> TEXT" of its lines, then the output block that follows.
local function shown_by(page, block, following)
    local shown = {}
    for number = block.first + 1, block.last - 1 do
        local text = page.lines[number]:match "%-%-> ?(.*)$"
        if text then shown[#shown + 1] = { line = number, text = text } end
    end
    if following and following.kind == "output" and not following.skip then
        following.compared = true
        for number = following.first + 1, following.last - 1 do
            shown[#shown + 1] = { line = number, text = page.lines[number]:sub(following.indent + 1) }
        end
    end
    return shown
end

--- A statement that is to raise, as one that prints what it raised, without the place.
local function raising(line)
    local statement = line:match "^%s*(.-)%s*%-%-> error: "
    if not statement then return line end
    return ("do local _, e = pcall(function() %s end); print('error: ' .. tostring(e):gsub('^%%S+:%%d+: ', '')) end")
        :format(statement)
end

--- The page's blocks of Lua as one script: lines outside of blocks are empty, and a fence prints a mark.
local function script_of(page)
    local lines = {}
    for number = 1, #page.lines do lines[number] = "" end
    local any = false
    for _, block in ipairs(page.blocks) do
        if block.kind == "lua" and not block.name and not block.skip then
            any = true
            lines[block.first] = ([[print "\001%d"]]):format(block.first)
            for number = block.first + 1, block.last - 1 do lines[number] = raising(page.lines[number]) end
        end
    end
    return any and table.concat(lines, "\n") .. "\n"
end

--- Splits what the script printed at the marks: lists of lines by the block's first line.
local function parts_of(out)
    local parts, now = {}, {}
    parts[0] = now
    for _, line in ipairs(split(out)) do
        local mark = line:match "^\1(%d+)$"
        if mark then
            now = {}
            parts[tonumber(mark)] = now
        elseif line ~= "" or out ~= "" then
            now[#now + 1] = line
        end
    end
    return parts
end

local function run_page_script(page, folder, problem)
    local script = script_of(page)
    if not script then return end
    local name = page.path:match "[^/]+$"
    process.write(folder .. "/" .. name, script)
    local status, out = shell(folder, ("exec neap %s %s"):format(page.options, name))
    local parts = parts_of(out)
    for k, block in ipairs(page.blocks) do
        if block.kind == "lua" and not block.name and not block.skip then
            local shown = shown_by(page, block, page.blocks[k + 1])
            if not parts[block.first] then
                problem(block.first, "does not run, as a block before it ended the script")
            else
                problem(compare(parts[block.first], shown, block.first))
            end
        end
    end
    if status ~= 0 then
        problem(1, ("its blocks as one script end with status %d: %s"):format(status, table.concat(parts[0], "\n")))
    end
end

local function run_console(page, block, folder, problem)
    local command, at, shown
    local function finish()
        if not command then
            if shown then problem(block.first, "a console block begins with a command, \"$ …\"") end
            return
        end
        local _, out = shell(folder, command)
        problem(compare(split(out), shown, at))
    end
    for number = block.first + 1, block.last - 1 do
        local line = page.lines[number]
        local next_command = line:match "^%$ (.*)$"
        if next_command then
            finish()
            command, at, shown = next_command, number, {}
        else
            shown = shown or {}
            shown[#shown + 1] = { line = number, text = line }
        end
    end
    finish()
end

--- The mark of the prompt at the beginning of a line, and what is typed behind it; nil for other lines.
local function typed_in(line)
    for _, mark in ipairs { "> ", ">> ", "(debug) ", "(breakpoint) " } do
        if line:sub(1, #mark) == mark then return mark, line:sub(#mark + 1) end
    end
end

--- What is typed at the prompt in a page, in order, as a list of { line, mark, text, shown }.
local function prompt_steps(page, problem)
    local steps = {}
    for _, block in ipairs(page.blocks) do
        local first, last = block.first + 1, block.kind == "prompt" and not block.skip and block.last - 1 or 0
        for number = first, last do
            local line = page.lines[number]:sub(block.indent + 1)
            local mark, text = typed_in(line)
            if mark then
                steps[#steps + 1] = { line = number, mark = mark, text = text, shown = {} }
            elseif not steps[1] then
                problem(number, 'a session begins with a command, "> …"')
                return {}
            else
                local shown = steps[#steps].shown
                shown[#shown + 1] = { line = number, text = line }
            end
        end
    end
    return steps
end

--- The page's sessions at the prompt as one: each line is typed once the prompt stands there that the page shows, and
-- what is shown from there to the next is compared.
local function run_prompts(page, folder, problem)
    local steps = prompt_steps(page, problem)
    if not steps[1] then return end
    local terminal = prompts.start({}, nil, folder)
    terminal:expect "> "
    for k, step in ipairs(steps) do
        terminal:send(step.text .. "\n")
        terminal:expect "\r\n"
        local ok, out = pcall(terminal.expect, terminal, steps[k + 1] and steps[k + 1].mark or "> ")
        if not ok then
            problem(step.line, out)
            break
        end
        out = prompts.plain(out)
        problem(compare(out == "" and {} or split(out), step.shown, step.line))
    end
    terminal:send "\4"
    terminal:finish()
end

local function run_block(page, k, folder, problem)
    local block = page.blocks[k]
    local body = table.concat(page.lines, "\n", block.first + 1, block.last - 1)
    if block.kind == "lua" and block.name then
        process.write(folder .. "/" .. block.name, body .. "\n")
        local _, out = shell(folder, ("exec neap %s %s"):format(block.options ~= "" and block.options or page.options,
                                                             block.name))
        problem(compare(split(out), shown_by(page, block, page.blocks[k + 1]), block.first))
    elseif block.kind == "console" then
        run_console(page, block, folder, problem)
    elseif block.kind == "sh" then
        local status, out = shell(folder, body)
        if status ~= 0 then problem(block.first, ("ends with status %d: %s"):format(status, out)) end
    end
end

--- Runs the blocks of a page in a folder. Returns a list of problems, "PATH:LINE: TEXT".
function blocks.run(page, folder)
    local problems = {}
    for _, words in ipairs(page.problems) do problems[#problems + 1] = words end
    local function problem(line, words)
        if line then problems[#problems + 1] = ("%s:%d: %s"):format(page.path, line, words) end
    end
    if #problems > 0 then return problems end
    run_page_script(page, folder, problem)
    run_prompts(page, folder, problem)
    for k, block in ipairs(page.blocks) do
        if not block.skip then run_block(page, k, folder, problem) end
    end
    for _, block in ipairs(page.blocks) do
        if block.kind == "output" and not block.compared and not block.skip then
            problem(block.first, "this output is compared with nothing: no block of Lua stands right before it")
        end
    end
    return problems
end

--- Makes a folder in which the commands of pages run: with build/, scripts/, bench/, and neap on the path. Returns its
-- path.
function blocks.folder()
    local root = io.popen "pwd":read "*l"
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir -p %s/bin && cd %s && ln -s %s/scripts %s/bench . && ln -s %s bin/neap && mkdir build && "
                       .. "ln -s ../bin/neap build/neap"):format(folder, folder, root, root,
                       process.neap:match "^/" and process.neap or root .. "/" .. process.neap)) == 0)
    local ffi = require "ffi"
    ffi.C.setenv("PATH", folder .. "/bin:" .. os.getenv "PATH", 1)
    return folder
end

return blocks
