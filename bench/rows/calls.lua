--- calls.lua: the cases of the group "calls" of bench/cases.lua; bench/beside.lua says how they are measured.
package.path = "./?.lua;" .. package.path
require("bench.beside").group "calls"
os.exit(0)
