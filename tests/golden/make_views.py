"""make_views.py: golden values of views, indexing, assembling and creation, by NumPy (views.txt).

Records:   name <tab> parameters <tab> inputs… <tab> = <tab> result      (all exact)

Parameters are options as in records.py, but for `index`, whose parameters are Python's spelling of the index, with
`None` for a new axis and `...` for an ellipsis. For `at_…` the first input is the array and the second the value.
"""

import numpy as np

from records import Writer, dtype, linear, options, text

NAMED = {"None": None, "...": Ellipsis}


def index(spelled):
    """The index that a spelling stands for."""
    items = []
    for part in spelled.split(","):
        part = part.strip()
        if part in NAMED:
            items.append(NAMED[part])
        elif ":" in part:
            items.append(slice(*(int(bound) if bound else None for bound in part.split(":"))))
        else:
            items.append(int(part))
    return tuple(items)


def views(out):
    x, ref = linear("i32", (2, 3, 4), 1, 0)
    ref = out.let("x", x, ref)
    row, row_ref = linear("f32", (7,), 0.5, -1)
    row_ref = out.let("row", row, row_ref)
    one, one_ref = linear("i32", (1, 3, 1), 1, 5)
    one_ref = out.let("one", one, one_ref)
    scalar, scalar_ref = linear("f64", (), 1, 2.5)
    scalar_ref = out.let("scalar", scalar, scalar_ref)
    empty, empty_ref = linear("f32", (3, 0, 2), 1, 0)
    empty_ref = out.let("empty", empty, empty_ref)

    def record(name, value, *inputs, **parameters):
        out.record(name, options(**parameters), *inputs, "=", text(value))

    for shape in ((24,), (4, 6), (6, 4), (2, -1), (-1, 2, 2), (2, 3, 4), (1, 24, 1), (3, 2, 2, 2)):
        record("reshape", x.reshape(shape), ref, shape=shape)
    record("reshape", scalar.reshape(1, 1), scalar_ref, shape=(1, 1))
    record("reshape", one[0, :1, 0].reshape(()), text(one[0, :1, 0]), shape=())
    record("reshape", empty.reshape(0, 5), empty_ref, shape=(0, 5))
    for axes in ((2, 0, 1), (1, 0, 2), (0, 1, 2), (2, 1, 0), (-1, 0, 1)):
        record("permute_dims", x.transpose(axes), ref, axes=axes)
        # A view of a view that is not contiguous has to be rearranged.
        record("permute_reshape", x.transpose(axes).reshape(6, 4), ref, axes=axes, shape=(6, 4))
    record("permute_dims", empty.transpose(2, 1, 0), empty_ref, axes=(2, 1, 0))
    record("matrix_transpose", np.matrix_transpose(x), ref)
    record("swapaxes", x.swapaxes(0, 2), ref, axis1=0, axis2=2)
    record("moveaxis", np.moveaxis(x, 0, -1), ref, source=0, destination=-1)
    for shape in ((2, 3, 4), (5, 2, 3, 4)):
        record("broadcast_to", np.broadcast_to(x, shape), ref, shape=shape)
    record("broadcast_to", np.broadcast_to(one, (2, 3, 4)), one_ref, shape=(2, 3, 4))
    record("broadcast_to", np.broadcast_to(scalar, (2, 0, 3)), scalar_ref, shape=(2, 0, 3))
    record("broadcast_to", np.broadcast_to(scalar, (2, 2)), scalar_ref, shape=(2, 2))
    for axis in (0, 1, -1, 3):
        record("expand_dims", np.expand_dims(x, axis), ref, axis=axis)
    record("squeeze", one.squeeze(0), one_ref, axis=0)
    record("squeeze", one.squeeze(-1), one_ref, axis=-1)
    record("squeeze", one.squeeze((0, 2)), one_ref, axis=(0, 2))
    for axis in (None, 0, -1, (0, 2)):
        record("flip", np.flip(x, axis), ref, axis=axis)
    for shift, axis in ((1, None), (-5, None), (2, 1), (-1, 2), (7, 0)):
        record("roll", np.roll(x, shift, axis), ref, shift=shift, axis=axis)
    record("tril", np.tril(x, 0), ref, k=0)
    record("tril", np.tril(x, -1), ref, k=-1)
    record("triu", np.triu(x, 1), ref, k=1)
    for spelled in ("0", "-1", "1,2", "1,2,3", "-1,-1,-1", ":", "1:", ":-1", ":,1", ":,::-1", "::-1,::-1,::-1",
                    ":,:,::2", ":,:,1::2", ":,:,-1:0:-2", ":,:,3:1:-1", "0:1,2:1", ":,5:", ":,-9:9", "...", "...,0",
                    "0,...", "...,::-1", "None", "None,0", ":,None", "...,None", "0,None,:,None", ":,:,None,1:3",
                    "1:2,None,::-2,0", ":,:,-3:-1", "::2,::2,::3", ":,2:0:-1,:"):
        out.record("index", spelled, ref, "=", text(x[index(spelled)]))
    for spelled in ("::3", "5::-2", "-2:", ":0", "7:", "3", "2:-2", "::-1", "100:", "-100:2", "None", "..."):
        out.record("index", spelled, row_ref, "=", text(row[index(spelled)]))
    for spelled in ("...", "None", "None,None"):
        out.record("index", spelled, scalar_ref, "=", text(scalar[index(spelled)]))
    out.record("index", "1", empty_ref, "=", text(empty[1]))
    assemble(record, (x, ref), (row, row_ref), (one, one_ref))


