"""Text for people: tables, and characters that a terminal would obey made visible.

Names, messages and samples come from datasets that other people wrote. A terminal acts on escape
sequences in them, and bidirectional controls show them in another order. Whatever reaches a
terminal passes through `printable`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

# ASCII that prints as itself is the common case, and needs no look at single characters.
_NOT_PLAIN = re.compile(r"[^ -~]")


def printable(text: str) -> str:
    """Returns text with each character that does not print as itself escaped, a line break as
    `\\n`.

    Escaped are control characters, bidirectional and other format characters, half surrogate pairs
    and characters that Unicode does not assign. Letters, signs and spaces of all scripts stay.
    """
    return text if text.isprintable() else _NOT_PLAIN.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """Returns text of several lines, each as `printable` returns it."""
    return "\n".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    """Returns JSON, written without line breaks in strings, with the same characters escaped as
    JSON escapes them.
    """
    return _NOT_PLAIN.sub(_json_escaped, text)


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the lines of a text table whose first row is the head. Cells are shown as `printable`
    returns them.
    """
    lines = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in lines) for i in range(len(lines[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in lines
    ]


def _prints(char: str) -> bool:
    # isprintable() is false for all spaces but U+0020; Japanese text, for one, uses another.
    return char.isprintable() or unicodedata.category(char) == "Zs"


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return char if _prints(char) else char.encode("unicode_escape").decode("ascii")


def _json_escaped(found: re.Match[str]) -> str:
    char = found[0]
    if char == "\n" or _prints(char):
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
