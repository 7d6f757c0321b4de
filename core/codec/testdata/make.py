"""Writes the golden files of core/codec: JPEG, PNG and WebP files, and the pixels that Pillow reads from them.

    python -m venv env && env/bin/pip install "pillow==12.*" numpy && env/bin/python make.py

golden.bin.gz is the gzip of all arrays (C order, 16-bit samples little-endian), golden.json says where each begins:
{file: {kind: [dtype, shape, offset]}}, where kind is "stored", "rgb" (convert("RGB")), "gray" (convert("L")) or "fifth"
(rows 0, 5, 10 ... as stored, for a large file). The script is deterministic for one version of Pillow; the tests allow
its libjpeg to differ by 1.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
INDEX: dict[str, dict[str, object]] = {}
ARRAYS = bytearray()


def scene(height: int, width: int, channels: int, seed: int) -> np.ndarray:
    """Smooth waves, one sharp edge and a little noise: something for every part of a codec."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(float)
    planes = []
    for _ in range(channels):
        fx, fy, phase = rng.normal(0, 0.15, 3)
        plane = 128 + 90 * np.sin(fx * x + fy * y + 9 * phase)
        plane[(x + 2 * y) > (width + height)] *= 0.4
        planes.append(plane)
    noisy = np.stack(planes, axis=-1) + rng.normal(0, 3, (height, width, channels))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def smooth(height: int, width: int) -> np.ndarray:
    """A scene without noise, whose decoded pixels compress."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    planes = [128 + 100 * np.sin(x / 40), 128 + 100 * np.cos(y / 30), 255 * (x + y) / (width + height)]
    return np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8)


def put(name: str, data: bytes) -> None:
    (HERE / name).write_bytes(data)


def expect(name: str, kind: str, pixels: np.ndarray) -> None:
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    INDEX.setdefault(name, {})[kind] = [str(pixels.dtype), list(pixels.shape), len(ARRAYS)]
    ARRAYS.extend(np.ascontiguousarray(pixels).tobytes())


def golden(name: str, data: bytes, stored: np.ndarray | None = None, views: bool = True) -> None:
    """Writes the file and what Pillow makes of it; stored replaces its pixels where the contract differs."""
    put(name, data)
    image = Image.open(io.BytesIO(data))
    image.load()
    expect(name, "stored", np.asarray(image) if stored is None else stored)
    if views:
        expect(name, "rgb", np.asarray(image.convert("RGB")))
        expect(name, "gray", np.asarray(image.convert("RGB").convert("L")))


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def jpeg(image: Image.Image, **options: object) -> bytes:
    return saved(image, "JPEG", **options)


def ycck(data: bytes) -> bytes:
    """Relabels a four-component file: the Adobe marker's transform becomes 2, so that its inks are read as YCCK."""
    at = data.index(b"Adobe")
    return data[: at + 11] + b"\x02" + data[at + 12 :]


def rgb_ids(data: bytes) -> bytes:
    """Turns a 4:4:4 JFIF file into one without JFIF marker whose components are named R, G and B."""
    assert data[2:4] == b"\xff\xe0"
    data = data[:2] + data[4 + struct.unpack(">H", data[4:6])[0] :]
    at = data.index(b"\xff\xc0") + 10
    scan = data.index(b"\xff\xda") + 5
    out = bytearray(data)
    for i, c in enumerate(b"RGB"):
        out[at + 3 * i] = c
        out[scan + 2 * i] = c
    return bytes(out)


