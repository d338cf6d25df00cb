"""make_onnx.py: small networks that PyTorch exports, and some made by hand (onnx/), with what onnxruntime gives for
them (onnx.txt).

Records:   model <tab> file <tab> number of inputs <tab> (name <tab> array)… <tab> (name of an output <tab> array)…

Several records of a file are several calls, of other sizes.
"""

import os

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

from records import HERE, Writer, text

FOLDER = os.path.join(HERE, "onnx")
OPSET = 20
TOWERS, MOST = 16, 400


def strip(graph):
    """Leaves out what tells of the machine that exported a graph."""
    for node in graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
        for attribute in node.attribute:
            if attribute.HasField("g"):
                strip(attribute.g)
    for value in list(graph.value_info) + list(graph.input) + list(graph.output):
        value.ClearField("metadata_props")
    graph.ClearField("metadata_props")
    graph.ClearField("value_info")


def record(out, name, *calls):
    session = onnxruntime.InferenceSession(os.path.join(FOLDER, name))
    outputs = [value.name for value in session.get_outputs()]
    for inputs in calls:
        fields = ["model", name, str(len(inputs))]
        for key, value in inputs.items():
            fields += [key, text(value)]
        for key, value in zip(outputs, session.run(outputs, inputs)):
            fields += [key, text(value)]
        out.record(*fields)


def save(name, model, **how):
    strip(model.graph)
    for function in model.functions:
        function.ClearField("metadata_props")
    model.ClearField("metadata_props")
    model.producer_version = ""
    onnx.save(model, os.path.join(FOLDER, name), **how)


def export(name, module, inputs, names, dynamic=None, **how):
    module.eval()
    program = torch.onnx.export(module, inputs, input_names=names, dynamic_shapes=dynamic, opset_version=OPSET,
                                dynamo=True, verbose=False, external_data=False)
    save(name, program.model_proto, **how)


