--- power.lua: what may be on the disk when the power fails: states of a folder, made of a record of changes
-- (tests/faults/tool/supervise.c), by the letter of POSIX.
--
--     local changes = power.read(path)               -- { what, path, to, at, bytes, data } each
--     local disk = power.new { ["a.npy"] = "bytes" } -- what is there before them
--     disk:change(changes[1])
--     disk:write(folder, choose)                     -- a state in which the power may have failed now
--
-- What a file holds is there from its sync on, the names in a folder from that of the folder on. Of what came after the
-- last sync each change may be there or not, whatever came after it, and a write in part: choose(n) draws an integer
-- from 1 to n and so decides. A rename in one folder is one change.
local power = {}
local Disk = {}
Disk.__index = Disk

--- Reads a record.
function power.read(path)
    local file, changes = assert(io.open(path, "rb")), {}
    for line in file:lines() do
        local what, rest = line:match "^(%l+) (.*)$"
        local change = { what = what, path = rest }
        if what == "write" then
            local at, bytes
            change.path, at, bytes = rest:match "^(.*) (%d+) (%d+)$"
            change.at, change.data = tonumber(at), file:read(tonumber(bytes))
            file:read(1)
        elseif what == "truncate" then
            local bytes
            change.path, bytes = rest:match "^(.*) (%d+)$"
            change.bytes = tonumber(bytes)
        elseif what == "rename" then
            change.to = file:read "*l"
        end
        changes[#changes + 1] = change
    end
    file:close()
    return changes
end

local function new_folder()
    return { names = {}, on_disk = {}, pending = {} }
end

local function new_file(data)
    return { data = data, pending = {} }
end

--- The folder that a path's last name is in, and that name.
local function place(disk, path)
    local above, name = path:match "^(.*)/([^/]*)$"
    if not above then return disk.root, path end
    local folder, last = place(disk, above)
    return folder.names[last], name
end

local function node_at(disk, path)
    if path == "" then return disk.root end
    local folder, name = place(disk, path)
    return assert(folder.names[name], "the record changes a file that is not there: " .. path)
end

--- One change of names in a folder: pairs of a name and what it means from now on (false: nothing).
local function assign(folder, ...)
    local change = { ... }
    for k = 1, #change, 2 do folder.names[change[k]] = change[k + 1] or nil end
    folder.pending[#folder.pending + 1] = change
end

local function applied(data, change, bytes)
    if change.what == "truncate" then return data:sub(1, change.bytes) .. ("\0"):rep(change.bytes - #data) end
    local text = change.data:sub(1, bytes)
    return data:sub(1, change.at) .. ("\0"):rep(change.at - #data) .. text .. data:sub(change.at + #text + 1)
end

local changes = {}

function changes.create(disk, change)
    local folder, name = place(disk, change.path)
    assign(folder, name, new_file "")
end

function changes.folder(disk, change)
    local folder, name = place(disk, change.path)
    assign(folder, name, new_folder())
end

function changes.write(disk, change)
    local file = node_at(disk, change.path)
    file.pending[#file.pending + 1] = change
end

changes.truncate = changes.write

function changes.sync(disk, change)
    local node = node_at(disk, change.path)
    if node.names then
        node.on_disk = {}
        for name, inner in pairs(node.names) do node.on_disk[name] = inner end
    else
        for _, one in ipairs(node.pending) do node.data = applied(node.data, one) end
    end
    node.pending = {}
end

function changes.rename(disk, change)
    local from, old = place(disk, change.path)
    local to, new = place(disk, change.to)
    local node = node_at(disk, change.path)
    if from == to then return assign(from, old, false, new, node) end
    assign(to, new, node)
    assign(from, old, false)
end

function changes.remove(disk, change)
    local folder, name = place(disk, change.path)
    assign(folder, name, false)
end

--- A disk on which these files are: by path, what they hold.
function power.new(files)
    local disk = setmetatable({ root = new_folder() }, Disk)
    for path, data in pairs(files or {}) do
        local folder = disk.root
        for name in path:gmatch "([^/]+)/" do
            folder.names[name] = folder.names[name] or new_folder()
            folder.on_disk[name] = folder.names[name]
            folder = folder.names[name]
        end
        local name = path:match "[^/]+$"
        folder.names[name] = new_file(data)
        folder.on_disk[name] = folder.names[name]
    end
    return disk
end

--- Does a change, and returns whether it is one (marks are not).
function Disk:change(change)
    if change.what == "mark" then return false end
    assert(changes[change.what], "no state can be told of the change '" .. change.what .. "'")(self, change)
    return true
end

local function write_folder(folder, path, choose)
    local names = {}
    for name, node in pairs(folder.on_disk) do names[name] = node end
    for _, change in ipairs(folder.pending) do
        if choose(2) == 1 then
            for k = 1, #change, 2 do names[change[k]] = change[k + 1] or nil end
        end
    end
    for name, node in pairs(names) do
        local inner = path .. "/" .. name
        if node.names then
            assert(os.execute(("mkdir '%s'"):format(inner)) == 0)
            write_folder(node, inner, choose)
        else
            local data = node.data
            for _, change in ipairs(node.pending) do
                local bytes = change.data and choose(3) == 1 and choose(#change.data + 1) - 1 or nil
                if choose(2) == 1 then data = applied(data, change, bytes) end
            end
            local file = assert(io.open(inner, "wb"))
            file:write(data)
            file:close()
        end
    end
end

--- Writes a state into a folder, which is emptied.
function Disk:write(folder, choose)
    assert(os.execute(("rm -rf '%s' && mkdir '%s'"):format(folder, folder)) == 0)
    write_folder(self.root, folder, choose)
end

return power
