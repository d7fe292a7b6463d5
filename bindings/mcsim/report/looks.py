"""How looks of figures are said to Bokeh: dashes, markers, hatches."""

from __future__ import annotations

from math import pi
from typing import Any

__all__ = ["MARKERS", "bokeh_dash"]

MARKERS = {
    "o": ("circle", 0.0),
    "s": ("square", 0.0),
    "^": ("triangle", 0.0),
    "v": ("inverted_triangle", 0.0),
    "<": ("triangle", pi / 2),
    ">": ("triangle", -pi / 2),
    "D": ("diamond", 0.0),
    "P": ("plus", 0.0),
    "X": ("x", 0.0),
    "*": ("star", 0.0),
}
"""By matplotlib's: which, and how it is turned."""


def bokeh_dash(dashes: Any) -> list[int]:
    """Return lengths on and off, of a line of width 2; empty if it is solid."""
    if isinstance(dashes, str):
        return []
    _, lengths = dashes
    return [round(2 * length) for length in lengths]
