--- savers.lua: what saves values in files: each with code that saves version v under a path, and a function that reads
-- a path and gives the version, or raises.
local np = require "neap"

local savers = {}

local ARRAY = "np.arange(3):astype 'f32' + v"

local function saver(name, save, load)
    savers[#savers + 1] = { name = name, save = save, load = load }
end

--- The version of an array; raises if it is none.
local function version(x)
    assert(#x.shape == 1 and x.size == 3 and x[2]:item() - x[0]:item() == 2, "this is no version")
    return x[0]:item()
end

saver("a.npy", "np.io.save(path, x)", function(path) return version(np.io.load(path)) end)
saver("a.npz", "np.io.savez(path, { x = x })", function(path) return version(np.io.load(path).x) end)
saver("tree.npz", "np.io.save_tree(path, { x, { n = v } })", function(path)
    local tree = np.io.load_tree(path)
    assert(tree[2].n == version(tree[1]))
    return tree[2].n
end)
saver("a.safetensors", "np.io.save_safetensors(path, { x = x })", function(path)
    return version(np.io.load_safetensors(path).x)
end)
saver("a.csv", "np.io.write_csv(path, np.table { a = x })", function(path)
    return version(np.io.read_csv(path).a)
end)
saver("a.txt", "np.io.savetxt(path, x)", function(path) return version(np.io.loadtxt(path)) end)
saver("a.bin", "x:tofile(path)", function(path) return version(np.fromfile(path, { dtype = "f32" })) end)
saver("a.neap", "np.trace(function(y) return y + v end)(x - v):save(path)", function(path)
    return version(np.load_program(path)(np.arange(3):astype "f32"))
end)
saver("checkpoint", "np.io.save_checkpoint(path, { w = x, step = v })", function(path)
    local tree = np.io.load_checkpoint(path)
    assert(tree.step == version(tree.w))
    return tree.step
end)

--- A script: saves versions from `first` on of these savers, which are drawn, so many in all, in the folder that is its
-- argument. It opens /mark/begin-NAME-VERSION before and /mark/done-NAME-VERSION behind each, for a record.
function savers.script(list, count, random, first)
    local lines, versions = { "local folder = ..." }, {}
    for _ = 1, count do
        local one = list[random(#list)]
        local v = (versions[one.name] or (first or 1) - 1) + 1
        versions[one.name] = v
        lines[#lines + 1] = ("do local v, path = %d, folder .. '/%s' local x = %s\nio.open('/mark/begin-%s-%d')"
            .. " %s io.open('/mark/done-%s-%d') end"):format(v, one.name, ARRAY, one.name, v, one.save, one.name, v)
    end
    return table.concat(lines, "\n")
end

return savers
