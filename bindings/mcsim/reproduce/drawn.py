"""Figures that findings draw, written beside their tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcsim.figures.style import Sheet
    from mcsim.results.results import Results

__all__ = ["finished"]


def finished(
    sheet: Sheet, stem: Path, shows: str, title: str, results: Results | None = None
) -> Sequence[Path]:
    """Write a figure, named by what it shows, with what runs it is of.

    Parameters
    ----------
    stem : Path
        Of all figures of a finding.
    shows : str
        Such as ``"given-over-time"``.
    results : Results, optional
        The run; without one, it is of requests made up for it.
    """
    from mcsim.figures.style import styled, write

    made_up = results is None or results.synthetic
    subject = "an analysis" if results is None else f"run {results.run_id}"
    footer = f"mcsim {subject}" + (", synthetic workload" if made_up else "")
    with styled():
        figure = sheet.frame(title + (" (synthetic workload)" if made_up else ""), footer)
    return write(figure, stem.with_name(f"{stem.name}-{shows}"), title, footer, ["png"])
