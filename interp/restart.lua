--- restart.lua: `neap --restart N COMMAND…`: runs a command, such as mpirun, and starts it anew when it has failed; it
-- goes on from its checkpoint, on the hosts that answer.
--
--      in a word       stands for
--      {hosts}         the hosts, with commas
--      {count}         how many there are
--      {devices}       devices of each host, so that there are as many in all as at first
--      {resume}        --resume, if the folder behind the command's --checkpoint has a checkpoint; else nothing
--
-- What has failed is read in the command's stderr: neap's processes say whom they waited for, at which line, and mpirun
-- which process a signal has ended.
local children = require "neap.interp.children"

local restart = {}

local REACH = "ssh -o BatchMode=yes -o ConnectTimeout=5"
local REACH_SECONDS = 20
local PAUSE_MOST = 60 -- seconds between two starts; they begin with 1, and double
local USAGE = 2       -- the status of a neap whose command line is wrong
local CANNOT_RUN = { [126] = true, [127] = true }

local function tell(format, ...)
    io.stderr:write("neap: ", format:format(...), "\n")
end

-- ---- The command ----------------------------------------------------------------------------------------------------

--- The folder behind --checkpoint; nil if the command names none.
local function checkpoint_of(words)
    for k, word in ipairs(words) do
        local folder = word == "--checkpoint" and words[k + 1] or word:match "^%-%-checkpoint=(.+)$"
        if folder then return folder end
    end
end

--- Whether a folder has a whole checkpoint: its manifest comes last.
local function is_saved(folder)
    local file = folder and io.open(folder .. "/manifest.json")
    if file then file:close() end
    return file ~= nil
end

local function names(words, what)
    for _, word in ipairs(words) do
        if word:find(what, 1, true) then return true end
    end
    return false
end

--- Why the command cannot be what it is; nil if it can.
local function mistake(o)
    for _, what in ipairs { "{hosts}", "{count}", "{devices}" } do
        if not o.hosts and names(o.words, what) then return ("%s in the command wants --hosts A,B,…"):format(what) end
    end
    if o.hosts and not (names(o.words, "{hosts}") or names(o.words, "{count}")) then
        return "--hosts: the command has neither {hosts} nor {count}, so hosts cannot be left out"
    end
    if names(o.words, "{resume}") and not checkpoint_of(o.words) then
        return "{resume} in the command wants --checkpoint FOLDER in it"
    end
end

