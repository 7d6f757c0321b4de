"""Pictures in a terminal: which protocol it speaks, and the bytes that show a PNG file by it."""

from __future__ import annotations

from base64 import standard_b64encode
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from deeplake import _native

PROTOCOLS = ("kitty", "iterm", "sixel")
_KITTY_CHUNK = 4096
# Levels of red, green and blue: 252 colours. Terminals have 256.
_LEVELS = np.array([6, 7, 6])


def detect(environ: Mapping[str, str]) -> str | None:
    """Returns the protocol that the terminal of an environment speaks, as far as that can be told.

    None within tmux and screen, which drop pictures.
    """
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    if "TMUX" in environ or term.startswith(("screen", "tmux")) or term in ("", "dumb", "linux"):
        return None
    if environ.get("KITTY_WINDOW_ID") or "kitty" in term or "ghostty" in (term.removeprefix("xterm-"), program):
        return "kitty"
    if program in ("iTerm.app", "WezTerm", "mintty") or environ.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    if environ.get("KONSOLE_VERSION") or term.startswith(("foot", "mlterm", "contour", "yaft")) or "sixel" in term:
        return "sixel"
    return None


def encode(png: bytes, protocol: str) -> bytes:
    """Returns what a terminal has to read to show a PNG file."""
    if protocol == "kitty":
        return _kitty(png)
    if protocol == "iterm":
        head = f"\x1b]1337;File=inline=1;size={len(png)}:".encode()
        return head + standard_b64encode(png) + b"\x07"
    return sixel(_native.decode(png, channels=3))


def _kitty(png: bytes) -> bytes:
    """The graphics protocol of kitty: PNG data in pieces of at most 4,096 characters."""
    data = standard_b64encode(png)
    parts = [data[i : i + _KITTY_CHUNK] for i in range(0, len(data), _KITTY_CHUNK)]
    out = []
    for i, part in enumerate(parts):
        first = b"a=T,f=100,q=2," if i == 0 else b""
        out.append(b"\x1b_G%sm=%d;%s\x1b\\" % (first, i + 1 < len(parts), part))
    return b"".join(out)


def sixel(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Returns a picture of (height, width, 3) as sixels of at most 252 colours."""
    height, width = pixels.shape[:2]
    steps = (pixels.astype(np.uint16) * (_LEVELS - 1) + 127) // 255
    codes = (steps[..., 0] * _LEVELS[1] + steps[..., 1]) * _LEVELS[2] + steps[..., 2]
    padded = np.full((-(-height // 6) * 6, width), -1, np.int64)
    padded[:height] = codes
    out = [f'\x1bP0;1q"1;1;{width};{height}']
    for code in np.unique(codes).tolist():
        rgb = (code // (7 * 6), code // 6 % 7, code % 6)
        parts = ";".join(str(round(100 * value / (most - 1))) for value, most in zip(rgb, (6, 7, 6), strict=True))
        out.append(f"#{code};2;{parts}")
    weights = (1 << np.arange(6))[:, None]
    for top in range(0, len(padded), 6):
        band = padded[top : top + 6]
        used = np.unique(band[band >= 0]).tolist()
        out.append("$".join(f"#{code}{_runs(((band == code) * weights).sum(axis=0))}" for code in used) + "-")
    out.append("\x1b\\")
    return "".join(out).encode("ascii")


def _runs(bits: npt.NDArray[np.int64]) -> str:
    """Writes the columns of one colour; `!n` repeats a column."""
    starts = np.flatnonzero(np.diff(bits, prepend=-1))
    lengths = np.diff(starts, append=len(bits)).tolist()
    runs = [(chr(63 + bit), n) for bit, n in zip(bits[starts].tolist(), lengths, strict=True)]
    if runs[-1][0] == "?":
        runs.pop()
    return "".join(f"!{n}{char}" if n > 3 else char * n for char, n in runs)
