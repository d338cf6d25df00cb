--- same_numbers_test.lua (sanitized with --long): when and how an expression is computed never changes its bits.
--
-- A part of the golden expressions is computed in several ways, and every result must equal the plain one bit by bit:
-- all pending work at once, every node by itself (flush limit 1), with every second node's value asked for on the way,
-- and as a jitted function.
local np = require "neap"
local check = require "tests.lib.check"
local expressions = require "tests.lib.expressions"
local reader = require "tests.lib.golden_reader"

local EVERY = 7 -- of the expressions
local records = reader.records "expressions"

local function bits(x)
    return { dtype = x.dtype, shape = x.shape, values = reader.flat(x) }
end

local function unlimited()
    np.debug.limits { nodes = 0, bytes = 0 }
end

local ways = {}

function ways.at_once(program)
    unlimited()
    return bits(expressions.run(program))
end

function ways.node_by_node(program)
    np.debug.limits { nodes = 1, bytes = 0 }
    return bits(expressions.run(program))
end

--- With reads in between: registers are forced as they come.
function ways.with_reads(program)
    unlimited()
    local count = 0
    return bits(expressions.run(program, function(x)
        count = count + 1
        if count % 2 == 0 then np.force(x) end
    end))
end

function ways.jitted(program)
    unlimited()
    return bits(np.jit(function() return expressions.run(program) end)())
end

local plain = {}
for k = 1, #records, EVERY do plain[k] = ways.at_once(records[k][1]) end

for _, name in ipairs { "at_once", "node_by_node", "with_reads", "jitted" } do
    check.test(name:gsub("_", " "), function()
        local problems = {}
        for k = 1, #records, EVERY do
            local ok, text = pcall(function() check.equal(ways[name](records[k][1]), plain[k]) end)
            if not ok then problems[#problems + 1] = records[k][1] .. "\n      " .. tostring(text) end
        end
        check.ok(#problems == 0, ("%d expressions differ\n    %s"):format(#problems, table.concat(problems, "\n    ", 1,
                                                                                          math.min(#problems, 6))))
    end)
end
check.done()
