--- headers.lua: joins the rooms' public headers.
--
--     luajit headers.lua CC ROOT OUT HEADER…
--
-- The headers go through the C preprocessor with NEAP_CDEF defined, in the order of the rooms. From the result come
-- OUT/neap.h (all of libneap for C users, with comments), OUT/lua/neap/cdef.lua (the text for ffi.cdef) and OUT/abi.c
-- (neap_abi_hash). The hash is FNV-1a 64 over the declarations without comments and spacing: a change of a
-- declaration changes it, a change of a comment does not. The library compares its own with the core's at load.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"

local compiler, root, out = arg[1], arg[2], arg[3]
local headers = {}
for k = 4, #arg do headers[#headers + 1] = arg[k] end
if #headers == 0 then files.fail("usage: headers.lua CC ROOT OUT HEADER...") end

--- All headers, preprocessed; `options` may keep comments.
local function preprocess(options)
    local includes = {}
    for _, header in ipairs(headers) do
        includes[#includes + 1] = string.format('#include "%s"', files.relative(header, root))
    end
    local list = out .. "/all_headers.h"
    files.write(list, table.concat(includes, "\n") .. "\n")
    local command = string.format("%s -std=c11 -ffreestanding -DNEAP_CDEF -E -P %s -I %s %s", files.quote(compiler),
                                  options, files.quote(root), files.quote(list))
    local text = files.command(command):gsub("[ \t]+\n", "\n"):gsub("\n\n\n+", "\n\n"):gsub("^\n+", "")
    return (text:gsub("\n (%a)", "\n%1")) -- the place of an empty NEAP_API
end

local function fnv1a(text)
    local ffi, bit = require "ffi", require "bit"
    local hash, prime = 0xcbf29ce484222325ULL, 0x100000001b3ULL
    for k = 1, #text do
        hash = bit.bxor(hash, ffi.cast("uint64_t", text:byte(k))) * prime
    end
    return bit.tohex(hash)
end

local declarations = preprocess("")
local hash = fnv1a((declarations:gsub("%s+", " ")))
if declarations:find("]====]", 1, true) then files.fail("a public header holds ]====]") end

files.write(out .. "/neap.h", [[
/* neap.h: the public interface of libneap. Generated from the rooms' public headers; do not edit. */
#ifndef NEAP_H
#define NEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

]] .. preprocess("-C") .. [[

#ifdef __cplusplus
}
#endif

#endif
]])
files.write(out .. "/lua/neap/cdef.lua", table.concat {
    "--- The declarations of libneap for ffi.cdef. Generated from the rooms' public headers; do not edit.\n",
    "return {\n    hash = \"", hash, "\",\n    text = [====[\n", declarations, "]====],\n}\n",
})
files.write(out .. "/abi.c", table.concat {
    "/* abi.c: the hash of the public declarations. Generated; do not edit. */\n",
    '#include "lazy/lazy.h"\n\n',
    "const char *neap_abi_hash(void) {\n    return \"", hash, "\";\n}\n",
})
