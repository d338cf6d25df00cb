--- native_build.lua: writes the number that tells native code of different builds apart.
--
--     luajit native_build.lua OUT FILE…
--
-- OUT/native_build.h defines NATIVE_BUILD, which changes with the text of any of the files: all that code is made from.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local bit = require "bit"
local files = require "files"

local out = arg[1]
if not out then files.fail("usage: native_build.lua OUT FILE...") end

local low, high = 0, 1
for k = 2, #arg do
    for byte in files.read(arg[k]):gmatch "." do
        low = bit.bxor(bit.rol(low, 5), byte:byte() * 0x9e3779)
        high = bit.bxor(bit.rol(high, 7), low)
    end
end
files.write(out .. "/native_build.h",
            ("/* native_build.h: what native code is made from. Generated; do not edit. */\n" ..
             "#define NATIVE_BUILD 0x%s%sull\n"):format(bit.tohex(high), bit.tohex(low)))
