"""make_columnar.py: Arrow and Parquet files of pyarrow and pandas (columnar/), what is in them as a table has it, and
files that are refused (columnar.json).

columnar.json:   good   [{file, reader, options?, columns: [[name, kind, own order, values…]], or as: another file}]
                 bad    [{file, reader, options?, message: a part of the message}]

Values: integers as texts, floats as hexadecimal, dates as ISO 8601 with microseconds; null where there is none.
`own order` is the list of levels of a column of texts that has one, else null.
"""

import datetime as dt
import decimal
import json
import os
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from records import HERE

FOLDER = os.path.join(HERE, "columnar")
ROWS = 19
FEW = ["int64", "f64", "bool", "string", "us", "category"]  # columns of files of which there are many
WORDS = ["Bern", "", "ünïcödé", "a text that is longer than twelve bytes", "中文", "x", "Rome", "with\nline"]


def place(name):
    return os.path.join(FOLDER, name)


def some(values, every):
    """The values, None at some places; every 0: all."""
    return [None if every and k % every == every // 2 else v for k, v in enumerate(values)]


def integers(rng, bits, signed):
    info = np.iinfo(("int" if signed else "uint") + str(bits))
    return [int(info.min), int(info.max)] + [int(v) for v in rng.integers(0, min(info.max, 2**53), ROWS - 2)]


def stamps(rng, low, high):
    return [int(v) for v in rng.integers(low, high, ROWS)]


def plain_table(seed, every, views=True):
    """A table of all types that are read, with nulls at each `every`th row."""
    rng, columns = np.random.default_rng(seed), {}
    for bits in (8, 16, 32, 64):
        for signed in (True, False):
            kind = "%sint%d" % ("" if signed else "u", bits)
            columns[kind] = pa.array(some(integers(rng, bits, signed), every), getattr(pa, kind)())
    for kind, name in ((pa.float16(), "f16"), (pa.float32(), "f32"), (pa.float64(), "f64")):
        values = rng.normal(size=ROWS) * 10
        values[:3] = [np.inf, -0.0, np.nan]
        values = values.astype(kind.to_pandas_dtype())
        columns[name] = pa.array(values, mask=np.array([v is None for v in some(values, every)]))
    columns["bool"] = pa.array(some([bool(v) for v in rng.integers(0, 2, ROWS)], every))
    words = [WORDS[int(v)] for v in rng.integers(0, len(WORDS), ROWS)]
    columns["string"] = pa.array(some(words, every))
    columns["large string"] = pa.array(some(words[::-1], every), pa.large_string())
    if views:
        columns["view"] = pa.array(some(words, every), pa.string_view())
    columns["binary"] = pa.array(some([w.encode() for w in words], every), pa.binary())
    columns["date32"] = pa.array(some(stamps(rng, -700000, 2900000), every), pa.date32())
    columns["date64"] = pa.array(some([v * 86400000 for v in stamps(rng, -7000, 29000)], every), pa.date64())
    for unit, most in (("s", 2e11), ("ms", 2e14), ("us", 2e17), ("ns", 9e18)):
        columns[unit] = pa.array(some(stamps(rng, -int(min(most, 6e16 if unit == "us" else most)) // 4, int(most)),
                                      every), pa.timestamp(unit))
    columns["zone"] = pa.array(some(stamps(rng, 0, 2e9), every), pa.timestamp("s", "Europe/Zurich"))
    columns["null"] = pa.nulls(ROWS)
    columns["category"] = pa.array(some(words, every)).dictionary_encode()
    levels = pa.array(sorted(set(words), reverse=True))
    codes = pa.array(some([levels.to_pylist().index(w) for w in words], every), pa.int8())
    columns["ordered"] = pa.DictionaryArray.from_arrays(codes, levels, ordered=True)
    return pa.table(columns)


def arrow_only(table):
    """The table with dictionaries of other things than texts, which Parquet does not keep."""
    codes = pa.array([k % 3 for k in range(ROWS)], pa.uint16())
    holes = pa.array([None if k % 5 == 0 else k % 3 for k in range(ROWS)], pa.int64())
    table = table.append_column("numbers", pa.DictionaryArray.from_arrays(codes, pa.array([7, -1, 2**40])))
    table = table.append_column("some numbers", pa.DictionaryArray.from_arrays(holes, pa.array([7, -1, 2**40])))
    days = pa.array([0, 20000, -5], pa.date32())
    return table.append_column("some days", pa.DictionaryArray.from_arrays(holes, days))


def long_table():
    """A table of 400 rows that compress well, and take several pages."""
    rng, n = np.random.default_rng(5), 400
    return pa.table({"steps": (np.arange(n) + 1000) ** 3 - 10**9, "few": rng.integers(0, 5, n).astype(np.int16),
                     "wide": rng.integers(-2**62, 2**62, n), "same": np.full(n, 7.5),
                     "bool": rng.integers(0, 2, n) > 0, "runs": np.repeat(rng.integers(0, 300, n // 50), 50),
                     "texts": ["text %d" % (k % 177) for k in range(n)]})


DTYPES = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
          "uint32": "u32", "uint64": "u64", "halffloat": "f16", "float": "f32", "double": "f64", "bool": "bool"}


def microseconds(array):
    """Ticks of microseconds of a column of dates, rounded down."""
    kind, found = array.type, []
    scale = {"s": 10**6, "ms": 1000, "us": 1}.get(getattr(kind, "unit", None))
    raw = array.cast(pa.int32() if kind == pa.date32() else pa.int64()) if not pa.types.is_timestamp(kind) else \
        pa.Array.from_buffers(pa.int64(), len(array), array.buffers(), offset=array.offset)
    for value in raw.to_pylist():
        if value is None:
            found.append(None)
        elif kind == pa.date32():
            found.append(value * 86400 * 10**6)
        elif kind == pa.date64():
            found.append(value * 1000)
        else:
            found.append(value // 1000 if kind.unit == "ns" else value * scale)
    return found


def date_text(tick):
    return None if tick is None else (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=tick)).isoformat(
        " ", timespec="microseconds")


def expected(name, column):
    """[name, kind, own order, values…] of a column of pyarrow, as a table has it."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    own = None
    if pa.types.is_dictionary(array.type):
        if array.type.ordered:
            own = array.dictionary.to_pylist() if len(array) else []
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_temporal(kind):
        return [name, "date", None] + [date_text(v) for v in microseconds(array)]
    if pa.types.is_null(kind):
        return [name, "f64", None] + [None] * len(array)
    values = array.to_pylist()
    if str(kind) in DTYPES:
        dtype = DTYPES[str(kind)]
        if array.null_count and not pa.types.is_floating(kind):
            dtype, values = "f64", [None if v is None else float(v) for v in values]
        if dtype.startswith("f"):
            values = [None if v is None or np.isnan(v) else float(v).hex() for v in values]
        elif dtype != "bool":
            values = [str(v) for v in values]
        return [name, dtype, None] + values
    return [name, "text", own] + [v.decode() if isinstance(v, bytes) else v for v in values]


class Listing:
    def __init__(self):
        self.good, self.bad = [], []

    def add(self, reader, name, table, options=None):
        columns = [expected(key, table.column(key)) for key in table.column_names]
        same = next((g["file"] for g in self.good if g.get("columns") == columns), None)
        held = {"as": same} if same else {"columns": columns}
        self.good.append({"file": name, "reader": reader, **held, **({"options": options} if options else {})})

    def refuse(self, reader, name, message, options=None):
        self.bad.append({"file": name, "reader": reader, "message": message,
                         **({"options": options} if options else {})})


def write_ipc(name, batches, schema, stream=False, **options):
    make = ipc.new_stream if stream else ipc.new_file
    with make(place(name), schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write(batch)


def arrow_files(out):
    def file(name, table, size=None, **options):
        write_ipc(name, table.to_batches(max_chunksize=size), table.schema, **options)
        out.add("feather", name, table)

    whole, holes = arrow_only(plain_table(1, 0)), arrow_only(plain_table(2, 4))
    file("whole.arrow", whole)
    file("holes.arrow", holes)
    few = holes.select(FEW)
    for codec in ("lz4", "zstd"):  # columns of 19 rows are not compressed, since they would be longer
        file(codec + ".arrow", few, compression=codec)
        file(codec + "_long.arrow", long_table(), compression=codec)
    file("batches.arrow", holes, 7)
    file("stream.arrows", holes, 5, stream=True, compression="zstd")
    file("legacy.arrow", few, use_legacy_format=True)
    file("v4.arrow", few, metadata_version=ipc.MetadataVersion.V4)
    file("empty.arrow", whole.slice(0, 0))
    frame = pd.DataFrame({"n": [1, 2, 3], "x": [0.5, np.nan, 2], "s": ["a", None, "b"],
                          "c": pd.Categorical(["u", "v", "u"]), "d": pd.to_datetime(["2024-01-01", None, "1999-12-31"]),
                          "o": pd.Categorical(["low", "high", None], ["low", "high"], ordered=True)})
    frame.to_feather(place("pandas.feather"))
    out.add("feather", "pandas.feather", pa.Table.from_pandas(frame))


def dictionary_files(out):
    """Dictionaries that grow, and such that are replaced."""
    kind = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("s", kind), ("n", pa.int64())])
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["b", "a"]))
    more = pa.DictionaryArray.from_arrays(pa.array([2, 0, 3]), pa.array(["b", "a", "d", "c"]))
    other = pa.DictionaryArray.from_arrays(pa.array([1, 1, 0]), pa.array(["x", "a"]))

    def batches(*parts):
        return [pa.record_batch([p.cast(kind), pa.array([k, k + 1, k + 2])], schema) for k, p in enumerate(parts)]

    for name, parts, options in (("delta.arrows", (first, more), {"stream": True, "emit_dictionary_deltas": True}),
                                 ("delta.arrow", (first, more), {"emit_dictionary_deltas": True}),
                                 ("replaced.arrows", (first, other, more), {"stream": True})):
        write_ipc(name, batches(*parts), schema, **options)
        values = sum((p.to_pylist() for p in parts), [])
        numbers = sum(([k, k + 1, k + 2] for k in range(len(parts))), [])
        out.add("feather", name, pa.table({"s": values, "n": numbers}))


def nested_table():
    return pa.table({
        "list": pa.array([[1, 2], None, []]), "struct": pa.array([{"a": 1, "b": {"c": "x"}}] * 3),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32())),
        "decimal": pa.array([1, 2, None], pa.decimal128(10, 2)), "time": pa.array([1, 2, 3], pa.time64("us")),
        "n": pa.array([5, None, 7], pa.int32()), "lists": pa.array([[["a"], []], None, [[None]]]),
        "last": pa.array(["p", "q", None]),
    })


def refused_arrow(out):
    table = nested_table().append_column("duration", pa.array([1, 2, 3], pa.duration("s")))
    table = table.append_column("view", pa.array([["a"], ["b"], []], pa.list_view(pa.string_view())))
    table = table.append_column("fixed", pa.array([b"ab", b"cd", None], pa.binary(2)))
    table = table.append_column("ends", pa.array([4, 5, None]))
    write_ipc("nested.arrow", table.to_batches(), table.schema)
    out.add("feather", "nested.arrow", table.select(["n", "last", "ends"]), {"columns": ["n", "last", "ends"]})
    for name, kind in (("list", "list"), ("struct", "struct"), ("map", "map"), ("decimal", "decimal128(10, 2)"),
                       ("time", "time64[us]"), ("duration", "duration[s]"), ("view", "list_view"),
                       ("fixed", "fixed_size_binary[2]")):
        out.refuse("feather", "nested.arrow", "column '%s' of .* has the type %s, which" % (name, kind),
                   {"columns": [name]})
    for option, message in (({"columns": ["z"]}, "names the column 'z'; there are list, "),
                            ({"columns": ["n", "n"]}, "names the column 'n' twice"),
                            ({"mmap_mode": "w"}, "option 'mmap_mode'"), ({"sep": 1}, "unknown option 'sep'"),
                            ({"columns": ["n"], "fill": "x"}, "option 'fill'"),
                            ({"columns": ["n"], "fill": {"m": 1}}, "'fill' names the column 'm'; there are n")):
        out.refuse("feather", "nested.arrow", message, option)


def damaged_arrow(out):
    with open(place("v4.arrow"), "rb") as file:
        data = file.read()
    with open(place("stream.arrows"), "rb") as file:
        stream = file.read()

    def write(name, content, message):
        with open(place(name), "wb") as file:
            file.write(content)
        out.refuse("feather", name, message)

    write("bad_cut.arrow", data[:-20], "truncated")
    write("bad_footer.arrow", data[:-10] + struct.pack("<I", 2**31) + data[-6:], "footer is damaged")
    write("bad_stream.arrows", stream[:len(stream) // 2], "truncated")
    write("bad_magic.arrow", b"nothing of this kind", "neither an Arrow file nor")
    write("bad_empty.arrow", b"", "neither an Arrow file nor")
    write("bad_feather1.arrow", b"FEA1" + bytes(20), "first version")
    index = pa.DictionaryArray.from_arrays(pa.array([0, 5, 1], pa.int32()), pa.array(["a", "b"]), safe=False)
    offsets = pa.StringArray.from_buffers(3, pa.py_buffer(struct.pack("<4i", 0, 900, 2, 3)), pa.py_buffer(b"abc"))
    late = pa.array([2**40], pa.timestamp("s"))
    for name, array, message in (("bad_index.arrow", index, "not in its dictionary"),
                                 ("bad_offsets.arrow", offsets, "texts beyond its data"),
                                 ("bad_date.arrow", late, "not in the years 1 to 9999")):
        write_ipc(name, [pa.record_batch([array], ["x"])], pa.schema([("x", array.type)]))
        out.refuse("feather", name, message)


# ---- Parquet ---------------------------------------------------------------------------------------------------------

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "date32", "date64", "s", "ms",
            "us", "ns", "zone"]


def without_orders(table):
    """The table with texts where it has dictionaries, of which Parquet's own types know nothing."""
    for k, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(field.type.value_type))
    return table


def write_parquet(out, name, table, **options):
    options = {"write_statistics": name == "holes.parquet", "store_schema": False, **options}
    pq.write_table(table, place(name), **options)
    out.add("parquet", name, without_orders(table))


def encodings(ints, texts, floats):
    """An encoding for each column of plain_table."""
    found = {name: ints for name in INTEGERS}
    found.update({name: texts for name in ("string", "large string", "binary", "category", "ordered")})
    found.update({name: floats for name in ("f16", "f32", "f64")})
    return {key: value for key, value in found.items() if value}


def parquet_files(out):
    whole, holes = plain_table(3, 0, views=False), plain_table(4, 4, views=False)
    plain = {"use_dictionary": False, "compression": "none"}
    write_parquet(out, "whole.parquet", whole, compression="none")
    write_parquet(out, "holes.parquet", holes, compression="none")
    write_parquet(out, "plain.parquet", holes.select(FEW), **plain)
    for codec in ("snappy", "gzip", "zstd", "lz4"):
        write_parquet(out, codec + ".parquet", holes.select(FEW), compression=codec)
    write_parquet(out, "pages2.parquet", holes, data_page_version="2.0", compression="zstd", row_group_size=8)
    write_parquet(out, "delta.parquet", holes, column_encoding=encodings("DELTA_BINARY_PACKED", "DELTA_BYTE_ARRAY",
                                                                         "BYTE_STREAM_SPLIT"), **plain)
    texts = whole.select(["string", "large string", "binary", "category", "ordered"])
    lengths = {name: "DELTA_LENGTH_BYTE_ARRAY" for name in texts.column_names}
    write_parquet(out, "lengths.parquet", texts, column_encoding=lengths, **plain)
    some = whole.select(["int32", "int64", "f32"])
    split = {name: "BYTE_STREAM_SPLIT" for name in some.column_names}
    write_parquet(out, "split.parquet", some, column_encoding=split, **plain)
    write_parquet(out, "int96.parquet", holes.select(["us", "ns"]), use_deprecated_int96_timestamps=True)
    write_parquet(out, "empty.parquet", whole.slice(0, 0))
    required = pa.schema([pa.field(f.name, f.type, nullable=f.name == "null") for f in whole.schema])
    write_parquet(out, "required.parquet", whole.cast(required), data_page_version="2.0", compression="snappy")
    for name, options in (("long.parquet", {}), ("long2.parquet", {"data_page_version": "2.0"}),
                          ("long_delta.parquet", {"use_dictionary": False, "column_encoding": {
                              "steps": "DELTA_BINARY_PACKED", "wide": "DELTA_BINARY_PACKED",
                              "texts": "DELTA_BYTE_ARRAY"}})):
        write_parquet(out, name, long_table(), compression="zstd", data_page_size=500, row_group_size=300,
                      **options)
    frame = pd.DataFrame({"n": [1, 2, 3], "x": [0.5, np.nan, 2], "s": ["a", None, "b"],
                          "d": pd.to_datetime(["2024-01-01", None, "1999-12-31"])})
    frame.to_parquet(place("pandas.parquet"))
    out.add("parquet", "pandas.parquet", pa.Table.from_pandas(frame))


def decimal_files(out):
    numbers = [None, 0, 1, -1, 12345, -99999]
    whole = {"store_decimal_as_integer": True}
    for name, precision, options in (("decimal.parquet", 30, {}), ("decimal32.parquet", 9, whole),
                                     ("decimal64.parquet", 18, whole)):
        exact = pa.array([None if v is None else decimal.Decimal(v).scaleb(-2) for v in numbers],
                         pa.decimal128(precision, 2))
        pq.write_table(pa.table({"d": exact}), place(name), **options)
        out.add("parquet", name, pa.table({"d": pa.array([None if v is None else v / 100 for v in numbers])}))


def refused_parquet(out):
    table = nested_table().append_column("fixed", pa.array([b"ab", b"cd", None], pa.binary(2)))
    table = table.append_column("ends", pa.array([4, 5, None]))
    pq.write_table(table, place("nested.parquet"))
    out.add("parquet", "nested.parquet", table.select(["last", "n", "ends"]), {"columns": ["last", "n", "ends"]})
    for name, kind in (("list", "list"), ("struct", "struct"), ("map", "map"), ("time", "time"), ("lists", "list"),
                       ("fixed", "fixed_len_byte_array(2)")):
        out.refuse("parquet", "nested.parquet", "column '%s' of .* has the type %s, which" % (name, kind),
                   {"columns": [name]})
    for option, message in (({"columns": ["z"]}, "names the column 'z'; there are list, "),
                            ({"mmap_mode": "r"}, "unknown option 'mmap_mode'"),
                            ({"columns": ["n"], "fill": "x"}, "option 'fill'"),
                            ({"columns": ["n"], "fill": {"m": 1}}, "'fill' names the column 'm'; there are n")):
        out.refuse("parquet", "nested.parquet", message, option)
    pq.write_table(pa.table({"x": [1, 2]}), place("bad_brotli.parquet"), compression="brotli")
    out.refuse("parquet", "bad_brotli.parquet", "column 'x' is compressed by Brotli, which is not read")


def damaged_parquet(out):
    with open(place("plain.parquet"), "rb") as file:
        data = file.read()

    def write(name, content, message):
        with open(place(name), "wb") as file:
            file.write(content)
        out.refuse("parquet", name, message)

    size = struct.unpack("<I", data[-8:-4])[0]
    write("bad_cut.parquet", data[:-20], "truncated")
    write("bad_size.parquet", data[:-8] + struct.pack("<I", 2**31) + data[-4:], "metadata is damaged")
    write("bad_metadata.parquet", data[:-8 - size] + bytes(size) + data[-8:], "schema is damaged")
    write("bad_pages.parquet", data[:4] + bytes(len(data) - 12 - size) + data[-8 - size:], "is damaged")
    write("bad_magic.parquet", b"nothing of this kind", "it is no Parquet file")
    write("bad_encrypted.parquet", b"PAR1" + bytes(20) + b"PARE", "it is encrypted")
    pq.write_table(pa.table({"x": pa.array([2**60], pa.timestamp("ms"))}), place("bad_date.parquet"))
    out.refuse("parquet", "bad_date.parquet", "not in the years 1 to 9999")


def make():
    os.makedirs(FOLDER, exist_ok=True)
    out = Listing()
    arrow_files(out)
    dictionary_files(out)
    refused_arrow(out)
    damaged_arrow(out)
    parquet_files(out)
    decimal_files(out)
    refused_parquet(out)
    damaged_parquet(out)
    with open(os.path.join(HERE, "columnar.json"), "w", encoding="utf-8") as file:
        parts = ["%s: [\n%s]" % (json.dumps(key), ",\n".join(json.dumps(v, ensure_ascii=False) for v in items))
                 for key, items in (("good", out.good), ("bad", out.bad))]
        file.write("{" + ",\n".join(parts) + "}\n")
