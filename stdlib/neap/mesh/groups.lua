--- groups.lua: collectives over parts of an axis: the option axis_index_groups, as {{0, 1}, {2, 3}} of an axis of four.
--
-- Each member of the axis belongs to one group, and has a *place* in it, from 0. Members exchange within their groups
-- in as many *turns* as a group has members, each of which is one permutation of the whole axis:
--
--      groups {0, 1, 2}, {3, 4, 5}    turn 0: what is its own    turn 1: 0◀1 1◀2 2◀0  3◀4 4◀5 5◀3    turn 2: 0◀2 …
--
-- So turn r brings what the member r places further has sent, and a member at place p finds that of place q in turn
-- q - p, modulo the size of its group. What comes out varies over the axis: of parts of an axis arrays in the body of a
-- np.shard_map have no type that says where they are the same.
local core = require "neap.core"

local np = core.np
local raise = core.raise

local groups, Groups = {}, {}
Groups.__index = Groups

-- ---- Which groups there are -----------------------------------------------------------------------------------------

--- One group of the option's value; `home` gets the group of each of its members.
local function checked_group(name, group, k, axis, home)
    local list = type(group) == "table" and core.list(name, "a group", group) or {}
    if #list == 0 then
        core.bad_argument(name, nil, "axis_index_groups", "a table of groups such as {{0, 1}, {2, 3}}", group)
    end
    local members = {}
    for place, member in ipairs(list) do
        member = core.plain(member)
        if not core.is_integer(member) or member < 0 or member >= axis.size then
            raise(name, "option 'axis_index_groups': members of axis '%s' are 0..%d, got %s", axis.name, axis.size - 1,
                  core.describe(member))
        end
        if home[member] then raise(name, "option 'axis_index_groups' has member %d twice", member) end
        home[member], members[place] = k, member
    end
    return members
end

--- The groups along an axis { name, size }: lists of members; of = the group of a member, place = its place there,
-- size = of the largest group, even = whether all have that size. index: the number of each member, an array;
-- send(x, sources): sources[k] is the member whose x member k gets.
function groups.new(name, given, axis, index, send)
    if type(given) ~= "table" or getmetatable(given) ~= nil then
        core.bad_argument(name, nil, "axis_index_groups", "a table of groups such as {{0, 1}, {2, 3}}", given)
    end
    if core.is_size(axis.size) then
        raise(name, "the size of axis '%s' is declared, as %s, and groups are tables of its members; declare it as an "
              .. "integer", axis.name, core.size_text(axis.size))
    end
    local list = setmetatable({ of = {}, place = {}, size = 0, even = true, axis = axis, index = index, send = send },
                              Groups)
    for k, group in ipairs(core.list(name, "option 'axis_index_groups'", given)) do
        list[k] = checked_group(name, group, k, axis, list.of)
        for place, member in ipairs(list[k]) do list.place[member] = place - 1 end
        list.even = list.even and #list[k] == #list[1]
        list.size = math.max(list.size, #list[k])
    end
    for member = 0, axis.size - 1 do
        if not list.of[member] then
            raise(name, "option 'axis_index_groups' leaves out member %d of axis '%s', which has members 0..%d", member,
                  axis.name, axis.size - 1)
        end
    end
    return list
end

--- For each member its number: of(member) -> integer.
function Groups:by_member(of)
    local numbers = {}
    for member = 0, self.axis.size - 1 do numbers[member + 1] = of(member) end
    return np.take(np.array(numbers, { dtype = "i32" }), self.index)
end

function Groups:places()
    return self:by_member(function(member) return self.place[member] end)
end

--- How many members the group of each member has.
function Groups:sizes()
    return self:by_member(function(member) return #self[self.of[member]] end)
end

-- ---- Exchanges ------------------------------------------------------------------------------------------------------

--- What arrives in a turn: x of the member that many places further; zeros where a group has fewer members.
function Groups:turned(x, turn)
    if turn == 0 then return x end
    local sources = {}
    for _, members in ipairs(self) do
        for k, member in ipairs(members) do
            sources[member] = turn < #members and members[(k - 1 + turn) % #members + 1] or nil
        end
    end
    return self.send(x, sources)
end

--- The turns 0, 1, … by place of who has sent.
function Groups:in_order(turns, places)
    local order = np.remainder(np.arange(self.size) - places, self.even and self.size or self:sizes())
    return np.take(np.stack(turns), order, { axis = 0 })
end

--- What the members of its group have, along a new axis 0; behind those of a smaller group there is anything.
function Groups:gathered(x)
    local turns = {}
    for turn = 0, self.size - 1 do turns[turn + 1] = self:turned(x, turn) end
    return self:in_order(turns, self:places())
end

--- What the members of its group have sent each member: axis 0 of x has a part for each place. Groups of one size.
function Groups:exchanged(x)
    local places, turns = self:places(), {}
    for turn = 0, self.size - 1 do
        local part = np.take(x, np.remainder(places - turn, self.size), { axis = 0 })
        turns[turn + 1] = self:turned(part, turn)
    end
    return self:in_order(turns, places)
end

--- Combines parts, which lie along axis 0 by place, two at a time: a balanced tree over places.
function Groups:combined(parts, combine)
    local nodes, step = { parts:unpack() }, 1
    local sizes = not self.even and self:sizes()
    while step < self.size do
        for k = 1, self.size - step, 2 * step do
            local both = combine(nodes[k], nodes[k + step])
            -- A smaller group may have nobody at the second place.
            nodes[k] = sizes and np.where(sizes:gt(k + step - 1), both, nodes[k]) or both
        end
        step = 2 * step
    end
    return nodes[1]
end

for _, f in ipairs { groups.new, Groups.gathered, Groups.exchanged, Groups.combined } do jit.off(f) end

return groups
