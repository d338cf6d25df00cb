--- files/init.lua: whole files as memory, and writing that never leaves half a file behind.
--
-- A block is { data = a uint8_t pointer, size = bytes, keep = what owns the memory }. Its memory is a buffer of the
-- engine's, which counts with that of arrays and heeds their limit.
--
-- A file is written under a name of its own, PATH.HEX.part with 16 random digits, and takes the name PATH when all of
-- it is on the disk. What has been written stays when the power fails, under its name: the folder is put on the disk
-- too. While that lasts, the writer holds a lock (flock) on the file, which ends with the process however
-- it ends. So who gets the lock of such a temporary knows that its writer is dead, and may remove it; where there are
-- no locks, nobody removes anything.
local ffi = require "ffi"
local bit = require "bit"
local core = require "neap.core"

ffi.cdef [[
int open(const char *path, int flags, ...);
long read(int fd, void *data, size_t bytes);
long write(int fd, const void *data, size_t bytes);
long lseek(int fd, long offset, int whence);
int mkdir(const char *path, unsigned mode);
int fsync(int fd);
int close(int fd);
int rename(const char *from, const char *to);
int unlink(const char *path);
int flock(int fd, int operation);
int fchown(int fd, unsigned owner, unsigned group);
int fchmod(int fd, unsigned mode);
int faccessat(int folder, const char *path, int mode, int flags);
long readlink(const char *path, char *text, size_t bytes);
char *realpath(const char *path, char *text);
long getrandom(void *data, size_t bytes, unsigned flags);
int usleep(unsigned microseconds);
char *strerror(int code);
typedef struct neap_file_facts { // struct statx, which is the same on all processors
    uint32_t known, block_bytes;
    uint64_t attributes;
    uint32_t links, owner, group;
    uint16_t mode;
    uint64_t number, size, blocks, mask, accessed[2], born[2], changed[2], modified[2], rest[16];
} neap_file_facts;
int statx(int folder, const char *path, int flags, unsigned wanted, neap_file_facts *facts);
typedef struct neap_folder_entry { // struct dirent of 64-bit systems
    uint64_t number;
    int64_t offset;
    uint16_t bytes;
    uint8_t kind;
    char name[256];
} neap_folder_entry;
void *opendir(const char *path);
neap_folder_entry *readdir(void *folder);
int closedir(void *folder);
]]

local C, engine = ffi.C, core.C
local files = {}

local O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_NOCTTY, O_TRUNC = 0, 1, 2, 64, 128, 256, 512
local O_NONBLOCK, O_CLOEXEC = 2048, 524288
local SEEK_SET, SEEK_END = 0, 2
local ENOENT, EINTR, EAGAIN, EACCES, EEXIST, EISDIR, EINVAL, ELOOP, EOPNOTSUPP = 2, 4, 11, 13, 17, 21, 22, 40, 95
local AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, AT_EACCESS = -100, 0x1000, 0x100, 0x200
local BASIC_STATS, S_IFMT, S_IFDIR, S_IFREG, S_IFLNK = 0x7ff, 0xf000, 0x4000, 0x8000, 0xa000
local W_OK, LOCK_EX, LOCK_NB = 2, 2, 4
local PATH_MAX, MOST_LINKS = 4096, 40
local MOST = 2 ^ 30     -- bytes of one system call
local MOST_FOLDERS = 64 -- of which it is known when they were changed

local function errno_text()
    return ffi.string(C.strerror(ffi.errno()))
end

local buffer_box, release_buffer = ffi.new("neap_buffer *[1]"), core.finalizer(engine.neap_buffer_release)

--- A block of memory of its own; nil and a message if there is none. Its memory goes back with the garbage, or with
-- files.release.
function files.block(size)
    local failure = core.failure(function() return engine.neap_buffer_new(0, size, buffer_box) end)
    if failure then return nil, failure end
    local keep = ffi.gc(buffer_box[0], release_buffer)
    return { data = ffi.cast("uint8_t *", engine.neap_buffer_data(keep)), size = size, keep = keep, own = true }
end

--- Gives back the memory of a block that nobody reads any more, unless it is part of another one's.
function files.release(block)
    if block.own then engine.neap_buffer_release(ffi.gc(block.keep, nil)) end
    block.data, block.keep, block.own = nil, nil, nil
end

--- Calls f(fd, data, bytes), read or write, until all is transferred. Returns how much was.
local function transfer(f, fd, data, size)
    local done = 0
    while done < size do
        local n = tonumber(f(fd, data + done, math.min(size - done, MOST)))
        if n < 0 and ffi.errno() ~= EINTR then return nil end
        if n == 0 then return done end
        if n > 0 then done = done + n end
    end
    return done
