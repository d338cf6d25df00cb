--- repl.lua: what a command at the prompt means.
--
-- A command is an expression, whose values are shown, or a chunk; `=expr` is an expression too. Several on one line, or
-- pasted together, run one after the other if they are no chunk as they stand. Behind a semicolon nothing is shown.
-- What begins with ":", "!" or "?" is for commands.lua. A pasted transcript, whose lines begin with the prompt, is
-- typed again without what it shows. Variables that are `local` stay (locals.lua); the values are kept (results.lua).
--
-- A *session* is where commands run: { scope = its local variables, environment = where its other names are, nil: the
-- globals, words = commands of its own }. The prompt has one; a breakpoint has its own (breakpoint.lua), whose commands
-- are parts of the one that runs: they take no numbers, and :save leaves them out.
local core = require "neap.core"
local source = require "neap.core.source"
local locals = require "neap.interp.locals"
local questions = require "neap.interp.questions"
local results = require "neap.interp.results"
local sites = require "neap.interp.sites"
local show = require "neap.interp.show"
local strict = require "neap.interp.strict"
local system = require "neap.interp.system"
local tokens = require "neap.interp.tokens"
local unlikely = require "neap.interp.unlikely"

-- texts: of commands that went well, for :save; `last`: of the last one; first_globals: what was there before the user;
-- after(text, session), if there is one, is called behind each command that went well.
local repl = { texts = {}, first_globals = {} }

-- What makes a chunk of an expression. The nil, which is dropped, keeps a call from being a tail call: its errors would
-- lose the line.
local VALUES = "return nil, "

local main = { scope = locals.scope() }
repl.main = main
repl.reader = main -- the session whose next command is being typed

-- ---- Reading --------------------------------------------------------------------------------------------------------

-- Of the commands that a breakpoint has read while this command runs, the number of the one that runs now; nil: none.
repl.inner = nil

--- The name of the chunk of the command that runs: "[3]", of the second one at a breakpoint in it "[3.2]", of one in a
-- script "[2]".
local function chunk_name()
    if not repl.inner then return ("=[%d]"):format(results.count) end
    return results.count > 0 and ("=[%d.%d]"):format(results.count, repl.inner) or ("=[%d]"):format(repl.inner)
end

local TYPED = "=neap/typed" -- a chunk of the library's, whose errors nobody explains

--- How a text reads: what stands before it in its chunk, and the text; or nil, the error to tell, and that of the other
-- reading. "'=' expected" says that a statement begins as an expression does, so the error of that tells more.
-- `name`: of the chunk, if it is not the command that runs.
local function reading(text, name)
    name = name or chunk_name()
    local forced = text:match "^%s*=(.*)$"
    local expression, as_expression = loadstring(VALUES .. (forced or text), name, "t")
    if expression then return VALUES, forced or text end
    if forced then return nil, as_expression, as_expression end
    local chunk, as_chunk = loadstring(text, name, "t")
    if chunk then return "", text end
    local meant = as_chunk:find("'=' expected", 1, true) and not as_expression:find("'<eof>' expected", 1, true)
        and not tokens.begins_statement(text)
    local begins_value = as_chunk:find("unexpected symbol", 1, true) and text:find "^%s*[%d\"'%-#{]"
    if meant or begins_value then return nil, as_expression, as_chunk end
    return nil, as_chunk, as_expression
end

