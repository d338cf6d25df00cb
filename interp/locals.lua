--- locals.lua: local variables that outlive the command that declares them.
--
-- A command becomes a function inside of a small chunk:
--
--     local keep, x, y = … return function(...)  the command  end
--
-- where x and y are names of the command that earlier ones have declared. Before it runs, its variables x and y are
-- joined (debug.upvaluejoin) with those of the earlier commands, so all of them, and the closures that they have made,
-- share one variable, as lines of a script do. Behind each `local` statement at the top level stands a call of `keep`
-- with a function for each name, which holds the variable for later commands. A second `local x` is a variable of its
-- own: what has seen the first one goes on with that. All stands on the lines where it stood.
--
-- The function assigns its variable to itself (and is never called): a variable that is never assigned would count as a
-- constant for compiled code, though a later command may assign it.
local tokens = require "neap.interp.tokens"

local getupvalue, setupvalue = debug.getupvalue, debug.setupvalue
local locals = {}

local KEEP = "_neap_keep"

local Scope = {}
Scope.__index = Scope

--- A set of variables, empty at first.
function locals.scope()
    return setmetatable({ holders = {} }, Scope)
end

--- Whether there is a variable, and its value.
function Scope:get(name)
    local holder = self.holders[name]
    if not holder then return false, nil end
    return true, (select(2, getupvalue(holder, 1)))
end

function Scope:set(name, value)
    setupvalue(self.holders[name], 1, value)
end

--- Declares a variable and gives it a value.
function Scope:declare(name, value)
    local variable = value
    self.holders[name] = function() variable = variable end -- luacheck: ignore 231
end

--- The names, sorted.
function Scope:names()
    local names = {}
    for name in pairs(self.holders) do names[#names + 1] = name end
    table.sort(names)
    return names
end

--- The text with calls of KEEP behind its `local` statements; and whether it has any.
local function with_keeps(text)
    local found = tokens.locals(text)
    local parts, from, any = {}, 1, false
    for _, statement in ipairs(found) do
        local holders = {}
        for _, name in ipairs(statement.names) do
            if name ~= "_" then -- by custom: a value that nobody wants
                holders[#holders + 1] = ("%q,function() %s=%s end"):format(name, name, name)
            end
        end
        if #holders > 0 then
            any = true
            parts[#parts + 1] = text:sub(from, statement.to)
            parts[#parts + 1] = (" %s(%s)%s"):format(KEEP, table.concat(holders, ","), statement.closed and "" or ";")
            from = statement.to + 1
        end
    end
    return table.concat(parts) .. text:sub(from), any
end

--- Joins the variables of a command with those of the scope.
local function join(command, scope)
    local index = 1
    while true do
        local name = getupvalue(command, index)
        if not name then return end
        if name ~= KEEP then debug.upvaluejoin(command, index, scope.holders[name], 1) end
        index = index + 1
    end
end

--- Compiles a text that is known to compile by itself; `before` is put in front of it. Its functions find globals in
-- `environment`, if that is given. Returns a function that runs it, and is followed by `settle`; or nil and why that is
-- impossible.
function Scope:compile(before, text, chunk, environment)
    self.running = nil
    if before == "" then
        text = text:gsub("^#[^\n]*", "") -- which LuaJIT passes over, as in "#!/usr/bin/neap"
    else
        local lines, rest = text:match "^(\n*)(.*)$"
        before, text = lines .. before, rest -- on the line of the expression
    end
    local body, keeps = text, false
    if text:find("local", 1, true) then body, keeps = with_keeps(text) end
    local names = {}
    if next(self.holders) then
        for name in pairs(tokens.names(text)) do
            if self.holders[name] then names[#names + 1] = name end
        end
        table.sort(names)
    end
    local plain, problem = loadstring(before .. text, chunk, "t")
    if not plain then return nil, problem end
    if #names == 0 and not keeps then return environment and setfenv(plain, environment) or plain end
    local declared = table.concat({ KEEP, unpack(names) }, ",")
    local make
    local whole = ("local %s=... return function(...) %s%s\nend"):format(declared, before, body)
    make, problem = loadstring(whole, chunk, "t")
    if not make then return nil, problem end
    if environment then setfenv(make, environment) end
    local declared_now = {}
    local command = make(function(...)
        for k = 1, select("#", ...), 2 do
            local name, holder = select(k, ...)
            declared_now[name] = holder
        end
    end)
    join(command, self)
    self.running = setmetatable({ declared_now }, { __mode = "v" })
    return command
end

--- What the last command has declared is there from now on. To be called when it has ended, with an error or without;
-- not when there was no memory: then what it held goes with it.
function Scope:settle()
    for name, holder in pairs(self.running and self.running[1] or {}) do self.holders[name] = holder end
    self.running = nil
end

return locals
