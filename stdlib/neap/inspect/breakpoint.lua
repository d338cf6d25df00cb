--- breakpoint.lua: np.breakpoint: a prompt in the middle of a program. What it does is the interpreter's
-- (neap.interp.breakpoint); here stands when it may be.
local core = require "neap.core"
local staging = require "neap.tracing.staging"

local np, C, raise, bad_argument = core.np, core.C, core.raise, core.bad_argument

--- The names of what was given, in order.
local function names_of(values)
    if type(values) ~= "table" or getmetatable(values) ~= nil then
        bad_argument("breakpoint", 1, "values", "a table of values by name, as {x=x}", values)
    end
    local names = {}
    for name in next, values do
        if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
            raise("breakpoint", "argument 1 (values) holds values by name, as {x=x}, and has the key %s",
                  core.describe(name))
        end
        names[#names + 1] = name
    end
    table.sort(names)
    return names
end

--- np.breakpoint(values, {ordered=…}) -> nothing: stops here and opens a prompt that sees the local variables around
-- the call, until `:c` or Ctrl-D; `:h` tells its commands, and `:q` stops the program. `values`, a table by name, are
-- shown first, and have these names at the prompt; nil: there are none. Assigning to a local variable changes the
-- variable. Inside np.shard_map arrays are blocks, shown for each device.
--
-- Under np.jit, and whatever else traces its function (np.scan, np.cond, np.vmap, …), arrays have no values yet: there
-- a breakpoint is an effect of the program, which stops each run that comes by, in order with prints; a branch that is
-- not taken does not stop. The prompt has the variables of the functions that were traced, with the arrays of this run;
-- assignments change what the prompt sees, and not the program. With `values` no other variables are kept. Under
-- np.vmap a breakpoint stops for each example, under np.shard_map for each device if what is kept differs between
-- devices, and tells the coordinates.
--
-- Where nobody answers, as when standard input has ended, a message says so once, and breakpoints are passed. With
-- several processes a breakpoint is an error, because each process would stop. Only the executable neap has a prompt.
--- ordered: of a traced function: false: stops as soon as the values are there, in no order with other effects, as in
-- np.vmap, where that need not be said
function np.breakpoint(values, given)
    local o = core.options("breakpoint", given, { ordered = true })
    if o.ordered ~= nil and type(o.ordered) ~= "boolean" then
        bad_argument("breakpoint", nil, "ordered", "a boolean", o.ordered)
    end
    local names = values ~= nil and names_of(values) or nil
    local processes = C.neap_process_count()
    if processes > 1 then
        raise("breakpoint", "%d processes run this program, and each would stop here: look at it in one process, with "
              .. "as many devices (neap --devices N)", processes)
    end
    if not core.embedded then raise("breakpoint", "only the executable neap has a prompt") end
    local breakpoint = require "neap.interp.breakpoint"
    if staging.tracing() then
        breakpoint.record(values, names, o.ordered)
    else
        breakpoint.open(values, names)
    end
end
jit.off(np.breakpoint) -- so all functions around a call run in the interpreter, which has their variables
