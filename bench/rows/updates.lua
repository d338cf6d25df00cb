--- updates.lua: the cases of the group "updates" of bench/cases.lua; bench/beside.lua says how they are measured.
package.path = "./?.lua;" .. package.path
require("bench.beside").group "updates"
os.exit(0)
