--- attributes.lua: the attributes of nodes as Lua values: numbers, strings, lists, tensors, compiled graphs.
--
-- Of each name that a row may have (ops.lua) the kind stands here: an attribute of another kind is refused when the
-- model is read, so functions of operators need not ask.
local core = require "neap.core"
local hosts = require "neap.onnx.hosts"
local tensor = require "neap.onnx.tensor"

local attributes = {}

--- Kinds of attributes by name, as fields of a message: f, i, s, t, g, or lists.
local NAMES = {
    f = "alpha beta bias clip cubic_coeff_a epsilon extrapolation_value gamma height_scale high lambd low max mean min "
        .. "momentum ratio scale softcap value_float width_scale",
    i = "align_corners allowzero antialias axis batch_axis batch_dims block_size blocksize ceil_mode center_point_box "
        .. "count_include_pad detect_negative detect_positive dtype end exclude_outside exclusive fmod group "
        .. "hidden_size ignore_index input_forget interleaved inverse is_causal is_test k keepdims kv_num_heads "
        .. "largest layout left_window_size linear_before_reset noop_with_empty_axes num_groups num_heads num_outputs "
        .. "num_scan_inputs onesided output_datatype output_dtype p periodic precision q_num_heads "
        .. "qk_matmul_output_mode reverse right_window_size rotary_embedding_dim saturate seed select_last_index size "
        .. "softmax_precision sorted spatial start stash_type storage_order time_axis to training_mode transA transB "
        .. "upper value_int",
    s = "approximate auto_pad coordinate_transformation_mode direction equation keep_aspect_ratio_policy mode "
        .. "nearest_mode padding_mode reduction round_mode",
    t = "value", g = "body else_branch then_branch",
    floats = "activation_alpha activation_beta scales value_floats",
    ints = "axes consumed_inputs dilations directions ends kernel_shape output_padding output_shape paddings pads perm "
        .. "scan_input_axes scan_input_directions scan_output_axes scan_output_directions shape split starts strides "
        .. "value_ints",
    strings = "activations",
}

-- Names of another kind in some operators.
local ALSO = { seed = "f", value = "f" }

local kinds = {}
for kind, names in pairs(NAMES) do
    for name in names:gmatch "%S+" do kinds[name] = kind end
end

--- The kind of an attribute's name: one of the fields.
function attributes.kind(name)
    return kinds[name]
end

--- The field with the value of an attribute, by the number of the attribute's kind.
local FIELDS = { "f", "i", "s", "t", "g", "floats", "ints", "strings" }
local KINDS = { [9] = "a list of tensors", [10] = "a list of graphs", [11] = "a sparse tensor",
                [12] = "a list of sparse tensors", [13] = "a type", [14] = "a list of types" }

--- The name of the field with an attribute's value. Old files do not say the kind.
local function field_of(n, attribute)
    if attribute.kind and attribute.kind ~= 0 then
        return FIELDS[attribute.kind] or n:fail("its attribute '%s' is %s, which no operator here takes",
                                                attribute.name or "", KINDS[attribute.kind] or "of no known kind")
    end
    for _, field in ipairs(FIELDS) do
        if attribute[field] ~= nil then return field end
    end
    return "ints"
end

--- A constant: a small array that may decide about shapes as a host tensor, any other array as such.
function attributes.constant(x)
    local dtype = core.dtype_of(x)
    local small = x.size <= hosts.MOST and (dtype.kind ~= "f" or x.size <= 8) and dtype.kind ~= "c"
    if small and not dtype.half then return hosts.read(x) end
    return x
end

--- The value of an attribute. compile(model, message, scope) makes inner graphs.
function attributes.value(scope, n, attribute, compile)
    local field, name = field_of(n, attribute), attribute.name
    if field ~= kinds[name] and field ~= ALSO[name] then
        n:fail("its attribute '%s' is of another kind than it has to be", name)
    end
    local value = attribute[field]
    if field == "t" then return attributes.constant(tensor.array(scope.model.source, value or {})) end
    if field == "g" then return compile(scope.model, value or {}, scope) end
    if field == "i" then return tonumber(value or 0) end
    if field == "f" then return value or 0 end
    if field == "s" then return value or "" end
    local list = {}
    for k, item in ipairs(value or {}) do list[k] = field == "ints" and tonumber(item) or item end
    return list
end

return attributes
