--- files/init.lua: whole files as memory, and writing that never leaves half a file behind.
--
-- A block is { data = a uint8_t pointer, size = bytes, keep = what owns the memory }.
local ffi = require "ffi"
local bit = require "bit"

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
int getpid(void);
char *strerror(int code);
void *malloc(size_t bytes);
void free(void *memory);
]]

local C = ffi.C
local files = {}

local O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_CLOEXEC = 0, 1, 64, 128, 524288
local SEEK_SET, SEEK_END = 0, 2
local EINTR, EEXIST = 4, 17
local MOST = 2 ^ 30 -- bytes of one system call

local function errno_text()
    return ffi.string(C.strerror(ffi.errno()))
end

--- A block of memory of its own; nil and a message if there is none.
function files.block(size)
    local memory = C.malloc(math.max(size, 1))
    if memory == nil then return nil, ("no memory for %d bytes"):format(size) end
    local keep = ffi.gc(memory, C.free)
    return { data = ffi.cast("uint8_t *", memory), size = size, keep = keep }
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

--- Makes a folder, or finds it. Returns true, or nil and a message.
function files.folder(path)
    if C.mkdir(path, 511) == 0 then return true end
    local problem = errno_text()
    if ffi.errno() == EEXIST then
        local fd = C.open(path .. "/.", bit.bor(O_RDONLY, O_CLOEXEC))
        if fd >= 0 then
            C.close(fd)
            return true
        end
        problem = errno_text()
    end
    return nil, ("cannot make the folder '%s': %s"):format(path, problem)
end

--- Puts on the disk which files a folder has. Returns true, or nil and a message.
function files.sync_folder(path)
    local fd = C.open(path, bit.bor(O_RDONLY, O_CLOEXEC))
    local good = fd >= 0 and C.fsync(fd) == 0
    local problem = not good and ("cannot write '%s': %s"):format(path, errno_text())
    if fd >= 0 then C.close(fd) end
    if good then return true end
    return nil, problem
end

--- Removes a file, if it is there and can be removed.
function files.remove(path)
    C.unlink(path)
end

local serial = 0

--- Writes pieces (strings and blocks) to a new file beside `path`, and puts it in the place of `path` when all of it is
-- on the disk. Returns true, or nil and a message; then `path` is as it was.
function files.write(path, pieces)
    serial = serial + 1
    local temporary = ("%s.%d-%d.part"):format(path, C.getpid(), serial)
    local fd = C.open(temporary, bit.bor(O_WRONLY, O_CREAT, O_EXCL, O_CLOEXEC), ffi.cast("int", 438))
    if fd < 0 then return nil, ("cannot write '%s': %s"):format(path, errno_text()) end
    local good = true
    for k = 1, #pieces do
        local piece = pieces[k]
        local data, size
        if type(piece) == "string" then
            data, size = ffi.cast("const uint8_t *", piece), #piece
        else
            data, size = ffi.cast("const uint8_t *", piece.data), piece.size
        end
        good = good and transfer(C.write, fd, data, size) == size
    end
    good = good and C.fsync(fd) == 0
    local problem = not good and errno_text()
    if C.close(fd) ~= 0 and good then good, problem = false, errno_text() end
    if good and C.rename(temporary, path) ~= 0 then good, problem = false, errno_text() end
    if good then return true end
    C.unlink(temporary)
    return nil, ("cannot write '%s': %s"):format(path, problem)
end

return files
