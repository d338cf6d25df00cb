"""columnar_pyarrow_test.py: files that neap writes, in all ways, as pyarrow and pandas read them."""

import datetime as dt
import math
import os
import subprocess
import sys
import tempfile

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

SCRIPT = r"""
local np = require "neap"
local nan = 0 / 0
local columns = {
    { "city", { "Bern", false, "ünï", "", "Bern" } },
    { "class", np.table({ { "c", { "low", "high", "low", false, "low" } } }).c:set_categories { "low", "high" } },
    { "flag", np.array { true, false, false, true, true } },
    { "day", np.to_datetime { "2024-02-29", "1999-12-31 23:59:59.25", false, "0001-01-01", "9999-12-31" } },
    { "holes", np.array({ 1.5, nan, -0.5, 1 / 0, nan }, { dtype = "f64" }) },
    { "whole", np.array({ 1.5, 2, -0.5, 3, 4 }, { dtype = "f32" }) },
    { "half", np.array({ 1.5, nan, -0.5, 3, 4 }, { dtype = "f16" }) },
    { "brain", np.array({ 1.5, nan, -0.5, 3, 4 }, { dtype = "bf16" }) },
}
for _, dtype in ipairs { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64" } do
    columns[#columns + 1] = { dtype, np.array({ 0, 1, 100, 5, 127 }, { dtype = dtype }) }
end
local t = np.table(columns)
for k, way in ipairs(WAYS) do
    np.io[way[1]](("FOLDER/%d"):format(k), t, way[2])
    np.io[way[1]](("FOLDER/%d.empty"):format(k), t:head(0), way[2])
end
"""
WAYS = [("write_feather", "{}"), ("write_feather", '{ compression = "lz4" }'),
        ("write_feather", '{ compression = "zstd" }'), ("write_feather", "{ stream = true }"),
        ("write_feather", '{ stream = true, compression = "zstd" }'), ("write_parquet", "{}"),
        ("write_parquet", '{ compression = "none", row_group_size = 2 }'),
        ("write_parquet", '{ compression = "gzip", row_group_size = 1 }'),
        ("write_parquet", '{ compression = "snappy" }')]
DAYS = [dt.datetime(2024, 2, 29), dt.datetime(1999, 12, 31, 23, 59, 59, 250000), None, dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31)]
EXPECTED = {
    "city": ["Bern", None, "ünï", "", "Bern"], "class": ["low", "high", "low", None, "low"],
    "flag": [True, False, False, True, True], "day": DAYS, "holes": [1.5, None, -0.5, math.inf, None],
    "whole": [1.5, 2, -0.5, 3, 4], "half": [1.5, None, -0.5, 3, 4], "brain": [1.5, None, -0.5, 3, 4],
}
TYPES = {"i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64",
         "u64": "uint64", "half": "halffloat", "brain": "float", "whole": "float", "holes": "double", "flag": "bool",
         "day": "timestamp[us]", "city": "string"}


def read(way, path):
    if way[0] == "write_parquet":
        return pq.read_table(path)
    with open(path, "rb") as file:
        if "stream" in way[1]:
            return ipc.open_stream(file.read()).read_all()
    return feather.read_table(path)


def check(way, path, rows):
    """What is wrong with a file, or nothing."""
    table = read(way, path)
    table.validate(full=True)
    for name in table.column_names:
        column = table.column(name)
        expected = EXPECTED.get(name, [0, 1, 100, 5, 127])[:rows]
        if column.to_pylist() != expected:
            return "%s is %s" % (name, column.to_pylist())
        if name in TYPES and str(column.type) != TYPES[name]:
            return "%s has the type %s" % (name, column.type)
    if way[0] == "write_feather" and not pa.types.is_dictionary(table.column("class").type):
        return "class is no dictionary"
    if rows and way[0] == "write_feather":
        frame = table.drop_columns(["day"]).to_pandas()
        if list(frame["class"].cat.categories) != ["low", "high"] or not frame["class"].cat.ordered:
            return "the categories are %s" % frame["class"].cat.categories
        if list(pd.isna(frame["holes"])) != [False, True, False, False, True]:
            return "pandas has other missing values"
    return None


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        ways = ", ".join('{ "%s", %s }' % way for way in WAYS)
        script = os.path.join(folder, "write.lua")
        with open(script, "w", encoding="utf-8") as file:
            file.write("local WAYS = { %s }\n" % ways + SCRIPT.replace("FOLDER", folder))
        subprocess.run([os.environ["NEAP"], script], check=True)
        for k, way in enumerate(WAYS):
            for suffix, rows in (("", 5), (".empty", 0)):
                problem = check(way, os.path.join(folder, "%d%s" % (k + 1, suffix)), rows)
                if problem:
                    failed += 1
                    print("FAILED %s%s: %s" % (way, suffix, problem))
    print("%d passed, %d failed, 0 skipped" % (2 * len(WAYS) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