def assemble(record, named_x, named_row, named_one):
    (x, ref), (row, row_ref), (one, one_ref) = named_x, named_row, named_one
    for axis in (0, 1, -1):
        record("concatenate", np.concatenate([x, x[::-1], x], axis), ref, text(x[::-1]), ref, axis=axis)
        record("stack", np.stack([x, x + 1], axis), ref, text(x + 1), axis=axis)
    record("concatenate", np.concatenate([x, one.repeat(4, 2)], 0), ref, text(one.repeat(4, 2)), axis=0)
    record("concatenate", np.concatenate([row, row[:0], row[:1]]), row_ref, text(row[:0]), text(row[:1]))
    # Dtypes are promoted as in arithmetic.
    record("concatenate", np.concatenate([np.float32([1, 2]), row]), text(np.int32([1, 2])), row_ref)
    record("stack", np.stack([np.float32(1), np.float32(2)]), text(np.float32(1)), text(np.float32(2)), axis=0)
    record("repeat", np.repeat(x, 2), ref, repeats=2)
    record("repeat", np.repeat(x, 3, 1), ref, repeats=3, axis=1)
    record("tile", np.tile(row, 3), row_ref, repetitions=(3,))
    record("tile", np.tile(one, (2, 1, 3)), one_ref, repetitions=(2, 1, 3))
    record("pad", np.pad(row, (2, 1)), row_ref, before=2, after=1)
    for axis, at in ((0, [1, 0, 0, 1, 1]), (1, [2]), (2, [3, 3, 0]), (-1, [[0, 1], [2, 3]]), (1, [])):
        at = np.array(at, np.int32)
        record("take", np.take(x, at, axis), ref, text(at), axis=axis)
    record("take", np.take(row, np.int32(4), 0), row_ref, text(np.int32(4)), axis=0)
    record("take", np.take(row, np.int32([-1, -7, 6]), 0), row_ref, text(np.int32([-1, -7, 6])), axis=0)
    record("take", np.take(row, np.int64([3, 1]), 0), row_ref, text(np.int64([3, 1])), axis=0)
    record("index_array", x[np.int32([1, 0, 1])], ref, text(np.int32([1, 0, 1])))
    record("index_array", row[np.int32([[6, 0], [-1, 2]])], row_ref, text(np.int32([[6, 0], [-1, 2]])))
    changes = {"set": lambda a, at, v: a.__setitem__(at, v), "add": lambda a, at, v: a.__setitem__(at, a[at] + v),
               "mul": lambda a, at, v: a.__setitem__(at, a[at] * v),
               "min": lambda a, at, v: a.__setitem__(at, np.minimum(a[at], v)),
               "max": lambda a, at, v: a.__setitem__(at, np.maximum(a[at], v))}
    value = np.array([[7], [-3]], np.int32)
    for name, change in changes.items():
        changed = x.copy()
        change(changed, (slice(None), slice(0, 2), 1), value)
        record("at_" + name, changed, ref, text(value))
    labels = np.array([[0, 2], [3, 1]], np.int32)
    record("one_hot", np.eye(4, dtype=np.float32)[labels], text(labels), n=4)


def creation(out):
    def record(name, result, **parameters):
        out.record(name, options(**parameters), "=", text(result))

    for shape in ((), (0,), (3,), (2, 3), (2, 0, 1)):
        for name in ("f32", "i32", "bool"):
            record("zeros", np.zeros(shape, dtype(name)), shape=shape, dtype=name)
            record("ones", np.ones(shape, dtype(name)), shape=shape, dtype=name)
        record("full", np.full(shape, 2.5, np.float32), shape=shape, value=2.5, dtype="f32")
        record("full", np.full(shape, 7, np.int64), shape=shape, value=7, dtype="i64")
    for start, stop, step in ((0, 5, 1), (2, 9, 3), (5, 0, -2), (3, 3, 1), (4, 2, 1), (-3, 4, 2)):
        for name in ("i32", "f32", "i64", "f64"):
            record("arange", np.arange(start, stop, step, dtype(name)), start=start, stop=stop, step=step, dtype=name)
    record("arange", np.arange(0, 1, 0.25, np.float32), start=0, stop=1, step=0.25)
    record("arange", np.arange(1.5, -2, -0.5, np.float32), start=1.5, stop=-2, step=-0.5)
    record("linspace", np.linspace(0, 1, 5, dtype=np.float32), start=0, stop=1, num=5)
    record("linspace", np.linspace(2, -6, 9, dtype=np.float32), start=2, stop=-6, num=9)
    record("linspace", np.linspace(3, 4, 1, dtype=np.float32), start=3, stop=4, num=1)
    record("eye", np.eye(3, dtype=np.float32), n=3)
    record("eye", np.eye(2, 4, k=1, dtype=np.float32), n=2, m=4, k=1)
    record("eye", np.eye(4, 3, k=-2, dtype=np.int32), n=4, m=3, k=-2, dtype="i32")


def make():
    with Writer("views.txt", __doc__) as out:
        views(out)
        creation(out)


if __name__ == "__main__":
    make()
