"""The page of a sweep."""

from __future__ import annotations

import os
from pathlib import Path

from mcsim.base.files import write_whole
from mcsim.figures.sweeps import axis_label
from mcsim.report.sweep import sweep_page
from mcsim.sweeps.swept import Sweep


def write_page(folder: str | os.PathLike[str], html: str | os.PathLike[str]) -> None:
    """Write a sweep, as far as it is there, as one HTML file.

    Raises
    ------
    ConfigError
        If there is no sweep, or the packages that pages need are not there.
    """
    swept = Sweep.open(folder)
    there = swept.finished()
    axes = [
        f"{_named(name)} ({len(set(swept.plan[name].to_pylist()))} values)" for name in swept.axes
    ]
    text = sweep_page(
        swept.to_arrow(),
        swept.axes,
        swept.overview(),
        title=f"Sweep {swept.path.name}",
        lead=f"How do hits and latency depend on {', '.join(map(_named, swept.axes))}?",
        facts=[("Axes", ", ".join(axes)), ("Cells", f"{sum(there)} of {len(there)} finished")],
    )
    write_whole(Path(html), text)


def _named(axis: str) -> str:
    """Return the name of an axis without its unit, as within a sentence."""
    return axis_label(axis).partition(" (")[0].lower()
