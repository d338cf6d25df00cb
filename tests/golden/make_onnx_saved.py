"""make_onnx_saved.py: what onnxruntime gives for files that np.io.save_onnx writes (onnx_saved/, onnx_saved.txt).

The programs are those of tests/lib/onnx_saved.lua, written by make_onnx_saved.lua: NEAP names the neap that runs it
(build/neap). Each file must be one that ONNX's own checker accepts.

Records:   saved <tab> file <tab> number of inputs <tab> (name <tab> array)… <tab> (name of an output <tab> array)…
"""

import os
import shutil
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime

from records import HERE, Writer, text

FOLDER = os.path.join(HERE, "onnx_saved")


def record(out, made, name):
    path = os.path.join(made, name)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path)
    inputs = {port.name: np.load(f"{path[:-5]}-{port.name}.npy") for port in session.get_inputs()}
    outputs = [port.name for port in session.get_outputs()]
    fields = ["saved", name, str(len(inputs))]
    for key, value in list(inputs.items()) + list(zip(outputs, session.run(outputs, inputs))):
        fields += [key, text(np.asarray(value))]
    out.record(*fields)
    shutil.copy(path, os.path.join(FOLDER, name))


def make():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    with tempfile.TemporaryDirectory() as made, Writer("onnx_saved.txt", __doc__) as out:
        root = os.path.join(HERE, "../..")
        neap = os.environ.get("NEAP", "build/neap")
        subprocess.run([neap, "tests/golden/make_onnx_saved.lua", made], cwd=root, check=True)
        for name in sorted(os.listdir(made)):
            if name.endswith(".onnx"):
                record(out, made, name)


if __name__ == "__main__":
    make()