--- Statements that end with an expression, as two commands; nil for others. name: as in `reading`.
local function read_last(text, name)
    local pieces = tokens.split(text)
    local last = pieces[#pieces]
    if #pieces < 2 then return nil end
    local before, body = reading(("\n"):rep(last.line) .. last.text, name)
    local head = text:sub(1, last.from - 1)
    if before ~= VALUES or not loadstring(head, name or chunk_name(), "t") then return nil end
    return { { before = "", text = head }, { before = before, text = body } }
end

--- The commands in a text: a list of { before, text }; or nil and the error. Lines keep their numbers. name: as in
-- `reading`.
local function read_commands(text, name)
    local before, body = reading(text, name)
    if before == "" then return read_last(text, name) or { { before = before, text = body } } end
    if before then return { { before = before, text = body } } end
    local pieces = tokens.split(text)
    if #pieces < 2 then return nil, body end
    local list = {}
    for k, piece in ipairs(pieces) do
        core.check_interrupt()
        local before_piece, problem = reading(("\n"):rep(piece.line) .. piece.text, name)
        if not before_piece then return nil, k == 1 and body or problem end
        list[k] = { before = before_piece, text = problem }
    end
    return list
end

--- Whether an error of reading a text says that the text may go on: not a string or a name of a method, which end
-- with their line.
local function goes_on(text, problem)
    if not problem:find("near '<eof>'", 1, true) then return false end
    local is_foreign = #text <= source.LONGEST and (text:find "^%s*for%s[^\n]*%sin%s+range%s*%b()%s*:[^\n]*$"
                                                    or text:find "^%s*for%s[^\n]*%sin%s[^\n]*:%s+[^%s][^\n]*$"
                                                    or text:find "^%s*if%s*%b()%s*%b{}%s*$")
    if is_foreign then return false end
    if problem:find("unfinished string", 1, true) then return text:find "[^\\]\\$" ~= nil end
    if problem:find("'<name>' expected", 1, true) then return not text:find "[%.:]%s*$" end
    return not problem:find("function arguments expected", 1, true) and not problem:find("'=' expected", 1, true)
        and not problem:find("syntax error", 1, true) -- (2) behind a block
end

--- Whether a text that has not run yet may go on.
local function may_go_on(text)
    local before, problem, other = reading(text, TYPED)
    if before then return false end
    if goes_on(text, problem) or goes_on(text, other) then return true end
    local pieces = tokens.split(text)
    for k = 1, #pieces - 1 do
        core.check_interrupt()
        if not reading(pieces[k].text, TYPED) then return false end
    end
    return #pieces > 1 and may_go_on(pieces[#pieces].text)
end

