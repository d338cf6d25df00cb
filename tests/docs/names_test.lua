--- names_test.lua (release build only): tools/gen/names.txt has a line for everything public, once, and none of what is
-- not there; messages and help know its names. peers_test.sh holds it against NumPy, JAX and PyTorch.
package.path = "tools/gen/lib/?.lua;" .. package.path
local np = require "neap"
local check = require "tests.lib.check"
local help = require "neap.help_gen"
local peers = require "peers"

local file = assert(io.open "tools/gen/names.txt")
local found = peers.read(file:read "*a")
file:close()

local public = {}
for _, entry in ipairs(help.entries) do
    for _, name in ipairs(entry.names) do
        if name:find "^np%." or name:find "^x%." then public[name] = true end
    end
end

local function is_own(name)
    for _, line in ipairs(found.own) do
        for _, pattern in ipairs(line.patterns) do
            if peers.fits(name, pattern) then return true end
        end
    end
    return false
end

check.test("each public name has one line", function()
    local count, missing, strange = {}, {}, {}
    for _, row in ipairs(found.rows) do
        count[row.name] = (count[row.name] or 0) + 1
        check.equal(count[row.name], 1, row.name)
        if not public[row.name] then strange[#strange + 1] = row.name end
    end
    for name in pairs(public) do
        if not count[name] and not is_own(name) then missing[#missing + 1] = name end
    end
    table.sort(missing)
    check.equal(table.concat(missing, " "), "", "lines to write in tools/gen/names.txt")
    check.equal(table.concat(strange, " "), "", "lines about what is not there")
    check.ok(#found.rows > 500, #found.rows)
end)

check.test("what is absent has no line beside", function()
    for _, line in ipairs(found.absent) do
        for _, row in ipairs(found.rows) do
            for _, name in ipairs(row.names[line.column]) do
                for _, pattern in ipairs(line.patterns) do
                    check.ok(pattern ~= name, name .. " is absent, and has a line")
                end
            end
        end
    end
end)

check.test("messages", function()
    check.raises(function() return np.arccos end, "np has no 'arccos'; here it is np.acos")
    check.raises(function() return np.gather end, "np has no 'gather'; here it is np.take_along_axis")
    check.raises(function() return np.busday_count end, "np has no 'busday_count': dates are columns")
    check.raises(function() return np.tensor end, "here it is np.array{…}")
    check.raises(function() return np.reshap end, "did you mean np.reshape?")
    check.raises(function() return np.is_aray end, "did you mean np.is_array?")
    check.raises(function() return np.linalg.matrix_exp end, "np.linalg has no 'matrix_exp'; here it is np.linalg.expm")
    check.raises(function() return np.ones(2).block_until_ready end, "here it is x:wait()")
end)

check.done()