class Images(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.deep = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.last = torch.nn.Linear(8, 5)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.nn.functional.max_pool2d(torch.nn.functional.hardswish(self.deep(x)), 2)
        return self.last(x.mean((2, 3)))


class Texts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(20, 16)
        self.places = torch.nn.Embedding(32, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
        self.head = torch.nn.Linear(16, 3)

    def forward(self, ids, mask):
        at = torch.arange(ids.shape[1]).unsqueeze(0)
        x = self.layer(self.words(ids) + self.places(at), src_key_padding_mask=mask == 0)
        kept = mask.unsqueeze(-1).to(x.dtype)
        return self.head((x * kept).sum(1) / kept.sum(1))


class Series(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 6, batch_first=True, bidirectional=True)
        self.gru = torch.nn.GRU(12, 5, batch_first=True)

    def forward(self, x):
        y, last = self.gru(self.lstm(x)[0])
        return y, last


def tensor(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def model(nodes, inputs, outputs, initializers=(), functions=(), opset=OPSET):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(f.domain, 1) for f in functions[:1]]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def control():
    """Halves x while its sum is above a limit, at most 50 times, then adds or subtracts one, by a condition."""
    node = helper.make_node
    body = helper.make_graph(
        [node("Mul", ["v", "half"], ["next"]), node("ReduceSum", ["next"], ["sum"], keepdims=0),
         node("Greater", ["sum", "limit"], ["more"])],
        "body", [value("turn", [], TensorProto.INT64), value("was", [], TensorProto.BOOL), value("v", ["n"])],
        [value("more", [], TensorProto.BOOL), value("next", ["n"])])
    yes = helper.make_graph([node("Add", ["halved", "one"], ["up"])], "yes", [], [value("up", ["n"])])
    no = helper.make_graph([node("Sub", ["halved", "one"], ["down"])], "no", [], [value("down", ["n"])])
    return model(
        [node("ReduceSum", ["x"], ["all"], keepdims=0), node("Greater", ["all", "limit"], ["start"]),
         node("Loop", ["most", "start", "x"], ["halved"], body=body),
         node("If", ["start"], ["y"], then_branch=yes, else_branch=no)],
        [value("x", ["n"]), value("limit", [])], [value("y", ["n"])],
        [tensor("half", np.float32(0.5)), tensor("one", np.ones(1, np.float32)), tensor("most", np.int64(50))])


def collecting():
    """Doubles x until it is above 100, and collects what comes on the way: the number of turns follows from values."""
    node = helper.make_node
    body = helper.make_graph(
        [node("Mul", ["v", "two"], ["next"]), node("Less", ["next", "limit"], ["more"]),
         node("Identity", ["next"], ["now"])],
        "body", [value("turn", [], TensorProto.INT64), value("was", [], TensorProto.BOOL), value("v", [])],
        [value("more", [], TensorProto.BOOL), value("next", []), value("now", [])])
    return model([node("Loop", ["", "", "x"], ["last", "all"], body=body)], [value("x", [])],
                 [value("last", []), value("all", ["turns"])],
                 [tensor("two", np.float32(2)), tensor("limit", np.float32(100))])


def growing():
    """A loop whose value becomes longer at each turn: refused."""
    node = helper.make_node
    body = helper.make_graph(
        [node("Concat", ["v", "v"], ["next"], axis=0), node("Identity", ["was"], ["more"])], "body",
        [value("turn", [], TensorProto.INT64), value("was", [], TensorProto.BOOL), value("v", [None])],
        [value("more", [], TensorProto.BOOL), value("next", [None])])
    return model([node("Loop", ["most", "", "x"], ["y"], "grows", body=body)], [value("x", ["n"])],
                 [value("y", [None])], [tensor("most", np.int64(5))])


def branches():
    """Branches of different shapes, chosen by a value: refused."""
    node = helper.make_node
    yes = helper.make_graph([node("Identity", ["x"], ["once"])], "yes", [], [value("once", [None])])
    no = helper.make_graph([node("Concat", ["x", "x"], ["twice"], axis=0)], "no", [], [value("twice", [None])])
    return model([node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["small"]),
                  node("If", ["small"], ["y"], "chooses", then_branch=yes, else_branch=no)],
                 [value("x", ["n"])], [value("y", [None])], [tensor("limit", np.float32(1))])


def deciding():
    """A branch that an input chooses; for four elements the other one cannot run."""
    node = helper.make_node
    yes = helper.make_graph([node("Add", ["x", "x"], ["twice"])], "yes", [], [value("twice", [None])])
    no = helper.make_graph([node("Reshape", ["x", "three"], ["other"])], "no", [], [value("other", [None])])
    return model([node("If", ["flag"], ["y"], "decides", then_branch=yes, else_branch=no)],
                 [value("x", ["n"]), value("flag", [], TensorProto.BOOL)], [value("y", [None])],
                 [tensor("three", np.array([3]))])


def functions():
    """A function of the model's own with an attribute, which calls another one, twice."""
    node = helper.make_node
    inner = helper.make_function("own", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])],
                                 [helper.make_opsetid("", OPSET)])
    leaky = node("LeakyRelu", ["t"], ["y"])
    attribute = leaky.attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "alpha", "slope", onnx.AttributeProto.FLOAT
    outer = helper.make_function("own", "Bent", ["x"], ["y"], [node("Twice", ["x"], ["t"], domain="own"), leaky],
                                 [helper.make_opsetid("", OPSET), helper.make_opsetid("own", 1)], ["slope"])
    calls = [node("Bent", ["x"], ["t"], domain="own", slope=0.25), node("Bent", ["t"], ["y"], domain="own", slope=2.0)]
    return model(calls, [value("x", ["n"])], [value("y", ["n"])], functions=[inner, outer])


def drawing():
    """Random numbers of all kinds, beside an input that only tells their shape."""
    node = helper.make_node
    return model(
        [node("RandomNormalLike", ["x"], ["a"], mean=1.0, scale=2.0), node("RandomNormal", [], ["b"], shape=[400]),
         node("RandomUniformLike", ["x"], ["c"], low=-1.0, high=3.0), node("RandomUniform", [], ["d"], shape=[400]),
         node("Mul", ["x", "fifth"], ["p"]), node("Bernoulli", ["p"], ["e"])],
        [value("x", ["n"])], [value(name, [None]) for name in "abcde"], [tensor("fifth", np.float32(0.2))])


