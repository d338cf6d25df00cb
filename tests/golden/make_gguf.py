"""make_gguf.py: files that the gguf package writes, and files that are none (gguf/), with what they hold (gguf.txt).

Records:   good <tab> file <tab> metadata as JSON <tab> name <tab> array …       arrays as f32, or their own dtype
           bad <tab> file <tab> a part of the message

Blocks of every kind that is read hold random bytes, their scales random f16: what they stand for is what the package
makes of them. Some weights are quantized by the package. It writes its metadata in every type.
"""

import json
import os
import struct

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFValueType as Type

from records import HERE, Writer, text

FOLDER = os.path.join(HERE, "gguf")
# Where the scales of a block are, f16, by kind.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "F16": [0], "BF16": []}
METADATA = [("u8", 200, Type.UINT8), ("i8", -100, Type.INT8), ("u16", 60000, Type.UINT16), ("i16", -30000, Type.INT16),
            ("u32", 2**32 - 1, Type.UINT32), ("i32", -2**31, Type.INT32), ("f32", 0.25, Type.FLOAT32),
            ("yes", True, Type.BOOL), ("text", "\u00fc\u4e2d", Type.STRING), ("u64", 2**40, Type.UINT64),
            ("i64", -2**40, Type.INT64), ("f64", 0.1, Type.FLOAT64)]


def blocks(rng, name, rows, count):
    """Random blocks of a kind as rows of bytes."""
    size = gguf.GGML_QUANT_SIZES[Kind[name]][1]
    data = rng.integers(0, 256, (rows * count, size), dtype=np.uint8)
    for at in SCALES[name]:
        scales = rng.normal(0, 0.1, rows * count).astype(np.float16)
        scales[0] = 3e-6  # below the normal ones
        data[:, at:at + 2] = scales.view(np.uint8).reshape(-1, 2)
    return data.reshape(rows, count * size)


def writer(name, alignment=None):
    out = gguf.GGUFWriter(os.path.join(FOLDER, name), "golden")
    if alignment:
        out.add_custom_alignment(alignment)
    return out


def finish(out):
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def stored(data, kind):
    """What the package makes of bytes of a kind."""
    return gguf.dequantize(data, kind).astype(np.float32)


def kinds(out):
    rng, file, fields = np.random.default_rng(3), writer("kinds.gguf"), []
    for name in SCALES:
        data = blocks(rng, name, 2, 48 if name in ("F16", "BF16") else 1)
        file.add_tensor("blk.0." + name, data, raw_dtype=Kind[name])
        fields += ["blk.0." + name, text(stored(data, Kind[name]))]
    finish(file)
    out.record("good", "kinds.gguf", json.dumps({"general.architecture": "golden"}), *fields)


def small(out):
    rng, file, fields = np.random.default_rng(4), writer("small.gguf", 64), []
    expected = {"general.architecture": "golden", "general.alignment": 64}
    for key, value, kind in METADATA:
        file.add_key_value(key, value, kind)
        expected[key] = value
    for key, value in [("numbers", [1, 2, 3]), ("texts", ["a", "", "\u00fc"]), ("reals", [0.5, 1.5])]:
        file.add_array(key, value)
        expected[key] = value
    weights = rng.normal(0, 1, (2, 3, 64)).astype(np.float32)
    for name in ("Q4_0", "Q5_1", "Q8_0"):
        data = gguf.quantize(weights, Kind[name])
        file.add_tensor(name, data, raw_dtype=Kind[name])
        fields += [name, text(stored(data, Kind[name]))]
    for x in (weights[:1, 0, :5], np.arange(3, dtype=np.int8), np.arange(3, dtype=np.int16), np.array([7], np.int64),
              np.arange(6, dtype=np.int32).reshape(1, 2, 3), np.array([0.1], np.float64)):
        file.add_tensor(str(x.dtype), x)
        fields += [str(x.dtype), text(x)]
    finish(file)
    out.record("good", "small.gguf", json.dumps(expected), *fields)
    finish(writer("none.gguf"))
    out.record("good", "none.gguf", json.dumps({"general.architecture": "golden"}))


def string(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def raw(tensors=(), items=(), data=b"", version=3, counts=None):
    """A file by hand: tensors are (name, dims, kind, offset), items (key, type, bytes)."""
    out = b"GGUF" + struct.pack("<LQQ", version, *(counts or (len(tensors), len(items))))
    for key, kind, value in items:
        out += string(key) + struct.pack("<L", kind) + value
    for name, dims, kind, offset in tensors:
        out += string(name) + struct.pack("<L", len(dims)) + struct.pack("<%dQ" % len(dims), *dims)
        out += struct.pack("<LQ", kind, offset)
    return out + b"\0" * (-len(out) % 32) + data


def bad(out):
    def record(name, content, message):
        with open(os.path.join(FOLDER, "bad_" + name + ".gguf"), "wb") as file:
            file.write(content)
        out.record("bad", "bad_" + name + ".gguf", message)

    f32 = ("x", (8,), 0, 0)
    whole = raw([f32], data=b"\0" * 32)
    record("nothing", b"", "it is empty")
    record("magic", b"GGML" + whole[4:], "it is no GGUF file")
    record("short", whole[:20], "it is truncated")
    record("data", whole[:-1], "'x' in it ends at byte")
    record("version", raw(version=1), "version 1 is not one of")
    record("big", raw(version=0x03000000), "big-endian")
    record("tensors", raw(counts=(2**62, 0)), "it says that it has")
    record("text", raw(items=[(b"k", 8, struct.pack("<Q", 2**63))]), "it says that it has")
    record("type", raw(items=[(b"k", 99, b"")]), "99 is no type of metadata")
    record("lists", raw(items=[(b"k", 9, struct.pack("<LQ", 9, 1) * 20)]), "nested too deep")
    record("list", raw(items=[(b"k", 9, struct.pack("<LQ", 0, 2**40))]), "it says that it has")
    record("key", raw(items=[(b"k", 0, b"\1")] * 2), "'k' is in its metadata twice")
    record("name", raw([f32, ("x", (8,), 0, 32)], data=b"\0" * 64), "'x' is in it twice")
    record("overlap", raw([f32, ("y", (8,), 0, 0)], data=b"\0" * 64), "overlap")
    record("offset", raw([("x", (8,), 0, 4)], data=b"\0" * 64), "is not aligned")
    record("kind", raw([("x", (256,), 16, 0)], data=b"\0" * 66), "the kind 16, which is not read")
    record("rows", raw([("x", (33,), 2, 0)], data=b"\0" * 64), "no whole blocks of 32")
    record("axes", raw([("x", (1,) * 200, 0, 0)], data=b"\0" * 64), "200 axes")
    record("elements", raw([("x", (2**31, 2**31), 0, 0)], data=b"\0" * 64), "ends at byte")
    record("extent", raw([("x", (2**63,), 0, 0)], data=b"\0" * 64), "more elements than there are")
    record("alignment", raw([f32], [(b"general.alignment", 4, b"\0\0\0\0")], b"\0" * 64), "is no size")


def make():
    os.makedirs(FOLDER, exist_ok=True)
    for stale in os.listdir(FOLDER):
        os.remove(os.path.join(FOLDER, stale))
    with Writer("gguf.txt", __doc__) as out:
        kinds(out)
        small(out)
        bad(out)


if __name__ == "__main__":
    make()
