"""make_tables.py: text files as Python's csv module writes them (tables/), what is in them as Python's float and int
read it, and what NumPy makes of a table: sorted, grouped, joined, described (tables.json).

tables.json:   files      [{file, delimiter, columns: [[name, kind, values…]]}]; a missing value is null
               numbers    texts, and the doubles they mean, as hexadecimal
               data       columns of the table that the others are made of; order, groups, joined, described: results
"""

import csv
import json
import math
import os

import numpy as np

from records import HERE

FOLDER = os.path.join(HERE, "tables")
HARD = ["plain", "with, comma", 'with "quotes"', "two\nlines", "two\r\nlines", " blanks ", "", "ünïcödé", "#mark",
        "'single'", '"', ",", "tab\there", "NA"]


def null(value):
    return None if isinstance(value, float) and math.isnan(value) else value


def write(name, rows, **options):
    with open(os.path.join(FOLDER, name), "w", newline="", encoding="utf-8") as file:
        csv.writer(file, **options).writerows(rows)


def files(random):
    n = len(HARD)
    reals = [float(v) for v in random.normal(size=n) * 10.0 ** random.integers(-30, 30, n)]
    integers = [int(v) for v in random.integers(-2**62, 2**62, n)]
    flags = [bool(v) for v in random.integers(0, 2, n)]
    some = [None if k % 4 == 1 else v for k, v in enumerate(integers[:n])]
    some = [None if v is None else v % 1000 for v in some]
    names = ["text", "a real, number", "integer", "flag", "some"]
    rows = [names] + [list(row) for row in zip(HARD, reals, integers, flags, some)]
    columns = [[names[0], "text"] + HARD, [names[1], "f64"] + [v.hex() for v in reals],
               [names[2], "i64"] + [str(v) for v in integers], [names[3], "bool"] + flags, [names[4], "f64"] + some]
    found = []
    for name, options in (("quoted.csv", {"quoting": csv.QUOTE_ALL}),
                          ("nonnumeric.csv", {"quoting": csv.QUOTE_NONNUMERIC}),
                          ("semicolon.csv", {"quoting": csv.QUOTE_NONNUMERIC, "delimiter": ";"}),
                          ("unix.csv", {"quoting": csv.QUOTE_NONNUMERIC, "lineterminator": "\n"})):
        write(name, rows, **options)
        found.append({"file": name, "delimiter": options.get("delimiter", ","), "columns": columns})
    return found


def numbers(random):
    texts = [repr(float(v)) for v in random.normal(size=40) * 10.0 ** random.integers(-300, 300, 40)]
    texts += ["%.30f" % v for v in random.random(10)] + ["1e22", "1e23", "-0.0", "4.9e-324", "9007199254740993"]
    return [[text, float(text).hex()] for text in texts]


def operations(random, out):
    n = 60
    city = [["Bern", "Oslo", "Rome", "Ankara"][k] for k in random.integers(0, 4, n)]
    size = random.integers(0, 3, n)
    price = np.round(random.normal(size=n) * 10, 3)
    price[::7] = np.nan
    out["data"] = {"city": city, "size": size.tolist(), "price": [null(v) for v in price.tolist()]}
    key = np.where(np.isnan(price), np.inf, -price)
    out["order"] = np.lexsort((key, city)).tolist()  # by city, then by falling price; stable
    out["groups"] = []
    for pair in sorted(set(zip(city, size.tolist()))):
        rows = [k for k in range(n) if (city[k], size[k]) == pair]
        values = price[rows]
        values = values[~np.isnan(values)]
        out["groups"].append({
            "key": pair, "count": len(rows), "there": len(values), "sum": float(values.sum()),
            "mean": null(float(values.mean())) if len(values) else None,
            "std": float(values.std(ddof=1)) if len(values) > 1 else None,
            "min": float(values.min()) if len(values) else None, "max": float(values.max()) if len(values) else None})
    other = [("Rome", 1), ("Bern", 2), ("Rome", 3), ("Paris", 4)]
    out["other"] = other
    for how in ("inner", "left"):
        rows = []
        for k in range(n):
            partners = [code for name, code in other if name == city[k]]
            if not partners and how == "left":
                partners = [None]
            rows += [[k, code] for code in partners]
        out["joined_" + how] = rows
    values = price[~np.isnan(price)]
    out["described"] = [len(values), values.mean(), values.std(ddof=1), values.min(),
                        *np.percentile(values, [25, 50, 75]), values.max()]


def make():
    os.makedirs(FOLDER, exist_ok=True)
    random = np.random.default_rng(7)
    out = {"files": files(random), "numbers": numbers(random)}
    operations(random, out)
    with open(os.path.join(HERE, "tables.json"), "w", encoding="utf-8") as file:
        json.dump(out, file, indent=0, ensure_ascii=True)
        file.write("\n")


if __name__ == "__main__":
    make()