--- The commands of a transcript, without the prompts; nil for a text that is none.
local function transcript(text)
    if not text:find "^%s*> " then return nil end
    local lines, list = {}, {} -- of the command, and the commands before it
    local function finish()
        if lines[1] then list[#list + 1] = table.concat(lines, "\n") end
    end
    for line in (text .. "\n"):gmatch "(.-)\r?\n" do
        local typed, more = line:match "^%s*> ?(.*)$", line:match "^%s*>> ?(.*)$"
        if more and lines[1] then
            lines[#lines + 1] = more
        elseif typed then
            finish()
            lines = { typed }
        end
    end
    finish()
    return list
end

--- Whether commands.lua knows what a text means.
local function is_special(text)
    return text:find "^%s*[!?]" ~= nil or text:find "^%s*:[^:]" ~= nil or text:find "^%s*:$" ~= nil
        or text:find "^%s*[%w_%.:]+%?%?*%s*$" ~= nil
end

--- A long text is asked about with each of its lines. LONG: bytes from which on it is remembered as { text, depth,
-- closer, checked }: what was found incomplete last, how many brackets and blocks are open in it, or what ends the long
-- brackets in which it ends, and how long it was when all of it was read. While these stay open, all of it is read only
-- when it is twice as long again.
local LONG, open_text = 4096, nil

--- Whether the text is the open one with further lines, which leave it open.
local function is_still_open(text)
    local last = open_text
    if not last or #text <= #last.text or #text >= 2 * last.checked or text:sub(1, #last.text) ~= last.text then
        return false
    end
    local tail = text:sub(#last.text + 1)
    if last.closer then
        if tail:find(last.closer, 1, true) then return false end
        last.text = text
        return true
    end
    local depth, closer = tokens.depth(tail)
    if not depth or last.depth + depth <= 0 and not closer then return false end
    last.text, last.depth, last.closer = text, last.depth + depth, closer
    return true
end

--- Whether more lines can complete the command.
function repl.incomplete(text)
    if is_still_open(text) then return true end
    local whole, typed = text, transcript(text)
    if typed then text = typed[#typed] end
    if text:find "^%s*:[^:]" then text = require("neap.interp.commands").code_of(text) or "" end
    local more = not is_special(text) and may_go_on(text)
    open_text = nil
    if more and #text >= LONG and text == whole then
        local depth, closer = tokens.depth(text)
        if depth and (depth > 0 or closer) then
            open_text = { text = text, depth = depth, closer = closer, checked = #text }
        end
    end
    return more
end

--- What the commands in a text compile to: a list of functions, on their lines; empty if they do not compile.
function repl.chunks(text)
    local chunks = {}
    for k, command in ipairs(text:find "%S" and read_commands(text, TYPED) or {}) do
        local lines, rest = command.text:match "^(\n*)(.*)$"
        chunks[k] = loadstring(lines .. command.before .. rest, TYPED, "t")
    end
    return chunks
end

--- Whether a text is one or more commands that compile.
function repl.readable(text)
    for _, command in ipairs(transcript(text) or { text }) do
        if not is_special(command) and command:find "%S" and not read_commands(command) then return false end
    end
    return true
end

-- ---- Showing --------------------------------------------------------------------------------------------------------

--- Whether a value is what functions that write return, and nobody wants to see.
local function is_stream(value)
    return rawequal(value, io.stdout) or rawequal(value, io.stderr)
end

--- Whether the command that runs has shown this value itself, as live:close() does.
local function was_shown(value)
    local meta = type(value) == "table" and debug.getmetatable(value)
    return meta and rawget(meta, "__show") and rawget(value, "shown_by") == results.count or false
end

--- The text of a value, or its picture (__show). An array in the body of np.shard_map is shown by print, which tells
-- the devices apart.
local function print_value(value)
    local meta = type(value) == "table" and debug.getmetatable(value)
    if meta and rawget(meta, "__show") then return meta.__show(value) end
    local axes = package.loaded["neap.tracing.axes"]
    if core.is_array(value) and axes and axes.mesh() then return print(value) end
    print(show.text(value))
end

--- Prints all values, behind what was printed before, a line for each, and waits until they are written. Their texts
-- are made before they are printed, so an interrupt leaves no print behind for which later ones wait. A notebook has a
-- function of its own in the place of `present`; `is_last`: no other values of this command follow.
function repl.present_text(_, ...) -- is_last, …
    np.effects_barrier()
    if core.C.neap_out_midline() ~= 0 then print() end
    for k = 1, select("#", ...) do print_value((select(k, ...))) end
    np.effects_barrier()
end
repl.present = repl.present_text

--- Keeps and shows all values but the first (VALUES).
local function display(quiet, is_last, ...)
    local count = select("#", ...) - 1
    if count < 1 or count == 1 and is_stream((select(2, ...))) then return end
    results.keep((select(2, ...)), repl.inner ~= nil)
    if not quiet and not (count == 1 and was_shown((select(2, ...)))) then repl.present(is_last, select(2, ...)) end
end
repl.display = display

-- ---- Running --------------------------------------------------------------------------------------------------------

--- Compiles a piece of a text that is known to compile. Messages show lines of the whole text.
local function compile(whole, before, text, session)
    local command, problem = session.scope:compile(before, text, chunk_name(), session.environment)
    source.keep(chunk_name(), whole)
    if not command then error(problem, 0) end
    return command
end

--- Compiles a command for a session: a function whose values stand behind a nil, if it is an expression; and whether it
-- is one. Raises what does not compile.
function repl.compile(text, session)
    local before, body = reading(text)
    source.keep(chunk_name(), text)
    if not before then error(body, 0) end
    return compile(text, before, body, session), before ~= ""
end

--- What the variable of a name holds: "list", one without items that lists do not have, and its length, "array", one
-- with axes, or "text"; nil: another value.
local function kind_of(name)
    local is_local, value = main.scope:get(name)
    if not is_local then value = rawget(_G, name) end
    if type(value) == "string" then return "text" end
    if core.is_array(value) then
        local ok, known = pcall(core.info, value) -- it may have failed
        return ok and known.ndim > 0 and "array" or nil
    end
    if type(value) ~= "table" or debug.getmetatable(value) ~= nil or rawget(value, 1) == nil then return nil end
    local has_more = rawget(value, 0) ~= nil or rawget(value, -1) ~= nil or rawget(value, "length") ~= nil
        or rawget(value, "size") ~= nil or rawget(value, "len") ~= nil
    if has_more then return nil end
    return "list", #value
end

local function run_code(text, session)
    local list, problem = read_commands(text)
    source.keep(chunk_name(), text)
    if not list then error(problem, 0) end
    unlikely.tell(text, chunk_name():sub(2), kind_of)
    for k, piece in ipairs(list) do
        local command = compile(text, piece.before, piece.text, session)
        if piece.before == "" then
            display(false, k == #list, nil, command())
        else
            display(tokens.ends_quietly(piece.text), k == #list, command())
        end
        session.scope:settle()
    end
end

repl.run_code = run_code -- which calls what a command compiles to

local WORDS = { exit = true, quit = true, help = true } -- that mean a command, unless they are variables

--- The one that a text is; nil: it is none.
local function word_of(text, session)
    local word = text:match "^%s*(%a+)[%s;]*$"
    local value = rawget(_G, word or "")
    local is_free = WORDS[word] and (value == nil or rawequal(value, repl.first_globals[word]))
    return is_free and not session.scope:get(word) and word or nil
end

--- Runs one command, and raises its error.
local function run_command(text, session)
    if not text:find "%S" then return end
    local word = word_of(text, session)
    if word == "help" then text = ":help" end
    if not repl.inner then
        results.count = results.count + 1
        core.command = results.count
    end
    sites.enter(chunk_name():sub(2))
    if word == "exit" or word == "quit" then
        os.exit(nil, true)
    elseif is_special(text) then
        require("neap.interp.commands").run(text, session)
    else
        repl.last = not repl.inner and text or repl.last
        questions.remember(chunk_name(), text)
        run_code(text, session)
        if not repl.inner then repl.texts[#repl.texts + 1] = text end
    end
    if core.leave_bars then core.leave_bars() end -- of np.progress
    if repl.after then repl.after(text, session) end
end

--- Runs a command, or those of a transcript, and shows their values. Raises its error. `session`: the prompt's, if
-- none is given.
function repl.run(text, session)
    for _, command in ipairs(transcript(text) or { text }) do run_command(command, session or main) end
end

--- Runs a script for the prompt that follows it: its local variables stay. `chunk`: "@path" or "=name".
function repl.run_script(text, chunk, ...)
    local command, problem = main.scope:compile("", text, chunk)
    if chunk:find "^=" then
        source.keep(chunk, text)
    else
        source.stamps[chunk:sub(2)] = system.stamp(chunk:sub(2)) or false
    end
    if not command then error(problem, 0) end
    sites.enter(chunk:sub(2))
    command(...)
    main.scope:settle()
end

--- Reads a file for `what`, if that is given, as messages call it; raises what the system says.
function repl.read_file(path, what)
    local file, problem = io.open(path, "rb")
    local text = file and file:read "*a"
    if file then file:close() end
    local where = what and what .. ": " or ""
    if not text then error(("%scannot read %s"):format(where, problem or path .. ": it is no file"), 0) end
    return text
end

--- The same for the file at `path`; nil is the standard input.
function repl.run_file(path, ...)
    local text = path and repl.read_file(path) or io.read "*a"
    if text:find "^\27" then return assert(loadstring(text, path))(...) end
    return repl.run_script(text, path and "@" .. path or "=stdin", ...)
end

--- The variables by name: the user's globals, then those of `more`, then the local ones of a session, else the prompt.
function repl.variables(session, more)
    local found, scope = {}, (session or main).scope
    for name, value in next, _G do
        if not repl.first_globals[name] then found[name] = value end
    end
    for name, value in pairs(more or {}) do found[name] = value end
    for _, name in ipairs(scope:names()) do found[name] = select(2, scope:get(name)) end
    return found
end

--- Before the first command, of a script too.
function repl.open()
    for name, value in next, _G do repl.first_globals[name] = value end
    strict.install(false, main.scope)
    require("neap.interp.frames").watch(function() main.scope:settle() end)
end

for _, f in ipairs { display, repl.present_text, print_value, run_code, run_command, repl.run, repl.run_script,
                     repl.run_file } do
    jit.off(f, true)
end

return repl
