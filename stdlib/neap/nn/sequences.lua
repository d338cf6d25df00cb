--- sequences.lua: np.data: long sequences cut into windows, short ones packed into rows.
local core = require "neap.core"

local np = core.np
local raise, is_array = core.raise, core.is_array

return function(data)
    --- np.data.windows(x, size, {step=size}) -> array: pieces of `size` neighbours along the first axis of x, each
    -- `step` after the last one: shape (pieces, size, …). What is left at the end is no piece. Of a text as numbers
    -- these are examples: the first size - 1 numbers of a piece, and what follows each of them.
    --- step: how far apart pieces begin; less than size, and they overlap
    --- > np.data.windows(np.arange(7), 3)
    -- [[0 1 2]
    --  [3 4 5]]
    --- > np.data.windows(np.arange(5), 3, {step=1})
    -- [[0 1 2]
    --  [1 2 3]
    --  [2 3 4]]
    function data.windows(x, size, given)
        local name = "data.windows"
        x = core.coerce(name, 1, x)
        if core.ndim(x) == 0 then core.bad_argument(name, 1, "x", "an array with at least 1 axis", x) end
        size = core.integer(name, 2, "size", size, 1)
        local options = core.options(name, given, { step = true })
        local step = core.integer(name, nil, "step", options.step == nil and size or options.step, 1)
        local pieces = math.max(math.floor((core.shape_of(x)[1] - size) / step) + 1, 0)
        local first = np.arange(pieces, { dtype = "i64" }) * step
        return np.take(x, np.expand_dims(first, 1) + np.arange(size, { dtype = "i64" }), { axis = 0 })
    end

    --- The lengths of a list of arrays with one axis, of integers, and these arrays, for np.data.pack.
    local function sequences_of(name, sequences, length)
        local arrays, lengths = {}, {}
        if type(sequences) ~= "table" or getmetatable(sequences) ~= nil then
            core.bad_argument(name, 1, "sequences", "a list of arrays or tables of integers", sequences)
        end
        for k = 1, #core.list(name, "the list of sequences", sequences) do
            local x = sequences[k]
            if type(x) == "table" and getmetatable(x) == nil then x = np.array(x, { dtype = "i32" }) end
            if not is_array(x) or core.ndim(x) ~= 1 then
                raise(name, "sequence %d must have one axis, got %s", k, core.describe(x))
            end
            if #x > length then raise(name, "sequence %d has %d elements, a row has %d", k, #x, length) end
            arrays[k], lengths[k] = x, #x
        end
        if #arrays == 0 then core.bad_argument(name, 1, "sequences", "at least one sequence", sequences) end
        return arrays, lengths
    end

    --- Where sequences of these lengths go: { row, column } of each, and how many rows there are. Each goes into the
    -- first row that has room.
    local function places_of(lengths, length)
        local places, used = {}, {}
        local first_open = 1 -- the rows before are full
        for k, n in ipairs(lengths) do
            while used[first_open] == length do first_open = first_open + 1 end
            local row = first_open
            while used[row] and used[row] + n > length do row = row + 1 end
            places[k] = { row, used[row] or 0 }
            used[row] = (used[row] or 0) + n
        end
        return places, #used
    end

    --- np.data.pack({a, b, …}, length, {pad=0}) -> tokens, segments, positions: sequences of several lengths put one
    -- after another into rows of `length`, each into the first row that has room, so that little of a batch is padding.
    -- All three have shape (rows, length); segments numbers the sequences of a row from 1, 0 where there is none, and
    -- positions counts from 0 in each, i32. Attention that must not cross sequences has the mask
    -- segments[:, :, None] == segments[:, None, :].
    --- pad: what stands where there is no sequence
    --- > tokens, segments = np.data.pack({{1, 2, 3}, {4, 5}, {6}}, 4, {pad=-1})
    --- > tokens
    -- [[ 1  2  3  6]
    --  [ 4  5 -1 -1]]
    --- > segments
    -- [[1 1 1 2]
    --  [1 1 0 0]]
    function data.pack(sequences, length, given)
        local name = "data.pack"
        length = core.integer(name, 2, "length", length, 1)
        local options = core.options(name, given, { pad = true })
        local arrays, lengths = sequences_of(name, sequences, length)
        local places, rows = places_of(lengths, length)
        local index, segments, positions, last = {}, {}, {}, {}
        for k = 1, rows * length do index[k], segments[k], positions[k] = 0, 0, 0 end
        local from = 1 -- element 0 of all that there is to take is the padding
        for k, place in ipairs(places) do
            local row = place[1]
            last[row] = (last[row] or 0) + (lengths[k] > 0 and 1 or 0)
            for i = 0, lengths[k] - 1 do
                local at = (row - 1) * length + place[2] + i + 1
                index[at], segments[at], positions[at] = from + i, last[row], i
            end
            from = from + lengths[k]
        end
        local dtype = np.result_type(unpack(arrays))
        table.insert(arrays, 1, np.full({ 1 }, options.pad == nil and 0 or options.pad, { dtype = dtype }))
        local function rows_of(list) return np.reshape(np.array(list, { dtype = "i32" }), { rows, length }) end
        return np.take(np.concatenate(arrays, { axis = 0 }), rows_of(index), { axis = 0 }), rows_of(segments),
            rows_of(positions)
    end
end
