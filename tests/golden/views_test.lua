--- views_test.lua (under tsan with --long): views, indexing, joining and creation equal NumPy's (views.txt, made by
-- make_views.py).
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()
local calls = {} -- by name: how a record is written in neap, from its options and inputs

--- An index in Python's spelling, in neap's text form and as a table of items.
local function text_index(spelled)
    return (spelled:gsub("None", "newaxis"))
end

local function table_index(spelled)
    local items = {}
    for part in (spelled .. ","):gmatch("([^,]*),") do
        if part == "None" then
            items[#items + 1] = np.newaxis
        elseif part == "..." then
            items[#items + 1] = np.ellipsis
        elseif part:find(":", 1, true) then
            local from, to, step = part:match("^([^:]*):([^:]*):?([^:]*)$")
            items[#items + 1] = { tonumber(from) or false, tonumber(to) or false, tonumber(step) or false }
        else
            items[#items + 1] = tonumber(part)
        end
    end
    return items
end

function calls.reshape(o, x) return x:reshape(o.shape) end
function calls.permute_dims(o, x) return np.permute_dims(x, o.axes) end
function calls.permute_reshape(o, x) return x:transpose(unpack(o.axes)):reshape(unpack(o.shape)) end
function calls.matrix_transpose(_, x) return x.mT end
function calls.swapaxes(o, x) return x:swapaxes(o.axis1, o.axis2) end
function calls.moveaxis(o, x) return x:moveaxis(o.source, o.destination) end
function calls.broadcast_to(o, x) return x:broadcast_to(o.shape) end
function calls.expand_dims(o, x) return x:expand_dims(o.axis) end
function calls.squeeze(o, x) return x:squeeze(o) end
function calls.flip(o, x) return x:flip(o) end
function calls.roll(o, x) return x:roll(o.shift, { axis = o.axis }) end
function calls.tril(o, x) return x:tril(o.k) end
function calls.triu(o, x) return x:triu(o.k) end
function calls.concatenate(o, ...) return np.concatenate({ ... }, { axis = o.axis }) end
function calls.stack(o, ...) return np.stack({ ... }, { axis = o.axis }) end
calls["repeat"] = function(o, x) return x:repeat_(o.repeats, { axis = o.axis }) end
function calls.tile(o, x) return x:tile(o.repetitions) end
function calls.pad(o, x) return x:pad({ o.before, o.after }) end
function calls.take(o, x, at) return x:take(at, o) end
function calls.index_array(_, x, at) return x[at] end
function calls.one_hot(o, labels) return np.one_hot(labels, o.n) end
function calls.full(o) return np.full(o.shape, o.value, { dtype = o.dtype }) end
function calls.zeros(o) return np.zeros(o.shape, { dtype = o.dtype }) end
function calls.ones(o) return np.ones(o.shape, { dtype = o.dtype }) end
function calls.linspace(o) return np.linspace(o.start, o.stop, o.num) end
function calls.eye(o) return np.eye(o.n, o.m, o.k, { dtype = o.dtype }) end
function calls.arange(o) return np.arange(o.start, o.stop, o.step, o.dtype and { dtype = o.dtype }) end
for _, how in ipairs { "set", "add", "mul", "min", "max" } do
    calls["at_" .. how] = function(_, x, value)
        local place = x:at { {}, { 0, 2 }, 1 }
        return place[how](place, value)
    end
end

for _, record in ipairs(reader.records "views") do
    local name, stop = record[1], reader.position(record, "=")
    local list, about = {}, record[2]
    for k = 3, stop - 1 do
        list[#list + 1] = reader.build(record[k])
        about = about .. " | " .. reader.short(record[k], 30)
    end
    local want = record[stop + 1]
    if name == "index" then
        collector.add("index in text", function()
            return reader.difference(list[1](text_index(record[2])), want, "exact")
        end, about)
        collector.add("index in tables", function()
            return reader.difference(list[1][table_index(record[2])], want, "exact")
        end, about)
    else
        collector.add(name, function()
            return reader.difference(calls[name](reader.options(record[2]), unpack(list)), want, "exact")
        end, about)
    end
end
collector.finish(check)
