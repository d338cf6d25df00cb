--- block.lua: np.nn.Block: functions with parameters.
--
-- A block is a description; parameters are trees outside of it. It is used in one of two ways:
--
--     local params = block:init(key, x)         -- pure: parameters are an argument
--     local y = block(params, x)
--
--     block:initialize(key)                     -- with a state: block.params, made by the first call
--     local y = block(x)
--
-- In both the sizes of parameters may be left open (np.nn.Dense(10)): they come from the inputs. A block declares the
-- shapes of its own parameters, or says them by infer_shape. Where sizes are open then (false), and where a block has
-- children, forward is run in deferred mode, which computes nothing: on stand-ins for the block's own parameters
-- (open.lua), which are made when they are used, and on *unmade* ones of its children: a child that is called with
-- such makes its own from what it is called with.
--
-- After block:hybridize() forward is traced for each form of parameters and inputs, and then run as one program. Of
-- blocks inside each other only the outermost is traced; the others are part of it.
local core = require "neap.core"
local trees = require "neap.core.trees"
local staging = require "neap.tracing.staging"
local deferred = require "neap.programs.deferred"
local program = require "neap.programs.program"
local open = require "neap.nn.open"

local np, C, ctx = core.np, core.C, core.ctx
local raise, bad_argument, describe = core.raise, core.bad_argument, core.describe
local pack = staging.pack
local type, select, unpack = type, select, unpack

local Block = {}
Block.__index = Block

local function is_block(value)
    return getmetatable(value) == Block
end

