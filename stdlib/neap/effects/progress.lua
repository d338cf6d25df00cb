--- progress.lua: np.progress: bars that tell how far loops are, as tqdm's.
--
-- At a terminal the bars of nested loops stand in the last lines, the outer one first; what the program prints
-- meanwhile appears above them: output.lua calls `lift` before it and `lower` behind. In a notebook they are the text
-- of one display, which stands where the outer one began, and changes. Elsewhere a bar is a line every few seconds. All
-- is an effect of the kind of print, to stderr, so it is in order with prints and waits for nothing: arrays behind the
-- bar are shown when they have values.
--
-- A loop that was left by break or an error never tells its bar. So a bar ends, too, when one around it goes on, when a
-- new one begins and no loop on the stack goes through the old one, and with the command or the script (`leave`).
local core = require "neap.core"
local output = require "neap.effects.output"
local console = require "neap.effects.console"

local np, C = core.np, core.C
local bad_argument = core.bad_argument

local FAST, SLOW = 0.1, 10 -- seconds between drawings: at a terminal and in a notebook, and of lines
local WIDTH, LEAST_BAR = 80, 4
local PARTS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" } -- of a character, by eighths

local bars = {} -- that run, the outer ones first
local drawn = 0 -- lines of bars on the terminal, in the last of which the cursor is
local is_midline = false -- what was printed last has no end of line: the bars wait for one

local Bar = {}
Bar.__index = Bar

-- ---- Text -----------------------------------------------------------------------------------------------------------

local function clock_text(seconds)
    if seconds ~= seconds or seconds >= 360000 then return "?" end
    seconds = math.floor(seconds + 0.5)
    local minutes = math.floor(seconds / 60)
    if minutes < 60 then return ("%02d:%02d"):format(minutes, seconds % 60) end
    return ("%d:%02d:%02d"):format(math.floor(minutes / 60), minutes % 60, seconds % 60)
end

local function rate_text(bar, seconds)
    if not (bar.count > 0 and seconds > 0) then return "?" .. bar.unit .. "/s" end
    local rate = bar.count / seconds
    if rate < 1 then return ("%.2fs/%s"):format(1 / rate, bar.unit) end
    return ("%.2f%s/s"):format(rate, bar.unit)
end

local function filled(part, width)
    local eighths = math.floor(part * width * 8 + 1e-9)
    local whole = math.floor(eighths / 8)
    local text = ("█"):rep(whole)
    if whole == width then return text end
    local rest = PARTS[eighths % 8] or " "
    return text .. rest .. (" "):rep(width - whole - 1)
end

local function characters(text)
    return (select(2, text:gsub("[^\128-\191]", "")))
end