def quantized_lstm(rng):
    """ONNX Runtime's operator, in both directions, with a scale for each direction."""
    def bytes_of(name, *shape):  # of 7 bits, as sums of two products saturate at 16 bits on some CPUs
        return tensor(name, rng.integers(-60, 60, shape).astype(np.int8))

    scales = [tensor("w_scale", np.float32([0.008, 0.01])), tensor("r_scale", np.float32([0.012, 0.006]))]
    zeros = [tensor("w_zero", np.int8([3, 0])), tensor("r_zero", np.int8([0, -2]))]
    made = model(
        [helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "w_scale", "w_zero", "r_scale",
                                                  "r_zero"], ["y", "h", "c"], domain="com.microsoft", hidden_size=5,
                          direction="bidirectional")],
        [value("x", [6, 2, 4])], [value(name, [None] * (4 if name == "y" else 3)) for name in "yhc"],
        [bytes_of("w", 2, 4, 20), bytes_of("r", 2, 5, 20), tensor("b", rng.standard_normal((2, 40)).astype(np.float32)),
         *scales, *zeros])
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


def quantized(rng):
    node = helper.make_node
    return model(
        [node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
         node("MatMulInteger", ["q", "w", "zero", "w_zero"], ["sums"]), node("Cast", ["sums"], ["real"], to=1),
         node("Mul", ["scale", "w_scale"], ["factor"]), node("Mul", ["real", "factor"], ["y"])],
        [value("x", ["n", 8])], [value("y", ["n", 4])],
        [tensor("w", rng.integers(-60, 60, (8, 4)).astype(np.int8)), tensor("w_zero", np.int8(3)),
         tensor("w_scale", np.float32(0.02))])


