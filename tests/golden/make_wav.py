"""make_wav.py: sounds that SciPy and Python write, and damaged ones (wav/), with their elements (wav.txt).

Records:   wav <tab> file <tab> elements per second <tab> elements
           bad <tab> file <tab> what is wrong with it

PCM of 8, 16, 24 and 32 bits, floats of 32 and 64, one channel and more, extensible formats, chunks between; what is
expected of 24 bits is what SciPy reads: the upper bits of i32.
"""

import io
import os
import struct
import wave

import numpy as np
import scipy.io.wavfile

from records import HERE, Writer, text

FOLDER = os.path.join(HERE, "wav")
GUID = b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"


def store(name, content):
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(content)
    return name


def by_scipy(rate, x):
    buffer = io.BytesIO()
    scipy.io.wavfile.write(buffer, rate, x)
    return buffer.getvalue()


def of_24_bits(rate, channels, frames):
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(3)
        file.setframerate(rate)
        file.writeframes(frames)
    return buffer.getvalue()


def chunk(name, data, length=None):
    return name + struct.pack("<I", len(data) if length is None else length) + data + b"\0" * (len(data) % 2)


def riff(*chunks, form=b"WAVE", magic=b"RIFF"):
    body = form + b"".join(chunks)
    return magic + struct.pack("<I", len(body)) + body


def format_of(kind=1, channels=1, rate=8000, bits=16, block=None, more=b""):
    block = channels * bits // 8 if block is None else block
    return chunk(b"fmt ", struct.pack("<HHIIHH", kind, channels, rate, rate * block, block, bits) + more)


def make_good(out, random):
    def record(name, content):
        rate, x = scipy.io.wavfile.read(io.BytesIO(content))
        out.record("wav", store(name + ".wav", content), str(rate), text(x))

    record("u8", by_scipy(8000, random.integers(0, 256, 7, dtype=np.uint8)))
    record("i16", by_scipy(44100, random.integers(-2**15, 2**15, (5, 2), dtype=np.int16)))
    record("i32", by_scipy(96000, random.integers(-2**31, 2**31, (4, 3), dtype=np.int32)))
    record("f32", by_scipy(48000, random.normal(size=(4, 2)).astype(np.float32)))
    record("f64", by_scipy(1, random.normal(size=5)))
    record("i24", of_24_bits(22050, 1, bytes(random.integers(0, 256, 15, dtype=np.uint8))))
    record("i24_stereo", of_24_bits(22050, 2, bytes(random.integers(0, 256, 24, dtype=np.uint8))))
    data = chunk(b"data", struct.pack("<4h", 1, -2, 3, -4))
    record("chunks", riff(chunk(b"LIST", b"INFOabc"), format_of(), chunk(b"fact", b"\4\0\0\0"), data,
                          chunk(b"cue ", b"\0\0\0\0")))
    more = struct.pack("<HHI", 22, 16, 0) + struct.pack("<H", 1) + GUID
    record("extensible", riff(format_of(kind=0xfffe, channels=2, more=more), data))


def make_bad(out):
    def record(name, content, what):
        out.record("bad", store("bad_" + name + ".wav", content), what)

    data = chunk(b"data", struct.pack("<4h", 1, -2, 3, -4))
    good = riff(format_of(), data)
    record("empty", b"", "it is empty")
    record("magic", b"RIFE" + good[4:], "another magic")
    record("form", riff(format_of(), data, form=b"AVI "), "another form")
    record("rifx", riff(format_of(), data, magic=b"RIFX"), "big-endian")
    record("rf64", riff(format_of(), data, magic=b"RF64"), "long lengths")
    record("short", good[:10], "it ends in its head")
    record("cut", good[:-3], "its elements end early")
    record("nodata", riff(format_of()), "no elements")
    record("noformat", riff(data), "elements of an unknown kind")
    record("small", riff(chunk(b"fmt ", b"\1\0\1\0"), data), "a short format")
    record("adpcm", riff(format_of(kind=2, bits=4, block=1), data), "compressed")
    record("bits", riff(format_of(bits=12, block=2), data), "12 bits")
    record("half", riff(format_of(kind=3, bits=16), data), "floats of 16 bits")
    record("channels", riff(format_of(channels=0, block=2), data), "no channels")
    record("rate", riff(format_of(rate=0), data), "no rate")
    record("block", riff(format_of(block=3), data), "a block of another size")
    record("part", riff(format_of(channels=3), data), "half a moment")
    record("huge", riff(format_of(), chunk(b"data", b"ab", 2**32 - 1)), "more elements than the file has")
    record("guid", riff(format_of(kind=0xfffe, more=struct.pack("<HHIH", 22, 16, 0, 1) + b"x" * 14), data),
           "an unknown extensible kind")
    record("extensible", riff(format_of(kind=0xfffe), data), "an extensible format that ends early")


def make():
    os.makedirs(FOLDER, exist_ok=True)
    for stale in os.listdir(FOLDER):
        os.remove(os.path.join(FOLDER, stale))
    with Writer("wav.txt", __doc__) as out:
        make_good(out, np.random.default_rng(0))
        make_bad(out)


if __name__ == "__main__":
    make()
