--- ragged.lua: np.ragged_all_to_all: members of an axis send each other slices of rows, whose lengths are data.
--
-- Sizes of arrays are never data here, so a slice travels as a block of as many rows as the longest one may have, and
-- its receiver keeps the first of them:
--
--      operand  a b c d e     slices a b, c d e     ─▶ blocks [a b c] [c d e] ─ all_to_all ─▶ rows of the result
local collective = require "neap.mesh.collective"
local core = require "neap.core"

local np = core.np
local raise = core.raise

local NAME = "ragged_all_to_all"
local WHAT = { "operand", "output", "input_offsets", "send_sizes", "output_offsets", "recv_sizes" }

--- One of the four arrays of numbers, a column of i32 with a number for each slice.
local function column(position, x, count)
    x = core.coerce(NAME, position, x)
    local kind = core.dtype_of(x).kind
    if core.ndim(x) ~= 1 or kind ~= "i" and kind ~= "u" then
        core.bad_argument(NAME, position, WHAT[position], "integers, one for each slice", x)
    end
    local n = core.shape_of(x)[1]
    if count and n ~= count then
        raise(NAME, "%s has %d elements, and input_offsets has %d", WHAT[position], n, count)
    end
    return np.expand_dims(x:astype("i32"), 1), n
end

--- Raises unless rows of one array can stand in the other.
local function check_rows(operand, output)
    local from, to = core.shape_of(operand), core.shape_of(output)
    local fits = #from > 0 and #from == #to and operand.dtype == output.dtype
    for k = 2, #from do fits = fits and from[k] == to[k] end
    if not fits then
        raise(NAME, "operand and output must have rows of one shape and dtype, got %s of shape %s and %s of shape %s",
              operand.dtype, core.shape_text(from), output.dtype, core.shape_text(to))
    end
    return from[1], to[1]
end

--- np.ragged_all_to_all(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes, axis_name,
-- {axis_index_groups=…}) -> x:
-- output, with slices of rows that the members of an axis send each other. The arrays of integers have a number for
-- each slice, as many slices for each member, in the order of members: slice k begins at row input_offsets[k] of
-- operand, has send_sizes[k] rows, and stands from row output_offsets[k] on in the result of its receiver. recv_sizes
-- has how many rows come, in the order of who sends them, np.all_to_all of the others' send_sizes, and is what counts.
-- Rows that fall before or behind those of the result are left out; where slices overlap, one of them stands. A slice
-- travels in as many rows as operand or output have, whichever has fewer. As jax.lax.ragged_all_to_all.
--- axis_index_groups: tables of members, such as {{0, 1}, {2, 3}}: members of each group, all of one size, by itself
--- > x = np.array{{1, 2, 2}, {3, 4, 0}}
--- > from, sizes = np.array({{0, 1}, {0, 1}}, {dtype="i32"}), np.array({{1, 2}, {1, 1}}, {dtype="i32"})
--- > to, come = np.array({{0, 0}, {1, 2}}, {dtype="i32"}), np.array({{1, 1}, {2, 1}}, {dtype="i32"})
--- > exchange = function(x, a, b, c, d) return np.ragged_all_to_all(x, np.zeros(4), a, b, c, d, "i") end
--- > np.vmap(exchange, {axis_name="i"})(x, from, sizes, to, come)
-- [[1. 3. 0. 0.]
--  [2. 2. 4. 0.]]
function np.ragged_all_to_all(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes, axis_name, given,
                              extra)
    if extra ~= nil then core.too_many(NAME, 8, extra) end
    operand, output = core.coerce(NAME, 1, operand), core.coerce(NAME, 2, output)
    local o = core.options(NAME, given, { axis_index_groups = true })
    local rows, places = check_rows(operand, output)
    local first, count = column(3, input_offsets)
    column(4, send_sizes, count)
    local put, come = column(5, output_offsets, count), column(6, recv_sizes, count)
    local most = math.min(rows, places)
    if most == 0 then return output end
    local how = { tiled = true, axis_index_groups = o.axis_index_groups }
    local function exchanged(x) return collective.all_to_all(NAME, x, axis_name, 0, 0, how) end
    local row = np.arange(most)
    local at = exchanged(put) + row
    local blocks = exchanged(np.take(operand, np.clip(first + row, 0, rows - 1), { axis = 0 }))
    local kept = np.logical_and(row:lt(come), at:ge(0))
    return output:at { np.where(kept, at, places) }:set(blocks) -- where places counts, nothing is written
end

jit.off(np.ragged_all_to_all)
