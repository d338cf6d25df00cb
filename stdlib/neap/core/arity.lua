--- arity.lua: public functions refuse arguments that they do not take, and methods a call with a dot.
--
-- How many arguments a function takes is what its help says (neap.arguments_gen, from the annotations). One that has a
-- parameter more, or takes any number, looks itself. The others get a function in front of them that looks at one
-- argument more and goes on by a tail call, which costs little beside what is recorded.
local core = require "neap.core"
local arguments = require "neap.arguments_gen"

local too_many, getinfo = core.too_many, debug.getinfo

-- By number of arguments: the function in front of f.
local makers = {
    [0] = function(f, name)
        return function(extra)
            if extra ~= nil then too_many(name, 0, extra) end
            return f()
        end
    end,
    function(f, name)
        return function(a, extra)
            if extra ~= nil then too_many(name, 1, extra) end
            return f(a)
        end
    end,
    function(f, name)
        return function(a, b, extra)
            if extra ~= nil then too_many(name, 2, extra) end
            return f(a, b)
        end
    end,
    function(f, name)
        return function(a, b, c, extra)
            if extra ~= nil then too_many(name, 3, extra) end
            return f(a, b, c)
        end
    end,
    function(f, name)
        return function(a, b, c, d, extra)
            if extra ~= nil then too_many(name, 4, extra) end
            return f(a, b, c, d)
        end
    end,
    function(f, name)
        return function(a, b, c, d, e, extra)
            if extra ~= nil then too_many(name, 5, extra) end
            return f(a, b, c, d, e)
        end
    end,
    function(f, name)
        return function(a, b, c, d, e, g, extra)
            if extra ~= nil then too_many(name, 6, extra) end
            return f(a, b, c, d, e, g)
        end
    end,
}

local behind = setmetatable({}, { __mode = "k" }) -- by function in front: the other

--- The function that a public function stands in front of, or itself.
function core.behind(f)
    return behind[f] or f
end

--- What a table shall have for a public function of it, or any other value: the function in front of it, if it gets
-- one. `path` is how the names of the table begin, "np." or "np.linalg.".
local function fronted(path, name, value)
    local known = type(value) == "function" and type(name) == "string" and arguments[path .. name]
    local maker = known and makers[known.arity]
    local info = maker and getinfo(value, "u")
    if not info or info.isvararg or info.nparams > known.arity then return value end
    local front = maker(value, (path .. name):sub(4))
    behind[front] = value
    return front
end

--- Puts these functions in front of those that a table has, and of those that it gets: a part of the library may be
-- loaded by another one at any time. `meta`: its metatable. Where `methods` has the same function by the same name, it
-- gets the new one too. Functions that have one stay as they are.
function core.refuse_surplus(path, holder, meta, methods)
    local function put(_, name, value)
        local front = fronted(path, name, value)
        rawset(holder, name, front)
        local is_method = methods and front ~= value and rawequal(methods[name], value)
        if is_method then methods[name] = front end
    end
    for name, value in next, holder do put(holder, name, value) end
    meta.__newindex = put
end
-- A part may be loaded in a finalizer, where a LuaJIT of before 2023 may stick in such a loop, when it is compiled.
jit.off(core.refuse_surplus)

--- Puts in front of each method of a class, which is the metatable of its objects, what refuses a call with a dot: one
-- whose first argument is no such object. `name` is what errors call the class, `object` what they write before the
-- colon. Methods that have this already stay as they are, so a part that adds methods asks again.
function core.refuse_dots(class, name, object)
    for method, f in next, class do
        if type(f) == "function" and not method:find "^__" and not behind[f] then
            local function front(self, ...)
                if getmetatable(self) ~= class then
                    core.raise(name, "call it as %s:%s(…), with a colon", object, method)
                end
                return f(self, ...)
            end
            jit.off(front)
            behind[front] = f
            class[method] = front
        end
    end
end
jit.off(core.refuse_dots)