def jpegs() -> None:
    small = Image.fromarray(scene(31, 17, 3, 1))
    gray = Image.fromarray(scene(31, 17, 1, 2)[:, :, 0])
    cmyk = Image.fromarray(scene(31, 17, 4, 3), "CMYK")
    golden("one.jpg", jpeg(Image.fromarray(scene(1, 1, 3, 4))))
    golden("420.jpg", jpeg(small, quality=90, subsampling="4:2:0"))
    golden("422.jpg", jpeg(small, quality=90, subsampling="4:2:2"))
    golden("444.jpg", jpeg(small, quality=90, subsampling="4:4:4"))
    golden("gray.jpg", jpeg(gray, quality=90))
    golden("progressive.jpg", jpeg(small, quality=80, progressive=True))
    golden("progressive-gray.jpg", jpeg(gray, quality=80, progressive=True))
    golden("optimized.jpg", jpeg(small, quality=80, optimize=True))
    golden("restart.jpg", jpeg(small, quality=90, restart_marker_blocks=2))
    golden("cmyk.jpg", jpeg(cmyk, quality=90))
    golden("ycck.jpg", ycck(jpeg(cmyk, quality=90)))
    golden("rgb.jpg", rgb_ids(jpeg(small, quality=90, subsampling="4:4:4")))
    exif = Image.Exif()
    exif[0x0112] = 6
    golden("orientation6.jpg", jpeg(small, quality=85, exif=exif))
    data = jpeg(Image.fromarray(smooth(250, 250)), quality=75)
    put("250.jpg", data)
    expect("250.jpg", "fifth", np.asarray(Image.open(io.BytesIO(data)))[::5])


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def raw_png(pixels: np.ndarray, colour: int) -> bytes:
    """A 16-bit PNG of several channels, which Pillow cannot write: filter 0, in two IDAT chunks."""
    height, width = pixels.shape[:2]
    rows = pixels.astype(">u2").reshape(height, -1)
    body = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    head = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    pieces = chunk(b"IDAT", body[:50]) + chunk(b"IDAT", body[50:])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pieces + chunk(b"IEND", b"")


def interlaced(pixels: np.ndarray) -> bytes:
    """An 8-bit RGB PNG in Adam7 order, which Pillow cannot write."""
    height, width = pixels.shape[:2]
    rows = b""
    for y, x, dy, dx in [
        (0, 0, 8, 8),
        (0, 4, 8, 8),
        (4, 0, 8, 4),
        (0, 2, 4, 4),
        (2, 0, 4, 2),
        (0, 1, 2, 2),
        (1, 0, 2, 1),
    ]:
        part = pixels[y::dy, x::dx]
        if part.size:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def wide(height: int, width: int, channels: int, seed: int) -> np.ndarray:
    high = scene(height, width, channels, seed).astype(np.uint16)
    return high << 8 | scene(height, width, channels, seed + 50)


