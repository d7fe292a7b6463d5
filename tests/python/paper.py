"""Checks of figures for papers: width of a column, embedded fonts, 8 points."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["check_paper", "shown_in"]

COLUMN = 252.0  # points, 3.5 inches


def check_paper(pdf: Path, svg: Path, without: Iterable[str], *, synthetic: bool) -> None:
    """Check the style of a figure for a paper, which has no title and footer."""
    content = pdf.read_bytes()
    (box,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ", content)
    assert float(box) == COLUMN, pdf.name
    # TrueType, embedded.
    assert b"/FontFile2" in content, pdf.name
    assert b"/Type3" not in content, pdf.name
    assert sizes_in(content) == {8.0}, pdf.name
    drawn = svg.read_text(encoding="utf-8")
    assert 'width="252pt"' in drawn, svg.name
    assert "<text" not in drawn, svg.name  # letters are outlines
    shown = shown_in(svg)
    for part in without:
        assert not any(part in text for text in shown), (svg.name, part)
    assert any("synthetic" in text for text in shown) == synthetic, svg.name


def shown_in(svg: Path) -> list[str]:
    """Return the texts of a figure, which are outlines and comments."""
    return re.findall(r"<!-- (.*?) -->", svg.read_text(encoding="utf-8"), re.DOTALL)


def sizes_in(pdf: bytes) -> set[float]:
    """Return the sizes of all text, in points."""
    sizes: set[float] = set()
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        with suppress(zlib.error):
            page = zlib.decompress(stream)
            sizes |= {float(size) for size in re.findall(rb"/F\S+ ([\d.]+) Tf", page)}
    return sizes
