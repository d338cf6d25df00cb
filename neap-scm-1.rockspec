-- The rock of neap, for LuaRocks with LuaJIT: `luarocks --lua-version 5.1 make` in this folder. CMake builds it; it wants
-- what tools/setup installs. The rock has the library, libneap.so and the executable.
rockspec_format = "3.0"
package = "neap"
version = "scm-1"
source = { url = "." }
description = {
    summary = "Lazy arrays for LuaJIT: NumPy's names, gradients, jit, batches, meshes",
    license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua == 5.1" }
build = {
    type = "cmake",
    variables = {
        CMAKE_BUILD_TYPE = "Release",
        CMAKE_INSTALL_PREFIX = "$(PREFIX)",
        NEAP_TESTS = "OFF",
        NEAP_VERSIONED = "OFF",
        NEAP_INSTALL_BIN = "bin",
        NEAP_INSTALL_LIB = "lib",
        NEAP_INSTALL_LUA = "lua",
    },
}
