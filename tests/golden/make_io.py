"""make_io.py: files for np.io, written by NumPy and by hand (io/), and their contents (io.txt).

Records:   good <tab> file <tab> = <tab> arrays…          of an npz: <tab> name <tab> array, in the order of the file
           bad <tab> file <tab> what is wrong with it

npy 1.0, 2.0 and 3.0 headers, both orders of elements, both byte orders, 0-d and empty arrays; npz stored and deflated;
IDX (the format of MNIST: magic 0 0 type rank, big-endian sizes, data) plain and through gzip. Bad files are truncated,
inconsistent or of a dtype that neap does not have: reading one is an error, never a crash or a huge allocation.
"""

import gzip
import io
import os
import struct
import zlib

import numpy as np
from numpy.lib import format as npy

from records import HERE, DTYPES, Writer, dtype, text

FOLDER = os.path.join(HERE, "io")
IDX_TYPES = {"u8": (0x08, "u1"), "i32": (0x0C, ">i4"), "f32": (0x0D, ">f4"), "f64": (0x0E, ">f8")}


def save(name, content):
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(content)
    return name


def npy_bytes(array, version=(1, 0)):
    buffer = io.BytesIO()
    npy.write_array(buffer, np.asanyarray(array), version=version)
    return buffer.getvalue()


def npy_header(header, data=b"", version=b"\x01\x00"):
    """An npy file with this text as its header."""
    header = header.encode("latin1")
    width = "<H" if version == b"\x01\x00" else "<I"
    padding = -(len(header) + 1 + 8 + struct.calcsize(width)) % 64
    header += b" " * padding + b"\n"
    return b"\x93NUMPY" + version + struct.pack(width, len(header)) + header + data


def idx_bytes(array, name):
    code, stored = IDX_TYPES[name]
    head = struct.pack(">BBBB", 0, 0, code, array.ndim) + b"".join(struct.pack(">I", n) for n in array.shape)
    return head + array.astype(stored).tobytes()


def sample(name, shape):
    count = int(np.prod(shape))
    if name == "bool":
        return (np.arange(count) % 3 == 0).reshape(shape)
    if name in ("f32", "f64"):
        return (np.arange(count) * 0.375 - 2).astype(dtype(name)).reshape(shape)
    start = -3 if name[0] == "i" else 250
    return (np.arange(count) + start).astype(dtype(name)).reshape(shape)


def good_npy(out):
    def record(name, array, content):
        out.record("good", save(name, content), "=", text(array))

    for name in DTYPES:
        a = sample(name, (2, 3))
        record(name + ".npy", a, npy_bytes(a))
        record(name + "_fortran.npy", a, npy_bytes(np.asfortranarray(a)))
    for name in ("i32", "f32", "f64", "i64"):
        a = sample(name, (3,))
        record(name + "_big_endian.npy", a, npy_bytes(a.astype(dtype(name).newbyteorder(">"))))
    for label, shape in (("scalar", ()), ("empty", (0,)), ("hollow", (3, 0, 2)), ("deep", (2, 1, 3, 1, 2)),
                         ("one", (1,))):
        a = sample("f32", shape)
        record(label + ".npy", a, npy_bytes(a))
    a = sample("f32", (4, 3, 2))
    record("fortran3.npy", a, npy_bytes(np.asfortranarray(a)))
    for version in ((2, 0), (3, 0)):
        record("version%d.npy" % version[0], a, npy_bytes(a, version))
    a = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4028235e38], np.float32)
    record("special.npy", a, npy_bytes(a))
    # As other programs write headers: other spacing and order of keys, no padding.
    a = sample("i32", (2, 2))
    record("spacing.npy", a, npy_header("{'shape':(2,2),'fortran_order':False,'descr':'<i4'}", a.tobytes()))
    record("quotes.npy", a, npy_header('{"descr": "<i4", "fortran_order": False, "shape": (2, 2)}', a.tobytes()))


def good_archives(out):
    arrays = {"weights": sample("f32", (2, 3)), "labels": sample("u8", (4,)), "step": np.array(7, np.int64),
              "a/b c": sample("f64", (2,)), "empty": sample("f32", (0, 2))}
    every = {name: sample(name, (2, 2)) for name in DTYPES}
    every.update({name + "_big": a.astype(a.dtype.newbyteorder(">")) for name, a in every.items()})
    for name, function, arrays in (("stored.npz", np.savez, arrays), ("deflated.npz", np.savez_compressed, arrays),
                                   ("every.npz", np.savez, every)):
        buffer = io.BytesIO()
        function(buffer, **arrays)
        native = {key: array.astype(array.dtype.newbyteorder("=")) for key, array in arrays.items()}
        fields = [field for key, array in native.items() for field in (key, text(array))]
        out.record("good", save(name, buffer.getvalue()), "=", *fields)