--- The keys of a block's children in order: its list (which may hold functions, without parameters), then its fields
-- that are blocks.
local function child_keys(block)
    local keys, names = {}, {}
    for k = 1, #block do keys[k] = k end
    for name, value in pairs(block) do
        if type(name) == "string" and is_block(value) then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do keys[#keys + 1] = name end
    return keys
end

-- ---- Parameters ----------------------------------------------------------------------------------------------------

--- Stands for the parameters of a child that has not been called yet: { block, key, depth: open modes outside };
-- then `made` has them.
local Unmade = {}

function Unmade.__index(unmade, name)
    local made = rawget(unmade, "made")
    if not made then
        raise("nn.Block", "forward reads the parameter '%s' of a child whose sizes are not known before it is called",
              tostring(name))
    end
    return made[name]
end

local function is_unmade(params)
    return getmetatable(params) == Unmade
end

--- Whether parameters are those of a block that is being made: one of its children is not made yet.
local function is_being_made(params)
    for _, value in pairs(params) do
        if is_unmade(value) then return true end
    end
    return false
end

--- How many deferred modes are open.
local function open_modes()
    local depth = C.neap_deferred_switch(ctx, 0)
    C.neap_deferred_switch(ctx, depth)
    return depth
end

local inside = false -- whether the forward that runs belongs to a block around: it is part of what that block traces

--- Runs f(…) as part of a block; passes on its results or its error.
local function run_inside(f, ...)
    local before = inside
    inside = true
    local results = pack(pcall(f, ...))
    inside = before
    if not results[1] then error(results[2], 0) end
    return unpack(results, 2, results.n)
end

--- f(…), recorded as outside of all deferred modes but the first `depth`.
local function run_outside(depth, f, ...)
    local before = C.neap_deferred_switch(ctx, depth)
    local ok, result = pcall(f, ...)
    C.neap_deferred_switch(ctx, before)
    if not ok then error(result, 0) end
    return result
end

--- The shapes of a block's own parameters, by name: what infer_shape says, else what was declared.
local function own_shapes(block, ...)
    local inferred = block.infer_shape and block:infer_shape(...)
    if block.infer_shape and type(inferred) ~= "table" then
        raise("nn.Block", "infer_shape must give a table with the shapes of parameters, got %s", describe(inferred))
    end
    local shapes = {}
    for _, declared in ipairs(block.parameters) do
        local name = declared[1]
        shapes[name] = inferred and inferred[name] or declared[3]
        if shapes[name] == nil then
            raise("nn.Block", inferred and "infer_shape gave no shape for the parameter '%s'"
                  or "the parameter '%s' has neither a shape, as in {name, initializer, {false, 10}}, nor infer_shape",
                  name)
        end
    end
    return shapes
end

local function has_open_sizes(dims)
    for _, size in ipairs(type(dims) == "table" and dims or {}) do
        if size == false then return true end
    end
    return false
end

--- Adds the parameters that a block declares itself to `params`: those with open sizes as stand-ins, which are replaced
-- when they are made. Returns whether there are such.
local function make_own(block, params, keys, ...)
    if #block.parameters == 0 then return false end
    local shapes, depth, any = own_shapes(block, ...), open_modes(), false
    for k, declared in ipairs(block.parameters) do
        local name, initializer = declared[1], declared[2]
        local function make(dims)
            params[name] = run_outside(depth, initializer, keys[k - 1], dims, { dtype = block.dtype })
            return params[name]
        end
        if has_open_sizes(shapes[name]) then
            params[name] = open.new(("the parameter '%s' of %s"):format(name, block.name), shapes[name], make)
            any = true
        else
            make(shapes[name])
        end
    end
    return any
end

--- Raises if parameters of a block still have open sizes. `why` is the cause.
local function check_made(block, params, why)
    for _, declared in ipairs(block.parameters) do
        local param = params[declared[1]]
        if open.is_open(param) then
            raise("nn.Block", "the parameter '%s' of %s has open sizes, %s, and %s", declared[1], block.name,
                  open.shape_text(param), why)
        end
    end
end

--- New parameters of a block, for inputs or, where all sizes are known, without any. Of a block with children or open
-- sizes forward is run in deferred mode, on parameters of which those of children are unmade, so that each child makes
-- its own.
local function make_params(block, key, ...)
    if block.make then return block:make(key, ...) end
    local children, params, unmade = child_keys(block), {}, {}
    local own = #block.parameters
    if own + #children == 0 then return params end
    local keys = np.random.split(key, own + #children)
    local any_open = make_own(block, params, keys, ...)
    if any_open and select("#", ...) == 0 then
        check_made(block, params, "they come from an example of its inputs, as in block:init(key, x)")
    end
    for k, name in ipairs(children) do
        local child, child_key = block[name], keys[own + k - 1]
        if type(child) == "function" then
            params[name] = {}
        elseif select("#", ...) == 0 then
            params[name] = make_params(child, child_key)
        else
            unmade[name] = setmetatable({ block = child, key = child_key, depth = open_modes() }, Unmade)
            params[name] = unmade[name]
        end
    end
    if any_open or next(unmade) then
        local given = pack(...)
        np.deferred(function() run_inside(block.forward, block, params, unpack(given, 1, given.n)) end)
    end
    check_made(block, params, "forward does not use it, so nothing tells them")
    for name, mark in pairs(unmade) do params[name] = rawget(mark, "made") or make_params(mark.block, mark.key) end
    return params
end

--- The parameters of a child that is called while its parent's are made. They are recorded as outside of the mode in
-- which forward runs.
local function make_now(unmade, ...)
    local made = rawget(unmade, "made")
    if made then return made end
    made = run_outside(rawget(unmade, "depth"), make_params, rawget(unmade, "block"), rawget(unmade, "key"), ...)
    rawset(unmade, "made", made)
    return made
end

--- block:init(key, inputs…): new parameters. Inputs, of which only shapes and dtypes count, are needed where sizes
-- were left open.
function Block:init(key, ...)
    return make_params(self, key, ...)
end

--- block:initialize(key): from now on the block has its parameters in block.params, and is called with inputs alone;
-- the first call makes them. Returns the block.
function Block:initialize(key)
    if not core.is_array(key) then
        bad_argument(self.name .. ".initialize", 1, "key", "a key, as np.random.key(0)", key)
    end
    self.initial_key, self.params = key, nil
    return self
end

--- The parameters of an initialized block.
local function own_params(block, ...)
    block.params = block.params or make_params(block, block.initial_key, ...)
    return block.params
end

--- Is it parameters for an initialized block, which were given although the block has its own? Such are trees with the
-- keys of the block's.
local function are_params(block, value)
    if not trees.is_node(value) then return false end
    local expected, count = block.params, 0
    if not expected then
        if block.make then return false end
        expected = {}
        for _, key in ipairs(child_keys(block)) do expected[key] = true end
        for _, declared in ipairs(block.parameters) do expected[declared[1]] = true end
    end
    for key in pairs(expected) do
        if value[key] == nil then return false end
        count = count + 1
    end
    for _ in pairs(value) do count = count - 1 end
    return count == 0
end

--- Raises where parameters lack one that the block declares: a forward might do without, and give other numbers.
local function check_given(block, params)
    for _, declared in ipairs(block.parameters) do
        if params[declared[1]] == nil then
            raise(block.name, "argument 1 (params) has no '%s': it must be what layer:init(key) returned, or a tree of "
                  .. "that form", declared[1])
        end
    end
end

-- ---- Calls ---------------------------------------------------------------------------------------------------------

--- A jitted function of (params, inputs…) that runs forward.
local function hybrid_of(block)
    local user_function = block.forward -- np.jit finds the arrays around it by this name
    return np.jit(function(...) return run_inside(user_function, block, ...) end)
end

local watcher -- of np.nn.summary: called in place of forward, while it runs

--- Runs f(…); meanwhile calls of blocks are watch(block, params, inputs…), which calls forward itself.
local function watched(watch, f, ...)
    local before = watcher
    watcher = watch
    local results = pack(pcall(f, ...))
    watcher = before
    if not results[1] then error(results[2], 0) end
    return unpack(results, 2, results.n)
end

--- block:apply(params, inputs…): what forward returns.
function Block:apply(params, ...)
    if is_unmade(params) then
        params = make_now(params, ...)
    elseif type(params) ~= "table" then
        bad_argument(self.name, 1, "params", "what block:init(key) returned", params)
    else
        check_given(self, params)
    end
    if watcher then return watcher(self, params, ...) end
    if inside or not self.hybridized then return self:forward(params, ...) end
    self.hybrid = self.hybrid or hybrid_of(self)
    return self.hybrid(params, ...)
end

--- block(params, inputs…); of a block that was initialized, block(inputs…), or other parameters in front as well.
function Block:__call(first, ...)
    if not self.initial_key or is_unmade(first) or are_params(self, first) then
        return self:apply(first, ...)
    end
    return self:apply(own_params(self, first, ...), first, ...)
end

-- What MXNet's hybridize takes besides `active`: how its executor lays out memory and inlines.
local hybrid_options = { active = true, static_alloc = true, static_shape = true, inline_limit = true,
                         forward_bulk_size = true, backward_bulk_size = true }

--- block:hybridize(active), block:hybridize{active=true, …}: from now on (not, with false) calls run a program, which
-- the first call for each form of parameters and inputs makes. forward must not look at values. Returns the block.
--- active: false: calls run forward again
--- static_alloc: makes no difference: MXNet has it, and programs are planned as a whole here; so the next ones
--- static_shape: makes no difference
--- inline_limit: makes no difference
--- forward_bulk_size: makes no difference
--- backward_bulk_size: makes no difference
function Block:hybridize(active)
    if type(active) == "table" then active = core.options("block.hybridize", active, hybrid_options).active end
    if active ~= nil and type(active) ~= "boolean" then
        bad_argument("block.hybridize", 1, "active", "a boolean or a table of options", active)
    end
    self.hybridized = active ~= false
    return self
end

--- forward as a program with declared sizes.
local function export_for_sizes(block, given, sizes)
    if block.initial_key and not are_params(block, given[1]) then
        given = pack(own_params(block, unpack(given, 1, given.n)), unpack(given, 1, given.n))
        sizes = { {}, unpack(sizes) }
    end
    local roots = {}
    for k = 1, given.n do roots[k] = k == 1 and "params" or program.parameter(block.forward, k + 1) end
    return program.record("block.export", function(...) return run_inside(block.forward, block, ...) end, given, sizes,
                          roots)
end

--- block:export(params, inputs…), or block:export(inputs…) of an initialized block: forward as a program. Its inputs
-- are named after the parameters, "params.w", and after those of forward. A last argument {sizes={…}} declares sizes of
-- the arguments before it, as np.trace has them: block:export(params, x, {sizes={{}, {"n", 3}}}).
function Block:export(...)
    local given, sizes = pack(...), nil
    local last = given[given.n]
    if trees.is_node(last) and last.sizes ~= nil and next(last, next(last)) == nil then
        sizes, given.n = last.sizes, given.n - 1
    end
    if sizes then return export_for_sizes(self, given, sizes) end
    if self.initial_key and not are_params(self, given[1]) then given = pack(own_params(self, ...), ...) end
    local inputs, names = {}, {}
    for k = 1, given.n do
        if core.is_array(given[k]) or trees.is_node(given[k]) then
            names[#names + 1] = k == 1 and "params" or program.parameter(self.forward, k + 1)
            inputs[names[#names]] = given[k]
        end
    end
    local outputs = { np.deferred(function() return run_inside(self.forward, self, unpack(given, 1, given.n)) end) }
    return deferred.export({ inputs = inputs, outputs = outputs }, names)
end

-- ---- As text -------------------------------------------------------------------------------------------------------

--- What np has a function under, "np.nn.relu"; else "function".
local function function_text(f)
    for _, place in ipairs { { "np.nn.", np.nn }, { "np.", np } } do
        local found
        for name, value in pairs(place[2]) do
            if value == f and (not found or name < found) then found = name end
        end
        if found then return place[1] .. found end
    end
    return "function"
end

--- A block as the code that made it, as far as that is known: its sizes, its children line by line.
local function block_text(block, indent)
    local sizes, lines, place = {}, {}, 0
    for _, field in ipairs { "inputs", "outputs", "rate" } do
        if type(block[field]) == "number" then sizes[#sizes + 1] = ("%.14g"):format(block[field]) end
    end
    local text = (block.name:gsub("^nn%.", "np.nn.")) .. (#sizes > 0 and "(" .. table.concat(sizes, ", ") .. ")" or "")
    for _, key in ipairs(child_keys(block)) do
        local child = block[key]
        place = place + 1
        lines[place] = ("%s    %s%s,\n"):format(indent, type(key) == "string" and key .. " = " or "",
                                               is_block(child) and block_text(child, indent .. "    ")
                                               or function_text(child))
    end
    return place == 0 and text or ("%s{\n%s%s}"):format(text, table.concat(lines), indent)
end

function Block:__tostring() return block_text(self, "") end

local function check_parameters(parameters)
    if type(parameters) ~= "table" then bad_argument("nn.Block", nil, "parameters", "a list", parameters) end
    for k, declared in ipairs(core.list("nn.Block", "'parameters'", parameters)) do
        if type(declared) ~= "table" or type(declared[1]) ~= "string" or type(declared[2]) ~= "function" then
            raise("nn.Block", "parameters: item %d must be {name, initializer}, or {name, initializer, shape}", k)
        end
        core.list("nn.Block", ("item %d of 'parameters'"):format(k), declared)
        local dims = declared[3]
        if dims ~= nil and type(dims) ~= "table" then
            raise("nn.Block", "parameters: the shape of '%s' must be a table, got %s", declared[1], describe(dims))
        end
        for axis, size in ipairs(core.list("nn.Block", ("the shape of '%s'"):format(declared[1]), dims or {})) do
            if size ~= false and (type(size) ~= "number" or size < 0 or size ~= math.floor(size)) then
                raise("nn.Block", "parameters: the size of axis %d of '%s' must be an integer from 0 up, or false, an "
                      .. "open size; got %s", axis - 1, declared[1], describe(size))
            end
        end
    end
end

--- np.nn.Block{…} -> block: a block. The table becomes the block, with the fields that its functions want to have, and
--   forward      function(self, params, inputs…): what block(params, inputs…) returns
--   parameters   a list of {name, initializer, shape}, of its own parameters; an initializer is called as np.nn.zeros
--                is. In a shape, {false, 10}, false is an open size: it follows from the first use of the parameter
--   infer_shape  function(self, inputs…): the shapes of these, { w = {x:dim(-1), 10} }, in place of those in the list
--   init         function(self, key, inputs…): instead of both, makes the parameters
--   name         for errors
-- Further fields that are blocks, and list items that are blocks or functions, are its children: params has theirs
-- under the same keys, and forward calls them, as in self.hidden(params.hidden, x).
--- > layer = np.nn.Block{parameters={{"w", np.nn.ones, {2}}}, forward=function(_, params, x) return params.w * x end}
--- > layer(layer:init(np.random.key(0)), np.array{1, 2})
-- [1. 2.]
local function new_block(definition)
    if not trees.is_node(definition) then bad_argument("nn.Block", 1, "definition", "a table", definition) end
    local block = {}
    for key, value in pairs(definition) do block[key] = value end
    block.name = block.name or "nn.Block"
    if type(block.forward) ~= "function" then bad_argument(block.name, nil, "forward", "a function", block.forward) end
    for _, field in ipairs { "init", "infer_shape" } do
        if block[field] ~= nil and type(block[field]) ~= "function" then
            bad_argument(block.name, nil, field, "a function", block[field])
        end
    end
    block.parameters = block.parameters or {}
    check_parameters(block.parameters)
    for k = 1, #block do
        if type(block[k]) ~= "function" and not is_block(block[k]) then
            raise(block.name, "item %d must be a layer or a function, got %s", k, describe(block[k]))
        end
    end
    block.make, block.init = block.init, nil
    return setmetatable(block, Block)
end

for _, f in ipairs { make_params, make_own, own_shapes, make_now, run_outside, run_inside, watched, own_params,
                     Block.apply, Block.__call, Block.export } do
    jit.off(f)
end
core.refuse_dots(Block, "nn.Block", "block")

return { new = new_block, is_block = is_block, child_keys = child_keys, watched = watched,
         is_being_made = is_being_made, make_now = make_now }
