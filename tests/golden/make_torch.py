"""make_torch.py: checkpoints that PyTorch writes, and files that are none (torch/), with what they hold (torch.txt).

Records:   good <tab> file <tab> path <tab> kind <tab> value …
           bad <tab> file <tab> a part of the message

A path is that of np.tree.paths. A kind is a dtype, with an array (halves as f32, complex ones with an axis more, for
their parts), or number, text, boolean, null. Every dtype that both have; strides of all kinds, shared storages,
containers, optimizers; the protocols 2 to 5; archives that are deflated, or say their sizes as those of
more than 4 GiB.
"""

import collections
import io
import os
import pickle
import struct
import zipfile

import numpy as np
import torch

from records import HERE, Writer, text

FOLDER = os.path.join(HERE, "torch")
NAMES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
         torch.complex64: "c64", torch.complex128: "c128", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
         torch.int64: "i64", torch.uint8: "u8", torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64",
         torch.bool: "bool"}


def leaves(value, path=""):
    """The fields of a record: path, kind and value of each leaf."""
    if isinstance(value, torch.Tensor):
        x = value.detach().resolve_conj().resolve_neg()
        kind = NAMES[x.dtype]
        if x.is_complex():
            x = torch.view_as_real(x)
        elif kind in ("f16", "bf16"):
            x = x.float()
        return [path, kind, text(x.numpy())]
    if isinstance(value, dict):
        fields = []
        for key, item in value.items():
            if item is None:
                continue
            step = "[%d]" % key if isinstance(key, int) else ("." if path else "") + key
            fields += leaves(item, path + step)
        return fields
    if isinstance(value, bytes):
        return [path, "text", value.decode()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [field for k, item in enumerate(value) for field in leaves(item, "%s[%d]" % (path, k + 1))]
    if isinstance(value, bool):
        return [path, "boolean", str(value).lower()]
    if isinstance(value, (int, float)):
        return [path, "number", repr(value)]
    if value is None:
        return [path, "null", "null"]
    return [path, "text", str(value)]


def saved(value, **options):
    out = io.BytesIO()
    torch.save(value, out, **options)
    return out.getvalue()


def changed(content, method=zipfile.ZIP_STORED, wide=False, **files):
    """The archive with other files, packed otherwise."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", method) as new:
        for name in old.namelist():
            short = name.split("/", 1)[1].replace("/", "_").replace(".", "_")
            data = files.get(short, old.read(name))
            if data is not None:
                info = zipfile.ZipInfo(name)
                info.compress_type = method
                with new.open(info, "w", force_zip64=wide) as file:
                    file.write(data)
    return out.getvalue()


def widened(content):
    """The same archive with a directory as archives of more than 4 GiB have it."""
    content = changed(content, wide=True)
    final = content.rindex(b"PK\5\6")
    count, _, size, start = struct.unpack("<HHLL", content[final + 8:final + 20])
    entries, at = b"", start
    for _ in range(count):
        name, extra, comment = struct.unpack("<HHH", content[at + 28:at + 34])
        packed, whole = struct.unpack("<LL", content[at + 20:at + 28])
        offset, = struct.unpack("<L", content[at + 42:at + 46])
        field = struct.pack("<HHQQQ", 1, 24, whole, packed, offset)
        entries += (content[at:at + 20] + b"\xff" * 8 + content[at + 28:at + 30] + struct.pack("<HH", len(field), 0)
                    + content[at + 34:at + 42] + b"\xff" * 4 + content[at + 46:at + 46 + name] + field)
        at += 46 + name + extra + comment
    record = struct.pack("<LQHHLLQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count, count, len(entries), start)
    locator = struct.pack("<LLQL", 0x07064b50, 0, start + len(entries), 1)
    tail = struct.pack("<LHHHHLLH", 0x06054b50, 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0)
    return content[:start] + entries + record + locator + tail


def strides():
    b = torch.arange(24.).reshape(2, 3, 4)
    c = torch.complex(torch.arange(4.), torch.arange(4.) + 1)
    return {"whole": b, "shared": b, "view": b.reshape(6, 4), "permuted": b.permute(2, 0, 1), "t": b[0].t(),
            "slice": b[:, 1:, ::2], "row": b[1], "expanded": b[:, :1, 0].expand(2, 5), "place": b[1, 2, 3],
            "windows": b.reshape(-1).as_strided((3, 4), (1, 1)), "scalar": torch.tensor(3.5),
            "none": torch.zeros(0, 3), "single": torch.ones(1, 3, 1), "last": torch.ones(2, 4, 3).to(
                memory_format=torch.contiguous_format).transpose(1, 2), "conj": c.conj(), "imag": (c + 1).conj().imag,
            "channels": torch.arange(48.).reshape(2, 4, 3, 2).contiguous(memory_format=torch.channels_last)}


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.BatchNorm2d(3), torch.nn.Flatten(),
                               torch.nn.Linear(12, 2))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


def network():
    """A state dict, with an input and what the network makes of it."""
    torch.manual_seed(1)
    net, x = Net(), torch.randn(2, 3, 6, 6)
    for _ in range(3):
        net(torch.randn(8, 3, 6, 6))
    return {"state": net.state_dict(), "x": x, "y": net.eval()(x).detach()}


def checkpoint():
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    net(torch.ones(2, 2, 3, 3)).sum().backward()
    optimizer.step()
    return {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "best": 0.25,
            "note": "\u00fc\u4e2d\U0001f600", "rng": torch.get_rng_state()[:16],
            "history": [1, None, 2.5, True, "x", []]}


def good(out):
    def record(name, value, content=None):
        path = os.path.join(FOLDER, name + ".pt")
        with open(path, "wb") as file:
            file.write(content or saved(value))
        torch.load(path, weights_only=False)
        out.record("good", name + ".pt", *leaves(value))

    record("dtypes", {name: (torch.arange(6).reshape(2, 3) % 2 * 3).to(kind) for kind, name in NAMES.items()})
    record("strides", strides())
    record("state", model().state_dict())
    record("network", network())
    record("checkpoint", checkpoint())
    record("parameter", model()[3].weight)
    record("storage", [torch.arange(3.), [2, 3]], saved([torch.arange(3.).storage(), torch.Size([2, 3])]))
    numbers = {name: getattr(np, name)(-3 if name[0] in "if" else 3) for name in (
        "float64", "float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_")}
    plain = {name: value.item() for name, value in numbers.items()}
    for protocol in (2, 4):
        record("numpy%d" % protocol, plain, saved(numbers, pickle_protocol=protocol))
    number = saved({"x": np.float64(2.5)}, pickle_protocol=4)
    data = zipfile.ZipFile(io.BytesIO(number)).read("archive/data.pkl")
    other = data.replace(b"\x8c\1<", b"\x8c\1>").replace(struct.pack("<d", 2.5), struct.pack(">d", 2.5))
    assert other != data
    record("numpy_order", {"x": 2.5}, changed(number, data_pkl=other))
    record("large", {"a": 2**31, "b": -2**40, "c": -1, "d": 255, "e": -129, "f": 1e300})
    plain = {"set": {7}, "frozen": frozenset([8]), "bytes": "z\u00fc\u4e2d".encode(), "none": set()}
    for protocol in (2, 4):
        record("values%d" % protocol, plain, saved(plain, pickle_protocol=protocol))
    marked = torch.ones(2)
    marked.note = "an attribute"
    record("attribute", {"x": marked})
    plain = {"x": torch.arange(3.), "deep": [(1, 2), {"y": torch.ones(2, 2)}], "o": collections.OrderedDict(a=1)}
    for protocol in (2, 3, 4, 5):
        record("protocol%d" % protocol, plain, saved(plain, pickle_protocol=protocol))
    record("deflated", plain, changed(saved(plain), zipfile.ZIP_DEFLATED))
    record("wide", plain, widened(saved(plain)))


class Called:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def bad(out):
    def record(name, content, message):
        with open(os.path.join(FOLDER, "bad_" + name + ".pt"), "wb") as file:
            file.write(content)
        out.record("bad", "bad_" + name + ".pt", message)

    whole = saved({"x": torch.arange(4.)})
    record("call", saved({"x": Called(os.getcwd)}), "names posix.getcwd")
    record("eval", saved({"x": Called(eval, "1 + 1")}), "names __builtin__.eval")
    record("module", saved(torch.nn.ReLU()), "names torch.nn.modules.activation.ReLU")
    record("numpy", saved({"x": np.ones(2)}), "names numpy")
    record("numpy_half", saved({"x": np.float16(3)}), "a scalar of NumPy of dtype f2")
    record("numpy_complex", saved({"x": np.complex64(3)}), "a scalar of NumPy of dtype c8")
    record("numpy_text", saved({"x": np.str_("x")}), "an unknown dtype of NumPy")
    record("float8", saved(torch.ones(2).to(torch.float8_e5m2)), "names torch.float8_e5m2")
    record("sparse", saved(torch.eye(2).to_sparse()), "names torch._utils._rebuild_sparse_tensor")
    record("old", saved({"x": torch.ones(1)}, _use_new_zipfile_serialization=False)[:100], "format from before 1.6")
    record("nothing", b"", "it is empty")
    record("text", b"no archive", "no checkpoint of PyTorch")
    record("short", whole[:-30], "no zip archive, or truncated")
    record("storage", changed(whole, data_0=None), "the storage 'data/0' is missing")
    record("elements", changed(whole, data_0=b"\0" * 12), "has 12 bytes, fewer than its 4 elements need")
    record("order", changed(whole, byteorder=b"big"), "big-endian")
    record("pickle", changed(whole, data_pkl=None), "there is no data.pkl in it")
    for name, data, message in [
            ("empty", b"", "byte 1: it is truncated"), ("stop", b"\x80\2.", "byte 3: it takes from an empty stack"),
            ("zero", b"(dp0\n.", "opcode 0x70"), ("seven", b"\x80\7N.", "pickle protocol 7"),
            ("cut", b"\x80\2X\xff\0\0\0abc", "byte 3: it is truncated"), ("memo", b"\x80\2h\5.", "recalls"),
            ("mark", b"\x80\2Nt.", "needs a mark"), ("loop", b"\x80\2]q\0h\0a.", "hold each other"),
            ("many", b"\x80\2]" + b"q\0]h\0h\0h\0h\0e".replace(b"]", b"](") * 40 + b".", "hold each other"),
            ("key", b"\x80\2}]Ns.", "neither a text nor a number"),
            ("class", b"\x80\2ctorch\nFloatStorage\n.", "a class"),
            ("id", b"\x80\2NQ.", "no storage"), ("big", b"\x80\2\x8a\x0a" + b"\1" * 10 + b".", "more than 64 bits")]:
        record("pickle_" + name, changed(whole, data_pkl=data), message)
    text_of = zipfile.ZipFile(io.BytesIO(whole)).read("archive/data.pkl")
    size = text_of.index(b"K\4\x85")  # the tensor's size, (4,), and behind it its stride, (1,)
    record("size", changed(whole, data_pkl=text_of[:size + 1] + b"\5" + text_of[size + 2:]), "needs 5 elements of f32")
    record("negative", changed(whole, data_pkl=text_of[:size] + b"J\xff\xff\xff\xff" + text_of[size + 2:]), "no counts")


def make():
    os.makedirs(FOLDER, exist_ok=True)
    for stale in os.listdir(FOLDER):
        os.remove(os.path.join(FOLDER, stale))
    with Writer("torch.txt", __doc__) as out:
        good(out)
        bad(out)


if __name__ == "__main__":
    make()
