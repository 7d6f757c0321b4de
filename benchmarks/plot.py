"""Bar charts as SVG, readable on light and dark pages."""

from __future__ import annotations

from html import escape

_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .ours { fill: #0969da } .limit { fill: #8c959f } .peer { fill: #bf8700 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .ours { fill: #4493f8 } .limit { fill: #848d97 } .peer { fill: #d29922 }
  }
"""
_LIMITS = ("libjpeg", "memcpy", "pread", "plain write", "cp -r", "tar + fsync", "import numpy", "nothing")
_LEFT, _WIDTH, _ROW = 190, 420, 26


def bars(title: str, unit: str, rows: list[tuple[str, float]]) -> str:
    """Returns a chart with one bar for each (name, value)."""
    most = max((value for _, value in rows), default=0) or 1
    height = 40 + _ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 110} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="8" y="20">{escape(title)}, {escape(unit)}</text>',
    ]
    for number, (name, value) in enumerate(rows):
        top = 32 + _ROW * number
        length = max(1.0, _WIDTH * value / most)
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 15}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect class="{_kind(name)}" x="{_LEFT}" y="{top}" width="{length:.1f}" height="20" rx="2"/>')
        shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        parts.append(f'<text x="{_LEFT + length + 6:.1f}" y="{top + 15}">{shown}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _kind(name: str) -> str:
    if name.startswith(("deeplake", "import deeplake")):
        return "ours"
    return "limit" if name.startswith(_LIMITS) else "peer"
