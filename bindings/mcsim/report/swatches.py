"""What legends show beside a name: a piece of the line, or of the bar, as SVG."""

from __future__ import annotations

from html import escape

from mcsim.figures.looks import Look
from mcsim.report.looks import bokeh_dash

__all__ = ["swatch"]

# By matplotlib's name of a hatch, in a square of 8.
_HATCHES = {
    "/": "M-1 9L9 -1",
    "\\": "M-1 -1L9 9",
    "-": "M0 4H8",
    "|": "M4 0V8",
    "x": "M0 0L8 8M0 8L8 0",
    "+": "M0 4H8M4 0V8",
}

# By matplotlib's name of a marker, around the middle of 28 by 12.
_MARKERS = {
    "o": "M14 3A3 3 0 1 0 14.01 3Z",
    "s": "M11 3H17V9H11Z",
    "^": "M14 2L17.5 9H10.5Z",
    "v": "M14 10L17.5 3H10.5Z",
    "<": "M10 6L17 2.5V9.5Z",
    ">": "M18 6L11 2.5V9.5Z",
    "D": "M14 2L18 6L14 10L10 6Z",
    "P": "M12.8 2H15.2V4.8H18V7.2H15.2V10H12.8V7.2H10V4.8H12.8Z",
    "X": "M10.5 4L12 2.5L14 4.5L16 2.5L17.5 4L15.5 6L17.5 8L16 9.5L14 7.5L12 9.5L10.5 8L12.5 6Z",
    "*": "M14 1.5L15.2 4.6L18.5 4.8L15.9 6.9L16.8 10.2L14 8.3L11.2 10.2L12.1 6.9L9.5 4.8L12.8 4.6Z",
}


def swatch(look: Look, kind: str) -> str:
    """Return an SVG of 28 by 12 that looks like the series does in a chart of this kind."""
    ink, paper = (f'class="ink" data-ink="{escape(c)}"' for c in (look.color, "#ffffff"))
    if kind in ("lines", "steps", "points"):
        dash = " ".join(map(str, bokeh_dash(look.dashes)))
        line = f'<path d="M1 6H27" {ink} stroke="{look.color}" stroke-dasharray="{dash}"/>'
        body = "" if kind == "points" else line
        body += f'<path d="{_MARKERS.get(look.marker, "")}" {ink} fill="{look.color}"/>'
    else:
        # Four squares of the hatch, side by side.
        hatch = _HATCHES.get(look.hatch[:1], "")
        body = f'<path d="M0 0H28V12H0Z" {ink} fill="{look.color}"/>' + "".join(
            f'<path d="{hatch}" transform="translate({x} 2)" {paper} stroke="#ffffff"/>'
            for x in ((2, 10, 18) if hatch else ())
        )
    return f'<svg viewBox="0 0 28 12" width="28" height="12" aria-hidden="true">{body}</svg>'