class Tower:
    """A network of images, drawn at random: each operator reads values that are there, of any layout of theirs."""

    def __init__(self, rng, nodes):
        self.rng, self.nodes, self.constants = rng, [], []
        self.shapes = {"x": (2, 4, 7, 6)}
        self.draw_conv()
        while len(self.nodes) < nodes or len(self.shapes) < 5:
            getattr(self, "draw_" + rng.choice([name[5:] for name in dir(self) if name.startswith("draw_")]))()

    def read(self, test=lambda shape: True):
        """The name of a small image for which the test holds: one of the last ones, most often."""
        names = [name for name, shape in self.shapes.items()
                 if len(shape) == 4 and np.prod(shape) <= MOST and test(shape)]
        return names[max(-1 - int(self.rng.exponential(2)), -len(names))] if names else None

    def write(self, op, inputs, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.shapes[name] = tuple(int(k) for k in shape)
        return name

    def constant(self, values):
        name = f"c{len(self.constants)}"
        values = np.asarray(values)
        self.constants.append(tensor(name, values.astype(np.float32) if values.dtype == np.float64 else values))
        return name

    def floats(self, *shape):
        return self.constant(self.rng.standard_normal(shape) * 0.6)

    def places(self, extent, kernel, stride, pads):
        return (extent + pads - kernel) // stride + 1

    def draw_conv(self):
        x = self.read(lambda s: min(s[2:]) >= 3)
        if not x:
            return
        n, c, h, w = self.shapes[x]
        kernel, stride, groups = self.rng.choice([1, 3]), self.rng.choice([1, 1, 2]), self.rng.choice([1, 1, 2, c])
        groups = groups if c % groups == 0 else 1
        features, pad = groups * self.rng.integers(1, 4 if groups < 3 else 2), self.rng.integers(0, kernel)
        inputs = [x, self.floats(features, c // groups, kernel, kernel)]
        inputs += [self.floats(features)][:self.rng.integers(2)]
        self.write("Conv", inputs, (n, features, self.places(h, kernel, stride, 2 * pad),
                                    self.places(w, kernel, stride, 2 * pad)),
                   strides=[stride] * 2, group=groups, pads=[pad] * 4)

    def draw_transposed_conv(self):
        x = self.read()
        n, c, h, w = self.shapes[x]
        kernel, stride, groups = self.rng.integers(1, 4), self.rng.integers(1, 3), self.rng.choice([1, 1, 2])
        groups = groups if c % groups == 0 else 1
        each, pad, more = self.rng.integers(1, 3), self.rng.integers(0, (kernel + 1) // 2), self.rng.integers(0, stride)
        inputs = [x, self.floats(c, each, kernel, kernel)] + [self.floats(each * groups)][:self.rng.integers(2)]
        shape = [(extent - 1) * stride + kernel - 2 * pad + more for extent in (h, w)]
        self.write("ConvTranspose", inputs, (n, each * groups, *shape), strides=[stride] * 2, group=groups,
                   pads=[pad] * 4, output_padding=[more] * 2)

    def draw_norm(self):
        x = self.read()
        c = self.shapes[x][1]
        inputs = [self.floats(c) for _ in range(3)] + [self.constant(self.rng.uniform(0.5, 2, c))]
        self.write("BatchNormalization", [x] + inputs, self.shapes[x])

    def draw_element(self):
        x = self.read()
        op = self.rng.choice(["Relu", "Sigmoid", "HardSwish", "Tanh", "LeakyRelu", "Elu", "Abs", "Identity"])
        self.write(op, [x], self.shapes[x])

    def draw_clip(self):
        x = self.read()
        self.write("Clip", [x, self.constant(np.float32(-0.5)), self.constant(np.float32(0.7))], self.shapes[x])

    def draw_pair(self):
        x = self.read()
        y = self.read(lambda s: s == self.shapes[x])
        op = self.rng.choice(["Add", "Sub", "Mul", "Max", "Min", "Sum"])
        self.write(op, [x, y] if self.rng.integers(2) else [y, x], self.shapes[x])

    def draw_beside(self):
        """Of fewer axes, or with some of one element."""
        x = self.read()
        shape = [extent if self.rng.integers(2) else 1 for extent in self.shapes[x]][self.rng.integers(5):]
        y = self.floats(*shape)
        op = self.rng.choice(["Add", "Sub", "Mul", "PRelu"])
        first = op == "PRelu" or self.rng.integers(2)
        self.write(op, [x, y] if first else [y, x], self.shapes[x])

    def draw_gate(self):
        x = self.read()
        n, c, *_ = self.shapes[x]
        mean = self.write("GlobalAveragePool", [x], (n, c, 1, 1))
        gate = self.write("Conv", [mean, self.floats(c, c, 1, 1), self.floats(c)], (n, c, 1, 1))
        gate = self.write("HardSigmoid", [gate], (n, c, 1, 1))
        self.write("Mul", [x, gate] if self.rng.integers(2) else [gate, x], self.shapes[x])

    def draw_concat(self):
        axis = int(self.rng.integers(4))
        x = self.read(lambda s: s[axis] <= 8)
        if not x:
            return
        rest = lambda s: s[:axis] + s[axis + 1:]
        y = self.read(lambda s: rest(s) == rest(self.shapes[x]) and s[axis] <= 8)
        shape = list(self.shapes[x])
        shape[axis] += self.shapes[y][axis]
        self.write("Concat", [x, y], shape, axis=axis - 4 * int(self.rng.integers(2)))

    def draw_pool(self):
        x = self.read(lambda s: min(s[2:]) >= 3)
        if not x:
            return
        kernel, stride, pad = int(self.rng.integers(2, 4)), int(self.rng.integers(1, 3)), int(self.rng.integers(2))
        how = {"count_include_pad": int(self.rng.integers(2))}
        op = self.rng.choice(["MaxPool", "AveragePool"])
        n, c, h, w = self.shapes[x]
        self.write(op, [x], (n, c, self.places(h, kernel, stride, 2 * pad), self.places(w, kernel, stride, 2 * pad)),
                   kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4,
                   **(how if op == "AveragePool" else {}))

    def draw_where(self):
        x = self.read()
        y = self.read(lambda s: s == self.shapes[x])
        self.nodes.append(helper.make_node("Less", [x, self.constant(np.float32(0.1))], [f"less{len(self.nodes)}"]))
        self.write("Where", [self.nodes[-1].output[0], y, self.constant(np.float32(0.3))], self.shapes[x])

    def draw_softmax(self):
        x = self.read()
        self.write("Softmax", [x], self.shapes[x], axis=int(self.rng.integers(4)))

    def draw_mean(self):
        x = self.read()
        axes = sorted(self.rng.choice(4, 2, replace=False).tolist())
        shape = [1 if k in axes else extent for k, extent in enumerate(self.shapes[x])]
        self.write("ReduceMean", [x, self.constant(np.array(axes))], shape, keepdims=1)

    def draw_transpose(self):
        x = self.read()
        order = self.rng.permutation(4).tolist()
        self.write("Transpose", [x], [self.shapes[x][k] for k in order], perm=order)

    def draw_shuffle(self):
        x = self.read(lambda s: s[1] % 2 == 0)
        if not x:
            return
        n, c, h, w = self.shapes[x]
        apart = self.write("Reshape", [x, self.constant(np.array([n, 2, c // 2, h, w]))], (n, 2, c // 2, h, w))
        apart = self.write("Transpose", [apart], (n, c // 2, 2, h, w), perm=[0, 2, 1, 3, 4])
        self.write("Reshape", [apart, self.constant(np.array([n, c, h, w]))], (n, c, h, w))

    def draw_resize(self):
        x = self.read(lambda s: max(s[2:]) <= 8)
        if not x:
            return
        n, c, h, w = self.shapes[x]
        self.write("Resize", [x, "", self.constant(np.array([1, 1, 2, 2], np.float32))], (n, c, 2 * h, 2 * w),
                   mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def made(self):
        names = [name for name in self.shapes if name != "x"][-2:]
        return model(self.nodes, [value("x", self.shapes["x"])],
                     [value(name, self.shapes[name]) for name in names], self.constants)


def make():
    os.makedirs(FOLDER, exist_ok=True)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)

    def floats(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    batch, length = torch.export.Dim("batch"), torch.export.Dim("length")
    with Writer("onnx.txt", __doc__) as out:
        export("images.onnx", Images(), (torch.randn(2, 3, 12, 12),), ["x"], ({0: batch},))
        record(out, "images.onnx", {"x": floats(2, 3, 12, 12)}, {"x": floats(5, 3, 12, 12)})
        ids, mask = torch.randint(20, (2, 7)), torch.ones(2, 7, dtype=torch.int64)
        export("texts.onnx", Texts(), (ids, mask), ["ids", "mask"], ({0: batch, 1: length}, {0: batch, 1: length}))
        for shape in (2, 7), (3, 11):
            ones = np.ones(shape, np.int64)
            ones[0, 4:] = 0
            record(out, "texts.onnx", {"ids": rng.integers(0, 20, shape), "mask": ones})
        export("series.onnx", Series(), (torch.randn(2, 6, 4),), ["x"])
        record(out, "series.onnx", {"x": floats(2, 6, 4)})
        weights = {"w": floats(4, 3), "b": floats(3)}
        dense = model([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], [value("x", ["n", 4])],
                      [value("y", ["n", 3])], [tensor(name, x) for name, x in weights.items()])
        if os.path.exists(os.path.join(FOLDER, "external.bin")):
            os.remove(os.path.join(FOLDER, "external.bin"))
        save("external.onnx", dense, save_as_external_data=True, location="external.bin", size_threshold=0)
        os.chmod(os.path.join(FOLDER, "external.bin"), 0o644)
        record(out, "external.onnx", {"x": floats(2, 4)})
        save("control.onnx", control())
        limit = np.array(1, np.float32)
        record(out, "control.onnx", {"x": floats(4) + 5, "limit": limit}, {"x": floats(3) - 9, "limit": limit})
        save("collecting.onnx", collecting())
        record(out, "collecting.onnx", {"x": np.array(3, np.float32)}, {"x": np.array(40, np.float32)})
        save("growing.onnx", growing())
        save("branches.onnx", branches())
        save("deciding.onnx", deciding())
        save("functions.onnx", functions())
        record(out, "functions.onnx", {"x": floats(5)})
        save("quantized.onnx", quantized(rng))
        record(out, "quantized.onnx", {"x": floats(3, 8)})
        save("drawing.onnx", drawing())
        other = np.random.default_rng(99)
        save("quantized_lstm.onnx", quantized_lstm(other))
        record(out, "quantized_lstm.onnx", {"x": other.standard_normal((6, 2, 4)).astype(np.float32)})
        for k in range(TOWERS):
            save(f"tower{k}.onnx", Tower(np.random.default_rng(k), 16).made())
            record(out, f"tower{k}.onnx", {"x": floats(2, 4, 7, 6)})


if __name__ == "__main__":
    make()
