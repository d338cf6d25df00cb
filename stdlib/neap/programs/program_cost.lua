--- program_cost.lua: programs ahead of their first run: program:compile and program:cost.
local ffi = require "ffi"
local core = require "neap.core"
local program = require "neap.programs.program"

local C = core.C
local Program = program.Program

local cost_box = ffi.new("neap_cost")

--- program:compile() -> program: plans it and makes its native code now, and waits for that, so that the first run is
-- as fast as later ones. Else kernels and loops get native code once they have run for some milliseconds, unless an
-- earlier process has left it in a file. Nothing is computed, and no result depends on it. Code for other sizes or
-- places than those that the program was traced with is made as they come. Returns the program. As
-- jax.jit(f).lower(…).compile().
function Program:compile()
    core.call("program.compile", function() return C.neap_program_compile(self.entry.program) end)
    return self
end

--- program:cost() -> table: what a run costs, nothing being run: flops (operations on elements; docs/programs.md says
-- how they are counted), bytes_read and bytes_written (what the steps move), kernels and calls (how many run), memory =
-- { inputs, outputs, captured, temporaries, peak } in bytes, while_loops (how many there are, of which one turn is
-- counted), and ops: a list of { op, count, flops }, the most expensive first.
function Program:cost()
    local capacity = #core.rows
    local rows = ffi.new("neap_op_cost[?]", capacity)
    core.call("program.cost", function() return C.neap_program_cost(self.entry.program, cost_box, capacity, rows) end)
    local ops = {}
    for k = 1, cost_box.nops do
        local row = rows[k - 1]
        ops[k] = { op = ffi.string(row.op), count = tonumber(row.count), flops = row.flops }
    end
    table.sort(ops, function(a, b)
        if a.flops ~= b.flops then return a.flops > b.flops end
        return a.op < b.op
    end)
    return { flops = cost_box.flops, bytes_read = cost_box.read, bytes_written = cost_box.written, ops = ops,
             kernels = tonumber(cost_box.kernels), calls = tonumber(cost_box.calls),
             while_loops = tonumber(cost_box.loops),
             memory = { inputs = cost_box.inputs, outputs = cost_box.outputs, captured = cost_box.captured,
                        temporaries = cost_box.temporaries, peak = cost_box.peak } }
end

jit.off(Program.compile)
jit.off(Program.cost)
core.refuse_dots(Program, "program", "program")

return Program