def pngs() -> None:
    rgb, rgba = scene(13, 21, 3, 11), scene(13, 21, 4, 12)
    gray, both = scene(13, 21, 1, 13)[:, :, 0], scene(13, 21, 2, 14)
    golden("gray.png", saved(Image.fromarray(gray), "PNG"))
    golden("gray-alpha.png", saved(Image.fromarray(both, "LA"), "PNG"))
    golden("rgb.png", saved(Image.fromarray(rgb), "PNG"))
    golden("rgba.png", saved(Image.fromarray(rgba), "PNG"))
    golden("one.png", saved(Image.fromarray(rgb[:1, :1]), "PNG"))
    golden("interlaced.png", interlaced(rgb))

    bits = Image.fromarray(gray > 128)
    golden("bits1.png", saved(bits, "PNG"), np.asarray(bits.convert("L")))
    for depth in (1, 2, 4, 8):
        palette = Image.fromarray(rgb).quantize(2**depth)
        golden(f"palette{depth}.png", saved(palette, "PNG", bits=depth), np.asarray(palette.convert("RGB")))
    data = saved(Image.fromarray(rgb).quantize(16), "PNG", transparency=bytes(range(0, 160, 20)))
    golden("palette-clear.png", data, np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")))
    golden("gray-transparent.png", saved(Image.fromarray(gray), "PNG", transparency=int(gray[0, 0])), views=False)
    golden(
        "rgb-transparent.png", saved(Image.fromarray(rgb), "PNG", transparency=tuple(map(int, rgb[0, 0]))), views=False
    )

    golden("gray16.png", saved(Image.fromarray(wide(13, 21, 1, 15)[:, :, 0]), "PNG"), views=False)
    for name, channels, colour in [("gray-alpha16", 2, 4), ("rgb16", 3, 2), ("rgba16", 4, 6)]:
        pixels = wide(13, 21, channels, 20 + channels)
        golden(f"{name}.png", raw_png(pixels, colour), pixels, views=False)


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"".join(packed(name, data) for name, data in chunks)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def packed(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def part(data: bytes, name: bytes) -> bytes:
    """The body of a chunk of a WebP file."""
    at = 12
    while data[at : at + 4] != name:
        at += 8 + (struct.unpack("<I", data[at + 4 : at + 8])[0] + 1) // 2 * 2
    return data[at + 8 : at + 8 + struct.unpack("<I", data[at + 4 : at + 8])[0]]


def three(*values: int) -> bytes:
    return b"".join(struct.pack("<I", v)[:3] for v in values)


def canvas(flags: int, width: int, height: int) -> tuple[bytes, bytes]:
    return b"VP8X", struct.pack("<I", flags) + three(width - 1, height - 1)


def webps() -> None:
    rgb, rgba = scene(33, 37, 3, 31), scene(33, 37, 4, 32)
    picture, clear = Image.fromarray(rgb), Image.fromarray(rgba)
    exif = Image.Exif()
    exif[0x0112] = 6
    lossy = saved(picture, "WEBP", quality=80)
    golden("lossy.webp", lossy)
    golden("lossy-even.webp", saved(Image.fromarray(scene(34, 38, 3, 33)), "WEBP", quality=30))
    golden("lossy-large.webp", saved(Image.fromarray(smooth(70, 90)), "WEBP", quality=5), views=False)
    golden("lossy-exif.webp", saved(picture, "WEBP", quality=50, exif=exif, icc_profile=b"profile"))
    golden("lossy-one.webp", saved(Image.fromarray(rgb[:1, :1]), "WEBP"))
    golden("lossy-column.webp", saved(Image.fromarray(rgb[:, :1]), "WEBP"))
    golden("lossy-row.webp", saved(Image.fromarray(rgb[:1]), "WEBP"))
    golden("lossless.webp", saved(picture, "WEBP", lossless=True))
    golden("lossless-alpha.webp", saved(clear, "WEBP", lossless=True, exact=True))
    golden("lossless-palette.webp", saved(picture.quantize(7).convert("RGB"), "WEBP", lossless=True))
    golden("lossless-one.webp", saved(Image.fromarray(rgb[:1, :1]), "WEBP", lossless=True))
    golden("lossless-exif.webp", saved(clear, "WEBP", lossless=True, exif=exif))
    golden("alpha.webp", saved(clear, "WEBP", quality=80))
    golden("alpha-coarse.webp", saved(clear, "WEBP", quality=80, alpha_quality=20))
    for filtered in range(4):
        plane = bytes([filtered << 2]) + scene(33, 37, 1, 34).tobytes()
        golden(f"alpha-raw{filtered}.webp", riff(canvas(16, 37, 33), (b"ALPH", plane), (b"VP8 ", part(lossy, b"VP8 "))))
    golden("alpha-none.webp", riff(canvas(16, 37, 33), (b"VP8 ", part(lossy, b"VP8 "))))
    more = [Image.fromarray(scene(33, 37, 4, seed)) for seed in (35, 36)]
    golden("animated.webp", saved(clear, "WEBP", save_all=True, append_images=more, lossless=True))
    golden("animated-opaque.webp", saved(picture, "WEBP", save_all=True, append_images=[Image.fromarray(rgb[::-1])]))
    alpha = saved(clear, "WEBP", quality=70)
    frame = three(3, 5, 36, 32, 100) + b"\0"
    for name, flags, chunks in [
        ("animated-offset", 18, packed(b"ALPH", part(alpha, b"ALPH")) + packed(b"VP8 ", part(alpha, b"VP8 "))),
        ("animated-offset-opaque", 2, packed(b"VP8 ", part(lossy, b"VP8 "))),
    ]:
        head = [canvas(flags, 50, 60), (b"ANIM", b"\xff\x80\x40\xff\0\0")]
        golden(f"{name}.webp", riff(*head, (b"ANMF", frame + chunks)))


def main() -> None:
    for old in HERE.iterdir():
        if old.suffix in (".jpg", ".png", ".webp", ".gz", ".json"):
            old.unlink()
    jpegs()
    pngs()
    webps()
    put("golden.bin.gz", gzip.compress(bytes(ARRAYS), 9, mtime=0))
    lines = [f"{json.dumps(name)}: {json.dumps(INDEX[name], sort_keys=True)}" for name in sorted(INDEX)]
    put("golden.json", ("{\n" + ",\n".join(lines) + "\n}\n").encode())


if __name__ == "__main__":
    main()
