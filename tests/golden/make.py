"""make.py: makes all golden values again.

    python tests/golden/make.py [name…]        names: ops integers views dynamic einsum index library
                                               expressions random gradients linalg conv optim
                                                printing io rules statistics tables safetensors torch gguf
                                                tokenizers images wav half complex fft complex_linalg
                                                signal complex_more fields onnx
                                                onnx_saved columnar

Needs the packages of tests/requirements.txt. Each maker is a module make_NAME.py that says what it writes; making
twice gives identical files, so `git diff` shows what a new version of JAX or NumPy changes.
"""

import importlib
import sys

sys.dont_write_bytecode = True

NAMES = ["ops", "integers", "views", "dynamic", "einsum", "index", "library", "expressions", "random", "gradients",
         "linalg", "conv", "optim", "printing", "io", "rules", "statistics", "tables", "safetensors", "torch", "gguf",
         "tokenizers", "images", "wav", "half", "complex", "fft", "complex_linalg", "signal", "complex_more", "fields",
         "onnx", "onnx_saved", "columnar"]


def main(names):
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit("make.py: no maker for %s; there are: %s" % (", ".join(unknown), ", ".join(NAMES)))
    for name in names or NAMES:
        importlib.import_module("make_" + name).make()
        print("made", name)


if __name__ == "__main__":
    main(sys.argv[1:])
