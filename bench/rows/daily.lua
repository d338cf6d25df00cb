--- daily.lua: the cases of the group "daily" of bench/cases.lua; bench/beside.lua says how they are measured.
package.path = "./?.lua;" .. package.path
require("bench.beside").group "daily"
os.exit(0)
