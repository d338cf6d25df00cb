"""make_images.py: images that Pillow writes, and damaged ones (images/), with their pixels (images.txt).

Records:   png <tab> file <tab> pixels             jpeg <tab> file <tab> pixels <tab> how far one may be off
           bad <tab> file <tab> what is wrong with it

PNG of all kinds: gray of 1, 8 and 16 bits, gray and alpha, RGB, RGBA, palettes with and without transparency,
interlaced by hand. JPEG: gray, RGB, subsampled, progressive; CMYK is refused. Needs the package pillow besides those of
tests/requirements.txt.
"""

import io
import os
import struct
import zlib

import numpy as np
from PIL import Image

from records import HERE, Writer, text

FOLDER = os.path.join(HERE, "images")


def store(name, content):
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(content)
    return name


def written(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_by_hand(width, height, bits, color, rows, interlaced=0):
    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def interlaced(pixels):
    """An 8-bit gray image in the seven passes of Adam7."""
    height, width = pixels.shape
    rows = b""
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
                           (1, 0, 2, 1)):
        part = pixels[y0::dy, x0::dx]
        if part.size:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    return png_by_hand(width, height, 8, 0, rows, 1)


def make_png(out, random):
    def record(name, pixels, content):
        out.record("png", store(name + ".png", content), text(pixels))

    for mode, channels in (("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4)):
        shape = (5, 7) if channels == 1 else (5, 7, channels)
        pixels = random.integers(0, 256, shape, np.uint8)
        record(mode.lower(), pixels, written(Image.fromarray(pixels, mode), "png"))
        wide = random.integers(0, 65536, shape, np.uint16)
        rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in wide)
        record(mode.lower() + "16", wide, png_by_hand(7, 5, 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], rows))
    bits = random.integers(0, 2, (5, 11)).astype(bool)
    record("bits", (bits * 255).astype(np.uint8), written(Image.fromarray(bits), "png"))
    gray = random.integers(0, 256, (9, 13), np.uint8)
    record("interlaced", gray, interlaced(gray))
    rgb = random.integers(0, 2, (6, 6, 3)).astype(np.uint8) * 255
    palette = Image.fromarray(rgb, "RGB").quantize(8)
    record("palette", np.asarray(palette.convert("RGB")), written(palette, "png"))
    record("transparent", np.asarray(Image.open(io.BytesIO(written(palette, "png", transparency=2))).convert("RGBA")),
           written(palette, "png", transparency=2))


def make_jpeg(out):
    y, x = np.mgrid[0:16, 0:24]
    rgb = np.stack([x * 10, y * 15, 255 - x * 5 - y * 5], -1).astype(np.uint8)

    def record(name, image, **options):
        content = written(image, "jpeg", **options)
        out.record("jpeg", store(name + ".jpg", content), text(np.asarray(Image.open(io.BytesIO(content)))), "2")

    record("rgb", Image.fromarray(rgb), quality=95, subsampling=0)
    record("subsampled", Image.fromarray(rgb), quality=80, subsampling=2)
    record("progressive", Image.fromarray(rgb), quality=90, progressive=True)
    record("gray", Image.fromarray(rgb[:, :, 0]), quality=90)


def make_bad(out, random):
    def record(name, content, why):
        out.record("bad", store("bad_" + name, content), why)

    noise = Image.fromarray(random.integers(0, 256, (16, 16, 3), np.uint8))
    png, jpeg = written(noise, "png"), written(noise, "jpeg", quality=90)
    record("nothing.png", b"", "empty file")
    record("text.png", b"this is no image", "no image")
    record("magic.png", png[:8], "ends after the magic")
    record("head.png", png[:20], "ends inside the head")
    record("half.png", png[:len(png) // 2], "ends inside the pixels")
    record("crc.png", png[:60] + bytes([png[60] ^ 255]) + png[61:], "damaged pixels")
    record("huge.png", png_by_hand(2**31 - 1, 2**31 - 1, 16, 6, b""), "claims more pixels than there are")
    record("large.png", png_by_hand(60000, 60000, 8, 2, b"\0" * 100), "claims more pixels than there are")
    record("few.png", png_by_hand(10, 10, 8, 0, b"\0" * 50), "too few rows")
    record("zero.png", png_by_hand(0, 10, 8, 0, b""), "no pixels")
    record("depth.png", png_by_hand(4, 4, 7, 0, b"\0" * 20), "a depth that does not exist")
    record("magic.jpg", jpeg[:3], "ends after the magic")
    record("head.jpg", jpeg[:100], "ends inside the tables")
    record("half.jpg", jpeg[:len(jpeg) // 2], "ends inside the pixels")
    at = jpeg.index(b"\xff\xc0") + 5
    record("huge.jpg", jpeg[:at] + b"\xff\x00\xff\x00" + jpeg[at + 4:], "claims more pixels than there are")
    record("cmyk.jpg", written(noise.convert("CMYK"), "jpeg"), "four colours")


def make():
    os.makedirs(FOLDER, exist_ok=True)
    for stale in os.listdir(FOLDER):
        os.remove(os.path.join(FOLDER, stale))
    random = np.random.default_rng(3)
    with Writer("images.txt", __doc__) as out:
        make_png(out, random)
        make_jpeg(out)
        make_bad(out, random)


if __name__ == "__main__":
    make()
