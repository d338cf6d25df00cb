--- axes.lua: the names of axes that are open around the code that runs now.
--
-- np.vmap with axis_name opens a name while its function is traced, np.shard_map the names of the mesh axes that are
-- manual in its body. The *token* of an axis is an index, an array (i32, 0-d): of vmap's the example, an input of that
-- trace; of a mesh's the coordinate of each device. What is computed over an axis has its token as an operand
-- (lazy/ops/collective.c).
--
--      axis { name, size, token }                          of vmap
--      axis { name, size, token, mesh, manual, at }        of a mesh: bits of all axes that are manual here; its place
--
-- A body inside another body opens the axes of both: so the innermost axis of a mesh tells all that are manual.
local core = require "neap.core"

local raise = core.raise
local type = type

-- consulted: the outermost place in the list of open axes where somebody has found an axis of a mesh; what is recorded
-- meanwhile holds for that mesh alone, if the axis was open before.
local axes = { consulted = math.huge }

--- The open axes, the innermost last.
function axes.open()
    local frame = core.frame()
    if not frame.axes then frame.axes = {} end
    return frame.axes
end

--- The innermost open axis of a name, or nil.
function axes.find(name)
    local list = axes.open()
    for k = #list, 1, -1 do
        if list[k].name == name then
            if list[k].mesh then axes.consulted = math.min(axes.consulted, k) end
            return list[k]
        end
    end
    return nil
end

--- The same of a body in which not everything is checked ({check_rep=false}); nil elsewhere.
function axes.unchecked()
    local list = axes.open()
    for k = #list, 1, -1 do
        if list[k].mesh then
            if list[k].unchecked == 0 then return nil end
            return axes.mesh()
        end
    end
    return nil
end

--- Whether f(…) asks for an axis of a mesh that is open already; and what it returns.
function axes.watch(f, ...)
    local n, before = #axes.open(), axes.consulted
    axes.consulted = math.huge
    local function close(ok, ...)
        local asked = axes.consulted <= n
        axes.consulted = math.min(before, axes.consulted)
        if not ok then error((...), 0) end
        return asked, ...
    end
    return close(pcall(f, ...))
end

--- The mesh of the body that runs now, and the bits of its manual axes; nil outside of all.
function axes.mesh()
    local list = axes.open()
    for k = #list, 1, -1 do
        if list[k].mesh then
            axes.consulted = math.min(axes.consulted, k)
            return list[k].mesh, list[k].manual, list[k].unchecked
        end
    end
    return nil
end

--- A text that tells one mesh and its manual axes from all others; nil outside of all bodies.
function axes.key()
    local mesh, manual, unchecked = axes.mesh()
    return mesh and ("%d:%d:%d"):format(mesh.number, manual, unchecked)
end

local open_mesh, open_manual = 0, 0 -- what the core was told last

--- Tells the core of which mesh which axes are manual now: it refuses blocks of other bodies.
local function tell_core(mesh, manual)
    open_mesh, open_manual = mesh, manual
    core.C.neap_mesh_open(core.ctx, mesh, manual)
end

--- Runs f(…) with a list of further open axes.
function axes.with(added, f, ...)
    local list = axes.open()
    local n, last = #list, added[#added]
    local mesh, manual = open_mesh, open_manual -- of a callback too, whose list begins anew, those around it
    for k, axis in ipairs(added) do list[n + k] = axis end
    local function close()
        for k = #list, n + 1, -1 do list[k] = nil end
        if last.mesh then tell_core(mesh, manual) end
    end
    if last.mesh then tell_core(last.mesh.number, last.manual) end
    return core.during(close, f, ...)
end

local function known_names()
    local known = {}
    for at, axis in ipairs(axes.open()) do known[at] = ("'%s'"):format(axis.name) end
    return #known == 0 and "there is none" or "there is " .. table.concat(known, ", ")
end

--- The open axes that argument `position` of np.name names: a name, or a table of them.
function axes.named(name, position, names)
    if type(names) == "string" then names = { names } end
    if type(names) ~= "table" or #names == 0 then
        core.bad_argument(name, position, "axis_name", "the name of an axis, or a table of names", names)
    end
    local list = {}
    for k = 1, #names do
        if type(names[k]) ~= "string" then
            core.bad_argument(name, position, "axis_name", "the name of an axis, or a table of names", names[k])
        end
        list[k] = axes.find(names[k])
        if not list[k] then
            raise(name, "unbound axis name '%s': a name is bound inside the function that np.vmap(f, {axis_name=…}) or "
                  .. "np.shard_map runs, of a mesh each axis; here %s", names[k], known_names())
        end
        for before = 1, k - 1 do
            if list[before] == list[k] then raise(name, "axis name '%s' stands twice", names[k]) end
        end
    end
    return list
end

--- A list of axes, in which neighbours of a mesh are one axis: its name is theirs, joined by commas, its size their
-- product, its token that of the first; the last one counts fastest.
function axes.joined(list)
    local joined = {}
    for _, axis in ipairs(list) do
        local last = joined[#joined]
        if last and last.mesh and axis.mesh then
            joined[#joined] = { name = last.name .. "," .. axis.name, size = last.size * axis.size, token = last.token,
                                mesh = last.mesh }
        else
            joined[#joined + 1] = axis
        end
    end
    return joined
end

jit.off(axes.with)
jit.off(axes.watch)

return axes
