-- luacheck's settings: LuaJIT's globals; `np` is neap's library, set by the executable.
std = "luajit"
max_line_length = 120
globals = { "np" }
unused_args = true
exclude_files = { "build" }
