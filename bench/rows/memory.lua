--- memory.lua: the cases of the group "memory" of bench/cases.lua; bench/beside.lua says how they are measured.
package.path = "./?.lua;" .. package.path
require("bench.beside").group "memory"
os.exit(0)
