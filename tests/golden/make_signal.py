"""make_signal.py: spectra and transforms of parts of signals by SciPy, in f64 (signal.txt).

Records:   name <tab> options <tab> input <tab> result…

Inputs are multiples of 1/8, exact in f32; complex arrays are written as make_complex.py writes them, as real ones whose
last axis has the two parts. `kind` among the options says which of the input (and of the second signal of csd, which is
the input backwards) and of the last result are complex: "rr", "rc", "cr", "cc".
"""

import numpy as np
from scipy import signal

import records
from make_complex import pairs

NPERSEG = dict(nperseg=8)
CASES = [
    ("periodogram", False, {}), ("periodogram", True, {}), ("periodogram", False, dict(nfft=13, fs=10.0)),
    ("periodogram", False, dict(nfft=40, window="hann", scaling="spectrum")),
    ("periodogram", False, dict(axis=0, detrend="linear", return_onesided=False)),
    ("welch", False, dict(nperseg=8)), ("welch", True, dict(nperseg=7, noverlap=2)),
    ("welch", False, dict(nperseg=6, axis=0, fs=4.0)), ("welch", False, dict(nperseg=8, nfft=11, average="median")),
    ("welch", False, dict(nperseg=8, window=("kaiser", 3.5), detrend=False, scaling="spectrum")),
    ("csd", False, dict(nperseg=8)), ("csd", True, dict(nperseg=9, noverlap=3, average="median")),
    ("csd", False, dict(nperseg=8, return_onesided=False, detrend="linear")),
    ("spectrogram", False, dict(nperseg=8)), ("spectrogram", True, dict(nperseg=16, mode="complex")),
    ("spectrogram", False, dict(nperseg=8, mode="magnitude", window="hamming", noverlap=4, fs=3.0)),
    ("spectrogram", False, dict(nperseg=5, mode="psd", axis=0, scaling="spectrum", nfft=8)),
    ("stft", False, dict(nperseg=8)), ("stft", True, dict(nperseg=7, noverlap=3, boundary="even")),
    ("stft", False, dict(nperseg=8, boundary="odd", padded=False, fs=5.0)),
    ("stft", False, dict(nperseg=6, boundary="constant", axis=0, scaling="psd", window="blackman")),
    ("stft", False, dict(nperseg=8, nfft=12, boundary=False, detrend="constant", window="bartlett")),
    ("istft", True, dict(nperseg=8)), ("istft", True, dict(nperseg=9, noverlap=6, nfft=9)),
    ("istft", True, dict(input_onesided=False, nperseg=5, noverlap=2, boundary=False, fs=2.0)),
    ("detrend", False, {}), ("detrend", True, dict(type="constant", axis=0)), ("detrend", True, {}),
]
WINDOWS = ["boxcar", "hann", "hamming", "blackman", "bartlett", ("tukey", 0.25), ("tukey", 0.75), ("tukey", 1.0),
           ("kaiser", 5.0)]


def draw(rng, shape, is_complex):
    x = rng.integers(-40, 40, shape) / 8
    return x + 1j * rng.integers(-40, 40, shape) / 8 if is_complex else x


def written(array):
    array = np.asarray(array)
    return records.text(pairs(array) if array.dtype.kind == "c" else array)


def kind(array):
    return "c" if np.asarray(array).dtype.kind == "c" else "r"


def named(options):
    """Windows with a parameter as name:parameter."""
    return {key: ":".join(str(part) for part in value) if isinstance(value, tuple) else value
            for key, value in options.items()}


def record(out, rng, name, is_complex, options):
    x = draw(rng, (5, 4) if name == "istft" else (2, 27), is_complex)
    if options.get("axis") == 0:
        x = np.ascontiguousarray(x.T)
    given = dict(options)
    if given.get("boundary") is False and name == "stft":
        given["boundary"] = None
    inputs = (x, x[..., ::-1]) if name == "csd" else (x,)
    results = getattr(signal, name)(*inputs, **given)
    results = results if isinstance(results, tuple) else (results,)
    text = records.options(kind=kind(x) + kind(results[-1]), **named(options))
    out.record(name, text, written(x), *[written(np.asarray(r, np.float64 if kind(r) == "r" else None))
                                         for r in results])


def make():
    rng = np.random.default_rng(11)
    with records.Writer("signal.txt", __doc__) as out:
        for name, is_complex, options in CASES:
            record(out, rng, name, is_complex, options)
        for window in WINDOWS:
            for n in (1, 8, 9):
                for fftbins in (True, False):
                    out.record("get_window", records.options(**named(dict(window=window, fftbins=fftbins))),
                               str(n), records.text(signal.get_window(window, n, fftbins)))


if __name__ == "__main__":
    make()