def good_idx(out):
    for name in IDX_TYPES:
        a = sample(name, (2, 3))
        out.record("good", save(name + ".idx", idx_bytes(a, name)), "=", text(a))
    images = sample("u8", (3, 4, 4))
    out.record("good", save("images.idx3-ubyte.gz", gzip.compress(idx_bytes(images, "u8"), mtime=0)), "=", text(images))
    labels = sample("u8", (3,))
    out.record("good", save("labels.idx1-ubyte", idx_bytes(labels, "u8")), "=", text(labels))
    # gzip allows several members, one after the other.
    whole = idx_bytes(images, "u8")
    members = gzip.compress(whole[:20], mtime=0) + gzip.compress(whole[20:], mtime=0)
    out.record("good", save("members.idx.gz", members), "=", text(images))


def bad(out):
    def record(name, content, why):
        out.record("bad", save("bad_" + name, content), why)

    whole = npy_bytes(sample("f32", (2, 3)))
    record("nothing.npy", b"", "empty file")
    record("magic.npy", b"\x93NUMPX" + whole[6:], "wrong magic")
    record("magic_only.npy", whole[:6], "ends after the magic")
    record("header.npy", whole[:40], "ends inside the header")
    record("data.npy", whole[:-5], "ends inside the data")
    record("version.npy", whole[:6] + b"\x09\x00" + whole[8:], "unknown version")
    header = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }"
    for label, fields, why in [
            ("object", ("'|O'", "False", "(2,)"), "object dtype"),
            ("complex", ("'<c32'", "False", "(1,)"), "complex dtype"),
            ("text", ("'<U3'", "False", "(1,)"), "text dtype"), ("i3", ("'<i3'", "False", "(1,)"), "no such width"),
            ("record", ("[('a', '<f4')]", "False", "(1,)"), "record dtype"),
            ("huge", ("'<f4'", "False", "(1000000, 1000000, 1000000)"), "size overflows"),
            ("large", ("'<f4'", "False", "(1000000000000,)"), "more elements than the file has"),
            ("negative", ("'<f4'", "False", "(-2,)"), "negative size"),
            ("order", ("'<f4'", "Maybe", "(2,)"), "order unknown"),
            ("rank", ("'<f4'", "False", "(" + "1," * 40 + ")"), "too many axes")]:
        record(label + ".npy", npy_header(header % fields, b"\0" * 8), why)
    record("keys.npy", npy_header("{'descr': '<f4', 'shape': (2,), }", b"\0" * 8), "no fortran_order")
    record("shape.npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, }", b"\0" * 8),
           "unclosed shape")
    record("python.npy", npy_header("exit()"), "not a dictionary")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=sample("f32", (40, 3)))
    archive = buffer.getvalue()
    record("cut.npz", archive[:len(archive) // 2], "ends inside the archive")
    record("flipped.npz", archive[:90] + bytes([archive[90] ^ 0xFF]) + archive[91:], "damaged data")
    record("not.npz", b"this is not an archive\n" * 4, "not an archive")
    images = idx_bytes(sample("u8", (3, 4, 4)), "u8")
    packed = gzip.compress(images, mtime=0)
    record("cut.idx", images[:-7], "ends inside the data")
    record("sizes.idx", images[:9], "ends inside the sizes")
    record("magic.idx", b"\1\2\3\4" + images[4:], "wrong magic")
    record("type.idx", images[:2] + b"\x07" + images[3:], "unknown type")
    record("huge.idx", struct.pack(">BBBBII", 0, 0, 8, 2, 0xFFFFFFFF, 0xFFFFFFFF) + b"\0" * 16, "size overflows")
    record("cut.idx.gz", packed[:-12], "gzip stream ends early")
    record("crc.idx.gz", packed[:-8] + struct.pack("<I", zlib.crc32(images) ^ 1) + packed[-4:], "checksum differs")
    record("not.idx.gz", b"\x1f\x8b\x08\x00" + b"rubbish" * 5, "damaged gzip stream")


def make():
    os.makedirs(FOLDER, exist_ok=True)
    for stale in os.listdir(FOLDER):
        os.remove(os.path.join(FOLDER, stale))
    with Writer("io.txt", __doc__) as out:
        good_npy(out)
        good_archives(out)
        good_idx(out)
        bad(out)


if __name__ == "__main__":
    make()