end

--- The contents of a file as a block, or nil and a message that names the file.
function files.read(path)
    local fd = C.open(path, bit.bor(O_RDONLY, O_CLOEXEC))
    if fd < 0 then return nil, ("cannot open '%s': %s"):format(path, errno_text()) end
    local size = tonumber(C.lseek(fd, 0, SEEK_END))
    local block, problem
    if size < 0 or C.read(fd, nil, 0) < 0 then -- a directory has a size; reading of it fails
        problem = ("cannot read '%s': %s"):format(path, errno_text())
    else
        C.lseek(fd, 0, SEEK_SET)
        block, problem = files.block(size)
        local got = block and transfer(C.read, fd, block.data, size)
        if block and not got then
            block, problem = nil, ("cannot read '%s': %s"):format(path, errno_text())
        elseif block and got < size then
            block, problem = nil, ("cannot read '%s': it shrank while it was read"):format(path)
        elseif problem then
            problem = ("cannot read '%s': %s"):format(path, problem)
        end
    end
    C.close(fd)
    return block, problem
end

--- The bytes of a file as a string; nil and what is wrong.
function files.text(path)
    local block, problem = files.read(path)
    if not block then return nil, problem end
    local text = ffi.string(block.data, block.size)
    files.release(block)
    return text
end

--- Opens a file for reading parts of it: { size, read(pointer, bytes, offset), close() }; or nil and a message that
-- names it. read returns true, or nil and a message.
function files.open(path)
    local fd = C.open(path, bit.bor(O_RDONLY, O_CLOEXEC))
    if fd < 0 then return nil, ("cannot open '%s': %s"):format(path, errno_text()) end
    local file = { size = tonumber(C.lseek(fd, 0, SEEK_END)) }
    function file.read(pointer, bytes, offset)
        if C.lseek(fd, offset, SEEK_SET) ~= offset then
            return nil, ("cannot read '%s': %s"):format(path, errno_text())
        end
        local got = transfer(C.read, fd, ffi.cast("uint8_t *", pointer), bytes)
        if got == bytes then return true end
        return nil, ("cannot read '%s': %s"):format(path, got and "it is truncated" or errno_text())
    end
    function file.close()
        C.close(fd)
    end
    return file
end

--- Removes a file, if it is there and can be removed.
function files.remove(path)
    C.unlink(path)
end

-- ---- Places ---------------------------------------------------------------------------------------------------------

--- What the system knows of a file: its neap_file_facts; nil and the error number if there is none.
local function facts_of(path, flags, folder)
    local facts = ffi.new("neap_file_facts")
    if C.statx(folder or AT_FDCWD, path, flags, BASIC_STATS, facts) == 0 then return facts end
    return nil, ffi.errno()
end

local function kind_of(facts)
    return bit.band(facts.mode, S_IFMT)
end

--- The folder and the name of a path.
local function split(path)
    local folder, name = path:match "^(.*)/([^/]*)$"
    if not folder then return ".", path end
    return folder == "" and "/" or folder, name
end

--- Whether a folder is one of the process file system, whose links are open files and no names of others.
local function is_process_folder(folder)
    local text = ffi.new("char[?]", PATH_MAX + 1)
    return C.realpath(folder, text) ~= nil and ffi.string(text):find "^/proc/" ~= nil
end

--- Puts on the disk which files a folder has: until then a file may lose its new name when the power fails. Some file
-- systems do not do that for folders, and it needs the right to read the folder. Returns true, or nil and the error
-- number.
local function sync_folder(path)
    local fd = C.open(path, bit.bor(O_RDONLY, O_CLOEXEC))
    if fd < 0 then return ffi.errno() == EACCES or nil, ffi.errno() end
    local good, code = C.fsync(fd) == 0, ffi.errno()
    C.close(fd)
    return good or code == EINVAL or code == EOPNOTSUPP or nil, code
end

--- Makes a folder, and puts it on the disk, or finds it. Returns true, or nil and a message.
function files.folder(path)
    local good, code = C.mkdir(path, 511) == 0, ffi.errno()
    if good then
        good, code = sync_folder((split(path:match "^(.-)/*$")))
    elseif code == EEXIST then
        local fd = C.open(path .. "/.", bit.bor(O_RDONLY, O_CLOEXEC))
        good, code = fd >= 0, ffi.errno()
        if good then C.close(fd) end
    end
    if good then return true end
    return nil, ("cannot make the folder '%s': %s"):format(path, ffi.string(C.strerror(code)))
end

