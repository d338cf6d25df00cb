--- kernel_history.lua: the cells of this session and of earlier ones, as front ends ask for them.
--
-- A line of the file is an object of JSON: {"session":3} where a session has taken its number, and
-- {"session":3,"number":1,"input":"…"} for each of its cells. Numbers are taken, and lines added, under a lock, so
-- kernels that run side by side have numbers of their own. A file that has become long is replaced by a shorter one, as
-- a whole; a line that was cut short, by a full disk perhaps, ends where the next one begins. A session takes its
-- number when it keeps its first cell or is asked first; it knows of the sessions before that, and of its own outputs
-- alone.
local ffi = require "ffi"
local bit = require "bit"
local channels = require "neap.interp.channels"
local files = require "neap.files" -- declares functions of the system, too
local json = require "neap.files.json"

local C = ffi.C
local history = {}

local MOST_LINES, LINES_KEPT = 20000, 10000
local O_RDWR, O_CREAT, O_APPEND, O_CLOEXEC = 2, 64, 1024, 524288
local SEEK_END = 2
local LOCK_EX, LOCK_NB = 2, 4
local LOCK_TRIES, LOCK_PAUSE = 100, 10000 -- microseconds: a lock is held for less
local PRIVATE_FILE, PRIVATE_FOLDER = 384, 448 -- 0600, 0700

-- Cells: { session, number, input, output }. Of earlier sessions, and of this one.
local earlier, own = {}, {}
local session -- the number of this one, once it has one
local has_failed = false

-- ---- The file -------------------------------------------------------------------------------------------------------

--- The path of the file; nil: there is no home.
local function path_of_file()
    local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
    if state and state:find "^/" then return state .. "/neap/notebook_history" end
    if home and home:find "^/" then return home .. "/.local/state/neap/notebook_history" end
end

--- Opens the file for lines to be added; nil: it cannot be opened.
local function open(path)
    for stop in path:gmatch "()/" do
        if stop > 1 then C.mkdir(path:sub(1, stop - 1), PRIVATE_FOLDER) end -- a failure shows below
    end
    local flags = bit.bor(O_RDWR, O_CREAT, O_APPEND, O_CLOEXEC)
    local fd = C.open(path, flags, ffi.cast("int", PRIVATE_FILE))
    if fd >= 0 then return fd end
    if not has_failed then
        channels.complain(("cells are not kept: %s: %s"):format(path, ffi.string(C.strerror(ffi.errno()))))
    end
    has_failed = true
end

--- The same, and locks it; where that takes too long it goes on without.
local function open_locked(path)
    local fd = open(path)
    for _ = 1, LOCK_TRIES do
        if not fd then return nil end
        local is_ours = C.flock(fd, LOCK_EX + LOCK_NB) == 0
        if is_ours and files.is_named(fd, path) then break end
        if is_ours then -- who had the lock has put another file in its place
            C.close(fd)
            fd = open(path)
        else
            C.usleep(LOCK_PAUSE)
        end
    end
    return fd
end

local last_byte = ffi.new("char[1]")