--- The words to run on these hosts, with so many devices each.
local function expand(words, hosts, devices)
    local values = { hosts = table.concat(hosts, ","), count = #hosts, devices = devices }
    local out, saved = {}, is_saved(checkpoint_of(words))
    for _, word in ipairs(words) do
        if word ~= "{resume}" then
            out[#out + 1] = #hosts > 0 and word:gsub("{(%a+)}", values) or word
        elseif saved then
            out[#out + 1] = "--resume"
        end
    end
    return out
end

-- ---- Hosts ----------------------------------------------------------------------------------------------------------

local function split(list)
    local hosts = {}
    for host in (list or ""):gmatch "[^,]+" do hosts[#hosts + 1] = host end
    return hosts
end

--- Those of the hosts that answer. Tells of others. Also returns the name of a signal that came meanwhile.
local function answering(hosts, reach)
    local there = {}
    for _, host in ipairs(hosts) do
        local last
        local function keep(line) last = line:find "%S" and line or last end
        local words = { "sh", "-c", "exec " .. reach .. ' "$0" true', host }
        local status, stopped = children.run(words, REACH_SECONDS, keep, true)
        if stopped then return there, stopped end
        if status == 0 then
            there[#there + 1] = host
        else
            tell("the host %s does not answer: '%s %s true' ended with status %s%s", host, reach, host, status or "?",
                 last and ": " .. last or "")
        end
    end
    return there
end

--- The hosts to run on, of those that answer, and the devices of each. Where the command says how many devices a host
-- has, as many hosts as divide the number of all devices, so that the numbers stay the same.
local function choose(o, all, there)
    local total = #all * o.devices
    if not names(o.words, "{devices}") or #there == 0 then return there, o.devices end
    local count = #there
    while total % count ~= 0 do count = count - 1 end
    local chosen = {}
    for k = 1, count do chosen[k] = there[k] end
    return chosen, total / count
end

-- ---- What has failed ------------------------------------------------------------------------------------------------

--- Takes from a line of stderr what it tells of a failure; the first line of a kind counts.
local function note(facts, line)
    local rank, host, signal = line:match "process rank (%d+) with PID %d+ on node (%S+) exited on (signal %d+ %b())"
    if rank then facts.ended = facts.ended or ("process %s on %s was ended by %s"):format(rank, host, signal) end
    local who, text = line:match "^neap: %[(process %d+)%] (.*)"
    text = text or line:match "^neap: (.*)"
    if text then
        local whom, place = text:match "waits for (process %d+ on [^%s,;]+)", text:match "at ([^%s,;()]+:%d+)"
        if whom then
            facts.waited = facts.waited or ("%s waited for %s at %s"):format(who or "it", whom, place or "its end")
        elseif not text:find "^terminated" then
            facts.error = facts.error or (who and who .. ": " or "") .. text
        end
    end
    if line:find "%S" then facts.last = line end
end

local function describe(facts)
    local parts = {}
    for _, name in ipairs { "ended", "error", "waited" } do parts[#parts + 1] = facts[name] end
    if #parts == 0 and facts.last then parts[1] = "its last line: " .. facts.last end
    return #parts > 0 and ": " .. table.concat(parts, "; ") or ""
end

-- ---- Runs -----------------------------------------------------------------------------------------------------------

--- Runs the command once. Returns its status, the name of a signal that has told this process to end, and what has
-- failed.
local function run_once(words)
    local facts = {}
    local status, stopped = children.run(words, 0, function(line) note(facts, line) end)
    if not status then
        tell("cannot run '%s': %s; --restart wants a command: neap --restart 3 mpirun -n 4 neap script.lua", words[1],
             stopped)
        return 127, nil, facts
    end
    return status, stopped, facts
end

--- The end of a line about the next start.
local function way(o, hosts, devices)
    local text, folder = "", checkpoint_of(o.words)
    if is_saved(folder) then text = text .. ", from the checkpoint in " .. folder end
    if #hosts > 0 then text = text .. ", on " .. table.concat(hosts, ", ") end
    if names(o.words, "{devices}") then text = text .. (" with %d device%s each"):format(devices,
                                                                                      devices == 1 and "" or "s") end
    return text
end

--- Waits, then tells of the next start. Returns the hosts that it is on, devices of each; nil and the name of a signal
-- that came meanwhile; or nil if no host answers.
local function prepare(o, all, turn)
    local stopped = children.pause(math.min(2 ^ (turn - 1), PAUSE_MOST))
    local there = {}
    if not stopped then there, stopped = answering(all, o.reach or REACH) end
    if stopped then return nil, stopped end
    if #all > 0 and #there == 0 then
        tell("restart %d of %d is left out: no host answers", turn, o.times)
        return nil
    end
    local hosts, devices = choose(o, all, there)
    tell("restart %d of %d%s", turn, o.times, way(o, hosts, devices))
    return hosts, devices
end

--- Runs the command until it has ended well, or has failed o.times + 1 times. o has times, devices, hosts, reach and
-- words. Returns the exit status.
function restart.run(o)
    local wrong = mistake(o)
    if wrong then
        tell("%s", wrong)
        return USAGE
    end
    local all = split(o.hosts)
    local hosts, devices, status = all, o.devices, nil
    for turn = 0, o.times do
        if turn > 0 then hosts, devices = prepare(o, all, turn) end
        if hosts then
            local stopped, facts
            status, stopped, facts = run_once(expand(o.words, hosts, devices))
            if status == 0 or stopped or status == USAGE or CANNOT_RUN[status] then return status end
            tell("run %d has failed with status %d%s", turn + 1, status, describe(facts))
        elseif devices then -- the name of a signal
            return status
        end
    end
    tell("it has failed for good, after %d restart%s", o.times, o.times == 1 and "" or "s")
    return status
end

return restart