--- Follows symbolic links to the file that a path means, which need not be there. Returns its path, and its facts if it
-- is there; or nil and the error number. A link to an open file (/dev/stdout) is not followed.
local function resolve(path)
    local text = ffi.new("char[?]", PATH_MAX)
    for _ = 1, MOST_LINKS do
        local facts, code = facts_of(path, AT_SYMLINK_NOFOLLOW)
        if not facts then
            if code == ENOENT then return path end
            return nil, code
        end
        local folder = split(path)
        if kind_of(facts) ~= S_IFLNK or is_process_folder(folder) then return path, facts end
        local bytes = tonumber(C.readlink(path, text, PATH_MAX))
        if bytes < 0 then return nil, ffi.errno() end
        local target = ffi.string(text, bytes)
        path = target:sub(1, 1) == "/" and target or folder .. "/" .. target
    end
    return nil, ELOOP
end

--- The names in a folder, without "." and ".."; an empty list if it cannot be read.
function files.names(folder)
    local names, stream = {}, C.opendir(folder)
    if stream == nil then return names end
    local entry = C.readdir(stream)
    while entry ~= nil do
        local name = ffi.string(entry.name)
        if name ~= "." and name ~= ".." then names[#names + 1] = name end
        entry = C.readdir(stream)
    end
    C.closedir(stream)
    return names
end

--- The bytes of a file, or nil if it is not there.
function files.size(path)
    local facts = facts_of(path, 0)
    return facts and tonumber(facts.size)
end

--- Whether the name is still that of an open file: another file may have taken the name.
function files.is_named(fd, path)
    local own, named = facts_of("", AT_EMPTY_PATH, fd), facts_of(path, 0)
    return own ~= nil and named ~= nil and own.number == named.number
end

-- ---- Writing --------------------------------------------------------------------------------------------------------

local random_box = ffi.new("uint8_t[8]")

--- 16 hexadecimal digits that nobody else has drawn.
function files.random_name()
    if C.getrandom(random_box, 8, 0) ~= 8 then
        error(("the system gives no random numbers: %s"):format(errno_text()), 0)
    end
    return (ffi.string(random_box, 8):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

--- Takes the lock of an open file if nobody has it. Returns whether it was free, and as a second result whether locks
-- exist there at all.
local function lock(fd)
    if C.flock(fd, LOCK_EX + LOCK_NB) == 0 then return true, true end
    return false, ffi.errno() == EAGAIN
end

--- Makes a temporary of `path` and locks it; where there are no locks, it is made all the same. Returns its descriptor
-- and its path, or nil and the error number.
local function create_temporary(path, mode)
    while true do
        local temporary = ("%s.%s.part"):format(path, files.random_name())
        local fd = C.open(temporary, bit.bor(O_WRONLY, O_CREAT, O_EXCL, O_CLOEXEC), ffi.cast("int", mode))
        if fd < 0 and ffi.errno() ~= EEXIST then return nil, ffi.errno() end
        if fd >= 0 then
            local free, exist = lock(fd)
            local facts, code = facts_of("", AT_EMPTY_PATH, fd)
            if facts and facts.links > 0 and (free or not exist) then return fd, temporary end
            if not facts then C.unlink(temporary) end
            C.close(fd) -- else who looks for dead writers took it before it was locked
            if not facts then return nil, code end
        end
    end
end

--- Removes a file unless its writer lives. Returns whether the file is gone.
function files.remove_dead(path)
    local fd = C.open(path, bit.bor(O_RDWR, O_NONBLOCK, O_NOCTTY, O_CLOEXEC))
    if fd < 0 then return ffi.errno() == ENOENT end
    local free = lock(fd)
    if free then C.unlink(path) end
    C.close(fd)
    return free
end

-- By folder: { change = the time of the last change of the folder by this process; temporaries = those that lay there
-- before, by the name of their file }. A folder may have any number of files, so a save looks through it again only if
-- another process has changed it.
local known, folders = {}, 0

local function change_of(folder)
    local facts = facts_of(folder, 0)
    return facts and ("%s.%s"):format(tostring(facts.modified[0]), tostring(facts.modified[1]))
end

local function temporaries_in(folder)
    local change, found = change_of(folder), known[folder]
    if found and found.change == change then return found.temporaries end
    if not found then
        if folders == MOST_FOLDERS then known, folders = {}, 0 end
        folders = folders + 1
    end
    local temporaries = {}
    for _, other in ipairs(files.names(folder)) do
        local name = other:match "^(.+)%.%x+%.part$"
        if name then
            temporaries[name] = temporaries[name] or {}
            table.insert(temporaries[name], folder .. "/" .. other)
        end
    end
    known[folder] = { change = change, temporaries = temporaries }
    return temporaries
end

--- Removes what writers of this file that were killed have left.
local function remove_dead_temporaries(path)
    local folder, name = split(path)
    local temporaries = temporaries_in(folder)
    local alive = {}
    for _, temporary in ipairs(temporaries[name] or {}) do
        if not files.remove_dead(temporary) then alive[#alive + 1] = temporary end
    end
    temporaries[name] = #alive > 0 and alive or nil
end

--- Writes pieces (strings and blocks) and waits until they are on the disk. Returns true, or nil and the error number.
local function write_pieces(fd, pieces)
    for k = 1, #pieces do
        local piece = pieces[k]
        local data = ffi.cast("const uint8_t *", type(piece) == "string" and piece or piece.data)
        local size = type(piece) == "string" and #piece or piece.size
        if transfer(C.write, fd, data, size) ~= size then return nil, ffi.errno() end
    end
    if C.fsync(fd) == 0 then return true end
    local code = ffi.errno()
    if code == EINVAL then return true end -- of what has no disk: a terminal, a pipe, /dev/null
    return nil, code
end

--- Gives a new file owner and mode of the one that it is to replace, as far as this process may.
local function take_over(fd, facts)
    local owned = C.fchown(fd, facts.owner, facts.group) == 0
    C.fchmod(fd, bit.band(facts.mode, owned and 4095 or 511)) -- another's set-user bits would be ours
end

--- Writes a new file and gives it the name `path`, which is no link, for good; `old`: the facts of the file that has
-- that name. Returns its descriptor, which has the lock, or nil and the error number.
local function put(path, old, pieces)
    local fd, temporary = create_temporary(path, old and 384 or 438) -- 0600, 0666
    if not fd then return nil, temporary end
    if old then take_over(fd, old) end
    local good, code = write_pieces(fd, pieces)
    if good and C.rename(temporary, path) ~= 0 then good, code = nil, ffi.errno() end
    if good then good, code = sync_folder((split(path))) end
    if good then return fd end
    C.unlink(temporary)
    C.close(fd)
    return nil, code
end

local function replace(path, old, pieces)
    if old and C.faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ~= 0 then return nil, ffi.errno() end
    remove_dead_temporaries(path)
    local fd, code = put(path, old, pieces)
    local folder = split(path)
    if known[folder] then known[folder].change = change_of(folder) end
    return fd and C.close(fd) == 0, code or ffi.errno()
end

--- Writes into what is no regular file: a device, a pipe, an open file under /dev/fd.
local function write_in_place(path, pieces)
    local fd = C.open(path, bit.bor(O_WRONLY, O_TRUNC, O_NOCTTY, O_CLOEXEC))
    if fd < 0 then return nil, ffi.errno() end
    local good, code = write_pieces(fd, pieces)
    if C.close(fd) ~= 0 and good then good, code = nil, ffi.errno() end
    return good, code
end

local function outcome(path, good, code)
    if good then return true end
    return nil, ("cannot write '%s': %s"):format(path, ffi.string(C.strerror(code)))
end

--- Writes pieces (strings and blocks) to a new file beside `path`, and puts it in the place of `path` when all of it is
-- on the disk. Returns true, or nil and a message; then `path` is as it was. Of a symbolic link the file that it leads
-- to is replaced; the new file has the mode of the old one, and its owner if this process may give files away. What is
-- no regular file, such as a device or a pipe, is written as it is. Removes what killed writers of `path` have left.
function files.write(path, pieces)
    local place, facts = resolve(path)
    if not place then return outcome(path, nil, facts) end
    if not facts or kind_of(facts) == S_IFREG then return outcome(path, replace(place, facts, pieces)) end
    if kind_of(facts) == S_IFDIR then return outcome(path, nil, EISDIR) end
    return outcome(path, write_in_place(place, pieces))
end

--- Writes a file that is not there yet, as files.write does. Returns a function with which the caller says that the
-- file is known to others now: until then files.remove_dead leaves it. Or nil and a message.
function files.create(path, pieces)
    local fd, code = put(path, nil, pieces)
    if not fd then return outcome(path, nil, code) end
    return function() C.close(fd) end
end

--- Takes the lock of a folder, and waits for it up to `seconds`. Returns a function that gives it back, and whether
-- there are locks there; or nil and a message.
function files.lock_folder(path, seconds)
    local fd = C.open(path, bit.bor(O_RDONLY, O_CLOEXEC))
    if fd < 0 then return nil, ("cannot open '%s': %s"):format(path, errno_text()) end
    local free, exist = lock(fd)
    for _ = 1, seconds * 1000 do
        if free or not exist then break end
        C.usleep(1000)
        free, exist = lock(fd)
    end
    if free or not exist then return function() C.close(fd) end, exist end
    C.close(fd)
    return nil, ("another process has had the folder '%s' locked for %d seconds"):format(path, seconds)
end

return files
