--- klu.lua: whether SuiteSparse's KLU is there, which solves sparse systems (engine/libs/klu.c), for tests.
local ffi = require "ffi"
return pcall(ffi.load, "libklu.so.2") or pcall(ffi.load, "libklu.so.1")
