"""Writes core/media/color/testdata/swscale.json: small pictures, and what swscale's accurate mode makes of them.

`colors.py FFMPEG` takes a program of FFmpeg.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "core/media/color/testdata/swscale.json"
FLAGS = "bilinear+accurate_rnd+full_chroma_int+full_chroma_inp"
WIDTH, HEIGHT = 24, 12

# format of pixels, matrix by the number of H.273, full range, site, picture
CASES = [
    ("yuv420p", 0, False, "unspecified", "testsrc2"),
    ("yuv420p", 5, False, "center", "mandelbrot"),
    ("yuv420p", 1, False, "left", "testsrc2"),
    ("yuv420p", 1, True, "topleft", "testsrc2"),
    ("yuv420p", 9, False, "left", "testsrc2"),
    ("yuv420p", 6, True, "bottomleft", "rgbtestsrc"),
    ("yuvj420p", 0, True, "center", "mandelbrot"),
    ("yuv422p", 1, False, "left", "testsrc2"),
    ("yuv422p", 0, False, "unspecified", "mandelbrot"),
    ("yuv444p", 9, True, "unspecified", "testsrc2"),
    ("yuv444p", 1, False, "unspecified", "rgbtestsrc"),
    ("yuv420p10le", 9, False, "left", "testsrc2"),
    ("yuv422p10le", 1, False, "center", "mandelbrot"),
    ("yuv444p10le", 1, True, "unspecified", "testsrc2"),
    ("nv12", 5, False, "left", "testsrc2"),
    ("gray", 0, False, "unspecified", "mandelbrot"),
    ("gray", 0, True, "unspecified", "mandelbrot"),
    ("gray10le", 0, False, "unspecified", "mandelbrot"),
    ("gbrp", 0, True, "unspecified", "testsrc2"),
    ("gbrp10le", 0, True, "unspecified", "testsrc2"),
]
MATRICES = {0: "", 1: ":in_color_matrix=bt709", 5: ":in_color_matrix=bt601", 6: ":in_color_matrix=smpte170m",
            9: ":in_color_matrix=bt2020nc"}  # fmt: skip


def main() -> None:
    """Writes every picture."""
    size = f"{WIDTH}x{HEIGHT}"
    raw = ["-f", "rawvideo"]
    out = []
    for pixels, matrix, full, site, source in CASES:
        make = ["-f", "lavfi", "-i", f"{source}=size={size}", "-frames:v", "1", "-pix_fmt", pixels, *raw]
        planes = run(make, b"")
        options = f":in_range={'full' if full else 'limited'}" + MATRICES[matrix]
        if site != "unspecified":
            options += f":in_chroma_loc={site}"
        scale = f"scale=flags={FLAGS}{options}"
        rgb = run([*raw, "-pix_fmt", pixels, "-s", size, "-i", "-", "-vf", scale, "-pix_fmt", "rgb24", *raw], planes)
        out.append(
            {
                "format": pixels,
                "matrix": matrix,
                "full": full,
                "site": ["unspecified", "left", "center", "topleft", "top", "bottomleft", "bottom"].index(site),
                "planes": base64.b64encode(planes).decode(),
                "rgb": base64.b64encode(rgb).decode(),
            }
        )
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps({"width": WIDTH, "height": HEIGHT, "pictures": out}, indent=1) + "\n")


def run(arguments: list[str], data: bytes) -> bytes:
    """The output of ffmpeg."""
    command = [sys.argv[1], "-v", "error", *arguments, "-"]
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


if __name__ == "__main__":
    main()