--- The line of a bar as a list of pieces for a print: texts and, of the postfix, arrays.
local function pieces_of(bar, width)
    local seconds = console.now() - bar.start
    local total = bar.total
    local head = bar.desc ~= "" and bar.desc .. ": " or ""
    local tail, middle
    if total then
        local part = total > 0 and math.min(bar.count / total, 1) or 1
        local left = bar.count > 0 and clock_text(seconds / bar.count * math.max(total - bar.count, 0)) or "?"
        head = head .. ("%3d%%|"):format(math.floor(part * 100))
        tail = ("| %d/%d [%s<%s, %s"):format(bar.count, total, clock_text(seconds), left, rate_text(bar, seconds))
        local room = width - 1 - characters(head .. tail) - 1 - bar.postfix_width
        middle = filled(part, math.max(math.min(room, width), LEAST_BAR))
    else
        tail = ("%d%s [%s, %s"):format(bar.count, bar.unit, clock_text(seconds), rate_text(bar, seconds))
        middle = ""
    end
    local list = { head .. middle .. tail }
    for _, item in ipairs(bar.postfix) do
        list[#list + 1] = ", " .. item[1] .. "="
        list[#list + 1] = item[2]
    end
    list[#list + 1] = "]"
    return list
end

-- ---- The terminal ---------------------------------------------------------------------------------------------------

local function emit(list)
    local joined, n = {}, 0
    for _, piece in ipairs(list) do
        if type(piece) == "string" and type(joined[n]) == "string" then
            joined[n] = joined[n] .. piece
        else
            n = n + 1
            joined[n] = piece
        end
    end
    output.emit(C.NEAP_EFFECT_PRINT, C.NEAP_STDERR, joined, n)
end

--- Puts the cursor where the first bar begins, and clears what is behind it.
local function erase(list)
    if drawn == 0 then return end
    list[#list + 1] = "\r" .. (drawn > 1 and ("\27[%dA"):format(drawn - 1) or "") .. "\27[J"
    drawn = 0
end

local function draw_all(list)
    local columns = console.window(2)
    for k, bar in ipairs(bars) do
        if k > 1 then list[#list + 1] = "\n" end
        for _, piece in ipairs(pieces_of(bar, columns > 0 and columns or WIDTH)) do list[#list + 1] = piece end
        bar.drawn_at = console.now()
    end
    drawn = #bars
end

local busy = false -- the bars themselves are being written

local function redraw(list)
    list = list or {}
    erase(list)
    if not is_midline then draw_all(list) end
    busy = true
    if #list > 0 then emit(list) end
    busy = false
end

--- Before something else is printed.
local function lift()
    if busy or drawn == 0 then return end
    local list = {}
    erase(list)
    busy = true
    emit(list)
    busy = false
end

--- Behind that. ends: whether it ended a line.
local function lower(ends)
    if busy then return end
    is_midline = not ends
    if ends and #bars > 0 then redraw() end
end

local function watch()
    local on_terminal = #bars > 0 and bars[1].terminal and console.is_terminal(1)
    output.lift, output.lower = on_terminal and lift or nil, on_terminal and lower or nil
    if #bars == 0 then is_midline = false end
end

-- ---- A notebook -----------------------------------------------------------------------------------------------------

-- The display of the bars that run: its id, whether it is there, and the pieces of bars that have ended and stay.
local board
local last_board = 0

--- The text of an array of one element under a conversion.
local function value_text(conversion, x)
    local value = x:item()
    if type(value) == "boolean" then value = value and 1 or 0 end
    local number = tonumber(value)
    return number and conversion:format(number) or tostring(x)
end

local function open_board()
    if board then return end
    last_board = last_board + 1
    board = { id = ("neap-progress-%d"):format(last_board), left = {} }
end

--- Shows the text of all bars, when the arrays in it have values.
local function draw_board()
    open_board()
    local list, arrays = {}, {}
    local function add(pieces)
        if list[1] then list[#list + 1] = "\n" end
        for _, piece in ipairs(pieces) do
            list[#list + 1] = piece
            if type(piece) == "table" then arrays[#arrays + 1] = piece[1] end
        end
    end
    for _, pieces in ipairs(board.left) do add(pieces) end
    for _, bar in ipairs(bars) do
        add(pieces_of(bar, WIDTH))
        bar.drawn_at = console.now()
    end
    local how = { display_id = board.id, update = board.is_shown }
    board.is_shown = true
    np.callback(function(...)
        local texts, taken = {}, 0
        for k, piece in ipairs(list) do
            texts[k] = piece
            if type(piece) == "table" then
                taken = taken + 1
                texts[k] = value_text(piece[2], (select(taken, ...)))
            end
        end
        core.display.show({ ["text/plain"] = table.concat(texts) }, how)
    end, { kind = "print", name = "np.progress" })(unpack(arrays))
    if core.frame().depth == 0 and not core.recording() then core.run_callbacks() end -- what a loop may never wait for
end

-- ---- Bars -----------------------------------------------------------------------------------------------------------

local function place_of(bar)
    for k, other in ipairs(bars) do
        if other == bar then return k end
    end
end

--- Shows how far a bar is: at a terminal and in a notebook with all others.
local function show(bar)
    if bar.terminal then return redraw() end
    if bar.displayed then return draw_board() end
    local list = pieces_of(bar, WIDTH)
    list[#list + 1] = "\n"
    bar.drawn_at = console.now()
    emit(list)
end

--- Ends a bar, and those inside it.
local function finish(bar)
    local place = place_of(bar)
    if not place then return end
    while #bars > place do finish(bars[#bars]) end
    if bar.terminal then
        local list = {}
        erase(list)
        bars[place] = nil
        if bar.leave and not is_midline then
            local columns = console.window(2)
            for _, piece in ipairs(pieces_of(bar, columns > 0 and columns or WIDTH)) do list[#list + 1] = piece end
            list[#list + 1] = "\n"
        end
        if #bars > 0 and not is_midline then draw_all(list) end
        busy = true
        if #list > 0 then emit(list) end
        busy = false
    elseif bar.displayed then
        bars[place] = nil
        open_board()
        if bar.leave then board.left[#board.left + 1] = pieces_of(bar, WIDTH) end
        draw_board()
        if #bars == 0 then board = nil end
    else
        if bar.leave then show(bar) end
        bars[place] = nil
    end
    watch()
end

--- Whether a loop over a bar runs: it is the iterator of a loop of the function that first called it.
local function is_looping(bar)
    local level = 2
    while true do
        local info = debug.getinfo(level, "f")
        if not info then return false end
        local k = 1
        local name, value = debug.getlocal(level, k)
        while name and info.func == bar.user do
            if name == "(for generator)" and rawequal(value, bar) then return true end
            k = k + 1
            name, value = debug.getlocal(level, k)
        end
        level = level + 1
    end
end

--- Ends bars whose loops were left.
local function drop_left()
    for k = #bars, 1, -1 do
        if bars[k].user and not is_looping(bars[k]) then finish(bars[k]) end
    end
end

--- Behind a command, a cell or a script: ends the bars of its loops. Those of later ones stand in another display.
local function leave()
    drop_left()
    board = nil
end

local function begin(bar)
    drop_left()
    core.leave_bars = leave
    bar.start, bar.displayed = console.now(), core.display ~= nil and core.display.bars == true
    bar.terminal = not bar.displayed and console.is_terminal(2) and os.getenv "TERM" ~= "dumb"
    local is_drawn = bar.terminal or bar.displayed
    bar.drawn_at = is_drawn and -math.huge or bar.start
    if bar.leave == nil then bar.leave = #bars == 0 end
    if bar.interval == nil then bar.interval = is_drawn and FAST or SLOW end
    bars[#bars + 1] = bar
    watch()
    if is_drawn then show(bar) end
end

--- n more steps are done, 1 without it.
function Bar:update(n)
    if self.disable or self.ended then return self end
    self.count = self.count + (n or 1)
    local place = place_of(self)
    if place and #bars > place then finish(bars[place + 1]) end
    if console.now() - self.drawn_at >= self.interval then show(self) end
    return self
end

--- Sets what stands behind the bar, by name: numbers, texts, arrays of one element, in the order of names.
function Bar:set_postfix(values)
    if type(values) ~= "table" then bad_argument("progress", nil, "postfix", "a table {name = value}", values) end
    local names = {}
    for name in pairs(values) do names[#names + 1] = tostring(name) end
    table.sort(names)
    self.postfix, self.postfix_width = {}, 0
    for k, name in ipairs(names) do
        local value = values[name]
        if core.is_array(value) and value.size == 1 then
            value = { value, "%.4g" }
        elseif type(value) == "number" then
            value = ("%.4g"):format(value)
        else
            value = tostring(value):gsub("%c", " ")
        end
        self.postfix[k] = { name, value }
        self.postfix_width = self.postfix_width + #name + 3 + (type(value) == "string" and #value or 8)
    end
    return self
end

--- Sets what stands before the bar.
function Bar:set_description(text)
    self.desc = tostring(text):gsub("%c", " ")
    return self
end

--- The bar is at its end.
function Bar:close()
    if not self.ended then
        self.ended = true
        if not self.disable then finish(self) end
    end
end

local function stepped(bar, first, ...)
    if first == nil then
        bar:close()
    else
        bar.control = first
    end
    return first, ...
end

function Bar:__call()
    if not self.user then
        local info = debug.getinfo(2, "f")
        self.user = info and info.func
    end
    if self.begun then self:update() end
    self.begun = true
    return stepped(self, self.iterator(self.state, self.control))
end

function Bar:__tostring()
    return ("progress %d%s"):format(self.count, self.total and "/" .. self.total or "")
end
function Bar.__describe() return "a progress bar" end

local known = { desc = true, total = true, unit = true, leave = true, disable = true, mininterval = true }

--- Whether a table is options and not the state of an iterator.
local function is_options(value)
    if type(value) ~= "table" or getmetatable(value) or next(value) == nil then return false end
    for key in pairs(value) do
        if not known[key] then return false end
    end
    return true
end

local function count_steps(last, before)
    if before < last then return before + 1 end
end

local function array_steps(x, k)
    if k + 1 < #x then return k + 1, x[k + 1] end
end

local function list_steps(list, before)
    local value = list[before + 1]
    if value ~= nil then return before + 1, value end
end

--- What a loop over the first argument does: step, state, control and how many steps it has, nil: nobody knows.
local function steps_of(iter, state, control)
    if type(iter) == "number" then
        if iter ~= math.floor(iter) or iter < 0 then bad_argument("progress", 1, "iter", "a count from 0", iter) end
        return count_steps, iter, 0, iter
    end
    if core.is_array(iter) and core.ndim(iter) > 0 then return array_steps, iter, -1, #iter end
    local meta = getmetatable(iter)
    if type(iter) == "function" or type(meta) == "table" and meta.__call then
        local total
        if type(state) == "table" and rawequal(control, 0) and rawequal(iter, (ipairs {})) then total = #state end
        return iter, state, control, total
    end
    local names_alone = type(iter) == "table" and iter[1] == nil and type(next(iter)) == "string"
    if names_alone then
        core.raise("progress", "argument 1 (iter) is a table of names and no list, such as np.progress(n, {desc=…}) "
                   .. "takes behind it; a loop over pairs(t) is np.progress(pairs(t))")
    end
    if type(iter) == "table" and not meta then return list_steps, iter, 0, #iter end
    bad_argument("progress", 1, "iter", "a count, a list, an array, or an iterator such as ipairs(t)", iter)
end

--- np.progress(iter, state, control, {desc="", total=…, unit="it", leave=…, disable=false, mininterval=…}) ->
-- iterator: goes through what a loop goes through, and tells on stderr how far it is, how fast, and how long it will
-- take, as Python's tqdm. iter is a count n (1 … n), a list (as ipairs), an array (0, x[0]; 1, x[1]; …), or an iterator
-- with its state and control, as ipairs(t), pairs(t) and io.lines() give it; options may stand behind any of them. At a
-- terminal that is a bar below what the program prints, one below the other for nested loops; in a notebook it stands
-- where the loop begins, above what the cell prints; elsewhere it is a line every ten seconds and at the end.
--
-- The iterator is a bar, too: bar:set_postfix{loss=l} shows values behind it (arrays, when they have been computed:
-- nothing waits), bar:set_description(text), bar:update(n) for steps that a loop does not make, bar:close(). A bar ends
-- with its loop; one that is left by break or an error ends with the loop around it, or with the command.
--- desc: a text before the bar
--- total: how many steps there are, where iter does not tell
--- unit: what a step is called
--- leave: whether the bar stays when it is at its end; without it, that of an outermost loop does
--- disable: true: show nothing
--- mininterval: seconds between drawings, at least; 0.1 at a terminal and in a notebook, else 10
--- > sum = 0
--- > for i in np.progress(10, {disable=true}) do sum = sum + i end
--- > sum
-- 55
function np.progress(iter, state, control, options)
    if options == nil and control == nil and (is_options(state) or type(iter) ~= "function") then
        state, options = nil, state
    end
    local o = core.options("progress", options, known)
    local step, from, first, total = steps_of(iter, state, control)
    for _, what in ipairs { "total", "mininterval" } do
        local value = o[what]
        if value ~= nil and (type(value) ~= "number" or value ~= value or value < 0) then
            bad_argument("progress", nil, what, "a number from 0", value)
        end
    end
    for _, what in ipairs { "leave", "disable" } do
        if o[what] ~= nil and type(o[what]) ~= "boolean" then
            bad_argument("progress", nil, what, "a boolean", o[what])
        end
    end
    local bar = setmetatable({ iterator = step, state = from, control = first, total = o.total or total, count = 0,
                               desc = "", unit = tostring(o.unit or "it"), leave = o.leave, disable = o.disable,
                               interval = o.mininterval, postfix = {}, postfix_width = 0 }, Bar)
    if o.desc ~= nil then bar:set_description(o.desc) end
    if not bar.disable then begin(bar) end
    return bar
end

for _, f in pairs(Bar) do
    if type(f) == "function" then jit.off(f) end
end
for _, f in ipairs { emit, redraw, lift, lower, draw_board, finish, is_looping, drop_left, leave, begin,
                     np.progress } do
    jit.off(f, true)
end
core.refuse_dots(Bar, "progress", "bar")
