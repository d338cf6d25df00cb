"""make_safetensors.py: files that the safetensors package writes, and files that it refuses (safetensors/), with what
they hold (safetensors.txt).

Records:   good <tab> file <tab> metadata as JSON <tab> name <tab> array …
           bad <tab> file <tab> what is wrong with it

Every dtype that both have; arrays of no axes and of no elements; metadata. Each bad file is one that the package
refuses too, which is checked here, but for two that its format forbids: a header that begins with a blank, and a name
twice.
"""

import json
import os
import struct

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from records import HERE, DTYPES, Writer, dtype, text

FOLDER = os.path.join(HERE, "safetensors")
WRITTEN = ["bool", "u8", "i8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"]


def store(name, content):
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(content)
    return name


def raw(header, data=b""):
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header)) + header + data


def described(**fields):
    facts = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    facts.update(fields)
    return facts


def good(out):
    def record(name, arrays, metadata=None):
        fields = [field for key in sorted(arrays) for field in (key, text(arrays[key]))]
        out.record("good", store(name, save(arrays, metadata)), json.dumps(metadata or {}), *fields)

    for name in WRITTEN:
        assert name in DTYPES
        record(name + ".safetensors", {"x": (np.arange(6).reshape(2, 3) % 2).astype(dtype(name))})
    record("mixed.safetensors", {"b": np.arange(3, dtype=np.uint8), "a": np.ones((2, 2), np.float64),
                                 "layer.0.weight": np.arange(4, dtype=np.float32), "none": np.zeros((0, 3), np.int16),
                                 "scalar": np.array(7, np.int64), "flag": np.array([True, False, True]),
                                 "\u00fc \"quoted\"": np.array([1.5], np.float32)})
    record("metadata.safetensors", {"x": np.ones(1, np.float32)}, {"format": "pt"})
    record("empty.safetensors", {})


def bad(out):
    def record(name, content, why, refused=True):
        try:
            deserialize(content)
        except SafetensorError:
            assert refused, name + " is refused by the package"
        else:
            assert not refused, name + " is taken by the package"
        out.record("bad", store("bad_" + name + ".safetensors", content), why)

    def header(name, why, data=b"\0" * 8, **tensors):
        record(name, raw(json.dumps(tensors), data), why)

    whole = save({"x": np.arange(4, dtype=np.float32)})
    record("nothing", b"", "empty file")
    record("short", whole[:6], "ends inside the length")
    record("header", whole[:30], "ends inside the header")
    record("data", whole[:-3], "ends inside the data")
    record("longer", whole + b"\0", "bytes behind the data")
    record("length", struct.pack("<Q", 2**63) + whole[8:], "a length that no file has")
    record("large", struct.pack("<Q", 100000001) + whole[8:], "more header than is allowed")
    record("json", raw("{\"x\":", b"\0" * 8), "no JSON")
    record("list", raw("[]"), "a header that is a list")
    record("utf8", raw(b"{\"\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", b"\0" * 8), "no UTF-8")
    record("twice", raw("{\"x\":%s,\"x\":%s}" % ((json.dumps(described()),) * 2), b"\0" * 8), "a name twice", False)
    record("start", raw(" {}"), "a header that begins with a blank", False)
    header("dtype", "unknown dtype", x=described(dtype="F31"))
    header("size", "more elements than bytes", x=described(shape=[3]))
    header("overflow", "elements beyond 64 bits", x=described(shape=[2**40, 2**40]))
    header("backwards", "ends before it begins", x=described(data_offsets=[8, 0]))
    header("negative", "a negative extent", x=described(shape=[-2]))
    header("fraction", "half an extent", x=described(shape=[2.5]))
    header("beyond", "ends behind the file", x=described(shape=[4], data_offsets=[0, 16]))
    header("hole", "a hole between arrays", b"\0" * 20, x=described(), y=described(data_offsets=[12, 20]))
    header("gap", "a hole at the beginning", b"\0" * 12, x=described(data_offsets=[4, 12]))
    header("overlap", "arrays that overlap", b"\0" * 12, x=described(), y=described(data_offsets=[4, 12]))
    header("fields", "no shape", x={"dtype": "F32", "data_offsets": [0, 8]})
    header("metadata", "metadata that is no text", x=described(), __metadata__={"a": 3})


def make():
    os.makedirs(FOLDER, exist_ok=True)
    for stale in os.listdir(FOLDER):
        os.remove(os.path.join(FOLDER, stale))
    with Writer("safetensors.txt", __doc__) as out:
        good(out)
        bad(out)


if __name__ == "__main__":
    make()