--- Adds a line; what there is no room for on the disk is not kept.
local function add_line(fd, entry)
    local line = json.write(entry) .. "\n"
    local is_cut = C.lseek(fd, -1, SEEK_END) >= 0 and C.read(fd, last_byte, 1) == 1 and last_byte[0] ~= 10
    if is_cut then line = "\n" .. line end
    C.write(fd, line, #line)
end

--- Reads the cells of earlier sessions, and the greatest number of one; of a long file only the end is left. Also
-- returns whether another file has taken its place.
local function read_file(path)
    local text = files.text(path)
    if not text then return 0 end
    local lines, last = {}, 0
    for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
    local first = #lines > MOST_LINES and #lines - LINES_KEPT + 1 or 1
    local is_replaced = first > 1 and files.write(path, { table.concat(lines, "\n", first), "\n" })
    for k = first, #lines do
        local ok, entry = pcall(json.read, lines[k])
        if ok and type(entry) == "table" and type(entry.session) == "number" then
            last = math.max(last, entry.session)
            if type(entry.input) == "string" and type(entry.number) == "number" then
                earlier[#earlier + 1] = { entry.session, entry.number, entry.input }
            end
        end
    end
    return last, is_replaced
end

--- Reads what is known of earlier sessions, and takes a number for this one.
local function begin()
    if session then return end
    local path = path_of_file()
    local fd = path and open_locked(path)
    session = 1
    if not fd then return end
    local last, is_replaced = read_file(path)
    session = last + 1
    if is_replaced then
        C.close(fd)
        fd = open_locked(path)
        if not fd then return end
    end
    add_line(fd, { session = session })
    C.close(fd) -- which ends the lock
end

--- Keeps a cell of this session.
function history.keep(number, input, output)
    begin()
    own[#own + 1] = { session, number, input, output }
    local path = path_of_file()
    local fd = path and open_locked(path)
    if not fd then return end
    add_line(fd, { session = session, number = number, input = channels.clean(input) })
    C.close(fd)
end

-- ---- Questions ------------------------------------------------------------------------------------------------------

--- Whether a text matches a pattern with * and ?, as a file name would. Where it fails behind a *, that takes one byte
-- more: those before it need no second try.
local function matches_glob(text, pattern)
    local at, in_pattern, star, from = 1, 1, nil, nil
    while at <= #text do
        local wanted = pattern:sub(in_pattern, in_pattern)
        if wanted == "*" then
            star, from, in_pattern = in_pattern, at, in_pattern + 1
        elseif wanted == "?" or wanted == text:sub(at, at) then
            at, in_pattern = at + 1, in_pattern + 1
        elseif star then
            from, in_pattern = from + 1, star + 1
            at = from
        else
            return false
        end
    end
    return pattern:find("^%**$", in_pattern) ~= nil
end

--- The cells for which wanted(entry) holds, the newest n of them (nil: all), in their order.
local function newest(n, wanted)
    local list = {}
    for _, cells in ipairs { own, earlier } do
        for k = #cells, 1, -1 do
            if type(n) == "number" and #list >= n then break end
            if wanted(cells[k]) then list[#list + 1] = cells[k] end
        end
    end
    for k = 1, math.floor(#list / 2) do list[k], list[#list + 1 - k] = list[#list + 1 - k], list[k] end
    return list
end

local ways = {} -- by hist_access_type: the cells that a request asks for

function ways.tail(content)
    return newest(content.n, function() return true end)
end

--- A session of 0 or less counts back from this one; a start or a stop below 0 from the end of the session. Without a
-- stop, or with one of 0, all up to the end.
function ways.range(content)
    local wanted = type(content.session) == "number" and content.session or 0
    if wanted <= 0 then wanted = session + wanted end
    local cells = newest(nil, function(entry) return entry[1] == wanted end)
    local behind = cells[1] and cells[#cells][2] + 1 or 1
    local function place(given, default)
        if type(given) ~= "number" then return default end
        return given < 0 and behind + given or given
    end
    local start, stop = place(content.start, 1), place(content.stop ~= 0 and content.stop, behind)
    local list = {}
    for _, entry in ipairs(cells) do
        if entry[2] >= start and entry[2] < stop then list[#list + 1] = entry end
    end
    return list
end

function ways.search(content)
    local pattern, seen = type(content.pattern) == "string" and content.pattern or "*", {}
    return newest(content.n, function(entry)
        if not matches_glob(entry[3], pattern) or content.unique == true and seen[entry[3]] then return false end
        seen[entry[3]] = true
        return true
    end)
end

--- Answers a history_request. What was typed is what ran: `raw` makes no difference.
function history.answer(_, content)
    begin()
    local way, rows = ways[content.hist_access_type], {}
    for k, entry in ipairs(way and way(content) or {}) do
        local text = entry[3]
        if content.output == true then text = { entry[3], entry[4] or json.null } end
        rows[k] = { entry[1], entry[2], text }
    end
    return { status = "ok", history = rows }
end

return history
